/* Tensors that pass between Ricci and C without a copy, as DLPack 1 describes them: adopted ones,
 * whose memory is somebody else's, and exports, which hold a tensor until their deleter is called,
 * on whatever thread and even after the interpreter has ended. A deleter only puts its export on a
 * list; the thread that uses the interpreter lets go of what is there with its next call. */
#include "interp/embed/api.h"
#include "interp/state/pinned.h"

#include "core/base/error.h"
#include "interp/native/native.h"
#include "interp/life.h"
#include "kernels/device/device.h"
#include "kernels/sparse/sparse.h"
#include "kernels/tensor/mapped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- dtypes ---- */
static const struct {
    uint8_t code, bits;
    DType dt;
} dtypes[] = {
    { kDLBool, 8, DT_BOOL }, { kDLInt, 8, DT_I8 }, { kDLUInt, 8, DT_U8 }, { kDLInt, 32, DT_I32 },
    { kDLInt, 64, DT_I64 }, { kDLFloat, 16, DT_F16 }, { kDLBfloat, 16, DT_BF16 },
    { kDLFloat, 32, DT_F32 }, { kDLFloat, 64, DT_F64 }, { kDLComplex, 64, DT_C64 },
    { kDLComplex, 128, DT_C128 }, { kDLFloat8_e4m3fn, 8, DT_E4M3 }, { kDLFloat8_e5m2, 8, DT_E5M2 }
};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static DType dtype_of(DLDataType t)
{
    for (int i = 0; i < DTYPES; i++)
        if (t.lanes == 1 && dtypes[i].code == t.code && dtypes[i].bits == t.bits)
            return dtypes[i].dt;
    return DT_NONE;
}

static bool dtype_export(DType dt, DLDataType *out)
{
    for (int i = 0; i < DTYPES; i++)
        if (dtypes[i].dt == dt) {
            *out = (DLDataType){ .code = dtypes[i].code, .bits = dtypes[i].bits, .lanes = 1 };
            return true;
        }
    return false;
}

static const char *dtype_text(DLDataType t, char out[40])
{
    static const char *const codes[] = {
        "int", "uint", "float", "opaque", "bfloat", "complex", "bool", "float8_e3m4 of ",
        "float8_e4m3 of ", "float8_e4m3b11fnuz of ", "float8_e4m3fn of ", "float8_e4m3fnuz of ",
        "float8_e5m2 of ", "float8_e5m2fnuz of ", "float8_e8m0fnu of ", "float6_e2m3fn of ",
        "float6_e3m2fn of ", "float4_e2m1fn of "
    };
    bool known = t.code < sizeof codes / sizeof *codes;
    int n = snprintf(out, 40, "%s%u", known ? codes[t.code] : "type of unknown code with ", t.bits);
    if (t.lanes != 1)
        snprintf(out + n, 40 - (size_t)n, "x%u", t.lanes);
    return out;
}

/* ---- adopting ---- */
/* The bytes that the elements lie in, from the first one's place: low <= 0 < high. */
typedef struct Extent {
    int64_t size, low, high;
} Extent;

/* What a stranger says of his memory, checked before anything is done with it. */
static void check_tensor(Ctx *ctx, const DLTensor *t, const char *what)
{
    char text[40];
    if (t->device.device_type != kDLCPU && t->device.device_type != kDLCUDAHost &&
        t->device.device_type != kDLROCMHost && t->device.device_type != kDLCUDA)
        err_raise_help(ctx, ERR_DEVICE, "copy it to the host first",
                       "%s lies on a device of DLPack type %d, not in the memory of the host or "
                       "of CUDA", what, (int)t->device.device_type);
    if (dtype_of(t->dtype) == DT_NONE)
        err_raise_help(ctx, ERR_DTYPE,
                       "bool, int8, int32, int64, uint8, float16, bfloat16, float32, "
                       "float64, complex64 and complex128 are shared",
                       "%s has elements of %s, which Ricci has not", what,
                       dtype_text(t->dtype, text));
    if (t->ndim < 0 || t->ndim > TENSOR_RANK_MAX)
        err_raise(ctx, ERR_VALUE, "%s has %d axes, but a tensor has at most %d", what, t->ndim,
                  TENSOR_RANK_MAX);
    if (t->ndim > 0 && !t->shape)
        err_raise(ctx, ERR_VALUE, "%s has %d axes and no shape", what, t->ndim);
    for (int i = 0; i < t->ndim; i++)
        if (t->shape[i] < 0)
            err_raise(ctx, ERR_VALUE, "axis %d of %s is negative: %lld", i, what,
                      (long long)t->shape[i]);
}

