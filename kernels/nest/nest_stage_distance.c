/* Tables of distances: D[i,j] is a sum over q of (x[i,q] - y[j,q])^2 or of |x[i,q] - y[j,q]|, or
 * the largest of these, and perhaps its root. A strip would read every operand again for each row
 * and take the roots in a pass of its own; here y is packed once, and tiles of some rows by some
 * vectors of columns are summed, rooted and written from registers. Terms are added in the order in
 * which a stage adds them along the strip. */
#include "kernels/nest/nest_stage_work.h"

#include "core/base/mem.h"
#include "core/memory/pool.h"

#include <string.h>

enum {
    ROW_BYTES = 256,            /* the shortest: of the widest tile */
    BLOCK_ROWS = 32,            /* a unit of work: so many rows … */
    CHUNK_BYTES = 256 << 10,    /* … beside panels that stay in the second cache … */
    CHUNK_COLUMNS = 1024        /* … and so many columns at most */
};

/* ---- finding them ---- */

static const NestNode *difference(const Nest *n, int id, DType dt)
{
    const NestNode *node = &n->node[id];
    if (node->kind != NEST_EW || node->op != EW_SUBTRACT || node->compute != dt)
        return NULL;
    for (int k = 0; k < 2; k++) {
        const NestNode *x = &n->node[node->arg[k]];
        if (x->kind != NEST_LOAD || x->dtype != dt || n->load[x->slot].gathers)
            return NULL;
    }
    return node;
}

/* What is folded: of which difference the square or the size. */
static const NestNode *find_form(const Nest *n, const NestNode *fold, FoldForm *form)
{
    const NestNode *f = &n->node[fold->arg[0]];
    if (f->kind != NEST_EW || f->compute != fold->compute)
        return NULL;
    bool square = f->op == EW_MULTIPLY && f->arg[0] == f->arg[1];
    *form = square ? FORM_SQUARE : FORM_APART;
    return square || f->op == EW_ABS ? difference(n, f->arg[0], (DType)fold->compute) : NULL;
}

/* Which operand has the rows, which the columns: those lie side by side in the result. */
static bool find_axes(const StageCode *c, const NestNode *minus, StageDistance *d)
{
    const Nest *n = c->nest;
    for (int swap = 0; swap < 2; swap++) {
        d->x = n->node[minus->arg[swap]].slot;
        d->y = n->node[minus->arg[1 - swap]].slot;
        const int64_t *x = n->load[d->x].stride, *y = n->load[d->y].stride;
        d->row = d->column = -1;
        for (int i = 0; i < n->out_rank; i++) {
            int64_t extent = n->index[i].extent;
            if (extent > 1 && x[i] && !y[i] &&
                (d->row < 0 || n->index[d->row].extent < extent))
                d->row = i;
            if (extent > 1 && !x[i] && y[i] && c->out_stride[i] == 1)
                d->column = i;
        }
        if (d->row >= 0 && d->column >= 0)
            return true;
    }
    return false;
}

bool stage_find_distances(const StageCode *c, StageDistance *d)
{
    const Nest *n = c->nest;
    const NestNode *fold = &n->node[n->root], *minus;
    d->root = fold->kind == NEST_EW && fold->op == EW_SQRT;
    if (d->root)
        fold = &n->node[fold->arg[0]];
    if (fold->kind != NEST_REDUCE || fold->dtype != fold->compute ||
        n->node[n->root].dtype != fold->dtype || n->node[n->root].compute != fold->dtype ||
        (fold->op != NEST_SUM && fold->op != NEST_MAX) || __builtin_popcountll(fold->bound) != 1)
        return false;
    FoldForm form;
    minus = find_form(n, fold, &form);
    if (!minus)
        return false;
    FoldOp op = fold->op == NEST_SUM ? FOLD_ADD : FOLD_MOST;
    d->dtype = (DType)fold->dtype;
    d->tile = stage_kernels()->tile[op][form][d->dtype];
    d->term = __builtin_ctzll(fold->bound);
    if (!d->tile || c->parts || !find_axes(c, minus, d))
        return false;
    return n->index[d->row].extent >= DISTANCE_ROWS &&
           n->index[d->column].extent * dtype_info(d->dtype)->bytes >= ROW_BYTES &&
           n->index[d->term].extent > 0;
}

/* ---- running ---- */

