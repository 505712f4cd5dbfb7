/* Lowering of statements: blocks, control flow, assignments and their fused forms,
 * imports and tests. Decides which break, continue and return travel as a value and which
 * unwind (see eval_flow.c). */
#include "interp/eval/eval_assert.h"
#include "interp/op/heard.h"
#include "interp/eval/eval_assign.h"
#include "interp/eval/eval_flow.h"
#include "interp/eval/eval_scope.h"
#include "interp/device/place.h"
#include "interp/fuse/fuse.h"
#include "interp/eval/eval_index.h"
#include "interp/state/hot.h"
#include "interp/state/wing.h"
#include "interp/eval/eval_binary.h"
#include "interp/eval/eval_name.h"
#include "interp/lower/lower.h"
#include "interp/eval/module.h"

#include "core/base/error.h"

#include <stdio.h>
#include <string.h>

/* ---- targets ---- */
static uint8_t deep_flags(const Lower *lo)
{
    return (uint8_t)((lo->deep_loop ? XF_DEEP_LOOP : 0) | (lo->deep_fn ? XF_DEEP_FN : 0));
}

static void mark_assigned(Lower *lo, const Node *name)
{
    lo->writes = true;
    if (name->scope == SCOPE_GLOBAL)
        lo->module->assigned[name->slot] = 1;
}

static const Exec *lower_slice(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, NULL, n);
    const Exec **parts = lower_alloc(lo, 3 * sizeof *parts);
    Node *nodes[] = { n->a, n->b, n->c };
    for (int i = 0; i < 3; i++)
        parts[i] = nodes[i] && nodes[i]->kind != ND_NONE ? lower_operand(lo, nodes[i]) : NULL;
    x->op = SUB_SLICE;
    x->list = parts;
    return x;
}

static const Exec *lower_subscript(Lower *lo, const Node *n)
{
    if (n->kind == ND_RANGE && !(n->flags & NF_PARENS))
        return lower_slice(lo, n);
    if (n->kind != ND_ELLIPSIS)
        return lower_operand(lo, n);
    Exec *x = exec_new(lo, NULL, n);
    x->op = SUB_ELLIPSIS;
    return x;
}

static void lower_subscripts(Lower *lo, Exec *x, const Node *n)
{
    if (n->count >= SUBS_MAX) {
        Error *e = err_new(&lo->in->ctx, ERR_INDEX,
                           "%u subscripts are too many: a tensor has at most %d axes",
                           n->count, TENSOR_RANK_MAX);
        err_at(e, lo->chunk->source, n->span);
        err_throw(e);
    }
    const Exec **list = lower_alloc(lo, (n->count + 1) * sizeof *list);
    for (uint32_t i = 0; i < n->count; i++)
        list[i] = lower_subscript(lo, n->list[i]);
    x->list = list;
    x->count = n->count;
}

static bool subscripts_plain(const Exec *x)
{
    for (uint32_t i = 0; i < x->count; i++)
        if (!x->list[i]->eval || (x->list[i]->flags & XF_WRITES) || x->list[i]->lends)
            return false;
    return true;
}

const Exec *lower_index(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_index, n);
    x->a = lower_operand(lo, n->a);
    lower_subscripts(lo, x, n);
    bool global = x->a->eval == eval_global && x->a->operand != OPD_L;
    if ((x->a->operand == OPD_L || global) && subscripts_plain(x)) {
        EvalFn fast = index_choose(x, global);
        x->sa = x->a->sa;
        x->data = x->a->data;
        if (fast)
            x->eval = fast;
    }
    return x;
}

