/* What leaves only the first of a column's elements, and what it takes: the largest element,
 * quotients, products of columns. In one real type T with vectors V of LANES, whole numbers of
 * their size VI, FMA, and the ends of its range. */
#include "kernels/gemm/vector_lanes.tmpl.h"

/* The first NaN, else the first of the largest. */
static int64_t FN(largest)(int64_t m, const T *x)
{
    V most = { 0 };
    VI odd = { 0 };
    T top = 0;
    bool nan = false;
    int64_t i = 0;
    for (; i + LANES <= m; i += LANES) {
        V v = FN(load)(x + i), minus = -v, size;
        VI less = v < minus;
        size = (V)((less & (VI)minus) | (~less & (VI)v));
        VI more = size > most;
        most = (V)((more & (VI)size) | (~more & (VI)most));
        odd |= v != v;
    }
    for (int l = 0; l < LANES; l++) {
        top = most[l] > top ? most[l] : top;
        nan |= odd[l] != 0;
    }
    for (; i < m; i++) {
        T size = ABS(x[i]);
        top = size > top ? size : top;
        nan |= x[i] != x[i];
    }
    for (i = 0; i < m; i++)
        if (nan ? x[i] != x[i] : ABS(x[i]) == top)
            return i;
    return 0;
}

/* x times f, or divided by d where 1 / d is out of range. */
static void FN(divide_column)(int64_t m, T *x, T d)
{
    T f = 1 / d;
    if (ABS(d) < LEAST) {
        for (int64_t i = 0; i < m; i++)
            x[i] /= d;
        return;
    }
    for (int64_t i = 0; i < m; i++)
        x[i] *= f;
}

/* Products of x with n columns of m elements. */
static void FN(dots)(int64_t m, int64_t n, const T *x, const T *a, int64_t ld, T *out)
{
    for (int64_t j = 0; j < n; j++, a += ld) {
        V s[4] = { { 0 }, { 0 }, { 0 }, { 0 } };
        T sum = 0;
        int64_t i = 0;
        for (; i + 4 * LANES <= m; i += 4 * LANES)
            for (int v = 0; v < 4; v++)
                s[v] = FMA(FN(load)(x + i + v * LANES), FN(load)(a + i + v * LANES), s[v]);
        for (; i + LANES <= m; i += LANES)
            s[0] = FMA(FN(load)(x + i), FN(load)(a + i), s[0]);
        s[0] = (s[0] + s[1]) + (s[2] + s[3]);
        for (; i < m; i++)
            sum = FMA_ONE(x[i], a[i], sum);
        for (int l = 0; l < LANES; l++)
            sum += s[0][l];
        out[j] = sum;
    }
}

/* The reflector that leaves only the first of m elements, as larfg makes it: returns tau; v stands
 * below the first, which is what is left. Numbers near the ends of the range are scaled. */
static T FN(reflector)(int64_t m, T *x)
{
    int64_t at = m > 1 ? 1 + FN(largest)(m - 1, x + 1) : 0;
    T size = m > 1 ? ABS(x[at]) : 0, top = size > ABS(x[0]) ? size : ABS(x[0]), square;
    int e = 0;
    if (size == 0)
        return 0;
    if (isfinite(top) && (top < ROOT_LEAST || top > ROOT_MOST)) {
        frexp((double)top, &e);
        for (int64_t i = 0; i < m; i++)
            x[i] = (T)ldexp((double)x[i], -e);
    }
    FN(dots)(m - 1, 1, x + 1, x + 1, m, &square);
    T norm = SQRT(FMA_ONE(x[0], x[0], square)), beta = x[0] > 0 ? -norm : norm;
    T tau = (beta - x[0]) / beta;
    FN(divide_column)(m - 1, x + 1, x[0] - beta);
    x[0] = e ? (T)ldexp((double)beta, e) : beta;
    return tau;
}
