/* What could stand at a spot of the entry that is being typed: names of the session, of the
 * registry and of the entry itself, arguments of the call, fields, members, formats, devices,
 * modules, symbols, commands. It looks at values, and runs nothing. */
#include "interp/session/repl_complete.h"

#include "core/system/ascii.h"
#include "interp/state/exec.h"
#include "interp/state/format.h"
#include "interp/native/native.h"
#include "interp/op/op.h"
#include "interp/state/predefined.h"
#include "interp/session/repl_commands.h"
#include "interp/show/show.h"
#include "interp/state/stdlib_files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a candidate has to match what was typed: see candidates_find. */
typedef enum Match { MATCH_EXACT, MATCH_CASE, MATCH_INSIDE } Match;

typedef struct Search {
    Interp *in;
    const ReplHelp *help;
    const char *text;            /* the entry */
    size_t cursor, len;          /* len: of what was typed */
    const char *typed;
    const Spot *spot;
    Match match;
    Candidates *out;
} Search;

/* ---- the list ---- */
static Candidate *add(Candidates *c, char *text)
{
    if (!text)
        return NULL;
    if (c->count == c->cap) {
        size_t cap = c->cap ? 2 * c->cap : 64;
        Candidate *items = realloc(c->items, cap * sizeof *items);
        if (!items) {
            free(text);
            return NULL;
        }
        c->items = items;
        c->cap = cap;
    }
    c->items[c->count] = (Candidate){ .text = text };
    return &c->items[c->count++];
}

void candidates_add(Candidates *c, const char *text, const char *note)
{
    Candidate *item = add(c, strdup(text));
    if (item)
        item->note = note;
}

void candidates_free(Candidates *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->items[i].text);
    free(c->items);
    *c = (Candidates){ 0 };
}

static bool fits(const Search *s, const char *name)
{
    switch (s->match) {
    case MATCH_EXACT: return strncmp(name, s->typed, s->len) == 0;
    case MATCH_CASE: return ascii_ncasecmp(name, s->typed, s->len) == 0;
    case MATCH_INSIDE: break;
    }
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", (int)s->len, s->typed);
    return s->len > 1 && s->len < sizeof typed && ascii_casestr(name, typed) != NULL;
}

static void offer(Search *s, const char *name, const char *note)
{
    if (fits(s, name))
        candidates_add(s->out, name, note);
}

static void offer_words(Search *s, const char *const *words, const char *note)
{
    for (; *words; words++)
        offer(s, *words, note);
}

static void offer_value(Search *s, const char *name, Value v)
{
    Candidate *item = fits(s, name) ? add(s->out, strdup(name)) : NULL;
    if (item)
        item->v = v;
}

/* ---- names ---- */
static const char *const keywords[] = { "fn", "return", "if", "else", "for", "in", "while", "break",
    "continue", "and", "or", "not", "true", "false", "none", "precision", "autocast", "on", "lazy",
    "compare", "explain", "timeit", "profile", "extern", "import", "try", "catch", "throw",
    "assert", "test", NULL };
static const char *const modes[] = { "nearest", "away", "zero", "up", "down", "odd",
    "stochastic", NULL };
static const char *const precision_words[] = { "accumulate", "round", "saturate", "flush",
    "reproducible", "backward", "shadow", "against", NULL };
static const char *const on_words[] = { "fallback", "strict", "narrow", "verbose", "quiet", NULL };
static const char *const parametric[] = { "float(", "decimal(", "mp(", NULL };

static void offer_globals(Search *s)
{
    const Module *m = s->in->main;
    for (uint32_t i = 0; i < m->globals.count; i++)
        if (m->globals.names[i] && m->slots[i].tag != V_UNDEF)
            offer_value(s, m->globals.names[i]->text, m->slots[i]);
}

static bool is_global(const Search *s, const char *name)
{
    const Name *n = names_find(&s->in->names, name, strlen(name));
    int64_t slot = n ? globals_find(&s->in->main->globals, n) : -1;
    return slot >= 0 && s->in->main->slots[slot].tag != V_UNDEF;
}

static void offer_operations(Search *s)
{
    for (int i = 0; i < op_count(s->in); i++)
        if (fits(s, op_row(s->in, i)->name) && !is_global(s, op_row(s->in, i)->name)) {
            Candidate *item = add(s->out, strdup(op_row(s->in, i)->name));
            if (item)
                item->op = op_row(s->in, i);
        }
    for (int i = 0; predefined_name(i); i++) {
        const char *name = predefined_name(i);
        const Name *interned = names_find(&s->in->names, name, strlen(name));
        bool taken = is_global(s, name) || (interned && op_find(s->in, interned));
        if (!taken)
            offer(s, name, dtype_find(name, strlen(name)) != DT_NONE ? "format" : "");
    }
}

