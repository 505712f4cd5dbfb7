/* From the syntax of a notation to its tree: Einstein's rule. A product is a chain of * and /
 * through parentheses and signs; an index that is not bound and has two places in one is summed
 * over it. Terms of + and -, operands of calls, powers and comparisons are expressions of their
 * own: what has one place in them counts as one place in the product around.
 *
 * Called once per node by the lowering. Nothing here raises: the first mistake is kept
 * (indexnot_fail.c) and raised when the statement runs. */
#include "interp/notation/indexnot.h"
#include "interp/lower/lower.h"

#include <string.h>

IxNode *ix_node(IxAnalysis *a, IxKind kind, const Node *n)
{
    IxNode *x = lower_alloc(a->lo, sizeof *x);
    x->kind = (uint8_t)kind;
    x->leaf = x->index = -1;
    x->at = exec_new(a->lo, NULL, n);
    return x;
}

/* A larger copy of an array in the arena. */
static void *grown(IxAnalysis *a, const void *old, size_t size, int count, int *cap)
{
    if (count < *cap)
        return (void *)old;
    *cap = *cap ? 2 * *cap : 8;
    void *new = lower_alloc(a->lo, (size_t)*cap * size);
    if (count)
        memcpy(new, old, (size_t)count * size);
    return new;
}

static bool same_literal(const Node *a, const Node *b)
{
    return a->kind == b->kind && (a->kind == ND_INT || a->kind == ND_FLOAT || a->kind == ND_IMAG) &&
           a->text_len == b->text_len && memcmp(a->text, b->text, a->text_len) == 0;
}

static bool same_variable(const Node *a, const Node *b)
{
    return a->kind == ND_NAME && b->kind == ND_NAME && a->name == b->name && a->scope == b->scope &&
           a->slot == b->slot;
}

/* A variable or literal that is an operand already: one slot, so that a plan sees that two
 * parts are the same. */
static int known_leaf(const IxTree *t, const Node *n, IxRole role)
{
    for (int i = 0; i < t->leaves; i++) {
        const Node *old = t->leaf[i].exec->node;
        if ((t->leaf[i].exec->flags & XF_WRITES) || t->leaf[i].exec->lends)
            return -1;
        if (t->leaf[i].role == role && old && (same_variable(old, n) || same_literal(old, n)))
            return i;
    }
    return -1;
}

static int add_leaf(IxAnalysis *a, const Node *n, IxRole role)
{
    IxTree *t = a->tree;
    int known = known_leaf(t, n, role);
    if (known >= 0)
        return known;
    t->leaf = grown(a, t->leaf, sizeof *t->leaf, t->leaves, &t->leaf_cap);
    t->leaf[t->leaves] = (IxLeaf){ .exec = lower_operand(a->lo, n), .role = (uint8_t)role };
    if (t->leaves == IX_LEAVES / 2)
        ix_fail(a, ERR_INDEX, n, NULL, "name parts of it first",
                "this notation has more than %d operands", IX_LEAVES / 2);
    return t->leaves < IX_LEAVES / 2 ? t->leaves++ : t->leaves;
}

static bool is_param(const IxAnalysis *a, const Node *n)
{
    return n->kind == ND_NAME && n->scope == SCOPE_LOCAL && (uint32_t)n->slot < a->params;
}

IxNode *ix_leaf(IxAnalysis *a, const Node *n, IxRole role)
{
    bool param = is_param(a, n);
    IxNode *x = ix_node(a, param ? IX_PARAM : IX_LEAF, n);
    x->leaf = param ? n->slot : add_leaf(a, n, role);
    return x;
}

/* ---- what has no index in it ---- */
static bool list_free(const IxAnalysis *a, Node *const *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i] && !ix_free(a, list[i]))
            return false;
    return true;
}

/* Names of a comprehension over indices belong to it, but those that are bound around it. */
static bool uses_bound(const IxAnalysis *a, const Node *n)
{
    if (!n)
        return false;
    if (n->kind == ND_NAME)
        return n->scope == SCOPE_NONE && ix_bound(a, n->name);
    for (uint32_t i = 0; i < n->count; i++)
        if (uses_bound(a, n->kind == ND_COMPREHENSION ? n->list[i]->b : n->list[i]))
            return true;
    return uses_bound(a, n->a) || uses_bound(a, n->b) || uses_bound(a, n->c);
}

