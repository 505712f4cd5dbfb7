/* Elementwise rows in a format: see precise.h. Binary formats run strip by strip in doubles:
 * operands rounded, the operation by kernels/arith/arith.h, or by the f64 kernel and one rounding;
 * the others run on tensors of the format. */
#include "interp/precision/precise.h"

#include "core/base/error.h"
#include "interp/op/arith.h"
#include "interp/op/elementwise.h"
#include "interp/op/exact.h"
#include "interp/op/heard.h"
#include "interp/op/optable.h"
#include "kernels/arith/arith_counted.h"
#include "kernels/arith/arith_quick.h"
#include "kernels/number/number.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { STRIP = 256, SLOW_STRIP = 64 };

static bool is_complex(DType dt) { return dtype_info(dt)->kind == 'c'; }
static bool is_whole(DType dt)
{
    return dtype_info(dt)->kind == 'i' || dtype_info(dt)->kind == 'b';
}

static bool is_binary(DType format)
{
    DType base = dtype_base(format);
    return base != DT_DECIMAL && base != DT_MP && base != DT_INTERVAL && base != DT_RATIONAL;
}

/* One call: its operands as the user gave them. */
typedef struct EwCall {
    Interp *in;
    const Op *op;
    const Value *args;
    int n, first;               /* operands; the first that is a number: where has a condition */
    unsigned weak;
    DType dtype[3];
    Scope *scope;
} EwCall;

/* ---- kinds ---- */
static bool read_dtypes(EwCall *e)
{
    e->first = ew_info[e->op->ew].result == RES_WHERE ? 1 : 0;
    for (int i = 0; i < e->n; i++) {
        e->dtype[i] = e->args[i].tag == V_RANGE ? DT_I64 : v_dtype(e->args[i]);
        if (e->dtype[i] == DT_NONE)
            return false;
    }
    return e->first == 0 || e->dtype[0] == DT_BOOL;
}

static bool all_whole(const EwCall *e)
{
    for (int i = e->first; i < e->n; i++)
        if (!is_whole(e->dtype[i]))
            return false;
    return true;
}

static bool any_complex(const EwCall *e)
{
    for (int i = e->first; i < e->n; i++)
        if (is_complex(e->dtype[i]))
            return true;
    return false;
}

static bool is_scalar(Value v)
{
    return v.tag != V_RANGE && (v.tag != V_TENSOR || v.tensor->rank == 0);
}

/* Rounded to the format outside of scopes: what the operands vote for. */
static DType voted_format(const EwCall *e)
{
    DTypeVote votes[3];
    int decimal = -1, binary = -1;
    for (int i = e->first; i < e->n; i++) {
        bool weak = e->weak >> i & 1;
        votes[i] = (DTypeVote){ e->dtype[i], is_scalar(e->args[i]), weak };
        DType real = dtype_real(e->dtype[i]);
        if (dtype_base(real) == DT_DECIMAL)
            decimal = i;
        else if (!weak && !is_whole(real) && real != DT_RATIONAL)
            binary = i;
    }
    DType dt = dtype_vote(votes + e->first, e->n - e->first);
    if (dt != DT_NONE && (decimal < 0 || binary < 0))
        return dtype_real(dt);
    int to = decimal >= 0 ? decimal : e->first, from = binary;
    if (decimal < 0 || binary < 0)          /* the other one: a complex literal beside decimal … */
        from = to == e->first ? e->n - 1 : e->first;
    const char *text = err_operand_name(&e->in->ctx, from);
    Error *err =
        err_new(&e->in->ctx, ERR_DTYPE, "`%s` of %s and %s: there is no format that holds both",
                e->op->infix ? e->op->infix : e->op->name, dtype_name(e->dtype[e->first]),
                dtype_name(e->dtype[e->n - 1]));
    err_underline(err, from);
    err_help(err, "convert one of them: %s(%s)", dtype_name(dtype_real(e->dtype[to])),
             text ? text : "…");
    err_throw(err);
}

/* ---- ints ---- */
/* Contiguous elements of dt, rooted. */
static const Tensor *dense_as(Interp *in, Value v, DType dt)
{
    Tensor *t = v_to_tensor(in, v, 0);
    v_push(in, v_tensor_raw(t));
    t = tensor_cast(&in->ctx, t, dt);
    v_push(in, v_tensor_raw(t));
    t = tensor_compact(&in->ctx, t);
    v_push(in, v_tensor_raw(t));
    return t;
}

static bool negative_power(const EwCall *e)
{
    Value y = e->args[e->n - 1];
    if (e->op->ew != EW_POWER)
        return false;
    if (y.tag == V_INT)
        return y.i < 0;
    if (y.tag != V_TENSOR || dtype_info((DType)y.tensor->dtype)->kind != 'i')
        return false;
    Value *mark = e->in->sp;
    const Tensor *dense = dense_as(e->in, y, DT_I64);
    bool negative = false;
    for (int64_t i = 0; i < dense->size; i++) {
        negative |= ((const int64_t *)(void *)dense->data)[i] < 0;
        poll_interrupt(e->in);
    }
    stack_cut(e->in, mark);
    return negative;
}

