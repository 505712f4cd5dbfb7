/* A notation by operations on whole tensors, one axis per index: how rationals are computed, and
 * a second, plain meaning of the tree to hold the nests against. Memory is that of the largest
 * term over all its indices. */
#include "interp/indexnot.h"

#include "core/error.h"

#include <string.h>

typedef struct Term {
    Value v; /* on the value stack; a scalar, or a tensor with an axis per index */
    bool weak;
} Term;

static Term eval(IxBind *b, const IxNode *n, IxInstance *of);

static Term kept(IxBind *b, Value v, bool weak)
{
    v_push(b->in, v);
    return (Term){ v, weak };
}

/* All axes 1 but those in `spans`. */
static void shape_over(const IxBind *b, uint64_t spans, int64_t *shape)
{
    for (int i = 0; i < b->spans; i++)
        shape[i] = (spans >> i & 1) ? b->span[i].extent : 1;
}

static Term number(IxBind *b, int g)
{
    int64_t shape[NEST_INDICES];
    const IxSpan *s = &b->span[g];
    shape_over(b, UINT64_C(1) << g, shape);
    Tensor *t = tensor_new(&b->in->ctx, DT_I64, b->spans, shape);
    for (int64_t p = 0; p < s->extent; p++)
        ((int64_t *)(void *)t->data)[p] = s->start + p * s->step;
    return kept(b, v_tensor_raw(t), false);
}

/* ---- elements ---- */
static int64_t place(const IxAccess *x, int k, int64_t i)
{
    int64_t n = x->tensor->dims[k];
    if (i >= 0 && i < n)
        return i;
    switch (x->node->sub[k].wrap) {
    case IXW_CLAMP: return n == 0 ? -2 : i < 0 ? 0 : n - 1;
    case IXW_MOD: return n == 0 ? -2 : (i % n + n) % n;
    case IXW_PAD: return -1;
    default: return -2;
    }
}

_Noreturn static void out_of_range(IxBind *b, const IxAccess *x, int k, int64_t i)
{
    IxAux aux = { .axis = k, .length = x->tensor->dims[k], .node = x->node, .of = x->of, .sub = k };
    ix_error_gather(b->in, b->x, &aux, i);
}

/* One subscript's values, broadcast over the element's indices. */
static Tensor *subscript(IxBind *b, const IxAccess *x, int k, const int64_t *shape)
{
    Ctx *ctx = &b->in->ctx;
    Term s = eval(b, x->node->sub[k].at, x->of);
    DType dt = v_dtype(s.v);
    if (dt == DT_NONE || dtype_info(dt)->kind != 'i')
        ix_error_subscript(b, x->node->sub[k].at, x->of, s.v);
    Tensor *t = v_to_tensor(b->in, s.v, 0);
    v_push(b->in, v_tensor_raw(t));
    t = tensor_cast(ctx, t, DT_I64);
    v_push(b->in, v_tensor_raw(t));
    t = tensor_broadcast(ctx, t, b->spans, shape);
    v_push(b->in, v_tensor_raw(t));
    return t;
}

static void copy_elements(IxBind *b, const IxAccess *x, Tensor *const *sub, Tensor *out)
{
    int64_t at[NEST_INDICES] = { 0 };
    size_t bytes = dtype_info(out->dtype)->bytes;
    for (int64_t e = 0; e < out->size; e++) {
        int64_t offset = 0;
        bool outside = false;
        for (int k = 0; k < x->node->subs; k++) {
            int64_t where = 0;
            for (int i = 0; i < b->spans; i++)
                where += at[i] * tensor_strides(sub[k])[i];
            int64_t i = ((const int64_t *)(const void *)sub[k]->data)[where], p = place(x, k, i);
            if (p == -2)
                out_of_range(b, x, k, i);
            outside |= p == -1;
            offset += p * tensor_strides(x->tensor)[k];
        }
        if (outside)
            memset(out->data + e * (int64_t)bytes, 0, bytes);
        else
            memcpy(out->data + e * (int64_t)bytes, x->tensor->data + offset * (int64_t)bytes,
                   bytes);
        for (int i = b->spans - 1; i >= 0 && ++at[i] == out->dims[i]; i--)
            at[i] = 0;
        poll_interrupt(b->in);
    }
}

