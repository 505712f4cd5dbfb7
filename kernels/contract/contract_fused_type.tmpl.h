/* The strip operations of one ordered dtype: T, W that its arithmetic is
 * done in, LEAST and MOST. Ties and NaN as kernels/semiring/semiring_plain.tmpl.h has them. */
#ifdef FLOATS
#define NOT_NUMBER(v) ((v) != (v))
#else
#define NOT_NUMBER(v) false
#endif
#define TIMES(a, b) ((W)(a) * (W)(b))
#define PLUS(a, b) ((W)(a) + (W)(b))
#define LOWER(a, b) ((a) < (b) || NOT_NUMBER(a) ? (a) : (b))
#define HIGHER(a, b) ((a) > (b) || NOT_NUMBER(a) ? (a) : (b))

#define SEMIRING plus_times
#define COMBINE TIMES
#define REDUCE PLUS
#define IDENTITY 0
#include "kernels/contract/contract_fused_ops.tmpl.h"
#ifdef FUSED_ALL
#define SEMIRING min_times
#define COMBINE TIMES
#define REDUCE(x, v) LOWER(v, x)
#define IDENTITY MOST
#include "kernels/contract/contract_fused_ops.tmpl.h"
#define SEMIRING max_times
#define COMBINE TIMES
#define REDUCE(x, v) HIGHER(v, x)
#define IDENTITY LEAST
#include "kernels/contract/contract_fused_ops.tmpl.h"
#endif

#undef NOT_NUMBER
#undef TIMES
#undef PLUS
#undef LOWER
#undef HIGHER
#undef T
#undef W
#undef DTYPE_NAME
#undef LEAST
#undef MOST
