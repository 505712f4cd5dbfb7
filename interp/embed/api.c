/* The embedding interface of libricci, its life and its evaluations: see ricci.h. api_run is the
 * door of every call that can fail: it puts up the catch point that no error passes, and sees to
 * what changed since the last call (the thread, tensors that were released). */
#include "interp/embed/api.h"

#include "core/system/c_locale.h"
#include "core/base/error.h"
#include "interp/native/native.h"
#include "interp/native/native_frame.h"
#include "interp/life.h"
#include "interp/output/display.h"
#include "interp/eval/module.h"
#include "interp/show/show.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An evaluation under way. */
typedef struct ApiLevel {
    struct ApiLevel *up;
    uint32_t hidden;             /* hidden slots that its code uses; 0: not asked for yet */
    uint32_t base, kept;         /* of the one around: its hidden_base; see keep_functions */
} ApiLevel;

/* ---- errors ---- */
void api_forget_error(Ricci *r)
{
    Error *e = r->last;
    r->last = NULL;
    buf_clear(&r->report);
    err_free(e);
}

/* The error of a thread that has no memory left is the thread's: it is copied. */
void api_keep_error(Ricci *r, Error *e)
{
    if (r->last != e)
        api_forget_error(r);
    if (e->no_memory) {
        r->spent = *e;
        e = &r->spent;
    }
    r->last = err_keep(e);
}

Error *api_take_error(Ricci *r)
{
    Error *e = r->last;
    r->last = NULL;
    buf_clear(&r->report);
    return e;
}

static void render_body(Ricci *r, void *task)
{
    (void)task;
    err_render(&r->report, r->last);
    buf_cstr(&r->report);
}

/* Not through api_run: this is no use of the interpreter, and its failure is not the last error. */
static bool render(Ricci *r)
{
    ErrFrame frame;
    Ctx *ctx = &r->in->ctx;
    if (ERR_TRY(ctx, &frame)) {
        render_body(r, NULL);
        ERR_END(ctx, &frame);
        return true;
    }
    err_free(ctx->error);
    ctx->error = NULL;
    buf_clear(&r->report);
    return false;
}

API const char *ricci_error(Ricci *r)
{
    if (!r)
        return "error[memory]: there is no interpreter\n";
    if (!r->last)
        return "";
    if (r->report.len || render(r))
        return r->report.data;
    snprintf(r->plain, sizeof r->plain, "error[%s]: %s\n", err_kind_name(r->last->kind),
             r->last->message);
    return r->plain;
}

API const RicciError *ricci_error_parts(Ricci *r)
{
    const Error *e = r ? r->last : NULL;
    if (!e)
        return NULL;
    Place place = { 0 };
    if (e->where.source)
        place = source_place(e->where.source, e->where.span.from);
    r->parts = (RicciError){ err_kind_name(e->kind), e->message, e->help ? e->help : "",
                             e->where.source ? e->where.source->name : "", (int)place.line,
                             (int)place.column };
    return &r->parts;
}

/* `throw v` carries a Value: eval_flow.c. */
static void thrown_body(Ricci *r, void *task)
{
    Error *e = r->last;
    *(RicciValue **)task = e && e->payload ? api_hold(r, v_retain(*(const Value *)e->payload))
                                           : NULL;
}

API RicciValue *ricci_error_value(Ricci *r)
{
    RicciValue *v = NULL;
    bool thrown = r && r->last && r->last->kind == ERR_THROW;
    return thrown && api_run(r, thrown_body, &v) == 0 ? v : NULL;
}

/* ---- the door ---- */
static void first_in(Ricci *r)
{
    interp_on_thread(r->in);
    api_drain(r);
    native_pins_sweep(r->in);
    r->in->out_failed = false;
}

static void last_out(Ricci *r)
{
    if (r->replaced)
        v_release(&r->in->ctx, v_tuple(r->replaced));
    r->replaced = NULL;
    api_drain(r);                /* adopted tensors may be exports of ours */
}

