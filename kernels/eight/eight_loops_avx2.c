/* Loops over floats for AVX2. */
#define LOOPS eight_loops_avx2
#include "kernels/eight/eight_loops.tmpl.h"
