/* Kernels of secular.h in both precisions for one instruction set, SECULAR_TABLE. Vectors are of 64
 * bytes on each of them, and the compiler takes as many registers as that needs: sums have the same
 * order, and results the same bits, everywhere. */
#include "kernels/spectral/secular.h"

#include <math.h>

typedef float Wide_s __attribute__((vector_size(64), aligned(4), may_alias));
typedef double Wide_d __attribute__((vector_size(64), aligned(8), may_alias));
typedef int32_t Mask_s __attribute__((vector_size(64)));
typedef int64_t Mask_d __attribute__((vector_size(64)));

/* The elements of v that mask chooses, else 0. */
#define KEEP(v, mask) ((V)((M)(v) & (mask)))

#define REAL float
#define FN(name) s_##name
#define V Wide_s
#define M Mask_s
#define LANES 16
#define EPS 0x1p-24f
#define ABS fabsf
#define SQRT sqrtf
#include "kernels/spectral/secular.tmpl.h"

#define REAL double
#define FN(name) d_##name
#define V Wide_d
#define M Mask_d
#define LANES 8
#define EPS 0x1p-53
#define ABS fabs
#define SQRT sqrt
#include "kernels/spectral/secular.tmpl.h"

const SecularKernels SECULAR_TABLE[2] = {
    [BLAS_S] = { s_roots, s_weights, s_vectors }, [BLAS_D] = { d_roots, d_weights, d_vectors },
};
