/* A value of any C type at an address: what fields, elements of pointers and pointers' targets
 * read and write. Numbers go through native_load and native_store; arrays are tensors, texts of
 * char, or tuples; records are structs. Memory that nobody vouches for is touched by native_copy
 * alone, under native_guard, so that a wild pointer is an error. */
#include "interp/native/native_call.h"
#include "interp/state/pinned.h"

#include <stdio.h>
#include <string.h>

enum { CELL = 32 };              /* the largest scalar of C: long double _Complex */

const char *native_type_text(Interp *in, const CType *t, char *out, size_t cap)
{
    Buf text;
    buf_init(&text, &in->ctx);
    ctype_text(&text, t);
    snprintf(out, cap, "%s", buf_cstr(&text));
    buf_free(&text);
    return out;
}

void native_keep(Interp *in, Value *keep, Value v)
{
    if (!v_is_object(v))
        return;
    if (keep->tag != V_TUPLE)
        *keep = v_tuple(tuple_new(&in->ctx, 0));
    tuple_push(&in->ctx, &keep->tuple, NULL, v_retain(v));
}

/* ---- memory of C's ---- */

typedef struct Move {
    void *to;
    const void *from;
    size_t bytes;
} Move;

static void move_bytes(void *arg)
{
    Move *m = arg;
    memcpy(m->to, m->from, m->bytes);
}

static _Noreturn void raise_wild(Interp *in, const void *at, size_t bytes, bool writes)
{
    char many[40];
    snprintf(many, sizeof many, bytes == 1 ? "the byte" : "%zu bytes", bytes);
    Error *e = err_new(&in->ctx, ERR_FFI, "%s at %p cannot be %s: there is no such memory%s", many,
                       at, writes ? "written" : "read", writes ? ", or it is read-only" : "");
    err_help(e, "the pointer is wild, or what it pointed to was freed");
    err_throw(e);
}

void native_copy(Interp *in, void *to, const void *from, size_t bytes, bool guarded, bool writes)
{
    Move m = { to, from, bytes };
    if (!guarded)
        move_bytes(&m);
    else if (native_guard(in, move_bytes, &m))
        raise_wild(in, writes ? to : from, bytes, writes);
}

typedef struct Scan {
    const char *at;
    size_t most, length;
} Scan;

static void scan_text(void *arg)
{
    Scan *s = arg;
    s->length = strnlen(s->at, s->most);
}

size_t native_text_length(Interp *in, const char *at, size_t most, bool guarded)
{
    Scan s = { at, most, 0 };
    if (!guarded)
        scan_text(&s);
    else if (native_guard(in, scan_text, &s))
        raise_wild(in, at, 1, false);
    return s.length;
}

Value native_text_value(Interp *in, const char *at, size_t most, bool ends, bool guarded)
{
    size_t n = native_text_length(in, at, most, guarded);
    if (n == most && !ends)
        err_raise_help(&in->ctx, ERR_FFI, "say how many bytes are the text: cstring(p, …)",
                       "the %zu bytes that are known to be there hold no NUL", most);
    if (utf8_check(at, n) != n)
        err_raise_help(&in->ctx, ERR_FFI, "copy the bytes: as_tensor(p, u8, …)",
                       "the %zu bytes are no UTF-8 text", n);
    return v_str(str_new(&in->ctx, at, n));
}

/* ---- arrays ---- */
typedef struct Layout {
    const CType *leaf;
    int rank;
    int64_t shape[TENSOR_RANK_MAX];
    DType dtype;                 /* of a tensor with its elements; DT_NONE: a tuple of them */
    bool text;                   /* char: the last axis is a text */
} Layout;

/* The dtype that holds every value of an element, which need not have its width. */
static DType leaf_dtype(const CType *t)
{
    static const DType narrow[2][2] = { { DT_I8, DT_I32 }, { DT_U8, DT_I32 } };
    switch (t->kind) {
    case CK_BOOL: return DT_BOOL;
    case CK_CHAR: return DT_I8;
    case CK_INT:
    case CK_ENUM:
        return t->size <= 2 ? narrow[t->is_unsigned][t->size - 1]
             : t->size == 4 && !t->is_unsigned ? DT_I32 : DT_I64;
    case CK_FLOAT:
        return t->size > 8 ? DT_F64 : native_dtype(t);
    case CK_COMPLEX: return t->size == 8 ? DT_C64 : DT_C128;
    default: return DT_NONE;
    }
}

