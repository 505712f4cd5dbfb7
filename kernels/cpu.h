/* Which instruction set the kernels of this process run on: the one place that asks the
 * processor. Every table of kernels per instruction set is chosen by cpu_isa; the levels
 * are those of the compiler flags that the Makefile gives *_avx2.c and *_avx512.c. Hostile
 * builds and other processors run the plain kernels. */
#ifndef RICCI_KERNELS_CPU_H
#define RICCI_KERNELS_CPU_H

typedef enum CpuIsa { ISA_BASE, ISA_AVX2, ISA_AVX512 } CpuIsa;

static inline CpuIsa cpu_isa(void)
{
#if (defined(__x86_64__) || defined(__i386__)) && !defined(RICCI_HOSTILE)
    /* With AVX2 and FMA comes F16C on every processor made. */
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return ISA_BASE;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return ISA_AVX512;
    return ISA_AVX2;
#else
    return ISA_BASE;
#endif
}

#endif
