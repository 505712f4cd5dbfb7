/* The level of this process (cpu.h): asked of the processor and of RICCI_ISA once. */
#include "kernels/tensor/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] =
    { [ISA_BASE] = "base", [ISA_AVX2] = "avx2", [ISA_AVX512] = "avx512" };

const char *cpu_isa_name(CpuIsa isa)
{
    return names[isa];
}

static bool cpu_isa_read(const char *text, CpuIsa *isa)
{
    for (int i = ISA_BASE; i <= ISA_AVX512; i++)
        if (strcmp(text, names[i]) == 0) {
            *isa = (CpuIsa)i;
            return true;
        }
    return false;
}

static CpuIsa of_processor(void)
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

static const char *asked_for(void)
{
    const char *text = getenv("RICCI_ISA");
    return text && *text ? text : NULL;
}

const char *cpu_isa_unknown(void)
{
    const char *text = asked_for();
    CpuIsa any;
    return text && !cpu_isa_read(text, &any) ? text : NULL;
}

CpuIsa cpu_isa(void)
{
    /* the environment is asked once: kernels of one run never differ */
    static _Atomic int known = -1;
    int isa = atomic_load_explicit(&known, memory_order_relaxed);
    if (isa < 0) {
        CpuIsa here = of_processor(), asked = here;
        const char *text = asked_for();
        if (text)
            cpu_isa_read(text, &asked);
        isa = asked < here ? (int)asked : (int)here;
        atomic_store_explicit(&known, isa, memory_order_relaxed);
    }
    return (CpuIsa)isa;
}

bool cpu_has_bf16(void)
{
#if defined(__x86_64__) && !defined(RICCI_HOSTILE)
    return cpu_isa() == ISA_AVX512 && __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}

bool cpu_has_vnni(void)
{
#if defined(__x86_64__) && !defined(RICCI_HOSTILE)
    return cpu_isa() == ISA_AVX512 && __builtin_cpu_supports("avx512vnni");
#else
    return false;
#endif
}

bool cpu_has_avxvnni(void)
{
#if defined(__x86_64__) && !defined(RICCI_HOSTILE)
    /* asked once: a virtual machine takes microseconds for the answer */
    static _Atomic int known = -1;
    int has = atomic_load_explicit(&known, memory_order_relaxed);
    if (has < 0) {
        unsigned a, b, c, d;
        has = cpu_isa() >= ISA_AVX2 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
        atomic_store_explicit(&known, has, memory_order_relaxed);
    }
    return has;
#else
    return false;
#endif
}
