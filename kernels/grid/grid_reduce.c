/* Reductions: each rank folds its slab by the ordinary kernels, which adds up pairwise; what the
 * ranks have is then folded by the same kernels in the ranks' order, so that all have the same
 * bits. Means are folded as sums: a rank's mean times how many elements it has. */
#include "kernels/cast/tensor_cast.h"
#include "kernels/grid/grid_rank.h"
#include "kernels/reduce/reduce.h"

#include <math.h>
#include <string.h>

typedef struct Fold {
    RedOp op;
    GridTensor *x;
    uint64_t axes;               /* of the whole tensor */
    uint64_t mask;               /* the same of its slab */
    double ddof;
    int axes_left;               /* of the slab */
    int64_t left[TENSOR_RANK_MAX];
    Tensor *mean;                /* of moments */
    Tensor *out;                 /* of the slab, then of all */
    bool overflow;
} Fold;

/* A tensor that ends with the command. */
static Tensor *kept(GridRank *g, Tensor *t)
{
    GridTensor *holder = mem_try_alloc(g->ctx, sizeof *holder);
    if (!holder) {
        tensor_release(g->ctx, t);
        mem_raise(g->ctx, sizeof *holder);
    }
    *holder = (GridTensor){ .local = t, .next = g->temporary };
    g->temporary = holder;
    return t;
}

static void fold_slab(GridRank *g, void *with)
{
    Fold *f = with;
    RedParams params = { f->mean, 0 };
    DType dt = reduce_result_dtype(f->op, f->x->dtype);
    f->out = kept(g, tensor_new(g->ctx, dt, f->axes_left, f->left));
    if ((f->op == RED_MIN || f->op == RED_MAX) && !f->x->slab.size) {
        memset(f->out->data, 0, (size_t)f->out->size * dtype_info(dt)->bytes);
        return;                                  /* nobody asks for it */
    }
    Tensor *x = f->x->local;
    if (reduce_wants_copy(f->op, x, f->mask)) {
        Tensor *turned = kept(g, tensor_axes_last(g->ctx, x, f->mask));
        x = kept(g, tensor_copy(g->ctx, turned));
        uint64_t mask = 0;
        for (int a = f->axes_left; a < x->rank; a++)
            mask |= UINT64_C(1) << a;
        f->overflow = !reduce_run(g->ctx, f->op, x, mask, f->out, &params);
        return;
    }
    f->overflow = !reduce_run(g->ctx, f->op, x, f->mask, f->out, &params);
}

/* How the parts of ranks are folded. */
static RedOp fold_of_parts(RedOp op)
{
    return op == RED_NANSUM || op == RED_COUNT || op >= RED_MEAN ? RED_SUM : op;
}

typedef struct Parts { Tensor *stack, *out; RedOp op; int members; bool overflow; } Parts;

static void make_stack(GridRank *g, void *with)
{
    Parts *p = with;
    int64_t shape[TENSOR_RANK_MAX + 1] = { p->members, p->out->size };
    p->stack = kept(g, tensor_new(g->ctx, (DType)p->out->dtype, 2, shape));
}

static void fold_stack(GridRank *g, void *with)
{
    Parts *p = with;
    Tensor *out = kept(g, tensor_new(g->ctx, (DType)p->out->dtype, p->out->rank,
                                     tensor_shape(p->out)));
    p->overflow = !reduce_run(g->ctx, p->op, p->stack, 1, out, NULL);
    p->out = out;
}

/* The grid rows, or columns, that have any of n; at least one of them. */
static int members_with(const GridRank *g, int64_t n, int procs)
{
    int64_t blocks = (n + g->grid.nb - 1) / g->grid.nb;
    return blocks < 1 ? 1 : blocks < procs ? (int)blocks : procs;
}

static void fold_scope(GridRank *g, Fold *f, GridScope scope, int members)
{
    Parts p = { NULL, f->out, fold_of_parts(f->op), members, false };
    if (members > 1)
        grid_try(g, make_stack, &p);
    grid_agree(g);
    size_t bytes = (size_t)f->out->size * dtype_info((DType)f->out->dtype)->bytes;
    if (members > 1) {
        grid_collect(g, scope, members, f->out->data, bytes, p.stack->data);
        grid_try(g, fold_stack, &p);
        f->out = p.out;
        f->overflow |= p.overflow;
    } else if (grid_members(g, scope) > 1) {
        grid_share(g, scope, 0, f->out->data, bytes);
    }
    grid_agree(g);
}

