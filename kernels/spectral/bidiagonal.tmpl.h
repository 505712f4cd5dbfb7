/* Steps of a bidiagonal form in one real type (bidiagonal.h): T in vectors V of LANES. */
#include "kernels/dense/reflector.tmpl.h"

static T FN(sum)(V s)
{
    T sum = 0;
    for (int l = 0; l < LANES; l++)
        sum += s[l];
    return sum;
}

static double FN(top)(int64_t count, const void *data)
{
    const T *x = data;
    return (double)ABS(x[FN(largest)(count, x)]);
}

/* w of I - tau w w', which leaves beta of x, in its place: with its first element, 1. */
static T FN(whole_reflector)(int64_t m, T *x, T *beta)
{
    T tau = FN(reflector)(m, x);
    *beta = x[0];
    x[0] = 1;
    return tau;
}

static void FN(column)(Bidiagonal *b)
{
    int64_t k = b->k, rows = b->m - k;
    T *a = (T *)b->a + k * b->m + k, *v = (T *)b->v + k, *x = (T *)b->x + k, *q = (T *)b->q + k;
    T y = ((T *)b->y)[k], u = ((T *)b->u)[k];
    for (int64_t i = 0; i < rows; i++)
        q[i] = FMA_ONE(x[i], -u, FMA_ONE(v[i], -y, a[i]));
    T tau = FN(whole_reflector)(rows, q, (T *)b->d + k);
    b->tau = (double)tau;
    if (b->column_taus) {
        ((T *)b->column_taus)[k] = tau;
        memcpy(a + 1, q + 1, (size_t)(rows - 1) * sizeof *a);
    }
}

/* `count` columns (a constant in each call), m rows from row k on. */
static inline __attribute__((always_inline)) void
FN(some)(int count, int64_t m, T *a, int64_t ld, const T *v, const T *x, const T *q, T tau, T *y,
         T *u, T *w)
{
    V s[4] = { { 0 }, { 0 }, { 0 }, { 0 } };
    T rest[4] = { 0, 0, 0, 0 };
    int64_t whole = m / LANES * LANES;
    for (int64_t i = 0; i < whole; i += LANES) {
        V vi = FN(load)(v + i), xi = FN(load)(x + i), qi = FN(load)(q + i);
        for (int c = 0; c < count; c++) {
            T *at = a + c * ld + i;
            V z = FMA(xi, FN(all)(-u[c]), FMA(vi, FN(all)(-y[c]), FN(load)(at)));
            FN(store)(at, z);
            s[c] = FMA(z, qi, s[c]);
        }
    }
    for (int64_t i = whole; i < m; i++)
        for (int c = 0; c < count; c++) {
            T *at = a + c * ld + i;
            *at = FMA_ONE(x[i], -u[c], FMA_ONE(v[i], -y[c], *at));
            rest[c] = FMA_ONE(*at, q[i], rest[c]);
        }
    for (int c = 0; c < count; c++) {
        y[c] = tau * (FN(sum)(s[c]) + rest[c]);
        u[c] = a[c * ld] - y[c];
    }
    for (int64_t i = 0; i < whole; i += LANES) {
        V wi = FN(load)(w + i);
        for (int c = 0; c < count; c++)
            wi = FMA(FN(load)(a + c * ld + i), FN(all)(u[c]), wi);
        FN(store)(w + i, wi);
    }
    for (int64_t i = whole; i < m; i++)
        for (int c = 0; c < count; c++)
            w[i] = FMA_ONE(a[c * ld + i], u[c], w[i]);
}

static void FN(block)(const Bidiagonal *b, int64_t block)
{
    int64_t k = b->k, j = k + 1 + block * BIDIAGONAL_BLOCK, end = j + BIDIAGONAL_BLOCK;
    T *a = (T *)b->a + k, *v = (T *)b->v + k, *x = (T *)b->x + k, *q = (T *)b->q + k;
    T *y = b->y, *u = b->u, *w = (T *)b->parts + block * b->m + k, tau = (T)b->tau;
    end = end < b->n ? end : b->n;
    memset(w, 0, (size_t)(b->m - k) * sizeof *w);
    for (; j + 4 <= end; j += 4)
        FN(some)(4, b->m - k, a + j * b->m, b->m, v, x, q, tau, y + j, u + j, w);
    for (; j < end; j++)
        FN(some)(1, b->m - k, a + j * b->m, b->m, v, x, q, tau, y + j, u + j, w);
}

/* A u of the reflector itself, where what the passage found is too small to be divided. */
static void FN(again)(const Bidiagonal *b, T *x)
{
    const T *a = b->a, *u = b->u;
    for (int64_t i = b->k + 1; i < b->m; i++)
        x[i] = 0;
    for (int64_t j = b->k + 1; j < b->n; j++)
        for (int64_t i = b->k + 1; i < b->m; i++)
            x[i] = FMA_ONE(a[j * b->m + i], u[j], x[i]);
}

/* With r the row, beta and tau of its reflector: A u = (A r - beta a) / (r[0] - beta), a the column
 * after k; and what x stands for is A after the column's reflection, A - q y'. */
static void FN(row)(Bidiagonal *b)
{
    int64_t next = b->k + 1, cols = b->n - next, blocks;
    T *u = (T *)b->u + next, *y = (T *)b->y + next, *x = b->x, *q = b->q, beta;
    const T *a = (const T *)b->a + next * b->m, *parts = b->parts;
    T first = u[0], tau = FN(whole_reflector)(cols, u, &beta), size = ABS(beta), below;
    FN(dots)(cols, 1, y, u, cols, &below);
    ((T *)b->e)[b->k] = beta;
    if (b->row_taus) {
        ((T *)b->row_taus)[b->k] = tau;
        for (int64_t j = 1; j < cols; j++)
            ((T *)b->a)[(next + j) * b->m + b->k] = u[j];
    }
    blocks = (cols + BIDIAGONAL_BLOCK - 1) / BIDIAGONAL_BLOCK;
    b->q = b->v;
    b->v = q;
    if (tau == 0) {
        memset(x + next, 0, (size_t)(b->m - next) * sizeof *x);
        return;
    }
    if (size < ROOT_LEAST || size > ROOT_MOST) {
        FN(again)(b, x);
    } else {
        for (int64_t i = next; i < b->m; i++) {
            T w = 0;
            for (int64_t p = 0; p < blocks; p++)
                w += parts[p * b->m + i];
            x[i] = FMA_ONE(-beta, a[i], w) / (first - beta);
        }
    }
    for (int64_t i = next; i < b->m; i++)
        x[i] = tau * FMA_ONE(-below, q[i], x[i]);
}
