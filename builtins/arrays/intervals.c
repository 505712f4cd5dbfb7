/* What an interval is made of: its ends, its middle, its radius and its width, each rounded so that
 * what is made of them encloses it; and intervals as sets of numbers. A number is the interval of
 * that number alone. lower and upper of a text are its letters' (builtins/strings). */
#include "builtins/written/written.h"
#include "builtins/arrays/intervals.h"
#include "builtins/strings/text.h"

#include "interp/op/elementwise.h"
#include "interp/precision/cast.h"
#include "kernels/number/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
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
static Tensor *set_of(OpCall *c, int i)
{
    Tensor *x = arg_tensor(c, i);
    if (dtype_info(x->dtype)->kind == 'c')
    {
        char help[160];
        snprintf(help, sizeof help, "a rectangle has two: %s(real(%s)) and %s(imag(%s))",
                 c->op->name, arg_text(c, i), c->op->name, arg_text(c, i));
        arg_error_help(c, i, ERR_DTYPE, help, "%s is complex: intervals are of real numbers",
                       arg_text(c, i));
    }
    return op_root(c, op_cast(c->in, v_tensor_raw(x), DT_INTERVAL)).tensor;
}

static Value parts_of(OpCall *c, Part *part)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *x = op_keep(c, tensor_compact(ctx, set_of(c, 0)));
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

/* ---- sets of numbers: hull, intersect, contains ---- */

/* The arguments as intervals, each broadcast to the shape of all and lying by rows. */
typedef struct Sets {
    const Interval **of;
    int count, rank;
    int64_t size, shape[TENSOR_RANK_MAX];
} Sets;

static Sets sets_of(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    int64_t words = 2 * (int64_t)c->count;
    Sets s = { .count = c->count, .size = 1 };
    Tensor **x = (Tensor **)(void *)op_keep(c, tensor_new(ctx, DT_I64, 1, &words))->data;
    s.of = (const Interval **)(void *)(x + c->count);
    for (int i = 0; i < c->count; i++) {
        int64_t shape[TENSOR_RANK_MAX];
        int bad;
        x[i] = set_of(c, i);
        s.rank = shape_broadcast(i ? s.rank : 0, s.shape, x[i]->rank, tensor_shape(x[i]), shape,
                                 &bad);
        if (s.rank < 0)
            ew_shape_error(c->in, c->op, x, i + 1);
        memcpy(s.shape, shape, sizeof shape);
    }
    for (int d = 0; d < s.rank; d++)
        s.size *= s.shape[d];
    for (int i = 0; i < c->count; i++) {
        Tensor *wide = op_keep(c, tensor_broadcast(ctx, x[i], s.rank, s.shape));
        s.of[i] = (const Interval *)(const void *)op_keep(c, tensor_compact(ctx, wide))->data;
    }
    return s;
}

static bool no_number(Interval x) { return isnan(x.lo) || isnan(x.hi); }

Value op_run_hull(OpCall *c)
{
    Sets s = sets_of(c);
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, DT_INTERVAL, s.rank, s.shape));
    Interval *h = (Interval *)(void *)out->data;
    for (int64_t k = 0; k < s.size; k++) {
        h[k] = s.of[0][k];
        for (int i = 1; i < s.count && !no_number(h[k]); i++) {
            Interval x = s.of[i][k];
            h[k] = no_number(x) ? x : (Interval){ fmin(h[k].lo, x.lo), fmax(h[k].hi, x.hi) };
        }
        if ((k & 0xffff) == 0)
            poll_interrupt(c->in);
    }
    return op_result(c, out);
}

/* [1, 3, 0] of element k, nothing of a scalar. */
static void index_text(char *out, size_t cap, const Sets *s, int64_t k)
{
    int64_t stride = s->size;
    *out = 0;
    for (int d = 0; d < s->rank && strlen(out) < cap; d++) {
        stride /= s->shape[d];
        snprintf(out + strlen(out), cap - strlen(out), "%s%lld", d ? ", " : "[",
                 (long long)(k / stride));
        k %= stride;
    }
    if (s->rank && strlen(out) + 1 < cap)
        strcat(out, "]");
}

static _Noreturn void nothing_common(OpCall *c, const Sets *s, int64_t k)
{
    char where[128], help[200];
    Interval x = s->of[0][k], y = s->of[1][k];
    index_text(where, sizeof where, s, k);
    snprintf(help, sizeof help, "hull(%s, %s) holds both", arg_text(c, 0), arg_text(c, 1));
    arg_error_help(c, 1, ERR_NUMERIC, help,
                   "%s%s%s%s and %s have no number in common: [%.17g, %.17g] and [%.17g, %.17g]",
                   s->rank ? "elements " : "", where, s->rank ? " of " : "", arg_text(c, 0),
                   arg_text(c, 1), x.lo, x.hi, y.lo, y.hi);
}

/* Of numbers alone, a vector or tensor among them, it is what two sets of elements share. */
static bool sets_of_elements(const OpCall *c)
{
    bool array = false;
    for (int i = 0; i < c->count; i++) {
        if (!v_is_numeric(c->args[i]) || v_dtype(c->args[i]) == DT_INTERVAL)
            return false;
        array |= c->args[i].tag == V_TENSOR && c->args[i].tensor->rank > 0;
    }
    return array;
}

Value op_run_intersect(OpCall *c)
{
    if (sets_of_elements(c))
        return written_call(c, "intersect");
    Sets s = sets_of(c);
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, DT_INTERVAL, s.rank, s.shape));
    for (int64_t k = 0; k < s.size; k++) {
        Interval x = s.of[0][k], y = s.of[1][k];
        Interval both = { fmax(x.lo, y.lo), fmin(x.hi, y.hi) };
        if (no_number(x) || no_number(y))
            both = (Interval){ NAN, NAN };
        if (both.lo > both.hi)
            nothing_common(c, &s, k);
        ((Interval *)(void *)out->data)[k] = both;
    }
    return op_result(c, out);
}

bool intervals_hold(OpCall *c)
{
    Sets s = sets_of(c);
    const Tensor *x = arg_tensor(c, 1);
    if (s.rank != x->rank || memcmp(s.shape, tensor_shape(x), (size_t)s.rank * sizeof *s.shape))
        arg_error(c, 0, ERR_SHAPE, "%s does not broadcast to the intervals %s", arg_text(c, 0),
                  arg_text(c, 1));
    for (int64_t k = 0; k < s.size; k++)
        if (!(s.of[1][k].lo <= s.of[0][k].lo && s.of[0][k].hi <= s.of[1][k].hi))
            return false;
    return true;
}

/* `in` by another name, where x is no interval.
 * The ends of x are doubles, and what v is cast to ends at the doubles next to it: so the test is
 * exact whatever format v has. A nan is in nothing. */
Value op_run_contains(OpCall *c)
{
    Value set = c->args[0];
    if (!v_is_numeric(c->args[1]) || set.tag != V_TENSOR || set.tensor->dtype != DT_INTERVAL)
        return op_apply(c->in, op_named(c->in, "member"), c->args, 2, 0, NULL, NULL, 0);
    Sets s = sets_of(c);
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, DT_BOOL, s.rank, s.shape));
    for (int64_t k = 0; k < s.size; k++) {
        Interval x = s.of[0][k], v = s.of[1][k];
        ((uint8_t *)out->data)[k] = x.lo <= v.lo && v.hi <= x.hi;
    }
    return op_result(c, out);
}
