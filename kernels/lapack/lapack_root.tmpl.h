/* The square root of an upper triangle, for one type. Included by lapack_root.c with
 *     NAME(x)      the function's name          T       double or double _Complex
 *     ROOT(x)      principal square root        TYPE    BLAS_D or BLAS_Z
 *     SIZE(x)      magnitude                    IS_COMPLEX
 * Columns are the fast direction: element (i, j) is a[i + j*ld]. */

/* y -= f x */
static inline void NAME(axpy)(int64_t n, T f, const T *x, T *y)
{
#if IS_COMPLEX
    const double *p = (const double *)x;
    double *q = (double *)y, re = creal(f), im = cimag(f);
    for (int64_t i = 0; i < 2 * n; i += 2) {
        q[i] -= re * p[i] - im * p[i + 1];
        q[i + 1] -= re * p[i + 1] + im * p[i];
    }
#else
    for (int64_t i = 0; i < n; i++)
        y[i] -= f * x[i];
#endif
}

/* Solves (R + r I) x = y in place of y, R upper triangular. False: a pivot is zero where y
 * is not (above `tiny`). */
static bool NAME(shifted_solve)(int64_t n, const T *R, int64_t ld, T r, T *y, double tiny)
{
    for (int64_t i = n - 1; i >= 0; i--) {
        T pivot = R[i * (ld + 1)] + r;
        if (y[i] == 0)
            continue;
        if (pivot == 0 && SIZE(y[i]) > tiny)
            return false;
        y[i] = pivot == 0 ? 0 : y[i] / pivot;
        NAME(axpy)(i, y[i], R + i * ld, y);
    }
    return true;
}

/* C := X with A X + X B = C, A m x m and B n x n upper triangular, all of leading dimension
 * ld; halves the longer side down to blocks that stay in the cache. */
static bool NAME(sylvester)(const Blas *l, int64_t m, int64_t n, const T *A, const T *B, T *C,
                            int64_t ld, double tiny)
{
    if (m <= SMALL && n <= SMALL) {
        for (int64_t j = 0; j < n; j++) {
            for (int64_t k = 0; k < j; k++)
                NAME(axpy)(m, B[k + j * ld], C + k * ld, C + j * ld);
            if (!NAME(shifted_solve)(m, A, ld, B[j * (ld + 1)], C + j * ld, tiny))
                return false;
        }
        return true;
    }
    if (m >= n) {
        int64_t h = m / 2;
        if (!NAME(sylvester)(l, m - h, n, A + h * (ld + 1), B, C + h, ld, tiny))
            return false;
        subtract_product(l, TYPE, h, n, m - h, A + h * ld, C + h, C, ld);
        return NAME(sylvester)(l, h, n, A, B, C, ld, tiny);
    }
    int64_t h = n / 2;
    if (!NAME(sylvester)(l, m, h, A, B, C, ld, tiny))
        return false;
    subtract_product(l, TYPE, m, n - h, h, C, B + h * ld, C + h * ld, ld);
    return NAME(sylvester)(l, m, n - h, A, B + h * (ld + 1), C + h * ld, ld, tiny);
}

/* Björck and Hammarling, Linear Algebra Appl. 52/53 (1983); by blocks as Deadman, Higham
 * and Ralha, PARA 2012: the root of each half, then a Sylvester equation between them. */
static bool NAME(root)(const Blas *l, int64_t n, T *t, int64_t ld, double tiny)
{
    if (n <= SMALL) {
        for (int64_t j = 0; j < n; j++) {
            T *column = t + j * ld;
            column[j] = ROOT(column[j]);
            if (!NAME(shifted_solve)(j, t, ld, column[j], column, tiny))
                return false;
        }
        return true;
    }
    int64_t h = n / 2;
    return NAME(root)(l, h, t, ld, tiny) && NAME(root)(l, n - h, t + h * (ld + 1), ld, tiny) &&
           NAME(sylvester)(l, h, n - h, t, t + h * (ld + 1), t + h * ld, ld, tiny);
}
