/* LAPACK on devices that have it (Device.math): one matrix at a time, in work space of the
 * device; f16 and bf16 in f32, ints in f64. LAPACK reads columns, tensors lie by rows, so what it
 * is given is a transposed copy, or the transpose where that does as well. Whatever the host's row
 * has an error or a notice for (a zero or tiny pivot, a matrix that is not symmetric, not definite
 * or not finite) is judged by the host's row. */
#include "builtins/devices/devices_form.h"

#include "builtins/linalg/linalg.h"

#include <math.h>
#include <string.h>

/* A stack of matrices on the device. */
typedef struct Stacked {
    OpCall *c;
    Device *d;
    Tensor *t;
    DType given, dt;                    /* of the operand, what is computed in */
    int lead;                           /* leading axes */
    int64_t m, n, count;
} Stacked;

/* False: `*r` is the form's result: refused, or what the host's row makes of it. */
static bool stacked_read(Stacked *s, OpCall *c, Device *d, bool square, Value *r)
{
    Tensor *t = arg_tensor(c, 0);
    *s = (Stacked){ .c = c, .d = d, .t = t, .given = (DType)t->dtype, .lead = t->rank - 2,
                    .count = 1 };
    s->dt = linalg_compute_dtype(s->given);
    if (t->rank < 2 || t->size == 0 ||
        (square && tensor_shape(t)[t->rank - 1] != tensor_shape(t)[t->rank - 2])) {
        *r = form_host(c, d);
        return false;
    }
    s->m = tensor_shape(t)[s->lead];
    s->n = tensor_shape(t)[s->lead + 1];
    for (int i = 0; i < s->lead; i++)
        s->count *= tensor_shape(t)[i];
    bool can = (s->dt == DT_F64 || s->dt == DT_F32) && device_holds(d, s->dt) &&
               device_holds(d, s->given);
    if (!can)
        *r = place_refuse(c->in, (Lack){ LACK_ROW_DTYPE, .row = c->op->name, .dtype = s->given });
    return can;
}

/* Matrix `index` of t, whose leading axes are broadcast to `lead`. */
static Tensor *item(const Stacked *s, Tensor *t, int lead, const int64_t *shape, int64_t index)
{
    int own = t->rank - 2;
    int64_t at = 0;
    for (int i = lead - 1; i >= 0; i--) {
        int64_t k = index % shape[i];
        int a = i - (lead - own);
        index /= shape[i];
        if (a >= 0 && tensor_shape(t)[a] != 1)
            at += k * tensor_strides(t)[a];
    }
    return form_view(s->c, t, 2, tensor_shape(t) + own, tensor_strides(t) + own, at);
}

static Tensor *own_item(const Stacked *s, int64_t index)
{
    return item(s, s->t, s->lead, tensor_shape(s->t), index);
}

static Tensor *turned(const Stacked *s, Tensor *t)
{
    return op_keep(s->c, tensor_transpose_last(&s->c->in->ctx, t));
}

static Tensor *work(const Stacked *s, DType dt, int64_t rows, int64_t cols)
{
    return place_new(s->c->in, s->d, dt, 2, (int64_t[]){ rows, cols });
}

/* A result: leading axes of `like`, then rows x cols (cols < 0: vectors; rows < 0: numbers). */
static Tensor *result(const Stacked *s, DType dt, int lead, const int64_t *shape, int64_t rows,
                      int64_t cols)
{
    int64_t full[TENSOR_RANK_MAX];
    int rank = lead;
    memcpy(full, shape, (size_t)lead * sizeof *full);
    if (rows >= 0)
        full[rank++] = rows;
    if (cols >= 0)
        full[rank++] = cols;
    return place_new(s->c->in, s->d, dt, rank, full);
}

static Tensor *own_result(const Stacked *s, int64_t rows, int64_t cols)
{
    DType dt = form_whole(s->given) ? s->dt : s->given;
    return result(s, dt, s->lead, tensor_shape(s->t), rows, cols);
}

/* Block `index` of a contiguous result: `rank` last axes. */
static Tensor *block(const Stacked *s, Tensor *out, int rank, int64_t index)
{
    int own = out->rank - rank;
    int64_t size = 1;
    for (int i = own; i < out->rank; i++)
        size *= tensor_shape(out)[i];
    return form_view(s->c, out, rank, tensor_shape(out) + own, tensor_strides(out) + own,
                     index * size);
}

static void put(const Stacked *s, Tensor *to, Tensor *from) { form_assign(s->c, s->d, to, from); }

