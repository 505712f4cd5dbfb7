/* The listener behind `explain` (explain.h). Entries are collected while the explained
 * code runs and printed when it is done, on stdout, below what the code printed itself;
 * calls that look the same are one entry with a count. An error inside prints what was
 * heard until then and goes on. */
#include "interp/explain.h"

#include "core/buf.h"
#include "core/mem.h"
#include "interp/arith.h"
#include "interp/elementwise.h"
#include "interp/exact.h"
#include "interp/precise.h"
#include "interp/output.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ENTRIES_MAX = 100, TEXT_MAX = 72 };

typedef struct Entry {
    Buf head, notes;            /* first line, and what the operation itself said */
    char formula[96];           /* of the FLOPs; "" if none is shown */
    double flops, seconds, copied, read, written;
    int64_t calls;
    bool view;                  /* nothing was computed: the operand's own elements */
} Entry;

struct Explain {
    Entry entries[ENTRIES_MAX];
    int count;
    int64_t dropped, calls;     /* operations beyond the entries; all of them */
    Entry now;                  /* of the running operation */
    bool inner;                 /* an explain inside this one has told of operations */
    int depth;                  /* operations inside operations are part of the outer one */
    double flops, seconds;      /* of everything */
    double paused, hidden;      /* when the clock stopped, 0 if it runs; how long it stood still */
};

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- what operations say ---- */
static void put_label(Buf *out, const char *label)
{
    buf_printf(out, "  %-9s ", label);
}

bool explain_noted(const Interp *in, const char *label)
{
    if (!explain_on(in) || !in->explain->depth)
        return false;
    const Buf *notes = &in->explain->now.notes;
    char line[32];
    int n = snprintf(line, sizeof line, "  %s ", label);
    return notes->len && memmem(notes->data, notes->len, line, (size_t)n);
}

void explain_note(Interp *in, const char *label, const char *fmt, ...)
{
    if (!explain_on(in) || !in->explain->depth)
        return;
    va_list args;
    Buf *notes = &in->explain->now.notes;
    size_t before = notes->len;
    va_start(args, fmt);
    put_label(notes, label);
    buf_vprintf(notes, fmt, args);
    buf_putc(notes, '\n');
    va_end(args);
    if (before && memmem(notes->data, before, notes->data + before, notes->len - before))
        notes->len = before;                       /* a part that runs twice says it once */
}

void explain_flops(Interp *in, double flops, const char *how)
{
    if (!explain_on(in) || !in->explain->depth)
        return;
    Entry *e = &in->explain->now;
    e->flops = isnan(e->flops) ? flops : e->flops + flops;
    snprintf(e->formula, sizeof e->formula, "%s", how ? how : "");
}

void explain_copied(Interp *in, double bytes)
{
    if (explain_on(in) && in->explain->paused == 0)
        in->explain->now.copied += bytes;
}

void explain_pause(Interp *in)
{
    if (explain_on(in))
        in->explain->paused = seconds_now();
}

void explain_resume(Interp *in)
{
    if (explain_on(in))
        in->explain->hidden += seconds_now() - in->explain->paused, in->explain->paused = 0;
}

/* ---- FLOP formulas ---- */
static double formula_number(const char **at)
{
    char *end;
    double x = strtod(*at, &end);
    if (*end == '/' && isdigit((unsigned char)end[1]))
        x /= strtod(end + 1, &end);
    *at = end;
    return x;
}

/* n, n^3, log2 n; the letters of a word are factors. */
static double formula_factor(const char **at, const double sizes[26])
{
    const char *s = *at;
    if (strncmp(s, "log", 3) == 0) {
        double x = 1;
        s += s[3] == '2' ? 4 : 3;
        while (*s == ' ')
            s++;
        for (; *s >= 'a' && *s <= 'z'; s++)
            x *= sizes[*s - 'a'];
        *at = s;
        return x > 2 ? log2(x) : isnan(x) ? x : 1;
    }
    if (*s < 'a' || *s > 'z')
        return NAN;
    double x = sizes[*s++ - 'a'];
    if (*s == '^') {
        char *end;
        x = pow(x, strtod(s + 1, &end));
        s = end;
    }
    *at = s;
    return x;
}

double explain_formula(const char *formula, const double sizes[26])
{
    const char *at = formula;
    double x = isdigit((unsigned char)*at) ? formula_number(&at) : 1;
    while (*at && !isnan(x)) {
        if (*at == ' ')
            at++;
        else
            x *= formula_factor(&at, sizes);
    }
    return x;
}

static const Tensor *tensor_of(Value v) { return v.tag == V_TENSOR ? v.tensor : NULL; }

