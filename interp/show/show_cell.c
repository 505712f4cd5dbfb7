/* How one element is written in each of the formats that format("…") sets: cut to a few digits, in
 * full, as a fraction, in its bits. */
#include "interp/show/show.h"

#include "kernels/arith/arith.h"
#include "kernels/number/number.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

bool show_is_zero(DType dt, const void *element)
{
    char kind = dtype_info(dt)->kind;
    if (kind == 'b' || kind == 'i')
        return element_i64(dt, element) == 0;
    if (kind == 'q')
        return rational_sign(*(const Rational *)element) == 0;
    if (show_is_number(dt))
        return dtype_base(dt) != DT_INTERVAL && number_is_zero(dt, element) &&
               !number_negative(dt, element);
    if (dtype_wide_pair(dt)) {
        ShowPart p = show_pair_part(dt, element, 0), q = show_pair_part(dt, element, 1);
        return show_is_zero(p.dtype, p.cell) && show_is_zero(q.dtype, q.cell) && !q.minus;
    }
    double _Complex z = kind == 'c' ? element_c128(dt, element) : element_f64(dt, element);
    double re = __real__ z, im = __imag__ z;
    return re == 0 && im == 0 && !signbit(re) && !signbit(im);
}

/* ---- bits ---- */
static int storage_bits(DType dt) { return 8 * dtype_info(dt)->bytes; }

static void put_int_bits(Buf *out, DType dt, int64_t i)
{
    uint64_t u = (uint64_t)i;
    if (storage_bits(dt) < 64)
        u &= ((uint64_t)1 << storage_bits(dt)) - 1;
    buf_printf(out, "0x%" PRIx64, u);
}

/* A float of C is 0x1.8p+1; one of a storage format of at most 16 bits all its bits. */
static void put_hex(Buf *out, DType dt, double x, const void *cell)
{
    uint16_t half;
    if (cell && dtype_info(dt)->bytes == 2) {
        memcpy(&half, cell, sizeof half);
        buf_printf(out, "0x%04x", (unsigned)half);
    } else if (cell && dtype_info(dt)->bytes == 1) {
        buf_printf(out, "0x%02x", (unsigned)*(const uint8_t *)cell);
    } else if (isfinite(x)) {
        buf_printf(out, "%a", x);
    } else {
        show_float(out, x, dt);
    }
}

/* ---- fractions ---- */
/* The fraction of least denominator in [lo, hi], 0 < lo <= hi, by continued fractions; false
 * where its numerator or denominator is over 2^53. */
static bool simplest_fraction(long double lo, long double hi, int64_t *p, int64_t *q)
{
    int64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;          /* convergents: p1/q1 the last one */
    for (int step = 0; step < 64; step++) {
        long double floor_lo = floorl(lo), a = floor_lo;
        bool last = floor_lo == lo || floor_lo + 1 <= hi;
        if (last && floor_lo != lo)
            a = floor_lo + 1;
        if (a * (long double)p1 + (long double)p0 > 0x1p53L ||
            a * (long double)q1 + (long double)q0 > 0x1p53L)
            return false;
        int64_t n = (int64_t)a, p2 = n * p1 + p0, q2 = n * q1 + q0;
        p0 = p1, q0 = q1, p1 = p2, q1 = q2;
        if (last) {
            *p = p1;
            *q = q1;
            return true;
        }
        long double t = 1 / (hi - a);
        hi = 1 / (lo - a);
        lo = t;
    }
    return false;
}

/* Denominators above FRACTION_MOST are no simpler than decimals. */
enum { FRACTION_MOST = 1000000, DYADIC = 6 };

/* A denominator q is told from chance where q^2 such intervals are few: q^2 × width <= 1/10. */
static bool is_simple(int64_t q, long double width)
{
    return q <= FRACTION_MOST && (long double)q * (long double)q * width <= 0.1L + LDBL_EPSILON;
}

/* |x| as p/q: the simplest one that agrees with it to the place where it would be cut, else the
 * one that reads back as x. *exact: p/q rounded to dt is x. False: no simple one. */
static bool fraction_of(double x, DType dt, int digits, int64_t *p, int64_t *q, bool *exact)
{
    Decimal d;
    *exact = true;
    *p = (int64_t)ldexp(fabs(x), DYADIC);          /* halves, quarters, … are what they are */
    *q = (int64_t)1 << DYADIC;
    for (; *p % 2 == 0 && *q > 1; *q /= 2)
        *p /= 2;
    if ((double)*p == fabs(x) * (double)*q)
        return true;
    decimal_shortest(&d, x, dt);
    int point = decimal_is_cut(&d, digits) ? decimal_cut_point(&d, digits) : d.point;
    Cut cut = decimal_cut(point, digits);
    int place = cut.exponent ? digits - d.point : cut.place, bits, least;
    long double v = fabsl((long double)x), unit = powl(10, -place);
    decimal_format(dt, &bits, &least);
    long double ulp = ldexpl(1, ilogb(x) + 1 - bits < least ? least : ilogb(x) + 1 - bits);
    long double slack = 0.4999L * ulp;
    if (unit / 2 > slack && v > unit / 2 && simplest_fraction(v - unit / 2, v + unit / 2, p, q) &&
        is_simple(*q, unit)) {
        *exact = fabsl((long double)*p / (long double)*q - v) <= slack;
        return true;
    }
    *exact = true;
    return v > slack && simplest_fraction(v - slack, v + slack, p, q) && is_simple(*q, ulp);
}

