/* Reductions, scans and sorting: every operation, dtype and layout against a plain loop in
 * long double; the same bits for one thread and three, for the base loops and the fast ones;
 * integer overflow; nan; keys of sorting; selection. */
#include "kernels/cast/tensor_cast.h"
#include "kernels/reduce/reduce.h"
#include "kernels/reduce/reduce_complex.h"
#include "kernels/axis/scan.h"
#include "kernels/axis/sort.h"
#include "kernels/axis/sort_quick.h"
#include "kernels/tensor/cpu.h"
#include "tests/unit/check.h"

#include <stdlib.h>

static InterruptFlag interrupt;
static Ctx one_thread, three_threads;

static void set_element(DType dt, void *at, double v)
{
    switch (dt) {
    case DT_BOOL: *(uint8_t *)at = v > 0; break;
    case DT_I8: *(int8_t *)at = (int8_t)(v * 9); break;
    case DT_U8: *(uint8_t *)at = (uint8_t)((v + 1) * 9); break;
    case DT_I32: *(int32_t *)at = (int32_t)(v * 9); break;
    case DT_I64: *(int64_t *)at = (int64_t)(v * 9); break;
    case DT_F16: *(uint16_t *)at = f64_to_f16(v); break;
    case DT_BF16: *(uint16_t *)at = f64_to_bf16(v); break;
    case DT_F32: *(float *)at = (float)v; break;
    case DT_F64: *(double *)at = v; break;
    case DT_C64: *(float _Complex *)at = make_c64((float)v, (float)check_uniform()); break;
    default: *(double _Complex *)at = make_c128(v, check_uniform()); break;
    }
}

static Tensor *random_tensor(Ctx *ctx, DType dt, int rank, const int64_t *shape)
{
    Tensor *t = tensor_new(ctx, dt, rank, shape);
    for (int64_t i = 0; i < t->size; i++)
        set_element(dt, t->data + i * dtype_info(dt)->bytes, check_uniform());
    return t;
}

/* The value of one output, the slow way. */
typedef struct Slow { long double re, im, least, most, absolute; int64_t count, nonzero; } Slow;

static void slow_walk(const Tensor *x, uint64_t axes, int axis, int64_t at, int64_t out,
                      const int64_t *out_step, Slow *slow)
{
    if (axis == x->rank) {
        double _Complex v = element_c128((DType)x->dtype,
                                         x->data + at * dtype_info(x->dtype)->bytes);
        Slow *s = &slow[out];
        s->re += creal(v);
        s->im += cimag(v);
        s->absolute += fabs(creal(v)) + fabs(cimag(v));
        s->least = s->count == 0 || creal(v) < s->least ? creal(v) : s->least;
        s->most = s->count == 0 || creal(v) > s->most ? creal(v) : s->most;
        s->nonzero += v != 0;
        s->count++;
        return;
    }
    for (int64_t i = 0; i < tensor_shape(x)[axis]; i++)
        slow_walk(x, axes, axis + 1, at + i * tensor_strides(x)[axis],
                  axes >> axis & 1 ? out : out + i * out_step[axis], out_step, slow);
}

static double machine_eps(DType dt)
{
    return dt == DT_F16 ? 0x1p-10 : dt == DT_BF16 ? 0x1p-7 : dt == DT_F32 || dt == DT_C64
           ? 0x1p-23 : 0x1p-52;
}

static bool agrees(RedOp op, DType dt, const Slow *s, const void *got, DType to)
{
    double _Complex v = element_c128(to, got);
    double tolerance = (double)s->absolute * 4 * machine_eps(dt) + 1e-300;
    switch (op) {
    case RED_SUM: return fabsl(creal(v) - s->re) <= tolerance &&
        fabsl(cimag(v) - s->im) <= tolerance;
    case RED_MEAN:
        return fabsl(creal(v) - s->re / s->count) <= tolerance / (double)s->count + 2 *
               machine_eps(dt) &&
               fabsl(cimag(v) - s->im / s->count) <= tolerance / (double)s->count + 2 *
               machine_eps(dt);
    case RED_MIN: return creal(v) == s->least;
    case RED_MAX: return creal(v) == s->most;
    case RED_COUNT: return creal(v) == (double)s->nonzero;
    case RED_ANY: return (creal(v) != 0) == (s->nonzero > 0);
    default: return (creal(v) != 0) == (s->nonzero == s->count);
    }
}

