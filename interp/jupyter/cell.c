/* A cell: an entry of the session that is named <cell:N>. What it prints and shows is published as
 * it comes, its error as the prompt would report it, in colours. */
#include "interp/jupyter/kernel.h"

#include "builtins/pictures/picture.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "interp/eval/module.h"
#include "interp/output/report.h"
#include "interp/session/repl_signals.h"
#include "interp/show/show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { REPORT_WIDTH = 100 };

/* ---- what a cell writes ---- */
static Kernel *kernel_of(Host *host)
{
    return (Kernel *)((char *)host - offsetof(Kernel, host));
}

bool cell_write(Host *host, int stream, const char *text, size_t n)
{
    Kernel *k = kernel_of(host);
    if (k->silent || !k->now || n == 0)
        return true;
    errno = EIO;
    return queue_text(&k->queue, stream, k->now->header, text, n, k->in->ctx.interrupt) ||
           *k->in->ctx.interrupt;
}

static void put_form(JsonWriter *w, const char *type, const Buf *form)
{
    if (form->len == 0)
        return;
    json_key(w, type);
    json_put_text(w, form->data, form->len);
}

/* `"data": {…}, "metadata": {…}` of a thing in several forms. */
static void put_bundle(Kernel *k, JsonWriter *w, const Display *d)
{
    Buf base;
    ErrFrame frame;
    const Buf *png = &d->form[DISPLAY_PNG];
    buf_init(&base, &k->in->ctx);
    if (!ERR_TRY(&k->in->ctx, &frame)) {
        buf_free(&base);
        err_rethrow(&k->in->ctx);
    }
    if (png->len)
        picture_base64(&base, (const uint8_t *)png->data, png->len);
    json_key(w, "data");
    json_open(w, '{');
    json_key(w, "text/plain");
    json_put_text(w, d->form[DISPLAY_TEXT].data, d->form[DISPLAY_TEXT].len);
    put_form(w, "text/latex", &d->form[DISPLAY_LATEX]);
    put_form(w, "text/html", &d->form[DISPLAY_HTML]);
    put_form(w, "image/svg+xml", &d->form[DISPLAY_SVG]);
    put_form(w, "image/png", &base);
    json_close(w, '}');
    json_key(w, "metadata");
    json_open(w, '{');
    if (png->len) {
        json_key(w, "image/png");
        json_open(w, '{');
        json_key(w, "width");
        json_put_int(w, d->width);
        json_key(w, "height");
        json_put_int(w, d->height);
        json_close(w, '}');
    }
    json_close(w, '}');
    ERR_END(&k->in->ctx, &frame);
    buf_free(&base);
}

bool cell_display(Host *host, const Display *d)
{
    Kernel *k = kernel_of(host);
    if (k->silent || !k->now)
        return true;
    JsonWriter w = kernel_content(k);
    put_bundle(k, &w, d);
    if (d->result) {
        json_key(&w, "execution_count");
        json_put_int(&w, k->count);
        buf_clear(&k->shown);
        buf_put(&k->shown, d->form[DISPLAY_TEXT].data, d->form[DISPLAY_TEXT].len);
    } else {
        json_key(&w, "transient");
        json_open(&w, '{');
        json_close(&w, '}');
    }
    json_close(&w, '}');
    kernel_publish(k, d->result ? "execute_result" : "display_data");
    return true;
}

static void show_result(Interp *in, Display *d, void *value)
{
    d->result = true;
    show_display(in, d, *(const Value *)value);
}

static void echo(Repl *r, Value v)
{
    display_make(r->in, show_result, &v);
}

/* Help goes beside the document: a payload of the reply. */
static void page(Repl *r, const Buf *text)
{
    Kernel *k = (Kernel *)((char *)r - offsetof(Kernel, repl));
    JsonWriter w = { &k->pages, k->pages.len > 0 };
    json_open(&w, '{');
    json_pair(&w, "source", "page");
    json_key(&w, "data");
    json_open(&w, '{');
    put_form(&w, "text/plain", text);
    json_close(&w, '}');
    json_key(&w, "start");
    json_put_int(&w, 0);
    json_close(&w, '}');
}

static void clear(Repl *r)
{
    Kernel *k = (Kernel *)((char *)r - offsetof(Kernel, repl));
    if (k->silent)
        return;
    JsonWriter w = kernel_content(k);
    json_key(&w, "wait");
    json_put_bool(&w, false);
    json_close(&w, '}');
    kernel_publish(k, "clear_output");
}

const ReplDocument cell_document = { page, echo, clear };

/* ---- running it ---- */
/* Lines at its front that are commands are entries of their own, as they are at the prompt. */
static void run_lines(Kernel *k, char *text)
{
    Repl *r = &k->repl;
    int number = k->count - 1;
    char *kept = paste_take(text, strlen(text), repl_is_entry, r);
    if (kept) {                                    /* onto the scratch of the session */
        buf_clear(&r->entry);
        buf_puts(&r->entry, kept);
        free(kept);
        text = r->entry.data;
    }
    while (*text) {
        char *line = text + strspn(text, " \t\n"), *end = line + strcspn(line, "\n");
        char was = *end;
        *end = '\0';
        bool command = *line && repl_is_command(r, line);
        r->number = number;
        if (!command) {
            *end = was;
            repl_run_text(r, text);
            return;
        }
        repl_run_text(r, line);
        text = was ? end + 1 : end;
    }
}

