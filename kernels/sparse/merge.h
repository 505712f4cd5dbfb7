/* Two sparse matrices of one shape, entry by entry. */
#ifndef RICCI_KERNELS_SPARSE_MERGE_H
#define RICCI_KERNELS_SPARSE_MERGE_H

#include "kernels/sparse/sparse.h"

/* Of every entry of `pattern`, which entry of a and of b it is, or -1: sparse_gather makes values
 * of any dtype of that. All three are in `made`. */
typedef struct SparseMerge { Tensor *pattern, *from_a, *from_b; } SparseMerge;
typedef enum MergeKind { MERGE_UNION, MERGE_INTERSECTION } MergeKind;
SparseMerge csr_merge(Ctx *, Made *, const Csr *a, const Csr *b, MergeKind);

/* For each entry of `at` the place of the entry that `of` has there, or -1: i64, in `made`. */
Tensor *sparse_places(Ctx *, Made *, const Csr *at, const Csr *of);

/* One pass for matrices of f32, f64, c64 or c128, both of one dtype: sums and differences where
 * either has an entry, products where both have one. What cancels stays as an entry. Ends
 * `made`. */
typedef enum MergeOp { MERGE_ADD, MERGE_SUBTRACT, MERGE_MULTIPLY } MergeOp;
Tensor *csr_combine(Ctx *, Made *, const Csr *a, const Csr *b, MergeOp);

/* The values of two matrices of one shape at the places where either has an entry, 0 where one has
 * none: two vectors, the caller's. */
void sparse_aligned(Ctx *, const Sparse *a, const Sparse *b, Tensor *value[2]);

/* The Kronecker product: entry from_a of a times entry from_b of b. */
SparseMerge csr_kron(Ctx *, Made *, const Csr *a, const Csr *b);

#endif
