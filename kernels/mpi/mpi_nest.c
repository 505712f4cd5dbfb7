/* Nests as commands to the ranks. Every node's value is a tensor over the indices that it moves
 * with, in ascending order, or a number of the session; sums of products of two operands are
 * products of matrices. What is made on the way is freed when the last node that reads it has
 * run. */
#include "kernels/mpi/mpi_device.h"

#include "core/base/error.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/device/lack.h"
#include "kernels/nest/nest.h"
#include "kernels/reduce/reduce.h"

#include <assert.h>
#include <string.h>

typedef struct Piece {
    bool there;                  /* it was computed */
    uint64_t free;               /* its axes; 0: a number, `cell` */
    DevMem mem;                  /* of its own: with a handle */
    const MpiTensor *tensor;
    _Alignas(16) char cell[ELEMENT_BYTES_MAX];
    DType dtype;
    int uses;                    /* nodes that are still to read it */
} Piece;

typedef struct Run {
    Ctx *ctx;
    Device *d;
    const Nest *n;
    const DevArg *data;
    Piece *piece;
    DevMem *held;                /* all that was made and not freed: an error frees it */
    int room;
    EwTrouble trouble;
} Run;

/* Values on the way beside those of nodes: fewer than this at a time. */
enum { BESIDE = 16 };

static DevMem run_alloc(Run *r, DType dt, int rank, const int64_t *shape)
{
    int i = 0;
    while (r->held[i].handle)
        i++;
    assert(i < r->room);
    return r->held[i] = device_alloc_laid(r->ctx, r->d, &(DevLayout){ dt, rank, shape });
}

static void run_free(Run *r, DevMem *m)
{
    for (int i = 0; i < r->room && m->handle; i++)
        if (r->held[i].handle == m->handle) {
            r->held[i] = (DevMem){ 0, 0 };
            break;
        }
    device_free(r->ctx, r->d, m);
}

/* ---- shapes ---- */
static int axes_of(uint64_t free) { return __builtin_popcountll(free); }

static int shape_of(const Nest *n, uint64_t free, int64_t *shape)
{
    int rank = 0;
    for (int i = 0; i < n->indices; i++)
        if (free >> i & 1)
            shape[rank++] = n->index[i].extent;
    return rank;
}

/* Which axis of a piece over `free` index i is. */
static int axis_of(uint64_t free, int i)
{
    return axes_of(free & ((UINT64_C(1) << i) - 1));
}

static void row_major(int rank, const int64_t *shape, int64_t *strides)
{
    int64_t step = 1;
    for (int a = rank - 1; a >= 0; a--) {
        strides[a] = step;
        step *= shape[a];
    }
}

/* ---- pieces ---- */
static MpiTensor *own(Run *r, Piece *x, DType dt, uint64_t free)
{
    int64_t shape[NEST_INDICES];
    int rank = shape_of(r->n, free, shape);
    x->free = free;
    x->dtype = dt;
    if (!free)
        return NULL;
    x->mem = run_alloc(r, dt, rank, shape);
    x->tensor = mpi_tensor(&x->mem);
    return mpi_tensor(&x->mem);
}

static void piece_end(Run *r, Piece *x)
{
    run_free(r, &x->mem);
    x->tensor = NULL;
}

static void piece_used(Run *r, int id)
{
    Piece *x = &r->piece[id];
    if (--x->uses == 0)
        piece_end(r, x);
}

/* x's elements over more indices than its own: a broadcast. */
static void spread(Run *r, const Piece *x, uint64_t free, Piece *wide)
{
    int64_t shape[NEST_INDICES], strides[NEST_INDICES] = { 0 }, of[NEST_INDICES];
    *wide = (Piece){ .there = true };
    MpiTensor *to = own(r, wide, x->dtype, free);
    if (!x->free) {
        mpi_fill(r->ctx, r->d, to, x->cell);
        return;
    }
    int rank = shape_of(r->n, free, shape);
    row_major(x->tensor->rank, x->tensor->shape, of);
    for (int i = 0; i < r->n->indices; i++)
        if (x->free >> i & 1)
            strides[axis_of(free, i)] = of[axis_of(x->free, i)];
    mpi_pack(r->ctx, r->d, to, x->tensor,
             &(MpiView){ .rank = rank, .shape = shape, .strides = strides });
}

