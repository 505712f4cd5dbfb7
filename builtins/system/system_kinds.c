/* Kinds and dtypes: what a value is; text as a number. Casts to dtypes: system_formats.c. */
#include "builtins/system/system_formats.h"
#include "interp/precision/cast.h"

#include "core/system/c_locale.h"
#include "core/base/error.h"
#include "interp/op/arith.h"
#include "interp/state/format.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Value op_run_type(OpCall *c)
{
    const char *name = v_type_name(c->args[0]);
    return v_str(str_new(&c->in->ctx, name, strlen(name)));
}

Value op_run_dtype(OpCall *c)
{
    DType dt = c->args[0].tag == V_RANGE ? DT_I64 : v_dtype(c->args[0]);
    char given[96];
    if (dt == DT_NONE)
        arg_error(c, 0, ERR_TYPE, "%s has no dtype: it is %s", arg_text(c, 0),
                  v_article(c->args[0], given, sizeof given));
    return v_format(dt);
}

/* ---- casts ---- */
Value op_run_complex(OpCall *c)
{
    Interp *in = c->in;
    double _Complex i = _Complex_I;
    Value unit = op_root(c, v_tensor_raw(tensor_scalar(&in->ctx, DT_C128, &i)));
    Value im = c->args[1].tag == V_UNDEF ? v_int(0) : c->args[1];
    bool weak = (c->weak & 2) || c->args[1].tag == V_UNDEF;
    Value part = op_binary(in, op_operator(in, TK_MUL), im, unit, 2u | weak);
    op_root(c, part);
    return op_binary(in, op_operator(in, TK_ADD), c->args[0], part,
                     (c->weak & 1) | (weak ? 2u : 0));
}

/* ---- numbers from text ---- */
enum { NUMBER_MAX = 4096 };

/* The text of a number without white space around and underscores between digits, in
 * `out`; NULL if it is too long or an underscore stands elsewhere. */
static const char *number_text(const Str *s, char *out)
{
    size_t from = 0, end = s->len, n = 0;
    while (from < end && text_is_space((unsigned char)s->text[from]))
        from++;
    while (end > from && text_is_space((unsigned char)s->text[end - 1]))
        end--;
    for (size_t i = from; i < end; i++) {
        char ch = s->text[i];
        bool inner = i > from && i + 1 < end && s->text[i - 1] != '_' && s->text[i + 1] != '_';
        if (n + 1 == NUMBER_MAX || ch == '\0' || (ch == '_' && !inner))
            return NULL;
        if (ch != '_')
            out[n++] = ch;
    }
    out[n] = '\0';
    return n ? out : NULL;
}

_Noreturn static void no_number(OpCall *c, const Str *s, const char *what, const char *help)
{
    arg_error_help(c, 0, ERR_VALUE, help, "\"%.*s%s\" is no %s",
                   (int)(s->len < 40 ? s->len : 40), s->text, s->len > 40 ? "…" : "", what);
}

static int digit_of(char ch)
{
    return ch >= '0' && ch <= '9' ? ch - '0' : (ch | 32) >= 'a' && (ch | 32) <= 'z'
           ? (ch | 32) - 'a' + 10 : 99;
}

/* After the sign: skips a prefix that fits the base; returns the base that holds. */
static int number_base(const char **at, int base)
{
    const char *s = *at;
    char mark = s[0] == '0' ? (char)(s[1] | 32) : 0;
    int prefixed = mark == 'x' ? 16 : mark == 'b' ? 2 : mark == 'o' ? 8 : 0;
    if (prefixed && (base == 0 || base == prefixed)) {
        *at = s + 2;
        return prefixed;
    }
    return base == 0 ? 10 : base;
}

