/* Text of numbers: literals read once into any format, and decimal, mp, interval numbers written
 * as the shortest decimal that reads back, or with a given number of digits. Reading raises
 * nothing; writing raises what growing a Buf raises. */
#include "kernels/number/arith_number.h"

#include "core/system/ascii.h"
#include "core/system/c_locale.h"
#include "kernels/arith/arith_binary.h"
#include "kernels/tensor/cast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

/* A literal taken apart: the value is (-1)^negative digits 10^exp. */
typedef struct Literal {
    char *digits;            /* NUL-terminated, leading zeros left off; at least one digit */
    size_t count;
    int64_t exp;
    bool negative;
    char kind;               /* 'f', 'i', 'n' */
} Literal;

/* Digits with single underscores between them, appended; false where an underscore stands wrong. */
static bool read_digits(Literal *l, const char **at, const char *end, int64_t *count)
{
    const char *p = *at;
    for (*count = 0; p < end && (ascii_digit(*p) || (*p == '_' && *count)); p++) {
        if (*p == '_') {
            if (p + 1 == end || !ascii_digit(p[1]))
                return false;
            continue;
        }
        ++*count;
        if (l->count || *p != '0')
            l->digits[l->count++] = *p;
    }
    *at = p;
    return true;
}

static bool read_exponent(Literal *l, const char **at, const char *end)
{
    const char *p = *at + 1;
    bool minus = p < end && *p == '-';
    int64_t e = 0;
    p += p < end && (*p == '-' || *p == '+');
    if (p == end || !ascii_digit(*p))
        return false;
    for (; p < end && (ascii_digit(*p) ||
                       (*p == '_' && p + 1 < end && ascii_digit(p[1]))); p++)
        if (*p != '_' && e < INT64_MAX / 100)
            e = 10 * e + (*p - '0');
    l->exp += minus ? -e : e;
    *at = p;
    return true;
}

static bool read_word(const char *at, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - at) == n && ascii_ncasecmp(at, word, n) == 0;
}

static bool read_literal(Literal *l, const char *at, const char *end)
{
    int64_t whole, places = 0;
    while (at < end && ascii_space(*at))
        at++;
    while (end > at && ascii_space(end[-1]))
        end--;
    l->negative = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    l->kind = read_word(at, end, "inf") || read_word(at, end, "infinity") ? 'i'
            : read_word(at, end, "nan") ? 'n' : 'f';
    if (l->kind != 'f')
        return true;
    if (!read_digits(l, &at, end, &whole))
        return false;
    if (at < end && *at == '.') {
        at++;
        if (!read_digits(l, &at, end, &places))
            return false;
    }
    l->exp = -places;
    if (whole + places == 0 || (at < end && (*at == 'e' || *at == 'E') &&
                                !read_exponent(l, &at, end)))
        return false;
    if (l->count == 0) {
        l->digits[l->count++] = '0';
        l->exp = 0;
    }
    l->digits[l->count] = '\0';
    return at == end;
}

/* ---- into the formats ---- */

/* The digits as an integer: in a limb where they fit. */
static ArithStatus digits_into(Ctx *ctx, const Literal *l, mpz_ptr z, mp_limb_t *limb)
{
    const Gmp *g;
    if (l->count <= 19) {
        *limb = 0;
        for (size_t i = 0; i < l->count; i++)
            *limb = 10 * *limb + (mp_limb_t)(l->digits[i] - '0');
        *z = (__mpz_struct){ ._mp_size = *limb != 0, ._mp_d = limb };
        return ARITH_OK;
    }
    RationalStatus s = rational_gmp(ctx, &g);
    if (s != RATIONAL_OK)
        return cells_status(s);
    g->mpz_init(z);
    g->mpz_set_str(z, l->digits, 10);
    if (!gmp_spent())
        return ARITH_OK;
    g->mpz_clear(z);
    return ARITH_MEMORY;
}

static void digits_done(const Literal *l, mpz_ptr z)
{
    if (l->count > 19)
        gmp_open(NULL)->mpz_clear(z);
}

static ArithStatus into_decimal(Arith *a, Rational *out, const Literal *l)
{
    DecimalWork w;
    mpz_t z;
    mp_limb_t limb;
    NumberKind kind = l->kind == 'i' ? NUMBER_INF : NUMBER_NAN;
    if (l->kind != 'f')
        return *out = cell_small(0, l->negative && kind == NUMBER_INF, kind, 0), ARITH_OK;
    ArithStatus s = digits_into(a->ctx, l, z, &limb);
    if (s != ARITH_OK)
        return s;
    s = decimal_begin(&w, a);
    if (s == ARITH_OK) {
        w.g->mpz_set(w.n, z);
        s = decimal_round(&w, out, l->negative, false, l->exp);
        decimal_end(&w);
    }
    digits_done(l, z);
    return s;
}

