/* LU with partial pivoting of LANES matrices at a time, for one element type: what solve,
 * inv and det of small matrices stand on (small.h). Included by small_isa.tmpl.h with
 * REAL, T and their vectors V, VI; TYPE and PARTS (2: complex). */

#define FN(name) GLUE(name, TYPE)
#define RN(name) GLUE(name, REAL)

/* One element of every matrix. */
typedef struct FN(Num) {
    V re;
#if PARTS == 2
    V im;
#endif
} FN(Num);
#define Num FN(Num)

typedef struct FN(System) {
    Num given[SMALL_LU_MAX * SMALL_LU_MAX], lu[SMALL_LU_MAX * SMALL_LU_MAX];
    Num reciprocal[SMALL_LU_MAX];            /* of the pivots */
    VI order[SMALL_LU_MAX];                  /* row i of P A is row order[i] of A */
    VI odd;                                  /* all ones: an odd number of interchanges */
    V least, most;                           /* magnitudes of the pivots */
    V norm;                                  /* of A, in the 1-norm */
    T limit;                                 /* below it 1 / condition number is to be told */
    int64_t n;
} FN(System);
#define System FN(System)

/* |re| + |im|, by which LAPACK chooses. */
static inline V FN(magnitude)(Num x)
{
#if PARTS == 2
    return RN(size)(x.re) + RN(size)(x.im);
#else
    return RN(size)(x.re);
#endif
}

/* c - a b */
static inline Num FN(take)(Num a, Num b, Num c)
{
#if PARTS == 2
    c.im = RN(fma)(-a.re, b.im, RN(fma)(-a.im, b.re, c.im));
    c.re = RN(fma)(a.im, b.im, RN(fma)(-a.re, b.re, c.re));
#else
    c.re = RN(fma)(-a.re, b.re, c.re);
#endif
    return c;
}

static inline Num FN(times)(Num a, Num b)
{
#if PARTS == 2
    return (Num){ RN(fma)(a.re, b.re, -(a.im * b.im)), RN(fma)(a.re, b.im, a.im * b.re) };
#else
    return (Num){ a.re * b.re };
#endif
}

static inline Num FN(inverted)(Num x)
{
#if PARTS == 2
    V r = 1 / (x.re * x.re + x.im * x.im);
    return (Num){ x.re * r, -x.im * r };
#else
    return (Num){ 1 / x.re };
#endif
}

/* Exchanges two rows in the lanes of the mask. */
static inline void FN(exchange)(VI mask, Num *x, Num *y, int64_t n)
{
    V *a = (V *)x, *b = (V *)y;
    for (int64_t c = 0; c < n * PARTS; c++) {
        V p = a[c], q = b[c];
        a[c] = RN(choose)(mask, q, p);
        b[c] = RN(choose)(mask, p, q);
    }
}

static inline void FN(pivot)(System *s, int64_t j)
{
    int64_t n = s->n;
    V best = FN(magnitude)(s->lu[j * n + j]);
    VI at = (VI){ 0 } + (TINT)j;
    for (int64_t i = j + 1; i < n; i++) {
        V m = FN(magnitude)(s->lu[i * n + j]);
        VI more = m > best;
        best = RN(choose)(more, m, best);
        at = (VI)RN(choose)(more, (V)((VI){ 0 } + (TINT)i), (V)at);
    }
    s->least = RN(choose)(best < s->least, best, s->least);
    s->most = RN(choose)(best <= s->most, s->most, best);        /* keeps a NaN */
    for (int64_t i = j + 1; i < n; i++) {
        VI mask = at == (TINT)i;
        if (!RN(any)(mask))
            continue;
        FN(exchange)(mask, s->lu + j * n, s->lu + i * n, n);
        VI p = s->order[j], q = s->order[i];
        s->order[j] = (mask & q) | (~mask & p);
        s->order[i] = (mask & p) | (~mask & q);
        s->odd ^= mask;
    }
}

static void FN(factor)(System *s)
{
    int64_t n = s->n;
    s->odd = (VI){ 0 };
    s->least = (V){ 0 } + T_MOST;
    s->most = (V){ 0 };
    for (int64_t i = 0; i < n; i++)
        s->order[i] = (VI){ 0 } + (TINT)i;
    for (int64_t j = 0; j < n; j++) {
        FN(pivot)(s, j);
        const Num *top = s->lu + j * n;
        Num r = FN(inverted)(top[j]);
        s->reciprocal[j] = r;
        for (int64_t i = j + 1; i < n; i++) {
            Num *row = s->lu + i * n, l = FN(times)(row[j], r);
            row[j] = l;
            for (int64_t c = j + 1; c < n; c++)
                row[c] = FN(take)(l, top[c], row[c]);
        }
    }
}

