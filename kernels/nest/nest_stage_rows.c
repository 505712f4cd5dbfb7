/* Rows found through tables: E[n,d] := table[word[n], d] copies whole rows, for which a vector
 * program does too much per row. Addresses of a batch come first, so that rows are fetched before
 * they are copied. */
#include "core/memory/pool.h"
#include "kernels/nest/nest_stage.h"
#include "kernels/tensor/permute.h"

#include <string.h>

enum {
    BATCH = 64,
    FETCH_ROWS = 4,             /* ahead of the one that is copied … */
    FETCH_LINES = 8,            /* … and how much of each; the hardware follows from there */
    SHORTEST_ROW = 64           /* bytes */
};

typedef struct Rows {
    const StageCode *c;
    const NestLoad *load;
    char *out;
    const void *const *data;
    int axes, axis[NEST_INDICES];       /* all but that of the rows */
    size_t bytes;                       /* of a row */
    int64_t width;                      /* bytes of an element */
    bool stream;
} Rows;

bool stage_is_rows(const StageCode *c)
{
    const Nest *n = c->nest;
    const NestNode *root = &n->node[n->root];
    int strip = c->main.strip;
    if (root->kind != NEST_LOAD || strip < 0 || c->out_stride[strip] != 1)
        return false;
    const NestLoad *l = &n->load[root->slot];
    if (l->gathers == 0 || l->stride[strip] != 1 ||
        n->index[strip].extent * dtype_info(l->dtype)->bytes < SHORTEST_ROW)
        return false;
    for (int g = 0; g < l->gathers; g++)
        if (l->gather[g].stride[strip])
            return false;
    return true;
}

/* Where the row at this position comes from; NULL: it is zero. */
static const char *find_row(const Rows *r, const int64_t *pos, char **to)
{
    const NestLoad *l = r->load;
    int64_t place = 0, put = 0;
    for (int k = 0; k < r->axes; k++) {
        place += pos[k] * l->stride[r->axis[k]];
        put += pos[k] * r->c->out_stride[r->axis[k]];
    }
    *to = r->out + put * r->width;
    for (int g = 0; g < l->gathers; g++) {
        const NestGather *gather = &l->gather[g];
        int64_t at = 0;
        for (int k = 0; k < r->axes; k++)
            at += pos[k] * gather->stride[r->axis[k]];
        int64_t entry = ((const int64_t *)r->data[gather->slot])[at];
        if (entry < 0)
            return NULL;
        place += entry * gather->step;
    }
    return (const char *)r->data[l->slot] + place * r->width;
}

static void next_position(const Rows *r, int64_t *pos)
{
    for (int k = r->axes - 1; k >= 0; k--) {
        if (++pos[k] < r->c->nest->index[r->axis[k]].extent)
            return;
        pos[k] = 0;
    }
}

static inline void fetch_row(const char *from, size_t bytes)
{
    for (size_t at = 0; from && at < bytes && at < FETCH_LINES * 64; at += 64)
        __builtin_prefetch(from + at);
}

static void copy_batch(const Rows *r, const char *const *from, char *const *to, int count)
{
    for (int i = 0; i < FETCH_ROWS && i < count; i++)
        fetch_row(from[i], r->bytes);
    for (int i = 0; i < count; i++) {
        if (i + FETCH_ROWS < count)
            fetch_row(from[i + FETCH_ROWS], r->bytes);
        if (!from[i])
            memset(to[i], 0, r->bytes);
        else if (r->stream)
            stream_copy(to[i], from[i], r->bytes);
        else
            memcpy(to[i], from[i], r->bytes);
    }
}

static void copy_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const Rows *r = arg;
    const char *from[BATCH];
    char *to[BATCH];
    int64_t pos[NEST_INDICES], rest = begin;
    (void)worker;
    for (int k = r->axes - 1; k >= 0; k--) {
        int64_t extent = r->c->nest->index[r->axis[k]].extent;
        pos[k] = rest % extent;
        rest /= extent;
    }
    while (begin < end) {
        int count = end - begin < BATCH ? (int)(end - begin) : BATCH;
        for (int i = 0; i < count; i++, next_position(r, pos))
            from[i] = find_row(r, pos, &to[i]);
        copy_batch(r, from, to, count);
        begin += count;
    }
    if (r->stream)
        stream_fence();
}

void stage_copy_rows(Ctx *ctx, const StageCode *c, void *out, const void *const *data)
{
    const Nest *n = c->nest;
    Rows r = { .c = c, .load = &n->load[n->node[n->root].slot], .out = out, .data = data,
               .stream = c->stream };
    int strip = c->main.strip;
    int64_t rows = 1;
    r.width = dtype_info(r.load->dtype)->bytes;
    r.bytes = (size_t)(n->index[strip].extent * r.width);
    for (int i = 0; i < n->out_rank; i++)
        if (i != strip && n->index[i].extent > 1) {
            r.axis[r.axes++] = i;
            rows *= n->index[i].extent;
        }
    int64_t grain = (256 << 10) / (int64_t)r.bytes + 1;
    pool_for(ctx, rows, grain, copy_rows, &r);
}
