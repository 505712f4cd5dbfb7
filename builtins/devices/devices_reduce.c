/* Reductions on devices of generated source: dtypes and shapes are those of the host's rows
 * (builtins/arrays/reductions.c), the sums nests. A sum or product of ints that might not fit i64
 * is left to the host, which knows exactly. */
#include "builtins/devices/devices_form.h"

#include "kernels/reduce/reduce.h"

#include <math.h>
#include <string.h>

/* One reduction as it is read: the result's axes come first in a nest, those of a reduction
 * after them. */
typedef struct Fold {
    OpCall *c;
    Device *d;
    Tensor *x;
    uint64_t axes;
    int64_t count;                      /* elements in each reduction */
    int rank;                           /* of the result */
    int64_t shape[TENSOR_RANK_MAX];
    int place[TENSOR_RANK_MAX];         /* a kept axis's index in the nest */
} Fold;

static void fold_shape(Fold *f, bool keep)
{
    f->rank = 0;
    f->count = 1;
    for (int a = 0; a < f->x->rank; a++) {
        int64_t n = tensor_shape(f->x)[a];
        bool go = f->axes >> a & 1;
        f->count *= go ? n : 1;
        if (go && !keep)
            continue;
        f->place[a] = f->rank;
        f->shape[f->rank++] = go ? 1 : n;
    }
}

static Fold fold_read(OpCall *c, Device *d, int axis, int keepdims)
{
    Fold f = { .c = c, .d = d, .x = arg_tensor(c, 0) };
    f.axes = arg_axes(c, axis, f.x->rank);
    fold_shape(&f, arg_bool(c, keepdims, false));
    return f;
}

static DType dtype_of(const Fold *f) { return (DType)f->x->dtype; }

static PlaceNest *fold_nest(const Fold *f)
{
    PlaceNest *n = place_nest_new(f->c->in, f->d);
    place_nest_axes(n, f->rank, f->shape);
    return n;
}

/* x[…] with indices of its own for the axes that go: *bound gets them. */
static int fold_load(const Fold *f, PlaceNest *n, uint64_t *bound)
{
    int64_t stride[NEST_INDICES] = { 0 };
    *bound = 0;
    for (int a = 0; a < f->x->rank; a++) {
        int index = f->place[a];
        if (f->axes >> a & 1) {
            index = nest_index(n->nest, "k", tensor_shape(f->x)[a], 0, 1);
            *bound |= UINT64_C(1) << index;
        }
        stride[index] = tensor_strides(f->x)[a];
    }
    return place_nest_load(n, f->x, stride, n->nest->indices);
}

static int cast(PlaceNest *n, int node,
                DType dt) { return nest_cast(&n->in->ctx, n->nest, node, dt); }

static int fold(PlaceNest *n, NestReduce op, int node, uint64_t bound)
{
    return nest_reduce(&n->in->ctx, n->nest, op, node, bound);
}

/* x, computed in `wide`, folded. */
static int folded(const Fold *f, PlaceNest *n, NestReduce op, DType wide)
{
    uint64_t bound;
    int x = cast(n, fold_load(f, n, &bound), wide);
    return fold(n, op, x, bound);
}

static int nonzero(PlaceNest *n, int node)
{
    DType dt = (DType)n->nest->node[node].dtype;
    if (dt == DT_BOOL)
        return node;
    return place_nest_ew(n, EW_NOT_EQUAL, dt, node, place_nest_int(n, 0, dt));
}

/* What it is added up in: f16 and bf16 in f32, ints and bools in f64. */
static DType float_of(DType dt)
{
    return form_whole(dt) ? DT_F64 : dtype_computed(dt);
}

static Value fold_finish(const Fold *f, PlaceNest *n, int root, DType result)
{
    EwTrouble trouble;
    n->nest->root = cast(n, root, result);
    if (!place_nest_takes(n))
        return v_undef();
    return place_value(f->c->in, place_nest_run(n, f->rank, f->shape, &trouble));
}

/* Of nothing, or a scalar: not worth a kernel. */
static bool trivial(const Fold *f)
{
    return f->x->rank == 0 || f->x->size == 0;
}

/* ---- sums and products ---- */
/* Can the sum, or the product, of these ints leave i64? Asked of the device in its widest float,
 * where there are so many or so large ones that it could. */
