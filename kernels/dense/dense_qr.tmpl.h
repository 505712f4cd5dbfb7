/* Householder's reflectors of one real type, after dense.tmpl.h. The product of those of a panel is
 * I - V T V'. T is never made: its inverse is the upper half of G = V' V with 1 / tau on the
 * diagonal (Puglisi, SIAM J. Sci. Stat. Comput. 13 (1992)), so T' w and T w are solutions of
 * triangular systems. What stands for it is `turn`, n x n: tau(i) G(i, j) beside the diagonal. */
#define ROWS (TILE_VECTORS * LANES)

/* Rows of V that are multiplied with at a time. */
enum { FN(DEEP) = 512 };

static int64_t FN(up)(int64_t n, int64_t whole)
{
    return (n + whole - 1) / whole * whole;
}

/* ---- one column after the other ---- */
static void FN(qr_narrow)(int64_t m, int64_t n, T *a, int64_t ld, T *tau, T *turn, int64_t lt)
{
    for (int64_t j = 0; j < n; j++) {
        T *v = a + j * (ld + 1), *rest = v + ld, w[DENSE_NARROW];
        int64_t rows = m - j, left = n - j - 1;
        tau[j] = FN(reflector)(rows, v);
        if (!left || tau[j] == 0)
            continue;
        FN(dots)(rows - 1, left, v + 1, rest + 1, ld, w);
        for (int64_t c = 0; c < left; c++) {
            w[c] = (w[c] + rest[c * ld]) * tau[j];
            rest[c * ld] -= w[c];
        }
        FN(take_column)(rows - 1, left, v + 1, w, 1, rest + 1, ld);
    }
    for (int64_t i = 1; i < n; i++) {
        T g[DENSE_NARROW];
        FN(dots)(m - i - 1, i, a + i * (ld + 1) + 1, a + i + 1, ld, g);
        for (int64_t j = 0; j < i; j++) {
            g[j] += a[j * ld + i];
            turn[j * lt + i] = tau[i] * g[j];
            turn[i * lt + j] = tau[j] * g[j];
        }
    }
}

/* ---- V as an operand ---- */
/* What stands for an element on or above the diagonal of V. */
static T FN(unit)(int64_t i, int64_t j)
{
    return i == j ? 1 : 0;
}

/* Rows of V for `take`: C -= V X. */
static void FN(pack_rows_of)(int64_t m, int64_t k, const T *v, int64_t ld, T *out)
{
    FN(pack)(m, k, v, ld, out);
    for (int64_t i = 0; i < k; i++)
        for (int64_t p = i; p < k; p++)
            out[i / ROWS * ROWS * k + p * ROWS + i % ROWS] = FN(unit)(i, p);
}

/* Rows p0 … p0 + rows of n columns of V side by side, `wide` elements from row to row. */
static void FN(gather_of)(int64_t p0, int64_t rows, int64_t j0, int64_t n, const T *v, int64_t ld,
                          T *out, int64_t wide)
{
    for (int64_t j = 0; j < wide; j += LANES) {
        int64_t some = n - j < LANES ? n - j : LANES;
        FN(gather)(rows, some < 0 ? 0 : some, v + (j0 + j) * ld + p0, ld, out + j, wide);
        for (int64_t c = 0; c < some; c++)
            for (int64_t p = p0; p < p0 + rows && p <= j0 + j + c; p++)
                out[(p - p0) * wide + j + c] = FN(unit)(p, j0 + j + c);
    }
}

/* Its columns, likewise: V' C, in parts of DEEP rows. */
static void FN(pack_columns_of)(int64_t m, int64_t k, const T *v, int64_t ld, T *out)
{
    for (int64_t p = 0; p < m; p += FN(DEEP)) {
        int64_t rows = m - p < FN(DEEP) ? m - p : FN(DEEP);
        for (int64_t i = 0; i < k; i += ROWS, out += rows * ROWS)
            FN(gather_of)(p, rows, i, k - i, v, ld, out, ROWS);
    }
}

/* ---- what a panel does ---- */
/* w (k x n, cleared here) = -V' c, or -V' times what stands below the diagonal of c. room: slivers
 * of DEEP rows. */
