/* Dense numbers at the entries of a sparse matrix, by threads: each entry is a sum of its own. */
#include "kernels/sparse/sampled.h"

#include "kernels/sparse/rows.h"

#include <string.h>

typedef struct Sampled {
    Csr a;
    char *to;
    const char *x, *y;
    int64_t k, by_row, by_column;
    size_t each;
} Sampled;

enum { AHEAD = 8, LINE = 64, FETCHED = 8 * LINE };

/* The row of y that entry e wants will be wanted soon: rows lie anywhere in memory. */
static inline void fetch(const Sampled *s, int64_t e)
{
    if (e >= s->a.entries)
        return;
    const int64_t bytes = s->k * (int64_t)s->each;
    const char *row = s->y + s->a.column[e] * bytes;
    for (int64_t at = 0; at < bytes && at < FETCHED; at += LINE)
        __builtin_prefetch(row + at);
}

/* Sixteen sums side by side, added up in an order that is fixed: no thread and no width of vectors
 * shows in them. */
#define REAL(x, y) ((x) * (y))
/* What its four products say, infinities included. */
#define COMPLEX(x, y)                                                                          \
    __builtin_complex(__real__(x) * __real__(y) - __imag__(x) * __imag__(y),                   \
                      __real__(x) * __imag__(y) + __imag__(x) * __real__(y))
#define SAMPLED(name, T, LANES, TIMES)                                                         \
    static T name##_dot(const T *restrict x, const T *restrict y, int64_t n)                   \
    {                                                                                          \
        T sum[LANES] = { 0 }, rest = 0;                                                        \
        int64_t p = 0;                                                                         \
        for (; p + LANES <= n; p += LANES)                                                     \
            for (int l = 0; l < LANES; l++)                                                    \
                sum[l] += TIMES(x[p + l], y[p + l]);                                           \
        for (; p < n; p++)                                                                     \
            rest += TIMES(x[p], y[p]);                                                         \
        for (int half = LANES / 2; half; half /= 2)                                            \
            for (int l = 0; l < half; l++)                                                     \
                sum[l] += sum[l + half];                                                       \
        return sum[0] + rest;                                                                  \
    }                                                                                          \
    static void name(void *arg, int64_t from, int64_t to, int worker)                          \
    {                                                                                          \
        const Sampled *s = arg;                                                                \
        const T *x = (const T *)(const void *)s->x, *y = (const T *)(const void *)s->y;        \
        const T *value = s->a.value;                                                           \
        T *out = (T *)(void *)s->to;                                                           \
        (void)worker;                                                                          \
        for (int64_t i = from; i < to; i++)                                                    \
            for (int64_t e = s->a.start[i]; e < s->a.start[i + 1]; e++) {                      \
                fetch(s, e + AHEAD);                                                           \
                const T dot = name##_dot(x + i * s->k, y + s->a.column[e] * s->k, s->k);       \
                out[e] = value ? TIMES(value[e], dot) : dot;                                   \
            }                                                                                  \
    }
SAMPLED(sampled_f64, double, 16, REAL)
SAMPLED(sampled_f32, float, 16, REAL)
SAMPLED(sampled_c128, double _Complex, 4, COMPLEX)
SAMPLED(sampled_c64, float _Complex, 4, COMPLEX)

static PoolFn sampled_of(DType dt)
{
    switch (dt) {
    case DT_F32: return sampled_f32;
    case DT_F64: return sampled_f64;
    case DT_C64: return sampled_c64;
    default: assert(dt == DT_C128); return sampled_c128;
    }
}

Tensor *csr_sampled(Ctx *ctx, Made *made, const Csr *a, const char *x, const char *y, int64_t k)
{
    Tensor *out = made_vector(ctx, made, a->dtype, a->entries);
    Sampled s = { .a = *a, .to = out->data, .x = x, .y = y, .k = k,
                  .each = dtype_info(a->dtype)->bytes };
    rows_for(ctx, a->m, a->start, sampled_of(a->dtype), &s);
    return out;
}

static inline __attribute__((always_inline)) void sample_of(const Sampled *s, int64_t from,
                                                            int64_t to, size_t each)
{
    for (int64_t i = from; i < to; i++) {
        const char *x = s->x + i * s->by_row * (int64_t)each;
        for (int64_t e = s->a.start[i]; e < s->a.start[i + 1]; e++)
            memcpy(s->to + (size_t)e * each, x + s->a.column[e] * s->by_column * (int64_t)each,
                   each);
    }
}

/* With the sizes of the usual dtypes known to the compiler. */
static void sample(void *arg, int64_t from, int64_t to, int worker)
{
    const Sampled *s = arg;
    (void)worker;
    switch (s->each) {
    case 4: sample_of(s, from, to, 4); break;
    case 8: sample_of(s, from, to, 8); break;
    case 16: sample_of(s, from, to, 16); break;
    default: sample_of(s, from, to, s->each);
    }
}

void csr_sample(Ctx *ctx, const Csr *a, char *to, const char *x, int64_t by_row, int64_t by_column,
                size_t each)
{
    Sampled s = { .a = *a, .to = to, .x = x, .by_row = by_row, .by_column = by_column,
                  .each = each };
    rows_for(ctx, a->m, a->start, sample, &s);
}
