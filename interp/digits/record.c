/* The recorder: what meets a value with a shadow happens to the shadow too. */
#include "interp/digits/digits.h"
#include "interp/device/place.h"
#include "interp/index/index.h"
#include "interp/index/literal.h"
#include "interp/notation/indexnot.h"
#include "interp/output/output.h"

#include "core/base/error.h"

#include <math.h>
#include <string.h>

static Call call_of(const Op *op, const char *name, Tape *t, const Value *args, const Value *below,
                    int count)
{
    return (Call){ .op = op, .name = name, .args = args, .below = below, .count = count,
                   .tape = t };
}

static void refuse_complex(Interp *in, const Value *v, int n)
{
    for (int i = 0; i < n; i++)
        if (complex_in(v[i]))
            err_raise_help(&in->ctx, ERR_DTYPE, "shadow the real and the imaginary part",
                           "complex values have no shadows");
}

static bool any_shade(const Value *v, int n, const Tape *t)
{
    for (int i = 0; i < n; i++)
        if (shade_on(v[i], t) ||
            (v[i].tag == V_TUPLE && any_shade(v[i].tuple->items, (int)v[i].tuple->count, t)))
            return true;
    return false;
}

/* Are there floats in a result, or bools? */
static bool has_floats(Value r)
{
    for (uint32_t i = 0; r.tag == V_TUPLE && i < r.tuple->count; i++)
        if (has_floats(r.tuple->items[i]))
            return true;
    return floats(r);
}

static bool is_bool(Value v)
{
    v = v_plain(v);
    return v_is_numeric(v) && v_dtype(v) == DT_BOOL;
}

/* ---- branches ---- */
/* Bools of one shape; the first that differ, or -1. */
static int64_t differ(Interp *in, Value v, Value shadow)
{
    v = v_plain(v);
    if (v.tag != V_TENSOR || shadow.tag != V_TENSOR)
        return v.tag == V_BOOL && shadow.tag == V_BOOL && v.i != shadow.i ? 0 : -1;
    Value *mark = in->sp;
    value_home(in, v);
    Tensor *a = tensor_compact(&in->ctx, v.tensor);
    v_push(in, v_tensor_raw(a));
    Tensor *b = tensor_compact(&in->ctx, shadow.tensor);
    v_push(in, v_tensor_raw(b));
    int64_t at = -1, n = a->size == b->size ? a->size : 0;
    for (int64_t i = n; i-- > 0;)
        at = !a->data[i] != !b->data[i] ? i : at;
    stack_cut(in, mark);
    return at;
}

void branch_taken(Interp *in, const Tape *t, Value v)
{
    const Shade *s = shade_on(v, t);
    if (!s || !is_bool(v) || !t->record)
        return;
    int64_t at = differ(in, v, s->shadow);
    if (at < 0)
        return;
    shading_of(t)->branches++;
    Value plain = v_plain(v);
    const char *format = dtype_name(shading_of(t)->against);
    if (plain.tag == V_BOOL)
        notice(in, "a condition is %s here, and by the shadows in %s %s",
               plain.i ? "true" : "false", format, plain.i ? "false" : "true");
    else
        notice(in, "elements of a condition are others by the shadows in %s", format);
}

static void looked(Interp *in, Tape *t, const Traced *x)
{
    branch_taken(in, t, (Value){ .tag = V_TRACED, .ptr = (void *)x });
}

static void branches_in(Interp *in, const Tape *t, const Value *v, int n)
{
    for (int i = 0; i < n; i++)
        if (v[i].tag == V_TRACED)
            branch_taken(in, t, v[i]);
}

/* ---- rows ---- */
static bool hears(const OpCall *c)
{
    if (!c)
        return true;
    if (!c->op || c->op->devices & DEV_ANYWHERE)
        return false;
    for (int i = 0; c->op->cls == OPC_EW && i < c->count; i++)
        if (c->args[i].tag == V_TUPLE)          /* compared, or joined, as they are */
            return false;
    return true;
}

/* digits(x) is digits(x, its shadow). */
static void before(OpCall *c, Tape *t, Value *below)
{
    const char *name = c->op->shadow_as;
    int at = name ? row_param(c->in, c->op, name, strlen(name)) : -1;
    if (at >= 0 && at < c->count && below[at].tag == V_UNDEF)
        below[at] = shadow_of(c->in, t, c->args[0]);
}

static Value row(OpCall *c, Tape *t, const Value *below, Value r)
{
    Interp *in = c->in;
    bool shades = any_shade(c->args, c->count, t), real = has_floats(r);
    if (!t->record || c->op->measures || c->op->shadow_as)
        return v_retain(r);
    refuse_complex(in, below, c->count);
    refuse_complex(in, &r, 1);
    if (!is_bool(r))
        branches_in(in, t, c->args, c->count);
    if (!real && !(shades && (is_bool(r) || r.tag == V_TUPLE)))
        return v_retain(r);
    Value s = v_undef();
    if (!c->op->draws && !c->op->reaches)       /* what those give is what it is */
        aside_row(in, t, c->op, c->args, c->count, c->weak, &s);
    v_push(in, s);
    Call call = call_of(c->op, NULL, t, c->args, below, c->count);
    Value out = blame_all(in, &call, r, s);
    stack_cut(in, in->sp - 1);
    return out;
}

