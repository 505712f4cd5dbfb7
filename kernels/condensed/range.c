/* Numbers near the ends of the range (range.h). */
#include "kernels/condensed/range.h"

#include "kernels/lapack/lapack.h"

#include <math.h>

int range_exponent(BlasType real, double largest)
{
    int e = 0, most = real == BLAS_S ? 20 : 300;
    frexp(largest, &e);
    return largest > 0 && (e > most || e < -most) ? e : 0;
}

void range_scale(BlasType real, int64_t count, void *x, int exponent)
{
    for (int64_t i = 0; i < count && exponent; i++)
        mat_store(real, x, i, ldexp(mat_real(real, x, i), exponent), 0);
}