/* 3, 1/3, ≈1/3 where the fraction is not the number itself; false: none is simple. */
static bool put_fraction(Buf *out, double x, DType dt, int digits)
{
    int64_t p, q = 1;
    bool exact = true;
    if (!isfinite(x) || fabs(x) >= 0x1p40)
        return false;
    if (x == trunc(x))
        p = (int64_t)fabs(x);
    else if (!fraction_of(x, dt, digits, &p, &q, &exact))
        return false;
    buf_printf(out, "%s%s%" PRId64, exact ? "" : "≈", signbit(x) ? "-" : "", p);
    if (q > 1)
        buf_printf(out, "/%" PRId64, q);
    return true;
}

/* ---- one real number ---- */
/* part NULL: all its digits. */
static void put_part(Buf *out, const ShowOptions *o, DType dt, double x, const CutPart *part,
                     const void *cell)
{
    char text[DECIMAL_TEXT_MAX];
    if (o->style == SHOW_FRACTION && put_fraction(out, x, dt, o->digits))
        return;
    if (o->style == SHOW_HEX) {
        put_hex(out, dt, x, cell);
    } else if (o->style == SHOW_FULL || !part) {
        show_float(out, x, dt);
    } else {
        decimal_element_text(text, x, dt, o->digits, part->point == CUT_NOTHING ? NULL : part);
        buf_puts(out, text);
    }
}

static void look_part(CutPart *part, const ShowOptions *o, DType dt, double x, bool decimals)
{
    char text[DECIMAL_TEXT_MAX];
    Decimal d;
    decimal_shortest(&d, x, dt);
    if (!decimals) {
        cut_point_of(part, &d, o->digits);
        return;
    }
    Cut cut = decimal_cut(part->point, o->digits);
    if (!decimal_is_cut(&d, o->digits) || decimal_is_small(&d, cut))
        return;
    int own = decimal_decimals(text, decimal_cut_text(text, x, &d, cut));
    part->decimals = own > part->decimals ? own : part->decimals;
}

/* ---- elements ---- */
static bool cuts(const ShowOptions *o) { return o->style != SHOW_FULL && o->style != SHOW_HEX; }

void cut_settled(CutColumn *column, const ShowOptions *o)
{
    cut_settle(&column->part[0], o->digits);
    cut_settle(&column->part[1], o->digits);
}

void cut_look(CutColumn *column, Buf *scratch, const ShowOptions *o, DType dt, const void *element,
              bool decimals)
{
    char kind = dtype_info(dt)->kind;
    if (!cuts(o) || (kind != 'f' && kind != 'c'))
        return;
    if (show_is_number(dt)) {
        show_number_look(&column->part[0], scratch, dt, element, o->digits, decimals);
        return;
    }
    for (int k = 0; dtype_wide_pair(dt) && k < 2; k++) {
        ShowPart p = show_pair_part(dt, element, k);
        if (show_is_number(p.dtype))
            show_number_look(&column->part[k], scratch, p.dtype, p.cell, o->digits, decimals);
    }
    if (dtype_wide_pair(dt))
        return;
    double _Complex z = kind == 'c' ? element_c128(dt, element) : element_f64(dt, element);
    look_part(&column->part[0], o, show_part(dt), __real__ z, decimals);
    if (kind == 'c')
        look_part(&column->part[1], o, show_part(dt), __imag__ z, decimals);
}

static void put_complex(Buf *out, const ShowOptions *o, DType dt, double _Complex z,
                        const CutColumn *column)
{
    put_part(out, o, show_part(dt), __real__ z, column ? &column->part[0] : NULL, NULL);
    double im = __imag__ z;
    bool negative = signbit(im) && !isnan(im);
    buf_putc(out, negative ? '-' : '+');
    put_part(out, o, show_part(dt), negative ? -im : im, column ? &column->part[1] : NULL, NULL);
    buf_putc(out, 'i');
}

void show_cell(Buf *out, const ShowOptions *o, const CutColumn *column, DType dt,
               const void *element)
{
    char kind = dtype_info(dt)->kind;
    const CutPart *part = column ? &column->part[0] : NULL;
    if (kind == 'i' && o->style == SHOW_HEX)
        put_int_bits(out, dt, element_i64(dt, element));
    else if (show_is_number(dt) && cuts(o) && part)
        show_number_element(out, dt, element, o->digits, part->point == CUT_NOTHING ? NULL : part);
    else if (dtype_wide_pair(dt))
        show_pair(out, o, cuts(o) ? column : NULL, dt, element);
    else if (kind == 'c')
        put_complex(out, o, dt, element_c128(dt, element), column);
    else if (kind == 'f' && !show_is_number(dt))
        put_part(out, o, dt, element_f64(dt, element), part, element);
    else
        show_element(out, dt, element);
}

void show_scalar(Buf *out, const ShowOptions *o, DType dt, const void *element)
{
    if (o->style == SHOW_FRACTION || o->style == SHOW_HEX)
        show_cell(out, o, NULL, dt, element);
    else
        show_element(out, dt, element);
}

void show_int(Buf *out, const ShowOptions *o, int64_t i)
{
    show_scalar(out, o, DT_I64, &i);
}
