/* Errors of computed values against a reference: see accuracy.h. What both sides hold as doubles
 * is subtracted in f64, where the difference is rounded once; everything else is measured in mp
 * with 64 bits more than the longer of the two. Raises nothing but `memory` and interrupts. */
#include "interp/precision/accuracy.h"

#include "core/base/error.h"
#include "kernels/device/device.h"
#include "kernels/number/number.h"
#include "kernels/sparse/merge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STRIP = 256 };                   /* numbers of mp at a time: what is collected in between */

static const int64_t ones[] = { 1, 1 };

int accuracy_bits(DType dt)
{
    BinaryFormat f;
    if (binary_format(dtype_real(dt), &f))
        return f.p;
    switch (dtype_base(dt)) {
    case DT_MP: return dtype_digits(dt);
    case DT_DECIMAL: return (int)(dtype_digits(dt) * 3.33) + 1;
    case DT_RATIONAL: return 256;
    case DT_I64: return 64;
    default: return 53;
    }
}

/* ---- what is measured: real numbers in a row ---- */
static bool is_complex(const Tensor *t) { return dtype_info(t->dtype)->kind == 'c'; }

static Tensor *rooted(Interp *in, Tensor *t)
{
    v_push(in, v_tensor_raw(t));
    return t;
}

/* Real and imaginary parts in turn. */
static Tensor *parts_of(Interp *in, Tensor *t)
{
    int64_t n = 2 * t->size;
    Tensor *out = rooted(in, tensor_new(&in->ctx, DT_F64, 1, &n));
    for (int64_t i = 0; i < t->size; i++) {
        double _Complex z;
        const char *at = t->data + i * dtype_info(t->dtype)->bytes;
        if (dtype_base((DType)t->dtype) == DT_CMINI)
            memcpy(&z, at, sizeof z);
        else
            z = element_c128((DType)t->dtype, at);
        memcpy((double *)(void *)out->data + 2 * i, &z, sizeof z);
    }
    return out;
}

/* One end of intervals, or their middle: side 0 lo, 1 hi, 2 the middle. */
static Tensor *ends_of(Interp *in, Tensor *t, int side)
{
    Tensor *out = rooted(in, tensor_new(&in->ctx, DT_F64, 1, &t->size));
    for (int64_t i = 0; i < t->size; i++) {
        Interval x = ((const Interval *)(const void *)t->data)[i];
        double ends[] = { x.lo, x.hi, x.lo / 2 + x.hi / 2 };
        ((double *)(void *)out->data)[i] = ends[side];
    }
    return out;
}

/* ---- in f64 ---- */
/* The numbers as doubles, where all of them are doubles; NULL otherwise. */
static Tensor *as_doubles(Interp *in, Tensor *t)
{
    DType dt = (DType)t->dtype;
    if (dt == DT_F64)
        return t;
    BinaryFormat f;
    bool binary = binary_format(dt, &f);
    if (!binary && (dt == DT_I64 || !strchr("bi", dtype_info(dt)->kind)))
        return NULL;
    Tensor *out = rooted(in, tensor_new(&in->ctx, DT_F64, 1, &t->size));
    double *to = (double *)(void *)out->data;
    if (binary)
        binary_unpack(dt, to, t->data, t->size);
    else
        for (int64_t i = 0; i < t->size; i++)
            to[i] = (double)element_i64(dt, t->data + i * dtype_info(dt)->bytes);
    return out;
}

static Accuracy accuracy(double error)
{
    double digits = error == 0 ? INFINITY : error < 1 ? -log10(error) : 0;
    return (Accuracy){ error, digits };
}

static double largest(double a, double b) { return b > a ? b : a; }

/* Both may stand near the largest double: the exponent to divide by before they are subtracted. */
static int exponent_apart(const double *x, const double *r, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        most = isfinite(x[i]) ? largest(most, fabs(x[i])) : most;
        most = isfinite(r[i]) ? largest(most, fabs(r[i])) : most;
    }
    return most > 0x1p1000 ? 8 : 0;
}

