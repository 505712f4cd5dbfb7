/* What NumPy, SciPy, MATLAB, Julia and PyTorch call what Ricci has under another name: the
 * text of a `help:` line, or NULL. Called where an error about a name is made. */
#ifndef RICCI_INTERP_PEERS_H
#define RICCI_INTERP_PEERS_H

#include "interp/optable.h"

/* An undefined name: `cholesky`. */
const char *peer_name(const char *name);
/* A parameter that `op` does not have: svd(A, full_matrices=false). */
const char *peer_parameter(const OpSig *sig, const char *op, const char *given);

#endif
