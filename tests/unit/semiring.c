/* Products over every pair of operations and dtype, and contractions read in place, against
 * plain loops of this file: sizes around the tiles' edges, steps of every kind, accumulation,
 * NaN, infinities, signed zeros and extreme integers; every instruction set that this machine
 * has; one thread and two give the same bits. */
#include "kernels/cast/tensor_cast.h"
#include "kernels/tensor/cpu.h"
#include "kernels/direct/direct_kernels.h"
#include "kernels/direct/direct.h"
#include "tests/unit/check.h"

#include <float.h>
#include <stdlib.h>

enum { CELLS = 1 << 16, ORIGIN = CELLS / 2 };
static InterruptFlag stop;
static Ctx one, two;                    /* of one thread and of two */
static _Alignas(64) char store[4][CELLS * 16];

static int every = 1;                   /* of how many elements one is checked */
static const Semiring all[] = { SR_PLUS_TIMES, SR_MIN_PLUS, SR_MAX_PLUS, SR_MIN_TIMES,
                                SR_MAX_TIMES, SR_MIN_MAX, SR_MAX_MIN, SR_OR_AND };

/* ---- an element of any dtype ---- */

typedef struct Cell {
    int64_t i;
    double re, im, size;                /* size: sum of the products' magnitudes */
} Cell;

static bool floating(DType dt) { return dtype_info(dt)->kind == 'f'; }
static bool complex_(DType dt) { return dtype_info(dt)->kind == 'c'; }

static Cell load(DType dt, const char *p) {
    Cell x = { 0 };
    if (complex_(dt)) {
        double _Complex z = element_c128(dt, p);
        x.re = __real__ z, x.im = __imag__ z;
    } else if (floating(dt)) x.re = element_f64(dt, p);
    else x.i = element_i64(dt, p);
    return x;
}

static void save(DType dt, char *p, Cell x) {
    switch (dt) {
    case DT_BOOL: *(uint8_t *)p = x.i != 0; break;
    case DT_I8: *(int8_t *)p = (int8_t)x.i; break;
    case DT_U8: *(uint8_t *)p = (uint8_t)x.i; break;
    case DT_I32: *(int32_t *)(void *)p = (int32_t)x.i; break;
    case DT_I64: *(int64_t *)(void *)p = x.i; break;
    case DT_F32: *(float *)(void *)p = (float)x.re; break;
    case DT_F64: *(double *)(void *)p = x.re; break;
    case DT_C64: ((float *)(void *)p)[0] = (float)x.re,
    ((float *)(void *)p)[1] = (float)x.im; break;
    default: ((double *)(void *)p)[0] = x.re, ((double *)(void *)p)[1] = x.im; break;
    }
}

/* Rounded to the dtype: f32 through double is exact enough, integers wrap. */
static Cell rounded(DType dt, Cell x) {
    char p[16];
    double size = x.size;
    if (complex_(dt) || (dt == DT_F32 && size != 0)) return x;
    save(dt, p, x);
    x = load(dt, p);
    x.size = size;
    return x;
}

static bool less(DType dt, Cell a, Cell b) { return floating(dt) ? a.re < b.re : a.i < b.i; }
static bool nan_of(DType dt, Cell a) { return floating(dt) && a.re != a.re; }

static Cell combine(Semiring s, DType dt, Cell a, Cell b) {
    Cell x = { 0 };
    switch (s) {
    case SR_MIN_PLUS: case SR_MAX_PLUS:
        x.re = a.re + b.re;
        x.i = (int64_t)((uint64_t)a.i + (uint64_t)b.i);
        break;
    case SR_PLUS_TIMES: case SR_MIN_TIMES: case SR_MAX_TIMES:
        x.i = (int64_t)((uint64_t)a.i * (uint64_t)b.i);
        x.re = complex_(dt) ? a.re * b.re - a.im * b.im : a.re * b.re;
        x.im = complex_(dt) ? a.re * b.im + a.im * b.re : 0;
        if (s == SR_PLUS_TIMES)
            x.size = (fabs(a.re) + fabs(a.im)) * (fabs(b.re) + fabs(b.im));
        break;
    case SR_MIN_MAX: return nan_of(dt, a) || less(dt, b, a) ? a : b;
    case SR_MAX_MIN: return nan_of(dt, a) || less(dt, a, b) ? a : b;
    default: x.i = a.i && b.i; break;
    }
    return rounded(dt, x);
}

