/* The registry: an interpreter's rows, found by name and by operator, and what is kept of each (its
 * parameters, parsed; counts). The rows are handed to it (life.c takes those of builtins/table.c);
 * whoever runs an operation finds its row here, and nothing here runs one. */
#include "interp/op/optable.h"
#include "interp/op/op.h"

#include "core/base/error.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const operator_rows[TK_OPERATORS] = {
#define OPERATOR(id, symbol, ascii, op) [TK_##id] = op,
#include "lexer/ops.def"
#undef OPERATOR
};

int op_count(const Interp *in) { return in->ops->rows.count; }
const Op *op_row(const Interp *in, int i) { return &in->ops->rows.row[i]; }
int op_index(const OpTable *t, const Op *op)
{
    return op->added ? t->rows.count + op->added - 1 : (int)(op - t->rows.row);
}

/* ---- the index ---- */
static void index_names(Interp *in, OpTable *t)
{
    uint32_t most = 0, *id = arena_alloc(&t->arena, (size_t)t->rows.count * sizeof *id);
    for (int i = 0; i < t->rows.count; i++) {
        id[i] = names_intern(&in->names, t->rows.row[i].name, strlen(t->rows.row[i].name))->id;
        most = id[i] > most ? id[i] : most;
    }
    t->by_name_count = most + 1;
    t->by_name = mem_zalloc(t->ctx, t->by_name_count * sizeof *t->by_name);
    for (int i = t->rows.count - 1; i >= 0; i--)
        t->by_name[id[i]] = &t->rows.row[i];
}

void optable_fill(Kernel *k, EwOp ew, DType dt)
{
    DType compute = ew_compute_dtype(ew, dt);
    k->known = true;
    if (compute == DT_NONE)
        return;
    k->fn = ew_kernel(ew, compute);
    k->compute = (uint8_t)compute;
    k->result = (uint8_t)ew_result_dtype(ew, compute);
}

static void index_elementwise(Interp *in, OpTable *t)
{
    memset(t->operator_of, TK_OPERATORS, sizeof t->operator_of);
    for (int i = 0; i < TK_OPERATORS; i++) {
        const Name *name = names_find(&in->names, operator_rows[i], strlen(operator_rows[i]));
        t->by_operator[i] = name && name->id < t->by_name_count ? t->by_name[name->id] : NULL;
        if (t->by_operator[i] && t->by_operator[i]->cls == OPC_EW)
            t->operator_of[t->by_operator[i]->ew] = (uint8_t)i;
    }
}

/* What is kept per row lies in one block: the records, then the parsed parameters. */
static size_t per_row_bytes(const OpTable *t) { return sizeof *t->sigs + sizeof *t->records; }

/* Makes room for so many rows; what is known of those that are there stays. */
static void per_row(OpTable *t, int room)
{
    OpRecord *records = mem_zalloc(t->ctx, (size_t)room * per_row_bytes(t));
    OpSig **sigs = (OpSig **)(void *)(records + room);
    if (t->room) {
        memcpy(records, t->records, (size_t)t->room * sizeof *records);
        memcpy(sigs, t->sigs, (size_t)t->room * sizeof *sigs);
        mem_free(t->ctx, t->records, (size_t)t->room * per_row_bytes(t));
    }
    t->records = records;
    t->sigs = sigs;
    t->room = room;
}

void op_add(Interp *in, Op *op)
{
    OpTable *t = in->ops;
    int before = t->rows.count + t->added;
    if (before == t->room)
        per_row(t, before + before / 2);
    op->added = ++t->added;
}

/* ---- what the rows' files keep ---- */
struct OpKept {
    const OpState *kind;
    OpKept *next;
    max_align_t data[];
};

void *op_state(Interp *in, const OpState *kind)
{
    OpTable *t = in->ops;
    for (OpKept *k = t->kept; k; k = k->next)
        if (k->kind == kind)
            return k->data;
    OpKept *k = mem_zalloc(t->ctx, sizeof *k + kind->bytes);
    k->kind = kind;
    k->next = t->kept;
    t->kept = k;
    return k->data;
}

static void kept_free(OpTable *t)
{
    for (OpKept *next, *k = t->kept; k; k = next) {
        next = k->next;
        if (k->kind->clear)
            k->kind->clear(t->ctx, k->data);
        mem_free(t->ctx, k, sizeof *k + k->kind->bytes);
    }
}

/* ---- life ---- */
void optable_init(Interp *in, OpRows rows)
{
    Ctx *ctx = &in->ctx;
    OpTable *t = in->ops = mem_zalloc(ctx, sizeof *t);
    t->ctx = ctx;
    t->rows = rows;
    arena_init(&t->arena, ctx);
    per_row(t, rows.count);
    index_names(in, t);
    index_elementwise(in, t);
}

void optable_free(Interp *in)
{
    OpTable *t = in->ops;
    if (!t)
        return;
    kept_free(t);
    arena_free(&t->arena);
    mem_free(t->ctx, t->records, (size_t)t->room * per_row_bytes(t));
    mem_free(t->ctx, t->by_name, t->by_name_count * sizeof *t->by_name);
    mem_free(t->ctx, t, sizeof *t);
    in->ops = NULL;
}

/* ---- finding ---- */
const Op *op_find(Interp *in, const Name *name)
{
    return name->id < in->ops->by_name_count ? in->ops->by_name[name->id] : NULL;
}

