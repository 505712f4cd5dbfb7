/* kronrod(f, cuts, tol): what integrate.quad does with functions of f64 numbers, where the
 * interpreter's own work would be more than that of f. The module's _adaptive is the same algorithm
 * in any format and for any shape; what is not plain numbers all the way gives none here, and then
 * that runs. */
#include "builtins/rows/rows.h"
#include "interp/eval/call.h"
#include "interp/state/kind.h"
#include "interp/state/scope.h"

#include "core/base/error.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { F, CUTS, TOL };
enum { NODES = 15, CALLS_MAX = 150000, STALLED_MAX = 10, EXTRAPOLATED_MAX = 30, LIMITS = 4 };

/* QUADPACK's qk15: nodes, Kronrod's weights, Gauss's of every second; and the factors with which
 * the polynomial through all of them has its value at the upper end. */
static const double node[NODES] = {
    -0.991455371120812639206854697526329, -0.949107912342758524526189684047851,
    -0.864864423359769072789712788640926, -0.741531185599394439863864773280788,
    -0.586087235467691130294144838258730, -0.405845151377397166906606412076961,
    -0.207784955007898467600689403773245, 0,
    0.207784955007898467600689403773245,  0.405845151377397166906606412076961,
    0.586087235467691130294144838258730,  0.741531185599394439863864773280788,
    0.864864423359769072789712788640926,  0.949107912342758524526189684047851,
    0.991455371120812639206854697526329 };
static const double kronrod[NODES / 2 + 1] = {
    0.022935322010529224963732008058970, 0.063092092629978553290700663189204,
    0.104790010322250183839876322541518, 0.140653259715525918745189590510238,
    0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
    0.204432940075298892414161999234649, 0.209482141084727828012999174891714 };
static const double gauss[NODES / 2 + 1] = {
    0, 0.129484966168869693270611432679082, 0, 0.279705391489276667901467771423780,
    0, 0.381830050505118944950369775488975, 0, 0.417959183673469387755102040816327 };
static const double upper[NODES] = {
    0.0062385286453402827760383050717204, -0.0184515770469634301266365005257413,
    0.0304383095303679329897529333855171, -0.0432508159781739772561947723204759,
    0.0577191186189114347153437755086278, -0.0737789796442624507641048618198291,
    0.0916872968485709657740416897469149, -0.112929172918981483561841771923738,
    0.139783431782908376553630322860456,  -0.174570351562241319650625361932554,
    0.22117597022489271509272570536084,   -0.291418695919990600687581264982644,
    0.420047199720882904885679109989957,  -0.706673993404573769083061867413196,
    1.45398373110331241834283455899415 };

/* An interval in the variable of the rule: x, or t with x = end + side (1 - t)/t. What f is at its
 * ends is nan where f was not asked there. Doubles alone, for a tensor holds them. */
typedef struct Piece {
    double low, high, side, end, depth;
    double at_low, at_middle, at_high;
    double value, error, size;
} Piece;

typedef struct Job {
    OpCall *call;
    Piece *piece;
    int64_t count, room, calls;
    double tol, lost;                   /* lost: the errors of intervals that cannot be halved */
    double value, error, size;          /* sums over all pieces */
    int level, stalled;
    double sums[EXTRAPOLATED_MAX];
    int summed;
    double limits[LIMITS];
    int limited;
    double better, better_error;
} Job;

/* f(x), if it is a number that f64 holds. */
static bool ask(Job *j, double x, double *y)
{
    Interp *in = j->call->in;
    Value *mark = in->sp, argument = v_float(x);
    poll_interrupt(in);
    Value v = call_value(in, j->call->args[F], &argument, 1);
    if (v.tag == V_FLOAT || v.tag == V_INT) {
        *y = v.tag == V_FLOAT ? v.f : (double)v.i;
        return isfinite(*y);
    }
    op_root(j->call, v);
    stack_cut(in, mark);
    return false;
}

static double point(const Piece *p, double t)
{
    return p->side == 0 ? t : t == 0 ? p->side * INFINITY : p->end + p->side * (1 - t) / t;
}

static double gap(double extrapolated, double known)
{
    double d = fabs(extrapolated - known);
    return d > 0 ? d : 0;               /* of nan: nothing is known */
}