int api_run(Ricci *r, ApiBody body, void *task)
{
    if (!r)
        return 1;
    Interp *in = r->in;
    if (r->locked) {
        api_keep_error(r, err_new(&in->ctx, ERR_FFI,
                                  "the deleter of a tensor and the output function cannot use "
                                  "the interpreter that calls them"));
        return 1;
    }
    NativeFrame *inside = native_suspend(), *calls = in->native ? in->native->frame : NULL;
    volatile int status = 0;
    Guard guard;
    guard_enter(in, &guard);
    if (in->native && in->native->bool_pins)         /* what C wrote since */
        native_pins_bools(in);
    if (r->depth++ == 0)
        first_in(r);
    if (ERR_TRY(&in->ctx, &guard.frame)) {
        body(r, task);
        ERR_END(&in->ctx, &guard.frame);
    } else {
        guard_restore(in, &guard);
        Error *e = in->ctx.error;
        in->ctx.error = NULL;
        api_keep_error(r, e);
        status = 1;
    }
    if (in->native)
        in->native->frame = calls;
    bool interrupted = status && r->last && r->last->kind == ERR_INTERRUPT;
    if (--r->depth == 0)
        last_out(r);
    if (interrupted)                     /* it is meant for the program around this call too */
        in->no_interrupt = r->depth > 0;
    native_resume(inside);
    return status;
}

int api_call(Ricci *r, ApiBody body, void *task)
{
    if (r && !r->locked)
        api_forget_error(r);
    return api_run(r, body, task);
}

/* ---- output ---- */
static bool write_stdio(int stream, const char *text, size_t n)
{
    FILE *to = stream == 1 ? stdout : stderr;
    if (stream == 2)
        fflush(stdout);
    return fwrite(text, 1, n, to) == n && (stream == 1 || fflush(to) == 0);
}

static bool host_write(Host *host, int stream, const char *text, size_t n)
{
    Ricci *r = (Ricci *)((char *)host - offsetof(Ricci, host));
    if (n == 0)
        return true;
    if (!r->write)
        return write_stdio(stream, text, n);
    r->locked = true;
    errno = EIO;
    bool ok = r->write(r->user, stream, text, n) == 0;
    r->locked = false;
    return ok;
}

static bool host_display(Host *host, const Display *d)
{
    Ricci *r = (Ricci *)((char *)host - offsetof(Ricci, host));
    const Buf *f = d->form;
    RicciForms forms = {
        .text = f[DISPLAY_TEXT].data ? f[DISPLAY_TEXT].data : "", .latex = f[DISPLAY_LATEX].data,
        .svg = f[DISPLAY_SVG].len ? f[DISPLAY_SVG].data : NULL, .html = f[DISPLAY_HTML].data,
        .png = f[DISPLAY_PNG].len ? f[DISPLAY_PNG].data : NULL, .png_bytes = f[DISPLAY_PNG].len,
        .width = d->width, .height = d->height, .result = d->result
    };
    r->locked = true;
    errno = EIO;
    bool ok = r->display(r->shown_to, &forms) == 0;
    r->locked = false;
    return ok;
}

API void ricci_display(Ricci *r, RicciDisplay display, void *user)
{
    if (!r || r->locked)
        return;
    out_flush(r->in);
    r->display = display;
    r->shown_to = user;
    r->host.display = display ? host_display : NULL;
}

static void show_forms(Interp *in, Display *d, void *task)
{
    d->result = true;
    show_display(in, d, *(const Value *)task);
}

static void show_body(Ricci *r, void *task)
{
    if (r->result.tag <= V_NONE)
        return;
    if (!r->display)
        err_raise(&r->in->ctx, ERR_VALUE, "ricci_show: there is no display function");
    display_make(r->in, show_forms, task);
}

API int ricci_show(Ricci *r)
{
    return api_call(r, show_body, r ? &r->result : NULL);
}

