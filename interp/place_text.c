/* What device blocks say: notices, summaries, the errors of strict ones. See place.h. */
#include "interp/place.h"

#include "core/error.h"

void place_notice(Interp *in, const DeviceBlock *p, const char *op, const Value *args, int count, DType dt, const Device *on,
                  const char *why, size_t up, size_t down)
{
    (void)args, (void)count, (void)dt, (void)up, (void)down;
    if (!p->quiet)
        notice(in, "%s is not on %s (%s); ran on %s", op, p->device->name, why, on->name);
}

void place_summary(Interp *in, const DeviceBlock *p)
{
    (void)in, (void)p;
}

void place_strict_missing(Interp *in, const DeviceBlock *p, const char *op, const Value *args, int count, const char *why)
{
    (void)args, (void)count;
    err_raise(&in->ctx, ERR_DEVICE, "%s is not on %s: %s", op, p->device->name, why);
}

void place_strict_copy(Interp *in, const DeviceBlock *p, const char *op, int operand, const Device *from)
{
    err_raise(&in->ctx, ERR_DEVICE, "%s: %s is on %s, not on %s", op, err_operand_text(&in->ctx, operand), from->name,
              p->device->name);
}
