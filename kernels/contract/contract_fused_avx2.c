/* Strip operations of the fused loop for AVX2, where they matter: sums of products and or of
 * ands. The same source as the plain ones, in the same order of operations. */
#define FUSED_TABLE fused_ops_avx2
#include "kernels/contract/contract_fused_isa.tmpl.h"
