/* Exact fractions: the heap of big numbers, arithmetic, comparison. Small numbers are computed in
 * 128 bits after Knuth (TAOCP 2, 4.5.1: divide by gcds before multiplying); what does not fit goes
 * to GMP. Nothing here raises but where the header says so. */
#include "kernels/rational/rational.h"

#include "core/base/error.h"
#include "kernels/tensor/cells.h"

#include <string.h>

typedef unsigned __int128 Wide;
_Static_assert(sizeof(mp_limb_t) == 8, "a limb of GMP holds a small numerator");

typedef struct RationalBig {
    struct RationalBig *next;
    bool live;                   /* while collecting */
    int32_t num_limbs;           /* signed, as in an mpz */
    int32_t den_limbs;
    mp_limb_t limbs[];           /* numerator, then denominator */
} RationalBig;

struct RationalHeap {
    RationalBig *bigs;
    size_t bytes, threshold;     /* of bigs; collect when they pass the threshold */
    const Gmp *gmp;              /* NULL until needed */
    mpq_t a;                     /* temporaries, once gmp is there */
};

enum { COLLECT_MIN = 1 << 20 };
#define BIG_MARK ((uint64_t)1 << 63)

/* ---- the heap ---- */

/* NULL: there is none. */
static RationalHeap *heap_of(const Ctx *ctx)
{
    return ctx->cells ? ctx->cells->heap : NULL;
}

static RationalHeap *heap_try(Ctx *ctx)
{
    Cells *c = cells_try(ctx);
    if (c && !c->heap && (c->heap = mem_try_alloc(ctx, sizeof *c->heap)) != NULL)
        *c->heap = (RationalHeap){ .threshold = COLLECT_MIN };
    return c ? c->heap : NULL;
}

static size_t big_bytes(const RationalBig *b)
{
    int32_t num = b->num_limbs < 0 ? -b->num_limbs : b->num_limbs;
    return sizeof *b + ((size_t)num + (size_t)b->den_limbs) * sizeof(mp_limb_t);
}

static void big_free(Ctx *ctx, RationalBig *b)
{
    size_t bytes = big_bytes(b);
    heap_of(ctx)->bytes -= bytes;
    mem_free(ctx, b, bytes);
}

void rational_heap_free(Ctx *ctx)
{
    RationalHeap *h = heap_of(ctx);
    for (RationalBig *b = h ? h->bigs : NULL, *next; b; b = next) {
        next = b->next;
        big_free(ctx, b);
    }
    if (h && h->gmp)
        h->gmp->mpq_clear(h->a);
    if (ctx->cells)
        gmp_end();
    if (h)
        mem_free(ctx, h, sizeof *h);
    cells_free(ctx);
}

size_t rational_heap_bytes(const Ctx *ctx) { return heap_of(ctx) ? heap_of(ctx)->bytes : 0; }

static RationalBig *big_of(Rational a) { return (RationalBig *)(uintptr_t)a.num; }

static void mark(const Cells *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const Rational *at = (const Rational *)(const void *)c->buffers[i]->data;
        size_t n = c->buffers[i]->bytes / sizeof *at;
        for (size_t k = 0; k < n; k++)
            if (rational_is_big(at[k]))
                big_of(at[k])->live = true;
    }
}

static void sweep(Ctx *ctx, RationalHeap *h)
{
    RationalBig **at = &h->bigs;
    while (*at) {
        RationalBig *b = *at;
        if (b->live) {
            b->live = false;
            at = &b->next;
        } else {
            *at = b->next;
            big_free(ctx, b);
        }
    }
}

void rational_collect(Ctx *ctx)
{
    RationalHeap *h = heap_of(ctx);
#ifdef RICCI_HOSTILE
    if (!h)
        return;
#else
    if (!h || h->bytes <= h->threshold)
        return;
#endif
    mark(ctx->cells);
    sweep(ctx, h);
    h->threshold = h->bytes > COLLECT_MIN / 2 ? 2 * h->bytes : COLLECT_MIN;
}

/* ---- between small numbers, big ones and GMP ---- */

