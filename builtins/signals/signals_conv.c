/* conv, conv2 and diff: operands are laid out with their axes last, in the dtype that is
 * summed in, and every lane goes to kernels/signals/conv.c, or, where both signals are long,
 * through Fourier transforms of blocks (overlap-add: Stockham 1966, High-speed convolution). */
#include "builtins/signals/signals.h"
#include "builtins/eight/eight_pair.h"
#include "core/memory/pool.h"
#include "interp/op/heard.h"
#include "kernels/signals/conv.h"
#include "kernels/signals/fft.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef enum Method { METHOD_AUTO, METHOD_DIRECT, METHOD_FFT } Method;

/* From this length of the shorter signal on, blocks and transforms are several times faster. */
enum { FFT_FROM = 1000 };

typedef struct Conv {
    OpCall *call;
    int core;                        /* axes that are convolved: the last one or two */
    ConvMode mode;
    Method method;
    DType dt;                        /* what is summed in */
    bool wide, whole;                /* i64 in 128 bits; integers summed as exact floats */
    Tensor *a, *b;                   /* of dtype dt, contiguous along the last axes */
    const double *scale_a, *scale_b; /* in 8 bits: of their lanes; else NULL */
    int64_t rows, n, b_rows, m;      /* of one lane */
    int64_t row, col, out_rows, out_n;
    int batch_rank;
    int64_t batch[TENSOR_RANK_MAX], lanes;
    Tensor *out;                     /* of dtype dt */
    atomic_bool overflow;
} Conv;

/* One of some words for an argument. */
static int read_word(OpCall *c, int i, const char *const *words, int count, const char *list)
{
    if (!arg_given(c, i))
        return 0;
    const char *text = arg_str(c, i)->text;
    for (int k = 0; k < count; k++)
        if (strcmp(text, words[k]) == 0)
            return k;
    char help[64];
    const char *close = err_closest(text, words, (size_t)count);
    snprintf(help, sizeof help, "did you mean \"%s\"?", close ? close : "");
    arg_error_help(c, i, ERR_VALUE, close ? help : NULL, "%s is %s, not \"%.40s\"", arg_name(c, i),
                   list, text);
}

ConvMode signals_conv_mode(OpCall *c)
{
    static const char *const words[] = { "full", "same", "valid" };
    return (ConvMode)read_word(c, 2, words, 3, "\"full\", \"same\" or \"valid\"");
}

static Method read_method(OpCall *c)
{
    static const char *const words[] = { "auto", "direct", "fft" };
    return (Method)read_word(c, 4, words, 3, "\"auto\", \"direct\" or \"fft\"");
}

/* ---- operands ---- */

static bool is_whole(DType dt)
{
    return dtype_info(dt)->kind == 'b' || dtype_info(dt)->kind == 'i';
}

static void require_elements(OpCall *c, int i, const Tensor *t)
{
    char fact[128];
    if (t->size == 0)
        arg_error(c, i, ERR_VALUE, "there is nothing to convolve: %s %s", arg_text(c, i),
                  shape_fact(fact, sizeof fact, t->rank, tensor_shape(t)));
}

static void read_batch(Conv *v)
{
    OpCall *c = v->call;
    char sa[128], sb[128];
    int bad, core = v->core;
    v->batch_rank = shape_broadcast(v->a->rank - core, tensor_shape(v->a), v->b->rank - core,
                                    tensor_shape(v->b), v->batch, &bad);
    if (v->batch_rank < 0) {
        Error *e = err_new(
            &c->in->ctx, ERR_SHAPE,
            "%s: the leading axes of %s (shape %s) and %s "
            "(shape %s) do not broadcast",
            c->op->name, arg_text(c, 0), shape_text(sa, sizeof sa, v->a->rank, tensor_shape(v->a)),
            arg_text(c, 1), shape_text(sb, sizeof sb, v->b->rank, tensor_shape(v->b)));
        err_underline(e, 0);
        err_underline(e, 1);
        err_throw(e);
    }
    v->lanes = shape_checked(&c->in->ctx, v->batch_rank, v->batch);
}

ConvCut signals_conv_cut(ConvMode mode, int core, int64_t n, int64_t m)
{
    int64_t longer = n > m ? n : m, shorter = n > m ? m : n;
    if (mode == CONV_VALID)
        return (ConvCut){ shorter - 1, longer - shorter + 1 };
    if (mode == CONV_SAME && core == 1)
        return (ConvCut){ (shorter - 1) / 2, longer };
    if (mode == CONV_SAME)
        return (ConvCut){ (m - 1) / 2, n };
    return (ConvCut){ 0, n + m - 1 };
}

