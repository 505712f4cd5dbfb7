/* c = a @ b by panels of them (grid_product.c). All ranks together. */
#ifndef RICCI_KERNELS_GRID_PRODUCT_H
#define RICCI_KERNELS_GRID_PRODUCT_H

#include "kernels/grid/grid_rank.h"

/* m x n, k is summed over; N: a factor as it is, T: transposed, C: conjugated too. */
typedef struct GridFactors {
    const GridTensor *a, *b;
    char ta, tb;
    int64_t m, n, k;
} GridFactors;

/* False: other pieces than those of this algorithm are the small ones, and PBLAS moves them. */
bool grid_product_pays(const GridRank *, const GridFactors *);
void grid_product(GridRank *, GridTensor *c, const GridFactors *);

#endif
