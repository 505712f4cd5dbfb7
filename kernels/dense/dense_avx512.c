/* Kernels of factorisations with AVX-512. */
#define DENSE_TABLE_S dense_s_avx512
#define DENSE_TABLE_D dense_d_avx512
#include "kernels/dense/dense_isa.tmpl.h"
