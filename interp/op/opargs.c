/* Reading the arguments of an operation: every reader checks, and its error names the
 * operation, the parameter and what was given instead. Used by all run functions. */
#include "interp/state/exec.h"
#include "interp/state/kind.h"
#include "interp/op/op.h"
#include "interp/op/elementwise.h"

#include "core/system/c_locale.h"
#include "core/base/error.h"
#include "interp/op/arith.h"
#include "interp/op/exact.h"
#include "interp/state/format.h"
#include "interp/op/optable.h"
#include "interp/op/texts.h"
#include "interp/output/fix_text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- errors ---- */
static int operand_index(const OpCall *c, int i)
{
    return c->operand && i < 128 ? c->operand[i] : i;
}

const char *arg_name(OpCall *c, int i)
{
    const OpSig *sig = op_sig(c->in, c->op);
    int last = sig->fixed + (sig->variadic ? 1 : 0) - 1;
    return last < 0 ? "argument" : sig->params[i < last ? i : last].name->text;
}

const char *arg_text(OpCall *c, int i)
{
    return err_operand_text(&c->in->ctx, operand_index(c, i));
}

const char *arg_written(OpCall *c, int i)
{
    return err_operand_name(&c->in->ctx, operand_index(c, i));
}

static Error *arg_err(OpCall *c, int i, ErrKind kind, const char *fmt, va_list args)
{
    Buf text;
    buf_init(&text, &c->in->ctx);
    buf_vprintf(&text, fmt, args);
    Error *e = err_new(&c->in->ctx, kind, "%s: %s", c->op->name, buf_cstr(&text));
    buf_free(&text);
    err_underline(e, operand_index(c, i));
    return e;
}

void arg_error(OpCall *c, int i, ErrKind kind, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    Error *e = arg_err(c, i, kind, fmt, args);
    va_end(args);
    err_throw(e);
}

void arg_error_help(OpCall *c, int i, ErrKind kind, const char *help, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    Error *e = arg_err(c, i, kind, fmt, args);
    va_end(args);
    if (help)
        err_help(e, "%s", help);
    err_throw(e);
}

/* The running call of a tuple of strings, made of each of them. */
static bool each_text(OpCall *c, char *help, size_t cap)
{
    char call[160];
    Where where = { 0 };
    if (c->in->ctx.locate)
        c->in->ctx.locate(&c->in->ctx, &where);
    const Source *s = where.source;
    size_t n = s && where.span.to <= s->len ? where.span.to - where.span.from : sizeof call;
    if (n >= sizeof call || memchr(s->text + where.span.from, '\n', n))
        return false;
    memcpy(call, s->text + where.span.from, n);
    call[n] = '\0';
    return fix_each(call, 0, arg_text(c, 0), help, cap);
}

/* `zeros: dtype is a format, not a string`. */
_Noreturn static void wants(OpCall *c, int i, const char *what)
{
    char given[96], help[160];
    Value v = i < c->count ? c->args[i] : v_undef();
    bool each = i == 0 && c->op->one_text && texts_is(v) && each_text(c, help, sizeof help);
    arg_error_help(c, i, ERR_TYPE, each ? help : v_instead(v, help, sizeof help, arg_text(c, i)),
                   "%s must be %s, not %s", arg_name(c, i), what,
                   v_article(v, given, sizeof given));
}

/* ---- scalars ---- */
bool arg_given(const OpCall *c, int i)
{
    return i < c->count && c->args[i].tag != V_UNDEF && c->args[i].tag != V_NONE;
}

static bool real_scalar(Value v, DType *dt)
{
    if (v.tag != V_TENSOR || v.tensor->rank != 0)
        return false;
    *dt = (DType)v.tensor->dtype;
    return dtype_info(*dt)->kind != 'c';
}

