/* What device blocks say: notices, summaries, the errors of strict ones. See place.h. What is
 * said once in a run is remembered by a key that leaves out shapes and bytes. */
#include "interp/device/place.h"
#include "interp/state/frames.h"

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/plain.h"
#include "interp/op/arith.h"
#include "interp/output/output.h"
#include "interp/show/show.h"

#include <stdio.h>
#include <string.h>

/* ---- places ---- */
static void running_place(Interp *in, Where *w)
{
    *w = (Where){ 0 };
    if (in->ctx.locate)
        in->ctx.locate(&in->ctx, w);
    where_leave_stdlib(in, w);
}

/* ` (model.ric:3)` and what tells the place from all others. */
static void put_place(Buf *out, const Where *w, bool column)
{
    if (!w->source)
        return;
    Place p = source_place(w->source, w->span.from);
    if (column)
        buf_printf(out, "%s:%u:%u", w->source->name, p.line, p.column);
    else
        buf_printf(out, " (%s:%u)", w->source->name, p.line);
}

/* The source text of the running operation if it is short and on one line; empty else. */
static const char *running_text(Interp *in, char *out, size_t cap)
{
    Where w = { 0 };
    if (in->ctx.locate)
        in->ctx.locate(&in->ctx, &w);
    size_t n = w.source ? w.span.to - w.span.from : 0;
    bool usable = n > 0 && n < cap && w.span.to <= w.source->len &&
                  !memchr(w.source->text + w.span.from, '\n', n);
    snprintf(out, cap, "%.*s", usable ? (int)n : 0, usable ? w.source->text + w.span.from : "");
    return out;
}

/* ---- an operation with its operands ---- */
static void put_tensor(Buf *out, const Tensor *t)
{
    buf_puts(out, dtype_name((DType)t->dtype));
    for (int a = 0; a < t->rank; a++)
        buf_printf(out, "%s%lld", a ? "×" : " ", (long long)tensor_shape(t)[a]);
}

static void put_operand(Interp *in, Buf *out, Value v)
{
    char text[96];
    if (v.tag == V_TENSOR)
        put_tensor(out, v.tensor);
    else if (v_immediate(v) || v.tag == V_FORMAT || v.tag == V_NONE || v.tag == V_RANGE)
        show_value(in, out, v);
    else if (v.tag == V_STRING && v.str->len <= 24)
        show_repr(in, out, v);
    else
        buf_puts(out, v_describe(v, text, sizeof text));
}

static const Op *row_named(Interp *in, const char *name)
{
    const Name *n = names_find(&in->names, name, strlen(name));
    return n ? op_find(in, n) : NULL;
}

/* `f64 3×3 @ f64 3`, `-f64 3`: sign is the operator in backticks. */
static bool put_operator(Interp *in, Buf *out, const char *sign, const Value *args, int count)
{
    int n = (int)strlen(sign) - 2, given = 0;
    for (int i = 0; i < count; i++)
        given += args[i].tag != V_UNDEF;
    if (sign[0] != '`' || given < 1 || given > 2 || args[0].tag == V_UNDEF)
        return false;
    if (given == 1)
        buf_printf(out, "%.*s", n, sign + 1);
    put_operand(in, out, args[0]);
    if (given == 2) {
        buf_printf(out, " %.*s ", n, sign + 1);
        put_operand(in, out, args[1].tag != V_UNDEF ? args[1] : args[count - 1]);
    }
    return true;
}

/* The sign of the transposition stands behind. */
static const char *shown_name(Interp *in, const char *name)
{
    const Op *op = row_named(in, name);
    return op && op->written == WRITTEN_BEHIND ? "`'`" : name;
}

/* Is argument i one that the text gives by name? */
static bool by_name(const OpSig *sig, const Value *args, int i)
{
    if (!sig || i >= sig->fixed)
        return false;
    for (int k = 0; k < i; k++)
        if (args[k].tag == V_UNDEF)
            return true;
    return i >= sig->positional;
}

/* `solve(f32 512×512, f32 512)`, `sum(f64 8, axis=0)`; what is no row: `indexing of f64 8`. */
static void put_operation(Interp *in, Buf *out, const char *name, const Value *args, int count)
{
    const Op *op = row_named(in, name);
    const OpSig *sig = op ? op_sig(in, op) : NULL;
    bool first = true;
    if (put_operator(in, out, name, args, count))
        return;
    if (op && op->written == WRITTEN_BEHIND && count == 1) {
        put_operand(in, out, args[0]);
        buf_putc(out, '\'');
        return;
    }
    if (op && op->written == WRITTEN_FORMAT && count == 2 && args[1].tag == V_FORMAT) {
        put_operand(in, out, args[1]);          /* as it is written: f64(f32 8) */
        buf_putc(out, '(');
        put_operand(in, out, args[0]);
        buf_putc(out, ')');
        return;
    }
    buf_printf(out, op ? "%s(" : "%s", name);
    for (int named = 0; named < 2; named++)
        for (int i = 0; i < count; i++) {
            if (args[i].tag == V_UNDEF || by_name(sig, args, i) != named)
                continue;
            buf_puts(out, !first ? ", " : op ? "" : " of ");
            if (named)
                buf_printf(out, "%s=", sig->params[i].name->text);
            put_operand(in, out, args[i]);
            first = false;
        }
    if (op)
        buf_putc(out, ')');
}

