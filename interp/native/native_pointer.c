/* Pointers as values: elements p[i], fields p.name, what ptr(x) makes, equality, printing. A
 * pointer knows what it points to, who keeps that alive and, where it can, how far it reaches;
 * what nobody vouches for is read and written under native_guard (native_memory.c). An index
 * counts as C counts it: p[-1] is the element before. Never reads a byte itself. */
#include "interp/native/native.h"

#include "interp/state/exec.h"
#include "kernels/device/device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 96 };

/* ---- what may be touched ---- */
static const char *pointer_text(Interp *in, const Pointer *p, char out[TEXT])
{
    native_type_text(in, p->to, out, TEXT - 2);
    size_t n = strlen(out);
    strcpy(out + n, n && out[n - 1] == '*' ? "*" : " *");
    return out;
}

static _Noreturn void raise_null(Interp *in, const char *doing)
{
    Error *e = err_new(&in->ctx, ERR_FFI, "%s is null: there is nothing to %s",
                       err_operand_text(&in->ctx, 0), doing);
    err_help(e, "test it first: if %s != null { … }", err_operand_text(&in->ctx, 0));
    err_underline(e, 0);
    err_throw(e);
}

static _Noreturn void raise_void(Interp *in, const Pointer *p)
{
    char text[TEXT];
    const char *name = err_operand_text(&in->ctx, 0);
    Error *e = err_new(&in->ctx, ERR_FFI, "%s is a %s: it has no elements that are known here",
                       name, pointer_text(in, p, text));
    if (p->to->kind == CK_VOID)
        err_help(e, "copy n numbers, as_tensor(%s, f64, n), or say what is there: ptr(%s, "
                    "type=\"double\")",
                 name, name);
    else if (p->to->kind == CK_FUNCTION)
        err_help(e, "call it: %s(…)", name);
    else
        err_help(e, "its struct is declared without fields: pass the pointer on to C");
    err_underline(e, 0);
    err_throw(e);
}

/* Bytes [from, from + size) seen from p->at must be known to be there, where anything is known. */
static bool within(const Pointer *p, int64_t from, size_t size)
{
    if (p->bytes == SIZE_MAX)
        return true;
    return from >= 0 ? (size_t)from <= p->bytes && size <= p->bytes - (size_t)from
                     : (uint64_t)-from <= p->before && size <= (uint64_t)-from + p->bytes;
}

static NativePlace place_at(const Pointer *p, const CType *type, int64_t offset)
{
    return (NativePlace){ .type = type, .at = p->at + offset, .owner = p->owner,
                          .guarded = pointer_guarded(p) };
}

/* A pointer into a value of the program's own writes while that is pinned. */
bool pointer_writable(const Pointer *p)
{
    if (p->readonly)
        return false;
    return p->inside || (p->owner.tag != V_TENSOR && p->owner.tag != V_STRUCT) ||
           value_is_pinned(p->owner);
}

static void check_writable(Interp *in, const Pointer *p, bool is_const)
{
    char text[TEXT];
    if (is_const)
        err_raise(&in->ctx, ERR_FFI, "%s is a %s: what it points to is not to be written",
                  err_operand_text(&in->ctx, 0), pointer_text(in, p, text));
    if (!pointer_writable(p))
        err_raise_help(&in->ctx, ERR_FFI, "pin the variable first: pin(x); p = ptr(x)",
                       "%s points into a value that is not pinned: it can only be read",
                       err_operand_text(&in->ctx, 0));
}

/* ---- elements ---- */
/* The address of p[i] and its type; p[i, j] goes on into arrays of arrays. */
typedef struct Element {
    const CType *type;
    int64_t offset;
} Element;

static _Noreturn void raise_outside(Interp *in, const Pointer *p, int64_t i, size_t size)
{
    long long low = -(long long)(p->before / size), high = (long long)(p->bytes / size) - 1;
    if (high < low)
        err_raise(&in->ctx, ERR_INDEX,
                  "index %" PRId64 " is outside of %s, which points to no whole element", i,
                  err_operand_text(&in->ctx, 0));
    Error *e = err_new(&in->ctx, ERR_INDEX,
                       "index %" PRId64 " is outside of %s, whose elements are %lld to %lld", i,
                       err_operand_text(&in->ctx, 0), low, high);
    err_underline(e, 1);
    if (i < 0)
        err_help(e, "a pointer counts as C does: the last element is %s[%lld]",
                 err_operand_text(&in->ctx, 0), high);
    err_throw(e);
}

