/* t.x: fields of tuples and members of modules, and the errors that answer what other
 * languages write there (A.T, x.shape, v.sum()). Reading, setting and adding fields; the
 * string form t["x"] comes here too. */

#include "interp/state/kind.h"
#include "interp/index/index.h"
#include "interp/show/place_facts.h"
#include "interp/op/peers.h"
#include "interp/op/texts.h"
#include "interp/output/fix_text.h"
#include "interp/device/place.h"
#include "interp/state/stdlib_files.h"
#include "core/system/ascii.h"

#include <string.h>

/* ---- unknown fields ---- */

enum { FIELDS_SHOWN = 8 };

static void list_fields(Buf *out, const Tuple *t)
{
    uint32_t shown = 0, named = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        if (!t->names[i])
            continue;
        if (named++ < FIELDS_SHOWN)
            buf_printf(out, shown++ ? ", %s" : "%s", t->names[i]->text);
    }
    if (named > shown)
        buf_printf(out, " and %u more", named - shown);
}

static const char *closest_field(const Tuple *t, const char *text)
{
    const char *names[64];
    size_t count = 0;
    for (uint32_t i = 0; i < t->count && count < 64; i++)
        if (t->names[i])
            names[count++] = t->names[i]->text;
    return err_closest(text, names, count);
}

/* Does ( follow the field that the error points at: t.items()? */
static bool is_called(const Error *e)
{
    const Source *s = e->where.source;
    return s && e->where.mark.to < s->len && s->text[e->where.mark.to] == '(';
}

/* t.columns, and not t["columns"]; what an operation is called says nothing of a tuple. */
static bool is_field_alone(Interp *in, const Error *e, const char *text, size_t len)
{
    const Source *s = e->where.source;
    const Name *name = names_find(&in->names, text, len);
    uint32_t from = e->where.mark.from;
    return s && from > 0 && from <= s->len && s->text[from - 1] == '.' && name &&
           !op_find(in, name);
}

static void each_text(Interp *, Error *, const char *operand);

static _Noreturn void raise_no_field(Interp *in, const Tuple *t, const char *text, size_t len)
{
    Ctx *ctx = &in->ctx;
    const char *name = err_operand_text(ctx, 0);
    int cut = len > 60 ? 60 : (int)len;
    if (!t->names) {
        Error *e = err_new(ctx, ERR_NAME, "%s has no field %.*s: its items have no names", name,
                           cut, text);
        if (peer_translate(in, e, FOREIGN_FIELD, e->where.mark.from))
            each_text(in, e, name);
        err_throw(e);
    }
    char fields[400];
    Buf b;
    buf_init(&b, ctx);
    list_fields(&b, t);
    size_t n = b.len < sizeof fields - 1 ? b.len : sizeof fields - 1;
    memcpy(fields, buf_cstr(&b), n);
    fields[n] = '\0';
    buf_free(&b);
    Error *e = err_new(ctx, ERR_NAME, "%s has no field %.*s; it has %s", name, cut, text, fields);
    const char *meant = closest_field(t, text);
    if (meant)
        err_help(e, "did you mean %s?", meant);
    else if (is_called(e) || is_field_alone(in, e, text, len))
        peer_translate(in, e, FOREIGN_FIELD, e->where.mark.from);
    err_throw(e);
}

int64_t tuple_field(Interp *in, const Tuple *t, const char *text, size_t len)
{
    const Name *name = names_find(&in->names, text, len);
    int64_t i = tuple_find(t, name);
    if (i < 0)
        raise_no_field(in, t, text, len);
    return i;
}

/* ---- what other languages write ---- */

typedef struct Foreign {
    const char *field, *write;   /* %s: the value as the user wrote it */
} Foreign;

static const Foreign foreign[] = {
    { "T", "%s'" }, { "H", "%s'" }, { "mT", "%s'" }, { "t", "%s'" },
    { "length", "len(%s)" }, { "len", "len(%s)" }, { "astype", "f32(%s)" }, { "item", "float(%s)" },
    { "nelement", "size(%s)" }, { "numel", "size(%s)" }, { "view", "reshape(%s, …)" },
    { "dim", "ndim(%s)" }, { "rank", "ndim(%s)" }, { "ndims", "ndim(%s)" }, { "to", "to(%s, …)" },
    { "ravel", "flatten(%s)" }, { "conjugate", "conj(%s)" }, { "matmul", "%s @ …" },
    { "double", "f64(%s)" }, { "half", "f16(%s)" }, { "cuda", "to(%s, gpu)" },
    { "toUpperCase", "upper(%s)" }, { "toLowerCase", "lower(%s)" }, { "push", "append(%s, …)" },
    { "items", "zip(keys(%s), …)" },
};

static const Foreign *foreign_find(const char *field)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strcmp(foreign[i].field, field) == 0)
            return &foreign[i];
    return NULL;
}

/* Puts `form` with its %s replaced into out. */
static void fill_form(char *out, size_t cap, const char *form, const char *value)
{
    size_t at = (size_t)(strstr(form, "%s") - form), len = strlen(value);
    out[0] = '\0';
    if (strlen(form) + len >= cap)
        return;
    memcpy(out, form, at);
    memcpy(out + at, value, len);
    strcpy(out + at + len, form + at + 2);
}

/* The text of what stands before the point: in parentheses if it is no plain operand. */
static const char *operand_or_x(Interp *in)
{
    const char *text = subscript_text(in, 0);
    return text ? text : "x";
}

