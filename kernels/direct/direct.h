/* Direct contractions (semiring.h says what one is), run. Nothing here raises; a set interrupt flag
 * ends it early: the caller polls. */
#ifndef RICCI_KERNELS_DIRECT_H
#define RICCI_KERNELS_DIRECT_H

#include "kernels/semiring/semiring.h"

/* C is overwritten, or takes part in the reduction (`accumulate`). */
void direct_run(Ctx *, Semiring, DType, const Direct *, void *c, const void *a, const void *b,
                bool accumulate);

#endif