/* ---- leaves ---- */
static const MpiTensor *there(Run *r, const DevArg *a)
{
    if (!a->mem || !a->mem->handle)
        err_raise(r->ctx, ERR_DEVICE, "an operand of %s has no elements", r->d->name);
    return mpi_tensor(a->mem);
}

/* The positions that a table gives along its one index, in steps of the load. */
static int64_t *positions(Run *r, const NestGather *g, int index)
{
    int64_t n = r->n->index[index].extent;
    int64_t *list = mem_alloc(r->ctx, (size_t)n * sizeof *list);
    const int64_t *table = r->data[g->slot].value;
    for (int64_t i = 0; i < n; i++)
        list[i] = table[i * g->stride[index]];
    return list;
}

static int gather_index(const Nest *n, const NestGather *g)
{
    int index = -1;
    for (int i = 0; i < n->indices; i++)
        if (g->stride[i] && n->index[i].extent > 1)
            index = index < 0 ? i : -2;
    return index;
}

/* Already dense in the order of its indices? */
static bool dense(const MpiTensor *g, const MpiView *v)
{
    int64_t strides[TENSOR_RANK_MAX];
    if (g->rank != v->rank || v->at)
        return false;
    row_major(g->rank, g->shape, strides);
    for (int a = 0; a < v->rank; a++)
        if (v->list[a] || v->shape[a] != g->shape[a] ||
            (v->strides[a] != strides[a] && v->shape[a] != 1))
            return false;
    return true;
}

static void load_view(Run *r, const NestLoad *l, uint64_t free, MpiView *v, int64_t *shape,
                      int64_t *strides)
{
    *v = (MpiView){ .rank = shape_of(r->n, free, shape), .shape = shape, .strides = strides };
    for (int i = 0; i < r->n->indices; i++)
        if (free >> i & 1)
            strides[axis_of(free, i)] = l->stride[i];
    v->at = (int64_t)r->data[l->slot].at / dtype_info(l->dtype)->bytes;
}

static void load_gathers(Run *r, const NestLoad *l, uint64_t free, MpiView *v, int64_t *strides,
                         int64_t **list)
{
    for (int k = 0; k < l->gathers; k++) {
        const NestGather *g = &l->gather[k];
        int index = gather_index(r->n, g);
        if (index < 0) {
            const int64_t *table = r->data[g->slot].value;
            v->at += table[0] * g->step;
            continue;
        }
        int a = axis_of(free, index);
        v->list[a] = *list = positions(r, g, index);
        strides[a] = g->step;
    }
}

static void eval_load(Run *r, const NestNode *node, Piece *x)
{
    const NestLoad *l = &r->n->load[node->slot];
    const MpiTensor *g = there(r, &r->data[l->slot]);
    int64_t shape[NEST_INDICES], strides[NEST_INDICES], *volatile list = NULL, *made = NULL;
    MpiView v;
    load_view(r, l, node->free, &v, shape, strides);
    x->dtype = l->dtype;
    x->free = node->free;
    if (!l->gathers && !node->free) {
        if (g->rank == 0)
            memcpy(x->cell, g->cell, dtype_info(l->dtype)->bytes);
        else
            mpi_element(r->ctx, r->d, g, v.at, x->cell);
        return;
    }
    if (!l->gathers && dense(g, &v)) {
        x->tensor = g;
        return;
    }
    ErrFrame f;
    if (ERR_TRY(r->ctx, &f)) {
        load_gathers(r, l, node->free, &v, strides, &made);
        list = made;
        mpi_pack(r->ctx, r->d, own(r, x, l->dtype, node->free), g, &v);
        ERR_END(r->ctx, &f);
    } else {
        if (list)
            mem_free(r->ctx, list, (size_t)shape[0] * sizeof *list);
        err_rethrow(r->ctx);
    }
    for (int a = 0; a < v.rank; a++)
        if (v.list[a])
            mem_free(r->ctx, (void *)(uintptr_t)v.list[a], (size_t)shape[a] * sizeof *list);
}