static bool grow(int64_t *to, int64_t by)
{
    return !__builtin_add_overflow(*to, by, to);
}

/* In bytes; strides may be NULL. False where it cannot be addressed. */
static bool extent_of(const DLTensor *t, int64_t *strides, Extent *e)
{
    int64_t bytes = dtype_info(dtype_of(t->dtype))->bytes, step = 1, reach;
    *e = (Extent){ .size = shape_size(t->ndim, t->shape) };
    memset(strides, 0, (size_t)t->ndim * sizeof *strides);
    if (e->size == 0)
        return true;
    for (int i = t->ndim - 1; i >= 0; i--) {
        strides[i] = t->strides ? t->strides[i] : step;
        step *= t->shape[i];
        if (__builtin_mul_overflow(t->shape[i] - 1, strides[i], &reach) ||
            __builtin_mul_overflow(reach, bytes, &reach) ||
            !grow(reach < 0 ? &e->low : &e->high, reach))
            return false;
    }
    return grow(&e->high, bytes);
}

static void release_adopted(Ctx *ctx, Buffer *b)
{
    DLManagedTensorVersioned *m = b->owner;
    Ricci *r = (Ricci *)((char *)((Interp *)(void *)ctx)->host - offsetof(Ricci, host));
    if (!m || !m->deleter)
        return;
    bool locked = r->locked;
    r->locked = true;
    m->deleter(m);
    r->locked = locked;
}

/* One element after another, as memory of somebody else's has them. */
typedef struct Walk {
    const DLTensor *t;
    const int64_t *strides;
    int64_t bytes, at[TENSOR_RANK_MAX];
    char *here;
} Walk;

static Walk walk_begin(const DLTensor *t, const int64_t *strides)
{
    return (Walk){ .t = t, .strides = strides, .bytes = dtype_info(dtype_of(t->dtype))->bytes,
                   .here = (char *)t->data + t->byte_offset };
}

static inline void walk_on(Walk *w)
{
    for (int i = w->t->ndim - 1; i >= 0; i--) {
        w->here += w->strides[i] * w->bytes;
        if (++w->at[i] < w->t->shape[i])
            break;
        w->here -= w->at[i] * w->strides[i] * w->bytes;
        w->at[i] = 0;
    }
}

/* Also from odd addresses. */
static void copy_elements(Tensor *to, const DLTensor *from, const int64_t *strides)
{
    Walk w = walk_begin(from, strides);
    for (int64_t k = 0; k < to->size; k++, walk_on(&w))
        memcpy(to->data + k * w.bytes, w.here, (size_t)w.bytes);
}

static bool dense(const DLTensor *t, const int64_t *strides)
{
    int64_t step = 1;
    for (int i = t->ndim - 1; i >= 0; step *= t->shape[i--])
        if (t->shape[i] != 1 && strides[i] != step)
            return false;
    return true;
}

/* Whether bools hold bytes other than 0 and 1. Memory that may be written gets them right where it
 * is. */
static bool has_odd_bools(const DLTensor *t, const int64_t *strides, int64_t size, bool write)
{
    uint8_t seen = 0;
    const uint8_t *first = (const uint8_t *)t->data + t->byte_offset;
    Walk w = walk_begin(t, strides);
    if (dtype_of(t->dtype) != DT_BOOL)
        return false;
    if (dense(t, strides))
        for (int64_t k = 0; k < size; k++)
            seen |= first[k];
    else
        for (int64_t k = 0; k < size; k++, walk_on(&w))
            seen |= *(uint8_t *)w.here;
    if (seen <= 1 || !write)
        return seen > 1;
    w = walk_begin(t, strides);
    for (int64_t k = 0; k < size; k++, walk_on(&w))
        *w.here = *w.here != 0;
    return false;
}