static bool comprehension_free(const IxAnalysis *a, const Node *n)
{
    bool ordinary = true;
    for (uint32_t i = 0; i < n->count; i++) {
        ordinary &= n->list[i]->b != NULL;
        if (n->list[i]->b && !ix_free(a, n->list[i]->b))
            return false;
    }
    return ordinary ? ix_free(a, n->a) && (!n->b || ix_free(a, n->b))
                    : !a->params && !uses_bound(a, n);
}

bool ix_free(const IxAnalysis *a, const Node *n)
{
    switch (n->kind) {
    case ND_NAME: return n->scope != SCOPE_NONE && !is_param(a, n);
    case ND_REDUCE: return false;
    case ND_LAMBDA: case ND_FN: return a->params == 0;
    case ND_COMPREHENSION: return comprehension_free(a, n);
    default: break;
    }
    return (!n->a || ix_free(a, n->a)) && (!n->b || ix_free(a, n->b)) &&
           (!n->c || ix_free(a, n->c)) && list_free(a, n->list, n->count);
}

/* ---- indices ---- */
bool ix_bound(const IxAnalysis *a, const Name *name)
{
    for (int i = 0; i < a->bounds; i++)
        if (a->bound[i].name == name)
            return true;
    return false;
}

int ix_index_new(IxAnalysis *a, const Name *name, const Node *n)
{
    IxTree *t = a->tree;
    if (t->indices == NEST_INDICES) {
        ix_fail(a, ERR_INDEX, n, NULL, "name parts of it first",
                "this notation has more than %d indices", NEST_INDICES);
        return 0;
    }
    t->index = grown(a, t->index, sizeof *t->index, t->indices, &t->index_cap);
    t->index[t->indices] = (IxIndex){ .name = name, .node = n, .part = { -1, -1, -1 } };
    return t->indices++;
}

void ix_use(IxAnalysis *a, IxUses *to, const IxUse *u, bool add)
{
    for (int i = 0; i < to->count; i++) {
        IxUse *have = &to->use[i];
        if (have->name != u->name)
            continue;
        if (add && have->summed && u->places)
            ix_fail_rename(a, have, have->summed, u->node);
        else if (add && have->places && u->summed)
            ix_fail_rename(a, have, u->summed, have->node);
        if (u->places) {
            if (have->places)
                have->last->next_use = u->first;
            else
                have->first = u->first, have->node = u->node;
            have->last = u->last;
        }
        have->places = add ? have->places + u->places : have->places || u->places;
        have->summed = have->summed ? have->summed : u->summed;
        return;
    }
    to->use = grown(a, to->use, sizeof *to->use, to->count, &to->cap);
    to->use[to->count] = *u;
    if (!add && u->places > 1)
        to->use[to->count].places = 1;
    to->count++;
}

static IxNode *number(IxAnalysis *a, const Node *n, IxUses *uses)
{
    IxNode *x = ix_node(a, IX_NUMBER, n);
    for (int i = a->bounds; i-- > 0;)
        if (a->bound[i].name == n->name) {
            x->index = a->bound[i].index;
            return x;
        }
    ix_use(a, uses, &(IxUse){ .name = n->name, .places = 1, .first = x, .last = x, .node = n },
           true);
    return x;
}

/* ---- operations ---- */
static IxNode *ix_operation(IxAnalysis *a, const Node *n, const char *op, IxNode *l, IxNode *r)
{
    IxNode *x = ix_node(a, IX_EW, n);
    x->op = op_named(a->lo->in, op);
    x->args = r ? 2 : 1;
    x->arg = lower_alloc(a->lo, 2 * sizeof *x->arg);
    x->arg[0] = l;
    x->arg[1] = r;
    return x;
}

static IxNode *operator_node(IxAnalysis *a, const Node *n, int op, IxNode *l, IxNode *r)
{
    const Op *row = op_operator(a->lo->in, (Operator)op);
    bool fits = row && row->cls == OPC_EW && ew_info[row->ew].arity == (r ? 2 : 1);
    return fits || op == TK_POS ? ix_operation(a, n, op == TK_POS ? "positive" : row->name, l, r)
                                : ix_misfit(a, n);
}