/* Numbers of an index, as an axis of their own. */
static void eval_index(Run *r, const NestNode *node, Piece *x)
{
    const NestIndex *i = &r->n->index[node->slot];
    MpiTensor *to = own(r, x, DT_I64, UINT64_C(1) << node->slot);
    Buf *b = mpi_begin(r->ctx, r->d, GRID_SEQUENCE);
    mpi_put_new(r->ctx, r->d, b, to);
    wire_u64(b, DT_I64);
    wire_i64(b, i->extent);
    wire_u64(b, 0);
    wire_i64(b, i->start);
    wire_i64(b, i->step);
    wire_f64(b, 0);
    mpi_send(r->ctx, r->d);
}

/* ---- computing ---- */
static const Piece *eval(Run *r, int id);

static void numbers(Run *r, const NestNode *node, Piece *x)
{
    const void *in[3];
    int64_t zero[3] = { 0 };
    for (int i = 0; i < node->args; i++)
        in[i] = r->piece[node->arg[i]].cell;
    if (node->args > 1 && ew_is_checked((EwOp)node->op, (DType)node->compute)) {
        EwTrouble t = ew_find_trouble((EwOp)node->op, (DType)node->compute, in[1], 0, 1);
        r->trouble = r->trouble ? r->trouble : t;
        if (t)
            return;
    }
    ew_kernel((EwOp)node->op, (DType)node->compute)(x->cell, 1, in, zero, 1);
}

/* Are any of x's elements nan? */
static bool has_nan(Run *r, const Piece *x)
{
    Piece is = { .there = true };
    MpiTensor any = { .dtype = DT_BOOL };
    if (dtype_info(x->dtype)->kind != 'f' && dtype_info(x->dtype)->kind != 'c')
        return false;
    if (!x->free) {
        bool nan;
        int64_t zero = 0;
        ew_kernel(EW_ISNAN, x->dtype)(&nan, 1, (const void *[]){ x->cell }, &zero, 1);
        return nan;
    }
    MpiTensor *to = own(r, &is, DT_BOOL, x->free);
    mpi_ew(r->ctx, r->d, EW_ISNAN, x->dtype, to,
           &(MpiOperand){ .tensor = x->tensor, .dtype = x->dtype }, 1);
    mpi_reduce(r->ctx, r->d, &any, to, RED_ANY, (UINT64_C(1) << to->rank) - 1, 0);
    piece_end(r, &is);
    return any.cell[0] != 0;
}

/* Of a nan where no argument has one: where arguments have some too, nobody is told. */
static void watch(Run *r, const NestNode *node, const Piece *x)
{
    if (!has_nan(r, x))
        return;
    for (int i = 0; i < node->args; i++)
        if (has_nan(r, &r->piece[node->arg[i]]))
            return;
    r->trouble = r->trouble ? r->trouble : EWT_NAN;
}

static MpiOperand operand(const Piece *x)
{
    return (MpiOperand){ .tensor = x->free ? x->tensor : NULL, .dtype = x->dtype, .cell = x->cell };
}

static void eval_ew(Run *r, const NestNode *node, Piece *x)
{
    MpiOperand in[3];
    Piece wide[3] = { { .there = false } };
    for (int i = 0; i < node->args; i++)
        eval(r, node->arg[i]);
    MpiTensor *to = own(r, x, (DType)node->dtype, node->free);
    if (!to) {
        numbers(r, node, x);
    } else {
        for (int i = 0; i < node->args; i++) {
            const Piece *a = &r->piece[node->arg[i]];
            if (a->free && a->free != node->free) {
                spread(r, a, node->free, &wide[i]);
                a = &wide[i];
            }
            in[i] = operand(a);
        }
        EwTrouble t = mpi_ew(r->ctx, r->d, (EwOp)node->op, (DType)node->compute, to, in,
                             node->args);
        if (t) {                         /* the caller does it another way, or raises */
            static const _Alignas(16) char zero[ELEMENT_BYTES_MAX];
            r->trouble = r->trouble ? r->trouble : t;
            mpi_fill(r->ctx, r->d, to, zero);
        }
        for (int i = 0; i < node->args; i++)
            if (wide[i].there)
                piece_end(r, &wide[i]);
    }
    if (node->watch && !r->trouble)
        watch(r, node, x);
}

