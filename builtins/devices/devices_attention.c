/* Attention and its gradient on devices of generated source (kernels/gpu/gpu_attention.h): shapes,
 * dtypes and errors are the host's (builtins/attention), operands are read as they lie. */
#include "builtins/devices/devices_form.h"

#include "builtins/attention/attention.h"
#include "kernels/gpu/gpu_attention.h"

#include <string.h>

/* A call: what was asked for, whose operands become the device's, and the job. */
typedef struct There {
    Asked a;
    Device *d;
    GpuAttention job;
    Tensor *w;                          /* NULL: forward */
} There;

/* ---- leading axes ---- */
/* Steps along the leading axes of the result, for an operand whose last two are its matrix. */
static void leading_steps(const Asked *a, const Tensor *t, int64_t *step)
{
    int own = t->rank > 2 ? t->rank - 2 : 0;
    for (int i = 0; i < a->rank; i++) {
        int k = own - a->rank + i;
        step[i] = k < 0 || tensor_shape(t)[k] == 1 ? 0 : tensor_strides(t)[k];
    }
}

static bool bias_has(const Asked *a, const Tensor *bias, int axis)
{
    int k = bias ? bias->rank - 2 - a->rank + axis : -1;
    return k >= 0 && tensor_shape(bias)[k] != 1;
}

/* Axes of the job: as few as the layout of all operands allows. False: more than a kernel knows. */
static bool fold_axes(There *t, Tensor *const *operand, GpuHeads *const *to, int count)
{
    int64_t step[5][TENSOR_RANK_MAX];
    const Asked *a = &t->a;
    int used = 0;
    for (int o = 0; o < count; o++)
        if (operand[o])
            leading_steps(a, operand[o], step[o]);
    for (int i = 0; i < GPU_HEAD_AXES; i++)
        t->job.extent[i] = 1;
    for (int i = 0, last = -1; i < a->rank; i++) {
        bool own = bias_has(a, a->bias, i);
        bool runs_on = last >= 0 && own == bias_has(a, a->bias, last);
        if (a->shape[i] == 1)
            continue;
        for (int o = 0; o < count; o++)
            runs_on &= !operand[o] || (last >= 0 && step[o][last] == step[o][i] * a->shape[i]);
        used += !runs_on;
        if (used > GPU_HEAD_AXES)
            return false;
        t->job.extent[used - 1] *= a->shape[i];
        t->job.kept[used - 1] = own;
        for (int o = 0; o < count; o++)
            if (operand[o])
                to[o]->step.axis[used - 1] = step[o][i];
        last = i;
    }
    return true;
}

static void matrix_steps(GpuHeads *to, const Tensor *t)
{
    const int64_t *shape = tensor_shape(t), *step = tensor_strides(t);
    int last = t->rank - 1;
    to->step.col = last >= 0 && shape[last] > 1 ? step[last] : 0;
    to->step.row = last >= 1 && shape[last - 1] > 1 ? step[last - 1] : 0;
}

/* Where these operands, and the bias, lie. */
static bool places(There *t, Tensor *q, Tensor *k, Tensor *v, Tensor *w)
{
    GpuAttention *job = &t->job;
    Tensor *bias = t->a.bias;
    Tensor *operand[5] = { q, k, v, w, bias && bias->rank ? bias : NULL };
    GpuHeads *to[5] = { &job->q, &job->k, &job->v, &job->w, &job->bias };
    for (int i = 0; i < 5; i++)
        *to[i] = (GpuHeads){ .at = to[i]->at };
    for (int i = 0; i < 5; i++)
        if (operand[i])
            matrix_steps(to[i], operand[i]);
    return fold_axes(t, operand, to, 5);
}

/* ---- operands ---- */
/* A number is a tensor of the host: as one element of the dtype. */
static Tensor *bias_there(There *t)
{
    OpCall *c = t->a.call;
    Tensor *b = t->a.bias;
    DType dt = (DType)b->dtype == DT_BOOL ? DT_BOOL : t->a.dt;
    static const int64_t one[2] = { 1, 1 };
    if (b->rank == 0) {
        tensor_home(&c->in->ctx, b);
        b = op_keep(c, tensor_cast(&c->in->ctx, b, dt));
        return form_view(c, b, 2, one, one, 0);
    }
    return (DType)b->dtype == dt ? b : form_copy(c, t->d, b, dt);
}

