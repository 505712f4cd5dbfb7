/* Reductions, running sums, order statistics and comparisons of whole tensors: reads the
 * arguments of reductions.def, makes results, calls kernels/reduce, scan and sort. Called
 * through the door only. What a message says about the user's operand is said here. */
#include "core/memory/pool.h"
#include "kernels/axis/compare.h"
#include "kernels/reduce/reduce.h"
#include "kernels/axis/scan.h"
#include "kernels/axis/sort.h"
#include "kernels/tensor/cast.h"
#include "interp/op/op.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define OP(name, ...) Value op_run_##name(OpCall *);
#include "builtins/arrays/reductions.def"
#undef OP

/* ---- shared: axes, shapes, errors ---- */

static bool is_whole(DType dt)
{
    return dtype_info(dt)->kind == 'b' || dtype_info(dt)->kind == 'i';
}

static _Noreturn void no_order(OpCall *c, const Tensor *x)
{
    char help[160];
    snprintf(help, sizeof help, "%s(abs(%s)) compares magnitudes", c->op->name, arg_text(c, 0));
    arg_error_help(c, 0, ERR_DTYPE, help, "%s is %s, and complex numbers have no order",
                   arg_text(c, 0), dtype_name(x->dtype));
}

static Tensor *real_argument(OpCall *c, int i)
{
    Tensor *x = arg_tensor(c, i);
    if (dtype_info(x->dtype)->kind == 'c')
        no_order(c, x);
    return x;
}

/* Shape after reducing the axes of the mask. */
static int reduced_shape(const Tensor *x, uint64_t axes, bool keep, int64_t *shape)
{
    int rank = 0;
    for (int a = 0; a < x->rank; a++)
        if (!(axes >> a & 1))
            shape[rank++] = tensor_shape(x)[a];
        else if (keep)
            shape[rank++] = 1;
    return rank;
}

static Tensor *new_reduced(OpCall *c, DType dt, const Tensor *x, uint64_t axes, bool keep)
{
    int64_t shape[TENSOR_RANK_MAX];
    int rank = reduced_shape(x, axes, keep, shape);
    return op_keep(c, tensor_new(&c->in->ctx, dt, rank, shape));
}

/* A contiguous copy (x itself where it is one already) with the axes of the mask last. */
static Tensor *axes_last(OpCall *c, Tensor *x, uint64_t axes)
{
    Tensor *view = op_keep(c, tensor_axes_last(&c->in->ctx, x, axes));
    return op_keep(c, tensor_compact(&c->in->ctx, view));
}

static uint64_t last_axes(const Tensor *x, uint64_t axes)
{
    int n = __builtin_popcountll(axes);
    uint64_t all = x->rank == 0 ? 0 : UINT64_MAX >> (64 - x->rank);
    return n == 0 ? 0 : all & ~(all >> n);
}

static int64_t reduced_count(const Tensor *x, uint64_t axes)
{
    int64_t n = 1;
    for (int a = 0; a < x->rank; a++)
        if (axes >> a & 1)
            n *= tensor_shape(x)[a];
    return n;
}

/* min, max, median … of nothing. */
static void check_not_empty(OpCall *c, const Tensor *x, uint64_t axes)
{
    char shape[128];
    if (reduced_count(x, axes) > 0)
        return;
    shape_text(shape, sizeof shape, x->rank, tensor_shape(x));
    for (int a = 0; a < x->rank; a++)
        if (axes >> a & 1 && tensor_shape(x)[a] == 0)
            arg_error(c, 0, ERR_VALUE,
                      "there is nothing to choose from: axis %d of %s (shape %s) has length 0",
                      a, arg_text(c, 0), shape);
}

static _Noreturn void out_of_range(OpCall *c)
{
    char help[160];
    snprintf(help, sizeof help, "%s(f64(%s)) rounds instead", c->op->name, arg_text(c, 0));
    arg_error_help(c, 0, ERR_VALUE, help, "the result for %s does not fit i64", arg_text(c, 0));
}

static Tensor *reduce_axes(OpCall *c, RedOp op, Tensor *x, uint64_t axes, bool keep,
                           const RedParams *params)
{
    Ctx *ctx = &c->in->ctx;
    DType dt = reduce_result_dtype(op, (DType)x->dtype);
    if (dt == DT_NONE)
        no_order(c, x);
    if (op == RED_MIN || op == RED_MAX || op == RED_ARGMIN || op == RED_ARGMAX)
        check_not_empty(c, x, axes);
    Tensor *out = new_reduced(c, dt, x, axes, keep);
    if (reduce_wants_copy(op, x, axes)) {
        uint64_t last = last_axes(x, axes);
        x = axes_last(c, x, axes);
        axes = last;
    }
    bool fits = reduce_run(ctx, op, x, axes, out, params);
    poll_interrupt(c->in);
    if (!fits && !(params && params->blocks && params->blocks->failed))
        out_of_range(c);
    return out;
}