static double largest(Interp *in, Value v)
{
    if (v_immediate(v))
        return fabs((double)v.i);
    Value *mark = in->sp;
    const Tensor *x = dense_as(in, v, DT_F64);
    double most = 0;
    for (int64_t i = 0; i < x->size; i++) {
        most = fmax(most, fabs(((const double *)(void *)x->data)[i]));
        poll_interrupt(in);
    }
    stack_cut(in, mark);
    return most;
}

/* The dtype that the ints compute in. */
static DType whole_dtype(const EwCall *e)
{
    DTypeVote votes[3];
    for (int i = 0; i < e->n; i++)
        votes[i] = (DTypeVote){ e->dtype[i], is_scalar(e->args[i]), e->weak >> i & 1 };
    return ew_compute_dtype(e->op->ew, dtype_vote(votes, e->n));
}

/* Might the result of ints leave their range? */
static bool may_overflow(const EwCall *e)
{
    if (!(e->op->traits & TRAIT_RANGE))
        return false;
    double x = largest(e->in, e->args[0]), y = e->n > 1 ? largest(e->in, e->args[1]) : 0;
    double z = e->n > 2 ? largest(e->in, e->args[2]) : 0;
    double most = ldexp(1, 8 * dtype_info(whole_dtype(e))->bytes - 2);
    switch (e->op->ew) {
    case EW_MULTIPLY: return x * y >= most;
    case EW_POWER: return pow(fmax(x, 2), y) >= most;
    case EW_FMA: return x * y + z >= most;
    default: return x + y >= most;
    }
}

static bool all_fit(const Tensor *t, DType dt)
{
    int64_t whole;
    for (int64_t i = 0; i < t->size; i++)
        if (!rational_as_int(((const Rational *)(const void *)t->data)[i], &whole) ||
            !dtype_fits(dt, whole))
            return false;
    return true;
}

/* A power of more bits than an exact number may have; the formats with exponents still have it. */
static bool beyond_exact(const EwCall *e)
{
    double x = e->op->ew == EW_POWER ? largest(e->in, e->args[0]) : 0;
    return x >= 2 && e->scope->format != DT_RATIONAL &&
           largest(e->in, e->args[1]) * log2(x) > 0x1p23;
}

/* Exactly; ints where all of them fit, else numbers of the format. */
static bool exact_ints(EwCall *e, Value *result)
{
    Interp *in = e->in;
    Value args[3], *mark = in->sp;
    DType dt = whole_dtype(e);
    for (int i = 0; i < e->n; i++) {
        Tensor *t = v_to_tensor(in, e->args[i], i);
        v_push(in, v_tensor_raw(t));
        t = tensor_cast(&in->ctx, t, DT_RATIONAL);
        v_push(in, v_tensor_raw(t));
        args[i] = v_tensor_raw(t);
    }
    if (!rational_form(e->op->ew, &(RationalForm){ 0 }))
        return stack_cut(in, mark), false;
    Value r = ew_call(in, e->op, args, e->n, 0, 0);
    v_push(in, r);
    bool fits = r.tag == V_TENSOR && r.tensor->dtype == DT_RATIONAL && all_fit(r.tensor, dt);
    *result = fits ? v_tensor(&in->ctx, tensor_cast(&in->ctx, r.tensor, dt))
                   : precise_settle(in, e->scope, e->op, v_retain(r));
    stack_cut(in, mark);
    return true;
}

/* ---- operands ---- */
/* A float literal beside exact or decimal numbers is what was written. */
static Tensor *operand_tensor(const EwCall *e, int i)
{
    Interp *in = e->in;
    Rational cell;
    Value v = e->args[i];
    double z[2];
    bool weak = e->weak >> i & 1, imaginary = false;
    if (weak && v.tag == V_TENSOR && v.tensor->dtype == DT_C128 && !is_binary(e->scope->format)) {
        memcpy(z, v.tensor->data, sizeof z);
        imaginary = z[0] == 0 && exact_literal(in, i, z[1], &cell);
    }
    if (imaginary) {
        RationalPair pair = { { 0 }, cell };
        v_push(in, v_tensor_raw(tensor_scalar(&in->ctx, DT_CRATIONAL, &pair)));
        return in->sp[-1].tensor;
    }
    Tensor *t = v.tag == V_FLOAT && weak && !is_binary(e->scope->format) &&
                        exact_literal(in, i, v.f, &cell)
                    ? tensor_scalar(&in->ctx, DT_RATIONAL, &cell)
                    : v_to_tensor(in, v, i);
    v_push(in, v_tensor_raw(t));
    return t;
}

/* Under `stochastic` a literal is the nearest number of the format, and comparisons look at the
 * nearest ones, so that x == x holds. */
static bool nearest_operand(const EwCall *e, int i)
{
    return e->weak >> i & 1 || ew_info[e->op->ew].result == RES_BOOL;
}

