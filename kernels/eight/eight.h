/* Products of matrices of 8-bit integers, exact, whatever the kernel and the number of threads; and
 * of such as floats are rounded to as they come, with scales and zero points, to f32. */
#ifndef RICCI_KERNELS_EIGHT_H
#define RICCI_KERNELS_EIGHT_H

#include "core/base/ctx.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum EightType { EIGHT_U8, EIGHT_I8, EIGHT_F32, EIGHT_F64 } EightType;

/* An operand: strides in elements, any values. Of floats the places of rows and columns may be told
 * one by one instead, where both tables are there. */
typedef struct EightMat {
    const void *data;
    int64_t rs, cs;
    EightType type;
    const int64_t *row_at, *column_at;
} EightMat;

static inline EightMat eight_turned(EightMat x)
{
    return (EightMat){ x.data, x.cs, x.rs, x.type, x.column_at, x.row_at };
}

/* How numbers stand for others, (q - zero) * scale: per row of A, per column of B. Floats are
 * rounded to such q by their scales as they are packed, and have no zeros. */
typedef struct EightScales {
    const double *row, *column;
    const int32_t *row_zero, *column_zero;      /* |zero| <= 255; NULL: all 0 */
} EightScales;

/* Bytes that a product works in, aligned to 64. */
size_t eight_bytes(int64_t m, int64_t n, int64_t k);
/* C = A B, of A m×k and B k×n of bytes; C are m rows of n that lie together. `memory`: eight_bytes
 * of them. A set interrupt flag ends it early: the caller polls. */
void eight_product(Ctx *, int64_t m, int64_t n, int64_t k, EightMat a, EightMat b, int64_t *c,
                   char *memory);
/* Whether it is quicker here than the same product in f64. */
bool eight_pays(int64_t m, int64_t n, int64_t k);
/* What multiplies here, for reports: `vpdpbusd (AVX512-VNNI)`, … */
const char *eight_routine(void);

/* scale[i] of row i of m×k floats: max|x| / 127 in their own format, 1 where all is zero. Columns
 * are the rows of the transpose. False: an element is nan or infinite. */
bool eight_row_scales(Ctx *, int64_t m, int64_t k, EightMat, double *scale);
/* The rows rounded by them, side by side. */
void eight_round_rows(Ctx *, int64_t m, int64_t k, EightMat, const double *scale, int8_t *to);
size_t eight_scaled_bytes(int64_t m, int64_t n, int64_t k);
/* C[i,j] = sum[k] (A[i,k] - row_zero[i]) (B[k,j] - column_zero[j]), which is exact, times row[i]
 * and column[j] in f64, rounded to f32; eight_scaled_bytes of memory. */
void eight_scaled(Ctx *, int64_t m, int64_t n, int64_t k, EightMat a, EightMat b,
                  const EightScales *, float *c, char *memory);

#endif
