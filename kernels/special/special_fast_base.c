/* Special functions in doubles for every processor. */
#define SPECIAL_FAST special_fast_base
#include "kernels/special/special_fast.tmpl.h"
