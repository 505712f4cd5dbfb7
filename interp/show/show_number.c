/* Numbers of decimal, mp and interval as text: inside tensors, where a settable number of digits
 * is shown, by format specs, and as repr. In full, as print shows a scalar, they are
 * number_text's. */
#include "interp/show/show.h"

#include "core/system/c_locale.h"
#include "kernels/number/number.h"

#include <fenv.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- decimal and mp ---- */
/* Digits are made at the end of the caller's buffer and cut off again, so that an error that
 * unwinds leaves nothing behind. */
enum { POINT_MOST = 1000000000 };      /* exponents from here on are written by long_text */

/* The first `most` digits, correctly rounded, or all where they are fewer; false: the exponent
 * is none that a Decimal holds. */
static bool decimal_of(Decimal *d, Buf *scratch, DType dt, const void *cell, int most)
{
    size_t from = scratch->len;
    int64_t exp = 1;
    *d = (Decimal){ .negative = number_negative(dt, cell), .point = 1 };
    if (number_is_nan(dt, cell) || number_is_inf(dt, cell)) {
        d->kind = number_is_nan(dt, cell) ? DECIMAL_NAN : DECIMAL_INF;
        d->negative &= d->kind == DECIMAL_INF;
        return true;
    }
    if (number_is_zero(dt, cell))
        return true;
    number_shortest(scratch, dt, cell, &exp);
    if (scratch->len - from > (size_t)most) {
        scratch->len = from;
        number_digits(scratch, dt, cell, most, &exp);
    }
    size_t n = scratch->len - from;
    while (n > 0 && scratch->data[from + n - 1] == '0')
        n--;
    memcpy(d->digits, scratch->data + from, n);
    d->count = (int)n;
    scratch->len = from;
    d->point = exp > POINT_MOST ? POINT_MOST : exp < -POINT_MOST ? -POINT_MOST : (int)exp;
    return exp < POINT_MOST && exp > -POINT_MOST;
}

/* How many digits number_text shows of it. */
static int64_t digit_count(Buf *scratch, DType dt, const void *cell, int64_t *exp)
{
    size_t from = scratch->len;
    number_shortest(scratch, dt, cell, exp);
    int64_t n = (int64_t)(scratch->len - from);
    scratch->len = from;
    return n;
}

/* A number as far as the rule for cutting needs it: one of more than 18 digits has 18 here, its
 * zeros included, so that it is never taken for a shorter one. */
static bool decimal_seen(Decimal *d, Buf *scratch, DType dt, const void *cell)
{
    enum { SEEN = 18 };
    int64_t exp;
    if (!decimal_of(d, scratch, dt, cell, SEEN))
        return false;
    bool digits = d->kind == DECIMAL_FINITE && d->count > 0;
    if (digits && digit_count(scratch, dt, cell, &exp) > d->count) {
        memset(d->digits + d->count, '0', (size_t)(SEEN - d->count));
        d->count = SEEN;
    }
    return true;
}

/* d.ddde-5 of exactly n digits. */
static void put_exponential(Buf *out, DType dt, const void *cell, int n)
{
    Decimal d;
    decimal_of(&d, out, dt, cell, n);
    buf_putc(out, d.digits[0]);
    for (int i = 1; i < n; i++)
        buf_printf(out, "%s%c", i == 1 ? "." : "", i < d.count ? d.digits[i] : '0');
    buf_printf(out, "e%d", d.point - 1);
}

static void put_cut(Buf *out, const Decimal *d, Cut cut, DType dt, const void *cell)
{
    buf_puts(out, d->negative ? "-" : "");
    if (cut.exponent || decimal_is_small(d, cut))
        put_exponential(out, dt, cell,
                        cut.exponent || cut.digits < CUT_SMALL ? cut.digits : CUT_SMALL);
    else
        show_number_magnitude(out, dt, cell, &(NumberSpec){ 'f', cut.place, false });
}

void show_number_look(CutPart *part, Buf *scratch, DType dt, const void *cell, int digits,
                      bool decimals)
{
    Decimal d;
    if (dtype_base(dt) == DT_INTERVAL || !decimal_seen(&d, scratch, dt, cell))
        return;
    if (!decimals) {
        cut_point_of(part, &d, digits);
        return;
    }
    Cut cut = decimal_cut(part->point, digits);
    if (!decimal_is_cut(&d, digits) || decimal_is_small(&d, cut))
        return;
    size_t from = scratch->len;
    put_cut(scratch, &d, cut, dt, cell);
    int own = decimal_decimals(scratch->data + from, (int)(scratch->len - from));
    scratch->len = from;
    part->decimals = own > part->decimals ? own : part->decimals;
}

/* By the rule of decimal_element_text. */
static void put_number(Buf *out, DType dt, const void *cell, int digits, const CutPart *part)
{
    char text[DECIMAL_TEXT_MAX];
    size_t from = out->len;
    Decimal d;
    if (!decimal_seen(&d, out, dt, cell)) {
        number_text(out, dt, cell);
    } else if (!decimal_is_cut(&d, digits)) {
        decimal_uncut_text(text, &d, digits);
        buf_puts(out, text);
    } else {
        Cut cut = decimal_cut(part ? part->point : decimal_cut_point(&d, digits), digits);
        put_cut(out, &d, cut, dt, cell);
        int keep = part && !decimal_is_small(&d, cut) ? part->decimals : -1;
        out->len = from + (size_t)decimal_trim(out->data + from, (int)(out->len - from), keep);
    }
}

