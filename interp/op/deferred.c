/* The aspect of deferred operations: it concerns whatever is computed while a block is open. */
#include "interp/op/deferred.h"

bool deferred_wants(const OpCall *c)
{
    return deferred_on(c->in) && (!c->op || !c->op->carries);
}

Value deferred_call(OpCall *c, const Aspect *rest)
{
    return c->in->deferrals->call(c, rest);
}
