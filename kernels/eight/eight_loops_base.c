/* Loops over floats for any processor. */
#define LOOPS eight_loops_base
#include "kernels/eight/eight_loops.tmpl.h"
