/* `explain`: keeps the records that it hears (heard.h) while the explained code runs and prints
 * them when it is done, on stdout, below what the code printed itself; calls that look the same
 * are one entry with a count. An error inside prints what was heard until then and goes on. */
#include "interp/measure/explain.h"
#include "interp/digits/tell.h"
#include "interp/lazy/lazy.h"
#include "interp/measure/compare.h"
#include "interp/state/wing.h"
#include "interp/lower/lower.h"

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/plain.h"
#include "interp/op/arith.h"
#include "interp/op/deferred.h"
#include "interp/output/output.h"
#include "interp/state/scope.h"
#include "interp/show/show.h"
#include "interp/eval/eval_flow.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ENTRIES_MAX = 100 };

/* Records that look the same, added up in the first. */
typedef struct Entry {
    Heard heard;
    int64_t calls;
} Entry;

typedef struct Explaining {
    Explain base;               /* first */
    Entry entries[ENTRIES_MAX];
    int count;
    int64_t dropped, calls;     /* operations beyond the entries; all of them */
    bool inner;                 /* an explain inside this one has told of operations */
    bool lazy;                  /* what is explained is a lazy block: */
    LazyListener graph;
    double flops, seconds;      /* of everything */
} Explaining;

static void put_label(Buf *out, const char *label)
{
    buf_printf(out, "  %-9s ", label);
}

/* The explains above need not say that nothing ran. */
static void explain_inner(Explain *x)
{
    for (; x; x = x->up)
        if (x->explains)
            ((Explaining *)(void *)x)->inner = true;
}

/* ---- entries ---- */
static void entry_add(Heard *old, const Heard *e)
{
    old->flops += e->flops;
    old->seconds += e->seconds;
    old->copied += e->copied;
    old->read += e->read;
    old->written += e->written;
    old->up += e->up;
    old->down += e->down;
    old->bytes_up += e->bytes_up;
    old->bytes_down += e->bytes_down;
}

/* Adds the record: to an entry that looks the same, or as the next one. */
static void explain_heard(Interp *in, Explain *base, Heard *e)
{
    Explaining *x = (Explaining *)(void *)base;
    x->calls += e->op || e->result.tag != V_NONE;
    x->flops += isnan(e->flops) ? 0 : e->flops;
    x->seconds += e->seconds;
    for (int i = 0; i < x->count; i++) {
        Entry *old = &x->entries[i];
        if (old->heard.head.len != e->head.len ||
            memcmp(old->heard.head.data, e->head.data, e->head.len) != 0)
            continue;
        old->calls++;
        entry_add(&old->heard, e);
        return;
    }
    if (x->count == ENTRIES_MAX) {
        x->dropped++;
        return;
    }
    x->entries[x->count++] = (Entry){ *e, 1 };
    buf_init(&e->head, &in->ctx);                 /* its texts are the entry's now */
    buf_init(&e->notes, &in->ctx);
}

/* ---- the report ---- */
static void put_count(Buf *out, double x)
{
    if (x < 1e6)
        buf_printf(out, "%.0f", x);
    else
        buf_printf(out, "%.3g", x);
}

static void put_bytes(Buf *out, double bytes)
{
    static const char *const units[] = { "kB", "MB", "GB", "TB" };
    int unit = -1;
    while (bytes >= 1000 && unit < 3)
        bytes /= 1000, unit++;
    if (unit < 0)
        buf_printf(out, "%.0f bytes", bytes);
    else
        buf_printf(out, "%.3g %s", bytes, units[unit]);
}

/* A run in a pipe or a file prints the same every time, so times are for terminals. */
static void put_time(Interp *in, Buf *out, double seconds, double flops)
{
    if (in->show.width == 0)
        return;
    put_label(out, "time");
    char text[32];
    buf_puts(out, seconds_text(text, sizeof text, seconds));
    if (flops >= 1e4 && seconds > 0)               /* below that it is the time of the call */
        buf_printf(out, ", %.3g GFLOP/s", 1e-9 * flops / seconds);
    buf_putc(out, '\n');
}

