/* What `explain grad(f)(x)` says between the forward and the backward operations: what was kept for
 * these, and for which operation. */
#include "interp/gradient/gradient.h"
#include "interp/op/heard.h"

#include "core/base/error.h"

#include <stdio.h>
#include <string.h>

enum { KEPT_MOST = 8 };

typedef struct Kept {
    const Op *op;                   /* NULL: index notation */
    double bytes;
} Kept;

/* Bytes by operation, the first so many; what several keep counts for each. */
static int kept_list(const Tape *t, Kept *list, double *total)
{
    int n = 0;
    *total = 0;
    for (uint32_t i = 0; i < t->entries; i++) {
        const Entry *e = &t->entry[i];
        double bytes = 0;
        for (uint32_t k = e->keep; k < e->keep + e->keeps; k++)
            bytes += v_bytes(v_plain(t->keep[k]));
        if ((e->kind != ENTRY_ROW && e->kind != ENTRY_CALL) || bytes == 0)
            continue;
        *total += bytes;
        int at = 0;
        while (at < n && list[at].op != e->op)
            at++;
        if (at == KEPT_MOST)
            continue;
        if (at == n)
            list[n++] = (Kept){ e->op, 0 };
        list[at].bytes += bytes;
    }
    return n;
}

static void put_kept(Buf *out, const Tape *t)
{
    Kept list[KEPT_MOST];
    double total, shown = 0;
    char text[32], label[64];
    int n = kept_list(t, list, &total);
    buf_printf(out, "  kept      %s", heard_bytes_text(text, sizeof text, total));
    for (int i = 0; i < n; i++) {
        buf_printf(out, "%s%s for %s", i ? ", " : ": ",
                   heard_bytes_text(text, sizeof text, list[i].bytes),
                   list[i].op ? op_label(list[i].op, label, sizeof label) : "index notation");
        shown += list[i].bytes;
    }
    if (shown < total)
        buf_printf(out, ", %s for others", heard_bytes_text(text, sizeof text, total - shown));
    buf_putc(out, '\n');
}

void tape_tell(Interp *in, const Tape *t, const char *name)
{
    Explain *x = in->explain;
    if (!explain_on(in) || x->depth)
        return;
    Heard h = { .name = "backward", .device = in->ctx.devices->cpu, .dtype = DT_NONE,
                .result = v_none() };
    ErrFrame frame;
    buf_init(&h.head, &in->ctx);
    buf_init(&h.notes, &in->ctx);
    if (!ERR_TRY(&in->ctx, &frame)) {
        buf_free(&h.head);
        buf_free(&h.notes);
        err_rethrow(&in->ctx);
    }
    uint32_t operations = 0;
    for (uint32_t i = 0; i < t->entries; i++)
        operations += t->entry[i].kind != ENTRY_LEAF && t->entry[i].kind != ENTRY_FIELD;
    buf_printf(&h.head, "%s: back over %u operation%s", name, operations,
               operations == 1 ? "" : "s");
    put_kept(&h.notes, t);
    x->heard(in, x, &h);
    ERR_END(&in->ctx, &frame);
    buf_free(&h.head);
    buf_free(&h.notes);
}
