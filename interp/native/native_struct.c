/* Structs, unions and C types as values: making them by calling the type, copy on write, equality,
 * and the text of every native value. Fields are read and written in native_pointer.c and
 * native_memory.c. */
#include "interp/native/native.h"

#include "interp/state/exec.h"
#include "interp/show/show.h"

#include <stdio.h>
#include <string.h>

/* ---- fields ---- */
static size_t add_names(const CRecord *r, const char **names, size_t n)
{
    for (uint32_t i = 0; i < r->count && n < NATIVE_FIELDS; i++)
        if (r->fields[i].name)
            names[n++] = r->fields[i].name;
        else if (r->fields[i].type->record)
            n = add_names(r->fields[i].type->record, names, n);
    return n;
}

size_t native_fields(const CType *record, const char *names[NATIVE_FIELDS])
{
    return add_names(record->record, names, 0);
}

static bool has_name(const CType *t) { return t->name || t->record->tag; }

/* The name that a program calls the type by. */
static const char *type_label(const CType *t)
{
    const char *name = t->name ? t->name : t->record && t->record->tag ? t->record->tag : "struct";
    if (strncmp(name, "struct ", 7) == 0)
        return name + 7;
    return strncmp(name, "union ", 6) == 0 ? name + 6 : name;
}

/* What gives an incomplete record its fields. */
static const char *fields_help(const CType *t)
{
    const char *libc = cdecl_of_libc(type_label(t));
    return libc ? libc : "declare its fields in an extern block";
}

static void push_keys(Interp *in, Value *tuple, const CRecord *r)
{
    for (uint32_t i = 0; i < r->count; i++) {
        const char *name = r->fields[i].name;
        if (name)
            tuple_push(&in->ctx, &tuple->tuple, NULL, v_str(str_new(&in->ctx, name, strlen(name))));
        else if (r->fields[i].type->record)
            push_keys(in, tuple, r->fields[i].type->record);
    }
}

Value native_keys(Interp *in, Value v)
{
    v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
    push_keys(in, in->sp - 1, ((const Struct *)v.ptr)->type->record);
    return *--in->sp;
}

/* ---- copy on write ---- */
void native_unshare(Interp *in, Value *slot)
{
    Struct *s = slot->ptr;
    if (slot->tag != V_STRUCT || s->native.refs == 1 || s->native.pinned)
        return;
    *slot = struct_copy(in, s);
    v_release(&in->ctx, v_native(V_STRUCT, s));
}

/* ---- making ---- */
typedef struct Making {
    Interp *in;
    CTypeValue *type;
    Struct *s;                       /* on the value stack */
    const char *label;
} Making;

/* The call node where the program names the type and gives the values one by one; NULL
 * elsewhere. */
static const Node *written_call(const Making *m)
{
    const Node *n = m->in->at ? m->in->at->node : NULL;
    bool named = n && n->kind == ND_CALL && (n->a->kind == ND_NAME || n->a->kind == ND_FIELD) &&
                 m->type->name;
    if (!named || strcmp(n->a->name->text, m->type->name) != 0)
        return NULL;
    for (uint32_t i = 0; i < n->count; i++)
        if (n->list[i]->kind == ND_SPREAD)
            return NULL;
    return n;
}

/* Which operand of the running call is the value at a position, or of a name; -1: none. */
static int operand_of(const Making *m, int position, const char *name)
{
    const Node *n = written_call(m);
    for (uint32_t i = 0; n && i < n->count; i++) {
        bool is_named = n->list[i]->kind == ND_NAMED;
        if (name ? is_named && strcmp(n->list[i]->name->text, name) == 0
                 : !is_named && position-- == 0)
            return (int)i;
    }
    return -1;
}

static void set_field(const Making *m, const CField *f, size_t offset, Value v, NativeWhere where)
{
    where.of = m->label;
    where.name = f->name;
    where.index = -1;
    where.item = where.operand < 0 ? 0 : where.item;
    NativePlace at = { .type = f->type,
                       .at = m->s->bytes + offset,
                       .owner = v_native(V_STRUCT, m->s) };
    native_write(m->in, at, v, &where, &m->s->keep);
}

