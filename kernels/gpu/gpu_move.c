/* The text of kernels whose result runs along one axis and an operand along another: tiles of the
 * operand go through local memory, so that both are read and written in the order of their memory.
 * (One column of a tile is spare: columns then lie in different banks.) Transposes, permutations,
 * and elementwise nests with one such operand. */
#include "kernels/gpu/gpu_source.h"

static uint64_t bit(int i) { return UINT64_C(1) << i; }

/* The positions of one work item of the tile: `dense` axis along work items. */
static void tile_place(GpuSource *s, int dense, int other)
{
    gpu_line(s, "const idx x%d = tile%d + (idx)ID(0);", dense, dense);
    gpu_line(s, "const idx x%d = tile%d + (idx)ID(1) + k;", other, other);
    gpu_line(s, "if (x%d < %s && x%d < %s) {", dense,
             gpu_param(s, PARAM_EXTENT, dense, 0, 0), other,
             gpu_param(s, PARAM_EXTENT, other, 0, 0));
    s->depth++;
}

static void close_tile(GpuSource *s)
{
    s->depth--;
    gpu_line(s, "}");
    s->depth--;
    gpu_line(s, "}");
    gpu_line(s, "BARRIER;");
}

static void open_tile(GpuSource *s)
{
    gpu_line(s, "for (int k = 0; k < %d; k += (int)SIZE(1)) {", GPU_TILE);
    s->depth++;
}

static void move_tile(GpuSource *s, int last)
{
    int load = s->split, dense = s->move_axis;
    DType dt = (DType)s->n->node[load].dtype;
    uint64_t both = bit(last) | bit(dense);
    bool *before = gpu_enter(s, both);
    open_tile(s);
    tile_place(s, dense, last);
    gpu_value(s, load);
    gpu_line(s, "tile[ID(1) + k][ID(0)] = v%d;", load);
    close_tile(s);
    gpu_leave(s, before, both);
    before = gpu_enter(s, both);
    open_tile(s);
    tile_place(s, last, dense);
    gpu_line(s, "const %s v%d = tile[ID(0)][ID(1) + k];", gpu_type(dt), load);
    s->known[load] = true;
    gpu_value(s, s->n->root);
    gpu_store(s);
    close_tile(s);
    gpu_leave(s, before, both);
}

void gpu_move(GpuSource *s)
{
    int last = s->n->out_rank - 1, dense = s->move_axis;
    uint64_t outer = (bit(last + 1) - 1) & ~bit(last) & ~bit(dense);
    DType dt = (DType)s->n->node[s->split].dtype;
    gpu_line(s, "LOCAL %s tile[%d][%d];", gpu_type(dt), GPU_TILE, GPU_TILE + 1);
    gpu_line(s, "const idx tile%d = (idx)GROUP(0)*%d;", last, GPU_TILE);
    gpu_line(s, "const idx tile%d = (idx)GROUP(1)*%d;", dense, GPU_TILE);
    gpu_line(s, "for (idx row = (idx)GROUP(2); row < %s; row += (idx)GROUPS(2)) {",
             gpu_param(s, PARAM_ROWS, 0, 0, 0));
    s->depth++;
    if (outer)
        gpu_axes(s, "row", outer);
    s->scope |= outer;
    move_tile(s, last);
    s->depth--;
    gpu_line(s, "}");
}
