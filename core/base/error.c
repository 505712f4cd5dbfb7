/* Raising, carrying and rendering errors. An Error owns copies of everything it shows,
 * so unwinding may free whatever raised it. Errors are made with plain malloc: they
 * must be possible when the allocator funnel has just failed. */
#include "core/base/error.h"
#include "core/base/limit.h"

#include "core/system/c_locale.h"
#include "core/base/plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[ERR_KINDS] = {
#define KIND(id, name, meaning) [ERR_##id] = name,
#include "core/base/errors.def"
#undef KIND
};

const char *err_kind_name(ErrKind kind)
{
    return kind_names[kind];
}

static char *format_text(const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = c_vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *text = malloc((size_t)(n < 0 ? 0 : n) + 1);
    if (!text)
        return NULL;
    text[0] = '\0';
    if (n > 0)
        c_vsnprintf(text, (size_t)n + 1, fmt, args);
    return text;
}

/* When not even an error can be allocated, one that says so and owns nothing. */
static Error *err_no_memory(Ctx *ctx)
{
    static _Thread_local Error spent;
    spent = (Error){ .ctx = ctx, .kind = ERR_MEMORY, .no_memory = true,
                     .message = (char *)"not enough memory" };
    return &spent;
}

static Error *err_make(Ctx *ctx, ErrKind kind, const char *fmt, va_list args)
{
    Error *e = calloc(1, sizeof *e);
    if (!e)
        return err_no_memory(ctx);
    e->ctx = ctx;
    e->kind = kind;
    e->message = format_text(fmt, args);
    if (!e->message) {
        free(e);
        return err_no_memory(ctx);
    }
    /* what was thrown stays what it is until it is shown */
    if (strcmp(fmt, "%s") != 0)
        plain_message(e->message, fmt);
    if (ctx->locate)
        ctx->locate(ctx, &e->where);
    source_retain(e->where.source);
    return e;
}

Error *err_new(Ctx *ctx, ErrKind kind, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    Error *e = err_make(ctx, kind, fmt, args);
    va_end(args);
    if (!e->no_memory) {
        e->frame = ctx->frame;
        e->below = ctx->making;
        ctx->making = e;
    }
    return e;
}

Error *err_keep(Error *e)
{
    for (Error **at = &e->ctx->making; *at; at = &(*at)->below)
        if (*at == e) {
            *at = e->below;
            break;
        }
    return e;
}

void err_help(Error *e, const char *fmt, ...)
{
    if (e->no_memory)
        return;
    va_list args;
    va_start(args, fmt);
    free(e->help);
    e->help = format_text(fmt, args);
    va_end(args);
}

void err_at(Error *e, Source *source, Span span)
{
    if (e->no_memory)
        return;
    source_retain(source);
    source_release(e->where.source);
    e->where = (Where){ .source = source, .span = span, .mark = span };
    memset(e->carets, 0, sizeof e->carets);
}

bool err_trace_begin(Error *e, int shown, int total)
{
    e->trace_total = total;
    e->trace = shown > 0 ? calloc((size_t)shown, sizeof *e->trace) : NULL;
    e->trace_cap = e->trace ? shown : 0;
    return e->trace != NULL;
}

void err_trace_add(Error *e, const char *text, Source *source, Span call)
{
    if (e->trace_count < e->trace_cap)
        e->trace[e->trace_count++] = (TraceEntry){ strdup(text), source_retain(source), call };
}

void err_underline(Error *e, int operand)
{
    if (operand >= 0 && operand < e->where.operands)
        e->carets[operand] = true;
}

void err_free(Error *e)
{
    if (!e || e->no_memory)
        return;
    err_keep(e);
    if (e->release)
        e->release(e->ctx, e->payload);
    source_release(e->where.source);
    for (int i = 0; i < e->trace_count; i++) {
        free(e->trace[i].text);
        source_release(e->trace[i].source);
    }
    free(e->trace);
    free(e->message);
    free(e->help);
    free(e->more);
    free(e);
}

/* Hands the error to the innermost frame, which pops itself. */
static _Noreturn void err_unwind(Ctx *ctx)
{
    ErrFrame *frame = ctx->frame;
    if (!frame) {
        fprintf(stderr, "ricci: error outside any frame: %s\n", ctx->error->message);
        abort();
    }
    for (Error *e = ctx->making, *below; e; e = below) {
        below = e->below;
        if (e->frame == frame)
            err_free(e);
    }
    ctx->frame = frame->up;
    longjmp(frame->jump, 1);
}

void err_throw(Error *e)
{
    Ctx *ctx = e->ctx;
    if (ctx->trace && !e->no_memory && !e->trace)
        ctx->trace(ctx, e);
    if (ctx->error != e)
        err_free(ctx->error);
    ctx->error = err_keep(e);
    err_unwind(ctx);
}

void err_rethrow(Ctx *ctx)
{
    err_unwind(ctx);
}

void err_raise(Ctx *ctx, ErrKind kind, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    Error *e = err_make(ctx, kind, fmt, args);
    va_end(args);
    err_throw(e);
}

void err_interrupted(Ctx *ctx)
{
    *ctx->interrupt = 0;
    if (ctx->limit && ctx->limit->out_of_time)
        err_raise(ctx, ERR_INTERRUPT, "this ran longer than --limit seconds=%s",
                  limit_text((char[32]){ 0 }, ctx->limit->seconds));
    if (ctx->limit && ctx->limit->part_over)
        err_raise(ctx, ERR_INTERRUPT, "stopped here after %s s",
                  limit_text((char[32]){ 0 }, ctx->limit->part));
    err_raise(ctx, ERR_INTERRUPT, "interrupted");
}