static Value plain_reduction(OpCall *c, RedOp op)
{
    Tensor *x = arg_tensor(c, 0);
    uint64_t axes = arg_axes(c, 1, x->rank);
    RedParams params = { .blocks = c->blocks };
    return op_result(c, reduce_axes(c, op, x, axes, arg_bool(c, 2, false), &params));
}

Value op_run_sum(OpCall *c) { return plain_reduction(c, RED_SUM); }
Value op_run_nansum(OpCall *c) { return plain_reduction(c, RED_NANSUM); }
Value op_run_prod(OpCall *c) { return plain_reduction(c, RED_PROD); }
Value op_run_mean(OpCall *c) { return plain_reduction(c, RED_MEAN); }
Value op_run_min(OpCall *c) { return plain_reduction(c, RED_MIN); }
Value op_run_max(OpCall *c) { return plain_reduction(c, RED_MAX); }
Value op_run_argmin(OpCall *c) { return plain_reduction(c, RED_ARGMIN); }
Value op_run_argmax(OpCall *c) { return plain_reduction(c, RED_ARGMAX); }
Value op_run_any(OpCall *c) { return plain_reduction(c, RED_ANY); }
Value op_run_all(OpCall *c) { return plain_reduction(c, RED_ALL); }
Value op_run_count(OpCall *c) { return plain_reduction(c, RED_COUNT); }

static Value variance(OpCall *c, RedOp op)
{
    Tensor *x = arg_tensor(c, 0);
    uint64_t axes = arg_axes(c, 1, x->rank);
    RedParams params = { .ddof = arg_given(c, 2) ? arg_float(c, 2) : 0 };
    bool keep = arg_bool(c, 3, false);
    Tensor *mean = reduce_axes(c, RED_MEAN, x, axes, keep, NULL);
    params.mean = op_keep(c, tensor_cast(&c->in->ctx, mean, DT_C128));
    return op_result(c, reduce_axes(c, op, x, axes, keep, &params));
}

Value op_run_var(OpCall *c) { return variance(c, RED_VAR); }
Value op_run_std(OpCall *c) { return variance(c, RED_STD); }

/* ---- lanes along one axis ---- */

static bool is_none(OpCall *c, int i)
{
    return c->args[i].tag == V_NONE;
}

/* All elements in row-major order, as a vector. */
static Tensor *flat(OpCall *c, Tensor *x)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *dense = op_keep(c, tensor_compact(ctx, x));
    int64_t one = 1;
    return op_keep(c, tensor_view(ctx, dense, 1, &dense->size, &one, dense->data));
}

/* Offset in elements of lane number `lane` (over the other axes, row-major). */
static int64_t lane_offset(const Tensor *x, int axis, int64_t lane)
{
    int64_t at = 0;
    for (int a = x->rank - 1; a >= 0; a--)
        if (a != axis) {
            at += lane % tensor_shape(x)[a] * tensor_strides(x)[a];
            lane /= tensor_shape(x)[a];
        }
    return at;
}

static char *lane_data(const Tensor *x, int axis, int64_t lane)
{
    return x->data + lane_offset(x, axis, lane) * dtype_info(x->dtype)->bytes;
}

static Value running(OpCall *c, ScanOp op)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *x = arg_tensor(c, 0);
    bool all = !arg_given(c, 1) || is_none(c, 1) || x->rank == 0;
    int axis = all ? 0 : arg_axis(c, 1, x->rank, 0);
    if (all)
        x = flat(c, x);
    if (!scan_kernel(op, (DType)x->dtype))
        no_order(c, x);
    bool grows = op == SCAN_SUM || op == SCAN_PRODUCT;
    DType dt = grows && is_whole((DType)x->dtype) ? DT_I64 : (DType)x->dtype;
    Tensor *out = op_keep(c, tensor_new(ctx, dt, x->rank, tensor_shape(x)));
    bool fits = scan_run(ctx, op, x, axis, out);
    poll_interrupt(c->in);
    if (!fits)
        out_of_range(c);
    return op_result(c, out);
}

Value op_run_cumsum(OpCall *c) { return running(c, SCAN_SUM); }
Value op_run_cumprod(OpCall *c) { return running(c, SCAN_PRODUCT); }
Value op_run_cummax(OpCall *c) { return running(c, SCAN_MAX); }
Value op_run_cummin(OpCall *c) { return running(c, SCAN_MIN); }

/* ---- sorting ---- */

