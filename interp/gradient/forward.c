/* Tangents of rows that are not elementwise. A linear row (Op.linear_in) is run on the tangents of
 * its operands, a product (Op.multilinear_in) on one after the other; of others t_NAME says it
 * (tangents.ric), as d_NAME does backward. */
#include "interp/gradient/gradient.h"

#include <string.h>

/* The structure of tangents of an argument, with none where there is none; owned. */
static Value tangents_of(Interp *in, const Tape *t, Value v)
{
    if (v.tag != V_TUPLE) {
        Value d = tangent_on(v, t);
        return d.tag == V_UNDEF ? v_none() : v_retain(d);
    }
    Tuple *all = tuple_new(&in->ctx, v.tuple->count);
    v_push(in, v_tuple(all));
    for (uint32_t i = 0; i < v.tuple->count; i++)
        all->items[i] = tangents_of(in, t, v.tuple->items[i]);
    in->sp--;
    return v_tuple(all);
}

static bool any_tangent(const Tape *t, Value v)
{
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        if (any_tangent(t, v.tuple->items[i]))
            return true;
    return tangent_on(v, t).tag != V_UNDEF;
}

/* An argument with tangents, zeros where there are none, in its place; owned. */
static Value tangents_or_zeros(Interp *in, const Tape *t, Value v, Value below)
{
    if (v.tag == V_TUPLE) {
        Tuple *all = tuple_new(&in->ctx, v.tuple->count);
        v_push(in, v_tuple(all));
        for (uint32_t i = 0; i < v.tuple->count; i++)
            all->items[i] = tangents_or_zeros(in, t, v.tuple->items[i], below.tuple->items[i]);
        in->sp--;
        return v_tuple(all);
    }
    Value d = tangent_on(v, t), plain = v_plain(below);
    if (d.tag != V_UNDEF)
        return v_retain(d);
    if (!v_is_numeric(plain))
        return v_retain(below);
    v_measured(below, LENGTH_ALL);
    return call_row_of(in, "like", (Value[]){ plain, v_int(0) }, 2);
}

enum { LINEAR_MOST = 32 };

/* The arguments that a list of names stands for, as bits; a variadic one is all that belong to
 * it. */
static uint32_t operand_bits(Interp *in, const Op *op, const char *names, int count)
{
    const OpSig *sig = op_sig(in, op);
    uint32_t bits = 0;
    while (*names) {
        size_t len = strcspn(names, ",");
        int i = row_param(in, op, names, len);
        if (i >= 0 && i < sig->fixed)
            bits |= i < count ? 1u << i : 0;
        else if (i >= 0)
            for (int k = sig->fixed; k < count; k++)
                bits |= 1u << k;
        names += len;
        names += strspn(names, ", ");
    }
    return bits;
}

static Value run_linear(Interp *in, const Tape *t, const Op *op, const Value *args,
                        const Value *below, int count, uint32_t bits)
{
    Value *mark = in->sp;
    for (int i = 0; i < count; i++)
        v_push(in, bits >> i & 1 && args[i].tag != V_UNDEF
                   ? tangents_or_zeros(in, t, args[i], below[i]) : v_retain(below[i]));
    Value r = op_call(in, op, mark, count, 0);
    stack_cut(in, mark);
    return r;
}

/* The sum over the operands with one at a time replaced by its tangent. */
static Value run_multilinear(Interp *in, const Tape *t, const Op *op, const Value *args,
                             const Value *below, int count, uint32_t bits)
{
    Value *mark = in->sp;
    v_push(in, v_undef());
    for (int i = 0; i < count; i++) {
        if (!(bits >> i & 1) || tangent_on(args[i], t).tag == V_UNDEF)
            continue;
        Value *with = in->sp;
        for (int k = 0; k < count; k++)
            v_push(in, v_retain(k == i ? tangent_on(args[i], t) : below[k]));
        Value part = op_call(in, op, with, count, 0);
        stack_cut(in, with);
        sum_add(in, mark, part);
    }
    return *--in->sp;
}

/* A function that does not take the tangent of an argument that has one would lose it. */
static void refuse_others(Interp *in, const Tape *t, const Rule *rule, const Op *op,
                          const Value *args, int count)
{
    const OpSig *sig = op_sig(in, op);
    for (int i = 0; i < count; i++) {
        int arg = i < sig->fixed ? i : sig->fixed;
        bool taken = !any_tangent(t, args[i]);
        for (int k = 0; k < rule->forward.params && !taken; k++)
            taken = rule->forward.param[k].what == PARAM_TANGENT &&
                    rule->forward.param[k].arg == arg;
        if (!taken)
            grad_raise_argument(in, op, sig->params[arg].name);
    }
}

static Value run_function(Interp *in, const Tape *t, const Rule *rule, const Op *op,
                          const Value *args, const Value *below, int count, Value r)
{
    Value *mark = in->sp;
    refuse_others(in, t, rule, op, args, count);
    if (op->before_rule)
        op->before_rule(in, op, below, true);
    for (int i = 0; i < rule->forward.params; i++) {
        const RuleParam *p = &rule->forward.param[i];
        switch ((RuleWhat)p->what) {
        case PARAM_RESULT: v_push(in, v_retain(r)); break;
        case PARAM_VALUE: v_push(in, param_value(in, op, below, count, p->arg)); break;
        case PARAM_TANGENT:
            v_push(in, param_value(in, op, args, count, p->arg));
            v_push(in, tangents_of(in, t, in->sp[-1]));
            v_release(&in->ctx, in->sp[-2]);
            in->sp[-2] = in->sp[-1];
            in->sp--;
            break;
        case PARAM_SHAPE:
            v_push(in, param_value(in, op, below, count, p->arg));
            v_push(in, shapes_of(in, in->sp[-1]));
            v_release(&in->ctx, in->sp[-2]);
            in->sp[-2] = in->sp[-1];
            in->sp--;
            break;
        default: v_push(in, v_none()); break;
        }
    }
    Value d = call_rule(in, rule->forward.function, mark, rule->forward.params);
    stack_cut(in, mark);
    return d;
}

Value forward_row(Interp *in, const Tape *t, const Op *op, const Value *args, const Value *below,
                  int count, Value r)
{
    const Rule *rule = rule_of(in, op);
    if (rule->forward.function.tag == V_FUNCTION)
        return run_function(in, t, rule, op, args, below, count, r);
    const char *operands = op->linear_in ? op->linear_in : op->multilinear_in;
    if (!operands || count > LINEAR_MOST)
        return v_undef();
    uint32_t bits = operand_bits(in, op, operands, count);
    for (int i = 0; i < count; i++) {
        bool nested = args[i].tag == V_TUPLE && !op->linear_in;
        if (any_tangent(t, args[i]) && (nested || !(bits >> i & 1)))
            return v_undef();
    }
    return op->linear_in ? run_linear(in, t, op, args, below, count, bits)
                         : run_multilinear(in, t, op, args, below, count, bits);
}
