/* Simulated devices: the host's kernels on memory of the device's own. Its memory is buffers of
 * the host that no value of the program points into, so what was not copied there is not
 * there. What it can do is a list (dtypes, rows that it lacks), what it costs a model. */
#include "kernels/device/device.h"

#include "core/base/error.h"
#include "kernels/cast/tensor_cast.h"

#include <stdio.h>
#include <string.h>

static Buffer *memory_of(const DevMem *m) { return (Buffer *)(uintptr_t)m->handle; }

static DevStatus sim_open(Device *d)
{
    (void)d;
    return DEV_OK;
}

/* d->state is the context: allocation raises, and is caught here. */
static DevStatus sim_alloc(Device *d, size_t bytes, DevMem *m)
{
    Ctx *ctx = d->state;
    int64_t n = (int64_t)bytes;
    ErrFrame f;
    if (ERR_TRY(ctx, &f)) {
        Tensor *t = tensor_new(ctx, DT_U8, 1, &n);
        m->handle = (uintptr_t)t->buffer;
        t->buffer->refs++;
        memset(t->data, 0xff, bytes);
        tensor_release(ctx, t);
        ERR_END(ctx, &f);
        return DEV_OK;
    }
    err_free(ctx->error);
    ctx->error = NULL;
    return DEV_NO_MEMORY;
}

static void sim_release(Device *d, DevMem *m)
{
    buffer_unref(d->state, memory_of(m));
}

static DevStatus sim_put(Device *d, const DevMem *m, size_t at, const void *from, size_t bytes)
{
    (void)d;
    memcpy(memory_of(m)->data + at, from, bytes);
    return DEV_OK;
}

static DevStatus sim_get(Device *d, const DevMem *m, size_t at, void *to, size_t bytes)
{
    (void)d;
    memcpy(to, memory_of(m)->data + at, bytes);
    return DEV_OK;
}

static DevStatus sim_copy(Device *d, const DevMem *to, size_t to_at, const DevMem *from,
                          size_t from_at, size_t bytes)
{
    (void)d;
    memmove(memory_of(to)->data + to_at, memory_of(from)->data + from_at, bytes);
    return DEV_OK;
}

static void sim_close(Device *d) { (void)d; }

static void sim_pack(Ctx *ctx, Device *d, Tensor *to, Tensor *t)
{
    Tensor *volatile shadow[2] = { NULL, NULL };
    ErrFrame f;
    volatile bool done = false;
    if (ERR_TRY(ctx, &f)) {
        shadow[0] = sim_shadow(ctx, d, to);
        shadow[1] = sim_shadow(ctx, d, t);
        tensor_assign(ctx, shadow[0], shadow[1]);
        ERR_END(ctx, &f);
        done = true;
    }
    for (int i = 0; i < 2; i++)
        if (shadow[i])
            tensor_release(ctx, shadow[i]);
    if (!done)
        err_throw(ctx->error);
}

const DeviceOps sim_ops = {
    .backend = "sim", .open = sim_open, .alloc = sim_alloc, .release = sim_release, .put = sim_put,
    .get = sim_get, .copy = sim_copy, .sync = sim_open, .close = sim_close, .pack = sim_pack,
};

/* ---- running the host's kernels there ---- */
Tensor *sim_shadow(Ctx *ctx, Device *d, Tensor *t)
{
    size_t at;
    const DevMem *m = device_ensure(ctx, d, t, &at);
    Buffer *b = memory_of(m);
    Tensor *s;
    if (!b)                                     /* no elements */
        s = tensor_new(ctx, (DType)t->dtype, t->rank, tensor_shape(t));
    else {
        Tensor like = { .refs = 1, .dtype = t->dtype, .buffer = b };
        s = tensor_view(ctx, &like, t->rank, tensor_shape(t), tensor_strides(t), b->data + at);
    }
    s->flags = t->flags;
    return s;
}

Tensor *sim_view(Ctx *ctx, const Tensor *made, Tensor *from, const Tensor *shadow)
{
    char *data = from->buffer->data + (made->data - shadow->buffer->data);
    Tensor *v = tensor_view(ctx, from, made->rank, tensor_shape(made), tensor_strides(made), data);
    v->flags = made->flags;
    return v;
}

/* ---- those that are always there: a row each ---- */
enum { LACKS = 8 };

typedef struct Standard {
    const char *name;
    DType product;                  /* in which it takes products of f32; DT_NONE: in that */
    size_t memory;
    DevModel model;
    const char *lacks[LACKS];
    const char *note;
} Standard;

static const Standard standard[] = {
    { "sim.mps", DT_NONE, (size_t)8 << 30, { 10e9, 10e-6, 5e-6, 100e9, 2e12 },
      { "solve", "lstsq", "qr", "svd", "eig", "eigh" }, "" },
    { "sim.tpu", DT_BF16, (size_t)16 << 30, { 10e9, 20e-6, 10e-6, 800e9, 50e12 },
      { NULL }, "f32 products in bf16 with f32 accumulation" },
};

void sim_standard(Ctx *ctx)
{
    for (size_t i = 0; i < sizeof standard / sizeof standard[0]; i++) {
        const Standard *s = &standard[i];
        Device *d = device_add(ctx, &sim_ops, s->name);
        int lacks = 0;
        while (lacks < LACKS && s->lacks[lacks])
            lacks++;
        d->caps = DEVCAP_SIM;
        d->dtypes = dtype_device_mask(false);
        d->product = s->product;
        if (lacks)
            memcpy(device_set_lacks(ctx, d, (size_t)lacks), s->lacks,
                   (size_t)lacks * sizeof *s->lacks);
        d->memory = s->memory;
        d->model = s->model;
        d->state = ctx;
        snprintf(d->note, sizeof d->note, "%s", s->note);
    }
}
