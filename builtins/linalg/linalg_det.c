/* det and slogdet: the product of the pivots of an LU factorisation, or of the squares of those of
 * Cholesky's, kept as mantissa and exponent so that only the result can overflow; of small matrices
 * of ints the exact one. */
#include "builtins/linalg/linalg.h"
#include "kernels/dense/dense.h"

#include <math.h>
#include <string.h>

/* A product kept as mantissa and exponent, so that it neither overflows nor vanishes. */
typedef struct Scaled {
    double re, im;
    int64_t exponent;
} Scaled;

static double larger(double x, double y)
{
    return fabs(x) > fabs(y) ? fabs(x) : fabs(y);
}

/* Splits the exponent off; of zeros, infinities and NaN there is none. */
static void scaled_normalise(Scaled *p)
{
    double size = larger(p->re, p->im);
    int e = size > 0 && isfinite(size) ? ilogb(size) : 0;
    p->re = scalbn(p->re, -e);
    p->im = scalbn(p->im, -e);
    p->exponent += e;
}

/* What is kept stays between 2^-400 and 2^400, so that only a factor beyond that range
 * needs care. */
static void scaled_multiply(Scaled *p, double re, double im)
{
    double by = larger(re, im), r = p->re, i = p->im;
    if (!(by > 0x1p-400 && by < 0x1p400))
        scaled_normalise(p), r = p->re, i = p->im;
    p->re = r * re - i * im;
    p->im = im == 0 && i == 0 ? 0 : r * im + i * re;
    double size = larger(p->re, p->im);
    if (!(size > 0x1p-400 && size < 0x1p400))
        scaled_normalise(p);
}

/* ---- ints: exact where they are small ---- */
enum { EXACT_ORDER = 8 };

static bool exact_load(const Stack *a, Mat m, __int128 x[EXACT_ORDER][EXACT_ORDER])
{
    for (int64_t i = 0; i < a->n; i++)
        for (int64_t j = 0; j < a->n; j++) {
            double v = mat_real(a->type, m.data, i * m.rs + j * m.cs);
            if (fabs(v) >= 0x1p53)          /* the int may have been rounded */
                return false;
            x[i][j] = (__int128)v;
        }
    return true;
}

static bool exact_pivot(int64_t n, int64_t k, __int128 x[EXACT_ORDER][EXACT_ORDER], bool *negate)
{
    int64_t p = k;
    while (p < n && x[p][k] == 0)
        p++;
    for (int64_t j = 0; j < n && p < n && p != k; j++) {
        __int128 t = x[k][j];
        x[k][j] = x[p][j], x[p][j] = t;
    }
    *negate ^= p < n && p != k;
    return p < n;
}

/* Elimination without fractions (Bareiss, Math. Comp. 22 (1968)): every division is exact,
 * and every number on the way is a minor of A. False: they grow beyond 62 bits. */
static bool exact_determinant(const Stack *a, Mat m, double *out)
{
    __int128 x[EXACT_ORDER][EXACT_ORDER], before = 1;
    const __int128 most = (__int128)1 << 62;
    int64_t n = a->n;
    bool negate = false;
    if (n > EXACT_ORDER || strchr("bi", dtype_info(a->given)->kind) == NULL || !exact_load(a, m, x))
        return false;
    *out = 0;
    for (int64_t k = 0; k < n; k++) {
        if (!exact_pivot(n, k, x, &negate))
            return true;
        for (int64_t i = k + 1; i < n; i++)
            for (int64_t j = k + 1; j < n; j++) {
                x[i][j] = (x[i][j] * x[k][k] - x[i][k] * x[k][j]) / before;
                if (x[i][j] >= most || x[i][j] <= -most)
                    return false;
            }
        before = x[k][k];
    }
    *out = (double)(negate ? -before : before);
    return true;
}

/* ---- by LU ---- */
typedef struct DetWork {
    const Blas *blas;
    void *matrix;
    int *pivots;
    bool definite;              /* the first one was: Cholesky */
} DetWork;

static double imaginary(BlasType t, const void *data, int64_t i)
{
    return blas_is_complex(t) ? mat_real(t == BLAS_C ? BLAS_S : BLAS_D, data, 2 * i + 1) : 0;
}

/* The product of the pivots of 2^exponent times the matrix. */
static Scaled pivot_product(const Stack *a, Mat m, const DetWork *w, int exponent)
{
    Scaled p = { 1, 0, -exponent * a->n };
    BlasType real = blas_type(dtype_real(a->dt));
    int64_t parts = a->n * a->n * (blas_is_complex(a->type) ? 2 : 1);
    mat_copy(a->bytes, a->n, a->n, m, mat_columns(w->matrix, a->n));
    for (int64_t i = 0; i < parts && exponent; i++)
        mat_store(real, w->matrix, i, scalbn(mat_real(real, w->matrix, i), exponent), 0);
    dense_lu(&a->call->in->ctx, w->blas, a->type, a->n, a->n, w->matrix, w->pivots);
    for (int64_t i = 0; i < a->n; i++) {
        int64_t at = i * (a->n + 1);
        scaled_multiply(&p, mat_real(a->type, w->matrix, at), imaginary(a->type, w->matrix, at));
        if (w->pivots[i] != i + 1)
            p.re = -p.re, p.im = -p.im;
    }
    return p;
}

