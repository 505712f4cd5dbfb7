/* Sums of deviations from a given mean and of their squares, in f64: the corrected
 * two-pass algorithm (Chan, Golub, LeVeque 1983), where the sum of deviations repairs the
 * rounding of the mean. Included by reduce_ops.tmpl.h with T, NAME, RE(v), IM(v)
 * and PARTS, how many parts a number has. */

static inline __attribute__((always_inline))
RedVar NAME(sums)(const T *p, int64_t stride, int64_t n, const double *mean)
{
    enum { LANES = PARTS > 1 ? 8 : 32 };
    double sum[LANES] = { 0 }, squares[LANES] = { 0 }, imag[LANES] = { 0 };
    double re0 = mean[0], im0 = mean[1];
    int64_t full = n / LANES;
    for (int64_t i = 0; i < full; i++, p += LANES * stride) {
        AHEAD(p, LANES * sizeof(T));
        for (int l = 0; l < LANES; l++) {
            T v = p[l * stride];
            double re = RE(v) - re0;
            sum[l] += re;
            squares[l] += re * re;
            if (PARTS > 1) {
                double im = IM(v) - im0;
                imag[l] += im;
                squares[l] += im * im;
            }
        }
    }
    for (int64_t l = 0; l < n - full * LANES; l++) {
        T v = p[l * stride];
        double re = RE(v) - re0, im = PARTS > 1 ? IM(v) - im0 : 0;
        sum[l] += re;
        imag[l] += im;
        squares[l] += re * re;
        squares[l] += im * im;
    }
    RedVar r = { 0 };
    for (int l = 0; l < LANES; l++) {
        r.sum += sum[l];
        r.sum_im += imag[l];
        r.squares += squares[l];
    }
    return r;
}

static void NAME(run)(void *acc, const void *x, int64_t stride, int64_t n, const void *param)
{
    *(RedVar *)acc = stride == 1 ? NAME(sums)(x, 1, n, param) : NAME(sums)(x, stride, n, param);
}

static inline __attribute__((always_inline))
void NAME(columns)(RedVar *restrict a, const T *p, int64_t rs, int64_t n, int64_t cs, int64_t m,
                   const double *restrict mean)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            T v = p[i * rs + j * cs];
            double re = RE(v) - mean[2 * j], im = IM(v) - mean[2 * j + 1];
            a[j].sum += re;
            a[j].sum_im += im;
            a[j].squares += re * re + im * im;
        }
}

static void NAME(rows)(void *acc, const void *x, int64_t rs, int64_t n, int64_t cs, int64_t m,
                       const void *param)
{
    memset(acc, 0, (size_t)m * sizeof(RedVar));
    if (cs == 1)
        NAME(columns)(acc, x, rs, n, 1, m, param);
    else
        NAME(columns)(acc, x, rs, n, cs, m, param);
}
#undef NAME
