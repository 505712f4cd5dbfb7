/* Exact products and elimination: see rational_linalg.h. The elimination is Bareiss's
 * (Sylvester's identity and multistep integer-preserving Gaussian elimination, Math. Comp.
 * 22, 1968) carried above the pivot too: after each step every pivot row has the same
 * pivot d, all divisions are exact, and the reduced form is the matrix over d. */
#include "kernels/rational_linalg.h"

#include "core/mem.h"

#include <string.h>

/* ---- products ---- */

RationalStatus rational_dot(Ctx *ctx, int64_t n, const Rational *a, int64_t sa, const Rational *b,
                            int64_t sb, Rational *out)
{
    Rational sum = rational_int(0), p;
    RationalStatus s = RATIONAL_OK;
    for (int64_t i = 0; i < n && s == RATIONAL_OK; i++) {
        s = rational_mul(ctx, &p, a[i * sa], b[i * sb]);
        if (s == RATIONAL_OK)
            s = rational_add(ctx, &sum, sum, p);
    }
    *out = sum;
    return s == RATIONAL_OK && *ctx->interrupt ? RATIONAL_INTERRUPT : s;
}

RationalStatus rational_gemm(Ctx *ctx, int64_t m, int64_t n, int64_t k, RationalMat a,
                             RationalMat b, Rational *c)
{
    RationalStatus s = RATIONAL_OK;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n && s == RATIONAL_OK; j++)
            s = rational_dot(ctx, k, a.data + i * a.rs, a.cs, b.data + j * b.cs, b.rs,
                             c + i * n + j);
    return s;
}

/* ---- integer matrices ---- */

typedef struct Work {
    Ctx *ctx;
    const Gmp *g;
    int64_t m, n;
    __mpz_struct *a;             /* m x n by rows */
    __mpz_struct **row;          /* where each row stands: swaps move pointers */
    mpz_t d, t, scale;           /* last pivot; scratch; product of the rows' multipliers */
    bool odd;                    /* rows were swapped an odd number of times */
} Work;

static void work_free(Work *w)
{
    if (!w->g)
        return;
    for (int64_t i = 0; w->a && i < w->m * w->n; i++)
        w->g->mpz_clear(&w->a[i]);
    w->g->mpz_clear(w->d);
    w->g->mpz_clear(w->t);
    w->g->mpz_clear(w->scale);
    mem_free(w->ctx, w->a, (size_t)(w->m * w->n) * sizeof *w->a);
    mem_free(w->ctx, w->row, (size_t)w->m * sizeof *w->row);
}

static RationalStatus work_open(Work *w, Ctx *ctx, int64_t m, int64_t n)
{
    *w = (Work){ .ctx = ctx, .m = m, .n = n };
    RationalStatus s = rational_gmp(ctx, &w->g);
    if (s != RATIONAL_OK)
        return w->g = NULL, s;
    w->g->mpz_init(w->d);
    w->g->mpz_init(w->t);
    w->g->mpz_init(w->scale);
    w->g->mpz_set_ui(w->d, 1);
    w->g->mpz_set_ui(w->scale, 1);
    w->row = mem_try_alloc(ctx, (size_t)m * sizeof *w->row);
    w->a = w->row ? mem_try_alloc(ctx, (size_t)(m * n) * sizeof *w->a) : NULL;
    if (!w->a) {
        mem_free(ctx, w->row, (size_t)m * sizeof *w->row);
        w->row = NULL;
        return RATIONAL_MEMORY;
    }
    for (int64_t i = 0; i < m * n; i++)
        w->g->mpz_init(&w->a[i]);
    for (int64_t i = 0; i < m; i++)
        w->row[i] = w->a + i * n;
    return RATIONAL_OK;
}

/* After an operation on a row: go on? */
static RationalStatus work_check(const Work *w)
{
    return *w->ctx->interrupt ? RATIONAL_INTERRUPT : gmp_spent() ? RATIONAL_MEMORY : RATIONAL_OK;
}

/* The least common multiple of a row's denominators, so far in t. */
static void row_multiple(Work *w, RationalMat a, int64_t i, int64_t n)
{
    RationalView v;
    for (int64_t j = 0; j < n; j++) {
        const __mpq_struct *q = rational_view(&v, a.data[i * a.rs + j * a.cs]);
        w->g->mpz_lcm(w->t, w->t, &q->_mp_den);
    }
}

static void row_integers(Work *w, RationalMat a, int64_t i, int64_t n, int64_t at)
{
    RationalView v;
    mpz_t f;
    w->g->mpz_init(f);
    for (int64_t j = 0; j < n; j++) {
        const __mpq_struct *q = rational_view(&v, a.data[i * a.rs + j * a.cs]);
        w->g->mpz_divexact(f, w->t, &q->_mp_den);
        w->g->mpz_mul(&w->row[i][at + j], f, &q->_mp_num);
    }
    w->g->mpz_clear(f);
}

