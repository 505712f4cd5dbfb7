/* Convolution loops, plain: see conv_isa.tmpl.h. */
#define ISA conv_base
#define VECTOR 16
#include "kernels/signals/conv_isa.tmpl.h"
