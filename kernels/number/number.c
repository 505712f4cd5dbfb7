/* Cells of decimal and mp numbers, facts about them, and their way to binary formats and ints: see
 * number.h. Nothing here raises; what allocates in the heap says so by its status. */
#include "kernels/number/arith_number.h"

#include "kernels/arith/arith_binary.h"
#include "kernels/tensor/cast.h"

#include <math.h>
#include <string.h>

/* ---- cells ---- */

bool cell_make(Ctx *ctx, Rational *out, const mp_limb_t *limbs, size_t n, bool negative,
               int64_t exponent)
{
    *out = cell_small(n ? limbs[0] : 0, negative, NUMBER_FINITE, n ? exponent : 0);
    if (n <= 1)
        return true;
    mp_limb_t *to = rational_block_new(ctx, n, &out->num);
    if (!to)
        return false;
    memcpy(to, limbs, n * sizeof *to);
    out->tail |= CELL_BLOCK;
    return true;
}

/* The limbs of a finite number; `room` is where a small one's stands. */
static const mp_limb_t *cell_limbs(Rational c, mp_limb_t *room, size_t *n)
{
    if (c.tail & CELL_BLOCK)
        return rational_block_limbs(c.num, n);
    *room = (uint64_t)c.num;
    *n = c.num != 0;
    return room;
}

mpfr_srcptr mp_view(MpView *v, Rational c)
{
    size_t n = 1;
    mp_limb_t *d = (mp_limb_t *)cell_limbs(c, &v->limb, &n);
    NumberKind kind = cell_kind(c);
    mpfr_exp_t exp = kind == NUMBER_NAN ? __MPFR_EXP_NAN : kind == NUMBER_INF ? __MPFR_EXP_INF
                   : n == 0 ? __MPFR_EXP_ZERO : cell_exponent(c);
    v->m = (__mpfr_struct){ ._mpfr_prec = n ? (mpfr_prec_t)n * 64 : 64,
                            ._mpfr_sign = cell_negative(c) ? -1 : 1, ._mpfr_exp = exp,
                            ._mpfr_d = d };
    return &v->m;
}

ArithStatus mp_keep(Ctx *ctx, Rational *out, mpfr_srcptr x)
{
    bool negative = x->_mpfr_sign < 0;
    if (!mpfr_is_regular(x)) {
        NumberKind kind = mpfr_is_nan(x) ? NUMBER_NAN : mpfr_is_inf(x) ? NUMBER_INF : NUMBER_FINITE;
        *out = cell_small(0, negative && kind != NUMBER_NAN, kind, 0);
        return ARITH_OK;
    }
    size_t n = ((size_t)x->_mpfr_prec + 63) / 64, low = 0;
    while (x->_mpfr_d[low] == 0)
        low++;
    return cell_make(ctx, out, x->_mpfr_d + low, n - low, negative, x->_mpfr_exp) ? ARITH_OK
                                                                                 : ARITH_MEMORY;
}

mpz_srcptr decimal_view(DecimalView *v, Rational c)
{
    size_t n;
    mp_limb_t *d = (mp_limb_t *)cell_limbs(c, &v->limb, &n);
    v->z = (__mpz_struct){ ._mp_size = (int)n, ._mp_d = d };
    return &v->z;
}

/* ---- facts ---- */

static Interval interval_of(const void *cell)
{
    Interval x;
    memcpy(&x, cell, sizeof x);
    return x;
}

static Rational cell_of(const void *cell)
{
    Rational c;
    memcpy(&c, cell, sizeof c);
    return c;
}

bool number_is_nan(DType dt, const void *cell)
{
    switch (dtype_base(dt)) {
    case DT_RATIONAL: return false;
    case DT_INTERVAL: return isnan(interval_of(cell).lo) || isnan(interval_of(cell).hi);
    default: return cell_kind(cell_of(cell)) == NUMBER_NAN;
    }
}

bool number_is_inf(DType dt, const void *cell)
{
    switch (dtype_base(dt)) {
    case DT_RATIONAL: return false;
    case DT_INTERVAL: return isinf(interval_of(cell).lo) || isinf(interval_of(cell).hi);
    default: return cell_kind(cell_of(cell)) == NUMBER_INF;
    }
}

