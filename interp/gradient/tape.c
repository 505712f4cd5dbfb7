/* Tapes, their entries, and traced values. A tape is counted by those who hold it: the run of the
 * function, traced values, a pull that may be called again. */
#include "interp/gradient/transform.h"
#include "interp/eval/call.h"
#include "interp/device/place.h"
#include "interp/index/index.h"
#include "interp/sparse/sparse_door.h"
#include "interp/state/frames.h"

#include "core/base/error.h"
#include "core/base/mem.h"

#include <stdio.h>
#include <string.h>

/* ---- tapes ---- */
static Interp *interp_of(Ctx *ctx) { return (Interp *)(void *)ctx; }

static void tape_release(Ctx *ctx, Native *native)
{
    Tape *t = (Tape *)native;
    interp_of(ctx)->boxes -= t->mode == TAPE_GRAPH;
    for (uint32_t i = 0; i < t->keeps; i++)
        v_release(ctx, t->keep[i]);
    for (uint32_t i = 0; i < t->scopes; i++)
        mem_free(ctx, t->scope[i], sizeof(Scope));
    v_release(ctx, t->bad_operand);
    for (uint32_t i = 0; i < t->entries; i++)
        tensor_release(ctx, t->entry[i].pattern);
    mem_free(ctx, t->entry, t->entry_cap * sizeof *t->entry);
    mem_free(ctx, t->operand, t->operand_cap * sizeof *t->operand);
    mem_free(ctx, t->keep, t->keep_cap * sizeof *t->keep);
    mem_free(ctx, t->shape, t->shape_cap * sizeof *t->shape);
    mem_free(ctx, t->scope, t->scope_cap * sizeof *t->scope);
    for (uint32_t i = 0; i < t->places; i++)
        mem_free(ctx, t->place[i], sizeof(DeviceBlock));
    mem_free(ctx, t->place, t->place_cap * sizeof *t->place);
    mem_free(ctx, t, sizeof *t);
}

static const Kind tape_kind = { .release = tape_release };

Tape *tape_new(Interp *in, TapeMode mode)
{
    Tape *t = mem_zalloc(&in->ctx, sizeof *t);
    t->native = (Native){ .refs = 1, .kind = &tape_kind };
    t->ctx = &in->ctx;
    t->mode = (uint8_t)mode;
    t->level = in->tape ? in->tape->level + 1 : 1;
    in->boxes += mode == TAPE_GRAPH;        /* it hears of what has no traced operand as well */
    return t;
}

void tape_begin(Interp *in, Tape *t)
{
    t->up = in->tape;
    t->alive = true;
    in->tape = t;
}

void tape_end(Interp *in, Tape *t)
{
    assert(in->tape == t);
    in->tape = t->up;
    t->alive = false;
}

/* After an error the interpreter's chain of tapes is a shorter one: those that are not on it have
 * ended, whatever they say. */
bool tape_alive(const Interp *in, const Tape *t)
{
    for (const Tape *k = in->tape; t->alive && k; k = k->up)
        if (k == t)
            return true;
    return false;
}

Tape *tape_recording(const Interp *in, int level)
{
    Tape *t = in->tape;
    while (t && (!t->recorder || !t->alive || (level && t->level >= level)))
        t = t->up;
    return t;
}

Tape *tape_hearing(const Interp *in, const OpCall *c)
{
    Tape *t = tape_recording(in, in->deaf);
    while (t && !t->recorder->hears(c))
        t = tape_recording(in, t->level);
    return t;
}

Measured measured_of(Value v)
{
    v = v_plain(v);
    bool tensor = v.tag == V_TENSOR;
    return (Measured){ v_dtype(v), tensor ? v.tensor->rank : 0,
                       tensor ? tensor_shape(v.tensor) : NULL };
}

void tape_measured(Interp *in, const Tape *t, const Entry *e)
{
    Tape *below = e->below ? tape_recording(in, t->level) : NULL;
    if (below)
        below->recorder->measured(in, below, e->below, LENGTH_ALL,
                                  (Measured){ e->dtype, e->rank > 0 ? e->rank : 0,
                                              t->shape + e->shape });
}

/* ---- traced values ---- */