/* The error just caught as `ename`, `evalue`, `traceback`; it is freed. */
static void put_error(Kernel *k, JsonWriter *w)
{
    Ctx *ctx = &k->in->ctx;
    Error *e = ctx->error;
    Buf text, styled;
    ErrFrame frame;
    ctx->error = NULL;
    buf_init(&text, ctx);
    buf_init(&styled, ctx);
    bool ok = ERR_TRY(ctx, &frame);
    if (ok) {
        err_render(&text, e);
        report_style(&styled, buf_cstr(&text), REPORT_WIDTH, true);
        json_pair(w, "ename", err_kind_name(e->kind));
        json_pair(w, "evalue", e->message);
        json_key(w, "traceback");
        json_open(w, '[');
        for (char *line = styled.data, *end; line && *line; line = *end ? end + 1 : end) {
            end = strchrnul(line, '\n');
            json_put_text(w, line, (size_t)(end - line));
        }
        json_close(w, ']');
        ERR_END(ctx, &frame);
    }
    buf_free(&text);
    buf_free(&styled);
    err_free(e);
    if (!ok)
        err_rethrow(ctx);
}

/* False: it raised, and the error waits in ctx->error. */
static bool run_guarded(Kernel *k, void (*body)(Kernel *, void *), void *task)
{
    Interp *in = k->in;
    Guard guard;
    volatile bool ok = false;
    k->host.exit_code = -1;
    signals_forget();
    signals_at_prompt(false);
    k->running = true;
    guard_enter(in, &guard);
    if (ERR_TRY(&in->ctx, &guard.frame)) {
        body(k, task);
        ERR_END(&in->ctx, &guard.frame);
        ok = true;
    } else {
        guard_restore(in, &guard);
    }
    k->running = false;
    signals_forget();
    signals_settled();                             /* its timer would end a sleep() of the next */
    signals_at_prompt(true);
    repl_forget_source(&k->repl);
    if (!ok && k->host.exit_code >= 0) {           /* exit(): what it asked for is done below */
        err_free(in->ctx.error);
        in->ctx.error = NULL;
        k->repl.quit = true;
        ok = true;
    }
    return ok;
}

static void run_body(Kernel *k, void *text)
{
    run_lines(k, text);
    out_flush(k->in);
    poll_interrupt(k->in);           /* a call in C that an interrupt has cut short */
}

/* What was printed before an error comes first; no failure to write it matters any more. */
static void flush_quietly(Kernel *k)
{
    out_flush(k->in);
    k->in->out_failed = false;
}

/* ---- what is asked beside it ---- */
typedef struct Expression { const char *text; JsonWriter *w; } Expression;

static void show_value_of(Interp *in, Display *d, void *value)
{
    show_display(in, d, *(const Value *)value);
}

static void evaluate(Kernel *k, void *task)
{
    Expression *e = task;
    Interp *in = k->in;
    Display d;
    ErrFrame frame;
    Value v = module_run_source(in, in->main,
                                source_new(&in->ctx, "<expression>", e->text, strlen(e->text)));
    v_push(in, v);
    display_init(&d, in);
    if (!ERR_TRY(&in->ctx, &frame)) {
        display_free(&d);
        err_rethrow(&in->ctx);
    }
    show_value_of(in, &d, &v);
    json_open(e->w, '{');
    json_pair(e->w, "status", "ok");
    put_bundle(k, e->w, &d);
    json_close(e->w, '}');
    ERR_END(&in->ctx, &frame);
    display_free(&d);
    stack_cut(in, in->sp - 1);
}

/* Each is evaluated, and fails, by itself. */
static void put_expressions(Kernel *k, JsonWriter *w, const JsonValue *asked)
{
    json_key(w, "user_expressions");
    json_open(w, '{');
    for (const JsonValue *e = asked && asked->kind == JSON_OBJECT ? asked->first : NULL; e;
         e = e->next) {
        json_key(w, e->key);
        size_t from = w->out->len;
        if (run_guarded(k, evaluate, &(Expression){ json_string(e, ""), w }))
            continue;
        w->out->len = from;                        /* the half of an answer */
        w->comma = false;
        json_open(w, '{');
        json_pair(w, "status", "error");
        put_error(k, w);
        json_close(w, '}');
    }
    json_close(w, '}');
}

/* ---- history ---- */
static void past_forget(Past *p)
{
    free(p->input);
    free(p->output);
    *p = (Past){ 0 };
}

void past_free(Kernel *k)
{
    for (int i = 0; i < k->past_count; i++)
        past_forget(&k->past[i]);
    free(k->past);
    k->past = NULL;
    if (k->read_file)
        history_close();
}