/* The tensor over the memory, which it owns from then on: *m becomes NULL. */
static Tensor *adopt_memory(Ctx *ctx, DLManagedTensorVersioned *volatile *m, const Extent *e,
                            const int64_t *strides)
{
    const DLTensor *t = &(*m)->dl_tensor;
    DType dt = dtype_of(t->dtype);
    char *first = (char *)t->data + t->byte_offset;
    Tensor *own = tensor_adopt(ctx, dt, t->ndim, t->shape, first + e->low,
                               (size_t)(e->high - e->low), release_adopted);
    if (t->ndim)
        memcpy(tensor_strides(own), strides, (size_t)t->ndim * sizeof *strides);
    own->data = first;
    own->buffer->owner = *m;
    if ((*m)->flags & DLPACK_FLAG_BITMASK_READ_ONLY) { /* as a mapped file: never the only owner */
        own->buffer->flags |= BUFFER_MAPPED;
        own->buffer->refs++;
    }
    *m = NULL;
    return own;
}

/* ---- CUDA memory ---- */
static Device *cuda_device(Ctx *ctx, int index, const char *what)
{
    char name[24], why[300];
    snprintf(name, sizeof name, "cuda:%d", index);
    Device *d = device_find(ctx, name);
    if (!d || device_absent(d)) {
        Device *first = d ? d : device_find(ctx, "cuda");
        err_raise_help(ctx, ERR_DEVICE, "copy it to the host first",
                       "%s lies on the CUDA device %d, which is not here: %s", what, index,
                       first && device_absent(first) ? device_reason(ctx, first, why, sizeof why)
                                                     : "there is none of that number");
    }
    device_open(ctx, d);
    return d;
}

/* A strange tensor that lives on a device here, and who is told when it is not needed. */
typedef struct Lent {
    Ricci *r;
    DLManagedTensorVersioned *m;
} Lent;

static void end_lent(void *owner)
{
    Lent *l = owner;
    bool locked = l->r->locked;
    l->r->locked = true;
    if (l->m->deleter)
        l->m->deleter(l->m);
    l->r->locked = locked;
    free(l);
}

static Tensor *copy_home(Ctx *ctx, const DLTensor *t, Device *d, const DevMem *mem,
                         const Extent *e, const int64_t *strides)
{
    Tensor *to = tensor_new(ctx, dtype_of(t->dtype), t->ndim, t->shape);
    char *volatile here = NULL;
    ErrFrame frame;
    if (ERR_TRY(ctx, &frame)) {
        here = mem_alloc(ctx, mem->bytes);
        device_get(ctx, d, mem, 0, here, mem->bytes);
        ERR_END(ctx, &frame);
        DLTensor at_home = *t;
        at_home.data = here - e->low;
        at_home.byte_offset = 0;
        copy_elements(to, &at_home, strides);
        mem_free(ctx, here, mem->bytes);
        return to;
    }
    if (here)
        mem_free(ctx, here, mem->bytes);
    tensor_release(ctx, to);
    err_rethrow(ctx);
}

/* Where it is, as a tensor of that device; what it cannot compute with comes home as a copy. */
static Value adopt_there(Ricci *r, DLManagedTensorVersioned *volatile *m, const Extent *e,
                         const int64_t *strides, const char *what)
{
    Ctx *ctx = &r->in->ctx;
    const DLTensor *t = &(*m)->dl_tensor;
    DType dt = dtype_of(t->dtype);
    Device *d = cuda_device(ctx, t->device.device_id, what);
    uint64_t first = (uintptr_t)t->data + t->byte_offset;
    DevMem mem = { first + (uint64_t)e->low, (size_t)(e->high - e->low) };
    if (e->size == 0)
        return v_tensor_raw(device_tensor_new(ctx, d, dt, t->ndim, t->shape));
    if (t->ndim == 0 || !device_holds(d, dt) || first % dtype_info(dt)->bytes) {
        Tensor *copy = copy_home(ctx, t, d, &mem, e, strides);
        native_bools(copy);
        return v_tensor(ctx, copy);
    }
    Lent *l = malloc(sizeof *l);
    if (!l)
        mem_raise(ctx, sizeof *l);
    *l = (Lent){ r, *m };
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        free(l);
        err_rethrow(ctx);
    }
    Tensor *own = device_borrow(ctx, d, dt, t->ndim, t->shape, strides, mem, (size_t)-e->low,
                                (DevOwner){ end_lent, l });
    ERR_END(ctx, &frame);
    *m = NULL;
    return v_tensor_raw(own);
}

