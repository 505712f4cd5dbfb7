/* The registry: one const table made from the rows of the .def files, its index by name,
 * and what is derived from a row (parsed parameters, signature text). Whoever runs an
 * operation finds its row here; nothing here runs one. */
#include "builtins/devices.h"
#include "builtins/einsum.h"
#include "builtins/matmul.h"
#include "builtins/formats.h"
#include "builtins/rational.h"
#include "builtins/rows.h"

#include "core/error.h"
#include "interp/optable.h"
#include <stdio.h>
#include <string.h>

#define EW_ROW(id, name_, params_, kinds_, result_, real_, complex_, integer_, ...) \
    { .name = name_, .params = params_, .cls = OPC_EW, .ew = EW_##id, .dtypes = kinds_, \
      .section = "elementwise", .tried = true, .ulps = 1, .ulps_complex = 8, __VA_ARGS__ },
#define EW1 EW_ROW
#define EW2 EW_ROW
#define EW3 EW_ROW
#define OP(name_, ...) \
    { .name = #name_, .run = op_run_##name_, .section = SECTION, .devices = DEVICES, .tried = TRIED, __VA_ARGS__ },

/* A row may name its own section, what devices make of it, and whether it may be tried; text and files
 * are the host's. */
#define DEVICES 0
#define TRIED true
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const Op rows[] = {
#include "builtins/elementwise.def"
#define SECTION "elementwise"
#include "builtins/rounding.def"
#undef SECTION
#define SECTION "reductions"
#include "builtins/reductions.def"
#undef SECTION
#undef TRIED
#define TRIED false
#define SECTION "making"
#include "builtins/making.def"
#undef SECTION
#undef TRIED
#define TRIED true
#define SECTION "shape"
#include "builtins/shape.def"
#undef SECTION
#define SECTION "linear algebra"
#include "builtins/linalg.def"
#undef SECTION
#undef TRIED
#define TRIED false
#define SECTION "signals"
#include "builtins/signals.def"
#undef SECTION
#undef DEVICES
#define DEVICES DEV_HOST
#define SECTION "files"
#include "builtins/files.def"
#undef SECTION
#define SECTION "pictures"
#include "builtins/pictures.def"
#undef SECTION
#define SECTION "system"
#include "builtins/system.def"
#undef SECTION
#define SECTION "precision"
#include "builtins/precision.def"
#undef SECTION
#define SECTION "devices"
#include "builtins/place.def"
#undef SECTION
#define SECTION "strings"
#include "builtins/strings.def"
#undef SECTION
#define SECTION "native code"
#include "builtins/native.def"
#undef SECTION
};
#pragma GCC diagnostic pop
enum { ROWS = sizeof rows / sizeof rows[0] };

static const char *const operator_rows[TK_OPERATORS] = {
#define OPERATOR(id, symbol, ascii, op) [TK_##id] = op,
#include "parser/ops.def"
#undef OPERATOR
};

typedef Value (*OpRun)(OpCall *);

static const struct { const char *name; OpRun run; } exact_rows[] = {
#define EXACT(row, run_) { #row, op_exact_##run_ },
#define EXACT_OWN(row) { #row, op_run_##row },
#include "builtins/exact.def"
#undef EXACT
#undef EXACT_OWN
};

static const struct { const char *name; FormatFn run; } format_rows[] = {
#define FORMAT(row, run_) { #row, op_format_##run_ },
#include "builtins/formats.def"
#undef FORMAT
};

int op_count(void) { return ROWS; }
const Op *op_row(int i) { return &rows[i]; }
int op_index(const Op *op) { return op->added ? ROWS + op->added - 1 : (int)(op - rows); }

/* ---- the index ---- */
static void index_names(Interp *in, OpTable *t)
{
    uint32_t most = 0;
    for (int i = 0; i < ROWS; i++) {
        uint32_t id = names_intern(&in->names, rows[i].name, strlen(rows[i].name))->id;
        most = id > most ? id : most;
    }
    t->by_name_count = most + 1;
    t->by_name = mem_zalloc(t->ctx, t->by_name_count * sizeof *t->by_name);
    for (int i = ROWS - 1; i >= 0; i--)
        t->by_name[names_find(&in->names, rows[i].name, strlen(rows[i].name))->id] = &rows[i];
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

static void index_exact(OpTable *t)
{
    for (size_t k = 0; k < sizeof exact_rows / sizeof exact_rows[0]; k++)
        for (int i = 0; i < ROWS; i++)
            if (strcmp(rows[i].name, exact_rows[k].name) == 0)
                t->exact[i] = exact_rows[k].run;
}

OpRun op_exact(Interp *in, const Op *op) { return in->ops->exact[op_index(op)]; }

static void index_formats(OpTable *t)
{
    for (size_t k = 0; k < sizeof format_rows / sizeof format_rows[0]; k++)
        for (int i = 0; i < ROWS; i++)
            if (strcmp(rows[i].name, format_rows[k].name) == 0)
                t->format[i] = format_rows[k].run;
}

/* `math`: where in DevMath the routine stands that the form needs; 0: it needs none. */
static const struct { const char *name; DeviceForm run; size_t math; } device_rows[] = {
#define DEVICE_FORM(row, run_) { #row, op_device_##run_, 0 },
#define DEVICE_MATH(row, run_, entry) { #row, op_device_##run_, offsetof(Device, math.entry) },
#include "builtins/devices.def"
#undef DEVICE_FORM
#undef DEVICE_MATH
};

static void index_devices(OpTable *t)
{
    for (size_t k = 0; k < sizeof device_rows / sizeof device_rows[0]; k++)
        for (int i = 0; i < ROWS; i++)
            if (strcmp(rows[i].name, device_rows[k].name) == 0)
                t->device[i] = (uint8_t)(k + 1);
}

DeviceForm op_device(Interp *in, const Op *op, const Device *d)
{
    uint8_t k = in->ops->device[op_index(op)];
    DevStatus (*routine)(void) = NULL;
    if (!k)
        return NULL;
    if (device_rows[k - 1].math)
        memcpy(&routine, (const char *)d + device_rows[k - 1].math, sizeof routine);
    return device_rows[k - 1].math && !routine ? NULL : device_rows[k - 1].run;
}

FormatFn op_format(Interp *in, const Op *op) { return in->ops->format[op_index(op)]; }

/* What is kept per row lies in one block, in this order; row i of one of its arrays. */
static size_t per_row_bytes(const OpTable *t)
{
    return sizeof *t->sigs + sizeof *t->exact + sizeof *t->format + sizeof *t->records + sizeof *t->device;
}

static void *per_row_part(char **at, int room, size_t size, const void *old, int rows_there)
{
    char *part = *at;
    if (rows_there)
        memcpy(part, old, (size_t)rows_there * size);
    *at += (size_t)room * size;
    return part;
}

/* Makes room for so many rows; what is known of those that are there stays. */
static void per_row(OpTable *t, int room)
{
    size_t each = per_row_bytes(t);
    void *old = t->sigs;
    char *at = mem_zalloc(t->ctx, (size_t)room * each);
    t->sigs = per_row_part(&at, room, sizeof *t->sigs, t->sigs, t->room);
    t->exact = per_row_part(&at, room, sizeof *t->exact, t->exact, t->room);
    t->format = per_row_part(&at, room, sizeof *t->format, t->format, t->room);
    t->records = per_row_part(&at, room, sizeof *t->records, t->records, t->room);
    t->device = per_row_part(&at, room, sizeof *t->device, t->device, t->room);
    mem_free(t->ctx, old, (size_t)t->room * each);
    t->room = room;
}

void op_add(Interp *in, Op *op)
{
    OpTable *t = in->ops;
    int before = ROWS + t->added;
    if (before == t->room)
        per_row(t, before + before / 2);
    op->added = ++t->added;
}

void optable_init(Interp *in)
{
    Ctx *ctx = &in->ctx;
    OpTable *t = in->ops = mem_zalloc(ctx, sizeof *t);
    t->ctx = ctx;
    arena_init(&t->arena, ctx);
    per_row(t, ROWS);
    index_names(in, t);
    index_elementwise(in, t);
    index_exact(t);
    index_formats(t);
    index_devices(t);
}

void optable_free(Interp *in)
{
    OpTable *t = in->ops;
    if (!t)
        return;
    einsum_cache_free(t->ctx, t->einsum);
    matmul_cache_free(t->ctx, t->matmul);
    arena_free(&t->arena);
    mem_free(t->ctx, t->sigs, (size_t)t->room * per_row_bytes(t));
    mem_free(t->ctx, t->by_name, t->by_name_count * sizeof *t->by_name);
    mem_free(t->ctx, t, sizeof *t);
    in->ops = NULL;
}

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

OpRecord *op_record(Interp *in, const Op *op) { return &in->ops->records[op_index(op)]; }

const char *op_closest(const char *text)
{
    const char *names[ROWS];
    for (int i = 0; i < ROWS; i++)
        names[i] = rows[i].name;
    return err_closest(text, names, ROWS);
}

/* ---- parameters ---- */
typedef struct Piece { const char *name, *fallback; size_t name_len, fallback_len; bool variadic, star; } Piece;

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
    for (const char *at = text ? text : ""; next_piece(&at, &p);) {
        if (p.star || p.variadic) {
            by_name = true;
            sig->variadic |= p.variadic;
            rest = p.variadic ? p : rest;
            continue;
        }
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
    OpSig **slot = &in->ops->sigs[op_index(op)];
    if (!*slot)
        *slot = parse_params(in, op->params);
    return *slot;
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
        len += (size_t)snprintf(out + len, cap - len, "%s%s", i ? ", " : "", sig->params[i].name->text);
    if (sig->variadic && len < cap)
        len += (size_t)snprintf(out + len, cap - len, "%s%s...", sig->required ? ", " : "",
                                sig->params[sig->fixed].name->text);
    if (len < cap)
        snprintf(out + len, cap - len, ")");
    return out;
}
