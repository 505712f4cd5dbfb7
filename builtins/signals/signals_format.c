/* Signals and data in a format: differences, convolution, lines through points, histograms,
 * covariance. Called through the precision aspect. */
#include "builtins/signals/signals.h"
#include "builtins/formats/formats.h"

#include <string.h>

static Value in_format(OpCall *c, Scope *s, FormatInOrder run)
{
    Precise p;
    precise_open(&p, c->in, s);
    Value r = run(c, &p);
    precise_close(&p);
    return r;
}

/* An argument that the row takes in the formats of the machine alone. */
static void refuse_given(OpCall *c, Precise *p, int i)
{
    if (arg_given(c, i) && c->args[i].tag != V_NONE)
        arg_error_help(c, i, ERR_DTYPE, "leave it out, or compute in floats: precision f64 { … }",
                       "%s has no form in %s", arg_name(c, i), dtype_name(p->scope->format));
}

/* ---- differences ---- */
static Value run_diff(OpCall *c, Precise *p)
{
    Tensor *x = precise_operand(c, p, 0);
    int64_t times = arg_given(c, 1) ? arg_int(c, 1) : 1;
    if (arg_given(c, 3) || arg_given(c, 4) || x->rank == 0 || times < 0)
        format_refuse(c, p->scope->format);
    int axis = arg_axis(c, 2, x->rank, x->rank - 1);
    if (times > tensor_shape(x)[axis])
        times = tensor_shape(x)[axis];           /* nothing is left */
    while (times-- > 0) {
        Value *mark = c->in->sp;
        int64_t shape[TENSOR_RANK_MAX],
            step = tensor_strides(x)[axis] * dtype_info((DType)x->dtype)->bytes;
        memcpy(shape, tensor_shape(x), (size_t)x->rank * sizeof *shape);
        shape[axis] -= shape[axis] > 0;
        Ctx *ctx = &c->in->ctx;
        Tensor *low = op_keep(c, tensor_view(ctx, x, x->rank, shape, tensor_strides(x), x->data));
        Tensor *high =
            op_keep(c, tensor_view(ctx, x, x->rank, shape, tensor_strides(x), x->data + step));
        x = op_keep(
            c, v_to_tensor(c->in,
                           format_row(c, "subtract", 2, v_tensor_raw(high), v_tensor_raw(low)), 0));
        tensor_retain(x);
        stack_cut(c->in, mark);
        op_keep(c, x);
    }
    return op_result(c, x);
}

Value op_format_diff(OpCall *c, Scope *s)
{
    if (format_all_whole(c))
        return exact_run(c);
    if (scope_ordinary(s) || arg_given(c, 3) || arg_given(c, 4))
        return op_format_wide(c, s);
    return in_format(c, s, run_diff);
}

/* ---- convolution ---- */
/* Both operands in carriers of the accumulator; complex where one of them is. */
static void both_summands(OpCall *c, Precise *p, Tensor **x, Tensor **y)
{
    Tensor *given[2] = { arg_tensor(c, 0), arg_tensor(c, 1) };
    bool paired = false;
    for (int i = 0; i < 2; i++)
        paired |= dtype_info((DType)given[i]->dtype)->kind == 'c';
    for (int i = 0; i < 2; i++) {
        Tensor *t = given[i];
        if (paired)
            t = op_keep(c, precise_carriers_as(p, c->op, t, true));
        *(i ? y : x) = format_summands(c, p, t);
    }
}