static void eval_cast(Run *r, const NestNode *node, Piece *x)
{
    const Piece *a = eval(r, node->arg[0]);
    MpiTensor *to = own(r, x, (DType)node->dtype, a->free);
    if (to)
        mpi_cast(r->ctx, r->d, to, a->tensor);
    else
        cast_run((DType)node->dtype, x->cell, 1, a->dtype, a->cell, 1, 1);
}

static RedOp reduction(const NestNode *node)
{
    static const RedOp ops[NEST_REDUCTIONS] =
        { [NEST_SUM] = RED_SUM, [NEST_PROD] = RED_PROD, [NEST_MIN] = RED_MIN,
          [NEST_MAX] = RED_MAX, [NEST_ANY] = RED_ANY, [NEST_ALL] = RED_ALL };
    return ops[node->op];
}

/* ---- products of matrices ---- */
typedef struct Product {
    uint64_t a, b, k;            /* indices of the first factor alone, of the second, summed over */
    int x, y;                    /* the factors */
} Product;

static bool floats(DType dt)
{
    return dt == DT_F32 || dt == DT_F64 || dt == DT_C64 || dt == DT_C128;
}

/* Is the node a sum of products of two factors, each with indices of its own? The first is the one
 * with the first index. */
static bool product_read(const Nest *n, const NestNode *node, Product *p)
{
    const NestNode *m = &n->node[node->arg[0]];
    if (node->kind != NEST_REDUCE || node->op != NEST_SUM || m->kind != NEST_EW ||
        m->op != EW_MULTIPLY || m->watch || !floats((DType)m->dtype) ||
        m->dtype != node->dtype)
        return false;
    uint64_t x = n->node[m->arg[0]].free, y = n->node[m->arg[1]].free, k = node->bound;
    if ((x & y) != k || !(x | y) || x == y || n->node[m->arg[0]].dtype != m->dtype ||
        n->node[m->arg[1]].dtype != m->dtype)
        return false;
    *p = (Product){ x & ~k, y & ~k, k, m->arg[0], m->arg[1] };
    bool turn = !p->a || (p->b && __builtin_ctzll(p->b) < __builtin_ctzll(p->a));
    if (turn)
        *p = (Product){ p->b, p->a, k, p->y, p->x };
    return true;
}

static int64_t extent(const Nest *n, uint64_t of)
{
    int64_t all = 1;
    for (int i = 0; i < n->indices; i++)
        all *= of >> i & 1 ? n->index[i].extent : 1;
    return all;
}

/* A tensor's elements in another order of its axes: `rows`, then `cols`, as a matrix, or as a
 * vector where there are no columns. */
static void as_matrix(Run *r, const Piece *x, uint64_t rows, uint64_t cols, Piece *matrix)
{
    int64_t shape[NEST_INDICES], strides[NEST_INDICES], of[NEST_INDICES];
    int64_t flat[2] = { extent(r->n, rows), extent(r->n, cols) }, step[2] = { flat[1], 1 };
    const uint64_t part[2] = { rows, cols };
    int rank = 0;
    Piece turned = { .there = true };
    row_major(x->tensor->rank, x->tensor->shape, of);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < r->n->indices; i++)
            if (part[k] >> i & 1) {
                shape[rank] = r->n->index[i].extent;
                strides[rank++] = of[axis_of(x->free, i)];
            }
    turned.mem = run_alloc(r, x->dtype, rank, shape);
    mpi_pack(r->ctx, r->d, mpi_tensor(&turned.mem), x->tensor,
             &(MpiView){ .rank = rank, .shape = shape, .strides = strides });
    *matrix = turned;
    if (rank == 2 && axes_of(rows) == 1)
        return;
    matrix->mem = run_alloc(r, x->dtype, cols ? 2 : 1, flat);
    mpi_pack(r->ctx, r->d, mpi_tensor(&matrix->mem), mpi_tensor(&turned.mem),
             &(MpiView){ .rank = cols ? 2 : 1, .shape = flat, .strides = step });
    piece_end(r, &turned);
}

