/* Which axes of two operands and of their product go together, by the text of the product: index
 * notation as graphs keep it, or einsum's own. */
#include "interp/graph/graph.h"
#include "parser/parse.h"

#include "core/base/error.h"

#include <stdlib.h>
#include <string.h>

/* ---- einsum ---- */
bool graph_spec_labels(const char *spec, bool first, GraphLabels *l)
{
    int side = 0, *list[3] = { first ? l->w : l->x, first ? l->x : l->w, l->out };
    int *count[3] = { first ? &l->nw : &l->nx, first ? &l->nx : &l->nw, &l->nout };
    *l = (GraphLabels){ .nx = 0 };
    for (const char *s = spec; *s; s++) {
        bool letter = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z');
        if (letter && *count[side] < TENSOR_RANK_MAX)
            list[side][(*count[side])++] = *s & 63;
        else if (*s == ',' && side == 0)
            side = 1;
        else if (*s == '-' && s[1] == '>' && side == 1)
            side = 2, s++;
        else if (*s != ' ')
            return false;
    }
    for (int i = 0; i < l->nx; i++)
        l->axis[i] = (GraphAxis){ .terms = 1, .label = { l->x[i] }, .factor = { 1 } };
    return side == 2;
}

/* ---- index notation ---- */
typedef struct Indices { const Name *name[64]; int count; } Indices;

static int label_of(Indices *names, const Name *n)
{
    for (int i = 0; i < names->count; i++)
        if (names->name[i] == n)
            return i;
    if (names->count == 60)
        return -1;
    names->name[names->count] = n;
    return names->count++;
}

/* Every name in n is an index there. */
static uint64_t indices_in(Indices *names, const Node *n)
{
    uint64_t bits = 0;
    if (!n)
        return 0;
    if (n->kind == ND_NAME) {
        int label = label_of(names, n->name);
        return label < 0 ? 0 : (uint64_t)1 << label;
    }
    for (uint32_t i = 0; i < n->count; i++)
        bits |= indices_in(names, n->list[i]);
    return bits | indices_in(names, n->a) | indices_in(names, n->b) | indices_in(names, n->c);
}

/* A factor as it is written, of few digits; 0: it is none. */
static int64_t factor_of(const Node *n)
{
    if (n->kind != ND_INT || n->text_len == 0 || n->text_len > 6)
        return 0;
    for (uint32_t i = 0; i < n->text_len; i++)
        if (n->text[i] < '0' || n->text[i] > '9')
            return 0;
    return strtoll(n->text, NULL, 10);
}

/* i, 2*i, i*2 or a sum of such, added to a; false: something else, or an index twice. */
static bool add_terms(Indices *names, const Node *n, GraphAxis *a)
{
    int64_t factor = 1;
    if (n->kind == ND_BINARY && n->op == TK_ADD)
        return add_terms(names, n->a, a) && add_terms(names, n->b, a);
    if (n->kind == ND_BINARY && n->op == TK_MUL) {
        bool left = n->a->kind == ND_INT;
        factor = factor_of(left ? n->a : n->b);
        n = left ? n->b : n->a;
    }
    int label = n->kind == ND_NAME && factor > 0 ? label_of(names, n->name) : -1;
    if (label < 0 || a->terms == GRAPH_TERMS)
        return false;
    for (int i = 0; i < a->terms; i++)
        if (a->label[i] == label)
            return false;
    a->label[a->terms] = label;
    a->factor[a->terms++] = factor;
    return true;
}

static void read_axes(Indices *names, const Node *n, GraphLabels *l)
{
    for (int i = 0; i < l->nx; i++)
        if (!add_terms(names, n->list[i], &l->axis[i]))
            l->axis[i].terms = 0;
}

