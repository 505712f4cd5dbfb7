/* The composed functions for any machine, two doubles at a time: see ew_composed.tmpl.h. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-math-errno", "no-trapping-math")
#endif
#include "kernels/elementwise/ew_kernels.h"

typedef double VD __attribute__((vector_size(16)));
typedef int64_t VI __attribute__((vector_size(16)));
typedef uint64_t VU __attribute__((vector_size(16)));
typedef float VS __attribute__((vector_size(8)));

#define COMPOSED ew_table_composed_base
#define D_LANES 2
#define D_SET1(c) ((VD){ (c), (c) })
#define D_MAX(a, b) choose((a) > (b), a, b)
#define D_MIN(a, b) choose((a) < (b), a, b)
#define D_ANY(mask) ((mask)[0] | (mask)[1])
#define D_SQRT(x) ((VD){ sqrt((x)[0]), sqrt((x)[1]) })
#include "kernels/elementwise/ew_lanes.tmpl.h"
#include "kernels/elementwise/ew_composed.tmpl.h"

/* f32 through the C library in f64: its own functions of floats are off by up to 1.8 ulp. */
#define WIDE_ROWS(ROW) \
    ROW(SINH, sinh) ROW(ASINH, asinh) ROW(ACOSH, acosh)           \
    ROW(ATANH, atanh)                                                                             \
    ROW(LOG10, log10) ROW(CBRT, cbrt) ROW(TAN, tan)
#define WIDE_ARGS void *out, int64_t so, const void *const *in, const int64_t *si, int64_t n
#define ROW(id, f) \
    static void wide_##id(WIDE_ARGS) { \
        const float *x = in[0]; \
        for (int64_t i = 0; i < n; i++) ((float *)out)[i * so] = (float)f((double)x[i * si[0]]); \
    }
WIDE_ROWS(ROW)
#undef ROW

static void wide_ATAN2(WIDE_ARGS) {
    const float *y = in[0], *x = in[1];
    for (int64_t i = 0; i < n; i++) ((float *)out)[i * so] =
        (float)atan2((double)y[i * si[0]], (double)x[i * si[1]]);
}

const EwFn ew_table_wide[EW_COUNT] = {
#define ROW(id, f) [EW_##id] = wide_##id,
    WIDE_ROWS(ROW)
#undef ROW
    [EW_ATAN2] = wide_ATAN2,
};
