/* Elementwise kernels: the fast inner loops against the reference ones for every row,
 * dtype, layout and tail; dtype rules; ew_run over strided, broadcast, cast and large
 * operands; integer trouble. */
#include "kernels/cast/ew_run.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/elementwise/ew_kernels.h"
#include "tests/unit/check.h"

#include <stdlib.h>

enum { N = 199 };

static Ctx ctx_storage, *ctx = &ctx_storage;

/* Rows whose fast kernel may differ from the reference, and by how many ulps: tests/unit/ulp.c has
 * their true errors. */
static double tolerance(EwOp op, DType dt) {
    if (dtype_info(dt)->kind == 'c') return 1e9;
    return ew_reference(op, dt) == ew_kernel(op, dt) ? 0 : 1;
}

static bool exact(EwOp op, DType dt) {
    switch (op) {
    case EW_CBRT: case EW_EXP: case EW_EXPM1: case EW_LOG: case EW_LOG2: case EW_LOG10:
    case EW_LOG1P: case EW_SIN: case EW_COS: case EW_TAN: case EW_ASIN: case EW_ACOS: case EW_ATAN:
    case EW_ATAN2: case EW_SINH: case EW_COSH: case EW_TANH: case EW_ASINH: case EW_ACOSH:
    case EW_ATANH: case EW_HYPOT: case EW_SIGMOID: case EW_SILU: case EW_SOFTPLUS: case EW_GELU:
    case EW_ERF: case EW_ERFC: case EW_GAMMA: case EW_LGAMMA: case EW_ANGLE: case EW_LDEXP:
        return false;
    case EW_POWER:
        return dtype_info(dt)->kind == 'i';
    default:
        return true;
    }
}

static double ulp_size(DType dt, double about) {
    int bits = dt == DT_F16 ? 11 : dt == DT_BF16 ? 8 : dt == DT_F32 ? 24 : 53;
    int least = dt == DT_F16 ? -13 : dt == DT_F64 ? -1021 : -125, e;
    frexp(about, &e);
    return ldexp(1, (e < least ? least : e) - bits);
}

static bool close_real(DType dt, double got, double want, double ulps) {
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want);
    if (got == want) return true;
    if (isinf(got) || isinf(want)) return false;
    return fabs(got - want) <= ulps * ulp_size(dt, want) * 1.0000001;
}

static bool close_value(EwOp op, DType dt, const void *got, const void *want) {
    size_t bytes = dtype_info(dt)->bytes;
    if (memcmp(got, want, bytes) == 0) return true;
    if (dtype_info(dt)->kind == 'c') {   /* complex libm: normwise, some digits are lost */
        double _Complex g = element_c128(dt, got), w = element_c128(dt, want);
        double unit = dt == DT_C64 ? 0x1p-23 : 0x1p-52, size = cabs(w);
        if (!isfinite(creal(w)) || !isfinite(cimag(w)) || !(size < 1e300) ||
            size < 1e-30) return true;
        return cabs(g - w) <= (exact(op, dt) ? 4 : 64) * unit * size;
    }
    if (dtype_info(dt)->kind != 'f') return false;
    double g = element_f64(dt, got), w = element_f64(dt, want);
    if (isnan(g) && isnan(w)) return true;
    return !exact(op, dt) && close_real(dt, g, w, tolerance(op, dt));
}

/* ---- operands ---- */

static const double special[] = {
    0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, 1e-3, 7.25, -7.25, 88.9, 710, -745, 1e5, -1e5,
        1e-300, 1e300,
    1e-40, 65504, 1e-7, INFINITY, -INFINITY, NAN, 0x1p-1074, -0x1p-1022, 1.5, 2.5, -1.5,
        171.5, -3, -2.75
};
enum { SPECIALS = sizeof special / sizeof *special };

static void put(DType dt, char *at, double re, double im) {
    switch (dt) {
    case DT_BOOL: *(uint8_t *)at = re > 0; break;
    case DT_I8: *(int8_t *)at = (int8_t)(int64_t)fmod(isfinite(re) ? re : 5, 100); break;
    case DT_U8: *(uint8_t *)at = (uint8_t)fabs(fmod(isfinite(re) ? re : 5, 200)); break;
    case DT_I32: *(int32_t *)at = (int32_t)fmod(isfinite(re) ? re : INT32_MIN, 0x1p31); break;
    case DT_I64: *(int64_t *)at = (int64_t)fmod(isfinite(re) ? re : 5, 0x1p62); break;
    case DT_F16: *(uint16_t *)at = f64_to_f16(re); break;
    case DT_BF16: *(uint16_t *)at = f64_to_bf16(re); break;
    case DT_F32: *(float *)at = (float)re; break;
    case DT_F64: *(double *)at = re; break;
    case DT_C64: *(float _Complex *)at = (float)re + (float)im * (float _Complex)I; break;
    default: ((double *)at)[0] = re; ((double *)at)[1] = im; break;
    }
}

