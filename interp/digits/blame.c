/* What an operation lost, and of which kind that is: the digits of its worst float operand less
 * those of its result. Norm-wise, where they are tensors. What it is, is told by facts about its
 * row, its values and their shadows. */
#include "interp/digits/digits.h"
#include "interp/device/place.h"
#include "interp/op/slopes.h"
#include "interp/output/output.h"
#include "interp/precision/accuracy.h"
#include "interp/precision/autocast.h"
#include "interp/state/exec.h"

#include "core/base/error.h"
#include "kernels/number/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- numbers ---- */
/* The numbers of v as doubles; more than one lies in a tensor on the value stack. */
typedef struct Doubles {
    const double *x;
    int64_t n;
    double one;
} Doubles;

static void unpack(DType dt, double *to, const Tensor *t)
{
    int bytes = dtype_info(dt)->bytes;
    BinaryFormat f;
    if (binary_format(dt, &f)) {
        binary_unpack(dt, to, t->data, t->size);
        return;
    }
    bool ints = strchr("bi", dtype_info(dt)->kind) != NULL;
    for (int64_t i = 0; i < t->size; i++)
        to[i] = ints ? (double)element_i64(dt, t->data + i * bytes)
                     : number_f64(dt, t->data + i * bytes);
}

static void doubles(Interp *in, Value v, Doubles *d)
{
    v = v_plain(v);
    *d = (Doubles){ .x = &d->one, .n = 1 };
    if (v.tag == V_FLOAT)
        d->one = v.f;
    else if (v.tag == V_INT || v.tag == V_BOOL)
        d->one = (double)v.i;
    if (v.tag != V_TENSOR)
        return;
    value_home(in, v);
    Tensor *t = tensor_compact(&in->ctx, v.tensor);
    v_push(in, v_tensor_raw(t));
    Tensor *to = tensor_new(&in->ctx, DT_F64, 1, &t->size);
    v_push(in, v_tensor_raw(to));
    unpack((DType)t->dtype, (double *)(void *)to->data, t);
    *d = (Doubles){ .x = (double *)(void *)to->data, .n = t->size };
}

double value_magnitude(Interp *in, Value v)
{
    Value *mark = in->sp;
    Doubles d;
    double most = 0;
    if (!v_is_numeric(v_plain(v)))
        return 0;
    doubles(in, v, &d);
    for (int64_t i = 0; i < d.n; i++)
        most = fabs(d.x[i]) > most ? fabs(d.x[i]) : most;
    stack_cut(in, mark);
    return most;
}

static bool finite_all(Interp *in, Value v)
{
    Value *mark = in->sp;
    Doubles d;
    bool finite = true;
    v = v_plain(v);
    DType dt = v_is_numeric(v) ? v_dtype(v) : DT_NONE;
    if (dt == DT_NONE)
        return true;
    if (v.tag == V_TENSOR && dtype_cells(dt)) {     /* its range is wider than that of doubles */
        Tensor *t = tensor_compact(&in->ctx, v.tensor);
        v_push(in, v_tensor_raw(t));
        for (int64_t i = 0; i < t->size; i++) {
            const char *at = t->data + i * dtype_info(dt)->bytes;
            finite &= !number_is_inf(dt, at) && !number_is_nan(dt, at);
        }
        stack_cut(in, mark);
        return finite;
    }
    doubles(in, v, &d);
    for (int64_t i = 0; i < d.n; i++)
        finite &= isfinite(d.x[i]) != 0;
    stack_cut(in, mark);
    return finite;
}

double digits_of(Interp *in, Value v, Value shadow, double *error)
{
    Value *mark = in->sp;
    value_home(in, v_plain(v));
    Accuracy a = accuracy_of(in, v_plain(v), shadow);
    double most = value_digits(v, v_dtype(shadow));
    stack_cut(in, mark);
    if (error)
        *error = a.error;
    return a.digits < most ? a.digits : most;
}

/* ---- the operands ---- */
typedef struct Operands {
    double worst;                   /* digits of the worst float among them */
    bool exact;                     /* all of them are */
    double swallowed;
    uint32_t swallower;
} Operands;

static double shade_digits(Interp *in, Value v, Shade *s)
{
    if (isnan(s->digits) && floats(s->shadow))
        s->digits = digits_of(in, v, s->shadow, NULL);
    return s->digits;
}