/* The sum of x[i] y[i] in order, the textbook formula where they are complex. */
static ArithStatus products(Precise *p, bool paired, char *out, const char *x, int64_t sx,
                            const char *y, int64_t sy, int64_t n)
{
    Arith *a = &p->acc;
    if (!paired)
        return a->ops->dot(a, out, x, sx, y, sy, n);
    NumberCell sum[2], product[2];
    const int64_t one[] = { 1, 1 };
    char *im = (char *)product + a->size;
    ArithStatus s = ARITH_OK;
    memset(sum, 0, sizeof sum);
    for (int64_t i = 0; i < n && s == ARITH_OK; i++) {
        s = arith_complex(a, EW_MULTIPLY, product, im, arith_pair(a, x + 2 * i * sx * a->size, 1),
                          arith_pair(a, y + 2 * i * sy * a->size, 1), 1);
        if (i == 0)
            memcpy(sum, product, sizeof sum);
        else if (s == ARITH_OK)
            s = a->ops->ew(a, EW_ADD, sum, 1, (const void *const[]){ sum, product }, one, 2);
    }
    memcpy(out, sum, (size_t)(2 * a->size));
    return s;
}

/* Vectors: sums over the first operand's elements in their order. */
static Value run_conv(OpCall *c, Precise *p)
{
    Tensor *x, *y;
    both_summands(c, p, &x, &y);
    ConvMode mode = signals_conv_mode(c);
    if (x->rank != 1 || y->rank != 1 || x->size == 0 || y->size == 0)
        format_refuse(c, p->scope->format);
    int64_t n = x->size, m = y->size;
    ConvCut cut = signals_conv_cut(mode, 1, n, m);
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, (DType)x->dtype, 1, &cut.count));
    int64_t size = dtype_info((DType)x->dtype)->bytes;
    bool paired = size > p->acc.size;
    for (int64_t k = 0; k < cut.count; k++) {
        int64_t at = k + cut.from, low = at - m + 1 > 0 ? at - m + 1 : 0,
                high = at < n - 1 ? at : n - 1;
        ArithStatus s = products(p, paired, out->data + k * size, x->data + low * size, 1,
                                 y->data + (at - low) * size, -1, high - low + 1);
        precise_check(c->in, c->op, s, p->acc.dtype);
    }
    return format_sums(c, p, out);
}

Value op_format_conv(OpCall *c, Scope *s) { return format_accumulate(c, s, false, run_conv); }

/* Matrices. Row by row of the kernel: what of a lies under it is gathered, and summed in order. */
static Value run_conv2(OpCall *c, Precise *p)
{
    Tensor *x, *y;
    both_summands(c, p, &x, &y);
    ConvMode mode = signals_conv_mode(c);
    if (x->rank != 2 || y->rank != 2 || x->size == 0 || y->size == 0)
        format_refuse(c, p->scope->format);
    int64_t rows = tensor_shape(x)[0], n = tensor_shape(x)[1];
    int64_t b_rows = tensor_shape(y)[0], m = tensor_shape(y)[1];
    signals_conv_fits(c, mode, rows, n, b_rows, m);
    ConvCut down = signals_conv_cut(mode, 2, rows, b_rows);
    ConvCut along = signals_conv_cut(mode, 2, n, m);
    int64_t shape[] = { down.count, along.count }, room = b_rows * m;
    Ctx *ctx = &c->in->ctx;
    Tensor *out = op_keep(c, tensor_new(ctx, (DType)x->dtype, 2, shape));
    char *under = op_keep(c, tensor_new(ctx, (DType)x->dtype, 1, &room))->data;
    char *turned = op_keep(c, tensor_new(ctx, (DType)x->dtype, 1, &room))->data;
    int64_t size = dtype_info((DType)x->dtype)->bytes;
    bool paired = size > p->acc.size;
    for (int64_t k = 0; k < down.count * along.count; k++) {
        int64_t at = k / along.count + down.from, col = k % along.count + along.from, count = 0;
        for (int64_t i = 0; i < b_rows; i++)
            for (int64_t j = 0; j < m && at - i >= 0 && at - i < rows; j++) {
                if (col - j < 0 || col - j >= n)
                    continue;
                memcpy(under + count * size, x->data + ((at - i) * n + col - j) * size,
                       (size_t)size);
                memcpy(turned + count++ * size, y->data + (i * m + j) * size, (size_t)size);
            }
        ArithStatus s = products(p, paired, out->data + k * size, under, 1, turned, 1, count);
        precise_check(c->in, c->op, s, p->acc.dtype);
        poll_interrupt(c->in);
    }
    return format_sums(c, p, out);
}

