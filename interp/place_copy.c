/* Values there and back: see place.h. Tuples are looked into, nothing else holds tensors. */
#include "interp/place.h"

#include "core/error.h"

void place_home(Interp *in, Value v)
{
    if (v.tag == V_TENSOR)
        tensor_home(&in->ctx, v.tensor);
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        place_home(in, v.tuple->items[i]);
}

static Value shadow_tuple(Interp *in, Device *d, const Tuple *from)
{
    Tuple *t = tuple_new(&in->ctx, from->count);
    v_push(in, v_tuple(t));
    for (uint32_t i = 0; i < from->count; i++) {
        t->items[i] = place_shadow(in, d, from->items[i]);
        if (from->names && from->names[i])
            tuple_name(&in->ctx, t, i, from->names[i]);
    }
    in->sp--;
    return v_tuple(t);
}

Value place_shadow(Interp *in, Device *d, Value v)
{
    if (v.tag == V_TENSOR && !dtype_cells((DType)v.tensor->dtype))
        return v_tensor_raw(sim_shadow(&in->ctx, d, v.tensor));
    return v.tag == V_TUPLE ? shadow_tuple(in, d, v.tuple) : v_retain(v);
}
