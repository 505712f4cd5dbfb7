/* Tensors from nothing, from their slabs, from numbers; and back. Nothing here asks another rank.
 * */
#include "kernels/cast/tensor_cast.h"
#include "kernels/grid/grid_rank.h"
#include "kernels/random/rng.h"

#include <string.h>

/* A new tensor that this rank makes alone. */
static GridTensor *made(GridRank *g, DType dt, int axes, const int64_t *shape, bool zeroed)
{
    GridTensor *t = grid_tensor(g, dt, axes, shape, zeroed);
    grid_need(g);
    return t;
}

static void fill_scalar(GridTensor *t, const char *element)
{
    size_t bytes = grid_bytes(t), all = (size_t)t->slab.size * bytes, done = bytes;
    char *data = grid_data(t);
    if (!all)
        return;
    memcpy(data, element, bytes);
    for (; done < all; done *= 2)
        memcpy(data + done, data, done < all - done ? done : all - done);
}

void grid_do_full(GridRank *g, Wire *in, Buf *out)
{
    int64_t shape[TENSOR_RANK_MAX];
    static const char zero[16];
    uint64_t id = wire_get_u64(in);
    int axes = grid_read_shape(g, in, shape);
    GridScalar value = grid_read_scalar(g, in);
    bool zeros = memcmp(value.bytes, zero, dtype_info(value.dtype)->bytes) == 0;
    (void)out;
    GridTensor *t = made(g, value.dtype, axes, shape, zeros);
    if (!zeros)
        fill_scalar(t, value.bytes);
    grid_keep(g, id, t);
}

void grid_each_diagonal(GridRank *g, GridTensor *t, void (*f)(void *, int64_t i, void *),
                        void *with)
{
    size_t bytes = grid_bytes(t);
    for (int64_t i = 0; i < t->slab.rows; i++) {
        int64_t at = grid_row(g, i);
        if (at >= t->shape[1] || grid_owner(at, g->grid.nb, g->grid.q) != g->col)
            continue;
        int64_t j = grid_local(at, g->grid.nb, g->grid.q);
        f(with, at, grid_data(t) + (size_t)(i + j * t->slab.rows) * bytes);
    }
}

void grid_do_eye(GridRank *g, Wire *in, Buf *out)
{
    int64_t shape[TENSOR_RANK_MAX];
    _Alignas(16) char one[16];
    int64_t whole = 1;
    uint64_t id = wire_get_u64(in);
    DType dt = grid_read_dtype(g, in);
    int axes = grid_read_shape(g, in, shape);
    int64_t k = wire_get_i64(in);
    (void)out;
    if (axes != 2)
        err_raise(g->ctx, ERR_SHAPE, "eye makes matrices");
    GridTensor *t = made(g, dt, axes, shape, true);
    cast_run(dt, one, 1, DT_I64, &whole, 1, 1);
    for (int64_t i = 0; i < t->slab.rows; i++) {
        int64_t row = grid_row(g, i), col;
        if (__builtin_add_overflow(row, k, &col) || col < 0 || col >= shape[1] ||
            grid_owner(col, g->grid.nb, g->grid.q) != g->col)
            continue;
        int64_t j = grid_local(col, g->grid.nb, g->grid.q);
        memcpy(grid_data(t) + (size_t)(i + j * t->slab.rows) * grid_bytes(t), one, grid_bytes(t));
    }
    grid_keep(g, id, t);
}

/* ---- sequences ---- */
typedef struct Sequence {
    uint64_t kind;
    int64_t start, step;
    double first, by, last;
    int64_t n;
} Sequence;

static void sequence_element(const Sequence *s, int64_t i, char *wide)
{
    if (s->kind == 0) {
        int64_t v = (int64_t)((uint64_t)s->start + (uint64_t)i * (uint64_t)s->step);
        memcpy(wide, &v, 8);
        return;
    }
    double v = s->kind == 2 && i == s->n - 1 && i > 0 ? s->last : s->first + (double)i * s->by;
    memcpy(wide, &v, 8);
}

void grid_do_sequence(GridRank *g, Wire *in, Buf *out)
{
    uint64_t id = wire_get_u64(in), misfit = 0;
    DType dt = grid_read_dtype(g, in);
    Sequence s = { .n = wire_get_i64(in) };
    s.kind = wire_get_u64(in);
    uint64_t start = wire_get_u64(in), step = wire_get_u64(in);
    memcpy(s.kind ? (void *)&s.first : &s.start, &start, 8);
    memcpy(s.kind ? (void *)&s.by : &s.step, &step, 8);
    s.last = wire_get_f64(in);
    shape_checked(g->ctx, 1, &s.n);
    GridTensor *t = made(g, dt, 1, &s.n, false);
    for (int64_t i = 0; i < t->slab.size; i++) {
        char wide[8];
        sequence_element(&s, grid_row(g, i), wide);
        if (cast_run(dt, grid_data(t) + (size_t)i * grid_bytes(t), 1, s.kind ? DT_F64 : DT_I64,
                     wide, 1, 1) >= 0 && !misfit)
            misfit = (uint64_t)grid_row(g, i) + 1;
    }
    wire_u64(out, misfit);
    grid_keep(g, id, t);
}

/* ---- random numbers ---- */
enum { DRAWN = 1 << 12 };        /* elements at a time */

typedef struct Draw {
    GridRank *g;
    uint64_t kind, span;
    int64_t low;
    RngStream stream;
    int per_block;
    DType made;                  /* what is drawn; cast to the tensor's */
    char *buffer;
    uint64_t misfit;
} Draw;

