/* Vectors of 32 bytes: see sums.h. */
#define WIDTH 32
#define TABLE sums_avx2
#define TURNED_DOUBLES 1, 0, 3, 2
#define TURNED_FLOATS 1, 0, 3, 2, 5, 4, 7, 6
#include "kernels/gemm/sums.tmpl.h"