/* `device  sim.mps`, and what it copied for this. */
static void put_device(Interp *in, Buf *out, const Heard *e)
{
    if (e->device != in->ctx.devices->cpu || e->told) {
        put_label(out, "device");
        buf_printf(out, "%s%s\n", e->device->name, e->fell_back ? ", the fallback" : "");
    }
    if (e->up + e->down == 0)
        return;
    put_label(out, "copies");
    if (e->up) {
        buf_printf(out, "%llu there, ", (unsigned long long)e->up);
        put_bytes(out, e->bytes_up);
    }
    if (e->down) {
        buf_printf(out, "%s%llu home, ", e->up ? "; " : "", (unsigned long long)e->down);
        put_bytes(out, e->bytes_down);
    }
    buf_putc(out, '\n');
}

static void put_entry(Interp *in, Buf *out, const Entry *entry)
{
    const Heard *e = &entry->heard;
    buf_put(out, e->head.data, e->head.len);
    if (entry->calls > 1)
        buf_printf(out, " (%lld times)", (long long)entry->calls);
    buf_putc(out, '\n');
    put_device(in, out, e);
    buf_put(out, e->notes.data, e->notes.len);
    if (e->flops > 0) {
        put_label(out, "FLOPs");
        put_count(out, e->flops);
        if (e->formula[0])
            buf_printf(out, " (%s)", e->formula);
        buf_putc(out, '\n');
    }
    if (e->view) {
        put_label(out, "memory");
        buf_puts(out, "a view: nothing is copied\n");
        put_time(in, out, e->seconds, 0);
        return;
    }
    if (!e->op && e->result.tag == V_NONE)          /* it tells, and is no operation */
        return;
    put_label(out, "memory");
    put_bytes(out, e->read);
    buf_puts(out, " read, ");
    put_bytes(out, e->written);
    buf_puts(out, " written");
    if (e->copied > 0) {
        buf_puts(out, ", ");
        put_bytes(out, e->copied);
        buf_puts(out, " copied");
    }
    buf_putc(out, '\n');
    put_time(in, out, e->seconds, e->flops);
}

static void put_total(Interp *in, Buf *out, const Explaining *x)
{
    if (x->calls < 2)
        return;
    if (x->dropped)
        buf_printf(out, "… and %lld more\n", (long long)x->dropped);
    buf_printf(out, "in all %lld operations, ", (long long)x->calls);
    put_count(out, x->flops);
    buf_puts(out, " FLOPs\n");
    put_time(in, out, x->seconds, x->flops);
}

/* `in precision f16, sums in f32, rounded up`: the scope that the explained code stands in. */
static void put_scope(Interp *in, Buf *out)
{
    static const char *const modes[ROUND_MODES] = {
        [ROUND_AWAY] = ", ties rounded away", [ROUND_ZERO] = ", rounded to zero",
        [ROUND_UP] = ", rounded up",
        [ROUND_DOWN] = ", rounded down", [ROUND_ODD] = ", rounded to odd",
        [ROUND_STOCHASTIC] = ", rounded stochastically",
    };
    const Scope *s = in->scope;
    if (!scope_says(s))
        return;
    bool casts = s->format == DT_NONE;
    buf_printf(out, "in %s %s", casts ? "autocast" : "precision", dtype_name(scope_format(s)));
    if (s->accumulate_given || (!casts && s->accumulate != s->format))
        buf_printf(out, ", sums in %s", dtype_name(s->accumulate));
    buf_printf(out, "%s%s%s%s", modes[s->round] ? modes[s->round] : "",
               s->saturate ? ", saturating" : "",
               s->flush ? ", without subnormals" : "", s->reproducible ? ", reproducible" : "");
    if (s->backward != DT_NONE)
        buf_printf(out, ", cotangents in %s", dtype_name(s->backward));
    buf_putc(out, '\n');
}