bool number_is_zero(DType dt, const void *cell)
{
    switch (dtype_base(dt)) {
    case DT_RATIONAL: return rational_sign(cell_of(cell)) == 0;
    case DT_INTERVAL: return interval_of(cell).lo == 0 && interval_of(cell).hi == 0;
    default: return cell_zero(cell_of(cell));
    }
}

bool number_negative(DType dt, const void *cell)
{
    switch (dtype_base(dt)) {
    case DT_RATIONAL: return rational_sign(cell_of(cell)) < 0;
    case DT_INTERVAL: return interval_of(cell).hi < 0;
    default: return cell_negative(cell_of(cell));
    }
}

int number_sign(DType dt, const void *cell)
{
    Interval x;
    switch (dtype_base(dt)) {
    case DT_RATIONAL: return rational_sign(cell_of(cell));
    case DT_INTERVAL: x = interval_of(cell); return (x.lo > 0) - (x.hi < 0);
    default:
        if (number_is_nan(dt, cell) || number_is_zero(dt, cell))
            return 0;
        return number_negative(dt, cell) ? -1 : 1;
    }
}

/* ---- to binary formats ---- */

/* The top 256 bits of n limbs, the rest sticky: n 2^exp as (w + f) 2^exp. */
static void exact_limbs(BinaryExact *out, const mp_limb_t *d, size_t n, int64_t exp)
{
    size_t skip = n > 4 ? n - 4 : 0;
    for (size_t i = 0; i < skip; i++)
        out->sticky |= d[i] != 0;
    for (size_t i = 0; i < 4; i++)
        out->w[i] = skip + i < n ? d[skip + i] : 0;
    out->exp = exp + 64 * (int64_t)skip;
}

/* num / den 2^exp with a quotient of 130 bits and more. */
static ArithStatus exact_quotient(BinaryExact *out, mpz_srcptr num, mpz_srcptr den)
{
    const Gmp *g = gmp_open(NULL);
    mpz_t n, r, z;
    if (!g)
        return ARITH_LIBRARY;
    int64_t up = 130 + (int64_t)g->mpz_sizeinbase(den, 2) - (int64_t)g->mpz_sizeinbase(num, 2);
    g->mpz_init(n);
    g->mpz_init(r);
    g->mpz_init(z);
    if (up > 0) {
        g->mpz_mul_2exp(z, num, (mp_bitcnt_t)up);
        g->mpz_tdiv_qr(n, r, z, den);
    } else {
        up = 0;
        g->mpz_tdiv_qr(n, r, num, den);
    }
    out->sticky = r->_mp_size != 0;
    exact_limbs(out, n->_mp_d, (size_t)(n->_mp_size < 0 ? -n->_mp_size : n->_mp_size), -up);
    g->mpz_clear(n);
    g->mpz_clear(r);
    g->mpz_clear(z);
    return ARITH_OK;
}

/* Beyond every binary format, above or below: 1.5 2^±20000, inexact. */
static void exact_beyond(BinaryExact *out, bool above)
{
    out->w[3] = (uint64_t)3 << 62;
    out->sticky = true;
    out->exp = above ? 20000 : -20000;
}

/* Digits and powers of at most 64 bits: without GMP. */
static bool exact_short(mpz_srcptr digits, int64_t e, BinaryExact *out)
{
    if (digits->_mp_size > 1 || e > 19 || e < -19)
        return false;
    uint64_t n = digits->_mp_d[0], ten = 1;
    for (int64_t i = 0; i < (e < 0 ? -e : e); i++)
        ten *= 10;
    if (e >= 0) {
        unsigned __int128 product = (unsigned __int128)n * ten;
        out->w[0] = (uint64_t)product;
        out->w[1] = (uint64_t)(product >> 64);
        return true;
    }
    int up = 64 + __builtin_clzll(n);
    unsigned __int128 scaled = (unsigned __int128)n << up, q = scaled / ten;
    unsigned __int128 rest = scaled % ten << 64;
    out->w[0] = (uint64_t)(rest / ten);          /* 64 bits of fraction, for stochastic rounding */
    out->w[1] = (uint64_t)q;
    out->w[2] = (uint64_t)(q >> 64);
    out->sticky = rest % ten != 0;
    out->exp = -up - 64;
    return true;
}

