/* Attention by tiles. A bias that is a function of the positions is computed for a slab of queries
 * at a time, which the tiles then take as a tensor. */
#include "builtins/attention/attention.h"
#include "core/base/error.h"
#include "core/memory/pool.h"
#include "interp/eval/call.h"
#include "interp/gradient/gradient.h"
#include "interp/op/arith.h"
#include "interp/op/heard.h"
#include "interp/state/kind.h"
#include "kernels/cast/tensor_cast.h"

#include <string.h>

/* Positions for which a bias function is called at once. */
enum { SLAB = 1 << 20 };

/* From so many multiply-adds on threads are worth waking. */
enum { FEW = 1 << 16 };

typedef void (*Tiles)(Ctx *, const Attention *, int threads, char *memory);

typedef struct Run {
    Asked *a;
    Tiles tiles;
    int threads;
    Tensor *memory;
} Run;

static double pairs_of(const Asked *a)
{
    return (double)a->job.heads * (double)a->job.n * (double)a->job.m;
}

/* Forward a product by k and one by v; backward five. */
static double work_of(const Asked *a, bool back, double pairs)
{
    double d = (double)a->job.d, e = (double)a->job.e;
    return 2 * pairs * (back ? 3 * d + 2 * e : d + e);
}

void attention_tell(const Asked *a, bool back, int queries, int keys, int64_t bytes,
                    const char *of)
{
    Interp *in = a->call->in;
    char text[64];
    if (!heard_on(in))
        return;
    heard_kernel(in, back ? "tiled attention, backward" : "tiled attention", NULL);
    attention_text(text, sizeof text, queries, keys, bytes);
    explain_note(in, "attention", "%s%s", text, of);
    explain_flops(in, work_of(a, back, attention_pairs(&a->job)), NULL);
}

static Run run_begin(Asked *a, bool back)
{
    OpCall *c = a->call;
    Run r = { .a = a, .tiles = back ? attention_back : attention_run };
    r.threads = work_of(a, back, pairs_of(a)) < FEW ? 1 : pool_threads(&c->in->ctx);
    int64_t bytes = back ? attention_back_bytes(&a->job, r.threads)
                         : attention_bytes(&a->job, r.threads);
    r.memory = op_keep(c, tensor_new(&c->in->ctx, DT_U8, 1, &bytes));
    attention_tell(a, back, ATTENTION_QUERIES, ATTENTION_KEYS, bytes, "");
    return r;
}

/* ---- a bias that is a function ---- */
static Tensor *positions(OpCall *c, int rank, int64_t from, int64_t count)
{
    int64_t shape[2] = { count, 1 };
    Tensor *t = op_keep(c, tensor_new(&c->in->ctx, DT_I64, rank, shape));
    for (int64_t i = 0; i < count; i++)
        ((int64_t *)t->data)[i] = from + i;
    return t;
}

/* What the function gives for queries [i0, i1) and keys [j0, j1), as a tensor; kept. */
static Tensor *call_bias(Asked *a, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    OpCall *c = a->call;
    Value args[2] = { v_tensor_raw(positions(c, 2, i0, i1 - i0)),
                      v_tensor_raw(positions(c, 1, j0, j1 - j0)) };
    const Exec *at = c->in->at;
    OpCall one = *c;
    one.args = (Value[]){ op_root(c, call_value(c->in, a->function, args, 2)) };
    one.count = 1;
    c->in->at = at;
    if (one.args[0].tag == V_TRACED)
        grad_raise(c->in, NULL,
                   "a bias that is a tensor has one: of i = arange(n)[:, none] and j = arange(m)",
                   "attention has no derivative by what a bias function captured");
    char shape[96], given[96];
    Value v = one.args[0];
    if (!v_is_numeric(v) || dtype_info(v_dtype(v))->kind == 'c')
        arg_error(c, a->at->bias, ERR_TYPE,
                  "the bias of positions is real numbers or bools, not %s",
                  v_article(v, given, sizeof given));
    Tensor *t = arg_tensor(&one, 0);
    int64_t both[TENSOR_RANK_MAX], slab[2] = { i1 - i0, j1 - j0 };
    int bad;
    bool fits = t->rank <= 2 &&
                shape_broadcast(t->rank, tensor_shape(t), 2, slab, both, &bad) == 2 &&
                both[0] == slab[0] && both[1] == slab[1];
    if (!fits)
        arg_error(c, a->at->bias, ERR_SHAPE, "the bias function gave %s for positions i, %lld×1, "
                  "and j, %lld: one number for each pair is wanted",
                  shape_text(shape, sizeof shape, t->rank, tensor_shape(t)), (long long)slab[0],
                  (long long)slab[1]);
    if (t->dtype != DT_BOOL && (DType)t->dtype != a->real)
        t = op_keep(c, tensor_cast(&c->in->ctx, t, a->real));
    return t;
}

