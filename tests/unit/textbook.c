/* Textbook algorithms in every format: residuals of random matrices against the format's unit
 * roundoff, the order of operations against plain loops over scalar operations, accumulators,
 * known cases that fail, enclosures. */
#include "kernels/cast/tensor_cast.h"
#include "kernels/number/number.h"
#include "kernels/rational/rational.h"
#include "kernels/textbook/textbook_number.h"
#include "tests/unit/check.h"

#include <stdlib.h>

static Ctx ctx_storage, *ctx = &ctx_storage;
static InterruptFlag no_interrupt;

/* ---- a book whose rooms are tensors: the heap of cells may be collected ---- */

typedef struct Rooms { Tensor *block[256]; int count; } Rooms;

static void *take(void *owner, DType carrier, int64_t count) {
    Rooms *r = owner;
    if (r->count == 256) abort();
    return (r->block[r->count++] = tensor_zeros(ctx, carrier, 1, &count))->data;
}

typedef struct Desk { Arith f, acc; Textbook t; Rooms rooms; } Desk;

static void desk_open(Desk *d, DType dt, DType acc, RoundMode round, bool pairs) {
    memset(d, 0, sizeof *d);
    CHECK(arith_open(ctx, &d->f, dt, round, false, false) == ARITH_OK);
    if (acc != DT_NONE) CHECK(arith_open(ctx, &d->acc, acc, ROUND_NEAREST, false,
                                         false) == ARITH_OK);
    textbook_begin(&d->t, &d->f, acc == DT_NONE ? &d->f : &d->acc, pairs, take, &d->rooms);
}

static void desk_close(Desk *d) {
    for (int i = 0; i < d->rooms.count; i++) tensor_release(ctx, d->rooms.block[i]);
}

/* ---- doubles in and out ---- */

static double *random_matrix(int64_t n) {
    double *x = malloc((size_t)(n + 1) * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = check_uniform();
    return x;
}

static TextMat load(Desk *d, const double *x, int64_t rows, int64_t cols, bool by_columns) {
    TextMat M = textbook_matrix(&d->t, rows, cols, by_columns);
    textbook_load(&d->t, M, d->t.pairs ? DT_C128 : DT_F64, (const char *)x, cols, 1);
    return M;
}

static double value(const Desk *d, TextMat M, int64_t i, int64_t j) {
    if (d->f.carrier == DT_F64) return *(const double *)(const void *)text_row(&d->f, M, i, j).re;
    return element_f64(d->f.carrier, text_row(&d->f, M, i, j).re);
}

static double largest(const Desk *d, TextMat M) {
    double most = 0;
    for (int64_t i = 0; i < M.rows; i++)
        for (int64_t j = 0; j < M.cols; j++) most = fmax(most, fabs(value(d, M, i, j)));
    return most;
}

/* The largest element of |A - B C|, in doubles. */
static double product_error(const Desk *d, TextMat A, TextMat B, TextMat C) {
    double worst = 0;
    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t j = 0; j < A.cols; j++) {
            double s = 0;
            for (int64_t k = 0; k < B.cols; k++) s += value(d, B, i, k) * value(d, C, k, j);
            worst = fmax(worst, fabs(value(d, A, i, j) - s));
        }
    return worst;
}

static double unit(const Desk *d) {
    double u = element_f64(d->f.carrier, d->t.eps) / 2;
    return u < 0x1p-52 ? 0x1p-52 : u;            /* checked in doubles */
}

/* ---- residuals ---- */

static TextMat part(Desk *d, TextMat M, bool upper, bool ones, int64_t rows, int64_t cols) {
    TextMat H = textbook_matrix(&d->t, rows, cols, false);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            if (upper ? j >= i : j < i + !ones)
                text_copy(&d->f, text_row(&d->f, H, i, j), text_row(&d->f, M, i, j), 1);
            else if (i == j)
                n_set(&d->t, text_row(&d->f, H, i, j).re, d->t.one);
    return H;
}

