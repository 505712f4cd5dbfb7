/* Ricci functions that C calls. A callback is a value's code for C: a libffi closure, one per value
 * and C type, that stays until unpin(f) or the end: nobody knows how long C holds on to it.
 * So it is two things: the thunk, which C's address leads to and which outlives the interpreter if
 * it must, and the NativeClosure, what it means while the interpreter is there.
 *
 * An error inside one cannot unwind C's frames: it waits in the NativeFrame, callbacks give zeros
 * from then on, and native_run raises it when C returns. */
#include "interp/state/exec.h"
#include "interp/state/frames.h"
#include "interp/native/native_call.h"
#include "interp/native/native_frame.h"
#include "interp/eval/call.h"
#include "interp/output/output.h"

#include "core/base/mem.h"

#include <errno.h>
#include <ffi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How an argument comes and the result goes: the usual types fast. */
typedef enum Load { LOAD_ANY, LOAD_DOUBLE, LOAD_INT32, LOAD_INT64 } Load;
typedef enum Give { GIVE_NOTHING, GIVE_DOUBLE, GIVE_INT32, GIVE_INT, GIVE_ANY } Give;

struct NativeClosure;
/* Made with calloc: no interpreter's memory. */
typedef struct Thunk {
    struct Thunk *next;               /* among the dead */
    _Atomic(Interp *) in;             /* NULL: it ended */
    struct NativeClosure *closure;
    ffi_closure *code;
    void *address;
    ffi_cif cif;
    size_t result_bytes;
    atomic_bool refused;
    char name[48];
    ffi_type *types[];
} Thunk;

typedef struct NativeClosure {
    struct NativeClosure *next;       /* of the same hash */
    uint64_t hash;
    Interp *in;
    Value callable;
    const CType *type;                /* CK_FUNCTION */
    Thunk *thunk;
    Value keep;                       /* what pointers that it returned need … */
    uint64_t keep_call;               /* … in this native call */
    uint32_t running;                 /* how many of its calls are under way */
    bool forgotten;                   /* freed when none is */
    uint32_t count;                   /* parameters */
    uint8_t give;                     /* Give */
    uint8_t loads[];                  /* Load, per parameter */
} NativeClosure;

struct NativeCallbacks {
    uint32_t count, cap;
    NativeClosure **buckets;          /* cap of them, by hash */
};

enum { MANY = 10000 };

/* Thunks whose interpreter ended: C may call them for ever. */
static _Atomic(Thunk *) dead;

/* ---- a call from C ---- */
static inline Value load(const NativeClosure *c, uint32_t i, void *from)
{
    switch (c->loads[i]) {
    case LOAD_DOUBLE: return v_float(*(double *)from);
    case LOAD_INT32: return v_int(*(int32_t *)from);
    case LOAD_INT64: return v_int(*(int64_t *)from);
    default: return native_load(c->in, c->type->params[i].type, from, v_undef());
    }
}

/* libffi wants integers narrower than a register widened to one. */
static void give_int(const NativeClosure *c, void *result, Value v, const NativeWhere *where)
{
    const CType *t = c->type->of;
    union {
        int8_t i8; int16_t i16; int32_t i32;
        uint8_t u8; uint16_t u16; uint32_t u32; uint64_t u64;
    } x = { 0 };
    native_store(c->in, t, &x, v, where, NULL);
    bool positive = t->is_unsigned || t->kind == CK_BOOL;
    switch (t->size) {
    case 1: *(ffi_arg *)result = positive ? x.u8 : (ffi_arg)(ffi_sarg)x.i8; break;
    case 2: *(ffi_arg *)result = positive ? x.u16 : (ffi_arg)(ffi_sarg)x.i16; break;
    case 4: *(ffi_arg *)result = positive ? x.u32 : (ffi_arg)(ffi_sarg)x.i32; break;
    default: memcpy(result, &x, 8);
    }
}