RationalStatus rational_gmp(Ctx *ctx, const Gmp **gmp)
{
    RationalHeap *h = heap_try(ctx);
    if (!h)
        return RATIONAL_MEMORY;
    size_t used = ctx->mem.live, limit = ctx->mem.limit;
    if (!gmp_begin(limit > used ? limit - used : 1))
        return RATIONAL_MEMORY;
    if (!h->gmp) {
        const Gmp *g = gmp_open(NULL);
        if (!g)
            return RATIONAL_LIBRARY;
        g->mpq_init(h->a);
        h->gmp = g;
    }
    *gmp = h->gmp;
    return RATIONAL_OK;
}

static uint64_t magnitude(int64_t i) { return i < 0 ? -(uint64_t)i : (uint64_t)i; }

mpq_srcptr rational_view(RationalView *v, Rational a)
{
    mpz_ptr num = &v->q->_mp_num, den = &v->q->_mp_den;
    if (rational_is_big(a)) {
        RationalBig *b = big_of(a);
        size_t limbs = b->num_limbs < 0 ? (size_t)-b->num_limbs : (size_t)b->num_limbs;
        *num = (__mpz_struct){ ._mp_size = b->num_limbs, ._mp_d = b->limbs };
        *den = (__mpz_struct){ ._mp_size = b->den_limbs, ._mp_d = b->limbs + limbs };
    } else {
        v->limbs[0] = magnitude(a.num);
        v->limbs[1] = a.tail + 1;
        *num = (__mpz_struct){ ._mp_size = (a.num > 0) - (a.num < 0), ._mp_d = v->limbs };
        *den = (__mpz_struct){ ._mp_size = 1, ._mp_d = v->limbs + 1 };
    }
    return v->q;
}

mp_limb_t *rational_block_new(Ctx *ctx, size_t n, int64_t *pointer)
{
    RationalHeap *h = heap_try(ctx);
    RationalBig *b = h ? mem_try_alloc(ctx, sizeof *b + n * sizeof *b->limbs) : NULL;
    if (!b)
        return NULL;
    *b = (RationalBig){ .next = h->bigs, .num_limbs = (int32_t)n };
    h->bigs = b;
    h->bytes += big_bytes(b);
    *pointer = (int64_t)(uintptr_t)b;
    return b->limbs;
}

const void *rational_block_mark(const Ctx *ctx) { return heap_of(ctx) ? heap_of(ctx)->bigs : NULL; }

void rational_block_drop(Ctx *ctx, const void *mark, int64_t keep)
{
    RationalHeap *h = heap_of(ctx);
    RationalBig *kept = NULL;
    while (h && h->bigs != mark) {
        RationalBig *b = h->bigs;
        h->bigs = b->next;
        if ((int64_t)(uintptr_t)b == keep)
            kept = b;
        else
            big_free(ctx, b);
    }
    if (kept) {
        kept->next = h->bigs;
        h->bigs = kept;
    }
}

const mp_limb_t *rational_block_limbs(int64_t pointer, size_t *n)
{
    const RationalBig *b = (const RationalBig *)(uintptr_t)pointer;
    *n = (size_t)b->num_limbs;
    return b->limbs;
}

/* A big number of reduced parts, `limbs` of each without leading zeros. */
static RationalStatus big_new(Ctx *ctx, Rational *out, int32_t num_limbs, const mp_limb_t *num,
                              int32_t den_limbs, const mp_limb_t *den)
{
    RationalHeap *h = heap_try(ctx);
    size_t n = num_limbs < 0 ? (size_t)-num_limbs : (size_t)num_limbs, d = (size_t)den_limbs;
    if (n > RATIONAL_BITS / 64 || d > RATIONAL_BITS / 64)
        return RATIONAL_DIGITS;
    RationalBig *b = h ? mem_try_alloc(ctx, sizeof *b + (n + d) * sizeof *num) : NULL;
    if (!b)
        return RATIONAL_MEMORY;
    *b = (RationalBig){ .next = h->bigs, .num_limbs = num_limbs, .den_limbs = den_limbs };
    memcpy(b->limbs, num, n * sizeof *num);
    memcpy(b->limbs + n, den, d * sizeof *den);
    h->bigs = b;
    h->bytes += big_bytes(b);
    *out = (Rational){ (int64_t)(uintptr_t)b, BIG_MARK };
    return RATIONAL_OK;
}