/* Why, as the end of a sentence; nothing where the operation itself is what is missing. */
static void put_reason(Buf *out, const char *name, const Lack *why)
{
    if (why->kind != LACK_ROW || strcmp(why->row, name) != 0)
        lack_put(out, why);
}

/* ---- notices ---- */
static bool first_time(Interp *in, const DeviceBlock *p, const Where *w, const char *op, DType dt,
                       const Lack *why)
{
    Buf key;
    buf_init(&key, &in->ctx);
    put_place(&key, w, false);
    buf_printf(&key, "|%s|%s|%s|", p->device->name, op, dt == DT_NONE ? "" : dtype_name(dt));
    lack_put(&key, why);
    bool is = output_first(in, buf_cstr(&key));
    buf_free(&key);
    return is;
}

static void put_moved(Buf *out, const DeviceBlock *p, const Device *on, size_t up, size_t down)
{
    char to[32], back[32];
    buf_puts(out, "\n        ");
    if (!up && !down)
        buf_puts(out, "nothing moved");
    else if (strcmp(on->name, "cpu") != 0)     /* between devices everything passes the host */
        buf_printf(out, "moved %s%s%s%s%s", up ? mem_bytes_text(to, (double)up) : "",
                   up ? " up" : "",
                   up && down ? " and " : "", down ? mem_bytes_text(back, (double)down) : "",
                   down ? " down" : "");
    else if (!up)
        buf_printf(out, "moved %s to %s", mem_bytes_text(to, (double)down), on->name);
    else if (!down)
        buf_printf(out, "moved %s to %s", mem_bytes_text(back, (double)up), p->device->name);
    else
        buf_printf(out, "moved %s to %s and %s back", mem_bytes_text(to, (double)down), on->name,
                   mem_bytes_text(back, (double)up));
    buf_printf(out, "; `on %s strict` makes this an error", p->device->name);
}

void place_notice(Interp *in, const DeviceBlock *p, const char *op, const Value *args, int count,
                  DType dt, const Device *on, const Lack *why, size_t up, size_t down)
{
    Where w;
    Buf text;
    running_place(in, &w);
    if (p->quiet || in->out_mute || in->no_notices || !first_time(in, p, &w, op, dt, why))
        return;
    buf_init(&text, &in->ctx);
    buf_puts(&text, "notice: ");
    put_operation(in, &text, op, args, count);
    if (on == p->device) {
        buf_printf(&text, " is computed in %s on %s", dtype_name(device_widest(on)), on->name);
        put_place(&text, &w, false);
    } else {
        buf_printf(&text, " is not on %s", p->device->name);
        put_reason(&text, op, why);
        buf_printf(&text, "; ran on %s", on->name);
        put_place(&text, &w, false);
        put_moved(&text, p, on, up, down);
    }
    err_write(in, plain_lines(text.data));
    buf_free(&text);
}

void place_notice_absent(Interp *in, const DeviceBlock *p, Device *absent)
{
    char why[400];
    if (!p->quiet)
        notice(in, "%s is not available, the block runs on %s: %s", absent->name, p->device->name,
               device_reason(&in->ctx, absent, why, sizeof why));
}

/* ---- the end of a block ---- */
static void put_count(Buf *out, uint64_t n, const char *what)
{
    buf_printf(out, "%llu %s%s", (unsigned long long)n, what, n == 1 ? "" : "s");
}

/* `2.1 MB up in 4 copies, 1.3 MB down in 3`. */
static void put_copies(Buf *out, const PlaceCounts *c)
{
    char bytes[32];
    if (!c->up && !c->down)
        buf_puts(out, "nothing copied");
    if (c->up) {
        buf_printf(out, "%s up in ", mem_bytes_text(bytes, (double)c->bytes_up));
        buf_printf(out, "%llu %s", (unsigned long long)c->up, c->up == 1 ? "copy" : "copies");
    }
    if (c->down) {
        buf_printf(out, "%s%s down in ", c->up ? ", " : "",
                   mem_bytes_text(bytes, (double)c->bytes_down));
        buf_printf(out, "%llu", (unsigned long long)c->down);
        if (!c->up)
            buf_puts(out, c->down == 1 ? " copy" : " copies");
    }
}