/* What p?gemm reads of a factor: itself, or its transpose (*t), or a matrix made of it. */
static const MpiTensor *factor(Run *r, const Piece *x, uint64_t rows, uint64_t cols, int *t,
                                Piece *matrix)
{
    *t = 0;
    if (!rows || !cols) {                              /* a vector, along the sum or alone */
        if (axes_of(x->free) == 1)
            return x->tensor;
    } else if (axes_of(rows) == 1 && axes_of(cols) == 1) {
        *t = cols < rows;
        return x->tensor;
    }
    as_matrix(r, x, rows, cols, matrix);
    matrix->tensor = mpi_tensor(&matrix->mem);
    return matrix->tensor;
}

/* The matrix that a factor reads across, with its indices in the other order than pieces have them:
 * p?gemm is told so, and nothing is moved. NULL: it is no such factor. */
static const MpiTensor *read_across(Run *r, int id, uint64_t rows, uint64_t cols)
{
    const NestNode *node = &r->n->node[id];
    int64_t shape[NEST_INDICES], strides[NEST_INDICES];
    MpiView v;
    if (node->kind != NEST_LOAD || r->piece[id].there || axes_of(rows) != 1 || axes_of(cols) != 1)
        return NULL;
    const NestLoad *l = &r->n->load[node->slot];
    const MpiTensor *g = there(r, &r->data[l->slot]);
    load_view(r, l, node->free, &v, shape, strides);
    if (l->gathers || g->rank != 2 || v.at || shape[0] != g->shape[1] || shape[1] != g->shape[0] ||
        (strides[0] != 1 && shape[0] != 1) || (strides[1] != shape[0] && shape[1] != 1))
        return NULL;
    return g;
}

static const MpiTensor *read_factor(Run *r, int id, uint64_t rows, uint64_t cols, int *t,
                                    Piece *matrix)
{
    const MpiTensor *across = read_across(r, id, rows, cols);
    if (!across)
        return factor(r, eval(r, id), rows, cols, t, matrix);
    *t = cols > rows;
    return across;
}

/* The product, m x n with n = 1 for a vector, as the tensor that it stands for. */
static void eval_product(Run *r, const NestNode *node, const Product *p, Piece *x)
{
    Piece ma = { .there = false }, mb = { .there = false };
    int ta, tb;
    bool plain = axes_of(p->a) == 1 && axes_of(p->b) <= 1;
    const MpiTensor *ga = read_factor(r, p->x, p->a, p->k, &ta, &ma);
    const MpiTensor *gb = read_factor(r, p->y, p->k, p->b, &tb, &mb);
    if (plain) {
        mpi_gemm(r->ctx, r->d, own(r, x, (DType)node->dtype, node->free), ga, ta, gb, tb);
    } else {
        int64_t flat[2] = { extent(r->n, p->a), extent(r->n, p->b) };
        int64_t shape[NEST_INDICES], strides[NEST_INDICES], step = 1;
        DevMem mem = run_alloc(r, (DType)node->dtype, p->b ? 2 : 1, flat);
        mpi_gemm(r->ctx, r->d, mpi_tensor(&mem), ga, ta, gb, tb);
        MpiTensor *to = own(r, x, (DType)node->dtype, node->free);
        const uint64_t part[2] = { p->b, p->a };
        for (int k = 0; k < 2; k++)
            for (int i = r->n->indices - 1; i >= 0; i--)
                if (part[k] >> i & 1) {
                    strides[axis_of(node->free, i)] = step;
                    step *= r->n->index[i].extent;
                }
        int rank = shape_of(r->n, node->free, shape);
        mpi_pack(r->ctx, r->d, to, mpi_tensor(&mem),
                 &(MpiView){ .rank = rank, .shape = shape, .strides = strides });
        run_free(r, &mem);
    }
    piece_end(r, &ma);
    piece_end(r, &mb);
    piece_used(r, p->x);
    piece_used(r, p->y);
}

