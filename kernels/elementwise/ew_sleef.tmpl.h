/* Transcendental kernels of one instruction set through SLEEF. Included by
 * ew_sleef_avx2.c and ew_sleef_avx512.c with TABLE, ISA, the vector types VD and VF, their
 * lanes and the few operations on them. Every element goes through a full vector (tails
 * are padded), so its result depends on its value alone. */
#include "kernels/elementwise/ew_kernels.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define KERNEL_ARGS void *out, int64_t so, const void *const *in, const int64_t *si, int64_t n
#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

#define T double
#define V VD
#define LANES D_LANES
#define LETTER "d"
#define DT DT_F64
#define LOAD D_LOAD
#define STORE D_STORE
#define SET1 D_SET1
#define OUTSIDE D_OUTSIDE
#define N(f) f##_F64
#define TINY D_TINY
#define MOST DBL_MAX
#define RANGE(lo64, hi64, tiny64, lo32, hi32, tiny32) lo64, hi64, tiny64
#define ONLY_F32(x)
#include "kernels/elementwise/ew_sleef_type.tmpl.h"

#define T float
#define V VF
#define LANES F_LANES
#define LETTER "f"
#define DT DT_F32
#define LOAD F_LOAD
#define STORE F_STORE
#define SET1 F_SET1
#define OUTSIDE F_OUTSIDE
#define N(f) f##_F32
#define TINY F_TINY
#define MOST FLT_MAX
#define RANGE(lo64, hi64, tiny64, lo32, hi32, tiny32) lo32, hi32, tiny32
#define ONLY_F32(x) x
#include "kernels/elementwise/ew_sleef_type.tmpl.h"

#include "kernels/elementwise/ew_lanes.tmpl.h"
#include "kernels/elementwise/ew_vector.tmpl.h"
#include "kernels/elementwise/ew_composed.tmpl.h"

/* ---- f32 in f64 ---- */

enum { PART = 128 };
typedef void (*PartFn)(double *o, const double *x, int64_t n);

static void part_erfc(double *o, const double *x, int64_t n) {
    static _Atomic(void *) slot;
    map1_F64(o, 1, x, 1, n, EW_ERFC, (Fn1_F64)find_F64(&slot, "erfc%s_u15"),
             -INFINITY, INFINITY, 0);
}

static void part_erf(double *o, const double *x, int64_t n) {
    const void *in[] = { x };
    int64_t one = 1;
    sleef_ERF_F64(o, 1, in, &one, n);
}

static inline __attribute__((always_inline))
void parts_F32(void *out, int64_t so, const void *const *in, const int64_t *si, int64_t n,
               PartFn f) {
    float *o = out;
    const float *s = in[0];
    double x[PART], y[PART];
    for (int64_t from = 0; from < n; from += PART) {
        int64_t count = n - from < PART ? n - from : PART;
        for (int64_t i = 0; i < count; i++) x[i] = (double)s[(from + i) * si[0]];
        f(y, x, count);
        for (int64_t i = 0; i < count; i++) o[(from + i) * so] = (float)y[i];
    }
}

/* SLEEF's erf and erfc of floats pass 1 ulp for some operands; through double they do not.
 * In f64 its erfc does as well: there the scalar formula stays. */
static void wide_ERF_F32(KERNEL_ARGS) { parts_F32(out, so, in, si, n, part_erf); }
static void wide_ERFC_F32(KERNEL_ARGS) { parts_F32(out, so, in, si, n, part_erfc); }

static void quick_POWER_F64(KERNEL_ARGS) { powers_F64(out, so, in, si, n, sleef_POWER_F64); }
static void quick_POWER_F32(KERNEL_ARGS) { powers_F32(out, so, in, si, n, sleef_POWER_F32); }

/* The argument of a complex number is that of its parts, which stand two apart. */
#define ANGLE(T, complex, real) \
    static void angle_##complex(KERNEL_ARGS) { \
        const void *parts[] = { (const T *)in[0] + 1, in[0] }; \
        sleef_ATAN2_##real(out, so, parts, (int64_t[]){ 2 * si[0], 2 * si[0] }, n); \
    }
ANGLE(double, C128, F64)
ANGLE(float, C64, F32)
#undef ANGLE

const EwFn TABLE[EW_COUNT][DT_COUNT] = {
#define SLEEF1(id, ...) [EW_##id] = { [DT_F32] = sleef_##id##_F32, [DT_F64] = sleef_##id##_F64 },
#define SLEEF1_F32(id, ...) [EW_##id] = { [DT_F32] = sleef_##id##_F32 },
#define SLEEF2 SLEEF1
#define SLEEF_POWER(id, ...) \
    [EW_##id] = { [DT_F32] = quick_##id##_F32, [DT_F64] = quick_##id##_F64 },
#define SLEEF1_WIDE(id, ...) \
    [EW_##id] = { [DT_F32] = wide_##id##_F32, [DT_F64] = sleef_##id##_F64 },
#include "kernels/elementwise/ew_sleef.def"
#undef SLEEF1
#undef SLEEF2
#undef SLEEF_POWER
#undef SLEEF1_F32
#undef SLEEF1_WIDE
    [EW_ERFC] = { [DT_F32] = wide_ERFC_F32 },
    [EW_ANGLE] = { [DT_C64] = angle_C64, [DT_C128] = angle_C128 },
};
