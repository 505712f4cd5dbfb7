/* One tile of packed panels for one pair of operations: TAG names the packed type T, STEP is
 * (x, a, b) to reduce(x, combine(a, b)), START the identity, FN names what is made. Tiles of
 * up to VECTORS vectors keep all sums in registers; with ONE_PASS each column of vectors is a
 * pass of its own, for what is seldom needed. Included by semiring_isa.tmpl.h only. */
#define V GLUE(V, TAG)
#define LANES ((int)(VECTOR_BYTES / sizeof(T)))

ALWAYS void FN(columns)(int64_t k, const T *a, const T *b, int64_t step, T *out, int vectors)
{
    V x[TILE_ROWS][VECTORS];
    for (int i = 0; i < TILE_ROWS; i++)
        for (int v = 0; v < vectors; v++)
            x[i][v] = GLUE(splat, TAG)(START);
    for (int64_t q = 0; q < k; q++, a += TILE_ROWS, b += step) {
        V row[VECTORS];
        for (int v = 0; v < vectors; v++)
            memcpy(&row[v], b + v * LANES, sizeof(V));
        for (int i = 0; i < TILE_ROWS; i++) {
            V left = GLUE(splat, TAG)(a[i]);
            for (int v = 0; v < vectors; v++)
                x[i][v] = STEP(x[i][v], left, row[v]);
        }
    }
    for (int i = 0; i < TILE_ROWS; i++)
        for (int v = 0; v < vectors; v++)
            memcpy(out + (i * VECTORS + v) * LANES, &x[i][v], sizeof(V));
}

static void FN(tile)(int64_t k, const void *a, const void *b, void *out, int vectors)
{
#ifdef ONE_PASS
    for (int v = 0; v < vectors; v++)
        FN(columns)(k, a, (const T *)b + v * LANES, vectors * LANES, (T *)out + v * LANES, 1);
#else
    switch (vectors) {
    case 1: FN(columns)(k, a, b, LANES, out, 1); break;
#if VECTORS > 2
    case 2: FN(columns)(k, a, b, 2 * LANES, out, 2); break;
#endif
    default: FN(columns)(k, a, b, VECTORS * LANES, out, VECTORS); break;
    }
#endif
}

#undef V
#undef LANES
#undef FN
#undef STEP
#undef START
#undef ONE_PASS
#undef VECTORS
