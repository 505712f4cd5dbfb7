/* The loops of one real dtype. Included by nest_stage.tmpl.h with T, ID(f), KIND (0 integer,
 * 1 float, 2 an integer that is not summed), LOWEST, HIGHEST, BITS and WORD, the signed and the
 * unsigned integer of its size. */
typedef T ID(vector) __attribute__((vector_size(VECTOR)));
typedef T ID(anywhere) __attribute__((vector_size(VECTOR), aligned(sizeof(T)), may_alias));
typedef BITS ID(mask) __attribute__((vector_size(VECTOR)));
#define V ID(vector)
#define AT(p) ((V)*(const ID(anywhere) *)(p))
#define PUT(p, v) (*(ID(anywhere) *)(p) = (v))
#define SPLAT(v) ((v) - (V){ 0 })
static inline V ID(choose)(ID(mask) m, V yes, V no)
{
    return (V)((m & (ID(mask))yes) | (~m & (ID(mask))no));
}

/* IN(T, x, +, y) and IN(V, x, +, y): x + y of elements and of vectors; integers wrap. */
#if KIND == 1
#define IS_NAN(v) ((v) != (v))
#define ARE_NAN(v) ((v) != (v))
#define SIZE_V(v) ((V)((ID(mask))(v) & ~(ID(mask))SPLAT((T)-0.0)))
#define IN(TYPE, x, o, y) ((x) o (y))
#else
#define IS_NAN(v) 0
#define ARE_NAN(v) ((ID(mask)){ 0 })
typedef WORD ID(words) __attribute__((vector_size(VECTOR)));
#define IN(TYPE, x, o, y) IN_##TYPE(x, o, y)
#define IN_T(x, o, y) ((T)((WORD)(x) o (WORD)(y)))
#define IN_V(x, o, y) ((V)((ID(words))(x) o (ID(words))(y)))
#endif

#if KIND == 1
static inline V ID(roots)(V x)
{
#ifdef SQRT
    return SQRT(x);
#else
    for (int i = 0; i < (int)(VECTOR / sizeof(T)); i++)
        x[i] = sizeof(T) == 4 ? (T)sqrtf((float)x[i]) : (T)sqrt((double)x[i]);
    return x;
#endif
}
#endif

#if KIND != 2
#define IDENTITY (KIND == 1 ? (T)-0.0 : (T)0)
#define STEP(a, v) IN(T, a, +, v)
#define STEP_V(a, v) IN(V, a, +, v)
#define NAME(f) ID(add_##f)
#define VALUE(x, y) ((void)(y), (x))
#define ALONE
#define VALUE_V VALUE
#include "kernels/nest/nest_stage_fold.tmpl.h"
#define NAME(f) ID(add_times_##f)
#define VALUE(x, y) IN(T, x, *, y)
#define VALUE_V(x, y) IN(V, x, *, y)
#include "kernels/nest/nest_stage_fold.tmpl.h"
#define NAME(f) ID(add_square_##f)
#if KIND == 1
#define TILED
#endif
#define VALUE(x, y) IN(T, IN(T, x, -, y), *, IN(T, x, -, y))
#define VALUE_V(x, y) IN(V, IN(V, x, -, y), *, IN(V, x, -, y))
#include "kernels/nest/nest_stage_fold.tmpl.h"
#if KIND == 1
#define NAME(f) ID(add_apart_##f)
#define TILED
#define VALUE(x, y) ID(size)((x) - (y))
#define VALUE_V(x, y) SIZE_V((x) - (y))
static inline T ID(size)(T x) { return sizeof x == 4 ? (T)fabsf((float)x) : (T)fabs((double)x); }
#include "kernels/nest/nest_stage_fold.tmpl.h"
#endif
#undef IDENTITY
#undef STEP
#undef STEP_V
#endif

#define IDENTITY ((T)HIGHEST)
#define STEP(a, v) (((int)((v) < (a)) | (int)IS_NAN(v)) ? (v) : (a))
#define STEP_V(a, v) ID(choose)(((v) < (a)) | ARE_NAN(v), v, a)
#define NAME(f) ID(least_##f)
#define VALUE(x, y) ((void)(y), (x))
#define ALONE
#define VALUE_V VALUE
#include "kernels/nest/nest_stage_fold.tmpl.h"
#if KIND == 1
#define NAME(f) ID(least_plus_##f)
#define VALUE(x, y) ((x) + (y))
#define VALUE_V VALUE
#include "kernels/nest/nest_stage_fold.tmpl.h"
#endif
#undef IDENTITY
#undef STEP
#undef STEP_V