static void traced_release(Ctx *ctx, Native *native)
{
    Traced *t = (Traced *)native;
    interp_of(ctx)->boxes--;
    v_release(ctx, t->value);
    v_release(ctx, t->tangent);
    v_release(ctx, v_tape(t->tape));
    mem_free(ctx, t, sizeof *t);
}

Traced *traced_new(Interp *in, Tape *tape, Value value, uint32_t node)
{
    v_push(in, value);
    Traced *t = mem_alloc(&in->ctx, sizeof *t);
    in->sp--;
    *t = (Traced){ .native = { .refs = 1, .kind = traced_kind() }, .value = value,
                   .tangent = v_undef(), .tape = tape, .node = node };
    tape->native.refs++;
    in->boxes++;
    return t;
}

Tape *tape_of(Value v, Tape *t)
{
    if (v.tag == V_TUPLE) {
        for (uint32_t i = 0; i < v.tuple->count; i++)
            t = tape_of(v.tuple->items[i], t);
        return t;
    }
    for (; v.tag == V_TRACED; v = traced_of(v)->value) {
        Tape *own = traced_of(v)->tape;
        if (tape_alive(interp_of(own->ctx), own) && (!t || own->level > t->level))
            t = own;
    }
    return t;
}

Tape *tape_inside(Value v, const Tape *under, Tape *t)
{
    Parts p = parts_of(v);
    for (uint32_t i = 0; i < p.count; i++)
        t = tape_inside(p.item[i], under, t);
    for (; v.tag == V_TRACED; v = traced_of(v)->value) {
        Tape *own = traced_of(v)->tape;
        if (tape_alive(interp_of(own->ctx), own) && (!under || own->level < under->level) &&
            (!t || own->level > t->level))
            t = own;
    }
    return t;
}

typedef bool (*Strips)(const Interp *, const Traced *, const Tape *);

static bool strips_below(const Interp *in, const Traced *v, const Tape *t)
{
    return v->tape == t || !tape_alive(in, v->tape);
}

static bool strips_all(const Interp *in, const Traced *v, const Tape *t)
{
    (void)in, (void)v, (void)t;
    return true;
}

static bool stripped_inside(const Interp *in, Value v, const Tape *t, Strips strips)
{
    if (v.tag == V_TRACED)
        return strips(in, traced_of(v), t);
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        if (stripped_inside(in, v.tuple->items[i], t, strips))
            return true;
    return false;
}

static Value stripped(Interp *in, Value v, const Tape *t, Strips strips)
{
    while (v.tag == V_TRACED && strips(in, traced_of(v), t))
        v = traced_of(v)->value;
    if (v.tag != V_TUPLE || !stripped_inside(in, v, t, strips))
        return v_retain(v);
    stack_check(in);
    Tuple *from = v.tuple, *to = tuple_new(&in->ctx, from->count);
    v_push(in, v_tuple(to));
    for (uint32_t i = 0; i < from->count; i++) {
        to->items[i] = stripped(in, from->items[i], t, strips);
        if (from->names && from->names[i])
            tuple_name(&in->ctx, to, i, from->names[i]);
    }
    in->sp--;
    return v_tuple(to);
}

Value value_below(Interp *in, Value v, const Tape *t) { return stripped(in, v, t, strips_below); }
static bool strips_above(const Interp *in, const Traced *v, const Tape *t)
{
    return v->tape != t && (v->tape->level > t->level || !tape_alive(in, v->tape));
}

static bool strips_derivatives(const Interp *in, const Traced *v, const Tape *t)
{
    (void)t;
    return !v->tape->recorder || !tape_alive(in, v->tape);
}

Value value_on(Interp *in, Value v, const Tape *t) { return stripped(in, v, t, strips_above); }
Value value_underived(Interp *in, Value v) { return stripped(in, v, NULL, strips_derivatives); }
Value value_detached_all(Interp *in, Value v) { return stripped(in, v, NULL, strips_all); }