static bool may_overflow(const Fold *f, NestReduce op, bool *known)
{
    DType dt = dtype_of(f), wide = device_widest(f->d);
    const DTypeInfo *d = dtype_info(dt);
    double most = d->high ? fmax((double)d->high, -(double)d->low) : 0x1p63;
    *known = true;
    if (op == NEST_SUM && most * (double)f->count < 0x1p62)
        return false;
    if (dt == DT_BOOL)
        return false;
    Fold all = *f;
    all.axes = ~UINT64_C(0) >> (64 - f->x->rank);
    fold_shape(&all, false);
    EwTrouble trouble;
    uint64_t bound;
    PlaceNest *n = fold_nest(&all);
    int size = place_nest_ew(n, EW_ABS, wide, cast(n, fold_load(&all, n, &bound), wide), -1);
    if (op == NEST_PROD)
        size = place_nest_ew(n, EW_MAXIMUM, wide, size, place_nest_int(n, 1, wide));
    n->nest->root = fold(n, op == NEST_SUM ? NEST_MAX : op, size, bound);
    *known = place_nest_takes(n);
    if (!*known)
        return true;
    double top = form_read(f->c, place_nest_run(n, 0, NULL, &trouble));
    return !((op == NEST_SUM ? top * (double)f->count : top) < 0x1p62);
}

static Value adding(const Fold *f, NestReduce op, bool skip_nan)
{
    bool known;
    uint64_t bound;
    DType dt = dtype_of(f);
    if (trivial(f))
        return form_host(f->c, f->d);
    if (form_whole(dt) && may_overflow(f, op, &known))
        return known ? form_host(f->c, f->d) : v_undef();
    PlaceNest *n = fold_nest(f);
    int x = fold_load(f, n, &bound);
    if (skip_nan && dtype_info(dt)->kind == 'f') {
        int gone = place_nest_ew(n, EW_ISNAN, dt, x, -1);
        x = nest_ew(&f->c->in->ctx, n->nest, EW_WHERE, dt,
                    (int[]){ gone, place_nest_int(n, 0, dt), x }, 3);
    }
    return fold_finish(f, n, fold(n, op, x, bound), form_whole(dt) ? DT_I64 : dt);
}

Value op_device_sum(OpCall *c, Device *d)
{
    Fold f = fold_read(c, d, 1, 2);
    return adding(&f, NEST_SUM, false);
}

Value op_device_nansum(OpCall *c, Device *d)
{
    Fold f = fold_read(c, d, 1, 2);
    return adding(&f, NEST_SUM, true);
}

Value op_device_prod(OpCall *c, Device *d)
{
    Fold f = fold_read(c, d, 1, 2);
    return adding(&f, NEST_PROD, false);
}

/* The mean in what it is added up in. */
static int mean_node(const Fold *f, PlaceNest *n)
{
    DType wide = float_of(dtype_of(f));
    int sum = folded(f, n, NEST_SUM, wide);
    return place_nest_ew(n, EW_DIVIDE, wide, sum, place_nest_int(n, f->count, wide));
}

Value op_device_mean(OpCall *c, Device *d)
{
    Fold f = fold_read(c, d, 1, 2);
    DType dt = dtype_of(&f);
    if (trivial(&f))
        return form_host(c, d);
    PlaceNest *n = fold_nest(&f);
    return fold_finish(&f, n, mean_node(&f, n), form_whole(dt) ? DT_F64 : dt);
}

/* Two passes: the mean with the reduced axes kept, then the squares of what is left. */
static Value variance(OpCall *c, Device *d, bool root)
{
    Fold f = fold_read(c, d, 1, 3), mean = f;
    double ddof = arg_given(c, 2) ? arg_float(c, 2) : 0, left = (double)f.count - ddof;
    DType dt = dtype_of(&f), wide = float_of(dt);
    EwTrouble trouble;
    uint64_t bound;
    if (trivial(&f))
        return form_host(c, d);
    if (dtype_info(dt)->kind == 'c')
        return place_refuse(c->in, (Lack){ LACK_COMPLEX });
    fold_shape(&mean, true);
    PlaceNest *first = fold_nest(&mean);
    first->nest->root = mean_node(&mean, first);
    if (!place_nest_takes(first))
        return v_undef();
    Tensor *middle = place_nest_run(first, mean.rank, mean.shape, &trouble);
    PlaceNest *n = fold_nest(&f);
    int x = cast(n, fold_load(&f, n, &bound), wide);
    int64_t stride[NEST_INDICES] = { 0 };
    for (int a = 0; a < f.x->rank; a++)
        if (!(f.axes >> a & 1))
            stride[f.place[a]] = tensor_strides(middle)[a];
    int off = place_nest_ew(n, EW_SUBTRACT, wide, x,
                            place_nest_load(n, middle, stride, n->nest->indices));
    int sum = fold(n, NEST_SUM, place_nest_ew(n, EW_MULTIPLY, wide, off, off), bound);
    int var = place_nest_ew(n, EW_DIVIDE, wide, sum,
                            place_nest_float(n, left > 0 ? left : (double)NAN, wide));
    if (root)
        var = place_nest_ew(n, EW_SQRT, wide, var, -1);
    return fold_finish(&f, n, var, form_whole(dt) ? DT_F64 : dt);
}