/* Operands that are rounded by chance are rounded first, an element of each once. */
static void round_by_chance(EwCall *e, Precise *p, Tensor **t)
{
    if (e->scope->round != ROUND_STOCHASTIC || e->op->ew == EW_NEXTAFTER)
        return;
    for (int i = e->first; i < e->n; i++) {
        p->a.round = nearest_operand(e, i) ? ROUND_NEAREST : ROUND_STOCHASTIC;
        t[i] = precise_round(p, e->op, t[i]);
        v_push(e->in, v_tensor_raw(t[i]));
    }
    p->a.round = ROUND_STOCHASTIC;
}

static int result_shape(const EwCall *e, Tensor *const *t, int64_t *shape)
{
    int rank = 0, bad;
    for (int i = 0; i < e->n; i++) {
        int64_t both[TENSOR_RANK_MAX];
        int r = shape_broadcast(rank, shape, t[i]->rank, tensor_shape(t[i]), both, &bad);
        if (r < 0)
            ew_shape_error(e->in, e->op, (Tensor *const *)t, i + 1);
        rank = r;
        memcpy(shape, both, (size_t)r * sizeof *shape);
    }
    return rank;
}

static Tensor *new_result(const EwCall *e, Tensor *const *t, DType dt)
{
    int64_t shape[TENSOR_RANK_MAX];
    int rank = result_shape(e, t, shape);
    Tensor *out = tensor_new(&e->in->ctx, dt, rank, shape);
    v_push(e->in, v_tensor_raw(out));
    return out;
}

/* ---- rows of numbers ---- */
typedef struct Rows {
    Walk walk;                  /* first */
    EwOp ew;
    int n;
    char *out;
    bool truth;                 /* the result is bools */
    bool watch;                 /* a nan that no operand brought deserves a notice */
    volatile bool nan;
    const char *x[3];
    DType from[3];
    int bytes[3];
    EwFn wide;                  /* the f64 kernel; NULL: there is none */
} Rows;

static bool plain(const Arith *a) { return !a->flush && !a->saturate; }

/* A strip of operand k in doubles: where it stands and its stride. */
static ArithStatus load_strip(const Rows *r, Arith *a, int k, const char *x, int64_t step,
                              int64_t n, double *room, const void **at, int64_t *stride)
{
    int64_t m = step == 0 ? 1 : n;
    bool exact = r->from[k] == a->dtype && plain(a);
    *at = room;
    *stride = step == 0 ? 0 : 1;
    if (exact && a->dtype == DT_F64) {
        *at = x;
        *stride = step;
        return ARITH_OK;
    }
    if (exact && (step == 1 || m == 1)) {
        binary_unpack(a->dtype, room, x, m);
        return ARITH_OK;
    }
    return precise_load(a, room, 1, r->from[k], x, step, m);
}

static bool strip_has_nan(const double *x, int64_t stride, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (x[i * stride] != x[i * stride])
            return true;
    return false;
}

static bool nan_made(const Rows *r, const double *out, const void *const *x, const int64_t *sx,
                     int64_t n)
{
    if (!strip_has_nan(out, 1, n))
        return false;
    for (int k = 0; k < r->n; k++)
        if (strip_has_nan(x[k], sx[k], n))
            return false;
    return true;
}

static ArithStatus binary_strip(const Rows *r, Arith *a, char *to, int64_t so, const void *const *x,
                                const int64_t *sx, int64_t n)
{
    double result[STRIP];
    void *out = r->truth ? (void *)to : (void *)result;
    ArithStatus s = a->ops->ew(a, r->ew, out, r->truth ? so : 1, x, sx, n);
    if (s == ARITH_NONE && r->wide) {
        r->wide(out, r->truth ? so : 1, x, sx, n);
        if (!r->truth)
            binary_round(a, result, result, n);
        s = ARITH_OK;
    }
    if (s != ARITH_OK || r->truth)
        return s;
    if (r->watch && nan_made(r, result, x, sx, n))
        ((Rows *)(uintptr_t)r)->nan = true;
    if (so != 1 && n > 1)
        return a->ops->store(a, to, so, result, 1, n);
    binary_pack(a->dtype, to, result, n);
    return ARITH_OK;
}

/* f32 and f64 as they lie. False: the general way. */
static bool counted_strip(const Rows *r, Arith *a, char *to, int64_t so, const void *const *x,
                          const int64_t *sx, int64_t n)
{
    double result[STRIP];
    bool own = a->dtype == DT_F32 || a->dtype == DT_F64;
    if (!own || r->n != 2 || r->truth || so != 1 || a->round != ROUND_NEAREST || !plain(a) ||
        r->from[0] != a->dtype || r->from[1] != a->dtype || sx[0] > 1 || sx[1] > 1 || sx[0] < 0 ||
        sx[1] < 0 || !arith_counted(a, r->ew, result, x, sx, n))
        return false;
    memcpy(to, result, (size_t)n * dtype_info(a->dtype)->bytes);
    return true;
}

