/* Sums and products of mp numbers of LIMBS 64-bit limbs, lowest first, the top bit of their
 * significand set, and nothing allocated. Each function rounds as the operation of the same name
 * in arith_mp.c does, to the same number. Exponents are not looked at: they have to stay in
 * MPFR's range whatever happens. Included by number_product.c and arith_flat.c once for each
 * LIMBS; NAME(x) is x of so many limbs. */

typedef struct NAME(Number) {
    Unpacked head;
    uint64_t d[LIMBS];
} NAME(Number);

/* x y, and the upper halves of its products by themselves. */
static inline void NAME(times_limb)(uint64_t *low, uint64_t *high, uint64_t x, const uint64_t *y)
{
#pragma GCC unroll 8
    for (int j = 0; j < LIMBS; j++) {
        Wide t = (Wide)x * y[j];
        low[j] = (uint64_t)t;
        high[j] = (uint64_t)(t >> 64);
    }
}

/* x y in 2 LIMBS limbs. */
static inline void NAME(times)(uint64_t *out, const uint64_t *x, const uint64_t *y)
{
    uint64_t low[LIMBS], high[LIMBS], carry = 0;
    NAME(times_limb)(out, high, x[0], y);
#pragma GCC unroll 8
    for (int j = 1; j < LIMBS; j++)
        out[j] = add_carry(out[j], high[j - 1], &carry);
    out[LIMBS] = high[LIMBS - 1] + carry;
#pragma GCC unroll 8
    for (int i = 1; i < LIMBS; i++) {
        NAME(times_limb)(low, high, x[i], y);
        carry = 0;
#pragma GCC unroll 8
        for (int j = 0; j < LIMBS; j++)
            out[i + j] = add_carry(out[i + j], low[j], &carry);
        out[i + LIMBS] = high[LIMBS - 1] + carry;
        carry = 0;
#pragma GCC unroll 8
        for (int j = 1; j < LIMBS; j++)
            out[i + j] = add_carry(out[i + j], high[j - 1], &carry);
        out[i + LIMBS] += carry;
    }
}

/* A zero of the sum of two: theirs where both have one sign. `flip`: y is taken with the other. */
static inline bool NAME(add_zeros)(const Rounding *r, NAME(Number) *out, const NAME(Number) *x,
                                   const NAME(Number) *y, bool flip)
{
    if (!x->head.zero && !y->head.zero)
        return false;
    bool other = y->head.negative != flip;
    bool negative = x->head.negative == other ? other : r->mode == ROUND_DOWN;
    if (!x->head.zero) {
        *out = *x;
    } else if (!y->head.zero) {
        *out = *y;
        out->head.negative = other;
    } else {
        *out = (NAME(Number)){ .head = { 0, negative, true } };
    }
    return true;
}

static inline void NAME(negate)(uint64_t *a, int n)
{
    uint64_t carry = 1;
    for (int i = 0; i < n; i++) {
        a[i] = ~a[i] + carry;
        carry &= a[i] == 0;
    }
}

/* ---- mp ---- */

/* What to add to a number so that those of its bits that the format has are rounded, and the others
 * may be cut off: to nearest just below half a unit, or half where the last bit is odd or there is
 * a rest. `below`: the bits of the unit's limb below it, or the limb below where it has none. */
static inline uint64_t NAME(mp_up)(const Rounding *r, uint64_t below, uint64_t rest, bool odd,
                                   bool negative)
{
    uint64_t last = (uint64_t)1 << r->low, half = r->low ? last >> 1 : (uint64_t)1 << 63;
    if (__builtin_expect(r->mode == ROUND_NEAREST, 1)) {
        uint64_t up = half - 1 + (odd | (rest != 0));
        return r->low ? up : below + up < below;
    }
    Rest left = { (below > half) - (below < half), (below | rest) != 0, odd };
    left.half += (left.half == 0) & (rest != 0);
    return rest_goes_up(r->mode, negative, left) ? last - (r->low ? below : 0) : 0;
}

/* The bits of t, with `guard` and something more below them, rounded to the format. */
static inline void NAME(mp_round)(Rounding *r, NAME(Number) *out, const uint64_t *t, uint64_t guard,
                                  bool more, bool negative, int64_t exp)
{
    uint64_t last = (uint64_t)1 << r->low, below = r->low ? t[0] & (last - 1) : guard;
    uint64_t rest = r->low ? guard | more : more;
    uint64_t carry = NAME(mp_up)(r, below, rest, (t[0] & last) != 0, negative);
    r->inexact += (below | rest) != 0;
    out->d[0] = t[0] + carry;
    carry = out->d[0] < carry;
#pragma GCC unroll 8
    for (int i = 1; i < LIMBS; i++) {
        out->d[i] = t[i] + carry;
        carry = out->d[i] < carry;
    }
    out->d[0] &= ~(last - 1);
    out->d[LIMBS - 1] |= carry << 63;
    out->head = (Unpacked){ exp + (int64_t)carry, negative, false };
}

