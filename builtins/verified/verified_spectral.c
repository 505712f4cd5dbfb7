/* Eigenvalues of symmetric matrices and singular values, enclosed: see verified.h.
 *
 * LAPACK gives V and L with A V near V L. With R = A V - V L, computed in pairs of doubles,
 * each eigenvalue of A lies within ||R||_2 / smallest singular value of V of the one of L that
 * has its place (Cao, Xie and Li, A sharp version of Kahan's theorem on clustered eigenvalues,
 * LAA 245 (1996)); that of <M, D> within ||D||_2 more (Weyl). This holds for clusters too. A
 * value that lies apart from the others by this bound is enclosed again, about its Rayleigh
 * quotient: e^2 / gap on either side, e the length of the residual (Kato and Temple; Parlett, The
 * symmetric eigenvalue problem, section 10.5), and |v|' D |v| where A is an interval matrix. Its
 * vector lies within an angle of sine e / gap (Davis and Kahan).
 *
 * Singular values: those of A V lie within ||A V - U S|| of those of U S (Weyl), and products with
 * nearly orthonormal factors change them by no more than these' singular values (Ostrowski). Apart
 * from others a value is an eigenvalue of (0 A; A' 0) with the vector (u; v), enclosed as above. */
#include "builtins/verified/verified.h"

#include <math.h>
#include <string.h>

static const double UNIT = 0x1p-53;

/* A pair: what its Rayleigh quotient is more than the approximate value, up to `error` (of every
 * matrix in A), and the length of the residual. */
typedef struct Pair {
    double value, shift, error, residual;
    double gap_below, gap_above;        /* to the next values, where they are known to be */
} Pair;

static bool bounded(double x) { return x < INFINITY; }

/* gap = |end - value| less what the quotient may be nearer, from below. */
static double gap_to(double end, const Pair *p)
{
    double gap = fabs(end - p->value), nearer = fabs(p->shift) + p->error;
    return verified_below(verified_below(gap, 4) - verified_above(nearer, 4), 4);
}

/* x holds one value, no other is between `below` and `above`: it becomes narrower. False: the
 * others are not known to be apart. */
static bool apart(Pair *p, double below, double above, Interval *x)
{
    if (!(below < x->lo && x->hi < above && below < p->value && p->value < above))
        return false;
    p->gap_below = gap_to(below, p);
    p->gap_above = gap_to(above, p);
    if (!(p->gap_below > 0 && p->gap_above > 0))
        return false;
    double square = verified_above(p->residual * p->residual, 4);
    double less = verified_above(p->error + verified_above(square / p->gap_above, 4), 4);
    double more = verified_above(p->error + verified_above(square / p->gap_below, 4), 4);
    Interval y = verified_around(p->value, nextafter(p->shift - less, -INFINITY),
                                 nextafter(p->shift + more, INFINITY));
    if (y.lo <= x->hi && x->lo <= y.hi)
        *x = (Interval){ fmax(x->lo, y.lo), fmin(x->hi, y.hi) };
    return true;
}

/* ---- residuals ---- */

/* M' x - s y in pairs, and bounds of its errors. M' and not M: it is added up row by row. */
typedef struct Residual { double *value, *error, *size; PairSums sums; } Residual;

static void residual_of(const Spread *A, const double *x, double s, const double *y, Residual *out)
{
    PairSums *sums = &out->sums;
    pairs_clear(sums);
    for (int64_t k = 0; k < A->rows; k++)
        pairs_add(sums, x[k], A->mid + k * A->cols);
    pairs_add(sums, -s, y);
    pairs_value(sums, out->value, out->error);
    for (int64_t i = 0; i < A->cols; i++)
        out->size[i] = verified_above(fabs(out->value[i]) + out->error[i], 2);
}

/* D' |x| from above. */
static void spread_of(const Spread *A, const double *x, double *out)
{
    memset(out, 0, (size_t)A->cols * sizeof *out);
    for (int64_t k = 0; k < A->rows && !A->points; k++)
        for (int64_t i = 0; i < A->cols; i++)
            out[i] += A->rad[k * A->cols + i] * fabs(x[k]);
    for (int64_t i = 0; i < A->cols && !A->points; i++)
        out[i] = verified_above(out[i], A->rows);
}

/* What is added up of a vector, for its pair. */
typedef struct Sums { double square, with, sizes, error, spread; int64_t n; } Sums;

/* v' v, v' r and bounds of what r's errors and D may change in it. */
static void sums_add(Sums *s, const double *v, int64_t n, const Residual *r, const double *wide)
{
    for (int64_t i = 0; i < n; i++) {
        s->square += v[i] * v[i];
        s->with += v[i] * r->value[i];
        s->sizes += fabs(v[i] * r->value[i]);
        s->error += fabs(v[i]) * r->error[i];
        s->spread += fabs(v[i]) * wide[i];
    }
    s->n += n;
}

