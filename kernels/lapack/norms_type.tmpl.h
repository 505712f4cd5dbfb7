/* The loops of one type: T, FN(name). Included by norms_isa.tmpl.h. */

NORMS_INLINE double FN(fold_line)(NormFold f, int64_t n, const T *x, int64_t step)
{
    enum { LANES = 32 };
    double start = norms_start(f), acc = start, lane[LANES];
    int64_t i = 0;
    if (step == 1 && n >= LANES) {
        for (int k = 0; k < LANES; k++)
            lane[k] = start;
        for (; i + LANES <= n; i += LANES) {
            for (size_t at = 0; sizeof(T) == 4 && at < sizeof(T) * LANES; at += 64)
                __builtin_prefetch((const char *)(x + i) + 8192 + at);
            for (int k = 0; k < LANES; k++)
                lane[k] = norms_one(f, lane[k], fabs(x[i + k]));
        }
        for (int half = LANES / 2; half; half /= 2)
            for (int k = 0; k < half; k++)
                lane[k] = norms_two(f, lane[k], lane[k + half]);
        acc = lane[0];
    }
    for (; i < n; i++)
        acc = norms_one(f, acc, fabs(x[i * step]));
    return acc;
}

/* `wide` columns of eight rows: what a column has so far is read and written less often. */
NORMS_INLINE void FN(fold_eight)(NormFold f, int64_t wide, const T *x, int64_t rs,
                                 double *restrict acc)
{
    const T *y = x + rs, *z = y + rs, *w = z + rs;
    const T *x4 = w + rs, *y4 = x4 + rs, *z4 = y4 + rs, *w4 = z4 + rs;
    for (int64_t k = 0; k < wide; k++) {
        double a = norms_one(f, acc[k], fabs(x[k]));
        a = norms_one(f, a, fabs(y[k]));
        a = norms_one(f, a, fabs(z[k]));
        a = norms_one(f, a, fabs(w[k]));
        a = norms_one(f, a, fabs(x4[k]));
        a = norms_one(f, a, fabs(y4[k]));
        a = norms_one(f, a, fabs(z4[k]));
        acc[k] = norms_one(f, a, fabs(w4[k]));
    }
}

/* Floats, which are two conversions a line, wait for memory unless the same line of the next eight
 * rows is asked for; doubles are slower with it. */
NORMS_INLINE void FN(fold_rows)(NormFold f, int64_t rows, int64_t wide, const T *x, int64_t rs,
                                double *restrict acc)
{
    enum { LINE = 64 / sizeof(T) };
    int64_t i = 0;
    for (; i + 8 <= rows; i += 8, x += 8 * rs) {
        int64_t k = 0;
        for (; sizeof(T) == 4 && k + LINE <= wide; k += LINE) {
            for (int r = 8; r < 16; r++)
                __builtin_prefetch(x + r * rs + k);
            FN(fold_eight)(f, LINE, x + k, rs, acc + k);
        }
        FN(fold_eight)(f, wide - k, x + k, rs, acc + k);
    }
    for (; i < rows; i++, x += rs)
        for (int64_t k = 0; k < wide; k++)
            acc[k] = norms_one(f, acc[k], fabs(x[k]));
}

#define FOLDS(name, f) \
    static double FN(name##_line)(int64_t n, const void *x, int64_t step) \
    { \
        return FN(fold_line)(f, n, x, step); \
    } \
    static void FN(name##_rows)(int64_t rows, int64_t wide, const void *x, int64_t rs, \
                                double *acc) \
    { \
        FN(fold_rows)(f, rows, wide, x, rs, acc); \
    }
FOLDS(sum, FOLD_SUM)
FOLDS(squares, FOLD_SQUARES)
FOLDS(max, FOLD_MAX)
FOLDS(min, FOLD_MIN)
FOLDS(count, FOLD_COUNT)

#undef FOLDS
#undef T
#undef FN
