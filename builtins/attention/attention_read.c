/* The operands of attention: shapes, one dtype, windows, biases, and where each head of each
 * operand starts. */
#include "builtins/attention/attention.h"
#include "core/base/error.h"
#include "interp/state/exec.h"
#include "interp/state/kind.h"
#include "kernels/cast/tensor_cast.h"

#include <math.h>
#include <stdio.h>

const Places attention_places = { 0, 1, 2, 3, 4, 5, 6 };
const Places attention_back_places = { 1, 2, 3, 5, 6, 7, 8 };

static int64_t rows_of(const Tensor *t) { return tensor_shape(t)[t->rank - 2]; }
static int64_t cols_of(const Tensor *t) { return tensor_shape(t)[t->rank - 1]; }

/* ---- errors ---- */
static const char *shape_of(char out[96], const Tensor *t)
{
    return shape_text(out, 96, t->rank, tensor_shape(t));
}

static int operand_of(const OpCall *c, int i)
{
    return c->operand && i < 128 ? c->operand[i] : i;
}

/* `q is 4×8, k 5×7 and v 5×3: …`, two of them underlined; for help a call with one turned over
 * (-1: none). */
_Noreturn static void mismatch(Asked *a, int first, int second, int turned, const char *what)
{
    OpCall *c = a->call;
    const int at[3] = { a->at->q, a->at->k, a->at->v };
    char q[96], k[96], v[96], names[3][96], help[400] = "";
    bool known = true;
    for (int i = 0; i < 3; i++) {
        known &= arg_written(c, at[i]) != NULL;
        snprintf(names[i], sizeof names[i], "%s", arg_text(c, at[i]));
    }
    if (turned >= 0 && known)
        snprintf(help, sizeof help, "%s lie in rows: attention(%s, %s%s, %s%s)",
                 turned == 1 ? "keys" : "values", names[0], names[1], turned == 1 ? "'" : "",
                 names[2], turned == 2 ? "'" : "");
    Error *e = err_new(&c->in->ctx, ERR_SHAPE, "%s: %s is %s, %s is %s and %s is %s: %s",
                       c->op->name, names[0], shape_of(q, a->q), names[1], shape_of(k, a->k),
                       names[2], shape_of(v, a->v), what);
    if (*help)
        err_help(e, "%s", help);
    err_underline(e, operand_of(c, first));
    err_underline(e, operand_of(c, second));
    err_throw(e);
}

static void check_lengths(Asked *a)
{
    const Places *at = a->at;
    char what[160];
    if (cols_of(a->q) != cols_of(a->k)) {
        bool turned = cols_of(a->q) == rows_of(a->k);
        snprintf(what, sizeof what, "the last axes of q and k are %lld and %lld long",
                 (long long)cols_of(a->q), (long long)cols_of(a->k));
        mismatch(a, at->q, at->k, turned ? 1 : -1, what);
    }
    if (rows_of(a->k) != rows_of(a->v)) {
        bool turned = rows_of(a->k) == cols_of(a->v);
        snprintf(what, sizeof what, "there are %lld keys and %lld values",
                 (long long)rows_of(a->k), (long long)rows_of(a->v));
        mismatch(a, at->k, at->v, turned ? 2 : -1, what);
    }
}

static void read_batch(Asked *a)
{
    int64_t both[TENSOR_RANK_MAX];
    int bad, rank = shape_broadcast(a->q->rank - 2, tensor_shape(a->q), a->k->rank - 2,
                                    tensor_shape(a->k), both, &bad);
    if (rank < 0)
        mismatch(a, a->at->q, a->at->k, -1, "the leading axes of q and k do not broadcast");
    a->rank = shape_broadcast(rank, both, a->v->rank - 2, tensor_shape(a->v), a->shape, &bad);
    if (a->rank < 0)
        mismatch(a, a->at->k, a->at->v, -1, "the leading axes of v do not broadcast with these");
    a->job.heads = shape_checked(&a->call->in->ctx, a->rank, a->shape);
}