/* Names of the entry itself: parameters and variables of a function that is being written. */
static void offer_words_of_entry(Search *s)
{
    const char *at = s->text, *end = s->text + s->cursor;
    while (at < end) {
        size_t n = 0;
        while (repl_in_name(at[n]))
            n++;
        bool here = at <= s->text + s->spot->from && at + n > s->text + s->spot->from;
        if (n > 1 && n < 64 && !ascii_digit(*at) && at + n <= end && !here) {
            char name[64];
            snprintf(name, sizeof name, "%.*s", (int)n, at);
            bool seen = !fits(s, name);
            for (size_t i = 0; i < s->out->count && !seen; i++)
                seen = strcmp(s->out->items[i].text, name) == 0;
            if (!seen)
                candidates_add(s->out, name, "in this entry");
        }
        at += n ? n : 1;
    }
}

/* ---- calls ---- */
static Value lookup(Interp *in, const Module *m, const char *text, size_t len)
{
    const Name *name = names_find(&in->names, text, len);
    int64_t slot = name ? globals_find(&m->globals, name) : -1;
    if (slot >= 0 && m->slots[slot].tag != V_UNDEF)
        return m->slots[slot];
    const Op *op = name && m == in->main ? op_find(in, name) : NULL;
    return op ? v_op(op) : v_undef();
}

Value candidates_value(Interp *in, const char *path, size_t len)
{
    size_t n = 0;
    while (n < len && path[n] != '.')
        n++;
    Value v = lookup(in, in->main, path, n);
    while (n < len && v.tag != V_UNDEF) {
        const char *field = path + n + 1;
        size_t rest = len - n - 1, k = 0;
        while (k < rest && field[k] != '.')
            k++;
        const Name *name = names_find(&in->names, field, k);
        int64_t i = name && v.tag == V_TUPLE ? tuple_find(v.tuple, name) : -1;
        v = v.tag == V_MODULE ? lookup(in, v.module, field, k)
          : i >= 0 ? v.tuple->items[i] : v_undef();
        n += k + 1;
    }
    return v;
}

Value candidates_callee(Interp *in, const char *text, const Spot *spot)
{
    return spot->callee_len ? candidates_value(in, text + spot->callee, spot->callee_len)
                            : v_undef();
}

void candidates_signature(Interp *in, Buf *out, Value v)
{
    if (v.tag == V_OP)
        buf_puts(out, op_signature(in, v.op, true));
    else if (v.tag == V_FUNCTION && v.fn->code->node->kind == ND_FN)
        print_signature(out, v.fn->code->node);
    else if (v.tag == V_FUNCTION)
        print_node(out, v.fn->code->node);
    else if (v.tag == V_CFUNC)
        show_value(in, out, v);
}

static void offer_argument(Search *s, const char *name)
{
    char text[96];
    if (snprintf(text, sizeof text, "%s=", name) < (int)sizeof text && fits(s, text)) {
        Candidate *item = add(s->out, strdup(text));
        if (item)
            item->note = "argument";
    }
}

static void offer_arguments(Search *s)
{
    Value v = s->spot->starts ? candidates_callee(s->in, s->text, s->spot) : v_undef();
    if (v.tag == V_OP) {
        const OpSig *sig = op_sig(s->in, v.op);
        int params = sig->fixed + (sig->variadic ? 1 : 0);
        for (int i = 0; i < params; i++) {
            const OpParam *p = &sig->params[i];
            if (!p->variadic && (p->keyword_only || p->fallback))
                offer_argument(s, p->name->text);
        }
    }
    for (uint32_t i = 0; v.tag == V_FUNCTION && i < v.fn->code->node->count; i++) {
        const Node *p = v.fn->code->node->list[i];
        if (p->kind == ND_PARAM && p->name && !(p->flags & NF_VARIADIC))
            offer_argument(s, p->name->text);
    }
}

/* Operations come where something was typed, and no argument of the call fits two letters of it. */
static void offer_names(Search *s)
{
    offer_arguments(s);
    bool argument = s->out->count > 0;
    offer_globals(s);
    if (s->len == 0 || (argument && s->len > 1))
        return;
    offer_operations(s);
    offer_words(s, keywords, "keyword");
    offer_words_of_entry(s);
}

/* ---- members ---- */
/* Functions with ## lines above them, by the text of a module that was not imported. */
static void offer_stdlib(Search *s, const char *module, size_t len)
{
    const struct StdlibFile *f = ricci_stdlib;
    while (f->name && (strlen(f->name) != len || strncmp(f->name, module, len) != 0))
        f++;
    const char *before = "";
    for (const char *at = f->name ? f->text : ""; *at;) {
        char name[64];
        if (strncmp(at, "fn ", 3) == 0 && strncmp(before, "##", 2) == 0) {
            snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 3, "("), at + 3);
            offer(s, name, "");
        }
        before = at;
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
}

