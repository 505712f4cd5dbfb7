/* explain lazy: each run as a list of operations before and after it was simplified, and a line for
 * each rewriting. */
#include "interp/lazy/lazy.h"

#include "core/base/buf.h"
#include "core/base/source.h"
#include "interp/output/output.h"

#include <stdio.h>
#include <string.h>

enum { DEAD_ROOM = 4096 };

void lazy_listen(Interp *in, LazyListener *l, uint8_t form)
{
    LazyState *r = lazy_state(in);
    *l = (LazyListener){ .up = r->listener, .form = form };
    buf_init(&l->text, &in->ctx);
    buf_init(&l->dead, &in->ctx);
    buf_init(&l->constant, &in->ctx);
    r->listener = l;
    buf_reserve(&l->dead, DEAD_ROOM);   /* where no memory can be asked for */
}

void lazy_listen_end(Interp *in, LazyListener *l)
{
    LazyState *r = in->lazy;
    if (r->listener == l)
        r->listener = l->up;
    buf_free(&l->text);
    buf_free(&l->dead);
    buf_free(&l->constant);
}

/* ---- the program's text ---- */
static bool continues(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

/* One line of it, cut where it is long. */
static const char *span_text(const Source *s, Span span, char out[LAZY_TEXT_MAX + 8])
{
    size_t n = 0;
    for (uint32_t i = span.from; i < span.to && i < s->len; i++) {
        char c = s->text[i];
        bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
        if (blank && n && out[n - 1] == ' ')
            continue;
        if (n >= LAZY_TEXT_MAX && !continues(c)) {
            memcpy(out + n, "…", sizeof "…");
            return out;
        }
        out[n++] = blank ? ' ' : c;
        if (n >= LAZY_TEXT_MAX + 4)
            break;
    }
    out[n] = '\0';
    return out;
}

const char *lazy_text(const Deferred *d, char out[LAZY_TEXT_MAX + 8])
{
    if (d->source && d->at && d->at->node->span.to > d->at->node->span.from)
        return span_text(d->source, d->at->node->span, out);
    snprintf(out, LAZY_TEXT_MAX, "%s(…)", d->op->name);
    return out;
}

/* The node of operand j of d in the program; NULL: not told. */
static const Node *operand_node(const Deferred *d, int j)
{
    const Node *n = d->source && d->at ? d->at->node : NULL;
    int k = d->operand[j];
    if (!n || k < 0)
        return NULL;
    if (n->kind == ND_CALL)
        return (uint32_t)k < n->count ? n->list[k] : NULL;
    return k == 0 ? n->a : k == 1 ? n->b : k == 2 ? n->c : NULL;
}

/* What comes from outside, as the program calls it. */
const char *lazy_leaf_text(const Deferred *d, int j, char out[LAZY_TEXT_MAX + 8])
{
    const Node *n = operand_node(d, j);
    if (n && n->kind == ND_NAMED)
        n = n->a;
    if (n)
        return span_text(d->source, n->span, out);
    snprintf(out, LAZY_TEXT_MAX, "an operand");
    return out;
}

const char *lazy_form_text(const Tensor *t, char out[96])
{
    char shape[64];
    snprintf(out, 96, "%s %s", shape_text(shape, sizeof shape, t->rank, tensor_shape(t)),
             dtype_name((DType)t->dtype));
    return out;
}

/* ---- lists ---- */
static size_t columns(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += !continues(*text);
    return n;
}

static void put_padded(Buf *out, const char *text, size_t width)
{
    buf_puts(out, text);
    for (size_t n = columns(text); n < width; n++)
        buf_putc(out, ' ');
}

static void put_before(Buf *out, const Run *run)
{
    char text[LAZY_TEXT_MAX + 8], form[96];
    size_t widest = 0;
    buf_puts(out, "before\n");
    for (int i = 0; i < run->n; i++) {
        size_t n = columns(lazy_text(run->node[i], text));
        widest = n > widest ? n : widest;
    }
    for (int i = 0; i < run->n; i++) {
        const Deferred *d = run->node[i];
        buf_printf(out, "  %3d  ", i + 1);
        put_padded(out, lazy_text(d, text), widest + 2);
        put_padded(out, d->op->name, 14);
        buf_printf(out, "%s\n", lazy_form_text(d->head, form));
    }
}

static void put_after(Buf *out, const Run *run)
{
    static const bool nothing[STEP_KINDS] = {
        [STEP_SAME] = true, [STEP_INSIDE] = true, [STEP_BARE] = true, [STEP_VIEW] = true,
    };
    const LazyStep *step = run->compiled->step;
    char form[96];
    int kernel = 0;
    buf_puts(out, "after\n");
    for (int i = 0; i < run->n; i++) {
        if (nothing[step[i].kind])
            continue;
        buf_printf(out, "  %3d  ", ++kernel);
        if (step[i].kind == STEP_ATTENTION)
            buf_puts(out, "attention of ");
        for (int k = 0, any = 0; k <= i; k++)
            if (step[k].kind != STEP_SAME && step_whole(step, k) == i)
                buf_printf(out, "%s%s (%d)", any++ ? ", " : "",
                           run->node[k]->op->name, k + 1);
        buf_printf(out, ", gives %s\n", lazy_form_text(run->node[i]->head, form));
    }
}

static void put_lines(Buf *out, Buf *lines)
{
    if (lines->len)
        buf_put(out, lines->data, lines->len);
    buf_clear(lines);
}

void lazy_tell_run(Interp *in, const Run *run, bool compiled)
{
    LazyListener *l = in->lazy->listener;
    Buf *out = &l->text;
    const Compiled *c = run->compiled;
    if (l->form != LAZY_TEXT) {         /* of several runs the largest: a file is one picture */
        if (run->n > l->drawn) {
            buf_clear(out);
            lazy_draw(out, run, l->form);
            l->drawn = run->n;
        }
        return;
    }
    buf_printf(out, "graph of %d operation%s, %d kernel%s%s\n", run->n, run->n == 1 ? "" : "s",
               c->kernels, c->kernels == 1 ? "" : "s",
               compiled ? "" : ", compiled before");
    put_before(out, run);
    put_after(out, run);
    put_lines(out, &l->dead);
    put_lines(out, &l->constant);
    if (c->told.len)
        buf_put(out, c->told.data, c->told.len);
}

/* What is left to tell when all has run. */
void lazy_tell_rest(LazyListener *l)
{
    if (l->form == LAZY_DOT && !l->drawn)
        buf_puts(&l->text, "digraph lazy {\n}\n");
    if (l->form == LAZY_SVG && !l->drawn)
        buf_puts(&l->text, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1\" "
                           "height=\"1\"/>\n");
    if (l->form != LAZY_TEXT)
        return;
    put_lines(&l->text, &l->dead);
    put_lines(&l->text, &l->constant);
    if (!l->text.len)
        buf_puts(&l->text, "graph of 0 operations: nothing waited\n");
}

/* Nothing here may raise: a tensor is going. */
void lazy_tell_dead(LazyState *r, const Deferred *d)
{
    char text[LAZY_TEXT_MAX + 8];
    LazyListener *l = r->listener;
    if (!l || l->dead.len + 256 > l->dead.cap)
        return;
    buf_printf(&l->dead, "dead: %s, %s, which nobody holds, is never run\n",
               d->op->name, lazy_text(d, text));
}

void lazy_tell_constant(LazyState *r, const OpCall *c)
{
    LazyListener *l = r->listener;
    r->counts.operations++;
    if (l && l->constant.len < 4096)
        buf_printf(&l->constant, "constant: %s of constants, computed when it was met\n",
                   c->op->name);
}

/* ---- a block that is compiled again and again ---- */
static void site_leaves(const Run *run, char leaf[SITE_LEAVES][SITE_TEXT])
{
    char text[LAZY_TEXT_MAX + 8], form[96];
    int n = 0;
    memset(leaf, 0, SITE_LEAVES * SITE_TEXT);
    for (int i = 0; i < run->n; i++)
        for (int j = 0; j < run->node[i]->count && n < SITE_LEAVES; j++) {
            Value v = run->node[i]->args[j];
            if (v.tag != V_TENSOR || step_operand(run, NULL, i, j) >= 0)
                continue;
            snprintf(leaf[n++], SITE_TEXT, "%.20s is %.36s",
                     lazy_leaf_text(run->node[i], j, text), lazy_form_text(v.tensor, form));
        }
}

void lazy_tell_compiled(Interp *in, const Run *run)
{
    LazySite *site = in->lazy->site;
    char leaf[SITE_LEAVES][SITE_TEXT];
    if (!site || site->counted || site->compiled >= SITE_TOLD)
        return;
    site->counted = true;
    site->compiled++;
    if (site->compiled < SITE_TOLD - 1)
        return;
    site_leaves(run, leaf);
    int k = 0;
    while (k < SITE_LEAVES - 1 && strcmp(leaf[k], site->leaf[k]) == 0)
        k++;
    bool told = strcmp(leaf[k], site->leaf[k]) != 0 && leaf[k][0] && site->leaf[k][0];
    if (site->compiled == SITE_TOLD && told)
        notice(in, "a lazy block is compiled for the %dth time: %s, and the time before %s",
               SITE_TOLD, leaf[k], site->leaf[k]);
    else if (site->compiled == SITE_TOLD)
        notice(in, "a lazy block is compiled for the %dth time: of %d operation%s, and the time "
               "before of %d", SITE_TOLD, run->n, run->n == 1 ? "" : "s", site->operations);
    memcpy(site->leaf, leaf, sizeof leaf);
    site->operations = run->n;
}