static bool rule(Job *j, Piece *p)
{
    double h = (p->high - p->low) / 2, middle = p->low + h, y[NODES];
    double value = 0, coarse = 0, size = 0, spread = 0, at_high = 0, at_low = 0;
    for (int i = 0; i < NODES; i++) {
        double t = middle + h * node[i], x = point(p, t);
        if (!isfinite(x))
            x = p->side * DBL_MAX;
        if (!ask(j, x, &y[i]))
            return false;
        if (p->side != 0)
            y[i] = t == 0 || y[i] == 0 ? 0 : y[i] / t / t;
        int k = i < NODES / 2 ? i : NODES - 1 - i;
        value += kronrod[k] * y[i];
        coarse += gauss[k] * y[i];
        size += kronrod[k] * fabs(y[i]);
        at_high += upper[i] * y[i];
        at_low += upper[NODES - 1 - i] * y[i];
    }
    for (int i = 0; i < NODES; i++)
        spread += kronrod[i < NODES / 2 ? i : NODES - 1 - i] * fabs(y[i] - value / 2);
    h = fabs(h);
    spread *= h;
    double error = fabs(h * (value - coarse)), r = 200 * error / spread;
    if (r < 1)
        error = spread * r * sqrt(r);
    double jump = fmax(gap(at_high, p->at_high), gap(at_low, p->at_low));
    p->value = h * value;
    p->at_middle = y[NODES / 2];
    p->error = fmax(error, h * jump / 128);
    p->size = h * size;
    j->calls += NODES;
    return isfinite(value);
}

/* ---- extrapolation: Wynn's epsilon algorithm, as the module's _epsilon ---- */
static double epsilon(const double *sums, int n)
{
    double before[EXTRAPOLATED_MAX] = { 0 }, now[EXTRAPOLATED_MAX], next[EXTRAPOLATED_MAX];
    double last = sums[n - 1], best = last, least = INFINITY;
    memcpy(now, sums, (size_t)n * sizeof *now);
    for (int k = 1; k < n; k++) {
        int m = n - k;
        for (int i = 0; i < m; i++) {
            if (now[i + 1] == now[i])
                return k % 2 == 1 ? now[m] : best;
            next[i] = before[i] + 1 / (now[i + 1] - now[i]);
        }
        memcpy(before, now + 1, (size_t)m * sizeof *now);
        memcpy(now, next, (size_t)m * sizeof *now);
        if (k % 2)
            continue;
        for (int i = 0; i < m; i++)
            if (!isfinite(now[i]))
                return best;
        if (fabs(now[m - 1] - last) <= least)
            best = now[m - 1], least = fabs(now[m - 1] - last);
        last = now[m - 1];
    }
    return best;
}

static double goal_of(const Job *j, double value)
{
    return fmax(j->tol * fabs(value), 10 * DBL_EPSILON * j->size);
}

/* One more sum, and what it makes of the limit; whether that is near enough. left: the errors
 * of the larger intervals. */
static bool extrapolated(Job *j, double left)
{
    if (j->summed == EXTRAPOLATED_MAX)
        memmove(j->sums, j->sums + 1, (size_t)--j->summed * sizeof *j->sums);
    j->sums[j->summed++] = j->value;
    const double *s = j->sums + j->summed;
    if (j->summed < 3 || !(fabs(s[-1] - s[-2]) < fabs(s[-2] - s[-3])))
        return false;
    if (j->limited == LIMITS)
        memmove(j->limits, j->limits + 1, (size_t)--j->limited * sizeof *j->limits);
    double x = j->limits[j->limited++] = epsilon(j->sums, j->summed), error = left + j->lost;
    if (j->limited < LIMITS)
        return false;
    for (int i = 0; i < LIMITS - 1; i++)
        error += fabs(x - j->limits[i]);
    if (error < j->better_error)
        j->better = x, j->better_error = error;
    return error <= goal_of(j, x);
}

/* ---- the adaptive loop ---- */
static Piece *new_piece(Job *j)
{
    if (!j->piece || j->count == j->room) {
        int64_t size = 2 * j->room * (int64_t)(sizeof(Piece) / sizeof(double));
        Tensor *more = op_keep(j->call, tensor_new(&j->call->in->ctx, DT_F64, 1, &size));
        if (j->count)
            memcpy(more->data, j->piece, (size_t)j->count * sizeof *j->piece);
        j->piece = (Piece *)(void *)more->data;
        j->room *= 2;
    }
    return &j->piece[j->count++];
}

