/* Arithmetic of binary formats in rows of doubles: facts, and what arith.h calls. Rows are cut
 * into strips that stay in the first cache; a strip goes through the loops of
 * arith_binary.tmpl.h, and the elements that these mark through arith_exact.c. Rules in
 * arith_binary.h; sums are arith_binary_sum.c's. */
#include "kernels/arith/arith_binary.h"

#include "kernels/arith/cast_mini.h"
#include "kernels/arith/spacing_binary.h"
#include "kernels/tensor/cpu.h"

#include <math.h>
#include <string.h>

enum { SHORT_ROW = 4 };      /* not worth a plan */

static const uint64_t sign_bit = (uint64_t)1 << 63;

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

Arith binary_arith(DType dt, RoundMode round)
{
    BinaryFormat f;
    Arith a = { .dtype = dt, .carrier = dt, .round = round };
    if (binary_format(dt, &f)) {
        a.carrier = DT_F64;
        a.size = (int)sizeof(double);
        a.p = f.p;
        a.emin = f.emin;
        a.emax = f.emax;
        a.max = f.max;
        a.over = f.over;
    }
    return a;
}

/* ---- plans ---- */
/* 2^e of a normal double. */
static double power_of_two(int e)
{
    union { uint64_t u; double d; } v = { (uint64_t)(e + 1023) << 52 };
    return v.d;
}

/* What overflow gives for one sign, as a size. */
static double overflow_size(const Arith *a, bool negative)
{
    Arith copy = *a;
    return fabs(binary_overflow(&copy, negative));
}

/* Sizes from here to 2^emin round to 2^emin with p bits and unbounded exponents. */
static double tiny_limit(const Arith *a, bool negative)
{
    double least = power_of_two(a->emin), below = least - ldexp(1, a->emin - a->p);
    switch (a->round) {
    case ROUND_NEAREST: case ROUND_AWAY: return least - ldexp(1, a->emin - a->p - 1);
    case ROUND_STOCHASTIC: return below;
    case ROUND_UP: return negative ? least : nextafter(below, least);
    case ROUND_DOWN: return negative ? nextafter(below, least) : least;
    default: return least;
    }
}

static const BinaryKernels *best_kernels(void)
{
    CpuIsa isa = cpu_isa();
    return isa == ISA_AVX512 ? &binary_kernels_avx512
           : isa == ISA_AVX2 ? &binary_kernels_avx2
                             : &binary_kernels_base;
}

BinaryPlan binary_plan(const Arith *a)
{
    BinaryPlan k = { .least = power_of_two(a->emin), .max = a->max, .draw = a->draw, .step = 1 };
    k.kernels = best_kernels();
    k.zero = a->round == ROUND_DOWN ? sign_bit : 0;
    k.floor = a->flush || (a->p == 53 && a->emin > -1022) ? k.least : 0;
    if (a->p == 53)
        return k;
    k.magic = 1.5 * power_of_two(53 - a->p);
    k.unit = power_of_two(1 - a->p);
    k.high = power_of_two(969 + a->p);
    if (a->round == ROUND_STOCHASTIC) {
        k.random = binary_stream(a);
        k.whole = -1;
    }
    for (int sign = 0; sign < 2; sign++) {
        k.over[sign] = overflow_size(a, sign);
        k.tiny[sign] = tiny_limit(a, sign);
    }
    return k;
}

BinaryWay binary_way(const Arith *a, BinaryOp op)
{
    int last = a->emin - a->p + 1;           /* exponent of the smallest number */
    bool product = a->p <= 26 && 2 * last >= -1074 && 2 * (a->emax + 1) <= 1023;
    bool sum = a->emax + 2 - last <= 53;
    if (a->p == 53)
        return WAY_NATIVE;
    if (a->wide)
        return WAY_ODD;
    if (op == BIN_MULTIPLY || op == BIN_FMA)
        return product ? WAY_EXACT : WAY_ODD;
    if (op == BIN_ADD && sum)
        return WAY_EXACT;
    return a->round == ROUND_NEAREST && a->p <= 25 ? WAY_NEAR : WAY_ODD;
}

