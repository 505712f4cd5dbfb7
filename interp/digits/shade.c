/* Shades, the places of operations, and the record of a run. */
#include "interp/digits/digits.h"
#include "interp/lazy/lazy.h"
#include "interp/precision/accuracy.h"
#include "interp/state/frames.h"

#include "core/base/error.h"
#include "core/base/mem.h"

#include <math.h>
#include <string.h>

const char *loss_name(LossKind kind)
{
    static const char *const names[LOSS_KINDS] = { "rounding", "cancellation", "absorption",
                                                   "conditioning", "overflow", "underflow" };
    return names[kind];
}

/* ---- runs ---- */
static void shading_release(Ctx *ctx, Native *native)
{
    Shading *g = (Shading *)native;
    for (uint32_t i = 0; i < g->sites; i++) {
        LossSite *s = &g->site[i];
        mem_free(ctx, s->operation, strlen(s->operation) + 1);
        if (s->source)
            source_release(s->source);
    }
    mem_free(ctx, g->site, g->site_cap * sizeof *g->site);
    mem_free(ctx, g, sizeof *g);
}

static const Kind shading_kind = { .release = shading_release };

Tape *shading_begin(Interp *in, DType against)
{
    lazy_state(in);                 /* operations are kept from waiting (Interp.deferring) */
    Shading *g = mem_zalloc(&in->ctx, sizeof *g);
    g->native = (Native){ .refs = 1, .kind = &shading_kind };
    g->ctx = &in->ctx;
    g->against = against;
    v_push(in, (Value){ .tag = V_TRANSFORM, .ptr = g });
    Tape *t = tape_new(in, TAPE_GRAPH);
    v_push(in, v_tape(t));
    t->recorder = &shadow_recorder;
    t->record = g;
    tape_begin(in, t);
    return t;
}

void shading_end(Interp *in, Tape *t)
{
    tape_end(in, t);
    t->record = NULL;
}

Tape *shading_tape(const Interp *in)
{
    Tape *t = tape_recording(in, 0);
    while (t && t->recorder != &shadow_recorder)
        t = tape_recording(in, t->level);
    return t;
}

/* ---- places ---- */
static char *copied(Ctx *ctx, const char *text)
{
    char *copy = mem_alloc(ctx, strlen(text) + 1);
    strcpy(copy, text);
    return copy;
}

uint32_t site_here(Interp *in, Shading *g, const Op *op, const char *name)
{
    Where w;
    interp_locate(&in->ctx, &w);
    where_leave_stdlib(in, &w);
    for (uint32_t i = g->sites; i-- > 0;) {
        const LossSite *s = &g->site[i];
        if (s->op == op && s->source == w.source && s->span.from == w.span.from &&
            s->span.to == w.span.to && strcmp(s->operation, name) == 0)
            return i;
    }
    if (g->sites == g->site_cap) {
        size_t want = g->site_cap * 2 + 16;
        g->site = mem_realloc(g->ctx, g->site, g->site_cap * sizeof *g->site,
                              want * sizeof *g->site);
        g->site_cap = want;
    }
    char *operation = copied(g->ctx, name);
    g->site[g->sites] = (LossSite){ .op = op, .operation = operation, .span = w.span,
                                    .source = w.source ? source_retain(w.source) : NULL };
    return g->sites++;
}

void site_where(Buf *out, const LossSite *s)
{
    if (s->source)
        buf_printf(out, "%s:%u", s->source->name, source_place(s->source, s->span.from).line);
}

/* ---- shades ---- */
static void shade_release(Ctx *ctx, Native *native)
{
    Shade *s = (Shade *)native;
    v_release(ctx, s->shadow);
    mem_free(ctx, s, sizeof *s);
}

static const Kind shade_kind = { .release = shade_release };

Shade *shade_new(Interp *in, Value shadow)
{
    v_push(in, shadow);
    Shade *s = mem_zalloc(&in->ctx, sizeof *s);
    in->sp--;
    s->native = (Native){ .refs = 1, .kind = &shade_kind };
    s->shadow = shadow;
    s->digits = NAN;
    s->made = s->swallower = SITE_NONE;
    return s;
}

Shade *shade_on(Value v, const Tape *t)
{
    Value s = tangent_on(v, t);
    return s.tag == V_UNDEF ? NULL : s.ptr;
}

Value shaded(Interp *in, Tape *t, Value r, Shade *s)
{
    v_push(in, v_shade(s));
    Traced *x = traced_new(in, t, v_retain(r), 0);
    in->sp--;
    x->tangent = v_shade(s);
    return v_traced(x);
}

/* ---- losses ---- */
Loss *loss_at(Shade *s, uint32_t site)
{
    uint32_t least = 0;
    for (uint32_t i = 0; i < s->losses; i++) {
        if (s->loss[i].site == site)
            return &s->loss[i];
        if (s->loss[i].cost < s->loss[least].cost)
            least = i;
    }
    uint32_t at = s->losses < LOSSES ? s->losses++ : least;
    s->loss[at] = (Loss){ .site = site };
    return &s->loss[at];
}

void loss_add(Shade *s, const Loss *l)
{
    for (uint32_t i = 0; i < s->losses; i++)
        if (s->loss[i].site == l->site) {
            if (l->cost > s->loss[i].cost)
                s->loss[i] = *l;
            return;
        }
    if (s->losses < LOSSES) {
        s->loss[s->losses++] = *l;
        return;
    }
    Loss *least = s->loss;
    for (uint32_t i = 1; i < LOSSES; i++)
        if (s->loss[i].cost < least->cost)
            least = &s->loss[i];
    if (l->cost > least->cost)
        *least = *l;
}

void losses_join(Shade *s, const Shade *from)
{
    for (uint32_t i = 0; i < from->losses; i++)
        loss_add(s, &from->loss[i]);
}

void losses_clip(Shade *s, double digits, double of)
{
    double lacks = of > digits ? of - digits : 0;
    for (uint32_t i = 0; i < s->losses; i++) {
        Loss *l = &s->loss[i];
        bool narrowed = l->narrow > 0 && of <= l->narrow;
        l->cost = !narrowed && l->cost > lacks ? lacks : l->cost;
    }
}

/* A cast to a narrower format lost what the result cannot have anyway, if it is in that format. */
const Loss *loss_worst(const Shade *s, double most)
{
    const Loss *worst = NULL;
    for (uint32_t i = 0; i < s->losses; i++) {
        const Loss *l = &s->loss[i];
        bool asked = l->narrow > 0 && most <= l->narrow;
        if (!asked && l->cost > 0 && (!worst || l->cost > worst->cost))
            worst = l;
    }
    return worst;
}

LossKind loss_kind(const Loss *l)
{
    return l->cost > 1 && l->reasoned > l->lost / 2 ? (LossKind)l->kind : LOSS_ROUNDING;
}

/* ---- formats ---- */
bool floats(Value v)
{
    v = v_plain(v);
    return v_is_numeric(v) && strchr("fq", dtype_info(v_dtype(v))->kind) != NULL;
}

bool complex_in(Value v)
{
    v = v_plain(v);
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        if (complex_in(v.tuple->items[i]))
            return true;
    return v_is_numeric(v) && dtype_info(v_dtype(v))->kind == 'c';
}

double format_digits(DType dt)
{
    return dtype_base(dt) == DT_DECIMAL ? dtype_digits(dt) : accuracy_bits(dt) * log10(2);
}

double value_digits(Value v, DType against)
{
    return fmin(format_digits(v_dtype(v_plain(v))), format_digits(against));
}
