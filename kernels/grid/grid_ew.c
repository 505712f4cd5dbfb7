/* Elementwise operations by the ordinary kernels on slabs: operands of one shape lie alike. */
#include "kernels/cast/ew_run.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/grid/grid_rank.h"

#include <string.h>

typedef struct Operands {
    int count;
    const GridTensor *tensor[3];         /* NULL: a number */
    GridScalar number[3];
    Tensor *in[3];
} Operands;

static bool same_shape(const GridTensor *t, int axes, const int64_t *shape)
{
    return t->axes == axes && memcmp(t->shape, shape, (size_t)axes * sizeof *shape) == 0;
}

static void check_broadcast(GridRank *g, const GridTensor *t, int axes, const int64_t *shape)
{
    int64_t both[TENSOR_RANK_MAX];
    int bad;
    if (shape_broadcast(t->axes, t->shape, axes, shape, both, &bad) != axes ||
        memcmp(both, shape, (size_t)axes * sizeof *shape) != 0)
        err_raise(g->ctx, ERR_DEVICE, "an operand that does not broadcast to the result");
}

static void read_operands(GridRank *g, Wire *in, Operands *o)
{
    o->count = (int)wire_get_u64(in);
    if (o->count < 1 || o->count > 3)
        err_raise(g->ctx, ERR_DEVICE, "an operation with %d operands", o->count);
    for (int k = 0; k < o->count; k++) {
        o->tensor[k] = NULL;
        if (wire_get_u64(in) == 0)
            o->tensor[k] = grid_find(g, wire_get_u64(in));
        else
            o->number[k] = grid_read_scalar(g, in);
    }
}

typedef struct ScalarMade { GridScalar *from; Tensor *made; } ScalarMade;

static void make_scalar(GridRank *g, void *with)
{
    ScalarMade *s = with;
    s->made = tensor_scalar(g->ctx, s->from->dtype, s->from->bytes);
}

/* Operands as local tensors. Those of another shape are redistributed, all ranks together. */
static void local_operands(GridRank *g, Operands *o, int axes, const int64_t *shape)
{
    for (int k = 0; k < o->count; k++) {
        const GridTensor *t = o->tensor[k];
        if (!t || same_shape(t, axes, shape))
            continue;
        check_broadcast(g, t, axes, shape);
        GridTensor *wide = grid_tensor(g, t->dtype, axes, shape, false);
        GridView v = grid_view_broadcast(t, axes, shape);
        grid_pack(g, wide, t, &v);
        o->tensor[k] = wide;
    }
    for (int k = 0; k < o->count; k++) {
        ScalarMade s = { &o->number[k], NULL };
        if (!o->tensor[k])
            grid_try(g, make_scalar, &s);
        o->in[k] = o->tensor[k] ? o->tensor[k]->local : s.made;
    }
}

static void drop_scalars(GridRank *g, Operands *o)
{
    for (int k = 0; k < o->count; k++)
        if (!o->tensor[k] && o->in[k])
            tensor_release(g->ctx, o->in[k]);
}

void grid_do_ew(GridRank *g, Wire *in, Buf *out)
{
    int64_t shape[TENSOR_RANK_MAX];
    Operands o;
    uint64_t id = wire_get_u64(in);
    int axes = grid_read_shape(g, in, shape);
    uint64_t op = wire_get_u64(in);
    DType compute = grid_read_dtype(g, in);
    read_operands(g, in, &o);
    if (op >= EW_COUNT || ew_info[op].arity != o.count ||
        ew_compute_dtype((EwOp)op, compute) != compute)
        err_raise(g->ctx, ERR_DEVICE, "an elementwise operation that there is not");
    local_operands(g, &o, axes, shape);
    GridTensor *t = g->lacking ? NULL : grid_tensor(g, ew_result_dtype((EwOp)op, compute), axes,
                                                    shape, false);
    EwTrouble trouble = t ? ew_run(g->ctx, (EwOp)op, compute, t->local, o.in) : EWT_NONE;
    drop_scalars(g, &o);
    grid_need(g);
    wire_u64(out, trouble);
    if (trouble == EWT_NONE)
        grid_keep(g, id, t);
}

/* ---- casts ---- */
/* The first element, in row-major order of the whole, that does not fit: its index plus 1. */
static uint64_t first_misfit(GridRank *g, const GridTensor *t, DType to, char *element)
{
    int64_t wide = t->axes > 1 ? t->shape[1] : 1, best = -1, inner = t->slab.inner;
    const char *x = grid_data(t);
    for (int64_t n = 0; n < t->slab.size; n++, x += grid_bytes(t)) {
        _Alignas(16) char one[16];
        if (cast_run(to, one, 1, t->dtype, x, 1, 1) < 0)
            continue;
        int64_t i = grid_row(g, n / inner % t->slab.rows);
        int64_t at = (i * wide + grid_col(g, n / inner / t->slab.rows)) * inner + n % inner;
        if (best < 0 || at < best) {
            best = at;
            memcpy(element, x, grid_bytes(t));
        }
    }
    return (uint64_t)(best + 1);
}

void grid_do_cast(GridRank *g, Wire *in, Buf *out)
{
    _Alignas(16) char element[16] = { 0 };
    uint64_t id = wire_get_u64(in), misfit = 0;
    const GridTensor *from = grid_find(g, wire_get_u64(in));
    DType to = grid_read_dtype(g, in);
    GridTensor *t = grid_tensor(g, to, from->axes, from->shape, false);
    grid_need(g);
    if (cast_run(to, grid_data(t), 1, from->dtype, grid_data(from), 1,
                 t->slab.size) >= 0)
        misfit = first_misfit(g, from, to, element);
    wire_u64(out, misfit);
    grid_write_scalar(out, from->dtype, element);
    if (!misfit)
        grid_keep(g, id, t);
}

/* ---- triangles ---- */
void grid_triangle(GridRank *g, GridTensor *t, bool upper, int64_t k)
{
    size_t bytes = grid_bytes(t);
    for (int64_t j = 0; j < t->slab.cols; j++) {
        char *column = grid_data(t) + (size_t)(j * t->slab.rows) * bytes;
        int64_t edge;                            /* row j - k is the diagonal's */
        if (__builtin_sub_overflow(grid_col(g, j), k, &edge))
            edge = k < 0 ? INT64_MAX : INT64_MIN;
        for (int64_t i = 0; i < t->slab.rows; i++) {
            int64_t row = grid_row(g, i);
            if (upper ? row > edge : row < edge)
                memset(column + (size_t)i * bytes, 0, bytes);
        }
    }
}

void grid_do_triangle(GridRank *g, Wire *in, Buf *out)
{
    uint64_t id = wire_get_u64(in);
    const GridTensor *from = grid_find(g, wire_get_u64(in));
    bool upper = wire_get_u64(in) != 0;
    int64_t k = wire_get_i64(in);
    (void)out;
    if (from->axes != 2)
        err_raise(g->ctx, ERR_SHAPE, "triangles are of matrices");
    GridTensor *t = grid_twin(g, from);
    grid_need(g);
    grid_triangle(g, t, upper, k);
    grid_keep(g, id, t);
}
