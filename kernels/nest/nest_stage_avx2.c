/* Loops of stages for AVX2: see nest_stage.tmpl.h. */
#include <immintrin.h>

#define SQRT_F32 _mm256_sqrt_ps
#define SQRT_F64 _mm256_sqrt_pd
#define PAST(p, v) _mm256_stream_si256((void *)(p), (__m256i)(v))
#define STAGE_TABLE stage_avx2
#define VECTOR 32
#include "kernels/nest/nest_stage.tmpl.h"
