/* Index notation at run time: operands, the plan that fits them or a new one, one run of its nest.
 * Plans belong to the syntax node and die with its chunk. See indexnot.h for the parts. */
#include "interp/notation/indexnot.h"
#include "interp/state/wing.h"
#include "interp/state/frames.h"

#include "core/base/error.h"
#include "core/base/mem.h"
#include "interp/op/arith.h"
#include "interp/precision/autocast.h"
#include "interp/op/elementwise.h"
#include "interp/op/traced.h"
#include "interp/door/pipeline.h"
#include "interp/device/place.h"
#include "interp/precision/precise.h"
#include "interp/eval/eval_name.h"
#include "interp/lower/lower.h"

#include <string.h>

enum { SLOTS_FEW = 24, SLOTS_MOST = 2048 };

/* ---- plans ---- */
void ix_plan_free(Ctx *ctx, IxPlan *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->instances; i++)
        mem_free(ctx, p->instance[i], sizeof *p->instance[i]);
    for (int i = 0; i < p->auxes; i++)
        ix_plan_free(ctx, p->aux[i].table);
    nest_plan_free(ctx, p->run);
    nest_free(ctx, p->nest);
    mem_free(ctx, p->guard, (size_t)p->guards * sizeof *p->guard);
    mem_free(ctx, p->dims, p->dim_cap * sizeof *p->dims);
    mem_free(ctx, p->slot, (size_t)p->slot_cap * sizeof *p->slot);
    mem_free(ctx, p->aux, (size_t)p->aux_cap * sizeof *p->aux);
    mem_free(ctx, p->cell, (size_t)p->cell_cap * sizeof *p->cell);
    mem_free(ctx, p, sizeof *p);
}

static void site_free(Ctx *ctx, void *what)
{
    IxSite *site = what;
    for (int i = 0; i < site->plans; i++)
        ix_plan_free(ctx, site->plan[i]);
    site->plans = 0;
    for (int i = 0; i < IX_ADJOINTS; i++) {
        v_release(ctx, site->adjoint[i].function);
        mem_free(ctx, site->adjoint[i].key, site->adjoint[i].bytes);
        site->adjoint[i] = (IxKept){ .function = v_undef() };
    }
}

/* The plan used last stands first. */
static void first_plan(IxSite *site, IxPlan *p)
{
    int i = 0;
    while (i < site->plans && site->plan[i] != p)
        i++;
    if (i == site->plans)
        return;
    memmove(site->plan + 1, site->plan, (size_t)i * sizeof *site->plan);
    site->plan[0] = p;
}

/* The one that was not used for longest goes. False: all of them are in use. */
static bool keep_plan(Ctx *ctx, IxSite *site, IxPlan *p)
{
    int last = site->plans;
    if (last == IX_PLANS) {
        while (last > 0 && site->plan[last - 1]->busy)
            last--;
        if (last == 0)
            return false;
        ix_plan_free(ctx, site->plan[--last]);
    } else {
        site->plans++;
    }
    memmove(site->plan + 1, site->plan, (size_t)last * sizeof *site->plan);
    site->plan[0] = p;
    return true;
}

/* ---- running ---- */
/* The frames of the calls that lead to an inlined function, the outermost first. */
static void enter_all(Interp *in, const IxInstance *inst, const Value *base, CallFrame *frames,
                      int depth)
{
    if (!inst->up || depth == IX_INSTANCES)
        return;
    enter_all(in, inst->up, base, frames + 1, depth + 1);
    ix_enter(in, inst, base, frames);
}

_Noreturn static void raise_trouble(Interp *in, const Exec *x, const IxPlan *p, const Value *base,
                                    EwTrouble trouble)
{
    _Alignas(16) char zero[ELEMENT_BYTES_MAX] = { 0 };
    CallFrame frames[IX_INSTANCES];
    in->at = x;
    for (int i = 0; i < p->troubles; i++) {
        const IxTrouble *t = &p->trouble[i];
        bool division = ew_divides(t->op->ew);
        Tensor like = { .refs = 1, .dtype = t->dtype, .size = 1, .data = zero };
        if (trouble != (division ? EWT_DIVZERO : EWT_SHIFT))
            continue;
        enter_all(in, t->of, base, frames, 0);
        in->at = t->at;
        if (division)
            arith_division_error(in, t->op, v_tensor_raw(&like));
        ew_shift_error(in, t->op);
    }
    err_raise(&in->ctx, ERR_VALUE, trouble == EWT_DIVZERO ? "division by an integer 0"
                                                          : "a negative count of bits");
}

