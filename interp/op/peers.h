/* What NumPy, SciPy, MATLAB, Julia and PyTorch call what Ricci has under another name: the
 * text of a `help:` line, an example with names of its own, or NULL. Called where an error about
 * a name is made. */
#ifndef RICCI_INTERP_PEERS_H
#define RICCI_INTERP_PEERS_H

#include "interp/state/interp.h"
#include "interp/op/optable.h"
#include "parser/foreign/foreign.h"

/* An undefined name: `cholesky`. */
const char *peer_name(const char *name);
/* The same of the last name in `.linalg.cond`, what stands behind the name of a module. */
const char *peer_member(const char *text, size_t len);
/* A parameter that `op` does not have: svd(A, full_matrices=false). */
const char *peer_parameter(const OpSig *sig, const char *op, const char *given);
/* The user's statement around offset `at` of the error's source as it is written here, as its
 * help; false, and nothing is changed, where that is not known. */
bool peer_translate(Interp *, Error *, ForeignWhat, uint32_t at);
/* The same at the bracket that opens the call in which the error is. */
bool peer_translate_call(Interp *, Error *, ForeignWhat, const Node *call);

#endif
