/* Kernels of the pair engine on AVX2 with FMA: see contract_pair_isa.tmpl.h. Chosen by
 * pair_kernel. */
#define PAIR_KERNEL pair_kernel_avx2
#include "kernels/pair/contract_pair_isa.tmpl.h"
