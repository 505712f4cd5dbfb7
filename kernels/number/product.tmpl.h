/* Sums of products of numbers of LIMBS 64-bit limbs, lowest first, and nothing allocated: mp
 * numbers with the top bit of their significand set, decimal ones as whole numbers below 10^digits.
 * Each function rounds as the operation of the same name in arith_mp.c and decimal.c does, to the
 * same cell. Included by number_product.c once for each LIMBS; NAME(x) is x of so many limbs. */

typedef struct NAME(Number) {
    Unpacked head;
    uint64_t d[LIMBS];
} NAME(Number);

/* x y in 2 LIMBS limbs. */
static inline void NAME(times)(uint64_t *out, const uint64_t *x, const uint64_t *y)
{
    uint64_t carry = 0;
#pragma GCC unroll 8
    for (int j = 0; j < LIMBS; j++) {
        Wide t = (Wide)x[0] * y[j] + carry;
        out[j] = (uint64_t)t;
        carry = (uint64_t)(t >> 64);
    }
    out[LIMBS] = carry;
#pragma GCC unroll 8
    for (int i = 1; i < LIMBS; i++) {
        carry = 0;
#pragma GCC unroll 8
        for (int j = 0; j < LIMBS; j++) {
            Wide t = (Wide)x[i] * y[j] + out[i + j] + carry;
            out[i + j] = (uint64_t)t;
            carry = (uint64_t)(t >> 64);
        }
        out[i + LIMBS] = carry;
    }
}

/* A zero of the sum of two: theirs where both have one sign. */
static inline bool NAME(add_zeros)(const Rounding *r, NAME(Number) *out, const NAME(Number) *x,
                                   const NAME(Number) *y)
{
    if (!x->head.zero && !y->head.zero)
        return false;
    bool negative = x->head.negative == y->head.negative ? x->head.negative
                                                         : r->mode == ROUND_DOWN;
    if (!x->head.zero || !y->head.zero)
        *out = x->head.zero ? *y : *x;
    else
        *out = (NAME(Number)){ .head = { 0, negative, true } };
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

/* The bits of t, with `guard` and something more below them, rounded to the format. */
static inline void NAME(mp_round)(Rounding *r, NAME(Number) *out, const uint64_t *t, uint64_t guard,
                                  bool more, bool negative, int64_t exp)
{
    uint64_t last = (uint64_t)1 << r->low, below = t[0] & (last - 1), half = last >> 1;
    bool rest = guard || more;
    Rest left = { 0, below || rest, (t[0] & last) != 0 };
    if (r->low == 0)
        half = (uint64_t)1 << 63, below = guard, rest = more;
    left.half = (below > half) - (below < half) + ((below == half) & rest);
    r->inexact += left.any;
    uint64_t carry = rest_goes_up(r->mode, negative, left) ? last : 0;
    out->d[0] = (t[0] & ~(last - 1)) + carry;
    carry = out->d[0] < carry;
#pragma GCC unroll 8
    for (int i = 1; i < LIMBS; i++) {
        out->d[i] = t[i] + carry;
        carry = out->d[i] < carry;
    }
    out->d[LIMBS - 1] |= carry << 63;
    out->head = (Unpacked){ exp + (int64_t)carry, negative, false };
}

static inline void NAME(mp_multiply)(Rounding *r, NAME(Number) *out, const NAME(Number) *x,
                                     const NAME(Number) *y)
{
    bool negative = x->head.negative != y->head.negative, more = false;
    uint64_t p[2 * LIMBS];
    int64_t exp = x->head.exp + y->head.exp;
    if (x->head.zero || y->head.zero) {
        *out = (NAME(Number)){ .head = { 0, negative, true } };
        return;
    }
    NAME(times)(p, x->d, y->d);
    int up = p[2 * LIMBS - 1] >> 63 ? 0 : 1;
#pragma GCC unroll 16
    for (int i = 2 * LIMBS - 1; i > 0; i--)
        p[i] = p[i] << up | p[i - 1] >> 63 >> !up;
    p[0] <<= up;
#pragma GCC unroll 8
    for (int i = 0; i < LIMBS - 1; i++)
        more |= p[i] != 0;
    NAME(mp_round)(r, out, p + LIMBS, p[LIMBS - 1], more, negative, exp - up);
}

/* y with a limb more below it, 2^by times smaller; was something lost? */
static inline bool NAME(shift_down)(uint64_t *b, const uint64_t *y, uint64_t by)
{
    uint64_t limbs = by / 64, bits = by % 64, lost = 0;
    if (by < 64) {
        b[0] = bits ? y[0] << (64 - bits) : 0;
#pragma GCC unroll 8
        for (int i = 1; i < LIMBS; i++)
            b[i] = y[i - 1] >> bits | (bits ? y[i] << (64 - bits) : 0);
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

/* The carry of a sum comes in at the top. */
static inline void NAME(shift_in)(uint64_t *a)
{
#pragma GCC unroll 8
    for (int i = 0; i < LIMBS; i++)
        a[i] = a[i] >> 1 | a[i + 1] << 63;
    a[LIMBS] = a[LIMBS] >> 1 | (uint64_t)1 << 63;
}

static inline void NAME(mp_add)(Rounding *r, NAME(Number) *out, const NAME(Number) *x,
                                const NAME(Number) *y)
{
    uint64_t a[LIMBS + 1], b[LIMBS + 1], any = 0;
    if (NAME(add_zeros)(r, out, x, y))
        return;
    bool swaps = x->head.exp < y->head.exp;
    const NAME(Number) *high = swaps ? y : x, *low = swaps ? x : y;
    int64_t exp = high->head.exp;
    bool more = NAME(shift_down)(b, low->d, (uint64_t)(exp - low->head.exp));
    bool negative = high->head.negative, cancels = negative != low->head.negative;
    uint64_t flip = -(uint64_t)cancels, carry = cancels && !more;    /* - b is ~b + 1 */
#pragma GCC unroll 16
    for (int i = 0; i <= LIMBS; i++) {
        Wide t = (Wide)(i ? high->d[i ? i - 1 : 0] : 0) + (b[i] ^ flip) + carry;
        a[i] = (uint64_t)t;
        any |= a[i];
        carry = (uint64_t)(t >> 64);
    }
    if (carry && !cancels) {
        more |= a[0] & 1;
        NAME(shift_in)(a);
        exp++;
    } else if (any == 0) {
        *out = (NAME(Number)){ .head = { 0, r->mode == ROUND_DOWN, true } };
        return;
    } else {
        if (cancels && !carry) {
            NAME(negate)(a, LIMBS + 1);
            negative = !negative;
        }
        exp -= NAME(shift_up)(a);
    }
    NAME(mp_round)(r, out, a + 1, a[0], more, negative, exp);
}

static void NAME(mp_dot)(Rounding *r, void *out, const void *x, const void *y, int64_t k)
{
    NAME(Number) sum, term;
    NAME(mp_multiply)(r, &sum, x, y);
    for (int64_t i = 1; i < k; i++) {
        NAME(mp_multiply)(r, &term, (const NAME(Number) *)x + i, (const NAME(Number) *)y + i);
        NAME(mp_add)(r, &sum, &sum, &term);
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
    if (NAME(add_zeros)(r, out, x, y))
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
