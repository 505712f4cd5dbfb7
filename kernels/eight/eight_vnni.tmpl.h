/* A tile by an instruction that multiplies bytes without signs by bytes with signs and adds four
 * neighbours to a sum of 32 bits. */
#define ALWAYS static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")

/* `rows` and `vectors` are constants in every call. */
ALWAYS void part(int rows, int vectors, int64_t depth, const uint8_t *a, const int8_t *b,
                 int32_t *sum)
{
    VECTOR s[EIGHT_ROWS][VECTORS];
UNROLL
    for (int i = 0; i < rows; i++)
UNROLL
        for (int v = 0; v < vectors; v++)
            s[i][v] = ZERO;
    for (int64_t k = 0; k < depth; k += 4, b += 4 * EIGHT_PANEL) {
        VECTOR column[VECTORS];
UNROLL
        for (int v = 0; v < vectors; v++)
            column[v] = LOAD(b + v * 4 * LANES);
UNROLL
        for (int i = 0; i < rows; i++) {
            int32_t word;
            memcpy(&word, a + i * depth + k, 4);
            VECTOR row = SPREAD(word);
UNROLL
            for (int v = 0; v < vectors; v++)
                s[i][v] = DOT(s[i][v], row, column[v]);
        }
    }
UNROLL
    for (int i = 0; i < rows; i++)
UNROLL
        for (int v = 0; v < vectors; v++)
            STORE(sum + i * EIGHT_PANEL + v * LANES, s[i][v]);
}

#define ROWS(n) \
    case n: \
        if (left > (VECTORS - 1) * LANES || VECTORS == 2) \
            part(n, VECTORS, depth, a, b + 4 * at, sum + at); \
        else if (left > LANES) \
            part(n, VECTORS - 1, depth, a, b + 4 * at, sum + at); \
        else \
            part(n, 1, depth, a, b + 4 * at, sum + at); \
        break;

void TILE(int rows, int columns, int64_t depth, const uint8_t *a, const int8_t *b, int32_t *sum)
{
    for (int at = 0; at < columns; at += VECTORS * LANES) {
        int left = columns - at;
        switch (rows) {
            ROWS(1)
            ROWS(2)
            ROWS(3)
            ROWS(4)
            ROWS(5)
            ROWS(6)
        }
    }
}
