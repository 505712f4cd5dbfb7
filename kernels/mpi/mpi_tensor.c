/* Commands to the ranks, and what they answer: the only file that packs arguments of grid.def for
 * what nests and copies want. Forms of rows (builtins/mpi) pack those of linear algebra. */
#include "kernels/mpi/mpi_device.h"

#include "core/base/error.h"

#include <stdio.h>
#include <string.h>

/* ---- one command ---- */
/* What the program calls it, or NULL. */
static const char *name_of(Ctx *ctx, const MpiTensor *t)
{
    const DeviceSet *set = ctx->devices;
    for (const Residence *r = set->oldest; r && set->named; r = r->newer)
        for (const DevCopy *c = r->copies; c; c = c->next)
            if (c->mem.handle == (uintptr_t)t)
                return set->named(ctx, r->buffer);
    return NULL;
}

_Noreturn static void raise_lost(Ctx *ctx, const Device *d, const MpiTensor *t)
{
    const MpiState *s = mpi_state(d);
    const char *name = name_of(ctx, t), *why = s->lost[0] ? s->lost : "has ended";
    if (name)
        err_raise(ctx, ERR_DEVICE, "%s is lost: its elements were on %s alone, which %s", name,
                  d->name, why);
    err_raise(ctx, ERR_DEVICE, "the elements were on %s alone, which %s", d->name, why);
}

/* Variables whose elements are with the ranks alone. */
void mpi_losses(Ctx *ctx, void *device, Buf *out)
{
    enum { MOST = 6 };
    const Device *d = device;
    const DeviceSet *set = ctx->devices;
    const char *name[MOST];
    int n = 0, more = 0;
    for (const Residence *r = set->oldest; r && set->named; r = r->newer)
        for (const DevCopy *c = r->copies; c && !r->host; c = c->next) {
            bool there = c->device == d && c->valid && c->mem.handle &&
                         mpi_tensor(&c->mem)->group == mpi_state(d)->groups;
            const char *called = there ? set->named(ctx, r->buffer) : NULL;
            if (called && n < MOST)
                name[n++] = called;
            else if (called)
                more++;
        }
    for (int i = 0; i < n; i++)
        buf_printf(out, "%s%.40s", i == 0 ? "" : i + 1 < n || more ? ", " : " and ", name[i]);
    if (more)
        buf_printf(out, " and %d more", more);
    if (n)
        buf_puts(out, n == 1 ? " is lost" : " are lost");
}

/* The group is over: what it held is lost, and the next use starts another one. */
static void group_over(Ctx *ctx, Device *d)
{
    MpiState *s = mpi_state(d);
    snprintf(s->lost, sizeof s->lost, "%s", s->group->why);
    mpi_copies_over(ctx, d);
    group_end(ctx, s->group);
    s->group = NULL;
    d->opened = false;
}

static void call(Ctx *ctx, Device *d, uint32_t op, const GroupPieces *pieces)
{
    MpiState *s = mpi_state(d);
    ErrFrame f;
    for (int r = 0; r < s->p * s->q; r++)
        buf_clear(&s->replies[r]);
    if (ERR_TRY(ctx, &f)) {
        group_call(ctx, s->group, op, &s->args, NULL, s->replies, pieces);
        ERR_END(ctx, &f);
        return;
    }
    if (!s->group->alive)
        group_over(ctx, d);
    err_rethrow(ctx);
}

/* Numbers that nobody has any more, a few hundred at a time. */
static void forget_gone(Ctx *ctx, Device *d)
{
    enum { MOST = 256 };
    MpiState *s = mpi_state(d);
    int64_t id[MOST];
    while (s->gone) {
        int n = 0;
        for (MpiTensor *g; n < MOST && (g = s->gone) != NULL; mem_free(ctx, g, sizeof *g)) {
            s->gone = g->next;
            if (g->made && g->group == s->groups)
                id[n++] = (int64_t)g->id;
        }
        if (!n)
            continue;
        buf_clear(&s->args);
        mpi_put_ints(&s->args, id, n);
        call(ctx, d, GRID_FREE, NULL);
    }
}

