/* Folds of a matrix of one dtype T, in sums of type WIDE; |x| is ABS(x), |x|^2 SQUARE(x), of type
 * REAL in WIDE_REAL. */
static WIDE_REAL FN(size)(T x) { return ABS(x); }
static WIDE_REAL FN(square)(T x) { return SQUARE(x); }

static void FN(by_rows)(const Fold *p, int64_t from, int64_t to)
{
    const T *v = (const T *)p->a.value;
    for (int64_t i = from; i < to; i++) {
        const int64_t k = p->a.start[i], end = p->a.start[i + 1];
        WIDE sum = 0;
        WIDE_REAL real = 0;
        switch (p->fold) {
        case CSR_SUM:
            IN_RUNS(WIDE, sum, v[e]);
            ((T *)p->to)[i] = (T)sum;
            break;
        case CSR_ABS:
            IN_RUNS(WIDE_REAL, real, FN(size)(v[e]));
            ((REAL *)p->to)[i] = (REAL)real;
            break;
        case CSR_SQUARES:
            IN_RUNS(WIDE_REAL, real, FN(square)(v[e]));
            ((REAL *)p->to)[i] = (REAL)real;
            break;
#ifdef ORDERED
        case CSR_MAX:
        case CSR_MIN: {
            const bool most = p->fold == CSR_MAX;
            T best = end - k < p->a.n || k == end ? 0 : v[k];
            for (int64_t e = k; e < end; e++)
                if (FN(wins)(v[e], best, most))
                    best = v[e];
            ((T *)p->to)[i] = best;
            break;
        }
#endif
        default: __builtin_unreachable();
        }
    }
}

/* `wide` has n sums, all 0 before; seen[] entries of each column so far. */
static void FN(by_columns)(const Fold *p, void *wide, int64_t *seen)
{
    const T *v = (const T *)p->a.value;
    const int64_t *c = p->a.column, entries = p->a.entries;
    WIDE *sum = wide;
    WIDE_REAL *real = wide;
    (void)seen;
    switch (p->fold) {
    case CSR_SUM:
        for (int64_t e = 0; e < entries; e++)
            sum[c[e]] += v[e];
        for (int64_t j = 0; j < p->a.n; j++)
            ((T *)p->to)[j] = (T)sum[j];
        break;
    case CSR_ABS:
        for (int64_t e = 0; e < entries; e++)
            real[c[e]] += FN(size)(v[e]);
        break;
    case CSR_SQUARES:
        for (int64_t e = 0; e < entries; e++)
            real[c[e]] += FN(square)(v[e]);
        break;
#ifdef ORDERED
    case CSR_MAX:
    case CSR_MIN: {
        const bool most = p->fold == CSR_MAX;
        T *best = (T *)p->to;
        for (int64_t e = 0; e < entries; e++)
            if (!seen[c[e]]++ || FN(wins)(v[e], best[c[e]], most))
                best[c[e]] = v[e];
        for (int64_t j = 0; j < p->a.n; j++)
            if (!seen[j] || (seen[j] < p->a.m && FN(wins)(0, best[j], most)))
                best[j] = 0;
        return;
    }
#endif
    default: __builtin_unreachable();
    }
    if (p->fold != CSR_SUM)
        for (int64_t j = 0; j < p->a.n; j++)
            ((REAL *)p->to)[j] = (REAL)real[j];
}

static const FoldFns FN(folds) = { FN(by_rows), FN(by_columns) };

#undef T
#undef REAL
#undef WIDE
#undef WIDE_REAL
#undef ABS
#undef SQUARE
#undef ORDERED
#undef FN
