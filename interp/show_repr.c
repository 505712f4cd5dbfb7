/* repr of tensors: text that reads back to the same elements, shape and dtype. Called by
 * show.c. A literal alone where it gives that dtype (`[1.0, 2.0]`, `[1, 2; 3, 4]`), a cast
 * around it otherwise (`f32([0.1])`), `reshape` from rank 3 on, `zeros` of what is empty. */
#include "interp/show.h"

#include "kernels/rational.h"

#include <math.h>
#include <stdlib.h>

/* Does a literal of such elements have this dtype? */
static bool literal_dtype(DType dt)
{
    return dt == DT_BOOL || dt == DT_I64 || dt == DT_F64 || dt == DT_C128;
}

static double round_to(DType dt, double x)
{
    switch (dt) {
    case DT_F16: return f16_to_f32(f64_to_f16(x));
    case DT_BF16: return bf16_to_f32(f64_to_bf16(x));
    case DT_F32: return (float)x;
    default: return x;
    }
}

/* The shortest text for dt is read as an f64 first. Should that land on the midpoint of
 * two neighbours in dt, the second rounding could miss x, so x itself is written. */
static void put_float(Buf *out, double x, DType dt)
{
    size_t from = out->len;
    show_float(out, x, dt);
    if (dt == DT_F64 || !isfinite(x) || round_to(dt, strtod(buf_cstr(out) + from, NULL)) == x)
        return;
    out->len = from;
    show_float(out, x, DT_F64);
}

/* An int stands for itself, since a cast stands around it; a fraction is text. */
static void put_rational(Buf *out, Rational a)
{
    int64_t i;
    if (rational_as_int(a, &i) && i != INT64_MIN) {
        rational_text(out, a);
        return;
    }
    buf_puts(out, "rational(\"");
    rational_text(out, a);
    buf_puts(out, "\")");
}

static void put_element(Buf *out, DType dt, const void *element, bool conjugate)
{
    if (dt == DT_I64 && element_i64(dt, element) == INT64_MIN) {
        buf_puts(out, "(-9223372036854775807 - 1)");
    } else if (dtype_info(dt)->kind == 'f') {
        put_float(out, element_f64(dt, element), dt);
    } else if (dt == DT_RATIONAL) {
        put_rational(out, *(const Rational *)element);
    } else if (dtype_info(dt)->kind == 'c') {
        double _Complex z = element_c128(dt, element);
        double im = conjugate ? -__imag__ z : __imag__ z;
        put_float(out, __real__ z, show_part(dt));
        if (!signbit(im) || isnan(im))
            buf_putc(out, '+');
        put_float(out, im, show_part(dt));
        buf_putc(out, 'i');
    } else {
        show_element(out, dt, element);
    }
}

typedef struct Cursor {
    Interp *in;
    Buf *out;
    const Tensor *t;
    bool conjugate;           /* a covector's literal stands under a ' */
} Cursor;

/* Elements from `axis` on in row-major order; `between` rows of a matrix a semicolon. */
static void put_elements(const Cursor *c, int axis, const char *base, bool *first,
                         const char *between)
{
    const int64_t *shape = tensor_shape(c->t), *strides = tensor_strides(c->t);
    int bytes = dtype_info(c->t->dtype)->bytes;
    if (axis == c->t->rank) {
        if (!*first)
            buf_puts(c->out, ", ");
        *first = false;
        put_element(c->out, c->t->dtype, base, c->conjugate);
        return;
    }
    for (int64_t i = 0; i < shape[axis]; i++) {
        if (i > 0 && between && axis == c->t->rank - 2) {
            buf_puts(c->out, between);
            *first = true;
        }
        put_elements(c, axis + 1, base + i * strides[axis] * bytes, first, between);
        poll_interrupt(c->in);
    }
}

static void put_empty(Buf *out, const Tensor *t)
{
    const int64_t *shape = tensor_shape(t);
    buf_puts(out, "zeros((");
    for (int a = 0; a < t->rank; a++)
        buf_printf(out, "%lld%s", (long long)shape[a], a + 1 < t->rank ? ", " : "");
    buf_puts(out, t->rank == 1 ? ",)" : ")");
    if (t->dtype != DT_F64)
        buf_printf(out, ", dtype=%s", dtype_name(t->dtype));
    buf_putc(out, ')');
}

static void put_literal(const Cursor *c)
{
    const Tensor *t = c->t;
    bool covector = t->flags & TENSOR_COVECTOR;
    bool one_row = t->rank == 2 && tensor_shape(t)[0] == 1 && !covector;
    bool first = true;
    if (t->rank > 0)
        buf_puts(c->out, one_row ? "[[" : "[");
    put_elements(c, 0, t->data, &first, t->rank == 2 ? "; " : NULL);
    if (t->rank > 0)
        buf_puts(c->out, one_row ? "]]" : "]");
}

static void put_shape_argument(Buf *out, const Tensor *t)
{
    const int64_t *shape = tensor_shape(t);
    for (int a = 0; a < t->rank; a++)
        buf_printf(out, "%s%lld", a ? ", " : ", (", (long long)shape[a]);
    buf_puts(out, "))");
}

void show_tensor_repr(Interp *in, Buf *out, const Tensor *t)
{
    bool covector = t->flags & TENSOR_COVECTOR;
    bool cast = !literal_dtype((DType)t->dtype);
    if (t->rank == 0 && t->dtype == DT_RATIONAL)
        cast = rational_is_integer(*(const Rational *)(const void *)t->data) &&
               !rational_is_big(*(const Rational *)(const void *)t->data);
    Cursor c = { in, out, t, covector };
    if (t->size == 0) {
        put_empty(out, t);
        return;
    }
    if (t->rank > 2)
        buf_puts(out, "reshape(");
    if (cast)
        buf_printf(out, "%s(", dtype_name(t->dtype));
    put_literal(&c);
    if (cast)
        buf_putc(out, ')');
    if (t->rank > 2)
        put_shape_argument(out, t);
    if (covector)
        buf_putc(out, '\'');
}
