/* All folds of one dtype. Included by reduce_isa.tmpl.h with T (storage), C (compute),
 * LOAD, ID(f) (the dtype's name pasted on), KIND: 0 integer, 1 real, 2 complex, WIDE_INT for
 * integers. */

#if KIND == 0
#define NOT_NUMBER(v) 0
#define NEITHER_NUMBER(v, w) 0
#else
#define NEITHER_NUMBER(v, w) __builtin_isunordered(v, w)
#define NOT_NUMBER(v) ((v) != (v))
#endif

#if KIND == 0
#define NAME(f) ID(sum_##f)
#define WIDE WIDE_INT
#include "kernels/reduce/reduce_int.tmpl.h"
#define NAME(f) ID(prod_##f)
#define ACC RedProd
#define IDENTITY ((RedProd){ .size = 1 })
#define STEP(a, v) prod_step(a, (int64_t)(v))
#define JOIN(a, b) prod_join(a, b)
#define LANES 1
#define ALONE
#include "kernels/reduce/reduce_fold.tmpl.h"
#else
#define NAME(f) ID(sum_##f)
#define ACC C
#define IDENTITY ((C)ZERO)
#define STEP(a, v) ((a) + (v))
#define JOIN(a, b) ((a) + (b))
#define LANES (int)(256 / sizeof(C))
#include "kernels/reduce/reduce_fold.tmpl.h"
#define NAME(f) ID(prod_##f)
#define ACC C
#define IDENTITY ((C)1)
#define STEP(a, v) TIMES(a, v)
#define JOIN(a, b) TIMES(a, b)
#define LANES (int)(256 / sizeof(C))
#include "kernels/reduce/reduce_fold.tmpl.h"
#define NAME(f) ID(nansum_##f)
#define ACC C
#define IDENTITY ((C)ZERO)
#define STEP(a, v) ((a) + ((v) == (v) ? (v) : (C)0))
#define JOIN(a, b) ((a) + (b))
#define LANES (int)(256 / sizeof(C))
#include "kernels/reduce/reduce_fold.tmpl.h"
#endif

#if KIND == 2
#define RE(v) ((double)__real__(v))
#define IM(v) ((double)__imag__(v))
#define PARTS 2
#else
#define RE(v) ((double)LOAD(v))
#define IM(v) 0.0
#define PARTS 1
#endif
#define NAME(f) ID(var_##f)
#include "kernels/reduce/reduce_var.tmpl.h"
#undef RE
#undef IM
#undef PARTS

#define NAME(f) ID(count_##f)
#define ACC int64_t
#define IDENTITY 0
#define STEP(a, v) ((v) != 0 ? (a) + 1 : (a))
#define JOIN(a, b) ((a) + (b))
#define LANES 32
#include "kernels/reduce/reduce_fold.tmpl.h"

#if KIND != 2
#if KIND == 0
#define VALUE i
#else
#define VALUE f
#endif
#define NAME(f) ID(min_##f)
#define AT(f) ID(argmin_##f)
#define BETTER(b, a) ((b) < (a))
#include "kernels/reduce/reduce_extreme.tmpl.h"
#define NAME(f) ID(max_##f)
#define AT(f) ID(argmax_##f)
#define BETTER(b, a) ((b) > (a))
#include "kernels/reduce/reduce_extreme.tmpl.h"
#undef VALUE
#endif

#undef T
#undef C
#undef ID
#undef NOT_NUMBER
#undef NEITHER_NUMBER
#undef KIND
#undef LOAD
#undef WIDE_INT
#undef ZERO
#undef TIMES
