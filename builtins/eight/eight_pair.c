/* Two tensors laid out as stacks of matrices, rounded and multiplied (eight_pair.h). */
#include "builtins/eight/eight_pair.h"

#include "core/base/error.h"
#include "interp/op/heard.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/eight/eight.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- operands ---- */

Tensor *eight_float(OpCall *c, Tensor *t)
{
    DType dt = (DType)t->dtype;
    if (dt == DT_F32 || dt == DT_F64)
        return t;
    bool single = dtype_info(dt)->kind == 'f' && dtype_promote(dt, DT_F32) == DT_F32;
    return op_keep(c, tensor_cast(&c->in->ctx, t, single ? DT_F32 : DT_F64));
}

static EightType type_of(const Tensor *t) { return t->dtype == DT_F32 ? EIGHT_F32 : EIGHT_F64; }

static _Noreturn void not_finite(OpCall *c, int arg, const Tensor *t)
{
    char help[200];
    bool nan = false;
    if (arg < 0)
        err_raise_help(&c->in->ctx, ERR_VALUE, "autocast bf16 { … } has room for it",
                       "%s: in autocast i8 a product of the first factors is infinite",
                       c->op->name);
    Tensor *wide = op_keep(c, tensor_cast(&c->in->ctx, (Tensor *)t, DT_F64));
    wide = op_keep(c, tensor_compact(&c->in->ctx, wide));
    for (int64_t i = 0; i < wide->size; i++)
        nan |= isnan(((const double *)(const void *)wide->data)[i]);
    const char *name = arg_written(c, arg), *what = nan ? "nan" : "inf";
    if (!name)                                          /* index notation */
        err_raise_help(&c->in->ctx, ERR_VALUE, "where(isfinite(x), x, 0) leaves it out of x; "
                       "autocast bf16 { … } takes it", "factor %d of this product has %s, which in "
                       "autocast i8 no 8 bits hold", arg - c->fixed + 1, what);
    snprintf(help, sizeof help, "where(isfinite(%s), %s, 0) leaves it out; autocast bf16 { … } "
             "takes it", name, name);
    arg_error_help(c, arg, ERR_VALUE, help,
                   "in autocast i8 %s has %s among its %lld elements, which no 8 bits hold",
                   arg_text(c, arg), what, (long long)t->size);
}

/* ---- stacks of matrices ---- */

static void *room(OpCall *c, size_t count, size_t each)
{
    int64_t bytes = (int64_t)mem_mul(&c->in->ctx, count, each);
    return op_keep(c, tensor_new(&c->in->ctx, DT_U8, 1, &bytes))->data;
}

typedef struct Group {
    int label[EIGHT_LABELS], count;
    int64_t size;
} Group;

static Group group_of(int labels, const int64_t *extent, uint64_t which)
{
    Group g = { .size = 1 };
    for (int l = 0; l < labels; l++)
        if (which >> l & 1) {
            g.label[g.count++] = l;
            g.size *= extent[l];
        }
    return g;
}

/* The step from one element of a group to the next; false: there is no such. */
static bool even_step(const Group *g, const int64_t *extent, const int64_t *stride, int64_t *step)
{
    int64_t next = 0;
    *step = 1;
    for (int i = g->count - 1; i >= 0; i--) {
        int l = g->label[i];
        if (i == g->count - 1)
            *step = stride[l];
        else if (stride[l] != next)
            return false;
        next = stride[l] * extent[l];
    }
    return true;
}

/* Where the elements of a group lie, in its order. */
static int64_t *places_of(OpCall *c, const Group *g, const int64_t *extent, const int64_t *stride)
{
    int64_t *at = room(c, (size_t)g->size, sizeof *at), size = 1;
    at[0] = 0;
    for (int i = 0; i < g->count; i++) {        /* every one so far becomes as many as i has */
        int64_t n = extent[g->label[i]], step = stride[g->label[i]];
        for (int64_t k = size - 1; k >= 0; k--)
            for (int64_t q = n - 1; q >= 0; q--)
                at[k * n + q] = at[k] + q * step;
        size *= n;
    }
    return at;
}

