/* Products of small matrices one by one, for one element type: tiles of C stay in vector
 * registers over the whole depth; a single column is a set of inner products. Rows of B that
 * are not whole vectors of consecutive elements are copied to padded ones first. Included by
 * small_isa.tmpl.h with REAL, T and their vectors; TYPE and PARTS (2: complex). */

#define FN(name) GLUE(name, TYPE)
#define RN(name) GLUE(name, REAL)
#define TILE_ROWS (4 / PARTS)        /* 8 sums leave registers for the operands */

typedef struct FN(Rows) {
    const T *a, *b;              /* b: rows of whole vectors, ldb reals apart */
    T *c;
    int64_t k, ars, acs, ldb, crs;
} FN(Rows);

#if PARTS == 2
/* [re im re im …] exchanged to [im re im re …] */
static inline V FN(swapped)(V x)
{
    VI low = ((VI)x), r;
    for (int l = 0; l < LANES; l++)
        r[l] = low[l ^ 1];
    return (V)r;
}
#endif

/* A tile of `rows` rows and `vectors` vectors, of which the last `kept` reals are stored;
 * the arguments are constants in every call. For complex elements, products with the
 * imaginary parts of A are summed apart and turned by i at the end. */
static inline __attribute__((always_inline)) void FN(tile)(const FN(Rows) *r, int rows, int vectors)
{
    const V zero = { 0 };
    V sum[TILE_ROWS][2];
#if PARTS == 2
    V turned[TILE_ROWS][2];
#endif
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++) {
            sum[i][v] = zero;
#if PARTS == 2
            turned[i][v] = zero;
#endif
        }
    const T *a = r->a, *b = r->b;
    for (int64_t q = 0; q < r->k; q++, a += r->acs, b += r->ldb) {
        V row[2];
        for (int v = 0; v < vectors; v++)
            memcpy(&row[v], b + v * LANES, sizeof(V));
        for (int i = 0; i < rows; i++) {
            V re = a[i * r->ars] - zero;
            for (int v = 0; v < vectors; v++)
                sum[i][v] = RN(fma)(re, row[v], sum[i][v]);
#if PARTS == 2
            V im = a[i * r->ars + 1] - zero;
            for (int v = 0; v < vectors; v++)
                turned[i][v] = RN(fma)(im, row[v], turned[i][v]);
#endif
        }
    }
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++) {
#if PARTS == 2
            V other = FN(swapped)(turned[i][v]), sign;
            for (int l = 0; l < LANES; l++)
                sign[l] = l & 1 ? 1 : -1;
            sum[i][v] = RN(fma)(other, sign, sum[i][v]);
#endif
            memcpy(r->c + i * r->crs + v * LANES, &sum[i][v], sizeof(V));
        }
}

static inline __attribute__((always_inline)) void FN(column)(FN(Rows) *r, int64_t m, int vectors)
{
    const T *a = r->a;
    T *c = r->c;
    int64_t i = 0;
    for (; i + TILE_ROWS <= m; i += TILE_ROWS) {
        FN(tile)(r, TILE_ROWS, vectors);
        r->a += TILE_ROWS * r->ars;
        r->c += TILE_ROWS * r->crs;
    }
    for (; i < m; i++) {
        FN(tile)(r, 1, vectors);
        r->a += r->ars;
        r->c += r->crs;
    }
    r->a = a;
    r->c = c;
}

/* `width` reals per row of B and C, whole vectors. */
static void FN(columns)(FN(Rows) *r, int64_t m, int64_t width)
{
    int64_t j = 0;
    for (; j + 2 * LANES <= width; j += 2 * LANES) {
        FN(column)(r, m, 2);
        r->b += 2 * LANES;
        r->c += 2 * LANES;
    }
    if (j < width)
        FN(column)(r, m, 1);
}

/* B's rows, padded with zeros to whole vectors. */
static void FN(pad_rows)(T *to, const T *b, const SmallJob *job, int64_t width)
{
    int64_t n = job->n, cs = job->b.cs * PARTS;
    for (int64_t q = 0; q < job->k; q++, to += width, b += job->b.rs * PARTS) {
        int64_t j = 0;
        for (; j < n; j++)
            for (int p = 0; p < PARTS; p++)
                to[j * PARTS + p] = b[j * cs + p];
        for (j *= PARTS; j < width; j++)
            to[j] = 0;
    }
}