void signals_conv_fits(OpCall *c, ConvMode mode, int64_t rows, int64_t n, int64_t b_rows, int64_t m)
{
    if (mode == CONV_VALID && (rows < b_rows) != (n < m) && rows != b_rows && n != m)
        arg_error_help(c, 1, ERR_SHAPE, "mode=\"full\" and \"same\" take any sizes",
                       "neither fits into the other: %lld×%lld and %lld×%lld", (long long)rows,
                       (long long)n, (long long)b_rows, (long long)m);
}

static void read_lengths(Conv *v)
{
    const int64_t *sa = tensor_shape(v->a) + v->a->rank - v->core;
    const int64_t *sb = tensor_shape(v->b) + v->b->rank - v->core;
    v->rows = v->core == 2 ? sa[0] : 1;
    v->b_rows = v->core == 2 ? sb[0] : 1;
    v->n = sa[v->core - 1];
    v->m = sb[v->core - 1];
    signals_conv_fits(v->call, v->mode, v->rows, v->n, v->b_rows, v->m);
    ConvCut down = signals_conv_cut(v->mode, v->core, v->rows, v->b_rows);
    ConvCut along = signals_conv_cut(v->mode, v->core, v->n, v->m);
    v->row = down.from, v->out_rows = down.count;
    v->col = along.from, v->out_n = along.count;
}

/* The cheapest exact way to sum integers: floats while every sum is below 2^53, i64, 128 bits. */
static void choose_whole(Conv *v)
{
    v->a = signals_cast(v->call, v->a, DT_I64);
    v->b = signals_cast(v->call, v->b, DT_I64);
    v->a = op_keep(v->call, tensor_compact(&v->call->in->ctx, v->a));
    v->b = op_keep(v->call, tensor_compact(&v->call->in->ctx, v->b));
    const int64_t *a = (const int64_t *)v->a->data, *b = (const int64_t *)v->b->data;
    double bound = v->a->size < v->b->size ? conv_i64_bound(b, v->b->size, a, v->a->size)
                                           : conv_i64_bound(a, v->a->size, b, v->b->size);
    int64_t shorter = (v->n < v->m ? v->n : v->m) * (v->rows < v->b_rows ? v->rows : v->b_rows);
    v->whole = bound < 0x1p53 && shorter >= 16;      /* for less, converting costs more */
    v->wide = bound >= 0x1p62;
    v->dt = v->whole ? DT_F64 : DT_I64;
    /* Rounded transforms are exact while their error stays below a half (Brent, Percival and
     * Zimmermann 2007, Error bounds on complex floating-point multiplication). */
    if (bound > 0x1p42)
        v->method = METHOD_DIRECT;
}

static void choose_dtype(Conv *v)
{
    DType both = dtype_promote((DType)v->a->dtype, (DType)v->b->dtype);
    Ctx *ctx = &v->call->in->ctx;
    if (is_whole(both))
        choose_whole(v);
    else
        v->dt = signals_compute_dtype(both);
    v->a = op_keep(v->call, tensor_compact(ctx, signals_cast(v->call, v->a, v->dt)));
    v->b = op_keep(v->call, tensor_compact(ctx, signals_cast(v->call, v->b, v->dt)));
}

/* Where a lane of a or b starts; its leading axes broadcast to the batch. */
static char *lane_of(const Conv *v, const Tensor *t, int64_t lane)
{
    int own = t->rank - v->core;
    int64_t at = 0;
    for (int d = v->batch_rank - 1, k = own - 1; d >= 0; d--, k--) {
        if (k >= 0 && tensor_shape(t)[k] > 1)
            at += lane % v->batch[d] * tensor_strides(t)[k];
        lane /= v->batch[d];
    }
    return t->data + at * dtype_info(t->dtype)->bytes;
}

/* ---- the plain sum ---- */

