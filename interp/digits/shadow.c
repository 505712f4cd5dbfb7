/* Runs with shadows: of a function, of a block; and what is known of their results. */
#include "interp/digits/digits.h"
#include "interp/device/place.h"
#include "interp/eval/call.h"
#include "interp/eval/eval_flow.h"
#include "interp/output/output.h"
#include "interp/precision/cast.h"
#include "interp/state/frames.h"
#include "interp/state/kind.h"
#include "interp/state/scope.h"

#include "core/base/error.h"

#include <math.h>
#include <string.h>

/* ---- what is known ---- */
Value shadow_of(Interp *in, const Tape *t, Value v)
{
    const Shade *s = shade_on(v, t);
    if (s)
        return v_retain(s->shadow);
    if (v.tag != V_TUPLE)
        return v_retain(v_plain(v));
    stack_check(in);
    Value *to = push_like(in, v);
    for (uint32_t i = 0; i < v.tuple->count; i++)
        to[i] = shadow_of(in, t, v.tuple->items[i]);
    return *--in->sp;
}

static void known_of(Interp *in, const Tape *t, Value v, Shade *sum, Known *k)
{
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        known_of(in, t, v.tuple->items[i], sum, k);
    Shade *s = shade_on(v, t);
    if (!floats(v)) {
        if (s)
            losses_join(sum, s);
        return;
    }
    if (s && isnan(s->digits))
        s->digits = digits_of(in, v, s->shadow, NULL);
    double of = value_digits(v, shading_of(t)->against), digits = s ? s->digits : of;
    if (s) {
        Shade now = *s;
        losses_clip(&now, digits, of);      /* as far as this goes; elements keep theirs */
        losses_join(sum, &now);
    }
    if (!k->any || digits < k->digits) {
        k->digits = digits;
        k->of = of;
        if (s && s->swallower != SITE_NONE)
            sum->swallower = s->swallower;
    }
    k->any = true;
}

Known digits_known(Interp *in, const Tape *t, Value v, Shade *sum)
{
    Known k = { 0 };
    known_of(in, t, v, sum, &k);
    k.worst = loss_worst(sum, k.of);
    return k;
}

/* ---- the end of a run ---- */
static void strip(Interp *in, Value *slot, const Tape *t)
{
    if (slot->tag < V_OBJECT || slot->tag == V_STRING || slot->tag == V_TENSOR)
        return;
    Value v = parts_below(in, *slot, t), old = *slot;
    *slot = v;
    v_release(&in->ctx, old);
}

/* Variables of the running frame keep no shadows. */
static void strip_frame(Interp *in, const Tape *t, const Value *end)
{
    Value *from = in->fp;
    bool function = in->calls && in->calls->fn;
    const Module *m = interp_module(in);
    for (Value *v = from; function && v < end; v++)
        strip(in, v, t);
    for (uint32_t i = 0; !function && m && i < m->globals.count; i++)
        strip(in, &m->slots[i], t);
    if (in->flow == FLOW_RETURN)
        strip(in, &in->result, t);
}

/* ---- blocks ---- */
static Value block(Interp *in, const Exec *body, DType against)
{
    Guard g;
    Value *mark = in->sp, v = v_none();
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        Tape *t = shading_begin(in, against);
        v_push(in, exec_run(in, body));
        strip_frame(in, t, mark);
        strip(in, in->sp - 1, t);
        shading_end(in, t);
        v = v_retain(in->sp[-1]);
        stack_cut(in, mark);
        ERR_END(&in->ctx, &g.frame);
        return v;
    }
    Tape *dead = in->sp > mark + 1 ? v_retain(mark[1]).ptr : NULL;
    guard_restore(in, &g);
    if (dead) {
        dead->alive = false;
        dead->record = NULL;
        v_push(in, v_tape(dead));
        strip_frame(in, dead, mark);
        stack_cut(in, mark);
    }
    if (in->flow != FLOW_NONE)
        flow_unwind(in);
    err_rethrow(&in->ctx);
}

static DType against(const Interp *in)
{
    const Tape *t = shading_tape(in);
    return t ? shading_of(t)->against : DT_NONE;
}

static Value literal(Interp *in, Value v, Value shadow)
{
    Tape *t = shading_tape(in);
    v_push(in, v);
    Shade *s = shade_new(in, shadow);
    s->digits = value_digits(v, shading_of(t)->against);
    Value r = shaded(in, t, v, s);
    in->sp--;
    v_release(&in->ctx, v);
    return r;
}

