/* How a nest runs on a device: which kernels, over which temporaries, in which grids. A nest
 * without reductions is one kernel; one reduction, or several over the same axes (a softmax), is
 * one kernel of a work group per row, or two where the rows are few and long; anything else is
 * taken apart, reduction by reduction. Products go to gpu_gemm.c. */
#include "kernels/gpu/gpu_source.h"

#include "core/base/error.h"

#include <stdlib.h>
#include <string.h>

enum {
    OWNED = 96,
    SHARE = 4096,               /* positions of a thread of a processor … */
    SHARES = 64,                /* … and how many of those are enough */
    ROWS_WORTH = 32,            /* rows from which a group each fills a device … */
    ROWS_SMALL = 1 << 14,       /* … unless all of it is this small */
    LONG_ROW = 32,              /* elements for which a group is worth its tree */
    FEW_ROWS = 64,
    PART = 8192,                /* elements of a share, at least */
    STRIP = 64,                 /* and of one that a work item takes, … */
    STRIPS_WORTH = 1 << 16      /* … of which so many fill a device */
};

/* What a run owns: freed together, after errors too. */
typedef struct Run {
    Ctx *ctx;
    Device *device;
    DevMem mem[OWNED];
    GpuForm *form[OWNED];
    int mems, forms;
    DevArg *data;               /* the caller's, then temporaries */
    int data_cap;
    GpuSource source;
    Buf key;
    bool has_source, checked;
    const DevMem *flag;
} Run;

static void run_form(Run *r, GpuForm *f, const DevArg *out);

static _Noreturn void raise_long(const Run *r)
{
    err_raise(r->ctx, ERR_VALUE, "an expression of more than %d reductions is too long for %s",
              OWNED / 3, r->device->name);
}

static DevMem *run_memory(Run *r, int64_t count, int64_t bytes)
{
    if (r->mems == OWNED)
        raise_long(r);
    size_t all = mem_mul(r->ctx, (size_t)(count > 0 ? count : 1), (size_t)bytes);
    r->mem[r->mems] = device_alloc(r->ctx, r->device, all);
    return &r->mem[r->mems++];
}

static GpuForm *new_form(Run *r, const Nest *n, const int64_t *out_stride)
{
    if (r->forms == OWNED)
        raise_long(r);
    GpuForm *f = r->form[r->forms] = mem_zalloc(r->ctx, sizeof *f);
    r->forms++;
    gpu_form(r->ctx, f, n, out_stride, r->data);
    return f;
}

static void run_free(Run *r)
{
    Ctx *ctx = r->ctx;
    if (r->has_source)
        gpu_source_free(&r->source);
    buf_free(&r->key);
    for (int i = 0; i < r->forms; i++) {
        if (r->form[i]->n)
            gpu_form_free(ctx, r->form[i]);
        mem_free(ctx, r->form[i], sizeof *r->form[i]);
    }
    for (int i = 0; i < r->mems; i++)
        device_free(ctx, r->device, &r->mem[i]);
    if (r->data)
        mem_free(ctx, r->data, (size_t)r->data_cap * sizeof *r->data);
    mem_free(ctx, r, sizeof *r);
}

/* ---- one kernel ---- */
typedef struct Sizes {
    int64_t rows, inner, chunk, chunks;
    DevArg part, place;
} Sizes;

/* Numbers of the host, as wide as the kernel has them. */
typedef struct Numbers {
    union { int64_t wide; int32_t narrow; } at[GPU_PARAMS];
    int count;
} Numbers;

static DevArg number(Numbers *n, bool wide, int64_t value)
{
    int i = n->count++;
    if (wide)
        n->at[i].wide = value;
    else
        n->at[i].narrow = (int32_t)value;
    return (DevArg){ .value = &n->at[i], .bytes = wide ? 8 : 4 };
}

