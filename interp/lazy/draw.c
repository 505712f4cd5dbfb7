/* The graph of a run as text for Graphviz, and as SVG: operations with their results, what comes
 * from outside, and which of them are one kernel. */
#include "interp/lazy/lazy.h"

#include "core/base/buf.h"

#include <stdio.h>
#include <string.h>

/* Text between quotes, or tags. */
static void put_escaped(Buf *out, const char *text, uint8_t form)
{
    for (; *text; text++) {
        if (form == LAZY_DOT && (*text == '"' || *text == '\\'))
            buf_putc(out, '\\');
        if (form == LAZY_SVG && strchr("<>&\"", *text))
            buf_puts(out, *text == '<' ? "&lt;" : *text == '>' ? "&gt;"
                        : *text == '&' ? "&amp;" : "&quot;");
        else
            buf_putc(out, *text);
    }
}

/* ---- what comes from outside ---- */
enum { LEAVES = 256 };
typedef struct Leaf { const Tensor *t; int node, arg; } Leaf;

/* The number of the tensor at argument j of i; a new one, if it was not seen before. */
static int leaf_of(const Run *run, Leaf *leaf, int *count, int i, int j)
{
    const Tensor *t = run->node[i]->args[j].tensor;
    for (int k = 0; k < *count; k++)
        if (leaf[k].t == t)
            return k;
    if (*count == LEAVES)
        return -1;
    leaf[*count] = (Leaf){ t, i, j };
    return (*count)++;
}

/* ---- Graphviz ---- */
static void draw_dot(Buf *out, const Run *run)
{
    const LazyStep *step = run->compiled->step;
    char text[LAZY_TEXT_MAX + 8], form[96];
    Leaf leaf[LEAVES];
    int leaves = 0;
    buf_puts(out, "digraph lazy {\n  node [shape=box, fontname=\"sans-serif\"];\n");
    for (int i = 0; i < run->n; i++) {
        int parts = 0;
        for (int k = 0; k <= i && step_whole(step, i) == i; k++)
            parts += step_whole(step, k) == i;
        if (parts > 1)
            buf_printf(out, "  subgraph cluster_%d { label=\"one kernel\"; style=filled; "
                            "color=\"#dde8f5\";", i + 1);
        for (int k = 0; k <= i && parts; k++) {
            if (step_whole(step, k) != i)
                continue;
            buf_printf(out, "%sn%d [label=\"", parts > 1 ? "\n    " : "  ", k + 1);
            put_escaped(out, run->node[k]->op->name, LAZY_DOT);
            buf_printf(out, "\\n%s\"];", lazy_form_text(run->node[k]->head, form));
        }
        if (parts > 1)
            buf_puts(out, "\n  }");
        if (parts)
            buf_putc(out, '\n');
    }
    for (int i = 0; i < run->n; i++)
        for (int j = 0; j < run->node[i]->count; j++) {
            int k = step_operand(run, NULL, i, j), known = leaves;
            if (k >= 0) {
                buf_printf(out, "  n%d -> n%d;\n", k + 1, i + 1);
                continue;
            }
            k = run->node[i]->args[j].tag == V_TENSOR ? leaf_of(run, leaf, &leaves, i, j) : -1;
            if (k < 0)
                continue;
            if (k == known) {
                buf_printf(out, "  x%d [shape=ellipse, label=\"", k + 1);
                put_escaped(out, lazy_leaf_text(run->node[i], j, text), LAZY_DOT);
                buf_printf(out, "\\n%s\"];\n", lazy_form_text(leaf[k].t, form));
            }
            buf_printf(out, "  x%d -> n%d;\n", k + 1, i + 1);
        }
    buf_puts(out, "}\n");
}

/* ---- SVG ---- */
enum { WIDE = 168, HIGH = 44, GAP_X = 20, GAP_Y = 34, DRAWN = 512 };

typedef struct Box { int16_t level, place; } Box;

typedef struct Picture {
    Buf *out;
    const Run *run;
    Leaf leaf[LEAVES];
    int leaves, n, levels, most;
    Box box[DRAWN];                     /* operations, then leaves */
    int16_t filled[DRAWN + 1];          /* of each level */
} Picture;

static int operand_box(Picture *p, int i, int j)
{
    int k = step_operand(p->run, NULL, i, j);
    if (k >= 0)
        return k;
    k = p->run->node[i]->args[j].tag == V_TENSOR ? leaf_of(p->run, p->leaf, &p->leaves, i, j) : -1;
    return k < 0 || p->n + k >= DRAWN ? -1 : p->n + k;
}