static Value given(Interp *in, Value v, const char *who)
{
    Value plain = v;
    while (plain.tag == V_TRACED && (traced_of(plain)->tape->recorder == &shadow_recorder ||
                                     !tape_alive(in, traced_of(plain)->tape)))
        plain = traced_of(plain)->value;
    if (plain.tag == V_TRACED)
        return v;
    if (against(in) != DT_NONE)
        notice(in, "%s is a C function, which has no shadow: what it gives counts as exact", who);
    return plain;
}

const Shadows shadows = { .against = against, .literal = literal, .given = given, .block = block };

/* ---- functions ---- */
static Value traced_argument(Interp *in, Tape *t, Value x)
{
    if (floats(x)) {
        Shade *s = shade_new(in, aside_cast(in, shading_of(t), x));
        s->digits = value_digits(x, shading_of(t)->against);
        return shaded(in, t, x, s);
    }
    if (x.tag != V_TUPLE)
        return v_retain(x);
    stack_check(in);
    Value *to = push_like(in, x);
    for (uint32_t i = 0; i < x.tuple->count; i++)
        to[i] = traced_argument(in, t, x.tuple->items[i]);
    return *--in->sp;
}

static Value text_of(Interp *in, const char *text)
{
    return v_str(str_new(&in->ctx, text, strlen(text)));
}

/* The results of a run whose function gave r, on top of the value stack. */
static Value report(OpCall *c, const Tape *t, Value r)
{
    Interp *in = c->in;
    const Shading *g = shading_of(t);
    char what[96];
    Shade *sum = shade_new(in, v_undef());
    v_push(in, v_shade(sum));
    Known k = digits_known(in, t, r, sum);
    if (!k.any)
        err_raise_help(&in->ctx, ERR_TYPE, "return the floats whose digits are asked for",
                       "shadow takes a function that gives floats: this one gave %s",
                       v_describe_a(v_plain(r), what, sizeof what));
    const LossSite *at = k.worst ? &g->site[k.worst->site] : NULL;
    LossKind kind = k.worst ? loss_kind(k.worst) : LOSS_ROUNDING;
    v_push(in, parts_below(in, r, t));
    v_push(in, shadow_of(in, t, r));
    v_push(in, at ? text_of(in, at->operation) : v_none());
    v_push(in, text_of(in, loss_name(kind)));
    Buf *where = &in->scratch;
    buf_clear(where);
    if (at)
        site_where(where, at);
    v_push(in, at && where->len ? text_of(in, buf_cstr(where)) : v_none());
    Value *v = in->sp - 5;
    for (int i = 0; i < 5; i++)
        v_retain(v[i]);
    return tuple_make(in, "value", v[0], "reference", v[1], "digits", v_float(k.digits), "lost",
                      v_float(k.worst ? k.worst->lost : 0), "operation", v[2], "kind", v[3],
                      "where", v[4], "branches", v_int(g->branches), NULL);
}

static DType format_of(OpCall *c, int i)
{
    Value v = arg_given(c, i) ? v_plain(c->args[i]) : v_format(dtype_mp(200));
    char what[96];
    if (v.tag != V_FORMAT)
        arg_error_help(c, i, ERR_TYPE, "against=mp(200)", "%s must be a format, not %s",
                       arg_name(c, i), v_describe_a(v, what, sizeof what));
    DType dt = v_format_dtype(v);
    if (!strchr("fq", dtype_info(dt)->kind) || dtype_base(dt) == DT_INTERVAL)
        arg_error_help(c, i, ERR_VALUE, "against=mp(200)",
                       "shadows are numbers of a wider format: %s is none", dtype_name(dt));
    return dt;
}

Value shadow_run(OpCall *c, int f, int against_at, int first)
{
    Interp *in = c->in;
    Value fn = c->args[f], *mark = in->sp;
    char what[96];
    Scope plain = scope_plain();
    int count = c->count - first, deferring = in->deferring;
    if (!v_callable(in, fn))
        arg_error(c, f, ERR_TYPE, "%s must be a function, not %s", arg_name(c, f),
                  v_describe_a(v_plain(fn), what, sizeof what));
    DType dt = format_of(c, against_at);
    stack_check(in);
    stack_room(in, (size_t)count + 64);
    Tape *t = shading_begin(in, dt);
    Value *args = in->sp;
    for (int i = 0; i < count; i++)
        v_push(in, traced_argument(in, t, c->args[first + i]));
    const Exec *at = in->at;
    in->deferring = -1;                 /* each operation runs now, beside its shadow */
    bool bare = in->scope == NULL;
    if (bare)
        scope_enter(in, &plain);
    v_push(in, call_value(in, fn, args, count));
    if (bare)
        scope_leave(in, &plain);
    in->deferring = deferring;
    in->at = at;
    Value result = report(c, t, in->sp[-1]);
    v_push(in, result);
    shading_end(in, t);
    v_retain(result);
    stack_cut(in, mark);
    return result;
}