Value op_device_var(OpCall *c, Device *d) { return variance(c, d, false); }
Value op_device_std(OpCall *c, Device *d) { return variance(c, d, true); }

/* ---- extremes ---- */
static Value extreme(OpCall *c, Device *d, NestReduce op)
{
    Fold f = fold_read(c, d, 1, 2);
    uint64_t bound;
    if (trivial(&f) || dtype_info(dtype_of(&f))->kind == 'c')
        return form_host(c, d);
    PlaceNest *n = fold_nest(&f);
    int x = fold_load(&f, n, &bound);
    return fold_finish(&f, n, fold(n, op, x, bound), dtype_of(&f));
}

Value op_device_min(OpCall *c, Device *d) { return extreme(c, d, NEST_MIN); }
Value op_device_max(OpCall *c, Device *d) { return extreme(c, d, NEST_MAX); }

/* The reduced axes as one, the last: positions count in row-major order. */
static Fold one_axis(const Fold *f)
{
    Fold g = *f;
    int64_t shape[TENSOR_RANK_MAX + 1];
    int gone = __builtin_popcountll(f->axes), kept = f->x->rank - gone;
    if (gone == 1)
        return g;
    Tensor *view = op_keep(f->c, tensor_axes_last(&f->c->in->ctx, f->x, f->axes));
    Tensor *dense = form_dense(f->c, f->d, view, dtype_of(f));
    memcpy(shape, tensor_shape(dense), (size_t)kept * sizeof *shape);
    shape[kept] = f->count;
    g.x = form_reshape(f->c, dense, kept + 1, shape);
    g.axes = UINT64_C(1) << kept;
    int at = 0;
    for (int a = 0; a < f->x->rank; a++)
        if (!(f->axes >> a & 1))
            g.place[at++] = f->place[a];
    return g;
}

static Value position(OpCall *c, Device *d, NestReduce op)
{
    Fold f = fold_read(c, d, 1, 2);
    uint64_t bound;
    if (trivial(&f) || f.axes == 0 || dtype_info(dtype_of(&f))->kind == 'c')
        return form_host(c, d);
    f = one_axis(&f);
    PlaceNest *n = fold_nest(&f);
    int x = fold_load(&f, n, &bound);
    return fold_finish(&f, n, fold(n, op, x, bound), DT_I64);
}

Value op_device_argmin(OpCall *c, Device *d) { return position(c, d, NEST_ARGMIN); }
Value op_device_argmax(OpCall *c, Device *d) { return position(c, d, NEST_ARGMAX); }

static Value truth_of(OpCall *c, Device *d, NestReduce op, DType result)
{
    Fold f = fold_read(c, d, 1, 2);
    uint64_t bound;
    if (trivial(&f))
        return form_host(c, d);
    PlaceNest *n = fold_nest(&f);
    int x = nonzero(n, fold_load(&f, n, &bound));
    return fold_finish(&f, n, fold(n, op, x, bound), result);
}

Value op_device_any(OpCall *c, Device *d) { return truth_of(c, d, NEST_ANY, DT_BOOL); }
Value op_device_all(OpCall *c, Device *d) { return truth_of(c, d, NEST_ALL, DT_BOOL); }
Value op_device_count(OpCall *c, Device *d) { return truth_of(c, d, NEST_SUM, DT_I64); }

/* ---- norms ---- */
static int magnitude(const Fold *f, PlaceNest *n, uint64_t *bound)
{
    DType wide = float_of(dtype_of(f));
    return place_nest_ew(n, EW_ABS, wide, cast(n, fold_load(f, n, bound), wide), -1);
}