BinaryOperation binary_operation(const Arith *a, BinaryPlan *k, EwOp ew)
{
    static const EwOp of[BIN_OPS] = { EW_ADD, EW_MULTIPLY, EW_DIVIDE, EW_SQRT, EW_FMA };
    BinaryOperation o = { BIN_ADD, ew, WAY_ODD };
    for (int op = 0; op < BIN_OPS; op++)
        if (of[op] == ew)
            o.op = (BinaryOp)op;
    k->flip = ew == EW_SUBTRACT ? sign_bit : 0;
    o.way = binary_way(a, o.op);
    return o;
}

void binary_count(Arith *a, const BinaryCounts *c)
{
    a->flags.overflow += c->overflow;
    a->flags.underflow += c->underflow;
    a->flags.inexact += c->inexact;
}

/* ---- strips ---- */
static inline double at(const void *x, int64_t s, int64_t i) { return ((const double *)x)[i * s]; }

const double *binary_strip(BinaryStrip strip, const void *x, int64_t s, int64_t from, int64_t n,
                           double fill)
{
    int64_t m = binary_whole_vectors(n);
    if (s == 1 && m == n)
        return (const double *)x + from;
    if (s == 0 && from > 0)
        return strip;
    for (int64_t i = 0; i < n; i++)
        strip[i] = at(x, s, from + i);
    for (int64_t i = n; i < m; i++)
        strip[i] = fill;
    return strip;
}

void binary_run(Arith *a, const BinaryPlan *k, BinaryOperation o, double *out, const double *x,
                const double *y, const double *z, int64_t n)
{
    const BinaryKernels *t = k->kernels;
    int64_t slow[BINARY_STRIP], m = binary_whole_vectors(n);
    BinaryCounts c = { 0 };
    BinaryStrip missing;
    bool any;
    if (a->round == ROUND_NEAREST) {
        any = t->nearest[o.op][o.way](k, out, x, y, z, slow, &c, m);
    } else if (o.way == WAY_NATIVE) {
        t->parts[o.op](k, out, missing, x, y, z, slow, m);
        any = t->native[a->round](k, out, missing, slow, &c, m);
    } else {
        t->exact[o.op][o.way](k, out, x, y, z, slow, m);
        any = t->round[a->round](k, out, out, slow, &c, m);
    }
    binary_count(a, &c);
    for (int64_t i = 0; any && i < n; i++)
        if (slow[i]) {
            a->draw = k->draw + (uint64_t)i * k->step;
            out[i] = binary_exact_op(a, o.ew, x[i], y ? y[i] : 0, z ? z[i] : 0);
        }
}

static void put_strip(double *out, int64_t so, const double *r, int64_t n)
{
    if (so == 1)
        memcpy(out, r, (size_t)n * sizeof *r);
    else
        for (int64_t i = 0; i < n; i++)
            out[i * so] = r[i];
}

/* ---- elementwise ---- */
static bool plain_real(EwOp op, double *out, int64_t so, const void *const x[], const int64_t sx[],
                       int64_t n)
{
    bool two = ew_info[op].arity > 1;
    const void *a = x[0], *b = two ? x[1] : a;
    int64_t sa = sx[0], sb = two ? sx[1] : 0;
    switch (op) {
    case EW_NEGATIVE: for (int64_t i = 0; i < n; i++) out[i * so] = -at(a, sa, i); return true;
    case EW_POSITIVE: for (int64_t i = 0; i < n; i++) out[i * so] = at(a, sa, i); return true;
    case EW_ABS: for (int64_t i = 0; i < n; i++) out[i * so] = fabs(at(a, sa, i)); return true;
    case EW_MAXIMUM:
        for (int64_t i = 0; i < n; i++) {
            double u = at(a, sa, i), v = at(b, sb, i);
            out[i * so] = u > v || u != u ? u : v;
        }
        return true;
    case EW_MINIMUM:
        for (int64_t i = 0; i < n; i++) {
            double u = at(a, sa, i), v = at(b, sb, i);
            out[i * so] = u < v || u != u ? u : v;
        }
        return true;
    default: return false;
    }
}

