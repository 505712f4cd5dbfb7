/* The plain loops of one ordered dtype: T, DTYPE_NAME, LEAST and MOST, WRAPS for integers.
 * Ties and NaN as maximum, minimum and the reductions treat them: the later operand of
 * maximum, the earlier one of a reduction; a NaN always. Included by semiring_plain.c. */
#ifdef WRAPS
#define TIMES(a, b) (T)((uint64_t)(a) * (uint64_t)(b))
#define PLUS(a, b) (T)((uint64_t)(a) + (uint64_t)(b))
#define NOT_NUMBER(v) false
#else
#define TIMES(a, b) ((a) * (b))
#define PLUS(a, b) ((a) + (b))
#define NOT_NUMBER(v) ((v) != (v))
#endif
#define LOWER(a, b) ((a) < (b) || NOT_NUMBER(a) ? (a) : (b))
#define HIGHER(a, b) ((a) > (b) || NOT_NUMBER(a) ? (a) : (b))

#define SEMIRING plus_times
#define COMBINE TIMES
#define REDUCE PLUS
#define IDENTITY 0
#include "kernels/semiring/semiring_fold.tmpl.h"
#define SEMIRING min_plus
#define COMBINE PLUS
#define REDUCE(x, v) LOWER(v, x)
#define IDENTITY MOST
#include "kernels/semiring/semiring_fold.tmpl.h"
#define SEMIRING max_plus
#define COMBINE PLUS
#define REDUCE(x, v) HIGHER(v, x)
#define IDENTITY LEAST
#include "kernels/semiring/semiring_fold.tmpl.h"
#define SEMIRING min_times
#define COMBINE TIMES
#define REDUCE(x, v) LOWER(v, x)
#define IDENTITY MOST
#include "kernels/semiring/semiring_fold.tmpl.h"
#define SEMIRING max_times
#define COMBINE TIMES
#define REDUCE(x, v) HIGHER(v, x)
#define IDENTITY LEAST
#include "kernels/semiring/semiring_fold.tmpl.h"
#define SEMIRING min_max
#define COMBINE HIGHER
#define REDUCE(x, v) LOWER(v, x)
#define IDENTITY MOST
#include "kernels/semiring/semiring_fold.tmpl.h"
#define SEMIRING max_min
#define COMBINE LOWER
#define REDUCE(x, v) HIGHER(v, x)
#define IDENTITY LEAST
#include "kernels/semiring/semiring_fold.tmpl.h"

#undef TIMES
#undef PLUS
#undef NOT_NUMBER
#undef LOWER
#undef HIGHER
#undef WRAPS
#undef T
#undef DTYPE_NAME
#undef LEAST
#undef MOST
