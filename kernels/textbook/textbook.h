/* Linear algebra as textbooks have it, in any format: every operation of an algorithm is one
 * operation of kernels/arith/arith.h, rounded once, in an order that is written down here and does
 * not depend on threads or sizes.
 *
 * Orders. Triangular solves and factorisations eliminate unknown by unknown, first to last:
 * a[i][j] = a[i][j] - l[i][k] u[k][j] for k ascending; back substitution subtracts u[i][j] x[j]
 * for j ascending (Higham, Accuracy and Stability, algorithm 8.1). Inner products go from left
 * to right. An accumulator changes only these sums: s = fl_a(s - fl_a(l u)) from s = a[i][j] on,
 * rounded to the format once, when the sum is complete.
 *
 * mp numbers go this way too, not through FLINT's balls: what 200 bits do to an algorithm is
 * then what three digits do to it, bit for bit defined, and errors grow as the textbook says.
 *
 * Numbers are carriers (Arith.carrier); complex matrices are two planes of them, and complex
 * arithmetic is the textbook real formula. Errors: `status` keeps the first that is not OK, and
 * every operation after it does nothing, so that algorithms read as on paper. Everything lives
 * in rooms that the caller's function hands out: cells of the heap stay registered, and the
 * algorithms let the heap be collected at the edges of their outer loops. */
#ifndef RICCI_KERNELS_TEXTBOOK_H
#define RICCI_KERNELS_TEXTBOOK_H

#include "kernels/arith/arith.h"

/* Strides in carriers. im is NULL where numbers are real. */
typedef struct TextRow { char *re, *im; int64_t step; } TextRow;
typedef struct TextMat { char *re, *im; int64_t rows, cols, row, col; } TextMat;

enum { TEXT_CHUNKS = 40, TEXT_RING = 256, TEXT_STRIP = 256 };

/* Carriers of one arithmetic: blocks from the caller, used from first to last. */
typedef struct TextRoom {
    char *chunk[TEXT_CHUNKS];
    int64_t size[TEXT_CHUNKS], used;
    int current, count;
    char *strip;               /* four strips for complex products and sums */
} TextRoom;

typedef struct Textbook {
    Arith *f, *acc;            /* the format's; of inner products: f unless one was written */
    bool pairs;                /* numbers are complex */
    ArithStatus status;
    int64_t at;                /* where it happened: a pivot, a minor, an eigenvalue; from 0 */
    /* `count` zeroed carriers of that dtype that outlive the Textbook; may raise. */
    void *(*take)(void *owner, DType carrier, int64_t count);
    void *owner;
    TextRoom room[2];          /* of f, and of acc if it is another */
    char *ring;                /* scalars of formulas: a result lives for the next 255 */
    unsigned next;
    char *zero, *one, *half, *two;
    char *eps;                 /* from 1 to the next number; 0 where there is none */
} Textbook;

/* acc: f or another Arith. Takes rooms. */
void textbook_begin(Textbook *, Arith *f, Arith *acc, bool pairs,
                    void *(*take)(void *owner, DType, int64_t), void *owner);
/* All matrices and vectors that were taken may be used again: between the items of a batch. */
void textbook_reset(Textbook *);
TextMat textbook_matrix(Textbook *, int64_t rows, int64_t cols, bool by_columns);   /* zeros */
TextRow textbook_vector(Textbook *, int64_t n);
/* Reads rows x cols numbers of dtype dt (any real one; complex ones into complex books) into M,
 * strides in elements; and writes M in the storage of f's dtype or its complex one. */
void textbook_load(Textbook *, TextMat M, DType dt, const char *x, int64_t rs, int64_t cs);
void textbook_store(Textbook *, char *to, int64_t rs, int64_t cs, TextMat M, bool pairs);

/* ---- elimination: textbook_lu.c ---- */
/* Partial pivoting by the first largest magnitude (|re| + |im| of complex numbers): M becomes
 * L \ U, row perm[i] of A is row i of L U. Returns the first column without a pivot, or -1. */
int64_t textbook_lu(Textbook *, TextMat M, int64_t *perm);
/* X becomes T^-1 X. The diagonal of a unit triangle is not looked at. */
void textbook_triangle(Textbook *, TextMat T, bool upper, bool unit, TextMat X);
/* The lower factor into the lower half of M, of which nothing else is looked at. Returns the
 * step at which a pivot was not positive, or -1. */
int64_t textbook_cholesky(Textbook *, TextMat M);
/* A = P L D L' P' of a symmetric or Hermitian matrix (Bunch and Kaufman's partial pivoting): M
 * becomes L below the diagonal and D; two[k]: D has a 2 x 2 block at k. */
void textbook_ldl(Textbook *, TextMat M, int64_t *perm, bool *two);
/* Gauss-Jordan elimination with partial pivoting; a column with nothing above `zero` (a real
 * carrier) in magnitude has no pivot. Returns the rank; pivots takes min(rows, cols) columns. */
int64_t textbook_rref(Textbook *, TextMat M, const char *zero, int64_t *pivots);
/* The product of the diagonal of L \ U, left to right, with the permutation's sign. */
void textbook_det(Textbook *, TextMat LU, const int64_t *perm, TextRow out);
bool textbook_odd(int64_t n, const int64_t *perm);      /* a permutation's sign is -1 */
bool textbook_is_triangle(const Textbook *, TextMat M, bool upper);

