/* A rank: it calls the session, and then obeys it until the session ends. While it has nothing to
 * do it sleeps in its socket. A second thread does nothing but wait for the other end of the socket
 * to go: then the process is over at once, in the middle of a computation too. */
#include "kernels/mpi/rank.h"

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/memory/pool.h"
#include "core/system/c_locale.h"
#include "core/system/held_signals.h"
#include "kernels/grid/grid.h"
#include "kernels/mpi/hello.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct Rank {
    Ctx ctx;
    InterruptFlag interrupt;
    int fd;
    HelloRank me;
    HelloWelcome welcome;
    GridRank *grid;                        /* made when a command first needs one */
    size_t memory;                         /* its share of the machine's */
    uint64_t commands;
} Rank;

/* By which variable a launcher says who is who: Open MPI's, PMIx's, MPICH's, Slurm's. */
static const char *const rank_variables[] = {
    "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID",
};

static int32_t rank_number(void)
{
    for (size_t i = 0; i < sizeof rank_variables / sizeof *rank_variables; i++) {
        const char *text = getenv(rank_variables[i]);
        char *end;
        long r = text ? strtol(text, &end, 10) : -1;
        if (text && *text && !*end && r >= 0 && r < INT32_MAX)
            return (int32_t)r;
    }
    return -1;
}

/* ---- bytes ---- */
/* What a rank cannot say or hear any more it need not do: the session is gone. */
static _Noreturn void session_gone(void) { _exit(1); }

static void receive(int fd, void *to, size_t n)
{
    char *at = to;
    while (n) {
        ssize_t got = recv(fd, at, n, MSG_WAITALL);
        if (got > 0) {
            at += got;
            n -= (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            session_gone();
        }
    }
}

static void transmit(int fd, const void *from, size_t n, int flags)
{
    const char *at = from;
    while (n) {
        ssize_t put = send(fd, at, n, MSG_NOSIGNAL | flags);
        if (put >= 0) {
            at += put;
            n -= (size_t)put;
        } else if (errno != EINTR) {
            session_gone();
        }
    }
}

static void receive_piece(Wire *w, void *to, size_t n)
{
    receive(((Rank *)w->with)->fd, to, n);
}

static void skip(int fd, uint64_t n)
{
    char nowhere[1 << 14];
    for (size_t part; n; n -= part) {
        part = n < sizeof nowhere ? (size_t)n : sizeof nowhere;
        receive(fd, nowhere, part);
    }
}

/* ---- a command ---- */
static void obey_fault(Rank *r)
{
    if (!r->welcome.fault_at || ++r->commands < r->welcome.fault_at)
        return;
    switch ((FaultKind)r->welcome.fault_kind) {
    case FAULT_DIE:
        kill(getpid(), SIGKILL);
        break;
    case FAULT_HANG:
        for (;;)
            pause();
    case FAULT_MEMORY:                     /* of the first command from there on that wants any */
        r->ctx.mem.limit = r->ctx.mem.live;
        break;
    case FAULTS:
        break;
    }
}

static void echo(Wire *in, Buf *out, Buf *piece)
{
    buf_put(out, in->at, (size_t)(in->end - in->at));
    buf_reserve(piece, in->piece);
    piece->len = in->piece;
    wire_get_piece(in, piece->data, in->piece);
    in->give = piece->data;
    in->give_bytes = piece->len;
}

static void obey(Rank *r, uint32_t what, Wire *in, Buf *out, Buf *piece)
{
    if (what == WIRE_PING)
        return;
    if (what == WIRE_ECHO) {
        echo(in, out, piece);
        return;
    }
    if (!r->grid) {
        r->grid = grid_open(&r->ctx, (GridShape){ r->welcome.p, r->welcome.q, r->welcome.block });
        if (grid_rank(r->grid) != r->me.rank)
            err_raise(&r->ctx, ERR_DEVICE,
                      "the launcher calls this rank %d and MPI calls it %d: they do not belong "
                      "together", r->me.rank, grid_rank(r->grid));
    }
    grid_command(r->grid, what, in, out);
}

static void answer(Rank *r, const WireHead *asked, uint32_t what, const Buf *out, const Wire *in)
{
    WireHead head = { WIRE_MAGIC, what, asked->seq, out ? out->len : 0,
                      in ? in->give_bytes : 0 };
    bool more = head.bytes || head.piece;
    transmit(r->fd, &head, sizeof head, more ? MSG_MORE : 0);
    if (head.bytes)
        transmit(r->fd, out->data, out->len, head.piece ? MSG_MORE : 0);
    if (head.piece)
        transmit(r->fd, in->give, in->give_bytes, 0);
}

/* Reads the message of a command and does it; true: `out` is the answer, else a failure. */
static bool do_command(Rank *r, const WireHead *head, Wire *in, Buf *out, Buf *message, Buf *piece)
{
    Ctx *ctx = &r->ctx;
    volatile uint64_t left = head->bytes;
    ErrFrame frame;
    if (ERR_TRY(ctx, &frame)) {
        buf_reserve(message, head->bytes);
        receive(r->fd, message->data, head->bytes);
        message->len = head->bytes;
        left = 0;
        *in = wire_from(ctx, message);
        in->piece = head->piece;
        in->more = receive_piece;
        in->with = r;
        obey_fault(r);
        answer(r, head, WIRE_TAKEN, NULL, NULL);
        obey(r, head->what, in, out, piece);
        ERR_END(ctx, &frame);
        ctx->mem.limit = r->memory;
        return true;
    }
    ctx->mem.limit = r->memory;
    if (ctx->error->kind == ERR_MEMORY)
        r->welcome.fault_at = 0;
    skip(r->fd, left);
    buf_clear(out);
    in->give_bytes = 0;
    wire_put_failure(out, ctx->error);
    return false;
}

/* One command; false: it was the last. */
static bool serve(Rank *r)
{
    WireHead head;
    receive(r->fd, &head, sizeof head);
    if (head.magic != WIRE_MAGIC)
        session_gone();
    if (head.what == WIRE_END)
        return false;
    Buf message, out, piece;
    buf_init(&message, &r->ctx);
    buf_init(&out, &r->ctx);
    buf_init(&piece, &r->ctx);
    Wire in = { .piece = head.piece };
    bool good = do_command(r, &head, &in, &out, &message, &piece);
    skip(r->fd, in.piece);
    answer(r, &head, good ? WIRE_DONE : WIRE_FAILED, &out, good ? &in : NULL);
    buf_free(&piece);
    buf_free(&out);
    buf_free(&message);
    return true;
}

/* ---- hello ---- */
static int call_session(const char *addresses)
{
    char each[1024];
    int fd = -1;
    while (fd < 0 && *addresses) {
        size_t n = strcspn(addresses, ",");
        c_snprintf(each, sizeof each, "%.*s", (int)n, addresses);
        fd = hello_connect(each);
        addresses += n + (addresses[n] == ',');
    }
    return fd;
}

static void quicken(int fd)
{
    int on = 1, idle = 10, between = 5, times = 3;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
}

/* NULL: welcome; else what is wrong. */
static const char *say_hello(Rank *r, const char *token)
{
    HelloChallenge asked;
    HelloRank *me = &r->me;
    HelloWelcome *w = &r->welcome;
    uint8_t proof[SHA256_BYTES];
    receive(r->fd, &asked, sizeof asked);
    if (asked.magic != HELLO_MAGIC || asked.bytes != sizeof *me)
        return "the session is another version of Ricci";
    me->magic = HELLO_MAGIC;
    me->rank = rank_number();
    me->pid = (int32_t)getpid();
    hello_here(me->host, me->version);
    if (!hello_random(me->nonce, sizeof me->nonce))
        return "there are no random numbers";
    hello_sign(me->proof, token, asked.nonce, me, offsetof(HelloRank, proof));
    transmit(r->fd, me, sizeof *me, 0);
    receive(r->fd, w, sizeof *w);
    hello_sign(proof, token, me->nonce, w, offsetof(HelloWelcome, proof));
    if (w->magic != HELLO_MAGIC || !hello_same(proof, w->proof))
        return "who answers there does not know the token";
    w->refused[sizeof w->refused - 1] = '\0';
    return w->refused[0] ? w->refused : NULL;
}

static void *watch(void *with)
{
    struct pollfd p = { .fd = *(const int *)with, .events = POLLRDHUP };
    while (poll(&p, 1, -1) <= 0 || !(p.revents & (POLLRDHUP | POLLHUP | POLLERR)))
        continue;
    session_gone();
}

static bool watch_session(Rank *r)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t before;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)1 << 16);
    signals_hold(&before);
    bool ok = pthread_create(&thread, &attributes, watch, &r->fd) == 0;
    signals_let(&before);
    pthread_attr_destroy(&attributes);
    if (ok)
        pthread_detach(thread);
    return ok;
}