static void check_lu(Desk *d, int64_t m, int64_t n) {
    double *x = random_matrix(m * n);
    TextMat A = load(d, x, m, n, false), F = load(d, x, m, n, true),
            PA = textbook_matrix(&d->t, m, n, false);
    int64_t *perm = malloc((size_t)m * sizeof *perm), k = m < n ? m : n;
    textbook_lu(&d->t, F, perm);
    for (int64_t i = 0; i < m; i++)
        text_copy(&d->f, text_row(&d->f, PA, i, 0), text_row(&d->f, A, perm[i], 0), n);
    TextMat L = part(d, F, false, true, m, k), U = part(d, F, true, false, k, n);
    CHECK(largest(d, L) <= 1);
    CHECK(product_error(d, PA, L, U) <= 3 * (double)k * unit(d) * fmax(largest(d, U), 1));
    free(perm);
    free(x);
}

static void check_solve(Desk *d, int64_t n) {
    double *x = random_matrix(n * n), *b = random_matrix(n * 3);
    TextMat A = load(d, x, n, n, false), F = load(d, x, n, n, true), B = load(d, b, n, 3, false);
    TextMat X = textbook_matrix(&d->t, n, 3, false);
    int64_t *perm = malloc((size_t)n * sizeof *perm);
    textbook_lu(&d->t, F, perm);
    for (int64_t i = 0; i < n; i++)
        text_copy(&d->f, text_row(&d->f, X, i, 0), text_row(&d->f, B, perm[i], 0), 3);
    textbook_triangle(&d->t, F, false, true, X);
    textbook_triangle(&d->t, F, true, false, X);
    double growth = fmax(largest(d, F), 1), size = largest(d, X) + 1;
    CHECK(product_error(d, B, A, X) <= 6 * (double)n * unit(d) * growth * size * (double)n);
    free(perm);
    free(x);
    free(b);
}

static void check_cholesky(Desk *d, int64_t n) {
    double *x = random_matrix(n * n);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) x[i * n + j] = x[j * n + i];
        x[i * n + i] = (double)n;
    }
    TextMat A = load(d, x, n, n, false), F = load(d, x, n, n, true);
    CHECK(textbook_cholesky(&d->t, F) == -1);
    TextMat L = part(d, F, false, false, n, n);
    CHECK(product_error(d, A, L, text_transposed(L)) <= 3 * (double)n * unit(d) * (double)n);
    free(x);
}

static void check_qr(Desk *d, int64_t m, int64_t n) {
    double *x = random_matrix(m * n);
    int64_t k = m < n ? m : n;
    TextMat A = load(d, x, m, n, false), F = load(d, x, m, n, false),
            Q = textbook_matrix(&d->t, m, k, false);
    TextMat E = textbook_matrix(&d->t, k, k, false);
    TextRow tau = textbook_vector(&d->t, k);
    for (int64_t i = 0; i < k; i++) {
        n_set(&d->t, text_row(&d->f, Q, i, i).re, d->t.one);
        n_set(&d->t, text_row(&d->f, E, i, i).re, d->t.one);
    }
    textbook_qr(&d->t, F, tau);
    textbook_qr_apply(&d->t, F, tau, false, Q);
    double bound = 4 * (double)(m * k) * unit(d);
    CHECK(product_error(d, A, Q, part(d, F, true, false, k, n)) <= bound);
    CHECK(product_error(d, E, text_transposed(Q), Q) <= bound);
    free(x);
}

static TextMat scaled_columns(Desk *d, TextMat V, TextRow by) {
    TextMat W = textbook_matrix(&d->t, V.rows, V.cols, false);
    for (int64_t j = 0; j < V.cols; j++)
        text_mul(&d->t, &d->f, text_column(&d->f, W, 0, j), text_column(&d->f, V, 0, j),
                 text_real(text_from(&d->f, by, j).re), V.rows);
    return W;
}

static void check_eigh(Desk *d, int64_t n) {
    double *x = random_matrix(n * n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) x[i * n + j] = x[j * n + i];
    TextMat A = load(d, x, n, n, false), F = load(d, x, n, n, false),
            V = textbook_matrix(&d->t, n, n, true);
    TextRow w = textbook_vector(&d->t, n);
    textbook_eigh(&d->t, F, w, V);
    double bound = 12 * (double)(n * n) * unit(d);
    CHECK(product_error(d, A, scaled_columns(d, V, w), text_transposed(V)) <= bound);
    for (int64_t i = 1; i < n; i++)
        CHECK(element_f64(d->f.carrier, text_from(&d->f, w, i - 1).re) <=
              element_f64(d->f.carrier, text_from(&d->f, w, i).re));
    free(x);
}

