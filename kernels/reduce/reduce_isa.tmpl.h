/* The loops of every dtype for one instruction set, and their table RED_TABLE. Included by
 * reduce_base.c, reduce_avx2.c and reduce_avx512.c, which differ in compiler flags only. */
#include "kernels/reduce/reduce.h"
#include "kernels/reduce/reduce_complex.h"
#include <math.h>
#include <string.h>

/* Asks for what lies some pages behind p, so that loops of more than one instruction an element do
 * not wait: the processor looks ahead by instructions, and by itself only to the end of a page. */
#define AHEAD(p, bytes) \
    for (size_t line_ = 0; line_ < (bytes); line_ += 64) \
        __builtin_prefetch((const char *)(p) + 8192 + line_)

/* Where columns go by lines of four rows: the same line of the next four. */
#define LINE(T) (int)(64 / sizeof(T))
#define AHEAD_ROWS(p, rs) \
    for (int row_ = 4; row_ < 8; row_++) \
        __builtin_prefetch((p) + row_ * (rs))

/* Columns of a stripe stay in registers, where there are enough. Worth it for four bytes an element
 * and rows of whole lines, so far apart that they are no one stream, and not by whole pages, which
 * would meet in the same sets of the first cache. */
#ifdef __AVX512F__
#define STRIPED(p, rs) (sizeof *(p) == 4 && (rs) >= 512 && (rs) % 1024 != 0 && \
    (rs) % LINE(*(p)) == 0 && (uintptr_t)(p) % 64 == 0)
#else
#define STRIPED(p, rs) false
#endif
#define AHEAD_STRIPE(p, rs, wide) \
    for (int row_ = 8; row_ < 10; row_++) \
        for (int l_ = 0; l_ < (wide); l_ += LINE(T)) \
            __builtin_prefetch((p) + row_ * (rs) + l_)

static inline RedProd prod_join(RedProd a, RedProd b)
{
    RedProd r = { .negative = a.negative ^ b.negative, .zero = a.zero | b.zero,
                  .overflow = a.overflow | b.overflow };
    r.overflow |= __builtin_mul_overflow(a.size, b.size, &r.size) || r.size > (uint64_t)1 << 63;
    if (r.zero | r.overflow)
        r.size = 1;
    return r;
}

static inline RedProd prod_step(RedProd a, int64_t v)
{
    RedProd b = { .size = v < 0 ? -(uint64_t)v : (uint64_t)v, .negative = v < 0, .zero = v == 0 };
    if (v == 0)
        b.size = 1;
    return prod_join(a, b);
}

static void var_join(void *acc, const void *more, int64_t m, int64_t offset)
{
    RedVar *a = acc;
    const RedVar *b = more;
    (void)offset;
    for (int64_t j = 0; j < m; j++) {
        a[j].sum += b[j].sum;
        a[j].sum_im += b[j].sum_im;
        a[j].squares += b[j].squares;
    }
}

/* Counts of true in bools: lanes of bytes, emptied before they can run over. */
static int64_t count_bytes(const uint8_t *p, int64_t n)
{
    enum { BYTES = 64 };
    int64_t total = 0, i = 0;
    while (i + BYTES <= n) {
        uint8_t lane[BYTES] = { 0 };
        int64_t steps = (n - i) / BYTES;
        steps = steps < 255 ? steps : 255;
        for (int64_t s = 0; s < steps; s++, i += BYTES)
            for (int l = 0; l < BYTES; l++)
                lane[l] = (uint8_t)(lane[l] + p[i + l]);
        for (int l = 0; l < BYTES; l++)
            total += lane[l];
    }
    for (; i < n; i++)
        total += p[i];
    return total;
}

static void bool_count_run(void *acc, const void *x, int64_t stride, int64_t n, const void *param)
{
    const uint8_t *p = x;
    int64_t total = 0;
    (void)param;
    if (stride == 1)
        total = count_bytes(p, n);
    else
        for (int64_t i = 0; i < n; i++)
            total += p[i * stride];
    *(int64_t *)acc = total;
}

static inline __attribute__((always_inline))
void add_bytes(int64_t *a, const uint8_t *p, int64_t rs, int64_t n, int64_t cs, int64_t m)
{
    for (int64_t i = 0; i < n; i++, p += rs)
        for (int64_t j = 0; j < m; j++)
            a[j] += p[j * cs];
}

static void bool_count_rows(void *acc, const void *x, int64_t rs, int64_t n, int64_t cs, int64_t m,
                            const void *param)
{
    (void)param;
    memset(acc, 0, (size_t)m * sizeof(int64_t));
    if (cs == 1)
        add_bytes(acc, x, rs, n, 1, m);
    else
        add_bytes(acc, x, rs, n, cs, m);
}

static void bool_count_join(void *acc, const void *more, int64_t m, int64_t offset)
{
    int64_t *a = acc;
    const int64_t *b = more;
    (void)offset;
    for (int64_t j = 0; j < m; j++)
        a[j] += b[j];
}