static IxNode *logic(IxAnalysis *a, const Node *n, const char *op, IxNode *l, IxNode *r)
{
    IxNode *x = ix_operation(a, n, op, l, r);
    x->kind = IX_LOGIC;
    return x;
}

/* a < b <= c: the links, joined. */
static IxNode *comparison(IxAnalysis *a, const Node *n, IxUses *uses)
{
    IxNode *all = NULL, *left = ix_term(a, n->list[0], uses);
    for (uint32_t i = 0; i + 1 < n->count; i++) {
        IxNode *right = ix_term(a, n->list[i + 1], uses);
        Node *link = node_copy(a->lo, n);
        link->list = n->list + i;
        link->ops = n->ops + i;
        link->count = 2;
        link->span = (Span){ n->list[i]->span.from, n->list[i + 1]->span.to };
        link->mark = (Span){ n->list[i]->span.to, n->list[i + 1]->span.from };
        IxNode *one = operator_node(a, link, n->ops[i], left, right);
        all = all ? logic(a, n, "bitand", all, one) : one;
        left = right;
    }
    return all;
}

/* f(x, y=2), and x |> f(y). */
static IxNode *call(IxAnalysis *a, const Node *n, const Node *callee, const Node *first,
                    Node *const *list, uint32_t count, IxUses *uses)
{
    if (!ix_free(a, callee) && !is_param(a, callee))
        return ix_misfit(a, n);
    IxNode *x = ix_node(a, IX_CALL, n);
    x->base = ix_leaf(a, callee, IXL_CALLEE);
    x->leaf = x->base->leaf;
    x->arg = lower_alloc(a->lo, (count + 2) * sizeof *x->arg);
    x->names = lower_alloc(a->lo, (count + 2) * sizeof *x->names);
    if (first)
        x->arg[x->args++] = ix_term(a, first, uses);
    for (uint32_t i = 0; i < count; i++) {
        const Node *arg = list[i];
        if (arg->kind == ND_SPREAD)
            return ix_misfit(a, arg);
        if (arg->kind == ND_NAMED) {
            x->names[x->args] = arg->name;
            arg = arg->a;
        }
        x->arg[x->args++] = ix_term(a, arg, uses);
    }
    return x;
}

static IxNode *piped(IxAnalysis *a, const Node *n, IxUses *uses)
{
    bool takes = n->b->kind == ND_CALL && !(n->b->flags & NF_PARENS);
    return call(a, n, takes ? n->b->a : n->b, n->a, takes ? n->b->list : NULL,
                takes ? n->b->count : 0, uses);
}

/* One factor of a product. */
static IxNode *factor(IxAnalysis *a, const Node *n, IxUses *uses)
{
    switch (n->kind) {
    case ND_NAME: return is_param(a, n) ? ix_leaf(a, n, IXL_OPERAND) : number(a, n, uses);
    case ND_INDEX: return ix_element(a, n, uses);
    case ND_REDUCE: return ix_reduction(a, n, uses);
    case ND_CALL: return call(a, n, n->a, NULL, n->list, n->count, uses);
    case ND_PIPE: return piped(a, n, uses);
    case ND_COMPARE: return comparison(a, n, uses);
    case ND_UNARY: return operator_node(a, n, n->op, ix_term(a, n->a, uses), NULL);
    case ND_TRANSPOSE: return ix_operation(a, n, "conj", ix_term(a, n->a, uses), NULL);
    case ND_NOT: return logic(a, n, "invert", ix_term(a, n->a, uses), NULL);
    case ND_BINARY: case ND_AND: case ND_OR: {
        IxNode *l = ix_term(a, n->a, uses), *r = ix_term(a, n->b, uses);
        return n->kind == ND_BINARY ? operator_node(a, n, n->op, l, r)
                                    : logic(a, n, n->kind == ND_AND ? "bitand" : "bitor", l, r);
    }
    default: return ix_misfit(a, n);
    }
}

