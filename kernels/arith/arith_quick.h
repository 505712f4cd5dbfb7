/* One operation of f64 or of a format of at most 24 bits to nearest, inline: what a scalar costs
 * most of the time. The f64 operation followed by a rounding to at most 25 bits is one correct
 * rounding (Figueroa, When is double rounding innocuous?, 1995). False: not covered (subnormal,
 * zero, overflow, nan, other modes), the caller takes the row operations, which give and count the
 * same. */
#ifndef RICCI_KERNELS_ARITH_QUICK_H
#define RICCI_KERNELS_ARITH_QUICK_H

#include "kernels/arith/arith.h"
#include <math.h>

/* Is the f64 result r of the operation the exact one? It is far from the ends of f64's range. */
static inline bool arith_quick_exact(EwOp op, double x, double y, double r)
{
    double t;
    switch (op) {
    case EW_ADD: t = r - x; return (x - (r - t)) + (y - t) == 0;
    case EW_SUBTRACT: t = r - x; return (x - (r - t)) - (y + t) == 0;
    case EW_DIVIDE: return __builtin_fma(r, y, -x) == 0;
    case EW_SQRT: return __builtin_fma(r, r, -x) == 0;
    default: return __builtin_fma(x, y, -r) == 0;
    }
}

static inline bool arith_quick(Arith *a, EwOp op, double x, double y, double *result)
{
    union { double d; uint64_t u; } r, size;
    bool wide = a->dtype == DT_F64;
    bool narrow = a->p >= 2 && a->p <= 24 && a->emin >= -126;      /* one bit: it is always odd */
    if (a->round != ROUND_NEAREST || (!wide && !narrow))
        return false;
    switch (op) {
    case EW_ADD: r.d = x + y; break;
    case EW_SUBTRACT: r.d = x - y; break;
    case EW_MULTIPLY: r.d = x * y; break;
    case EW_DIVIDE: r.d = x / y; break;
    case EW_SQRT: r.d = sqrt(x); break;
    default: return false;
    }
    size.d = fabs(r.d);
    if (wide) {
        if (!(size.d > 0x1p-900 && size.d < 0x1p1000 && fabs(x) < 0x1p1000 && fabs(x) > 0x1p-900))
            return false;
        a->flags.inexact += !arith_quick_exact(op, x, y, r.d);
        *result = r.d;
        return true;
    }
    if (!(size.u >= (uint64_t)(a->emin + 1023) << 52 && size.d < a->max))
        return false;
    int drop = 53 - a->p;
    uint64_t unit = UINT64_C(1) << drop, given = r.u;
    double exact = r.d;
    r.u += (unit >> 1) - 1 + (r.u >> drop & 1);
    r.u &= ~(unit - 1);
    a->flags.inexact += r.u != given || !arith_quick_exact(op, x, y, exact);
    *result = r.d;
    return true;
}

#endif