/* What the simulation's model says, else what the clock says when all of it is done. */
static double block_seconds(Interp *in, const DeviceBlock *p)
{
    if (p->device->caps & DEVCAP_SIM)
        return p->counts.seconds + p->counts.copy_seconds;
    device_sync(&in->ctx, p->device);
    return device_clock() - p->start;
}

/* What the processes of a grid sent each other, for our own redistributions. */
static void put_between(Buf *out, Interp *in, const DeviceBlock *p)
{
    char bytes[32];
    uint64_t now = p->device->ops->look ? place_between(in, p->device) : 0;
    if (now > p->between)
        buf_printf(out, ", %s between", mem_bytes_text(bytes, (double)(now - p->between)));
}

static void put_time(Buf *out, const DeviceBlock *p, double seconds)
{
    char all[32], copies[32];
    const PlaceCounts *c = &p->counts;
    bool simulated = p->device->caps & DEVCAP_SIM;
    if (seconds == 0 || c->here + c->elsewhere + c->up + c->down == 0)
        return;
    buf_printf(out, "; %s%s", seconds_text(all, sizeof all, seconds),
               simulated ? " simulated" : "");
    if (c->copy_seconds > 0)
        buf_printf(out, ", of which %s copies",
                   seconds_text(copies, sizeof copies, c->copy_seconds));
}

/* The header's place is the block's own: its line may hold several. */
static bool summary_due(Interp *in, const DeviceBlock *p)
{
    if (p->verbose || p->quiet || !p->counts.fell)
        return p->verbose;
    Where w;
    Buf key;
    running_place(in, &w);
    buf_init(&key, &in->ctx);
    buf_puts(&key, "block ");
    put_place(&key, &w, true);
    bool is = output_first(in, buf_cstr(&key));
    buf_free(&key);
    return is;
}

void place_summary(Interp *in, const DeviceBlock *p)
{
    bool fell = p->counts.fell && !in->no_notices;
    if (!(p->verbose || fell) || in->out_mute || !summary_due(in, p))
        return;
    const PlaceCounts *c = &p->counts;
    double seconds = block_seconds(in, p);
    Buf text;
    buf_init(&text, &in->ctx);
    buf_printf(&text, "on %s: ", p->device->name);
    put_count(&text, c->here, "operation");
    buf_puts(&text, " there");
    if (c->elsewhere)
        buf_printf(&text, ", %llu %s%s", (unsigned long long)c->elsewhere,
                   c->other ? "on " : "elsewhere", c->other ? c->other->name : "");
    buf_puts(&text, "; ");
    put_copies(&text, c);
    put_between(&text, in, p);
    put_time(&text, p, seconds);
    err_write(in, plain_lines(text.data));
    buf_free(&text);
}

/* ---- errors ---- */
_Noreturn static void raise_family(Interp *in, int operand)
{
    Error *e = err_new(&in->ctx, ERR_DEVICE,
                       "sim is the family of simulated devices, none of them");
    err_underline(e, operand);
    err_help(e, "one by its name: sim.mps");
    err_throw(e);
}

void place_raise_absent(Interp *in, Device *d, int operand, bool header)
{
    char why[400];
    Buf names;
    if (strcmp(d->name, "sim") == 0)
        raise_family(in, operand);
    buf_init(&names, &in->ctx);
    device_reason(&in->ctx, d, why, sizeof why);
    device_list(&names, &in->ctx);
    Error *e = err_new(&in->ctx, ERR_DEVICE, "%s is not available: %s; there are %s", d->name, why,
                       buf_cstr(&names));
    buf_free(&names);
    err_underline(e, operand);
    if (!header)
        err_help(e, "print(devices()) shows all, and why one is missing");
    else if (in->at && in->at->node->kind == ND_MODIFIER)
        err_help(e, "fallback cpu");
    else
        err_help(e, "on %s fallback cpu { … }", d->name);
    err_throw(e);
}

/* The first tensor whose elements the device cannot hold, or -1. */
static int misfit(const DeviceBlock *p, const Value *args, int count)
{
    for (int i = 0; i < count; i++)
        if (args[i].tag == V_TENSOR && !device_holds(p->device, (DType)args[i].tensor->dtype))
            return i;
    return -1;
}

/* A variable in the running construct whose tensor is not on the block's device, or NULL: index
 * notation has operands in an order of its own. */
