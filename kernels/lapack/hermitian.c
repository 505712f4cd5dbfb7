/* The walk over a Hermitian matrix (hermitian.h): off the diagonal by strips of tiles that a
 * kernel of this processor compares, on it and at the edge pair by pair. Must not raise or
 * allocate. */
#include "kernels/lapack/hermitian.h"

#include "kernels/tensor/cpu.h"

#include <math.h>
#include <string.h>

enum { TILE = HERMITIAN_TILE, BLOCK = 4 * TILE };    /* two blocks of 16-byte elements: 32 KB */

#define INLINE static inline __attribute__((always_inline))

/* ---- pair by pair ---- */
/* Part 0 or 1 of element i; t is a constant in each call. */
INLINE double part(BlasType t, const char *data, int64_t i, int p)
{
    int64_t at = blas_is_complex(t) ? 2 * i + p : i;
    return t == BLAS_S || t == BLAS_C ? (double)((const float *)(const void *)data)[at]
                                      : ((const double *)(const void *)data)[at];
}

INLINE bool pair_matches(BlasType t, Mat a, int64_t i, int64_t j)
{
    int64_t ij = i * a.rs + j * a.cs, ji = j * a.rs + i * a.cs;
    double re = part(t, a.data, ij, 0);
    if (!blas_is_complex(t))
        return re == part(t, a.data, ji, 0);
    if (i == j)            /* X @ X' leaves a rounding error there, which LAPACK does not read */
        return fabs(part(t, a.data, ij, 1)) <= 4 * mat_eps(t) * fabs(re);
    return re == part(t, a.data, ji, 0) && part(t, a.data, ij, 1) == -part(t, a.data, ji, 1);
}

/* Rows [i0, i1), columns [j0, j1) up to the diagonal. */
INLINE HermitianSeen pairs_of(BlasType t, Mat a, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    double sum = 0;
    for (int64_t i = i0; i < i1; i++)
        for (int64_t j = j0; j <= i && j < j1; j++) {
            if (!pair_matches(t, a, i, j))
                return (HermitianSeen){ false, false };
            for (int p = 0; p <= blas_is_complex(t); p++)
                sum += part(t, a.data, i * a.rs + j * a.cs, p) * 0;
        }
    return (HermitianSeen){ true, sum == 0 };
}

static HermitianSeen pairs_seen(BlasType t, Mat a, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    switch (t) {
    case BLAS_S: return pairs_of(BLAS_S, a, i0, i1, j0, j1);
    case BLAS_D: return pairs_of(BLAS_D, a, i0, i1, j0, j1);
    case BLAS_C: return pairs_of(BLAS_C, a, i0, i1, j0, j1);
    default: return pairs_of(BLAS_Z, a, i0, i1, j0, j1);
    }
}

/* ---- strips on any processor ---- */
#define TILE_OF(TYPE, NAME, PARTS)                                                                 \
    static HermitianSeen NAME(const HermitianStrip *s)                                             \
    {                                                                                              \
        const TYPE *x = (const TYPE *)(const void *)s->x;                                          \
        const TYPE *y = (const TYPE *)(const void *)s->across;                                     \
        TYPE *to = (TYPE *)(void *)s->to, sum = 0;                                                 \
        int differ = 0;                                                                            \
        for (int64_t j = 0; j < s->count * TILE; j++)                                              \
            for (int64_t i = 0; i < TILE; i++)                                                     \
                for (int p = 0; p < PARTS; p++) {                                                  \
                    TYPE v = x[(i * s->ld + j) * PARTS + p], w = y[(j * s->ld + i) * PARTS + p];   \
                    differ |= v != (p ? -w : w);                                                   \
                    sum += v * 0;                                                                  \
                    if (to)                                                                        \
                        to[(i * s->ldt + j) * PARTS + p] = p && s->flip ? -v : v;                  \
                }                                                                                  \
        return (HermitianSeen){ !differ, sum == 0 };                                               \
    }
TILE_OF(float, strip_s, 1)
TILE_OF(double, strip_d, 1)
TILE_OF(float, strip_c, 2)
TILE_OF(double, strip_z, 2)

const HermitianFn hermitian_base[BLAS_TYPES] = {
    [BLAS_S] = strip_s, [BLAS_D] = strip_d, [BLAS_C] = strip_c, [BLAS_Z] = strip_z
};