/* ---- products ---- */
static IxNode *chain(IxAnalysis *a, const Node *n, IxUses *product)
{
    if (ix_free(a, n))
        return ix_leaf(a, n, IXL_OPERAND);
    if (n->kind == ND_BINARY && (n->op == TK_MUL || n->op == TK_DIV)) {
        IxNode *l = chain(a, n->a, product), *r = chain(a, n->b, product);
        return operator_node(a, n, n->op, l, r);
    }
    if (n->kind == ND_UNARY && (n->op == TK_NEG || n->op == TK_POS))
        return operator_node(a, n, n->op, chain(a, n->a, product), NULL);
    IxUses own = { 0 };
    IxNode *x = factor(a, n, &own);
    for (int i = 0; i < own.count; i++)
        ix_use(a, product, &own.use[i], true);
    return x;
}

/* Sums what has two places and more. */
static IxNode *close_sums(IxAnalysis *a, const Node *n, IxNode *x, IxUses *product)
{
    uint64_t over = 0;
    for (int i = 0; i < product->count; i++) {
        IxUse *u = &product->use[i];
        if (u->places < 2)
            continue;
        int index = ix_index_new(a, u->name, u->node);
        IxNode *use = u->first;
        for (IxNode *next; use; use = next) {
            next = use == u->last ? NULL : use->next_use;
            use->index = index;
        }
        over |= UINT64_C(1) << index;
        u->places = 0;
        u->first = u->last = NULL;
        u->summed = n;
    }
    if (!over)
        return x;
    IxNode *sum = ix_node(a, IX_REDUCE, n);
    sum->reduce = IXR_SUM;
    sum->einstein = true;
    sum->over = over;
    sum->args = 1;
    sum->arg = lower_alloc(a->lo, sizeof *sum->arg);
    sum->arg[0] = x;
    return sum;
}

IxNode *ix_term(IxAnalysis *a, const Node *n, IxUses *up)
{
    IxUses product = { 0 };
    IxNode *x = close_sums(a, n, chain(a, n, &product), &product);
    for (int i = 0; i < product.count; i++)
        ix_use(a, up, &product.use[i], false);
    return x;
}

/* ---- whole notations ---- */
static IxNode *whole(IxAnalysis *a, const Node *n)
{
    IxUses up = { 0 };
    IxNode *root = ix_term(a, n, &up);
    for (int i = 0; i < up.count; i++)
        if (up.use[i].places)
            ix_fail_once(a, &up, &up.use[i]);
    return root;
}

void ix_analyse(Lower *lo, IxSite *site, const Node *n)
{
    IxAnalysis a = { .lo = lo, .tree = &site->tree, .whole = n };
    site->tree.source = lo->chunk->source;
    if (n->kind == ND_DEFINE)
        ix_left(&a, n);
    else if (n->kind == ND_COMPREHENSION)
        ix_axes(&a, n);
    site->tree.root = whole(&a, n->kind == ND_DEFINE ? n->b : n->kind == ND_REDUCE ? n : n->a);
    if (n->kind != ND_REDUCE)
        ix_ranges(&a, n);
}

/* x -> e, fn f(x) { e }, fn f(x) { return e }. */
static const Node *body_expression(const Node *n)
{
    const Node *body = n->a;
    while (body && body->kind == ND_BLOCK && body->count == 1)
        body = body->list[0];
    if (body && body->kind == ND_RETURN)
        body = body->a;
    return body && !lower_is_statement(body) && body->kind != ND_ASSIGN &&
                   body->kind != ND_DEFINE && body->kind != ND_OPASSIGN
               ? body
               : NULL;
}

IxTree *ix_body(Interp *in, const Function *fn)
{
    FnCode *code = (FnCode *)fn->code;
    if (code->inlined)
        return code->inlined;
    const Node *body = body_expression(code->node);
    if (!body || code->rest >= 0 || code->params > 16)
        return NULL;
    Lower lo = { .in = in, .module = fn->module, .chunk = fn->chunk, .fn = code };
    IxTree *tree = lower_alloc(&lo, sizeof *tree);
    IxAnalysis a = { .lo = &lo, .tree = tree, .params = code->params, .whole = body };
    tree->source = fn->chunk->source;
    tree->root = whole(&a, body);
    code->inlined = tree;
    return tree;
}
