/* Checking what the help lines of errors offer. The code in a line is parsed as a program of its
 * own; every name in it must be something here, a local, a global or a builtin; and where it is
 * made of operations without effects on few elements it is run, in a hidden module whose globals
 * are those values. A fix that fails any of that is not shown. What it runs cannot be seen by the
 * program. */
#include "interp/fixes/fixes.h"
#include "interp/state/wing.h"
#include "interp/op/op.h"
#include "interp/state/frames.h"

#include "core/system/ascii.h"
#include "interp/eval/module.h"
#include "interp/eval/eval_name.h"
#include "interp/state/predefined.h"

#include "core/base/error.h"
#include "core/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIX_ELEMENTS = 4096,       /* of all operands: more are not tried */
    FIX_COUNT = 1000,          /* a number above that may be a length */
    FIX_NAMES = 16
};

struct Fixes {
    Module *module;            /* where fixes run */
    bool busy;                 /* an error of a fix is nobody's */
};

typedef struct Fix {
    Interp *in;
    const Error *error;
    const Name *names[FIX_NAMES];     /* variables of the user that occur in it */
    Value values[FIX_NAMES];          /* borrowed */
    int count;
    const Name *made[FIX_NAMES];      /* what the code itself assigns */
    int made_count;
    int64_t elements;
    bool unknown;              /* a name is nothing here */
    bool renames;              /* it assigns: what was called may be hidden no more */
    bool pure;                 /* no effects, few elements: it may be run */
    Chunk *chunk;              /* the code, or NULL while it is none */
} Fix;

/* ---- the code in a line ---- */
static bool opens(char c) { return c == '(' || c == '[' || c == '{'; }
static bool closes(char c) { return c == ')' || c == ']' || c == '}'; }

/* `words: code` in a help line, which may offer several of them. */
typedef struct Clause {
    size_t from, code, to;
} Clause;

enum { CLAUSES = 6 };

/* What parts two offers: its length, 0 where there is none at p. */
static size_t separator(const char *p)
{
    return strncmp(p, "; ", 2) == 0 ? 2 : strncmp(p, ", or ", 5) == 0 ? 5 : 0;
}

/* The offers of a help line: code is what follows a `: ` outside of brackets and quotes, up to the
 * last separator before the words of the next offer; all of the line where there is no `: `. */
static int clauses(const char *help, Clause *out)
{
    Clause c = { 0 };
    size_t cut = 0, width = 0;         /* the last separator behind the code */
    int depth = 0, count = 0;
    bool quoted = false;
    for (size_t i = 0; help[i]; i++) {
        if (help[i] == '"' && (i == 0 || help[i - 1] != '\\'))
            quoted = !quoted;
        else if (!quoted && opens(help[i]))
            depth++;
        else if (!quoted && closes(help[i]))
            depth--;
        if (quoted || depth != 0)
            continue;
        if (c.code > 0 && separator(help + i)) {
            cut = i;
            width = separator(help + i);
        } else if (help[i] == ':' && help[i + 1] == ' ') {
            if (cut > 0 && count < CLAUSES - 1) {
                c.to = cut;
                out[count++] = c;
                c.from = cut + width;
            }
            c.code = i + 2;
            cut = 0;
        }
    }
    c.to = strlen(help);
    out[count++] = c;
    return count;
}

/* What err_operand_text says where there is no short text to quote is no code. */
static bool quotes_nothing(const char *code)
{
    return strstr(code, "the left operand") || strstr(code, "the right operand") ||
           strstr(code, "operand 1") || strstr(code, "operand 2");
}

/* ---- names ---- */
/* The value of a variable where the error is raised; V_UNDEF: there is none of that name. */
static Value variable(Interp *in, const Name *name)
{
    const CallFrame *f = in->calls;
    const FnInfo *info = f && f->fn ? f->fn->code->info : NULL;
    for (uint32_t i = 0; info && info->slot_names && i < info->slots; i++)
        if (info->slot_names[i] == name && in->fp[i].tag != V_UNDEF)
            return in->fp[i];
    if (f && f->fn && f->fn->code->name == name)
        return (Value){ .tag = V_FUNCTION, .fn = (Function *)f->fn };
    Module *m = interp_module(in);
    int64_t i = m ? globals_find(&m->globals, name) : -1;
    return i >= 0 ? m->slots[i] : v_undef();
}

/* Variables of comprehensions, and those of who called the standard library, are none that can be
 * looked up; the user wrote them, so they are known. */
