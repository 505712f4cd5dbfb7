/* The tree of a notation, continued: elements and their subscripts, reductions, the left side,
 * ranges, and what may not stand in index notation at all. */
#include "interp/notation/indexnot.h"
#include "interp/lower/lower.h"

#include <stdio.h>
#include <string.h>

/* ---- subscripts ---- */
OpWrap ix_wrap_find(Interp *in, const char *name)
{
    const Name *known = names_find(&in->names, name, strlen(name));
    const Op *op = known ? op_find(in, known) : NULL;
    return op ? (OpWrap)op->wraps : WRAP_NONE;
}

static OpWrap wrap_of(const IxAnalysis *a, const Node *n)
{
    if (n->kind != ND_CALL || n->count != 1 || n->a->kind != ND_NAME ||
        n->a->scope != SCOPE_GLOBAL || n->list[0]->kind == ND_NAMED ||
        n->list[0]->kind == ND_SPREAD || a->lo->module->assigned[n->a->slot])
        return WRAP_NONE;
    return ix_wrap_find(a->lo->in, n->a->name->text);
}

/* Every place of an index in it is one. */
static IxSub subscript(IxAnalysis *a, const Node *n, IxUses *uses)
{
    IxSub s = { .wrap = wrap_of(a, n), .node = n };
    IxUses own = { 0 };
    if (s.wrap)
        n = n->list[0];
    if (n->kind == ND_ELLIPSIS || n->kind == ND_NONE ||
        (n->kind == ND_RANGE && !(n->flags & NF_PARENS))) {
        ix_fail(a, ERR_INDEX, n, NULL, "give the axis an index of its own, as in A[i,j]",
                "every axis takes an index or a number here, and %s stands for several elements",
                ix_text(a, n));
        s.at = ix_node(a, IX_NUMBER, n);
        s.at->index = 0;
        return s;
    }
    s.at = ix_term(a, n, &own);
    for (int i = 0; i < own.count; i++)
        ix_use(a, uses, &own.use[i], true);
    return s;
}

static const Node *innermost_base(const Node *n)
{
    while (n->kind == ND_INDEX)
        n = n->a;
    return n;
}

IxNode *ix_element(IxAnalysis *a, const Node *n, IxUses *uses)
{
    const Node *base = n->a;
    bool param = a->params && base->kind == ND_NAME && base->scope == SCOPE_LOCAL;
    if (!ix_free(a, base) && !param) {
        if (base->kind == ND_INDEX && ix_free(a, innermost_base(base))) {
            char help[200];
            int len = (int)(base->span.to - base->span.from) - 1;
            snprintf(help, sizeof help, "all subscripts in one pair of brackets: %.*s,%s",
                     len < 80 ? len : 80, a->tree->source->text + base->span.from,
                     ix_text(a, n) + strlen(ix_text(a, base)) + 1);
            ix_fail(a, ERR_INDEX, n, NULL, help, "%s is an element, which has no axes to index",
                    ix_text(a, base));
        }
        return ix_misfit(a, base);
    }
    IxNode *x = ix_node(a, IX_ELEMENT, n);
    x->base = ix_leaf(a, base, IXL_BASE);
    x->sub = lower_alloc(a->lo, n->count * sizeof *x->sub);
    for (uint32_t i = 0; i < n->count; i++)
        x->sub[x->subs++] = subscript(a, n->list[i], uses);
    return x;
}

/* ---- reductions ---- */
const char *ix_reduce_word(IxReduce reduce)
{
    return reduce == IXR_MEAN ? "mean" : nest_reductions[reduce].word;
}

unsigned ix_reduce_facts(IxReduce reduce)
{
    /* of nothing 0/0, as the mean of an empty tensor */
    return reduce == IXR_MEAN ? R_EMPTY | R_ADDS : nest_reductions[reduce].facts;
}

