/* Elementwise kernels of f16 and bf16: strips are widened to f32, computed there and
 * rounded back once. Only nextafter works on the format itself. */
#include "kernels/elementwise/ew_kernels.h"
#include "kernels/tensor/cast.h"
#include "kernels/tensor/each_half.h"

#include <math.h>

enum { STRIP = 256 };

#define KERNEL_ARGS void *out, int64_t so, const void *const *in, const int64_t *si, int64_t n

/* Operand k of a strip, widened into w; a bool first operand of `where` stays as it is. */
static const void *widen(DType half, const void *x, int64_t stride, int64_t n, float *w,
                         int64_t *wide_stride) {
    *wide_stride = stride != 0;
    cast_plain(DT_F32, w, 1, half, x, stride, stride ? n : 1);
    return w;
}

static void half_run(EwOp op, DType half, KERNEL_ARGS) {
    const EwInfo *info = &ew_info[op];
    EwFn kernel = ew_kernel(op, DT_F32);
    bool bools = info->result == RES_BOOL;
    float w[3][STRIP], result[STRIP];
    for (int64_t from = 0; from < n; from += STRIP) {
        int64_t count = n - from < STRIP ? n - from : STRIP, strides[3];
        const void *operands[3];
        for (int k = 0; k < info->arity; k++) {
            bool raw = info->result == RES_WHERE && k == 0;
            const char *x = (const char *)in[k] + from * si[k] * (raw ? 1 : 2);
            operands[k] = raw ? x : widen(half, x, si[k], count, w[k], &strides[k]);
            if (raw) strides[k] = si[k];
        }
        if (bools) {
            kernel((uint8_t *)out + from * so, so, operands, strides, count);
        } else {
            kernel(result, 1, operands, strides, count);
            cast_plain(half, (uint16_t *)out + from * so, so, DT_F32, result, 1, count);
        }
    }
}

typedef struct Half {
    float (*load)(uint16_t);
    uint16_t (*store)(float);
} Half;

static uint16_t half_next(Half half, uint16_t x, uint16_t y) {
    float a = half.load(x), b = half.load(y);
    if (a != a || b != b) return half.store(NAN);
    if (a == b) return y;
    if (a == 0) return b > 0 ? 1 : 0x8001;
    return (uint16_t)((a < b) == (a > 0) ? x + 1 : x - 1);
}

static void half_nextafter(Half half, KERNEL_ARGS) {
    const uint16_t *x = in[0], *y = in[1];
    uint16_t *o = out;
    for (int64_t i = 0; i < n; i++) o[i * so] = half_next(half, x[i * si[0]], y[i * si[1]]);
}

/* A table row for one of them: every elementwise operation, and nextafter. */
#define HALF_NEXT(id, half, none) \
    static void next_##id(KERNEL_ARGS) { \
        half_nextafter((Half){ half##_to_f32, f32_to_##half }, out, so, in, si, n); \
    }
#define HALF_RUN(id, half, op) \
    static void half_##op##_##id(KERNEL_ARGS) { half_run(EW_##op, DT_##id, out, so, in, si, n); }
HALVES(HALF_NEXT, )
#define EW1(id, ...) HALVES(HALF_RUN, id)
#define EW2 EW1
#define EW3 EW1
#include "builtins/arrays/elementwise.def"
#undef EW1

static const EwFn next[DT_COUNT] = {
#define NEXT(id, half, none) [DT_##id] = next_##id,
    HALVES(NEXT, )
#undef NEXT
};

static const EwFn general[EW_COUNT][DT_COUNT] = {
#define GENERAL(id, half, op) [DT_##id] = half_##op##_##id,
#define EW1(id, ...) [EW_##id] = { HALVES(GENERAL, id) },
#include "builtins/arrays/elementwise.def"
#undef EW1
#undef EW2
#undef EW3
#undef GENERAL
};

EwFn ew_half_kernel(EwOp op, DType half) {
    return op == EW_NEXTAFTER ? next[half] : general[op][half];
}