static void one_case(Tensor *x, RedOp op, uint64_t axes)
{
    int64_t shape[8], step[8], size = 1;
    int rank = 0;
    DType dt = (DType)x->dtype, to = reduce_result_dtype(op, dt);
    if (to == DT_NONE)
        return;
    for (int a = 0; a < x->rank; a++)
        if (!(axes >> a & 1))
            shape[rank++] = tensor_shape(x)[a];
    for (int a = x->rank - 1; a >= 0; a--) {
        step[a] = size;
        if (!(axes >> a & 1))
            size *= tensor_shape(x)[a];
    }
    Tensor *out = tensor_new(&one_thread, to, rank, shape),
           *again = tensor_new(&one_thread, to, rank, shape);
    size_t bytes = (size_t)out->size * dtype_info(to)->bytes;
    CHECK(reduce_run(&one_thread, op, x, axes, out, NULL));
    CHECK(reduce_run(&three_threads, op, x, axes, again, NULL));
    CHECK(memcmp(out->data, again->data, bytes) == 0);
    CHECK(reduce_reference(&one_thread, op, x, axes, again, NULL));
    CHECK(memcmp(out->data, again->data, bytes) == 0);
    Slow *slow = calloc((size_t)out->size + 1, sizeof *slow);
    slow_walk(x, axes, 0, 0, 0, step, slow);
    bool good = true;
    for (int64_t i = 0; i < out->size; i++)
        good &= agrees(op, dt, &slow[i], out->data + i * dtype_info(to)->bytes, to);
    CHECK(good);
    free(slow);
    tensor_release(&one_thread, out);
    tensor_release(&one_thread, again);
}

static void all_operations(Tensor *x)
{
    static const RedOp ops[] = { RED_SUM, RED_MEAN, RED_MIN, RED_MAX, RED_COUNT, RED_ANY, RED_ALL };
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        for (uint64_t axes = 0; axes < (uint64_t)1 << x->rank; axes++)
            one_case(x, ops[i], axes);
}

static void layouts(DType dt)
{
    static const int64_t shapes[][3] =
        { { 2, 3, 4 }, { 33, 9, 17 }, { 1, 130, 70 }, { 5, 1, 500 }, { 300, 40, 1 } };
    Ctx *ctx = &one_thread;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        Tensor *x = random_tensor(ctx, dt, 3, shapes[i]);
        const int64_t *n = tensor_shape(x), *s = tensor_strides(x);
        all_operations(x);
        Tensor *turned = tensor_view(ctx, x, 3, (int64_t[]){ n[2], n[0], n[1] },
                                     (int64_t[]){ s[2], s[0], s[1] }, x->data);
        all_operations(turned);
        char *end = x->data + (x->size - 1) * dtype_info(dt)->bytes;
        Tensor *back = tensor_view(ctx, x, 3, n, (int64_t[]){ -s[0], -s[1], -s[2] }, end);
        all_operations(back);
        Tensor *wide = tensor_view(ctx, x, 3, (int64_t[]){ 4, n[1], n[2] },
                                   (int64_t[]){ 0, s[1], s[2] }, x->data);
        all_operations(wide);
        tensor_release(ctx, wide);
        tensor_release(ctx, back);
        tensor_release(ctx, turned);
        tensor_release(ctx, x);
    }
}

