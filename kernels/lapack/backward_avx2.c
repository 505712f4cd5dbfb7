/* Backward errors with AVX2. */
#define BACKWARD_TABLE backward_table_avx2
#include "kernels/lapack/backward_isa.tmpl.h"