typedef struct Table {
    const StageCode *c;
    const StageDistance *d;
    const char *x, *y;
    char *out, *packed, *strips;        /* strips: what a worker writes at last, or in parts */
    int axes, axis[NEST_INDICES];       /* all but rows and columns */
    int64_t step[NEST_INDICES];         /* of the panels along these, in sets of them */
    int64_t rows, columns, terms, bytes;
    int64_t width, panels, panel;       /* columns of one, how many to a set; bytes of one */
    int64_t blocks, chunks, chunk;      /* of rows; of panels; panels in one */
    int64_t strip;                      /* bytes of a row of a worker's strips */
    bool past, strips_first;
    const InterruptFlag *interrupt;
} Table;

static const int64_t *stride_of(const Table *t, int load)
{
    return t->c->nest->load[load].stride;
}

/* Offsets of the position of the other axes: of x, y and the result in elements, of the set of
 * panels in sets. `sets`: count those only with which y moves. */
static void locate(const Table *t, int64_t at, bool sets, int64_t *offset)
{
    memset(offset, 0, 4 * sizeof *offset);
    for (int a = t->axes - 1; a >= 0; a--) {
        int i = t->axis[a];
        int64_t extent = t->c->nest->index[i].extent;
        if (sets && !t->step[a])
            continue;
        offset[0] += at % extent * stride_of(t, t->d->x)[i];
        offset[1] += at % extent * stride_of(t, t->d->y)[i];
        offset[2] += at % extent * t->c->out_stride[i];
        offset[3] += at % extent * t->step[a];
        at /= extent;
    }
}

static void pack_panels(void *arg, int64_t begin, int64_t end, int worker)
{
    const Table *t = arg;
    int64_t across = stride_of(t, t->d->y)[t->d->column], along = stride_of(t, t->d->y)[t->d->term];
    (void)worker;
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t offset[4], first = unit % t->panels * t->width;
        int64_t count = t->columns - first < t->width ? t->columns - first : t->width;
        locate(t, unit / t->panels, true, offset);
        const char *from = t->y + (offset[1] + first * across) * t->bytes;
        char *to = t->packed + unit * t->panel;
        if (count < t->width)
            memset(to, 0, (size_t)t->panel);
        if (along == 1) {
            permute_block((int)t->bytes, to, t->width, from, across, count, t->terms);
            continue;
        }
        for (int64_t q = 0; q < t->terms; q++)
            stage_collect((int)t->bytes, to + q * t->width * t->bytes, from + q * along * t->bytes,
                          across, count);
    }
}

/* All terms of some tiles, as many at a time as a stage adds before it adds their sums. */
static void run_tiles(const Table *t, StageTile tile)
{
    const char *x = tile.x, *y = tile.panel;
    for (int64_t q = 0; q < t->terms; q += TERMS_IN_ROW) {
        tile.k = t->terms - q < TERMS_IN_ROW ? t->terms - q : TERMS_IN_ROW;
        tile.x = x + q * tile.term * t->bytes;
        tile.panel = y + q * t->width * t->bytes;
        tile.first = q == 0;
        tile.root = t->d->root && q + tile.k == t->terms;
        t->d->tile(&tile);
    }
}

/* Some rows beside the panels from … to; strip: room for their results. Only whole panels are
 * written where they belong; of more terms than stand in a row one panel after the other, whose
 * sums stay in the cache. */
static void run_rows(const Table *t, StageTile tile, int64_t from, int64_t to, char *strip)
{
    char *out = tile.to;
    int64_t apart = tile.step, end = to * t->width < t->columns ? to * t->width : t->columns;
    int64_t direct = t->strips_first ? from : end / t->width;
    int64_t each = t->terms > TERMS_IN_ROW ? 1 : to;
    for (int64_t p = from; p < to; p += tile.panels) {
        int64_t at = (p - from) * t->width * t->bytes, stop = p < direct ? direct : to;
        tile.panels = stop - p < each ? stop - p : each;
        tile.to = p < direct ? out + at : strip + at;
        tile.step = p < direct ? apart : t->strip;
        tile.past = t->past && p < direct;
        run_tiles(t, tile);
        tile.panel = (const char *)tile.panel + tile.panels * t->panel;
    }
    int64_t at = (direct - from) * t->width * t->bytes;
    size_t rest = (size_t)((end - direct * t->width) * t->bytes);
    for (int r = 0; rest && r < tile.rows; r++)
        if (t->past)
            stream_copy(out + r * apart + at, strip + r * t->strip + at, rest);
        else
            memcpy(out + r * apart + at, strip + r * t->strip + at, rest);
}

