/* Operands as the tiles want them, rounded to eight bits on the way where they are floats, and the
 * scales of such. */
#include "core/memory/pool.h"
#include "kernels/eight/eight_kernels.h"

#include <stdatomic.h>
#include <string.h>

enum { BLOCK = 16, RUN = 128 };         /* rows and columns of floats that lie apart */

static const char *element(const EightMat *x, int64_t i, int64_t j)
{
    static const int bytes[] = { [EIGHT_U8] = 1, [EIGHT_I8] = 1, [EIGHT_F32] = 4, [EIGHT_F64] = 8 };
    int64_t at = x->row_at ? x->row_at[i] + x->column_at[j] : i * x->rs + j * x->cs;
    return (const char *)x->data + at * bytes[x->type];
}

/* n floats, `step` apart, side by side. */
static void gather(EightType type, const char *from, int64_t step, int64_t n, void *to)
{
    const float *f = (const float *)(const void *)from;
    const double *d = (const double *)(const void *)from;
    if (type == EIGHT_F32)
        for (int64_t k = 0; k < n; k++)
            ((float *)to)[k] = f[k * step];
    else
        for (int64_t k = 0; k < n; k++)
            ((double *)to)[k] = d[k * step];
}


/* ---- rows of A ---- */

/* Where row i gets its bytes: where they stay, or the second half of that, to be widened. */
static uint8_t *row_bytes(const EightJob *j, int64_t i)
{
    return j->wide ? j->rows + (2 * i + 1) * j->depth : j->rows + i * j->depth;
}

/* In 16 bits, what was added to the bytes taken away. Those come first whose place is written last,
 * RUN at a time. */
static void widen_row(const EightJob *j, const uint8_t *from)
{
    int16_t *to = (int16_t *)(void *)(from - j->depth), add = (int16_t)j->add_a;
    for (int64_t k = 0; k < j->depth; k += RUN) {
        uint8_t copy[RUN];
        int64_t n = j->depth - k < RUN ? j->depth - k : RUN;
        memcpy(copy, from + k, (size_t)n);
        for (int64_t q = 0; q < n; q++)
            to[k + q] = (int16_t)(copy[q] - add);
    }
    memset(to + j->count, 0, (size_t)(j->depth - j->count) * sizeof *to);
}

static void pack_bytes(const EightJob *j, int64_t i, uint8_t *to)
{
    uint8_t flip = j->add_a ? 0x80 : 0;
    const uint8_t *from = (const uint8_t *)element(&j->a, i, j->from);
    if (j->a.cs == 1)
        for (int64_t k = 0; k < j->count; k++)
            to[k] = from[k] ^ flip;
    else
        for (int64_t k = 0; k < j->count; k++)
            to[k] = from[k * j->a.cs] ^ flip;
}

/* n floats of row i from column j on: where they lie, or gathered into `copy`. */
static const void *run_of(const EightMat *x, int64_t i, int64_t j, int64_t n, void *copy)
{
    if (!x->row_at && x->cs == 1)
        return element(x, i, j);
    if (!x->row_at) {
        gather(x->type, element(x, i, j), x->cs, n, copy);
        return copy;
    }
    const int64_t *at = x->column_at + j;
    const float *f = (const float *)x->data + x->row_at[i];
    const double *d = (const double *)x->data + x->row_at[i];
    if (x->type == EIGHT_F32)
        for (int64_t k = 0; k < n; k++)
            ((float *)copy)[k] = f[at[k]];
    else
        for (int64_t k = 0; k < n; k++)
            ((double *)copy)[k] = d[at[k]];
    return copy;
}

/* The same of `rows` rows, `down` apart, column by column, as rows of RUN: each line of the cache
 * is read once, though all may fall into the same place of it. */
static void gather_rows(EightType type, const char *from, int64_t down, int64_t step, int64_t rows,
                        int64_t n, void *to)
{
    const float *f = (const float *)(const void *)from;
    const double *d = (const double *)(const void *)from;
    if (type == EIGHT_F32)
        for (int64_t k = 0; k < n; k++)
            for (int64_t r = 0; r < rows; r++)
                ((float *)to)[r * RUN + k] = f[k * step + r * down];
    else
        for (int64_t k = 0; k < n; k++)
            for (int64_t r = 0; r < rows; r++)
                ((double *)to)[r * RUN + k] = d[k * step + r * down];
}

static void round_run(const EightJob *j, EightType type, const void *from, int64_t n, double scale,
                      uint8_t *to)
{
    if (type == EIGHT_F32)
        j->loops->row_f32(from, n, (float)scale, to);
    else
        j->loops->row_f64(from, n, scale, to);
}