static double value(int i, int k) {
    if (i < (int)SPECIALS) return special[(i * (k ? 7 : 1) + k * 3) % (int)SPECIALS];
    double u = check_uniform();
    switch ((i + k) % 5) {
    case 0: return u;
    case 1: return 6 * u;
    case 2: return 800 * u;
    case 3: return ldexp(u, (int)(check_random() % 60) - 30);
    default: return floor(20 * u);
    }
}

/* ---- inner loops ---- */

static char a[3][16 * 3 * N], fast[16 * 3 * N], slow[16 * 3 * N];

static void fill(EwOp op, DType compute, int arity) {
    for (int k = 0; k < arity; k++) {
        DType dt = k == 0 && ew_info[op].result == RES_WHERE ? DT_BOOL : compute;
        for (int i = 0; i < 3 * N; i++) {
            double x = value(i / 3, k);
            if (k == 1 && (op == EW_SHL || op == EW_SHR)) x = (double)(i % 70);
            put(dt, a[k] + i * dtype_info(dt)->bytes, x, value(i / 3, k + 1));
        }
    }
}

static void compare(EwOp op, DType compute, const int64_t *si, int64_t so, int64_t n) {
    const void *in[3] = { a[0], a[1], a[2] };
    DType res = ew_result_dtype(op, compute);
    size_t bytes = dtype_info(res)->bytes;
    memset(fast, 0x5a, sizeof fast);
    memset(slow, 0x5a, sizeof slow);
    ew_kernel(op, compute)(fast, so, in, si, n);
    ew_reference(op, compute)(slow, so, in, si, n);
    for (int64_t i = 0; i < n; i++) {
        const char *got = fast + i * so * (int64_t)bytes, *want = slow + i * so * (int64_t)bytes;
        if (close_value(op, res, got, want)) continue;
        double _Complex g = element_c128(res, got), w = element_c128(res, want);
        DType first = ew_info[op].result == RES_WHERE ? DT_BOOL : compute;
        double _Complex x = element_c128(first, a[0] + i * si[0] * dtype_info(first)->bytes);
        double _Complex y = ew_info[op].arity > 1
            ? element_c128(compute, a[1] + i * si[1] * dtype_info(compute)->bytes) : 0;
        fprintf(stderr, "%s %s n=%d i=%d: (%.17g%+.17gi, %.17g%+.17gi) gives %.17g%+.17gi, not "
                        "%.17g%+.17gi\n",
                ew_info[op].name, dtype_name(compute), (int)n, (int)i, creal(x), cimag(x), creal(y),
                cimag(y), creal(g), cimag(g), creal(w), cimag(w));
        check_that(false, "fast and reference agree", __FILE__, __LINE__);
        return;
    }
    size_t end = (size_t)(n ? (n - 1) * so + 1 : 0) * bytes;
    CHECK(memcmp(fast + end, slow + end, sizeof fast - end) == 0);   /* nothing beyond */
}

/* The same bits, part by part; the sign of a nan is nobody's promise. */
static bool same_bits(DType dt, const void *p, const void *q) {
    double _Complex a_ = element_c128(dt, p), b_ = element_c128(dt, q);
    double u[] = { creal(a_), cimag(a_) }, v[] = { creal(b_), cimag(b_) };
    if (memcmp(p, q, dtype_info(dt)->bytes) == 0) return true;
    for (int k = 0; k < 2; k++)
        if (memcmp(&u[k], &v[k], 8) != 0 && !(isnan(u[k]) && isnan(v[k]))) return false;
    return dtype_info(dt)->kind == 'c' || dtype_info(dt)->kind == 'f';
}