static bool plain_compare(EwOp op, uint8_t *out, int64_t so, const void *const x[],
                          const int64_t sx[], int64_t n)
{
    bool two = ew_info[op].arity > 1;
    const void *a = x[0], *b = two ? x[1] : a;
    int64_t sa = sx[0], sb = two ? sx[1] : 0;
#define COMPARE(ID, sign) \
    case EW_##ID: \
        for (int64_t i = 0; i < n; i++) \
            out[i * so] = at(a, sa, i) sign at(b, sb, i); \
        return true;
    switch (op) {
    COMPARE(EQUAL, ==) COMPARE(NOT_EQUAL, !=) COMPARE(LESS, <) COMPARE(LESS_EQUAL, <=)
    COMPARE(GREATER, >) COMPARE(GREATER_EQUAL, >=)
    default: return false;
    }
#undef COMPARE
}

static bool is_rounded(EwOp op)
{
    return op == EW_ADD || op == EW_SUBTRACT || op == EW_MULTIPLY || op == EW_DIVIDE ||
           op == EW_SQRT || op == EW_FMA;
}

static ArithStatus exact_row(Arith *a, EwOp op, double *out, int64_t so, const void *const x[],
                             const int64_t sx[], int64_t n)
{
    int arity = ew_info[op].arity;
    for (int64_t i = 0; i < n; i++) {
        if (i % BINARY_STRIP == 0 && binary_stopped(a))
            return ARITH_INTERRUPT;
        out[i * so] = binary_exact_op(a, op, at(x[0], sx[0], i), arity > 1 ? at(x[1], sx[1], i) : 0,
                                      arity > 2 ? at(x[2], sx[2], i) : 0);
    }
    return ARITH_OK;
}

/* Does a row of n lie apart from all operands? Then results can be written at once. */
static bool apart(const double *out, const void *const x[], const int64_t sx[], int arity,
                  int64_t n)
{
    for (int j = 0; j < arity; j++) {
        const double *from = x[j], *to = from + (n - 1) * sx[j];
        const double *low = from < to ? from : to, *high = from < to ? to : from;
        if (low < out + n && out <= high)
            return false;
    }
    return true;
}

static ArithStatus rounded_row(Arith *a, EwOp op, double *out, int64_t so, const void *const x[],
                               const int64_t sx[], int64_t n)
{
    static const double fill[3] = { 0, 1, 0 };       /* exact, and raise nothing */
    BinaryStrip in[3], r;
    const double *from[3] = { NULL, NULL, NULL };
    BinaryPlan k = binary_plan(a);
    BinaryOperation o = binary_operation(a, &k, op);
    uint64_t draw = a->draw;
    bool direct = so == 1 && apart(out, x, sx, ew_info[op].arity, n);
    for (int64_t i = 0; i < n; i += BINARY_STRIP) {
        int64_t count = n - i < BINARY_STRIP ? n - i : BINARY_STRIP;
        bool here = direct && count % BINARY_LANES == 0;
        if (binary_stopped(a))
            return ARITH_INTERRUPT;
        for (int j = 0; j < ew_info[op].arity; j++)
            from[j] = binary_strip(in[j], x[j], sx[j], i, count, fill[j]);
        k.draw = draw + (uint64_t)i;
        binary_run(a, &k, o, here ? out + i : r, from[0], from[1], from[2], count);
        if (!here)
            put_strip(out + i * so, so, r, count);
    }
    a->draw = draw + (uint64_t)n;
    return ARITH_OK;
}

ArithStatus binary_ew(Arith *a, EwOp op, void *out, int64_t so, const void *const x[],
                      const int64_t sx[], int64_t n)
{
    if (is_rounded(op))
        return n < SHORT_ROW || !binary_has_rows(a) ? exact_row(a, op, out, so, x, sx, n)
                                                    : rounded_row(a, op, out, so, x, sx, n);
    if (op == EW_NEXTAFTER) {
        spacing_next_row(a->dtype, out, so, x[0], sx[0], x[1], sx[1], n);
        return ARITH_OK;
    }
    return plain_real(op, out, so, x, sx, n) || plain_compare(op, out, so, x, sx, n) ? ARITH_OK
                                                                                     : ARITH_NONE;
}

ArithStatus binary_compare(Arith *a, const void *x, const void *y, int *order)
{
    double u = *(const double *)x, v = *(const double *)y;
    (void)a;
    *order = u < v ? -1 : u > v ? 1 : u == v ? 0 : 2;
    return ARITH_OK;
}

