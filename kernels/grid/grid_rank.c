/* A rank's tensors by number, the room that a command works in, its arguments, and the command
 * itself: whatever happens in it, what it worked with is gone afterwards. */
#include "kernels/grid/grid_rank.h"

#include <string.h>

/* ---- room ---- */
bool grid_try(GridRank *g, void (*run)(GridRank *, void *), void *with)
{
    ErrFrame frame;
    if (ERR_TRY(g->ctx, &frame)) {
        run(g, with);
        ERR_END(g->ctx, &frame);
        return true;
    }
    if (g->ctx->error->kind != ERR_MEMORY)
        err_rethrow(g->ctx);
    g->lacking = true;
    return false;
}

typedef struct Made {
    DType dtype;
    int axes;
    const int64_t *shape;
    bool zeroed;
    Tensor *tensor;
} Made;

static void make_local(GridRank *g, void *with)
{
    Made *m = with;
    m->tensor = (m->zeroed ? tensor_zeros : tensor_new)(g->ctx, m->dtype, m->axes, m->shape);
}

static void lacks(GridRank *g, size_t bytes)
{
    g->lacking = true;
    g->lacks = bytes;
}

GridTensor *grid_tensor(GridRank *g, DType dt, int axes, const int64_t *shape, bool zeroed)
{
    GridTensor *t = mem_try_alloc(g->ctx, sizeof *t);
    if (!t) {
        lacks(g, sizeof *t);
        return NULL;
    }
    *t = (GridTensor){ .dtype = dt, .axes = axes };
    memcpy(t->shape, shape, (size_t)axes * sizeof *shape);
    t->slab = grid_slab(&g->grid, g->rank, axes, shape);
    int64_t local[TENSOR_RANK_MAX] = { t->slab.cols, t->slab.rows };
    for (int a = 2; a < axes; a++)
        local[a] = shape[a];
    Made m = { dt, axes < 2 ? 2 : axes, local, zeroed, NULL };
    if (!grid_try(g, make_local, &m)) {
        lacks(g, (size_t)t->slab.size * dtype_info(dt)->bytes);
        mem_free(g->ctx, t, sizeof *t);
        return NULL;
    }
    t->local = m.tensor;
    t->next = g->temporary;
    g->temporary = t;
    return t;
}

GridTensor *grid_alias(GridRank *g, const GridTensor *t, int axes, const int64_t *shape)
{
    GridTensor *twin = mem_try_alloc(g->ctx, sizeof *twin);
    if (!twin) {
        lacks(g, sizeof *twin);
        return NULL;
    }
    *twin = *t;
    twin->id = 0;
    twin->axes = axes;
    memmove(twin->shape, shape, (size_t)axes * sizeof *shape);
    twin->slab = grid_slab(&g->grid, g->rank, axes, shape);
    tensor_retain(t->local);
    twin->next = g->temporary;
    g->temporary = twin;
    return twin;
}

GridTensor *grid_twin(GridRank *g, const GridTensor *t)
{
    GridTensor *twin = grid_tensor(g, t->dtype, t->axes, t->shape, false);
    if (twin && t->slab.size)
        memcpy(grid_data(twin), grid_data(t), (size_t)t->slab.size * grid_bytes(t));
    return twin;
}

void *grid_work(GridRank *g, size_t count, size_t bytes)
{
    enum { HEAD = 64 };                          /* what follows is aligned as tensors are */
    size_t size;
    GridWork *w = NULL;
    if (!__builtin_mul_overflow(count, bytes, &size) && size < SIZE_MAX / 2)
        w = mem_try_alloc(g->ctx, size + HEAD);
    if (!w) {
        lacks(g, size);
        return NULL;
    }
    memset(w, 0, size + HEAD);
    *w = (GridWork){ g->work, size + HEAD };
    g->work = w;
    return (char *)w + HEAD;
}

static void drop(GridRank *g, GridTensor *t)
{
    tensor_release(g->ctx, t->local);
    mem_free(g->ctx, t, sizeof *t);
}

static void command_over(GridRank *g)
{
    while (g->temporary) {
        GridTensor *t = g->temporary;
        g->temporary = t->next;
        drop(g, t);
    }
    while (g->work) {
        GridWork *w = g->work;
        g->work = w->next;
        mem_free(g->ctx, w, w->bytes);
    }
    g->lacking = false;
    g->lacks = 0;
}

