/* Tridiagonal forms with AVX2. */
#define SYMMETRIC_TABLE symmetric_avx2
#include "kernels/condensed/symmetric_isa.tmpl.h"
