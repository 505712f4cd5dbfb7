/* The interactive session: entries are read until they are complete, run as a source of their own
 * (<repl:3>), and their values echoed. An error or Ctrl-C ends the entry, never the session, and
 * every variable keeps its value. Lines come from repl_line.c. */
#include "core/system/ascii.h"
#include "interp/session/repl_commands.h"
#include "interp/session/repl_complete.h"

#include "core/base/mem.h"
#include "core/memory/progress.h"
#include "interp/output/output.h"
#include "interp/output/verdict.h"
#include "interp/session/repl_signals.h"
#include "interp/show/show.h"
#include "interp/eval/module.h"
#include "kernels/device/device.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A failure to render it leaves the error as it is, to be shown in short. */
void repl_keep_error(Repl *r)
{
    Ctx *ctx = &r->in->ctx;
    Error *error = ctx->error;
    ErrFrame frame;
    buf_clear(&r->error);
    r->error_kind = (int)error->kind;
    if (ERR_TRY(ctx, &frame)) {
        err_render(&r->error, error);
        ERR_END(ctx, &frame);
    } else {
        err_free(ctx->error);
    }
    ctx->error = error;
}

/* Runs body under a catch point; reports an error. Returns whether there was none. */
static bool guarded(Repl *r, void (*body)(Repl *, const char *), const char *argument)
{
    Interp *in = r->in;
    Guard guard;
    guard_enter(in, &guard);
    if (!ERR_TRY(&in->ctx, &guard.frame)) {
        guard_restore(in, &guard);
        progress_stop(&in->ctx);
        repl_keep_error(r);
        err_report(in);
        return false;
    }
    body(r, argument);
    ERR_END(&in->ctx, &guard.frame);
    progress_stop(&in->ctx);
    return true;
}

/* ---- running an entry ---- */
/* Does a statement of this kind show its value? Statements that make or do something
 * stay silent, as in Python; a block shows what its last statement would. */
static bool echoes(const Node *n)
{
    switch ((NodeKind)n->kind) {
    case ND_ASSIGN: case ND_OPASSIGN: case ND_DEFINE: case ND_FN: case ND_TEST: case ND_IMPORT:
    case ND_FOR: case ND_WHILE: case ND_ASSERT: case ND_EXTERN: case ND_COMPARE_BLOCK:
    case ND_EXPLAIN: case ND_PROFILE:
        return false;
    case ND_BLOCK:
        return n->count > 0 && echoes(n->list[n->count - 1]);
    case ND_IF:
        for (uint32_t i = 1; i < n->count; i += 2)
            if (echoes(n->list[i]))
                return true;
        return echoes(n->b) || (n->c && echoes(n->c));
    case ND_TRY:
        return echoes(n->a);
    case ND_PRECISION: case ND_ON: case ND_AUTOCAST:
        return echoes(n->b);
    case ND_LAZY:
        return echoes(n->a);
    default:
        return true;
    }
}

static bool wants_echo(const Chunk *chunk)
{
    const Node *root = chunk->root;
    if (root->count == 0)
        return false;
    const Node *last = root->list[root->count - 1];
    return !(last->flags & NF_SEMICOLON) && echoes(last);
}

static void set_ans(Interp *in, Value v)
{
    Module *m = in->main;
    uint32_t slot = globals_slot(&m->globals, names_intern(&in->names, "ans", 3));
    Value old = m->slots[slot], older = in->ans;
    m->slots[slot] = v_retain(v);
    in->ans = v_retain(v);
    v_release(&in->ctx, old);
    v_release(&in->ctx, older);
}

static void echo(Repl *r, Value v)
{
    Interp *in = r->in;
    output_measure_terminal(in);
    show_echo(in, &in->out, v);
    buf_putc(&in->out, '\n');
}

/* The tests of an entry run after its other statements, until Ctrl-C. */
static void run_tests(Repl *r, int from)
{
    Interp *in = r->in;
    bool go_on = true;
    for (int i = from; go_on && i < module_test_count(in->main); i++) {
        double start = device_clock();
        if (module_test_run(in, in->main, i)) {
            verdict_passed(in, NULL, module_test_name(in->main, i), device_clock() - start, false);
            continue;
        }
        go_on = in->ctx.error->kind != ERR_INTERRUPT;
        verdict_failed(in, NULL, module_test_name(in->main, i), "");
        repl_keep_error(r);
        err_report(in);
    }
}

void repl_forget_source(Repl *r)
{
    if (r->chunk)
        module_end_chunk(r->in, r->in->main, r->chunk);
    if (r->source)
        source_release(r->source);
    r->chunk = NULL;
    r->source = NULL;
}

/* Runs the text of an entry in the main module and echoes its value. The entry before it is ended:
 * a cell that begins with commands is several. */
static void repl_run_entry(Repl *r, const char *text)
{
    Interp *in = r->in;
    char name[32];
    repl_forget_source(r);
    snprintf(name, sizeof name, "<%s:%d>", r->document ? "cell" : "repl", ++r->number);
    progress_start(&in->ctx, text);
    r->source = source_new(&in->ctx, name, text, strlen(text));
    r->chunk = parse_source(&in->ctx, &in->names, r->source);
    bool shown = wants_echo(r->chunk);
    int tests = module_test_count(in->main);
    double start = device_clock();
    Value v = run_chunk(in, in->main, r->chunk);
    r->seconds = device_clock() - start;
    v_push(in, v);
    r->echoed = shown && v.tag != V_NONE && v.tag != V_UNDEF;
    if (r->echoed) {
        set_ans(in, v);
        if (r->document)
            r->document->echo(r, v);
        else
            echo(r, v);
    }
    stack_cut(in, in->sp - 1);
    run_tests(r, tests);
}

