/* Groups of ranks, below the language: commands and pieces there and back, failures that a rank
 * raises, ranks that die, stop or hang, launchers that fail, callers that nobody knows, a child
 * that was forked; and that nothing is left of any of them. `mpi all` runs those that take seconds
 * too, and `mpi bench` gives figures. */
#include "core/base/error.h"
#include "core/base/mem.h"
#include "kernels/grid/wire.h"
#include "kernels/mpi/group.h"
#include "tests/unit/check.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static Ctx ctx_storage, *ctx = &ctx_storage;
static InterruptFlag interrupt;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int count_entries(const char *folder, const char *prefix)
{
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d)); )
        n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
    if (d)
        closedir(d);
    return n;
}

static int open_files(void) { return count_entries("/proc/self/fd", ""); }

static bool gone(pid_t pid)
{
    for (int i = 0; i < 300; i++) {
        if (kill(pid, 0))
            return true;
        usleep(10000);
    }
    return false;
}

/* ---- pieces: byte i of rank r's is a mix of both ---- */
static unsigned char byte_of(int r, uint64_t i) { return (unsigned char)(31 * r + 7 * i + i / 251); }
static uint64_t wrong, taken;

static void fill(void *with, int r, uint64_t at, void *to, size_t n)
{
    (void)with;
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)to)[i] = byte_of(r, at + i);
}

static void take(void *with, int r, uint64_t at, const void *from, size_t n)
{
    (void)with;
    taken += n;
    for (size_t i = 0; i < n; i++)
        wrong += ((const unsigned char *)from)[i] != byte_of(r, at + i);
}

/* What one echo sends and gets; one that raises leaves it to be freed. */
static struct { Buf common, own[16], replies[16]; int ranks; } echo;

static void echo_free(void)
{
    if (echo.ranks)
        buf_free(&echo.common);
    for (int r = 0; r < echo.ranks; r++) {
        buf_free(&echo.own[r]);
        buf_free(&echo.replies[r]);
    }
    echo.ranks = 0;
}

static void check_echo(Group *g, uint64_t base)
{
    uint64_t bytes[16], all = 0;
    wrong = taken = 0;
    echo.ranks = g->ranks;
    buf_init(&echo.common, ctx);
    wire_text(&echo.common, "all of them");
    for (int r = 0; r < g->ranks; r++) {
        bytes[r] = base ? base + 1000 * (uint64_t)r : 0;
        all += bytes[r];
        buf_init(&echo.own[r], ctx);
        buf_init(&echo.replies[r], ctx);
        wire_u64(&echo.own[r], (uint64_t)r * 1000);
    }
    group_call(ctx, g, WIRE_ECHO, &echo.common, echo.own, echo.replies,
               &(GroupPieces){ .bytes = bytes, .fill = fill, .take = take });
    for (int r = 0; r < g->ranks; r++) {
        Wire w = wire_from(ctx, &echo.replies[r]);
        CHECK(strcmp(wire_get_text(&w), "all of them") == 0);
        CHECK(wire_get_u64(&w) == (uint64_t)r * 1000);
        wire_get_end(&w);
    }
    echo_free();
    CHECK(taken == all && wrong == 0);
}

static void ping(Group *g) { group_call(ctx, g, WIRE_PING, NULL, NULL, NULL, NULL); }

static const char *raised(void) { return ctx->error ? ctx->error->message : ""; }

static void check_group(int p, int q)
{
    Group *g = group_start(ctx, p, q, 64);
    pid_t pids[16];
    CHECK(g->alive && g->ranks == p * q);
    for (int r = 0; r < g->ranks; r++)
        CHECK((pids[r] = g->rank[r].pid) > 0 && g->rank[r].host[0]);
    for (int i = 0; i < 20; i++)
        ping(g);
    check_echo(g, 0);
    check_echo(g, 1);
    check_echo(g, 3000000);
    CHECK(group_alive(ctx, g));
    int ranks = g->ranks;
    group_end(ctx, g);
    for (int r = 0; r < ranks; r++)
        CHECK(gone(pids[r]));
}

