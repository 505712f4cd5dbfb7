/* Gradients of index notation as index notation. The tree, with the functions that it inlines taken
 * in, becomes one expression; a weight, the cotangent of a part as a product of factors, goes down
 * from the result through it. At a reduction a weight that is more than elements multiplied becomes
 * a statement of its own, summed over what the part below does not have, so that no statement runs
 * over more indices than the notation did; at an operand it becomes a term of its gradient. */
#include "interp/notation/indexnot_adjoint.h"

#include "core/base/error.h"
#include "interp/eval/eval_name.h"

#include <string.h>

/* ---- the tree as an expression ---- */
static AdEx *build(Ad *a, const IxNode *n, IxInstance *of);

static DType leaf_dtype(const Ad *a, int leaf)
{
    Value v = a->b->base[leaf];
    return v_is_numeric(v) ? v_dtype(v) : DT_NONE;
}

static AdEx *leaf_operand(Ad *a, int leaf)
{
    const AdLeaf *l = &a->leaf[leaf];
    AdEx *x = ad_text(a, l->text);
    DType dt = leaf_dtype(a, leaf);
    x->literal = l->literal;
    Value v = a->b->base[leaf];
    x->whole = l->literal && (v.tag == V_INT || (v.tag == V_FLOAT && v.f == 0));
    x->value = x->whole && v.tag == V_INT ? v.i : 0;
    x->is_complex = dt != DT_NONE && dtype_info(dt)->kind == 'c';
    x->leaf = leaf;
    x->needs = l->wanted;
    return x;
}

static AdEx *element(Ad *a, const IxNode *n, IxInstance *of)
{
    int leaf = -1;
    IxInstance *at = of;
    ix_resolve(n->base, &at, &leaf);
    AdEx *x = ad_load(a, a->leaf[leaf].name, n->subs);
    for (int i = 0; i < n->subs; i++) {
        x->arg[i] = ad_hoist(a, build(a, n->sub[i].at, of));
        x->wrap[i] = n->sub[i].wrap;
    }
    ad_done(x);
    x->leaf = leaf;
    x->is_complex = a->leaf[leaf].is_complex;
    x->needs = a->leaf[leaf].wanted;
    return x;
}

/* x, of op, gives bools or positions. */
static void cut(Ad *a, AdEx *x, const Op *op, const Exec *at)
{
    for (int k = 0; k < x->args && !a->out->cut; k++)
        if (x->arg[k]->needs) {
            a->out->cut = op;
            a->out->cut_at = at;
        }
    x->needs = x->is_complex = x->risky = false;
}

static AdEx *operation(Ad *a, const IxNode *n, IxInstance *of, const Op *op)
{
    AdEx *arg[3] = { NULL }, *x;
    for (int i = 0; i < n->args && i < 3; i++)
        arg[i] = build(a, n->arg[i], of);
    if (n->args == 2 && op->infix)
        x = ad_binary(a, op->infix, arg[0], arg[1]);
    else if (n->args == 1 && op->ew == EW_NEGATIVE)
        x = ad_negative(a, arg[0]);
    else if (op->ew == EW_WHERE)
        x = ad_where(a, arg[0], arg[1], arg[2]);
    else
        x = ad_call(a, op->name, arg, n->args);
    x->op = op;
    x->at = n->at;
    if (ew_info[op->ew].result == RES_BOOL)
        cut(a, x, op, n->at);
    return x;
}

static AdEx *call(Ad *a, const IxNode *n, IxInstance *of)
{
    DType to;
    const Op *op = ix_call_op(a->b, n, of, &to);
    if (op)
        return operation(a, n, of, op);
    if (to != DT_NONE) {
        AdEx *arg = build(a, n->arg[0], of), *x = ad_call(a, dtype_name(to), &arg, 1);
        x->risky = arg->risky;
        x->is_complex = dtype_info(to)->kind == 'c';
        bool whole = strchr("ib", dtype_info(to)->kind) != NULL;
        if (whole && x->needs && !a->again && !a->out->at)
            a->out->at = n->at;
        if (whole && x->needs && !a->again)
            ad_lack(a, "%s(…) has no gradient", dtype_name(to));
        x->needs &= !whole;
        return x;
    }
    IxInstance *inst = ix_instance(a->b, n, of);
    return build(a, inst->tree->root, inst);
}

/* sum[j] x[j]/y as (sum[j] x[j])/y: then the divisor's slope has the notation's value in it, and is
 * no sum over j again. */
