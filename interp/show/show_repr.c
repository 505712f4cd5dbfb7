/* repr of tensors: text that reads back to the same elements, shape and dtype. A literal alone
 * where it gives that dtype (`[1.0, 2.0]`, `[1, 2; 3, 4]`), a cast around it otherwise
 * (`f32([0.1])`), `reshape` from rank 3 on, `zeros` of what is empty. What no float literal means
 * is read from text, `mp(200)("0.1")`; complex numbers of a format that has no name for them are
 * read in its scope. */
#include "core/system/c_locale.h"
#include "interp/show/show.h"
#include "kernels/device/device.h"

#include "kernels/number/number.h"
#include "kernels/sparse/sparse.h"

#include <math.h>
#include <stdlib.h>

/* Does a literal of such elements have this dtype? */
static bool literal_dtype(DType dt)
{
    return dt == DT_BOOL || dt == DT_I64 || dt == DT_F64 || dt == DT_C128;
}

static double round_to(Ctx *ctx, DType dt, double x)
{
    Arith a;
    if (arith_open(ctx, &a, dt, ROUND_NEAREST, false, false) == ARITH_OK)
        binary_round(&a, &x, &x, 1);
    return x;
}

/* The shortest text for dt is read as an f64 first. Should that land on the midpoint of
 * two neighbours in dt, the second rounding could miss x, so x itself is written. */
static void put_float(Buf *out, double x, DType dt)
{
    size_t from = out->len;
    show_float(out, x, dt);
    if (dt == DT_F64 || !isfinite(x) ||
        round_to(out->ctx, dt, c_strtod(buf_cstr(out) + from, NULL)) == x)
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
    } else if (show_is_number(dt)) {
        show_number_repr(out, dt, element);
    } else if (dtype_info(dt)->kind == 'f') {
        put_float(out, element_f64(dt, element), dt);
    } else if (dt == DT_RATIONAL) {
        put_rational(out, *(const Rational *)element);
    } else if (dtype_wide_pair(dt)) {
        show_pair_repr(out, dt, element, conjugate);
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

/* A vector of decimal or mp with an element that no float literal means: all of them from text. */
static bool put_texts(Interp *in, Buf *out, const Tensor *t)
{
    DType dt = (DType)t->dtype;
    int64_t step = t->rank == 1 ? tensor_strides(t)[0] * dtype_info(dt)->bytes : 0;
    bool plain = true;
    if (t->rank != 1 || !show_is_number(dt))
        return false;
    for (int64_t i = 0; i < t->size && plain; i++, poll_interrupt(in))
        plain = show_number_plain(out, dt, t->data + i * step);
    if (plain)
        return false;
    buf_printf(out, "%s([", dtype_name(dt));
    for (int64_t i = 0; i < t->size; i++) {
        buf_puts(out, i ? ", \"" : "\"");
        number_text(out, dt, t->data + i * step);
        buf_putc(out, '"');
        poll_interrupt(in);
    }
    buf_puts(out, "])");
    return true;
}

void show_tensor_repr(Interp *in, Buf *out, const Tensor *t)
{
    if (tensor_sparse(t)) {
        show_sparse_repr(in, out, t);
        return;
    }
    tensor_home(&in->ctx, t);
    bool covector = t->flags & TENSOR_COVECTOR;
    bool cast = !literal_dtype((DType)t->dtype);
    bool block = dtype_base((DType)t->dtype) == DT_CMINI || dtype_wide_pair((DType)t->dtype);
    if (dtype_base((DType)t->dtype) == DT_INTERVAL || block)
        cast = false;
    if (t->rank == 0 && show_is_number((DType)t->dtype))
        cast &= show_number_plain(out, (DType)t->dtype, t->data);
    if (t->rank == 0 && t->dtype == DT_RATIONAL)
        cast = rational_is_integer(*(const Rational *)(const void *)t->data) &&
               !rational_is_big(*(const Rational *)(const void *)t->data);
    Cursor c = { in, out, t, covector };
    if (put_texts(in, out, t))
        return;
    if (t->size == 0) {
        put_empty(out, t);
        return;
    }
    if (block)
        buf_printf(out, "precision %s { ", dtype_name(dtype_real((DType)t->dtype)));
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
    if (block)
        buf_puts(out, " }");
}