/* One element alone gives the bits it gives inside a long call. */
static void compare_alone(EwOp op, DType compute) {
    const int64_t one[] = { 1, 1, 1 };
    const void *in[3] = { a[0], a[1], a[2] };
    DType res = ew_result_dtype(op, compute);
    size_t bytes = dtype_info(res)->bytes;
    ew_kernel(op, compute)(fast, 1, in, one, N);
    bool same = true;
    for (int64_t i = 0; i < N && same; i++) {
        char alone[16];
        const void *at[3];
        for (int k = 0; k < ew_info[op].arity; k++) {
            bool first = k == 0 && ew_info[op].result == RES_WHERE;
            at[k] = a[k] + i * (first ? 1 : dtype_info(compute)->bytes);
        }
        ew_kernel(op, compute)(alone, 1, at, one, 1);
        same = same_bits(res, alone, fast + (size_t)i * bytes);
        if (!same)
            fprintf(stderr,
                    "%s %s: element %d alone gives other bits: %.17g%+.17gi, %.17g%+.17gi\n",
                    ew_info[op].name, dtype_name(compute), (int)i, creal(element_c128(res, alone)),
                    cimag(element_c128(res, alone)),
                    creal(element_c128(res, fast + (size_t)i * bytes)),
                    cimag(element_c128(res, fast + (size_t)i * bytes)));
    }
    CHECK(same);
}

static void test_kernels(void) {
    static const int64_t layouts[][4] = {   /* strides of operands, of the result */
        { 1, 1, 1, 1 }, { 2, 1, 3, 1 }, { 1, 0, 0, 1 }, { 0, 1, 1, 1 }, { 3, 2, 1, 2 },
        { 0, 0, 0, 3 }
    };
    static const int lengths[] = { 0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, N };
    for (int op = 0; op < EW_COUNT; op++)
        for (int dt = 0; dt < DT_COUNT; dt++) {
            if (dtype_foreign((DType)dt)) continue;
            if (ew_compute_dtype((EwOp)op, (DType)dt) != (DType)dt) continue;
            fill((EwOp)op, (DType)dt, ew_info[op].arity);
            for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++)
                for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
                    compare((EwOp)op, (DType)dt, layouts[l], layouts[l][3], lengths[k]);
            compare_alone((EwOp)op, (DType)dt);
        }
}

/* ---- accuracy of the transcendentals against long double ---- */

static double random_float(int range, DType dt) {
    static const double scale[] = { 0, 1, 6, 90, 720, 1e6, 1e20 };
    if (range) return scale[range] * check_uniform();
    uint64_t bits = check_random();
    if (dt == DT_F32) return (double)(union { uint32_t u; float f; }){ (uint32_t)bits }.f;
    return (union { uint64_t u; double f; }){ bits }.f;
}

static void test_accuracy(void) {
    enum { COUNT = 256, ROUNDS = 12 };
    static char x[2][8 * COUNT], got[8 * COUNT], want[8 * COUNT];
    const int64_t one[] = { 1, 1 };
    const void *in[] = { x[0], x[1] };
    for (int op = 0; op < EW_COUNT; op++)
        for (int d = 0; d < 2; d++) {
            DType dt = d ? DT_F64 : DT_F32;
            if (ew_compute_dtype((EwOp)op, dt) != dt || exact((EwOp)op, dt)) continue;
            if (ew_result_dtype((EwOp)op, dt) != dt) continue;
            double limit = tolerance((EwOp)op, dt);
            bool good = true;
            for (int round = 0; round < 7 * ROUNDS && good; round++) {
                for (int i = 0; i < COUNT; i++)
                    for (int k = 0; k < ew_info[op].arity; k++)
                        put(dt, x[k] + i * dtype_info(dt)->bytes, random_float(round % 7, dt), 0);
                ew_kernel((EwOp)op, dt)(got, 1, in, one, COUNT);
                ew_reference((EwOp)op, dt)(want, 1, in, one, COUNT);
                for (int i = 0; i < COUNT && good; i++) {
                    const char *p = got + i * dtype_info(dt)->bytes,
                               *q = want + i * dtype_info(dt)->bytes;
                    good = close_real(dt, element_f64(dt, p), element_f64(dt, q), limit);
                    if (!good)
                        fprintf(stderr, "%s %s(%.17g, %.17g): %.17g, not %.17g\n", ew_info[op].name,
                                dtype_name(dt), element_f64(dt, x[0] + i * dtype_info(dt)->bytes),
                                element_f64(dt, x[1] + i * dtype_info(dt)->bytes),
                                element_f64(dt, p), element_f64(dt, q));
                }
            }
            CHECK(good);
        }
}

/* ---- single facts ---- */

static double f64_of(EwOp op, double x, double y) {
    const int64_t one[] = { 1, 1, 1 };
    const void *in[] = { &x, &y };
    double r = 0;
    ew_kernel(op, DT_F64)(&r, 1, in, one, 1);
    return r;
}

