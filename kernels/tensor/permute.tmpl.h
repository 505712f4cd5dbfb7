/* Copies of one element size, portable: UNIT is a type of that size that may lie anywhere (a
 * complex number is aligned as its parts are), NAME(f) names the functions. Included by permute.c
 * once per size. */

static void NAME(row)(void *dst, int64_t sd, const void *src, int64_t ss, int64_t n) {
    UNIT *d = dst;
    const UNIT *s = src;
    if (ss == 0 && sd == 1) {
        UNIT value = *s;
        for (int64_t i = 0; i < n; i++) d[i] = value;
        return;
    }
    for (int64_t i = 0; i < n; i++) d[i * sd] = s[i * ss];
}

/* dst[j*ds + i] = src[i*ss + j], in squares that both sides hold in a few cache lines. */
static void NAME(block)(void *dst, int64_t ds, const void *src, int64_t ss, int64_t rows,
                        int64_t columns, bool stream) {
    enum { SQUARE = 64 / sizeof(UNIT) < 16 ? 64 / sizeof(UNIT) : 16 };
    UNIT *d = dst;
    const UNIT *s = src;
    (void)stream;
    for (int64_t i0 = 0; i0 < rows; i0 += SQUARE)
        for (int64_t j0 = 0; j0 < columns; j0 += SQUARE) {
            int64_t i1 = i0 + SQUARE < rows ? i0 + SQUARE : rows;
            int64_t j1 = j0 + SQUARE < columns ? j0 + SQUARE : columns;
            for (int64_t j = j0; j < j1; j++)
                for (int64_t i = i0; i < i1; i++) d[j * ds + i] = s[i * ss + j];
        }
}

#undef UNIT
#undef NAME
