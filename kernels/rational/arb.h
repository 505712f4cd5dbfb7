/* Arb, the library of balls (F. Johansson, IEEE Trans. Computers 66, 2017): functions with bounds
 * of their errors, in any precision. Opened when first used; one table of entry points for the
 * process (arb.def), with the names of its headers: `b->arb_add(r, x, y, bits)`. Nothing of it may
 * be called that the headers define inline. Like FLINT, on which it stands, it can neither be
 * interrupted nor told that memory is spent. */
#ifndef RICCI_KERNELS_ARB_H
#define RICCI_KERNELS_ARB_H

#include "kernels/rational/mpfr.h"

#if __has_include(<flint/arb_hypgeom.h>)
#include <flint/acb_elliptic.h>
#include <flint/arb_hypgeom.h>
#else
#include <acb_elliptic.h>
#include <arb_hypgeom.h>
#endif

typedef struct Arb {
#define ROUTINE(name) __typeof__(name) *name;
#include "kernels/rational/arb.def"
#undef ROUTINE
} Arb;

/* NULL if it, MPFR or GMP is missing; *why then says what to install. */
const Arb *arb_open(const char **why);
/* Gives back what Arb and FLINT keep of this thread for later. */
void arb_forget(void);

#endif