int64_t arg_int(OpCall *c, int i)
{
    Value v = i < c->count ? c->args[i] : v_undef();
    DType dt;
    if (v.tag == V_INT || v.tag == V_BOOL)
        return v.i;
    if (real_scalar(v, &dt) && (dtype_info(dt)->kind == 'i' || dtype_info(dt)->kind == 'b'))
        return element_i64(dt, v.tensor->data);
    if (v.tag == V_FLOAT && v.f == floor(v.f) && fabs(v.f) < 1e18) {
        char help[64];
        c_snprintf(help, sizeof help, "an int: %.0f, or int(…)", v.f);
        arg_error_help(c, i, ERR_TYPE, help, "%s must be an int, not a float", arg_name(c, i));
    }
    wants(c, i, "an int");
}

double arg_float(OpCall *c, int i)
{
    Value v = i < c->count ? c->args[i] : v_undef();
    DType dt;
    if (v_immediate(v))
        return v_number(v);
    if (real_scalar(v, &dt))
        return element_f64(dt, v.tensor->data);
    wants(c, i, "a real number");
}

bool arg_bool(OpCall *c, int i, bool fallback)
{
    if (i >= c->count || c->args[i].tag == V_UNDEF)
        return fallback;
    if (c->args[i].tag != V_BOOL)
        wants(c, i, "true or false");
    return c->args[i].i != 0;
}

Str *arg_str(OpCall *c, int i)
{
    if (i >= c->count || c->args[i].tag != V_STRING)
        wants(c, i, "a string");
    return c->args[i].str;
}

/* ---- tensors and dtypes ---- */
Tensor *arg_tensor(OpCall *c, int i)
{
    Value v = i < c->count ? c->args[i] : v_undef();
    if (!v_is_numeric(v) && v.tag != V_RANGE && v.tag != V_TUPLE)
        wants(c, i, "a tensor");
    Tensor *t = op_keep(c, v_to_tensor(c->in, v, operand_index(c, i)));
    bool form = c->op->format != NULL;     /* which takes numbers of every format */
    if (t->dtype == DT_RATIONAL && !form && !c->op->exact)
        exact_refuse(c, i);
    return t;
}

/* int, float and complex are operations; as a dtype they mean what type() calls so. */
DType op_as_dtype(const Op *op)
{
    return op->as_dtype ? dtype_find(op->as_dtype, strlen(op->as_dtype)) : DT_NONE;
}

DType arg_dtype(OpCall *c, int i, DType fallback)
{
    if (!arg_given(c, i))
        return fallback;
    Value v = c->args[i];
    DType dt = v.tag == V_FORMAT ? v_format_dtype(v) : v.tag == V_OP ? op_as_dtype(v.op) : DT_NONE;
    if (v.tag == V_STRING)
        dt = dtype_find(v.str->text, v.str->len);
    if (dt == DT_RATIONAL && !c->op->exact)
        arg_error_help(c, i, ERR_DTYPE, "make floats and convert them: rational(…)",
                       "rationals are not made here");
    if (dt != DT_NONE)
        return dt;
    const char *names[32];
    int count = 0;
    while (format_name(count))
        count++;
    for (int k = 0; k < count; k++)
        names[k] = format_name(k);
    char help[64], given[96];
    const char *close = v.tag == V_STRING ? err_closest(v.str->text, names, count) : NULL;
    snprintf(help, sizeof help, "did you mean %s?", close ? close : "f64");
    if (v.tag == V_STRING)
        arg_error_help(c, i, ERR_DTYPE, close ? help : NULL, "there is no dtype \"%.40s\"",
                       v.str->text);
    arg_error_help(c, i, ERR_TYPE,
                   "dtypes are bool i8 u8 i32 i64 f16 bf16 f32 f64 c64 c128 and the formats, as "
                   "e4m3 or rational",
                   "%s must be a dtype, not %s", arg_name(c, i), v_article(v, given, sizeof given));
}

/* ---- axes ---- */
static int checked_axis(OpCall *c, int i, int64_t axis, int rank)
{
    if (axis >= -rank && axis < rank)
        return (int)(axis < 0 ? axis + rank : axis);
    if (rank == 0)
        arg_error(c, i, ERR_INDEX, "%s=%lld, but a scalar has no axes", arg_name(c, i),
                  (long long)axis);
    char help[128];
    snprintf(help, sizeof help, "axes count from 0, the last one is %d: %s=%d", rank - 1,
             arg_name(c, i), rank - 1);
    arg_error_help(c, i, ERR_INDEX, axis == rank ? help : NULL,
                   "%s=%lld, but %s has %d ax%ss: %d to %d",
                   arg_name(c, i), (long long)axis, arg_text(c, 0), rank, rank == 1 ? "i" : "e",
                   -rank, rank - 1);
}

