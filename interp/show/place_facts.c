/* What a device is, for programs: its facts as fields, and the table that devices() prints. */
#include "interp/show/place_facts.h"

#include "core/base/error.h"
#include "core/base/mem.h"
#include "interp/output/display.h"
#include "interp/output/output.h"

#include <stdio.h>
#include <string.h>

/* Value.aux of what devices() gave: printed together as a table */
enum { LISTED = 1 };

Value place_listed(Device *d)
{
    Value v = v_device(d);
    v.aux = LISTED;
    return v;
}

bool place_is_list(Value v)
{
    if (v.tag != V_TUPLE || v.tuple->count == 0)
        return false;
    for (uint32_t i = 0; i < v.tuple->count; i++)
        if (v.tuple->items[i].tag != V_DEVICE || v.tuple->items[i].aux != LISTED)
            return false;
    return true;
}

/* ---- the table ---- */
enum { WIDTH = 80, NAME_WIDTH = 11, MEMORY_WIDTH = 9, INDENT = NAME_WIDTH + MEMORY_WIDTH };

/* Breaks the text from `from` on at spaces before WIDTH; it begins at INDENT. */
static void wrap(Buf *out, size_t from)
{
    size_t space = 0;
    int column = INDENT;
    for (size_t at = from; at < out->len; at++) {
        column += ((unsigned char)out->data[at] & 0xc0) != 0x80;
        if (column > WIDTH && space) {
            size_t tail = out->len - space - 1;
            buf_fill(out, ' ', INDENT);
            memmove(out->data + space + 1 + INDENT, out->data + space + 1, tail);
            memset(out->data + space + 1, ' ', INDENT);
            out->data[space] = '\n';
            at += INDENT;
            column = INDENT + text_width(out->data + space + 1 + INDENT, at - space - INDENT);
            space = 0;
        } else if (out->data[at] == ' ') {
            space = at;
        }
    }
    buf_putc(out, '\n');
}

/* A line under the device's: returns where its text begins, which wrap() ends. */
static size_t more(Buf *out)
{
    buf_fill(out, ' ', INDENT);
    return out->len;
}

static void put_more(Buf *out, const char *text)
{
    size_t from = more(out);
    buf_puts(out, text);
    wrap(out, from);
}

static void put_dtypes(Buf *out, const Device *d)
{
    bool any = false;
    if (d->dtypes == ~0u) {
        buf_puts(out, "every dtype");
        return;
    }
    for (DType dt = DT_BOOL; dt <= DT_C128; dt++)
        if (device_holds(d, dt)) {
            buf_printf(out, "%s%s", any ? " " : "", dtype_name(dt));
            any = true;
        }
}

static void put_model(Buf *out, const Device *d)
{
    char rate[32], time[32];
    const DevModel *m = &d->model;
    size_t from = more(out);
    buf_printf(out, "simulated: a copy takes %s", seconds_text(time, sizeof time, m->latency));
    if (m->bandwidth > 0)
        buf_printf(out, " + %s/s", mem_bytes_text(rate, m->bandwidth));
    wrap(out, from);
    from = more(out);
    buf_printf(out, "an operation %s", seconds_text(time, sizeof time, m->launch));
    if (m->memory_bandwidth > 0)
        buf_printf(out, " + %s/s", mem_bytes_text(rate, m->memory_bandwidth));
    if (m->flops > 0)
        buf_printf(out, " + %.3g TFLOP/s", m->flops / 1e12);
    wrap(out, from);
}

static void put_facts(Buf *out, const Device *d)
{
    if (d->caps & DEVCAP_SIM)
        put_model(out, d);
    if (d->lacks && d->lacks[0]) {
        size_t from = more(out);
        buf_puts(out, "lacks");
        for (int i = 0; d->lacks[i]; i++)
            buf_printf(out, " %s", d->lacks[i]);
        wrap(out, from);
    }
    if (d->title[0])
        put_more(out, d->title);
    if (d->note[0])
        put_more(out, d->note);
    if (d->missing[0])
        put_more(out, d->missing);
}