static Element element_find(Interp *in, const Pointer *p, const Sub *subs, int n)
{
    Element e = { p->to, 0 };
    for (int k = 0; k < n; k++) {
        int64_t i = subscript_int(in, subs[k].kind == SUB_VALUE ? subs[k].v : v_none(), k + 1),
                move;
        size_t size;
        if (k > 0) {
            if (e.type->kind != CK_ARRAY)
                err_raise(&in->ctx, ERR_INDEX, "%d subscripts are too many for %s", n,
                          err_operand_text(&in->ctx, 0));
            if (i < 0 || (e.type->count && (uint64_t)i >= e.type->count))
                err_raise(&in->ctx, ERR_INDEX,
                          "index %" PRId64 " is out of range for an array of %zu elements", i,
                          e.type->count);
            e.type = e.type->of;
        }
        size = ctype_size(e.type);
        if (size == 0)
            raise_void(in, p);
        if (__builtin_mul_overflow(i, (int64_t)size, &move) ||
            __builtin_add_overflow(e.offset, move, &e.offset) ||
            (k == 0 && !within(p, e.offset, size)))
            raise_outside(in, p, i, size);
    }
    return e;
}

/* p[a:b] is an array at its first element. The end is needed where the pointer does not know its
 * own. */
static CType slice_find(Interp *in, const Pointer *p, const Sub *sub, int64_t *offset)
{
    size_t size = ctype_size(p->to);
    if (size == 0)
        raise_void(in, p);
    bool known = p->bytes != SIZE_MAX;
    if (!known && (sub->stop.tag != V_INT || sub->stop.i < 0 ||
                   (sub->start.tag == V_INT && sub->start.i < 0)))
        err_raise_help(&in->ctx, ERR_INDEX,
                       "write both ends, or tell how many there are: ptr(p, …)",
                       "the length of %s is not known", err_operand_text(&in->ctx, 0));
    Slice s = slice_resolve(in, sub, 1, known ? (int64_t)(p->bytes / size) : sub->stop.i);
    if (s.step != 1)
        err_raise(&in->ctx, ERR_INDEX, "a slice of a pointer takes no step");
    CType array = { .kind = CK_ARRAY, .count = (size_t)s.count, .of = p->to };
    array.size = mem_mul(&in->ctx, array.count, size);
    *offset = s.start * (int64_t)size;
    return array;
}

Value pointer_index(Interp *in, Value base, const Sub *subs, int n)
{
    const Pointer *p = base.ptr;
    if (!p->at)
        raise_null(in, "read");
    if (n == 1 && subs->kind == SUB_SLICE) {
        int64_t offset;
        CType array = slice_find(in, p, subs, &offset);
        return native_read(in, place_at(p, &array, offset));
    }
    Element e = element_find(in, p, subs, n);
    return native_read(in, place_at(p, e.type, e.offset));
}

/* Memory that only C keeps track of takes nothing that the language may free. */
static void check_lasting(Interp *in, const Pointer *p, const CType *type, Value v)
{
    const Pointer *to = v.tag == V_POINTER ? v.ptr : NULL;
    bool passing = type->kind == CK_POINTER &&
                   (v.tag == V_STRING || (v.tag == V_TENSOR && !value_is_pinned(v)) ||
                    (to && to->owner.tag != V_UNDEF && !pointer_writable(to)));
    if (passing && p->owner.tag != V_STRUCT)
        err_raise_help(&in->ctx, ERR_FFI, "give C memory that stays: pin(…), then ptr(…)",
                       "%s is memory of C's, and would keep a pointer to a value that may be freed",
                       err_operand_text(&in->ctx, 0));
}

/* The value of `p.x = v` and `p[i] = v` among the operands of the statement; -1: it is none of
 * them. */
static int assigned_operand(const Interp *in)
{
    const Node *n = in->at ? in->at->node : NULL;
    if (!n || n->kind != ND_ASSIGN)
        return -1;
    return n->a->kind == ND_FIELD ? 1 : n->a->kind == ND_INDEX ? 1 + (int)n->a->count : -1;
}

