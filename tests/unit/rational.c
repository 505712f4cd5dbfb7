/* Exact fractions against GMP on random numbers of every length, near the ends of 63 bits
 * above all; conversions to and from floats and text; the collector; elimination against
 * its own definition (inverse times matrix, determinant of a product). */
#include "kernels/rational/rational_linalg.h"
#include "tests/unit/check.h"

#include <stdlib.h>

static Ctx ctx_storage, *ctx = &ctx_storage;
static InterruptFlag no_interrupt;
static const Gmp *g;
static int64_t trials;

/* Like CHECK, but counted once for a thousand times that it holds. */
#define TRIAL(what) trial((what), #what, __LINE__)
static bool trial(bool ok, const char *text, int line) {
    return ok && ++trials % 1000 ? true : check_that(ok, text, __FILE__, line);
}

/* ---- random numbers ---- */

/* Small ones, ones beside 2^31, 2^32, 2^53, 2^62 and 2^63, and any. */
static int64_t random_int(void) {
    static const int bits[] = { 3, 8, 31, 32, 53, 62, 63 };
    int b = bits[check_random() % 7];
    uint64_t top = b == 63 ? INT64_MAX : (uint64_t)1 << b, v;
    switch (check_random() % 3) {
    case 0: v = top - check_random() % 3; break;
    case 1: v = check_random() % 20; break;
    default: v = check_random() & (top - 1); break;
    }
    if (v > INT64_MAX) v = INT64_MAX;
    return check_random() & 1 ? -(int64_t)v : (int64_t)v;
}

static void set_i64(mpz_ptr z, int64_t i) {
    g->mpz_set_ui(z, i < 0 ? -(uint64_t)i : (uint64_t)i);
    if (i < 0) z->_mp_size = -z->_mp_size;
}

static void random_pair(Rational *r, mpq_ptr q) {
    int64_t num = random_int(), den = random_int();
    if (den == 0) den = 1;
    set_i64(&q->_mp_num, num);
    set_i64(&q->_mp_den, den);
    g->mpq_canonicalize(q);
    TRIAL(rational_div(ctx, r, rational_int(num), rational_int(den)) == RATIONAL_OK);
    if (check_random() % 4 == 0) {             /* a long one */
        TRIAL(rational_mul(ctx, r, *r, *r) == RATIONAL_OK);
        g->mpq_mul(q, q, q);
    }
}

/* Equal to q, and small exactly where both parts fit. */
static bool same(Rational r, mpq_srcptr q) {
    RationalView v;
    mpq_srcptr have = rational_view(&v, r);
    bool fits = g->mpz_sizeinbase(&q->_mp_num, 2) <= 63 && g->mpz_sizeinbase(&q->_mp_den, 2) <= 63;
    return g->mpz_cmp(&have->_mp_num, &q->_mp_num) == 0 &&
        g->mpz_cmp(&have->_mp_den, &q->_mp_den) == 0 &&
           rational_is_big(r) == !fits;
}

static int sign_of(int x) { return (x > 0) - (x < 0); }

static void test_arithmetic(void) {
    mpq_t x, y, z;
    g->mpq_init(x);
    g->mpq_init(y);
    g->mpq_init(z);
    for (int i = 0; i < 60000; i++) {
        Rational a, b, r;
        random_pair(&a, x);
        random_pair(&b, y);
        TRIAL(same(a, x) && same(b, y));
        g->mpq_add(z, x, y);
        TRIAL(rational_add(ctx, &r, a, b) == RATIONAL_OK && same(r, z));
        g->mpq_sub(z, x, y);
        TRIAL(rational_sub(ctx, &r, a, b) == RATIONAL_OK && same(r, z));
        g->mpq_mul(z, x, y);
        TRIAL(rational_mul(ctx, &r, a, b) == RATIONAL_OK && same(r, z));
        TRIAL(rational_compare(ctx, a, b) == sign_of(g->mpq_cmp(x, y)));
        TRIAL(rational_equal(a, b) == (g->mpq_cmp(x, y) == 0));
        if (rational_sign(b) == 0) {
            TRIAL(rational_div(ctx, &r, a, b) == RATIONAL_DIVISION);
            continue;
        }
        g->mpq_div(z, x, y);
        TRIAL(rational_div(ctx, &r, a, b) == RATIONAL_OK && same(r, z));
        g->mpz_fdiv_q(&z->_mp_num, &x->_mp_num, &x->_mp_den);
        g->mpz_set_ui(&z->_mp_den, 1);
        TRIAL(rational_floor(ctx, &r, a) == RATIONAL_OK && same(r, z));
    }
    g->mpq_clear(x);
    g->mpq_clear(y);
    g->mpq_clear(z);
}

