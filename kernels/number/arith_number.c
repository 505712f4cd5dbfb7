/* Rows of 16-byte cells, for the formats whose arithmetic goes one number at a time: the
 * loops behind the tables of decimal, mp, rational and interval arithmetic, and what opens
 * their libraries. What a number is, is their files' business. */
#include "kernels/number/arith_number.h"

#include <string.h>

bool cells_compares(EwOp op) { return ew_info[op].result == RES_BOOL; }

bool cells_answer(EwOp op, int order)
{
    switch (op) {
    case EW_EQUAL: return order == 0;
    case EW_NOT_EQUAL: return order != 0;
    case EW_LESS: return order == -1;
    case EW_LESS_EQUAL: return order == -1 || order == 0;
    case EW_GREATER: return order == 1;
    default: return order == 0 || order == 1;
    }
}

bool cells_due(const Arith *a, int64_t i) { return a->digits > 4096 || (i & 63) == 63; }

ArithStatus cells_poll(const Arith *a)
{
    if (dtype_base(a->dtype) != DT_INTERVAL && gmp_spent())
        return ARITH_MEMORY;
    return *a->ctx->interrupt ? ARITH_INTERRUPT : ARITH_OK;
}

ArithStatus cells_status(RationalStatus s)
{
    switch (s) {
    case RATIONAL_OK: return ARITH_OK;
    case RATIONAL_DIGITS: return ARITH_DIGITS;
    case RATIONAL_DIVISION: return ARITH_DIVISION;
    case RATIONAL_INEXACT: return ARITH_INEXACT;
    case RATIONAL_NO_NUMBER: return ARITH_NO_NUMBER;
    case RATIONAL_COMPLEX: return ARITH_COMPLEX;
    case RATIONAL_LIBRARY: return ARITH_LIBRARY;
    case RATIONAL_SINGULAR: return ARITH_SINGULAR;
    case RATIONAL_INTERRUPT: return ARITH_INTERRUPT;
    default: return ARITH_MEMORY;
    }
}

/* An operation that the format has no form of, as its row composes it. */
typedef struct Composed {
    Arith *a;
    CellFn fn;
    void *work;
} Composed;

static int composed_part(void *work, EwOp op, void *out, int64_t so, const void *const x[],
                         const int64_t sx[], int64_t n)
{
    const Composed *c = work;
    return (int)cells_ew(c->a, c->fn, c->work, op, out, so, x, sx, n);
}

/* Whole numbers are this format's, rounded as literals are, and counted nowhere. */
static ArithStatus composed(Composed *c, EwOp op, void *out, int64_t so, const void *const x[],
                            const int64_t sx[], int64_t n)
{
    EwParts p;
    Rational whole[EW_WHOLES];
    Arith quiet = *c->a;
    if (!ew_parts(op, &p))
        return ARITH_NONE;
    ArithStatus s = quiet.ops->load(&quiet, whole, 1, DT_I64, p.whole, 1, p.wholes);
    return s == ARITH_OK
               ? (ArithStatus)ew_parts_run(&p, composed_part, c, whole, out, so, x, sx, n)
               : s;
}

ArithStatus cells_ew(Arith *a, CellFn fn, void *work, EwOp op, void *out, int64_t so,
                     const void *const x[], const int64_t sx[], int64_t n)
{
    int arity = ew_info[op].arity;
    int64_t bytes = cells_compares(op) ? 1 : (int64_t)sizeof(Rational);
    ArithStatus s = ARITH_OK;
    for (int64_t i = 0; i < n && s == ARITH_OK; i++) {
        const Rational *operands[3] = { NULL, NULL, NULL };
        char *to = (char *)out + i * so * bytes;
        for (int k = 0; k < arity; k++)
            operands[k] = (const Rational *)x[k] + i * sx[k];
        s = fn(work, op, to, operands);
        if (s == ARITH_NONE && ew_info[op].as)
            return composed(&(Composed){ a, fn, work }, op, to, so, (const void *const *)operands,
                            sx, n - i);
        if (s == ARITH_OK && cells_due(a, i))
            s = cells_poll(a);
    }
    return s == ARITH_OK ? cells_poll(a) : s;
}

ArithStatus cells_axpy(Arith *a, CellFn fn, void *work, EwOp add, void *y, int64_t sy,
                       const void *by, const void *x, int64_t sx, int64_t n)
{
    ArithStatus s = ARITH_OK;
    bool cells = dtype_cells(a->dtype);
    for (int64_t i = 0; i < n && s == ARITH_OK; i++) {
        Rational product, *to = (Rational *)y + i * sy;
        const Rational *factors[3] = { by, (const Rational *)x + i * sx, NULL };
        const Rational *terms[3] = { to, &product, NULL };
        const void *mark = cells ? rational_block_mark(a->ctx) : NULL;
        s = fn(work, EW_MULTIPLY, &product, factors);
        if (s == ARITH_OK)
            s = fn(work, add, to, terms);
        if (s == ARITH_OK && cells)
            rational_block_drop(a->ctx, mark, (int64_t)to->tail < 0 ? to->num : 0);
        if (s == ARITH_OK && cells_due(a, i))
            s = cells_poll(a);
    }
    return s == ARITH_OK ? cells_poll(a) : s;
}

ArithStatus cells_copy(Arith *a, void *to, int64_t st, const void *x, int64_t sx, int64_t n)
{
    (void)a;
    for (int64_t i = 0; i < n; i++)
        ((Rational *)to)[i * st] = ((const Rational *)x)[i * sx];
    return ARITH_OK;
}

ArithStatus cells_load(Arith *a, CellLoad fn, void *work, void *to, int64_t st, DType from,
                       const void *x, int64_t sx, int64_t n)
{
    int64_t bytes = dtype_info(from)->bytes;
    ArithStatus s = ARITH_OK;
    for (int64_t i = 0; i < n && s == ARITH_OK; i++) {
        s = fn(work, (Rational *)to + i * st, from, (const char *)x + i * sx * bytes);
        if (s == ARITH_OK && cells_due(a, i))
            s = cells_poll(a);
    }
    return s == ARITH_OK ? cells_poll(a) : s;
}

ArithStatus arith_number_open(const Arith *a)
{
    const Gmp *g;
    if (dtype_base(a->dtype) == DT_INTERVAL)
        return ARITH_OK;
    RationalStatus s = rational_gmp(a->ctx, &g);
    if (s == RATIONAL_OK && dtype_base(a->dtype) == DT_MP && !mpfr_open(NULL))
        return ARITH_LIBRARY;
    return cells_status(s);
}
