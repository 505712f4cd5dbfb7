/* Elementwise operations over whole tensors. Axes are collapsed, the rest is cut into units
 * of work that threads take; within a unit, strips of some hundred elements go through the
 * inner loop: operands of another dtype are cast into a strip first, results too large for
 * the cache leave a strip by non-temporal stores. So nothing of full size is ever made. */
#include "kernels/cast/ew_run.h"

#include "core/memory/pool.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/elementwise/ew_kernels.h"
#include "kernels/tensor/iter.h"
#include "kernels/tensor/permute.h"

#include <stdatomic.h>
#include <string.h>

enum {
    UNIT = 1 << 15,           /* elements per unit of work */
    THREADS_CHEAP = 1 << 17,  /* from here on threads pay for an addition … */
    THREADS_DEAR = 1 << 13,   /* … and for a transcendental */
    TILE_SIDE = 64,           /* of a tile in which an operand is transposed */
    TILE_BYTES = TILE_SIDE * TILE_SIDE * 8,
    SHORT_AXIS = 16           /* an inner axis shorter than this is not worth a call per row */
};

typedef struct EwJob {
    Ctx *ctx;
    EwOp op;
    DType compute;
    EwFn kernel;
    int arity;
    DType have[3], want[3];
    char *data[ITER_OPERANDS];        /* out, then operands */
    int64_t bytes[ITER_OPERANDS];     /* of their elements */
    Iter it, outer;                   /* all axes; those that are neither inner nor rows */
    int64_t n, rows;                  /* extents of the inner axis and of the one around it */
    int64_t inner_stride[ITER_OPERANDS], row_stride[ITER_OPERANDS];
    int64_t block_n, block_rows;      /* of a unit */
    bool stream, strips, checked, tiles;
    _Atomic int trouble;
} EwJob;

/* ---- rows ---- */

typedef union Strip { double align; char bytes[EW_STRIP * 16]; } Strip;

/* Operand k for the next `count` elements: where it lies, or cast (or spread, so that a
 * scalar among three operands meets the contiguous loop) into a strip. */
static const void *operand(const EwJob *job, int k, const char *x, int64_t *stride, int64_t count,
                           Strip *strip) {
    DType want = job->want[k], have = job->have[k];
    if (have == want && !(job->arity == 3 && *stride == 0)) return x;
    if (*stride == 0 && job->arity < 3) count = 1;
    cast_run(want, strip->bytes, 1, have, x, *stride, count);
    *stride = *stride != 0 || job->arity == 3;
    return strip->bytes;
}

/* A unit of work: where its operands start and how they step. */
typedef struct Part {
    char *at[ITER_OPERANDS];
    int64_t inner[ITER_OPERANDS], row[ITER_OPERANDS];   /* strides in elements */
} Part;

/* Where the operands go on at element `from`: those that are read as fast as the result is
 * written. */
static int next_strip(const EwJob *job, const Part *part, char *const *at, int64_t from,
                      const char **ahead) {
    int places = 0;
    for (int k = 1; k <= job->arity; k++)
        if (part->inner[k] == 1 && job->bytes[k] == job->bytes[0])
            ahead[places++] = at[k] + from * job->bytes[k];
    return places;
}

static void run_row(EwJob *job, const Part *part, char *const *at, int64_t n) {
    Strip strip[3], result;
    for (int64_t from = 0; from < n; from += EW_STRIP) {
        int64_t count = n - from < EW_STRIP ? n - from : EW_STRIP, strides[3];
        const void *in[3];
        char *out = at[0] + from * part->inner[0] * job->bytes[0];
        for (int k = 0; k < job->arity; k++) {
            strides[k] = part->inner[k + 1];
            const char *x = at[k + 1] + from * strides[k] * job->bytes[k + 1];
            in[k] = operand(job, k, x, &strides[k], count, &strip[k]);
        }
        if (job->checked) {
            EwTrouble t = ew_find_trouble(job->op, job->compute, in[1], strides[1], count);
            if (t != EWT_NONE) job->trouble = (int)t;
        }
        if (job->stream) {
            job->kernel(result.bytes, 1, in, strides, count);
            const char *ahead[3];
            int places = next_strip(job, part, at, from + count, ahead);
            stream_copy_ahead(out, result.bytes, (size_t)(count * job->bytes[0]), ahead, places);
        } else {
            job->kernel(out, part->inner[0], in, strides, count);
        }
    }
}

