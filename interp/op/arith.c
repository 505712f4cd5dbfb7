/* Arithmetic on immediates and the operators of values that are no numbers (strings,
 * tuples, none). The door comes here; nothing here makes a tensor. Kernels are called
 * with one element, so a scalar gets the same bits as an element of a tensor. */
#include "interp/op/arith.h"
#include "interp/op/texts.h"
#include "interp/state/kind.h"
#include "interp/output/fix_text.h"
#include "interp/op/peers.h"

#include "core/base/error.h"
#include "interp/op/optable.h"
#include "kernels/sparse/sparse.h"
#include <stdio.h>
#include <string.h>

static IntOutcome int_power(int64_t base, int64_t n, int64_t *result)
{
    int64_t r = 1;
    if (n < 0)
        return INT_NEGATIVE_POWER;
    if (base == 1 || base == -1 || base == 0) {
        *result = n == 0 ? 1 : base == -1 && n % 2 == 0 ? 1 : base;
        return INT_OK;
    }
    for (; n; n >>= 1) {
        if ((n & 1) && __builtin_mul_overflow(r, base, &r))
            return INT_RANGE;
        if (n > 1 && __builtin_mul_overflow(base, base, &base))
            return INT_RANGE;
    }
    *result = r;
    return INT_OK;
}

static IntOutcome int_floored(Operator op, int64_t a, int64_t b, int64_t *result)
{
    if (b == 0)
        return INT_DIV_ZERO;
    if (b == -1) {
        *result = 0;
        return op == TK_MOD ? INT_OK : __builtin_sub_overflow(0, a, result) ? INT_RANGE : INT_OK;
    }
    int64_t q = a / b, r = a % b;
    bool up = r != 0 && (r < 0) != (b < 0);
    *result = op == TK_MOD ? (up ? r + b : r) : q - up;
    return INT_OK;
}

static IntOutcome arith_int(Operator op, int64_t a, int64_t b, int64_t *result)
{
    switch (op) {
    case TK_ADD: return __builtin_add_overflow(a, b, result) ? INT_RANGE : INT_OK;
    case TK_SUB: return __builtin_sub_overflow(a, b, result) ? INT_RANGE : INT_OK;
    case TK_MUL: return __builtin_mul_overflow(a, b, result) ? INT_RANGE : INT_OK;
    case TK_NEG: return __builtin_sub_overflow(0, a, result) ? INT_RANGE : INT_OK;
    case TK_POS: *result = a; return INT_OK;
    case TK_FLOORDIV:
    case TK_MOD: return int_floored(op, a, b, result);
    case TK_POW: return int_power(a, b, result);
    case TK_BITAND: *result = a & b; return INT_OK;
    case TK_BITOR: *result = a | b; return INT_OK;
    default: return INT_NOT;
    }
}

/* ---- messages ---- */
const char *v_article(Value v, char *out, size_t cap)
{
    char text[96];
    if (v.tag == V_NONE || v.tag == V_UNDEF)
        return "none";
    if (v.tag == V_TENSOR && v.tensor->rank > 0) {
        char shape[64];
        const Tensor *t = v.tensor;
        const char *dims = shape_text(shape, sizeof shape, t->rank, tensor_shape(t));
        if (t->rank == 1)
            snprintf(out, cap, "a vector of %s %s", dims, dtype_name(t->dtype));
        else
            snprintf(out, cap, "a %s%s %s tensor", tensor_sparse(t) ? "sparse " : "", dims,
                     dtype_name(t->dtype));
        return out;
    }
    if (v.tag == V_TENSOR)
        snprintf(text, sizeof text, "%s", dtype_name(v.tensor->dtype));
    else
        snprintf(text, sizeof text, "%s", v_type_name(v));
    bool vowel = strchr("aeiou", text[0]) && strncmp(text, "u8", 2) != 0;
    /* an f32 */
    bool spelled = (text[0] == 'f' && text[1] >= '0' && text[1] <= '9') ||
                   strncmp(text, "mp(", 3) == 0;
    snprintf(out, cap, "%s %s", vowel || spelled ? "an" : "a", text);
    return out;
}

