/* Steps of a reduction to Hessenberg form in one real type (hessenberg.c), after dense.tmpl.h. */

/* y += A x, in the order of the columns: `count` vectors of rows (a constant in each call). */
static inline __attribute__((always_inline)) void
FN(some_rows)(int count, int64_t cols, const T *a, int64_t ld, const T *x, T *y)
{
    V s[8];
    for (int v = 0; v < count; v++)
        s[v] = FN(load)(y + v * LANES);
    for (int64_t j = 0; j < cols; j++) {
        V by = FN(all)(x[j]);
        for (int v = 0; v < count; v++)
            s[v] = FMA(FN(load)(a + j * ld + v * LANES), by, s[v]);
    }
    for (int v = 0; v < count; v++)
        FN(store)(y + v * LANES, s[v]);
}

static void FN(add_product)(int64_t rows, int64_t cols, const T *a, int64_t ld, const T *x, T *y)
{
    int64_t i = 0;
    for (; i + 8 * LANES <= rows; i += 8 * LANES)
        FN(some_rows)(8, cols, a + i, ld, x, y + i);
    for (; i + 2 * LANES <= rows; i += 2 * LANES)
        FN(some_rows)(2, cols, a + i, ld, x, y + i);
    for (; i + LANES <= rows; i += LANES)
        FN(some_rows)(1, cols, a + i, ld, x, y + i);
    for (; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            y[i] = FMA_ONE(a[j * ld + i], x[j], y[i]);
}

/* Column j of a panel: turned by the reflectors before it, its own, and what y and T need of it. */
static void FN(hess_column)(HessPanel *p)
{
    int64_t j = p->j, m = p->m, ld = p->ld;
    T *b = (T *)p->a + (p->k + j) * p->n + p->k + 1, *v = (T *)p->v + j * ld, *t = p->t;
    T w[HESS_WIDTH], *minus = p->minus, *row = p->row;
    FN(dots)(m, j, b, p->v, ld, w);
    for (int64_t i = 0; i < j; i++) {
        minus[i] = 0;
        for (int64_t q = 0; q <= i; q++)
            minus[i] = FMA_ONE(-t[i * HESS_WIDTH + q], w[q], minus[i]);
    }
    FN(add_product)(m, j, p->v, ld, minus, b);
    T tau = FN(reflector)(m - j, b + j);
    ((T *)p->tau)[p->k + j] = tau;
    memset(v, 0, (size_t)j * sizeof *v);
    v[j] = 1;
    memcpy(v + j + 1, b + j + 1, (size_t)(m - j - 1) * sizeof *v);
    FN(dots)(m - j, j, v + j, (T *)p->v + j, ld, w);
    for (int64_t i = 0; i < HESS_WIDTH; i++) {
        T sum = 0;
        for (int64_t q = i; q < j; q++)
            sum = FMA_ONE(t[q * HESS_WIDTH + i], w[q], sum);
        t[j * HESS_WIDTH + i] = i < j ? -tau * sum : i == j ? tau : 0;
    }
    for (int64_t i = 0; i <= j; i++) {
        minus[i] = i < j ? -w[i] : 0;
        row[i] = -((T *)p->v)[i * ld + j];
    }
}

/* Rows from … to - 1 of y = tau (A v - Y w), and of the next column less its part of Y V'. */
static void FN(hess_rows)(const HessPanel *p, int64_t from, int64_t to)
{
    int64_t j = p->j, m = p->m, ld = p->ld, rows = to - from, first = p->k + 1 + from;
    const T *a = (T *)p->a + (p->k + j + 1) * p->n + first, *all = (T *)p->y + first;
    T *y = (T *)p->y + j * p->n + first, tau = ((T *)p->tau)[p->k + j];
    memset(y, 0, (size_t)rows * sizeof *y);
    FN(add_product)(rows, m - j, a, p->n, (T *)p->v + j * ld + j, y);
    FN(add_product)(rows, j, all, p->n, p->minus, y);
    for (int64_t i = 0; i < rows; i++)
        y[i] *= tau;
    if (j + 1 < p->width)
        FN(add_product)(rows, j + 1, all, p->n, p->row,
                        (T *)p->a + (p->k + j + 1) * p->n + first);
}
