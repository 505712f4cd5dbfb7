/* The names behind format.h, and the one device that is always there. */
#include "interp/state/format.h"


const char *format_name(int i)
{
    return dtype_listed(i);
}
