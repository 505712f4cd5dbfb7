/* A[i], A[i, j] read and stored straight from the variable's slot for f64, i64 and bool
 * elements with int subscripts, without touching the tensor's count; every other base,
 * subscript or dtype goes to index_get and index_set. Fields of tuples and modules too. */
#include "interp/eval/eval_index.h"
#include "interp/eval/eval_assign.h"
#include "interp/op/scalar.h"
#include "interp/op/traced.h"
#include "interp/eval/eval_flow.h"
#include "interp/eval/eval_name.h"
#include "interp/lower/lower.h"
#include "interp/eval/module.h"

#include "core/base/error.h"
#include "kernels/device/device.h"

/* ---- one element ---- */
SCALAR_INLINE bool element_read(const Interp *in, const Tensor *t, int64_t at, Value *out)
{
    if (__builtin_expect(in->ctx.remote, 0) && tensor_away(t))
        return false;
    if (__builtin_expect(t->dtype == DT_F64, 1))
        *out = v_float(((const double *)t->data)[at]);
    else if (t->dtype == DT_I64)
        *out = v_int(((const int64_t *)t->data)[at]);
    else if (t->dtype == DT_BOOL)
        *out = v_bool(((const uint8_t *)t->data)[at]);
    else
        return false;
    return true;
}

/* Adds i's offset along an axis; negative counts from the end; false: out of range. */
SCALAR_INLINE bool axis_offset(const Tensor *t, int axis, int64_t i, int64_t *at)
{
    int64_t extent = t->dims[axis];
    if (__builtin_expect((uint64_t)i >= (uint64_t)extent, 0)) {
        if (i >= 0 || i < -extent)
            return false;
        i += extent;
    }
    *at += i * t->dims[t->rank + axis];
    return true;
}

SCALAR_INLINE bool element1(const Interp *in, Value base, Value i, Value *out)
{
    int64_t at = 0;
    return base.tag == V_TENSOR && base.tensor->rank == 1 && i.tag == V_INT &&
           axis_offset(base.tensor, 0, i.i, &at) && element_read(in, base.tensor, at, out);
}

SCALAR_INLINE bool element2(const Interp *in, Value base, Value i, Value j, Value *out)
{
    int64_t at = 0;
    return base.tag == V_TENSOR && base.tensor->rank == 2 && i.tag == V_INT && j.tag == V_INT &&
           axis_offset(base.tensor, 0, i.i, &at) && axis_offset(base.tensor, 1, j.i, &at) &&
           element_read(in, base.tensor, at, out);
}

/* ---- reading ---- */
/* Any base and int-like or other subscripts, given as values: borrowed; releases `subs`. */
static __attribute__((noinline)) Value index_values(Interp *in, const Exec *x, Value base,
                                                    Value i, Value j)
{
    if (base.tag == V_STRING && i.tag == V_INT && x->count == 1) {
        in->at = x;
        return index_letter(in, base.str, i.i);
    }
    Value *mark = in->sp;
    v_push(in, i);
    v_push(in, j);
    if (base.tag == V_UNDEF)
        v_push(in, base = exec_run(in, x->a));
    Sub subs[2] = { { .kind = SUB_VALUE, .v = v_subscript(in, i) },
                    { .kind = SUB_VALUE, .v = v_subscript(in, j) } };
    in->at = x;
    Value r = traced_chosen(in, index_get(in, base, subs, (int)x->count), mark, 2);
    stack_drop(in, mark);
    return r;
}

enum { BASE_L, BASE_G };     /* a slot of the frame, or a global seen from a function */

SCALAR_INLINE Value *base_slot(Interp *in, const Exec *x, int base)
{
    return base == BASE_L ? &in->fp[x->sa] : ((const GlobalRef *)x->data)->slot;
}

/* Subscripts of the fast nodes are scalars or rare: an object goes to index_values. */
SCALAR_INLINE Value sub_read(Interp *in, const Exec *s, int kind)
{
    if (kind == OPD_X)
        return exec_run(in, s);
    Value v = kind == OPD_L ? in->fp[s->sa] : v_int(s->k.i);
    if (__builtin_expect(v.tag != V_INT, 0))
        v = exec_run(in, s);          /* owned, and an empty slot raises */
    return v;
}

SCALAR_INLINE Value index1(Interp *in, const Exec *x, int base, int ki)
{
    Value i = sub_read(in, x->list[0], ki), out;
    Value b = *base_slot(in, x, base);
    if (__builtin_expect(element1(in, b, i, &out), 1))
        return out;
    return index_values(in, x, b, i, v_none());
}

