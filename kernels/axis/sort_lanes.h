/* Between sort.c and the quick ways of sort_lanes.c. */
#ifndef RICCI_KERNELS_SORT_LANES_H
#define RICCI_KERNELS_SORT_LANES_H

#include "kernels/axis/sort.h"

/* False: this machine has none, and nothing was done. */
bool sort_keys_quickly(Ctx *, uint64_t *keys, int64_t n);

#endif
