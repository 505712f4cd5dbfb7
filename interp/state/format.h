/* The formats' names. A format (`f32`, `mp(200)`) is a DType in
 * the value itself (v_format in value.h), so two equal formats are equal values. */
#ifndef RICCI_INTERP_FORMAT_H
#define RICCI_INTERP_FORMAT_H

#include "interp/state/value.h"

/* The i-th format that has a name of its own (`f32`, `tf32`, …; not mp(200)); NULL after the
 * last. */
const char *format_name(int i);

#endif
