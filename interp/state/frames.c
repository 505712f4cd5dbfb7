/* The running calls: whose code runs in a frame, and in which module. */
#include "interp/state/frames.h"

#include <string.h>

Source *frame_source(Interp *in, const CallFrame *f)
{
    if (!f)
        return in->module && in->module->source ? in->module->source : NULL;
    return f->fn ? f->fn->chunk->source : f->source;
}

bool source_is_stdlib(const Source *source)
{
    return source && strncmp(source->name, "<stdlib:", 8) == 0;
}

Module *interp_module(Interp *in)
{
    for (CallFrame *f = in->calls; f; f = f->up)
        if (f->fn)
            return f->fn->module;
        else if (f->module)
            return f->module;
    return in->module ? in->module : in->main;
}

/* ---- handed over ---- */
Value handed_take(Handed *h, Value *slot)
{
    Value v = *slot;
    const Tensor *t = v.tag == V_TENSOR ? v.tensor : NULL;
    bool data = (t && t->rank <= HANDED_RANK) || v.tag == V_TUPLE || v.tag == V_STRING;
    if (!data || h->count == HANDED_MAX)
        return v_undef();
    struct HandedOne *one = &h->of[h->count++];
    one->slot = slot;
    one->tag = (uint8_t)v.tag;
    if (t) {
        one->rank = t->rank;
        one->dtype = t->dtype;
        memcpy(one->shape, tensor_shape(t), t->rank * sizeof *one->shape);
    }
    *slot = v_undef();
    return v;
}

const char *handed_describe(const Handed *h, const Value *slot, char *out, size_t cap)
{
    for (int i = 0; h && i < h->count; i++) {
        const struct HandedOne *one = &h->of[i];
        if (one->slot != slot)
            continue;
        if (one->tag == V_TENSOR)
            return tensor_describe((DType)one->dtype, one->rank, one->shape, out, cap);
        return v_describe((Value){ .tag = one->tag }, out, cap);
    }
    return NULL;
}