int ix_reduce_find(const char *name)
{
    for (int i = 0; i <= IXR_MEAN; i++)
        if (strcmp(ix_reduce_word((IxReduce)i), name) == 0)
            return i;
    return -1;
}

bool ix_reduce_plain(const char *name)
{
    int reduce = ix_reduce_find(name);
    return reduce >= 0 && !(ix_reduce_facts((IxReduce)reduce) & R_PLACE);
}

static const char *bound_where(const IxAnalysis *a, const Name *name)
{
    for (int i = a->bounds; i-- > 0;)
        if (a->bound[i].name == name)
            return a->tree->index[a->bound[i].index].left ? "is an index of the result"
                                                          : "is bound by a reduction around it";
    return "is bound";
}

/* A name that the list before entry i binds already. */
static bool bound_before(IxAnalysis *a, const Node *n, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (n->list[k]->a->kind == ND_NAME && n->list[k]->a->name == n->list[i]->a->name) {
            ix_fail(a, ERR_INDEX, n->list[k]->a, n->list[i]->a, NULL, "%s is bound twice",
                    n->list[i]->a->name->text);
            return true;
        }
    return false;
}

static void bind_reduced(IxAnalysis *a, IxNode *x, const Node *n)
{
    int first = a->tree->indices;
    for (uint32_t i = 0; i < n->count; i++) {
        const Node *bind = n->list[i], *target = bind->a;
        if (target->kind != ND_NAME) {
            ix_fail(a, ERR_INDEX, target, NULL, NULL, "an index is a name, not %s",
                    ix_text(a, target));
            return;
        }
        const Name *name = target->name;
        if (bound_before(a, n, i))
            return;
        if (ix_bound(a, name))
            ix_fail(a, ERR_INDEX, target, NULL, "give one of the two another name",
                    "%s[%s]: %s %s already", n->name->text, name->text, name->text,
                    bound_where(a, name));
        int index = ix_index_new(a, name, target);
        a->tree->index[index].reduce = n;
        if (bind->b)
            ix_range(a, &a->tree->index[index], bind->b);
        x->over |= UINT64_C(1) << index;
    }
    for (uint32_t i = 0; i < n->count && a->bounds < NEST_INDICES; i++) {
        a->bound[a->bounds].name = n->list[i]->a->name;
        a->bound[a->bounds++].index = first + (int)i;
    }
}

/* A variable of the reduction's name makes it ambiguous: looked at when it runs. */
static void note_name(IxAnalysis *a, const Node *n)
{
    IxTree *t = a->tree;
    if (t->reduction_count == t->reduction_cap) {
        t->reduction_cap = t->reduction_cap ? 2 * t->reduction_cap : 4;
        const Node **more = lower_alloc(a->lo, (size_t)t->reduction_cap * sizeof *more);
        if (t->reduction_count)
            memcpy(more, t->reductions, (size_t)t->reduction_count * sizeof *more);
        t->reductions = more;
    }
    ((const Node **)(void *)t->reductions)[t->reduction_count++] = n;
}

IxNode *ix_reduction(IxAnalysis *a, const Node *n, IxUses *uses)
{
    IxNode *x = ix_node(a, IX_REDUCE, n);
    int mark = a->bounds;
    note_name(a, n);
    x->reduce = (uint8_t)ix_reduce_find(n->name->text);
    x->args = 1;
    x->arg = lower_alloc(a->lo, sizeof *x->arg);
    if ((ix_reduce_facts((IxReduce)x->reduce) & R_PLACE) && n->count > 1) {
        char help[96];
        snprintf(help, sizeof help,
                 "over a whole tensor A, whose elements are counted row by row: %s(A)",
                 n->name->text);
        ix_fail(a, ERR_INDEX, n->list[1], NULL, help,
                "%s finds the place along one index, and %u are given", n->name->text, n->count);
    }
    bind_reduced(a, x, n);
    x->arg[0] = ix_term(a, n->a, uses);
    a->bounds = mark;
    for (uint32_t i = 0; i < n->count; i++)
        if (n->list[i]->a->kind == ND_NAME)
            ix_use(a, uses, &(IxUse){ .name = n->list[i]->a->name, .summed = n, .node = n }, false);
    return x;
}

