/* Tiles of a table of distances: some rows of x beside panels of y, whose terms lie one behind the
 * other, all in registers. Included by nest_stage_fold.tmpl.h; adds in the order of NAME(down), to
 * whose identity the first term is the same. */
#define EACH(i, n) _Pragma("GCC unroll 4") for (int i = 0; i < (n); i++)

static void NAME(tile)(const StageTile *t)
{
    enum { L = VECTOR / sizeof(T), R = DISTANCE_ROWS, C = TILE_VECTORS };
    const T *x[R], *y = t->panel;
    const int64_t term = t->term, k = t->k, step = t->step;
    const int rows = t->rows;
    const bool first = t->first, root = t->root, past = t->past;
    char *to = t->to;
    EACH(r, R)
        x[r] = (const T *)t->x + (r < rows ? r : rows - 1) * t->row;
    for (int64_t p = t->panels; p > 0; p--, y += t->apart, to += C * VECTOR) {
        V a[R][C];
        EACH(r, R) {
            V v = SPLAT(x[r][0]);
            EACH(c, C)
                a[r][c] = VALUE_V(v, AT(y + c * L));
        }
        for (int64_t q = 1; q < k; q++) {
            EACH(r, R) {
                V v = SPLAT(x[r][q * term]);
                EACH(c, C) {
                    V w = VALUE_V(v, AT(y + (q * C + c) * L));
                    a[r][c] = STEP_V(a[r][c], w);
                }
            }
        }
        EACH(r, R) {
            T *line = (T *)(void *)(to + r * step);
            if (r == rows)
                break;
            if (!first)
                EACH(c, C)
                    a[r][c] = STEP_V(AT(line + c * L), a[r][c]);
            if (root)
                EACH(c, C)
                    a[r][c] = ID(roots)(a[r][c]);
            if (past)
                EACH(c, C)
                    PAST(line + c * L, a[r][c]);
            else
                EACH(c, C)
                    PUT(line + c * L, a[r][c]);
        }
    }
}
#undef EACH
