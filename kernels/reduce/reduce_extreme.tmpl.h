/* Extremes and their positions. Both read memory at the speed that it has, so an element costs one
 * comparison and half a look for NaN; where there was one, which is rare, the plain loops do it
 * again. A position is looked for in the part of the run that had the extreme. Included by
 * reduce_ops.tmpl.h with T, C, LOAD, VALUE (the member of RedArg.v), BETTER(b, a) (b strictly
 * beats a), NOT_NUMBER, NEITHER_NUMBER (of two, one or both are none), NAME(f) of the extreme and
 * AT(f) of its position. */

#ifndef EXTREME_LANES
#define EXTREME_LANES(C) (int)(256 / sizeof(C))
#define EXTREME_STEPS 128             /* what a position is looked for in, in steps of the lanes */
#define EXTREME_COLUMNS 512
#define EXTREME_STRIPE(C) (int64_t)(512 / sizeof(C))
/* Rows whose number fits the index below. */
#define EXTREME_ROWS(C) (sizeof(C) == 1 ? 64 : 4096)
#define EXTREME_HALVE(W) \
    for (int l = 0; l < W && LANES > W; l++) { \
        flag[l] |= flag[l + W]; \
        lane[l] = BETTER(lane[l + W], lane[l]) ? lane[l + W] : lane[l]; \
    }
/* Ints of the width of C, so that lanes of both fit together. */
#define EXTREME_FLAG(C) __typeof__(__builtin_choose_expr(sizeof(C) == 8, (int64_t)0, (int32_t)0))
#define EXTREME_INDEX(C) __typeof__(__builtin_choose_expr(sizeof(C) == 8, (int64_t)0, \
    __builtin_choose_expr(sizeof(C) == 4, (int32_t)0, (int8_t)0)))
#endif

/* The extreme of n >= LANES elements. *nan is set where one is no number; the extreme means nothing
 * then. */
static __attribute__((noinline)) C NAME(part)(const T *p, int64_t n, bool *nan)
{
    enum { LANES = EXTREME_LANES(C) };
    C lane[LANES];
    EXTREME_FLAG(C) flag[LANES] = { 0 };
    int64_t steps = n / LANES, rest = n % LANES;
    for (int l = 0; l < LANES; l++)
        lane[l] = LOAD(p[l]);
    if (steps % 2) {
        for (int l = 0; l < LANES; l++)
            flag[l] = NOT_NUMBER(lane[l]);
        p += LANES;
    }
    for (int64_t i = steps / 2; i > 0; i--, p += 2 * LANES) {
        AHEAD(p, 2 * LANES * sizeof(T));
        for (int l = 0; l < LANES; l++) {
            C v = LOAD(p[l]), w = LOAD(p[LANES + l]);
            flag[l] |= NEITHER_NUMBER(v, w);
            lane[l] = BETTER(v, lane[l]) ? v : lane[l];
            lane[l] = BETTER(w, lane[l]) ? w : lane[l];
        }
    }
    EXTREME_HALVE(128) EXTREME_HALVE(64) EXTREME_HALVE(32) EXTREME_HALVE(16)
    EXTREME_HALVE(8) EXTREME_HALVE(4) EXTREME_HALVE(2) EXTREME_HALVE(1)
    C best = lane[0];
    bool none = flag[0];
    for (int64_t i = 0; i < rest; i++) {
        C v = LOAD(p[i]);
        none |= NOT_NUMBER(v);
        best = BETTER(v, best) ? v : best;
    }
    *nan = none;
    return best;
}

/* A NaN wins over everything and then stays: no comparison with it is true. */
static inline C NAME(of)(C a, C v)
{
    return ((int)BETTER(v, a) | (int)NOT_NUMBER(v)) ? v : a;
}

static void NAME(run)(void *acc, const void *x, int64_t stride, int64_t n, const void *param)
{
    const T *p = x;
    bool nan = true;
    (void)param;
    C best = LOAD(p[0]);
    if (stride == 1 && n >= EXTREME_LANES(C))
        best = NAME(part)(p, n, &nan);
    if (nan) {
        best = LOAD(p[0]);
        for (int64_t i = 1; i < n; i++)
            best = NAME(of)(best, LOAD(p[i * stride]));
    }
    *(C *)acc = best;
}

