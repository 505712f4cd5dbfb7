/* The aspect of traced values: does one stand among the operands, or in a tuple there? */
#include "interp/op/traced.h"

static bool inside(Value v)
{
    if (v.tag != V_TUPLE)
        return v.tag == V_TRACED;
    for (uint32_t i = 0; i < v.tuple->count; i++)
        if (inside(v.tuple->items[i]))
            return true;
    return false;
}

Parts parts_of(Value v)
{
    if (v.tag == V_TUPLE)
        return (Parts){ v.tuple->items, v.tuple->count };
    if (v.tag == V_FUNCTION)
        return (Parts){ v.fn->values, v.fn->captured };
    const Kind *kind = v.tag == V_TRANSFORM ? v_kind(v) : NULL;
    return kind && kind->parts ? kind->parts(v) : (Parts){ NULL, 0 };
}

bool traced_inside(const Value *items, int n)
{
    for (int i = 0; i < n; i++) {
        Parts p = parts_of(items[i]);
        if (items[i].tag == V_TRACED || traced_inside(p.item, (int)p.count))
            return true;
    }
    return false;
}

bool traced_wants(const OpCall *c)
{
    if (!c->op || c->op->carries)
        return false;
    if (c->in->traces->hears(c->in, c))
        return true;
    /* tuples are joined and compared as they are */
    if (c->op->cls == OPC_EW)
        return traced_any(c->args, c->count);
    for (int i = 0; i < c->count; i++)
        if (inside(c->args[i]))
            return true;
    return false;
}

Value traced_call(OpCall *c, const Aspect *rest)
{
    return c->in->traces->call(c, rest);
}
