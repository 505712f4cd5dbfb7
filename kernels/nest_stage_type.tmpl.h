/* The loops of one real dtype. Included by nest_stage.tmpl.h with T, ID(f), KIND (0 integer,
 * 1 float, 2 an integer that is not summed), LOWEST, HIGHEST, of floats BITS. */
#if KIND == 1
#define IS_NAN(v) ((v) != (v))
typedef T ID(vector) __attribute__((vector_size(VECTOR)));
typedef T ID(anywhere) __attribute__((vector_size(VECTOR), aligned(sizeof(T)), may_alias));
typedef BITS ID(mask) __attribute__((vector_size(VECTOR)));
#define V ID(vector)
#define AT(p) ((V)*(const ID(anywhere) *)(p))
#define PUT(p, v) (*(ID(anywhere) *)(p) = (v))
#define SPLAT(v) ((v) - (V){ 0 })
#define SIZE_V(v) ((V)((ID(mask))(v) & ~(ID(mask))SPLAT((T)-0.0)))
static inline V ID(choose)(ID(mask) m, V yes, V no)
{
    return (V)((m & (ID(mask))yes) | (~m & (ID(mask))no));
}
#else
#define IS_NAN(v) 0
#endif

#if KIND != 2
#if KIND == 1
#define IDENTITY ((T)-0.0)
#define STEP(a, v) ((a) + (v))
#define STEP_V(a, v) ((a) + (v))
#define TIMES(x, y) ((x) * (y))
#define LESS(x, y) ((x) - (y))
#else
#define IDENTITY ((T)0)
#define STEP(a, v) ((T)((uint64_t)(a) + (uint64_t)(v)))
#define TIMES(x, y) ((T)((uint64_t)(x) * (uint64_t)(y)))
#define LESS(x, y) ((T)((uint64_t)(x) - (uint64_t)(y)))
#endif
#define NAME(f) ID(add_##f)
#define VALUE(x, y) ((void)(y), (x))
#define VALUE_V VALUE
#include "kernels/nest_stage_fold.tmpl.h"
#define NAME(f) ID(add_times_##f)
#define VALUE(x, y) TIMES(x, y)
#define VALUE_V VALUE
#include "kernels/nest_stage_fold.tmpl.h"
#define NAME(f) ID(add_square_##f)
#define VALUE(x, y) TIMES(LESS(x, y), LESS(x, y))
#define VALUE_V VALUE
#include "kernels/nest_stage_fold.tmpl.h"
#if KIND == 1
#define NAME(f) ID(add_apart_##f)
#define VALUE(x, y) ID(size)(LESS(x, y))
#define VALUE_V(x, y) SIZE_V(LESS(x, y))
static inline T ID(size)(T x) { return sizeof x == 4 ? (T)fabsf((float)x) : (T)fabs((double)x); }
#include "kernels/nest_stage_fold.tmpl.h"
#endif
#undef IDENTITY
#undef STEP
#undef STEP_V
#endif

#define IDENTITY ((T)HIGHEST)
#define STEP(a, v) (((int)((v) < (a)) | (int)IS_NAN(v)) ? (v) : (a))
#define STEP_V(a, v) ID(choose)(((v) < (a)) | ((v) != (v)), v, a)
#define NAME(f) ID(least_##f)
#define VALUE(x, y) ((void)(y), (x))
#define VALUE_V VALUE
#include "kernels/nest_stage_fold.tmpl.h"
#if KIND == 1
#define NAME(f) ID(least_plus_##f)
#define VALUE(x, y) ((x) + (y))
#define VALUE_V VALUE
#include "kernels/nest_stage_fold.tmpl.h"
#endif
#undef IDENTITY
#undef STEP
#undef STEP_V

#define IDENTITY ((T)LOWEST)
#define STEP(a, v) (((int)((v) > (a)) | (int)IS_NAN(v)) ? (v) : (a))
#define STEP_V(a, v) ID(choose)(((v) > (a)) | ((v) != (v)), v, a)
#define NAME(f) ID(most_##f)
#define VALUE(x, y) ((void)(y), (x))
#define VALUE_V VALUE
#include "kernels/nest_stage_fold.tmpl.h"
#if KIND == 1
#define NAME(f) ID(most_plus_##f)
#define VALUE(x, y) ((x) + (y))
#define VALUE_V VALUE
#include "kernels/nest_stage_fold.tmpl.h"
#define NAME(f) ID(most_apart_##f)
#define VALUE(x, y) ID(size)((x) - (y))
#define VALUE_V(x, y) SIZE_V((x) - (y))
#include "kernels/nest_stage_fold.tmpl.h"
#endif
#undef IDENTITY
#undef STEP
#undef STEP_V

#define ARG(name, BETTER) \
    static void ID(name)(void *bests, int64_t *at, int64_t n, const void *xs, int64_t sx, \
                         int64_t number, bool first) \
    { \
        T *best = bests; \
        const T *x = xs; \
        for (int64_t j = 0; j < n; j++) { \
            T v = x[j * sx], b = best[j]; \
            bool wins = first | (v BETTER b) | (IS_NAN(v) & !IS_NAN(b)); \
            best[j] = wins ? v : b; \
            at[j] = wins ? number : at[j]; \
        } \
    }
ARG(arg_least, <)
ARG(arg_most, >)
#undef ARG

#if KIND == 1
#define TRIPLE(name, formula) \
    static void ID(name)(void *r, const void *xs, const void *ys, const void *zs, \
                         const void *ws, int64_t n) \
    { \
        T *out = r; \
        const T *x = xs, *y = ys, *z = zs, *w = ws; \
        (void)w; \
        IVDEP \
        for (int64_t i = 0; i < n; i++) \
            out[i] = formula; \
    }
TRIPLE(times_plus, x[i] * y[i] + z[i])
TRIPLE(times_minus, x[i] * y[i] - z[i])
TRIPLE(minus_times, z[i] - x[i] * y[i])
TRIPLE(plus_times, (x[i] + y[i]) * z[i])
TRIPLE(less_times, (x[i] - y[i]) * z[i])
TRIPLE(products, x[i] * y[i] + z[i] * w[i])
TRIPLE(difference, x[i] * y[i] - z[i] * w[i])
#undef TRIPLE

static bool ID(any_nan)(const void *xs, int64_t n)
{
    enum { L = VECTOR / sizeof(T) };
    const T *x = xs;
    ID(mask) some = { 0 };
    bool nan = false;
    int64_t i = 0;
    for (; i + 2 * L <= n; i += 2 * L) {
        V a = AT(x + i), b = AT(x + i + L);
        some |= (a != a) | (b != b);
    }
    for (int l = 0; l < L; l++)
        nan |= some[l] != 0;
    for (; i < n; i++)
        nan |= IS_NAN(x[i]);
    return nan;
}
#endif
#undef V
#undef AT
#undef PUT
#undef SPLAT
#undef SIZE_V
#undef BITS
#undef T
#undef ID
#undef KIND
#undef LOWEST
#undef HIGHEST
#undef IS_NAN
#undef TIMES
#undef LESS