/* A piece that an elementwise operation makes of others, which have its indices or none. */
static void made_of(Run *r, Piece *x, EwOp op, DType compute, DType dt, uint64_t free,
                    const Piece *const *of, int n)
{
    MpiOperand in[3];
    for (int i = 0; i < n; i++)
        in[i] = operand(of[i]);
    *x = (Piece){ .there = true };
    mpi_ew(r->ctx, r->d, op, compute, own(r, x, dt, free), in, n);
}

static Piece whole_number(int64_t value)
{
    Piece x = { .dtype = DT_I64 };
    memcpy(x.cell, &value, sizeof value);
    return x;
}

/* The first place of the extreme, or of a NaN: the least number among those that have it. */
static void eval_place(Run *r, const NestNode *node, const Piece *a, uint64_t all, Piece *x)
{
    int index = __builtin_ctzll(node->bound);
    const DType dt = a->dtype;
    const NestNode number = { .kind = NEST_INDEX, .slot = (int16_t)index };
    uint64_t axis = UINT64_C(1) << axis_of(all, index), kept = all & ~node->bound;
    Piece most = { .there = true }, wide, here, nan, one, each, at, last = whole_number(INT64_MAX);
    MpiTensor *to = own(r, &most, dt, kept), cell = { .dtype = dt };
    mpi_reduce(r->ctx, r->d, to ? to : &cell, a->tensor,
               node->op == NEST_ARGMAX ? RED_MAX : RED_MIN, axis, 0);
    if (!to)
        memcpy(most.cell, cell.cell, sizeof most.cell);
    spread(r, &most, all, &wide);
    made_of(r, &here, EW_EQUAL, dt, DT_BOOL, all, (const Piece *[]){ a, &wide }, 2);
    if (dtype_info(dt)->kind == 'f') {
        made_of(r, &nan, EW_ISNAN, dt, DT_BOOL, all, (const Piece *[]){ a }, 1);
        made_of(r, &one, EW_BITOR, DT_BOOL, DT_BOOL, all, (const Piece *[]){ &here, &nan }, 2);
        piece_end(r, &nan);
        piece_end(r, &here);
        here = one;
    }
    one = (Piece){ .there = true };
    eval_index(r, &number, &one);
    spread(r, &one, all, &each);
    made_of(r, &at, EW_WHERE, DT_I64, DT_I64, all, (const Piece *[]){ &here, &each, &last }, 3);
    to = own(r, x, DT_I64, kept);
    cell = (MpiTensor){ .dtype = DT_I64 };
    mpi_reduce(r->ctx, r->d, to ? to : &cell, at.tensor, RED_MIN, axis, 0);
    if (!to)
        memcpy(x->cell, cell.cell, sizeof x->cell);
    Piece *const gone[] = { &most, &wide, &here, &one, &each, &at };
    for (size_t k = 0; k < sizeof gone / sizeof gone[0]; k++)
        piece_end(r, gone[k]);
}

static void eval_reduce(Run *r, const NestNode *node, Piece *x)
{
    Product p;
    Piece wide = { .there = false };
    if (product_read(r->n, node, &p)) {
        eval_product(r, node, &p, x);
        return;
    }
    const Piece *a = eval(r, node->arg[0]);
    uint64_t all = a->free | node->bound, axes = 0;
    if (a->free != all) {
        spread(r, a, all, &wide);
        a = &wide;
    }
    if (nest_reductions[node->op].facts & R_PLACE) {
        eval_place(r, node, a, all, x);
        piece_end(r, &wide);
        return;
    }
    for (int i = 0; i < r->n->indices; i++)
        if (node->bound >> i & 1)
            axes |= UINT64_C(1) << axis_of(all, i);
    MpiTensor number = { .dtype = (DType)node->dtype }, *to = own(r, x, (DType)node->dtype,
                                                                   all & ~node->bound);
    mpi_reduce(r->ctx, r->d, to ? to : &number, a->tensor, reduction(node), axes, 0);
    if (!to)
        memcpy(x->cell, number.cell, sizeof x->cell);
    piece_end(r, &wide);
}