static Value adopt(Ricci *r, DLManagedTensorVersioned *volatile *m, const char *what)
{
    Ctx *ctx = &r->in->ctx;
    Extent e;
    int64_t strides[TENSOR_RANK_MAX];
    if ((*m)->version.major != DLPACK_MAJOR_VERSION)
        err_raise(ctx, ERR_VALUE, "%s is described by DLPack %u, not by DLPack %d", what,
                  (*m)->version.major, DLPACK_MAJOR_VERSION);
    const DLTensor *t = &(*m)->dl_tensor;
    check_tensor(ctx, t, what);
    shape_checked(ctx, t->ndim, t->shape);
    if (!extent_of(t, strides, &e))
        err_raise(ctx, ERR_VALUE, "the shape and the strides of %s reach over more than all memory",
                  what);
    if (e.size > 0 && !t->data)
        err_raise(ctx, ERR_VALUE, "%s has %lld elements and no data", what, (long long)e.size);
    if (t->device.device_type == kDLCUDA)
        return adopt_there(r, m, &e, strides, what);
    DType dt = dtype_of(t->dtype);
    size_t align = dtype_info(dt)->kind == 'c' ? dtype_info(dt)->bytes / 2 : dtype_info(dt)->bytes;
    char *first = (char *)t->data + t->byte_offset;
    bool ours = !((*m)->flags & DLPACK_FLAG_BITMASK_READ_ONLY);
    bool odd = e.size > 0 && has_odd_bools(t, strides, e.size, ours);
    if (e.size > 0 && t->ndim > 0 && (uintptr_t)first % align == 0 && !odd)
        return v_tensor_raw(adopt_memory(ctx, m, &e, strides));
    Tensor *copy = tensor_new(ctx, dt, t->ndim, t->shape);
    if (e.size > 0)
        copy_elements(copy, t, strides);
    native_bools(copy);
    return v_tensor(ctx, copy);
}

/* A tensor (or number) in the managed memory, whose deleter is called in any case. */
static Value api_adopt(Ricci *r, DLManagedTensorVersioned *given, const char *what)
{
    Ctx *ctx = &r->in->ctx;
    DLManagedTensorVersioned *volatile m = given;
    ErrFrame frame;
    if (!m)
        err_raise(ctx, ERR_VALUE, "%s: NULL is no tensor", what);
    if (!ERR_TRY(ctx, &frame)) {
        if (m && m->deleter)
            m->deleter(m);
        err_rethrow(ctx);
    }
    Value v = adopt(r, &m, what);
    ERR_END(ctx, &frame);
    if (m && m->deleter)             /* what was copied */
        m->deleter(m);
    return v;
}

/* ---- exports ---- */
typedef struct Export {
    DLManagedTensorVersioned managed;    /* first: what the C program has */
    struct Export *next, *before;        /* in Ricci.exports */
    struct Export *released;             /* in Ricci.released */
    Ricci *r;
    Tensor *t;
    Value *slot;                         /* the variable that it keeps pinned, or NULL */
    Device *there;                       /* whose memory it is, or NULL: the host's */
    bool writable;
    int64_t dims[];                      /* shape, then strides */
} Export;

/* Any thread comes here, and nothing of the interpreter is touched. The owner's may free x as soon
 * as it is on the list; r lives until its users are gone, of whom x was one. */
static void release_export(DLManagedTensorVersioned *m)
{
    Export *x = m->manager_ctx;
    Ricci *r = x->r;
    Export *head = atomic_load(&r->released);
    do
        x->released = head;
    while (!atomic_compare_exchange_weak(&r->released, &head, x));
    api_unuse(r);
}

