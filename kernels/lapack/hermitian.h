/* Is a matrix equal to its conjugate transpose? All of it is looked at once, by tiles that
 * are turned over in registers, and on the way the half that LAPACK reads can be copied. */
#ifndef RICCI_KERNELS_HERMITIAN_H
#define RICCI_KERNELS_HERMITIAN_H

#include "kernels/lapack/lapack.h"

/* mat_is_hermitian (lapack.h) that copies as mat_copy_lower(…, false) does, if `to` is not
 * NULL; what is there after false is undefined. *finite (or NULL) is set where true comes
 * back. */
bool mat_take_hermitian(BlasType, int64_t n, Mat, void *to, bool *finite);

/* How far a matrix is from that: the greatest magnitude of its elements, and of a_ij - conj(a_ji),
 * of those that are numbers; and whether all are finite. Its lower half is copied to `to` (by
 * columns, or NULL) on the way; what is above the diagonal there is undefined. */
typedef struct Asymmetry {
    double top, gap;
    bool finite;
} Asymmetry;
Asymmetry mat_asymmetry(BlasType, int64_t n, Mat, void *to);

/* For the kernels: `count` tiles of HERMITIAN_TILE lines side by side, at x, against those at
 * `across`, one below the other; `to` (or NULL) has lines of length ldt and takes the
 * tiles at x, conjugated if flip (asymmetry_*: those across, turned over). */
enum { HERMITIAN_TILE = 8 };
typedef struct HermitianStrip {
    const char *x, *across;
    int64_t ld, count, ldt;
    char *to;
    bool flip;
} HermitianStrip;
/* What was seen: all elements equal, and finite. */
typedef struct HermitianSeen { bool equal, finite; } HermitianSeen;
typedef HermitianSeen (*HermitianFn)(const HermitianStrip *);
extern const HermitianFn hermitian_base[BLAS_TYPES], hermitian_avx2[BLAS_TYPES];
/* Adds what they see; real types only. */
typedef void (*AsymmetryFn)(const HermitianStrip *, Asymmetry *);
extern const AsymmetryFn asymmetry_base[BLAS_TYPES], asymmetry_avx2[BLAS_TYPES];

#endif
