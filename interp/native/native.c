/* The state of native code in an interpreter, and making the values of native.h. */
#include "interp/native/native_call.h"

#include <string.h>

NativeState *native_state(Interp *in)
{
    if (!in->native)
        in->native = mem_zalloc(&in->ctx, sizeof *in->native);
    return in->native;
}

static void release_cfunction(Ctx *c, Native *n)
{
    mem_free(c, n, sizeof(CFunction));
}

Value cfunction_new(Interp *in, const CType *type, const char *name, void (*at)(void))
{
    CFunction *f = mem_zalloc(&in->ctx, sizeof *f);
    f->native = (Native){ .refs = 1, .release = release_cfunction };
    f->type = type;
    f->name = name;
    f->at = at;
    return v_native(V_CFUNC, f);
}

static void release_ctype(Ctx *c, Native *n)
{
    mem_free(c, n, sizeof(CTypeValue));
}

Value ctype_new(Interp *in, const CType *type, const char *name)
{
    CTypeValue *t = mem_zalloc(&in->ctx, sizeof *t);
    t->native = (Native){ .refs = 1, .release = release_ctype };
    t->type = type;
    t->name = name;
    return v_native(V_CTYPE, t);
}

static void release_pointer(Ctx *c, Native *n)
{
    v_release(c, ((Pointer *)n)->owner);
    mem_free(c, n, sizeof(Pointer));
}

Value pointer_new(Interp *in, const CType *to, void *at, Value owner, size_t bytes)
{
    Pointer *p = mem_zalloc(&in->ctx, sizeof *p);
    p->native = (Native){ .refs = 1, .release = release_pointer };
    p->to = to;
    p->at = at;
    p->owner = v_retain(owner);
    p->bytes = bytes;
    return v_native(V_POINTER, p);
}

Value pointer_as(Interp *in, const Pointer *from, const CType *to, size_t bytes)
{
    if (to->kind == CK_FUNCTION && from->at) {       /* what dlsym gave */
        void (*code)(void);
        memcpy(&code, &from->at, sizeof code);
        return cfunction_new(in, to, "the C function", code);
    }
    Value v = pointer_new(in, to, from->at, from->owner, bytes);
    Pointer *p = v.ptr;
    p->before = from->before;
    p->readonly = from->readonly;
    return v;
}

Value native_null(Interp *in)
{
    NativeState *state = native_state(in);
    if (state->null.tag == V_UNDEF)
        state->null = pointer_new(in, ctype_basic("void"), NULL, v_undef(), 0);
    return state->null;
}

static void release_struct(Ctx *c, Native *n)
{
    Struct *s = (Struct *)n;
    v_release(c, s->keep);
    mem_free(c, s, sizeof *s + s->size);
}

Value struct_new(Interp *in, const CType *type, const void *bytes)
{
    size_t size = ctype_size(type);
    Struct *s = mem_zalloc(&in->ctx, sizeof *s + size);
    s->native = (Native){ .refs = 1, .release = release_struct };
    s->type = type;
    s->size = size;
    if (bytes)
        memcpy(s->bytes, bytes, size);
    return v_native(V_STRUCT, s);
}

Value struct_copy(Interp *in, const Struct *s)
{
    Value copy = struct_new(in, s->type, s->bytes);
    ((Struct *)copy.ptr)->keep = v_retain(s->keep);
    return copy;
}

void native_free(Interp *in)
{
    NativeState *state = in->native;
    if (!state)
        return;
    v_release(&in->ctx, state->null);
    native_pins_free(in);
    cscope_free(state->types);
    native_blocks_free(in, state);
    native_libraries_free(in);
    mem_free(&in->ctx, state, sizeof *state);
    in->native = NULL;
}
