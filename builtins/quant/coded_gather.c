/* Rows of codes that overlap, as windows do, or that are apart, copied one after the other. */
#include "builtins/quant/coded.h"
#include "core/memory/pool.h"

#include <string.h>

enum { GRAIN = 1 << 16 };       /* bytes from which on a thread is worth waking */

typedef struct Gather {
    const CodedShape *shape;
    const int8_t *x;
    int8_t *out;
    int64_t run, pieces;        /* of a row: so many bytes lie together, so many times */
    const int64_t *offset;      /* of each piece */
} Gather;

/* Bytes of a row that lie together: axes from the last on. */
static int64_t run_of(const CodedAxes *k, int *left)
{
    int64_t run = 1;
    for (*left = k->rank; *left > 0 && k->step[*left - 1] == run; --*left)
        run *= k->length[*left - 1];
    return run;
}

/* Where piece `at` of the first `rank` axes begins. */
static int64_t offset_of(const CodedAxes *a, int rank, int64_t at)
{
    int64_t offset = 0;
    for (int i = rank - 1; i >= 0; i--) {
        offset += at % a->length[i] * a->step[i];
        at /= a->length[i];
    }
    return offset;
}

/* Short runs are too short for a call. */
static void copy_row(const Gather *g, const int8_t *from, int8_t *to)
{
    for (int64_t p = 0; p < g->pieces; p++, to += g->run) {
        const int8_t *piece = from + g->offset[p];
        if (g->run < 8)
            for (int64_t i = 0; i < g->run; i++)
                to[i] = piece[i];
        else
            memcpy(to, piece, (size_t)g->run);
    }
}

static void gather_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const Gather *g = arg;
    const CodedAxes *m = &g->shape->m;
    int64_t sums = g->shape->sums, last = m->rank ? m->rank - 1 : 0;
    (void)worker;
    for (int64_t row = begin; row < end; ) {
        int64_t step = m->rank ? m->step[last] : 0, length = m->rank ? m->length[last] : 1;
        const int8_t *from = g->x + offset_of(m, m->rank, row);
        for (int64_t i = row % length; i < length && row < end; i++, row++, from += step)
            copy_row(g, from, g->out + row * sums);
    }
}

EightMat coded_gather(OpCall *c, const CodedShape *s, const Tensor *x, int64_t from, int64_t to)
{
    Ctx *ctx = &c->in->ctx;
    int left;
    Gather g = { .shape = s, .x = (const int8_t *)x->data };
    int64_t rows = s->m.rank ? s->rows / s->m.length[0] * (to - from) : 1;
    int64_t bytes = rows * s->sums;
    g.x += s->m.rank ? from * s->m.step[0] : 0;
    g.run = run_of(&s->k, &left);
    g.pieces = s->sums / g.run;
    if (g.pieces == 1 && s->m.rank <= 1)
        return (EightMat){ g.x, s->m.rank ? s->m.step[0] : s->sums, 1, true };
    int64_t *offset = (int64_t *)op_keep(c, tensor_new(ctx, DT_I64, 1, &g.pieces))->data;
    for (int64_t p = 0; p < g.pieces; p++)
        offset[p] = offset_of(&s->k, left, p);
    g.offset = offset;
    g.out = (int8_t *)op_keep(c, tensor_new(ctx, DT_I8, 1, &bytes))->data;
    if (bytes < 2 * GRAIN)
        gather_rows(&g, 0, rows, 0);
    else
        pool_for(ctx, rows, GRAIN / s->sums + 1, gather_rows, &g);
    poll_interrupt(c->in);
    return (EightMat){ g.out, s->sums, 1, true };
}
