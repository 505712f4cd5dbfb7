/* Tensors on devices: which copies of a buffer there are and which are valid. The only writer
 * of valid bits. A buffer that was made on a device has a reserved range as its host's bytes
 * (core/memory/reserve.h), whose addresses its views keep when the elements come home. */
#include "kernels/device/device.h"

#include "core/base/error.h"
#include "core/memory/reserve.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/tensor/mapped.h"

#include <assert.h>
#include <string.h>

/* ---- the list by last use ---- */
static void list_remove(DeviceSet *set, Residence *r)
{
    *(r->older ? &r->older->newer : &set->oldest) = r->newer;
    *(r->newer ? &r->newer->older : &set->newest) = r->older;
    r->older = r->newer = NULL;
}

static void list_add(DeviceSet *set, Residence *r)
{
    r->older = set->newest;
    r->newer = NULL;
    *(set->newest ? &set->newest->newer : &set->oldest) = r;
    set->newest = r;
}

static void touch(Ctx *ctx, Residence *r)
{
    r->used = ctx->devices->clock;
    if (ctx->devices->newest == r)
        return;
    list_remove(ctx->devices, r);
    list_add(ctx->devices, r);
}

/* ---- residences ---- */
void devices_remote(Ctx *ctx)
{
    ctx->remote = (ctx->devices && ctx->devices->oldest) || ctx->pending || ctx->sparse;
}

static const ResidenceOps residence_ops = {
    .bring_home = device_bring_home, .stale = device_stale, .forget = device_forget,
    .copy = device_copy_at_home,
};

static void residence_put(Ctx *ctx, Buffer *b, Residence *r, Device *home)
{
    r->ops = &residence_ops;
    r->buffer = b;
    r->home = home;
    r->used = ctx->devices->clock;
    b->device = r;
    ctx->remote = true;
    list_add(ctx->devices, r);
}

static Residence *residence_of(Ctx *ctx, Buffer *b)
{
    Residence *r = b->device;
    if (!r) {
        r = mem_zalloc(ctx, sizeof *r);
        residence_put(ctx, b, r, ctx->devices->cpu);
        r->host = true;
    }
    touch(ctx, r);
    return r;
}

static DevCopy *copy_on(const Residence *r, const Device *d)
{
    for (DevCopy *c = r->copies; c; c = c->next)
        if (c->device == d)
            return c;
    return NULL;
}

static DevCopy *copy_bare(Ctx *ctx, Residence *r, Device *d)
{
    DevCopy *c = mem_zalloc(ctx, sizeof *c);
    c->device = d;
    c->next = r->copies;
    return r->copies = c;
}

/* The shape that t's whole buffer has: t's own, its axes in the order in which they lie, where
 * those are all of it; else a vector. `shape` has room for it. */
static DevLayout buffer_layout(const Tensor *t, int64_t *shape)
{
    const int64_t size = dtype_info((DType)t->dtype)->bytes;
    DevLayout l = { (DType)t->dtype, t->rank, shape };
    int64_t step = 1, strides[TENSOR_RANK_MAX];
    for (int i = 0; i < t->rank; i++) {                     /* outer axes first */
        int at = i;
        for (; at > 0 && strides[at - 1] < tensor_strides(t)[i]; at--) {
            strides[at] = strides[at - 1];
            shape[at] = shape[at - 1];
        }
        strides[at] = tensor_strides(t)[i];
        shape[at] = tensor_shape(t)[i];
    }
    bool dense = t->data == t->buffer->data &&
                 (size_t)(t->size * size) == t->buffer->bytes;
    for (int i = t->rank - 1; i >= 0 && dense; i--) {
        dense = strides[i] == step || shape[i] == 1;
        step *= shape[i];
    }
    if (tensor_contiguous(t) && t->rank)
        memcpy(shape, tensor_shape(t), (size_t)t->rank * sizeof *shape);
    if (!dense) {
        l.rank = 1;
        shape[0] = (int64_t)t->buffer->bytes / size;
    }
    return l;
}

