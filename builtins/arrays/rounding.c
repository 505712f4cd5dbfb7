/* round(x, digits): without digits the row rint, with them kernels/axis/rounding.c. */
#include "builtins/rows/rows.h"
#include "kernels/axis/rounding.h"

#include <stdio.h>

/* Numbers, and real ones; the row rint would speak of itself. */
static void require_real(OpCall *c)
{
    Value v = c->args[0];
    char help[160];
    DType dt = v_is_numeric(v) ? v_dtype(v) : (DType)arg_tensor(c, 0)->dtype;
    if (dtype_info(dt)->kind != 'c')
        return;
    snprintf(help, sizeof help, "round(real(%s)) rounds the real part", arg_text(c, 0));
    arg_error_help(c, 0, ERR_DTYPE, help, "%s is %s; round takes real numbers", arg_text(c, 0),
                   dtype_name(dt));
}

static Value round_tensor(OpCall *c, int64_t digits)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *x = op_keep(c, tensor_compact(ctx, arg_tensor(c, 0)));
    DType dt = (DType)x->dtype, compute = dtype_computed(dt);
    if (dtype_info(dt)->kind == 'b' || (dtype_info(dt)->kind == 'i' && digits >= 0))
        return op_result(c, x);
    x = op_keep(c, tensor_cast(ctx, x, compute));
    Tensor *out = op_keep(c, tensor_new(ctx, compute, x->rank, tensor_shape(x)));
    bool fits = rounding_run(ctx, compute, x->data, x->size, (int)digits, out->data);
    poll_interrupt(c->in);
    if (!fits) {
        char help[160];
        snprintf(help, sizeof help, "round(%s(%s), %lld)", dt == DT_I64 ? "f64" : "i64",
                 arg_text(c, 0), (long long)digits);
        arg_error_help(c, 0, ERR_VALUE, help, "a rounded number does not fit %s",
                       dtype_name(dt));
    }
    return op_result(c, op_keep(c, tensor_cast(ctx, out, dt)));
}

Value op_run_round(OpCall *c)
{
    require_real(c);
    if (!arg_given(c, 1)) {
        Value x = c->args[0];
        if (!v_is_numeric(x))               /* a tuple or range of numbers */
            x = v_tensor_raw(arg_tensor(c, 0));
        return op_unary(c->in, op_named(c->in, "rint"), x, c->weak & 1);
    }
    int64_t digits = arg_int(c, 1);
    digits = digits < -400 ? -400 : digits > 400 ? 400 : digits;
    if (c->args[0].tag == V_FLOAT)
        return v_float(rounding_f64(c->args[0].f, (int)digits));
    return round_tensor(c, digits);
}
