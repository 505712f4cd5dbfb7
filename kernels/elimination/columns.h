/* Matrices as this room works on them: compressed columns with sorted rows. */
#ifndef RICCI_KERNELS_ELIMINATION_COLUMNS_H
#define RICCI_KERNELS_ELIMINATION_COLUMNS_H

#include "kernels/elimination/elimination.h"
#include "kernels/elimination/hold.h"

typedef struct Columns {
    int64_t m, n;
    int64_t *start, *row;
    void *value;                 /* NULL: a pattern */
    size_t each;                 /* bytes of a value */
} Columns;

/* Compressed rows turned to columns; value NULL: the pattern alone. Of an m x n matrix. */
Columns columns_of(Hold *, int64_t m, int64_t n, const int64_t *start, const int64_t *column,
                   const void *value, size_t each);
/* The pattern of A + A' without its diagonal. */
Columns columns_sum(Hold *, const Columns *);
/* That of A'A without its diagonal, rows of more than `most` entries left out; start NULL: it would
 * have more than `room` entries. */
Columns columns_square(Hold *, const Columns *, int64_t most, int64_t room);

/* ---- orders (order.c, degree.c) ---- */
/* All of them: order[k] is what comes at place k, of a symmetric pattern without diagonal. */
void order_degree(Hold *, const Columns *, int64_t *order);
void order_cuthill(Hold *, const Columns *, int64_t *order);
void order_dissection(Hold *, const Columns *, int64_t *order);
void order_natural(int64_t n, int64_t *order);
void order_inverse(int64_t n, const int64_t *order, int64_t *place);

/* ---- the elimination tree (order.c) ---- */
/* parent[k] of the upper triangle of a symmetric matrix (columns k have rows <= k; others are
 * skipped), or of A'A; -1: a root. */
void tree_of(Hold *, const Columns *, bool square, int64_t *parent);
void tree_post(Hold *, int64_t n, const int64_t *parent, int64_t *post);
/* Row k of L, without its diagonal, in an order in which it may be computed: reach[top .. n - 1].
 * mark has n entries, < k before the first k. */
int64_t tree_reach(const Columns *, int64_t k, const int64_t *parent, int64_t *mark,
                   int64_t *reach);

/* ---- what a matrix looks like (columns.c) ---- */
/* Is the square matrix triangular, its rows and columns in some order? Then e is made for it. */
bool shape_triangle(Elimination *, const Csr *, const Columns *);
bool shape_hermitian(const Csr *, const Columns *);      /* every element exactly */
bool shape_positive_diagonal(const Csr *);               /* all of it stored, real, and above 0 */

/* ---- what factors of any origin are told as (parts.c) ---- */
/* (re + i im) 2^exponent, scaled as EliminationDet says. */
EliminationDet parts_det(double re, double im, double exponent);
EliminationDet parts_times(EliminationDet, double re, double im);
EliminationDet parts_product(DType, const void *x, int64_t n);
double parts_spread(DType, const void *x, int64_t n);            /* the least size over the most */
bool parts_odd(Ctx *, int64_t n, const int64_t *order);          /* is it an odd permutation? */

/* The matrix of these columns, or with `rows` of these rows, which need not be sorted, and of a
 * diagonal beside them (NULL: of ones). */
Tensor *parts_triangle(Ctx *, DType, const Columns *, const void *diagonal, bool rows);
/* The matrix of these columns alone. */
Tensor *parts_matrix(Ctx *, DType, const Columns *);
Tensor *parts_order(Ctx *, int64_t n, const int64_t *order);

#endif
