/* Loops of stages for AVX2: see nest_stage.tmpl.h. */
#define STAGE_TABLE stage_avx2
#define VECTOR 32
#include "kernels/nest/nest_stage.tmpl.h"
