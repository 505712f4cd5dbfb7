/* Loops over floats for AVX-512. */
#define LOOPS eight_loops_avx512
#include "kernels/eight/eight_loops.tmpl.h"
