/* Strip operations of the fused loop for any processor. */
#define FUSED_ALL 1
#define FUSED_TABLE fused_ops_base
#include "kernels/contract/contract_fused_isa.tmpl.h"
