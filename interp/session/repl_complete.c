/* TAB at the prompt: asks repl_spot.c what stands at the cursor and repl_candidates.c what could,
 * gives readline the texts, and shows the list with what each one is. Readline calls it; its
 * callbacks take no argument, so what they share is kept here. Nothing runs the user's code. */
#include "interp/session/repl_complete.h"

#include "interp/output/cells.h"
#include "interp/state/exec.h"
#include "interp/op/op.h"
#include "interp/output/output.h"
#include "interp/session/repl_commands.h"
#include "interp/show/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define _FUNCTION_DEF        /* readline's old typedef Function would clash with ours */
#include <readline/readline.h>

enum { MATCHES_MAX = 1 << 23, ASK_FROM = 100 };

static struct Complete {
    Interp *in;
    const ReplHelp *help;
    Candidates found;            /* of the last TAB: what the list shows */
    size_t told;                 /* 1 + where the cursor stood when a whole word was told of */
} complete;

/* ---- notes ---- */
/* What a candidate is, in a line: `2×2 f64`, `f(a, b=2)`, the first line of its help. */
static void put_note(Interp *in, Buf *out, const Candidate *c)
{
    char text[96];
    const char *help = c->op ? c->op->help : NULL;
    if (c->note) {                             /* an accent needs a letter to stand on */
        bool accent = *c->note && text_width(c->note, strlen(c->note)) == 0;
        buf_printf(out, "%s%s", accent ? "x" : "", c->note);
    } else if (c->op) {
        buf_puts(out, op_signature(in, c->op, true));
        if (help)
            buf_printf(out, "  %.*s", (int)strcspn(help, "\n"), help);
    } else if (c->v.tag == V_FUNCTION || c->v.tag == V_CFUNC || c->v.tag == V_OP) {
        candidates_signature(in, out, c->v);
    } else if (c->v.tag != V_UNDEF) {
        buf_puts(out, v_describe(c->v, text, sizeof text));
        if (c->v.tag < V_STRING) {
            buf_puts(out, " = ");
            show_repr(in, out, c->v);
        }
    }
}

/* ---- the list ---- */
static const char *shown(const Candidate *c)
{
    return c->shown ? c->shown : c->text;
}

static int width_of(const Candidates *c)
{
    int width = 0;
    for (size_t i = 0; i < c->count; i++) {
        int w = text_width(shown(&c->items[i]), strlen(shown(&c->items[i])));
        width = w > width ? w : width;
    }
    return width;
}

/* One below the other, each with what it is. */
static void put_lines(Interp *in, Buf *out, const Candidates *c, int width)
{
    int names = width_of(c);
    names = names > width / 2 ? width / 2 : names;
    Buf note;
    buf_init(&note, &in->ctx);
    for (size_t i = 0; i < c->count; i++) {
        const char *name = shown(&c->items[i]);
        size_t from = out->len;
        cells_put(out, name, strlen(name), names, 'l');
        buf_clear(&note);
        put_note(in, &note, &c->items[i]);
        if (note.len > 0) {
            buf_puts(out, in->show.color ? "  \033[2m" : "  ");
            cells_put(out, buf_cstr(&note), note.len, width - names - 3, 0);
            buf_puts(out, in->show.color ? "\033[0m" : "");
        }
        while (out->len > from && out->data[out->len - 1] == ' ')
            out->data[--out->len] = '\0';
        buf_putc(out, '\n');
    }
    buf_free(&note);
}

/* Names alone, in columns that are read downwards. */
static void put_columns(Buf *out, const Candidates *c, int width)
{
    size_t cell = (size_t)width_of(c) + 2;
    size_t columns = cell < (size_t)width ? (size_t)width / cell : 1;
    size_t rows = (c->count + columns - 1) / columns;
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = row; i < c->count; i += rows) {
            const char *name = shown(&c->items[i]);
            bool last = i + rows >= c->count;
            cells_put(out, name, strlen(name), last ? width - 1 : (int)cell, last ? 0 : 'l');
        }
        buf_putc(out, '\n');
    }
}

/* No memory for a list or a signature: what there is of it is shown. */
static void forget_error(Interp *in)
{
    err_free(in->ctx.error);
    in->ctx.error = NULL;
}

/* Many are shown only if that is wanted. */
static bool asked(size_t count)
{
    if (count < ASK_FROM)
        return true;
    fprintf(rl_outstream, "Display all %zu possibilities? (y or n)", count);
    fflush(rl_outstream);
    int key;
    do {
        key = repl_key(complete.in);
    } while (key && !strchr("yYnNq \t\r\n\033\177", key));
    fprintf(rl_outstream, "\n");
    fflush(rl_outstream);
    return key && strchr("yY \t\r\n", key);
}