/* The variable is an ordinary one again, unless another export needs it as it is. */
static void unpin(Ricci *r, Export *x)
{
    for (Export *other = r->exports; other; other = other->next)
        if (other != x && other->writable && other->t->buffer == x->t->buffer) {
            other->slot = x->slot;
            return;
        }
    ErrFrame frame;
    Ctx *ctx = &r->in->ctx;
    if (ERR_TRY(ctx, &frame)) {
        native_unpin(r->in, x->slot);
        ERR_END(ctx, &frame);
        return;
    }
    err_free(ctx->error);                /* the program did it before us */
    ctx->error = NULL;
}

static void export_free(Ricci *r, Export *x)
{
    *(x->before ? &x->before->next : &r->exports) = x->next;
    if (x->next)
        x->next->before = x->before;
    if (x->slot)
        unpin(r, x);
    if (x->there && x->t->refs == 1 && x->t->buffer->refs == 1)
        x->there->ops->lending->idle(x->there);      /* the consumer's streams may be at it */
    tensor_release(&r->in->ctx, x->t);
    free(x);
}

void api_drain(Ricci *r)
{
    if (!atomic_load_explicit(&r->released, memory_order_relaxed))
        return;
    Export *x = atomic_exchange(&r->released, NULL);
    while (x) {
        Export *next = x->released;
        export_free(r, x);
        x = next;
    }
}

/* Memory of a device that has been closed goes with the last tensor that has the buffer. */
static void release_parted(Ctx *ctx, Buffer *b)
{
    DevOwner *o = b->owner;
    (void)ctx;
    o->end(o->owner);
    free(o);
}

/* The device's memory becomes the buffer's own. Without memory for that it stays there for ever. */
static void part(Ctx *ctx, Export *x)
{
    DevOwner *o = malloc(sizeof *o);
    Buffer *b = x->t->buffer;
    DevOwner parted = device_part(ctx, x->there, x->t);
    device_forget(ctx, b);
    if (!o || !parted.end) {
        free(o);
        return;
    }
    *o = parted;
    b->release = release_parted;
    b->owner = o;
}

/* What they hold stays, where it is. */
void api_exports_settle(Ricci *r)
{
    for (Export *x = r->exports; x; x = x->next) {
        x->slot = NULL;
        if (x->there && x->t->buffer->device)
            part(&r->in->ctx, x);
        else if (x->t->buffer->device)
            device_forget(&r->in->ctx, x->t->buffer);
        x->there = NULL;
    }
}

void api_unuse(Ricci *r)
{
    if (atomic_fetch_sub(&r->users, 1) > 1)
        return;
    api_drain(r);
    interp_free_memory(r->in);
    free(r);
}

typedef struct Getting {
    const char *name;                    /* NULL: given */
    const RicciValue *given;
    DLManagedTensorVersioned *tensor, *made;
    RicciValue *value;
    bool copied;
} Getting;

/* Memory that ends with the interpreter: of what was made on a device, or by native code. */
static bool memory_ends(const Buffer *b)
{
    return b->release && b->release != release_adopted && !(b->flags & BUFFER_MAPPED);
}

/* The value as a tensor to be exported, on the value stack. */
static Tensor *tensor_of(Ricci *r, Value v, Getting *g)
{
    Interp *in = r->in;
    if (!v_is_numeric(v) && v.tag != V_RANGE) {
        char is[96];
        v_describe_a(v, is, sizeof is);
        err_raise(&in->ctx, ERR_TYPE,
                  g->given ? "%sthe value is %s, not a tensor" : "`%.80s` is %s, not a tensor",
                  g->given ? "" : g->name, is);
    }
    v_push(in, value_detached(in, v));
    Sparse *s = in->sp[-1].tag == V_TENSOR ? tensor_sparse(in->sp[-1].tensor) : NULL;
    Tensor *t = s ? sparse_densified(&in->ctx, s, "an array of another library")
                  : v_to_tensor(in, in->sp[-1], 0);
    v_push(in, v_tensor_raw(t));
    tensor_home(&in->ctx, t);
    g->copied = v.tag != V_TENSOR || t->buffer != v.tensor->buffer;
    if (memory_ends(t->buffer)) {
        v_push(in, v_tensor_raw(t = tensor_copy(&in->ctx, t)));
        g->copied = true;
    }
    return t;
}