/* Of a positive definite matrix. False: it is none. */
static bool definite_product(const Stack *a, Mat m, const DetWork *w, Scaled *p)
{
    if (a->n < DEFINITE_FROM || !mat_is_hermitian(a->type, a->n, m))
        return false;
    for (int64_t i = 0; i < a->n; i++)
        if (!(mat_real(a->type, m.data, i * (m.rs + m.cs)) > 0))
            return false;
    mat_copy_lower(a->type, a->n, m, w->matrix, false);
    if (dense_cholesky(&a->call->in->ctx, w->blas, a->type, a->n, w->matrix))
        return false;
    for (int64_t i = 0; i < 2 * a->n; i++)
        scaled_multiply(p, mat_real(a->type, w->matrix, i / 2 * (a->n + 1)), 0);
    return isfinite(p->re);
}

/* Elements near the largest float can make pivots overflow: then once more, scaled down. */
static Scaled determinant(const Stack *a, int64_t index, DetWork *w)
{
    Mat m = linalg_item(a, index);
    Scaled p = { 1, 0, 0 };
    double exact;
    int64_t row, col;
    if (a->n == 0)
        return p;
    if (exact_determinant(a, m, &exact)) {
        scaled_multiply(&p, exact, 0);
        return p;
    }
    bool definite = definite_product(a, m, w, &p);
    w->definite |= definite && index == 0;
    if (definite)
        return p;
    p = pivot_product(a, m, w, 0);
    if ((!isfinite(p.re) || !isfinite(p.im)) && mat_finite(a->type, a->n, a->n, m, &row, &col))
        p = pivot_product(a, m, w, a->type == BLAS_S || a->type == BLAS_C ? -64 : -512);
    return p;
}

/* Which of the two ways went, for the first matrix. */
static void det_explain(const Stack *a, const DetWork *w, bool small)
{
    const char *routine = w->definite ? "potrf" : "getrf";
    double n = (double)a->n, exact;
    if (!heard_on(a->call->in) || !a->count)
        return;
    if (explain_on(a->call->in) && n > 0 && exact_determinant(a, linalg_item(a, 0), &exact))
        explain_routine(a->call->in, "elimination without fractions", NULL,
                            "elimination without fractions: exact");
    else if (small)
        explain_routine(a->call->in, LINALG_SMALL_TEXT, NULL, NULL);
    else if (n > 0)
        linalg_explain_dense(a->call, a->type, a->n, 0, routine, routine);
    explain_flops(a->call->in, (w->definite ? 1 : 2) * n * n * n / 3 * (double)a->count *
                  (blas_is_complex(a->type) ? 4 : 1), w->definite ? "1/3 n^3" : "2/3 n^3");
}

static DetWork det_work(OpCall *c, const Stack *a)
{
    DetWork w = { 0 };
    if (a->n) {
        w.blas = linalg_blas(c);
        dense_threads(&c->in->ctx, w.blas, a->type, LAPACK_LU, a->n);
    }
    w.matrix = linalg_matrix(c, a->n, a->n, a->bytes);
    w.pivots = linalg_work(c, (size_t)a->n, sizeof(int));
    return w;
}

Value op_run_det(OpCall *c)
{
    Stack a = linalg_square(c, 0);
    Out d = linalg_out(&a, a.dt, -1, -1, false);
    DetWork w = det_work(c, &a);
    bool ints = strchr("bi", dtype_info(a.given)->kind) != NULL;
    const uint8_t *done = ints ? NULL : linalg_small_det(&a, &d);
    for (int64_t i = 0; i < a.count; i++) {
        if (done && done[i])
            continue;
        poll_interrupt(c->in);
        Scaled p = determinant(&a, i, &w);
        int e = p.exponent > 5000 ? 5000 : p.exponent < -5000 ? -5000 : (int)p.exponent;
        mat_store(a.type, d.data, i, scalbn(p.re, e), scalbn(p.im, e));
    }
    det_explain(&a, &w, done != NULL);
    return linalg_value(&a, &d);
}

Value op_run_slogdet(OpCall *c)
{
    Stack a = linalg_square(c, 0);
    BlasType real = blas_type(dtype_real(a.dt));
    Out sign = linalg_out(&a, a.dt, -1, -1, false);
    Out logdet = linalg_out(&a, dtype_real(a.dt), -1, -1, false);
    DetWork w = det_work(c, &a);
    for (int64_t i = 0; i < a.count; i++) {
        poll_interrupt(c->in);
        Scaled p = determinant(&a, i, &w);
        double size = hypot(p.re, p.im);
        mat_store(real, logdet.data, i, log(size) + (double)p.exponent * 0.69314718055994530942, 0);
        mat_store(a.type, sign.data, i, size == 0 ? 0 : p.re / size, size == 0 ? 0 : p.im / size);
    }
    det_explain(&a, &w, false);
    Value first = op_root(c, linalg_value(&a, &sign));
    Value second = op_root(c, linalg_value(&a, &logdet));
    return tuple_make(c->in, "sign", v_retain(first), "logdet", v_retain(second), NULL);
}
