/* Assignment to variables: plain, compound and fused, and the places behind a variable:
 * A[i, j] = v, t.x = v, a, b = f(), and any nesting of them. Element stores that are
 * plain scalars go through eval_index.c first. */
#include "interp/fuse/fuse.h"
#include "interp/op/traced.h"
#include "interp/eval/eval_assign.h"
#include "interp/eval/eval_name.h"
#include "interp/state/frames.h"
#include "interp/eval/eval_index.h"
#include "interp/eval/eval_scope.h"
#include "interp/op/deferred.h"
#include "interp/op/heard.h"
#include "interp/state/kind.h"
#include "interp/device/place.h"
#include "interp/op/scalar.h"

#include "core/base/error.h"
#include "interp/op/arith.h"
#include "interp/eval/call.h"
#include "interp/eval/eval_binary.h"
#include "interp/eval/eval_make.h"

#include <stdio.h>
#include <string.h>

/* ---- x = v ---- */
static __attribute__((noinline)) void assign_lent(Interp *in, const Exec *x, Value *slot, Value v)
{
    if (!pinned_assign(in, x, slot, v))
        slot_put(in, slot, v);
}

/* Takes v. What C may hold a pointer to stays where it is: v goes into it, or does not fit. */
static inline void slot_assign(Interp *in, const Exec *x, Value *slot, Value v)
{
    if (v_maybe_pinned(in, *slot))
        assign_lent(in, x, slot, v);
    else
        slot_put(in, slot, v);
}

Value eval_assign_slot(Interp *in, const Exec *x)
{
    slot_assign(in, x, &in->fp[x->sa], exec_run(in, x->a));
    return v_none();
}

Value eval_assign_copy(Interp *in, const Exec *x)
{
    Value v = in->fp[x->sb];
    if (__builtin_expect(v.tag == V_UNDEF, 0))
        v = exec_run(in, x->a);
    slot_assign(in, x, &in->fp[x->sa], v_share(in, v));
    return v_none();
}

/* x = y, where nobody reads y again before it is assigned: x has it for itself, so that an element
 * can be stored without a copy. */
Value eval_assign_last(Interp *in, const Exec *x)
{
    Value *from = &in->fp[x->sb], v = *from;
    if (!v_is_object(v) || v_maybe_pinned(in, v))
        return eval_assign_copy(in, x);
    *from = v_undef();
    slot_assign(in, x, &in->fp[x->sa], v);
    return v_none();
}

/* The right side is an if, a loop, a block or try: it may leave. */
Value eval_assign_flow(Interp *in, const Exec *x)
{
    Value v = exec_run(in, x->a);
    if (v.tag == V_FLOW)
        return v;
    slot_assign(in, x, &in->fp[x->sa], v);
    return v_none();
}

Value eval_assign_target(Interp *in, const Exec *x)
{
    Value v = exec_run(in, x->a);
    if (v.tag == V_FLOW)
        return v;
    in->at = x;
    target_assign(in, x->b, v);
    return v_none();
}

/* a, b = b, a: no tuple is made. a->list: values, b->list: targets. */
Value eval_assign_parallel(Interp *in, const Exec *x)
{
    Value *base = in->sp;
    for (uint32_t i = 0; i < x->count; i++)
        v_push(in, exec_run(in, x->a->list[i]));
    for (uint32_t i = 0; i < x->count; i++) {
        Value v = base[i];
        base[i] = v_none();
        in->at = x;
        target_assign(in, x->b->list[i], v);
    }
    in->sp = base;
    return v_none();
}

/* ---- x op= v ---- */
/* Is v a number, or a tensor whose elements all have a place in t? */
static bool fits_into(const Tensor *t, Value v)
{
    const Tensor *from = v.tag == V_LAZY ? fuse_head(v) : v.tag == V_TENSOR ? v.tensor : NULL;
    if (!from)
        return v.tag == V_INT || v.tag == V_FLOAT;
    bool fits = from->rank <= t->rank && !dtype_foreign((DType)from->dtype) &&
                from->dtype != DT_RATIONAL;
    for (int i = 0; i < from->rank && fits; i++)
        fits = tensor_shape(from)[i] == tensor_shape(t)[t->rank - from->rank + i] ||
               tensor_shape(from)[i] == 1;
    return fits;
}

/* May the result be written over the variable's tensor? Nobody but the chain v has it, and nobody
 * would see it after an error, of which there is none but of memory and Ctrl-C. Meanwhile functions
 * may run that free memory of C's; they see variables of the program, none of a function. */
