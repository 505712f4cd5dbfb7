/* Operations run again on shadows: in a scope of their format, on the host, seen by nobody. What
 * fails there is no error of the program. */
#include "interp/digits/digits.h"
#include "interp/device/place.h"
#include "interp/precision/cast.h"
#include "interp/state/scope.h"

#include "core/base/error.h"
#include "kernels/number/number.h"
#include "kernels/sparse/sparse.h"

#include <math.h>

/* What the program is in, and a guard does not keep. */
typedef struct Around {
    struct Explain *explain;
    struct Solved *solved;
    bool no_notices, mute;
    int tries;
    uint64_t drawn;                 /* of the random numbers */
} Around;

static Around around_now(const Interp *in)
{
    return (Around){ in->explain, in->solved, in->no_notices, in->out_mute, in->tries,
                     in->rng.counter };
}

static void leave(Interp *in, Scope *own)
{
    in->scope = own;
    in->place = NULL;
    in->tape = NULL;
    in->listener = NULL;
    in->deferring = -1;
    in->explain = NULL;
    in->solved = NULL;
    in->no_notices = in->out_mute = true;
    in->tries++;
}

static void come_back(Interp *in, const Around *a)
{
    in->explain = a->explain;
    in->solved = a->solved;
    in->no_notices = a->no_notices;
    in->out_mute = a->mute;
    in->rng.counter = a->drawn;
    in->tries = a->tries;
}

static bool fatal(ErrKind kind)
{
    return kind == ERR_INTERRUPT || kind == ERR_MEMORY;
}

bool aside(Interp *in, const Shading *g, AsideFn fn, void *data, Value *out)
{
    Guard guard;
    Scope own = scope_of(g->against);
    Around around = around_now(in);
    guard_enter(in, &guard);
    if (ERR_TRY(&in->ctx, &guard.frame)) {
        leave(in, &own);
        Value v = fn(in, data);
        in->scope = guard.scope;
        in->place = guard.place;
        in->tape = guard.tape;
        in->listener = guard.listener;
        in->deferring = guard.deferring;
        in->at = guard.at;
        come_back(in, &around);
        ERR_END(&in->ctx, &guard.frame);
        *out = v;
        return true;
    }
    guard_restore(in, &guard);
    come_back(in, &around);
    if (fatal(in->ctx.error->kind))
        err_rethrow(&in->ctx);
    err_free(in->ctx.error);
    in->ctx.error = NULL;
    return false;
}

/* ---- casts ---- */
typedef struct Cast { Value v; DType to; } Cast;

static Value run_cast(Interp *in, void *data)
{
    const Cast *c = data;
    return op_cast(in, c->v, c->to);
}

Value aside_cast(Interp *in, const Shading *g, Value v)
{
    Cast c = { v_plain(v), g->against };
    Value out;
    if (c.v.tag != V_TENSOR || !tensor_sparse(c.v.tensor))
        value_home(in, c.v);
    return aside(in, g, run_cast, &c, &out) ? out : v_retain(c.v);
}

/* ---- arguments ---- */
Value shadow_arg(Interp *in, const Tape *t, Value v)
{
    const Shade *s = shade_on(v, t);
    if (s && floats(s->shadow))
        return v_retain(s->shadow);
    v = v_plain(v);
    if (v.tag == V_FORMAT && strchr("f", dtype_info(v_format_dtype(v))->kind))
        return v_format(shading_of(t)->against);
    if (v_is_numeric(v) || !tape_inside(v, NULL, NULL))
        return value_detached_all(in, v);
    stack_check(in);
    Parts p = parts_of(v);
    Value *to = push_like(in, v);
    for (uint32_t i = 0; i < p.count; i++)
        to[i] = shadow_arg(in, t, p.item[i]);
    return *--in->sp;
}

/* ---- rows ---- */
typedef struct Row {
    const Op *op;
    Value *args;
    int count;
    unsigned weak;
} Row;

static Value run_row(Interp *in, void *data)
{
    const Row *r = data;
    return op_call(in, r->op, r->args, r->count, r->weak);
}

bool aside_row(Interp *in, const Tape *t, const Op *op, const Value *args, int count, unsigned weak,
               Value *out)
{
    Value *mark = in->sp;
    stack_room(in, (size_t)count + 16);
    for (int i = 0; i < count; i++)
        v_push(in, shadow_arg(in, t, args[i]));
    Row row = { op, mark, count, weak };
    bool done = aside(in, shading_of(t), run_row, &row, out);
    stack_cut(in, mark);
    return done;
}

/* ---- signs ---- */
static double element(const Tensor *t, int64_t i)
{
    DType dt = (DType)t->dtype;
    const char *at = t->data + i * dtype_info(dt)->bytes;
    double x;
    if (dtype_cells(dt))
        return number_f64(dt, at);
    binary_unpack(dt, &x, at, 1);
    return x;
}

Value aside_signs(Interp *in, const Shading *g, Value v, Value s, bool rows)
{
    Value *mark = in->sp;
    v = v_plain(v);
    value_home(in, v);
    Tensor *a = tensor_compact(&in->ctx, v.tensor);
    v_push(in, v_tensor_raw(a));
    Tensor *b = tensor_compact(&in->ctx, s.tensor);
    v_push(in, v_tensor_raw(b));
    int64_t m = a->dims[0], n = a->dims[1], shape[2] = { rows ? m : 1, rows ? 1 : n };
    Tensor *sign = tensor_new(&in->ctx, DT_F64, 2, shape);
    v_push(in, v_tensor_raw(sign));
    double *to = (double *)(void *)sign->data;
    for (int64_t k = 0; k < sign->size; k++)
        to[k] = 0;
    for (int64_t i = 0; i < m * n; i++)
        to[rows ? i / n : i % n] += element(a, i) * element(b, i);
    for (int64_t k = 0; k < sign->size; k++)
        to[k] = to[k] < 0 ? -1 : 1;
    Value args[2] = { s, v_tensor_raw(sign) }, out = v_undef();
    Row row = { op_operator(in, TK_MUL), args, 2, 0 };
    if (!aside(in, g, run_row, &row, &out))
        out = v_retain(s);
    stack_cut(in, mark);
    return out;
}
