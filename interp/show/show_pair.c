/* Complex numbers of formats that no C type holds, as text: their parts as those formats write
 * them. Of an interval both are intervals, which no text rounds inwards; the imaginary part of a
 * fraction has its i before the bar, so that it reads back. */
#include "interp/show/show.h"

#include "kernels/number/number.h"

#include <string.h>

static bool is_fraction(DType dt) { return dtype_base(dt) == DT_RATIONAL; }

ShowPart show_pair_part(DType dt, const void *element, int which)
{
    ShowPart p = { .dtype = dtype_real(dt) };
    Rational c;
    memcpy(&c, (const char *)element + which * 16, sizeof c);
    if (which && dtype_cells(p.dtype) && !number_is_nan(p.dtype, &c) &&
        number_negative(p.dtype, &c)) {
        p.minus = true;
        if (!is_fraction(p.dtype))
            c.tail &= ~CELL_SIGN;
    }
    memcpy(p.cell, &c, sizeof c);
    return p;
}

/* 2i/3 */
static void put_fraction(Buf *out, const ShowPart *p, bool imaginary)
{
    size_t from = out->len, sign = p->minus;
    rational_text(out, *(const Rational *)(const void *)p->cell);
    if (!imaginary)
        return;
    memmove(out->data + from, out->data + from + sign, out->len - from - sign);
    out->len -= sign;
    const char *bar = memchr(out->data + from, '/', out->len - from);
    size_t at = bar ? (size_t)(bar - out->data) : out->len;
    buf_putc(out, 'i');
    memmove(out->data + at + 1, out->data + at, out->len - 1 - at);
    out->data[at] = 'i';
}

void show_pair(Buf *out, const ShowOptions *o, const CutColumn *column, DType dt,
               const void *element)
{
    for (int k = 0; k < 2; k++) {
        ShowPart p = show_pair_part(dt, element, k);
        const CutPart *part = column ? &column->part[k] : NULL;
        if (k)
            buf_putc(out, p.minus ? '-' : '+');
        if (is_fraction(p.dtype))
            put_fraction(out, &p, k);
        else if (part)
            show_number_element(out, p.dtype, p.cell, o->digits,
                                part->point == CUT_NOTHING ? NULL : part);
        else
            number_text(out, p.dtype, p.cell);
        if (k && !is_fraction(p.dtype))
            buf_putc(out, 'i');
    }
}

void show_pair_repr(Buf *out, DType dt, const void *element, bool conjugate)
{
    for (int k = 0; k < 2; k++) {
        ShowPart p = show_pair_part(dt, element, k);
        bool bounds = dtype_bounds(p.dtype);
        if (k)
            buf_putc(out, p.minus != conjugate ? '-' : '+');
        if (is_fraction(p.dtype))
            put_fraction(out, &p, k);
        else if (bounds)
            show_number_repr(out, p.dtype, p.cell);
        else
            number_text(out, p.dtype, p.cell);
        if (k && !is_fraction(p.dtype))
            buf_puts(out, bounds ? "*1i" : "i");
    }
}

size_t show_sign_between(const char *text, size_t n)
{
    int depth = 0;
    for (size_t i = n; i-- > 1;) {
        depth += (text[i] == ']') - (text[i] == '[');
        if (depth == 0 && (text[i] == '+' || text[i] == '-') && text[i - 1] != 'e' &&
            text[i - 1] != 'p')
            return i;
    }
    return n;
}