ArithStatus number_exact_decimal(mpz_srcptr digits, int64_t e, BinaryExact *out)
{
    enum { BEYOND = 400 };
    mpz_t power, n;
    if (e == 0 || digits->_mp_size == 0) {
        exact_limbs(out, digits->_mp_d, (size_t)digits->_mp_size, 0);
        return ARITH_OK;
    }
    if (exact_short(digits, e, out))
        return ARITH_OK;
    const Gmp *g = gmp_open(NULL);
    if (!g)
        return ARITH_LIBRARY;
    int64_t top = e + (int64_t)g->mpz_sizeinbase(digits, 10);    /* below 10^top */
    if (top > BEYOND || top < -BEYOND) {
        exact_beyond(out, top > 0);
        return ARITH_OK;
    }
    g->mpz_init(power);
    g->mpz_init(n);
    g->mpz_ui_pow_ui(power, 10, (unsigned long)(e < 0 ? -e : e));
    ArithStatus s = ARITH_OK;
    if (e > 0) {
        g->mpz_mul(n, digits, power);
        exact_limbs(out, n->_mp_d, (size_t)n->_mp_size, 0);
    } else {
        s = exact_quotient(out, digits, power);
    }
    g->mpz_clear(power);
    g->mpz_clear(n);
    return s;
}

/* The double in the middle, which no sum overflows; 0 of the whole line. */
static double middle_of(Interval x)
{
    if (x.lo == x.hi)
        return x.lo;
    if (isinf(x.lo) && isinf(x.hi))
        return 0;
    return fabs(x.lo) > 1 || fabs(x.hi) > 1 ? x.lo / 2 + x.hi / 2 : (x.lo + x.hi) / 2;
}

static void exact_middle(Interval x, BinaryExact *out)
{
    int e;
    double s = middle_of(x);
    *out = (BinaryExact){ .kind = isnan(s) ? 'n' : isinf(s) ? 'i' : 'f', .negative = signbit(s) };
    if (out->kind != 'f' || s == 0)
        return;
    out->w[0] = (uint64_t)ldexp(frexp(fabs(s), &e), 53);
    out->exp = e - 53;
}

ArithStatus arith_number_exact(Ctx *ctx, DType from, const void *element, BinaryExact *out)
{
    (void)ctx;
    Rational c = cell_of(element);
    if (dtype_base(from) == DT_RATIONAL) {
        rational_exact(c, out);
        return ARITH_OK;
    }
    if (dtype_base(from) == DT_INTERVAL) {
        exact_middle(interval_of(element), out);
        return ARITH_OK;
    }
    NumberKind kind = cell_kind(c);
    *out = (BinaryExact){ .kind = kind == NUMBER_NAN ? 'n' : kind == NUMBER_INF ? 'i' : 'f',
                          .negative = cell_negative(c) };
    if (kind != NUMBER_FINITE || cell_zero(c))
        return ARITH_OK;
    DecimalView d;
    if (dtype_base(from) == DT_DECIMAL)
        return number_exact_decimal(decimal_view(&d, c), cell_exponent(c), out);
    MpView v;
    mpfr_srcptr x = mp_view(&v, c);
    int64_t e = x->_mpfr_exp, n = x->_mpfr_prec / 64;
    if (e > 20000 || e < -20000)
        exact_beyond(out, e > 0);
    else
        exact_limbs(out, x->_mpfr_d, (size_t)n, e - 64 * n);
    return ARITH_OK;
}

static double number_to(DType to, DType from, const void *cell, RoundMode round)
{
    Arith a = binary_arith(to, round);
    BinaryExact x;
    return arith_number_exact(NULL, from, cell, &x) == ARITH_OK ? binary_exact_round(&a, &x)
                                                               : (double)NAN;
}