/* ---- in ---- */
/* Every double is a number of the format, and is left as it is. */
static bool holds_doubles(const Arith *a)
{
    return a->p == 53 && a->emin == -1022 && !a->saturate && !a->flush;
}

/* At most BINARY_STRIP doubles; k->draw is the first's. */
static void round_strip(Arith *a, const BinaryPlan *k, double *out, const double *x, int64_t n)
{
    int64_t slow[BINARY_STRIP], m = binary_whole_vectors(n);
    BinaryCounts c = { 0 };
    BinaryStrip in, local;
    double *r = m == n && out != x ? out : local;
    x = binary_strip(in, x, 1, 0, n, 0);
    bool any = k->kernels->load[a->round](k, r, x, slow, &c, m);
    binary_count(a, &c);
    for (int64_t i = 0; any && i < n; i++)
        if (slow[i]) {
            a->draw = k->draw + (uint64_t)i;
            r[i] = binary_exact_f64(a, x[i]);
        }
    if (r != out)
        memcpy(out, r, (size_t)n * sizeof *r);
}

void binary_round(Arith *a, double *out, const double *x, int64_t n)
{
    uint64_t draw = a->draw;
    if (holds_doubles(a)) {
        memmove(out, x, (size_t)n * sizeof *x);
    } else if (n < SHORT_ROW || a->p > 51) {
        for (int64_t i = 0; i < n; i++)
            out[i] = binary_exact_f64(a, x[i]);
    } else {
        BinaryPlan k = binary_plan(a);
        for (int64_t i = 0; i < n; i += BINARY_STRIP) {
            k.draw = draw + (uint64_t)i;
            round_strip(a, &k, out + i, x + i, n - i < BINARY_STRIP ? n - i : BINARY_STRIP);
        }
    }
    a->draw = draw + (uint64_t)n;
}

/* Integers beyond 2^53, which are no doubles, one by one. */
static void load_integers(Arith *a, double *out, const int64_t *x, int64_t sx, int64_t n)
{
    bool whole = true;
    for (int64_t i = 0; i < n; i++) {
        whole &= (uint64_t)x[i * sx] + (1ull << 53) <= 1ull << 54;
        out[i] = (double)x[i * sx];
    }
    if (whole)
        binary_round(a, out, out, n);
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = binary_exact_i64(a, x[i * sx]);
}

ArithStatus binary_load(Arith *a, void *to, int64_t st, DType from, const void *x, int64_t sx,
                        int64_t n)
{
    BinaryStrip strip;
    if (dtype_info(from)->kind == 'c')
        return ARITH_COMPLEX;
    int64_t bytes = dtype_info(from)->bytes;
    for (int64_t i = 0; i < n; i += BINARY_STRIP) {
        int64_t count = n - i < BINARY_STRIP ? n - i : BINARY_STRIP;
        const char *at_strip = (const char *)x + i * sx * bytes;
        if (binary_stopped(a))
            return ARITH_INTERRUPT;
        if (from == DT_I64) {
            load_integers(a, strip, (const int64_t *)at_strip, sx, count);
        } else if ((from == DT_F64 || dtype_base(from) == DT_MINI) && sx == 1 && st == 1) {
            binary_round(a, (double *)to + i, (const double *)at_strip, count);
            continue;
        } else {
            cast_binary(DT_F64, strip, 1, from, at_strip, sx, count);
            binary_round(a, strip, strip, count);
        }
        put_strip((double *)to + i * st, st, strip, count);
    }
    return ARITH_OK;
}

/* ---- out ---- */
ArithStatus binary_store(Arith *a, void *to, int64_t st, const void *x, int64_t sx, int64_t n)
{
    cast_binary(a->dtype, to, st, DT_F64, x, sx, n);
    return ARITH_OK;
}

void binary_pack(DType dt, void *to, const double *x, int64_t n)
{
    cast_binary(dt, to, 1, DT_F64, x, 1, n);
}
void binary_unpack(DType dt, double *to, const void *x, int64_t n)
{
    cast_binary(DT_F64, to, 1, dt, x, 1, n);
}
