/* Largest elements, and eigenvectors of length 1 in one real type REAL (general.c). Elements of
 * vectors are at most 1, about. */

static REAL FN(squares)(int64_t n, const REAL *x)
{
    enum { SUMS = 16 };
    REAL s[SUMS] = { 0 }, sum = 0;
    int64_t i = 0;
    for (; i + SUMS <= n; i += SUMS)
        for (int64_t l = 0; l < SUMS; l++)
            s[l] += x[i + l] * x[i + l];
    for (; i < n; i++)
        sum += x[i] * x[i];
    for (int64_t l = 0; l < SUMS; l++)
        sum += s[l];
    return sum;
}

static REAL FN(largest)(int64_t n, const REAL *x)
{
    enum { TOPS = 16 };
    REAL top[TOPS] = { 0 }, most = 0;
    for (int64_t i = 0; i < n; i++) {
        REAL size = x[i] < 0 ? -x[i] : x[i], *t = &top[i % TOPS];
        *t = size > *t ? size : *t;
    }
    for (int64_t l = 0; l < TOPS; l++)
        most = top[l] > most ? top[l] : most;
    return most;
}

/* Of a pair its real and imaginary parts: turned, so that the largest element is real. */
static void FN(normalise_pair)(int64_t n, REAL *x, REAL *y)
{
    REAL by = 1 / SQRT(FN(squares)(n, x) + FN(squares)(n, y)), most = -1;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        x[i] *= by, y[i] *= by;
        REAL size = x[i] * x[i] + y[i] * y[i];
        if (size > most)
            most = size, at = i;
    }
    REAL size = SQRT(most), c = x[at] / size, s = y[at] / size;
    for (int64_t i = 0; i < n; i++) {
        REAL re = c * x[i] + s * y[i];
        y[i] = c * y[i] - s * x[i];
        x[i] = re;
    }
    y[at] = 0;
}

/* The vectors of values from … to - 1; a pair is where its first one is. */
static void FN(normalise)(int64_t n, int64_t from, int64_t to, const void *wi, void *z)
{
    const REAL *imag = wi;
    for (int64_t j = from; j < to; j++) {
        REAL *x = (REAL *)z + j * n, by;
        if (imag[j] > 0) {
            FN(normalise_pair)(n, x, x + n);
        } else if (imag[j] == 0) {
            by = 1 / SQRT(FN(squares)(n, x));
            for (int64_t i = 0; i < n; i++)
                x[i] *= by;
        }
    }
}

#undef REAL
#undef FN
#undef SQRT
