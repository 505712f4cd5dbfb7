/* Code that knows of precision scopes: the scopes themselves, and the nodes of what runs inside
 * them. Code is lowered for the inside of a scope (Lower.scoped) where it stands in one, and a
 * second time, when it is first called there, where it is a function's. Such code computes
 * nothing by itself but with ints and bools: all else goes through the door, which asks the
 * scope; literals are read from their text in the scope's format. */
#ifndef RICCI_INTERP_EVAL_SCOPE_H
#define RICCI_INTERP_EVAL_SCOPE_H

#include "interp/state/exec.h"
#include "interp/state/scope.h"

/* ---- scopes ---- */
const Exec *lower_scope(Lower *, const Node *);
/* Is n the header of a scope, PRECISION or AUTOCAST? */
bool scope_has_header(const Node *);
/* A header alone (its block is not looked at), or any operand that is a format.
 * Reading evaluates it in the scope around, checks it, opens what its arithmetic needs, and
 * draws the seed; raises at the header. */
const Exec *lower_scope_header(Lower *, const Node *);
void scope_header_read(Interp *, const Exec *header, Scope *);

/* ---- what runs inside ---- */
const Exec *lower_scoped_number(Lower *, const Node *, bool negative);   /* FLOAT, IMAG */
/* An INT of more than 64 bits: a number in rational, decimal and mp; elsewhere `raise` runs. */
const Exec *lower_scoped_large(Lower *, const Node *, bool negative, const Exec *raise);
/* x reads a global name that is pi, inf or nan while no variable has it. */
void scoped_constant(Lower *, Exec *x, const Name *);
void lower_binary_scoped(Exec *x);                        /* a, b, data: the operation */
Value eval_unary_scoped(Interp *, const Exec *);
Value eval_opassign_scoped(Interp *, const Exec *);       /* as the nodes of eval_assign.c */
/* What a literal, or pi, inf or nan, is in the scope that is open; false: x is none, or no real
 * number of f64, f32, f16 or bf16. */
bool scoped_number(Interp *, const Exec *x, double *out);
/* a op b of ints or bools where that is exact and an int or bool; false: the door's. */
bool scoped_ints(int op, Value a, Value b, Value *out);

/* The code of a function as it runs in a scope. */
const FnCode *code_scoped(Interp *, const Function *);

#endif
