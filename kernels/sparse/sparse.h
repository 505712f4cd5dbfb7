/* Sparse matrices. A tensor of rank 2 may have, in place of elements, its entries: compressed rows
 * with sorted columns. They stand behind its buffer as a Residence does, so that to all who ask for
 * elements it is one more tensor whose elements are still to be made: tensor_home and tensor_settle
 * make it dense, where it stands, and as a last resort; whoever knows of sparsity asks
 * tensor_sparse first. Patterns are shared (two matrices may hold the same start and column) and
 * never written once a tensor has them; values where nobody else holds them nor the tensor.
 *
 * Positions are 64-bit. An entry may be 0: it stays until it is pruned. */
#ifndef RICCI_KERNELS_SPARSE_H
#define RICCI_KERNELS_SPARSE_H

#include "kernels/device/device.h"

/* A matrix in compressed rows, for kernels; the arrays are somebody else's. */
typedef struct Csr {
    int64_t m, n, entries;
    const int64_t *start;       /* m + 1: row i is [start[i], start[i + 1]) */
    const int64_t *column;      /* rising within a row: each place once */
    const void *value;          /* of dtype, one after the other */
    DType dtype;
} Csr;

/* Behind Buffer.device. Both are contiguous vectors. */
typedef struct Sparse {
    Residence base;             /* first, where tensor.h looks for it */
    Tensor *head;               /* the one tensor of its buffer; borrowed */
    Tensor *pattern;            /* i64: the m + 1 starts of rows, then the columns */
    Tensor *value;              /* of any dtype, one for each column */
} Sparse;

extern const ResidenceOps sparse_ops;

/* Its entries; NULL: it is an ordinary tensor. */
static inline Sparse *tensor_sparse(const Tensor *t)
{
    return __builtin_expect(t->buffer && t->buffer->device, 0) &&
           buffer_residence(t->buffer) == &sparse_ops ? t->buffer->device : NULL;
}
Csr sparse_csr(const Sparse *);
/* The place of the entry in row i, column j, or -1. */
int64_t csr_entry(const Csr *, int64_t i, int64_t j);

/* ---- what a kernel has made so far (made.c): released where it raises ---- */
enum { MADE_MAX = 20 };
typedef struct Made { Tensor *tensor[MADE_MAX]; int count; } Made;      /* begins as { 0 } */
/* A new vector. Raises ERR_MEMORY after it released all of them. */
Tensor *made_vector(Ctx *, Made *, DType, int64_t n);
Tensor *made_tensor(Ctx *, Made *, DType, int rank, const int64_t *shape);
Tensor *made_copy(Ctx *, Made *, const Tensor *);       /* contiguous; its elements are at home */
Tensor *made_transposed(Ctx *, Made *, Tensor *);       /* a view */
/* m + 1 starts, all 0, and room for the columns of so many entries. */
Tensor *made_pattern(Ctx *, Made *, int64_t m, int64_t entries);
static inline int64_t *made_ints(Tensor *t) { return (int64_t *)t->data; }
void made_poll(Ctx *, Made *);          /* Ctrl-C was pressed: releases, raises */
Tensor *made_take(Made *, Tensor *);    /* it is the caller's from now on */
void made_drop(Ctx *, Made *, Tensor *);        /* was only needed in between */
void made_end(Ctx *, Made *);           /* releases those that nobody took */

/* ---- making (sparse.c) ---- */
/* Raises for a shape that no sparse matrix has, before anything of it is counted: ERR_VALUE where
 * it is negative, ERR_MEMORY where its rows' starts or its elements cannot be counted. */
void sparse_check_shape(Ctx *, int64_t m, int64_t n);
/* An m x n tensor of these entries; takes both references, also where it raises. */
Tensor *sparse_new(Ctx *, int64_t m, int64_t n, Tensor *pattern, Tensor *value);
/* The same of what was made; releases all else. */
Tensor *sparse_made(Ctx *, Made *, int64_t m, int64_t n, Tensor *pattern, Tensor *value);
/* One with s's pattern, shared, and other values (retained): as many as it has entries. */
Tensor *sparse_like(Ctx *, const Sparse *s, Tensor *value);
/* Bytes of its elements if it were dense; INT64_MAX where they cannot be counted. */
int64_t sparse_dense_bytes(const Tensor *);
/* A new dense tensor of its elements; raises ERR_MEMORY as tensor_zeros does. */
Tensor *sparse_to_dense(Ctx *, const Sparse *);
/* The same for somebody who has no form for entries, `what` ("exp", "index notation"): ERR_MEMORY
 * above a quarter of the memory, below a notice with the bytes, once for each `what`. */
Tensor *sparse_densified(Ctx *, const Sparse *, const char *what);
/* The entries of a dense matrix that are not 0 (-0 is 0, nan is not); its elements are at home. */
Tensor *sparse_of_dense(Ctx *, Tensor *);

/* ---- order (sparse_sort.c) ---- */
/* Entries row[k], column[k] of an m x n matrix, in any order, within its bounds: sorted. order has
 * the place k of each, equal places after one another as they were; group[e] (entries + 1 of them)
 * is where in order the places of the merged entry e begin. All three are in `made`. */
typedef struct SparseOrder { Tensor *pattern, *order, *group; } SparseOrder;
SparseOrder sparse_sort(Ctx *, Made *, int64_t m, int64_t n, const int64_t *row,
                        const int64_t *column, int64_t count);
/* The pattern of the transposed matrix; entry k of it is the matrix's entry order[k]. In `made`;
 * values move as they are: no conjugation. */
SparseOrder sparse_turned(Ctx *, Made *, const Csr *);
/* Is it, entry by entry, its own transpose, or (conj) its own adjoint? False as well where only
 * stored zeros part them, and of dtypes but the four. */
bool sparse_mirrored(Ctx *, const Csr *, bool conj);
/* to[k] = from[at[k]] for n elements of so many bytes; at[k] < 0: 0. */
void sparse_gather(Ctx *, char *to, const char *from, const int64_t *at, int64_t n, size_t each);
/* The same, but what is at[k] < 0 stays as it is. */
void sparse_gather_over(Ctx *, char *to, const char *from, const int64_t *at, int64_t n,
                        size_t each);
/* n pairs of a key, which is at most `most` and not negative, and what goes along with it, by keys,
 * equal ones as they were; `room` is for as many. */
void sparse_sort_pairs(int64_t *pair, int64_t *room, int64_t n, int64_t most);
/* The same for keys that are distinct, in place. */
void sparse_sort_row(int64_t *key, int64_t *with, int64_t n);

#endif
