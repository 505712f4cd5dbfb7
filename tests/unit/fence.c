/* The fence around programs of strangers, below the language: paths that try to leave their folder,
 * links that are turned while they are opened, numbers of --limit, the fresh folder, and the second
 * wall. That one is tried by a child that calls the kernel itself, as native code would that got
 * in. */
#include "core/base/error.h"
#include "core/base/fence.h"
#include "core/base/limit.h"
#include "core/base/mem.h"
#include "core/system/tempdir.h"
#include "tests/unit/check.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static Ctx ctx_storage, *ctx = &ctx_storage;
static InterruptFlag interrupt;
static char base[64], inside[80], outside[80];

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static const char *in(const char *folder, const char *name)
{
    static char path[4][256];
    static int next;
    char *at = path[next++ % 4];
    snprintf(at, 256, "%s/%s", folder, name);
    return at;
}

/* The first byte, '-' where there is no such file, '!' where the fence refused. */
static char look(const char *path)
{
    ErrFrame frame;
    char c = '-';
    if (!ERR_TRY(ctx, &frame)) {
        err_free(ctx->error);
        ctx->error = NULL;
        return '!';
    }
    int fd = fence_open(ctx, path);
    ERR_END(ctx, &frame);
    if (fd >= 0) {
        if (read(fd, &c, 1) != 1)
            c = '?';
        close(fd);
    }
    return c;
}

static bool refuses_target(const char *path)
{
    ErrFrame frame;
    char held[FENCE_PATH];
    if (!ERR_TRY(ctx, &frame)) {
        err_free(ctx->error);
        ctx->error = NULL;
        return true;
    }
    fence_target(ctx, path, held);
    ERR_END(ctx, &frame);
    return false;
}

static void build(void)
{
    strcpy(base, "/tmp/ricci-fence-XXXXXX");
    CHECK(mkdtemp(base) != NULL);
    snprintf(inside, sizeof inside, "%s/in", base);
    snprintf(outside, sizeof outside, "%s/out", base);
    mkdir(inside, 0700);
    mkdir(outside, 0700);
    mkdir(in(inside, "sub"), 0700);
    put(in(inside, "a"), "a");
    put(in(inside, "sub/b"), "b");
    put(in(outside, "s"), "s");
    CHECK(symlink("../out/s", in(inside, "up")) == 0);
    CHECK(symlink(in(outside, "s"), in(inside, "abs")) == 0);
    CHECK(symlink("../out/none", in(inside, "dangling")) == 0);
    CHECK(symlink(outside, in(inside, "folder")) == 0);
    CHECK(symlink("a", in(inside, "near")) == 0);
    CHECK(symlink("sub", in(inside, "subnear")) == 0);
    CHECK(symlink("/proc/self/root", in(inside, "root")) == 0);
    CHECK(symlink("loop", in(inside, "loop")) == 0);
    CHECK(symlink(inside, in(base, "other")) == 0);
    CHECK(mkfifo(in(inside, "pipe"), 0600) == 0);
}

static void test_reading(void)
{
    CHECK(look(in(inside, "a")) == 'a' && look(in(inside, "sub/b")) == 'b' &&
          look(in(inside, "none")) == '-');
    CHECK(look(in(inside, "./sub/../a")) == 'a' && look(in(inside, "sub//b")) == 'b');
    /* another name of the folder is not followed */
    CHECK(look(in(base, "other/a")) == '!');
    CHECK(look(in(inside, "../out/s")) == '!' && look(in(outside, "s")) == '!' &&
          look("/etc/passwd") == '!');
    CHECK(look(in(inside, "../in/a")) == 'a');
    CHECK(look(in(inside, "up")) == '!' && look(in(inside, "abs")) == '!' &&
          look(in(inside, "folder/s")) == '!');
    /* the same answer, whether it is there or not */
    CHECK(look(in(inside, "dangling")) == '!' && look(in(inside, "folder/none")) == '!');
    CHECK(look(in(outside, "none")) == '!' && look("/no/such/folder") == '!');
    CHECK(look(in(inside, "root/etc/passwd")) == '!' && look(in(inside, "loop")) == '!');
    CHECK(look(in(inside, "pipe")) == '!');           /* and nobody waits for its writer */
    CHECK(look("/proc/self/environ") == '!' && look("/dev/zero") == '!' && look("") == '!');
    CHECK(!fence_sees(ctx, in(outside, "s")) && fence_sees(ctx, in(inside, "a")) &&
          !fence_sees(ctx, in(inside, "up")));
    char name[5000];
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = '\0';
    CHECK(look(name) == '-' && look(in(inside, "a/b")) == '-');
    CHECK(chdir(inside) == 0 && look("a") == 'a' && look("../out/s") == '!' && look(".") == '?');
    CHECK(chdir("sub") == 0 && look("b") == 'b' && look("../a") == 'a' &&
          look("../../out/s") == '!');
    CHECK(chdir("/") == 0);
}

