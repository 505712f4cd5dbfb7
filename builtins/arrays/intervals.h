/* What other rooms ask of intervals. */
#ifndef RICCI_BUILTINS_INTERVALS_H
#define RICCI_BUILTINS_INTERVALS_H

#include "builtins/rows/rows.h"

/* Whether argument 0 lies in argument 1, intervals, element by element (it broadcasts to them). */
bool intervals_hold(OpCall *);

#endif
