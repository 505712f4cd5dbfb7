/* Reductions, running sums and order in a format: see formats.h. Called through the precision
 * aspect. Sums go from left to right through the accumulator's arithmetic; what is made of sums
 * (variance, softmax …) is written with rows, in a scope whose format is the accumulator. */
#include "builtins/formats/formats.h"
#include "builtins/rows/rows.h"

#include "core/base/error.h"
#include "interp/op/elementwise.h"
#include "interp/op/exact.h"
#include "interp/op/heard.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool format_is_binary(DType dt)
{
    return dtype_mini_read(dt, &(int){ 0 }, &(int){ 0 }, &(MiniStyle){ 0 });
}

static bool is_whole(DType dt)
{
    return dtype_info(dt)->kind == 'i' || dtype_info(dt)->kind == 'b';
}
static bool is_complex(DType dt) { return dtype_info(dt)->kind == 'c'; }

void format_refuse(OpCall *c, DType format)
{
    char help[160];
    const char *text = arg_written(c, 0);
    bool alone = c->count == 1 || c->args[1].tag == V_UNDEF;
    snprintf(help, sizeof help,
             alone && text ? "compute in floats: precision f64 { %s(%s) }"
                            : "compute in floats: precision f64 { … }",
             c->op->name, text ? text : "");
    const Scope *s = precise_scope(c->in);
    bool plain = !s || (format != DT_F32 && format != DT_F64) ||
                 (scope_ordinary(s) && !s->reproducible);
    err_raise_help(&c->in->ctx, ERR_DTYPE, help, "%s has no form in %s%s", c->op->name,
                   dtype_name(format), plain ? "" : " with the scope's modifiers");
}

/* ---- ints ---- */
static bool whole_value(Value v)
{
    if (v.tag == V_RANGE)
        return true;
    if (v.tag == V_TUPLE) {
        bool whole = true;
        for (uint32_t i = 0; i < v.tuple->count; i++)
            whole &= whole_value(v.tuple->items[i]);
        return whole;
    }
    DType dt = v_dtype(v);
    return dt == DT_NONE || is_whole(dt);
}

bool format_all_whole(const OpCall *c)
{
    for (int i = 0; i < c->count; i++)
        if (!whole_value(c->args[i]))
            return false;
    return true;
}

/* Exactly, as fractions: ints where they fit, else numbers of the format. */
static Value whole_call(OpCall *c, Scope *s)
{
    Interp *in = c->in;
    DType base = dtype_base(s->format);
    if ((base != DT_MP && base != DT_DECIMAL && base != DT_RATIONAL) || !c->op->exact)
        return exact_run(c);
    Value args[16];
    OpCall call = *c;
    call.args = args;
    if (c->count > 16)
        return exact_run(c);
    for (int i = 0; i < c->count; i++) {
        args[i] = c->args[i];
        if (args[i].tag == V_TENSOR || args[i].tag == V_RANGE) {
            Tensor *t = op_keep(c, v_to_tensor(in, args[i], i));
            args[i] = v_tensor_raw(op_keep(c, tensor_cast(&in->ctx, t, DT_RATIONAL)));
        }
    }
    Scope *outer = in->scope;
    in->scope = NULL;
    Value r = op_root(c, exact_run(&call));
    in->scope = outer;
    if (r.tag != V_TENSOR || r.tensor->dtype != DT_RATIONAL)
        return v_retain(r);
    for (int64_t i = 0; i < r.tensor->size; i++)
        if (!tensor_contiguous(r.tensor) ||
            !rational_as_int(((const Rational *)(void *)r.tensor->data)[i], &(int64_t){ 0 }))
            return precise_settle(in, s, c->op, v_retain(r));
    return v_tensor(&in->ctx, tensor_cast(&in->ctx, r.tensor, DT_I64));
}

/* ---- sums ---- */
static bool any_complex(const OpCall *c)
{
    for (int i = 0; i < c->count; i++)
        if (v_dtype(c->args[i]) != DT_NONE && is_complex(v_dtype(c->args[i])))
            return true;
    return false;
}