static void show_list(char **matches, int count, int max)
{
    Interp *in = complete.in;
    const Candidates *c = &complete.found;
    Buf text;
    ErrFrame frame;
    (void)matches, (void)count, (void)max;
    entry_below_begin();
    output_measure_terminal(in);
    int width = in->show.width > 0 ? in->show.width : SHOW_WIDTH;
    buf_init(&text, &in->ctx);
    bool wanted = asked(c->count);
    if (wanted && ERR_TRY(&in->ctx, &frame)) {
        if ((int)c->count < in->show.height - 2)
            put_lines(in, &text, c, width);
        else
            put_columns(&text, c, width);
        if (text.len > 0)
            text.data[--text.len] = '\0';      /* the last newline is entry_below_end's */
        fflush(rl_outstream);
        repl_page(in, &text);
        out_flush(in);
        ERR_END(&in->ctx, &frame);
    } else if (wanted) {
        forget_error(in);
    }
    buf_free(&text);
    entry_below_end();
}

/* ---- the signature ---- */
/* The argument of `text`, a signature, in which the cursor stands: by name, else by place. */
static Span current_argument(const char *text, const Spot *spot, const char *entry)
{
    const char *open = strchr(text, '(');
    const char *given = entry + spot->argument + strspn(entry + spot->argument, " \t\n");
    size_t name = 0;
    int place = 0, depth = 0;
    while (repl_in_name(given[name]))
        name++;
    bool named = name > 0 && given[name] == '=' && given[name + 1] != '=';
    for (const char *at = open ? open + 1 : ""; *at && *at != ')';) {
        const char *end = at;
        while (*end && (depth > 0 || (*end != ',' && *end != ')'))) {
            depth += (*end == '(') - (*end == ')');
            end++;
        }
        at += strspn(at, " ");
        bool star = end == at + 1 && *at == '*';
        bool variadic = end - at > 3 && strncmp(end - 3, "...", 3) == 0;
        bool here = named ? strncmp(at, given, name) == 0 && strchr("=,)", at[name])
                          : !star && (place == spot->position ||
                                      (variadic && place <= spot->position));
        if (here)
            return (Span){ (uint32_t)(at - text), (uint32_t)(end - text) };
        if (star && !named)
            break;
        place += !star;
        at = *end == ',' ? end + 1 : end;
    }
    return (Span){ 0, 0 };
}

/* `svd(A, *, full=false)` with the argument at the cursor in bold, or a line of carets below it. */
static void put_signature(Interp *in, Buf *out, const char *text, Span mark)
{
    if (in->show.color && mark.to > mark.from) {
        buf_printf(out, "%.*s\033[1;4m%.*s\033[0m%s", (int)mark.from, text,
                   (int)(mark.to - mark.from), text + mark.from, text + mark.to);
        return;
    }
    buf_puts(out, text);
    if (mark.to == mark.from)
        return;
    buf_putc(out, '\n');
    buf_fill(out, ' ', (size_t)text_width(text, mark.from));
    buf_fill(out, '^', (size_t)text_width(text + mark.from, mark.to - mark.from));
}

/* The help of a function in one line, or NULL. */
static const char *first_line(Value v)
{
    return v.tag == V_OP ? v.op->help : v.tag == V_FUNCTION ? v.fn->code->node->text : NULL;
}

static void write_signature(Interp *in, Buf *out, Value v, const char *entry, const Spot *spot)
{
    Buf text;
    buf_init(&text, &in->ctx);
    candidates_signature(in, &text, v);
    const char *signature = buf_cstr(&text), *help = first_line(v);
    Span mark = spot ? current_argument(signature, spot, entry) : (Span){ 0, 0 };
    int width = in->show.width > 0 ? in->show.width : SHOW_WIDTH;
    put_signature(in, out, signature, mark);
    show_fold(out, 0, width - 1);
    if (help) {
        buf_puts(out, "\n  ");
        cells_put(out, help, strcspn(help, "\n"), width - 3, 0);
    }
    buf_free(&text);
}

/* Shows what the callee takes; false: it is no function. spot NULL: no argument is current. */
static bool show_signature(Value v, const char *entry, const Spot *spot)
{
    Interp *in = complete.in;
    ErrFrame frame;
    Buf text;
    if (v.tag != V_OP && v.tag != V_FUNCTION && v.tag != V_CFUNC)
        return false;
    buf_init(&text, &in->ctx);
    entry_below_begin();
    output_measure_terminal(in);
    if (ERR_TRY(&in->ctx, &frame)) {
        write_signature(in, &text, v, entry, spot);
        ERR_END(&in->ctx, &frame);
        fputs(buf_cstr(&text), rl_outstream);
    } else {
        forget_error(in);
    }
    entry_below_end();
    buf_free(&text);
    return true;
}

/* ---- what readline gets ---- */
/* How many bytes all candidates begin with, whole characters. */
static size_t common(const Candidates *c)
{
    const char *first = c->items[0].text;
    size_t n = strlen(first);
    for (size_t i = 1; i < c->count; i++) {
        size_t k = 0;
        while (k < n && c->items[i].text[k] == first[k])
            k++;
        n = k;
    }
    while (n > 0 && (first[n] & 0xC0) == 0x80)
        n--;
    return n;
}

