/* Steps of a bidiagonal form in one real type (bidiagonal.h): T in vectors V of LANES. */
#include "kernels/dense/reflector.tmpl.h"
#include "kernels/condensed/less.tmpl.h"

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
    int64_t k = b->k, rows = b->m - k, terms = 2 * b->held;
    T *a = (T *)b->a + k * b->m + k, *left = (T *)b->left + k, *q = left + terms * b->m;
    FN(less)(rows, terms, left, b->m, (T *)b->right + 2 * b->most * k, a, q);
    T tau = FN(whole_reflector)(rows, q, (T *)b->d + k);
    b->tau = (double)tau;
    if (b->column_taus) {
        ((T *)b->column_taus)[k] = tau;
        memcpy(a + 1, q + 1, (size_t)(rows - 1) * sizeof *a);
    }
    if (b->held < b->most)
        FN(dots)(rows, terms, q, left, b->m, b->products);
}

/* w += a u of `count` columns (a constant in each call). */
static inline __attribute__((always_inline)) void
FN(add_columns)(int count, int64_t m, const T *a, int64_t ld, const T *u, T *w)
{
    int64_t i = 0;
    V by[4];
    for (int c = 0; c < count; c++)
        by[c] = FN(all)(u[c]);
    for (; i + LANES <= m; i += LANES) {
        V wi = FN(load)(w + i);
        for (int c = 0; c < count; c++)
            wi = FMA(FN(load)(a + c * ld + i), by[c], wi);
        FN(store)(w + i, wi);
    }
    for (; i < m; i++)
        for (int c = 0; c < count; c++)
            w[i] = FMA_ONE(a[c * ld + i], u[c], w[i]);
}

/* What the passage is about: m rows from row k on; terms of left and right. */
typedef struct FN(Passage) {
    int64_t m, ld, terms;
    const T *left, *q, *products;
    T tau;
} FN(Passage);

/* A -= left right', and the products. */
static inline __attribute__((always_inline)) void
FN(applied)(int count, int64_t terms, const FN(Passage) *g, T *a, const T *right, T *y, T *u, T *w)
{
    V s[4] = { { 0 }, { 0 }, { 0 }, { 0 } };
    T rest[4] = { 0, 0, 0, 0 }, less[4 * 2 * BIDIAGONAL_MOST];   /* nothing stored is in it */
    int64_t i = 0, ld = g->ld;
    const T *left = g->left;
    for (int64_t p = 0; p < count * terms; p++)
        less[p] = -right[p];
    for (; i + LANES <= g->m; i += LANES) {
        V z[4], qi = FN(load)(g->q + i);
        for (int c = 0; c < count; c++)
            z[c] = FN(load)(a + c * ld + i);
        for (int64_t p = 0; p < terms; p++) {
            V l = FN(load)(left + p * ld + i);
            for (int c = 0; c < count; c++)
                z[c] = FMA(l, FN(all)(less[c * terms + p]), z[c]);
        }
        for (int c = 0; c < count; c++) {
            FN(store)(a + c * ld + i, z[c]);
            s[c] = FMA(z[c], qi, s[c]);
        }
    }
    for (; i < g->m; i++)
        for (int c = 0; c < count; c++) {
            T *at = a + c * ld + i;
            for (int64_t p = 0; p < terms; p++)
                *at = FMA_ONE(left[p * ld + i], less[c * terms + p], *at);
            rest[c] = FMA_ONE(*at, g->q[i], rest[c]);
        }
    for (int c = 0; c < count; c++) {
        y[c] = g->tau * (FN(sum)(s[c]) + rest[c]);
        u[c] = a[c * ld] - y[c];
    }
    FN(add_columns)(count, g->m, a, ld, u, w);
}

/* The products, of A as it lies, less what left and right make of them. */
static inline __attribute__((always_inline)) void
FN(looked)(int count, const FN(Passage) *g, const T *a, const T *right, int64_t width, T *y, T *u,
           T *w)
{
    V s[4] = { { 0 }, { 0 }, { 0 }, { 0 } };
    T rest[4] = { 0, 0, 0, 0 };
    int64_t i = 0, ld = g->ld;
    for (; i + LANES <= g->m; i += LANES) {
        V qi = FN(load)(g->q + i);
        for (int c = 0; c < count; c++)
            s[c] = FMA(FN(load)(a + c * ld + i), qi, s[c]);
    }
    for (; i < g->m; i++)
        for (int c = 0; c < count; c++)
            rest[c] = FMA_ONE(a[c * ld + i], g->q[i], rest[c]);
    for (int c = 0; c < count; c++, right += width) {
        T sum = FN(sum)(s[c]) + rest[c], top = a[c * ld];
        for (int64_t p = 0; p < g->terms; p++) {
            sum = FMA_ONE(g->products[p], -right[p], sum);
            top = FMA_ONE(g->left[p * ld], -right[p], top);
        }
        y[c] = g->tau * sum;
        u[c] = top - y[c];
    }
    FN(add_columns)(count, g->m, a, ld, u, w);
}