/* What the ordinary kernels are given; DT_NONE: numbers of the format itself. */
static DType fast_dtype(const OpCall *c, const Scope *s)
{
    bool half = dtype_half(s->format);
    if (s->accumulate == s->format)
        return DT_NONE;
    bool plain = s->round == ROUND_NEAREST && !s->saturate && !s->flush;
    return half && plain && !any_complex(c) && s->accumulate == DT_F32 ? DT_NONE : s->accumulate;
}

Value format_accumulate(OpCall *c, Scope *s, bool whole, FormatInOrder run)
{
    Precise p;
    if (!whole && format_all_whole(c))
        return whole_call(c, s);
    if (s->format == DT_RATIONAL && s->accumulate == DT_RATIONAL && !any_complex(c))
        return precise_outside(c, s, DT_NONE, true);
    if (precise_fast(s)) {
        s->partly = true;
        if (s->accumulate != s->format)
            explain_note(c->in, "sums", "by the kernels of %s, the result rounded once",
                         dtype_name(s->accumulate));
        return precise_outside(c, s, fast_dtype(c, s), whole);
    }
    precise_open(&p, c->in, s);
    precise_accumulator(&p);
    Value r = run(c, &p);
    if (p.sums)
        explain_note(c->in, "sums", "%s", p.sums);
    else
        explain_note(c->in, "sums", "in order, each product and sum rounded to %s",
                     dtype_name(s->accumulate));
    precise_close(&p);
    return r;
}

Tensor *format_summands(OpCall *c, Precise *p, Tensor *t)
{
    return op_keep(c, precise_summands(p, c->op, t));
}

Value format_sums(OpCall *c, Precise *p, Tensor *t)
{
    return op_result(c, op_keep(c, precise_result(p, c->op, &p->acc, t)));
}

/* ---- lanes over reduced axes ---- */
typedef struct Lanes {
    Tensor *x;                 /* carriers of the accumulator, contiguous, reduced axes last */
    int64_t count, n;          /* lanes, elements of each */
    int rank;                  /* of the result, and its shape */
    int64_t shape[TENSOR_RANK_MAX];
    int parts, bytes;          /* real numbers in an element, bytes of each */
} Lanes;

Tensor *format_axes_last(OpCall *c, Tensor *x, uint64_t axes)
{
    Ctx *ctx = &c->in->ctx;
    return op_keep(c, tensor_compact(ctx, op_keep(c, tensor_axes_last(ctx, x, axes))));
}

static Lanes lanes_read(OpCall *c, Precise *p, uint64_t axes, bool keep)
{
    Tensor *x = arg_tensor(c, 0);
    Lanes l = { .n = 1, .count = 1 };
    for (int a = 0; a < x->rank; a++) {
        bool reduced = axes >> a & 1;
        l.n *= reduced ? tensor_shape(x)[a] : 1;
        if (!reduced || keep)
            l.shape[l.rank++] = reduced ? 1 : tensor_shape(x)[a];
    }
    for (int a = 0; a < l.rank; a++)
        l.count *= l.shape[a];
    l.parts = is_complex((DType)x->dtype) ? 2 : 1;
    l.bytes = p->acc.size;
    l.x = format_axes_last(c, format_summands(c, p, x), axes);
    return l;
}

static Tensor *lanes_out(OpCall *c, const Lanes *l)
{
    return op_keep(c, tensor_new(&c->in->ctx, (DType)l->x->dtype, l->rank, l->shape));
}

static Value reduce_sum(OpCall *c, Precise *p)
{
    uint64_t axes = arg_axes(c, 1, arg_tensor(c, 0)->rank);
    Lanes l = lanes_read(c, p, axes, arg_bool(c, 2, false));
    Tensor *out = lanes_out(c, &l);
    int64_t step = (int64_t)l.parts * l.bytes;
    for (int64_t i = 0; i < l.count; i++)
        for (int k = 0; k < l.parts; k++)
            precise_check(c->in, c->op,
                          p->acc.ops->sum(&p->acc, out->data + i * step + k * l.bytes,
                                          l.x->data + i * l.n * step + k * l.bytes, l.parts, l.n),
                          p->acc.dtype);
    return format_sums(c, p, out);
}