static void give(NativeClosure *c, const NativeFrame *frame, void *result, Value v)
{
    char name[80];
    if (c->give == GIVE_NOTHING)
        return;
    if (c->give == GIVE_DOUBLE && v.tag == V_FLOAT) {
        *(double *)result = v.f;
        return;
    }
    if (c->give == GIVE_INT32 && v.tag == V_INT && v.i == (int32_t)v.i) {
        *(ffi_sarg *)result = (ffi_sarg)v.i;
        return;
    }
    snprintf(name, sizeof name, "what %s returns", c->thunk->name);
    NativeWhere where = { frame->f->name, name, -1, -1 };
    if (c->give == GIVE_INT || c->give == GIVE_INT32) {
        give_int(c, result, v, &where);
        return;
    }
    if (c->keep_call != frame->serial) {          /* C may look at what it got before in this one */
        v_release(&c->in->ctx, c->keep);
        c->keep = v_undef();
        c->keep_call = frame->serial;
    }
    native_store(c->in, c->type->of, result, v, &where, &c->keep);
}

static void check_before(Interp *in)
{
    stack_check(in);
    poll_interrupt(in);
}

/* Runs it on the value stack above everything that the native call left there. */
static void run_callback(NativeClosure *c, NativeFrame *frame, void *result, void **args)
{
    Interp *in = c->in;
    Guard guard;
    Value callee = v_native(V_CFUNC, (void *)frame->f);
    CallFrame native = { .up = in->calls, .site = in->at, .args = &callee, .argc = 1,
                         .source = frame_source(in, in->calls), .module = in->module };
    guard_enter(in, &guard);
    if (!ERR_TRY(&in->ctx, &guard.frame)) {
        guard_restore(in, &guard);
        frame->pending = in->ctx.error;
        in->ctx.error = NULL;
        memset(result, 0, c->thunk->result_bytes);
        return;
    }
    Value *base = in->sp;
    check_before(in);
    stack_room(in, c->count + 1);
    for (uint32_t i = 0; i < c->count; i++)
        v_push(in, load(c, i, args[i]));
    in->calls = &native;
    Value v = call_value(in, c->callable, base, (int)c->count);
    in->calls = native.up;
    in->at = guard.at;
    v_push(in, v);
    give(c, frame, result, v);
    stack_drop(in, base);
    ERR_END(&in->ctx, &guard.frame);
}

static void refuse(Thunk *t, const Interp *in)
{
    static const char text[] =
        "notice: C called a callback of an interpreter that has ended: it returned 0\n";
    if (atomic_exchange(&t->refused, true))
        return;
    if (in)
        native_count_refusal();
    else if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        return;
}

/* C called. On a thread that is inside of no native call of this interpreter (one of the library's,
 * a signal handler while we run, the end of the process) nothing of the interpreter is touched. */
static void on_call(ffi_cif *cif, void *result, void **args, void *user)
{
    Thunk *t = user;
    (void)cif;
    int error = errno;
    NativeFrame *frame = native_suspend();
    Interp *in = atomic_load_explicit(&t->in, memory_order_acquire);
    memset(result, 0, t->result_bytes);
    if (!frame || !frame->f || !in || frame->in != in) {
        refuse(t, in);
    } else if (!frame->pending) {
        NativeClosure *c = t->closure;
        if (__fpending(stdout))
            fflush(stdout);              /* lines stand in the order in which they were written */
        c->running++;
        run_callback(c, frame, result, args);
        c->running--;
        if (in->out.len)
            out_flush(in);
    } else if (*in->ctx.interrupt) {
        native_escape(frame);            /* C goes on and on, and Ctrl-C was pressed once more */
    }
    native_resume(frame);
    errno = error;
}

/* The first callback of this interpreter that refused a call and was not told of. */
static Thunk *find_refused(struct NativeCallbacks *table)
{
    for (uint32_t i = 0; table && i < table->cap; i++)
        for (NativeClosure *c = table->buckets[i]; c; c = c->next)
            if (atomic_exchange(&c->thunk->refused, false))
                return c->thunk;
    return NULL;
}