/* MPFR reads the text again: sign, digits, exponent. */
static ArithStatus into_mp(Arith *a, Rational *out, const Literal *l)
{
    size_t room = l->count + 32;
    char *text = mem_try_alloc(a->ctx, room);
    if (!text)
        return ARITH_MEMORY;
    if (l->kind == 'f')
        snprintf(text, room, "%s%se%lld", l->negative ? "-" : "", l->digits, (long long)l->exp);
    else
        snprintf(text, room, "%s%s", l->negative ? "-" : "", l->kind == 'i' ? "inf" : "nan");
    ArithStatus s = mp_from_text(a, out, text);
    mem_free(a->ctx, text, room);
    return s;
}

static ArithStatus into_exact(Ctx *ctx, BinaryExact *x, const Literal *l)
{
    mpz_t z;
    mp_limb_t limb;
    *x = (BinaryExact){ .kind = l->kind, .negative = l->negative };
    if (l->kind != 'f')
        return ARITH_OK;
    ArithStatus s = digits_into(ctx, l, z, &limb);
    if (s != ARITH_OK)
        return s;
    s = number_exact_decimal(z, l->exp, x);
    digits_done(l, z);
    return s;
}

static ArithStatus into_interval(Arith *a, Interval *out, const Literal *l)
{
    BinaryExact x;
    Arith down = binary_arith(DT_F64, ROUND_DOWN), up = binary_arith(DT_F64, ROUND_UP);
    ArithStatus s = into_exact(a->ctx, &x, l);
    if (s != ARITH_OK)
        return s;
    *out = (Interval){ binary_exact_round(&down, &x), binary_exact_round(&up, &x) };
    if (isinf(out->lo) && out->lo == out->hi)
        out->lo > 0 ? (out->lo = down.max) : (out->hi = -down.max);
    a->flags.inexact += out->lo != out->hi;
    return ARITH_OK;
}

static ArithStatus into_binary(Arith *a, double *out, const Literal *l)
{
    BinaryExact x;
    ArithStatus s = into_exact(a->ctx, &x, l);
    if (s == ARITH_OK)
        *out = binary_exact_round(a, &x);
    return s;
}

static ArithStatus into(Arith *a, void *carrier, const Literal *l)
{
    switch (dtype_base(a->dtype)) {
    case DT_DECIMAL: return into_decimal(a, carrier, l);
    case DT_MP: return into_mp(a, carrier, l);
    case DT_INTERVAL: return into_interval(a, carrier, l);
    default: return into_binary(a, carrier, l);
    }
}

ArithStatus number_from_text(Arith *a, void *carrier, const char *text, size_t len)
{
    RoundMode round = a->round;
    uint64_t draw = a->draw;
    if (dtype_base(a->dtype) == DT_RATIONAL)
        return cells_status(rational_from_text(a->ctx, carrier, text, len));
    Literal l = { .digits = mem_try_alloc(a->ctx, len + 2) };
    if (!l.digits)
        return ARITH_MEMORY;
    a->round = round == ROUND_STOCHASTIC ? ROUND_NEAREST : round;
    ArithStatus s = read_literal(&l, text, text + len) ? into(a, carrier, &l) : ARITH_NO_NUMBER;
    a->round = round;
    a->draw = draw;
    mem_free(a->ctx, l.digits, len + 2);
    return s;
}

/* pi = acos(-1) and e = exp(1), which every format but the binary ones rounds correctly; 70
 * digits are enough for those. */
ArithStatus number_constant(Arith *a, NumberConstant which, void *carrier)
{
    static const char pi[] =
        "3.14159265358979323846264338327950288419716939937510582097494459230781640";
    static const char e[] =
        "2.71828182845904523536028747135266249775724709369995957496696762772407663";
    if (dtype_base(a->dtype) == DT_RATIONAL)
        return ARITH_INEXACT;
    if (a->carrier == DT_F64)
        return number_from_text(a, carrier, which == NUMBER_PI ? pi : e, sizeof pi - 1);
    Rational one;
    RoundMode round = a->round;
    uint64_t draw = a->draw;
    int64_t i = which == NUMBER_PI ? -1 : 1;
    a->round = round == ROUND_STOCHASTIC ? ROUND_NEAREST : round;
    ArithStatus s = a->ops->load(a, &one, 1, DT_I64, &i, 1, 1);
    const void *x[1] = { &one };
    if (s == ARITH_OK)
        s = a->ops->ew(a, which == NUMBER_PI ? EW_ACOS : EW_EXP, carrier, 1, x,
                       (const int64_t[1]){ 1 }, 1);
    a->round = round;
    a->draw = draw;
    return s;
}

