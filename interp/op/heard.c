/* The record of operations for those who listen: see heard.h. The aspect
 * opens it, the place tells of runs and copies, operations add what only they know. Printing is the
 * listeners' business. */
#include "interp/op/heard.h"

#include "core/system/ascii.h"
#include "core/base/buf.h"
#include "core/system/c_locale.h"
#include "core/base/error.h"
#include "interp/op/arith.h"
#include "interp/op/deferred.h"
#include "interp/op/elementwise.h"
#include "interp/op/exact.h"
#include "interp/state/scope.h"
#include "kernels/sparse/sparse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEXT_MAX = 72 };

double heard_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const char *heard_bytes_text(char *out, size_t cap, double bytes)
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
    int unit = 0;
    while (bytes >= 999.5 && unit < 4)
        bytes /= 1000, unit++;
    c_snprintf(out, cap, "%.3g %s", bytes, units[unit]);
    return out;
}

/* ---- what operations say ---- */
static bool running(const Interp *in) { return heard_on(in) && in->explain->depth > 0; }

/* Lines `label  text`; the label takes ten cells. */
static void put_label(Buf *out, const char *label)
{
    buf_printf(out, "  %-9s ", label);
}

const char *heard_kernel_text(char out[HEARD_KERNEL], const HeardKernel *k)
{
    bool named = k->library[0];
    snprintf(out, HEARD_KERNEL, "%s%s%s%s", k->routine, named ? " (" : "", k->library,
             named ? ")" : "");
    return out;
}

static void put_cut(char *to, size_t cap, const char *text)
{
    if ((size_t)snprintf(to, cap, "%s", text) >= cap)
        memcpy(to + cap - sizeof "…", "…", sizeof "…");
}

void heard_kernel(Interp *in, const char *routine, const char *library)
{
    if (!running(in))
        return;
    HeardKernel *k = &in->explain->now.kernel;
    put_cut(k->routine, sizeof k->routine, routine);
    put_cut(k->library, sizeof k->library, library ? library : "");
}

bool heard_plan(Interp *in, const HeardPlan *p)
{
    if (!p->known || in->explain->words)
        return false;
    if (running(in))
        in->explain->now.kernel = p->kernel;
    if (!isnan(p->flops))
        explain_flops(in, p->flops, NULL);
    return true;
}

void heard_plan_keep(Interp *in, HeardPlan *p)
{
    const Heard *e = &in->explain->now;
    if (!running(in))
        return;
    p->kernel = e->kernel;
    p->flops = e->flops;
    p->known = true;
}

static void add_line(Buf *notes, const char *label, const char *fmt, va_list args)
{
    size_t before = notes->len;
    put_label(notes, label);
    buf_vprintf(notes, fmt, args);
    buf_putc(notes, '\n');
    if (before && memmem(notes->data, before, notes->data + before, notes->len - before))
        notes->len = before;                       /* a part that runs twice says it once */
}

void explain_note(Interp *in, const char *label, const char *fmt, ...)
{
    va_list args;
    if (!running(in) || !in->explain->words)
        return;
    va_start(args, fmt);
    add_line(&in->explain->now.notes, label, fmt, args);
    va_end(args);
}

void explain_note_next(Interp *in, const char *label, const char *fmt, ...)
{
    va_list args;
    if (!explain_on(in) || in->explain->depth)
        return;
    char *to = in->explain->next;
    int n = snprintf(to, sizeof in->explain->next, "  %-9s ", label);
    va_start(args, fmt);
    c_vsnprintf(to + n, sizeof in->explain->next - (size_t)n, fmt, args);
    va_end(args);
}

void explain_routine(Interp *in, const char *routine, const char *library, const char *fmt, ...)
{
    va_list args;
    char text[HEARD_KERNEL];
    if (!running(in))
        return;
    if (!in->explain->now.kernel.routine[0])
        heard_kernel(in, routine, library);
    if (!in->explain->words)
        return;
    if (!fmt) {
        explain_note(in, "routine", "%s", heard_kernel_text(text, &in->explain->now.kernel));
        return;
    }
    va_start(args, fmt);
    add_line(&in->explain->now.notes, "routine", fmt, args);
    va_end(args);
}