const Exec *lower_target(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, NULL, n);
    switch (n->kind) {
    case ND_NAME:
        mark_assigned(lo, n);
        x->op = TG_SLOT;
        x->sa = (uint32_t)n->slot;
        x->operand = OPD_L;
        break;
    case ND_INDEX:
        x->op = TG_INDEX;
        x->a = lower_target(lo, n->a);
        lower_subscripts(lo, x, n);
        break;
    case ND_FIELD:
        x->op = TG_FIELD;
        x->a = lower_target(lo, n->a);
        break;
    case ND_TUPLE: {
        const Exec **list = lower_alloc(lo, (n->count + 1) * sizeof *list);
        for (uint32_t i = 0; i < n->count; i++)
            list[i] = lower_target(lo, n->list[i]);
        x->op = TG_TUPLE;
        x->list = list;
        x->count = n->count;
        break;
    }
    default: {
        Error *e = err_new(&lo->in->ctx, ERR_SYNTAX, "this cannot be assigned to");
        err_at(e, lo->chunk->source, n->span);
        err_throw(e);
    }
    }
    return x;
}

/* A[i] or A[i, j] of a variable with plain subscripts: stores have a fast node. */
static bool target_is_element(const Exec *t)
{
    return t->op == TG_INDEX && t->a->op == TG_SLOT && (t->count == 1 || t->count == 2) &&
           subscripts_plain(t);
}

/* ---- assignment ---- */
/* The variable of a target that the function cannot change, or NULL. */
static const Node *foreign_base(const Node *target)
{
    const Node *found = NULL;
    for (uint32_t i = 0; target->kind == ND_TUPLE && i < target->count && !found; i++)
        found = foreign_base(target->list[i]);
    if (found || target->kind == ND_TUPLE)
        return found;
    while (target->kind == ND_INDEX || target->kind == ND_FIELD)
        target = target->a;
    return target->kind == ND_NAME && target->scope == SCOPE_FOREIGN ? target : NULL;
}

static const Exec *raise_foreign(Lower *lo, const Node *base)
{
    const Name *fn = lo->fn ? lo->fn->name : NULL;
    char help[200];
    snprintf(help, sizeof help, "return the new value and assign it outside: %.60s = %.60s(…)",
             base->name->text, fn ? fn->text : "f");
    return exec_raise(lo, base, ERR_NAME, help,
                      "%.80s is no variable of %.80s, so %s cannot change it",
                      base->name->text, fn ? fn->text : "this function",
                      fn ? "the function" : "it");
}

static bool same_variable(const Node *a, const Node *b)
{
    return a->kind == ND_NAME && b->kind == ND_NAME && a->scope == b->scope && a->slot == b->slot &&
           (a->scope == SCOPE_LOCAL || a->scope == SCOPE_GLOBAL);
}

static const Exec *opassign_slot(Lower *lo, const Node *n, const Node *target, int op,
                                 const Node *value)
{
    Exec *x = exec_new(lo, NULL, n);
    x->op = (uint8_t)op;
    x->a = lower_operand(lo, value);
    x->b = lower_operand(lo, target);      /* how the variable reads while it is empty */
    mark_assigned(lo, target);
    x->sa = (uint32_t)target->slot;
    x->sb = x->a->sa;
    x->k = x->a->k;
    x->weak = x->a->flags & XF_WEAK ? 2 : 0;
    x->data = (void *)op_operator(lo->in, (Operator)op);
    x->hands = lower_uses_up(lo);
    x->eval = lo->scoped ? eval_opassign_scoped : opassign_choose(op, x->a->operand);
    if (lo->scoped)
        return x;
    EvalFn fused = op == TK_ADD && x->a->node->kind == ND_BINARY && x->a->op == TK_MUL
                 ? add_product_choose(x->a) : NULL;
    if (fused)
        x->eval = fused;
    fuse_mark_update(x);
    return x;
}

/* The right side may write the variable itself: read it first, in the plain order. */
static const Exec *assign_slot(Lower *lo, const Node *n, const Node *target, const Node *value)
{
    Exec *x = exec_new(lo, lower_is_statement(value) ? eval_assign_flow : eval_assign_slot, n);
    if (lower_is_statement(value)) {
        bool tail = lo->tail;
        lo->tail = false;
        x->a = lower(lo, value);
        lo->tail = tail;
    } else {
        x->a = lower_operand(lo, value);
        x->sb = x->a->sa;
        EvalFn fused = x->a->eval == eval_local ? eval_assign_copy : lo->scoped
                       ? NULL : assign_choose(x->a);
        if (fused)
            x->eval = fused;
    }
    mark_assigned(lo, target);
    x->sa = (uint32_t)target->slot;
    return x;
}

