/* Vectors and matrices from their elements (literal.c). */
#ifndef RICCI_INTERP_LITERAL_H
#define RICCI_INTERP_LITERAL_H

#include "interp/state/interp.h"

/* Literals: a vector of values, a matrix of rows (blocks). weak[i]: element i is a numeric
 * literal (or pi, inf, nan), which adapts to the others; NULL: none is. */
Value build_vector(Interp *, const Value *items, int n);
Value build_vector_weak(Interp *, const Value *items, const bool *weak, int n);
Value build_matrix_weak(Interp *, const Value *items, const bool *weak, const int *row_lengths, int rows);

#endif
