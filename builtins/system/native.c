/* The rows of native code: pointers, memory that C made, sizes, pins. Values and memory are
 * interp/native's; nothing here calls C but the free= of a tensor that is gone. */
#include "builtins/rows/rows.h"
#include "interp/state/frames.h"

#include "core/base/error.h"
#include "interp/op/arith.h"
#include "interp/native/native.h"
#include "interp/eval/eval_name.h"
#include "kernels/tensor/mapped.h"

#include <stdio.h>
#include <string.h>

/* ---- C types as arguments ---- */
static CScope *type_scope(Interp *in)
{
    Module *m = interp_module(in);
    if (m && m->globals.c)
        return m->globals.c;
    NativeState *state = native_state(in);
    if (!state->types)
        state->types = cscope_new(&in->ctx);
    return state->types;
}

static const CType *type_argument(OpCall *c, int i)
{
    Value v = c->args[i];
    if (v.tag == V_CTYPE)
        return ((const CTypeValue *)v.ptr)->type;
    if (v.tag == V_STRING)
        return cdecl_type(type_scope(c->in), v.str->text, v.str->len);
    if (v.tag == V_FORMAT)
        return native_ctype(v_format_dtype(v));
    return NULL;
}

/* ---- ptr ---- */
static int64_t count_argument(OpCall *c, int i)
{
    if (!arg_given(c, i))
        return -1;
    int64_t n = arg_int(c, i);
    if (n < 0)
        arg_error(c, i, ERR_VALUE, "%s is %lld, but counts elements", arg_name(c, i), (long long)n);
    return n;
}

Value op_run_ptr(OpCall *c)
{
    Interp *in = c->in;
    int64_t count = count_argument(c, 1);
    if (!arg_given(c, 2))
        return native_ptr(in, c->args[0], count);
    const CType *type = type_argument(c, 2);
    char given[96];
    if (!type)
        arg_error_help(c, 2, ERR_TYPE, "ptr(p, n, type=\"struct point\")",
                       "type must be a C type or its text, not %s",
                       v_article(c->args[2], given, sizeof given));
    Value from = op_root(c, native_ptr(in, c->args[0], -1));
    return native_retype(in, from, type, count);
}

/* ---- errno, sizeof, offsetof ---- */
Value op_run_errno(OpCall *c)
{
    return v_int(native_state(c->in)->last_errno);
}

Value op_run_sizeof(OpCall *c)
{
    Value v = c->args[0];
    const CType *type = type_argument(c, 0);
    char given[96];
    if (v.tag == V_STRUCT)
        type = ((const Struct *)v.ptr)->type;
    if (type) {
        size_t size = ctype_size(type);
        if (size == 0 && !(type->record && type->record->complete) && type->kind != CK_ARRAY)
            arg_error(c, 0, ERR_FFI, "%s has no size that is known here",
                      native_type_text(c->in, type, given, sizeof given));
        return v_int((int64_t)size);
    }
    if (v.tag == V_POINTER || v.tag == V_CFUNC)
        return v_int(sizeof(void *));
    if (!v_is_numeric(v))
        arg_error(c, 0, ERR_TYPE, "C has no type for %s", v_article(v, given, sizeof given));
    int64_t n = v.tag == V_TENSOR ? v.tensor->size : 1;
    return v_int(n * dtype_info(v_dtype(v))->bytes);
}

Value op_run_offsetof(OpCall *c)
{
    char text[96];
    const CType *type =
        c->args[0].tag == V_STRUCT ? ((const Struct *)c->args[0].ptr)->type : type_argument(c, 0);
    Str *field = arg_str(c, 1);
    if (!type || !type->record)
        arg_error(c, 0, ERR_TYPE, "type must be a struct or union, not %s",
                  type ? native_type_text(c->in, type, text, sizeof text)
                       : v_article(c->args[0], text, sizeof text));
    size_t offset;
    const char *names[NATIVE_FIELDS];
    if (ctype_field(type, field->text, field->len, &offset))
        return v_int((int64_t)offset);
    native_type_text(c->in, type, text, sizeof text);
    const char *meant = err_closest(field->text, names, native_fields(type, names));
    char help[96];
    if (meant)
        snprintf(help, sizeof help, "did you mean %s?", meant);
    arg_error_help(c, 1, ERR_NAME, meant ? help : NULL, "%s has no field %s", text, field->text);
}

