/* A nest element by element, on one thread, with the plain kernels one value at a time: what
 * stages and plans are tested against, and what hostile builds run. Slow; nothing else calls
 * it. Common parts are computed once per position, so a deep graph costs no more than its
 * nodes. */
#include "kernels/nest/nest.h"

#include "kernels/cast/tensor_cast.h"

#include <string.h>

enum { KEPT = 512 };            /* nodes whose values are kept; those above are computed again */

typedef union Cell { int64_t i; double f; double _Complex c; char bytes[16]; } Cell;

typedef struct Eval {
    const Nest *nest;
    const void *const *data;
    int64_t at[NEST_INDICES];
    Cell value[KEPT];
    bool known[KEPT];
    EwTrouble trouble;
    const InterruptFlag *interrupt;
} Eval;

static void eval_node(Eval *e, int id, Cell *out);

static bool stopped(const Eval *e)
{
    bool trouble = e->trouble != EWT_NONE && e->trouble != EWT_NAN;
    return trouble || (e->interrupt && *e->interrupt);
}

/* Positions of the indices in the mask have changed: so have the values that depend on them,
 * or on reductions inside that do (a reduction's own bound indices are nobody else's). */
static void forget(Eval *e, uint64_t indices)
{
    int n = e->nest->nodes < KEPT ? e->nest->nodes : KEPT;
    for (int i = 0; i < n; i++)
        if (e->nest->node[i].free & indices)
            e->known[i] = false;
}

static void eval_load(const Eval *e, const NestLoad *load, Cell *out)
{
    int64_t at = 0, bytes = dtype_info(load->dtype)->bytes;
    for (int i = 0; i < e->nest->indices; i++)
        at += e->at[i] * load->stride[i];
    for (int g = 0; g < load->gathers; g++) {
        const NestGather *gather = &load->gather[g];
        int64_t place = 0;
        for (int i = 0; i < e->nest->indices; i++)
            place += e->at[i] * gather->stride[i];
        int64_t entry = ((const int64_t *)e->data[gather->slot])[place];
        if (entry < 0) {
            memset(out, 0, sizeof *out);
            return;
        }
        at += entry * gather->step;
    }
    memcpy(out, (const char *)e->data[load->slot] + at * bytes, (size_t)bytes);
}

static bool is_nan(DType dt, const Cell *x)
{
    return dtype_info(dt)->kind == 'f' && element_f64(dt, x) != element_f64(dt, x);
}

/* A nan that no argument had, where its operation is watched. */
static bool makes_nan(const NestNode *node, const Cell *out, const Cell *arg)
{
    DType dt = (DType)node->compute;
    bool made = node->watch && is_nan(dt, out);
    for (int k = 0; k < node->args && made; k++)
        made = !is_nan(dt, &arg[k]);
    return made;
}

static void eval_ew(Eval *e, const NestNode *node, Cell *out)
{
    Cell arg[3];
    const void *in[3];
    int64_t one[3] = { 1, 1, 1 };
    for (int k = 0; k < node->args; k++) {
        eval_node(e, node->arg[k], &arg[k]);
        in[k] = &arg[k];
    }
    if (ew_is_checked((EwOp)node->op, (DType)node->compute)) {
        EwTrouble t = ew_find_trouble((EwOp)node->op, (DType)node->compute, &arg[1], 1, 1);
        if (t != EWT_NONE) {
            e->trouble = t;
            memset(out, 0, sizeof *out);
            return;
        }
    }
    ew_reference((EwOp)node->op, (DType)node->compute)(out, 1, in, one, 1);
    if (makes_nan(node, out, arg))
        e->trouble = EWT_NAN;
}

/* ---- reductions ---- */

static void apply(EwOp op, DType dt, Cell *acc, const Cell *value)
{
    const void *in[] = { acc, value };
    const int64_t one[] = { 1, 1 };
    Cell result;
    ew_reference(op, dt)(&result, 1, in, one, 1);
    *acc = result;
}

static bool beats(NestReduce op, DType dt, const Cell *x, const Cell *best)
{
    if (is_nan(dt, x) || is_nan(dt, best))
        return is_nan(dt, x) && !is_nan(dt, best);
    if (dtype_info(dt)->kind == 'f') {
        double a = element_f64(dt, x), b = element_f64(dt, best);
        return op == NEST_ARGMIN ? a < b : a > b;
    }
    int64_t a = element_i64(dt, x), b = element_i64(dt, best);
    return op == NEST_ARGMIN ? a < b : a > b;
}

