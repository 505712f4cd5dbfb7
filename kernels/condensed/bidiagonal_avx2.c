/* Bidiagonal forms with AVX2. */
#define BIDIAGONAL_TABLE bidiagonal_avx2
#include "kernels/condensed/bidiagonal_isa.tmpl.h"