static Cell reduce(Semiring s, DType dt, Cell x, Cell v) {
    Cell sum = { (int64_t)((uint64_t)x.i + (uint64_t)v.i), x.re + v.re, x.im + v.im,
                 x.size + v.size };
    switch (s) {
    case SR_PLUS_TIMES: return rounded(dt, sum);
    case SR_OR_AND: x.i |= v.i; return x;
    case SR_MIN_PLUS: case SR_MIN_TIMES: case SR_MIN_MAX:
        return less(dt, v, x) || nan_of(dt, v) ? v : x;
    default: return less(dt, x, v) || nan_of(dt, v) ? v : x;
    }
}

/* Sums are made of runs of at most 256, so half that many roundings of the whole. */
static bool near_(DType dt, double got, double want, double size) {
    double eps = dt == DT_F32 || dt == DT_C64 ? (double)FLT_EPSILON : DBL_EPSILON;
    if (want != want || isinf(want) || !isfinite(size)) return (got != got) == (want != want) &&
        (want != want || !isinf(want) || got == want);
    return fabs(got - want) <= 140 * eps * size;
}

/* Does the element at p hold x? Sums of floats by their error bound, all else exactly. */
static bool holds(Semiring s, DType dt, const char *p, Cell x) {
    Cell got = load(dt, p);
    if (complex_(dt)) return near_(dt, got.re, x.re, x.size) && near_(dt, got.im, x.im, x.size);
    if (!floating(dt)) return got.i == x.i;
    if (s == SR_PLUS_TIMES) return near_(dt, got.re, x.re, x.size);
    if (got.re != got.re) return x.re != x.re;
    return got.re == x.re &&
           (s == SR_MIN_MAX || s == SR_MAX_MIN || signbit(got.re) == signbit(x.re));
}

/* What operands are filled with. */
typedef enum Filling { TAME, SIGNED_ZEROS, INFINITE, NANS, EXTREME } Filling;

static Cell random_cell(DType dt, Filling how) {
    static const double zeros[] = { 0.0, -0.0, 0.0, 1.0 };
    Cell x = { .i = (int64_t)(check_random() % 201) - 100, .re = check_uniform(),
               .im = complex_(dt) ? check_uniform() : 0 };
    unsigned dice = (unsigned)(check_random() % 64);
    if (dt == DT_BOOL) x.i = check_random() % 8 == 0;
    if (how == SIGNED_ZEROS) x.re = zeros[dice % 4];
    if (how == INFINITE && dice < 24) x.re = (double)INFINITY;
    if (how == INFINITE && dice == 0) x.re = -(double)INFINITY;
    if (how == NANS && dice == 1) x.re = (double)NAN;
    if (how == EXTREME) {
        x.i = (int64_t)check_random();
        if (dice < 8) x.i = dice % 2 ? INT64_MIN : INT64_MAX;
        if (dt == DT_I32 && dice < 8) x.i = dice % 2 ? INT32_MIN : INT32_MAX;
        if (dice > 40) x.i = INT32_MIN - (int64_t)(dice % 3) + 1;
    }
    return rounded(dt, x);
}