static int64_t i64_of(EwOp op, int64_t x, int64_t y) {
    const int64_t one[] = { 1, 1, 1 };
    const void *in[] = { &x, &y };
    int64_t r = 0;
    ew_kernel(op, DT_I64)(&r, 1, in, one, 1);
    return r;
}

static void test_facts(void) {
    CHECK(i64_of(EW_FLOOR_DIVIDE, -7, 2) == -4 && i64_of(EW_MOD, -7, 2) == 1);
    CHECK(i64_of(EW_FLOOR_DIVIDE, 7, -2) == -4 && i64_of(EW_MOD, 7, -2) == -1);
    CHECK(i64_of(EW_FLOOR_DIVIDE, INT64_MIN, -1) == INT64_MIN &&
          i64_of(EW_MOD, INT64_MIN, -1) == 0);
    CHECK(i64_of(EW_FLOOR_DIVIDE, 5, 0) == 0 && i64_of(EW_MOD, 5, 0) == 0);
    CHECK(i64_of(EW_ADD, INT64_MAX, 1) == INT64_MIN && i64_of(EW_ABS, INT64_MIN, 0) == INT64_MIN);
    CHECK(i64_of(EW_POWER, 3, 40) == (int64_t)12157665459056928801u);
    CHECK(i64_of(EW_POWER, 0, 0) == 1 && i64_of(EW_POWER, -1, -3) == -1);
    CHECK(i64_of(EW_SHL, 1, 63) == INT64_MIN && i64_of(EW_SHL, 1, 64) == 0);
    CHECK(i64_of(EW_SHR, -9, 1) == -5 && i64_of(EW_SHR, -9, 70) == -1);
    CHECK(f64_of(EW_MOD, -7.5, 2) == 0.5 && f64_of(EW_MOD, 7.5, -2) == -0.5);
    CHECK(f64_of(EW_FLOOR_DIVIDE, -7.5, 2) == -4 && f64_of(EW_FLOOR_DIVIDE, 1, 0) == INFINITY);
    CHECK(isnan(f64_of(EW_MOD, 1, 0)) && f64_of(EW_MOD, 5, -INFINITY) == -INFINITY);
    CHECK(isnan(f64_of(EW_MAXIMUM, NAN, 1)) && isnan(f64_of(EW_MAXIMUM, 1, NAN)));
    CHECK(isnan(f64_of(EW_MINIMUM, NAN, 1)) && isnan(f64_of(EW_MINIMUM, 1, NAN)));
    CHECK(f64_of(EW_POWER, NAN, 0) == 1 && isnan(f64_of(EW_POWER, -8, 1.0 / 3)));
    CHECK(f64_of(EW_POWER, 1.1, 2) == 1.1 * 1.1);
    CHECK(f64_of(EW_EXP, 1, 0) == M_E && f64_of(EW_LOG2, 8, 0) == 3 &&
          f64_of(EW_LOG10, 1000, 0) == 3);
    CHECK(f64_of(EW_CBRT, 27, 0) == 3 && f64_of(EW_HYPOT, 3, 4) == 5 &&
          f64_of(EW_SIGMOID, 0, 0) == 0.5);
    CHECK(f64_of(EW_EXP, -INFINITY, 0) == 0 && f64_of(EW_EXP, 710, 0) == INFINITY);
    CHECK(f64_of(EW_LOG, 0, 0) == -INFINITY && isnan(f64_of(EW_LOG, -1, 0)));
    CHECK(signbit(f64_of(EW_SIN, -0.0, 0)) && signbit(f64_of(EW_TANH, -0.0, 0)));
    CHECK(signbit(f64_of(EW_SQRT, -0.0, 0)) && signbit(f64_of(EW_NEGATIVE, 0.0, 0)));
    CHECK(f64_of(EW_ROUND, 2.5, 0) == 2 && f64_of(EW_ROUND, -3.5, 0) == -4);
    CHECK(f64_of(EW_GAMMA, 5, 0) == 24 && f64_of(EW_LGAMMA, 1, 0) == 0 &&
          isnan(f64_of(EW_GAMMA, -2, 0)));
    CHECK(f64_of(EW_HYPOT, INFINITY, NAN) == INFINITY && f64_of(EW_HYPOT, 1e200, 1e200) < INFINITY);

    double _Complex z = 2 * I, w = 2, r;
    const int64_t one[] = { 1, 1 };
    const void *in[] = { &z, &w };
    ew_kernel(EW_POWER, DT_C128)(&r, 1, in, one, 1);
    CHECK(creal(r) == -4 && cimag(r) == 0);

    CHECK(ew_compute_dtype(EW_ADD, DT_BOOL) == DT_I64 &&
          ew_compute_dtype(EW_SQRT, DT_I32) == DT_F64);
    CHECK(ew_compute_dtype(EW_EQUAL, DT_BOOL) == DT_BOOL &&
          ew_compute_dtype(EW_LESS, DT_C64) == DT_NONE);
    CHECK(ew_compute_dtype(EW_BITAND, DT_F32) == DT_NONE &&
          ew_compute_dtype(EW_ANGLE, DT_I64) == DT_F64);
    CHECK(ew_compute_dtype(EW_SQRT, DT_F16) == DT_F16 &&
          ew_compute_dtype(EW_DIVIDE, DT_U8) == DT_F64);
    CHECK(ew_result_dtype(EW_ABS, DT_C64) == DT_F32 &&
          ew_result_dtype(EW_EQUAL, DT_C64) == DT_BOOL);

    uint16_t h = 0x3c00, up = f64_to_f16(2), next;
    const void *halves[] = { &h, &up };
    ew_kernel(EW_NEXTAFTER, DT_F16)(&next, 1, halves, one, 1);
    CHECK(next == 0x3c01);
}

