/* What a notation stands on: its operands evaluated in order of writing, the functions that it
 * inlines with the operands of their own, the elements in it, and the guard that tells whether
 * a plan made for other operands fits these. */
#include "interp/notation/indexnot.h"

#include "core/base/error.h"
#include "interp/state/format.h"
#include "interp/device/place.h"
#include "interp/precision/precise.h"
#include "interp/eval/eval_name.h"
#include "interp/sparse/sparse_door.h"

#include <string.h>

/* ---- leaves ---- */
/* In a scope whose nests run as ever, operands are rounded to its format here. */
static void round_leaf(Interp *in, const Exec *x, Value *v)
{
    Scope *s = precise_scope(in);
    DType dt = v_dtype(*v);
    if (!s || !precise_nests(s) || dt == DT_NONE || !strchr("fcq", dtype_info(dt)->kind) ||
        dt == s->format || dt == dtype_complex(s->format))
        return;
    in->at = x;
    const Sparse *entries = v_sparse(*v);
    if (entries) {
        Value r = precise_settle(in, s, op_named(in, "cast"), v_retain(sparse_values(entries)));
        r = sparse_with(in, entries, r);
        v_release(&in->ctx, *v);
        *v = r;
        return;
    }
    value_home(in, *v);
    Value own = *v;
    *v = v_undef();                  /* which an error releases with the stack: not twice */
    *v = precise_settle(in, s, op_named(in, "cast"), own);
}

static void eval_leaf(Interp *in, const IxLeaf *leaf, Value *to)
{
    Value v = exec_run(in, leaf->exec);
    v_release(&in->ctx, *to);
    *to = v;
    if (__builtin_expect(in->scope != NULL, 0))
        round_leaf(in, leaf->exec, to);
    if (__builtin_expect(v.tag == V_RANGE, 0) && leaf->role <= IXL_BASE) {
        in->at = leaf->exec;
        Tensor *t = v_to_tensor(in, v, 0);
        v_release(&in->ctx, v);
        *to = v_tensor_raw(t);
    }
}

void ix_round_leaves(Interp *in, const IxTree *t, Value *base)
{
    for (int i = 0; in->scope && i < t->leaves; i++)
        round_leaf(in, t->leaf[i].exec, base + i);
}

void ix_eval_leaves(Interp *in, const IxTree *t, Value *base)
{
    for (int i = 0; i < t->leaves; i++) {
        *in->sp++ = v_undef();
        eval_leaf(in, &t->leaf[i], base + i);
    }
}

static const Exec *leaf_exec(const IxInstance *inst, int i)
{
    int own = inst->tree->leaves;
    return i < own ? inst->tree->leaf[i].exec : inst->fallback[i - own];
}

/* Whoever records the notation has the leaf as it is, the notation computes with its value. */
static void leaf_seen(Interp *in, const IxInstance *inst, int i, Value *v)
{
    in->at = leaf_exec(inst, i);
    if (!in->inlined)
        err_raise_help(&in->ctx, ERR_GRAD, "pass it as an argument of the function",
                       "a function that index notation inlines uses a value of outside whose "
                       "derivative is taken");
    Value traced = *v;
    tuple_push(&in->ctx, &in->inlined, NULL, v_none());
    in->inlined->items[in->inlined->count - 1] = v_retain(traced);
    *v = v_retain(v_plain(traced));
    v_release(&in->ctx, traced);
    if (traced.tag == V_TRACED && in->scope)
        round_leaf(in, in->at, v);
}

