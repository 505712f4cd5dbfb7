/* Products of matrices of 8-bit integers, exact, whatever the kernel and the number of threads. */
#ifndef RICCI_KERNELS_EIGHT_H
#define RICCI_KERNELS_EIGHT_H

#include "core/base/ctx.h"

#include <stdbool.h>
#include <stdint.h>

/* An i8 or u8 operand: strides in elements, any values. */
typedef struct EightMat {
    const void *data;
    int64_t rs, cs;
    bool is_signed;
} EightMat;

/* Bytes that a product works in, aligned to 64. */
size_t eight_bytes(int64_t m, int64_t n, int64_t k);
/* C = A B, of A m×k and B k×n; C are m rows of n that lie together. `memory`: eight_bytes of
 * them. A set interrupt flag ends it early: the caller polls. */
void eight_product(Ctx *, int64_t m, int64_t n, int64_t k, EightMat a, EightMat b, int64_t *c,
                   char *memory);
/* Whether it is quicker here than the same product in f64. */
bool eight_pays(int64_t m, int64_t n, int64_t k);
/* What multiplies here, for reports: `vpdpbusd (AVX512-VNNI)`, … */
const char *eight_routine(void);

#endif
