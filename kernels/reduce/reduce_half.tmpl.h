/* The loops of one kind of 16-bit floats (kernels/tensor/each_half.h). */
#define T uint16_t
#define C float
#define LOAD(v) HALF_LOAD(v)
#define ID(f) HALF_NAME(f)
#define KIND 1
#define ZERO (-0.0f)
#define TIMES(a, b) ((a) * (b))
#include "kernels/reduce/reduce_ops.tmpl.h"
