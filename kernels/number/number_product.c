/* Products of matrices of decimal and mp numbers of a few limbs. The cells of both operands are
 * taken apart once, into numbers of one length that need no heap; sums of products over these
 * allocate nothing (product.tmpl.h), so that threads share the elements of the result, and what
 * they found becomes cells at the end. The sums have the bits and the flags of one operation after
 * the other, as `dot` computes them, which takes over whatever is out of the ordinary: infinities,
 * NaN, exponents near the ends, numbers wider than the format, stochastic rounding. */
#include "kernels/number/limbs.h"

#include "core/base/mem.h"
#include "core/memory/pool.h"

#include <string.h>

#define DECIMAL_LIMBS 4          /* 77 digits */
enum {
    DECIMAL_MOST = 77,
    DECIMAL_LEAST = 3,           /* with less a number may be all rest: see decimal_add */
    THREADS = 64
};

/* ---- powers of ten ---- */
/* 10^k, and as a divisor: shifted up until its top bit is set, with the reciprocal of its top limb,
 * or its two top limbs, as Möller and Granlund have it (Improved division by invariant integers,
 * 2011). */
typedef struct Ten { uint64_t n[2 * DECIMAL_LIMBS]; } Ten;
typedef struct Divisor {
    int limbs, shift;
    uint64_t inverse, d[DECIMAL_LIMBS];
} Divisor;
typedef struct Powers {
    Ten tens[2 * DECIMAL_MOST + 1];
    Divisor divisors[DECIMAL_MOST + 1];
} Powers;

/* floor((2^128 - 1) / d) - 2^64, and of two limbs (2^192 - 1) / (d 2^64 + low) - 2^64. */
static uint64_t inverse_of(uint64_t d, uint64_t low, bool two)
{
    uint64_t v = (uint64_t)((((Wide)~d << 64) | ~(uint64_t)0) / d);
    if (!two)
        return v;
    uint64_t p = d * v + low;
    if (p < low) {
        v--;
        if (p >= d)
            v--, p -= d;
        p -= d;
    }
    Wide t = (Wide)low * v;
    p += (uint64_t)(t >> 64);
    if (p < (uint64_t)(t >> 64)) {
        v--;
        if (p > d || (p == d && (uint64_t)t >= low))
            v--;
    }
    return v;
}

static void divisor_make(Divisor *v, const uint64_t *n)
{
    v->limbs = DECIMAL_LIMBS;
    while (n[v->limbs - 1] == 0)
        v->limbs--;
    v->shift = __builtin_clzll(n[v->limbs - 1]);
    for (int i = 0; i < v->limbs; i++)
        v->d[i] = n[i] << v->shift | (i && v->shift ? n[i - 1] >> (64 - v->shift) : 0);
    bool two = v->limbs > 1;
    v->inverse = inverse_of(v->d[v->limbs - 1], two ? v->d[v->limbs - 2] : 0, two);
}

static void powers_make(Powers *p, int64_t digits)
{
    p->tens[0] = (Ten){ { 1 } };
    for (int64_t k = 1; k <= 2 * digits; k++) {
        uint64_t carry = 0;
        for (int i = 0; i < 2 * DECIMAL_LIMBS; i++) {
            Wide t = (Wide)p->tens[k - 1].n[i] * 10 + carry;
            p->tens[k].n[i] = (uint64_t)t;
            carry = (uint64_t)(t >> 64);
        }
    }
    for (int64_t k = 1; k <= digits; k++)
        divisor_make(&p->divisors[k], p->tens[k].n);
}

/* (high 2^64 + low) / d, high < d. */
static inline uint64_t divide_2by1(uint64_t *rest, uint64_t high, uint64_t low, uint64_t d,
                                   uint64_t inverse)
{
    Wide q = (Wide)inverse * high + (((Wide)high << 64) | low);
    uint64_t top = (uint64_t)(q >> 64) + 1, r = low - top * d;
    if (r > (uint64_t)q)
        top--, r += d;
    if (__builtin_expect(r >= d, 0))
        top++, r -= d;
    *rest = r;
    return top;
}

