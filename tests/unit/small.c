/* Kernels for batches of small matrices against LAPACK and plain sums: scaled residuals,
 * the same zero pivots, flags for what is left to LAPACK, batches that are no multiple of
 * the lanes, broadcast and strided operands, every order and type. */
#include "kernels/lapack/lapack.h"
#include "kernels/gemm/small.h"
#include "tests/unit/check.h"

#include <complex.h>
#include <float.h>

enum { MOST = 33 * SMALL_LU_MAX * SMALL_LU_MAX * 4 };
static const DType dtypes[] = { DT_F32, DT_F64, DT_C64, DT_C128 };
static Ctx ctx;
static double store[5][2 * MOST];

static char *block(int i) { return (char *)store[i]; }

static double complex get(DType dt, const char *data, int64_t i) {
    switch (dt) {
    case DT_F32: return (double)((const float *)(const void *)data)[i];
    case DT_F64: return ((const double *)(const void *)data)[i];
    case DT_C64: return ((const float complex *)(const void *)data)[i];
    default: return ((const double complex *)(const void *)data)[i];
    }
}

static void put(DType dt, char *data, int64_t i, double complex x) {
    mat_store(blas_type(dt), data, i, creal(x), cimag(x));
}

static double complex at(DType dt, Mat a, int64_t i, int64_t j) {
    return get(dt, a.data, i * a.rs + j * a.cs);
}

static double eps_of(DType dt) {
    return dt == DT_F32 || dt == DT_C64 ? (double)FLT_EPSILON : DBL_EPSILON;
}

static double complex random_number(DType dt) {
    double re = check_uniform();
    return dtype_info(dt)->kind == 'c' ? re + I * check_uniform() : re;
}

static void fill(DType dt, char *data, int64_t count) {
    for (int64_t i = 0; i < count; i++) put(dt, data, i, random_number(dt));
}

static Mat shifted(DType dt, Mat a, int64_t step) {
    a.data += step * dtype_info(dt)->bytes;
    return a;
}

static double norm1(DType dt, int64_t n, int64_t cols, Mat a) {
    double top = 0;
    for (int64_t j = 0; j < cols; j++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) sum += cabs(at(dt, a, i, j));
        top = fmax(top, sum);
    }
    return top;
}

/* |B - A X| / (|A| |X| n eps); B NULL: the identity. */
static double residual(DType dt, int64_t n, int64_t cols, Mat a, Mat x, const Mat *b) {
    double top = 0;
    for (int64_t j = 0; j < cols; j++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
            double complex r = b ? at(dt, *b, i, j) : i == j;
            for (int64_t k = 0; k < n; k++) r -= at(dt, a, i, k) * at(dt, x, k, j);
            sum += cabs(r);
        }
        top = fmax(top, sum);
    }
    return top / (norm1(dt, n, n, a) * norm1(dt, n, cols, x) * (double)n * eps_of(dt));
}

static int64_t count_done(const uint8_t *done, int64_t count) {
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++) sum += done[i];
    return sum;
}

/* Matrices one after the other, `rs` and `cs` as they come. */
static void solve_case(DType dt, int64_t n, int64_t cols, int64_t count, bool turned,
                       bool one_rhs) {
    uint8_t done[64];
    int64_t rs = turned ? 1 : n + 1, cs = turned ? n + 1 : 1, step = n * (n + 1);
    Mat a = { block(0), rs, cs }, b = { block(1), cols, 1 }, x = { block(2), 1, n };
    GemmBatch batch = { .rank = 1, .count = count, .extent = { count }, .a = { step },
                        .b = { one_rhs ? 0 : n * cols }, .c = { n * cols } };
    fill(dt, a.data, count * step);
    fill(dt, b.data, count * n * cols);
    small_solve(&ctx, dt, n, cols, a, b, x, &batch, 1e-30, done);
    CHECK(count_done(done, count) == count);
    double worst = 0;
    for (int64_t i = 0; i < count; i++) {
        Mat bi = shifted(dt, b, i * batch.b[0]);
        worst = fmax(worst, residual(dt, n, cols, shifted(dt, a, i * step),
                                     shifted(dt, x, i * n * cols), &bi));
    }
    CHECK(worst < 30);
}

