/* What the files of a rank share: its tensors, room to work in, messages between ranks.
 * How memory fails: nothing that makes room raises; it notes what this rank lacks and returns NULL.
 * Before ranks do anything together grid_agree asks all of them, and then every rank raises or none
 * does, so that no rank waits for one that refused. What a rank does alone asks grid_need. */
#ifndef RICCI_KERNELS_GRID_RANK_H
#define RICCI_KERNELS_GRID_RANK_H

#include "core/base/error.h"
#include "kernels/grid/grid.h"

typedef struct GridTensor {
    struct GridTensor *next;     /* of those that end with the command */
    uint64_t id;                 /* 0: it has none yet */
    DType dtype;
    int axes;
    int64_t shape[TENSOR_RANK_MAX];
    GridSlab slab;
    Tensor *local;               /* contiguous: cols x rows x the other axes */
} GridTensor;

typedef struct GridWork {        /* before each block of room */
    struct GridWork *next;
    size_t bytes;
} GridWork;

struct GridRank {
    Ctx *ctx;
    GridShape grid;
    int rank, ranks, row, col;
    int context;                 /* of BLACS */
    GridTensor **tensors;        /* by rising number */
    int64_t count, cap;
    GridTensor *temporary;
    GridWork *work;
    bool lacking;                /* memory, of this many bytes: 0: it is not known */
    size_t lacks;
    uint64_t between;            /* bytes of tensors that were sent to other ranks */
};

/* ---- tensors and room, until the command ends (grid_rank.c) ---- */
GridTensor *grid_find(GridRank *, uint64_t id);          /* raises where there is none */
/* NULL: no memory */
GridTensor *grid_tensor(GridRank *, DType, int axes, const int64_t *shape, bool zeroed);
/* The same elements, under a shape of the same layout: nobody writes into either before
 * tensor_unshare. NULL: no memory. */
GridTensor *grid_alias(GridRank *, const GridTensor *, int axes, const int64_t *shape);
/* A tensor like another one, with a copy of its elements. */
GridTensor *grid_twin(GridRank *, const GridTensor *);
void grid_keep(GridRank *, uint64_t id, GridTensor *);   /* from now on it has that number */
void *grid_work(GridRank *, size_t count, size_t bytes); /* NULL: no memory; zeroed */
/* Runs what may raise for memory; false: it did, and that is noted. */
bool grid_try(GridRank *, void (*run)(GridRank *, void *), void *with);
void grid_need(GridRank *);
void grid_agree(GridRank *);
/* The slab's first element. */
static inline char *grid_data(const GridTensor *t) { return t->local->data; }
static inline size_t grid_bytes(const GridTensor *t) { return dtype_info(t->dtype)->bytes; }
/* The global index of a slab's row, or column. */
static inline int64_t grid_row(const GridRank *g, int64_t i)
{
    return grid_global(i, g->grid.nb, g->row, g->grid.p);
}
static inline int64_t grid_col(const GridRank *g, int64_t j)
{
    return grid_global(j, g->grid.nb, g->col, g->grid.q);
}

/* ---- arguments (grid_rank.c) ---- */
DType grid_read_dtype(GridRank *, Wire *);
int grid_read_shape(GridRank *, Wire *, int64_t shape[TENSOR_RANK_MAX]);
typedef struct GridScalar { DType dtype; _Alignas(16) char bytes[16]; } GridScalar;
GridScalar grid_read_scalar(GridRank *, Wire *);
void grid_write_scalar(Buf *, DType, const void *element);

/* A view of the dense row-major tensor that `base` stands for. */
typedef struct GridView {
    int axes;
    int64_t shape[TENSOR_RANK_MAX], stride[TENSOR_RANK_MAX], offset;
    const int64_t *list[TENSOR_RANK_MAX];        /* NULL: every index is its own */
} GridView;
/* Raises if any of it lies outside of base. */
void grid_read_view(GridRank *, Wire *, const GridTensor *base, GridView *);

/* ---- redistribution (grid_move.c) ---- */
/* All ranks together. `dense` has the view's shape and base's dtype. */
void grid_pack(GridRank *, GridTensor *dense, const GridTensor *base, const GridView *);
void grid_assign(GridRank *, GridTensor *base, const GridView *, const GridTensor *dense);
/* The base broadcast to a shape, transposed (a matrix), or with another shape of as many. */
GridView grid_view_broadcast(const GridTensor *base, int axes, const int64_t *shape);
GridView grid_view_turned(const GridTensor *base);
GridView grid_view_dense(int axes, const int64_t *shape);

/* ---- messages between ranks (grid_blacs.c) ---- */
typedef enum GridScope { SCOPE_ROW, SCOPE_COLUMN, SCOPE_ALL } GridScope;
void grid_send(GridRank *, int to, const void *, size_t bytes);
void grid_receive(GridRank *, int from, void *, size_t bytes);
/* To all of the scope from its member `from` (in a row: the column), in place. */
void grid_share(GridRank *, GridScope, int from, void *, size_t bytes);
/* all[k] = what member k < members has in `mine`: `members` times `bytes`, known to all. */
void grid_collect(GridRank *, GridScope, int members, const void *mine, size_t bytes, void *all);
int grid_members(const GridRank *, GridScope);
double grid_sum(GridRank *, GridScope, double);          /* in the order of the members */
double grid_largest(GridRank *, GridScope, double);      /* a NaN wins */
void grid_sum_ints(GridRank *, GridScope, int n, int *);
/* n elements of a type of ScaLAPACK at member `to`, where those of the others are lost; or at all
 * of them. */
enum { ALL_MEMBERS = -1 };
void grid_sum_to(GridRank *, GridScope, int to, DType, int64_t n, void *);
bool grid_all(GridRank *, bool);                         /* do all say so? */

/* ---- ScaLAPACK (grid_linalg.c) ---- */
typedef struct GridDesc { int at[9]; } GridDesc;
GridDesc grid_desc(const GridRank *, const GridTensor *);
/* Raises for lengths beyond 32 bits and dtypes that ScaLAPACK has not. */
void grid_check_matrix(GridRank *, const GridTensor *);
int grid_type(DType);                                    /* 0 … 3: s d c z */

typedef struct GridFacts { bool hermitian, lower, upper, finite; } GridFacts;
GridFacts grid_facts(GridRank *, const GridTensor *);    /* together */
double grid_norm_one(GridRank *, const GridTensor *);    /* together */
/* The leading rows x cols of a matrix (or as many zeros more), without messages. */
GridTensor *grid_leading(GridRank *, const GridTensor *, int64_t rows, int64_t cols);
int *grid_pivots(GridRank *, const GridTensor *);        /* room; NULL: no memory */
int grid_answer(int type, const void *work);             /* to a query of work space */
bool grid_positive_diagonal(GridRank *, GridTensor *);   /* together */
/* Zeros on one side of diagonal k. */
void grid_triangle(GridRank *, GridTensor *, bool upper, int64_t k);
/* f(with, i, j, element) for each element that this rank has of diagonal 0. */
void grid_each_diagonal(GridRank *, GridTensor *, void (*f)(void *, int64_t i, void *), void *);

#define GRID(NAME, function, meaning) void grid_do_##function(GridRank *, Wire *, Buf *);
#include "kernels/grid/grid.def"
#undef GRID

#endif
