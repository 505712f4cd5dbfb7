/* Rows of lost digits: arguments are read here, interp/digits does the rest. */
#include "builtins/rows/rows.h"
#include "interp/digits/digits.h"

Value op_run_shadow(OpCall *c)
{
    return shadow_run(c, 0, 1, 2);
}
