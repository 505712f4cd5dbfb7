/* Between memory, where each matrix lies by itself, and vectors whose lane l holds an
 * element of matrix l, for one real type. A complex matrix counts as a real one with twice
 * the columns: the parts of an element become two vectors that follow each other. Included
 * by small_isa.tmpl.h. */

#define V GLUE(Vec, REAL)
#define VI GLUE(Int, REAL)
#define FN(name) GLUE(name, REAL)

/* Where the blocks of one group lie: part p of element (i, j) of matrix l is at
 * at[l][(i * rs + j * cs) * parts + p]. Lanes without a matrix repeat the first. */
typedef struct FN(Group) {
    T *at[LANES];
    int64_t rs, cs;
    int live;
} FN(Group);

static inline V FN(size)(V x)
{
    V sign = -(V){ 0 };
    return (V)((VI)x & ~(VI)sign);
}

#include "kernels/gemm/small_turn.tmpl.h"

/* `count` reals that lie one after the other in every matrix, from `offset` on, against the
 * vectors at `lane`. The last block overlaps the one before where the count is odd. */
static inline void FN(load_line)(V *lane, const FN(Group) *g, int64_t offset, int64_t count)
{
    if (count < LANES) {
        for (int l = 0; l < LANES; l++)
            for (int64_t i = 0; i < count; i++)
                ((T *)(lane + i))[l] = g->at[l][offset + i];
        return;
    }
    for (int64_t i = 0; i < count; i += LANES) {
        V x[LANES];
        if (i > count - LANES)
            i = count - LANES;
        for (int l = 0; l < LANES; l++)
            memcpy(&x[l], g->at[l] + offset + i, sizeof x[l]);
        FN(turn)(x);
        for (int l = 0; l < LANES; l++)
            lane[i + l] = x[l];
    }
}

static inline void FN(store_line)(const V *lane, const FN(Group) *g, int64_t offset, int64_t count)
{
    if (count < LANES) {
        for (int l = 0; l < g->live; l++)
            for (int64_t i = 0; i < count; i++)
                g->at[l][offset + i] = ((const T *)(lane + i))[l];
        return;
    }
    for (int64_t i = 0; i < count; i += LANES) {
        V x[LANES];
        if (i > count - LANES)
            i = count - LANES;
        for (int l = 0; l < LANES; l++)
            x[l] = lane[i + l];
        FN(turn)(x);
        for (int l = 0; l < g->live; l++)
            memcpy(g->at[l] + offset + i, &x[l], sizeof x[l]);
    }
}

/* rows x cols elements by rows, whatever their steps. */
static void FN(load)(V *to, const FN(Group) *g, int64_t rows, int64_t cols, int parts)
{
    if (g->cs == 1 && (g->rs == cols || rows == 1))
        FN(load_line)(to, g, 0, rows * cols * parts);
    else if (g->cs == 1)
        for (int64_t i = 0; i < rows; i++)
            FN(load_line)(to + i * cols * parts, g, i * g->rs * parts, cols * parts);
    else
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < cols; j++)
                FN(load_line)(to + (i * cols + j) * parts, g, (i * g->rs + j * g->cs) * parts,
                              parts);
}

static void FN(store)(const V *from, const FN(Group) *g, int64_t rows, int64_t cols, int parts)
{
    if (g->cs == 1 && (g->rs == cols || rows == 1))
        FN(store_line)(from, g, 0, rows * cols * parts);
    else if (g->cs == 1)
        for (int64_t i = 0; i < rows; i++)
            FN(store_line)(from + i * cols * parts, g, i * g->rs * parts, cols * parts);
    else
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < cols; j++)
                FN(store_line)(from + (i * cols + j) * parts, g,
                               (i * g->rs + j * g->cs) * parts, parts);
}
#undef FN