static void run_units(void *arg, int64_t begin, int64_t end, int worker)
{
    const Table *t = arg;
    const StageDistance *d = t->d;
    int64_t each = stride_of(t, d->x)[d->row], apart = t->c->out_stride[d->row];
    char *strip = t->strips + worker * DISTANCE_ROWS * t->strip;
    for (int64_t unit = begin; unit < end && !*t->interrupt; unit++) {
        int64_t offset[4], row = unit % t->blocks * BLOCK_ROWS;
        int64_t from = unit / t->blocks % t->chunks * t->chunk;
        int64_t to = from + t->chunk < t->panels ? from + t->chunk : t->panels;
        int64_t last = row + BLOCK_ROWS < t->rows ? row + BLOCK_ROWS : t->rows;
        locate(t, unit / t->blocks / t->chunks, false, offset);
        for (; row < last; row += DISTANCE_ROWS) {
            StageTile tile = { .x = t->x + (offset[0] + row * each) * t->bytes, .row = each,
                .term = stride_of(t, d->x)[d->term], .step = apart * t->bytes,
                .to = t->out + (offset[2] + row * apart + from * t->width) * t->bytes,
                .panel = t->packed + (offset[3] * t->panels + from) * t->panel,
                .apart = t->terms * t->width,
                .rows = last - row < DISTANCE_ROWS ? (int)(last - row) : DISTANCE_ROWS };
            run_rows(t, tile, from, to, strip);
        }
    }
    if (t->past)
        stream_fence();
}

/* Do all rows start at a multiple of a line? */
static bool is_even(const Table *t)
{
    int64_t bits = (int64_t)(uintptr_t)t->out | t->c->out_stride[t->d->row] * t->bytes;
    for (int a = 0; a < t->axes; a++)
        bits |= t->c->out_stride[t->axis[a]] * t->bytes;
    return (bits & 63) == 0;
}

static Table begin_table(const StageCode *c, void *out, const void *const *data, int64_t *sets,
                         int64_t *units)
{
    const StageDistance *d = &c->distance;
    const Nest *n = c->nest;
    Table t = { .c = c, .d = d, .x = data[n->load[d->x].slot], .y = data[n->load[d->y].slot],
                .out = out, .rows = n->index[d->row].extent, .columns = n->index[d->column].extent,
                .terms = n->index[d->term].extent, .bytes = dtype_info(d->dtype)->bytes };
    *sets = *units = 1;
    for (int i = n->out_rank - 1; i >= 0; i--) {
        if (i == d->row || i == d->column || n->index[i].extent <= 1)
            continue;
        memmove(t.axis + 1, t.axis, (size_t)t.axes * sizeof *t.axis);
        memmove(t.step + 1, t.step, (size_t)t.axes++ * sizeof *t.step);
        t.axis[0] = i;
        t.step[0] = n->load[d->y].stride[i] ? *sets : 0;
        *sets *= t.step[0] ? n->index[i].extent : 1;
        *units *= n->index[i].extent;
    }
    t.width = stage_kernels()->tile_bytes / t.bytes;
    t.panels = (t.columns + t.width - 1) / t.width;
    t.panel = t.terms * t.width * t.bytes;
    t.chunk = CHUNK_BYTES / t.panel < CHUNK_COLUMNS / t.width ? CHUNK_BYTES / t.panel
                                                              : CHUNK_COLUMNS / t.width;
    t.chunk = t.chunk < 1 ? 1 : t.chunk;
    t.strip = t.chunk * t.width * t.bytes;
    t.blocks = (t.rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    t.chunks = (t.panels + t.chunk - 1) / t.chunk;
    *units *= t.blocks * t.chunks;
    t.past = c->stream;
    t.strips_first = t.past && (!is_even(&t) || t.terms > TERMS_IN_ROW);
    return t;
}

void stage_run_distances(Ctx *ctx, const StageCode *c, void *out, const void *const *data,
                         int threads)
{
    static const InterruptFlag never = 0;
    int64_t sets, units;
    Table t = begin_table(c, out, data, &sets, &units);
    size_t panels = mem_mul(ctx, (size_t)(sets * t.panels), (size_t)t.panel);
    size_t strips = (size_t)(threads * DISTANCE_ROWS * t.strip), bytes = panels + strips;
    char *memory = mem_alloc_data(ctx, bytes, false);
    t.packed = memory;
    t.strips = memory + panels;
    t.interrupt = ctx->interrupt ? ctx->interrupt : &never;
    if (threads > 1) {
        pool_for(ctx, sets * t.panels, CHUNK_BYTES / 4 / t.panel + 1, pack_panels, &t);
        pool_for(ctx, units, (int64_t)(20e-6 / (c->seconds / (double)units)) + 1, run_units, &t);
    } else {
        pack_panels(&t, 0, sets * t.panels, 0);
        run_units(&t, 0, units, 0);
    }
    mem_free_data(ctx, memory, bytes);
}
