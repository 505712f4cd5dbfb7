/* Factorizations of sparse matrices as values, which rows that solve share. */
#ifndef RICCI_BUILTINS_SPARSE_FACTOR_H
#define RICCI_BUILTINS_SPARSE_FACTOR_H

#include "builtins/sparse/sparse.h"
#include "kernels/elimination/elimination.h"

/* The dtype that a call computes in, of operand 0 and, where there is one, of `other`: their
 * promotion (f32 for solutions of 16 bits), or the format of the scope. DT_NONE: no
 * sparse factorization is of such numbers. */
DType sparse_factor_dtype(OpCall *, const Tensor *other);
/* What operand 0 is factored as in this dtype: kept where it came from factorize (*kept), else
 * rooted for this call. Of another method than the best one never kept. */
Elimination *sparse_factor(OpCall *, DType, EliminationMethod, bool *kept);
/* ordering=, a parameter by that name of the call's row; ORDERING_ANY: there is none, or it was not
 * given. */
EliminationOrdering arg_ordering(OpCall *);

_Noreturn void sparse_singular(OpCall *, const Elimination *);
/* One notice where few digits of `what` can be trusted; one where SuiteSparse would have been much
 * faster. */
void sparse_factor_notice(OpCall *, Elimination *, const char *what);
/* What `explain` tells of it; b and x of the first column, NULL: nothing was solved. */
void sparse_factor_explain(OpCall *, Elimination *, bool kept, int64_t columns, const void *b,
                           const void *x);

#endif