/* ---- whole tensors ---- */

static Tensor *random_tensor(DType dt, int rank, const int64_t *shape) {
    Tensor *t = tensor_new(ctx, dt, rank, shape);
    for (int64_t i = 0; i < t->size; i++)
        put(dt, t->data + i * dtype_info(dt)->bytes, floor(10 * check_uniform()), 0);
    return t;
}

static Tensor *swapped(Tensor *t) {
    Tensor *v = tensor_transpose_last(ctx, t);
    tensor_release(ctx, t);
    return v;
}

/* x + y by ew_run against element by element in f64 (the values are small integers). */
static bool adds_up(Tensor *x, Tensor *y) {
    int64_t shape[TENSOR_RANK_MAX];
    int rank = shape_broadcast(x->rank, tensor_shape(x), y->rank, tensor_shape(y), shape, NULL);
    DType compute = ew_compute_dtype(EW_ADD, dtype_promote((DType)x->dtype, (DType)y->dtype));
    Tensor *out = tensor_new(ctx, compute, rank, shape), *in[] = { x, y };
    Tensor *bx = tensor_broadcast(ctx, x, rank, shape), *by = tensor_broadcast(ctx, y, rank, shape);
    bool good = ew_run(ctx, EW_ADD, compute, out, in) == EWT_NONE;
    for (int64_t i = 0; i < out->size && good; i++) {
        int64_t rest = i, ox = 0, oy = 0;
        for (int axis = rank - 1; axis >= 0; axis--) {
            ox += rest % shape[axis] * tensor_strides(bx)[axis];
            oy += rest % shape[axis] * tensor_strides(by)[axis];
            rest /= shape[axis];
        }
        double want = element_f64((DType)x->dtype, x->data + ox * dtype_info(x->dtype)->bytes)
                    + element_f64((DType)y->dtype, y->data + oy * dtype_info(y->dtype)->bytes);
        good = element_f64(compute, out->data + i * dtype_info(compute)->bytes) == want;
    }
    tensor_release(ctx, bx);
    tensor_release(ctx, by);
    tensor_release(ctx, out);
    tensor_release(ctx, x);
    tensor_release(ctx, y);
    return good;
}

#define SHAPE(...) (int)(sizeof (int64_t[]){ __VA_ARGS__ } / 8), (int64_t[]){ __VA_ARGS__ }

