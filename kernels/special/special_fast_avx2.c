/* Special functions in doubles, built for processors with fused multiply-add. */
#define SPECIAL_FAST special_fast_avx2
#include "kernels/special/special_fast.tmpl.h"