/* Scaled by powers of two, so that squares neither overflow nor vanish. */
static Accuracy in_doubles(const double *x, const double *r, int64_t n)
{
    int apart = exponent_apart(x, r, n);
    double most_r = 0, most_d = 0, sum_r = 0, sum_d = 0, shrink = ldexp(1, -apart);
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i]) || !isfinite(r[i])) {
            if (!(x[i] == r[i] || (isnan(x[i]) && isnan(r[i]))))
                return accuracy(INFINITY);
            continue;
        }
        most_r = largest(most_r, fabs(shrink * r[i]));
        most_d = largest(most_d, fabs(shrink * x[i] - shrink * r[i]));
    }
    if (most_d == 0 || most_r == 0)
        return accuracy(most_d == 0 ? 0 : INFINITY);
    int er = ilogb(most_r), ed = ilogb(most_d);
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i]) || !isfinite(r[i]))
            continue;
        double d = ldexp(shrink * x[i] - shrink * r[i], -ed), s = ldexp(shrink * r[i], -er);
        sum_d += d * d;
        sum_r += s * s;
    }
    return accuracy(ldexp(sqrt(sum_d / sum_r), ed - er));
}

/* ---- in mp ---- */
static ArithStatus apply(Arith *a, EwOp op, Rational *out, const Rational *x, const Rational *y,
                         int64_t n)
{
    return a->ops->ew(a, op, out, 1, (const void *const[]){ x, y }, ones, n);
}

/* Infinities and nans that agree count as equal zeros. False: some do not. */
static bool settle_specials(DType dt, Rational *x, Rational *r, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        bool nan_x = number_is_nan(dt, &x[i]), nan_r = number_is_nan(dt, &r[i]);
        bool inf_x = number_is_inf(dt, &x[i]), inf_r = number_is_inf(dt, &r[i]);
        if (!nan_x && !nan_r && !inf_x && !inf_r)
            continue;
        if (nan_x != nan_r || inf_x != inf_r ||
            (inf_x && number_sign(dt, &x[i]) != number_sign(dt, &r[i])))
            return false;
        memset(&x[i], 0, sizeof x[i]);
        memset(&r[i], 0, sizeof r[i]);
    }
    return true;
}

/* Numbers of mp: cells that stay alive stand in tensors, so that the heap can be collected. */
static Rational *cells(Interp *in, DType dt, int64_t n)
{
    return (Rational *)(void *)rooted(in, tensor_zeros(&in->ctx, dt, 1, &n))->data;
}

/* sum += |v|², v of n numbers; `room` is one cell. */
static ArithStatus add_squares(Arith *a, Rational *sum, const Rational *v, Rational *room,
                               int64_t n)
{
    ArithStatus s = a->ops->dot(a, room, v, 1, v, 1, n);
    return s == ARITH_OK ? apply(a, EW_ADD, sum, sum, room, 1) : s;
}

/* √(num / den) as an accuracy. */
static ArithStatus finish(Arith *a, Rational *num, Rational *den, Accuracy *out)
{
    DType dt = a->dtype;
    if (number_is_zero(dt, num) || number_is_zero(dt, den)) {
        *out = accuracy(number_is_zero(dt, num) ? 0 : INFINITY);
        return ARITH_OK;
    }
    ArithStatus s = apply(a, EW_DIVIDE, num, num, den, 1);
    if (s == ARITH_OK)
        s = apply(a, EW_SQRT, num, num, NULL, 1);
    if (s != ARITH_OK)
        return s;
    *out = accuracy(number_f64(dt, num));
    if (out->error < 1 && apply(a, EW_LOG10, num, num, NULL, 1) == ARITH_OK)
        out->digits = -number_f64(dt, num); /* also where the error is below all doubles */
    return ARITH_OK;
}

