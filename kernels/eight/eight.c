/* Exact products of 8-bit integers. The instruction for them takes bytes without signs on one side
 * and with signs on the other; so 128 is added to an A with signs and taken from a B without, and
 * what that makes of the sums is put right by sums of rows and columns. 32 bits hold the sums of
 * 65,793 products; depth is cut long before, and 64 bits add up the parts. */
#include "kernels/eight/eight.h"

#include "core/memory/pool.h"
#include "kernels/eight/eight_kernels.h"
#include "kernels/tensor/cpu.h"

#include <string.h>

enum {
    DEPTH = 4096,               /* of a part: a panel of B takes 256 KiB of the second cache */
    ROWS = 96                   /* of A that go through all panels, one after the other */
};

static const double WORTH = 1e6;        /* multiply-adds */

typedef struct Job {
    Ctx *ctx;
    EightTile *tile;
    int64_t m, n, k;
    EightMat a, b;
    int64_t *c;
    uint8_t *rows;              /* A of this part, m × depth; sums of its rows */
    int64_t *row_sum;
    int8_t *panels;             /* B of this part; sums of its columns */
    int64_t *column_sum;
    int64_t from, count, depth; /* of k: in A and B; padded */
    int64_t add_a, take_b;      /* 128 or 0 */
} Job;

static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

static int64_t panels_of(int64_t n) { return (n + EIGHT_PANEL - 1) / EIGHT_PANEL; }

static int64_t depth_of(int64_t k) { return round_up(k < DEPTH ? k : DEPTH, 4); }

size_t eight_bytes(int64_t m, int64_t n, int64_t k)
{
    int64_t depth = depth_of(k);
    return (size_t)(round_up(m * depth, 64) + panels_of(n) * EIGHT_PANEL * depth +
                    8 * (round_up(m, 8) + panels_of(n) * EIGHT_PANEL) + 64);
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

/* ---- packing ---- */

static void pack_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const Job *j = arg;
    uint8_t flip = j->add_a ? 0x80 : 0;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const uint8_t *from = (const uint8_t *)j->a.data + i * j->a.rs + j->from * j->a.cs;
        uint8_t *to = j->rows + i * j->depth;
        int64_t sum = 0;
        if (j->a.cs == 1)
            for (int64_t k = 0; k < j->count; k++)
                to[k] = from[k] ^ flip;
        else
            for (int64_t k = 0; k < j->count; k++)
                to[k] = from[k * j->a.cs] ^ flip;
        memset(to + j->count, 0, (size_t)(j->depth - j->count));
        for (int64_t k = 0; k < j->count; k++)
            sum += to[k];
        j->row_sum[i] = sum;
    }
}

/* Four rows of B, each of EIGHT_PANEL bytes, as one row of fours. */
static void weave(int8_t *to, const uint8_t *const *row, uint8_t flip)
{
    for (int c = 0; c < EIGHT_PANEL; c++)
        for (int r = 0; r < 4; r++)
            to[4 * c + r] = (int8_t)(row[r][c] ^ flip);
}

static void pack_panels(void *arg, int64_t begin, int64_t end, int worker)
{
    const Job *j = arg;
    uint8_t flip = j->take_b ? 0x80 : 0;
    (void)worker;
    for (int64_t p = begin; p < end; p++) {
        int8_t *panel = j->panels + p * EIGHT_PANEL * j->depth;
        int64_t *sum = j->column_sum + p * EIGHT_PANEL, first = p * EIGHT_PANEL;
        int64_t columns = j->n - first < EIGHT_PANEL ? j->n - first : EIGHT_PANEL;
        const uint8_t *from = (const uint8_t *)j->b.data + j->from * j->b.rs + first * j->b.cs;
        memset(sum, 0, EIGHT_PANEL * sizeof *sum);
        for (int64_t k = 0; k < j->depth; k += 4, panel += 4 * EIGHT_PANEL) {
            const uint8_t *row[4];
            uint8_t copy[4][EIGHT_PANEL];
            int32_t four[EIGHT_PANEL] = { 0 };
            for (int r = 0; r < 4; r++) {
                row[r] = from + (k + r) * j->b.rs;
                if (k + r < j->count && j->b.cs == 1 && columns == EIGHT_PANEL)
                    continue;
                memset(copy[r], flip, sizeof copy[r]);
                for (int64_t c = 0; k + r < j->count && c < columns; c++)
                    copy[r][c] = row[r][c * j->b.cs];
                row[r] = copy[r];
            }
            weave(panel, row, flip);
            for (int c = 0; c < EIGHT_PANEL; c++)
                for (int r = 0; r < 4; r++)
                    four[c] += panel[4 * c + r];
            for (int c = 0; c < EIGHT_PANEL; c++)
                sum[c] += four[c];
        }
    }
}