/* ---- ranks that fail ---- */
static void check_killed(void)
{
    Group *g = group_start(ctx, 2, 2, 64);
    ping(g);
    double begin = now();
    kill(g->rank[3].pid, SIGKILL);
    CHECK_RAISES(ctx, ERR_DEVICE, for (;;) ping(g));
    CHECK(now() - begin < 30);
    CHECK(strstr(raised(), "mpi(2, 2) lost rank 3 on ") && strstr(raised(), "(signal 9)"));
    CHECK(!g->alive);
    CHECK_RAISES(ctx, ERR_DEVICE, ping(g));
    group_end(ctx, g);
}

static void check_stopped(void)
{
    Group *g = group_start(ctx, 1, 2, 64);
    setenv("RICCI_MPI_TIMEOUT", "1", true);
    pid_t pid = g->rank[1].pid;
    kill(pid, SIGSTOP);
    CHECK_RAISES(ctx, ERR_DEVICE, ping(g));
    CHECK(strstr(raised(), "mpi(1, 2) lost rank 1 on ") && strstr(raised(), "no answer for 1 s"));
    group_end(ctx, g);
    CHECK(gone(pid));
    unsetenv("RICCI_MPI_TIMEOUT");
}

static void check_cut(void)
{
    Group *g = group_start(ctx, 1, 2, 64);
    pid_t pid = g->rank[1].pid;
    shutdown(g->rank[1].fd, SHUT_RDWR);
    CHECK_RAISES(ctx, ERR_DEVICE, ping(g));
    CHECK(strstr(raised(), "mpi(1, 2) lost rank "));
    group_end(ctx, g);
    CHECK(gone(pid));
}

static void check_fault(const char *fault, ErrKind kind, const char *words, bool lives)
{
    setenv("RICCI_MPI_FAULT", fault, true);
    Group *g = group_start(ctx, 1, 2, 64);
    unsetenv("RICCI_MPI_FAULT");
    check_echo(g, 100000);
    setenv("RICCI_MPI_TIMEOUT", "1", true);
    CHECK_RAISES(ctx, kind, check_echo(g, 100000));
    echo_free();
    if (!strstr(raised(), words))
        fprintf(stderr, "%s: %s\n", fault, raised());
    CHECK(strstr(raised(), words));
    unsetenv("RICCI_MPI_TIMEOUT");
    CHECK(g->alive == lives);
    if (lives)
        check_echo(g, 100000);
    group_end(ctx, g);
}

/* ---- launchers ---- */
static void check_launcher(const char *launcher, const char *words)
{
    setenv("RICCI_MPIRUN", launcher, true);
    CHECK_RAISES(ctx, ERR_DEVICE, group_start(ctx, 1, 2, 64));
    if (!strstr(raised(), words))
        fprintf(stderr, "%s: %s\n", launcher, raised());
    CHECK(strstr(raised(), words));
}

/* ---- Ctrl-C ---- */
static void check_interrupt(void)
{
    Group *g = group_start(ctx, 1, 1, 64);
    pid_t pid = g->rank[0].pid;
    double begin = now();
    interrupt = 1;
    CHECK_RAISES(ctx, ERR_INTERRUPT, ping(g));
    CHECK(g->alive && !interrupt);
    kill(pid, SIGSTOP);
    interrupt = 1;
    CHECK_RAISES(ctx, ERR_INTERRUPT, ping(g));
    CHECK(!g->alive && now() - begin < 30);
    group_end(ctx, g);
    CHECK(gone(pid));
}

