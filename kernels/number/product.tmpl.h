/* Sums of products of numbers of LIMBS limbs, mp numbers (limbs.tmpl.h) and decimal ones, which are
 * whole numbers below 10^digits. Each function rounds as the operation of the same name in
 * decimal.c does, to the same cell. Included by number_product.c once for each LIMBS. */
#include "kernels/number/limbs.tmpl.h"

static void NAME(mp_dot)(Rounding *r, void *out, const void *x, const void *y, int64_t k)
{
    NAME(Number) sum, term;
    NAME(mp_multiply)(r, &sum, x, y);
    for (int64_t i = 1; i < k; i++) {
        NAME(mp_multiply)(r, &term, (const NAME(Number) *)x + i, (const NAME(Number) *)y + i);
        NAME(mp_add)(r, &sum, &sum, &term, false);
    }
    memcpy(out, &sum, sizeof sum);
}

/* ---- decimal ---- */
#if LIMBS <= DECIMAL_LIMBS

/* Decimal digits of n, 2 LIMBS limbs: 1233 / 4096 is log10 2 from below, near enough up to 512
 * bits. */
static inline int NAME(digits)(const Rounding *r, const uint64_t *n)
{
    int top = 2 * LIMBS - 1;
    while (top > 0 && n[top] == 0)
        top--;
    if (n[top] == 0)
        return 0;
    int bits = 64 * top + 64 - __builtin_clzll(n[top]), least = (bits * 1233) >> 12;
    const uint64_t *ten = r->tens[least].n;
    for (int i = 2 * LIMBS - 1; i > top; i--)
        if (ten[i])
            return least;
    for (int i = top; i > 0; i--)
        if (n[i] != ten[i])
            return least + (n[i] > ten[i]);
    return least + (n[0] >= ten[0]);
}

/* n / 10^k for a quotient of at most LIMBS limbs; n, 2 LIMBS limbs, becomes the rest, times a
 * power of two: that of the divisor. */
static inline void NAME(divide)(uint64_t *q, uint64_t *n, const Divisor *by)
{
    int size = by->limbs, up = by->shift;
    for (int i = 2 * LIMBS - 1; i > 0 && up; i--)
        n[i] = n[i] << up | n[i - 1] >> (64 - up);
    n[0] <<= up;
    if (size == 1) {
#pragma GCC unroll 8
        for (int i = LIMBS - 1; i >= 0; i--)
            q[i] = divide_2by1(&n[i], n[i + 1], n[i], by->d[0], by->inverse), n[i + 1] = 0;
        return;
    }
#if LIMBS > 1
    for (int i = LIMBS - 1; i >= 0; i--)
        q[i] = divide_step(n + i, by);
#endif
}

/* n 10^exp with something more below it, rounded to the format. */
static inline void NAME(decimal_round)(Rounding *r, NAME(Number) *out, uint64_t *n, bool more,
                                       bool negative, int64_t exp)
{
    int drop = NAME(digits)(r, n) - r->digits;
    out->head = (Unpacked){ exp, negative, false };
    if (drop <= 0) {
#pragma GCC unroll 8
        for (int i = 0; i < LIMBS; i++)
            out->d[i] = n[i];
        return;
    }
    const Divisor *by = &r->divisors[drop];
    NAME(divide)(out->d, n, by);
    Rest left = rest_against(n, by, more);
    left.odd = out->d[0] & 1;
    r->inexact += left.any;
    out->head.exp += drop;
    uint64_t carry = rest_goes_up(r->mode, negative, left), differs = 0;
#pragma GCC unroll 8
    for (int i = 0; i < LIMBS; i++) {
        out->d[i] += carry;
        carry &= out->d[i] == 0;
        differs |= out->d[i] ^ r->tens[r->digits].n[i];
    }
    if (__builtin_expect(differs == 0, 0)) {
        memcpy(out->d, r->tens[r->digits - 1].n, sizeof out->d);
        out->head.exp++;
    }
}

static inline void NAME(decimal_multiply)(Rounding *r, NAME(Number) *out, const NAME(Number) *x,
                                          const NAME(Number) *y)
{
    bool negative = x->head.negative != y->head.negative;
    uint64_t p[2 * LIMBS];
    if (x->head.zero || y->head.zero) {
        *out = (NAME(Number)){ .head = { 0, negative, true } };
        return;
    }
    NAME(times)(p, x->d, y->d);
    NAME(decimal_round)(r, out, p, false, negative, x->head.exp + y->head.exp);
}

