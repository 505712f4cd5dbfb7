/* Transforms, convolution, sorted tables and rounding: against the definition in long
 * double, the same bits for one thread and three, in place, strided and unaligned, and from
 * every instruction set. */
#include "kernels/cast/tensor_cast.h"
#include "kernels/axis/compare.h"
#include "kernels/signals/conv.h"
#include "kernels/tensor/cpu.h"
#include "kernels/signals/fft.h"
#include "kernels/axis/lookup.h"
#include "kernels/reduce/reduce_complex.h"
#include "kernels/axis/rounding.h"
#include "tests/unit/check.h"

#include <stdlib.h>

static InterruptFlag interrupt;
static Ctx one_thread, three_threads;

/* ---- transforms ---- */

static Tensor *random_complex(Ctx *ctx, DType dt, int rank, const int64_t *shape)
{
    Tensor *t = tensor_new(ctx, dt, rank, shape);
    for (int64_t i = 0; i < t->size; i++)
        if (dt == DT_C64)
            ((float _Complex *)t->data)[i] =
                make_c64((float)check_uniform(), (float)check_uniform());
        else
            ((double _Complex *)t->data)[i] = make_c128(check_uniform(), check_uniform());
    return t;
}

/* The largest error of a lane against the sum of the definition. */
static double lane_error(const Tensor *x, const Tensor *y, int axis, int64_t xo,
                         int64_t yo, int sign)
{
    int64_t n = tensor_shape(x)[axis], xs = tensor_strides(x)[axis], ys = tensor_strides(y)[axis];
    double worst = 0;
    for (int64_t j = 0; j < n; j++) {
        long double re = 0, im = 0;
        for (int64_t k = 0; k < n; k++) {
            long double turn = sign * 6.283185307179586476925286766559L * (long double)(j * k % n) /
                               (long double)n;
            double _Complex v = element_c128((DType)x->dtype,
                                             x->data + (xo + k * xs) * dtype_info(x->dtype)->bytes);
            re += creal(v) * cosl(turn) - cimag(v) * sinl(turn);
            im += creal(v) * sinl(turn) + cimag(v) * cosl(turn);
        }
        double _Complex got = element_c128((DType)y->dtype,
                                           y->data + (yo + j * ys) * dtype_info(y->dtype)->bytes);
        worst = fmax(worst, hypot((double)re - creal(got), (double)im - cimag(got)));
    }
    return worst;
}

static void transform_matrix(DType dt, int64_t rows, int64_t columns, int axis)
{
    Ctx *ctx = &one_thread;
    int64_t shape[2] = { rows, columns };
    double bound = (dt == DT_C64 ? 1e-5 : 2e-14) * (double)shape[axis];
    Tensor *x = random_complex(ctx, dt, 2, shape), *y = tensor_new(ctx, dt, 2, shape);
    Tensor *z = tensor_new(ctx, dt, 2, shape), *before = tensor_copy(ctx, x);
    size_t bytes = (size_t)x->size * dtype_info(dt)->bytes;
    CHECK(fft_run(ctx, FFT_FORWARD, shape[axis], x, y, axis, 1));
    CHECK(memcmp(x->data, before->data, bytes) == 0);
    CHECK(fft_run(&three_threads, FFT_FORWARD, shape[axis], x, z, axis, 1));
    CHECK(memcmp(y->data, z->data, bytes) == 0);
    CHECK(lane_error(x, y, axis, 0, 0, -1) < bound);
    int64_t last = x->size - 1 - (shape[axis] - 1) * tensor_strides(x)[axis];
    CHECK(lane_error(x, y, axis, last, last, -1) < bound);
    CHECK(fft_run(ctx, FFT_BACKWARD, shape[axis], y, y, axis, 1 / (double)shape[axis]));
    double worst = 0;
    for (int64_t i = 0; i < x->size; i++)
        worst = fmax(worst, cabs(element_c128(dt, y->data + i * dtype_info(dt)->bytes) -
                                 element_c128(dt, x->data + i * dtype_info(dt)->bytes)));
    CHECK(worst < bound);
    tensor_release(ctx, x);
    tensor_release(ctx, y);
    tensor_release(ctx, z);
    tensor_release(ctx, before);
}

/* A view whose lanes start at odd places and run backwards. */
static void transform_view(void)
{
    Ctx *ctx = &one_thread;
    int64_t shape[2] = { 9, 40 }, cut[2] = { 7, 13 }, strides[2] = { 40, -3 };
    Tensor *x = random_complex(ctx, DT_C64, 2, shape), *out = tensor_new(ctx, DT_C64, 2, cut);
    Tensor *view = tensor_view(ctx, x, 2, cut, strides, x->data + (40 + 39) * 8);
    CHECK(fft_run(ctx, FFT_FORWARD, 13, view, out, 1, 1));
    CHECK(lane_error(view, out, 1, 0, 0, -1) < 1e-4);
    CHECK(lane_error(view, out, 1, 6 * 40, 6 * 13, -1) < 1e-4);
    CHECK(fft_run(ctx, FFT_BACKWARD, 7, view, out, 0, 1));
    CHECK(lane_error(view, out, 0, -3 * 12, 12, 1) < 1e-4);
    tensor_release(ctx, view);
    tensor_release(ctx, x);
    tensor_release(ctx, out);
}

