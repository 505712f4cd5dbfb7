/* Grids of processes as values: mpi(2, 2) is a device. */
#include "interp/device/place.h"

#include "core/base/error.h"
#include "interp/op/arith.h"
#include "interp/state/exec.h"

#include <stdio.h>
#include <string.h>

bool place_is_called(const Interp *in, const Device *d)
{
    if (!(d->caps & DEVCAP_NAME))
        return false;
    const DeviceBackend *b = device_backend(in->ctx.devices, d->name);
    return b && b->grid && strcmp(b->name, d->name) == 0;
}

static bool has(Value v, const Buffer *b)
{
    if (v.tag == V_TENSOR)
        return v.tensor->buffer == b;
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        if (has(v.tuple->items[i], b))
            return true;
    return false;
}

/* A variable of a function that runs. */
static const Name *named_local(const CallFrame *f, const Buffer *b)
{
    const FnInfo *info = f->fn ? f->fn->code->info : NULL;
    for (uint32_t i = 0; info && i < f->fn->code->slots; i++)
        if (info->slot_names[i] && has(f->args[i], b))
            return info->slot_names[i];
    return NULL;
}

/* A variable: of the functions that run, the innermost first, or a global one of the program. */
const char *place_named(Ctx *ctx, const Buffer *b)
{
    const Interp *in = (Interp *)(void *)ctx;
    const Module *m = in->main;
    for (const CallFrame *f = in->calls; f; f = f->up) {
        const Name *name = named_local(f, b);
        if (name)
            return name->text;
    }
    for (uint32_t i = 0; m && i < m->globals.count; i++)
        if (m->globals.names[i] && has(m->slots[i], b))
            return m->globals.names[i]->text;
    return NULL;
}

uint64_t place_between(Interp *in, Device *d)
{
    uint64_t all, largest;
    d->ops->look(&in->ctx, d, &all, &largest);
    return d->counts.between;
}

static const char *const parameters[] = { "p", "q", "block" };
enum { PARAMETERS = 3 };
static const char usage[] =
    "mpi(2, 2) is a grid of 2 x 2 processes, mpi(2, 2, block=32) in blocks of 32";

static int64_t whole(Interp *in, Value v, int i)
{
    char given[96];
    int64_t n;
    if (!v_as_int(v, &n))
        err_raise_help(&in->ctx, ERR_TYPE, usage, "%s of mpi must be an int, not %s",
                       parameters[i], v_article(v, given, sizeof given));
    int64_t most = i == 2 ? GRID_BLOCK_MAX : GRID_RANKS;
    if (n < 1 || n > most)
        err_raise_help(&in->ctx, ERR_VALUE, usage, "%s of mpi is %lld but must be 1 to %lld",
                       parameters[i], (long long)n, (long long)most);
    return n;
}

Value place_called(Interp *in, Device *d, const Value *args, int count, const Name *const *names,
                   const Value *named, int named_count)
{
    int64_t n[PARAMETERS] = { 0, 0, GRID_BLOCK };
    bool given[PARAMETERS] = { false };
    if (count > PARAMETERS)
        err_raise_help(&in->ctx, ERR_TYPE, usage, "mpi takes p, q and block, not %d arguments",
                       count);
    for (int i = 0; i < count; i++) {
        n[i] = whole(in, args[i], i);
        given[i] = true;
    }
    for (int k = 0; k < named_count; k++) {
        int i = 0;
        while (i < PARAMETERS && strcmp(parameters[i], names[k]->text) != 0)
            i++;
        if (i == PARAMETERS || given[i])
            err_raise_help(&in->ctx, ERR_NAME, usage, i == PARAMETERS ? "mpi has no parameter %s"
                                                                     : "mpi is given %s twice",
                           names[k]->text);
        n[i] = whole(in, named[k], i);
        given[i] = true;
    }
    if (!given[0] || !given[1])
        err_raise_help(&in->ctx, ERR_TYPE, usage, "mpi is called with rows and columns");
    if (n[0] * n[1] > GRID_RANKS)
        err_raise_help(&in->ctx, ERR_VALUE, usage,
                       "a grid of %lld x %lld is more than %d processes",
                       (long long)n[0], (long long)n[1], GRID_RANKS);
    return v_device(device_backend(in->ctx.devices, d->name)->grid(&in->ctx, (int)n[0], (int)n[1],
                                                                   (int)n[2]));
}