static ArithStatus binary_span(const Walk *w, Arith *a, const int64_t *at, const int64_t *step,
                               int64_t n)
{
    const Rows *r = (const Rows *)w;
    double room[3][STRIP];
    const void *x[3];
    int64_t sx[3], bytes = r->truth ? 1 : dtype_info(a->dtype)->bytes;
    ArithStatus s = ARITH_OK;
    bool direction = r->ew == EW_NEXTAFTER && a->over != 'i';
    Arith towards = *a; /* nextafter(x, inf): where there is no infinity, the largest */
    towards.saturate = true;
    for (int64_t i = 0; i < n && s == ARITH_OK; i += STRIP) {
        int64_t m = n - i < STRIP ? n - i : STRIP;
        for (int k = 0; k < r->n; k++)
            x[k] = r->x[k] + (at[k + 1] + i * step[k + 1]) * r->bytes[k];
        if (m > 8 && counted_strip(r, a, r->out + (at[0] + i * step[0]) * bytes, step[0], x,
                                   step + 1, m))
            continue;
        for (int k = 0; k < r->n && s == ARITH_OK; k++)
            s = load_strip(r, direction && k ? &towards : a, k,
                           r->x[k] + (at[k + 1] + i * step[k + 1]) * r->bytes[k], step[k + 1], m,
                           room[k], &x[k], &sx[k]);
        if (s == ARITH_OK)
            s = binary_strip(r, a, r->out + (at[0] + i * step[0]) * bytes, step[0], x, sx, m);
    }
    return s;
}

/* Numbers of the format in their own storage. */
static ArithStatus number_span(const Walk *w, Arith *a, const int64_t *at, const int64_t *step,
                               int64_t n)
{
    const Rows *r = (const Rows *)w;
    int64_t bytes = r->truth ? 1 : a->size;
    ArithStatus s = ARITH_OK;
    for (int64_t i = 0; i < n && s == ARITH_OK; i += SLOW_STRIP) {
        const void *x[3];
        for (int k = 0; k < r->n; k++)
            x[k] = r->x[k] + (at[k + 1] + i * step[k + 1]) * a->size;
        s = a->ops->ew(a, r->ew, r->out + (at[0] + i * step[0]) * bytes, step[0], x, step + 1,
                       n - i < SLOW_STRIP ? n - i : SLOW_STRIP);
        if (*a->ctx->interrupt)
            s = ARITH_INTERRUPT;
    }
    return s;
}

static void rows_init(Rows *r, const EwCall *e, Tensor *out, Tensor *const *t)
{
    const Tensor *all[ITER_OPERANDS] = { out };
    *r = (Rows){ .ew = e->op->ew, .n = e->n, .out = out->data,
                 .truth = ew_info[e->op->ew].result == RES_BOOL,
                 .watch = (e->op->traits & TRAIT_NAN_NOTICE) != 0 };
    for (int k = 0; k < e->n; k++) {
        all[k + 1] = t[k];
        r->x[k] = t[k]->data;
        r->from[k] = (DType)t[k]->dtype;
        r->bytes[k] = dtype_info(r->from[k])->bytes;
    }
    if (ew_compute_dtype(r->ew, DT_F64) == DT_F64)
        r->wide = ew_kernel(r->ew, DT_F64);
    iter_init(&r->walk.it, e->n + 1, all);
    r->walk.draws = 1;
}

/* ---- selection ---- */
typedef struct Select {
    Walk walk;
    char *out;
    const char *x[3];
    int64_t bytes;
} Select;

static ArithStatus select_span(const Walk *w, Arith *a, const int64_t *at, const int64_t *step,
                               int64_t n)
{
    const Select *s = (const Select *)w;
    (void)a;
    for (int64_t i = 0; i < n; i++) {
        int k = s->x[0][at[1] + i * step[1]] ? 1 : 2;
        memcpy(s->out + (at[0] + i * step[0]) * s->bytes,
               s->x[k] + (at[k + 1] + i * step[k + 1]) * s->bytes, (size_t)s->bytes);
    }
    return ARITH_OK;
}

static Tensor *run_where(EwCall *e, Precise *p, Tensor **t)
{
    bool paired = any_complex(e);
    for (int k = 1; k < 3; k++) {
        t[k] = precise_round_as(p, e->op, t[k], paired);
        v_push(e->in, v_tensor_raw(t[k]));
    }
    Tensor *out = new_result(e, t, (DType)t[1]->dtype);
    Select s = { .walk.span = select_span,
                 .out = out->data,
                 .x = { t[0]->data, t[1]->data, t[2]->data },
                 .bytes = dtype_info((DType)out->dtype)->bytes };
    iter_init(&s.walk.it, 4, (const Tensor *const[]){ out, t[0], t[1], t[2] });
    precise_check(e->in, e->op, precise_walk(&e->in->ctx, &s.walk, &p->a), e->scope->format);
    return out;
}