void explain_numbers(Interp *in, const char *fmt, ...)
{
    va_list args;
    if (!running(in) || !in->explain->words || in->explain->now.numbers)
        return;
    in->explain->now.numbers = true;
    va_start(args, fmt);
    add_line(&in->explain->now.notes, "numbers", fmt, args);
    va_end(args);
}

void explain_flops(Interp *in, double flops, const char *how)
{
    if (!running(in))
        return;
    Heard *e = &in->explain->now;
    e->flops = isnan(e->flops) ? flops : e->flops + flops;
    snprintf(e->formula, sizeof e->formula, "%s", how ? how : "");
}

void explain_copied(Interp *in, double bytes)
{
    if (heard_on(in) && in->explain->paused == 0)
        in->explain->now.copied += bytes;
}

void explain_pause(Interp *in)
{
    if (heard_on(in))
        in->explain->paused = heard_clock();
}

void explain_resume(Interp *in)
{
    if (heard_on(in))
        in->explain->hidden += heard_clock() - in->explain->paused, in->explain->paused = 0;
}

/* ---- FLOP formulas ---- */
static double formula_number(const char **at)
{
    char *end;
    double x = c_strtod(*at, &end);
    if (*end == '/' && ascii_digit(end[1]))
        x /= c_strtod(end + 1, &end);
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
        x = pow(x, c_strtod(s + 1, &end));
        s = end;
    }
    *at = s;
    return x;
}

double explain_formula(const char *formula, const double sizes[26])
{
    const char *at = formula;
    double x = ascii_digit(*at) ? formula_number(&at) : 1;
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
    if (is_complex(a) && is_complex(b) && op->ew == EW_MULTIPLY)
        return 6;
    return is_complex(a) || is_complex(b) ? 2 : 1;
}

/* What part of a matrix's elements are there. */
static double stored(const Tensor *t)
{
    const Sparse *s = t && t->size ? tensor_sparse(t) : NULL;
    return s ? (double)s->value->size / (double)t->size : 1;
}

static bool sparse_among(const Value *args, int n)
{
    for (int i = 0; i < n; i++)
        if (tensor_of(args[i]) && tensor_sparse(tensor_of(args[i])))
            return true;
    return false;
}

static double flops_of_all(const Op *op, const Value *args, int n, Value result);

/* Of sparse operands, the entries' share: 2 for an entry of S @ x. */
double heard_flops(const Op *op, const Value *args, int n, Value result)
{
    const Tensor *a = n > 0 ? tensor_of(args[0]) : NULL, *b = n > 1 ? tensor_of(args[1]) : NULL;
    double all = flops_of_all(op, args, n, result);
    return op->cls == OPC_EW ? all * stored(tensor_of(result))
         : op->sizes == SIZES_PRODUCT ? all * stored(a) * stored(b)
         : op->sizes == SIZES_ELEMENTS ? all * stored(a) : all;
}

/* By what the letters of the row's formula stand for. */
static double flops_of_all(const Op *op, const Value *args, int n, Value result)
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
    if (op->sizes == SIZES_ELEMENTS) {
        sizes['n' - 'a'] = (double)a->size;
        return explain_formula(op->flops, sizes) * parts(op, a, NULL);
    }
    matrix_sizes(sizes, a, b, &batch);
    double *m = &sizes['m' - 'a'], *cols = &sizes['n' - 'a'];
    if (op->sizes == SIZES_PRODUCT && b) {
        *cols = b->rank > 1 ? (double)tensor_shape(b)[b->rank - 1] : 1;
        batch = r && *m * *cols > 0 ? (double)r->size / (*m * *cols) : 1;
    } else if (op->sizes == SIZES_PAIR && b) {
        *m = (double)a->size, *cols = (double)b->size, batch = 1;
    } else if (*m < *cols && op->sizes == SIZES_TALL) {
        double t = *m;
        *m = *cols, *cols = t;
    }
    bool cplx = is_complex(a) || is_complex(b);
    return explain_formula(op->flops, sizes) * batch * (cplx ? 4 : 1);
}