static ArithStatus in_mp(Interp *in, const Tensor *x, const Tensor *r, Accuracy *out)
{
    Arith a;
    int bx = accuracy_bits((DType)x->dtype), br = accuracy_bits((DType)r->dtype);
    DType dt = dtype_mp((bx > br ? bx : br) + 64);
    ArithStatus s = arith_open(&in->ctx, &a, dt, ROUND_NEAREST, false, false);
    if (s != ARITH_OK)
        return s;
    Rational *cx = cells(in, dt, STRIP), *cr = cells(in, dt, STRIP), *sums = cells(in, dt, 3);
    int wx = dtype_info((DType)x->dtype)->bytes, wr = dtype_info((DType)r->dtype)->bytes;
    for (int64_t i = 0; i < x->size && s == ARITH_OK; i += STRIP) {
        int64_t n = x->size - i < STRIP ? x->size - i : STRIP;
        poll_interrupt(in);
        rational_collect(&in->ctx);
        s = a.ops->load(&a, cx, 1, (DType)x->dtype, x->data + i * wx, 1, n);
        if (s == ARITH_OK)
            s = a.ops->load(&a, cr, 1, (DType)r->dtype, r->data + i * wr, 1, n);
        if (s == ARITH_OK && !settle_specials(dt, cx, cr, n)) {
            *out = accuracy(INFINITY);
            return ARITH_OK;
        }
        if (s == ARITH_OK)
            s = apply(&a, EW_SUBTRACT, cx, cx, cr, n);
        if (s == ARITH_OK)
            s = add_squares(&a, &sums[0], cx, &sums[2], n);
        if (s == ARITH_OK)
            s = add_squares(&a, &sums[1], cr, &sums[2], n);
    }
    return s == ARITH_OK ? finish(&a, &sums[0], &sums[1], out) : s;
}

/* ---- values ---- */
static Accuracy worse(Accuracy a, Accuracy b) { return b.error > a.error ? b : a; }

/* Rows of real numbers of one length. */
static Accuracy of_rows(Interp *in, Tensor *x, Tensor *r)
{
    Tensor *wide_x, *wide_r;
    Accuracy out = { NAN, 0 };
    if (dtype_base((DType)r->dtype) == DT_INTERVAL)
        r = ends_of(in, r, 2);
    if (dtype_base((DType)x->dtype) == DT_INTERVAL)
        return worse(of_rows(in, ends_of(in, x, 0), r), of_rows(in, ends_of(in, x, 1), r));
    if ((wide_x = as_doubles(in, x)) && (wide_r = as_doubles(in, r)))
        return in_doubles((double *)(void *)wide_x->data, (double *)(void *)wide_r->data, x->size);
    ArithStatus s = in_mp(in, x, r, &out);
    if (s == ARITH_LIBRARY) { /* then nothing is wider than f64 but fractions */
        x = rooted(in, tensor_cast(&in->ctx, x, DT_F64));
        r = rooted(in, tensor_cast(&in->ctx, r, DT_F64));
        return in_doubles((double *)(void *)x->data, (double *)(void *)r->data, x->size);
    }
    if (s != ARITH_OK)
        arith_raise(&in->ctx, s, DT_MP, "the error");
    return out;
}

static bool same_shape(const Tensor *a, const Tensor *b)
{
    return a->rank == b->rank &&
           memcmp(tensor_shape(a), tensor_shape(b), (size_t)a->rank * sizeof(int64_t)) == 0;
}

/* What is not stored in either has no error. */
static void entries_of(Interp *in, Tensor **a, Tensor **b)
{
    const Sparse *x = tensor_sparse(*a), *y = tensor_sparse(*b);
    Tensor *both[2];
    if (x && y) {
        sparse_aligned(&in->ctx, x, y, both);
        v_push(in, v_tensor_raw(both[1]));
        *a = rooted(in, both[0]);
        *b = both[1];
        return;
    }
    Tensor **one = x ? a : b;
    *one = rooted(in, sparse_to_dense(&in->ctx, x ? x : y));
}

static Accuracy of_tensors(Interp *in, Value x, Value reference)
{
    Tensor *a = rooted(in, v_to_tensor(in, x, 0)), *b = rooted(in, v_to_tensor(in, reference, 1));
    if (!same_shape(a, b))
        return accuracy(INFINITY);
    if (tensor_sparse(a) || tensor_sparse(b))
        entries_of(in, &a, &b);
    a = rooted(in, tensor_compact(&in->ctx, a));
    b = rooted(in, tensor_compact(&in->ctx, b));
    tensor_home(&in->ctx, a);
    tensor_home(&in->ctx, b);
    if (is_complex(a) || is_complex(b)) {
        a = parts_of(in, is_complex(a) ? a : rooted(in, tensor_cast(&in->ctx, a, DT_C128)));
        b = parts_of(in, is_complex(b) ? b : rooted(in, tensor_cast(&in->ctx, b, DT_C128)));
    }
    return of_rows(in, a, b);
}