/* Rows that lie apart, a few at a time, column by column. */
static void pack_apart(const EightJob *j, int64_t i, int64_t rows)
{
    double room[BLOCK * RUN];
    size_t bytes = j->a.type == EIGHT_F32 ? sizeof(float) : sizeof(double);
    char *lies = (char *)(void *)room;
    for (int64_t k = 0; k < j->count; k += RUN) {
        int64_t n = j->count - k < RUN ? j->count - k : RUN;
        gather_rows(j->a.type, element(&j->a, i, j->from + k), j->a.rs, j->a.cs, rows, n, room);
        for (int64_t r = 0; r < rows; r++)
            round_run(j, j->a.type, lies + (size_t)(r * RUN) * bytes, n, j->scales->row[i + r],
                      row_bytes(j, i + r) + k);
    }
}

static void pack_floats(const EightJob *j, int64_t begin, int64_t end)
{
    double copy[RUN];
    bool apart = !j->a.row_at && j->a.cs != 1;
    for (int64_t i = begin; apart && i < end; i += BLOCK)
        pack_apart(j, i, end - i < BLOCK ? end - i : BLOCK);
    for (int64_t i = begin; !apart && i < end; i++)
        for (int64_t k = 0; k < j->count; k += RUN) {
            int64_t n = j->count - k < RUN ? j->count - k : RUN;
            round_run(j, j->a.type, run_of(&j->a, i, j->from + k, n, copy), n, j->scales->row[i],
                      row_bytes(j, i) + k);
        }
}

void eight_pack_rows(void *job, int64_t begin, int64_t end, int worker)
{
    const EightJob *j = job;
    bool floats = j->a.type >= EIGHT_F32;
    (void)worker;
    if (floats)
        pack_floats(j, begin, end);
    for (int64_t i = begin; i < end; i++) {
        uint8_t *to = row_bytes(j, i);
        int64_t sum = 0;
        if (!floats)
            pack_bytes(j, i, to);
        memset(to + j->count, 0, (size_t)(j->depth - j->count));
        for (int64_t k = 0; j->adds_rows && k < j->count; k++)
            sum += to[k];
        j->row_sum[i] = j->adds_rows && j->wide ? sum - j->count * j->add_a : sum;
        if (j->wide)
            widen_row(j, to);
    }
}

/* ---- panels of B ---- */

/* Four rows of B, each of EIGHT_PANEL bytes, as one row of fours. */
static void weave(int8_t *to, const uint8_t *const *row, uint8_t flip)
{
    for (int c = 0; c < EIGHT_PANEL; c++)
        for (int r = 0; r < 4; r++)
            to[4 * c + r] = (int8_t)(row[r][c] ^ flip);
}

static void weave_bytes(const EightJob *j, int64_t first, int64_t columns, int64_t k, int8_t *to)
{
    uint8_t copy[4][EIGHT_PANEL], flip = j->take_b ? 0x80 : 0;
    const uint8_t *row[4];
    for (int r = 0; r < 4; r++) {
        row[r] = (const uint8_t *)element(&j->b, j->from + k + r, first);
        if (k + r < j->count && j->b.cs == 1 && columns == EIGHT_PANEL)
            continue;
        memset(copy[r], flip, sizeof copy[r]);
        for (int64_t c = 0; k + r < j->count && c < columns; c++)
            copy[r][c] = row[r][c * j->b.cs];
        row[r] = copy[r];
    }
    weave(to, row, flip);
}

static void weave_floats(const EightJob *j, int64_t first, int64_t columns, int64_t k,
                         const void *scale, int8_t *to)
{
    double copy[4][EIGHT_PANEL];
    const void *row[4];
    for (int r = 0; r < 4; r++) {
        const char *from = element(&j->b, j->from + k + r, first);
        row[r] = from;
        if (k + r < j->count && j->b.cs == 1 && columns == EIGHT_PANEL)
            continue;
        memset(copy[r], 0, sizeof copy[r]);
        if (k + r < j->count)
            gather(j->b.type, from, j->b.cs, columns, copy[r]);
        row[r] = copy[r];
    }
    if (j->b.type == EIGHT_F32)
        j->loops->weave_f32((const float *const *)row, scale, to);
    else
        j->loops->weave_f64((const double *const *)row, scale, to);
}

