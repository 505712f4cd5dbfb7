/* LAPACK over all four types with one signature each, and the small matrix facts that
 * choose among its routines. Matrices are column-major with leading dimension = rows
 * unless a Mat says otherwise. Everything returns LAPACK's info; nothing raises. */
#ifndef RICCI_KERNELS_LAPACK_H
#define RICCI_KERNELS_LAPACK_H

#include "kernels/blas/lapack_calls.h"
#include "kernels/gemm/gemm.h"

/* Work space from the caller. A routine called with base NULL only adds up what it needs
 * in `used` and returns 0; called again with that many bytes at base, it runs. What LAPACK
 * answered to the query of its work space is kept, so that the second call, and those for
 * the other matrices of a batch (`used` back at 0), do not ask again. */
enum { SCRATCH_ANSWERS = 4 };
typedef struct ScratchAnswer {
    bool kept;
    int routine;                /* the row (blas.h) of the routine that was asked … */
    size_t at;                  /* … and how much was in use then */
    int work, rwork, iwork;
} ScratchAnswer;

typedef struct Scratch {
    char *base;
    size_t used;
    ScratchAnswer answers[SCRATCH_ANSWERS];
} Scratch;
void *scratch_take(Scratch *, size_t count, size_t bytes);

/* Threads that LAPACK itself should use for an order-n problem of this weight. */
typedef enum LapackWeight { LAPACK_LU, LAPACK_INVERSE, LAPACK_QR, LAPACK_SVD, LAPACK_EIGH,
                            LAPACK_EIG, LAPACK_SYTRD } LapackWeight;
void lapack_threads(Ctx *, const Blas *, LapackWeight, int64_t n);

/* ---- facts ---- */
/* Copies rows x cols elements between any strides, blocked so that neither side thrashes. */
void mat_copy(size_t bytes, int64_t rows, int64_t cols, Mat from, Mat to);
/* A square matrix becomes its transpose where it stands. */
void mat_turn(size_t bytes, int64_t n, void *data);
/* The lower half of a Hermitian n x n matrix (of a real one: symmetric), by columns; clear:
 * with zeros above the diagonal, which else stays as it is. Reads one half of `from`. */
void mat_copy_lower(BlasType, int64_t n, Mat from, void *to, bool clear);
/* Lower and upper bandwidth: 0, 0 is diagonal, kl = 0 upper triangular. */
void mat_bandwidth(BlasType, int64_t rows, int64_t cols, Mat, int64_t *kl, int64_t *ku);
/* Equal to its conjugate transpose. */
bool mat_is_hermitian(BlasType, int64_t n, Mat);
/* False if some element is NaN or infinite; *row and *col say which. */
bool mat_finite(BlasType, int64_t rows, int64_t cols, Mat, int64_t *row, int64_t *col);
/* Largest sum of magnitudes in a column (the norm of A as an operator on 1-norms). */
double mat_norm1(BlasType, int64_t rows, int64_t cols, Mat);
/* Element as a double: its real part, its magnitude. */
double mat_real(BlasType, const void *data, int64_t i);
double mat_abs(BlasType, const void *data, int64_t i);
/* |x[p] - conj(x[q])| */
double mat_gap(BlasType, const void *data, int64_t p, int64_t q);
void mat_store(BlasType, void *data, int64_t i, double real, double imag);
void mat_conjugate(BlasType, void *data, int64_t n);
/* Every -0 becomes 0. */
void mat_plain_zeros(BlasType, void *data, int64_t n);
double mat_eps(BlasType);

/* ---- routines ---- */
int lapack_lu(const Blas *, BlasType, int64_t m, int64_t n, void *a, int *pivots);
int lapack_lu_solve(const Blas *, BlasType, char trans, int64_t n, int64_t nrhs, const void *lu,
                    const int *pivots, void *b);
/* 1 / condition number in the 1-norm, estimated; anorm is the norm of the matrix itself
 * ('1' or 'I', which is the 1-norm of the transposed). */