/* ---- pins ---- */
Value op_run_pin(OpCall *c)
{
    Value *slot = exec_taken(c->in);
    char help[120];
    if (!slot) {
        snprintf(help, sizeof help, "x = %s; pin(x)", arg_text(c, 0));
        arg_error_help(c, 0, ERR_FFI, help,
                       "%s is no variable: only a variable's memory can stay for C",
                       arg_text(c, 0));
    }
    native_pin(c->in, slot);
    return v_none();
}

Value op_run_unpin(OpCall *c)
{
    Value *slot = exec_taken(c->in), v = slot ? *slot : c->args[0];
    if (v.tag == V_FUNCTION || v.tag == V_OP || v.tag == V_CFUNC) {
        if (!native_callback_forget(c->in, v))
            arg_error(c, 0, ERR_FFI, "%s was not given to C, or is forgotten already",
                      arg_text(c, 0));
        return v_none();
    }
    if (!slot)
        arg_error(c, 0, ERR_FFI, "%s is no variable, and nothing of it is pinned", arg_text(c, 0));
    native_unpin(c->in, slot);
    return v_none();
}

/* ---- texts ---- */
Value op_run_cstring(OpCall *c)
{
    Interp *in = c->in;
    int64_t n = count_argument(c, 1);
    Value v = c->args[0];
    char given[96];
    if (v.tag == V_STRING)
        return v_retain(v);
    if (v.tag != V_POINTER &&
        !(v.tag == V_TENSOR && (v.tensor->dtype == DT_U8 || v.tensor->dtype == DT_I8)))
        arg_error(c, 0, ERR_TYPE, "%s must be a pointer, or an i8 or u8 tensor, not %s",
                  arg_name(c, 0), v_article(v, given, sizeof given));
    if (v.tag == V_TENSOR) {
        Tensor *t = op_keep(c, tensor_compact(&in->ctx, v.tensor));
        tensor_home(&in->ctx, t);
        size_t most = n >= 0 && n < t->size ? (size_t)n : (size_t)t->size;
        return native_text_value(in, t->data, most, true, false);
    }
    const Pointer *p = v.ptr;
    if (!p->at)
        arg_error_help(c, 0, ERR_FFI, "test it first: if p != null { … }",
                       "%s is null: there is no text", arg_text(c, 0));
    size_t most = n >= 0 && (size_t)n < p->bytes ? (size_t)n : p->bytes;
    return native_text_value(in, p->at, most, n >= 0, pointer_guarded(p));
}

/* ---- as_tensor ---- */
typedef struct Wanted {
    DType dtype;
    int rank;
    int64_t shape[TENSOR_RANK_MAX];
    size_t bytes;
} Wanted;

/* The dtype of the elements that the pointer says it has; DT_NONE: it says nothing. */
static DType pointed_dtype(const CType *to)
{
    while (to->kind == CK_ARRAY && native_dtype(to) == DT_NONE)
        to = to->of;
    return native_dtype(to);
}

static void wanted_dtype(OpCall *c, Wanted *w, const Pointer *p)
{
    char text[96];
    DType own = pointed_dtype(p->to);
    w->dtype = arg_dtype(c, 1, own);
    if (w->dtype == DT_NONE)
        arg_error_help(c, 0, ERR_FFI, "say what is there: as_tensor(p, f64, …)",
                       "%s points to %s, which says nothing of numbers", arg_text(c, 0),
                       native_type_text(c->in, p->to, text, sizeof text));
    if (!native_ctype(w->dtype))
        arg_error(c, 1, ERR_FFI, "C has no type for elements of %s", dtype_name(w->dtype));
    bool bytes = p->to->kind == CK_VOID || p->to->size == 1 || ctype_is_record(p->to);
    if (!bytes && own != DT_NONE && own != w->dtype && dtype_real(w->dtype) != own &&
        dtype_real(own) != w->dtype) {
        char help[64];
        snprintf(help, sizeof help, "as_tensor(%s, %s, …)", arg_text(c, 0), dtype_name(own));
        arg_error_help(c, 1, ERR_FFI, help, "%s points to %s, whose elements are %s, not %s",
                       arg_text(c, 0), native_type_text(c->in, p->to, text, sizeof text),
                       dtype_name(own), dtype_name(w->dtype));
    }
}