/* The root of the sum of squares over the largest magnitude, times that: no square leaves the
 * range. 0, inf and nan are their own norm. */
static Value norm_2(Fold *f)
{
    DType dt = dtype_of(f), wide = float_of(dt);
    EwTrouble trouble;
    uint64_t bound;
    PlaceNest *first = fold_nest(f);
    int top = magnitude(f, first, &bound);
    first->nest->root = fold(first, NEST_MAX, top, bound);
    if (!place_nest_takes(first))
        return v_undef();
    Tensor *most = place_nest_run(first, f->rank, f->shape, &trouble);
    PlaceNest *n = fold_nest(f);
    Ctx *ctx = &f->c->in->ctx;
    int zero = place_nest_int(n, 0, wide), one = place_nest_int(n, 1, wide);
    int m = place_nest_broadcast(n, most, f->rank),
        good = place_nest_ew(n, EW_ISFINITE, wide, m, -1);
    int some = place_nest_ew(n, EW_NOT_EQUAL, wide, m, zero);
    int plain = nest_ew(ctx, n->nest, EW_BITAND, DT_BOOL, (int[]){ good, some }, 2);
    int scale = nest_ew(ctx, n->nest, EW_WHERE, wide, (int[]){ plain, m, one }, 3);
    int x = place_nest_ew(n, EW_DIVIDE, wide, magnitude(f, n, &bound), scale);
    int sum = fold(n, NEST_SUM, place_nest_ew(n, EW_MULTIPLY, wide, x, x), bound);
    int norm = place_nest_ew(n, EW_MULTIPLY, wide, place_nest_ew(n, EW_SQRT, wide, sum, -1), scale);
    norm = nest_ew(ctx, n->nest, EW_WHERE, wide, (int[]){ plain, norm, m }, 3);
    return fold_finish(f, n, norm, form_whole(dt) ? DT_F64 : dt);
}

static Value norm_of(Fold *f, double p)
{
    DType dt = dtype_of(f), result = form_whole(dt) ? DT_F64 : dt;
    uint64_t bound;
    if (p == 2)
        return norm_2(f);
    PlaceNest *n = fold_nest(f);
    int x = magnitude(f, n, &bound);
    NestReduce op = p == 1 ? NEST_SUM : p == 0 ? NEST_SUM : p > 0 ? NEST_MAX : NEST_MIN;
    if (p == 0)
        x = nonzero(n, x);
    return fold_finish(f, n, fold(n, op, x, bound), result);
}

Value op_device_norm(OpCall *c, Device *d)
{
    Fold f = fold_read(c, d, 2, 3);
    bool given = arg_given(c, 1), text = given && c->args[1].tag == V_STRING;
    bool fro = text && strcmp(c->args[1].str->text, "fro") == 0, by_axis = arg_given(c, 2);
    int axes = __builtin_popcountll(f.axes);
    double p = !given || text ? 2 : arg_float(c, 1);
    bool matrix = given && (f.x->rank > 2 || axes != 1) && !(f.x->flags & TENSOR_COVECTOR);
    if (trivial(&f) || (by_axis && (axes < 1 || axes > 2)))
        return form_host(c, d);
    if (dtype_info(dtype_of(&f))->kind == 'c')
        return place_refuse(c->in, (Lack){ LACK_COMPLEX });
    if (text && !(fro && axes == 2 && f.x->rank == 2))
        return place_refuse(c->in, (Lack){ LACK_NORM });
    if (matrix && !fro && !(by_axis && axes == 1))
        return place_refuse(c->in, (Lack){ LACK_MATRIX_NORM });
    if (p != 0 && p != 1 && p != 2 && !isinf(p))
        return place_refuse(c->in, (Lack){ LACK_ORDER });
    return norm_of(&f, p);
}