/* ---- the record ---- */
/* Of a result numbers count too. */
static double bytes_written(Value v)
{
    double sum = 0;
    if (v_immediate(v))
        return 8;
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        sum += bytes_written(v.tuple->items[i]);
    return v.tag == V_TUPLE ? sum : v_bytes(v);
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
        bool blank = ascii_space(text[i]);
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

/* Of work that is no row's its tensors: numbers of the program stand in its text. */
static bool shown(const OpCall *c, Value v)
{
    return c->work ? v.tag == V_TENSOR && v.tensor->rank > 0 : v.tag != V_UNDEF;
}

static void put_operands(Buf *out, const OpCall *c)
{
    char text[96];
    const char *between = " of ";
    for (int i = 0; i < c->count; i++) {
        if (!shown(c, c->args[i]))
            continue;
        buf_printf(out, "%s%s", between, v_describe(c->args[i], text, sizeof text));
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

static void heard_clear(Interp *in, Heard *e)
{
    *e = (Heard){ .flops = NAN, .dtype = DT_NONE, .device = in->ctx.devices->cpu,
                  .result = v_undef() };
    buf_init(&e->head, &in->ctx);
    buf_init(&e->notes, &in->ctx);
}

void heard_free(Heard *e)
{
    buf_free(&e->head);
    buf_free(&e->notes);
}

/* What an operation on these computes in: a scope's format, else the widest operand's. */
static DType computes_in(const Interp *in, const Value *args, int n)
{
    DType dt = DT_NONE;
    if (in->scope && in->scope->format != DT_NONE)
        return in->scope->format;
    for (int i = 0; i < n; i++) {
        if (args[i].tag != V_TENSOR)
            continue;
        DType both = dt == DT_NONE ? (DType)args[i].tensor->dtype
                                   : dtype_promote(dt, (DType)args[i].tensor->dtype);
        dt = both == DT_NONE ? dt : both;
    }
    return dt;
}

static void record_begin(const OpCall *c)
{
    Interp *in = c->in;
    Explain *x = in->explain;
    Heard *e = &x->now;
    heard_free(e);                              /* of one whose telling raised */
    heard_clear(in, e);
    e->name = c->work ? c->work->name : c->op->name;
    e->op = c->op;
    e->dtype = computes_in(in, c->args, c->count);
    if (x->words) {
        put_place(in, &e->head);
        if (c->op && c->op->told) {
            c->op->told(c, &e->head);
        } else {
            buf_puts(&e->head, e->name);
            put_operands(&e->head, c);
        }
    }
    if (x->next[0])
        buf_printf(&e->notes, "%s\n", x->next);
    x->next[0] = 0;
    for (int i = 0; i < c->count; i++)
        e->read += v_bytes(c->args[i]);
    x->depth = 1;
    x->hidden = x->paused = 0;
    e->start = heard_clock();
}

/* To all listeners that are not inside an operation; an `explain` keeps it from those above. */
static void record_tell(Interp *in, Heard *e)
{
    bool explained = false;
    for (Explain *x = in->explain; x && !x->depth; x = x->up) {
        if (!(x->explains && explained))
            x->heard(in, x, e);
        explained |= x->explains;
    }
    heard_free(e);                              /* the next one clears the rest */
    buf_init(&e->head, &in->ctx);
    buf_init(&e->notes, &in->ctx);
}

static void record_keep(Interp *in, const Value *args, int n, Value result)
{
    Heard *e = &in->explain->now;
    in->explain->depth = 0;
    e->args = args;
    e->n = n;
    e->result = result;
    record_tell(in, e);
}

void explain_tell(Interp *in, const char *fmt, ...)
{
    va_list args;
    if (!explain_on(in) || in->explain->depth)
        return;
    Heard *e = &in->explain->now;
    heard_free(e);
    heard_clear(in, e);
    e->result = v_none();
    va_start(args, fmt);
    buf_vprintf(&e->head, fmt, args);
    va_end(args);
    for (Explain *x = in->explain; x; x = x->up)
        if (x->explains) {
            x->heard(in, x, e);
            break;
        }
    heard_free(e);
    buf_init(&e->head, &in->ctx);
    buf_init(&e->notes, &in->ctx);
}

/* Bytes between the processes of a grid since somebody asked last. */
static double sent_between(Interp *in, Device *d)
{
    uint64_t all, largest, before = d->counts.between;
    if (!d->opened || !d->ops->look)
        return 0;
    d->ops->look(&in->ctx, d, &all, &largest);
    return d->counts.between > before ? (double)(d->counts.between - before) : 0;
}

/* A device may still be at it. */
static void record_wait(Interp *in)
{
    Explain *x = in->explain;
    Heard *e = &x->now;
    if (e->real)
        device_sync(&in->ctx, e->device);
    e->wall = heard_clock() - e->start;
    e->seconds = e->told && !e->real ? e->run_seconds : e->wall - x->hidden - e->copy_wall;
    e->seconds = e->seconds > 0 ? e->seconds : 0;
    e->between = e->real ? sent_between(in, e->device) : 0;
}

static void record_done(Interp *in, const Op *op, const Value *args, int n, Value result)
{
    Heard *e = &in->explain->now;
    if (isnan(e->flops) && op) {
        e->flops = heard_flops(op, args, n, result);
        if (in->explain->words)
            snprintf(e->formula, sizeof e->formula, "%s",
                     op->flops && op->cls != OPC_EW && !sparse_among(args, n) ? op->flops : "");
    }
    e->view = op && op->cls != OPC_EW && shares_buffer(result, args, n);
    e->written = bytes_written(result);
    if (e->dtype == DT_NONE && result.tag == V_TENSOR)
        e->dtype = (DType)result.tensor->dtype;
    if (in->explain->words)
        put_result(&e->head, result);
    record_keep(in, args, n, result);
}

/* ---- what the place tells ---- */
static void add_run(Heard *e, const PlaceRun *r)
{
    e->told = true;
    e->device = r->device;
    e->dtype = r->dtype != DT_NONE ? r->dtype : e->dtype;
    e->fell_back |= r->fell_back;
    e->run_seconds += r->seconds;
    e->real |= !(r->device->caps & DEVCAP_SIM) && strcmp(r->device->ops->backend, "cpu") != 0;
    if (r->device->caps & DEVCAP_SOURCE && !e->kernel.routine[0])
        strcpy(e->kernel.routine, "generated");
    /* a row's formula says it with its reason */
    if (r->flops > 0 && isnan(e->flops) && !e->op)
        e->flops = r->flops;
}

/* Inside an operation it is that one's; else (indexing, a maker) a record of its own. */
static void place_told_run(Interp *in, PlaceListener *l, const PlaceRun *r)
{
    Explain *x = (Explain *)(void *)l;
    if (x->depth) {
        add_run(&x->now, r);
        return;
    }
    Heard *e = &x->now;
    heard_free(e);
    heard_clear(in, e);
    e->name = r->name;
    e->op = r->op;
    e->start = heard_clock() - r->seconds;
    add_run(e, r);
    e->seconds = r->seconds;
    e->wall = r->device->caps & DEVCAP_SIM ? 0 : r->seconds;
    e->written = r->bytes;
    if (x->words) {
        put_place(in, &e->head);
        buf_puts(&e->head, r->name);
    }
    record_tell(in, e);
}

static void place_told_copy(Interp *in, PlaceListener *l, const PlaceMove *m)
{
    bool up = m->to != in->ctx.devices->cpu, told = false;
    const Device *d = up ? m->to : m->from;
    for (Explain *x = (Explain *)(void *)l; x; x = x->up) {
        if (x->moved)
            x->moved(in, x, m);
        if (!x->depth || told)
            continue;
        Heard *e = &x->now;
        told = true;
        *(up ? &e->up : &e->down) += 1;
        *(up ? &e->bytes_up : &e->bytes_down) += (double)m->bytes;
        e->copy_seconds += m->seconds;
        e->copy_wall += d->caps & DEVCAP_SIM ? 0 : m->seconds;
    }
}

/* ---- listening ---- */
void heard_begin(Interp *in, Explain *x)
{
    deferred_barrier(in, v_none());
    x->place = (PlaceListener){ place_told_run, place_told_copy };
    x->up = in->explain;
    x->words = x->explains || (x->up && x->up->words);
    heard_clear(in, &x->now);
    in->explain = x;
    in->listener = &x->place;
}

void heard_end(Interp *in, Explain *x)
{
    assert(in->explain == x);
    in->explain = x->up;
    in->listener = x->up ? &x->up->place : NULL;
    heard_free(&x->now);
}

void heard_despite_error(Interp *in, void (*tell)(Interp *, void *), void *data)
{
    Error *error = in->ctx.error;
    ErrFrame frame;
    in->ctx.error = NULL;
    if (ERR_TRY(&in->ctx, &frame)) {
        tell(in, data);
        ERR_END(&in->ctx, &frame);
    } else {
        err_free(in->ctx.error);
    }
    in->ctx.error = error;
}

void heard_sync(Interp *in)
{
    for (Device *d = in->ctx.devices->first; d; d = d->next)
        if (d->opened && !device_absent(d)) {
            device_sync(&in->ctx, d);
            sent_between(in, d);
        }
}

/* ---- the aspect ---- */
/* Numbers alone are no operation that anybody hears of, nor are rows that compute nothing (print,
 * map, len), but for those that make tensors of a device block. */
bool record_wants(const OpCall *c)
{
    Interp *in = c->in;
    if (!heard_on(in) || in->explain->depth)
        return false;
    if (c->work)                        /* what only moves is heard of where it may move far */
        return !c->work->moves || in->place || in->ctx.remote;
    bool tensors = c->op->cls != OPC_EW;
    for (int i = 0; i < c->count; i++)
        tensors |= c->args[i].tag == V_TENSOR || c->args[i].tag == V_RANGE;
    return (tensors && c->op->dtypes) || (in->place && c->op->devices & DEV_MAKES);
}

/* It gave up: nothing is told of it. */
static Value gave_up(Interp *in, Value r)
{
    in->explain->depth = 0;
    heard_free(&in->explain->now);
    heard_clear(in, &in->explain->now);
    return r;
}

static void record_failed(const OpCall *c)
{
    Interp *in = c->in;
    Heard *e = &in->explain->now;
    e->formula[0] = '\0';
    e->flops = NAN;
    e->failed = true;
    e->wall = e->seconds = heard_clock() - e->start;
    if (in->explain->words)
        buf_puts(&e->head, " failed");
    record_keep(in, c->args, c->count, v_undef());
}

Value record_call(OpCall *c, const Aspect *rest)
{
    ErrFrame frame;
    Interp *in = c->in;
    record_begin(c);
    if (ERR_TRY(&in->ctx, &frame)) {
        Value r = call_rest(c, rest);
        v_push(in, r);                     /* what follows may raise */
        record_wait(in);
        ERR_END(&in->ctx, &frame);
        in->sp--;
        if (r.tag == V_UNDEF)
            return gave_up(in, r);
        v_push(in, r);
        record_done(in, c->op, c->args, c->count, r);
        in->sp--;
        return r;
    }
    if (in->explain->depth)
        record_failed(c);
    err_rethrow(&in->ctx);
}
