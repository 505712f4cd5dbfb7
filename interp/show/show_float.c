/* Decimal text of floating-point numbers: the shortest decimal that reads back as the same value
 * in the value's own format, and correctly rounded ones of a given length. Knows no values and no
 * tensors.
 *
 * Shortest digits: Raffaele Giulietti, "The Schubfach way to render doubles" (2021), in
 * the form of Alexander Bolz's Drachennest. The paper needs 10^k to 128 bits, rounded up,
 * for every k from -292 to 324, and formats of few bits with wide exponents from -307 on;
 * here a table has every 27th power to 192 bits and one multiplication by 5^r gives the
 * rest (all results are exact: tests/unit/show.c). */
#include "core/system/c_locale.h"
#include "interp/show/show.h"
#include "kernels/arith/arith.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 u128;

/* 10^(27 i - 324), leading 192 bits, truncated. */
static const uint64_t power_table[][3] = {
    { 0xcf42894a5dce35ea, 0x52064cac828675b9, 0x475f2b7d7df1ad7a },
    { 0xa76c582338ed2621, 0xaf2af2b80af6f24e, 0x657c8f4d43323a36 },
    { 0x873e4f75e2224e68, 0x5a7744a6e804a291, 0xcc35eddfcf0996d7 },
    { 0xda7f5bf590966848, 0xaf39a475506a899e, 0xa30294cc2934e662 },
    { 0xb080392cc4349dec, 0xbd8d794d96aacfb3, 0xfe13a5c86af64418 },
    { 0x8e938662882af53e, 0x547eb47b7282ee9c, 0x41b0230e1421487d },
    { 0xe65829b3046b0afa, 0x0cb4a5a3112a5112, 0xa3b561b1cb208396 },
    { 0xba121a4650e4ddeb, 0x92f34d62616ce413, 0x21a0183e10583cd3 },
    { 0x964e858c91ba2655, 0x3a6a07f8d510f86f, 0xe9082f25e9c5e9ec },
    { 0xf2d56790ab41c2a2, 0xfae27299423fb9c3, 0x3695dad7e8858901 },
    { 0xc428d05aa4751e4c, 0xaa97e14c3c26b886, 0x96842dc95323f5a8 },
    { 0x9e74d1b791e07e48, 0x775ea264cf55347d, 0xca49f1c05120c9c7 },
    { 0x8000000000000000, 0x0000000000000000, 0x0000000000000000 },
    { 0xcecb8f27f4200f3a, 0x0000000000000000, 0x0000000000000000 },
    { 0xa70c3c40a64e6c51, 0x999090b65f67d924, 0x0000000000000000 },
    { 0x86f0ac99b4e8dafd, 0x69a028bb3ded71a3, 0xdf9f915627c04e28 },
    { 0xda01ee641a708de9, 0xe80e6f4820cc9495, 0xd74baad03bc1d8d3 },
    { 0xb01ae745b101e9e4, 0x5ec05dcff72e7f8f, 0xc04c79ffe324301f },
    { 0x8e41ade9fbebc27d, 0x14588f13be847307, 0x23bd6a2059c002f5 },
    { 0xe5d3ef282a242e81, 0x8f1668c8a86da5fa, 0xf0b5ccf5176ecc7c },
    { 0xb9a74a0637ce2ee1, 0x6d953e2bd7173692, 0x88efb0037ac08bde },
    { 0x95f83d0a1fb69cd9, 0x4abdaf101564f98e, 0x0d5a4af7b3a98e47 },
    { 0xf24a01a73cf2dccf, 0xbc633b39673c8cec, 0x3d9c44cd2f36917c },
    { 0xc3b8358109e84f07, 0x0a862f80ec4700c8, 0x02606ea01029dc37 },
    { 0x9e19db92b4e31ba9, 0x6c07a2c26a8346d1, 0x4944d9f52cd0dec2 },
};

/* floor(log2(10^k)) for |k| < 1650. */
static int floor_log2_pow10(int k)
{
    return (k * 1741647) >> 19;
}

