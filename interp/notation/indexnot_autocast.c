/* Index notation under `autocast F`: factors of a sum of products are rounded to F, as those of
 * `@` are; functions whose rows raise their operands, and sums, products and means of one factor,
 * take halves as f32. Tensors that stand nowhere else are cast whole before a plan is made, so
 * that it is the plan of the same product of tensors of F. */
#include "interp/precision/autocast.h"
#include "interp/notation/indexnot.h"

bool ix_autocast_apart(const Interp *in)
{
    DType f = autocast_format(in);
    return f != DT_NONE && (dtype_foreign(f) || f == DT_I8 || autocast_asks(in->scope));
}

/* The chain that a sum adds up: of * and signs, and what stands over a line. */
static bool in_chain(const IxNode *n)
{
    return n->kind == IX_EW && (ix_in_product(n) || n->op->ew == EW_DIVIDE);
}

int ix_chain_arguments(const IxNode *n)
{
    return !in_chain(n) ? 0 : n->op->ew == EW_DIVIDE ? 1 : n->args;
}

static int chain_factors(const IxNode *n)
{
    int count = 0;
    if (!in_chain(n))
        return n->kind != IX_LEAF;
    for (int i = 0; i < ix_chain_arguments(n); i++)
        count += chain_factors(n->arg[i]);
    return count;
}

bool ix_contracts(const IxNode *sum)
{
    return sum->kind == IX_REDUCE && sum->reduce == IXR_SUM && chain_factors(sum->arg[0]) >= 2;
}

/* Leaves that stand as factors of a contraction, and those that stand anywhere else. */
static void mark(Interp *in, const IxNode *n, bool factor, uint64_t *factors, uint64_t *others)
{
    v_check_depth(in);
    int lone = n->kind == IX_ELEMENT ? n->base->kind == IX_LEAF ? n->base->leaf : -1
             : n->kind == IX_LEAF    ? n->leaf : -1;
    if (lone >= 0 && lone < 64)
        *(factor && n->kind == IX_ELEMENT ? factors : others) |= UINT64_C(1) << lone;
    for (int i = 0; i < n->subs; i++)
        mark(in, n->sub[i].at, false, factors, others);
    bool sum = ix_contracts(n);
    int chain = factor ? ix_chain_arguments(n) : 0;
    for (int i = 0; i < n->args; i++)
        mark(in, n->arg[i], sum || i < chain, factors, others);
}

void ix_autocast(Interp *in, const IxTree *tree, Value *base)
{
    DType f = autocast_format(in);
    uint64_t factors = 0, others = 0;
    mark(in, tree->root, false, &factors, &others);
    for (uint64_t left = factors & ~others; left; left &= left - 1) {
        Value *v = &base[__builtin_ctzll(left)];
        if (v->tag != V_TENSOR)
            continue;
        DType to = autocast_dtype(AC_LOWER, f, (DType)v->tensor->dtype);
        if (to == v->tensor->dtype)
            continue;
        Tensor *cast = autocast_tensor(in, v->tensor, to);
        v_release(&in->ctx, *v);
        *v = v_tensor_raw(cast);
    }
}

static bool adds_up(Interp *in, const IxNode *n)
{
    v_check_depth(in);
    bool found = n->kind == IX_CALL || (n->kind == IX_REDUCE && ix_adds_up(n));
    for (int i = 0; i < n->args && !found; i++)
        found = adds_up(in, n->arg[i]);
    return found;
}

/* ---- i8 ---- */
static bool put_chain(IxBind *b, const IxNode *n, IxInstance *of, uint64_t summed, IxChain *c)
{
    v_check_depth(b->in);
    bool line = n->kind == IX_EW && n->op->ew == EW_DIVIDE;
    if (line) {
        if (c->divisors == IX_CHAIN || (ix_free_indices(b, n->arg[1], of) & summed))
            return false;
        c->divisor[c->divisors++] = n->arg[1];
        return put_chain(b, n->arg[0], of, summed, c);
    }
    if (!ix_in_product(n)) {
        if (c->factors == IX_CHAIN)
            return false;
        c->factor[c->factors++] = n;
        return true;
    }
    c->negative ^= n->op->ew == EW_NEGATIVE;
    for (int i = 0; i < n->args; i++)
        if (!put_chain(b, n->arg[i], of, summed, c))
            return false;
    return true;
}

