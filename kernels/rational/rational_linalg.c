/* Exact products and elimination: see rational_linalg.h. The elimination is Bareiss's
 * (Sylvester's identity and multistep integer-preserving Gaussian elimination, Math. Comp.
 * 22, 1968) carried above the pivot too: after each step every pivot row has the same
 * pivot d, all divisions are exact, and the reduced form is the matrix over d. */
#include "kernels/rational/rational_linalg.h"

#include "core/base/mem.h"
#include "kernels/rational/flint.h"

#include <stdlib.h>
#include <string.h>

/* ---- products ---- */

/* Goes on where numbers became long: sums live in GMP, so that they leave nothing behind. */
static RationalStatus dot_long(Ctx *ctx, int64_t n, const Rational *a, int64_t sa,
                               const Rational *b, int64_t sb, Rational *sum)
{
    const Gmp *g;
    RationalView va, vb;
    mpq_t total, p;
    RationalStatus s = rational_gmp(ctx, &g);
    if (s != RATIONAL_OK)
        return s;
    g->mpq_init(total);
    g->mpq_init(p);
    g->mpq_add(total, total, rational_view(&va, *sum));
    for (int64_t i = 0; i < n && s == RATIONAL_OK; i++) {
        g->mpq_mul(p, rational_view(&va, a[i * sa]), rational_view(&vb, b[i * sb]));
        g->mpq_add(total, total, p);
        s = *ctx->interrupt ? RATIONAL_INTERRUPT : gmp_spent() ? RATIONAL_MEMORY : RATIONAL_OK;
    }
    if (s == RATIONAL_OK)
        s = rational_keep(ctx, sum, total);
    g->mpq_clear(total);
    g->mpq_clear(p);
    return s;
}

