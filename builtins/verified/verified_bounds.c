/* Bounds that hold in spite of roundings: see verified.h. u = 2^-53 throughout; a sum of n terms
 * that are not negative is off by at most (n - 1) u of itself, in any order (Higham, Accuracy and
 * Stability, section 4.2). */
#include "builtins/verified/verified.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double UNIT = 0x1p-53, TINY = 0x1p-1074;

double *verified_room(OpCall *c, int64_t n)
{
    int64_t size = n < 1 ? 1 : n;
    return (double *)(void *)op_keep(c, tensor_zeros(&c->in->ctx, DT_F64, 1, &size))->data;
}

double verified_above(double x, int64_t n)
{
    return x * (1 + 2 * (double)(n + 8) * UNIT) + (double)(n + 8) * TINY;
}

double verified_below(double x, int64_t n)
{
    double low = x * (1 - 2 * (double)(n + 8) * UNIT) - (double)(n + 8) * TINY;
    return low > 0 ? low : 0;
}

double verified_root(double x) { return verified_above(sqrt(x), 0); }

bool verified_spread(OpCall *c, const Interval *x, int64_t rows, int64_t cols, Spread *out)
{
    int64_t n = rows * cols;
    bool finite = true;
    *out = (Spread){ rows, cols, verified_room(c, n), verified_room(c, n), true };
    for (int64_t i = 0; i < n; i++) {
        double lo = x[i].lo, hi = x[i].hi, mid = lo == hi ? lo : lo / 2 + hi / 2;
        double rad = fmax(mid - lo, hi - mid);
        out->mid[i] = mid;
        out->rad[i] = rad > 0 ? nextafter(rad, INFINITY) : 0;
        out->points &= !(rad > 0);
        finite &= isfinite(lo) && isfinite(hi);
    }
    return finite;
}

Spread verified_transposed(OpCall *c, const Spread *A)
{
    int64_t n = A->rows * A->cols;
    Spread T = { A->cols, A->rows, verified_room(c, n), verified_room(c, n), A->points };
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t j = 0; j < A->cols; j++) {
            T.mid[j * A->rows + i] = A->mid[i * A->cols + j];
            T.rad[j * A->rows + i] = A->rad[i * A->cols + j];
        }
    return T;
}

/* ---- sums of products in pairs ---- */

PairSums pairs_room(OpCall *c, int64_t n)
{
    return (PairSums){ verified_room(c, n), verified_room(c, n), verified_room(c, n), n, 0 };
}

void pairs_clear(PairSums *s)
{
    size_t bytes = (size_t)s->n * sizeof(double);
    memset(s->hi, 0, bytes);
    memset(s->lo, 0, bytes);
    memset(s->size, 0, bytes);
    s->terms = 0;
}

/* The upper half of x's bits; huge numbers make a nan of it, which nobody takes for a bound. */
static inline double upper_half(double x)
{
    double c = 134217729 * x;                   /* 2^27 + 1 */
    return c - (c - x);
}

/* Product and sum in two parts each, exactly but for underflow; what is small is added up in `lo`
 * (Ogita, Rump and Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26 (2005), algorithm
 * 5.3; the product is Dekker's, so that the loop is of vectors on every processor). */
void pairs_add(PairSums *s, double a, const double *x)
{
    double *restrict hi = s->hi, *restrict lo = s->lo, *restrict size = s->size;
    double ah = upper_half(a), al = a - ah;
    for (int64_t k = 0; k < s->n; k++) {
        double p = a * x[k], xh = upper_half(x[k]), xl = x[k] - xh;
        double e = al * xl - (((p - ah * xh) - al * xh) - ah * xl);
        double t = hi[k] + p, z = t - hi[k];
        lo[k] += ((hi[k] - (t - z)) + (p - z)) + e;
        hi[k] = t;
        size[k] += fabs(p);
    }
    s->terms++;
}

/* What went into lo is at most n u (1 + n u) times the size, and its sum of 2 n terms is off by
 * 2 n u (1 + …) of that; a product that underflows is off by 5 of the least number at most. */
void pairs_value(const PairSums *s, double *value, double *error)
{
    double g = 2 * (double)(s->terms + 4) * UNIT, least = (double)(8 * s->terms) * TINY;
    for (int64_t k = 0; k < s->n; k++) {
        double v = s->hi[k] + s->lo[k], size = verified_above(s->size[k], s->terms);
        value[k] = v;
        error[k] = verified_above(fabs(v) * UNIT + g * g * size, 4) + least;
    }
}

/* ---- norms ---- */

bool verified_finite(const double *x, int64_t n)
{
    bool finite = true;
    for (int64_t i = 0; i < n; i++)
        finite &= isfinite(x[i]) != 0;
    return finite;
}

double verified_length(const double *size, int64_t n)
{
    double most = 0, sum = 0;
    if (!verified_finite(size, n))          /* fmax would pass over a nan */
        return INFINITY;
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, size[i]);
    if (most == 0)
        return 0;
    int exponent;
    frexp(most, &exponent);
    for (int64_t i = 0; i < n; i++) {
        double x = ldexp(size[i], -exponent);
        sum += x * x;
    }
    return verified_above(ldexp(verified_root(verified_above(sum, n)), exponent), 0);
}

/* The smaller of Frobenius' norm and the root of the largest row's sum times the largest
 * column's. */
double verified_norm2(const double *size, int64_t rows, int64_t cols)
{
    double row = 0, column = 0;
    if (!verified_finite(size, rows * cols))
        return INFINITY;
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0;
        for (int64_t j = 0; j < cols; j++)
            sum += size[i * cols + j];
        row = fmax(row, sum);
    }
    for (int64_t j = 0; j < cols; j++) {
        double sum = 0;
        for (int64_t i = 0; i < rows; i++)
            sum += size[i * cols + j];
        column = fmax(column, sum);
    }
    double both = verified_above(sqrt(verified_above(row, cols)) *
                                 sqrt(verified_above(column, rows)), 4);
    return fmin(both, verified_length(size, rows * cols));
}

/* C = fl(W W') is off by at most g |W| |W|' <= g (lengths of two rows multiplied), in any order of
 * the sums. */
double verified_orthonormal(OpCall *c, const double *W, int64_t count, int64_t length)
{
    double *C = verified_room(c, count * count), *size = verified_room(c, count);
    double g = 2 * (double)(length + 4) * UNIT;
    Mat w = { (char *)(uintptr_t)W, length, 1 }, turned = { (char *)(uintptr_t)W, 1, length };
    gemm(&c->in->ctx, linalg_blas(c), DT_F64, count, count, length, w, turned,
         (Mat){ (char *)C, count, 1 });
    poll_interrupt(c->in);
    for (int64_t j = 0; j < count; j++)
        size[j] = verified_root(verified_above(C[j * count + j], length));
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < count; j++) {
            double off = fabs(C[i * count + j] - (i == j));
            C[i * count + j] = verified_above(off + g * size[i] * size[j], length);
        }
    return verified_norm2(C, count, count);
}

/* ---- ends ---- */

static double sum_towards(double x, double y, double end)
{
    double s = x + y, z = s - x, rest = (x - (s - z)) + (y - z);
    if (isnan(rest) || isinf(s))
        return isnan(s) ? end : s == end ? s : nextafter(s, end);
    return (rest > 0) == (end > 0) && rest != 0 ? nextafter(s, end) : s;
}

Interval verified_around(double x, double lo, double hi)
{
    return (Interval){ sum_towards(x, lo, -INFINITY), sum_towards(x, hi, INFINITY) };
}
