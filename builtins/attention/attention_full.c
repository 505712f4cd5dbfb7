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

static void notify(Interp *in, const char *row, int64_t n, int64_t m, double bytes,
                   const char *because)
{
    char text[32];
    if (bytes >= MANY)
        notice(in, "%s makes all %lld×%lld scores, %s: %s", row, (long long)n, (long long)m,
               mem_bytes_text(text, bytes), because);
}

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
    notify(in, c->op->name, n, m, bytes, because);
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

/* ---- derivatives that go by the formula ---- */
/* Forward mode, and the gradient of a gradient: the rules in tangents.ric and rules.ric. */
void attention_before_rule(Interp *in, const Op *op, const Value *args, bool forward)
{
    bool back = op->run == op_run_attention_back;
    Value q = v_plain(args[back ? attention_back_places.q : attention_places.q]);
    Value k = v_plain(args[back ? attention_back_places.k : attention_places.k]);
    if ((!forward && !back) || q.tag != V_TENSOR || k.tag != V_TENSOR || q.tensor->rank < 2 ||
        k.tensor->rank < 2)
        return;
    const char *because = forward ? "derivatives forward go by the formula"
                                  : "the gradient of a gradient goes by the formula";
    int64_t d = q.tensor->dims[q.tensor->rank - 1], n = q.tensor->dims[q.tensor->rank - 2];
    int64_t m = k.tensor->dims[k.tensor->rank - 2];
    explain_note_next(in, "attention", "full scores %lld×%lld, because %s", (long long)n,
                      (long long)m, because);
    double heads = d && n ? (double)q.tensor->size / (double)d / (double)n : 0;
    notify(in, "attention", n, m,
           heads * (double)n * (double)m * dtype_info(q.tensor->dtype)->bytes, because);
}
