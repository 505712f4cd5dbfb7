/* Strip operations of one semiring and element type: T, COMBINE(a, b), REDUCE(acc, v),
 * IDENTITY, CONJ(x), NAME. Included by contract_fused_isa.tmpl.h, which undefines them. */
static void FN(fill)(void *to, int64_t n)
{
    T *z = to;
    for (int64_t i = 0; i < n; i++)
        z[i] = (T)IDENTITY;
}

static void FN(mul)(void *to, const void *px, const void *py, int64_t n)
{
    T *z = to;
    const T *x = px, *y = py;
    for (int64_t i = 0; i < n; i++)
        z[i] = (T)COMBINE(x[i], y[i]);
}

static void FN(add)(void *acc, const void *px, int64_t n)
{
    T *restrict z = acc;
    const T *restrict x = px;
    for (int64_t i = 0; i < n; i++)
        z[i] = (T)REDUCE(z[i], x[i]);
}

static void FN(fma)(void *acc, const void *px, const void *py, int64_t n)
{
    T *restrict z = acc;
    const T *restrict x = px, *restrict y = py;
    for (int64_t i = 0; i < n; i++) {
        T v = (T)COMBINE(x[i], y[i]);
        z[i] = (T)REDUCE(z[i], v);
    }
}

static void FN(scale)(void *to, const void *px, const void *cell, int64_t n)
{
    T *z = to, c = *(const T *)cell;
    const T *x = px;
    for (int64_t i = 0; i < n; i++)
        z[i] = (T)COMBINE(c, x[i]);
}

static void FN(axpy)(void *acc, const void *px, const void *cell, int64_t n)
{
    T *restrict z = acc, c = *(const T *)cell;
    const T *restrict x = px;
    for (int64_t i = 0; i < n; i++) {
        T v = (T)COMBINE(c, x[i]);
        z[i] = (T)REDUCE(z[i], v);
    }
}

static T FN(fold)(const T *lane)
{
    T half[8];
    for (int l = 0; l < 8; l++)
        half[l] = lane[l];
    for (int w = 4; w > 0; w /= 2)
        for (int l = 0; l < w; l++)
            half[l] = (T)REDUCE(half[l], half[l + w]);
    return half[0];
}

static void FN(sum)(void *cell, const void *px, int64_t n)
{
    const T *x = px;
    T lane[8];
    int64_t i = 0;
    for (int l = 0; l < 8; l++)
        lane[l] = (T)IDENTITY;
    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++)
            lane[l] = (T)REDUCE(lane[l], x[i + l]);
    for (int l = 0; i < n; i++, l++)
        lane[l] = (T)REDUCE(lane[l], x[i]);
    *(T *)cell = FN(fold)(lane);
}

static void FN(dot)(void *cell, const void *px, const void *py, int64_t n)
{
    const T *x = px, *y = py;
    T lane[8];
    int64_t i = 0;
    for (int l = 0; l < 8; l++)
        lane[l] = (T)IDENTITY;
    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++) {
            T v = (T)COMBINE(x[i + l], y[i + l]);
            lane[l] = (T)REDUCE(lane[l], v);
        }
    for (int l = 0; i < n; i++, l++) {
        T v = (T)COMBINE(x[i], y[i]);
        lane[l] = (T)REDUCE(lane[l], v);
    }
    *(T *)cell = FN(fold)(lane);
}

static void FN(gather)(void *to, const void *px, int64_t step, int64_t n, bool turned)
{
    T *restrict z = to;
    const T *restrict x = px;
    if (turned)
        for (int64_t i = 0; i < n; i++)
            z[i] = CONJ(x[i * step]);
    else
        for (int64_t i = 0; i < n; i++)
            z[i] = x[i * step];
}

static void FN(tile)(void *to, int64_t row, const void *px, int64_t step, int64_t n, int64_t next,
                     int64_t rows, bool turned)
{
    T *restrict z = to;
    const T *restrict x = px;
    for (int64_t i = 0; i < n; i++)
        for (int64_t r = 0; r < rows; r++)
            z[r * row + i] = turned ? CONJ(x[i * step + r * next]) : x[i * step + r * next];
}

static void FN(scatter)(void *to, int64_t step, const void *px, int64_t n, bool accumulate)
{
    T *restrict z = to;
    const T *restrict x = px;
    if (accumulate)
        for (int64_t i = 0; i < n; i++)
            z[i * step] = (T)REDUCE(z[i * step], x[i]);
    else if (step == 1)
        for (int64_t i = 0; i < n; i++)
            z[i] = x[i];
    else
        for (int64_t i = 0; i < n; i++)
            z[i * step] = x[i];
}
#undef SEMIRING
#undef COMBINE
#undef REDUCE
#undef IDENTITY
