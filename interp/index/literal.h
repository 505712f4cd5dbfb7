/* Vectors and matrices from their elements (literal.c; through the door: literal_make.c). */
#ifndef RICCI_INTERP_LITERAL_H
#define RICCI_INTERP_LITERAL_H

#include "interp/state/interp.h"

/* Literals: a vector of values, a matrix of rows (blocks). weak[i]: element i is a numeric
 * literal (or pi, inf, nan), which adapts to the others; NULL: none is. */
Value build_vector(Interp *, const Value *items, int n);
Value build_vector_weak(Interp *, const Value *items, const bool *weak, int n);
Value build_matrix_weak(Interp *, const Value *items, const bool *weak,
                        const int *row_lengths, int rows);
/* The same, through the door where an aspect of it is in force. */
Value literal_vector(Interp *, const Value *items, const bool *weak, int n);
Value literal_matrix(Interp *, const Value *items, const bool *weak,
                     const int *row_lengths, int rows);

#endif
