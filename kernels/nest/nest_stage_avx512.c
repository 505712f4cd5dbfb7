/* Loops of stages for AVX-512: see nest_stage.tmpl.h. */
#include <immintrin.h>

#define SQRT_F32 _mm512_sqrt_ps
#define SQRT_F64 _mm512_sqrt_pd
#define PAST(p, v) _mm512_stream_si512((void *)(p), (__m512i)(v))
#define STAGE_TABLE stage_avx512
#define VECTOR 64
#include "kernels/nest/nest_stage.tmpl.h"
