/* Sorting by value alone: numbers of 4 and 8 bytes as signed keys by the kernels of sort_quick.h,
 * in the result itself where it lies together; all others as sort.c does. */
#include "kernels/axis/sort_lanes.h"

#include "core/memory/pool.h"
#include "core/memory/progress.h"
#include "kernels/axis/sort_quick.h"
#include "kernels/tensor/cpu.h"
#include "kernels/tensor/permute.h"

#include <stdatomic.h>
#include <string.h>

enum { LONG = 1 << 18, RANGES = 64 };

/* NULL: no vectors here. */
static const SortQuick *quick_here(int bytes)
{
#if defined(__x86_64__) || defined(__i386__)
    if (cpu_isa() == ISA_AVX512)
        return bytes == 8 ? &sort_quick64_avx512 : &sort_quick32_avx512;
    if (cpu_isa() == ISA_AVX2)
        return bytes == 8 ? &sort_quick64_avx2 : &sort_quick32_avx2;
#endif
    (void)bytes;
    return NULL;
}

static const SortQuick *quick_of(DType dt)
{
    bool quick = dt == DT_F32 || dt == DT_F64 || dt == DT_I32 || dt == DT_I64;
    return quick ? quick_here(dtype_info(dt)->bytes) : NULL;
}

/* Numbers to keys, or back. */
typedef struct Turn {
    const SortQuick *quick;
    DType dt;
    bool back, descending;
    char *to;
    const char *x;
} Turn;

static void turn(void *arg, int64_t begin, int64_t end, int worker)
{
    const Turn *t = arg;
    int bytes = dtype_info(t->dt)->bytes;
    char *to = t->to + begin * bytes;
    const char *x = t->x + begin * bytes;
    int64_t size = (end - begin) * bytes;
    (void)worker;
    if (dtype_info(t->dt)->kind == 'f')
        (t->back ? t->quick->store : t->quick->load)(to, x, end - begin, t->descending);
    else if (t->descending)
        for (int64_t i = 0; i < size; i++) to[i] = (char)~x[i];
    else if (to != x)
        memcpy(to, x, (size_t)size);
}

/* ---- a long lane: split on one thread into ranges, which the pool sorts ---- */

typedef struct Range {
    char *keys;
    int64_t n, low, high;
} Range;

typedef struct Ranges {
    const SortQuick *quick;
    Turn *back;                         /* NULL: they stay keys */
    char *keys;                         /* of all */
    const InterruptFlag *stop;
    _Atomic int64_t *done;
    int64_t bytes;
    int count;
    Range range[RANGES];
} Ranges;

static void sort_ranges(void *arg, int64_t begin, int64_t end, int worker)
{
    Ranges *r = arg;
    for (const Range *a = r->range + begin; a < r->range + end; a++) {
        int64_t at = (a->keys - r->keys) / r->bytes;
        r->quick->sort(a->keys, a->n, a->low, a->high, r->stop);
        if (r->back)
            turn(r->back, at, at + a->n, worker);
        if (r->done)
            atomic_fetch_add_explicit(r->done, a->n, memory_order_relaxed);
    }
}

/* Splits range k in two; one with nothing but its upper bound is in order. */
static void split_range(Ranges *r, int k)
{
    Range *a = r->range + k;
    int64_t pivot = r->quick->pivot(a->keys, a->n);
    bool equal = pivot == a->high;
    int64_t lower = r->quick->split(a->keys, a->n, pivot - equal);
    r->range[r->count++] = (Range){ a->keys + lower * r->bytes, a->n - lower,
                                    equal ? pivot : pivot + 1, a->high };
    a->n = lower;
    a->high = pivot - equal;
}

static void sort_long(Ctx *ctx, const SortQuick *quick, int bytes, Range all, Turn *back)
{
    Ranges r = { .quick = quick, .back = back, .keys = all.keys, .stop = ctx->interrupt,
                 .bytes = bytes, .count = 1, .range = { all } };
    bool heard = progress_enter(ctx, NULL, 0, all.n);
    r.done = heard ? progress_counter(ctx) : NULL;
    int64_t most = all.n / 16 > LONG / 4 ? all.n / 16 : LONG / 4;
    for (int k = 0; k < r.count && !(r.stop && *r.stop); k++)
        while (r.count < RANGES && r.range[k].n > most && r.range[k].low < r.range[k].high &&
               !(r.stop && *r.stop))
            split_range(&r, k);
    pool_for(ctx, r.count, 1, sort_ranges, &r);
    if (heard)
        progress_leave(ctx);
}