static const DevMem *memory(const Stacked *s, Tensor *t)
{
    return place_operand(s->c->in, s->d, t).mem;
}

static void check(const Stacked *s, DevStatus status)
{
    device_check(&s->c->in->ctx, s->d, status, s->c->op->name);
    poll_interrupt(s->c->in);
}

/* ---- looking ---- */
/* The largest of a number that a node makes of each element of a matrix or vector. */
static double largest(const Stacked *s, Tensor *t, int (*of)(PlaceNest *, Tensor *, int),
                      NestReduce op)
{
    EwTrouble trouble;
    PlaceNest *n = place_nest_new(s->c->in, s->d);
    for (int i = 0; i < t->rank; i++)
        nest_index(n->nest, "k", tensor_shape(t)[i], 0, 1);
    int x = of(n, t, t->rank);
    n->nest->root = nest_reduce(&s->c->in->ctx, n->nest, op, x, (UINT64_C(1) << t->rank) - 1);
    if (!place_nest_takes(n))
        return NAN;
    return form_read(s->c, place_nest_run(n, 0, NULL, &trouble));
}

static int size_of(PlaceNest *n, Tensor *t, int rank)
{
    return place_nest_ew(n, EW_ABS, (DType)t->dtype, place_nest_broadcast(n, t, rank), -1);
}

static int asymmetry_of(PlaceNest *n, Tensor *t, int rank)
{
    int64_t stride[] = { tensor_strides(t)[1], tensor_strides(t)[0] };
    int x = place_nest_broadcast(n, t, rank), y = place_nest_load(n, t, stride, 2);
    return place_nest_ew(n, EW_ABS, (DType)t->dtype,
                         place_nest_ew(n, EW_SUBTRACT, (DType)t->dtype, x, y), -1);
}

/* As linalg_require_symmetric has it; a matrix with NaN or infinity is not. */
static bool is_symmetric(const Stacked *s, Tensor *a)
{
    double top = largest(s, a, size_of, NEST_MAX);
    return isfinite(top) && largest(s, a, asymmetry_of, NEST_MAX) <= 1000 *
           mat_eps(blas_type(s->dt)) * top;
}

/* The pivots tell of a matrix that is nearly singular: then the host's row finds its condition. */
static bool pivots_apart(const Stacked *s, Tensor *lu)
{
    int64_t n = s->n, step = n + 1;
    Tensor *diagonal = form_view(s->c, lu, 1, &n, &step, 0);
    double top = largest(s, diagonal, size_of, NEST_MAX),
           low = largest(s, diagonal, size_of, NEST_MIN);
    return isfinite(top) && low < top * 10 * linalg_rcond_limit(blas_type(s->dt));
}

/* ---- A \ b, inv ---- */
/* LU of the n x n matrix in w as LAPACK reads it. False: the host is to judge. */
static bool factor(const Stacked *s, Tensor *w, Tensor *pivots)
{
    int info = 0;
    check(s, s->d->math.getrf(s->d, s->dt, s->n, s->n, memory(s, w), s->n,
                              memory(s, pivots), &info));
    return info == 0 && !pivots_apart(s, w);
}

static Tensor *new_pivots(const Stacked *s, int64_t n)
{
    return place_new(s->c->in, s->d, DT_I32, 1, &n);
}