void err_raise_help(Ctx *ctx, ErrKind kind, const char *help, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    Error *e = err_make(ctx, kind, fmt, args);
    va_end(args);
    if (help)
        err_help(e, "%s", help);
    err_throw(e);
}

/* The user's text of operand i, in the ring; NULL: there is none that is short and on one line. */
static char *operand_span(Ctx *ctx, int i, int *operands)
{
    Where where = { 0 };
    if (ctx->locate)
        ctx->locate(ctx, &where);
    *operands = where.operands;
    Span s = i >= 0 && i < where.operands ? where.operand[i] : (Span){ 0, 0 };
    size_t n = s.to > s.from ? s.to - s.from : 0;
    if (!where.source || n == 0 || n >= 64 || s.to > where.source->len ||
        memchr(where.source->text + s.from, '\n', n))
        return NULL;
    char *text = ctx->operand_text[ctx->operand_next++ % 4];
    snprintf(text, sizeof ctx->operand_text[0], "%.*s", (int)n, where.source->text + s.from);
    return text;
}

const char *err_operand_name(Ctx *ctx, int i)
{
    int operands;
    return operand_span(ctx, i, &operands);
}

const char *err_operand_text(Ctx *ctx, int i)
{
    int operands;
    char *text = operand_span(ctx, i, &operands);
    if (text)
        return text;
    text = ctx->operand_text[ctx->operand_next++ % 4];
    if (operands == 2 && i < 2)
        snprintf(text, sizeof ctx->operand_text[0], "the %s operand", i == 0 ? "left" : "right");
    else
        snprintf(text, sizeof ctx->operand_text[0], "operand %d", i + 1);
    return text;
}

/* An entry without a place that begins with … stands for calls that are left out. */
static void render_trace(Buf *out, const Error *e)
{
    for (int i = 0; i < e->trace_count; i++) {
        const TraceEntry *t = &e->trace[i];
        const char *text = t->text ? t->text : "?";
        bool folded = !t->source && strncmp(text, "…", sizeof "…" - 1) == 0;
        buf_printf(out, "  %s%s", folded ? "" : "in ", text);
        if (t->source) {
            Place p = source_place(t->source, t->span.from);
            buf_printf(out, ", called at %s:%u:%u", t->source->name, p.line, p.column);
        }
        buf_putc(out, '\n');
    }
}

void err_render(Buf *out, const Error *e)
{
    size_t from = out->len;
    buf_printf(out, "error[%s]: %s\n", err_kind_name(e->kind), e->message);
    if (e->where.source) {
        Span spans[WHERE_OPERANDS];
        int count = 0;
        for (int i = 0; i < e->where.operands; i++)
            if (e->carets[i])
                spans[count++] = e->where.operand[i];
        if (count == 0)
            spans[count++] = e->where.mark.to > e->where.mark.from ? e->where.mark : e->where.span;
        source_render(out, e->where.source, spans, count);
    }
    render_trace(out, e);
    if (e->help)
        buf_printf(out, "help: %s\n", e->help);
    if (e->more)
        buf_puts(out, e->more);
    plain_lines(out->data + from);           /* names of files, helps, texts of others */
}

void err_append_line(Error *e, const char *line)
{
    size_t n = e->more ? strlen(e->more) : 0;
    char *grown = e->no_memory ? NULL : realloc(e->more, n + strlen(line) + 2);
    if (!grown)
        return;
    sprintf(grown + n, "%s\n", line);
    e->more = grown;
}

void err_append(Error *first, const Error *next)
{
    if (first->no_memory)
        return;
    Buf text;
    buf_init(&text, first->ctx);
    ErrFrame frame;
    if (!ERR_TRY(first->ctx, &frame)) {
        buf_free(&text);
        err_rethrow(first->ctx);
    }
    if (first->more)
        buf_puts(&text, first->more);
    err_render(&text, next);
    char *more = strdup(buf_cstr(&text));
    ERR_END(first->ctx, &frame);
    buf_free(&text);
    if (more) {
        free(first->more);
        first->more = more;
    }
}

/* Damerau-Levenshtein distance (adjacent transpositions count one), capped at `limit`. */
static int edit_distance(const char *a, const char *b, int limit)
{
    enum { LONGEST = 48 };
    int na = (int)strlen(a), nb = (int)strlen(b);
    if (na > LONGEST || nb > LONGEST || abs(na - nb) > limit)
        return limit + 1;
    int rows[3][LONGEST + 1];
    for (int j = 0; j <= nb; j++)
        rows[0][j] = j;
    for (int i = 1; i <= na; i++) {
        int *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= nb; j++) {
            int d = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < d)
                d = last[j] + 1;
            if (now[j - 1] + 1 < d)
                d = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < d)
                d = before[j - 2] + 1;
            now[j] = d;
        }
    }
    return rows[na % 3][nb];
}

const char *err_closest(const char *text, const char *const *names, size_t count)
{
    int limit = ((int)strlen(text) + 1) / 3;
    const char *best = NULL;
    for (size_t i = 0; i < count; i++) {
        int d = edit_distance(text, names[i], limit);
        if (d > 0 && d <= limit) {
            limit = d - 1;
            best = names[i];
        }
    }
    return best;
}