static void move(AttentionMat *m, int64_t rows, DType dt)
{
    if (m->data)
        m->data += rows * m->row * dtype_info(dt)->bytes;
}

/* The job of queries [i0, i1), which see keys [j0, j1) alone. */
static Attention slab_of(const Asked *a, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    Attention job = a->job;
    move(&job.q, i0, job.dt);
    move(&job.out, i0, job.dt);
    move(&job.w, i0, job.dt);
    move(&job.lse, i0, a->real);
    move(&job.rest, i0, a->real);
    move(&job.w_lse, i0, a->real);
    move(&job.dq, i0, a->real);
    move(&job.k, j0, job.dt);
    move(&job.v, j0, job.dt);
    move(&job.dk, j0, a->real);
    move(&job.dv, j0, a->real);
    job.n = i1 - i0, job.m = j1 - j0;
    job.shift += i0 - j0;
    return job;
}

static void run_slab(Run *r, int64_t i0, int64_t i1)
{
    Asked *a = r->a;
    Ctx *ctx = &a->call->in->ctx;
    Value *mark = a->call->in->sp;
    int64_t low = i0 + a->job.shift - a->job.left, high = i1 + a->job.shift + a->job.right;
    low = low < 0 ? 0 : low > a->job.m ? a->job.m : low;
    high = high > a->job.m ? a->job.m : high < low ? low : high;
    Attention job = slab_of(a, i0, i1, low, high);
    if (low < high) {
        Tensor *bias = call_bias(a, i0, i1, low, high);
        job.biased = bias->dtype == DT_BOOL ? BIAS_BOOL : BIAS_ADDS;
        job.bias_dt = a->real;
        job.bias = attention_mat(a, bias, 2);
    }
    r->tiles(ctx, &job, r->threads, r->memory->data);
    stack_cut(a->call->in, mark);
}

static void run_all(Run *r)
{
    Asked *a = r->a;
    Ctx *ctx = &a->call->in->ctx;
    int64_t rows = a->job.m ? SLAB / a->job.m / 16 * 16 : a->job.n;
    rows = rows < 16 ? 16 : rows;
    if (a->function.tag == V_UNDEF)
        r->tiles(ctx, &a->job, r->threads, r->memory->data);
    for (int64_t i = 0; i < a->job.n && a->function.tag != V_UNDEF; i += rows) {
        run_slab(r, i, i + rows < a->job.n ? i + rows : a->job.n);
        poll_interrupt(a->call->in);
    }
    poll_interrupt(a->call->in);
}

/* ---- forward ---- */
static Tensor *forward(Asked *a, Tensor **lse, Tensor **rest)
{
    Tensor *out = attention_new(a, a->dt, 2, a->job.n, a->job.e, false);
    a->job.out = attention_mat(a, out, 2);
    if (lse) {
        *lse = attention_new(a, a->real, 1, a->job.n, 0, false);
        *rest = attention_new(a, a->real, 1, a->job.n, 0, false);
        a->job.lse = attention_mat(a, *lse, 1);
        a->job.rest = attention_mat(a, *rest, 1);
    }
    Run r = run_begin(a, false);
    run_all(&r);
    return out;
}