/* Substitutes in `cols` columns, whose rows are in the order of the pivots already. */
static void FN(substitute)(const System *s, Num *x, int64_t cols)
{
    int64_t n = s->n;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j + 1; i < n; i++) {
            Num l = s->lu[i * n + j];
            for (int64_t c = 0; c < cols; c++)
                x[i * cols + c] = FN(take)(l, x[j * cols + c], x[i * cols + c]);
        }
    for (int64_t j = n - 1; j >= 0; j--) {
        for (int64_t c = 0; c < cols; c++)
            x[j * cols + c] = FN(times)(s->reciprocal[j], x[j * cols + c]);
        for (int64_t i = 0; i < j; i++) {
            Num u = s->lu[i * n + j];
            for (int64_t c = 0; c < cols; c++)
                x[i * cols + c] = FN(take)(u, x[j * cols + c], x[i * cols + c]);
        }
    }
}

/* All ones where every pivot is in the range in which nothing over- or underflows. */
static inline VI FN(sound)(const System *s)
{
    return (s->least > T_LEAST) & (s->most < T_MOST);
}

/* Largest sum of magnitudes in a column. */
static V FN(norm1)(const Num *x, int64_t n)
{
    V top = { 0 };
    for (int64_t j = 0; j < n; j++) {
        V sum = { 0 };
        for (int64_t i = 0; i < n; i++)
            sum += FN(magnitude)(x[i * n + j]);
        top = RN(choose)(sum <= top, top, sum);
    }
    return top;
}

/* The judgement of the ordinary way (factor_judge in builtins/linalg/linalg_factor.c), with U for A
 * and a wider margin: one substitution with an arbitrary vector bounds |inv(U)| from below. */
static VI FN(judged)(const System *s)
{
    int64_t n = s->n;
    Num z[SMALL_LU_MAX];
    V grown = { 0 };
    for (int64_t i = 0; i < n; i++) {
        z[i] = (Num){ 0 };
        z[i].re += i % 3 == 1 ? (T)-0.8 : (T)1 + (T)i / 32;
    }
    for (int64_t j = n - 1; j >= 0; j--) {
        z[j] = FN(times)(s->reciprocal[j], z[j]);
        V m = FN(magnitude)(z[j]);
        grown = RN(choose)(m <= grown, grown, m);
        for (int64_t i = 0; i < j; i++)
            z[i] = FN(take)(s->lu[i * n + j], z[j], z[i]);
    }
    return FN(sound)(s) & (s->norm * grown * ((T)20 * (T)n * s->limit) < 1);
}

/* Columns [col, col + cols) of the right sides, rows in the order of the pivots. */
static void FN(load_rhs)(const System *s, const RN(Group) *b, int64_t col, int64_t cols, Num *x)
{
    for (int l = 0; l < LANES; l++)
        for (int64_t i = 0; i < s->n; i++) {
            int64_t from = (int64_t)((const TINT *)&s->order[i])[l];
            const T *row = b->at[l] + (from * b->rs + col * b->cs) * PARTS;
            T *to = (T *)(x + i * cols) + l;
            for (int64_t c = 0; c < cols; c++)
                for (int p = 0; p < PARTS; p++)
                    to[(c * PARTS + p) * LANES] = row[c * b->cs * PARTS + p];
        }
}

/* All ones where |b - A x| is at most n eps of |A| |x| + |b| in every row: what
 * builtins/linalg/linalg_refine.c asks for. b has the rows of A as they stand. */
static VI FN(satisfied)(const System *s, const Num *b, const Num *x, int64_t cols)
{
    int64_t n = s->n;
    VI sound = ~(VI){ 0 };
    V most = (V){ 0 } + (T)n * T_EPS;
    for (int64_t i = 0; i < n; i++) {
        Num r[SMALL_LU_MAX];
        V d[SMALL_LU_MAX];
        for (int64_t c = 0; c < cols; c++) {
            r[c] = b[i * cols + c];
            d[c] = FN(magnitude)(r[c]);
        }
        for (int64_t j = 0; j < n; j++) {
            Num a = s->given[i * n + j];
            V size = FN(magnitude)(a);
            for (int64_t c = 0; c < cols; c++) {
                r[c] = FN(take)(a, x[j * cols + c], r[c]);
                d[c] = RN(fma)(size, FN(magnitude)(x[j * cols + c]), d[c]);
            }
        }
        for (int64_t c = 0; c < cols; c++)
            sound &= FN(magnitude)(r[c]) <= most * d[c];
    }
    return sound;
}

