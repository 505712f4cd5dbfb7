/* Forms of rows on devices of generated source: see builtins/devices.def and interp/place.h. A
 * form gets its operands as the door has them, moves them to the device by device_ensure, and
 * gives tensors whose home is the device; or it refuses (place_refuse) before it did anything. */
#ifndef RICCI_BUILTINS_DEVICES_H
#define RICCI_BUILTINS_DEVICES_H

#include "interp/place.h"

#define DEVICE_FORM(row, form) Value op_device_##form(OpCall *, Device *);
#define DEVICE_MATH(row, form, entry) DEVICE_FORM(row, form)
#include "builtins/devices.def"
#undef DEVICE_FORM
#undef DEVICE_MATH

#endif