static Term element(IxBind *b, const IxNode *n, IxInstance *of)
{
    const IxAccess *x = ix_access(b, n, of);
    int64_t shape[NEST_INDICES];
    Tensor *sub[IX_AXES];
    uint64_t indices = 0;
    for (int k = 0; k < n->subs; k++)
        indices |= ix_free_indices(b, n->sub[k].at, of);
    shape_over(b, indices, shape);
    Value *mark = b->in->sp;
    for (int k = 0; k < n->subs; k++)
        sub[k] = subscript(b, x, k, shape);
    Tensor *out = tensor_new(&b->in->ctx, (DType)x->tensor->dtype, b->spans, shape);
    v_push(b->in, v_tensor_raw(out));
    copy_elements(b, x, sub, out);
    Value v = *--b->in->sp;
    stack_cut(b->in, mark);
    return kept(b, v, false);
}

/* ---- operations ---- */
static Term apply(IxBind *b, const IxNode *n, const Op *op, const Term *terms, Value *mark)
{
    Value args[3];
    unsigned weak = 0;
    for (int i = 0; i < n->args && i < 3; i++) {
        args[i] = terms[i].v;
        weak |= (unsigned)terms[i].weak << i;
    }
    b->in->at = n->at;
    Value v = op_call(b->in, op, args, n->args, weak);
    stack_cut(b->in, mark);
    return kept(b, v, false);
}

static Term operation(IxBind *b, const IxNode *n, IxInstance *of, const Op *op)
{
    Value *mark = b->in->sp;
    Term terms[3];
    for (int i = 0; i < n->args && i < 3; i++)
        terms[i] = eval(b, n->arg[i], of);
    return apply(b, n, op, terms, mark);
}

/* ---- products that are added up: factors first, as make_product of indexnot_nest.c ---- */
static Term *eval_factors(IxBind *b, const IxNode *n, IxInstance *of, Term *to, bool *whole)
{
    v_check_depth(b->in);
    for (int i = 0; ix_in_product(n) && i < n->args; i++)
        to = eval_factors(b, n->arg[i], of, to, whole);
    if (ix_in_product(n))
        return to;
    *to = eval(b, n, of);
    char kind = dtype_info(v_dtype(to->v))->kind;
    *whole &= kind == 'i' || kind == 'b';
    return to + 1;
}

static Term multiply_factors(IxBind *b, const IxNode *n, IxInstance *of, Term **made, bool whole)
{
    Value *mark = b->in->sp;
    Term terms[2];
    if (!ix_in_product(n)) {
        Term t = *(*made)++;
        bool as_is = !whole || v_dtype(t.v) == DT_I64;
        b->in->at = n->at;
        return as_is ? kept(b, v_retain(t.v), t.weak)
                     : kept(b, op_cast(b->in, t.v, DT_I64), false);
    }
    for (int i = 0; i < n->args; i++)
        terms[i] = multiply_factors(b, n->arg[i], of, made, whole);
    return apply(b, n, n->op, terms, mark);
}

static Term product(IxBind *b, const IxNode *n, IxInstance *of)
{
    bool whole = true;
    int count = ix_factor_count(n);
    Value *mark = b->in->sp;
    Term *made = arena_alloc(&b->arena, (size_t)count * sizeof *made);
    stack_room(b->in, 2 * (size_t)count + 64);
    eval_factors(b, n, of, made, &whole);
    Term t = multiply_factors(b, n, of, &made, whole);
    Value v = *--b->in->sp;
    stack_cut(b->in, mark);
    return kept(b, v, t.weak);
}

static Term call(IxBind *b, const IxNode *n, IxInstance *of)
{
    DType to;
    const Op *op = ix_call_op(b, n, of, &to);
    if (op)
        return operation(b, n, of, op);
    if (to == DT_NONE) {
        IxInstance *inst = ix_instance(b, n, of);
        CallFrame frame, *calls = b->in->calls;
        ix_enter(b->in, inst, b->base, &frame);
        inst->frame = &frame;
        Term r = eval(b, inst->tree->root, inst);
        b->in->calls = calls;
        return r;
    }
    Value *mark = b->in->sp;
    Term t = eval(b, n->arg[0], of);
    b->in->at = n->at;
    Value v = op_cast(b->in, t.v, to);
    stack_cut(b->in, mark);
    return kept(b, v, false);
}

/* ---- reductions ---- */
/* The argument with its reduced axes at full length. */
static Tensor *widened(IxBind *b, Term t, uint64_t spans)
{
    Tensor *x = v_to_tensor(b->in, t.v, 0);
    int64_t shape[NEST_INDICES];
    v_push(b->in, v_tensor_raw(x));
    for (int i = 0; i < b->spans; i++)
        shape[i] = (spans >> i & 1) ? b->span[i].extent : x->rank ? x->dims[i] : 1;
    x = tensor_broadcast(&b->in->ctx, x, b->spans, shape);
    v_push(b->in, v_tensor_raw(x));
    return x;
}