Buf *mpi_begin(Ctx *ctx, Device *d, GridOp op)
{
    MpiState *s = mpi_state(d);
    device_open(ctx, d);
    forget_gone(ctx, d);
    buf_clear(&s->args);
    s->op = op;
    return &s->args;
}

Wire mpi_send_pieces(Ctx *ctx, Device *d, const GroupPieces *pieces)
{
    MpiState *s = mpi_state(d);
    if (d->fail_launch && --d->fail_launch == 0)
        err_raise(ctx, ERR_DEVICE, "%s on %s: the command was made to fail", grid_op_name(s->op),
                  d->name);
    call(ctx, d, s->op, pieces);
    d->counts.launches++;
    return wire_from(ctx, &s->replies[0]);
}

Wire mpi_send(Ctx *ctx, Device *d) { return mpi_send_pieces(ctx, d, NULL); }

uint64_t mpi_worst(Ctx *ctx, Device *d)
{
    const MpiState *s = mpi_state(d);
    uint64_t worst = 0;
    for (int r = 0; r < s->p * s->q; r++) {
        Wire w = wire_from(ctx, &s->replies[r]);
        uint64_t own = wire_get_u64(&w);
        worst = own > worst ? own : worst;
    }
    return worst;
}

/* ---- arguments ---- */
void mpi_put_new(Ctx *ctx, Device *d, Buf *b, MpiTensor *t)
{
    MpiState *s = mpi_state(d);
    if (t->made) {                       /* what it had goes */
        MpiTensor *old = mem_alloc(ctx, sizeof *old);
        *old = *t;
        old->next = s->gone;
        s->gone = old;
    }
    if (t->made || !t->id)
        t->id = ++s->last_id;
    t->group = s->groups;
    t->made = true;
    wire_u64(b, t->id);
}

void mpi_put_id(Ctx *ctx, Device *d, Buf *b, const MpiTensor *t)
{
    if (!t->made || t->group != mpi_state(d)->groups)
        raise_lost(ctx, d, t);
    wire_u64(b, t->id);
}

void mpi_put_ints(Buf *b, const int64_t *v, int n)
{
    wire_u64(b, (uint64_t)n);
    wire_i64s(b, v, n);
}

void mpi_put_cell(Buf *b, DType dt, const void *cell)
{
    uint64_t bytes[2] = { 0, 0 };
    memcpy(bytes, cell, dtype_info(dt)->bytes);
    wire_u64(b, dt);
    wire_u64(b, bytes[0]);
    wire_u64(b, bytes[1]);
}

void mpi_get_cell(Wire *w, DType *dt, void *cell)
{
    uint64_t bytes[2];
    *dt = (DType)wire_get_u64(w);
    bytes[0] = wire_get_u64(w);
    bytes[1] = wire_get_u64(w);
    memcpy(cell, bytes, sizeof bytes);
}

static void put_view(Buf *b, const MpiView *v)
{
    int lists = 0;
    mpi_put_ints(b, v->shape, v->rank);
    mpi_put_ints(b, v->strides, v->rank);
    wire_i64(b, v->at);
    for (int a = 0; a < v->rank; a++)
        lists += v->list[a] != NULL;
    wire_u64(b, (uint64_t)lists);
    for (int a = 0; a < v->rank; a++)
        if (v->list[a]) {
            wire_u64(b, (uint64_t)a);
            mpi_put_ints(b, v->list[a], (int)v->shape[a]);
        }
}

/* ---- elements ---- */
void mpi_pack(Ctx *ctx, Device *d, MpiTensor *to, const MpiTensor *from, const MpiView *v)
{
    Buf *b = mpi_begin(ctx, d, GRID_PACK);
    mpi_put_new(ctx, d, b, to);
    mpi_put_id(ctx, d, b, from);
    put_view(b, v);
    mpi_send(ctx, d);
}