double number_f64(DType from, const void *cell)
{
    return number_to(DT_F64, from, cell, ROUND_NEAREST);
}

double number_directed(DType from, const void *cell, RoundMode round)
{
    return number_to(DT_F64, from, cell, round);
}

/* ---- casts ---- */

/* The whole part, towards zero, where it is an int64. */
static bool whole_part(DType from, const void *cell, int64_t *out)
{
    BinaryExact x;
    if (arith_number_exact(NULL, from, cell, &x) != ARITH_OK || x.kind != 'f')
        return false;
    int top = 3;
    while (top >= 0 && x.w[top] == 0)
        top--;
    *out = 0;
    if (top < 0)
        return true;
    int64_t bits = 64 * (top + 1) - __builtin_clzll(x.w[top]), whole = bits + x.exp;
    if (whole <= 0)
        return true;
    if (whole > 64)
        return false;
    uint64_t m = 0;
    for (int64_t i = 0; i < whole; i++) {
        int64_t at = bits - 1 - i;
        m = m << 1 | (at >= 0 ? x.w[at / 64] >> (at % 64) & 1 : 0);
    }
    if (m > (uint64_t)INT64_MAX + x.negative)
        return false;
    *out = (int64_t)(x.negative ? -m : m);
    return true;
}

static bool cast_int(DType to, void *dst, DType from, const void *cell)
{
    int64_t i;
    if (!whole_part(from, cell, &i))
        return false;
    return dtype_store_int(to, dst, i);
}

static bool cast_one(DType to, void *dst, DType from, const void *cell)
{
    double x;
    if (dtype_info(to)->kind == 'i')
        return cast_int(to, dst, from, cell);
    switch (dtype_base(to)) {
    case DT_BOOL:
        *(uint8_t *)dst = !number_is_zero(from, cell);
        return true;
    case DT_C64:
        *(float _Complex *)dst = (float)number_to(DT_F32, from, cell, ROUND_NEAREST);
        return true;
    case DT_C128: case DT_CMINI:
        *(double _Complex *)dst = number_to(dtype_real(to), from, cell, ROUND_NEAREST);
        return true;
    case DT_DECIMAL: case DT_MP: case DT_RATIONAL: case DT_INTERVAL:
        memcpy(dst, cell, sizeof(Rational));
        return to == from;
    default:
        x = number_to(to, from, cell, ROUND_NEAREST);
        binary_pack(to, dst, &x, 1);
        return true;
    }
}

/* A pair; as a real number only where the imaginary part is 0. */
static bool cast_pair(DType to, void *dst, DType from, const char *pair)
{
    DType real = dtype_real(from);
    const char *im = pair + sizeof(Rational);
    if (to == from) {
        memcpy(dst, pair, 2 * sizeof(Rational));
        return true;
    }
    if (dtype_info(to)->kind != 'c')
        return (to == DT_BOOL && !number_is_zero(real, im)) ? (*(uint8_t *)dst = 1, true)
               : number_is_zero(real, im) && cast_one(to, dst, real, pair);
    double re = number_to(dtype_real(to), real, pair, ROUND_NEAREST);
    double z = number_to(dtype_real(to), real, im, ROUND_NEAREST);
    if (to == DT_C64)
        *(float _Complex *)dst = __builtin_complex((float)re, (float)z);
    else if (!dtype_wide_pair(to))
        *(double _Complex *)dst = __builtin_complex(re, z);
    return !dtype_wide_pair(to);
}

int64_t number_cast(DType to, void *dst, int64_t sd, DType from, const void *src, int64_t ss,
                    int64_t n)
{
    int64_t to_bytes = dtype_info(to)->bytes, from_bytes = dtype_info(from)->bytes;
    bool pairs = dtype_wide_pair(from);
    for (int64_t i = 0; i < n; i++) {
        char *out = (char *)dst + i * sd * to_bytes;
        const char *x = (const char *)src + i * ss * from_bytes;
        if (!(pairs ? cast_pair(to, out, from, x) : cast_one(to, out, from, x)))
            return i;
    }
    return -1;
}
