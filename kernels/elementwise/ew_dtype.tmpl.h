/* All elementwise kernels of one compute dtype: the scalar helpers that formulas use, the
 * loops per result type, and one function per row. Set by ew.tmpl.h: T (compute type),
 * T_REAL (its real type), T_WIDE (a wider one, floats) or T_WRAP (unsigned, integers),
 * KIND, N(f) (names of this dtype). */
#if KIND == KIND_REAL
#include "kernels/elementwise/ew_real.tmpl.h"
#define FORMULA(real, complex, integer) real
#define NONE 0
#elif KIND == KIND_COMPLEX
#include "kernels/elementwise/ew_complex.tmpl.h"
#define FORMULA(real, complex, integer) complex
#define NONE 0
#else
#include "kernels/elementwise/ew_integer.tmpl.h"
#define FORMULA(real, complex, integer) integer
#define NONE 0
#endif

#define OUT T
#define L(f) N(f##_same)
#include "kernels/elementwise/ew_loop.tmpl.h"
#define OUT uint8_t
#define L(f) N(f##_bool)
#include "kernels/elementwise/ew_loop.tmpl.h"
#define OUT T_REAL
#define L(f) N(f##_real)
#include "kernels/elementwise/ew_loop.tmpl.h"

#define OUT_RES_SAME T
#define OUT_RES_FLOAT T
#define OUT_RES_KEEP_BOOL T
#define OUT_RES_WHERE T
#define OUT_RES_BOOL uint8_t
#define OUT_RES_REAL T_REAL
#define LOOP1_RES_SAME N(loop1_same)
#define LOOP1_RES_FLOAT N(loop1_same)
#define LOOP1_RES_KEEP_BOOL N(loop1_same)
#define LOOP1_RES_BOOL N(loop1_bool)
#define LOOP1_RES_REAL N(loop1_real)
#define LOOP2_RES_SAME N(loop2_same)
#define LOOP2_RES_FLOAT N(loop2_same)
#define LOOP2_RES_KEEP_BOOL N(loop2_same)
#define LOOP2_RES_BOOL N(loop2_bool)
#define LOOP3_RES_SAME N(loop3_same)
#define LOOP3_RES_WHERE N(loop_where_same)
#define FIRST_RES_SAME T
#define FIRST_RES_WHERE uint8_t

/* A row without this formula compiles to an empty loop and is never looked up. */
#if KIND == KIND_REAL
#define HAS(real, complex, integer) (strcmp(real, "NONE") != 0)
#elif KIND == KIND_COMPLEX
#define HAS(real, complex, integer) (strcmp(complex, "NONE") != 0)
#else
#define HAS(real, complex, integer) (strcmp(integer, "NONE") != 0)
#endif

#define KERNEL_ARGS void *out, int64_t so, const void *const *in, const int64_t *si, int64_t n

#define EW1(id, name, params, kinds, res, cost, real, complex, integer, ...) \
    static inline OUT_##res N(at_##id)(T x) { \
        (void)x; \
        return (OUT_##res)(FORMULA(real, complex, integer)); \
    } \
    static __attribute__((unused)) void N(ew_##id)(KERNEL_ARGS) { \
        if (HAS(#real, #complex, #integer)) LOOP1_##res(out, so, in, si, n, N(at_##id)); \
    }
#define EW2(id, name, params, kinds, res, cost, real, complex, integer, ...) \
    static inline OUT_##res N(at_##id)(T x, T y) { \
        (void)x, (void)y; \
        return (OUT_##res)(FORMULA(real, complex, integer)); \
    } \
    static __attribute__((unused)) void N(ew_##id)(KERNEL_ARGS) { \
        if (HAS(#real, #complex, #integer)) LOOP2_##res(out, so, in, si, n, N(at_##id)); \
    }
#define EW3(id, name, params, kinds, res, cost, real, complex, integer, ...) \
    static inline OUT_##res N(at_##id)(FIRST_##res x, T y, T z) { \
        (void)x, (void)y, (void)z; \
        return (OUT_##res)(FORMULA(real, complex, integer)); \
    } \
    static __attribute__((unused)) void N(ew_##id)(KERNEL_ARGS) { \
        if (HAS(#real, #complex, #integer)) LOOP3_##res(out, so, in, si, n, N(at_##id)); \
    }
#include "builtins/arrays/elementwise.def"
#undef EW1
#undef EW2
#undef EW3
#undef NONE
#undef FORMULA
#undef HAS
#undef KERNEL_ARGS
#undef OUT_RES_SAME
#undef OUT_RES_FLOAT
#undef OUT_RES_KEEP_BOOL
#undef OUT_RES_WHERE
#undef OUT_RES_BOOL
#undef OUT_RES_REAL
#undef LOOP1_RES_SAME
#undef LOOP1_RES_FLOAT
#undef LOOP1_RES_KEEP_BOOL
#undef LOOP1_RES_BOOL
#undef LOOP1_RES_REAL
#undef LOOP2_RES_SAME
#undef LOOP2_RES_FLOAT
#undef LOOP2_RES_KEEP_BOOL
#undef LOOP2_RES_BOOL
#undef LOOP3_RES_SAME
#undef LOOP3_RES_WHERE
#undef FIRST_RES_SAME
#undef FIRST_RES_WHERE
#undef WRAP
#undef IS_BOOL
#undef FLOORDIV
#undef MODULO
#undef POWER
#undef CLAMP
#undef SHIFT_LEFT
#undef SHIFT_RIGHT
#undef SIGMOID
#undef SOFTPLUS
#undef GELU
#undef ERFC
#undef GAMMA
#undef LGAMMA
#undef LDEXP
#undef CMUL
#undef CPOWER
#undef CSIGN
#undef CEXPM1
#undef CLOG1P
#undef CSCALE
#undef T
#undef T_REAL
#undef T_WIDE
#undef T_WRAP
#undef KIND
#undef N
