/* Subscripts of sparse matrices: a Selection speaks of places as offsets in a matrix that lies row
 * by row, and nobody needs to have its elements: offset = row * columns + column. */
#ifndef RICCI_INTERP_INDEX_SPARSE_H
#define RICCI_INTERP_INDEX_SPARSE_H

#include "interp/index/index_store.h"
#include "interp/sparse/sparse_door.h"
#include "kernels/sparse/select.h"

/* Are the subscripts two ints within the matrix? */
bool sparse_element(const Sparse *, const Sub *subs, int n, int64_t at[2]);
/* Is the selection's element (r, c) always the one at (rows[r], columns[c])? Lists are on the value
 * stack. */
bool sparse_lines(Interp *, const Selection *, int64_t columns, Choice *rows, Choice *across);
/* Row and column of each selected place, in order; on the value stack. */
typedef struct Places { const int64_t *row, *column; int64_t count; } Places;
Places sparse_chosen(Interp *, const Selection *, int64_t columns);
/* The selected elements into a dense row-major tensor. */
void sparse_pick_into(Interp *, const Sparse *, const Selection *, char *out);
/* Offsets of a bool matrix's true elements in a tensor of these strides, as a list on the value
 * stack. */
Tensor *sparse_mask_offsets(Interp *, const Sparse *mask, const int64_t *strides);

/* *slot[subs] = v where *slot is sparse. */
void store_to_sparse(Interp *, Value *slot, const Sub *subs, int n, Value v);
/* A dense tensor of the selection's shape, of a dtype that holds *slot's, stored. */
void store_sparse_elements(Interp *, Value *slot, const Selection *, Tensor *values);

#endif
