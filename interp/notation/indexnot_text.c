/* A notation's text with names for what stands in it: see indexnot_text.h. */
#include "interp/notation/indexnot_text.h"
#include "interp/eval/eval_name.h"

#include "core/base/error.h"

#include <stdlib.h>
#include <string.h>

bool ix_text_inlines(const IxSite *site, const Value *base)
{
    NodeKind kind = (NodeKind)site->node->kind;
    bool whole = kind == ND_COMPREHENSION && site->tree.source->text[site->node->span.from] == '[';
    if (kind != ND_DEFINE && kind != ND_REDUCE && !whole)
        return true;                        /* a part of x[p[k]] += v[k] */
    for (int i = 0; i < site->tree.leaves; i++)
        if (site->tree.leaf[i].role == IXL_CALLEE && base[i].tag != V_OP &&
            base[i].tag != V_FORMAT)
            return true;
    return false;
}

bool ix_text_takes(const IxSite *site, const Value *base, int i)
{
    const IxLeaf *leaf = &site->tree.leaf[i];
    bool named = leaf->role == IXL_CALLEE && (base[i].tag == V_OP || base[i].tag == V_FORMAT);
    return !named && !exec_weak(leaf->exec);
}

/* A text in place of a part of the notation's. */
typedef struct Piece {
    Span span;
    int leaf;
} Piece;

static int by_place(const void *a, const void *b)
{
    uint32_t x = ((const Piece *)a)->span.from, y = ((const Piece *)b)->span.from;
    return (x > y) - (x < y);
}

typedef struct Pieces {
    const IxSite *site;
    Piece *piece;
    int count, cap;
} Pieces;

/* The leaf that n is: a variable is one leaf wherever it stands. */
static int leaf_at(const IxSite *site, const Node *n)
{
    for (int i = 0; i < site->tree.leaves; i++) {
        const Node *leaf = site->tree.leaf[i].exec->node;
        if (n->kind == ND_NAME ? leaf->kind == ND_NAME && leaf->name == n->name
                               : leaf->kind == n->kind && leaf->span.from == n->span.from &&
                                 leaf->span.to == n->span.to)
            return i;
    }
    return -1;
}

static void find_pieces(Interp *in, Pieces *p, const Node *n)
{
    if (!n)
        return;
    stack_check(in);
    int leaf = leaf_at(p->site, n);
    if (leaf >= 0 && p->count < p->cap)
        p->piece[p->count] = (Piece){ n->span, leaf };
    if (leaf >= 0) {
        p->count++;
        return;
    }
    find_pieces(in, p, n->a);
    find_pieces(in, p, n->b);
    find_pieces(in, p, n->c);
    for (uint32_t i = 0; i < n->count; i++)
        find_pieces(in, p, n->list[i]);
}

/* Letters that begin no name in the text, so that with a number behind they are a new one. */
static const char *prefix_for(const char *text, size_t len)
{
    static const char *const tries[] = { "p", "q", "p_", "q_", "p__", "leaf_", "leaf__" };
    size_t n = sizeof tries / sizeof *tries;
    for (size_t t = 0; t < n; t++) {
        size_t k = strlen(tries[t]);
        bool found = false;
        for (size_t i = 0; i + k < len && !found; i++)
            found = memcmp(text + i, tries[t], k) == 0 && text[i + k] >= '0' && text[i + k] <= '9';
        if (!found)
            return tries[t];
    }
    return tries[n - 1];
}

static void put_leaf(Buf *out, const char *prefix, Value v, int number, bool takes)
{
    if (takes)
        buf_printf(out, "%s%d", prefix, number);
    else if (v.tag == V_OP)
        buf_puts(out, v.op->name);
    else
        buf_puts(out, dtype_name(v_format_dtype(v)));
}

Value ix_text_of(Interp *in, const IxSite *site, const Value *base)
{
    const Source *s = site->tree.source;
    Span whole = site->node->span;
    const char *prefix = prefix_for(s->text + whole.from, whole.to - whole.from);
    Pieces found = { .site = site };
    int params = 0;
    Buf *out = &in->scratch;
    const Node *n = site->node, *left = n->kind == ND_DEFINE ? n->a : NULL;
    for (int pass = 0; pass < 2; pass++) {
        int64_t bytes = (int64_t)found.count * (int64_t)sizeof(Piece);
        if (pass) {
            v_push(in, v_tensor_raw(tensor_new(&in->ctx, DT_U8, 1, &bytes)));
            found = (Pieces){ site, (Piece *)(void *)in->sp[-1].tensor->data, 0, found.count };
        }
        find_pieces(in, &found, left ? n->b : n->a);
        find_pieces(in, &found, left ? n->c : n->b);
        for (uint32_t i = 0; i < n->count; i++)
            find_pieces(in, &found, n->list[i]);
    }
    Piece *piece = found.piece;
    int pieces = found.count;
    qsort(piece, (size_t)pieces, sizeof *piece, by_place);
    int number[IX_LEAVES];
    for (int i = 0; i < site->tree.leaves; i++)
        number[i] = ix_text_takes(site, base, i) ? params++ : -1;
    buf_clear(out);
    buf_putc(out, '(');
    for (int i = 0; i < params; i++)
        buf_printf(out, "%s%s%d", i ? ", " : "", prefix, i);
    buf_puts(out, ") -> {\n    ");
    uint32_t from = whole.from;
    for (int i = 0; i < pieces; i++) {
        buf_put(out, s->text + from, piece[i].span.from - from);
        int k = piece[i].leaf;
        if (exec_weak(site->tree.leaf[k].exec)) {
            buf_put(out, s->text + piece[i].span.from, piece[i].span.to - piece[i].span.from);
            from = piece[i].span.to;
            continue;
        }
        put_leaf(out, prefix, base[k], number[k], number[k] >= 0);
        from = piece[i].span.to;
    }
    buf_put(out, s->text + from, whole.to - from);
    if (site->result)
        buf_printf(out, "\n    %s", site->result->text);
    buf_puts(out, "\n}");
    stack_cut(in, in->sp - 1);
    return v_str(str_new(&in->ctx, buf_cstr(out), out->len));
}
