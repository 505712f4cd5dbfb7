/* What a rank of a grid of processes does: it holds its slab of every tensor and obeys the commands
 * of grid.def. Layout of a tensor of shape (d0, d1, rest…) on a p x q grid with blocks of nb:
 * axis 0
 * is block-cyclic over the p grid rows, axis 1 over the q grid columns, and the `inner` elements of
 * the other axes stay together. A vector is d0 x 1: grid column 0 alone has it. Rank number r
 * stands
 * at row r / q, column r % q. A slab has its rows x cols pieces column by column: what ScaLAPACK
 * expects of a matrix. */
#ifndef RICCI_KERNELS_GRID_H
#define RICCI_KERNELS_GRID_H

#include "core/base/buf.h"
#include "kernels/grid/wire.h"
#include "kernels/tensor/tensor.h"

typedef enum GridOp {
#define GRID(NAME, function, meaning) GRID_##NAME,
#include "kernels/grid/grid.def"
#undef GRID
    GRID_OPS
} GridOp;

const char *grid_op_name(uint32_t op);           /* `solve`; "?" beyond the last */

/* ---- layouts: for both sides, pure ---- */
typedef struct GridShape { int p, q, nb; } GridShape;

typedef struct GridSlab {
    int64_t rows, cols, inner;   /* pieces along axes 0 and 1, elements of each */
    int64_t size;                /* all elements */
} GridSlab;

/* Of n in blocks over `procs`, how many process `me` has; whose g is; which of its own it is there;
 * and back. */
int64_t grid_numroc(int64_t n, int nb, int me, int procs);
int grid_owner(int64_t g, int nb, int procs);
int64_t grid_local(int64_t g, int nb, int procs);
int64_t grid_global(int64_t l, int nb, int me, int procs);
GridSlab grid_slab(const GridShape *, int rank, int axes, const int64_t *shape);
size_t grid_slab_bytes(const GridShape *, int rank, DType, int axes, const int64_t *shape);
/* The rank that has the element of this row-major index, and where in its slab. */
int grid_home(const GridShape *, int axes, const int64_t *shape, int64_t index, int64_t *at);
/* n elements of so many bytes from one stride to another, in elements. */
void grid_copy_strided(size_t bytes, int64_t n, char *to, int64_t ts, const char *from, int64_t fs);
/* Between a tensor on the host, of any strides, and the bytes at … at + n of the slab of a rank
 * (`at`
 * and n whole elements): what GroupPieces asks for. Quick for dense ones. */
void grid_slab_fill(const GridShape *, int rank, const Tensor *, uint64_t at, void *to, size_t n);
void grid_slab_take(const GridShape *, int rank, Tensor *, uint64_t at, const void *from, size_t n);

/* ---- the libraries, without entering them ---- */
/* The file that would be opened for ranks under this launcher's MPI ("openmpi", "mpich" or NULL:
 * any),
 * or NULL: there is none that can be. Opens nothing. */
const char *grid_library(const char *mpi);

/* ---- a rank ---- */
typedef struct GridRank GridRank;

/* Enters MPI and makes the grid; every rank of p * q calls it. Raises ERR_DEVICE with what is
 * missing. */
GridRank *grid_open(Ctx *, GridShape);
void grid_close(GridRank *);                     /* leaves MPI; the process may end then */
int grid_rank(const GridRank *);                 /* 0 … p * q - 1 */
/* Obeys a command: reads its arguments from `in`, appends the answer to `out`. Raises errors
 * (memory, device …) after which the rank is as before, but for dst. Where a rank has no memory
 * for what they do together all raise: it `memory`, the others `device`, "rank 3 had no memory:
 * nothing was done". */
void grid_command(GridRank *, uint32_t op, Wire *in, Buf *out);
/* ---- what answers mean ---- */
typedef enum GridNorm { GRID_NORM_FRO, GRID_NORM_ONE, GRID_NORM_INF, GRID_NORM_MAX } GridNorm;
/* A vector's: FRO is its 2-norm, ONE the sum and INF or MAX the largest of magnitudes. */

typedef enum GridSolved { SOLVED_DIAGONAL, SOLVED_LOWER, SOLVED_UPPER, SOLVED_CHOLESKY, SOLVED_LU }
    GridSolved;
const char *grid_solved_text(GridSolved);        /* `p?potrf, p?potrs` */

/* Eigenvalues by divide and conquer? It sorts its vectors with less room than the sort wants where
 * a rank has few columns of a matrix of several blocks, whatever room it is given: QR there. */
bool grid_divides(const GridShape *, int64_t n);

/* ---- a model of what a routine costs (grid_cost.c) ---- */
/* Seconds to begin a message, bytes a second through a rank's own connection, operations a second
 * of a rank in products of matrices, bytes a second that it reads of its memory. */
typedef struct GridNetwork { double latency, bandwidth, flops, memory; } GridNetwork;
extern const GridNetwork grid_network_here;      /* of ranks of one machine, as measured */
typedef struct GridCost {
    double flops;                /* of a rank */
    double slow;                 /* those of them that wait for memory: a matrix times a vector */
    double bytes, messages;      /* that a rank receives */
    double memory;               /* bytes that a rank holds: operands, result, copies, work space */
    double seconds;              /* on the network that was given; nothing overlaps */
} GridCost;
/* Of a command on an m x n matrix (GRID_PACK: its transposition); k: what GRID_GEMM sums over (it
 * makes m x n), right sides of GRID_SOLVE and GRID_LSTSQ. False: there is no model of it. */
bool grid_cost(GridOp, DType, int64_t m, int64_t n, int64_t k, const GridShape *,
               const GridNetwork *, GridCost *);

#endif
