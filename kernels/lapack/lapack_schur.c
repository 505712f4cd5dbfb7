/* Schur and Hessenberg forms and LDL' by LAPACK, behind one signature for all four types, and the
 * step from a real Schur form to a complex triangular one. Must not raise or allocate. */
#include "kernels/lapack/lapack_functions.h"

#include <math.h>
#include <string.h>

static size_t real_bytes(BlasType t)
{
    return t == BLAS_S || t == BLAS_C ? 4 : 8;
}

/* What a work space query left in work[0]; a float may have been rounded down. */
static int queried(BlasType t, const void *work)
{
    return (int)(mat_real(t, work, 0) * (real_bytes(t) == 4 ? 1 + 0x1p-22 : 1)) + 1;
}

typedef struct SchurCall {
    const Blas *l;
    BlasType t;
    int n;
    void *a, *z, *wr, *wi;   /* complex: the values in wr, wi is rwork */
} SchurCall;

static int schur_call(const SchurCall *c, void *work, int lwork)
{
    int ld = c->n < 1 ? 1 : c->n, sdim;
    if (blas_is_complex(c->t))
        return lapack_geesc(c->l, c->t, 'V', 'N', NULL, c->n, c->a, ld, &sdim, c->wr, c->z, ld,
                            work, lwork, c->wi, NULL);
    return lapack_gees(c->l, c->t, 'V', 'N', NULL, c->n, c->a, ld, &sdim, c->wr, c->wi, c->z, ld,
                       work, lwork, NULL);
}

int lapack_schur(const Blas *l, BlasType t, int64_t n, void *a, void *z, Scratch *s)
{
    SchurCall c = { l, t, (int)n, a, z, NULL, NULL };
    double query[2] = { 0 };
    c.wr = scratch_take(s, (size_t)n, blas_bytes(t));
    c.wi = scratch_take(s, (size_t)n, real_bytes(t));
    schur_call(&c, query, -1);
    int lwork = queried(t, query);
    void *work = scratch_take(s, (size_t)lwork, blas_bytes(t));
    return s->base ? schur_call(&c, work, lwork) : 0;
}

/* Zeros below the diagonal that lies `first` under the main one. */
static void clear_below(size_t bytes, int64_t n, char *a, int64_t first)
{
    for (int64_t j = 0; j + first < n; j++)
        memset(a + (size_t)(j * n + j + first) * bytes, 0, (size_t)(n - j - first) * bytes);
}

int lapack_hess(const Blas *l, BlasType t, int64_t n, void *a, void *q, Scratch *s)
{
    int ni = (int)n;
    double query[2] = { 0 };
    size_t bytes = blas_bytes(t);
    void *tau = scratch_take(s, (size_t)n, bytes);
    lapack_gehrd(l, t, ni, 1, ni, a, ni, tau, query, -1);
    int lwork = queried(t, query);
    lapack_orghr(l, t, ni, 1, ni, q, ni, tau, query, -1);
    int form = queried(t, query);
    lwork = lwork > form ? lwork : form;
    void *work = scratch_take(s, (size_t)lwork, bytes);
    if (!s->base)
        return 0;
    lapack_gehrd(l, t, ni, 1, ni, a, ni, tau, work, lwork);
    memcpy(q, a, (size_t)(n * n) * bytes);
    int info = lapack_orghr(l, t, ni, 1, ni, q, ni, tau, work, lwork);
    clear_below(bytes, n, a, 2);
    return info;
}

/* Row interchanges in the order they were made, each after column `before` was finished. */
typedef struct Swap { int64_t before, p, q; } Swap;

/* Applies to column j those that came after it; `bytes` is a constant in each call. */
static inline void swap_in_columns(size_t bytes, int64_t n, char *a, const Swap *swaps,
                                   int64_t count)
{
    char keep[16];
    for (int64_t j = 0, first = 0; j < n && first < count; j++) {
        char *column = a + (size_t)(j * n) * bytes;
        while (first < count && swaps[first].before <= j)
            first++;
        for (int64_t k = first; k < count; k++) {
            char *x = column + (size_t)swaps[k].p * bytes, *y = column + (size_t)swaps[k].q * bytes;
            memcpy(keep, x, bytes);
            memcpy(x, y, bytes);
            memcpy(y, keep, bytes);
        }
    }
}

static void apply_swaps(size_t bytes, int64_t n, char *a, const Swap *swaps, int64_t count)
{
    switch (bytes) {
    case 4: swap_in_columns(4, n, a, swaps, count); break;
    case 8: swap_in_columns(8, n, a, swaps, count); break;
    default: swap_in_columns(16, n, a, swaps, count); break;
    }
}

/* The copy of element `from` of a in place `to` of d, conjugated if asked. */
static void copy_element(BlasType t, const void *a, int64_t from, void *d, int64_t to, bool conj)
{
    size_t bytes = blas_bytes(t);
    memcpy((char *)d + (size_t)to * bytes, (const char *)a + (size_t)from * bytes, bytes);
    if (conj)
        mat_conjugate(t, (char *)d + (size_t)to * bytes, 1);
}