static _Noreturn void raise_fields(const Making *m, int given)
{
    const char *names[NATIVE_FIELDS];
    char list[400] = "";
    size_t n = native_fields(m->s->type, names), at = 0;
    bool is_union = m->s->type->kind == CK_UNION;
    for (size_t i = 0; i < n && at < sizeof list - 1; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", names[i]);
    Error *e =
        is_union
            ? err_new(&m->in->ctx, ERR_FFI, "%s is a union: it takes one field, not %d", m->label,
                      given)
            : err_new(&m->in->ctx, ERR_FFI, "%s has %u field%s, but %d values were given", m->label,
                      m->s->type->record->count, m->s->type->record->count == 1 ? "" : "s", given);
    err_help(e, is_union ? "by its name: one of %s" : "its fields are %s", list);
    err_throw(e);
}

/* whole: the values are the items of one tuple, the only argument. */
static void set_positions(const Making *m, const Value *args, int count, bool whole)
{
    const CRecord *r = m->s->type->record;
    int most = m->s->type->kind == CK_UNION && r->count ? 1 : (int)r->count;
    if (count > most)
        raise_fields(m, count);
    for (int i = 0; i < count; i++) {
        NativeWhere where = { .operand = operand_of(m, whole ? 0 : i, NULL),
                              .item = whole ? (uint32_t)i + 1 : 0 };
        set_field(m, &r->fields[i], r->fields[i].offset, args[i], where);
    }
}

/* item: its number from 1 in the tuple that gives it; 0: the call does, by name. */
static void set_named(const Making *m, const Name *name, Value v, uint32_t item)
{
    size_t offset;
    const CField *f = ctype_field(m->s->type, name->text, name->len, &offset);
    if (!f)
        native_raise_no_field(m->in, m->s->type, name);
    NativeWhere where = { .operand = operand_of(m, 0, item ? NULL : name->text), .item = item };
    set_field(m, f, offset, v, where);
}

static void set_tuple(const Making *m, const Tuple *t)
{
    uint32_t named = 0;
    while (named < t->count && t->named && t->names[named])
        named++;
    if (named < t->count || t->count == 0) {
        set_positions(m, t->items, (int)t->count, true);
        return;
    }
    if (m->s->type->kind == CK_UNION && t->count > 1)
        raise_fields(m, (int)t->count);
    for (uint32_t i = 0; i < t->count; i++)
        set_named(m, t->names[i], t->items[i], i + 1);
}

/* point((1, 2)): all fields, unless the first one is what takes a tuple. */
static bool is_whole(const CType *t, Value v)
{
    const CRecord *r = t->record;
    if (v.tag != V_TUPLE || r->count == 0)
        return v.tag == V_TUPLE;
    CKind first = (CKind)r->fields[0].type->kind;
    bool nests = first == CK_ARRAY || first == CK_STRUCT || first == CK_UNION;
    if (!nests || (v.tuple->named && v.tuple->count && v.tuple->names[0] &&
                   ctype_field(t, v.tuple->names[0]->text, v.tuple->names[0]->len, &(size_t){ 0 })))
        return true;
    Tag inner = v.tuple->count ? (Tag)v.tuple->items[0].tag : V_NONE;
    return inner == V_TUPLE || inner == V_STRUCT || inner == V_STRING ||
           (inner == V_TENSOR && r->count > 1);
}

static Value make_record(Interp *in, CTypeValue *t, const Value *args, int count,
                         const Name *const *names, const Value *named, int named_count)
{
    if (!t->type->record->complete)
        err_raise_help(&in->ctx, ERR_FFI, fields_help(t->type),
                       "%s is incomplete here: what it holds is not known", type_label(t->type));
    if (count == 1 && !named_count && args[0].tag == V_STRUCT &&
        ctype_same(((Struct *)args[0].ptr)->type, t->type))
        return v_retain(args[0]);
    Value v = struct_new(in, t->type, NULL);
    v_push(in, v);
    Making m = { in, t, v.ptr, t->name ? t->name : type_label(t->type) };
    if (t->type->kind == CK_UNION && count + named_count > 1)
        raise_fields(&m, count + named_count);
    if (count == 1 && !named_count && is_whole(t->type, args[0]))
        set_tuple(&m, args[0].tuple);
    else
        set_positions(&m, args, count, false);
    for (int i = 0; i < named_count; i++)
        set_named(&m, names[i], named[i], 0);
    in->sp--;
    return v;
}

/* Of any other type: the value as C would hold it, checked: uint8_t(7), float(0.1), vec3(). */
static Value convert(Interp *in, CTypeValue *t, const Value *args, int count)
{
    size_t size = ctype_size(t->type);
    if (size == 0)
        err_raise(&in->ctx, ERR_FFI, "%s is no type of values", t->name);
    int64_t bytes = (int64_t)size;
    Tensor *cell = tensor_zeros(&in->ctx, DT_U8, 1, &bytes);
    v_push(in, v_tensor_raw(cell));
    if (t->type->kind == CK_POINTER && count == 1 && args[0].tag == V_POINTER) {
        const Pointer *p = args[0].ptr;
        Value v = pointer_as(in, p, t->type->of, p->bytes);
        stack_cut(in, in->sp - 1);
        return v;
    }
    Value *keep = in->sp;            /* what its pointers point to: those in the result hold it */
    v_push(in, v_undef());
    NativePlace at = { .type = t->type, .at = cell->data };
    if (count) {
        NativeWhere where = { .of = t->name, .index = -1, .operand = 0 };
        native_write(in, at, args[0], &where, keep);
    }
    at.owner = *keep;
    Value v = native_read(in, at);
    stack_cut(in, keep - 1);
    return v;
}

Value ctype_call(Interp *in, CTypeValue *t, const Value *args, int count,
                 const Name *const *names, const Value *named, int named_count)
{
    if (ctype_is_record(t->type))
        return make_record(in, t, args, count, names, named, named_count);
    if (count > 1 || named_count)
        err_raise(&in->ctx, ERR_TYPE, "%s(x) takes one value", t->name);
    return convert(in, t, args, count);
}

/* ---- equality ---- */
static bool same_value(const CType *t, const char *a, const char *b);

static bool same_record(const CType *t, const char *a, const char *b)
{
    if (t->kind == CK_UNION)
        return memcmp(a, b, ctype_size(t)) == 0;
    for (uint32_t i = 0; i < t->record->count; i++) {
        const CField *f = &t->record->fields[i];
        if (!same_value(f->type, a + f->offset, b + f->offset))
            return false;
    }
    return true;
}

static bool same_float(const CType *t, const char *a, const char *b)
{
    long double x = 0, y = 0;
    float f, g;
    double d, e;
    if (t->size == 4)
        return memcpy(&f, a, 4), memcpy(&g, b, 4), f == g;
    if (t->size == 8)
        return memcpy(&d, a, 8), memcpy(&e, b, 8), d == e;
    if (t->size == 2)
        return element_f64(native_dtype(t), a) == element_f64(native_dtype(t), b);
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x == y;
}

/* As C compares the values: padding does not count, -0.0 is 0.0, nan is nothing. */
static bool same_value(const CType *t, const char *a, const char *b)
{
    switch ((CKind)t->kind) {
    case CK_STRUCT:
    case CK_UNION: return same_record(t, a, b);
    case CK_FLOAT: return same_float(t, a, b);
    case CK_COMPLEX: {
        CType part = { .kind = CK_FLOAT, .size = t->size / 2 };
        return same_float(&part, a, b) && same_float(&part, a + part.size, b + part.size);
    }
    case CK_ARRAY: {
        size_t size = ctype_size(t->of);
        for (size_t i = 0; i < t->count; i++, a += size, b += size)
            if (!same_value(t->of, a, b))
                return false;
        return true;
    }
    default: return memcmp(a, b, t->size) == 0;
    }
}

bool struct_equal(const Struct *a, const Struct *b)
{
    return ctype_same(a->type, b->type) && same_record(a->type, a->bytes, b->bytes);
}

/* ---- text ---- */
const char *native_describe(Value v, char *out, size_t cap)
{
    if (v.tag == V_STRUCT) {
        const CType *t = ((const Struct *)v.ptr)->type;
        snprintf(out, cap, "%s %s", t->kind == CK_UNION ? "union" : "struct", type_label(t));
    } else {
        snprintf(out, cap, "%s", v.tag == V_CFUNC ? "C function" : v_type_name(v));
    }
    return out;
}

static void put_pointer(Buf *out, const CType *to, const void *at)
{
    if (!at) {
        buf_puts(out, "null");
        return;
    }
    const CType pointer = ctype_pointer_to(to);
    buf_putc(out, '<');
    ctype_text(out, &pointer);
    buf_printf(out, " %p>", at);
}

enum { SHOWN_TEXT = 200 };

typedef struct Peek {
    const char *at;
    size_t length;
} Peek;

static void peek_text(void *arg)
{
    Peek *p = arg;
    p->length = strnlen(p->at, SHOWN_TEXT);
}

/* A char * that points to nothing, or to no short text, shows as the pointer that it is. */
static bool show_pointer_field(Interp *in, Buf *out, const CType *t, const char *at)
{
    const char *to;
    if (t->kind != CK_POINTER)
        return false;
    memcpy(&to, at, sizeof to);
    Peek p = { to, SHOWN_TEXT };
    bool text = to && t->of->kind == CK_CHAR && native_guard(in, peek_text, &p) == 0;
    if (text && p.length < SHOWN_TEXT && utf8_check(to, p.length) == p.length)
        show_quoted(out, to, p.length);
    else
        put_pointer(out, t->of, to);
    return true;
}

/* Numbers over 2^63 are no ints, and reading the field is an error; showing it is none. */
static bool show_large_field(Buf *out, const CType *t, const char *at)
{
    const CType *element = t->kind == CK_ARRAY ? t->of : t;
    size_t count = t->kind == CK_ARRAY ? t->count : 1;
    bool large = false;
    uint64_t n;
    if (element->kind != CK_INT || !element->is_unsigned || element->size != sizeof n)
        return false;
    for (size_t i = 0; i < count && !large; i++) {
        memcpy(&n, at + i * sizeof n, sizeof n);
        large = n > INT64_MAX;
    }
    for (size_t i = 0; i < count && large; i++) {
        memcpy(&n, at + i * sizeof n, sizeof n);
        buf_printf(out, "%s%llu", i > 0 ? ", " : t->kind == CK_ARRAY ? "[" : "",
                   (unsigned long long)n);
    }
    if (large && t->kind == CK_ARRAY)
        buf_putc(out, ']');
    return large;
}

static void show_read(Interp *in, Buf *out, NativePlace place, bool repr)
{
    v_push(in, native_read(in, place));
    Value v = in->sp[-1];
    if (v.tag == V_STRING)
        show_quoted(out, v.str->text, v.str->len);
    else if (repr || (v.tag == V_TENSOR && v.tensor->rank > 1) || v.tag == V_TUPLE)
        show_repr(in, out, v);
    else
        show_value(in, out, v);
    stack_cut(in, in->sp - 1);
}

/* What cannot be read, bytes of char that are no text or texts at wild addresses, shows as its
 * type. */
static void show_field(Interp *in, Buf *out, NativePlace place, bool repr)
{
    size_t start = out->len;
    Guard g;
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        show_read(in, out, place, repr);
        ERR_END(&in->ctx, &g.frame);
        return;
    }
    guard_restore(in, &g);
    if (in->ctx.error->kind != ERR_FFI && in->ctx.error->kind != ERR_VALUE)
        err_rethrow(&in->ctx);
    err_free(in->ctx.error);
    in->ctx.error = NULL;
    out->len = start;
    buf_putc(out, '<');
    ctype_text(out, place.type);
    buf_putc(out, '>');
}