static AdEx *sum_divided(Ad *a, uint64_t over, AdEx *x)
{
    AdEx *sum = ad_reduce(a, IXR_SUM, over, x->arg[0]), *r = ad_binary(a, "/", sum, x->arg[1]);
    r->op = x->op;
    r->at = x->at;
    return r;
}

static AdEx *reduction(Ad *a, const IxNode *n, IxInstance *of)
{
    IxReduce r = (IxReduce)n->reduce;
    uint64_t over = n->over << of->first_index;
    AdEx *body = build(a, n->arg[0], of);
    if (r == IXR_SUM && body->kind == AD_INFIX && body->op && body->op->ew == EW_DIVIDE &&
        !(body->arg[1]->free & over) && body->arg[1]->needs)
        return sum_divided(a, over, body);
    AdEx *x = ad_reduce(a, r, over, body);
    if (ix_reduce_facts(r) & (R_PLACE | R_BOOLS))
        cut(a, x, op_named(a->b->in, ix_reduce_word(r)), n->at);
    return x;
}

static AdEx *build(Ad *a, const IxNode *n, IxInstance *of)
{
    int leaf = -1;
    v_check_depth(a->b->in);
    switch ((IxKind)n->kind) {
    case IX_PARAM: case IX_LEAF:
        n = ix_resolve(n, &of, &leaf);
        return n && n->kind != IX_LEAF ? build(a, n, of) : leaf_operand(a, leaf);
    case IX_NUMBER: return a->shown[of->first_index + n->index];
    case IX_ELEMENT: return element(a, n, of);
    case IX_EW: case IX_LOGIC: return operation(a, n, of, n->op);
    case IX_CALL: return call(a, n, of);
    default: return reduction(a, n, of);
    }
}

/* ---- operands ---- */
static bool name_free(const Ad *a, const char *name)
{
    return !ad_taken(a, name) && strcmp(name, "result") != 0;
}

static bool wants(const Ad *a, int leaf, uint64_t wanted)
{
    DType dt = leaf_dtype(a, leaf);
    bool number = dt != DT_NONE && dt != DT_BOOL && a->b->base[leaf].tag != V_RANGE;
    return number && (wanted >> (leaf < 63 ? leaf : 63) & 1);
}

static const char *source_text(Ad *a, const Node *n)
{
    Buf out;
    buf_init(&out, &a->b->in->ctx);
    print_node(&out, n);
    const char *text = arena_copy(a->arena, buf_cstr(&out), out.len);
    buf_free(&out);
    return text;
}

/* Literals stand in the statements as they were written, so that they adapt as ever. */
static void name_leaves(Ad *a, uint64_t wanted)
{
    for (int i = 0; i < a->out->leaves; i++) {
        AdLeaf *leaf = &a->leaf[i];
        const Exec *x = ix_leaf_exec(a->b->plan, i);
        const Node *n = x->node;
        bool lone = n && n->kind == ND_NAME && name_free(a, n->name->text);
        DType dt = leaf_dtype(a, i);
        leaf->name = ad_name(a, lone ? n->name->text : ad_format(a, "v%d", i));
        leaf->literal = n && exec_weak(x);
        leaf->source = n ? source_text(a, n) : leaf->name;
        leaf->text = leaf->literal ? leaf->source : leaf->name;
        leaf->wanted = !leaf->literal && wants(a, i, wanted);
        leaf->is_complex = dt != DT_NONE && dtype_info(dt)->kind == 'c';
    }
    const Name *result = a->b->site->result;
    a->result = ad_name(a, result && name_free(a, result->text) ? result->text : "result");
    a->cotangent = ad_name(a, ad_format(a, "d%s", result ? result->text : a->result));
    for (int i = 0; i < a->out->leaves; i++)
        if (a->leaf[i].wanted)
            a->leaf[i].grad = ad_name(a, ad_format(a, "d%s", a->leaf[i].name));
}

static void write_head(Ad *a)
{
    Buf *out = &a->out->text;
    buf_putc(out, '(');
    for (int i = 0; i < a->out->leaves; i++)
        buf_printf(out, "%s%s", a->leaf[i].name,
                   a->forward && i + 1 == a->out->leaves ? "" : ", ");
    if (a->forward)
        buf_puts(out, ") -> {\n");
    else
        buf_printf(out, "%s, %s) -> {\n", a->result, a->cotangent);
}