/* Leaves stand one level above the first that reads them. */
static void lay_out(Picture *p)
{
    p->n = p->run->n;
    for (int i = 0; i < p->n; i++) {
        p->box[i].level = 1;
        for (int j = 0; j < p->run->node[i]->count; j++) {
            int known = p->leaves, k = operand_box(p, i, j);
            if (k >= p->n && k - p->n >= known)
                p->box[k].level = -1;
            if (k >= 0 && k < p->n && p->box[k].level >= p->box[i].level)
                p->box[i].level = (int16_t)(p->box[k].level + 1);
        }
        for (int j = 0; j < p->run->node[i]->count; j++) {
            int k = operand_box(p, i, j);
            if (k >= p->n && p->box[k].level < 0)
                p->box[k].level = (int16_t)(p->box[i].level - 1);
        }
    }
    for (int k = 0; k < p->n + p->leaves && k < DRAWN; k++) {
        int level = p->box[k].level;
        p->box[k].place = p->filled[level]++;
        p->levels = level >= p->levels ? level + 1 : p->levels;
        p->most = p->filled[level] > p->most ? p->filled[level] : p->most;
    }
}

static int box_x(const Picture *p, int k)
{
    int row = p->filled[p->box[k].level] * (WIDE + GAP_X) - GAP_X;
    int all = p->most * (WIDE + GAP_X) - GAP_X;
    return GAP_X + (all - row) / 2 + p->box[k].place * (WIDE + GAP_X);
}

static int box_y(const Picture *p, int k) { return GAP_Y + p->box[k].level * (HIGH + GAP_Y); }

static void put_edges(Picture *p)
{
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->run->node[i]->count; j++) {
            int k = operand_box(p, i, j);
            if (k < 0)
                continue;
            int x = box_x(p, k) + WIDE / 2, y = box_y(p, k) + HIGH, to_x = box_x(p, i) + WIDE / 2,
                to_y = box_y(p, i), bend = GAP_Y / 2;
            buf_printf(p->out, "<path d=\"M%d %d C%d %d %d %d %d %d\" fill=\"none\" "
                               "stroke=\"#667\" marker-end=\"url(#to)\"/>\n",
                       x, y, x, y + bend, to_x, to_y - bend, to_x, to_y);
        }
}

static void put_box(Picture *p, int k, const char *name, const Tensor *t, const char *fill)
{
    char form[96];
    int x = box_x(p, k), y = box_y(p, k);
    buf_printf(p->out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\" fill=\"%s\" "
                       "stroke=\"#445\"/>\n", x, y, WIDE, HIGH, k < p->n ? 4 : HIGH / 2, fill);
    buf_printf(p->out, "<text x=\"%d\" y=\"%d\">", x + WIDE / 2, y + 18);
    put_escaped(p->out, name, LAZY_SVG);
    buf_printf(p->out, "</text>\n<text x=\"%d\" y=\"%d\" class=\"form\">%s</text>\n", x + WIDE / 2,
               y + 35, lazy_form_text(t, form));
}

static void draw_svg(Buf *out, const Run *run)
{
    static const char *const colours[] = { "#dde8f5", "#e4f1dc", "#f7e8d3", "#efe0f1", "#f9f3cf" };
    const LazyStep *step = run->compiled->step;
    char text[LAZY_TEXT_MAX + 8];
    Picture p = { .out = out, .run = run };
    if (run->n > DRAWN - LEAVES) {
        buf_printf(out, "<!-- %d operations are more than are drawn -->\n", run->n);
        return;
    }
    lay_out(&p);
    int width = p.most * (WIDE + GAP_X) + GAP_X, height = p.levels * (HIGH + GAP_Y) + GAP_Y;
    buf_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                    "viewBox=\"0 0 %d %d\">\n", width, height, width, height);
    buf_puts(out, "<style>text{font:13px sans-serif;text-anchor:middle}.form{font-size:11px;"
                  "fill:#556}</style>\n<defs><marker id=\"to\" viewBox=\"0 0 8 8\" refX=\"8\" "
                  "refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 "
                  "L8 4 L0 8z\" fill=\"#667\"/></marker></defs>\n");
    buf_printf(out, "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", width, height);
    put_edges(&p);
    for (int i = 0; i < p.n; i++)
        put_box(&p, i, run->node[i]->op->name, run->node[i]->head,
                colours[step_whole(step, i) % 5]);
    for (int k = 0; k < p.leaves && p.n + k < DRAWN; k++)
        put_box(&p, p.n + k, lazy_leaf_text(run->node[p.leaf[k].node], p.leaf[k].arg, text),
                p.leaf[k].t, "white");
    buf_puts(out, "</svg>\n");
}

void lazy_draw(Buf *out, const Run *run, uint8_t form)
{
    if (form == LAZY_DOT)
        draw_dot(out, run);
    else
        draw_svg(out, run);
}
