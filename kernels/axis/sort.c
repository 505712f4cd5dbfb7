/* Keys and their sorting: see sort.h. A float's bits become an unsigned key by flipping the
 * sign bit of positive numbers and all bits of negative ones; -0
 * stands just before 0 unless SORT_ONE_ZERO makes them equal. NaN is the largest key. */
#include "kernels/axis/sort.h"

#include "core/memory/pool.h"
#include "core/memory/progress.h"
#include "kernels/axis/sort_lanes.h"
#include "kernels/cast/tensor_cast.h"

#include <math.h>
#include <string.h>

enum { SHORT_RUN = 16, RADIX_FROM = 512 };
enum { STRIP = 1 << 18 };          /* elements between two looks at the interrupt flag */

static const uint64_t NAN_KEY = UINT64_MAX;

static inline uint64_t key_f64(double v)
{
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    if (v != v)
        return NAN_KEY;
    return u >> 63 ? ~u : u | (uint64_t)1 << 63;
}

static inline double f64_key(uint64_t key)
{
    double v;
    uint64_t u = key >> 63 ? key & ~((uint64_t)1 << 63) : ~key;
    if (key == NAN_KEY)
        return (double)NAN;
    memcpy(&v, &u, sizeof v);
    return v;
}

/* f32 keys use 32 bits, so a radix sort needs half the passes; NaN is 0xffffffff. */
static inline uint64_t key_f32(float v)
{
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    if (v != v)
        return UINT32_MAX;
    return u >> 31 ? (uint32_t)~u : u | (uint32_t)1 << 31;
}

static inline float f32_key(uint64_t key)
{
    float v;
    uint32_t k = (uint32_t)key, u = k >> 31 ? k & ~((uint32_t)1 << 31) : ~k;
    if (k == UINT32_MAX)
        return NAN;
    memcpy(&v, &u, sizeof v);
    return v;
}

/* f16 and bf16: the same in 16 bits; any NaN has all exponent bits and a fraction. */
static inline uint64_t key_16(uint16_t h, uint16_t infinity)
{
    if ((h & 0x7fff) > infinity)
        return UINT16_MAX;
    return h >> 15 ? (uint16_t)~h : (uint16_t)(h | 0x8000);
}

static inline uint16_t bits_16(uint64_t key, uint16_t infinity)
{
    uint16_t k = (uint16_t)key;
    if (k == UINT16_MAX)
        return (uint16_t)(infinity | (infinity >> 1 & ~infinity) |
                          (infinity == 0x7c00 ? 0x200 : 0x40));
    return k >> 15 ? (uint16_t)(k & 0x7fff) : (uint16_t)~k;
}

int sort_key_bytes(DType dt)
{
    return dtype_info(dt)->bytes;
}

static uint64_t nan_key(DType dt)
{
    int bits = 8 * dtype_info(dt)->bytes;
    return dtype_info(dt)->kind == 'f' ? UINT64_MAX >> (64 - bits) : 0;
}

/* Descending: complement within the key's width, NaN staying last. */
static inline uint64_t reverse_key(uint64_t key, uint64_t mask, uint64_t nan)
{
    return nan && key == nan ? key : mask - key - (nan ? 1 : 0);
}

bool sort_key_is_nan(DType dt, uint64_t key)
{
    return dtype_info(dt)->kind == 'f' && key == nan_key(dt);
}

/* Signed ones with their sign bit turned over. */
static void load_ints(uint64_t *keys, DType dt, const void *x, int64_t stride, int64_t n)
{
    const DTypeInfo *d = dtype_info(dt);
    uint64_t turn = d->low ? (uint64_t)1 << (8 * d->bytes - 1) : 0;
    assert(d->bytes == 1 || d->bytes == 4 || d->bytes == 8);
    if (d->bytes == 1)
        for (int64_t i = 0; i < n; i++) keys[i] = ((const uint8_t *)x)[i * stride] ^ turn;
    else if (d->bytes == 4)
        for (int64_t i = 0; i < n; i++) keys[i] = ((const uint32_t *)x)[i * stride] ^ turn;
    else
        for (int64_t i = 0; i < n; i++) keys[i] = ((const uint64_t *)x)[i * stride] ^ turn;
}