int arg_axis(OpCall *c, int i, int rank, int fallback)
{
    if (!arg_given(c, i))
        return fallback;
    return checked_axis(c, i, arg_int(c, i), rank);
}

uint64_t arg_axes(OpCall *c, int i, int rank)
{
    uint64_t all = rank == 0 ? 0 : ~0ull >> (64 - rank);
    if (!arg_given(c, i))
        return all;
    Value v = c->args[i];
    if (v.tag != V_TUPLE)
        return 1ull << checked_axis(c, i, arg_int(c, i), rank);
    uint64_t mask = 0;
    for (uint32_t k = 0; k < v.tuple->count; k++) {
        if (v.tuple->items[k].tag != V_INT)
            wants(c, i, "none, an int or a tuple of ints");
        int axis = checked_axis(c, i, v.tuple->items[k].i, rank);
        if (mask >> axis & 1)
            arg_error(c, i, ERR_VALUE, "%s names axis %d twice", arg_name(c, i), axis);
        mask |= 1ull << axis;
    }
    return mask;
}

/* ---- shapes ---- */
static void put_extent(OpCall *c, int i, int64_t *shape, int *rank, int64_t extent)
{
    if (*rank == TENSOR_RANK_MAX)
        arg_error(c, i, ERR_VALUE, "a shape has at most %d axes", TENSOR_RANK_MAX);
    if (extent < -1)
        arg_error(c, i, ERR_VALUE, "a shape has no extent %lld", (long long)extent);
    shape[(*rank)++] = extent;
}

static void put_extents(OpCall *c, int i, int64_t *shape, int *rank)
{
    Value v = c->args[i];
    DType dt;
    if (v.tag == V_INT) {
        put_extent(c, i, shape, rank, v.i);
    } else if (v.tag == V_TUPLE) {
        for (uint32_t k = 0; k < v.tuple->count; k++) {
            if (v.tuple->items[k].tag != V_INT)
                wants(c, i, "a shape: ints");
            put_extent(c, i, shape, rank, v.tuple->items[k].i);
        }
    } else if (real_scalar(v, &dt) && dtype_info(dt)->kind == 'i') {
        put_extent(c, i, shape, rank, element_i64(dt, v.tensor->data));
    } else if (v.tag == V_TENSOR && v.tensor->rank == 1 &&
               dtype_info(v.tensor->dtype)->kind == 'i') {
        Tensor *t = v.tensor;
        for (int64_t k = 0; k < t->size; k++)
            put_extent(c, i, shape, rank,
                       element_i64((DType)t->dtype, t->data + k * tensor_strides(t)[0] *
                                   dtype_info(t->dtype)->bytes));
    } else {
        wants(c, i, "a tuple of ints, or several ints");
    }
}

int arg_shape(OpCall *c, int i, int64_t *shape)
{
    int rank = 0;
    for (int k = i; k < c->count; k++)
        if (c->args[k].tag != V_UNDEF)
            put_extents(c, k, shape, &rank);
    return rank;
}

/* ---- results ---- */
Tensor *op_keep(OpCall *c, Tensor *t)
{
    v_push(c->in, v_tensor_raw(t));
    return t;
}

Value op_result(OpCall *c, Tensor *kept)
{
    return v_tensor(&c->in->ctx, tensor_retain(kept));
}

Value op_root(OpCall *c, Value v)
{
    v_push(c->in, v);
    return v;
}

bool op_lent(Interp *in, const Op *op)
{
    const Node *n = in->at ? in->at->node : NULL;
    const Op *caller = n && n->kind == ND_CALL && n->a->kind == ND_NAME
                       ? op_find(in, n->a->name) : NULL;
    return caller && caller != op;
}
