/* Direct contractions, plain: see direct_isa.tmpl.h. */
#define DIRECT_SET direct_set_base
#include "kernels/direct/direct_isa.tmpl.h"