Value op_format_conv2(OpCall *c, Scope *s)
{
    return format_is_binary(s->format) ? op_format_wide(c, s)
                                       : format_accumulate(c, s, false, run_conv2);
}

/* ---- interp ---- */
/* n elements of a vector from `from` on; rooted. */
static Value stretch(OpCall *c, Tensor *x, int64_t from, int64_t n)
{
    char *data = x->data + from * tensor_strides(x)[0] * dtype_info((DType)x->dtype)->bytes;
    return op_root(c, v_tensor_raw(tensor_view(&c->in->ctx, x, 1, &n, tensor_strides(x), data)));
}

static void check_points(OpCall *c, Precise *p, const Tensor *x, const Tensor *xp,
                         const Tensor *fp)
{
    bool real = dtype_info((DType)x->dtype)->kind != 'c' &&
                dtype_info((DType)xp->dtype)->kind != 'c' &&
                dtype_info((DType)fp->dtype)->kind != 'c';
    refuse_given(c, p, 5);
    if (xp->rank != 1 || fp->rank != 1 || !real)
        format_refuse(c, p->scope->format);
    signals_points(c, xp->size, fp->size);
}

static void check_increases(OpCall *c, Tensor *xp)
{
    for (int64_t i = 0; i + 1 < xp->size; i++) {
        Value *mark = c->in->sp;
        Value less = format_row(c, "less", 2, stretch(c, xp, i, 1), stretch(c, xp, i + 1, 1));
        if (!((const bool *)less.tensor->data)[0])
            arg_error(c, 1, ERR_VALUE, "%s must increase, but its elements %lld and %lld do not",
                      arg_text(c, 1), (long long)i, (long long)i + 1);
        stack_cut(c->in, mark);
        poll_interrupt(c->in);
    }
}

/* How many of the ascending `points` are less than x, or at most x; an int for each of x. */
static Value places_below(OpCall *c, Tensor *x, Tensor *points, bool most)
{
    const char *side = most ? "right" : "left";
    Value word = op_root(c, v_str(str_new(&c->in->ctx, side, strlen(side))));
    return format_row(c, "searchsorted", 3, v_tensor_raw(points), v_tensor_raw(x), word);
}

/* f0 + (x - x0) (f1 - f0) / (x1 - x0) between two points. */
static Value between(OpCall *c, Tensor *xs, Tensor *xp, Tensor *fp)
{
    Value x = v_tensor_raw(xs), places = v_tensor_raw(xp), values = v_tensor_raw(fp);
    Value at = places_below(c, xs, xp, true);
    int64_t last = xp->size > 1 ? xp->size - 2 : 0;
    at = format_row(c, "subtract", 2, at, v_int(1));
    at = format_row(c, "clamp", 3, at, v_int(0), v_int(last));
    Value f0 = format_row(c, "take", 2, values, at);
    if (xp->size == 1)
        return f0;
    Value next = format_row(c, "add", 2, at, v_int(1));
    Value x0 = format_row(c, "take", 2, places, at), x1 = format_row(c, "take", 2, places, next);
    Value rise = format_row(c, "subtract", 2, format_row(c, "take", 2, values, next), f0);
    Value way = format_row(c, "multiply", 2, format_row(c, "subtract", 2, x, x0), rise);
    way = format_row(c, "divide", 2, way, format_row(c, "subtract", 2, x1, x0));
    return format_row(c, "add", 2, f0, way);
}

