/* Strips of a direct contraction for one pair of operations: TAG names the type T; COMBINE
 * (a, b) of two vectors, STEP(x, a, b) to reduce(x, combine(a, b)), REDUCE(x, v) of what was
 * there and a vector more; FN names what is made. WIDE: tiles of eight vectors and of four
 * rows, for what is worth its code. The first tap starts a sum, so that a product without
 * sum is that product, signs of zeros included. Included by direct_isa.tmpl.h only. */
#define V GLUE(V, TAG)
#define LANES ((int)(VECTOR_BYTES / sizeof(T)))
#define SPLAT GLUE(splat, TAG)
#define LOAD GLUE(load, TAG)
#ifdef WIDE
#define MOST_VECTORS 8
#else
#define MOST_VECTORS 4
#endif

/* rows x vectors of the result at c; A's vectors are the same for all rows if there are
 * several, B is one number per row or (`both`, one row only) a vector like A. */
ALWAYS void FN(tile)(const DirectStrip *s, const T *a, const T *b, T *c, int rows, int vectors,
                     bool both)
{
    V x[4][MOST_VECTORS], left[MOST_VECTORS];
    const T *pa = a + s->at[0][0], *pb = b + s->at[1][0];
    UNROLL for (int v = 0; v < vectors; v++)
        left[v] = LOAD(pa + v * LANES);
    UNROLL for (int r = 0; r < rows; r++) {
        V right = SPLAT(pb[r * s->step[2]]);
        UNROLL for (int v = 0; v < vectors; v++)
            x[r][v] = COMBINE(left[v], both ? LOAD(pb + v * LANES) : right);
    }
    for (int64_t t = 1; t < s->taps; t++) {
        pa = a + s->at[0][t], pb = b + s->at[1][t];
        UNROLL for (int v = 0; v < vectors; v++)
            left[v] = LOAD(pa + v * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            V right = SPLAT(pb[r * s->step[2]]);
            UNROLL for (int v = 0; v < vectors; v++)
                x[r][v] = STEP(x[r][v], left[v], both ? LOAD(pb + v * LANES) : right);
        }
    }
    UNROLL for (int r = 0; r < rows; r++) {
        T *to = c + r * s->step[0];
        UNROLL for (int v = 0; v < vectors; v++) {
            if (s->accumulate)
                x[r][v] = REDUCE(LOAD(to + v * LANES), x[r][v]);
            GLUE(store, TAG)(to + v * LANES, x[r][v]);
        }
    }
}

/* One vector: not worth its code in every place. */
static __attribute__((noinline)) void FN(single)(const DirectStrip *s, const T *a, const T *b, T *c,
                                                 bool both)
{
    if (both)
        FN(tile)(s, a, b, c, 1, 1, true);
    else
        FN(tile)(s, a, b, c, 1, 1, false);
}

/* The last columns, fewer than a vector: one vector over the end of what there is, of which
 * the columns that are left are kept. */
static void FN(rest)(const DirectStrip *s, const T *a, const T *b, T *c, int64_t count, bool both)
{
    int64_t back = LANES - count;
    DirectStrip one = *s;
    T out[LANES], *to = out;
    one.accumulate = false;
    one.step[0] = 0;
    FN(single)(&one, a - back, both ? b - back : b, to, both);
    for (int64_t l = back; l < LANES; l++) {
        V x = s->accumulate ? REDUCE(SPLAT(c[l - back]), SPLAT(out[l])) : SPLAT(out[l]);
        c[l - back] = x[0];
    }
}

ALWAYS void FN(row)(const DirectStrip *s, const T *a, const T *b, T *c, bool both)
{
    int64_t j = 0, bv = both;
    for (; j + MOST_VECTORS * LANES <= s->n; j += MOST_VECTORS * LANES)
        FN(tile)(s, a + j, b + bv * j, c + j, 1, MOST_VECTORS, both);
#ifdef WIDE
    for (; j + 4 * LANES <= s->n; j += 4 * LANES)
        FN(tile)(s, a + j, b + bv * j, c + j, 1, 4, both);
#endif
    for (; j + LANES <= s->n; j += LANES)
        FN(single)(s, a + j, b + bv * j, c + j, both);
    if (j < s->n)
        FN(rest)(s, a + j, b + bv * j, c + j, s->n - j, both);
}

static void FN(scaled)(const DirectStrip *s)
{
    const T *a = s->a, *b = s->b;
    T *c = s->c;
    int64_t r = 0;
#ifdef WIDE
    for (; s->step[1] == 0 && r + 4 <= s->rows; r += 4, b += 4 * s->step[2], c += 4 * s->step[0]) {
        int64_t j = 0;
        for (; j + 3 * LANES <= s->n; j += 3 * LANES)
            FN(tile)(s, a + j, b, c + j, 4, 3, false);
        for (; j + LANES <= s->n; j += LANES)
            FN(tile)(s, a + j, b, c + j, 4, 1, false);
        for (int i = 0; i < 4 && j < s->n; i++)
            FN(rest)(s, a + j, b + i * s->step[2], c + i * s->step[0] + j, s->n - j, false);
    }
#endif
    for (; r < s->rows; r++, a += s->step[1], b += s->step[2], c += s->step[0])
        FN(row)(s, a, b, c, false);
}

static void FN(paired)(const DirectStrip *s)
{
    const T *a = s->a, *b = s->b;
    T *c = s->c;
    for (int64_t r = 0; r < s->rows; r++, a += s->step[1], b += s->step[2], c += s->step[0])
        FN(row)(s, a, b, c, true);
}

#undef V
#undef LANES
#undef SPLAT
#undef LOAD
#undef MOST_VECTORS
#undef FN
#undef COMBINE
#undef STEP
#undef REDUCE
#undef WIDE