void attention_bias_fits(Asked *a, int rank, const int64_t *shape)
{
    int64_t scores[TENSOR_RANK_MAX + 2], both[TENSOR_RANK_MAX + 2];
    char given[96], wanted[96];
    int bad, all = a->rank + 2;
    for (int i = 0; i < a->rank; i++)
        scores[i] = a->shape[i];
    scores[a->rank] = a->job.n, scores[a->rank + 1] = a->job.m;
    bool fits = rank <= all && shape_broadcast(rank, shape, all, scores, both, &bad) == all;
    for (int i = 0; fits && i < all; i++)
        fits = both[i] == scores[i];
    if (!fits)
        arg_error(a->call, a->at->bias, ERR_SHAPE, "%s is %s, which does not broadcast to the "
                  "scores, %s: %lld queries by %lld keys", arg_text(a->call, a->at->bias),
                  shape_text(given, sizeof given, rank, shape),
                  shape_text(wanted, sizeof wanted, all, scores), (long long)a->job.n,
                  (long long)a->job.m);
}

/* ---- operands ---- */
static Tensor *real_tensor(OpCall *c, int i)
{
    Tensor *t = arg_tensor(c, i);
    char help[160];
    snprintf(help, sizeof help, "take a part of it: real(%s), imag(%s) or abs(%s)", arg_text(c, i),
             arg_text(c, i), arg_text(c, i));
    if (dtype_info(t->dtype)->kind == 'c')
        arg_error_help(c, i, ERR_DTYPE, help, "%s is %s, and %s takes real numbers", arg_text(c, i),
                       dtype_name((DType)t->dtype), c->op->name);
    return t;
}

static Tensor *matrix(Asked *a, int i)
{
    OpCall *c = a->call;
    Tensor *t = real_tensor(c, i);
    char help[160], fact[96];
    if (t->rank >= 2)
        return t;
    snprintf(help, sizeof help, "as a row: %s[none, :]", arg_text(c, i));
    arg_error_help(c, i, ERR_SHAPE, t->rank == 1 && arg_written(c, i) ? help : NULL,
                   "%s must have a row for each %s: %s %s", arg_name(c, i),
                   i == a->at->q ? "query" : i == a->at->k ? "key" : "value", arg_text(c, i),
                   shape_fact(fact, sizeof fact, t->rank, tensor_shape(t)));
}

static void read_window(Asked *a)
{
    OpCall *c = a->call;
    Attention *job = &a->job;
    int at = a->at->window;
    int64_t all = job->n + job->m, sides[2] = { all, all };
    if (arg_given(c, at) && c->args[at].tag == V_TUPLE) {
        Tuple *pair = c->args[at].tuple;
        if (pair->count != 2)
            arg_error(c, at, ERR_VALUE, "window is an int or a pair (left, right), not %u numbers",
                      (unsigned)pair->count);
        for (int i = 0; i < 2; i++) {
            OpCall one = *c;
            one.args = &pair->items[i] - at;
            if (pair->items[i].tag != V_NONE)
                sides[i] = arg_int(&one, at);
        }
    } else if (arg_given(c, at)) {
        sides[0] = sides[1] = arg_int(c, at);
    }
    if (sides[0] < 0 || sides[1] < 0)
        arg_error(c, at, ERR_VALUE, "a window reaches %lld keys to the %s: it must be 0 or more "
                  "(none: without end)", (long long)(sides[0] < 0 ? sides[0] : sides[1]),
                  sides[0] < 0 ? "left" : "right");
    job->left = sides[0] < all ? sides[0] : all;
    job->right = sides[1] < all ? sides[1] : all;
    if (arg_given(c, a->at->causal) && arg_bool(c, a->at->causal, false))
        job->right = 0;
    job->shift = job->m - job->n;
}

void attention_dtype(Asked *a)
{
    DType dt = dtype_promote((DType)a->q->dtype, (DType)a->k->dtype);
    dt = dt == DT_NONE ? dt : dtype_promote(dt, (DType)a->v->dtype);
    if (a->bias && a->bias->dtype != DT_BOOL && a->call->args[a->at->bias].tag == V_TENSOR)
        dt = dt == DT_NONE ? dt : dtype_promote(dt, (DType)a->bias->dtype);
    char kind = dtype_info(dt)->kind;
    a->dt = kind == 'b' || kind == 'i' ? DT_F64 : dt;
    a->real = dtype_computed(a->dt);
}

