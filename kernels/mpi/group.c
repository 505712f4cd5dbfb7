/* A group's beginning and end: what is made and closed, in which order, and which process it
 * belongs to. A child of fork() has the sockets too: it closes them there and then, or ranks would
 * not know that the session ended while the child lived. */
#include "kernels/mpi/group_life.h"

#include "core/base/error.h"
#include "core/base/fence.h"
#include "core/base/mem.h"
#include "core/system/c_locale.h"
#include "kernels/grid/wire.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PART_BYTES = 2 * GROUP_PART };
static const double LAST_WORDS = 2.2;      /* seconds that the launcher has to say what it was */

double group_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const char *group_name(const Group *g, char out[48])
{
    c_snprintf(out, 48, "mpi(%d, %d)", g->p, g->q);
    return out;
}

double group_timeout(void)
{
    const char *text = getenv("RICCI_MPI_TIMEOUT");
    double seconds = text ? c_strtod(text, NULL) : 0;
    return seconds > 0 ? seconds : 60;
}

/* ---- the groups of this process ---- */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Group *groups;

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_ranks(Group *g)
{
    for (int r = 0; r < g->ranks; r++)
        close_fd(&g->rank[r].fd);
}

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }

static void in_child(void)
{
    for (Group *g = groups; g; g = g->life->next) {
        GroupLife *life = g->life;
        close_ranks(g);
        close_fd(&life->words_fd);
        close_fd(&life->line_fd);
        for (int i = 0; i < GROUP_LISTENS; i++)
            close_fd(&life->listens[i]);
        life->launcher = 0;
        g->alive = false;
        strcpy(g->why, "belongs to the process that this one was forked from");
    }
    groups = NULL;
    pthread_mutex_unlock(&lock);
}

static void watch_forks(void) { pthread_atfork(before_fork, after_fork, in_child); }

static void enlist(Group *g)
{
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    pthread_once(&watched, watch_forks);
    pthread_mutex_lock(&lock);
    g->life->next = groups;
    groups = g;
    pthread_mutex_unlock(&lock);
}

static void delist(Group *g)
{
    pthread_mutex_lock(&lock);
    for (Group **at = &groups; *at; at = &(*at)->life->next)
        if (*at == g) {
            *at = g->life->next;
            break;
        }
    pthread_mutex_unlock(&lock);
}

/* ---- the beginning ---- */
static Group *make(Ctx *ctx, int p, int q, int block)
{
    Group *g = mem_zalloc(ctx, sizeof *g);
    g->p = p;
    g->q = q;
    g->block = block;
    g->rank = mem_try_alloc(ctx, (size_t)p * (size_t)q * sizeof *g->rank);
    g->life = mem_try_alloc(ctx, sizeof *g->life);
    if (g->rank)
        g->ranks = p * q;
    if (!g->rank || !g->life) {
        group_end(ctx, g);
        mem_raise(ctx, sizeof *g->life);
    }
    *g->life = (GroupLife){ .status = -1, .words_fd = -1, .line_fd = -1, .listens = { -1, -1 } };
    for (int r = 0; r < g->ranks; r++)
        g->rank[r] = (GroupRank){ .fd = -1 };
    return g;
}

/* What says that ranks may come to stand on other hosts. */
static bool may_go_far(void)
{
    static const char *const lists[] = {
        "RICCI_MPIRUN", "PBS_NODEFILE", "PE_HOSTFILE", "LSB_DJOB_HOSTFILE", "HYDRA_HOST_FILE",
        "OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile",
    };
    static const char *const counts[] = { "SLURM_JOB_NUM_NODES", "SLURM_NNODES" };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (getenv(lists[i]))
            return true;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (getenv(counts[i]) && atoi(getenv(counts[i])) > 1)
            return true;
    return false;
}

static void tell_crowded(Ctx *ctx, const Group *g)
{
    static bool told;
    char text[200], host[64], version[32];
    int here = 0;
    hello_here(host, version);
    for (int r = 0; r < g->ranks; r++)
        here += strcmp(g->rank[r].host, host) == 0;
    if (here <= group_tools()->cores || told || !ctx->notice)
        return;
    told = true;
    c_snprintf(text, sizeof text,
               "%s: %d ranks on %d %s take turns, which is slower than as many as there are cores",
               group_name(g, (char[48]){ 0 }), here, group_tools()->cores,
               group_tools()->cores == 1 ? "core" : "cores");
    ctx->notice(ctx, text);
}

