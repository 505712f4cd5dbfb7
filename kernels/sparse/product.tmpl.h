/* Products with a matrix of one dtype T; FN(name) makes the names here its own. COMPLEX: T is
 * complex, and a product is what its four products say, infinities included. */
#ifdef COMPLEX
#define CONJ(x, conj) ((conj) ? ~(x) : (x))
#else
#define CONJ(x, conj) (x)
#endif

/* ---- a row by a vector ---- */
/* In four sums: for rows that are long enough. Columns that follow one another are not read. */
static T FN(dot)(const T *v, const int64_t *c, int64_t n, const T *x, int64_t step)
{
    T s[4] = { 0 };
    int64_t k = 0;
    if (c[n - 1] - c[0] == n - 1) {
        x += c[0] * step;
        for (; k + 4 <= n; k += 4) {
            __builtin_prefetch(v + k + AHEAD / sizeof(T));
            for (int j = 0; j < 4; j++)
                s[j] += TIMES(v[k + j], x[(k + j) * step]);
        }
        for (; k < n; k++)
            s[0] += TIMES(v[k], x[k * step]);
    }
    for (; k + 4 <= n; k += 4) {
        __builtin_prefetch(v + k + AHEAD / sizeof(T));
        __builtin_prefetch(c + k + AHEAD / sizeof(T));
        for (int j = 0; j < 4; j++)
            s[j] += TIMES(v[k + j], x[c[k + j] * step]);
    }
    for (; k < n; k++)
        s[0] += TIMES(v[k], x[c[k] * step]);
    return (s[0] + s[1]) + (s[2] + s[3]);
}

/* Short rows in order: their sums hide in those of the rows before and after. */
static inline __attribute__((always_inline)) void FN(rows_by_vector)(Product *p, int64_t from,
                                                                     int64_t to, int64_t step)
{
    const T *v = (const T *)p->a.value, *x = (const T *)p->x;
    const int64_t *start = p->a.start;
    const int64_t *c = p->a.column;
    T *y = (T *)p->y;
    int64_t k = start[from];
    for (int64_t i = from; i < to; i++) {
        const int64_t end = start[i + 1];
        T s = 0;
        if (__builtin_expect(end - k >= MANY, 0)) {
            if (end - k > PIECE)
                p->cut[atomic_fetch_add(&p->cuts, 1)] = i;
            else
                s = FN(dot)(v + k, c + k, end - k, x, step);
            k = end;
        }
        __builtin_prefetch(v + k + AHEAD / sizeof(T));
        __builtin_prefetch(c + k + AHEAD / sizeof(T));
        for (; k < end; k++)
            s += TIMES(v[k], x[c[k] * step]);
        y[i] = s;
    }
}

/* ---- a row by some columns ---- */
static inline __attribute__((always_inline)) void FN(panel)(const T *v, const int64_t *c,
    int64_t n, const T *x, int64_t step, T *y, int width)
{
    T s[16] = { 0 };
    for (int64_t k = 0; k < n; k++) {
        const T *row = x + c[k] * step;
        for (int j = 0; j < width; j++)
            s[j] += TIMES(v[k], row[j]);
    }
    for (int j = 0; j < width; j++)
        y[j] = s[j];
}

static void FN(columns)(const T *v, const int64_t *c, int64_t n, const T *x, int64_t step,
                        int64_t width, T *y)
{
    int64_t j = 0;
    for (; j + 16 <= width; j += 16)
        FN(panel)(v, c, n, x + j, step, y + j, 16);
    for (; j + 4 <= width; j += 4)
        FN(panel)(v, c, n, x + j, step, y + j, 4);
    for (; j < width; j++)
        FN(panel)(v, c, n, x + j, step, y + j, 1);
}

/* Entries [from, to) of a row by what p multiplies, to y. */
static void FN(piece)(const Product *p, int64_t from, int64_t to, char *y)
{
    const T *v = (const T *)p->a.value + from, *x = (const T *)p->x;
    const int64_t *c = p->a.column + from;
    const int64_t n = to - from;
    if (p->k == 1)
        *(T *)y = FN(dot)(v, c, n, x, p->step);
    else
        FN(columns)(v, c, n, x, p->step, p->k, (T *)y);
}

static void FN(rows)(Product *p, int64_t from, int64_t to)
{
    const T *v = (const T *)p->a.value, *x = (const T *)p->x;
    const int64_t *start = p->a.start;
    const int64_t *c = p->a.column;
    if (p->k == 1 && p->step == 1)
        FN(rows_by_vector)(p, from, to, 1);
    else if (p->k == 1)
        FN(rows_by_vector)(p, from, to, p->step);
    else
        for (int64_t i = from; i < to; i++) {
            const int64_t k = start[i], n = start[i + 1] - k;
            for (int64_t e = k + LATER; e < start[i + 1] + LATER && e < p->a.entries; e++)
                __builtin_prefetch(x + c[e] * p->step);
            if (n > PIECE)
                p->cut[atomic_fetch_add(&p->cuts, 1)] = i;
            else
                FN(columns)(v + k, c + k, n, x, p->step, p->k, (T *)p->y + i * p->k);
        }
}

/* to += from, k elements. */
static void FN(add)(char *to, const char *from, int64_t k)
{
    for (int64_t j = 0; j < k; j++)
        ((T *)to)[j] += ((const T *)from)[j];
}

/* ---- rows by numbers, added up by columns ---- */
static void FN(spread)(const Turned *p, int64_t from, int64_t to, char *sums)
{
    const T *v = (const T *)p->a.value, *x = (const T *)p->x;
    T *y = (T *)sums;
    for (int64_t i = from; i < to; i++) {
        const T xi = x[i * p->step];
        __builtin_prefetch(v + p->a.start[i] + AHEAD / sizeof(T));
        __builtin_prefetch(p->a.column + p->a.start[i] + AHEAD / sizeof(T));
        for (int64_t k = p->a.start[i]; k < p->a.start[i + 1]; k++) {
            const T vk = CONJ(v[k], p->conj);
            if (k + LATER < p->a.entries)
                __builtin_prefetch(&y[p->a.column[k + LATER]], 1);
            y[p->a.column[k]] += TIMES(vk, xi);
        }
    }
}

static const ProductFns FN(products) = { FN(rows), FN(piece), FN(add), FN(spread) };

#undef CONJ
