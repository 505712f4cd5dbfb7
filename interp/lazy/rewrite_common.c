/* common: the same operation on the same operands is computed once. Both results may be held: they
 * are tensors of one buffer, which is copied when one of them is written to. */
#include "interp/lazy/lazy.h"

#include "interp/state/scope.h"

enum { SLOTS = 512, BACK = 16 };        /* the first a power of two; how many are compared */

static bool same_number(Value a, Value b)
{
    if (a.tag != b.tag)
        return false;
    if (a.tag == V_TENSOR)
        return a.tensor == b.tensor;
    if (a.tag != V_TUPLE)
        return a.tag == V_UNDEF || a.tag == V_NONE || a.i == b.i;
    bool same = a.tuple->count == b.tuple->count;
    for (uint32_t i = 0; same && i < a.tuple->count; i++)
        same = same_number(a.tuple->items[i], b.tuple->items[i]);
    return same;
}

static bool same(const Draft *d, int a, int b)
{
    const Deferred *x = d->run->node[a], *y = d->run->node[b];
    if (x->scope && x->scope->format != DT_NONE)        /* which counts every rounding */
        return false;
    bool alike = x->op == y->op && x->count == y->count && x->weak == y->weak &&
                 x->scope == y->scope && x->place == y->place;
    for (int j = 0; alike && j < x->count; j++) {
        int p = step_operand(d->run, d->step, a, j), q = step_operand(d->run, d->step, b, j);
        alike = p == q && (p >= 0 || same_number(x->args[j], y->args[j]));
    }
    return alike;
}

static uint32_t hash(const Draft *d, int i)
{
    const Deferred *x = d->run->node[i];
    uintptr_t h = (uintptr_t)x->op >> 4;
    for (int j = 0; j < x->count; j++) {
        int p = step_operand(d->run, d->step, i, j);
        h = h * 31 + (p >= 0 ? (uintptr_t)p
                    : x->args[j].tag == V_TENSOR ? (uintptr_t)x->args[j].tensor >> 5 : 7);
    }
    return (uint32_t)(h ^ h >> 12) & (SLOTS - 1);
}

void rewrite_common(Draft *d, const char *word)
{
    int16_t slot[SLOTS];
    char a[96], b[96];
    for (int i = 0; i < SLOTS; i++)
        slot[i] = -1;
    for (int i = 0; i < d->n; i++) {
        uint32_t h = hash(d, i);
        int k = -1;
        for (int at = 0; at < BACK && k < 0; at++) {
            int other = slot[(h + (uint32_t)at) & (SLOTS - 1)];
            if (other < 0) {
                slot[(h + (uint32_t)at) & (SLOTS - 1)] = (int16_t)i;
                break;
            }
            k = same(d, other, i) ? other : -1;
        }
        if (k < 0)
            continue;
        d->step[i].kind = STEP_SAME;
        d->step[i].into = k;
        d->step[k].out |= d->step[i].out;       /* it is to be there as a whole */
        draft_tell(d, word, "%s is %s", draft_name(d, i, a), draft_name(d, k, b));
    }
}
