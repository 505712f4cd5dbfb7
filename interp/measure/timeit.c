/* `timeit EXPRESSION`, `timeit { … }`: how long it takes. The first run is told apart (it loads
 * libraries, builds kernels, makes plans); a second one is heard (heard.h) for FLOPs, bytes, copies
 * and memory and sets how often the samples repeat it; then 3 to 25 samples in about half a
 * second, of which the median and the quartiles are printed. All of them wait for devices.
 *
 * Of a number or tensor with fewer digits than f64, or from a device, the error against f64 on the
 * host is shown: the expression runs once more, before the samples, in f64 and on the host, blocks
 * that say otherwise inside it passed over, printing nothing. Only where it assigns no variable
 * and is no long work; `compare` does the same for any block. */
#include "interp/op/heard.h"
#include "interp/measure/explain.h"
#include "interp/measure/memory.h"
#include "interp/device/place.h"

#include "core/base/error.h"
#include "interp/precision/accuracy.h"
#include "interp/eval/eval_make.h"
#include "interp/output/output.h"
#include "interp/state/scope.h"
#include "interp/show/show.h"
#include "interp/eval/eval_flow.h"
#include "interp/lower/lower.h"
#include "interp/op/deferred.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 25 };
#define REFERENCE_FLOPS 1e11    /* more is no aside: it would take the host seconds */
#define REFERENCE_SECONDS 2.0

/* What one run was heard to do. */
typedef struct Count {
    Explain base;               /* first */
    double flops, bytes, moved;
    double simulated;           /* seconds that simulated devices would have taken */
    uint64_t copies;
    bool device;                /* something ran on one, or was copied there */
} Count;

static void count_heard(Interp *in, Explain *base, Heard *e)
{
    Count *c = (Count *)(void *)base;
    c->flops += isnan(e->flops) ? 0 : e->flops;
    c->bytes += e->view ? 0 : e->read + e->written;
    c->device |= e->device != in->ctx.devices->cpu;
    c->simulated += e->device->caps & DEVCAP_SIM ? e->seconds : 0;
}

static void count_moved(Interp *in, Explain *base, const PlaceMove *m)
{
    Count *c = (Count *)(void *)base;
    const Device *d = m->to != in->ctx.devices->cpu ? m->to : m->from;
    c->simulated += d->caps & DEVCAP_SIM ? m->seconds : 0;
    c->copies++;
    c->moved += (double)m->bytes;
    c->device = true;
}

/* ---- runs ---- */
static void wait(Interp *in)
{
    if (in->ctx.remote)
        heard_sync(in);
}

static double time_run(Interp *in, const Exec *body, int64_t times)
{
    wait(in);
    double start = heard_clock();
    for (int64_t i = 0; i < times; i++) {
        Value v = exec_run(in, body);
        if (v.tag != V_FLOW)
            v_release(&in->ctx, v);
    }
    wait(in);
    return (heard_clock() - start) / (double)times;
}

/* The run that is heard; its value goes onto the stack, its seconds come back. */
static double run_heard(Interp *in, const Exec *body, Count *c)
{
    Guard g;
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        heard_begin(in, &c->base);
        wait(in);
        double start = heard_clock();
        Value v = exec_run(in, body);
        v_push(in, v.tag == V_FLOW ? v_none() : v);
        wait(in);
        double seconds = heard_clock() - start;
        heard_end(in, &c->base);
        ERR_END(&in->ctx, &g.frame);
        return seconds;
    }
    in->explain = c->base.up;                   /* what it heard goes with it */
    heard_free(&c->base.now);
    guard_restore(in, &g);
    if (in->flow != FLOW_NONE)
        flow_unwind(in);
    err_rethrow(&in->ctx);
}

/* ---- the error against f64 on the host ---- */
static bool asks_reference(const Exec *x, Value v, const Count *c, double seconds)
{
    if (!x->b || c->flops > REFERENCE_FLOPS || seconds > REFERENCE_SECONDS)
        return false;
    if (v.tag == V_FLOAT)
        return c->device;
    if (v.tag != V_TENSOR || !strchr("fc", dtype_info(v.tensor->dtype)->kind) ||
        dtype_cells((DType)v.tensor->dtype))
        return false;
    return c->device || accuracy_bits((DType)v.tensor->dtype) < accuracy_bits(DT_F64);
}

/* False: it failed there. Its value is left on the stack. */
static bool run_reference(Interp *in, const Exec *body)
{
    Guard g;
    bool mute = in->out_mute;
    Scope scope = scope_of(DT_F64);
    DeviceBlock host = { .device = in->ctx.devices->cpu, .fallback = in->ctx.devices->cpu,
                         .quiet = true,
                         .pinned = true };
    scope.pinned = true;
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        in->out_mute = true;
        if (in->place || in->ctx.remote)
            in->place = (host.up = in->place, &host);
        scope_enter(in, &scope);
        Value v = exec_run(in, body);
        scope_leave(in, &scope);
        in->place = g.place;
        in->out_mute = mute;
        v_push(in, v);
        ERR_END(&in->ctx, &g.frame);
        return true;
    }
    in->out_mute = mute;
    guard_restore(in, &g);
    if (in->flow != FLOW_NONE)
        flow_unwind(in);
    if (in->ctx.error->kind == ERR_INTERRUPT)
        err_rethrow(&in->ctx);
    err_free(in->ctx.error);
    in->ctx.error = NULL;
    return false;
}

/* The relative error of `value` (on the stack), nan where there is no reference. `rng`: as it was
 * before the value was made. */
