/* Rows of binary arithmetic, avx2 build: see arith_binary.tmpl.h. Only arith_binary.c reads the
 * table. */
#define BINARY_TABLE binary_kernels_avx2
#include "kernels/arith/arith_binary.tmpl.h"
