/* The set of devices, and what is counted: memory, copies, launches. Backends are called from
 * here alone; a status that is no success becomes an error here, with the backend's sentence. */
#include "kernels/device/device.h"

#include "core/base/error.h"
#include "core/base/fence.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

double device_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the host as a device ---- */
/* Its tensors are ordinary ones: nothing is allocated or copied through it. */
static DevStatus cpu_open(Device *d)
{
    (void)d;
    return DEV_OK;
}

static void cpu_nothing(Device *d) { (void)d; }

static const DeviceOps cpu_ops =
    { .backend = "cpu", .open = cpu_open, .sync = cpu_open, .close = cpu_nothing };

/* ---- the set ---- */
Device *device_add(Ctx *ctx, const DeviceOps *ops, const char *name)
{
    DeviceSet *set = ctx->devices;
    Device *d = mem_zalloc(ctx, sizeof *d), **end = &set->first;
    d->ops = ops;
    d->product = DT_NONE;
    snprintf(d->name, sizeof d->name, "%s", name);
    while (*end)
        end = &(*end)->next;
    return *end = d;
}

/* Drivers compile, start programs and keep files of their own: no program of strangers gets to
 * one. */
bool device_fenced(Ctx *ctx, const DeviceOps *ops, const char *name)
{
    if (!ctx->fence)
        return false;
    Device *d = device_add(ctx, ops, name);
    snprintf(d->why, sizeof d->why, "%s keeps a program from its driver", fence_by(ctx->fence));
    return true;
}

void devices_init(Ctx *ctx, const DeviceBackend *backends)
{
    DeviceSet *set = ctx->devices = mem_zalloc(ctx, sizeof *set);
    set->backends = backends;
    while (backends[set->backend_count].name)
        set->backend_count++;
    set->cpu = device_add(ctx, &cpu_ops, "cpu");
    set->cpu->dtypes = ~0u;
    set->cpu->opened = true;
    sim_standard(ctx);
}

static void device_end(Ctx *ctx, Device *d)
{
    if (d->ops->forget)
        d->ops->forget(ctx, d);
    if (d->opened && d->ops->close)
        d->ops->close(d);
    device_set_lacks(ctx, d, 0);
    mem_free(ctx, d, sizeof *d);
}

void devices_free(Ctx *ctx)
{
    DeviceSet *set = ctx->devices;
    if (!set)
        return;
    for (Device *d = set->first, *next; d; d = next) {
        next = d->next;
        device_end(ctx, d);
    }
    for (Device *d = set->names, *next; d; d = next) {
        next = d->next;
        device_end(ctx, d);
    }
    ctx->devices = NULL;
    mem_free(ctx, set, sizeof *set);
}

void devices_probe(Ctx *ctx)
{
    DeviceSet *set = ctx->devices;
    if (set->probed)
        return;
    set->probed = true;
    for (int i = 0; i < set->backend_count; i++)
        set->backends[i].probe(ctx);
}

const DeviceBackend *device_backend(const DeviceSet *set, const char *name)
{
    for (int i = 0; i < set->backend_count; i++)
        if (strncmp(name, set->backends[i].name, strlen(set->backends[i].name)) == 0)
            return &set->backends[i];
    return NULL;
}

static Device *named(const DeviceSet *set, const char *name)
{
    for (Device *d = set->first; d; d = d->next)
        if (strcmp(d->name, name) == 0)
            return d;
    return NULL;
}

/* The first that is there; else the first that is not, for its reason. */
static Device *first_of(const DeviceSet *set, const char *backend)
{
    Device *absent = NULL;
    for (Device *d = set->first; d; d = d->next) {
        if (strcmp(d->ops->backend, backend) != 0)
            continue;
        if (!device_absent(d))
            return d;
        absent = absent ? absent : d;
    }
    return absent;
}

/* What `gpu` means: no processor. */
static Device *best(const DeviceSet *set)
{
    const DeviceBackend *backends = set->backends;
    int last = set->backend_count - 1;
    while (last >= 0 && backends[last].grid)
        last--;
    for (int i = last; i >= 0; i--)
        for (Device *d = set->first; d; d = d->next)
            if (strcmp(d->ops->backend, backends[i].name) == 0 && !device_absent(d) &&
                !(d->caps & DEVCAP_CPU))
                return d;
    return last >= 0 ? first_of(set, backends[last].name) : NULL;
}

Device *device_find(Ctx *ctx, const char *name)
{
    DeviceSet *set = ctx->devices;
    const DeviceBackend *backend = device_backend(set, name);
    bool gpu = strcmp(name, "gpu") == 0;
    if (backend || gpu)
        devices_probe(ctx);
    if (gpu)
        return best(set);
    return backend && strcmp(name, backend->name) == 0 ? first_of(set, name) : named(set, name);
}

