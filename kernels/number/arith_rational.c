/* Arithmetic of exact fractions as a table of arith.h: the operations of rational.h. A result
 * that is no fraction is ARITH_INEXACT, never an approximation; flags count nothing. */
#include "kernels/number/arith_number.h"

static ArithStatus apply(void *work, EwOp op, void *out, const Rational *const x[3])
{
    DType result;
    Ctx *ctx = ((Arith *)work)->ctx;
    RationalFn fn = rational_kernel(op, &result);
    if (!fn)
        return !ew_info[op].as && ew_info[op].result == RES_FLOAT ? ARITH_INEXACT : ARITH_NONE;
    return cells_status(fn(ctx, out, x[0], x[1], x[2]));
}

static ArithStatus ew(Arith *a, EwOp op, void *out, int64_t so, const void *const x[],
                      const int64_t sx[], int64_t n)
{
    const Gmp *g;
    RationalStatus s = rational_gmp(a->ctx, &g);
    return s == RATIONAL_OK ? cells_ew(a, apply, a, op, out, so, x, sx, n) : cells_status(s);
}

/* m base^exp for limbs m. */
static ArithStatus scaled(Arith *a, Rational *out, mpz_srcptr m, bool negative, int64_t base,
                          int64_t exp)
{
    mpq_t q;
    mp_limb_t one = 1;
    Rational digits, scale;
    q->_mp_num = *m;
    q->_mp_num._mp_size = negative ? -m->_mp_size : m->_mp_size;
    q->_mp_den = (__mpz_struct){ ._mp_size = 1, ._mp_d = &one };
    RationalStatus s = rational_keep(a->ctx, &digits, q);
    if (s == RATIONAL_OK && m->_mp_size == 0)
        *out = rational_int(0);
    if (s != RATIONAL_OK || m->_mp_size == 0)
        return cells_status(s);
    s = rational_power(a->ctx, &scale, rational_int(base), rational_int(exp));
    return cells_status(s == RATIONAL_OK ? rational_mul(a->ctx, out, digits, scale) : s);
}

static ArithStatus take(void *work, Rational *out, DType from, const void *element)
{
    Arith *a = work;
    DecimalView v;
    DType base = dtype_base(from);
    if (base == DT_INTERVAL) {
        double middle = number_f64(from, element);
        return cells_status(rational_from_f64(a->ctx, out, middle));
    }
    if (base != DT_DECIMAL && base != DT_MP)
        return cells_status(rational_from(a->ctx, out, from, element));
    Rational c = *(const Rational *)element;
    if (cell_kind(c) != NUMBER_FINITE)
        return ARITH_NO_NUMBER;
    mpz_srcptr m = decimal_view(&v, c);          /* limbs stand alike in both */
    int64_t exp = cell_exponent(c) - (base == DT_MP ? 64 * (int64_t)m->_mp_size : 0);
    return scaled(a, out, m, cell_negative(c), base == DT_MP ? 2 : 10, exp);
}

static ArithStatus load(Arith *a, void *to, int64_t st, DType from, const void *x, int64_t sx,
                        int64_t n)
{
    return cells_load(a, take, a, to, st, from, x, sx, n);
}

static ArithStatus axpy(Arith *a, EwOp op, void *y, int64_t sy, const void *by, const void *x,
                        int64_t sx, int64_t n)
{
    return cells_axpy(a, apply, a, op, y, sy, by, x, sx, n);
}

/* Small ones in registers as long as everything stays small. */
static ArithStatus dot(Arith *a, void *out, const void *x, int64_t sx, const void *y, int64_t sy,
                       int64_t n)
{
    Rational sum = rational_int(0);
    const Rational *u = x, *v = y;
    RationalStatus s = RATIONAL_OK;
    for (int64_t i = 0; i < n && s == RATIONAL_OK; i++) {
        Rational product;
        bool small = rational_accumulate(&sum, u[i * sx], v[i * sy]);
        if (!small)
            s = rational_mul(a->ctx, &product, u[i * sx], v[i * sy]);
        if (!small && s == RATIONAL_OK)
            s = rational_add(a->ctx, &sum, sum, product);
        if ((!small || (i & 1023) == 1023) && *a->ctx->interrupt)
            return ARITH_INTERRUPT;
    }
    *(Rational *)out = sum;
    return cells_status(s);
}

static ArithStatus sum(Arith *a, void *out, const void *x, int64_t sx, int64_t n)
{
    Rational one = rational_int(1);
    return dot(a, out, x, sx, &one, 0, n);
}

static ArithStatus compare(Arith *a, const void *x, const void *y, int *order)
{
    *order = rational_compare(a->ctx, *(const Rational *)x, *(const Rational *)y);
    return ARITH_OK;
}

const ArithOps arith_rational_ops = { ew, load, cells_copy, axpy, dot, sum, compare };