/* `count` columns, whichever way. */
static inline __attribute__((always_inline)) void
FN(some)(int count, const Bidiagonal *b, const FN(Passage) *g, int64_t j, T *w)
{
    T *a = (T *)b->a + j * b->m + b->k, *right = (T *)b->right + 2 * b->most * j;
    T *y = (T *)b->y + j, *u = (T *)b->u + j;
    if (b->held < b->most)
        FN(looked)(count, g, a, right, 2 * b->most, y, u, w);
    else if (b->most == 1)
        FN(applied)(count, 2, g, a, right, y, u, w);
    else
        FN(applied)(count, 2 * b->most, g, a, right, y, u, w);
}

static void FN(block)(const Bidiagonal *b, int64_t block)
{
    int64_t k = b->k, j = k + 1 + block * BIDIAGONAL_BLOCK, end = j + BIDIAGONAL_BLOCK;
    int64_t terms = 2 * b->held;
    const T *left = (T *)b->left + k;
    FN(Passage) g = { b->m - k, b->m, terms, left, left + terms * b->m, b->products, (T)b->tau };
    T *w = (T *)b->parts + block * b->m + k;
    end = end < b->n ? end : b->n;
    memset(w, 0, (size_t)g.m * sizeof *w);
    for (; j + 4 <= end; j += 4)
        FN(some)(4, b, &g, j, w);
    for (; j < end; j++)
        FN(some)(1, b, &g, j, w);
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

/* products = right' u of the steps that are still held, and this one joins them. */
static void FN(hold)(Bidiagonal *b)
{
    int64_t width = 2 * b->most, terms = b->held < b->most ? 2 * b->held : 0;
    const T *y = b->y, *u = b->u;
    T *right = (T *)b->right, *products = b->products;
    for (int64_t p = 0; p < terms; p++)
        products[p] = 0;
    for (int64_t j = b->k + 1; j < b->n; j++) {
        T *r = right + j * width;
        for (int64_t p = 0; p < terms; p++)
            products[p] = FMA_ONE(r[p], u[j], products[p]);
        r[terms] = y[j];
        r[terms + 1] = u[j];
    }
    if (terms < 2 * b->held)             /* they were applied */
        memcpy((T *)b->left + b->k, (T *)b->left + 2 * b->held * b->m + b->k,
               (size_t)(b->m - b->k) * sizeof(T));
    b->held = terms / 2 + 1;
}

static bool FN(row)(Bidiagonal *b)
{
    int64_t next = b->k + 1, cols = b->n - next;
    T *u = (T *)b->u + next, *y = (T *)b->y + next, beta, below;
    T first = u[0], tau = FN(whole_reflector)(cols, u, &beta), size = ABS(beta);
    FN(dots)(cols, 1, y, u, cols, &below);
    ((T *)b->e)[b->k] = beta;
    if (b->row_taus) {
        ((T *)b->row_taus)[b->k] = tau;
        for (int64_t j = 1; j < cols; j++)
            ((T *)b->a)[(next + j) * b->m + b->k] = u[j];
    }
    FN(hold)(b);
    T *x = (T *)b->left + (2 * b->held - 1) * b->m;
    if (tau == 0) {
        memset(x + next, 0, (size_t)(b->m - next) * sizeof *x);
        return false;
    }
    b->whole = size < ROOT_LEAST || size > ROOT_MOST;
    if (b->whole)
        FN(again)(b, x);
    b->row_tau = (double)tau;
    b->below = (double)below;
    b->beta = (double)beta;
    b->first = (double)first;
    return true;
}

/* With r the row, beta and tau of its reflector u: A u = (A r - beta a) / (r[0] - beta), a the
 * column after k; less what the steps held before make of it; and what x stands for is A after the
 * column's reflection, A - q y'. */
static void FN(rows)(const Bidiagonal *b, int64_t chunk)
{
    int64_t next = b->k + 1, i = next + chunk * BIDIAGONAL_ROWS, end = i + BIDIAGONAL_ROWS;
    int64_t blocks = (b->n - next + BIDIAGONAL_BLOCK - 1) / BIDIAGONAL_BLOCK;
    int64_t terms = 2 * (b->held - 1), m = (end < b->m ? end : b->m) - i;
    T tau = (T)b->row_tau, beta = (T)b->beta, by = (T)b->first - beta, below = (T)b->below;
    const T *a = (const T *)b->a + next * b->m + i, *parts = (const T *)b->parts + i;
    const T *left = (const T *)b->left + i, *q = left + terms * b->m;
    T *x = (T *)b->left + i + (terms + 1) * b->m;
    if (!b->whole) {
        memset(x, 0, (size_t)m * sizeof *x);
        for (int64_t p = 0; p < blocks; p++)
            for (int64_t r = 0; r < m; r++)
                x[r] += parts[p * b->m + r];
        for (int64_t r = 0; r < m; r++)
            x[r] = FMA_ONE(-beta, a[r], x[r]) / by;
    }
    FN(less)(m, terms, left, b->m, b->products, x, x);
    for (int64_t r = 0; r < m; r++)
        x[r] = tau * FMA_ONE(-below, q[r], x[r]);
}
