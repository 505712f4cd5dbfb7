/* The slopes of an elementwise row, as its .gradient says them: a formula of the language for each
 * operand, parted by `;`, of the operands x, y, z and the result r; `-` where an operand has none.
 * With w in it a formula is the whole cotangent, and behind a ` | ` stands the tangent, of t: rows
 * that are not holomorphic. "step" instead of formulas: a step function. Read by interp/gradient,
 * which makes functions of them, and by interp/notation, which puts them into statements. */
#ifndef RICCI_INTERP_SLOPES_H
#define RICCI_INTERP_SLOPES_H

#include "interp/op/op.h"

#include <string.h>

typedef struct OpSlope {
    const char *text, *tangent;     /* into the row; tangent NULL: it is t times the slope */
    size_t len, tangent_len;
} OpSlope;

static inline bool op_steps(const Op *op)
{
    return op->gradient && strcmp(op->gradient, "step") == 0;
}
static inline bool op_has_slopes(const Op *op)
{
    return op->cls == OPC_EW && op->gradient && !op_steps(op);
}
/* False: the operand has none. */
bool op_slope(const Op *, int operand, OpSlope *);
/* Does a formula mention one of x, y, z, r, w, t? */
bool slope_mentions(const char *text, size_t len, char name);

#endif