static void test_named(void)
{
    fence_allow_file(ctx->fence, in(outside, "s"));
    CHECK(look(in(outside, "s")) == 's' && look(in(outside, "../out/s")) == '!' &&
          look(in(inside, "up")) == '!');
}

static void test_writing(void)
{
    char held[FENCE_PATH];
    TempDir t = { "", 0 };
    CHECK(refuses_target(in(inside, "a")) && refuses_target(in(inside, "new")) &&
          refuses_target("/tmp/x"));
    CHECK(tempdir_make(&t) && fence_allow(ctx->fence, t.path, true));
    CHECK(strcmp(fence_target(ctx, in(t.path, "x.csv"), held), in(t.path, "x.csv")) == 0);
    CHECK(refuses_target(in(t.path, "../x.csv")) && refuses_target(in(inside, "a")));
    CHECK(symlink(in(outside, "s"), in(t.path, "link")) == 0 && refuses_target(in(t.path, "link")));
    CHECK(link(in(outside, "s"), in(t.path, "hard")) == 0 && refuses_target(in(t.path, "hard")));
    CHECK(mkfifo(in(t.path, "pipe"), 0600) == 0 && refuses_target(in(t.path, "pipe")));
    CHECK(symlink(outside, in(t.path, "folder")) == 0 && refuses_target(in(t.path, "folder/x")));
    CHECK(mkdir(in(t.path, "deep"), 0700) == 0);
    put(in(t.path, "deep/file"), "x");
    chmod(in(t.path, "deep"), 0500);
    char gone[1024];
    strcpy(gone, t.path);
    tempdir_remove(&t);
    struct stat info;
    CHECK(stat(gone, &info) != 0 && stat(in(outside, "s"), &info) == 0 && !t.path[0]);
}

/* A link that points inside and outside in turn: what is read is never what lies outside. */
static _Atomic bool turning;
static void *turn(void *arg)
{
    char other[256];
    (void)arg;
    snprintf(other, sizeof other, "%s/.turn", inside);
    while (turning)
        for (int i = 0; i < 2; i++)
            if (symlink(i ? "a" : "../out/t", other) == 0)
                rename(other, in(inside, "turn"));
    return NULL;
}

static void test_race(void)
{
    pthread_t thread;
    int read_inside = 0;
    char path[256];
    snprintf(path, sizeof path, "%s/turn", inside);
    put(in(outside, "t"), "t");
    turning = true;
    CHECK(pthread_create(&thread, NULL, turn, NULL) == 0);
    for (int i = 0; i < 20000 || (!read_inside && i < 5000000); i++) {
        if (i >= 20000)
            sched_yield();                  /* the other thread was not let in yet */
        char c = look(path);
        if (i < 20000)
            CHECK(c != 't');
        else if (c == 't')
            CHECK(false);
        read_inside += c == 'a';
    }
    turning = false;
    pthread_join(thread, NULL);
    CHECK(read_inside > 0);
}

static void test_limits(void)
{
    char what[64], text[32];
    Limit l = limit_none();
    CHECK(limit_read(&l, "memory=1e9,seconds=.5,file=0", what) && l.memory == 1e9 &&
          l.seconds == 0.5 && l.file == 0);
    static const char *const wrong[] =
        { "", "memory", "memory=", "memory=x", "memory=1e", "memory=-1", "memory=nan",
        "memory=inf", "memory=0", "seconds=0", "seconds=1s", "disk=1", "memory=1,", ",memory=1",
        "memory=1e999",
        "memory=0x10", "memory=1.2.3", "memory=.", "=1", "memory=1,,file=2" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        l = limit_none();
        CHECK(!limit_read(&l, wrong[i], what));
    }
    l = limit_none();
    limit_defaults(&l);
    CHECK(l.memory == 1e9 && l.seconds == 60 && l.file == 1e8);
    CHECK(strcmp(limit_text(text, 1e9), "1e9") == 0 && strcmp(limit_text(text, 60), "60") == 0);
    CHECK(strcmp(limit_text(text, 1e5), "1e5") == 0 &&
          strcmp(limit_text(text, 1.5e9), "1.5e9") == 0);
    CHECK(strcmp(limit_text(text, 0), "0") == 0 && strcmp(limit_text(text, 0.5), "0.5") == 0);
    ctx->limit = &l;
    CHECK(limit_write(ctx, 99999999) && !limit_write(ctx, 2) && errno == EFBIG &&
          limit_write(ctx, 1));
    ctx->limit = NULL;
}

/* ---- the second wall, from behind the first ---- */
#define TRY(expression) (errno = 0, (void)(expression), errno == EPERM || errno == EACCES)

/* The child of a fork that was let through. */
static long started(long pid)
{
    if (pid == 0)
        _exit(0);
    return pid;
}

