/* Reduction loops, avx2 build: see reduce_isa.tmpl.h. Only reduce.c reads the table. */
#define RED_TABLE reduce_avx2
#include "kernels/reduce/reduce_isa.tmpl.h"