static ConvJob lane_job(const Conv *v, int64_t lane)
{
    int64_t bytes = dtype_info(v->dt)->bytes;
    ConvJob job = { .dt = v->dt, .rows = v->rows, .n = v->n, .b_rows = v->b_rows, .m = v->m,
                    .a = lane_of(v, v->a, lane), .b = lane_of(v, v->b, lane), .wide = v->wide,
                    .row = v->row, .col = v->col, .out_rows = v->out_rows, .out_n = v->out_n };
    job.out = v->out->data + lane * v->out_rows * v->out_n * bytes;
    if (job.m <= job.n)
        return job;
    job.a = lane_of(v, v->b, lane), job.b = lane_of(v, v->a, lane);
    job.rows = v->b_rows, job.b_rows = v->rows;
    job.n = v->m, job.m = v->n;
    return job;
}

static void direct_lanes(void *arg, int64_t begin, int64_t end, int worker)
{
    Conv *v = arg;
    Ctx *ctx = &v->call->in->ctx;
    (void)worker;
    for (int64_t lane = begin; lane < end && !*ctx->interrupt; lane++) {
        ConvJob job = lane_job(v, lane);
        if (!conv_direct(ctx, &job))
            atomic_store(&v->overflow, true);
    }
}

/* What `explain` says of the plain sum. */
static void explain_direct(const Conv *v)
{
    Interp *in = v->call->in;
    if (!heard_on(in))
        return;
    explain_routine(in, "the plain sum", NULL, "the plain sum in %s%s",
                    v->wide ? "128-bit integers" : dtype_name(v->dt),
                    v->whole ? ", exact for these integers" : "");
    if (v->mode == CONV_FULL)
        explain_flops(in,
                      2.0 * (double)v->lanes * (double)v->rows * (double)v->n * (double)v->b_rows *
                          (double)v->m,
                      v->core == 2 ? "2mnpq" : "2nm");
}

/* Small lanes are shared among threads, large ones are shared inside. */
static void run_direct(Conv *v)
{
    Ctx *ctx = &v->call->in->ctx;
    double work = (double)v->out_rows * (double)v->out_n * fmin((double)v->n, (double)v->m) *
                  fmin((double)v->rows, (double)v->b_rows);
    if (v->lanes > 1 && work < 1 << 16)
        pool_for(ctx, v->lanes, (int64_t)((1 << 16) / (work + 64)) + 1, direct_lanes, v);
    else
        direct_lanes(v, 0, v->lanes, 0);
    poll_interrupt(v->call->in);
    explain_direct(v);
}

/* ---- through transforms ---- */

static bool wants_fft(const Conv *v)
{
    bool single = v->dt == DT_F32 || v->dt == DT_C64;
    if (v->core != 1 || v->method == METHOD_DIRECT || v->dt == DT_I64)
        return false;
    if (v->method == METHOD_FFT && !v->whole)
        return true;
    if ((v->n < v->m ? v->n : v->m) < FFT_FROM || fft_missing(v->dt))
        return false;
    double size = conv_magnitude(v->dt, v->a->data, v->a->size) *
                  conv_magnitude(v->dt, v->b->data, v->b->size);
    return size * (double)v->n * (double)v->m < (single ? 1e37 : 1e300);
}

typedef struct Blocks {
    DType spectrum;                  /* dtype of the transforms */
    bool real;
    int64_t points, step, count;     /* per block; elements of a per block; blocks */
    Tensor *a, *fa, *b, *fb;         /* count x points and 1 x points; fa is a for complex */
    const char *of;                  /* whose spectrum fb is */
    int64_t transforms;              /* that ran */
} Blocks;

static Blocks blocks_new(const Conv *v, int64_t n, int64_t m)
{
    Ctx *ctx = &v->call->in->ctx;
    Blocks k = { .spectrum = dtype_complex(v->dt), .real = v->dt == DT_F32 || v->dt == DT_F64 };
    k.points = fft_good_length(n + m - 1 < 16 * m ? n + m - 1 : 8 * m);
    k.step = k.points - m + 1;
    k.count = (n + k.step - 1) / k.step;
    int64_t shape[2] = { k.count, k.points }, half[2] = { k.count, k.points / 2 + 1 };
    k.a = op_keep(v->call, tensor_new(ctx, v->dt, 2, shape));
    k.fa = k.real ? op_keep(v->call, tensor_new(ctx, k.spectrum, 2, half)) : k.a;
    shape[0] = half[0] = 1;
    k.b = op_keep(v->call, tensor_new(ctx, v->dt, 2, shape));
    k.fb = k.real ? op_keep(v->call, tensor_new(ctx, k.spectrum, 2, half)) : k.b;
    return k;
}