static inline EwTrouble run_with(Interp *in, const Exec *x, const IxPlan *p, const Value *base,
                                 void *out, const void **data)
{
    Value *aux = in->sp;
    if (p->auxes)
        ix_prepare(in, x, p, base, aux);
    for (int i = 0; i < p->slots; i++)
        data[i] = ix_slot_data(p, &p->slot[i], base, aux);
    EwTrouble trouble = nest_run(&in->ctx, p->run, out, data);
    stack_drop(in, aux);
    poll_interrupt(in);
    return trouble;
}

static __attribute__((noinline))
EwTrouble run_many(Interp *in, const Exec *x, const IxPlan *p, const Value *base, void *out)
{
    const void *data[SLOTS_MOST];
    return run_with(in, x, p, base, out, data);
}

EwTrouble ix_plan_run(Interp *in, const Exec *x, const IxPlan *p, const Value *base, void *out)
{
    const void *data[SLOTS_FEW];
    in->at = x;
    EwTrouble trouble = p->slots > SLOTS_FEW ? run_many(in, x, p, base, out)
                                             : run_with(in, x, p, base, out, data);
    if (__builtin_expect(trouble != EWT_NONE && trouble != EWT_INT_POWER, 0))
        raise_trouble(in, x, p, base, trouble);
    return trouble;
}

/* False: an int met a negative power, and it is to be done again in f64. */
static bool run_value(Interp *in, const Exec *x, const IxPlan *p, const Value *base, Value *result)
{
    if (p->rank == 0) {
        _Alignas(16) char cell[ELEMENT_BYTES_MAX];
        if (ix_plan_run(in, x, p, base, cell) != EWT_NONE)
            return false;
        *result = v_element(&in->ctx, p->dtype, cell);
        return true;
    }
    in->at = x;
    Tensor *out = tensor_new(&in->ctx, p->dtype, p->rank, p->shape);
    v_push(in, v_tensor_raw(out));
    bool nothing = out->size == 0 && p->auxes == 0;  /* gathers are checked all the same */
    bool done = nothing || ix_plan_run(in, x, p, base, out->data) == EWT_NONE;
    in->sp--;
    if (done)
        *result = v_tensor_raw(out);
    else
        tensor_release(&in->ctx, out);
    return done;
}

static inline bool plan_value(Interp *in, const Exec *x, const IxPlan *p, const Value *base,
                              Value *result)
{
    bool done = run_value(in, x, p, base, result);
    if (heard_on(in) && done)
        ix_tell(in, x, p, base, *result);
    return done;
}

/* ---- making a plan ---- */
/* Numbers that nests do not know: fractions, and dtypes without kernels of their own. */
static bool any_special(const IxPlan *p, const Value *base)
{
    for (int i = 0; i < p->leaves; i++)
        if (base[i].tag == V_TENSOR && base[i].tensor->dtype >= DT_RATIONAL)
            return true;
    return false;
}

/* Is the notation computed by operations on whole tensors, which round every one? */
static bool by_tensors(IxBind *b, IxInstance *whole)
{
    const Interp *in = b->in;
    const Scope *s = precise_scope(in);
    if ((s && !precise_nests(s)) || ix_autocast_sums(b, &b->site->tree, whole))
        return true;
    return b->exact || ((in->ctx.cells || in->ctx.foreign) && any_special(b->plan, b->base));
}

/* The scope, of which nests know only formats to nearest. */
static uint64_t precision_stamp(const Interp *in)
{
    const Scope *s = precise_scope(in);
    return s ? (uint64_t)s->format << 1 | precise_nests(s)
             : (uint64_t)DT_NONE << 1 | ix_autocast_apart(in);
}

/* Everything is checked here, before anything is computed. */
static Value bind_checked(IxBind *b)
{
    int axes[IX_AXES];
    const IxTree *tree = &b->site->tree;
    IxInstance *whole = ix_instance(b, NULL, NULL);
    whole->frame = b->calls;
    ix_collect(b, tree->root, whole);
    ix_infer(b);
    ix_bounds(b);
    if (ix_sparse_any(b))
        return ix_sparse(b, tree->root, whole);
    if (by_tensors(b, whole)) {
        ix_tell_scores(b, tree->root, whole);
        return ix_exact(b, tree->root, whole);
    }
    for (int i = 0; i < tree->out_rank; i++)
        axes[i] = i;
    ix_plan_fill(b, b->plan, tree->root, whole, axes, tree->out_rank, false);
    ix_guard_make(b);
    return v_undef();
}

