/* Buffers whose elements are cells (dtype_cells): 16 bytes that may point to a block of a heap. All
 * that live are in a register, so that whoever owns the heap finds what is still held. What a
 * cell or a block holds is not known here: see kernels/rational/rational.h. */
#ifndef RICCI_KERNELS_CELLS_H
#define RICCI_KERNELS_CELLS_H

#include "kernels/tensor/tensor.h"

/* Ctx.cells, made when the first such buffer is. */
typedef struct Cells {
    Buffer **buffers;                  /* live ones; Buffer.flags is the place here */
    size_t count, cap;
    struct RationalHeap *heap;         /* of the blocks; NULL: there was none yet */
} Cells;

/* The register; NULL: no memory. */
Cells *cells_try(Ctx *);
/* A registered buffer of so many bytes, all zero; it takes itself out when it is released. */
Buffer *cells_buffer(Ctx *, size_t bytes);
/* When no buffer is left and the heap is gone. */
void cells_free(Ctx *);

#endif
