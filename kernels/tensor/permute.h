/* Copies between layouts: dst[i…] = src[i…] for elements of 1, 2, 4, 8, 16 or 32 bytes and
 * any strides, as fast as memory allows. Transpositions go through blocks of whole cache
 * lines; results larger than the cache are written past it. */
#ifndef RICCI_KERNELS_PERMUTE_H
#define RICCI_KERNELS_PERMUTE_H

#include "kernels/tensor/iter.h"

/* it: operand 0 is dst, operand 1 src (strides in elements). The memory must not overlap. */
void permute_copy(Ctx *, const Iter *it, int element_bytes, void *dst, const void *src);

/* Results from this size on do not stay in the cache: written with non-temporal stores. */
enum { STREAM_BYTES = 16 << 20 };
/* memcpy of one piece of such a result (any alignment). Call stream_fence once at the end. */
void stream_copy(void *dst, const void *src, size_t bytes);
void stream_fence(void);
/* The same, which asks meanwhile for as many bytes at each of `count` places, 3 at most: what will
 * be read next comes while this is written. */
void stream_copy_ahead(void *dst, const void *src, size_t bytes, const char *const *ahead,
                       int count);

/* dst[j*ds + i] = src[i*ss + j] for i < rows, j < columns, through the best block there is. */
void permute_block(int element_bytes, void *dst, int64_t ds, const void *src, int64_t ss,
                   int64_t rows, int64_t columns);

/* One block of a transposition: dst[j*ds + i] = src[i*ss + j] for i < rows, j < columns. */
typedef void (*TransposeFn)(void *dst, int64_t ds, const void *src, int64_t ss, int64_t rows,
                            int64_t columns, bool stream);
/* By log2 of the element's bytes; NULL where there is no better than the plain one. */
enum { PERMUTE_SIZES = 6 };
extern const TransposeFn transpose_base[PERMUTE_SIZES], transpose_avx2[PERMUTE_SIZES];

#endif