/* Random cells, again and again. */
static void fill(DType dt, char *data, Filling how) {
    enum { PERIOD = 4099 };
    size_t bytes = dtype_info(dt)->bytes, whole = PERIOD * bytes, all_bytes = CELLS * bytes;
    for (size_t i = 0; i < PERIOD; i++) save(dt, data + i * bytes, random_cell(dt, how));
    for (size_t at = whole; at < all_bytes; at += whole)
        memcpy(data + at, data, all_bytes - at < whole ? all_bytes - at : whole);
}

/* ---- products ---- */

static Mat matrix(DType dt, int slot, int64_t rs, int64_t cs) {
    return (Mat){ store[slot] + ORIGIN * (int64_t)dtype_info(dt)->bytes, rs, cs };
}

/* Steps of a rows x cols matrix, by number; the last two are no place to write to. */
enum { LAYOUTS = 8, WRITABLE = 6 };
static void steps(int layout, int64_t rows, int64_t cols, int64_t *rs, int64_t *cs) {
    *rs = cols, *cs = 1;
    switch (layout) {
    case 1: *rs = 1, *cs = rows; break;
    case 2: *rs = cols + 3; break;
    case 3: *rs = -cols, *cs = -1; break;
    case 4: *rs = 2 * cols, *cs = 2; break;
    case 5: *rs = -1, *cs = rows + 1; break;
    case 6: *rs = 0; break;
    case 7: *rs = 1, *cs = 0; break;
    default: break;
    }
}

static char *cell(DType dt, Mat x, int64_t i, int64_t j) {
    return x.data + (i * x.rs + j * x.cs) * dtype_info(dt)->bytes;
}

static bool product_right(Semiring s, DType dt, int64_t m, int64_t n, int64_t k, Mat a,
                          Mat b, Mat c, const char *before, bool accumulate) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = i % every; j < n; j += every) {
            Cell x;
            char start[16];
            semiring_identity(s, dt, start);
            x = load(dt, accumulate ? before + (cell(dt, c, i, j) - store[2]) : start);
            x.size = s == SR_PLUS_TIMES ? fabs(x.re) + fabs(x.im) : 0;
            for (int64_t q = 0; q < k; q++)
                x = reduce(s, dt, x, combine(s, dt, load(dt, cell(dt, a, i, q)),
                                             load(dt, cell(dt, b, q, j))));
            if (!holds(s, dt, cell(dt, c, i, j), x)) {
                fprintf(stderr, "semiring %d %s: %d x %d x %d, element %d %d\n", (int)s,
                        dtype_name(dt), (int)m, (int)n, (int)k, (int)i, (int)j);
                return false;
            }
        }
    return true;
}

/* Nothing but the elements of C was written: all others are what they were. */
static bool rest_untouched(DType dt, int64_t m, int64_t n, Mat c, const char *before) {
    int bytes = dtype_info(dt)->bytes;
    static char copy[sizeof store[2]];
    size_t whole = CELLS * (size_t)bytes;
    memcpy(copy, store[2], whole);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            char *at = copy + (cell(dt, c, i, j) - store[2]);
            memcpy(at, before + (at - copy), (size_t)bytes);
        }
    return memcmp(copy, before, whole) == 0;
}

static void product_case(const TileSet *set, Semiring s, DType dt, int64_t m, int64_t n, int64_t k,
                         const int layout[3], bool accumulate) {
    int64_t st[3][2];
    steps(layout[0], m, k, &st[0][0], &st[0][1]);
    steps(layout[1], k, n, &st[1][0], &st[1][1]);
    steps(layout[2], m, n, &st[2][0], &st[2][1]);
    Mat a = matrix(dt, 0, st[0][0], st[0][1]), b = matrix(dt, 1, st[1][0], st[1][1]);
    Mat c = matrix(dt, 2, st[2][0], st[2][1]);
    memcpy(store[3], store[2], CELLS * (size_t)dtype_info(dt)->bytes);
    if (set) semiring_gemm_tiled(&one, set, s, dt, m, n, k, a, b, c, accumulate);
    else semiring_gemm(&one, s, dt, m, n, k, a, b, c, accumulate);
    CHECK(product_right(s, dt, m, n, k, a, b, c, store[3], accumulate));
    CHECK(rest_untouched(dt, m, n, c, store[3]));
    memcpy(store[2], store[3], CELLS * (size_t)dtype_info(dt)->bytes);
}

