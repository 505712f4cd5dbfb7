/* Sparse matrices in files: their entries put in order, checked, and how they are kept in .npz. */
#ifndef RICCI_BUILTINS_FILES_SPARSE_H
#define RICCI_BUILTINS_FILES_SPARSE_H

#include "builtins/stored/files_zip.h"
#include "kernels/sparse/sparse.h"

/* Entries row[k], column[k] (i64, within bounds) of an m x n matrix, in any order; those at one
 * place are added. Rooted. */
Tensor *entries_matrix(OpCall *, int64_t m, int64_t n, const Tensor *row, const Tensor *column,
                       const Tensor *value, int64_t count);
/* Raises where the starts of so many rows take more than a quarter of the memory, or more than a
 * file of so many bytes is trusted with. */
void rows_checked(OpCall *, const char *path, int64_t m, int64_t file);
/* The quarter for a dense matrix of so many bytes: the error offers sparse=true. */
void dense_checked(OpCall *, const char *path, int64_t m, int64_t n, double bytes);

/* Entries are f32, f64, c64 or c128: what those of dt become. */
DType entry_dtype(DType dt);
/* The sparse matrix that the members of an archive are, as SciPy writes them, rooted; NULL: they
 * are ordinary tensors. */
Tensor *npz_load_sparse(const Bytes *, ZipReader);
/* One matrix in a file of its own. */
void mtx_save_sparse(OpCall *, const char *path, const Sparse *);
void npz_save_sparse(OpCall *, const char *path, const Sparse *, const char *as);

#endif
