/* Bidiagonal forms with AVX-512. */
#define BIDIAGONAL_TABLE bidiagonal_avx512
#include "kernels/condensed/bidiagonal_isa.tmpl.h"
