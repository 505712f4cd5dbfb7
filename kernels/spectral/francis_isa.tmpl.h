/* Kernels of francis.h in both precisions for one instruction set, FRANCIS_TABLE. */
#include "kernels/spectral/francis.h"

#define MAX2(a, b) ((a) > (b) ? (a) : (b))
#define MIN2(a, b) ((a) < (b) ? (a) : (b))

#define EACH_REAL "kernels/spectral/francis.tmpl.h"
#include "kernels/gemm/each_real.h"

const FrancisKernels FRANCIS_TABLE[2] = {
    [BLAS_S] = { chase_s, sizeof(Bulge_s) }, [BLAS_D] = { chase_d, sizeof(Bulge_d) }
};
