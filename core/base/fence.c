/* The fence: see fence.h. Folders that a program may reach are held open; a path becomes one of
 * them and a name below it by its letters alone, and is then opened beneath that folder: by
 * openat2, or where the system has none component by component, without following links. */
#include "core/base/fence.h"

#include "core/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct Folder {
    char *path, *typed;         /* where it is, and as it was given (both from the root) */
    int fd;
    bool write;
} Folder;

struct Fence {
    const char *by;
    Folder *folders;
    char **files;
    int folder_count, file_count;
};

/* ---- making ---- */
static void *grown(void *items, int count, size_t size)
{
    items = realloc(items, (size_t)(count + 1) * size);
    if (!items) {
        fputs("ricci: not enough memory to start\n", stderr);
        exit(1);
    }
    return items;
}

static char *copy_of(const char *text)
{
    size_t n = strlen(text);
    return memcpy(grown(NULL, (int)n, 1), text, n + 1);
}

Fence *fence_new(const char *by)
{
    Fence *f = grown(NULL, 0, sizeof *f);
    *f = (Fence){ .by = by };
    return f;
}

void fence_free(Fence *f)
{
    for (int i = 0; f && i < f->folder_count; i++) {
        close(f->folders[i].fd);
        free(f->folders[i].path);
        free(f->folders[i].typed);
    }
    for (int i = 0; f && i < f->file_count; i++)
        free(f->files[i]);
    if (f) {
        free(f->folders);
        free(f->files);
    }
    free(f);
}

const char *fence_by(const Fence *f) { return f->by; }

/* ---- paths ---- */
/* From the root, without `.`, `..` and double slashes, by the letters alone. */
static bool absolute(const char *path, char out[FENCE_PATH])
{
    size_t n = 0;
    if (path[0] != '/') {
        if (!getcwd(out, FENCE_PATH))
            return false;
        n = strlen(out);
        n -= n == 1;
    }
    while (*path) {
        size_t len = strcspn(path, "/");
        if (len == 2 && memcmp(path, "..", 2) == 0) {
            while (n > 0 && out[--n] != '/')
                continue;
        } else if (len > 0 && !(len == 1 && *path == '.')) {
            if (n + len + 2 > FENCE_PATH) {
                errno = ENAMETOOLONG;
                return false;
            }
            out[n++] = '/';
            memcpy(out + n, path, len);
            n += len;
        }
        path += len;
        path += *path == '/';
    }
    if (n == 0)
        out[n++] = '/';
    out[n] = '\0';
    return true;
}

/* What of `path` stands below `folder`: "." for the folder itself; NULL: it is elsewhere. */
static const char *below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    n -= n == 1;                             /* the root */
    if (strncmp(path, folder, n) != 0 || (path[n] && path[n] != '/'))
        return NULL;
    return path[n] && path[n + 1] ? path + n + 1 : ".";
}

static const Folder *find_folder(const Fence *f, const char *path, bool write, const char **rest)
{
    for (int i = 0; i < f->folder_count; i++) {
        const Folder *folder = &f->folders[i];
        if (write && !folder->write)
            continue;
        if ((*rest = below(path, folder->path)) || (*rest = below(path, folder->typed)))
            return folder;
    }
    return NULL;
}

static bool is_named(const Fence *f, const char *path)
{
    for (int i = 0; i < f->file_count; i++)
        if (strcmp(f->files[i], path) == 0)
            return true;
    return false;
}

bool fence_allow(Fence *f, const char *folder, bool write)
{
    char typed[FENCE_PATH];
    char *real = realpath(folder, NULL);
    int fd = real ? open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0 || !absolute(folder, typed)) {
        free(real);
        return false;
    }
    f->folders = grown(f->folders, f->folder_count, sizeof *f->folders);
    f->folders[f->folder_count++] = (Folder){ real, copy_of(typed), fd, write };
    return true;
}

void fence_allow_file(Fence *f, const char *path)
{
    f->files = grown(f->files, f->file_count, sizeof *f->files);
    f->files[f->file_count++] = copy_of(path);
}

bool fence_folder(const Fence *f, int i, int *fd, bool *write)
{
    if (i >= f->folder_count)
        return false;
    *fd = f->folders[i].fd;
    *write = f->folders[i].write;
    return true;
}

const char *fence_file(const Fence *f, int i)
{
    return i < f->file_count ? f->files[i] : NULL;
}