/* More shapes than the cache of plans has places. */
static void many_plans(void)
{
    Ctx *ctx = &one_thread;
    bool good = true;
    for (int round = 0; round < 2; round++)
        for (int64_t n = 1; n <= 150; n++) {
            Tensor *x = random_complex(ctx, DT_C128, 1, &n), *y = tensor_new(ctx, DT_C128, 1, &n);
            good &= fft_run(ctx, FFT_FORWARD, n, x, y, 0, 1) &&
                    lane_error(x, y, 0, 0, 0, -1) < 1e-11;
            tensor_release(ctx, x);
            tensor_release(ctx, y);
        }
    CHECK(good);
    CHECK(fft_good_length(1) == 1 && fft_good_length(11) == 12 && fft_good_length(1025) == 1029);
}

/* ---- convolution ---- */

static void conv_rows(ConvRow row, DType dt, int kind, int64_t width)
{
    enum { N = 300 };
    static const int64_t lengths[] = { 1, 2, 3, 15, 16, 17, 33, 64, 65, 130, N };
    int64_t bytes = dtype_info(dt)->bytes;
    char *a = mem_alloc_data(&one_thread, N * 16, true),
         *b = mem_alloc_data(&one_thread, N * 16, true);
    for (int64_t i = 0; i < N * 16; i++)
        a[i] = b[i] = 0;
    int reals = dtype_info(dt)->kind == 'c' ? 2 : 1;
    for (int64_t i = 0; i < N * reals; i++) {
        double v = check_uniform(), w = check_uniform();
        if (dt == DT_I64)
            ((int64_t *)a)[i] = (int64_t)(v * 1e6), ((int64_t *)b)[i] = (int64_t)(w * 1e6);
        else if (dt == DT_F32 || dt == DT_C64)
            ((float *)a)[i] = (float)v, ((float *)b)[i] = (float)w;
        else
            ((double *)a)[i] = v, ((double *)b)[i] = w;
    }
    for (size_t u = 0; u < sizeof lengths / sizeof *lengths; u++)
        for (size_t w = 0; w < sizeof lengths / sizeof *lengths; w++)
            for (int64_t i = 0; i < lengths[u] + lengths[w] - 1; i += width) {
                int64_t left = lengths[u] + lengths[w] - 1 - i, some = left < width ? left : width;
                char got[CONV_BLOCK * 16] = { 0 }, want[CONV_BLOCK * 16] = { 0 };
                row(got, i, some, a, lengths[u], b, lengths[w]);
                for (int64_t k = 0; k < some; k++)       /* one number at a time */
                    conv_base[kind](want + k * bytes, i + k, 1, a, lengths[u], b, lengths[w]);
                CHECK(memcmp(got, want, sizeof got) == 0);
            }
    mem_free_data(&one_thread, a, N * 16);
    mem_free_data(&one_thread, b, N * 16);
}

static void conv_tables(void)
{
    static const DType dtypes[CONV_KINDS] = { DT_F32, DT_F64, DT_C64, DT_C128, DT_I64 };
    for (int kind = 0; kind < CONV_KINDS; kind++) {
        int64_t bytes = dtype_info(dtypes[kind])->bytes;
        conv_rows(conv_base[kind], dtypes[kind], kind, 64 / bytes);
#if defined(__x86_64__) || defined(__i386__)
        if (cpu_isa() >= ISA_AVX2)
            conv_rows(conv_avx2[kind], dtypes[kind], kind, 128 / bytes);
        if (cpu_isa() >= ISA_AVX512)
            conv_rows(conv_avx512[kind], dtypes[kind], kind, 256 / bytes);
#endif
    }
    int64_t a[3] = { INT64_MAX, INT64_MAX, 1 }, b[2] = { 1, -1 }, out[4];
    ConvJob job = { .dt = DT_I64, .rows = 1, .n = 3, .b_rows = 1, .m = 2, .a = (char *)a,
                    .b = (char *)b,
                    .out = (char *)out, .out_rows = 1, .out_n = 4, .wide = true };
    CHECK(conv_direct(&one_thread, &job));
    CHECK(out[0] == INT64_MAX && out[1] == 0 && out[2] == 1 - INT64_MAX && out[3] == -1);
    b[1] = 1;
    CHECK(!conv_direct(&one_thread, &job));
    CHECK(conv_i64_bound(a, 3, b, 2) >= 0x1p64);
}

/* ---- tables and comparisons ---- */

