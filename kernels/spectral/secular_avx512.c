/* The secular equation with AVX-512. */
#define SECULAR_TABLE secular_avx512
#include "kernels/spectral/secular_isa.tmpl.h"
