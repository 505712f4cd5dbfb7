/* Tensors on devices: which copies of a buffer there are and which are valid. The only writer
 * of valid bits. A buffer that was made on a device has a reserved range as its host's bytes
 * (core/reserve.h), whose addresses its views keep when the elements come home. */
#include "kernels/device.h"

#include "core/error.h"
#include "core/reserve.h"

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
    if (ctx->devices->newest == r)
        return;
    list_remove(ctx->devices, r);
    list_add(ctx->devices, r);
}

/* ---- residences ---- */
static Residence *residence_new(Ctx *ctx, Buffer *b, Device *home)
{
    Residence *r = mem_zalloc(ctx, sizeof *r);
    r->buffer = b;
    r->home = home;
    b->device = r;
    ctx->remote = true;
    list_add(ctx->devices, r);
    return r;
}

static Residence *residence_of(Ctx *ctx, Buffer *b)
{
    Residence *r = b->device;
    if (!r) {
        r = residence_new(ctx, b, ctx->devices->cpu);
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

static DevCopy *copy_make(Ctx *ctx, Residence *r, Device *d)
{
    DevCopy *c = copy_on(r, d);
    if (!c)
        c = copy_bare(ctx, r, d);
    if (!c->mem.handle && r->buffer->bytes)
        c->mem = device_alloc(ctx, d, r->buffer->bytes);
    return c;
}

static DevCopy *valid_copy(const Residence *r)
{
    for (DevCopy *c = r->copies; c; c = c->next)
        if (c->valid)
            return c;
    return NULL;
}

Device *tensor_device(Ctx *ctx, const Tensor *t)
{
    const Residence *r = t->buffer->device;
    return r ? r->home : ctx->devices ? ctx->devices->cpu : NULL;
}

void device_bring_home(Ctx *ctx, Buffer *b)
{
    Residence *r = b->device;
    if (r->host)
        return;
    DevCopy *c = valid_copy(r);
    if (r->reserved && !r->committed) {
        reserve_commit(ctx, b->data, b->bytes);
        r->committed = true;
    }
    if (b->bytes)
        device_get(ctx, c->device, &c->mem, 0, b->data, b->bytes);
    r->host = true;
    touch(ctx, r);
}

static void drop_copies(Ctx *ctx, Residence *r, const DevCopy *keep)
{
    for (DevCopy **at = &r->copies; *at;) {
        DevCopy *c = *at;
        if (c == keep) {
            at = &c->next;
            continue;
        }
        device_free(ctx, c->device, &c->mem);
        *at = c->next;
        mem_free(ctx, c, sizeof *c);
    }
}

void device_stale(Ctx *ctx, Buffer *b)
{
    if (b->device)
        drop_copies(ctx, b->device, NULL);
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
    drop_copies(ctx, r, NULL);
    list_remove(ctx->devices, r);
    if (r->reserved)
        reserve_close(ctx, b->data, b->bytes, r->committed);
    b->device = NULL;
    mem_free(ctx, r, sizeof *r);
}

/* ---- making ---- */
static size_t tensor_bytes(Ctx *ctx, DType dt, int rank, const int64_t *shape)
{
    size_t bytes = dtype_info(dt)->bytes;
    for (int i = 0; i < rank; i++)
        bytes = mem_mul(ctx, bytes, (size_t)shape[i]);
    return bytes;
}

/* A tensor of the device without memory there yet. */
static Tensor *tensor_reserved(Ctx *ctx, Device *d, DType dt, int rank, const int64_t *shape)
{
    size_t bytes = tensor_bytes(ctx, dt, rank, shape);
    char *range = reserve_open(ctx, bytes ? bytes : 1);
    Tensor *t = tensor_adopt(ctx, dt, rank, shape, range, bytes ? bytes : 1, release_reserved);
    Residence *r = residence_new(ctx, t->buffer, d);
    r->reserved = true;
    return t;
}

Tensor *device_tensor_new(Ctx *ctx, Device *d, DType dt, int rank, const int64_t *shape)
{
    if (d == ctx->devices->cpu)
        return tensor_new(ctx, dt, rank, shape);
    device_open(ctx, d);
    Tensor *t = tensor_reserved(ctx, d, dt, rank, shape);
    ErrFrame f;
    if (ERR_TRY(ctx, &f)) {
        copy_make(ctx, t->buffer->device, d)->valid = true;
        ERR_END(ctx, &f);
    } else {
        tensor_release(ctx, t);
        err_throw(ctx->error);
    }
    return t;
}

Tensor *sim_take(Ctx *ctx, Device *d, Tensor *made)
{
    size_t bytes = (size_t)made->size * dtype_info((DType)made->dtype)->bytes;
    Tensor *t = NULL;
    ErrFrame f;
    if (ERR_TRY(ctx, &f)) {
        t = tensor_reserved(ctx, d, (DType)made->dtype, made->rank, tensor_shape(made));
        DevCopy *c = copy_bare(ctx, t->buffer->device, d);
        device_take(ctx, d, bytes);
        made->buffer->refs++;
        c->mem = (DevMem){ (uintptr_t)made->buffer, bytes };
        c->valid = true;
        ERR_END(ctx, &f);
    } else {
        if (t)
            tensor_release(ctx, t);
        tensor_release(ctx, made);
        err_throw(ctx->error);
    }
    t->flags = made->flags;
    tensor_release(ctx, made);
    return t;
}

/* ---- using ---- */
bool device_has(const Device *d, const Tensor *t)
{
    const Residence *r = t->buffer->device;
    const DevCopy *c = r ? copy_on(r, d) : NULL;
    return c && c->valid;
}

const DevMem *device_ensure(Ctx *ctx, Device *d, Tensor *t, size_t *at)
{
    Residence *r = residence_of(ctx, t->buffer);
    DevCopy *c = copy_make(ctx, r, d);
    *at = (size_t)(t->data - t->buffer->data);
    if (!c->valid) {
        device_bring_home(ctx, t->buffer);
        if (t->buffer->bytes)
            device_put(ctx, d, &c->mem, 0, t->buffer->data, t->buffer->bytes);
        c->valid = true;
    }
    return &c->mem;
}

void device_wrote(Ctx *ctx, Device *d, Tensor *t)
{
    Residence *r = t->buffer->device;
    DevCopy *own = copy_on(r, d);
    drop_copies(ctx, r, own);
    own->valid = true;
    r->host = false;
    if (r->reserved && r->committed) {
        reserve_decommit(ctx, t->buffer->data, t->buffer->bytes);
        r->committed = false;
    }
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

Tensor *device_move(Ctx *ctx, Device *d, Tensor *t)
{
    if (tensor_device(ctx, t) == d)
        return tensor_retain(t);
    if (d == ctx->devices->cpu)
        return move_to_cpu(ctx, t);
    tensor_home(ctx, t);
    Tensor *dense = tensor_compact(ctx, t), *moved = NULL;
    ErrFrame f;
    if (ERR_TRY(ctx, &f)) {
        moved = device_tensor_new(ctx, d, (DType)t->dtype, t->rank, tensor_shape(t));
        Residence *r = moved->buffer->device;
        if (dense->size)
            device_put(ctx, d, &r->copies->mem, 0, dense->data,
                       (size_t)dense->size * dtype_info((DType)t->dtype)->bytes);
        ERR_END(ctx, &f);
    } else {
        tensor_release(ctx, dense);
        if (moved)
            tensor_release(ctx, moved);
        err_throw(ctx->error);
    }
    moved->flags = t->flags;
    tensor_release(ctx, dense);
    return moved;
}
