/* The loops of recursion.h. */
#include "kernels/signals/recursion.h"
#include "kernels/reduce/reduce_complex.h"

#define T float
#define TIMES(a, b) ((a) * (b))
#define NAME recursion_f32
#include "kernels/signals/recursion.tmpl.h"

#define T double
#define TIMES(a, b) ((a) * (b))
#define NAME recursion_f64
#include "kernels/signals/recursion.tmpl.h"

#define T float _Complex
#define TIMES(a, b) times_c64(a, b)
#define NAME recursion_c64
#include "kernels/signals/recursion.tmpl.h"

#define T double _Complex
#define TIMES(a, b) times_c128(a, b)
#define NAME recursion_c128
#include "kernels/signals/recursion.tmpl.h"

RecursionFn recursion_kernel(DType dt)
{
    static const RecursionFn table[DT_COUNT] = {
        [DT_F32] = recursion_f32, [DT_F64] = recursion_f64,
        [DT_C64] = recursion_c64, [DT_C128] = recursion_c128,
    };
    return dtype_plain(dt) ? table[dt] : NULL;
}
