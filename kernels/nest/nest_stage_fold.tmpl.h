/* One fold of one dtype and form. Included by nest_stage_type.tmpl.h with T and V, NAME(f),
 * IDENTITY, STEP(a, v) and VALUE(x, y) and both of vectors, ALONE where the form reads x only, and
 * TILED where tables of distances are folds of it.
 * Columns keep their accumulators in registers while a few terms go by; folds along a strip use
 * LANE_BYTES of lanes in two levels, so that every instruction set adds in the same order. */

/* Is y read, and does `what` hold? */
#ifdef ALONE
#define BESIDE(what) ((void)sy, false)
#else
#define BESIDE(what) (what)
#endif

/* Four registers of accumulators by name: an array of them would be kept in memory. */
static inline __attribute__((always_inline))
int64_t NAME(registers)(T *acc, int64_t n, const T *x, int64_t sx, int64_t kx, const T *y,
                        int64_t sy, int64_t ky, int64_t k, bool first)
{
    enum { L = VECTOR / sizeof(T) };
    int64_t j = 0;
    for (; j + 4 * L <= n; j += 4 * L) {
        const T *p = x + j * sx, *q = y + j * sy;
        V a0 = SPLAT(IDENTITY), a1 = a0, a2 = a0, a3 = a0;
        if (!first)
            a0 = AT(acc + j), a1 = AT(acc + j + L), a2 = AT(acc + j + 2 * L),
            a3 = AT(acc + j + 3 * L);
        for (int64_t i = 0; i < k; i++, p += kx, q += ky) {
            V x0 = sx ? AT(p) : SPLAT(*p), y0 = sy ? AT(q) : SPLAT(*q);
            V x1 = sx ? AT(p + L) : x0, y1 = sy ? AT(q + L) : y0;
            V x2 = sx ? AT(p + 2 * L) : x0, y2 = sy ? AT(q + 2 * L) : y0;
            V x3 = sx ? AT(p + 3 * L) : x0, y3 = sy ? AT(q + 3 * L) : y0;
            x0 = VALUE_V(x0, y0), x1 = VALUE_V(x1, y1), x2 = VALUE_V(x2, y2), x3 = VALUE_V(x3, y3);
            a0 = STEP_V(a0, x0), a1 = STEP_V(a1, x1), a2 = STEP_V(a2, x2), a3 = STEP_V(a3, x3);
        }
        PUT(acc + j, a0), PUT(acc + j + L, a1), PUT(acc + j + 2 * L, a2), PUT(acc + j + 3 * L, a3);
    }
    return j;
}

static inline __attribute__((always_inline))
void NAME(columns)(T *acc, int64_t n, const T *x, int64_t sx, int64_t kx, const T *y, int64_t sy,
                   int64_t ky, int64_t k, bool first)
{
    for (int64_t j = NAME(registers)(acc, n, x, sx, kx, y, sy, ky, k, first); j < n; j++) {
        const T *p = x + j * sx, *q = y + j * sy;
        T a = first ? IDENTITY : acc[j];
        for (int64_t i = 0; i < k; i++, p += kx, q += ky) {
            T v = VALUE(*p, *q);
            a = STEP(a, v);
        }
        acc[j] = a;
    }
}

/* A few terms at a time: their rows may lie far apart. */
static void NAME(down)(void *acc, int64_t n, const void *xs, int64_t sx, int64_t kx,
                       const void *ys, int64_t sy, int64_t ky, int64_t k, bool first)
{
    enum { TERMS = 8 };
    const T *x = xs, *y = ys;
    if (k == 0 && first)
        NAME(columns)(acc, n, x, 0, 0, y, 0, 0, 0, true);
    for (int64_t i = 0; i < k; i += TERMS, first = false) {
        int64_t count = k - i < TERMS ? k - i : TERMS;
        const T *p = x + i * kx, *q = y + i * ky;
        if (sx == 1 && BESIDE(sy == 1))
            NAME(columns)(acc, n, p, 1, kx, q, 1, ky, count, first);
        else if (sx == 1)
            NAME(columns)(acc, n, p, 1, kx, q, 0, ky, count, first);
        else if (BESIDE(sy == 1))
            NAME(columns)(acc, n, p, 0, kx, q, 1, ky, count, first);
        else
            NAME(columns)(acc, n, p, 0, kx, q, 0, ky, count, first);
    }
}

static inline __attribute__((always_inline))
void NAME(run)(T *total, const T *x, int64_t sx, const T *y, int64_t sy, int64_t n)
{
    enum { L = LANE_BYTES / sizeof(T), STEPS = 16 };
    int64_t i = 0;
    while (i + L <= n) {
        T lane[L];
        int64_t steps = (n - i) / L < STEPS ? (n - i) / L : STEPS;
        for (int l = 0; l < L; l++)
            lane[l] = IDENTITY;
        for (int64_t s = 0; s < steps; s++, i += L)
            for (int l = 0; l < L; l++) {
                T v = VALUE(x[(i + l) * sx], y[(i + l) * sy]);
                lane[l] = STEP(lane[l], v);
            }
        for (int l = 0; l < L; l++)
            total[l] = STEP(total[l], lane[l]);
    }
    for (int l = 0; i < n; i++, l++) {
        T v = VALUE(x[i * sx], y[i * sy]);
        total[l] = STEP(total[l], v);
    }
}

static void NAME(along)(void *lanes, const void *x, int64_t sx, const void *y, int64_t sy,
                        int64_t n, bool first)
{
    T *total = lanes;
    for (int l = 0; first && l < (int)(LANE_BYTES / sizeof(T)); l++)
        total[l] = IDENTITY;
    if (sx == 1 && BESIDE(sy == 1))
        NAME(run)(total, x, 1, y, 1, n);
    else if (sx == 1)
        NAME(run)(total, x, 1, y, 0, n);
    else if (BESIDE(sy == 1))
        NAME(run)(total, x, 0, y, 1, n);
    else
        NAME(run)(total, x, 0, y, 0, n);
}

static void NAME(finish)(void *out, const void *lanes)
{
    enum { L = LANE_BYTES / sizeof(T) };
    T lane[L];
    memcpy(lane, lanes, sizeof lane);
    for (int w = L / 2; w > 0; w /= 2)
        for (int l = 0; l < w; l++)
            lane[l] = STEP(lane[l], lane[l + w]);
    *(T *)out = lane[0];
}
#ifdef TILED
#include "kernels/nest/nest_stage_distance.tmpl.h"
#endif
#undef TILED
#undef BESIDE
#undef ALONE
#undef NAME
#undef VALUE
#undef VALUE_V
