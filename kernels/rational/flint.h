/* FLINT, the library of number theory, for what it does faster than elimination without fractions:
 * systems and determinants of large rational matrices, by p-adic lifting (Dixon, Numer. Math. 40,
 * 1982). Opened when first used; where it is missing our own elimination runs, with the same exact
 * results. It can neither be interrupted nor told that memory is spent, so only work of a few
 * seconds is given to it. */
#ifndef RICCI_KERNELS_FLINT_H
#define RICCI_KERNELS_FLINT_H

#include "kernels/rational/rational_linalg.h"

/* Whether FLINT is there and the work is of a size that is for it. */
bool flint_wants(Ctx *, int64_t n, int64_t nrhs, RationalMat a, RationalMat b);
/* a x = b as rational_solve has it, without the inverse. RATIONAL_SINGULAR says no column. */
RationalStatus flint_solve(Ctx *, int64_t n, int64_t nrhs, RationalMat a, RationalMat b,
                           Rational *x);
RationalStatus flint_det(Ctx *, int64_t n, RationalMat a, Rational *out);

#endif