/* ---- opening beneath a folder ---- */
/* ELOOP where a link stands in the way, as O_NOFOLLOW says it. */
static int step(int at, const char *name, int flags)
{
    struct stat info;
    int fd = openat(at, name, flags | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOTDIR && fstatat(at, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(info.st_mode))
        errno = ELOOP;
    return fd;
}

/* Links are not followed at all: stricter than openat2, which follows those that stay inside. */
static int open_stepwise(int folder, const char *path, int flags)
{
    char name[256];
    int at = folder;
    for (;;) {
        size_t n = strcspn(path, "/");
        if (n >= sizeof name) {
            errno = ENAMETOOLONG;
            return -1;
        }
        snprintf(name, sizeof name, "%.*s", (int)n, path);
        int next = step(at, name, path[n] ? O_RDONLY | O_DIRECTORY : flags);
        if (at != folder) {
            int why = errno;
            close(at);
            errno = why;
        }
        if (next < 0 || !path[n])
            return next;
        at = next;
        path += n + 1;
    }
}

#if defined SYS_openat2
#define RESOLVE_NO_MAGICLINKS_ 0x02u
#define RESOLVE_BENEATH_ 0x08u
static int open_beneath(int folder, const char *path, int flags)
{
    enum { TRIES = 32 };                     /* something is renamed meanwhile: EAGAIN */
    struct { uint64_t flags, mode, resolve; } how = {
        (uint64_t)(flags | O_CLOEXEC), 0, RESOLVE_BENEATH_ | RESOLVE_NO_MAGICLINKS_ };
    for (int i = 0; i < TRIES; i++) {
        long fd = syscall(SYS_openat2, folder, path, &how, sizeof how);
        if (fd >= 0)
            return (int)fd;
        if (errno == ENOSYS || errno == EPERM || errno == EINVAL)
            return open_stepwise(folder, path, flags);
        if (errno != EAGAIN && errno != EINTR)
            return -1;
    }
    return -1;
}
#else
static int open_beneath(int folder, const char *path, int flags)
{
    return open_stepwise(folder, path, flags);
}
#endif

/* Did the kernel find that the path leads out of its folder? */
static bool leads_out(int why)
{
    return why == EXDEV || why == ELOOP;
}

/* ---- the gate ---- */
static _Noreturn void raise_outside(Ctx *ctx, const char *path)
{
    err_raise(ctx, ERR_IO,
              "%.1000s is outside of the program's folder, and %s keeps a program in there", path,
              ctx->fence->by);
}

/* -1 with errno; EXDEV: it is outside. */
static int open_inside(const Fence *f, const char *path, int flags)
{
    char whole[FENCE_PATH];
    const char *rest;
    if (!absolute(path, whole))
        return -1;
    const Folder *folder = find_folder(f, whole, false, &rest);
    if (!folder) {
        errno = EXDEV;
        return -1;
    }
    return open_beneath(folder->fd, rest, flags);
}

int fence_open(Ctx *ctx, const char *path)
{
    const Fence *f = ctx->fence;
    struct stat info;
    if (!f || is_named(f, path))
        return open(path, O_RDONLY | O_CLOEXEC);
    int fd = open_inside(f, path, O_RDONLY | O_NONBLOCK);
    if (fd < 0 && leads_out(errno))
        raise_outside(ctx, path);
    if (fd < 0 || fstat(fd, &info) != 0 || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))
        return fd;
    close(fd);
    err_raise(ctx, ERR_IO, "%.1000s is no plain file, and %s keeps a program from others",
              path, f->by);
}

bool fence_sees(Ctx *ctx, const char *path)
{
    if (!ctx->fence || is_named(ctx->fence, path))
        return access(path, R_OK) == 0;
    int fd = open_inside(ctx->fence, path, O_PATH);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

bool fence_holds(Ctx *ctx, const char *path)
{
    char whole[FENCE_PATH];
    const char *rest;
    return !ctx->fence || (absolute(path, whole) && find_folder(ctx->fence, whole, false, &rest));
}

void fence_check_read(Ctx *ctx, const char *path)
{
    if (!ctx->fence || is_named(ctx->fence, path))
        return;
    int fd = open_inside(ctx->fence, path, O_PATH);
    if (fd >= 0)
        close(fd);
    else if (leads_out(errno))
        raise_outside(ctx, path);
}

/* The last part of a path: what stands behind its last slash. */
static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static _Noreturn void raise_no_target(Ctx *ctx, const char *path)
{
    Error *e = err_new(ctx, ERR_IO, "cannot write %.1000s: %s keeps a program from writing "
                                    "anywhere but in tempdir()",
                       path, ctx->fence->by);
    const char *name = last_part(path);
    if (*name && !strpbrk(name, "\"\\{}\n"))
        err_help(e, "write it there: tempdir() + \"/%.200s\"", name);
    err_throw(e);
}

/* The folder of the file is there, inside, behind no link; nor is the file one, or known by two
 * names. */
static bool may_be_written(const Folder *folder, const char *rest)
{
    char above[FENCE_PATH];
    struct stat info;
    const char *name = last_part(rest);
    snprintf(above, sizeof above, "%.*s", name == rest ? 1 : (int)(name - rest) - 1,
             name == rest ? "." : rest);
    int fd = open_stepwise(folder->fd, above, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return !leads_out(errno);            /* the caller's open says what is wrong */
    bool there = fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
    close(fd);
    return !there || S_ISDIR(info.st_mode) || (S_ISREG(info.st_mode) && info.st_nlink == 1);
}

const char *fence_target(Ctx *ctx, const char *path, char out[FENCE_PATH])
{
    char whole[FENCE_PATH];
    const char *rest;
    if (!ctx->fence)
        return path;
    const Folder *folder = absolute(path, whole)
                           ? find_folder(ctx->fence, whole, true, &rest) : NULL;
    if (!folder || !may_be_written(folder, rest) ||
        snprintf(out, FENCE_PATH, "%s/%s", folder->path, rest) >= FENCE_PATH)
        raise_no_target(ctx, path);
    return out;
}

void fence_check(Ctx *ctx, unsigned reaches, const char *what)
{
    const char *does = reaches & REACH_NATIVE ? "reaches into native code"
                     : reaches & REACH_PROCESS ? "starts another program"
                                               : "reads the environment";
    if (ctx->fence && reaches & REACH_REFUSED)
        err_raise(ctx, ERR_IO, "%s %s, and %s keeps a program from that", what, does,
                  ctx->fence->by);
}
