/* The host's LAPACK for a device that has none: see math.c. */
#ifndef RICCI_TESTS_DEVICES_MATH_H
#define RICCI_TESTS_DEVICES_MATH_H

#include "kernels/device/device.h"

void test_math(Device *);

#endif