static bool same_bytes(const CType *t, DType dt)
{
    return t->size == dtype_info(dt)->bytes && !(t->is_unsigned && t->size == 8);
}

static void layout_of(Layout *l, const CType *t)
{
    *l = (Layout){ 0 };
    while (t->kind == CK_ARRAY && l->rank < TENSOR_RANK_MAX) {
        l->shape[l->rank++] = (int64_t)t->count;
        t = t->of;
    }
    l->leaf = t;
    l->text = t->kind == CK_CHAR;
    l->dtype = l->text ? DT_NONE : leaf_dtype(t);
}

static void load_elements(Interp *in, const CType *leaf, Tensor *out, const char *bytes)
{
    for (int64_t i = 0; i < out->size; i++, bytes += leaf->size) {
        if (leaf->kind == CK_FLOAT || leaf->kind == CK_COMPLEX) {
            long double part[2] = { 0 };
            memcpy(part, bytes, leaf->size);
            int parts = leaf->kind == CK_FLOAT ? 1 : 2;
            for (int k = 0; k < parts; k++)
                ((double *)out->data)[i * parts + k] = (double)part[k];
            continue;
        }
        int64_t v = native_get_int(leaf, bytes);
        if (leaf->is_unsigned && v < 0)
            err_raise(&in->ctx, ERR_VALUE, "element %lld is %llu, which does not fit an i64",
                      (long long)i, (unsigned long long)v);
        if (out->dtype == DT_I32)
            ((int32_t *)out->data)[i] = (int32_t)v;
        else
            ((int64_t *)out->data)[i] = v;
    }
}

static Value read_numbers(Interp *in, const NativePlace *p, const Layout *l)
{
    Tensor *out = tensor_new(&in->ctx, l->dtype, l->rank, l->shape);
    v_push(in, v_tensor_raw(out));
    size_t bytes = (size_t)out->size * l->leaf->size;
    if (same_bytes(l->leaf, l->dtype)) {
        native_copy(in, out->data, p->at, bytes, p->guarded, false);
    } else if (!p->guarded) {
        load_elements(in, l->leaf, out, p->at);
    } else {
        int64_t n = (int64_t)bytes;
        Tensor *raw = tensor_new(&in->ctx, DT_U8, 1, &n);
        v_push(in, v_tensor_raw(raw));
        native_copy(in, raw->data, p->at, bytes, true, false);
        load_elements(in, l->leaf, out, raw->data);
        stack_cut(in, in->sp - 1);
    }
    native_bools(out);
    in->sp--;
    return v_tensor_raw(out);
}

static Value read_text(Interp *in, const NativePlace *p)
{
    size_t n = native_text_length(in, p->at, p->type->count, p->guarded);
    if (utf8_check(p->at, n) != n)
        err_raise_help(&in->ctx, ERR_FFI, "declare it `unsigned char`: it is a u8 tensor then",
                       "the char array holds bytes that are no UTF-8 text");
    return v_str(str_new(&in->ctx, p->at, n));
}

static Value read_array(Interp *in, NativePlace p)
{
    Layout l;
    layout_of(&l, p.type);
    if (l.text && l.rank == 1)
        return read_text(in, &p);
    if (l.dtype != DT_NONE)
        return read_numbers(in, &p, &l);
    v_check_depth(in);
    if (p.type->count > UINT32_MAX)
        err_raise(&in->ctx, ERR_MEMORY, "a tuple cannot hold that many items");
    const CType *item = p.type->of;
    size_t count = p.type->count, size = ctype_size(item);
    Tuple *t = tuple_new(&in->ctx, (uint64_t)count);
    v_push(in, v_tuple(t));
    p.type = item;
    for (size_t i = 0; i < count; i++, p.at += size)
        t->items[i] = native_read(in, p);
    in->sp--;
    return v_tuple(t);
}

