/* The fresh folder of a run: see tempdir.h. What it holds is read with the system's own call, since
 * opendir allocates and a handler of a signal may not. */
#include "core/system/tempdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DEPTH_MOST = 64, ROUNDS = 1000 };

bool tempdir_make(TempDir *t)
{
    const char *base = getenv("TMPDIR");
    char name[900], *real;
    if (t->path[0])
        return true;
    if (!base || !*base || strlen(base) > 800)
        base = "/tmp";
    snprintf(name, sizeof name, "%s/ricci-XXXXXX", base);
    if (!mkdtemp(name))
        return false;
    real = realpath(name, NULL);
    bool fits = real && strlen(real) < sizeof t->path;
    if (fits) {
        memcpy(t->path, real, strlen(real) + 1);
        t->owner = getpid();
    } else {
        rmdir(name);
        errno = ENAMETOOLONG;
    }
    free(real);
    return fits;
}

/* ---- removing ---- */
#ifdef SYS_getdents64
typedef struct Entry {
    uint64_t inode;
    int64_t next;
    unsigned short length;
    unsigned char type;
    char name[];
} Entry;

static void empty(int folder, int depth);

static bool is_itself(const char *name)
{
    return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

static void remove_entry(int folder, const char *name, int depth)
{
    if (unlinkat(folder, name, 0) == 0 || depth == DEPTH_MOST)
        return;
    int inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0)
        return;
    fchmod(inner, 0700);
    empty(inner, depth + 1);
    close(inner);
    unlinkat(folder, name, AT_REMOVEDIR);
}

/* In rounds from the beginning, since removing moves what is read; one that finds nothing to remove
 * is the last. */
static void empty(int folder, int depth)
{
    union { Entry first; char bytes[4096]; } block;
    for (int round = 0, found = 1; found && round < ROUNDS; round++) {
        long n;
        found = 0;
        lseek(folder, 0, SEEK_SET);
        while ((n = syscall(SYS_getdents64, folder, block.bytes, sizeof block)) > 0)
            for (long at = 0; at < n;) {
                const Entry *e = (const Entry *)(const void *)(block.bytes + at);
                at += e->length;
                if (is_itself(e->name))
                    continue;
                found = 1;
                remove_entry(folder, e->name, depth);
            }
    }
}
#else
static void empty(int folder, int depth) { (void)folder, (void)depth; }
#endif

void tempdir_remove(TempDir *t)
{
    int why = errno;
    if (!t || !t->path[0] || t->owner != getpid())
        return;
    int folder = open(t->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0) {
        empty(folder, 0);
        close(folder);
    }
    rmdir(t->path);
    t->path[0] = '\0';
    errno = why;
}
