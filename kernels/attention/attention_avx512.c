/* Tiles of attention, AVX-512: see attention_isa.tmpl.h. */
#define ATTENTION_SET attention_avx512
#include "kernels/attention/attention_isa.tmpl.h"
