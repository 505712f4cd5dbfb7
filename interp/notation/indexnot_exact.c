/* A notation by operations on whole tensors, one axis per index: how rationals and the formats of
 * precision scopes are computed, and a second, plain meaning of the tree to hold the nests against.
 * Memory is that of the largest term over all its indices. */
#include "interp/notation/indexnot.h"
#include "interp/precision/cast.h"

#include "core/base/error.h"
#include "interp/device/place.h"
#include "interp/precision/autocast.h"
#include "interp/precision/precise.h"
#include "interp/eval/eval_name.h"

#include <string.h>

typedef IxTerm Term;

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
    case WRAP_CLAMP: return n == 0 ? -2 : i < 0 ? 0 : n - 1;
    case WRAP_MOD: return n == 0 ? -2 : (i % n + n) % n;
    case WRAP_PAD: return -1;
    default: return -2;
    }
}

_Noreturn static void out_of_range(IxBind *b, const IxAccess *x, int k, int64_t i)
{
    IxAux aux = { .axis = k, .length = x->tensor->dims[k], .node = x->node, .of = x->of, .sub = k };
    ix_error_gather(b->in, b->x, &aux, i);
}

/* Is t, of one int per element, start plus a step per axis, all of them positions of axis k? Adds
 * the steps in elements of the tensor to `strides`, and the start to *offset. */
static bool even_subscript(const IxAccess *x, int k, const Tensor *t, int64_t *strides,
                           int64_t *offset)
{
    const int64_t *v = (const int64_t *)(const void *)t->data;
    int64_t at[NEST_INDICES] = { 0 }, step[NEST_INDICES], size = 1;
    for (int d = 0; d < t->rank; d++) {
        bool moves = tensor_shape(t)[d] > 1 && tensor_strides(t)[d];
        step[d] = moves ? v[tensor_strides(t)[d]] - v[0] : 0;
        size *= moves ? tensor_shape(t)[d] : 1;
    }
    for (int64_t e = 0; e < size; e++) {
        int64_t where = 0, want = v[0];
        for (int d = 0; d < t->rank; d++) {
            where += at[d] * tensor_strides(t)[d];
            want += at[d] * step[d];
        }
        if (v[where] != want || want < 0 || want >= x->tensor->dims[k])
            return false;
        for (int d = t->rank - 1; d >= 0; d--) {
            bool moves = tensor_shape(t)[d] > 1 && tensor_strides(t)[d];
            if (moves && ++at[d] < tensor_shape(t)[d])
                break;
            at[d] = 0;
        }
    }
    for (int d = 0; d < t->rank; d++)
        strides[d] += step[d] * tensor_strides(x->tensor)[k];
    *offset += v[0] * tensor_strides(x->tensor)[k];
    return true;
}

/* Elements that lie evenly are a view: products in 8 bits read such as they lie. NULL: they do
 * not. */
static Tensor *even_view(IxBind *b, const IxAccess *x, Tensor *const *sub, const int64_t *shape)
{
    int64_t strides[NEST_INDICES] = { 0 }, offset = 0;
    for (int i = 0; i < b->spans; i++)
        if (shape[i] == 0)
            return NULL;
    tensor_settle(&b->in->ctx, x->tensor);
    for (int k = 0; k < x->node->subs; k++)
        if (!even_subscript(x, k, sub[k], strides, &offset))
            return NULL;
    return tensor_view(&b->in->ctx, x->tensor, b->spans, shape, strides,
                       x->tensor->data + offset * dtype_info(x->tensor->dtype)->bytes);
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
    tensor_home(ctx, t);
    t = tensor_broadcast(ctx, t, b->spans, shape);
    v_push(b->in, v_tensor_raw(t));
    return t;
}