/* Long enough for several pieces and threads, along runs and along columns. */
static void large(DType dt)
{
    Ctx *ctx = &one_thread;
    static const int64_t shapes[][2] = { { 3, 600000 }, { 60000, 20 }, { 1500, 600 } };
    for (size_t i = 0; i < 3; i++) {
        Tensor *x = random_tensor(ctx, dt, 2, shapes[i]);
        one_case(x, RED_SUM, 1);
        one_case(x, RED_SUM, 2);
        one_case(x, RED_SUM, 3);
        one_case(x, RED_MAX, 1);
        tensor_release(ctx, x);
    }
}

/* ---- particular values ---- */

static bool reduce_ints(RedOp op, const int64_t *v, int64_t n, int64_t *result)
{
    Ctx *ctx = &one_thread;
    Tensor *x = tensor_new(ctx, DT_I64, 1, &n), *out = tensor_new(ctx, DT_I64, 0, &n);
    memcpy(x->data, v, (size_t)n * sizeof *v);
    bool fits = reduce_run(ctx, op, x, 1, out, NULL);
    *result = *(int64_t *)out->data;
    tensor_release(ctx, x);
    tensor_release(ctx, out);
    return fits;
}

static void integer_ranges(void)
{
    int64_t r, big = INT64_MAX, small = INT64_MIN;
    CHECK(!reduce_ints(RED_SUM, (int64_t[]){ big, 1 }, 2, &r));
    CHECK(reduce_ints(RED_SUM, (int64_t[]){ big, 1, -1 }, 3, &r) && r == big);
    CHECK(reduce_ints(RED_SUM, (int64_t[]){ small, big, 1 }, 3, &r) && r == 0);
    CHECK(!reduce_ints(RED_SUM, (int64_t[]){ small, -1 }, 2, &r));
    CHECK(reduce_ints(RED_PROD, (int64_t[]){ big, big, 0 }, 3, &r) && r == 0);
    CHECK(!reduce_ints(RED_PROD, (int64_t[]){ big, 2 }, 2, &r));
    CHECK(reduce_ints(RED_PROD, (int64_t[]){ -2, (int64_t)1 << 62 }, 2, &r) && r == small);
    CHECK(!reduce_ints(RED_PROD, (int64_t[]){ 2, (int64_t)1 << 62 }, 2, &r));
    CHECK(reduce_ints(RED_PROD, (int64_t[]){ small, 1 }, 2, &r) && r == small);
    CHECK(!reduce_ints(RED_PROD, (int64_t[]){ small, -1 }, 2, &r));
}

static double reduce_f64(RedOp op, const double *v, int64_t n)
{
    Ctx *ctx = &one_thread;
    Tensor *x = tensor_new(ctx, DT_F64, 1, &n),
           *out = tensor_new(ctx, reduce_result_dtype(op, DT_F64), 0, &n);
    Tensor *mean = tensor_zeros(ctx, DT_C128, 0, &n);
    memcpy(x->data, v, (size_t)n * sizeof *v);
    if (op == RED_VAR) {
        double _Complex m = reduce_f64(RED_MEAN, v, n);
        memcpy(mean->data, &m, sizeof m);
    }
    reduce_run(ctx, op, x, 1, out, &(RedParams){ .mean = mean });
    double r = element_f64((DType)out->dtype, out->data);
    tensor_release(ctx, x);
    tensor_release(ctx, out);
    tensor_release(ctx, mean);
    return r;
}

static void float_values(void)
{
    double v[100];
    for (int i = 0; i < 100; i++)
        v[i] = i == 41 || i == 77 ? (double)NAN : i;
    CHECK(isnan(reduce_f64(RED_MIN, v, 100)) && isnan(reduce_f64(RED_MAX, v, 100)));
    CHECK(reduce_f64(RED_ARGMIN, v, 100) == 41 && reduce_f64(RED_ARGMAX, v, 100) == 41);
    CHECK(reduce_f64(RED_NANSUM, v, 100) == 4950 - 41 - 77);
    CHECK(isnan(reduce_f64(RED_SUM, v, 100)) && isnan(reduce_f64(RED_VAR, v, 100)));
    for (int i = 0; i < 100; i++)
        v[i] = i % 10;
    CHECK(reduce_f64(RED_ARGMIN, v, 100) == 0 && reduce_f64(RED_ARGMAX, v, 100) == 9);
    CHECK(reduce_f64(RED_VAR, v, 100) == 8.25);
    for (int i = 0; i < 100; i++)
        v[i] = 1e9 + i % 10;
    CHECK(reduce_f64(RED_VAR, v, 100) == 8.25);
    CHECK(reduce_f64(RED_MIN, (double[]){ INFINITY }, 1) == INFINITY);
    CHECK(signbit(reduce_f64(RED_SUM, (double[]){ -0.0 }, 1)));
    CHECK(reduce_f64(RED_ANY, (double[]){ NAN }, 1) == 1);
}