static void matrix_sizes(double sizes[26], const Tensor *a, const Tensor *b, double *batch)
{
    const int64_t *sa = tensor_shape(a);
    double rows = a->rank > 1 ? (double)sa[a->rank - 2] : 1;
    double cols = a->rank ? (double)sa[a->rank - 1] : 1;
    *batch = rows * cols > 0 ? (double)a->size / (rows * cols) : 0;
    sizes['m' - 'a'] = rows;
    sizes['n' - 'a'] = sizes['k' - 'a'] = cols;
    if (!b || b->rank == 0)
        return;
    const int64_t *sb = tensor_shape(b);
    sizes['p' - 'a'] = b->rank > 1 ? (double)sb[b->rank - 2] : 1;
    sizes['q' - 'a'] = (double)sb[b->rank - 1];
}

static bool is_complex(const Tensor *t) { return t && dtype_info(t->dtype)->kind == 'c'; }

/* Real operations for one of an elementwise function or a reduction: a product of complex
 * numbers is four and two more, the others work on both parts. */
static double parts(const Op *op, const Tensor *a, const Tensor *b)
{
    if (is_complex(a) && is_complex(b) && strcmp(op->name, "multiply") == 0)
        return 6;
    return is_complex(a) || is_complex(b) ? 2 : 1;
}

/* What the letters of a row's formula stand for: m x n is the first operand, and in a
 * product with the second k the length they share. */
static double row_flops(const Op *op, const Value *args, int n, Value result)
{
    double sizes[26], batch = 1;
    const Tensor *a = n > 0 ? tensor_of(args[0]) : NULL, *b = n > 1 ? tensor_of(args[1]) : NULL;
    const Tensor *r = tensor_of(result);
    if (!op->flops)
        return NAN;
    for (int i = 0; i < 26; i++)
        sizes[i] = NAN;
    if (op->cls == OPC_EW) {
        sizes['n' - 'a'] = r ? (double)r->size : 1;
        return explain_formula(op->flops, sizes) * parts(op, a, b);
    }
    if (!a)
        return NAN;
    if (strcmp(op->section, "linear algebra") != 0) {
        sizes['n' - 'a'] = (double)a->size;
        return explain_formula(op->flops, sizes) * parts(op, a, NULL);
    }
    matrix_sizes(sizes, a, b, &batch);
    double *m = &sizes['m' - 'a'], *cols = &sizes['n' - 'a'];
    if (strcmp(op->flops, "2mnk") == 0 && b) {
        *cols = b->rank > 1 ? (double)tensor_shape(b)[b->rank - 1] : 1;
        batch = r && *m * *cols > 0 ? (double)r->size / (*m * *cols) : 1;
    } else if (strcmp(op->flops, "mn") == 0 && b) {
        *m = (double)a->size, *cols = (double)b->size, batch = 1;
    } else if (*m < *cols && strstr(op->flops, "mn^2")) {
        double t = *m;
        *m = *cols, *cols = t;
    }
    bool cplx = is_complex(a) || is_complex(b);
    return explain_formula(op->flops, sizes) * batch * (cplx ? 4 : 1);
}

/* ---- entries ---- */
static double bytes_of(Value v)
{
    double sum = 0;
    if (v.tag == V_TENSOR)
        return (double)v.tensor->size * dtype_info(v.tensor->dtype)->bytes;
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        sum += bytes_of(v.tuple->items[i]);
    return sum;
}

/* Of a result numbers count too. */
static double bytes_written(Value v)
{
    double sum = 0;
    if (v_immediate(v))
        return 8;
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        sum += bytes_written(v.tuple->items[i]);
    return v.tag == V_TUPLE ? sum : bytes_of(v);
}

/* The user's text of the running operation, its blanks as one, cut where it grows long. */
static void put_place(Interp *in, Buf *out)
{
    Where w = { 0 };
    in->ctx.locate(&in->ctx, &w);
    size_t from = out->len;
    if (!w.source)
        return;
    const char *text = w.source->text + w.span.from;
    for (uint32_t i = 0; i < w.span.to - w.span.from; i++) {
        bool blank = isspace((unsigned char)text[i]);
        if (blank && out->len > from && out->data[out->len - 1] == ' ')
            continue;
        bool whole = ((unsigned char)text[i] & 0xc0) != 0x80;
        if (whole && out->len - from >= TEXT_MAX) {
            buf_puts(out, "…");
            break;
        }
        buf_putc(out, blank ? ' ' : text[i]);
    }
    buf_puts(out, ": ");
}

static void put_operands(Buf *out, const Value *args, int n)
{
    char text[96];
    const char *between = " of ";
    for (int i = 0; i < n; i++) {
        if (args[i].tag == V_UNDEF)
            continue;
        buf_printf(out, "%s%s", between, v_describe(args[i], text, sizeof text));
        between = ", ";
    }
}