/* ---- elimination on entries: textbook_sparse.c ---- */
/* Row i has [start[i], start[i + 1]) at rising places; value: their carriers, one after another. */
typedef struct TextEntries { const int64_t *start, *at; TextRow value; } TextEntries;
/* A square matrix; its columns' entries are those of the rows at column_entry. */
typedef struct TextSparse {
    int64_t n;
    TextEntries rows;
    const int64_t *column_start, *column_row, *column_entry;
} TextSparse;
/* A triangle or two, whose values are in acc; it lives as long as the rooms. */
typedef struct TextFactors {
    int64_t n;
    TextEntries lower, upper;  /* without start: there is none */
    bool unit;                 /* the lower one's diagonal is 1 */
    TextRow pivot;             /* the other diagonal */
    const int64_t *order;      /* row order[i] of A is row i of L U; NULL: A is a triangle */
    double fill, terms;        /* entries in the factors; products that were subtracted */
} TextFactors;
/* As textbook_lu, in the same operations. always: triangles, too, which are else taken as they
 * are. Returns the first column without a pivot, or -1. */
int64_t textbook_sparse_factor(Textbook *, const TextSparse *, bool always, TextFactors *);
/* Of factors that were made with `always`. */
bool textbook_sparse_odd(Textbook *, const TextFactors *);
void textbook_sparse_det(Textbook *, const TextFactors *, TextRow out);
void textbook_sparse_solve(Textbook *, const TextFactors *, TextMat X);     /* X becomes A^-1 X */

/* ---- products and norms: textbook.c ---- */
void textbook_product(Textbook *, TextMat C, TextMat A, TextMat B);       /* k ascending */
/* sqrt(|x0|^2 + |x1|^2 + …); where that left the range of a binary format, again on the numbers
 * times a power of two. A real carrier. */
void textbook_norm2(Textbook *, char *out, TextRow x, int64_t n);

/* ---- orthogonal factors: textbook_qr.c ---- */
/* Householder: R in the upper half of M; reflection k is 1 - tau[k] v v', v = (1, what lies
 * below the diagonal). tau: min(rows, cols). */
void textbook_qr(Textbook *, TextMat M, TextRow tau);
/* C becomes Q' C, or Q C: reflections one by one. */
void textbook_qr_apply(Textbook *, TextMat QR, TextRow tau, bool transposed, TextMat C);
/* H = Q' M Q in M, Q orthogonal; Q.re NULL: it is not wanted. */
void textbook_hessenberg(Textbook *, TextMat M, TextMat Q);

/* ---- eigenvalues: textbook_jacobi.c, textbook_eig.c ---- */
/* Cyclic Jacobi of a symmetric or Hermitian M, which is spoilt; V.re NULL: no vectors. Ascending.
 * ARITH_DIVERGED after 60 sweeps. */
void textbook_eigh(Textbook *, TextMat M, TextRow values, TextMat V);
/* One-sided Jacobi (Hestenes) of an M with rows >= cols: M becomes U, S descending (a real row),
 * V cols x cols, M = U S V'. Columns of U for singular values that are zero are completed to an
 * orthonormal set. V.re NULL: neither U nor V is wanted. */
void textbook_svd(Textbook *, TextMat M, TextRow S, TextMat V);
/* The columns of Q from `known` on become orthonormal to those before and each other. */
void textbook_complete(Textbook *, TextMat Q, int64_t known);
/* Hessenberg form and Francis's double-shift QR of a real M: M becomes quasi-triangular, Z
 * orthogonal with A = Z T Z'. values: re and im. Z.re NULL: only they are wanted.
 * ARITH_DIVERGED: eigenvalue `at` was not found. */
void textbook_schur(Textbook *, TextMat M, TextMat Z, TextRow values);
/* The same of a complex M: single-shift QR, M becomes triangular. */
void textbook_schur_complex(Textbook *, TextMat M, TextMat Z, TextRow values);
/* X becomes a square root of the complex triangular T (Björck and Hammarling); false: there is
 * none, since T is singular. */
bool textbook_triangle_root(Textbook *, TextMat T, TextMat X);
/* The square root with a real part that is not negative, by the textbook formulas. */
void text_root(Textbook *, TextRow out, TextRow x);
/* Unit eigenvectors as columns of V (complex planes where `values` has imaginary parts). */
void textbook_eigenvectors(Textbook *, TextMat T, TextMat Z, TextRow values, TextMat V);

/* ---- Fourier transforms: textbook_fft.c ---- */
/* What the transforms of one length share: roots of unity; m is not 0 where they are convolutions
 * of that length. It lives as long as the rooms. */
typedef struct TextFourier { int64_t n, m; TextRow roots, chirp, kernel; } TextFourier;
/* Into a book of complex numbers. wider: where angles are computed; NULL: the format has roots of
 * order 1, 2 and 4 alone, others are ARITH_INEXACT. */
void textbook_fourier(Textbook *, TextFourier *, int64_t n, Arith *wider);
/* out[k] = sum of x[j] exp(-2 pi i j k / n); inverse: with exp(2 pi i j k / n), not divided. */
void textbook_fft(Textbook *, const TextFourier *, TextRow out, TextRow x, bool inverse);

/* ---- intervals: textbook_interval.c ---- */
/* B becomes an enclosure of the solutions of all systems in A x = B. False: it was not found,
 * since a matrix in A is singular or nearly so; B is then as it was. */
bool textbook_enclose(Textbook *, TextMat A, TextMat B);
void textbook_enclose_det(Textbook *, TextMat A, char *out);

#endif
