/* `assert`: lowered here, so that one that compares two values can say what they were. */
#ifndef RICCI_INTERP_EVAL_ASSERT_H
#define RICCI_INTERP_EVAL_ASSERT_H

#include "interp/state/exec.h"

const Exec *lower_assert(Lower *, const Node *);

#endif
