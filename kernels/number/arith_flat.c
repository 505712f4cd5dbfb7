/* Arithmetic of mp(bits) on flat numbers: sign, exponent and limbs in one place, as long as the
 * format's numbers are, in the stead of cells with blocks of a heap. The bits, the flags and the
 * draws are those of arith_mp.c, which takes over whatever is out of the ordinary (infinities, NaN,
 * exponents near the ends, functions); but for a quotient or a root nothing is allocated and no
 * library called. For algorithms that keep their numbers to themselves for a while: textbooks. */
#include "kernels/number/limbs.h"

#include <math.h>
#include <string.h>

typedef struct FlatWork {
    Arith *a;
    Rounding rounding;
    ArithStatus status;
    uint64_t draws;          /* of what flat_others did */
    int limbs;
} FlatWork;

static FlatWork flat_begin(Arith *a, int limbs)
{
    Rounding r = { .mode = a->round, .low = (int)(64 * limbs - a->digits) };
    return (FlatWork){ .a = a, .rounding = r, .limbs = limbs };
}

/* rounded: results that were, each of which has its draw. */
static ArithStatus flat_end(FlatWork *w, int64_t rounded)
{
    w->a->flags.inexact += w->rounding.inexact;
    w->a->draw += (uint64_t)rounded;
    return w->status == ARITH_OK && *w->a->ctx->interrupt ? ARITH_INTERRUPT : w->status;
}

/* Finite, and so far from the ends that no sum or product of two reaches them. */
static inline bool flat_easy(const Unpacked *h)
{
    return h->kind == NUMBER_FINITE && h->exp <= MP_FAR && h->exp >= -MP_FAR;
}

static uint64_t *limbs_of(void *flat) { return (uint64_t *)(void *)((Unpacked *)flat + 1); }
static const Unpacked *head_of(const void *flat) { return flat; }

/* ---- cells and back ---- */

/* The arithmetic of cells with the counts of a. */
static Arith with_cells(const Arith *a)
{
    Arith plain = *a;
    plain.ops = &arith_mp_ops;
    plain.carrier = a->dtype;
    plain.size = (int)sizeof(Rational);
    return plain;
}

static bool to_cell(const FlatWork *w, Rational *cell, const void *flat)
{
    const Unpacked *h = head_of(flat);
    const uint64_t *d = (const uint64_t *)(const void *)(h + 1);
    size_t size = (size_t)w->limbs, low = 0;
    if (h->zero || h->kind != NUMBER_FINITE) {
        *cell = cell_small(0, h->negative, h->kind, 0);
        return true;
    }
    while (d[low] == 0)
        low++;
    return cell_make(w->a->ctx, cell, d + low, size - low, h->negative, h->exp);
}

static void from_mpfr(const FlatWork *w, void *flat, mpfr_srcptr x)
{
    Unpacked *h = flat;
    bool regular = mpfr_is_regular(x);
    memset(flat, 0, (size_t)w->a->size);
    h->exp = regular ? x->_mpfr_exp : 0;
    h->zero = mpfr_is_zero(x);
    h->kind = mpfr_is_nan(x) ? NUMBER_NAN : mpfr_is_inf(x) ? NUMBER_INF : NUMBER_FINITE;
    h->negative = x->_mpfr_sign < 0 && !mpfr_is_nan(x);
    if (regular)
        memcpy(limbs_of(flat), x->_mpfr_d, (size_t)w->limbs * sizeof(uint64_t));
}

/* Of a cell of any length; rounded where it is longer than the format, which no result is. */
static void from_cell(const FlatWork *w, void *flat, Rational cell)
{
    enum { NEAREST = MPFR_RNDN };
    uint64_t limbs[MP_LIMBS];
    MpView v;
    mpfr_srcptr x = mp_view(&v, cell);
    __mpfr_struct r = { ._mpfr_prec = w->a->digits, ._mpfr_sign = 1, ._mpfr_exp = __MPFR_EXP_ZERO,
                        ._mpfr_d = limbs };
    mpfr_open(NULL)->mpfr_set(&r, x, (mpfr_rnd_t)NEAREST);
    from_mpfr(w, flat, &r);
}

