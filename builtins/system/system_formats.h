/* Formats as values: what float(…) and the rows of system_formats.c share. */
#ifndef RICCI_BUILTINS_SYSTEM_FORMATS_H
#define RICCI_BUILTINS_SYSTEM_FORMATS_H

#include "builtins/strings/text.h"

Value format_of_bits(OpCall *);      /* float(e, p) */

#endif
