/* The loops of sums.h. Included with WIDTH, the bytes of a vector, TABLE, and the places of the
 * lanes of doubles and floats when neighbours change places. */
#include "kernels/gemm/sums.h"

#include <string.h>

#define SQUARES(T, name)                                                      \
    static double name(int64_t n, const T *x)                                 \
    {                                                                         \
        enum { LANES = 32 };                                                  \
        double lane[LANES] = { 0 }, rest = 0;                                 \
        int64_t i = 0;                                                        \
        for (; i + LANES <= n; i += LANES) {                                  \
            for (size_t at = 0; sizeof(T) == 4 && at < 4 * LANES; at += 64)   \
                __builtin_prefetch((const char *)(x + i) + 8192 + at);        \
            for (int l = 0; l < LANES; l++)                                   \
                lane[l] += (double)x[i + l] * (double)x[i + l];               \
        }                                                                     \
        for (; i < n; i++)                                                    \
            rest += (double)x[i] * (double)x[i];                              \
        for (int half = LANES / 2; half; half /= 2)                           \
            for (int l = 0; l < half; l++)                                    \
                lane[l] += lane[l + half];                                    \
        return lane[0] + rest;                                                \
    }
SQUARES(float, squares_f32)
SQUARES(double, squares_f64)

typedef float Floats __attribute__((vector_size(WIDTH)));
typedef double Doubles __attribute__((vector_size(WIDTH)));

#define PAIRS(T, V, name, ...)                                                \
    static void name(int64_t n, const T *x, const T *y, T sums[4])            \
    {                                                                         \
        enum { BYTES = 128, LANES = BYTES / sizeof(T), MANY = BYTES / WIDTH,  \
               EACH = WIDTH / sizeof(T) };                                    \
        V like[MANY] = { 0 }, unlike[MANY] = { 0 };                           \
        for (int64_t i = 0; i < 2 * n; i += LANES)                            \
            for (int k = 0; k < MANY; k++) {                                  \
                V a, b;                                                       \
                memcpy(&a, x + i + k * EACH, sizeof a);                       \
                memcpy(&b, y + i + k * EACH, sizeof b);                       \
                like[k] += a * b;                                             \
                unlike[k] += a * __builtin_shufflevector(b, b, __VA_ARGS__);  \
            }                                                                 \
        T s[LANES], t[LANES];                                                 \
        memcpy(s, like, sizeof s);                                            \
        memcpy(t, unlike, sizeof t);                                          \
        for (int half = LANES / 2; half > 1; half /= 2)                       \
            for (int l = 0; l < half; l++) {                                  \
                s[l] += s[l + half];                                          \
                t[l] += t[l + half];                                          \
            }                                                                 \
        sums[0] = s[0], sums[1] = s[1], sums[2] = t[0], sums[3] = t[1];       \
    }
PAIRS(float, Floats, pairs_f32, TURNED_FLOATS)
PAIRS(double, Doubles, pairs_f64, TURNED_DOUBLES)

const SumKernels TABLE = { squares_f32, squares_f64, pairs_f32, pairs_f64 };
