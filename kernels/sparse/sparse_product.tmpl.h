/* The numbers of a row of a product of two sparse matrices of one dtype T. */
/* Row i of A by B: sums in place, marked as `reach` says. */
static inline __attribute__((always_inline)) void FN(sum_row)(const Both *p, int64_t i,
    const Marks *marks, bool near, char *sums)
{
    const T *av = (const T *)p->a.value, *bv = (const T *)p->b.value;
    const int64_t *bc = p->b.column;
    T *sum = (T *)sums;
    for (int64_t k = p->a.start[i]; k < p->a.start[i + 1]; k++) {
        const int64_t row = p->a.column[k], end = p->b.start[row + 1];
        const T x = av[k];
        if (!near)
            row_ahead(p, k, sizeof(T));
        for (int64_t e = p->b.start[row]; e < end; e++) {
            const int64_t c = bc[e];
            sum[c] += TIMES(x, bv[e]);
            mark(marks, c, near);
        }
    }
}

static void FN(sum_near)(const Both *p, int64_t i, const Marks *marks, char *sums)
{
    FN(sum_row)(p, i, marks, true, sums);
}

static void FN(sum_far)(const Both *p, int64_t i, const Marks *marks, char *sums)
{
    FN(sum_row)(p, i, marks, false, sums);
}

/* The sums of n columns, which are 0 after this. */
static void FN(take)(const int64_t *column, int64_t n, char *sums, char *value)
{
    T *sum = (T *)sums, *v = (T *)value;
    for (int64_t k = 0; k < n; k++) {
        v[k] = sum[column[k]];
        sum[column[k]] = 0;
    }
}

static const SumFns FN(sums) = { FN(sum_near), FN(sum_far), FN(take) };
