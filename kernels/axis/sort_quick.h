/* Sorting keys in place by the vectors of one instruction set: quicksort down to what a network
 * sorts in registers. Equal keys cannot be told apart, so every way gives the same bits. */
#ifndef RICCI_KERNELS_SORT_QUICK_H
#define RICCI_KERNELS_SORT_QUICK_H

#include "kernels/tensor/tensor.h"

/* Keys of one width, signed. The bounds of a range are inclusive and need not occur in it. */
typedef struct SortQuick {
    /* Ascending; a set interrupt flag (NULL: nobody looks) leaves them in any order. */
    void (*sort)(void *keys, int64_t n, int64_t low, int64_t high, const InterruptFlag *stop);
    /* The middle of a sample; how many are at most `pivot`, now before the others. */
    int64_t (*pivot)(const void *keys, int64_t n);
    int64_t (*split)(void *keys, int64_t n, int64_t pivot);
    /* Floats that lie together to keys and back, NaN last; may be in place. */
    void (*load)(void *keys, const void *x, int64_t n, bool descending);
    void (*store)(void *x, const void *keys, int64_t n, bool descending);
} SortQuick;

extern const SortQuick sort_quick64_avx2, sort_quick32_avx2;
extern const SortQuick sort_quick64_avx512, sort_quick32_avx512;

#endif
