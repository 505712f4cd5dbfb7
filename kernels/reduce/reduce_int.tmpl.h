/* Exact sums of integers: lanes of int64 within a block, blocks joined in 128 bits. Only
 * i64 itself can leave int64 within a block of at most 2^12 elements; it is summed in
 * 128 bits when a bit at or above 2^50 occurs. Included by reduce_ops.tmpl.h with T, NAME
 * and WIDE (1 for i64). */

/* The sum of a block, as int64; bits of *any: those that occur in WIDE elements, sign taken off. */
static inline __attribute__((always_inline))
int64_t NAME(block)(const T *p, int64_t stride, int64_t n, int64_t *any)
{
    int64_t lane[32] = { 0 }, seen[32] = { 0 }, sum = 0, i = 0;
    for (; i + 32 <= n; i += 32)
        for (int l = 0; l < 32; l++) {
            int64_t v = (int64_t)p[(i + l) * stride];
            lane[l] = (int64_t)((uint64_t)lane[l] + (uint64_t)v);
            if (WIDE)
                seen[l] |= v ^ (v >> 63);
        }
    for (int l = 0; i < n; i++, l++) {
        int64_t v = (int64_t)p[i * stride];
        lane[l] = (int64_t)((uint64_t)lane[l] + (uint64_t)v);
        if (WIDE)
            seen[l] |= v ^ (v >> 63);
    }
    for (int l = 0; l < 32; l++) {
        sum = (int64_t)((uint64_t)sum + (uint64_t)lane[l]);
        *any |= seen[l];
    }
    return sum;
}

static void NAME(run)(void *acc, const void *x, int64_t stride, int64_t n, const void *param)
{
    const T *p = x;
    int64_t any = 0;
    (void)param;
    RedInt total = stride == 1 ? NAME(block)(p, 1, n, &any) : NAME(block)(p, stride, n, &any);
    if (WIDE && any >> 50) {
        total = 0;
        for (int64_t i = 0; i < n; i++)
            total += (int64_t)p[i * stride];
    }
    *(RedInt *)acc = total;
}

/* Adds n rows of `width` elements to column[]. */
static inline __attribute__((always_inline))
void NAME(columns)(int64_t *restrict column, const T *p, int64_t rs, int64_t n, int64_t cs,
                   int64_t width, int64_t *any)
{
    int64_t seen = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < width; j++) {
            int64_t v = (int64_t)p[i * rs + j * cs];
            column[j] = (int64_t)((uint64_t)column[j] + (uint64_t)v);
            if (WIDE)
                seen |= v ^ (v >> 63);
        }
    *any = seen;
}

static void NAME(rows)(void *acc, const void *x, int64_t rs, int64_t n, int64_t cs, int64_t m,
                       const void *param)
{
    enum { MOST = 64 };
    RedInt *a = acc;
    int64_t column[MOST];
    (void)param;
    for (int64_t j0 = 0; j0 < m; j0 += MOST) {
        const T *p = (const T *)x + j0 * cs;
        int64_t width = m - j0 < MOST ? m - j0 : MOST, any = 0;
        memset(column, 0, sizeof column);
        if (cs == 1 && width == MOST)
            NAME(columns)(column, p, rs, n, 1, MOST, &any);
        else if (cs == 1)
            NAME(columns)(column, p, rs, n, 1, width, &any);
        else
            NAME(columns)(column, p, rs, n, cs, width, &any);
        for (int64_t j = 0; j < width; j++)
            a[j0 + j] = column[j];
        if (!WIDE || !(any >> 50))
            continue;
        for (int64_t j = 0; j < width; j++) {
            a[j0 + j] = 0;
            for (int64_t i = 0; i < n; i++)
                a[j0 + j] += (int64_t)p[i * rs + j * cs];
        }
    }
}

static void NAME(join)(void *acc, const void *more, int64_t m, int64_t offset)
{
    RedInt *a = acc;
    const RedInt *b = more;
    (void)offset;
    for (int64_t j = 0; j < m; j++)
        a[j] += b[j];
}
#undef NAME
#undef WIDE