/* ---- digits ---- */

static Rational magnitude(const void *cell)
{
    Rational c;
    memcpy(&c, cell, sizeof c);
    c.tail &= ~CELL_SIGN;
    return c;
}

/* n digits of x > 0, to nearest even, written behind what out holds. */
static void mp_digits(Buf *out, mpfr_srcptr x, size_t n, int64_t *exp)
{
    mpfr_exp_t point;
    buf_reserve(out, n + 8);
    mpfr_open(NULL)->mpfr_get_str(out->data + out->len, &point, 10, n, x, MPFR_RNDN);
    out->len += n;
    *exp = point;
}

static void decimal_put(Buf *out, Rational c, int64_t *exp)
{
    DecimalView v;
    mpz_srcptr z = decimal_view(&v, c);
    size_t from = out->len;
    if (z->_mp_size <= 1) {
        buf_printf(out, "%llu", (unsigned long long)(uint64_t)c.num);
    } else {
        const Gmp *g = gmp_open(NULL);
        buf_reserve(out, g->mpz_sizeinbase(z, 10) + 2);
        g->mpz_get_str(out->data + out->len, 10, z);
        out->len += strlen(out->data + out->len);
    }
    *exp = cell_exponent(c) + (int64_t)(out->len - from);
}

static void strip_zeros(Buf *out, size_t from)
{
    while (out->len > from + 1 && out->data[out->len - 1] == '0')
        out->len--;
}

/* The digits from `from` on rounded half to even to n of them. */
static void round_digits(Buf *out, size_t from, size_t n, int64_t *exp)
{
    char *d = out->data + from;
    size_t have = out->len - from;
    if (have <= n) {
        buf_fill(out, '0', n - have);
        return;
    }
    bool more = false;
    for (size_t i = n + 1; i < have; i++)
        more |= d[i] != '0';
    bool up = d[n] > '5' || (d[n] == '5' && (more || ((d[n - 1] - '0') & 1)));
    out->len = from + n;
    size_t i = n;
    while (up && i > 0 && d[i - 1] == '9')
        d[--i] = '0';
    if (up && i > 0) {
        d[i - 1]++;
    } else if (up) {
        d[0] = '1';
        ++*exp;
    }
}

void number_digits(Buf *out, DType dt, const void *cell, int64_t n, int64_t *exp)
{
    MpView v;
    Rational c = magnitude(cell);
    size_t from = out->len;
    *exp = 1;
    if (cell_zero(c)) {
        buf_fill(out, '0', (size_t)n);
    } else if (dtype_base(dt) == DT_MP) {
        mp_digits(out, mp_view(&v, c), (size_t)n, exp);
    } else {
        decimal_put(out, c, exp);
        round_digits(out, from, (size_t)n, exp);
    }
}

/* Do n digits read back as x, in `bits` bits? */
static bool reads_back(Buf *text, mpfr_srcptr x, mpfr_ptr back, size_t n)
{
    const Mpfr *f = mpfr_open(NULL);
    int64_t exp;
    buf_clear(text);
    mp_digits(text, x, n, &exp);
    buf_printf(text, "e%lld", (long long)(exp - (int64_t)n));
    f->mpfr_strtofr(back, buf_cstr(text), NULL, 10, MPFR_RNDN);
    return f->mpfr_cmp3(x, back, 1) == 0;
}

/* Nearest decimals come nearer with every digit, so the first count that reads back is found
 * by bisection. */
static size_t digits_needed(Ctx *ctx, mpfr_srcptr x, int64_t bits)
{
    const Mpfr *f = mpfr_open(NULL);
    size_t low = 0, high = (size_t)((double)bits * 0.30103) + 3;  /* low fails, high is enough */
    mpfr_t back;
    Buf text;
    buf_init(&text, ctx);
    buf_reserve(&text, high + 40);          /* nothing raises after this */
    f->mpfr_init2(back, bits);
    for (size_t back_off = 3; high - low > 1; back_off = high) {      /* most need nearly all */
        size_t middle = high - low > back_off ? high - back_off : low + (high - low) / 2;
        if (reads_back(&text, x, back, middle))
            high = middle;
        else
            low = middle;
    }
    f->mpfr_clear(back);
    buf_free(&text);
    return high;
}

