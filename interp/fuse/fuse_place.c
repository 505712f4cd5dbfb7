/* Elementwise chains as work of the door (interp/op/aspect.h): in one pass on the block's device
 * where that has all of it, on the host where no block is in force; else operation by operation
 * through the door, which knows what falls back and says so. */
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
        if (v.tag == V_LAZY ? any_elsewhere(in, d, lazy_of(v))
                            : place_elsewhere(in, d, &v, 1, &from) == 0)
            return true;
    }
    return false;
}

typedef struct Chain {
    const Lazy *chain;
    Value leaf[FUSE_LEAVES];
} Chain;

static bool fits(Interp *in, Device *d, void *data)
{
    const Lazy *z = ((Chain *)data)->chain;
    if (in->place->strict && any_elsewhere(in, d, z))
        return false;
    return d == in->ctx.devices->cpu || takes_all(in, d, z);
}

/* ---- in one pass ---- */
/* The chain's plan on other memory of the same layout. */
static Value run_shadows(Interp *in, const Value *args, const Lazy *z)
{
    const Tensor *head = &z->head;
    FuseRun run;
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

static Value run_host(Interp *in, const Value *args, void *data)
{
    const Chain *c = data;
    fuse_tell(in, c->chain, false);
    return args == c->leaf ? fuse_run_here(in, c->chain) : run_shadows(in, args, c->chain);
}

/* Scalars by slot: what the device reads of them. */
static void scalar_args(const Nest *n, const FuseRun *run, DevArg *data)
{
    for (int i = 0; i < n->nodes; i++) {
        const NestNode *x = &n->node[i];
        if (x->kind == NEST_CONST)
            data[x->slot] = (DevArg){ .value = run->data[x->slot],
                                      .bytes = dtype_info((DType)x->dtype)->bytes };
    }
}

static Value run_kernel(Interp *in, Device *d, const Value *args, void *data)
{
    const Lazy *z = ((Chain *)data)->chain;
    const Tensor *head = &z->head;
    PlaceNest *n = place_nest_new(in, d);
    DevArg slot[FUSE_LEAVES + 3 * FUSE_OPS] = { { .bytes = 0 } };
    Tensor *leaf[FUSE_LEAVES];
    FuseRun run;
    fuse_tell(in, z, true);
    fuse_plan(in, z, &run);
    fuse_nest(in, z, n->nest);
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

Value fuse_run_asked(Interp *in, Lazy *z)
{
    FuseRun run;
    Chain c = { .chain = z };
    fuse_plan(in, z, &run);
    for (int k = 0; k < run.leaves; k++)
        c.leaf[k] = v_tensor_raw(run.leaf[k]);
    Value r = work_call(in, &(Work){ .name = "one pass", .dtype = (DType)z->compute, .apart = true,
                                     .run = run_host,
                                     .form = run_kernel, .fits = fits, .data = &c }, c.leaf,
                                     run.leaves);
    return r.tag == V_UNDEF ? fuse_run_apart(in, z) : r;
}
