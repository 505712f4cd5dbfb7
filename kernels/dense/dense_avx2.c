/* Kernels of factorisations with AVX2. */
#define DENSE_TABLE_S dense_s_avx2
#define DENSE_TABLE_D dense_d_avx2
#include "kernels/dense/dense_isa.tmpl.h"
