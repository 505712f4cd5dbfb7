/* Primes: see primes.h. Products modulo n are of 128 bits. */
#include "kernels/special/primes.h"

static const uint8_t small[] = { 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37 };

static uint64_t times(uint64_t a, uint64_t b, uint64_t n)
{
    return (uint64_t)((unsigned __int128)a * b % n);
}

static uint64_t power(uint64_t a, uint64_t e, uint64_t n)
{
    uint64_t r = 1;
    for (; e; e >>= 1) {
        if (e & 1)
            r = times(r, a, n);
        a = times(a, a, n);
    }
    return r;
}

/* Is n composite because of a? n - 1 = d 2^s. */
static bool witness(uint64_t a, uint64_t d, int s, uint64_t n)
{
    uint64_t x = power(a, d, n);
    if (x == 1 || x == n - 1)
        return false;
    while (--s > 0) {
        x = times(x, x, n);
        if (x == n - 1)
            return false;
    }
    return true;
}

bool prime_is(int64_t n)
{
    if (n < 2)
        return false;
    for (unsigned i = 0; i < sizeof small; i++)
        if (n % small[i] == 0)
            return n == small[i];
    int s = __builtin_ctzll((uint64_t)n - 1);
    for (unsigned i = 0; i < sizeof small; i++)
        if (witness(small[i], ((uint64_t)n - 1) >> s, s, (uint64_t)n))
            return false;
    return true;
}

int64_t greatest_divisor(int64_t a, int64_t b)
{
    uint64_t x = a < 0 ? -(uint64_t)a : (uint64_t)a, y = b < 0 ? -(uint64_t)b : (uint64_t)b;
    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return (int64_t)x;
}

/* A divisor of a composite n without small factors, or n itself: another c may do. */
static uint64_t rho(uint64_t n, uint64_t c)
{
    enum { BATCH = 128 };
    uint64_t y = 2, x = y, back = y, g = 1, q = 1;
    for (uint64_t r = 1; g == 1; r *= 2) {
        x = y;
        for (uint64_t i = 0; i < r; i++)
            y = (times(y, y, n) + c) % n;
        for (uint64_t k = 0; k < r && g == 1; k += BATCH) {
            back = y;
            for (uint64_t i = 0; i < BATCH && i < r - k; i++) {
                y = (times(y, y, n) + c) % n;
                q = times(q, x > y ? x - y : y - x, n);
            }
            g = (uint64_t)greatest_divisor((int64_t)q, (int64_t)n);
        }
    }
    while (g == n || g == 0) {
        back = (times(back, back, n) + c) % n;
        g = (uint64_t)greatest_divisor((int64_t)(x > back ? x - back : back - x), (int64_t)n);
        if (x == back)
            return n;
    }
    return g;
}

static int split(int64_t n, int64_t *out, int count)
{
    if (n == 1)
        return count;
    if (prime_is(n)) {
        out[count] = n;
        return count + 1;
    }
    uint64_t d = (uint64_t)n;
    for (uint64_t c = 1; d == (uint64_t)n; c++)
        d = rho((uint64_t)n, c);
    count = split((int64_t)d, out, count);
    return split(n / (int64_t)d, out, count);
}

int prime_factors(int64_t n, int64_t out[PRIME_FACTORS])
{
    enum { DIVISOR_MAX = 1000 };
    int count = 0;
    for (int64_t d = 2; d <= DIVISOR_MAX && d * d <= n; d += d == 2 ? 1 : 2)
        for (; n % d == 0; n /= d)
            out[count++] = d;
    int first = count;
    count = split(n, out, count);
    for (int i = first + 1; i < count; i++)
        for (int k = i; k > first && out[k] < out[k - 1]; k--) {
            int64_t t = out[k];
            out[k] = out[k - 1];
            out[k - 1] = t;
        }
    return count;
}

int64_t prime_sieve(Ctx *ctx, int64_t n, uint64_t *bits)
{
    int64_t odd = (n + 1) / 2, count = n >= 2;       /* of 1, 3, 5 … up to n */
    for (int64_t i = 1; 2 * i * (i + 1) < odd && !*ctx->interrupt; i++)
        if (!(bits[i / 64] >> (i % 64) & 1))
            for (int64_t k = 2 * i * (i + 1); k < odd; k += 2 * i + 1)
                bits[k / 64] |= (uint64_t)1 << (k % 64);
    for (int64_t i = 1; i < odd; i++)
        count += !(bits[i / 64] >> (i % 64) & 1);
    return count;
}
