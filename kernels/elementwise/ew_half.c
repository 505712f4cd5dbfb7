/* Elementwise kernels of f16 and bf16: strips are widened to f32, computed there and
 * rounded back once. Only nextafter works on the format itself. */
#include "kernels/elementwise/ew_kernels.h"
#include "kernels/tensor/cast.h"

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

static uint16_t half_next(DType half, uint16_t x, uint16_t y) {
    float a = half == DT_F16 ? f16_to_f32(x) : bf16_to_f32(x);
    float b = half == DT_F16 ? f16_to_f32(y) : bf16_to_f32(y);
    if (a != a || b != b) return half == DT_F16 ? f32_to_f16(NAN) : f32_to_bf16(NAN);
    if (a == b) return y;
    if (a == 0) return b > 0 ? 1 : 0x8001;
    return (uint16_t)((a < b) == (a > 0) ? x + 1 : x - 1);
}

static void half_nextafter(DType half, KERNEL_ARGS) {
    const uint16_t *x = in[0], *y = in[1];
    uint16_t *o = out;
    for (int64_t i = 0; i < n; i++) o[i * so] = half_next(half, x[i * si[0]], y[i * si[1]]);
}

static void next_F16(KERNEL_ARGS) { half_nextafter(DT_F16, out, so, in, si, n); }
static void next_BF16(KERNEL_ARGS) { half_nextafter(DT_BF16, out, so, in, si, n); }

#define EW1(id, ...) \
    static void half_##id##_F16(KERNEL_ARGS) { half_run(EW_##id, DT_F16, out, so, in, si, n); } \
    static void half_##id##_BF16(KERNEL_ARGS) { half_run(EW_##id, DT_BF16, out, so, in, si, n); }
#define EW2 EW1
#define EW3 EW1
#include "builtins/arrays/elementwise.def"
#undef EW1

static const EwFn general[EW_COUNT][2] = {
#define EW1(id, ...) [EW_##id] = { half_##id##_F16, half_##id##_BF16 },
#include "builtins/arrays/elementwise.def"
#undef EW1
#undef EW2
#undef EW3
};

EwFn ew_half_kernel(EwOp op, DType half) {
    if (op == EW_NEXTAFTER) return half == DT_F16 ? next_F16 : next_BF16;
    return general[op][half == DT_BF16];
}
