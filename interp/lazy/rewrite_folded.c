/* folded: a transposition into the products that read it, which take operands as they lie; and an
 * exact cast, where the product converts that operand to the same dtype anyway. */
#include "interp/lazy/lazy.h"

static bool is_product(const Draft *d, int i)
{
    const Op *op = d->run->node[i]->op;
    return d->step[i].kind == STEP_ROW && op->gives == GIVES_PRODUCT;
}

/* Do products alone read i? */
static bool products_read(const Draft *d, int i)
{
    bool any = false;
    for (int k = i + 1; k < d->n; k++)
        for (int j = 0; d->step[k].kind != STEP_SAME && j < d->run->node[k]->count; j++)
            if (step_operand(d->run, d->step, k, j) == i) {
                if (!is_product(d, k))
                    return false;
                any = true;
            }
    return any;
}

/* Every number of `from` is one of `to`, and the other operand is of `to`: the product is computed
 * in it either way. */
static bool cast_folds(const Draft *d, int i)
{
    const Deferred *x = d->run->node[i];
    if (!(x->op->devices & DEV_CASTS) || d->step[i].out || x->scope || x->place ||
        x->args[0].tag != V_TENSOR)
        return false;
    DType from = (DType)x->args[0].tensor->dtype, to = (DType)x->head->dtype;
    if (dtype_promote(from, to) != to || !dtype_half(from) || to != DT_F32)
        return false;
    for (int k = i + 1; k < d->n; k++)
        for (int j = 0; j < d->run->node[k]->count; j++) {
            if (step_operand(d->run, d->step, k, j) != i)
                continue;
            const Deferred *p = d->run->node[k];
            const Value other = p->args[!j];
            int beside = step_operand(d->run, d->step, k, !j);
            if (j > 1 || other.tag != V_TENSOR || other.tensor->dtype != to || beside == i ||
                (beside >= 0 && d->step[beside].kind == STEP_BARE))
                return false;
        }
    return true;
}

void rewrite_folded(Draft *d, const char *word)
{
    char a[96], b[96];
    for (int i = 0; i < d->n; i++) {
        bool layout = d->step[i].kind == STEP_VIEW;
        if ((!layout && d->step[i].kind != STEP_ROW) || !products_read(d, i) ||
            (!layout && !cast_folds(d, i)))
            continue;
        if (!layout)
            d->step[i].kind = STEP_BARE;
        draft_tell(d, word, "%s into %s", draft_name(d, i, a), draft_name(d, d->reader[i], b));
    }
}
