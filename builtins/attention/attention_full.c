/* Attention in formats that have no tiles: the formula, written with rows in
 * builtins/gradients/rules.ric, makes all scores. */
#include "builtins/attention/attention.h"
#include "core/base/error.h"
#include "interp/eval/call.h"
#include "interp/gradient/gradient.h"
#include "interp/op/heard.h"
#include "interp/output/output.h"
#include "interp/precision/precise.h"

#include <stdio.h>

/* From so many bytes on a notice says that all scores are there at once. */
enum { MANY = 16 << 20 };

/* The formula of that name on all arguments; a parameter that was not given is none. */
static Value full(OpCall *c, const Places *at, const char *formula, const char *because)
{
    Value args[16];
    Interp *in = c->in;
    for (int i = 0; i < c->count; i++)
        args[i] = c->args[i].tag == V_UNDEF ? v_none() : c->args[i];
    Asked a;
    attention_sizes(&a, c, at);
    int64_t n = a.job.n, m = a.job.m, count = count_times(count_times(a.job.heads, n), m);
    double bytes = (double)count * dtype_info(a.q->dtype)->bytes;
    if (explain_on(in))
        explain_note(in, "attention", "full scores %lld×%lld, because %s", (long long)n,
                     (long long)m, because);
    if (bytes >= MANY) {
        char text[32];
        notice(in, "%s makes all %lld×%lld scores, %s: %s", c->op->name, (long long)n,
               (long long)m, mem_bytes_text(text, bytes), because);
    }
    return call_value(in, gradient_function(in, formula), args, c->count);
}

/* ---- precision scopes ---- */
/* Have the tiles this format, and nothing is asked for that they do not do? */
static bool has_tiles(const Scope *s)
{
    bool half = dtype_half(s->format);
    bool plain = s->round == ROUND_NEAREST && !s->saturate && !s->flush;
    return plain && (half ? s->accumulate == DT_F32
                          : scope_ordinary(s) && s->accumulate == s->format);
}

static Value in_format(OpCall *c, Scope *s, const Places *at, const char *formula)
{
    char why[96];
    if (s->format == DT_RATIONAL)       /* e^x is no fraction */
        exact_refuse(c, at->q);
    if (has_tiles(s)) {
        s->partly = true;
        return precise_outside(c, s, DT_NONE, true);
    }
    snprintf(why, sizeof why, dtype_half(s->format) || scope_ordinary(s)
             ? "%s is rounded or summed in a way of its own here" : "%s has no tiles",
             dtype_name(s->format));
    return full(c, at, formula, why);
}

Value op_format_attention(OpCall *c, Scope *s)
{
    return in_format(c, s, &attention_places, "_attention");
}
Value op_format_attention_lse(OpCall *c, Scope *s)
{
    return in_format(c, s, &attention_places, "_attention_lse");
}
Value op_format_attention_back(OpCall *c, Scope *s)
{
    return in_format(c, s, &attention_back_places, "_attention_back");
}