static void FN(copy_rows)(T *to, const T *from, const SmallJob *job, int64_t width)
{
    for (int64_t i = 0; i < job->m; i++, to += job->c.rs * PARTS, from += width)
        for (int64_t j = 0; j < job->n * PARTS; j++)
            to[j] = from[j];
}

#if PARTS == 1
/* One column: inner products with LANES rows of A at a time, whose partial sums are turned
 * over to be added up. `x` is contiguous, and so are the rows of A. */
static void FN(vector)(const FN(Rows) *r, const T *x, int64_t m)
{
    int64_t whole = r->k / LANES * LANES;
    for (int64_t i = 0; i < m; i += LANES) {
        int64_t rows = m - i < LANES ? m - i : LANES;
        V sum[LANES], total = { 0 };
        for (int l = 0; l < LANES; l++) {
            const T *a = r->a + (i + (l < rows ? l : 0)) * r->ars;
            V part = { 0 }, u, w;
            for (int64_t q = 0; q < whole; q += LANES) {
                memcpy(&u, a + q, sizeof u);
                memcpy(&w, x + q, sizeof w);
                part = RN(fma)(u, w, part);
            }
            for (int64_t q = whole; q < r->k; q++)
                part[0] += a[q] * x[q];
            sum[l] = part;
        }
        RN(turn)(sum);
        for (int l = 0; l < LANES; l++)
            total += sum[l];
        for (int64_t l = 0; l < rows; l++)
            r->c[(i + l) * r->crs] = ((const T *)&total)[l];
    }
}

static void FN(vectors)(const SmallJob *j, int64_t begin, int64_t end)
{
    T x[SMALL_PRODUCT_MAX];
    FN(Rows) r = { .k = j->k, .ars = j->a.rs, .crs = j->c.rs };
    for (int64_t i = begin; i < end; i++) {
        int64_t at[3];
        small_offset(j, i, at);
        r.a = (const T *)(void *)(j->a.data + at[0]);
        r.b = (const T *)(void *)(j->b.data + at[1]);
        r.c = (T *)(void *)(j->c.data + at[2]);
        for (int64_t q = 0; q < j->k && j->b.rs != 1; q++)
            x[q] = r.b[q * j->b.rs];
        FN(vector)(&r, j->b.rs == 1 ? r.b : x, j->m);
    }
}
#endif

static void FN(product)(const SmallJob *j, int64_t begin, int64_t end)
{
#if PARTS == 1
    if (j->n == 1 && j->a.cs == 1) {
        FN(vectors)(j, begin, end);
        return;
    }
#endif
    enum { EDGE = SMALL_PRODUCT_MAX, ROOM = EDGE * EDGE * PARTS };
    T left[ROOM] __attribute__((aligned(64))), padded[ROOM] __attribute__((aligned(64)));
    int64_t width = (j->n * PARTS + LANES - 1) / LANES * LANES;
    bool whole = width == j->n * PARTS, straight = whole && j->b.cs == 1;
    FN(Rows) r = { .k = j->k, .ars = j->a.rs * PARTS, .acs = j->a.cs * PARTS,
                   .ldb = straight ? j->b.rs * PARTS : width,
                   .crs = whole ? j->c.rs * PARTS : width };
    for (int64_t i = begin; i < end; i++) {
        int64_t at[3];
        small_offset(j, i, at);
        T *c = (T *)(void *)(j->c.data + at[2]);
        r.a = (const T *)(void *)(j->a.data + at[0]);
        r.b = (const T *)(void *)(j->b.data + at[1]);
        r.c = whole ? c : left;
        if (!straight) {
            FN(pad_rows)(padded, r.b, j, width);
            r.b = padded;
        }
        FN(columns)(&r, j->m, width);
        if (!whole)
            FN(copy_rows)(c, left, j, width);
    }
}
#undef TILE_ROWS
#undef FN
#undef RN
