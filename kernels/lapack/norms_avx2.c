/* Folds of magnitudes with AVX2: see norms.h. */
#define NORM_TABLE norm_kernels_avx2
#include "kernels/lapack/norms_isa.tmpl.h"
