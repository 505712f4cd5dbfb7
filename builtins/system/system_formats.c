/* Formats as values, float(5, 3), mp(200), decimal(3), and casts to any dtype. */
#include "builtins/system/system_formats.h"

#include "interp/precision/cast.h"
#include "kernels/number/number.h"

/* ---- formats ---- */
/* float(e, p); e = 8 and p = 24 is f32. */
Value format_of_bits(OpCall *c)
{
    int64_t e = arg_int(c, 0), p = arg_int(c, 1);
    if (e < 2 || e > 11)
        arg_error_help(c, 0, ERR_VALUE, "float(5, 11), which is f16",
                       "a format has 2 to 11 exponent bits, not %lld", (long long)e);
    if (p < 1 || p > 53)
        arg_error_help(c, 1, ERR_VALUE,
                       p > 53 ? "wider ones are mp(200)" : "float(5, 3), which is e5m2",
                       "a format has 1 to 53 significand bits, not %lld", (long long)p);
    return v_format(dtype_mini((int)e, (int)p, MINI_IEEE));
}

Value op_run_mp(OpCall *c)
{
    int64_t bits = arg_int(c, 0);
    if (bits < 1 || bits > MP_BITS_MAX)
        arg_error_help(c, 0, ERR_VALUE, "mp(200), about 60 decimal digits",
                       "a number has 1 to %d bits, not %lld", MP_BITS_MAX, (long long)bits);
    return v_format(dtype_mp((int)bits));
}

Value op_run_decimal(OpCall *c)
{
    int64_t digits = arg_int(c, 0);
    if (digits < 1 || digits > DECIMAL_DIGITS_MAX)
        arg_error_help(c, 0, ERR_VALUE, "decimal(3), textbook arithmetic",
                       "a number has 1 to %d digits, not %lld",
                       DECIMAL_DIGITS_MAX, (long long)digits);
    return v_format(dtype_decimal((int)digits));
}

Value op_run_cast(OpCall *c)
{
    return op_cast(c->in, c->args[0], arg_dtype(c, 1, DT_F64));
}
