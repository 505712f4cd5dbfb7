/* Loops over the rows of compressed rows, by threads in pieces of equal numbers of entries. */
#ifndef RICCI_KERNELS_SPARSE_ROWS_H
#define RICCI_KERNELS_SPARSE_ROWS_H

#include "core/memory/pool.h"
#include "kernels/sparse/sparse.h"

/* fn(arg, from, to, worker) for all rows, some at a time. start: m + 1 rising numbers, what lies
 * before each row; a row counts for one besides, so that empty ones are spread too. Which rows come
 * together depends on the number of threads: no result may. */
void rows_for(Ctx *, int64_t m, const int64_t *start, PoolFn fn, void *arg);
/* The same by so many workers at once, each of which has a slot of its own in [0, slots): for those
 * who need memory of their own. start may be any rising numbers that say how much work rows are. */
void rows_by_slots(Ctx *, int slots, int64_t m, const int64_t *start, PoolFn fn, void *arg);
/* How many of them so much work is worth. */
int rows_slots(Ctx *, int64_t work);
/* How many rows begin before this entry. */
static inline int64_t rows_before(int64_t m, const int64_t *start, int64_t entry)
{
    int64_t low = 0, high = m;
    while (low < high) {
        int64_t i = low + (high - low) / 2;
        if (start[i] < entry)
            low = i + 1;
        else
            high = i;
    }
    return low;
}
/* Counts per row, in start[i + 1] of row i, to where each begins. */
void rows_begin(int64_t *start, int64_t m);

#endif
