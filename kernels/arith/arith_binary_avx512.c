/* Rows of binary arithmetic, avx512 build: see arith_binary.tmpl.h. Only arith_binary.c reads the
 * table. */
#define BINARY_TABLE binary_kernels_avx512
#include "kernels/arith/arith_binary.tmpl.h"
