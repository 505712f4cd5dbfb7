/* Parts of sparse matrices, and matrices put together of others. All give a pattern, and for every
 * entry of it the place of its value among the values that there are: sparse_gather moves those, of
 * any dtype. Results are in `made`; `group` is NULL. */
#ifndef RICCI_KERNELS_SPARSE_SELECT_H
#define RICCI_KERNELS_SPARSE_SELECT_H

#include "kernels/sparse/sparse.h"

/* Rows or columns by their numbers, in any order, also more than once; list = NULL: `count` of them
 * from `first` on by `step`, which is not 0. All are within bounds. */
typedef struct Choice { const int64_t *list; int64_t first, step, count; } Choice;

/* Entry (i, j) is a's entry (rows[i], columns[j]); NULL: all of them. */
SparseOrder csr_select(Ctx *, Made *, const Csr *a, const Choice *rows, const Choice *columns);
/* The entries k for which keep[k] is not 0. */
SparseOrder csr_kept(Ctx *, Made *, const Csr *, const uint8_t *keep);
/* Those on the diagonal k and below it (lower), or above it. */
SparseOrder csr_triangle(Ctx *, Made *, const Csr *, int64_t k, bool lower);
/* Of each place of the diagonal k (k > 0: above the main one), which entry it is, or -1. */
Tensor *csr_diagonal(Ctx *, Made *, const Csr *, int64_t k);
/* Of count places within bounds, which entry each is, or -1. */
Tensor *csr_find(Ctx *, Made *, const Csr *, const int64_t *row, const int64_t *column,
                 int64_t count);

/* A matrix of down x across blocks, given row by row; those beside each other have as many rows,
 * those below each other as many columns; one without `start` has no entries. Values count through
 * the blocks in the order given. */
SparseOrder csr_blocks(Ctx *, Made *, int64_t down, int64_t across, const Csr *block);

/* Every place of rows x columns in an m x n matrix as an entry, of the value at
 * place i*columns.count + j; of equal places the last. What is stored there replaces: a union with
 * it (csr_merge) has the new value where there is one. */
SparseOrder csr_places(Ctx *, Made *, int64_t m, int64_t n, const Choice *rows,
                       const Choice *columns);
/* Of places that are sorted (sparse_sort) the last of each: what repeated stores leave. */
Tensor *sparse_last(Ctx *, Made *, const SparseOrder *);

#endif
