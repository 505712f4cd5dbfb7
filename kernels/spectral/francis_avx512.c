/* The QR iteration with AVX-512. */
#define FRANCIS_TABLE francis_avx512
#include "kernels/spectral/francis_isa.tmpl.h"
