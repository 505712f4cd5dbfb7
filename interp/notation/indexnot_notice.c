/* The notice about sqrt(-1) in index notation: where a small result has a nan and no operand has,
 * the notation is done once more operation by operation, and the door says which of them it was. */
#include "interp/notation/indexnot.h"

enum { RESULT_MOST = 1 << 16, STEPS_MOST = 1 << 20 };

static bool has_nan(Value v)
{
    if (v.tag == V_FLOAT)
        return v.f != v.f;
    if (v.tag != V_TENSOR || dtype_info(v.tensor->dtype)->kind != 'f')
        return false;
    const Tensor *t = v.tensor;
    int64_t at[IX_AXES] = { 0 }, offset = 0;
    for (int64_t e = 0; e < t->size; e++) {
        double x = element_f64((DType)t->dtype, t->data + offset * dtype_info(t->dtype)->bytes);
        if (x != x)
            return true;
        for (int k = t->rank - 1; k >= 0; k--) {
            offset += t->dims[t->rank + k];
            if (++at[k] < t->dims[k])
                break;
            offset -= at[k] * t->dims[t->rank + k];
            at[k] = 0;
        }
    }
    return false;
}

/* All passes of the nest, if they are few. */
static bool is_small(const IxPlan *p)
{
    int64_t steps = 1;
    for (int i = 0; i < p->nest->indices; i++)
        if (__builtin_mul_overflow(steps, p->nest->index[i].extent, &steps) || steps > STEPS_MOST)
            return false;
    return true;
}

void ix_notice(Interp *in, const Exec *x, IxSite *site, const IxPlan *p, Value *base, Value result)
{
    if ((result.tag == V_TENSOR && result.tensor->size > RESULT_MOST) ||
        !is_small(p) || !has_nan(result))
        return;
    for (int i = 0; i < p->leaves; i++)
        if ((base[i].tag == V_TENSOR && base[i].tensor->size > STEPS_MOST) || has_nan(base[i]))
            return;
    v_push(in, result);
    v_release(&in->ctx, ix_run_exact(in, x, site, base));
    in->sp--;
}
