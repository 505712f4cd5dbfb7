/* What C keeps. pin(x) marks the buffer of a tensor (or a struct) as one that C may write to at any
 * time: a reference of its own keeps it alive until unpin(x) or the end, the variable writes into
 * it in place as if it were the only owner, and whatever would share its elements copies them
 * instead: see pinned.h. And the other way round: memory of C's that a tensor
 * owns, with the function that frees it. */
#include "interp/native/native.h"

#include "interp/eval/call.h"
#include "interp/output/output.h"
#include "kernels/device/device.h"
#include "kernels/rational/rational.h"

#include <string.h>

typedef struct NativePin {
    struct NativePin *next;
    /* the variable of a module, which may have another value by now; or NULL */
    const Value *global;
    Value held;                      /* a tensor over the buffer, or the struct */
    bool lent;                       /* for as long as the variable has it: native_pin_lent */
} NativePin;

struct NativeOwned {
    struct NativeOwned *next;
    Interp *in;
    void *at;
    Value freer;
};

/* ---- bools that C wrote ---- */
/* A bool is 0 or 1, which sums and comparisons count on; C takes every other byte for true too.
 * Looked at before it is written: pages that are as they should be stay untouched. */
void native_bools(Tensor *t)
{
    uint8_t *b = (uint8_t *)t->data, seen = 0;
    if (t->dtype != DT_BOOL)
        return;
    for (int64_t i = 0; i < t->size; i++)
        seen |= b[i];
    for (int64_t i = 0; seen > 1 && i < t->size; i++)
        b[i] = b[i] != 0;
}

static bool pins_bools(const NativePin *p)
{
    return p->held.tag == V_TENSOR && p->held.tensor->dtype == DT_BOOL;
}

void native_pins_bools(Interp *in)
{
    for (NativePin *p = in->native->pins; p; p = p->next)
        if (pins_bools(p))
            native_bools(p->held.tensor);
}

/* ---- pinning ---- */
static bool is_global(const Interp *in, const Value *slot)
{
    for (const Module *m = in->modules; m; m = m->next)
        if (slot >= m->slots && slot < m->slots + m->slot_cap)
            return true;
    return false;
}

static _Noreturn void raise_unpinnable(Interp *in, Value v)
{
    char what[96];
    Error *e = err_new(&in->ctx, ERR_FFI, "%s is %s, which has no memory for C to keep",
                       err_operand_text(&in->ctx, 0), v_describe_a(v, what, sizeof what));
    if (v_is_numeric(v))
        err_help(e, "a tensor of one element has: %s = [%s]", err_operand_text(&in->ctx, 0),
                 err_operand_text(&in->ctx, 0));
    else if (v.tag == V_STRING)
        err_help(e, "a u8 tensor of its bytes has");
    err_throw(e);
}

static void check_pinnable(Interp *in, Value v)
{
    if (v.tag == V_STRUCT)
        return;
    if (v.tag != V_TENSOR || v.tensor->rank == 0)
        raise_unpinnable(in, v);
    DType dt = (DType)v.tensor->dtype;
    if (!native_ctype(dt))
        err_raise(&in->ctx, ERR_FFI, "C has no type for the elements of %s, which are %s",
                  err_operand_text(&in->ctx, 0), dtype_name(dt));
    Device *d = tensor_device(&in->ctx, v.tensor);
    if (d != in->ctx.devices->cpu) {
        const char *x = err_operand_text(&in->ctx, 0);
        Error *e = err_new(&in->ctx, ERR_FFI, "%s lies on %s, and C works on the cpu", x, d->name);
        err_help(e, "%s = to(%s, cpu)", x, x);
        err_throw(e);
    }
}

static NativePin *pin_add(Interp *in, Value *slot)
{
    NativeState *state = native_state(in);
    NativePin *p = mem_zalloc(&in->ctx, sizeof *p);
    p->global = is_global(in, slot) ? slot : NULL;
    p->next = state->pins;
    in->pins++;
    return state->pins = p;
}

static void pin_tensor(Interp *in, Value *slot)
{
    Ctx *ctx = &in->ctx;
    native_refuse_sparse(in, slot->tensor);
    tensor_settle(ctx, slot->tensor);
    if (!tensor_contiguous(slot->tensor)) {
        Tensor *dense = tensor_copy(ctx, slot->tensor), *old = slot->tensor;
        slot->tensor = dense;
        tensor_release(ctx, old);
    }
    tensor_unshare(ctx, &slot->tensor);
    Tensor *t = slot->tensor;
    NativePin *p = pin_add(in, slot);
    p->held = v_none();
    p->held =
        v_tensor_raw(tensor_view(ctx, t, t->rank, tensor_shape(t), tensor_strides(t), t->data));
    t->buffer->pinned = t;
    native_state(in)->bool_pins += pins_bools(p);
}

void native_pin(Interp *in, Value *slot)
{
    check_pinnable(in, *slot);
    if (value_is_pinned(*slot))
        return;
    if (slot->tag == V_TENSOR) {
        pin_tensor(in, slot);
        return;
    }
    native_unshare(in, slot);
    pin_add(in, slot)->held = v_retain(*slot);
    ((Struct *)slot->ptr)->native.pinned = true;
}

static bool is_held(const NativePin *p, Value v)
{
    if (p->held.tag != v.tag)
        return false;
    return v.tag == V_TENSOR ? p->held.tensor->buffer == v.tensor->buffer : p->held.ptr == v.ptr;
}

