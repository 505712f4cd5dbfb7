/* Kernels for small matrices on any machine: see small_isa.tmpl.h. Only small.c reads the
 * table. */
#define SMALL_TABLE small_table_base
#include "kernels/gemm/small_isa.tmpl.h"
