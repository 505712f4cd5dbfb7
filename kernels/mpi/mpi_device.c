/* The backend: which MPI there is, memory, copies to the ranks and back. See mpi_device.h. */
#include "kernels/mpi/mpi_device.h"

#include "core/base/error.h"
#include "kernels/mpi/mpi_probe.h"

#include <stdio.h>
#include <string.h>

/* ---- a group of its own ---- */
static DevStatus mpi_open(Device *d)
{
    MpiState *s = mpi_state(d);
    Ctx *ctx = s->ctx;
    int ranks = s->p * s->q;
    if (!s->replies) {
        s->replies = mem_zalloc(ctx, (size_t)ranks * sizeof *s->replies);
        for (int r = 0; r < ranks; r++)
            buf_init(&s->replies[r], ctx);
        buf_init(&s->args, ctx);
    }
    s->group = group_start(ctx, s->p, s->q, s->block);
    s->group->losses = mpi_losses;
    s->group->with = d;
    s->groups++;
    return DEV_OK;
}

static void mpi_close(Device *d)
{
    MpiState *s = mpi_state(d);
    group_end(s->ctx, s->group);
    s->group = NULL;
}

/* Device.kernels' place is the state's: what is kept beside the group goes with the device. */
static void mpi_forget(Ctx *ctx, Device *d)
{
    MpiState *s = mpi_state(d);
    if (!s)
        return;
    if (d->opened)
        mpi_close(d);
    d->opened = false;
    for (MpiTensor *g = s->gone, *next; g; g = next) {
        next = g->next;
        mem_free(ctx, g, sizeof *g);
    }
    int ranks = s->p * s->q;
    if (s->replies) {
        for (int r = 0; r < ranks; r++)
            buf_free(&s->replies[r]);
        mem_free(ctx, s->replies, (size_t)ranks * sizeof *s->replies);
        buf_free(&s->args);
    }
    mem_free(ctx, s, sizeof *s);
    d->state = NULL;
}

void mpi_copies_over(Ctx *ctx, Device *d)
{
    for (Residence *r = ctx->devices->oldest; r; r = r->newer)
        for (DevCopy *c = r->copies; c && r->host; c = c->next)
            c->valid = c->valid && c->device != d;
}

void mpi_renew(Ctx *ctx, Device *d)
{
    MpiState *s = mpi_state(d);
    if (!d->opened || group_alive(ctx, s->group))
        return;
    snprintf(s->lost, sizeof s->lost, "%s", s->group->why);
    mpi_copies_over(ctx, d);
    mpi_close(d);
    d->opened = false;
}

void mpi_release(Ctx *ctx, Device *d)
{
    if (!d->opened)
        return;
    for (Residence *r = ctx->devices->oldest, *next; r; r = next) {
        next = r->newer;                 /* it becomes the newest, and is not met again */
        bool there = false;
        for (const DevCopy *c = r->copies; c; c = c->next)
            there |= c->device == d && c->valid && c->mem.handle &&
                     mpi_tensor(&c->mem)->group == mpi_state(d)->groups;
        if (there && !r->host)
            device_bring_home(ctx, r->buffer);
    }
    mpi_copies_over(ctx, d);
    mpi_close(d);
    snprintf(mpi_state(d)->lost, sizeof mpi_state(d)->lost, "was released");
    d->opened = false;
}

/* ---- memory ---- */
/* The ranks know nothing of it before a command writes it. */
static DevStatus mpi_alloc(Device *d, const DevLayout *l, DevMem *m)
{
    MpiState *s = mpi_state(d);
    MpiTensor *g = mem_zalloc(s->ctx, sizeof *g);
    g->dtype = l->dtype;
    g->rank = l->rank;
    g->group = s->groups;
    if (l->rank)
        memcpy(g->shape, l->shape, (size_t)l->rank * sizeof *l->shape);
    m->handle = (uintptr_t)g;
    return DEV_OK;
}

