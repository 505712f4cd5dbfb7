/* Direct contractions, AVX-512: see direct_isa.tmpl.h. */
#define DIRECT_SET direct_set_avx512
#include "kernels/direct/direct_isa.tmpl.h"