/* sytrf leaves L as a product of elimination steps with interchanges between them. Moving
 * each interchange through the columns before it (as xSYCONV does) gives one permutation
 * and one triangle. A pair of negative pivots marks a 2x2 block of D. */
static void ldl_unpack(BlasType t, int64_t n, char *a, char *d, int64_t *order, const int *pivots,
                       Swap *swaps)
{
    size_t bytes = blas_bytes(t);
    int64_t count = 0;
    memset(d, 0, (size_t)(n * n) * bytes);
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t k = 0, step; k < n; k += step) {
        step = pivots[k] < 0 ? 2 : 1;
        int64_t moved = k + step - 1, with = (pivots[k] < 0 ? -pivots[k] : pivots[k]) - 1;
        if (moved != with) {
            int64_t keep = order[moved];
            order[moved] = order[with];
            order[with] = keep;
            swaps[count++] = (Swap){ k, moved, with };
        }
        for (int64_t j = k; j < k + step; j++) {
            copy_element(t, a, j * (n + 1), d, j * (n + 1), false);
            memset(a + (size_t)(j * n) * bytes, 0, (size_t)(j + 1) * bytes);
            mat_store(t, a, j * (n + 1), 1, 0);
        }
        if (step == 2) {
            copy_element(t, a, k * n + k + 1, d, k * n + k + 1, false);
            copy_element(t, a, k * n + k + 1, d, (k + 1) * n + k, true);
            mat_store(t, a, k * n + k + 1, 0, 0);
        }
    }
    apply_swaps(bytes, n, a, swaps, count);
}

int lapack_ldl(const Blas *l, BlasType t, int64_t n, void *a, void *d, int64_t *order, int *pivots,
               Scratch *s)
{
    int ni = (int)n;
    double query[2] = { 0 };
    lapack_sytrf(l, t, 'L', ni, a, ni, pivots, query, -1);
    int lwork = queried(t, query);
    void *work = scratch_take(s, (size_t)lwork, blas_bytes(t));
    Swap *swaps = scratch_take(s, (size_t)n, sizeof *swaps);
    if (!s->base)
        return 0;
    size_t bytes = (size_t)(n * n) * blas_bytes(t);
    memcpy(d, a, bytes);
    int info = lapack_sytrf(l, t, 'L', ni, a, ni, pivots, work, lwork);
    if (info > 0) {                      /* lasyf leaves columns as they were where a pivot is 0; */
        memcpy(a, d, bytes);             /* without room for blocks of columns sytf2 does it all */
        info = lapack_sytrf(l, t, 'L', ni, a, ni, pivots, work, 1);
    }
    ldl_unpack(t, n, a, d, order, pivots, swaps);
    return info < 0 ? info : 0;         /* a zero pivot is a zero in D */
}

/* ---- between a real Schur form and a complex triangle ----
 * LAPACK leaves a pair of complex eigenvalues as [a, b; c, a] with b c < 0 (dlanv2): they are
 * a ± i sqrt(-b c), and the rotation G = [-i p, s; -s, i p] with real p and s makes the block
 * triangular. The blocks are disjoint, so all rotations commute. */
typedef double _Complex Cx;

/* x := i a x + b y, y := -b x - i a y, for `count` pairs. */
static void turn(double a, double b, int64_t count, Cx *x, Cx *y, int64_t step)
{
    for (int64_t i = 0; i < count; i++, x += step, y += step) {
        double xr = creal(*x), xi = cimag(*x), yr = creal(*y), yi = cimag(*y);
        *x = complex_of(b * yr - a * xi, b * yi + a * xr);
        *y = complex_of(a * yi - b * xr, -a * yr - b * xi);
    }
}

/* Rows and columns k, k+1 of m: G m G', or G' m G to undo it. */
static void turn_block(int64_t n, const double *t, Cx *m, int64_t k, bool undo)
{
    double b = t[(k + 1) * n + k], c = t[k * n + k + 1];
    double shift = sqrt(fabs(b)) * sqrt(fabs(c)), length = hypot(shift, c);
    double p = shift / length, s = c / length;
    turn(undo ? p : -p, undo ? -s : s, n - k, m + k * (n + 1), m + k * (n + 1) + 1, n);
    turn(undo ? -p : p, undo ? -s : s, k + 2, m + k * n, m + (k + 1) * n, 1);
}

void schur_make_complex(int64_t n, const double *t, Cx *out)
{
    for (int64_t i = 0; i < n * n; i++)
        out[i] = t[i];
    for (int64_t k = 0; k + 1 < n; k++) {
        const double *block = t + k * (n + 1);
        if (block[1] == 0)
            continue;
        turn_block(n, t, out, k, false);
        double shift = sqrt(fabs(block[1])) * sqrt(fabs(block[n]));
        out[k * (n + 1)] = complex_of(block[0], shift);
        out[(k + 1) * (n + 1)] = complex_of(block[0], -shift);
        out[k * n + k + 1] = 0;
    }
}

void schur_undo_complex(int64_t n, const double *t, Cx *f)
{
    for (int64_t k = 0; k + 1 < n; k++)
        if (t[k * n + k + 1] != 0)
            turn_block(n, t, f, k, true);
}
