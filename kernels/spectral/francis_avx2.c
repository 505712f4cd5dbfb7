/* The QR iteration with AVX2. */
#define FRANCIS_TABLE francis_avx2
#include "kernels/spectral/francis_isa.tmpl.h"