/* ---- rows ---- */
/* exp(x - max) over its sum; what comes of max and sum depends on the kept axes alone. */
Value op_device_softmax(OpCall *c, Device *d)
{
    Fold f = { .c = c, .d = d, .x = arg_tensor(c, 0) };
    Ctx *ctx = &c->in->ctx;
    int rank = f.x->rank;
    bool all = c->args[1].tag == V_NONE || rank == 0;
    uint64_t bound;
    if (trivial(&f) || dtype_info(dtype_of(&f))->kind == 'c')
        return form_host(c, d);
    f.axes = all ? arg_axes(c, 1, rank) : UINT64_C(1) << arg_axis(c, 1, rank, rank - 1);
    DType dt = dtype_of(&f), wide = float_of(dt);
    Fold whole = f;
    whole.axes = 0;
    fold_shape(&whole, true);
    memcpy(f.place, whole.place, sizeof f.place);
    PlaceNest *n = fold_nest(&whole);
    int top = folded(&f, n, NEST_MAX, wide);
    int each = place_nest_ew(n, EW_SUBTRACT, wide, cast(n, fold_load(&f, n, &bound), wide), top);
    int sum = fold(n, NEST_SUM, place_nest_ew(n, EW_EXP, wide, each, -1), bound);
    int x = cast(n, place_nest_broadcast(n, f.x, rank), wide);
    int e = place_nest_ew(n, EW_EXP, wide, place_nest_ew(n, EW_SUBTRACT, wide, x, top), -1);
    int root = nest_cast(ctx, n->nest, place_nest_ew(n, EW_DIVIDE, wide, e, sum),
                         form_whole(dt) ? DT_F64 : dt);
    return fold_finish(&whole, n, root, form_whole(dt) ? DT_F64 : dt);
}

Value op_device_logsumexp(OpCall *c, Device *d)
{
    Fold f = fold_read(c, d, 1, 2);
    Ctx *ctx = &c->in->ctx;
    DType dt = dtype_of(&f), wide = float_of(dt);
    uint64_t bound;
    if (trivial(&f) || dtype_info(dt)->kind == 'c')
        return form_host(c, d);
    PlaceNest *n = fold_nest(&f);
    int top = folded(&f, n, NEST_MAX, wide);
    int off = place_nest_ew(n, EW_SUBTRACT, wide, cast(n, fold_load(&f, n, &bound), wide), top);
    int sum = fold(n, NEST_SUM, place_nest_ew(n, EW_EXP, wide, off, -1), bound);
    int r = place_nest_ew(n, EW_ADD, wide, top, place_nest_ew(n, EW_LOG, wide, sum, -1));
    int good = place_nest_ew(n, EW_ISFINITE, wide, top, -1);
    r = nest_ew(ctx, n->nest, EW_WHERE, wide, (int[]){ good, r, top }, 3);
    return fold_finish(&f, n, r, form_whole(dt) ? DT_F64 : dt);
}

/* ---- running sums and extremes ---- */
static Tensor *part(const Fold *f, Tensor *t, int axis, int64_t from, int64_t length)
{
    int64_t shape[TENSOR_RANK_MAX];
    memcpy(shape, tensor_shape(t), (size_t)t->rank * sizeof *shape);
    shape[axis] = length;
    return form_view(f->c, t, t->rank, shape, tensor_strides(t), from * tensor_strides(t)[axis]);
}

/* In steps of 1, 2, 4 …: every element takes in the one that lies so far before it (Hillis, Steele,
 * Comm. ACM 29 (1986)). */
static Tensor *scanned(const Fold *f, Tensor *x, int axis, EwOp op)
{
    int64_t n = tensor_shape(x)[axis];
    Tensor *next = x;
    for (int64_t step = 1; step < n; step *= 2, x = next) {
        next = place_new(f->c->in, f->d, (DType)x->dtype, x->rank, tensor_shape(x));
        Tensor *tail = part(f, next, axis, step, n - step);
        PlaceNest *p = place_nest_new(f->c->in, f->d);
        place_nest_axes(p, x->rank, tensor_shape(tail));
        int a = place_nest_broadcast(p, part(f, x, axis, 0, n - step), x->rank);
        int b = place_nest_broadcast(p, part(f, x, axis, step, n - step), x->rank);
        p->nest->root = place_nest_ew(p, op, (DType)x->dtype, a, b);
        if (!place_nest_takes(p))
            return NULL;
        place_nest_into(p, tail);
        form_assign(f->c, f->d, part(f, next, axis, 0, step), part(f, x, axis, 0, step));
    }
    return next;
}