void mpi_assign(Ctx *ctx, Device *d, MpiTensor *to, const MpiView *v, const MpiTensor *from)
{
    static const _Alignas(16) char zero[ELEMENT_BYTES_MAX];
    if (!to->made)
        mpi_fill(ctx, d, to, zero);
    Buf *b = mpi_begin(ctx, d, GRID_ASSIGN);
    mpi_put_id(ctx, d, b, to);
    put_view(b, v);
    mpi_put_id(ctx, d, b, from);
    mpi_send(ctx, d);
}

void mpi_fill(Ctx *ctx, Device *d, MpiTensor *t, const void *cell)
{
    Buf *b = mpi_begin(ctx, d, GRID_FULL);
    mpi_put_new(ctx, d, b, t);
    mpi_put_ints(b, t->shape, t->rank);
    mpi_put_cell(b, t->dtype, cell);
    mpi_send(ctx, d);
}

void mpi_element(Ctx *ctx, Device *d, const MpiTensor *t, int64_t index, void *to)
{
    MpiState *s = mpi_state(d);
    int64_t at;
    const GridShape grid = { s->p, s->q, s->block };
    size_t bytes = dtype_info(t->dtype)->bytes;
    Buf *b = mpi_begin(ctx, d, GRID_ELEMENTS);
    mpi_put_id(ctx, d, b, t);
    mpi_put_ints(b, &index, 1);
    mpi_send(ctx, d);
    Buf *reply = &s->replies[grid_home(&grid, t->rank, t->shape, index, &at)];
    if (reply->len < bytes)
        err_raise(ctx, ERR_DEVICE, "%s answered without the element", d->name);
    memcpy(to, reply->data, bytes);
}

/* ---- computing ---- */
EwTrouble mpi_ew(Ctx *ctx, Device *d, EwOp op, DType compute, MpiTensor *to,
                 const MpiOperand *x, int n)
{
    Buf *b = mpi_begin(ctx, d, GRID_EW);
    mpi_put_new(ctx, d, b, to);
    mpi_put_ints(b, to->shape, to->rank);
    wire_u64(b, op);
    wire_u64(b, compute);
    wire_u64(b, (uint64_t)n);
    for (int i = 0; i < n; i++) {
        wire_u64(b, x[i].tensor == NULL);
        if (x[i].tensor)
            mpi_put_id(ctx, d, b, x[i].tensor);
        else
            mpi_put_cell(b, x[i].dtype, x[i].cell);
    }
    mpi_send(ctx, d);
    return (EwTrouble)mpi_worst(ctx, d);
}

bool mpi_cast(Ctx *ctx, Device *d, MpiTensor *to, const MpiTensor *from)
{
    Buf *b = mpi_begin(ctx, d, GRID_CAST);
    mpi_put_new(ctx, d, b, to);
    mpi_put_id(ctx, d, b, from);
    wire_u64(b, to->dtype);
    mpi_send(ctx, d);
    return mpi_worst(ctx, d) == 0;
}

bool mpi_reduce(Ctx *ctx, Device *d, MpiTensor *to, const MpiTensor *from, int op,
                uint64_t axes, double ddof)
{
    DType dt;
    Buf *b = mpi_begin(ctx, d, GRID_REDUCE);
    if (to->rank)
        mpi_put_new(ctx, d, b, to);
    else
        wire_u64(b, 0);
    mpi_put_id(ctx, d, b, from);
    wire_u64(b, (uint64_t)op);
    wire_u64(b, axes);
    wire_f64(b, ddof);
    Wire w = mpi_send(ctx, d);
    wire_get_u64(&w);
    if (!to->rank)
        mpi_get_cell(&w, &dt, to->cell);
    return mpi_worst(ctx, d) == 0;
}

void mpi_gemm(Ctx *ctx, Device *d, MpiTensor *to, const MpiTensor *a, int ta,
              const MpiTensor *g, int tb)
{
    Buf *b = mpi_begin(ctx, d, GRID_GEMM);
    mpi_put_new(ctx, d, b, to);
    mpi_put_id(ctx, d, b, a);
    mpi_put_id(ctx, d, b, g);
    wire_u64(b, (uint64_t)ta);
    wire_u64(b, (uint64_t)tb);
    mpi_send(ctx, d);
}
