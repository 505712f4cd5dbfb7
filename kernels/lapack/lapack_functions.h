/* Condensed forms (Schur, Hessenberg, LDL') and functions of matrices (exponential, square root,
 * logarithm). As in lapack.h: matrices are column-major with leading dimension n, work space is
 * the caller's, nothing raises. */
#ifndef RICCI_KERNELS_LAPACK_FUNCTIONS_H
#define RICCI_KERNELS_LAPACK_FUNCTIONS_H

#include "kernels/lapack/lapack.h"

#include <signal.h>

/* re + im i, exactly; CMPLX is not in every compiler's headers. */
static inline double _Complex complex_of(double re, double im)
{
    return __builtin_complex(re, im);
}

/* a becomes T, z the Schur vectors: A = Z T Z'. Returns info: above 0 the QR iteration
 * did not converge. */
int lapack_schur(const Blas *, BlasType, int64_t n, void *a, void *z, Scratch *);
/* a becomes H, zero below its first subdiagonal, and q the reflectors' product: A = Q H Q'. */
int lapack_hess(const Blas *, BlasType, int64_t n, void *a, void *q, Scratch *);
/* The lower half of a Hermitian a becomes unit lower L; d the block diagonal, order[i] the
 * row of A that comes i-th: A[order, order] = L D L'. */
int lapack_ldl(const Blas *, BlasType, int64_t n, void *a, void *d, int64_t *order, int *pivots,
               Scratch *);
/* A real Schur form t of f64 as a complex triangle G t G'; and G' f G for a function f of
 * that triangle, which is the function of t itself. */
void schur_make_complex(int64_t n, const double *t, double _Complex *out);
void schur_undo_complex(int64_t n, const double *t, double _Complex *f);

/* Estimate (a lower bound, mostly exact) of the 1-norm of an operator that is known by its
 * products: apply(how, x) replaces x by B x, or by B' x if transposed is set. */
typedef struct NormEstimate {
    const Blas *l;
    BlasType type;
    int64_t n;
    void *v, *x;             /* n elements each */
    int *sign;               /* n */
    void (*apply)(void *how, void *x, bool transposed);
    void *how;
} NormEstimate;
double lapack_norm1_estimate(NormEstimate *);

/* How an exponential was computed; degree 0: element by element, A was diagonal. */
typedef struct ExpmWay { int degree, squarings; } ExpmWay;
/* exp(a) into a. The Scratch holds nine matrices. Returns 0, or 1 if the denominator of the
 * Padé approximant is singular (never for finite elements). */
int lapack_expm(Ctx *, const Blas *, DType, int64_t n, void *a, Scratch *, ExpmWay *);

/* ---- of an upper triangular matrix, f64 or c128, in place ---- */
/* The diagonal of a real one must be >= 0. False: zero stands twice on the diagonal, with an
 * element above `tiny` between, so that no square root exists. */
bool triangle_sqrt(const Blas *, BlasType, int64_t n, void *t, double tiny);
/* The principal logarithm; the diagonal has no zero, a real one is positive. False: a
 * square root was not found. A set interrupt flag ends it early: the caller polls. */
bool triangle_log(const Blas *, BlasType, int64_t n, void *t, Scratch *,
                  InterruptFlag *interrupt);

#endif
