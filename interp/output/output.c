/* What a program writes: buffered standard output, standard error, notices. Everything
 * printed goes through out_write, so its order with stderr is kept: stdout is flushed
 * before anything is written there. A failed write (a full disk, a closed pipe) ends the
 * program with an `io` error once; what cannot be written is dropped, never retried for
 * ever. */
#include "interp/output/output.h"

#include "core/system/c_locale.h"
#include "core/base/limit.h"
#include "core/base/mem.h"
#include "core/base/plain.h"
#include "core/memory/progress.h"
#include "interp/output/report.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* FLOOD: more bytes than a terminal shows at once; nobody waits for their end. */
enum { OUT_BUFFER = 1 << 16, FLOOD = 1 << 13, NOTICES_MAX = 1000 };

/* stop: what Ctrl-C sets; the rest of the text is dropped then. */
static bool write_bytes(int fd, const char *text, size_t n, InterruptFlag *stop)
{
    while (n > 0 && !(stop && *stop)) {
        ssize_t done = write(fd, text, n);
        if (done > 0) {
            text += done;
            n -= (size_t)done;
        } else if (done < 0 && errno == EAGAIN) {
            struct pollfd ready = { .fd = fd, .events = POLLOUT };
            poll(&ready, 1, -1);
        } else if (done == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* Whoever read has gone: a program ends as those do that SIGPIPE ends, wherever it is. */
void output_note_closed(Interp *in)
{
    if (errno != EPIPE || in->host)
        return;
    in->out_closed = in->out_failed = true;
    *in->ctx.interrupt = 1;
}

/* Writes all of it; false with errno set when that is impossible. */
static bool write_all(Interp *in, int fd, const char *text, size_t n)
{
    if (in->host)
        return in->host->write(in->host, fd, text, n);
    progress_write_begin(&in->ctx);
    bool flood = fd == STDOUT_FILENO && in->show.width > 0 && n > FLOOD;
    bool ok = write_bytes(fd, text, n, flood ? in->ctx.interrupt : NULL);
    int why = errno;
    progress_write_end(&in->ctx, n > 0 && text[n - 1] == '\n');
    errno = why;
    if (!ok)
        output_note_closed(in);
    return ok;
}

/* Empties the buffer onto stdout; false, with errno set, the first time that fails. */
static bool flush(Interp *in)
{
    bool ok = in->out_failed || write_all(in, STDOUT_FILENO, in->out.data, in->out.len);
    in->out.len = 0;
    in->out_failed |= !ok;
    return ok;
}

void out_flush(Interp *in)
{
    if (in->out.len > 0 && !flush(in) && !in->host && !in->out_closed)
        fprintf(stderr, "ricci: cannot write to standard output: %s\n", c_strerror(errno));
}

/* Between programs, where no frame is, exit says it. */
static void out_check(Interp *in, bool ok)
{
    if (in->out_closed && in->ctx.frame)
        poll_interrupt(in);
    if (!ok && in->ctx.frame)
        err_raise(&in->ctx, ERR_IO, "cannot write to standard output: %s",
                  limit_why(&in->ctx, errno, (char[96]){ 0 }));
}

bool out_begins(Interp *in)
{
    if (in->out_mute)
        return false;
    if (in->out_heading) {
        buf_printf(&in->out, "%s:\n", in->out_heading);
        in->out_heading = NULL;
    }
    return true;
}

void out_write(Interp *in, const char *text, size_t n)
{
    bool terminal = in->show.width > 0;
    if (n > 0 ? !out_begins(in) : in->out_mute)
        return;
    if (n >= OUT_BUFFER) {
        out_check(in, in->out.len == 0 || flush(in));
        bool ok = in->out_failed || write_all(in, STDOUT_FILENO, text, n);
        in->out_failed |= !ok;
        out_check(in, ok);
        return;
    }
    buf_put(&in->out, text, n);
    bool now = (terminal && memchr(text, '\n', n)) || (in->host && in->host->live);
    if (in->out.len >= OUT_BUFFER || now)
        out_check(in, flush(in));
}

void err_put(Interp *in, const char *text)
{
    out_flush(in);
    write_all(in, STDERR_FILENO, text, strlen(text));
}

void err_write(Interp *in, const char *text)
{
    size_t n = strlen(text);
    err_put(in, text);
    if (n == 0 || text[n - 1] != '\n')
        write_all(in, STDERR_FILENO, "\n", 1);
}

int output_status(const Interp *in, int status)
{
    return in->out_closed ? 128 + SIGPIPE : in->out_failed && status == 0 ? 1 : status;
}

/* ---- errors ---- */
void err_report(Interp *in)
{
    Error *error = in->ctx.error;
    ErrFrame frame;
    Buf text, styled;
    int width = report_width();
    buf_init(&text, &in->ctx);
    buf_init(&styled, &in->ctx);
    in->ctx.error = NULL;                          /* ours, whatever happens below */
    out_flush(in);
    if (in->out_closed) {
        err_free(error);
        return;
    }
    if (ERR_TRY(&in->ctx, &frame)) {
        err_render(&text, error);
        if (width > 0)
            report_style(&styled, buf_cstr(&text), width, in->show.color);
        ERR_END(&in->ctx, &frame);
        err_write(in, buf_cstr(width > 0 ? &styled : &text));
    } else {                                       /* no memory to render it */
        char line[512];
        snprintf(line, sizeof line, "error[%s]: %s\n", err_kind_name(error->kind),
                 error->message);
        err_write(in, plain_lines(line));
    }
    buf_free(&styled);
    buf_free(&text);
    err_free(error);
}

/* ---- notices ---- */
/* Was this text already written for this place? Remembers it if not. The list is bounded:
 * a program whose notices never repeat is told so once. */
static bool notice_seen(Interp *in, const char *text)
{
    if (in->notice_count >= NOTICES_MAX)             /* one more, once that was said */
        return true;
    for (uint32_t i = 0; i < in->notice_count; i++)
        if (strcmp(in->notices[i], text) == 0)
            return true;
    uint32_t cap = in->notice_cap;
    if (in->notice_count == cap) {
        uint32_t grown = cap ? 2 * cap : 16;
        size_t each = sizeof *in->notices;
        in->notices = mem_realloc(&in->ctx, in->notices, cap * each, grown * each);
        in->notice_cap = grown;
    }
    in->notices[in->notice_count] = mem_strdup(&in->ctx, text);
    in->notice_count++;
    return false;
}

/* A notice must be possible when the account is at its limit: then it may repeat. */
static bool notice_is_new(Interp *in, const char *text)
{
    volatile bool seen = false;
    ErrFrame frame;
    if (ERR_TRY(&in->ctx, &frame)) {
        seen = notice_seen(in, text);
        ERR_END(&in->ctx, &frame);
    }
    return !seen;
}

bool output_first(Interp *in, const char *key)
{
    return notice_is_new(in, key);
}

/* A new notice, laid out for the terminal if there is one. */
static void notice_write(Interp *in, const char *line)
{
    ErrFrame frame;
    Buf styled;
    int width = report_width();
    buf_init(&styled, &in->ctx);
    if (width > 0 && ERR_TRY(&in->ctx, &frame)) {
        report_style(&styled, line, width, in->show.color);
        ERR_END(&in->ctx, &frame);
    }
    err_write(in, styled.len > 0 ? buf_cstr(&styled) : line);
    buf_free(&styled);
}

/* `notice: text (file.ric:3)`. */
void notice_from_ctx(Ctx *ctx, const char *text)
{
    Interp *in = (Interp *)ctx;
    Where where = { 0 };
    char place[256] = "", *line = NULL;
    if (in->out_mute || in->no_notices)
        return;
    if (ctx->locate)
        ctx->locate(ctx, &where);
    where_leave_stdlib(in, &where);
    if (where.source)
        snprintf(place, sizeof place, " (%s:%u)", where.source->name,
                 source_place(where.source, where.span.from).line);
    if (asprintf(&line, "notice: %s%s\n", text, place) < 0)
        return;
    plain_lines(line);
    if (notice_is_new(in, line))
        notice_write(in, line);
    if (in->notice_count == NOTICES_MAX && in->notice_cap) {
        err_write(in, "notice: further notices are not shown\n");
        in->notice_count++;
    }
    free(line);
}

void notice(Interp *in, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    int n = c_vasprintf(&text, fmt, args);
    va_end(args);
    if (n < 0)
        return;
    notice_from_ctx(&in->ctx, plain_message(text, fmt));
    free(text);
}

void output_free(Interp *in)
{
    for (uint32_t i = 0; i < in->notice_count && i < NOTICES_MAX; i++)
        mem_free(&in->ctx, in->notices[i], strlen(in->notices[i]) + 1);
    if (in->notices)
        mem_free(&in->ctx, in->notices, in->notice_cap * sizeof *in->notices);
    in->notices = NULL;
    in->notice_cap = 0;
    in->notice_count = 0;
    buf_free(&in->out);
}

bool output_colours(int fd)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    return isatty(fd) && term && strcmp(term, "dumb") != 0 && !(no_color && *no_color);
}

void output_measure_terminal(Interp *in)
{
    in->show.color = output_colours(STDERR_FILENO);
    in->show.width = in->show.height = 0;
    if (in->host)
        in->show.color = false;
    if (in->host || !isatty(STDOUT_FILENO))
        return;
    in->show.width = 80;
    in->show.height = 24;
    output_measure_window(in);
}

void output_measure_window(Interp *in)
{
    struct winsize size;
    if (in->show.width == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return;
    in->show.width = size.ws_col;
    in->show.height = size.ws_row;
}

const char *seconds_text(char *out, size_t cap, double seconds)
{
    static const struct { double unit; const char *name; } units[] = {
        { 1e-9, "ns" }, { 1e-6, "µs" }, { 1e-3, "ms" }, { 1, "s" }
    };
    int i = 0;
    while (i < 3 && seconds / units[i].unit >= 999.5)     /* what %.3g would round up to 1e+03 */
        i++;
    c_snprintf(out, cap, "%.3g %s", seconds / units[i].unit, units[i].name);
    return out;
}