static bool fits(const __mpz_struct *z)
{
    return z->_mp_size >= -1 && z->_mp_size <= 1 && (z->_mp_size == 0 || z->_mp_d[0] <= INT64_MAX);
}

RationalStatus rational_keep(Ctx *ctx, Rational *out, mpq_srcptr q)
{
    const __mpz_struct *num = &q->_mp_num, *den = &q->_mp_den;
    if (gmp_spent())
        return RATIONAL_MEMORY;
    if (fits(num) && fits(den)) {
        int64_t n = num->_mp_size ? (int64_t)num->_mp_d[0] : 0;
        *out = (Rational){ num->_mp_size < 0 ? -n : n, den->_mp_d[0] - 1 };
        return RATIONAL_OK;
    }
    return big_new(ctx, out, num->_mp_size, num->_mp_d, den->_mp_size, den->_mp_d);
}

/* A reduced fraction in 128 bits. */
typedef struct Fraction { bool negative; Wide num, den; } Fraction;

static bool fraction_small(Rational *out, Fraction f)
{
    if (f.num > INT64_MAX || f.den > INT64_MAX)
        return false;
    *out = (Rational){ f.negative ? -(int64_t)f.num : (int64_t)f.num, (uint64_t)f.den - 1 };
    return true;
}

static RationalStatus from_wide(Ctx *ctx, Rational *out, Fraction f)
{
    bool negative = f.negative;
    Wide num = f.num, den = f.den;
    if (fraction_small(out, f))
        return RATIONAL_OK;
    mp_limb_t n[2] = { (mp_limb_t)num, (mp_limb_t)(num >> 64) };
    mp_limb_t d[2] = { (mp_limb_t)den, (mp_limb_t)(den >> 64) };
    int32_t limbs = n[1] ? 2 : 1;
    const Gmp *g;
    RationalStatus s = rational_gmp(ctx, &g);     /* where there is a big number, there is GMP */
    if (s != RATIONAL_OK)
        return s;
    return big_new(ctx, out, negative ? -limbs : limbs, n, d[1] ? 2 : 1, d);
}

static size_t parts_limbs(Rational a)
{
    if (!rational_is_big(a))
        return 2;
    const RationalBig *b = big_of(a);
    return (size_t)(b->num_limbs < 0 ? -b->num_limbs : b->num_limbs) + (size_t)b->den_limbs;
}

void rational_raise(Ctx *ctx, RationalStatus status, const char *what)
{
    const char *why = NULL;
    switch (status) {
    case RATIONAL_DIGITS:
        err_raise_help(ctx, ERR_VALUE, "floats keep the leading digits: convert with f64(…)",
                       "%s: a numerator or denominator has more than 5 million digits", what);
    case RATIONAL_DIVISION:
        err_raise_help(ctx, ERR_VALUE, "floats have one: divide f64(…)",
                       "%s: division by zero, and rationals have no infinity", what);
    case RATIONAL_NO_NUMBER:
        err_raise(ctx, ERR_VALUE, "%s: nan and infinities are no fractions", what);
    case RATIONAL_COMPLEX:
        err_raise_help(ctx, ERR_DTYPE, "take a part: real(…), imag(…) or abs(…)",
                       "%s: a number with an imaginary part is no fraction", what);
    case RATIONAL_INTERRUPT:
        err_interrupted(ctx);
    case RATIONAL_LIBRARY:
        mem_room(ctx, (size_t)16 << 20);         /* it may be there, and have had no room */
        gmp_open(&why);
        err_raise(ctx, ERR_IO, "%s: %s", what, why);
    case RATIONAL_INEXACT:
        err_raise_help(ctx, ERR_VALUE, "compute in floats: f64(…)", "%s: the result is no fraction",
                       what);
    case RATIONAL_SINGULAR:
        err_raise(ctx, ERR_NUMERIC, "%s: the matrix is singular", what);
    default:
        err_raise(ctx, ERR_MEMORY, "%s: out of memory for big numbers", what);
    }
}

/* ---- facts ---- */

