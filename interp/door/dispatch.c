/* The one door: every operation of the registry runs through here, and all work that is no row's. A
 * call meets the aspects (pipeline.h); what comes last runs it: elementwise rows go on to
 * elementwise.c (tensors) or arith.c (immediates), all others to their run function. Binding of
 * names to parameters happens before, in opbind.c. */
#include "interp/door/pipeline.h"

#include "core/base/error.h"
#include "interp/op/arith.h"
#include "interp/op/elementwise.h"
#include "interp/op/optable.h"
#include "interp/op/texts.h"
#include "interp/state/kind.h"
#include "interp/state/pinned.h"
#include "kernels/reduce/reduce.h"
#include "kernels/sparse/sparse.h"

enum { ARGS_MAX = 16 };            /* parameters that a row can have */

static bool all_immediate(const Value *args, int n)
{
    for (int i = 0; i < n; i++)
        if (!v_immediate(args[i]))
            return false;
    return true;
}

/* ---- what runs in the end ---- */
/* False where elementwise.c has something to add: shifts, a notice about nan. */
static bool call_immediates(Interp *in, const Op *op, Operator as, const Value *args,
                            int n, Value *r)
{
    if (as < TK_OPERATORS)
        *r = n == 1 ? arith_unary(in, as, args[0]) : arith_binary(in, as, args[0], args[1]);
    else if (op->traits & (TRAIT_INT_TROUBLE | TRAIT_BITS))
        return false;
    else
        *r = arith_call(in, op, args, n);
    return !(op->traits & TRAIT_NAN_NOTICE) || r->tag != V_FLOAT || r->f == r->f;
}

static Value run_elementwise(Interp *in, const Op *op, const Value *args, int n, unsigned weak,
                             unsigned reuse)
{
    Operator as = in->ops->operator_of[op->ew];
    Value r;
    if (all_immediate(args, n) && call_immediates(in, op, as, args, n, &r))
        return r;
    if (n == 2 && as < TK_OPERATORS && arith_other(in, op, args[0], args[1], false, &r))
        return r;
    r = ew_call(in, op, args, n, weak, reuse);
    assert(op_shape_broadcasts(args, n, r));
    return r;
}

static Value run_call(OpCall *c, const Aspect *none)
{
    (void)none;
    if (c->work)
        return c->work->run(c->in, c->args, c->work->data);
    if (c->op->cls == OPC_EW)
        return run_elementwise(c->in, c->op, c->args, c->count, c->weak, c->reuse);
    return c->eight ? c->op->eight(c) : exact_run(c);
}

/* ---- the pipeline ---- */
static bool always(const OpCall *c)
{
    (void)c;
    return true;
}

static const Aspect pipeline[] = {
#define ASPECT(on, wants, run) { wants, run },
    ASPECTS(ASPECT)
#undef ASPECT
    { always, run_call }
};

static Value call(OpCall *c)
{
    return aspects_on(c->in) ? call_rest(c, pipeline) : run_call(c, NULL);
}

Value work_call(Interp *in, const Work *work, const Value *args, int count)
{
    return call(&(OpCall){ .in = in, .work = work, .args = (Value *)args, .count = count });
}

/* ---- elementwise rows ---- */
static Value ask_elementwise(Interp *in, const Op *op, const Value *args, int n, unsigned weak,
                             const int8_t *operand, unsigned reuse)
{
    OpCall c = { .in = in, .op = op, .args = (Value *)args, .count = n, .weak = weak, .fixed = n,
                 .operand = operand, .reuse = reuse };
    return call_rest(&c, pipeline);
}