static void operand_look(Interp *in, const Call *c, Value v, Operands *o, Shade *to)
{
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        operand_look(in, c, v.tuple->items[i], o, to);
    Shade *s = shade_on(v, c->tape);
    if (s)
        losses_join(to, s);
    if (!floats(v))
        return;
    double digits = s ? shade_digits(in, v, s)
                      : value_digits(v, shading_of(c->tape)->against);
    o->worst = digits < o->worst ? digits : o->worst;
    if (s && s->swallowed > 0) {
        o->swallower = o->swallower == SITE_NONE ? s->swallower : o->swallower;
        o->swallowed += s->swallowed;
    }
}

/* ---- what sums ---- */
/* Is parameter i among the names of a list "A, b"? */
static bool listed(const char *list, const Name *name)
{
    for (const char *at = list; at && *at;) {
        size_t len = strcspn(at, ", ");
        if (len == name->len && memcmp(at, name->text, len) == 0)
            return true;
        at += len;
        at += strspn(at, ", ");
    }
    return false;
}

static const Name *parameter(Interp *in, const Op *op, int i)
{
    const OpSig *sig = op_sig(in, op);
    int fixed = sig->fixed;
    return i < fixed || sig->variadic ? sig->params[i < fixed ? i : fixed].name : NULL;
}

/* An operand of slope 1 or -1. */
static bool unit_slope(const Op *op, int i)
{
    OpSlope s;
    if (!op_slope(op, i, &s))
        return false;
    return (s.len == 1 && s.text[0] == '1') || (s.len == 2 && memcmp(s.text, "-1", 2) == 0);
}

/* Adds it up its operands, or products of them? Their magnitude then, before they cancel; 0: it
 * does something else. */
static double summands(Interp *in, const Call *c)
{
    double most = 0, product = 1;
    const Op *op = c->op;
    bool elementwise = op && op->cls == OPC_EW, multi = op ? op->multilinear_in != NULL : c->sums;
    const char *list = !op ? NULL : multi ? op->multilinear_in : op->linear_in;
    if (elementwise && c->count < 2)
        return 0;
    for (int i = 0; i < c->count; i++) {
        Value v = v_plain(c->below[i]);
        if (elementwise && !unit_slope(op, i))
            continue;
        if (v.tag == V_TUPLE && !elementwise && listed(list, parameter(in, op, i))) {
            for (uint32_t k = 0; k < v.tuple->count; k++)
                product *= value_magnitude(in, v.tuple->items[k]);
            continue;
        }
        if (!v_is_numeric(v) || v_dtype(v) == DT_BOOL)
            continue;
        const Name *name = elementwise || !op ? NULL : parameter(in, op, i);
        if (!elementwise && op && !(name && listed(list, name))) {
            if (floats(v))
                return 0;
            continue;
        }
        double size = value_magnitude(in, v);
        most = size > most ? size : most;
        product *= size;
    }
    return multi ? product : most;
}

/* A sum of two: what it swallowed, where the result is one of them although the other is not 0. */
static double swallowed(Interp *in, const Call *c, Value r)
{
    Value *mark = in->sp;
    Doubles d[2], sum;
    double most = 0;
    if (!c->op || c->op->cls != OPC_EW || c->count != 2 || !unit_slope(c->op, 0) ||
        !unit_slope(c->op, 1))
        return 0;
    doubles(in, c->below[0], &d[0]);
    doubles(in, c->below[1], &d[1]);
    doubles(in, r, &sum);
    bool same = (d[0].n == 1 || d[0].n == sum.n) && (d[1].n == 1 || d[1].n == sum.n);
    for (int64_t i = 0; same && i < sum.n; i++) {
        double a = fabs(d[0].x[d[0].n > 1 ? i : 0]), b = fabs(d[1].x[d[1].n > 1 ? i : 0]);
        double all = fabs(sum.x[i]), gone = all == a && b < a ? b : all == b && a < b ? a : 0;
        most = gone > most ? gone : most;
    }
    stack_cut(in, mark);
    return most;
}

/* ---- kinds ---- */
static double smallest_normal(DType dt)
{
    BinaryFormat f;
    return binary_format(dt, &f) ? ldexp(1, f.emin) : 0;
}

static bool casts(const Call *c) { return c->op && c->op->devices & DEV_CASTS; }

/* Did it round its operands to 8 bits first? */
static bool rounds_to_eight(const Interp *in, const Call *c)
{
    return c->op ? autocast_eight(in, c->op, c->below, c->count)
                 : c->sums && autocast_format(in) == DT_I8;
}

static bool operands_finite(Interp *in, const Call *c)
{
    for (int i = 0; i < c->count; i++)
        if (!finite_all(in, c->below[i]))
            return false;
    return true;
}