static Tensor *in_dtype(There *t, Tensor *x)
{
    return (DType)x->dtype == t->a.dt ? x : form_copy(t->a.call, t->d, x, t->a.dt);
}

/* False: refused, and nothing was done. */
static bool read_call(There *t, OpCall *c, Device *d, const Places *at)
{
    *t = (There){ .d = d };
    Lack why = { LACK_NONE };
    attention_sizes(&t->a, c, at);
    attention_dtype(&t->a);
    const Asked *a = &t->a;
    bool plain = a->dt < DT_RATIONAL && dtype_info(a->dt)->kind == 'f';
    if (a->function.tag != V_UNDEF)
        why.kind = LACK_FUNCTION;
    else if (!plain)
        why.kind = LACK_NO_REALS;
    else if (!device_holds(d, a->dt) || !device_holds(d, a->real))
        why = (Lack){ LACK_DTYPE, .dtype = device_holds(d, a->dt) ? a->real : a->dt };
    else if (gpu_attention_takes(d, a->dt, &why))
        why = (Lack){ places(t, a->q, a->k, a->v, NULL) ? LACK_NONE : LACK_AXES };
    if (why.kind)
        place_refuse(c->in, why);
    return !why.kind;
}

/* Operands in one dtype, and the job but for its results; false: they have too many axes now. */
static bool read_operands(There *t)
{
    Asked *a = &t->a;
    GpuAttention *job = &t->job;
    *job = (GpuAttention){ .dt = a->dt, .heads = a->job.heads, .n = a->job.n, .m = a->job.m,
                           .d = a->job.d, .e = a->job.e, .left = a->job.left,
                           .right = a->job.right, .shift = a->job.shift, .scale = a->job.scale };
    Tensor **of[4] = { &a->q, &a->k, &a->v, &t->w };
    for (int i = 0; i < 4; i++)
        if (*of[i])
            *of[i] = in_dtype(t, *of[i]);
    if (a->bias) {
        a->bias = bias_there(t);
        job->biased = a->bias->dtype == DT_BOOL ? BIAS_BOOL : BIAS_ADDS;
    }
    return places(t, a->q, a->k, a->v, t->w);
}

/* Moves them there; results were made before. */
static void move_operands(There *t)
{
    Asked *a = &t->a;
    Interp *in = a->call->in;
    GpuAttention *job = &t->job;
    Tensor *of[5] = { a->q, a->k, a->v, t->w, a->bias };
    GpuHeads *to[5] = { &job->q, &job->k, &job->v, &job->w, &job->bias };
    for (int i = 0; i < 5; i++)
        if (of[i])
            to[i]->at = place_operand(in, t->d, of[i]);
    place_hold(in, t->d, of, 5);
}

static void run_part(There *t, GpuAttentionPart part, Tensor *out)
{
    Interp *in = t->a.call->in;
    DevArg to = place_operand(in, t->d, out);
    gpu_attention(&in->ctx, t->d, &t->job, part, &to);
    poll_interrupt(in);
}

static void tell(There *t, bool back)
{
    int tile = gpu_attention_tile(t->a.dt);
    attention_tell(&t->a, back, tile, tile, gpu_attention_room(t->a.dt), " for a work group");
}

/* With the leading axes of the result. */
static Tensor *new_tensor(There *t, DType dt, int more, int64_t rows, int64_t cols)
{
    const Asked *a = &t->a;
    int64_t shape[TENSOR_RANK_MAX + 2];
    memcpy(shape, a->shape, (size_t)a->rank * sizeof *shape);
    shape[a->rank] = rows, shape[a->rank + 1] = cols;
    return place_new(a->call->in, t->d, dt, a->rank + more, shape);
}

/* ---- forward ---- */
/* parts: the result, and where `logs` says so lse and rest. */
static void forward(There *t, bool logs, Tensor *parts[3])
{
    Asked *a = &t->a;
    Interp *in = a->call->in;
    parts[0] = new_tensor(t, a->dt, 2, a->job.n, a->job.e);
    for (int i = 1; i < 3 && logs; i++)
        parts[i] = new_tensor(t, a->real, 1, a->job.n, 0);
    move_operands(t);
    if (logs) {
        t->job.lse = place_operand(in, t->d, parts[1]);
        t->job.rest = place_operand(in, t->d, parts[2]);
    }
    t->job.logs = logs;
    run_part(t, ATTENTION_OUT, parts[0]);
}