static Value int_of_text(OpCall *c, const Str *s, int base)
{
    char text[NUMBER_MAX];
    const char *at = number_text(s, text);
    bool negative = at && *at == '-', any = false;
    if (!at)
        no_number(c, s, "integer", NULL);
    at += *at == '-' || *at == '+';
    base = number_base(&at, base);
    int64_t n = 0;
    for (; *at; at++, any = true) {
        int digit = digit_of(*at);
        if (digit >= base) {
            char help[120];
            snprintf(help, sizeof help, "read it as a float first: int(float(%s))", arg_text(c, 0));
            no_number(c, s, "integer", strpbrk(text, ".eE") && base == 10 ? help : NULL);
        }
        if (__builtin_mul_overflow(n, base, &n) ||
            __builtin_add_overflow(n, negative ? -digit : digit, &n))
            arg_error(c, 0, ERR_VALUE, "%.60s does not fit an int (64 bits)", text);
    }
    if (!any)
        no_number(c, s, "integer", NULL);
    return v_int(n);
}

static Value int_of_float(OpCall *c, double x)
{
    if (!(x >= -0x1p63 && x < 0x1p63))
        arg_error(c, 0, ERR_VALUE, "%g does not fit an int (64 bits)", x);
    return v_int((int64_t)x);
}

/* Wants one real number: else the error that offers the elementwise cast. */
_Noreturn static void not_scalar(OpCall *c, const char *cast)
{
    char help[160], given[96];
    Value v = c->args[0];
    const char *text = arg_text(c, 0);
    if (v.tag == V_TENSOR && dtype_info(v.tensor->dtype)->kind == 'c')
        snprintf(help, sizeof help, "take a part: %s(real(%s))", c->op->name, text);
    else
        snprintf(help, sizeof help, "element by element: %s(%s)", cast, text);
    arg_error_help(c, 0, ERR_TYPE, v.tag == V_TENSOR || v.tag == V_RANGE ? help : NULL,
                   "one real number is wanted, or a string, not %s",
                   v_article(v, given, sizeof given));
}

static bool one_real(Value v)
{
    return v.tag == V_TENSOR && v.tensor->size == 1 && dtype_info(v.tensor->dtype)->kind != 'c' &&
           v.tensor->rank == 0;
}

Value op_run_int(OpCall *c)
{
    Value v = c->args[0];
    bool based = c->args[1].tag != V_UNDEF;
    int64_t base = based ? arg_int(c, 1) : 10;
    if (base != 0 && (base < 2 || base > 36))
        arg_error(c, 1, ERR_VALUE, "a base is from 2 to 36, or 0, not %lld", (long long)base);
    if (v.tag == V_STRING)
        return int_of_text(c, v.str, (int)base);
    if (based)
        arg_error(c, 1, ERR_TYPE, "a base goes with a string only");
    if (v.tag == V_INT || v.tag == V_BOOL)
        return v_int(v.i);
    if (v.tag == V_FLOAT)
        return int_of_float(c, v.f);
    if (!one_real(v))
        not_scalar(c, "i64");
    DType dt = (DType)v.tensor->dtype;
    int64_t whole;
    if (dtype_info(dt)->kind == 'f' && !dtype_foreign(dt))
        return int_of_float(c, element_f64(dt, v.tensor->data));
    if (cast_run(DT_I64, &whole, 1, dt, v.tensor->data, 1, 1) >= 0)
        arg_error(c, 0, ERR_VALUE, "%s does not fit an int (64 bits)", arg_text(c, 0));
    return v_int(whole);
}

static Value float_of_text(OpCall *c, const Str *s)
{
    char text[NUMBER_MAX], *end;
    if (!number_text(s, text) || strpbrk(text, "xXpP(") || text_is_space((unsigned char)text[0]))
        no_number(c, s, "number", NULL);
    double x = c_strtod(text, &end);
    if (*end || end == text)
        no_number(c, s, "number", NULL);
    return v_float(x);
}

Value op_run_float(OpCall *c)
{
    Value v = c->args[0];
    if (c->args[1].tag != V_UNDEF)
        return format_of_bits(c);
    if (v.tag == V_STRING)
        return float_of_text(c, v.str);
    if (v_immediate(v))
        return v_float(v_number(v));
    if (!one_real(v))
        not_scalar(c, "f64");
    return op_cast(c->in, v, DT_F64);
}
