/* Loops of stages for any machine: see nest_stage.tmpl.h. */
#define STAGE_TABLE stage_base
#define VECTOR 16
#include "kernels/nest/nest_stage.tmpl.h"
