/* Values behind pointers: the memory of tensors, texts and structs as it is, without a copy;
 * numbers behind `const double *` and tuples as arrays of texts through memory that is made for the
 * call; functions as code. C writes through pointers that are no const, and only variables,
 * pointers and pinned tensors may change, so here such parameters take pointers; variables are
 * native_out.c's. */
#include "interp/native/native_call.h"

#include "core/base/error.h"
#include "kernels/sparse/sparse.h"

#include <stdio.h>
#include <string.h>

void *native_room(Interp *in, size_t bytes, Value *keep)
{
    int64_t n = (int64_t)bytes;
    stack_room(in, 1);
    Tensor *t = tensor_zeros(&in->ctx, DT_U8, 1, &n);
    v_push(in, v_tensor_raw(t));
    if (keep) {
        native_keep(in, keep, in->sp[-1]);
        stack_cut(in, in->sp - 1);
    }
    return t->data;
}

bool native_points_alike(const CType *to, const CType *from)
{
    size_t n;
    to = native_innermost(to, &n);
    from = native_innermost(from, &n);
    if (to->kind == CK_VOID || from->kind == CK_VOID)
        return true;
    bool ints = to->kind >= CK_CHAR && to->kind <= CK_ENUM && from->kind >= CK_CHAR &&
                from->kind <= CK_ENUM;
    return (ints && to->size == from->size) || ctype_same(to, from);
}

/* ---- tensors ---- */
/* A struct of two doubles, as gsl_complex is. */
static DType record_dtype(const CType *t)
{
    const CRecord *r = t->record;
    DType dt = DT_NONE;
    if (t->kind == CK_STRUCT && r->complete && r->count == 1)
        dt = native_dtype(r->fields[0].type);
    else if (t->kind == CK_STRUCT && r->complete && r->count == 2 &&
             ctype_same(r->fields[0].type, r->fields[1].type))
        dt = dtype_complex(native_dtype(r->fields[0].type));
    return (dt == DT_C64 || dt == DT_C128) && ctype_size(t) == dtype_info(dt)->bytes ? dt : DT_NONE;
}

static bool dtype_passes(const CType *element, DType dt)
{
    if (element->kind == CK_VOID)
        return !dtype_cells(dt);
    for (const CType *t = element; t->kind == CK_ARRAY; t = t->of)
        if (native_dtype(t) == dt)
            return true;
    size_t n;
    element = native_innermost(element, &n);
    if (ctype_is_record(element))
        return record_dtype(element) == dt;
    return dt == native_dtype(element) || (element->kind == CK_CHAR && dt == DT_U8);
}

/* `double (*)[2]`, complex numbers as fftw3.h has them; DT_NONE: something else. */
static DType pair_dtype(const CType *element)
{
    while (element->kind == CK_ARRAY && element->of->kind == CK_ARRAY)
        element = element->of;
    return element->kind == CK_ARRAY ? native_dtype(element) : DT_NONE;
}

/* Real numbers pass there as rows of two. */
static bool pairs_pass(const CType *element, const Tensor *t)
{
    DType pair = pair_dtype(element);
    return pair == DT_NONE || t->dtype == pair ||
           (t->rank > 0 && tensor_shape(t)[t->rank - 1] == 2);
}