/* Before a library is opened that looks. */
static void set_threads(int threads)
{
    char text[16];
    c_snprintf(text, sizeof text, "%d", threads);
    setenv("RICCI_THREADS", text, true);
    setenv("OPENBLAS_NUM_THREADS", text, true);
    setenv("OMP_NUM_THREADS", text, true);
    setenv("MKL_NUM_THREADS", text, true);
}

static int complain(const Rank *r, const char *what)
{
    char host[64], version[32];
    hello_here(host, version);
    fprintf(stderr, "ricci: rank %d on %s: %s\n", (int)rank_number(), host, what);
    return r->fd >= 0 ? 3 : 2;
}

int rank_main(const char *address, const char *token)
{
    Rank it = { .fd = -1 }, *r = &it;
    char known[TOKEN_TEXT + 1] = "";
    const char *passed = strcmp(token, "-") == 0 ? getenv(TOKEN_VARIABLE) : token;
    c_snprintf(known, sizeof known, "%s", passed ? passed : "");
    unsetenv(TOKEN_VARIABLE);
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    if (!known[0])
        return complain(r, "the launcher did not hand " TOKEN_VARIABLE " on to it");
    r->fd = call_session(address);
    if (r->fd < 0) {
        char why[160];
        c_snprintf(why, sizeof why, "it cannot reach the session: %s", c_strerror(errno));
        return complain(r, why);
    }
    quicken(r->fd);
    const char *wrong = say_hello(r, known);
    if (wrong)
        return complain(r, wrong);
    set_threads(r->welcome.threads);
    r->ctx.interrupt = &r->interrupt;
    mem_init(&r->ctx);
    r->memory = r->ctx.mem.limit /= (size_t)r->welcome.neighbours;
    if (!watch_session(r))
        return complain(r, "it cannot start a thread");
    while (serve(r))
        continue;
    if (r->grid)
        grid_close(r->grid);
    pool_shutdown(&r->ctx);
    mem_shutdown(&r->ctx);
    /* Handlers of a library that was left midway have nothing to do any more. */
    _exit(0);
}
