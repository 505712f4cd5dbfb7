/* Panels and updates of one real type: T with vectors V of LANES, whole numbers of their size VI,
 * and FMA. Included by dense_isa.tmpl.h. Every multiplication is fused with the subtraction after
 * it, in full vectors and in what is left over of them alike. */
#include "kernels/dense/reflector.tmpl.h"

#define ROWS (TILE_VECTORS * LANES)

/* ---- products ---- */
static void FN(pack)(int64_t m, int64_t k, const void *from, int64_t ld, void *out)
{
    const T *a = from;
    T *to = out;
    for (int64_t i = 0; i < m; i += ROWS, a += ROWS)
        for (int64_t p = 0; p < k; p++, to += ROWS) {
            const T *column = a + p * ld;
            if (m - i >= ROWS) {
                for (int v = 0; v < TILE_VECTORS; v++)
                    FN(store)(to + v * LANES, FN(load)(column + v * LANES));
            } else {
                memset(to, 0, ROWS * sizeof(T));
                memcpy(to, column, (size_t)(m - i) * sizeof(T));
            }
        }
}

/* A tile of the product of a sliver of the left with TILE_COLS columns of one of the right. */
static inline __attribute__((always_inline)) void FN(tile)(int64_t k, const T *a, const T *b,
                                                          V sum[TILE_COLS][TILE_VECTORS])
{
    V s[TILE_COLS][TILE_VECTORS];
    for (int j = 0; j < TILE_COLS; j++)
        for (int v = 0; v < TILE_VECTORS; v++)
            s[j][v] = (V){ 0 };
    for (int64_t p = 0; p < k; p++, a += ROWS, b += LANES) {
        V row[TILE_VECTORS];
        for (int v = 0; v < TILE_VECTORS; v++)
            row[v] = FN(load)(a + v * LANES);
        for (int j = 0; j < TILE_COLS; j++) {
            V x = FN(all)(b[j]);
            for (int v = 0; v < TILE_VECTORS; v++)
                s[j][v] = FMA(row[v], x, s[j][v]);
        }
    }
    for (int j = 0; j < TILE_COLS; j++)
        for (int v = 0; v < TILE_VECTORS; v++)
            sum[j][v] = s[j][v];
}

static __attribute__((noinline)) void FN(take_tile)(int64_t k, const T *a, const T *b, T *c,
                                                   int64_t ld)
{
    V sum[TILE_COLS][TILE_VECTORS];
    for (int j = 0; j < TILE_COLS; j++)
        for (int v = 0; v < TILE_VECTORS; v++)
            __builtin_prefetch(c + j * ld + v * LANES, 1);
    FN(tile)(k, a, b, sum);
    for (int j = 0; j < TILE_COLS; j++)
        for (int v = 0; v < TILE_VECTORS; v++) {
            T *at = c + j * ld + v * LANES;
            FN(store)(at, FN(load)(at) - sum[j][v]);
        }
}

static __attribute__((noinline)) void FN(take_edge)(int64_t k, const T *a, const T *b, T *c,
                                                   int64_t ld, int64_t rows, int64_t cols)
{
    V sum[TILE_COLS][TILE_VECTORS];
    T out[TILE_COLS][ROWS];
    FN(tile)(k, a, b, sum);
    memcpy(out, sum, sizeof out);
    for (int64_t j = 0; j < cols; j++, c += ld) {
        int64_t i = 0;
        for (; i + LANES <= rows; i += LANES)
            FN(store)(c + i, FN(load)(c + i) - FN(load)(out[j] + i));
        for (; i < rows; i++)
            c[i] -= out[j][i];
    }
}

/* c (m x n) -= packed times slivers of k rows: a sliver of the left stays in the first cache while
 * those of the right pass by. */
static void FN(take)(int64_t m, int64_t n, int64_t k, const T *packed, const T *slivers, T *c,
                     int64_t ld)
{
    for (int64_t i = 0; i < m; i += ROWS, packed += ROWS * k)
        for (int64_t j = 0; j < n; j += TILE_COLS) {
            const T *b = slivers + j / LANES * LANES * k + j % LANES;
            T *at = c + j * ld + i;
            if (m - i >= ROWS && n - j >= TILE_COLS)
                FN(take_tile)(k, packed, b, at, ld);
            else
                FN(take_edge)(k, packed, b, at, ld, m - i < ROWS ? m - i : ROWS,
                              n - j < TILE_COLS ? n - j : TILE_COLS);
        }
}

/* Up to LANES columns of k elements side by side: element (p, j) at p * wide + j, zeros where there
 * is no column. */
static void FN(gather)(int64_t k, int64_t n, const T *b, int64_t ld, T *out, int64_t wide)
{
    int64_t p = 0;
    for (int64_t i = 0; i < k && n < LANES; i++)
        FN(store)(out + i * wide, (V){ 0 });
    for (; n >= LANES && p + LANES <= k; p += LANES) {
        V block[LANES];
        for (int j = 0; j < LANES; j++)
            block[j] = FN(load)(b + j * ld + p);
        FN(turn)(block);
        for (int j = 0; j < LANES; j++)
            FN(store)(out + (p + j) * wide, block[j]);
    }
    for (; p < k; p++)
        for (int64_t j = 0; j < n; j++)
            out[p * wide + j] = b[j * ld + p];
}