static bool first_pieces(Job *j, const Tuple *cuts)
{
    for (uint32_t i = 0; i + 1 < cuts->count; i++) {
        double a = cuts->items[i].f, b = cuts->items[i + 1].f;
        Piece p = { .low = a, .high = b, .at_low = NAN, .at_high = NAN };
        if (!isfinite(a) || !isfinite(b))
            p.low = 0, p.high = 1, p.side = isfinite(a) ? 1 : -1, p.end = isfinite(a) ? a : b;
        if (!rule(j, &p))
            return false;
        *new_piece(j) = p;
    }
    return true;
}

/* The piece with the largest error, of those less deep than `level`; -1 if no error is left. */
static int64_t worst(const Job *j, double level, double *sum)
{
    int64_t at = -1;
    double most = 0;
    *sum = 0;
    for (int64_t i = 0; i < j->count; i++) {
        if (j->piece[i].depth >= level)
            continue;
        *sum += j->piece[i].error;
        if (j->piece[i].error > most)
            most = j->piece[i].error, at = i;
    }
    return at;
}

static void add_up(Job *j)
{
    j->value = j->size = 0;
    j->error = j->lost;
    for (int64_t i = 0; i < j->count; i++) {
        j->value += j->piece[i].value;
        j->error += j->piece[i].error;
        j->size += j->piece[i].size;
    }
}

static bool halve(Job *j, int64_t i)
{
    Piece *p = &j->piece[i];
    double middle = p->low + (p->high - p->low) / 2;
    if (middle == p->low || middle == p->high) {        /* the format has nothing between */
        j->lost += p->error;
        p->error = 0;
        return true;
    }
    Piece lower = *p, higher = *p;
    lower.high = higher.low = middle;
    lower.at_high = higher.at_low = p->at_middle;
    lower.depth = ++higher.depth;
    if (!rule(j, &lower) || !rule(j, &higher))
        return false;
    /* halving that changes nothing: what is left is rounding in f */
    if (lower.error + higher.error >= p->error * (1 - 1.0 / 128) &&
        fabs(lower.value + higher.value - p->value) <= (lower.size + higher.size) / 65536)
        j->stalled++;
    *p = lower;
    *new_piece(j) = higher;
    return true;
}

/* False where f gave what is not for here. */
static bool adapt(Job *j)
{
    for (;;) {
        double all, left;
        add_up(j);
        double goal = goal_of(j, j->value);
        if (j->error <= goal || j->calls >= CALLS_MAX || j->stalled >= STALLED_MAX)
            return true;
        int64_t i = worst(j, INFINITY, &all);
        if (i < 0)
            return true;
        if (j->piece[i].depth >= j->level) {
            int64_t large = worst(j, j->level, &left);
            if (left > goal / 2)
                i = large;
            else {
                j->level++;
                if (extrapolated(j, left))
                    return true;
            }
        }
        if (!halve(j, i))
            return false;
    }
}

/* Whether the ends of intervals are floats outside of a precision scope. */
static bool plain(OpCall *c, const Tuple *cuts)
{
    for (uint32_t i = 0; i < cuts->count; i++)
        if (cuts->items[i].tag != V_FLOAT)
            return false;
    return c->args[TOL].tag == V_FLOAT && !c->in->scope;
}

Value op_run_kronrod(OpCall *c)
{
    Interp *in = c->in;
    if (!v_callable(in, c->args[F]))
        arg_error(c, F, ERR_TYPE, "%s is not a function", arg_name(c, F));
    if (c->args[CUTS].tag != V_TUPLE || c->args[CUTS].tuple->count < 2)
        arg_error(c, CUTS, ERR_TYPE, "%s must be a tuple of two numbers or more",
                  arg_name(c, CUTS));
    const Tuple *cuts = c->args[CUTS].tuple;
    if (!plain(c, cuts))
        return v_none();
    Job j = { .call = c, .room = 4, .tol = c->args[TOL].f, .level = 2, .better_error = INFINITY };
    if (!first_pieces(&j, cuts) || !adapt(&j))
        return v_none();
    if (j.error > goal_of(&j, j.value) && j.better_error < j.error)
        j.value = j.better, j.error = j.better_error;
    double all;
    int64_t i = worst(&j, INFINITY, &all);
    const Piece *p = &j.piece[i < 0 ? 0 : i];
    return tuple_make(in, "value", v_float(j.value), "error",
                      v_float(fmax(j.error, 10 * DBL_EPSILON * j.size)), "calls", v_int(j.calls),
                      "good", v_bool(j.error <= goal_of(&j, j.value)), "near",
                      v_float(point(p, (p->low + p->high) / 2)), NULL);
}