/* One operation as arith_mp.c has it; a comparison writes a byte. */
static void flat_slow(FlatWork *w, EwOp op, void *out, const void *const x[3])
{
    Rational cells[3], result = { 0 };
    const void *in[3] = { NULL, NULL, NULL };
    const int64_t steps[3] = { 0, 0, 0 };
    const void *mark = rational_block_mark(w->a->ctx);
    Arith plain = with_cells(w->a);
    bool truth = ew_info[op].result == RES_BOOL, room = true;
    for (int k = 0; k < ew_info[op].arity && w->status == ARITH_OK; k++) {
        room &= to_cell(w, &cells[k], x[k]);
        in[k] = &cells[k];
    }
    if (w->status == ARITH_OK)
        w->status = room ? plain.ops->ew(&plain, op, &result, 1, in, steps, 1) : ARITH_MEMORY;
    w->a->flags = plain.flags;
    w->draws += plain.draw - w->a->draw;
    if (truth)
        memcpy(out, &result, 1);
    else if (w->status == ARITH_OK)
        from_cell(w, out, result);
    rational_block_drop(w->a->ctx, mark, 0);
}

/* ---- what is neither + nor - nor * ---- */

/* Signs alone; false: it is another operation, or the number is none. */
static bool flat_moves(FlatWork *w, EwOp op, void *out, const void *x)
{
    if ((op != EW_ABS && op != EW_NEGATIVE && op != EW_POSITIVE) ||
        head_of(x)->kind == NUMBER_NAN)
        return false;
    bool negative = head_of(x)->negative;
    memmove(out, x, (size_t)w->a->size);
    ((Unpacked *)out)->negative = op == EW_POSITIVE ? negative : op == EW_NEGATIVE && !negative;
    return true;
}

static __mpfr_struct view_of(const FlatWork *w, const void *flat)
{
    const Unpacked *h = head_of(flat);
    return (__mpfr_struct){ ._mpfr_prec = w->a->digits, ._mpfr_sign = h->negative ? -1 : 1,
                            ._mpfr_exp = h->zero ? __MPFR_EXP_ZERO : h->exp,
                            ._mpfr_d = (uint64_t *)(uintptr_t)(h + 1) };
}

/* Quotients and roots of ordinary numbers, which are ordinary, in the modes that MPFR has. */
static bool flat_direct(FlatWork *w, EwOp op, void *out, const void *x, const void *y)
{
    static const mpfr_rnd_t modes[ROUND_MODES] = { [ROUND_NEAREST] = MPFR_RNDN,
                                                   [ROUND_ZERO] = MPFR_RNDZ,
                                                   [ROUND_UP] = MPFR_RNDU,
                                                   [ROUND_DOWN] = MPFR_RNDD };
    RoundMode mode = w->a->round;
    uint64_t limbs[MP_LIMBS];
    if ((op != EW_DIVIDE && op != EW_SQRT) || mode == ROUND_AWAY || mode == ROUND_ODD)
        return false;
    const Unpacked *u = head_of(x), *v = op == EW_DIVIDE ? head_of(y) : u;
    if (!flat_easy(u) || !flat_easy(v) || u->zero || v->zero || (op == EW_SQRT && u->negative))
        return false;
    __mpfr_struct r = { ._mpfr_prec = w->a->digits, ._mpfr_sign = 1, ._mpfr_d = limbs };
    __mpfr_struct a = view_of(w, x), b = view_of(w, v);
    const Mpfr *f = mpfr_open(NULL);
    int t = op == EW_SQRT ? f->mpfr_sqrt(&r, &a, modes[mode])
                          : f->mpfr_div(&r, &a, &b, modes[mode]);
    w->rounding.inexact += t != 0;
    w->draws++;
    from_mpfr(w, out, &r);
    return true;
}

static void flat_others(FlatWork *w, EwOp op, void *out, int64_t so, const void *const x[],
                        const int64_t sx[], int64_t n)
{
    int64_t size = w->a->size, bytes = ew_info[op].result == RES_BOOL ? 1 : size;
    for (int64_t i = 0; i < n && w->status == ARITH_OK && !*w->a->ctx->interrupt; i++) {
        const void *in[3] = { NULL, NULL, NULL };
        char *to = (char *)out + i * so * bytes;
        for (int k = 0; k < ew_info[op].arity; k++)
            in[k] = (const char *)x[k] + i * sx[k] * size;
        if (!flat_moves(w, op, to, in[0]) && !flat_direct(w, op, to, in[0], in[1]))
            flat_slow(w, op, to, in);
    }
}

/* ---- rows that need no rounding of their own ---- */

static int limbs_from(const Arith *a) { return (int)(a->digits + 63) / 64; }

