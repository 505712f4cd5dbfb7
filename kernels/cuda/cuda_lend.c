/* CUDA memory that other libraries of the process use too, as DLPack has it: in what order with
 * their streams, and what is theirs when the device is closed here. */
#include "kernels/cuda/cuda.h"

#include "core/base/mem.h"

static uintptr_t queue(Device *d) { return (uintptr_t)cuda_state(d)->stream; }

/* An event behind all that was asked for, on which the other stream waits: nobody waits here. */
static DevStatus order(Device *d, uintptr_t other)
{
    const CudaState *s = cuda_state(d);
    const CudaDriver *f = &s->l->driver;
    CUevent now;
    DevStatus status = cuda_enter(d);
    if (status == DEV_OK)
        status = cuda_check(d, f->event_create(&now, CU_EVENT_DISABLE_TIMING));
    if (status != DEV_OK)
        return status;
    status = cuda_check(d, f->event_record(now, s->stream));
    if (status == DEV_OK)
        status = cuda_check(d, f->stream_after((CUstream)other, now, 0));
    f->event_destroy(now);                   /* goes when it has happened */
    return status;
}

static DevStatus idle(Device *d)
{
    DevStatus status = cuda_enter(d);
    return status == DEV_OK ? cuda_check(d, cuda_state(d)->l->driver.context_wait()) : status;
}

/* ---- memory that outlives the device ---- */
typedef struct Parted {
    Ctx *ctx;
    const CudaDriver *f;
    CUdevice device;
    CUcontext context;                       /* with a count of its own */
    CUdeviceptr at;
} Parted;

/* The context of the thread that comes here stays what it was for the libraries that use the
 * primary one, as all do that go through CUDA's runtime. */
static void parted_end(void *owner)
{
    Parted *p = owner;
    p->f->context_use(p->context);
    p->f->context_wait();
    p->f->memory_free(p->at);
    p->f->context_release(p->device);
    mem_free(p->ctx, p, sizeof *p);
}

static DevOwner part(Device *d, DevMem *m)
{
    CudaState *s = cuda_state(d);
    Parted *p = s->lost ? NULL : mem_try_alloc(s->ctx, sizeof *p);
    if (!p)
        return (DevOwner){ NULL, NULL };
    *p = (Parted){ .ctx = s->ctx, .f = &s->l->driver, .device = s->device, .at = m->handle };
    if (cuda_enter(d) != DEV_OK || p->f->stream_wait(s->stream) != CUDA_SUCCESS ||
        p->f->context_retain(&p->context, p->device) != CUDA_SUCCESS) {
        mem_free(s->ctx, p, sizeof *p);
        return (DevOwner){ NULL, NULL };
    }
    m->handle = 0;
    return (DevOwner){ parted_end, p };
}

const DevLending cuda_lending = { .queue = queue, .order = order, .idle = idle, .part = part };