static void write_at(Interp *in, const Pointer *p, const CType *type, int64_t offset, Value v,
                     const char *name)
{
    char of[72];
    check_writable(in, p, type->is_const || p->to->is_const);
    if (native_write_number(in, place_at(p, type, offset), v))
        return;
    check_lasting(in, p, type, v);
    snprintf(of, sizeof of, "%s", err_operand_text(&in->ctx, 0));
    NativeWhere where = {
        .of = of, .name = name ? name : "its element", .index = -1, .operand = assigned_operand(in)
    };
    Struct *s = p->owner.tag == V_STRUCT ? p->owner.ptr : NULL;
    native_write(in, place_at(p, type, offset), v, &where, s ? &s->keep : NULL);
    if (s)
        native_forget_kept(in, s);
}

void pointer_index_set(Interp *in, Value base, const Sub *subs, int n, Value v)
{
    const Pointer *p = base.ptr;
    if (!p->at)
        raise_null(in, "write to");
    if (n == 1 && subs->kind == SUB_SLICE) {
        int64_t offset;
        CType array = slice_find(in, p, subs, &offset);
        write_at(in, p, &array, offset, v, NULL);
        return;
    }
    Element e = element_find(in, p, subs, n);
    write_at(in, p, e.type, e.offset, v, NULL);
}

/* ---- fields ---- */
static const CField *field_find(Interp *in, const CType *record, const Name *name, size_t *offset)
{
    const CField *f =
        record->record->complete ? ctype_field(record, name->text, name->len, offset) : NULL;
    if (!f)
        native_raise_no_field(in, record, name);
    return f;
}