static DevArg argument(Run *r, const GpuForm *f, const GpuParam *p, const DevArg *out,
                       const Sizes *z, Numbers *numbers)
{
    const Nest *n = f->n;
    bool w = f->wide;
    switch ((GpuParamKind)p->kind) {
    case PARAM_OUT: return *out;
    case PARAM_FLAG:
        r->checked = true;
        return (DevArg){ .mem = r->flag = r->flag ? r->flag : gpu_flag(r->ctx, r->device) };
    case PARAM_SLOT: return r->data[p->a];
    case PARAM_PART: return z->part;
    case PARAM_PLACE: return z->place;
    case PARAM_CONST:
        return (DevArg){ .value = r->data[p->a].value, .bytes = dtype_info((DType)p->b)->bytes };
    case PARAM_EXTENT: return number(numbers, w, n->index[p->a].extent);
    case PARAM_STRIDE: return number(numbers, w, n->load[p->a].stride[p->b]);
    case PARAM_OUT_STRIDE: return number(numbers, w, f->out_stride[p->a]);
    case PARAM_TABLE_STRIDE: return number(numbers, w, n->load[p->a].gather[p->b].stride[p->c]);
    case PARAM_TABLE_STEP: return number(numbers, true, n->load[p->a].gather[p->b].step);
    case PARAM_START: return number(numbers, true, n->index[p->a].start);
    case PARAM_STEP: return number(numbers, true, n->index[p->a].step);
    case PARAM_LENGTH: return number(numbers, w, gpu_extent(n, n->node[p->a].bound));
    case PARAM_ROWS: return number(numbers, w, z->rows);
    case PARAM_INNER: return number(numbers, w, z->inner);
    case PARAM_CHUNK: return number(numbers, w, z->chunk);
    case PARAM_CHUNKS: return number(numbers, w, z->chunks);
    }
    return (DevArg){ 0 };
}

static GpuSource *begin(Run *r, const GpuForm *f, GpuMode mode)
{
    gpu_source_begin(&r->source, r->ctx, f, mode, r->device->caps, r->device->dtypes);
    r->has_source = true;
    return &r->source;
}

static void launch(Run *r, const GpuForm *f, const DevGrid *grid, const DevArg *out, const Sizes *z)
{
    GpuSource *s = &r->source;
    gpu_source_key(s, &r->key);
    const GpuKernel *k = gpu_find(r->device, r->key.data, r->key.len);
    if (!k) {
        gpu_source_make(s);
        k = gpu_build(r->ctx, r->device, r->key.data, r->key.len, s->text.data, "nest", s->param,
                      s->params);
    }
    buf_clear(&r->key);
    gpu_source_free(s);
    r->has_source = false;
    int params;
    const GpuParam *param = gpu_params(k, &params);
    DevArg arg[GPU_PARAMS];
    Numbers numbers = { .count = 0 };
    for (int i = 0; i < params; i++) {
        arg[i] = argument(r, f, &param[i], out, z, &numbers);
        if (arg[i].mem && !arg[i].mem->handle && f->hoist)      /* it made room for a temporary */
            err_raise(r->ctx, ERR_MEMORY,
                      "the operands and temporaries of an operation do not fit on %s",
                      r->device->name);
    }
    gpu_launch(r->ctx, r->device, k, grid, arg, params);
}

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }
static uint64_t axes_of(const Nest *n) { return (UINT64_C(1) << n->out_rank) - 1; }

/* ---- elementwise ---- */
/* A processor: groups of one work item, which PoCL compiles once, with long loops inside. */
static void threads_grid(const GpuForm *f, int64_t length, DevGrid *g, Sizes *z)
{
    int64_t share = f->reduces ? 16 : SHARE, down = ceil_div(z->rows, ceil_div(share, length));
    z->chunk = ceil_div(length, SHARES);
    z->chunk = at_most(length, z->chunk > share ? z->chunk : share);
    *g = (DevGrid){ .groups = { (size_t)ceil_div(length, z->chunk),
                                (size_t)at_most(down, SHARES), 1 },
                    .local = { 1, 1, 1 } };
}

/* Few shapes of groups, so that a device that compiles for each compiles few. */
static void items_grid(const GpuForm *f, unsigned caps, DevGrid *g, Sizes *z)
{
    const Nest *n = f->n;
    int last = n->out_rank - 1;
    int64_t length = last < 0 ? 1 : n->index[last].extent;
    int64_t per = gpu_per(f), across = GPU_GROUP;
    z->rows = last < 0 ? 1 : gpu_extent(n, axes_of(n) & ~(UINT64_C(1) << last));
    if (caps & DEVCAP_CPU) {
        threads_grid(f, length, g, z);
        return;
    }
    while (last > 0 && across > 4 && across * per > length)
        across /= 4;
    int64_t down = last > 0 ? GPU_GROUP / across : 1;
    *g = (DevGrid){ .groups = { (size_t)ceil_div(length, across * per),
                                (size_t)at_most(ceil_div(z->rows, down), 65535), 1 },
                    .local = { (size_t)across, (size_t)down, 1 } };
}

static void run_items(Run *r, const GpuForm *f, const DevArg *out)
{
    Sizes z = { 0 };
    DevGrid grid;
    items_grid(f, r->device->caps, &grid, &z);
    begin(r, f, GPU_ITEMS);
    launch(r, f, &grid, out, &z);
}