void native_refused(Interp *in, const NativeFrame *under_way)
{
    const Thunk *t, *first = NULL;
    while ((t = find_refused(in->native->callbacks))) {
        if (!under_way)
            notice(in, "C called %s while no native call was under way: it returned 0", t->name);
        else if (!first)
            first = t;
    }
    if (first)
        err_raise_help(&in->ctx, ERR_FFI,
                       "have the library call it on the thread that it was called on",
                       "%s: %s was called on another thread, where it cannot run: "
                       "it returned 0 there", under_way->f->name, first->name);
}

/* ---- which callback is whose ---- */
static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

/* Two closures of one lambda are one callback if they captured the same: what is captured never
 * changes, so objects are the same if they are one object. */
static uint64_t hash_callable(Value v, int depth)
{
    if (v.tag != V_FUNCTION || depth == 0)
        return mix(v.tag, (uint64_t)v.i);
    uint64_t h = mix(V_FUNCTION, (uintptr_t)v.fn->code);
    for (uint32_t i = 0; i < v.fn->captured; i++)
        h = mix(h, hash_callable(v.fn->values[i], depth - 1));
    return h;
}

static bool same_callable(Value a, Value b, int depth)
{
    if (a.tag != b.tag)
        return false;
    if (a.i == b.i && a.aux == b.aux)
        return true;
    if (a.tag != V_FUNCTION || depth == 0 || a.fn->code != b.fn->code ||
        a.fn->module != b.fn->module)
        return false;
    for (uint32_t i = 0; i < a.fn->captured; i++)
        if (!same_callable(a.fn->values[i], b.fn->values[i], depth - 1))
            return false;
    return true;
}

enum { CAPTURE_DEPTH = 4 };

static NativeClosure *find(const struct NativeCallbacks *table, Value callable, const CType *type)
{
    uint64_t hash = hash_callable(callable, CAPTURE_DEPTH);
    NativeClosure *c = table->cap ? table->buckets[hash & (table->cap - 1)] : NULL;
    for (; c; c = c->next)
        if (c->hash == hash && !c->forgotten && (c->type == type || ctype_same(c->type, type)) &&
            same_callable(c->callable, callable, CAPTURE_DEPTH))
            return c;
    return NULL;
}

static void grow(Interp *in, struct NativeCallbacks *table)
{
    uint32_t cap = table->cap ? 2 * table->cap : 16;
    NativeClosure **buckets = mem_zalloc(&in->ctx, cap * sizeof *buckets);
    for (uint32_t i = 0; i < table->cap; i++)
        for (NativeClosure *c = table->buckets[i], *next; c; c = next) {
            next = c->next;
            c->next = buckets[c->hash & (cap - 1)];
            buckets[c->hash & (cap - 1)] = c;
        }
    mem_free(&in->ctx, table->buckets, table->cap * sizeof *buckets);
    table->buckets = buckets;
    table->cap = cap;
}

static struct NativeCallbacks *callbacks(Interp *in)
{
    NativeState *state = native_state(in);
    if (!state->callbacks)
        state->callbacks = mem_zalloc(&in->ctx, sizeof *state->callbacks);
    return state->callbacks;
}

/* ---- letting go ---- */
static void free_closure(NativeClosure *c)
{
    Ctx *ctx = &c->in->ctx;
    v_release(ctx, c->callable);
    v_release(ctx, c->keep);
    mem_free(ctx, c, sizeof *c + c->count);
}

static void free_thunk(Thunk *t)
{
    ffi_closure_free(t->code);
    free(t);
}

/* Those of a bucket that were forgotten; one that forgot itself while it ran goes the next time. */
static void sweep(struct NativeCallbacks *table, uint64_t hash)
{
    NativeClosure **at = &table->buckets[hash & (table->cap - 1)];
    while (*at) {
        NativeClosure *c = *at;
        if (!c->forgotten || c->running) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        table->count--;
        free_thunk(c->thunk);
        free_closure(c);
    }
}

