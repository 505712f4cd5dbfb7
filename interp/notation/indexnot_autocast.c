/* Index notation under `autocast F`: factors of a sum of products are rounded to F, as those of
 * `@` are; functions whose rows raise their operands, and sums, products and means of one factor,
 * take halves as f32. Tensors that stand nowhere else are cast whole before a plan is made, so
 * that it is the plan of the same product of tensors of F. */
#include "interp/precision/autocast.h"
#include "interp/notation/indexnot.h"

bool ix_autocast_apart(const Interp *in)
{
    DType f = autocast_format(in);
    return f != DT_NONE && (dtype_foreign(f) || autocast_asks(in->scope));
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

bool ix_autocast_sums(Interp *in, const IxTree *tree)
{
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
