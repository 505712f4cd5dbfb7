/* The story of each kind of error: `ricci --explain KIND` and `:explain KIND`. */
#include "builtins/help.h"

#include <string.h>

bool help_kind(Interp *in, Buf *out, const char *kind)
{
    (void)in;
    for (int i = 0; i < ERR_KINDS; i++)
        if (strcmp(kind, err_kind_name((ErrKind)i)) == 0) {
            buf_printf(out, "error[%s]\n", kind);
            return true;
        }
    return false;
}
