/* A command to all ranks and their answers: everything travels at once, and whoever is ready is
 * served. No call of the system waits here but poll, which ends at Ctrl-C and at timeouts. */
#include "kernels/mpi/group_life.h"

#include "core/base/error.h"
#include "core/base/mem.h"
#include "kernels/grid/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static const double GRACE = 1.5;            /* seconds that ranks have after Ctrl-C */
enum { MESSAGE_MOST = 1 << 30 };

/* What is said to one rank, and what it says. */
typedef struct Talk {
    WireHead head;                         /* of the command */
    const char *from[3];                   /* head, what all get, what it gets alone */
    size_t bytes[3], sent;
    int part;                              /* of those; 3: all are sent */
    uint64_t piece_at;                     /* bytes of the piece that are packed */
    size_t packed, gone;                   /* of the part that is on its way */
    WireHead said;                         /* of the answer */
    size_t said_got, reply_got, unpacked;
    uint64_t take_at;
    Buf *reply;
    Buf failure;
    bool taken, done;
    double heard;                          /* when anything moved */
} Talk;

typedef struct Exchange {
    Ctx *ctx;
    Group *g;
    const GroupPieces *pieces;
    Talk *talk;
    struct pollfd *poll;
    int open;                              /* ranks that have not answered */
    double timeout;                        /* seconds */
    double stopped;                        /* when Ctrl-C came; 0: not */
} Exchange;

enum { GONE = -2, LATER = -1 };

static ssize_t result_of(ssize_t n)
{
    if (n > 0)
        return n;
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? LATER : GONE;
}

static char *part_of(Exchange *x, int r, int way)
{
    return x->g->life->parts + (size_t)(2 * r + way) * GROUP_PART;
}

/* ---- to a rank ---- */
static bool all_sent(const Talk *t)
{
    return t->part == 3 && t->piece_at == t->head.piece && t->gone == t->packed;
}

static ssize_t send_message(Exchange *x, int r)
{
    Talk *t = &x->talk[r];
    int more = t->part < 2 && (t->bytes[1] || t->bytes[2]) ? MSG_MORE : 0;
    ssize_t n = result_of(send(x->g->rank[r].fd, t->from[t->part] + t->sent,
                               t->bytes[t->part] - t->sent, MSG_NOSIGNAL | MSG_DONTWAIT | more));
    if (n > 0)
        t->sent += (size_t)n;
    while (t->part < 3 && t->sent == t->bytes[t->part]) {
        t->part++;
        t->sent = 0;
    }
    return n;
}

static ssize_t send_piece(Exchange *x, int r)
{
    Talk *t = &x->talk[r];
    char *part = part_of(x, r, 0);
    if (t->gone == t->packed) {
        uint64_t left = t->head.piece - t->piece_at;
        t->packed = left < GROUP_PART ? (size_t)left : GROUP_PART;
        x->pieces->fill(x->pieces->with, r, t->piece_at, part, t->packed);
        t->piece_at += t->packed;
        t->gone = 0;
    }
    ssize_t n = result_of(send(x->g->rank[r].fd, part + t->gone, t->packed - t->gone,
                               MSG_NOSIGNAL | MSG_DONTWAIT));
    if (n > 0)
        t->gone += (size_t)n;
    return n;
}

/* As much as it takes now. False: it is gone. */
static bool push(Exchange *x, int r)
{
    Talk *t = &x->talk[r];
    while (!all_sent(t)) {
        ssize_t n = t->part < 3 ? send_message(x, r) : send_piece(x, r);
        if (n < 0)
            return n == LATER;
        t->heard = group_clock();
    }
    return true;
}

/* ---- from a rank ---- */
static ssize_t get(Exchange *x, int r, void *to, size_t n)
{
    return result_of(recv(x->g->rank[r].fd, to, n, MSG_DONTWAIT));
}

static ssize_t get_head(Exchange *x, int r)
{
    Talk *t = &x->talk[r];
    ssize_t n = get(x, r, (char *)&t->said + t->said_got, sizeof t->said - t->said_got);
    if (n < 0)
        return n;
    t->said_got += (size_t)n;
    if (t->said_got < sizeof t->said)
        return n;
    if (t->said.magic != WIRE_MAGIC || t->said.seq != t->head.seq || t->said.bytes > MESSAGE_MOST)
        return GONE;
    if (t->said.what == WIRE_TAKEN) {
        t->taken = true;
        t->said_got = 0;
        return n;
    }
    if (t->said.what == WIRE_FAILED || !t->reply)
        t->reply = &t->failure;
    buf_reserve(t->reply, t->said.bytes);
    return n;
}

