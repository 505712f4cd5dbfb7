/* Watching for nans: which results of a step have one where no operand has. Where it stands
 * matters only then. */
#include "kernels/nest/nest_stage.h"

/* 16-bit floats by their bits. */
static bool any_half_nan(const uint16_t *x, int64_t n, int infinity)
{
    bool nan = false;
    for (int64_t i = 0; i < n; i++)
        nan |= (x[i] & 0x7fff) > infinity;
    return nan;
}

static bool any_nan(DType dt, const void *x, int64_t n)
{
    if (dtype_half(dt))
        return any_half_nan(x, n, dtype_half_infinity(dt));
    return stage_kernels()->nan[dt](x, n);
}

bool stage_makes_nan(const StageStep *s, const char *to, const void *const *in,
                     const int64_t *stride, int64_t n)
{
    DType dt = (DType)s->dtype;
    if (!any_nan(dt, to, n))
        return false;
    for (int64_t i = 0; i < n; i++) {
        bool made = any_nan(dt, to + i * s->bytes, 1);
        for (int k = 0; k < s->args && made; k++)
            made = !any_nan(dt, (const char *)in[k] + i * stride[k] * s->bytes, 1);
        if (made)
            return true;
    }
    return false;
}