static void inverse_case(DType dt, int64_t n, int64_t count) {
    uint8_t done[64];
    Mat a = { block(0), n, 1 }, x = { block(2), n, 1 };
    GemmBatch batch = { .rank = 2, .count = count, .extent = { 1, count }, .a = { 0, n * n },
                        .c = { count * n * n, n * n } };
    double worst = 0;
    fill(dt, a.data, count * n * n);
    small_inverse(&ctx, dt, n, a, x, &batch, 1e-30, done);
    CHECK(count_done(done, count) == count);
    for (int64_t i = 0; i < count; i++)
        worst = fmax(worst, residual(dt, n, n, shifted(dt, a, i * n * n),
                                     shifted(dt, x, i * n * n), NULL));
    CHECK(worst < 30);
}

/* LAPACK's pivots give LAPACK's determinant, but for rounding. */
static void det_case(const Blas *blas, DType dt, int64_t n, int64_t count) {
    uint8_t done[64];
    int pivots[SMALL_LU_MAX];
    Mat a = { block(0), n, 1 }, x = { block(2), 1, 1 };
    GemmBatch batch = { .rank = 1, .count = count, .extent = { count }, .a = { n * n },
                        .c = { 1 } };
    fill(dt, a.data, count * n * n);
    small_det(&ctx, dt, n, a, x, &batch, done);
    CHECK(count_done(done, count) == count);
    for (int64_t i = 0; i < count; i++) {
        Mat ai = shifted(dt, a, i * n * n);
        double complex d = 1, own = get(dt, x.data, i);
        double growth = 1;
        for (int64_t p = 0; p < n; p++)         /* by columns, as LAPACK wants it */
            for (int64_t q = 0; q < n; q++)
                put(dt, block(3), q * n + p, at(dt, ai, p, q));
        lapack_lu(blas, blas_type(dt), n, n, block(3), pivots);
        for (int64_t p = 0; p < n; p++) {
            d *= get(dt, block(3), p * (n + 1)) * (pivots[p] == p + 1 ? 1 : -1);
            growth = fmax(growth, norm1(dt, n, n, ai) / cabs(get(dt, block(3), p * (n + 1))));
        }
        CHECK(cabs(own - d) <= 100 * (double)n * growth * eps_of(dt) * cabs(d));
    }
}

/* One matrix of a batch is spoilt: it alone is left to LAPACK, the others stand. */
static void spoilt_case(DType dt, int64_t n, int64_t which, int how) {
    enum { COUNT = 11 };
    uint8_t done[COUNT];
    Mat a = { block(0), n, 1 }, b = { block(1), 1, 1 }, x = { block(2), 1, n };
    GemmBatch batch = { .rank = 1, .count = COUNT, .extent = { COUNT }, .a = { n * n },
                        .b = { n }, .c = { n } };
    fill(dt, a.data, COUNT * n * n);
    fill(dt, b.data, COUNT * n);
    Mat bad = shifted(dt, a, which * n * n);
    for (int64_t j = 0; j < n; j++) {
        double complex above = at(dt, bad, 0, j);
        double tiny = 1 + 4 * eps_of(dt) * check_uniform();
        if (how == 0) put(dt, bad.data, j, 0);                              /* a zero row */
        if (how == 1) put(dt, bad.data, (n - 1) * n + j, n > 1 ? above : 0);   /* two equal rows */
        if (how == 2) put(dt, bad.data, (n - 1) * n + j, n > 1 ? above * tiny : 0);
        if (how == 3 && j == 0) put(dt, bad.data, n * n - 1, NAN);
        if (how == 4 && j == 0) put(dt, bad.data, 0, INFINITY);
    }
    small_solve(&ctx, dt, n, 1, a, b, x, &batch, 1e4 * eps_of(dt) / 1000, done);
    CHECK(!done[which]);
    for (int64_t i = 0; i < COUNT; i++) {
        Mat bi = shifted(dt, b, i * n);
        if (done[i])
            CHECK(residual(dt, n, 1, shifted(dt, a, i * n * n), shifted(dt, x, i * n), &bi) < 30);
    }
    small_inverse(&ctx, dt, n, a, (Mat){ block(2), n, 1 },
                  &(GemmBatch){ .rank = 1, .count = COUNT, .extent = { COUNT }, .a = { n * n },
                                .c = { n * n } }, 1e4 * eps_of(dt) / 1000, done);
    CHECK(!done[which]);
}

