/* Sorting a lane of real numbers: elements become unsigned keys whose order is theirs (NaN last),
 * keys are sorted stably (merge sort when short, radix sort when long) and turned back. */
#ifndef RICCI_KERNELS_SORT_H
#define RICCI_KERNELS_SORT_H

#include "kernels/tensor/tensor.h"

enum { SORT_DESCENDING = 1, SORT_ONE_ZERO = 2 };   /* NaN stays last; -0 equals 0 */
/* Real dtypes only. */
void sort_load(uint64_t *keys, DType, const void *x, int64_t stride, int64_t n, unsigned how);
void sort_store(void *x, int64_t stride, DType, const uint64_t *keys, int64_t n, bool descending);
/* Bytes of a key that can differ: 1, 2, 4 or 8. */
int sort_key_bytes(DType);

/* The same for a whole lane, but looking at the interrupt flag: a set one ends any of the
 * functions that take a context early, with results that mean nothing; the caller polls. Without
 * a context nobody looks. */
void sort_load_lane(Ctx *, uint64_t *keys, DType, const void *x, int64_t stride, int64_t n,
                    unsigned how);
void sort_store_lane(Ctx *, void *x, int64_t stride, DType, const uint64_t *keys, int64_t n,
                     bool descending);

/* Sorts `lanes` lanes of n elements each, up to SORT_TOGETHER(n), by value alone (not
 * SORT_ONE_ZERO). Scratch: sort_lanes_scratch words; `dense`: both steps are 1. */
#define SORT_TOGETHER(n) ((n) <= 1 << 12 ? 16 : (n) <= 1 << 15 ? 4 : 1)
typedef struct SortLanes {
    DType dt;
    unsigned how;
    int64_t n, step, to_step;           /* of elements, in elements */
    const char *x[16];
    char *to[16];
} SortLanes;
int64_t sort_lanes_scratch(DType, int64_t n, bool dense);
void sort_lanes(Ctx *, const SortLanes *, int lanes, uint64_t *scratch);

/* Sorts n keys; scratch holds n more. */
void sort_keys(Ctx *, uint64_t *keys, uint64_t *scratch, int64_t n, int key_bytes);
/* The same, carrying `at` along; stable. Scratch: n of each. */
void sort_pairs(Ctx *, uint64_t *keys, int64_t *at, uint64_t *key_scratch,
                int64_t *at_scratch, int64_t n, int key_bytes);
/* Partitions so that keys[k] is what a full sort puts there, nothing larger before it. */
void sort_select(Ctx *, uint64_t *keys, uint64_t *scratch, int64_t n, int64_t k);

/* The q-th quantile (0 to 1) of n keys, at least one of them and none of a NaN, as NumPy
 * interpolates; `median`: half of either neighbour. `sorted`: they are; else keys are partitioned,
 * and n more behind them are scratch. */
double sort_quantile(Ctx *, uint64_t *keys, DType, int64_t n, bool sorted, bool median, double q);

/* The value behind a key that was not reversed. */
double sort_key_f64(DType, uint64_t key);
/* For i64, exactly. */
bool sort_key_is_nan(DType, uint64_t key);

#endif