/* The newest PAST_MOST are kept; of what a cell showed, the beginning. */
static void past_add(Kernel *k, const char *input)
{
    if (!k->past && !(k->past = calloc(PAST_MOST, sizeof *k->past)))
        return;
    bool full = k->past_count == PAST_MOST;
    Past *p = &k->past[full ? k->past_from : k->past_count];
    if (full)
        k->past_from = (k->past_from + 1) % PAST_MOST;
    else
        k->past_count++;
    past_forget(p);
    size_t n = k->shown.len < PAST_OUTPUT ? k->shown.len : PAST_OUTPUT;
    *p = (Past){ strdup(input), n ? strndup(k->shown.data, n) : NULL, k->count };
}

/* ---- the request ---- */
typedef struct Asked {
    const char *code;
    bool silent, store, stop;
    const JsonValue *expressions;
} Asked;

static void publish_input(Kernel *k, const char *code)
{
    JsonWriter w = kernel_content(k);
    json_pair(&w, "code", code);
    json_key(&w, "execution_count");
    json_put_int(&w, k->count);
    json_close(&w, '}');
    kernel_publish(k, "execute_input");
}

/* The error is published as it will stand in the reply. */
static void put_failure(Kernel *k, JsonWriter *w)
{
    size_t from = k->content.len;
    put_error(k, w);
    if (k->silent)
        return;
    Buf content;
    ErrFrame frame;
    Ctx *ctx = &k->in->ctx;
    buf_init(&content, ctx);
    if (ERR_TRY(ctx, &frame)) {
        bool comma = k->content.data[from] == ',';
        buf_printf(&content, "{%s}", k->content.data + from + comma);
        ERR_END(ctx, &frame);
        queue_message(&k->queue, WAY_PUBLISH, NULL, "error", k->now->header, (Frame){ 0 },
                      (Frame){ content.data, content.len });
    } else {
        err_free(ctx->error);
        ctx->error = NULL;
    }
    buf_free(&content);
}

static void put_payload(Kernel *k, JsonWriter *w)
{
    json_key(w, "payload");
    json_open(w, '[');
    if (k->pages.len)
        json_put_raw(w, k->pages.data, k->pages.len);
    if (k->repl.quit) {
        json_open(w, '{');
        json_pair(w, "source", "ask_exit");
        json_key(w, "keepkernel");
        json_put_bool(w, false);
        json_close(w, '}');
    }
    json_close(w, ']');
    k->repl.quit = false;
}

static void swap_reply(Kernel *k)
{
    Buf content = k->content;
    k->content = k->reply;
    k->reply = content;
}

static void execute(Kernel *k, const Asked *a, char *code)
{
    if (!a->silent)
        publish_input(k, a->code);
    bool ok = run_guarded(k, run_body, code);
    flush_quietly(k);
    if (!ok) {
        Error *e = k->in->ctx.error;
        repl_keep_error(&k->repl);
        k->in->ctx.error = e;
    }
    JsonWriter w = kernel_content(k);
    json_pair(&w, "status", ok ? "ok" : "error");
    json_key(&w, "execution_count");
    json_put_int(&w, k->count);
    if (!ok)
        put_failure(k, &w);
    if (ok) {
        swap_reply(k);                             /* what they show goes through the content */
        w.out = &k->reply;
        put_expressions(k, &w, a->expressions);
        swap_reply(k);
        w.out = &k->content;
        buf_clear(&k->metadata);
    } else {
        put_expressions(k, &w, NULL);
    }
    put_payload(k, &w);
    json_close(&w, '}');
    if (a->store)
        past_add(k, a->code);
    if (!ok && a->stop && !k->by_control)
        kernel_take_queued(k);
    kernel_reply(k, "execute_reply");
}

void cell_execute(Kernel *k)
{
    const JsonValue *c = k->now->content;
    const JsonValue *code = json_get(c, "code");
    Asked a = { .code = json_string(code, ""), .silent = json_truth(json_get(c, "silent"), false),
                .stop = json_truth(json_get(c, "stop_on_error"), true),
                .expressions = json_get(c, "user_expressions") };
    a.store = !a.silent && json_truth(json_get(c, "store_history"), true);
    k->silent = a.silent;
    k->count += a.store;
    buf_clear(&k->pages);
    buf_clear(&k->shown);
    Buf text;
    ErrFrame frame;
    Ctx *ctx = &k->in->ctx;
    buf_init(&text, ctx);
    if (!ERR_TRY(ctx, &frame)) {
        buf_free(&text);
        k->silent = false;
        err_rethrow(ctx);
    }
    buf_puts(&text, a.code);
    buf_cstr(&text);
    execute(k, &a, text.data ? text.data : (char[1]){ 0 });
    ERR_END(ctx, &frame);
    buf_free(&text);
    k->silent = false;
}

void cell_abort(Kernel *k)
{
    JsonWriter w = kernel_content(k);
    json_pair(&w, "status", "aborted");
    json_key(&w, "execution_count");
    json_put_int(&w, k->count);
    json_close(&w, '}');
    kernel_reply(k, "execute_reply");
}