/* Row `to` = `count` elements at x, then zeros. */
static void fill_row(Tensor *t, int64_t row, const char *x, int64_t count)
{
    size_t bytes = dtype_info(t->dtype)->bytes, points = (size_t)tensor_shape(t)[1];
    char *to = t->data + (size_t)row * points * bytes;
    memcpy(to, x, (size_t)count * bytes);
    memset(to + (size_t)count * bytes, 0, (points - (size_t)count) * bytes);
}

static void fft_lane(const Conv *v, Blocks *k, const char *a, int64_t n, const char *b, int64_t m,
                     char *out)
{
    OpCall *c = v->call;
    int64_t bytes = dtype_info(v->dt)->bytes, last = v->col + v->out_n;
    int forward = k->real ? FFT_HALF : FFT_FORWARD, backward = k->real ? FFT_TO_REAL : FFT_BACKWARD;
    if (k->of != b) {
        fill_row(k->b, 0, b, m);
        signals_fft(c, forward, k->points, k->b, k->fb, 1, 1 / (double)k->points);
        k->of = b;
        k->transforms++;
    }
    for (int64_t i = 0; i < k->count; i++)
        fill_row(k->a, i, a + i * k->step * bytes,
                 n - i * k->step < k->step ? n - i * k->step : k->step);
    signals_fft(c, forward, k->points, k->a, k->fa, 1, 1);
    conv_multiply(&c->in->ctx, k->spectrum, k->fa->data, k->fb->data, k->count,
                  tensor_shape(k->fa)[1]);
    signals_fft(c, backward, k->points, k->fa, k->a, 1, 1);
    k->transforms += 2 * k->count;
    memset(out, 0, (size_t)(v->out_n * bytes));
    for (int64_t i = 0; i < k->count; i++) {
        int64_t from = i * k->step, to = from + k->points;
        int64_t low = from > v->col ? from : v->col, high = to < last ? to : last;
        if (low < high)
            conv_add(v->dt, out + (low - v->col) * bytes,
                     k->a->data + (i * k->points + low - from) * bytes, high - low);
    }
}

/* What `explain` says of it: transforms there and back, products. */
static void explain_blocks(const Conv *v, const Blocks *k)
{
    Interp *in = v->call->in;
    double n = (double)k->points, transforms = (double)k->transforms;
    if (!heard_on(in))
        return;
    explain_routine(in, "overlap-add", "FFTW",
                    "transforms of %lld points (FFTW), %lld block%s: overlap-add",
                    (long long)k->points, (long long)k->count, k->count == 1 ? "" : "s");
    explain_flops(in, (k->real ? 2.5 : 5) * n * log2(n) * transforms,
                  k->real ? "2.5n log2 n per transform" : "5n log2 n per transform");
}

static void run_fft(Conv *v)
{
    bool swap = v->m > v->n;
    Blocks k = blocks_new(v, swap ? v->m : v->n, swap ? v->n : v->m);
    for (int64_t lane = 0; lane < v->lanes; lane++) {
        char *a = lane_of(v, v->a, lane), *b = lane_of(v, v->b, lane);
        char *out = v->out->data + lane * v->out_n * dtype_info(v->dt)->bytes;
        fft_lane(v, &k, swap ? b : a, swap ? v->m : v->n, swap ? a : b, swap ? v->n : v->m, out);
    }
    explain_blocks(v, &k);
    if (v->whole)
        for (int64_t i = 0; i < v->out->size; i++)
            ((double *)v->out->data)[i] = rint(((double *)v->out->data)[i]);
}

/* ---- in 8 bits ---- */

/* Which of its own lanes a or b has in a lane of the batch. */
static int64_t own_lane(const Conv *v, const Tensor *t, int64_t lane)
{
    int64_t at = 0, step = 1;
    for (int d = v->batch_rank - 1, k = t->rank - v->core - 1; d >= 0; d--, k--) {
        if (k >= 0) {
            at += tensor_shape(t)[k] > 1 ? lane % v->batch[d] * step : 0;
            step *= tensor_shape(t)[k];
        }
        lane /= v->batch[d];
    }
    return at;
}

/* Whole numbers, exact sums of products, by the scales of both signals. */
static Tensor *in_scale(const Conv *v)
{
    Ctx *ctx = &v->call->in->ctx;
    Tensor *whole = signals_cast(v->call, v->out, DT_F64);
    Tensor *out = op_keep(v->call, tensor_new(ctx, DT_F32, whole->rank, tensor_shape(whole)));
    const double *from = (const double *)(const void *)whole->data;
    float *to = (float *)(void *)out->data;
    int64_t n = v->out_rows * v->out_n;
    for (int64_t lane = 0; lane < v->lanes; lane++) {
        double a = v->scale_a[own_lane(v, v->a, lane)], b = v->scale_b[own_lane(v, v->b, lane)];
        for (int64_t i = lane * n; i < (lane + 1) * n; i++)
            to[i] = (float)(from[i] * a * b);
    }
    return out;
}

