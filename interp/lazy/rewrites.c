/* The rules in their order, and what they share. A rule changes the kinds of steps; what it did is
 * a line that begins with its word. All but two keep every rounding: `reordered` and `recognised`
 * are not done where a scope is `reproducible`. */
#include "interp/lazy/lazy.h"

#include "core/base/buf.h"

#include <stdarg.h>
#include <stdio.h>

static const Rewriting rewritings[] = {
    { "common", rewrite_common },       /* computed once */
    { "recognised", rewrite_recognised },       /* attention */
    { "reordered", rewrite_reordered },         /* a chain of products */
    { "folded", rewrite_folded },       /* layouts and casts into products */
    { "fused", rewrite_fused },         /* elementwise chains, also behind products */
};

void lazy_rewrite(Draft *d)
{
    for (size_t i = 0; i < sizeof rewritings / sizeof *rewritings; i++) {
        draft_count(d);
        rewritings[i].apply(d, rewritings[i].word);
    }
}

void draft_count(Draft *d)
{
    for (int i = 0; i < d->n; i++) {
        d->readers[i] = 0;
        d->reader[i] = -1;
    }
    for (int i = 0; i < d->n; i++) {
        if (d->step[i].kind == STEP_SAME)
            continue;
        for (int j = 0; j < d->run->node[i]->count; j++) {
            int k = step_operand(d->run, d->step, i, j);
            if (k < 0)
                continue;
            d->readers[k]++;
            d->reader[k] = i;
        }
    }
}

void draft_tell(Draft *d, const char *word, const char *fmt, ...)
{
    va_list args;
    Buf *out = &d->c->told;
    buf_printf(out, "%s: ", word);
    va_start(args, fmt);
    buf_vprintf(out, fmt, args);
    va_end(args);
    buf_putc(out, '\n');
}

const char *draft_name(const Draft *d, int i, char out[96])
{
    snprintf(out, 96, "%s (%d)", d->run->node[i]->op->name, i + 1);
    return out;
}
