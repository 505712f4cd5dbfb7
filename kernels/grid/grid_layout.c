/* Which rank has what: pure arithmetic, and copies between host tensors and slabs. */
#include "kernels/grid/grid.h"

#include <string.h>

const char *grid_op_name(uint32_t op)
{
    static const char *const names[] = {
#define GRID(NAME, function, meaning) #function,
#include "kernels/grid/grid.def"
#undef GRID
    };
    return op < GRID_OPS ? names[op] : "?";
}

int64_t grid_numroc(int64_t n, int nb, int me, int procs)
{
    int64_t blocks = n / nb, own = blocks / procs * nb, extra = blocks % procs;
    return own + (me < extra ? nb : me == extra ? n % nb : 0);
}

int grid_owner(int64_t g, int nb, int procs) { return (int)(g / nb % procs); }

int64_t grid_local(int64_t g, int nb, int procs)
{
    return g / nb / procs * nb + g % nb;
}

int64_t grid_global(int64_t l, int nb, int me, int procs)
{
    return (l / nb * procs + me) * nb + l % nb;
}

GridSlab grid_slab(const GridShape *g, int rank, int axes, const int64_t *shape)
{
    GridSlab s = { .inner = 1 };
    s.rows = grid_numroc(shape[0], g->nb, rank / g->q, g->p);
    s.cols = grid_numroc(axes > 1 ? shape[1] : 1, g->nb, rank % g->q, g->q);
    for (int a = 2; a < axes; a++)
        s.inner *= shape[a];
    s.size = s.rows * s.cols * s.inner;
    return s;
}

size_t grid_slab_bytes(const GridShape *g, int rank, DType dt, int axes, const int64_t *shape)
{
    return (size_t)grid_slab(g, rank, axes, shape).size * dtype_info(dt)->bytes;
}

int grid_home(const GridShape *g, int axes, const int64_t *shape, int64_t index, int64_t *at)
{
    GridSlab s = grid_slab(g, 0, axes, shape);
    int64_t wide = axes > 1 ? shape[1] : 1, k = index % s.inner, j = index / s.inner % wide;
    int64_t i = index / s.inner / wide;
    int row = grid_owner(i, g->nb, g->p), col = grid_owner(j, g->nb, g->q);
    int64_t rows = grid_numroc(shape[0], g->nb, row, g->p);
    *at = (grid_local(i, g->nb, g->p) + grid_local(j, g->nb, g->q) * rows) * s.inner + k;
    return row * g->q + col;
}

/* ---- between host tensors and slabs ---- */
typedef struct Piece { double a, b; } Piece;     /* 16 bytes */

void grid_copy_strided(size_t bytes, int64_t n, char *to, int64_t ts, const char *from, int64_t fs)
{
    if (ts == 1 && fs == 1) {
        memcpy(to, from, (size_t)n * bytes);
        return;
    }
#define COPY(T)                                                                                  \
    for (int64_t i = 0; i < n; i++)                                                              \
        ((T *)to)[i * ts] = ((const T *)from)[i * fs];                                           \
    break
    switch (bytes) {
    case 1: COPY(uint8_t);
    case 2: COPY(uint16_t);
    case 4: COPY(uint32_t);
    case 8: COPY(uint64_t);
    default: COPY(Piece);
    }
#undef COPY
}

/* The elements from `k` on of the piece at (i, j) of the host, which are not dense there. */
static void copy_piece(const Tensor *t, char *slab, char *host, int64_t k, int64_t n, bool in)
{
    size_t bytes = dtype_info((DType)t->dtype)->bytes;
    const int64_t *shape = tensor_shape(t), *strides = tensor_strides(t);
    for (int64_t x = 0; x < n; x++) {
        int64_t left = k + x, at = 0;
        for (int a = t->rank - 1; a > 1; a--) {
            at += left % shape[a] * strides[a];
            left /= shape[a];
        }
        char *element = host + at * (int64_t)bytes, *own = slab + x * (int64_t)bytes;
        memcpy(in ? element : own, in ? own : element, bytes);
    }
}

static bool inner_dense(const Tensor *t)
{
    const int64_t *shape = tensor_shape(t), *strides = tensor_strides(t);
    int64_t step = 1;
    for (int a = t->rank - 1; a > 1; a--) {
        if (shape[a] != 1 && strides[a] != step)
            return false;
        step *= shape[a];
    }
    return true;
}

/* Bytes at … at + n of a slab, which stand in `part`, and the tensor: into it or out of it. */
static void copy_slab(const GridShape *g, int rank, const Tensor *t, uint64_t at, char *part,
                      size_t n, bool in)
{
    int64_t bytes = dtype_info((DType)t->dtype)->bytes;
    const int64_t *strides = tensor_strides(t);
    GridSlab s = grid_slab(g, rank, t->rank, tensor_shape(t));
    int64_t from = (int64_t)at / bytes, end = from + (int64_t)n / bytes;
    int64_t rs = strides[0], cs = t->rank > 1 ? strides[1] : 0;
    bool dense = inner_dense(t);
    while (from < end && s.size) {
        int64_t piece = from / s.inner, k = from % s.inner, some;
        int64_t i = piece % s.rows, j = piece / s.rows;
        char *host = t->data + bytes * (rs * grid_global(i, g->nb, rank / g->q, g->p) +
                                        cs * grid_global(j, g->nb, rank % g->q, g->q));
        if (s.inner == 1) {                      /* down the column, to the end of the block */
            some = g->nb - i % g->nb;
            some = some < s.rows - i ? some : s.rows - i;
            some = some < end - from ? some : end - from;
            grid_copy_strided((size_t)bytes, some, in ? host : part, in ? rs : 1, in ? part : host,
                         in ? 1 : rs);
        } else {
            some = s.inner - k < end - from ? s.inner - k : end - from;
            if (dense)
                memcpy(in ? host + k * bytes : part, in ? part : host + k * bytes,
                       (size_t)(some * bytes));
            else
                copy_piece(t, part, host, k, some, in);
        }
        part += some * bytes;
        from += some;
    }
}

void grid_slab_fill(const GridShape *g, int rank, const Tensor *t, uint64_t at, void *to, size_t n)
{
    copy_slab(g, rank, t, at, to, n, false);
}

void grid_slab_take(const GridShape *g, int rank, Tensor *t, uint64_t at, const void *from,
                    size_t n)
{
    copy_slab(g, rank, t, at, (char *)from, n, true);
}

bool grid_divides(const GridShape *g, int64_t n)
{
    for (int r = 0; r < g->p * g->q && n > g->nb; r++) {
        GridSlab s = grid_slab(g, r, 2, (int64_t[]){ n, n });
        if (s.rows * (g->nb - s.cols) > 6 * n)
            return false;
    }
    return true;
}

const char *grid_solved_text(GridSolved how)
{
    static const char *const text[] = { "a division", "p?trtrs", "p?trtrs", "p?potrf, p?potrs",
                                        "p?getrf, p?getrs" };
    return text[how];
}
