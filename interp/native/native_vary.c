/* Arguments in place of `...`, and of functions declared with `()`. There is no parameter that says
 * what they are, so they go as C promotes them: ints as 64 bits (in a register or slot of their
 * own, where `int` reads the lower half), floats as double, texts and memory as pointers. */
#include "interp/native/native_call.h"

#include <string.h>

static _Noreturn void refuse(NativeCall *c, uint32_t i, Value v, const char *help)
{
    NativeWhere where = native_where(c, i);
    char what[96];
    Error *e = err_new(&c->in->ctx, ERR_FFI, "%s: argument %u is %s, which cannot stand for `...`",
                       where.of, i + 1, v_describe_a(v, what, sizeof what));
    if (where.operand >= 0)
        err_underline(e, where.operand);
    err_help(e, help, native_text(c->in, &where));
    err_throw(e);
}

static ffi_type *number(NativeCall *c, uint32_t i, Value v)
{
    NativeArg *a = &c->args[i];
    NativeWhere where = native_where(c, i);
    char kind = dtype_info(v_dtype(v))->kind;
    if (kind == 'i' || kind == 'b') {
        native_store(c->in, ctype_basic("long"), a->cell, v, &where, NULL);
        return &ffi_type_sint64;
    }
    if (v.tag == V_TENSOR && v.tensor->dtype == DT_INTERVAL)
        refuse(c, i, v, "float(%s)");
    const CType *t = ctype_basic(kind == 'c' ? "double _Complex" : "double");
    native_store(c->in, t, a->cell, v, &where, NULL);
    return native_abi(c->in, t);
}

static ffi_type *pointer(NativeCall *c, uint32_t i, const void *at)
{
    memcpy(c->args[i].cell, &at, sizeof at);
    return &ffi_type_pointer;
}

/* A tensor or struct without a variable: C may only read it, which nothing says. A copy is
 * harmless. */
static ffi_type *temporary(NativeCall *c, uint32_t i, Tensor *t)
{
    static const CType anything = { .kind = CK_VOID, .is_const = true };
    NativeWhere where = native_where(c, i);
    NativeMemory *m = &c->args[i].memory;
    tensor_settle(&c->in->ctx, t);
    if (t->refs > 1 || t->buffer->refs > 1 || !tensor_contiguous(t))
        refuse(c, i, v_tensor_raw(t), "give C a variable: y = %s, and y in its place");
    m->at = native_tensor_data(c->in, t, &anything, -1, &where);
    m->bytes = (size_t)t->size * dtype_info(t->dtype)->bytes;
    m->owner = v_tensor_raw(t);
    m->readonly = true;
    return pointer(c, i, m->at);
}

ffi_type *native_vary(NativeCall *c, uint32_t i)
{
    NativeArg *a = &c->args[i];
    Value v = a->v;
    if (a->held)
        return pointer(c, i, a->memory.at);
    if (native_is_scalar(v))
        return number(c, i, v);
    switch ((Tag)v.tag) {
    case V_STRING: {
        static const CType text = { .kind = CK_CHAR, .size = 1, .align = 1, .is_const = true,
                                    .name = "char" };
        const CType t = ctype_pointer_to(&text);
        NativeWhere where = native_where(c, i);
        native_memory(c->in, &t, v, &where, NULL, &a->memory);
        return pointer(c, i, a->memory.at);
    }
    case V_POINTER: {
        const Pointer *p = v.ptr;
        a->memory = (NativeMemory){ .at = p->at, .before = p->before, .bytes = p->bytes,
                                    .owner = p->owner,
                                    .readonly = p->readonly };
        return pointer(c, i, p->at);
    }
    case V_TENSOR:
        return temporary(c, i, v.tensor);
    case V_STRUCT:
        c->values[i] = ((Struct *)v.ptr)->bytes;
        return native_abi(c->in, ((Struct *)v.ptr)->type);
    case V_CFUNC:
        return pointer(c, i, (void *)(uintptr_t)((CFunction *)v.ptr)->at);
    case V_FUNCTION: case V_OP:
        refuse(c, i, v,
               "only a declared parameter says how C would call it: declare it in place of `...`");
    case V_NONE:
        refuse(c, i, v, "null is the pointer to nothing");
    case V_RANGE:
        refuse(c, i, v, "y = f64(%s), and y in its place");
    case V_TUPLE:
        refuse(c, i, v, "its elements are arguments with %s...");
    default:
        refuse(c, i, v, "numbers, texts, tensors, structs and pointers can");
    }
}