Accuracy accuracy_of(Interp *in, Value x, Value reference)
{
    Value *mark = in->sp;
    Accuracy out = accuracy(0);
    v_check_depth(in);
    if (x.tag == V_TUPLE && reference.tag == V_TUPLE) {
        if (x.tuple->count != reference.tuple->count)
            return accuracy(INFINITY);
        for (uint32_t i = 0; i < x.tuple->count; i++)
            out = worse(out, accuracy_of(in, x.tuple->items[i], reference.tuple->items[i]));
        return out;
    }
    bool bools = x.tag == V_BOOL || reference.tag == V_BOOL;
    if (v_is_numeric(x) && v_is_numeric(reference) && !bools)
        out = of_tensors(in, x, reference);
    else if (x.tag != reference.tag || (x.tag != V_FUNCTION && !v_equal(in, x, reference)))
        out = accuracy(INFINITY);
    stack_cut(in, mark);
    return out;
}

/* ---- the backward error ---- */
typedef struct System {
    int64_t m, n, k;            /* A is m×n, x n×k, b m×k */
    int parts;                  /* 2: complex */
    Tensor *A, *b, *x;          /* in rows */
} System;

static bool system_shape(System *s)
{
    const Tensor *A = s->A, *b = s->b, *x = s->x;
    if (A->rank != 2 || b->rank < 1 || b->rank > 2 || x->rank != b->rank)
        return false;
    s->m = tensor_shape(A)[0];
    s->n = tensor_shape(A)[1];
    s->k = b->rank == 2 ? tensor_shape(b)[1] : 1;
    return tensor_shape(b)[0] == s->m && tensor_shape(x)[0] == s->n &&
           (x->rank == 1 || tensor_shape(x)[1] == s->k);
}

static long double square(long double x) { return x * x; }

/* Doubles, in the 64 bits of long double where the machine has them. */
static double backward_doubles(Interp *in, const System *s)
{
    const double *A = (void *)s->A->data, *b = (void *)s->b->data, *x = (void *)s->x->data;
    long double r2 = 0, A2 = 0, x2 = 0, b2 = 0;
    int p = s->parts;
    for (int64_t i = 0; i < s->m; i++) {
        poll_interrupt(in);
        for (int64_t j = 0; j < s->k; j++) {
            long double re = b[(i * s->k + j) * p], im = p > 1 ? b[(i * s->k + j) * p + 1] : 0;
            for (int64_t l = 0; l < s->n; l++) {
                const double *u = A + (i * s->n + l) * p, *v = x + (l * s->k + j) * p;
                re -= (long double)u[0] * v[0] - (p > 1 ? (long double)u[1] * v[1] : 0);
                im -= p > 1 ? (long double)u[0] * v[1] + (long double)u[1] * v[0] : 0;
            }
            r2 += square(re) + square(im);
        }
    }
    for (int64_t i = 0; i < s->A->size; i++)
        A2 += square(A[i]);
    for (int64_t i = 0; i < s->x->size; i++)
        x2 += square(x[i]);
    for (int64_t i = 0; i < s->b->size; i++)
        b2 += square(b[i]);
    double eta = (double)(sqrtl(r2) / (sqrtl(A2) * sqrtl(x2) + sqrtl(b2)));
    return r2 == 0 ? 0 : isnan(eta) ? INFINITY : eta;
}

/* The squared norm of a whole tensor, in strips. */
static ArithStatus norm_squared(Interp *in, Arith *a, const Tensor *t, Rational *sum)
{
    Value *mark = in->sp;
    Rational *strip = cells(in, a->dtype, STRIP + 1);
    ArithStatus s = ARITH_OK;
    for (int64_t i = 0; i < t->size && s == ARITH_OK; i += STRIP) {
        int64_t n = t->size - i < STRIP ? t->size - i : STRIP;
        poll_interrupt(in);
        rational_collect(&in->ctx);
        s = a->ops->load(a, strip, 1, (DType)t->dtype,
                         t->data + i * dtype_info((DType)t->dtype)->bytes, 1, n);
        if (s == ARITH_OK)
            s = add_squares(a, sum, strip, strip + STRIP, n);
    }
    stack_cut(in, mark);
    return s;
}