static void pin_free(Interp *in, NativePin *p)
{
    in->pins--;
    in->native->lent_pins -= p->lent;
    if (pins_bools(p)) {
        native_bools(p->held.tensor);
        in->native->bool_pins--;
    }
    if (p->held.tag == V_TENSOR)
        p->held.tensor->buffer->pinned = NULL;
    else if (p->held.tag == V_STRUCT)
        ((Struct *)p->held.ptr)->native.pinned = false;
    v_release(&in->ctx, p->held);
    mem_free(&in->ctx, p, sizeof *p);
}

/* What the variable holds, and what it held before if it is a global and got another value. */
void native_unpin(Interp *in, Value *slot)
{
    NativeState *state = native_state(in);
    bool any = false, global = is_global(in, slot);
    for (NativePin **at = &state->pins; *at;) {
        NativePin *p = *at;
        if (!is_held(p, *slot) && !(global && p->global == slot)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        pin_free(in, p);
        any = true;
    }
    if (!any)
        err_raise(&in->ctx, ERR_FFI, "%s is not pinned", err_operand_text(&in->ctx, 0));
}

void native_pin_lent(Interp *in, Value *slot)
{
    bool pinned = value_is_pinned(*slot);
    native_pin(in, slot);
    if (pinned)
        return;
    in->native->pins->lent = true;
    in->native->lent_pins++;
}

void native_pins_sweep(Interp *in)
{
    NativeState *state = in->native;
    if (!state || !state->lent_pins)
        return;
    for (NativePin **at = &state->pins; *at;) {
        NativePin *p = *at;
        if (!p->lent || (p->global && is_held(p, *p->global))) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        pin_free(in, p);
    }
}

void native_pins_free(Interp *in)
{
    NativeState *state = in->native;
    while (state->pins) {
        NativePin *p = state->pins;
        state->pins = p->next;
        if (p->held.tag == V_STRUCT) {       /* lists of pinned structs may be rings */
            Value keep = ((Struct *)p->held.ptr)->keep;
            ((Struct *)p->held.ptr)->keep = v_undef();
            v_release(&in->ctx, keep);
        }
        pin_free(in, p);
    }
}

/* v into the memory of a pinned struct. */
void native_struct_assign(Interp *in, Value *slot, Value v)
{
    Struct *s = slot->ptr, *from = v.ptr;
    if (v.tag != V_STRUCT || !ctype_same(s->type, from->type))
        pinned_raise(in, *slot, "it stays a struct of that type");
    memmove(s->bytes, from->bytes, s->size);
    native_keep(in, &s->keep, from->keep);       /* C may still hold what it pointed to before */
}

/* ---- memory of C's that a tensor owns ---- */
static void call_freer(Interp *in, struct NativeOwned *own)
{
    Error *pending = in->ctx.error;
    Guard g;
    in->ctx.error = NULL;
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        v_push(in, pointer_new(in, ctype_basic("void"), own->at, v_undef(), SIZE_MAX));
        v_push(in, call_value(in, own->freer, in->sp - 1, 1));
        stack_cut(in, g.sp);
        ERR_END(&in->ctx, &g.frame);
    } else {
        guard_restore(in, &g);
        notice(in, "free of a tensor's memory: %s", in->ctx.error->message);
        err_free(in->ctx.error);
    }
    in->ctx.error = pending;
}

/* It is in no list any more: freer may make another. */
static void owned_end(Interp *in, struct NativeOwned *own)
{
    call_freer(in, own);
    v_release(&in->ctx, own->freer);
    mem_free(&in->ctx, own, sizeof *own);
}

static void release_owned(Ctx *ctx, Buffer *b)
{
    Interp *in = (Interp *)(void *)ctx;      /* its first member */
    NativeState *state = in->native;
    for (struct NativeOwned **at = state ? &state->owned : NULL; at && *at; at = &(*at)->next) {
        struct NativeOwned *own = *at;
        if (own->at != b->data)
            continue;
        *at = own->next;
        owned_end(in, own);
        return;
    }
}

Tensor *native_owned(Interp *in, DType dt, int rank, const int64_t *shape, void *at, size_t bytes,
                     Value freer)
{
    NativeState *state = native_state(in);
    for (struct NativeOwned *o = state->owned; o; o = o->next)
        if (o->at == at)
            err_raise(&in->ctx, ERR_FFI, "another tensor owns that memory already");
    struct NativeOwned *own = mem_zalloc(&in->ctx, sizeof *own);
    ErrFrame frame;
    if (!ERR_TRY(&in->ctx, &frame)) {
        mem_free(&in->ctx, own, sizeof *own);
        err_rethrow(&in->ctx);
    }
    Tensor *t = tensor_adopt(&in->ctx, dt, rank, shape, at, bytes, release_owned);
    ERR_END(&in->ctx, &frame);
    *own =
        (struct NativeOwned){ .next = state->owned, .in = in, .at = at, .freer = v_retain(freer) };
    state->owned = own;
    return t;
}

/* Before modules go, since functions and their types are in them. */
void native_owned_free(Interp *in)
{
    NativeState *state = in->native;
    while (state && state->owned) {
        struct NativeOwned *own = state->owned;
        state->owned = own->next;
        owned_end(in, own);
    }
}