static void put_values(char *out, size_t cap, const Op *op, const int64_t *values, int n)
{
    if (n == 2 && op->infix)
        snprintf(out, cap, "%lld %s %lld", (long long)values[0], op->infix, (long long)values[1]);
    else if (n == 1 && op->infix)
        snprintf(out, cap, "%s(%lld)", op->infix, (long long)values[0]);
    else if (n == 1)
        snprintf(out, cap, "%s(%lld)", op->name, (long long)values[0]);
    else if (n == 2)
        snprintf(out, cap, "%s(%lld, %lld)", op->name, (long long)values[0], (long long)values[1]);
    else
        snprintf(out, cap, "%s(%lld, %lld, %lld)", op->name, (long long)values[0],
                 (long long)values[1], (long long)values[2]);
}

void arith_range_error(Interp *in, const Op *op, DType dt, const int64_t *values, int n)
{
    char what[160];
    put_values(what, sizeof what, op, values, n);
    bool wide = dt == DT_I64;
    Error *e = err_new(&in->ctx, ERR_VALUE, "%s does not fit %s", what,
                       wide ? "an int (64 bits)" : dtype_name(dt));
    const char *a = err_operand_name(&in->ctx, 0), *b = err_operand_name(&in->ctx, 1);
    if (a && b && n == 2 && op->infix)
        err_help(e, wide ? "compute in floats: float(%s) %s %s" : "compute wider: int(%s) %s %s",
                 a, op->infix, b);
    err_throw(e);
}

void arith_division_error(Interp *in, const Op *op, Value a)
{
    char text[96];
    Error *e = a.tag == V_INT || a.tag == V_BOOL
        ? err_new(&in->ctx, ERR_VALUE, "%lld %s 0: integers have no infinity",
                  (long long)a.i, op->infix ? op->infix : op->name)
        : err_new(&in->ctx, ERR_VALUE, "`%s` of %s by an integer 0: integers have no infinity",
                  op->infix ? op->infix : op->name, v_article(a, text, sizeof text));
    char by[80], fixed[160];
    err_underline(e, 1);
    snprintf(by, sizeof by, "f64(%s)", err_operand_text(&in->ctx, 1));
    if (fix_replace(e, 1, by, fixed, sizeof fixed))
        err_help(e, "floats have one: %s", fixed);
    else
        err_help(e, "floats have one: divide by %s", by);
    err_throw(e);
}

/* ---- immediates ---- */
static Value float_compare(Operator op, double a, double b)
{
    switch (op) {
    case TK_EQ: return v_bool(a == b);
    case TK_NE: return v_bool(a != b);
    case TK_LT: return v_bool(a < b);
    case TK_LE: return v_bool(a <= b);
    case TK_GT: return v_bool(a > b);
    default: return v_bool(a >= b);
    }
}

static Value int_compare(Operator op, int64_t a, int64_t b)
{
    switch (op) {
    case TK_EQ: return v_bool(a == b);
    case TK_NE: return v_bool(a != b);
    case TK_LT: return v_bool(a < b);
    case TK_LE: return v_bool(a <= b);
    case TK_GT: return v_bool(a > b);
    default: return v_bool(a >= b);
    }
}

static Value operator_call(Interp *in, Operator op, Value a, Value b, int n)
{
    return arith_call(in, op_operator(in, op), (Value[]){ a, b }, n);
}

static Value int_result(Interp *in, Operator op, Value a, Value b)
{
    int64_t r;
    switch (arith_int(op, a.i, b.i, &r)) {
    case INT_OK: return v_int(r);
    case INT_RANGE:
        arith_range_error(in, op_operator(in, op), DT_I64, (int64_t[]){ a.i, b.i },
                          op == TK_NEG ? 1 : 2);
    case INT_DIV_ZERO: arith_division_error(in, op_operator(in, op), a);
    case INT_NEGATIVE_POWER: return operator_call(in, op, v_float((double)a.i),
                                                  v_float((double)b.i), 2);
    default: return operator_call(in, op, a, b, 2);
    }
}

/* `n & 1 == 0` reads as n & (1 == 0): where the right operand's text is such a comparison,
 * the help shows what was meant. */
