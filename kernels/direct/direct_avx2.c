/* Direct contractions, AVX2: see direct_isa.tmpl.h. */
#define DIRECT_SET direct_set_avx2
#include "kernels/direct/direct_isa.tmpl.h"
