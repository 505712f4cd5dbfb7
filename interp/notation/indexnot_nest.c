/* The tree with its values as a nest: operations through nest_make, so that dtypes are those of
 * the same operations outside, reductions over the indices they bind. */
#include "interp/notation/indexnot.h"

#include "core/base/error.h"
#include "interp/op/arith.h"
#include "interp/eval/eval_name.h"

#include <stdio.h>
#include <string.h>

enum { SLOTS = 2048, CELLS = 64 };

/* ---- indices of a part of the tree ---- */
typedef struct Found { uint64_t free, bound; } Found;

static Found find_indices(IxBind *b, const IxNode *n, IxInstance *of);

static Found find_param(IxBind *b, const IxNode *n, IxInstance *of)
{
    IxArg *arg = &of->arg[n->leaf];
    if (!arg->node)
        return (Found){ 0 };
    if (!arg->found) {
        Found f = find_indices(b, arg->node, arg->of);
        arg->found = true;
        arg->free = f.free;
        arg->bound = f.bound;
    }
    return (Found){ arg->free, arg->bound };
}

/* Free indices, and those that reductions in it bind; tables have nests of their own. */
static Found find_indices(IxBind *b, const IxNode *n, IxInstance *of)
{
    Found all = { 0 }, one;
    DType to;
    if (n->kind == IX_PARAM)
        return find_param(b, n, of);
    if (n->kind == IX_NUMBER)
        all.free = UINT64_C(1) << (of->first_index + n->index);
    for (int i = 0; i < n->subs; i++)
        all.free |= find_indices(b, n->sub[i].at, of).free;
    if (n->kind == IX_CALL && !ix_call_op(b, n, of, &to) && to == DT_NONE) {
        IxInstance *inst = ix_instance(b, n, of);
        return find_indices(b, inst->tree->root, inst);
    }
    for (int i = 0; i < n->args; i++) {
        one = find_indices(b, n->arg[i], of);
        all.free |= one.free;
        all.bound |= one.bound;
    }
    if (n->kind == IX_REDUCE) {
        all.bound |= n->over << of->first_index;
        all.free &= ~(n->over << of->first_index);
    }
    return all;
}

uint64_t ix_free_indices(IxBind *b, const IxNode *n, IxInstance *of)
{
    return find_indices(b, n, of).free;
}

/* ---- slots ---- */
_Noreturn static void too_many(IxBind *b)
{
    b->in->at = b->x;
    err_raise_help(&b->in->ctx, ERR_INDEX, "name parts of it first",
                   "this notation has too many operands");
}

int ix_slot(IxBind *b, int kind, int from, int64_t offset)
{
    IxPlan *p = b->target;
    Ctx *ctx = &b->in->ctx;
    for (int i = 0; i < p->slots; i++)
        if ((int)p->slot[i].kind == kind && p->slot[i].from == from && p->slot[i].offset == offset)
            return i;
    if (p->slots == p->slot_cap) {
        int cap = p->slot_cap ? 2 * p->slot_cap : 8;
        p->slot = p->slot ? mem_realloc(ctx, p->slot, (size_t)p->slot_cap * sizeof *p->slot,
                                        (size_t)cap * sizeof *p->slot)
                          : mem_alloc(ctx, (size_t)cap * sizeof *p->slot);
        p->slot_cap = cap;
    }
    if (p->slots == SLOTS)
        too_many(b);
    p->slot[p->slots++] = (IxSlot){ .kind = kind, .from = from, .offset = offset };
    return nest_slot(b->make.nest);
}

/* a slot with an i64 of the plan's own */
static int ix_cell(IxBind *b, int64_t value)
{
    IxPlan *p = b->target;
    if (!p->cell) {
        p->cell = mem_zalloc(&b->in->ctx, CELLS * sizeof *p->cell);
        p->cell_cap = CELLS;
    }
    if (p->cells == CELLS)
        too_many(b);
    p->cell[p->cells][0] = value;
    int slot = ix_slot(b, IXV_CELL, p->cells, 0);
    b->cell[slot] = p->cell[p->cells++];
    return slot;
}

