/* Elementwise kernels for AVX2 with FMA: see ew.tmpl.h. */
#define EW_TABLE ew_table_avx2
#include "kernels/elementwise/ew.tmpl.h"
