/* What dense factorisations are made of, by instruction set: panels of columns, and what a panel
 * does to the columns beside it. Matrices are by columns, `ld` elements apart. Each element is a
 * sum in the order of its products, wherever it lies: bits do not depend on how the work is
 * shared. */
#ifndef RICCI_KERNELS_DENSE_KERNELS_H
#define RICCI_KERNELS_DENSE_KERNELS_H

#include "kernels/blas/blas.h"

/* A panel of a reduction to Hessenberg form: columns k … k + width - 1 of n, of which rows
 * k + 1 … k + m. The reflectors are v, ld apart, with ones and zeros; the product of those up to
 * now is I - v t v', and y = A v t of the matrix as the panel found it, n apart. */
enum { HESS_WIDTH = 32 };
typedef struct HessPanel {
    int64_t n, k, m, width, ld, j;       /* j: the column at hand */
    void *a, *tau, *v, *t, *y;
    void *minus, *row;                   /* what column j needs of y, and the next one; negated */
} HessPanel;

/* The widest panel, and the widest part of it that is made column by column. */
enum { DENSE_WIDTH_MOST = 192, DENSE_NARROW = 8 };

typedef struct DenseKernels {
    int64_t rows, cols;          /* of a packed sliver of what stands on the left, on the right */
    /* LU of m x n, m >= 1, n <= DENSE_WIDTH_MOST: the rows that were exchanged, from 1 on; returns
     * the first column without a pivot, from 1 on, or 0. room: packed
     * m x n, and n x n. */
    int (*lu_panel)(int64_t m, int64_t n, void *a, int64_t ld, int *pivots, void *room);
    /* Exchanges row i with row pivots[i] - 1 for from <= i < to, in n columns. */
    void (*exchange)(int64_t n, void *a, int64_t ld, const int *pivots, int64_t from, int64_t to);
    /* m x k as slivers of `rows` rows, the last one filled up with zeros. */
    void (*pack)(int64_t m, int64_t k, const void *a, int64_t ld, void *out);
    /* To m x n columns c what the panel of k columns did to its own: rows exchanged, the upper k
     * divided by the triangle l, their products with the packed rest taken from the others.
     * pivots NULL: none are exchanged. room: k x n, up to whole slivers. */
    void (*lu_update)(int64_t m, int64_t n, int64_t k, const void *l, const void *packed, void *c,
                      int64_t ld, const int *pivots, void *room);
    /* To m + k rows of c: the last k divided by the upper triangle u, their products with the
     * packed m x k above it taken from the others. room: the same. */
    void (*back_update)(int64_t m, int64_t n, int64_t k, const void *u, const void *packed, void *c,
                        int64_t ld, void *room);
    /* Cholesky of the upper n rows of m x n, by columns, and the rows below divided by it; returns
     * the first column that is not positive, from 1 on, or 0. What is above the diagonal is
     * lost. */
    int (*cholesky_panel)(int64_t m, int64_t n, void *a, int64_t ld, void *room);
    /* c (m x n) -= packed (m x k) times rows' (n x k). room: k x n, up to whole slivers. */
    void (*rank_update)(int64_t m, int64_t n, int64_t k, const void *packed, const void *rows,
                        void *c, int64_t ld, void *room);
    /* QR of m x n, m >= n: R above, the reflectors below the diagonal as geqrf leaves them, and
     * n x n numbers `turn` that stand for their products (dense_qr.tmpl.h). */
    void (*qr_panel)(int64_t m, int64_t n, void *a, int64_t ld, void *tau, void *turn, int64_t lt,
                     void *room);
    /* The reflectors of m x k as operands: m x k up to whole slivers each. */
    void (*qr_pack)(int64_t m, int64_t k, const void *v, int64_t ld, void *columns, void *rows);
    /* m x n numbers c as those reflectors turn them, one after the other or back. */
    void (*qr_update)(int64_t m, int64_t n, int64_t k, const void *columns, const void *rows,
                      const void *turn, int64_t lt, const void *tau, bool back, void *c, int64_t ld,
                      void *room);
    /* Bytes of the room of qr_update, or of qr_panel. */
    size_t (*qr_room)(int64_t m, int64_t n, int64_t k, bool panel);
    /* Column j: its reflector; and then rows of y and of the next column, from row k + 1 on. */
    void (*hess_column)(HessPanel *);
    void (*hess_rows)(const HessPanel *, int64_t from, int64_t to);
} DenseKernels;

extern const DenseKernels dense_s_avx2, dense_d_avx2, dense_s_avx512, dense_d_avx512;

#endif
