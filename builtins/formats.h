/* Forms of rows in a format (formats.def) and what their files share. */
#ifndef RICCI_BUILTINS_FORMATS_H
#define RICCI_BUILTINS_FORMATS_H

#include "interp/precise.h"

#define FORMAT(row, run) Value op_format_##run(OpCall *, Scope *);
#include "builtins/formats.def"
#undef FORMAT

/* A row in the accumulator's arithmetic, where no fast kernel does it. */
typedef Value (*FormatInOrder)(OpCall *, Precise *);
/* Sums of a row: the ordinary kernels where the scope lets them, else `run`. `whole`: ints are
 * converted to the format, too; otherwise a call on ints alone stays exact. */
Value format_accumulate(OpCall *, Scope *, bool whole, FormatInOrder run);
/* Operand i in carriers of the accumulator, contiguous, rounded to the format first. Rooted. */
Tensor *format_summands(OpCall *, Precise *, Tensor *);
/* Frees numbers that were made on the way: only where every element at hand is in a rooted tensor. */
static inline void format_collect(OpCall *c)
{
    if (c->in->ctx.rationals)
        rational_collect(&c->in->ctx);
}
/* Sums in carriers of the accumulator, as a result of the format; t is on the value stack. */
Value format_sums(OpCall *, Precise *, Tensor *t);
/* A formula written with rows runs in the accumulator's format between these two; what format_leave
 * returns is rounded to p's format. */
void format_enter(OpCall *, Precise *, Scope *inner);
Value format_leave(OpCall *, Precise *, Scope *inner, Value rooted);
/* A row on n values (its parameters in order), rooted. */
Value format_row(OpCall *, const char *name, int n, ...);
Value format_axes(OpCall *, uint64_t axes);            /* axis=(…) */
bool format_all_whole(const OpCall *);                  /* no argument has a fraction */
/* x contiguous with the axes of the mask last; as one axis; with its last axis at `axis`. Rooted.
 */
Tensor *format_axes_last(OpCall *, Tensor *x, uint64_t axes);
Tensor *format_flat(OpCall *, Tensor *x);
Tensor *format_axis_back(OpCall *, Tensor *x, int axis);
/* Raises ERR_DTYPE: the row has no meaning in this format. */
_Noreturn void format_refuse(OpCall *, DType format);
bool format_is_binary(DType);

#endif
