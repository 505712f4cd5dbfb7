/* Casts between the dtypes that have kernels and the binary formats of any size, both ways. */
#ifndef RICCI_KERNELS_CAST_MINI_H
#define RICCI_KERNELS_CAST_MINI_H

#include "kernels/tensor/cast.h"

static inline bool cast_is_mini(DType dt)
{
    DType base = dtype_base(dt);
    return base == DT_E4M3 || base == DT_E5M2 || base == DT_MINI || base == DT_CMINI;
}
/* As cast_plain, for those too. */
int64_t cast_binary(DType to, void *dst, int64_t sd, DType from, const void *src, int64_t ss,
                    int64_t n);

/* One real element, and one of an integer dtype. */
static inline double cast_element_f64(DType from, const void *at)
{
    double x = 0;
    cast_binary(DT_F64, &x, 1, from, at, 1, 1);
    return x;
}
static inline int64_t cast_element_i64(DType from, const void *at)
{
    int64_t i = 0;
    cast_plain(DT_I64, &i, 1, from, at, 1, 1);
    return i;
}

#endif