/* Takes no reference of t before everything else succeeded. */
static Export *export_new(Ricci *r, Tensor *t, bool writable)
{
    DLDataType dtype;
    Ctx *ctx = &r->in->ctx;
    if (!dtype_export((DType)t->dtype, &dtype))
        err_raise_help(ctx, ERR_DTYPE, "cast it first: f64(x)",
                       "DLPack has no type for the elements of a tensor of %s",
                       dtype_name((DType)t->dtype));
    size_t bytes = sizeof(Export) + 2 * t->rank * sizeof(int64_t);
    Export *x = calloc(1, bytes);
    if (!x)
        mem_raise(ctx, bytes);
    memcpy(x->dims, t->dims, 2 * t->rank * sizeof(int64_t));
    x->managed = (DLManagedTensorVersioned){
        .version = { DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION }, .manager_ctx = x,
        .deleter = release_export, .flags = writable ? 0 : DLPACK_FLAG_BITMASK_READ_ONLY,
        .dl_tensor = { .data = t->data, .device = { .device_type = kDLCPU }, .ndim = t->rank,
                       .dtype = dtype, .shape = x->dims, .strides = x->dims + t->rank } };
    x->r = r;
    x->t = tensor_retain(t);
    x->writable = writable;
    x->next = r->exports;
    if (x->next)
        x->next->before = x;
    r->exports = x;
    atomic_fetch_add(&r->users, 1);
    return x;
}

static void get_body(Ricci *r, void *task)
{
    Getting *g = task;
    Value *mark = r->in->sp;
    Tensor *t = tensor_of(r, g->given ? g->given->v : api_lookup(r, g->name), g);
    Export *x = export_new(r, t, false);
    if (g->copied)
        x->managed.flags |= DLPACK_FLAG_BITMASK_IS_COPIED;
    stack_cut(r->in, mark);
    g->made = &x->managed;
}

API DLManagedTensorVersioned *ricci_get_tensor(Ricci *r, const char *name)
{
    Getting g = { .name = name };
    return api_call(r, get_body, &g) == 0 ? g.made : NULL;
}

API DLManagedTensorVersioned *ricci_to_tensor(const RicciValue *h)
{
    Getting g = { .given = h };
    return h && api_call(h->r, get_body, &g) == 0 ? g.made : NULL;
}

/* Memory of ours that can be given away, since no other value has it. */
API bool ricci_alone(const RicciValue *h)
{
    if (!h || h->v.tag != V_TENSOR)
        return false;
    const Tensor *t = h->v.tensor;
    return t->refs == 1 && t->buffer->refs == 1 && !t->buffer->device && !t->buffer->pinned &&
           !t->buffer->release;
}

/* ---- exports of CUDA memory ---- */
typedef struct Sending {
    const RicciValue *given;
    intptr_t stream;
    bool copy;
    DLManagedTensorVersioned *made;
} Sending;

static void send_body(Ricci *r, void *task)
{
    Sending *s = task;
    Interp *in = r->in;
    Ctx *ctx = &in->ctx;
    Value *mark = in->sp;
    size_t at;
    v_push(in, value_detached(in, s->given->v));
    Value v = in->sp[-1];
    Device *d = v.tag == V_TENSOR ? tensor_device(ctx, v.tensor) : ctx->devices->cpu;
    if (!d->ops->lending)
        err_raise(ctx, ERR_DEVICE, "the value lies on %s, not in memory of CUDA", d->name);
    device_begin(ctx);
    Tensor *t = v.tensor;
    if (s->copy) {
        t = device_tensor_new(ctx, d, (DType)t->dtype, t->rank, tensor_shape(t));
        v_push(in, v_tensor_raw(t));
        device_ensure(ctx, d, v.tensor, &at);
        if (t->size)
            d->ops->pack(ctx, d, t, v.tensor);
    }
    const DevMem *mem = device_ensure(ctx, d, t, &at);
    if (s->stream != -1)
        device_check(ctx, d, d->ops->lending->order(d, (uintptr_t)s->stream), "its stream");
    Export *x = export_new(r, t, false);
    x->there = d;
    x->managed.dl_tensor.data = (void *)(uintptr_t)(mem->handle + at);
    x->managed.dl_tensor.device = (DLDevice){ .device_type = kDLCUDA, .device_id = d->index };
    if (s->copy)
        x->managed.flags |= DLPACK_FLAG_BITMASK_IS_COPIED;
    stack_cut(in, mark);
    s->made = &x->managed;
}