DType device_widest(const Device *d)
{
    return device_holds(d, DT_F64) ? DT_F64 : DT_F32;
}

const char **device_set_lacks(Ctx *ctx, Device *d, size_t n)
{
    size_t old = 0;
    while (d->lacks && d->lacks[old])
        old++;
    if (d->lacks)
        mem_free(ctx, d->lacks, (old + 1) * sizeof *d->lacks);
    d->lacks = NULL;
    if (n > 0)
        d->lacks = mem_zalloc(ctx, (n + 1) * sizeof *d->lacks);
    return d->lacks;
}

bool device_lacks(const Device *d, const char *op)
{
    for (int i = 0; d->lacks && d->lacks[i]; i++)
        if (d->lacks[i][0] == op[0] && strcmp(d->lacks[i], op) == 0)
            return true;
    return false;
}

/* ---- errors ---- */
static void device_raise_absent(Ctx *ctx, const Device *d)
{
    Error *e = err_new(ctx, ERR_DEVICE, "%s is not available: %s", d->name, d->why);
    Buf names;
    buf_init(&names, ctx);
    for (const Device *o = ctx->devices->first; o; o = o->next)
        if (!device_absent(o))
            buf_printf(&names, "%s%s", names.len ? " " : "", o->name);
    err_help(e, "there are %s", buf_cstr(&names));
    buf_free(&names);
    err_throw(e);
}

void device_check(Ctx *ctx, Device *d, DevStatus s, const char *what)
{
    if (s == DEV_OK)
        return;
    err_raise(ctx, s == DEV_NO_MEMORY ? ERR_MEMORY : ERR_DEVICE, "%s on %s: %s", what, d->name,
              d->fault[0] ? d->fault : "it failed without a reason");
}

void device_open(Ctx *ctx, Device *d)
{
    if (device_absent(d))
        device_raise_absent(ctx, d);
    if (d->opened)
        return;
    device_check(ctx, d, d->ops->open(d), "opening");
    d->opened = true;
}

/* ---- memory ---- */
/* The k-th call from when it was set. */
static bool made_to_fail(uint64_t *k)
{
    return *k && --*k == 0;
}

static bool drop_oldest(Ctx *ctx, Device *d);

static _Noreturn void raise_full(Ctx *ctx, const Device *d, size_t bytes)
{
    char asked[32], used[32], limit[32];
    mem_bytes_text(asked, (double)bytes);
    mem_bytes_text(used, (double)d->live);
    if (!d->memory)
        err_raise(ctx, ERR_MEMORY, "%s asked for on %s, where %s are in use", asked, d->name, used);
    err_raise(ctx, ERR_MEMORY, "%s asked for on %s, where %s of %s are in use", asked,
              d->name, used, mem_bytes_text(limit, (double)d->memory));
}

static void make_room(Ctx *ctx, Device *d, size_t bytes)
{
    device_open(ctx, d);
    while (d->memory && (bytes > d->memory || d->live > d->memory - bytes))
        if (!drop_oldest(ctx, d))
            raise_full(ctx, d, bytes);
}

static void count_memory(Device *d, size_t bytes)
{
    d->allocations++;
    d->live += bytes;
    d->peak = d->live > d->peak ? d->live : d->peak;
}

void device_take(Ctx *ctx, Device *d, size_t bytes)
{
    if (made_to_fail(&d->fail_alloc))
        raise_full(ctx, d, bytes);
    make_room(ctx, d, bytes);
    count_memory(d, bytes);
}

static DevStatus ask_memory(Device *d, size_t bytes, const DevLayout *laid, DevMem *m)
{
    return d->ops->alloc_laid ? d->ops->alloc_laid(d, laid, m) : d->ops->alloc(d, bytes, m);
}

static DevMem alloc_for(Ctx *ctx, Device *d, size_t bytes, const DevLayout *laid)
{
    DevMem m = { 0, bytes };
    bool fails = made_to_fail(&d->fail_alloc);
    make_room(ctx, d, bytes);
    DevStatus s = DEV_NO_MEMORY;
    if (!fails)
        while ((s = ask_memory(d, bytes, laid, &m)) == DEV_NO_MEMORY && drop_oldest(ctx, d))
            d->ops->sync(d);
    if (s == DEV_NO_MEMORY)
        raise_full(ctx, d, bytes);
    if (s == DEV_LACKS) {                           /* more than one of its buffers can have */
        char asked[32];
        mem_bytes_text(asked, (double)bytes);
        err_raise(ctx, ERR_MEMORY, "%s asked for on %s, where %s", asked, d->name, d->fault);
    }
    device_check(ctx, d, s, "allocating");
    m.bytes = bytes;
    count_memory(d, bytes);
    return m;
}