/* The leaves of an inlined function, in a frame of its own. */
static void eval_in_frame(Interp *in, const IxInstance *inst, const Function *fn, Value *base)
{
    const FnCode *code = fn->code;
    stack_room(in, (size_t)inst->leaves + code->slots + 1);
    Value *to = base + inst->first_leaf, *frame_base = in->sp + inst->leaves;
    CallFrame frame = { .up = in->calls, .fn = fn, .site = inst->call->at, .args = frame_base,
                        .argc = 0 };
    Value *fp = in->fp;
    Tuple *seen = in->inlined;
    in->inlined = NULL;
    for (int i = 0; i < inst->leaves; i++)
        *in->sp++ = v_undef();
    for (uint32_t i = 0; i < code->slots; i++) {
        uint32_t c = i - code->params;
        *in->sp++ = i >= code->params && c < code->captured ? v_retain(fn->values[c]) : v_undef();
    }
    in->calls = &frame;
    in->fp = frame_base;
    for (int i = 0; i < inst->tree->leaves; i++)
        eval_leaf(in, &inst->tree->leaf[i], to + i);
    for (int i = inst->tree->leaves; i < inst->leaves; i++) {
        const Exec *fallback = leaf_exec(inst, i);
        to[i] = exec_run(in, fallback);
        round_leaf(in, fallback, to + i);
    }
    in->inlined = seen;
    for (int i = 0; i < inst->leaves; i++)
        if (__builtin_expect(seen != NULL || to[i].tag == V_TRACED, 0))
            leaf_seen(in, inst, i, to + i);
    for (int i = 0; i < inst->leaves && !in->place; i++)
        value_home(in, to[i]);
    in->calls = frame.up;
    in->fp = fp;
    stack_cut(in, frame_base);
}

/* Which calls come first is told by what is called, so operands that were evaluated to look at
 * another plan are those of this one: nothing is evaluated twice. */
static bool evaluated(const Interp *in, const IxInstance *inst, const Value *base)
{
    return base + inst->first_leaf + inst->leaves <= in->sp;
}

bool ix_eval_inlined(Interp *in, const IxPlan *p, Value *base)
{
    for (int i = 1; i < p->instances; i++) {
        const IxInstance *inst = p->instance[i];
        Value callee = base[inst->callee];
        if (callee.tag != V_FUNCTION || callee.fn->code != inst->code)
            return false;
        if (!evaluated(in, inst, base))
            eval_in_frame(in, inst, callee.fn, base);
    }
    return true;
}

/* ---- inlining ---- */
/* While something of an inlined function is made, its frame is the running one, so that errors show
 * its own source and the call in the notation. */
void ix_enter(Interp *in, const IxInstance *inst, const Value *base, CallFrame *frame)
{
    *frame = (CallFrame){ .up = in->calls, .fn = base[inst->callee].fn, .site = inst->call->at };
    in->calls = frame;
}

const IxNode *ix_resolve(const IxNode *n, IxInstance **of, int *leaf)
{
    while (n && n->kind == IX_PARAM) {
        const IxArg *arg = &(*of)->arg[n->leaf];
        *leaf = arg->leaf;
        n = arg->node;
        *of = arg->of;
    }
    if (n && n->kind == IX_LEAF)
        *leaf = (*of)->first_leaf + n->leaf;
    return n;
}

static int callee_leaf(IxBind *b, const IxNode *call, IxInstance *of)
{
    int leaf = -1;
    const IxNode *n = ix_resolve(call->base, &of, &leaf);
    if (n && n->kind != IX_LEAF)
        ix_error_callee(b, call, of, v_none(), IXC_COMPUTED);
    return leaf;
}

static const Op *elementwise_form(Interp *in, const Op *op)
{
    if (op->cls == OPC_EW)
        return op;
    return op->form ? op_named(in, op->form) : NULL;
}

const Op *ix_call_op(IxBind *b, const IxNode *call, IxInstance *of, DType *to)
{
    Value v = b->base[callee_leaf(b, call, of)];
    *to = DT_NONE;
    if (v.tag == V_FUNCTION)
        return NULL;
    if (v.tag == V_FORMAT && call->args == 1) {
        *to = v_format_dtype(v);
        return NULL;
    }
    if (v.tag != V_OP)
        ix_error_callee(b, call, of, v, IXC_FORM);
    const Op *op = elementwise_form(b->in, v.op);
    if (!op)
        ix_error_callee(b, call, of, v, IXC_FORM);
    if (call->args != ew_info[op->ew].arity) {
        b->in->at = call->at;
        err_raise(&b->in->ctx, ERR_TYPE, "%s takes %d argument%s, not %d: %s", op->name,
                  ew_info[op->ew].arity, ew_info[op->ew].arity == 1 ? "" : "s", call->args,
                  op_signature(b->in, op, false));
    }
    const OpSig *sig = op_sig(b->in, op);
    for (int i = 0; i < call->args; i++)
        if (call->names[i] && (i >= sig->fixed || sig->params[i].name != call->names[i]))
            ix_error_callee(b, call, of, v, IXC_ORDER);
    return op;
}