/* False: it did not run there, and *instead is what the form gives. */
static bool run_forward(OpCall *c, Device *d, bool logs, Tensor *parts[3], Value *instead)
{
    There t;
    *instead = v_undef();
    if (!read_call(&t, c, d, &attention_places))
        return false;
    if (!read_operands(&t)) {
        *instead = form_host(c, d);
        return false;
    }
    tell(&t, false);
    forward(&t, logs, parts);
    return true;
}

Value op_device_attention(OpCall *c, Device *d)
{
    Tensor *parts[3];
    Value instead;
    return run_forward(c, d, false, parts, &instead) ? place_value(c->in, parts[0]) : instead;
}

Value op_device_attention_lse(OpCall *c, Device *d)
{
    Tensor *parts[3];
    Value instead;
    return run_forward(c, d, true, parts, &instead) ? attention_parts(c, false, parts) : instead;
}

/* ---- backward ---- */
/* What attention_lse gave, and the cotangents; `lse` NULL: made anew. Nothing runs here. */
typedef struct Kept { Tensor *out, *lse, *rest, *w_lse; } Kept;

static bool is_real(const Tensor *t)
{
    DType dt = t ? (DType)t->dtype : DT_F32;
    return dt < DT_RATIONAL && dtype_info(dt)->kind != 'c';
}

static bool read_kept(There *t, Kept *kept)
{
    Asked *a = &t->a;
    OpCall *c = a->call;
    Value given = c->args[BACK_KEPT];
    *kept = (Kept){ .out = NULL };
    if (attention_kept(a, given)) {
        Value *part = given.tuple->items;
        kept->out = attention_operand(a, part[0], BACK_KEPT, 2, a->job.e);
        kept->lse = attention_operand(a, part[1], BACK_KEPT, 1, 0);
        kept->rest = attention_operand(a, part[2], BACK_KEPT, 1, 0);
    }
    t->w = attention_operand(a, c->args[BACK_W], BACK_W, 2, a->job.e);
    if (arg_given(c, BACK_LSE))
        kept->w_lse = attention_operand(a, c->args[BACK_LSE], BACK_LSE, 1, 0);
    bool plain = is_real(kept->out) && is_real(kept->rest) && is_real(t->w) &&
                 is_real(kept->w_lse);
    if (!plain)
        place_refuse(c->in, (Lack){ LACK_NO_REALS });
    return plain;
}

/* sum(w out) - w_lse of each query; NULL: refused. */
static Tensor *make_delta(There *t, const Kept *kept)
{
    Asked *a = &t->a;
    Interp *in = a->call->in;
    PlaceNest *n = place_nest_new(in, t->d);
    EwTrouble trouble;
    int64_t shape[TENSOR_RANK_MAX + 1];
    int rank = a->rank + 1;
    memcpy(shape, a->shape, (size_t)a->rank * sizeof *shape);
    shape[a->rank] = a->job.n;
    place_nest_axes(n, rank, shape);
    int k = nest_index(n->nest, "k", a->job.e, 0, 1);
    int x = place_nest_load(n, t->w, tensor_strides(t->w), rank + 1);
    int y = place_nest_load(n, kept->out, tensor_strides(kept->out), rank + 1);
    int sum = nest_reduce(&in->ctx, n->nest, NEST_SUM,
                          place_nest_ew(n, EW_MULTIPLY, a->real, x, y), UINT64_C(1) << k);
    n->nest->root = sum;
    if (kept->w_lse) {
        Tensor *off = kept->w_lse;
        n->nest->root = place_nest_ew(n, EW_SUBTRACT, a->real, sum,
                                      place_nest_load(n, off, tensor_strides(off), rank));
    }
    return place_nest_takes(n) ? place_nest_run(n, rank, shape, &trouble) : NULL;
}

/* g summed over the axes along which an operand was repeated, in that one's shape and the dtype of
 * all; NULL: refused. */
