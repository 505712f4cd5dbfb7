/* Two patterns against each other, row by row. */
#include "kernels/sparse/sparse.h"

/* The places of a row that both have, or that any has; to: NULL only counts. */
static int64_t merge_row(const Csr *a, const Csr *b, int64_t i, bool both, int64_t *to)
{
    int64_t x = a->start[i], y = b->start[i], n = 0;
    const int64_t xs = a->start[i + 1], ys = b->start[i + 1];
    while (x < xs || y < ys) {
        int64_t cx = x < xs ? a->column[x] : INT64_MAX, cy = y < ys ? b->column[y] : INT64_MAX;
        if (!both || cx == cy) {
            if (to)
                to[n] = cx < cy ? cx : cy;
            n++;
        }
        x += cx <= cy;
        y += cy <= cx;
    }
    return n;
}

Tensor *sparse_merge(Ctx *ctx, Made *made, const Csr *a, const Csr *b, bool both)
{
    int64_t count = 0;
    for (int64_t i = 0; i < a->m; i++)
        count += merge_row(a, b, i, both, NULL);
    Tensor *pattern = made_pattern(ctx, made, a->m, count);
    int64_t *start = made_ints(pattern), *column = start + a->m + 1;
    for (int64_t i = 0; i < a->m; i++)
        start[i + 1] = start[i] + merge_row(a, b, i, both, column + start[i]);
    return pattern;
}

Tensor *sparse_places(Ctx *ctx, Made *made, const Csr *at, const Csr *of)
{
    Tensor *places = made_vector(ctx, made, DT_I64, at->entries);
    int64_t *to = made_ints(places);
    for (int64_t i = 0; i < at->m; i++) {
        int64_t y = of->start[i];
        for (int64_t k = at->start[i]; k < at->start[i + 1]; k++) {
            while (y < of->start[i + 1] && of->column[y] < at->column[k])
                y++;
            to[k] = y < of->start[i + 1] && of->column[y] == at->column[k] ? y : -1;
        }
    }
    return places;
}