static Pair pair_of(double value, Sums s, double residual, double wide)
{
    Pair p = { .value = value };
    double square = verified_below(s.square, s.n);
    double g = 2 * (double)(s.n + 8) * UNIT, sums = verified_above(g * s.sizes, s.n);
    double loose = verified_above(verified_above(s.error, s.n) + verified_above(s.spread, s.n) +
                                  sums, 4);
    p.shift = s.with / s.square;
    p.error = verified_above(verified_above(loose / square, 4) +
                             2 * g * fabs(p.shift), 4);
    p.residual = verified_above(verified_above(residual + wide, 4) /
                                verified_below(sqrt(square), 4), 4);
    return p;
}

/* ---- symmetric matrices ---- */

static int approximate_eigh(OpCall *c, const Spread *A, double *values, double *V)
{
    const Blas *blas = linalg_blas(c);
    int64_t n = A->rows;
    Scratch work = { 0 };
    void *block = linalg_matrix(c, n, n, sizeof(double));
    lapack_eigh(blas, BLAS_D, true, 'L', n, NULL, NULL, &work);
    scratch_allocate(c, &work);
    lapack_threads(&c->in->ctx, blas, LAPACK_EIGH, n);
    memcpy(block, A->mid, (size_t)(n * n) * sizeof(double));
    int info = lapack_eigh(blas, BLAS_D, true, 'L', n, block, values, &work);
    memcpy(V, block, (size_t)(n * n) * sizeof(double));
    poll_interrupt(c->in);
    return info;
}

/* Unit vectors around those of V, of lengths whose squares are between; false: an angle has no
 * bound. */
static bool vector_of(const Pair *p, const double *v, int64_t n, Interval *out)
{
    double sine = verified_above(p->residual / fmin(p->gap_below, p->gap_above), 4), square = 0;
    if (!(sine < 1))
        return false;
    double off = sine < 0.5 ? sine * (1 + sine * sine) : 1.4143 * sine;
    for (int64_t i = 0; i < n; i++)
        square += v[i] * v[i];
    double stretch = 1.5 * fmax(fabs(verified_above(square, n) - 1),
                                fabs(verified_below(square, n) - 1));
    for (int64_t i = 0; i < n; i++) {
        double by = verified_above(off + stretch * fabs(v[i]), 8);
        out[i] = verified_around(v[i], -by, by);
        out[i] = (Interval){ fmax(out[i].lo, -1), fmin(out[i].hi, 1) };
    }
    return true;
}

static Residual residual_room(OpCall *c, int64_t n)
{
    return (Residual){ verified_room(c, n), verified_room(c, n), NULL, pairs_room(c, n) };
}

/* The pairs, and what all values may be off by. */
static double eigen_pairs(OpCall *c, const Spread *A, const double *value, const double *V,
                          Pair *pairs)
{
    int64_t n = A->rows;
    double *sizes = verified_room(c, n * n), *wide = verified_room(c, n);
    double loose = verified_orthonormal(c, V, n, n);
    Residual r = residual_room(c, n);
    for (int64_t j = 0; j < n; j++) {
        const double *v = V + j * n;
        Sums s = { 0 };
        poll_interrupt(c->in);
        r.size = sizes + j * n;
        residual_of(A, v, value[j], v, &r);     /* A is its own transposed */
        spread_of(A, v, wide);
        sums_add(&s, v, n, &r, wide);
        pairs[j] = pair_of(value[j], s, verified_length(r.size, n), verified_length(wide, n));
    }
    if (!(loose < 0.5))
        return INFINITY;
    double all = verified_norm2(sizes, n, n) / sqrt(verified_below(1 - loose, 4));
    return verified_above(verified_above(all, 8) + verified_norm2(A->rad, n, n), 4);
}

VerifiedWhy verified_eigh(OpCall *c, const Spread *A, Interval *values, Interval *vectors,
                          int64_t *at)
{
    int64_t n = A->rows;
    VerifiedWhy why = VERIFIED;
    double *value = verified_room(c, n), *V = verified_room(c, n * n);
    Pair *pairs = linalg_work(c, (size_t)n + 1, sizeof *pairs);
    Interval *wide = linalg_work(c, (size_t)n + 1, sizeof *wide);
    if (n == 0)
        return VERIFIED;
    if (approximate_eigh(c, A, value, V))
        return VERIFIED_DIVERGED;
    double off = eigen_pairs(c, A, value, V, pairs);
    if (!bounded(off))
        return VERIFIED_RANGE;
    for (int64_t j = 0; j < n; j++)
        wide[j] = values[j] = verified_around(value[j], -off, off);
    for (int64_t j = 0; j < n; j++) {
        double below = j ? wide[j - 1].hi : -INFINITY;
        double above = j + 1 < n ? wide[j + 1].lo : INFINITY;
        bool told = apart(&pairs[j], below, above, &values[j]);
        if (vectors && why == VERIFIED &&
            !(told && vector_of(&pairs[j], V + j * n, n, vectors + j * n))) {
            why = VERIFIED_TOGETHER;
            bool left = j && (j + 1 == n || value[j] - value[j - 1] < value[j + 1] - value[j]);
            *at = left ? j - 1 : j;
        }
    }
    return why;
}

