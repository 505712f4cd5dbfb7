/* Loops of stages for AVX-512: see nest_stage.tmpl.h. */
#include <immintrin.h>

#define SQRT_F32 _mm512_sqrt_ps
#define SQRT_F64 _mm512_sqrt_pd
#define STAGE_TABLE stage_avx512
#define VECTOR 64
#include "kernels/nest/nest_stage.tmpl.h"