bool native_callback_forget(Interp *in, Value callable)
{
    struct NativeCallbacks *table = callbacks(in);
    uint64_t hash = hash_callable(callable, CAPTURE_DEPTH);
    bool any = false;
    if (!table->cap)
        return false;
    for (NativeClosure *c = table->buckets[hash & (table->cap - 1)]; c; c = c->next)
        if (c->hash == hash && !c->forgotten && same_callable(c->callable, callable, CAPTURE_DEPTH))
            any = c->forgotten = true;
    sweep(table, hash);
    return any;
}

/* ---- making one ---- */
static void callable_name(Value v, char *out, size_t cap)
{
    const char *name = "the callback";
    if (v.tag == V_FUNCTION && v.fn->code->name)
        name = v.fn->code->name->text;
    else if (v.tag == V_OP)
        name = v.op->name;
    else if (v.tag == V_CFUNC)
        name = ((CFunction *)v.ptr)->name;
    else if (v.tag == V_FORMAT)
        name = dtype_name(v_format_dtype(v));
    snprintf(out, cap, "%s", name);
}

static Load load_of(const CType *t)
{
    if (t->kind == CK_FLOAT && t->size == 8)
        return LOAD_DOUBLE;
    if ((t->kind != CK_INT && t->kind != CK_ENUM) || t->is_unsigned)
        return LOAD_ANY;
    return t->size == 8 ? LOAD_INT64 : t->size == 4 ? LOAD_INT32 : LOAD_ANY;
}

static Give give_of(const CType *t)
{
    if (t->kind == CK_VOID)
        return GIVE_NOTHING;
    if (t->kind == CK_FLOAT && t->size == 8)
        return GIVE_DOUBLE;
    if (t->kind == CK_INT && t->size == 4 && !t->is_unsigned)
        return GIVE_INT32;
    return ctype_is_integer(t) ? GIVE_INT : GIVE_ANY;
}

static Thunk *make_thunk(Interp *in, const CType *type)
{
    Thunk *t = calloc(1, sizeof *t + (type->param_count + 1) * sizeof *t->types);
    if (!t)
        return NULL;
    size_t bytes = type->of->kind == CK_VOID ? 0 : ctype_size(type->of);
    t->result_bytes = bytes && bytes < sizeof(ffi_arg) ? sizeof(ffi_arg) : bytes;
    for (uint32_t i = 0; i < type->param_count; i++)
        t->types[i] = native_abi(in, type->params[i].type);
    t->code = ffi_closure_alloc(sizeof *t->code, &t->address);
    atomic_init(&t->in, in);
    ffi_type *result = native_abi(in, type->of);
    if (t->code &&
        ffi_prep_cif(&t->cif, FFI_DEFAULT_ABI, type->param_count, result, t->types) == FFI_OK &&
        ffi_prep_closure_loc(t->code, &t->cif, on_call, t, t->address) == FFI_OK)
        return t;
    if (t->code)
        ffi_closure_free(t->code);
    free(t);
    return NULL;
}

/* Everything that can raise comes first. */
static NativeClosure *make_closure(Interp *in, const CType *type, Value callable,
                                   const NativeWhere *where)
{
    struct NativeCallbacks *table = callbacks(in);
    native_abi(in, type->of);
    for (uint32_t i = 0; i < type->param_count; i++)
        native_abi(in, type->params[i].type);
    if (table->count >= table->cap)
        grow(in, table);
    sweep(table, hash_callable(callable, CAPTURE_DEPTH));
    NativeClosure *c = mem_zalloc(&in->ctx, sizeof *c + type->param_count);
    c->thunk = make_thunk(in, type);
    if (!c->thunk) {
        mem_free(&in->ctx, c, sizeof *c + type->param_count);
        err_raise(&in->ctx, ERR_FFI, "%s: the system gives no memory for the code of a callback",
                  where->of);
    }
    callable_name(callable, c->thunk->name, sizeof c->thunk->name);
    c->thunk->closure = c;
    c->in = in;
    c->callable = v_retain(callable);
    c->type = type;
    c->count = type->param_count;
    c->hash = hash_callable(callable, CAPTURE_DEPTH);
    c->give = (uint8_t)give_of(type->of);
    for (uint32_t i = 0; i < type->param_count; i++)
        c->loads[i] = (uint8_t)load_of(type->params[i].type);
    c->next = table->buckets[c->hash & (table->cap - 1)];
    table->buckets[c->hash & (table->cap - 1)] = c;
    if (++table->count == MANY)
        notice(in, "%d callbacks are kept, since C may call them: unpin(f) lets go of one", MANY);
    return c;
}

