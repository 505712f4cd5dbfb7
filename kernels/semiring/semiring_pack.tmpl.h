/* Packing of elements of type S into panels of P, and what is looked for in them. NAME(f) names
 * the functions; SEARCH is 1 for floats, 2 for 64-bit integers. Included by semiring_pack.c. */

/* Rows of B as they lie. */
static void NAME(rows)(P *to, int64_t width, const S *from, int64_t along, int64_t used, int64_t k)
{
    for (int64_t q = 0; q < k; q++, to += width, from += along) {
        for (int64_t i = 0; i < used; i++)
            to[i] = (P)from[i];
        for (int64_t i = used; i < width; i++)
            to[i] = 0;
    }
}

/* Four lines at a time, so that every line of the panel is written whole or in quarters. */
static void NAME(lines)(P *to, int64_t width, const S *from, int64_t across, int64_t along,
                        int64_t used, int64_t k)
{
    int64_t i = 0;
    for (; i + 4 <= used; i += 4) {
        const S *f0 = from + i * across, *f1 = f0 + across, *f2 = f1 + across, *f3 = f2 + across;
        P *t = to + i;
        for (int64_t q = 0; q < k; q++, t += width) {
            t[0] = (P)f0[q * along];
            t[1] = (P)f1[q * along];
            t[2] = (P)f2[q * along];
            t[3] = (P)f3[q * along];
        }
    }
    for (; i < width; i++)
        for (int64_t q = 0; q < k; q++)
            to[q * width + i] = i < used ? (P)from[i * across + q * along] : 0;
}

static void NAME(pack)(void *to, int64_t width, const void *from, int64_t across, int64_t along,
                       int64_t used, int64_t k)
{
    if (across == 1)
        NAME(rows)(to, width, from, along, used, k);
    else
        NAME(lines)(to, width, from, across, along, used, k);
}

#if SEARCH == 1
static int NAME(find)(const void *packed, int64_t count)
{
    const P *x = packed;
    P sum = 0;                          /* of x - x: NaN unless all are finite */
    P lane[16] = { 0 };
    int64_t i = 0;
    for (; i + 16 <= count; i += 16)
        for (int l = 0; l < 16; l++)
            lane[l] += x[i + l] - x[i + l];
    for (; i < count; i++)
        sum += x[i] - x[i];
    for (int l = 0; l < 16; l++)
        sum += lane[l];
    if (sum == 0)
        return 0;
    int found = 0;
    for (i = 0; i < count; i++)
        found |= x[i] != x[i] ? PACK_NAN
                 : x[i] - x[i] == 0 ? 0 : x[i] > 0 ? PACK_ABOVE : PACK_BELOW;
    return found;
}
#elif SEARCH == 2
static int NAME(find)(const void *packed, int64_t count)
{
    const P *x = packed;
    uint64_t high = 0;
    for (int64_t i = 0; i < count; i++)
        high |= ((uint64_t)x[i] + 0x80000000u) >> 32;
    return high ? PACK_WIDE : 0;
}
#endif

#undef NAME
#undef S
#undef P
#undef SEARCH
