/* A reduction of a chain: sum(x*x), max(abs(x - y)), count(x > 0). Its elements are made block by
 * block where they are folded, with the bits and the cuts of a reduction of the tensor that they
 * would be, and no such tensor is there. */
#include "interp/fuse/fuse.h"

#include "core/base/error.h"
#include "core/memory/pool.h"
#include "kernels/plan/plan.h"
#include "kernels/reduce/reduce.h"

enum {
    LEAST = 1 << 18,            /* elements: below, the cache has a tensor as well … */
    LEAST_SWEPT = 1 << 15,      /* … if they do not stay in registers */
    SHARE = 1 << 17             /* what a thread takes at least, be the chain as dear as it may */
};

#define DEAR 200e-6             /* seconds, from which on all threads are to work */

typedef struct Folded {
    RedBlocks blocks;           /* first */
    NestRows *rows;
} Folded;

static void make(RedBlocks *blocks, int64_t from, int64_t to, int worker, void *at)
{
    if (nest_rows_make(((Folded *)blocks)->rows, from, to, worker, at) != EWT_NONE)
        blocks->failed = true;
}

/* Where the values are floats of the accumulator's dtype, as they leave the chain's registers. */
static bool fold_them(RedBlocks *blocks, int fold, int64_t from, int64_t to, int64_t each,
                      int worker, void *acc)
{
    NestReduce op = fold == FOLD_SUM ? NEST_SUM : fold == FOLD_MIN ? NEST_MIN : NEST_MAX;
    return (fold == FOLD_SUM || fold == FOLD_MIN || fold == FOLD_MAX) &&
           nest_rows_fold(((Folded *)blocks)->rows, op, from, to, each, worker, acc);
}

/* V_UNDEF: the operation wants a tensor, or one of the chain has a notice to give. */
static Value fold(Interp *in, const Exec *x, const Op *op, const Lazy *z)
{
    Ctx *ctx = &in->ctx;
    FuseRun run;
    ErrFrame frame;
    if (!op->blocks || z->head.size < (op->folds ? LEAST_SWEPT : LEAST))
        return v_undef();
    fuse_plan(in, z, &run);
    if ((z->head.size < LEAST && !nest_rows_swept(run.plan)) ||
        !nest_has_rows(run.plan, z->head.size) ||
        (nest_seconds(run.plan) > DEAR && z->head.size / SHARE < pool_threads(ctx)))
        return v_undef();
    Folded f = { .blocks = { .make = make, .fold = fold_them },
                 .rows = nest_rows_begin(ctx, run.plan, z->head.size, NULL, run.data) };
    in->at = x;
    if (ERR_TRY(ctx, &frame)) {
        Value r = op_call_blocks(in, op, v_tensor_raw((Tensor *)&z->head), &f.blocks);
        ERR_END(ctx, &frame);
        nest_rows_end(ctx, f.rows);
        poll_interrupt(in);
        return r;
    }
    nest_rows_end(ctx, f.rows);
    err_rethrow(ctx);
}

bool fuse_fold(Interp *in, const Exec *x, const Op *op, Value *args, int count, Value *result)
{
    const Lazy *z = lazy_of(args[0]);
    Value r = count == 1 ? fold(in, x, op, z) : v_undef();
    if (r.tag == V_UNDEF) {
        fuse_force_at(in, &args[0], z->at);
        in->at = x;
        return false;
    }
    fuse_count(in, z);
    *result = r;
    return true;
}
