/* What `profile to "t.json"` writes: complete events ("ph": "X") of the Chrome trace format, for
 * chrome://tracing and Perfetto; times in microseconds since the block began. A device is a
 * process with a lane of operations and one of copies. On a simulated device durations are the
 * model's, and an event waits for the one before it. Text is gathered as it happens; the file is
 * written beside its name when the block is done and put in place at once. */
#include "interp/measure/profile.h"

#include "core/system/c_locale.h"
#include "core/base/error.h"
#include "core/system/fd.h"
#include "core/base/fence.h"
#include "core/base/limit.h"
#include "core/json/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So long a text is for no viewer; what comes later is counted. */
#define TRACE_MOST ((size_t)256 << 20)
enum { LANES = 128 };

typedef struct Lane {
    const Device *device;
    bool copies;
    double end;                 /* of its last event, seconds */
} Lane;

struct Trace {
    char *path;                 /* as written */
    Buf text;
    double start;
    Lane lane[LANES];
    int lanes;
    uint64_t dropped;
};

/* ---- JSON ---- */
static void put_string(Buf *out, const char *text)
{
    json_put_quoted(out, text, strlen(text));
}

static void put_field(Buf *out, const char *name, const char *text)
{
    buf_puts(out, ", ");
    put_string(out, name);
    buf_puts(out, ": ");
    put_string(out, text);
}

/* ---- events ---- */
static int pid_of(Interp *in, const Device *device)
{
    int i = 1;
    for (const Device *d = in->ctx.devices->first; d && d != device; d = d->next)
        i++;
    return i;
}

static Lane *lane_of(Trace *t, const Device *d, bool copies)
{
    for (int i = 0; i < t->lanes; i++)
        if (t->lane[i].device == d && t->lane[i].copies == copies)
            return &t->lane[i];
    Lane *l = &t->lane[t->lanes < LANES ? t->lanes++ : LANES - 1];
    *l = (Lane){ .device = d, .copies = copies };
    return l;
}

/* `{"name": …, "ts": …, "dur": …, "args": {"dtype": "f32"`: the caller goes on and closes it.
 * False: the text is too long already. */
static bool event_open(Interp *in, Trace *t, const char *name, const Device *d, bool copy,
                       double at, double seconds)
{
    if (t->text.len > TRACE_MOST) {
        t->dropped++;
        return false;
    }
    Lane *l = lane_of(t, d, copy);
    at -= t->start;
    at = at > l->end ? at : l->end;
    l->end = at + seconds;
    buf_puts(&t->text, t->text.len ? ",\n" : "");
    buf_puts(&t->text, "{\"name\": ");
    put_string(&t->text, name);
    buf_printf(&t->text, ", \"cat\": \"%s\", \"ph\": \"X\", \"pid\": %d, \"tid\": %d, ",
               copy ? "copy" : "operation", pid_of(in, d), copy ? 2 : 1);
    buf_printf(&t->text, "\"ts\": %.3f, \"dur\": %.3f, \"args\": {", 1e6 * at, 1e6 * seconds);
    return true;
}

/* Where the user's text of it begins: `fit.ric:12`. */
static void put_where(Interp *in, Buf *out)
{
    char text[300];
    Where w = { 0 };
    in->ctx.locate(&in->ctx, &w);
    if (!w.source)
        return;
    snprintf(text, sizeof text, "%.250s:%u", w.source->name,
             source_place(w.source, w.span.from).line);
    put_field(out, "where", text);
}

static void put_values(Buf *out, const char *name, const Value *v, int n)
{
    char text[96], all[400] = "";
    size_t len = 0;
    for (int i = 0; i < n && len + 100 < sizeof all; i++)
        if (v[i].tag != V_UNDEF)
            len += (size_t)snprintf(all + len, sizeof all - len, "%s%s", len ? ", " : "",
                                    v_describe(v[i], text, sizeof text));
    if (len)
        put_field(out, name, all);
}