Value *push_like(Interp *in, Value v)
{
    if (v_kind(v) && v_kind(v)->like)
        return v_kind(v)->like(in, v);
    if (v.tag == V_TRANSFORM) {
        v_push(in, transform_like(in, v));
        return ((Transform *)in->sp[-1].ptr)->part;
    }
    if (v.tag == V_FUNCTION) {
        v_push(in, (Value){ .tag = V_FUNCTION, .fn = function_like(in, v.fn) });
        return in->sp[-1].fn->values;
    }
    v_push(in, v_tuple(tuple_new(&in->ctx, v.tuple->count)));
    for (uint32_t i = 0; v.tuple->names && i < v.tuple->count; i++)
        if (v.tuple->names[i])
            tuple_name(&in->ctx, in->sp[-1].tuple, i, v.tuple->names[i]);
    return in->sp[-1].tuple->items;
}

Value parts_below(Interp *in, Value v, const Tape *t)
{
    Parts p = parts_of(v);
    if (!p.count || !tape_inside(v, NULL, NULL))
        return value_below(in, v, t);
    stack_check(in);
    Value *to = push_like(in, v);
    for (uint32_t i = 0; i < p.count; i++)
        to[i] = parts_below(in, p.item[i], t);
    return *--in->sp;
}

/* ---- entries ---- */
#define ROOM(t, list, count, cap, more)                                                          \
    do {                                                                                         \
        if ((size_t)(t)->count + (more) > (t)->cap) {                                            \
            size_t want = ((size_t)(t)->count + (more)) * 2 + 8;                                 \
            (t)->list = mem_realloc((t)->ctx, (t)->list, (t)->cap * sizeof *(t)->list,           \
                                    want * sizeof *(t)->list);                                   \
            (t)->cap = want;                                                                     \
        }                                                                                        \
    } while (0)

/* A copy of the running scope; operations in a row share one. */
static Scope *scope_kept(Interp *in, Tape *t)
{
    if (!in->scope)
        return NULL;
    if (t->scopes && scope_same(t->scope[t->scopes - 1], in->scope))
        return t->scope[t->scopes - 1];
    ROOM(t, scope, scopes, scope_cap, 1);
    Scope *s = mem_alloc(&in->ctx, sizeof *s);
    *s = *in->scope;
    s->up = NULL;
    s->arith = (Arith){ 0 };
    s->flags = (ArithFlags){ 0 };
    s->partly = false;
    return t->scope[t->scopes++] = s;
}

/* A copy of the running device block, without what it has counted. */
static DeviceBlock *place_kept(Interp *in, Tape *t)
{
    if (!in->place)
        return NULL;
    for (uint32_t i = 0; i < t->places; i++)
        if (t->place[i]->device == in->place->device && t->place[i]->header == in->place->header &&
            t->place[i]->running == in->place->running)
            return t->place[i];
    ROOM(t, place, places, place_cap, 1);
    DeviceBlock *p = mem_alloc(&in->ctx, sizeof *p);
    *p = *in->place;
    p->up = NULL;
    p->counts = (PlaceCounts){ 0 };
    return t->place[t->places++] = p;
}

/* The node of v on the highest tape of a recorder below t; 0: it has none. */
static uint32_t node_below(const Interp *in, Value v, const Tape *t)
{
    if (v.tag != V_TRACED)
        return 0;
    const Tape *below = tape_recording(in, t->level);
    for (; below && v.tag == V_TRACED; v = traced_of(v)->value)
        if (traced_of(v)->tape == below)
            return traced_of(v)->node;
    return 0;
}

uint32_t tape_entry(Interp *in, Tape *t, EntryKind kind, Value like)
{
    uint32_t below = node_below(in, like, t);
    like = v_plain(like);
    ROOM(t, entry, entries, entry_cap, 1);
    Scope *scope = scope_kept(in, t);
    DeviceBlock *place = place_kept(in, t);
    Entry *e = &t->entry[t->entries];
    *e = (Entry){ .kind = (uint8_t)kind, .operand = t->operands, .keep = t->keeps,
                  .shape = t->shapes, .below = below, .at = in->at, .scope = scope, .place = place,
                  .source = frame_source(in, in->calls),
                  .dtype = v_dtype(like),
                  .rank = like.tag == V_TUPLE || parts_of(like).count ? -1 : 0 };
    if (like.tag == V_TENSOR && like.tensor->rank) {
        ROOM(t, shape, shapes, shape_cap, like.tensor->rank);
        memcpy(t->shape + t->shapes, tensor_shape(like.tensor),
               like.tensor->rank * sizeof *t->shape);
        e->rank = (int8_t)like.tensor->rank;
        t->shapes += like.tensor->rank;
        if (v_sparse(like))
            e->pattern = tensor_retain(v_sparse(like)->pattern);
    }
    return ++t->entries;
}

