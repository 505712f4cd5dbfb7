/* Binary operators and comparisons: one small function per operator and pair of operand
 * kinds, all made from the one below. Scalars are computed here; everything else goes
 * through the door (op_binary). */
#include "interp/eval/eval_scope.h"
#include "interp/op/op.h"
#include "interp/fuse/fuse.h"
#include "interp/op/scalar.h"
#include "interp/eval/eval_binary.h"
#include "interp/eval/eval_name.h"

#include "core/base/error.h"

#include <string.h>

_Noreturn static void raise_no_operator(Interp *in, const Exec *x)
{
    in->at = x;
    err_raise(&in->ctx, ERR_TYPE, "the operator %s is not built yet",
              operator_symbol((Operator)x->op));
}

/* An empty slot as operand: a builtin's name, or an error; the other operand is kept. */
static Value operand_empty(Interp *in, const Exec *child, Value other, bool owned)
{
    if (owned)
        v_push(in, other);
    Value v = exec_run(in, child);
    in->sp -= owned;
    return v;
}

/* Two strings, alike or not: nothing that an aspect could want. */
static Value strings_compare(Interp *in, const Exec *x, Value a, Value b)
{
    size_t len = a.str->len;
    bool same = len == b.str->len && *a.str->text == *b.str->text &&
                (len < 2 || memcmp(a.str->text, b.str->text, len) == 0);
    if (x->count & 1)
        v_release(&in->ctx, a);
    if (x->count & 2)
        v_release(&in->ctx, b);
    return v_bool(same == (x->op == TK_EQ));
}

/* What scalar_binary could not do. x->count: which of a and b (1, 2) are owned and
 * released. Its arguments fit registers, so that the fast nodes end in a jump to it. */
Value binary_slow(Interp *in, const Exec *x, Value a, Value b)
{
    unsigned owned = x->count;
    if (a.tag == V_STRING && b.tag == V_STRING && (x->op == TK_EQ || x->op == TK_NE))
        return strings_compare(in, x, a, b);
    if (a.tag == V_UNDEF) {
        a = operand_empty(in, x->a, b, owned & 2);
        owned |= 1;
    }
    if (b.tag == V_UNDEF) {
        b = operand_empty(in, x->b, a, owned & 1);
        owned |= 2;
    }
    in->at = x;
    unsigned weak = x->weak;
    if (__builtin_expect((x->a->flags | x->b->flags) & XF_WEAK_NAME, 0))
        weak |= (unsigned)exec_weak(x->a) | (unsigned)exec_weak(x->b) << 1;
    if (!x->data)
        raise_no_operator(in, x);
    Value args[2] = { a, b };
    if (__builtin_expect(fuse_wants(x, args, 2), 0))
        return fuse_take(in, x, x->data, args, 2, weak, owned);
    return op_binary_take(in, x->data, a, b, weak, owned);
}

/* The left operand is an object: kept on the stack while the right one is evaluated. */
static __attribute__((noinline)) Value binary_object(Interp *in, const Exec *x, Value a)
{
    v_push(in, a);
    Value b = exec_run(in, x->b);
    in->sp--;
    return binary_slow(in, x, a, b);
}

/* A further kind of operand, for sums: the product of two variables, multiplied here. */
enum { OPD_M = OPD_KINDS, KINDS };

SCALAR_INLINE Value product_read(Interp *in, const Exec *mul)
{
    Value p = in->fp[mul->sa], q = in->fp[mul->sb];
    if (__builtin_expect(p.tag == V_FLOAT && q.tag == V_FLOAT, 1))
        return v_float(p.f * q.f);
    return exec_run(in, mul);
}

SCALAR_INLINE Value operand_read(Interp *in, const Exec *x, const Exec *child,
                                 uint32_t slot, int kind)
{
    if (kind == OPD_X)
        return exec_run(in, child);
    if (kind == OPD_M)
        return product_read(in, child);
    if (kind == OPD_L)
        return in->fp[slot];
    if (kind == OPD_I)
        return v_int(x->k.i);
    return v_float(x->k.f);
}

#define EVALUATED(kind) ((kind) == OPD_X || (kind) == OPD_M)

SCALAR_INLINE Value binary(Interp *in, const Exec *x, int op, int ka, int kb)
{
    Value a = operand_read(in, x, x->a, x->sa, ka);
    if (EVALUATED(ka) && EVALUATED(kb) && __builtin_expect(v_is_object(a), 0))
        return binary_object(in, x, a);
    Value b = operand_read(in, x, x->b, x->sb, kb), out;
    if (__builtin_expect(scalar_binary(op, a, b, &out), 1))
        return out;
    return binary_slow(in, x, a, b);
}

#define PAIRS(P, OP) \
    P(OP, X, X) P(OP, X, L) P(OP, X, I) P(OP, X, F) P(OP, L, X) P(OP, L, L) \
    P(OP, L, I) P(OP, L, F) P(OP, I, X) P(OP, I, L) P(OP, F, X) P(OP, F, L)
#define PRODUCTS(P, OP) \
    P(OP, M, M) P(OP, M, X) P(OP, M, L) P(OP, M, I) P(OP, M, F) P(OP, X, M) P(OP, L, M) P(OP, I, \
        M) P(OP, F, M)
#define ARITHMETIC(P) \
    PAIRS(P, ADD) PAIRS(P, SUB) PAIRS(P, MUL) PAIRS(P, DIV) PRODUCTS(P, ADD) PRODUCTS(P, SUB)
#define OPERATORS(P) \
    ARITHMETIC(P) PAIRS(P, FLOORDIV) PAIRS(P, MOD) PAIRS(P, POW) PAIRS(P, BITAND) PAIRS(P, BITOR) \
    PAIRS(P, EQ) PAIRS(P, NE) PAIRS(P, LT) PAIRS(P, LE) PAIRS(P, GT) PAIRS(P, GE)

