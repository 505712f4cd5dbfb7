/* Operations that wait: whether one can, what it will give, and its end. */
#include "interp/lazy/lazy.h"

#include "core/base/error.h"
#include "core/base/limit.h"
#include "interp/device/place.h"
#include "interp/precision/autocast.h"
#include "interp/state/frames.h"
#include "interp/state/scope.h"
#include "kernels/sparse/sparse.h"

#include <string.h>

/* ---- the end ---- */
static size_t deferred_bytes(int count)
{
    return sizeof(Deferred) + (size_t)count * sizeof(Value);
}

static void unlink_deferred(LazyState *r, Deferred *d)
{
    *(d->before ? &d->before->after : &r->first) = d->after;
    *(d->after ? &d->after->before : &r->last) = d->before;
    d->before = d->after = NULL;
}

/* Frees d and what only it held: operands that wait too come back here, so a list is kept instead
 * of a stack of calls. */
static void bury(Ctx *ctx, LazyState *r, Deferred *d)
{
    unlink_deferred(r, d);
    ctx->pending--;
    devices_remote(ctx);
    d->after = r->dying;
    r->dying = d;
    if (r->draining)
        return;
    r->draining = true;
    while (r->dying) {
        Deferred *next = r->dying;
        r->dying = next->after;
        for (int i = 0; i < next->count; i++)
            v_release(ctx, next->args[i]);
        mem_free(ctx, next, deferred_bytes(next->count));
    }
    r->draining = false;
}

static void forget(Ctx *ctx, Buffer *b)
{
    Deferred *d = b->device;
    LazyState *r = d->in->lazy;
    b->device = NULL;
    if (!d->over)
        lazy_tell_dead(r, d);
    bury(ctx, r, d);
}

static bool same_form(const Tensor *t, const Tensor *head)
{
    return t->dtype == head->dtype && t->rank == head->rank &&
           memcmp(t->dims, head->dims, (size_t)t->rank * sizeof *t->dims) == 0;
}

/* Is t laid out as it was said to be? */
static bool same_layout(const Tensor *t, const Tensor *head)
{
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] != 1 && tensor_strides(t)[i] != tensor_strides(head)[i])
            return false;
    return true;
}

void deferred_commit(Deferred *d, Tensor *t)
{
    Interp *in = d->in;
    Ctx *ctx = &in->ctx;
    Tensor *head = d->head;
    assert(same_form(t, head));
    if (!same_form(t, head))
        err_raise(ctx, ERR_VALUE, "%s gave another shape or dtype than it was recorded with",
                  d->op->name);
    Tensor *own = same_layout(t, head) || !tensor_contiguous(head) ? tensor_retain(t)
                                                                  : tensor_copy(ctx, t);
    Buffer *empty = head->buffer;
    head->buffer = own->buffer;
    head->buffer->refs++;
    head->data = own->data;
    head->flags = own->flags;
    memcpy(tensor_strides(head), tensor_strides(own), (size_t)own->rank * sizeof *own->dims);
    tensor_release(ctx, own);
    empty->device = NULL;
    buffer_unref(ctx, empty);
    d->over = true;
    bury(ctx, in->lazy, d);
}

/* ---- whoever asks for elements ---- */
static void settle(Ctx *ctx, Buffer *b)
{
    (void)ctx;
    Deferred *d = b->device;
    lazy_run(d->in, d);
}

static void bring_home(Ctx *ctx, Buffer *b)
{
    Tensor *head = ((Deferred *)b->device)->head;
    settle(ctx, b);
    tensor_home(ctx, head);
}

/* tensor.c settles before either. */
static void stale(Ctx *ctx, Buffer *b)
{
    settle(ctx, b);
}

static Tensor *copy(Ctx *ctx, Tensor *t)
{
    tensor_settle(ctx, t);
    return tensor_copy(ctx, t);
}

const ResidenceOps deferred_ops = { .bring_home = bring_home, .stale = stale, .forget = forget,
                                    .copy = copy, .settle = settle };

void settle_value(Interp *in, Value v)
{
    if (v.tag == V_TENSOR && !tensor_sparse(v.tensor))      /* entries do not wait */
        tensor_settle(&in->ctx, v.tensor);
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        settle_value(in, v.tuple->items[i]);
}