/* ---- format specs ---- */
/* |x| as n digits 0.d1d2… 10^exp, rounded half to even at a place. They stand in `out` from
 * `from` on, in `room` bytes, while the text is made behind them. */
typedef struct Digits { Buf *out; size_t from, room, n; int64_t exp; } Digits;

static const char *digits_text(const Digits *d) { return d->out->data + d->from; }

static void digits_rounded(Digits *d, DType dt, const void *cell, int64_t n)
{
    d->out->len = d->from;
    number_digits(d->out, dt, cell, n, &d->exp);
    d->n = d->room = d->out->len - d->from;
}

/* Is 0.d1d2… above one half? */
static bool above_half(const Digits *d)
{
    const char *t = digits_text(d);
    size_t zeros = 1;
    while (zeros < d->n && t[zeros] == '0')
        zeros++;
    return d->n > 0 && (t[0] > '5' || (t[0] == '5' && zeros < d->n));
}

/* To `places` decimals. Below the last one the number is 0 or one unit of it. */
static void digits_fixed(Digits *d, DType dt, const void *cell, int64_t places)
{
    digits_rounded(d, dt, cell, 40);
    int64_t n = d->exp + places;
    if (n >= 1) {
        digits_rounded(d, dt, cell, n);
        return;
    }
    bool up = n == 0 && above_half(d);
    if (n == 0 && !up && digits_text(d)[0] == '5') {       /* a half, as far as 40 digits tell */
        d->out->len = d->from;
        number_shortest(d->out, dt, cell, &d->exp);
        d->n = d->out->len - d->from;
        up = d->exp + places == 0 && above_half(d);
    }
    d->out->len = d->from;
    buf_puts(d->out, up ? "1" : "");
    d->n = d->room = up;
    d->exp = up ? 1 - places : 0;
}

/* The digit of 10^-i, i from 1 on behind the point and from 0 down before it. */
static char digit_at(const Digits *d, int64_t i)
{
    int64_t at = d->exp - 1 + i;
    return at >= 0 && at < (int64_t)d->n ? digits_text(d)[at] : '0';
}

static size_t put_fixed(Buf *out, const Digits *d, int64_t places, bool point)
{
    int64_t whole = d->exp > 1 && d->n ? d->exp : 1;
    for (int64_t i = 1 - whole; i <= 0; i++)
        buf_putc(out, digit_at(d, i));
    if (places > 0 || point)
        buf_putc(out, '.');
    for (int64_t i = 1; i <= places; i++)
        buf_putc(out, digit_at(d, i));
    return (size_t)whole;
}

static size_t put_scientific(Buf *out, const Digits *d, int64_t places, bool point, char e)
{
    buf_putc(out, d->n ? digits_text(d)[0] : '0');
    if (places > 0 || point)
        buf_putc(out, '.');
    for (int64_t i = 1; i <= places; i++)
        buf_putc(out, i < (int64_t)d->n ? digits_text(d)[i] : '0');
    int64_t x = d->n ? d->exp - 1 : 0;
    buf_printf(out, "%c%c%02" PRId64, e, x < 0 ? '-' : '+', x < 0 ? -x : x);
    return 1;
}

static void strip_zeros(Digits *d)
{
    while (d->n > 1 && digits_text(d)[d->n - 1] == '0')
        d->n--;
}

/* g: `precision` digits, an exponent where C has one. */
static size_t put_general(Buf *out, Digits *d, DType dt, const void *cell, const NumberSpec *s)
{
    int64_t p = s->precision ? s->precision : 1;
    digits_rounded(d, dt, cell, p);
    int64_t x = number_is_zero(dt, cell) ? 0 : d->exp - 1;
    if (!s->alternate)
        strip_zeros(d);
    int64_t n = s->alternate ? p : number_is_zero(dt, cell) ? 1 : (int64_t)d->n;
    if (x >= -4 && x < p)
        return put_fixed(out, d, n - 1 - x > 0 ? n - 1 - x : 0, s->alternate);
    return put_scientific(out, d, n - 1, s->alternate, s->type == 'G' ? 'E' : 'e');
}

/* As print has it, of at most `precision` digits. */
static size_t put_short(Buf *out, Digits *d, DType dt, const void *cell, int precision)
{
    size_t from = out->len;
    int64_t exp;
    if (precision < 0 || digit_count(out, dt, cell, &exp) <= precision) {
        number_text(out, dt, cell);
        if (out->data[from] == '-')
            memmove(out->data + from, out->data + from + 1, --out->len - from);
        return strspn(buf_cstr(out) + from, "0123456789");
    }
    int64_t p = precision ? precision : 1;
    digits_rounded(d, dt, cell, p);
    strip_zeros(d);
    int64_t n = (int64_t)d->n;
    if (d->exp > -4 && d->exp <= p - 1)
        return put_fixed(out, d, n > d->exp ? n - d->exp : 1, false);
    buf_putc(out, digits_text(d)[0]);
    if (n > 1)
        buf_putc(out, '.');
    for (int64_t i = 1; i < n; i++)
        buf_putc(out, digits_text(d)[i]);
    buf_printf(out, "e%" PRId64, d->exp - 1);
    return 1;
}