typedef struct SortJob {
    Ctx *ctx;
    const Tensor *x, *out;
    int axis;
    unsigned how;
    uint64_t *scratch;
    int64_t words;             /* of it per worker */
} SortJob;

static void sort_values(void *arg, int64_t begin, int64_t end, int worker)
{
    const SortJob *job = arg;
    int64_t n = tensor_shape(job->x)[job->axis];
    uint64_t *scratch = job->scratch + worker * job->words;
    SortLanes l;
    l.dt = (DType)job->x->dtype;
    l.how = job->how;
    l.n = n;
    l.step = tensor_strides(job->x)[job->axis];
    l.to_step = tensor_strides(job->out)[job->axis];
    for (int64_t lane = begin, some; lane < end && !*job->ctx->interrupt; lane += some) {
        some = end - lane < SORT_TOGETHER(n) ? end - lane : SORT_TOGETHER(n);
        for (int64_t k = 0; k < some; k++) {
            l.x[k] = lane_data(job->x, job->axis, lane + k);
            l.to[k] = lane_data(job->out, job->axis, lane + k);
        }
        sort_lanes(job->ctx, &l, (int)some, scratch);
    }
}

static void sort_positions(void *arg, int64_t begin, int64_t end, int worker)
{
    const SortJob *job = arg;
    DType dt = (DType)job->x->dtype;
    int64_t n = tensor_shape(job->x)[job->axis], step = tensor_strides(job->out)[job->axis];
    uint64_t *keys = job->scratch + worker * job->words, *spare = keys + n;
    int64_t *at = (int64_t *)(spare + n), *at_spare = at + n;
    for (int64_t lane = begin; lane < end; lane++) {
        int64_t *to = (int64_t *)(void *)lane_data(job->out, job->axis, lane);
        sort_load_lane(job->ctx, keys, dt, lane_data(job->x, job->axis, lane),
                       tensor_strides(job->x)[job->axis], n, job->how);
        for (int64_t i = 0; i < n && !*job->ctx->interrupt; i++)
            at[i] = i;
        sort_pairs(job->ctx, keys, at, spare, at_spare, n, sort_key_bytes(dt));
        if (*job->ctx->interrupt)
            return;
        for (int64_t i = 0; i < n; i++)
            to[i * step] = at[i];
    }
}

/* Scratch of `words` 64-bit words, released with the call. */
static uint64_t *scratch_words(OpCall *c, int64_t words)
{
    return (uint64_t *)op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &words))->data;
}

/* One lane has the pool to itself. */
static void run_lanes(OpCall *c, PoolFn fn, void *job, int64_t lanes, int64_t n)
{
    if (lanes == 1 || lanes * n < 1 << 14)
        fn(job, 0, lanes, 0);
    else
        pool_for(&c->in->ctx, lanes, (1 << 14) / (n + 1) + 1, fn, job);
    poll_interrupt(c->in);
}

static Tensor *sorted(OpCall *c, Tensor *x, int axis, unsigned how, bool positions)
{
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, positions ? DT_I64 : (DType)x->dtype, x->rank,
                                        tensor_shape(x)));
    if (x->size == 0)
        return out;
    SortJob job = { .ctx = &c->in->ctx, .x = x, .out = out, .axis = axis,
                    .how = how | (positions ? SORT_ONE_ZERO : 0) };
    int64_t n = tensor_shape(x)[axis], lanes = x->size / n;
    int workers = lanes > 1 ? pool_threads(&c->in->ctx) : 1;
    bool dense = tensor_strides(x)[axis] == 1 && tensor_strides(out)[axis] == 1;
    job.words = positions ? 4 * n : sort_lanes_scratch((DType)x->dtype, n, dense);
    job.scratch = job.words ? scratch_words(c, workers * job.words) : NULL;
    run_lanes(c, positions ? sort_positions : sort_values, &job, lanes, n);
    return out;
}

static Value sorting(OpCall *c, bool positions)
{
    Tensor *x = real_argument(c, 0);
    bool all = is_none(c, 1) || x->rank == 0;
    unsigned how = arg_bool(c, 2, false) ? SORT_DESCENDING : 0;
    int axis = all ? 0 : arg_axis(c, 1, x->rank, x->rank - 1);
    bool scalar = x->rank == 0;
    Tensor *out = sorted(c, all ? flat(c, x) : x, axis, how, positions);
    if (scalar)
        out = op_keep(c, tensor_view(&c->in->ctx, out, 0, tensor_shape(out), tensor_strides(out),
                                     out->data));
    return op_result(c, out);
}

Value op_run_sort(OpCall *c) { return sorting(c, false); }
Value op_run_argsort(OpCall *c) { return sorting(c, true); }