/* ---- can it wait? ---- */
static bool numbers_only(Value v)
{
    if (v.tag != V_TUPLE)
        return v.tag == V_INT || v.tag == V_NONE;
    for (uint32_t i = 0; i < v.tuple->count; i++)
        if (!numbers_only(v.tuple->items[i]))
            return false;
    return true;
}

/* Tensors that nobody writes to behind our back, and what says how. */
static bool operands_wait(const OpCall *c)
{
    bool any = false;
    for (int i = 0; i < c->count; i++) {
        Value v = c->args[i];
        if (v.tag == V_TENSOR) {
            const Deferred *d = deferred_of(v);
            if (v.tensor->rank == 0 || v.tensor->buffer->pinned ||
                !dtype_plain(v.tensor->dtype) || (d && d->lost))
                return false;
            any = true;
        } else if (v.tag > V_FORMAT && !(v.tag == V_TUPLE && numbers_only(v))) {
            return false;
        }
    }
    return any;
}

/* What the scope in force brings a tensor of dtype dt to, before the operation sees it. */
static DType landing(const Interp *in, const Op *op, DType dt)
{
    const Scope *s = in->scope;
    if (!s)
        return dt;
    if (s->format == DT_NONE)
        return autocast_dtype(op->autocast, s->autocast, dt);
    return dtype_info(dt)->kind == 'f' ? s->format : dt;
}

/* A scope whose results' dtypes are those of its formats, and which ends after all has run. */
static bool scope_tells(const Scope *s)
{
    if (!s)
        return true;
    if (s->pinned || !s->waits || s->backward != DT_NONE)
        return false;
    if (s->format == DT_NONE)
        return dtype_plain(s->autocast) && s->autocast != DT_I8 && !autocast_asks(s);
    return scope_ordinary(s) && !s->accumulate_given;
}

/* An elementwise row in a scope, on tensors as the scope brings them. */
static bool form_scoped(OpCall *c, const DType *as, EwForm *e)
{
    Interp *in = c->in;
    Value args[3], *mark = in->sp;
    for (int i = 0; i < c->count; i++) {
        args[i] = c->args[i];
        if (args[i].tag == V_TENSOR && as[i] != (DType)args[i].tensor->dtype) {
            Tensor *t = args[i].tensor;
            args[i] = v_tensor_raw(tensor_without(&in->ctx, as[i], t->rank, tensor_shape(t),
                                                  t->size));
            args[i].tensor->flags = t->flags;
            v_push(in, args[i]);
        } else if (args[i].tag == V_FLOAT && in->scope->format == DT_F32) {
            return false;               /* it is rounded first */
        }
    }
    bool known = ew_form_any(in, c->op, args, c->count, c->weak, e) &&
                 dtype_info(e->compute)->kind == 'f';
    stack_cut(in, mark);
    return known;
}

static bool form_of(OpCall *c, OpForm *f, EwForm *e)
{
    Interp *in = c->in;
    DType as[16];
    for (int i = 0; i < c->count; i++)
        as[i] = c->args[i].tag == V_TENSOR
                ? landing(in, c->op, (DType)c->args[i].tensor->dtype) : DT_NONE;
    if (c->op->cls != OPC_EW)
        return op_form(c, as, f);
    if (in->scope ? !form_scoped(c, as, e)
                  : !ew_form(in, c->op, c->args, c->count, c->weak, e))
        return false;
    if (e->size == 0 || e->rank == 0)
        return false;
    *f = (OpForm){ .dtype = e->result, .rank = e->rank, .size = e->size };
    memcpy(f->shape, e->shape, (size_t)e->rank * sizeof *e->shape);
    for (int64_t i = f->rank - 1, step = 1; i >= 0; step *= f->shape[i--])
        f->strides[i] = step;
    return true;
}

/* How the elements of a factor will lie is not known: LAPACK gives columns, and what is solved with
 * it depends on that. Laid out with gaps it passes for contiguous with nobody, and may become
 * anything. */
static void lay_out(Tensor *head, const Op *op, const OpForm *f)
{
    memcpy(tensor_strides(head), f->strides, (size_t)f->rank * sizeof *f->strides);
    if (op->gives != GIVES_LIKE && op->gives != GIVES_SQUARE)
        return;
    for (int64_t i = head->rank - 1, step = 2; i >= 0; step *= head->dims[i--])
        tensor_strides(head)[i] = step;
}