static Value call_elementwise(Interp *in, const Op *op, const Value *args, int count, unsigned weak,
                              const int8_t *operand)
{
    int n = ew_info[op->ew].arity;
    if (count != n)
        err_raise(&in->ctx, ERR_TYPE, "%s takes %d argument%s, not %d: %s", op->name, n,
                  n == 1 ? "" : "s", count, op_signature(in, op, false));
    if (op->ew == EW_POWER && weak >> 1 & 1)
        ew_inverse_notice(in, args);
    return aspects_on(in) ? ask_elementwise(in, op, args, n, weak, operand, 0)
                          : run_elementwise(in, op, args, n, weak, 0);
}

Value op_call_over(Interp *in, const Op *op, const Value *args, int n, unsigned weak,
                   unsigned reuse)
{
    if (op->ew == EW_POWER && weak >> 1 & 1)
        ew_inverse_notice(in, args);
    return aspects_on(in) ? ask_elementwise(in, op, args, n, weak, NULL, reuse)
                          : ew_call(in, op, args, n, weak, reuse);
}

/* ---- rows with a function of their own ---- */
/* A view of a pinned variable's elements is copied: C may write to them at any time. */
static Value keep_apart(OpCall *c, Value r)
{
    bool pinned = false;
    for (int i = 0; i < c->count && !pinned; i++)
        pinned = value_is_pinned(c->args[i]);
    if (!pinned || (r.tag != V_TENSOR && r.tag != V_TUPLE))
        return r;
    v_push(c->in, r);
    Value apart = value_detached(c->in, r);
    stack_cut(c->in, c->in->sp - 1);
    return apart;
}

/* A row with a function of its own; what it rooted on the value stack is released behind it. An
 * interrupted kernel leaves its result half made: nobody is to see that. */
static Value call_row(OpCall *c)
{
    Interp *in = c->in;
    Value *mark = in->sp;
    poll_interrupt(in);
    if (__builtin_expect(c->op->reaches & REACH_REFUSED, 0))
        fence_check(&in->ctx, c->op->reaches, c->op->name);
    Value r = call(c);
    assert(in->sp >= mark && r.tag != V_UNDEF && r.tag != V_FLOW);
    assert(op_shape_holds(c, r));
    if (__builtin_expect(in->pins != 0, 0))
        r = keep_apart(c, r);
    stack_cut(in, mark);
    if (__builtin_expect(*in->ctx.interrupt, 0)) {
        v_push(in, r);
        poll_interrupt_slow(in);
    }
    if (__builtin_expect(in->solved != NULL, 0))
        in->solved->solved(in, in->solved, c->op, c->args, c->count, r);
    op_record(in, c->op)->calls++;
    return r;
}

/* Aspects have had their say: this is what runs in the end. */
Value op_call_epilogue(Interp *in, const Op *op, Value *args, int count, const Epilogue *e)
{
    OpCall c = { .in = in, .op = op, .args = args, .count = count, .fixed = count };
    Value *mark = in->sp;
    if (!op->with_epilogue || count != op_sig(in, op)->fixed || in->scope || in->place ||
        in->solved)
        return v_undef();
    poll_interrupt(in);
    Value r = op->with_epilogue(&c, e);
    assert(in->sp >= mark && (r.tag == V_UNDEF || op_shape_holds(&c, r)));
    stack_cut(in, mark);
    if (r.tag == V_UNDEF)
        return r;
    if (__builtin_expect(*in->ctx.interrupt, 0)) {
        v_push(in, r);
        poll_interrupt_slow(in);
    }
    op_record(in, op)->calls++;
    return r;
}

Value op_call_blocks(Interp *in, const Op *op, Value head, RedBlocks *blocks)
{
    Value full[ARGS_MAX] = { head }, *mark = in->sp;
    int count = op_sig(in, op)->fixed;
    OpCall c = { .in = in, .op = op, .args = full, .count = count, .fixed = count,
                 .blocks = blocks };
    if (!op->blocks || aspects_on(in) || in->pins || in->solved)
        return v_undef();
    for (int i = 1; i < count; i++)
        full[i] = v_undef();
    poll_interrupt(in);
    Value r = op->run(&c);
    assert(in->sp >= mark && op_shape_holds(&c, r));
    stack_cut(in, mark);
    if (blocks->failed) {
        v_release(&in->ctx, r);
        return v_undef();
    }
    op_record(in, op)->calls++;
    return r;
}