static ArithStatus flat_load(Arith *a, void *to, int64_t st, DType from, const void *x, int64_t sx,
                             int64_t n)
{
    FlatWork w = flat_begin(a, limbs_from(a));
    Arith plain = with_cells(a);
    int64_t bytes = dtype_info(from)->bytes;
    const void *mark = rational_block_mark(a->ctx);
    for (int64_t i = 0; i < n && w.status == ARITH_OK; i++) {
        Rational cell;
        const char *element = (const char *)x + i * sx * bytes;
        w.status = plain.ops->load(&plain, &cell, 1, from, element, 1, 1);
        if (w.status == ARITH_OK)
            from_cell(&w, (char *)to + i * st * a->size, cell);
        rational_block_drop(a->ctx, mark, 0);
    }
    a->flags = plain.flags;
    a->draw = plain.draw;
    return w.status == ARITH_OK && *a->ctx->interrupt ? ARITH_INTERRUPT : w.status;
}

static ArithStatus flat_store(Arith *a, void *to, int64_t st, const void *x, int64_t sx, int64_t n)
{
    FlatWork w = flat_begin(a, limbs_from(a));
    for (int64_t i = 0; i < n; i++)
        if (!to_cell(&w, (Rational *)to + i * st, (const char *)x + i * sx * a->size))
            return ARITH_MEMORY;
    return ARITH_OK;
}

/* |x| against |y|, neither 0. */
static int compare_sizes(const FlatWork *w, const void *x, const void *y)
{
    const Unpacked *u = head_of(x), *v = head_of(y);
    const uint64_t *a = (const uint64_t *)(const void *)(u + 1);
    const uint64_t *b = (const uint64_t *)(const void *)(v + 1);
    int i = w->limbs - 1;
    if (u->exp != v->exp)
        return u->exp < v->exp ? -1 : 1;
    while (i > 0 && a[i] == b[i])
        i--;
    return (a[i] > b[i]) - (a[i] < b[i]);
}

static ArithStatus flat_compare(Arith *a, const void *x, const void *y, int *order)
{
    FlatWork w = flat_begin(a, limbs_from(a));
    const Unpacked *u = head_of(x), *v = head_of(y);
    int su = u->zero ? 0 : u->negative ? -1 : 1, sv = v->zero ? 0 : v->negative ? -1 : 1;
    if (u->kind == NUMBER_NAN || v->kind == NUMBER_NAN)
        *order = 2;
    else if (su != sv)
        *order = su < sv ? -1 : 1;
    else if (su == 0)
        *order = 0;
    else if (u->kind == NUMBER_INF || v->kind == NUMBER_INF)
        *order = su * ((u->kind == NUMBER_INF) - (v->kind == NUMBER_INF));
    else
        *order = su * compare_sizes(&w, x, y);
    return ARITH_OK;
}

/* ---- the tables ---- */

#define LIMBS 1
#include "kernels/number/arith_flat.tmpl.h"
#define LIMBS 2
#include "kernels/number/arith_flat.tmpl.h"
#define LIMBS 3
#include "kernels/number/arith_flat.tmpl.h"
#define LIMBS 4
#include "kernels/number/arith_flat.tmpl.h"
#define LIMBS 5
#include "kernels/number/arith_flat.tmpl.h"
#define LIMBS 6
#include "kernels/number/arith_flat.tmpl.h"
#define LIMBS 7
#include "kernels/number/arith_flat.tmpl.h"
#define LIMBS 8
#include "kernels/number/arith_flat.tmpl.h"

#define OPS(n) { flat_ew_##n, flat_load, flat_store, flat_axpy_##n, flat_dot_##n, flat_sum_##n, \
                 flat_compare, NULL }
static const ArithOps flat_ops[MP_LIMBS] = { OPS(1), OPS(2), OPS(3), OPS(4),
                                             OPS(5), OPS(6), OPS(7), OPS(8) };
#undef OPS

bool arith_flat(const Arith *a, Arith *flat)
{
    *flat = *a;
    if (dtype_base(a->dtype) != DT_MP || a->digits > 64 * MP_LIMBS ||
        a->round == ROUND_STOCHASTIC)
        return false;
    int limbs = limbs_from(a);
    flat->ops = &flat_ops[limbs - 1];
    flat->carrier = DT_U8;
    flat->size = (int)sizeof(Unpacked) + limbs * (int)sizeof(uint64_t);
    return true;
}

double arith_flat_f64(const Arith *a, const void *flat)
{
    const Unpacked *h = head_of(flat);
    const uint64_t *d = (const uint64_t *)(const void *)(h + 1);
    double size = h->zero ? 0 : ldexp((double)d[limbs_from(a) - 1], (int)(h->exp - 64));
    size = h->kind == NUMBER_NAN ? NAN : h->kind == NUMBER_INF ? INFINITY : size;
    return h->negative ? -size : size;
}
