/* Products in a graph: which of its operations multiply what is computed with a constant and sum
 * up, and may so be computed in eight-bit codes; and why others stay in floats. What is said here
 * is of the nodes alone, so that a graph out of a file tells the same. */
#include "interp/graph/graph.h"
#include "interp/op/heard.h"

#include "core/base/error.h"

#include <stdio.h>
#include <string.h>

static int find(const int *list, int n, int label)
{
    for (int i = 0; i < n; i++)
        if (list[i] == label)
            return i;
    return -1;
}

/* Is it rows of x by a matrix: what x has but for its last axis, then what only w has? */
static bool matrix_labels(const GraphLabels *l, GraphProduct *p)
{
    if (l->nw != 2 || l->nx < 1 || l->nout != l->nx || l->also)
        return false;
    int k = l->x[l->nx - 1], n = l->out[l->nout - 1];
    for (int i = 0; i < l->nx - 1; i++)
        if (l->x[i] < 0 || l->x[i] != l->out[i] || find(l->w, 2, l->x[i]) >= 0 ||
            find(l->x, i, l->x[i]) >= 0)
            return false;
    if (k < 0 || k == n || find(l->x, l->nx - 1, k) >= 0)
        return false;
    p->turned = l->w[0] == n && l->w[1] == k;
    return p->turned || (l->w[0] == k && l->w[1] == n);
}

/* The axis that only w brings into the result, for a scale of its own at each position. */
static void channel_labels(const GraphLabels *l, GraphProduct *p)
{
    p->channel = -1;
    for (int i = 0; i < l->nw; i++) {
        int at = find(l->out, l->nout, l->w[i]);
        if (at < 0 || find(l->x, l->nx, l->w[i]) >= 0 || (l->also >> l->w[i] & 1) ||
            find(l->w, i, l->w[i]) >= 0)
            continue;
        p->channel = i;
        p->along = at - l->nout;
    }
}

static void by_labels(const GraphLabels *l, GraphProduct *p)
{
    channel_labels(l, p);
    if (matrix_labels(l, p)) {
        p->matrix = true;
        p->channel = p->turned ? 0 : 1;
        p->along = -1;
    }
}

/* ---- the parts of a node ---- */
static bool is_constant(Value v)
{
    return v.tag == V_TENSOR && !dtype_cells((DType)v.tensor->dtype);
}

/* Does it multiply two operands, which then are a and b? */
static bool factors(const Graph *g, const GraphNode *n, Value *a, Value *b)
{
    const Value *v = graph_args(g, n);
    bool labelled = n->kind == GRAPH_ROW && n->op->products == PRODUCTS_LABELLED;
    bool text = n->kind == GRAPH_NOTATION || labelled;
    if (n->kind != GRAPH_PRODUCT && n->kind != GRAPH_NOTATION &&
        (n->kind != GRAPH_ROW || n->op->products == PRODUCTS_NOT ||
         n->op->products == PRODUCTS_CODES))
        return false;
    /* the parameters of einsum: its text, optimize, and then the tensors */
    uint32_t from = labelled ? 2 : text;
    bool two = text ? n->operands == from + 2 : n->operands >= 2;
    if (two) {
        *a = v[from];
        *b = v[from + 1];
    }
    return true;
}

static int rank_of(const Graph *g, Value v)
{
    return is_ref(v) ? graph_at(g, (uint32_t)v.i)->rank : v.tag == V_TENSOR ? v.tensor->rank : 0;
}

static DType dtype_of(const Graph *g, Value v)
{
    return is_ref(v) ? graph_at(g, (uint32_t)v.i)->dtype : v_dtype(v);
}

/* Of matrices: the constant behind what is computed, or before a vector, is by rows of x. */
static void by_matrix(const Graph *g, GraphProduct *p)
{
    int rank = rank_of(g, v_ref(p->x));
    p->matrix = !p->first || rank == 1;
    p->turned = p->first;
    p->channel = p->first ? 0 : 1;
    p->along = p->matrix ? -1 : -2;
}

static const char not_alone[] =
    "it is no product of two tensors alone, each index over all it can be";