static void check_svd(Desk *d, int64_t m, int64_t n) {
    double *x = random_matrix(m * n);
    TextMat A = load(d, x, m, n, false), F = load(d, x, m, n, true),
            V = textbook_matrix(&d->t, n, n, true);
    TextRow s = textbook_vector(&d->t, n);
    textbook_svd(&d->t, F, s, V);
    CHECK(product_error(d, A, scaled_columns(d, F, s), text_transposed(V)) <= 12 *
          (double)(m * n) * unit(d));
    free(x);
}

static void check_schur(Desk *d, int64_t n) {
    double *x = random_matrix(n * n);
    TextMat A = load(d, x, n, n, false), T = load(d, x, n, n, false),
            Z = textbook_matrix(&d->t, n, n, true);
    TextMat W = textbook_matrix(&d->t, n, n, false);
    TextRow w = { text_take(&d->t, &d->f, n), text_take(&d->t, &d->f, n), 1 };
    textbook_schur(&d->t, T, Z, w);
    textbook_product(&d->t, W, Z, T);
    CHECK(product_error(d, A, W, text_transposed(Z)) <= 20 * (double)(n * n) * unit(d));
    for (int64_t i = 0; i + 2 < n; i++)
        CHECK(value(d, T, i + 2, i) == 0);
    free(x);
}

static void check_ldl(Desk *d, int64_t n) {
    double *x = random_matrix(n * n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) x[i * n + j] = x[j * n + i] = i == j ? 0 : x[j * n + i];
    TextMat A = load(d, x, n, n, false), F = load(d, x, n, n, false),
            PA = textbook_matrix(&d->t, n, n, false);
    TextMat L = textbook_matrix(&d->t, n, n, false), D = textbook_matrix(&d->t, n, n, false);
    TextMat W = textbook_matrix(&d->t, n, n, false);
    int64_t *perm = malloc((size_t)n * sizeof *perm), blocks = 0;
    bool *two = malloc((size_t)n);
    textbook_ldl(&d->t, F, perm, two);
    for (int64_t i = 0; i < n; i++) blocks += two[i];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            bool block = i == j || (j == i + 1 && two[i]) || (i == j + 1 && two[j]);
            text_copy(&d->f, text_row(&d->f, PA, i, j), text_row(&d->f, A, perm[i], perm[j]), 1);
            if (block) text_copy(&d->f, text_row(&d->f, D, i, j), text_row(&d->f, F, i, j), 1);
            if (j < i && !block) text_copy(&d->f, text_row(&d->f, L, i, j),
                                           text_row(&d->f, F, i, j), 1);
            if (i == j) n_set(&d->t, text_row(&d->f, L, i, j).re, d->t.one);
        }
    textbook_product(&d->t, W, L, D);
    CHECK(product_error(d, PA, W, text_transposed(L)) <= 20 * (double)n * unit(d) *
          fmax(largest(d, F), 1));
    CHECK(n < 2 || blocks > 0);                  /* the diagonal is zero */
    free(perm);
    free(two);
    free(x);
}

/* eps of long formats, whose making takes more steps than the ring has places. */
static void check_eps(DType dt, int64_t digits, double base) {
    Desk d;
    desk_open(&d, dt, DT_NONE, ROUND_NEAREST, false);
    char *x = d.t.eps, *by = text_take(&d.t, &d.f, 1);
    n_set(&d.t, by, n_const(&d.t, base));
    for (int64_t i = 1; i < digits; i++) x = n_mul(&d.t, x, by);
    CHECK(n_order(&d.t, x, d.t.one) == 0);
    CHECK(n_order(&d.t, n_add(&d.t, d.t.one, d.t.eps), d.t.one) == 1);
    CHECK(n_order(&d.t, n_add(&d.t, d.t.one, n_mul(&d.t, d.t.eps, n_const(&d.t, 0.25))),
                  d.t.one) == 0);
    desk_close(&d);
}

