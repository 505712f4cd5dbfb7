/* What a client asks about code that is being written: what could stand there, what a name is,
 * whether it is whole, what ran before. */
#include "interp/jupyter/kernel.h"

#include "core/base/error.h"
#include "core/system/ascii.h"
#include "interp/session/repl_complete.h"
#include "interp/state/exec.h"
#include "interp/show/show.h"
#include "parser/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- code points and bytes ---- */
static size_t byte_of(const char *text, int64_t point)
{
    size_t at = 0;
    while (text[at] && point > 0) {
        at++;
        while (((unsigned char)text[at] & 0xC0) == 0x80)
            at++;
        point--;
    }
    return at;
}

static __attribute__((noinline)) int64_t point_of(const char *text, size_t byte)
{
    int64_t n = 0;
    for (size_t i = 0; i < byte && text[i]; i++)
        n += ((unsigned char)text[i] & 0xC0) != 0x80;
    return n;
}

static size_t cursor_of(const JsonValue *content, const char *code)
{
    const JsonValue *at = json_get(content, "cursor_pos");
    return byte_of(code, at ? json_int(at, 0) : INT64_MAX);
}

/* ---- complete ---- */
static const char *type_of(const Candidate *c)
{
    if (c->op || c->v.tag == V_FUNCTION || c->v.tag == V_OP || c->v.tag == V_CFUNC)
        return "function";
    if (c->v.tag == V_MODULE)
        return "module";
    if (c->v.tag != V_UNDEF)
        return "instance";
    return c->note && *c->note ? c->note : "name";
}

static void put_types(Kernel *k, JsonWriter *w, const Candidates *c, int64_t from, int64_t to)
{
    Buf signature;
    ErrFrame frame;
    Ctx *ctx = &k->in->ctx;
    buf_init(&signature, ctx);
    if (!ERR_TRY(ctx, &frame)) {
        buf_free(&signature);
        err_rethrow(ctx);
    }
    for (size_t i = 0; i < c->count; i++) {
        const Candidate *one = &c->items[i];
        Value v = one->op ? v_op(one->op) : one->v;
        buf_clear(&signature);
        candidates_signature(k->in, &signature, v);
        json_open(w, '{');
        json_key(w, "start");
        json_put_int(w, from);
        json_key(w, "end");
        json_put_int(w, to);
        json_pair(w, "text", one->text);
        json_pair(w, "type", type_of(one));
        json_pair(w, "signature", buf_cstr(&signature));
        json_close(w, '}');
    }
    ERR_END(ctx, &frame);
    buf_free(&signature);
}

void ask_complete(Kernel *k)
{
    const char *code = json_string(json_get(k->now->content, "code"), "");
    size_t cursor = cursor_of(k->now->content, code);
    Spot spot = spot_find(code, cursor);
    Candidates found = { 0 };
    ErrFrame frame;
    if (spot.kind != SPOT_NOTHING && spot.kind != SPOT_INDENT)
        candidates_find(k->in, k->repl.help, code, cursor, &spot, &found);
    const int64_t to = point_of(code, cursor);
    const int64_t from = found.count ? point_of(code, spot.from) : to;
    if (!ERR_TRY(&k->in->ctx, &frame)) {
        candidates_free(&found);
        err_rethrow(&k->in->ctx);
    }
    JsonWriter w = kernel_content(k);
    json_pair(&w, "status", "ok");
    json_key(&w, "matches");
    json_open(&w, '[');
    for (size_t i = 0; i < found.count; i++)
        json_put_string(&w, found.items[i].text);
    json_close(&w, ']');
    json_key(&w, "cursor_start");
    json_put_int(&w, from);
    json_key(&w, "cursor_end");
    json_put_int(&w, to);
    json_key(&w, "metadata");
    json_open(&w, '{');
    json_key(&w, "_jupyter_types_experimental");
    json_open(&w, '[');
    put_types(k, &w, &found, from, to);
    json_close(&w, ']');
    json_close(&w, '}');
    json_close(&w, '}');
    ERR_END(&k->in->ctx, &frame);
    candidates_free(&found);
    kernel_reply(k, "complete_reply");
}

/* ---- inspect ---- */
static bool in_path(char c)
{
    return repl_in_name(c) || c == '.';
}

/* The name at the cursor, with what it is a member of; else the one before the parenthesis that the
 * cursor stands in. Its length; 0: there is none. */
static size_t name_at(const char *code, size_t cursor, size_t *from)
{
    size_t to = cursor;
    *from = cursor;
    while (*from > 0 && in_path(code[*from - 1]))
        --*from;
    while (code[to] && repl_in_name(code[to]))
        to++;
    while (*from < to && (ascii_digit(code[*from]) || code[*from] == '.'))
        ++*from;
    if (to > *from)
        return to - *from;
    Spot spot = spot_find(code, cursor);
    *from = spot.callee;
    return spot.callee_len;
}

