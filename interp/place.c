/* The door's half of device blocks: on which device an operation runs, and how. See place.h. */
#include "interp/place.h"

#include "core/error.h"
#include "interp/optable.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

Value place_refuse(Interp *in, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(in->place_why, sizeof in->place_why, fmt, ap);
    va_end(ap);
    return v_undef();
}

bool place_has(Interp *in, const Device *d, const Op *op, const char **why)
{
    *why = "it lacks it";
    if (d == in->ctx.devices->cpu)
        return true;
    return d->caps & DEVCAP_SIM ? !device_lacks(d, op->name) : op_device(in, op) != NULL;
}

DType place_float(const Interp *in)
{
    return in->place ? device_widest(in->place->device) : DT_F64;
}

Tensor *place_made(Interp *in, Tensor *t)
{
    (void)in;
    return t;
}

/* ---- the record ---- */
void place_ran(Interp *in, const PlaceRun *r)
{
    device_ran(r->device, r->seconds);
    for (DeviceBlock *p = in->place; p; p = p->up) {
        *(r->fell_back ? &p->counts.elsewhere : &p->counts.here) += 1;
        p->counts.seconds += r->seconds;
    }
    if (in->listener)
        in->listener->ran(in, in->listener, r);
}

void place_moved(Interp *in, const PlaceMove *m)
{
    bool up = m->to != in->ctx.devices->cpu;
    for (DeviceBlock *p = in->place; p; p = p->up) {
        *(up ? &p->counts.up : &p->counts.down) += 1;
        *(up ? &p->counts.bytes_up : &p->counts.bytes_down) += m->bytes;
        p->counts.copy_seconds += m->seconds;
    }
    if (in->listener)
        in->listener->moved(in, in->listener, m);
}

void place_heard_copy(Ctx *ctx, const Device *from, const Device *to, size_t bytes, double seconds)
{
    place_moved((Interp *)(void *)ctx, &(PlaceMove){ from, to, bytes, seconds });
}

/* ---- simulations ---- */
enum { SIM_ARGS = 64 };

/* All tensors of `made` as tensors of the device. */
static Value adopt(Interp *in, Device *d, Value made, const Value *args, const Value *shadows, int n)
{
    if (made.tag == V_TUPLE) {
        v_push(in, made);
        tuple_unshare(&in->ctx, &in->sp[-1].tuple);
        made = in->sp[-1];
        for (uint32_t i = 0; i < made.tuple->count; i++) {
            Value item = made.tuple->items[i];
            made.tuple->items[i] = v_none();
            made.tuple->items[i] = adopt(in, d, item, args, shadows, n);
        }
        in->sp--;
        return made;
    }
    if (made.tag != V_TENSOR || made.tensor->rank == 0 || !device_holds(d, (DType)made.tensor->dtype))
        return made;
    Tensor *from[SIM_ARGS], *shadow[SIM_ARGS];
    int k = 0;
    for (int i = 0; i < n; i++)
        if (args[i].tag == V_TENSOR) {
            from[k] = args[i].tensor;
            shadow[k++] = shadows[i].tensor;
        }
    return v_tensor_raw(sim_adopt(&in->ctx, d, made.tensor, from, shadow, k));
}

static bool any_tensor(const Value *args, int n)
{
    for (int i = 0; i < n; i++)
        if (args[i].tag == V_TENSOR || args[i].tag == V_TUPLE)
            return true;
    return false;
}

static Value sim_call(Interp *in, Device *d, const Op *op, Value *args, int count, unsigned weak, const int8_t *operand)
{
    DeviceBlock *place = in->place;
    Value *shadows = in->sp;
    for (int i = 0; i < count; i++) {
        Value s = place_shadow(in, d, args[i]);
        v_push(in, s);
    }
    in->place = NULL;
    Value r = op_call_bound(in, op, shadows, count, weak, operand);
    in->place = place;
    r = adopt(in, d, r, args, shadows, count);
    v_push(in, r);
    place_ran(in, &(PlaceRun){ .name = op->name, .op = op, .device = d, .seconds = device_model_seconds(d, 0, 0) });
    in->sp--;
    stack_cut(in, shadows);
    return r;
}

bool place_call(Interp *in, const Op *op, Value *args, int count, unsigned weak, const int8_t *operand, Value *result)
{
    Device *d = place_device(in);
    const char *why;
    if (d && d->caps & DEVCAP_SIM && any_tensor(args, count) && count <= SIM_ARGS && place_has(in, d, op, &why)) {
        *result = sim_call(in, d, op, args, count, weak, operand);
        return true;
    }
    for (int i = 0; i < count; i++)
        place_home(in, args[i]);
    return false;
}

Value place_work(Interp *in, const PlaceWork *w)
{
    for (int i = 0; i < w->count; i++)
        place_home(in, w->args[i]);
    return w->run(in, w->args, w->data);
}