/* Eight rows of m <= LINE columns into a[j]; flag[j] is set where one is no number. */
static inline __attribute__((always_inline))
void NAME(eight)(C *restrict a, EXTREME_FLAG(C) *restrict flag, const T *p, int64_t rs, int64_t m)
{
    const T *q = p + rs, *r = q + rs, *s = r + rs;
    const T *p4 = s + rs, *q4 = p4 + rs, *r4 = q4 + rs, *s4 = r4 + rs;
    for (int64_t j = 0; j < m; j++) {
        C t = a[j], e = LOAD(p[j]), f = LOAD(q[j]), g = LOAD(r[j]), h = LOAD(s[j]);
        C u = LOAD(p4[j]), v = LOAD(q4[j]), w = LOAD(r4[j]), z = LOAD(s4[j]);
        flag[j] = NEITHER_NUMBER(e, f) ? 1 : flag[j];
        flag[j] = NEITHER_NUMBER(g, h) ? 1 : flag[j];
        flag[j] = NEITHER_NUMBER(u, v) ? 1 : flag[j];
        flag[j] = NEITHER_NUMBER(w, z) ? 1 : flag[j];
        t = BETTER(e, t) ? e : t;
        t = BETTER(f, t) ? f : t;
        t = BETTER(g, t) ? g : t;
        t = BETTER(h, t) ? h : t;
        t = BETTER(u, t) ? u : t;
        t = BETTER(v, t) ? v : t;
        t = BETTER(w, t) ? w : t;
        a[j] = BETTER(z, t) ? z : t;
    }
}

/* A stripe of columns, a[j] being row 0; *nan is set where one is no number. */
static __attribute__((noinline))
void NAME(stripe)(C *restrict a, const T *p, int64_t rs, int64_t n, bool *nan)
{
    enum { WIDE = EXTREME_STRIPE(C) };
    C lane[WIDE];
    EXTREME_FLAG(C) flag[WIDE] = { 0 };
    for (int l = 0; l < WIDE; l++)
        lane[l] = a[l];
    for (; n >= 2; n -= 2, p += 2 * rs) {
        AHEAD_STRIPE(p, rs, WIDE);
        for (int l = 0; l < WIDE; l++) {
            C v = LOAD(p[l]), w = LOAD(p[rs + l]);
            flag[l] |= NEITHER_NUMBER(v, w);
            lane[l] = BETTER(v, lane[l]) ? v : lane[l];
            lane[l] = BETTER(w, lane[l]) ? w : lane[l];
        }
    }
    EXTREME_FLAG(C) none = 0;
    for (int l = 0; l < WIDE; l++) {
        C v = n ? LOAD(p[l]) : lane[l];
        none |= flag[l] | NOT_NUMBER(v);
        a[l] = BETTER(v, lane[l]) ? v : lane[l];
    }
    *nan |= none != 0;
}

/* a[j] = the extreme of column j. Is one of the elements no number? */
static bool NAME(columns)(C *restrict a, const T *p, int64_t rs, int64_t n, int64_t m)
{
    EXTREME_FLAG(C) flag[LINE(T)] = { 0 };
    int64_t i = 0;
    bool nan = false;
    for (int64_t j = 0; j < m; j++)
        a[j] = LOAD(p[j]);
    for (; m >= EXTREME_STRIPE(C) && STRIPED(p, rs); m -= EXTREME_STRIPE(C)) {
        NAME(stripe)(a, p, rs, n, &nan);
        a += EXTREME_STRIPE(C);
        p += EXTREME_STRIPE(C);
    }
    for (; i + 8 <= n; i += 8, p += 8 * rs) {
        int64_t j = 0;
        for (; j + LINE(T) <= m; j += LINE(T))
            NAME(eight)(a + j, flag, p + j, rs, LINE(T));
        NAME(eight)(a + j, flag, p + j, rs, m - j);
    }
    for (; i < n; i++, p += rs)
        for (int64_t j = 0; j < m; j++) {
            C v = LOAD(p[j]);
            nan |= NOT_NUMBER(v);
            a[j] = BETTER(v, a[j]) ? v : a[j];
        }
    for (int l = 0; l < LINE(T); l++)
        nan |= flag[l] != 0;
    return nan;
}

static void NAME(rows)(void *acc, const void *x, int64_t rs, int64_t n, int64_t cs, int64_t m,
                       const void *param)
{
    C *restrict a = acc;
    const T *p = x;
    (void)param;
    if (cs == 1 && !NAME(columns)(a, p, rs, n, m))
        return;
    for (int64_t j = 0; j < m; j++)
        a[j] = LOAD(p[j * cs]);
    for (int64_t i = 1; i < n; i++)
        for (int64_t j = 0; j < m; j++)
            a[j] = NAME(of)(a[j], LOAD(p[i * rs + j * cs]));
}