/* A naive f32 sum of 10^7 tenths is off by 8 %; lanes and trees are good to 1e-7. */
static void accuracy(void)
{
    Ctx *ctx = &one_thread;
    int64_t n = 10000000;
    Tensor *x = tensor_new(ctx, DT_F32, 1, &n), *out = tensor_new(ctx, DT_F32, 0, &n);
    for (int64_t i = 0; i < n; i++)
        ((float *)x->data)[i] = 0.1f;
    reduce_run(ctx, RED_SUM, x, 1, out, NULL);
    CHECK(fabs(*(float *)out->data / ((double)0.1f * 1e7) - 1) < 2e-7);
    Tensor *tall = tensor_view(ctx, x, 2, (int64_t[]){ n / 10, 10 }, (int64_t[]){ 10, 1 }, x->data);
    int64_t ten = 10;
    Tensor *sums = tensor_new(ctx, DT_F32, 1, &ten);
    reduce_run(ctx, RED_SUM, tall, 1, sums, NULL);
    CHECK(fabs(((float *)sums->data)[3] / ((double)0.1f * 1e6) - 1) < 2e-6);
    tensor_release(ctx, sums);
    tensor_release(ctx, tall);
    tensor_release(ctx, x);
    tensor_release(ctx, out);
}

/* ---- sorting ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return (x > y) - (x < y);
}

static void sort_dtype(DType dt, int64_t n, bool descending)
{
    size_t bytes = dtype_info(dt)->bytes;
    char *x = malloc((size_t)n * bytes + 1), *y = malloc((size_t)n * bytes + 1);
    double *want = malloc((size_t)(n + 1) * sizeof *want);
    uint64_t *keys = malloc((size_t)(4 * n + 4) * sizeof *keys);
    int64_t *at = (int64_t *)(keys + 2 * n);
    for (int64_t i = 0; i < n; i++) {
        double v = check_uniform();
        set_element(dt, x + (size_t)i * bytes,
                    i % 97 == 96 && dtype_info(dt)->kind == 'f' ? (double)NAN : v);
        want[i] = element_f64(dt, x + (size_t)i * bytes);
        at[i] = i;
    }
    unsigned how = descending ? SORT_DESCENDING : 0;
    sort_load(keys, dt, x, 1, n, how | SORT_ONE_ZERO);
    sort_pairs(NULL, keys, at, keys + n, at + n, n, sort_key_bytes(dt));
    bool stable = true, ordered = true;
    for (int64_t i = 1; i < n; i++)
        stable &= keys[i - 1] < keys[i] || at[i - 1] < at[i];
    sort_store(y, 1, dt, keys, n, descending);
    qsort(want, (size_t)n, sizeof *want, by_value);
    int64_t numbers = 0;
    while (numbers < n && !isnan(want[numbers]))
        numbers++;
    for (int64_t i = 0; i < n; i++) {
        double v = element_f64(dt, y + (size_t)i * bytes);
        double w = i < numbers && descending ? want[numbers - 1 - i] : want[i];
        ordered &= isnan(w) ? isnan(v) : v == w;
        ordered &= isnan(w) || element_f64(dt, x + (size_t)at[i] * bytes) == w;
    }
    CHECK(stable);
    CHECK(ordered);
    free(x);
    free(y);
    free(want);
    free(keys);
}

/* Keys of one kind: at random, few, in order, in reverse, equal, the two ends. */
static int64_t key_of(int kind, int64_t i, int64_t n, int bits)
{
    uint64_t r = check_random();
    int64_t ends = bits == 64 ? INT64_MAX : INT32_MAX;
    switch (kind) {
    case 0: return (int64_t)r >> (64 - bits);
    case 1: return (int64_t)(r % 10);
    case 2: return i;
    case 3: return n - i;
    case 4: return ends;
    default: return r & 1 ? ends : -ends - 1;
    }
}

