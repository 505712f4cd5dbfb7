/* `ricci doc` and `ricci --explain`: help on names, and the stories of the kinds of error. On a
 * terminal what is longer than the screen goes through a pager. */
#include "interp/program/main.h"

#include "builtins/help/help.h"
#include "core/base/plain.h"
#include "interp/session/repl_commands.h"
#include "interp/output/output.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The pager is given the text; without one that runs it is written as it is. */
static bool paged(const char *text, size_t n)
{
    const char *pager = getenv("PAGER");
    char command[1024];
    if (!pager || !*pager)
        pager = "less -FRX";
    if (strcmp(pager, "cat") == 0 ||
        snprintf(command, sizeof command, "%s 2>/dev/null", pager) >= (int)sizeof command)
        return false;
    void (*before)(int) = signal(SIGINT, SIG_IGN);       /* Ctrl-C is the pager's */
    FILE *pipe = popen(command, "w");
    if (pipe)
        fwrite(text, 1, n, pipe);                        /* one that is left early is no error */
    int status = pipe ? pclose(pipe) : -1;
    signal(SIGINT, before);
    return status == 0;
}

/* What $PAGER does, else less; the session's own pages where neither runs. */
static void app_page(App *app, Buf *text)
{
    int height = app->in->show.height, lines = 0;
    for (size_t i = 0; i < text->len; i++)
        lines += text->data[i] == '\n';
    bool long_text = app->in->show.width > 0 && lines >= height && isatty(STDIN_FILENO);
    out_flush(app->in);
    if (!long_text || !paged(buf_cstr(text), text->len))
        repl_page(app->in, text);
}

static void put_doc(App *app, const char *name)
{
    Interp *in = app->in;
    Buf unknown;
    if (help_known(in, name)) {
        if (app->text_out.len)
            buf_putc(&app->text_out, '\n');
        help_show(in, &app->text_out, name);
        return;
    }
    buf_init(&unknown, &in->ctx);
    help_show(in, &unknown, name);
    err_write(in, buf_cstr(&unknown));
    buf_free(&unknown);
    app->status = STATUS_ERROR;
}

void doc_names(App *app)
{
    Buf *text = &app->text_out;
    if (app->options.all)
        help_manual(app->in, text);
    for (int i = 0; i < app->name_count && !app_stopped(app); i++)
        app_guarded(app, put_doc, app->names[i]);
    app_page(app, text);
}

/* ---- --explain ---- */
static void list_kinds(Buf *out)
{
    static const struct { const char *name, *meaning; } kinds[] = {
#define KIND(id, name, meaning) { name, meaning },
#include "core/base/errors.def"
#undef KIND
    };
    buf_puts(out, "The kinds of error; ricci --explain KIND tells more.\n");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        buf_printf(out, "  %-10s %s\n", kinds[i].name, kinds[i].meaning);
}

static void put_kind(App *app, const char *name)
{
    Buf *out = &app->text_out;
    const char *names[ERR_KINDS];
    char kind[32], line[128];
    size_t n = strlen(name);
    /* `error[shape]`, as it is printed, will do. */
    if (strncmp(name, "error[", 6) == 0 && name[n - 1] == ']')
        snprintf(kind, sizeof kind, "%.*s", (int)n - 7, name + 6);
    else
        snprintf(kind, sizeof kind, "%s", name);
    if (out->len)
        buf_putc(out, '\n');
    if (help_kind(app->in, out, kind))
        return;
    for (int i = 0; i < ERR_KINDS; i++)
        names[i] = err_kind_name((ErrKind)i);
    const char *close = err_closest(kind, names, ERR_KINDS);
    snprintf(line, sizeof line, "there is no kind of error '%s'%s%s%s", kind,
             close ? "; did you mean " : "", close ? close : "",
             close ? "?" : "; ricci --explain lists them");
    err_write(app->in, plain_line(line));
    app->status = STATUS_ERROR;
}

void explain_kinds(App *app)
{
    Buf *text = &app->text_out;
    if (app->name_count == 0)
        list_kinds(text);
    for (int i = 0; i < app->name_count && !app_stopped(app); i++)
        app_guarded(app, put_kind, app->names[i]);
    app_page(app, text);
}
