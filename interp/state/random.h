/* The interpreter's random state, and what was drawn from it (interp.c). */
#ifndef RICCI_INTERP_RANDOM_H
#define RICCI_INTERP_RANDOM_H

#include "interp/state/interp.h"

/* From the system's numbers, if nobody gave a seed. */
RngStream random_open(Interp *);
void random_close(Interp *, const RngStream *);
/* The next number: [0, 1); normal; low, …, high - 1. */
double random_unit(Interp *);
double random_normal(Interp *);
int64_t random_int(Interp *, int64_t low, int64_t high);

#endif