static void write_tail(Ad *a)
{
    Buf *out = &a->out->text;
    buf_puts(out, "    (");
    for (int i = 0; i < a->out->leaves; i++) {
        buf_printf(out, "%s%s", i ? ", " : "", a->leaf[i].written ? a->leaf[i].grad : "none");
        a->out->gives |= (uint64_t)a->leaf[i].written << (i < 63 ? i : 63);
    }
    buf_printf(out, "%s)\n}", a->out->leaves == 1 ? "," : "");
}

/* ---- indices ---- */
static AdEx *from(Ad *a, AdEx *start, AdEx *step, int id)
{
    return ad_infix(a, "+", start, ad_infix(a, "*", step, ad_index(a, id)));
}

/* An index with a range of its own counts the values of it from 0 on. */
static void index_of_range(Ad *a, const IxSpan *s, int id)
{
    const IxIndex *index = s->index;
    AdIndex *to = &a->index[id];
    int first = s->of->first_leaf;
    to->forced = true;
    if (index->range == IXG_VALUE) {
        const char *range = a->leaf[first + index->part[0]].name;
        const char *start = ad_name(a, "start"), *step = ad_name(a, "step");
        buf_printf(&a->out->text, "    %s = if len(%s) > 0 { %s[0] } else { 0 }\n", start, range,
                   range);
        buf_printf(&a->out->text, "    %s = if len(%s) > 1 { %s[1] - %s[0] } else { 1 }\n", step,
                   range, range, range);
        to->length = ad_format(a, "len(%s)", range);
        a->shown[id] = from(a, ad_text(a, start), ad_text(a, step), id);
        return;
    }
    AdEx *start = leaf_operand(a, first + index->part[0]);
    AdEx *step = index->part[2] < 0 ? ad_whole(a, 1) : leaf_operand(a, first + index->part[2]);
    AdEx *end = leaf_operand(a, first + index->part[1]);
    const char *stop = end->text;
    a->shown[id] = from(a, start, step, id);
    to->length = ad_is(start, 0) && ad_is(step, 1) ? stop
                 : ad_is(step, 1) ? ad_format(a, "len(%s:%s)", start->text, stop)
                                  : ad_format(a, "len(%s:%s:%s)", start->text, stop, step->text);
    if (!ad_is(step, 1))
        return;
    if (start->whole && end->whole && start->value >= 0 && end->value >= start->value)
        to->slice = ad_format(a, "%s:%s", start->text, stop);
    else if (ad_is(start, 0))
        to->slice = ad_format(a, "0:len(0:%s)", stop);
    else
        to->slice = ad_format(a, "%s:%s + len(%s:%s)", start->text, start->text, start->text, stop);
}

static void make_index(Ad *a, int g)
{
    IxBind *b = a->b;
    const IxSpan *s = &b->span[g];
    const char *name = s->index->name->text;
    int id = ad_index_new(a, ad_taken(a, name) ? "i" : name, NULL, s->extent);
    AdIndex *to = &a->index[id];
    a->shown[id] = ad_index(a, id);
    if (s->index->range)
        index_of_range(a, s, id);
    else if (s->from && s->from->sub[s->axis].lone)
        to->length =
            ad_format(a, "shape(%s)[%d]", a->leaf[s->from->leaf].name, s->axis);
    else if (s->index->left && !a->forward)
        to->length = ad_format(a, "shape(%s)[%d]", a->cotangent, g);
    else {
        to->length = ad_format(a, "%lld", (long long)s->extent);
        a->shown[id] = from(a, ad_whole(a, s->start), ad_whole(a, 1), id);
        a->out->sized = true;
    }
}

/* ---- the way down ---- */
static void down(Ad *a, AdEx *x, const AdWeight *w);

static void add_term(Ad *a, const AdEx *x, const AdWeight *w)
{
    AdLeaf *leaf = &a->leaf[x->leaf];
    AdTerm *t = arena_alloc(a->arena, sizeof *t);
    *t = (AdTerm){ .at = x, .w = *w };
    if (leaf->last)
        leaf->last->next = t;
    else
        leaf->terms = t;
    leaf->last = t;
}

/* Elements multiplied, and divided by some. */
static bool elements(const AdWeight *w)
{
    for (int i = 0; i < w->count; i++) {
        const AdEx *x = w->factor[i];
        if (x->kind == AD_INFIX && x->text[0] == '/' && ad_is(x->arg[0], 1))
            x = x->arg[1];
        if (x->kind != AD_LOAD && x->kind != AD_TEXT)
            return false;
    }
    return true;
}