static void mpi_free(Device *d, DevMem *m)
{
    MpiState *s = mpi_state(d);
    MpiTensor *g = mpi_tensor(m);
    if (!g->made || g->group != s->groups) {
        mem_free(s->ctx, g, sizeof *g);
        return;
    }
    g->next = s->gone;
    s->gone = g;
}

/* ---- copies ---- */
/* A dense tensor of the host and the ranks that have its slabs. */
typedef struct Slabs {
    GridShape grid;
    Tensor *t;
    uint64_t *bytes;             /* of each slab */
} Slabs;

static void fill(void *with, int r, uint64_t at, void *to, size_t n)
{
    const Slabs *s = with;
    grid_slab_fill(&s->grid, r, s->t, at, to, n);
}

static void take(void *with, int r, uint64_t at, const void *from, size_t n)
{
    const Slabs *s = with;
    if (at + n <= s->bytes[r])
        grid_slab_take(&s->grid, r, s->t, at, from, n);
}

/* A dense tensor over bytes of the host, for the time of a copy; `own` is the caller's. */
static Tensor *over(Ctx *ctx, const MpiTensor *g, Buffer *own, void *data, size_t bytes)
{
    *own = (Buffer){ .refs = 2, .bytes = bytes, .data = data };
    Tensor like = { .refs = 2, .dtype = g->dtype, .buffer = own, .data = data };
    int64_t strides[TENSOR_RANK_MAX], step = 1;
    for (int a = g->rank - 1; a >= 0; a--) {
        strides[a] = step;
        step *= g->shape[a];
    }
    return tensor_view(ctx, &like, g->rank, g->shape, strides, data);
}

static void copy_up(Ctx *ctx, Device *d, MpiTensor *g, Slabs *s)
{
    Buf *b = mpi_begin(ctx, d, GRID_PUT);
    mpi_put_new(ctx, d, b, g);
    wire_u64(b, g->dtype);
    mpi_put_ints(b, g->shape, g->rank);
    mpi_send_pieces(ctx, d, &(GroupPieces){ .with = s, .bytes = s->bytes, .fill = fill });
}

static void copy_down(Ctx *ctx, Device *d, MpiTensor *g, Slabs *s)
{
    Buf *b = mpi_begin(ctx, d, GRID_GET);
    mpi_put_id(ctx, d, b, g);
    mpi_send_pieces(ctx, d, &(GroupPieces){ .with = s, .take = take });
}

/* All of it, one way or the other. */
static void copy_whole(Device *d, MpiTensor *g, void *data, size_t bytes,
                       void (*way)(Ctx *, Device *, MpiTensor *, Slabs *))
{
    const MpiState *m = mpi_state(d);
    Ctx *ctx = m->ctx;
    const size_t ranks = (size_t)m->p * (size_t)m->q;
    Buffer own;
    Slabs *volatile s = NULL;
    ErrFrame f;
    volatile bool done = false;
    if (ERR_TRY(ctx, &f)) {
        s = mem_zalloc(ctx, sizeof *s);
        s->grid = (GridShape){ m->p, m->q, m->block };
        s->bytes = mem_alloc(ctx, ranks * sizeof *s->bytes);
        for (size_t r = 0; r < ranks; r++)
            s->bytes[r] = grid_slab_bytes(&s->grid, (int)r, g->dtype, g->rank, g->shape);
        s->t = over(ctx, g, &own, data, bytes);
        way(ctx, d, g, s);
        ERR_END(ctx, &f);
        done = true;
    }
    if (s && s->t)
        tensor_release(ctx, s->t);
    if (s && s->bytes)
        mem_free(ctx, s->bytes, ranks * sizeof *s->bytes);
    if (s)
        mem_free(ctx, s, sizeof *s);
    if (!done)
        err_rethrow(ctx);
}