static void products_of(const TileSet *set, Semiring s, DType dt, Filling how, int cases) {
    static const int sizes[] = { 0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 24, 31, 48, 64, 65, 97 };
    for (int slot = 0; slot < 3; slot++) fill(dt, store[slot], how);
    for (int i = 0; i < cases; i++) {
        int64_t m = sizes[check_random() % 16], n = sizes[check_random() % 16],
                k = sizes[check_random() % 14];
        if (m * n > 3000) n = sizes[check_random() % 8];
        if (i % 8 == 7) m = 3, n = 5, k = 300;      /* deeper than a panel */
        int layout[3] = { (int)(check_random() % LAYOUTS), (int)(check_random() % LAYOUTS),
                          (int)(check_random() % WRITABLE) };
        product_case(set, s, dt, m, n, k, layout, check_random() % 2);
    }
}

static void every_product(const TileSet *set) {
    for (int i = 0; i < SR_COUNT; i++)
        for (int dt = 0; dt < DT_COUNT; dt++) {
            if (!semiring_has(all[i], dt)) continue;
            products_of(set, all[i], dt, TAME, 16);
            if (!floating(dt) && !complex_(dt) && dt != DT_BOOL) products_of(set, all[i], dt,
                EXTREME, 10);
            if (!floating(dt)) continue;
            products_of(set, all[i], dt, SIGNED_ZEROS, 6);
            products_of(set, all[i], dt, INFINITE, 8);
            products_of(set, all[i], dt, NANS, 8);
        }
}

/* A wide column of C and a tall one, too long for one block; one thread and two. */
static void big_products(void) {
    static const int64_t shape[][3] = { { 130, 110, 160 }, { 3, 900, 300 }, { 1000, 2, 250 } };
    for (int i = 0; i < SR_COUNT; i++)
        for (int dt = 0; dt < DT_COUNT; dt++)
            for (int t = 0; semiring_has(all[i], dt) && t < 3; t++) {
                int64_t m = shape[t][0], n = shape[t][1], k = shape[t][2];
                int64_t bytes = dtype_info(dt)->bytes;
                Mat a = { store[0], k, 1 }, b = { store[1], n, 1 }, c = { store[2], n, 1 };
                fill(dt, store[0], TAME), fill(dt, store[1], TAME);
                if (k * n > CELLS || m * k > CELLS) b.rs = k * n > CELLS ? 1 : b.rs, a.rs = 1;
                semiring_gemm(&one, all[i], dt, m, n, k, a, b, c, false);
                memcpy(store[3], store[2], (size_t)(m * n * bytes));
                semiring_gemm(&two, all[i], dt, m, n, k, a, b, c, false);
                CHECK(memcmp(store[3], store[2], (size_t)(m * n * bytes)) == 0);
                CHECK(product_right(all[i], dt, m, n, k, a, b, c, store[3], false));
            }
}

/* ---- contractions in place ---- */

static const char *place(DType dt, int slot, int64_t at) {
    return store[slot] + (ORIGIN + at) * (int64_t)dtype_info(dt)->bytes;
}

/* Positions of the three operands at a place of the outer axes. */
static void seek(const Direct *d, int64_t index, int64_t at[3]) {
    at[0] = at[1] = at[2] = 0;
    for (int r = d->rank - 1; r >= 0; index /= d->extent[r], r--)
        for (int o = 0; o < 3; o++) at[o] += index % d->extent[r] * d->step[o][r];
}