typedef struct Sparsely { const Exec *x; IxSite *site; } Sparsely;

/* A plan for these operands, or the value where it was computed the exact way. */
enum { MAKE_FLOAT_POWERS = 1, MAKE_EXACT = 2 };

static IxPlan *make_plan(Interp *in, const Exec *x, IxSite *site, Value *base, int how,
                         DType product, Value *exact)
{
    Ctx *ctx = &in->ctx;
    IxBind *b = mem_zalloc(ctx, sizeof *b);
    ErrFrame frame;
    *b = (IxBind){ .in = in, .x = x, .site = site, .base = base, .calls = in->calls,
                    .float_powers = how & MAKE_FLOAT_POWERS, .exact = how & MAKE_EXACT,
                    .product = product };
    arena_init(&b->arena, ctx);
    if (!ERR_TRY(ctx, &frame)) {
        ix_plan_free(ctx, b->plan);
        arena_free(&b->arena);
        mem_free(ctx, b, sizeof *b);
        err_rethrow(ctx);
    }
    b->plan = b->target = mem_zalloc(ctx, sizeof *b->plan);
    b->plan->autocast = autocast_format(in);
    b->plan->precision = precision_stamp(in);
    b->plan->product = product;
    *exact = bind_checked(b);
    ERR_END(ctx, &frame);
    IxPlan *p = b->plan;
    arena_free(&b->arena);
    mem_free(ctx, b, sizeof *b);
    if (exact->tag == V_UNDEF)
        return p;
    ix_plan_free(ctx, p);
    return NULL;
}

/* A new plan for each run: what a notation does with entries depends on no plan. */
static Value run_sparse(Interp *in, const Value *args, void *data)
{
    const Sparsely *s = data;
    Value *base = in->sp, result;
    stack_room(in, IX_LEAVES + 64);
    for (int i = 0; i < s->site->tree.leaves; i++)
        v_push(in, v_retain(args[i]));
    make_plan(in, s->x, s->site, base, 0, DT_NONE, &result);
    stack_drop(in, base);
    return result;
}

static Value run_densely(Interp *in, const Value *args, void *data)
{
    return run_sparse(in, args, data);
}

/* Work of the door, whose sparse form it is. */
static Value sparse_value(Interp *in, const Exec *x, IxSite *site, const Value *base)
{
    Sparsely s = { x, site };
    in->at = x;
    return work_call(in, &(Work){ .name = "index notation", .run = run_densely,
                                  .sparse = run_sparse, .data = &s }, base, site->tree.leaves);
}

static bool any_sparse(const Value *base, int leaves)
{
    for (int i = 0; i < leaves; i++)
        if (v_sparse(base[i]))
            return true;
    return false;
}

Value ix_run_exact(Interp *in, const Exec *x, IxSite *site, Value *base)
{
    Value result;
    make_plan(in, x, site, base, MAKE_EXACT, DT_NONE, &result);
    return result;
}

/* Calls that a plan inlines may run anything, this notation too: the plan must stay meanwhile. */
static bool eval_inlined(Interp *in, IxPlan *p, Value *base)
{
    ErrFrame frame;
    p->busy++;
    if (!ERR_TRY(&in->ctx, &frame)) {
        p->busy--;
        err_rethrow(&in->ctx);
    }
    bool same = ix_eval_inlined(in, p, base);
    ERR_END(&in->ctx, &frame);
    p->busy--;
    return same;
}

static IxPlan *find_plan(Interp *in, IxSite *site, Value *base, DType product)
{
    for (int i = 0; i < site->plans; i++) {
        IxPlan *p = site->plan[i];
        if (p->autocast != autocast_format(in) || p->precision != precision_stamp(in) ||
            p->product != product)
            continue;
        bool fits = p->instances == 1 || eval_inlined(in, p, base);
        if (fits && ix_guard_holds(p, base)) {
            if (i > 0)
                first_plan(site, p);
            return p;
        }
    }
    return NULL;
}

