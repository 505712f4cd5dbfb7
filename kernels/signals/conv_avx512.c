/* Convolution loops, AVX512: see conv_isa.tmpl.h. */
#define ISA conv_avx512
#define VECTOR 64
#include "kernels/signals/conv_isa.tmpl.h"