/* 0 or 1 as a carrier of the accumulator. */
static void put_int(OpCall *c, Precise *p, void *to, int64_t value)
{
    precise_check(c->in, c->op, p->acc.ops->load(&p->acc, to, 1, DT_I64, &value, 1, 1),
                  p->acc.dtype);
}

/* y = y op x, one number; complex ones by their textbook product. */
static void step(OpCall *c, Precise *p, EwOp op, char *y, const char *x, int parts)
{
    Arith *a = &p->acc;
    const int64_t one[] = { 1, 1 };
    ArithStatus s = ARITH_OK;
    if (parts == 2 && op == EW_MULTIPLY) {
        NumberCell re, im;
        s = arith_complex(a, op, &re, &im, arith_pair(a, y, 1), arith_pair(a, x, 1), 1);
        arith_pairs_put(a, y, 1, &re, &im, 1);
    } else {
        for (int k = 0; k < parts && s == ARITH_OK; k++) {
            char *to = y + k * a->size;
            s = a->ops->ew(a, op, to, 1, (const void *const[]){ to, x + k * a->size }, one, 1);
        }
    }
    precise_check(c->in, c->op, s, a->dtype);
}

static Value reduce_prod(OpCall *c, Precise *p)
{
    uint64_t axes = arg_axes(c, 1, arg_tensor(c, 0)->rank);
    Lanes l = lanes_read(c, p, axes, arg_bool(c, 2, false));
    Tensor *out = lanes_out(c, &l);
    int64_t each = (int64_t)l.parts * l.bytes;
    memset(out->data, 0, (size_t)(out->size * each));
    for (int64_t i = 0; i < l.count; i++) {
        char *to = out->data + i * each;
        const char *x = l.x->data + i * l.n * each;
        if (l.n == 0)
            put_int(c, p, to, 1);
        else
            memcpy(to, x, (size_t)each);
        for (int64_t k = 1; k < l.n; k++) {
            step(c, p, EW_MULTIPLY, to, x + k * each, l.parts);
            format_collect(c);
        }
    }
    return format_sums(c, p, out);
}

Value op_format_sum(OpCall *c, Scope *s) { return format_accumulate(c, s, false, reduce_sum); }
Value op_format_prod(OpCall *c, Scope *s) { return format_accumulate(c, s, false, reduce_prod); }

/* ---- running sums ---- */
Tensor *format_flat(OpCall *c, Tensor *x)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *dense = op_keep(c, tensor_compact(ctx, x));
    int64_t one = 1;
    return op_keep(c, tensor_view(ctx, dense, 1, &dense->size, &one, dense->data));
}

/* The view of x, its axis moved last, with that axis back in its place. */
Tensor *format_axis_back(OpCall *c, Tensor *x, int axis)
{
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    int from = 0;
    for (int a = 0; a < x->rank; a++) {
        int own = a == axis ? x->rank - 1 : from++;
        shape[a] = tensor_shape(x)[own];
        strides[a] = tensor_strides(x)[own];
    }
    return op_keep(c, tensor_view(&c->in->ctx, x, x->rank, shape, strides, x->data));
}