/* ---- numbers ---- */
/* Where the number is, or where it would stand. */
static int64_t place_of(const GridRank *g, uint64_t id)
{
    int64_t low = 0, high = g->count;
    while (low < high) {
        int64_t mid = (low + high) / 2;
        if (g->tensors[mid]->id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

GridTensor *grid_find(GridRank *g, uint64_t id)
{
    int64_t at = place_of(g, id);
    if (at == g->count || g->tensors[at]->id != id)
        err_raise(g->ctx, ERR_DEVICE, "no tensor has number %llu here", (unsigned long long)id);
    return g->tensors[at];
}

/* A number that is in use: its tensor goes, as the session means it. */
void grid_keep(GridRank *g, uint64_t id, GridTensor *t)
{
    int64_t at = place_of(g, id);
    GridTensor **link = &g->temporary;
    if (!id)
        err_raise(g->ctx, ERR_DEVICE, "a tensor's number is 0");
    bool there = at < g->count && g->tensors[at]->id == id;
    if (!there && g->count == g->cap) {
        int64_t cap = g->cap ? 2 * g->cap : 64;
        g->tensors = mem_realloc(g->ctx, g->tensors, (size_t)g->cap * sizeof *g->tensors,
                                 (size_t)cap * sizeof *g->tensors);
        g->cap = cap;
    }
    while (*link != t)
        link = &(*link)->next;
    *link = t->next;
    t->next = NULL;
    t->id = id;
    if (there) {
        drop(g, g->tensors[at]);
    } else {
        memmove(g->tensors + at + 1, g->tensors + at,
                (size_t)(g->count - at) * sizeof *g->tensors);
        g->count++;
    }
    g->tensors[at] = t;
}

void grid_do_free(GridRank *g, Wire *in, Buf *out)
{
    (void)out;
    for (uint64_t n = wire_get_u64(in); n; n--) {
        uint64_t id = wire_get_u64(in);
        int64_t at = place_of(g, id);
        if (at == g->count || g->tensors[at]->id != id)
            continue;
        drop(g, g->tensors[at]);
        g->count--;
        memmove(g->tensors + at, g->tensors + at + 1,
                (size_t)(g->count - at) * sizeof *g->tensors);
    }
}

void grid_do_memory(GridRank *g, Wire *in, Buf *out)
{
    size_t live = 0;
    (void)in;
    for (int64_t i = 0; i < g->count; i++)
        live += (size_t)g->tensors[i]->slab.size * grid_bytes(g->tensors[i]);
    wire_u64(out, live);
    wire_u64(out, g->ctx->mem.peak);
    wire_u64(out, g->between);
    wire_u64(out, (uint64_t)g->count);
}

void grid_do_ping(GridRank *g, Wire *in, Buf *out)
{
    (void)g, (void)in, (void)out;
}

/* ---- arguments ---- */
DType grid_read_dtype(GridRank *g, Wire *in)
{
    DType dt = (DType)wire_get_u64(in);
    if (!dtype_plain(dt) || dtype_half(dt))
        err_raise(g->ctx, ERR_DTYPE, "a grid holds no %s", dtype_name(dt));
    return dt;
}

int grid_read_shape(GridRank *g, Wire *in, int64_t shape[TENSOR_RANK_MAX])
{
    uint64_t axes = wire_get_u64(in);
    if (axes < 1 || axes > TENSOR_RANK_MAX)
        err_raise(g->ctx, ERR_SHAPE, "a grid holds no tensors of rank %llu",
                  (unsigned long long)axes);
    wire_get_i64s(in, shape, (int)axes);
    shape_checked(g->ctx, (int)axes, shape);
    return (int)axes;
}

GridScalar grid_read_scalar(GridRank *g, Wire *in)
{
    GridScalar s = { .dtype = grid_read_dtype(g, in) };
    uint64_t word[2] = { wire_get_u64(in), wire_get_u64(in) };
    memcpy(s.bytes, word, sizeof word);
    return s;
}

void grid_write_scalar(Buf *out, DType dt, const void *element)
{
    uint64_t word[2] = { 0, 0 };
    memcpy(word, element, dtype_info(dt)->bytes);
    wire_u64(out, dt);
    wire_u64(out, word[0]);
    wire_u64(out, word[1]);
}

static void read_list(GridRank *g, Wire *in, GridView *v)
{
    uint64_t axis = wire_get_u64(in), n = wire_get_u64(in);
    if (axis >= (uint64_t)v->axes || n != (uint64_t)v->shape[axis])
        err_raise(g->ctx, ERR_DEVICE, "a list of indices that fits no axis");
    int64_t *list = grid_work(g, n + !n, sizeof *list);
    grid_agree(g);
    wire_get_i64s(in, list, (int)n);
    v->list[axis] = list;
}

/* The first and the last element that a view reaches. */
static void view_bounds(const GridView *v, __int128 *low, __int128 *high)
{
    *low = *high = v->offset;
    for (int a = 0; a < v->axes; a++) {
        int64_t first = 0, last = v->shape[a] - 1;
        for (int64_t i = 0; v->list[a] && i < v->shape[a]; i++) {
            first = !i || v->list[a][i] < first ? v->list[a][i] : first;
            last = !i || v->list[a][i] > last ? v->list[a][i] : last;
        }
        __int128 x = (__int128)first * v->stride[a], y = (__int128)last * v->stride[a];
        *low += x < y ? x : y;
        *high += x < y ? y : x;
    }
}

void grid_read_view(GridRank *g, Wire *in, const GridTensor *base, GridView *v)
{
    __int128 low, high;
    int64_t size = 1, all = 1;
    memset(v, 0, sizeof *v);
    v->axes = grid_read_shape(g, in, v->shape);
    if (wire_get_u64(in) != (uint64_t)v->axes)
        err_raise(g->ctx, ERR_DEVICE, "a view whose strides are not as many as its axes");
    wire_get_i64s(in, v->stride, v->axes);
    v->offset = wire_get_i64(in);
    for (uint64_t lists = wire_get_u64(in); lists; lists--)
        read_list(g, in, v);
    for (int a = 0; a < base->axes; a++)
        size *= base->shape[a];
    for (int a = 0; a < v->axes; a++)
        all *= v->shape[a];
    view_bounds(v, &low, &high);
    if (all && (low < 0 || high >= size))
        err_raise(g->ctx, ERR_DEVICE, "a view that reaches beyond its tensor");
}

void grid_command(GridRank *g, uint32_t op, Wire *in, Buf *out)
{
    static void (*const does[])(GridRank *, Wire *, Buf *) = {
#define GRID(NAME, function, meaning) grid_do_##function,
#include "kernels/grid/grid.def"
#undef GRID
    };
    ErrFrame frame;
    if (op >= GRID_OPS)
        err_raise(g->ctx, ERR_DEVICE, "a rank was told to do what it does not know");
    if (ERR_TRY(g->ctx, &frame)) {
        does[op](g, in, out);
        wire_get_end(in);
        grid_need(g);
        ERR_END(g->ctx, &frame);
        command_over(g);
        return;
    }
    command_over(g);
    err_rethrow(g->ctx);
}