static void put_device(Buf *out, const Device *d)
{
    char memory[32] = "";
    int width = text_width(d->name, strlen(d->name));
    if (d->memory && !device_absent(d))
        mem_bytes_text(memory, (double)d->memory);
    buf_printf(out, "%s%*s", d->name, width < NAME_WIDTH ? NAME_WIDTH - width : 1, "");
    buf_printf(out, "%-*s", MEMORY_WIDTH, memory);
    size_t from = out->len;
    if (device_absent(d))
        buf_printf(out, "not available: %s", d->why);
    else
        put_dtypes(out, d);
    wrap(out, from);
    if (!device_absent(d))
        put_facts(out, d);
}

void place_put_table(Buf *out, const Value *devices, uint32_t n)
{
    buf_printf(out, "%-*s%-*s%s\n", NAME_WIDTH, "device", MEMORY_WIDTH, "memory", "dtypes");
    for (uint32_t i = 0; i < n; i++)
        put_device(out, devices[i].device);
    out->len--;                     /* the last newline */
}

/* The same facts, a line of the last column for each that a screen has lines for. */
void place_put_html(Buf *out, const Value *devices, uint32_t n)
{
    static const bool left[] = { true, false, true };
    const char *names[] = { "device", "memory", "dtypes" };
    Buf text;
    ErrFrame frame;
    buf_init(&text, out->ctx);
    if (!ERR_TRY(out->ctx, &frame)) {
        buf_free(&text);
        err_rethrow(out->ctx);
    }
    buf_puts(out, "<table>\n");
    html_row(out, "th", names, left, 3);
    for (uint32_t i = 0; i < n; i++) {
        const Device *d = devices[i].device;
        char memory[32] = "";
        if (d->memory && !device_absent(d))
            mem_bytes_text(memory, (double)d->memory);
        buf_clear(&text);
        if (device_absent(d))
            buf_printf(&text, "not available: %s", d->why);
        else
            put_dtypes(&text, d);
        for (const char *const *more = (const char *const[]){ d->title, d->note, d->missing, NULL };
             *more && !device_absent(d); more++)
            if (**more)
                buf_printf(&text, "\n%s", *more);
        html_row(out, "td", (const char *const[]){ d->name, memory, buf_cstr(&text) }, left, 3);
    }
    buf_puts(out, "</table>\n");
    ERR_END(out->ctx, &frame);
    buf_free(&text);
}

/* ---- fields ---- */
static Value text_value(Interp *in, const char *text)
{
    return v_str(str_new(&in->ctx, text, strlen(text)));
}

static Value dtype_tuple(Interp *in, const Device *d)
{
    Tuple *t = tuple_new(&in->ctx, 0);
    Value *slot = in->sp;
    v_push(in, v_tuple(t));
    for (DType dt = DT_BOOL; dt <= DT_C128; dt++)
        if (device_holds(d, dt))
            tuple_push(&in->ctx, &slot->tuple, NULL, v_format(dt));
    return *--in->sp;
}

static Value lacks_tuple(Interp *in, const Device *d)
{
    Tuple *t = tuple_new(&in->ctx, 0);
    Value *slot = in->sp;
    v_push(in, v_tuple(t));
    for (int i = 0; d->lacks && d->lacks[i]; i++)
        tuple_push(&in->ctx, &slot->tuple, NULL, text_value(in, d->lacks[i]));
    return *--in->sp;
}

static const char *const fields[] =
    { "name", "title", "available", "why", "memory", "dtypes", "lacks", "note",
                                      "bandwidth", "latency", "launch", "grid", "block", "ranks" };
enum { F_NAME, F_TITLE, F_AVAILABLE, F_WHY, F_MEMORY, F_DTYPES, F_LACKS, F_NOTE, F_BANDWIDTH,
       F_LATENCY, F_LAUNCH, F_GRID, F_BLOCK, F_RANKS, FIELDS };

/* What is asked of grids of processes alone: (rows, columns), the length of blocks, who they
 * are. */