typedef struct Stack {
    Tensor *t;
    const int64_t *stride;              /* of batches */
    int64_t lines, depth;               /* steps from row to row, or column to column; within one */
    const int64_t *line_at, *depth_at;  /* their places, where they do not go by steps */
} Stack;

static Stack stack_of(OpCall *c, const EightFactor *f, const int64_t *extent, const Group *lines,
                      const Group *depth)
{
    Stack s = { .t = f->t, .stride = f->stride };
    if (even_step(lines, extent, f->stride, &s.lines) &&
        even_step(depth, extent, f->stride, &s.depth))
        return s;
    s.line_at = places_of(c, lines, extent, f->stride);
    s.depth_at = places_of(c, depth, extent, f->stride);
    return s;
}

static int64_t batch_offset(const Group *batch, const int64_t *extent, const int64_t *stride,
                            int64_t at)
{
    int64_t offset = 0;
    for (int i = batch->count - 1; i >= 0; i--) {
        offset += at % extent[batch->label[i]] * stride[batch->label[i]];
        at /= extent[batch->label[i]];
    }
    return offset;
}

/* Lines as rows. */
static EightMat matrix_at(const Stack *s, int64_t offset)
{
    return (EightMat){ s->t->data + offset * dtype_info((DType)s->t->dtype)->bytes, s->lines,
                       s->depth, type_of(s->t), s->line_at, s->depth_at };
}

typedef struct Product {
    Group batch, rows, columns, depth;
    Stack a, b;
    int arg[2];
} Product;

static void run_stack(OpCall *c, const Product *p, const int64_t *extent, Tensor *out)
{
    Ctx *ctx = &c->in->ctx;
    int64_t m = p->rows.size, n = p->columns.size, k = p->depth.size;
    double *row = room(c, (size_t)m + 1, sizeof *row);
    double *column = room(c, (size_t)n + 1, sizeof *column);
    char *memory = room(c, eight_scaled_bytes(m, n, k), 1);
    EightScales scales = { row, column, NULL, NULL };
    for (int64_t i = 0; i < p->batch.size && !*ctx->interrupt; i++) {
        int64_t at_a = batch_offset(&p->batch, extent, p->a.stride, i);
        int64_t at_b = batch_offset(&p->batch, extent, p->b.stride, i);
        EightMat a = matrix_at(&p->a, at_a), b = matrix_at(&p->b, at_b);
        if (!eight_row_scales(ctx, m, k, a, row))
            not_finite(c, p->arg[0], p->a.t);
        if (!eight_row_scales(ctx, n, k, b, column))
            not_finite(c, p->arg[1], p->b.t);
        eight_scaled(ctx, m, n, k, a, eight_turned(b), &scales,
                     (float *)(void *)out->data + i * m * n, memory);
    }
    poll_interrupt(c->in);
}

/* The factor with what only it has and nobody keeps added up before, in f64 and in order. */
static const EightFactor *summed_alone(OpCall *c, int labels, const int64_t *extent,
                                       const EightFactor *f, uint64_t others, EightFactor *to)
{
    Ctx *ctx = &c->in->ctx;
    Group kept = group_of(labels, extent, f->labels & others);
    Group alone = group_of(labels, extent, f->labels & ~others);
    int64_t shape[TENSOR_RANK_MAX];
    int label[TENSOR_RANK_MAX], rank = 0;
    if (!alone.count)
        return f;
    for (int i = 0; i < kept.count; i++)
        label[rank++] = kept.label[i];
    for (int i = 0; i < alone.count; i++)
        label[rank++] = alone.label[i];
    for (int d = 0; d < rank; d++)
        shape[d] = extent[label[d]];
    Tensor *t = eight_laid(c, f, rank, shape, label);
    t = op_keep(c, tensor_cast(ctx, t, DT_F64));
    Tensor *sums = op_keep(c, tensor_zeros(ctx, DT_F64, 1, &kept.size));
    const double *x = (const double *)(const void *)t->data;
    for (int64_t i = 0; i < kept.size && !*ctx->interrupt; i++)
        for (int64_t k = 0; k < alone.size; k++)
            ((double *)(void *)sums->data)[i] += *x++;
    *to = (EightFactor){ .t = sums, .labels = f->labels & others, .arg = f->arg };
    for (int64_t i = kept.count - 1, step = 1; i >= 0; i--) {
        to->stride[kept.label[i]] = step;
        step *= extent[kept.label[i]];
    }
    return to;
}