static int make_scalar(IxBind *b, const IxNode *n, IxInstance *of, int leaf)
{
    Value v = b->base[leaf];
    bool tensor = v.tag == V_TENSOR;
    if (!v_immediate(v) && !(tensor && v.tensor->rank == 0))
        ix_error_operand(b, n, of, v);
    int slot = ix_slot(b, IXV_LEAF, leaf, 0);
    b->cell[slot] = tensor ? (const void *)v.tensor->data : &b->base[leaf].i;
    return nest_const(&b->in->ctx, b->make.nest, slot, v_dtype(v),
                      exec_weak(ix_leaf_exec(b->plan, leaf)));
}

/* ---- operations ---- */
/* x^2 makes no nan of a number. */
static bool whole_constant(const IxBind *b, int node)
{
    const NestNode *x = &b->make.nest->node[node];
    return x->kind == NEST_CONST && dtype_info(x->dtype)->kind == 'i';
}

static int make_ew(IxBind *b, const IxNode *n, IxInstance *of, const Op *op, const int *args,
                   int count)
{
    IxPlan *p = b->target;
    b->in->at = n->at;
    int node = nest_make_ew(&b->make, op, args, count);
    const NestNode *made = &b->make.nest->node[node];
    if ((op->traits & TRAIT_INT_TROUBLE) && dtype_info(made->compute)->kind == 'i' &&
        p->troubles < IX_TROUBLES)
        p->trouble[p->troubles++] = (IxTrouble){ n->at, of, op, (DType)made->compute };
    if ((op->traits & TRAIT_NAN_NOTICE) && dtype_info(made->compute)->kind == 'f')
        b->plan->notices |= op->ew != EW_POWER || !whole_constant(b, args[1]);
    return node;
}

static int make_op(IxBind *b, const IxNode *n, IxInstance *of, const Op *op)
{
    int args[3] = { 0 };
    for (int i = 0; i < n->args && i < 3; i++)
        args[i] = ix_make(b, n->arg[i], of);
    return make_ew(b, n, of, op, args, n->args);
}

static int make_logic(IxBind *b, const IxNode *n, IxInstance *of)
{
    int args[2] = { 0 };
    for (int i = 0; i < n->args; i++) {
        args[i] = ix_make(b, n->arg[i], of);
        DType dt = (DType)b->make.nest->node[args[i]].dtype;
        if (dt != DT_BOOL)
            ix_error_logic(b, n, of, i, dt);
    }
    return make_ew(b, n, of, n->op, args, n->args);
}

/* f32(x[i]): what can never fail. */
static int make_cast(IxBind *b, const IxNode *n, IxInstance *of, DType to)
{
    int arg = ix_make(b, n->arg[0], of);
    DType from = (DType)b->make.nest->node[arg].dtype;
    char f = dtype_info(from)->kind, t = dtype_info(to)->kind;
    bool wider = dtype_promote(from, to) == to && to != DT_RATIONAL;
    if (!wider && !(f == t && (t == 'f' || t == 'c')) && !(t == 'f' && f != 'c') && !(t == 'c'))
        ix_error_cast(b, n, of, from, to);
    return nest_cast(&b->in->ctx, b->make.nest, arg, to);
}

static int make_param(IxBind *b, const IxNode *n, IxInstance *of)
{
    IxArg *arg = &of->arg[n->leaf];
    if (!arg->node)
        return make_scalar(b, n, of, arg->leaf);
    if (arg->made_in != b->make.nest) {
        CallFrame *calls = b->in->calls;           /* the argument is of the caller */
        b->in->calls = arg->of->frame;
        int made = ix_make(b, arg->node, arg->of);
        b->in->calls = calls;
        arg->made = made;
        arg->made_in = b->make.nest;
    }
    return arg->made;
}

static int make_call(IxBind *b, const IxNode *n, IxInstance *of)
{
    DType to;
    const Op *op = ix_call_op(b, n, of, &to);
    if (op)
        return make_op(b, n, of, op);
    if (to != DT_NONE)
        return make_cast(b, n, of, to);
    IxInstance *inst = ix_instance(b, n, of);
    CallFrame frame, *calls = b->in->calls;
    ix_enter(b->in, inst, b->base, &frame);
    inst->frame = &frame;
    int made = ix_make(b, inst->tree->root, inst);
    b->in->calls = calls;
    return made;
}

