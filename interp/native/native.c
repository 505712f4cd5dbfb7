/* The state of native code in an interpreter, and making the values of native.h. */
#include "interp/native/native_call.h"
#include "interp/output/output.h"
#include "interp/state/wing.h"
#include "interp/eval/call.h"
#include "interp/state/kind.h"

#include <string.h>

NativeState *native_state(Interp *in)
{
    if (!in->native)
        in->native = mem_zalloc(&in->ctx, sizeof *in->native);
    return in->native;
}

/* ---- the kinds ---- */
static void release_cfunction(Ctx *c, Native *n)
{
    mem_free(c, n, sizeof(CFunction));
}

static void release_ctype(Ctx *c, Native *n)
{
    mem_free(c, n, sizeof(CTypeValue));
}

static void release_pointer(Ctx *c, Native *n)
{
    v_release(c, ((Pointer *)n)->owner);
    mem_free(c, n, sizeof(Pointer));
}

static void release_struct(Ctx *c, Native *n)
{
    Struct *s = (Struct *)n;
    v_release(c, s->keep);
    mem_free(c, s, sizeof *s + s->size);
}

static const char *cfunction_name(Value f)
{
    return ((const CFunction *)f.ptr)->name;
}

static Value cfunction_call(Interp *in, Value f, const Value *args, int count,
                            const Name *const *names, const Value *named, int named_count)
{
    (void)names, (void)named;
    if (named_count)
        native_raise_names(in, f.ptr);
    return native_call(in, f.ptr, args, count);
}

static Value cfunction_call_node(Interp *in, const Exec *x, Value f)
{
    return native_call_node(in, x, f.ptr);
}

static Value ctype_call_value(Interp *in, Value t, const Value *args, int count,
                              const Name *const *names, const Value *named, int named_count)
{
    return ctype_call(in, t.ptr, args, count, names, named, named_count);
}

static bool pointer_truth(Value p)
{
    return ((const Pointer *)p.ptr)->at != NULL;
}

/* As a value `null` is the null pointer, called it is the null space. */
static Value pointer_call(Interp *in, Value p, const Value *args, int count,
                          const Name *const *names, const Value *named, int named_count)
{
    if (p.ptr != native_null(in).ptr)
        call_refuse(in, in->at, p);
    return op_apply(in, op_named(in, "null"), args, count, 0, names, named, named_count);
}

static bool pointer_callable(Interp *in, Value p)
{
    return p.ptr == native_null(in).ptr;
}

static void function_help(Buf *out, Value f, bool line)
{
    if (!line) {
        native_help(out, f);
        return;
    }
    const CFunction *c = f.ptr;
    buf_puts(out, "  ");
    native_prototype(out, c->type, c->name);
    buf_putc(out, '\n');
}

static void type_help(Buf *out, Value t, bool line)
{
    (void)line;
    native_help(out, t);
}

static Value struct_copy_value(Interp *in, Value v)
{
    return struct_copy(in, v.ptr);
}

static const Kind cfunction_kind = {
    .release = release_cfunction, .name = cfunction_name, .describe = native_describe,
    .equal = native_equal,
    .show = show_native, .call = cfunction_call, .call_node = cfunction_call_node,
    .help = function_help,
};
static const Kind ctype_kind = {
    .release = release_ctype, .describe = native_describe, .equal = native_equal,
    .show = show_native,
    .call = ctype_call_value, .help = type_help,
};
static const Kind pointer_kind = {
    .release = release_pointer, .describe = native_describe, .equal = native_equal,
    .truth = pointer_truth,
    .show = show_native, .index = pointer_index, .index_set = pointer_index_set,
    .field = native_field_get,
    .field_set = native_field_set, .inside = native_inside, .call = pointer_call,
    .callable = pointer_callable, .length = native_length,
};
static const Kind struct_kind = {
    .release = release_struct, .describe = native_describe, .equal = native_equal,
    .show = show_native,
    .field = native_field_get, .field_set = native_field_set, .inside = native_inside,
    .keys = native_keys, .copy = struct_copy_value, .assign = native_struct_assign,
};

/* ---- making them ---- */
Value cfunction_new(Interp *in, const CType *type, const char *name, void (*at)(void))
{
    CFunction *f = mem_zalloc(&in->ctx, sizeof *f);
    f->native = (Native){ .refs = 1, .kind = &cfunction_kind };
    f->type = type;
    f->name = name;
    f->at = at;
    return v_native(V_CFUNC, f);
}

Value ctype_new(Interp *in, const CType *type, const char *name)
{
    CTypeValue *t = mem_zalloc(&in->ctx, sizeof *t);
    t->native = (Native){ .refs = 1, .kind = &ctype_kind };
    t->type = type;
    t->name = name;
    return v_native(V_CTYPE, t);
}

Value pointer_new(Interp *in, const CType *to, void *at, Value owner, size_t bytes)
{
    Pointer *p = mem_zalloc(&in->ctx, sizeof *p);
    p->native = (Native){ .refs = 1, .kind = &pointer_kind };
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

Value struct_new(Interp *in, const CType *type, const void *bytes)
{
    size_t size = ctype_size(type);
    Struct *s = mem_zalloc(&in->ctx, sizeof *s + size);
    s->native = (Native){ .refs = 1, .kind = &struct_kind };
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

static void native_free(Interp *in)
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

/* ---- the wing ---- */
static Value predefined(Interp *in, const char *name)
{
    return strcmp(name, "null") == 0 ? native_null(in) : v_undef();
}

static const LowerRow rows[] = { { ND_EXTERN, lower_extern } };

/* A free= function may print, and needs its module. */
static void ending(Interp *in)
{
    native_owned_free(in);
    out_flush(in);
    native_callbacks_free(in);
}

const Wing wing_native = {
    .rows = rows, .count = 1, .predefined = predefined, .running = native_running,
    .abandon = native_abandon,
    .ending = ending, .ended = native_free,
};