/* ---- real numbers ---- */
static Tensor *run_real(EwCall *e, Precise *p, Tensor **t)
{
    Interp *in = e->in;
    bool binary = p->a.carrier == DT_F64, truth = ew_info[e->op->ew].result == RES_BOOL;
    Rows r;
    for (int k = 0; !binary && k < e->n; k++) {
        t[k] = precise_round(p, e->op, t[k]);
        v_push(in, v_tensor_raw(t[k]));
    }
    Tensor *out = new_result(e, t, truth ? DT_BOOL : e->scope->format);
    rows_init(&r, e, out, t);
    r.walk.span = binary ? binary_span : number_span;
    ArithStatus s = precise_walk(&in->ctx, &r.walk, &p->a);
    if (s == ARITH_NONE && (!r.wide || binary))
        arith_type_error(in, e->op, e->args, e->n);
    precise_check(in, e->op, s, e->scope->format);
    if (r.nan)
        ew_nan_notice(in, e->op, e->n);
    return out;
}

/* ---- complex numbers: the textbook formulas, every real operation rounded ---- */
typedef struct Formula {
    Walk walk;
    EwOp ew;
    int n;
    const char *x[3];
    char *out;                  /* pairs, or numbers where the result is real, or bools */
    bool truth;
    EwFn wide;
    bool real;
} Formula;