/* Over ranks along the axes that were reduced; afterwards all of them have it. */
static void fold_ranks(GridRank *g, Fold *f)
{
    const GridTensor *x = f->x;
    if (f->axes & 1)
        fold_scope(g, f, SCOPE_COLUMN, members_with(g, x->shape[0], g->grid.p));
    if (x->axes == 1 || f->axes & 2)
        fold_scope(g, f, SCOPE_ROW,
                   x->axes == 1 ? 1 : members_with(g, x->shape[1], g->grid.q));
}

/* ---- means and moments ---- */
/* f->out in double precision, each times `by` and over `under`. */
typedef struct Scaling { Tensor *out; double by, under; bool root; DType to; } Scaling;

static void scale(GridRank *g, void *with)
{
    Scaling *s = with;
    DType wide = dtype_info((DType)s->out->dtype)->kind == 'c' ? DT_C128 : DT_F64;
    Tensor *t = kept(g, tensor_cast(g->ctx, s->out, wide));
    if (t == s->out)
        t = kept(g, tensor_copy(g->ctx, t));
    double *x = (double *)t->data;
    for (int64_t i = 0, n = t->size * (wide == DT_C128 ? 2 : 1); i < n; i++) {
        double v = s->by == 0 ? 0 : x[i] * s->by / s->under;      /* a rank of none says nothing */
        x[i] = s->root ? sqrt(v) : v;
    }
    s->out = s->to == wide ? t : kept(g, tensor_cast(g->ctx, t, s->to));
}

static void scaled(GridRank *g, Fold *f, double by, double under, bool root, DType to)
{
    Scaling s = { f->out, by, under, root, to };
    if (!g->lacking && grid_try(g, scale, &s))
        f->out = s.out;
    grid_agree(g);
}

static double elements(const Fold *f, bool own)
{
    const GridTensor *x = f->x;
    double n = 1;
    for (int a = 0; a < x->axes; a++)
        if (f->axes >> a & 1)
            n *= (double)(own && a == 0 ? x->slab.rows : own && a == 1 ? x->slab.cols
                                                                       : x->shape[a]);
    return own && x->axes == 1 ? n * (double)x->slab.cols : n;
}

/* The mean of the slab becomes that of all ranks. */
static void mean_of_all(GridRank *g, Fold *f, DType to)
{
    DType wide = dtype_info((DType)f->out->dtype)->kind == 'c' ? DT_C128 : DT_F64;
    scaled(g, f, elements(f, true), 1, false, wide);
    fold_ranks(g, f);
    scaled(g, f, 1, elements(f, false), false, to);
}

static void fold_mean(GridRank *g, Fold *f)
{
    grid_try(g, fold_slab, f);
    grid_agree(g);
    mean_of_all(g, f, (DType)f->out->dtype);
}

/* squares += n |own - all|^2, for what a rank's own mean leaves out of the squares about that of
 * all (Chan, Golub and LeVeque, 1983). */
static void add_between(double *squares, const Tensor *own, const Tensor *all, double n)
{
    const double _Complex *x = (const void *)own->data, *y = (const void *)all->data;
    for (int64_t i = 0; n > 0 && i < own->size; i++) {
        double re = creal(x[i]) - creal(y[i]), im = cimag(x[i]) - cimag(y[i]);
        squares[i] += n * (re * re + im * im);
    }
}

