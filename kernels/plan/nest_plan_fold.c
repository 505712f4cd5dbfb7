/* Reductions of a tensor as it lies: sum[j] A[i,j], max[i] A[i,j], argmin[k] x[k]. Large ones go
 * to the kernels behind sum(A, axis=1), which know blocks and accuracy. */
#include "kernels/plan/nest_plan.h"

#include <string.h>

enum { FOLD_LEAST_WORK = 4096 };

/* RED_OPS: that operation has no kernel here, or one that does not wrap. */
static RedOp fold_op(const NestNode *x, const Nest *n)
{
    char kind = dtype_info(x->compute)->kind;
    bool real = kind == 'f', whole = kind == 'i', some = real || kind == 'c';
    const NestIndex *bound = &n->index[__builtin_ctzll(x->bound)];
    bool plain = bound->start == 0 && bound->step == 1 && !(x->bound & (x->bound - 1));
    switch ((NestReduce)x->op) {
    case NEST_SUM: return some ? RED_SUM : RED_OPS;
    case NEST_PROD: return some ? RED_PROD : RED_OPS;
    case NEST_MIN: return real || whole ? RED_MIN : RED_OPS;
    case NEST_MAX: return real || whole ? RED_MAX : RED_OPS;
    case NEST_ANY: return kind == 'b' ? RED_ANY : RED_OPS;
    case NEST_ALL: return kind == 'b' ? RED_ALL : RED_OPS;
    case NEST_ARGMIN: return (real || whole) && plain ? RED_ARGMIN : RED_OPS;
    default: return (real || whole) && plain ? RED_ARGMAX : RED_OPS;
    }
}

/* A view over the indices; data comes when it runs. NULL: more axes than a tensor has. */
static Tensor *view_of(Planner *p, uint64_t indices, const int64_t *stride, DType dt)
{
    int rank = __builtin_popcountll(indices), axis = 0;
    if (rank > TENSOR_RANK_MAX)
        return NULL;
    Tensor *t = arena_alloc(&p->plan->arena, sizeof *t + 2 * (size_t)rank * sizeof(int64_t));
    t->refs = 1;
    t->dtype = dt;
    t->rank = (uint8_t)rank;
    t->size = 1;
    for (uint64_t s = indices; s; s &= s - 1, axis++) {
        int i = __builtin_ctzll(s);
        tensor_shape(t)[axis] = p->n->index[i].extent;
        tensor_strides(t)[axis] = stride[i];
        t->size = count_times(t->size, p->n->index[i].extent);
    }
    return t;
}

static bool can_fold(Planner *p, int x)
{
    const NestNode *node = &p->n->node[x], *arg = &p->n->node[node->arg[0]];
    double work = plan_size(p->n, node->free | node->bound);
    return arg->kind == NEST_LOAD && !p->n->load[arg->slot].gathers && work >= FOLD_LEAST_WORK &&
           work < 0x1p62 && (arg->free & node->bound) == node->bound &&
           fold_op(node, p->n) != RED_OPS &&
           reduce_result_dtype(fold_op(node, p->n), (DType)arg->dtype) == node->dtype;
}

bool plan_folds(Planner *p, int x)
{
    return can_fold(p, x);
}

/* Axes of the operand that are reduced. */
static uint64_t reduced_axes(uint64_t indices, uint64_t bound)
{
    uint64_t axes = 0;
    int axis = 0;
    for (uint64_t s = indices; s; s &= s - 1, axis++)
        if (bound >> __builtin_ctzll(s) & 1)
            axes |= UINT64_C(1) << axis;
    return axes;
}

bool plan_fold(Planner *p, int x, PlanTarget *t)
{
    if (!can_fold(p, x))
        return false;
    NestNode node = p->n->node[x];
    const NestLoad *load = &p->n->load[p->n->node[node.arg[0]].slot];
    uint64_t all = node.free | node.bound, axes = reduced_axes(all, node.bound);
    Tensor *in = view_of(p, all, load->stride, load->dtype);
    Tensor *to = view_of(p, node.free, t->stride, (DType)node.dtype);
    RedOp op = fold_op(&node, p->n);
    if (!in || !to || !tensor_contiguous(to) || reduce_wants_copy(op, in, axes))
        return false;
    PlanStep *s = plan_add_step(p, t->slot);
    s->input = arena_alloc(&p->plan->arena, sizeof *s->input);
    s->inputs = 1;
    s->input[0] = load->slot;
    s->fold_in = in;
    s->fold_out = to;
    s->fold = op;
    s->fold_axes = axes;
    s->node = x;
    return true;
}

/* A tensor of at most TENSOR_RANK_MAX axes on the stack. */
typedef union Room {
    Tensor t;
    char bytes[sizeof(Tensor) + 2 * TENSOR_RANK_MAX * sizeof(int64_t)];
} Room;

static Tensor *copy_view(Room *room, const Tensor *t, void *data)
{
    memcpy(room->bytes, t, sizeof *t + 2 * (size_t)t->rank * sizeof(int64_t));
    room->t.data = data;
    return &room->t;
}

void plan_fold_run(Ctx *ctx, const PlanStep *s, void *out, const void *data)
{
    Room in, to;
    reduce_run(ctx, s->fold, copy_view(&in, s->fold_in, (void *)data), s->fold_axes,
               copy_view(&to, s->fold_out, out), NULL);
}

double plan_fold_seconds(const PlanStep *s)
{
    return 1e-7 + (double)s->fold_in->size * dtype_info(s->fold_in->dtype)->bytes / 15e9;
}