static void test_run(void) {
    static const DType types[] =
        { DT_BOOL, DT_I8, DT_U8, DT_I32, DT_I64, DT_F16, DT_BF16, DT_F32, DT_F64,
                                   DT_C64, DT_C128 };
    for (int i = 0; i < 11; i++)
        for (int j = 0; j < 11; j++) {
            CHECK(adds_up(random_tensor(types[i], SHAPE(3)), random_tensor(types[j], SHAPE(3))));
            CHECK(adds_up(random_tensor(types[i], SHAPE(5, 1, 7)),
                          random_tensor(types[j], SHAPE(4, 1))));
            CHECK(adds_up(random_tensor(types[i], SHAPE(600)), random_tensor(types[j], SHAPE(1))));
        }
    CHECK(adds_up(random_tensor(DT_F64, SHAPE(1)), random_tensor(DT_F64, SHAPE(1))));
    CHECK(adds_up(random_tensor(DT_F64, SHAPE(0, 3)), random_tensor(DT_F64, SHAPE(3))));
    CHECK(adds_up(swapped(random_tensor(DT_F64, SHAPE(300, 200))),
                  random_tensor(DT_F64, SHAPE(200, 300))));
    CHECK(adds_up(swapped(random_tensor(DT_F32, SHAPE(70, 90))),
                  swapped(random_tensor(DT_F64, SHAPE(70, 90)))));
    CHECK(adds_up(random_tensor(DT_F64, SHAPE(40000, 3)), random_tensor(DT_I64, SHAPE(3))));
    CHECK(adds_up(random_tensor(DT_F64, SHAPE(2, 3, 4, 5, 6)),
                  random_tensor(DT_F64, SHAPE(3, 1, 5, 1))));
    CHECK(adds_up(random_tensor(DT_F64, SHAPE(1500, 1500)), random_tensor(DT_F64, SHAPE(1500))));
    CHECK(adds_up(random_tensor(DT_F64, SHAPE(1501, 1499)), random_tensor(DT_F32, SHAPE(1501, 1))));
}

static void test_trouble(void) {
    Tensor *x = random_tensor(DT_I32, SHAPE(100000)), *y = tensor_new(ctx, DT_I32, SHAPE(100000));
    Tensor *out = tensor_new(ctx, DT_I32, SHAPE(100000)), *in[] = { x, y };
    int32_t *v = (int32_t *)y->data;
    for (int i = 0; i < 100000; i++) v[i] = 3;
    CHECK(ew_run(ctx, EW_MOD, DT_I32, out, in) == EWT_NONE);
    v[77777] = 0;
    CHECK(ew_run(ctx, EW_MOD, DT_I32, out, in) == EWT_DIVZERO);
    v[77777] = -1;
    CHECK(ew_run(ctx, EW_POWER, DT_I32, out, in) == EWT_INT_POWER);
    CHECK(ew_run(ctx, EW_SHL, DT_I32, out, in) == EWT_SHIFT);
    CHECK(ew_run(ctx, EW_FLOOR_DIVIDE, DT_I32, out, in) == EWT_NONE);
    CHECK(ew_run(ctx, EW_ADD, DT_I32, x, in) == EWT_NONE);   /* in place */
    tensor_release(ctx, x);
    tensor_release(ctx, y);
    tensor_release(ctx, out);
}

static void test_where_clamp(void) {
    enum { COUNT = 1300 };
    Tensor *c = tensor_new(ctx, DT_BOOL, SHAPE(COUNT)), *x = random_tensor(DT_F64, SHAPE(COUNT));
    Tensor *zero = tensor_zeros(ctx, DT_I64, 0, NULL), *out = tensor_new(ctx, DT_F64, SHAPE(COUNT));
    for (int i = 0; i < COUNT; i++) c->data[i] = i % 3 == 0;
    CHECK(ew_run(ctx, EW_WHERE, DT_F64, out, (Tensor *[]){ c, x, zero }) == EWT_NONE);
    bool good = true;
    for (int i = 0; i < COUNT; i++)
        good &= ((double *)out->data)[i] == (i % 3 == 0 ? ((double *)x->data)[i] : 0);
    CHECK(good);
    int64_t four = 4, minus = -2;
    Tensor *lo = tensor_scalar(ctx, DT_I64, &minus), *hi = tensor_scalar(ctx, DT_I64, &four);
    CHECK(ew_run(ctx, EW_CLAMP, DT_F64, out, (Tensor *[]){ x, lo, hi }) == EWT_NONE);
    for (int i = 0; i < COUNT; i++) {
        double v = ((double *)x->data)[i];
        good &= ((double *)out->data)[i] == (v < -2 ? -2 : v > 4 ? 4 : v);
    }
    CHECK(good);
    Tensor *all[] = { c, x, zero, out, lo, hi };
    for (int i = 0; i < 6; i++) tensor_release(ctx, all[i]);
}

/* A row as a composition of others: the f64 kernels of its parts give what its formula gives. */
static int wide_part(void *work, EwOp op, void *out, int64_t so, const void *const x[],
                     const int64_t sx[], int64_t n) {
    bool bytes = ew_info[op].result == RES_BOOL;
    int64_t steps[3];
    (void)work;
    for (int k = 0; k < ew_info[op].arity; k++) steps[k] = 2 * sx[k];
    ew_kernel(op, DT_F64)(out, bytes ? so : 2 * so, x, steps, n);
    return 0;
}

