/* Elementwise kernels for any machine: see ew.tmpl.h. */
#define EW_TABLE ew_table_base
#include "kernels/elementwise/ew.tmpl.h"
