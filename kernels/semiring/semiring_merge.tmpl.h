/* Results of a tile, of packed type P, into C of type S; REDUCE(x, v) as in the plain loops.
 * Included by semiring_pack.c. */
static void NAME(merge)(Mat c, int64_t rows, int64_t cols, const void *tile, int64_t ld,
                        bool accumulate)
{
    const P *from = tile;
    S *to = (S *)(void *)c.data;
    for (int64_t i = 0; i < rows; i++, from += ld, to += c.rs) {
        if (!accumulate && c.cs == 1)
            for (int64_t j = 0; j < cols; j++)
                to[j] = (S)from[j];
        else if (c.cs == 1)
            for (int64_t j = 0; j < cols; j++)
                to[j] = REDUCE(to[j], (S)from[j]);
        else
            for (int64_t j = 0; j < cols; j++) {
                S *at = to + j * c.cs;
                *at = accumulate ? REDUCE(*at, (S)from[j]) : (S)from[j];
            }
    }
}
#undef NAME
#undef S
#undef P
#undef REDUCE
