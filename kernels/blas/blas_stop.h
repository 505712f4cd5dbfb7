/* Stopping LAPACK. Its routines are Fortran that looks at no flag, but all of their work goes
 * through BLAS, and the library calls its own BLAS by way of a table of the dynamic linker (the
 * global offset table). Entries of that table lead here instead: at each such call the interrupt
 * flag of whoever asked for the routine is read, and if it is set the error `interrupt` is raised
 * out of the Fortran code, which owns neither memory nor locks. A product inside LAPACK that
 * would take long is made in panels.
 *
 * Only the program `ricci` asks for this (blas_stop_allow): in a program of others the library's
 * table is theirs too, and LAPACK runs to its end there. */
#ifndef RICCI_KERNELS_BLAS_STOP_H
#define RICCI_KERNELS_BLAS_STOP_H

#include "kernels/blas/blas.h"

/* From now on a library that is opened gets its entries changed. */
void blas_stop_allow(void);
/* What blas.c calls once with the handle in which LAPACK was found. */
void blas_stop_install(const Blas *, void *handle);
/* Are the entries changed, so that LAPACK can be stopped? */
bool blas_stop_works(void);

/* LAPACK that this thread calls from now on may be left by raising into this context: callers
 * own nothing that is not on the value stack. NULL: by nobody (C that was called runs). */
void blas_stop_by(Ctx *);
/* Raises `interrupt` if it was asked for and this thread may raise; else returns. */
void blas_stop_poll(void);

/* How much one call may do. Tests set less than usual (NULL: as usual again). */
typedef struct BlasLimits {
    double work;                /* multiply-adds of f64 in one call of BLAS */
    int whole;                  /* orders up to which LAPACK's own factorisation ends soon enough */
    int panel;                  /* of larger ones, the columns of a part; at least 64 */
    int group;                  /* columns that a product has at least */
} BlasLimits;
void blas_stop_limit(const BlasLimits *);

/* LU with partial pivoting and Cholesky (lower) of large matrices as LAPACK's getrf and potrf
 * make them, but from parts that take at most a few tenths of a second each; polls between. */
void blas_stop_getrf(const Blas *, BlasType, int m, int n, void *a, int lda, int *pivots,
                     int *info);
void blas_stop_potrf(const Blas *, BlasType, char uplo, int n, void *a, int lda, int *info);
/* How many right sides of a system of this order one call is to solve. */
int blas_stop_group(BlasType, int64_t order, int64_t nrhs);

#endif
