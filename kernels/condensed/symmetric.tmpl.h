/* Steps of a tridiagonal form in one real type (symmetric.h): T in vectors V of LANES, a multiple
 * of 4, so that the diagonal of four columns lies in one vector of rows. */
#include "kernels/dense/reflector.tmpl.h"
#include "kernels/condensed/less.tmpl.h"

static double FN(top)(int64_t n, const void *data)
{
    const T *a = data;
    T most = 0;
    for (int64_t j = 0; j < n; j++) {
        T size = ABS(a[j * n + FN(largest)(j + 1, a + j * n)]);
        most = size > most ? size : most;
    }
    return (double)most;
}

static bool FN(column)(Symmetric *s)
{
    int64_t k = s->k, terms = 2 * s->held;
    T *a = (T *)s->a + k * s->n, *left = s->left, *pivot = s->pivot, *v = left + terms * s->n;
    FN(less)(k + 1, terms, left, s->n, (T *)s->right + 2 * s->most * k, a, pivot + 1);
    ((T *)s->d)[k] = pivot[k + 1];
    if (!k)
        return false;
    pivot[0] = pivot[k];                 /* the element that is left comes first */
    T tau = FN(reflector)(k, pivot);
    ((T *)s->e)[k - 1] = pivot[0];
    s->scale = (double)tau;
    if (s->tau) {
        ((T *)s->tau)[k - 1] = tau;
        memcpy(a, pivot + 1, (size_t)(k - 1) * sizeof *a);
    }
    memcpy(v, pivot + 1, (size_t)(k - 1) * sizeof *v);
    v[k - 1] = 1;
    if (s->held < s->most)
        FN(dots)(k, terms, v, left, s->n, s->products);
    for (int64_t p = 0; p < terms && s->held < s->most; p += 2) {
        T *both = (T *)s->products + p, first = both[0];     /* right has v and w the other way */
        both[0] = both[1], both[1] = first;
    }
    return tau != 0;
}

/* Lanes below `count` of one vector. */
static inline __attribute__((always_inline)) VI FN(lanes)(int64_t count)
{
    typedef __typeof__((VI){ 0 }[0]) Lane;
    static const Lane table[2 * LANES] = { [0 ... LANES - 1] = -1 };
    VI m;
    memcpy(&m, table + LANES - count, sizeof m);
    return m;
}

static inline __attribute__((always_inline)) V FN(only)(V x, VI mask)
{
    return (V)((VI)x & mask);
}

/* What a passage is about: v, the sums of rows. */
typedef struct FN(Passage) {
    int64_t ld;
    const T *left, *v;
    T *y;
} FN(Passage);

/* One vector of rows from i on of `count` columns (a constant in each call) from j on, `edge`: with
 * their diagonal; s: the columns' sums. */
static inline __attribute__((always_inline)) void
FN(vector)(int count, bool edge, int64_t terms, const FN(Passage) *g, T *a, int64_t j, int64_t i,
           const T *less, const V *vj, V *s)
{
    V z[4], vi = FN(load)(g->v + i), yi = FN(load)(g->y + i);
    for (int c = 0; c < count; c++)
        z[c] = FN(load)(a + c * g->ld + i);
    for (int64_t p = 0; p < terms; p++) {
        V l = FN(load)(g->left + p * g->ld + i);
        for (int c = 0; c < count; c++)
            z[c] = FMA(l, FN(all)(less[c * terms + p]), z[c]);
    }
    for (int c = 0; c < count; c++) {
        if (terms)                       /* what is below the diagonal nobody reads */
            FN(store)(a + c * g->ld + i, z[c]);
        V above = edge ? FN(only)(z[c], FN(lanes)(j + c - i)) : z[c];
        s[c] = FMA(edge ? FN(only)(z[c], FN(lanes)(j + c + 1 - i)) : z[c], vi, s[c]);
        yi = FMA(above, vj[c], yi);
    }
    FN(store)(g->y + i, yi);
}

/* The same of one row of one column. */
static inline __attribute__((always_inline)) T
FN(element)(int64_t terms, const FN(Passage) *g, T *a, int64_t j, int64_t i, const T *less)
{
    for (int64_t p = 0; p < terms; p++)
        a[i] = FMA_ONE(g->left[p * g->ld + i], less[p], a[i]);
    if (i < j)
        g->y[i] = FMA_ONE(a[i], g->v[j], g->y[i]);
    return a[i] * g->v[i];
}

