/* Tiles of attention, AVX2: see attention_isa.tmpl.h. */
#define ATTENTION_SET attention_avx2
#include "kernels/attention/attention_isa.tmpl.h"