static bool may_write(const Node *n);

static bool list_may_write(Node *const *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i] && may_write(list[i]))
            return true;
    return false;
}

/* Does the expression hold a block (outside functions)? */
static bool may_write(const Node *n)
{
    if (n->kind >= ND_ASSIGN && n->kind != ND_FN)
        return true;
    if (n->kind == ND_LAMBDA)
        return false;
    return (n->a && may_write(n->a)) || (n->b && may_write(n->b)) || (n->c && may_write(n->c)) ||
           list_may_write(n->list, n->count);
}

static const Exec *lower_parallel(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_assign_parallel, n), *values = exec_new(lo, NULL, n->b);
    values->list = lower_list(lo, n->b->list, n->b->count);
    x->a = values;
    x->b = lower_target(lo, n->a);
    x->count = n->a->count;
    return x;
}

static bool tuple_is_plain(const Node *n)
{
    for (uint32_t i = 0; i < n->count; i++)
        if (n->list[i]->kind == ND_NAMED || n->list[i]->kind == ND_SPREAD)
            return false;
    return true;
}

static void keep_doc(Lower *lo, const Node *n)
{
    if (n->text && !lo->fn && n->a->kind == ND_NAME && n->a->scope == SCOPE_GLOBAL)
        lo->module->docs[n->a->slot] = n->text;
}

static Exec *assign_target(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_assign_target, n);
    bool tail = lo->tail, statement = lower_is_statement(n->b);
    lo->tail = false;
    x->a = statement ? lower(lo, n->b) : lower_operand(lo, n->b);
    lo->tail = tail;
    x->b = lower_target(lo, n->a);
    if (target_is_element(x->b) && !statement) {
        x->sa = x->b->a->sa;
        x->eval = x->b->count == 1 ? eval_store1 : eval_store2;
    }
    return x;
}

/* Do both name the same place, with subscripts that can be evaluated twice? */
static bool same_place(const Node *a, const Node *b)
{
    if (a->kind != b->kind || a->count > 1 || a->count != b->count)
        return false;
    if (a->kind == ND_FIELD)
        return a->name == b->name && same_place(a->a, b->a);
    if (a->kind != ND_INDEX)
        return same_variable(a, b);
    const Node *p = a->list[0], *q = b->list[0];
    bool literal = p->kind == q->kind && (p->kind == ND_INT || p->kind == ND_STRING) &&
                   p->text_len == q->text_len &&
                   memcmp(p->text ? p->text : "", q->text ? q->text : "", p->text_len) == 0;
    return (literal || same_variable(p, q)) && same_place(a->a, b->a);
}

/* ---- t = append(t, v), s = s + u + v, s = "{s}, {v}" ---- */
/* What is unshared grows where it stands, so that building one in a loop is linear. Lowered with
 * the plain form beside it, for all else and for a program's own `append`. */
static bool appends_to(const Lower *lo, const Node *target, const Node *v)
{
    const Op *op;
    return v->kind == ND_CALL && v->count == 2 && v->a->kind == ND_NAME &&
           v->a->scope == SCOPE_GLOBAL &&
           (op = op_find(lo->in, v->a->name)) != NULL && op->grows &&
           same_place(target, v->list[0]) &&
           v->list[1]->kind != ND_NAMED && v->list[1]->kind != ND_SPREAD && !may_write(v->list[1]);
}

/* Can an operand of a sum be a string? */
static bool may_be_text(const Node *n)
{
    switch (n->kind) {
    case ND_STRING: case ND_INTERP: case ND_NAME: case ND_CALL: case ND_FIELD: case ND_INDEX:
        return true;
    case ND_BINARY: return n->op == TK_ADD || n->op == TK_MUL;      /* "-" * 40 */
    default: return false;
    }
}