static double error_of(Interp *in, const Exec *x, Value value, const uint64_t rng[3])
{
    Value *mark = in->sp;
    uint64_t now[3] = { in->rng.key[0], in->rng.key[1], in->rng.counter };
    double error = NAN;
    in->rng.key[0] = rng[0], in->rng.key[1] = rng[1], in->rng.counter = rng[2];
    bool good = run_reference(in, x->b);
    in->rng.key[0] = now[0], in->rng.key[1] = now[1], in->rng.counter = now[2];
    in->at = x;
    if (good && v_is_numeric(in->sp[-1])) {
        value_home(in, value);
        value_home(in, in->sp[-1]);
        error = accuracy_of(in, value, in->sp[-1]).error;
    }
    stack_cut(in, mark);
    return error;
}

/* ---- the report ---- */
static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct Timing {
    double first, median, low, high;    /* seconds */
    int samples;
    int64_t times;
    size_t memory;
    double error;                       /* nan: not known */
} Timing;

static void put_timing(Buf *out, const Timing *t)
{
    char median[32], low[32], high[32], first[32];
    buf_printf(out, "%s (quartiles %s to %s, %d samples of %lld), first run %s\n",
               seconds_text(median, sizeof median, t->median),
               seconds_text(low, sizeof low, t->low),
               seconds_text(high, sizeof high, t->high), t->samples, (long long)t->times,
               seconds_text(first, sizeof first, t->first));
}

/* What was heard, as far as there is something to say. */
static void put_heard(Buf *out, const Timing *t, const Count *c)
{
    char text[32];
    size_t from = out->len;
    const char *between = "  ";
    double seconds = c->simulated > 0 ? c->simulated : t->median;
    if (c->simulated > 0) {
        buf_printf(out, "%ssimulated time %s", between, seconds_text(text, sizeof text, seconds));
        between = ", ";
    }
    if (c->flops >= 1e4 && seconds > 0) {
        buf_printf(out, "%s%.3g GFLOP/s", between, 1e-9 * c->flops / seconds);
        between = ", ";
    }
    if (c->bytes >= 1e4 && seconds > 0) {
        buf_printf(out, "%s%.3g GB/s", between, 1e-9 * c->bytes / seconds);
        between = ", ";
    }
    if (c->copies) {
        heard_bytes_text(text, sizeof text, c->moved);
        buf_printf(out, "%s%llu cop%s between devices (%s)", between, (unsigned long long)c->copies,
                   c->copies == 1 ? "y" : "ies", text);
        between = ", ";
    }
    if (t->memory >= 10000) {
        heard_bytes_text(text, sizeof text, (double)t->memory);
        buf_printf(out, "%s%s of memory", between, text);
        between = ", ";
    }
    if (!isnan(t->error))
        buf_printf(out, "%serror %.2g against f64 on cpu", between, t->error);
    if (out->len > from)
        buf_putc(out, '\n');
}

static void report(Interp *in, const Timing *t, const Count *c)
{
    Buf out;
    ErrFrame frame;
    buf_init(&out, &in->ctx);
    if (!ERR_TRY(&in->ctx, &frame)) {
        buf_free(&out);
        err_rethrow(&in->ctx);
    }
    put_timing(&out, t);
    put_heard(&out, t, c);
    show_fold(&out, 0, in->show.width);
    out_write(in, out.data, out.len);
    ERR_END(&in->ctx, &frame);
    buf_free(&out);
}

/* ---- all of it ---- */
static void take_samples(Interp *in, const Exec *body, double once, Timing *t)
{
    double sample[SAMPLES];
    t->times = once < 0.01 ? (int64_t)(0.01 / (once + 1e-8)) + 1 : 1;
    int n = once * (double)t->times > 0 ? (int)(0.5 / (once * (double)t->times)) : SAMPLES;
    t->samples = n < 3 ? 3 : n > SAMPLES ? SAMPLES : n;
    for (int i = 0; i < t->samples; i++)
        sample[i] = time_run(in, body, t->times);
    qsort(sample, (size_t)t->samples, sizeof *sample, compare_doubles);
    t->median = sample[t->samples / 2];
    t->low = sample[t->samples / 4];
    t->high = sample[t->samples - 1 - t->samples / 4];
}

static Value eval_timeit(Interp *in, const Exec *x)
{
    Value *mark = in->sp;
    Timing t = { .error = NAN };
    Count c = { .base = { .heard = count_heard, .moved = count_moved } };
    MemoryMark memory;
    int deferring = in->deferring;
    deferred_barrier(in, v_none());
    in->deferring = 0;                          /* in a lazy block it times what runs */
    t.first = time_run(in, x->a, 1);
    uint64_t rng[3] = { in->rng.key[0], in->rng.key[1], in->rng.counter };
    memory_begin(in, &memory);
    double once = run_heard(in, x->a, &c);
    t.memory = memory_end(in, &memory);
    if (asks_reference(x, in->sp[-1], &c, once))
        t.error = error_of(in, x, in->sp[-1], rng);
    stack_cut(in, mark);
    take_samples(in, x->a, once, &t);
    in->deferring = deferring;
    in->at = x;
    report(in, &t, &c);
    return v_float(t.median);
}

/* a: what is timed; b: the same as it runs in a precision scope, NULL where it assigns. */
const Exec *lower_timeit(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_timeit, n);
    bool scoped = lo->scoped;
    x->a = lower_operand(lo, n->a);
    if (x->a->flags & XF_WRITES)
        return x;
    lo->scoped = true;
    x->b = lower_operand(lo, n->a);
    lo->scoped = scoped;
    return x;
}