static bool direct_right(Semiring s, DType dt, const Direct *d, bool accumulate) {
    int64_t places = 1, at[3];
    for (int r = 0; r < d->rank; r++) places *= d->extent[r];
    for (int64_t i = 0; i < places; i++)
        for (int64_t j = i % every; j < d->n; j += every) {
            char first[16];
            seek(d, i, at);
            semiring_identity(s, dt, first);
            Cell x = load(dt, accumulate ? place(dt, 3, at[0] + j) : first);
            x.size = s == SR_PLUS_TIMES ? fabs(x.re) + fabs(x.im) : 0;
            for (int64_t t = 0; t < d->taps; t++) {
                int64_t a = at[1] + j * d->vector[0] + (d->offset[0] ? d->offset[0][t] : 0);
                int64_t b = at[2] + j * d->vector[1] + (d->offset[1] ? d->offset[1][t] : 0);
                x = reduce(s, dt, x,
                           combine(s, dt, load(dt, place(dt, 0, a)), load(dt, place(dt, 1, b))));
            }
            if (!holds(s, dt, place(dt, 2, at[0] + j), x)) {
                fprintf(stderr,
                        "direct %d %s: n %d taps %d rank %d vector %d %d, place %d column %d\n",
                        (int)s, dtype_name(dt), (int)d->n, (int)d->taps, d->rank,
                        (int)d->vector[0], (int)d->vector[1], (int)i, (int)j);
                return false;
            }
        }
    return true;
}

/* A random one whose result lies densely in some order of axes; operands overlap as they like. */
static Direct random_direct(int64_t offsets[2][600]) {
    static const int lengths[] = { 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 70, 0 };
    static const int64_t taps[] = { 1, 1, 2, 3, 7, 24, 49, 0 };
    Direct d = { .rank = (int)(check_random() % 4), .n = lengths[check_random() % 16],
                 .taps = taps[check_random() % 8] };
    int64_t step = d.n;
    int vectors = (int)(check_random() % 3);
    d.vector[0] = vectors != 1, d.vector[1] = vectors != 0;
    for (int r = 0; r < d.rank; r++) {
        static const int64_t inner[] = { 0, 0, 1, -1, 5, 64, -70 };
        d.extent[r] = 1 + (int64_t)(check_random() % (r ? 4 : 9));
        d.step[0][r] = check_random() % 4 ? step : -step;
        step *= d.extent[r];
        for (int o = 1; o < 3; o++) d.step[o][r] = inner[check_random() % 7];
    }
    if (check_random() % 24 == 0) d.taps = 600, d.n = d.n > 9 ? 9 : d.n;
    for (int o = 0; o < 2; o++) {
        for (int t = 0; t < 600; t++) offsets[o][t] = (int64_t)(check_random() % 200) - 100;
        d.offset[o] = check_random() % 4 ? offsets[o] : NULL;
    }
    return d;
}

static void directs_of(const DirectSet *set, Semiring s, DType dt, Filling how, int cases) {
    static int64_t offsets[2][600];
    size_t bytes = CELLS * (size_t)dtype_info(dt)->bytes;
    for (int slot = 0; slot < 3; slot++) fill(dt, store[slot], how);
    for (int i = 0; i < cases; i++) {
        Direct d = random_direct(offsets);
        bool accumulate = check_random() % 2;
        char *c = store[2] + ORIGIN * (int64_t)dtype_info(dt)->bytes;
        memcpy(store[3], store[2], bytes);
        direct_run_set(&one, set, s, dt, &d, c, place(dt, 0, 0), place(dt, 1, 0), accumulate);
        CHECK(direct_right(s, dt, &d, accumulate));
        int64_t places = 1, at[3];
        for (int r = 0; r < d.rank; r++) places *= d.extent[r];
        for (int64_t p = 0; p < places; p++) {
            seek(&d, p, at);
            int64_t from = (ORIGIN + at[0]) * dtype_info(dt)->bytes;
            memcpy(store[2] + from, store[3] + from, (size_t)(d.n * dtype_info(dt)->bytes));
        }
        CHECK(memcmp(store[2], store[3], bytes) == 0);      /* nothing else was written */
    }
}