API void ricci_output(Ricci *r, RicciWrite write, void *user)
{
    if (!r || r->locked)
        return;
    out_flush(r->in);
    r->write = write;
    r->user = user;
}

/* A failure before, in the program, was an error of it already. */
void api_flush(Ricci *r)
{
    Interp *in = r->in;
    if (in->out_failed || !in->out.len)
        return;
    out_flush(in);
    if (in->out_failed)
        err_raise(&in->ctx, ERR_IO, "cannot write what was printed: %s", c_strerror(errno));
}

/* ---- life ---- */
API const char *ricci_version(void)
{
    return RICCI_VERSION;
}

API Ricci *ricci_open(void)
{
    Ricci *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->in = interp_open();
    if (!r->in) {
        free(r);
        return NULL;
    }
    r->host = (Host){ .write = host_write, .exit_code = -1 };
    r->in->host = &r->host;
    r->users = 1;
    buf_init(&r->text, &r->in->ctx);
    buf_init(&r->shown, &r->in->ctx);
    buf_init(&r->report, &r->in->ctx);
    return r;
}

API void ricci_close(Ricci *r)
{
    if (!r || r->depth || r->locked)
        return;
    Ctx *ctx = &r->in->ctx;
    api_forget_error(r);
    api_blocks_drop(r, 0);
    while (r->values)
        ricci_free(r->values);
    v_release(ctx, r->result);
    out_flush(r->in);
    api_drain(r);
    api_exports_settle(r);
    buf_free(&r->text);
    buf_free(&r->shown);
    buf_free(&r->report);
    interp_end(r->in);
    api_ops_free(r);
    api_unuse(r);
}

API void ricci_memory_limit(Ricci *r, size_t bytes)
{
    MemAccount machine = { 0 };
    if (!r)
        return;
    if (!bytes) {
        Ctx fresh = { .mem = machine };
        mem_init(&fresh);
        bytes = fresh.mem.limit;
    }
    r->in->ctx.mem.limit = bytes;
}

/* Nothing but the flag: signal handlers come here. */
API void ricci_interrupt(Ricci *r)
{
    if (r)
        atomic_store(&r->in->no_interrupt, 1);
}

API void ricci_interrupt_clear(Ricci *r)
{
    if (r)
        atomic_store(&r->in->no_interrupt, 0);
}

/* ---- evaluating ---- */
typedef struct Evaluation {
    const char *name, *text;     /* text NULL: the file `name` */
    size_t bytes;
} Evaluation;

static void set_result(Ricci *r, Value v)
{
    Value old = r->result;
    r->result = v;
    v_release(&r->in->ctx, old);
}

/* A program that runs holds the functions of its calls without counting them. Those that a nested
 * evaluation gives up stay until the program ends. Returns where they are kept. */
static uint32_t keep_functions(Ricci *r)
{
    Interp *in = r->in;
    const Module *m = in->main;
    if (!r->replaced)
        r->replaced = tuple_new(&in->ctx, 0);
    tuple_push(&in->ctx, &r->replaced, NULL, v_tuple(tuple_new(&in->ctx, 0)));
    uint32_t place = r->replaced->count - 1;
    for (uint32_t i = 0; i < m->globals.count; i++)
        if (m->slots[i].tag == V_FUNCTION)
            tuple_push(&in->ctx, &r->replaced->items[place].tuple, NULL, v_retain(m->slots[i]));
    return place;
}

/* Nothing was given up: nothing is kept. */
static void let_functions_go(Ricci *r, uint32_t place)
{
    Value kept = r->replaced->items[place];
    for (uint32_t i = 0; i < kept.tuple->count; i++)
        if (*kept.tuple->items[i].refs == 1)
            return;
    r->replaced->items[place] = v_none();
    r->replaced->count -= place == r->replaced->count - 1;
    v_release(&r->in->ctx, kept);
}

static void level_end(Ricci *r, ApiLevel *level)
{
    r->level = level->up;
    if (!level->up)
        return;
    r->in->main->globals.hidden_base = level->base;
    let_functions_go(r, level->kept);
}

