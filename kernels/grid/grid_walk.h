/* The elements of a slab, in its order, as runs of another tensor's: where a view takes them
 * from. */
#ifndef RICCI_KERNELS_GRID_WALK_H
#define RICCI_KERNELS_GRID_WALK_H

#include "kernels/grid/grid_rank.h"

/* `count` elements of a slab of the base, from `at` on, `step` apart: those of the slab that is
 * walked from `to` on. */
typedef struct GridRun {
    int64_t at, step, count, to;
    int64_t owner;               /* the rank that has them */
} GridRun;

typedef struct GridWalk {
    const GridShape *grid;
    int row, col;
    const GridView *view;
    GridSlab slab;               /* the one that is walked: of the view's shape */
    int64_t base_rows, base_cols, inner;         /* of the base */
    int fast;                    /* the axis along which runs go */
    int64_t i, j, rest[TENSOR_RANK_MAX];         /* where the next segment begins */
    int64_t to;                  /* elements before it */
    /* the segment at hand: its next element of the base in row-major order, what is left of it, and
     * its indices along the fast axis where that has a list */
    int64_t flat, left, at;
    const int64_t *list;
} GridWalk;

void grid_walk_start(GridWalk *, const GridRank *, const GridView *, const GridTensor *base);
/* False: that were all. */
bool grid_walk_next(GridWalk *, GridRun *);

#endif