/* A product reads its factors; what multiplies them is never made. */
static int reads(const Nest *n, int id, int *arg)
{
    const NestNode *node = &n->node[id];
    Product p;
    if (node->kind == NEST_REDUCE && product_read(n, node, &p)) {
        arg[0] = p.x;
        arg[1] = p.y;
        return 2;
    }
    for (int i = 0; i < node->args; i++)
        arg[i] = node->arg[i];
    return node->args;
}

static const Piece *eval(Run *r, int id)
{
    const NestNode *node = &r->n->node[id];
    Piece *x = &r->piece[id];
    int arg[3];
    if (x->there)
        return x;
    x->there = true;
    x->dtype = (DType)node->dtype;
    switch ((NestKind)node->kind) {
    case NEST_CONST:
        memcpy(x->cell, r->data[node->slot].value, dtype_info((DType)node->dtype)->bytes);
        return x;
    case NEST_INDEX: eval_index(r, node, x); return x;
    case NEST_LOAD: eval_load(r, node, x); return x;
    case NEST_CAST: eval_cast(r, node, x); break;
    case NEST_EW: eval_ew(r, node, x); break;
    case NEST_REDUCE: eval_reduce(r, node, x); break;
    }
    Product p;
    if (node->kind == NEST_REDUCE && product_read(r->n, node, &p))
        return x;                /* it let go of its factors itself */
    int count = reads(r->n, id, arg);
    for (int i = 0; i < count; i++)
        piece_used(r, arg[i]);
    return x;
}

/* ---- the whole of it ---- */
static void count_uses(Run *r, int id)
{
    int arg[3], count = reads(r->n, id, arg);
    if (r->piece[id].uses++)
        return;
    for (int i = 0; i < count; i++)
        count_uses(r, arg[i]);
}

/* The root into `out`: in its place where it is all of that, else written into a view of it. */
static void deliver(Run *r, const Piece *root, const int64_t *out_stride, const DevArg *out)
{
    const Nest *n = r->n;
    MpiTensor *to = mpi_tensor(out->mem);
    uint64_t all = n->out_rank == 64 ? ~UINT64_C(0) : (UINT64_C(1) << n->out_rank) - 1;
    int64_t shape[NEST_INDICES], strides[NEST_INDICES];
    Piece wide = { .there = false };
    if (to->rank == 0) {
        memcpy(to->cell, root->cell, dtype_info(root->dtype)->bytes);
        return;
    }
    if (!all) {                          /* one element of a tensor */
        static const int64_t one = 1;
        MpiView at = { .rank = 1, .shape = &one, .strides = &one,
                       .at = (int64_t)out->at / dtype_info(root->dtype)->bytes };
        DevMem mem = run_alloc(r, root->dtype, 1, &one);
        mpi_fill(r->ctx, r->d, mpi_tensor(&mem), root->cell);
        mpi_assign(r->ctx, r->d, to, &at, mpi_tensor(&mem));
        run_free(r, &mem);
        return;
    }
    if (root->free != all) {
        spread(r, root, all, &wide);
        root = &wide;
    }
    int rank = shape_of(n, all, shape);
    row_major(rank, shape, strides);
    if (out_stride)
        memcpy(strides, out_stride, (size_t)rank * sizeof *strides);
    MpiView v = { .rank = rank, .shape = shape, .strides = strides,
                  .at = (int64_t)out->at / dtype_info(root->dtype)->bytes };
    if (!dense(to, &v)) {
        mpi_assign(r->ctx, r->d, to, &v, root->tensor);
    } else if (root->mem.handle) {                     /* its elements, under its number */
        MpiTensor *from = mpi_tensor(&root->mem), was = *to;
        to->id = from->id;
        to->made = from->made;
        to->group = from->group;
        from->id = was.id;
        from->made = was.made;
        from->group = was.group;
    } else {
        mpi_pack(r->ctx, r->d, to, root->tensor, &v);
    }
    piece_end(r, &wide);
}