static bool written_by_user(const Error *e, const Name *name)
{
    const Source *s = e->where.source;
    size_t n = strlen(name->text);
    if (!s)
        return false;
    size_t from = e->where.span.from, to = e->where.span.to < s->len ? e->where.span.to : s->len;
    while (from > 0 && s->text[from - 1] != '\n')
        from--;
    while (to < s->len && s->text[to] != '\n')
        to++;
    for (size_t at = from; at + n <= to; at++)
        if (memcmp(s->text + at, name->text, n) == 0 &&
            (at == 0 || (!ascii_alnum(s->text[at - 1]) && s->text[at - 1] != '_')) &&
            !ascii_alnum(s->text[at + n]) && s->text[at + n] != '_')
            return true;
    return false;
}

static int64_t elements(Value v)
{
    if (v.tag == V_INT)
        return v.i > FIX_COUNT ? FIX_ELEMENTS + 1 : 1;
    if (v.tag == V_RANGE)
        return v.range->count;
    if (v.tag == V_TENSOR)
        return v.tensor->size;
    if (v.tag == V_STRING)
        return (int64_t)v.str->len;
    if (v.tag == V_TUPLE) {
        int64_t n = 1;
        for (int64_t i = 0; i < v.tuple->count && n <= FIX_ELEMENTS; i++)
            n += elements(v.tuple->items[i]);
        return n;
    }
    return 1;
}

static bool plain_value(Value v)
{
    return v.tag <= V_FLOAT || v.tag == V_TENSOR || v.tag == V_STRING || v.tag == V_TUPLE ||
           v.tag == V_RANGE;
}

/* Does the error say of this name that it cannot be called? */
static bool refused(const Error *e, const Name *name)
{
    const Source *s = e->where.source;
    uint32_t from = e->where.span.from;
    return s && from + name->len < s->len && s->text[from + name->len] == '(' &&
           memcmp(s->text + from, name->text, name->len) == 0;
}

static void note_name(Fix *fix, const Name *name, bool called)
{
    for (int i = 0; i < fix->made_count; i++)
        if (fix->made[i] == name)
            return;
    const Op *op = op_find(fix->in, name);
    bool renamed = op && called && fix->renames && refused(fix->error, name);
    Value v = renamed ? v_undef() : variable(fix->in, name);
    if (v.tag == V_UNDEF) {
        bool made = predefined_find(fix->in, name->text).tag != V_UNDEF;
        if (op)
            fix->pure &= called && op->tried;
        else if (!made) {
            fix->pure = false;
            fix->unknown |= !written_by_user(fix->error, name);
        }
        return;
    }
    for (int i = 0; i < fix->count; i++)
        if (fix->names[i] == name)
            return;
    if (fix->count == FIX_NAMES || !plain_value(v) ||
        (fix->elements += elements(v)) > FIX_ELEMENTS) {
        fix->pure = false;
        return;
    }
    fix->names[fix->count] = name;
    fix->values[fix->count++] = v;
}

static void walk(Fix *, const Node *);

/* A lone name between brackets may be an index, which is no variable. */
static void note_subscript(Fix *fix, const Node *n)
{
    bool unknown = fix->unknown;
    walk(fix, n);
    fix->unknown = unknown;
}

static bool small_number(const Node *n)
{
    return strlen(n->text) <= 4 && atol(n->text) <= FIX_COUNT;
}

/* ones(4), zeros(3): as good as a literal. */
static bool small_vector(const Fix *fix, const Node *call)
{
    const Op *op = op_find(fix->in, call->a->name);
    return op && op->counts && call->count == 1 && call->list[0]->kind == ND_INT &&
           small_number(call->list[0]);
}

static void walk_all(Fix *fix, const Node *n)
{
    walk(fix, n->a);
    walk(fix, n->b);
    walk(fix, n->c);
    for (uint32_t i = 0; n->list && i < n->count; i++)
        walk(fix, n->list[i]);
}

static void note_made(Fix *fix, const Node *n)
{
    if (n && n->name && fix->made_count < FIX_NAMES)
        fix->made[fix->made_count++] = n->name;
}

/* Names that the code itself binds (in index notation, in a lambda) are not looked for: of such
 * code only the form is checked. */