static Value run_interp(OpCall *c, Precise *p)
{
    Scope inner;
    Tensor *x = precise_operand(c, p, 0), *xp = precise_operand(c, p, 1);
    Tensor *fp = precise_operand(c, p, 2);
    check_points(c, p, x, xp, fp);
    int64_t m = xp->size;
    format_enter(c, p, &inner);
    check_increases(c, xp);
    Value v = v_tensor_raw(x), y = between(c, x, xp, fp);
    for (int side = 0; side < 2; side++) {
        int64_t end = side ? m - 1 : 0;
        Value out = format_row(c, side ? "greater" : "less", 2, v, stretch(c, xp, end, 1));
        bool given = arg_given(c, 3 + side) && c->args[3 + side].tag != V_NONE;
        Value instead = given ? v_tensor_raw(format_number(c, 3 + side)) : stretch(c, fp, end, 1);
        y = format_row(c, "where", 3, out, instead, y);
    }
    if (x->rank == 0 && y.tag == V_TENSOR && y.tensor->rank == 1)
        y = op_root(c, v_tensor_raw(tensor_view(&c->in->ctx, y.tensor, 0, NULL, NULL,
                                                y.tensor->data)));
    return format_leave(c, p, &inner, y);
}

/* Binary formats: in f64, and rounded once. Intervals that overlap have no order. */
Value op_format_interp(OpCall *c, Scope *s)
{
    if (format_is_binary(s->format) || s->format == DT_INTERVAL)
        return op_format_wide(c, s);
    return in_format(c, s, run_interp);
}

/* ---- histogram ---- */
static Value finite_number(OpCall *c, int i, Value v)
{
    Value finite = format_row(c, "isfinite", 1, v);
    Tensor *t = op_keep(c, v_to_tensor(c->in, finite, 0));
    if (t->rank == 0 && *(const bool *)t->data)
        return v;
    if (i > 0)
        arg_error_help(c, i, ERR_VALUE, "range=(0, 1)", "range is a tuple of two finite numbers");
    arg_error(c, i, ERR_VALUE,
              "bins cannot reach from min to max: %s has a nan or an infinite element",
              arg_text(c, 0));
}

/* The ends of all bins: range=, or what x has. */
static void bounds(OpCall *c, Precise *p, Tensor *x, Value end[2])
{
    bool given = arg_given(c, 2) && c->args[2].tag != V_NONE;
    for (int i = 0; i < 2; i++) {
        Value v = v_int(i);
        if (given) {
            Value r = c->args[2];
            if (r.tag != V_TUPLE || r.tuple->count != 2 || !v_is_numeric(r.tuple->items[i]))
                arg_error_help(c, 2, ERR_TYPE, "range=(0, 1)",
                               "range must be a tuple of two numbers");
            v = v_tensor_raw(op_keep(c, v_to_tensor(c->in, r.tuple->items[i], 0)));
            v = v_tensor_raw(op_keep(c, precise_round(p, c->op, v.tensor)));
        } else if (x->size > 0) {
            v = format_row(c, i ? "max" : "min", 1, v_tensor_raw(x));
        }
        v = format_row(c, "divide", 2, v, v_int(1));            /* of whole numbers, too */
        end[i] = finite_number(c, given ? 2 : 0, v);
    }
}

static Tensor *row_tensor(OpCall *c, Value v) { return op_keep(c, v_to_tensor(c->in, v, 0)); }

static bool truth(OpCall *c, const char *name, Value x, Value y)
{
    return *(const bool *)row_tensor(c, format_row(c, name, 2, x, y))->data;
}