/* x 10^up, which 2 LIMBS limbs hold. */
static inline void NAME(scale)(const Rounding *r, uint64_t *n, const uint64_t *x, int64_t up)
{
    const uint64_t *ten = r->tens[up].n;
    uint64_t carry = 0;
#pragma GCC unroll 8
    for (int j = 0; j < LIMBS; j++) {
        Wide t = (Wide)ten[0] * x[j] + carry;
        n[j] = (uint64_t)t;
        carry = (uint64_t)(t >> 64);
    }
    n[LIMBS] = carry;
    for (int i = LIMBS + 1; i < 2 * LIMBS; i++)
        n[i] = 0;
    for (int i = 1; up > 19 && i < 2 * LIMBS; i++) {
        carry = 0;
        for (int j = 0; j < LIMBS && i + j < 2 * LIMBS; j++) {
            Wide t = (Wide)ten[i] * x[j] + n[i + j] + carry;
            n[i + j] = (uint64_t)t;
            carry = (uint64_t)(t >> 64);
        }
        if (i + LIMBS < 2 * LIMBS)
            n[i + LIMBS] = carry;
    }
}

/* y / 10^by, rounded down, where no more of y is wanted beside an x so much longer; was there
 * more? */
static inline bool NAME(cut)(const Rounding *r, uint64_t *to, const uint64_t *y, int64_t by)
{
    uint64_t n[2 * LIMBS] = { 0 };
    memset(to, 0, LIMBS * sizeof *to);
    if (by > r->digits)
        return true;
    memcpy(n, y, LIMBS * sizeof *y);
    NAME(divide)(to, n, &r->divisors[by]);
    return rest_against(n, &r->divisors[by], false).any;
}

/* x 10^up + y, or their difference: x is the one with the larger exponent. */
static inline void NAME(decimal_join)(Rounding *r, NAME(Number) *out, uint64_t *n,
                                      const uint64_t *y, bool more, bool negative, bool cancels,
                                      int64_t exp)
{
    uint64_t any = 0;
    uint64_t flip = -(uint64_t)cancels, carry = cancels && !more;    /* - y is ~y + 1 */
#pragma GCC unroll 16
    for (int i = 0; i < 2 * LIMBS; i++) {
        Wide t = (Wide)n[i] + ((i < LIMBS ? y[i < LIMBS ? i : 0] : 0) ^ flip) + carry;
        n[i] = (uint64_t)t;
        any |= n[i];
        carry = (uint64_t)(t >> 64);
    }
    if (any == 0) {
        *out = (NAME(Number)){ .head = { 0, r->mode == ROUND_DOWN, true } };
        return;
    }
    if (cancels && !carry) {
        NAME(negate)(n, 2 * LIMBS);
        negative = !negative;
    }
    NAME(decimal_round)(r, out, n, more, negative, exp);
}

static inline void NAME(decimal_add)(Rounding *r, NAME(Number) *out, const NAME(Number) *x,
                                     const NAME(Number) *y)
{
    uint64_t n[2 * LIMBS] = { 0 }, rest[LIMBS];
    const uint64_t *low = rest;
    bool more = false;
    if (NAME(add_zeros)(r, out, x, y, false))
        return;
    if (x->head.exp < y->head.exp) {
        const NAME(Number) *t = x;
        x = y;
        y = t;
    }
    int64_t up = x->head.exp - y->head.exp, exp = y->head.exp;
    low = y->d;
    if (up >= r->digits) {                 /* it may not fit: x is made 2 digits - 1 long */
        memcpy(n, x->d, sizeof x->d);
        int64_t room = 2 * r->digits - 1 - NAME(digits)(r, n);
        if (up > room) {
            more = NAME(cut)(r, rest, y->d, up - room);
            low = rest;
            up = room;
            exp = x->head.exp - up;
        }
    }
    NAME(scale)(r, n, x->d, up);
    NAME(decimal_join)(r, out, n, low, more, x->head.negative,
                       x->head.negative != y->head.negative, exp);
}

static void NAME(decimal_dot)(Rounding *r, void *out, const void *x, const void *y, int64_t k)
{
    NAME(Number) sum = { .head = { 0 } }, term = sum;
    NAME(decimal_multiply)(r, &sum, x, y);
    for (int64_t i = 1; i < k; i++) {
        NAME(decimal_multiply)(r, &term, (const NAME(Number) *)x + i, (const NAME(Number) *)y + i);
        NAME(decimal_add)(r, &sum, &sum, &term);
    }
    memcpy(out, &sum, sizeof sum);
}
#endif
#undef LIMBS
