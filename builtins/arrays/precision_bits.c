/* bits(x): the fields of a number as text. Binary floats as they are stored (those of one byte
 * and more) or would be (float(e, p)), ints in two's complement, numbers of mp and decimal as
 * exponent and digits. */
#include "builtins/strings/text.h"

#include "interp/op/arith.h"
#include "kernels/number/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- one number ---- */
static void put_binary(Buf *out, uint64_t bits, int n)
{
    for (int i = n - 1; i >= 0; i--)
        buf_putc(out, bits >> i & 1 ? '1' : '0');
}

static void put_fields(Buf *out, bool negative, uint64_t exponent, int e, uint64_t fraction, int f)
{
    put_binary(out, negative, 1);
    buf_putc(out, ' ');
    put_binary(out, exponent, e);
    if (f > 0) {
        buf_putc(out, ' ');
        put_binary(out, fraction, f);
    }
}

/* A float(e, p): x is a number of it. nan is a quiet one, as where it is stored. */
static void put_mini(Buf *out, double x, int e, int p, MiniStyle style)
{
    uint64_t all = ((uint64_t)1 << e) - 1, fraction_all = ((uint64_t)1 << (p - 1)) - 1;
    int bias = (int)(all >> 1), emin = 1 - bias;
    double size = fabs(x);
    if (isnan(x)) {
        put_fields(out, signbit(x), all, e,
                   style == MINI_NAN ? fraction_all : (fraction_all + 1) >> 1, p - 1);
    } else if (isinf(x)) {
        put_fields(out, signbit(x), all, e, 0, p - 1);
    } else if (size < ldexp(1, emin)) {
        put_fields(out, signbit(x), 0, e, (uint64_t)ldexp(size, p - 1 - emin), p - 1);
    } else {
        int exponent = ilogb(x);
        uint64_t significand = (uint64_t)ldexp(size, p - 1 - exponent);
        put_fields(out, signbit(x), (uint64_t)(exponent + bias), e, significand & fraction_all,
                   p - 1);
    }
}

static void put_stored(Buf *out, const void *element, int e, int p)
{
    uint64_t word = 0;
    memcpy(&word, element, (size_t)(e + p) / 8);
    put_fields(out, word >> (e + p - 1) & 1, word >> (p - 1) & (((uint64_t)1 << e) - 1), e,
               word & (((uint64_t)1 << (p - 1)) - 1), p - 1);
}

/* `0 10^-1 1.25`, `0 2^-4 1.1001…`: sign, exponent, digits with a point behind the first. */
static void put_digits(Buf *out, bool negative, int base, int64_t exponent, const char *digits,
                       size_t n)
{
    buf_printf(out, "%d %d^%lld %.*s", negative, base, (long long)exponent, n ? 1 : 0, digits);
    if (n > 1)
        buf_printf(out, ".%.*s", (int)n - 1, digits + 1);
}

typedef struct Digits {
    DType dt;
    Rational x;
    int64_t exponent;               /* out */
} Digits;

static void put_mp_digits(Interp *in, Buf *text, void *digits)
{
    Digits *d = digits;
    MpView view;
    mpfr_srcptr m = mp_view(&view, d->x);
    int64_t limbs = (m->_mpfr_prec + 63) / 64;
    (void)in;
    /* the highest bit is the top limb's */
    for (int64_t i = 0; i < dtype_digits(d->dt); i++) {
        int64_t limb = limbs - 1 - i / 64;
        buf_putc(text, limb >= 0 && m->_mpfr_d[limb] >> (63 - i % 64) & 1 ? '1' : '0');
    }
    d->exponent = m->_mpfr_exp;
}

static void put_decimal_digits(Interp *in, Buf *text, void *digits)
{
    Digits *d = digits;
    (void)in;
    number_digits(text, d->dt, &d->x, dtype_digits(d->dt), &d->exponent);
}

static void put_cell(OpCall *c, Buf *out, DType dt, Rational x)
{
    bool mp = dtype_base(dt) == DT_MP;
    Digits d = { .dt = dt, .x = x };
    Value text = text_build(c->in, mp ? put_mp_digits : put_decimal_digits, &d);
    v_push(c->in, text);
    put_digits(out, cell_negative(x), mp ? 2 : 10, d.exponent - 1, text.str->text, text.str->len);
    stack_cut(c->in, c->in->sp - 1);
}

