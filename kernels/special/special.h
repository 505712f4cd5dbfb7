/* Special functions of real numbers in every format: a table of them (special.def), each enclosed
 * in balls of any precision by Arb, most of them computed in doubles besides. A result is the right
 * value rounded once in decimal, mp and interval numbers, and in doubles where the fast way was not
 * taken; the fast ways keep to 4 ulp. Nothing here raises. Poles and points outside of a domain are
 * infinities and nans, as in SciPy. */
#ifndef RICCI_KERNELS_SPECIAL_H
#define RICCI_KERNELS_SPECIAL_H

#include "kernels/number/number.h"

enum { SPECIAL_OPERANDS = 3 };

typedef enum SpecialId {
#define SPECIAL(name, ...) SPECIAL_##name,
#include "kernels/special/special.def"
#undef SPECIAL
    SPECIAL_COUNT
} SpecialId;

/* n results at `so`, operands of strides sx, all in elements of doubles. ARITH_LIBRARY: Arb was
 * needed and is missing. Polls the interrupt. */
ArithStatus special_f64(Ctx *, SpecialId, double *out, int64_t so, const double *const x[],
                        const int64_t sx[], int64_t n);
/* The same of carriers of a's format (decimal, mp, interval, rational), rounded in its mode. */
ArithStatus special_cells(Arith *a, SpecialId, NumberCell *out, int64_t so,
                          const NumberCell *const x[], const int64_t sx[], int64_t n);
int special_operands(SpecialId);
/* Elements that are worth a thread. */
int64_t special_grain(SpecialId);

#endif
