/* Special functions in doubles. Included by special_fast_base.c and special_fast_avx2.c, which set
 * SPECIAL_FAST, the name of the table: the same formulas and the same bits, but a fused
 * multiply-add is one instruction in the second and a call in the first.
 *
 * Each function is false where it would lose more than its 4 ulp: near zeros that it does not
 * know, beyond its domain, at poles; then a ball has it. */
#include "kernels/special/special_ball.h"
#include "kernels/special/special_pair.h"
#include "kernels/special/special_airy_tables.h"
#include "kernels/special/special_gamma_tables.h"
#include "kernels/special/special_tables.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels/special/special_pair.tmpl.h"
#include "kernels/special/special_gamma.tmpl.h"
#include "kernels/special/special_more.tmpl.h"
#include "kernels/special/special_polynomial.tmpl.h"
#include "kernels/special/special_incomplete.tmpl.h"
#include "kernels/special/special_airy.tmpl.h"
#include "kernels/special/special_bessel.tmpl.h"

const SpecialFast SPECIAL_FAST[SPECIAL_COUNT] = {
#define SPECIAL(name, n, s, b, f, m) [SPECIAL_##name] = { f, m },
#include "kernels/special/special.def"
#undef SPECIAL
};