static bool comparison_parts(const char *text, int *left, const char **rest)
{
    static const char *const signs[] = { " == ", " != ", " <= ", " >= ", " < ", " > " };
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        const char *at = strstr(text, signs[i]);
        if (at && !strpbrk(text, "([\"")) {
            *left = (int)(at - text);
            *rest = at;
            return true;
        }
    }
    return false;
}

void arith_bits_error(Interp *in, const Op *op, const Value *args)
{
    char first[96], second[96];
    const char *sign = op->infix ? op->infix : op->name, *rest;
    const char *a = err_operand_name(&in->ctx, 0), *b = err_operand_name(&in->ctx, 1);
    int left;
    Error *e = err_new(&in->ctx, ERR_TYPE,
                       "`%s` of %s and %s: it is logical on bools and bitwise on ints", sign,
                       v_article(args[0], first, sizeof first),
                       v_article(args[1], second, sizeof second));
    err_underline(e, 0);
    err_underline(e, 1);
    if (a && b && comparison_parts(b, &left, &rest))
        err_help(e, "comparisons bind tighter than `%s`: (%s %s %.*s)%s", sign, a, sign,
                 left, b, rest);
    else
        err_help(e, "compare the integers first, as in (n %s 1) == 0: comparisons bind tighter",
                 sign);
    err_throw(e);
}

Value arith_binary(Interp *in, Operator op, Value a, Value b)
{
    bool compare = op >= TK_EQ && op <= TK_GE;
    if (a.tag == V_FLOAT || b.tag == V_FLOAT) {
        double x = v_number(a), y = v_number(b);
        switch (op) {
        case TK_ADD: return v_float(x + y);
        case TK_SUB: return v_float(x - y);
        case TK_MUL: return v_float(x * y);
        case TK_DIV: return v_float(x / y);
        default: return compare ? float_compare(op, x, y) : operator_call(in, op, a, b, 2);
        }
    }
    if (compare)
        return int_compare(op, a.i, b.i);
    if (op == TK_DIV)
        return v_float((double)a.i / (double)b.i);
    if (op == TK_BITAND || op == TK_BITOR) {
        if (a.tag != b.tag)
            arith_bits_error(in, op_operator(in, op), (Value[]){ a, b });
        if (a.tag == V_BOOL)
            return v_bool(op == TK_BITAND ? a.i & b.i : a.i | b.i);
    }
    return int_result(in, op, a, b);
}

Value arith_unary(Interp *in, Operator op, Value a)
{
    switch (op) {
    case TK_POS: return a.tag == V_BOOL ? v_int(a.i) : a;
    case TK_LNOT:
        if (a.tag == V_FLOAT)
            break;
        return a.tag == V_BOOL ? v_bool(!a.i) : v_int(~a.i);
    case TK_NEG: return a.tag == V_FLOAT ? v_float(-a.f) : int_result(in, TK_NEG, a, v_int(0));
    default: break;
    }
    return operator_call(in, op, a, v_none(), 1);
}

/* ---- elementwise rows on immediates ---- */
typedef union ScalarCell { double f; int64_t i; uint8_t b; char bytes[16]; } ScalarCell;

static ScalarCell cell_of(Value v, DType compute)
{
    if (compute == DT_F64)
        return (ScalarCell){ .f = v_number(v) };
    if (compute == DT_I64)
        return (ScalarCell){ .i = v.i };
    return (ScalarCell){ .b = v.i != 0 };
}

static Value cell_value(DType dt, const ScalarCell *c)
{
    if (dt == DT_F64)
        return v_float(c->f);
    return dt == DT_I64 ? v_int(c->i) : v_bool(c->b);
}

/* 0 bool, 1 int, 2 float: the widest of them. */
static int widest_kind(const Value *args, int n)
{
    int kind = 0;
    for (int i = 0; i < n; i++) {
        int k = (int)args[i].tag - V_BOOL;
        kind = k > kind ? k : kind;
    }
    return kind;
}

static Value choose_scalar(const Value *args)
{
    Value v = args[args[0].i ? 1 : 2];
    int kind = widest_kind(args + 1, 2);
    return kind == 2 ? v_float(v_number(v)) : kind == 1 ? v_int(v.i) : v;
}

