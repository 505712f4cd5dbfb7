/* A segment is what a slab has of one block along the fast axis: its indices are consecutive, so
 * the elements of the base go by one stride. A run is as much of it as stays with one rank and in
 * one direction there. */
#include "kernels/grid/grid_walk.h"

#include <string.h>

void grid_walk_start(GridWalk *w, const GridRank *g, const GridView *v, const GridTensor *base)
{
    memset(w, 0, sizeof *w);
    w->grid = &g->grid;
    w->row = g->row;
    w->col = g->col;
    w->view = v;
    w->slab = grid_slab(&g->grid, g->rank, v->axes, v->shape);
    w->base_rows = base->shape[0];
    w->base_cols = base->axes > 1 ? base->shape[1] : 1;
    w->inner = base->slab.inner;
    for (int a = 2; a < v->axes; a++)
        if (v->shape[a] > 1)
            w->fast = a;
    if (w->fast == 0 && w->slab.rows == 1 && w->slab.cols > 1)
        w->fast = 1;
}

static int64_t along(const GridView *v, int axis, int64_t i)
{
    return axis < v->axes ? (v->list[axis] ? v->list[axis][i] : i) * v->stride[axis] : 0;
}

/* How many local indices from i on are of one block. */
static int64_t of_block(const GridWalk *w, int64_t i, int64_t n)
{
    int64_t left = w->grid->nb - i % w->grid->nb;
    return left < n - i ? left : n - i;
}

static void step_over(GridWalk *w)
{
    if (w->fast == 0) {
        w->i += w->left;
        if (w->i == w->slab.rows)
            w->i = 0, w->j++;
        return;
    }
    if (w->fast == 1) {
        w->j += w->left;
        return;
    }
    for (int a = w->fast - 1; a > 1; a--) {
        if (++w->rest[a] < w->view->shape[a])
            return;
        w->rest[a] = 0;
    }
    if (++w->i == w->slab.rows)
        w->i = 0, w->j++;
}

static bool next_segment(GridWalk *w)
{
    const GridView *v = w->view;
    if (w->to == w->slab.size)
        return false;
    int64_t i = grid_global(w->i, w->grid->nb, w->row, w->grid->p);
    int64_t j = grid_global(w->j, w->grid->nb, w->col, w->grid->q);
    w->left = w->fast == 0 ? of_block(w, w->i, w->slab.rows)
            : w->fast == 1 ? of_block(w, w->j, w->slab.cols) : v->shape[w->fast];
    w->at = w->fast == 0 ? i : w->fast == 1 ? j : 0;
    w->list = v->list[w->fast];
    w->flat = v->offset;
    w->flat += along(v, 0, i) + along(v, 1, j);
    for (int a = 2; a < v->axes; a++)
        w->flat += along(v, a, w->rest[a]);
    step_over(w);
    return true;
}

/* How many of n indices from x on, `by` apart, stay in [0, length) and, over more than one
 * process, in one block. */
static int64_t staying(const GridWalk *w, int64_t x, int64_t by, int64_t length, int procs,
                       int64_t n)
{
    int64_t low = 0, high = length - 1;
    if (procs > 1) {
        low = x - x % w->grid->nb;
        high = low + w->grid->nb - 1 < high ? low + w->grid->nb - 1 : high;
    }
    int64_t most = by > 0 ? (high - x) / by + 1 : (x - low) / -by + 1;
    return most < n ? most : n;
}

bool grid_walk_next(GridWalk *w, GridRun *r)
{
    const GridShape *g = w->grid;
    if (!w->left && !next_segment(w))
        return false;
    int64_t row_size = w->base_cols * w->inner, f = w->flat;
    int64_t i = f / row_size, j = f % row_size / w->inner, k = f % w->inner;
    int64_t by = w->list ? 0 : w->view->stride[w->fast], n = w->list ? 1 : w->left;
    int row = grid_owner(i, g->nb, g->p), col = grid_owner(j, g->nb, g->q);
    int64_t rows = grid_numroc(w->base_rows, g->nb, row, g->p);
    r->owner = row * g->q + col;
    r->at = (grid_local(i, g->nb, g->p) + grid_local(j, g->nb, g->q) * rows) * w->inner + k;
    r->to = w->to;
    r->step = 0;
    if (by && by % row_size == 0) {
        n = staying(w, i, by / row_size, w->base_rows, g->p, n);
        r->step = by / row_size * w->inner;
    } else if (by && by % w->inner == 0 && by < row_size && by > -row_size) {
        n = staying(w, j, by / w->inner, w->base_cols, g->q, n);
        r->step = by / w->inner * rows * w->inner;
    } else if (by && by < w->inner && by > -w->inner) {
        int64_t most = by > 0 ? (w->inner - 1 - k) / by + 1 : k / -by + 1;
        n = most < n ? most : n;
        r->step = by;
    } else if (by) {
        n = 1;
    }
    r->count = n;
    w->to += n;
    w->left -= n;
    w->at += n;
    if (w->left)
        w->flat += w->list ? (w->list[w->at] - w->list[w->at - 1]) * w->view->stride[w->fast]
                           : by * n;
    return true;
}
