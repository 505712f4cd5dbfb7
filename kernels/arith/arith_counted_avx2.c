/* f32 and f64 to nearest with their inexact results counted, at nearly the speed of the ordinary
 * kernels: the operation, and whether its residual is zero (TwoSum, an exact product, or a fused
 * multiply-add). Results that are zero, subnormal, infinite or nan are left to the rows of
 * arith_binary.c, which know what to count. */
#include "kernels/arith/arith_counted.h"
#include "kernels/tensor/cpu.h"

#include <float.h>
#include <math.h>

#ifdef __x86_64__
#define ROW(NAME, TYPE, INT, LEAST, MOST, RESULT, INEXACT)                                         \
    static bool NAME(TYPE *out, const TYPE *x, int64_t sx, const TYPE *y, int64_t sy, int64_t n,   \
                     uint64_t *inexact)                                                            \
    {                                                                                              \
        INT count = 0, odd = 0;                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                          \
            TYPE u = x[sx ? i : 0], v = y[sy ? i : 0], r = RESULT;                                 \
            TYPE size = r < 0 ? -r : r;                                                            \
            out[i] = r;                                                                            \
            odd |= !(size >= LEAST) | !(size <= MOST);                                             \
            count += INEXACT;                                                                      \
        }                                                                                          \
        *inexact = (uint64_t)count;                                                                \
        return !odd;                                                                               \
    }

#define SUM_ERROR ((u - (r - (r - u))) + (v - (r - u)) != 0)
#define DIFFERENCE_ERROR ((u - (r - (r - u))) - (v + (r - u)) != 0)
ROW(add_f32, float, int32_t, FLT_MIN, FLT_MAX, u + v, SUM_ERROR)
ROW(add_f64, double, int64_t, 0x1p-900, 0x1p1000, u + v, SUM_ERROR)
ROW(subtract_f32, float, int32_t, FLT_MIN, FLT_MAX, u - v, DIFFERENCE_ERROR)
ROW(subtract_f64, double, int64_t, 0x1p-900, 0x1p1000, u - v, DIFFERENCE_ERROR)
ROW(multiply_f32, float, int32_t, FLT_MIN, FLT_MAX, u * v, ((double)u * (double)v != (double)r))
ROW(multiply_f64, double, int64_t, 0x1p-900, 0x1p1000, u * v, (__builtin_fma(u, v, -r) != 0))
ROW(divide_f32, float, int32_t, FLT_MIN, FLT_MAX, u / v, ((double)r * (double)v != (double)u))
#undef ROW

bool arith_counted(Arith *a, EwOp op, void *out, const void *const x[], const int64_t sx[],
                   int64_t n)
{
    bool wide = a->dtype == DT_F64, ok;
    uint64_t inexact = 0;
    if (cpu_isa() < ISA_AVX2)
        return false;
#define CALL(NAME)                                                                                 \
    (wide ? NAME##_f64(out, x[0], sx[0], x[1], sx[1], n, &inexact)                                 \
          : NAME##_f32(out, x[0], sx[0], x[1], sx[1], n, &inexact))
    switch (op) {
    case EW_ADD: ok = CALL(add); break;
    case EW_SUBTRACT: ok = CALL(subtract); break;
    case EW_MULTIPLY: ok = CALL(multiply); break;
    case EW_DIVIDE: ok = !wide && divide_f32(out, x[0], sx[0], x[1], sx[1], n, &inexact); break;
    default: return false;
    }
#undef CALL
    a->flags.inexact += ok ? inexact : 0;
    return ok;
}
#else
bool arith_counted(Arith *a, EwOp op, void *out, const void *const x[], const int64_t sx[],
                   int64_t n)
{
    (void)a, (void)op, (void)out, (void)x, (void)sx, (void)n;
    return false;
}
#endif