/* ---- singular values ---- */

/* Factors of a tall matrix: U and V hold vectors as rows. */
typedef struct Factors { double *U, *V, *S; } Factors;

static int approximate_svd(OpCall *c, const Spread *A, Factors *f)
{
    const Blas *blas = linalg_blas(c);
    int64_t m = A->rows, n = A->cols;
    Scratch work = { 0 };
    double *block = linalg_matrix(c, m, n, sizeof(double));
    double *vt = linalg_matrix(c, n, n, sizeof(double));
    double *u = linalg_matrix(c, m, n, sizeof(double));
    *f = (Factors){ u, verified_room(c, n * n), verified_room(c, n) };
    lapack_svd(blas, BLAS_D, 'S', m, n, block, NULL, NULL, NULL, &work);
    scratch_allocate(c, &work);
    lapack_threads(&c->in->ctx, blas, LAPACK_SVD, n);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            block[j * m + i] = A->mid[i * n + j];
    int info = lapack_svd(blas, BLAS_D, 'S', m, n, block, f->S, u, vt, &work);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            f->V[i * n + j] = vt[j * n + i];
    poll_interrupt(c->in);
    return info;
}

/* The pairs of (0 A; A' 0); a bound of ||A V - U S||_2 of every matrix in A, V's singular values
 * below `most`. */
static double singular_pairs(OpCall *c, const Spread *A, const Factors *f, double most, Pair *pairs)
{
    int64_t m = A->rows, n = A->cols;
    double *sizes = verified_room(c, m * n), *other = verified_room(c, n);
    double *wide[2] = { verified_room(c, m), verified_room(c, n) };
    Residual p = residual_room(c, m), q = residual_room(c, n);
    Spread T = verified_transposed(c, A);
    q.size = other;
    for (int64_t j = 0; j < n; j++) {
        const double *u = f->U + j * m, *v = f->V + j * n;
        Sums s = { 0 };
        poll_interrupt(c->in);
        p.size = sizes + j * m;
        residual_of(&T, v, f->S[j], u, &p);
        residual_of(A, u, f->S[j], v, &q);
        spread_of(&T, v, wide[0]);
        spread_of(A, u, wide[1]);
        sums_add(&s, u, m, &p, wide[0]);
        sums_add(&s, v, n, &q, wide[1]);
        double both[2] = { verified_length(p.size, m), verified_length(q.size, n) };
        double spreads[2] = { verified_length(wide[0], m), verified_length(wide[1], n) };
        pairs[j] = pair_of(f->S[j], s, verified_length(both, 2), verified_length(spreads, 2));
    }
    double radius = verified_above(verified_norm2(A->rad, m, n) * most, 4);
    return verified_above(verified_norm2(sizes, n, m) + radius, 4);
}

VerifiedWhy verified_svdvals(OpCall *c, const Spread *given, Interval *values)
{
    bool tall = given->rows >= given->cols;
    Spread A = tall ? *given : verified_transposed(c, given);
    int64_t n = A.cols;
    Factors f;
    Pair *pairs = linalg_work(c, (size_t)n + 1, sizeof *pairs);
    Interval *wide = linalg_work(c, (size_t)n + 1, sizeof *wide);
    if (n == 0)
        return VERIFIED;
    if (approximate_svd(c, &A, &f))
        return VERIFIED_DIVERGED;
    double eu = verified_orthonormal(c, f.U, n, A.rows), ev = verified_orthonormal(c, f.V, n, n);
    if (!(eu < 0.5 && ev < 0.5))
        return VERIFIED_RANGE;
    double most[2] = { verified_root(1 + eu), verified_root(1 + ev) };
    double least[2] = { verified_below(sqrt(verified_below(1 - eu, 4)), 4),
                        verified_below(sqrt(verified_below(1 - ev, 4)), 4) };
    double off = singular_pairs(c, &A, &f, most[1], pairs);
    if (!bounded(off))
        return VERIFIED_RANGE;
    for (int64_t j = 0; j < n; j++) {
        double low = verified_below(f.S[j] * least[0], 4) - off;
        double high = verified_above(verified_above(f.S[j] * most[0], 4) + off, 4);
        wide[j].lo = verified_below(fmax(low, 0) / most[1], 8);
        wide[j].hi = verified_above(high / least[1], 8);
        values[j] = wide[j];
    }
    for (int64_t j = 0; j < n; j++)
        apart(&pairs[j], j + 1 < n ? wide[j + 1].hi : 0, j ? wide[j - 1].lo : INFINITY, &values[j]);
    return VERIFIED;
}