int rational_sign(Rational a)
{
    int64_t n = rational_is_big(a) ? big_of(a)->num_limbs : a.num;
    return (n > 0) - (n < 0);
}

bool rational_is_integer(Rational a)
{
    if (!rational_is_big(a))
        return a.tail == 0;
    RationalView v;
    const __mpz_struct *den = &rational_view(&v, a)->_mp_den;
    return den->_mp_size == 1 && den->_mp_d[0] == 1;
}

bool rational_as_int(Rational a, int64_t *out)
{
    RationalView v;
    if (!rational_is_integer(a))
        return false;
    if (!rational_is_big(a)) {
        *out = a.num;
        return true;
    }
    const __mpz_struct *num = &rational_view(&v, a)->_mp_num;      /* -2^63 is a big number */
    *out = INT64_MIN;
    return num->_mp_size == -1 && num->_mp_d[0] == (mp_limb_t)1 << 63;
}

bool rational_equal(Rational a, Rational b)
{
    if (rational_is_big(a) != rational_is_big(b))
        return false;
    if (!rational_is_big(a))
        return a.num == b.num && a.tail == b.tail;
    const RationalBig *x = big_of(a), *y = big_of(b);
    return x == y || (x->num_limbs == y->num_limbs && x->den_limbs == y->den_limbs &&
                      memcmp(x->limbs, y->limbs, big_bytes(x) - sizeof *x) == 0);
}

int rational_compare(Ctx *ctx, Rational a, Rational b)
{
    RationalView va, vb;
    if (!rational_is_big(a) && !rational_is_big(b)) {
        __int128 x = (__int128)a.num * (__int128)(b.tail + 1);
        __int128 y = (__int128)b.num * (__int128)(a.tail + 1);
        return (x > y) - (x < y);
    }
    if (rational_sign(a) != rational_sign(b) || rational_equal(a, b))
        return (rational_sign(a) > rational_sign(b)) - (rational_sign(a) < rational_sign(b));
    int order = heap_of(ctx)->gmp->mpq_cmp(rational_view(&va, a), rational_view(&vb, b));
    return (order > 0) - (order < 0);
}

/* ---- arithmetic ---- */

static uint64_t gcd64(uint64_t a, uint64_t b)
{
    if (a <= 1 || b <= 1)                /* denominators of integers, most of the time */
        return a == 0 || b == 0 ? a | b : 1;
    int shift = __builtin_ctzll(a | b);
    a >>= __builtin_ctzll(a);
    while (b) {
        b >>= __builtin_ctzll(b);
        uint64_t low = a < b ? a : b;
        b = a < b ? b - a : a - b;
        a = low;
    }
    return a << shift;
}

typedef void (*MpqOp)(mpq_ptr, mpq_srcptr, mpq_srcptr);

static RationalStatus big_binary(Ctx *ctx, Rational *out, Rational a, Rational b, int op)
{
    const Gmp *g;
    RationalView va, vb;
    size_t limbs = parts_limbs(a) + parts_limbs(b);
    RationalStatus s = rational_gmp(ctx, &g);
    if (s != RATIONAL_OK)
        return s;
    if (!gmp_probe(limbs * 8 * sizeof(mp_limb_t)))
        return RATIONAL_MEMORY;
    MpqOp fn = op == '+' ? g->mpq_add : op == '-' ? g->mpq_sub
             : op == '*' ? g->mpq_mul : g->mpq_div;
    mpq_ptr r = heap_of(ctx)->a;
    fn(r, rational_view(&va, a), rational_view(&vb, b));
    return rational_keep(ctx, out, r);
}

/* a/b + c/d over the least common denominator (TAOCP 2, 4.5.1, (6)). Products are below
 * 2^126 and their sum below 2^127. */
static Fraction small_add(Rational a, int64_t c, uint64_t c_tail)
{
    uint64_t b = a.tail + 1, d = c_tail + 1, g = gcd64(b, d);
    __int128 t = (__int128)a.num * (int64_t)(d / g) + (__int128)c * (int64_t)(b / g);
    Wide size = t < 0 ? -(Wide)t : (Wide)t;
    uint64_t g2 = g == 1 ? 1 : gcd64((uint64_t)(size % g), g);
    return (Fraction){ t < 0, size / g2, (Wide)(b / g) * (d / g2) };
}