/* `more`: where indices of other subscripts go; NULL: there may be none. */
static int subscripts(Indices *names, const Node *n, int *list, uint64_t *more)
{
    if (n->count > TENSOR_RANK_MAX)
        return -1;
    for (uint32_t i = 0; i < n->count; i++) {
        list[i] = n->list[i]->kind == ND_NAME ? label_of(names, n->list[i]->name) : -1;
        if (list[i] < 0 && !more)
            return -1;
        if (list[i] < 0)
            *more |= indices_in(names, n->list[i]);
    }
    return (int)n->count;
}

static bool is_leaf(const Node *n, const Name *of)
{
    return n->kind == ND_INDEX && n->a->kind == ND_NAME && n->a->name == of;
}

/* sum[j] …, of all that j may be. */
static bool sums_all(Interp *in, const Node *n)
{
    if (n->kind != ND_REDUCE || op_find(in, n->name) != op_named(in, "sum"))
        return false;
    for (uint32_t i = 0; i < n->count; i++)
        if (n->list[i]->kind != ND_NAME && (n->list[i]->kind != ND_BIND || n->list[i]->b))
            return false;
    return true;
}

static bool notation_labels(Interp *in, const Node *f, bool first, GraphLabels *l)
{
    Indices names = { .count = 0 };
    const Node *body = f->a;
    const Node *define = body && body->kind == ND_BLOCK && body->count == 2 ? body->list[0] : NULL;
    if (!define || define->kind != ND_DEFINE || define->count || define->a->kind != ND_INDEX)
        return false;
    const Node *product = define->b;
    while (sums_all(in, product))
        product = product->a;
    const Name *x = f->list[first]->name, *w = f->list[!first]->name;
    if (product->kind != ND_BINARY || product->op != TK_MUL)
        return false;
    bool swapped = is_leaf(product->a, w);
    const Node *of_x = swapped ? product->b : product->a, *of_w = swapped ? product->a : product->b;
    if (!is_leaf(of_x, x) || !is_leaf(of_w, w))
        return false;
    l->nout = subscripts(&names, define->a, l->out, NULL);
    l->nx = subscripts(&names, of_x, l->x, &l->also);
    l->nw = subscripts(&names, of_w, l->w, NULL);
    if (l->nout < 0 || l->nx < 0 || l->nw < 0)
        return false;
    read_axes(&names, of_x, l);
    return true;
}

/* einsum("ij,jk->ik", p0, p1), or with p1 first. */
static bool call_labels(Interp *in, const Node *f, bool first, GraphLabels *l)
{
    const Node *call = f->a;
    char spec[128] = "";
    if (!call || call->kind != ND_CALL || call->count != 3 || call->a->kind != ND_NAME)
        return false;
    const Op *op = op_find(in, call->a->name);
    if (!op || op->products != PRODUCTS_LABELLED || call->list[0]->kind != ND_STRING ||
        call->list[1]->kind != ND_NAME || call->list[2]->kind != ND_NAME ||
        call->list[0]->text_len >= sizeof spec)
        return false;
    memcpy(spec, call->list[0]->text, call->list[0]->text_len);
    const Name *x = f->list[first]->name, *w = f->list[!first]->name;
    bool turned = call->list[1]->name == w;
    if (call->list[1 + turned]->name != x || call->list[2 - turned]->name != w)
        return false;
    return graph_spec_labels(spec, turned, l);
}

typedef struct Reading {
    bool first;
    GraphLabels *l;
} Reading;

static bool text_labels(Interp *in, const Node *root, void *data)
{
    const Reading *r = data;
    const Node *f = root->kind == ND_BLOCK && root->count == 1 ? root->list[0] : NULL;
    return f && f->kind == ND_LAMBDA && f->count == 2 &&
           (notation_labels(in, f, r->first, r->l) || call_labels(in, f, r->first, r->l));
}

bool graph_labels(Interp *in, const Str *text, bool first, GraphLabels *l)
{
    *l = (GraphLabels){ .nx = 0 };
    return graph_text_read(in, text, text_labels, &(Reading){ first, l });
}
