/* Kernels for small matrices on AVX-512: see small_isa.tmpl.h. Only small.c reads the
 * table. */
#define SMALL_TABLE small_table_avx512
#include "kernels/gemm/small_isa.tmpl.h"