/* ---- rows ---- */

static Tensor *convolve(Conv *v, DType result)
{
    OpCall *c = v->call;
    int64_t shape[TENSOR_RANK_MAX];
    read_batch(v);
    read_lengths(v);
    choose_dtype(v);
    memcpy(shape, v->batch, (size_t)v->batch_rank * sizeof *shape);
    int rank = v->batch_rank;
    if (v->core == 2)
        shape[rank++] = v->out_rows;
    shape[rank++] = v->out_n;
    v->out = op_keep(c, tensor_new(&c->in->ctx, v->dt, rank, shape));
    if (c->eight && heard_on(c->in))
        explain_routine(c->in, "i8 dynamic", NULL,
                        "%s i8 dynamic: exact sums, one scale per signal", c->op->name);
    if (wants_fft(v))
        run_fft(v);
    else
        run_direct(v);
    if (atomic_load(&v->overflow)) {
        char help[160];
        snprintf(help, sizeof help, "%s(f64(%s), %s) rounds instead", c->op->name, arg_text(c, 0),
                 arg_text(c, 1));
        arg_error_help(c, 0, ERR_VALUE, help, "a number of the result does not fit i64");
    }
    return v->scale_a ? in_scale(v) : signals_cast(c, v->out, result);
}

static DType result_dtype(const Tensor *a, const Tensor *b)
{
    DType both = dtype_promote((DType)a->dtype, (DType)b->dtype);
    return is_whole(both) ? DT_I64 : both;
}

/* An axis moved to the end, or from there back to its place: views. */
static Tensor *moved(OpCall *c, Tensor *x, int from, int to)
{
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    int at = 0;
    for (int d = 0; d < x->rank; d++) {
        int source = at == from ? ++at : at;
        if (d == to)
            source = from;
        else
            at++;
        shape[d] = tensor_shape(x)[source];
        strides[d] = tensor_strides(x)[source];
    }
    return op_keep(c, tensor_view(&c->in->ctx, x, x->rank, shape, strides, x->data));
}

/* A vector lies along whatever axis is convolved. */
static Tensor *axis_last(OpCall *c, int i, Tensor *t, int axis, int rank)
{
    int back = rank - 1 - axis;              /* counted from the end */
    if (t->rank == 1)
        return t;
    if (back >= t->rank)
        arg_error(c, i, ERR_SHAPE, "axis %d of the result is none of the %d axes of %s", axis,
                  t->rank, arg_text(c, i));
    return moved(c, t, t->rank - 1 - back, t->rank - 1);
}

/* In 8 bits both become i8, and what is done with them is exact. */
static void round_signals(Conv *v)
{
    if (!v->call->eight)
        return;
    v->a = eight_lanes(v->call, 0, v->a, v->core, &v->scale_a);
    v->b = eight_lanes(v->call, 1, v->b, v->core, &v->scale_b);
    v->method = METHOD_DIRECT;
}

Value op_run_conv(OpCall *c)
{
    Conv v = { .call = c, .core = 1, .mode = signals_conv_mode(c), .method = read_method(c) };
    v.a = arg_tensor(c, 0);
    v.b = arg_tensor(c, 1);
    for (int i = 0; i < 2; i++) {
        signals_require_axis(c, i, i ? v.b : v.a);
        require_elements(c, i, i ? v.b : v.a);
    }
    DType result = result_dtype(v.a, v.b);
    int rank = v.a->rank > v.b->rank ? v.a->rank : v.b->rank;
    int axis = arg_axis(c, 3, rank, rank - 1);
    v.a = axis_last(c, 0, v.a, axis, rank);
    v.b = axis_last(c, 1, v.b, axis, rank);
    round_signals(&v);
    Tensor *out = convolve(&v, result);
    return op_result(c, axis == rank - 1 ? out : moved(c, out, out->rank - 1, axis));
}

