/* One tile of complex products whose parts T (vectors named by TAG) are packed apart: for every
 * k, the real parts of a panel and then the imaginary ones. Included by semiring_isa.tmpl.h. */
#define V GLUE(V, TAG)
#define LANES ((int)(VECTOR_BYTES / sizeof(T)))

static void FN(tile)(int64_t k, const void *panel_a, const void *panel_b, void *out, int vectors)
{
    const T *a = panel_a, *b = panel_b;
    V re[TILE_ROWS], im[TILE_ROWS];
    T *to = out;
    (void)vectors;
    for (int i = 0; i < TILE_ROWS; i++)
        re[i] = im[i] = GLUE(splat, TAG)(0);
    for (int64_t q = 0; q < k; q++, a += 2 * TILE_ROWS, b += 2 * LANES) {
        V x, y;
        memcpy(&x, b, sizeof x);
        memcpy(&y, b + LANES, sizeof y);
        V minus = -y;
        for (int i = 0; i < TILE_ROWS; i++) {
            V u = GLUE(splat, TAG)(a[i]), v = GLUE(splat, TAG)(a[TILE_ROWS + i]);
            re[i] = GLUE(add_times, TAG)(re[i], u, x);
            im[i] = GLUE(add_times, TAG)(im[i], u, y);
            re[i] = GLUE(add_times, TAG)(re[i], v, minus);
            im[i] = GLUE(add_times, TAG)(im[i], v, x);
        }
    }
    for (int i = 0; i < TILE_ROWS; i++)
        for (int l = 0; l < LANES; l++, to += 2) {
            to[0] = re[i][l];
            to[1] = im[i][l];
        }
}

#undef V
#undef LANES
#undef FN
#undef TAG
#undef T