static DevCopy *copy_make(Ctx *ctx, Residence *r, Device *d, const Tensor *t)
{
    DevCopy *c = copy_on(r, d);
    int64_t shape[TENSOR_RANK_MAX];
    if (!c)
        c = copy_bare(ctx, r, d);
    if (!c->mem.handle && r->buffer->bytes) {
        const DevLayout l = buffer_layout(t, shape);
        c->mem = d->ops->alloc_laid ? device_alloc_laid(ctx, d, &l)
                                    : device_alloc(ctx, d, r->buffer->bytes);
    }
    return c;
}

static DevCopy *valid_copy(const Residence *r)
{
    for (DevCopy *c = r->copies; c; c = c->next)
        if (c->valid)
            return c;
    return NULL;
}

/* The elements are somewhere; the host's bytes have memory where they are valid; what was made
 * narrow is made of them. */
static __attribute__((unused)) bool consistent(const Residence *r)
{
    bool memory = !r->reserved || r->committed;
    return (r->host ? memory : valid_copy(r) != NULL) && (!r->narrow || r->host);
}

Device *tensor_device(Ctx *ctx, const Tensor *t)
{
    const Residence *r = t->buffer->device;
    return r && r->home ? r->home : ctx->devices ? ctx->devices->cpu : NULL;
}

void device_bring_home(Ctx *ctx, Buffer *b)
{
    Residence *r = b->device;
    assert(consistent(r));
    DevCopy *c = valid_copy(r);
    if (r->host && !(c && c->lent.end))      /* what is lent may have been written since */
        return;
    if (r->reserved && !r->committed) {
        reserve_commit(ctx, b->data, b->bytes);
        r->committed = true;
    }
    if (c->mem.bytes)
        device_get(ctx, c->device, &c->mem, 0, b->data, c->mem.bytes);
    r->host = true;
    touch(ctx, r);
}

static void copy_end(Ctx *ctx, DevCopy *c)
{
    if (!c->lent.end) {
        device_free(ctx, c->device, &c->mem);
        return;
    }
    c->device->ops->sync(c->device);         /* what still reads there */
    c->lent.end(c->lent.owner);
    c->lent = (DevOwner){ NULL, NULL };
    c->mem = (DevMem){ 0, 0 };
}

static void drop_copies(Ctx *ctx, Residence *r, const DevCopy *keep)
{
    for (DevCopy **at = &r->copies; *at;) {
        DevCopy *c = *at;
        if (c == keep) {
            at = &c->next;
            continue;
        }
        copy_end(ctx, c);
        *at = c->next;
        mem_free(ctx, c, sizeof *c);
    }
}

static void drop_narrow(Ctx *ctx, Residence *r)
{
    if (r->narrow)
        tensor_release(ctx, r->narrow);
    r->narrow = NULL;
}

void device_stale(Ctx *ctx, Buffer *b)
{
    Residence *r = b->device;
    /* else the copies that go are all there is */
    assert(!r || (r->host && consistent(r)));
    if (r && !r->reserved && r->home == ctx->devices->cpu) {
        device_forget(ctx, b);
    } else if (r) {
        drop_narrow(ctx, r);
        drop_copies(ctx, r, NULL);
    }
}

/* Of a buffer that was made on a device: its range goes with it. */
static void release_reserved(Ctx *ctx, Buffer *b)
{
    (void)ctx;
    (void)b;                     /* device_forget, which runs first, has closed the range */
}

void device_forget(Ctx *ctx, Buffer *b)
{
    Residence *r = b->device;
    drop_narrow(ctx, r);
    drop_copies(ctx, r, NULL);
    list_remove(ctx->devices, r);
    if (r->reserved)
        reserve_close(ctx, b->data, b->bytes ? b->bytes : 1, r->committed);
    b->device = NULL;
    mem_free(ctx, r, sizeof *r);
    devices_remote(ctx);
}