/* How many sums has s + u + v on its left spine down to the target? 0: it is none that grows. */
static uint32_t sums_onto(const Node *target, const Node *v)
{
    uint32_t count = 0;
    while (v->kind == ND_BINARY && v->op == TK_ADD && may_be_text(v->b) && !may_write(v->b)) {
        count++;
        v = v->a;
    }
    return same_place(target, v) ? count : 0;
}

static bool text_onto(const Node *target, const Node *v)
{
    if (v->kind != ND_INTERP || v->count == 0 || v->list[0]->kind != ND_FORMATTED ||
        v->list[0]->text)
        return false;
    return same_place(target, v->list[0]->a) && !list_may_write(v->list + 1, v->count - 1);
}

static Exec *lower_grown(Lower *lo, const Node *n, EvalFn eval)
{
    Exec *x = exec_new(lo, eval, n);
    bool variable = n->a->kind == ND_NAME;
    x->c = variable ? assign_slot(lo, n, n->a, n->b) : assign_target(lo, n);
    x->sa = variable ? (uint32_t)n->a->slot : 0;
    x->data = variable ? NULL : (void *)x->c->b;
    return x;
}

static const Exec *lower_append(Lower *lo, const Node *n, const Node *call)
{
    Exec *x = lower_grown(lo, n, eval_append);
    x->k = v_op(op_find(lo->in, call->a->name));
    x->a = lower_operand(lo, call->a);
    x->b = lower_operand(lo, call->list[1]);
    return x;
}

static const Exec *lower_grow_sum(Lower *lo, const Node *n, uint32_t count)
{
    Exec *x = lower_grown(lo, n, eval_grow_sum);
    const Exec **list = lower_alloc(lo, count * sizeof *list), *sum = x->c->a;
    for (uint32_t i = count; i-- > 0; sum = sum->a)
        list[i] = sum;
    x->list = list;
    x->count = count;
    return x;
}

static const Exec *lower_grow_text(Lower *lo, const Node *n)
{
    Exec *x = lower_grown(lo, n, eval_grow_text);
    x->a = x->c->a;
    return x;
}

/* a = b = value: the value is evaluated once and assigned from right to left. */
static const Exec *lower_assign_chain(Lower *lo, const Node *n)
{
    uint32_t count = 1;
    const Node *v = n->b;
    for (; v->kind == ND_ASSIGN; v = v->b)
        count++;
    const Exec **targets = lower_alloc(lo, count * sizeof *targets);
    const Node *at = n;
    for (uint32_t i = 0; i < count; i++, at = at->b)
        targets[i] = lower_target(lo, at->a);
    Exec *x = exec_new(lo, eval_assign_chain, n);
    x->a = lower_operand(lo, v);
    x->list = targets;
    x->count = count;
    return x;
}

static const Exec *lower_assign(Lower *lo, const Node *n)
{
    const Node *t = n->a, *v = n->b;
    keep_doc(lo, n);
    for (const Node *link = n; link->kind == ND_ASSIGN; link = link->b)
        if (foreign_base(link->a))
            return raise_foreign(lo, foreign_base(link->a));
    if (v->kind == ND_ASSIGN)
        return lower_assign_chain(lo, n);
    const Node *call = v->kind == ND_PIPE && same_place(t, v->a) ? lower_pipe(lo, v) : v;
    if (appends_to(lo, t, call))
        return lower_append(lo, n, call);
    if (text_onto(t, v))
        return lower_grow_text(lo, n);
    uint32_t sums = sums_onto(t, v);
    if (sums > 1 || (sums && t->kind != ND_NAME))
        return lower_grow_sum(lo, n, sums);
    if (t->kind == ND_NAME) {
        bool fused = v->kind == ND_BINARY && !(v->flags & NF_PARENS) && same_variable(t, v->a) &&
                     !may_write(v->b) &&
                     (v->op == TK_ADD || v->op == TK_SUB || v->op == TK_MUL || v->op == TK_DIV);
        const Exec *x = fused ? opassign_slot(lo, v, t, v->op, v->b) : assign_slot(lo, n, t, v);
        if (!fused)
            call_hands_over(lo, t, x->a);
        return x;
    }
    if (t->kind == ND_TUPLE && v->kind == ND_TUPLE && t->count == v->count && tuple_is_plain(v))
        return lower_parallel(lo, n);
    Exec *x = assign_target(lo, n);
    call_hands_over(lo, t, x->a);
    return x;
}