SCALAR_INLINE Value index2(Interp *in, const Exec *x, int base, int ki, int kj)
{
    Value i = sub_read(in, x->list[0], ki), out;
    bool keep = v_is_object(i);
    if (__builtin_expect(keep, 0))
        v_push(in, i);
    Value j = sub_read(in, x->list[1], kj);
    if (__builtin_expect(keep, 0))
        in->sp--;
    Value b = *base_slot(in, x, base);
    if (__builtin_expect(element2(in, b, i, j, &out), 1))
        return out;
    return index_values(in, x, b, i, j);
}

#define ONE(P) P(L, X) P(L, L) P(L, I) P(G, X) P(G, L) P(G, I)
#define TWO(P) \
    P(L, X, X) P(L, X, L) P(L, X, I) P(L, L, X) P(L, L, L) P(L, L, I) P(L, I, X) P(L, I, L)       \
    P(L, I, I)                                                                                    \
    P(G, X, X) P(G, X, L) P(G, X, I) P(G, L, X) P(G, L, L) P(G, L, I) P(G, I, X) P(G, I, \
        L) P(G, I, I)
#define DEFINE(B, I) \
    static Value eval_index1_##B##I(Interp *in, \
                                    const Exec *x) { return index1(in, x, BASE_##B, OPD_##I); }
ONE(DEFINE)
#undef DEFINE
#define DEFINE(B, I, J) \
    static Value eval_index2_##B##I##J(Interp *in, const Exec *x) \
    { return index2(in, x, BASE_##B, OPD_##I, OPD_##J); }
TWO(DEFINE)
#undef DEFINE
#define ENTRY(B, I) [BASE_##B][OPD_##I] = eval_index1_##B##I,
static const EvalFn index1_table[2][OPD_KINDS] = { ONE(ENTRY) };
#undef ENTRY
#define ENTRY(B, I, J) [BASE_##B][OPD_##I][OPD_##J] = eval_index2_##B##I##J,
static const EvalFn index2_table[2][OPD_KINDS][OPD_KINDS] = { TWO(ENTRY) };
#undef ENTRY

/* a = base, list = plain subscripts, no slices. NULL: the general node is meant. */
EvalFn index_choose(const Exec *x, bool global)
{
    if (x->count == 1)
        return index1_table[global ? BASE_G : BASE_L][x->list[0]->operand];
    return x->count == 2
           ? index2_table[global ? BASE_G : BASE_L][x->list[0]->operand][x->list[1]->operand]
                         : NULL;
}

/* A[i] or A[i, j] of variables subscripted by variables. */
static bool index_of_slots(const Exec *x)
{
    return (x->count == 1 && x->eval == index1_table[BASE_L][OPD_L]) ||
           (x->count == 2 && x->eval == index2_table[BASE_L][OPD_L][OPD_L]);
}

bool product_of_elements(const Exec *mul)
{
    return index_of_slots(mul->a) && index_of_slots(mul->b);
}

SCALAR_INLINE bool element_of_slots(Interp *in, const Exec *x, Value *out)
{
    Value base = in->fp[x->sa], i = in->fp[x->list[0]->sa];
    return x->count == 1 ? element1(in, base, i, out)
                         : element2(in, base, i, in->fp[x->list[1]->sa], out);
}

/* s += A[i, k] * B[k, j]: the inner loop of much of linear algebra, without leaving here. */
Value eval_add_elements(Interp *in, const Exec *x)
{
    Value p, q, *slot = &in->fp[x->sa];
    if (element_of_slots(in, x->a->a, &p) && element_of_slots(in, x->a->b, &q) &&
        p.tag == V_FLOAT && q.tag == V_FLOAT && slot->tag == V_FLOAT) {
        slot->f += p.f * q.f;
        return v_none();
    }
    return eval_add_product(in, x);
}

/* Fills subs from x->list and leaves their values on the stack. */
int subs_eval(Interp *in, const Exec *x, Sub *subs)
{
    for (uint32_t i = 0; i < x->count; i++) {
        const Exec *s = x->list[i];
        subs[i] = (Sub){ .kind = s->eval ? SUB_VALUE : (SubKind)s->op };
        if (s->eval) {
            v_push(in, exec_run(in, s));
            subs[i].v = v_subscript(in, in->sp[-1]);
        } else if (s->op == SUB_SLICE) {
            Value *parts[] = { &subs[i].start, &subs[i].stop, &subs[i].step };
            for (int p = 0; p < 3; p++)
                if (s->list[p])
                    *parts[p] = v_int(range_part(in, s->list[p]));
        }
    }
    return (int)x->count;
}

static inline __attribute__((always_inline)) Value index_with(Interp *in, const Exec *x, Sub *subs)
{
    Value *mark = in->sp;
    v_push(in, exec_peek(in, x->a));
    int n = subs_eval(in, x, subs);
    in->at = x;
    Value r = index_get(in, mark[0], subs, n);
    r = traced_chosen(in, r, mark + 1, (int)(in->sp - mark) - 1);
    stack_drop(in, mark);
    return r;
}

static __attribute__((noinline)) Value index_many(Interp *in, const Exec *x)
{
    Sub subs[SUBS_MAX];
    stack_check(in);
    return index_with(in, x, subs);
}

/* A[0][0][0]… is as deep as it is long: a level must not take more of the C stack than
 * NODE_STACK. */
Value eval_index(Interp *in, const Exec *x)
{
    enum { FEW = 4 };
    if (x->count > FEW)
        return index_many(in, x);
    Sub subs[FEW];
    return index_with(in, x, subs);
}

/* ---- storing ---- */
/* Nobody else sees the tensor, no device has a copy, and no two indices share an element (no
 * broadcast view). */
SCALAR_INLINE bool storable(const Tensor *t)
{
#ifdef RICCI_HOSTILE
    (void)t;
    return false;
#else
    if (t->refs != 1 || t->buffer->refs != 1 || t->buffer->device)
        return false;
    return t->rank == 1 ? t->dims[1] == 1 : t->dims[3] == 1 && t->dims[2] >= t->dims[1];
#endif
}

SCALAR_INLINE bool element_write(Tensor *t, int64_t at, Value v)
{
    if (t->dtype == DT_F64 && v.tag == V_FLOAT)
        ((double *)t->data)[at] = v.f;
    else if (t->dtype == DT_F64 && v.tag == V_INT)
        ((double *)t->data)[at] = (double)v.i;
    else if (t->dtype == DT_I64 && v.tag == V_INT)
        ((int64_t *)t->data)[at] = v.i;
    else if (t->dtype == DT_BOOL && v.tag == V_BOOL)
        ((uint8_t *)t->data)[at] = (uint8_t)v.i;
    else
        return false;
    return true;
}

/* Where A[i] or A[i, j] lies if it can be stored to in place. */
SCALAR_INLINE bool element_place(Value base, int n, Value i, Value j, int64_t *at)
{
    if (base.tag != V_TENSOR || base.tensor->rank != n || i.tag != V_INT || !storable(base.tensor))
        return false;
    *at = 0;
    return axis_offset(base.tensor, 0, i.i, at) &&
           (n == 1 || (j.tag == V_INT && axis_offset(base.tensor, 1, j.i, at)));
}

static __attribute__((noinline)) Value store_values(Interp *in, const Exec *x, Value v,
                                                    Value i, Value j)
{
    Value *mark = in->sp;
    v_push(in, v);
    v_push(in, i);
    v_push(in, j);
    Value *slot = &in->fp[x->sa];
    if (slot->tag == V_UNDEF)
        raise_unassigned(in, x->b->a);
    Sub subs[2] = { { .kind = SUB_VALUE, .v = v_subscript(in, i) },
                    { .kind = SUB_VALUE, .v = v_subscript(in, j) } };
    in->at = x;
    int n = (int)x->b->count;
    Value *item = x->data && x->op == TK_ADD ? index_slot(in, slot, subs, n) : NULL;
    bool grown = item && value_grows(in, item, v);
    if (!grown && x->data)
        index_update(in, slot, subs, n, x->data, v, exec_weak(x->a));
    else if (!grown)
        index_set(in, slot, subs, n, v);
    traced_placed(in, slot, mark + 1, 2);
    stack_drop(in, mark);
    return v_none();
}

/* Evaluates value and subscripts of A[i] = v and A[i, j] = v with objects kept. */
static inline Value subscript(Interp *in, const Exec *s, Value keep, Value keep2)
{
    Value *mark = in->sp;
    if (__builtin_expect(v_is_object(keep), 0))
        v_push(in, keep);
    if (__builtin_expect(v_is_object(keep2), 0))
        v_push(in, keep2);
    Value v = s->operand == OPD_L ? in->fp[s->sa] : s->operand == OPD_I ? s->k : exec_run(in, s);
    if (__builtin_expect(v.tag != V_INT && s->operand == OPD_L, 0))
        v = exec_run(in, s);
    in->sp = mark;
    return v;
}

/* a = value, b = the target (list: subscripts), sa = the variable's slot. */
Value eval_store1(Interp *in, const Exec *x)
{
    Value v = exec_run(in, x->a);
    Value i = subscript(in, x->b->list[0], v, v_none());
    Value base = in->fp[x->sa];
    int64_t at;
    if (element_place(base, 1, i, i, &at) && element_write(base.tensor, at, v))
        return v_none();
    return store_values(in, x, v, i, v_none());
}

Value eval_store2(Interp *in, const Exec *x)
{
    Value v = exec_run(in, x->a);
    Value i = subscript(in, x->b->list[0], v, v_none());
    Value j = subscript(in, x->b->list[1], v, i);
    Value base = in->fp[x->sa];
    int64_t at;
    if (element_place(base, 2, i, j, &at) && element_write(base.tensor, at, v))
        return v_none();
    return store_values(in, x, v, i, j);
}

/* A[i] op= v, A[i, j] op= v: + - * / on f64 elements in place. */
static bool element_update(int op, Tensor *t, int64_t at, Value v)
{
    double *e = (double *)t->data + at, d = v.tag == V_INT ? (double)v.i : v.f;
    if (t->dtype != DT_F64 || (v.tag != V_FLOAT && v.tag != V_INT))
        return false;
    switch (op) {
    case TK_ADD: *e += d; return true;
    case TK_SUB: *e -= d; return true;
    case TK_MUL: *e *= d; return true;
    case TK_DIV: *e /= d; return true;
    default: return false;
    }
}

Value eval_update_element(Interp *in, const Exec *x)
{
    int n = (int)x->b->count;
    Value v = exec_run(in, x->a);
    Value i = subscript(in, x->b->list[0], v, v_none());
    Value j = n == 2 ? subscript(in, x->b->list[1], v, i) : v_none();
    Value base = in->fp[x->sa];
    int64_t at;
    if (element_place(base, n, i, j, &at) && element_update(x->op, base.tensor, at, v))
        return v_none();
    if (!x->data) {
        v_push(in, v), v_push(in, i), v_push(in, j);
        in->at = x;
        err_raise(&in->ctx, ERR_TYPE, "the operator %s is not built yet",
                  operator_symbol((Operator)x->op));
    }
    return store_values(in, x, v, i, j);
}

/* ---- fields ---- */
Value field_read(Interp *in, Value base, const Name *name)
{
    return base.tag == V_MODULE ? module_member(in, base.module, name) : field_get(in, base, name);
}

/* A field seen at the same place of the last tuple or module is read without a search. */
typedef struct FieldCache {
    const Module *module;
    uint32_t at;
} FieldCache;

static bool field_cached(Value base, const Name *name, FieldCache *cache, Value *out)
{
    if (base.tag == V_TUPLE && base.tuple->named) {
        Tuple *t = base.tuple;
        if (cache->at >= t->count || t->names[cache->at] != name) {
            int64_t i = tuple_find(t, name);
            if (i < 0)
                return false;
            cache->at = (uint32_t)i;
        }
        *out = t->items[cache->at];
        return true;
    }
    if (base.tag != V_MODULE)
        return false;
    if (cache->module != base.module) {
        int64_t i = globals_find(&base.module->globals, name);
        if (i < 0)
            return false;
        cache->module = base.module;
        cache->at = (uint32_t)i;
    }
    *out = base.module->slots[cache->at];
    return out->tag != V_UNDEF;
}

Value eval_field(Interp *in, const Exec *x)
{
    bool slot = x->a->operand == OPD_L && in->fp[x->a->sa].tag != V_UNDEF;
    Value base = slot ? in->fp[x->a->sa] : exec_run(in, x->a), out;
    if (field_cached(base, x->node->name, x->data, &out)) {
        out = v_share(in, out);
        if (!slot)
            v_release(&in->ctx, base);
        return out;
    }
    Value *mark = in->sp;
    v_push(in, slot ? v_none() : base);
    in->at = x;
    Value r = field_read(in, base, x->node->name);
    stack_drop(in, mark);
    return r;
}
void *field_cache_new(Lower *lo) { return lower_alloc(lo, sizeof(FieldCache)); }