static const Name *variable_elsewhere(Interp *in, const DeviceBlock *p, const Node *n)
{
    if (!n)
        return NULL;
    bool local = n->kind == ND_NAME && n->scope == SCOPE_LOCAL,
         global = n->kind == ND_NAME && n->scope == SCOPE_GLOBAL;
    if ((local || global) && n->slot >= 0) {
        Value v = local ? in->fp[n->slot] : interp_module(in)->slots[n->slot];
        return v.tag == V_TENSOR && v.tensor->rank > 0 && !device_has(p->device, v.tensor)
               ? n->name : NULL;
    }
    const Name *found = NULL;
    const Node *part[] = { n->kind == ND_DEFINE ? NULL : n->a, n->b, n->c };
    for (int i = 0; i < 3 && !found; i++)
        found = variable_elsewhere(in, p, part[i]);
    for (uint32_t i = 0; i < n->count && !found; i++)
        found = variable_elsewhere(in, p, n->list[i]);
    return found;
}

/* The text of an operand as far as it is known: its place, or else a variable that fits. False: it
 * is not, and `out` is what a sentence calls it. */
static bool operand_text(Interp *in, const DeviceBlock *p, int i, char *out, size_t cap)
{
    const Node *n = in->at ? in->at->node : NULL;
    const Name *name = NULL;
    const char *text = NULL;
    snprintf(out, cap, "operand %d", i + 1);
    switch (n ? (NodeKind)n->kind : ND_KINDS) {
    case ND_CALL: case ND_BINARY: case ND_UNARY: case ND_COMPARE: case ND_TRANSPOSE:
    case ND_OPASSIGN:
    case ND_INDEX: case ND_VECTOR: case ND_ASSIGN:
        text = err_operand_name(&in->ctx, i);
        snprintf(out, cap, "%s", text ? text : err_operand_text(&in->ctx, i));
        break;
    default:
        name = variable_elsewhere(in, p, n);
    }
    if (name)
        snprintf(out, cap, "%s", name->text);
    return text || name;
}

static bool plain_name(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") ==
           strlen(text);
}

/* `A = to(f32(A), sim.mps)` */
static const char *narrowed(Interp *in, const DeviceBlock *p, int i, char *out, size_t cap)
{
    char text[96], device[80];
    operand_text(in, p, i, text, sizeof text);
    device_expression(p->device, device, sizeof device);
    bool name = plain_name(text);
    snprintf(out, cap, "%s%sto(f32(%s), %s)", name ? text : "", name ? " = " : "", text, device);
    return out;
}

/* What would help: the operand in a float that the device has, or the operation on the fallback. */
static void help_missing(Interp *in, Error *e, const DeviceBlock *p, const Value *args, int count)
{
    char text[96], name[288];
    int i = misfit(p, args, count);
    running_text(in, text, sizeof text);
    if (i >= 0 && args[i].tensor->dtype == DT_F64 && device_holds(p->device, DT_F32))
        err_help(e, "before the block: %s", narrowed(in, p, i, name, sizeof name));
    else if (text[0])
        err_help(e, "on %s { %s }", p->fallback->name, text);
    else
        err_help(e, "on %s { … } around it", p->fallback->name);
}

void place_strict_missing(Interp *in, const DeviceBlock *p, const char *op, const Value *args,
                          int count, const Lack *why)
{
    Buf text;
    buf_init(&text, &in->ctx);
    put_operation(in, &text, op, args, count);
    buf_printf(&text, " is not on %s", p->device->name);
    put_reason(&text, op, why);
    Error *e = err_new(&in->ctx, ERR_DEVICE, "%s, and the block is strict", buf_cstr(&text));
    buf_free(&text);
    int i = misfit(p, args, count);
    if (i >= 0)
        err_underline(e, i);
    help_missing(in, e, p, args, count);
    err_throw(e);
}

void place_strict_copy(Interp *in, const DeviceBlock *p, const char *op, int operand, DType dt,
                       const Device *from)
{
    char device[64], text[96], moved[128];
    device_expression(p->device, device, sizeof device);
    if (operand < 0)
        err_raise_help(&in->ctx, ERR_DEVICE, "to(…) copies where you say so",
                       "the result of %s is on %s and would be copied to %s, and the block is "
                       "strict", op, from->name, p->device->name);
    bool known = operand_text(in, p, operand, text, sizeof text);
    Error *e = err_new(&in->ctx, ERR_DEVICE,
                       "%s is on %s and %s wants it on %s, and the block is strict", text,
                       from->name, shown_name(in, op), p->device->name);
    if (known && strcmp(text, err_operand_text(&in->ctx, operand)) == 0)
        err_underline(e, operand);
    bool held = dt == DT_NONE || device_holds(p->device, dt);      /* else the block narrows */
    const char *what = known ? text : "…";
    if (held)
        snprintf(moved, sizeof moved, "%s", what);
    else
        snprintf(moved, sizeof moved, "%s(%s)", dtype_name(device_widest(p->device)), what);
    if (known && plain_name(text))
        err_help(e, "%s = to(%s, %s)", text, moved, device);
    else
        err_help(e, "to(%s, %s)", moved, device);
    err_throw(e);
}
