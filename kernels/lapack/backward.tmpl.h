/* The residual and its scale for one element type: REAL, PARTS (2: complex), FN(name), of real ones
 * vectors V with their bits VI and FMA. Included by backward_isa.tmpl.h. */
enum { FN(LANES) = VECTOR_BYTES / sizeof(REAL) };

static REAL FN(total)(const REAL *part, int n)
{
    REAL sum = 0;
    for (int l = 0; l < n; l++)
        sum += part[l];
    return sum;
}

#if PARTS == 1
static inline V FN(load)(const REAL *p)
{
    V v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline V FN(magnitude)(V x)
{
    return (V)((VI)x & ~(VI)(-(V){ 0 }));
}

/* r - a x and d + |a| ax over `n` elements of a row that lie together. */
static void FN(row)(int64_t n, const REAL *a, const REAL *x, const REAL *ax, REAL *r, REAL *d)
{
    enum { L = FN(LANES) };
    V s[2] = { { 0 } }, t[2] = { { 0 } };
    REAL part[2 * L], rest = 0, size = 0;
    int64_t j = 0;
    for (; j + 2 * L <= n; j += 2 * L)
        for (int k = 0; k < 2; k++) {
            V v = FN(load)(a + j + k * L);
            s[k] = FMA(v, FN(load)(x + j + k * L), s[k]);
            t[k] = FMA(FN(magnitude)(v), FN(load)(ax + j + k * L), t[k]);
        }
    for (; j < n; j++) {
        rest += a[j] * x[j];
        size += ABS(a[j]) * ax[j];
    }
    memcpy(part, s, sizeof part);
    *r -= FN(total)(part, 2 * L) + rest;
    memcpy(part, t, sizeof part);
    *d += FN(total)(part, 2 * L) + size;
}

/* The same of a column. */
static inline void FN(column)(int64_t n, const REAL *restrict a, int64_t step, const REAL *x,
                              REAL ax, REAL *restrict r, REAL *restrict d)
{
    for (int64_t i = 0; i < n; i++) {
        r[i] -= a[i * step] * *x;
        d[i] += ABS(a[i * step]) * ax;
    }
}
#else
static void FN(row)(int64_t n, const REAL *a, const REAL *x, const REAL *ax, REAL *r, REAL *d)
{
    REAL re[FN(LANES)] = { 0 }, im[FN(LANES)] = { 0 }, t[FN(LANES)] = { 0 };
    for (int64_t j = 0; j < n; j++) {
        int l = (int)(j % FN(LANES));
        re[l] += a[2 * j] * x[2 * j] - a[2 * j + 1] * x[2 * j + 1];
        im[l] += a[2 * j] * x[2 * j + 1] + a[2 * j + 1] * x[2 * j];
        t[l] += (ABS(a[2 * j]) + ABS(a[2 * j + 1])) * ax[j];
    }
    r[0] -= FN(total)(re, FN(LANES));
    r[1] -= FN(total)(im, FN(LANES));
    *d += FN(total)(t, FN(LANES));
}

static inline void FN(column)(int64_t n, const REAL *restrict a, int64_t step, const REAL *x,
                              REAL ax, REAL *restrict r, REAL *restrict d)
{
    for (int64_t i = 0; i < n; i++) {
        const REAL *p = a + 2 * i * step;
        r[2 * i] -= p[0] * x[0] - p[1] * x[1];
        r[2 * i + 1] -= p[0] * x[1] + p[1] * x[0];
        d[i] += (ABS(p[0]) + ABS(p[1])) * ax;
    }
}
#endif

/* r - A x and d + |A| ax, where A is m x n with kl diagonals below and ku above. */
static void FN(subtract)(int64_t m, int64_t n, int64_t kl, int64_t ku, Mat mat, const REAL *x,
                         const REAL *ax, REAL *r, REAL *d)
{
    const REAL *a = (const REAL *)(const void *)mat.data;
    bool rows = mat.cs == 1;
    int64_t lines = rows ? m : n, length = rows ? n : m;
    int64_t before = rows ? kl : ku, after = rows ? ku : kl;
    for (int64_t i = 0; i < lines; i++) {
        int64_t from = i - before > 0 ? i - before : 0;
        int64_t to = i + after < length - 1 ? i + after + 1 : length;
        const REAL *line = a + (i * (rows ? mat.rs : mat.cs) + from * (rows ? 1 : mat.rs)) * PARTS;
        if (rows)
            FN(row)(to - from, line, x + from * PARTS, ax + from, r + i * PARTS, d + i);
        else if (mat.rs == 1)
            FN(column)(to - from, line, 1, x + i * PARTS, ax[i], r + from * PARTS, d + from);
        else
            FN(column)(to - from, line, mat.rs, x + i * PARTS, ax[i], r + from * PARTS, d + from);
    }
}

static REAL FN(size)(const REAL *x)
{
    return PARTS == 1 ? ABS(x[0]) : ABS(x[0]) + ABS(x[PARTS - 1]);
}

/* NaN where something is not finite, however the maximum takes it. */
static double FN(worst)(int64_t n, const REAL *r, const REAL *d)
{
    double top = 0;
    for (int64_t i = 0; i < n; i++) {
        double of = (double)FN(size)(r + i * PARTS), all = (double)d[i];
        double e = of == 0 ? 0 * all : of / all;
        top = e <= top ? top : e;
        if (!(all < INFINITY) || e != e)
            return NAN;
    }
    return top;
}

/* The size of a column, by some of its elements. */
static REAL FN(sampled)(int64_t n, const REAL *x)
{
    REAL sum = 0;
    for (int64_t i = 0; i < n; i += n / 16 + 1)
        sum += FN(size)(x + i * PARTS);
    return sum > 0 ? sum : 1;
}

/* Columns are added up by x - (-w): the same loop as A x. */
static double FN(error)(const BackwardSystem *s, const void *x, Mat b, int64_t cols, void *room)
{
    int64_t n = s->n;
    REAL *r = room, *d = r + n * PARTS, *ax = d + n, *y = ax + n, *w = y + n * PARTS;
    REAL *aw = w + cols * PARTS;
    memset(room, 0, ((size_t)n * (2 * PARTS + 2) + (size_t)cols * PARTS) * sizeof *r);
    for (int64_t j = 0; j < cols; j++) {
        uint32_t chance = (uint32_t)j * 2654435769u;
        aw[j] = cols == 1 ? 1 : (REAL)(0.5 + (chance >> 8 & 0xffff) * 0x1p-17) /
                                FN(sampled)(n, (const REAL *)x + j * n * PARTS);
        w[j * PARTS] = chance >> 31 ? aw[j] : -aw[j];
    }
    FN(subtract)(n, cols, n, cols, b, w, aw, r, d);
    FN(subtract)(n, cols, n, cols, (Mat){ (char *)x, 1, n }, w, aw, y, ax);
    FN(subtract)(n, n, s->kl, s->ku, s->a, y, ax, r, d);
    return FN(worst)(n, r, d);
}
#undef REAL
#undef PARTS
#undef ABS
#undef FN
#undef V
#undef VI
#undef FMA
