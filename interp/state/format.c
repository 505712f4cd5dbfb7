/* The names behind format.h, and the one device that is always there. */
#include "interp/state/format.h"


const char *format_name(int i)
{
    static const char *const names[] = {
        "bool", "i8", "u8", "i32", "i64", "e4m3", "e5m2", "f16", "bf16", "f32", "f64",
        "c64", "c128",
        "rational", "tf32", "e3m2", "e2m3", "e2m1", "interval",
    };
    return (size_t)i < sizeof names / sizeof names[0] ? names[i] : NULL;
}