static void FN(scatter)(int64_t k, int64_t n, const T *from, T *b, int64_t ld)
{
    int64_t p = 0;
    for (; n >= LANES && p + LANES <= k; p += LANES) {
        V block[LANES];
        for (int j = 0; j < LANES; j++)
            block[j] = FN(load)(from + (p + j) * LANES);
        FN(turn)(block);
        for (int j = 0; j < LANES; j++)
            FN(store)(b + j * ld + p, block[j]);
    }
    for (; p < k; p++)
        for (int64_t j = 0; j < n && j < LANES; j++)
            b[j * ld + p] = from[p * LANES + j];
}

/* ---- LU ---- */
enum { FN(BLOCK) = 8 };

/* `rows` rows of a sliver less the products of l with those before them, then among themselves. */
static inline __attribute__((always_inline)) void FN(divide_block)(int rows, int64_t before,
                                                                  const T *l, int64_t ld, T *x)
{
    V s[FN(BLOCK)];
    for (int r = 0; r < rows; r++)
        s[r] = FN(load)(x + (before + r) * LANES);
    for (int64_t p = 0; p < before; p++) {
        V other = FN(load)(x + p * LANES);
        for (int r = 0; r < rows; r++)
            s[r] = FMA(FN(all)(-l[p * ld + r]), other, s[r]);
    }
    for (int q = 0; q < rows; q++)
        for (int r = q + 1; r < rows; r++)
            s[r] = FMA(FN(all)(-l[(before + q) * ld + r]), s[q], s[r]);
    for (int r = 0; r < rows; r++)
        FN(store)(x + (before + r) * LANES, s[r]);
}

/* A sliver of k rows divided by the unit lower triangle l. */
static void FN(divide)(int64_t k, const T *l, int64_t ld, T *x)
{
    int64_t i = 0;
    for (; i + FN(BLOCK) <= k; i += FN(BLOCK))
        FN(divide_block)(FN(BLOCK), i, l + i, ld, x);
    for (; i < k; i++)
        FN(divide_block)(1, i, l + i, ld, x);
}

static void FN(exchange)(int64_t n, void *data, int64_t ld, const int *pivots, int64_t from,
                         int64_t to)
{
    T *a = data;
    for (int64_t j = 0; j < n; j++, a += ld)
        for (int64_t i = from; i < to; i++) {
            int64_t other = pivots[i] - 1;
            T x = a[i];
            a[i] = a[other];
            a[other] = x;
        }
}

static void FN(lu_update)(int64_t m, int64_t n, int64_t k, const void *l, const void *packed,
                          void *columns, int64_t ld, const int *pivots, void *room)
{
    T *c = columns, *sliver = room;
    for (int64_t j = 0; j < n; j += LANES, c += LANES * ld, sliver += LANES * k) {
        int64_t some = n - j < LANES ? n - j : LANES;
        if (pivots)
            FN(exchange)(some, c, ld, pivots, 0, k);
        FN(gather)(k, some, c, ld, sliver, LANES);
        FN(divide)(k, l, ld, sliver);
        FN(scatter)(k, some, sliver, c, ld);
    }
    FN(take)(m - k, n, k, packed, room, (T *)columns + k, ld);
}

/* A sliver of k rows divided by the upper triangle u, from the last row up; unit: with ones on its
 * diagonal. */
static void FN(divide_upper)(int64_t k, const T *u, int64_t ld, T *x, bool unit)
{
    for (int64_t i = k; i-- > 0;) {
        V v = FN(load)(x + i * LANES);
        T d = unit ? 1 : u[i * ld + i], f = 1 / d;
        v = ABS(d) < LEAST ? v / FN(all)(d) : v * FN(all)(f);
        FN(store)(x + i * LANES, v);
        for (int64_t r = 0; r < i; r++) {
            T *at = x + r * LANES;
            FN(store)(at, FMA(FN(all)(-u[i * ld + r]), v, FN(load)(at)));
        }
    }
}

static void FN(back_update)(int64_t m, int64_t n, int64_t k, const void *u, const void *packed,
                            void *columns, int64_t ld, void *room)
{
    T *c = (T *)columns + m, *sliver = room;
    for (int64_t j = 0; j < n; j += LANES, c += LANES * ld, sliver += LANES * k) {
        int64_t some = n - j < LANES ? n - j : LANES;
        FN(gather)(k, some, c, ld, sliver, LANES);
        FN(divide_upper)(k, u, ld, sliver, false);
        FN(scatter)(k, some, sliver, c, ld);
    }
    FN(take)(m, n, k, packed, room, columns, ld);
}