/* How often each of the distinct elements occurs, from where their runs start. */
static Tensor *run_lengths(OpCall *c, const int64_t *starts, int64_t distinct, int64_t n)
{
    Tensor *counts = op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &distinct));
    for (int64_t i = 0; i < distinct; i++)
        ((int64_t *)counts->data)[i] = (i + 1 < distinct ? starts[i + 1] : n) - starts[i];
    return counts;
}

/* Which run each element came from. */
static Tensor *run_numbers(OpCall *c, const int64_t *starts, int64_t distinct, const int64_t *at,
                           int64_t n)
{
    Tensor *inverse = op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &n));
    for (int64_t run = 0; run < distinct; run++)
        for (int64_t i = starts[run]; i < (run + 1 < distinct ? starts[run + 1] : n); i++)
            ((int64_t *)inverse->data)[at[i]] = run;
    return inverse;
}

Value op_run_unique(OpCall *c)
{
    Tensor *x = flat(c, real_argument(c, 0));
    bool want_counts = arg_bool(c, 1, false), want_inverse = arg_bool(c, 2, false);
    DType dt = (DType)x->dtype;
    int64_t n = x->size, distinct = 0;
    uint64_t *keys = scratch_words(c, 2 * n), *spare = keys + n;
    int64_t *at = want_inverse ? (int64_t *)scratch_words(c, 2 * n) : NULL;
    sort_load_lane(&c->in->ctx, keys, dt, x->data, 1, n, SORT_ONE_ZERO);
    for (int64_t i = 0; at && i < n && !*c->in->ctx.interrupt; i++)
        at[i] = i;
    sort_pairs(&c->in->ctx, keys, at, spare, at ? at + n : NULL, n, sort_key_bytes(dt));
    poll_interrupt(c->in);
    int64_t *starts = (int64_t *)spare;
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || keys[i] != keys[distinct - 1]) {
            starts[distinct] = i;
            keys[distinct++] = keys[i];
        }
    Tensor *values = op_keep(c, tensor_new(&c->in->ctx, dt, 1, &distinct));
    sort_store_lane(&c->in->ctx, values->data, 1, dt, keys, distinct, false);
    if (!want_counts && !want_inverse)
        return op_result(c, values);
    Value numbers = want_inverse ? op_root(c, op_result(c, run_numbers(c, starts, distinct, at, n)))
                                 : v_none();
    if (!want_counts)
        return tuple_make(c->in, "values", op_result(c, values), "inverse", v_retain(numbers),
                          NULL);
    Value counts = op_root(c, op_result(c, run_lengths(c, starts, distinct, n)));
    if (!want_inverse)
        return tuple_make(c->in, "values", op_result(c, values), "counts", v_retain(counts), NULL);
    return tuple_make(c->in, "values", op_result(c, values), "counts", v_retain(counts), "inverse",
                      v_retain(numbers), NULL);
}

/* ---- order statistics ---- */

typedef struct QuantileJob {
    Ctx *ctx;
    const Tensor *x;           /* lanes x n, contiguous */
    DType to;
    char *out;                 /* q-th result of lane l at q * lanes + l */
    const double *q;
    int64_t q_count, lanes, n;
    bool median;
    uint64_t *scratch;         /* 2 n words per worker */
} QuantileJob;

static void store_float(DType dt, void *out, int64_t i, double v)
{
    cast_plain(dt, (char *)out + i * dtype_info(dt)->bytes, 1, DT_F64, &v, 1, 1);
}

static void quantile_lanes(void *arg, int64_t begin, int64_t end, int worker)
{
    const QuantileJob *job = arg;
    DType dt = (DType)job->x->dtype;
    uint64_t *keys = job->scratch + (size_t)worker * 2 * (size_t)job->n;
    bool full = job->q_count > 3;
    for (int64_t lane = begin; lane < end; lane++) {
        bool nan = false;
        sort_load_lane(job->ctx, keys, dt, job->x->data + lane * job->n * dtype_info(dt)->bytes, 1,
                       job->n, 0);
        for (int64_t i = 0; i < job->n; i++)
            nan |= sort_key_is_nan(dt, keys[i]);
        if (full)
            sort_keys(job->ctx, keys, keys + job->n, job->n, sort_key_bytes(dt));
        for (int64_t j = 0; j < job->q_count; j++)
            store_float(job->to, job->out, j * job->lanes + lane,
                        nan ? (double)NAN : sort_quantile(job->ctx, keys, dt, job->n, full,
                                                          job->median, job->q[j]));
    }
}