/* The scales of a panel's columns in B's own format, 1 behind its end. */
static void panel_scales(const EightJob *j, int64_t first, int64_t columns, void *to)
{
    for (int64_t c = 0; c < EIGHT_PANEL; c++) {
        double s = c < columns ? j->scales->column[first + c] : 1;
        if (j->b.type == EIGHT_F32)
            ((float *)to)[c] = (float)s;
        else
            ((double *)to)[c] = s;
    }
}

/* A run of one column, 128 added, into the fours or the pairs of a panel. */
static void put_fours(const uint8_t *run, int64_t n, int8_t *to)
{
    for (int64_t q = 0; q < n; q += 4) {
        uint32_t four;
        memcpy(&four, run + q, sizeof four);
        four ^= 0x80808080;
        memcpy(to + q * EIGHT_PANEL, &four, sizeof four);
    }
}

static void put_wide(const uint8_t *run, int64_t n, int16_t *to)
{
    for (int64_t q = 0; q < n; q += 2) {
        to[q * EIGHT_STRIP] = (int16_t)(run[q] - 128);
        to[q * EIGHT_STRIP + 1] = (int16_t)(run[q + 1] - 128);
    }
}

/* Where depth k, which is even, of column c lies in a wide panel. */
static int64_t strip_at(const EightJob *j, int64_t k, int64_t c)
{
    return c / EIGHT_STRIP * j->depth * EIGHT_STRIP + k * EIGHT_STRIP + c % EIGHT_STRIP * 2;
}

/* A panel of columns that lie together each, or anyhow, one after the other. */
static void panel_by_columns(const EightJob *j, int64_t first, int64_t columns, int8_t *panel,
                             int32_t *total)
{
    double copy[RUN];
    uint8_t run[RUN];
    EightMat turned = eight_turned(j->b);
    memset(panel, 0, (size_t)(j->depth * EIGHT_PANEL) << j->wide);
    for (int64_t c = 0; c < columns; c++)
        for (int64_t k = 0; k < j->count; k += RUN) {
            int64_t n = j->count - k < RUN ? j->count - k : RUN;
            round_run(j, j->b.type, run_of(&turned, first + c, j->from + k, n, copy), n,
                      j->scales->column[first + c], run);
            memset(run + n, 0x80, (size_t)(-n & 3));
            for (int64_t q = 0; q < n; q++)
                total[c] += run[q] - 128;
            if (j->wide)
                put_wide(run, n, (int16_t *)(void *)panel + strip_at(j, k, c));
            else
                put_fours(run, n, panel + k * EIGHT_PANEL + 4 * c);
        }
}

/* A panel of rows, four at a time; the sums of its columns into `total`. */
static void panel_by_rows(const EightJob *j, int64_t first, int64_t columns, int8_t *panel,
                          int32_t *total)
{
    double scale[EIGHT_PANEL];
    int8_t room[4 * EIGHT_PANEL];
    bool floats = j->b.type >= EIGHT_F32;
    if (floats)
        panel_scales(j, first, columns, scale);
    for (int64_t k = 0; k < j->depth; k += 4) {
        int8_t *four = j->wide ? room : panel + k * EIGHT_PANEL;
        if (floats)
            weave_floats(j, first, columns, k, scale, four);
        else
            weave_bytes(j, first, columns, k, four);
        for (int c = 0; j->adds_columns && c < EIGHT_PANEL; c++)
            for (int r = 0; r < 4; r++)
                total[c] += four[4 * c + r];
#if defined(__x86_64__)
        if (j->wide)
            eight_widen_avx2(four, (int)j->take_b, j->depth,
                             (int16_t *)(void *)panel + strip_at(j, k, 0));
#endif
    }
}

void eight_pack_panels(void *job, int64_t begin, int64_t end, int worker)
{
    const EightJob *j = job;
    bool apart = j->b.row_at || (j->b.rs == 1 && j->b.cs != 1);
    (void)worker;
    for (int64_t p = begin; p < end; p++) {
        int8_t *panel = j->panels + (p * EIGHT_PANEL * j->depth << j->wide);
        int64_t *sum = j->column_sum + p * EIGHT_PANEL, first = p * EIGHT_PANEL;
        int64_t columns = j->n - first < EIGHT_PANEL ? j->n - first : EIGHT_PANEL;
        int32_t total[EIGHT_PANEL] = { 0 };
        if (apart && j->b.type >= EIGHT_F32)
            panel_by_columns(j, first, columns, panel, total);
        else
            panel_by_rows(j, first, columns, panel, total);
        for (int c = 0; c < EIGHT_PANEL; c++) {
            sum[c] = total[c] + (j->wide && j->adds_columns ? j->count * j->take_b : 0);
            j->column_less[first + c] = j->wide ? 0 : total[c] * (int32_t)j->add_a;
        }
    }
}

