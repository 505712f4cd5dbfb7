/* The loops over floats of one type: REAL, its BITS, MAGNITUDE without the sign, SHIFTER,
 * SUFFIX. */

static inline BITS FN(bits)(REAL x)
{
    BITS b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static BITS FN(peak)(const REAL *x, int64_t n)
{
    BITS most = 0;
    for (int64_t i = 0; i < n; i++) {
        BITS b = FN(bits)(x[i]) & MAGNITUDE;
        most = b > most ? b : most;
    }
    return most;
}

static void FN(peaks)(const REAL *x, int64_t step, int64_t n, BITS *peak)
{
    BITS most[EIGHT_PANEL];
    memcpy(most, peak, sizeof most);
    for (int64_t i = 0; i < n; i++, x += step)
        for (int j = 0; j < EIGHT_PANEL; j++) {
            BITS b = FN(bits)(x[j]) & MAGNITUDE;
            most[j] = b > most[j] ? b : most[j];
        }
    memcpy(peak, most, sizeof most);
}

/* As a whole number of 32 bits: the low ones of the sum with SHIFTER. Scales that are subnormal
 * leave numbers up to 190, which are clamped. */
static inline int32_t FN(whole)(REAL x, REAL scale)
{
    REAL v = x / scale + SHIFTER;
    int32_t n = (int32_t)((uint32_t)FN(bits)(v) - (uint32_t)FN(bits)(SHIFTER));
    n = n < -127 ? -127 : n;
    return n > 127 ? 127 : n;
}

static void FN(row)(const REAL *x, int64_t n, REAL scale, uint8_t *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (uint8_t)(FN(whole)(x[i], scale) + 128);
}

static void FN(weave)(const REAL *const *x, const REAL *scale, int8_t *to)
{
    int32_t four[EIGHT_PANEL];
    for (int j = 0; j < EIGHT_PANEL; j++)
        four[j] = FN(whole)(x[0][j], scale[j]) & 255;
    for (int j = 0; j < EIGHT_PANEL; j++)
        four[j] |= (FN(whole)(x[1][j], scale[j]) & 255) << 8;
    for (int j = 0; j < EIGHT_PANEL; j++)
        four[j] |= (FN(whole)(x[2][j], scale[j]) & 255) << 16;
    for (int j = 0; j < EIGHT_PANEL; j++)
        four[j] |= (int32_t)((uint32_t)FN(whole)(x[3][j], scale[j]) << 24);
    memcpy(to, four, sizeof four);
}

#undef REAL
#undef BITS
#undef MAGNITUDE
#undef SHIFTER
#undef SUFFIX