/* [a | b] times each row's multiplier; b.data NULL: the identity. */
static RationalStatus work_load(Work *w, RationalMat a, int64_t na, RationalMat b, int64_t nb)
{
    RationalStatus s = RATIONAL_OK;
    for (int64_t i = 0; i < w->m && s == RATIONAL_OK; i++) {
        w->g->mpz_set_ui(w->t, 1);
        row_multiple(w, a, i, na);
        if (nb && b.data)
            row_multiple(w, b, i, nb);
        row_integers(w, a, i, na, 0);
        if (nb && b.data)
            row_integers(w, b, i, nb, na);
        else if (nb)
            w->g->mpz_set(&w->row[i][na + i], w->t);
        w->g->mpz_mul(w->scale, w->scale, w->t);
        s = work_check(w);
    }
    return s;
}

/* The shortest nonzero entry of column c from row r on; -1 if there is none. */
static int64_t find_pivot(const Work *w, int64_t r, int64_t c)
{
    int64_t best = -1;
    for (int64_t i = r; i < w->m; i++) {
        int size = w->row[i][c]._mp_size;
        if (size && (best < 0 || (size < 0 ? -size : size) < (w->row[best][c]._mp_size < 0
                                                             ? -w->row[best][c]._mp_size
                                                             : w->row[best][c]._mp_size)))
            best = i;
    }
    return best;
}

/* row i := (p row i - a[i][c] row r) / d for the pivot p in row r, in columns from `from` on. */
static RationalStatus eliminate_row(Work *w, int64_t i, int64_t r, int64_t c, int64_t from)
{
    const Gmp *g = w->g;
    __mpz_struct *x = w->row[i], *y = w->row[r], *p = &y[c];
    bool plain = w->d->_mp_size == 1 && w->d->_mp_d[0] == 1;
    g->mpz_set(w->t, &x[c]);
    for (int64_t j = from; j < w->n; j++) {
        if (x[j]._mp_size == 0 && (y[j]._mp_size == 0 || w->t->_mp_size == 0))
            continue;
        g->mpz_mul(&x[j], &x[j], p);
        g->mpz_submul(&x[j], w->t, &y[j]);
        if (!plain)
            g->mpz_divexact(&x[j], &x[j], w->d);
    }
    return work_check(w);
}

/* Reduces the first `cols` columns. `jordan`: above the pivots too. Returns the rank;
 * pivots[k] is the column of the k-th pivot. `square`: stops at a column without one. */
static RationalStatus work_reduce(Work *w, int64_t cols, bool jordan, bool square, int64_t *rank,
                                  int64_t *pivots)
{
    int64_t r = 0;
    RationalStatus s = RATIONAL_OK;
    for (int64_t c = 0; c < cols && r < w->m && s == RATIONAL_OK; c++) {
        int64_t at = find_pivot(w, r, c);
        if (at < 0 && square)
            break;
        if (at < 0)
            continue;
        __mpz_struct *top = w->row[at];
        w->row[at] = w->row[r];
        w->row[r] = top;
        w->odd ^= at != r;
        for (int64_t i = jordan ? 0 : r + 1; i < w->m && s == RATIONAL_OK; i++)
            if (i != r)
                s = eliminate_row(w, i, r, c, i < r ? 0 : c);
        w->g->mpz_set(w->d, &w->row[r][c]);
        if (pivots)
            pivots[r] = c;
        r++;
    }
    *rank = r;
    return s;
}

/* Column `from` and the n after it, over the last pivot. */
static RationalStatus work_store(Work *w, int64_t rows, int64_t from, int64_t n, Rational *out)
{
    mpq_t q;
    RationalStatus s = RATIONAL_OK;
    w->g->mpq_init(q);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n && s == RATIONAL_OK; j++) {
            w->g->mpz_set(&q->_mp_num, &w->row[i][from + j]);
            w->g->mpz_set(&q->_mp_den, w->d);
            w->g->mpq_canonicalize(q);
            s = rational_keep(w->ctx, &out[i * n + j], q);
            if (s == RATIONAL_OK)
                s = work_check(w);
        }
    w->g->mpq_clear(q);
    return s;
}

/* ---- what callers want ---- */

RationalStatus rational_rref(Ctx *ctx, int64_t m, int64_t n, RationalMat a, Rational *out,
                             int64_t *rank, int64_t *pivots)
{
    Work w;
    *rank = 0;
    if (m == 0 || n == 0)
        return RATIONAL_OK;
    RationalStatus s = work_open(&w, ctx, m, n);
    if (s == RATIONAL_OK) s = work_load(&w, a, n, (RationalMat){ NULL, 0, 0 }, 0);
    if (s == RATIONAL_OK) s = work_reduce(&w, n, out != NULL, false, rank, pivots);
    if (s == RATIONAL_OK && out) s = work_store(&w, m, 0, n, out);
    work_free(&w);
    return s;
}