/* (u2, u1, u0) / (d1, d0), (u2, u1) < (d1, d0). */
static inline uint64_t divide_3by2(Wide *rest, uint64_t u2, uint64_t u1, uint64_t u0, Wide d,
                                   uint64_t inverse)
{
    Wide q = (Wide)inverse * u2 + (((Wide)u2 << 64) | u1);
    uint64_t top = (uint64_t)(q >> 64), d1 = (uint64_t)(d >> 64), d0 = (uint64_t)d;
    Wide r = (((Wide)(u1 - top * d1) << 64) | u0) - (Wide)d0 * top - d;
    top++;
    if ((uint64_t)(r >> 64) >= (uint64_t)q)
        top--, r += d;
    if (__builtin_expect(r >= d, 0))
        top++, r -= d;
    *rest = r;
    return top;
}

/* One limb of a quotient: of n, by->limbs + 1 of them, which becomes the rest. */
static inline uint64_t divide_step(uint64_t *n, const Divisor *by)
{
    int s = by->limbs;
    uint64_t q, borrow = 0, carry = 0;
    Wide d = ((Wide)by->d[s - 1] << 64) | by->d[s - 2], rest;
    if (n[s] == by->d[s - 1] && n[s - 1] == by->d[s - 2] && s > 2) {
        q = ~(uint64_t)0;
        rest = 0;
        for (int i = 0; i < s; i++) {                    /* n - q d */
            Wide t = (Wide)q * by->d[i] + borrow;
            borrow = (uint64_t)(t >> 64) + (n[i] < (uint64_t)t);
            n[i] -= (uint64_t)t;
        }
        carry = n[s] < borrow;
        n[s] -= borrow;
    } else {
        q = divide_3by2(&rest, n[s], n[s - 1], n[s - 2], d, by->inverse);
        for (int i = 0; i < s - 2; i++) {
            Wide t = (Wide)q * by->d[i] + borrow;
            borrow = (uint64_t)(t >> 64) + (n[i] < (uint64_t)t);
            n[i] -= (uint64_t)t;
        }
        carry = rest < borrow;
        rest -= borrow;
        n[s - 2] = (uint64_t)rest;
        n[s - 1] = (uint64_t)(rest >> 64);
        n[s] = 0;
    }
    while (__builtin_expect(carry != 0, 0)) {            /* one too many */
        Wide t = 0;
        for (int i = 0; i < s; i++) {
            t += (Wide)n[i] + by->d[i];
            n[i] = (uint64_t)t;
            t >>= 64;
        }
        q--;
        carry -= (uint64_t)t;
        n[s] = 0;
    }
    return q;
}

/* A rest against half of its divisor, and `more` below it. */
static inline Rest rest_against(const uint64_t *n, const Divisor *by, bool more)
{
    Rest left = { .any = more };
    for (int i = by->limbs - 1; i >= 0; i--) {
        uint64_t half = by->d[i] >> 1 | (i + 1 < by->limbs ? by->d[i + 1] << 63 : 0);
        int order = (n[i] > half) - (n[i] < half);
        left.any |= n[i] != 0;
        left.half += (left.half == 0) * order;
    }
    left.half += (left.half == 0) & more;
    return left;
}

/* ---- sums of products, for each length ---- */
#define LIMBS 1
#include "kernels/number/product.tmpl.h"
#define LIMBS 2
#include "kernels/number/product.tmpl.h"
#define LIMBS 3
#include "kernels/number/product.tmpl.h"
#define LIMBS 4
#include "kernels/number/product.tmpl.h"
#define LIMBS 5
#include "kernels/number/product.tmpl.h"
#define LIMBS 6
#include "kernels/number/product.tmpl.h"
#define LIMBS 7
#include "kernels/number/product.tmpl.h"
#define LIMBS 8
#include "kernels/number/product.tmpl.h"

