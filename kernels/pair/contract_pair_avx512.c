/* Kernels of the pair engine on AVX-512: see contract_pair_isa.tmpl.h. Chosen by
 * pair_kernel. */
#define PAIR_KERNEL pair_kernel_avx512
#include "kernels/pair/contract_pair_isa.tmpl.h"