/* The smallest g of 128 bits with g 2^r >= 10^k, top bit set; *rest: is it greater? */
static u128 power_of_ten_rest(int k, bool *greater)
{
    const uint64_t *t = power_table[(k + 324) / 27];
    uint64_t five = 1;
    for (int r = (k + 324) % 27; r > 0; r--)
        five *= 5;
    five <<= __builtin_clzll(five);
    u128 low = (u128)t[2] * five;
    u128 middle = (u128)t[1] * five + (uint64_t)(low >> 64);
    u128 high = (u128)t[0] * five + (uint64_t)(middle >> 64);
    u128 rest = (u128)(uint64_t)middle << 64 | (uint64_t)low;
    if (!(high >> 127)) {
        high = high << 1 | rest >> 127;
        rest <<= 1;
    }
    *greater = rest != 0;
    return high + (rest != 0);
}

static u128 power_of_ten(int k) { return power_of_ten_rest(k, &(bool){ false }); }

void decimal_power_bits(int k, bool up, uint64_t out[2])
{
    bool greater;
    u128 g = power_of_ten_rest(k, &greater) - (!up && greater);
    out[0] = (uint64_t)(g >> 64);
    out[1] = (uint64_t)g;
}

/* floor(g c / 2^128) with its last bit set if anything was cut off. */
static uint64_t round_to_odd(u128 g, uint64_t c)
{
    u128 x = (u128)(uint64_t)g * c;
    u128 y = (u128)(uint64_t)(g >> 64) * c + (uint64_t)(x >> 64);
    return (uint64_t)(y >> 64) | ((uint64_t)y > 1);
}

/* The shortest decimal m × 10^*exponent in the rounding interval of c × 2^q; `narrow`: the
 * interval below is half as wide (c is a power of two). */
static uint64_t shortest(uint64_t c, int q, bool narrow, int *exponent)
{
    int k = (q * 1262611 - (narrow ? 524031 : 0)) >> 22;
    int h = q + floor_log2_pow10(-k) + 1;
    u128 g = power_of_ten(-k);
    uint64_t odd = c & 1;
    uint64_t lower = round_to_odd(g, (4 * c - 2 + narrow) << h) + odd;
    uint64_t value = round_to_odd(g, 4 * c << h);
    uint64_t upper = round_to_odd(g, (4 * c + 2) << h) - odd;
    uint64_t s = value / 4;
    if (s >= 10) {                                 /* one digit fewer? */
        uint64_t tens = s / 10;
        bool below = lower <= 40 * tens, above = 40 * tens + 40 <= upper;
        if (below != above) {
            *exponent = k + 1;
            return tens + above;
        }
    }
    *exponent = k;
    bool below = lower <= 4 * s, above = 4 * s + 4 <= upper;
    if (below != above)
        return s + above;
    uint64_t middle = 4 * s + 2;
    return s + (value > middle || (value == middle && (s & 1)));
}

/* Significand bits and the exponent of the smallest subnormal. */
void decimal_format(DType dt, int *bits, int *least)
{
    BinaryFormat f;
    bool known = dt != DT_F64 && binary_format(dt, &f);
    *bits = known ? f.p : 53;
    *least = known ? f.emin - (f.p - 1) : -1074;
}

/* |x| = c × 2^q with c < 2^bits, as the format stores it; false if it does not hold x. */
static bool decompose(double x, int bits, int least, uint64_t *c, int *q, bool *narrow)
{
    int e;
    double m = frexp(x, &e);                       /* x = m 2^e, 1/2 <= m < 1 */
    *q = e - bits > least ? e - bits : least;
    double scaled = ldexp(m, e - *q);
    *c = (uint64_t)scaled;
    *narrow = *c == (uint64_t)1 << (bits - 1) && *q > least;
    return (double)*c == scaled;
}