/* ---- reading ---- */
/* Only lines of `##`: the help text of the definition that follows. */
static bool is_help_text(const char *text)
{
    for (; *text; text += *text == '\n') {
        text += strspn(text, " \t");
        if (strncmp(text, "##", 2) != 0)
            return false;
        text += strcspn(text, "\n");
    }
    return true;
}

/* `|b|`, `5!`, `<1, 2>`: what looks like an operator that waits for its operand, and no operand
 * makes a program of it. */
static bool is_hopeless(Repl *r, const char *text, size_t len)
{
    Ctx *ctx = &r->in->ctx;
    Span open;
    while (len > 0 && strchr(" \t\n", text[len - 1]))
        len--;
    if (len == 0 || !strchr("|!>", text[len - 1]) || parse_is_open(ctx, text, len, &open))
        return false;
    Buf more;
    buf_init(&more, ctx);
    buf_printf(&more, "%.*s x", (int)len, text);
    bool program = parse_accepts(ctx, &r->in->names, more.data, more.len);
    buf_free(&more);
    return !program;
}

/* A `try` without its `catch` is no program; the `catch` may stand on the next line. An empty line
 * ends it. */
static bool waits_for_catch(Repl *r, const char *text, size_t len)
{
    Ctx *ctx = &r->in->ctx;
    if (len == 0 || text[len - 1] != '}' || !strstr(text, "try"))
        return false;
    Buf more;
    buf_init(&more, ctx);
    buf_printf(&more, "%.*s catch e { }", (int)len, text);
    bool waits = parse_accepts(ctx, &r->in->names, more.data, more.len) &&
                 !parse_accepts(ctx, &r->in->names, text, len);
    buf_free(&more);
    return waits;
}

bool repl_is_entry(void *repl, const char *text, size_t len)
{
    Repl *r = repl;
    const char *start = text + strspn(text, " \t\n");
    if (*start && text[len - 1] != '\n' && is_help_text(start))
        return false;
    return !*start || repl_is_command(r, start) ||
           (!parse_incomplete(&r->in->ctx, text, len) && !waits_for_catch(r, text, len)) ||
           is_hopeless(r, text, len);
}

/* Returns false at the end of input. */
static bool read_entry(Repl *r)
{
    LineStatus status;
    do {
        buf_clear(&r->entry);
        status = entry_read(r->in, repl_is_entry, r, &r->entry);
    } while (status == LINE_INTERRUPTED);
    return status == LINE_READ;
}

void repl_run_logged(Repl *r, const char *text)
{
    repl_run_entry(r, text);
    repl_log(r, text, strlen(text), r->chunk, r->echoed);
}

void repl_run_text(Repl *r, char *text)
{
    size_t n = strlen(text);
    while (n > 0 && ascii_space(text[n - 1]))
        text[--n] = '\0';
    text += strspn(text, " \t");
    if (!text[0] || repl_command(r, text))
        return;
    buf_clear(&r->last);
    buf_puts(&r->last, text);
    repl_run_logged(r, text);
}

/* One turn: false at the end of the session. */
static void turn(Repl *r, const char *argument)
{
    (void)argument;
    if (!read_entry(r)) {
        r->quit = true;
        return;
    }
    signals_settled();
    if (r->entry.len > 0)
        repl_run_text(r, r->entry.data);
}

#ifndef RICCI_VERSION
#define RICCI_VERSION "0.1.0"
#endif
/* What a first line can say in the terminal's width. */
static void greet(Repl *r)
{
    output_measure_terminal(r->in);
    bool narrow = r->in->show.width < 78;
    repl_say(r, "Ricci " RICCI_VERSION);
    repl_say(r, narrow ? "   ? for a first look\n"
                       : "   ? for a first look, :help for commands, ?svd for help on svd\n"
                         "              TAB completes, Ctrl-C stops what runs, Ctrl-D leaves\n");
}

static void each_text(Repl *r, void (*each)(Buf *, Ctx *))
{
    Buf *const texts[] = { &r->entry, &r->log, &r->marks, &r->last, &r->page, &r->rows, &r->rest,
                           &r->error };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        each(texts[i], &r->in->ctx);
}

static void free_text(Buf *text, Ctx *ctx)
{
    (void)ctx;
    buf_free(text);
}

void repl_begin(Repl *r, Interp *in, const ReplHelp *help)
{
    *r = (Repl){ .in = in, .help = help, .error_kind = -1 };
    each_text(r, buf_init);
}

void repl_end(Repl *r)
{
    each_text(r, free_text);
}

int repl_run(Interp *in, const ReplHelp *help)
{
    Repl r;
    repl_begin(&r, in, help);
    r.terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    entry_open(in, r.terminal);
    complete_with(help);
    if (r.terminal)
        greet(&r);
    while (!r.quit && !in->out_failed) {
        guarded(&r, turn, NULL);
        repl_forget_source(&r);
        out_flush(in);
    }
    entry_close();
    complete_close();
    repl_end(&r);
    return 0;
}