static void load_half(uint64_t *keys, DType dt, const void *x, int64_t stride, int64_t n)
{
    uint16_t infinity = dtype_half_infinity(dt);
    for (int64_t i = 0; i < n; i++)
        keys[i] = key_16(((const uint16_t *)x)[i * stride], infinity);
}

void sort_load(uint64_t *keys, DType dt, const void *x, int64_t stride, int64_t n, unsigned how)
{
    switch (dt) {
    case DT_F32:
        for (int64_t i = 0; i < n; i++) keys[i] = key_f32(((const float *)x)[i * stride]);
        break;
    case DT_F64:
        for (int64_t i = 0; i < n; i++) keys[i] = key_f64(((const double *)x)[i * stride]);
        break;
    default: (dtype_half(dt) ? load_half : load_ints)(keys, dt, x, stride, n);
    }
    uint64_t zero = (uint64_t)1 << (8 * dtype_info(dt)->bytes - 1);
    if (how & SORT_ONE_ZERO && dtype_info(dt)->kind == 'f')
        for (int64_t i = 0; i < n; i++)
            keys[i] += keys[i] == zero - 1;
    if (how & SORT_DESCENDING) {
        uint64_t mask = UINT64_MAX >> (64 - 8 * dtype_info(dt)->bytes), nan = nan_key(dt);
        for (int64_t i = 0; i < n; i++)
            keys[i] = reverse_key(keys[i], mask, nan);
    }
}

static void store_int(char *to, DType dt, uint64_t key)
{
    const DTypeInfo *d = dtype_info(dt);
    key ^= d->low ? (uint64_t)1 << (8 * d->bytes - 1) : 0;
    switch (d->bytes) {
    case 1: *(uint8_t *)to = (uint8_t)key; break;
    case 4: *(uint32_t *)(void *)to = (uint32_t)key; break;
    default:
        assert(d->bytes == 8);
        *(uint64_t *)(void *)to = key;
    }
}

static void store_key(char *to, DType dt, uint64_t key)
{
    switch (dt) {
    case DT_F32: *(float *)to = f32_key(key); break;
    case DT_F64: *(double *)to = f64_key(key); break;
    default:
        if (dtype_half(dt))
            *(uint16_t *)to = bits_16(key, dtype_half_infinity(dt));
        else
            store_int(to, dt, key);
    }
}

void sort_store(void *x, int64_t stride, DType dt, const uint64_t *keys, int64_t n, bool descending)
{
    uint64_t mask = UINT64_MAX >> (64 - 8 * dtype_info(dt)->bytes), nan = nan_key(dt);
    int64_t step = stride * dtype_info(dt)->bytes;
    char *to = x;
    for (int64_t i = 0; i < n; i++, to += step)
        store_key(to, dt, descending ? reverse_key(keys[i], mask, nan) : keys[i]);
}

static bool stopped(const Ctx *ctx)
{
    return ctx && ctx->interrupt && *ctx->interrupt;
}

static int64_t strip_of(int64_t rest)
{
    return rest < STRIP ? rest : STRIP;
}

void sort_load_lane(Ctx *ctx, uint64_t *keys, DType dt, const void *x, int64_t stride, int64_t n,
                    unsigned how)
{
    int64_t step = stride * dtype_info(dt)->bytes;
    for (int64_t i = 0; i < n && !stopped(ctx); i += STRIP)
        sort_load(keys + i, dt, (const char *)x + i * step, stride, strip_of(n - i), how);
}

void sort_store_lane(Ctx *ctx, void *x, int64_t stride, DType dt, const uint64_t *keys, int64_t n,
                     bool descending)
{
    int64_t step = stride * dtype_info(dt)->bytes;
    for (int64_t i = 0; i < n && !stopped(ctx); i += STRIP)
        sort_store((char *)x + i * step, stride, dt, keys + i, strip_of(n - i), descending);
}

double sort_key_f64(DType dt, uint64_t key)
{
    char element[8];
    store_key(element, dt, key);
    return element_f64(dt, element);
}