static void tables(void)
{
    enum { N = 200000, BINS = 37 };
    double edges[BINS + 1], *x = mem_alloc_data(&one_thread, N * sizeof(double), false);
    int64_t counts[BINS] = { 0 }, searched[BINS] = { 0 }, threaded[BINS] = { 0 },
            partial[2 * BINS] = { 0 };
    for (int i = 0; i < N; i++)
        x[i] = i % 100 == 0 ? (double)NAN : 1.5 * check_uniform();
    for (int k = 0; k <= BINS; k++)
        edges[k] = -1 + 2.0 * k / BINS;
    LookupBins equal = { .edges = edges, .bins = BINS, .per_width = BINS / 2.0 },
               any = { .edges = edges, .bins = BINS };
    lookup_count(&one_thread, &equal, DT_F64, x, N, counts, NULL);
    lookup_count(&one_thread, &any, DT_F64, x, N, searched, NULL);
    lookup_count(&three_threads, &equal, DT_F64, x, N, threaded, partial);
    CHECK(memcmp(counts, searched, sizeof counts) == 0);
    CHECK(memcmp(counts, threaded, sizeof counts) == 0);
    bool right = true;
    for (int k = 0; k < BINS; k++) {
        int64_t want = 0;
        for (int i = 0; i < N; i++)
            want += x[i] >= edges[k] &&
                    (x[i] < edges[k + 1] || (k == BINS - 1 && x[i] == edges[k + 1]));
        right &= want == counts[k];
    }
    CHECK(right);
    ComparePair pair = { x, x, 1, 1, N };
    double sums[2][3],
           *room = mem_alloc_data(&one_thread, (3 * N / COMPARE_BLOCK + 3) * sizeof(double), true);
    for (int i = 0; i < N; i++)
        x[i] = x[i] == x[i] ? x[i] : 0;
    compare_squares(&one_thread, &pair, room, sums[0]);
    compare_squares(&three_threads, &pair, room, sums[1]);
    CHECK(memcmp(sums[0], sums[1], sizeof sums[0]) == 0 && sums[0][2] == 0 && sums[0][0] > N / 4);
    uint8_t bits[4] = { 0, 7, 0, 1 };
    int64_t at[2];
    CHECK(compare_nonzero(DT_U8, bits, 4, at) == 2 && at[0] == 1 && at[1] == 3);
    double zeros[3] = { -0.0, (double)NAN, 0x1p-1074 };
    CHECK(compare_nonzero(DT_F64, zeros, 3, at) == 2 && at[0] == 1 && at[1] == 2);
    mem_free_data(&one_thread, x, N * sizeof(double));
    mem_free_data(&one_thread, room, (3 * N / COMPARE_BLOCK + 3) * sizeof(double));
}

static void rounding(void)
{
    CHECK(rounding_f64(2.675, 2) == 2.68 && rounding_f64(0.125, 2) == 0.12 &&
          rounding_f64(1250, -2) == 1200);
    CHECK(rounding_f64(1e300, 300) == 1e300 && rounding_f64(123, -400) == 0 &&
          isnan(rounding_f64((double)NAN, 3)));
    CHECK(signbit(rounding_f64(-0.01, 1)) && rounding_f64(5e-324, 400) == 5e-324);
    int64_t x[4] = { 15, 25, -15, INT64_MIN }, out[4];
    CHECK(rounding_run(&one_thread, DT_I64, x, 3, -1, out));
    CHECK(out[0] == 20 && out[1] == 20 && out[2] == -20);
    CHECK(!rounding_run(&one_thread, DT_I64, x, 4, -1, out));
    CHECK(rounding_run(&one_thread, DT_I64, x, 3, -19, out) && out[0] == 0 && out[2] == 0);
}

int main(void)
{
    static const int64_t lengths[] = { 1, 2, 3, 8, 13, 30, 64, 127 };
    one_thread.interrupt = three_threads.interrupt = &interrupt;
    mem_init(&one_thread);
    mem_init(&three_threads);
    setenv("RICCI_THREADS", "1", 1);
    CHECK(pool_threads(&one_thread) == 1);
    setenv("RICCI_THREADS", "3", 1);
    CHECK(pool_threads(&three_threads) == 3);
    if (fft_missing(DT_C128) || fft_missing(DT_C64)) {
        printf("not run: transforms (%s)\n",
               fft_missing(DT_C128) ? fft_missing(DT_C128) : fft_missing(DT_C64));
    } else {
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            for (int axis = 0; axis < 2; axis++) {
                transform_matrix(DT_C128, axis ? 50 : lengths[i], axis ? lengths[i] : 50, axis);
                transform_matrix(DT_C64, axis ? 701 : lengths[i], axis ? lengths[i] : 701, axis);
            }
        transform_view();
        many_plans();
    }
    conv_tables();
    tables();
    rounding();
    pool_shutdown(&one_thread);
    pool_shutdown(&three_threads);
    return check_result();
}