static void check_format(DType dt, RoundMode round, int64_t n, bool spectra) {
    Desk d;
    desk_open(&d, dt, DT_NONE, round, false);
    for (int64_t k = 1; k <= n; k += 1 + k / 3) {
        textbook_reset(&d.t);
        check_lu(&d, k, k);
        check_lu(&d, k, k + 2);
        check_lu(&d, k + 3, k);
        check_solve(&d, k);
        check_cholesky(&d, k);
        check_ldl(&d, k);
        check_qr(&d, k, k);
        check_qr(&d, k + 2, k);
        check_qr(&d, k, k + 2);
        if (!spectra) continue;
        check_eigh(&d, k);
        check_svd(&d, k, k);
        check_svd(&d, k + 3, k);
        check_schur(&d, k);
        CHECK(d.t.status == ARITH_OK);
    }
    CHECK(d.t.status == ARITH_OK);
    desk_close(&d);
}

/* ---- the order of operations ---- */

/* kij elimination without pivoting, scalar by scalar, on a matrix whose pivots are largest. */
static void check_order(DType dt, RoundMode round) {
    enum { N = 9 };
    Desk d;
    desk_open(&d, dt, DT_NONE, round, false);
    double *x = random_matrix(N * N);
    for (int i = 0; i < N; i++) x[i * N + i] += 2 * N;
    TextMat A = load(&d, x, N, N, false), F = load(&d, x, N, N, true);
    int64_t perm[N];
    textbook_lu(&d.t, F, perm);
    for (int k = 0; k < N; k++)
        for (int i = k + 1; i < N; i++) {
            char *l = text_row(&d.f, A, i, k).re;
            n_set(&d.t, l, n_div(&d.t, l, text_row(&d.f, A, k, k).re));
            for (int j = k + 1; j < N; j++) {
                char *e = text_row(&d.f, A, i, j).re;
                n_set(&d.t, e, n_sub(&d.t, e, n_mul(&d.t, l, text_row(&d.f, A, k, j).re)));
            }
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N;
             j++) CHECK(n_order(&d.t, text_row(&d.f, A, i, j).re, text_row(&d.f, F, i, j).re) == 0);
    free(x);
    desk_close(&d);
}

/* With a wider accumulator each element of L and U carries one rounding (two for L). */
static void check_accumulator(DType dt, DType acc) {
    enum { N = 40 };
    Desk plain, wide;
    desk_open(&plain, dt, DT_NONE, ROUND_NEAREST, false);
    desk_open(&wide, dt, acc, ROUND_NEAREST, false);
    double *x = random_matrix(N * N), errors[2];
    for (int i = 0; i < N; i++) x[i * N + i] += N;
    for (int k = 0; k < 2; k++) {
        Desk *d = k ? &wide : &plain;
        TextMat A = load(d, x, N, N, false), F = load(d, x, N, N, true);
        CHECK(textbook_cholesky(&d->t, load(d, x, N, N, true)) >= -1);
        int64_t perm[N];
        textbook_lu(&d->t, F, perm);
        errors[k] = product_error(d, A, part(d, F, false, true, N, N),
                                  part(d, F, true, false, N, N));
    }
    CHECK(errors[1] <= 4 * unit(&wide) * N && errors[1] <= errors[0]);
    desk_close(&plain);
    desk_close(&wide);
    free(x);
}

/* ---- complex numbers ---- */

static void check_complex(DType dt) {
    enum { N = 8 };
    Desk d;
    desk_open(&d, dt, DT_NONE, ROUND_NEAREST, true);
    double *x = random_matrix(2 * N * N);
    TextMat A = load(&d, x, N, N, false), F = load(&d, x, N, N, true),
            X = textbook_matrix(&d.t, N, N, false);
    TextMat P = textbook_matrix(&d.t, N, N, false);
    int64_t perm[N];
    textbook_lu(&d.t, F, perm);
    for (int i = 0; i < N; i++)
        text_copy(&d.f, text_row(&d.f, X, i, 0), text_row(&d.f, A, perm[i], 0), N);
    textbook_triangle(&d.t, F, false, true, X);
    textbook_triangle(&d.t, F, true, false, X);           /* inv(A) A */
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double re = value(&d, X, i, j) - (i == j),
                   im = element_f64(d.f.carrier, text_row(&d.f, X, i, j).im);
            CHECK(hypot(re, im) <= 3e3 * unit(&d));
        }
    TextMat Q = textbook_matrix(&d.t, N, N, false), R = load(&d, x, N, N, false);
    TextRow tau = textbook_vector(&d.t, N);
    for (int i = 0; i < N; i++) n_set(&d.t, text_row(&d.f, Q, i, i).re, d.t.one);
    textbook_qr(&d.t, R, tau);
    textbook_qr_apply(&d.t, R, tau, false, Q);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++) text_fill(&d.f, text_row(&d.f, R, i, j), d.t.zero, d.t.zero, 1);
    textbook_product(&d.t, P, Q, R);
    for (int i = 0; i < N; i++) {
        text_sub(&d.t, &d.f, text_row(&d.f, P, i, 0), text_row(&d.f, P, i, 0),
                 text_row(&d.f, A, i, 0), N);
        for (int j = 0; j < N; j++) CHECK(fabs(value(&d, P, i, j)) <= 100 * unit(&d));
    }
    CHECK(d.t.status == ARITH_OK);
    free(x);
    desk_close(&d);
}

