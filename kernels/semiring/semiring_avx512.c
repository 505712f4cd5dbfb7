/* Packed tiles, AVX-512: see semiring_isa.tmpl.h. */
#define TILE_SET semiring_tiles_avx512
#include "kernels/semiring/semiring_isa.tmpl.h"
