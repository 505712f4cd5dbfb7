/* What stands at the cursor of an entry that is being typed: a name, an argument of a call, a file
 * in a string, a word after `precision`. The entry is unfinished and may be wrong, so this is a
 * scanner of its own that asks for no grammar: it walks once over the text before the cursor and
 * knows brackets, strings with their interpolations, and comments. */
#include "interp/session/repl_complete.h"

#include "core/system/ascii.h"
#include "interp/session/repl_commands.h"

#include <string.h>

enum { DEPTH = 64 };

/* An open bracket or string. */
typedef struct Open {
    char kind;               /* ( [ {   " ` for strings, $ for an interpolation, # for a comment */
    size_t at;
    size_t argument;         /* where its last argument begins */
    int commas;
} Open;

typedef struct Walk {
    Open open[DEPTH];
    int depth;               /* those deeper than DEPTH are counted, not kept */
} Walk;

static Open *top(Walk *w)
{
    return w->depth > 0 && w->depth <= DEPTH ? &w->open[w->depth - 1] : NULL;
}

static void push(Walk *w, char kind, size_t at)
{
    if (w->depth < DEPTH)
        w->open[w->depth] = (Open){ .kind = kind, .at = at, .argument = at + 1 };
    w->depth++;
}

/* ---- the walk ---- */
static bool closes(char open, char c)
{
    return (open == '(' && c == ')') || (open == '[' && c == ']') ||
           ((open == '{' || open == '$') && c == '}');
}

/* One step in code; returns how many bytes it took. */
static size_t step_code(Walk *w, const char *text, size_t i)
{
    char c = text[i];
    Open *o = top(w);
    if (c == '"' || c == '`' || c == '#')
        push(w, c, i);
    else if (c == '(' || c == '[' || c == '{')
        push(w, c, i);
    else if (c && strchr(")]}", c) && w->depth > 0 && (!o || closes(o->kind, c)))
        w->depth--;
    else if (c == ',' && o) {
        o->commas++;
        o->argument = i + 1;
    }
    return 1;
}

static size_t step_string(Walk *w, const char *text, size_t i, char quote)
{
    char c = text[i];
    if (quote == '"' && c == '\\' && text[i + 1] && text[i + 1] != '\n')
        return 2;
    if (quote == '"' && (c == '{' || c == '}') && text[i + 1] == c)
        return 2;
    if (c == quote || (quote == '"' && c == '\n'))
        w->depth--;
    else if (quote == '"' && c == '{')
        push(w, '$', i);
    return 1;
}

static void walk(Walk *w, const char *text, size_t from, size_t end)
{
    for (size_t i = from; i < end;) {
        const Open *o = top(w);
        char kind = o ? o->kind : 0;
        if (kind == '#') {
            w->depth -= text[i] == '\n';
            i++;
        } else if (kind == '"' || kind == '`') {
            size_t n = step_string(w, text, i, kind);
            if (i + n > end)                   /* the cursor stands behind a backslash */
                break;
            i += n;
        } else {
            i += step_code(w, text, i);
        }
    }
}

/* ---- words ---- */
/* Signs that the lexer takes for operators; everything else beyond ASCII belongs to names. */
static bool is_sign(const char *c, size_t n)
{
    static const char *const signs[] = {
#define OPERATOR(id, symbol, ascii, op) symbol,
#include "lexer/ops.def"
#undef OPERATOR
        "≤", "≥", "≠", "−", "⋅", "\u00a0", "→", "²", "³" };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if ((signs[i][0] & 0x80) && strlen(signs[i]) == n && memcmp(signs[i], c, n) == 0)
            return true;
    return false;
}

/* Where the name that ends at `end` begins. */
static size_t name_start(const char *text, size_t from, size_t end)
{
    while (end > from) {
        size_t at = end - 1;
        while (at > from && (text[at] & 0xC0) == 0x80)
            at--;
        if (text[at] & 0x80 ? is_sign(text + at, end - at)
                            : !ascii_alnum(text[at]) && text[at] != '_')
            break;
        end = at;
    }
    return end;
}

/* The start of a \symbol that ends at the cursor (\alpha, \_1, \^+), or the cursor. */
static size_t symbol_start(const char *text, size_t from, size_t cursor)
{
    size_t at = cursor;
    while (at > from && ascii_alnum(text[at - 1]))
        at--;
    if (at > from && text[at - 1] == '\\')
        return at - 1;
    if (at == cursor && at > from && strchr("+-=()", text[at - 1]))
        at--;
    bool marked = at >= from + 2 && strchr("_^", text[at - 1]) && text[at - 2] == '\\';
    return marked ? at - 2 : cursor;
}

