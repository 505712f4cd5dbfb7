/* Exact products of 8-bit integers. The instruction for them takes bytes without signs on one side
 * and with signs on the other; so 128 is added to an A with signs and taken from a B without, and
 * what that makes of the sums is put right by sums of rows and columns. 32 bits hold the sums of
 * 65,793 products; depth is cut long before, and 64 bits add up the parts. Without the instruction
 * AVX2 multiplies numbers of 16 bits, to which nothing is added. */
#include "kernels/eight/eight.h"

#include "core/memory/pool.h"
#include "kernels/eight/eight_kernels.h"
#include "kernels/tensor/cpu.h"

#include <string.h>

enum {
    ROWS = 96                   /* of A that go through all panels, one after the other */
};

static const double WORTH = 1e6;        /* multiply-adds */

static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* Does the processor's tile take 16 bits? */
static bool wide_here(void)
{
#if defined(__x86_64__)
    return cpu_isa() >= ISA_AVX2 && !cpu_has_vnni() && !cpu_has_avxvnni();
#else
    return false;
#endif
}

/* Of a part: a panel of B takes 256 KiB of the second cache. */
static int64_t most_depth(void) { return wide_here() ? EIGHT_DEPTH / 2 : EIGHT_DEPTH; }

static int64_t depth_of(int64_t k) { return round_up(k < most_depth() ? k : most_depth(), 4); }

static int64_t bytes_of(int64_t depth) { return wide_here() ? 2 * depth : depth; }

size_t eight_bytes(int64_t m, int64_t n, int64_t k)
{
    int64_t depth = bytes_of(depth_of(k));
    return (size_t)(round_up(m * depth, 64) + eight_panels(n) * EIGHT_PANEL * (depth + 12) +
                    8 * round_up(m, 8) + 64);
}

/* Sums of several parts wait in 64 bits. */
size_t eight_scaled_bytes(int64_t m, int64_t n, int64_t k)
{
    size_t sums = k > most_depth() ? (size_t)round_up(m * n, 8) * sizeof(int64_t) : 0;
    return eight_bytes(m, n, k) + sums;
}

/* ---- which tile ---- */

static EightTile *tile_here(const char **name)
{
#if defined(__x86_64__)
    if (cpu_has_vnni()) {
        *name = "vpdpbusd (AVX512-VNNI)";
        return eight_tile_avx512;
    }
    if (cpu_has_avxvnni()) {
        *name = "vpdpbusd (AVX-VNNI)";
        return eight_tile_avxvnni;
    }
    if (cpu_isa() >= ISA_AVX2) {
        *name = "vpmaddwd (AVX2)";
        return eight_tile_avx2;
    }
#endif
    *name = "plain loops";
    return eight_tile_base;
}

bool eight_pays(int64_t m, int64_t n, int64_t k)
{
    return cpu_isa() >= ISA_AVX2 && (double)m * (double)n * (double)k >= WORTH;
}

const char *eight_routine(void)
{
    const char *name;
    tile_here(&name);
    return name;
}

const EightLoops *eight_loops(void)
{
#if defined(__x86_64__)
    if (cpu_isa() >= ISA_AVX2)
        return cpu_isa() >= ISA_AVX512 ? &eight_loops_avx512 : &eight_loops_avx2;
#endif
    return &eight_loops_base;
}

void eight_tile_base(int rows, int columns, int64_t depth, const uint8_t *a, const int8_t *b,
                     int32_t *sum)
{
    for (int i = 0; i < rows; i++) {
        int32_t *to = sum + i * EIGHT_PANEL;
        memset(to, 0, (size_t)columns * sizeof *to);
        for (int64_t k = 0; k < depth; k++) {
            const int8_t *column = b + k / 4 * 4 * EIGHT_PANEL + k % 4;
            for (int j = 0; j < columns; j++)
                to[j] += (int32_t)a[i * depth + k] * column[4 * j];
        }
    }
}

/* ---- the product ---- */

/* Of bytes that stand for themselves. */
static void put_sums(const EightJob *j, int64_t i, int64_t first, int columns, const int32_t *from)
{
    int64_t *to = j->c + i * j->n + first, add_a = j->wide ? 0 : j->add_a;
    int64_t row = j->wide ? 0 : j->take_b * (j->row_sum[i] - j->count * add_a);
    const int64_t *column = j->column_sum + first;
    if (j->from == 0)
        for (int c = 0; c < columns; c++)
            to[c] = from[c] + row - add_a * column[c];
    else
        for (int c = 0; c < columns; c++)
            to[c] += from[c] + row - add_a * column[c];
}

/* A and B as they lie packed have zeros too, of which 128 is a part. */
static void put_scaled(const EightJob *j, int64_t i, int64_t first, int columns,
                       const int32_t *from)
{
    const EightScales *s = j->scales;
    float *to = j->out + i * j->n + first;
    const double *scale = s->column + first;
    int64_t *kept = j->c ? j->c + i * j->n + first : NULL;
    int64_t take_b = j->wide ? 0 : j->take_b;
    int64_t zero = (j->wide ? 0 : j->add_a) + (s->row_zero ? s->row_zero[i] : 0);
    bool last = j->from + j->count == j->k;
    if (!kept && !take_b && !s->row_zero && !s->column_zero) {
        j->loops->finish(columns, from, j->column_less + first, s->row[i], scale, to);
        return;
    }
    for (int c = 0; c < columns; c++) {
        int64_t other = (s->column_zero ? s->column_zero[first + c] : 0) - take_b;
        int64_t sum = from[c] - zero * j->column_sum[first + c] - other * j->row_sum[i] +
                      j->count * zero * other + (j->from ? kept[c] : 0);
        if (last)
            to[c] = (float)((double)sum * s->row[i] * scale[c]);
        else
            kept[c] = sum;
    }
}