double lapack_lu_rcond(const Blas *, BlasType, char norm, int64_t n, const void *lu, double anorm,
                       Scratch *);
int lapack_lu_inverse(const Blas *, BlasType, int64_t n, void *lu, const int *pivots, Scratch *);
int lapack_band(const Blas *, BlasType, int64_t n, int64_t kl, int64_t ku, void *ab, int *pivots);
int lapack_band_solve(const Blas *, BlasType, int64_t n, int64_t kl, int64_t ku, int64_t nrhs,
                      const void *ab, const int *pivots, void *b);
double lapack_band_rcond(const Blas *, BlasType, int64_t n, int64_t kl, int64_t ku, const void *ab,
                         const int *pivots, double anorm, Scratch *);
int lapack_cholesky(const Blas *, BlasType, char uplo, int64_t n, void *a);
/* Of the lower factor: the lower half of the inverse. */
int lapack_cholesky_inverse(const Blas *, BlasType, int64_t n, void *a);
int lapack_cholesky_solve(const Blas *, BlasType, char uplo, int64_t n, int64_t nrhs,
                          const void *a, void *b);
double lapack_cholesky_rcond(const Blas *, BlasType, char uplo, int64_t n, const void *a,
                             double anorm, Scratch *);
int lapack_triangle_solve(const Blas *, BlasType, char uplo, char trans, int64_t n, int64_t nrhs,
                          const void *a, int64_t lda, void *b, int64_t ldb);
double lapack_triangle_rcond(const Blas *, BlasType, char uplo, int64_t n, const void *a,
                             int64_t lda, Scratch *);
int lapack_qr(const Blas *, BlasType, int64_t m, int64_t n, void *a, void *tau, Scratch *);
int lapack_qr_pivoted(const Blas *, BlasType, int64_t m, int64_t n, void *a, int *pivots,
                      void *tau, Scratch *);
/* Turns the reflectors in a (m x k) into the first `cols` columns of Q, in place. */
int lapack_qr_form(const Blas *, BlasType, int64_t m, int64_t cols, int64_t k, void *a,
                   const void *tau, Scratch *);
/* C := Q C or Q' C (trans 'N' or 'C'; real types take 'C' as 'T'). */
int lapack_qr_apply(const Blas *, BlasType, char trans, int64_t m, int64_t nrhs, int64_t k,
                    const void *a, const void *tau, void *c, Scratch *);
/* Least-norm solution of the wide full-rank m x n system A x = b; b has n rows, of which the
 * first m hold the right sides. A is destroyed. */
int lapack_least_norm(const Blas *, BlasType, int64_t m, int64_t n, int64_t nrhs, void *a,
                      void *b, Scratch *);
/* job 'N': values only; 'S': thin; 'A': full. s is real of a's precision. a is destroyed. */
int lapack_svd(const Blas *, BlasType, char job, int64_t m, int64_t n, void *a, void *s, void *u,
               void *vt, Scratch *);
/* Ascending values in w (real); with vectors, they replace a. uplo: the half that is read. */
int lapack_eigh(const Blas *, BlasType, bool vectors, char uplo, int64_t n, void *a, void *w,
                Scratch *);
/* w and v (NULL: no vectors) are complex of a's precision also for a real; *real says
 * whether all values are. a is destroyed. */
int lapack_eig(const Blas *, BlasType, int64_t n, void *a, void *w, void *v, bool *real,
               Scratch *);
/* What its real form leaves as complex numbers: values from their parts (are all real?), vectors
 * from pairs of columns. */
bool lapack_pair_values(BlasType, int64_t n, const void *wr, const void *wi, void *w);
void lapack_unpack_vectors(BlasType, int64_t n, const void *wi, const void *packed, void *v);
/* The pencil A - x B by QZ: values alpha / beta, right and left vectors (NULL: none), all
 * complex of a's precision. a and b are destroyed. */
int lapack_pencil(const Blas *, BlasType, int64_t n, void *a, void *b, void *alpha, void *beta,
                  void *right, void *left, bool *real, Scratch *);

#endif