static double wide_parts(const EwParts *p, const double *x) {
    enum { MANY = 70 };
    Rational whole[EW_WHOLES], in[3], out[MANY];
    const void *at[3] = { &in[0], &in[1], &in[2] };
    double number = 0, first;
    for (int k = 0; k < p->wholes; k++) {
        number = (double)p->whole[k];
        memcpy(&whole[k], &number, sizeof number);
    }
    for (int k = 0; k < 3; k++) memcpy(&in[k], &x[k], sizeof *x);
    CHECK(ew_parts_run(p, wide_part, NULL, whole, out, 1, at, (int64_t[]){ 0, 0, 0 }, MANY) == 0);
    memcpy(&first, &out[0], sizeof first);
    memcpy(&number, &out[MANY - 1], sizeof number);
    CHECK(number == first || (isnan(number) && isnan(first)));
    return number;
}

static void test_parts(void) {
    static const double values[] =
        { -INFINITY, -7.5, -1, -0.0, 0, 0.25, 1, 5.75, 6, 6.5, INFINITY, NAN };
    enum { VALUES = sizeof values / sizeof *values };
    EwParts p;
    int composed = 0;
    for (int op = 0; op < EW_COUNT; op++) {
        bool parts = ew_parts((EwOp)op, &p);
        CHECK(parts == (ew_info[op].as != NULL));
        composed += parts;
        for (int i = 0; parts && i < VALUES * VALUES; i++) {
            double x[] = { values[i % VALUES], values[i / VALUES], values[(i / 3) % VALUES] }, out;
            const void *in[] = { &x[0], &x[1], &x[2] };
            ew_reference((EwOp)op, DT_F64)(&out, 1, in, (int64_t[]){ 1, 1, 1 }, 1);
            double other = wide_parts(&p, x);
            if (op == EW_COPYSIGN && x[1] == 0)
                continue;                       /* comparisons do not see the sign of a zero */
            CHECK(out == other || (isnan(out) && isnan(other)) ||
                  fabs(out - other) < 4e-16 * fabs(out));
        }
    }
    CHECK(composed >= 2);
}

/* Moduli on every level: half an ulp and a little, the same bits; powers of two, whose neighbours
 * are not equally far, Pythagoras, and what overflows on the way. */
static void test_moduli(void) {
    enum { COUNT = 4099 };
    static double z[2 * COUNT], size[3][COUNT];
    static float zf[2 * COUNT], size_f[3][COUNT];
    const double cases[][3] = {
        { 3, 4, 5 }, { 0, 0, 0 }, { -0.0, 0, 0 }, { 0x1p1000, 0x1p1000, 0x1.6a09e667f3bcdp1000 },
        { 0x1p-1000, 0, 0x1p-1000 }, { INFINITY, NAN, INFINITY }, { NAN, -INFINITY, INFINITY },
        { NAN, 1, NAN }, { 1, NAN, NAN }, { 0, -0x1p-1074, 0x1p-1074 }, { 0x1p-500, 0x1p-501, 0 } };
    enum { CASES = sizeof cases / sizeof *cases };
    for (int i = 0; i < COUNT; i++) {
        double turn = check_uniform() * 3, scale = ldexp(1, i % 5 == 4 ? (int)turn * 30 : 0);
        z[2 * i] = i < CASES ? cases[i][0] : cos(turn) * scale;
        z[2 * i + 1] = i < CASES ? cases[i][1] : sin(turn) * scale;
        zf[2 * i] = (float)z[2 * i], zf[2 * i + 1] = (float)z[2 * i + 1];
    }
    const int64_t one[] = { 1 };
    for (int isa = ISA_BASE; isa <= (int)cpu_isa(); isa++) {
        ew_kernel_at(EW_ABS, DT_C128, (CpuIsa)isa, false)
            (size[isa], 1, (const void *[]){ z }, one, COUNT);
        ew_kernel_at(EW_ABS, DT_C64, (CpuIsa)isa, false)
            (size_f[isa], 1, (const void *[]){ zf }, one, COUNT);
        CHECK(memcmp(size[isa], size[0], sizeof size[0]) == 0);
        CHECK(memcmp(size_f[isa], size_f[0], sizeof size_f[0]) == 0);
    }
    bool good = true;
    for (int i = 0; i < COUNT; i++) {
        long double want = hypotl(z[2 * i], z[2 * i + 1]), off = size[0][i] - want;
        double nearest = (double)want, beside = nextafter(nearest, want > nearest ? INFINITY : 0);
        double ulp = fabs(beside - nearest);
        double narrow = hypot(zf[2 * i], zf[2 * i + 1]);
        good &= isnan(nearest) ? isnan(size[0][i]) : isinf(nearest) ? size[0][i] == INFINITY
                : fabsl(off) <= (i < CASES ? 1 : 0.501L) * ulp || ulp == 0;
        good &= isnan(narrow) ? isnan(size_f[0][i]) : size_f[0][i] == (float)narrow;
    }
    CHECK(good);
    for (int i = 0; i < CASES; i++)
        CHECK(isnan(cases[i][2]) ? isnan(size[0][i])
              : cases[i][2] == 0 || size[0][i] == cases[i][2]);
}