static DevStatus mpi_put(Device *d, const DevMem *m, size_t at, const void *from, size_t bytes)
{
    MpiTensor *g = mpi_tensor(m);
    if (at || bytes != m->bytes) {
        snprintf(d->fault, sizeof d->fault, "parts of a tensor are not written there");
        return DEV_FAILED;
    }
    if (g->rank == 0)
        memcpy(g->cell, from, bytes);
    else
        copy_whole(d, g, (void *)(uintptr_t)from, bytes, copy_up);
    return DEV_OK;
}

static DevStatus mpi_get(Device *d, const DevMem *m, size_t at, void *to, size_t bytes)
{
    MpiTensor *g = mpi_tensor(m);
    size_t one = dtype_info(g->dtype)->bytes;
    if (g->rank == 0)
        memcpy(to, g->cell, bytes);
    else if (at == 0 && bytes == m->bytes && bytes != one)
        copy_whole(d, g, to, bytes, copy_down);
    else if (bytes == one)
        mpi_element(mpi_state(d)->ctx, d, g, (int64_t)(at / one), to);
    else {
        snprintf(d->fault, sizeof d->fault, "parts of a tensor are not read there");
        return DEV_FAILED;
    }
    return DEV_OK;
}

static DevStatus mpi_copy(Device *d, const DevMem *to, size_t to_at, const DevMem *from,
                          size_t from_at, size_t bytes)
{
    const MpiTensor *g = mpi_tensor(from);
    int64_t strides[TENSOR_RANK_MAX], step = 1;
    if (to_at || from_at || bytes != from->bytes || bytes != to->bytes)
        return DEV_FAILED;
    for (int a = g->rank - 1; a >= 0; a--) {
        strides[a] = step;
        step *= g->shape[a];
    }
    mpi_pack(mpi_state(d)->ctx, d, mpi_tensor(to), g,
             &(MpiView){ .rank = g->rank, .shape = g->shape, .strides = strides });
    return DEV_OK;
}

static DevStatus mpi_sync(Device *d)
{
    (void)d;                     /* a command is done when it was answered */
    return DEV_OK;
}

static void mpi_pick(Ctx *ctx, Device *d, Tensor *to, Tensor *t, const int64_t *const *lists)
{
    size_t at, from;
    const DevMem *out = device_ensure(ctx, d, to, &at), *m = device_ensure(ctx, d, t, &from);
    MpiView v = { .rank = t->rank, .shape = tensor_shape(to), .strides = tensor_strides(t),
                  .at = (int64_t)from / dtype_info((DType)t->dtype)->bytes };
    for (int a = 0; a < t->rank; a++)
        v.list[a] = lists[a];
    mpi_pack(ctx, d, mpi_tensor(out), mpi_tensor(m), &v);
}

static void mpi_pack_tensor(Ctx *ctx, Device *d, Tensor *to, Tensor *t)
{
    static const int64_t *const all[TENSOR_RANK_MAX];
    mpi_pick(ctx, d, to, t, all);
}

static void mpi_shape(const Device *d, int *p, int *q, int *block)
{
    const MpiState *s = mpi_state(d);
    *p = s->p;
    *q = s->q;
    *block = s->block;
}

static void mpi_rank(const Device *d, int r, char *host, size_t cap, long *pid)
{
    const GroupRank *rank = &mpi_state(d)->group->rank[r];
    snprintf(host, cap, "%s", rank->host);
    *pid = rank->pid;
}

const DeviceOps mpi_ops = {
    .backend = "mpi", .open = mpi_open, .release = mpi_free, .put = mpi_put, .get = mpi_get,
    .copy = mpi_copy, .sync = mpi_sync, .close = mpi_close, .forget = mpi_forget,
    .pack = mpi_pack_tensor, .pick = mpi_pick, .alloc_laid = mpi_alloc, .shape = mpi_shape,
    .rank = mpi_rank, .renew = mpi_renew, .give_back = mpi_release, .look = mpi_look,
    .takes = mpi_takes, .nest = mpi_nest,
};