static void push(Ad *a, AdWeight *w, AdEx *x)
{
    if (w->count == AD_FACTORS)
        ad_lack(a, "a product in it has more than %d factors", AD_FACTORS);
    else
        w->factor[w->count++] = x;
}

static AdEx *inverse(Ad *a, AdEx *x)
{
    AdEx *y = ad_infix(a, "/", ad_whole(a, 1), x);
    y->risky = false;
    return y;
}

static void down_mean(Ad *a, const AdEx *x, AdWeight *w)
{
    for (uint64_t m = x->over; m; m &= m - 1)
        push(a, w, inverse(a, ad_text(a, a->index[__builtin_ctzll(m)].length)));
}

/* In equal parts to the places that reach the extreme. What holds sums is compared with an extreme
 * of the very same values: another plan may round them otherwise. */
static void down_extreme(Ad *a, AdEx *x, AdWeight *w)
{
    AdEx *here = ad_hoist(a, x->arg[0]), *one = ad_whole(a, 1), *zero = ad_whole(a, 0);
    AdEx *extreme = x->arg[0]->reduces ? ad_hoist(a, x) : ad_value(a, x);
    AdEx *reached = ad_where(a, ad_infix(a, "==", here, extreme), one, zero);
    push(a, w, reached);
    push(a, w, inverse(a, ad_hoist(a, ad_reduce(a, IXR_SUM, x->over, reached))));
}

/* The product of the others, which needs no quotient and so is right at zeros. */
static void down_product(Ad *a, AdEx *x, AdWeight *w)
{
    AdEx *other = ad_hoist(a, x->arg[0]), *same = NULL;
    uint64_t over = 0;
    int ids = a->ids;
    for (uint64_t m = x->over; m; m &= m - 1) {
        int id = __builtin_ctzll(m);
        int copy = ad_index_new(a, a->index[id].name, a->index[id].length, a->index[id].extent);
        a->index[copy].forced = a->index[id].forced;
        over |= UINT64_C(1) << copy;
        AdEx *equal = ad_infix(a, "==", ad_index(a, copy), ad_index(a, id));
        same = same ? ad_infix(a, "&", same, equal) : equal;
        other = ad_put_in(a, other, id, ad_index(a, copy), NULL, 0);
    }
    AdEx *others = ad_reduce(a, IXR_PROD, over, ad_where(a, same, ad_whole(a, 1), other));
    others = ad_hoist(a, others);
    a->ids = ids;                           /* the copies stand in that statement alone */
    push(a, w, others->is_complex ? ad_call(a, "conj", &others, 1) : others);
}

static void below_reduction(Ad *a, AdEx *x, AdWeight w)
{
    if (!elements(&w) || (w.over & ~x->free)) {
        AdEx *one = ad_copy_to(a, &w, x->free);
        w = (AdWeight){ .factor = { one }, .count = 1, .over = x->free };
    }
    if (x->reduce == IXR_MEAN)
        down_mean(a, x, &w);
    else if (x->reduce == IXR_PROD)
        down_product(a, x, &w);
    else if (x->reduce != IXR_SUM)
        down_extreme(a, x, &w);
    w.over |= x->over;
    down(a, x->arg[0], &w);
}

/* Reductions wait until all weights that reach them are known. */
static void add_pending(Ad *a, AdEx *x, const AdWeight *w)
{
    int ids[AD_IDS], rank = ad_order(x, x->free, ids);
    AdPending *p = arena_alloc(a->arena, sizeof *p), **last = &a->pending;
    while (*last)
        last = &(*last)->next;
    *p = (AdPending){ .x = x, .w = *w, .key = ad_key(a, x, ids, rank) };
    *last = p;
}

static AdPending *highest(Ad *a)
{
    AdPending *best = NULL;
    for (AdPending *p = a->pending; p; p = p->next)
        if (!p->done && (!best || p->x->height > best->x->height))
            best = p;
    return best;
}

/* The weight over the free indices of the reduction, as a sum of two. */
static AdEx *added(Ad *a, AdEx *sum, AdPending *p, const AdEx *first)
{
    int from[AD_IDS], to[AD_IDS], rank = ad_order(first, first->free, to);
    ad_order(p->x, p->x->free, from);
    if (p->w.over & ~p->x->free)
        p->w = (AdWeight){ .factor = { ad_copy_to(a, &p->w, p->x->free) }, .count = 1 };
    if (p->x != first)
        ad_rename(a, &p->w, rank, from, to);
    p->done = true;
    bool minus = sum && p->w.minus;
    p->w.minus &= !minus;
    AdEx *x = ad_product(a, &p->w);
    return sum ? ad_infix(a, minus ? "-" : "+", sum, x) : x;
}

