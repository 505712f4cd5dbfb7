/* Included by frexp.c with T, U (an unsigned integer of its size), FRACTION (the bits of a
 * mantissa) and the exponent's BIAS. Blocks of normal numbers run without a branch. */
void NAME(const T *x, T *mantissa, int64_t *exponent, int64_t n)
{
    const U field = (U)(2 * BIAS + 1) << FRACTION;
    for (int64_t from = 0; from < n; from += BLOCK) {
        int64_t to = n - from < BLOCK ? n : from + BLOCK;
        U odd = 0;
        for (int64_t i = from; i < to; i++) {
            U bits, part;
            memcpy(&bits, &x[i], sizeof bits);
            U e = (bits & field) >> FRACTION;
            odd |= e - 1 >= 2 * BIAS;               /* of no normal number */
            part = (bits & ~field) | (U)(BIAS - 1) << FRACTION;
            memcpy(&mantissa[i], &part, sizeof part);
            exponent[i] = (int64_t)e - (BIAS - 1);
        }
        for (int64_t i = from; odd && i < to; i++) {
            int e = 0;
            bool plain = x[i] - x[i] == 0;
            mantissa[i] = plain ? frexp(x[i], &e) : x[i];
            exponent[i] = e;
        }
    }
}
#undef T
#undef U
#undef FRACTION
#undef BIAS
#undef NAME
