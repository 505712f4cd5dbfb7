/* Eigenvalues and Schur forms of real Hessenberg matrices by Francis's QR iteration with many small
 * bulges at a time and aggressive early deflation (Braman, Byers, Mathias, SIAM J. Matrix Anal.
 * Appl. 23 (2002), 929 and 948), as LAPACK's hseqr. The deflation is LAPACK's (laqr3); sweeps are
 * ours: the chain of bulges beside the diagonal by kernels in vectors, where LAPACK spends a third
 * of its time in loops over three elements and calls for reflectors of as many, and what lies far
 * from the diagonal in products that the pool shares. */
#ifndef RICCI_KERNELS_FRANCIS_H
#define RICCI_KERNELS_FRANCIS_H

#include "kernels/lapack/lapack.h"

/* Is it ours, for order n? */
bool francis_own(BlasType, int64_t n);
/* As hseqr, of rows and columns lo … hi (from 0 on) of n: with `schur` the form in h and its
 * vectors taken into z (NULL: none), else the values alone. Returns info. The same bits on any
 * number of threads. */
int francis_schur(Ctx *, const Blas *, BlasType, bool schur, int64_t n, int64_t lo, int64_t hi,
                  void *h, void *wr, void *wi, void *z, Scratch *);

/* ---- for the kernels ---- */
/* A slab of a sweep: the bulges go on from column incol by 2 `bulges`, in the block ktop … kbot.
 * Its reflections are kept in u, of `width` (4 bulges) rows and columns: those after incol. */
typedef struct Francis {
    int64_t n, ld, ktop, kbot, incol, bulges, width;
    void *h, *u, *sr, *si;               /* shifts in pairs */
    void *room;                          /* a bulge each */
} Francis;

typedef struct FrancisKernels {
    void (*chase)(const Francis *);      /* what lies in the slab itself, and u */
    size_t bulge;                        /* bytes */
} FrancisKernels;

/* By BLAS_S and BLAS_D. */
extern const FrancisKernels francis_avx2[2], francis_avx512[2];

#endif