void trace_operation(Interp *in, Trace *t, const Heard *e)
{
    Buf *out = &t->text;
    char text[HEARD_KERNEL];
    double at = e->start;
    for (int i = 0; i < t->lanes && e->up; i++)        /* it began when its operands were there */
        if (t->lane[i].device == e->device && t->lane[i].copies && t->start + t->lane[i].end > at)
            at = t->start + t->lane[i].end;
    if (!event_open(in, t, e->name, e->device, false, at, e->seconds))
        return;
    buf_printf(out, "\"dtype\": \"%s\"", e->dtype == DT_NONE ? "" : dtype_name(e->dtype));
    if (e->kernel.routine[0])
        put_field(out, "kernel", heard_kernel_text(text, &e->kernel));
    put_values(out, "operands", e->args, e->n);
    put_values(out, "result", &e->result, 1);
    put_where(in, out);
    if (e->flops > 0 && isfinite(e->flops))
        buf_printf(out, ", \"flops\": %.0f", e->flops);
    buf_printf(out, ", \"bytes_read\": %.0f, \"bytes_written\": %.0f", e->read,
               e->view ? 0 : e->written);
    if (e->up + e->down)
        buf_printf(out, ", \"copies\": %llu, \"bytes_copied\": %.0f",
                   (unsigned long long)(e->up + e->down), e->bytes_up + e->bytes_down);
    if (e->between > 0)
        buf_printf(out, ", \"bytes_between\": %.0f", e->between);
    if (e->fell_back)
        buf_puts(out, ", \"fallback\": true");
    if (e->failed)
        buf_puts(out, ", \"failed\": true");
    buf_puts(out, "}}");
}

void trace_copy(Interp *in, Trace *t, const PlaceMove *m)
{
    char name[120];
    bool up = m->to != in->ctx.devices->cpu;
    snprintf(name, sizeof name, "%s to %s", m->from->name, m->to->name);
    if (!event_open(in, t, name, up ? m->to : m->from, true, heard_clock() - m->seconds,
                    m->seconds))
        return;
    buf_printf(&t->text, "\"bytes\": %llu}}", (unsigned long long)m->bytes);
}

/* Names of processes and lanes. */
static void put_names(Interp *in, Trace *t, Buf *out)
{
    for (int i = 0; i < t->lanes; i++) {
        const Lane *l = &t->lane[i];
        int pid = pid_of(in, l->device), first = 0;
        while (t->lane[first].device != l->device)
            first++;
        if (first == i) {
            buf_printf(out, "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": %d, ", pid);
            buf_puts(out, "\"tid\": 0, \"args\": {\"name\": ");
            put_string(out, l->device->name);
            buf_puts(out, "}},\n");
        }
        buf_printf(out, "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": %d, \"tid\": %d, ",
                   pid, l->copies ? 2 : 1);
        buf_printf(out, "\"args\": {\"name\": \"%s\"}}%s\n", l->copies ? "copies" : "operations",
                   i + 1 < t->lanes || t->text.len ? "," : "");
    }
}

/* ---- the file ---- */
static _Noreturn void raise_io(Interp *in, const Trace *t, int why)
{
    char text[96];
    err_raise(&in->ctx, ERR_IO, "cannot write the trace to \"%s\": %s", t->path,
              limit_why(&in->ctx, why, text));
}

Trace *trace_new(Interp *in, const char *path)
{
    Ctx *ctx = &in->ctx;
    Trace *t = mem_zalloc(ctx, sizeof *t);
    ErrFrame frame;
    buf_init(&t->text, ctx);
    if (ERR_TRY(ctx, &frame)) {
        char held[FENCE_PATH];
        t->path = mem_strdup(ctx, path);
        /* it says so before the block has run for an hour */
        if (!fd_whole_try(fence_target(ctx, path, held)))
            raise_io(in, t, errno);
        ERR_END(ctx, &frame);
        t->start = heard_clock();
        return t;
    }
    trace_free(in, t);
    err_rethrow(ctx);
}

void trace_write(Interp *in, Trace *t)
{
    Buf out;
    ErrFrame frame;
    buf_init(&out, &in->ctx);
    if (!ERR_TRY(&in->ctx, &frame)) {
        buf_free(&out);
        err_rethrow(&in->ctx);
    }
    buf_puts(&out, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n");
    put_names(in, t, &out);
    buf_put(&out, t->text.data, t->text.len);
    buf_printf(&out, "\n], \"otherData\": {\"dropped\": %llu}}\n", (unsigned long long)t->dropped);
    char held[FENCE_PATH];
    const char *target = fence_target(&in->ctx, t->path, held);
    if (!limit_write(&in->ctx, out.len) || !fd_whole_write(target, out.data, out.len))
        raise_io(in, t, errno);
    ERR_END(&in->ctx, &frame);
    buf_free(&out);
}

void trace_free(Interp *in, Trace *t)
{
    if (!t)
        return;
    buf_free(&t->text);
    if (t->path)
        mem_free(&in->ctx, t->path, strlen(t->path) + 1);
    mem_free(&in->ctx, t, sizeof *t);
}