/* The help calls a row of one string with a tuple of them: it is made to call it of each. */
static void each_text(Interp *in, Error *e, const char *operand)
{
    char fixed[200];
    const char *code = e->help;
    size_t n = strlen(operand);
    for (const char *p = code ? strstr(code, operand) : NULL; p; p = strstr(p + n, operand)) {
        size_t open = (size_t)(p - code), from;
        if (open == 0 || code[--open] != '(')
            continue;
        for (from = open; from > 0; from--)
            if (!ascii_alnum(code[from - 1]) && code[from - 1] != '_')
                break;
        const Name *name = names_find(&in->names, code + from, open - from);
        const Op *op = name ? op_find(in, name) : NULL;
        if (op && op->one_text && fix_each(code, from, operand, fixed, sizeof fixed)) {
            err_help(e, "%s", fixed);
            return;
        }
    }
}

static _Noreturn void raise_no_fields(Interp *in, Value base, const Name *name)
{
    char what[80], form[160];
    const char *text = operand_or_x(in);
    const Foreign *f = foreign_find(name->text);
    Error *e = err_new(&in->ctx, ERR_NAME, "%s is %s and has no field %s",
                       err_operand_text(&in->ctx, 0), v_describe_a(base, what, sizeof what),
                       name->text);
    bool texts = texts_is(base);
    if (base.tag == V_OP) {                 /* a module elsewhere: fft.fft, sparse.eye */
        const char *peer = peer_name(name->text);
        if ((e->where.operands == 0 ||
             !peer_translate(in, e, FOREIGN_NAME, e->where.operand[0].from)) && peer) {
            err_help(e, "%s", peer);
            e->example = peer;
        }
        err_throw(e);
    }
    if (peer_translate(in, e, FOREIGN_FIELD, e->where.mark.from)) {
        if (texts)
            each_text(in, e, text);
        err_throw(e);
    }
    if (f) {
        fill_form(form, sizeof form, f->write, text);
        err_help(e, "%s", form);
    } else if (op_find(in, name)) {
        err_help(e, "%s(%s)", name->text, text);
        if (texts)
            each_text(in, e, text);
    } else if (base.tag == V_TENSOR && base.tensor->rank == 2 && e->where.operands > 0) {
        err_help(e, "a column is %s[:, 0]; load(\"data.csv\", columns=true) keeps their names",
                 err_operand_text(&in->ctx, 0));
    }
    err_throw(e);
}

/* ---- members of modules ---- */
/* Sources of the standard library are called <stdlib:NAME>; what has no help there is its own. */
#define STDLIB "<stdlib:"

Value module_member(Interp *in, Module *m, const Name *name)
{
    int64_t i = globals_find(&m->globals, name);
    if (i >= 0 && m->slots[i].tag != V_UNDEF)
        return v_share(in, m->slots[i]);
    const char *names[1024];
    size_t n = 0;
    bool stdlib = strncmp(m->name, STDLIB, sizeof STDLIB - 1) == 0;
    for (uint32_t k = 0; k < m->globals.count && n < 1024; k++)
        if (m->slots[k].tag != V_UNDEF &&
            (!stdlib || m->docs[k] || module_of_stdlib(m->globals.names[k]->text)))
            names[n++] = m->globals.names[k]->text;
    const char *closest = err_closest(name->text, names, n), *shown = m->name;
    int length = (int)strlen(shown);
    if (stdlib)
        shown += sizeof STDLIB - 1, length -= (int)sizeof STDLIB;
    Error *e = err_new(&in->ctx, ERR_NAME, "the module %.*s has no `%s`", length, shown,
                       name->text);
    if (op_find(in, name))
        err_help(e, "it is built in and has no prefix: %s", name->text);
    else if (stdlib && peer_name(name->text))
        err_help(e, "%s", peer_name(name->text));
    else if (closest)
        err_help(e, "did you mean `%s`?", closest);
    err_throw(e);
}

/* ---- reading and writing ---- */

Value field_get(Interp *in, Value base, const Name *name)
{
    if (base.tag == V_MODULE)
        return module_member(in, base.module, name);
    if (base.tag == V_DEVICE)
        return place_field(in, base.device, name);
    if (v_kind(base) && v_kind(base)->field)
        return v_kind(base)->field(in, base, name);
    if (base.tag != V_TUPLE)
        raise_no_fields(in, base, name);
    int64_t i = tuple_find(base.tuple, name);
    if (i >= 0)
        return v_retain(base.tuple->items[i]);
    if (!base.tuple->names && (foreign_find(name->text) || op_find(in, name)))
        raise_no_fields(in, base, name);
    raise_no_field(in, base.tuple, name->text, name->len);
}

/* v is kept on the value stack meanwhile: t.x = t must see t as shared. */
void field_set(Interp *in, Value *slot, const Name *name, Value v)
{
    Ctx *ctx = &in->ctx;
    if (v_kind(*slot) && v_kind(*slot)->field_set) {
        v_kind(*slot)->field_set(in, slot, name, v);
        return;
    }
    if (slot->tag != V_TUPLE) {
        char what[80];
        err_raise(ctx, ERR_TYPE, "only a tuple has fields that can be set; this is %s",
                  v_describe_a(*slot, what, sizeof what));
    }
    v_push(in, v_retain(v));
    int64_t i = tuple_find(slot->tuple, name);
    if (i < 0) {
        tuple_push(ctx, &slot->tuple, name, v_retain(v));
    } else {
        tuple_unshare(ctx, &slot->tuple);
        Value old = slot->tuple->items[i];
        slot->tuple->items[i] = v_retain(v);
        v_release(ctx, old);
    }
    stack_cut(in, in->sp - 1);
}

Value *field_slot(Interp *in, Value *slot, const Name *name)
{
    if (slot->tag != V_TUPLE)
        return NULL;
    int64_t i = tuple_find(slot->tuple, name);
    if (i < 0)
        return NULL;
    tuple_unshare(&in->ctx, &slot->tuple);
    return &slot->tuple->items[i];
}