static void NAME(join)(void *acc, const void *more, int64_t m, int64_t offset)
{
    C *a = acc;
    const C *b = more;
    (void)offset;
    for (int64_t j = 0; j < m; j++)
        a[j] = NAME(of)(a[j], b[j]);
}

/* ---- positions ---- */

/* The first place of a value in n > 0 elements that have it. */
static int64_t AT(place)(const T *p, int64_t stride, int64_t n, C value)
{
    enum { GROUP = EXTREME_LANES(C) };
    int64_t i = 0;
    for (; stride == 1 && i + GROUP <= n; i += GROUP) {
        EXTREME_FLAG(C) found = 0;
        AHEAD(p + i + n, GROUP * sizeof(T));
        for (int k = 0; k < GROUP; k++)
            found |= LOAD(p[i + k]) == value;
        if (found)
            break;
    }
    while (i < n - 1 && !(LOAD(p[i * stride]) == value))
        i++;
    return i;
}

static void AT(run)(void *acc, const void *x, int64_t stride, int64_t n, const void *param)
{
    enum { LANES = EXTREME_LANES(C), PART = EXTREME_STEPS * LANES };
    RedArg *a = acc;
    const T *p = x;
    C best = LOAD(p[0]);
    int64_t i = 0, at = 0, size = n < PART ? n : PART;
    bool nan = NOT_NUMBER(best);
    (void)param;
    while (stride == 1 && i + LANES <= n && !nan) {
        int64_t count = n - i < PART ? n - i : PART;
        C value = NAME(part)(p + i, count, &nan);
        if (BETTER(value, best) || nan) {
            best = value;
            at = i;
            size = count;
        }
        i += count;
    }
    for (; i < n && !nan; i++) {
        C v = LOAD(p[i * stride]);
        nan = NOT_NUMBER(v);
        if (nan || BETTER(v, best)) {
            best = v;
            at = i;
            size = 1;
        }
    }
    if (nan)
        for (; at < n - 1 && !NOT_NUMBER(LOAD(p[at * stride])); at++) continue;
    else
        at += AT(place)(p + at * stride, stride, size, best);
    a->at = at;
    a->v.VALUE = LOAD(p[at * stride]);
}

/* Four rows of m <= LINE columns, the first of them number i. */
static inline __attribute__((always_inline))
void AT(four)(C *restrict best, EXTREME_INDEX(C) *restrict at, EXTREME_FLAG(C) *restrict flag,
              const T *p, int64_t rs, int64_t i, int64_t m)
{
    typedef EXTREME_INDEX(C) Index;
    const T *q = p + rs, *r = q + rs, *s = r + rs;
    for (int64_t j = 0; j < m; j++) {
        C t = best[j], u = LOAD(p[j]), v = LOAD(q[j]), w = LOAD(r[j]), z = LOAD(s[j]);
        Index k = at[j];
        flag[j] = NEITHER_NUMBER(u, v) ? 1 : flag[j];
        flag[j] = NEITHER_NUMBER(w, z) ? 1 : flag[j];
        k = BETTER(u, t) ? (Index)i : k;
        t = BETTER(u, t) ? u : t;
        k = BETTER(v, t) ? (Index)(i + 1) : k;
        t = BETTER(v, t) ? v : t;
        k = BETTER(w, t) ? (Index)(i + 2) : k;
        t = BETTER(w, t) ? w : t;
        at[j] = BETTER(z, t) ? (Index)(i + 3) : k;
        best[j] = BETTER(z, t) ? z : t;
    }
}

