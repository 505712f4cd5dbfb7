/* A matrix in somebody's buffer, as products take their operands. */
#ifndef RICCI_KERNELS_MAT_H
#define RICCI_KERNELS_MAT_H

#include <stdint.h>

/* Element (i, j) is data[i*rs + j*cs], counted in elements. */
typedef struct Mat {
    char *data;
    int64_t rs, cs;
} Mat;

#endif