/* ---- reductions ---- */
static uint64_t nest_bits(const IxBind *b, uint64_t spans)
{
    uint64_t bits = 0;
    for (; spans; spans &= spans - 1)
        bits |= UINT64_C(1) << b->number[__builtin_ctzll(spans)];
    return bits;
}

static void check_reduced(IxBind *b, const IxNode *n, IxInstance *of, uint64_t spans, DType dt)
{
    bool identity = ix_reduce_facts((IxReduce)n->reduce) & R_EMPTY;
    for (uint64_t m = spans; m && !identity; m &= m - 1)
        if (b->span[__builtin_ctzll(m)].extent == 0)
            ix_error_empty(b, n, of, __builtin_ctzll(m));
    if (dtype_info(dt)->kind == 'c' && !identity)
        ix_error_order(b, n, of, dt);
}

/* The sum over how many there are; halves stay in f32 until the end. */
static int make_mean(IxBind *b, const IxNode *n, IxInstance *of, int arg, uint64_t spans)
{
    Ctx *ctx = &b->in->ctx;
    Nest *nest = b->make.nest;
    DType dt = (DType)nest->node[arg].dtype;
    bool half = dtype_half(dt);
    int64_t count = 1;
    for (uint64_t m = spans; m; m &= m - 1)
        count *= b->span[__builtin_ctzll(m)].extent;
    arg = nest_cast(ctx, nest, arg, half ? DT_F32 : dt);
    int sum = nest_reduce(ctx, nest, NEST_SUM, arg, nest_bits(b, spans));
    int args[2] = { sum, nest_const(ctx, nest, ix_cell(b, count), DT_I64, true) };
    int mean = make_ew(b, n, of, op_named(b->in, "divide"), args, 2);
    return half ? nest_cast(ctx, nest, mean, dt) : mean;
}

/* ---- products that are added up ---- */
bool ix_adds_up(const IxNode *n)
{
    return ix_reduce_facts((IxReduce)n->reduce) & R_ADDS;
}

bool ix_in_product(const IxNode *n)
{
    return n->kind == IX_EW && (n->op->ew == EW_MULTIPLY || n->op->ew == EW_NEGATIVE ||
                                n->op->ew == EW_POSITIVE);
}

int ix_factor_count(const IxNode *n)
{
    int count = 0;
    for (int i = 0; ix_in_product(n) && i < n->args; i++)
        count += ix_factor_count(n->arg[i]);
    return ix_in_product(n) ? count : 1;
}

static int *make_factors(IxBind *b, const IxNode *n, IxInstance *of, int *made, bool *whole)
{
    v_check_depth(b->in);
    for (int i = 0; ix_in_product(n) && i < n->args; i++)
        made = make_factors(b, n->arg[i], of, made, whole);
    if (ix_in_product(n))
        return made;
    *made = ix_make(b, n, of);
    char kind = dtype_info(b->make.nest->node[*made].dtype)->kind;
    *whole &= kind == 'i' || kind == 'b';
    return made + 1;
}

static int multiply_factors(IxBind *b, const IxNode *n, IxInstance *of, int **made, bool whole,
                            AutocastClass class)
{
    int args[2];
    if (!ix_in_product(n)) {
        int x = *(*made)++;
        x = ix_autocast_factor(b, class, x);
        return whole ? nest_cast(&b->in->ctx, b->make.nest, x, DT_I64) : x;
    }
    for (int i = 0; i < n->args; i++)
        args[i] = multiply_factors(b, n->arg[i], of, made, whole, class);
    return make_ew(b, n, of, n->op, args, n->args);
}

/* What a sum or product over an index takes in. Where all factors are ints and bools they are
 * multiplied in i64, the dtype of the sum, so that A[i,j]*B[j,k] is A @ B. */
static int make_product(IxBind *b, const IxNode *n, IxInstance *of, AutocastClass class)
{
    bool whole = true;
    int *made = arena_alloc(&b->arena, (size_t)ix_factor_count(n) * sizeof *made);
    make_factors(b, n, of, made, &whole);
    return multiply_factors(b, n, of, &made, whole, class);
}