void mpi_look(Ctx *ctx, Device *d, uint64_t *all, uint64_t *largest)
{
    MpiState *s = mpi_state(d);
    *all = *largest = 0;
    if (!d->opened)
        return;
    mpi_begin(ctx, d, GRID_MEMORY);
    mpi_send(ctx, d);
    uint64_t between = 0;
    for (int r = 0; r < s->p * s->q; r++) {
        Wire w = wire_from(ctx, &s->replies[r]);
        uint64_t live = wire_get_u64(&w);
        wire_get_u64(&w);
        between += wire_get_u64(&w);
        *all += live;
        *largest = live > *largest ? live : *largest;
    }
    d->counts.between = between;
}

/* ---- which there are ---- */
static uint32_t held_dtypes(void)
{
    uint32_t bits = 0;
    for (DType dt = DT_BOOL; dt <= DT_C128; dt++)
        if (!dtype_half(dt))
            bits |= 1u << dt;
    return bits;
}

/* The ScaLAPACK for the launcher's MPI, as Debian calls the two; NULL: there is none. */
static const char *library(void)
{
    const char *mpi = group_tools()->mpi;
    bool mpich = !strcmp(mpi, "MPICH"), open = !strcmp(mpi, "Open MPI");
    return grid_library(mpich ? "mpich" : open ? "openmpi" : NULL);
}

static Device *add(Ctx *ctx, const char *name, int p, int q, int block, const char *why)
{
    Device *d = device_add(ctx, &mpi_ops, name);
    MpiState *s = d->state = mem_zalloc(ctx, sizeof *s);
    *s = (MpiState){ .ctx = ctx, .p = p, .q = q, .block = block };
    d->caps = DEVCAP_GRID;
    d->dtypes = held_dtypes();
    snprintf(d->why, sizeof d->why, "%s", why);
    const char *file = library(), *slash = file ? strrchr(file, '/') : NULL;
    snprintf(d->title, sizeof d->title, "%.30s, %.40s, %d cores", group_tools()->mpi,
             slash ? slash + 1 : file ? file : "", group_tools()->cores);
    snprintf(d->note, sizeof d->note, "%d x %d processes, blocks of %d", p, q, block);
    return d;
}

/* Why no group can be started here; "": one can. */
static const char *missing(void)
{
    const GroupTools *tools = group_tools();
    if (!tools->launcher)
        return tools->lacks;
    if (library())
        return "";
    return strcmp(tools->mpi, "MPICH")
               ? "there is no ScaLAPACK; apt install libscalapack-openmpi2.2"
               : "there is no ScaLAPACK; apt install libscalapack-mpich2.2";
}

static void squarest(int cores, int *p, int *q)
{
    *p = 1;
    for (int i = 1; i * i <= cores; i++)
        if (cores % i == 0)
            *p = i;
    *q = cores / *p;
}

void mpi_probe(Ctx *ctx)
{
    int p, q;
    if (device_fenced(ctx, &mpi_ops, "mpi"))
        return;
    squarest(group_tools()->cores > 0 ? group_tools()->cores : 1, &p, &q);
    char name[48];
    snprintf(name, sizeof name, "mpi(%d, %d)", p, q);
    add(ctx, missing()[0] ? "mpi" : name, p, q, GRID_BLOCK, missing());
}

Device *mpi_device(Ctx *ctx, int p, int q, int block)
{
    const char *why = NULL;
    devices_probe(ctx);
    for (Device *d = ctx->devices->first; d; d = d->next) {
        const MpiState *s = d->ops == &mpi_ops ? mpi_state(d) : NULL;
        if (d->ops == &mpi_ops && !s)                   /* fenced */
            why = d->why;
        if (s && s->p == p && s->q == q && s->block == block)
            return d;
    }
    char name[48];
    int n = snprintf(name, sizeof name, "mpi(%d, %d", p, q);
    snprintf(name + n, sizeof name - (size_t)n, block == GRID_BLOCK ? ")" : ", block=%d)", block);
    return add(ctx, name, p, q, block, why ? why : missing());
}