static void down_pending(Ad *a)
{
    for (AdPending *p; (p = highest(a)) != NULL && !a->out->lack[0];) {
        AdWeight w = p->w;
        AdEx *sum = NULL;
        p->done = true;
        for (AdPending *q = p->next; q; q = q->next) {
            if (q->done || strcmp(p->key, q->key) != 0)
                continue;
            sum = added(a, sum ? sum : added(a, NULL, p, p->x), q, p->x);
        }
        if (sum)
            w = (AdWeight){ .factor = { sum }, .count = 1, .over = p->x->free };
        below_reduction(a, p->x, w);
    }
}

static void down(Ad *a, AdEx *x, const AdWeight *w)
{
    v_check_depth(a->b->in);
    if (!x->needs || a->out->lack[0])
        return;
    if (x->leaf >= 0) {
        add_term(a, x, w);
        return;
    }
    if (x->kind == AD_REDUCE) {
        add_pending(a, x, w);
        return;
    }
    for (int k = 0; k < x->args; k++) {
        AdWeight below = *w;
        if (ad_step(a, x, k, &below))
            down(a, x->arg[k], &below);
    }
}

/* ---- the function ---- */
static void write_function(Ad *a, IxInstance *whole, uint64_t wanted)
{
    IxBind *b = a->b;
    int ids[AD_IDS], rank = b->site->tree.out_rank;
    a->out->leaves = b->plan->leaves;
    name_leaves(a, wanted);
    write_head(a);
    for (int g = 0; g < b->spans; g++)
        make_index(a, g);
    for (int i = 0; i < rank; i++)
        ids[i] = i;
    a->left = rank ? UINT64_MAX >> (64 - rank) : 0;
    a->root = build(a, b->site->tree.root, whole);
    if (a->forward) {
        ad_define(a, a->result, ids, rank, a->root, 0, false);
        buf_printf(&a->out->text, "    %s\n}", a->result);
        return;
    }
    AdEx *value = ad_own(a, a->result, ids, rank);
    a->root_value = a->root->free == a->left ? value : NULL;
    AdEx *w = ad_own(a, a->cotangent, ids, rank);
    value->is_complex = w->is_complex = a->root->is_complex;
    value->risky = a->root->risky;
    a->out->flat = !a->root->needs;
    down(a, a->root, &(AdWeight){ .factor = { w }, .count = 1, .over = a->left });
    down_pending(a);
    for (int i = 0; i < a->out->leaves && !a->out->lack[0]; i++)
        ad_write_leaf(a, i);
    write_tail(a);
}

static bool function_text(Interp *in, const Exec *x, IxSite *site, Value *base, uint64_t wanted,
                          bool again, bool forward, IxAdjoint *out)
{
    Ctx *ctx = &in->ctx;
    struct { IxBind bind; Ad ad; } *both = mem_zalloc(ctx, sizeof *both);
    IxBind *b = &both->bind;
    Ad *a = &both->ad;
    ErrFrame frame;
    *out = (IxAdjoint){ 0 };
    buf_init(&out->text, ctx);
    *b = (IxBind){ .in = in, .x = x, .site = site, .base = base, .calls = in->calls };
    arena_init(&b->arena, ctx);
    bool done = ERR_TRY(ctx, &frame);
    if (done) {
        b->plan = b->target = mem_zalloc(ctx, sizeof *b->plan);
        IxInstance *whole = ix_instance(b, NULL, NULL);
        whole->frame = b->calls;
        ix_collect(b, site->tree.root, whole);
        ix_infer(b);
        a->b = b;
        a->arena = &b->arena;
        a->out = out;
        a->again = again;
        a->forward = forward;
        write_function(a, whole, wanted);
        ERR_END(ctx, &frame);
    }
    ix_plan_free(ctx, b->plan);
    arena_free(&b->arena);
    mem_free(ctx, both, sizeof *both);
    if (!done) {
        buf_free(&out->text);
        err_rethrow(ctx);
    }
    return out->lack[0] == '\0';
}

bool ix_adjoint_text(Interp *in, const Exec *x, IxSite *site, Value *base, uint64_t wanted,
                     bool again, IxAdjoint *out)
{
    return function_text(in, x, site, base, wanted, again, false, out);
}

bool ix_forward_text(Interp *in, const Exec *x, IxSite *site, Value *base, IxAdjoint *out)
{
    return function_text(in, x, site, base, 0, true, true, out);
}