/* A vector as a matrix of one row; higher ranks as they are. */
static Tensor *plane_argument(OpCall *c, int i)
{
    Tensor *t = arg_tensor(c, i);
    signals_require_axis(c, i, t);
    require_elements(c, i, t);
    if (t->rank > 1)
        return t;
    int64_t shape[2] = { 1, t->size }, strides[2] = { 0, tensor_strides(t)[0] };
    return op_keep(c, tensor_view(&c->in->ctx, t, 2, shape, strides, t->data));
}

Value op_run_conv2(OpCall *c)
{
    Conv v = { .call = c, .core = 2, .mode = signals_conv_mode(c), .method = METHOD_DIRECT };
    v.a = plane_argument(c, 0);
    v.b = plane_argument(c, 1);
    DType result = result_dtype(v.a, v.b);
    round_signals(&v);
    return op_result(c, convolve(&v, result));
}

Value op_eight_conv(OpCall *c) { return op_run_conv(c); }
Value op_eight_conv2(OpCall *c) { return op_run_conv2(c); }

/* ---- diff ---- */

/* What is put before or behind x: a scalar becomes one element along the axis. */
static Value margin(OpCall *c, int i, const Tensor *x, int axis)
{
    Tensor *t = arg_tensor(c, i);
    int64_t shape[TENSOR_RANK_MAX];
    if (t->rank > 0)
        return v_tensor_raw(t);
    memcpy(shape, tensor_shape(x), x->rank * sizeof *shape);
    shape[axis] = 1;
    return v_tensor_raw(op_keep(c, tensor_broadcast(&c->in->ctx, t, x->rank, shape)));
}

static void check_margin(OpCall *c, int i, Value v, const Tensor *x, int axis)
{
    char own[128], wanted[128];
    bool same = v.tensor->rank == x->rank;
    for (int d = 0; same && d < x->rank; d++)
        same = d == axis || tensor_shape(v.tensor)[d] == tensor_shape(x)[d];
    if (same)
        return;
    char help[128];
    snprintf(help, sizeof help, "expand(%s, axis=%d) gives it the axis", arg_text(c, i), axis);
    arg_error_help(
        c, i, ERR_SHAPE, v.tensor->rank == x->rank - 1 ? help : NULL,
        "%s (shape %s) must have the shape of "
        "%s (%s) but for axis %d",
        arg_text(c, i), shape_text(own, sizeof own, v.tensor->rank, tensor_shape(v.tensor)),
        arg_text(c, 0), shape_text(wanted, sizeof wanted, x->rank, tensor_shape(x)), axis);
}

/* x with what prepend= and append= say at its ends. */
static Tensor *extended(OpCall *c, Tensor *x, int axis)
{
    Value parts[4] = { v_int(axis) };
    int count = 1;
    for (int i = 3; i <= 4; i++) {
        if (i == 4)
            parts[count++] = v_tensor_raw(x);
        if (!arg_given(c, i))
            continue;
        parts[count] = margin(c, i, x, axis);
        check_margin(c, i, parts[count++], x, axis);
    }
    if (count == 2)
        return x;
    Value joined = op_root(c, op_call(c->in, op_named(c->in, "concat"), parts, count, 0));
    return op_keep(c, v_to_tensor(c->in, joined, 0));
}

Value op_run_diff(OpCall *c)
{
    Interp *in = c->in;
    Tensor *x = arg_tensor(c, 0);
    int64_t times = arg_given(c, 1) ? arg_int(c, 1) : 1;
    signals_require_axis(c, 0, x);
    int axis = arg_axis(c, 2, x->rank, x->rank - 1);
    if (times < 0)
        arg_error(c, 1, ERR_VALUE, "differences are taken 0 times or more, not %lld",
                  (long long)times);
    x = times == 0 ? x : extended(c, x, axis);
    const Op *subtract = op_named(in, "subtract");
    Value *mark = in->sp;
    for (int64_t k = 0; k < times; k++) {
        int64_t n = tensor_shape(x)[axis], left = n > 0 ? n - 1 : 0;
        Value r = op_binary(in, subtract, v_tensor_raw(signals_slice(c, x, axis, n - left, left)),
                            v_tensor_raw(signals_slice(c, x, axis, 0, left)), 0);
        v_push(in, r);                       /* over the views and the x they are of … */
        x = op_keep(c, v_to_tensor(in, r, 0));
        tensor_retain(x);
        stack_cut(in, mark);                 /* … which nobody needs any more */
        op_keep(c, x);
        poll_interrupt(in);
        if (left == 0)
            break;
    }
    return op_result(c, x);
}