/* ---- reading ---- */
static _Noreturn void raise_incomplete(Interp *in, const CType *t)
{
    char text[96];
    native_type_text(in, t, text, sizeof text);
    err_raise_help(&in->ctx, ERR_FFI, "declare its fields, or pass its pointer on to C",
                   "%s is incomplete here: what it holds is not known", text);
}

/* What pointers in the memory of `owner` point to: a struct keeps it in a tuple, which may be the
 * owner itself. */
static Value kept_with(Value owner)
{
    return owner.tag == V_STRUCT ? ((Struct *)owner.ptr)->keep : owner.tag == V_TUPLE
           ? owner : v_undef();
}

static Value read_record(Interp *in, const NativePlace *p)
{
    if (!p->type->record->complete)
        raise_incomplete(in, p->type);
    Value v = struct_new(in, p->type, NULL);
    Struct *s = v.ptr;
    v_push(in, v);
    native_copy(in, s->bytes, p->at, s->size, p->guarded, false);
    s->keep = v_retain(kept_with(p->owner));
    in->sp--;
    return v;
}

/* Where `to` points into v, or into an item of the tuple v: what holds that memory, and where it
 * begins. */
static Value kept_at(Value v, const char *to, char **at, size_t *bytes)
{
    Value found = v_undef();
    if (v.tag == V_TUPLE) {
        for (uint32_t i = v.tuple->count; i > 0 && found.tag == V_UNDEF; i--)
            found = kept_at(v.tuple->items[i - 1], to, at, bytes);
        return found;
    }
    if (v.tag == V_TENSOR)
        *at = v.tensor->data, *bytes = (size_t)v.tensor->size * dtype_info(v.tensor->dtype)->bytes;
    else if (v.tag == V_STRING)
        *at = v.str->text, *bytes = v.str->len + 1;
    else if (v.tag == V_STRUCT)
        *at = ((Struct *)v.ptr)->bytes, *bytes = ((Struct *)v.ptr)->size;
    else
        return found;
    return to >= *at && to < *at + *bytes ? v : found;
}

/* ---- what a struct keeps ---- */
enum { KEPT_MANY = 16, SCANNED = 1 << 16 };

/* Does some word of these bytes point into v? Packed structs have words anywhere. */
static bool bytes_point_into(const char *bytes, size_t n, Value v)
{
    char *at;
    size_t size;
    for (size_t i = 0; i + sizeof(char *) <= n; i++) {
        const char *to;
        memcpy(&to, bytes + i, sizeof to);
        if (kept_at(v, to, &at, &size).tag != V_UNDEF)
            return true;
    }
    return false;
}

/* From a struct's own bytes, or from kept memory that lists pointers (native_room); structs and
 * tuples that are kept hold by themselves what they point to. */
static bool still_needed(const Struct *s, const Tuple *keep, const bool *live, Value v)
{
    if (bytes_point_into(s->bytes, s->size, v))
        return true;
    for (uint32_t i = 0; i < keep->count; i++) {
        Value by = keep->items[i];
        if (live[i] && by.tag == V_TENSOR && by.tensor->dtype == DT_U8 &&
            bytes_point_into(by.tensor->data, (size_t)by.tensor->size, v))
            return true;
    }
    return false;
}

void native_forget_kept(Interp *in, Struct *s)
{
    Tuple *keep = s->keep.tag == V_TUPLE ? s->keep.tuple : NULL;
    if (!keep || keep->count < KEPT_MANY || (keep->count & (keep->count - 1)) || s->native.pinned ||
        s->size > SCANNED)
        return;
    int64_t n = keep->count;
    Tensor *marks = tensor_zeros(&in->ctx, DT_BOOL, 1, &n);
    v_push(in, v_tensor_raw(marks));
    bool *live = (bool *)marks->data, more = true;
    while (more) {
        more = false;
        for (uint32_t i = 0; i < keep->count; i++)
            if (!live[i] && still_needed(s, keep, live, keep->items[i]))
                live[i] = more = true;
    }
    Value fresh = v_undef();
    v_push(in, fresh);
    for (uint32_t i = 0; i < keep->count; i++)
        if (live[i])
            native_keep(in, in->sp - 1, keep->items[i]);
    Value old = s->keep;
    s->keep = *--in->sp;
    v_release(&in->ctx, old);
    stack_cut(in, in->sp - 1);
}