/* ---- making ---- */
static size_t tensor_bytes(Ctx *ctx, DType dt, int rank, const int64_t *shape)
{
    size_t bytes = dtype_info(dt)->bytes;
    for (int i = 0; i < rank; i++)
        bytes = mem_mul(ctx, bytes, (size_t)shape[i]);
    return bytes;
}

/* A tensor of the device with a copy there that has no memory yet. */
static Tensor *reserved_over(Ctx *ctx, Device *d, DType dt, int rank, const int64_t *shape,
                             const size_t bytes)
{
    const size_t some = bytes ? bytes : 1;
    char *volatile range = NULL;
    Residence *volatile r = NULL;
    DevCopy *volatile c = NULL;
    ErrFrame f;
    if (ERR_TRY(ctx, &f)) {
        r = mem_zalloc(ctx, sizeof *r);
        c = mem_zalloc(ctx, sizeof *c);
        range = reserve_open(ctx, some);
        Tensor *t = tensor_adopt(ctx, dt, rank, shape, range, bytes, release_reserved);
        ERR_END(ctx, &f);
        residence_put(ctx, t->buffer, r, d);
        r->reserved = true;
        c->device = d;
        r->copies = c;
        return t;
    }
    if (range)
        reserve_close(ctx, range, some, false);
    if (c)
        mem_free(ctx, c, sizeof *c);
    if (r)
        mem_free(ctx, r, sizeof *r);
    err_throw(ctx->error);
}

static Tensor *tensor_reserved(Ctx *ctx, Device *d, DType dt, int rank, const int64_t *shape)
{
    return reserved_over(ctx, d, dt, rank, shape, tensor_bytes(ctx, dt, rank, shape));
}

Tensor *device_tensor_new(Ctx *ctx, Device *d, DType dt, int rank, const int64_t *shape)
{
    if (d == ctx->devices->cpu)
        return tensor_new(ctx, dt, rank, shape);
    device_open(ctx, d);
    Tensor *t = tensor_reserved(ctx, d, dt, rank, shape);
    ErrFrame f;
    if (ERR_TRY(ctx, &f)) {
        copy_make(ctx, t->buffer->device, d, t)->valid = true;
        ERR_END(ctx, &f);
        return t;
    }
    tensor_release(ctx, t);
    err_throw(ctx->error);
}

/* Contiguous from the start of a buffer that nobody else holds. Takes t. */
static Tensor *sole_buffer(Ctx *ctx, Tensor *t)
{
    const Buffer *b = t->buffer;
    if (t->refs == 1 && b->refs == 1 && !b->device && !b->release && t->data == b->data &&
        tensor_contiguous(t))
        return t;
    Tensor *copy = NULL;
    ErrFrame f;
    if (ERR_TRY(ctx, &f)) {
        copy = tensor_copy(ctx, t);
        ERR_END(ctx, &f);
        tensor_release(ctx, t);
        return copy;
    }
    tensor_release(ctx, t);
    err_throw(ctx->error);
}

Tensor *sim_take(Ctx *ctx, Device *d, Tensor *made)
{
    Tensor *const own = sole_buffer(ctx, made);
    size_t bytes = (size_t)own->size * dtype_info((DType)own->dtype)->bytes;
    Tensor *volatile t = NULL;
    ErrFrame f;
    if (ERR_TRY(ctx, &f)) {
        t = tensor_reserved(ctx, d, (DType)own->dtype, own->rank, tensor_shape(own));
        device_take(ctx, d, bytes);
        ERR_END(ctx, &f);
    } else {
        if (t)
            tensor_release(ctx, t);
        tensor_release(ctx, own);
        err_throw(ctx->error);
    }
    DevCopy *c = tensor_residence(t)->copies;
    own->buffer->refs++;
    c->mem = (DevMem){ (uintptr_t)own->buffer, bytes };
    c->valid = true;
    t->flags = own->flags;
    tensor_release(ctx, own);
    return t;
}