static ssize_t get_reply(Exchange *x, int r)
{
    Talk *t = &x->talk[r];
    ssize_t n = get(x, r, t->reply->data + t->reply->len, t->said.bytes - t->reply_got);
    if (n > 0) {
        t->reply_got += (size_t)n;
        t->reply->len += (size_t)n;
    }
    return n;
}

/* A piece that nobody takes is read all the same. */
static ssize_t get_piece(Exchange *x, int r)
{
    Talk *t = &x->talk[r];
    char *part = part_of(x, r, 1);
    uint64_t left = t->said.piece - t->take_at;
    size_t whole = left < GROUP_PART ? (size_t)left : GROUP_PART;
    ssize_t n = get(x, r, part + t->unpacked, whole - t->unpacked);
    if (n < 0)
        return n;
    t->unpacked += (size_t)n;
    if (t->unpacked == whole) {
        if (x->pieces && x->pieces->take)
            x->pieces->take(x->pieces->with, r, t->take_at, part, whole);
        t->take_at += whole;
        t->unpacked = 0;
    }
    return n;
}

static bool answered(const Talk *t)
{
    return t->said_got == sizeof t->said && t->reply_got == t->said.bytes &&
           t->take_at == t->said.piece;
}

/* As much as there is now. False: it is gone. */
static bool pull(Exchange *x, int r)
{
    Talk *t = &x->talk[r];
    while (!t->done) {
        ssize_t n = t->said_got < sizeof t->said ? get_head(x, r)
                  : t->reply_got < t->said.bytes ? get_reply(x, r) : get_piece(x, r);
        if (n < 0)
            return n == LATER;
        t->heard = group_clock();
        if (answered(t)) {
            if (t->reply->data)
                t->reply->data[t->reply->len] = '\0';
            t->done = true;
            x->open--;
        }
    }
    return true;
}

/* ---- waiting ---- */
/* Outside of its computation a rank is never still for that long. */
static void check_timeouts(Exchange *x)
{
    double now = group_clock(), most = x->timeout;
    for (int r = 0; r < x->g->ranks; r++) {
        const Talk *t = &x->talk[r];
        bool computes = t->taken && t->said_got == 0 && all_sent(t);
        if (!t->done && !computes && now > t->heard + (t->taken ? 2 * most : most)) {
            group_over(x->g, "lost rank %d on %s (no answer for %.3g s, RICCI_MPI_TIMEOUT)", r,
                       x->g->rank[r].host, most);
            return;
        }
    }
}

static void check_interrupt(Exchange *x)
{
    if (!*x->ctx->interrupt)
        return;
    if (x->stopped == 0)
        x->stopped = group_clock();
    else if (group_clock() > x->stopped + GRACE)
        group_over(x->g, "was ended by Ctrl-C in the middle of a computation");
}

static void wait_for_ranks(Exchange *x)
{
    int n = x->g->ranks;
    for (int r = 0; r < n; r++) {
        const Talk *t = &x->talk[r];
        x->poll[r] = (struct pollfd){ .fd = x->g->rank[r].fd,
            .events = (short)((t->done ? 0 : POLLIN) | (all_sent(t) ? 0 : POLLOUT)) };
    }
    x->poll[n] = (struct pollfd){ .fd = x->g->life->words_fd, .events = POLLIN };
    if (poll(x->poll, (nfds_t)n + 1, 100) < 0)
        return;
    if (x->poll[n].revents)
        group_hear(x->g->life);
    for (int r = 0; r < n; r++) {
        if (!x->poll[r].revents)
            continue;
        if (!pull(x, r) || !push(x, r)) {
            group_lost(x->g, r);
            return;
        }
    }
}

static void exchange(Exchange *x)
{
    for (int r = 0; r < x->g->ranks; r++)
        if (!push(x, r)) {
            group_lost(x->g, r);
            return;
        }
    while (x->open && x->g->alive) {
        wait_for_ranks(x);
        if (x->g->alive)
            check_timeouts(x);
        if (x->g->alive)
            check_interrupt(x);
    }
}

/* ---- what became of it ---- */
static void put_losses(Ctx *ctx, const Group *g, Buf *out)
{
    buf_init(out, ctx);
    if (g->losses)
        g->losses(ctx, g->with, out);
}

static _Noreturn void raise_lost(Ctx *ctx, const Group *g)
{
    Buf lost;
    char text[400] = "";
    put_losses(ctx, g, &lost);
    if (lost.len)
        snprintf(text, sizeof text, ": %s", buf_cstr(&lost));
    buf_free(&lost);
    err_raise(ctx, ERR_DEVICE, "%s %s%s", group_name(g, (char[48]){ 0 }), g->why, text);
}