static size_t skip_back(const char *text, size_t from, size_t at)
{
    while (at > from && (text[at - 1] == ' ' || text[at - 1] == '\t'))
        at--;
    return at;
}

static bool word_is(const char *text, size_t from, size_t to, const char *words)
{
    for (const char *w = words; *w;) {
        size_t n = strcspn(w, " ");
        if (n == to - from && strncmp(w, text + from, n) == 0)
            return true;
        w += n + (w[n] == ' ');
    }
    return false;
}

/* ---- words of scope headers ---- */
/* Where the statement around `at` begins: behind the last newline, semicolon or brace. */
static size_t statement_start(const char *text, size_t from, size_t at)
{
    while (at > from && !strchr("\n;{}", text[at - 1]))
        at--;
    return at;
}

/* The start of the last of these words in from … to, or `to`. */
static size_t last_word(const char *text, size_t from, size_t to, const char *words)
{
    size_t found = to;
    for (size_t i = from; i < to;) {
        size_t n = 0;
        while (i + n < to && repl_in_name(text[i + n]))
            n++;
        if (n > 0 && word_is(text, i, i + n, words))
            found = i;
        i += n ? n : 1;
    }
    return found;
}

/* What a header's word expects after it: `precision bf16 accumulate <TAB>`. */
static SpotKind header_kind(const char *text, size_t from, size_t at)
{
    size_t start = statement_start(text, from, at);
    size_t head = last_word(text, start, at, "precision autocast compare on import");
    size_t end = skip_back(text, start, at), word = name_start(text, start, end);
    char before = end > start ? text[end - 1] : 0;
    if (head == at || (end == at && before != ','))
        return SPOT_NAME;
    bool first = word == head;
    if (word_is(text, head, head + 6, "import"))
        return first || before == ',' || word_is(text, word, end, "from") ? SPOT_MODULE : SPOT_NAME;
    if (word_is(text, word, end, "round"))
        return SPOT_MODE;
    if (word_is(text, head, head + 2, "on"))
        return first || word_is(text, word, end, "fallback") ? SPOT_DEVICE : SPOT_ON_WORD;
    if (first || before == ',' ||
        word_is(text, word, end, "accumulate backward shadow against precision"))
        return SPOT_FORMAT;
    return SPOT_PRECISION_WORD;
}

/* `dtype=<TAB>` and the like. */
static SpotKind keyword_kind(const char *text, size_t from, size_t at)
{
    size_t end = skip_back(text, from, at);
    if (end == from || text[end - 1] != '=')
        return SPOT_NAME;
    end = skip_back(text, from, end - 1);
    size_t word = name_start(text, from, end);
    return word_is(text, word, end, "dtype") ? SPOT_DTYPE
         : word_is(text, word, end, "device") ? SPOT_DEVICE : SPOT_NAME;
}

/* ---- lines that are no program ---- */
static const ReplCommand *command_named(const char *name, size_t n)
{
    const ReplCommand *found = NULL;
    for (int i = 0; n > 0 && repl_command_row(i); i++)
        if (strncmp(repl_command_row(i)->name, name, n) == 0 && !found)
            found = repl_command_row(i);
    return found;
}

static Spot command_spot(const char *text, size_t colon, size_t cursor)
{
    size_t n = 0, name = colon + 1;
    while (name + n < cursor && ascii_alpha(text[name + n]))
        n++;
    size_t at = name + n + (name + n < cursor && text[name + n] == '!');
    if (at >= cursor)
        return (Spot){ .kind = SPOT_COMMAND, .from = name };
    const ReplCommand *c = command_named(text + name, n);
    while (at < cursor && (text[at] == ' ' || text[at] == '\t'))
        at++;
    return (Spot){ .kind = c && c->takes ? SPOT_ARGUMENT : SPOT_NOTHING, .from = at,
                   .takes = (char)(c ? c->takes : 0) };
}

static Spot shell_spot(const char *text, size_t mark, size_t cursor)
{
    size_t first = mark + 1 + strspn(text + mark + 1, " \t"), at = cursor;
    while (at > first && (!strchr(" \t;|&<>", text[at - 1]) ||
                          (at > first + 1 && text[at - 2] == '\\')))
        at--;
    return (Spot){ .kind = SPOT_SHELL, .from = at < first ? first : at, .first = at <= first };
}

