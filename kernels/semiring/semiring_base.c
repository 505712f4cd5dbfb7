/* Packed tiles, plain: see semiring_isa.tmpl.h. */
#define TILE_SET semiring_tiles_base
#include "kernels/semiring/semiring_isa.tmpl.h"
