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

/* Pairs of T, by the textbook formula: no call to the library's complex multiplication. Products
 * of like parts and of unlike ones have their partial sums, four pairs wide. */
static void FN(complex_dot)(int64_t n, const T *x, int64_t sx, const T *y, int64_t sy,
                            bool conjugate, T *out)
{
    T like[LANES] = { 0 }, unlike[LANES] = { 0 }, sign = conjugate ? (T)-1 : (T)1, re = 0, im = 0;
    int64_t i = 0;
    if (sx == 1 && sy == 1)
        for (; i + LANES / 2 <= n; i += LANES / 2)
            for (int l = 0; l < LANES; l++) {
                like[l] += x[2 * i + l] * y[2 * i + l];
                unlike[l] += x[2 * i + l] * y[2 * i + (l ^ 1)];
            }
    for (; i < n; i++) {
        T a = x[2 * i * sx], b = sign * x[2 * i * sx + 1];
        T c = y[2 * i * sy], d = y[2 * i * sy + 1];
        re += a * c - b * d;
        im += a * d + b * c;
    }
    out[0] = ((like[0] + like[4]) + (like[2] + like[6])) -
             sign * ((like[1] + like[5]) + (like[3] + like[7])) + re;
    out[1] = ((unlike[0] + unlike[4]) + (unlike[2] + unlike[6])) +
             sign * ((unlike[1] + unlike[5]) + (unlike[3] + unlike[7])) + im;
}
#undef T
#undef FN
