/* Tables behind semiring.h: the plain loops, which are the reference and take what is too
 * small to be worth packing; how operands are packed and results merged; and the tiles of
 * packed panels by instruction set. Only semiring*.c and direct*.c include this.
 *
 * A panel of A holds, for every k, TileSet.rows elements; one of B, for every k, some whole
 * vectors. Panels are padded with zeros, whose results are computed and dropped. Elements
 * are packed as the tile wants them: 8-bit factors as 16 bits, bools of B as 64 columns in
 * a word and those of A as words of all ones, complex numbers with their parts apart. */
#ifndef RICCI_KERNELS_SEMIRING_KERNELS_H
#define RICCI_KERNELS_SEMIRING_KERNELS_H

#include "kernels/semiring/semiring.h"

/* All of C by three nested loops. */
typedef void (*PlainGemm)(int64_t m, int64_t n, int64_t k, Mat a, Mat b, Mat c, bool accumulate);
/* All j of one position of the outer axes. */
typedef void (*PlainDirect)(const Direct *, void *c, const void *a, const void *b,
                            bool accumulate);
typedef struct PlainKernel {
    PlainGemm gemm;
    PlainDirect direct;
} PlainKernel;
extern const PlainKernel semiring_plain[SR_COUNT][DT_COUNT];

/* What packing found in a panel, where results depend on it. */
enum { PACK_NAN = 1, PACK_ABOVE = 2, PACK_BELOW = 4, PACK_ZERO = 8,     /* nan inf -inf 0 */
       PACK_WIDE = 16 };                                                /* beyond 32 bits */

/* to[q*width + i] = from[i*across + q*along] for i < used, q < k; zeros for i up to width.
 * Steps in elements, width in packed elements. */
typedef void (*PackFn)(void *to, int64_t width, const void *from, int64_t across, int64_t along,
                       int64_t used, int64_t k);
typedef int (*FindFn)(const void *packed, int64_t count);
/* C's rows x cols (+)= the tile, whose rows are ld packed elements apart. */
typedef void (*MergeFn)(Mat c, int64_t rows, int64_t cols, const void *tile, int64_t ld,
                        bool accumulate);
typedef struct PackKernel {
    int bytes;                  /* of a packed element */
    int lane;                   /* bytes of a vector that it takes: a part of a complex number */
    int columns;                /* of B in one packed element: 1, or 64 bools */
    PackFn a, b;
    FindFn find;                /* NULL: nothing is looked for */
    MergeFn merge;
} PackKernel;
extern const PackKernel semiring_pack[SR_COUNT][DT_COUNT];

/* out[i*ld + j] = reduce over q < k of combine(a[q*rows + i], b[q*vectors*lanes + j]), where
 * ld is the kernel's own `vectors` times lanes. */
typedef void (*TileFn)(int64_t k, const void *a, const void *b, void *out, int vectors);
typedef struct TileKernel {
    TileFn tile, careful;       /* careful: for panels that the first one gets wrong; NULL: none */
    int vectors;                /* in a whole panel of B */
} TileKernel;
typedef struct TileSet {
    int rows, bytes;            /* of a panel of A; of a vector */
    TileKernel kernel[SR_COUNT][DT_COUNT];
} TileSet;
extern const TileSet semiring_tiles_base, semiring_tiles_avx2, semiring_tiles_avx512;

/* Combinations below which plain loops are faster than packing. */
enum { SEMIRING_PLAIN = 256 };
const TileSet *semiring_tiles(void);        /* this machine's */

/* semiring_gemm through one set of tiles, which this machine must be able to run. */
void semiring_gemm_tiled(Ctx *, const TileSet *, Semiring, DType, int64_t m, int64_t n, int64_t k,
                         Mat a, Mat b, Mat c, bool accumulate);

#endif