DevMem device_alloc(Ctx *ctx, Device *d, size_t bytes)
{
    int64_t n = (int64_t)bytes;
    return alloc_for(ctx, d, bytes, &(DevLayout){ DT_U8, 1, &n });
}

DevMem device_alloc_laid(Ctx *ctx, Device *d, const DevLayout *l)
{
    size_t bytes = dtype_info(l->dtype)->bytes;
    for (int i = 0; i < l->rank; i++)
        bytes = mem_mul(ctx, bytes, (size_t)l->shape[i]);
    return alloc_for(ctx, d, bytes, l);
}

void device_free(Ctx *ctx, Device *d, DevMem *m)
{
    (void)ctx;
    if (!m->handle)
        return;
    d->ops->release(d, m);
    d->live -= m->bytes;
    *m = (DevMem){ 0, 0 };
}

/* A copy that lies on the device and elsewhere too, used longest ago, but not by the operation
 * that runs. False: there is none. */
static bool drop_oldest(Ctx *ctx, Device *d)
{
    uint64_t now_used = ctx->devices->clock;
    for (Residence *r = ctx->devices->oldest; r && r->used != now_used; r = r->newer)
        for (DevCopy *c = r->copies; c; c = c->next) {
            bool elsewhere = r->host;
            for (DevCopy *o = r->copies; o; o = o->next)
                elsewhere |= o != c && o->valid;
            if (c->device == d && c->mem.handle && !c->lent.end && (elsewhere || !c->valid)) {
                device_free(ctx, d, &c->mem);
                c->valid = false;
                return true;
            }
        }
    return false;
}

/* ---- copies ---- */
static void count_copy(Ctx *ctx, Device *d, bool up, size_t bytes, double seconds)
{
    DeviceSet *set = ctx->devices;
    if (d->caps & DEVCAP_SIM)
        seconds = d->model.latency +
                  (d->model.bandwidth > 0 ? (double)bytes / d->model.bandwidth : 0);
    *(up ? &d->counts.up : &d->counts.down) += 1;
    *(up ? &d->counts.bytes_up : &d->counts.bytes_down) += bytes;
    if (set->copied)
        set->copied(ctx, up ? set->cpu : d, up ? d : set->cpu, bytes, seconds);
}

static DevStatus copy_fault(Device *d)
{
    snprintf(d->fault, sizeof d->fault, "the copy was made to fail");
    return DEV_FAILED;
}

void device_put(Ctx *ctx, Device *d, const DevMem *m, size_t at, const void *from, size_t bytes)
{
    double t = device_clock();
    DevStatus s = made_to_fail(&d->fail_copy) ? copy_fault(d) : d->ops->put(d, m, at, from, bytes);
    device_check(ctx, d, s, "a copy to it");
    count_copy(ctx, d, true, bytes, device_clock() - t);
}

void device_get(Ctx *ctx, Device *d, const DevMem *m, size_t at, void *to, size_t bytes)
{
    double t = device_clock();
    DevStatus s = made_to_fail(&d->fail_copy) ? copy_fault(d) : d->ops->get(d, m, at, to, bytes);
    device_check(ctx, d, s, "a copy from it");
    count_copy(ctx, d, false, bytes, device_clock() - t);
}

void device_carry(Ctx *ctx, Device *d, size_t bytes)
{
    if (made_to_fail(&d->fail_copy))
        device_check(ctx, d, copy_fault(d), "a copy from it");
    count_copy(ctx, d, false, bytes, 0);
}

void device_launch(Ctx *ctx, Device *d)
{
    if (made_to_fail(&d->fail_launch)) {
        snprintf(d->fault, sizeof d->fault, "the launch was made to fail");
        device_check(ctx, d, DEV_FAILED, "an operation");
    }
    d->counts.launches++;
}

void device_begin(Ctx *ctx)
{
    ctx->devices->clock++;
}

void device_sync(Ctx *ctx, Device *d)
{
    if (d->opened)
        device_check(ctx, d, d->ops->sync(d), "waiting for it");
}

double device_model_seconds(const Device *d, double bytes, double flops)
{
    double t = d->model.launch;
    t += d->model.memory_bandwidth > 0 ? bytes / d->model.memory_bandwidth : 0;
    return t + (d->model.flops > 0 ? flops / d->model.flops : 0);
}
