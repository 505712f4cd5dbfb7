/* From a chain of lazy values to a plan: leaves and scalars in order of evaluation, axes that
 * every leaf steps through alike joined into one, a key that holds all a plan depends on, and the
 * plans that ran lately by that key. */
#include "interp/op/op.h"
#include "interp/fuse/fuse.h"

#include "core/base/error.h"
#include "kernels/plan/plan.h"

#include <stdio.h>
#include <string.h>

enum {
    PLANS = 32,
    /* operand numbers: leaves, scalars, operations */
    CELL = 32, STEP = CELL + 3 * FUSE_OPS,
    KEY = 4 + TENSOR_RANK_MAX + FUSE_LEAVES * (1 + TENSOR_RANK_MAX) + 3 * FUSE_OPS + FUSE_OPS
};
_Static_assert((int)FUSE_LEAVES <= (int)CELL, "operand numbers overlap");
_Static_assert((int)STEP + (int)FUSE_OPS <= 256, "operand numbers are bytes");

typedef struct Step {
    uint8_t op, compute, args, watch, operand[3];
} Step;

/* A chain as a list: every operation after those that it needs. */
typedef struct Program {
    int leaves, cells, steps, rank;
    Tensor *leaf[FUSE_LEAVES];
    const void *cell[3 * FUSE_OPS];
    uint8_t cell_dtype[3 * FUSE_OPS];
    Step step[FUSE_OPS];
    const Lazy *made[FUSE_OPS];     /* whose step it is: what is read twice is one */
    int64_t extent[TENSOR_RANK_MAX], stride[FUSE_LEAVES][TENSOR_RANK_MAX];
} Program;

typedef struct Kept {
    NestPlan *plan;
    int64_t *key;
    size_t length;              /* of the key */
} Kept;

struct Fuse {
    Kept kept[PLANS];
    int next;                   /* the one to replace */
};

/* ---- the list ---- */
static bool same_view(const Tensor *a, const Tensor *b)
{
    return a->data == b->data && a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dims, b->dims, 2 * (size_t)a->rank * sizeof a->dims[0]) == 0;
}

static int add_leaf(Program *p, Tensor *t)
{
    for (int i = 0; i < p->leaves; i++)
        if (same_view(p->leaf[i], t))
            return i;
    p->leaf[p->leaves] = t;
    return p->leaves++;
}

static int add_steps(Program *p, const Lazy *z)
{
    for (int i = 0; z->native.refs > 1 && i < p->steps; i++)
        if (p->made[i] == z)
            return STEP + i;
    Step s = { .op = (uint8_t)z->op->ew, .compute = z->compute, .args = z->n, .watch = z->watch };
    for (int i = 0; i < z->n; i++) {
        Value v = z->args[i];
        bool mask = i == 0 && ew_info[s.op].result == RES_WHERE;
        if (v.tag == V_LAZY) {
            s.operand[i] = (uint8_t)add_steps(p, lazy_of(v));
        } else if (v.tag == V_TENSOR && v.tensor->rank > 0) {
            s.operand[i] = (uint8_t)add_leaf(p, v.tensor);
        } else {
            p->cell[p->cells] = z->cell[i];
            p->cell_dtype[p->cells] = mask ? DT_BOOL : z->compute;
            s.operand[i] = (uint8_t)(CELL + p->cells++);
        }
    }
    p->made[p->steps] = z;
    p->step[p->steps] = s;
    return STEP + p->steps++;
}

/* ---- axes ---- */
/* Leaf k's stride along axis `axis` of the result. */
static int64_t leaf_stride(const Tensor *t, const Tensor *head, int axis)
{
    int own = axis - (head->rank - t->rank);
    return own < 0 || tensor_shape(t)[own] == 1 ? 0 : tensor_strides(t)[own];
}

static bool joins(const Program *p, const int64_t *inner, int64_t n)
{
    for (int k = 0; k < p->leaves; k++)
        if (p->stride[k][p->rank - 1] != inner[k] * n)
            return false;
    return true;
}

static void join_axes(Program *p, const Tensor *head)
{
    for (int axis = 0; axis < head->rank; axis++) {
        int64_t inner[FUSE_LEAVES], n = tensor_shape(head)[axis];
        if (n == 1)
            continue;
        for (int k = 0; k < p->leaves; k++)
            inner[k] = leaf_stride(p->leaf[k], head, axis);
        if (p->rank > 0 && joins(p, inner, n))
            p->extent[p->rank - 1] *= n;
        else
            p->extent[p->rank++] = n;
        for (int k = 0; k < p->leaves; k++)
            p->stride[k][p->rank - 1] = inner[k];
    }
}

/* ---- the key ---- */
static size_t make_key(const Program *p, int64_t *key)
{
    int64_t *to = key;
    *to++ = p->rank | p->leaves << 8 | p->cells << 16 | p->steps << 24;
    for (int i = 0; i < p->rank; i++)
        *to++ = p->extent[i];
    for (int k = 0; k < p->leaves; k++) {
        *to++ = p->leaf[k]->dtype;
        for (int i = 0; i < p->rank; i++)
            *to++ = p->stride[k][i];
    }
    for (int i = 0; i < p->cells; i++)
        *to++ = p->cell_dtype[i];
    for (int i = 0; i < p->steps; i++) {
        *to = 0;
        memcpy(to++, &p->step[i], sizeof p->step[i]);
    }
    return (size_t)(to - key);
}