Value op_run_attention(OpCall *c)
{
    Asked a;
    attention_read(&a, c, &attention_places);
    return op_result(c, forward(&a, NULL, NULL));
}

static const char *const forward_names[] = { "result", "lse", "rest" };
static const char *const back_names[] = { "q", "k", "v", "bias" };

Value attention_parts(OpCall *c, bool back, Tensor *const *parts)
{
    const char *const *names = back ? back_names : forward_names;
    int n = back ? 4 : 3;
    Tuple *t = tuple_new(&c->in->ctx, (uint64_t)n);
    Value r = op_root(c, v_tuple(t));
    for (int i = 0; i < n; i++) {
        t->items[i] = parts[i] ? v_tensor(&c->in->ctx, tensor_retain(parts[i])) : v_none();
        tuple_name(&c->in->ctx, t, (uint32_t)i,
                   names_intern(&c->in->names, names[i], strlen(names[i])));
    }
    return v_retain(r);
}

Value op_run_attention_lse(OpCall *c)
{
    Asked a;
    Tensor *parts[3];
    attention_read(&a, c, &attention_places);
    parts[0] = forward(&a, &parts[1], &parts[2]);
    return attention_parts(c, false, parts);
}

/* ---- backward ---- */
Tensor *attention_operand(Asked *a, Value v, int i, int more, int64_t cols)
{
    OpCall one = *a->call;
    char given[96], wanted[96];
    int64_t shape[TENSOR_RANK_MAX + 2];
    one.args = &v - i;
    Tensor *t = arg_tensor(&one, i);
    for (int k = 0; k < a->rank; k++)
        shape[k] = a->shape[k];
    shape[a->rank] = a->job.n, shape[a->rank + 1] = cols;
    bool same = t->rank == a->rank + more;
    for (int k = 0; same && k < t->rank; k++)
        same = tensor_shape(t)[k] == shape[k];
    if (!same)
        arg_error(a->call, i, ERR_SHAPE, "%s is %s, where attention gives %s",
                  arg_text(a->call, i), shape_text(given, sizeof given, t->rank, tensor_shape(t)),
                  shape_text(wanted, sizeof wanted, a->rank + more, shape));
    return t;
}

/* The same in a dtype; kept. */
static Tensor *back_operand(Asked *a, Value v, int i, int more, int64_t cols, DType dt)
{
    Tensor *t = attention_operand(a, v, i, more, cols);
    return (DType)t->dtype == dt ? t : op_keep(a->call, tensor_cast(&a->call->in->ctx, t, dt));
}

bool attention_kept(Asked *a, Value kept)
{
    if (kept.tag != V_TUPLE || kept.tuple->count != 3)
        arg_error(a->call, BACK_KEPT, ERR_TYPE,
                  "kept is what attention_lse gives, (result=, lse=, rest=)");
    Value lse = kept.tuple->items[1];
    return lse.tag == V_TENSOR && (DType)lse.tensor->dtype == a->real;
}

static void read_kept(Asked *a)
{
    Value kept = a->call->args[BACK_KEPT];
    if (attention_kept(a, kept)) {
        Value lse = kept.tuple->items[1], rest = kept.tuple->items[2];
        Tensor *out = back_operand(a, kept.tuple->items[0], BACK_KEPT, 2, a->job.e, a->dt);
        a->job.out = attention_mat(a, out, 2);
        a->job.lse = attention_mat(a, back_operand(a, lse, BACK_KEPT, 1, 0, a->real), 1);
        a->job.rest = attention_mat(a, back_operand(a, rest, BACK_KEPT, 1, 0, a->real), 1);
        return;
    }
    Tensor *log_again, *rest_again;
    forward(a, &log_again, &rest_again);
}