RationalStatus rational_solve(Ctx *ctx, int64_t n, int64_t nrhs, RationalMat a, RationalMat b,
                              Rational *x, int64_t *column)
{
    Work w;
    int64_t rank = 0;
    if (n == 0)
        return RATIONAL_OK;
    RationalStatus s = work_open(&w, ctx, n, n + nrhs);
    if (s == RATIONAL_OK) s = work_load(&w, a, n, b, nrhs);
    if (s == RATIONAL_OK) s = work_reduce(&w, n, true, true, &rank, NULL);
    if (s == RATIONAL_OK && rank < n) {
        *column = rank;
        s = RATIONAL_SINGULAR;
    }
    if (s == RATIONAL_OK) s = work_store(&w, n, n, nrhs, x);
    work_free(&w);
    return s;
}

RationalStatus rational_det(Ctx *ctx, int64_t n, RationalMat a, Rational *out)
{
    Work w;
    int64_t rank = 0;
    *out = rational_int(n == 0);
    if (n == 0)
        return RATIONAL_OK;
    RationalStatus s = work_open(&w, ctx, n, n);
    if (s == RATIONAL_OK) s = work_load(&w, a, n, (RationalMat){ NULL, 0, 0 }, 0);
    if (s == RATIONAL_OK) s = work_reduce(&w, n, false, true, &rank, NULL);
    if (s == RATIONAL_OK && rank == n) {
        mpq_t q;
        w.g->mpq_init(q);
        w.g->mpz_set(&q->_mp_num, w.d);
        w.g->mpz_set(&q->_mp_den, w.scale);
        w.g->mpq_canonicalize(q);
        if (w.odd) q->_mp_num._mp_size = -q->_mp_num._mp_size;
        s = rational_keep(ctx, out, q);
        w.g->mpq_clear(q);
    }
    work_free(&w);
    return s;
}

/* ---- LU in fractions ---- */

static RationalStatus magnitude_of(Ctx *ctx, Rational a, Rational *out)
{
    *out = a;
    return rational_sign(a) < 0 ? rational_neg(ctx, out, a) : RATIONAL_OK;
}

static void swap_rows(Rational *lu, int64_t n, int64_t i, int64_t k, int64_t *perm)
{
    for (int64_t j = 0; j < n && i != k; j++) {
        Rational t = lu[i * n + j];
        lu[i * n + j] = lu[k * n + j];
        lu[k * n + j] = t;
    }
    int64_t p = perm[i];
    perm[i] = perm[k];
    perm[k] = p;
}

static RationalStatus largest_in_column(Ctx *ctx, int64_t m, int64_t n, const Rational *lu,
                                        int64_t k, int64_t *at)
{
    Rational best, size;
    RationalStatus s = magnitude_of(ctx, lu[k * n + k], &best);
    *at = k;
    for (int64_t i = k + 1; i < m && s == RATIONAL_OK; i++) {
        s = magnitude_of(ctx, lu[i * n + k], &size);
        if (s == RATIONAL_OK && rational_compare(ctx, size, best) > 0) {
            best = size;
            *at = i;
        }
    }
    return s;
}

RationalStatus rational_lu(Ctx *ctx, int64_t m, int64_t n, RationalMat a, Rational *lu,
                           int64_t *perm)
{
    RationalStatus s = RATIONAL_OK;
    for (int64_t i = 0; i < m; i++) {
        perm[i] = i;
        for (int64_t j = 0; j < n; j++)
            lu[i * n + j] = a.data[i * a.rs + j * a.cs];
    }
    for (int64_t k = 0; k < m && k < n && s == RATIONAL_OK; k++) {
        int64_t at;
        s = largest_in_column(ctx, m, n, lu, k, &at);
        swap_rows(lu, n, k, at, perm);
        if (rational_sign(lu[k * n + k]) == 0)
            continue;
        for (int64_t i = k + 1; i < m && s == RATIONAL_OK; i++) {
            Rational f, p;
            s = rational_div(ctx, &f, lu[i * n + k], lu[k * n + k]);
            lu[i * n + k] = s == RATIONAL_OK ? f : rational_int(0);
            for (int64_t j = k + 1; j < n && s == RATIONAL_OK; j++) {
                s = rational_mul(ctx, &p, f, lu[k * n + j]);
                if (s == RATIONAL_OK) s = rational_sub(ctx, &lu[i * n + j], lu[i * n + j], p);
            }
            if (s == RATIONAL_OK && *ctx->interrupt) s = RATIONAL_INTERRUPT;
        }
    }
    return s;
}