int mpi_nest(Ctx *ctx, Device *d, const Nest *n, const int64_t *out_stride, const DevArg *out,
             const DevArg *data)
{
    Run r = { .ctx = ctx, .d = d, .n = n, .data = data };
    size_t bytes = (size_t)n->nodes * sizeof *r.piece;
    volatile bool done = false;
    volatile EwTrouble trouble = EWT_NONE;
    ErrFrame f;
    r.piece = mem_zalloc(ctx, bytes);
    r.room = n->nodes + BESIDE;
    if (ERR_TRY(ctx, &f)) {
        r.held = mem_zalloc(ctx, (size_t)r.room * sizeof *r.held);
        count_uses(&r, n->root);
        const Piece *root = eval(&r, n->root);
        if (r.trouble == EWT_NONE || r.trouble == EWT_NAN)
            deliver(&r, root, out_stride, out);
        trouble = r.trouble;
        ERR_END(ctx, &f);
        done = true;
    }
    for (int i = 0; r.held && i < r.room; i++)
        device_free(ctx, d, &r.held[i]);
    if (r.held)
        mem_free(ctx, r.held, (size_t)r.room * sizeof *r.held);
    mem_free(ctx, r.piece, bytes);
    if (!done)
        err_rethrow(ctx);
    return trouble;
}

/* ---- what is taken ---- */
static bool refuse(Lack *why, Lack lack)
{
    *why = lack;
    return false;
}

static bool takes_load(const Nest *n, const NestLoad *l)
{
    uint64_t seen = 0;
    for (int k = 0; k < l->gathers; k++) {
        int index = gather_index(n, &l->gather[k]);
        if (index == -2)
            return false;
        if (index >= 0 && (l->stride[index] || seen >> index & 1))
            return false;
        seen |= index >= 0 ? UINT64_C(1) << index : 0;
    }
    return true;
}

/* All that a sum goes over is made before it is added up: not where that is much more than its
 * operands. */
static bool takes_points(const Nest *n, uint64_t free, bool summed)
{
    enum { SOME = 1 << 20 };
    double points = 1, most = SOME;
    for (int i = 0; i < n->indices; i++)
        points *= free >> i & 1 ? (double)n->index[i].extent : 1;
    for (int k = 0; k < n->loads; k++)
        most += 4 * (double)extent(n, nest_load_free(&n->load[k], n->indices));
    return !summed || points <= most;
}

bool mpi_takes(const Device *d, const Nest *n, Lack *why)
{
    for (int i = 0; i < n->indices; i++)
        if (n->index[i].extent == 0)
            return refuse(why, (Lack){ LACK_KERNEL });
    for (int i = 0; i < n->nodes; i++) {
        const NestNode *x = &n->node[i];
        Product p;
        DType compute = x->kind == NEST_EW || x->kind == NEST_REDUCE ? (DType)x->compute
                                                                    : (DType)x->dtype;
        if (!device_holds(d, (DType)x->dtype) || !device_holds(d, compute))
            return refuse(why, (Lack){ LACK_DTYPE, .dtype = device_holds(d, compute) ? x->dtype
                                                                                     : compute });
        if (axes_of(x->free) > TENSOR_RANK_MAX)
            return refuse(why, (Lack){ LACK_AXES });
        if (x->kind == NEST_LOAD && !takes_load(n, &n->load[x->slot]))
            return refuse(why, (Lack){ LACK_KERNEL });
        if (x->kind != NEST_REDUCE)
            continue;
        if (nest_reductions[x->op].facts & R_PLACE && axes_of(x->bound) != 1)
            return refuse(why, (Lack){ LACK_KERNEL });
        bool product = product_read(n, x, &p);
        if (!takes_points(n, n->node[x->arg[0]].free | x->bound, !product))
            return refuse(why, (Lack){ LACK_POINTS });
    }
    return true;
}