static Rational parse(const char *text) {
    Rational r = rational_int(-999);
    TRIAL(rational_from_text(ctx, &r, text, strlen(text)) == RATIONAL_OK);
    return r;
}

static bool prints(Rational r, const char *text) {
    Buf b;
    buf_init(&b, ctx);
    rational_text(&b, r);
    bool equal = strcmp(buf_cstr(&b), text) == 0;
    if (!equal) fprintf(stderr, "%s, not %s\n", buf_cstr(&b), text);
    buf_free(&b);
    return equal;
}

static void test_rounding(void) {
    static const char *const cases[][2] = {
        { "1/2", "0" }, { "3/2", "2" }, { "5/2", "2" }, { "-1/2", "0" }, { "-3/2", "-2" },
        { "-5/2", "-2" },
        { "7/3", "2" }, { "8/3", "3" }, { "-7/3", "-2" }, { "4", "4" }, { "0", "0" },
        { "100000000000000000000000000000000000001/2", "50000000000000000000000000000000000000" },
        { "100000000000000000000000000000000000003/2", "50000000000000000000000000000000000002" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Rational r;
        CHECK(rational_round(ctx, &r, parse(cases[i][0])) == RATIONAL_OK && prints(r, cases[i][1]));
    }
}

static void test_powers(void) {
    Rational r;
    CHECK(rational_power(ctx, &r, parse("-2/3"), rational_int(3)) == RATIONAL_OK &&
          prints(r, "-8/27"));
    CHECK(rational_power(ctx, &r, parse("-2/3"), rational_int(-3)) == RATIONAL_OK &&
          prints(r, "-27/8"));
    CHECK(rational_power(ctx, &r, parse("-2"), rational_int(-101)) == RATIONAL_OK
          && prints(r, "-1/2535301200456458802993406410752"));
    CHECK(rational_power(ctx, &r, rational_int(0), rational_int(0)) == RATIONAL_OK &&
          prints(r, "1"));
    CHECK(rational_power(ctx, &r, rational_int(0), rational_int(-1)) == RATIONAL_DIVISION);
    CHECK(rational_power(ctx, &r, rational_int(-1), rational_int(INT64_MAX)) == RATIONAL_OK &&
          prints(r, "-1"));
    CHECK(rational_power(ctx, &r, rational_int(2), rational_int(INT64_MAX)) == RATIONAL_DIGITS);
    CHECK(rational_power(ctx, &r, rational_int(10), rational_int(-1000000000)) == RATIONAL_DIGITS);
    CHECK(rational_power(ctx, &r, rational_int(2), parse("1/2")) == RATIONAL_INEXACT);
}

/* ---- floats ---- */

static void test_from_floats(void) {
    Rational r;
    for (int i = 0; i < 20000; i++) {
        union { uint64_t u; double d; } v = { check_random() };
        if (!isfinite(v.d)) {
            TRIAL(rational_from_f64(ctx, &r, v.d) == RATIONAL_NO_NUMBER);
            continue;
        }
        TRIAL(rational_from_f64(ctx, &r, v.d) == RATIONAL_OK && rational_f64(r) == v.d);
    }
    TRIAL(rational_from_f64(ctx, &r, 0.1) == RATIONAL_OK &&
          prints(r, "3602879701896397/36028797018963968"));
    TRIAL(rational_from_f64(ctx, &r, 0x1p-1074) == RATIONAL_OK && rational_f64(r) == 0x1p-1074);
    TRIAL(rational_from_f64(ctx, &r, -0.0) == RATIONAL_OK && prints(r, "0"));
    int64_t least = INT64_MIN, back = 0;
    TRIAL(rational_from(ctx, &r, DT_I64, &least) == RATIONAL_OK &&
          prints(r, "-9223372036854775808"));
    TRIAL(rational_as_int(r, &back) && back == INT64_MIN);
    TRIAL(rational_cast(DT_I64, &back, 1, &r, 1, 1) == -1 && back == INT64_MIN);
}

static Rational distance(Rational a, Rational b) {
    Rational d;
    TRIAL(rational_sub(ctx, &d, a, b) == RATIONAL_OK);
    if (rational_sign(d) < 0) TRIAL(rational_neg(ctx, &d, d) == RATIONAL_OK);
    return d;
}

/* x is the nearest: no neighbour is closer, and of two as close it is the even one. */
static void check_nearest(Rational r, double x) {
    Rational at, near;
    TRIAL(rational_from_f64(ctx, &at, x) == RATIONAL_OK);
    Rational d = distance(r, at);
    for (int k = 0; k < 2; k++) {
        double y = nextafter(x, k ? INFINITY : -INFINITY);
        if (!isfinite(y)) continue;
        TRIAL(rational_from_f64(ctx, &near, y) == RATIONAL_OK);
        int order = rational_compare(ctx, d, distance(r, near));
        union { double d; uint64_t u; } v = { x };
        TRIAL(order < 0 || (order == 0 && !(v.u & 1)));
    }
}

static void test_to_floats(void) {
    mpq_t q;
    Rational r, scale;
    g->mpq_init(q);
    for (int i = 0; i < 20000; i++) {
        random_pair(&r, q);
        if (i % 3 == 0) {                      /* up and down the exponents, subnormals too */
            int64_t e = (int64_t)(check_random() % 2140) - 1100;
            TRIAL(rational_power(ctx, &scale, rational_int(2), rational_int(e)) == RATIONAL_OK);
            TRIAL(rational_mul(ctx, &r, r, scale) == RATIONAL_OK);
        }
        double x = rational_f64(r);
        if (isfinite(x)) check_nearest(r, x);
        float f;
        TRIAL(rational_cast(DT_F32, &f, 1, &r, 1, 1) == -1);
        if (fabs(x) < 0x1p120 && fabs(x) > 0x1p-120 && fabsf(f) != fabs(x)) {
            Rational at, other;
            TRIAL(rational_from_f64(ctx, &at, (double)f) == RATIONAL_OK);
            float g2 = nextafterf(f, x > (double)f ? INFINITY : -INFINITY);
            TRIAL(rational_from_f64(ctx, &other, (double)g2) == RATIONAL_OK);
            TRIAL(rational_compare(ctx, distance(r, at), distance(r, other)) <= 0);
        }
    }
    g->mpq_clear(q);
    /* A tie of f64 that is just above a tie of f32: one rounding, not two. */
    TRIAL(rational_add(ctx, &r, parse("16777217"),
                       parse("1/100000000000000000000")) == RATIONAL_OK);
    float f;
    rational_cast(DT_F32, &f, 1, &r, 1, 1);
    TRIAL(f == 16777218.0f);
    TRIAL(isinf(rational_f64(parse("1e400"))) && rational_f64(parse("-1e-400")) == 0);
    TRIAL(rational_f64(parse("5e-324")) == 5e-324 &&
          rational_f64(parse("1.7976931348623158e308")) < INFINITY);
}

/* ---- text ---- */

static void test_text(void) {
    static const char *const good[][2] = {
        { "1/3", "1/3" }, { "-6/4", "-3/2" }, { "0.1", "1/10" }, { " +1_000.5 ", "2001/2" },
        { ".5", "1/2" },
        { "2.", "2" }, { "1e3", "1000" }, { "1.5E-3", "3/2000" }, { "0/7", "0" }, { "-0", "0" },
        { "123456789012345678901234567890/10", "12345678901234567890123456789" },
        { "0e99999999999", "0" }, { "9223372036854775807", "9223372036854775807" },
        { "9223372036854775808", "9223372036854775808" },
        { "1/9223372036854775808", "1/9223372036854775808" },
    };
    static const char *const bad[] = {
        "", " ", "-", "1/", "/2", "1//2", "1/2/3", "1/-2", "1/2.5", "1e", "1e+", "e5", "1_", "_1",
        "1__0", "0x10",
        "nan", "inf", "1 2", "1/ 2", "1.2.3", "--1",
    };
    Rational r;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CHECK(prints(parse(good[i][0]), good[i][1]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(rational_from_text(ctx, &r, bad[i], strlen(bad[i])) == RATIONAL_NO_NUMBER);
    CHECK(rational_from_text(ctx, &r, "1/0", 3) == RATIONAL_DIVISION);
    CHECK(rational_from_text(ctx, &r, "1e999999999", 11) == RATIONAL_DIGITS);
}

static void test_decimals(void) {
    static const struct { const char *r; int places; const char *text; } cases[] = {
        { "1/3", 3, "0.333" }, { "2/3", 0, "1" }, { "1/2", 0, "0" }, { "3/2", 0, "2" },
        { "3/20", 1, "0.2" },
        { "1/20", 1, "0.0" }, { "-1/8", 2, "0.12" }, { "999/1000", 2, "1.00" },
        { "12345/100", 1, "123.4" },
        { "1/3", 30, "0.333333333333333333333333333333" }, { "0", 2, "0.00" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Buf b;
        buf_init(&b, ctx);
        CHECK(rational_decimal(&b, parse(cases[i].r), cases[i].places) == RATIONAL_OK);
        if (!CHECK(strcmp(buf_cstr(&b), cases[i].text) == 0))
            fprintf(stderr, "%s: %s\n", cases[i].r, buf_cstr(&b));
        buf_free(&b);
    }
}

/* ---- the collector ---- */

static void test_collector(void) {
    int64_t n = 40;
    Tensor *kept = tensor_new(ctx, DT_RATIONAL, 1, &n), *copy;
    for (int64_t i = 0; i < n; i++) {
        Rational *at = (Rational *)(void *)kept->data + i;
        TRIAL(rational_power(ctx, at, parse("3/7"), rational_int(100 + i)) == RATIONAL_OK);
    }
    rational_collect(ctx);
    size_t before = rational_heap_bytes(ctx);
    Rational r = rational_int(1);
    for (int i = 0; i < 4000; i++)
        TRIAL(rational_power(ctx, &r, parse("3/7"), rational_int(1000)) == RATIONAL_OK);
    CHECK(rational_heap_bytes(ctx) > before + 1000000);
    copy = tensor_copy(ctx, kept);
    tensor_release(ctx, kept);
    rational_collect(ctx);
    CHECK(rational_heap_bytes(ctx) < before + 1000);
    for (int64_t i = 0; i < n; i++) {
        Rational want, *at = (Rational *)(void *)copy->data + i;
        TRIAL(rational_power(ctx, &want, parse("3/7"), rational_int(100 + i)) == RATIONAL_OK);
        TRIAL(rational_equal(want, *at));
    }
    tensor_release(ctx, copy);
}

/* ---- elimination ---- */

static Tensor *random_matrix(int64_t m, int64_t n) {
    Tensor *t = tensor_new(ctx, DT_RATIONAL, 2, (int64_t[]){ m, n });
    for (int64_t i = 0; i < m * n; i++) {
        Rational num = rational_int((int64_t)(check_random() % 19) - 9),
            den = rational_int((int64_t)(check_random() % 6) + 1);
        TRIAL(rational_div(ctx, (Rational *)(void *)t->data + i, num, den) == RATIONAL_OK);
    }
    return t;
}

static RationalMat mat(const Tensor *t) {
    return (RationalMat){ (const Rational *)(const void *)t->data, tensor_strides(t)[0],
                          tensor_strides(t)[1] };
}

static Rational *data(Tensor *t) { return (Rational *)(void *)t->data; }

static void check_square(int64_t n) {
    Tensor *a = random_matrix(n, n), *b = random_matrix(n, n), *x = random_matrix(n, n),
        *p = random_matrix(n, n);
    Rational da, db, dp, product;
    int64_t column, rank, pivots[16];
    TRIAL(rational_det(ctx, n, mat(a), &da) == RATIONAL_OK &&
          rational_det(ctx, n, mat(b), &db) == RATIONAL_OK);
    TRIAL(rational_gemm(ctx, n, n, n, mat(a), mat(b), data(p)) == RATIONAL_OK);
    TRIAL(rational_det(ctx, n, mat(p), &dp) == RATIONAL_OK);
    TRIAL(rational_mul(ctx, &product, da, db) == RATIONAL_OK && rational_equal(product, dp));
    TRIAL(rational_rref(ctx, n, n, mat(a), data(x), &rank, pivots) == RATIONAL_OK);
    TRIAL((rank == n) == (rational_sign(da) != 0));
    RationalStatus s = rational_solve(ctx, n, n, mat(a), mat(b), data(x), &column);
    TRIAL(s == (rank == n ? RATIONAL_OK : RATIONAL_SINGULAR));
    if (s == RATIONAL_OK) {
        TRIAL(rational_gemm(ctx, n, n, n, mat(a), mat(x), data(p)) == RATIONAL_OK);
        for (int64_t i = 0; i < n * n; i++) TRIAL(rational_equal(data(p)[i], data(b)[i]));
    }
    tensor_release(ctx, a);
    tensor_release(ctx, b);
    tensor_release(ctx, x);
    tensor_release(ctx, p);
}

/* A product of m x k and k x n has rank k at most; its reduced form has the pivots' identity
 * and spans the same rows (its rank with the matrix below it is no larger). */
static void check_low_rank(int64_t m, int64_t n, int64_t k) {
    Tensor *a = random_matrix(m, k), *b = random_matrix(k, n), *p = random_matrix(m, n),
        *both = random_matrix(2 * m, n);
    int64_t rank, again, pivots[16];
    TRIAL(rational_gemm(ctx, m, n, k, mat(a), mat(b), data(p)) == RATIONAL_OK);
    TRIAL(rational_rref(ctx, m, n, mat(p), data(both), &rank, pivots) == RATIONAL_OK && rank <= k);
    for (int64_t j = 0; j < rank; j++)
        for (int64_t i = 0; i < m; i++)
            TRIAL(rational_equal(data(both)[i * n + pivots[j]], rational_int(i == j)));
    for (int64_t i = rank * n; i < m * n; i++) TRIAL(rational_sign(data(both)[i]) == 0);
    memcpy(data(both) + m * n, data(p), (size_t)(m * n) * sizeof(Rational));
    TRIAL(rational_rref(ctx, 2 * m, n, mat(both), NULL, &again, NULL) == RATIONAL_OK &&
          again == rank);
    tensor_release(ctx, a);
    tensor_release(ctx, b);
    tensor_release(ctx, p);
    tensor_release(ctx, both);
}

static void test_elimination(void) {
    for (int i = 0; i < 60; i++) {
        check_square(1 + i % 8);
        check_low_rank(1 + i % 5, 1 + i % 7, 1 + i % 3);
    }
}

static void check_factors(int64_t m, int64_t n) {
    Tensor *a = random_matrix(m, n), *lu = random_matrix(m, n);
    int64_t perm[16], k = m < n ? m : n;
    TRIAL(rational_lu(ctx, m, n, mat(a), data(lu), perm) == RATIONAL_OK);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            Rational sum = rational_int(0), p;
            for (int64_t l = 0; l < k && l <= i && l <= j; l++) {
                Rational left = l == i ? rational_int(1) : data(lu)[i * n + l];
                TRIAL(rational_mul(ctx, &p, left, data(lu)[l * n + j]) == RATIONAL_OK);
                TRIAL(rational_add(ctx, &sum, sum, p) == RATIONAL_OK);
            }
            TRIAL(rational_equal(sum, data(a)[perm[i] * n + j]));
        }
    tensor_release(ctx, a);
    tensor_release(ctx, lu);
}

/* Every allocation of an elimination fails once: a status, and nothing is lost. */
static void test_no_memory(void) {
    Tensor *a = random_matrix(6, 6), *x = random_matrix(6, 6);
    int64_t column, tries = 0;
    RationalStatus s = RATIONAL_MEMORY;
    for (; s != RATIONAL_OK && s != RATIONAL_SINGULAR && tries < 1000; tries++) {
        ctx->mem.fail_at = ctx->mem.allocations + 1 + (uint64_t)tries;
        s = rational_solve(ctx, 6, 6, mat(a), (RationalMat){ NULL, 0, 0 }, data(x), &column);
        CHECK(s == RATIONAL_OK || s == RATIONAL_MEMORY || s == RATIONAL_SINGULAR);
    }
    ctx->mem.fail_at = 0;
    CHECK(s == RATIONAL_OK);
    tensor_release(ctx, a);
    tensor_release(ctx, x);
}

int main(void) {
    mem_init(ctx);
    ctx->interrupt = &no_interrupt;
    CHECK(rational_gmp(ctx, &g) == RATIONAL_OK);
    size_t live = 0;
    test_arithmetic();
    test_rounding();
    test_powers();
    test_from_floats();
    test_to_floats();
    test_text();
    test_decimals();
    test_collector();
    test_elimination();
    for (int64_t m = 1; m < 6; m++)
        for (int64_t n = 1; n < 6; n++) check_factors(m, n);
    test_no_memory();
    rational_heap_free(ctx);
    CHECK(ctx->mem.live == live);
    pool_shutdown(ctx);
    mem_shutdown(ctx);
    return check_result();
}
