/* A chain behind a product: run on rows of it while they are in the cache of the worker that
 * computed them, over these rows. The product stands in the chain as a tensor without elements
 * until it is there. */
#include "interp/fuse/fuse.h"

#include "core/base/error.h"
#include "interp/op/heard.h"
#include "kernels/plan/plan.h"

#include <stdatomic.h>
#include <string.h>

typedef struct Behind {
    Interp *in;
    const Lazy *chain;
    const Tensor *hole;         /* stands for the product */
    const Op *op;
    int count;
    FuseRun run;
    NestRows *rows;
    _Atomic int trouble;        /* an EwTrouble */
} Behind;

static int64_t rows_of(const Tensor *t)
{
    return t->size / tensor_shape(t)[t->rank - 1];
}

static void begin(void *data, Tensor *result)
{
    Behind *b = data;
    for (int k = 0; k < b->run.leaves; k++)
        if (b->run.leaf[k] == b->hole)
            b->run.data[k] = result->data;
    b->rows = nest_rows_begin(&b->in->ctx, b->run.plan, rows_of(result), result->data,
                              b->run.data);
}

static void panel(void *data, int64_t from, int64_t to, int worker)
{
    Behind *b = data;
    EwTrouble trouble = nest_rows_run(b->rows, from, to, worker);
    if (trouble != EWT_NONE)
        atomic_store(&b->trouble, (int)trouble);
}

static Value run_behind(Interp *in, const Value *args, void *data)
{
    Behind *b = data;
    Epilogue e = { .data = b, .begin = begin, .panel = panel };
    ErrFrame frame;
    if (ERR_TRY(&in->ctx, &frame)) {
        Value r = op_call_epilogue(in, b->op, (Value *)args, b->count, &e);
        ERR_END(&in->ctx, &frame);
        if (b->rows)
            nest_rows_end(&in->ctx, b->rows);
        if (r.tag == V_UNDEF || b->trouble == EWT_NONE) {
            if (r.tag != V_UNDEF && heard_on(in)) {
                fuse_tell(in, b->chain, false);
                explain_flops(in, heard_flops(b->op, args, b->count, r), NULL);
            }
            return r;
        }
        v_release(&in->ctx, r);         /* its notice is that of an operation by itself */
        return v_undef();
    }
    if (b->rows)
        nest_rows_end(&in->ctx, b->rows);
    err_rethrow(&in->ctx);
}

Value fuse_behind(Interp *in, Value chain, const Tensor *hole, const Op *op, Value *args, int count)
{
    Behind b = { .in = in, .chain = lazy_of(chain), .hole = hole, .op = op, .count = count };
    if (in->scope || in->place || b.chain->head.dtype != hole->dtype)
        return v_undef();
    fuse_plan(in, b.chain, &b.run);
    if (!nest_has_rows(b.run.plan, rows_of(hole)))
        return v_undef();
    for (int i = 0; i < count; i++)
        if (args[i].tag == V_TENSOR)
            tensor_home(&in->ctx, args[i].tensor);
    return work_call(in, &(Work){ .name = "product and one pass", .dtype = (DType)hole->dtype,
                                  .product = true, .apart = true, .run = run_behind, .data = &b },
                     args, count);
}

void fuse_fill(Interp *in, Value chain, const Tensor *hole, Value product)
{
    Lazy *z = chain.ptr;
    for (int i = 0; i < z->n; i++) {
        if (z->args[i].tag == V_LAZY) {
            fuse_fill(in, z->args[i], hole, product);
        } else if (z->args[i].tag == V_TENSOR && z->args[i].tensor == hole) {
            Value old = z->args[i];
            z->args[i] = v_retain(product);
            v_release(&in->ctx, old);
        }
    }
}