static void report(Interp *in, const Explaining *x)
{
    Buf out;
    ErrFrame frame;
    buf_init(&out, &in->ctx);
    if (!ERR_TRY(&in->ctx, &frame)) {
        buf_free(&out);
        err_rethrow(&in->ctx);
    }
    put_scope(in, &out);
    if (x->lazy)
        buf_put(&out, x->graph.text.data, x->graph.text.len);
    if (x->lazy && x->graph.form != LAZY_TEXT) {
        out_write(in, out.data, out.len);
        ERR_END(&in->ctx, &frame);
        buf_free(&out);
        return;
    }
    for (int i = 0; i < x->count; i++)
        put_entry(in, &out, &x->entries[i]);
    put_total(in, &out, x);
    if (x->calls == 0 && !x->inner && !x->lazy)
        buf_puts(&out, "nothing to explain: no operation on tensors ran\n");
    if (out.len)
        plain_lines(out.data);
    show_fold(&out, 0, in->show.width);
    out_write(in, out.data, out.len);
    ERR_END(&in->ctx, &frame);
    buf_free(&out);
}

static void explain_free(Interp *in, Explaining *x)
{
    if (x->graph.text.ctx)
        lazy_listen_end(in, &x->graph);
    for (int i = 0; i < x->count; i++)
        heard_free(&x->entries[i].heard);
    mem_free(&in->ctx, x, sizeof *x);
}

/* Runs x->a while `heard` listens. False: it raised, or flow unwinds through it. */
static bool run_heard(Interp *in, const Exec *x, Explaining *heard, Value *result)
{
    Guard g;
    if (in->explain)
        explain_inner(in->explain);
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        heard_begin(in, &heard->base);
        if (x->sa)
            lazy_listen(in, &heard->graph, (uint8_t)x->sb);
        *result = exec_run(in, x->a);
        deferred_barrier(in, *result);
        if (x->sa)
            lazy_tell_rest(&heard->graph);
        v_push(in, *result);
        heard_end(in, &heard->base);
        report(in, heard);
        in->sp--;
        ERR_END(&in->ctx, &g.frame);
        return true;
    }
    guard_restore(in, &g);
    if (in->explain == &heard->base)
        heard_end(in, &heard->base);
    return false;
}

static void report_heard(Interp *in, void *heard)
{
    report(in, heard);
}

static Value eval_explain(Interp *in, const Exec *x)
{
    Value result = v_none();
    Explaining *heard = mem_zalloc(&in->ctx, sizeof *heard);
    heard->base.explains = true;
    heard->lazy = x->sa;
    heard->base.heard = explain_heard;
    if (run_heard(in, x, heard, &result)) {
        explain_free(in, heard);
        return result;
    }
    bool flow = in->flow != FLOW_NONE;
    if (flow || heard->calls)
        heard_despite_error(in, report_heard, heard);
    explain_free(in, heard);
    if (flow)
        flow_unwind(in);
    err_rethrow(&in->ctx);
}

/* ---- the wing: what measures ---- */
static const Exec *lower_explain(Lower *lo, const Node *n)
{
    bool lazy = n->a->kind == ND_LAZY;
    if (n->op == EXPLAIN_DIGITS)
        return lower_digits(lo, n);
    if (n->name && !lazy)
        return lower_latex(lo, n);
    Exec *x = exec_new(lo, eval_explain, n);
    x->a = lower_operand(lo, n->a);
    x->sa = lazy;
    x->sb = !n->name ? LAZY_TEXT : n->op == EXPLAIN_SVG ? LAZY_SVG : LAZY_DOT;
    return x;
}

static const LowerRow rows[] = {
    { ND_EXPLAIN, lower_explain }, { ND_PROFILE, lower_profile }, { ND_TIMEIT, lower_timeit },
    { ND_COMPARE_BLOCK, lower_compare_block },
};
const Wing wing_measure = { .rows = rows, .count = sizeof rows / sizeof *rows };