static _Noreturn void raise_dtype(Interp *in, const CType *element, const Tensor *t,
                                  const NativeWhere *where)
{
    const CType pointer = ctype_pointer_to(element);
    const char *x = native_text(in, where), *to = native_is_const(element) ? "" : "x = ";
    char help[320], what[96], assign[80] = "";
    size_t n;
    const CType *inner = native_innermost(element, &n);
    DType dt = ctype_is_record(inner) ? record_dtype(inner) : native_dtype(inner);
    if (!pairs_pass(element, t))
        dt = pair_dtype(element);
    bool is_complex = dtype_info(t->dtype)->kind == 'c';
    if (*to && strlen(x) < 60)
        snprintf(assign, sizeof assign, "%s = ", x);
    if (dt == DT_NONE && element->kind == CK_VOID)
        snprintf(help, sizeof help, "%sf64(%s)", assign, x);
    else if (dt == DT_NONE && ctype_is_record(inner) && inner->record->complete &&
             native_record_name(inner))
        snprintf(help, sizeof help,
                 "%.60s() makes one, and a tuple of them is an array; declared `%svoid *`, it "
                 "takes a tensor of any dtype", native_record_name(inner),
                 native_is_const(element) ? "const " : "");
    else if (dt == DT_NONE)
        snprintf(help, sizeof help,
                 "no dtype has such elements; declared `%svoid *`, it takes a tensor of any dtype",
                 native_is_const(element) ? "const " : "");
    else if (is_complex && dtype_complex(dt) == t->dtype && dtype_info(dt)->kind == 'f')
        snprintf(help, sizeof help,
                 "declared `%s%s (*)[2]`, it takes complex numbers; their real parts: %sreal(%s)",
                 native_is_const(element) ? "const " : "",
                 inner->name ? inner->name : "double", assign, x);
    else if (inner->kind == CK_INT && inner->size == 1 && !dtype_cells((DType)t->dtype))
        snprintf(help, sizeof help,
                 "declared `%svoid *`, it takes the bytes of any tensor; numbers: %s%s(%s)",
                 native_is_const(element) ? "const " : "", assign, dtype_name(dt), x);
    else if (is_complex && dtype_info(dt)->kind != 'c')
        snprintf(help, sizeof help, "%s%s(real(%s))", assign, dtype_name(dt), x);
    else
        snprintf(help, sizeof help, "%s%s(%s)", assign, dtype_name(dt), x);
    native_refuse(in, where, &pointer, help, "is %s",
                  v_describe_a(v_tensor_raw((Tensor *)(uintptr_t)t), what,
                                                                   sizeof what));
}

static _Noreturn void raise_place(Interp *in, const CType *element, const Tensor *t,
                                  const NativeWhere *where)
{
    const CType pointer = ctype_pointer_to(element);
    const char *x = native_text(in, where);
    const Device *home = tensor_device(&in->ctx, t);
    char help[320], assign[80] = "";
    if (!native_is_const(element) && strlen(x) < 60)
        snprintf(assign, sizeof assign, "%s = ", x);
    if (home != in->ctx.devices->cpu) {
        snprintf(help, sizeof help, "%sto(%s, cpu)", assign, x);
        native_refuse(in, where, &pointer, help, "lies on %s", home->name);
    }
    snprintf(help, sizeof help, "a copy in order: %sconcat(%s)", assign, x);
    native_refuse(in, where, &pointer, help,
                  "is not contiguous: its elements do not lie side by side in memory");
}

/* There is no array of elements that C could read, and to make one is the program's to say. */
void native_refuse_sparse(Interp *in, const Tensor *t)
{
    const Sparse *s = tensor_sparse(t);
    if (s)
        err_raise_help(&in->ctx, ERR_FFI, "ptr(entries(S).values), or ptr(dense(S))",
                       "a sparse matrix has no array of its elements for C: this one is %lld×%lld "
                       "with %lld entries", (long long)t->dims[0], (long long)t->dims[1],
                       (long long)s->value->size);
}

/* Elements that C sees; a rank-0 tensor is a number and none of these. */
void *native_tensor_data(Interp *in, Tensor *t, const CType *element, int64_t count,
                         const NativeWhere *where)
{
    native_refuse_sparse(in, t);
    if (!dtype_passes(element, (DType)t->dtype) || !pairs_pass(element, t))
        raise_dtype(in, element, t, where);
    tensor_settle(&in->ctx, t);
    if (!tensor_contiguous(t) || tensor_device(&in->ctx, t) != in->ctx.devices->cpu)
        raise_place(in, element, t, where);
    size_t per;
    size_t width = ctype_size(native_innermost(element, &per));
    int64_t have = width ? t->size * dtype_info(t->dtype)->bytes / (int64_t)width : t->size;
    if (count >= 0 && have < count) {
        const CType pointer = ctype_pointer_to(element);
        native_refuse(in, where, &pointer, NULL, "has %lld elements, and %lld are needed",
                      (long long)have, (long long)count);
    }
    tensor_home(&in->ctx, t);
    return t->data;
}