/* n columns of m elements, ld apart, less x times factor[j * step]. */
static void FN(take_column)(int64_t m, int64_t n, const T *x, const T *factor, int64_t step, T *a,
                            int64_t ld)
{
    int64_t i = 0;
    for (; i + LANES <= m; i += LANES) {
        V v = -FN(load)(x + i);
        for (int64_t j = 0; j < n; j++) {
            T *at = a + j * ld + i;
            FN(store)(at, FMA(v, FN(all)(factor[j * step]), FN(load)(at)));
        }
    }
    for (; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            a[j * ld + i] = FMA_ONE(-x[i], factor[j * step], a[j * ld + i]);
}

static int FN(lu_narrow)(int64_t m, int64_t n, T *a, int64_t ld, int *pivots)
{
    int info = 0;
    for (int64_t j = 0; j < n && j < m; j++) {
        T *column = a + j * ld;
        int64_t p = j + FN(largest)(m - j, column + j);
        pivots[j] = (int)p + 1;
        if (column[p] == 0) {
            info = info ? info : (int)j + 1;
            continue;
        }
        if (p != j)
            FN(exchange)(n, a, ld, pivots, j, j + 1);
        FN(divide_column)(m - j - 1, column + j + 1, column[j]);
        FN(take_column)(m - j - 1, n - j - 1, column + j + 1, column + ld + j, ld,
                        column + ld + j + 1, ld);
    }
    return info;
}

/* The room behind m x k that are packed in it. */
static T *FN(after)(int64_t m, int64_t k, void *room)
{
    return (T *)room + (m + ROWS - 1) / ROWS * ROWS * k;
}

/* Toledo's recursion (1997), which is getrf2 of LAPACK too: the left half of the columns, its
 * effect on the right half, that. */
static int FN(lu_panel)(int64_t m, int64_t n, void *data, int64_t ld, int *pivots, void *room)
{
    T *a = data;
    if (n <= DENSE_NARROW || m <= DENSE_NARROW)
        return FN(lu_narrow)(m, n, a, ld, pivots);
    int64_t left = (n / 2 + DENSE_NARROW - 1) / DENSE_NARROW * DENSE_NARROW;
    left = left < m ? left : m;
    int info = FN(lu_panel)(m, left, a, ld, pivots, room);
    FN(pack)(m - left, left, a + left, ld, room);
    FN(lu_update)(m, n - left, left, a, room, a + left * ld, ld, pivots,
                  FN(after)(m - left, left, room));
    if (left == m)
        return info;
    int later = FN(lu_panel)(m - left, n - left, a + left * (ld + 1), ld, pivots + left, room);
    int64_t to = m < n ? m : n;
    for (int64_t i = left; i < to; i++)
        pivots[i] += (int)left;
    FN(exchange)(left, a, ld, pivots, left, to);
    return info ? info : later ? later + (int)left : 0;
}

/* ---- Cholesky ---- */
/* k columns of n elements as rows: element (p, j) at p * LANES + j. */
static void FN(gather_rows)(int64_t k, int64_t n, const T *rows, int64_t ld, T *out)
{
    for (int64_t p = 0; p < k; p++, out += LANES, rows += ld) {
        if (n < LANES) {
            memset(out, 0, sizeof(V));
            memcpy(out, rows, (size_t)n * sizeof(T));
        } else {
            FN(store)(out, FN(load)(rows));
        }
    }
}

static void FN(rank_update)(int64_t m, int64_t n, int64_t k, const void *packed, const void *rows,
                            void *columns, int64_t ld, void *room)
{
    for (int64_t j = 0; j < n; j += LANES)
        FN(gather_rows)(k, n - j < LANES ? n - j : LANES, (const T *)rows + j, ld,
                        (T *)room + j * k);
    FN(take)(m, n, k, packed, room, columns, ld);
}

static int FN(cholesky_narrow)(int64_t m, int64_t n, T *a, int64_t ld)
{
    for (int64_t j = 0; j < n; j++) {
        T *column = a + j * ld, d = column[j];
        if (d <= 0)                          /* a nan goes on, as in potrf */
            return (int)j + 1;
        column[j] = SQRT(d);
        FN(divide_column)(m - j - 1, column + j + 1, column[j]);
        FN(take_column)(m - j - 1, n - j - 1, column + j + 1, column + j + 1, 1,
                        column + ld + j + 1, ld);
    }
    return 0;
}

static int FN(cholesky_panel)(int64_t m, int64_t n, void *data, int64_t ld, void *room)
{
    T *a = data;
    if (n <= DENSE_NARROW)
        return FN(cholesky_narrow)(m, n, a, ld);
    int64_t left = (n / 2 + DENSE_NARROW - 1) / DENSE_NARROW * DENSE_NARROW;
    int info = FN(cholesky_panel)(m, left, a, ld, room);
    if (info)
        return info;
    T *rest = a + left * (ld + 1);
    FN(pack)(m - left, left, a + left, ld, room);
    FN(rank_update)(m - left, n - left, left, room, a + left, rest, ld,
                    FN(after)(m - left, left, room));
    info = FN(cholesky_panel)(m - left, n - left, rest, ld, room);
    return info ? info + (int)left : 0;
}
#undef ROWS