static void every_direct(const DirectSet *set) {
    for (int i = 0; i < SR_COUNT; i++)
        for (int dt = 0; dt < DT_COUNT; dt++) {
            if (!semiring_has(all[i], dt)) continue;
            directs_of(set, all[i], dt, TAME, 16);
            if (!floating(dt) && !complex_(dt) && dt != DT_BOOL) directs_of(set, all[i], dt,
                EXTREME, 10);
            if (!floating(dt)) continue;
            directs_of(set, all[i], dt, SIGNED_ZEROS, 8);
            directs_of(set, all[i], dt, INFINITE, 8);
            directs_of(set, all[i], dt, NANS, 8);
        }
}

/* A convolution, a product with few columns and an outer product: one thread and two. */
static void big_directs(void) {
    int64_t window[49], square[49], depth[24], turned[24];
    for (int i = 0; i < 49; i++) window[i] = i / 7 * 160 + i % 7, square[i] = i;
    for (int i = 0; i < 24; i++) depth[i] = i * 1000, turned[i] = i;
    const Direct cases[] = {
        { 1, { 154 }, { { 154 }, { 160 }, { 0 } }, 154, { 1, 0 }, 49, { window, square } },
        { 1, { 24 }, { { 1000 }, { 24 }, { 0 } }, 1000, { 0, 1 }, 24, { turned, depth } },
        { 1, { 30 }, { { 999 }, { 0 }, { 1 } }, 999, { 1, 0 }, 1, { NULL, NULL } },
        { 0, { 0 }, { { 0 } }, 30000, { 1, 1 }, 40, { window, square } },
    };
    for (int i = 0; i < SR_COUNT; i++)
        for (int dt = 0; dt < DT_COUNT; dt++)
            for (int t = 0; semiring_has(all[i], dt) && t < 4; t++) {
                fill(dt, store[0], TAME), fill(dt, store[1], TAME);
                char *c = store[2] + ORIGIN * (int64_t)dtype_info(dt)->bytes;
                size_t bytes = ORIGIN * (size_t)dtype_info(dt)->bytes;
                direct_run(&one, all[i], dt, &cases[t], c, place(dt, 0, 0), place(dt, 1, 0), false);
                memcpy(store[3], c, bytes);
                direct_run(&two, all[i], dt, &cases[t], c, place(dt, 0, 0), place(dt, 1, 0), false);
                CHECK(memcmp(store[3], c, bytes) == 0);
                CHECK(direct_right(all[i], dt, &cases[t], false));
            }
}

static void interrupted(void) {
    Mat a = { store[0], 100, 1 };
    stop = 1;
    semiring_gemm(&one, SR_MIN_PLUS, DT_F64, 100, 100, 100, a, a, (Mat){ store[2], 100, 1 }, false);
    stop = 0;
    CHECK(true);
}

static void start(Ctx *ctx, const char *threads) {
    *ctx = (Ctx){ .interrupt = &stop };
    mem_init(ctx);
    setenv("RICCI_THREADS", threads, 1);
    CHECK(pool_threads(ctx) == atoi(threads));
}

int main(void) {
    start(&one, "1");
    start(&two, "2");
    every_product(&semiring_tiles_base);
    every_direct(&direct_set_base);
#if defined(__x86_64__) || defined(__i386__)
    if (cpu_isa() >= ISA_AVX2) {
        every_product(&semiring_tiles_avx2);
        every_direct(&direct_set_avx2);
    }
    if (cpu_isa() >= ISA_AVX512) {
        every_product(&semiring_tiles_avx512);
        every_direct(&direct_set_avx512);
    }
#endif
    every = 11;
    big_products();
    big_directs();
    interrupted();
    pool_shutdown(&one);
    pool_shutdown(&two);
    return check_result();
}