#define IDENTITY ((T)LOWEST)
#define STEP(a, v) (((int)((v) > (a)) | (int)IS_NAN(v)) ? (v) : (a))
#define STEP_V(a, v) ID(choose)(((v) > (a)) | ARE_NAN(v), v, a)
#define NAME(f) ID(most_##f)
#define VALUE(x, y) ((void)(y), (x))
#define ALONE
#define VALUE_V VALUE
#include "kernels/nest/nest_stage_fold.tmpl.h"
#if KIND == 1
#define NAME(f) ID(most_plus_##f)
#define VALUE(x, y) ((x) + (y))
#define VALUE_V VALUE
#include "kernels/nest/nest_stage_fold.tmpl.h"
#define NAME(f) ID(most_apart_##f)
#define TILED
#define VALUE(x, y) ID(size)((x) - (y))
#define VALUE_V(x, y) SIZE_V((x) - (y))
#include "kernels/nest/nest_stage_fold.tmpl.h"
#endif
#undef IDENTITY
#undef STEP
#undef STEP_V

/* After the first few rows almost nothing wins: blocks in which nothing does are left alone, except
 * where two elements fill a register. */
#define ARG_BLOCKS (L > 2)
#define ARG(name, BETTER) \
    static inline bool ID(name##_any)(const T *best, const T *x) \
    { \
        ID(mask) wins = { 0 }; \
        bool any = false; \
        for (int l = 0; l < ARG_BLOCK; l += L) { \
            V v = AT(x + l), b = AT(best + l); \
            wins |= (v BETTER b) | (ARE_NAN(v) & ~ARE_NAN(b)); \
        } \
        for (int l = 0; l < L; l++) \
            any |= wins[l] != 0; \
        return any; \
    } \
    static inline __attribute__((always_inline)) \
    void ID(name##_step)(T *best, int64_t *at, int64_t n, const T *x, int64_t sx, int64_t number) \
    { \
        for (int64_t j = 0; j < n; j++) { \
            T v = x[j * sx], b = best[j]; \
            bool wins = (v BETTER b) | (IS_NAN(v) & !IS_NAN(b)); \
            best[j] = wins ? v : b; \
            at[j] = wins ? number : at[j]; \
        } \
    } \
    static void ID(name)(void *bests, int64_t *at, int64_t n, const void *xs, int64_t sx, \
                         int64_t number, bool first) \
    { \
        T *best = bests; \
        const T *x = xs; \
        int64_t j = 0; \
        for (; first && j < n; j++) \
            best[j] = x[j * sx], at[j] = number; \
        for (; ARG_BLOCKS && sx == 1 && j + ARG_BLOCK <= n; j += ARG_BLOCK) \
            if (ID(name##_any)(best + j, x + j)) \
                ID(name##_step)(best + j, at + j, ARG_BLOCK, x + j, 1, number); \
        ID(name##_step)(best + j, at + j, n - j, x + j * sx, sx, number); \
    }
#define L (int)(VECTOR / sizeof(T))
#define ARG_BLOCK (8 * L)
ARG(arg_least, <)
ARG(arg_most, >)
#undef ARG
#undef ARG_BLOCK
#undef ARG_BLOCKS
#undef L

#if KIND == 1
#define TRIPLE(name, formula) \
    static void ID(name)(void *r, const void *xs, const void *ys, const void *zs, \
                         const void *ws, int64_t n) \
    { \
        T *out = r; \
        const T *x = xs, *y = ys, *z = zs, *w = ws; \
        (void)w; \
 \
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

static void ID(plus_relu)(void *r, const void *xs, const void *ys, const void *zs, const void *ws,
                          int64_t n)
{
    T *out = r;
    const T *x = xs, *y = ys;
    (void)zs;
    (void)ws;
    IVDEP
    for (int64_t i = 0; i < n; i++) {
        T v = x[i] + y[i];
        out[i] = v > 0 || v != v ? v : 0;
    }
}


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
#include "kernels/nest/nest_chain.tmpl.h"
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
#undef WORD
#undef IS_NAN
#undef SQRT
#undef ARE_NAN
#undef IN
#undef IN_T
#undef IN_V
