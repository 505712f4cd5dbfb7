/* Eigenvalues and right eigenvectors of general real matrices from parts, as LAPACK's geev. */
#ifndef RICCI_KERNELS_GENERAL_H
#define RICCI_KERNELS_GENERAL_H

#include "kernels/lapack/lapack.h"

/* Is it ours, for order n? */
bool general_own(BlasType, int64_t n);
/* lapack_eig where it is; no infinities. The same bits on any number of threads. */
int general_eig(Ctx *, const Blas *, BlasType, int64_t n, void *a, void *w, void *v, bool *real,
                Scratch *);

#endif