/* ---- scales ---- */

typedef struct Lines {
    const EightLoops *loops;
    EightMat x;                 /* its rows are the lines */
    int64_t length;
    double *scale;
    atomic_bool *finite;
} Lines;

/* As quantize has it, in the format of x. */
static void set_scale(const Lines *l, int64_t i, uint64_t peak)
{
    if (l->x.type == EIGHT_F32) {
        uint32_t bits = (uint32_t)peak;
        float most, s;
        memcpy(&most, &bits, sizeof most);
        if (bits >= 0x7f800000)
            atomic_store(l->finite, false);
        s = most / 127;
        l->scale[i] = most == 0 ? 1 : s > 0 ? s : 0x1p-149;
    } else {
        double most;
        memcpy(&most, &peak, sizeof most);
        if (peak >= UINT64_C(0x7ff0000000000000))
            atomic_store(l->finite, false);
        l->scale[i] = most == 0 ? 1 : most / 127 > 0 ? most / 127 : 0x1p-1074;
    }
}

static uint64_t peak_of(const Lines *l, const void *x, int64_t n)
{
    return l->x.type == EIGHT_F32 ? l->loops->peak_f32(x, n) : l->loops->peak_f64(x, n);
}

static uint64_t line_peak(const Lines *l, int64_t i)
{
    double copy[RUN];
    uint64_t peak = 0;
    if (l->x.cs == 1 && !l->x.row_at)
        return peak_of(l, element(&l->x, i, 0), l->length);
    for (int64_t k = 0; k < l->length; k += RUN) {
        int64_t n = l->length - k < RUN ? l->length - k : RUN;
        uint64_t next = peak_of(l, run_of(&l->x, i, k, n, copy), n);
        peak = next > peak ? next : peak;
    }
    return peak;
}

/* EIGHT_PANEL lines that lie side by side. */
static void scale_panel(const Lines *l, int64_t i)
{
    uint64_t peak[EIGHT_PANEL] = { 0 };
    uint32_t *single = (uint32_t *)(void *)peak;
    const void *x = element(&l->x, i, 0);
    if (l->x.type == EIGHT_F32)
        l->loops->peaks_f32(x, l->x.cs, l->length, single);
    else
        l->loops->peaks_f64(x, l->x.cs, l->length, peak);
    for (int c = 0; c < EIGHT_PANEL; c++)
        set_scale(l, i + c, l->x.type == EIGHT_F32 ? single[c] : peak[c]);
}

static void scale_lines(void *arg, int64_t begin, int64_t end, int worker)
{
    const Lines *l = arg;
    (void)worker;
    while (begin < end)
        if (!l->x.row_at && l->x.rs == 1 && l->x.cs != 1 && end - begin >= EIGHT_PANEL) {
            scale_panel(l, begin);
            begin += EIGHT_PANEL;
        } else {
            set_scale(l, begin, line_peak(l, begin));
            begin++;
        }
}

bool eight_row_scales(Ctx *ctx, int64_t m, int64_t k, EightMat x, double *scale)
{
    atomic_bool finite = true;
    Lines l = { eight_loops(), x, k, scale, &finite };
    int64_t threads = (double)m * (double)k < 2e5 ? 1 : pool_threads(ctx);
    int64_t grain = (m / threads + EIGHT_PANEL) / EIGHT_PANEL * EIGHT_PANEL;
    if (threads == 1)
        scale_lines(&l, 0, m, 0);
    else
        pool_for(ctx, m, grain, scale_lines, &l);
    return atomic_load(&finite) || *ctx->interrupt;
}

/* ---- rows of bytes that are wanted as they are ---- */

typedef struct Rounding {
    EightJob job;
    int8_t *to;
} Rounding;

static void round_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const Rounding *r = arg;
    (void)worker;
    pack_floats(&r->job, begin, end);
    for (int64_t i = begin * r->job.depth; i < end * r->job.depth; i++)
        r->to[i] = (int8_t)(r->job.rows[i] ^ 0x80);
}

void eight_round_rows(Ctx *ctx, int64_t m, int64_t k, EightMat x, const double *scale, int8_t *to)
{
    EightScales scales = { .row = scale };
    Rounding r = { { .ctx = ctx, .loops = eight_loops(), .m = m, .k = k, .a = x, .scales = &scales,
                     .rows = (uint8_t *)to, .count = k, .depth = k }, to };
    pool_for(ctx, m, k < 65536 ? 65536 / (k + 1) + 1 : 1, round_rows, &r);
}