/* low + k (high - low) / bins, and high itself. */
static Tensor *equal_bins(OpCall *c, int64_t bins, Value end[2])
{
    if (bins < 1)
        arg_error(c, 1, ERR_VALUE, "a histogram has at least one bin, not %lld", (long long)bins);
    if (truth(c, "greater", end[0], end[1]))
        arg_error(c, 2, ERR_VALUE, "range goes from a number to one that is not less");
    if (truth(c, "equal", end[0], end[1])) {
        Value half = format_row(c, "divide", 2, v_int(1), v_int(2));
        end[0] = format_row(c, "subtract", 2, end[0], half);
        end[1] = format_row(c, "add", 2, end[1], half);
    }
    int64_t count = bins + 1;
    Tensor *steps = op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &count));
    for (int64_t i = 0; i < count; i++)
        ((int64_t *)(void *)steps->data)[i] = i;
    Value width = format_row(c, "subtract", 2, end[1], end[0]);
    Value e = format_row(c, "multiply", 2, v_tensor_raw(steps), width);
    e = format_row(c, "add", 2, format_row(c, "divide", 2, e, v_int(bins)), end[0]);
    Tensor *edges = op_keep(c, tensor_copy(&c->in->ctx, row_tensor(c, e)));
    Tensor *last = row_tensor(c, end[1]);
    size_t bytes = dtype_info((DType)edges->dtype)->bytes;
    if (last->dtype == edges->dtype)
        memcpy(edges->data + (size_t)bins * bytes, last->data, bytes);
    check_increases(c, edges);
    return edges;
}

static Tensor *edges_of(OpCall *c, Precise *p, Tensor *x)
{
    int64_t bins = 10;
    Value end[2];
    if (arg_given(c, 1) && !v_as_int(c->args[1], &bins)) {
        Tensor *edges = precise_operand(c, p, 1);
        if (edges->rank != 1 || edges->size < 2)
            arg_error(c, 1, ERR_VALUE, "bins are an int or a vector of at least two edges");
        check_increases(c, edges);
        return edges;
    }
    bounds(c, p, x, end);
    return equal_bins(c, bins, end);
}

static Value run_histogram(OpCall *c, Precise *p)
{
    Scope inner;
    refuse_given(c, p, 4);
    Tensor *x = format_flat(c, precise_operand(c, p, 0));
    if (dtype_info((DType)x->dtype)->kind == 'c')
        format_refuse(c, p->scope->format);
    format_enter(c, p, &inner);
    Tensor *edges = edges_of(c, p, x);
    int64_t bins = edges->size - 1;
    const int64_t *at = (const int64_t *)(const void *)row_tensor(c, places_below(c, x, edges,
                                                                                  true))->data;
    const int64_t *low = (const int64_t *)(const void *)row_tensor(c, places_below(c, x, edges,
                                                                                   false))->data;
    Tensor *counts = op_keep(c, tensor_zeros(&c->in->ctx, DT_I64, 1, &bins));
    for (int64_t i = 0; i < x->size; i++) {
        bool last = at[i] == bins + 1 && low[i] == bins;        /* its last bin has both edges */
        int64_t k = last ? bins - 1 : at[i] - 1;
        if (k >= 0 && k < bins)
            ((int64_t *)(void *)counts->data)[k]++;
    }
    Value n = v_tensor_raw(counts), result = n;
    if (arg_bool(c, 3, false)) {
        Value width = format_row(c, "subtract", 2, stretch(c, edges, 1, bins),
                                 stretch(c, edges, 0, bins));
        Value all = format_row(c, "multiply", 2, width, format_row(c, "sum", 1, n));
        result = format_row(c, "divide", 2, n, all);
    }
    Value of[2] = { format_leave(c, p, &inner, v_tensor_raw(edges)), v_retain(result) };
    return tuple_make(c->in, "counts", of[1], "edges", of[0], NULL);
}

Value op_format_histogram(OpCall *c, Scope *s)
{
    if (format_is_binary(s->format) || s->format == DT_INTERVAL)
        return op_format_counts(c, s);
    return in_format(c, s, run_histogram);
}

