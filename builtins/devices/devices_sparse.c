/* Forms of rows of which some operands have entries, on devices of generated source
 * (Op.sparse_on_device). Entries lie on the host; what a kernel reads of them is copied there once
 * and stays beside them, for nobody writes a pattern, and values only with notice. */
#include "builtins/devices/devices_form.h"

#include "interp/op/heard.h"
#include "interp/sparse/sparse_door.h"
#include "kernels/gpu/gpu_sparse.h"

#include <string.h>

static bool multiplied_there(const Device *d, DType dt)
{
    return (dt == DT_F32 || dt == DT_F64) && device_holds(d, dt);
}

/* A dense operand in that dtype, leading axes as one. */
static Tensor *right_side(OpCall *c, Device *d, Tensor *x, DType dt)
{
    if (x->rank > 2)
        return form_dense(c, d, x, dt);
    return (DType)x->dtype == dt ? x : form_copy(c, d, x, dt);
}

/* Where no entry is, or no element, the kernel reads none: the pattern stands in for memory. */
static DevArg read_by_kernel(OpCall *c, Device *d, Tensor *t, const DevArg *pattern)
{
    return t->size ? place_operand(c->in, d, t) : *pattern;
}

static Tensor *multiply(OpCall *c, Device *d, const Sparse *s, Tensor *x, DType dt)
{
    Interp *in = c->in;
    int64_t shape[TENSOR_RANK_MAX];
    Tensor *value = s->value;
    if ((DType)value->dtype != dt)
        value = form_copy(c, d, value, dt);
    x = right_side(c, d, x, dt);
    const int r = x->rank;
    const int64_t *n = tensor_shape(x), *step = tensor_strides(x);
    GpuCsr job = { .dtype = dt, .rows = s->head->dims[0], .entries = value->size,
                   .cols = r > 1 ? n[r - 1] : 1, .count = 1, .row = step[r > 1 ? r - 2 : 0],
                   .col = r > 1 ? step[r - 1] : 0 };
    for (int i = 0; i < r - 2; i++)
        job.count *= n[i];
    job.batch = r > 2 ? n[r - 2] * n[r - 1] : 0;
    memcpy(shape, n, (size_t)r * sizeof *shape);
    shape[r > 1 ? r - 2 : 0] = job.rows;
    Tensor *y = place_new(in, d, dt, r, shape);
    if (!y->size)
        return y;
    job.pattern = place_operand(in, d, s->pattern);
    job.value = read_by_kernel(c, d, value, &job.pattern);
    job.x = read_by_kernel(c, d, x, &job.pattern);
    job.y = place_operand(in, d, y);
    place_hold(in, d, (Tensor *[]){ s->pattern, value, x, y }, 4);
    gpu_csr(&in->ctx, d, &job);
    poll_interrupt(in);
    return y;
}

Value op_device_sparse_matmul(OpCall *c, Device *d)
{
    Interp *in = c->in;
    const Sparse *s = v_sparse(c->args[0]);
    if (!s || v_sparse(c->args[1]))
        return place_refuse(in, (Lack){ LACK_ENTRIES });
    Tensor *x = arg_tensor(c, 1);
    if (x->rank == 0 || x->dims[x->rank == 1 ? 0 : x->rank - 2] != s->head->dims[1])
        return place_refuse(in, (Lack){ LACK_ENTRIES });        /* an error of the host's */
    const DType a = (DType)s->value->dtype, b = (DType)x->dtype;
    const DType dt = a == b ? a : dtype_promote(a, b);
    if (dt == DT_NONE)
        return place_refuse(in, (Lack){ LACK_ENTRIES });
    if (!multiplied_there(d, dt))
        return place_refuse(in, (Lack){ LACK_KERNEL_DTYPE, .dtype = dt });
    if (heard_on(in))
        explain_routine(in, "own kernel over entries", NULL, "own kernel over %lld entries",
                        (long long)s->value->size);
    return place_value(in, multiply(c, d, s, x, dt));
}