static void put_digits(Decimal *d, uint64_t m, int exponent)
{
    char text[24];
    int n = 0;
    for (; m % 10 == 0; m /= 10)
        exponent++;
    for (; m; m /= 10)
        text[n++] = (char)('0' + m % 10);
    for (int i = 0; i < n; i++)
        d->digits[i] = text[n - 1 - i];
    d->count = n;
    d->point = n + exponent;
}

/* Sign, zero, infinities and NaN; true if x is one of those. */
static bool decimal_special(Decimal *d, double x)
{
    d->kind = isnan(x) ? DECIMAL_NAN : isinf(x) ? DECIMAL_INF : DECIMAL_FINITE;
    d->negative = signbit(x) && !isnan(x);
    d->count = 0;
    d->point = 1;
    return d->kind != DECIMAL_FINITE || x == 0;
}

void decimal_shortest(Decimal *d, double x, DType dt)
{
    if (decimal_special(d, x))
        return;
    int bits, least, q, exponent;
    uint64_t c;
    bool narrow;
    decimal_format(dt, &bits, &least);
    if (!decompose(fabs(x), bits, least, &c, &q, &narrow))
        decompose(fabs(x), 53, -1074, &c, &q, &narrow);
    uint64_t m = shortest(c, q, narrow, &exponent);
    put_digits(d, m, exponent);
}

void decimal_rounded(Decimal *d, double x, DType dt, int digits)
{
    decimal_shortest(d, x, dt);
    if (d->kind != DECIMAL_FINITE || d->count <= digits)
        return;
    char text[DECIMAL_TEXT_MAX];
    c_snprintf(text, sizeof text, "%.*e", digits - 1, fabs(x));
    d->count = 0;
    for (char *p = text; *p != 'e'; p++)
        if (*p != '.')
            d->digits[d->count++] = *p;
    d->point = atoi(strchr(text, 'e') + 1) + 1;
    while (d->count > 0 && d->digits[d->count - 1] == '0')
        d->count--;
}

static int put_exponent(char *out, int exponent)
{
    return sprintf(out, "e%d", exponent);
}

/* d1.d2d3e5; no point after a single digit: 1e-5. */
static int text_scientific(char *out, const Decimal *d)
{
    char *p = out;
    *p++ = d->digits[0];
    if (d->count > 1) {
        *p++ = '.';
        memcpy(p, d->digits + 1, (size_t)d->count - 1);
        p += d->count - 1;
    }
    p += put_exponent(p, d->point - 1);
    return (int)(p - out);
}

static int text_fixed(char *out, const Decimal *d)
{
    char *p = out;
    for (int i = 0; i < d->point; i++)
        *p++ = i < d->count ? d->digits[i] : '0';
    if (d->point <= 0)
        *p++ = '0';
    *p++ = '.';
    for (int i = d->point; i < 0; i++)
        *p++ = '0';
    for (int i = d->point > 0 ? d->point : 0; i < d->count; i++)
        *p++ = d->digits[i];
    if (p[-1] == '.')
        *p++ = '0';
    return (int)(p - out);
}

int decimal_text(char *out, const Decimal *d, int low, int high)
{
    char *p = out;
    if (d->negative)
        *p++ = '-';
    if (d->kind != DECIMAL_FINITE) {
        memcpy(p, d->kind == DECIMAL_INF ? "inf" : "nan", 3);
        p += 3;
    } else if (d->count == 0) {
        memcpy(p, "0.0", 3);
        p += 3;
    } else if (d->point > low && d->point <= high) {
        p += text_fixed(p, d);
    } else {
        p += text_scientific(p, d);
    }
    *p = '\0';
    return (int)(p - out);
}

void show_float(Buf *out, double x, DType dt)
{
    char text[DECIMAL_TEXT_MAX];
    Decimal d;
    decimal_shortest(&d, x, show_part(dt));
    int n = decimal_text(text, &d, -4, 16);
    buf_put(out, text, (size_t)n);
}

