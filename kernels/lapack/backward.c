/* Componentwise backward errors (backward.h): the kernels of this processor. */
#define BACKWARD_TABLE backward_table_base
#include "kernels/lapack/backward_isa.tmpl.h"

#include "kernels/tensor/cpu.h"

size_t backward_room(BlasType t, int64_t n, int64_t cols)
{
    return (4 * (size_t)n + 2 * (size_t)cols) * blas_bytes(t);
}

double backward_error(BlasType t, int64_t n, int64_t kl, int64_t ku, Mat a, const void *x, Mat b,
                      int64_t cols, void *room)
{
    BackwardSystem s = { n, kl, ku, a };
#if defined(__x86_64__) || defined(__i386__)
    if (cpu_isa() >= ISA_AVX2)
        return backward_table_avx2[t](&s, x, b, cols, room);
#endif
    return backward_table_base[t](&s, x, b, cols, room);
}