/* Of a notation that fails: a call of what cannot be taken in is the better reason. Only names are
 * looked up. */
static void check_callees(IxBind *b, const IxNode *n, IxInstance *of)
{
    DType to;
    for (int i = 0; i < n->subs; i++)
        check_callees(b, n->sub[i].at, of);
    for (int i = 0; i < n->args; i++)
        check_callees(b, n->arg[i], of);
    if (n->kind != IX_CALL || n->base->kind != IX_LEAF)
        return;
    Value callee = b->base[n->base->leaf];
    if (callee.tag == V_UNDEF || (callee.tag == V_OP && ix_reduce_plain(callee.op->name)) ||
        ix_call_op(b, n, of, &to) || to != DT_NONE)
        return;
    const IxTree *tree = ix_body(b->in, callee.fn);
    if (!tree || tree->fail)
        ix_error_callee(b, n, of, callee, tree ? IXC_BODY : IXC_FORM);
}

void ix_check_callees(Interp *in, const Exec *x, IxSite *site)
{
    const IxTree *t = &site->tree;
    IxPlan plan = { .leaves = t->leaves };
    IxInstance whole = { .tree = t, .leaves = t->leaves, .callee = -1 };
    IxBind *b = mem_zalloc(&in->ctx, sizeof *b);
    ErrFrame frame;
    b->in = in;
    b->x = x;
    b->site = site;
    b->plan = &plan;
    b->calls = in->calls;
    b->base = in->sp;
    if (!ERR_TRY(&in->ctx, &frame)) {
        mem_free(&in->ctx, b, sizeof *b);
        err_rethrow(&in->ctx);
    }
    stack_room(in, IX_LEAVES);
    for (int i = 0; i < t->leaves; i++) {
        const Node *n = t->leaf[i].exec->node;
        *in->sp++ = v_undef();
        if (t->leaf[i].role == IXL_CALLEE && n && n->kind == ND_NAME)
            b->base[i] = exec_run(in, t->leaf[i].exec);
    }
    check_callees(b, t->root, &whole);
    stack_drop(in, b->base);
    ERR_END(&in->ctx, &frame);
    mem_free(&in->ctx, b, sizeof *b);
}

static void bind_args(IxBind *b, IxInstance *inst, const IxNode *call, const FnCode *code)
{
    for (int i = 0; i < call->args; i++) {
        uint32_t p = (uint32_t)i;
        if (call->names[i])
            for (p = 0; p < code->params && code->node->list[p]->name != call->names[i];)
                p++;
        if (p >= code->params || inst->arg[p].node)
            ix_error_callee(b, call, inst->up, b->base[inst->callee], IXC_OTHERS);
        inst->arg[p] = (IxArg){ .node = call->arg[i], .of = inst->up, .leaf = -1, .made = -1 };
    }
    for (uint32_t p = 0; p < code->params; p++) {
        if (inst->arg[p].node)
            continue;
        if (!code->defaults[p])
            ix_error_callee(b, call, inst->up, b->base[inst->callee], IXC_MORE);
        inst->fallback[inst->leaves - inst->tree->leaves] = code->defaults[p];
        inst->arg[p] = (IxArg){ .of = inst, .leaf = inst->first_leaf + inst->leaves++, .made = -1 };
    }
}

static void add_spans(IxBind *b, IxInstance *inst)
{
    if (b->spans + inst->tree->indices > NEST_INDICES) {
        b->in->at = b->x;
        err_raise_help(&b->in->ctx, ERR_INDEX, "name parts of it first",
                       "with the functions that it calls, this notation has more than %d indices",
                       NEST_INDICES);
    }
    inst->first_index = b->spans;
    for (int i = 0; i < inst->tree->indices; i++)
        b->span[b->spans++] = (IxSpan){ .index = &inst->tree->index[i], .of = inst };
}

static IxInstance *instance_new(IxBind *b, const IxTree *tree)
{
    IxPlan *p = b->plan;
    IxInstance *inst = mem_zalloc(&b->in->ctx, sizeof *inst);
    p->instance[p->instances++] = inst;
    inst->tree = tree;
    inst->first_leaf = p->leaves;
    inst->leaves = tree->leaves;
    inst->callee = -1;
    return inst;
}