/* Elements `from` … of the whole tensor in row-major order: as if all before were drawn too. */
static const char *draw(Draw *d, int64_t from, int64_t n)
{
    RngStream s = d->stream;
    int64_t skip = from % d->per_block;
    s.counter += (uint64_t)(from / d->per_block);
    if (d->kind == 2)
        rng_integers(d->g->ctx, &s, (int64_t *)d->buffer, d->low, d->span, n);
    else
        (d->kind ? rng_normal : rng_uniform)(d->g->ctx, &s, d->made, d->buffer, n + skip);
    return d->buffer + (size_t)skip * dtype_info(d->made)->bytes;
}

/* n elements that stand one behind another in row-major order; `step`: where they stand here. */
static void draw_run(Draw *d, GridTensor *t, int64_t from, int64_t n, int64_t at, int64_t step)
{
    size_t bytes = grid_bytes(t);
    for (int64_t done = 0; done < n; done += DRAWN) {
        int64_t some = n - done < DRAWN ? n - done : DRAWN;
        const char *drawn = draw(d, from + done, some);
        int64_t bad = cast_run(t->dtype, grid_data(t) + (size_t)(at + done * step) * bytes, step,
                               d->made, drawn, 1, some);
        if (bad >= 0 && !d->misfit)
            d->misfit = (uint64_t)(from + done + bad) + 1;
    }
}

static int64_t block_from(const GridRank *g, int64_t i, int64_t n)
{
    int64_t left = g->grid.nb - i % g->grid.nb;
    return left < n - i ? left : n - i;
}

static void draw_all(Draw *d, GridTensor *t)
{
    GridRank *g = d->g;
    const GridSlab *s = &t->slab;
    int64_t wide = t->axes > 1 ? t->shape[1] : 1, some;
    if (wide == 1 && s->inner == 1) {            /* a vector */
        for (int64_t i = 0; i < s->rows && s->cols; i += some) {
            some = block_from(g, i, s->rows);
            draw_run(d, t, grid_row(g, i), some, i, 1);
        }
        return;
    }
    for (int64_t j = 0; j < s->cols; j += some) {
        some = s->inner > 1 ? 1 : block_from(g, j, s->cols);
        for (int64_t i = 0; i < s->rows; i++)
            draw_run(d, t, (grid_row(g, i) * wide + grid_col(g, j)) * s->inner, some * s->inner,
                     (i + j * s->rows) * s->inner, s->inner > 1 ? 1 : s->rows);
    }
}

void grid_do_random(GridRank *g, Wire *in, Buf *out)
{
    int64_t shape[TENSOR_RANK_MAX];
    uint64_t id = wire_get_u64(in);
    DType dt = grid_read_dtype(g, in);
    int axes = grid_read_shape(g, in, shape);
    Draw d = { .g = g, .kind = wire_get_u64(in) };
    d.stream.key = wire_get_u64(in);
    d.stream.stream = wire_get_u64(in);
    d.stream.counter = wire_get_u64(in);
    d.low = wire_get_i64(in);
    d.span = wire_get_u64(in);
    d.made = d.kind == 2 ? DT_I64 : dt;
    if (d.kind > 2 || (d.kind < 2 && dt != DT_F32 && dt != DT_F64))
        err_raise(g->ctx, ERR_DTYPE, "no random numbers of dtype %s on a grid", dtype_name(dt));
    d.per_block = d.kind == 2 ? 1 : d.kind == 1 || dt == DT_F64 ? 2 : 4;
    d.buffer = grid_work(g, DRAWN + 8, 8);
    GridTensor *t = made(g, dt, axes, shape, false);
    draw_all(&d, t);
    int64_t all = shape_size(axes, shape), blocks = all / d.per_block + (all % d.per_block != 0);
    wire_u64(out, d.stream.counter + (uint64_t)blocks);
    wire_u64(out, d.misfit);
    grid_keep(g, id, t);
}

/* ---- to and from the session ---- */
void grid_do_put(GridRank *g, Wire *in, Buf *out)
{
    int64_t shape[TENSOR_RANK_MAX];
    uint64_t id = wire_get_u64(in);
    DType dt = grid_read_dtype(g, in);
    int axes = grid_read_shape(g, in, shape);
    (void)out;
    GridTensor *t = made(g, dt, axes, shape, false);
    wire_get_piece(in, grid_data(t), (size_t)t->slab.size * grid_bytes(t));
    grid_keep(g, id, t);
}

void grid_do_get(GridRank *g, Wire *in, Buf *out)
{
    const GridTensor *t = grid_find(g, wire_get_u64(in));
    (void)out;
    in->give = grid_data(t);
    in->give_bytes = (size_t)t->slab.size * grid_bytes(t);
}

void grid_do_elements(GridRank *g, Wire *in, Buf *out)
{
    const GridTensor *t = grid_find(g, wire_get_u64(in));
    int64_t all = shape_size(t->axes, t->shape), at;
    for (uint64_t n = wire_get_u64(in); n; n--) {
        int64_t index = wire_get_i64(in);
        if (index < 0 || index >= all)
            err_raise(g->ctx, ERR_INDEX, "element %lld of %lld", (long long)index,
                      (long long)all);
        if (grid_home(&g->grid, t->axes, t->shape, index, &at) == g->rank)
            buf_put(out, grid_data(t) + (size_t)at * grid_bytes(t), grid_bytes(t));
    }
}

void grid_do_copy(GridRank *g, Wire *in, Buf *out)
{
    uint64_t id = wire_get_u64(in);
    const GridTensor *from = grid_find(g, wire_get_u64(in));
    GridTensor *t = grid_alias(g, from, from->axes, from->shape);
    (void)out;
    grid_need(g);
    grid_keep(g, id, t);
}
