/* Running sums, products and extremes of one kind of 16-bit floats (kernels/tensor/each_half.h). */
#define T uint16_t
#define R uint16_t
#define C float
#define LOAD(v) HALF_LOAD(v)
#define STORE(v) HALF_STORE(v)
#define NAME(f) HALF_NAME(f)
#define ADD(a, b, bad) ((a) + (b))
#define MUL(a, b, bad) ((a) * (b))
#include "kernels/axis/scan_order.tmpl.h"
#include "kernels/axis/scan_lane.tmpl.h"