static void put_result(Buf *out, Value r)
{
    char text[96];
    if (r.tag != V_TUPLE) {
        buf_printf(out, ", gives %s", v_describe(r, text, sizeof text));
        return;
    }
    for (uint32_t i = 0; i < r.tuple->count; i++) {
        const Name *name = r.tuple->named ? r.tuple->names[i] : NULL;
        buf_printf(out, "%s%s%s%s", i ? ", " : ", gives (", name ? name->text : "", name ? "=" : "",
                   v_describe(r.tuple->items[i], text, sizeof text));
    }
    buf_puts(out, r.tuple->count ? ")" : ", gives ()");
}

/* Transpositions and slices give views of their operand. */
static bool shares_buffer(Value result, const Value *args, int n)
{
    const Tensor *r = tensor_of(result);
    for (int i = 0; i < n && r; i++)
        if (tensor_of(args[i]) && tensor_of(args[i])->buffer == r->buffer)
            return true;
    return false;
}

static void entry_clear(Interp *in, Entry *e)
{
    *e = (Entry){ .flops = NAN, .calls = 1 };
    buf_init(&e->head, &in->ctx);
    buf_init(&e->notes, &in->ctx);
}

static void entry_free(Entry *e)
{
    buf_free(&e->head);
    buf_free(&e->notes);
}

static double entry_begin(Interp *in, const char *name, const Value *args, int n)
{
    Entry *e = &in->explain->now;
    entry_clear(in, e);
    put_place(in, &e->head);
    buf_puts(&e->head, name);
    put_operands(&e->head, args, n);
    for (int i = 0; i < n; i++)
        e->read += bytes_of(args[i]);
    in->explain->depth = 1;
    in->explain->hidden = in->explain->paused = 0;
    return seconds_now();
}

/* Adds the finished entry: to one that looks the same, or as the next. */
static void entry_keep(Interp *in)
{
    Explain *x = in->explain;
    Entry *e = &x->now;
    x->depth = 0;
    x->calls++;
    x->flops += isnan(e->flops) ? 0 : e->flops;
    x->seconds += e->seconds;
    for (int i = 0; i < x->count; i++) {
        Entry *old = &x->entries[i];
        if (old->head.len != e->head.len || memcmp(old->head.data, e->head.data, e->head.len) != 0)
            continue;
        old->calls++;
        old->flops += e->flops;
        old->seconds += e->seconds;
        old->copied += e->copied;
        old->read += e->read;
        old->written += e->written;
        entry_free(e);
        entry_clear(in, e);
        return;
    }
    if (x->count < ENTRIES_MAX) {
        x->entries[x->count++] = *e;
    } else {
        x->dropped++;
        entry_free(e);
    }
    entry_clear(in, e);
}

static void entry_end(Interp *in, const Op *op, const Value *args, int n, Value result, double from)
{
    Entry *e = &in->explain->now;
    e->seconds = seconds_now() - from - in->explain->hidden;
    if (isnan(e->flops) && op) {
        e->flops = row_flops(op, args, n, result);
        snprintf(e->formula, sizeof e->formula, "%s",
                 op->flops && op->cls != OPC_EW ? op->flops : "");
    }
    e->view = op && op->cls != OPC_EW && shares_buffer(result, args, n);
    e->written = bytes_written(result);
    put_result(&e->head, result);
    entry_keep(in);
}

/* ---- the door ---- */
typedef struct Knock {
    OpCall *call;               /* NULL: elementwise */
    Interp *in;
    const Op *op;               /* NULL: a chain */
    const Value *args;
    int n;
    unsigned weak, reuse;
    const ExplainChain *chain;
} Knock;

static Value knock(const Knock *k)
{
    if (k->chain)
        return k->chain->run(k->in, k->chain->data);
    if (k->call)
        return precise_door(k->call);
    Value r;
    if (precise_wants(k->in, k->args, k->n) &&
        precise_elementwise(k->in, k->op, k->args, k->n, k->weak, k->reuse, &r))
        return r;
    return ew_call(k->in, k->op, k->args, k->n, k->weak, k->reuse);
}

static Value listen(const Knock *k)
{
    Interp *in = k->in;
    ErrFrame frame;
    if (in->explain->depth || (k->op && !k->op->dtypes))      /* print, map, len compute nothing */
        return knock(k);
    const char *name = k->op ? k->op->name : k->chain && k->chain->name ? k->chain->name : "one pass";
    double from = entry_begin(in, name, k->args, k->n);
    if (k->chain && k->chain->parts)
        explain_note(in, "parts", "%s", k->chain->parts);
    if (ERR_TRY(&in->ctx, &frame)) {
        Value r = knock(k);
        ERR_END(&in->ctx, &frame);
        if (r.tag == V_UNDEF) {
            in->explain->depth = 0;
            entry_free(&in->explain->now);
            entry_clear(in, &in->explain->now);
            return r;
        }
        v_push(in, r);                     /* making the entry may raise */
        entry_end(in, k->op, k->args, k->n, r, from);
        in->sp--;
        return r;
    }
    Explain *x = in->explain;
    if (x->depth) {
        snprintf(x->now.formula, sizeof x->now.formula, "%s", "");
        x->now.flops = NAN;
        buf_puts(&x->now.head, " failed");
        entry_keep(in);
    }
    err_rethrow(&in->ctx);
}

