/* Convolution loops, AVX2: see conv_isa.tmpl.h. */
#define ISA conv_avx2
#define VECTOR 32
#include "kernels/signals/conv_isa.tmpl.h"