/* Positions along an index as its numbers. */
static Value positions(IxBind *b, Value v, const IxSpan *s)
{
    Value scaled = op_binary(b->in, op_named(b->in, "multiply"), v, v_int(s->step), 2);
    v_push(b->in, scaled);
    return op_binary(b->in, op_named(b->in, "add"), scaled, v_int(s->start), 2);
}

static Term reduction(IxBind *b, const IxNode *n, IxInstance *of)
{
    Interp *in = b->in;
    Value *mark = in->sp, axis, keep = v_bool(true);
    uint64_t spans = n->over << of->first_index;
    int count = __builtin_popcountll(spans), at = 0;
    bool place_of = n->reduce == IXR_ARGMIN || n->reduce == IXR_ARGMAX;
    for (uint64_t m = spans; m; m &= m - 1)
        if (b->span[__builtin_ctzll(m)].extent == 0 && n->reduce != IXR_MEAN && n->reduce != IXR_SUM &&
            n->reduce != IXR_PROD && n->reduce != IXR_ANY && n->reduce != IXR_ALL)
            ix_error_empty(b, n, of, __builtin_ctzll(m));
    const IxNode *body = n->arg[0];
    Tensor *x = widened(b, ix_adds_up(n) ? product(b, body, of) : eval(b, body, of), spans);
    if (place_of) {
        axis = v_int(__builtin_ctzll(spans));
    } else {
        Tuple *t = tuple_new(&in->ctx, (uint32_t)count);
        for (uint64_t m = spans; m; m &= m - 1)
            t->items[at++] = v_int(__builtin_ctzll(m));
        axis = v_tuple(t);
        v_push(in, axis);
    }
    const Name *names[2] = { names_intern(&in->names, "axis", 4),
                             names_intern(&in->names, "keepdims", 8) };
    Value named[2] = { axis, keep }, arg = v_tensor_raw(x);
    in->at = n->at;
    Value v = op_apply(in, op_named(in, ix_reduce_word((IxReduce)n->reduce)), &arg, 1, 0, names, named, 2);
    if (place_of) {
        v_push(in, v);
        v = positions(b, v, &b->span[__builtin_ctzll(spans)]);
    }
    stack_cut(in, mark);
    return kept(b, v, false);
}

static Term eval(IxBind *b, const IxNode *n, IxInstance *of)
{
    int leaf = -1;
    const IxNode *shown;
    IxInstance *where;
    v_check_depth(b->in);
    switch ((IxKind)n->kind) {
    case IX_PARAM: case IX_LEAF:
        shown = n;
        where = of;
        n = ix_resolve(n, &of, &leaf);
        if (n && n->kind != IX_LEAF) {
            CallFrame *calls = b->in->calls;
            b->in->calls = of->frame;
            Term t = eval(b, n, of);
            b->in->calls = calls;
            return t;
        }
        if (!v_is_numeric(b->base[leaf]) ||
            (b->base[leaf].tag == V_TENSOR && b->base[leaf].tensor->rank))
            ix_error_operand(b, shown, where, b->base[leaf]);
        return kept(b, v_retain(b->base[leaf]), exec_weak(ix_leaf_exec(b->plan, leaf)));
    case IX_NUMBER: return number(b, of->first_index + n->index);
    case IX_ELEMENT: return element(b, n, of);
    case IX_EW: case IX_LOGIC: return operation(b, n, of, n->op);
    case IX_CALL: return call(b, n, of);
    default: return reduction(b, n, of);
    }
}

Value ix_exact(IxBind *b, const IxNode *root, IxInstance *of)
{
    Interp *in = b->in;
    Value *mark = in->sp;
    int rank = b->site->tree.out_rank;
    int64_t shape[NEST_INDICES];
    if (b->spans > IX_AXES) {
        in->at = b->x;
        err_raise(&in->ctx, ERR_INDEX, "with rationals a notation has at most %d indices", IX_AXES);
    }
    Term t = eval(b, root, of);
    Tensor *x = widened(b, t, rank < 64 ? (UINT64_C(1) << rank) - 1 : UINT64_MAX);
    for (int i = 0; i < rank; i++)
        shape[i] = b->span[i].extent;
    Tensor *view = tensor_view(&in->ctx, x, rank, shape, tensor_strides(x), x->data);
    v_push(in, v_tensor_raw(view));
    Value v = v_tensor(&in->ctx, tensor_copy(&in->ctx, view));
    stack_cut(in, mark);
    return v;
}