/* ---- ranges ---- */
/* sum[k in 0:i] x[k] with its range as a condition. False: it cannot be written so. */
static bool as_condition(const IxAnalysis *a, const IxIndex *index, const Node *range, char *out,
                         size_t cap)
{
    const Node *n = index->reduce;
    IxReduce r = n ? (IxReduce)ix_reduce_find(n->name->text) : IXR_MEAN;
    const char *nothing = r == IXR_MEAN ? NULL : nest_reductions[r].where;
    if (!nothing || n->count != 1 || range->kind != ND_RANGE || !range->a || !range->b ||
        range->c)
        return false;
    const char *name = index->name->text;
    bool zero = strcmp(ix_text(a, range->a), "0") == 0;
    snprintf(out, cap, "%s[%s] where(%s%s%s < %s, %s, %s)", n->name->text, name,
             zero ? "" : ix_text(a, range->a), zero ? "" : " <= ", name, ix_text(a, range->b),
             ix_text(a, n->a), nothing);
    return !strstr(out, "…");
}

void ix_range(IxAnalysis *a, IxIndex *index, const Node *n)
{
    const Name *name = index->name;
    int at = (int)(index - a->tree->index);
    if (!ix_free(a, n)) {
        char text[300], help[360];
        bool whole = as_condition(a, index, n, text, sizeof text);
        snprintf(help, sizeof help, "give it the full range and let a condition choose: %s",
                 whole ? text : "where(…, …, 0)");
        ix_fail(a, ERR_INDEX, n, NULL, help,
                "the range of %s depends on an index or parameter: %s; a range is the same "
                "everywhere",
                name->text, ix_text(a, n));
        return;
    }
    int part[3] = { -1, -1, -1 };
    const Node *parts[3] = { n->a, n->b, n->c };
    bool range = n->kind == ND_RANGE && n->a && n->b;
    for (int i = 0; i < (range ? 3 : 1); i++)
        if (!range || parts[i])
            part[i] = ix_leaf(a, range ? parts[i] : n, IXL_RANGE)->leaf;
    index = &a->tree->index[at];
    index->range = range ? IXG_PARTS : IXG_VALUE;
    index->range_node = n;
    memcpy(index->part, part, sizeof part);
}

/* The `for` of a definition gives ranges to indices of the left side and to summed ones. */
static void range_named(IxAnalysis *a, const Node *bind)
{
    const Name *name = bind->a->name;
    IxTree *t = a->tree;
    int first = -1;
    for (int i = 0; i < t->indices; i++) {
        if (t->index[i].name != name)
            continue;
        if (t->index[i].reduce) {
            ix_fail(a, ERR_INDEX, bind->a, t->index[i].node, "give one of the two another name",
                    "%s is bound by `for` and by %s[%s]", name->text,
                    t->index[i].reduce->name->text, name->text);
            return;
        }
        if (first < 0 && bind->b)
            ix_range(a, &t->index[i], bind->b);
        else if (bind->b)
            memcpy(t->index[i].part, t->index[first].part, sizeof t->index[i].part),
            t->index[i].range = t->index[first].range, t->index[i].range_node = bind->b;
        first = first < 0 ? i : first;
    }
    if (first < 0)
        ix_fail(a, ERR_INDEX, bind->a, NULL, NULL,
                "%s is bound by `for`, and nothing has it as an index", name->text);
}