/* Why a call lost `lost` digits; LOSS_ROUNDING: for no reason but its rounding. */
static LossKind reason(Interp *in, const Call *c, Value r, const Shade *s, const Operands *o,
                       double lost, double error)
{
    double size = value_magnitude(in, s->shadow), sum;
    if (!finite_all(in, r) && finite_all(in, s->shadow))
        return operands_finite(in, c) ? LOSS_OVERFLOW : LOSS_CONDITIONING;
    if (value_magnitude(in, r) < smallest_normal(v_dtype(v_plain(r))) &&
        size < smallest_normal(v_dtype(v_plain(r))))
        return LOSS_UNDERFLOW;
    if (casts(c) || rounds_to_eight(in, c))
        return LOSS_ROUNDING;
    if ((sum = summands(in, c)) > 0) {
        if (size < sum && o->swallowed > 0 && o->swallowed >= error * size / 2)
            return LOSS_ABSORPTION;
        return size < sum ? LOSS_CANCELLATION : lost > 1 ? LOSS_ABSORPTION : LOSS_ROUNDING;
    }
    return lost > 1 ? LOSS_CONDITIONING : LOSS_ROUNDING;
}

/* As the program calls it: by its sign or its name; a cast by its format. */
static void operation_name(const Interp *in, const Call *c, char *out, size_t cap)
{
    const char *name = c->name;
    bool sign = c->op && c->op->infix && !(in->at && in->at->node->kind == ND_CALL);
    for (int i = 0; c->op && i < c->count && casts(c); i++)
        if (c->below[i].tag == V_FORMAT)
            name = dtype_name(v_format_dtype(c->below[i]));
    snprintf(out, cap, "%s", name ? name : sign ? c->op->infix : c->op->name);
}

/* It gained some: what the same operation lost before was noise as far as that goes. */
static void blame_gain(Shade *s, double gained)
{
    for (uint32_t i = 0; i < s->losses; i++)
        if (s->loss[i].site == s->made) {
            Loss *l = &s->loss[i];
            l->lost = l->lost > gained ? l->lost - gained : 0;
            l->cost = l->cost > gained ? l->cost - gained : 0;
            l->reasoned = l->reasoned < l->lost ? l->reasoned : l->lost;
        }
}

static void blame_loss(Interp *in, const Call *c, Value r, Shade *s, const Operands *o, double lost,
                       double error)
{
    Loss *l = loss_at(s, s->made);
    LossKind kind = reason(in, c, r, s, o, lost, error);
    double all = l->lost + lost, most = value_digits(r, shading_of(c->tape)->against);
    l->lost = all > most && !casts(c) ? most : all;
    l->cost += lost;
    if (kind != LOSS_ROUNDING)
        l->reasoned += lost;
    if (kind != LOSS_ROUNDING && lost >= l->most)
        l->kind = (uint8_t)kind;
    l->most = lost > l->most ? lost : l->most;
    if (casts(c))
        l->narrow = format_digits(v_dtype(v_plain(r)));
    if (kind == LOSS_ABSORPTION && o->swallower != SITE_NONE && lost >= l->most)
        s->swallower = o->swallower;
}

/* Adds elements up: only such an operation gives digits back that were lost. */
static bool adds(const Op *op)
{
    return op && (op->linear_in || op->multilinear_in || unit_slope(op, 0));
}

/* What a call that moves elements keeps of what they had. An element may have lost what its tensor,
 * norm-wise, had not: to an operation that is known, or to the one that made the tensor. */
static void blame_moved(const Shading *g, Shade *s, const Operands *o, uint32_t made)
{
    double lost = o->worst - s->digits;
    const Loss *known = loss_worst(s, INFINITY);
    s->made = made;
    if (made != SITE_NONE && lost > (known ? known->cost : 0)) {
        Loss *l = loss_at(s, made);
        l->lost += lost;
        l->cost += lost;
        if (lost > 1 && adds(g->site[made].op)) {
            l->kind = LOSS_CANCELLATION;
            l->reasoned += lost;
        }
    }
}

static uint32_t maker(const Call *c)
{
    const Shade *s = c->count ? shade_on(c->args[0], c->tape) : NULL;
    return s ? s->made : SITE_NONE;
}

