/* What products over pairs of operations and direct contractions cost: rates measured on one
 * core with 256-bit vectors (AMD Zen 3 at about 2.6 GHz), and the shapes that keep tiles
 * from reaching them. Planners compare these estimates; nothing else rests on them. */
#include "kernels/semiring/semiring_kernels.h"

/* Pairs of operations that cost about the same. */
typedef enum Pace { PACE_SUM, PACE_PLUS, PACE_TIMES, PACE_ORDER, PACES } Pace;

/* 10^9 combinations a second in tiles of packed panels. */
static const double tile_rate[PACES][DT_COUNT] = {
    [PACE_SUM] = { [DT_I8] = 70, [DT_U8] = 70, [DT_I32] = 30, [DT_I64] = 14, [DT_F32] = 38,
                   [DT_F64] = 18, [DT_C64] = 7, [DT_C128] = 3.8 },
    [PACE_PLUS] = { [DT_I8] = 150, [DT_U8] = 150, [DT_I32] = 40, [DT_I64] = 8.5, [DT_F32] = 30,
                    [DT_F64] = 14 },
    [PACE_TIMES] = { [DT_I8] = 43, [DT_U8] = 43, [DT_I32] = 34, [DT_I64] = 7, [DT_F32] = 36,
                     [DT_F64] = 14 },
    [PACE_ORDER] = { [DT_BOOL] = 300, [DT_I8] = 150, [DT_U8] = 150, [DT_I32] = 40, [DT_I64] = 8,
                     [DT_F32] = 22, [DT_F64] = 8.5 },
};
/* In seconds: a combination by plain loops; an element of A packed; a byte of B packed; one of
 * C merged; a call. */
static const double PLAIN = 0.9e-9, PACK_A = 0.6e-9, PACK_B = 6e-11, MERGE = 1e-10, CALL = 4e-8;

static Pace pace_of(Semiring s)
{
    switch (s) {
    case SR_PLUS_TIMES: return PACE_SUM;
    case SR_MIN_PLUS: case SR_MAX_PLUS: return PACE_PLUS;
    case SR_MIN_TIMES: case SR_MAX_TIMES: return PACE_TIMES;
    default: return PACE_ORDER;
    }
}

static double seconds_each(Semiring s, DType dt)
{
    double rate = tile_rate[pace_of(s)][dt], bytes = semiring_tiles()->bytes;
    return 1e-9 / (rate > 0 ? rate : 1) * (bytes == 64 ? 0.6 : bytes == 32 ? 1 : 2.8);
}

static double up(double n, double unit)
{
    return (double)(int64_t)((n + unit - 1) / unit) * unit;
}

double semiring_gemm_seconds(Semiring s, DType dt, int64_t m, int64_t n, int64_t k)
{
    const TileSet *set = semiring_tiles();
    const PackKernel *pack = &semiring_pack[s][dt];
    double work = (double)m * (double)n * (double)k;
    if (work < SEMIRING_PLAIN || !set->kernel[s][dt].tile)
        return CALL + work * PLAIN;
    double lanes = set->bytes / pack->lane * pack->columns;
    double panel = lanes * set->kernel[s][dt].vectors;
    double bytes = dtype_info(dt)->bytes, tall = (double)m, wide = (double)n;
    if (wide < panel && tall > wide)
        tall = (double)n, wide = (double)m;
    /* A single vector has too few sums on the way to keep the multipliers busy. */
    double columns = up(wide, lanes), whole = (double)(int64_t)(wide / panel) * panel;
    columns += columns - whole;
    double runs = up((double)k, 256) / 256, blocks = up(tall, 96) / 96;
    return CALL + up(tall, set->rows) * columns * (double)k * seconds_each(s, dt) +
           (tall * PACK_A + wide * blocks * bytes * PACK_B) * (double)k +
           tall * wide * runs * bytes * MERGE;
}

double direct_seconds(Semiring s, DType dt, const Direct *d)
{
    double rows = 1, lanes = (double)semiring_tiles()->bytes / dtype_info(dt)->bytes;
    for (int r = 0; r < d->rank; r++)
        rows *= (double)d->extent[r];
    double n = (double)d->n, taps = (double)d->taps;
    if (n < lanes || dtype_info(dt)->kind == 'c' || (!d->vector[0] && !d->vector[1]))
        return CALL + rows * n * (1 + taps) * 2 * PLAIN;
    /* Loads bound most; factors are neither widened nor known to be narrow. */
    bool product = s == SR_PLUS_TIMES || s == SR_MIN_TIMES || s == SR_MAX_TIMES;
    double slower = product && (dt == DT_I64 || dt == DT_I8 || dt == DT_U8) ? 2.5
                    : dt == DT_I64 ? 0.8 : 1.4;
    if (d->vector[0] && d->vector[1])
        slower *= 1.7;
    bool single = s == SR_OR_AND;       /* bytes here, bits in tiles */
    double each = single ? 1.2e-11 : seconds_each(s, dt) * slower;
    double whole = (double)(int64_t)(n / (4 * lanes)) * 4 * lanes;
    double columns = whole + 1.6 * up(n - whole, lanes);
    return CALL + rows * (4e-9 + columns * (taps + 4) * each);
}
