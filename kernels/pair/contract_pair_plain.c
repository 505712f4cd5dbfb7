/* One or two operands by the plain loop nest: any dtype, semiring and steps, one thread. What tiny
 * contractions run on and the others are tested against. Nothing here raises or allocates. */
#include "kernels/pair/contract_pair.h"

#include <string.h>

#define CONJ(x) (x)
#define TIMES(x, n, d) (T)((uint64_t)(int64_t)(x) * (uint64_t)(n))
#define ORDERED 1
#define NAN_IN(x) false
#define T uint8_t
#define U unsigned
#define FN(name) name##_u8
#include "kernels/pair/contract_pair_plain.tmpl.h"
#define T int8_t
#define U unsigned
#define FN(name) name##_i8
#include "kernels/pair/contract_pair_plain.tmpl.h"
#define T int32_t
#define U uint32_t
#define FN(name) name##_i32
#include "kernels/pair/contract_pair_plain.tmpl.h"
#define T int64_t
#define U uint64_t
#define FN(name) name##_i64
#include "kernels/pair/contract_pair_plain.tmpl.h"
#undef NAN_IN
#define NAN_IN(x) ((x) != (x))
#undef TIMES
#define TIMES(x, n, d) ((x) * (T)(d))
#define T float
#define U float
#define FN(name) name##_f32
#include "kernels/pair/contract_pair_plain.tmpl.h"
#define T double
#define U double
#define FN(name) name##_f64
#include "kernels/pair/contract_pair_plain.tmpl.h"
#undef ORDERED
#undef CONJ
#define ORDERED 0
#undef TIMES
#define CONJ(x) conjf(x)
#define TIMES(x, n, d) ((x) * (float)(d))
#define T float _Complex
#define U float _Complex
#define FN(name) name##_c64
#include "kernels/pair/contract_pair_plain.tmpl.h"
#undef CONJ
#define CONJ(x) conj(x)
#undef TIMES
#define TIMES(x, n, d) ((x) * (d))
#define T double _Complex
#define U double _Complex
#define FN(name) name##_c128
#include "kernels/pair/contract_pair_plain.tmpl.h"

typedef void (*StripFn)(const PairNest *, const PairAxis *, void *, const void *, const void *);
static const StripFn strips[DT_COUNT] = {
    [DT_BOOL] = strip_u8, [DT_I8] = strip_i8, [DT_U8] = strip_u8, [DT_I32] = strip_i32,
    [DT_I64] = strip_i64, [DT_F32] = strip_f32, [DT_F64] = strip_f64, [DT_C64] = strip_c64,
    [DT_C128] = strip_c128
};

typedef void (*ScaleFn)(const PairAxis *, void *, int64_t, double);
static const ScaleFn scales[DT_COUNT] = {
    [DT_BOOL] = scale_u8, [DT_I8] = scale_i8, [DT_U8] = scale_u8, [DT_I32] = scale_i32,
    [DT_I64] = scale_i64, [DT_F32] = scale_f32, [DT_F64] = scale_f64, [DT_C64] = scale_c64,
    [DT_C128] = scale_c128
};

enum { NEST_POLL = 4096, STRIP_POLL = 1 << 20 };     /* strips, elements of one */

static const PairAxis once = { 1, { 0, 0, 0 } };

typedef struct Walk {
    const PairNest *nest;
    StripFn strip;
    int64_t bytes;
    int64_t count[CONTRACT_LABELS];
    char *at[PAIR_TENSORS];
} Walk;

/* The next position of axes [0, axes); false after the last, with all back at the start. */
static bool walk_next(Walk *w, int axes)
{
    for (int d = axes - 1; d >= 0; d--) {
        const PairAxis *x = &w->nest->axis[d];
        bool more = ++w->count[d] < x->extent;
        int64_t steps = more ? 1 : 1 - x->extent;
        for (int t = 0; t < PAIR_TENSORS; t++)
            if (w->at[t])
                w->at[t] += steps * x->step[t] * w->bytes;
        if (more)
            return true;
        w->count[d] = 0;
    }
    return false;
}

/* A strip of the innermost axis, in pieces between which the interrupt flag is read. */
static void walk_strip(Ctx *ctx, const Walk *w, const PairAxis *x)
{
    PairAxis piece = *x;
    char *at[PAIR_TENSORS];
    memcpy(at, w->at, sizeof at);
    for (int64_t done = 0; done < x->extent && !(done && *ctx->interrupt); done += piece.extent) {
        piece.extent = x->extent - done < STRIP_POLL ? x->extent - done : STRIP_POLL;
        w->strip(w->nest, &piece, at[PAIR_C], at[PAIR_A], at[PAIR_B]);
        for (int t = 0; t < PAIR_TENSORS; t++)
            if (at[t])
                at[t] += piece.extent * piece.step[t] * w->bytes;
    }
}

void pair_nest_run(Ctx *ctx, const PairNest *nest, void *c, const void *a, const void *b)
{
        Walk w = { .nest = nest, .strip = strips[nest->dtype],
                   .bytes = dtype_info(nest->dtype)->bytes,
               .at = { c, (char *)a, (char *)b } };
    int axes = nest->free + nest->summed, empty = 0;
    char start[16] __attribute__((aligned(16)));
    for (int d = 0; d < axes; d++) {
        if (nest->axis[d].extent == 0 && d < nest->free)
            return;
        empty |= nest->axis[d].extent == 0;
    }
    semiring_identity(nest->semiring, nest->dtype, start);
    int64_t poll = 0;
    do {
        if (++poll % STRIP_POLL == 0 && *ctx->interrupt)
            return;
        memcpy(w.at[PAIR_C], start, (size_t)w.bytes);
    } while (walk_next(&w, nest->free));
    if (empty)
        return;
    do {
        if (++poll % NEST_POLL == 0 && *ctx->interrupt)
            return;
        walk_strip(ctx, &w, axes ? &nest->axis[axes - 1] : &once);
    } while (walk_next(&w, axes - 1));
}

void pair_nest_scale(const PairNest *nest, void *c, int64_t factor, double times)
{
    Walk w = { .nest = nest, .bytes = dtype_info(nest->dtype)->bytes, .at = { c, NULL, NULL } };
    do
        scales[nest->dtype](nest->free ? &nest->axis[nest->free - 1] : &once, w.at[PAIR_C],
                            factor, times);
    while (walk_next(&w, nest->free - 1));
}