/* Columns from j on: A -= left right', of so many terms, and the product. */
static inline __attribute__((always_inline)) void
FN(some)(int count, int64_t terms, const FN(Passage) *g, T *a, int64_t j, const T *right, T *w)
{
    V s[4] = { { 0 }, { 0 }, { 0 }, { 0 } }, vj[4];
    T less[4 * 2 * SYMMETRIC_MOST];      /* nothing stored is in it */
    int64_t i = 0;
    for (int64_t p = 0; p < count * terms; p++)
        less[p] = -right[p];
    for (int c = 0; c < count; c++)
        vj[c] = FN(all)(g->v[j + c]);
    for (; i + LANES <= j; i += LANES)
        FN(vector)(count, false, terms, g, a, j, i, less, vj, s);
    bool inside = i + LANES <= g->ld;    /* the last rows of a column are followed by the next */
    if (inside)
        FN(vector)(count, true, terms, g, a, j, i, less, vj, s);
    for (int c = 0; c < count; c++) {
        T sum = FN(sum)(s[c]);
        for (int64_t r = i; r <= j + c && !inside; r++)
            sum += FN(element)(terms, g, a + c * g->ld, j + c, r, less + c * terms);
        w[c] = sum;
    }
}

/* `count` columns, whichever way. */
static inline __attribute__((always_inline)) void
FN(columns)(int count, const Symmetric *s, const FN(Passage) *g, int64_t j)
{
    T *a = (T *)s->a + j * s->n, *right = (T *)s->right + 2 * s->most * j, *w = (T *)s->product + j;
    if (s->held < s->most)
        FN(some)(count, 0, g, a, j, right, w);
    else if (s->most == 1)
        FN(some)(count, 2, g, a, j, right, w);
    else
        FN(some)(count, 2 * s->most, g, a, j, right, w);
}

static void FN(block)(const Symmetric *s, int64_t block)
{
    int64_t j = block * SYMMETRIC_BLOCK, end = j + SYMMETRIC_BLOCK;
    const T *left = s->left;
    FN(Passage) g = { s->n, left, left + 2 * s->held * s->n, (T *)s->parts + block * s->n };
    end = end < s->k ? end : s->k;
    memset(g.y, 0, (size_t)(end + LANES < s->n ? end + LANES : s->n) * sizeof *g.y);
    for (; j + 4 <= end; j += 4)
        FN(columns)(4, s, &g, j);
    for (; j < end; j++)
        FN(columns)(1, s, &g, j);
}

/* A v, in the place of w: what the columns found and the blocks for their rows, less what the steps
 * held make of it. */
static void FN(rows)(const Symmetric *s, int64_t chunk)
{
    int64_t k = s->k, i = chunk * SYMMETRIC_ROWS, end = i + SYMMETRIC_ROWS;
    int64_t terms = s->held < s->most ? 2 * s->held : 0, at = 2 * s->held;
    end = end < k ? end : k;
    T *v = (T *)s->left + at * s->n, *w = v + s->n;
    memcpy(w + i, (T *)s->product + i, (size_t)(end - i) * sizeof *w);
    for (int64_t block = i / SYMMETRIC_BLOCK; block * SYMMETRIC_BLOCK < k; block++) {
        int64_t to = (block + 1) * SYMMETRIC_BLOCK;
        const T *part = (T *)s->parts + block * s->n;
        to = to < end ? to : end;
        for (int64_t r = i; r < to; r++)
            w[r] += part[r];
    }
    FN(less)(end - i, terms, (T *)s->left + i, s->n, s->products, w + i, w + i);
}

/* w = tau A v - tau / 2 (tau v' A v) v, and the step is held; where the others were applied it is
 * the first. */
static void FN(hold)(Symmetric *s)
{
    int64_t k = s->k, n = s->n, at = 2 * s->held, width = 2 * s->most;
    T *left = s->left, *v = left + at * n, *w = v + n, *right = s->right, dot;
    T tau = (T)s->scale;
    if (s->held == s->most) {
        memcpy(left, v, (size_t)k * sizeof *v);
        memcpy(left + n, w, (size_t)k * sizeof *w);
        at = 0, v = left, w = left + n;
    }
    FN(dots)(k, 1, v, w, n, &dot);
    T by = -tau * tau * dot / 2;
    for (int64_t i = 0; i < k; i++) {
        w[i] = FMA_ONE(by, v[i], tau * w[i]);
        right[i * width + at] = w[i];
        right[i * width + at + 1] = v[i];
    }
    s->held = at / 2 + 1;
}