static void in_one_dtype(Asked *a)
{
    Tensor **all[] = { &a->q, &a->k, &a->v, &a->bias };
    for (int i = 0; i < 4; i++)
        if (*all[i] && (DType)(*all[i])->dtype != a->dt && (*all[i])->dtype != DT_BOOL)
            *all[i] = op_keep(a->call, tensor_cast(&a->call->in->ctx, *all[i], a->dt));
    for (int i = 0; i < 3; i++)
        if ((*all[i])->dtype == DT_BOOL)
            *all[i] = op_keep(a->call, tensor_cast(&a->call->in->ctx, *all[i], a->dt));
}

static bool takes_two(const FnCode *f)
{
    return f->required <= 2 && (f->params >= 2 || f->rest >= 0);
}

static void read_bias(Asked *a)
{
    OpCall *c = a->call;
    int i = a->at->bias;
    a->function = v_undef();
    if (!arg_given(c, i))
        return;
    if (v_callable(c->in, c->args[i]))
        a->function = c->args[i];
    else
        a->bias = real_tensor(c, i);
    if (a->function.tag == V_FUNCTION && !takes_two(a->function.fn->code))
        arg_error(c, i, ERR_TYPE, "bias is a function of two positions, (i, j) -> …; %s takes %u",
                  arg_text(c, i), (unsigned)a->function.fn->code->params);
}

void attention_sizes(Asked *a, OpCall *c, const Places *at)
{
    *a = (Asked){ .call = c, .at = at };
    Attention *job = &a->job;
    a->q = matrix(a, at->q);
    a->k = matrix(a, at->k);
    a->v = matrix(a, at->v);
    check_lengths(a);
    read_batch(a);
    job->n = rows_of(a->q), job->m = rows_of(a->k);
    job->d = cols_of(a->q), job->e = cols_of(a->v);
    job->scale = arg_given(c, at->scale) ? arg_float(c, at->scale) : 1 / sqrt((double)job->d);
    read_window(a);
    read_bias(a);
    if (a->bias)
        attention_bias_fits(a, a->bias->rank, tensor_shape(a->bias));
}

void attention_read(Asked *a, OpCall *c, const Places *at)
{
    Attention *job = &a->job;
    attention_sizes(a, c, at);
    attention_dtype(a);
    in_one_dtype(a);
    job->dt = job->bias_dt = a->dt;
    job->q = attention_mat(a, a->q, 2);
    job->k = attention_mat(a, a->k, 2);
    job->v = attention_mat(a, a->v, 2);
    if (a->bias) {
        job->biased = a->bias->dtype == DT_BOOL ? BIAS_BOOL : BIAS_ADDS;
        job->bias = attention_mat(a, a->bias, 2);
    }
}

/* ---- heads ---- */
Tensor *attention_new(Asked *a, DType dt, int more, int64_t rows, int64_t cols, bool zeros)
{
    Ctx *ctx = &a->call->in->ctx;
    int64_t shape[TENSOR_RANK_MAX + 2];
    for (int i = 0; i < a->rank; i++)
        shape[i] = a->shape[i];
    shape[a->rank] = rows, shape[a->rank + 1] = cols;
    return op_keep(a->call, zeros ? tensor_zeros(ctx, dt, a->rank + more, shape)
                                  : tensor_new(ctx, dt, a->rank + more, shape));
}

AttentionMat attention_mat(Asked *a, Tensor *t, int more)
{
    int64_t count = a->job.heads, own = t->rank - more;
    Tensor *list = op_keep(a->call, tensor_new(&a->call->in->ctx, DT_I64, 1, &count));
    int64_t *at = (int64_t *)list->data;
    const int64_t *shape = tensor_shape(t), *step = tensor_strides(t);
    for (int64_t h = 0; h < count; h++) {
        int64_t rest = h;
        at[h] = 0;
        for (int64_t i = a->rank - 1, k = own - 1; i >= 0 && k >= 0; i--, k--) {
            if (shape[k] > 1)
                at[h] += rest % a->shape[i] * step[k];
            rest /= a->shape[i];
        }
    }
    AttentionMat m = { .data = t->data, .at = at };
    int last = t->rank - 1;
    if (more == 1)
        m.row = step[last];
    else if (last >= 0)
        m.col = shape[last] > 1 ? step[last] : 0;
    if (more == 2 && last >= 1)
        m.row = shape[last - 1] > 1 ? step[last - 1] : 0;
    return m;
}
