/* Blocks of a convolution of real numbers (T, NAME): four registers of sums stay in place
 * while j runs; four additions in flight hide their latency. */
typedef T NAME(vec) __attribute__((vector_size(VECTOR)));
typedef T NAME(loose) __attribute__((vector_size(VECTOR), aligned(sizeof(T)), may_alias));

static void NAME(full)(T *acc, int64_t i, const T *a, const T *b, int64_t from, int64_t to)
{
    enum { LANES = VECTOR / sizeof(T) };
    NAME(loose) *sum = (NAME(loose) *)acc;
    NAME(vec) s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3];
    for (int64_t j = from; j < to; j++) {
        const T *p = a + i - j, by = b[j];
        s0 += by * *(const NAME(loose) *)p;
        s1 += by * *(const NAME(loose) *)(p + LANES);
        s2 += by * *(const NAME(loose) *)(p + 2 * LANES);
        s3 += by * *(const NAME(loose) *)(p + 3 * LANES);
    }
    sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3;
}

static inline void NAME(run)(T *acc, T by, const T *p, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        acc[k] += by * p[k];
}

#define WIDTH ((int64_t)(4 * VECTOR / sizeof(T)))
#include "kernels/signals/conv_row.tmpl.h"
