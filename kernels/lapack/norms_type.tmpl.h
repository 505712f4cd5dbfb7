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

/* Products of floats are exact as doubles: to fuse one with the addition changes no bit. */
NORMS_INLINE double FN(fold_one)(NormFold f, double acc, T x)
{
#ifdef __FMA__
    if (sizeof(T) == sizeof(float) && f == FOLD_SQUARES)
        return __builtin_fma((double)x, (double)x, acc);
#endif
    return norms_one(f, acc, fabs(x));
}

/* `wide` columns of eight rows: what a column has so far is read and written less often. */
NORMS_INLINE void FN(fold_eight)(NormFold f, int64_t wide, const T *x, int64_t rs,
                                 double *restrict acc)
{
    const T *y = x + rs, *z = y + rs, *w = z + rs;
    const T *x4 = w + rs, *y4 = x4 + rs, *z4 = y4 + rs, *w4 = z4 + rs;
    for (int64_t k = 0; k < wide; k++) {
        double a = FN(fold_one)(f, acc[k], x[k]);
        a = FN(fold_one)(f, a, y[k]);
        a = FN(fold_one)(f, a, z[k]);
        a = FN(fold_one)(f, a, w[k]);
        a = FN(fold_one)(f, a, x4[k]);
        a = FN(fold_one)(f, a, y4[k]);
        a = FN(fold_one)(f, a, z4[k]);
        acc[k] = FN(fold_one)(f, a, w4[k]);
    }
}

#ifdef __AVX512F__
/* Columns of a stripe, whose results stay in registers over all rows: a line costs its arithmetic,
 * and the same line of a row further on is asked for. Floats alone: doubles are slower so. */
NORMS_INLINE void FN(fold_stripe)(NormFold f, int64_t rows, const T *x, int64_t rs,
                                  double *restrict acc)
{
    enum { WIDE = NORMS_STRIPE / sizeof(T), LINE = 64 / sizeof(T) };
    double lane[WIDE];
    for (int k = 0; k < WIDE; k++)
        lane[k] = acc[k];
    for (; rows > 0; rows--, x += rs) {
        for (int k = 0; k < WIDE; k += LINE)
            __builtin_prefetch(x + NORMS_AHEAD * rs + k);
        if ((uintptr_t)x % 64)
            __builtin_prefetch(x + NORMS_AHEAD * rs + WIDE - 1);
        for (int k = 0; k < WIDE; k++)
            lane[k] = FN(fold_one)(f, lane[k], x[k]);
    }
    for (int k = 0; k < WIDE; k++)
        acc[k] = lane[k];
}
#endif

/* Floats, which are two conversions a line, wait for memory unless the same line of the next eight
 * rows is asked for; doubles are slower with it. */
NORMS_INLINE void FN(fold_rows)(NormFold f, int64_t rows, int64_t wide, const T *x, int64_t rs,
                                double *restrict acc)
{
    enum { LINE = 64 / sizeof(T) };
    int64_t i = 0;
#ifdef __AVX512F__
    enum { WIDE = NORMS_STRIPE / sizeof(T), STRIPES = sizeof(T) == sizeof(float) };
    bool far = STRIPES && rs * (int64_t)sizeof(T) >= NORMS_FAR;
    for (; far && wide >= WIDE; wide -= WIDE, x += WIDE, acc += WIDE)
        FN(fold_stripe)(f, rows, x, rs, acc);
#endif
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
            acc[k] = FN(fold_one)(f, acc[k], x[k]);
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
