/* Files that are written as a whole: see fd.h. The file beside is called
 * `NAME.ricci-PID-RANDOM.part` and its writer holds a lock on it (flock) from the moment it is made
 * until it has its name: the system lets go of that lock when the process ends, however it ends, so
 * whoever can take it knows that the file belongs to nobody. Process numbers would not do: they
 * come again, and mean nothing to another container or machine that shares the folder. */
#include "core/system/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum { LINKS_MOST = 40, TRIES = 100, BASE_MOST = 200, RANDOM = 8, SWEPT = 64, SWEEP_AGAIN = 10 };

bool fd_write_all(int fd, const void *from, size_t bytes)
{
    for (const char *p = from; bytes;) {
        ssize_t n = write(fd, p, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        bytes -= (size_t)n;
    }
    return true;
}

static void close_keeping_errno(int fd)
{
    int why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
}

/* ---- where a path leads ---- */

/* Files that are not kept anywhere: nothing can be put beside them. */
static bool is_virtual(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && (fs.f_type == PROC_SUPER_MAGIC || fs.f_type == SYSFS_MAGIC);
}

/* `link` stands in for the end of `path`: relative to its folder, unless it is absolute. */
static bool follow(char path[FD_PATH], const char *link)
{
    char whole[2 * FD_PATH];
    const char *slash = strrchr(path, '/');
    int folder = *link == '/' || !slash ? 0 : (int)(slash - path) + 1;
    snprintf(whole, sizeof whole, "%.*s%s", folder, path, link);
    if (strlen(whole) >= FD_PATH) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(path, whole, strlen(whole) + 1);
    return true;
}

/* Replaces path by the file that it leads to, which need not exist. *special: an entry of the
 * system's own, such as what /dev/stdout leads to. */
static bool resolve(char path[FD_PATH], bool *special)
{
    char link[FD_PATH];
    *special = false;
    for (int i = 0; i < LINKS_MOST; i++) {
        int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            return errno == ENOENT;
        *special = is_virtual(fd);
        ssize_t n = *special ? -1 : readlinkat(fd, "", link, sizeof link - 1);
        close(fd);
        if (n < 0)
            return true;
        link[n] = '\0';
        if (!follow(path, link))
            return false;
    }
    errno = ELOOP;
    return false;
}

/* ---- leftovers ---- */

/* `NAME.ricci-PID-RANDOM.part`, and no other name, however alike. */
static bool is_part(const char *name)
{
    size_t n = strlen(name), tail = strlen(".part");
    const char *end = n > tail ? name + n - tail : name;
    if (strcmp(end, ".part") != 0 || end - name < RANDOM + 10)
        return false;
    for (int i = 1; i <= RANDOM; i++)
        if (!strchr("0123456789abcdefghijklmnopqrstuv", end[-i]))
            return false;
    const char *at = end - RANDOM - 1;
    if (*at != '-')
        return false;
    const char *digits = at;
    while (digits > name && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    size_t mark = strlen(".ricci-");
    return digits < at && (size_t)(digits - name) > mark &&
           strncmp(digits - mark, ".ricci-", mark) == 0;
}

/* Removes it if its writer is gone: the lock is ours then, and the name is still that file's. */
static void remove_dead(int folder, const char *name)
{
    struct stat held, there;
    int fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &held) == 0 && S_ISREG(held.st_mode) && held.st_nlink == 1 &&
        held.st_uid == geteuid() &&
        flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        there.st_ino == held.st_ino && there.st_dev == held.st_dev)
        unlinkat(folder, name, 0);
    close(fd);
}

/* Was this folder looked through within the last seconds? A folder of a million files would else be
 * read a million times by the program that writes them. */
static bool swept_lately(int folder)
{
    static _Atomic uint64_t swept[SWEPT];       /* by folder: a hash of it, and the second */
    struct stat st;
    struct timespec now;
    if (fstat(folder, &st) != 0 || clock_gettime(CLOCK_MONOTONIC_COARSE, &now) != 0)
        return false;
    uint64_t hash =
        ((uint64_t)st.st_ino * 0x9E3779B97F4A7C15u) ^ ((uint64_t)st.st_dev * 0xC2B2AE3D27D4EB4Fu);
    uint32_t second = (uint32_t)now.tv_sec + SWEEP_AGAIN, key = (uint32_t)(hash >> 32);
    _Atomic uint64_t *slot = &swept[hash % SWEPT];
    uint64_t known = atomic_load_explicit(slot, memory_order_relaxed);
    if ((uint32_t)(known >> 32) == key && second - (uint32_t)known < SWEEP_AGAIN)
        return true;
    atomic_store_explicit(slot, (uint64_t)key << 32 | second, memory_order_relaxed);
    return false;
}

