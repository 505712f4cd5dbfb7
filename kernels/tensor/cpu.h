/* Which instruction set the kernels of this process run on: the one place that asks the
 * processor. Every table of kernels per instruction set is chosen by cpu_isa; the levels
 * are those of the compiler flags that the Makefile gives *_avx2.c and *_avx512.c. Hostile
 * builds and other processors run the plain kernels. The environment's RICCI_ISA=base|avx2|avx512
 * lowers the level (a level above the processor's is the processor's), so that one machine can test
 * the kernels of others. */
#ifndef RICCI_KERNELS_CPU_H
#define RICCI_KERNELS_CPU_H

#include <stdbool.h>

typedef enum CpuIsa { ISA_BASE, ISA_AVX2, ISA_AVX512 } CpuIsa;

/* The level that kernels are chosen by. */
CpuIsa cpu_isa(void);

/* The level's name, as RICCI_ISA has it. */
const char *cpu_isa_name(CpuIsa isa);

/* Whether AVX512-BF16 is there and the level is AVX-512. */
bool cpu_has_bf16(void);
/* Products of bytes: AVX512-VNNI at the level AVX-512, AVX-VNNI from AVX2 on. */
bool cpu_has_vnni(void);
bool cpu_has_avxvnni(void);

/* What RICCI_ISA says where that is no level, so that it changes nothing; else NULL. The program
 * refuses to start then, libricci goes on. */
const char *cpu_isa_unknown(void);

#endif
