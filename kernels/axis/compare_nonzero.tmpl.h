/* Positions of what is not zero, by bits: DROP is 1 for floats, whose sign does not count (a
 * negative zero is zero, a nan is not). Included by compare.c with T, NAME and DROP. */
static int64_t NAME(nonzero)(const T *x, int64_t n, int64_t *positions)
{
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++)
        found += (T)(x[i] << DROP) != 0;
    int64_t all = positions ? found : 0;
    for (int64_t i = 0, k = 0; k < all; i++) {
        positions[k] = i;                       /* written over until it is one: no branch */
        k += (T)(x[i] << DROP) != 0;
    }
    return found;
}

#undef T
#undef NAME
#undef DROP