/* A pointer out of a struct: into a value that the struct keeps, which only a pinned one lets it
 * change, or where C says. */
static Value pointer_kept(Interp *in, const CType *type, char *to, Value keep)
{
    char *at;
    size_t bytes;
    Value owner = kept_at(keep, to, &at, &bytes);
    if (owner.tag == V_UNDEF)
        return pointer_new(in, type, to, keep, SIZE_MAX);
    Value v = pointer_new(in, type, to, owner, (size_t)(at + bytes - to));
    ((Pointer *)v.ptr)->before = (size_t)(to - at);
    ((Pointer *)v.ptr)->readonly = !value_is_pinned(owner);
    return v;
}

static Value read_pointer(Interp *in, const NativePlace *p)
{
    char *to;
    native_copy(in, &to, p->at, sizeof to, p->guarded, false);
    if (!to)
        return pointer_new(in, p->type->of, NULL, v_undef(), 0);
    if (p->type->of->kind == CK_FUNCTION) {
        void (*code)(void);
        memcpy(&code, &to, sizeof code);
        return cfunction_new(in, p->type->of, "the function", code);
    }
    if (p->type->of->kind != CK_CHAR)
        return pointer_kept(in, p->type->of, to, kept_with(p->owner));
    size_t n = native_text_length(in, to, PTRDIFF_MAX, true);
    if (utf8_check(to, n) != n)
        err_raise_help(&in->ctx, ERR_FFI,
                       "declare it `unsigned char *`, and copy the bytes with as_tensor",
                       "the char * points to bytes that are no UTF-8 text");
    return v_str(str_new(&in->ctx, to, n));
}

Value native_read(Interp *in, NativePlace p)
{
    _Alignas(16) char cell[CELL];
    switch ((CKind)p.type->kind) {
    case CK_ARRAY: return read_array(in, p);
    case CK_STRUCT:
    case CK_UNION: return read_record(in, &p);
    case CK_POINTER: return read_pointer(in, &p);
    case CK_VOID:
    case CK_FUNCTION: raise_incomplete(in, p.type);
    default: break;
    }
    native_copy(in, cell, p.at, p.type->size, p.guarded, false);
    return native_load(in, p.type, cell, v_undef());
}

/* ---- writing ---- */
static _Noreturn void raise_unlike(Interp *in, const CType *t, Value v, const NativeWhere *where,
                                   const char *help)
{
    char type[96], what[96];
    native_type_text(in, t, type, sizeof type);
    Error *e = err_new(&in->ctx, ERR_FFI, "%s%s%s is of type %s and cannot take %s", where->of,
                       where->name ? "." : "", where->name ? where->name : "", type,
                       v_describe_a(v, what, sizeof what));
    if (where->operand >= 0)
        err_underline(e, where->operand);
    if (help)
        err_help(e, "%s", help);
    err_throw(e);
}

static void write_text(Interp *in, const NativePlace *p, Value v, const NativeWhere *where)
{
    size_t room = p->type->count;
    if (v.str->len > room)
        err_raise(&in->ctx, ERR_FFI, "%s%s%s holds %zu chars, and the text has %zu", where->of,
                  where->name ? "." : "", where->name ? where->name : "", room, v.str->len);
    int64_t n = (int64_t)room;
    Tensor *bytes = tensor_zeros(&in->ctx, DT_U8, 1, &n);
    v_push(in, v_tensor_raw(bytes));
    memcpy(bytes->data, v.str->text, v.str->len);
    native_copy(in, p->at, bytes->data, room, p->guarded, true);
    stack_cut(in, in->sp - 1);
}