static void run_rows(EwJob *job, const Part *part, int64_t n, int64_t rows) {
    char *at[ITER_OPERANDS];
    for (int64_t r = 0; r < rows; r++) {
        for (int k = 0; k <= job->arity; k++)
            at[k] = part->at[k] + r * part->row[k] * job->bytes[k];
        if (job->strips) {
            run_row(job, part, at, n);
        } else {                        /* operands can be read as they lie: a row at once */
            const void *in[] = { at[1], at[2], at[3] };
            job->kernel(at[0], part->inner[0], in, part->inner + 1, n);
        }
    }
}

/* ---- units of work ---- */

/* An operand whose rows are columns in memory is transposed tile by tile. */
static bool is_transposed(const EwJob *job, int k) {
    return job->row_stride[k] == 1 && job->inner_stride[k] != 0 && job->inner_stride[k] != 1;
}

typedef union Tile { double align; char bytes[TILE_BYTES]; } Tile;

static void run_tile(EwJob *job, Part *part, int64_t n, int64_t rows) {
    Tile tile[3];
    for (int k = 1; k <= job->arity; k++) {
        if (!is_transposed(job, k)) continue;
        permute_block((int)job->bytes[k], tile[k - 1].bytes, n, part->at[k], part->inner[k], n,
                      rows);
        part->at[k] = tile[k - 1].bytes;
        part->inner[k] = 1;
        part->row[k] = n;
    }
    run_rows(job, part, n, rows);
}

static void run_unit(EwJob *job, int64_t unit) {
    int64_t across = (job->n + job->block_n - 1) / job->block_n;
    int64_t down = (job->rows + job->block_rows - 1) / job->block_rows;
    int64_t from = unit % across * job->block_n, row = unit / across % down * job->block_rows;
    int64_t n = job->n - from < job->block_n ? job->n - from : job->block_n;
    int64_t rows = job->rows - row < job->block_rows ? job->rows - row : job->block_rows;
    int64_t start[ITER_OPERANDS];
    Part part;
    iter_seek(&job->outer, job->outer.rank, unit / across / down, start);
    for (int k = 0; k <= job->arity; k++) {
        int64_t offset = start[k] + from * job->inner_stride[k] + row * job->row_stride[k];
        part.at[k] = job->data[k] + offset * job->bytes[k];
        part.inner[k] = job->inner_stride[k];
        part.row[k] = job->row_stride[k];
    }
    if (job->tiles) run_tile(job, &part, n, rows);
    else run_rows(job, &part, n, rows);
}

static void run_units(void *arg, int64_t begin, int64_t end, int worker) {
    EwJob *job = arg;
    (void)worker;
    for (int64_t unit = begin; unit < end; unit++) {
        if (job->trouble) return;
        run_unit(job, unit);
    }
    if (job->stream) stream_fence();
}

static void take_axis(EwJob *job, int axis, int64_t *extent, int64_t *strides) {
    Iter *it = &job->outer;
    *extent = it->shape[axis];
    for (int k = 0; k < it->operands; k++) strides[k] = it->stride[k][axis];
    it->rank--;
    for (int i = axis; i < it->rank; i++) {
        it->shape[i] = it->shape[i + 1];
        for (int k = 0; k < it->operands; k++) it->stride[k][i] = it->stride[k][i + 1];
    }
}

/* Chooses the inner axis, the one around it and the size of a unit. Where an operand is not
 * contiguous along the inner axis (a transposed one), units are tiles, so that the lines
 * it touches are used whole before they leave the cache. */