void tape_operand(Tape *t, uint32_t node, int arg, int item)
{
    ROOM(t, operand, operands, operand_cap, 1);
    t->operand[t->operands++] = (TapeOperand){ node, arg, item };
    t->entry[t->entries - 1].operands++;
}

void tape_keep(Tape *t, Value v)
{
    Interp *in = interp_of(t->ctx);
    bool functions = v.tag == V_FUNCTION || v.tag == V_TUPLE || v.tag == V_TRANSFORM;
    ROOM(t, keep, keeps, keep_cap, 1);
    t->keep[t->keeps] = functions ? parts_below(in, v, t) : v_retain(v);
    t->keeps++;
    t->entry[t->entries - 1].keeps++;
}

void tape_forget(Interp *in, Tape *t, Entry *e)
{
    for (uint32_t i = e->keep; i < e->keep + e->keeps; i++) {
        Value v = t->keep[i];
        t->keep[i] = v_undef();
        v_release(&in->ctx, v);
    }
    e->keeps = 0;
}

void tape_forget_places(Tape *t)
{
    for (uint32_t i = 0; i < t->entries; i++) {
        t->entry[i].at = NULL;
        t->entry[i].source = NULL;
        t->entry[i].place = NULL;
    }
}

void tape_drop(Interp *in, Tape *t, uint32_t entries)
{
    while (t->entries > entries) {
        Entry *e = &t->entry[t->entries - 1];
        tape_forget(in, t, e);
        tensor_release(&in->ctx, e->pattern);
        t->operands = e->operand;
        t->keeps = e->keep;
        t->shapes = e->shape;
        t->entries--;
    }
}

/* ---- what a traced value is to the rooms of values ---- */
static Value traced_index(Interp *, Value, const Sub *, int);

static Value traced_field(Interp *in, Value v, const Name *name)
{
    return field_get(in, v_plain(v), name);
}

/* Whoever records it is told, or refuses. */
static void traced_looked(Value v)
{
    for (; v.tag == V_TRACED; v = traced_of(v)->value) {
        Tape *t = traced_of(v)->tape;
        if (t->recorder && tape_alive(interp_of(t->ctx), t))
            t->recorder->looked(interp_of(t->ctx), t, traced_of(v));
    }
}

static void traced_measured(Value v, int axis)
{
    for (; v.tag == V_TRACED; v = traced_of(v)->value) {
        Tape *t = traced_of(v)->tape;
        if (t->recorder && tape_alive(interp_of(t->ctx), t))
            t->recorder->measured(interp_of(t->ctx), t, traced_of(v)->node, axis,
                                  measured_of(v));
    }
}

static const Kind kind_of_traced = {
    .release = traced_release, .index = traced_index, .field = traced_field,
    .looked = traced_looked, .measured = traced_measured,
};

const Kind *traced_kind(void) { return &kind_of_traced; }

/* ---- subscripts that are recorded ---- */
static Value subscript(Value v)
{
    while (v.tag == V_TRACED && (!traced_of(v)->tape->recorder ||
                                 !tape_alive(interp_of(traced_of(v)->tape->ctx),
                                             traced_of(v)->tape)))
        v = traced_of(v)->value;
    return v;
}

static bool subscripts(const Sub *subs, int n)
{
    for (int i = 0; i < n; i++)
        if (subs[i].kind == SUB_VALUE && subs[i].v.tag == V_TRACED)
            return true;
    return false;
}

Tape *tape_of_subs(const Sub *subs, int n, Tape *t)
{
    for (int i = 0; i < n; i++)
        if (subs[i].kind == SUB_VALUE)
            t = tape_of(subs[i].v, t);
    return t;
}

void subs_below(Interp *in, const Sub *subs, int n, const Tape *t, Sub *out)
{
    for (int i = 0; i < n; i++) {
        out[i] = subs[i];
        if (subs[i].kind == SUB_VALUE) {
            v_push(in, value_below(in, subs[i].v, t));
            out[i].v = subscript(in->sp[-1]);
        }
    }
}