static bool int_fits(const CType *t, int64_t i)
{
    int64_t low, high;
    native_range(t, &low, &high);
    return i >= low && i <= high;
}

/* Elements of a dense tensor as the leaf's, where their bytes are not the same. */
static void store_elements(Interp *in, const CType *leaf, char *bytes, const Tensor *t)
{
    DType dt = (DType)t->dtype;
    size_t step = dtype_info(dt)->bytes;
    for (int64_t i = 0; i < t->size; i++, bytes += leaf->size) {
        const char *from = t->data + (size_t)i * step;
        if (leaf->kind == CK_FLOAT || leaf->kind == CK_COMPLEX) {
            const double *d = (const double *)(const void *)from;
            long double part[2] = { d[0], leaf->kind == CK_COMPLEX ? d[1] : 0 };
            memcpy(bytes, part, leaf->size);
            continue;
        }
        int64_t v = element_i64(dt, from);
        if (leaf->kind == CK_BOOL)
            v = v != 0;
        else if (!int_fits(leaf, v))
            err_raise(&in->ctx, ERR_FFI, "element %lld is %lld, which does not fit the type %s",
                      (long long)i, (long long)v, native_type_text(in, leaf, (char[96]){ 0 }, 96));
        native_put_int(leaf, bytes, v);
    }
}

static _Noreturn void raise_other_shape(Interp *in, const Layout *l, const Tensor *t,
                                        const NativeWhere *where)
{
    char have[128], want[128];
    err_raise(&in->ctx, ERR_FFI, "%s%s%s %s, but the value %s", where->of, where->name ? "." : "",
              where->name ? where->name : "", shape_fact(want, sizeof want, l->rank, l->shape),
              shape_fact(have, sizeof have, t->rank, tensor_shape(t)));
}

/* The dtype to cast v to first, so that nothing but rounding is lost; DT_NONE: it does not go. */
static DType stored_dtype(const Layout *l, DType from)
{
    char kind = dtype_info(from)->kind;
    switch (l->leaf->kind) {
    case CK_COMPLEX:
        return kind == 'q' || kind == 'c' || kind == 'f' || kind == 'i' || kind == 'b' ? l->dtype
                                                                                       : DT_NONE;
    case CK_FLOAT: return kind == 'c' ? DT_NONE : l->dtype;
    default: return kind == 'i' || kind == 'b' ? DT_I64 : DT_NONE;
    }
}

static void write_numbers(Interp *in, const NativePlace *p, const Layout *l, Value v,
                          const NativeWhere *where)
{
    Value *mark = in->sp;
    if (!v_is_numeric(v) && v.tag != V_RANGE && v.tag != V_TUPLE)
        raise_unlike(in, p->type, v, where, NULL);
    Tensor *t = v_to_tensor(in, v, where->operand < 0 ? 0 : where->operand);
    v_push(in, v_tensor_raw(t));
    if (t->rank != l->rank ||
        memcmp(tensor_shape(t), l->shape, (size_t)l->rank * sizeof *l->shape) != 0)
        raise_other_shape(in, l, t, where);
    DType dt = stored_dtype(l, (DType)t->dtype);
    if (dt == DT_NONE && t->size > 0) {
        char help[160];
        snprintf(help, sizeof help, "make ints of them first: i64(round(%.100s))",
                 v.tag == V_TENSOR ? native_text(in, where) : "…");
        raise_unlike(in, p->type, v, where, dtype_info(t->dtype)->kind == 'f' ? help : NULL);
    }
    if (dt != DT_NONE) {
        v_push(in, v_tensor_raw(t = tensor_cast(&in->ctx, t, dt)));
        v_push(in, v_tensor_raw(t = tensor_compact(&in->ctx, t)));
        tensor_home(&in->ctx, t);
    }
    int64_t bytes = t->size * (int64_t)l->leaf->size;
    Tensor *raw = tensor_new(&in->ctx, DT_U8, 1, &bytes);
    v_push(in, v_tensor_raw(raw));
    if (dt == l->dtype && l->leaf->kind != CK_BOOL && same_bytes(l->leaf, dt))
        memcpy(raw->data, t->data, (size_t)bytes);
    else
        store_elements(in, l->leaf, raw->data, t);
    native_copy(in, p->at, raw->data, (size_t)bytes, p->guarded, true);
    stack_cut(in, mark);
}

