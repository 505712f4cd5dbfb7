/* Inner products of one real type T, named by FN. Included by gemm_sums.c only. */

/* Eight partial sums: the compiler keeps them in vector registers, and the rounding error
 * grows with n/8. */
static T FN(dot)(int64_t n, const T *x, int64_t sx, const T *y, int64_t sy)
{
    T lane[LANES] = { 0 }, sum = 0;
    int64_t i = 0;
    if (sx == 1 && sy == 1)
        for (; i + LANES <= n; i += LANES)
            for (int l = 0; l < LANES; l++)
                lane[l] += x[i + l] * y[i + l];
    for (; i < n; i++)
        sum += x[i * sx] * y[i * sy];
    T left = (lane[0] + lane[4]) + (lane[1] + lane[5]);
    T right = (lane[2] + lane[6]) + (lane[3] + lane[7]);
    return left + right + sum;
}

/* Pairs of T, by the textbook formula: no call to the library's complex multiplication. */
static void FN(complex_dot)(int64_t n, const T *x, int64_t sx, const T *y, int64_t sy,
                            bool conjugate, T *out)
{
    T sums[4] = { 0 }, sign = conjugate ? (T)-1 : (T)1, re = 0, im = 0;
    int64_t i = sx == 1 && sy == 1 ? n / SUM_PAIRS * SUM_PAIRS : 0;
    if (i > 0)
        sums_here()->FN(pairs)(i, x, y, sums);
    for (; i < n; i++) {
        T a = x[2 * i * sx], b = sign * x[2 * i * sx + 1];
        T c = y[2 * i * sy], d = y[2 * i * sy + 1];
        re += a * c - b * d;
        im += a * d + b * c;
    }
    out[0] = sums[0] - sign * sums[1] + re;
    out[1] = sums[2] + sign * sums[3] + im;
}
#undef T
#undef FN