static Value running(OpCall *c, Precise *p, EwOp op)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *x = arg_tensor(c, 0);
    bool all = !arg_given(c, 1) || x->rank == 0;
    int axis = all ? 0 : arg_axis(c, 1, x->rank, 0), parts = is_complex((DType)x->dtype) ? 2 : 1;
    x = format_axes_last(c, format_summands(c, p, all ? format_flat(c, x) : x),
                         UINT64_C(1) << axis);
    Tensor *out = op_keep(c, tensor_copy(ctx, x));
    int64_t n = tensor_shape(x)[x->rank - 1], each = (int64_t)parts * p->acc.size;
    for (int64_t i = 0; i < out->size; i++) {
        char *to = out->data + i * each, here[32];
        if (i % n == 0) {                     /* the first partial sum, rounded as the others are */
            for (int k = 0; op == EW_ADD && k < parts; k++)
                precise_check(c->in, c->op,
                              p->acc.ops->sum(&p->acc, to + k * p->acc.size, to + k * p->acc.size,
                                              1, 1),
                              p->acc.dtype);
            continue;
        }
        memcpy(here, to, (size_t)each);
        memcpy(to, to - each, (size_t)each);
        step(c, p, op, to, here, parts);
        format_collect(c);
    }
    out = op_keep(c, precise_result(p, c->op, &p->acc, out));
    return op_result(c, format_axis_back(c, out, axis));
}

static Value run_cumsum(OpCall *c, Precise *p) { return running(c, p, EW_ADD); }
static Value run_cumprod(OpCall *c, Precise *p) { return running(c, p, EW_MULTIPLY); }
Value op_format_cumsum(OpCall *c, Scope *s) { return format_accumulate(c, s, false, run_cumsum); }
Value op_format_cumprod(OpCall *c, Scope *s) { return format_accumulate(c, s, false, run_cumprod); }

/* ---- what is made of rows ---- */
/* A row on values; constants adapt to the others. */
Value format_row(OpCall *c, const char *name, int n, ...)
{
    Value args[6];
    unsigned weak = 0;
    va_list list;
    va_start(list, n);
    for (int i = 0; i < n; i++) {
        args[i] = va_arg(list, Value);
        weak |= args[i].tag == V_INT || args[i].tag == V_FLOAT ? 1u << i : 0;
    }
    va_end(list);
    return op_root(c, op_call(c->in, op_named(c->in, name), args, n, weak));
}

Tensor *format_number(OpCall *c, int i)
{
    Rational cell;
    Value v = c->args[i];
    bool literal = v.tag == V_FLOAT && (c->weak >> i & 1);
    if (literal && exact_literal(c->in, i, v.f, &cell))
        return op_keep(c, tensor_scalar(&c->in->ctx, DT_RATIONAL, &cell));
    return arg_tensor(c, i);
}

Value format_freedom(OpCall *c, int64_t n, int i, int64_t fallback)
{
    double less = arg_given(c, i) ? arg_float(c, i) : (double)fallback;
    bool whole = c->args[i].tag != V_TENSOR && less == floor(less) && fabs(less) < 0x1p53;
    if (!arg_given(c, i) || whole)
        return v_int(n - (int64_t)less);
    return format_row(c, "subtract", 2, v_int(n), v_tensor_raw(format_number(c, i)));
}

typedef Value (*Formula)(OpCall *, Value x, uint64_t axes, bool keep);

/* axis=(…) */
static Value format_axes(OpCall *c, uint64_t axes)
{
    Tuple *t = tuple_new(&c->in->ctx, (uint32_t)__builtin_popcountll(axes));
    int k = 0;
    for (uint64_t m = axes; m; m &= m - 1)
        t->items[k++] = v_int(__builtin_ctzll(m));
    return op_root(c, v_tuple(t));
}

void format_enter(OpCall *c, Precise *p, Scope *inner)
{
    scope_done(p->scope, &p->a);
    p->a.flags = (ArithFlags){ 0 };
    *inner = precise_inner(p->scope);
    scope_enter(c->in, inner);
}

Value format_leave(OpCall *c, Precise *p, Scope *inner, Value rooted)
{
    Scope *s = p->scope;
    scope_leave(c->in, inner);
    arith_flags_add(&s->flags, &inner->flags);
    if (inner->draw > s->draw)
        s->draw = inner->draw;
    return precise_settle(c->in, s, c->op, v_retain(rooted));
}

/* A row by its formula. */
static Value in_accumulator(OpCall *c, Precise *p, Formula f, uint64_t axes, bool keep)
{
    Scope inner;
    Tensor *x = op_keep(c, precise_round(p, c->op, arg_tensor(c, 0)));
    format_enter(c, p, &inner);
    return format_leave(c, p, &inner, f(c, v_tensor_raw(x), axes, keep));
}