/* Adds |b - A x|² of row i to sum; `x` is loaded, `row` has room for n + k + 2 numbers. */
static ArithStatus residual_row(Arith *a, const System *s, int64_t i, const Rational *x,
                                Rational *row, Rational *sum)
{
    DType da = (DType)s->A->dtype, db = (DType)s->b->dtype;
    Rational *right = row + s->n, *room = right + s->k;
    ArithStatus st =
        a->ops->load(a, row, 1, da, s->A->data + i * s->n * dtype_info(da)->bytes, 1, s->n);
    if (st == ARITH_OK)
        st = a->ops->load(a, right, 1, db, s->b->data + i * s->k * dtype_info(db)->bytes, 1, s->k);
    for (int64_t j = 0; j < s->k && st == ARITH_OK; j++) {
        st = a->ops->dot(a, room, row, 1, x + j, s->k, s->n);
        if (st == ARITH_OK)
            st = apply(a, EW_SUBTRACT, right + j, right + j, room, 1);
    }
    return st == ARITH_OK ? add_squares(a, sum, right, room, s->k) : st;
}

static ArithStatus backward_mp(Interp *in, const System *s, int bits, double *out)
{
    enum { R, A, X, B, SUMS };
    Arith a;
    DType dt = dtype_mp(bits);
    ArithStatus st = arith_open(&in->ctx, &a, dt, ROUND_NEAREST, false, false);
    if (st != ARITH_OK)
        return st;
    Rational *sum = cells(in, dt, SUMS), *x = cells(in, dt, s->n * s->k + 1),
             *row = cells(in, dt, s->n + s->k + 2);
    st = a.ops->load(&a, x, 1, (DType)s->x->dtype, s->x->data, 1, s->n * s->k);
    for (int64_t i = 0; i < s->m && st == ARITH_OK; i++) {
        poll_interrupt(in);
        rational_collect(&in->ctx);
        st = residual_row(&a, s, i, x, row, &sum[R]);
    }
    const Tensor *t[] = { NULL, s->A, s->x, s->b };
    for (int i = A; i <= B && st == ARITH_OK; i++)
        st = norm_squared(in, &a, t[i], &sum[i]);
    for (int i = R; i <= B && st == ARITH_OK; i++)
        st = apply(&a, EW_SQRT, &sum[i], &sum[i], NULL, 1);
    if (st != ARITH_OK)
        return st;
    st = apply(&a, EW_MULTIPLY, &sum[A], &sum[A], &sum[X], 1);
    if (st == ARITH_OK)
        st = apply(&a, EW_ADD, &sum[A], &sum[A], &sum[B], 1);
    if (st == ARITH_OK && !number_is_zero(dt, &sum[R]))
        st = apply(&a, EW_DIVIDE, &sum[R], &sum[R], &sum[A], 1);
    *out = number_f64(dt, &sum[R]);
    return st;
}

double accuracy_backward(Interp *in, Value A, Value b, Value x)
{
    Value *mark = in->sp;
    System s = { .parts = 1 };
    Tensor **t[] = { &s.A, &s.b, &s.x }, *wide[3];
    Value values[] = { A, b, x };
    double out = NAN;
    int bits = 0;
    bool complex_ = false, doubles = true;
    for (int i = 0; i < 3; i++) {
        if (!v_is_numeric(values[i])) {
            stack_cut(in, mark);
            return NAN;
        }
        *t[i] = rooted(in, tensor_compact(&in->ctx, rooted(in, v_to_tensor(in, values[i], i))));
        tensor_home(&in->ctx, *t[i]);
        complex_ |= is_complex(*t[i]);
        int own = accuracy_bits((DType)(*t[i])->dtype);
        bits = own > bits ? own : bits;
    }
    bool system = system_shape(&s);
    for (int i = 0; i < 3 && system; i++) {
        Tensor *v = *t[i];
        if (dtype_base((DType)v->dtype) == DT_INTERVAL)
            v = ends_of(in, v, 2);
        if (complex_)
            v = parts_of(in, is_complex(v) ? v : rooted(in, tensor_cast(&in->ctx, v, DT_C128)));
        *t[i] = v;
        wide[i] = as_doubles(in, v);
        doubles &= wide[i] != NULL;
    }
    s.parts = complex_ ? 2 : 1;
    if (system && doubles) {
        s.A = wide[0], s.b = wide[1], s.x = wide[2];
        out = backward_doubles(in, &s);
    } else if (system && backward_mp(in, &s, bits + 64, &out) != ARITH_OK) {
        out = NAN;
    }
    stack_cut(in, mark);
    return out < ldexp(1, -bits - 32) ? 0 : out; /* of fractions: what their mp numbers left */
}