static void product_case(DType dt, int64_t m, int64_t n, int64_t k, int layout) {
    enum { COUNT = 3 };
    bool ta = layout & 1, tb = layout & 2, tc = layout & 4;
    Mat a = { block(0), ta ? 1 : 2 * k, ta ? m : 2 };      /* rows of A with gaps, or columns */
    Mat b = { block(1), tb ? 1 : n, tb ? k : 1 }, c = { block(2), tc ? 1 : n, tc ? m : 1 };
    GemmBatch batch = { .rank = 1, .count = COUNT, .extent = { COUNT }, .a = { 0 },
                        .b = { n * k }, .c = { m * n } };
    double worst = 0;
    fill(dt, a.data, 2 * m * k);
    fill(dt, b.data, COUNT * n * k);
    small_product(dt, m, n, k, a, b, c, &batch, 0, COUNT);
    for (int64_t q = 0; q < COUNT; q++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                double complex r = at(dt, shifted(dt, c, q * m * n), i, j);
                double size = 0;
                for (int64_t p = 0; p < k; p++) {
                    double complex t = at(dt, a, i, p) * at(dt, shifted(dt, b, q * n * k), p, j);
                    r -= t;
                    size += cabs(t);
                }
                worst = fmax(worst, cabs(r) / (size * (double)(k + 2) * eps_of(dt) + 1e-300));
            }
    CHECK(worst < 2);
}

/* Matrices that punish a wrong choice of pivots or an overflow on the way. */
static void nasty_cases(DType dt) {
    uint8_t done[4];
    int64_t n = 4;
    Mat a = { block(0), n, 1 }, x = { block(2), n, 1 };
    GemmBatch batch = { .rank = 1, .count = 4, .extent = { 4 }, .a = { n * n }, .c = { n * n } };
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            put(dt, a.data, i * n + j, i == (j + 1) % n);                   /* all interchanges */
            put(dt, a.data, 16 + i * n + j, i == j ? 1e-3 : 1 + (i < j));   /* tiny diagonal */
            put(dt, a.data, 32 + i * n + j, i == j ? 1e30 : i < j);         /* beyond the range */
            /* growth by 2 in every step */
            put(dt, a.data, 48 + i * n + j, j == n - 1 || i == j ? 1 : i > j ? -1 : 0);
        }
    small_inverse(&ctx, dt, n, a, x, &batch, 1e-30, done);
    CHECK(done[0] && done[1] && done[3]);
    CHECK(done[2] == (dt == DT_F64 || dt == DT_C128));
    for (int64_t i = 0; i < 4; i++)
        if (done[i])
            CHECK(residual(dt, n, n, shifted(dt, a, i * 16), shifted(dt, x, i * 16), NULL) < 30);
}

static void all_products(DType dt) {
    static const int64_t sizes[] = { 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32 };
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 12; j++)
            for (int layout = 0; layout < 8; layout++)
                product_case(dt, sizes[i], sizes[j], sizes[(i + 2 * j) % 12], layout);
}

int main(void) {
    static InterruptFlag interrupt;
    const Blas *blas = blas_open(NULL);
    ctx.interrupt = &interrupt;
    mem_init(&ctx);
    for (int d = 0; d < 4; d++) {
        for (int64_t n = 1; n <= SMALL_LU_MAX; n++) {
            for (int64_t count = 2; count <= 33; count += count < 10 ? 1 : 23) {
                solve_case(dtypes[d], n, 1 + (n + count) % 5, count, count % 2, count % 3 == 0);
                inverse_case(dtypes[d], n, count);
                det_case(blas, dtypes[d], n, count);
            }
            for (int how = 0; how < 5; how++)
                spoilt_case(dtypes[d], n, (n + how) % 11, how);
        }
        solve_case(dtypes[d], 5, 2 * SMALL_LU_MAX + 3, 6, false, false);
        nasty_cases(dtypes[d]);
        all_products(dtypes[d]);
    }
    mem_shutdown(&ctx);
    return check_result();
}