/* ---- enclosures ---- */

/* A times the vector of ones is exact here, so the solution is all ones. */
static void check_enclosure(int64_t n) {
    Desk d;
    desk_open(&d, DT_INTERVAL, DT_NONE, ROUND_NEAREST, false);
    double *x = random_matrix(n * n), *b = random_matrix(n), det;
    for (int64_t i = 0; i < n; i++) {
        b[i] = 0;
        for (int64_t j = 0; j < n; j++) b[i] += x[i * n + j] = trunc(1000 * x[i * n + j]);
    }
    TextMat A = load(&d, x, n, n, false), B = load(&d, b, n, 1, false);
    CHECK(textbook_enclose(&d.t, A, B));
    for (int64_t i = 0; i < n; i++) {
        const double *e = (const double *)(void *)text_row(&d.f, B, i, 0).re;
        CHECK(e[0] <= 1 && 1 <= e[1] && e[1] - e[0] < 1e-9);
    }
    TextCell out;
    textbook_enclose_det(&d.t, A, out.x);
    CHECK((&out.d)[0] <= (&out.d)[1] && isfinite((&out.d)[0]));
    det = (&out.d)[1] - (&out.d)[0];
    CHECK(det <= 1e-9 * fabs((&out.d)[0]));
    free(x);
    free(b);
    desk_close(&d);
}

int main(void) {
    mem_init(ctx);
    ctx->interrupt = &no_interrupt;
    DType binary[] = { dtype_mini(8, 11, MINI_IEEE), DT_F16, DT_BF16, DT_F32, DT_F64,
                       dtype_mini(11, 30, MINI_IEEE) };
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++)
        for (RoundMode r = ROUND_NEAREST; r < ROUND_MODES; r++)
            check_format(binary[i], r, r == ROUND_NEAREST ? 24 : 9, r == ROUND_NEAREST);
    check_format(DT_E4M3, ROUND_NEAREST, 4, false);
    check_format(DT_E5M2, ROUND_NEAREST, 4, false);
    check_format(dtype_decimal(3), ROUND_NEAREST, 9, true);
    check_format(dtype_decimal(20), ROUND_DOWN, 6, true);
    check_format(dtype_mp(200), ROUND_NEAREST, 9, true);
    for (RoundMode r = ROUND_NEAREST; r < ROUND_STOCHASTIC; r++) {
        check_order(DT_F16, r);
        check_order(DT_E4M3, r);
        check_order(dtype_decimal(3), r);
        check_order(DT_F64, r);
    }
    check_accumulator(DT_F16, DT_F32);
    check_accumulator(DT_BF16, DT_F64);
    check_accumulator(DT_BF16, dtype_mp(100));
    check_accumulator(dtype_decimal(3), dtype_decimal(12));
    check_eps(dtype_mp(700), 700, 2);
    check_eps(dtype_decimal(300), 300, 10);
    check_eps(DT_F16, 11, 2);
    Desk wide;
    desk_open(&wide, DT_F64, DT_NONE, ROUND_UP, false);
    check_ldl(&wide, 300);         /* rows longer than a ring and a strip */
    check_lu(&wide, 300, 300);
    check_qr(&wide, 300, 20);
    desk_close(&wide);
    check_complex(DT_F16);
    check_complex(DT_F32);
    check_complex(dtype_mini(8, 11, MINI_IEEE));
    for (int64_t n = 1; n < 40; n += 1 + n / 2) check_enclosure(n);
    rational_heap_free(ctx);
    return check_result();
}
