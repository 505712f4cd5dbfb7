/* Casts where a dtype has no kernels: which room takes the pair. And single elements, for slow
 * paths. */
#include "kernels/cast/tensor_cast.h"

#include "kernels/arith/cast_mini.h"
#include "kernels/number/number.h"

int64_t cast_format(DType to, void *dst, int64_t sd, DType from, const void *src, int64_t ss,
                    int64_t n)
{
    switch (dtype_base(from)) {
    case DT_RATIONAL: return rational_cast(to, dst, sd, src, ss, n);
    case DT_DECIMAL: case DT_MP: case DT_INTERVAL:
    case DT_CRATIONAL: case DT_CDECIMAL: case DT_CMP: case DT_CINTERVAL:
        return number_cast(to, dst, sd, from, src, ss, n);
    default: return cast_binary(to, dst, sd, from, src, ss, n);
    }
}

double _Complex element_c128(DType dt, const void *at) {
    double _Complex value = 0;
    cast_run(DT_C128, &value, 1, dt, at, 1, 1);
    return value;
}

double element_f64(DType dt, const void *at) { return creal(element_c128(dt, at)); }

int64_t element_i64(DType dt, const void *at) {
    int64_t value = 0;
    cast_run(DT_I64, &value, 1, dt, at, 1, 1);
    return value;
}