RationalStatus rational_dot(Ctx *ctx, int64_t n, const Rational *a, int64_t sa, const Rational *b,
                            int64_t sb, Rational *out)
{
    Rational sum = rational_int(0);
    RationalStatus s = RATIONAL_OK;
    for (int64_t i = 0; i < n && s == RATIONAL_OK && !*ctx->interrupt; i++)
        if (!rational_accumulate(&sum, a[i * sa], b[i * sb])) {
            s = dot_long(ctx, n - i, a + i * sa, sa, b + i * sb, sb, &sum);
            break;
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

typedef struct Nest {
    Ctx *ctx;
    const RationalNest *plan;
    int order[RATIONAL_INDICES];       /* the result's indices, then the summed ones */
} Nest;

/* out += the product of one element of each operand. */
static RationalStatus add_product(const Nest *nest, Rational *out, const Rational *const *at)
{
    Rational p = *at[0];
    RationalStatus s = RATIONAL_OK;
    for (int k = 1; k < nest->plan->operands && s == RATIONAL_OK; k++)
        s = rational_mul(nest->ctx, &p, p, *at[k]);
    if (s == RATIONAL_OK)
        s = rational_add(nest->ctx, out, *out, p);
    return s == RATIONAL_OK && *nest->ctx->interrupt ? RATIONAL_INTERRUPT : s;
}

/* The indices order[level…], with the operands where the outer ones have moved them. */
static RationalStatus nest_walk(const Nest *nest, int level, Rational *out,
                                const Rational *const *in)
{
    const RationalNest *p = nest->plan;
    const Rational *at[2];
    Rational sum;
    RationalStatus s = RATIONAL_OK;
    if (level == p->indices)
        return add_product(nest, out, in);
    int i = nest->order[level];
    if (level == p->indices - 1 && !p->kept[i] && p->operands == 2) {
        s = rational_dot(nest->ctx, p->n[i], in[0], p->in[0][i], in[1], p->in[1][i], &sum);
        return s == RATIONAL_OK ? rational_add(nest->ctx, out, *out, sum) : s;
    }
    memcpy(at, in, (size_t)p->operands * sizeof *at);
    for (int64_t v = 0; v < p->n[i] && s == RATIONAL_OK; v++) {
        s = nest_walk(nest, level + 1, out + v * p->out[i], at);
        for (int k = 0; k < p->operands; k++)
            at[k] += p->in[k][i];
    }
    return s;
}

RationalStatus rational_einsum(Ctx *ctx, const RationalNest *plan, Rational *out,
                               const Rational *const *in)
{
    Nest nest = { .ctx = ctx, .plan = plan };
    int k = 0;
    for (int kept = 1; kept >= 0; kept--)
        for (int i = 0; i < plan->indices; i++)
            if (plan->kept[i] == (bool)kept)
                nest.order[k++] = i;
    return nest_walk(&nest, 0, out, in);
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
    RationalStatus s = RATIONAL_SINGULAR;
    if (n == 0)
        return RATIONAL_OK;
    if (b.data && flint_wants(ctx, n, nrhs, a, b))
        s = flint_solve(ctx, n, nrhs, a, b, x);
    if (s != RATIONAL_SINGULAR)
        return s;
    s = work_open(&w, ctx, n, n + nrhs);            /* also to name the column */
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
    if (flint_wants(ctx, n, 0, a, (RationalMat){ NULL, 0, 0 }))
        return flint_det(ctx, n, a, out);
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

typedef struct Factors {
    Ctx *ctx;
    const Gmp *g;
    int64_t m, n;
    __mpq_struct *a;             /* m x n by rows */
    int64_t *perm;
} Factors;

static RationalStatus factors_open(Factors *f, Ctx *ctx, int64_t m, int64_t n, RationalMat a)
{
    RationalView v;
    mpq_t zero;
    *f = (Factors){ .ctx = ctx, .m = m, .n = n };
    RationalStatus s = rational_gmp(ctx, &f->g);
    if (s == RATIONAL_OK && !(f->a = mem_try_alloc(ctx, (size_t)(m * n) * sizeof *f->a)))
        s = RATIONAL_MEMORY;
    if (s != RATIONAL_OK)
        return s;
    f->g->mpq_init(zero);
    for (int64_t i = 0; i < m * n; i++) {
        f->g->mpq_init(&f->a[i]);
        f->g->mpq_add(&f->a[i], zero, rational_view(&v, a.data[i / n * a.rs + i % n * a.cs]));
    }
    f->g->mpq_clear(zero);
    return gmp_spent() ? RATIONAL_MEMORY : RATIONAL_OK;
}

static void factors_free(Factors *f)
{
    for (int64_t i = 0; f->a && i < f->m * f->n; i++)
        f->g->mpq_clear(&f->a[i]);
    mem_free(f->ctx, f->a, (size_t)(f->m * f->n) * sizeof *f->a);
}

static int64_t largest_in_column(const Factors *f, int64_t k)
{
    int64_t at = k;
    for (int64_t i = k + 1; i < f->m; i++) {
        __mpq_struct x = f->a[i * f->n + k], best = f->a[at * f->n + k];
        x._mp_num._mp_size = abs(x._mp_num._mp_size);
        best._mp_num._mp_size = abs(best._mp_num._mp_size);
        if (f->g->mpq_cmp(&x, &best) > 0)
            at = i;
    }
    return at;
}

static void swap_rows(Factors *f, int64_t i, int64_t k)
{
    for (int64_t j = 0; j < f->n && i != k; j++) {
        __mpq_struct t = f->a[i * f->n + j];
        f->a[i * f->n + j] = f->a[k * f->n + j];
        f->a[k * f->n + j] = t;
    }
    int64_t p = f->perm[i];
    f->perm[i] = f->perm[k];
    f->perm[k] = p;
}

/* Row i less a multiple of row k, the multiplier left in its place. */
static RationalStatus subtract_row(Factors *f, int64_t i, int64_t k)
{
    mpq_t p;
    __mpq_struct *x = f->a + i * f->n, *top = f->a + k * f->n;
    f->g->mpq_init(p);
    f->g->mpq_div(&x[k], &x[k], &top[k]);
    for (int64_t j = k + 1; j < f->n && x[k]._mp_num._mp_size; j++) {
        f->g->mpq_mul(p, &x[k], &top[j]);
        f->g->mpq_sub(&x[j], &x[j], p);
    }
    f->g->mpq_clear(p);
    return *f->ctx->interrupt ? RATIONAL_INTERRUPT : gmp_spent() ? RATIONAL_MEMORY : RATIONAL_OK;
}

RationalStatus rational_lu(Ctx *ctx, int64_t m, int64_t n, RationalMat a, Rational *lu,
                           int64_t *perm)
{
    Factors f;
    for (int64_t i = 0; i < m; i++)
        perm[i] = i;
    if (m == 0 || n == 0)
        return RATIONAL_OK;
    RationalStatus s = factors_open(&f, ctx, m, n, a);
    f.perm = perm;
    for (int64_t k = 0; k < m && k < n && s == RATIONAL_OK; k++) {
        swap_rows(&f, k, largest_in_column(&f, k));
        for (int64_t i = k + 1; i < m && s == RATIONAL_OK; i++)
            if (f.a[k * n + k]._mp_num._mp_size)
                s = subtract_row(&f, i, k);
    }
    for (int64_t i = 0; i < m * n && s == RATIONAL_OK; i++)
        s = rational_keep(ctx, &lu[i], &f.a[i]);
    factors_free(&f);
    return s;
}
