/* Elements between a selection with index tensors or masks and a dense tensor. The
 * selection's axes fall into three groups: sliced axes before, points, sliced axes after;
 * each point is a block of the last group. One routine walks them in both directions. The
 * offsets were checked when the selection was made. */
#include "interp/index/index.h"

#include <string.h>

/* Axes with strides, neighbours merged where they are one run. */
typedef struct Axes {
    int rank;
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX], size;
} Axes;

typedef struct Move {
    Axes before, after;
    size_t bytes;            /* of an element */
    char *base;              /* the selection's first element */
    char *dense;             /* reading: written; storing: read */
    int64_t dense_step;      /* 1, or 0 where one element is stored everywhere */
    bool store;
} Move;

static void axes_make(Axes *a, const Selection *sel, int from, int to)
{
    *a = (Axes){ .size = 1 };
    for (int i = from; i < to; i++) {
        int64_t n = sel->shape[i], step = sel->strides[i];
        a->size *= n;
        if (n == 1)
            continue;
        if (a->rank > 0 && a->strides[a->rank - 1] == n * step) {
            a->shape[a->rank - 1] *= n;
            a->strides[a->rank - 1] = step;
        } else {
            a->shape[a->rank] = n;
            a->strides[a->rank++] = step;
        }
    }
}

/* n elements; steps in elements. `bytes` is a constant at every call, so that each copy
 * is one move. */
static inline __attribute__((always_inline)) void run_copy(char *dst, int64_t ds, const char *src,
                                                           int64_t ss, int64_t n, size_t bytes)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(dst + i * ds * (int64_t)bytes, src + i * ss * (int64_t)bytes, bytes);
}

void strided_copy(char *dst, int64_t ds, const char *src, int64_t ss, int64_t n, size_t bytes)
{
    if (ds == 1 && ss == 1) {
        memcpy(dst, src, (size_t)n * bytes);
        return;
    }
    switch (bytes) {
    case 1: run_copy(dst, ds, src, ss, n, 1); break;
    case 2: run_copy(dst, ds, src, ss, n, 2); break;
    case 4: run_copy(dst, ds, src, ss, n, 4); break;
    case 8: run_copy(dst, ds, src, ss, n, 8); break;
    case 16: run_copy(dst, ds, src, ss, n, 16); break;
    default: run_copy(dst, ds, src, ss, n, ELEMENT_BYTES_MAX); break;
    }
}

static inline __attribute__((always_inline)) void points_copy(const Move *m, char *base,
                                                              char *dense,
                                                              const int64_t *at, int64_t n,
                                                              size_t bytes)
{
    int64_t size = (int64_t)bytes;
    if (m->store) {
        for (int64_t i = 0; i < n; i++)
            memcpy(base + at[i] * size, dense + i * m->dense_step * size, bytes);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        memcpy(dense + i * size, base + at[i] * size, bytes);
}

/* Single elements: no axis comes after the points. */
static void points_move(const Move *m, char *base, char *dense, const int64_t *at, int64_t n)
{
    switch (m->bytes) {
    case 1: points_copy(m, base, dense, at, n, 1); break;
    case 2: points_copy(m, base, dense, at, n, 2); break;
    case 4: points_copy(m, base, dense, at, n, 4); break;
    case 8: points_copy(m, base, dense, at, n, 8); break;
    case 16: points_copy(m, base, dense, at, n, 16); break;
    default: points_copy(m, base, dense, at, n, ELEMENT_BYTES_MAX); break;
    }
}

/* Steps an odometer over the first `rank` axes; false when it has gone round. */
static bool axes_next(const Axes *a, int rank, int64_t *at, int64_t *offset)
{
    for (int k = rank - 1; k >= 0; k--) {
        *offset += a->strides[k];
        if (++at[k] < a->shape[k])
            return true;
        *offset -= at[k] * a->strides[k];
        at[k] = 0;
    }
    return false;
}

/* The block of the axes after one point. */
static void block_move(const Move *m, char *base, char *dense)
{
    const Axes *a = &m->after;
    int last = a->rank - 1;
    int64_t at[TENSOR_RANK_MAX] = { 0 }, offset = 0, n = a->shape[last], size = (int64_t)m->bytes;
    do {
        if (m->store)
            strided_copy(base + offset * size, a->strides[last], dense, m->dense_step, n, m->bytes);
        else
            strided_copy(dense, 1, base + offset * size, a->strides[last], n, m->bytes);
        dense += n * m->dense_step * size;
    } while (axes_next(a, last, at, &offset));
}

static void points_walk(Interp *in, const Move *m, const Selection *sel, char *base, char *dense)
{
    enum { CHUNK = 1 << 16 };
    int64_t size = (int64_t)m->bytes, block = m->after.size;
    for (int64_t from = 0; from < sel->points; from += CHUNK) {
        int64_t n = sel->points - from < CHUNK ? sel->points - from : CHUNK;
        char *part = dense + from * block * m->dense_step * size;
        poll_interrupt(in);
        if (m->after.rank == 0) {
            points_move(m, base, part, sel->offsets + from, n);
            continue;
        }
        for (int64_t i = 0; i < n; i++)
            block_move(m, base + sel->offsets[from + i] * size,
                       part + i * block * m->dense_step * size);
    }
}

static void selection_move(Interp *in, const Selection *sel, Move *m)
{
    if (sel->size == 0)
        return;
    axes_make(&m->before, sel, 0, sel->before);
    axes_make(&m->after, sel, sel->before + sel->broad, sel->rank);
    int64_t at[TENSOR_RANK_MAX] = { 0 }, offset = 0, size = (int64_t)m->bytes;
    int64_t block = sel->points * m->after.size * m->dense_step * size;
    char *dense = m->dense;
    do {
        points_walk(in, m, sel, m->base + offset * size, dense);
        dense += block;
    } while (axes_next(&m->before, m->before.rank, at, &offset));
}

void selection_gather(Interp *in, const Selection *sel, const Tensor *base, char *out)
{
    size_t bytes = dtype_info(base->dtype)->bytes;
    Move m = { .bytes = bytes, .base = base->data + sel->offset * (int64_t)bytes, .dense = out,
               .dense_step = 1 };
    selection_move(in, sel, &m);
}

void selection_scatter(Interp *in, const Selection *sel, Tensor *base, const char *values, bool one)
{
    size_t bytes = dtype_info(base->dtype)->bytes;
    Move m = { .bytes = bytes, .base = base->data + sel->offset * (int64_t)bytes,
               .dense = (char *)values, .dense_step = !one, .store = true };
    selection_move(in, sel, &m);
}