/* ---- literals ---- */
typedef struct Items {
    Value *items;
    const bool *weak;
    const int *lengths;
    int rows;
} Items;

static Value run_literal(Interp *in, void *data)
{
    const Items *l = data;
    return l->lengths ? build_matrix_weak(in, l->items, NULL, l->lengths, l->rows)
                      : build_vector_weak(in, l->items, NULL, l->rows);
}

static Value literal(Interp *in, Tape *t, const Value *items, const bool *weak, const int *lengths,
                     int rows, Value r)
{
    int n = lengths ? 0 : rows;
    Value *mark = in->sp, s = v_undef();
    (void)weak;
    for (int i = 0; lengths && i < rows; i++)
        n += lengths[i];
    if (!t->record)
        return v_retain(r);
    refuse_complex(in, &r, 1);
    if (!floats(r) && !is_bool(r))
        return v_retain(r);
    stack_room(in, (size_t)n + 16);
    for (int i = 0; i < n; i++)
        v_push(in, is_bool(r) && shade_on(items[i], t)
                   ? v_retain(shade_on(items[i], t)->shadow) : shadow_arg(in, t, items[i]));
    Items l = { mark, NULL, lengths, rows };
    aside(in, shading_of(t), run_literal, &l, &s);
    v_push(in, s);
    Call call = call_of(NULL, NULL, t, items, items, n);
    Value out = blame_all(in, &call, r, s);
    stack_cut(in, mark);
    return out;
}

/* ---- subscripts ---- */
enum { SUBS_MOST = TENSOR_RANK_MAX + 8 };

static int subs_plain(const Sub *subs, int n, Sub *out)
{
    n = n < SUBS_MOST ? n : SUBS_MOST;
    for (int i = 0; i < n; i++) {
        out[i] = subs[i];
        if (subs[i].kind == SUB_VALUE)
            out[i].v = v_plain(subs[i].v);
    }
    return n;
}

static void subs_branches(Interp *in, const Tape *t, const Sub *subs, int n)
{
    for (int i = 0; i < n; i++)
        if (subs[i].kind == SUB_VALUE)
            branches_in(in, t, &subs[i].v, 1);
}

typedef struct Picked {
    Value base;
    const Sub *subs;
    int n;
} Picked;

static Value run_index(Interp *in, void *data)
{
    const Picked *p = data;
    return index_get(in, p->base, p->subs, p->n);
}

static Value indexed(Interp *in, Tape *t, Value x, const Sub *subs, int n, Value r)
{
    Sub plain[SUBS_MOST];
    Value s = v_undef();
    const Shade *shade = shade_on(x, t);
    if (t->record)
        subs_branches(in, t, subs, n);
    n = subs_plain(subs, n, plain);
    if (x.tag != V_TRACED)                      /* a tuple: its items keep theirs */
        return index_get(in, x, plain, n);
    if (!shade || !t->record || !(floats(r) || is_bool(r)))
        return v_retain(r);
    Picked p = { shade->shadow, plain, n };
    aside(in, shading_of(t), run_index, &p, &s);
    v_push(in, s);
    Call call = call_of(NULL, NULL, t, &x, &x, 1);
    Value out = blame_all(in, &call, r, s);
    stack_cut(in, in->sp - 1);
    return out;
}

/* ---- stores ---- */
typedef struct Stored {
    Value *slot;
    const Sub *subs;
    int n;
    const Op *op;
    Value v;
} Stored;

static Value run_store(Interp *in, void *data)
{
    const Stored *s = data;
    if (s->op)
        index_update(in, s->slot, s->subs, s->n, s->op, s->v, false);
    else
        index_set(in, s->slot, s->subs, s->n, s->v);
    return v_none();
}

/* The shadow of what is stored to comes onto the value stack; from: as in Recorder.store. */
static void push_target(Interp *in, const Tape *t, Traced *x, Value from)
{
    Shade *old = x->tangent.tag == V_UNDEF ? NULL : x->tangent.ptr;
    Value own = from.tag == V_UNDEF ? x->value : from;
    if (!old) {
        v_push(in, is_bool(own) ? v_retain(v_plain(own))
                                : aside_cast(in, shading_of(t), own));
        return;
    }
    v_push(in, v_retain(old->shadow));
    if (old->native.refs == 1) {                /* nobody else: it is written where it stands */
        v_release(&in->ctx, old->shadow);
        old->shadow = v_undef();
    }
    if (floats(in->sp[-1]) && v_dtype(in->sp[-1]) != shading_of(t)->against) {
        Value cast = aside_cast(in, shading_of(t), in->sp[-1]), narrow = in->sp[-1];
        in->sp[-1] = cast;
        v_release(&in->ctx, narrow);
    }
}

