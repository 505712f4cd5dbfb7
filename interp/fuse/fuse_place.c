/* Elementwise chains where devices are in play: in one pass on the block's device where that has
 * all of it, on the host where no block is in force; else operation by operation through the
 * door, which knows what falls back and says so. */
#include "interp/fuse/fuse.h"

#include "interp/device/place_door.h"
#include "interp/device/place_nest.h"
#include "kernels/plan/plan.h"

/* Has the device every operation and dtype of the chain? */
static bool takes_all(Interp *in, const Device *d, const Lazy *z)
{
    bool fits = !place_lacked(in, d, z->op) && device_holds(d, (DType)z->compute) &&
                device_holds(d, (DType)z->head.dtype);
    for (int i = 0; i < z->n && fits; i++) {
        Value v = z->args[i];
        fits = v.tag == V_LAZY ? takes_all(in, d, lazy_of(v))
                               : v.tag != V_TENSOR || device_holds(d, (DType)v.tensor->dtype);
    }
    return fits;
}

/* A leaf that is not there: in a strict block the operation that it belongs to says so. */
static bool any_elsewhere(Interp *in, const Device *d, const Lazy *z)
{
    const Device *from;
    for (int i = 0; i < z->n; i++) {
        Value v = z->args[i];
        if (v.tag == V_LAZY ? any_elsewhere(in, d, lazy_of(v)) : place_elsewhere(in, d, &v, 1, &from) == 0)
            return true;
    }
    return false;
}

static void leaves_home(Interp *in, const Lazy *z)
{
    for (int i = 0; i < z->n; i++)
        if (z->args[i].tag == V_LAZY)
            leaves_home(in, lazy_of(z->args[i]));
        else
            place_home(in, z->args[i]);
}

/* ---- in one pass on the device ---- */
/* The chain's plan on other memory of the same layout. */
static Value run_shadows(Interp *in, const Value *args, void *data)
{
    const Lazy *z = data;
    const Tensor *head = &z->head;
    FuseRun run;
    fuse_tell(in, z, false);
    fuse_plan(in, z, &run);
    for (int k = 0; k < run.leaves; k++)
        run.data[k] = args[k].tensor->data;
    Tensor *out = tensor_new(&in->ctx, (DType)head->dtype, head->rank, tensor_shape(head));
    v_push(in, v_tensor_raw(out));
    EwTrouble trouble = nest_run(&in->ctx, run.plan, out->data, run.data);
    poll_interrupt(in);
    in->sp--;
    if (trouble == EWT_NONE)
        return v_tensor_raw(out);
    tensor_release(&in->ctx, out);
    return v_undef();
}

/* Scalars by slot: what the device reads of them. */
static void scalar_args(const Nest *n, const FuseRun *run, DevArg *data)
{
    for (int i = 0; i < n->nodes; i++) {
        const NestNode *x = &n->node[i];
        if (x->kind == NEST_CONST)
            data[x->slot] = (DevArg){ .value = run->data[x->slot], .bytes = dtype_info((DType)x->dtype)->bytes };
    }
}

static Value run_kernel(Interp *in, Device *d, const Value *args, void *data)
{
    const Tensor *head = &((const Lazy *)data)->head;
    PlaceNest *n = place_nest_new(in, d);
    DevArg slot[FUSE_LEAVES + 3 * FUSE_OPS] = { { .bytes = 0 } };
    Tensor *leaf[FUSE_LEAVES];
    FuseRun run;
    fuse_tell(in, data, true);
    fuse_plan(in, data, &run);
    fuse_nest(in, data, n->nest);
    if (!place_nest_takes(n))
        return v_undef();
    Tensor *out = place_new(in, d, (DType)head->dtype, head->rank, tensor_shape(head));
    for (int k = 0; k < run.leaves; k++)
        slot[k] = place_operand(in, d, leaf[k] = args[k].tensor);
    scalar_args(n->nest, &run, slot);
    place_hold(in, d, leaf, run.leaves);
    DevArg to = place_operand(in, d, out);
    if (gpu_nest(&in->ctx, d, n->nest, NULL, &to, slot) != EWT_NONE)
        return place_refuse(in, (Lack){ LACK_NOTICE });
    return place_value(in, out);
}

static Value run_in_block(Interp *in, Lazy *z)
{
    FuseRun run;
    Value leaf[FUSE_LEAVES];
    fuse_plan(in, z, &run);
    for (int k = 0; k < run.leaves; k++)
        leaf[k] = v_tensor_raw(run.leaf[k]);
    return place_work(in, &(PlaceWork){ .name = "one pass", .args = leaf, .count = run.leaves,
                                        .dtype = (DType)z->compute, .apart = true, .run = run_shadows,
                                        .form = run_kernel, .data = z });
}

/* A block on the host counts it. */
static Value run_on_host(Interp *in, const Lazy *z)
{
    DeviceBlock *place = in->place;
    leaves_home(in, z);
    in->place = NULL;                       /* an error's guard puts it back */
    Value r = fuse_run_here(in, z);
    if (!place)
        return r;
    in->place = place;
    place_count(in);
    return r;
}

Value fuse_run_placed(Interp *in, Lazy *z)
{
    Device *d = place_device(in);
    if (d && in->place->strict && any_elsewhere(in, d, z))
        return fuse_run_apart(in, z);
    if (!d || d == in->ctx.devices->cpu)
        return run_on_host(in, z);
    if (!takes_all(in, d, z))
        return fuse_run_apart(in, z);
    Value r = run_in_block(in, z);
    return r.tag == V_UNDEF ? fuse_run_apart(in, z) : r;
}
