/* The strips of one ordered type T named by TAG, which FLOATING ones fold with care for NaN:
 * there is no packing that could look for them. SAME_SUMS: sums of products are those of
 * another type. Included by direct_isa.tmpl.h only. */
#define OP(f) GLUE(f, TAG)
#define NAMED(op, f) GLUE(TAG, op##_##f)

#ifdef FLOATING
ALWAYS GLUE(V, TAG) OP(least)(GLUE(V, TAG) v, GLUE(V, TAG) x)
{
    return OP(nan_or)(v, OP(lower)(v, x));
}
ALWAYS GLUE(V, TAG) OP(most)(GLUE(V, TAG) v, GLUE(V, TAG) x)
{
    return OP(nan_or)(v, OP(higher)(v, x));
}
#else
ALWAYS GLUE(V, TAG) OP(least)(GLUE(V, TAG) v, GLUE(V, TAG) x) { return OP(lower)(v, x); }
ALWAYS GLUE(V, TAG) OP(most)(GLUE(V, TAG) v, GLUE(V, TAG) x) { return OP(higher)(v, x); }
#endif

#ifndef SAME_SUMS
#define FN(f) NAMED(plus_times, f)
#define COMBINE OP(times)
#define STEP OP(add_times)
#define REDUCE OP(plus)
#ifdef FLOATING
#define WIDE 1
#endif
#include "kernels/direct/direct_tile.tmpl.h"
#endif
#define FN(f) NAMED(min_plus, f)
#define COMBINE OP(plus)
#define STEP(x, a, b) OP(least)(OP(plus)(a, b), x)
#define REDUCE(x, v) OP(least)(v, x)
#include "kernels/direct/direct_tile.tmpl.h"
#define FN(f) NAMED(max_plus, f)
#define COMBINE OP(plus)
#define STEP(x, a, b) OP(most)(OP(plus)(a, b), x)
#define REDUCE(x, v) OP(most)(v, x)
#include "kernels/direct/direct_tile.tmpl.h"
#define FN(f) NAMED(min_times, f)
#define COMBINE OP(times)
#define STEP(x, a, b) OP(least)(OP(times)(a, b), x)
#define REDUCE(x, v) OP(least)(v, x)
#include "kernels/direct/direct_tile.tmpl.h"
#define FN(f) NAMED(max_times, f)
#define COMBINE OP(times)
#define STEP(x, a, b) OP(most)(OP(times)(a, b), x)
#define REDUCE(x, v) OP(most)(v, x)
#include "kernels/direct/direct_tile.tmpl.h"
#define FN(f) NAMED(min_max, f)
#define COMBINE OP(most)
#define STEP(x, a, b) OP(least)(OP(most)(a, b), x)
#define REDUCE(x, v) OP(least)(v, x)
#include "kernels/direct/direct_tile.tmpl.h"
#define FN(f) NAMED(max_min, f)
#define COMBINE OP(least)
#define STEP(x, a, b) OP(most)(OP(least)(a, b), x)
#define REDUCE(x, v) OP(most)(v, x)
#include "kernels/direct/direct_tile.tmpl.h"

#undef OP
#undef NAMED
#undef TAG
#undef T
#undef FLOATING
#undef SAME_SUMS
