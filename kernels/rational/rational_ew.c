/* The elementwise operations that have an exact form, one small function each, in a table by
 * EwOp. */
#include "kernels/rational/rational.h"

#define X const Rational *x, const Rational *y, const Rational *z
#define UNUSED (void)x, (void)y, (void)z, (void)ctx

typedef RationalStatus Status;

/* ---- arithmetic ---- */

static Status ew_add(Ctx *ctx, void *out, X) { UNUSED; return rational_add(ctx, out, *x, *y); }
static Status ew_subtract(Ctx *ctx, void *out, X) { UNUSED; return rational_sub(ctx, out, *x, *y); }
static Status ew_multiply(Ctx *ctx, void *out, X) { UNUSED; return rational_mul(ctx, out, *x, *y); }
static Status ew_divide(Ctx *ctx, void *out, X) { UNUSED; return rational_div(ctx, out, *x, *y); }
static Status ew_power(Ctx *ctx, void *out, X) { UNUSED; return rational_power(ctx, out, *x, *y); }
static Status ew_negative(Ctx *ctx, void *out, X) { UNUSED; return rational_neg(ctx, out, *x); }
static Status ew_floor(Ctx *ctx, void *out, X) { UNUSED; return rational_floor(ctx, out, *x); }
static Status ew_round(Ctx *ctx, void *out, X) { UNUSED; return rational_round(ctx, out, *x); }

static Status put(void *out, Rational a)
{
    *(Rational *)out = a;
    return RATIONAL_OK;
}

static Status ew_same(Ctx *ctx, void *out, X) { UNUSED; return put(out, *x); }

static Status ew_zero(Ctx *ctx, void *out, X) { UNUSED; return put(out, rational_int(0)); }

static Status ew_floor_divide(Ctx *ctx, void *out, X)
{
    UNUSED;
    Rational q;
    Status s = rational_div(ctx, &q, *x, *y);
    return s == RATIONAL_OK ? rational_floor(ctx, out, q) : s;
}

static Status ew_mod(Ctx *ctx, void *out, X)
{
    UNUSED;
    Rational q;
    Status s = ew_floor_divide(ctx, &q, x, y, z);
    if (s == RATIONAL_OK) s = rational_mul(ctx, &q, q, *y);
    return s == RATIONAL_OK ? rational_sub(ctx, out, *x, q) : s;
}

static Status ew_fma(Ctx *ctx, void *out, X)
{
    Rational p;
    Status s = rational_mul(ctx, &p, *x, *y);
    return s == RATIONAL_OK ? rational_add(ctx, out, p, *z) : s;
}

static Status ew_abs(Ctx *ctx, void *out, X)
{
    UNUSED;
    return rational_sign(*x) < 0 ? rational_neg(ctx, out, *x) : put(out, *x);
}

static Status ew_sign(Ctx *ctx, void *out, X)
{
    UNUSED;
    return put(out, rational_int(rational_sign(*x)));
}

static Status ew_ceil(Ctx *ctx, void *out, X)
{
    UNUSED;
    Rational n;
    Status s = rational_neg(ctx, &n, *x);
    if (s == RATIONAL_OK) s = rational_floor(ctx, &n, n);
    return s == RATIONAL_OK ? rational_neg(ctx, out, n) : s;
}

static Status ew_trunc(Ctx *ctx, void *out, X)
{
    return rational_sign(*x) < 0 ? ew_ceil(ctx, out, x, y, z) : rational_floor(ctx, out, *x);
}

static Status ew_relu(Ctx *ctx, void *out, X)
{
    UNUSED;
    return put(out, rational_sign(*x) < 0 ? rational_int(0) : *x);
}

/* ---- roots, where they are fractions ---- */

static Status ew_sqrt(Ctx *ctx, void *out, X)
{
    UNUSED;
    const Gmp *g;
    RationalView v;
    mpq_t r;
    Status s = rational_gmp(ctx, &g);
    if (s != RATIONAL_OK) return s;
    const __mpq_struct *q = rational_view(&v, *x);
    if (rational_sign(*x) < 0 || !g->mpz_perfect_square_p(&q->_mp_num) ||
        !g->mpz_perfect_square_p(&q->_mp_den))
        return RATIONAL_INEXACT;
    g->mpq_init(r);
    g->mpz_sqrt(&r->_mp_num, &q->_mp_num);
    g->mpz_sqrt(&r->_mp_den, &q->_mp_den);
    s = rational_keep(ctx, out, r);
    g->mpq_clear(r);
    return s;
}

static Status ew_cbrt(Ctx *ctx, void *out, X)
{
    UNUSED;
    const Gmp *g;
    RationalView v;
    mpq_t r;
    Status s = rational_gmp(ctx, &g);
    if (s != RATIONAL_OK) return s;
    const __mpq_struct *q = rational_view(&v, *x);
    g->mpq_init(r);
    bool exact = g->mpz_root(&r->_mp_num, &q->_mp_num, 3);
    exact &= g->mpz_root(&r->_mp_den, &q->_mp_den, 3) != 0;
    s = exact ? rational_keep(ctx, out, r) : RATIONAL_INEXACT;
    g->mpq_clear(r);
    return s;
}

/* ---- comparisons and choices ---- */

static Status truth(void *out, bool b)
{
    *(uint8_t *)out = b;
    return RATIONAL_OK;
}

