/* Loops over numbers and grids, avx512 build: see ranges_isa.tmpl.h. Only ranges.c reads the
 * table. */
#define RANGE_TABLE ranges_avx512
#include "kernels/ranges/ranges_isa.tmpl.h"