static int64_t length_over(Value x, uint64_t axes)
{
    int64_t n = 1;
    for (int a = 0; a < x.tensor->rank; a++)
        n *= axes >> a & 1 ? tensor_shape(x.tensor)[a] : 1;
    return n;
}

static Value mean_of(OpCall *c, Value x, uint64_t axes, bool keep)
{
    Value sum = format_row(c, "sum", 3, x, format_axes(c, axes), v_bool(keep));
    return format_row(c, "divide", 2, sum, v_int(length_over(x, axes)));
}

static Value var_of(OpCall *c, Value x, uint64_t axes, bool keep)
{
    Value d = format_row(c, "subtract", 2, x, mean_of(c, x, axes, true));
    Value square =
        is_complex((DType)x.tensor->dtype)
            ? format_row(c, "real", 1, format_row(c, "multiply", 2, d, format_row(c, "conj", 1, d)))
            : format_row(c, "multiply", 2, d, d);
    Value sum = format_row(c, "sum", 3, square, format_axes(c, axes), v_bool(keep));
    return format_row(c, "divide", 2, sum, format_freedom(c, length_over(x, axes), 2, 0));
}

static Value std_of(OpCall *c, Value x, uint64_t axes, bool keep)
{
    return format_row(c, "sqrt", 1, var_of(c, x, axes, keep));
}

static Value softmax_of(OpCall *c, Value x, uint64_t axes, bool keep)
{
    (void)keep;
    Value top = format_row(c, "max", 3, x, format_axes(c, axes), v_bool(true));
    Value e = format_row(c, "exp", 1, format_row(c, "subtract", 2, x, top));
    return format_row(c, "divide", 2, e,
                      format_row(c, "sum", 3, e, format_axes(c, axes), v_bool(true)));
}

static Value logsumexp_of(OpCall *c, Value x, uint64_t axes, bool keep)
{
    Value top = format_row(c, "max", 3, x, format_axes(c, axes), v_bool(true));
    top = format_row(c, "where", 3, format_row(c, "isfinite", 1, top), top, v_int(0));
    Value e = format_row(c, "exp", 1, format_row(c, "subtract", 2, x, top));
    Value sum =
        format_row(c, "log", 1, format_row(c, "sum", 3, e, format_axes(c, axes), v_bool(true)));
    Value r = format_row(c, "add", 2, sum, top);
    return keep ? r : format_row(c, "sum", 3, r, format_axes(c, axes), v_bool(false));
}

static Value run_mean(OpCall *c, Precise *p)
{
    return in_accumulator(c, p, mean_of, arg_axes(c, 1, arg_tensor(c, 0)->rank),
                          arg_bool(c, 2, false));
}

static Value run_var(OpCall *c, Precise *p)
{
    return in_accumulator(c, p, var_of, arg_axes(c, 1, arg_tensor(c, 0)->rank),
                          arg_bool(c, 3, false));
}

static Value run_std(OpCall *c, Precise *p)
{
    return in_accumulator(c, p, std_of, arg_axes(c, 1, arg_tensor(c, 0)->rank),
                          arg_bool(c, 3, false));
}

static Value run_softmax(OpCall *c, Precise *p)
{
    Tensor *x = arg_tensor(c, 0);
    bool all = c->args[1].tag == V_NONE || x->rank == 0;
    uint64_t axes = all ? (x->rank ? ~0ull >> (64 - x->rank) : 0)
                        : (uint64_t)1 << arg_axis(c, 1, x->rank, x->rank - 1);
    return x->size == 0 ? v_tensor(&c->in->ctx, precise_round(p, c->op, x))
                        : in_accumulator(c, p, softmax_of, axes, true);
}

static Value run_logsumexp(OpCall *c, Precise *p)
{
    return in_accumulator(c, p, logsumexp_of, arg_axes(c, 1, arg_tensor(c, 0)->rank),
                          arg_bool(c, 2, false));
}