/* ---- quantiles ---- */

/* Element k of the sorted lane; everything before it is not larger afterwards. */
static double select_value(Ctx *ctx, uint64_t *keys, DType dt, int64_t n, bool sorted, int64_t k)
{
    if (!sorted)
        sort_select(ctx, keys, keys + n, n, k);
    return sort_key_f64(dt, keys[k]);
}

/* NumPy's interpolation: from whichever end is nearer. */
static double between(double a, double b, double t)
{
    if (a == b || t == 0)
        return a;
    return t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t);
}

double sort_quantile(Ctx *ctx, uint64_t *keys, DType dt, int64_t n, bool sorted, bool median,
                     double q)
{
    double h = q * (double)(n - 1), whole = floor(h), t = h - whole;
    int64_t k = (int64_t)whole;
    double low = select_value(ctx, keys, dt, n, sorted, k);
    if (t == 0 || k + 1 >= n)
        return low;
    if (sorted)
        return between(low, sort_key_f64(dt, keys[k + 1]), t);
    uint64_t next = keys[k + 1];
    for (int64_t i = k + 2; i < n; i++)
        if (keys[i] < next)
            next = keys[i];
    double high = sort_key_f64(dt, next);
    return median ? 0.5 * low + 0.5 * high : between(low, high, t);
}

/* ---- merge sort, for short lanes ---- */

static void insert_run(uint64_t *keys, int64_t *at, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        uint64_t key = keys[i];
        int64_t from = at ? at[i] : 0, j = i;
        for (; j > 0 && keys[j - 1] > key; j--) {
            keys[j] = keys[j - 1];
            if (at)
                at[j] = at[j - 1];
        }
        keys[j] = key;
        if (at)
            at[j] = from;
    }
}

static void merge(const uint64_t *k, const int64_t *a, int64_t left, int64_t n, uint64_t *ko,
                  int64_t *ao)
{
    int64_t i = 0, j = left;
    for (int64_t o = 0; o < n; o++) {
        bool first = j >= n || (i < left && k[i] <= k[j]);
        int64_t from = first ? i++ : j++;
        ko[o] = k[from];
        if (a)
            ao[o] = a[from];
    }
}

/* Each pass reads one pair of buffers and writes the other … */
static void swap_buffers(uint64_t **k, int64_t **a, uint64_t **k2, int64_t **a2)
{
    uint64_t *keys = *k;
    int64_t *at = *a;
    *k = *k2;
    *a = *a2;
    *k2 = keys;
    *a2 = at;
}

/* … and the result is wanted in the caller's. */
static void bring_home(uint64_t *keys, int64_t *at, const uint64_t *k, const int64_t *a, int64_t n)
{
    if (k == keys)
        return;
    memcpy(keys, k, (size_t)n * sizeof *keys);
    if (at)
        memcpy(at, a, (size_t)n * sizeof *at);
}

static void merge_sort(uint64_t *keys, int64_t *at, uint64_t *ks, int64_t *as, int64_t n)
{
    uint64_t *k = keys, *k2 = ks;
    int64_t *a = at, *a2 = as;
    for (int64_t i = 0; i < n; i += SHORT_RUN)
        insert_run(k + i, a ? a + i : NULL, n - i < SHORT_RUN ? n - i : SHORT_RUN);
    for (int64_t width = SHORT_RUN; width < n; width *= 2) {
        for (int64_t i = 0; i < n; i += 2 * width) {
            int64_t both = n - i < 2 * width ? n - i : 2 * width,
                    left = both < width ? both : width;
            merge(k + i, a ? a + i : NULL, left, both, k2 + i, a ? a2 + i : NULL);
        }
        swap_buffers(&k, &a, &k2, &a2);
    }
    bring_home(keys, at, k, a, n);
}

/* ---- radix sort, least significant byte first; passes with one bucket are skipped ---- */

/* A long sort and who hears of it: `done` counts elements of passes. */
typedef struct Turns {
    Ctx *ctx;
    bool heard;
    int64_t done;
} Turns;