bool ix_eight_chain(IxBind *b, const IxNode *sum, IxInstance *of, IxChain *c)
{
    int carried = 0;
    *c = (IxChain){ 0 };
    if (autocast_format(b->in) != DT_I8 || b->in->rules || !ix_contracts(sum) ||
        !put_chain(b, sum->arg[0], of, sum->over << of->first_index, c))
        return false;
    for (int i = 0; i < c->factors; i++)
        carried += ix_free_indices(b, c->factor[i], of) != 0;
    return carried > 1;
}

/* The same by the text alone, outside of functions that are inlined. */
static uint64_t indices_in(Interp *in, const IxNode *n)
{
    v_check_depth(in);
    uint64_t all = n->kind == IX_NUMBER && n->index >= 0 ? UINT64_C(1) << n->index : 0;
    for (int i = 0; i < n->args; i++)
        all |= indices_in(in, n->arg[i]);
    for (int i = 0; i < n->subs; i++)
        all |= indices_in(in, n->sub[i].at);
    return all;
}

/* Factors with indices; far below 0 where a summed one stands under a line. */
static int carried_in(Interp *in, const IxNode *n, uint64_t summed)
{
    int count = 0;
    if (n->kind == IX_EW && n->op->ew == EW_DIVIDE)
        return indices_in(in, n->arg[1]) & summed ? -1000 : carried_in(in, n->arg[0], summed);
    if (!ix_in_product(n))
        return indices_in(in, n) != 0;
    for (int i = 0; i < n->args; i++)
        count += carried_in(in, n->arg[i], summed);
    return count;
}

const IxNode *ix_eight_sum(Interp *in, const IxNode *n)
{
    v_check_depth(in);
    bool eight = ix_contracts(n) && carried_in(in, n->arg[0], n->over) > 1;
    const IxNode *found = eight ? n : NULL;
    for (int i = 0; i < n->args && !found; i++)
        found = ix_eight_sum(in, n->arg[i]);
    return found;
}

/* Of floats among others: integers alone stay in their nests. */
static bool any_float(const IxBind *b)
{
    for (int i = 0; i < b->site->tree.leaves; i++)
        if (b->base[i].tag == V_TENSOR && autocast_casts((DType)b->base[i].tensor->dtype))
            return true;
    return false;
}

static bool eight_sums(IxBind *b, const IxNode *n, IxInstance *of)
{
    IxChain chain;
    if (ix_contracts(n) && ix_eight_chain(b, n, of, &chain))
        return true;
    for (int i = 0; i < n->args; i++)
        if (eight_sums(b, n->arg[i], of))
            return true;
    return false;
}

bool ix_autocast_sums(IxBind *b, const IxTree *tree, IxInstance *whole)
{
    Interp *in = b->in;
    if (autocast_format(in) == DT_I8)
        return any_float(b) && ix_eight_sum(in, tree->root) && eight_sums(b, tree->root, whole);
    return ix_autocast_apart(in) && adds_up(in, tree->root);
}

/* A factor; of f32 it may be one of a device's narrower products. */
int ix_autocast_factor(IxBind *b, AutocastClass class, int node)
{
    Ctx *ctx = &b->in->ctx;
    Nest *n = b->make.nest;
    if (b->product != DT_NONE && class == AC_LOWER && n->node[node].dtype == DT_F32)
        node = nest_cast(ctx, n, nest_cast(ctx, n, node, b->product), DT_F32);
    return autocast_node(b->in, n, class, node);
}
