/* Stores into slices of a tensor that a grid of processes has: they happen there, and nothing but
 * the new elements travels. Lists of positions, masks and values of another kind are the host's, as
 * on every other device. */
#include "interp/index/index.h"
#include "interp/index/index_store.h"

#include "core/base/error.h"
#include "interp/device/place_door.h"
#include "interp/device/place_nest.h"

#include <string.h>

/* Where the target is to be written, or NULL. */
static Device *grid_of(Interp *in, const Value *slot)
{
    Device *d = place_device(in);
    bool here = d && (d->caps & DEVCAP_GRID) && slot->tag == V_TENSOR && slot->tensor->size > 0;
    return here && device_has(d, slot->tensor) ? d : NULL;
}

/* Is v a number, or a tensor that the device has or may be sent, that the target's dtype takes
 * as it is? */
static bool storable(Device *d, const Tensor *t, Value v)
{
    DType own = (DType)t->dtype, dt = v_dtype(v);
    if (v.tag == V_TENSOR)
        return dt == own && device_holds(d, dt);
    return (v.tag == V_INT || v.tag == V_FLOAT) && dtype_info(own)->kind == 'f';
}

/* The value broadcast to the view, as the root of a nest; false: it does not fit. */
static bool root_of(PlaceNest *n, const Tensor *view, Value v)
{
    _Alignas(16) char cell[ELEMENT_BYTES_MAX] = { 0 };
    int64_t both[TENSOR_RANK_MAX];
    int bad;
    DType dt = (DType)view->dtype;
    if (v.tag != V_TENSOR || v.tensor->rank == 0) {
        double x = v.tag == V_FLOAT ? v.f : (double)v.i;
        if (v.tag == V_TENSOR)
            memcpy(cell, v.tensor->data, dtype_info(dt)->bytes);
        else
            cast_run(dt, cell, 1, DT_F64, &x, 1, 1);
        n->nest->root = place_nest_const(n, dt, cell);
        return true;
    }
    int rank = shape_broadcast(view->rank, tensor_shape(view), v.tensor->rank,
                               tensor_shape(v.tensor), both, &bad);
    if (rank != view->rank || memcmp(both, tensor_shape(view), (size_t)rank * sizeof *both) != 0)
        return false;
    n->nest->root = place_nest_broadcast(n, v.tensor, rank);
    return true;
}

/* A tensor of the device with t's elements, that nobody else holds. */
static Tensor *own_copy(Interp *in, Device *d, Tensor *t)
{
    Tensor *copy = place_new(in, d, (DType)t->dtype, t->rank, tensor_shape(t));
    d->ops->pack(&in->ctx, d, copy, t);
    copy->flags = t->flags;
    return copy;
}

bool index_store_grid(Interp *in, Value *slot, const Sub *subs, int n, Value v)
{
    Ctx *ctx = &in->ctx;
    Device *d = grid_of(in, slot);
    Selection sel;
    Value *mark = in->sp;
    if (!d || !storable(d, slot->tensor, v) || index_picks(subs, n))
        return false;
    if (v.tag == V_TENSOR && v.tensor->rank == 0)
        tensor_home(ctx, v.tensor);
    const Device *from;
    if (in->place->strict && place_elsewhere(in, d, &v, 1, &from) == 0)
        place_strict_copy(in, in->place, "the store", n + 1, v_dtype(v), from);
    selection_make(in, &sel, slot->tensor, subs, n);
    Tensor *t = tensor_sole(slot->tensor) ? slot->tensor : own_copy(in, d, slot->tensor);
    if (t != slot->tensor)               /* its strides may be others */
        selection_make(in, &sel, t, subs, n);
    char *at = t->data + sel.offset * dtype_info((DType)t->dtype)->bytes;
    Tensor *view = tensor_view(ctx, t, sel.rank, sel.shape, sel.strides, at);
    v_push(in, v_tensor_raw(view));
    PlaceNest *nest = place_nest_new(in, d);
    place_nest_axes(nest, view->rank, tensor_shape(view));
    bool fits = !sel.fancy && root_of(nest, view, v) && (!view->size || place_nest_takes(nest));
    if (fits && view->size) {
        place_nest_into(nest, view);
        device_wrote(ctx, d, t);
    }
    if (fits && t != slot->tensor) {
        tensor_release(ctx, slot->tensor);
        slot->tensor = tensor_retain(t);
    }
    if (fits)
        place_ran(in, &(PlaceRun){ .name = "the store", .device = d, .dtype = (DType)t->dtype });
    stack_cut(in, mark);
    return fits;
}
