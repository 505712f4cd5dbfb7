/* Filling tensors with random numbers: cuts the elements into strips of whole blocks,
 * shares them among threads and rounds to the dtype. See rng.h. */
#include "kernels/random/rng.h"

#include "core/memory/pool.h"
#include "kernels/tensor/cpu.h"
#include "kernels/tensor/cast.h"

#include <math.h>
#include <string.h>

enum { STRIP = 512 };           /* blocks at a time: their words stay in the first cache */

void philox_block(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    uint32_t words[4 * RNG_LANES];
    uint64_t low = counter[0] | (uint64_t)counter[1] << 32,
             high = counter[2] | (uint64_t)counter[3] << 32;
    rng_base.blocks(words, key[0] | (uint64_t)key[1] << 32, high, low, RNG_LANES);
    for (int w = 0; w < 4; w++)
        out[w] = words[w * RNG_LANES];
}

const RngKernels *rng_kernels(void)
{
#if defined(__x86_64__) || defined(__i386__)
    if (cpu_isa() == ISA_AVX512)
        return &rng_avx512;
    if (cpu_isa() == ISA_AVX2)
        return &rng_avx2;
#endif
    return &rng_base;
}

typedef struct Fill {
    const RngKernels *kernels;
    RngStream stream;
    DType dtype;
    bool normal;
    int per_block;              /* elements */
    void *out;
    int64_t n;
    int64_t low;                /* integers */
    uint64_t span;
    bool falling;               /* by one for each */
} Fill;

static void round_strip(const Fill *f, int64_t at, const double *wide,
                        const float *single, int64_t n)
{
    switch (f->dtype) {
    case DT_F64: memcpy((double *)f->out + at, wide, (size_t)n * sizeof *wide); break;
    case DT_F32:
        if (single)
            memcpy((float *)f->out + at, single, (size_t)n * sizeof *single);
        else
            for (int64_t i = 0; i < n; i++)
                ((float *)f->out)[at + i] = (float)wide[i];
        break;
    default: cast_plain(f->dtype, (uint16_t *)f->out + at, 1, DT_F64, wide, 1, n);
    }
}

/* Uniforms of halves keep as many of the 24 leading bits as their significand has (f16 11, bf16 8),
 * so that 1 never appears. */
static void narrow_uniform(DType dt, double *wide, const float *single, int64_t n)
{
    int e, p;
    MiniStyle style;
    double scale = dtype_mini_read(dt, &e, &p, &style) ? ldexp(1, p) : 1;
    for (int64_t i = 0; i < n; i++)
        wide[i] = (double)(int32_t)(single[i] * scale) / scale;
}

static void fill_floats(void *arg, int64_t begin, int64_t end, int worker)
{
    const Fill *f = arg;
    uint32_t words[4 * STRIP];
    double wide[4 * STRIP];
    float single[4 * STRIP];
    (void)worker;
    for (int64_t s = begin; s < end; s++) {
        int64_t at = s * STRIP * f->per_block, left = f->n - at;
        int64_t n = left < (int64_t)STRIP * f->per_block ? left : (int64_t)STRIP * f->per_block;
        int64_t blocks = (n + f->per_block - 1) / f->per_block;
        blocks = (blocks + RNG_LANES - 1) / RNG_LANES * RNG_LANES;
        f->kernels->blocks(words, f->stream.key, f->stream.stream,
                           f->stream.counter + (uint64_t)(s * STRIP), blocks);
        if (f->dtype == DT_F64 && n == blocks * f->per_block) {
            (f->normal ? f->kernels->normal : f->kernels->uniform)((double *)f->out + at,
                words, blocks);
            continue;
        }
        if (f->normal)
            f->kernels->normal(wide, words, blocks);
        else if (f->dtype == DT_F64)
            f->kernels->uniform(wide, words, blocks);
        else
            f->kernels->uniform_f32(single, words, blocks);
        if (!f->normal && dtype_half(f->dtype))
            narrow_uniform(f->dtype, wide, single, n);
        round_strip(f, at, wide, f->normal ? NULL : single, n);
    }
}

static void fill(Ctx *ctx, RngStream *stream, Fill *f)
{
    int64_t each = (int64_t)STRIP * f->per_block, strips = (f->n + each - 1) / each;
    f->kernels = rng_kernels();
    f->stream = *stream;
    if (strips <= 8)
        fill_floats(f, 0, strips, 0);
    else
        pool_for(ctx, strips, 8, fill_floats, f);
    stream->counter += (uint64_t)((f->n + f->per_block - 1) / f->per_block);
}

void rng_uniform(Ctx *ctx, RngStream *stream, DType dt, void *out, int64_t n)
{
    fill(ctx, stream,
         &(Fill){ .dtype = dt, .per_block = dt == DT_F64 ? 2 : 4, .out = out, .n = n });
}

void rng_normal(Ctx *ctx, RngStream *stream, DType dt, void *out, int64_t n)
{
    fill(ctx, stream, &(Fill){ .dtype = dt, .normal = true, .per_block = 2, .out = out, .n = n });
}

double rng_unit(RngStream *stream)
{
    double v;
    fill(NULL, stream, &(Fill){ .dtype = DT_F64, .per_block = 2, .out = &v, .n = 1 });
    return v;
}

/* ---- integers ---- */