static Value quantiles(OpCall *c, Tensor *x, Tensor *q, int axis_argument, bool median)
{
    Ctx *ctx = &c->in->ctx;
    uint64_t axes = arg_axes(c, axis_argument, x->rank);
    bool keep = arg_bool(c, axis_argument + 1, false);
    check_not_empty(c, x, axes);
    int64_t shape[2 * TENSOR_RANK_MAX];
    memcpy(shape, tensor_shape(q), (size_t)q->rank * sizeof *shape);
    int rank = q->rank + reduced_shape(x, axes, keep, shape + q->rank);
    if (rank > TENSOR_RANK_MAX)
        arg_error(c, 0, ERR_SHAPE, "the result would have %d axes, more than %d", rank,
                  TENSOR_RANK_MAX);
    DType to = is_whole((DType)x->dtype) ? DT_F64 : (DType)x->dtype;
    Tensor *out = op_keep(c, tensor_new(ctx, to, rank, shape));
    QuantileJob job = { .ctx = ctx, .to = to, .out = out->data, .q = (const double *)q->data,
                        .q_count = q->size,
                        .n = reduced_count(x, axes), .median = median };
    job.lanes = x->size / job.n;
    job.x = axes_last(c, x, axes);
    int workers = job.lanes > 1 ? pool_threads(ctx) : 1;
    job.scratch = scratch_words(c, workers * 2 * job.n);
    run_lanes(c, quantile_lanes, &job, job.lanes, job.n);
    return op_result(c, out);
}

Value op_run_median(OpCall *c)
{
    Tensor *x = real_argument(c, 0);
    double half = 0.5;
    return quantiles(c, x, op_keep(c, tensor_scalar(&c->in->ctx, DT_F64, &half)), 1, true);
}

Value op_run_quantile(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *x = real_argument(c, 0);
    Tensor *q = op_keep(c, tensor_cast(ctx, arg_tensor(c, 1), DT_F64));
    q = op_keep(c, tensor_compact(ctx, q));
    for (int64_t i = 0; i < q->size; i++) {
        double v = ((const double *)q->data)[i];
        if (!(v >= 0 && v <= 1))
            arg_error(c, 1, ERR_VALUE,
                      "a quantile is asked for a fraction between 0 and 1, not %g", v);
    }
    return quantiles(c, x, q, 2, false);
}

/* ---- softmax and logsumexp: rows of f32 or f64 ---- */

typedef struct RowJob {
    const Tensor *x;           /* rows x n, contiguous, f32 or f64 */
    char *out;                 /* softmax: rows x n; logsumexp: rows */
    int64_t n;
    bool softmax;
} RowJob;

enum { ROW_STRIP = 512, FEW_LANES = 16 };

/* Lanes of a row's extreme or sum, halved until few are left. */
static double fold_lanes(EwOp op, DType dt, char *lanes, int64_t n)
{
    EwFn fold = ew_kernel(op, dt);
    const int64_t dense[] = { 1, 1 };
    double total = op == EW_ADD ? 0 : -(double)INFINITY;
    for (int64_t half = n / 2; n > FEW_LANES; n -= half, half = n / 2) {
        const void *in[] = { lanes, lanes + (n - half) * dtype_info(dt)->bytes };
        fold(lanes, 1, in, dense, half);
    }
    for (int64_t i = 0; i < n; i++) {
        double v = dt == DT_F32 ? (double)((float *)(void *)lanes)[i]
                                : ((double *)(void *)lanes)[i];
        total = op == EW_ADD ? total + v : v > total || v != v ? v : total;
    }
    return total;
}

/* Folds a strip of a row into the lanes. */
static void add_lanes(EwOp op, DType dt, char *lanes, const char *strip, int64_t width, bool first)
{
    const void *in[] = { lanes, strip };
    const int64_t dense[] = { 1, 1 };
    if (first)
        memcpy(lanes, strip, (size_t)width * dtype_info(dt)->bytes);
    else
        ew_kernel(op, dt)(lanes, 1, in, dense, width);
}

static double row_max(const char *row, DType dt, int64_t n)
{
    _Alignas(64) char lanes[ROW_STRIP * sizeof(double)];
    for (int64_t i = 0; i < n; i += ROW_STRIP)
        add_lanes(EW_MAXIMUM, dt, lanes, row + i * dtype_info(dt)->bytes,
                  n - i < ROW_STRIP ? n - i : ROW_STRIP, i == 0);
    return fold_lanes(EW_MAXIMUM, dt, lanes, n < ROW_STRIP ? n : ROW_STRIP);
}