static Status ew_equal(Ctx *ctx, void *out, X)
{
    UNUSED;
    return truth(out, rational_equal(*x, *y));
}

static Status ew_not_equal(Ctx *ctx, void *out, X)
{
    UNUSED;
    return truth(out, !rational_equal(*x, *y));
}

static Status ew_less(Ctx *ctx, void *out, X)
{
    UNUSED;
    return truth(out, rational_compare(ctx, *x, *y) < 0);
}

static Status ew_less_equal(Ctx *ctx, void *out, X)
{
    UNUSED;
    return truth(out, rational_compare(ctx, *x, *y) <= 0);
}

static Status ew_greater(Ctx *ctx, void *out, X)
{
    UNUSED;
    return truth(out, rational_compare(ctx, *x, *y) > 0);
}

static Status ew_greater_equal(Ctx *ctx, void *out, X)
{
    UNUSED;
    return truth(out, rational_compare(ctx, *x, *y) >= 0);
}
static Status ew_never(Ctx *ctx, void *out, X) { UNUSED; return truth(out, false); }
static Status ew_always(Ctx *ctx, void *out, X) { UNUSED; return truth(out, true); }

static Status ew_maximum(Ctx *ctx, void *out, X)
{
    UNUSED;
    return put(out, rational_compare(ctx, *x, *y) < 0 ? *y : *x);
}

static Status ew_minimum(Ctx *ctx, void *out, X)
{
    UNUSED;
    return put(out, rational_compare(ctx, *x, *y) > 0 ? *y : *x);
}

static Status ew_clamp(Ctx *ctx, void *out, X)
{
    Rational low = rational_compare(ctx, *x, *y) < 0 ? *y : *x;
    return put(out, rational_compare(ctx, low, *z) > 0 ? *z : low);
}

static Status ew_where(Ctx *ctx, void *out, X)
{
    UNUSED;
    return put(out, rational_sign(*x) != 0 ? *y : *z);
}

static const RationalFn table[EW_COUNT] = {
    [EW_ADD] = ew_add, [EW_SUBTRACT] = ew_subtract, [EW_MULTIPLY] = ew_multiply,
    [EW_DIVIDE] = ew_divide, [EW_FLOOR_DIVIDE] = ew_floor_divide, [EW_MOD] = ew_mod,
    [EW_POWER] = ew_power, [EW_NEGATIVE] = ew_negative, [EW_POSITIVE] = ew_same,
    [EW_FMA] = ew_fma, [EW_ABS] = ew_abs, [EW_SIGN] = ew_sign, [EW_EQUAL] = ew_equal,
    [EW_NOT_EQUAL] = ew_not_equal, [EW_LESS] = ew_less, [EW_LESS_EQUAL] = ew_less_equal,
    [EW_GREATER] = ew_greater, [EW_GREATER_EQUAL] = ew_greater_equal, [EW_MAXIMUM] = ew_maximum,
    [EW_MINIMUM] = ew_minimum, [EW_CLAMP] = ew_clamp, [EW_WHERE] = ew_where,
    [EW_ISNAN] = ew_never, [EW_ISINF] = ew_never, [EW_ISFINITE] = ew_always,
    [EW_FLOOR] = ew_floor, [EW_CEIL] = ew_ceil, [EW_ROUND] = ew_round, [EW_TRUNC] = ew_trunc,
    [EW_SQRT] = ew_sqrt, [EW_CBRT] = ew_cbrt, [EW_REAL] = ew_same, [EW_IMAG] = ew_zero,
    [EW_CONJ] = ew_same, [EW_RELU] = ew_relu,
};

RationalFn rational_kernel(EwOp op, DType *result)
{
    *result = ew_info[op].result == RES_BOOL ? DT_BOOL : DT_RATIONAL;
    return table[op];
}

bool rational_form(EwOp op, RationalForm *f)
{
    f->op = op;
    f->own = rational_kernel(op, &f->result) != NULL;
    if (f->own || !ew_parts(op, &f->parts))
        return f->own;
    for (int i = 0; i < f->parts.parts; i++)
        if (!table[f->parts.part[i].op])
            return false;
    for (int k = 0; k < f->parts.wholes; k++)
        f->whole[k] = rational_int(f->parts.whole[k]);
    return true;
}

static int run_part(void *work, EwOp op, void *out, int64_t so, const void *const x[],
                    const int64_t sx[], int64_t n)
{
    static const Rational zero;
    Ctx *ctx = work;
    int64_t bytes = ew_info[op].result == RES_BOOL ? 1 : (int64_t)sizeof(Rational);
    Status s = RATIONAL_OK;
    for (int64_t i = 0; i < n && s == RATIONAL_OK; i++) {
        const Rational *in[3] = { &zero, &zero, &zero };
        for (int k = 0; k < ew_info[op].arity; k++)
            in[k] = (const Rational *)x[k] + i * sx[k];
        s = table[op](ctx, (char *)out + i * so * bytes, in[0], in[1], in[2]);
        if (s == RATIONAL_OK && *ctx->interrupt)
            s = RATIONAL_INTERRUPT;
    }
    return (int)s;
}

Status rational_row(const RationalForm *f, Ctx *ctx, void *out, int64_t so, const void *const x[],
                    const int64_t sx[], int64_t n)
{
    return f->own ? (Status)run_part(ctx, f->op, out, so, x, sx, n)
                  : (Status)ew_parts_run(&f->parts, run_part, ctx, f->whole, out, so, x, sx, n);
}
