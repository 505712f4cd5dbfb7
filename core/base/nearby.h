/* The file that a misspelt path may have meant. */
#ifndef RICCI_CORE_NEARBY_H
#define RICCI_CORE_NEARBY_H

#include "core/base/error.h"

/* The name in the path's folder that is closest to it, with the folder as it was given; false:
 * there is none that is close. */
bool nearby_file(const char *path, char *out, size_t cap);
/* ERR_IO about a path that cannot be opened (errno says why), with that name as help. */
_Noreturn void nearby_raise(Ctx *, const char *path);

#endif