/* Strip by strip, so that what one kernel leaves the next one finds in the nearest cache. */
static void softmax_row(DType dt, char *out, const char *x, int64_t n, double top)
{
    EwFn subtract = ew_kernel(EW_SUBTRACT, dt), exponential = ew_kernel(EW_EXP, dt);
    _Alignas(64) char lanes[ROW_STRIP * sizeof(double)];
    double total;
    const int64_t dense[] = { 1, 0 };
    float narrow = (float)top;
    int64_t bytes = dtype_info(dt)->bytes;
    const void *scalar = dt == DT_F32 ? (const void *)&narrow : &top;
    for (int64_t i = 0; i < n; i += ROW_STRIP) {
        int64_t width = n - i < ROW_STRIP ? n - i : ROW_STRIP;
        char *to = out + i * bytes;
        subtract(to, 1, (const void *[]){ x + i * bytes, scalar }, dense, width);
        exponential(to, 1, (const void *[]){ to }, dense, width);
        add_lanes(EW_ADD, dt, lanes, to, width, i == 0);
    }
    total = fold_lanes(EW_ADD, dt, lanes, n < ROW_STRIP ? n : ROW_STRIP);
    narrow = (float)total;
    scalar = dt == DT_F32 ? (const void *)&narrow : &total;
    ew_kernel(EW_DIVIDE, dt)(out, 1, (const void *[]){ out, scalar }, dense, n);
}

/* Sum of exp(x - top) over one row, in f64 for both widths. */
static double exp_total(const void *row, DType dt, int64_t n, double top)
{
    EwFn exponential = ew_kernel(EW_EXP, DT_F64);
    double strip[ROW_STRIP], total = 0;
    for (int64_t i = 0; i < n; i += ROW_STRIP) {
        int64_t width = n - i < ROW_STRIP ? n - i : ROW_STRIP, one = 1;
        const void *in = strip;
        double part = 0;
        for (int64_t j = 0; j < width; j++)
            strip[j] = (dt == DT_F32 ? (double)((const float *)row)[i + j]
                                     : ((const double *)row)[i + j]) - top;
        exponential(strip, 1, &in, &one, width);
        for (int64_t j = 0; j < width; j++)
            part += strip[j];
        total += part;
    }
    return total;
}

static void exp_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const RowJob *job = arg;
    DType dt = (DType)job->x->dtype;
    size_t bytes = dtype_info(dt)->bytes;
    (void)worker;
    for (int64_t r = begin; r < end; r++) {
        size_t at = (size_t)(r * job->n) * bytes;
        const char *row = job->x->data + at;
        double top = row_max(row, dt, job->n);
        if (!job->softmax)
            store_float(dt, job->out, r,
                        isfinite(top) ? top + log(exp_total(row, dt, job->n, top)) : top);
        else
            softmax_row(dt, job->out + at, row, job->n, top);
    }
}

/* x as f32 or f64, the axes last and dense. */
static Tensor *exp_operand(OpCall *c, Tensor *x, uint64_t axes)
{
    DType dt = dtype_computed((DType)x->dtype) == DT_F32 ? DT_F32 : DT_F64;
    return axes_last(c, op_keep(c, tensor_cast(&c->in->ctx, x, dt)), axes);
}

static Tensor *float_result(OpCall *c, Tensor *out, DType from)
{
    return is_whole(from) ? out : op_keep(c, tensor_cast(&c->in->ctx, out, from));
}

Value op_run_softmax(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *x = real_argument(c, 0);
    bool all = is_none(c, 1) || x->rank == 0;
    uint64_t axes = all ? arg_axes(c, 1, x->rank)
                        : (uint64_t)1 << arg_axis(c, 1, x->rank, x->rank - 1);
    Tensor *rows = exp_operand(c, x, axes);
    Tensor *out = op_keep(c, tensor_new(ctx, (DType)rows->dtype, rows->rank, tensor_shape(rows)));
    int64_t n = reduced_count(x, axes);
    RowJob job = { .x = rows, .out = out->data, .n = n, .softmax = true };
    if (x->size > 0)
        run_lanes(c, exp_rows, &job, x->size / n, n);
    out = float_result(c, out, (DType)x->dtype);
    /* Back from "axes last" to the order of x. */
    int64_t strides[TENSOR_RANK_MAX];
    int k = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int a = 0; a < x->rank; a++)
            if ((int)(axes >> a & 1) == pass)
                strides[a] = tensor_strides(out)[k++];
    return op_result(c, op_keep(c, tensor_view(ctx, out, x->rank, tensor_shape(x), strides,
                                               out->data)));
}

Value op_run_logsumexp(OpCall *c)
{
    Tensor *x = real_argument(c, 0);
    uint64_t axes = arg_axes(c, 1, x->rank);
    int64_t n = reduced_count(x, axes);
    Tensor *rows = exp_operand(c, x, axes);
    Tensor *out = new_reduced(c, (DType)rows->dtype, x, axes, arg_bool(c, 2, false));
    RowJob job = { .x = rows, .out = out->data, .n = n };
    run_lanes(c, exp_rows, &job, out->size, n);
    return op_result(c, float_result(c, out, (DType)x->dtype));
}