/* Removes what killed runs left in the folder of `target`. */
static void sweep(const char *target)
{
    char folder[FD_PATH] = ".";
    const char *slash = strrchr(target, '/');
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - target) + 1, target);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 && !swept_lately(fd) ? fdopendir(fd) : NULL;
    if (!dir) {
        close_keeping_errno(fd);
        return;
    }
    for (struct dirent *e; (e = readdir(dir));)
        if (is_part(e->d_name))
            remove_dead(fd, e->d_name);
    closedir(dir);
}

/* ---- the file beside ---- */

static void random_text(char out[RANDOM + 1])
{
    unsigned char bytes[RANDOM] = { 0 };
    if (getrandom(bytes, sizeof bytes, GRND_NONBLOCK) != (ssize_t)sizeof bytes) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        memcpy(bytes, &now.tv_nsec, sizeof now.tv_nsec < sizeof bytes ? sizeof now.tv_nsec
                                                                      : sizeof bytes);
    }
    for (int i = 0; i < RANDOM; i++)
        out[i] = "0123456789abcdefghijklmnopqrstuv"[bytes[i] % 32];
    out[RANDOM] = '\0';
}

/* Another one may sweep between open and flock: then the file is his, and he removes it. Where
 * there are no locks, nobody else gets one either, and nothing is swept. */
static bool is_ours(int fd)
{
    struct stat st;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return errno != EWOULDBLOCK;
    return fstat(fd, &st) != 0 || st.st_nlink > 0;
}

/* A long name is cut, so that there is room for what marks it as a part. */
static bool open_beside(FdWhole *w, mode_t mode)
{
    const char *slash = strrchr(w->target, '/'), *base = slash ? slash + 1 : w->target;
    size_t n = strlen(base);
    int kept = (int)(base - w->target) + (int)(n < BASE_MOST ? n : BASE_MOST);
    char random[RANDOM + 1];
    for (int i = 0; i < TRIES; i++) {
        random_text(random);
        if (snprintf(w->name, sizeof w->name, "%.*s.ricci-%ld-%s.part", kept, w->target,
                     (long)getpid(), random) >= (int)sizeof w->name) {
            errno = ENAMETOOLONG;
            return false;
        }
        w->fd = open(w->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (w->fd < 0 && errno != EEXIST)
            return false;
        if (w->fd >= 0 && is_ours(w->fd))
            return true;
        if (w->fd >= 0)
            close(w->fd);
    }
    errno = EEXIST;
    return false;
}

/* The permissions of the file that it replaces, and its owner if that is allowed; what runs with
 * its owner's rights does so for the same owner only. */
static bool like_old(int fd, const struct stat *old)
{
    struct stat now;
    mode_t mode = old->st_mode & 07777;
    if (fstat(fd, &now) == 0 && (now.st_uid != old->st_uid || now.st_gid != old->st_gid) &&
        fchown(fd, old->st_uid, old->st_gid) != 0) {
        mode &= (mode_t)~(S_ISUID | S_ISGID);
        if (now.st_gid != old->st_gid && fchown(fd, (uid_t)-1, old->st_gid) != 0)
            errno = 0;
    }
    return fchmod(fd, mode) == 0;
}

/* A folder that takes no new files, and a file in it that may be written, is written as it lies. */
static bool open_in_place(FdWhole *w)
{
    if (errno != EACCES && errno != EPERM && errno != EROFS)
        return false;
    int why = errno;
    w->fd = open(w->target, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
    errno = w->fd < 0 ? why : errno;
    return w->fd >= 0;
}

static bool open_regular(FdWhole *w, const struct stat *old)
{
    if (old && faccessat(AT_FDCWD, w->target, W_OK, AT_EACCESS) != 0)
        return false;
    sweep(w->target);
    if (!open_beside(w, old ? 0600 : 0666))
        return old && !w->keep_old && open_in_place(w);
    w->beside = true;
    return !old || like_old(w->fd, old) || fd_whole_end(w, false);
}

/* ---- what is no plain file ---- */

/* What /dev/stdout and /dev/fd/N mean: the descriptor itself, so that what it leads to is written
 * where the last writer stopped. -1: it is none of ours. */
static int own_descriptor(const char *target, const struct stat *st)
{
    const char *slash = strrchr(target, '/');
    char *end;
    long n = slash ? strtol(slash + 1, &end, 10) : -1;
    struct stat own;
    if (n < 0 || n > 1 << 20 || end == slash + 1 || *end || fstat((int)n, &own) != 0 ||
        own.st_ino != st->st_ino || own.st_dev != st->st_dev)
        return -1;
    return fcntl((int)n, F_DUPFD_CLOEXEC, 3);
}

static bool open_special(FdWhole *w, const struct stat *st, bool is_link)
{
    w->fd = is_link ? own_descriptor(w->target, st) : -1;
    if (w->fd < 0)
        w->fd = open(w->target, O_WRONLY | O_NOCTTY | O_CLOEXEC |
                     (S_ISREG(st->st_mode) ? O_TRUNC : 0));
    return w->fd >= 0;
}

/* ---- whole files ---- */

/* Finds what is at the path, *there or not. Links are followed by hand, since what they lead to
 * need not exist; whether they may be is the system's to say (it keeps off those of strangers in
 * /tmp). */
static bool find_target(FdWhole *w, const char *path, struct stat *st, bool *there, bool *special)
{
    struct stat at_target;
    *w = (FdWhole){ .fd = -1, .keep_old = w->keep_old };
    errno = *path ? ENAMETOOLONG : ENOENT;
    if (!*path || strlen(path) >= FD_PATH)
        return false;
    memcpy(w->target, path, strlen(path) + 1);
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT)
        return false;
    *there = fd >= 0 && fstat(fd, st) == 0;
    close_keeping_errno(fd);
    if (!resolve(w->target, special))
        return false;
    errno = *there && w->keep_old ? EEXIST : *there && S_ISDIR(st->st_mode) ? EISDIR : ESTALE;
    if (errno != ESTALE)
        return false;
    *special = *there && (*special || !S_ISREG(st->st_mode));
    return !*there || *special ||
           (stat(w->target, &at_target) == 0 && at_target.st_ino == st->st_ino &&
                                   at_target.st_dev == st->st_dev);
}

static bool is_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* ESTALE: it was replaced between two looks at it, by another writer. */
static bool begin(FdWhole *w, const char *path, bool keep_old)
{
    struct stat st;
    bool there, special, found = false;
    w->keep_old = keep_old;
    for (int i = 0; !found && i < TRIES; i++)
        if (!(found = find_target(w, path, &st, &there, &special)) && errno != ESTALE)
            return false;
    if (!found)
        return false;
    return special ? open_special(w, &st, is_link(w->target)) : open_regular(w, there ? &st : NULL);
}

bool fd_whole_open(FdWhole *w, const char *path)
{
    return begin(w, path, false);
}

bool fd_whole_open_new(FdWhole *w, const char *path)
{
    return begin(w, path, true);
}

int fd_append_open(const char *path)
{
    FdWhole w = { .keep_old = false };
    struct stat st;
    bool there, special;
    int fd = -1;
    if (find_target(&w, path, &st, &there, &special) && special && is_link(w.target))
        fd = own_descriptor(w.target, &st);
    return fd >= 0 ? fd : open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_CLOEXEC, 0666);
}

