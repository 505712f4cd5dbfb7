/* Products of spectra in one precision. Included by conv.c with REAL and NAME. */
static void NAME(multiply)(REAL *z, const REAL *w, int64_t n)
{
    for (int64_t i = 0; i < 2 * n; i += 2) {
        REAL re = z[i] * w[i] - z[i + 1] * w[i + 1];
        z[i + 1] = z[i] * w[i + 1] + z[i + 1] * w[i];
        z[i] = re;
    }
}

#undef REAL
#undef NAME
