/* Exact elimination on integers, with GMP: the reduced row echelon form of an integer matrix
 * as fractions. Called by linalg_rref.c; never raises. GMP's own allocator is used, so the
 * caller asks exact_rref_bytes first whether the numbers can fit. */
#ifndef RICCI_KERNELS_EXACT_H
#define RICCI_KERNELS_EXACT_H

#include "kernels/tensor.h"

#include <gmp.h>
#include <signal.h>

/* Takes element (i, j) of a result, the fraction above / below with below > 0. */
typedef void ExactStore(void *to, int64_t i, int64_t j, mpz_srcptr above, mpz_srcptr below);

/* a is rows x cols, row-major; room is for rows * cols numbers that need not be initialised.
 * False: the interrupt flag was set, and nothing was stored. rank may be NULL. */
bool exact_rref(int64_t rows, int64_t cols, const int64_t *a, ExactStore *store, void *to,
                int64_t *rank, mpz_t *room, volatile sig_atomic_t *interrupt);
/* How much memory the numbers may take at most, from Hadamard's bound on minors; a NULL:
 * if no magnitude is above 1. */
double exact_rref_bytes(int64_t rows, int64_t cols, const int64_t *a);
/* The f64 nearest to above / below (below > 0), ties to even. */
double exact_nearest_f64(mpz_srcptr above, mpz_srcptr below);

#endif
