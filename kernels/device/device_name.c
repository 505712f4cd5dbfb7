/* Names of devices: which device a name means, what it may have meant, and the sentences about
 * one that is not there. A name can be held without anything being looked for: `gpu` is a value
 * (DEVCAP_NAME) that finds its device when one is needed, since drivers take long to load.
 * Nothing here opens a device or runs on one. */
#include "kernels/device/device.h"

#include "core/system/ascii.h"
#include "core/base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a name stands for ---- */
static bool family(const DeviceSet *set, const char *name)
{
    const DeviceBackend *b = device_backend(set, name);
    return strcmp(name, "gpu") == 0 || strcmp(name, "sim") == 0 ||
           (b && strcmp(name, b->name) == 0);
}

/* "cuda:12": the index, or -1. */
static int numbered(const DeviceSet *set, const char *name)
{
    const DeviceBackend *b = device_backend(set, name);
    const char *colon = b && !b->grid ? name + strlen(b->name) : "";
    if (*colon != ':')
        return -1;
    size_t digits = strspn(colon + 1, "0123456789");
    if (digits == 0 || digits > 3 || colon[1 + digits] || (digits > 1 && colon[1] == '0'))
        return -1;
    return atoi(colon + 1);
}

static Device *in_list(Device *first, const char *name)
{
    for (Device *d = first; d; d = d->next)
        if (strcmp(d->name, name) == 0)
            return d;
    return NULL;
}

/* "mpi(2, 3)", "mpi(2, 3, block=32)": the device itself; NULL: it is no such name. */
static Device *called(Ctx *ctx, const char *name)
{
    const DeviceBackend *b = device_backend(ctx->devices, name);
    int p = 0, q = 0, block = GRID_BLOCK, end = 0;
    if (!b || !b->grid)
        return NULL;
    const char *rest = name + strlen(b->name);
    if (sscanf(rest, "(%4d,%4d)%n", &p, &q, &end) != 2 || rest[end] || !end)
        if (sscanf(rest, "(%4d,%4d, block=%4d)%n", &p, &q, &block, &end) != 3 || rest[end])
            return NULL;
    return p > 0 && q > 0 && block > 0 && p * q <= GRID_RANKS ? b->grid(ctx, p, q, block) : NULL;
}

static const DeviceOps name_ops = { .backend = "name" };

Device *device_named(Ctx *ctx, const char *name)
{
    DeviceSet *set = ctx->devices;
    bool is_family = family(set, name);
    Device *d = is_family ? NULL : in_list(set->first, name);
    if (!d)
        d = in_list(set->names, name);
    if (d || (!is_family && numbered(set, name) < 0))
        return d ? d : called(ctx, name);
    d = mem_zalloc(ctx, sizeof *d);
    d->ops = &name_ops;
    d->caps = DEVCAP_NAME;
    d->product = DT_NONE;
    snprintf(d->name, sizeof d->name, "%s", name);
    d->next = set->names;
    return set->names = d;
}

Device *device_real(Ctx *ctx, Device *d)
{
    if (d->caps & DEVCAP_NAME)
        d = device_find(ctx, d->name);
    return d && !device_absent(d) && !(d->caps & DEVCAP_NAME) ? d : NULL;
}

bool device_same(Ctx *ctx, Device *a, Device *b)
{
    if (a == b || !((a->caps | b->caps) & DEVCAP_NAME))
        return a == b;
    a = device_real(ctx, a);
    b = device_real(ctx, b);
    return a && a == b;
}

const char *device_expression(const Device *d, char *out, size_t cap)
{
    snprintf(out, cap, strchr(d->name, ':') ? "device(\"%s\")" : "%s", d->name);
    return out;
}

/* ---- one that is not there ---- */
/* The first of a backend, there or not. */
static const Device *of_backend(const DeviceSet *set, const char *backend, bool there)
{
    for (const Device *d = set->first; d; d = d->next)
        if (strcmp(d->ops->backend, backend) == 0 && device_absent(d) != there)
            return d;
    return NULL;
}

static const char *why_backend(const DeviceSet *set, const char *backend)
{
    const Device *absent = of_backend(set, backend, false);
    return absent ? absent->why : "no device was found";
}

/* "neither cuda (no driver) nor opencl (opencl:0 is a CPU)". */
static void why_no_gpu(const DeviceSet *set, char *out, size_t cap)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = set->backend_count - 1; i >= 0 && used < cap; i--) {
        if (set->backends[i].grid)
            continue;
        const char *name = set->backends[i].name, *start = used ? " nor" : "neither";
        const Device *cpu = of_backend(set, name, true);
        used += (size_t)snprintf(out + used, cap - used, "%s %s (%s%s)", start, name,
                                 cpu ? cpu->name : why_backend(set, name), cpu ? " is a CPU" : "");
    }
}