typedef void (*DotFn)(Rounding *, void *out, const void *x, const void *y, int64_t k);
static const DotFn decimal_dots[] = { decimal_dot_1, decimal_dot_2, decimal_dot_3, decimal_dot_4 };
static const DotFn mp_dots[] = { mp_dot_1, mp_dot_2, mp_dot_3, mp_dot_4,
                                 mp_dot_5, mp_dot_6, mp_dot_7, mp_dot_8 };

/* ---- a product ---- */
typedef struct Job {
    Arith *a;
    bool decimal;
    int limbs;
    size_t bytes;                /* of a number */
    DotFn dot;
    Rounding rounding;
    int64_t m, n, k;
    char *x, *y, *z;             /* rows of A, columns of B, rows of C */
    uint64_t inexact[THREADS];
} Job;

static bool job_form(Job *j, Powers *powers)
{
    const Arith *a = j->a;
    j->decimal = dtype_base(a->dtype) == DT_DECIMAL;
    if (a->round == ROUND_STOCHASTIC || (j->decimal ? a->digits < DECIMAL_LEAST ||
                                                      a->digits > DECIMAL_MOST
                                                    : a->digits > 64 * MP_LIMBS))
        return false;
    /* 64 / 1233 is 1 / 19.27: so many digits a limb has */
    j->limbs = j->decimal ? (int)(a->digits * 64 + 1232) / 1233 : (int)(a->digits + 63) / 64;
    j->bytes = sizeof(Unpacked) + (size_t)j->limbs * sizeof(uint64_t);
    j->dot = j->decimal ? decimal_dots[j->limbs - 1] : mp_dots[j->limbs - 1];
    j->rounding = (Rounding){ .mode = a->round, .digits = j->decimal ? (int)a->digits : 0,
                              .low = j->decimal ? 0 : (int)(64 * j->limbs - a->digits),
                              .tens = powers->tens, .divisors = powers->divisors };
    if (j->decimal)
        powers_make(powers, a->digits);
    return true;
}

/* ---- cells taken apart ---- */
/* Exponents this far from the ends of their range stay in it, whatever k is; so do MP_FAR's. */
#define DECIMAL_FAR ((int64_t)1 << 40)

static bool take_mp(const Job *j, Rational cell, Unpacked *head, uint64_t *d)
{
    MpView v;
    mpfr_srcptr x = mp_view(&v, cell);
    int64_t exp = x->_mpfr_exp, size = (x->_mpfr_prec + 63) / 64;
    head->zero = mpfr_is_zero(x);
    if (head->zero || !mpfr_is_regular(x))
        return head->zero;
    if (size > j->limbs || exp > MP_FAR || exp < -MP_FAR)
        return false;
    memcpy(d + j->limbs - size, x->_mpfr_d, (size_t)size * sizeof *d);
    head->exp = exp;
    return (d[0] & (((uint64_t)1 << j->rounding.low) - 1)) == 0;
}

static bool take_decimal(const Job *j, Rational cell, Unpacked *head, uint64_t *d)
{
    DecimalView v;
    mpz_srcptr x = decimal_view(&v, cell);
    int64_t exp = cell_exponent(cell), size = x->_mp_size;
    head->zero = cell_zero(cell);
    if (cell_kind(cell) != NUMBER_FINITE || head->zero)
        return head->zero;
    if (size > j->limbs || exp > DECIMAL_FAR || exp < -DECIMAL_FAR)
        return false;
    memcpy(d, x->_mp_d, (size_t)size * sizeof *d);
    head->exp = exp;
    const uint64_t *ten = j->rounding.tens[j->rounding.digits].n;
    int i = j->limbs - 1;
    while (i > 0 && d[i] == ten[i])
        i--;
    return d[i] < ten[i];
}