/* ---- using ---- */
bool device_has(const Device *d, const Tensor *t)
{
    const Residence *r = t->buffer->device;
    const DevCopy *c = r ? copy_on(r, d) : NULL;
    return c && c->valid && !t->buffer->pinned;
}

const DevMem *device_ensure(Ctx *ctx, Device *d, Tensor *t, size_t *at)
{
    tensor_settle(ctx, t);
    Residence *r = residence_of(ctx, t->buffer);
    *at = (size_t)(t->data - t->buffer->data);
    const DevCopy *there = copy_on(r, d);
    if (there && there->valid && !t->buffer->pinned)      /* C writes there without telling */
        return &there->mem;
    device_bring_home(ctx, t->buffer);
    DevCopy *c = copy_make(ctx, r, d, t);
    if (c->mem.bytes)
        device_put(ctx, d, &c->mem, 0, t->buffer->data, c->mem.bytes);
    c->valid = true;
    assert(consistent(r));
    return &c->mem;
}

/* Are all bytes of the buffer t's elements, in whatever order? Else a part would cast all of it. */
static bool whole_buffer(const Tensor *t)
{
    return t->data == t->buffer->data && t->buffer->bytes &&
           t->buffer->bytes == (size_t)t->size * dtype_info((DType)t->dtype)->bytes;
}

static Tensor *cast_buffer(Ctx *ctx, Tensor *t, DType to)
{
    const int64_t n = t->size, one = 1;
    Tensor *all = tensor_view(ctx, t, 1, &n, &one, t->data);
    ErrFrame f;
    if (ERR_TRY(ctx, &f)) {
        Tensor *cast = tensor_cast(ctx, all, to);
        ERR_END(ctx, &f);
        tensor_release(ctx, all);
        return cast;
    }
    tensor_release(ctx, all);
    err_throw(ctx->error);
}

Tensor *device_narrowed(Ctx *ctx, Tensor *t, DType to)
{
    tensor_home(ctx, t);
    if (!whole_buffer(t) || t->buffer->pinned)
        return tensor_cast(ctx, t, to);
    Residence *r = residence_of(ctx, t->buffer);
    if (r->narrow && r->narrow->dtype != to)
        drop_narrow(ctx, r);
    if (!r->narrow)
        r->narrow = cast_buffer(ctx, t, to);
    return tensor_view(ctx, r->narrow, t->rank, tensor_shape(t), tensor_strides(t),
                       r->narrow->data);
}

void device_same_home(Ctx *ctx, Tensor *t, const Tensor *like)
{
    Device *home = tensor_device(ctx, like);
    if (home == tensor_device(ctx, t))
        return;
    tensor_settle(ctx, t);
    residence_of(ctx, t->buffer)->home = home;
}

Tensor *device_copy_at_home(Ctx *ctx, Tensor *t)
{
    Tensor *const copy = tensor_copy(ctx, t);
    ErrFrame f;
    if (ERR_TRY(ctx, &f)) {
        device_same_home(ctx, copy, t);
        ERR_END(ctx, &f);
        return copy;
    }
    tensor_release(ctx, copy);
    err_throw(ctx->error);
}

void device_wrote(Ctx *ctx, Device *d, Tensor *t)
{
    Residence *r = t->buffer->device;
    DevCopy *own = copy_on(r, d);
    assert(own && consistent(r));
    drop_narrow(ctx, r);
    drop_copies(ctx, r, own);
    own->valid = true;
    r->host = false;
    if (r->reserved && r->committed) {
        reserve_decommit(ctx, t->buffer->data, t->buffer->bytes);
        r->committed = false;
    }
    assert(consistent(r));
}

void device_get_element(Ctx *ctx, const Tensor *t, const char *at, void *to)
{
    const Residence *r = t->buffer->device;
    size_t bytes = dtype_info((DType)t->dtype)->bytes;
    if (!r || r->host) {
        memcpy(to, at, bytes);
        return;
    }
    const DevCopy *c = valid_copy(r);
    device_get(ctx, c->device, &c->mem, (size_t)(at - t->buffer->data), to, bytes);
}