Value op_device_solve(OpCall *c, Device *d)
{
    Stacked s;
    Value r;
    int64_t shape[TENSOR_RANK_MAX];
    int bad, info = 0;
    if (!stacked_read(&s, c, d, false, &r))
        return r;
    Tensor *b = arg_tensor(c, 1);
    bool vector = b->rank == 1;
    if (s.m != s.n)
        return place_refuse(c->in, (Lack){ LACK_LEAST_SQUARES });
    if (b->rank == 0 || tensor_shape(b)[vector ? 0 : b->rank - 2] != s.n || b->size == 0)
        return form_host(c, d);
    s.given = dtype_promote(s.given, (DType)b->dtype);
    s.dt = s.given == DT_NONE ? DT_NONE : linalg_compute_dtype(s.given);
    if (s.dt != DT_F64 && s.dt != DT_F32)
        return place_refuse(c->in, (Lack){ LACK_ROW_DTYPE, .row = "solve", .dtype = b->dtype });
    if (!device_holds(d, s.dt))
        return place_refuse(c->in, (Lack){ LACK_DTYPE, .dtype = s.dt });
    if (vector)
        b = form_view(c, b, 2, (int64_t[]){ s.n, 1 }, (int64_t[]){ tensor_strides(b)[0], 1 }, 0);
    int lead = shape_broadcast(s.lead, tensor_shape(s.t), b->rank - 2, tensor_shape(b),
                               shape, &bad);
    if (lead < 0)
        return form_host(c, d);
    int64_t columns = tensor_shape(b)[b->rank - 1], count = shape_checked(&c->in->ctx, lead, shape);
    Tensor *w = work(&s, s.dt, s.n, s.n), *x = work(&s, s.dt, columns, s.n),
           *pivots = new_pivots(&s, s.n);
    bool back = s.given != s.dt && !form_whole(s.given);
    Tensor *out = result(&s, back ? s.given : s.dt, lead, shape, s.n, columns);
    const char *seen = NULL;
    for (int64_t i = 0; i < count; i++) {
        Value *mark = c->in->sp;
        Tensor *a = item(&s, s.t, lead, shape, i);
        if (a->data != seen) {
            put(&s, w, turned(&s, a));
            if (!factor(&s, w, pivots))
                return form_host(c, d);
        }
        seen = a->data;
        put(&s, turned(&s, x), item(&s, b, lead, shape, i));
        check(&s, d->math.getrs(d, s.dt, false, s.n, columns, memory(&s, w), s.n,
                                memory(&s, pivots), memory(&s, x), s.n, &info));
        put(&s, block(&s, out, 2, i), turned(&s, x));
        stack_cut(c->in, mark);
    }
    if (vector)                         /* of one vector there is one column */
        out = form_view(c, out, lead + 1, tensor_shape(out), tensor_strides(out), 0);
    return place_value(c->in, out);
}

/* Ones on the diagonal. */
static bool put_identity(const Stacked *s, Tensor *x)
{
    int64_t n = s->n, step = n + 1;
    return form_fill(s->c, s->d, x, 0) &&
           form_fill(s->c, s->d, form_view(s->c, x, 1, &n, &step, 0), 1);
}

/* By rows A is its transpose, and the inverse of that, by rows, the inverse of A. */
Value op_device_inv(OpCall *c, Device *d)
{
    Stacked s;
    Value r;
    int info = 0;
    if (!stacked_read(&s, c, d, true, &r))
        return r;
    Tensor *w = work(&s, s.dt, s.n, s.n), *x = work(&s, s.dt, s.n, s.n),
           *pivots = new_pivots(&s, s.n);
    Tensor *out = own_result(&s, s.n, s.n);
    for (int64_t i = 0; i < s.count; i++) {
        Value *mark = c->in->sp;
        put(&s, w, own_item(&s, i));
        if (!factor(&s, w, pivots))
            return form_host(c, d);
        if (!put_identity(&s, x))
            return v_undef();
        check(&s, d->math.getrs(d, s.dt, false, s.n, s.n, memory(&s, w), s.n, memory(&s, pivots),
                                memory(&s, x), s.n, &info));
        put(&s, block(&s, out, 2, i), x);
        stack_cut(c->in, mark);
    }
    return place_value(c->in, out);
}

/* ---- determinants ---- */
/* -1 for an odd number of interchanges, from pivots[i] != i + 1. */
static double parity(const Stacked *s, Tensor *pivots)
{
    EwTrouble trouble;
    Ctx *ctx = &s->c->in->ctx;
    PlaceNest *n = place_nest_new(s->c->in, s->d);
    nest_index(n->nest, "k", s->n, 1, 1);
    int own = nest_number(ctx, n->nest, 0);
    int moved = place_nest_ew(n, EW_NOT_EQUAL, DT_I64, place_nest_broadcast(n, pivots, 1), own);
    n->nest->root = nest_reduce(ctx, n->nest, NEST_SUM, moved, 1);
    if (!place_nest_takes(n))
        return NAN;
    return fmod(form_read(s->c, place_nest_run(n, 0, NULL, &trouble)), 2) == 0 ? 1 : -1;
}

static int sign_of(PlaceNest *n, Tensor *t, int rank)
{
    return place_nest_ew(n, EW_SIGN, (DType)t->dtype, place_nest_broadcast(n, t, rank), -1);
}

static int log_of(PlaceNest *n, Tensor *t, int rank)
{
    return place_nest_ew(n, EW_LOG, (DType)t->dtype, size_of(n, t, rank), -1);
}