API DLManagedTensorVersioned *ricci_to_cuda(const RicciValue *h, intptr_t stream, bool copy)
{
    Sending s = { .given = h, .stream = stream, .copy = copy };
    return h && api_call(h->r, send_body, &s) == 0 ? s.made : NULL;
}

typedef struct Queue {
    int device;
    uintptr_t stream;
} Queue;

static void queue_body(Ricci *r, void *task)
{
    Queue *q = task;
    Device *d = cuda_device(&r->in->ctx, q->device, "the tensor");
    q->stream = d->ops->lending->queue(d);
}

API uintptr_t ricci_cuda_stream(Ricci *r, int device)
{
    Queue q = { .device = device };
    return api_call(r, queue_body, &q) == 0 ? q.stream : 0;
}

/* The export has a view of its own: the variable's tensor stays the one that writes in place. */
static void writable_body(Ricci *r, void *task)
{
    Getting *g = task;
    Interp *in = r->in;
    DLDataType dtype;
    if (r->depth > 1)
        err_raise(&in->ctx, ERR_FFI,
                  "while a program runs its variables are not given away to be written");
    Value v = api_lookup(r, g->name), *slot = api_slot(r, g->name);
    if (v.tag != V_TENSOR || !slot || v.tensor->rank == 0 || tensor_sparse(v.tensor)) {
        char is[96];
        err_raise(&in->ctx, ERR_TYPE, "`%.80s` is %s, not a tensor that has memory of its own",
                  g->name, v_describe_a(v, is, sizeof is));
    }
    if (!dtype_export((DType)v.tensor->dtype, &dtype))
        export_new(r, v.tensor, false);              /* raises */
    if (memory_ends(v.tensor->buffer)) {
        tensor_home(&in->ctx, v.tensor);
        slot->tensor = tensor_copy(&in->ctx, v.tensor);
        v_release(&in->ctx, v);
    }
    bool pinned = value_is_pinned(*slot);
    if (!pinned)
        native_pin(in, slot);
    Tensor *t = slot->tensor;
    v_push(in, v_tensor_raw(
                   tensor_view(&in->ctx, t, t->rank, tensor_shape(t), tensor_strides(t), t->data)));
    Export *x = export_new(r, in->sp[-1].tensor, true);
    x->slot = pinned ? NULL : slot;
    stack_cut(in, in->sp - 1);
    g->made = &x->managed;
}

API DLManagedTensorVersioned *ricci_get_tensor_writable(Ricci *r, const char *name)
{
    Getting g = { .name = name };
    return api_call(r, writable_body, &g) == 0 ? g.made : NULL;
}

/* ---- handing over ---- */
/* Where no interpreter takes it, it goes at once. */
static bool refused(const Ricci *r, DLManagedTensorVersioned *m)
{
    bool none = !r || r->locked;
    if (none && m && m->deleter)
        m->deleter(m);
    return none;
}

static void set_tensor_body(Ricci *r, void *task)
{
    const Getting *g = task;
    api_assign(r, g->name, api_adopt(r, g->tensor, g->name ? g->name : "the tensor"));
}