void number_shortest(Buf *out, DType dt, const void *cell, int64_t *exp)
{
    MpView v;
    Rational c = magnitude(cell);
    size_t from = out->len;
    *exp = 1;
    if (cell_zero(c)) {
        buf_putc(out, '0');
    } else if (dtype_base(dt) == DT_MP) {
        mpfr_srcptr x = mp_view(&v, c);
        mp_digits(out, x, digits_needed(out->ctx, x, dtype_digits(dt)), exp);
        strip_zeros(out, from);
    } else {
        decimal_put(out, c, exp);
        strip_zeros(out, from);
    }
}

/* ---- whole numbers as text ---- */

/* The digits from `from` on, 0.d1d2… 10^exp, become a float's text: 0.001, 12.0, 1.5e20. */
static void lay_out(Buf *out, size_t from, int64_t exp)
{
    int64_t count = (int64_t)(out->len - from), before = exp;
    bool scientific = exp > 16 || exp < -3;
    if (scientific)
        before = 1;
    if (before <= 0) {                            /* 0.00d1d2 */
        int64_t zeros = 2 - before;
        buf_fill(out, '0', (size_t)zeros);
        memmove(out->data + from + zeros, out->data + from, (size_t)count);
        memset(out->data + from, '0', (size_t)zeros);
        out->data[from + 1] = '.';
        return;
    }
    if (before > count)
        buf_fill(out, '0', (size_t)(before - count));
    if (before >= count && !scientific) {
        buf_puts(out, ".0");
    } else if (before < count) {
        buf_putc(out, '.');
        memmove(out->data + from + before + 1, out->data + from + before, (size_t)(count - before));
        out->data[from + (size_t)before] = '.';
    }
    if (scientific)
        buf_printf(out, "e%lld", (long long)(exp - 1));
}

/* The shortest decimal of |x| that is not inside: rounded up or down, and read back as x. */
static void put_end(Buf *out, double x, bool up)
{
    char exact[800], text[32];
    int n = 0, e;
    if (isinf(x) || isnan(x)) {
        buf_puts(out, isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
        return;
    }
    if (signbit(x))
        buf_putc(out, '-');
    bool away = up == !signbit(x);
    size_t from = out->len;
    c_snprintf(exact, sizeof exact, "%.770e", fabs(x));
    e = atoi(strchr(exact, 'e') + 1);
    memmove(exact + 1, exact + 2, 770);           /* digits without the point: 771 of them */
    for (n = 1; n <= 19; n++) {
        char digits[24];
        int top = e;
        memcpy(digits, exact, (size_t)n);
        bool rest = strspn(exact + n, "0") < (size_t)(771 - n);
        int i = n;
        if (rest && away) {
            while (i > 0 && digits[i - 1] == '9')
                digits[--i] = '0';
            if (i > 0)
                digits[i - 1]++;
            else
                digits[0] = '1', top++;
        }
        snprintf(text, sizeof text, "%.*se%d", n, digits, top - n + 1);
        if (c_strtod(text, NULL) == fabs(x) || n == 19) {
            buf_put(out, digits, (size_t)n);
            strip_zeros(out, from);
            lay_out(out, from, x == 0 ? 1 : top + 1);
            return;
        }
    }
}

void number_text(Buf *out, DType dt, const void *cell)
{
    Interval x;
    int64_t exp;
    switch (dtype_base(dt)) {
    case DT_RATIONAL:
        rational_text(out, *(const Rational *)cell);
        return;
    case DT_INTERVAL:
        memcpy(&x, cell, sizeof x);
        buf_putc(out, '[');
        put_end(out, x.lo, false);
        buf_puts(out, ", ");
        put_end(out, x.hi, true);
        buf_putc(out, ']');
        return;
    default:
        break;
    }
    if (number_is_nan(dt, cell)) {
        buf_puts(out, "nan");
        return;
    }
    if (number_negative(dt, cell))
        buf_putc(out, '-');
    if (number_is_inf(dt, cell)) {
        buf_puts(out, "inf");
        return;
    }
    size_t from = out->len;
    number_shortest(out, dt, cell, &exp);
    lay_out(out, from, exp);
}
