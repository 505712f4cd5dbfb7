/* Index notation as the text of a function of what stands in it: for graphs, which keep a notation
 * as what a user reads.
 *
 *   C[i,k] := A[i,j] * B[j,k]     (p0, p1) -> {
 *                                     C[i,k] := p0[i,j] * p1[j,k]
 *                                     C
 *                                 }
 */
#ifndef RICCI_INTERP_INDEXNOT_TEXT_H
#define RICCI_INTERP_INDEXNOT_TEXT_H

#include "interp/notation/indexnot.h"

/* The text for leaves of the notation's own at `base`; owned. Literals stand in it as they were
 * written, and operations and formats by their names; the others are parameters, in order. */
Value ix_text_of(Interp *, const IxSite *, const Value *base);
/* Is a function of the program called in it, or is it a part of another statement? Then it has no
 * such text: ix_forward_text has one. */
bool ix_text_inlines(const IxSite *, const Value *base);
/* Is leaf i a parameter of it? */
bool ix_text_takes(const IxSite *, const Value *base, int i);

#endif