/* ---- comparisons ---- */

/* Both operands as c128 (real ones too) broadcast against each other. */
static void pair_operands(OpCall *c, Tensor **a, Tensor **b)
{
    Ctx *ctx = &c->in->ctx;
    int64_t shape[TENSOR_RANK_MAX];
    char sa[128], sb[128];
    int bad, rank = shape_broadcast((*a)->rank, tensor_shape(*a), (*b)->rank, tensor_shape(*b),
                                    shape, &bad);
    if (rank < 0) {
        Error *e = err_new(ctx, ERR_SHAPE, "%s: %s %s but %s %s, and these do not broadcast",
                           c->op->name, arg_text(c, 0),
                           shape_fact(sa, sizeof sa, (*a)->rank, tensor_shape(*a)),
                           arg_text(c, 1), shape_fact(sb, sizeof sb, (*b)->rank, tensor_shape(*b)));
        err_underline(e, 0);
        err_underline(e, 1);
        err_throw(e);
    }
    *a = op_keep(c, tensor_broadcast(ctx, *a, rank, shape));
    *b = op_keep(c, tensor_broadcast(ctx, *b, rank, shape));
}

/* Walks two broadcast tensors, element by element. */
typedef struct Pairs {
    const Tensor *a, *b;
    int64_t index[TENSOR_RANK_MAX];
    int64_t at_a, at_b;
} Pairs;

static void pairs_next(Pairs *p)
{
    const int64_t *shape = tensor_shape(p->a), *sa = tensor_strides(p->a),
                  *sb = tensor_strides(p->b);
    for (int a = p->a->rank - 1; a >= 0; a--) {
        p->at_a += sa[a];
        p->at_b += sb[a];
        if (++p->index[a] < shape[a])
            return;
        p->index[a] = 0;
        p->at_a -= shape[a] * sa[a];
        p->at_b -= shape[a] * sb[a];
    }
}

static double _Complex pairs_a(const Pairs *p)
{
    return element_c128((DType)p->a->dtype, p->a->data + p->at_a * dtype_info(p->a->dtype)->bytes);
}

static double _Complex pairs_b(const Pairs *p)
{
    return element_c128((DType)p->b->dtype, p->b->data + p->at_b * dtype_info(p->b->dtype)->bytes);
}

/* A norm that neither overflows nor underflows: scale^2 * sum (LAPACK's classical nrm2). */
typedef struct Norm { double scale, sum; } Norm;

static void norm_add(Norm *n, double v)
{
    v = fabs(v);
    if (v == 0)
        return;
    if (n->scale < v) {
        n->sum = 1 + n->sum * (n->scale / v) * (n->scale / v);
        n->scale = v;
    } else {
        n->sum += (v / n->scale) * (v / n->scale);
    }
    if (v != v)
        n->scale = v;
}

static double norm_value(const Norm *n)
{
    return n->scale == 0 ? 0 : n->scale * sqrt(n->sum);
}

static double sqrt_eps(DType dt)
{
    int e, p;
    MiniStyle style;
    return dtype_plain(dt) && dtype_mini_read(dtype_real(dt), &e, &p, &style)
           ? sqrt(ldexp(1, 1 - p)) : 0;
}

/* The relative tolerance of two operands: the narrower float's, literals not counting. */
static double default_rtol(OpCall *c, const Tensor *a, const Tensor *b)
{
    double ra = sqrt_eps((DType)a->dtype), rb = sqrt_eps((DType)b->dtype);
    bool weak_a = c->weak & 1 || (a->rank == 0 && b->rank > 0);
    bool weak_b = c->weak & 2 || (b->rank == 0 && a->rank > 0);
    if (weak_a && !weak_b && rb > 0)
        return rb;
    if (weak_b && !weak_a && ra > 0)
        return ra;
    return ra > rb ? ra : rb;
}

static bool near(double _Complex x, double _Complex y, double rtol, double atol)
{
    double d = cabs(x - y);
    if (x == y)
        return true;
    return isfinite(cabs(x)) && isfinite(cabs(y)) && d <= fmax(atol, rtol * fmax(cabs(x), cabs(y)));
}

static bool all_near(OpCall *c, Tensor *a, Tensor *b, double rtol, double atol, bool equal_nan)
{
    Pairs p = { .a = a, .b = b };
    for (int64_t i = 0; i < a->size; i++, pairs_next(&p)) {
        double _Complex x = pairs_a(&p), y = pairs_b(&p);
        if (!near(x, y, rtol, atol) && !(equal_nan && x != x && y != y))
            return false;
        if ((i & 0xffff) == 0)
            poll_interrupt(c->in);
    }
    return true;
}