enum { SHOWN_LINES = 12, SHOWN_BYTES = 2000 };

/* The first lines of a text; says that there are more. */
static void put_start(Buf *out, const char *text)
{
    size_t n = 0;
    for (int lines = 0; text[n] && n < SHOWN_BYTES; n++)
        if (text[n] == '\n' && ++lines == SHOWN_LINES)
            break;
    size_t cut = text[n] ? n : strlen(text);
    while (cut > 0 && text[n] && ((unsigned char)text[cut] & 0xC0) == 0x80)
        cut--;
    buf_put(out, text, cut);
    buf_puts(out, text[n] ? "\n…\n" : "\n");
}

static void put_variable(Kernel *k, Buf *out, const char *name, Value v)
{
    char kind[96];
    Buf shown;
    ErrFrame frame;
    Ctx *ctx = &k->in->ctx;
    buf_init(&shown, ctx);
    if (!ERR_TRY(ctx, &frame)) {
        buf_free(&shown);
        err_rethrow(ctx);
    }
    show_value(k->in, &shown, v);
    buf_printf(out, "%s is a variable: %s\n", name, v_describe(v, kind, sizeof kind));
    put_start(out, buf_cstr(&shown));
    ERR_END(ctx, &frame);
    buf_free(&shown);
}

/* False: nothing is known of it. */
static bool put_inspection(Kernel *k, Buf *out, const char *path, size_t len, bool source)
{
    char name[256];
    if (len == 0 || len >= sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)len, path);
    Value v = candidates_value(k->in, name, len);
    bool function = v.tag == V_FUNCTION || v.tag == V_OP || v.tag == V_CFUNC;
    bool module = v.tag == V_MODULE;
    if (v.tag == V_UNDEF && !k->repl.help->known(k->in, name))
        return false;
    if (v.tag == V_UNDEF || function || module)
        k->repl.help->show(k->in, out, name);
    else
        put_variable(k, out, name, v);
    if (source && v.tag == V_FUNCTION) {
        buf_puts(out, "\n");
        print_node(out, v.fn->code->node);
        buf_puts(out, "\n");
    }
    return true;
}

void ask_inspect(Kernel *k)
{
    const JsonValue *c = k->now->content;
    const char *code = json_string(json_get(c, "code"), "");
    size_t from, len = name_at(code, cursor_of(c, code), &from);
    Buf text;
    ErrFrame frame;
    Ctx *ctx = &k->in->ctx;
    buf_init(&text, ctx);
    if (!ERR_TRY(ctx, &frame)) {
        buf_free(&text);
        err_rethrow(ctx);
    }
    bool found = put_inspection(k, &text, code + from, len,
                                json_int(json_get(c, "detail_level"), 0) > 0);
    JsonWriter w = kernel_content(k);
    json_pair(&w, "status", "ok");
    json_key(&w, "found");
    json_put_bool(&w, found);
    json_key(&w, "data");
    json_open(&w, '{');
    if (found) {
        json_pair(&w, "text/plain", buf_cstr(&text));
        buf_printf(&k->metadata, "```text\n%s```\n", buf_cstr(&text));
        json_pair(&w, "text/markdown", buf_cstr(&k->metadata));
        buf_clear(&k->metadata);
    }
    json_close(&w, '}');
    json_key(&w, "metadata");
    json_open(&w, '{');
    json_close(&w, '}');
    json_close(&w, '}');
    ERR_END(ctx, &frame);
    buf_free(&text);
    kernel_reply(k, "inspect_reply");
}

/* ---- is_complete ---- */
enum { INDENT = 4 };

/* How the next line begins: as the last one that is not blank, and a step more behind a bracket
 * that it opens. */
static int next_indent(const char *code)
{
    const char *line = "";
    for (const char *at = code; *at; at += *at == '\n') {
        if (at[strspn(at, " \t\n")] && at[strspn(at, " \t")] != '\n')
            line = at;
        at = strchrnul(at, '\n');
    }
    size_t n = strcspn(line, "\n"), blanks = strspn(line, " ");
    while (n > 0 && ascii_space(line[n - 1]))
        n--;
    return (int)blanks + (n > 0 && strchr("{([", line[n - 1]) ? INDENT : 0);
}