static const Exec *update_element(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_update_target, n);
    x->a = lower_operand(lo, n->b);
    x->b = lower_target(lo, n->a);
    x->data = (void *)op_operator(lo->in, (Operator)n->op);
    if (target_is_element(x->b) && !lo->scoped) {
        x->sa = x->b->a->sa;
        x->eval = eval_update_element;
    }
    return x;
}

/* Which of the indices it is over. */
static uint32_t indices_of(const Node *part, const Node *indices)
{
    uint32_t over = 0;
    for (uint32_t k = 0; part->kind == ND_COMPREHENSION && k < part->count; k++)
        for (uint32_t i = 0; i < indices->count; i++)
            if (part->list[k]->a->name == indices->list[i]->name)
                over |= 1u << i;
    return over;
}

/* An update with a second reading over indices, n->c. */
static const Exec *update_gathered(Lower *lo, const Node *n)
{
    const Node *second = n->c, *names = second->a;
    Exec *x = exec_new(lo, eval_update_gathered, n);
    GatherSite *s = lower_alloc(lo, sizeof *s);
    const Exec **indices = lower_alloc(lo, names->count * sizeof *indices);
    *s = (GatherSite){ .op = op_operator(lo->in, (Operator)n->op), .indices = indices,
                       .count = names->count, .total = second->count,
                       .parts = lower_alloc(lo, second->count * sizeof *s->parts) };
    x->a = update_element(lo, n);
    x->b = lower_target(lo, n->a);
    x->data = s;
    s->base = lower(lo, n->a->a);
    for (uint32_t i = 0; i < names->count; i++)
        indices[i] = lower(lo, names->list[i]);
    for (uint32_t i = 0; i < second->count; i++) {
        const Node *part = second->list[i];
        bool value = i + 1 == second->count;
        bool alone = !value && part->kind == ND_COMPREHENSION && part->a->kind == ND_NAME;
        GatherPart *p = &s->parts[i];
        *p = (GatherPart){ .node = value ? n->b : n->a->list[i], .over = indices_of(part, names) };
        p->alone = alone ? 1u + (uint32_t)__builtin_ctz(p->over) : 0;
        p->exec = alone ? NULL : lower_operand(lo, part);
    }
    return x;
}

static const Exec *lower_opassign(Lower *lo, const Node *n)
{
    if (foreign_base(n->a))
        return raise_foreign(lo, foreign_base(n->a));
    if (n->c && op_operator(lo->in, (Operator)n->op))
        return update_gathered(lo, n);
    if (n->a->kind == ND_NAME && !may_write(n->b))
        return opassign_slot(lo, n, n->a, n->op, n->b);
    if (n->a->kind == ND_NAME) {
        Node *sum = node_copy(lo, n);
        sum->kind = ND_BINARY;
        return assign_slot(lo, n, n->a, sum);
    }
    return update_element(lo, n);
}

/* ---- blocks and control flow ---- */
/* So many `else if` are nodes inside each other; more are a list, which is long and not deep. So
 * with statements after `if c { return e }`. */
enum { LINKS_MOST = 64 };

static const Exec *lower_else_ifs(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_else_ifs, n);
    const Exec **list = lower_alloc(lo, n->count * sizeof *list);
    for (uint32_t i = 0; i < n->count; i++)
        list[i] = i % 2 ? lower(lo, n->list[i]) : lower_operand(lo, n->list[i]);
    x->list = list;
    x->count = n->count;
    x->c = n->c ? lower(lo, n->c) : NULL;
    return x;
}