/* What the text means does not depend on the scope or the device block that the program which
 * called C was in, only on those that the host holds open itself. Comprehensions of that program
 * keep their hidden slots. */
static Value evaluate(Ricci *r, const Evaluation *e)
{
    Interp *in = r->in;
    ApiLevel level = { .up = r->level };
    Globals *names = &in->main->globals;
    Guard outer;
    guard_enter(in, &outer);
    if (level.up) {
        if (!level.up->hidden)
            level.up->hidden = names->hidden_count;
        level.base = names->hidden_base;
        level.kept = keep_functions(r);
        names->hidden_base = level.up->hidden;
    }
    r->level = &level;
    in->scope = r->scope;
    in->place = r->place;
    ErrFrame frame;
    if (!ERR_TRY(&in->ctx, &frame)) {
        level_end(r, &level);
        err_rethrow(&in->ctx);
    }
    Value v = module_run_source(in, in->main,
                                e->text ? source_new(&in->ctx, e->name, e->text, e->bytes)
                                        : source_read(&in->ctx, e->name));
    ERR_END(&in->ctx, &frame);
    level_end(r, &level);
    in->scope = outer.scope;
    in->place = outer.place;
    return v;
}

static void eval_body(Ricci *r, void *task)
{
    const Evaluation *e = task;
    Interp *in = r->in;
    set_result(r, v_undef());
    if (r->depth == 1)
        r->host.exit_code = -1;
    poll_interrupt(in);
    set_result(r, evaluate(r, e));
    api_flush(r);
}

static void flush_body(Ricci *r, void *task)
{
    (void)task;
    out_flush(r->in);
}

/* What a program printed before its error goes out too. */
static int eval_run(Ricci *r, Evaluation *e)
{
    int status = api_call(r, eval_body, e);
    if (status && r && !r->depth && !r->locked && r->in->out.len)
        api_run(r, flush_body, NULL);
    return status;
}

static void missing_body(Ricci *r, void *task)
{
    err_raise(&r->in->ctx, ERR_VALUE, "%s: NULL is no text", (const char *)task);
}

API int ricci_eval(Ricci *r, const char *text)
{
    return ricci_eval_named(r, "<text>", text, text ? strlen(text) : 0);
}

API int ricci_eval_named(Ricci *r, const char *name, const char *text, size_t bytes)
{
    Evaluation e = { name ? name : "<text>", text, bytes };
    return text ? eval_run(r, &e) : api_call(r, missing_body, (void *)"ricci_eval");
}

API int ricci_run(Ricci *r, const char *path)
{
    Evaluation e = { path, NULL, 0 };
    return path ? eval_run(r, &e) : api_call(r, missing_body, (void *)"ricci_run");
}

static void result_body(Ricci *r, void *task)
{
    (void)task;
    if (r->result.tag > V_NONE)
        show_value(r->in, &r->shown, r->result);
}

API const char *ricci_result(Ricci *r)
{
    if (!r)
        return "";
    buf_clear(&r->shown);
    if (r->result.tag <= V_NONE || api_run(r, result_body, NULL) != 0)
        return "";
    return buf_cstr(&r->shown);
}

API int ricci_exit_code(Ricci *r)
{
    return r ? r->host.exit_code : -1;
}

static void value_body(Ricci *r, void *task)
{
    Value v = r->result.tag == V_UNDEF ? v_none() : v_retain(r->result);
    *(RicciValue **)task = api_hold(r, v);
}

API RicciValue *ricci_value(Ricci *r)
{
    RicciValue *v = NULL;
    api_call(r, value_body, &v);
    return v;
}

static void take_body(Ricci *r, void *task)
{
    value_body(r, task);
    set_result(r, v_undef());
}

API RicciValue *ricci_take(Ricci *r)
{
    RicciValue *v = NULL;
    api_call(r, take_body, &v);
    return v;
}
