/* Hessenberg forms of real matrices by panels (in the order of steps of Quintana-Orti and van de
 * Geijn, ACM Trans. Math. Softw. 32 (2006), 180, as LAPACK's lahr2), shared by the pool: the
 * product with the matrix that each column asks for by rows, in rounds of microseconds (team.h),
 * what a panel does to the rest by slices of rows and columns. */
#ifndef RICCI_KERNELS_HESSENBERG_H
#define RICCI_KERNELS_HESSENBERG_H

#include "kernels/lapack/lapack.h"

/* Is it ours, for order n? */
bool hessenberg_own(BlasType, int64_t n);
/* As gehrd, of rows and columns lo … hi (from 0 on); with q, n x n, as orghr too. An interrupt
 * ends it early: the caller polls. The same bits on any number of threads. */
void hessenberg_reduce(Ctx *, const Blas *, BlasType, int64_t n, int64_t lo, int64_t hi, void *a,
                       void *tau, void *q, Scratch *);

#endif