IxInstance *ix_instance(IxBind *b, const IxNode *call, IxInstance *of)
{
    IxPlan *p = b->plan;
    if (!call) {                                   /* the notation itself: its leaves are there */
        IxInstance *whole = instance_new(b, &b->site->tree);
        p->leaves = whole->leaves;
        add_spans(b, whole);
        return whole;
    }
    for (int i = 1; i < p->instances; i++)
        if (p->instance[i]->call == call && p->instance[i]->up == of)
            return p->instance[i];
    int callee = callee_leaf(b, call, of);
    const Function *fn = b->base[callee].fn;
    for (const IxInstance *up = of; up; up = up->up)
        if (up->code == fn->code)
            ix_error_callee(b, call, of, b->base[callee], IXC_ITSELF);
    if (p->instances == IX_INSTANCES)
        ix_error_callee(b, call, of, b->base[callee], IXC_DEEP);
    const IxTree *tree = ix_body(b->in, fn);
    if (!tree || tree->fail)
        ix_error_callee(b, call, of, b->base[callee], tree ? IXC_BODY : IXC_FORM);
    IxInstance *inst = instance_new(b, tree);
    inst->code = fn->code;
    inst->up = of;
    inst->call = call;
    inst->callee = callee;
    bind_args(b, inst, call, fn->code);
    add_spans(b, inst);
    p->leaves += inst->leaves;
    if (p->leaves > IX_LEAVES)
        ix_error_callee(b, call, of, b->base[callee], IXC_OPERANDS);
    b->in->at = b->x;
    ix_check_names(b->in, b->x, tree, fn->module, true);
    if (!evaluated(b->in, inst, b->base))
        eval_in_frame(b->in, inst, fn, b->base);
    return inst;
}

/* ---- elements ---- */
static Tensor *base_tensor(IxBind *b, const IxNode *n, IxInstance *of, int *leaf)
{
    IxInstance *at = of;
    const IxNode *base = ix_resolve(n->base, &at, leaf);
    if (base && base->kind != IX_LEAF)
        ix_error_base(b, n, of, v_undef());
    Value v = b->base[*leaf];
    if (v.tag != V_TENSOR || v.tensor->rank == 0)
        ix_error_base(b, n, of, v);
    if (v.tensor->rank != n->subs)
        ix_error_rank(b, n, of, v.tensor);
    return v.tensor;
}

static void collect_element(IxBind *b, const IxNode *n, IxInstance *of)
{
    int leaf = -1;
    for (int i = 0; i < n->subs; i++)
        ix_collect(b, n->sub[i].at, of);
    Tensor *t = base_tensor(b, n, of, &leaf);
    IxAccess *access = arena_alloc(&b->arena, sizeof *access);
    *access = (IxAccess){ .node = n, .of = of, .leaf = leaf, .tensor = t, .slot = -1, .load = -1 };
    access->sub = arena_alloc(&b->arena, (size_t)n->subs * sizeof *access->sub);
    for (int i = 0; i < n->subs; i++) {
        IxInstance *at = of;
        const IxNode *sub = ix_resolve(n->sub[i].at, &at, &leaf);
        access->sub[i].lone = sub && sub->kind == IX_NUMBER && !n->sub[i].wrap;
        access->sub[i].kind =
            ix_affine(b, n->sub[i].at, of, &access->sub[i].at) ? IXS_AFFINE : IXS_GATHER;
    }
    if (b->last)
        b->last->next = access;
    else
        b->accesses = access;
    b->last = access;
}

void ix_collect(IxBind *b, const IxNode *n, IxInstance *of)
{
    DType to;
    v_check_depth(b->in);
    if (n->kind == IX_ELEMENT) {
        collect_element(b, n, of);
        return;
    }
    for (int i = 0; i < n->args; i++)
        ix_collect(b, n->arg[i], of);
    if (n->kind == IX_CALL && !ix_call_op(b, n, of, &to) && to == DT_NONE) {
        IxInstance *inst = ix_instance(b, n, of);
        ix_collect(b, inst->tree->root, inst);
    }
}