size_t show_number_magnitude(Buf *out, DType dt, const void *cell, const NumberSpec *s)
{
    Digits d = { .out = out, .from = out->len };
    int64_t places = s->precision < 0 ? 6 : s->precision;
    NumberSpec general = *s;
    size_t whole;
    general.precision = (int)places;
    switch (s->type) {
    case 'f': case 'F':
        digits_fixed(&d, dt, cell, places);
        whole = put_fixed(out, &d, places, s->alternate);
        break;
    case '%':
        digits_fixed(&d, dt, cell, places + 2);
        d.exp += 2;
        whole = put_fixed(out, &d, places, s->alternate);
        break;
    case 'e': case 'E':
        digits_rounded(&d, dt, cell, places + 1);
        whole = put_scientific(out, &d, places, s->alternate, s->type);
        break;
    case 0: whole = put_short(out, &d, dt, cell, s->precision); break;
    default: whole = put_general(out, &d, dt, cell, &general); break;
    }
    memmove(out->data + d.from, out->data + d.from + d.room, out->len - d.from - d.room);
    out->len -= d.room;
    return whole;
}

/* ---- intervals ---- */
/* A bound of at most `digits` digits, rounded outwards. The digits that are rounded are those that
 * stand: a double between would round them once more, perhaps inwards. */
static void put_bound(Buf *out, double x, int digits, int outwards)
{
    char text[DECIMAL_TEXT_MAX], rounded[DECIMAL_TEXT_MAX];
    Decimal d = { .negative = signbit(x) != 0 };
    int mode = fegetround();
    if (isfinite(x)) {
        fesetround(outwards);
        c_snprintf(rounded, sizeof rounded, "%.*e", digits - 1, x);
        fesetround(mode);
        for (const char *p = rounded; *p != 'e'; p++)
            if (*p >= '0' && *p <= '9')
                d.digits[d.count++] = *p;
        while (d.count > 0 && d.digits[d.count - 1] == '0')
            d.count--;
        d.point = atoi(strchr(rounded, 'e') + 1) + 1;
    } else {
        d.kind = isnan(x) ? DECIMAL_NAN : DECIMAL_INF;
    }
    decimal_text(text, &d, -4, 16);
    buf_puts(out, text);
}

static void put_interval(Buf *out, Interval v, int digits)
{
    buf_putc(out, '[');
    put_bound(out, v.lo, digits, FE_DOWNWARD);
    buf_puts(out, ", ");
    put_bound(out, v.hi, digits, FE_UPWARD);
    buf_putc(out, ']');
}

/* ---- callers ---- */
bool show_is_number(DType dt)
{
    DType base = dtype_base(dt);
    return base == DT_DECIMAL || base == DT_MP || base == DT_INTERVAL;
}

void show_number_element(Buf *out, DType dt, const void *cell, int digits, const CutPart *part)
{
    if (dtype_base(dt) == DT_INTERVAL)
        put_interval(out, *(const Interval *)cell, digits);
    else
        put_number(out, dt, cell, digits, part);
}

/* Is the number what a float literal of its text means in dt? */
static bool is_plain(Ctx *ctx, DType dt, const void *cell, const char *text)
{
    Arith a;
    _Alignas(16) Rational back = { 0 };
    const double x = c_strtod(text, NULL);
    int order = 2;
    return isfinite(x) && arith_open(ctx, &a, dt, ROUND_NEAREST, false, false) == ARITH_OK &&
           a.ops->load(&a, &back, 1, DT_F64, &x, 1, 1) == ARITH_OK &&
           a.ops->compare(&a, &back, cell, &order) == ARITH_OK && order == 0;
}

bool show_number_plain(Buf *scratch, DType dt, const void *cell)
{
    size_t from = scratch->len;
    if (dtype_base(dt) == DT_INTERVAL || number_is_nan(dt, cell) || number_is_inf(dt, cell))
        return true;
    number_text(scratch, dt, cell);
    bool plain = is_plain(scratch->ctx, dt, cell, buf_cstr(scratch) + from);
    scratch->len = from;
    return plain;
}

void show_number_repr(Buf *out, DType dt, const void *cell)
{
    if (dtype_base(dt) == DT_INTERVAL) {
        const Interval *v = cell;
        buf_puts(out, "interval(");
        show_float(out, v->lo, DT_F64);
        buf_puts(out, ", ");
        show_float(out, v->hi, DT_F64);
        buf_putc(out, ')');
        return;
    }
    bool plain = show_number_plain(out, dt, cell);
    if (!plain)
        buf_printf(out, "%s(\"", dtype_name(dt));
    number_text(out, dt, cell);
    if (!plain)
        buf_puts(out, "\")");
}