static Value running(OpCall *c, Device *d, EwOp op)
{
    Fold f = { .c = c, .d = d, .x = arg_tensor(c, 0) };
    bool all = !arg_given(c, 1), known;
    bool sums = op == EW_ADD || op == EW_MULTIPLY;
    DType dt = dtype_of(&f), whole = sums ? DT_I64 : dt,
          wide = form_whole(dt) ? whole : float_of(dt);
    if (trivial(&f))
        return form_host(c, d);
    if (dtype_info(dt)->kind == 'c' || !device_holds(d, wide))
        return place_refuse(c->in, (Lack){ LACK_RUNNING, .dtype = dt });
    int axis = all ? 0 : arg_axis(c, 1, f.x->rank, 0);
    f.axes = all ? ~UINT64_C(0) >> (64 - f.x->rank) : UINT64_C(1) << axis;
    fold_shape(&f, false);
    if (sums && form_whole(dt) && may_overflow(&f, op == EW_ADD ? NEST_SUM : NEST_PROD, &known))
        return known ? form_host(c, d) : v_undef();
    Tensor *x = form_copy(c, d, f.x, wide);
    if (all)
        x = form_reshape(c, x, 1, &x->size);
    x = scanned(&f, x, axis, op);
    if (!x)
        return v_undef();
    return place_value(c->in, form_dense(c, d, x, form_whole(dt) ? whole : dt));
}

Value op_device_cumsum(OpCall *c, Device *d) { return running(c, d, EW_ADD); }
Value op_device_cumprod(OpCall *c, Device *d) { return running(c, d, EW_MULTIPLY); }
Value op_device_cummax(OpCall *c, Device *d) { return running(c, d, EW_MAXIMUM); }
Value op_device_cummin(OpCall *c, Device *d) { return running(c, d, EW_MINIMUM); }

/* ---- element by element, but no elementwise rows ---- */
Value op_device_round(OpCall *c, Device *d)
{
    if (arg_given(c, 1) && !(c->args[1].tag == V_INT && c->args[1].i == 0))
        return place_refuse(c->in, (Lack){ LACK_DIGITS });
    return place_elementwise(c->in, d, op_named(c->in, "rint"), c->args, 1, c->weak & 1);
}

/* |a - b| <= atol + rtol |b|, or equal; in the device's widest float. */
Value op_device_isclose(OpCall *c, Device *d)
{
    Tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1);
    DType wide = device_widest(d);
    int64_t shape[TENSOR_RANK_MAX];
    int bad, rank = shape_broadcast(a->rank, tensor_shape(a), b->rank, tensor_shape(b),
                                    shape, &bad);
    EwTrouble trouble;
    Ctx *ctx = &c->in->ctx;
    if (rank <= 0)
        return form_host(c, d);
    if (dtype_info((DType)a->dtype)->kind == 'c' || dtype_info((DType)b->dtype)->kind == 'c')
        return place_refuse(c->in, (Lack){ LACK_COMPLEXES });
    PlaceNest *n = place_nest_new(c->in, d);
    place_nest_axes(n, rank, shape);
    int x = cast(n, place_nest_broadcast(n, a, rank), wide),
        y = cast(n, place_nest_broadcast(n, b, rank), wide);
    int off = place_nest_ew(n, EW_ABS, wide, place_nest_ew(n, EW_SUBTRACT, wide, x, y), -1);
    int room = place_nest_ew(n, EW_MULTIPLY, wide,
                             place_nest_float(n, arg_given(c, 2) ? arg_float(c, 2) : 1e-5, wide),
                             place_nest_ew(n, EW_ABS, wide, y, -1));
    room = place_nest_ew(n, EW_ADD, wide,
                         place_nest_float(n, arg_given(c, 3) ? arg_float(c, 3) : 1e-8, wide), room);
    int near = place_nest_ew(n, EW_LESS_EQUAL, wide, off, room);
    int finite = place_nest_ew(n, EW_BITAND, DT_BOOL, place_nest_ew(n, EW_ISFINITE, wide, x, -1),
                               place_nest_ew(n, EW_ISFINITE, wide, y, -1));
    int good = place_nest_ew(n, EW_BITAND, DT_BOOL, near, finite);
    good = place_nest_ew(n, EW_BITOR, DT_BOOL, good, place_nest_ew(n, EW_EQUAL, wide, x, y));
    if (arg_bool(c, 4, false)) {
        int nan = place_nest_ew(n, EW_BITAND, DT_BOOL, place_nest_ew(n, EW_ISNAN, wide, x, -1),
                                place_nest_ew(n, EW_ISNAN, wide, y, -1));
        good = nest_ew(ctx, n->nest, EW_BITOR, DT_BOOL, (int[]){ good, nan }, 2);
    }
    n->nest->root = good;
    return place_nest_takes(n) ? place_value(c->in, place_nest_run(n, rank, shape, &trouble))
                               : v_undef();
}
