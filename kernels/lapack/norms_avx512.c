/* Folds of magnitudes with AVX-512: see norms.h. */
#define NORM_TABLE norm_kernels_avx512
#include "kernels/lapack/norms_isa.tmpl.h"