/* A C caller may leave out optional arguments at the end. */
static Value call_padded(Interp *in, const Op *op, const OpSig *sig, Value *args, int count,
                         unsigned weak, const int8_t *operand)
{
    Value full[ARGS_MAX];
    if (sig->fixed > ARGS_MAX || count < sig->required)
        err_raise(&in->ctx, ERR_TYPE, "%s needs %d argument%s: %s", op->name, sig->required,
                  sig->required == 1 ? "" : "s", op_signature(in, op, false));
    for (int i = 0; i < sig->fixed; i++)
        full[i] = i < count ? args[i] : v_undef();
    OpCall c = { .in = in, .op = op, .args = full, .count = sig->fixed, .weak = weak,
                 .fixed = sig->fixed, .operand = operand };
    return call_row(&c);
}

/* Whoever would go through so many elements never comes to an end, and what they need cannot be
 * counted. Of a sparse matrix only entries are gone through. */
_Noreturn static void raise_endless(Interp *in, const Op *op, int i, const Tensor *t,
                                    const int8_t *operand)
{
    char shape[160];
    OpCall c = { .in = in, .op = op, .operand = operand };
    Error *e = err_new(&in->ctx, ERR_MEMORY,
                       "%s: %s %s, more elements than any memory holds", op->name,
                       arg_text(&c, i), shape_fact(shape, sizeof shape, t->rank, tensor_shape(t)));
    err_underline(e, operand ? operand[i] : i);
    err_throw(e);
}

static void check_endless(Interp *in, const Op *op, const Value *args, int count,
                          const int8_t *operand)
{
    for (int i = 0; i < count; i++)
        if (__builtin_expect(args[i].tag == V_TENSOR && args[i].tensor->size > TENSOR_READ_MAX,
                             0) && !op->lays && !tensor_sparse(args[i].tensor))
            raise_endless(in, op, i, args[i].tensor, operand);
}

/* Strings are the same in every scope and on every device: no aspect has to do with them. */
static Value call_texts(Interp *in, const Op *op, const Value *args, int count, int fixed,
                        const int8_t *operand)
{
    Value full[ARGS_MAX], *mark = in->sp;
    for (int i = 0; i < fixed; i++)
        full[i] = i < count ? args[i] : v_undef();
    OpCall c = { .in = in, .op = op, .args = full, .count = fixed, .fixed = fixed,
                 .operand = operand };
    Value r = op->texts(&c);
    stack_cut(in, mark);
    op_record(in, op)->calls++;
    return r;
}

/* A matrix with its factors stands for the matrix; the row finds the factors beside it. */
static Value call_factors(Interp *in, const Op *op, const Value *args, int count, unsigned weak,
                          const int8_t *operand)
{
    const OpSig *sig = op_sig(in, op);
    Value full[ARGS_MAX];
    if (count < sig->required || count > sig->fixed)
        err_raise(&in->ctx, ERR_TYPE, "%s takes %d argument%s, not %d: %s", op->name, sig->fixed,
                  sig->fixed == 1 ? "" : "s", count, op_signature(in, op, false));
    for (int i = 0; i < sig->fixed; i++)
        full[i] = i < count ? args[i] : v_undef();
    full[0] = v_kind(args[0])->stands(args[0]);
    OpCall c = { .in = in, .op = op, .args = full, .count = sig->fixed, .weak = weak,
                 .fixed = sig->fixed, .operand = operand, .factors = args[0].ptr };
    return call_row(&c);
}