static void wanted_shape(OpCall *c, Wanted *w, const Pointer *p)
{
    int64_t size = dtype_info(w->dtype)->bytes;
    if (arg_given(c, 2)) {
        OpCall shape = *c;
        shape.count = 3;                         /* it would read ints on to the end */
        w->rank = arg_shape(&shape, 2, w->shape);
    } else if (p->bytes != SIZE_MAX) {
        w->rank = 1;
        w->shape[0] = (int64_t)(p->bytes / (size_t)size);
    } else {
        arg_error_help(c, 0, ERR_FFI, "say how many: as_tensor(p, f64, …)",
                       "how many elements %s points to is not known", arg_text(c, 0));
    }
    int64_t count = shape_checked(&c->in->ctx, w->rank, w->shape);
    w->bytes = (size_t)count_times(count, size);
    if (w->bytes > p->bytes || w->bytes > (size_t)1 << 47)
        arg_error(c, 2, ERR_FFI, "the shape needs %zu bytes, and %s points to %zu", w->bytes,
                  arg_text(c, 0), p->bytes == SIZE_MAX ? (size_t)1 << 47 : p->bytes);
}

static void check_free(OpCall *c)
{
    char given[96];
    Value v = c->args[3];
    if (v.tag == V_CFUNC) {
        const CType *t = ((const CFunction *)v.ptr)->type;
        if (t->param_count == 1 && t->params[0].type->kind == CK_POINTER)
            return;
        arg_error(c, 3, ERR_FFI, "free must take one pointer, as free(void *p) does");
    }
    if (v.tag != V_FUNCTION && v.tag != V_OP)
        arg_error(c, 3, ERR_TYPE, "free must be a function that takes the pointer, not %s",
                  v_article(v, given, sizeof given));
}

static const Pointer *source_pointer(OpCall *c)
{
    char given[96];
    Value v = c->args[0];
    const Pointer *p = v.ptr;
    if (v.tag != V_POINTER)
        arg_error(c, 0, ERR_TYPE, "p must be a pointer, not %s", v_article(v, given, sizeof given));
    if (!p->at)
        arg_error_help(c, 0, ERR_FFI, "test it first: if p != null { … }",
                       "%s is null: there are no elements", arg_text(c, 0));
    return p;
}

/* Kernels will read it without a guard: a byte of every page shows that it is there. */
static void touch(OpCall *c, const char *at, size_t bytes)
{
    char byte;
    for (size_t i = 0; i < bytes; i += 4096)
        native_copy(c->in, &byte, at + i, 1, true, false);
    if (bytes)
        native_copy(c->in, &byte, at + bytes - 1, 1, true, false);
}

Value op_run_as_tensor(OpCall *c)
{
    Interp *in = c->in;
    const Pointer *p = source_pointer(c);
    Wanted w;
    wanted_dtype(c, &w, p);
    wanted_shape(c, &w, p);
    size_t align = ctype_align(native_ctype(w.dtype));
    if ((uintptr_t)p->at % align)
        arg_error_help(c, 0, ERR_FFI, "copy the bytes: as_tensor(p, u8, …)",
                       "%s is not at a multiple of %zu bytes, as elements of %s are",
                       arg_text(c, 0), align, dtype_name(w.dtype));
    if (arg_given(c, 3)) {
        check_free(c);
        if (p->owner.tag != V_UNDEF)
            arg_error_help(c, 0, ERR_FFI, "leave free= out: the tensor is a copy then",
                           "%s points to memory of the program's own, which is not to be freed",
                           arg_text(c, 0));
        touch(c, p->at, w.bytes);
        Tensor *t =
            op_keep(c, native_owned(in, w.dtype, w.rank, w.shape, p->at, w.bytes, c->args[3]));
        if (p->to->is_const) {       /* nobody is its only owner: the first write copies */
            t->buffer->flags |= BUFFER_MAPPED;
            t->buffer->refs++;
        }
        if (p->to->is_const && w.dtype == DT_BOOL)
            t = op_keep(c, tensor_copy(&in->ctx, t));
        native_bools(t);
        return op_result(c, t);
    }
    Tensor *t = op_keep(c, tensor_new(&in->ctx, w.dtype, w.rank, w.shape));
    native_copy(in, t->data, p->at, w.bytes, pointer_guarded(p), false);
    native_bools(t);
    return op_result(c, t);
}