/* A broadcast operand as a run of f64 that the loops of kernels/axis/compare.c take. */
static const double *plain_run(OpCall *c, Tensor *t, int64_t *step)
{
    Ctx *ctx = &c->in->ctx;
    bool scalar = true;
    for (int a = 0; a < t->rank; a++)
        scalar &= tensor_strides(t)[a] == 0 || tensor_shape(t)[a] == 1;
    if (scalar && t->size > 0)
        t = op_keep(c, tensor_view(ctx, t, 0, NULL, NULL, t->data));
    *step = scalar ? 0 : 1;
    return (const double *)op_keep(c, tensor_compact(ctx, op_keep(c, tensor_cast(ctx, t, DT_F64))))
        ->data;
}

static bool plain_pair(OpCall *c, Tensor *a, Tensor *b, ComparePair *p)
{
    if (dtype_info(a->dtype)->kind == 'c' || dtype_info(b->dtype)->kind == 'c')
        return false;
    p->n = a->size;
    p->a = plain_run(c, a, &p->step_a);
    p->b = plain_run(c, b, &p->step_b);
    return true;
}

/* Norms of a, b and a - b by plain sums of squares; false where those are out of range. */
static bool plain_norms(OpCall *c, Tensor *a, Tensor *b, double norms[3])
{
    ComparePair p;
    int64_t words = 3 * (a->size / COMPARE_BLOCK + 1);
    if (a->size < 64 || !plain_pair(c, a, b, &p))
        return false;
    compare_squares(&c->in->ctx, &p, (double *)scratch_words(c, words), norms);
    poll_interrupt(c->in);
    for (int i = 0; i < 3; i++) {
        if (!(norms[i] == 0 || norms[i] > 1e-200) || !(norms[i] < 1e300))
            return false;
        norms[i] = sqrt(norms[i]);
    }
    return norms[2] > 0;
}

static void scaled_norms(OpCall *c, Tensor *a, Tensor *b, double norms[3])
{
    Norm na = { 0 }, nb = { 0 }, nd = { 0 };
    Pairs p = { .a = a, .b = b };
    for (int64_t i = 0; i < a->size; i++, pairs_next(&p)) {
        double _Complex x = pairs_a(&p), y = pairs_b(&p);
        norm_add(&na, creal(x)), norm_add(&na, cimag(x));
        norm_add(&nb, creal(y)), norm_add(&nb, cimag(y));
        norm_add(&nd, creal(x) - creal(y)), norm_add(&nd, cimag(x) - cimag(y));
        if ((i & 0xffff) == 0)
            poll_interrupt(c->in);
    }
    norms[0] = norm_value(&na), norms[1] = norm_value(&nb), norms[2] = norm_value(&nd);
}

Value op_run_allclose(OpCall *c)
{
    Tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1);
    double atol = arg_given(c, 3) ? arg_float(c, 3) : 0, norms[3];
    double rtol = arg_given(c, 2) && !is_none(c, 2) ? arg_float(c, 2)
                  : atol > 0                        ? 0
                                                    : default_rtol(c, a, b);
    bool equal_nan = arg_bool(c, 4, false);
    pair_operands(c, &a, &b);
    if (!plain_norms(c, a, b, norms))
        scaled_norms(c, a, b, norms);
    if (!isfinite(norms[2]))
        return v_bool(all_near(c, a, b, rtol, atol, equal_nan));
    return v_bool(norms[2] <= fmax(atol, rtol * fmax(norms[0], norms[1])));
}

Value op_run_isclose(OpCall *c)
{
    Tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1);
    double rtol = arg_given(c, 2) ? arg_float(c, 2) : 1e-5,
           atol = arg_given(c, 3) ? arg_float(c, 3) : 1e-8;
    bool equal_nan = arg_bool(c, 4, false);
    ComparePair plain;
    pair_operands(c, &a, &b);
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, DT_BOOL, a->rank, tensor_shape(a)));
    if (a->size > 0 && plain_pair(c, a, b, &plain)) {
        compare_each(&c->in->ctx, &plain, rtol, atol, equal_nan, (uint8_t *)out->data);
        poll_interrupt(c->in);
        return op_result(c, out);
    }
    Pairs p = { .a = a, .b = b };
    for (int64_t i = 0; i < a->size; i++, pairs_next(&p)) {
        double _Complex x = pairs_a(&p), y = pairs_b(&p);
        double d = cabs(x - y);
        out->data[i] = x == y ||
                       (isfinite(cabs(y)) && isfinite(cabs(x)) && d <= atol + rtol * cabs(y)) ||
                       (equal_nan && x != x && y != y);
        if ((i & 0xffff) == 0)
            poll_interrupt(c->in);
    }
    return op_result(c, out);
}