static void copy_elements(IxBind *b, const IxAccess *x, Tensor *const *sub, Tensor *out)
{
    int64_t at[NEST_INDICES] = { 0 };
    size_t bytes = dtype_info(out->dtype)->bytes;
    tensor_home(&b->in->ctx, x->tensor);
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
    Tensor *out = autocast_format(b->in) == DT_I8 ? even_view(b, x, sub, shape) : NULL;
    bool view = out;
    if (!view)
        out = tensor_new(&b->in->ctx, (DType)x->tensor->dtype, b->spans, shape);
    v_push(b->in, v_tensor_raw(out));
    if (!view)
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
/* A factor as its class of autocast takes it; of a quotient what stands over the line. */
static Term factor(IxBind *b, const IxNode *n, IxInstance *of, AutocastClass class)
{
    Interp *in = b->in;
    int chain = class == AC_LOWER ? ix_chain_arguments(n) : 0;
    if (class != AC_NONE && chain) {
        Value *mark = in->sp;
        Term terms[2];
        for (int i = 0; i < n->args && i < 2; i++)
            terms[i] = i < chain ? factor(b, n->arg[i], of, class) : eval(b, n->arg[i], of);
        return apply(b, n, n->op, terms, mark);
    }
    Term t = eval(b, n, of);
    DType dt = class == AC_NONE ? DT_NONE : v_dtype(t.v);
    DType to = dt == DT_NONE ? dt : autocast_dtype(class, autocast_format(in), dt);
    return to == dt ? t : kept(b, autocast_round(in, in->scope, v_retain(t.v), to), false);
}

static Term *eval_factors(IxBind *b, const IxNode *n, IxInstance *of, Term *to, bool *whole,
                          AutocastClass class)
{
    v_check_depth(b->in);
    for (int i = 0; ix_in_product(n) && i < n->args; i++)
        to = eval_factors(b, n->arg[i], of, to, whole, class);
    if (ix_in_product(n))
        return to;
    *to = factor(b, n, of, class);
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

/* Products of tiny formats give f32 where a backward pass has a format of its own. */
static void widen_tiny(IxBind *b, Term *made, int count)
{
    for (int i = 0; i < count; i++)
        if (autocast_casts(v_dtype(made[i].v)) && !autocast_tiny(v_dtype(made[i].v)))
            return;
    for (int i = 0; i < count; i++)
        if (autocast_tiny(v_dtype(made[i].v)))
            made[i] = kept(b, op_cast(b->in, made[i].v, DT_F32), false);
}

static AutocastClass class_of(const IxBind *b, const IxNode *sum)
{
    return autocast_format(b->in) == DT_NONE ? AC_NONE : ix_contracts(sum) ? AC_LOWER : AC_RAISE;
}

/* The factors of a product, evaluated in order of writing. */
static Term *factors_of(IxBind *b, const IxNode *sum, IxInstance *of, int *count, bool *whole)
{
    const IxNode *n = sum->arg[0];
    AutocastClass class = class_of(b, sum);
    *count = ix_factor_count(n);
    *whole = true;
    Term *made = arena_alloc(&b->arena, (size_t)*count * sizeof *made);
    stack_room(b->in, 4 * (size_t)*count + 64);
    eval_factors(b, n, of, made, whole, class);
    if (class == AC_LOWER && b->in->scope->backward != DT_NONE)
        widen_tiny(b, made, *count);
    return made;
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

/* ---- sums in a format: products and partial sums are the accumulator's ---- */
/* What an autocast with modifiers computes the factors in. */
static bool asked_scope(IxBind *b, const Term *made, int count, AutocastClass class, Scope *inner)
{
    Value *args = arena_alloc(&b->arena, (size_t)count * sizeof *args);
    for (int i = 0; i < count; i++)
        args[i] = made[i].v;
    return autocast_inner(b->in->scope, class, args, count, inner);
}

/* The scope in force, or the one that foreign factors imply; NULL: sums are ordinary ones. */
static Scope *sum_scope(IxBind *b, const Term *made, int count, bool whole, AutocastClass class,
                        Scope *implied)
{
    Interp *in = b->in;
    DType dt = DT_NONE;
    bool foreign = false;
    if (precise_scope(in))
        return whole ? NULL : precise_scope(in);
    if (class != AC_NONE && !whole && asked_scope(b, made, count, class, implied))
        return implied;
    for (int i = 0; in->ctx.foreign && i < count; i++) {
        DType x = v_dtype(made[i].v);
        foreign |= dtype_foreign(x);
        bool fraction = strchr("fcq", dtype_info(x)->kind) && !made[i].weak;
        dt = !fraction ? dt : dt == DT_NONE ? x : dtype_promote(dt, x);
    }
    if (!foreign || dt == DT_NONE)
        return NULL;
    *implied = scope_implied(in, dtype_real(dt));
    return implied;
}

/* A chain of multiplications and nothing else. */
static bool plain_product(const IxNode *n)
{
    if (!ix_in_product(n))
        return true;
    bool plain = n->args == 2;
    for (int i = 0; i < n->args; i++)
        plain = plain && plain_product(n->arg[i]) && (i == 0 || !ix_in_product(n->arg[i]));
    return plain;
}

enum { LETTERS = 52 };

/* Every reduced index moves a factor, so that a sum over labels is the sum over it. */
static bool all_carried(const IxBind *b, const Term *made, int count, uint64_t spans)
{
    for (uint64_t m = spans; m; m &= m - 1) {
        int g = __builtin_ctzll(m);
        bool carried = b->span[g].extent == 1;
        for (int i = 0; i < count; i++)
            carried |= made[i].v.tag == V_TENSOR && made[i].v.tensor->rank &&
                       made[i].v.tensor->dims[g] == b->span[g].extent;
        if (!carried)
            return false;
    }
    return true;
}

static size_t put_letters(const IxBind *b, char *to, uint64_t but)
{
    size_t n = 0;
    for (int i = 0; i < b->spans; i++)
        if (!(but >> i & 1))
            to[n++] = (char)(i < 26 ? 'a' + i : 'A' + i - 26);
    return n;
}

/* The axes that a factor has only so as to be broadcast, where another has their length. */
static uint64_t lent_axes(const IxBind *b, const Term *made, int count, const Tensor *t)
{
    uint64_t own = 0, lent = 0;
    for (int k = 0; k < count; k++)
        for (int i = 0; i < b->spans && made[k].v.tag == V_TENSOR; i++)
            if (made[k].v.tensor->rank && tensor_shape(made[k].v.tensor)[i] != 1)
                own |= UINT64_C(1) << i;
    for (int i = 0; i < b->spans; i++)
        if (tensor_shape(t)[i] == 1)
            lent |= own & UINT64_C(1) << i;
    return lent;
}

/* Do the summed indices still appear in their order, in which they are summed, without them? */
static bool in_order(const IxBind *b, const Term *made, int count, uint64_t summed)
{
    uint64_t seen = 0;
    for (int k = 0; k < count; k++) {
        if (made[k].v.tag != V_TENSOR || made[k].v.tensor->rank == 0)
            continue;
        uint64_t lent = lent_axes(b, made, count, made[k].v.tensor);
        for (int i = 0; i < b->spans; i++) {
            uint64_t bit = UINT64_C(1) << i & summed & ~lent & ~seen;
            if (bit && (seen & summed) >= bit)
                return false;
            seen |= bit;
        }
    }
    return true;
}

/* The factor without them, so that a product of matrices is seen to be one. */
static Value without_axes(IxBind *b, Tensor *t, uint64_t lent)
{
    int64_t shape[NEST_INDICES], strides[NEST_INDICES];
    tensor_settle(&b->in->ctx, t);
    int rank = 0;
    for (int i = 0; i < b->spans; i++) {
        if (lent >> i & 1)
            continue;
        shape[rank] = tensor_shape(t)[i];
        strides[rank++] = tensor_strides(t)[i];
    }
    Tensor *view = tensor_view(&b->in->ctx, t, rank, shape, strides, t->data);
    v_push(b->in, v_tensor_raw(view));
    return b->in->sp[-1];
}

/* The product summed by einsum, with the reduced axes kept at length 1. */
static Value contracted(IxBind *b, const IxNode *n, const Term *made, int count, uint64_t spans)
{
    Interp *in = b->in;
    Ctx *ctx = &in->ctx;
    char *text = arena_alloc(&b->arena, (size_t)(count + 1) * (LETTERS + 2) + 4);
    Value *args = arena_alloc(&b->arena, (size_t)(count + 2) * sizeof *args);
    size_t at = 0;
    int64_t shape[NEST_INDICES], strides[NEST_INDICES], step = 1;
    bool apart = in_order(b, made, count, spans);
    for (int i = 0; i < count; i++) {
        bool scalar = made[i].v.tag != V_TENSOR || made[i].v.tensor->rank == 0;
        uint64_t lent = scalar || !apart ? 0 : lent_axes(b, made, count, made[i].v.tensor);
        at += scalar ? 0 : put_letters(b, text + at, lent);
        text[at++] = i + 1 < count ? ',' : '-';
        args[i + 2] = lent ? without_axes(b, made[i].v.tensor, lent) : made[i].v;
    }
    text[at++] = '>';
    at += put_letters(b, text + at, spans);
    args[0] = v_str(str_new(ctx, text, at));
    v_push(in, args[0]);
    args[1] = v_undef();
    in->at = n->at;
    Value v = op_call(in, op_named(in, "einsum"), args, count + 2, 0);
    v_push(in, v);
    Tensor *t = v_to_tensor(in, v, 0);
    v_push(in, v_tensor_raw(t));
    Tensor *dense = tensor_compact(ctx, t);
    v_push(in, v_tensor_raw(dense));
    for (int i = b->spans - 1, own = dense->rank - 1; i >= 0; i--) {
        shape[i] = spans >> i & 1 ? 1 : tensor_shape(dense)[own--];
        strides[i] = step;
        step *= shape[i];
    }
    return v_tensor_raw(tensor_view(ctx, dense, b->spans, shape, strides, dense->data));
}

static Value reduce_axes(IxBind *b, const IxNode *n, Tensor *x, uint64_t spans);

static bool all_tensors(const Term *made, int count)
{
    for (int i = 0; i < count; i++)
        if (made[i].v.tag != V_TENSOR || made[i].v.tensor->rank == 0)
            return false;
    return true;
}

/* A sum, mean or product over indices whose body was taken apart into factors. */
static Value summed(IxBind *b, const IxNode *n, IxInstance *of, Term *made, int count, bool whole,
                    uint64_t spans)
{
    Interp *in = b->in;
    AutocastClass class = class_of(b, n);
    Scope implied, inner, *s = sum_scope(b, made, count, whole, class, &implied);
    const IxNode *body = n->arg[0];
    bool product = class == AC_NONE ? s != NULL || (b->sparse && !whole && all_tensors(made, count))
                                    : class == AC_LOWER && !whole;
    if (product && n->reduce == IXR_SUM && count < 20 && b->spans <= LETTERS &&
        plain_product(body) && all_carried(b, made, count, spans))
        return contracted(b, n, made, count, spans);
    if (!s)
        return reduce_axes(b, n, widened(b, multiply_factors(b, body, of, &made, whole), spans),
                           spans);
    inner = precise_inner(s);
    scope_enter(in, &inner);
    Value v =
        reduce_axes(b, n, widened(b, multiply_factors(b, body, of, &made, whole), spans), spans);
    scope_leave(in, &inner);
    arith_flags_add(&s->flags, &inner.flags);
    s->draw = inner.draw > s->draw ? inner.draw : s->draw;
    value_home(in, v);
    v = precise_settle(in, s, op_named(in, "sum"), v);
    if (class != AC_NONE)
        autocast_done(in->scope, s);
    return v;
}

/* In 8 bits: einsum of the factors, over what stands under lines. False: nothing was done. */
static bool summed_in_eight(IxBind *b, const IxNode *n, IxInstance *of, const IxChain *chain,
                            uint64_t spans, Value *r)
{
    Interp *in = b->in;
    Term made[IX_CHAIN];
    bool whole = true;
    stack_room(in, 4 * (size_t)chain->factors + 64);
    for (int i = 0; i < chain->factors; i++) {
        made[i] = eval(b, chain->factor[i], of);
        char kind = dtype_info(v_dtype(made[i].v))->kind;
        whole &= kind == 'i' || kind == 'b';
    }
    if (whole || b->spans > LETTERS || !all_carried(b, made, chain->factors, spans))
        return false;
    *r = contracted(b, n, made, chain->factors, spans);
    for (int i = 0; i < chain->divisors; i++) {
        v_push(in, *r);
        Term under = eval(b, chain->divisor[i], of);
        in->at = n->at;
        *r = op_binary(in, op_named(in, "divide"), *r, under.v, (unsigned)under.weak << 1);
    }
    if (chain->negative) {
        v_push(in, *r);
        *r = op_unary(in, op_named(in, "negative"), *r, 0);
    }
    return true;
}

/* Positions along an index as its numbers. */
static Value positions(IxBind *b, Value v, const IxSpan *s)
{
    Value scaled = op_binary(b->in, op_named(b->in, "multiply"), v, v_int(s->step), 2);
    v_push(b->in, scaled);
    return op_binary(b->in, op_named(b->in, "add"), scaled, v_int(s->start), 2);
}

/* x reduced over the axes, which stay with length 1. */
static Value reduce_axes(IxBind *b, const IxNode *n, Tensor *x, uint64_t spans)
{
    Interp *in = b->in;
    Value axis, keep = v_bool(true), arg = v_tensor_raw(x);
    if (ix_reduce_facts((IxReduce)n->reduce) & R_PLACE) {
        axis = v_int(__builtin_ctzll(spans));
    } else {
        Tuple *t = tuple_new(&in->ctx, (uint32_t)__builtin_popcountll(spans));
        int at = 0;
        for (uint64_t m = spans; m; m &= m - 1)
            t->items[at++] = v_int(__builtin_ctzll(m));
        axis = v_tuple(t);
        v_push(in, axis);
    }
    const Name *names[2] = { names_intern(&in->names, "axis", 4),
                             names_intern(&in->names, "keepdims", 8) };
    Value named[2] = { axis, keep };
    in->at = n->at;
    return op_apply(in, op_named(in, ix_reduce_word((IxReduce)n->reduce)), &arg, 1, 0, names, named,
                    2);
}

static Term reduction(IxBind *b, const IxNode *n, IxInstance *of)
{
    Interp *in = b->in;
    Value *mark = in->sp, v;
    uint64_t spans = n->over << of->first_index;
    unsigned facts = ix_reduce_facts((IxReduce)n->reduce);
    bool place_of = facts & R_PLACE, whole;
    IxChain chain;
    int count;
    for (uint64_t m = spans; m; m &= m - 1)
        if (b->span[__builtin_ctzll(m)].extent == 0 && !(facts & R_EMPTY))
            ix_error_empty(b, n, of, __builtin_ctzll(m));
    if (ix_eight_chain(b, n, of, &chain) && summed_in_eight(b, n, of, &chain, spans, &v)) {
        place_of = false;
    } else if (ix_adds_up(n)) {
        Term *made = factors_of(b, n, of, &count, &whole);
        v = summed(b, n, of, made, count, whole, spans);
    } else {
        v = reduce_axes(b, n, widened(b, eval(b, n->arg[0], of), spans), spans);
    }
    if (place_of) {
        v_push(in, v);
        v = positions(b, v, &b->span[__builtin_ctzll(spans)]);
    }
    stack_cut(in, mark);
    return kept(b, v, false);
}

IxTerm ix_whole_reduce(IxBind *b, const IxNode *n, IxInstance *of, IxTerm t)
{
    uint64_t spans = n->over << of->first_index;
    Value v = reduce_axes(b, n, widened(b, t, spans), spans);
    if (ix_reduce_facts((IxReduce)n->reduce) & R_PLACE) {
        v_push(b->in, v);
        v = positions(b, v, &b->span[__builtin_ctzll(spans)]);
    }
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
    case IX_ELEMENT: {
        Term view;
        return b->sparse && ix_sparse_view(b, n, of, &view) ? view : element(b, n, of);
    }
    case IX_EW: case IX_LOGIC: return operation(b, n, of, n->op);
    case IX_CALL: return call(b, n, of);
    default: return reduction(b, n, of);
    }
}

/* What only moved is in the scope's format too, as it is where nests run and in einsum. */
static Value in_format(IxBind *b, Value v)
{
    Interp *in = b->in;
    const Scope *s = precise_scope(in);
    DType dt = v_dtype(v);
    if (!s || dt == DT_NONE || !strchr("fcq", dtype_info(dt)->kind) || dt == s->format ||
        dt == dtype_complex(s->format))
        return v;
    v_push(in, v);
    in->at = b->x;
    Value r = op_unary(in, op_named(in, "positive"), v, 0);
    stack_cut(in, in->sp - 1);
    return r;
}

IxTerm ix_whole_term(IxBind *b, const IxNode *n, IxInstance *of) { return eval(b, n, of); }

IxTerm ix_whole_apply(IxBind *b, const IxNode *n, const Op *op, const IxTerm *terms, Value *mark)
{
    return apply(b, n, op, terms, mark);
}

Value ix_whole_result(IxBind *b, IxTerm t)
{
    Interp *in = b->in;
    int rank = b->site->tree.out_rank;
    int64_t shape[NEST_INDICES];
    Tensor *x = widened(b, t, rank < 64 ? (UINT64_C(1) << rank) - 1 : UINT64_MAX);
    for (int i = 0; i < rank; i++)
        shape[i] = b->span[i].extent;
    tensor_settle(&in->ctx, x);
    Tensor *view = tensor_view(&in->ctx, x, rank, shape, tensor_strides(x), x->data);
    v_push(in, v_tensor_raw(view));
    return in_format(b, v_tensor(&in->ctx, (b->sparse ? tensor_compact : tensor_copy)(&in->ctx,
                                                                                     view)));
}

Value ix_exact(IxBind *b, const IxNode *root, IxInstance *of)
{
    Interp *in = b->in;
    Value *mark = in->sp;
    if (b->spans > IX_AXES) {
        in->at = b->x;
        const Scope *s = precise_scope(in);
        err_raise(&in->ctx, ERR_INDEX, "with %s a notation has at most %d indices",
                  s ? dtype_name(s->format) : in->ctx.foreign ? "such numbers" : "rationals",
                  IX_AXES);
    }
    Value v = ix_whole_result(b, eval(b, root, of));
    stack_cut(in, mark);
    return v;
}
