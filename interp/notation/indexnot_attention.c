/* The formula of attention where a notation goes by whole tensors, which make all scores: `explain`
 * says so, and why. Nests that have it are found by kernels/plan. */
#include "interp/notation/indexnot.h"

#include "interp/precision/autocast.h"
#include "interp/precision/precise.h"

#include <stdio.h>
#include <string.h>

enum { FACTORS = 16 };

typedef struct Chain {
    const IxNode *up[FACTORS], *down[FACTORS];
    int ups, downs;
} Chain;

typedef struct Seek {
    IxBind *b;
    IxInstance *of;
} Seek;

static EwOp op_of(const Seek *s, const IxNode *n)
{
    DType to;
    const Op *op = n->kind == IX_EW ? n->op
                   : n->kind == IX_CALL ? ix_call_op(s->b, n, s->of, &to) : NULL;
    return op && op->cls == OPC_EW ? op->ew : EW_COUNT;
}

static void take_chain(const Seek *s, const IxNode *n, bool divides, Chain *c)
{
    EwOp op = op_of(s, n);
    if (op == EW_MULTIPLY || op == EW_DIVIDE || op == EW_NEGATIVE) {
        take_chain(s, n->arg[0], divides, c);
        if (n->args > 1)
            take_chain(s, n->arg[1], divides != (op == EW_DIVIDE), c);
    } else if (divides && c->downs < FACTORS) {
        c->down[c->downs++] = n;
    } else if (!divides && c->ups < FACTORS) {
        c->up[c->ups++] = n;
    }
}

static bool is_sum(const IxNode *n) { return n->kind == IX_REDUCE && n->reduce == IXR_SUM; }

static bool has_sum(const IxNode *n)
{
    bool has = is_sum(n);
    for (int i = 0; i < n->args && !has; i++)
        has = has_sum(n->arg[i]);
    return has;
}

/* exp of scores, perhaps where they are seen. */
static bool is_weight(const Seek *s, const IxNode *n)
{
    EwOp op = op_of(s, n);
    return op == EW_WHERE ? is_weight(s, n->arg[1]) : op == EW_EXP && has_sum(n->arg[0]);
}

/* The weight among the factors of a sum; NULL: there is none. */
static const IxNode *weight_of(const Seek *s, const IxNode *sum, Chain *c)
{
    *c = (Chain){ 0 };
    if (!is_sum(sum))
        return NULL;
    take_chain(s, sum->arg[0], false, c);
    for (int i = 0; i < c->ups; i++)
        if (is_weight(s, c->up[i]))
            return c->up[i];
    return NULL;
}

static double size_of(const Seek *s, uint64_t spans)
{
    double size = 1;
    for (; spans; spans &= spans - 1)
        size *= (double)s->b->span[__builtin_ctzll(spans)].extent;
    return size;
}

static void tell(const Seek *s, const IxNode *sum, const IxNode *weight, const Chain *c)
{
    const Interp *in = s->b->in;
    const Scope *scope = in->scope;
    uint64_t keys = sum->over << s->of->first_index, values = keys;
    char why[80] = "it is computed operation by operation";
    for (int i = 0; i < c->ups; i++)
        if (c->up[i] != weight)
            values |= ix_free_indices(s->b, c->up[i], s->of);
    if (scope && scope->reproducible)
        snprintf(why, sizeof why, "the scope is reproducible");
    else if (precise_scope(in))
        snprintf(why, sizeof why, dtype_half(scope->format) || scope_ordinary(scope)
                 ? "%s is rounded or summed in a way of its own here" : "%s has no tiles",
                 dtype_name(scope->format));
    explain_note_next(s->b->in, "attention", "full scores %lld×%lld, because %s",
                      (long long)size_of(s, ix_free_indices(s->b, weight, s->of) & ~values),
                      (long long)size_of(s, keys), why);
}

static bool seek(const Seek *s, const IxNode *n)
{
    Chain above, below;
    bool outside = op_of(s, n) == EW_DIVIDE && weight_of(s, n->arg[1], &below);
    const IxNode *sum = outside ? n->arg[0] : n, *weight = weight_of(s, sum, &above);
    bool found = weight && outside;
    for (int i = 0; weight && !found && i < above.downs; i++)
        found = weight_of(s, above.down[i], &below);
    if (found)
        tell(s, sum, weight, &above);
    for (int i = 0; i < n->args && !found; i++)
        found = seek(s, n->arg[i]);
    return found;
}

void ix_tell_scores(IxBind *b, const IxNode *root, IxInstance *of)
{
    Seek s = { b, of };
    if (explain_on(b->in))
        seek(&s, root);
}