static int behind_the_walls(const char *tempdir, int walls)
{
    int wrong = 0, number = 0;
#define REFUSED(expression) (number++, TRY(expression) \
                             ? 0 : (printf("let through: " #expression "\n"), wrong++))
#define WORKS(expression) (number++, (expression) ? 0 : (printf("refused: " #expression " (%s)\n", \
                                                                strerror(errno)), wrong++))
    char path[256];
    if (walls & WALL_SECCOMP) {
        REFUSED(execl("/bin/true", "true", (char *)NULL) == 0);
        REFUSED(started(fork()));
        REFUSED(started(syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL)));
        REFUSED(socket(AF_INET, SOCK_STREAM, 0));
        REFUSED(socket(AF_UNIX, SOCK_DGRAM, 0));
        REFUSED(kill(getppid(), 0));
        REFUSED(kill(-1, 0));
        REFUSED(syscall(SYS_tgkill, getppid(), getppid(), 0));
        REFUSED(syscall(SYS_ptrace, 16, getppid(), 0, 0));
        REFUSED(syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, 0));
        REFUSED(syscall(SYS_unshare, 0x10000000));
        REFUSED(syscall(SYS_bpf, 0, 0, 0));
        REFUSED(syscall(434, getppid(), 0));
        REFUSED(chmod("/tmp", 01777));
        REFUSED(symlink("/etc", in(tempdir, "etc")));
        REFUSED(link("/etc/passwd", in(tempdir, "passwd")));
        REFUSED(ioctl(0, 0x5412, "x"));
        REFUSED(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 1, 1 }));
        errno = 0;
        WORKS(syscall(435, NULL, 0) < 0 && errno == ENOSYS);
        struct rlimit now;
        WORKS(getrlimit(RLIMIT_FSIZE, &now) == 0);
        WORKS(kill(getpid(), 0) == 0);
    }
    if (walls & WALL_LANDLOCK) {
        REFUSED(open("/etc/passwd", O_RDONLY));
        REFUSED(open("/proc/self/environ", O_RDONLY));
        REFUSED(open("/proc/1/environ", O_RDONLY));
        REFUSED(open(in(outside, "t"), O_RDONLY));
        REFUSED(open(in(inside, "a"), O_WRONLY));
        REFUSED(open(in(inside, "new"), O_WRONLY | O_CREAT, 0600));
        REFUSED(open(in(base, "new"), O_WRONLY | O_CREAT, 0600));
        REFUSED(truncate(in(inside, "a"), 0));
        REFUSED(unlink(in(inside, "a")));
        REFUSED(rename(in(inside, "a"), in(inside, "moved")));
        REFUSED(mkdir(in(base, "folder"), 0700));
        REFUSED(open("/", O_RDONLY | O_DIRECTORY));
    }
    WORKS(open(in(inside, "a"), O_RDONLY) >= 0);
    snprintf(path, sizeof path, "%s/file", tempdir);
    WORKS(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) >= 0);
    WORKS(rename(path, in(tempdir, "file2")) == 0);
    WORKS(unlink(in(tempdir, "file2")) == 0);
    WORKS(open("/usr/lib", O_RDONLY | O_DIRECTORY) >= 0 || errno == ENOENT);
    pthread_t thread;
    turning = false;
    WORKS(pthread_create(&thread, NULL, turn, NULL) == 0 && pthread_join(thread, NULL) == 0);
    fflush(stdout);
    return wrong > 100 ? 100 : wrong;
}

static void test_walls(void)
{
    TempDir t = { "", 0 };
    int status = 0;
    CHECK(tempdir_make(&t));
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        Fence *f = fence_new("--safe");
        fence_allow(f, t.path, true);
        fence_allow(f, inside, false);
        int walls = fence_close(f, t.path, NULL, 0);
        if (walls != (WALL_LANDLOCK | WALL_SECCOMP))
            printf("not run: %s%s\n", walls & WALL_LANDLOCK ? "" : "Landlock ",
                   walls & WALL_SECCOMP ? "" : "seccomp");
        int wrong = behind_the_walls(t.path, walls);
        t.owner = getpid();
        tempdir_remove(&t);                          /* from behind the walls */
        _exit(wrong);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    struct stat info;
    CHECK(stat(t.path, &info) != 0);
}

int main(void)
{
    mem_init(ctx);
    ctx->interrupt = &interrupt;
    build();
    ctx->fence = fence_new("--safe");
    CHECK(fence_allow(ctx->fence, inside, false) &&
          !fence_allow(ctx->fence, in(base, "nowhere"), false));
    test_reading();
    test_named();
    test_writing();
    test_race();
    test_limits();
    test_walls();
    fence_free(ctx->fence);
    TempDir all = { "", getpid() };
    strcpy(all.path, base);
    tempdir_remove(&all);
    mem_shutdown(ctx);
    return check_result();
}
