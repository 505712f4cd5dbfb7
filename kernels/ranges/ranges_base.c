/* Loops over numbers and grids, base build: see ranges_isa.tmpl.h. Only ranges.c reads the
 * table. */
#define RANGE_TABLE ranges_base
#include "kernels/ranges/ranges_isa.tmpl.h"
