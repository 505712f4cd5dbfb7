/* The secular equation of divide and conquer: eigenvalues and vectors of D + rho z z', with D
 * diagonal (Cuppen 1981; Gu and Eisenstat 1995; Li 1993, LAPACK working note 89). */
#ifndef RICCI_KERNELS_SPECTRAL_SECULAR_H
#define RICCI_KERNELS_SPECTRAL_SECULAR_H

#include "kernels/blas/blas.h"

/* What lies beyond the k-th of d and z2, so that the kernels have whole vectors. */
enum { SECULAR_LANES = 16 };
static inline int64_t secular_padded(int64_t k)
{
    return (k + SECULAR_LANES - 1) / SECULAR_LANES * SECULAR_LANES;
}

/* Of type `type`, BLAS_S or BLAS_D. The poles d ascend and differ, rho > 0, and no element of z is
 * negligible: who calls has deflated. All arrays have secular_padded(k) elements. */
typedef struct Secular {
    BlasType type;
    int64_t k, ld;              /* columns of q are ld = secular_padded(k) apart */
    void *d, *z, *z2;           /* z2 is filled here */
    double rho;
    void *lambda;               /* the eigenvalues, ascending */
    void *q;                    /* NULL, or the eigenvectors, their components … */
    const int64_t *order;       /* … in this order: component i stands for pole order[i] */
    void *room;                 /* ld elements for each worker */
} Secular;

/* False: a root was not found (which no finite problem was seen to do). A set interrupt flag ends
 * it early: the caller polls. */
bool secular_solve(Ctx *, Secular *);

/* For secular.c: the kernels of one instruction set. Each works on roots (or poles) [from, to). */
typedef struct SecularKernels {
    bool (*roots)(const Secular *, int64_t from, int64_t to);
    void (*weights)(const Secular *, int64_t from, int64_t to);
    void (*vectors)(const Secular *, int64_t from, int64_t to, void *room);
} SecularKernels;
extern const SecularKernels secular_base[2], secular_avx2[2], secular_avx512[2];

#endif