static bool used_up(Interp *in, const Exec *x, Value old, Value v)
{
    const Op *op = x->data;
    if (!x->hands || old.tag != V_TENSOR || old.tensor->rank > HANDED_RANK || !op ||
        op->cls != OPC_EW || in->scope || in->place || deferred_on(in) ||
        v_maybe_pinned(in, old) || (in->native && !in->calls->fn))
        return false;
    char kind = dtype_info((DType)old.tensor->dtype)->kind;
    uint32_t chain = v.tag == V_LAZY ? fuse_holds(v, old.tensor) : 0;
    return *old.refs == 1 + chain && (kind == 'f' || kind == 'c') &&
           !dtype_foreign((DType)old.tensor->dtype) && fits_into(old.tensor, v);
}

/* A chain is nobody's but the value stack's, at `held`, and is taken from there. */
static __attribute__((noinline)) Value over_old(Interp *in, const Exec *x, Value *slot, Value *held,
                                                Value v, unsigned weak)
{
    Handed handed;
    handed.count = 0;
    CallFrame *frame = in->calls;
    const Handed *before = frame->handed;
    Value old = handed_take(&handed, slot), r;
    frame->handed = &handed;
    if (v.tag == V_LAZY) {
        assert(held < in->sp && held->tag == V_LAZY && held->ptr == v.ptr);
        *held = v_none();
        r = fuse_take(in, x, x->data, (Value[]){ old, v }, 2, weak, 3);
    } else {
        r = op_binary_take(in, x->data, old, v, weak, 1);
    }
    frame->handed = before;
    return r;
}

/* Anything but two scalars. The variable keeps its value until the new one is there, as far as
 * anybody can tell. */
static __attribute__((noinline)) Value opassign_slow(Interp *in, const Exec *x, Value v, bool owned)
{
    Value *mark = in->sp, *slot = &in->fp[x->sa];
    if (owned)
        v_push(in, v);
    if (v.tag == V_UNDEF)
        v_push(in, v = exec_run(in, x->a));
    in->at = x;
    if (x->op != TK_ADD || !value_grows(in, slot, v)) {
        Value old = *slot;
        if (old.tag == V_UNDEF)
            v_push(in, old = exec_run(in, x->b));
        unsigned weak = x->weak | (unsigned)exec_weak(x->a) << 1;
        if (used_up(in, x, *slot, v)) {
            Value r = over_old(in, x, slot, mark, v, weak);
            slot_put(in, slot, r);
            stack_drop(in, mark);
            return v_none();
        }
        Value r = binary_values(in, x, old, v, weak);
        if (__builtin_expect(old.tag == V_TENSOR && old.tensor->buffer->pinned, 0)) {
            pinned_assign(in, x, slot, r);
        } else {
            slot_put(in, slot, r);
        }
    }
    stack_drop(in, mark);
    return v_none();
}

/* A text that has room for another and is nobody else's, as in loops: nothing can be raised. */
static inline bool text_fits(const Value *slot, Value v)
{
    return slot->tag == V_STRING && v.tag == V_STRING && str_has_room(slot->str, v.str->len);
}

SCALAR_INLINE Value opassign(Interp *in, const Exec *x, int op, int kind)
{
    Value v = kind == OPD_X ? exec_run(in, x->a) : kind == OPD_L ? in->fp[x->sb] :
              kind == OPD_I ? v_int(x->k.i) : v_float(x->k.f);
    Value *slot = &in->fp[x->sa], out;
    if (__builtin_expect(!scalar_binary(op, *slot, v, &out), 0)) {
        if (op == TK_ADD && kind == OPD_X && text_fits(slot, v)) {
            str_put(slot->str, v.str->text, v.str->len);
            v_release(&in->ctx, v);
            return v_none();
        }
        return opassign_slow(in, x, v, kind == OPD_X);
    }
    *slot = out;
    return v_none();
}

#define OPERATORS(P) \
    P(ADD, X) P(ADD, L) P(ADD, I) P(ADD, F) P(SUB, X) P(SUB, L) P(SUB, I) P(SUB, F) \
    P(MUL, X) P(MUL, L) P(MUL, I) P(MUL, F) P(DIV, X) P(DIV, L) P(DIV, I) P(DIV, F)
