/* The table behind format.h: one format per storage dtype, and the one device that is
 * always there. */
#include "interp/format.h"

const Format format_table[DT_COUNT] = {
#define DTYPE(id, name_, ctype, compute, bytes, kind, rank) \
    [DT_##id] = { .name = #name_, .dtype = DT_##id },
#include "kernels/dtypes.def"
#undef DTYPE
};

const Device device_cpu = { .name = "cpu" };

const Format *format_named(const char *text, size_t len)
{
    DType dt = dtype_find(text, len);
    return dt == DT_NONE ? NULL : &format_table[dt];
}