RationalStatus rational_add(Ctx *ctx, Rational *out, Rational a, Rational b)
{
    if (rational_is_big(a) || rational_is_big(b))
        return big_binary(ctx, out, a, b, '+');
    return from_wide(ctx, out, small_add(a, b.num, b.tail));
}

RationalStatus rational_sub(Ctx *ctx, Rational *out, Rational a, Rational b)
{
    if (rational_is_big(a) || rational_is_big(b))
        return big_binary(ctx, out, a, b, '-');
    return from_wide(ctx, out, small_add(a, -b.num, b.tail));
}

/* a/b * c/d, all without a sign and reduced. */
static Fraction small_mul(bool negative, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t g = gcd64(a, d), h = gcd64(c, b);
    return (Fraction){ negative, (Wide)(a / g) * (c / h), (Wide)(b / h) * (d / g) };
}

static Fraction small_product(Rational a, Rational b)
{
    return small_mul((a.num < 0) != (b.num < 0), magnitude(a.num), a.tail + 1, magnitude(b.num),
                     b.tail + 1);
}

RationalStatus rational_mul(Ctx *ctx, Rational *out, Rational a, Rational b)
{
    if (rational_is_big(a) || rational_is_big(b))
        return big_binary(ctx, out, a, b, '*');
    return from_wide(ctx, out, small_product(a, b));
}

RationalStatus rational_div(Ctx *ctx, Rational *out, Rational a, Rational b)
{
    if (rational_sign(b) == 0)
        return RATIONAL_DIVISION;
    if (rational_is_big(a) || rational_is_big(b))
        return big_binary(ctx, out, a, b, '/');
    return from_wide(ctx, out, small_mul((a.num < 0) != (b.num < 0), magnitude(a.num), a.tail + 1,
                                         b.tail + 1, magnitude(b.num)));
}

bool rational_accumulate(Rational *sum, Rational a, Rational b)
{
    Rational product;
    if (rational_is_big(a) || rational_is_big(b) || rational_is_big(*sum))
        return false;
    return fraction_small(&product, small_product(a, b)) &&
           fraction_small(sum, small_add(*sum, product.num, product.tail));
}

RationalStatus rational_neg(Ctx *ctx, Rational *out, Rational a)
{
    if (!rational_is_big(a)) {
        *out = (Rational){ -a.num, a.tail };
        return RATIONAL_OK;
    }
    RationalView v;
    const __mpq_struct *q = rational_view(&v, a);
    return big_new(ctx, out, -q->_mp_num._mp_size, q->_mp_num._mp_d, q->_mp_den._mp_size,
                   q->_mp_den._mp_d);
}

RationalStatus rational_numerator(Ctx *ctx, Rational *out, Rational a)
{
    RationalView v;
    mpq_t q;
    if (!rational_is_big(a)) {
        *out = rational_int(a.num);
        return RATIONAL_OK;
    }
    mp_limb_t one = 1;
    *q = *rational_view(&v, a);
    q->_mp_den = (__mpz_struct){ ._mp_size = 1, ._mp_d = &one };
    return rational_keep(ctx, out, q);
}

RationalStatus rational_denominator(Ctx *ctx, Rational *out, Rational a)
{
    RationalView v;
    mpq_t q;
    if (!rational_is_big(a)) {
        *out = rational_int((int64_t)(a.tail + 1));
        return RATIONAL_OK;
    }
    mp_limb_t one = 1;
    q->_mp_num = rational_view(&v, a)->_mp_den;
    q->_mp_den = (__mpz_struct){ ._mp_size = 1, ._mp_d = &one };
    return rational_keep(ctx, out, q);
}