void ix_ranges(IxAnalysis *a, const Node *n)
{
    for (uint32_t i = 0; i < n->count; i++) {
        const Node *bind = n->list[i];
        if (bind->a->kind != ND_NAME)
            ix_fail(a, ERR_INDEX, bind->a, NULL, NULL, "an index is a name, not %s",
                    ix_text(a, bind->a));
        else if (n->kind == ND_DEFINE && !bound_before(a, n, i))
            range_named(a, bind);
        else if (n->kind != ND_DEFINE && bind->b && i < (uint32_t)a->tree->indices)
            ix_range(a, &a->tree->index[i], bind->b);
    }
}

/* ---- axes of the result ---- */
static void add_axis(IxAnalysis *a, const Node *name)
{
    int index = ix_index_new(a, name->name, name);
    a->tree->index[index].left = true;
    if (a->bounds < NEST_INDICES) {
        a->bound[a->bounds].name = name->name;
        a->bound[a->bounds++].index = index;
    }
    a->tree->out_rank = a->tree->indices;
}

static void check_rank(IxAnalysis *a, const Node *n, uint32_t rank)
{
    if (rank > TENSOR_RANK_MAX)
        ix_fail(a, ERR_INDEX, n, NULL, NULL,
                "the result would have %u axes: a tensor has at most %d", rank, TENSOR_RANK_MAX);
}

void ix_left(IxAnalysis *a, const Node *n)
{
    const Node *left = n->a;
    for (uint32_t i = 0; left->kind == ND_INDEX && i < left->count; i++) {
        const Node *sub = left->list[i];
        if (sub->kind != ND_NAME || (sub->flags & NF_PARENS) || sub->scope != SCOPE_NONE) {
            ix_fail_left(a, n, sub, NULL);
            return;
        }
        for (uint32_t k = 0; k < i; k++)
            if (left->list[k]->name == sub->name) {
                ix_fail_left(a, n, left->list[k], sub);
                return;
            }
        if (a->tree->indices < NEST_INDICES)
            add_axis(a, sub);
    }
    check_rank(a, left, left->kind == ND_INDEX ? left->count : 0);
}

void ix_axes(IxAnalysis *a, const Node *n)
{
    for (uint32_t i = 0; i < n->count && i < NEST_INDICES; i++) {
        const Node *target = n->list[i]->a;
        if (target->kind != ND_NAME) {
            ix_fail(a, ERR_INDEX, target, NULL,
                    "give every variable its range with `in`, for an ordinary "
                    "comprehension",
                    "an index is a name, not %s", ix_text(a, target));
            return;
        }
        if (ix_bound(a, target->name))
            ix_fail(a, ERR_INDEX, target, NULL, NULL, "%s is bound twice", target->name->text);
        add_axis(a, target);
    }
    check_rank(a, n, n->count);
    if (n->b) {
        char help[120];
        snprintf(help, sizeof help,
                 "give the range for an ordinary comprehension: for %s in …, or use a mask",
                 n->list[0]->a->name->text);
        ix_fail(a, ERR_INDEX, n->b, NULL, help, "`if` does not go with an index without a range");
    }
}

/* ---- what has no place here ---- */
IxNode *ix_misfit(IxAnalysis *a, const Node *n)
{
    const char *help = "what belongs there: elements, numbers, elementwise operations, reductions";
    if (n->kind == ND_IF)
        help = "choose between elements with where(condition, x, y)";
    else if (n->kind == ND_BINARY && (n->op == TK_MATMUL || n->op == TK_DOT))
        help = "write the product with its index, as in A[i,j] * x[j]";
    if (n->kind == ND_BINARY || n->kind == ND_COMPARE)
        ix_fail(a, ERR_TYPE, n, NULL, help, "`%s` is no operation on single elements",
                operator_symbol((Operator)(n->kind == ND_COMPARE ? n->ops[0] : n->op)));
    else
        ix_fail(a, ERR_TYPE, n, NULL, help, "%s has no place in index notation", ix_text(a, n));
    IxNode *x = ix_node(a, IX_NUMBER, n);
    x->index = 0;
    return x;
}
