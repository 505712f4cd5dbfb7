/* The aspect of sparse operands. */
#include "interp/sparse/sparse_door.h"

#include "core/base/error.h"
#include "interp/device/place.h"
#include "interp/op/deferred.h"
#include "interp/op/heard.h"
#include "interp/output/output.h"
#include "interp/precision/autocast.h"
#include "interp/state/scope.h"

#include <string.h>

bool sparse_inside(Value v)
{
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        if (sparse_inside(v.tuple->items[i]))
            return true;
    return v_sparse(v) != NULL;
}

/* Rows that read no elements, or whose parts come here themselves. */
static bool looks_at_none(const Op *op)
{
    return op->carries || ((op->devices & DEV_ANYWHERE) && op->lays);
}

/* A tuple that an elementwise row adds to another: nobody reads what is in it. */
static bool is_list(const OpCall *c, int i)
{
    return c->op && c->op->cls == OPC_EW && c->args[i].tag == V_TUPLE;
}

bool sparse_wants(const OpCall *c)
{
    if (!sparse_on(c->in) || (c->op && !c->op->sparse && looks_at_none(c->op)))
        return false;
    for (int i = 0; i < c->count; i++)
        if (is_list(c, i) ? v_sparse(c->args[i]) != NULL : sparse_inside(c->args[i]))
            return true;
    return false;
}

/* ---- operands without entries ---- */
typedef Value (*Instead)(Interp *, const Sparse *, const char *what);

/* v with what stands instead of the sparse tensors in it; owned. */
static Value replaced(Interp *in, Value v, Instead of, const char *what)
{
    const Sparse *s = v_sparse(v);
    if (s)
        return of(in, s, what);
    if (v.tag != V_TUPLE || !sparse_inside(v))
        return v_retain(v);
    Tuple *t = tuple_new(&in->ctx, v.tuple->count);
    v_push(in, v_tuple(t));
    for (uint32_t i = 0; i < t->count; i++) {
        t->items[i] = replaced(in, v.tuple->items[i], of, what);
        if (v.tuple->names && v.tuple->names[i])
            tuple_name(&in->ctx, t, i, v.tuple->names[i]);
    }
    in->sp--;
    return v_tuple(t);
}

static Value made_dense(Interp *in, const Sparse *s, const char *what)
{
    return v_tensor_raw(sparse_densified(&in->ctx, s, what));
}

Value sparse_dense_for(Interp *in, Value v, const char *what)
{
    return replaced(in, v, made_dense, what);
}

static Value zeros_like(Interp *in, const Sparse *s, const char *none)
{
    static const _Alignas(16) char zero[ELEMENT_BYTES_MAX];
    Tensor *one = tensor_scalar(&in->ctx, (DType)s->value->dtype, zero);
    (void)none;
    v_push(in, v_tensor_raw(one));
    Tensor *all = tensor_broadcast(&in->ctx, one, 2, tensor_shape(s->head));
    stack_cut(in, in->sp - 1);
    return v_tensor_raw(all);
}

Value sparse_standing_in(Interp *in, Value v) { return replaced(in, v, zeros_like, NULL); }

static const char *named(const OpCall *c, char *out, size_t cap)
{
    return c->work ? c->work->name : op_label(c->op, out, cap);
}

/* All operands dense, onto the value stack; where that takes too much, with the row's own help. */
static void push_dense(OpCall *c)
{
    Interp *in = c->in;
    char label[64];
    const char *what = named(c, label, sizeof label);
    ErrFrame frame;
    if (ERR_TRY(&in->ctx, &frame)) {
        for (int i = 0; i < c->count; i++)
            v_push(in, sparse_dense_for(in, c->args[i], what));
        ERR_END(&in->ctx, &frame);
        return;
    }
    Error *e = in->ctx.error;
    if (c->op && c->op->too_large && e->kind == ERR_MEMORY && !e->help)
        err_help(e, c->op->too_large, arg_text(c, 0));
    err_rethrow(&in->ctx);
}

static Value on_dense(OpCall *c, const Aspect *rest)
{
    Interp *in = c->in;
    Value *mark = in->sp, *args = mark;
    OpCall call = *c;
    push_dense(c);
    call.args = args;
    call.reuse = 0;
    Value r = call_rest(&call, rest);
    stack_cut(in, mark);
    return r;
}

/* ---- forms ---- */
static bool always(const OpCall *c)
{
    (void)c;
    return true;
}

static Value run_here(OpCall *c)
{
    return c->work ? c->work->sparse(c->in, c->args, c->work->data) : c->op->sparse(c);
}

static Value run_placed(OpCall *c, const Aspect *none)
{
    (void)none;
    return place_entries(c, run_here);
}

/* What of the pipeline a form still meets: the rest is in the rows that it calls. */
static const Aspect forms[] = { { record_wants, record_call }, { always, run_placed } };

static bool has_form(const OpCall *c)
{
    return c->work ? c->work->sparse != NULL : c->op->sparse != NULL;
}

/* The form's result; V_UNDEF: there is none. Nothing waits, and nothing is on a device meanwhile:
 * what it calls runs at once, and here. */
static Value on_entries(OpCall *c)
{
    Interp *in = c->in;
    int deferring = in->deferring;
    Value *mark = in->sp;
    if (!has_form(c))
        return v_undef();
    for (int i = 0; i < c->count; i++)
        deferred_settle(in, c->args[i]);
    in->deferring = 0;
    Value r = call_rest(c, forms);
    in->deferring = deferring;
    stack_cut(in, mark);
    return r;
}

Value sparse_call(OpCall *c, const Aspect *rest)
{
    if (c->work && c->work->apart)
        return v_undef();               /* its parts come here one by one */
    Value r = on_entries(c);
    return r.tag == V_UNDEF ? on_dense(c, rest) : r;
}

/* ---- for forms ---- */
Value sparse_with(Interp *in, const Sparse *s, Value v)
{
    v_push(in, v);
    Tensor *t = v_to_tensor(in, v, 0);
    if (t->rank == 0 && s->value->size != 1) {
        Tensor *all = tensor_broadcast(&in->ctx, t, 1, tensor_shape(s->value));
        tensor_release(&in->ctx, t);
        t = all;
    }
    v_push(in, v_tensor_raw(t));
    Tensor *flat = tensor_compact(&in->ctx, t);
    v_push(in, v_tensor_raw(flat));
    tensor_home(&in->ctx, flat);
    Tensor *r = sparse_like(&in->ctx, s, flat);
    stack_cut(in, in->sp - 3);
    return v_tensor_raw(r);
}

Tensor *sparse_taken(Ctx *ctx, Made *made, int64_t m, int64_t n, SparseOrder o,
                     const Tensor *values)
{
    const DType dt = (DType)values->dtype;
    Tensor *value = made_vector(ctx, made, dt, o.order->size);
    sparse_gather(ctx, value->data, values->data, made_ints(o.order), o.order->size,
                  dtype_info(dt)->bytes);
    made_poll(ctx, made);
    return sparse_made(ctx, made, m, n, o.pattern, value);
}