/* What is no number is left out of both maxima. */
INLINE void asymmetry_add(Asymmetry *s, double x, double y, double gap)
{
    s->top = x > s->top ? x : s->top;
    s->top = y > s->top ? y : s->top;
    s->gap = gap > s->gap ? gap : s->gap;
    s->finite &= (x + y) * 0 == 0;
}

#define ASYMMETRY_OF(TYPE, NAME)                                                                   \
    static void NAME(const HermitianStrip *s, Asymmetry *seen)                                     \
    {                                                                                              \
        const TYPE *x = (const TYPE *)(const void *)s->x;                                          \
        const TYPE *y = (const TYPE *)(const void *)s->across;                                     \
        TYPE *to = (TYPE *)(void *)s->to;                                                          \
        for (int64_t j = 0; j < s->count * TILE; j++)                                              \
            for (int64_t i = 0; i < TILE; i++) {                                                   \
                TYPE v = x[i * s->ld + j], w = y[j * s->ld + i];                                   \
                double gap = (double)v - (double)w;                                                \
                asymmetry_add(seen, fabs((double)v), fabs((double)w), fabs(gap));                  \
                if (to)                                                                            \
                    to[i * s->ldt + j] = s->flip ? w : v;                                          \
            }                                                                                      \
    }
ASYMMETRY_OF(float, asymmetry_s)
ASYMMETRY_OF(double, asymmetry_d)

const AsymmetryFn asymmetry_base[BLAS_TYPES] = { [BLAS_S] = asymmetry_s, [BLAS_D] = asymmetry_d };

static AsymmetryFn asymmetry_function(BlasType t)
{
#ifdef __x86_64__
    if (cpu_isa() >= ISA_AVX2 && asymmetry_avx2[t])
        return asymmetry_avx2[t];
#endif
    return asymmetry_base[t];
}

static HermitianFn strip_function(BlasType t)
{
#ifdef __x86_64__
    if (cpu_isa() >= ISA_AVX2 && hermitian_avx2[t])
        return hermitian_avx2[t];
#endif
    return hermitian_base[t];
}

/* ---- a matrix that lies by lines ---- */
/* Line i of it is x + i * ld; what is copied is each line from the diagonal on. */
typedef struct Walk {
    BlasType t;
    int64_t n, ld, bytes;
    const char *x;
    char *to;
    bool flip, finite;
    HermitianFn strip;
    AsymmetryFn measure;                    /* NULL: only whether all are equal */
    Asymmetry seen;
} Walk;

static Mat walk_rows(const Walk *w) { return (Mat){ (char *)w->x, w->ld, 1 }; }

static bool tiles_match(Walk *w, int64_t i, int64_t j, int64_t count)
{
    HermitianStrip s = {
        w->x + (i * w->ld + j) * w->bytes, w->x + (j * w->ld + i) * w->bytes, w->ld, count, w->n,
        w->to ? w->to + (i * w->n + j) * w->bytes : NULL, w->flip
    };
    if (w->measure) {
        w->measure(&s, &w->seen);
        return true;
    }
    HermitianSeen seen = w->strip(&s);
    w->finite &= seen.finite;
    return seen.equal;
}

/* As diagonal_matches; tiles that are not whole pair by pair. */
static bool diagonal_measured(Walk *w, int64_t i, int64_t to)
{
    if (to - i == TILE)
        return tiles_match(w, i, i, 1);
    for (int64_t k = i; k < i + TILE && k < to; k++)
        for (int64_t j = k; j < to; j++) {
            int64_t p = k * w->ld + j, q = j * w->ld + k;
            asymmetry_add(&w->seen, mat_abs(w->t, w->x, p), mat_abs(w->t, w->x, q),
                          mat_gap(w->t, w->x, p, q));
            if (w->to)
                memcpy(w->to + (k * w->n + j) * w->bytes,
                       w->x + (w->flip ? q : p) * w->bytes, (size_t)w->bytes);
        }
    return true;
}