/* z^2 has the bits of z*z, in place too, and what is not finite is as one by one. */
static void test_squares(void) {
    enum { COUNT = 531 };
    static double _Complex z[COUNT], square[COUNT], product[COUNT];
    static float _Complex zf[COUNT], square_f[COUNT], product_f[COUNT];
    static int64_t x[COUNT], y[COUNT];
    const double _Complex two = 2;
    const float _Complex two_f = 2;
    const int64_t step[] = { 1, 0 }, each[] = { 1, 1 }, square_of = 2, cube_of = 3;
    for (int i = 0; i < COUNT; i++) {
        ((double *)z)[2 * i] = check_uniform(), ((double *)z)[2 * i + 1] = check_uniform();
        zf[i] = (float _Complex)z[i];
        x[i] = (int64_t)check_random() >> i % 64;
    }
    for (int isa = ISA_BASE; isa <= (int)cpu_isa(); isa++) {
        EwFn wide = ew_kernel_at(EW_POWER, DT_C128, (CpuIsa)isa, false);
        EwFn narrow = ew_kernel_at(EW_POWER, DT_C64, (CpuIsa)isa, false);
        EwFn whole = ew_kernel_at(EW_POWER, DT_I64, (CpuIsa)isa, false);
        ew_kernel_at(EW_MULTIPLY, DT_C128, (CpuIsa)isa, false)
            (product, 1, (const void *[]){ z, z }, each, COUNT);
        ew_kernel_at(EW_MULTIPLY, DT_C64, (CpuIsa)isa, false)
            (product_f, 1, (const void *[]){ zf, zf }, each, COUNT);
        memcpy(square, z, sizeof z);
        memcpy(square_f, zf, sizeof zf);
        wide(square, 1, (const void *[]){ square, &two }, step, COUNT);
        narrow(square_f, 1, (const void *[]){ square_f, &two_f }, step, COUNT);
        CHECK(memcmp(square, product, sizeof product) == 0);
        CHECK(memcmp(square_f, product_f, sizeof product_f) == 0);
        memcpy(square, z, sizeof z);
        ((double *)square)[2 * 9] = INFINITY;
        ((double *)square)[2 * 200] = 1e200;
        memcpy(product, square, sizeof square);
        wide(square, 1, (const void *[]){ square, &two }, step, COUNT);
        for (int i = 0; i < COUNT; i++)
            wide(product + i, 1, (const void *[]){ product + i, &two }, step, 1);
        CHECK(memcmp(square, product, sizeof product) == 0);
        bool good = true;
        whole(y, 1, (const void *[]){ x, &square_of }, step, COUNT);
        for (int i = 0; i < COUNT; i++) good &= (uint64_t)y[i] == (uint64_t)x[i] * (uint64_t)x[i];
        whole(y, 1, (const void *[]){ x, &cube_of }, step, COUNT);
        for (int i = 0; i < COUNT; i++)
            good &= (uint64_t)y[i] == (uint64_t)x[i] * (uint64_t)x[i] * (uint64_t)x[i];
        CHECK(good);
    }
}

int main(void) {
    mem_init(ctx);
    test_parts();
    test_facts();
    test_kernels();
    test_moduli();
    test_squares();
    test_accuracy();
    test_run();
    test_trouble();
    test_where_clamp();
    CHECK(ctx->mem.live == 0 || (pool_shutdown(ctx), ctx->mem.live == 0));
    pool_shutdown(ctx);
    mem_shutdown(ctx);
    return check_result();
}