/* Sign and logarithm of the determinant of matrix i; false: the host is to judge. */
static bool determinant(const Stacked *s, int64_t i, Tensor *w, Tensor *pivots, double *sign,
                        double *logdet)
{
    int64_t n = s->n, step = n + 1;
    int info = 0;
    put(s, w, own_item(s, i));
    check(s, s->d->math.getrf(s->d, s->dt, n, n, memory(s, w), n, memory(s, pivots), &info));
    Tensor *diagonal = form_view(s->c, w, 1, &n, &step, 0);
    *sign = largest(s, diagonal, sign_of, NEST_PROD) * parity(s, pivots);
    *logdet = largest(s, diagonal, log_of, NEST_SUM);
    return info == 0 && isfinite(*logdet) && !isnan(*sign);
}

static int value_of(PlaceNest *n, Tensor *t, int rank) { return place_nest_broadcast(n, t, rank); }

Value op_device_det(OpCall *c, Device *d)
{
    Stacked s;
    Value r;
    double sign, logdet;
    if (!stacked_read(&s, c, d, true, &r))
        return r;
    if (form_whole(s.given))
        return place_refuse(c->in, (Lack){ LACK_DETERMINANT });
    Tensor *w = work(&s, s.dt, s.n, s.n), *pivots = new_pivots(&s, s.n),
           *out = own_result(&s, -1, -1);
    int64_t step = s.n + 1;
    for (int64_t i = 0; i < s.count; i++) {
        Value *mark = c->in->sp;
        if (!determinant(&s, i, w, pivots, &sign, &logdet))
            return form_host(c, d);
        double det = largest(&s, form_view(c, w, 1, &s.n, &step, 0), value_of, NEST_PROD) *
                     parity(&s, pivots);
        if (!isfinite(det) || fabs(det) < 1e-30)
            return form_host(c, d);
        if (!form_fill(c, d, block(&s, out, 0, i), det))
            return v_undef();
        stack_cut(c->in, mark);
    }
    return place_value(c->in, out);
}

Value op_device_slogdet(OpCall *c, Device *d)
{
    Stacked s;
    Value r;
    double sign, logdet;
    if (!stacked_read(&s, c, d, true, &r))
        return r;
    if (form_whole(s.given))
        return place_refuse(c->in, (Lack){ LACK_DETERMINANT });
    Tensor *w = work(&s, s.dt, s.n, s.n), *pivots = new_pivots(&s, s.n);
    Tensor *signs = own_result(&s, -1, -1), *logs = own_result(&s, -1, -1);
    for (int64_t i = 0; i < s.count; i++) {
        Value *mark = c->in->sp;
        if (!determinant(&s, i, w, pivots, &sign, &logdet))
            return form_host(c, d);
        if (!form_fill(c, d, block(&s, signs, 0, i), sign) ||
            !form_fill(c, d, block(&s, logs, 0, i), logdet))
            return v_undef();
        stack_cut(c->in, mark);
    }
    Value first = op_root(c, place_value(c->in, signs)),
          second = op_root(c, place_value(c->in, logs));
    return tuple_make(c->in, "sign", v_retain(first), "logdet", v_retain(second), NULL);
}

/* ---- factors ---- */
/* out[i, j] = from[i, j] on one side of the diagonal, `diagonal` on it where that is given, else
 * zero. */
static bool put_triangle(const Stacked *s, Tensor *out, Tensor *from, bool upper, bool unit)
{
    Ctx *ctx = &s->c->in->ctx;
    DType dt = (DType)out->dtype;
    PlaceNest *n = place_nest_new(s->c->in, s->d);
    place_nest_axes(n, 2, tensor_shape(out));
    int i = nest_number(ctx, n->nest, 0), j = nest_number(ctx, n->nest, 1);
    EwOp side = upper ? EW_LESS_EQUAL : unit ? EW_GREATER : EW_GREATER_EQUAL;
    int x = nest_cast(ctx, n->nest, place_nest_load(n, from, tensor_strides(from), 2),
                      (DType)from->dtype);
    int zero = place_nest_int(n, 0, (DType)from->dtype),
        one = place_nest_int(n, 1, (DType)from->dtype);
    int other = unit ? nest_ew(ctx, n->nest, EW_WHERE, (DType)from->dtype,
                               (int[]){ place_nest_ew(n, EW_EQUAL, DT_I64, i, j), one, zero },
                               3) : zero;
    int inside = place_nest_ew(n, side, DT_I64, i, j);
    int y = nest_ew(ctx, n->nest, EW_WHERE, (DType)from->dtype, (int[]){ inside, x, other }, 3);
    n->nest->root = nest_cast(ctx, n->nest, y, dt);
    if (!place_nest_takes(n))
        return false;
    place_nest_into(n, out);
    return true;
}