/* Pinned where it lies dense, so that no assignment of another variable moves it away. */
static void share_body(Ricci *r, void *task)
{
    const Getting *g = task;
    Interp *in = r->in;
    bool whole = g->tensor && g->tensor->dl_tensor.ndim > 0;
    char *data = g->tensor ? (char *)g->tensor->dl_tensor.data + g->tensor->dl_tensor.byte_offset
                           : NULL;
    bool closed = g->tensor && g->tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY;
    v_push(in, api_adopt(r, g->tensor, g->name ? g->name : "the tensor"));
    Value v = in->sp[-1];
    if (closed || !whole || v.tag != V_TENSOR || (v.tensor->size && v.tensor->data != data))
        err_raise_help(&in->ctx, ERR_VALUE, "without sharing it is read where it is, or copied",
                       "%s cannot be shared: its memory is %s", g->name ? g->name : "the tensor",
                       closed ? "read-only" : "no array that Ricci can work on where it lies");
    api_assign(r, g->name, *--in->sp);
    if (tensor_contiguous(v.tensor))
        native_pin_lent(in, api_slot(r, g->name));
}

API int ricci_share(Ricci *r, const char *name, DLManagedTensorVersioned *m)
{
    bool gone = refused(r, m);
    return api_call(r, share_body, &(Getting){ .name = name, .tensor = gone ? NULL : m });
}

/* ---- the old capsules ---- */
typedef struct Old {
    DLManagedTensorVersioned managed;    /* first */
    DLManagedTensor *given;
} Old;

static void release_old(DLManagedTensorVersioned *m)
{
    Old *old = m->manager_ctx;
    if (old->given->deleter)
        old->given->deleter(old->given);
    free(old);
}

API DLManagedTensorVersioned *ricci_versioned(DLManagedTensor *given)
{
    Old *old = given ? calloc(1, sizeof *old) : NULL;
    if (!old)
        return NULL;
    old->given = given;
    old->managed = (DLManagedTensorVersioned){
        .version = { DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION }, .manager_ctx = old,
        .deleter = release_old, .flags = DLPACK_FLAG_BITMASK_READ_ONLY,
        .dl_tensor = given->dl_tensor };
    return &old->managed;
}

static void value_body(Ricci *r, void *task)
{
    Getting *g = task;
    g->value = api_hold(r, api_adopt(r, g->tensor, "the tensor"));
}

API int ricci_set_tensor(Ricci *r, const char *name, DLManagedTensorVersioned *m)
{
    bool gone = refused(r, m);
    return api_call(r, set_tensor_body, &(Getting){ .name = name, .tensor = gone ? NULL : m });
}

API RicciValue *ricci_tensor(Ricci *r, DLManagedTensorVersioned *m)
{
    bool gone = refused(r, m);
    Getting g = { .tensor = gone ? NULL : m };
    return api_call(r, value_body, &g) == 0 ? g.value : NULL;
}

/* ---- plain memory ---- */
typedef struct Wrapped {
    DLManagedTensorVersioned managed;    /* first */
    void (*release)(void *user);
    void *user;
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
} Wrapped;

static void release_wrapped(DLManagedTensorVersioned *m)
{
    Wrapped *w = m->manager_ctx;
    if (w->release)
        w->release(w->user);
    free(w);
}

API DLManagedTensorVersioned *ricci_wrap(const char *dtype, int rank, const int64_t *shape,
                                         void *data, void (*release)(void *user), void *user)
{
    DLDataType type;
    DType dt = dtype ? dtype_find(dtype, strlen(dtype)) : DT_NONE;
    if (dt == DT_NONE || !dtype_export(dt, &type) || rank < 0 || rank > TENSOR_RANK_MAX ||
        (rank > 0 && !shape))
        return NULL;
    for (int i = 0; i < rank; i++)
        if (shape[i] < 0)
            return NULL;
    int64_t size = shape_size(rank, shape), step = 1;
    if (size < 0 || size > TENSOR_SIZE_MAX / dtype_info(dt)->bytes)
        return NULL;
    Wrapped *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    for (int i = rank - 1; i >= 0; i--) {
        w->shape[i] = shape[i];
        w->strides[i] = step;
        step *= shape[i] ? shape[i] : 1;
    }
    w->release = release;
    w->user = user;
    w->managed = (DLManagedTensorVersioned){
        .version = { DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION }, .manager_ctx = w,
        .deleter = release_wrapped,
        .dl_tensor = { .data = data, .device = { .device_type = kDLCPU }, .ndim = rank,
                       .dtype = type, .shape = w->shape, .strides = w->strides } };
    return &w->managed;
}