static int by_key64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int by_key32(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void quick_keys(const SortQuick *quick, int bits)
{
    enum { N = 3000 };
    static int64_t keys[N], want[N];
    int64_t high = bits == 64 ? INT64_MAX : INT32_MAX;
    for (int64_t n = 0; n < N; n += n < 600 ? 1 : 101)
        for (int kind = 0; kind < 6; kind++) {
            for (int64_t i = 0; i < n; i++)
                if (bits == 64)
                    keys[i] = key_of(kind, i, n, bits);
                else
                    ((int32_t *)keys)[i] = (int32_t)key_of(kind, i, n, bits);
            size_t bytes = (size_t)bits / 8;
            memcpy(want, keys, (size_t)n * bytes);
            qsort(want, (size_t)n, bytes, bits == 64 ? by_key64 : by_key32);
            quick->sort(keys, n, -high - 1, high, NULL);
            CHECK(memcmp(keys, want, (size_t)n * bytes) == 0);
        }
}

/* The vectors of every level that this processor has. */
static void quick_sorts(void)
{
#if defined(__x86_64__) || defined(__i386__)
    if (cpu_isa() >= ISA_AVX2) {
        quick_keys(&sort_quick64_avx2, 64);
        quick_keys(&sort_quick32_avx2, 32);
    }
    if (cpu_isa() >= ISA_AVX512) {
        quick_keys(&sort_quick64_avx512, 64);
        quick_keys(&sort_quick32_avx512, 32);
    }
#endif
}

/* Lanes of every layout and length: the bits of keys sorted by radix. */
static void lanes_dtype(DType dt, int64_t n, int64_t step, int64_t apart, int lanes, unsigned how)
{
    size_t bytes = dtype_info(dt)->bytes;
    int64_t size = n * step + lanes * apart;
    char *x = malloc((size_t)size * bytes), *y = calloc((size_t)size, bytes), *lane = malloc(bytes);
    uint64_t *keys = malloc((size_t)(3 * n + 1) * sizeof *keys);
    uint64_t *scratch = malloc((size_t)sort_lanes_scratch(dt, n, false) * sizeof *scratch);
    int64_t *at = (int64_t *)(keys + 2 * n);
    for (int64_t i = 0; i < size; i++) {
        double v = floor(check_uniform() * 1000) / 8;
        set_element(dt, x + (size_t)i * bytes, dtype_info(dt)->kind != 'f' ? v : i % 97 == 96
                    ? (double)NAN : i % 31 == 30 ? -0.0 : i % 31 == 29 ? 0.0 : v);
    }
    SortLanes l = { .dt = dt, .how = how, .n = n, .step = step, .to_step = step };
    for (int k = 0; k < lanes; k++) {
        l.x[k] = x + k * apart * (int64_t)bytes;
        l.to[k] = y + k * apart * (int64_t)bytes;
    }
    sort_lanes(&three_threads, &l, lanes, scratch);
    bool good = true;
    for (int k = 0; k < lanes; k++) {
        sort_load(keys, dt, l.x[k], step, n, how);
        sort_pairs(NULL, keys, at, keys + n, (int64_t *)scratch, n, sort_key_bytes(dt));
        for (int64_t i = 0; i < n; i++) {
            sort_store(lane, 1, dt, keys + i, 1, how & SORT_DESCENDING);
            good &= memcmp(lane, l.to[k] + (size_t)(i * step) * bytes, bytes) == 0;
        }
    }
    CHECK(good);
    free(x);
    free(y);
    free(lane);
    free(keys);
    free(scratch);
}

static void lanes_of_all(void)
{
    for (int dt = 0; dt < DT_C64; dt++)
        for (unsigned how = 0; how <= SORT_DESCENDING; how++) {
            lanes_dtype((DType)dt, 1000, 1, 1000, 1, how);
            lanes_dtype((DType)dt, 333, 1, 400, 3, how);
            lanes_dtype((DType)dt, 500, 16, 1, 16, how);
            lanes_dtype((DType)dt, 70, 33, 2, 5, how);
        }
    lanes_dtype(DT_F64, 600000, 1, 1, 1, 0);
    lanes_dtype(DT_I32, 600000, 1, 1, 1, SORT_DESCENDING);
}

static void selection(void)
{
    enum { N = 3000 };
    static uint64_t keys[N], copy[N], scratch[N];
    for (int kind = 0; kind < 4; kind++)
        for (int64_t k = 0; k < N; k += 499) {
            for (int i = 0; i < N; i++)
                copy[i] = keys[i] = kind == 0 ? check_random() : kind == 1 ? 7 : kind == 2
                          ? (uint64_t)i
                                  : (uint64_t)(i < N / 2 ? i : N - i);
            sort_keys(NULL, copy, scratch, N, 8);
            sort_select(NULL, keys, scratch, N, k);
            bool good = keys[k] == copy[k];
            for (int64_t i = 0; i < k; i++)
                good &= keys[i] <= keys[k];
            for (int64_t i = k; i < N; i++)
                good &= keys[i] >= keys[k];
            CHECK(good);
        }
}

static void scans(void)
{
    Ctx *ctx = &one_thread;
    Tensor *x = random_tensor(ctx, DT_F64, 2, (int64_t[]){ 40, 50 });
    Tensor *out = tensor_new(ctx, DT_F64, 2, tensor_shape(x));
    CHECK(scan_run(ctx, SCAN_SUM, x, 0, out));
    double sum = 0;
    bool good = true;
    for (int i = 0; i < 40; i++) {
        sum += ((double *)x->data)[i * 50 + 7];
        good &= ((double *)out->data)[i * 50 + 7] == sum;
    }
    CHECK(good);
    tensor_release(ctx, x);
    tensor_release(ctx, out);
}

/* Under the thread sanitizer, which takes minutes, a dtype of each kind: threads share work alike. */
static bool looked_at(DType dt)
{
#ifdef __SANITIZE_THREAD__
    return dt == DT_F64 || dt == DT_BF16 || dt == DT_I32 || dt == DT_BOOL || dt == DT_C64;
#else
    return dt >= 0;
#endif
}

int main(void)
{
    one_thread.interrupt = three_threads.interrupt = &interrupt;
    mem_init(&one_thread);
    mem_init(&three_threads);
    setenv("RICCI_THREADS", "1", 1);
    CHECK(pool_threads(&one_thread) == 1);
    setenv("RICCI_THREADS", "3", 1);
    CHECK(pool_threads(&three_threads) == 3);
    for (int dt = 0; dt < DT_COUNT; dt++)
        if (!dtype_foreign((DType)dt) && looked_at((DType)dt))
            layouts((DType)dt);
    large(DT_F64);
    large(DT_F32);
    large(DT_I64);
    large(DT_C128);
    integer_ranges();
    float_values();
    accuracy();
    for (int dt = 0; dt < DT_C64; dt++)
        for (int k = 0; k < 2; k++) {
            sort_dtype((DType)dt, 0, k);
            sort_dtype((DType)dt, 1, k);
            sort_dtype((DType)dt, 100, k);
            sort_dtype((DType)dt, 5000, k);
        }
    quick_sorts();
    lanes_of_all();
    selection();
    scans();
    pool_shutdown(&one_thread);
    pool_shutdown(&three_threads);
    return check_result();
}