/* abs(-2^63) and a fused multiply-add leave the range like + and * do. */
static Value special_int(Interp *in, const Op *op, const Value *args)
{
    int64_t v[3] = { args[0].i }, r;
    if (op->ew == EW_ABS) {
        r = v[0];
        if (r < 0 && __builtin_sub_overflow(0, r, &r))
            arith_range_error(in, op, DT_I64, v, 1);
        return v_int(r);
    }
    v[1] = args[1].i;
    v[2] = args[2].i;
    if (__builtin_mul_overflow(v[0], v[1], &r) || __builtin_add_overflow(r, v[2], &r))
        arith_range_error(in, op, DT_I64, v, 3);
    return v_int(r);
}

Value arith_call(Interp *in, const Op *op, const Value *args, int n)
{
    OpTable *table = in->ops;
    if (op->ew == EW_WHERE && args[0].tag == V_BOOL)
        return choose_scalar(args);
    int kind = widest_kind(args, n);
    if (kind < 2 && (op->ew == EW_ABS || op->ew == EW_FMA))
        return special_int(in, op, args);
    static const DType dtypes[] = { DT_BOOL, DT_I64, DT_F64 };
    const Kernel *k = op_kernel(table, op->ew, dtypes[kind]);
    if (!k->fn)
        arith_type_error(in, op, args, n);
    ScalarCell cell[3], out;
    const void *at[3] = { &cell[0], &cell[1], &cell[2] };
    static const int64_t ones[3] = { 1, 1, 1 };
    for (int i = 0; i < n; i++)
        cell[i] = cell_of(args[i], (DType)k->compute);
    k->fn(&out, 1, at, ones, 1);
    return cell_value((DType)k->result, &out);
}

/* ---- strings, tuples, none ---- */
int text_order(const Str *a, const Str *b)
{
    size_t n = a->len < b->len ? a->len : b->len;
    int c = n ? memcmp(a->text, b->text, n) : 0;     /* UTF-8 sorts by code point */
    return c ? c : a->len < b->len ? -1 : a->len > b->len;
}

bool text_compares(Operator op, const Str *a, const Str *b)
{
    return int_compare(op, text_order(a, b), 0).i != 0;
}

bool texts_is(Value v)
{
    bool all = v.tag == V_TUPLE && !v.tuple->named && v.tuple->count > 0;
    for (uint32_t i = 0; all && i < v.tuple->count; i++)
        all = v.tuple->items[i].tag == V_STRING;
    return all;
}

bool texts_none(Value v)
{
    return v.tag == V_TUPLE && !v.tuple->named && v.tuple->count == 0;
}

bool texts_given(const Op *op, const Value *args, int count)
{
    bool tuple = false, many = false, string = false;
    for (int i = 0; i < count && !tuple; i++) {
        tuple = texts_is(args[i]);
        many |= (args[i].tag == V_TENSOR && args[i].tensor->rank > 0) || texts_none(args[i]);
        string |= args[i].tag == V_STRING;
    }
    return tuple || (op->cls == OPC_EW && many && string);
}

enum { PIECE_BYTES = 4 << 20 };      /* copied between two looks at the interrupt flag */

static Value text_repeat(Interp *in, Str *s, int64_t count)
{
    Ctx *ctx = &in->ctx;
    if (count <= 0 || s->len == 0)
        return v_str(str_new(ctx, "", 0));
    size_t bytes = mem_mul(ctx, s->len, (size_t)count);
    mem_check(ctx, bytes);
    Str *r = str_new(ctx, s->text, s->len);
    v_push(in, v_str(r));
    Str **slot = &in->sp[-1].str;
    while ((*slot)->len < bytes) {                   /* doubling, until that takes long */
        size_t left = bytes - (*slot)->len, most = PIECE_BYTES / s->len * s->len, n = (*slot)->len;
        n = n > most && most > 0 ? most : n;
        str_append(ctx, slot, (*slot)->text, left < n ? left : n);
        poll_interrupt(in);
    }
    return *--in->sp;
}

/* a + b of two tuples: fields of b replace fields of a with their name. The caller owns
 * what is returned; a is changed in place when `take` says that it may be. */
