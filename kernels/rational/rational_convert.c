/* Rationals from and to floats, ints, text: each conversion exact or rounded once. */
#include "kernels/rational/rational.h"

#include "core/system/ascii.h"
#include "core/base/mem.h"
#include "kernels/arith/arith_binary.h"
#include "kernels/arith/cast_mini.h"
#include "kernels/tensor/cast.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef unsigned __int128 Wide;

/* ---- to floats ---- */

static int wide_bits(Wide w)
{
    uint64_t high = (uint64_t)(w >> 64), low = (uint64_t)w;
    return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

/* m 2^e as a double. The last bit of m says of what was cut off before whether there was
 * any, so m has at least 55 bits unless it is exact. odd: rounded so that a second rounding
 * to at most 51 bits is right (Boldo, Melquiond). */
static double scaled(uint64_t m, int64_t e, bool odd)
{
    int bits = 64 - (m ? __builtin_clzll(m) : 64);
    int64_t drop = bits - 53, least = -1074 - e;
    if (drop < least) drop = least;
    if (drop <= 0 || m == 0) return ldexp((double)m, e > 2000 ? 2000 : (int)e);
    if (drop > 65) drop = 65;
    uint64_t kept = drop > 63 ? 0 : m >> drop;
    uint64_t rest = drop > 63 ? m : m & (((uint64_t)1 << drop) - 1);
    if (odd) {
        kept |= rest != 0;
    } else if (drop <= 64) {
        uint64_t half = (uint64_t)1 << (drop - 1);
        kept += rest > half || (rest == half && (kept & 1));
    }
    return ldexp((double)kept, e + drop > 2000 ? 2000 : (int)(e + drop));
}

/* The quotient to 64 bits and more, its last bit sticky. */
static double small_f64(uint64_t num, uint64_t den, bool odd)
{
    if (num == 0) return 0;
    int up = 127 - wide_bits(num);
    Wide n = (Wide)num << up, q = n / den;
    bool rest = n % den != 0;
    int down = wide_bits(q) - 64;
    rest |= (q & (((Wide)1 << down) - 1)) != 0;
    return scaled((uint64_t)(q >> down) | rest, down - up, odd);
}

/* n is q times a power of two, whose exponent is returned, so that it has `bits` bits or one less
 * or more; r is what is left. Both are made here, for one conversion: there is no context, since
 * casts run in the pool. */
static int64_t quotient(const Gmp *g, mpz_t n, mpz_t r, const __mpq_struct *q, int64_t bits)
{
    int64_t above = (int64_t)g->mpz_sizeinbase(&q->_mp_num, 2);
    int64_t up = bits + (int64_t)g->mpz_sizeinbase(&q->_mp_den, 2) - above;
    g->mpz_init(n);
    g->mpz_init(r);
    if (up >= 0) {
        g->mpz_mul_2exp(n, &q->_mp_num, (mp_bitcnt_t)up);
        g->mpz_tdiv_qr(n, r, n, &q->_mp_den);
    } else {
        g->mpz_mul_2exp(r, &q->_mp_den, (mp_bitcnt_t)-up);
        g->mpz_tdiv_qr(n, r, &q->_mp_num, r);
    }
    return up;
}

static double big_f64(const __mpq_struct *q, bool odd)
{
    const Gmp *g = gmp_open(NULL);
    mpz_t n, r;
    int64_t up = quotient(g, n, r, q, 65);
    bool two = n->_mp_size > 1 || n->_mp_size < -1;
    Wide w = (Wide)n->_mp_d[0] | (two ? (Wide)n->_mp_d[1] << 64 : 0);
    bool rest = r->_mp_size != 0;
    int down = wide_bits(w) - 64;
    rest |= down > 0 && (w & (((Wide)1 << down) - 1)) != 0;
    g->mpz_clear(n);
    g->mpz_clear(r);
    return scaled((uint64_t)(down > 0 ? w >> down : w) | rest, (down > 0 ? down : 0) - up, odd);
}

static double to_f64(Rational a, bool odd)
{
    RationalView v;
    double size;
    if (rational_is_big(a)) size = big_f64(rational_view(&v, a), odd);
    else size = small_f64(a.num < 0 ? -(uint64_t)a.num : (uint64_t)a.num, a.tail + 1, odd);
    return rational_sign(a) < 0 ? -size : size;
}

double rational_f64(Rational a) { return to_f64(a, false); }

/* f32 by way of an odd double: its 53 bits are enough for the second rounding. */
static float to_f32(Rational a) { return (float)to_f64(a, true); }

/* The quotient's leading bits, for a rounding to any format. */
static void big_exact(const __mpq_struct *q, BinaryExact *v)
{
    const Gmp *g = gmp_open(NULL);
    mpz_t n, r;
    int64_t up = quotient(g, n, r, q, 192);
    int limbs = n->_mp_size < 0 ? -n->_mp_size : n->_mp_size;
    memcpy(v->w, n->_mp_d, (size_t)limbs * sizeof v->w[0]);      /* 191 to 193 bits */
    v->sticky = r->_mp_size != 0;
    v->exp = -up;
    g->mpz_clear(n);
    g->mpz_clear(r);
}

void rational_exact(Rational a, BinaryExact *v)
{
    RationalView view;
    *v = (BinaryExact){ .negative = rational_sign(a) < 0, .kind = 'f' };
    if (rational_is_big(a)) {
        big_exact(rational_view(&view, a), v);
    } else if (a.num) {
        uint64_t num = a.num < 0 ? -(uint64_t)a.num : (uint64_t)a.num, den = a.tail + 1;
        int up = 127 - wide_bits(num);
        Wide n = (Wide)num << up, q = n / den, rest = n % den << 64;
        v->w[0] = (uint64_t)(rest / den);        /* 64 bits of fraction, for stochastic rounding */
        v->w[1] = (uint64_t)q;
        v->w[2] = (uint64_t)(q >> 64);
        v->sticky = rest % den != 0;
        v->exp = -up - 64;
    }
}

/* ---- casts of many ---- */

/* The whole part, as int(2.7) is 2. */
static bool whole_part(Rational a, int64_t *out)
{
    if (rational_as_int(a, out)) return true;
    if (!rational_is_big(a)) {
        *out = a.num / (int64_t)(a.tail + 1);
        return true;
    }
    RationalView v;
    const __mpq_struct *q = rational_view(&v, a);
    const Gmp *g = gmp_open(NULL);
    mpz_t z;
    g->mpz_init(z);
    g->mpz_tdiv_q(z, &q->_mp_num, &q->_mp_den);
    int size = z->_mp_size;
    bool fits = size == 0 || ((size == 1 || size == -1) && z->_mp_d[0] <= INT64_MAX);
    int64_t i = fits && size ? (int64_t)z->_mp_d[0] : 0;
    if (size == -1 && z->_mp_d[0] == (uint64_t)1 << 63) {
        fits = true;
        i = INT64_MIN;
    }
    *out = size < 0 && i > 0 ? -i : i;
    g->mpz_clear(z);
    return fits;
}

static bool cast_int(DType to, void *dst, Rational a)
{
    int64_t i;
    if (!whole_part(a, &i)) return false;
    return dtype_store_int(to, dst, i);
}

static bool cast_one(DType to, void *dst, Rational a)
{
    switch (to) {
    case DT_BOOL: *(uint8_t *)dst = rational_sign(a) != 0; return true;
    case DT_F32:  *(float *)dst = to_f32(a); return true;
    case DT_F64:  *(double *)dst = rational_f64(a); return true;
    case DT_C64:  *(float _Complex *)dst = to_f32(a); return true;
    case DT_C128: *(double _Complex *)dst = rational_f64(a); return true;
    case DT_RATIONAL: *(Rational *)dst = a; return true;
    default: break;
    }
    if (!dtype_half(to))
        return cast_int(to, dst, a);
    double odd = to_f64(a, true);
    return cast_plain(to, dst, 1, DT_F64, &odd, 1, 1) < 0;
}

/* To a binary format of any size, or complex numbers of one: each rounded once. */
static void cast_rounded(DType to, char *dst, int64_t sd, const Rational *src, int64_t ss,
                         int64_t n)
{
    enum { STRIP = 256 };
    double strip[STRIP];
    Arith a = binary_arith(dtype_real(to), ROUND_NEAREST);
    int64_t bytes = dtype_info(to)->bytes;
    for (int64_t i = 0; i < n; i += STRIP) {
        int64_t count = n - i < STRIP ? n - i : STRIP;
        for (int64_t j = 0; j < count; j++) {
            BinaryExact v;
            rational_exact(src[(i + j) * ss], &v);
            strip[j] = binary_exact_round(&a, &v);
        }
        cast_binary(to, dst + i * sd * bytes, sd, DT_F64, strip, 1, count);
    }
}

int64_t rational_cast(DType to, void *dst, int64_t sd, const Rational *src, int64_t ss, int64_t n)
{
    int64_t bytes = dtype_info(to)->bytes;
    if (dtype_foreign(to)) {
        cast_rounded(to, dst, sd, src, ss, n);
        return -1;
    }
    for (int64_t i = 0; i < n; i++)
        if (!cast_one(to, (char *)dst + i * sd * bytes, src[i * ss]))
            return i;
    return -1;
}

/* ---- from numbers ---- */

static RationalStatus from_i64(Ctx *ctx, Rational *out, int64_t i)
{
    if (i == INT64_MIN)
        return rational_mul(ctx, out, rational_int(INT64_MIN / 2), rational_int(2));
    *out = rational_int(i);
    return RATIONAL_OK;
}

/* m / 2^k or m 2^k, m odd: reduced as it stands. */
RationalStatus rational_from_f64(Ctx *ctx, Rational *out, double x)
{
    int e;
    if (!isfinite(x)) return RATIONAL_NO_NUMBER;
    int64_t m = (int64_t)ldexp(frexp(x, &e), 53);
    e -= 53;
    if (m == 0) return *out = rational_int(0), RATIONAL_OK;
    int low = __builtin_ctzll((uint64_t)m);
    m >>= low;
    e += low;
    if (e <= 0 && e > -63) {
        *out = (Rational){ m, ((uint64_t)1 << -e) - 1 };
        return RATIONAL_OK;
    }
    Rational two = rational_int(2), scale;
    RationalStatus s = rational_power(ctx, &scale, two, rational_int(e));
    return s == RATIONAL_OK ? rational_mul(ctx, out, rational_int(m), scale) : s;
}

RationalStatus rational_from(Ctx *ctx, Rational *out, DType from, const void *element)
{
    double _Complex z = 0;
    switch (dtype_info(from)->kind) {
    case 'q':
        *out = *(const Rational *)element;
        return RATIONAL_OK;
    case 'c':
        cast_binary(DT_C128, &z, 1, from, element, 1, 1);
        return cimag(z) != 0 ? RATIONAL_COMPLEX : rational_from_f64(ctx, out, creal(z));
    case 'f':
        return rational_from_f64(ctx, out, cast_element_f64(from, element));
    default:
        return from_i64(ctx, out, cast_element_i64(from, element));
    }
}

/* ---- text ---- */

/* The digits read so far, in room for the whole text. */
typedef struct Digits { char *text; size_t len; } Digits;

/* Digits and single underscores between them, appended to `digits`; their count, or -1. */
static int64_t read_digits(const char **at, const char *end, Digits *digits)
{
    int64_t n = 0;
    const char *p = *at;
    for (; p < end && (ascii_digit(*p) || (*p == '_' && n)); p++) {
        if (*p == '_') {
            if (p + 1 == end || !ascii_digit(p[1])) return -1;
            continue;
        }
        digits->text[digits->len++] = *p;
        n++;
    }
    *at = p;
    return n;
}

static RationalStatus digits_value(Ctx *ctx, Rational *out, const Digits *digits)
{
    const Gmp *g;
    if (digits->len <= 18) {
        int64_t i = 0;
        for (size_t k = 0; k < digits->len; k++) i = 10 * i + (digits->text[k] - '0');
        *out = rational_int(i);
        return RATIONAL_OK;
    }
    if (digits->len > RATIONAL_BITS * 3 / 10) return RATIONAL_DIGITS;
    RationalStatus s = rational_gmp(ctx, &g);
    if (s != RATIONAL_OK) return s;
    if (!gmp_probe(digits->len)) return RATIONAL_MEMORY;
    mpq_t q;
    g->mpq_init(q);
    digits->text[digits->len] = '\0';
    g->mpz_set_str(&q->_mp_num, digits->text, 10);
    s = rational_keep(ctx, out, q);
    g->mpq_clear(q);
    return s;
}

/* `12`, `0.1`, `1e-5` without a sign, up to `end` or a slash. */
static RationalStatus read_decimal(Ctx *ctx, Rational *out, const char **at, const char *end,
                                   Digits *digits)
{
    int64_t whole = read_digits(at, end, digits), places = 0, e = 0;
    if (whole >= 0 && *at < end && **at == '.') {
        ++*at;
        places = read_digits(at, end, digits);
    }
    if (whole < 0 || places < 0 || whole + places == 0) return RATIONAL_NO_NUMBER;
    if (*at < end && (**at == 'e' || **at == 'E')) {
        const char *p = *at + 1;
        bool minus = p < end && *p == '-';
        p += p < end && (*p == '-' || *p == '+');
        if (p == end || !ascii_digit(*p)) return RATIONAL_NO_NUMBER;
        for (; p < end && ascii_digit(*p); p++)
            if (e < (int64_t)RATIONAL_BITS) e = 10 * e + (*p - '0');
        e = minus ? -e : e;
        *at = p;
    }
    Rational m, scale;
    RationalStatus s = digits_value(ctx, &m, digits);
    if (s != RATIONAL_OK || rational_sign(m) == 0 || e == places) return *out = m, s;
    s = rational_power(ctx, &scale, rational_int(10), rational_int(e - places));
    return s == RATIONAL_OK ? rational_mul(ctx, out, m, scale) : s;
}

RationalStatus rational_from_text(Ctx *ctx, Rational *out, const char *text, size_t len)
{
    const char *at = text, *end = text + len;
    Digits digits = { mem_try_alloc(ctx, len + 1), 0 };
    Rational num, den = rational_int(1);
    while (at < end && ascii_space(*at)) at++;
    while (end > at && ascii_space(end[-1])) end--;
    bool minus = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    if (!digits.text) return RATIONAL_MEMORY;
    RationalStatus s = read_decimal(ctx, &num, &at, end, &digits);
    if (s == RATIONAL_OK && at < end && *at == '/') {
        at++;
        digits.len = 0;
        int64_t n = read_digits(&at, end, &digits);
        s = n > 0 ? digits_value(ctx, &den, &digits) : RATIONAL_NO_NUMBER;
    }
    mem_free(ctx, digits.text, len + 1);
    if (s == RATIONAL_OK && at != end) s = RATIONAL_NO_NUMBER;
    if (s == RATIONAL_OK) s = rational_div(ctx, out, num, den);
    return s == RATIONAL_OK && minus ? rational_neg(ctx, out, *out) : s;
}

static void put_integer(Buf *out, const __mpz_struct *z)
{
    const Gmp *g = gmp_open(NULL);
    size_t room = g->mpz_sizeinbase(z, 10) + 2;
    buf_reserve(out, room);
    g->mpz_get_str(out->data + out->len, 10, z);
    out->len += strlen(out->data + out->len);
}

void rational_text(Buf *out, Rational a)
{
    RationalView v;
    if (!rational_is_big(a)) {
        buf_printf(out, a.tail ? "%lld/%llu" : "%lld", (long long)a.num,
                   (unsigned long long)a.tail + 1);
        return;
    }
    const __mpq_struct *q = rational_view(&v, a);
    put_integer(out, &q->_mp_num);
    if (rational_is_integer(a)) return;
    buf_putc(out, '/');
    put_integer(out, &q->_mp_den);
}

RationalStatus rational_decimal(Buf *out, Rational a, int64_t places)
{
    Ctx *ctx = out->ctx;
    Rational scale, n;
    RationalStatus s = rational_power(ctx, &scale, rational_int(10), rational_int(places));
    if (s == RATIONAL_OK) s = rational_mul(ctx, &n, a, scale);
    if (s == RATIONAL_OK) s = rational_round(ctx, &n, n);
    if (s == RATIONAL_OK && rational_sign(n) < 0) s = rational_neg(ctx, &n, n);
    if (s != RATIONAL_OK) return s;
    size_t from = out->len;
    rational_text(out, n);
    size_t have = out->len - from, want = (size_t)places + 1;
    if (have < want) {
        buf_fill(out, '0', want - have);
        memmove(out->data + from + (want - have), out->data + from, have);
        memset(out->data + from, '0', want - have);
    }
    if (places == 0) return RATIONAL_OK;
    buf_putc(out, '.');
    memmove(out->data + out->len - (size_t)places, out->data + out->len - 1 - (size_t)places,
            (size_t)places);
    out->data[out->len - 1 - (size_t)places] = '.';
    return RATIONAL_OK;
}
