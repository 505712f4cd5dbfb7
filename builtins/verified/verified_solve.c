/* Systems of interval matrices, enclosed: see verified.h.
 *
 * With R near inv(M) and X near R B every solution of A x = b, A in <M, D>, is x = X + d with
 * d = R (b - A X) + (1 - R A) d. Let Z hold the first term and C bound |1 - R A|. If y > 0 with
 * |Z| + C y < y, the box [-y, y] goes into its own interior under that map: so every A is regular
 * (and R), and d lies in Z + [-C y, C y] (Rump, Verification methods, Acta Numerica 19 (2010),
 * theorem 10.7). y grows a little at each try, which is what lets it catch a fixed point.
 *
 * The residual is computed in pairs of doubles, so the width is that of the right side's and the
 * matrix's intervals, and otherwise a few units of the last place; all products of matrices are
 * BLAS's, with the usual bound g |R| |M| of their roundings (Higham, Accuracy and Stability,
 * section 3.5). */
#include "builtins/verified/verified.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double UNIT = 0x1p-53;
enum { TRIES = 15, REFINED = 2, TIGHTENED = 4 };
static const double MUCH = 5e7;              /* terms of a residual: it is computed once only */

typedef struct Job {
    OpCall *c;
    const Blas *blas;
    const Spread *A, *B;
    int64_t n, cols;
    double g;                   /* relative to |x| |y|, what a product of length n is off by */
    double *R, *sizes, *X;      /* inv(M) about, |R|, the solution about */
    double *r, *loose;          /* B - M X, and what the residual of <M, D> may differ from that */
} Job;

/* out = x y: rows x inner, inner x cols, by rows. */
static void product(const Job *j, double *out, double *x, double *y, int64_t cols)
{
    gemm(&j->c->in->ctx, j->blas, DT_F64, j->n, cols, j->n, (Mat){ (char *)x, j->n, 1 },
         (Mat){ (char *)y, cols, 1 }, (Mat){ (char *)out, cols, 1 });
    poll_interrupt(j->c->in);
}

/* x y of magnitudes, from above. */
static void product_above(const Job *j, double *out, double *x, double *y, int64_t cols)
{
    product(j, out, x, y, cols);
    for (int64_t i = 0; i < j->n * cols; i++)
        out[i] = verified_above(out[i], j->n);
}

static bool approximate_inverse(Job *j)
{
    int64_t n = j->n;
    Scratch work = { 0 };
    int *pivots = linalg_work(j->c, (size_t)n, sizeof *pivots);
    double *block = linalg_matrix(j->c, n, n, sizeof *block);
    lapack_lu_inverse(j->blas, BLAS_D, n, NULL, NULL, &work);
    scratch_allocate(j->c, &work);
    lapack_threads(&j->c->in->ctx, j->blas, LAPACK_INVERSE, n);
    /* by rows, as it lies: the inverse of the transposed is the inverse transposed */
    memcpy(block, j->A->mid, (size_t)(n * n) * sizeof *block);
    if (lapack_lu(j->blas, BLAS_D, n, n, block, pivots))
        return false;
    int info = lapack_lu_inverse(j->blas, BLAS_D, n, block, pivots, &work);
    memcpy(j->R, block, (size_t)(n * n) * sizeof *block);
    poll_interrupt(j->c->in);
    for (int64_t i = 0; i < n * n; i++)
        j->sizes[i] = fabs(j->R[i]);
    return info == 0 && verified_finite(j->R, n * n);
}

/* r and what is loose about it. */
static void residual(const Job *j)
{
    int64_t n = j->n, cols = j->cols;
    Value *mark = j->c->in->sp;
    PairSums s = pairs_room(j->c, cols);
    double *error = verified_room(j->c, cols);
    for (int64_t i = 0; i < n; i++) {
        double *loose = j->loose + i * cols;
        poll_interrupt(j->c->in);
        pairs_clear(&s);
        pairs_add(&s, 1, j->B->mid + i * cols);
        memset(loose, 0, (size_t)cols * sizeof *loose);
        for (int64_t l = 0; l < n; l++) {
            const double *x = j->X + l * cols;
            pairs_add(&s, -j->A->mid[i * n + l], x);
            for (int64_t k = 0; k < cols && !j->A->points; k++)
                loose[k] += j->A->rad[i * n + l] * fabs(x[k]);
        }
        pairs_value(&s, j->r + i * cols, error);
        for (int64_t k = 0; k < cols; k++) {
            double wide = j->A->points ? 0 : verified_above(loose[k], n);
            loose[k] = verified_above(wide + error[k] + j->B->rad[i * cols + k], 4);
        }
    }
    stack_cut(j->c->in, mark);
}