Value explain_run(OpCall *c)
{
    return listen(&(Knock){ .call = c, .in = c->in, .op = c->op, .args = c->args, .n = c->count });
}

Value explain_elementwise(Interp *in, const Op *op, const Value *args, int n, unsigned weak,
                          unsigned reuse)
{
    return listen(&(Knock){ NULL, in, op, args, n, weak, reuse, NULL });
}

Value explain_chain(Interp *in, const ExplainChain *chain)
{
    return listen(&(Knock){ .in = in, .args = chain->leaves, .n = chain->n, .chain = chain });
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

static void put_entry(Interp *in, Buf *out, const Entry *e)
{
    buf_put(out, e->head.data, e->head.len);
    if (e->calls > 1)
        buf_printf(out, " (%lld times)", (long long)e->calls);
    buf_putc(out, '\n');
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

static void put_total(Interp *in, Buf *out, const Explain *x)
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
        [ROUND_AWAY] = ", ties rounded away", [ROUND_ZERO] = ", rounded to zero", [ROUND_UP] = ", rounded up",
        [ROUND_DOWN] = ", rounded down", [ROUND_ODD] = ", rounded to odd",
        [ROUND_STOCHASTIC] = ", rounded stochastically",
    };
    const Scope *s = in->scope;
    if (!s)
        return;
    if (s->format == DT_NONE) {
        buf_printf(out, "in autocast %s\n", dtype_name(s->autocast));
        return;
    }
    buf_printf(out, "in precision %s", dtype_name(s->format));
    if (s->accumulate_given || s->accumulate != s->format)
        buf_printf(out, ", sums in %s", dtype_name(s->accumulate));
    buf_printf(out, "%s%s%s%s\n", modes[s->round] ? modes[s->round] : "", s->saturate ? ", saturating" : "",
               s->flush ? ", without subnormals" : "", s->reproducible ? ", reproducible" : "");
}

static void report(Interp *in, const Explain *x)
{
    Buf out;
    ErrFrame frame;
    buf_init(&out, &in->ctx);
    if (!ERR_TRY(&in->ctx, &frame)) {
        buf_free(&out);
        err_rethrow(&in->ctx);
    }
    put_scope(in, &out);
    for (int i = 0; i < x->count; i++)
        put_entry(in, &out, &x->entries[i]);
    put_total(in, &out, x);
    if (x->calls == 0 && !x->inner)
        buf_puts(&out, "nothing to explain: no operation on tensors ran\n");
    out_write(in, out.data, out.len);
    ERR_END(&in->ctx, &frame);
    buf_free(&out);
}

static void explain_free(Interp *in, Explain *x)
{
    for (int i = 0; i < x->count; i++)
        entry_free(&x->entries[i]);
    entry_free(&x->now);
    mem_free(&in->ctx, x, sizeof *x);
}

/* Runs x->a while `heard` listens. False: it raised, or flow unwinds through it. */
static bool run_heard(Interp *in, const Exec *x, Explain *heard, Value *result)
{
    Guard g;
    Explain *outer = in->explain;
    if (outer)
        outer->inner = true;
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        in->explain = heard;
        *result = exec_run(in, x->a);
        in->explain = outer;
        v_push(in, *result);
        report(in, heard);
        in->sp--;
        ERR_END(&in->ctx, &g.frame);
        return true;
    }
    guard_restore(in, &g);
    in->explain = outer;
    return false;
}

/* What was heard before an error; printing it must not hide that error. */
static void report_before_error(Interp *in, const Explain *heard)
{
    Error *error = in->ctx.error;
    ErrFrame frame;
    in->ctx.error = NULL;
    if (ERR_TRY(&in->ctx, &frame)) {
        report(in, heard);
        ERR_END(&in->ctx, &frame);
    } else {
        err_free(in->ctx.error);
    }
    in->ctx.error = error;
}

Value eval_explain(Interp *in, const Exec *x)
{
    Value result = v_none();
    Explain *heard = mem_alloc(&in->ctx, sizeof *heard);
    memset(heard, 0, sizeof *heard);
    entry_clear(in, &heard->now);
    if (run_heard(in, x, heard, &result)) {
        explain_free(in, heard);
        return result;
    }
    bool flow = in->flow != FLOW_NONE;
    if (flow || heard->calls)
        report_before_error(in, heard);
    explain_free(in, heard);
    if (flow)
        flow_unwind(in);
    err_rethrow(&in->ctx);
}
