/* Kernels of the pair engine on any machine: see contract_pair_isa.tmpl.h. Chosen by
 * pair_kernel. */
#define PAIR_KERNEL pair_kernel_base
#include "kernels/pair/contract_pair_isa.tmpl.h"