Value op_call_bound(Interp *in, const Op *op, Value *args, int count, unsigned weak,
                    const int8_t *operand)
{
    if (__builtin_expect(op->factors && count && args[0].tag == V_FACTORS, 0))
        return call_factors(in, op, args, count, weak, operand);
    check_endless(in, op, args, count, operand);
    if (op->texts && texts_given(op, args, count)) {
        int fixed = op->cls == OPC_EW ? ew_info[op->ew].arity : op_sig(in, op)->fixed;
        if (op->cls == OPC_EW ? count == fixed : count <= fixed)
            return call_texts(in, op, args, count, fixed, operand);
    }
    if (op->cls == OPC_EW)
        return call_elementwise(in, op, args, count, weak, operand);
    const OpSig *sig = op_sig(in, op);
    if (count < sig->fixed)
        return call_padded(in, op, sig, args, count, weak, operand);
    if (count > sig->fixed && !sig->variadic)
        err_raise(&in->ctx, ERR_TYPE, "%s takes at most %d arguments, not %d: %s", op->name,
                  sig->fixed, count, op_signature(in, op, false));
    OpCall c = { .in = in, .op = op, .args = args, .count = count, .weak = weak,
                 .fixed = sig->fixed,
                 .operand = operand };
    return call_row(&c);
}

Value op_call(Interp *in, const Op *op, Value *args, int count, unsigned weak)
{
    return op_call_bound(in, op, args, count, weak, NULL);
}

Value op_binary(Interp *in, const Op *op, Value a, Value b, unsigned weak)
{
    Value args[2] = { a, b };
    return op_call_bound(in, op, args, 2, weak, NULL);
}

Value op_unary(Interp *in, const Op *op, Value a, unsigned weak)
{
    return op_call_bound(in, op, &a, 1, weak, NULL);
}

/* ---- operands that are not needed afterwards ---- */
static bool sole_owner(Value v) { return v_is_object(v) && *v.refs == 1; }

/* s + t, t + u: the left operand grows in place. */
static bool take_join(Interp *in, const Op *op, Value a, Value b, unsigned owned, Value *result)
{
    if (op->cls != OPC_EW || in->ops->operator_of[op->ew] != TK_ADD || !(owned & 1) ||
        !sole_owner(a) || a.tag != b.tag || (a.tag != V_STRING && a.tag != V_TUPLE))
        return false;
    Value *mark = in->sp;
    if (owned & 2)
        v_push(in, b);
    arith_other(in, op, a, b, true, result);
    stack_cut(in, mark);
    return true;
}

/* Owned operands wait on the value stack, so that an error releases them. */
static Value take_call(Interp *in, const Op *op, const Value *args, int n, unsigned weak,
                       unsigned owned)
{
    Value *mark = in->sp, r;
    unsigned reuse = 0;
    bool tensors = false, numbers = true;
    for (int i = 0; i < n; i++) {
        tensors |= args[i].tag == V_TENSOR;
        numbers &= args[i].tag == V_TENSOR || v_immediate(args[i]);
        if (!(owned >> i & 1))
            continue;
        v_push(in, args[i]);
        reuse |= args[i].tag == V_TENSOR ? 1u << i : 0;
    }
    bool over = op->cls == OPC_EW && tensors && numbers && ew_info[op->ew].arity == n;
    r = over ? op_call_over(in, op, args, n, weak, reuse)
             : op_call_bound(in, op, (Value *)args, n, weak, NULL);
    stack_cut(in, mark);
    return r;
}

Value op_binary_take(Interp *in, const Op *op, Value a, Value b, unsigned weak, unsigned owned)
{
    Value r;
    if (v_immediate(a) && v_immediate(b))
        return op_binary(in, op, a, b, weak);
    if (take_join(in, op, a, b, owned, &r))
        return r;
    Value args[2] = { a, b };
    return take_call(in, op, args, 2, weak, owned);
}

Value op_unary_take(Interp *in, const Op *op, Value a, unsigned weak, unsigned owned)
{
    return take_call(in, op, &a, 1, weak, owned);
}
