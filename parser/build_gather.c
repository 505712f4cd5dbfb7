/* The second reading of `s[r[i]] += x[i]`: index notation, where i is no variable. A target that
 * gathers, so one whose subscript holds an element with a name alone between its brackets, keeps
 * beside its ordinary reading what each subscript and the value are over the indices:
 * [r[i] for i] and [x[i] for i]. Whether i is a variable is known when the statement runs. */
#include "parser/build.h"

#include <string.h>

enum { INDICES_MAX = 16, DEPTH_MAX = 100 };

typedef struct Gather {
    ParseState *ps;
    const Node *index[INDICES_MAX];     /* names, in the order in which they appear */
    uint32_t count;
    bool gathers;
} Gather;

static bool is_index(const Gather *g, const Name *name)
{
    for (uint32_t i = 0; i < g->count; i++)
        if (g->index[i]->name == name)
            return true;
    return false;
}

/* A subscript, inside so many pairs of brackets. */
static void look_for_indices(Gather *g, const Node *n, int brackets)
{
    if (!n || n->kind == ND_COMPREHENSION || n->kind == ND_REDUCE || n->kind == ND_LAMBDA)
        return;                         /* these bind names of their own */
    if (n->kind == ND_NAME && !(n->flags & NF_PARENS) && brackets > 0) {
        g->gathers |= brackets > 1;
        if (!is_index(g, n->name) && g->count < INDICES_MAX)
            g->index[g->count++] = n;
        return;
    }
    bool element = n->kind == ND_INDEX;
    look_for_indices(g, n->a, n->kind == ND_INDEX || n->kind == ND_CALL ? 0 : -1);
    for (uint32_t i = 0; i < n->count; i++)
        look_for_indices(g, n->list[i], element ? 2 : -1);
    look_for_indices(g, n->b, -1);
}

static bool mentions(const Node *n, const Name *name)
{
    if (!n || (n->kind == ND_NAME && n->name == name))
        return n != NULL;
    for (uint32_t i = 0; i < n->count; i++)
        if (mentions(n->list[i], name))
            return true;
    return mentions(n->a, name) || mentions(n->b, name) || mentions(n->c, name);
}

/* The resolver writes into nodes, so each reading has its own. */
static Node *copy_of(ParseState *ps, const Node *n)
{
    if (!n)
        return NULL;
    Node *copy = node_make(ps, (NodeKind)n->kind, n->span, n->mark, NULL, NULL, NULL);
    Seq items = { 0 };
    for (uint32_t i = 0; i < n->count; i++)
        seq_add(ps, &items, copy_of(ps, n->list[i]));
    Node *a = copy_of(ps, n->a), *b = copy_of(ps, n->b), *c = copy_of(ps, n->c);
    *copy = *n;
    copy->list = items.items;
    copy->count = items.count;
    copy->a = a;
    copy->b = b;
    copy->c = c;
    return copy;
}

/* n over those of the indices that it holds; n itself if it holds none. */
static Node *over_indices(Gather *g, const Node *n)
{
    Seq binds = { 0 };
    for (uint32_t i = 0; i < g->count; i++)
        if (mentions(n, g->index[i]->name))
            seq_add(g->ps, &binds,
                    build_bind(g->ps, n->span, copy_of(g->ps, g->index[i]), NULL));
    Node *copy = copy_of(g->ps, n);
    return binds.count ? build_comprehension(g->ps, n->span, copy, binds, NULL, n->span) : copy;
}

Node *build_gather(ParseState *ps, const Node *target, const Node *value)
{
    Gather g = { .ps = ps };
    Seq parts = { 0 };
    if (target->kind != ND_INDEX || target->depth > DEPTH_MAX || value->depth > DEPTH_MAX)
        return NULL;
    for (uint32_t i = 0; i < target->count; i++) {
        if (target->list[i]->kind == ND_RANGE || target->list[i]->kind == ND_ELLIPSIS)
            return NULL;
        look_for_indices(&g, target->list[i], 1);
    }
    if (!g.gathers)
        return NULL;
    for (uint32_t i = 0; i < g.count; i++)
        seq_add(ps, &parts, copy_of(ps, g.index[i]));
    Node *names = node_list(ps, ND_TUPLE, target->span, target->mark, parts);
    parts = (Seq){ 0 };
    for (uint32_t i = 0; i < target->count; i++)
        seq_add(ps, &parts, over_indices(&g, target->list[i]));
    seq_add(ps, &parts, over_indices(&g, value));
    Node *second = node_list(ps, ND_TUPLE, target->span, target->mark, parts);
    second->a = names;
    return second;
}