static void run_block(const EightJob *j, int64_t from, int64_t to, int64_t panel)
{
    int32_t sum[EIGHT_ROWS * EIGHT_PANEL];
    int64_t first = panel * EIGHT_PANEL;
    int columns = (int)(j->n - first < EIGHT_PANEL ? j->n - first : EIGHT_PANEL);
    for (int64_t i = from; i < to; i += EIGHT_ROWS) {
        int rows = (int)(to - i < EIGHT_ROWS ? to - i : EIGHT_ROWS);
        j->tile(rows, columns, j->depth, j->rows + (i * j->depth << j->wide),
                j->panels + (first * j->depth << j->wide), sum);
        for (int r = 0; r < rows; r++)
            (j->scales ? put_scaled : put_sums)(j, i + r, first, columns, sum + r * EIGHT_PANEL);
    }
}

static void by_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const EightJob *j = arg;
    (void)worker;
    for (int64_t i = begin; i < end && !*j->ctx->interrupt; i += ROWS)
        for (int64_t p = 0; p < eight_panels(j->n); p++)
            run_block(j, i, end - i < ROWS ? end : i + ROWS, p);
}

static void by_panels(void *arg, int64_t begin, int64_t end, int worker)
{
    const EightJob *j = arg;
    (void)worker;
    for (int64_t i = 0; i < j->m && !*j->ctx->interrupt; i += ROWS)
        for (int64_t p = begin; p < end; p++)
            run_block(j, i, j->m - i < ROWS ? j->m : i + ROWS, p);
}

/* Multiply-adds below which a second worker costs more than it gives; as many as it takes to pack
 * an element. */
static const double SPLIT_WORK = 1.6e7, PACKING = 16;

static void run_part(EightJob *j)
{
    double work = (double)j->m * (double)j->n * (double)j->count +
                  PACKING * (double)(j->m + j->n) * (double)j->count;
    int64_t threads = work < SPLIT_WORK ? 1 : pool_threads(j->ctx), panels = eight_panels(j->n);
    if (threads == 1) {
        eight_pack_rows(j, 0, j->m, 0);
        eight_pack_panels(j, 0, panels, 0);
        by_rows(j, 0, j->m, 0);
        return;
    }
    pool_for(j->ctx, j->m, (j->m + threads - 1) / threads, eight_pack_rows, j);
    pool_for(j->ctx, panels, (panels + threads - 1) / threads, eight_pack_panels, j);
    if (j->m >= j->n)
        pool_for(j->ctx, j->m, round_up((j->m + threads - 1) / threads, EIGHT_ROWS), by_rows, j);
    else
        pool_for(j->ctx, panels, (panels + threads - 1) / threads, by_panels, j);
}

static void run_parts(EightJob *j, char *memory)
{
    const char *name;
    int64_t depth = bytes_of(depth_of(j->k)), columns = eight_panels(j->n) * EIGHT_PANEL;
    j->wide = wide_here();
    j->tile = tile_here(&name);
    j->loops = eight_loops();
    j->add_a = j->a.type == EIGHT_U8 ? 0 : 128;
    j->take_b = j->b.type == EIGHT_U8 ? 128 : 0;
    j->adds_rows = (!j->wide && j->take_b) || (j->scales && j->scales->column_zero);
    j->adds_columns = !j->wide || (j->scales && j->scales->row_zero);
    j->rows = (uint8_t *)memory;
    j->panels = (int8_t *)memory + round_up(j->m * depth, 64);
    j->row_sum = (int64_t *)(void *)(j->panels + columns * depth);
    j->column_sum = j->row_sum + round_up(j->m, 8);
    j->column_less = (int32_t *)(void *)(j->column_sum + columns);
    for (; j->from < j->k && !*j->ctx->interrupt; j->from += j->count) {
        j->count = j->k - j->from < most_depth() ? j->k - j->from : most_depth();
        j->depth = depth_of(j->count);
        run_part(j);
    }
}

void eight_product(Ctx *ctx, int64_t m, int64_t n, int64_t k, EightMat a, EightMat b, int64_t *c,
                   char *memory)
{
    EightJob j = { .ctx = ctx, .m = m, .n = n, .k = k, .a = a, .b = b, .c = c };
    if (k == 0)
        memset(c, 0, (size_t)(m * n) * sizeof *c);
    run_parts(&j, memory + (-(uintptr_t)memory & 63));
}

void eight_scaled(Ctx *ctx, int64_t m, int64_t n, int64_t k, EightMat a, EightMat b,
                  const EightScales *scales, float *c, char *memory)
{
    EightJob j = { .ctx = ctx, .m = m, .n = n, .k = k, .a = a, .b = b, .scales = scales, .out = c };
    memory += -(uintptr_t)memory & 63;
    if (k == 0)
        memset(c, 0, (size_t)(m * n) * sizeof *c);
    if (k > most_depth()) {
        j.c = (int64_t *)(void *)memory;
        memory += round_up(m * n, 8) * (int64_t)sizeof(int64_t);
    }
    run_parts(&j, memory);
}