static void plan(EwJob *job) {
    int last = job->it.rank - 1;
    int64_t widest = 1;
    bool lines = true;
    job->tiles = false;
    job->outer = job->it;
    job->rows = 1;
    memset(job->row_stride, 0, sizeof job->row_stride);
    if (last > 0 && job->it.shape[last] < SHORT_AXIS
        && job->it.shape[last - 1] > job->it.shape[last]) last--;
    take_axis(job, last, &job->n, job->inner_stride);
    if (job->outer.rank > 0) take_axis(job, job->outer.rank - 1, &job->rows, job->row_stride);
    for (int k = 0; k <= job->arity; k++)
        if (job->inner_stride[k] != 0 && job->inner_stride[k] != 1) lines = false;
    for (int k = 1; k <= job->arity; k++) {
        job->tiles |= is_transposed(job, k);
        if (job->bytes[k] > widest) widest = job->bytes[k];
    }
    job->block_n = job->tiles ? TILE_SIDE : lines ? UNIT : EW_STRIP / 2;
    if (job->block_n > job->n) job->block_n = job->n;
    job->block_rows = job->tiles ? TILE_BYTES / (TILE_SIDE * widest) : UNIT / job->block_n;
    if (job->block_rows > job->rows) job->block_rows = job->rows;
}

static bool dear(EwOp op, DType compute) {
    return ew_table_reference[op][DT_F64] || dtype_info(compute)->kind == 'c'
        || ew_is_checked(op, compute);
}

static void run_planned(EwJob *job) {
    const Iter *it = &job->it;
    bool casts = false;
    for (int k = 0; k < job->arity; k++) casts |= job->have[k] != job->want[k];
    plan(job);
    job->stream = it->size * job->bytes[0] >= STREAM_BYTES && job->inner_stride[0] == 1;
    for (int k = 1; k <= job->arity; k++) job->stream &= job->data[k] != job->data[0];
    job->strips = casts || job->stream || job->checked || job->arity == 3;
    int64_t across = (job->n + job->block_n - 1) / job->block_n;
    int64_t down = (job->rows + job->block_rows - 1) / job->block_rows, units = across * down;
    for (int axis = 0; axis < job->outer.rank; axis++) units *= job->outer.shape[axis];
    if (it->size < (dear(job->op, job->compute) ? THREADS_DEAR : THREADS_CHEAP)) {
        run_units(job, 0, units, 0);
        return;
    }
    int64_t each = it->size / units > 0 ? it->size / units : 1;
    pool_for(job->ctx, units, each < UNIT ? (UNIT + each - 1) / each : 1, run_units, job);
}

/* ---- the door ---- */

static DType wanted(EwOp op, DType compute, int k) {
    return k == 0 && ew_info[op].result == RES_WHERE ? DT_BOOL : compute;
}

/* Small contiguous operands of the right dtype need no planning. */
static bool run_small(EwJob *job, const Tensor *out, Tensor *const *in) {
    int64_t strides[3];
    const void *data[3];
    if (out->size > EW_STRIP || !tensor_contiguous(out)) return false;
    for (int k = 0; k < job->arity; k++) {
        if (in[k]->dtype != wanted(job->op, job->compute, k)) return false;
        if (in[k]->size != 1 && (in[k]->size != out->size || !tensor_contiguous(in[k])))
            return false;
        strides[k] = in[k]->size != 1 || out->size == 1;
        data[k] = in[k]->data;
    }
    if (job->checked)
        job->trouble = (int)ew_find_trouble(job->op, job->compute, data[1], strides[1], out->size);
    if (!job->trouble) job->kernel(out->data, 1, data, strides, out->size);
    return true;
}

EwTrouble ew_run(Ctx *ctx, EwOp op, DType compute, Tensor *out, Tensor *const *in) {
    EwJob job;
    const Tensor *tensors[ITER_OPERANDS] = { out };
    if (out->size == 0) return EWT_NONE;
    job.ctx = ctx;
    job.op = op;
    job.compute = compute;
    job.kernel = ew_kernel(op, compute);
    job.arity = ew_info[op].arity;
    job.checked = ew_is_checked(op, compute);
    job.trouble = EWT_NONE;
    if (run_small(&job, out, in)) return (EwTrouble)job.trouble;
    job.data[0] = out->data;
    job.bytes[0] = dtype_info(out->dtype)->bytes;
    for (int k = 0; k < job.arity; k++) {
        tensors[k + 1] = in[k];
        job.have[k] = (DType)in[k]->dtype;
        job.want[k] = wanted(op, compute, k);
        job.data[k + 1] = in[k]->data;
        job.bytes[k + 1] = dtype_info(in[k]->dtype)->bytes;
    }
    iter_init(&job.it, job.arity + 1, tensors);
    run_planned(&job);
    return (EwTrouble)job.trouble;
}