Group *group_start(Ctx *ctx, int p, int q, int block)
{
    fence_check(ctx, REACH_PROCESS, "a block on mpi");
    const GroupTools *tools = group_tools();
    if (!tools->launcher)
        err_raise(ctx, ERR_DEVICE, "mpi(%d, %d) cannot be started: %s", p, q, tools->lacks);
    Group *g = make(ctx, p, q, block);
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        group_end(ctx, g);
        err_rethrow(ctx);
    }
    enlist(g);
    group_listen(ctx, g, may_go_far());
    group_launch(ctx, g);
    group_meet(ctx, g);
    ERR_END(ctx, &frame);
    g->alive = true;
    g->life->words_len = 0;
    g->life->words[0] = '\0';
    tell_crowded(ctx, g);
    return g;
}

/* ---- the end ---- */
static void say_end(Group *g)
{
    WireHead end = { WIRE_MAGIC, WIRE_END, ++g->life->seq, 0, 0 };
    for (int r = 0; r < g->ranks; r++)
        (void)!send(g->rank[r].fd, &end, sizeof end, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void group_end(Ctx *ctx, Group *g)
{
    if (!g)
        return;
    GroupLife *life = g->life;
    if (life) {
        delist(g);
        if (g->alive)
            say_end(g);
        else
            close_ranks(g);
        group_unlaunch(life, !g->alive);
        close_ranks(g);
        for (int i = 0; i < GROUP_LISTENS; i++)
            close_fd(&life->listens[i]);
        if (life->parts)
            mem_free_data(ctx, life->parts, (size_t)g->ranks * PART_BYTES);
        mem_free(ctx, life, sizeof *life);
    }
    if (g->rank)
        mem_free(ctx, g->rank, (size_t)g->ranks * sizeof *g->rank);
    mem_free(ctx, g, sizeof *g);
}

void group_over(Group *g, const char *why, ...)
{
    va_list args;
    va_start(args, why);
    c_vsnprintf(g->why, sizeof g->why, why, args);
    va_end(args);
    g->alive = false;
    for (int r = 0; r < g->ranks; r++)
        if (g->rank[r].near > 0 && g->rank[r].fd >= 0)
            kill(g->rank[r].near, SIGKILL);
    close_ranks(g);
}

/* ---- a rank that is gone ---- */
/* How launchers tell which process died of what: a word before the rank's number or its process's,
 * one before the signal. */
static const struct Obituary { const char *rank, *pid, *signal; } obituaries[] = {
    { "process rank ", NULL, "on signal " },             /* Open MPI */
    { NULL, "PID ", "(signal " },                        /* MPICH */
    { NULL, "PID ", "EXIT CODE: " },
    { ": task ", NULL, "signal " },                      /* Slurm */
};

static bool number_behind(const char *words, const char *before, int *number)
{
    const char *at = before ? strstr(words, before) : NULL;
    if (!at || at[strlen(before)] < '0' || at[strlen(before)] > '9')
        return false;
    *number = atoi(at + strlen(before));
    return true;
}

static bool read_obituary(const Group *g, int *rank, int *signal)
{
    const char *words = g->life->words;
    for (size_t i = 0; i < sizeof obituaries / sizeof *obituaries; i++) {
        const struct Obituary *o = &obituaries[i];
        int n;
        if (!number_behind(words, o->signal, signal))
            continue;
        if (number_behind(words, o->rank, &n) && n < g->ranks)
            *rank = n;
        if (number_behind(words, o->pid, &n))
            for (int r = 0; r < g->ranks; r++)
                if (g->rank[r].pid == n)
                    *rank = r;
        return true;
    }
    return false;
}

void group_lost(Group *g, int r)
{
    GroupLife *life = g->life;
    int signal = 0;
    double until = group_clock() + LAST_WORDS;
    bool known = false;
    for (bool last = false; !known && !last; ) {
        last = !life->launcher || group_clock() >= until;
        group_hear(life);
        known = read_obituary(g, &r, &signal);
        if (!known && !last)
            poll(NULL, 0, 10);
    }
    if (!known && life->status >= 0 && WIFEXITED(life->status) && WEXITSTATUS(life->status) > 128)
        signal = WEXITSTATUS(life->status) - 128;
    if (r < 0 || r >= g->ranks)
        r = 0;
    if (signal)
        group_over(g, "lost rank %d on %s (signal %d)", r, g->rank[r].host, signal);
    else
        group_over(g, "lost rank %d on %s (its connection ended)", r, g->rank[r].host);
}

bool group_alive(Ctx *ctx, Group *g)
{
    (void)ctx;
    if (!g->alive)
        return false;
    group_hear(g->life);
    for (int r = 0; r < g->ranks; r++) {
        char byte;
        struct pollfd p = { .fd = g->rank[r].fd, .events = POLLIN };
        if (poll(&p, 1, 0) > 0 && recv(p.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) {
            group_lost(g, r);
            return false;
        }
    }
    return true;
}