/* |1 - R A| from above. */
static double *contraction(const Job *j)
{
    int64_t n = j->n, size = n * n;
    double *C = verified_room(j->c, size), *P = verified_room(j->c, size);
    double *reach = verified_room(j->c, size);
    product(j, C, j->R, j->A->mid, n);
    for (int64_t i = 0; i < size; i++)
        reach[i] = verified_above(j->g * fabs(j->A->mid[i]) + j->A->rad[i], 4);
    product_above(j, P, j->sizes, reach, n);
    for (int64_t i = 0; i < size; i++)
        C[i] = verified_above(fabs(C[i] - (i % (n + 1) == 0)) + P[i], 4);
    return C;
}

/* Z = R r within `wide`. */
static void correction(const Job *j, double *Z, double *wide)
{
    int64_t size = j->n * j->cols;
    double *reach = verified_room(j->c, size);
    product(j, Z, j->R, j->r, j->cols);
    for (int64_t i = 0; i < size; i++)
        reach[i] = verified_above(j->g * fabs(j->r[i]) + j->loose[i], 4);
    product_above(j, wide, j->sizes, reach, j->cols);
}

/* |d| <= y gives |d| <= |Z| + C y, which is less, a few times more where y was wide. */
static void tighten(const Job *j, double *C, const double *most, double *y, double *next)
{
    int64_t size = j->n * j->cols;
    for (int again = 0; again < TIGHTENED && !j->A->points; again++) {
        for (int64_t i = 0; i < size; i++)
            y[i] = fmin(y[i], verified_above(most[i] + next[i], 4));
        product_above(j, next, C, y, j->cols);
    }
}

/* y with |Z| + C y < y; `next` becomes C y. */
static bool contract(const Job *j, double *C, const double *Z, const double *wide, double *y,
                     double *next)
{
    int64_t size = j->n * j->cols;
    double *most = verified_room(j->c, size);
    for (int64_t i = 0; i < size; i++)
        y[i] = most[i] = verified_above(fabs(Z[i]) + wide[i], 4);
    for (int try = 0; try < TRIES; try++) {
        bool inside = true;
        for (int64_t i = 0; i < size; i++)
            y[i] = y[i] * 1.1 + 4 * DBL_MIN;
        product_above(j, next, C, y, j->cols);
        for (int64_t i = 0; i < size; i++) {
            double reached = verified_above(most[i] + next[i], 4);
            inside &= reached < y[i];
            y[i] = fmax(y[i], reached);
        }
        if (inside) {
            tighten(j, C, most, y, next);
            return true;
        }
        if (!verified_finite(y, size))
            return false;
    }
    return false;
}

bool verified_solve(OpCall *c, const Spread *A, const Spread *B, Interval *out)
{
    BlasRefusal why;
    int64_t n = A->rows, cols = B->cols, size = n * cols;
    Job j = { .c = c, .blas = lapack_open(&why), .A = A, .B = B, .n = n, .cols = cols,
              .g = 2 * (double)(n + 4) * UNIT };
    if (!j.blas || n == 0 || cols == 0)
        return false;
    j.R = verified_room(c, n * n), j.sizes = verified_room(c, n * n);
    j.X = verified_room(c, size), j.r = verified_room(c, size), j.loose = verified_room(c, size);
    double *Z = verified_room(c, size), *wide = verified_room(c, size);
    double *y = verified_room(c, size), *next = verified_room(c, size);
    if (!approximate_inverse(&j))
        return false;
    product(&j, j.X, j.R, B->mid, cols);
    int refined = (double)n * (double)size > MUCH ? 0 : REFINED;
    for (int again = 0; again < refined; again++) {
        residual(&j);
        product(&j, Z, j.R, j.r, cols);
        for (int64_t i = 0; i < size; i++)
            j.X[i] += isfinite(Z[i]) ? Z[i] : 0;
    }
    residual(&j);
    correction(&j, Z, wide);
    if (!verified_finite(Z, size) || !verified_finite(wide, size) ||
        !contract(&j, contraction(&j), Z, wide, y, next))
        return false;
    for (int64_t i = 0; i < size; i++) {
        double by = verified_above(wide[i] + next[i], 4);
        out[i] = verified_around(j.X[i], nextafter(Z[i] - by, -INFINITY),
                                 nextafter(Z[i] + by, INFINITY));
    }
    return true;
}