/* ---- covariance ---- */
/* Operand i as variables in rows of observations. */
static Tensor *variable_rows(OpCall *c, Precise *p, int i, bool rows)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *x = precise_operand(c, p, i);
    if (x->rank == 0 || x->rank > 2)
        format_refuse(c, p->scope->format);
    if (x->rank == 2 && !rows)
        x = op_keep(c, tensor_transpose_last(ctx, x));
    x = op_keep(c, tensor_compact(ctx, x));
    int64_t n = tensor_shape(x)[x->rank - 1], count = x->rank == 2 ? tensor_shape(x)[0] : 1;
    return op_keep(c,
                   tensor_view(ctx, x, 2, (int64_t[]){ count, n }, (int64_t[]){ n, 1 }, x->data));
}

/* The variables of both operands, those of the first on top. */
static Tensor *variables(OpCall *c, Precise *p)
{
    bool rows = arg_bool(c, 2, true);
    Tensor *x = variable_rows(c, p, 0, rows);
    if (!arg_given(c, 1) || c->args[1].tag == V_NONE)
        return x;
    Tensor *y = variable_rows(c, p, 1, rows);
    int64_t n = tensor_shape(x)[1], m = tensor_shape(y)[1];
    if (n != m)
        arg_error(c, 1, ERR_SHAPE, "%s has %lld observations and %s %lld", arg_text(c, 0),
                  (long long)n, arg_text(c, 1), (long long)m);
    if (x->dtype != y->dtype)
        format_refuse(c, p->scope->format);
    int64_t shape[] = { tensor_shape(x)[0] + tensor_shape(y)[0], n };
    Tensor *both = op_keep(c, tensor_new(&c->in->ctx, (DType)x->dtype, 2, shape));
    size_t bytes = (size_t)(x->size * dtype_info((DType)x->dtype)->bytes);
    memcpy(both->data, x->data, bytes);
    memcpy(both->data + bytes, y->data, (size_t)(y->size * dtype_info((DType)x->dtype)->bytes));
    return both;
}

/* X X^H / (n - ddof) of centred rows. */
static Value cov_of(OpCall *c, Tensor *x, Value by)
{
    Value mean = format_row(c, "mean", 3, v_tensor_raw(x), v_int(-1), v_bool(true));
    Value d = format_row(c, "subtract", 2, v_tensor_raw(x), mean);
    Value product = format_row(c, "matmul", 2, d, format_row(c, "ctranspose", 1, d));
    return format_row(c, "divide", 2, product, by);
}

/* One variable gives a number, not a 1x1 matrix. */
static Value one_or_matrix(OpCall *c, Value r)
{
    Tensor *t = r.tensor;
    if (r.tag != V_TENSOR || t->size != 1)
        return r;
    return op_root(c, v_tensor_raw(tensor_view(&c->in->ctx, t, 0, tensor_shape(t),
                                               tensor_strides(t), t->data)));
}

static Value run_cov(OpCall *c, Precise *p)
{
    Scope inner;
    if (arg_given(c, 5) || arg_given(c, 6))
        format_refuse(c, p->scope->format);
    Tensor *x = variables(c, p);
    format_enter(c, p, &inner);
    Value by = format_freedom(c, tensor_shape(x)[1], 4, !arg_bool(c, 3, false));
    return format_leave(c, p, &inner, one_or_matrix(c, cov_of(c, x, by)));
}

static Value run_corrcoef(OpCall *c, Precise *p)
{
    Scope inner;
    Tensor *x = variables(c, p);
    format_enter(c, p, &inner);
    Value cov = cov_of(c, x, v_int(tensor_shape(x)[1] - 1));
    Value scale = format_row(c, "sqrt", 1, format_row(c, "real", 1, format_row(c, "diag", 1, cov)));
    Value r = format_row(c, "divide", 2, cov, format_row(c, "outer", 2, scale, scale));
    return format_leave(c, p, &inner, one_or_matrix(c, r));
}

Value op_format_cov(OpCall *c, Scope *s) { return format_accumulate(c, s, true, run_cov); }
Value op_format_corrcoef(OpCall *c, Scope *s)
{
    return format_accumulate(c, s, true, run_corrcoef);
}