/* ---- code ---- */
static void find_call(const Walk *w, const char *text, size_t from, Spot *spot)
{
    int depth = w->depth < DEPTH ? w->depth : DEPTH;
    const Open *o = depth > 0 ? &w->open[depth - 1] : NULL;
    if (!o || o->kind != '(')
        return;
    size_t start = o->at;
    for (;;) {
        start = name_start(text, from, start);
        if (start == from || text[start - 1] != '.')
            break;
        start--;
    }
    spot->callee = start;
    spot->callee_len = o->at - start;
    spot->argument = o->argument;
    spot->position = o->commas;
    spot->starts = true;
    for (size_t i = o->argument; i < spot->from; i++)
        spot->starts &= ascii_space(text[i]) != 0;
}

static Spot code_spot(const char *text, size_t from, size_t cursor, const Walk *w)
{
    size_t symbol = symbol_start(text, from, cursor), start = name_start(text, from, cursor);
    Spot spot = { .kind = SPOT_NAME, .from = start };
    find_call(w, text, from, &spot);
    if (symbol < cursor) {
        spot.kind = SPOT_SYMBOL;
        spot.from = symbol;
        return spot;
    }
    size_t line = cursor;
    while (line > from && text[line - 1] != '\n')
        line--;
    if (start == cursor && start > line && line + strspn(text + line, " \t") >= cursor)
        spot.kind = SPOT_INDENT;
    else if (start < cursor && ascii_digit(text[start]))
        spot.kind = SPOT_NOTHING;
    else if (start > from && text[start - 1] == '.') {
        spot.path = start - 1;
        do {
            spot.path = name_start(text, from, spot.path);
        } while (spot.path > from && text[spot.path - 1] == '.' && spot.path--);
        bool number = ascii_digit(text[spot.path]);
        spot.kind = spot.path == start - 1 || number ? SPOT_NOTHING : SPOT_MEMBER;
        if (header_kind(text, from, spot.path) == SPOT_DEVICE)
            spot = (Spot){ .kind = SPOT_DEVICE, .from = spot.path };
    } else {
        spot.kind = header_kind(text, from, start);
        if (spot.kind == SPOT_NAME)
            spot.kind = keyword_kind(text, from, start);
    }
    return spot;
}

static Spot string_spot(const char *text, const Open *o, size_t cursor)
{
    size_t symbol = symbol_start(text, o->at + 1, cursor);
    Spot spot = { .kind = o->kind == '"' ? SPOT_STRING : SPOT_RAW, .from = o->at + 1 };
    if (cursor - symbol > 2)                   /* more letters than an escape has */
        spot = (Spot){ .kind = SPOT_SYMBOL, .from = symbol };
    return spot;
}

static Spot program_spot(const char *text, size_t from, size_t cursor)
{
    Walk w = { .depth = 0 };
    walk(&w, text, from, cursor);
    const Open *o = top(&w);
    if (o && (o->kind == '"' || o->kind == '`'))
        return string_spot(text, o, cursor);
    if (o && o->kind == '#') {
        size_t symbol = symbol_start(text, from, cursor);
        return (Spot){ .kind = symbol < cursor ? SPOT_SYMBOL : SPOT_NOTHING, .from = symbol };
    }
    return code_spot(text, from, cursor, &w);
}

Spot spot_find(const char *text, size_t cursor)
{
    size_t start = 0;
    while (start < cursor && ascii_space(text[start]))
        start++;
    char c = start < cursor ? text[start] : 0;
    if (c == ':') {
        Spot spot = command_spot(text, start, cursor);
        bool program = spot.kind == SPOT_ARGUMENT && spot.takes == 'x';
        return program ? program_spot(text, spot.from, cursor) : spot;
    }
    if (c == '?') {
        size_t at = start + 1 + strspn(text + start + 1, "? \t"), dot = cursor;
        at = at < cursor ? at : cursor;
        while (dot > at && text[dot - 1] != '.')
            dot--;
        bool member = dot > at + 1;
        return (Spot){ .kind = member ? SPOT_MEMBER : SPOT_HELP, .path = at,
                       .from = member ? dot : at };
    }
    if (c == '!' && text[start + 1] != '(')
        return shell_spot(text, start, cursor);
    return program_spot(text, 0, cursor);
}