static void sort_signed(Ctx *ctx, const SortQuick *quick, int bytes, void *keys, int64_t n,
                        Turn *back)
{
    int64_t high = bytes == 8 ? INT64_MAX : INT32_MAX;
    if (ctx && n > LONG && !pool_inside(ctx)) {
        sort_long(ctx, quick, bytes, (Range){ keys, n, -high - 1, high }, back);
        return;
    }
    quick->sort(keys, n, -high - 1, high, ctx ? ctx->interrupt : NULL);
    if (back)
        turn(back, 0, n, 0);
}

bool sort_keys_quickly(Ctx *ctx, uint64_t *keys, int64_t n)
{
    const SortQuick *quick = quick_here(8);
    const uint64_t sign = (uint64_t)1 << 63;
    if (!quick)
        return false;
    for (int64_t i = 0; i < n; i++) keys[i] ^= sign;
    sort_signed(ctx, quick, 8, keys, n, NULL);
    for (int64_t i = 0; i < n; i++) keys[i] ^= sign;
    return true;
}

/* ---- lanes ---- */

/* The way there is short: below 2^22 it is not worth the wait for another thread. */
static void sort_dense(Ctx *ctx, const SortQuick *quick, DType dt, void *to, const void *x,
                       int64_t n, bool descending)
{
    Turn there = { quick, dt, false, descending, to, x };
    Turn back = { quick, dt, true, descending, to, to };
    if (n > 1 << 22 && !pool_inside(ctx))
        pool_for(ctx, n, LONG, turn, &there);
    else
        turn(&there, 0, n, 0);
    bool keys = descending || dtype_info(dt)->kind == 'f';
    sort_signed(ctx, quick, dtype_info(dt)->bytes, to, n, keys ? &back : NULL);
}

/* Do the lanes lie side by side? */
static bool adjacent(const char *const *lane, int lanes, int bytes)
{
    for (int k = 1; k < lanes; k++)
        if (lane[k] != lane[k - 1] + bytes)
            return false;
    return true;
}

static void gather(const SortLanes *l, int lanes, int bytes, char *keys)
{
    if (adjacent(l->x, lanes, bytes))
        permute_block(bytes, keys, l->n, l->x[0], l->step, l->n, lanes);
    else
        for (int k = 0; k < lanes; k++)
            permute_block(bytes, keys + k * l->n * bytes, l->n, l->x[k], l->step, l->n, 1);
}

static void scatter(const SortLanes *l, int lanes, int bytes, const char *keys)
{
    if (adjacent((const char *const *)l->to, lanes, bytes))
        permute_block(bytes, l->to[0], l->to_step, keys, l->n, lanes, l->n);
    else
        for (int k = 0; k < lanes; k++)
            permute_block(bytes, l->to[k], l->to_step, keys + k * l->n * bytes, l->n, 1, l->n);
}

static void sort_strided(Ctx *ctx, const SortQuick *quick, const SortLanes *l, int lanes,
                         char *keys)
{
    int bytes = dtype_info(l->dt)->bytes;
    gather(l, lanes, bytes, keys);
    for (int k = 0; k < lanes; k++) {
        char *lane = keys + k * l->n * bytes;
        sort_dense(ctx, quick, l->dt, lane, lane, l->n, l->how & SORT_DESCENDING);
    }
    scatter(l, lanes, bytes, keys);
}

int64_t sort_lanes_scratch(DType dt, int64_t n, bool dense)
{
    return !quick_of(dt) ? 2 * n : dense ? 0 : SORT_TOGETHER(n) * n;
}

void sort_lanes(Ctx *ctx, const SortLanes *l, int lanes, uint64_t *scratch)
{
    const SortQuick *quick = quick_of(l->dt);
    if (quick && (l->step != 1 || l->to_step != 1)) {
        sort_strided(ctx, quick, l, lanes, (char *)scratch);
        return;
    }
    for (int k = 0; k < lanes; k++) {
        bool descending = l->how & SORT_DESCENDING;
        if (quick) {
            sort_dense(ctx, quick, l->dt, l->to[k], l->x[k], l->n, descending);
            continue;
        }
        sort_load_lane(ctx, scratch, l->dt, l->x[k], l->step, l->n, l->how);
        sort_keys(ctx, scratch, scratch + l->n, l->n, sort_key_bytes(l->dt));
        sort_store_lane(ctx, l->to[k], l->to_step, l->dt, scratch, l->n, descending);
    }
}
