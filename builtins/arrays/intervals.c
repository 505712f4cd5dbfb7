/* What an interval is made of: its ends, its middle, its radius and its width, each rounded so that
 * what is made of them encloses it. A number is the interval of that number alone. lower and upper
 * of a text are its letters' (builtins/strings). */
#include "builtins/rows/rows.h"
#include "builtins/strings/text.h"

#include "interp/precision/cast.h"
#include "kernels/number/number.h"

#include <float.h>
#include <math.h>

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

static Value parts_of(OpCall *c, Part *part)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *x = arg_tensor(c, 0);
    if (dtype_info(x->dtype)->kind == 'c')
        arg_error(c, 0, ERR_DTYPE, "%s is complex: intervals are of real numbers", arg_text(c, 0));
    x = op_root(c, op_cast(c->in, v_tensor_raw(x), DT_INTERVAL)).tensor;
    x = op_keep(c, tensor_compact(ctx, x));
    const Interval *from = (const Interval *)(const void *)x->data;
    Tensor *out = op_keep(c, tensor_new(ctx, DT_F64, x->rank, tensor_shape(x)));
    for (int64_t i = 0; i < x->size; i++)
        ((double *)(void *)out->data)[i] = isnan(from[i].lo) ? NAN : part(from[i]);
    return op_result(c, out);
}

Value op_run_mid(OpCall *c) { return parts_of(c, middle); }
Value op_run_radius(OpCall *c) { return parts_of(c, radius); }
Value op_run_width(OpCall *c) { return parts_of(c, width); }

Value op_run_lower(OpCall *c)
{
    return v_is_numeric(c->args[0]) ? parts_of(c, low) : text_case(c, false);
}

Value op_run_upper(OpCall *c)
{
    return v_is_numeric(c->args[0]) ? parts_of(c, high) : text_case(c, true);
}