static void tensor_memory(Interp *in, const CType *to, Value v, const NativeWhere *where,
                          NativeMemory *m)
{
    m->at = native_tensor_data(in, v.tensor, to, -1, where);
    m->bytes = (size_t)v.tensor->size * dtype_info(v.tensor->dtype)->bytes;
    m->owner = v;
    m->readonly = true;
}

/* ---- texts, structs, pointers ---- */
static void text_memory(Interp *in, const CType *t, Value v, const NativeWhere *where,
                        NativeMemory *m)
{
    if (!native_is_text(t->of) && t->of->kind != CK_VOID)
        native_refuse_value(in, where, t, v);
    const char *nul = t->of->kind == CK_CHAR ? memchr(v.str->text, 0, v.str->len) : NULL;
    if (nul) {
        char help[128];
        snprintf(help, sizeof help, "C would see its first %zu bytes: %s[:%zu]",
                 (size_t)(nul - v.str->text),
                 native_text(in, where), str_chars(v.str) == v.str->len
                 ? (size_t)(nul - v.str->text) : 0);
        native_refuse(in, where, t, help, "is a string with a NUL inside, at byte %zu",
                      (size_t)(nul - v.str->text));
    }
    m->at = v.str->text;
    m->bytes = v.str->len + 1;
    m->owner = v;
    m->readonly = true;
}

static void struct_memory(Interp *in, const CType *t, Value v, const NativeWhere *where,
                          NativeMemory *m)
{
    Struct *s = v.ptr;
    if (!native_points_alike(t->of, s->type))
        native_refuse_value(in, where, t, v);
    m->at = s->bytes;
    m->bytes = ctype_size(s->type);
    m->owner = v;
    m->readonly = true;
}

static void pointer_memory(Interp *in, const CType *t, Value v, const NativeWhere *where,
                           NativeMemory *m)
{
    const Pointer *p = v.ptr;
    if (p->at && !native_points_alike(t->of, p->to))
        native_refuse_value(in, where, t, v);
    if (p->at && !pointer_writable(p) && !native_is_const(t->of)) {
        native_refuse(in, where, t,
                      "pin(x) gives the variable x memory that C may keep and write to: pin it, "
                      "then ptr(x)",
                      "points into a value, which C must not change");
    }
    m->at = p->at;
    m->before = p->before;
    m->bytes = p->at ? p->bytes : 0;
    m->owner = p->owner;
    m->readonly = p->readonly;
}

/* ---- made for the call ---- */
static void number_memory(Interp *in, const CType *t, Value v, const NativeWhere *where,
                          Value *keep, NativeMemory *m)
{
    if (!native_is_number(t->of) || t->of->kind == CK_CHAR)
        native_refuse_value(in, where, t, v);
    void *room = m->spare ? m->spare : native_room(in, 32, keep);
    native_store(in, t->of, room, v, where, keep);
    m->at = room;
    m->bytes = t->of->size;
    m->readonly = true;
}

/* A text that C may write to, as `char **argv` says. */
static char *text_copy(Interp *in, const Str *s, Value *keep)
{
    char *copy = native_room(in, s->len + 1, keep);
    memcpy(copy, s->text, s->len);
    return copy;
}

const CType *native_tuple_record(const CType *to, Value v)
{
    const CType *first = NULL;
    for (uint32_t i = 0; i < v.tuple->count; i++) {
        const Value item = v.tuple->items[i];
        const CType *type = item.tag == V_STRUCT ? ((Struct *)item.ptr)->type : NULL;
        if (!type || !ctype_same(type, i ? first : to->kind == CK_VOID ? type : to))
            return NULL;
        first = type;
    }
    return first;
}

