/* libcublas.so.12 of the machine that stub.h describes: plain loops over columns. */
#include "tests/stub/stub.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct Handle { void *stream; int math; } Handle;
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14, INVALID = 7 };

EXPORT int cublasCreate_v2(Handle **out)
{
    int code = stub_fails(__func__);
    if (!code)
        stub.handles++, *out = calloc(1, sizeof **out);
    return code;
}

EXPORT int cublasDestroy_v2(Handle *h)
{
    stub.handles--;
    free(h);
    return 0;
}

EXPORT int cublasSetStream_v2(Handle *h, void *stream)
{
    h->stream = stream;
    return 0;
}

EXPORT int cublasSetMathMode(Handle *h, int math)
{
    h->math = math;
    return 0;
}

static float brain_value(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float f;
    memcpy(&f, &wide, 4);
    return f;
}

static uint16_t brain_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static double get(const void *x, int type, long long i)
{
    return type == R_64F ? ((const double *)x)[i] : type == R_32F ? ((const float *)x)[i]
         : type == R_16F ? stub_half_value(((const uint16_t *)x)[i]) : brain_value(((const uint16_t *)x)[i]);
}

static void set(void *x, int type, long long i, double v)
{
    if (type == R_64F)
        ((double *)x)[i] = v;
    else if (type == R_32F)
        ((float *)x)[i] = (float)v;
    else
        ((uint16_t *)x)[i] = type == R_16F ? stub_half_bits((float)v) : brain_bits((float)v);
}

EXPORT int cublasGemmStridedBatchedEx(Handle *h, int opa, int opb, int m, int n, int k, const void *alpha,
                                      const void *a, int type_a, int lda, long long step_a, const void *b, int type_b,
                                      int ldb, long long step_b, const void *beta, void *c, int type_c, int ldc,
                                      long long step_c, int count, int compute, int algorithm)
{
    int code = stub_fails("gemm");
    if (code || (code = stub_wait(h->stream) ? 13 : 0))
        return code;
    int wide = type_a == R_64F;
    double scale = wide ? *(const double *)alpha : *(const float *)alpha;
    if (type_a != type_b || type_b != type_c || compute != (wide ? 70 : 68) || algorithm != -1 || h->math != 16 ||
        scale != 1 || (wide ? *(const double *)beta : *(const float *)beta) != 0 || m < 0 || n < 0 || k < 0 ||
        lda < (opa ? k : m) || ldb < (opb ? n : k) || ldc < m || opa > 1 || opb > 1 || count < 0)
        return INVALID;
    for (long long q = 0; q < count; q++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++) {
                double sum = 0;
                float narrow = 0;
                for (int p = 0; p < k; p++) {
                    double x = get(a, type_a, q * step_a + (opa ? p + (long long)i * lda : i + (long long)p * lda));
                    double y = get(b, type_b, q * step_b + (opb ? j + (long long)p * ldb : p + (long long)j * ldb));
                    sum += x * y;
                    narrow += (float)x * (float)y;
                }
                set(c, type_c, q * step_c + i + (long long)j * ldc, wide ? sum : (double)narrow);
            }
    return 0;
}

EXPORT int cublasGemmEx(Handle *h, int opa, int opb, int m, int n, int k, const void *alpha, const void *a, int type_a,
                        int lda, const void *b, int type_b, int ldb, const void *beta, void *c, int type_c, int ldc,
                        int compute, int algorithm)
{
    return cublasGemmStridedBatchedEx(h, opa, opb, m, n, k, alpha, a, type_a, lda, 0, b, type_b, ldb, 0, beta, c,
                                      type_c, ldc, 0, 1, compute, algorithm);
}
