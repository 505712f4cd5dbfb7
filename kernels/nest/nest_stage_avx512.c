/* Loops of stages for AVX-512: see nest_stage.tmpl.h. */
#define STAGE_TABLE stage_avx512
#define VECTOR 64
#include "kernels/nest/nest_stage.tmpl.h"