/* rows x cols numbers, row by row; false: one is none of ours. */
static bool take(const Job *j, char *to, ArithMatrix from, int64_t rows, int64_t cols)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++, to += j->bytes) {
            const Rational *cell = (const Rational *)(void *)from.data + r * from.row +
                                   c * from.col;
            Unpacked *head = (Unpacked *)(void *)to;
            uint64_t *d = (uint64_t *)(void *)(to + sizeof *head);
            memset(to, 0, j->bytes);
            head->negative = cell_negative(*cell);
            if (!(j->decimal ? take_decimal : take_mp)(j, *cell, head, d))
                return false;
        }
    return true;
}

static bool give(const Job *j, Rational *cell, const char *from)
{
    const Unpacked *head = (const Unpacked *)(const void *)from;
    const uint64_t *d = (const uint64_t *)(const void *)(from + sizeof *head);
    size_t size = (size_t)j->limbs, low = 0;
    if (head->zero) {
        *cell = cell_small(0, head->negative, NUMBER_FINITE, 0);
        return true;
    }
    while (j->decimal && d[size - 1] == 0)
        size--;
    while (!j->decimal && d[low] == 0)
        low++;
    return cell_make(j->a->ctx, cell, d + low, size - low, head->negative, head->exp);
}

/* ---- running ---- */
static void run_elements(void *arg, int64_t begin, int64_t end, int worker)
{
    Job *j = arg;
    Rounding r = j->rounding;
    for (int64_t i = begin; i < end && !*j->a->ctx->interrupt; i++)
        j->dot(&r, j->z + (size_t)i * j->bytes, j->x + (size_t)(i / j->n * j->k) * j->bytes,
               j->y + (size_t)(i % j->n * j->k) * j->bytes, j->k);
    j->inexact[worker] += r.inexact;
}

static ArithStatus run(Job *j, ArithMatrix C)
{
    enum { GRAIN = 1 << 10 };            /* multiply-adds that pay for a thread */
    Ctx *ctx = j->a->ctx;
    int64_t count = j->m * j->n;
    if (pool_threads(ctx) <= THREADS)
        pool_for(ctx, count, GRAIN / j->k + 1, run_elements, j);
    else
        run_elements(j, 0, count, 0);
    if (*ctx->interrupt)
        return ARITH_INTERRUPT;
    for (int w = 0; w < THREADS; w++)
        j->a->flags.inexact += j->inexact[w];
    for (int64_t i = 0; i < count; i++) {
        Rational *cell = (Rational *)(void *)C.data + i / j->n * C.row + i % j->n * C.col;
        if (!give(j, cell, j->z + (size_t)i * j->bytes))
            return ARITH_MEMORY;
    }
    return ARITH_OK;
}

ArithStatus number_matmul(Arith *a, ArithMatrix C, ArithMatrix A, ArithMatrix B, int64_t m,
                          int64_t n, int64_t k)
{
    enum { PAYS = 32, NUMBERS_MOST = 1 << 28 };      /* multiply-adds; numbers at once */
    Job j = { .a = a, .m = m, .n = n, .k = k };
    Powers powers;
    ArithStatus s = ARITH_NONE;
    if (m < 1 || n < 1 || k < 1 || (double)m * (double)n * (double)k < PAYS ||
        (double)m * (double)k + (double)n * (double)k + (double)m * (double)n > NUMBERS_MOST ||
        !job_form(&j, &powers))
        return ARITH_NONE;
    size_t x = (size_t)(m * k) * j.bytes, y = (size_t)(k * n) * j.bytes;
    size_t room = x + y + (size_t)(m * n) * j.bytes;
    j.x = mem_try_alloc(a->ctx, room);
    if (!j.x)
        return ARITH_NONE;
    j.y = j.x + x;
    j.z = j.y + y;
    ArithMatrix columns = { B.data, B.col, B.row };
    if (take(&j, j.x, A, m, k) && take(&j, j.y, columns, n, k))
        s = run(&j, C);
    mem_free(a->ctx, j.x, room);
    return s;
}