/* The empty reduction: 0, 1, false, true. */
static void identity(NestReduce op, DType dt, Cell *out)
{
    int64_t unit = op == NEST_PROD || op == NEST_ALL;
    memset(out, 0, sizeof *out);
    cast_run(dt, out, 1, DT_I64, &unit, 1, 1);
}

static const EwOp step_of[] = {
    [NEST_SUM] = EW_ADD, [NEST_PROD] = EW_MULTIPLY, [NEST_MIN] = EW_MINIMUM,
    [NEST_MAX] = EW_MAXIMUM, [NEST_ANY] = EW_BITOR, [NEST_ALL] = EW_BITAND,
};

/* The next position of the indices in the mask, the last index fastest; false at the end. */
static bool advance(Eval *e, uint64_t indices)
{
    for (int i = e->nest->indices - 1; i >= 0; i--) {
        if (!(indices >> i & 1))
            continue;
        if (++e->at[i] < e->nest->index[i].extent)
            return true;
        e->at[i] = 0;
    }
    return false;
}

static bool any_empty(const Nest *n, uint64_t indices)
{
    for (int i = 0; i < n->indices; i++)
        if (indices >> i & 1 && n->index[i].extent == 0)
            return true;
    return false;
}

static void eval_reduce(Eval *e, const NestNode *node, Cell *out)
{
    NestReduce op = (NestReduce)node->op;
    DType dt = (DType)node->compute;
    bool position = op == NEST_ARGMIN || op == NEST_ARGMAX, first = true;
    int index = __builtin_ctzll(node->bound | (uint64_t)1 << 63);
    Cell best, value;
    identity(op, dt, out);
    if (any_empty(e->nest, node->bound))
        return;
    do {
        forget(e, node->bound);
        eval_node(e, node->arg[0], &value);
        if (!position) {
            if (first)
                *out = value;
            else
                apply(step_of[op], dt, out, &value);
        } else if (first || beats(op, dt, &value, &best)) {
            const NestIndex *i = &e->nest->index[index];
            best = value;
            out->i = i->start + e->at[index] * i->step;
        }
        first = false;
    } while (advance(e, node->bound) && !stopped(e));
    forget(e, node->bound);
}

static void eval_new(Eval *e, const NestNode *node, Cell *out)
{
    Cell arg;
    const NestIndex *index = &e->nest->index[node->slot < NEST_INDICES ? node->slot : 0];
    switch ((NestKind)node->kind) {
    case NEST_CONST:
        memcpy(out, e->data[node->slot], dtype_info(node->dtype)->bytes);
        return;
    case NEST_INDEX:
        out->i = index->start + e->at[node->slot] * index->step;
        return;
    case NEST_LOAD:
        eval_load(e, &e->nest->load[node->slot], out);
        return;
    case NEST_CAST:
        eval_node(e, node->arg[0], &arg);
        cast_run((DType)node->dtype, out, 1, (DType)e->nest->node[node->arg[0]].dtype, &arg, 1, 1);
        return;
    case NEST_EW:
        eval_ew(e, node, out);
        return;
    case NEST_REDUCE:
        eval_reduce(e, node, out);
        return;
    }
}

static void eval_node(Eval *e, int id, Cell *out)
{
    if (id < KEPT && e->known[id]) {
        *out = e->value[id];
        return;
    }
    eval_new(e, &e->nest->node[id], out);
    if (id < KEPT) {
        e->value[id] = *out;
        e->known[id] = true;
    }
}

EwTrouble nest_reference(const Nest *n, void *out, const int64_t *out_stride,
                         const void *const *data, const InterruptFlag *interrupt)
{
    Eval e = { .nest = n, .data = data, .trouble = EWT_NONE, .interrupt = interrupt };
    int64_t contiguous[NEST_INDICES], bytes = dtype_info(n->node[n->root].dtype)->bytes, next = 1;
    uint64_t axes = n->out_rank == 64 ? ~UINT64_C(0) : (UINT64_C(1) << n->out_rank) - 1;
    for (int i = n->out_rank - 1; i >= 0; i--) {
        contiguous[i] = next;
        next *= n->index[i].extent;
    }
    if (any_empty(n, axes))
        return EWT_NONE;
    do {
        int64_t at = 0;
        Cell value;
        forget(&e, ~UINT64_C(0));
        eval_node(&e, n->root, &value);
        for (int i = 0; i < n->out_rank; i++)
            at += e.at[i] * (out_stride ? out_stride : contiguous)[i];
        memcpy((char *)out + at * bytes, &value, (size_t)bytes);
    } while (advance(&e, axes) && !stopped(&e));
    return e.trouble;
}
