/* The backends whose drivers are looked for, one row each: what devices_init is given. */
#ifndef RICCI_KERNELS_BACKENDS_H
#define RICCI_KERNELS_BACKENDS_H

#include "kernels/device/device.h"

extern const DeviceBackend device_backends[];

#endif