static void fold_moment(GridRank *g, Fold *f)
{
    double n = elements(f, true), under = elements(f, false) - f->ddof;
    DType result = reduce_result_dtype(f->op, f->x->dtype);
    RedOp op = f->op;
    f->op = RED_MEAN;
    grid_try(g, fold_slab, f);
    grid_agree(g);
    scaled(g, f, 1, 1, false, DT_C128);
    Tensor *own = f->mean = f->out;
    f->op = RED_VAR;
    grid_try(g, fold_slab, f);
    scaled(g, f, n, 1, false, DT_F64);
    Tensor *squares = f->out;
    f->out = own;
    mean_of_all(g, f, DT_C128);
    add_between((double *)squares->data, own, f->out, n);
    f->out = squares;
    fold_ranks(g, f);
    scaled(g, f, 1, under > 0 ? under : (double)NAN, op == RED_STD, result);
    f->op = op;
}

/* ---- the whole ---- */
static void fold_all(GridRank *g, Fold *f)
{
    const GridTensor *x = f->x;
    int64_t local[TENSOR_RANK_MAX] = { x->slab.cols, x->slab.rows };
    int rank = x->local->rank;
    f->mask = (f->axes & 1 ? 2 : 0) | (f->axes & 2 || x->axes == 1 ? 1 : 0) |
              (f->axes & ~UINT64_C(3));
    for (int a = 0; a < rank; a++) {
        local[a] = a < 2 ? local[a] : x->shape[a];
        if (!(f->mask >> a & 1))
            f->left[f->axes_left++] = local[a];
    }
    if (f->op >= RED_VAR) {
        fold_moment(g, f);
    } else if (f->op == RED_MEAN) {
        fold_mean(g, f);
    } else {
        grid_try(g, fold_slab, f);
        grid_agree(g);
        fold_ranks(g, f);
    }
}

/* The folded tensor with its reduced axes as 1, held as every tensor is. */
static GridTensor *with_ones(GridRank *g, const Fold *f)
{
    int64_t shape[TENSOR_RANK_MAX];
    const GridTensor *x = f->x;
    for (int a = 0; a < x->axes; a++)
        shape[a] = f->axes >> a & 1 ? 1 : x->shape[a];
    GridTensor *t = grid_tensor(g, (DType)f->out->dtype, x->axes, shape, false);
    if (t && t->slab.size)
        memcpy(grid_data(t), f->out->data, (size_t)t->slab.size * grid_bytes(t));
    return t;
}

static void keep_reduced(GridRank *g, const Fold *f, uint64_t id)
{
    const GridTensor *x = f->x;
    int64_t shape[TENSOR_RANK_MAX];
    int axes = 0;
    for (int a = 0; a < x->axes; a++)
        if (!(f->axes >> a & 1))
            shape[axes++] = x->shape[a];
    GridTensor *ones = with_ones(g, f), *t;
    if (!(f->axes & 1) && (!(f->axes & 2) || axes == 1)) {
        t = ones ? grid_alias(g, ones, axes, shape) : NULL;
        grid_need(g);
    } else {
        GridView v = grid_view_dense(axes, shape);
        t = grid_tensor(g, (DType)f->out->dtype, axes, shape, false);
        grid_agree(g);
        grid_pack(g, t, ones, &v);
    }
    grid_keep(g, id, t);
}

void grid_do_reduce(GridRank *g, Wire *in, Buf *out)
{
    uint64_t id = wire_get_u64(in);
    Fold f = { .x = grid_find(g, wire_get_u64(in)) };
    uint64_t op = wire_get_u64(in), all = (UINT64_C(1) << f.x->axes) - 1;
    f.axes = wire_get_u64(in);
    f.ddof = wire_get_f64(in);
    f.op = (RedOp)op;
    if (op >= RED_OPS || op == RED_ARGMIN || op == RED_ARGMAX || !f.axes || f.axes & ~all ||
        (id == 0) != (f.axes == all) || reduce_result_dtype(f.op, f.x->dtype) == DT_NONE)
        err_raise(g->ctx, ERR_DEVICE, "a reduction that there is not");
    fold_all(g, &f);
    wire_u64(out, !grid_all(g, !f.overflow));
    if (!id)
        grid_write_scalar(out, (DType)f.out->dtype, f.out->data);
    else if (f.out)
        keep_reduced(g, &f, id);
}

/* ---- where the extreme is ---- */
/* at -1: there is none here */
typedef struct Extreme { int64_t at; _Alignas(16) char element[16]; } Extreme;

