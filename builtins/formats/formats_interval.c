/* Products of interval matrices by midpoint and radius: three products of doubles instead of an
 * addition with directed rounding for each of m n k terms (S. M. Rump, Fast and parallel interval
 * arithmetic, BIT 39 (1999), p. 534). The radius is up to 1.5 times that of the sums in order where
 * intervals are wide; where they are points it is the worst case of k roundings, ten times what
 * happens at k = 500. So small products, and those that are to be reproducible, stay in order.
 *
 * A holds <Am, Ar>, B <Bm, Br>. With u = 2^-53 and the usual bound for sums of k products in any
 * order, fused or not (Higham, Accuracy and Stability, section 3.1), C = fl(Am Bm) differs from
 * Am Bm by at most g |Am| |Bm| + k eta, g = k u / (1 - k u), eta = 2^-1074 for underflow. So every
 * product lies within C ± R, R = |Am| (Br + g |Bm|) + Ar (|Bm| + Br) + k eta, where what is rounded
 * on the way to R is made up for by factors above 1. */
#include "builtins/formats/formats.h"
#include "interp/op/heard.h"
#include "kernels/gemm/gemm.h"

#include <float.h>
#include <math.h>

static const double LEAST_WORK = 32 * 32 * 32, MOST_TERMS = 1e8;
static const double TINY = 0x1p-1074;

typedef struct Halves {
    double *mid, *rad, *size;           /* size = |mid| */
    int64_t rows, cols;
    bool points;                        /* all radii are 0 */
} Halves;

static double *room(OpCall *c, int64_t n)
{
    return (double *)(void *)op_keep(c, tensor_new(&c->in->ctx, DT_F64, 1, &n))->data;
}

/* mid and rad with mid - rad <= lo, hi <= mid + rad; false where an end is not finite. */
static bool take_halves(OpCall *c, const Interval *x, int64_t rows, int64_t cols, Halves *h)
{
    int64_t n = rows * cols;
    *h = (Halves){ room(c, n), room(c, n), room(c, n), rows, cols, true };
    bool finite = true;
    for (int64_t i = 0; i < n; i++) {
        double lo = x[i].lo, hi = x[i].hi, mid = lo == hi ? lo : lo / 2 + hi / 2;
        double rad = mid - lo > hi - mid ? mid - lo : hi - mid;
        h->mid[i] = mid;
        h->size[i] = fabs(mid);
        h->rad[i] = rad > 0 ? nextafter(rad, INFINITY) : 0;
        h->points &= h->rad[i] == 0;
        finite &= isfinite(lo) && isfinite(hi);
    }
    return finite;
}

static double above(double x) { return x > 0 ? x * (1 + 0x1p-50) + TINY : 0; }

static Mat by_rows(double *x, int64_t cols) { return (Mat){ (char *)x, cols, 1 }; }

/* m x n; what is half done at an interrupt is not looked at. */
static double *product(OpCall *c, const Blas *blas, const Halves *a, double *x, const Halves *b,
                       double *y)
{
    double *out = room(c, a->rows * b->cols);
    gemm(&c->in->ctx, blas, DT_F64, a->rows, b->cols, a->cols, by_rows(x, a->cols),
         by_rows(y, b->cols), by_rows(out, b->cols));
    poll_interrupt(c->in);
    return out;
}

/* C ± R in `out`; false where an end is not finite. */
static bool enclose(OpCall *c, const Blas *blas, Halves *a, Halves *b, Interval *out)
{
    int64_t inner = b->rows * b->cols;
    double terms = (double)a->cols, g = (terms + 4) * 0x1p-53;
    double *mid = product(c, blas, a, a->mid, b, b->mid), *wide = NULL;
    if (!a->points) {
        double *reach = room(c, inner);
        for (int64_t i = 0; i < inner; i++)
            reach[i] = above(b->size[i] + b->rad[i]);
        wide = product(c, blas, a, a->rad, b, reach);
    }
    for (int64_t i = 0; i < inner; i++)
        b->rad[i] = above(b->rad[i] + above(g * b->size[i]) + (b->size[i] > 0 ? TINY : 0));
    double *rad = product(c, blas, a, a->size, b, b->rad);
    bool finite = true;
    for (int64_t i = 0; i < a->rows * b->cols; i++) {
        double sum = rad[i] + (wide ? wide[i] : 0);
        double r = sum * (1 + 2 * g + 0x1p-50) + (3 * terms + 4) * TINY;
        out[i] = (Interval){ nextafter(mid[i] - r, -INFINITY), nextafter(mid[i] + r, INFINITY) };
        finite &= isfinite(out[i].lo) && isfinite(out[i].hi);
    }
    return finite;
}

bool format_interval_product(OpCall *c, int64_t m, int64_t n, int64_t k, const Interval *x,
                             const Interval *y, Interval *out)
{
    Halves a, b;
    BlasRefusal why;
    if ((double)m * (double)n * (double)k < LEAST_WORK || (double)k > MOST_TERMS)
        return false;
    const Blas *blas = blas_open(&why);
    if (!blas)
        return false;
    Value *mark = c->in->sp;
    bool done = take_halves(c, x, m, k, &a) && take_halves(c, y, k, n, &b) &&
                enclose(c, blas, &a, &b, out);
    stack_cut(c->in, mark);
    if (done && heard_on(c->in))
        heard_kernel(c->in, "midpoint and radius", blas->name);
    return done;
}
