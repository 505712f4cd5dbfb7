/* Built kernels on disk: see device_cache.h. A file is a header, the parts of its key with their
 * final zeros, and what was built; a checksum over both tells a damaged one from a good one. */
#include "kernels/device/device_cache.h"

#include "core/system/cache.h"
#include "core/system/fd.h"
#include "core/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* over the first, the oldest go down to the second */
enum { MOST_BYTES = 128 << 20, KEPT_BYTES = 96 << 20 };

typedef struct Header {
    char magic[8];
    uint64_t key_bytes, built_bytes, sum;
} Header;

static const char magic[8] = { 'R', 'i', 'c', 'c', 'i', 'K', '0', '1' };

/* FNV-1a, 64 bits. */
static uint64_t mix(uint64_t h, const void *from, size_t bytes)
{
    const unsigned char *p = from;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

static const uint64_t mix_start = 0xcbf29ce484222325u;

static uint64_t key_hash(const char *const *parts, size_t *bytes)
{
    uint64_t h = mix_start;
    *bytes = 0;
    for (; *parts; parts++) {
        size_t n = strlen(*parts) + 1;
        h = mix(h, *parts, n);
        *bytes += n;
    }
    return h;
}

/* ---- where ---- */
typedef struct Place {
    char folder[3072], file[3200];
    uint64_t hash;
    size_t key_bytes;
} Place;

static bool place_find(Place *p, const char *const *parts, bool make)
{
    if (!cache_folder(p->folder, sizeof p->folder, "kernels", make))
        return false;
    p->hash = key_hash(parts, &p->key_bytes);
    snprintf(p->file, sizeof p->file, "%s/%016llx", p->folder, (unsigned long long)p->hash);
    return true;
}

/* ---- reading ---- */
static bool read_all(int fd, void *to, size_t bytes)
{
    for (char *p = to; bytes;) {
        ssize_t n = read(fd, p, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* The file's next bytes are these. */
static bool read_same(int fd, const char *wanted, size_t bytes)
{
    char kept[4096];
    for (size_t n; bytes; wanted += n, bytes -= n) {
        n = bytes < sizeof kept ? bytes : sizeof kept;
        if (!read_all(fd, kept, n) || memcmp(kept, wanted, n) != 0)
            return false;
    }
    return true;
}

/* A regular file of ours with sizes that agree; code that others wrote is not run. */
static bool header_read(int fd, const Place *p, Header *h)
{
    struct stat s;
    return fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() &&
           s.st_size < MOST_BYTES &&
           read_all(fd, h, sizeof *h) && memcmp(h->magic, magic, sizeof magic) == 0 &&
           h->key_bytes == p->key_bytes && h->built_bytes > 0 && h->built_bytes < MOST_BYTES &&
           (uint64_t)s.st_size == sizeof *h + h->key_bytes + h->built_bytes;
}

static void *body_read(Ctx *ctx, int fd, const Place *p, const Header *h, const char *const *parts)
{
    size_t bytes = (size_t)h->built_bytes;
    for (; *parts; parts++)
        if (!read_same(fd, *parts, strlen(*parts) + 1))
            return NULL;
    void *built = mem_try_alloc(ctx, bytes);
    if (built && read_all(fd, built, bytes) && mix(p->hash, built, bytes) == h->sum)
        return built;
    if (built)
        mem_free(ctx, built, bytes);
    return NULL;
}

void *device_cache_get(Ctx *ctx, const char *const *parts, size_t *bytes)
{
    Place p;
    Header h;
    void *built = NULL;
    if (!place_find(&p, parts, false))
        return NULL;
    int fd = open(p.file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (header_read(fd, &p, &h))
        built = body_read(ctx, fd, &p, &h, parts);
    if (built) {
        *bytes = (size_t)h.built_bytes;
        futimens(fd, NULL);                     /* used now: it goes last */
    }
    close(fd);
    return built;
}

void device_cache_drop(const char *const *parts)
{
    Place p;
    if (place_find(&p, parts, false))
        unlink(p.file);
}

/* ---- writing ---- */
static bool file_write(int fd, const Place *p, const char *const *parts, const void *built,
                       size_t bytes)
{
    Header h = { .key_bytes = p->key_bytes, .built_bytes = bytes,
                 .sum = mix(p->hash, built, bytes) };
    memcpy(h.magic, magic, sizeof magic);       /* the key's hash is the checksum of the key */
    bool ok = fd_write_all(fd, &h, sizeof h);
    for (; ok && *parts; parts++)
        ok = fd_write_all(fd, *parts, strlen(*parts) + 1);
    return ok && fd_write_all(fd, built, bytes);
}

/* Kernels, and what was to become one when its writer died. */
static bool ours(const char *name)
{
    return strspn(name, "0123456789abcdef") == 16 || strncmp(name, "new.", 4) == 0;
}

/* Bytes by when they were last used: SPANS equal spans of time from `from` on. */
enum { SPANS = 128 };
typedef struct Ages {
    time_t from, to;
    off_t total, span[SPANS];
} Ages;

static int span_of(const Ages *a, time_t used)
{
    return (int)((double)(used - a->from) / ((double)(a->to - a->from) + 1) * SPANS);
}

typedef enum Pass { FIND_ENDS, FIND_AGES, REMOVE } Pass;

/* One pass over the folder; REMOVE takes what is older than span `keep`. */
static void folder_pass(DIR *d, Pass pass, Ages *a, int keep)
{
    rewinddir(d);
    for (struct dirent *e; (e = readdir(d));) {
        struct stat s;
        if (!ours(e->d_name) || fstatat(dirfd(d), e->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (pass == FIND_ENDS) {
            a->from = a->total == 0 || s.st_mtime < a->from ? s.st_mtime : a->from;
            a->to = a->total == 0 || s.st_mtime > a->to ? s.st_mtime : a->to;
            a->total += s.st_size;
        } else if (s.st_mtime < a->from || s.st_mtime > a->to)
            continue;                           /* touched meanwhile: it is young */
        else if (pass == FIND_AGES)
            a->span[span_of(a, s.st_mtime)] += s.st_size;
        else if (span_of(a, s.st_mtime) < keep)
            unlinkat(dirfd(d), e->d_name, 0);
    }
}

static void folder_bound(const char *folder)
{
    DIR *d = opendir(folder);
    Ages a = { .total = 0 };
    if (!d)
        return;
    folder_pass(d, FIND_ENDS, &a, 0);
    if (a.total > MOST_BYTES) {
        int keep = SPANS;
        off_t kept = 0;
        folder_pass(d, FIND_AGES, &a, 0);
        while (keep > 0 && kept + a.span[keep - 1] <= KEPT_BYTES)
            kept += a.span[--keep];
        folder_pass(d, REMOVE, &a, keep);
    }
    closedir(d);
}

void device_cache_put(const char *const *parts, const void *built, size_t bytes)
{
    Place p;
    char part[3300];
    if (bytes == 0 || bytes > MOST_BYTES / 4 || !place_find(&p, parts, true))
        return;
    snprintf(part, sizeof part, "%s/new.XXXXXX", p.folder);
    int fd = mkostemp(part, O_CLOEXEC);
    if (fd < 0)
        return;
    bool ok = file_write(fd, &p, parts, built, bytes);
    ok &= close(fd) == 0;
    if (!ok || rename(part, p.file) != 0)
        unlink(part);
    folder_bound(p.folder);
}