static void offer_members(Search *s)
{
    const char *path = s->text + s->spot->path;
    if (strncmp(path, "sim.", 4) == 0 && !is_global(s, "sim"))
        for (const Device *d = s->in->ctx.devices->first; d; d = d->next)
            if (strncmp(d->name, "sim.", 4) == 0)
                offer(s, d->name + 4, d->title);
    size_t len = s->spot->from - 1 - s->spot->path;
    Value v = candidates_value(s->in, path, len);
    if (v.tag == V_UNDEF)
        offer_stdlib(s, path, len);
    for (uint32_t i = 0; v.tag == V_TUPLE && v.tuple->named && i < v.tuple->count; i++)
        if (v.tuple->names[i])
            offer_value(s, v.tuple->names[i]->text, v.tuple->items[i]);
    if (v.tag != V_MODULE)
        return;
    bool stdlib = strncmp(v.module->name, "<stdlib:", 8) == 0;
    for (uint32_t i = 0; i < v.module->globals.count; i++) {
        Value member = v.module->slots[i];
        bool own = stdlib && (member.tag != V_FUNCTION || !member.fn->code->node->text);
        if (member.tag != V_UNDEF && v.module->globals.names[i] && !own)
            offer_value(s, v.module->globals.names[i]->text, member);
    }
}

/* ---- words of headers ---- */
static void offer_of_kind(Search *s, Tag tag)
{
    const Module *m = s->in->main;
    for (uint32_t i = 0; i < m->globals.count; i++)
        if (m->globals.names[i] && m->slots[i].tag == tag)
            offer_value(s, m->globals.names[i]->text, m->slots[i]);
}

/* A precision scope takes formats of real numbers, dtype= any. */
static void offer_formats(Search *s, bool real)
{
    for (int i = 0; format_name(i); i++) {
        DType dt = dtype_find(format_name(i), strlen(format_name(i)));
        if (!real || strchr("fq", dtype_info(dt)->kind))
            offer(s, format_name(i), "format");
    }
    offer_words(s, parametric, "format");
    offer_of_kind(s, V_FORMAT);
}

static void offer_devices(Search *s)
{
    static const char *const names[] = { "gpu", "cuda", "opencl", NULL };
    for (const Device *d = s->in->ctx.devices->first; d; d = d->next)
        offer(s, d->name, d->title);
    offer_words(s, names, "device");
    offer_of_kind(s, V_DEVICE);
}

/* What a module's text says first, or NULL. */
static void offer_modules(Search *s)
{
    for (const struct StdlibFile *f = ricci_stdlib; f->name; f++)
        offer(s, f->name, "standard library");
    DIR *folder = opendir(".");
    for (struct dirent *e; folder && (e = readdir(folder));) {
        size_t n = strlen(e->d_name);
        char name[128];
        if (n <= 4 || n > 100 || strcmp(e->d_name + n - 4, ".ric") != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)n - 4, e->d_name);
        offer(s, name, "in this folder");
    }
    if (folder)
        closedir(folder);
}

/* ---- symbols ---- */
static const struct Symbol { const char *name, *text; } symbols[] = {
#define SYMBOL(name, text) { name, text },
#include "interp/session/symbols.def"
#include "interp/state/predefined.h"
#include "interp/show/show.h"
#undef SYMBOL
};

/* A whole name alone, even where longer ones begin so (\in of \infty): it becomes its sign. */
static void offer_symbols(Search *s)
{
    const char *name = s->typed + 1;
    size_t len = s->len - 1;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (strlen(symbols[i].name) == len && strncmp(symbols[i].name, name, len) == 0) {
            candidates_add(s->out, symbols[i].text, symbols[i].name);
            return;
        }
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols && s->match == MATCH_EXACT; i++)
        if (strncmp(symbols[i].name, name, len) == 0) {
            char text[40];
            snprintf(text, sizeof text, "\\%s", symbols[i].name);
            candidates_add(s->out, text, symbols[i].text);
        }
    if (s->out->count == 1) {                  /* no other can be meant */
        const char *sign = s->out->items[0].note;
        candidates_free(s->out);
        candidates_add(s->out, sign, "");
    }
    if (s->out->count > 0 || s->match != MATCH_EXACT)
        return;
    Spot spot = *s->spot;                      /* A \ b, and no symbol: the operator and a name */
    Search names = *s;
    spot.kind = SPOT_NAME;
    spot.from++;
    names.spot = &spot;
    names.typed = name;
    names.len = len;
    offer_names(&names);
    for (size_t i = 0; i < s->out->count; i++) {
        char *whole = NULL;
        if (asprintf(&whole, "\\%s", s->out->items[i].text) >= 0) {
            free(s->out->items[i].text);
            s->out->items[i].text = whole;
            s->out->items[i].shown = whole + 1;
        }
    }
}

