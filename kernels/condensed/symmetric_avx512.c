/* Tridiagonal forms with AVX-512. */
#define SYMMETRIC_TABLE symmetric_avx512
#include "kernels/condensed/symmetric_isa.tmpl.h"