/* ---- a child of fork ---- */
static void check_fork(void)
{
    Group *g = group_start(ctx, 1, 1, 64);
    pid_t pid = g->rank[0].pid;
    int status;
    pid_t child = fork();
    if (child == 0) {
        volatile int wrongs = 0;
        ErrFrame frame;
        if (ERR_TRY(ctx, &frame)) {
            ping(g);
            wrongs = 1;
        }
        group_end(ctx, g);
        _exit(wrongs);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    check_echo(g, 1000);
    child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    group_end(ctx, g);
    CHECK(gone(pid));                      /* though the child lives */
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
}

static void check_many(int groups)
{
    int files = open_files();
    for (int i = 0; i < groups; i++) {
        Group *g = group_start(ctx, 1, 1, 64);
        ping(g);
        group_end(ctx, g);
    }
    CHECK(open_files() == files);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0);
}

/* ---- figures: `mpi bench` ---- */
static void nothing(void *with, int r, uint64_t at, void *to, size_t n)
{
    (void)with, (void)r, (void)at, (void)to, (void)n;
}
static void nowhere(void *with, int r, uint64_t at, const void *from, size_t n)
{
    (void)with, (void)r, (void)at, (void)from, (void)n;
}

static void bench(int p, int q)
{
    double begin = now();
    Group *g = group_start(ctx, p, q, 64);
    double started = now() - begin, best = 1;
    for (int i = 0; i < 200; i++)
        ping(g);
    for (int i = 0; i < 20; i++) {
        begin = now();
        for (int k = 0; k < 50; k++)
            ping(g);
        double each = (now() - begin) / 50;
        best = each < best ? each : best;
    }
    uint64_t bytes[16], all = (uint64_t)256 << 20;
    for (int r = 0; r < g->ranks; r++)
        bytes[r] = all / (uint64_t)g->ranks;
    double fast = 1e9;
    for (int i = 0; i < 5; i++) {
        begin = now();
        group_call(ctx, g, WIRE_ECHO, NULL, NULL, NULL,
                   &(GroupPieces){ .bytes = bytes, .fill = nothing, .take = nowhere });
        double t = now() - begin;
        fast = t < fast ? t : fast;
    }
    begin = now();
    group_end(ctx, g);
    printf("%d x %d: start %.2f s, round trip %.0f us, there and back %.2f GB/s, end %.2f s\n", p, q,
           started, best * 1e6, 2e-9 * (double)all / fast, now() - begin);
}

int main(int argc, char **argv)
{
    ctx->interrupt = &interrupt;
    mem_init(ctx);
    if (argc > 1 && strcmp(argv[1], "bench") == 0) {
        bench(1, 1);
        bench(1, 2);
        bench(2, 2);
        return 0;
    }
    volatile bool can = false;
    ErrFrame frame;
    if (ERR_TRY(ctx, &frame)) {
        group_end(ctx, group_start(ctx, 1, 1, 64));
        can = true;
        ERR_END(ctx, &frame);
    }
    if (!can) {
        printf("not run: tests/unit/mpi: %s\n", raised());
        return check_result();
    }
    int files = open_files();
    bool all = argc > 1 && strcmp(argv[1], "all") == 0;
    check_group(2, 2);
    check_killed();
    check_cut();
    check_fault("0:2:memory", ERR_MEMORY, "mpi(1, 2): rank 0 on ", true);
    check_fork();
    check_many(all ? 50 : 3);
    if (all) {
        check_group(1, 1);
        check_group(3, 2);
        check_stopped();
        check_fault("1:2:die", ERR_DEVICE, "lost rank 1 on ", false);
        check_fault("1:2:hang", ERR_DEVICE, "no answer for 1 s", false);
        check_interrupt();
    }
    check_launcher("false", "ended with status 1, without a word");
    check_launcher("ls --no-such-option", "unrecognized option");
    check_launcher("ricci-no-such-launcher", "RICCI_MPIRUN names ricci-no-such-launcher");
    CHECK(open_files() == files);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0);
    mem_shutdown(ctx);
    return check_result();
}
