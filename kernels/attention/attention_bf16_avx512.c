/* The products of two bf16 operands in attention, by AVX512-BF16: the instruction adds the products
 * of two neighbours of depth to each of 16 sums. Called where the processor has it:
 * attention_dot. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512bf16"))), apply_to = function)
#else
#pragma GCC target("avx512bf16")
#endif
#include "kernels/attention/attention_kernels.h"

#include <immintrin.h>
#include <string.h>

#define ALWAYS static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")

enum { LANES = 16, PANEL = 4 * LANES };

typedef float Sums __attribute__((vector_size(64)));
typedef uint32_t Cells __attribute__((vector_size(64)));

/* `rows`, `vectors` and `exact` are constants in every call. Exact: in f32 as IEEE 754 has it,
 * which keeps subnormal numbers. */
ALWAYS void tile(int rows, int vectors, const AttentionDot *x, const uint16_t *a, const uint32_t *b,
                 float *c, bool exact)
{
    Sums s[6][4];
UNROLL
    for (int i = 0; i < rows; i++)
UNROLL
        for (int j = 0; j < vectors; j++)
            s[i][j] = (Sums){ 0 };
    for (int64_t k = 0; k < x->pairs; k++) {
        Cells y[4];
UNROLL
        for (int j = 0; j < vectors; j++)
            memcpy(&y[j], b + k * PANEL + j * LANES, sizeof y[j]);
UNROLL
        for (int i = 0; i < rows; i++) {
            uint32_t cell;
            memcpy(&cell, a + i * x->lda + 2 * k, sizeof cell);
            Cells z = cell - (Cells){ 0 };
UNROLL
            for (int j = 0; j < vectors; j++) {
                if (exact) {
                    s[i][j] += (Sums)(z & 0xffff0000) * (Sums)(y[j] & 0xffff0000);
                    s[i][j] += (Sums)(z << 16) * (Sums)(y[j] << 16);
                } else {
                    s[i][j] = (Sums)_mm512_dpbf16_ps((__m512)s[i][j], (__m512bh)z,
                                                     (__m512bh)y[j]);
                }
            }
        }
    }
UNROLL
    for (int i = 0; i < rows; i++)
UNROLL
        for (int j = 0; j < vectors; j++) {
            Sums r = s[i][j] * x->scale;
            memcpy(c + i * PANEL + j * LANES, &r, sizeof r);
        }
}

ALWAYS void strip(int vectors, const AttentionDot *x, int64_t at, bool exact)
{
    const uint16_t *a = x->a;
    const uint32_t *b = x->b + at;
    float *c = x->c + at;
    int64_t rows = x->rows;
    for (; rows >= 6; rows -= 6, a += 6 * x->lda, c += 6 * PANEL)
        tile(6, vectors, x, a, b, c, exact);
    if (rows >= 4) {
        tile(4, vectors, x, a, b, c, exact);
        rows -= 4, a += 4 * x->lda, c += 4 * PANEL;
    }
    for (; rows > 0; rows--, a += x->lda, c += PANEL)
        tile(1, vectors, x, a, b, c, exact);
}

void attention_dot_bf16(const AttentionDot *x)
{
    int64_t v = 0;
    if (x->exact) {
        for (; v < x->vectors; v++)
            strip(1, x, v * LANES, true);
        return;
    }
    for (; v + 4 <= x->vectors; v += 4)
        strip(4, x, v * LANES, false);
    for (; v + 2 <= x->vectors; v += 2)
        strip(2, x, v * LANES, false);
    for (; v < x->vectors; v++)
        strip(1, x, v * LANES, false);
}
#if defined(__clang__)
#pragma clang attribute pop
#endif
