/* Output, values as text, the process and text files. */
#include "builtins/stored/files.h"
#include "builtins/help/help.h"
#include "builtins/strings/text.h"
#include "core/system/c_locale.h"

#include "core/base/error.h"
#include "core/base/limit.h"
#include "interp/output/cells.h"
#include "interp/output/output.h"
#include "interp/output/report.h"
#include "interp/show/show.h"
#include "kernels/device/device.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- text of values ---- */
static void put_shown(Interp *in, Buf *out, void *v) { show_value(in, out, *(Value *)v); }
static void put_repr(Interp *in, Buf *out, void *v) { show_repr(in, out, *(Value *)v); }

Value op_run_repr(OpCall *c) { return text_build(c->in, put_repr, &c->args[0]); }

Value op_run_string(OpCall *c)
{
    if (c->args[0].tag == V_STRING)
        return v_retain(c->args[0]);
    return text_build(c->in, put_shown, &c->args[0]);
}

typedef struct Formatted { Value v; const Str *spec; } Formatted;

static void put_formatted(Interp *in, Buf *out, void *arg)
{
    const Formatted *f = arg;
    format_value(in, out, f->v, f->spec ? f->spec->text : "", f->spec ? f->spec->len : 0);
}

/* format("latex", digits=3, dots=true), and format() back to the beginning. */
static Value set_format(OpCall *c)
{
    Interp *in = c->in;
    bool style = c->args[0].tag != V_UNDEF, digits = c->args[2].tag != V_UNDEF,
         dots = c->args[3].tag != V_UNDEF;
    bool back = !style && !digits && !dots;
    int64_t places = digits ? arg_int(c, 2) : back ? SHOW_DIGITS : in->show.digits;
    bool dotted = dots ? arg_bool(c, 3, false) : !back && in->show.dots;
    if (digits)
        show_check_digits(in, places);
    if (style && !show_set_style(in, arg_str(c, 0)->text)) {
        char help[160];
        snprintf(help, sizeof help, "the formats are %s; string(x) gives a value's text",
                 show_style_names);
        arg_error_help(c, 0, ERR_VALUE, help, "there is no format \"%.40s\" to print in",
                       arg_str(c, 0)->text);
    }
    if (back)
        in->show.style = SHOW_PLAIN;
    in->show.digits = (int)places;
    in->show.dots = dotted;
    return v_none();
}

Value op_run_format(OpCall *c)
{
    bool spec = c->args[1].tag != V_UNDEF,
         settings = c->args[2].tag != V_UNDEF || c->args[3].tag != V_UNDEF;
    bool value = c->args[0].tag != V_UNDEF && (spec || c->args[0].tag != V_STRING);
    if (value && settings) {
        int which = c->args[2].tag != V_UNDEF ? 2 : 3;
        arg_error_help(c, which, ERR_TYPE, "format(x, \".5g\") formats one value",
                       "%s= sets how tensors print from now on; it does not go with a value",
                       which == 2 ? "digits" : "dots");
    }
    if (spec && !value)
        err_raise(&c->in->ctx, ERR_TYPE, "format is missing its argument x: format(x, \".3f\")");
    if (!value)
        return set_format(c);
    return text_build(c->in, put_formatted,
                      &(Formatted){ c->args[0], spec ? arg_str(c, 1) : NULL });
}

/* ---- the process ---- */
Value op_run_time(OpCall *c)
{
    (void)c;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return v_float((double)now.tv_sec + (double)(now.tv_nsec / 1000) * 1e-6);
}

Value op_run_args(OpCall *c)
{
    Interp *in = c->in;
    Tuple *t = tuple_new(&in->ctx, (uint32_t)(in->argc > 0 ? in->argc : 0));
    op_root(c, v_tuple(t));
    for (int i = 0; i < in->argc; i++)
        t->items[i] = v_str(str_new(&in->ctx, in->argv[i], strlen(in->argv[i])));
    return v_retain(v_tuple(t));
}

Value op_run_env(OpCall *c)
{
    const char *value = getenv(arg_str(c, 0)->text);
    if (value)
        return v_str(str_new(&c->in->ctx, value, strlen(value)));
    return c->args[1].tag == V_UNDEF ? v_none() : v_retain(c->args[1]);
}

