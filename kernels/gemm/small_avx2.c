/* Kernels for small matrices on AVX2 with FMA: see small_isa.tmpl.h. Only small.c reads the
 * table. */
#define SMALL_TABLE small_table_avx2
#include "kernels/gemm/small_isa.tmpl.h"
