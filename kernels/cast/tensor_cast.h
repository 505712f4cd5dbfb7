/* Any dtype as any other: rows of elements, single ones, whole tensors. Here all formats meet;
 * below, nobody needs to know which kind a dtype is. */
#ifndef RICCI_KERNELS_TENSOR_CAST_H
#define RICCI_KERNELS_TENSOR_CAST_H

#include "kernels/tensor/cast.h"

/* The way of cast_run where one of both has no kernels. */
int64_t cast_format(DType to, void *dst, int64_t sd, DType from, const void *src, int64_t ss,
                    int64_t n);
/* dst[i] = (cast) src[i] for n elements; round to nearest even, wraps nothing: returns the
 * index of the first value that does not fit an integer dtype, or -1. To any dtype but rational,
 * decimal, mp and interval, which need a context: tensor_cast. */
static inline int64_t cast_run(DType to, void *dst, int64_t sd, DType from, const void *src,
                               int64_t ss, int64_t n)
{
    return dtype_plain(to) && dtype_plain(from) ? cast_plain(to, dst, sd, from, src, ss, n)
                                                : cast_format(to, dst, sd, from, src, ss, n);
}
/* Element access for slow paths: any real dtype as double, ints exact as int64. */
double element_f64(DType, const void *);
int64_t element_i64(DType, const void *);
double _Complex element_c128(DType, const void *);

/* New tensor of another dtype (rounded to nearest even once; float to int truncates,
 * out of range or NaN raises ERR_VALUE naming the value; complex to real raises
 * ERR_DTYPE unless every imaginary part is zero). Same dtype: retained. */
Tensor *tensor_cast(Ctx *, Tensor *t, DType);
/* Copies src into dst elementwise; same shape after broadcasting src, same dtype or cast
 * as tensor_cast does. Overlap-safe. The permutation kernel lives behind this. */
void tensor_assign(Ctx *, Tensor *dst, Tensor *src);

#endif