/* ---- transpositions ---- */
/* A load that is dense in another axis than the result; -1: none is worth it. */
static int turned_load(const GpuForm *f, int *axis)
{
    const Nest *n = f->n;
    int last = n->out_rank - 1;
    if (last < 1 || f->out_stride[last] != 1 || n->index[last].extent < 8)
        return -1;
    for (int i = 0; i < n->nodes; i++) {
        const NestLoad *load = n->node[i].kind == NEST_LOAD ? &n->load[n->node[i].slot] : NULL;
        if (!f->used[i] || !load || load->gathers || llabs(load->stride[last]) <= 1)
            continue;
        for (int a = 0; a < last; a++) {
            int64_t extent = n->index[a].extent;
            if (load->stride[a] == 1 && extent >= 8 && extent / GPU_TILE < 65535) {
                *axis = a;
                return i;
            }
        }
    }
    return -1;
}

static void run_move(Run *r, const GpuForm *f, const DevArg *out, int load, int axis)
{
    const Nest *n = f->n;
    int last = n->out_rank - 1;
    uint64_t outer = axes_of(n) & ~(UINT64_C(1) << last | UINT64_C(1) << axis);
    Sizes z = { .rows = gpu_extent(n, outer) };
    DevGrid grid = { .groups = { (size_t)ceil_div(n->index[last].extent, GPU_TILE),
                                 (size_t)ceil_div(n->index[axis].extent, GPU_TILE),
                                 (size_t)at_most(z.rows, 65535) },
                     .local = { GPU_TILE, 8, 1 } };
    GpuSource *s = begin(r, f, GPU_MOVE);
    s->split = load;
    s->move_axis = axis;
    launch(r, f, &grid, out, &z);
}

/* ---- rows ---- */
static size_t group_for(int64_t length)
{
    size_t group = 32;
    while ((int64_t)group < length && group < GPU_GROUP)
        group *= 2;
    return group;
}

/* The axes that every reduction knows; false: they differ, or one stands inside another's loop. */
static bool same_rows(const GpuForm *f, uint64_t *rows, int64_t *longest)
{
    const Nest *n = f->n;
    bool first = true;
    *longest = 1;
    for (int i = 0; i < n->nodes; i++) {
        const NestNode *node = &n->node[i];
        if (!f->used[i] || node->kind != NEST_REDUCE)
            continue;
        int64_t length = gpu_extent(n, node->bound);
        *longest = length > *longest ? length : *longest;
        if ((!first && node->free != *rows) || node->free & ~axes_of(n))
            return false;
        *rows = node->free;
        first = false;
    }
    return true;
}

static void run_rows(Run *r, const GpuForm *f, const DevArg *out, uint64_t rows, int64_t longest)
{
    uint64_t inner = axes_of(f->n) & ~rows;
    Sizes z = { .rows = gpu_extent(f->n, rows), .inner = gpu_extent(f->n, inner) };
    DevGrid grid = { .groups = { (size_t)at_most(z.rows, 1 << 20), 1, 1 },
                     .local = { group_for(longest > z.inner ? longest : z.inner), 1, 1 } };
    begin(r, f, GPU_ROWS)->row_axes = rows;
    launch(r, f, &grid, out, &z);
}

/* Two kernels: shares of every row, then what they make together. How a row is shared follows
 * from its length and number alone: the same bits every time. `strips`: a row is a column of its
 * operand, shared along its outermost index, a work item for each. */
static void run_parts(Run *r, const GpuForm *f, const DevArg *out, int id, bool strips)
{
    const NestNode *node = &f->n->node[id];
    int outer = __builtin_ctzll(node->bound);
    int64_t length = gpu_extent(f->n, node->bound), rows = gpu_extent(f->n, axes_of(f->n));
    Sizes z = { .chunks = strips ? at_most(ceil_div(length, STRIP), ceil_div(STRIPS_WORTH, rows))
                                 : at_most(ceil_div(length, PART), 1024 / rows) };
    if (strips)
        length = f->n->index[outer].extent;
    z.chunk = ceil_div(length, z.chunks);
    z.chunks = ceil_div(length, z.chunk);
    DType dt = gpu_runs_in((DType)node->compute);
    z.part.mem = run_memory(r, rows * z.chunks, dtype_info(dt)->bytes);
    if (node->op == NEST_ARGMIN || node->op == NEST_ARGMAX)
        z.place.mem = run_memory(r, rows * z.chunks, 8);
    DevGrid grid = { .groups = { (size_t)(rows * z.chunks), 1, 1 }, .local = { GPU_GROUP, 1, 1 } };
    if (strips)
        grid = (DevGrid){ .groups = { (size_t)ceil_div(rows, 64), (size_t)z.chunks, 1 },
                          .local = { 64, 1, 1 } };
    GpuSource *s = begin(r, f, strips ? GPU_STRIPS : GPU_PARTS);
    s->row_axes = axes_of(f->n);
    s->split = id;
    z.rows = strips ? rows : rows * z.chunks;
    launch(r, f, &grid, out, &z);
    grid = (DevGrid){ .groups = { (size_t)at_most(rows, 1 << 20), 1, 1 },
                      .local = { group_for(z.chunks), 1, 1 } };
    s = begin(r, f, GPU_JOIN);
    s->row_axes = axes_of(f->n);
    s->split = id;
    z.rows = rows;
    launch(r, f, &grid, out, &z);
}

