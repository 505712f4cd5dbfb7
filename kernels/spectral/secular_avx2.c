/* The secular equation with AVX2. */
#define SECULAR_TABLE secular_avx2
#include "kernels/spectral/secular_isa.tmpl.h"