/* x[subs] on the highest tape of them, a recorder's. */
static Value recorded_index(Interp *in, Tape *t, Value base, const Sub *subs, int n)
{
    Value *mark = in->sp;
    Sub below[TENSOR_RANK_MAX + 8];
    n = n < TENSOR_RANK_MAX + 8 ? n : TENSOR_RANK_MAX + 8;
    v_push(in, value_below(in, base, t));
    subs_below(in, subs, n, t, below);
    uint8_t failing = t->failing;
    t->failing = FAILING_OPERATION;
    int deaf = tape_below_begin(in, t);
    v_push(in, index_get(in, *mark, below, n));
    tape_below_end(in, deaf);
    t->failing = failing;
    Value out = t->recorder->index(in, t, base, subs, n, in->sp[-1]);
    stack_cut(in, mark);
    return out;
}

static Value index_of(Interp *in, Value base, const Sub *subs, int n)
{
    Tape *t = tape_of_subs(subs, n, base.tag == V_TRACED ? tape_of(base, NULL) : NULL);
    return t && t->recorder ? recorded_index(in, t, base, subs, n)
                            : traced_index(in, base, subs, n);
}

/* base[subs] as the level below has it, and an entry of it. */
static Value traced_index(Interp *in, Value base, const Sub *subs, int n)
{
    Traced *x = traced_of(base);
    if (x->tape->recorder && tape_alive(in, x->tape))
        return recorded_index(in, x->tape, base, subs, n);
    Value r = index_get(in, x->value, subs, n);
    if (!tape_alive(in, x->tape))
        return r;
    Tape *t = x->tape;
    Value *mark = in->sp;
    v_push(in, r);
    if (x->step) {
        Value step = step_value(in, t, r, x->cut, x->cut_at);
        stack_cut(in, mark);
        return step;
    }
    if (!x->node && x->tangent.tag == V_UNDEF) {
        Traced *cut = traced_new(in, t, v_retain(r), 0);
        cut->cut = x->cut;
        cut->cut_at = x->cut_at;
        stack_drop(in, mark);
        return v_traced(cut);
    }
    uint32_t node = tape_entry(in, t, ENTRY_INDEX, r);
    tape_operand(t, x->node, 0, -1);
    for (int i = 0; i < n; i++) {
        tape_keep(t, v_int(subs[i].kind));
        tape_keep(t, subs[i].kind == SUB_VALUE ? subs[i].v : subs[i].start);
        tape_keep(t, subs[i].stop);
        tape_keep(t, subs[i].step);
    }
    Traced *out = traced_new(in, t, v_retain(r), node);
    v_push(in, v_traced(out));
    if (t->mode == TAPE_FORWARD) {
        out->tangent = index_get(in, x->tangent, subs, n);
        tape_drop(in, t, node - 1);
        out->node = 0;
    }
    in->sp--;
    stack_drop(in, mark);
    return v_traced(out);
}

/* The error is the interpreter's: one of a recorded operation may come in one call and not in
 * another, and one of whoever refused to look is no program's to catch. */
static void caught(Interp *in)
{
    char what[200];
    for (Tape *t = tape_recording(in, 0); t; t = tape_recording(in, t->level)) {
        uint8_t failing = t->failing;
        t->failing = FAILING_NOTHING;
        if (failing == FAILING_LOOK)
            err_rethrow(&in->ctx);
        if (failing == FAILING_NOTHING || !t->recorder->forever)
            continue;
        snprintf(what, sizeof what, "%.180s", in->ctx.error->message);
        err_free(in->ctx.error);
        in->ctx.error = NULL;
        err_raise_help(&in->ctx, ERR_VALUE, "try around the call of the graph",
                       "an error of what the graph records is caught, and would decide for ever: "
                       "%s", what);
    }
}

static bool hears(const Interp *in, const OpCall *c) { return tape_hearing(in, c) != NULL; }

const Traces traces = { .call = record_row, .literal = record_literal, .store = record_store,
                        .notation = record_notation, .chosen = record_chosen,
                        .placed = record_placed, .index = index_of, .subscript = subscript,
                        .subscripts = subscripts, .hears = hears, .caught = caught };
