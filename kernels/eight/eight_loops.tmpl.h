/* Loops over floats for one instruction set, which LOOPS names; plain ones, which the compiler
 * turns into vectors. */
#include "kernels/eight/eight_kernels.h"

#include <string.h>

#define PASTE(a, b) a##_##b
#define NAMED(a, b) PASTE(a, b)
#define FN(f) NAMED(f, SUFFIX)

#define REAL float
#define BITS uint32_t
#define MAGNITUDE UINT32_C(0x7fffffff)
#define SHIFTER 0x1.8p23f       /* what is added to it is rounded to a whole number */
#define SUFFIX f32
#include "kernels/eight/eight_loops_type.tmpl.h"

#define REAL double
#define BITS uint64_t
#define MAGNITUDE UINT64_C(0x7fffffffffffffff)
#define SHIFTER 0x1.8p52
#define SUFFIX f64
#include "kernels/eight/eight_loops_type.tmpl.h"

static void finish(int64_t n, const int32_t *sum, const int32_t *less, double row,
                   const double *column, float *to)
{
    for (int64_t j = 0; j < n; j++)
        to[j] = (float)((double)(sum[j] - less[j]) * row * column[j]);
}

const EightLoops LOOPS = {
    .peak_f32 = peak_f32, .peak_f64 = peak_f64, .peaks_f32 = peaks_f32, .peaks_f64 = peaks_f64,
    .row_f32 = row_f32, .row_f64 = row_f64, .weave_f32 = weave_f32, .weave_f64 = weave_f64,
    .finish = finish,
};
