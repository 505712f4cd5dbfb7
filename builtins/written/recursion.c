/* lfilter of f64 as a loop: where nobody listens to single operations, no scope, no device and no
 * derivative, the recursion of signals.ric runs here, the same operations in the same order. */
#include "builtins/written/written.h"

#include "core/base/error.h"

#include <string.h>

enum { RECURSION_ORDER = 64, RECURSION_POLL = 1 << 16 };

typedef struct Recursion {
    int order;
    double b[RECURSION_ORDER + 1], a[RECURSION_ORDER + 1];      /* a[0] was divided out */
} Recursion;

static bool plain(Value v, int rank)
{
    return v.tag == V_TENSOR && v.tensor->dtype == DT_F64 && v.tensor->rank >= 1 &&
           (rank == 0 || v.tensor->rank == rank) && v.tensor->size > 0;
}

static const double *numbers(OpCall *c, int i)
{
    tensor_home(&c->in->ctx, c->args[i].tensor);
    Tensor *t = op_keep(c, tensor_compact(&c->in->ctx, c->args[i].tensor));
    return (const double *)(const void *)t->data;
}

/* False: it has no recursion (conv does it), or is none. */
static bool recursion_read(OpCall *c, Recursion *r)
{
    const double *b = numbers(c, 0), *a = numbers(c, 1);
    int64_t nb = c->args[0].tensor->size, na = c->args[1].tensor->size;
    int64_t n = na > nb ? na : nb;
    bool recurs = false;
    if (n < 2 || n > RECURSION_ORDER + 1 || a[0] == 0)
        return false;
    r->order = (int)n - 1;
    for (int64_t k = 0; k < n; k++) {
        r->b[k] = (k < nb ? b[k] : 0) / a[0];
        r->a[k] = (k < na ? a[k] : 0) / a[0];
        recurs = recurs || (k > 0 && r->a[k] != 0);
    }
    return recurs;
}

/* Direct form II transposed; z is the state. */
static void recursion_lane(Interp *in, const Recursion *r, const double *x, double *y, int64_t n,
                           double *z)
{
    int order = r->order;
    for (int64_t k = 0; k < n; k++) {
        double now = r->b[0] * x[k] + z[0];
        for (int i = 0; i + 1 < order; i++)
            z[i] = z[i + 1] + r->b[i + 1] * x[k] - r->a[i + 1] * now;
        z[order - 1] = 0 * x[k] + r->b[order] * x[k] - r->a[order] * now;
        y[k] = now;
        if ((k + 1) % RECURSION_POLL == 0)
            poll_interrupt(in);
    }
}

Value recursion_run(OpCall *c)
{
    Interp *in = c->in;
    Recursion r;
    bool stated = written_asked(c, 4);
    int rank = stated ? 1 : 0;          /* of stacks with states the language takes care */
    if (in->scope || in->place || in->boxes || written_asked(c, 3) || !plain(c->args[0], 1) ||
        !plain(c->args[1], 1) || !plain(c->args[2], rank) || (stated && !plain(c->args[4], 1)) ||
        !recursion_read(c, &r) || (stated && c->args[4].tensor->size != r.order))
        return written_run(c, "_lfilter");
    Tensor *x = c->args[2].tensor;
    int64_t n = tensor_shape(x)[x->rank - 1];
    const double *from = numbers(c, 2);
    double z[RECURSION_ORDER];
    Tensor *y = op_keep(c, tensor_new(&in->ctx, DT_F64, x->rank, tensor_shape(x)));
    double *to = (double *)(void *)y->data;
    for (int64_t at = 0; at < x->size; at += n) {
        memset(z, 0, sizeof z);
        if (stated)
            memcpy(z, numbers(c, 4), (size_t)r.order * sizeof *z);
        recursion_lane(in, &r, from + at, to + at, n, z);
    }
    if (!stated)
        return op_result(c, y);
    int64_t order = r.order;
    Tensor *state = op_keep(c, tensor_new(&in->ctx, DT_F64, 1, &order));
    memcpy(state->data, z, (size_t)order * sizeof *z);
    return tuple_make(in, "y", op_result(c, y), "zf", op_result(c, state), NULL);
}