static const char *layout(Interp *in, const Graph *g, const GraphNode *n, GraphProduct *p)
{
    GraphLabels l = { .nx = 0 };
    p->channel = -1;
    if (n->kind == GRAPH_NOTATION) {
        if (!graph_labels(in, graph_args(g, n)[0].str, p->first, &l))
            return not_alone;
        by_labels(&l, p);
    } else if (n->op->products == PRODUCTS_LABELLED) {
        Value spec = graph_args(g, n)[0];
        if (spec.tag != V_STRING || !graph_spec_labels(spec.str->text, p->first, &l))
            return "its labels are not those of two tensors";
        by_labels(&l, p);
    } else if (n->op->products == PRODUCTS_MATRIX) {
        if (p->w.tensor->rank != 2)
            return "its constant is no matrix";
        by_matrix(g, p);
    }
    return NULL;
}

static const char *numbers(const Graph *g, const GraphNode *n, const GraphProduct *p)
{
    DType x = dtype_of(g, v_ref(p->x)), w = dtype_of(g, p->w);
    bool floats = dtype_plain(x) && dtype_info(x)->kind == 'f' && dtype_plain(w) &&
                  dtype_info(w)->kind == 'f';
    if (!floats)
        return "its numbers are no floats of the machine";
    if (n->dtype != x || dtype_promote(x, w) != x)
        return "its operands are of different floats";
    if (p->w.tensor->size == 0 || rank_of(g, v_ref(p->x)) == 0)
        return "it has no numbers to count";
    return NULL;
}

static const char *lack(Interp *in, const Graph *g, const GraphNode *n, Value a, Value b,
                        GraphProduct *p)
{
    if (n->kind == GRAPH_PRODUCT || n->rule)
        return "it is of a derivative";
    if (a.tag == V_UNDEF || b.tag == V_UNDEF)
        return n->kind == GRAPH_NOTATION ? not_alone : "it is no product of two tensors alone";
    if (is_ref(a) && is_ref(b))
        return "both of its operands are computed";
    p->first = is_ref(b);
    p->x = (uint32_t)(p->first ? b : a).i;
    p->w = p->first ? a : b;
    if (!is_ref(p->first ? b : a) || !is_constant(p->w))
        return "neither of its operands is a constant tensor";
    if (n->scope >= 0)
        return "it stands in a scope of its own";
    if (n->place >= 0)
        return "it stands in a device block";
    const char *why = numbers(g, n, p);
    return why ? why : layout(in, g, n, p);
}

bool graph_product(Interp *in, const Graph *g, uint32_t node, GraphProduct *p)
{
    const GraphNode *n = graph_at(g, node);
    Value a = v_undef(), b = v_undef();
    *p = (GraphProduct){ .channel = -1 };
    if (!n->kept || !factors(g, n, &a, &b))
        return false;
    p->why = lack(in, g, n, a, b, p);
    return true;
}

/* ---- what explain says ---- */
bool graph_in_codes(const Graph *g)
{
    for (uint32_t i = 0; i < g->nodes; i++)
        if (g->node[i].kept && g->node[i].kind == GRAPH_ROW &&
            g->node[i].op->products == PRODUCTS_CODES)
            return true;
    return false;
}

static const char *called(const GraphNode *n)
{
    return n->kind == GRAPH_ROW ? n->op->name : n->kind == GRAPH_NOTATION ? "index notation"
                                                                       : "a product";
}

/* Rows that compute, and are no products: by name, each once. */
static void tell_others(Interp *in, const Graph *g)
{
    const Op *seen[32];
    char text[400] = "";
    size_t len = 0;
    int count = 0;
    for (uint32_t i = 0; i < g->nodes; i++) {
        const GraphNode *n = graph_at(g, i);
        int k = 0;
        if (!n->kept || n->kind != GRAPH_ROW || n->op->products || n->dtype == DT_NONE ||
            n->op->gives == GIVES_LAYOUT || n->op->gives == GIVES_RESHAPED ||
            dtype_info(n->dtype)->kind != 'f')
            continue;
        while (k < count && seen[k] != n->op)
            k++;
        if (k < count || count == 32)
            continue;
        seen[count++] = n->op;
        if (len < sizeof text - 60)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%.40s", len ? ", " : "",
                                    n->op->name);
    }
    if (count)
        explain_tell(in, "in floats: %s: no products", text);
}

void graph_tell_floats(Interp *in, Graph *g)
{
    GraphProduct p;
    if (!explain_on(in) || !graph_in_codes(g))
        return;
    for (uint32_t i = 0; i < g->nodes; i++) {
        if (!graph_product(in, g, i, &p) || !p.why)
            continue;
        const char *where = graph_where(in, g, graph_at(g, i));
        explain_tell(in, "in floats: %s%s%s: %s", called(graph_at(g, i)), where ? ", " : "",
                     where ? where : "", p.why);
    }
    tell_others(in, g);
}