const Op *op_named(Interp *in, const char *name)
{
    const Name *n = names_find(&in->names, name, strlen(name));
    const Op *op = n ? op_find(in, n) : NULL;
    if (!op)
        err_raise(&in->ctx, ERR_NAME, "the operation %s is not built yet", name);
    return op;
}

const Op *op_operator(Interp *in, Operator op) { return in->ops->by_operator[op]; }

OpRecord *op_record(Interp *in, const Op *op) { return &in->ops->records[op_index(in->ops, op)]; }

const char *op_closest(Interp *in, const char *text)
{
    const OpRows *rows = &in->ops->rows;
    const char **names = mem_alloc(&in->ctx, (size_t)rows->count * sizeof *names);
    for (int i = 0; i < rows->count; i++)
        names[i] = rows->row[i].name;
    const char *closest = err_closest(text, names, (size_t)rows->count);
    mem_free(&in->ctx, names, (size_t)rows->count * sizeof *names);
    return closest;
}

/* ---- parameters ---- */
typedef struct Piece { const char *name, *fallback; size_t name_len, fallback_len; bool variadic,
                       star; } Piece;

static const char *skip_spaces(const char *s)
{
    while (*s == ' ')
        s++;
    return s;
}

/* A default ends at a comma outside brackets and quotes. */
static const char *fallback_end(const char *s)
{
    int depth = 0;
    for (bool quoted = false; *s; s++) {
        if (*s == '"')
            quoted = !quoted;
        else if (quoted)
            continue;
        else if (*s == '(' || *s == '[')
            depth++;
        else if (*s == ')' || *s == ']')
            depth--;
        else if (*s == ',' && depth == 0)
            break;
    }
    return s;
}

/* Reads the next parameter of a row's text; false at its end. */
static bool next_piece(const char **at, Piece *p)
{
    const char *s = skip_spaces(*at);
    if (!*s)
        return false;
    *p = (Piece){ .name = s };
    if (*s == '*') {
        p->star = true;
        s++;
    } else {
        s += strcspn(s, "=,. ");
        p->name_len = (size_t)(s - p->name);
        if (strncmp(s, "...", 3) == 0) {
            p->variadic = true;
            s += 3;
        } else if (*s == '=') {
            p->fallback = ++s;
            s = fallback_end(s);
            p->fallback_len = (size_t)(s - p->fallback);
        }
    }
    s = skip_spaces(s);
    *at = *s == ',' ? s + 1 : s;
    return true;
}

static void put_param(Interp *in, OpParam *to, const Piece *p, bool keyword_only)
{
    to->name = names_intern(&in->names, p->name, p->name_len);
    to->fallback = p->fallback ? arena_copy(&in->ops->arena, p->fallback, p->fallback_len) : NULL;
    to->variadic = p->variadic;
    to->keyword_only = keyword_only;
}

static __attribute__((noinline)) OpSig *parse_params(Interp *in, const char *text)
{
    enum { MOST = 24 };
    Arena *arena = &in->ops->arena;
    OpSig *sig = arena_alloc(arena, sizeof *sig);
    OpParam *params = arena_alloc(arena, MOST * sizeof *params);
    bool by_name = false, optional = false;
    Piece p, rest = { 0 };
    const struct { const char *name; int *at; } known[] = {
        { "dtype", &sig->dtype }, { "device", &sig->device }, { "axis", &sig->axis },
        { "keepdims", &sig->keepdims },
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        *known[k].at = -1;
    for (const char *at = text ? text : ""; next_piece(&at, &p);) {
        if (p.star || p.variadic) {
            by_name = true;
            sig->variadic |= p.variadic;
            rest = p.variadic ? p : rest;
            continue;
        }
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (p.name_len == strlen(known[k].name) &&
                memcmp(p.name, known[k].name, p.name_len) == 0)
                *known[k].at = sig->fixed;
        put_param(in, &params[sig->fixed++], &p, by_name);
        optional |= p.fallback != NULL || by_name;
        sig->positional += by_name ? 0 : 1;
        sig->required += optional ? 0 : 1;
    }
    if (sig->variadic)
        put_param(in, &params[sig->fixed], &rest, false);
    sig->params = params;
    return sig;
}

const OpSig *op_sig(Interp *in, const Op *op)
{
    OpSig **slot = &in->ops->sigs[op_index(in->ops, op)];
    if (!*slot)
        *slot = parse_params(in, op->params);
    return *slot;
}

const char *op_label(const Op *op, char *out, size_t cap)
{
    bool sign = op->infix && op->written != WRITTEN_NAME;
    snprintf(out, cap, sign ? "`%s`" : "%s", sign ? op->infix : op->name);
    return out;
}

const char *op_signature(Interp *in, const Op *op, bool full)
{
    OpTable *t = in->ops;
    char *out = t->text[t->text_next++ % 4];
    size_t cap = sizeof t->text[0], len = 0;
    if (full) {
        snprintf(out, cap, "%s(%s)", op->name, op->params ? op->params : "");
        return out;
    }
    const OpSig *sig = op_sig(in, op);
    len += (size_t)snprintf(out, cap, "%s(", op->name);
    for (int i = 0; i < sig->required && len < cap; i++)
        len += (size_t)snprintf(out + len, cap - len, "%s%s", i ? ", " : "",
                                sig->params[i].name->text);
    if (sig->variadic && len < cap)
        len += (size_t)snprintf(out + len, cap - len, "%s%s...", sig->required ? ", " : "",
                                sig->params[sig->fixed].name->text);
    if (len < cap)
        snprintf(out + len, cap - len, ")");
    return out;
}
