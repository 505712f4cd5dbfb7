/* What is counted of lazy blocks. */
#include "builtins/rows/rows.h"
#include "interp/lazy/lazy.h"

Value op_run_lazy_stats(OpCall *c)
{
    LazyCounts *n = lazy_counts(c->in), now = *n;
    if (arg_bool(c, 0, false))
        *n = (LazyCounts){ 0 };
    return tuple_make(c->in, "runs", v_int((int64_t)now.runs),
                      "compiled", v_int((int64_t)now.compiled), "hits", v_int((int64_t)now.hits),
                      "barriers", v_int((int64_t)now.barriers),
                      "operations", v_int((int64_t)now.operations),
                      "kernels", v_int((int64_t)now.kernels), NULL);
}