/* Some operand runs along the innermost index that is summed. */
static bool dense_inside(const GpuForm *f, uint64_t bound)
{
    const Nest *n = f->n;
    int last = bound ? 63 - __builtin_clzll(bound) : 0;
    bool inside = false, outside = false;
    for (int i = 0; i < n->nodes; i++)
        if (f->used[i] && n->node[i].kind == NEST_LOAD) {
            const NestLoad *load = &n->load[n->node[i].slot];
            inside |= llabs(load->stride[last]) == 1;
            outside |= n->out_rank > 0 && llabs(load->stride[n->out_rank - 1]) == 1;
        }
    return inside || !outside;
}

/* One reduction per result. */
static void run_reduction(Run *r, const GpuForm *f, const DevArg *out, int id)
{
    uint64_t bound = f->n->node[id].bound;
    int64_t length = gpu_extent(f->n, bound), rows = gpu_extent(f->n, axes_of(f->n));
    bool dense = dense_inside(f, bound);
    if (!dense && bound && rows >= 32 && rows < STRIPS_WORTH / 2 && length >= 2 * STRIP &&
        f->n->index[__builtin_ctzll(bound)].extent >= 8)
        run_parts(r, f, out, id, true);
    else if (rows < FEW_ROWS && length >= 2 * PART)
        run_parts(r, f, out, id, false);
    else if (f->hoist && (dense ? length >= LONG_ROW : rows < 1024 && length >= 256))
        run_rows(r, f, out, axes_of(f->n), length);
    else
        run_items(r, f, out);
}

/* ---- taking apart ---- */
static void add_data(Run *r, int slot, const DevMem *mem)
{
    if (slot >= r->data_cap) {
        size_t old = (size_t)r->data_cap * sizeof *r->data;
        size_t more = (size_t)(slot + 32) * sizeof *r->data;
        r->data = r->data ? mem_realloc(r->ctx, r->data, old, more) : mem_alloc(r->ctx, more);
        r->data_cap = slot + 32;
    }
    r->data[slot] = (DevArg){ .mem = mem };
}

/* The nest of one reduction alone: its result's axes are those that it knows. */
static GpuForm *alone(Run *r, const GpuForm *f, int id)
{
    int into[NEST_INDICES], next = 0;
    uint64_t free = f->n->node[id].free;
    for (int i = 0; i < f->n->indices; i++)
        if (free >> i & 1)
            into[i] = next++;
    int rank = next;
    for (int i = 0; i < f->n->indices; i++)
        if (!(free >> i & 1))
            into[i] = next++;
    GpuForm *part = r->form[r->forms] = mem_zalloc(r->ctx, sizeof *part);
    r->forms++;
    part->n = gpu_nest_copy(r->ctx, f->n);
    part->n->root = id;
    gpu_nest_remap(part->n, into, next, rank);
    return part;
}

/* Node `id` becomes an element of what `mem` holds. */
static void replace(Run *r, GpuForm *f, int id, const DevMem *mem)
{
    Nest *n = f->n;
    NestNode *node = &n->node[id];
    uint64_t free = node->free;
    int slot = nest_slot(n);
    add_data(r, slot, mem);
    NestLoad *load = nest_load_new(r->ctx, n, slot, (DType)node->dtype, "part");
    int64_t stride = 1;
    for (int i = n->indices - 1; i >= 0; i--)
        if (free >> i & 1) {
            load->stride[i] = stride;
            stride *= n->index[i].extent;
        }
    node = &n->node[id];
    *node = (NestNode){ .kind = NEST_LOAD, .dtype = node->dtype, .slot = (int16_t)(n->loads - 1),
                        .free = free };
}

