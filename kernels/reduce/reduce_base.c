/* Reduction loops, base build: see reduce_isa.tmpl.h. Only reduce.c reads the table. */
#define RED_TABLE reduce_base
#include "kernels/reduce/reduce_isa.tmpl.h"