void eight_pair(OpCall *c, int labels, const int64_t *extent, const EightFactor *a,
                const EightFactor *b, uint64_t out, int last, EightFactor *product)
{
    Ctx *ctx = &c->in->ctx;
    EightFactor sums[2];
    uint64_t in_b = b->labels;
    b = summed_alone(c, labels, extent, b, a->labels | out, &sums[1]);
    a = summed_alone(c, labels, extent, a, in_b | out, &sums[0]);
    uint64_t columns = out & b->labels & ~a->labels, rows = out & a->labels & ~b->labels;
    bool turn = (last >= 0 && rows >> last & 1) || (rows && !columns);     /* a vector is a row */
    if (turn) {
        const EightFactor *swap = a;
        a = b;
        b = swap;
    }
    Product p = { .arg = { a->arg, b->arg } };
    p.batch = group_of(labels, extent, a->labels & b->labels & out);
    p.rows = group_of(labels, extent, a->labels & ~b->labels & out);
    p.columns = group_of(labels, extent, b->labels & ~a->labels & out);
    p.depth = group_of(labels, extent, a->labels & b->labels & ~out);
    int64_t size = (int64_t)mem_mul(ctx, mem_mul(ctx, (size_t)p.batch.size, (size_t)p.rows.size),
                                    (size_t)p.columns.size), step = 1;
    bool some = size && p.depth.size;
    Tensor *to = op_keep(c, (some ? tensor_new : tensor_zeros)(ctx, DT_F32, 1, &size));
    if (some) {
        p.a = stack_of(c, a, extent, &p.rows, &p.depth);
        p.b = stack_of(c, b, extent, &p.columns, &p.depth);
        run_stack(c, &p, extent, to);
    }
    *product = (EightFactor){ .t = to, .labels = out & (a->labels | b->labels), .arg = -1 };
    const Group *const groups[3] = { &p.columns, &p.rows, &p.batch };
    for (int g = 0; g < 3; g++)
        for (int i = groups[g]->count - 1; i >= 0; i--) {
            product->stride[groups[g]->label[i]] = step;
            step *= extent[groups[g]->label[i]];
        }
    explain_flops(c->in, 2.0 * (double)size * (double)p.depth.size, NULL);
}

Tensor *eight_laid(OpCall *c, const EightFactor *f, int rank, const int64_t *shape,
                   const int *label)
{
    int64_t strides[TENSOR_RANK_MAX];
    for (int d = 0; d < rank; d++)
        strides[d] = label[d] < 0 ? 0 : f->stride[label[d]];
    Tensor *view = op_keep(c, tensor_view(&c->in->ctx, f->t, rank, shape, strides, f->t->data));
    return op_keep(c, tensor_compact(&c->in->ctx, view));
}

/* ---- lanes ---- */

Tensor *eight_lanes(OpCall *c, int arg, Tensor *x, int core, const double **scale)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *t = op_keep(c, tensor_compact(ctx, eight_float(c, x)));
    int64_t lanes = 1, length = 1;
    for (int d = 0; d < t->rank; d++)
        *(d < t->rank - core ? &lanes : &length) *= tensor_shape(t)[d];
    double *s = room(c, (size_t)lanes + 1, sizeof *s);
    EightMat rows = { t->data, length, 1, type_of(t) };
    Tensor *q = op_keep(c, tensor_new(ctx, DT_I8, t->rank, tensor_shape(t)));
    if (!eight_row_scales(ctx, lanes, length, rows, s))
        not_finite(c, arg, t);
    eight_round_rows(ctx, lanes, length, rows, s, (int8_t *)q->data);
    poll_interrupt(c->in);
    *scale = s;
    return q;
}

void eight_told(OpCall *c)
{
    if (heard_on(c->in))
        explain_routine(c->in, eight_routine(), NULL, "%s i8 dynamic: %s, exact sums, scales per "
                        "row and column", c->op->name, eight_routine());
}
