/* Where solve, inv and det meet a batch of small matrices: the layout of the batch for
 * kernels/gemm/small.h, which computes several matrices at a time. What it leaves undone (zero
 * pivots, matrices near to singular, NaN) the rows in linalg_solve.c compute by LAPACK,
 * item by item, so that errors and notices are those of a single matrix. */
#include "builtins/linalg/linalg.h"
#include "kernels/gemm/small.h"

#include <string.h>

/* Steps of an operand over the axes of the batch, 0 where it is repeated. */
static void batch_steps(const GemmBatch *batch, const Tensor *t, int own_rank, int64_t *steps)
{
    const int64_t *shape = tensor_shape(t), *strides = tensor_strides(t);
    for (int d = 0; d < batch->rank; d++) {
        int own = d - (batch->rank - own_rank);
        steps[d] = own < 0 || shape[own] == 1 ? 0 : strides[own];
    }
}

/* Axes of the result, whose blocks of `block` elements follow each other. */
static GemmBatch batch_of(int rank, const int64_t *extent, int64_t count, int64_t block)
{
    GemmBatch batch = { .rank = rank, .count = count };
    for (int d = rank - 1; d >= 0; d--) {
        batch.extent[d] = extent[d];
        batch.c[d] = block;
        block *= extent[d];
    }
    return batch;
}

static Mat stack_mat(const Stack *a)
{
    return (Mat){ a->t->data, a->rs, a->cs };
}

static GemmBatch stack_batch(const Stack *a, int64_t block)
{
    GemmBatch batch = batch_of(a->batch_rank, tensor_shape(a->t), a->count, block);
    batch_steps(&batch, a->t, a->batch_rank, batch.a);
    return batch;
}

/* Flags for `count` results, NULL where the kernels are not to run. */
static uint8_t *flags_for(const Stack *a, int64_t count)
{
    return small_lu_pays(a->n, count) ? linalg_work(a->call, (size_t)count, 1) : NULL;
}

const uint8_t *linalg_small_solve(const Stack *a, const Rhs *r, const Out *x)
{
    uint8_t *done = flags_for(a, r->count);
    if (!done)
        return NULL;
    GemmBatch batch = batch_of(r->out_rank, r->batch, r->count, a->n * r->cols);
    batch_steps(&batch, a->t, a->batch_rank, batch.a);
    batch_steps(&batch, r->t, r->batch_rank, batch.b);
    small_solve(&a->call->in->ctx, a->dt, a->n, r->cols, stack_mat(a),
                (Mat){ r->t->data, r->rs, r->cs }, mat_columns(x->data, a->n), &batch,
                linalg_rcond_limit(a->type), done);
    poll_interrupt(a->call->in);
    return done;
}

const uint8_t *linalg_small_inverse(const Stack *a, const Out *x)
{
    uint8_t *done = flags_for(a, a->count);
    if (!done)
        return NULL;
    GemmBatch batch = stack_batch(a, a->n * a->n);
    small_inverse(&a->call->in->ctx, a->dt, a->n, stack_mat(a), (Mat){ x->data, a->n, 1 }, &batch,
                  linalg_rcond_limit(a->type), done);
    poll_interrupt(a->call->in);
    return done;
}

const uint8_t *linalg_small_det(const Stack *a, const Out *x)
{
    /* Determinants of ints have an exact way of their own. */
    bool exact = strchr("bi", dtype_info(a->given)->kind) != NULL;
    uint8_t *done = exact ? NULL : flags_for(a, a->count);
    if (!done)
        return NULL;
    GemmBatch batch = stack_batch(a, 1);
    small_det(&a->call->in->ctx, a->dt, a->n, stack_mat(a), (Mat){ x->data, 1, 1 }, &batch, done);
    poll_interrupt(a->call->in);
    return done;
}