typedef struct Search { const GridTensor *x; RedOp op; int64_t at; } Search;

/* In the slab, in the order of the whole: that of the slab's rows. */
static void search_slab(GridRank *g, void *with)
{
    Search *s = with;
    const GridTensor *x = s->x;
    Tensor *t = x->local;
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    memcpy(shape, tensor_shape(t), (size_t)t->rank * sizeof *shape);
    memcpy(strides, tensor_strides(t), (size_t)t->rank * sizeof *strides);
    shape[0] = x->slab.rows, shape[1] = x->slab.cols;
    strides[0] = tensor_strides(t)[1], strides[1] = tensor_strides(t)[0];
    Tensor *rows = kept(g, tensor_view(g->ctx, t, t->rank, shape, strides, t->data));
    rows = kept(g, tensor_compact(g->ctx, rows));
    Tensor *at = kept(g, tensor_new(g->ctx, DT_I64, 0, NULL));
    reduce_run(g->ctx, s->op, rows, (UINT64_C(1) << t->rank) - 1, at, NULL);
    s->at = *(int64_t *)at->data;
}

/* The position of a slab's element, counted by its rows, in the whole; and the element. */
static void whole_position(const GridRank *g, const GridTensor *x, int64_t local, Extreme *e)
{
    int64_t inner = x->slab.inner, k = local % inner, j = local / inner % x->slab.cols;
    int64_t i = local / inner / x->slab.cols, wide = x->axes > 1 ? x->shape[1] : 1;
    e->at = (grid_row(g, i) * wide + grid_col(g, j)) * inner + k;
    memcpy(e->element, grid_data(x) + (size_t)((i + j * x->slab.rows) * inner + k) *
           grid_bytes(x), grid_bytes(x));
}

typedef struct Winner { const Extreme *all; int members; const GridTensor *x; RedOp op;
                        int64_t at; } Winner;

/* The first of all: in a row in the order of their positions. */
static void choose(GridRank *g, void *with)
{
    Winner *w = with;
    int64_t n = 0, last = -1, order[2];
    for (int k = 0; k < w->members; k++)
        n += w->all[k].at >= 0;
    Tensor *row = kept(g, tensor_new(g->ctx, w->x->dtype, 1, &n));
    Tensor *positions = kept(g, tensor_new(g->ctx, DT_I64, 1, &n));
    for (int64_t to = 0; to < n; to++) {
        order[0] = -1;
        for (int k = 0; k < w->members; k++)
            if (w->all[k].at > last && (order[0] < 0 || w->all[k].at < w->all[order[0]].at))
                order[0] = k;
        last = w->all[order[0]].at;
        memcpy(row->data + (size_t)to * grid_bytes(w->x), w->all[order[0]].element,
               grid_bytes(w->x));
        ((int64_t *)positions->data)[to] = last;
    }
    Tensor *at = kept(g, tensor_new(g->ctx, DT_I64, 0, NULL));
    reduce_run(g->ctx, w->op, row, 1, at, NULL);
    w->at = ((int64_t *)positions->data)[*(int64_t *)at->data];
}

void grid_do_arg(GridRank *g, Wire *in, Buf *out)
{
    Search s = { .x = grid_find(g, wire_get_u64(in)), .op = (RedOp)wire_get_u64(in) };
    Extreme mine = { .at = -1 };
    if ((s.op != RED_ARGMIN && s.op != RED_ARGMAX) || !shape_size(s.x->axes, s.x->shape) ||
        reduce_result_dtype(s.op, s.x->dtype) == DT_NONE)
        err_raise(g->ctx, ERR_DEVICE, "a reduction that there is not");
    Extreme *all = grid_work(g, (size_t)g->ranks, sizeof *all);
    if (s.x->slab.size && grid_try(g, search_slab, &s))
        whole_position(g, s.x, s.at, &mine);
    grid_agree(g);
    grid_collect(g, SCOPE_ALL, g->ranks, &mine, sizeof mine, all);
    Winner w = { all, g->ranks, s.x, s.op, 0 };
    grid_try(g, choose, &w);
    grid_need(g);
    wire_u64(out, (uint64_t)w.at);
}
