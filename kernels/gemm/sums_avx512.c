/* Vectors of 64 bytes: see sums.h. */
#define WIDTH 64
#define TABLE sums_avx512
#define TURNED_DOUBLES 1, 0, 3, 2, 5, 4, 7, 6
#define TURNED_FLOATS 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14
#include "kernels/gemm/sums.tmpl.h"