static void walk(Fix *fix, const Node *n)
{
    if (!n)
        return;
    switch (n->kind) {
    case ND_NAME:
        note_name(fix, n->name, false);
        return;
    case ND_INT:
        fix->pure &= small_number(n);
        return;
    case ND_CALL:
        if (n->a->kind == ND_NAME &&
            (!small_vector(fix, n) || variable(fix->in, n->a->name).tag != V_UNDEF))
            note_name(fix, n->a->name, true);
        else if (n->a->kind != ND_NAME)
            walk(fix, n->a);
        for (uint32_t i = 0; i < n->count; i++)
            walk(fix, n->list[i]);
        return;
    case ND_ASSIGN:
        fix->renames = true;
        walk(fix, n->b);
        fix->pure &= n->a->kind == ND_NAME;
        if (n->a->kind != ND_NAME)
            walk(fix, n->a);
        else
            note_made(fix, n->a);
        return;
    case ND_IMPORT:
        fix->pure = false;
        note_made(fix, n->b);
        for (uint32_t i = 0; i < n->count; i++)
            note_made(fix, n->list[i]);
        return;
    case ND_INDEX:
        walk(fix, n->a);
        for (uint32_t i = 0; i < n->count; i++)
            note_subscript(fix, n->list[i]);
        return;
    case ND_NONE: case ND_BOOL: case ND_FLOAT: case ND_IMAG: case ND_STRING: case ND_ELLIPSIS:
        return;
    case ND_VECTOR: case ND_MATRIX: case ND_ROW: case ND_TUPLE: case ND_NAMED: case ND_RANGE:
    case ND_UNARY: case ND_BINARY: case ND_COMPARE: case ND_AND: case ND_OR: case ND_NOT:
    case ND_TRANSPOSE: case ND_BLOCK:
        walk_all(fix, n);
        return;
    case ND_FIELD: case ND_OPASSIGN: case ND_PIPE:
        fix->pure = false;
        walk_all(fix, n);
        return;
    default:
        fix->pure = false;
    }
}

/* ---- running ---- */
static void module_bind(Fix *fix, Module *m)
{
    for (int i = 0; i < fix->count; i++) {
        uint32_t slot = globals_slot(&m->globals, fix->names[i]);
        slot_put(fix->in, &m->slots[slot], v_retain(fix->values[i]));
        m->assigned[slot] = 1;
    }
}

static void module_unbind(Interp *in, Module *m)
{
    for (uint32_t i = 0; i < m->globals.count; i++) {
        slot_put(in, &m->slots[i], v_undef());
        m->assigned[i] = 0;
    }
    while (m->chunk_count > 0)
        chunk_release(m->chunks[--m->chunk_count]);
}

/* Runs the fix where nobody hears or sees it. */
static void fix_run(Fix *fix, Chunk *chunk)
{
    Interp *in = fix->in;
    Module *m = in->fixes->module;
    module_bind(fix, m);
    in->explain = NULL;
    in->listener = NULL;
    in->out_mute = true;
    in->at = NULL;
    v_release(&in->ctx, run_chunk(in, m, chunk));
}

/* Parses the code (no program: it is prose, and stays), looks its names up, and runs it. */
static bool fix_try(Fix *fix, const char *code, size_t len)
{
    Interp *in = fix->in;
    Source *source = source_new(&in->ctx, "<help>", code, len);
    Guard g;
    guard_enter(in, &g);
    if (!ERR_TRY(&in->ctx, &g.frame)) {
        guard_restore(in, &g);
        source_release(source);
        return true;
    }
    fix->chunk = parse_source(&in->ctx, &in->names, source);
    ERR_END(&in->ctx, &g.frame);
    source_release(source);
    fix->pure = fix->chunk->root->count == 1;
    walk(fix, fix->chunk->root);
    if (fix->unknown)
        return false;
    if (fix->pure && !in->scope && !in->place && fix->error->kind != ERR_FFI)
        fix_run(fix, fix->chunk);
    return true;
}

/* An error of the fix itself: it does not hold. What the interpreter lacks (memory, a stack) says
 * nothing about it, and Ctrl-C has to be heard by the program. */
static bool fix_failed(Interp *in)
{
    ErrKind kind = in->ctx.error ? in->ctx.error->kind : ERR_MEMORY;
    if (kind == ERR_INTERRUPT)
        *in->ctx.interrupt = 1;
    return kind != ERR_MEMORY && kind != ERR_INTERRUPT;
}

typedef enum Verdict { FIX_PROSE, FIX_HOLDS, FIX_FAILS } Verdict;