#define DEFINE(OP, A, B) \
    static Value eval_##OP##_##A##B(Interp *in, const Exec *x) \
    { return binary(in, x, TK_##OP, OPD_##A, OPD_##B); }
OPERATORS(DEFINE)
#undef DEFINE
#define ENTRY(OP, A, B) [TK_##OP][OPD_##A][OPD_##B] = eval_##OP##_##A##B,
static const EvalFn binary_table[TK_OPERATORS][KINDS][KINDS] = { OPERATORS(ENTRY) };
#undef ENTRY

/* v = a op b as one node: x->a is the operator's. */
#define DEFINE(OP, A, B) \
    static Value eval_assign_##OP##_##A##B(Interp *in, const Exec *x) \
    { \
        slot_put(in, &in->fp[x->sa], binary(in, x->a, TK_##OP, OPD_##A, OPD_##B)); \
        return v_none(); \
    }
ARITHMETIC(DEFINE)
#undef DEFINE
#define ENTRY(OP, A, B) [TK_##OP][OPD_##A][OPD_##B] = eval_assign_##OP##_##A##B,
static const EvalFn assign_table[TK_OPERATORS][KINDS][KINDS] = { ARITHMETIC(ENTRY) };
#undef ENTRY

/* Operand kinds as the node of x reads them. */
static void binary_kinds(const Exec *x, int *ka, int *kb)
{
    bool sum = x->op == TK_ADD || x->op == TK_SUB;
    EvalFn product = binary_table[TK_MUL][OPD_L][OPD_L];
    *ka = sum && x->a->eval == product ? OPD_M : x->a->operand;
    *kb = sum && x->b->eval == product ? OPD_M : x->b->operand;
    if (*ka == OPD_L && ((x->b->flags & XF_WRITES) || x->b->lends))
        *ka = OPD_X;           /* the right side may assign the left one's slot */
    if ((*ka == OPD_I || *ka == OPD_F) && (*kb == OPD_I || *kb == OPD_F))
        *ka = OPD_X;
}

EvalFn assign_choose(const Exec *value)
{
    int ka, kb;
    if (value->node->kind != ND_BINARY || !value->a || !value->b)
        return NULL;
    binary_kinds(value, &ka, &kb);
    return assign_table[value->op][ka][kb];
}

/* @ \ · ⊗ × in ≈: never scalar work. */
static Value eval_binary_door(Interp *in, const Exec *x)
{
    Value a = exec_run(in, x->a);
    v_push(in, a);
    Value b = exec_run(in, x->b);
    in->sp--;
    return binary_slow(in, x, a, b);
}

void lower_binary_choose(Exec *x)
{
    int ka, kb;
    binary_kinds(x, &ka, &kb);
    EvalFn fn = binary_table[x->op][ka][kb];
    x->sa = x->a->sa;
    x->sb = x->b->sa;
    x->k = ka == OPD_I || ka == OPD_F ? x->a->k : x->b->k;
    x->count = fn ? (EVALUATED(ka) ? 1u : 0) | (EVALUATED(kb) ? 2u : 0) : 3;
    x->eval = fn ? fn : eval_binary_door;
}

Value binary_values(Interp *in, const Exec *x, Value a, Value b, unsigned weak)
{
    in->at = x;
    if (!x->data)
        raise_no_operator(in, x);
    if (b.tag == V_LAZY)
        return fuse_take(in, x, x->data, (Value[]){ a, b }, 2, weak, 0);
    return op_binary(in, x->data, a, b, weak);
}

/* ---- chains: a < b <= c ---- */
/* One comparison of a chain, both values borrowed. */
static Value chain_link(Interp *in, const Exec *link, Value a, Value b)
{
    Value out;
    if (link->flags & XF_SCOPED)
        return scoped_ints(link->op, a, b, &out) ? out : binary_values(in, link, a, b, link->weak);
    switch (link->op) {
    case TK_EQ: if (scalar_binary(TK_EQ, a, b, &out)) return out; break;
    case TK_NE: if (scalar_binary(TK_NE, a, b, &out)) return out; break;
    case TK_LT: if (scalar_binary(TK_LT, a, b, &out)) return out; break;
    case TK_LE: if (scalar_binary(TK_LE, a, b, &out)) return out; break;
    case TK_GT: if (scalar_binary(TK_GT, a, b, &out)) return out; break;
    case TK_GE: if (scalar_binary(TK_GE, a, b, &out)) return out; break;
    default: break;
    }
    return binary_values(in, link, a, b, link->weak);
}

/* list: the operands; c->list: the links. Each operand is evaluated once; a false scalar
 * link ends the chain, tensor links combine with &. Stack: result so far, last operand. */
Value eval_chain(Interp *in, const Exec *x)
{
    Value *mark = in->sp;
    v_push(in, v_bool(true));
    v_push(in, exec_run(in, x->list[0]));
    for (uint32_t i = 1; i < x->count; i++) {
        v_push(in, exec_run(in, x->list[i]));
        Value r = chain_link(in, x->c->list[i - 1], mark[1], mark[2]);
        if (mark[0].tag == V_BOOL) {
            if (r.tag == V_BOOL && !r.i) {
                stack_drop(in, mark);
                return r;
            }
            mark[0] = r;
        } else {
            v_push(in, r);
            in->at = x;
            slot_put(in, &mark[0], op_binary(in, x->data, mark[0], r, 0));
            stack_drop(in, mark + 3);
        }
        v_release(&in->ctx, mark[1]);
        mark[1] = mark[2];
        in->sp--;
    }
    Value r = mark[0];
    mark[0] = v_none();
    stack_drop(in, mark);
    return r;
}
