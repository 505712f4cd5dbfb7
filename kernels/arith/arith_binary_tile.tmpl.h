/* A row of a matrix product in a binary format of at most 25 bits (11 in floats), to nearest, for
 * one panel of columns: T names the type that computes, `double` or `float`, whose products are
 * exact and whose sums are as good as exact ones for a second rounding (its p is at least twice
 * the format's and 2). Included by arith_binary.tmpl.h for both types.
 *
 * A sum r of y and p is exact just when r - y is p and r - p is y, as one of the differences is
 * exact then (Sterbenz). Zeros may come out with the wrong sign: the caller mends them. */
#define TILE_PASTE(a, b) a##_##b
#define TILE_NAME(a, b) TILE_PASTE(a, b)
#define FN(name) TILE_NAME(name, T)
#define TV FN(TileVec)
#define TI FN(TileInt)
#define TN ((int)(VECTOR_BYTES / sizeof(T)))

typedef T TV __attribute__((vector_size(VECTOR_BYTES)));
typedef TILE_INT TI __attribute__((vector_size(VECTOR_BYTES)));
enum { FN(VECTORS) = BINARY_PANEL_BYTES / VECTOR_BYTES };

ALWAYS TV FN(larger)(TV a, TV b)
{
#if defined(__AVX512F__)
    return TILE_MAX512(a, b);
#elif defined(__AVX2__)
    return TILE_MAX256(a, b);
#else
    TI m = a > b;
    return (TV)((m & (TI)a) | (~m & (TI)b));
#endif
}

typedef struct FN(Grid) { TV least, magic, tiny, max; TI exponent, size; } FN(Grid);

ALWAYS TV FN(on_grid)(const FN(Grid) *g, TV x)
{
    TV magic = FN(larger)((TV)((TI)x & g->exponent), g->least) * g->magic;
    return (x + magic) - magic;
}

/* watch: a result may leave the format; fades: a product may underflow; exact: so are all sums;
 * native: T is the format itself, and a fused product tells what is missing. */
ALWAYS bool FN(tile)(bool watch, bool fades, bool exact, bool native, const BinaryTile *t, T *c,
                     const T *a, const T *b, int64_t k, BinaryCounts *counts)
{
    enum { VECTORS = FN(VECTORS) };
    const FN(Grid) g = { (T)t->least - (TV){ 0 }, (T)t->magic - (TV){ 0 }, (T)t->tiny - (TV){ 0 },
                         (T)t->max - (TV){ 0 }, (TILE_INT)TILE_EXPONENT - (TI){ 0 },
                         (TILE_INT)~((TILE_UINT)1 << (8 * sizeof(T) - 1)) - (TI){ 0 } };
    TI inexact = { 0 }, under = { 0 }, good = ~(TI){ 0 };
    TV y[VECTORS];
    for (int64_t l = 0; l < k; l++) {
        TV factor = a[l] - (TV){ 0 };
        for (int v = 0; v < VECTORS; v++) {
            TV x, h, p, r;
            memcpy(&x, b + l * VECTORS * TN + v * TN, sizeof x);
            h = factor * x;
            p = native ? h : FN(on_grid)(&g, h);
            TI off = native ? TILE_FUSED(factor, x, -h) != 0 : p != h;
            inexact += off;
            if (fades)
                under += off & ((TV)((TI)h & g.size) < g.tiny);
            if (watch)
                good &= (TV)((TI)p & g.size) <= g.max;
            if (l == 0) {
                y[v] = p;
                continue;
            }
            h = y[v] + p;
            r = native ? h : FN(on_grid)(&g, h);
            inexact += exact ? r != h : (r - y[v] != p) | (r - p != y[v]);
            if (watch)
                good &= (TV)((TI)r & g.size) <= g.max;
            y[v] = r;
        }
    }
    memcpy(c, y, sizeof y);
    int64_t all = -1;
    for (int i = 0; i < TN; i++) {
        counts->inexact += (uint64_t)-(int64_t)inexact[i];
        counts->underflow += (uint64_t)-(int64_t)under[i];
        all &= good[i];
    }
    return all != 0;
}

#define TILE(name, watch, fades, exact, native) \
    static bool FN(name)(const BinaryTile *t, void *c, const void *a, const void *b, int64_t k, \
                         BinaryCounts *counts) \
    { \
        return FN(tile)(watch, fades, exact, native, t, c, a, b, k, counts); \
    }
TILE(tile_near, false, false, false, false)
TILE(tile_fades, false, true, false, false)
TILE(tile_watch, true, true, false, false)
TILE(tile_exact, false, true, true, false)
TILE(tile_exact_watch, true, true, true, false)
TILE(tile_native, true, false, false, true)

#undef TILE
#undef TILE_PASTE
#undef TILE_NAME
#undef FN
#undef TV
#undef TI
#undef TN
