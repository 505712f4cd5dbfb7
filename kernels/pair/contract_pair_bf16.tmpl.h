/* The blocked product's kernel for bf16 operands with f32 sums, by an instruction that adds the
 * products of two pairs to each of 16 sums (VDPBF16PS): a cell is two neighbours of depth in 32
 * bits. Included with BF16_DOT(sum, a, b), BF16_KERNEL and BF16_UNROLL (a pragma for the columns of
 * the innermost loop) by contract_pair_bf16_avx512.c with the instruction, by contract_pair_bf16.c
 * with what it does written out. The instruction takes subnormal numbers for zero, in its sums too:
 * where one can occur (bf16_small.h), a panel is multiplied in f32 instead. It rounds each
 * pair of products once per product, to nearest: a sum of other order and grouping than that of
 * f32 kernels, which the contract leaves open. */
#include "kernels/gemm/bf16_small.h"
#include "kernels/pair/contract_pair_kernels.h"

#include <string.h>

enum { LANES = 16, MR = 2 * LANES, NR = 12 };

typedef float Sums __attribute__((vector_size(64)));
typedef uint32_t Cells __attribute__((vector_size(64)));

static inline uint32_t cell(uint16_t first, uint16_t second)
{
    return (uint32_t)first | (uint32_t)second << 16;
}

/* Neighbours of depth that are neighbours in memory. */
static inline bool side_by_side(const PairPack *p, int64_t q)
{
    return q + 1 < p->depth && p->column[q + 1] == p->column[q] + 1;
}

/* `rows` rows of a panel of `width`: cells of one pair of depth follow each other. */
static inline void pack_panel(uint32_t *to, const PairPack *p, const int64_t *row, int64_t rows,
                              int width)
{
    const uint16_t *src = p->src;
    for (int64_t q = 0; q < p->depth; q += 2, to += width) {
        const uint16_t *from = src + p->column[q];
        int64_t next = q + 1 < p->depth ? p->column[q + 1] - p->column[q] : 0;
        if (rows < width)
            memset(to, 0, (size_t)width * sizeof *to);
        if (side_by_side(p, q))
            for (int64_t i = 0; i < rows; i++)
                memcpy(to + i, from + row[i], sizeof *to);
        else if (q + 1 == p->depth)
            for (int64_t i = 0; i < rows; i++)
                to[i] = from[row[i]];
        else if (rows == width && row[width - 1] - row[0] == width - 1)
            for (int i = 0; i < width; i++)
                to[i] = cell(from[row[0] + i], from[row[0] + next + i]);
        else
            for (int64_t i = 0; i < rows; i++)
                to[i] = cell(from[row[i]], from[row[i] + next]);
    }
}

static inline void pack(const PairPack *p, int width)
{
    int64_t step = (p->depth + 1) / 2 * width;
    uint32_t *to = p->dst;
    for (int64_t i = 0; i < p->rows; i += width, to += step)
        pack_panel(to, p, p->row + i, p->rows - i < width ? p->rows - i : width, width);
}

static void pack_a(const PairPack *p) { pack(p, MR); }
static void pack_b(const PairPack *p) { pack(p, NR); }

/* What the instruction does, in f32 as IEEE 754 has it. */
static inline void exact_dot(Sums *sum, const Cells *a, const Cells *b)
{
    *sum += (Sums)(*a & 0xffff0000) * (Sums)(*b & 0xffff0000);
    *sum += (Sums)(*a << 16) * (Sums)(*b << 16);
}

/* to[column][row] = panel of A times panel of B. `columns` and `exact` are constants in every
 * call. */
static inline __attribute__((always_inline)) void panel(int64_t depth, const uint32_t *a,
                                                        const uint32_t *b, float (*to)[MR],
                                                        int columns, bool exact)
{
    Sums sum[NR][2];
    for (int j = 0; j < columns; j++)
        sum[j][0] = sum[j][1] = (Sums){ 0 };
    for (int64_t q = 0; q < depth; q++, a += MR, b += NR) {
        Cells low, high;
        memcpy(&low, a, sizeof low);
        memcpy(&high, a + LANES, sizeof high);
BF16_UNROLL
        for (int j = 0; j < columns; j++) {
            Cells x = b[j] - (Cells){ 0 };
            if (exact) {
                exact_dot(&sum[j][0], &low, &x);
                exact_dot(&sum[j][1], &high, &x);
                continue;
            }
            sum[j][0] = BF16_DOT(sum[j][0], low, x);
            sum[j][1] = BF16_DOT(sum[j][1], high, x);
        }
    }
    for (int j = 0; j < columns; j++)
        memcpy(to[j], sum[j], sizeof *to);
}

static void panels(int64_t depth, const uint32_t *a, const uint32_t *b, float (*to)[MR],
                   int64_t columns)
{
    switch (columns) {
    case 1: panel(depth, a, b, to, 1, false); break;
    case 2: panel(depth, a, b, to, 2, false); break;
    case 3: panel(depth, a, b, to, 3, false); break;
    case 4: panel(depth, a, b, to, 4, false); break;
    case 5: case 6: panel(depth, a, b, to, 6, false); break;
    case 7: case 8: panel(depth, a, b, to, 8, false); break;
    default: panel(depth, a, b, to, NR, false); break;
    }
}

static void put(const PairTile *t, const float (*from)[MR], int64_t i, int64_t j, int64_t rows,
                int64_t columns)
{
    float *c = t->c;
    bool whole = rows == MR && t->row[i + MR - 1] - t->row[i] == MR - 1;
    for (int r = 1; whole && r < MR; r++)
        whole = t->row[i + r] == t->row[i] + r;
    for (int64_t l = 0; l < columns; l++) {
        float *to = c + t->column[j + l];
        if (whole) {
            to += t->row[i];
            for (int r = 0; r < MR; r++)
                to[r] = from[l][r] + (t->add ? to[r] : 0);
        } else {
            for (int64_t r = 0; r < rows; r++)
                to[t->row[i + r]] = from[l][r] + (t->add ? to[t->row[i + r]] : 0);
        }
    }
}

static void tile(const PairTile *t)
{
    int64_t depth = (t->depth + 1) / 2;
    const uint32_t *b = t->b;
    float sums[NR][MR] __attribute__((aligned(64)));
    int least_a = bf16_least(t->a, (t->m + MR - 1) / MR * MR * depth * 2);
    for (int64_t j = 0; j < t->n; j += NR, b += NR * depth) {
        const uint32_t *a = t->a;
        int64_t columns = t->n - j < NR ? t->n - j : NR;
        bool exact = bf16_may_flush(least_a, bf16_least((const uint16_t *)b, NR * depth * 2));
        for (int64_t i = 0; i < t->m; i += MR, a += MR * depth) {
            int64_t rows = t->live ? t->live[i / MR] : t->m - i < MR ? t->m - i : MR;
            if (exact)
                panel(depth, a, b, sums, NR, true);
            else
                panels(depth, a, b, sums, columns);
            put(t, sums, i, j, rows, columns);
        }
    }
}

const PairKernel BF16_KERNEL = { MR, NR, 2, pack_a, pack_b, tile, NULL };