Value blame(Interp *in, const Call *c, Value r, Value shadow)
{
    Value *mark = in->sp;
    char name[64];
    double error;
    Operands o = { .worst = INFINITY, .swallower = SITE_NONE };
    Shade *s = shade_new(in, shadow);
    v_push(in, v_shade(s));
    for (int i = 0; i < c->count; i++)
        operand_look(in, c, c->args[i], &o, s);
    s->digits = digits_of(in, r, shadow, &error);
    double most = value_digits(r, shading_of(c->tape)->against);
    if (!casts(c) || o.worst == INFINITY)
        o.worst = o.worst < most ? o.worst : most;
    double lost = o.worst - s->digits;
    lost = error == 0 && lost > 0 ? 0 : lost;
    if (!c->op && !c->name) {
        blame_moved(shading_of(c->tape), s, &o, maker(c));
    } else {
        operation_name(in, c, name, sizeof name);
        s->made = site_here(in, shading_of(c->tape), c->op, name);
        if (lost > 0)
            blame_loss(in, c, r, s, &o, lost, error);
        else if (o.worst < INFINITY)
            blame_gain(s, -lost);
        double gone = lost > 1 ? 0 : swallowed(in, c, r);
        if (gone > 0 || (o.swallowed > 0 && lost <= 1 && c->op && unit_slope(c->op, 0))) {
            s->swallower = o.swallower == SITE_NONE ? s->made : o.swallower;
            s->swallowed = o.swallowed + gone;
        }
    }
    if (v_plain(r).tag != V_TENSOR || adds(c->op) || c->sums)  /* else elements come out again */
        losses_clip(s, s->digits, most);
    in->sp = mark;
    return shaded(in, c->tape, r, s);
}

/* ---- results of any structure ---- */
static bool same_shape(Value a, Value b)
{
    int ra = a.tag == V_TENSOR ? a.tensor->rank : 0, rb = b.tag == V_TENSOR ? b.tensor->rank : 0;
    return ra == rb && (!ra || memcmp(tensor_shape(a.tensor), tensor_shape(b.tensor),
                                      (size_t)ra * sizeof(int64_t)) == 0);
}

static bool bools(Value v) { return v_is_numeric(v) && v_dtype(v) == DT_BOOL; }

/* It stands for its own shadow, which is said once. */
static Value own_shadow(Interp *in, const Call *c, Value r)
{
    Shading *g = shading_of(c->tape);
    char name[64];
    if (c->op && !c->op->draws && !c->op->reaches) {
        operation_name(in, c, name, sizeof name);
        uint32_t at = site_here(in, g, c->op, name);
        if (!g->site[at].told)
            notice(in, "%s has no shadow in %s here: what it gave counts as exact", name,
                   dtype_name(g->against));
        g->site[at].told = true;
    }
    return aside_cast(in, g, r);
}

/* A matrix of factors: vectors are what they are up to a sign, by columns or by rows. Takes s. */
static Value signed_like(Interp *in, const Shading *g, Value r, Value s)
{
    Value *mark = in->sp;
    v_push(in, s);
    Value *best = mark;
    double most = digits_of(in, r, s, NULL);
    for (int rows = 0; rows < 2 && most < 1; rows++) {
        v_push(in, aside_signs(in, g, r, s, rows));
        double digits = digits_of(in, r, in->sp[-1], NULL);
        best = digits > most ? in->sp - 1 : best;
        most = digits > most ? digits : most;
    }
    Value out = v_retain(*best);
    stack_cut(in, mark);
    return out;
}

static Value blame_float(Interp *in, const Call *c, Value r, Value s, bool part)
{
    Value plain = v_plain(r);
    Shading *g = shading_of(c->tape);
    if (s.tag != V_UNDEF && v_is_numeric(s) && !floats(s) && !bools(s) && !complex_in(s))
        s = aside_cast(in, g, s);
    else if (s.tag == V_UNDEF || !floats(s) || !same_shape(plain, s))
        s = own_shadow(in, c, r);
    else
        v_retain(s);
    bool matrix = part && plain.tag == V_TENSOR && plain.tensor->rank == 2;
    return blame(in, c, r, matrix ? signed_like(in, g, r, s) : s);
}

Value blame_all(Interp *in, const Call *c, Value r, Value s)
{
    Value plain = v_plain(r);
    if (floats(plain))
        return blame_float(in, c, r, s, false);
    if (bools(plain) && s.tag != V_UNDEF && bools(s) && same_shape(plain, s))
        return shaded(in, c->tape, r, shade_new(in, v_retain(s)));
    if (r.tag != V_TUPLE)
        return v_retain(r);
    stack_check(in);
    Value *to = push_like(in, r);
    bool both = s.tag == V_TUPLE && s.tuple->count == r.tuple->count;
    for (uint32_t i = 0; i < r.tuple->count; i++) {
        Value part = r.tuple->items[i], beside = both ? s.tuple->items[i] : v_undef();
        to[i] = floats(part) ? blame_float(in, c, part, beside, true)
                             : blame_all(in, c, part, beside);
    }
    return *--in->sp;
}