Value op_run_exit(OpCall *c)
{
    int64_t code = arg_given(c, 0) ? arg_int(c, 0) : 0;
    if (code < 0 || code > 255)
        arg_error(c, 0, ERR_VALUE, "an exit code is from 0 to 255, not %lld", (long long)code);
    if (c->in->host) {
        c->in->host->exit_code = (int)code;
        err_raise(&c->in->ctx, ERR_INTERRUPT, "the program called exit(%d)", (int)code);
    }
    out_flush(c->in);
    tempdir_remove(&c->in->tempdir);
    devices_free(&c->in->ctx);          /* drivers crash a process that ends with work under way */
    exit(output_status(c->in, (int)code));
}

Value op_run_warn(OpCall *c)
{
    notice(c->in, "%s", arg_str(c, 0)->text);
    return v_none();
}

/* What comes next to the terminal is written over the line, unless it stays. */
static void put_progress(Interp *in, Buf *out, void *call)
{
    (void)in;
    const Str *message = arg_str(call, 0);
    cells_put(out, message->text, message->len, report_width() - 1, 0);
    buf_puts(out, arg_bool(call, 1, false) ? "\033[K\n" : "\033[K\r");
}

Value op_run_progress(OpCall *c)
{
    Interp *in = c->in;
    arg_str(c, 0);
    arg_bool(c, 1, false);
    if (report_width() > 0 && !in->no_notices && !in->out_mute)
        err_put(in, op_root(c, text_build(in, put_progress, c)).str->text);
    return v_none();
}

Value op_run_notices(OpCall *c)
{
    Interp *in = c->in;
    bool shown = !in->no_notices;
    if (arg_given(c, 0) && c->args[0].tag != V_NONE)
        in->no_notices = !arg_bool(c, 0, true);
    return v_bool(shown);
}

Value op_run_help(OpCall *c)
{
    Interp *in = c->in;
    if (!out_begins(in))
        return v_none();
    if (arg_given(c, 0))
        help_value(in, &in->out, c->args[0]);
    else
        help_show(in, &in->out, "");
    out_write(in, "", 0);
    return v_none();
}

Value op_run_tempdir(OpCall *c)
{
    TempDir *t = &c->in->tempdir;
    if (!tempdir_make(t))
        err_raise(&c->in->ctx, ERR_IO, "cannot make a folder for temporary files: %s",
                  c_strerror(errno));
    return v_str(str_new(&c->in->ctx, t->path, strlen(t->path)));
}

/* ---- text files ---- */
static Str *text_file(OpCall *c)
{
    const char *path = file_find(c, arg_str(c, 0));
    Str *text = file_read(c, path);
    size_t bad = utf8_check(text->text, text->len);
    if (bad < text->len)
        file_error(c, path, "byte %zu is not UTF-8 text", bad);
    return text;
}

Value op_run_read(OpCall *c) { return v_retain(v_str(text_file(c))); }

Value op_run_lines(OpCall *c)
{
    Interp *in = c->in;
    Str *text = text_file(c);
    op_root(c, v_tuple(tuple_new(&in->ctx, 0)));
    Tuple **lines = &in->sp[-1].tuple;
    for (size_t from = 0; from < text->len;) {
        const char *line = text->text + from, *newline = memchr(line, '\n', text->len - from);
        size_t len = newline ? (size_t)(newline - line) : text->len - from;
        from += len + 1;
        len -= len > 0 && line[len - 1] == '\r' ? 1 : 0;
        tuple_push(&in->ctx, lines, NULL, v_str(str_new(&in->ctx, line, len)));
    }
    return v_retain(v_tuple(*lines));
}

Value op_run_write(OpCall *c)
{
    Str *path = arg_str(c, 0), *text = arg_str(c, 1);
    if (strlen(path->text) != path->len)
        arg_error(c, 0, ERR_IO, "the path contains a NUL byte");
    FilePart part = { text->text, text->len };
    if (arg_bool(c, 2, false))
        file_append(c, path->text, &part);
    else
        file_replace(c, path->text, &part, 1);
    return v_none();
}