RationalStatus rational_floor(Ctx *ctx, Rational *out, Rational a)
{
    const Gmp *g;
    RationalView v;
    if (!rational_is_big(a)) {
        int64_t den = (int64_t)(a.tail + 1), q = a.num / den;
        *out = rational_int(q - (a.num % den < 0));
        return RATIONAL_OK;
    }
    RationalStatus s = rational_gmp(ctx, &g);
    if (s != RATIONAL_OK)
        return s;
    const __mpq_struct *q = rational_view(&v, a);
    mpq_ptr r = heap_of(ctx)->a;
    g->mpz_fdiv_q(&r->_mp_num, &q->_mp_num, &q->_mp_den);
    g->mpz_set_ui(&r->_mp_den, 1);
    return rational_keep(ctx, out, r);
}

/* floor(a + 1/2), less one where that was a half above an even number. */
RationalStatus rational_round(Ctx *ctx, Rational *out, Rational a)
{
    Rational half = { 1, 1 }, sum, f, rest, two = rational_int(2), parity;
    RationalStatus s = rational_add(ctx, &sum, a, half);
    if (s == RATIONAL_OK) s = rational_floor(ctx, &f, sum);
    if (s == RATIONAL_OK) s = rational_sub(ctx, &rest, sum, f);
    if (s != RATIONAL_OK || rational_sign(rest) != 0) {
        *out = f;
        return s;
    }
    s = rational_div(ctx, &parity, f, two);
    if (s == RATIONAL_OK && !rational_is_integer(parity))
        return rational_sub(ctx, out, f, rational_int(1));
    *out = f;
    return s;
}

static bool small_power(uint64_t base, uint64_t n, uint64_t *out)
{
    uint64_t r = 1;
    for (; n; n >>= 1) {
        if ((n & 1) && __builtin_mul_overflow(r, base, &r))
            return false;
        if (n > 1 && __builtin_mul_overflow(base, base, &base))
            return false;
    }
    *out = r;
    return r <= INT64_MAX;
}

static RationalStatus big_power(Ctx *ctx, Rational *out, Rational a, uint64_t n, bool invert)
{
    const Gmp *g;
    RationalView v;
    RationalStatus s = rational_gmp(ctx, &g);
    if (s != RATIONAL_OK)
        return s;
    const __mpq_struct *q = rational_view(&v, a);
    size_t bits = g->mpz_sizeinbase(&q->_mp_num, 2), den = g->mpz_sizeinbase(&q->_mp_den, 2);
    bits = (bits > den ? bits : den) - 1;              /* the result has at least so many times n */
    if (bits && n > RATIONAL_BITS / bits)
        return RATIONAL_DIGITS;
    if (!gmp_probe((bits + 1) * n))
        return RATIONAL_MEMORY;
    mpq_ptr r = heap_of(ctx)->a;
    g->mpz_pow_ui(&r->_mp_num, &q->_mp_num, n);
    g->mpz_pow_ui(&r->_mp_den, &q->_mp_den, n);
    if (invert) {
        g->mpz_swap(&r->_mp_num, &r->_mp_den);
        if (r->_mp_den._mp_size < 0) {
            r->_mp_den._mp_size = -r->_mp_den._mp_size;
            r->_mp_num._mp_size = -r->_mp_num._mp_size;
        }
    }
    return rational_keep(ctx, out, r);
}

RationalStatus rational_power(Ctx *ctx, Rational *out, Rational a, Rational exponent)
{
    int64_t e;
    if (!rational_is_integer(exponent))
        return RATIONAL_INEXACT;
    bool unit = !rational_is_big(a) && a.tail == 0 && a.num >= -1 && a.num <= 1;
    if (rational_sign(exponent) < 0 && rational_sign(a) == 0)
        return RATIONAL_DIVISION;
    if (!rational_as_int(exponent, &e)) {
        if (!unit || a.num < 0)
            return RATIONAL_DIGITS;
        e = 2;
    }
    uint64_t n = magnitude(e), num, den;
    if (unit) {
        *out = rational_int(n == 0 ? 1 : a.num < 0 && n % 2 == 0 ? 1 : a.num);
        return RATIONAL_OK;
    }
    if (!rational_is_big(a) && small_power(magnitude(a.num), n, &num) &&
        small_power(a.tail + 1, n, &den)) {
        bool negative = a.num < 0 && (n & 1);
        return from_wide(ctx, out, (Fraction){ negative, e < 0 ? den : num, e < 0 ? num : den });
    }
    return big_power(ctx, out, a, n, e < 0);
}
