/* The tiles of one ordered type T named by TAG: LEAST and MOST of it; FLOATING ones have a
 * careful tile beside the quick one, which a NaN among the combined values would pass by;
 * NARROW_TIMES have products of any factors beside those of narrow ones; NO_TIMES are
 * multiplied elsewhere. Included by semiring_isa.tmpl.h only. */
#define OP(f) GLUE(f, TAG)
#define NAMED(op, f) GLUE(TAG, op##_##f)

/* Sums of floats that are then compared go to the multipliers where there are such: on some
 * machines additions and comparisons share one pair of units. The factor 1 takes a register. */
#if defined(FLOATING) && defined(__FMA__)
#define ADD_VECTORS (TILE_ROWS == 8 ? 3 : 2)
ALWAYS GLUE(V, TAG) OP(sum)(GLUE(V, TAG) a, GLUE(V, TAG) b)
{
    return OP(add_times)(b, a, OP(splat)(1));
}
#else
#define ADD_VECTORS 3
ALWAYS GLUE(V, TAG) OP(sum)(GLUE(V, TAG) a, GLUE(V, TAG) b) { return OP(plus)(a, b); }
#endif

#ifdef NARROW_TIMES
#define TIMES narrow_times
#else
#define TIMES OP(times)
#endif

#ifndef NO_TIMES
#define FN(f) NAMED(plus_times, f)
#ifdef NARROW_TIMES
#define STEP(x, a, b) OP(plus)(x, narrow_times(a, b))
#else
#define STEP(x, a, b) OP(add_times)(x, a, b)
#endif
#define START 0
#define VECTORS 3
#include "kernels/semiring/semiring_tile.tmpl.h"
#define FN(f) NAMED(min_times, f)
#define STEP(x, a, b) OP(lower)(TIMES(a, b), x)
#define START MOST
#define VECTORS 3
#include "kernels/semiring/semiring_tile.tmpl.h"
#define FN(f) NAMED(max_times, f)
#define STEP(x, a, b) OP(higher)(TIMES(a, b), x)
#define START LEAST
#define VECTORS 3
#include "kernels/semiring/semiring_tile.tmpl.h"
#endif
#define FN(f) NAMED(min_plus, f)
#define STEP(x, a, b) OP(lower)(OP(sum)(a, b), x)
#define START MOST
#define VECTORS ADD_VECTORS
#include "kernels/semiring/semiring_tile.tmpl.h"
#define FN(f) NAMED(max_plus, f)
#define STEP(x, a, b) OP(higher)(OP(sum)(a, b), x)
#define START LEAST
#define VECTORS ADD_VECTORS
#include "kernels/semiring/semiring_tile.tmpl.h"
#define FN(f) NAMED(min_max, f)
#define STEP(x, a, b) OP(lower)(OP(higher)(a, b), x)
#define START MOST
#define VECTORS 3
#include "kernels/semiring/semiring_tile.tmpl.h"
#define FN(f) NAMED(max_min, f)
#define STEP(x, a, b) OP(higher)(OP(lower)(a, b), x)
#define START LEAST
#define VECTORS 3
#include "kernels/semiring/semiring_tile.tmpl.h"

#ifdef NARROW_TIMES
#define FN(f) NAMED(plus_times_wide, f)
#define STEP(x, a, b) OP(add_times)(x, a, b)
#define START 0
#define VECTORS 3
#define ONE_PASS 1
#include "kernels/semiring/semiring_tile.tmpl.h"
#define FN(f) NAMED(min_times_wide, f)
#define STEP(x, a, b) OP(lower)(OP(times)(a, b), x)
#define START MOST
#define VECTORS 3
#define ONE_PASS 1
#include "kernels/semiring/semiring_tile.tmpl.h"
#define FN(f) NAMED(max_times_wide, f)
#define STEP(x, a, b) OP(higher)(OP(times)(a, b), x)
#define START LEAST
#define VECTORS 3
#define ONE_PASS 1
#include "kernels/semiring/semiring_tile.tmpl.h"
#endif

#ifdef FLOATING
/* A NaN, once combined, wins and stays. */
ALWAYS GLUE(V, TAG) OP(careful_lower)(GLUE(V, TAG) v, GLUE(V, TAG) x)
{
    return OP(nan_or)(v, OP(lower)(v, x));
}
ALWAYS GLUE(V, TAG) OP(careful_higher)(GLUE(V, TAG) v, GLUE(V, TAG) x)
{
    return OP(nan_or)(v, OP(higher)(v, x));
}
#define FN(f) NAMED(min_plus_careful, f)
#define STEP(x, a, b) OP(careful_lower)(OP(sum)(a, b), x)
#define START MOST
#define VECTORS ADD_VECTORS
#define ONE_PASS 1
#include "kernels/semiring/semiring_tile.tmpl.h"
#define FN(f) NAMED(max_plus_careful, f)
#define STEP(x, a, b) OP(careful_higher)(OP(sum)(a, b), x)
#define START LEAST
#define VECTORS ADD_VECTORS
#define ONE_PASS 1
#include "kernels/semiring/semiring_tile.tmpl.h"
#define FN(f) NAMED(min_times_careful, f)
#define STEP(x, a, b) OP(careful_lower)(OP(times)(a, b), x)
#define START MOST
#define VECTORS 3
#define ONE_PASS 1
#include "kernels/semiring/semiring_tile.tmpl.h"
#define FN(f) NAMED(max_times_careful, f)
#define STEP(x, a, b) OP(careful_higher)(OP(times)(a, b), x)
#define START LEAST
#define VECTORS 3
#define ONE_PASS 1
#include "kernels/semiring/semiring_tile.tmpl.h"
#define FN(f) NAMED(min_max_careful, f)
#define STEP(x, a, b) OP(careful_lower)(OP(careful_higher)(a, b), x)
#define START MOST
#define VECTORS 3
#define ONE_PASS 1
#include "kernels/semiring/semiring_tile.tmpl.h"
#define FN(f) NAMED(max_min_careful, f)
#define STEP(x, a, b) OP(careful_higher)(OP(careful_lower)(a, b), x)
#define START LEAST
#define VECTORS 3
#define ONE_PASS 1
#include "kernels/semiring/semiring_tile.tmpl.h"
#endif

#undef OP
#undef NAMED
#undef TIMES
#undef TAG
#undef T
#undef LEAST
#undef MOST
#undef FLOATING
#undef NO_TIMES
#undef NARROW_TIMES
#undef ADD_VECTORS