/* The tile on the diagonal at i, and columns [i + TILE, to) beside it. */
static bool diagonal_matches(Walk *w, int64_t i, int64_t to)
{
    if (w->measure)
        return diagonal_measured(w, i, to);
    HermitianStrip tile = { w->x + i * (w->ld + 1) * w->bytes, NULL, w->ld, 1, 0, NULL, false };
    tile.across = tile.x;
    for (int64_t k = i; w->to && k < i + TILE && k < to; k++) {
        char *out = w->to + k * (w->n + 1) * w->bytes;
        memcpy(out, w->x + k * (w->ld + 1) * w->bytes, (size_t)((to - k) * w->bytes));
        if (w->flip)
            mat_conjugate(w->t, out, to - k);
    }
    bool pairs = blas_is_complex(w->t) || to - i != TILE;    /* or else the kernel may do it */
    HermitianSeen seen = pairs ? pairs_seen(w->t, walk_rows(w), i, to, i, i + TILE)
                               : w->strip(&tile);
    w->finite &= seen.finite;
    return seen.equal;
}

/* Tiles of the lines [i, i + TILE) in columns [j, j + BLOCK); the last of a line ends with
 * it and may look at some columns twice. */
static bool strip_matches(Walk *w, int64_t i, int64_t j)
{
    int64_t first = j > i + TILE ? j : i + TILE, last = j + BLOCK < w->n ? j + BLOCK : w->n;
    int64_t count = (last - first) / TILE;
    if (count > 0 && !tiles_match(w, i, first, count))
        return false;
    return last < w->n || last - first <= 0 || (last - first) % TILE == 0 ||
           tiles_match(w, i, w->n - TILE, 1);
}

static bool lines_match(Walk *w)
{
    int64_t whole = w->n / TILE * TILE;
    for (int64_t i0 = 0; i0 < whole; i0 += BLOCK)
        for (int64_t j = i0; j < w->n; j += BLOCK)
            for (int64_t i = i0; i < i0 + BLOCK && i + TILE < whole; i += TILE)
                if (!strip_matches(w, i, j))
                    return false;
    for (int64_t i = 0; i + TILE < whole; i += TILE)
        if (!diagonal_matches(w, i, i + TILE))
            return false;
    for (int64_t i = whole > TILE ? whole - TILE : 0; i < w->n; i += TILE)
        if (!diagonal_matches(w, i, w->n))
            return false;
    return true;
}

/* ---- the whole ---- */
static bool strided_matches(BlasType t, int64_t n, Mat a, void *to, bool *finite)
{
    HermitianSeen seen = pairs_seen(t, a, 0, n, 0, n);
    if (seen.equal && to)
        mat_copy_lower(t, n, a, to, false);
    *finite = seen.finite;
    return seen.equal;
}

bool mat_take_hermitian(BlasType t, int64_t n, Mat a, void *to, bool *finite)
{
    bool known;
    finite = finite ? finite : &known;
    if (n > 1 && (!pairs_seen(t, a, n - 1, n, 0, 1).equal || !pairs_seen(t, a, 1, 2, 0, 1).equal))
        return false;                       /* the usual case, before whole tiles are looked at */
    if (a.cs != 1 && a.rs != 1)
        return strided_matches(t, n, a, to, finite);
    bool by_rows = a.cs == 1 && a.rs != 1;
    Walk w = {
        t, n, by_rows ? a.rs : a.cs, (int64_t)blas_bytes(t), a.data, to,
        by_rows && blas_is_complex(t), true, strip_function(t), NULL, { 0, 0, true }
    };
    bool same = lines_match(&w);
    *finite = w.finite;
    return same;
}

Asymmetry mat_asymmetry(BlasType t, int64_t n, Mat a, void *to)
{
    Asymmetry seen = { 0, 0, true };
    bool by_rows = a.cs == 1;
    if ((a.cs == 1 || a.rs == 1) && !blas_is_complex(t)) {
        Walk w = { t, n, by_rows ? a.rs : a.cs, (int64_t)blas_bytes(t), a.data, to, by_rows, true,
                   NULL, asymmetry_function(t), seen };
        lines_match(&w);
        return w.seen;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            int64_t p = i * a.rs + j * a.cs, q = j * a.rs + i * a.cs;
            asymmetry_add(&seen, mat_abs(t, a.data, p), mat_abs(t, a.data, q),
                          mat_gap(t, a.data, p, q));
        }
    if (to)
        mat_copy(blas_bytes(t), n, n, a, (Mat){ to, 1, n });
    return seen;
}

bool mat_is_hermitian(BlasType t, int64_t n, Mat a)
{
    return mat_take_hermitian(t, n, a, NULL, NULL);
}