/* Room for a reduction's results, if they may have it. */
static bool affordable(const Run *r, const GpuForm *f, int id)
{
    double bytes = dtype_info(f->n->node[id].dtype)->bytes;
    double limit = r->device->memory ? (double)r->device->memory / 4 : 0x1p30;
    for (int i = 0; i < f->n->indices; i++)
        if (f->n->node[id].free >> i & 1)
            bytes *= (double)f->n->index[i].extent;
    return bytes <= limit && r->forms + 3 < OWNED && r->mems + 3 < OWNED;
}

static void take_apart(Run *r, GpuForm *f, const DevArg *out, int id)
{
    int64_t count = gpu_extent(f->n, f->n->node[id].free);
    const DevMem *mem = run_memory(r, count, dtype_info(f->n->node[id].dtype)->bytes);
    DevArg to = { .mem = mem };
    const GpuForm *part = alone(r, f, id);
    run_form(r, new_form(r, part->n, NULL), &to);
    replace(r, f, id, mem);
    run_form(r, new_form(r, f->n, f->out_stride), out);
}

static int first_reduction(const GpuForm *f)
{
    int id = 0;
    while (!f->used[id] || f->n->node[id].kind != NEST_REDUCE)
        id++;
    return id;
}

static void run_reductions(Run *r, GpuForm *f, const DevArg *out)
{
    uint64_t rows = 0, axes = axes_of(f->n);
    int64_t longest;
    int first = first_reduction(f);
    bool same = same_rows(f, &rows, &longest);
    if (f->reduces == 1 && same && rows == axes) {
        run_reduction(r, f, out, first);
        return;
    }
    double count = (double)gpu_extent(f->n, rows), inner = (double)gpu_extent(f->n, axes & ~rows);
    double work = count * (inner > (double)longest ? inner : (double)longest);
    if (same && f->hoist && (count >= ROWS_WORTH || work <= ROWS_SMALL))
        run_rows(r, f, out, rows, longest);
    else if (affordable(r, f, first))
        take_apart(r, f, out, first);
    else
        run_items(r, f, out);
}

static void run_form(Run *r, GpuForm *f, const DevArg *out)
{
    int axis, load;
    GpuProduct product;
    if (gpu_extent(f->n, axes_of(f->n)) == 0)
        return;
    if (f->reduces) {
        if (gpu_product_read(f, out, r->data, &product))
            gpu_product(r->ctx, r->device, &product);
        else
            run_reductions(r, f, out);
    } else if ((load = turned_load(f, &axis)) >= 0) {
        run_move(r, f, out, load, axis);
    } else {
        run_items(r, f, out);
    }
}

EwTrouble gpu_nest(Ctx *ctx, Device *d, const Nest *n, const int64_t *out_stride, const DevArg *out,
                   const DevArg *data)
{
    volatile EwTrouble trouble = EWT_NONE;
    device_open(ctx, d);
    if (d->ops->nest)
        return (EwTrouble)d->ops->nest(ctx, d, n, out_stride, out, data);
    Run *r = mem_zalloc(ctx, sizeof *r);
    r->ctx = ctx;
    r->device = d;
    buf_init(&r->key, ctx);
    ErrFrame frame;
    if (ERR_TRY(ctx, &frame)) {
        for (int i = 0; i < n->slots; i++)
            add_data(r, i, NULL);
        if (n->slots)
            memcpy(r->data, data, (size_t)n->slots * sizeof *data);
        run_form(r, new_form(r, n, out_stride), out);
        if (r->checked)
            trouble = gpu_trouble(ctx, d);
        ERR_END(ctx, &frame);
    } else {
        run_free(r);
        err_rethrow(ctx);
    }
    run_free(r);
    return trouble;
}

/* ---- the text alone ---- */
void gpu_nest_text(Ctx *ctx, unsigned caps, uint32_t dtypes, const Nest *n, GpuText *t)
{
    GpuForm form;
    GpuSource s;
    uint64_t rows = 0;
    int64_t longest;
    gpu_form(ctx, &form, n, NULL, NULL);
    bool together = form.reduces && same_rows(&form, &rows, &longest) && form.hoist;
    gpu_source_begin(&s, ctx, &form, together ? GPU_ROWS : GPU_ITEMS, caps, dtypes);
    s.row_axes = rows;
    gpu_source_make(&s);
    t->source = s.text;
    t->entry = "nest";
    buf_init(&s.text, ctx);
    gpu_source_free(&s);
    gpu_form_free(ctx, &form);
}
