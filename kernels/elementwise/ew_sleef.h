/* The SLEEF library, loaded when a transcendental is first used, so that start-up does
 * not pay for it. Without it the scalar formulas run, through the C library. */
#ifndef RICCI_KERNELS_EW_SLEEF_H
#define RICCI_KERNELS_EW_SLEEF_H

#include "kernels/elementwise/ew_kernels.h"

/* Address of one function, "exp%s_u10" with lanes "d4" and isa "avx2" being
 * Sleef_finz_expd4_u10avx2; NULL if there is none. The finz forms give the same bits on
 * every instruction set that has FMA. */
void *ew_sleef_find(const char *pattern, const char *lanes, const char *isa);

#endif
