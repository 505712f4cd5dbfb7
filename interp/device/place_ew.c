/* Elementwise rows on devices of generated source: dtype and shape as the host's door finds them
 * (ew_form), then a nest of one node. */
#include "interp/device/place_nest.h"

#include "core/base/error.h"
#include "interp/op/arith.h"
#include "interp/op/elementwise.h"
#include "interp/precision/precise.h"

typedef struct EwCall {
    Interp *in;
    Device *device;
    const Op *op;
    const Value *args;
    int n;
    EwForm form;
} EwCall;

/* Scalars are the host's. Covectors are seen as the rows that they are: their mark is put back on
 * the result. Pushes n values. */
static Value *plain_operands(Interp *in, const Value *args, int n)
{
    Value *plain = in->sp;
    for (int i = 0; i < n; i++) {
        Value v = v_retain(args[i]);
        if (v.tag == V_TENSOR && (v.tensor->rank == 0 || (v.tensor->flags & TENSOR_COVECTOR))) {
            Tensor *t = v.tensor;
            if (t->rank == 0)
                tensor_home(&in->ctx, t);
            v = v_tensor_raw(tensor_view(&in->ctx, t, t->rank, tensor_shape(t),
                                         tensor_strides(t), t->data));
            tensor_release(&in->ctx, t);
        } else if (v.tag == V_RANGE) {
            v = v_tensor_raw(v_to_tensor(in, args[i], i));
            v_release(&in->ctx, args[i]);
        }
        v_push(in, v);
    }
    return plain;
}

static bool covector_result(const EwCall *e)
{
    Tensor *t[3];
    _Alignas(16) Tensor none = { .refs = 1 };
    for (int i = 0; i < e->n; i++)
        t[i] = e->args[i].tag == V_TENSOR ? e->args[i].tensor : &none;
    return ew_covector(e->in, e->op, t, e->form.scalar, e->n);
}

static PlaceNest *make_nest(const EwCall *e, const Value *plain, DType compute, bool watch)
{
    PlaceNest *n = place_nest_new(e->in, e->device);
    int arg[3];
    place_nest_axes(n, e->form.rank, e->form.shape);
    for (int i = 0; i < e->n; i++) {
        bool mask = i == 0 && ew_info[e->op->ew].result == RES_WHERE;
        arg[i] = e->form.scalar[i] ? place_nest_const(n, mask ? DT_BOOL : e->form.compute,
                                                      e->form.cell[i])
                                   : place_nest_broadcast(n, plain[i].tensor, e->form.rank);
    }
    n->nest->root = nest_ew(&e->in->ctx, n->nest, e->op->ew, compute, arg, e->n);
    if (watch)
        nest_watch(n->nest, n->nest->root);
    return n;
}

static bool deserves_watch(const EwCall *e)
{
    return (e->op->traits & TRAIT_NAN_NOTICE) && dtype_info(e->form.compute)->kind == 'f';
}

/* Runs it; trouble is what it would be on the host. V_UNDEF: refused. */
static Value run(EwCall *e, const Value *plain, DType compute, bool watch)
{
    EwTrouble trouble;
    PlaceNest *n = make_nest(e, plain, compute, watch);
    if (!place_nest_takes(n))
        return v_undef();
    Tensor *out = place_nest_run(n, e->form.rank, e->form.shape, &trouble);
    switch (trouble) {
    case EWT_DIVZERO: arith_division_error(e->in, e->op, e->args[0]);
    case EWT_SHIFT: ew_shift_error(e->in, e->op);
    case EWT_INT_POWER: return run(e, plain, DT_F64, false);
    case EWT_NAN:
        ew_nan_notice(e->in, e->op, e->n);
        return run(e, plain, compute, false);
    default: break;
    }
    out->flags = covector_result(e) ? TENSOR_COVECTOR : 0;
    ew_count(e->in, e->op, compute, out->size);
    return place_value(e->in, out);
}

Value place_elementwise(Interp *in, Device *d, const Op *op, const Value *args, int n,
                        unsigned weak)
{
    EwCall e = { .in = in, .device = d, .op = op, .args = args, .n = n };
    if (precise_concerns(in, args, n))
        return place_refuse(in, (Lack){ LACK_SCOPE });
    Value *mark = in->sp, *plain = plain_operands(in, args, n);
    Value r = ew_form_any(in, op, plain, n, weak, &e.form)
              ? run(&e, plain, e.form.compute, deserves_watch(&e))
                                                           : place_refuse(in,
                                                               (Lack){ LACK_NO_TENSORS });
    stack_cut(in, mark);
    return r;
}