#define DEFINE(OP, K) \
    static Value eval_opassign_##OP##_##K(Interp *in, const Exec *x) \
    { return opassign(in, x, TK_##OP, OPD_##K); }
OPERATORS(DEFINE)
#undef DEFINE
#define ENTRY(OP, K) [TK_##OP][OPD_##K] = eval_opassign_##OP##_##K,
static const EvalFn opassign_table[TK_OPERATORS][OPD_KINDS] = { OPERATORS(ENTRY) };
#undef ENTRY

static Value eval_opassign_any(Interp *in, const Exec *x)
{
    return opassign_slow(in, x, exec_run(in, x->a), true);
}

Value eval_opassign_scoped(Interp *in, const Exec *x)
{
    Value v = exec_run(in, x->a), *slot = &in->fp[x->sa], out;
    if (!scoped_ints(x->op, *slot, v, &out))
        return opassign_slow(in, x, v, true);
    *slot = out;
    return v_none();
}

EvalFn opassign_choose(int op, int operand)
{
    EvalFn fn = opassign_table[op][operand];
    return fn ? fn : eval_opassign_any;
}

/* s += p * q for scalars: the product is not stored. a is the MUL node. */
Value eval_add_product(Interp *in, const Exec *x)
{
    const Exec *mul = x->a;
    Value p = exec_run(in, mul->a);
    if (__builtin_expect(p.tag == V_FLOAT, 1)) {
        Value q = exec_run(in, mul->b);
        Value *slot = &in->fp[x->sa];
        if (__builtin_expect(q.tag == V_FLOAT && slot->tag == V_FLOAT, 1)) {
            slot->f += p.f * q.f;
            return v_none();
        }
        Value out;
        if (!scalar_binary(TK_MUL, p, q, &out))
            out = binary_slow(in, mul, p, q);
        return opassign_slow(in, x, out, true);
    }
    if (v_is_object(p))
        v_push(in, p);
    Value q = exec_run(in, mul->b), out;
    if (v_is_object(p))
        in->sp--;
    if (!scalar_binary(TK_MUL, p, q, &out))
        out = binary_slow(in, mul, p, q);
    Value *slot = &in->fp[x->sa], sum;
    if (!scalar_binary(TK_ADD, *slot, out, &sum))
        return opassign_slow(in, x, out, true);
    *slot = sum;
    return v_none();
}

/* s += p * q with p a variable, q a variable or float constant. */
SCALAR_INLINE Value add_leaf_product(Interp *in, const Exec *x, int kind)
{
    const Exec *mul = x->a;
    Value p = in->fp[mul->sa], q = kind == OPD_L ? in->fp[mul->sb] : v_float(mul->k.f);
    Value product, sum, *slot = &in->fp[x->sa];
    if (__builtin_expect(scalar_binary(TK_MUL, p, q, &product) &&
                         scalar_binary(TK_ADD, *slot, product, &sum), 1)) {
        *slot = sum;
        return v_none();
    }
    return opassign_slow(in, x, exec_run(in, mul), true);
}

static Value eval_add_product_L(Interp *in,
                                const Exec *x) { return add_leaf_product(in, x, OPD_L); }
static Value eval_add_product_F(Interp *in,
                                const Exec *x) { return add_leaf_product(in, x, OPD_F); }

/* The node for s += p * q by what p and q are. NULL: the plain one. */
EvalFn add_product_choose(const Exec *mul)
{
    int p = mul->a->operand, q = mul->b->operand;
    if (p == OPD_X && q == OPD_X)
        return product_of_elements(mul) ? eval_add_elements : eval_add_product;
    if (p != OPD_L || (q != OPD_L && q != OPD_F))
        return NULL;
    return q == OPD_L ? eval_add_product_L : eval_add_product_F;
}

/* ---- places ---- */
/* One step from a container to what it holds: [subs] or .name, its subscripts evaluated. */
typedef struct Level {
    const Exec *target;
    struct Level *inner;         /* the next step; NULL: the place itself */
    const Sub *subs;
    int n;
    const Value *given;          /* subscripts as they were evaluated, on the value stack */
    int givens;
} Level;

/* What happens at the place: v is stored (op NULL) or combined. */
typedef struct Store {
    const Exec *site;            /* the assignment, for error places */
    const Op *op;
    Value v;
    bool weak;
    const Value *at;             /* the subscripts, where they are known already */
} Store;

static Value level_get(Interp *in, Value base, const Level *l)
{
    return l->target->op == TG_FIELD ? field_read(in, base, l->target->node->name)
                                     : index_get(in, base, l->subs, l->n);
}

static void level_set(Interp *in, Value *slot, const Level *l, Value v)
{
    if (l->target->op == TG_FIELD)
        field_set(in, slot, l->target->node->name, v);
    else
        index_set(in, slot, l->subs, l->n, v);
}

/* The slot of an element of a tuple, so that nothing in it is copied; NULL elsewhere. */
static Value *level_slot(Interp *in, Value *slot, const Level *l)
{
    if (slot->tag != V_TUPLE)
        return NULL;
    return l->target->op == TG_FIELD ? field_slot(in, slot, l->target->node->name)
                                     : index_slot(in, slot, l->subs, l->n);
}

static void level_store(Interp *in, Value *slot, const Level *l, const Store *s)
{
    Value *inside = s->op && s->site->op == TK_ADD ? level_slot(in, slot, l) : NULL;
    in->at = s->site;
    if (inside && value_grows(in, inside, s->v))
        return;
    if (!s->op) {
        level_set(in, slot, l, s->v);
    } else if (l->target->op == TG_INDEX) {
        index_update(in, slot, l->subs, l->n, s->op, s->v, s->weak);
    } else {
        in->at = l->target;
        v_push(in, field_read(in, *slot, l->target->node->name));
        in->at = s->site;
        v_push(in, op_binary(in, s->op, in->sp[-1], s->v, s->weak ? 2 : 0));
        field_set(in, slot, l->target->node->name, in->sp[-1]);
        stack_drop(in, in->sp - 2);
    }
}

static void level_walk(Interp *in, Value *slot, const Level *l, const Store *s)
{
    if (!l->inner) {
        level_store(in, slot, l, s);
        traced_placed(in, slot, l->given, l->givens);
        return;
    }
    in->at = l->target;
    Value *inside = level_slot(in, slot, l);
    if (inside) {
        level_walk(in, inside, l->inner, s);
        return;
    }
    Value place;
    const Kind *kind = v_kind(*slot);
    if (kind && kind->inside &&
        kind->inside(in, slot, l->target->op == TG_FIELD ? l->target->node->name : NULL, l->subs,
                     l->n, &place)) {
        v_push(in, place);
        level_walk(in, in->sp - 1, l->inner, s);
        stack_drop(in, in->sp - 1);
        return;
    }
    v_push(in, level_get(in, *slot, l));
    Value *held = in->sp - 1;
    level_walk(in, held, l->inner, s);
    if (held->tag == V_POINTER) {    /* written through: the pointer is what it was */
        stack_drop(in, held);
        return;
    }
    in->at = l->target;
    level_set(in, slot, l, *held);
    stack_drop(in, held);
}

/* Evaluates subscripts from the place outwards to the variable, then stores inwards. */
static void place_store(Interp *in, const Exec *t, Level *inner, const Store *s)
{
    Sub subs[SUBS_MAX];
    stack_check(in);
    Level level = { .target = t, .inner = inner, .subs = subs, .given = in->sp };
    if (t->op == TG_INDEX && s->at && !inner)
        for (uint32_t i = 0; i < t->count; i++)
            subs[level.n++] = (Sub){ .kind = SUB_VALUE, .v = s->at[i] };
    else if (t->op == TG_INDEX)
        level.n = subs_eval(in, t, subs);
    level.givens = (int)(in->sp - level.given);
    if (t->a->op != TG_SLOT) {
        place_store(in, t->a, &level, s);
        return;
    }
    Value *slot = &in->fp[t->a->sa];
    if (slot->tag == V_UNDEF) {
        if (t->a->flags & XF_WEAK_NAME)      /* a builtin's name is no variable */
            raise_undefined(in, t->a, t->a->node->name);
        raise_unassigned(in, t->a);
    }
    level_walk(in, slot, &level, s);
}

static void unpack(Interp *in, const Exec *t, Value v);

/* Takes v. */
void target_assign(Interp *in, const Exec *t, Value v)
{
    if (t->op == TG_SLOT) {
        slot_assign(in, in->at, &in->fp[t->sa], v);
        return;
    }
    Value *mark = in->sp;
    const Exec *site = in->at;
    v_push(in, v);
    if (t->op == TG_TUPLE)
        unpack(in, t, v);
    else
        place_store(in, t, NULL, &(Store){ .site = site, .v = v });
    stack_drop(in, mark);
}

/* a = b = value; list holds the targets from left to right. */
Value eval_assign_chain(Interp *in, const Exec *x)
{
    Value *mark = in->sp;
    v_push(in, exec_run(in, x->a));
    for (uint32_t i = x->count; i-- > 0;) {
        in->at = x;
        target_assign(in, x->list[i], v_retain(*mark));
    }
    stack_drop(in, mark);
    return v_none();
}

/* How many values unpacking gives; -1: it is nothing that can be unpacked. */
static int64_t unpack_count(Value v)
{
    return v.tag == V_STRING ? -1 : each_count(v);
}

static _Noreturn void raise_unpack(Interp *in, const Exec *t, Value v, const char *help)
{
    char what[96];
    if (unpack_count(v) < 0)
        err_raise_help(&in->ctx, ERR_TYPE, help,
                       "only tuples, vectors and ranges can be unpacked into %u names; this is %s",
                       t->count, v_article(v, what, sizeof what));
    err_raise_help(&in->ctx, ERR_VALUE, help,
                   "there are %lld values to unpack into %u names",
                   (long long)unpack_count(v), t->count);
}

static void unpack(Interp *in, const Exec *t, Value v)
{
    const Exec *site = in->at;
    if (unpack_count(v) != t->count)
        raise_unpack(in, t, v, NULL);
    Each it;
    each_start(in, site, &it, v);
    Value item;
    for (uint32_t i = 0; each_next(in, &it, &item); i++) {
        in->at = site;
        target_assign(in, t->list[i], item);
    }
}

/* Two names in the header of a loop over single items: pairs were meant. */
static const char *pairs_help(Interp *in, const Exec *over, Value whole, char *out, size_t cap)
{
    const Source *s = frame_source(in, in->calls);
    Span at = over->node->span;
    int len = (int)(at.to - at.from);
    if (!s || at.to > s->len || 2 * (size_t)len + 60 > cap ||
        memchr(s->text + at.from, '\n', (size_t)len))
        return NULL;
    const char *text = s->text + at.from;
    if (whole.tag == V_TUPLE && whole.tuple->named)
        snprintf(out, cap, "with the name of each: zip(keys(%.*s), %.*s)", len, text, len, text);
    else
        snprintf(out, cap, "with the place of each: enumerate(%.*s)", len, text);
    return out;
}

void target_assign_item(Interp *in, const Exec *over, Value whole, const Exec *t, Value v)
{
    in->at = over;
    if (t->op == TG_TUPLE && unpack_count(v) != t->count) {
        char help[240];
        v_push(in, v);
        bool pairs = t->count == 2 && (unpack_count(v) < 0 || whole.tag == V_TENSOR ||
                                       (whole.tag == V_TUPLE && whole.tuple->named));
        raise_unpack(in, t, v, pairs ? pairs_help(in, over, whole, help, sizeof help) : NULL);
    }
    target_assign(in, t, v);
}

/* target op= v where the target is an element, slice or field: a = value, b = target. */
Value eval_update_target(Interp *in, const Exec *x)
{
    Value *mark = in->sp;
    Value v = exec_run(in, x->a);
    v_push(in, v);
    Store s = { .site = x, .op = x->data, .v = v, .weak = exec_weak(x->a) };
    if (!s.op) {
        in->at = x;
        err_raise(&in->ctx, ERR_TYPE, "the operator %s is not built yet",
                  operator_symbol((Operator)x->op));
    }
    place_store(in, x->b, NULL, &s);
    stack_drop(in, mark);
    return v_none();
}

/* ---- s[r[i]] += x[i] ---- */
typedef struct Gathering {
    const Exec *x;
    const GatherSite *site;
    int64_t len[GATHER_INDICES];        /* of each index; -1: not known yet */
    uint32_t from[GATHER_INDICES];      /* the part that says so */
} Gathering;

/* A name that has a value is a variable, and the statement is no index notation. */
static bool has_value(Interp *in, const Exec *name)
{
    if (name->eval == eval_local)
        return in->fp[name->sa].tag != V_UNDEF;
    return name->eval != eval_global || ((const GlobalRef *)name->data)->slot->tag != V_UNDEF;
}

static void take_length(Interp *in, Gathering *g, uint32_t part, uint32_t index, int64_t len)
{
    const GatherSite *s = g->site;
    if (g->len[index] < 0) {
        g->len[index] = len;
        g->from[index] = part;
    }
    if (g->len[index] == len)
        return;
    const Node *first = s->parts[g->from[index]].node, *second = s->parts[part].node;
    Error *e = err_new(&in->ctx, ERR_SHAPE,
                       "the index %s has two lengths: %lld and %lld",
                       s->indices[index]->node->name->text, (long long)g->len[index],
                       (long long)len);
    e->where.operand[0] = first->span;
    e->where.operand[1] = second->span;
    e->where.operands = 2;
    err_underline(e, 0);
    err_underline(e, 1);
    err_throw(e);
}

/* An index alone runs over the axis of the target that it stands in. */
static Value axis_positions(Interp *in, Gathering *g, uint32_t part, uint32_t index)
{
    Value base = exec_run(in, g->site->base);
    v_push(in, base);
    base = v_measured(base, (int)part);
    if (base.tag != V_TENSOR || base.tensor->rank <= (int)part)
        return v_int(0);                    /* the store says what is wrong */
    int64_t n = tensor_shape(base.tensor)[part];
    take_length(in, g, part, index, n);
    Tensor *t = tensor_new(&in->ctx, DT_I64, 1, &n);
    for (int64_t i = 0; i < n; i++)
        ((int64_t *)t->data)[i] = i;
    return v_tensor_raw(t);
}

_Noreturn static void raise_part(Interp *in, const GatherPart *part, const char *what, Value v)
{
    char given[96];
    Source *source = frame_source(in, in->calls);
    Error *e = err_new(&in->ctx, ERR_TYPE, "%s is %s", what, v_article(v, given, sizeof given));
    if (source)
        err_at(e, source, part->node->span);
    err_throw(e);
}

/* The value of a part, with an axis for each index: of length 1 where it is not in the part. */
static Value spread(Interp *in, Gathering *g, uint32_t part, Value v)
{
    const GatherSite *s = g->site;
    const GatherPart *p = &s->parts[part];
    int64_t shape[GATHER_INDICES], strides[GATHER_INDICES];
    if (!p->over) {
        Value plain = v_plain(v);
        if (plain.tag == V_TENSOR && plain.tensor->rank > 0)
            raise_part(in, p, "what has no index is one number: this", plain);
        return v;
    }
    bool value = part + 1 == s->total;
    Tensor *t = v_to_tensor(in, value ? v_measured(v, LENGTH_ALL) : v_looked(v), 0);
    v_push(in, v_tensor_raw(t));
    int axis = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        bool here = p->over >> i & 1 && axis < t->rank;
        shape[i] = here ? tensor_shape(t)[axis] : 1;
        strides[i] = here ? tensor_strides(t)[axis++] : 0;
        if (here)
            take_length(in, g, part, i, shape[i]);
    }
    if (!value && t->dtype == DT_BOOL)
        raise_part(in, p, "a position is an int: this", v_tensor_raw(t));
    if (v.tag == V_TRACED && value) {
        Tuple *lengths = tuple_new(&in->ctx, s->count);
        v_push(in, v_tuple(lengths));
        for (uint32_t i = 0; i < s->count; i++)
            lengths->items[i] = v_int(shape[i]);
        Value args[2] = { v, in->sp[-1] };
        v_push(in, op_call(in, op_named(in, "reshape"), args, 2, 0));
        return in->sp[-1];
    }
    v_push(in, v_tensor_raw(tensor_view(&in->ctx, t, (int)s->count, shape, strides,
                                             t->data)));
    return in->sp[-1];
}

Value eval_update_gathered(Interp *in, const Exec *x)
{
    const GatherSite *s = x->data;
    for (uint32_t i = 0; i < s->count; i++)
        if (has_value(in, s->indices[i]))
            return exec_run(in, x->a);
    Value *mark = in->sp, at[SUBS_MAX];
    Gathering g = { .x = x, .site = s };
    for (uint32_t i = 0; i < s->count; i++)
        g.len[i] = -1;
    stack_room(in, 4 * s->total + 8);
    for (uint32_t k = 0; k < s->total; k++) {
        uint32_t part = k ? k - 1 : s->total - 1;       /* the value first, as in x op= v */
        const GatherPart *p = &s->parts[part];
        Value v = p->alone ? axis_positions(in, &g, part, p->alone - 1u) : exec_run(in, p->exec);
        v_push(in, v);
        in->at = x;
        at[part] = spread(in, &g, part, v);
    }
    Store store = { .site = x, .op = s->op, .v = at[s->total - 1], .at = at,
                    .weak = exec_weak(s->parts[s->total - 1].exec) };
    in->at = x;
    place_store(in, x->b, NULL, &store);
    stack_drop(in, mark);
    return v_none();
}