/* ---- names of reductions ---- */
void ix_check_names(Interp *in, const Exec *x, const IxTree *t, const Module *m, bool inlined)
{
    for (int i = 0; i < t->reduction_count; i++) {
        const Node *n = t->reductions[i];
        bool local = n->scope == SCOPE_LOCAL && (inlined || in->fp[n->slot].tag != V_UNDEF);
        bool global = n->scope == SCOPE_GLOBAL && m->slots[n->slot].tag != V_UNDEF;
        if (!local && !global && n->scope != SCOPE_SELF)
            continue;
        in->at = x;
        Error *e =
            err_new(&in->ctx, ERR_INDEX, "%s[…] is a reduction, and there is a variable %s too",
                    n->name->text, n->name->text);
        err_at(e, t->source, n->mark);
        const Node *first = n->list[0]->a;
        err_help(e, "to index the variable write (%s)[%s]; to reduce, rename the variable",
                 n->name->text, first->kind == ND_NAME ? first->name->text : "…");
        err_throw(e);
    }
}

/* ---- guards ---- */
static bool tensor_fits(const IxGuard *g, const int64_t *dims, const Tensor *t)
{
    return t->dtype == g->dtype && t->rank == g->rank && !tensor_sparse(t) &&
           memcmp(t->dims, dims + g->dims, 2 * (size_t)t->rank * sizeof *dims) == 0 &&
           (!g->value || element_i64((DType)t->dtype, t->data) == g->i);
}

static bool value_fits(const IxGuard *g, Value v)
{
    switch (v.tag) {
    case V_RANGE:
        return v.range->start == g->i && v.range->step == g->step && v.range->count == g->count;
    case V_FUNCTION: return (const void *)v.fn->code == g->object;
    case V_OP: case V_FORMAT: return v.ptr == g->object;
    default: return !g->value || v.i == g->i;
    }
}

const Exec *ix_leaf_exec(const IxPlan *p, int leaf)
{
    for (int i = p->instances; i-- > 0;) {
        const IxInstance *inst = p->instance[i];
        int at = leaf - inst->first_leaf;
        if (at >= 0)
            return at < inst->tree->leaves ? inst->tree->leaf[at].exec
                                           : inst->fallback[at - inst->tree->leaves];
    }
    return NULL;
}

bool ix_guard_holds(const IxPlan *p, const Value *base)
{
    for (int i = 0; i < p->leaves; i++) {
        const IxGuard *g = &p->guard[i];
        Value v = base[i];
        if (v.tag != g->tag ||
            !(v.tag == V_TENSOR ? tensor_fits(g, p->dims, v.tensor) : value_fits(g, v)))
            return false;
        if (__builtin_expect(g->weak_name != NULL, 0) && exec_weak(g->weak_name) != g->weak)
            return false;
    }
    return true;
}

static void guard_leaf(IxPlan *p, IxGuard *g, Value v, bool matters)
{
    g->tag = (uint8_t)v.tag;
    g->value = matters;
    if (v.tag == V_TENSOR) {
        const Tensor *t = v.tensor;
        g->dtype = t->dtype;
        g->rank = t->rank;
        g->dims = p->dim_count;
        memcpy(p->dims + p->dim_count, t->dims, 2 * (size_t)t->rank * sizeof *p->dims);
        p->dim_count += 2 * t->rank;
        g->value = matters && t->rank == 0 && dtype_info(t->dtype)->kind == 'i';
        g->i = g->value ? element_i64((DType)t->dtype, t->data) : 0;
    } else if (v.tag == V_RANGE) {
        g->i = v.range->start;
        g->step = v.range->step;
        g->count = v.range->count;
    } else if (v.tag == V_FUNCTION) {
        g->object = v.fn->code;
    } else {
        g->object = v.ptr;
        g->i = v.i;
    }
}

void ix_guard_make(IxBind *b)
{
    IxPlan *p = b->plan;
    size_t dims = 1;
    for (int i = 0; i < p->leaves; i++)
        dims += b->base[i].tag == V_TENSOR ? 2u * b->base[i].tensor->rank : 0;
    p->guard = mem_zalloc(&b->in->ctx, ((size_t)p->leaves + 1) * sizeof *p->guard);
    p->guards = p->leaves + 1;
    p->dims = mem_alloc(&b->in->ctx, dims * sizeof *p->dims);
    p->dim_cap = dims;
    for (int i = 0; i < p->leaves; i++) {
        const Exec *x = ix_leaf_exec(p, i);
        guard_leaf(p, &p->guard[i], b->base[i], b->matters[i]);
        if (x->flags & XF_WEAK_NAME) {
            p->guard[i].weak_name = x;
            p->guard[i].weak = exec_weak(x);
        }
    }
}
