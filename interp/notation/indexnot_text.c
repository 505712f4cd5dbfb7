/* A notation's text with names for what stands in it: see indexnot_text.h. */
#include "interp/notation/indexnot_text.h"
#include "interp/eval/eval_name.h"

#include "core/base/error.h"

#include <stdlib.h>
#include <string.h>

bool ix_text_inlines(const IxSite *site, const Value *base)
{
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
    Piece piece[IX_LEAVES];
    int pieces = 0, params = 0;
    Buf out;
    for (int i = 0; i < site->tree.leaves; i++) {
        const IxLeaf *leaf = &site->tree.leaf[i];
        Span at = leaf->exec->node->span;
        bool inside = at.from >= whole.from && at.to <= whole.to;
        if (inside && !exec_weak(leaf->exec))
            piece[pieces++] = (Piece){ at, i };
    }
    qsort(piece, (size_t)pieces, sizeof *piece, by_place);
    int number[IX_LEAVES];
    for (int i = 0; i < site->tree.leaves; i++)
        number[i] = ix_text_takes(site, base, i) ? params++ : -1;
    buf_init(&out, &in->ctx);
    buf_putc(&out, '(');
    for (int i = 0; i < params; i++)
        buf_printf(&out, "%s%s%d", i ? ", " : "", prefix, i);
    buf_puts(&out, ") -> {\n    ");
    uint32_t from = whole.from;
    for (int i = 0; i < pieces; i++) {
        buf_put(&out, s->text + from, piece[i].span.from - from);
        int k = piece[i].leaf;
        put_leaf(&out, prefix, base[k], number[k], number[k] >= 0);
        from = piece[i].span.to;
    }
    buf_put(&out, s->text + from, whole.to - from);
    if (site->result)
        buf_printf(&out, "\n    %s", site->result->text);
    buf_puts(&out, "\n}");
    return v_str(str_from_buf(&in->ctx, &out));
}