/* C functions go as they are if the machine passes the same; what pointers point to is C's own. */
static bool passes_alike(const CType *a, const CType *b)
{
    if (a->kind == CK_POINTER || b->kind == CK_POINTER)
        return a->kind == b->kind;
    if (ctype_is_integer(a) && ctype_is_integer(b))
        return a->size == b->size && a->is_unsigned == b->is_unsigned;
    return ctype_same(a, b);
}

static bool calls_alike(const CType *a, const CType *b)
{
    if (a->param_count != b->param_count || a->variadic != b->variadic ||
        !passes_alike(a->of, b->of))
        return false;
    for (uint32_t i = 0; i < a->param_count; i++)
        if (!passes_alike(a->params[i].type, b->params[i].type))
            return false;
    return true;
}

/* What can be told before C calls it. */
static void check_callable(Interp *in, const CType *type, Value callable, const NativeWhere *where)
{
    const CType pointer = ctype_pointer_to(type);
    if (callable.tag == V_CFUNC && !calls_alike(((CFunction *)callable.ptr)->type, type))
        native_refuse_value(in, where, &pointer, callable);
    if (type->variadic && callable.tag != V_CFUNC)
        native_refuse(in, where, &pointer, NULL, "is variadic: only C can make such a function");
    if (callable.tag != V_FUNCTION)
        return;
    const FnCode *code = callable.fn->code;
    const char *name = code->name ? code->name->text : "the function";
    uint32_t n = type->param_count;
    if (n < code->required || (n > code->params && code->rest < 0))
        native_refuse(in, where, &pointer, NULL, "is called with %u argument%s, and %s takes %u", n,
                      n == 1 ? "" : "s", name, n < code->required ? code->required : code->params);
}

void *native_callback(Interp *in, const CType *type, Value callable, const NativeWhere *where)
{
    check_callable(in, type, callable, where);
    if (callable.tag == V_CFUNC)
        return (void *)((CFunction *)callable.ptr)->at;
    NativeClosure *c = find(callbacks(in), callable, type);
    if (!c)
        c = make_closure(in, type, callable, where);
    return c->thunk->address;
}

/* libffi's picture of a struct lives with its C type, which ends with the interpreter. */
static ffi_type *copy_type(const ffi_type *t)
{
    if (t->type != FFI_TYPE_STRUCT)
        return (ffi_type *)t;
    size_t n = 0;
    while (t->elements[n])
        n++;
    ffi_type *copy = calloc(1, sizeof *copy + (n + 1) * sizeof *copy->elements);
    if (!copy)
        return &ffi_type_pointer;
    *copy = *t;
    copy->elements = (ffi_type **)(copy + 1);
    for (size_t i = 0; i < n; i++)
        copy->elements[i] = copy_type(t->elements[i]);
    return copy;
}

static void bury(Thunk *t)
{
    for (unsigned i = 0; i < t->cif.nargs; i++)
        t->types[i] = copy_type(t->types[i]);
    t->cif.rtype = copy_type(t->cif.rtype);
    t->closure = NULL;
    atomic_store(&t->in, NULL);
    t->next = atomic_load(&dead);
    while (!atomic_compare_exchange_weak(&dead, &t->next, t))
        continue;
}

void native_callbacks_free(Interp *in)
{
    struct NativeCallbacks *table = in->native ? in->native->callbacks : NULL;
    if (!table)
        return;
    for (uint32_t i = 0; i < table->cap; i++)
        for (NativeClosure *c = table->buckets[i], *next; c; c = next) {
            next = c->next;
            bury(c->thunk);
            free_closure(c);
        }
    mem_free(&in->ctx, table->buckets, table->cap * sizeof *table->buckets);
    mem_free(&in->ctx, table, sizeof *table);
    in->native->callbacks = NULL;
}