static inline void NAME(mp_multiply)(Rounding *r, NAME(Number) *out, const NAME(Number) *x,
                                     const NAME(Number) *y)
{
    bool negative = x->head.negative != y->head.negative;
    uint64_t p[2 * LIMBS], rest = 0;
    int64_t exp = x->head.exp + y->head.exp;
    if (x->head.zero || y->head.zero) {
        *out = (NAME(Number)){ .head = { 0, negative, true } };
        return;
    }
    NAME(times)(p, x->d, y->d);
    int up = p[2 * LIMBS - 1] >> 63 ? 0 : 1;
#pragma GCC unroll 8
    for (int i = 0; i < LIMBS - 1; i++)
        rest |= p[i];
#pragma GCC unroll 16
    for (int i = 2 * LIMBS - 1; i >= LIMBS; i--)
        p[i] = p[i] << up | p[i - 1] >> 63 >> !up;
    p[LIMBS - 1] <<= up;
    if (LIMBS > 1)
        p[LIMBS - 1] |= p[LIMBS > 1 ? LIMBS - 2 : 0] >> 63 >> !up;
    NAME(mp_round)(r, out, p + LIMBS, p[LIMBS - 1], rest != 0, negative, exp - up);
}

/* y with a limb more below it, 2^by times smaller, by > 0; was something lost? */
static inline bool NAME(shift_down)(uint64_t *b, const uint64_t *y, uint64_t by)
{
    uint64_t limbs = by / 64, bits = by % 64, lost = 0;
    if (by < 64) {
        b[0] = y[0] << (64 - bits);
#pragma GCC unroll 8
        for (int i = 1; i < LIMBS; i++)
            b[i] = y[i - 1] >> bits | y[i] << (64 - bits);
        b[LIMBS] = y[LIMBS - 1] >> bits;
        return false;
    }
    for (uint64_t i = 0; i <= LIMBS; i++) {              /* limb i of y is limb i + 1 - limbs */
        uint64_t from = i + limbs - 1;
        uint64_t low = from < LIMBS ? y[from] : 0, high = from + 1 < LIMBS ? y[from + 1] : 0;
        b[i] = low >> bits | (bits ? high << (64 - bits) : 0);
    }
    for (uint64_t i = 0; i + 1 < limbs && i < LIMBS; i++)
        lost |= y[i];
    if (limbs - 1 < LIMBS && bits)
        lost |= y[limbs - 1] << (64 - bits);
    return lost != 0;
}

/* The top bit of a, LIMBS + 1 limbs that are not 0, where it belongs; by how much. */
static inline int64_t NAME(shift_up)(uint64_t *a)
{
    int64_t by = 0;
    while (__builtin_expect(a[LIMBS] == 0, 0)) {
        memmove(a + 1, a, LIMBS * sizeof *a);
        a[0] = 0;
        by += 64;
    }
    int bits = __builtin_clzll(a[LIMBS]);
#pragma GCC unroll 8
    for (int i = LIMBS; i > 0; i--)
        a[i] = a[i] << bits | a[i - 1] >> 1 >> (63 - bits);
    a[0] <<= bits;
    return by + bits;
}

/* Limb i of d / 2 with a limb more below it. */
static inline uint64_t NAME(half)(const uint64_t *d, int i)
{
    return (i < LIMBS ? d[i < LIMBS ? i : 0] << 63 : 0) | (i ? d[i ? i - 1 : 0] >> 1 : 0);
}

/* x + y, or x - y where y is flipped. Both are halved first, so that no carry leaves the top limb
 * and sums and differences go one way: branches between them would be guessed wrong half of the
 * time. */
static inline void NAME(mp_add)(Rounding *r, NAME(Number) *out, const NAME(Number) *x,
                                const NAME(Number) *y, bool flip)
{
    uint64_t a[LIMBS + 1], b[LIMBS + 1], any = 0;
    if (NAME(add_zeros)(r, out, x, y, flip))
        return;
    bool swaps = x->head.exp < y->head.exp;
    const NAME(Number) *high = swaps ? y : x, *low = swaps ? x : y;
    int64_t exp = high->head.exp + 1;
    bool more = NAME(shift_down)(b, low->d, (uint64_t)(exp - low->head.exp));
    bool negative = high->head.negative != (flip & swaps);
    bool cancels = (x->head.negative != y->head.negative) != flip;
    uint64_t mask = -(uint64_t)cancels, carry = cancels & !more;     /* - b is ~b + 1 */
#pragma GCC unroll 16
    for (int i = 0; i <= LIMBS; i++) {
        a[i] = add_carry(NAME(half)(high->d, i), b[i] ^ mask, &carry);
        any |= a[i];
    }
    if (any == 0) {
        *out = (NAME(Number)){ .head = { 0, r->mode == ROUND_DOWN, true } };
        return;
    }
    if (cancels & !carry) {                  /* only of equal exponents */
        NAME(negate)(a, LIMBS + 1);
        negative = !negative;
    }
    exp -= NAME(shift_up)(a);
    NAME(mp_round)(r, out, a + 1, a[0], more, negative, exp);
}