/* Runs a plan that is not kept, and frees it. */
static bool run_once(Interp *in, const Exec *x, IxPlan *p, const Value *base, Value *result)
{
    ErrFrame frame;
    if (!ERR_TRY(&in->ctx, &frame)) {
        ix_plan_free(&in->ctx, p);
        err_rethrow(&in->ctx);
    }
    bool done = plan_value(in, x, p, base, result);
    ERR_END(&in->ctx, &frame);
    ix_plan_free(&in->ctx, p);
    return done;
}

static __attribute__((noinline))
Value run_new(Interp *in, const Exec *x, IxSite *site, Value *base, bool float_powers,
              DType product)
{
    Value result;
    IxPlan *p = make_plan(in, x, site, base, float_powers ? MAKE_FLOAT_POWERS : 0,
                          product, &result);
    if (!p)
        return result;
    bool kept = !float_powers && keep_plan(&in->ctx, site, p); /* those fit these exponents only */
    bool done = kept ? plan_value(in, x, p, base, &result) : run_once(in, x, p, base, &result);
    if (done && kept && p->notices)
        ix_notice(in, x, site, p, base, result);
    if (done)
        return result;
    return run_new(in, x, site, base, true, product);
}

Value ix_run(Interp *in, const Exec *x, IxSite *site, Value *base, DType product)
{
    Value result;
    const IxPlan *p = find_plan(in, site, base, product);
    if (__builtin_expect(!p, 0))
        return run_new(in, x, site, base, false, product);
    if (__builtin_expect(!plan_value(in, x, p, base, &result), 0))
        return run_new(in, x, site, base, true, product);
    if (__builtin_expect(p->notices, 0))
        ix_notice(in, x, site, p, base, result);
    return result;
}

const IxPlan *ix_plan_for(Interp *in, const Exec *x, IxSite *site, Value *base, Value *result)
{
    *result = v_undef();
    IxPlan *p = find_plan(in, site, base, DT_NONE);
    if (p || !(p = make_plan(in, x, site, base, 0, DT_NONE, result)))
        return p;
    if (keep_plan(&in->ctx, site, p))
        return p;
    ix_plan_free(&in->ctx, p);
    return NULL;
}

Value ix_value(Interp *in, const Exec *x, IxSite *site, Value *base)
{
    Scope *s = in->scope;
    bool casts = autocast_format(in) != DT_NONE && !ix_autocast_apart(in);
    uint64_t seen = casts ? s->flags.overflow + s->flags.invalid : 0;
    if (casts)
        ix_autocast(in, &site->tree, base);
    Value r = sparse_on(in) && any_sparse(base, site->tree.leaves) ? sparse_value(in, x, site, base)
            : aspects_on(in) ? ix_run_asked(in, x, site, base)
                             : ix_run(in, x, site, base, DT_NONE);
    if (casts && s->counts && seen == s->flags.overflow + s->flags.invalid)
        autocast_count(in, s, base, site->tree.leaves, r);
    return r;
}

static Value eval_indexnot(Interp *in, const Exec *x)
{
    IxSite *site = x->data;
    Value *base = in->sp, result;
    if (__builtin_expect(site->tree.fail != NULL, 0)) {
        if (site->tree.fail->once)
            ix_check_callees(in, x, site);
        ix_raise(in, x, &site->tree);
    }
    stack_room(in, IX_LEAVES + 64);
    if (site->tree.reduction_count)
        ix_check_names(in, x, &site->tree, interp_module(in), false);
    ix_eval_leaves(in, &site->tree, base);
    result = traced_on(in) && (traced_inside(base, site->tree.leaves) || traced_hears(in))
             ? in->traces->notation(in, x, site, base) : ix_value(in, x, site, base);
    stack_drop(in, base);
    return result;
}

/* ---- lowering ---- */
const Exec *lower_indexnot(Lower *lo, const Node *n)
{
    IxSite *site = lower_alloc(lo, sizeof *site);
    Exec *x = exec_new(lo, eval_indexnot, n);
    x->data = site;
    site->node = n;
    site->ctx = &lo->in->ctx;
    site->result = n->kind != ND_DEFINE     ? NULL
                   : n->a->kind == ND_INDEX ? n->a->a->name
                                            : n->a->name;
    ix_analyse(lo, site, n);
    chunk_own(lo->chunk, site_free, site);
    return x;
}

static const LowerRow rows[] = { { ND_REDUCE, lower_indexnot } };
const Wing wing_notation = { .rows = rows, .count = 1, .undefined = ix_raise_store };
