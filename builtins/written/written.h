/* Rows that are functions in the language (written.c). */
#ifndef RICCI_BUILTINS_WRITTEN_H
#define RICCI_BUILTINS_WRITTEN_H

#include "interp/op/op.h"

Value op_run_written(OpCall *);

#endif
