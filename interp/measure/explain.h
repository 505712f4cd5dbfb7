/* `explain`: the statement and the expression, and the formula of one (explain.c, latex.c). */
#ifndef RICCI_INTERP_EXPLAIN_H
#define RICCI_INTERP_EXPLAIN_H

#include "interp/state/wing.h"
#include "interp/op/heard.h"
#include "interp/state/exec.h"

/* `explain as latex …`: the formula, nothing is run (latex.c). */
const Exec *lower_latex(Lower *, const Node *);
const Exec *lower_profile(Lower *, const Node *);            /* profile.c */
const Exec *lower_timeit(Lower *, const Node *);             /* timeit.c */

extern const Wing wing_measure;

#endif