/* A row of results from their parts. */
static void put_strip(const Formula *f, const Arith *a, char *out, int64_t step, const void *re,
                      const void *im, int64_t n)
{
    if (!f->real) {
        arith_pairs_put(a, out, step, re, im, n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        memcpy(out + i * step * a->size, (const char *)re + i * a->size, (size_t)a->size);
}

/* The c128 kernel, its parts rounded. */
static void wide_strip(const Formula *f, Arith *a, double *re, double *im, char *truth,
                       int64_t so, const void *const *x, const int64_t *sx, int64_t n)
{
    double _Complex z[STRIP];
    if (truth) {
        f->wide(truth, so, x, sx, n);
        return;
    }
    f->wide(z, 1, x, sx, n);
    for (int64_t i = 0; i < n; i++) {
        re[i] = f->real ? ((double *)z)[i] : creal(z[i]);
        im[i] = f->real ? 0 : cimag(z[i]);
    }
    binary_round(a, re, re, n);
    if (!f->real)
        binary_round(a, im, im, n);
}

static ArithStatus complex_span(const Walk *w, Arith *a, const int64_t *at, const int64_t *step,
                                int64_t n)
{
    const Formula *f = (const Formula *)w;
    ArithStrip re, im;
    ArithStatus s = ARITH_OK;
    int64_t each = f->truth ? 1 : f->real ? a->size : 2 * a->size;
    for (int64_t i = 0; i < n && s == ARITH_OK; i += STRIP) {
        int64_t m = n - i < STRIP ? n - i : STRIP;
        char *to = f->out + (at[0] + i * step[0]) * each;
        const void *x[3];
        ArithPair pair[3];
        for (int k = 0; k < f->n; k++) {
            x[k] = f->x[k] + 2 * (at[k + 1] + i * step[k + 1]) * a->size;
            pair[k] = arith_pair(a, x[k], step[k + 1]);
        }
        s = f->truth ? ARITH_NONE
                     : arith_complex(a, f->ew, &re, &im, pair[0], f->n > 1 ? pair[1] : pair[0], m);
        if (s == ARITH_OK)
            put_strip(f, a, to, step[0], &re, &im, m);
        if (s == ARITH_NONE && a->carrier != DT_F64) {
            s = number_complex(a, f->ew, to, step[0], x, step + 1, m);
            if (s == ARITH_NONE)
                return s;
        } else if (s == ARITH_NONE && f->wide) {
            wide_strip(f, a, re.d, im.d, f->truth ? to : NULL, step[0], x, step + 1, m);
            if (!f->truth)
                put_strip(f, a, to, step[0], &re, &im, m);
            s = ARITH_OK;
        }
    }
    return s;
}

static Tensor *run_complex(EwCall *e, Precise *p, Tensor **t)
{
    Interp *in = e->in;
    Formula f = { .walk.span = complex_span, .walk.draws = 8, .ew = e->op->ew, .n = e->n };
    const Tensor *all[ITER_OPERANDS] = { NULL };
    DType compute = ew_compute_dtype(f.ew, DT_C128);
    if (compute == DT_NONE)
        arith_type_error(in, e->op, e->args, e->n);
    for (int k = 0; k < e->n; k++) {
        t[k] = precise_carriers_as(p, e->op, t[k], true);
        v_push(in, v_tensor_raw(t[k]));
        all[k + 1] = t[k];
        f.x[k] = t[k]->data;
    }
    DType dt = ew_result_dtype(f.ew, compute);
    f.real = dt == DT_F64;
    f.truth = dt == DT_BOOL;
    Tensor *out = new_result(e, t, f.truth ? dt : precise_carrier(&p->a, !f.real));
    f.wide = ew_kernel(f.ew, compute);
    f.out = out->data;
    all[0] = out;
    iter_init(&f.walk.it, e->n + 1, all);
    ArithStatus s = precise_walk(&in->ctx, &f.walk, &p->a);
    if (s == ARITH_NONE)
        arith_type_error(in, e->op, e->args, e->n);
    precise_check(in, e->op, s, e->scope->format);
    if (dt == DT_BOOL)
        return out;
    out = precise_result(p, e->op, &p->a, out);
    v_push(in, v_tensor_raw(out));
    return out;
}

/* ---- scalars: no tensors but the result ---- */
/* As the mode says; to nearest under `stochastic` what is a literal, or only compared. */
static bool load_one(const EwCall *e, Arith *a, int i, void *to, DType from, const void *x)
{
    ArithStatus s = nearest_operand(e, i) ? precise_load(a, to, 1, from, x, 1, 1)
                                          : a->ops->load(a, to, 1, from, x, 1, 1);
    return s == ARITH_OK;
}

static bool load_scalar(const EwCall *e, Arith *a, int i, double *x)
{
    Value v = e->args[i];
    switch (v.tag) {
    case V_FLOAT:
        if (a->dtype != DT_F64 || !plain(a))
            return load_one(e, a, i, x, DT_F64, &v.f);
        *x = v.f;
        return true;
    case V_INT: return load_one(e, a, i, x, DT_I64, &v.i);
    case V_BOOL: *x = v.i != 0; return true;
    default: break;
    }
    if ((DType)v.tensor->dtype != a->dtype || !plain(a))
        return load_one(e, a, i, x, (DType)v.tensor->dtype, v.tensor->data);
    switch (dtype_base(a->dtype)) {
    case DT_BF16: *x = (double)bf16_to_f32(*(const uint16_t *)(const void *)v.tensor->data); break;
    case DT_F32: *x = (double)*(const float *)(const void *)v.tensor->data; break;
    case DT_F64: case DT_MINI: *x = *(const double *)(const void *)v.tensor->data; break;
    default: binary_unpack(a->dtype, x, v.tensor->data, 1);
    }
    return true;
}

static Value scalar_result(Interp *in, const Arith *a, double x)
{
    _Alignas(16) char cell[16];
    union { float f; uint32_t u; } narrow = { (float)x };
    if (a->dtype == DT_F64)
        return v_float(x);
    if (a->dtype == DT_F32 || a->dtype == DT_BF16) {        /* its numbers are floats */
        uint32_t bits = a->dtype == DT_BF16 ? narrow.u >> 16 : narrow.u;
        memcpy(cell, &bits, sizeof bits);
    } else {
        binary_pack(a->dtype, cell, &x, 1);
    }
    return v_tensor_raw(tensor_scalar(&in->ctx, a->dtype, cell));
}

static bool load_number(const EwCall *e, Arith *a, int i, NumberCell *x)
{
    Value v = e->args[i];
    bool literal = v.tag == V_FLOAT && (e->weak >> i & 1);
    if (v.tag == V_TENSOR && (DType)v.tensor->dtype == a->dtype) {
        memcpy(x, v.tensor->data, sizeof *x);
        return true;
    }
    if (v.tag == V_TENSOR)
        return load_one(e, a, i, x, (DType)v.tensor->dtype, v.tensor->data);
    return !literal && load_one(e, a, i, x, v.tag == V_FLOAT ? DT_F64 : DT_I64, &v.i);
}

/* Of decimal, mp, interval. */
static bool run_numbers(EwCall *e, Value *r)
{
    NumberCell x[3], result;
    bool bools = ew_info[e->op->ew].result == RES_BOOL;
    Arith *a = precise_arith(e->in, e->scope);
    memset(x, 0, sizeof x);
    for (int i = 0; i < e->n; i++)
        if (!load_number(e, a, i, &x[i]))
            return false;
    ArithStatus s =
        a->ops->ew(a, e->op->ew, &result, 1, (const void *const[]){ &x[0], &x[1], &x[2] },
                   (const int64_t[]){ 1, 1, 1 }, 1);
    if (s != ARITH_OK)
        return false;
    *r = bools ? v_bool(*(const uint8_t *)(const void *)&result)
               : v_tensor_raw(tensor_scalar(&e->in->ctx, a->dtype, &result));
    scope_done(e->scope, a);
    return true;
}

/* False: the general way (it tells what is wrong). */
static bool run_scalars(EwCall *e, Value *r)
{
    double x[3] = { 0 }, result;
    uint8_t truth;
    bool bools = ew_info[e->op->ew].result == RES_BOOL;
    if ((e->op->traits & TRAIT_NAN_NOTICE) || e->first || e->op->ew == EW_NEXTAFTER)
        return false;
    for (int i = 0; i < e->n; i++)
        if (!is_scalar(e->args[i]) || is_complex(e->dtype[i]))
            return false;
    if (!is_binary(e->scope->format))
        return run_numbers(e, r);
    Arith *a = precise_arith(e->in, e->scope);
    for (int i = 0; i < e->n; i++)
        if (!load_scalar(e, a, i, &x[i]))
            return false;
    if (!arith_quick(a, e->op->ew, x[0], x[1], &result)) {
        ArithStatus s = a->ops->ew(a, e->op->ew, bools ? (void *)&truth : (void *)&result, 1,
                                   (const void *const[]){ &x[0], &x[1], &x[2] },
                                   (const int64_t[]){ 1, 1, 1 }, 1);
        if (s != ARITH_OK)
            return false;
    }
    *r = bools ? v_bool(truth) : scalar_result(e->in, a, result);
    scope_done(e->scope, a);
    return true;
}

/* ---- which way ---- */
static Value run_arith(EwCall *e)
{
    Interp *in = e->in;
    Value *mark = in->sp, r;
    Tensor *t[3], *out;
    Precise p;
    bool scalar[3];
    if (run_scalars(e, &r)) {
        ew_count(in, e->op, e->scope->format, 1);
        return r;
    }
    precise_open(&p, in, e->scope);
    for (int i = 0; i < e->n; i++) {
        scalar[i] = is_scalar(e->args[i]);
        t[i] = operand_tensor(e, i);
    }
    bool covector = ew_covector(in, e->op, t, scalar, e->n);
    round_by_chance(e, &p, t);
    out = e->first         ? run_where(e, &p, t)
          : any_complex(e) ? run_complex(e, &p, t)
                           : run_real(e, &p, t);
    precise_close(&p);
    out->flags = covector ? TENSOR_COVECTOR : 0;
    ew_count(in, e->op, e->scope->format, out->size);
    r = v_tensor(&in->ctx, tensor_retain(out));
    stack_cut(in, mark);
    return r;
}

/* ---- the ordinary kernels ---- */
static double element(const Tensor *t, const int64_t *strides, int64_t i)
{
    int64_t at = 0;
    for (int d = t->rank - 1; d >= 0; d--) {
        at += i % t->dims[d] * strides[d];
        i /= t->dims[d];
    }
    return element_f64((DType)t->dtype, t->data + at * dtype_info((DType)t->dtype)->bytes);
}

static bool all_finite(Value v)
{
    if (v.tag != V_TENSOR)
        return v.tag != V_FLOAT || isfinite(v.f);
    if (is_whole((DType)v.tensor->dtype))
        return true;
    for (int64_t i = 0; i < v.tensor->size; i++)
        if (!isfinite(element(v.tensor, tensor_strides(v.tensor), i)))
            return false;
    return true;
}

/* Results that are subnormal, or 0 where the exact ones are not. */
static uint64_t count_small(EwCall *e, const Value *args, Value r)
{
    Ctx *ctx = &e->in->ctx;
    const Tensor *t = r.tag == V_TENSOR ? r.tensor : NULL, *x = NULL;
    double least = t && t->dtype == DT_F32 ? (double)FLT_MIN : DBL_MIN;
    uint64_t small = 0;
    bool vanishes = e->op->traits & TRAIT_VANISHES;
    if (e->op->ew == EW_MOD || e->op->ew == EW_FMOD)                      /* exact */
        return 0;
    if (vanishes && t && args[e->first].tag == V_TENSOR) {
        x = tensor_broadcast(ctx, args[e->first].tensor, t->rank, tensor_shape(t));
        v_push(e->in, v_tensor_raw((Tensor *)x));
    }
    for (int i = e->first; i < e->n && vanishes; i++)
        vanishes = all_finite(args[i]);
    Value one = args[e->first];
    double first = one.tag == V_FLOAT ? one.f : one.tag == V_INT ? (double)one.i : 1;
    for (int64_t i = 0; i < (t ? t->size : 1); i++) {
        double y = t ? element(t, tensor_strides(t), i) : r.f;
        if (fabs(y) >= least || isnan(y))
            continue;
        small += y != 0 || (vanishes && (x ? element(x, tensor_strides(x), i) : first) != 0);
    }
    return small;
}

/* Nothing but normal numbers, as most results are: seen at a glance. */
static bool all_normal(const Tensor *t)
{
    unsigned odd = 0;
    if (!tensor_contiguous(t) || (t->dtype != DT_F64 && t->dtype != DT_F32))
        return false;
    if (t->dtype == DT_F64) {
        const double *x = (const double *)(const void *)t->data;
        for (int64_t i = 0; i < t->size; i++)
            odd |= !(fabs(x[i]) >= DBL_MIN && fabs(x[i]) <= DBL_MAX);
    } else {
        const float *x = (const float *)(const void *)t->data;
        for (int64_t i = 0; i < t->size; i++)
            odd |= !(fabsf(x[i]) >= FLT_MIN && fabsf(x[i]) <= FLT_MAX);
    }
    return !odd;
}

/* What these kernels do not tell: infinities and nans that were made of numbers, and numbers too
 * small for the format. */
static void count_specials(EwCall *e, const Value *args, Value r)
{
    ArithFlags f = { 0 };
    Value *mark = e->in->sp;
    const Tensor *t = r.tag == V_TENSOR ? r.tensor : NULL;
    if (t ? dtype_info((DType)t->dtype)->kind != 'f' || all_normal(t) : r.tag != V_FLOAT)
        return;
    bool pole = e->op->traits & TRAIT_POLE;
    for (int64_t i = 0; i < (t ? t->size : 1); i++) {
        double x = t ? element(t, tensor_strides(t), i) : r.f;
        f.invalid += isnan(x);
        f.overflow += isinf(x) && !(pole && x < 0);
        f.divzero += isinf(x) && pole && x < 0;
    }
    for (int i = e->first; i < e->n; i++)
        if ((f.invalid || f.overflow || f.divzero) && !all_finite(args[i]))
            f = (ArithFlags){ 0 };
    f.underflow = count_small(e, args, r);
    stack_cut(e->in, mark);
    f.inexact = f.overflow + f.underflow;
    arith_flags_add(&e->scope->flags, &f);
}

/* Nothing to count. */
static bool moves(const Op *op)
{
    return op->traits & TRAIT_MOVES || ew_info[op->ew].result == RES_BOOL;
}

/* The ordinary kernels on operands of the format. */
static Value run_ordinary(EwCall *e, bool ints)
{
    Interp *in = e->in;
    Value args[3], *mark = in->sp;
    unsigned weak = e->weak;
    Precise p;
    precise_open(&p, in, e->scope);
    for (int i = 0; i < e->n; i++) {
        args[i] = e->args[i];
        if (i < e->first || e->dtype[i] == e->scope->format || (is_whole(e->dtype[i]) && !ints))
            continue;
        Tensor *t = operand_tensor(e, i), *to = precise_round(&p, e->op, t);
        v_push(in, v_tensor_raw(to));
        args[i] = v_tensor_raw(to);
        weak &= ~(1u << i);
    }
    precise_close(&p);
    Value r = ew_call(in, e->op, args, e->n, weak, 0);
    v_push(in, r);
    if (e->scope->format != DT_RATIONAL && !moves(e->op))
        count_specials(e, args, r);
    if (r.tag == V_TENSOR)
        r = v_tensor(&in->ctx, tensor_retain(r.tensor));
    stack_cut(in, mark);
    return r;
}

/* Nothing to round and nothing of other dtypes: the door goes on as outside. */
static bool untouched(const EwCall *e)
{
    DType format = e->scope->format;
    for (int i = e->first; i < e->n; i++)
        if (!is_whole(e->dtype[i]) && e->dtype[i] != format && e->dtype[i] != dtype_complex(format))
            return false;
    return format == DT_F64 || !all_whole(e);
}

/* Operations of which every rounding is counted, also where the format has kernels of its own:
 * the arithmetic gives the same bits. */
static bool rounds(EwOp op)
{
    return op == EW_ADD || op == EW_SUBTRACT || op == EW_MULTIPLY || op == EW_DIVIDE ||
           op == EW_SQRT || op == EW_FMA;
}

bool precise_elementwise(const OpCall *c, Value *result)
{
    Scope implied;
    Interp *in = c->in;
    const Op *op = c->op;
    EwCall e = {
        .in = in, .op = op, .args = c->args, .n = c->count, .weak = c->weak,
        .scope = precise_scope(in)
    };
    if (!read_dtypes(&e))
        return false;
    if (!e.scope) {
        implied = scope_implied(in, voted_format(&e));
        e.scope = &implied;
    }
    bool ordinary = scope_ordinary(e.scope), whole = all_whole(&e);
    /* with a textbook formula for complex numbers */
    bool fields = op->ew != EW_SQRT && op->ew != EW_FMA;
    bool counted = ordinary && rounds(op->ew) && (fields || !any_complex(&e)) &&
                   !(whole && op->ew != EW_DIVIDE && op->ew != EW_SQRT);
    if (ordinary && !counted && untouched(&e) && (whole || moves(op) || any_complex(&e)))
        return false;
    if (in->ctx.cells)
        rational_collect(&in->ctx);
    if (whole) {
        DType compute = ew_compute_dtype(op->ew, e.dtype[e.first]);
        bool stays = (e.first || compute == DT_NONE || is_whole(compute)) && !negative_power(&e);
        bool grows = stays && !is_binary(e.scope->format) &&
                     dtype_base(e.scope->format) != DT_INTERVAL && !e.first && may_overflow(&e);
        if (grows && !beyond_exact(&e))
            return exact_ints(&e, result);
        if (stays && !grows)
            return false;
    }
    precise_note(in, e.scope, ", every operation rounded");
    bool exact = e.scope->format == DT_RATIONAL && !any_complex(&e);
    bool kernels = (ordinary && !counted) || exact;
    *result = kernels ? run_ordinary(&e, whole) : run_arith(&e);
    return true;
}
