/* memory(): bytes in use on each device and the most there were, as the allocator (core/base/mem.h)
 * and the devices (kernels/device/device.h) count them. */
#include "builtins/rows/rows.h"

#include "core/base/error.h"
#include "interp/op/arith.h"
#include "interp/device/place.h"

#include <stdio.h>
#include <string.h>

typedef struct Account { size_t live, *peak; } Account;

/* The host's tensors are the allocator's. */
static Account account_of(Ctx *ctx, Device *d)
{
    return d == ctx->devices->cpu ? (Account){ ctx->mem.live, &ctx->mem.peak }
                                  : (Account){ d->live, &d->peak };
}

/* Of a grid of processes also what the one with the most holds, and what they sent each other. */
static Value grid_pair(Interp *in, Device *d, size_t live, size_t peak)
{
    uint64_t all, largest;
    d->ops->look(&in->ctx, d, &all, &largest);
    return tuple_make(in, "live", v_int((int64_t)live), "peak", v_int((int64_t)peak), "largest",
                      v_int((int64_t)largest), "between", v_int((int64_t)d->counts.between), NULL);
}

static Value pair_of(Interp *in, Device *d, bool reset)
{
    Account a = account_of(&in->ctx, d);
    size_t live = a.live, peak = *a.peak;
    if (reset)
        *a.peak = live;
    if (d->ops->look)
        return grid_pair(in, d, live, peak);
    return tuple_make(in, "live", v_int((int64_t)live), "peak", v_int((int64_t)peak), NULL);
}

_Noreturn static void raise_unknown(OpCall *c, const char *text)
{
    char help[160];
    const char *close = device_closest(&c->in->ctx, text);
    snprintf(help, sizeof help, "did you mean \"%s\"?", close ? close : "");
    arg_error_help(c, 0, ERR_DEVICE, close ? help : "print(devices()) shows all",
                   "there is no device \"%.60s\"", text);
}

/* A device, or the text that names one. */
static Device *asked_device(OpCall *c)
{
    Value v = c->args[0];
    char given[96];
    Device *d = v.tag == V_DEVICE ? v.device : v.tag == V_STRING
                ? device_named(&c->in->ctx, v.str->text) : NULL;
    if (!d && v.tag == V_STRING)
        raise_unknown(c, v.str->text);
    if (!d)
        arg_error(c, 0, ERR_TYPE, "%s is %s, not a device", arg_text(c, 0),
                  v_article(v, given, sizeof given));
    Device *real = device_real(&c->in->ctx, d);        /* `opencl` is the first of them */
    return real ? real : d;
}

static bool is_given(Value v) { return v.tag != V_UNDEF && v.tag != V_NONE; }

Value op_run_memory(OpCall *c)
{
    Interp *in = c->in;
    bool reset = arg_bool(c, 1, false);
    if (is_given(c->args[0]))
        return pair_of(in, asked_device(c), reset);
    Tuple *t = tuple_new(&in->ctx, 0);
    Value *slot = in->sp;
    v_push(in, v_tuple(t));
    for (Device *d = in->ctx.devices->first; d; d = d->next) {
        if (device_absent(d))
            continue;
        const Name *name = names_intern(&in->names, d->name, strlen(d->name));
        tuple_push(&in->ctx, &slot->tuple, name, pair_of(in, d, reset));
    }
    in->sp = slot;
    return *slot;
}