/* How many elements come next, of `rest`; 0: it was interrupted. */
static int64_t next_strip(Turns *t, int64_t rest)
{
    if (stopped(t->ctx))
        return 0;
    int64_t n = strip_of(rest);
    if (t->heard)
        progress_at(t->ctx, t->done);
    t->done += n;
    return n;
}

static void scatter(const uint64_t *k, const int64_t *a, uint64_t *ko, int64_t *ao, int64_t n,
                    int shift, int64_t *count)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t to = count[k[i] >> shift & 255]++;
        ko[to] = k[i];
        if (a)
            ao[to] = a[i];
    }
}

static bool radix_pass(Turns *t, const uint64_t *k, const int64_t *a, uint64_t *ko,
                       int64_t *ao, int64_t n, int shift, int64_t *count)
{
    int64_t sum = 0;
    for (int d = 0; d < 256; d++) {
        if (count[d] == n)
            return false;
        int64_t c = count[d];
        count[d] = sum;
        sum += c;
    }
    for (int64_t i = 0, some; i < n && (some = next_strip(t, n - i)) > 0; i += some)
        scatter(k + i, a ? a + i : NULL, ko, ao, some, shift, count);
    return true;
}

static void count_digits(const uint64_t *k, int64_t n, int bytes, int64_t count[][256])
{
    for (int64_t i = 0; i < n; i++)
        for (int b = 0; b < bytes; b++)
            count[b][k[i] >> 8 * b & 255]++;
}

static void radix_sort(Ctx *ctx, uint64_t *keys, int64_t *at, uint64_t *ks, int64_t *as,
                       int64_t n, int bytes)
{
    int64_t count[8][256];
    uint64_t *k = keys, *k2 = ks;
    int64_t *a = at, *a2 = as;
    Turns t = { ctx, false, 0 };
    if (ctx && n > STRIP && !pool_inside(ctx))
        t.heard = progress_enter(ctx, NULL, 0, (bytes + 1) * n);
    memset(count, 0, sizeof count);
    for (int64_t i = 0, some; i < n && (some = next_strip(&t, n - i)) > 0; i += some)
        count_digits(k + i, some, bytes, count);
    for (int b = 0; b < bytes && !stopped(ctx); b++) {
        if (!radix_pass(&t, k, a, k2, a2, n, 8 * b, count[b]))
            continue;
        swap_buffers(&k, &a, &k2, &a2);
    }
    if (!stopped(ctx))
        bring_home(keys, at, k, a, n);
    if (t.heard)
        progress_leave(ctx);
}

void sort_keys(Ctx *ctx, uint64_t *keys, uint64_t *scratch, int64_t n, int key_bytes)
{
    if (!sort_keys_quickly(ctx, keys, n))
        sort_pairs(ctx, keys, NULL, scratch, NULL, n, key_bytes);
}

void sort_pairs(Ctx *ctx, uint64_t *keys, int64_t *at, uint64_t *key_scratch, int64_t *at_scratch,
                int64_t n, int key_bytes)
{
    if (n < RADIX_FROM)
        merge_sort(keys, at, key_scratch, at_scratch, n);
    else
        radix_sort(ctx, keys, at, key_scratch, at_scratch, n, key_bytes);
}

/* ---- selection: quickselect with the median of three, Hoare's partition; a full sort
 * when the pivots are bad ---- */

static uint64_t median_of_three(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* A turn over 10^8 elements takes 60 ms. */
void sort_select(Ctx *ctx, uint64_t *keys, uint64_t *scratch, int64_t n, int64_t k)
{
    int64_t low = 0, high = n - 1;
    for (int turns = 0; low < high && !stopped(ctx); turns++) {
        if (turns > 96) {
            sort_keys(ctx, keys + low, scratch, high - low + 1, 8);
            return;
        }
        uint64_t pivot = median_of_three(keys[low], keys[low + (high - low) / 2], keys[high]);
        int64_t i = low - 1, j = high + 1;
        for (;;) {
            do i++; while (keys[i] < pivot);
            do j--; while (keys[j] > pivot);
            if (i >= j)
                break;
            uint64_t swap = keys[i];
            keys[i] = keys[j];
            keys[j] = swap;
        }
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
}
