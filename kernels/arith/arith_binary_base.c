/* Rows of binary arithmetic, base build: see arith_binary.tmpl.h. Only arith_binary.c reads the
 * table. */
#define BINARY_TABLE binary_kernels_base
#include "kernels/arith/arith_binary.tmpl.h"
