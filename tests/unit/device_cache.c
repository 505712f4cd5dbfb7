/* Built kernels on disk: what is kept comes back whole or not at all, whatever happened to the
 * files, and there are never too many. */
#include "kernels/device/device_cache.h"

#include "check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static Ctx ctx_storage, *ctx = &ctx_storage;
static char folder[64], files[120];

static const char *const key[] = { "cuda 12040", "sm_90", "source", NULL };

static bool kept(const char *const *parts, const char *wanted, size_t bytes)
{
    size_t n = 0;
    char *built = device_cache_get(ctx, parts, &n);
    bool same = built ? n == bytes && wanted && memcmp(built, wanted, n) == 0 : !wanted;
    mem_free(ctx, built, n);
    return same;
}

/* The one file that is there; its size, or -1. */
static off_t only_file(char *path, size_t cap)
{
    char command[200];
    struct stat s;
    snprintf(command, sizeof command, "ls -d %s/*", files);
    FILE *f = popen(command, "r");
    bool read = fgets(path, (int)cap, f) != NULL;
    pclose(f);
    path[strcspn(path, "\n")] = '\0';
    return read && stat(path, &s) == 0 ? s.st_size : -1;
}

static void test_keys(void)
{
    const char *const other[] = { "cuda 1204", "0sm_90", "source", NULL }; /* the same text, cut
    elsewhere */
    const char *const longer[] = { "cuda 12040", "sm_90", "source", "", NULL };
    CHECK(kept(key, NULL, 0));
    device_cache_put(key, "machine\0code", 12);
    CHECK(kept(key, "machine\0code", 12) && kept(other, NULL, 0) && kept(longer, NULL, 0));
    device_cache_put(other, "other", 5);
    CHECK(kept(key, "machine\0code", 12) && kept(other, "other", 5));
    device_cache_put(key, "new", 3);
    CHECK(kept(key, "new", 3));
    device_cache_put(key, "", 0);                       /* nothing is not kept */
    CHECK(kept(key, "new", 3));
    device_cache_drop(other);
    CHECK(kept(other, NULL, 0) && kept(key, "new", 3));
}

/* Every byte of a file turned, and every shorter file. */
static void test_damage(void)
{
    char path[300];
    off_t size = only_file(path, sizeof path);
    CHECK(size > 40 && size < 100);
    for (off_t i = 0; i < size; i++) {
        char byte, turned;
        int fd = open(path, O_RDWR);
        CHECK(pread(fd, &byte, 1, i) == 1);
        turned = (char)(byte ^ 0x10);
        CHECK(pwrite(fd, &turned, 1, i) == 1 && kept(key, NULL, 0));
        CHECK(pwrite(fd, &byte, 1, i) == 1 && kept(key, "new", 3));
        close(fd);
    }
    for (off_t n = size - 1; n >= 0; n--)
        CHECK(truncate(path, n) == 0 && kept(key, NULL, 0));
    device_cache_put(key, "again", 5);
    CHECK(kept(key, "again", 5));
    char elsewhere[320];
    snprintf(elsewhere, sizeof elsewhere, "%s/link", folder);
    CHECK(rename(path, elsewhere) == 0 && symlink(elsewhere, path) == 0 && kept(key, NULL, 0));
    device_cache_put(key, "file", 4);                   /* in the place of the link */
    CHECK(kept(key, "file", 4) && unlink(elsewhere) == 0);
}

/* Several at once: a reader sees one writer's bytes or another's. */
static void test_writers(void)
{
    enum { BYTES = 50000 };
    static char mine[BYTES];
    for (int w = 0; w < 3; w++) {
        if (fork() != 0)
            continue;
        memset(mine, 'a' + w, sizeof mine);
        for (int k = 0; k < 40; k++)
            device_cache_put(key, mine, sizeof mine);
        _exit(0);
    }
    bool whole = true;
    for (int k = 0; k < 100; k++) {
        size_t n = 0;
        char *built = device_cache_get(ctx, key, &n);
        whole &= built && (n == 4 || n == BYTES);
        for (size_t i = 1; built && i < n && n == BYTES; i++)
            whole &= built[i] == built[0];
        mem_free(ctx, built, n);
    }
    CHECK(whole);
    while (wait(NULL) > 0)
        ;
    char path[300];
    CHECK(only_file(path, sizeof path) > BYTES);
}

/* 200 MB of old files, which take no room on the disk here. */
static void test_bound(void)
{
    char path[300];
    int left = 0;
    for (int i = 0; i < 50; i++) {
        snprintf(path, sizeof path, "%s/%016x", files, i);
        int fd = open(path, O_CREAT | O_WRONLY, 0600);
        struct timespec used[2] =
            { { .tv_sec = 1000000 + 1000 * i }, { .tv_sec = 1000000 + 1000 * i } };
        CHECK(fd >= 0 && ftruncate(fd, 4 << 20) == 0 && futimens(fd, used) == 0);
        close(fd);
    }
    device_cache_put(key, "young", 5);
    CHECK(kept(key, "young", 5));
    for (int i = 0; i < 50; i++) {
        snprintf(path, sizeof path, "%s/%016x", files, i);
        bool there = access(path, F_OK) == 0;
        CHECK(there || left == 0);                      /* the oldest went */
        left += there;
    }
    CHECK(left <= 24);                                  /* of 4 MB: 96 MB */
}

static void test_nowhere(void)
{
    setenv("XDG_CACHE_HOME", "relative", 1);
    unsetenv("HOME");
    device_cache_put(key, "built", 5);
    CHECK(kept(key, NULL, 0) && access("relative", F_OK) != 0);
    setenv("XDG_CACHE_HOME", "/proc/no/such/place", 1);
    device_cache_put(key, "built", 5);
    CHECK(kept(key, NULL, 0));
    setenv("XDG_CACHE_HOME", "", 1);
    setenv("HOME", folder, 1);
    device_cache_put(key, "built", 5);
    CHECK(kept(key, "built", 5));
}

int main(void)
{
    char command[100];
    mem_init(ctx);
    strcpy(folder, "/tmp/ricci-kept.XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    snprintf(files, sizeof files, "%s/ricci/kernels", folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    test_keys();
    test_damage();
    test_writers();
    test_bound();
    test_nowhere();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0 && ctx->mem.live == 0);
    mem_shutdown(ctx);
    return check_result();
}
