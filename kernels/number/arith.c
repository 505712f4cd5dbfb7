/* Arithmetic in any format: which table a format has, its parameters, errors. See arith.h; the
 * formats are kernels/arith/arith_binary.c and the neighbours of this file. */
#include "kernels/number/arith_number.h"

#include "core/base/error.h"
#include "kernels/arith/arith_binary.h"

#include <stdio.h>

/* ---- binary formats ---- */
/* Numbers that no C type holds, into one of them. */
static ArithStatus load_numbers(Arith *a, double *to, int64_t st, DType from, const char *x,
                                int64_t sx, int64_t n)
{
    int64_t bytes = dtype_info(from)->bytes;
    for (int64_t i = 0; i < n; i++) {
        BinaryExact v;
        if (i % BINARY_STRIP == 0 && binary_stopped(a))
            return ARITH_INTERRUPT;
        ArithStatus s = arith_number_exact(a->ctx, from, x + i * sx * bytes, &v);
        if (s != ARITH_OK)
            return s;
        to[i * st] = binary_exact_round(a, &v);
    }
    return ARITH_OK;
}

static ArithStatus load(Arith *a, void *to, int64_t st, DType from, const void *x, int64_t sx,
                        int64_t n)
{
    if (dtype_cells(from) || dtype_base(from) == DT_INTERVAL)
        return load_numbers(a, to, st, from, x, sx, n);
    return binary_load(a, to, st, from, x, sx, n);
}

static const ArithOps binary_ops = {
    .ew = binary_ew,
    .load = load,
    .store = binary_store,
    .axpy = binary_axpy,
    .dot = binary_dot,
    .sum = binary_sum,
    .compare = binary_compare,
};

/* ---- formats ---- */
ArithStatus arith_open(Ctx *ctx, Arith *a, DType dt, RoundMode round, bool saturate, bool flush)
{
    *a = binary_arith(dt, round);
    a->ctx = ctx;
    a->saturate = saturate;
    a->flush = flush;
    if (a->carrier == DT_F64) {
        a->ops = &binary_ops;
        return ARITH_OK;
    }
    switch (dtype_base(dt)) {
    case DT_DECIMAL: a->ops = &arith_decimal_ops; a->digits = dtype_digits(dt); break;
    case DT_MP: a->ops = &arith_mp_ops; a->digits = dtype_digits(dt); break;
    case DT_RATIONAL: a->ops = &arith_rational_ops; break;
    case DT_INTERVAL: a->ops = &arith_interval_ops; break;
    default: return ARITH_NONE;
    }
    a->size = dtype_info(dt)->bytes;
    return arith_number_open(a);
}

/* ---- errors ---- */
static _Noreturn void raise_no_operation(Ctx *ctx, DType dt, const char *what)
{
    err_raise_help(ctx, ERR_DTYPE, "convert the operands first: f64(x)", "%s has no form for %s",
                   what, dtype_name(dt));
}

/* Rationals have their own sentences. */
static void raise_rational(Ctx *ctx, ArithStatus s, const char *what)
{
    static const struct { ArithStatus status; RationalStatus rational; } same[] = {
        { ARITH_MEMORY, RATIONAL_MEMORY },       { ARITH_DIGITS, RATIONAL_DIGITS },
        { ARITH_DIVISION, RATIONAL_DIVISION },   { ARITH_INEXACT, RATIONAL_INEXACT },
        { ARITH_NO_NUMBER, RATIONAL_NO_NUMBER }, { ARITH_COMPLEX, RATIONAL_COMPLEX },
        { ARITH_LIBRARY, RATIONAL_LIBRARY },     { ARITH_SINGULAR, RATIONAL_SINGULAR },
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        if (same[i].status == s)
            rational_raise(ctx, same[i].rational, what);
}

_Noreturn void arith_raise(Ctx *ctx, ArithStatus s, DType dt, const char *what)
{
    const char *name = dtype_name(dt);
    if (dt == DT_RATIONAL)
        raise_rational(ctx, s, what);
    switch (s) {
    case ARITH_MEMORY: mem_raise(ctx, 0);
    case ARITH_DIGITS:
        err_raise_help(ctx, ERR_VALUE, "floats end in infinities and zeros: f64(x)",
                       "%s: a number is too large, or too near to 0, for %s", what, name);
    case ARITH_DIVISION:
        err_raise(ctx, ERR_VALUE, "%s divides by zero, and %s has no infinity", what, name);
    case ARITH_INEXACT:
        err_raise_help(ctx, ERR_VALUE, "convert first: f64(x) or mp(200)(x)",
                       "the result of %s is no number of %s", what, name);
    case ARITH_NO_NUMBER:
        err_raise(ctx, ERR_VALUE, "%s meets a nan or an infinity, and %s has neither", what, name);
    case ARITH_COMPLEX:
        err_raise(ctx, ERR_DTYPE, "%s would lose an imaginary part: %s is real", what, name);
    case ARITH_MIXED:
        err_raise_help(ctx, ERR_DTYPE, "convert one of them: f64(x) or decimal(16)(x)",
                       "%s mixes binary and decimal numbers", what);
    case ARITH_UNCERTAIN:
        err_raise_help(ctx, ERR_NUMERIC, "compare midpoints, or narrow the intervals",
                       "%s compares intervals that overlap: the answer is not certain", what);
    case ARITH_LIBRARY:
        mem_room(ctx, (size_t)16 << 20);             /* it may be there, and have had no room */
        err_raise_help(ctx, ERR_IO, "sudo apt install libgmp10 libmpfr6 libflint17 libflint-arb2",
                       "%s in %s needs a library that is not installed (GMP, MPFR or FLINT)", what,
                       name);
    case ARITH_INTERRUPT:
        err_interrupted(ctx);
    case ARITH_SLOW: {
        char help[96];
        snprintf(help, sizeof help, "in fewer bits: precision mp(4096) { %s(x) }", what);
        err_raise_help(ctx, ERR_VALUE, help, "%s in %s would take too long", what, name);
    }
    case ARITH_SINGULAR:
        err_raise(ctx, ERR_NUMERIC, "%s: the matrix is singular in %s", what, name);
    case ARITH_INDEFINITE:
        err_raise(ctx, ERR_NUMERIC, "%s: the matrix is not positive definite in %s", what, name);
    case ARITH_DIVERGED: err_raise(ctx, ERR_NUMERIC, "%s does not converge in %s", what, name);
    default: raise_no_operation(ctx, dt, what);
    }
}
