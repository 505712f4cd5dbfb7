/* Reference kernels of the transcendentals: the rows' own formulas in long double, one
 * element at a time, rounded once. The fast kernels are tested against them, take them for
 * operands outside their range, and hostile builds run them alone. Other rows need none:
 * their plain formula is the definition (ew_base.c). */
#include "kernels/elementwise/ew_kernels.h"

#include <string.h>
#include <tgmath.h>

#define IVDEP
#define KIND_REAL 2
#define KIND_COMPLEX 3

#define T long double
#define T_REAL long double
#define T_WIDE long double
#define KIND KIND_REAL
#define N(f) f##_L
#include "kernels/elementwise/ew_dtype.tmpl.h"

/* The C library's names for complex numbers, in long double. */
#define csqrt(x) csqrtl(x)
#define cexp(x) cexpl(x)
#define clog(x) clogl(x)
#define csin(x) csinl(x)
#define ccos(x) ccosl(x)
#define ctan(x) ctanl(x)
#define casin(x) casinl(x)
#define cacos(x) cacosl(x)
#define catan(x) catanl(x)
#define csinh(x) csinhl(x)
#define ccosh(x) ccoshl(x)
#define ctanh(x) ctanhl(x)
#define casinh(x) casinhl(x)
#define cacosh(x) cacoshl(x)
#define catanh(x) catanhl(x)
#define cabs(x) cabsl(x)
#define T long double _Complex
#define T_REAL long double
#define T_WIDE long double _Complex
#define KIND KIND_COMPLEX
#define N(f) f##_CL
#include "kernels/elementwise/ew_dtype.tmpl.h"

#define KERNEL_ARGS void *out, int64_t so, const void *const *in, const int64_t *si, int64_t n

static inline __attribute__((always_inline))
void run_real(EwFn wide, int arity, bool narrow, KERNEL_ARGS) {
    const int64_t strides[] = { 1, 1 };
    for (int64_t i = 0; i < n; i++) {
        long double x[2], r;
        const void *at[] = { &x[0], &x[1] };
        for (int k = 0; k < arity; k++)
            x[k] = narrow ? (long double)((const float *)in[k])[i * si[k]]
                          : (long double)((const double *)in[k])[i * si[k]];
        wide(&r, 1, at, strides, 1);
        if (narrow) ((float *)out)[i * so] = (float)r;
        else ((double *)out)[i * so] = (double)r;
    }
}

static inline __attribute__((always_inline))
void run_complex(EwFn wide, int arity, bool narrow, KERNEL_ARGS) {
    const int64_t strides[] = { 1, 1 };
    for (int64_t i = 0; i < n; i++) {
        long double _Complex x[2], r;
        const void *at[] = { &x[0], &x[1] };
        for (int k = 0; k < arity; k++)
            x[k] = narrow ? (long double _Complex)((const float _Complex *)in[k])[i * si[k]]
                          : (long double _Complex)((const double _Complex *)in[k])[i * si[k]];
        wide(&r, 1, at, strides, 1);
        if (narrow) ((float _Complex *)out)[i * so] = (float _Complex)r;
        else ((double _Complex *)out)[i * so] = (double _Complex)r;
    }
}

/* Rows whose reference is computed in long double: those with complex functions, and those
 * of real operands alone. */
#define WITH_COMPLEX(ROW) \
    ROW(EXP, 1) ROW(EXPM1, 1) ROW(LOG, 1) ROW(LOG2, 1) ROW(LOG10, 1) ROW(LOG1P, 1) ROW(SIN, 1) \
    ROW(COS, 1) ROW(TAN, 1) ROW(ASIN, 1) ROW(ACOS, 1) ROW(ATAN, 1) ROW(SINH, 1) ROW(COSH, 1) \
    ROW(TANH, 1) ROW(ASINH, 1) ROW(ACOSH, 1) ROW(ATANH, 1) ROW(POWER, 2)
#define REAL_ONLY(ROW) \
    ROW(CBRT, 1) ROW(ERF, 1) ROW(ERFC, 1) ROW(GAMMA, 1) ROW(LGAMMA, 1) ROW(ATAN2, 2) \
    ROW(HYPOT, 2) ROW(SIGMOID, 1) ROW(SILU, 1) ROW(SOFTPLUS, 1) ROW(GELU, 1)

#define REAL_KERNELS(id, arity) \
    static void real_##id##_F64(KERNEL_ARGS) { \
        run_real(ew_##id##_L, arity, false, out, so, in, si, n); \
    } \
    static void real_##id##_F32(KERNEL_ARGS) { \
        run_real(ew_##id##_L, arity, true, out, so, in, si, n); \
    }
#define COMPLEX_KERNELS(id, arity) \
    static void complex_##id##_C128(KERNEL_ARGS) { \
        run_complex(ew_##id##_CL, arity, false, out, so, in, si, n); \
    } \
    static void complex_##id##_C64(KERNEL_ARGS) { \
        run_complex(ew_##id##_CL, arity, true, out, so, in, si, n); \
    }
WITH_COMPLEX(REAL_KERNELS)
WITH_COMPLEX(COMPLEX_KERNELS)
REAL_ONLY(REAL_KERNELS)

/* A square is a product, which long double would round twice, and so is x^-1 a quotient. */
static void real_POWER_once(KERNEL_ARGS) {
    const int64_t ones[] = { 1, 1 };
    for (int64_t i = 0; i < n; i++) {
        const double *at[] = { (const double *)in[0] + i * si[0],
                               (const double *)in[1] + i * si[1] };
        double *to = (double *)out + i * so, x = *at[0];
        if (*at[1] == 2) *to = x * x;
        else if (*at[1] == -1) *to = 1 / x;
        else real_POWER_F64(to, 1, (const void *const *)at, ones, 1);
    }
}
#define real_POWER_F64 real_POWER_once

#define COMPLEX_POWER_ONCE(type, T) \
    static void complex_POWER_once_##type(KERNEL_ARGS) { \
        const int64_t ones[] = { 1, 1 }; \
        for (int64_t i = 0; i < n; i++) { \
            const T *at[] = { (const T *)in[0] + i * si[0], (const T *)in[1] + i * si[1] }; \
            const void *square[] = { at[0], at[0] }; \
            T *to = (T *)out + i * so; \
            if (*at[1] == 2) ew_table_base[EW_MULTIPLY][DT_##type](to, 1, square, ones, 1); \
            else complex_POWER_##type(to, 1, (const void *const *)at, ones, 1); \
        } \
    }
COMPLEX_POWER_ONCE(C128, double _Complex)
COMPLEX_POWER_ONCE(C64, float _Complex)
#define complex_POWER_C128 complex_POWER_once_C128
#define complex_POWER_C64 complex_POWER_once_C64

const EwFn ew_table_reference[EW_COUNT][DT_COUNT] = {
#define ROW(id, arity) [EW_##id] = { [DT_F32] = real_##id##_F32, [DT_F64] = real_##id##_F64, \
    [DT_C64] = complex_##id##_C64, [DT_C128] = complex_##id##_C128 },
    WITH_COMPLEX(ROW)
#undef ROW
#define ROW(id, arity) [EW_##id] = { [DT_F32] = real_##id##_F32, [DT_F64] = real_##id##_F64 },
    REAL_ONLY(ROW)
#undef ROW
};