static Kept *find_kept(struct Fuse *fuse, const int64_t *key, size_t length)
{
    for (int i = 0; i < PLANS; i++) {
        Kept *k = &fuse->kept[i];
        if (k->plan && k->length == length && memcmp(k->key, key, length * sizeof *key) == 0)
            return k;
    }
    return NULL;
}

/* ---- the nest ---- */
static int load_node(Ctx *ctx, Nest *n, const Program *p, int k)
{
    char name[24];
    snprintf(name, sizeof name, "x%d", k + 1);
    NestLoad *load = nest_load_new(ctx, n, nest_slot(n), (DType)p->leaf[k]->dtype, name);
    memcpy(load->stride, p->stride[k], (size_t)p->rank * sizeof load->stride[0]);
    return nest_load(ctx, n);
}

static void fill_nest(Ctx *ctx, Nest *n, const Program *p)
{
    static const char letters[] = "ijklmnopqrstuvwxyzabcdefgh";
    int node[256];
    for (int i = 0; i < p->rank; i++)
        nest_index(n, (const char[]){ letters[i % 26], '\0' }, p->extent[i], 0, 1);
    n->out_rank = p->rank;
    for (int k = 0; k < p->leaves; k++)
        node[k] = load_node(ctx, n, p, k);
    for (int i = 0; i < p->cells; i++)
        node[CELL + i] = nest_const(ctx, n, nest_slot(n), (DType)p->cell_dtype[i], false);
    for (int i = 0; i < p->steps; i++) {
        const Step *s = &p->step[i];
        int args[3];
        for (int j = 0; j < s->args; j++)
            args[j] = node[s->operand[j]];
        node[STEP + i] = nest_ew(ctx, n, (EwOp)s->op, (DType)s->compute, args, s->args);
        if (s->watch)
            nest_watch(n, node[STEP + i]);
    }
    n->root = node[STEP + p->steps - 1];
}

static NestPlan *make_plan(Ctx *ctx, const Program *p)
{
    ErrFrame frame;
    Nest *nest = nest_new(ctx);
    if (ERR_TRY(ctx, &frame)) {
        fill_nest(ctx, nest, p);
        NestPlan *plan = nest_plan(ctx, nest, NULL);
        ERR_END(ctx, &frame);
        nest_free(ctx, nest);
        return plan;
    }
    nest_free(ctx, nest);
    err_rethrow(ctx);
}

static void drop_kept(Ctx *ctx, Kept *k)
{
    nest_plan_free(ctx, k->plan);
    if (k->key)
        mem_free(ctx, k->key, k->length * sizeof *k->key);
    *k = (Kept){ 0 };
}

/* In the place of the oldest one. */
static Kept *keep_plan(Interp *in, const Program *p, const int64_t *key, size_t length)
{
    Ctx *ctx = &in->ctx;
    Kept *k = &in->fuse->kept[in->fuse->next];
    drop_kept(ctx, k);
    k->length = length;
    k->key = mem_alloc(ctx, length * sizeof *key);
    memcpy(k->key, key, length * sizeof *key);
    k->plan = make_plan(ctx, p);
    in->fuse->next = (in->fuse->next + 1) % PLANS;
    return k;
}

static void read_chain(Program *p, const Lazy *z)
{
    p->leaves = p->cells = p->steps = p->rank = 0;
    add_steps(p, z);
    join_axes(p, &z->head);
}

void fuse_nest(Interp *in, const Lazy *z, struct Nest *nest)
{
    Program p;
    read_chain(&p, z);
    fill_nest(&in->ctx, nest, &p);
}

void fuse_plan(Interp *in, const Lazy *z, FuseRun *run)
{
    Program p;
    int64_t key[KEY];
    read_chain(&p, z);
    size_t length = make_key(&p, key);
    if (!in->fuse)
        in->fuse = mem_zalloc(&in->ctx, sizeof *in->fuse);
    const Kept *kept = find_kept(in->fuse, key, length);
    if (!kept)
        kept = keep_plan(in, &p, key, length);
    run->plan = kept->plan;
    run->leaves = p.leaves;
    for (int k = 0; k < p.leaves; k++) {
        run->leaf[k] = p.leaf[k];
        run->data[k] = p.leaf[k]->data;
    }
    for (int i = 0; i < p.cells; i++)
        run->data[p.leaves + i] = p.cell[i];
}

void fuse_free(Interp *in)
{
    if (!in->fuse)
        return;
    for (int i = 0; i < PLANS; i++)
        drop_kept(&in->ctx, &in->fuse->kept[i]);
    mem_free(&in->ctx, in->fuse, sizeof *in->fuse);
    in->fuse = NULL;
}
