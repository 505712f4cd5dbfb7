/* How near a computed value is to a reference: the relative error and the correct digits that
 * `compare` shows and `digits` gives. Measured in more bits than both values have. */
#ifndef RICCI_INTERP_ACCURACY_H
#define RICCI_INTERP_ACCURACY_H

#include "interp/state/interp.h"

/* error: |x - r| / |r| in the 2-norm over all elements, inf where an infinity or nan of one
 * faces something else in the other, or r is 0 and x is not. digits: -log10 of it, at least 0;
 * inf where x is r. */
typedef struct Accuracy {
    double error, digits;
} Accuracy;

/* Of numbers and tensors of one shape; of tuples the worst field; of texts, bools and anything
 * else 0 where they are equal, else inf. An interval counts by its farther end. */
Accuracy accuracy_of(Interp *, Value x, Value reference);

/* The normwise backward error of x as a solution of A x = b, |b - A x| / (|A| |x| + |b|) in the
 * Frobenius and 2-norm (Rigal and Gaches 1967); inf where something is not finite, nan where a
 * library is missing or the shapes are none of a system. Right sides in columns count as one. */
double accuracy_backward(Interp *, Value A, Value b, Value x);

/* Significant bits of numbers of the dtype, 53 where it does not say. */
int accuracy_bits(DType);

#endif