static VI FN(solve)(const System *s, const RN(Group) *b, RN(Group) *x, int64_t nrhs)
{
    Num block[SMALL_LU_MAX * SMALL_LU_MAX], right[SMALL_LU_MAX * SMALL_LU_MAX];
    VI sound = FN(judged)(s);
    for (int64_t c = 0; c < nrhs; c += SMALL_LU_MAX) {
        int64_t cols = nrhs - c < SMALL_LU_MAX ? nrhs - c : SMALL_LU_MAX;
        RN(Group) part = *x, of = *b;
        for (int l = 0; l < LANES; l++) {
            part.at[l] += c * x->cs * PARTS;
            of.at[l] += c * b->cs * PARTS;
        }
        FN(load_rhs)(s, b, c, cols, block);
        FN(substitute)(s, block, cols);
        RN(load)((V *)right, &of, s->n, cols, PARTS);
        sound &= FN(satisfied)(s, right, block, cols);
        RN(store)((const V *)block, &part, s->n, cols, PARTS);
    }
    return sound;
}

static VI FN(invert)(const System *s, const RN(Group) *x)
{
    int64_t n = s->n;
    Num block[SMALL_LU_MAX * SMALL_LU_MAX];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            VI one = s->order[i] == (TINT)j;
            block[i * n + j] = (Num){ (V)(one & (VI)((V){ 0 } + 1)) };
        }
    FN(substitute)(s, block, n);
    RN(store)((const V *)block, x, n, n, PARTS);
    V condition = s->norm * FN(norm1)(block, n);
    return FN(sound)(s) & (condition * s->limit < (T)0.9);
}

static VI FN(determinant)(const System *s, const RN(Group) *x)
{
    Num d = s->lu[0];
    V least = s->least, most = s->most;
    for (int64_t i = 1; i < s->n; i++) {
        d = FN(times)(d, s->lu[i * (s->n + 1)]);
        V m = FN(magnitude)(d);
        least = RN(choose)(m < least, m, least);
        most = RN(choose)(m <= most, most, m);
    }
    V sign = { 0 };
    sign = RN(choose)(s->odd, sign - 1, sign + 1);
    V *parts = (V *)&d;
    for (int p = 0; p < PARTS; p++)
        parts[p] *= sign;
    RN(store)((const V *)&d, x, 1, 1, PARTS);
    return (least > T_LEAST) & (most < T_MOST);
}

/* Points a group at the items from `first` on. */
static void FN(address)(const SmallJob *j, int64_t first, RN(Group) *a, RN(Group) *b, RN(Group) *c)
{
    for (int l = 0; l < LANES; l++) {
        int64_t at[3];
        small_offset(j, l < c->live ? first + l : first, at);
        a->at[l] = (T *)(void *)(j->a.data + at[0]);
        b->at[l] = j->task == SMALL_SOLVE ? (T *)(void *)(j->b.data + at[1]) : NULL;
        c->at[l] = (T *)(void *)(j->c.data + at[2]);
    }
}

static void FN(lu)(const SmallJob *j, int64_t begin, int64_t end)
{
    System s;
    s.n = j->n;
    s.limit = (T)j->limit;
    for (int64_t first = begin; first < end; first += LANES) {
        int live = end - first < LANES ? (int)(end - first) : LANES;
        RN(Group) a = { .rs = j->a.rs, .cs = j->a.cs }, b = { .rs = j->b.rs, .cs = j->b.cs };
        RN(Group) c = { .rs = j->c.rs, .cs = j->c.cs, .live = live };
        FN(address)(j, first, &a, &b, &c);
        RN(load)((V *)s.lu, &a, j->n, j->n, PARTS);
        s.norm = FN(norm1)(s.lu, j->n);
        if (j->task == SMALL_SOLVE)
            memcpy(s.given, s.lu, (size_t)(j->n * j->n) * sizeof *s.lu);
        FN(factor)(&s);
        VI sound = j->task == SMALL_SOLVE ? FN(solve)(&s, &b, &c, j->k)
                   : j->task == SMALL_INVERSE ? FN(invert)(&s, &c)
                                              : FN(determinant)(&s, &c);
        for (int l = 0; l < live; l++)
            j->done[first + l] = ((const TINT *)&sound)[l] != 0;
    }
}
#undef Num
#undef System
#undef FN
#undef RN