/* The rows in the order that the interchanges leave them in: read home, n ints. */
static Tensor *row_order(const Stacked *s, Tensor *pivots)
{
    Ctx *ctx = &s->c->in->ctx;
    tensor_home(ctx, pivots);
    Tensor *order = op_keep(s->c, tensor_new(ctx, DT_I64, 1, &s->m));
    int64_t *at = (int64_t *)(void *)order->data;
    const int32_t *p = (const int32_t *)(const void *)pivots->data;
    for (int64_t i = 0; i < s->m; i++)
        at[i] = i;
    for (int64_t i = 0; i < pivots->size; i++) {
        int64_t other = p[i] - 1, t = at[i];
        at[i] = at[other];
        at[other] = t;
    }
    return order;
}

/* P[order[j], j] = 1 */
static bool put_permutation(const Stacked *s, Tensor *out, Tensor *order)
{
    Ctx *ctx = &s->c->in->ctx;
    DType dt = (DType)out->dtype;
    PlaceNest *n = place_nest_new(s->c->in, s->d);
    place_nest_axes(n, 2, tensor_shape(out));
    int here = place_nest_ew(n, EW_EQUAL, DT_I64, nest_number(ctx, n->nest, 0),
                             place_nest_broadcast(n, order, 2));
    n->nest->root = nest_ew(ctx, n->nest, EW_WHERE, dt,
                            (int[]){ here, place_nest_int(n, 1, dt), place_nest_int(n, 0, dt) }, 3);
    if (!place_nest_takes(n))
        return false;
    place_nest_into(n, out);
    return true;
}

Value op_device_lu(OpCall *c, Device *d)
{
    Stacked s;
    Value r;
    int info = 0;
    if (!stacked_read(&s, c, d, false, &r))
        return r;
    int64_t m = s.m, n = s.n, k = m < n ? m : n;
    Tensor *w = work(&s, s.dt, n, m), *columns = turned(&s, w);
    Tensor *p = own_result(&s, m, m), *l = own_result(&s, m, k), *u = own_result(&s, k, n);
    for (int64_t i = 0; i < s.count; i++) {
        Value *mark = c->in->sp;
        Tensor *pivots = new_pivots(&s, k);
        put(&s, columns, own_item(&s, i));
        check(&s, d->math.getrf(d, s.dt, m, n, memory(&s, w), m, memory(&s, pivots), &info));
        if (!put_triangle(&s, block(&s, l, 2, i), columns, false, true) ||
            !put_triangle(&s, block(&s, u, 2, i), columns, true, false) ||
            !put_permutation(&s, block(&s, p, 2, i), row_order(&s, pivots)))
            return v_undef();
        stack_cut(c->in, mark);
    }
    return tuple_make(c->in, "P", place_value(c->in, p), "L", place_value(c->in, l), "U",
                      place_value(c->in, u), NULL);
}

/* LAPACK's upper factor, by columns, is the lower one by rows. */
Value op_device_chol(OpCall *c, Device *d)
{
    Stacked s;
    Value r;
    int info = 0;
    if (!stacked_read(&s, c, d, true, &r))
        return r;
    Tensor *w = work(&s, s.dt, s.n, s.n), *out = own_result(&s, s.n, s.n);
    for (int64_t i = 0; i < s.count; i++) {
        Value *mark = c->in->sp;
        put(&s, w, own_item(&s, i));
        if (!is_symmetric(&s, w))
            return form_host(c, d);
        check(&s, d->math.potrf(d, s.dt, true, s.n, memory(&s, w), s.n, &info));
        if (info)
            return form_host(c, d);
        if (!put_triangle(&s, block(&s, out, 2, i), w, false, false))
            return v_undef();
        stack_cut(c->in, mark);
    }
    return place_value(c->in, out);
}