static Value tuple_join(Interp *in, Tuple *a, Tuple *b, bool take)
{
    Ctx *ctx = &in->ctx;
    v_push(in, take ? v_tuple(a) : v_retain(v_tuple(a)));
    Tuple **slot = &in->sp[-1].tuple;
    for (uint32_t i = 0; i < b->count; i++) {
        const Name *name = b->named ? b->names[i] : NULL;
        int64_t at = name && (*slot)->named ? tuple_find(*slot, name) : -1;
        if (at < 0) {
            tuple_push(ctx, slot, name, v_retain(b->items[i]));
            continue;
        }
        tuple_unshare(ctx, slot);
        Value old = (*slot)->items[at];
        (*slot)->items[at] = v_retain(b->items[i]);
        v_release(ctx, old);
    }
    return *--in->sp;
}

static Value text_join(Interp *in, Str *a, Str *b, bool take)
{
    v_push(in, take ? v_str(a) : v_str(str_new(&in->ctx, a->text, a->len)));
    in->sp[-1].str->chars = a->chars;
    str_append(&in->ctx, &in->sp[-1].str, b->text, b->len);
    return *--in->sp;
}

static bool arrays(Value v)
{
    return v_immediate(v) || v.tag == V_TENSOR || v.tag == V_RANGE;
}

static bool unlike_is_false(Value v)
{
    return v.tag == V_NONE || v.tag == V_STRING || v.tag == V_TUPLE;
}

bool arith_other(Interp *in, const Op *row, Value a, Value b, bool take, Value *result)
{
    if (arrays(a) && arrays(b))
        return false;
    Operator op = in->ops->operator_of[row->ew];
    bool equality = op == TK_EQ || op == TK_NE;
    if (equality && (a.tag == b.tag || unlike_is_false(a) || unlike_is_false(b))) {
        bool same = a.tag == b.tag && v_equal(in, a, b);
        *result = v_bool(op == TK_EQ ? same : !same);
        return true;
    }
    /* a C function and a pointer, null */
    if (equality && a.tag >= V_POINTER && b.tag >= V_POINTER) {
        *result = v_bool((op == TK_EQ) == v_equal(in, a, b));
        return true;
    }
    if (a.tag == V_STRING && b.tag == V_STRING && op >= TK_LT && op <= TK_GE) {
        *result = v_bool(text_compares(op, a.str, b.str));
        return true;
    }
    if (op == TK_ADD && a.tag == V_STRING && b.tag == V_STRING)
        return *result = text_join(in, a.str, b.str, take), true;
    if (op == TK_ADD && a.tag == V_TUPLE && b.tag == V_TUPLE)
        return *result = tuple_join(in, a.tuple, b.tuple, take), true;
    if (op == TK_MUL && a.tag == V_STRING && b.tag == V_INT)
        return *result = text_repeat(in, a.str, b.i), true;
    if (op == TK_MUL && a.tag == V_INT && b.tag == V_STRING)
        return *result = text_repeat(in, b.str, a.i), true;
    return false;
}

/* ---- wrong kinds ---- */
static const char *kinds_text(const char *kinds, char *out, size_t cap)
{
    static const char letters[] = "bifc";
    static const char *const words[] = { "bools", "ints", "floats", "complex numbers" };
    size_t len = 0, count = kinds ? strlen(kinds) : 0, seen = 0;
    out[0] = '\0';
    for (int i = 0; i < 4; i++) {
        if (!kinds || !strchr(kinds, letters[i]))
            continue;
        const char *join = seen == 0 ? "" : seen + 1 == count ? " and " : ", ";
        int n = snprintf(out + len, cap - len, "%s%s", join, words[i]);
        len += n > 0 && (size_t)n < cap - len ? (size_t)n : 0;
        seen++;
    }
    return out;
}

static DType number_dtype(Value v)
{
    return v.tag == V_RANGE ? DT_I64 : v_dtype(v);
}