static Tensor *fitted(There *t, Tensor *g, const Tensor *like)
{
    Asked *a = &t->a;
    Interp *in = a->call->in;
    if (g->size == like->size && like->rank && (DType)g->dtype == a->dt)
        return form_reshape(a->call, g, like->rank, tensor_shape(like));
    PlaceNest *n = place_nest_new(in, t->d);
    EwTrouble trouble;
    int64_t stride[NEST_INDICES] = { 0 };
    uint64_t bound = 0;
    int more = g->rank - like->rank;
    place_nest_axes(n, like->rank, tensor_shape(like));
    for (int i = 0; i < g->rank; i++) {
        int64_t long_ = tensor_shape(g)[i];
        int at = i - more;
        if (at < 0 || (tensor_shape(like)[at] == 1 && long_ != 1)) {
            at = nest_index(n->nest, "k", long_, 0, 1);
            bound |= UINT64_C(1) << at;
        }
        stride[at] = tensor_strides(g)[i];
    }
    int x = place_nest_load(n, g, stride, n->nest->indices);
    if (bound)
        x = nest_reduce(&in->ctx, n->nest, NEST_SUM, x, bound);
    n->nest->root = nest_cast(&in->ctx, n->nest, x, a->dt);
    if (!place_nest_takes(n))
        return NULL;
    Tensor *out = place_nest_run(n, like->rank, tensor_shape(like), &trouble);
    if (out->rank == 0)                     /* a number is of the host */
        tensor_home(&in->ctx, out);
    return out;
}

/* Where the gradient of the bias is summed: of a number for all, by queries. */
static Tensor *new_slopes(There *t)
{
    const Tensor *b = t->a.bias;
    int64_t shape[TENSOR_RANK_MAX + 2];
    GpuAttention *job = &t->job;
    int rank = b->rank < 2 ? 2 : b->rank;
    for (int i = 0; i < rank; i++)
        shape[i] = i + b->rank < rank ? 1 : tensor_shape(b)[i + b->rank - rank];
    if (shape[rank - 1] == 1 && shape[rank - 2] == 1)
        shape[rank - 2] = job->n;
    job->rows = shape[rank - 2] == job->n;
    job->cols = shape[rank - 1] == job->m;
    return place_new(t->a.call->in, t->d, t->a.real, rank, shape);
}

static bool make_parts(There *t, Kept *kept, bool slopes, const Tensor *const *like,
                       Tensor *parts[4])
{
    Asked *a = &t->a;
    OpCall *c = a->call;
    GpuAttention *job = &t->job;
    Tensor *delta = make_delta(t, kept);
    if (!delta)
        return false;
    parts[0] = new_tensor(t, a->real, 2, job->n, job->d);
    parts[1] = new_tensor(t, a->real, 2, job->m, job->d);
    parts[2] = new_tensor(t, a->real, 2, job->m, job->e);
    parts[3] = slopes && job->biased == BIAS_ADDS ? new_slopes(t) : NULL;
    kept->lse = form_dense(c, t->d, kept->lse, a->real);
    kept->rest = form_dense(c, t->d, kept->rest, a->real);
    move_operands(t);
    job->lse = place_operand(c->in, t->d, kept->lse);
    job->rest = place_operand(c->in, t->d, kept->rest);
    job->delta = place_operand(c->in, t->d, delta);
    for (int i = 0; i < 4; i++)
        if (parts[i])
            run_part(t, ATTENTION_DQ + (GpuAttentionPart)i, parts[i]);
    for (int i = 0; i < 4; i++)
        if (parts[i] && !(parts[i] = fitted(t, parts[i], like[i])))
            return false;
    return true;
}

Value op_device_attention_back(OpCall *c, Device *d)
{
    There t;
    Kept kept;
    Tensor *parts[4], *again[3];
    if (!read_call(&t, c, d, &attention_back_places) || !read_kept(&t, &kept))
        return v_undef();
    const Tensor *like[4] = { t.a.q, t.a.k, t.a.v, t.a.bias };
    if (!read_operands(&t))
        return form_host(c, d);
    tell(&t, true);
    if (!kept.lse) {
        forward(&t, true, again);
        kept.out = again[0], kept.lse = again[1], kept.rest = again[2];
    }
    bool slopes = arg_given(c, BACK_SLOPES) && arg_bool(c, BACK_SLOPES, false);
    return make_parts(&t, &kept, slopes, like, parts) ? attention_parts(c, true, parts)
                                                      : v_undef();
}