static void put_number(OpCall *c, Buf *out, DType dt, const void *element)
{
    Rational x;
    memcpy(&x, element, sizeof x);
    if (number_is_nan(dt, &x))
        buf_puts(out, "nan");
    else if (number_is_inf(dt, &x) || number_is_zero(dt, &x))
        buf_printf(out, "%d %s", number_negative(dt, &x), number_is_inf(dt, &x) ? "inf" : "0");
    else
        put_cell(c, out, dt, x);
}

static void put_int(Buf *out, DType dt, const void *element)
{
    uint64_t word = 0;
    memcpy(&word, element, dtype_info(dt)->bytes);
    put_binary(out, word, dt == DT_BOOL ? 1 : 8 * dtype_info(dt)->bytes);
}

static _Noreturn void refuse(OpCall *c, DType dt)
{
    char help[160];
    const char *text = arg_text(c, 0);
    if (dt == DT_RATIONAL) {
        snprintf(help, sizeof help, "of a float near to it: bits(f64(%.60s))", text);
        arg_error_help(c, 0, ERR_VALUE, help,
                       "%s is a fraction: its numerator and denominator are ints of any length",
                       text);
    }
    snprintf(help, sizeof help, "of its parts: bits(real(%.40s)), bits(imag(%.40s))", text, text);
    arg_error_help(c, 0, ERR_DTYPE, help, "%s is %s; bits takes real numbers", text,
                   dtype_name(dt));
}

typedef struct Element {
    OpCall *c;
    DType dt;
    const void *at;
} Element;

static void put_element(Interp *in, Buf *out, void *element)
{
    const Element *x = element;
    int e, p;
    MiniStyle style;
    (void)in;
    if (strchr("bi", dtype_info(x->dt)->kind)) {
        put_int(out, x->dt, x->at);
    } else if (!dtype_mini_read(x->dt, &e, &p, &style)) {
        put_number(x->c, out, x->dt, x->at);
    } else if (dtype_base(x->dt) != DT_MINI) {
        put_stored(out, x->at, e, p);
    } else {
        double v;
        memcpy(&v, x->at, sizeof v);
        if (isnan(v) && style == MINI_FINITE)
            buf_puts(out, "nan"); /* carried along, but no code stands for it */
        else
            put_mini(out, v, e, p, style);
    }
}

static Value text_of(OpCall *c, DType dt, const void *element)
{
    return text_build(c->in, put_element, &(Element){ c, dt, element });
}

static Value bits_of(OpCall *c, DType dt, const void *element)
{
    if (dt != DT_INTERVAL)
        return text_of(c, dt, element);
    const double *ends = element;
    Value lo = op_root(c, text_of(c, DT_F64, &ends[0])), hi = text_of(c, DT_F64, &ends[1]);
    return tuple_make(c->in, "lo", v_retain(lo), "hi", hi, NULL);
}

/* ---- tensors ---- */
/* Elements from axis `axis` on as nested tuples; *at is the next one's. */
static Value bits_nested(OpCall *c, const Tensor *t, int axis, const char **at)
{
    Value *mark = c->in->sp;
    if (axis == t->rank) {
        Value v = bits_of(c, (DType)t->dtype, *at);
        *at += dtype_info((DType)t->dtype)->bytes;
        stack_cut(c->in, mark);             /* what an interval rooted */
        return v;
    }
    v_push(c->in, v_tuple(tuple_new(&c->in->ctx, 0)));
    for (int64_t i = 0; i < tensor_shape(t)[axis]; i++) {
        poll_interrupt(c->in);
        tuple_push(&c->in->ctx, &mark->tuple, NULL, bits_nested(c, t, axis + 1, at));
    }
    Value v = v_retain(*mark);
    stack_cut(c->in, mark);
    return v;
}

Value op_run_bits(OpCall *c)
{
    Value v = c->args[0];
    Tensor *t = v_is_numeric(v) ? op_keep(c, v_to_tensor(c->in, v, 0)) : arg_tensor(c, 0);
    DType dt = (DType)t->dtype;
    if (dt == DT_RATIONAL || dtype_info(dt)->kind == 'c')
        refuse(c, dt);
    t = op_keep(c, tensor_compact(&c->in->ctx, t));
    const char *at = t->data;
    return bits_nested(c, t, 0, &at);
}
