/* Rows of the shelf that are one loop where nobody listens to single operations, no scope, no
 * device and no derivative; else the functions of shelf.ric. */
#include "builtins/written/written.h"

#include "kernels/sparse/sparse.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/cast/frexp.h"

static bool alone(OpCall *c)
{
    return !c->in->scope && !c->in->place && !c->in->boxes;
}

/* f16 and bf16 by f32, of which their mantissas are numbers. */
Value frexp_run(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Value v = c->args[0];
    DType dt = v.tag == V_TENSOR ? (DType)v.tensor->dtype : DT_NONE;
    DType wide = dt != DT_NONE && dtype_half(dt) ? DT_F32 : dt;
    if (!alone(c) || (wide != DT_F32 && wide != DT_F64) || v.tensor->rank == 0 ||
        tensor_sparse(v.tensor))
        return written_run(c, "frexp");
    tensor_home(ctx, v.tensor);
    Tensor *cast = op_keep(c, tensor_cast(ctx, v.tensor, wide));
    Tensor *x = op_keep(c, tensor_compact(ctx, cast));
    Tensor *mantissa = op_keep(c, tensor_new(ctx, wide, x->rank, tensor_shape(x)));
    Tensor *exponent = op_keep(c, tensor_new(ctx, DT_I64, x->rank, tensor_shape(x)));
    int64_t *to = (int64_t *)(void *)exponent->data;
    if (wide == DT_F64)
        frexp_f64((const double *)(const void *)x->data, (double *)(void *)mantissa->data, to,
                  x->size);
    else
        frexp_f32((const float *)(const void *)x->data, (float *)(void *)mantissa->data, to,
                  x->size);
    mantissa = op_keep(c, tensor_cast(ctx, mantissa, dt));
    return tuple_make(c->in, "mantissa", op_result(c, mantissa), "exponent",
                      op_result(c, exponent), NULL);
}