static const Exec *lower_if(Lower *lo, const Node *n)
{
    Exec *first = NULL, *last = NULL;
    uint32_t at = 0, links = n->count / 2 < LINKS_MOST ? n->count : 0;
    do {
        Exec *x = exec_new(lo, NULL, n);
        x->a = lower_operand(lo, at ? n->list[at - 2] : n->a);
        x->b = lower(lo, at ? n->list[at - 1] : n->b);
        x->eval = lo->scoped ? eval_if : if_choose(x->a);
        if (last)
            last->c = x;
        first = first ? first : x;
        last = x;
    } while ((at += 2) <= links);
    last->c = links < n->count ? lower_else_ifs(lo, n) : n->c ? lower(lo, n->c) : NULL;
    return first;
}

/* if c { …; return e } without an else. */
static bool leaves(const Node *n)
{
    return n->kind == ND_IF && !n->c && n->count == 0 && n->b->kind == ND_BLOCK &&
           n->b->count > 0 && n->b->list[n->b->count - 1]->kind == ND_RETURN;
}

static const Exec *lower_statements(Lower *lo, const Node *n, uint32_t from);

/* At the end of a function, what follows `if c { return e }` is its else, and nothing has
 * to travel as flow. */
static const Exec *lower_leaving(Lower *lo, const Node *block, uint32_t at)
{
    const Node *n = block->list[at];
    Exec *x = exec_new(lo, NULL, n);
    x->a = lower_operand(lo, n->a);
    x->b = lower(lo, n->b);
    lo->leaving++;
    x->c = lower_statements(lo, block, at + 1);
    lo->leaving--;
    x->eval = lo->scoped ? eval_if : if_choose(x->a);
    return x;
}

/* ---- t = u; u = v; v = t ---- */
enum { MENTIONS_MOST = 3 };

static void mention(Lower *lo, uint32_t slot)
{
    if (slot < lo->fn->slots && lo->mentions[slot] < MENTIONS_MOST)
        lo->mentions[slot]++;
}

/* What a function inside captures may be read at any time. */
static void mention_captured(Lower *lo, const FnInfo *info)
{
    for (uint32_t i = 0; i < info->captured; i++)
        if (!info->captures[i].global && !info->captures[i].self)
            for (int k = 0; k < MENTIONS_MOST; k++)
                mention(lo, (uint32_t)info->captures[i].from);
}

static void mention_all(Lower *lo, const Node *n)
{
    if (!n)
        return;
    if (n->scope == SCOPE_LOCAL)
        mention(lo, (uint32_t)n->slot);
    if (n->fn && n != lo->fn->node) {
        mention_captured(lo, n->fn);
        return;
    }
    mention_all(lo, n->a);
    mention_all(lo, n->b);
    mention_all(lo, n->c);
    for (uint32_t i = 0; i < n->count; i++)
        mention_all(lo, n->list[i]);
}

static bool names_local(const Node *n)
{
    return n && n->kind == ND_NAME && n->scope == SCOPE_LOCAL;
}

/* Is statement i `x = t`, where t is assigned above in the block and named nowhere else? */
static bool last_reading(Lower *lo, const Node *block, uint32_t i)
{
    const Node *n = block->list[i];
    if (!lo->fn || n->kind != ND_ASSIGN || !names_local(n->b))
        return false;
    if (!lo->mentions) {
        lo->mentions = lower_alloc(lo, lo->fn->slots + 1);
        memset(lo->mentions, 0, lo->fn->slots + 1);
        mention_all(lo, lo->fn->node);
    }
    while (lo->mentions[n->b->slot] == 2 && i-- > 0)
        if (block->list[i]->kind == ND_ASSIGN && names_local(block->list[i]->a) &&
            block->list[i]->a->slot == n->b->slot)
            return true;
    return false;
}