Value op_device_qr(OpCall *c, Device *d)
{
    Stacked s;
    Value v;
    int info = 0;
    if (!stacked_read(&s, c, d, false, &v))
        return v;
    if (arg_bool(c, 1, false))
        return place_refuse(c->in, (Lack){ LACK_FULL });
    int64_t m = s.m, n = s.n, k = m < n ? m : n;
    Tensor *w = work(&s, s.dt, n, m), *columns = turned(&s, w),
           *tau = place_new(c->in, d, s.dt, 1, &k);
    Tensor *q = own_result(&s, m, k), *r = own_result(&s, k, n);
    for (int64_t i = 0; i < s.count; i++) {
        Value *mark = c->in->sp;
        put(&s, columns, own_item(&s, i));
        check(&s, d->math.geqrf(d, s.dt, m, n, memory(&s, w), m, memory(&s, tau), &info));
        if (!put_triangle(&s, block(&s, r, 2, i), columns, true, false))
            return v_undef();
        check(&s, d->math.orgqr(d, s.dt, m, k, k, memory(&s, w), m, memory(&s, tau), &info));
        put(&s, block(&s, q, 2, i),
            form_view(c, columns, 2, (int64_t[]){ m, k }, tensor_strides(columns), 0));
        stack_cut(c->in, mark);
    }
    return tuple_make(c->in, "Q", place_value(c->in, q), "R", place_value(c->in, r), NULL);
}

/* ---- singular values, eigenvalues ---- */
/* Of a wide A the transpose is decomposed, A' = V S U': LAPACK wants no more columns than rows. */
static Value singular(OpCall *c, Device *d, bool vectors)
{
    Stacked s;
    Value r;
    int info = 0;
    if (!stacked_read(&s, c, d, false, &r))
        return r;
    if (vectors && arg_bool(c, 1, false))
        return place_refuse(c->in, (Lack){ LACK_FULL });
    bool wide = s.m < s.n;
    int64_t p = wide ? s.n : s.m, q = wide ? s.m : s.n;
    Tensor *w = work(&s, s.dt, q, p), *columns = turned(&s, w);
    Tensor *values = place_new(c->in, d, s.dt, 1, &q), *u = work(&s, s.dt, q, p),
           *vt = work(&s, s.dt, q, q);
    Tensor *out_s = own_result(&s, q, -1), *out_u = vectors ? own_result(&s, s.m, q) : NULL;
    Tensor *out_v = vectors ? own_result(&s, q, s.n) : NULL;
    for (int64_t i = 0; i < s.count; i++) {
        Value *mark = c->in->sp;
        Tensor *a = own_item(&s, i);
        put(&s, columns, wide ? turned(&s, a) : a);
        if (!isfinite(largest(&s, w, size_of, NEST_MAX)))
            return form_host(c, d);
        check(&s, d->math.gesvd(d, s.dt, p, q, memory(&s, w), memory(&s, values), memory(&s, u),
                                memory(&s, vt), &info));
        if (info)
            return form_host(c, d);
        put(&s, block(&s, out_s, 1, i), values);
        if (vectors) {
            put(&s, block(&s, out_u, 2, i), wide ? vt : turned(&s, u));
            put(&s, block(&s, out_v, 2, i), wide ? u : turned(&s, vt));
        }
        stack_cut(c->in, mark);
    }
    if (!vectors)
        return place_value(c->in, out_s);
    return tuple_make(c->in, "U", place_value(c->in, out_u), "S", place_value(c->in, out_s), "Vt",
                      place_value(c->in, out_v), NULL);
}

Value op_device_svd(OpCall *c, Device *d) { return singular(c, d, true); }
Value op_device_svdvals(OpCall *c, Device *d) { return singular(c, d, false); }

static Value symmetric(OpCall *c, Device *d, bool vectors)
{
    Stacked s;
    Value r;
    int info = 0;
    if (!stacked_read(&s, c, d, true, &r))
        return r;
    Tensor *w = work(&s, s.dt, s.n, s.n), *values = place_new(c->in, d, s.dt, 1, &s.n);
    Tensor *out_w = own_result(&s, s.n, -1), *out_v = vectors ? own_result(&s, s.n, s.n) : NULL;
    for (int64_t i = 0; i < s.count; i++) {
        Value *mark = c->in->sp;
        put(&s, w, own_item(&s, i));
        if (!is_symmetric(&s, w))
            return form_host(c, d);
        check(&s, d->math.syevd(d, s.dt, vectors, s.n, memory(&s, w), memory(&s, values), &info));
        if (info)
            return form_host(c, d);
        put(&s, block(&s, out_w, 1, i), values);
        if (vectors)
            put(&s, block(&s, out_v, 2, i), turned(&s, w));
        stack_cut(c->in, mark);
    }
    if (!vectors)
        return place_value(c->in, out_w);
    return tuple_make(c->in, "values", place_value(c->in, out_w), "vectors",
                      place_value(c->in, out_v), NULL);
}

Value op_device_eigh(OpCall *c, Device *d) { return symmetric(c, d, true); }
Value op_device_eigvalsh(OpCall *c, Device *d) { return symmetric(c, d, false); }
