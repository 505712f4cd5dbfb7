/* `ricci fmt`: files as canonical text, printed, rewritten, checked or compared. */
#include "interp/program/main.h"
#include "interp/output/output.h"

#include "core/system/c_locale.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIFF_LINES = 200, DIFF_AROUND = 2 };

/* What the text would become: all changes, or the first line that differs. */
static void show_change(App *app, const char *path, const Source *source, const Buf *text)
{
    Text out = { 0 };
    bool colours = output_colours(1);
    Lines old = lines_of(source->text, source->len), made = lines_of(text->data, text->len);
    if (app->options.diff) {
        Diff diff = diff_lines(&old, &made, &line_exact);
        text_plain(&out, "%s\n", path);
        diff_show(&out, &diff, &old, &made, "", DIFF_AROUND, DIFF_LINES, 1, colours);
        diff_free(&diff);
    } else {
        size_t i = 0;
        while (i < old.count && i < made.count &&
               line_exact.equal(NULL, old.at[i], old.len[i], made.at[i], made.len[i]))
            i++;
        text_plain(&out, "%s:%zu: is not in canonical form\n", path, i + 1);
        if (i < old.count)
            text_plain(&out, "  - %.*s\n", (int)old.len[i], old.at[i]);
        if (i < made.count)
            text_plain(&out, "  + %.*s\n", (int)made.len[i], made.at[i]);
    }
    out_write(app->in, out.data, out.len);
    lines_free(&old);
    lines_free(&made);
    text_free(&out);
    app->failed++;
    app->status = STATUS_ERROR;
}

static void format_file(App *app, const char *path)
{
    Interp *in = app->in;
    Buf *text = &app->text_out;
    const Options *o = &app->options;
    buf_clear(text);
    Source *source = app->source = app_read_source(in, path);
    app->chunk = parse_source(&in->ctx, &in->names, source);
    print_chunk(text, app->chunk);
    bool same = text->len == source->len && memcmp(buf_cstr(text), source->text, text->len) == 0;
    if (o->check || o->diff) {
        if (!same)
            show_change(app, path, source, text);
    } else if (!o->in_place || strcmp(path, "-") == 0) {
        out_write(in, buf_cstr(text), text->len);
    } else if (!same && !text_write(path, buf_cstr(text), text->len)) {
        err_raise(&in->ctx, ERR_IO, "cannot write \"%s\": %s", path, c_strerror(errno));
    }
}

static void visit(void *with, const char *path)
{
    App *app = with;
    if (!app_stopped(app))
        app_guarded(app, format_file, path);
}

void format_files(App *app)
{
    const Options *o = &app->options;
    if (o->in_place || o->check || o->diff) {
        if (!files_each(app->names, app->name_count, ".ric", visit, app) && app->status == 0)
            app->status = STATUS_ERROR;
    } else {
        for (int i = 0; i < app->name_count; i++)
            visit(app, app->names[i]);
    }
    if (o->check && app->failed > 0) {
        char line[96];
        snprintf(line, sizeof line, "%d file%s would change; ricci fmt -w rewrites %s", app->failed,
                 app->failed == 1 ? "" : "s", app->failed == 1 ? "it" : "them");
        err_write(app->in, line);
    }
}