static const Exec *lower_statements(Lower *lo, const Node *n, uint32_t from)
{
    bool tail = lo->tail;
    const Exec **list = lower_alloc(lo, (n->count - from) * sizeof *list);
    uint32_t count = 0;
    for (uint32_t i = from; i < n->count; i++) {
        bool last = i + 1 == n->count;
        bool rest = tail && !last && lo->leaving < LINKS_MOST && leaves(n->list[i]);
        lo->tail = tail && (last || rest);
        list[count++] = rest ? lower_leaving(lo, n, i) : lower(lo, n->list[i]);
        if (list[count - 1]->eval == eval_assign_copy && last_reading(lo, n, i))
            ((Exec *)list[count - 1])->eval = eval_assign_last;
        if (rest)
            break;
    }
    lo->tail = tail;
    if (count == 1)
        return list[0];
    Exec *x = exec_new(lo, count == 2 ? eval_block2 : eval_block, n);
    x->list = list;
    x->count = count;
    return x;
}

static const Exec *lower_block(Lower *lo, const Node *n)
{
    return n->count ? lower_statements(lo, n, 0) : exec_const(lo, n, v_none());
}

/* A catch point for flow that unwinds, where lowering saw some. */
static const Exec *flow_guard(Lower *lo, const Exec *body, uint8_t flags)
{
    Exec *x = exec_new(lo, eval_catch_flow, body->node);
    x->a = body;
    x->flags = flags;
    return x;
}

static const Exec *lower_loop_body(Lower *lo, HotSite *site, const Node *body)
{
    Lower saved = *lo;
    lo->loop = site;
    lo->tail = lo->deep_loop = lo->loop_unwinds = false;
    lo->in_loop = true;
    const Exec *x = lower(lo, body);
    if (lo->loop_unwinds)
        x = flow_guard(lo, x, deep_flags(lo));
    lo->tail = saved.tail;
    lo->deep_loop = saved.deep_loop;
    lo->loop_unwinds = saved.loop_unwinds;
    lo->in_loop = saved.in_loop;
    lo->loop = saved.loop;
    return x;
}


static const Exec *lower_while(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, NULL, n);
    x->data = hot_site_new(lo, lo->loop, false);
    x->a = lower_operand(lo, n->a);
    x->eval = lo->scoped ? eval_while : while_choose(x->a);
    x->b = lower_loop_body(lo, x->data, n->b);
    return x;
}

static const Exec *lower_for(Lower *lo, const Node *n)
{
    if (foreign_base(n->a))
        return raise_foreign(lo, foreign_base(n->a));
    bool range = n->b->kind == ND_RANGE && n->b->a && n->b->b && n->a->kind == ND_NAME;
    Exec *x = exec_new(lo, range ? eval_for_range : eval_for, n);
    x->data = hot_site_new(lo, lo->loop, false);
    if (range) {
        const Exec *r = lower_operand(lo, n->b);
        x->list = r->list;
        x->count = r->count;
        mark_assigned(lo, n->a);
        x->sa = (uint32_t)n->a->slot;
    } else {
        x->a = lower_operand(lo, n->b);
        x->c = lower_target(lo, n->a);
    }
    x->b = lower_loop_body(lo, x->data, n->c);
    return x;
}

static const Exec *lower_break(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, lo->deep_loop ? eval_break_deep : eval_break, n);
    x->op = n->kind == ND_BREAK ? FLOW_BREAK : FLOW_CONTINUE;
    lo->loop_unwinds |= lo->deep_loop;
    return x;
}

static const Exec *lower_return(Lower *lo, const Node *n)
{
    if (lo->tail)
        return n->a ? lower(lo, n->a) : exec_const(lo, n, v_none());
    Exec *x = exec_new(lo, lo->deep_fn ? eval_return_deep : eval_return, n);
    x->a = n->a ? lower_operand(lo, n->a) : NULL;
    lo->fn_unwinds |= lo->deep_fn;
    return x;
}

