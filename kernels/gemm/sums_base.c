/* Vectors of 16 bytes: see sums.h. */
#define WIDTH 16
#define TABLE sums_base
#define TURNED_DOUBLES 1, 0
#define TURNED_FLOATS 1, 0, 3, 2
#include "kernels/gemm/sums.tmpl.h"