static int make_reduce(IxBind *b, const IxNode *n, IxInstance *of)
{
    Ctx *ctx = &b->in->ctx;
    uint64_t spans = n->over << of->first_index;
    AutocastClass class = ix_contracts(n) ? AC_LOWER : AC_RAISE;
    int arg = ix_adds_up(n) ? make_product(b, n->arg[0], of, class) : ix_make(b, n->arg[0], of);
    DType dt = (DType)b->make.nest->node[arg].dtype;
    check_reduced(b, n, of, spans, dt);
    if (n->reduce == IXR_MEAN)
        return make_mean(b, n, of, arg, spans);
    if ((ix_reduce_facts((IxReduce)n->reduce) & R_BOOLS) && dt != DT_BOOL) {
        int args[2] = { arg, nest_const(ctx, b->make.nest, ix_cell(b, 0), DT_I64, true) };
        arg = make_ew(b, n, of, op_named(b->in, "not_equal"), args, 2);
    }
    return nest_reduce(ctx, b->make.nest, (NestReduce)n->reduce, arg, nest_bits(b, spans));
}

int ix_make(IxBind *b, const IxNode *n, IxInstance *of)
{
    v_check_depth(b->in);
    if (b->make.nest->nodes > INT16_MAX - 8)
        too_many(b);
    switch ((IxKind)n->kind) {
    case IX_LEAF: return make_scalar(b, n, of, of->first_leaf + n->leaf);
    case IX_PARAM: return make_param(b, n, of);
    case IX_NUMBER:
        return nest_number(&b->in->ctx, b->make.nest, b->number[of->first_index + n->index]);
    case IX_ELEMENT: return ix_make_element(b, n, of);
    case IX_EW: return make_op(b, n, of, n->op);
    case IX_LOGIC: return make_logic(b, n, of);
    case IX_CALL: return make_call(b, n, of);
    default: return make_reduce(b, n, of);
    }
}

/* ---- a nest ---- */
static void declare_index(IxBind *b, int g)
{
    const IxSpan *s = &b->span[g];
    b->number[g] = nest_index(b->make.nest, s->index->name->text, s->extent, s->start, s->step);
}

/* Makes p the plan of a part of the tree whose result has the given indices as axes. */
void ix_plan_fill(IxBind *b, IxPlan *p, const IxNode *root, IxInstance *of, const int *axes,
                  int rank, bool table)
{
    Ctx *ctx = &b->in->ctx;
    IxPlan *target = b->target;
    NestMaker make = b->make;
    const void **cell = b->cell;
    int number[NEST_INDICES];
    uint64_t bound = find_indices(b, root, of).bound;
    memcpy(number, b->number, sizeof number);
    b->target = p;
    p->nest = nest_new(ctx);
    b->cell = arena_alloc(&b->arena, SLOTS * sizeof *b->cell);
    b->make = (NestMaker){
        .in = b->in, .nest = p->nest, .cell = b->cell, .float_powers = b->float_powers
    };
    p->rank = p->nest->out_rank = rank;
    if (!table && b->site->result)
        snprintf(p->nest->result, sizeof p->nest->result, "%.23s", b->site->result->text);
    for (int i = 0; i < rank; i++) {
        declare_index(b, axes[i]);
        p->shape[i] = b->span[axes[i]].extent;
    }
    for (uint64_t m = bound; m; m &= m - 1)
        declare_index(b, __builtin_ctzll(m));
    int made = ix_make(b, root, of);
    if (table)
        made = ix_table_root(b, root, of, made);
    p->nest->root = made;
    p->dtype = (DType)p->nest->node[made].dtype;
    p->run = nest_plan_knowing(ctx, p->nest, b->cell);
    for (int i = 0; i < p->slots; i++)
        if (p->slot[i].kind == IXV_LEAF &&
            ((b->make.values >> (i < 63 ? i : 63) & 1) || nest_relies(p->run, i)))
            b->matters[p->slot[i].from] = 1;
    b->target = target;
    b->make = make;
    b->cell = cell;
    memcpy(b->number, number, sizeof number);
}
