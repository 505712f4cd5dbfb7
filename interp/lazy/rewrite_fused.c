/* fused: elementwise operations, each read by the next alone, as one pass; and behind a product
 * that only they read, panel by panel while it is in cache. */
#include "interp/lazy/lazy.h"

#include "core/base/error.h"
#include "interp/state/scope.h"

#include <string.h>

/* In no scope, or in an autocast that leaves its operands alone. */
static bool computes_as_ever(const Deferred *x)
{
    return !x->scope || (x->scope->format == DT_NONE && (x->op->autocast == AC_NONE ||
                                                         x->op->autocast == AC_WIDEST));
}

static bool elementwise(const Draft *d, int i)
{
    const Deferred *x = d->run->node[i];
    return d->step[i].kind == STEP_ROW && x->op->cls == OPC_EW && computes_as_ever(x);
}

static bool same_shape(const Tensor *a, const Tensor *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

/* What a chain may hold: as a tree, in which what is read twice counts twice. */
typedef struct Size {
    int32_t ops, leaves;
} Size;

static int tensors(const Deferred *x)
{
    int n = 0;
    for (int j = 0; j < x->count; j++)
        n += x->args[j].tag == V_TENSOR;
    return n;
}

/* The chain that all who read i are part of, or -1. times: how often i stands in it as a tree. */
static int chain_of_readers(const Draft *d, const int32_t *root, const int32_t *times, int i,
                            int32_t *mine)
{
    int chain = -1;
    *mine = 0;
    for (int k = i + 1; k <= d->reader[i]; k++)
        for (int j = 0; d->step[k].kind != STEP_SAME && j < d->run->node[k]->count; j++) {
            if (step_operand(d->run, d->step, k, j) != i)
                continue;
            if (root[k] < 0 || (chain >= 0 && root[k] != chain))
                return -1;
            chain = root[k];
            *mine += times[k];
        }
    return chain;
}

static bool joins(const Draft *d, int i, int chain)
{
    const Deferred *x = d->run->node[i], *r = d->run->node[chain];
    return !d->step[i].out && x->place == r->place && x->scope == r->scope &&
           x->source == r->source && same_shape(x->head, r->head);
}

static void tell_chain(Draft *d, const int32_t *root, int r, int product, const char *word)
{
    char name[96], last[96];
    Buf *out = &d->in->scratch;
    buf_clear(out);
    for (int i = 0; i < r; i++)
        if (root[i] == r && i != product)
            buf_printf(out, "%s%s", out->len ? ", " : "", draft_name(d, i, name));
    draft_name(d, r, last);
    if (product >= 0)
        draft_tell(d, word, "%s%s%s into %s, as its epilogue", buf_cstr(out),
                   out->len ? " and " : "", last, draft_name(d, product, name));
    else
        draft_tell(d, word, "%s and %s into one pass", buf_cstr(out), last);
}

/* Would the row take an epilogue with these operands? */
static bool takes_epilogue(const Deferred *x)
{
    OpCall c = { .in = x->in, .op = x->op, .args = (Value *)x->args, .count = x->count,
                 .fixed = x->fixed };
    return x->op->with_epilogue && x->op->with_epilogue(&c, NULL).tag != V_UNDEF;
}

/* The product that chain r stands behind, or -1. */
static int product_of(const Draft *d, const int32_t *root, const int32_t *times, int r)
{
    const Deferred *end = d->run->node[r];
    for (int i = r - 1; i >= 0; i--) {
        const Deferred *x = d->run->node[i];
        int32_t mine;
        if (d->step[i].kind == STEP_ROW && takes_epilogue(x) && !d->step[i].out && !x->scope &&
            !x->place && !end->place && !end->scope && x->head->dtype == end->head->dtype &&
            d->readers[i] && chain_of_readers(d, root, times, i, &mine) == r &&
            same_shape(x->head, end->head))
            return i;
    }
    return -1;
}

void rewrite_fused(Draft *d, const char *word)
{
    Value *mark = d->in->sp;
    Tuple *room = tuple_new(&d->in->ctx, (uint64_t)d->n);       /* four numbers each */
    v_push(d->in, v_tuple(room));
    room->count = 0;
    int32_t *root = (int32_t *)(void *)room->items, *times = root + d->n;
    Size *size = (Size *)(void *)(times + d->n);
    for (int i = d->n - 1; i >= 0; i--) {
        root[i] = -1;
        if (!elementwise(d, i))
            continue;
        int32_t mine, own = tensors(d->run->node[i]);
        int chain = d->readers[i] ? chain_of_readers(d, root, times, i, &mine) : -1;
        bool room_left = chain >= 0 && size[chain].ops + mine <= FUSE_OPS &&
                         size[chain].leaves + mine * (own - 1) <= FUSE_LEAVES - 3;
        if (room_left && joins(d, i, chain)) {
            root[i] = chain;
            times[i] = mine;
            size[chain].ops += mine;
            size[chain].leaves += mine * (own - 1);
            d->step[i].kind = STEP_INSIDE;
            d->step[i].into = chain;
            d->step[chain].kind = STEP_CHAIN;
        } else {
            root[i] = i;
            times[i] = 1;
            size[i] = (Size){ 1, own };
        }
    }
    for (int r = 0; r < d->n; r++) {
        if (root[r] != r)
            continue;
        int product = product_of(d, root, times, r);
        if (product >= 0) {
            d->step[product].kind = STEP_INSIDE;
            d->step[product].into = r;
            d->step[r].part = product;
            d->step[r].kind = STEP_PRODUCT;
        }
        if (d->step[r].kind != STEP_ROW)
            tell_chain(d, root, r, product, word);
    }
    stack_cut(d->in, mark);
}

/* ---- running ---- */
static bool inside(const Run *run, int i, int chain)
{
    const LazyStep *s = &run->compiled->step[i];
    return i == chain || (s->kind == STEP_INSIDE && s->into == chain &&
                          run->node[i]->op->cls == OPC_EW);
}

/* Node i of the chain as an operation that the one above takes; it is kept as the value of its step
 * while the chain is put together, for what is read twice. */
static Value waiting(Run *run, int i, int chain)
{
    Deferred *d = run->node[i];
    Interp *in = d->in;
    Value *mark = in->sp;
    EwForm f = { .compute = (DType)d->compute, .result = (DType)d->head->dtype,
                 .rank = d->head->rank, .size = d->head->size };
    memcpy(f.shape, tensor_shape(d->head), (size_t)f.rank * sizeof *f.shape);
    for (int j = 0; j < d->count; j++) {
        int k = step_operand(run, run->compiled->step, i, j);
        f.scalar[j] = d->args[j].tag != V_TENSOR;
        memcpy(f.cell[j], d->cell[j], sizeof f.cell[j]);
        if (k < 0 || !inside(run, k, chain))
            v_push(in, k < 0 ? argument_of(run, i, j) : result_of(run, k));
        else if (run->value[k].tag != V_UNDEF)
            v_push(in, v_retain(run->value[k]));
        else
            v_push(in, waiting(run, k, chain));
    }
    Value r = fuse_wait(in, d->at, d->op, mark, d->count, d->weak, &f);
    if (i != chain)
        run->value[i] = v_retain(r);
    return r;
}

static Value put_together(Run *run, int i)
{
    Interp *in = run->node[i]->in;
    Value v = waiting(run, i, i);
    for (int k = 0; k < i; k++)
        if (run->value[k].tag == V_LAZY) {
            v_release(&in->ctx, run->value[k]);
            run->value[k] = v_undef();
        }
    return v;
}

Value run_chain(Run *run, int i)
{
    run->node[i]->in->scope = NULL;     /* an autocast that has nothing to say: see above */
    return fuse_force(run->node[i]->in, put_together(run, i), run->node[i]->at);
}

/* ---- behind a product ---- */
Value run_product(Run *run, int i)
{
    int p = run->compiled->step[i].part;
    const Deferred *d = run->node[p];
    Interp *in = d->in;
    Value *mark = in->sp;
    Tensor *hole = tensor_without(&in->ctx, (DType)d->head->dtype, d->head->rank,
                                  tensor_shape(d->head), d->head->size);
    run->value[p] = v_tensor_raw(tensor_retain(hole));
    v_push(in, v_tensor_raw(hole));
    Value chain = put_together(run, i);
    v_push(in, chain);
    for (int j = 0; j < d->count; j++)
        v_push(in, argument_of(run, p, j));
    Value r = fuse_behind(in, chain, hole, d->op, mark + 2, d->count);
    if (r.tag == V_UNDEF) {
        v_push(in, step_call(run, d, d->op, mark + 2, d->count, d->weak));
        fuse_fill(in, chain, hole, in->sp[-1]);
        stack_cut(in, mark + 2);
        in->sp--;
        r = fuse_force(in, chain, run->node[i]->at);
    }
    v_release(&in->ctx, run->value[p]);
    run->value[p] = v_undef();
    v_push(in, r);
    v_retain(r);
    stack_cut(in, mark);
    return r;
}