/* Of a union repr writes the first of its widest fields, which reads back as all of them. */
static uint32_t widest(const CType *t)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < t->record->count; i++)
        if (ctype_size(t->record->fields[i].type) > ctype_size(t->record->fields[best].type))
            best = i;
    return best;
}

static void put_record(Interp *in, Buf *out, Struct *s, const CType *t, char *bytes, bool repr,
                       bool *first)
{
    for (uint32_t i = 0; i < t->record->count; i++) {
        const CField *f = &t->record->fields[i];
        char *at = bytes + f->offset;
        if (repr && t->kind == CK_UNION && i != widest(t))
            continue;
        if (!f->name) {
            put_record(in, out, s, f->type, at, repr, first);
            continue;
        }
        buf_printf(out, "%s%s=", *first ? "" : ", ", f->name);
        *first = false;
        if (show_pointer_field(in, out, f->type, at) || show_large_field(out, f->type, at))
            continue;
        NativePlace place = { .type = f->type, .at = at, .owner = v_native(V_STRUCT, s) };
        show_field(in, out, place, repr);
    }
}

void show_native(Interp *in, Buf *out, Value v, bool repr)
{
    switch ((Tag)v.tag) {
    case V_POINTER: {
        const Pointer *p = v.ptr;
        put_pointer(out, p->to, p->at);
        break;
    }
    case V_CTYPE:
        buf_puts(out, ((const CTypeValue *)v.ptr)->name);
        break;
    case V_CFUNC: {
        const CFunction *f = v.ptr;
        if (repr) {
            buf_puts(out, f->name);
            break;
        }
        native_prototype(out, f->type, f->name);
        break;
    }
    default: {
        Struct *s = v.ptr;
        bool first = true;
        /* else as a named tuple, which makes one where it is a field */
        if (has_name(s->type))
            buf_puts(out, type_label(s->type));
        buf_putc(out, '(');
        put_record(in, out, s, s->type, s->bytes, repr, &first);
        buf_putc(out, ')');
    }
    }
}
