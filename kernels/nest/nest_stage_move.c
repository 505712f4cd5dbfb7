/* Elements on their way into strips and out of them: strided, gathered, scattered. N is a strip at
 * most. */
#include "kernels/nest/nest_stage.h"

#include <string.h>

typedef struct Pair { uint64_t lo, hi; } Pair;

#define COLLECT(T) do { \
        T *d = dst; \
        const T *s = src; \
        for (int64_t i = 0; i < n; i++) \
            d[i] = s[i * stride]; \
    } while (0)

#define FILL(T) do { \
        T *d = dst, v = *(const T *)src; \
        for (int64_t i = 0; i < n; i++) \
            d[i] = v; \
    } while (0)

static void fill(int bytes, void *dst, const void *src, int64_t n)
{
    switch (bytes) {
    case 1: memset(dst, *(const uint8_t *)src, (size_t)n); break;
    case 2: FILL(uint16_t); break;
    case 4: FILL(uint32_t); break;
    case 8: FILL(uint64_t); break;
    default: FILL(Pair); break;
    }
}

void stage_collect(int bytes, void *dst, const void *src, int64_t stride, int64_t n)
{
    if (stride == 0) {
        fill(bytes, dst, src, n);
        return;
    }
    if (stride == 1) {
        memcpy(dst, src, (size_t)(n * bytes));
        return;
    }
    switch (bytes) {
    case 1: COLLECT(uint8_t); break;
    case 2: COLLECT(uint16_t); break;
    case 4: COLLECT(uint32_t); break;
    case 8: COLLECT(uint64_t); break;
    default: COLLECT(Pair); break;
    }
}

#define SCATTER(T) do { \
        T *d = dst; \
        const T *s = src; \
        for (int64_t i = 0; i < n; i++) \
            d[i * stride] = s[i * ss]; \
    } while (0)

void stage_scatter(int bytes, void *dst, int64_t stride, const void *src, int64_t ss, int64_t n)
{
    if (stride == 1 && ss <= 1 && ss >= 0) {
        stage_collect(bytes, dst, src, ss, n);
        return;
    }
    switch (bytes) {
    case 1: SCATTER(uint8_t); break;
    case 2: SCATTER(uint16_t); break;
    case 4: SCATTER(uint32_t); break;
    case 8: SCATTER(uint64_t); break;
    default: SCATTER(Pair); break;
    }
}

/* ---- gathers ---- */

#define GATHER(T) do { \
        T *d = dst; \
        const T *s = src; \
        for (int64_t i = 0; i < n; i++) \
            d[i] = s[place[i]]; \
    } while (0)

static void gather_places(int bytes, void *dst, const void *src, const int64_t *place, int64_t n)
{
    switch (bytes) {
    case 1: GATHER(uint8_t); break;
    case 2: GATHER(uint16_t); break;
    case 4: GATHER(uint32_t); break;
    case 8: GATHER(uint64_t); break;
    default: GATHER(Pair); break;
    }
}

/* Entries before the sums, so that no negative one hides in them. */
static bool any_negative(int gathers, const int64_t *const *at, const int64_t *ts, int64_t n)
{
    int64_t all = 0;
    for (int g = 0; g < gathers; g++) {
        const int64_t *t = at[g];
        if (ts[g] == 1)
            for (int64_t i = 0; i < n; i++)
                all |= t[i];
        else
            for (int64_t i = 0; i < n; i++)
                all |= t[i * ts[g]];
    }
    return all < 0;
}

static void add_table(int64_t *place, const int64_t *t, int64_t ts, int64_t step, int64_t n)
{
    if (ts == 1)
        for (int64_t i = 0; i < n; i++)
            place[i] += t[i] * step;
    else
        for (int64_t i = 0; i < n; i++)
            place[i] += t[i * ts] * step;
}

static void gather_padded(int bytes, char *dst, const char *src, int64_t stride, int gathers,
                          const int64_t *const *at, const int64_t *ts, const int64_t *step,
                          int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t place = i * stride;
        bool zero = false;
        for (int g = 0; g < gathers; g++) {
            int64_t entry = at[g][i * ts[g]];
            zero |= entry < 0;
            place += entry * step[g];
        }
        if (zero)
            memset(dst + i * bytes, 0, (size_t)bytes);
        else
            memcpy(dst + i * bytes, src + place * bytes, (size_t)bytes);
    }
}

void stage_gather(int bytes, void *dst, const void *src, int64_t stride, int gathers,
                  const int64_t *const *at, const int64_t *ts, const int64_t *step, int64_t n)
{
    int64_t place[STRIP_MAX];
    if (any_negative(gathers, at, ts, n)) {
        gather_padded(bytes, dst, src, stride, gathers, at, ts, step, n);
        return;
    }
    if (gathers == 1 && step[0] == 1 && ts[0] == 1 && stride == 0) {
        gather_places(bytes, dst, src, at[0], n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        place[i] = i * stride;
    for (int g = 0; g < gathers; g++)
        add_table(place, at[g], ts[g], step[g], n);
    gather_places(bytes, dst, src, place, n);
}
