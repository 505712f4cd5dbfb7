/* lfilter as a loop: where nobody listens to single operations, no scope, no device and no
 * derivative, the recursion of signals.ric runs here, the same operations in the same order. */
#include "builtins/written/written.h"

#include "core/base/error.h"
#include "kernels/sparse/sparse.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/signals/recursion.h"

#include <string.h>

enum { RECURSION_ORDER = 64, RECURSION_POLL = 1 << 16 };

typedef struct Recursion {
    DType dtype;               /* of all that follows, and of the result */
    RecursionFn fn;
    int order, axis;
    const char *b, *a;
    Tensor *x, *z;             /* dense, the axis last; z is the state, changed in place, or NULL */
} Recursion;

static bool plain(Value v, int least, int most)
{
    return v.tag == V_TENSOR && v.tensor->rank >= least && v.tensor->rank <= most &&
           v.tensor->size > 0 && v.tensor->dtype != DT_BOOL && !tensor_sparse(v.tensor) &&
           dtype_plain((DType)v.tensor->dtype) && !dtype_half((DType)v.tensor->dtype);
}

/* The dtype that numbers of these compute in; ints count as f64. */
static DType wide(DType dt) { return dtype_info(dt)->kind == 'i' ? DT_F64 : dt; }

/* Coefficients over a[0], zeros behind them, in the dtype of all. */
static const char *coefficients(OpCall *c, const Recursion *r, int i, Value first)
{
    Interp *in = c->in;
    size_t bytes = dtype_info(r->dtype)->bytes;
    Value over = op_root(c, op_binary(in, op_named(in, "divide"), c->args[i], first, 0));
    Tensor *cast = op_keep(c, tensor_cast(&in->ctx, over.tensor, r->dtype));
    Tensor *given = op_keep(c, tensor_compact(&in->ctx, cast));
    int64_t n = r->order + 1;
    Tensor *all = op_keep(c, tensor_new(&in->ctx, r->dtype, 1, &n));
    memset(all->data, 0, (size_t)n * bytes);
    memcpy(all->data, given->data, (size_t)given->size * bytes);
    return all->data;
}

/* x in that dtype, with the axis last (or, the last axis being that one, back in its place). */
static Tensor *with_axis(OpCall *c, Tensor *x, int axis, bool back)
{
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    int rank = x->rank, from = 0;
    for (int k = 0; k < rank; k++) {
        int own = back ? k == axis ? rank - 1 : from++
                       : k == rank - 1 ? axis : k < axis ? k : k + 1;
        shape[k] = tensor_shape(x)[own];
        strides[k] = tensor_strides(x)[own];
    }
    return op_keep(c, tensor_view(&c->in->ctx, x, rank, shape, strides, x->data));
}

static Tensor *lanes(OpCall *c, const Recursion *r, Tensor *x)
{
    Tensor *cast = op_keep(c, tensor_cast(&c->in->ctx, x, r->dtype));
    return op_keep(c, tensor_compact(&c->in->ctx, with_axis(c, cast, r->axis, false)));
}

static bool has_recursion(const Recursion *r)
{
    size_t bytes = dtype_info(r->dtype)->bytes;
    static const char zero[ELEMENT_BYTES_MAX];
    for (int k = 1; k <= r->order; k++)
        if (memcmp(r->a + (size_t)k * bytes, zero, bytes) != 0)
            return true;
    return false;
}

/* The state as given, if it has the shape of x with `order` in the place of the axis. */
static bool state_fits(const Recursion *r, const Tensor *x, const Tensor *z)
{
    bool fits = z->rank == x->rank;
    for (int k = 0; fits && k < x->rank; k++)
        fits = tensor_shape(z)[k] == (k == r->axis ? r->order : tensor_shape(x)[k]);
    return fits;
}

/* False: the function of the language is to do it, or to say what is wrong. */
static bool recursion_read(OpCall *c, Recursion *r)
{
    Interp *in = c->in;
    bool stated = written_asked(c, 4);
    if (in->scope || in->place || in->boxes || !plain(c->args[0], 1, 1) ||
        !plain(c->args[1], 1, 1) || !plain(c->args[2], 1, TENSOR_RANK_MAX) ||
        (stated && !plain(c->args[4], 1, TENSOR_RANK_MAX)))
        return false;
    for (int i = 0; i < 5; i++)
        if (i != 3 && (i < 4 || stated))
            tensor_home(&in->ctx, c->args[i].tensor);
    Tensor *x = c->args[2].tensor;
    int64_t nb = c->args[0].tensor->size, na = c->args[1].tensor->size, n = na > nb ? na : nb;
    int64_t axis = written_asked(c, 3) && c->args[3].tag == V_INT ? c->args[3].i : -1;
    if (n < 2 || n > RECURSION_ORDER + 1 || (written_asked(c, 3) && c->args[3].tag != V_INT) ||
        axis < -x->rank || axis >= x->rank)
        return false;
    r->dtype = DT_NONE;
    for (int i = 0; i < 5; i++)
        if (i != 3 && (i < 4 || stated)) {
            DType own = wide((DType)c->args[i].tensor->dtype);
            r->dtype = r->dtype == DT_NONE ? own : dtype_promote(r->dtype, own);
        }
    r->fn = recursion_kernel(r->dtype);
    r->order = (int)n - 1;
    r->axis = (int)(axis < 0 ? axis + x->rank : axis);
    if (!r->fn || (stated && !state_fits(r, x, c->args[4].tensor)))
        return false;
    Tensor *a0 = op_keep(c, tensor_view(&in->ctx, c->args[1].tensor, 0, NULL, NULL,
                                        c->args[1].tensor->data));
    if (element_c128((DType)a0->dtype, a0->data) == 0)
        return false;
    r->b = coefficients(c, r, 0, v_tensor_raw(a0));
    r->a = coefficients(c, r, 1, v_tensor_raw(a0));
    if (!has_recursion(r))                       /* conv does it */
        return false;
    r->x = lanes(c, r, x);
    r->z = stated ? op_keep(c, tensor_copy(&in->ctx, lanes(c, r, c->args[4].tensor))) : NULL;
    return true;
}

Value recursion_on_entries(OpCall *c) { return written_run(c, "_lfilter"); }

Value recursion_run(OpCall *c)
{
    Interp *in = c->in;
    Recursion r = { 0 };
    if (!recursion_read(c, &r))
        return written_run(c, "_lfilter");
    _Alignas(16) char zeros[RECURSION_ORDER * ELEMENT_BYTES_MAX];
    int64_t n = tensor_shape(r.x)[r.x->rank - 1], bytes = (int64_t)dtype_info(r.dtype)->bytes;
    Tensor *y = op_keep(c, tensor_new(&in->ctx, r.dtype, r.x->rank, tensor_shape(r.x)));
    for (int64_t lane = 0; lane < r.x->size / n; lane++) {
        char *z = r.z ? r.z->data + lane * r.order * bytes : zeros;
        if (!r.z)
            memset(zeros, 0, sizeof zeros);
        for (int64_t from = 0, some; from < n; from += some) {
            int64_t at = (lane * n + from) * bytes;
            some = n - from < RECURSION_POLL ? n - from : RECURSION_POLL;
            r.fn(r.order, r.b, r.a, r.x->data + at, y->data + at, some, z);
            poll_interrupt(in);
        }
    }
    y = with_axis(c, y, r.axis, true);
    if (!r.z)
        return op_result(c, y);
    return tuple_make(in, "y", op_result(c, y), "zf",
                      op_result(c, with_axis(c, r.z, r.axis, true)), NULL);
}
