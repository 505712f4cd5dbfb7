/* Numbers in large texts, eight digits at a time. Floats: Daniel Lemire, "Number Parsing at a
 * Gigabyte per Second" (2021): digits times a power of ten to 128 bits are rounded right but where
 * they are more than 19, too far from 1 or subnormal, which is left to the plain reader. */
#ifndef RICCI_BUILTINS_QUICK_H
#define RICCI_BUILTINS_QUICK_H

#include "core/base/ctx.h"

#include <string.h>

/* Powers of ten for quick_float; of one reader, who fills it once. */
enum { QUICK_LOW = -64, QUICK_HIGH = 40, QUICK_DIGITS = 19 };
typedef struct QuickPowers { uint64_t of[QUICK_HIGH - QUICK_LOW + 1][2]; } QuickPowers;
void quick_powers(QuickPowers *);

/* How many of the eight bytes, from the first on, are digits. */
static inline int quick_count(uint64_t x)
{
    const uint64_t high = 0x8080808080808080;
    uint64_t other = ((x + 0x4646464646464646) | (x - 0x3030303030303030)) & high;
    return other ? __builtin_ctzll(other) >> 3 : 8;
}

/* The value of the first n digits among eight bytes. */
static inline uint64_t quick_value(uint64_t x, int n)
{
    const uint64_t mask = 0x000000FF000000FF;
    int half = 32 - 4 * n;                        /* in two steps: 64 are too many for one */
    x = (x - 0x3030303030303030) << half << half;
    x = x * 10 + (x >> 8);
    return ((x & mask) * 0x000F424000000064 + ((x >> 16) & mask) * 0x0000271000000001) >> 32;
}

/* Digits from p on, appended to those of *value; where they end. More than QUICK_DIGITS of them are
 * not told apart. */
static inline const char *quick_digits(const char *p, const char *end, uint64_t *value)
{
    static const uint64_t power[] = { 1,      10,      100,      1000,     10000,
                                      100000, 1000000, 10000000, 100000000 };
    while (end - p >= 8) {
        uint64_t x;
        memcpy(&x, p, sizeof x);
        int n = quick_count(x);
        *value = *value * power[n] + quick_value(x, n);
        p += n;
        if (n < 8)
            return p;
    }
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        *value = *value * 10 + (uint64_t)(*p - '0');
    return p;
}

/* The number that starts at p and ends before a byte that is in no number, or at end: where it
 * ends; NULL: it is none, or one for text_float and text_int to read. Never raises, never looks
 * behind end. */
static inline const char *quick_whole(const char *p, const char *end, uint64_t *out)
{
    const char *first = p;
    *out = 0;
    p = quick_digits(p, end, out);
    return p == first || p - first > QUICK_DIGITS - 1 ? NULL : p;
}

/* ---- floats ---- */
/* w 10^scale, w > 0, correctly rounded; false: it has to be looked at more closely. */
static inline bool quick_scaled(const QuickPowers *powers, uint64_t w, int scale, double *out)
{
    const uint64_t close = UINT64_MAX >> 55;     /* the 52 bits of a float and three more */
    const uint64_t *power = powers->of[scale - QUICK_LOW];
    int zeros = __builtin_clzll(w);
    w <<= zeros;
    unsigned __int128 product = (unsigned __int128)w * power[0];
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    if ((high & close) == close) {
        uint64_t more = (uint64_t)((unsigned __int128)w * power[1] >> 64);
        low += more;
        high += more > low;
    }
    int upper = (int)(high >> 63), shift = upper + 64 - 52 - 3;
    uint64_t bits = high >> shift;
    int exponent = ((217706 * scale) >> 16) + 63 + upper - zeros + 1023;
    if (exponent <= 0)
        return false;
    if (low <= 1 && scale >= -4 && scale <= 23 && (bits & 3) == 1 && bits << shift == high)
        bits &= ~(uint64_t)1;                    /* halfway: to even */
    bits += bits & 1;
    bits >>= 1;
    if (bits >= (uint64_t)2 << 52) {
        bits = (uint64_t)1 << 52;
        exponent++;
    }
    bits = (bits & ~((uint64_t)1 << 52)) | (uint64_t)exponent << 52;
    memcpy(out, &bits, sizeof bits);
    return exponent < 0x7FF;
}

/* An exponent's digits from p on: at most three. */
static inline const char *quick_exponent(const char *p, const char *end, int *scale)
{
    bool down = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    const char *first = p;
    int e = 0;
    for (; p < end && p - first < 4 && *p >= '0' && *p <= '9'; p++)
        e = e * 10 + (*p - '0');
    *scale += down ? -e : e;
    return p == first || p - first > 3 ? NULL : p;
}

static inline const char *quick_float(const QuickPowers *powers, const char *p, const char *end,
                                      double *out)
{
    bool minus = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    uint64_t w = 0;
    int scale = 0;
    const char *first = p;
    p = quick_digits(p, end, &w);
    int64_t digits = p - first;
    if (p < end && *p == '.') {
        const char *places = ++p;
        p = quick_digits(p, end, &w);
        scale = (int)(places - p);
        digits -= scale;
    }
    if (digits == 0 || digits > QUICK_DIGITS)
        return NULL;
    if (p < end && (*p == 'e' || *p == 'E') && !(p = quick_exponent(p + 1, end, &scale)))
        return NULL;
    if (w == 0)
        *out = 0;
    else if (scale == 0 && w <= (uint64_t)1 << 53)
        *out = (double)w;
    else if (scale < QUICK_LOW || scale > QUICK_HIGH || !quick_scaled(powers, w, scale, out))
        return NULL;
    *out = minus ? -*out : *out;
    return p;
}

#endif