#define T int8_t
#define C int8_t
#define LOAD(v) (v)
#define ID(f) i8_##f
#define KIND 0
#define WIDE_INT 0
#include "kernels/reduce/reduce_ops.tmpl.h"

#define T uint8_t
#define C uint8_t
#define LOAD(v) (v)
#define ID(f) u8_##f
#define KIND 0
#define WIDE_INT 0
#include "kernels/reduce/reduce_ops.tmpl.h"

#define T int32_t
#define C int32_t
#define LOAD(v) (v)
#define ID(f) i32_##f
#define KIND 0
#define WIDE_INT 0
#include "kernels/reduce/reduce_ops.tmpl.h"

#define T int64_t
#define C int64_t
#define LOAD(v) (v)
#define ID(f) i64_##f
#define KIND 0
#define WIDE_INT 1
#include "kernels/reduce/reduce_ops.tmpl.h"

#define EACH_HALF "kernels/reduce/reduce_half.tmpl.h"
#include "kernels/tensor/each_half.h"

#define T float
#define C float
#define LOAD(v) (v)
#define ID(f) f32_##f
#define KIND 1
#define ZERO (-0.0f)
#define TIMES(a, b) ((a) * (b))
#include "kernels/reduce/reduce_ops.tmpl.h"

#define T double
#define C double
#define LOAD(v) (v)
#define ID(f) f64_##f
#define KIND 1
#define ZERO (-0.0)
#define TIMES(a, b) ((a) * (b))
#include "kernels/reduce/reduce_ops.tmpl.h"

#define T float _Complex
#define C float _Complex
#define LOAD(v) (v)
#define ID(f) c64_##f
#define KIND 2
#define ZERO make_c64(-0.0f, -0.0f)
#define TIMES(a, b) times_c64(a, b)
#include "kernels/reduce/reduce_ops.tmpl.h"

#define T double _Complex
#define C double _Complex
#define LOAD(v) (v)
#define ID(f) c128_##f
#define KIND 2
#define ZERO make_c128(-0.0, -0.0)
#define TIMES(a, b) times_c128(a, b)
#include "kernels/reduce/reduce_ops.tmpl.h"

#define FOLD(dt, type, name) [DT_##dt] = { sizeof(type), name##_run, name##_rows, name##_join }
/* Bools are folded as the bytes that they are. */
#define WIDER(type, name) FOLD(I8, type, i8_##name), FOLD(U8, type, u8_##name), \
    FOLD(I32, type, i32_##name), FOLD(I64, type, i64_##name)
#define INTEGERS(type, name) FOLD(BOOL, type, u8_##name), WIDER(type, name)
#define HALF_FOLD(id, half, type, name) FOLD(id, type, half##_##name),
#define HALF_VAR(id, half, none) VAR(id, half),
#define REALS(name) HALVES(HALF_FOLD, float, name) \
    FOLD(F32, float, f32_##name), FOLD(F64, double, f64_##name)
#define COMPLEX(name) FOLD(C64, float _Complex, c64_##name), \
    FOLD(C128, double _Complex, c128_##name)
#define ORDERED(name) { FOLD(BOOL, uint8_t, u8_##name), FOLD(I8, int8_t, i8_##name), \
    FOLD(U8, uint8_t, u8_##name), FOLD(I32, int32_t, i32_##name), FOLD(I64, int64_t, i64_##name), \
    REALS(name) }
#define FLOATS(type, name) HALVES(HALF_FOLD, type, name) \
    FOLD(F32, type, f32_##name), FOLD(F64, type, f64_##name)
#define ALL(type, name) INTEGERS(type, name), FLOATS(type, name)
#define VAR(dt, name) [DT_##dt] = { sizeof(RedVar), name##_var_run, name##_var_rows, var_join }

const RedKernel RED_TABLE[FOLD_KINDS][DT_COUNT] = {
    [FOLD_SUM] = { INTEGERS(RedInt, sum), REALS(sum), COMPLEX(sum) },
    [FOLD_NANSUM] = { INTEGERS(RedInt, sum), REALS(nansum), COMPLEX(nansum) },
    [FOLD_PROD] = { INTEGERS(RedProd, prod), REALS(prod), COMPLEX(prod) },
    [FOLD_MIN] = ORDERED(min),
    [FOLD_MAX] = ORDERED(max),
    [FOLD_ARGMIN] = { ALL(RedArg, argmin) },
    [FOLD_ARGMAX] = { ALL(RedArg, argmax) },
    [FOLD_COUNT] = { FOLD(BOOL, int64_t, bool_count), WIDER(int64_t, count), FLOATS(int64_t, count),
                     FOLD(C64, int64_t, c64_count), FOLD(C128, int64_t, c128_count) },
    [FOLD_VAR] = { VAR(BOOL, u8), VAR(I8, i8), VAR(U8, u8), VAR(I32, i32), VAR(I64, i64),
                   HALVES(HALF_VAR, ) VAR(F32, f32), VAR(F64, f64),
                   VAR(C64, c64), VAR(C128, c128) },
};