Value op_format_mean(OpCall *c, Scope *s) { return format_accumulate(c, s, true, run_mean); }
Value op_format_var(OpCall *c, Scope *s) { return format_accumulate(c, s, true, run_var); }
Value op_format_std(OpCall *c, Scope *s) { return format_accumulate(c, s, true, run_std); }
Value op_format_softmax(OpCall *c, Scope *s) { return format_accumulate(c, s, true, run_softmax); }
Value op_format_logsumexp(OpCall *c, Scope *s)
{
    return format_accumulate(c, s, true, run_logsumexp);
}

/* The sum of what is a number. */
static Value run_nansum(OpCall *c, Precise *p)
{
    Value x = v_tensor_raw(op_keep(c, precise_round(p, c->op, arg_tensor(c, 0))));
    Value zero = format_row(c, "subtract", 2, v_int(0), v_int(0));
    Value kept = format_row(c, "where", 3, format_row(c, "isnan", 1, x), zero, x);
    Value args[3] = { kept, c->args[1], c->args[2] };
    OpCall call = *c;
    call.args = args;
    return reduce_sum(&call, p);
}

Value op_format_nansum(OpCall *c, Scope *s) { return format_accumulate(c, s, false, run_nansum); }

/* ---- truth ---- */
/* Which elements are not zero: then the row's own function on bools. */
Value op_format_truth(OpCall *c, Scope *s)
{
    Value args[8];
    OpCall call = *c;
    if (whole_value(c->args[0]) || c->count > 8)
        return exact_run(c);
    memcpy(args, c->args, (size_t)c->count * sizeof *args);
    call.args = args;
    Tensor *x = arg_tensor(c, 0);
    (void)s;
    args[0] = format_row(c, "not_equal", 2, v_tensor_raw(x), v_int(0));
    return call.op->run(&call);
}

/* ---- wider ---- */
Value op_format_wide(OpCall *c, Scope *s)
{
    if (s->format == DT_RATIONAL)
        return precise_outside(c, s, DT_NONE, true);
    if (!format_is_binary(s->format))
        format_refuse(c, s->format);
    s->partly = true;
    if (!scope_ordinary(s))
        explain_note(c->in, "computed", "in f64, the result rounded once");
    return precise_outside(c, s, scope_ordinary(s) ? DT_NONE : DT_F64, true);
}

Value op_format_round(OpCall *c, Scope *s)
{
    if (any_complex(c) && !format_is_binary(s->format))
        return exact_run(c);                       /* raises */
    if (format_is_binary(s->format) || s->format == DT_RATIONAL || format_all_whole(c))
        return op_format_wide(c, s);
    int64_t digits = arg_given(c, 1) ? arg_int(c, 1) : 0;
    Precise p;
    precise_open(&p, c->in, s);
    Value x = v_tensor_raw(precise_operand(c, &p, 0));
    precise_close(&p);
    if (digits == 0)
        return v_retain(format_row(c, "rint", 1, x));
    Value one = format_row(c, "power", 2, x, v_int(0)),
          ten = format_row(c, "multiply", 2, one, v_int(10));
    Value scale = format_row(c, "power", 2, ten, v_int(digits < 0 ? -digits : digits));
    const char *there = digits > 0 ? "multiply" : "divide",
               *back = digits > 0 ? "divide" : "multiply";
    x = format_row(c, "rint", 1, format_row(c, there, 2, x, scale));
    return v_retain(format_row(c, back, 2, x, scale));
}

/* Weights and bounds are numbers of the format. */
Value op_format_counts(OpCall *c, Scope *s)
{
    if (!format_is_binary(s->format))
        format_refuse(c, s->format);
    return precise_outside(c, s, scope_ordinary(s) ? DT_NONE : DT_F64, false);
}

/* Of ints alone as ever. */
Value op_format_bincount(OpCall *c, Scope *s)
{
    return format_all_whole(c) ? exact_run(c) : op_format_counts(c, s);
}
