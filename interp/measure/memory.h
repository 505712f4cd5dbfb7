/* Bytes that work needs beyond those in use when it begins: the host's, and all devices'. */
#ifndef RICCI_INTERP_MEASURE_MEMORY_H
#define RICCI_INTERP_MEASURE_MEMORY_H

#include "interp/state/interp.h"

enum { MEMORY_DEVICES = 64 };
typedef struct MemoryMark {
    size_t peak[MEMORY_DEVICES];    /* of the host and of devices, which may join meanwhile */
    size_t live;
} MemoryMark;

void memory_begin(Interp *, MemoryMark *);
/* The most bytes since then; peaks of the whole program are again what they were, or more. */
size_t memory_end(Interp *, const MemoryMark *);

#endif
