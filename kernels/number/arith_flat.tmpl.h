/* Rows of flat mp numbers of LIMBS limbs: see arith_flat.c, which includes this once for each
 * LIMBS. What is not far from the ends of MPFR's range goes by limbs.tmpl.h, all else by cells. */
#include "kernels/number/limbs.tmpl.h"

/* x op y for + - *. */
static inline void NAME(flat_two)(FlatWork *w, EwOp op, NAME(Number) *out, const NAME(Number) *x,
                                  const NAME(Number) *y)
{
    if (__builtin_expect(!flat_easy(&x->head) || !flat_easy(&y->head), 0))
        flat_slow(w, op, out, (const void *const[3]){ x, y, NULL });
    else if (op == EW_MULTIPLY)
        NAME(mp_multiply)(&w->rounding, out, x, y);
    else
        NAME(mp_add)(&w->rounding, out, x, y, op == EW_SUBTRACT);
}

static inline void NAME(flat_row)(FlatWork *w, EwOp op, NAME(Number) *out, int64_t so,
                                  const NAME(Number) *x, int64_t sx, const NAME(Number) *y,
                                  int64_t sy, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        NAME(flat_two)(w, op, out + i * so, x + i * sx, y + i * sy);
}

static ArithStatus NAME(flat_ew)(Arith *a, EwOp op, void *out, int64_t so, const void *const x[],
                                 const int64_t sx[], int64_t n)
{
    FlatWork w = flat_begin(a, LIMBS);
    switch (op) {
    case EW_ADD: NAME(flat_row)(&w, EW_ADD, out, so, x[0], sx[0], x[1], sx[1], n); break;
    case EW_SUBTRACT: NAME(flat_row)(&w, EW_SUBTRACT, out, so, x[0], sx[0], x[1], sx[1], n); break;
    case EW_MULTIPLY: NAME(flat_row)(&w, EW_MULTIPLY, out, so, x[0], sx[0], x[1], sx[1], n); break;
    default: flat_others(&w, op, out, so, x, sx, n); n = (int64_t)w.draws;
    }
    return flat_end(&w, n);
}

static ArithStatus NAME(flat_axpy)(Arith *a, EwOp op, void *y, int64_t sy, const void *by,
                                   const void *x, int64_t sx, int64_t n)
{
    FlatWork w = flat_begin(a, LIMBS);
    NAME(Number) *to = y, term;
    const NAME(Number) *from = x, *factor = by;
    for (int64_t i = 0; i < n; i++, to += sy, from += sx) {
        NAME(flat_two)(&w, EW_MULTIPLY, &term, factor, from);
        NAME(flat_two)(&w, op == EW_SUBTRACT ? EW_SUBTRACT : EW_ADD, to, to, &term);
    }
    return flat_end(&w, 2 * n);
}

static ArithStatus NAME(flat_dot)(Arith *a, void *out, const void *x, int64_t sx, const void *y,
                                  int64_t sy, int64_t n)
{
    FlatWork w = flat_begin(a, LIMBS);
    NAME(Number) sum = { .head = { .zero = true } }, term;
    const NAME(Number) *u = x, *v = y;
    for (int64_t i = 0; i < n; i++, u += sx, v += sy) {
        NAME(flat_two)(&w, EW_MULTIPLY, i ? &term : &sum, u, v);
        if (i)
            NAME(flat_two)(&w, EW_ADD, &sum, &sum, &term);
    }
    memcpy(out, &sum, sizeof sum);
    return flat_end(&w, n ? 2 * n - 1 : 0);
}

static ArithStatus NAME(flat_sum)(Arith *a, void *out, const void *x, int64_t sx, int64_t n)
{
    FlatWork w = flat_begin(a, LIMBS);
    NAME(Number) sum = { .head = { .zero = true } };
    const NAME(Number) *u = x;
    for (int64_t i = 0; i < n; i++, u += sx)
        if (i)
            NAME(flat_two)(&w, EW_ADD, &sum, &sum, u);
        else
            sum = *u;
    memcpy(out, &sum, sizeof sum);
    return flat_end(&w, n ? n - 1 : 0);
}

#undef LIMBS