/* ---- the product ---- */

static void put_tile(const Job *j, int64_t i, int64_t first, int rows, int columns,
                     const int32_t *sum)
{
    int64_t all = j->count * j->add_a * j->take_b;
    for (int r = 0; r < rows; r++) {
        int64_t *to = j->c + (i + r) * j->n + first;
        int64_t row = j->take_b * j->row_sum[i + r] - all;
        const int32_t *from = sum + r * EIGHT_PANEL;
        const int64_t *column = j->column_sum + first;
        if (j->from == 0)
            for (int c = 0; c < columns; c++)
                to[c] = from[c] + row - j->add_a * column[c];
        else
            for (int c = 0; c < columns; c++)
                to[c] += from[c] + row - j->add_a * column[c];
    }
}

static void run_block(const Job *j, int64_t from, int64_t to, int64_t panel)
{
    int32_t sum[EIGHT_ROWS * EIGHT_PANEL];
    int64_t first = panel * EIGHT_PANEL;
    int columns = (int)(j->n - first < EIGHT_PANEL ? j->n - first : EIGHT_PANEL);
    for (int64_t i = from; i < to; i += EIGHT_ROWS) {
        int rows = (int)(to - i < EIGHT_ROWS ? to - i : EIGHT_ROWS);
        j->tile(rows, columns, j->depth, j->rows + i * j->depth,
                j->panels + first * j->depth, sum);
        put_tile(j, i, first, rows, columns, sum);
    }
}

static void by_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const Job *j = arg;
    (void)worker;
    for (int64_t i = begin; i < end && !*j->ctx->interrupt; i += ROWS)
        for (int64_t p = 0; p < panels_of(j->n); p++)
            run_block(j, i, end - i < ROWS ? end : i + ROWS, p);
}

static void by_panels(void *arg, int64_t begin, int64_t end, int worker)
{
    const Job *j = arg;
    (void)worker;
    for (int64_t i = 0; i < j->m && !*j->ctx->interrupt; i += ROWS)
        for (int64_t p = begin; p < end; p++)
            run_block(j, i, j->m - i < ROWS ? j->m : i + ROWS, p);
}

/* Multiply-adds below which a second worker costs more than it gives. */
static const double SPLIT_WORK = 1.6e7;

static void run_part(Job *j)
{
    double work = (double)j->m * (double)j->n * (double)j->count;
    int64_t threads = work < SPLIT_WORK ? 1 : pool_threads(j->ctx), panels = panels_of(j->n);
    if (threads == 1) {
        pack_rows(j, 0, j->m, 0);
        pack_panels(j, 0, panels, 0);
        by_rows(j, 0, j->m, 0);
        return;
    }
    pool_for(j->ctx, j->m, (j->m + threads - 1) / threads, pack_rows, j);
    pool_for(j->ctx, panels, (panels + threads - 1) / threads, pack_panels, j);
    if (j->m >= j->n)
        pool_for(j->ctx, j->m, round_up((j->m + threads - 1) / threads, EIGHT_ROWS), by_rows, j);
    else
        pool_for(j->ctx, panels, (panels + threads - 1) / threads, by_panels, j);
}

void eight_product(Ctx *ctx, int64_t m, int64_t n, int64_t k, EightMat a, EightMat b, int64_t *c,
                   char *memory)
{
    const char *name;
    int64_t depth = depth_of(k), columns = panels_of(n) * EIGHT_PANEL;
    Job j = { .ctx = ctx, .tile = tile_here(&name), .m = m, .n = n, .k = k, .a = a, .b = b, .c = c,
              .add_a = a.is_signed ? 128 : 0, .take_b = b.is_signed ? 0 : 128 };
    memory += -(uintptr_t)memory & 63;
    j.rows = (uint8_t *)memory;
    j.panels = (int8_t *)memory + round_up(m * depth, 64);
    j.row_sum = (int64_t *)(void *)(j.panels + columns * depth);
    j.column_sum = j.row_sum + round_up(m, 8);
    if (k == 0)
        memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (; j.from < k && !*ctx->interrupt; j.from += j.count) {
        j.count = k - j.from < DEPTH ? k - j.from : DEPTH;
        j.depth = depth_of(j.count);
        run_part(&j);
    }
}