void ask_is_complete(Kernel *k)
{
    const char *code = json_string(json_get(k->now->content, "code"), "");
    Ctx *ctx = &k->in->ctx;
    size_t len = strlen(code);
    const char *start = code + strspn(code, " \t\n");
    bool command = *start && repl_is_command(&k->repl, start);
    bool whole = command || repl_is_entry(&k->repl, code, len);
    bool good = !whole || command || parse_accepts(ctx, &k->in->names, code, len);
    JsonWriter w = kernel_content(k);
    json_pair(&w, "status", !whole ? "incomplete" : good ? "complete" : "invalid");
    if (!whole) {
        int indent = next_indent(code);
        char blanks[200];
        indent = indent < (int)sizeof blanks ? indent : (int)sizeof blanks - 1;
        memset(blanks, ' ', sizeof blanks);
        json_key(&w, "indent");
        json_put_text(&w, blanks, (size_t)indent);
    }
    json_close(&w, '}');
    kernel_reply(k, "is_complete_reply");
}

/* ---- history ---- */
/* One list: the prompt's history file, if it is asked for, and then this session's cells. */
typedef struct Entry { int session, line; const char *input, *output; } Entry;

static int file_entries(const Kernel *k)
{
    return k->read_file ? (int)history_count() : 0;
}

static Entry entry_at(const Kernel *k, int i)
{
    int file = file_entries(k);
    if (i < file)
        return (Entry){ 0, i + 1, history_text((size_t)i), NULL };
    const Past *p = &k->past[(k->past_from + i - file) % PAST_MOST];
    return (Entry){ 1, p->number, p->input, p->output };
}

static void put_entry(JsonWriter *w, Entry e, bool output)
{
    json_open(w, '[');
    json_put_int(w, e.session);
    json_put_int(w, e.line);
    if (output)
        json_open(w, '[');
    json_put_string(w, e.input ? e.input : "");
    if (output && e.output)
        json_put_string(w, e.output);
    if (output && !e.output)
        json_put_null(w);
    if (output)
        json_close(w, ']');
    json_close(w, ']');
}

/* Is the same text among those that are taken, further on? Then it stands there alone. */
static bool comes_again(const Kernel *k, const bool *taken, int from, int to)
{
    const char *text = entry_at(k, from).input;
    for (int i = from + 1; text && i < to; i++)
        if (taken[i] && entry_at(k, i).input && strcmp(entry_at(k, i).input, text) == 0)
            return true;
    return false;
}

/* Does `pattern` stand for all of the text? * is any characters, ? is one. A star that failed takes
 * one more, and those before it are settled, so this takes the product of the lengths at most. */
static bool matches(const char *pattern, const char *text)
{
    const char *star = NULL, *behind = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            behind = text;
        } else if (*pattern == '?' || *pattern == *text) {
            bool one = *pattern == '?';
            pattern++;
            text++;
            while (one && ((unsigned char)*text & 0xC0) == 0x80)
                text++;
        } else if (star) {
            pattern = star + 1;
            text = ++behind;
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}

static bool is_taken(const JsonValue *c, const char *how, Entry e)
{
    if (!e.input)
        return false;
    if (strcmp(how, "search") == 0)
        return matches(json_string(json_get(c, "pattern"), "*"), e.input);
    if (strcmp(how, "range") != 0)
        return strcmp(how, "tail") == 0;
    int64_t stop = json_int(json_get(c, "stop"), INT64_MAX);
    return e.session == 1 && e.line >= json_int(json_get(c, "start"), 0) && e.line < stop;
}

static void put_history(Kernel *k, JsonWriter *w, const char *how)
{
    const JsonValue *c = k->now->content;
    bool output = json_truth(json_get(c, "output"), false);
    bool range = strcmp(how, "range") == 0, unique = json_truth(json_get(c, "unique"), false);
    int64_t most = range ? INT64_MAX : json_int(json_get(c, "n"), INT64_MAX);
    int count = file_entries(k) + k->past_count, from = count;
    bool *taken = calloc((size_t)count + 1, 1);
    for (; taken && from > 0 && most > 0; from--)
        if (is_taken(c, how, entry_at(k, from - 1))) {
            taken[from - 1] = true;
            most -= !unique || !comes_again(k, taken, from - 1, count);
        }
    for (int i = from; taken && i < count; i++)
        if (taken[i] && !(unique && comes_again(k, taken, i, count)))
            put_entry(w, entry_at(k, i), output);
    free(taken);
}

/* A session number of `range` counts from this one, 0, back to others, of which nothing is kept. */
void ask_history(Kernel *k)
{
    const JsonValue *c = k->now->content;
    const char *how = json_string(json_get(c, "hist_access_type"), "tail");
    int64_t session = json_int(json_get(c, "session"), 0);
    bool range = strcmp(how, "range") == 0;
    if (!range && !k->read_file) {
        history_open(!k->in->ctx.fence);
        k->read_file = true;
    }
    JsonWriter w = kernel_content(k);
    json_pair(&w, "status", "ok");
    json_key(&w, "history");
    json_open(&w, '[');
    if (!range || session == 0 || session == 1)
        put_history(k, &w, how);
    json_close(&w, ']');
    json_close(&w, '}');
    kernel_reply(k, "history_reply");
}
