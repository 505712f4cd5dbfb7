/* Distances of numbers: see spacing.h. Decimal and mp by the neighbours that their arithmetic
 * knows. */
#include "kernels/number/spacing.h"

#include "kernels/arith/spacing_binary.h"
#include "kernels/number/number.h"

/* ---- decimal and mp ---- */
static ArithStatus number_ulp(Arith *a, Rational *out, const Rational *x)
{
    Rational inf, size, next;
    const int64_t one[] = { 1, 1 };
    if (number_is_zero(a->dtype, x))
        return ARITH_DIGITS;
    if (number_is_nan(a->dtype, x) || number_is_inf(a->dtype, x))
        return number_from_text(a, out, "nan", 3);
    ArithStatus s = number_from_text(a, &inf, "inf", 3);
    if (s == ARITH_OK)
        s = a->ops->ew(a, EW_ABS, &size, 1, (const void *const[]){ x }, one, 1);
    if (s == ARITH_OK)
        s = a->ops->ew(a, EW_NEXTAFTER, &next, 1, (const void *const[]){ &size, &inf }, one, 1);
    return s == ARITH_OK
               ? a->ops->ew(a, EW_SUBTRACT, out, 1, (const void *const[]){ &next, &size }, one, 1)
               : s;
}

/* ---- rows ---- */
ArithStatus spacing_ulp_row(Arith *a, void *out, int64_t so, const void *x, int64_t sx, int64_t n)
{
    BinaryFormat f;
    bool binary = binary_format(a->dtype, &f);
    if (!binary && dtype_base(a->dtype) != DT_DECIMAL && dtype_base(a->dtype) != DT_MP)
        return ARITH_NONE;
    for (int64_t i = 0; i < n; i++) {
        if ((i & 1023) == 0 && *a->ctx->interrupt)
            return ARITH_INTERRUPT;
        if (binary) {
            ((double *)out)[i * so] = spacing_ulp(&f, ((const double *)x)[i * sx]);
            continue;
        }
        ArithStatus s = number_ulp(a, (Rational *)out + i * so, (const Rational *)x + i * sx);
        if (s != ARITH_OK)
            return s;
    }
    return ARITH_OK;
}