/* Of a stripe, best[j] and at[j] being those of row 0. */
static __attribute__((noinline))
void AT(stripe)(C *restrict best, EXTREME_INDEX(C) *restrict at, const T *p, int64_t rs, int64_t n,
                bool *nan)
{
    typedef EXTREME_INDEX(C) Index;
    enum { WIDE = EXTREME_STRIPE(C) };
    C lane[WIDE];
    Index place[WIDE];
    EXTREME_FLAG(C) flag[WIDE] = { 0 };
    int64_t i = 0;
    for (int l = 0; l < WIDE; l++) {
        lane[l] = best[l];
        place[l] = 0;
    }
    for (; i + 2 <= n; i += 2, p += 2 * rs) {
        AHEAD_STRIPE(p, rs, WIDE);
        for (int l = 0; l < WIDE; l++) {
            C v = LOAD(p[l]), w = LOAD(p[rs + l]);
            flag[l] |= NEITHER_NUMBER(v, w);
            place[l] = BETTER(v, lane[l]) ? (Index)i : place[l];
            lane[l] = BETTER(v, lane[l]) ? v : lane[l];
            place[l] = BETTER(w, lane[l]) ? (Index)(i + 1) : place[l];
            lane[l] = BETTER(w, lane[l]) ? w : lane[l];
        }
    }
    EXTREME_FLAG(C) none = 0;
    for (int l = 0; l < WIDE; l++) {
        C v = i < n ? LOAD(p[l]) : lane[l];
        none |= flag[l] | NOT_NUMBER(v);
        at[l] = BETTER(v, lane[l]) ? (Index)i : place[l];
        best[l] = BETTER(v, lane[l]) ? v : lane[l];
    }
    *nan |= none != 0;
}

/* best[j], at[j] = the extreme of column j and its row. Is one of the elements no number? */
static bool AT(columns)(C *restrict best, EXTREME_INDEX(C) *restrict at, const T *p, int64_t rs,
                        int64_t n, int64_t m)
{
    EXTREME_FLAG(C) flag[LINE(T)] = { 0 };
    int64_t i = 1;
    bool nan = false;
    for (int64_t j = 0; j < m; j++) {
        best[j] = LOAD(p[j]);
        at[j] = 0;
        nan |= NOT_NUMBER(best[j]);
    }
    for (; m >= EXTREME_STRIPE(C) && STRIPED(p, rs); m -= EXTREME_STRIPE(C)) {
        AT(stripe)(best, at, p, rs, n, &nan);
        best += EXTREME_STRIPE(C);
        at += EXTREME_STRIPE(C);
        p += EXTREME_STRIPE(C);
    }
    for (p += rs; i + 4 <= n; i += 4, p += 4 * rs) {
        int64_t j = 0;
        for (; j + LINE(T) <= m; j += LINE(T)) {
            AHEAD_ROWS(p + j, rs);
            AT(four)(best + j, at + j, flag, p + j, rs, i, LINE(T));
        }
        AT(four)(best + j, at + j, flag, p + j, rs, i, m - j);
    }
    for (; i < n; i++, p += rs)
        for (int64_t j = 0; j < m; j++) {
            C v = LOAD(p[j]);
            nan |= NOT_NUMBER(v);
            at[j] = BETTER(v, best[j]) ? (EXTREME_INDEX(C))i : at[j];
            best[j] = BETTER(v, best[j]) ? v : best[j];
        }
    for (int l = 0; l < LINE(T); l++)
        nan |= flag[l] != 0;
    return nan;
}

static inline void AT(better)(RedArg *a, C v, int64_t at)
{
    C old = (C)a->v.VALUE;
    if (BETTER(v, old) || (NOT_NUMBER(v) && !NOT_NUMBER(old))) {
        a->at = at;
        a->v.VALUE = v;
    }
}

static void AT(rows)(void *acc, const void *x, int64_t rs, int64_t n, int64_t cs, int64_t m,
                     const void *param)
{
    enum { COLUMNS = EXTREME_COLUMNS, ROWS = EXTREME_ROWS(C) };
    RedArg *a = acc;
    const T *p = x;
    C best[COLUMNS];
    EXTREME_INDEX(C) at[COLUMNS];
    (void)param;
    for (int64_t j = 0; j < m; j++)
        a[j] = (RedArg){ .at = 0, .v.VALUE = LOAD(p[j * cs]) };
    for (int64_t from = 0; from < n; from += ROWS) {
        int64_t count = n - from < ROWS ? n - from : ROWS;
        const T *part = p + from * rs;
        if (cs == 1 && m <= COLUMNS && !AT(columns)(best, at, part, rs, count, m)) {
            for (int64_t j = 0; j < m; j++)
                AT(better)(&a[j], best[j], from + at[j]);
            continue;
        }
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < m; j++)
                AT(better)(&a[j], LOAD(part[i * rs + j * cs]), from + i);
    }
}

static void AT(join)(void *acc, const void *more, int64_t m, int64_t offset)
{
    RedArg *a = acc;
    const RedArg *b = more;
    for (int64_t j = 0; j < m; j++)
        AT(better)(&a[j], (C)b[j].v.VALUE, b[j].at + offset);
}
#undef NAME
#undef AT
#undef BETTER