/* ---- elements of tensors ---- */
/* Digits before the point that print without an exponent. */
static int fixed_limit(const Decimal *d, int digits)
{
    bool whole = d->count <= d->point;
    int limit = whole ? (digits < 10 ? 10 : digits) : digits + 3;
    return limit > 16 ? 16 : limit;
}

bool decimal_is_cut(const Decimal *d, int digits)
{
    bool whole = d->count <= d->point;
    return d->kind == DECIMAL_FINITE && d->count > digits &&
           !(whole && d->point <= fixed_limit(d, digits));
}

int decimal_uncut_text(char *out, const Decimal *d, int digits)
{
    return decimal_text(out, d, -4, fixed_limit(d, digits));
}

int decimal_cut_point(const Decimal *d, int digits)
{
    int nines = 0;
    while (nines < digits && d->digits[nines] == '9')
        nines++;
    return d->point + (nines == digits && d->digits[digits] >= '5');
}

enum { TINY = -4 };              /* the point of what is below 1e-4 */

static int point_limit(int digits) { return digits + 3 > 16 ? 16 : digits + 3; }

void cut_point_of(CutPart *part, const Decimal *d, int digits)
{
    bool cut = decimal_is_cut(d, digits);
    int *most = cut ? &part->point : &part->other;
    int own = cut ? decimal_cut_point(d, digits) : d->point;
    if (d->kind == DECIMAL_FINITE && d->count > 0 && own > *most)
        *most = own;
}

void cut_settle(CutPart *part, int digits)
{
    if (part->point <= TINY && part->point != CUT_NOTHING && part->other > TINY &&
        part->other <= point_limit(digits))
        part->point = part->other;
}

Cut decimal_cut(int point, int digits)
{
    Cut c = { digits, 1, point > point_limit(digits) || point <= TINY };
    if (!c.exponent && digits - point > 1)
        c.place = digits - point;
    return c;
}

/* d.ddde5 of exactly `digits` digits. */
static int put_scientific(char *out, double x, int digits)
{
    int n = c_snprintf(out, DECIMAL_TEXT_MAX, "%.*e", digits - 1, x);
    char *e = memchr(out, 'e', (size_t)n);
    return (int)(e - out) + put_exponent(e, atoi(e + 1));
}

int decimal_cut_text(char *out, double x, const Decimal *d, Cut cut)
{
    if (cut.exponent)
        return put_scientific(out, x, cut.digits);
    if (!decimal_is_small(d, cut))
        return c_snprintf(out, DECIMAL_TEXT_MAX, "%.*f", cut.place, x);
    return put_scientific(out, x, cut.digits < CUT_SMALL ? cut.digits : CUT_SMALL);
}

int decimal_decimals(const char *text, int n)
{
    const char *point = memchr(text, '.', (size_t)n), *end = text + n, *last = point;
    for (const char *p = point; p && p < end && *p != 'e'; p++)
        last = *p != '0' ? p : last;
    return (int)(last - point);
}

int decimal_trim(char *text, int n, int keep)
{
    char *point = memchr(text, '.', (size_t)n), *e = memchr(text, 'e', (size_t)n);
    if (!point)
        return n;
    if (keep < 0)
        keep = decimal_decimals(text, n);
    char *end = e ? e : text + n, *cut = point + (keep > 0 ? keep + 1 : e ? 0 : 2);
    if (cut >= end)
        return n;
    memmove(cut, end, (size_t)(text + n - end) + 1);
    return n - (int)(end - cut);
}

int decimal_element_text(char *out, double x, DType dt, int digits, const CutPart *part)
{
    Decimal d;
    decimal_shortest(&d, x, dt);
    if (!decimal_is_cut(&d, digits))
        return decimal_uncut_text(out, &d, digits);
    Cut cut = decimal_cut(part ? part->point : decimal_cut_point(&d, digits), digits);
    int n = decimal_cut_text(out, x, &d, cut);
    return decimal_trim(out, n, part && !decimal_is_small(&d, cut) ? part->decimals : -1);
}