/* Tries the words of one block; false if all are rejected. */
static bool pick(const uint32_t word[4], uint64_t span, uint64_t *value)
{
    if (span == 0) {
        *value = word[0] | (uint64_t)word[1] << 32;
        return true;
    }
    if (span <= UINT32_MAX) {
        uint32_t s = (uint32_t)span, reject = -s % s;
        for (int w = 0; w < 4; w++) {
            uint64_t product = (uint64_t)word[w] * s;
            *value = product >> 32;
            if ((uint32_t)product >= reject)
                return true;
        }
        return false;
    }
    uint64_t reject = -span % span;
    for (int w = 0; w < 4; w += 2) {
        unsigned __int128 product =
            (unsigned __int128)(word[w] | (uint64_t)word[w + 1] << 32) * span;
        *value = (uint64_t)(product >> 64);
        if ((uint64_t)product >= reject)
            return true;
    }
    return false;
}

/* Streams after the first serve rejections; they are never anybody's first one, because
 * those differ in the lowest bits only (see making.c). */
static uint64_t pick_again(const RngStream *stream, uint64_t counter, uint64_t span)
{
    uint64_t value;
    uint32_t word[4];
    for (uint64_t turn = 1;; turn++) {
        uint64_t high = stream->stream + (turn << 32);
        philox_block((uint32_t[]){ (uint32_t)stream->key, (uint32_t)(stream->key >> 32) },
                     (uint32_t[]){ (uint32_t)counter, (uint32_t)(counter >> 32), (uint32_t)high,
                                   (uint32_t)(high >> 32) }, word);
        if (pick(word, span, &value))
            return value;
    }
}

static void fill_integers(void *arg, int64_t begin, int64_t end, int worker)
{
    const Fill *f = arg;
    uint32_t words[4 * STRIP];
    int64_t *out = f->out;
    (void)worker;
    for (int64_t s = begin; s < end; s++) {
        int64_t at = s * STRIP, n = f->n - at < STRIP ? f->n - at : STRIP;
        int64_t blocks = (n + RNG_LANES - 1) / RNG_LANES * RNG_LANES;
        uint64_t counter = f->stream.counter + (uint64_t)at, value;
        f->kernels->blocks(words, f->stream.key, f->stream.stream, counter, blocks);
        for (int64_t i = 0; i < n; i++) {
            uint32_t word[4] = { words[i], words[blocks + i], words[2 * blocks + i],
                                 words[3 * blocks + i] };
            uint64_t span = f->falling ? f->span - (uint64_t)(at + i) : f->span;
            if (!pick(word, span, &value))
                value = pick_again(&f->stream, counter + (uint64_t)i, span);
            out[at + i] = (int64_t)((uint64_t)f->low + value);
        }
    }
}

static void run_integers(Ctx *ctx, RngStream *stream, Fill f)
{
    int64_t n = f.n;
    f.kernels = rng_kernels();
    f.stream = *stream;
    int64_t strips = (n + STRIP - 1) / STRIP;
    if (strips <= 16)
        fill_integers(&f, 0, strips, 0);
    else
        pool_for(ctx, strips, 16, fill_integers, &f);
    stream->counter += (uint64_t)n;
}

void rng_integers(Ctx *ctx, RngStream *stream, int64_t *out, int64_t low, uint64_t span, int64_t n)
{
    run_integers(ctx, stream, (Fill){ .out = out, .n = n, .low = low, .span = span });
}

void rng_falling(Ctx *ctx, RngStream *stream, int64_t *out, uint64_t span, int64_t n)
{
    run_integers(ctx, stream, (Fill){ .out = out, .n = n, .span = span, .falling = true });
}

/* ---- one number at a time ---- */
/* Which of the blocks ahead is the stream's next one. */
static int ahead_of(RngAhead *a, RngStream *stream)
{
    uint64_t at = stream->counter++ - a->from.counter;
    if (a->blocks && a->from.key == stream->key && a->from.stream == stream->stream &&
        at < RNG_LANES)
        return (int)at;
    a->from = *stream;
    a->from.counter--;
    a->blocks = true;
    a->units = a->normals = false;
    rng_kernels()->blocks(a->words, a->from.key, a->from.stream, a->from.counter, RNG_LANES);
    return 0;
}

/* The first of the two numbers that `make` makes of the stream's next block. */
static double next_of(RngAhead *a, RngStream *stream, bool *made, double *numbers,
                      void (*make)(double *, const uint32_t *, int64_t))
{
    int at = ahead_of(a, stream);
    if (!*made)
        make(numbers, a->words, RNG_LANES);
    *made = true;
    return numbers[2 * at];
}

double rng_next_unit(RngAhead *a, RngStream *stream)
{
    return next_of(a, stream, &a->units, a->unit, rng_kernels()->uniform);
}

double rng_next_normal(RngAhead *a, RngStream *stream)
{
    return next_of(a, stream, &a->normals, a->normal, rng_kernels()->normal);
}

int64_t rng_next_int(RngAhead *a, RngStream *stream, int64_t low, uint64_t span)
{
    int at = ahead_of(a, stream);
    uint64_t value;
    uint32_t word[4] = { a->words[at], a->words[RNG_LANES + at], a->words[2 * RNG_LANES + at],
                         a->words[3 * RNG_LANES + at] };
    if (!pick(word, span, &value))
        value = pick_again(stream, stream->counter - 1, span);
    return (int64_t)((uint64_t)low + value);
}

uint64_t rng_below(RngStream *stream, uint64_t span)
{
    int64_t v;
    rng_integers(NULL, stream, &v, 0, span, 1);
    return (uint64_t)v;
}
