/* Rows of derivatives: arguments are read here, interp/gradient does the rest. */
#include "builtins/rows/rows.h"
#include "interp/eval/call.h"
#include "interp/gradient/gradient.h"

Value op_run_grad(OpCall *c) { return grad_make(c, false); }
Value op_run_value_and_grad(OpCall *c) { return grad_make(c, true); }
Value op_run_jacobian(OpCall *c) { return jacobian_make(c); }
Value op_run_hessian(OpCall *c) { return hessian_make(c); }
Value op_run_jvp(OpCall *c) { return jvp_run(c); }
Value op_run_vjp(OpCall *c) { return vjp_run(c); }

Value op_run_gradcheck(OpCall *c)
{
    Value tol = arg_given(c, 2) ? c->args[2] : v_float(1e-6);
    return call_value(c->in, gradient_function(c->in, "gradcheck"),
                      (Value[]){ c->args[0], c->args[1], tol }, 3);
}

Value op_run_detach(OpCall *c) { return detach_run(c); }
Value op_run_checkpoint(OpCall *c) { return checkpoint_make(c); }
Value op_run_custom_rule(OpCall *c) { return custom_rule_make(c); }