/* Where the gradient of the bias is summed: of a number for all, by queries. */
static Tensor *bias_slopes(Asked *a)
{
    Tensor *b = a->bias;
    int64_t shape[TENSOR_RANK_MAX + 2];
    int rank = b->rank < 2 ? 2 : b->rank;
    for (int i = 0; i < rank; i++)
        shape[i] = i + b->rank < rank ? 1 : tensor_shape(b)[i + b->rank - rank];
    if (shape[rank - 1] == 1 && shape[rank - 2] == 1)
        shape[rank - 2] = a->job.n;
    return op_keep(a->call, tensor_zeros(&a->call->in->ctx, a->real, rank, shape));
}

static Value call_row(OpCall *c, const char *row, Value x, Value y, Value z, int n)
{
    Value args[3] = { x, y, z };
    return op_root(c, op_call(c->in, op_named(c->in, row), args, n, 0));
}

/* g summed over the axes along which an operand was repeated, in that one's shape and dtype. */
static Tensor *fitted(Asked *a, Tensor *g, const Tensor *like, DType dt)
{
    OpCall *c = a->call;
    Ctx *ctx = &c->in->ctx;
    Value *list = c->in->sp;
    op_root(c, v_tuple(tuple_new(ctx, 0)));
    int more = g->rank - like->rank;
    for (int i = 0; i < g->rank; i++)
        if (i < more || (tensor_shape(like)[i - more] == 1 && tensor_shape(g)[i] != 1))
            tuple_push(ctx, &list->tuple, NULL, v_int(i));
    Value sum = v_tensor_raw(g);
    if (list->tuple->count)
        sum = call_row(c, "sum", sum, *list, v_bool(true), 3);
    if (sum.tag != V_TENSOR)
        sum = v_tensor_raw(op_keep(c, tensor_scalar(ctx, DT_F64, &sum.f)));
    Tensor *t = op_keep(c, tensor_compact(ctx, sum.tensor));
    int64_t steps[TENSOR_RANK_MAX], step = 1;
    for (int i = like->rank - 1; i >= 0; i--) {
        steps[i] = step;
        step *= tensor_shape(like)[i];
    }
    t = op_keep(c, tensor_view(ctx, t, like->rank, tensor_shape(like), steps, t->data));
    return (DType)t->dtype == dt ? t : op_keep(c, tensor_cast(ctx, t, dt));
}

Value op_run_attention_back(OpCall *c)
{
    Asked a;
    attention_read(&a, c, &attention_back_places);
    Attention *job = &a.job;
    Tensor *parts[4] = { attention_new(&a, a.real, 2, job->n, job->d, true),
                         attention_new(&a, a.real, 2, job->m, job->d, true),
                         attention_new(&a, a.real, 2, job->m, job->e, true), NULL };
    bool slopes = arg_given(c, BACK_SLOPES) && arg_bool(c, BACK_SLOPES, false);
    read_kept(&a);
    job->w = attention_mat(&a, back_operand(&a, c->args[BACK_W], BACK_W, 2, job->e, a.dt), 2);
    if (arg_given(c, BACK_LSE))
        job->w_lse = attention_mat(&a, back_operand(&a, c->args[BACK_LSE], BACK_LSE, 1, 0, a.real),
                                   1);
    job->dq = attention_mat(&a, parts[0], 2);
    job->dk = attention_mat(&a, parts[1], 2);
    job->dv = attention_mat(&a, parts[2], 2);
    if (slopes && a.bias && job->biased == BIAS_ADDS) {
        parts[3] = bias_slopes(&a);
        job->dbias = attention_mat(&a, parts[3], 2);
        job->in_turn = true;
    }
    Run r = run_begin(&a, true);
    run_all(&r);
    const Tensor *like[4] = { a.q, a.k, a.v, a.bias };
    for (int i = 0; i < 4; i++)
        if (parts[i])
            parts[i] = fitted(&a, parts[i], like[i], a.dt);
    return attention_parts(c, true, parts);
}
