/* bf16 products by AVX512-BF16 (contract_pair_bf16.tmpl.h). Called where the processor has it:
 * pair_kernel_bf16. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512bf16"))), apply_to = function)
#else
#pragma GCC target("avx512bf16")
#endif
#include <immintrin.h>

#define BF16_DOT(sum, a, b) (Sums)_mm512_dpbf16_ps((__m512)(sum), (__m512bh)(a), (__m512bh)(b))
#define BF16_KERNEL pair_kernel_bf16_avx512
#define BF16_UNROLL _Pragma("GCC unroll 12")
#include "kernels/pair/contract_pair_bf16.tmpl.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
