/* The file that a misspelt path may have meant. */
#ifndef RICCI_CORE_NEARBY_H
#define RICCI_CORE_NEARBY_H

#include "core/base/error.h"

/* ERR_IO about a path that cannot be opened (errno says why), with that name as help. */
_Noreturn void nearby_raise(Ctx *, const char *path);

#endif
