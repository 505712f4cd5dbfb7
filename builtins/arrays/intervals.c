/* What an interval is made of: its ends, its middle, its radius and its width, each rounded so that
 * what is made of them encloses it. A number is the interval of that number alone. lower and upper
 * of a text are its letters' (builtins/strings). */
#include "builtins/arrays/intervals.h"
#include "builtins/strings/text.h"

#include "interp/op/elementwise.h"
#include "interp/precision/cast.h"
#include "kernels/number/number.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef double Part(Interval);

static double low(Interval x) { return x.lo; }
static double high(Interval x) { return x.hi; }

/* Near the middle; 0 of the whole line, a finite number of a half-line. */
static double middle(Interval x)
{
    if (isinf(x.lo) && isinf(x.hi))
        return x.lo == x.hi ? x.lo : 0;
    if (isinf(x.lo) || isinf(x.hi))
        return isinf(x.lo) ? -DBL_MAX : DBL_MAX;
    return x.lo == x.hi ? x.lo : x.lo / 2 + x.hi / 2;
}

/* hi - lo, not below it. */
static double difference(double hi, double lo)
{
    double d = hi - lo, part = d - hi, rest = (hi - (d - part)) + (-lo - part);
    return isfinite(d) && rest > 0 ? nextafter(d, INFINITY) : d;
}

static double width(Interval x) { return difference(x.hi, x.lo); }

static double radius(Interval x)
{
    double m = middle(x);
    return fmax(difference(m, x.lo), difference(x.hi, m));
}

/* Argument i as intervals. */
static Tensor *intervals(OpCall *c, int i)
{
    Tensor *x = arg_tensor(c, i);
    if (dtype_info(x->dtype)->kind == 'c')
        arg_error(c, i, ERR_DTYPE, "%s is complex: intervals are of real numbers", arg_text(c, i));
    return op_root(c, op_cast(c->in, v_tensor_raw(x), DT_INTERVAL)).tensor;
}

static Value parts_of(OpCall *c, Part *part)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *x = op_keep(c, tensor_compact(ctx, intervals(c, 0)));
    const Interval *from = (const Interval *)(const void *)x->data;
    Tensor *out = op_keep(c, tensor_new(ctx, DT_F64, x->rank, tensor_shape(x)));
    for (int64_t i = 0; i < x->size; i++)
        ((double *)(void *)out->data)[i] = isnan(from[i].lo) ? NAN : part(from[i]);
    return op_result(c, out);
}

Value op_run_mid(OpCall *c) { return parts_of(c, middle); }
Value op_run_radius(OpCall *c) { return parts_of(c, radius); }
Value op_run_width(OpCall *c) { return parts_of(c, width); }

/* ---- two of them ---- */

/* An element for each of the shape. */
static Tensor *spread(OpCall *c, Tensor *x, int rank, const int64_t *shape)
{
    x = op_keep(c, tensor_broadcast(&c->in->ctx, x, rank, shape));
    return op_keep(c, tensor_compact(&c->in->ctx, x));
}

static _Noreturn void apart(OpCall *c, Interval x, Interval y)
{
    arg_error(c, 0, ERR_NUMERIC, "%s and %s have nothing in common: [%.17g, %.17g] and "
              "[%.17g, %.17g]", arg_text(c, 0), arg_text(c, 1), x.lo, x.hi, y.lo, y.hi);
}

static Interval join(Interval x, Interval y)
{
    return (Interval){ x.lo < y.lo ? x.lo : y.lo, x.hi > y.hi ? x.hi : y.hi };
}

static Interval meet(Interval x, Interval y)
{
    return (Interval){ x.lo > y.lo ? x.lo : y.lo, x.hi < y.hi ? x.hi : y.hi };
}

static Value combined(OpCall *c, bool both)
{
    int64_t shape[TENSOR_RANK_MAX];
    int bad;
    Tensor *x = intervals(c, 0), *y = intervals(c, 1);
    int rank = shape_broadcast(x->rank, tensor_shape(x), y->rank, tensor_shape(y), shape, &bad);
    if (rank < 0)
        ew_shape_error(c->in, c->op, (Tensor *[]){ x, y }, 2);
    x = spread(c, x, rank, shape);
    y = spread(c, y, rank, shape);
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, DT_INTERVAL, rank, shape));
    const Interval *a = (const Interval *)(const void *)x->data;
    const Interval *b = (const Interval *)(const void *)y->data;
    for (int64_t i = 0; i < out->size; i++) {
        bool nan = isnan(a[i].lo) || isnan(b[i].lo);
        Interval r = both ? join(a[i], b[i]) : meet(a[i], b[i]);
        if (!nan && r.lo > r.hi)
            apart(c, a[i], b[i]);
        ((Interval *)(void *)out->data)[i] = nan ? (Interval){ NAN, NAN } : r;
    }
    return op_result(c, out);
}

bool intervals_hold(OpCall *c)
{
    int64_t shape[TENSOR_RANK_MAX];
    int bad;
    Tensor *v = intervals(c, 0), *x = intervals(c, 1);
    int rank = shape_broadcast(v->rank, tensor_shape(v), x->rank, tensor_shape(x), shape, &bad);
    if (rank != x->rank || memcmp(shape, tensor_shape(x), (size_t)rank * sizeof *shape) != 0)
        arg_error(c, 0, ERR_SHAPE, "%s does not broadcast to the intervals %s", arg_text(c, 0),
                  arg_text(c, 1));
    v = spread(c, v, rank, shape);
    x = spread(c, x, rank, shape);
    const Interval *a = (const Interval *)(const void *)v->data;
    const Interval *b = (const Interval *)(const void *)x->data;
    for (int64_t i = 0; i < x->size; i++)
        if (!(a[i].lo >= b[i].lo && a[i].hi <= b[i].hi))
            return false;
    return true;
}

Value op_run_hull(OpCall *c) { return combined(c, true); }
Value op_run_intersect(OpCall *c) { return combined(c, false); }

Value op_run_lower(OpCall *c)
{
    return v_is_numeric(c->args[0]) ? parts_of(c, low) : text_case(c, false);
}

Value op_run_upper(OpCall *c)
{
    return v_is_numeric(c->args[0]) ? parts_of(c, high) : text_case(c, true);
}
