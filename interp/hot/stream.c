/* Random numbers one at a time, from the program's stream, as the rows draw them. To draw has an
 * effect, the only one that an expression has: a statement that is left gives back what it drew, as
 * the evaluator begins it anew. */
#include "interp/hot/emit.h"

#include "interp/op/op.h"
#include "interp/state/random.h"

#include <stddef.h>

/* ---- the stream, when a statement begins and when it is left ---- */
void stream_begin(Emit *e)
{
    if (e->draws && !e->dry && !e->frame)
        store(e, load(e, e->word, e->drawn), e->drawn_mark);
}

void stream_undo(Emit *e)
{
    if (e->draws)
        store(e, load(e, e->word, e->drawn_mark), e->drawn);
}

/* ---- drawing ---- */
static Val draw_int(Emit *e, const Exec *x)
{
    Val bounds[2] = { { HK_INT, word(e, 0) } };
    for (uint32_t i = 0; i < x->count && !e->failed; i++)
        bounds[2 - x->count + i] = expression(e, x->list[i]);
    if (e->failed || bounds[0].kind != HK_INT || bounds[1].kind != HK_INT)
        return unknown(e);
    guard(e, compare_ints(e, LL_SGE, bounds[0].v, bounds[1].v));
    LlType types[] = { e->word, e->word, e->word };
    LlValue args[] = { word(e, (int64_t)(intptr_t)e->in), bounds[0].v, bounds[1].v };
    return (Val){ HK_INT, call_pointer(e, (void *)random_int, e->word, types, args, 3) };
}

/* A function that is compiled by itself begins anew as a whole, so it may not. */
Val draw_emit(Emit *e, const Op *op, const Exec *x)
{
    bool ints = op->draws == DRAWS_INTS;
    bool plain = ints ? x->count == 1 || x->count == 2 : x->count == 0;
    if (e->scoped || e->self.fn || op->draws == DRAWS_OTHERWISE || !plain)
        return unknown(e);
    if (!e->draws) {
        e->draws = true;
        e->grew = true;
    }
    if (ints)
        return draw_int(e, x);
    void *one = op->draws == DRAWS_UNIFORM ? (void *)random_unit : (void *)random_normal;
    LlValue in = word(e, (int64_t)(intptr_t)e->in);
    return (Val){ HK_FLOAT, call_pointer(e, one, e->real, &e->word, &in, 1) };
}