static void tell_ended(Ctx *ctx, const Group *g)
{
    Buf lost;
    char text[700];
    put_losses(ctx, g, &lost);
    snprintf(text, sizeof text, "%s %s: %.400s", group_name(g, (char[48]){ 0 }), g->why,
             lost.len ? buf_cstr(&lost) : "tensors that are nowhere else are lost");
    buf_free(&lost);
    if (ctx->notice)
        ctx->notice(ctx, text);
}

/* Where a rank had no memory, it is said which: those who heard of it from others name it too. */
static _Noreturn void raise_failure(Exchange *x, int r)
{
    Wire w = wire_from(x->ctx, &x->talk[r].failure);
    ErrKind kind = (ErrKind)wire_get_u64(&w);
    const char *text = wire_get_text(&w), *help = wire_get_text(&w);
    char name[48], words[300];
    int who = r, behind = 0;
    group_name(x->g, name);
    if (kind >= ERR_KINDS)
        kind = ERR_DEVICE;
    if (sscanf(text, "rank %d has %n", &who, &behind) == 1 && behind && who >= 0 &&
        who < x->g->ranks)
        snprintf(words, sizeof words, "%s: rank %d on %s has %s", name, who, x->g->rank[who].host,
                 text + behind);
    else if (kind == ERR_MEMORY || kind == ERR_DEVICE)
        snprintf(words, sizeof words, "%s: rank %d on %s: %s", name, r, x->g->rank[r].host, text);
    else
        snprintf(words, sizeof words, "%s", text);
    err_raise_help(x->ctx, kind, *help ? help : NULL, "%s", words);
}

static void check_failures(Exchange *x)
{
    int worst = -1;
    for (int r = 0; r < x->g->ranks; r++) {
        const Talk *t = &x->talk[r];
        uint64_t kind;
        if (t->said.what != WIRE_FAILED || t->failure.len < sizeof kind)
            continue;
        memcpy(&kind, t->failure.data, sizeof kind);
        if (worst < 0 || kind == ERR_MEMORY)
            worst = r;
        if (kind == ERR_MEMORY)
            break;
    }
    if (worst >= 0)
        raise_failure(x, worst);
}

static void begin(Exchange *x, uint32_t command, const Buf *common, const Buf *own, Buf *replies)
{
    Group *g = x->g;
    uint64_t seq = ++g->life->seq;
    double now = group_clock();
    if (!g->life->parts)
        g->life->parts = mem_alloc_data(x->ctx, (size_t)g->ranks * 2 * GROUP_PART, false);
    for (int r = 0; r < g->ranks; r++) {
        Talk *t = &x->talk[r];
        size_t all = common ? common->len : 0, alone = own ? own[r].len : 0;
        uint64_t piece = x->pieces && x->pieces->bytes ? x->pieces->bytes[r] : 0;
        *t = (Talk){ .head = { WIRE_MAGIC, command, seq, all + alone, piece },
            .from = { NULL, common ? common->data : NULL, own ? own[r].data : NULL },
            .bytes = { sizeof t->head, all, alone }, .reply = replies ? &replies[r] : NULL,
            .heard = now };
        t->from[0] = (const char *)&t->head;
        buf_init(&t->failure, x->ctx);
        if (t->reply)
            buf_clear(t->reply);
    }
    x->open = g->ranks;
}

static void end(Exchange *x, size_t bytes)
{
    for (int r = 0; r < x->g->ranks; r++)
        buf_free(&x->talk[r].failure);
    mem_free(x->ctx, x->talk, bytes);
}

void group_call(Ctx *ctx, Group *g, uint32_t command, const Buf *common, const Buf *own,
                Buf *replies, const GroupPieces *pieces)
{
    if (!group_alive(ctx, g))
        raise_lost(ctx, g);
    size_t bytes = (size_t)g->ranks * sizeof(Talk) + (size_t)(g->ranks + 1) * sizeof(struct pollfd);
    Exchange x = { .ctx = ctx, .g = g,
                   .pieces = pieces, .timeout = group_timeout(),
                   .talk = mem_zalloc(ctx, bytes) };
    x.poll = (struct pollfd *)(x.talk + g->ranks);
    volatile bool whole = false;
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        if (!whole && g->alive)
            group_over(g, "was ended: the session could not read its answers");
        end(&x, bytes);
        err_rethrow(ctx);
    }
    begin(&x, command, common, own, replies);
    exchange(&x);
    whole = true;
    if (x.stopped > 0 && !g->alive)
        tell_ended(ctx, g);
    if (x.stopped > 0)
        err_interrupted(ctx);
    if (!g->alive)
        raise_lost(ctx, g);
    check_failures(&x);
    ERR_END(ctx, &frame);
    end(&x, bytes);
}