static char *joined(const char *text, size_t from, const char *rest, size_t len)
{
    char *whole = malloc(from + len + 1);
    if (whole) {
        memcpy(whole, text, from);
        memcpy(whole + from, rest, len);
        whole[from + len] = '\0';
    }
    return whole;
}

/* What follows a word that is whole: a blank after a command, the quotation mark after a file. */
static int ending(const Spot *spot, size_t cursor, const char *whole)
{
    bool folder = whole[strlen(whole) - 1] == '/';
    if (spot->kind == SPOT_COMMAND && !rl_line_buffer[cursor])
        return ' ';
    bool string = spot->kind == SPOT_STRING || spot->kind == SPOT_RAW;
    char quote = string ? rl_line_buffer[spot->from - 1] : 0;
    return folder || quote == rl_line_buffer[cursor] ? 0 : quote;
}

/* For readline a completion replaces the whole text before the cursor: so words end where
 * repl_spot.c says. The first is what all have in common, and no less than was typed. */
static char **matches(const char *text, const Spot *spot, size_t cursor, const Candidates *c)
{
    size_t from = spot->from;
    size_t fitting = MATCHES_MAX / (from + 32), n = c->count < fitting ? c->count : fitting;
    char **list = calloc(n + 2, sizeof *list);
    if (!list || n == 0) {
        free(list);
        return NULL;
    }
    size_t len = c->count == 1 ? strlen(c->items[0].text) : common(c);
    bool shorter = c->count > 1 && len < cursor - from;
    list[0] = shorter ? joined(text, from, text + from, cursor - from)
                      : joined(text, from, c->items[0].text, len);
    if (c->count == 1 && list[0])
        rl_completion_append_character = ending(spot, cursor, list[0]);
    for (size_t i = 0; c->count > 1 && i < n; i++)
        list[i + 1] = joined(text, from, c->items[i].text, strlen(c->items[i].text));
    return list;
}

/* What stands there already, as what TAB completes it to: else readline rings the bell. */
static char **nothing_more(const char *text)
{
    char **list = rl_completion_type == '\t' ? calloc(2, sizeof *list) : NULL;
    if (list)
        list[0] = strdup(text);
    if (list && !list[0]) {
        free(list);
        return NULL;
    }
    return list;
}

/* A word that is whole already, and nothing longer: what it is, in a line below. */
static bool show_whole(const char *text, const Spot *spot, size_t cursor)
{
    const Candidate *c = complete.found.items;
    if (complete.found.count != 1 || strlen(c->text) != cursor - spot->from ||
        strncmp(c->text, text + spot->from, cursor - spot->from) != 0)
        return false;
    if (show_signature(c->op ? v_op(c->op) : c->v, text, NULL))
        return true;
    if (c->v.tag != V_UNDEF)
        show_list(NULL, 1, 0);
    return c->v.tag != V_UNDEF;
}

/* Readline's entry; it may not complete file names of its own accord afterwards. */
static char **attempt(const char *text, int start, int end)
{
    (void)start;
    size_t cursor = (size_t)end;
    Spot spot = spot_find(rl_line_buffer, cursor);
    rl_attempted_completion_over = 1;
    rl_completion_append_character = '\0';
    candidates_free(&complete.found);
    if (spot.kind == SPOT_INDENT) {
        rl_insert_text("    ");
        return NULL;
    }
    bool again = rl_last_func == rl_complete, empty = spot.from == cursor;
    const char *entry = rl_line_buffer;
    if (spot.kind == SPOT_NAME && empty && !again &&
        show_signature(candidates_callee(complete.in, entry, &spot), entry, &spot))
        return nothing_more(text);
    candidates_find(complete.in, complete.help, rl_line_buffer, cursor, &spot, &complete.found);
    bool names = spot.kind == SPOT_NAME || spot.kind == SPOT_MEMBER;
    bool told = again && complete.told == cursor + 1;
    complete.told = 0;
    if (complete.found.count == 0)
        return NULL;
    if (names && (told || show_whole(rl_line_buffer, &spot, cursor))) {
        complete.told = cursor + 1;
        return told ? NULL : nothing_more(text);
    }
    return matches(text, &spot, cursor, &complete.found);
}

void complete_open(Interp *in)
{
    complete.in = in;
    rl_attempted_completion_function = attempt;
    rl_completion_display_matches_hook = show_list;
    rl_completer_word_break_characters = (char *)"";
    rl_basic_quote_characters = "";
    rl_sort_completion_matches = 0;
    rl_ignore_completion_duplicates = 0;
}

void complete_with(const ReplHelp *help)
{
    complete.help = help;
}

void complete_close(void)
{
    candidates_free(&complete.found);
}
