/* GMP, the library of big integers, opened when the first number needs it: one table of
 * entry points for the process (gmp.def). Fields have the names of gmp.h, so a call reads
 * `g->mpz_add(r, a, b)`. GMP cannot report that memory is spent: its allocations come from
 * gmp.c, which keeps a reserve and remembers, and callers ask gmp_spent() after each
 * operation, before they trust in the next one. Used by the kernels of rational, decimal and
 * mp numbers; MPFR allocates through it, too. */
#ifndef RICCI_KERNELS_GMP_H
#define RICCI_KERNELS_GMP_H

#include <gmp.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct Gmp {
#define ROUTINE(name) __typeof__(name) *name;
#include "kernels/rational/gmp.def"
#undef ROUTINE
} Gmp;

/* NULL if the library is missing; *why then says what to install. */
const Gmp *gmp_open(const char **why);
/* Before a run of operations: forgets what was spent, fills the reserve and sets how many
 * bytes this thread's numbers may take. False if there is no memory. */
bool gmp_begin(size_t limit);
/* Gives the reserve back; the next gmp_begin takes a new one. */
void gmp_end(void);
/* Memory ran out, or past the limit, since gmp_begin: results are right, but stop here. */
bool gmp_spent(void);
/* Can so many bytes be had? For operations whose operands the reserve would not cover. */
bool gmp_probe(size_t bytes);

#endif