/* Where the system knows no syncing (pipes, some networks) there is none. */
static bool sync_whole(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOSYS || errno == EROFS ||
           errno == ENOTSUP;
}

static bool put_in_place(const FdWhole *w)
{
    if (!w->keep_old)
        return rename(w->name, w->target) == 0;
    if (renameat2(AT_FDCWD, w->name, AT_FDCWD, w->target, RENAME_NOREPLACE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS)
        return false;
    return link(w->name, w->target) == 0 && unlink(w->name) == 0;
}

/* The name is changed while the lock is held: see remove_dead. */
bool fd_whole_end(FdWhole *w, bool good)
{
    good = good && sync_whole(w->fd) && (!w->beside || put_in_place(w));
    int why = errno;
    if (w->beside && !good)
        unlink(w->name);
    bool closed = close(w->fd) == 0;
    w->fd = -1;
    if (!good)
        errno = why;
    return good && closed;
}

bool fd_whole_write(const char *path, const void *from, size_t bytes)
{
    FdWhole w;
    return fd_whole_open(&w, path) && fd_whole_end(&w, fd_write_all(w.fd, from, bytes));
}

/* A pipe is not opened for it: who reads it would take that for the end. */
bool fd_whole_try(const char *path)
{
    FdWhole w;
    struct stat st;
    bool there, special;
    w.keep_old = false;
    if (!find_target(&w, path, &st, &there, &special))
        return false;
    if (special || (there && faccessat(AT_FDCWD, w.target, W_OK, AT_EACCESS) != 0))
        return faccessat(AT_FDCWD, w.target, W_OK, AT_EACCESS) == 0;
    if (!open_beside(&w, 0600))
        return there && (errno == EACCES || errno == EPERM || errno == EROFS);
    w.beside = true;
    fd_whole_end(&w, false);
    return true;
}
