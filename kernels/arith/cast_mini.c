/* Casts from and to the binary formats without kernels per dtype: e4m3, e5m2, float(e, p) and
 * complex numbers of one. A double holds all their numbers, a float those of a byte; every cast
 * rounds once, to nearest even. */
#include "kernels/arith/cast_mini.h"

#include "kernels/arith/arith_binary.h"
#include "kernels/tensor/cpu.h"

#include <math.h>
#include <string.h>

enum { STRIP = 512 };

static bool is_byte(DType dt) { return dt == DT_E4M3 || dt == DT_E5M2; }

static bool is_fast(int64_t sa, int64_t sb, int64_t n)
{
    return sa == 1 && sb == 1 && n >= 8 && cpu_isa() >= ISA_AVX2;
}

/* ---- bytes ---- */
/* From f32 or f64. */
static void encode(DType to, uint8_t *out, int64_t so, DType from, const void *x, int64_t sx,
                   int64_t n)
{
    bool wide = from == DT_F64, four = to == DT_E4M3;
    if (is_fast(so, sx, n)) {
        void (*const fast[2][2])(void *, const void *,
                                 int64_t) = { { cast_f32_e5m2_avx2, cast_f32_e4m3_avx2 },
                                              { cast_f64_e5m2_avx2, cast_f64_e4m3_avx2 } };
        fast[wide][four](out, x, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        float f = wide ? f64_to_f32_odd(((const double *)x)[i * sx]) : ((const float *)x)[i * sx];
        out[i * so] = four ? f32_to_e4m3(f) : f32_to_e5m2(f);
    }
}

/* To f32 or f64. */
static void decode(DType to, void *out, int64_t so, DType from, const uint8_t *x, int64_t sx,
                   int64_t n)
{
    bool wide = to == DT_F64, four = from == DT_E4M3;
    if (is_fast(so, sx, n)) {
        void (*const fast[2][2])(void *, const void *,
                                 int64_t) = { { cast_e5m2_f32_avx2, cast_e4m3_f32_avx2 },
                                              { cast_e5m2_f64_avx2, cast_e4m3_f64_avx2 } };
        fast[wide][four](out, x, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        float f = four ? e4m3_to_f32(x[i * sx]) : e5m2_to_f32(x[i * sx]);
        if (wide)
            ((double *)out)[i * so] = (double)f;
        else
            ((float *)out)[i * so] = f;
    }
}

/* ---- strips of doubles ---- */
/* Any real element as a double that rounds to the format of a as the element itself does. */
static int64_t to_doubles(Arith *a, double *strip, DType from, const char *x, int64_t sx, int64_t n)
{
    if (from == DT_I64 && a) {
        for (int64_t i = 0; i < n; i++)
            strip[i] = binary_exact_i64(a, ((const int64_t *)x)[i * sx]);
        return -1;
    }
    if (is_byte(from)) {
        decode(DT_F64, strip, 1, from, (const uint8_t *)x, sx, n);
        return -1;
    }
    if (dtype_base(from) == DT_MINI || from == DT_F64) {
        for (int64_t i = 0; i < n; i++)
            strip[i] = ((const double *)x)[i * sx];
        return -1;
    }
    return cast_plain(DT_F64, strip, 1, dtype_base(from) == DT_CMINI ? DT_C128 : from, x, sx, n);
}

/* To e4m3, e5m2 or MINI. */
static int64_t cast_narrow(DType to, char *out, int64_t so, DType from, const char *x, int64_t sx,
                           int64_t n)
{
    double strip[STRIP];
    Arith a = binary_arith(to, ROUND_NEAREST);
    int64_t in = dtype_info(from)->bytes, bytes = dtype_info(to)->bytes;
    if (is_byte(to) && (from == DT_F64 || from == DT_F32)) {
        encode(to, (uint8_t *)out, so, from, x, sx, n);
        return -1;
    }
    if (!is_byte(to) && from == DT_F64 && so == 1 && sx == 1) {
        binary_round(&a, (double *)out, (const double *)x, n);
        return -1;
    }
    for (int64_t i = 0; i < n; i += STRIP) {
        int64_t count = n - i < STRIP ? n - i : STRIP;
        int64_t bad = to_doubles(&a, strip, from, x + i * sx * in, sx, count);
        if (bad >= 0)
            return i + bad;
        if (is_byte(to)) {
            encode(to, (uint8_t *)out + i * so, so, DT_F64, strip, 1, count);
            continue;
        }
        binary_round(&a, strip, strip, count);
        for (int64_t j = 0; j < count; j++)
            ((double *)(out + i * so * bytes))[j * so] = strip[j];
    }
    return -1;
}

/* ---- complex numbers of a MINI: both parts ---- */
static int64_t cast_complex(DType to, char *out, int64_t so, DType from, const char *x, int64_t sx,
                            int64_t n)
{
    double _Complex strip[STRIP];
    double *parts = (double *)strip;
    int64_t in = dtype_info(from)->bytes;
    DType source = dtype_base(from) == DT_CMINI ? DT_C128 : from;
    Arith a = binary_arith(dtype_real(to), ROUND_NEAREST);
    bool alone = dtype_info(source)->kind != 'c';
    for (int64_t i = 0; i < n; i += STRIP) {
        int64_t count = n - i < STRIP ? n - i : STRIP;
        if (alone) {
            to_doubles(&a, parts, from, x + i * sx * in, sx, count);
            for (int64_t j = count - 1; j >= 0; j--)
                strip[j] = parts[j];
        } else {
            cast_plain(DT_C128, strip, 1, source, x + i * sx * in, sx, count);
        }
        binary_round(&a, parts, parts, 2 * count);
        for (int64_t j = 0; j < count; j++)
            ((double _Complex *)out)[(i + j) * so] = strip[j];
    }
    return -1;
}

/* ---- the door ---- */
int64_t cast_binary(DType to, void *out, int64_t so, DType from, const void *x, int64_t sx,
                    int64_t n)
{
    if (dtype_plain(to) && dtype_plain(from))
        return cast_plain(to, out, so, from, x, sx, n);
    if (to == from && so == 1 && sx == 1 && n > 0) {
        memmove(out, x, (size_t)n * dtype_info(to)->bytes);
        return -1;
    }
    double strip[STRIP];
    int64_t in = dtype_info(from)->bytes, bytes = dtype_info(to)->bytes;
    if (is_byte(to) || dtype_base(to) == DT_MINI)
        return cast_narrow(to, out, so, from, x, sx, n);
    if (dtype_base(to) == DT_CMINI)
        return cast_complex(to, out, so, from, x, sx, n);
    if (dtype_base(from) == DT_CMINI)
        return cast_plain(to, out, so, DT_C128, x, sx, n);
    if (is_byte(from) && (to == DT_F64 || to == DT_F32)) {
        decode(to, out, so, from, x, sx, n);
        return -1;
    }
    for (int64_t i = 0; i < n; i += STRIP) {
        int64_t count = n - i < STRIP ? n - i : STRIP;
        to_doubles(NULL, strip, from, (const char *)x + i * sx * in, sx, count);
        int64_t bad = cast_plain(to, (char *)out + i * so * bytes, so, DT_F64, strip, 1, count);
        if (bad >= 0)
            return i + bad;
    }
    return -1;
}