static Value wait_for(OpCall *c, const OpForm *f, const EwForm *e)
{
    Interp *in = c->in;
    Ctx *ctx = &in->ctx;
    LazyState *r = in->lazy;
    Tensor *head = tensor_without(ctx, f->dtype, f->rank, f->shape, f->size);
    lay_out(head, c->op, f);
    head->flags = f->flags;
    v_push(in, v_tensor_raw(head));
    Deferred *d = mem_alloc(ctx, deferred_bytes(c->count));
    in->sp--;
    *d = (Deferred){
        .base = { .ops = &deferred_ops, .buffer = head->buffer,
                  .home = in->place ? in->place->device : ctx->devices->cpu },
        .in = in, .head = head, .before = r->last, .op = c->op, .at = in->at,
        .source = frame_source(in, in->calls), .scope = in->scope, .place = in->place,
        .weak = c->weak, .count = (uint8_t)c->count, .fixed = (uint8_t)c->fixed, .view = f->view,
    };
    if (c->op->cls == OPC_EW) {
        d->compute = (uint8_t)e->compute;
        memcpy(d->cell, e->cell, sizeof d->cell);
    }
    for (int i = 0; i < c->count; i++) {
        d->args[i] = v_retain(c->args[i]);
        d->operand[i] = c->operand ? c->operand[i] : (int8_t)i;
    }
    *(r->last ? &r->last->after : &r->first) = d;
    r->last = d;
    head->buffer->device = d;
    ctx->pending++;
    ctx->remote = true;
    r->counts.operations++;
    return v_tensor_raw(head);
}

/* On a device that holds all of it: elsewhere fallbacks say what the dtypes are. */
static bool place_holds(const OpCall *c, DType result)
{
    const DeviceBlock *p = c->in->place;
    if (!p)
        return true;
    bool holds = p->device && !p->running && !p->strict && !p->pinned &&
                 device_holds(p->device, result);
    for (int i = 0; i < c->count && holds; i++)
        holds = c->args[i].tag != V_TENSOR ||
                device_holds(p->device, (DType)c->args[i].tensor->dtype);
    return holds;
}

enum {
    WAITING_MAX = 1024,         /* what they hold is not let go meanwhile */
    CHECK_BYTES = 1 << 28       /* from here on what is asked for may not be there */
};
#define WAITING_BYTES 2e9

/* What waits holds its operands, about as many bytes as its results will have. */
static double most_bytes(const Interp *in)
{
    const Limit *limit = in->ctx.limit;
    return limit && limit->memory / 8 < WAITING_BYTES ? limit->memory / 8 : WAITING_BYTES;
}

static bool held_already(const LazyState *r, const Buffer *b)
{
    for (const Deferred *d = r->last; d; d = d->before)
        for (int i = 0; i < d->count; i++)
            if (d->args[i].tag == V_TENSOR && d->args[i].tensor->buffer == b)
                return true;
    return false;
}

/* Of large results that guess would end a chain after a few operations, and what ends one writes
 * what it should not: here the operands that nobody before holds are counted themselves. */
static int64_t held_bytes(const Interp *in, const OpCall *c)
{
    int64_t bytes = 0;
    for (int i = 0; i < c->count; i++) {
        const Value *v = &c->args[i];
        if (v->tag == V_TENSOR && !deferred_of(*v) && !held_already(in->lazy, v->tensor->buffer))
            bytes += (int64_t)v->tensor->buffer->bytes;
    }
    return bytes;
}

Value record(OpCall *c)
{
    Interp *in = c->in;
    OpForm f;
    EwForm e;
    if (!c->op || c->factors || in->solved || !scope_tells(in->scope) ||
        c->count > 16 || !operands_wait(c) ||
        !form_of(c, &f, &e) || !place_holds(c, f.dtype))
        return v_undef();
    int64_t bytes = count_times(f.size, dtype_info(f.dtype)->bytes);
    int64_t held = f.view ? 0 : bytes;
    if (bytes >= CHECK_BYTES && !f.view) {
        mem_check(&in->ctx, (size_t)bytes);     /* the error belongs to this operation */
        held = held_bytes(in, c);
    }
    if (in->ctx.pending >= WAITING_MAX ||
        (held > 0 && (double)in->lazy->bytes + (double)held > most_bytes(in)))
        lazy_run(in, NULL);
    in->lazy->bytes += held;
    return wait_for(c, &f, &e);
}