/* A number of a dtype that the row lacks. */
_Noreturn static void dtype_error(Interp *in, const Op *op, const Value *args, int n)
{
    char takes[80], given[96], label[48];
    int worst = 0;
    for (int i = 1; i < n; i++)
        if (dtype_info(number_dtype(args[i]))->rank > dtype_info(number_dtype(args[worst]))->rank)
            worst = i;
    DType dt = number_dtype(args[worst]);
    Error *e = err_new(&in->ctx, ERR_DTYPE, "%s takes %s: %s is %s",
                       op_label(op, label, sizeof label),
                       kinds_text(op->dtypes, takes, sizeof takes),
                       err_operand_text(&in->ctx, worst),
                       v_article(args[worst], given, sizeof given));
    err_underline(e, worst);
    const char *text = err_operand_text(&in->ctx, worst);
    if (dtype_info(dt)->kind == 'c')
        err_help(e, "take a part of it: real(%s), imag(%s) or abs(%s)", text, text, text);
    else if (dtype_info(dt)->kind == 'f')
        err_help(e, v_immediate(args[worst]) ? "an int if that is meant: int(%s)"
                                             : "integers if that is meant: i64(%s)", text);
    err_throw(e);
}

static bool numbers_only(const Value *args, int n, int *first_other)
{
    for (int i = 0; i < n; i++) {
        if (v_dtype(args[i]) == DT_NONE && args[i].tag != V_RANGE) {
            *first_other = i;
            return false;
        }
    }
    return true;
}

static void help_for_kinds(Interp *in, Error *e, Operator op, const Value *args)
{
    char help[160];
    const char *a = err_operand_text(&in->ctx, 0), *b = err_operand_text(&in->ctx, 1);
    if (op == TK_MOD && args[0].tag == V_STRING)
        peer_translate(in, e, FOREIGN_CALL, e->where.mark.from);
    else if (op == TK_ADD && args[0].tag == V_STRING)
        err_help(e, "make it text: %s + string(%s), or \"…{%s}\"", a, b, b);
    else if (op == TK_ADD && args[1].tag == V_STRING)
        err_help(e, "make it text: string(%s) + %s, or \"{%s}…\"", a, b, a);
    else if (op == TK_ADD && args[0].tag == V_TUPLE)
        err_help(e, "to add an element: append(%s, %s), or %s + (%s,)", a, b, a, b);
    else if (op == TK_BITOR && (args[1].tag == V_FUNCTION || args[1].tag == V_OP))
        err_help(e, "%s |> %s", a, b);
    else if (args[0].tag == V_FUNCTION || args[0].tag == V_OP || args[0].tag == V_CFUNC)
        err_help(e, "call it: %s(…)", a);
    else if (args[1].tag == V_FUNCTION || args[1].tag == V_OP || args[1].tag == V_CFUNC)
        err_help(e, "call it: %s(…)", b);
    else if (op == TK_DIV && args[1].tag == V_FACTORS)
        err_help(e, "to solve: %s \\ %s", b, a);
    else if (v_instead(args[0], help, sizeof help, a) || v_instead(args[1], help, sizeof help, b))
        err_help(e, "%s", help);
}

void arith_type_error(Interp *in, const Op *op, const Value *args, int n)
{
    int other = 0;
    char first[96], second[96];
    if (numbers_only(args, n, &other))
        dtype_error(in, op, args, n);
    Operator as = op->cls == OPC_EW ? in->ops->operator_of[op->ew] : TK_OPERATORS;
    if (n == 2 && as < TK_OPERATORS) {
        bool equality = as == TK_EQ || as == TK_NE;
        Error *e = err_new(&in->ctx, ERR_TYPE, "`%s` cannot %s %s and %s", operator_symbol(as),
                           equality || (as >= TK_LT && as <= TK_GE) ? "compare" : "take",
                           v_article(args[0], first, sizeof first),
                           v_article(args[1], second, sizeof second));
        err_underline(e, 0);
        err_underline(e, 1);
        help_for_kinds(in, e, as, args);
        err_throw(e);
    }
    char label[48];
    Error *e = err_new(&in->ctx, ERR_TYPE, "%s takes numbers and tensors: %s is %s",
                       op_label(op, label, sizeof label), err_operand_text(&in->ctx, other),
                       v_article(args[other], first, sizeof first));
    err_underline(e, other);
    if (args[other].tag == V_STRING)
        err_help(e, "make it a number: float(%s)", err_operand_text(&in->ctx, other));
    err_throw(e);
}