/* x[subs] op= v lost digits at its place. */
static void store_blame(Interp *in, Tape *t, Traced *x, Shade *to, const Op *op, double before,
                        Value v)
{
    const Shade *s = shade_on(v, t);
    to->digits = digits_of(in, x->value, to->shadow, NULL);
    double worst = s && s->digits < before ? s->digits : before, lost = worst - to->digits;
    to->made = site_here(in, shading_of(t), op, op->infix ? op->infix : op->name);
    if (lost > 0) {
        Loss *l = loss_at(to, to->made);
        l->lost += lost;
        l->cost += lost;
    }
    losses_clip(to, to->digits, value_digits(x->value, shading_of(t)->against));
}

static void stored(Interp *in, Tape *t, Traced *x, Value from, const Sub *subs, int n, const Op *op,
                   Value v, bool weak)
{
    Sub plain[SUBS_MOST];
    Value *mark = in->sp, done;
    (void)weak;
    if (!t->record)
        return;
    subs_branches(in, t, subs, n);
    if (!floats(x->value) && !is_bool(x->value)) {
        refuse_complex(in, &x->value, 1);
        return;
    }
    Shade *old = x->tangent.tag == V_UNDEF ? NULL : x->tangent.ptr;
    double before = old && !isnan(old->digits) ? old->digits
                                               : value_digits(x->value, shading_of(t)->against);
    push_target(in, t, x, from);
    v_push(in, is_bool(x->value) && shade_on(v, t) ? v_retain(shade_on(v, t)->shadow)
                                                   : shadow_arg(in, t, v));
    n = subs_plain(subs, n, plain);
    Stored to = { mark, plain, n, op, mark[1] };
    if (!aside(in, shading_of(t), run_store, &to, &done)) {
        v_release(&in->ctx, *mark);
        *mark = v_undef();
        *mark = aside_cast(in, shading_of(t), x->value);
    }
    Shade *s = shade_new(in, v_retain(*mark));
    v_push(in, v_shade(s));
    if (old) {
        losses_join(s, old);
        s->made = old->made;
        v_release(&in->ctx, x->tangent);
    }
    x->tangent = v_retain(v_shade(s));
    if (shade_on(v, t))
        losses_join(s, shade_on(v, t));
    if (op && floats(x->value))
        store_blame(in, t, x, s, op, before, v);
    else if (shade_on(v, t) && s->made == SITE_NONE)
        s->made = shade_on(v, t)->made;
    stack_cut(in, mark);
}

/* ---- index notation ---- */
typedef struct Notation {
    const Exec *x;
    IxSite *site;
    Value *base;
} Notation;

static Value run_notation(Interp *in, void *data)
{
    const Notation *n = data;
    Tuple *around = in->inlined;
    in->inlined = NULL;
    ix_round_leaves(in, &n->site->tree, n->base);
    Value r = ix_value(in, n->x, n->site, n->base);
    in->inlined = around;
    return r;
}

static Value notation(Interp *in, const Exec *x, void *site, Tape *t, const Value *base, int leaves,
                      Value r)
{
    IxSite *of = site;
    Value *mark = in->sp, s = v_undef();
    int own = of->tree.leaves;
    in->at = x;
    if (!t->record)
        return v_retain(r);
    refuse_complex(in, base, leaves);
    if (!has_floats(r) && !is_bool(r))
        return v_retain(r);
    stack_room(in, IX_LEAVES + 64);
    for (int i = 0; i < own; i++)
        v_push(in, shadow_arg(in, t, base[i]));
    Notation n = { x, of, mark };
    aside(in, shading_of(t), run_notation, &n, &s);
    in->at = x;
    stack_cut(in, mark);
    v_push(in, s);
    for (int i = 0; i < leaves; i++)
        v_push(in, v_retain(v_plain(base[i])));
    Call call = call_of(NULL, "index notation", t, base, mark + 1, leaves);
    call.sums = true;
    Value out = blame_all(in, &call, r, s);
    stack_cut(in, mark);
    return out;
}

/* ---- the rest ---- */
static Value number(Interp *in, Tape *t, Value v)
{
    (void)in, (void)t, (void)v;
    return v_undef();
}

typedef struct Two { Value a, b; } Two;

static Value run_product(Interp *in, void *data)
{
    const Two *p = data;
    return strong_product(in, p->a, p->b);
}

static Value product(Interp *in, Tape *t, Value a, Value b, Value r)
{
    Value *mark = in->sp, s = v_undef(), args[2] = { a, b };
    if (!t->record)
        return v_retain(r);
    v_push(in, shadow_arg(in, t, a));
    v_push(in, shadow_arg(in, t, b));
    Two p = { mark[0], mark[1] };
    aside(in, shading_of(t), run_product, &p, &s);
    v_push(in, s);
    Call call = call_of(op_operator(in, TK_MUL), NULL, t, args, args, 2);
    Value out = blame_all(in, &call, r, s);
    stack_cut(in, mark);
    return out;
}

static void measured(Interp *in, Tape *t, uint32_t node, int axis, Measured m)
{
    (void)in, (void)t, (void)node, (void)axis, (void)m;
}

const Recorder shadow_recorder = {
    .hears = hears, .before = before, .row = row, .literal = literal, .index = indexed,
    .store = stored, .notation = notation, .number = number, .product = product,
    .looked = looked, .measured = measured,
};