void native_raise_no_field(Interp *in, const CType *record, const Name *name)
{
    char text[TEXT], list[400];
    const char *names[NATIVE_FIELDS];
    native_type_text(in, record, text, sizeof text);
    size_t n = native_fields(record, names), at = 0;
    if (!record->record->complete)
        err_raise_help(
            &in->ctx, ERR_FFI, "declare its fields in an extern block, or pass it on to C",
            "%s is a %s, whose fields are not declared", err_operand_text(&in->ctx, 0), text);
    list[0] = '\0';
    for (size_t i = 0; i < n && at < sizeof list - 1; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", names[i]);
    Error *e = err_new(&in->ctx, ERR_NAME, "%s has no field %s; it has %s", text, name->text, list);
    const char *meant = err_closest(name->text, names, n);
    if (meant)
        err_help(e, "did you mean %s?", meant);
    err_throw(e);
}

static Pointer *pointer_of_record(Interp *in, Value base, const Name *name)
{
    Pointer *p = base.ptr;
    char text[TEXT];
    if (!p->at)
        raise_null(in, "read");
    if (!ctype_is_record(p->to)) {
        const char *operand = err_operand_text(&in->ctx, 0);
        if (p->to->kind == CK_VOID)
            err_raise_help(&in->ctx, ERR_FFI, "say what it points to: ptr(p, type=\"struct …\")",
                           "%s is a %s and has no field %s", operand, pointer_text(in, p, text),
                           name->text);
        err_raise(&in->ctx, ERR_NAME, "%s, of type %s, has no field %s", operand,
                  pointer_text(in, p, text), name->text);
    }
    return p;
}

/* The end of a struct whose last field has no length: a pointer to what follows. */
static Value flexible(Interp *in, const Pointer *p, const CType *array, size_t offset)
{
    size_t bytes = p->bytes == SIZE_MAX ? SIZE_MAX : p->bytes - offset;
    Value v = pointer_new(in, array->of, p->at + offset, p->owner, bytes);
    ((Pointer *)v.ptr)->readonly = p->readonly;
    return v;
}

Value native_field_get(Interp *in, Value base, const Name *name)
{
    size_t offset;
    if (base.tag == V_STRUCT) {
        Struct *s = base.ptr;
        const CField *f = field_find(in, s->type, name, &offset);
        return native_read(
            in, (NativePlace){ .type = f->type, .at = s->bytes + offset, .owner = base });
    }
    const Pointer *p = pointer_of_record(in, base, name);
    const CField *f = field_find(in, p->to, name, &offset);
    if (!within(p, (int64_t)offset, ctype_size(f->type)))
        err_raise(&in->ctx, ERR_INDEX, "%s ends before its field %s", err_operand_text(&in->ctx, 0),
                  name->text);
    if (f->type->kind == CK_ARRAY && f->type->count == 0)
        return flexible(in, p, f->type, offset);
    return native_read(in, place_at(p, f->type, (int64_t)offset));
}

static void struct_field_set(Interp *in, Value *slot, const Name *name, Value v)
{
    size_t offset;
    char of[TEXT];
    native_unshare(in, slot);
    Struct *s = slot->ptr;
    const CField *f = field_find(in, s->type, name, &offset);
    NativePlace at = { .type = f->type, .at = s->bytes + offset, .owner = *slot };
    if (native_write_number(in, at, v))
        return;
    native_type_text(in, s->type, of, sizeof of);
    NativeWhere where = { .of = of, .name = name->text, .index = -1,
                          .operand = assigned_operand(in) };
    native_write(in, at, v, &where, &s->keep);
    native_forget_kept(in, s);
}

void native_field_set(Interp *in, Value *slot, const Name *name, Value v)
{
    size_t offset;
    if (slot->tag == V_STRUCT) {
        v_push(in, v_retain(v));     /* s.x = s sees that it is shared */
        struct_field_set(in, slot, name, v);
        stack_cut(in, in->sp - 1);
        return;
    }
    const Pointer *p = pointer_of_record(in, *slot, name);
    const CField *f = field_find(in, p->to, name, &offset);
    if (!within(p, (int64_t)offset, ctype_size(f->type)))
        err_raise(&in->ctx, ERR_INDEX, "%s ends before its field %s", err_operand_text(&in->ctx, 0),
                  name->text);
    write_at(in, p, f->type, (int64_t)offset, v, name->text);
}

/* ---- places inside ---- */
static Value inner_pointer(Interp *in, const Pointer *p, const CType *type, int64_t offset)
{
    size_t bytes = ctype_size(type);
    bool array = type->kind == CK_ARRAY;
    if (array && type->count == 0)
        bytes = p->bytes == SIZE_MAX ? SIZE_MAX : p->bytes - (size_t)offset;
    Value v = pointer_new(in, array ? type->of : type, p->at + offset, p->owner, bytes);
    ((Pointer *)v.ptr)->readonly = p->readonly;
    ((Pointer *)v.ptr)->inside = p->inside;
    return v;
}

static bool has_inside(const CType *t) { return ctype_is_record(t) || t->kind == CK_ARRAY; }

bool native_inside(Interp *in, Value *slot, const Name *name, const Sub *subs, int n, Value *out)
{
    size_t offset;
    if (slot->tag == V_STRUCT && name) {
        native_unshare(in, slot);
        Struct *s = slot->ptr;
        const CField *f = field_find(in, s->type, name, &offset);
        if (!has_inside(f->type))
            return false;
        Pointer whole = {
            .to = s->type, .at = s->bytes, .owner = *slot, .bytes = s->size, .inside = true
        };
        *out = inner_pointer(in, &whole, f->type, (int64_t)offset);
        return true;
    }
    if (slot->tag != V_POINTER)
        return false;
    const Pointer *p = slot->ptr;
    if (name) {
        p = pointer_of_record(in, *slot, name);
        const CField *f = field_find(in, p->to, name, &offset);
        if (!has_inside(f->type) || !within(p, (int64_t)offset, ctype_size(f->type)))
            return false;
        *out = inner_pointer(in, p, f->type, (int64_t)offset);
        return true;
    }
    if (!p->at || !has_inside(p->to) || subs->kind != SUB_VALUE)
        return false;
    Element e = element_find(in, p, subs, n);
    if (!has_inside(e.type))
        return false;
    *out = inner_pointer(in, p, e.type, e.offset);
    return true;
}

/* ---- ptr(x) ---- */
static _Noreturn void raise_short(Interp *in, int64_t have, int64_t want)
{
    err_raise(&in->ctx, ERR_FFI, "%s has %lld elements, which are less than %lld",
              err_operand_text(&in->ctx, 0), (long long)have, (long long)want);
}

static size_t bytes_for(Interp *in, size_t size, int64_t count, size_t bytes)
{
    if (count < 0)
        return bytes;
    size_t want = mem_mul(&in->ctx, (size_t)count, size ? size : 1);
    if (bytes != SIZE_MAX && want > bytes)
        raise_short(in, (int64_t)(bytes / (size ? size : 1)), count);
    return want;
}

static Value tensor_pointer(Interp *in, Value v, int64_t count)
{
    Tensor *t = v.tensor;
    const CType *element = native_ctype((DType)t->dtype);
    if (!element)
        err_raise(&in->ctx, ERR_FFI, "C has no type for the elements of %s, which are %s",
                  err_operand_text(&in->ctx, 0), dtype_name(t->dtype));
    NativeWhere where = { .of = "ptr", .name = NULL, .index = 0, .operand = 0 };
    void *data = native_tensor_data(in, t, element, count, &where);
    size_t size = dtype_info(t->dtype)->bytes;
    size_t bytes = bytes_for(in, size, count, (size_t)t->size * size);
    Value owner =
        v_tensor_raw(value_is_pinned(v) ? tensor_view(&in->ctx, t, t->rank, tensor_shape(t),
                                                       tensor_strides(t), t->data)
                                         : tensor_retain(t));
    v_push(in, owner);
    Value p = pointer_new(in, element, data, owner, bytes);
    ((Pointer *)p.ptr)->readonly = !value_is_pinned(v);
    stack_cut(in, in->sp - 1);
    return p;
}

Value native_ptr(Interp *in, Value v, int64_t count)
{
    char what[96];
    switch ((Tag)v.tag) {
    case V_TENSOR:
        if (v.tensor->rank == 0)
            break;
        return tensor_pointer(in, v, count);
    case V_STRING: {
        size_t bytes = bytes_for(in, 1, count, v.str->len + 1);
        Value p = pointer_new(in, ctype_basic("char"), v.str->text, v, bytes);
        ((Pointer *)p.ptr)->readonly = true;
        return p;
    }
    case V_STRUCT: {
        Struct *s = v.ptr;
        Value p = pointer_new(in, s->type, s->bytes, v, bytes_for(in, s->size, count, s->size));
        ((Pointer *)p.ptr)->readonly = !s->native.pinned;
        return p;
    }
    case V_POINTER: {
        const Pointer *p = v.ptr;
        return pointer_as(in, p, p->to, bytes_for(in, ctype_size(p->to), count, p->bytes));
    }
    case V_CFUNC: {
        const CFunction *f = v.ptr;
        void *at;
        memcpy(&at, &f->at, sizeof at);
        return pointer_new(in, f->type, at, v_undef(), SIZE_MAX);
    }
    default:
        break;
    }
    Error *e = err_new(&in->ctx, ERR_FFI, "%s is %s: C cannot point to it",
                       err_operand_text(&in->ctx, 0), v_describe_a(v, what, sizeof what));
    if (v_is_numeric(v))
        err_help(e, "a number has no place in memory, a tensor of one has: x = [%s]; ptr(x)",
                 err_operand_text(&in->ctx, 0));
    else if (v.tag == V_FUNCTION || v.tag == V_OP)
        err_help(e, "pass the function itself where C takes one");
    err_underline(e, 0);
    err_throw(e);
}

/* A struct that ends in an array without a length is longer than its size says. */
static bool has_tail(const CType *t)
{
    const CRecord *r = t->kind == CK_STRUCT ? t->record : NULL;
    const CType *last = r && r->count ? r->fields[r->count - 1].type : NULL;
    return last && last->kind == CK_ARRAY && last->count == 0;
}

Value native_retype(Interp *in, Value pointer, const CType *type, int64_t count)
{
    const Pointer *from = pointer.ptr;
    size_t bytes = bytes_for(in, ctype_size(type), count, from->bytes);
    return pointer_as(in, from, type, has_tail(type) ? from->bytes : bytes);
}

Value native_length(Interp *in, Value v)
{
    const Pointer *p = v.ptr;
    size_t size = ctype_size(p->to);
    if (p->bytes == SIZE_MAX || size == 0)
        err_raise_help(&in->ctx, ERR_FFI, "tell how many elements there are: ptr(p, …)",
                       "how many elements %s points to is not known",
                       err_operand_text(&in->ctx, 0));
    return v_int((int64_t)(p->bytes / size));
}

/* ---- equality ---- */
static const void *address_of(Value v)
{
    const void *at = NULL;
    if (v.tag == V_POINTER)
        return ((const Pointer *)v.ptr)->at;
    memcpy(&at, &((const CFunction *)v.ptr)->at, sizeof at);
    return at;
}

bool native_equal(Value a, Value b)
{
    bool points_a = a.tag == V_POINTER || a.tag == V_CFUNC,
         points_b = b.tag == V_POINTER || b.tag == V_CFUNC;
    if (points_a && points_b)
        return address_of(a) == address_of(b);
    if (a.tag != b.tag)
        return false;
    if (a.tag == V_CTYPE)
        return ctype_same(((const CTypeValue *)a.ptr)->type, ((const CTypeValue *)b.ptr)->type);
    return a.tag == V_STRUCT ? struct_equal(a.ptr, b.ptr) : a.ptr == b.ptr;
}