/* With a null pointer, or zeros, after the last. */
void native_tuple_memory(Interp *in, const CType *to, Value v, const NativeWhere *where,
                         Value *keep, NativeMemory *m)
{
    bool texts = to->kind == CK_POINTER && native_is_text(to->of), ours = !keep;
    if (ours) {
        stack_room(in, 1);
        v_push(in, v_undef());
        keep = in->sp - 1;
    }
    size_t size = ctype_size(to);
    m->at = native_room(in, size * ((size_t)v.tuple->count + 1), keep);
    m->bytes = size * (size_t)v.tuple->count;
    m->readonly = true;
    for (uint32_t i = 0; i < v.tuple->count; i++) {
        Value item = v.tuple->items[i];
        char *cell = m->at + i * size;
        if (texts && !native_is_const(to->of) && item.tag == V_STRING) {
            char *copy = text_copy(in, item.str, keep);
            memcpy(cell, &copy, sizeof copy);
        } else {
            char name[64];
            NativeWhere at = *where;
            snprintf(name, sizeof name, "%s[%u]", where->name ? where->name : "the tuple", i);
            at.name = name;
            at.item = i + 1;
            native_store(in, to, cell, item, &at, keep);
        }
    }
    if (ours)
        native_keep(in, keep, v);
    /* a pointer that C gives back into it: to what was made here */
    m->owner = ours ? *keep : v;
}

/* An array of texts, pointers or structs. */
static void tuple_memory(Interp *in, const CType *t, Value v, const NativeWhere *where, Value *keep,
                         NativeMemory *m)
{
    const CType *to = t->of, *record = native_tuple_record(to, v);
    if (record && !native_is_const(to))
        native_refuse_target(in, where, t, v);
    if (to->kind != CK_POINTER && !record && !(ctype_is_record(to) && native_is_const(to)))
        native_refuse_value(in, where, t, v);
    native_tuple_memory(in, to->kind == CK_VOID ? record : to, v, where, keep, m);
}

static void function_memory(Interp *in, const CType *t, Value v, const NativeWhere *where,
                            NativeMemory *m)
{
    const CType *fn = t->kind == CK_FUNCTION ? t : t->of;
    const Pointer *p = v.ptr;
    if (v.tag == V_FUNCTION || v.tag == V_OP || v.tag == V_CFUNC)
        m->at = native_callback(in, fn, v, where);
    else if (v.tag == V_POINTER && (!p->at || p->to->kind == CK_VOID || ctype_same(fn, p->to)))
        m->at = p->at;
    else
        native_refuse_value(in, where, t, v);
}

void native_memory(Interp *in, const CType *t, Value v, const NativeWhere *where, Value *keep,
                   NativeMemory *m)
{
    void *spare = m->spare;
    *m = (NativeMemory){ .owner = v_undef(), .bytes = SIZE_MAX, .spare = spare };
    if (t->kind == CK_FUNCTION || t->of->kind == CK_FUNCTION) {
        function_memory(in, t, v, where, m);
        return;
    }
    bool made = v.tag == V_STRING || v.tag == V_STRUCT || native_is_scalar(v) || v.tag == V_TENSOR;
    if (made && !native_is_const(t->of))
        native_refuse_target(in, where, t, v);
    if (v.tag == V_STRING)
        text_memory(in, t, v, where, m);
    else if (native_is_scalar(v))
        number_memory(in, t, v, where, keep, m);
    else if (v.tag == V_TENSOR)
        tensor_memory(in, t->of, v, where, m);
    else if (v.tag == V_STRUCT)
        struct_memory(in, t, v, where, m);
    else if (v.tag == V_POINTER)
        pointer_memory(in, t, v, where, m);
    else if (v.tag == V_TUPLE)
        tuple_memory(in, t, v, where, keep, m);
    else if (v.tag == V_CFUNC && t->of->kind == CK_VOID)
        m->at = (char *)(uintptr_t)((CFunction *)v.ptr)->at;
    else
        native_refuse_value(in, where, t, v);
}