static void FN(project)(int64_t m, int64_t n, int64_t k, const T *columns, const T *c, int64_t ld,
                        bool reflectors, T *w, T *room)
{
    memset(w, 0, (size_t)(k * n) * sizeof(T));
    for (int64_t p = 0; p < m; p += FN(DEEP)) {
        int64_t rows = m - p < FN(DEEP) ? m - p : FN(DEEP);
        for (int64_t j = 0; j < n; j += LANES) {
            int64_t some = n - j < LANES ? n - j : LANES;
            if (reflectors)
                FN(gather_of)(p, rows, j, some, c, ld, room + j * rows, LANES);
            else
                FN(gather)(rows, some, c + j * ld + p, ld, room + j * rows, LANES);
        }
        FN(take)(k, n, rows, columns, room, w, k);
        columns += FN(up)(k, ROWS) * rows;
    }
}

/* Bytes of the room of qr_update, and of qr_panel in which packed columns and rows join it. */
static size_t FN(qr_room)(int64_t m, int64_t n, int64_t k, bool panel)
{
    int64_t wide = FN(up)(n, LANES), slivers = 2 * k * wide + FN(DEEP) * wide;
    int64_t packed = m * (k + 6 * ROWS) + FN(up)(m, ROWS) * k + ROWS * k;
    return (size_t)(slivers + (panel ? packed : 0)) * sizeof(T);
}

/* c -= V X, with T' V' c for X, or T V' c where the reflectors come in the opposite order. */
static void FN(qr_update)(int64_t m, int64_t n, int64_t k, const void *columns, const void *rows,
                          const void *turn, int64_t lt, const void *taus, bool back, void *c,
                          int64_t ld, void *room)
{
    const T *tau = taus;
    T *w = room, *x = w + k * FN(up)(n, LANES);
    FN(project)(m, n, k, columns, c, ld, false, w, x);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < k; i++)
            w[j * k + i] *= -tau[i];
    for (int64_t j = 0; j < n; j += LANES) {
        T *sliver = x + j * k;
        FN(gather)(k, n - j < LANES ? n - j : LANES, w + j * k, k, sliver, LANES);
        if (back)
            FN(divide_upper)(k, turn, lt, sliver, true);
        else
            FN(divide)(k, turn, lt, sliver);
    }
    FN(take)(m, n, k, rows, x, c, ld);
}

/* Elmroth and Gustavson's recursion (2000): the left half, what it does to the right one, that, and
 * what `turn` has between the two. */
static void FN(qr_panel)(int64_t m, int64_t n, void *data, int64_t ld, void *taus, void *turned,
                         int64_t lt, void *room)
{
    T *a = data, *tau = taus, *turn = turned;
    if (n <= DENSE_NARROW) {
        FN(qr_narrow)(m, n, a, ld, tau, turn, lt);
        return;
    }
    int64_t left = (n / 2 + DENSE_NARROW - 1) / DENSE_NARROW * DENSE_NARROW, right = n - left;
    T *columns = room, *rows = columns + m * FN(up)(left, ROWS);
    T *rest = rows + FN(up)(m, ROWS) * left, *beside = a + left * ld;
    FN(qr_panel)(m, left, a, ld, tau, turn, lt, room);
    FN(pack_columns_of)(m, left, a, ld, columns);
    FN(pack_rows_of)(m, left, a, ld, rows);
    FN(qr_update)(m, right, left, columns, rows, turn, lt, tau, false, beside, ld, rest);
    FN(qr_panel)(m - left, right, beside + left, ld, tau + left, turn + left * (lt + 1), lt, rest);
    /* V of the right half has zeros where the left one begins: the rows below are packed anew. */
    T *w = rest, *slivers = w + left * FN(up)(right, LANES);
    for (int64_t p = left, at = 0; p < m; p += FN(DEEP)) {
        int64_t some = m - p < FN(DEEP) ? m - p : FN(DEEP);
        for (int64_t i = 0; i < left; i += ROWS, at += some * ROWS)
            FN(gather_of)(p, some, i, left - i, a, ld, columns + at, ROWS);
    }
    FN(project)(m - left, right, left, columns, beside + left, ld, true, w, slivers);
    for (int64_t i = 0; i < right; i++)
        for (int64_t j = 0; j < left; j++) {
            turn[j * lt + left + i] = -tau[left + i] * w[i * left + j];
            turn[(left + i) * lt + j] = -tau[j] * w[i * left + j];
        }
}

static void FN(qr_pack)(int64_t m, int64_t k, const void *v, int64_t ld, void *columns, void *rows)
{
    FN(pack_columns_of)(m, k, v, ld, columns);
    FN(pack_rows_of)(m, k, v, ld, rows);
}
#undef ROWS
