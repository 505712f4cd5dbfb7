/* Arithmetic in any format: which table a format has, its parameters, flags, errors, and the
 * matrix product over rows. See arith.h; the formats are arith_binary.c and its neighbours. */
#include "kernels/arith/arith.h"

#include "core/base/error.h"
#include "core/memory/pool.h"
#include "kernels/arith/arith_binary.h"
#include "kernels/rational/rational.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- formats ---- */
bool binary_format(DType dt, BinaryFormat *f)
{
    int e, p;
    MiniStyle style;
    if (!dtype_mini_read(dt, &e, &p, &style))
        return false;
    int bias = (1 << (e - 1)) - 1;
    f->p = p;
    f->emin = 1 - bias;
    f->emax = style == MINI_IEEE ? bias : bias + 1;
    f->over = style == MINI_IEEE ? 'i' : style == MINI_NAN ? 'n' : 's';
    /* All ones; where that is the code of nan, one less. */
    double ones = 2 - ldexp(1, 1 - p);
    f->max = ldexp(style == MINI_NAN ? ones - ldexp(1, 1 - p) : ones, f->emax);
    return true;
}

ArithStatus arith_open(Ctx *ctx, Arith *a, DType dt, RoundMode round, bool saturate, bool flush)
{
    BinaryFormat f;
    *a = (Arith){
        .ctx = ctx, .dtype = dt, .carrier = dt, .round = round, .saturate = saturate, .flush = flush
    };
    if (binary_format(dt, &f)) {
        a->ops = &arith_binary_ops;
        a->carrier = DT_F64;
        a->p = f.p;
        a->emin = f.emin;
        a->emax = f.emax;
        a->max = f.max;
        a->over = f.over;
    } else {
        switch (dtype_base(dt)) {
        case DT_DECIMAL: a->ops = &arith_decimal_ops; a->digits = dtype_digits(dt); break;
        case DT_MP: a->ops = &arith_mp_ops; a->digits = dtype_digits(dt); break;
        case DT_RATIONAL: a->ops = &arith_rational_ops; break;
        case DT_INTERVAL: a->ops = &arith_interval_ops; break;
        default: return ARITH_NONE;
        }
    }
    a->size = dtype_info(a->carrier)->bytes;
    return a->carrier == DT_F64 ? ARITH_OK : arith_number_open(a);
}

/* ---- counts and errors ---- */
void arith_flags_add(ArithFlags *a, const ArithFlags *b)
{
    a->overflow += b->overflow;
    a->underflow += b->underflow;
    a->inexact += b->inexact;
    a->invalid += b->invalid;
    a->divzero += b->divzero;
}

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

/* ---- the matrix product ---- */
typedef struct Product {
    const Arith *acc;
    ArithMatrix C, A, B;
    int64_t n, k;
    ArithStatus status[64];      /* per worker */
    ArithFlags flags[64];
} Product;

/* Cells by inner products, whose partial sums leave no garbage in the heap. */
static ArithStatus cells_row(Arith *a, const Product *p, int64_t i)
{
    char *c = p->C.data + i * p->C.row * a->size;
    const char *x = p->A.data + i * p->A.row * a->size;
    ArithStatus s = ARITH_OK;
    for (int64_t j = 0; j < p->n && s == ARITH_OK; j++) {
        s = a->ops->dot(a, c + j * p->C.col * a->size, x, p->A.col,
                        p->B.data + j * p->B.col * a->size, p->B.row, p->k);
        if (*a->ctx->interrupt)
            s = ARITH_INTERRUPT;
    }
    return s;
}

ArithStatus arith_product_row(Arith *a, ArithMatrix C, ArithMatrix A, ArithMatrix B, int64_t i,
                              int64_t j, int64_t n, int64_t k)
{
    char *c = C.data + (i * C.row + j * C.col) * a->size;
    const char *x = A.data + i * A.row * a->size, *b = B.data + j * B.col * a->size;
    const void *operands[] = { x, b };
    const int64_t strides[] = { 0, B.col };
    if (k == 0) {
        for (int64_t q = 0; q < n; q++)
            memset(c + q * C.col * a->size, 0, (size_t)a->size);
        return ARITH_OK;
    }
    ArithStatus s = a->ops->ew(a, EW_MULTIPLY, c, C.col, operands, strides, n);
    for (int64_t l = 1; l < k && s == ARITH_OK; l++) {
        s = a->ops->axpy(a, EW_ADD, c, C.col, x + l * A.col * a->size, b + l * B.row * a->size, B.col, n);
        if (*a->ctx->interrupt)
            s = ARITH_INTERRUPT;
    }
    return s;
}

/* Draws are numbered by row, so that who computes it makes no difference. */
static void product_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    Product *p = arg;
    Arith a = *p->acc;
    a.flags = (ArithFlags){ 0 };
    ArithStatus s = ARITH_OK;
    for (int64_t i = begin; i < end && s == ARITH_OK; i++) {
        a.draw = p->acc->draw + (uint64_t)(i * p->n) * (uint64_t)(2 * p->k - 1);
        s = dtype_cells(a.dtype) ? cells_row(&a, p, i)
                                 : arith_product_row(&a, p->C, p->A, p->B, i, 0, p->n, p->k);
    }
    if (s != ARITH_OK)
        p->status[worker] = s;
    arith_flags_add(&p->flags[worker], &a.flags);
}

enum { PRODUCT_GRAIN = 1 << 15 };     /* multiply-adds that pay for a thread */

ArithStatus arith_matmul(Arith *acc, ArithMatrix C, ArithMatrix A, ArithMatrix B, int64_t m,
                         int64_t n, int64_t k)
{
    Product p = { .acc = acc, .C = C, .A = A, .B = B, .n = n, .k = k };
    int64_t row = n * k > 0 ? n * k : 1;
    bool binary = acc->carrier == DT_F64, quick = binary && binary_matmul(acc, C, A, B, m, n, k);
    if (!quick && binary && pool_threads(acc->ctx) <= 64)
        pool_for(acc->ctx, m, PRODUCT_GRAIN / row + 1, product_rows, &p);
    else if (!quick)               /* the numbers of a heap belong to one thread */
        product_rows(&p, 0, m, 0);
    ArithStatus s = *acc->ctx->interrupt ? ARITH_INTERRUPT : ARITH_OK;
    for (int w = 0; w < 64; w++) {
        arith_flags_add(&acc->flags, &p.flags[w]);
        if (s == ARITH_OK)
            s = p.status[w];
    }
    if (k > 0)
        acc->draw += (uint64_t)m * (uint64_t)n * (uint64_t)(2 * k - 1);
    return s;
}
