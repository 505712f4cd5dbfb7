/* Backward errors of four element types for one instruction set, BACKWARD_TABLE. */
#include "kernels/gemm/vector_real.tmpl.h"
#include "kernels/lapack/backward_kernels.h"

#include <math.h>
#include <string.h>

typedef int32_t Bits_s __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t Bits_d __attribute__((vector_size(VECTOR_BYTES)));

#define REAL float
#define PARTS 1
#define ABS fabsf
#define FN(name) s_##name
#define V Vec_s
#define VI Bits_s
#define FMA fma_s
#include "kernels/lapack/backward.tmpl.h"

#define REAL double
#define PARTS 1
#define ABS fabs
#define FN(name) d_##name
#define V Vec_d
#define VI Bits_d
#define FMA fma_d
#include "kernels/lapack/backward.tmpl.h"

#define REAL float
#define PARTS 2
#define ABS fabsf
#define FN(name) c_##name
#include "kernels/lapack/backward.tmpl.h"

#define REAL double
#define PARTS 2
#define ABS fabs
#define FN(name) z_##name
#include "kernels/lapack/backward.tmpl.h"

const BackwardFn BACKWARD_TABLE[BLAS_TYPES] = {
    [BLAS_S] = s_error, [BLAS_D] = d_error, [BLAS_C] = c_error, [BLAS_Z] = z_error,
};
