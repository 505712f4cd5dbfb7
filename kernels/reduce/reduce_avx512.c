/* Reduction loops, avx512 build: see reduce_isa.tmpl.h. Only reduce.c reads the table. */
#define RED_TABLE reduce_avx512
#include "kernels/reduce/reduce_isa.tmpl.h"