/* ---- commands and help ---- */
static void offer_commands(Search *s)
{
    for (int i = 0; repl_command_row(i); i++)
        offer(s, repl_command_row(i)->name, repl_command_row(i)->help);
}

static void offer_help(Search *s)
{
    offer_globals(s);
    offer_operations(s);
    char topic[32];
    for (int i = 0; s->help->topic(i, topic); i++)
        offer(s, topic, "topic");
    for (const struct StdlibFile *f = ricci_stdlib; f->name; f++)
        if (!is_global(s, f->name))
            offer(s, f->name, "standard library");
}

static void offer_command_argument(Search *s)
{
    char takes = s->spot->takes;
    if (takes == 'c')
        offer_commands(s);
    if (takes == 'v')
        offer_globals(s);
    if (takes == 'e')
        offer_of_kind(s, V_FUNCTION);
    for (int i = 0; takes == 'k' && i < ERR_KINDS; i++)
        offer(s, err_kind_name((ErrKind)i), "kind of error");
    if (takes == 'k')
        offer_names(s);
    if (strchr("fed", takes))
        candidates_files(s->out, s->typed, s->len, 0, takes == 'd');
}

static void gather(Search *s)
{
    switch (s->spot->kind) {
    case SPOT_NOTHING: case SPOT_INDENT: break;
    case SPOT_NAME: offer_names(s); break;
    case SPOT_MEMBER: offer_members(s); break;
    case SPOT_SYMBOL: offer_symbols(s); break;
    case SPOT_STRING: candidates_files(s->out, s->typed, s->len, '"', false); break;
    case SPOT_RAW: candidates_files(s->out, s->typed, s->len, '`', false); break;
    case SPOT_MODULE: offer_modules(s); break;
    case SPOT_FORMAT: offer_formats(s, true); break;
    case SPOT_DTYPE: offer_formats(s, false); break;
    case SPOT_MODE: offer_words(s, modes, "rounding"); break;
    case SPOT_PRECISION_WORD: offer_words(s, precision_words, ""); break;
    case SPOT_DEVICE: offer_devices(s); break;
    case SPOT_ON_WORD: offer_words(s, on_words, ""); break;
    case SPOT_COMMAND: offer_commands(s); break;
    case SPOT_ARGUMENT: offer_command_argument(s); break;
    case SPOT_HELP: offer_help(s); break;
    case SPOT_SHELL:
        if (s->spot->first)
            candidates_programs(s->out, s->typed, s->len);
        candidates_files(s->out, s->typed, s->len, '\\', false);
        break;
    }
}

static int by_text(const void *a, const void *b)
{
    const Candidate *x = a, *y = b;
    bool x_argument = strchr(x->text, '=') != NULL, y_argument = strchr(y->text, '=') != NULL;
    if (x_argument != y_argument)
        return x_argument ? -1 : 1;            /* arguments of the call come first */
    int order = strcmp(x->text, y->text);
    return order ? order : (y->op || y->v.tag) - (x->op || x->v.tag);     /* who says more */
}

/* Sorted; one of each text. */
static void tidy(Candidates *c)
{
    size_t kept = 0;
    if (c->count > 1)
        qsort(c->items, c->count, sizeof *c->items, by_text);
    for (size_t i = 0; i < c->count; i++)
        if (kept > 0 && strcmp(c->items[kept - 1].text, c->items[i].text) == 0)
            free(c->items[i].text);
        else
            c->items[kept++] = c->items[i];
    c->count = kept;
}

void candidates_find(Interp *in, const ReplHelp *help, const char *text, size_t cursor,
                     const Spot *spot, Candidates *out)
{
    Search s = { .in = in, .help = help, .text = text, .cursor = cursor, .spot = spot, .out = out,
                 .typed = text + spot->from, .len = cursor - spot->from };
    ErrFrame frame;
    if (ERR_TRY(&in->ctx, &frame)) {
        for (s.match = MATCH_EXACT; s.match <= MATCH_INSIDE && out->count == 0; s.match++)
            gather(&s);
        ERR_END(&in->ctx, &frame);
    } else {                                   /* no memory: what was found is still good */
        err_free(in->ctx.error);
        in->ctx.error = NULL;
    }
    tidy(out);
    if (s.match > MATCH_INSIDE && out->count > 1)
        candidates_free(out);                  /* several that only hold it are a guess too many */
}
