/* Tiles of attention, plain: see attention_isa.tmpl.h. */
#define ATTENTION_SET attention_base
#include "kernels/attention/attention_isa.tmpl.h"