static const Exec *lower_try(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_try, n);
    x->flags = deep_flags(lo);
    bool tries = lo->tries;
    lo->tries = true;
    x->a = lower(lo, n->a);
    lo->tries = tries;
    x->sa = UINT32_MAX;
    if (n->b) {
        mark_assigned(lo, n->b);
        x->sa = (uint32_t)n->b->slot;
    }
    x->b = lower(lo, n->c);
    return x;
}

/* ---- the rest ---- */
static const Exec *lower_pair(Lower *lo, EvalFn eval, const Node *n)
{
    Exec *x = exec_new(lo, eval, n);
    x->a = lower_operand(lo, n->a);
    x->b = n->b ? lower_operand(lo, n->b) : NULL;
    return x;
}

static const Exec *lower_fn(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_assign_slot, n);
    mark_assigned(lo, n->b);
    x->a = lower_function(lo, n);
    x->sa = (uint32_t)n->b->slot;
    return x;
}

static const Exec *lower_test(Lower *lo, const Node *n)
{
    ModuleTest *t = module_add_test(lo->in, lo->module, lo->chunk, lower_code(lo, n));
    if (!lo->scoped)
        return exec_const(lo, n, v_none());
    Exec *x = exec_new(lo, eval_test, n);
    x->data = t;
    return x;
}

/* list: targets of `from` names, or b: the target of the module. */
static const Exec *lower_import(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_import, n);
    const Exec **list = lower_alloc(lo, (n->count + 1) * sizeof *list);
    for (uint32_t i = 0; i < n->count; i++)
        list[i] = lower_target(lo, n->list[i]);
    x->list = list;
    x->count = n->count;
    x->b = n->b ? lower_target(lo, n->b) : NULL;
    x->data = lo->chunk->source;
    return x;
}

/* C[i,k] := …: a new value for C. */
static const Exec *lower_define(Lower *lo, const Node *n)
{
    const Node *target = n->a->kind == ND_INDEX ? n->a->a : n->a;
    Exec *x = exec_new(lo, eval_assign_slot, n);
    if (foreign_base(target))
        return raise_foreign(lo, foreign_base(target));
    if (n->text && target->scope == SCOPE_GLOBAL)
        lo->module->docs[target->slot] = n->text;
    x->a = lower_notation(lo, n);
    mark_assigned(lo, target);
    x->sa = (uint32_t)target->slot;
    return x;
}

static const Exec *lower_throw(Lower *lo, const Node *n)
{
    return lower_pair(lo, eval_throw, n);
}

static const LowerRow rows[] = {
    { ND_DEFINE, lower_define }, { ND_ASSIGN, lower_assign }, { ND_OPASSIGN, lower_opassign },
    { ND_BLOCK, lower_block }, { ND_IF, lower_if }, { ND_WHILE, lower_while },
    { ND_FOR, lower_for },
    { ND_BREAK, lower_break }, { ND_CONTINUE, lower_break }, { ND_RETURN, lower_return },
    { ND_TRY, lower_try },
    { ND_THROW, lower_throw }, { ND_ASSERT, lower_assert }, { ND_PRECISION, lower_scope },
    { ND_ON, lower_on },
    { ND_AUTOCAST, lower_scope }, { ND_FN, lower_fn }, { ND_TEST, lower_test },
    { ND_IMPORT, lower_import },
};
const Wing wing_statements = { .rows = rows, .count = sizeof rows / sizeof *rows };

const Exec *lower_chunk(Interp *in, Module *m, Chunk *chunk)
{
    /* a host may hold a scope open around whole texts */
    Lower lo = { .in = in, .module = m, .chunk = chunk, .scoped = in->scope != NULL };
    const Exec *x = lower(&lo, chunk->root);
    if (!lo.fn_unwinds)
        return x;
    Exec *guard = exec_new(&lo, eval_catch_flow, chunk->root);
    guard->a = x;
    return guard;
}
