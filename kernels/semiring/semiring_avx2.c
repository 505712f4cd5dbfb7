/* Packed tiles, AVX2: see semiring_isa.tmpl.h. */
#define TILE_SET semiring_tiles_avx2
#include "kernels/semiring/semiring_isa.tmpl.h"