static void write_array(Interp *in, NativePlace p, Value v, const NativeWhere *where, Value *keep)
{
    Layout l;
    layout_of(&l, p.type);
    if (l.text && l.rank == 1 && v.tag == V_STRING) {
        write_text(in, &p, v, where);
        return;
    }
    if (l.text && v.tag == V_TENSOR)
        l.dtype = l.leaf->is_unsigned ? DT_U8 : DT_I8;
    if (l.dtype != DT_NONE) {
        write_numbers(in, &p, &l, v, where);
        return;
    }
    if (v.tag != V_TUPLE)
        raise_unlike(in, p.type, v, where, "a tuple with a value for each element");
    if (v.tuple->count != p.type->count)
        err_raise(&in->ctx, ERR_FFI, "%s%s%s has %zu elements, but the tuple has %u", where->of,
                  where->name ? "." : "", where->name ? where->name : "", p.type->count,
                  v.tuple->count);
    v_check_depth(in);
    const CType *item = p.type->of;
    size_t size = ctype_size(item);
    int64_t bytes = (int64_t)(size * p.type->count);
    /* all of it, or an error changes nothing */
    Tensor *made = tensor_zeros(&in->ctx, DT_U8, 1, &bytes);
    v_push(in, v_tensor_raw(made));
    NativePlace to = { .type = item, .at = made->data };
    NativeWhere at = *where;
    if (where->item)                 /* an item of an item: no text says which */
        at.operand = -1;
    for (uint32_t i = 0; i < v.tuple->count; i++, to.at += size) {
        at.item = at.operand < 0 ? 0 : i + 1;
        native_write(in, to, v.tuple->items[i], &at, keep);
    }
    native_copy(in, p.at, made->data, (size_t)bytes, p.guarded, true);
    stack_cut(in, in->sp - 1);
}

static void write_record(Interp *in, const NativePlace *p, Value v, const NativeWhere *where,
                         Value *keep)
{
    if (!p->type->record->complete)
        raise_incomplete(in, p->type);
    Value *mark = in->sp;
    if (v.tag == V_TUPLE) {
        CTypeValue t = { .type = p->type, .name = NULL };
        v_push(in, v = ctype_call(in, &t, &v, 1, NULL, NULL, 0));
    }
    if (v.tag != V_STRUCT || !ctype_same(((Struct *)v.ptr)->type, p->type))
        raise_unlike(in, p->type, v, where, NULL);
    const Struct *s = v.ptr;
    native_copy(in, p->at, s->bytes, s->size, p->guarded, true);
    if (keep && s->keep.tag == V_TUPLE)
        native_keep(in, keep, s->keep);
    stack_cut(in, mark);
}

bool native_write_number(Interp *in, NativePlace p, Value v)
{
    const CType *t = p.type;
    int64_t cell;
    if (t->kind == CK_FLOAT && t->size == sizeof v.f && v.tag == V_FLOAT)
        memcpy(&cell, &v.f, sizeof cell);
    else if (t->kind == CK_INT && v.tag == V_INT && int_fits(t, v.i))
        native_put_int(t, &cell, v.i);
    else
        return false;
    native_copy(in, p.at, &cell, t->size, p.guarded, true);
    return true;
}

void native_write(Interp *in, NativePlace p, Value v, const NativeWhere *where, Value *keep)
{
    _Alignas(16) char cell[CELL];
    switch ((CKind)p.type->kind) {
    case CK_ARRAY: write_array(in, p, v, where, keep); return;
    case CK_STRUCT:
    case CK_UNION: write_record(in, &p, v, where, keep); return;
    case CK_VOID:
    case CK_FUNCTION: raise_incomplete(in, p.type);
    default: break;
    }
    native_store(in, p.type, cell, v, where, keep);
    native_copy(in, p.at, cell, p.type->size, p.guarded, true);
}