/* cuda:7 where there are fewer. */
static void why_no_number(const DeviceSet *set, const char *name, char *out, size_t cap)
{
    const char *backend = device_backend(set, name)->name;
    const Device *first = of_backend(set, backend, true), *last = first;
    for (const Device *d = first; d; d = d->next)
        if (strcmp(d->ops->backend, backend) == 0 && !device_absent(d))
            last = d;
    if (!first)
        snprintf(out, cap, "%s", why_backend(set, backend));
    else
        snprintf(out, cap, "%s is the %s one", last->name, first == last ? "only" : "last");
}

const char *device_reason(Ctx *ctx, Device *d, char *out, size_t cap)
{
    const DeviceSet *set = ctx->devices;
    if (device_absent(d)) {
        snprintf(out, cap, "%s", d->why);
    } else if (strcmp(d->name, "sim") == 0) {
        snprintf(out, cap, "it is the family of simulated devices");
    } else {
        devices_probe(ctx);
        if (strcmp(d->name, "gpu") == 0)
            why_no_gpu(set, out, cap);
        else
            why_no_number(set, d->name, out, cap);
    }
    return out;
}

void device_list(Buf *out, Ctx *ctx)
{
    int count = 0, at = 0;
    devices_probe(ctx);
    for (const Device *d = ctx->devices->first; d; d = d->next)
        count += !device_absent(d);
    for (const Device *d = ctx->devices->first; d; d = d->next)
        if (!device_absent(d)) {
            at++;
            buf_printf(out, "%s%s", at == 1 ? "" : at == count ? " and " : ", ", d->name);
        }
}

/* ---- did you mean ---- */
/* What other libraries and people call devices. */
static const char *elsewhere(const char *text)
{
    static const char *const names[][2] = {
        { "host", "cpu" },     { "processor", "cpu" }, { "cpu:0", "cpu" },     { "native", "cpu" },
        { "nvidia", "cuda" },  { "cuda_device", "cuda" }, { "accelerator", "gpu" },
        { "device", "gpu" },
        { "gpu:0", "gpu" },    { "cl", "opencl" },     { "pocl", "opencl" },   { "ocl", "opencl" },
        { "mps", "sim.mps" },  { "metal", "sim.mps" }, { "tpu", "sim.tpu" },   { "xla", "sim.tpu" },
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (ascii_casecmp(text, names[i][0]) == 0)
            return names[i][1];
    return NULL;
}

/* cuda0, cuda_1: what is written cuda:1. The result is a name that stays. */
static const char *without_colon(Ctx *ctx, const char *text)
{
    const DeviceSet *set = ctx->devices;
    for (int i = 0; i < set->backend_count; i++) {
        const char *family_name = set->backends[i].name;
        size_t n = strlen(family_name);
        if (set->backends[i].grid || ascii_ncasecmp(text, family_name, n) != 0)
            continue;
        const char *digits = text + n + strspn(text + n, "_- :.");
        char name[48];
        snprintf(name, sizeof name, "%s:%.4s", family_name, digits);
        const Device *d = numbered(set, name) >= 0 ? device_named(ctx, name) : NULL;
        if (d)
            return d->name;
    }
    return NULL;
}

const char *device_closest(Ctx *ctx, const char *text)
{
    enum { MOST = 64 };
    const DeviceSet *set = ctx->devices;
    const char *names[MOST] = { "gpu" }, *found = elsewhere(text);
    size_t n = 1, families = 1 + (size_t)set->backend_count;
    while (n < families) {
        names[n] = set->backends[set->backend_count - (int)n].name;
        n++;
    }
    if (!found)
        found = without_colon(ctx, text);
    for (const Device *d = set->first; d && n < MOST; d = d->next) {
        const char *own = strncmp(d->name, "sim.", 4) == 0 ? d->name + 4 : NULL;
        names[n++] = d->name;
        if (!found && (ascii_casecmp(text, d->name) == 0 || (own && ascii_casecmp(text, own) == 0)))
            found = d->name;
    }
    for (size_t i = 0; !found && i < families; i++)
        found = ascii_casecmp(text, names[i]) == 0 ? names[i] : NULL;
    return found ? found : err_closest(text, names, n);
}