/* On cpu: an ordinary tensor of its own. */
static Tensor *move_to_cpu(Ctx *ctx, Tensor *t)
{
    tensor_home(ctx, t);
    return tensor_copy(ctx, t);
}

static void move_from_host(Ctx *ctx, Device *d, Tensor *to, Tensor *t)
{
    tensor_home(ctx, t);
    Tensor *dense = tensor_compact(ctx, t);
    const DevCopy *c = tensor_residence(to)->copies;
    ErrFrame f;
    if (ERR_TRY(ctx, &f)) {
        device_put(ctx, d, &c->mem, 0, dense->data,
                   (size_t)t->size * dtype_info((DType)t->dtype)->bytes);
        ERR_END(ctx, &f);
        tensor_release(ctx, dense);
        return;
    }
    tensor_release(ctx, dense);
    err_throw(ctx->error);
}

Tensor *device_move(Ctx *ctx, Device *d, Tensor *t)
{
    if (tensor_device(ctx, t) == d)
        return tensor_retain(t);
    if (d == ctx->devices->cpu)
        return move_to_cpu(ctx, t);
    device_begin(ctx);
    Tensor *moved = device_tensor_new(ctx, d, (DType)t->dtype, t->rank, tensor_shape(t));
    ErrFrame f;
    if (ERR_TRY(ctx, &f)) {
        if (t->size && device_has(d, t))
            d->ops->pack(ctx, d, moved, t);
        else if (t->size)
            move_from_host(ctx, d, moved, t);
        ERR_END(ctx, &f);
        moved->flags = t->flags;
        return moved;
    }
    tensor_release(ctx, moved);
    err_throw(ctx->error);
}

Device *device_only(const Tensor *t)
{
    const DevCopy *c = tensor_away(t) ? valid_copy(tensor_residence(t)) : NULL;
    return c ? c->device : NULL;
}

Tensor *device_picked(Ctx *ctx, Device *d, Tensor *t, const int64_t *shape,
                      const int64_t *const *lists)
{
    Tensor *few = device_tensor_new(ctx, d, (DType)t->dtype, t->rank, shape);
    ErrFrame f;
    if (ERR_TRY(ctx, &f)) {
        d->ops->pick(ctx, d, few, t, lists);
        tensor_home(ctx, few);
        ERR_END(ctx, &f);
        return few;
    }
    tensor_release(ctx, few);
    err_throw(ctx->error);
}

/* ---- lending ---- */
Tensor *device_borrow(Ctx *ctx, Device *d, DType dt, int rank, const int64_t *shape,
                      const int64_t *strides, DevMem mem, size_t at, DevOwner owner)
{
    Tensor *t = reserved_over(ctx, d, dt, rank, shape, mem.bytes);
    DevCopy *c = tensor_residence(t)->copies;
    if (rank)
        memcpy(tensor_strides(t), strides, (size_t)rank * sizeof *strides);
    t->data += at;
    t->buffer->flags |= BUFFER_MAPPED;       /* as a mapped file: never the only owner */
    t->buffer->refs++;
    c->mem = mem;
    c->lent = owner;
    c->valid = true;
    return t;
}

DevOwner device_part(Ctx *ctx, Device *d, Tensor *t)
{
    Residence *r = t->buffer->device;
    DevCopy *c = r ? copy_on(r, d) : NULL;
    DevOwner owner = { NULL, NULL };
    (void)ctx;
    if (c && c->lent.end) {
        owner = c->lent;
        c->lent = (DevOwner){ NULL, NULL };
    } else if (c && c->mem.handle && d->ops->lending) {
        size_t bytes = c->mem.bytes;
        owner = d->ops->lending->part(d, &c->mem);
        if (owner.end)
            d->live -= bytes;
    }
    if (owner.end)
        c->mem = (DevMem){ 0, 0 };
    return owner;
}