static Verdict fix_holds(Interp *in, const Error *e, const char *code, size_t len)
{
    Fix fix = { .in = in, .error = e };
    struct Explain *explain = in->explain;
    bool mute = in->out_mute;
    uint8_t flow = in->flow;
    volatile bool holds = true;
    Guard g;
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        holds = fix_try(&fix, code, len);
        ERR_END(&in->ctx, &g.frame);
    } else {
        holds = !fix_failed(in);
    }
    guard_restore(in, &g);
    in->explain = explain;
    in->out_mute = mute;
    in->flow = flow;
    module_unbind(in, in->fixes->module);
    Verdict verdict = !fix.chunk ? FIX_PROSE : holds ? FIX_HOLDS : FIX_FAILS;
    if (fix.chunk)
        chunk_release(fix.chunk);
    return verdict;
}

/* The end of the first of several ways that are offered: `real(z), imag(z) or abs(z)`. */
static size_t first_way(const char *code, size_t len)
{
    int depth = 0;
    bool quoted = false;
    if (memmem(code, len, " = ", 3) || memmem(code, len, " := ", 4))
        return len;                                /* L, U = lu(A) is one */
    for (size_t i = 0; i < len; i++) {
        if (code[i] == '"')
            quoted = !quoted;
        else if (!quoted && (opens(code[i]) || closes(code[i])))
            depth += opens(code[i]) ? 1 : -1;
        else if (!quoted && depth == 0 &&
                 (strncmp(code + i, ", ", 2) == 0 || strncmp(code + i, " or ", 4) == 0))
            return i;
    }
    return len;
}

static bool is_word(const char *code, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!ascii_alnum(code[i]) && code[i] != '_')
            return false;
    return true;
}

/* Does each of the ways hold? If one of them is no code, or a mere word, they are a sentence. */
static bool ways_hold(Interp *in, const Error *e, const char *code, size_t len)
{
    bool hold = true;
    for (;;) {
        size_t n = first_way(code, len), skip = n < len ? (code[n] == ',' ? 2 : 4) : 0;
        Verdict verdict = is_word(code, n) ? FIX_PROSE : fix_holds(in, e, code, n);
        if (verdict == FIX_PROSE)
            return true;
        hold &= verdict == FIX_HOLDS;
        if (n + skip >= len)
            return hold;
        code += n + skip, len -= n + skip;
    }
}

static bool fixes_begin(Interp *in)
{
    ErrFrame frame;
    if (in->fixes)
        return true;
    if (!ERR_TRY(&in->ctx, &frame))
        return false;
    Module *m = module_new(in, "<help>");
    m->done = true;
    in->fixes = mem_zalloc(&in->ctx, sizeof *in->fixes);
    in->fixes->module = m;
    ERR_END(&in->ctx, &frame);
    return true;
}

static void help_drop(Error *e)
{
    free(e->help);
    e->help = NULL;
}

/* Leaves the offers of the help line that hold. */
static void help_sift(Interp *in, Error *e)
{
    Clause all[CLAUSES];
    int count = clauses(e->help, all), kept = 0;
    size_t n = 0;
    for (int i = 0; i < count; i++) {
        const Clause *c = &all[i];
        size_t len = c->to - c->code;
        const char *code = e->help + c->code;
        if (len > 0 && !memmem(code, len, "…", sizeof "…" - 1) && !ways_hold(in, e, code, len))
            continue;
        size_t from = kept++ ? all[i - 1].to : c->from;
        memmove(e->help + n, e->help + from, c->to - from);
        n += c->to - from;
    }
    e->help[n] = '\0';
    if (kept == 0)
        help_drop(e);
}

/* Takes off the help of an error what does not hold here. While it is raised: the values that it
 * speaks of are still there. Never raises. */
static void fix_check(Interp *in, Error *e)
{
    Clause all[CLAUSES];
    const Clause *last = &all[e->help ? clauses(e->help, all) - 1 : 0];
    if (e->help && !e->no_memory && last->code > 0 && quotes_nothing(e->help + last->code) &&
        !strstr(e->help + last->code, "…"))
        help_drop(e);
    if (!e->help || e->example || in->tries > 0 || (in->fixes && in->fixes->busy) ||
        e->kind == ERR_MEMORY || e->kind == ERR_INTERRUPT || e->kind == ERR_SYNTAX)
        return;
    Error *before = in->ctx.error;
    in->ctx.error = NULL;
    if (fixes_begin(in)) {
        in->fixes->busy = true;
        help_sift(in, e);
        in->fixes->busy = false;
    }
    err_free(in->ctx.error);
    in->ctx.error = before;
}

static void fixes_free(Interp *in)
{
    if (in->fixes)
        mem_free(&in->ctx, in->fixes, sizeof *in->fixes);
    in->fixes = NULL;
}

const Wing wing_fixes = { .raised = fix_check, .ended = fixes_free };