static Value grid_fact(Interp *in, Device *d, int field)
{
    int p, q, block;
    if (!d || !d->ops->shape)
        return v_none();
    d->ops->shape(d, &p, &q, &block);
    if (field == F_BLOCK)
        return v_int(block);
    Tuple *t = tuple_new(&in->ctx, field == F_GRID ? 2 : (uint32_t)(p * q));
    Value *slot = in->sp;
    v_push(in, v_tuple(t));
    if (field == F_GRID) {
        t->items[0] = v_int(p);
        t->items[1] = v_int(q);
        return *--in->sp;
    }
    device_open(&in->ctx, d);
    for (int r = 0; r < p * q; r++) {
        char host[64];
        long pid;
        d->ops->rank(d, r, host, sizeof host, &pid);
        Value v = tuple_make(in, "rank", v_int(r), "host", text_value(in, host), "pid",
                             v_int(pid), NULL);
        slot->tuple->items[r] = v;
    }
    return *--in->sp;
}

/* What the processes of a grid hold: all of them, and the one with the most. */
static Value grid_memory(Interp *in, Device *d)
{
    uint64_t all, largest;
    d->ops->look(&in->ctx, d, &all, &largest);
    return tuple_make(in, "all", v_int((int64_t)all), "largest", v_int((int64_t)largest), NULL);
}

/* real: what d stands for, or NULL. */
static Value fact(Interp *in, Device *d, Device *real, int field)
{
    char why[400];
    bool sim = real && (real->caps & DEVCAP_SIM);
    switch (field) {
    case F_NAME: return text_value(in, real ? real->name : d->name);
    case F_AVAILABLE: return v_bool(real != NULL);
    case F_WHY: return real ? v_none()
                            : text_value(in, device_reason(&in->ctx, d, why, sizeof why));
    case F_TITLE: return real && real->title[0] ? text_value(in, real->title) : v_none();
    case F_GRID: case F_BLOCK: case F_RANKS: return grid_fact(in, real, field);
    case F_MEMORY: if (real && real->ops->look)
            return grid_memory(in, real);
        return real && real->memory ? v_int((int64_t)real->memory) : v_none();
    case F_DTYPES: return real ? dtype_tuple(in, real) : v_none();
    case F_LACKS: return real ? lacks_tuple(in, real) : v_none();
    case F_NOTE: return real && real->note[0] ? text_value(in, real->note) : v_none();
    case F_BANDWIDTH: return sim ? v_float(real->model.bandwidth) : v_none();
    case F_LATENCY: return sim ? v_float(real->model.latency) : v_none();
    default: return sim ? v_float(real->model.launch) : v_none();
    }
}

/* sim.NAME */
static Value simulated(Interp *in, const Name *name)
{
    char full[80];
    snprintf(full, sizeof full, "sim.%.60s", name->text);
    Device *d = device_find(&in->ctx, full);
    if (d)
        return v_device(d);
    const char *close = device_closest(&in->ctx, full);
    Error *e = err_new(&in->ctx, ERR_DEVICE, "there is no simulated device %s", full);
    if (close)
        err_help(e, "did you mean %s? simulate(\"%.60s\") makes a new one", close, name->text);
    else
        err_help(e, "simulate(\"%.60s\") makes it", name->text);
    err_throw(e);
}

Value place_field(Interp *in, Device *d, const Name *name)
{
    if (strcmp(d->name, "sim") == 0)
        return simulated(in, name);
    for (int i = 0; i < FIELDS; i++)
        if (strcmp(fields[i], name->text) == 0)
            return fact(in, d, device_real(&in->ctx, d), i);
    const char *close = err_closest(name->text, fields, FIELDS);
    Error *e = err_new(&in->ctx, ERR_NAME,
                       "a device has no field %s; it has name, title, available, why, memory, "
                       "dtypes, lacks, note, bandwidth, latency, launch, grid, block and ranks",
                       name->text);
    if (close)
        err_help(e, "did you mean %s?", close);
    err_throw(e);
}
