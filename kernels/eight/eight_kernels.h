/* What eight.c and the kernels of one instruction set share. A lies packed in rows of bytes without
 * signs, `depth` of them, a multiple of 4; B in panels of EIGHT_PANEL columns, and there by fours
 * of depth: four bytes with signs of one column side by side. */
#ifndef RICCI_KERNELS_EIGHT_KERNELS_H
#define RICCI_KERNELS_EIGHT_KERNELS_H

#include <stdint.h>

enum { EIGHT_ROWS = 6, EIGHT_PANEL = 64 };

/* sum[i*EIGHT_PANEL + j] = the product's element, for `rows` rows (EIGHT_ROWS at most) and at least
 * `columns` columns. */
typedef void EightTile(int rows, int columns, int64_t depth, const uint8_t *a, const int8_t *b,
                       int32_t *sum);
EightTile eight_tile_base, eight_tile_avx2, eight_tile_avxvnni, eight_tile_avx512;

#endif
