/* What FFTW leaves to be done to the lanes of one execution: the half of a spectrum that
 * symmetry gives, and scaling. Included by fft.c with REAL (double, float) and NAME. */

/* z[n - j] = conj(z[j]) for 0 < j < n/2 (rounded up); all conjugated for the backward one.
 * 0 - x and not -x: a zero stays a positive one. */
static void NAME(mirror)(void *out, int64_t n, int64_t step, int64_t lanes, int64_t distance,
                         bool backward)
{
    for (int64_t lane = 0; lane < lanes; lane++) {
        REAL *z = (REAL *)out + 2 * lane * distance;
        int64_t half = n / 2 + 1;
        if (backward)
            for (int64_t j = 0; j < half; j++)
                z[2 * j * step + 1] = 0 - z[2 * j * step + 1];
        for (int64_t j = half; j < n; j++) {
            z[2 * j * step] = z[2 * (n - j) * step];
            z[2 * j * step + 1] = 0 - z[2 * (n - j) * step + 1];
        }
    }
}

static void NAME(scale)(void *out, int64_t n, int64_t step, int64_t lanes, int64_t distance,
                        bool pairs, double scale)
{
    REAL by = (REAL)scale, *z = out;
    int64_t reals = pairs ? 2 : 1, outer = lanes, outer_step = distance;
    if ((step < 0 ? -step : step) > (distance < 0 ? -distance : distance) && lanes > 1) {
        outer = n, outer_step = step;
        n = lanes, step = distance;
    }
    for (int64_t i = 0; i < outer; i++) {
        REAL *row = z + i * outer_step * reals;
        if (step == 1)
            for (int64_t j = 0; j < n * reals; j++)
                row[j] *= by;
        else
            for (int64_t j = 0; j < n; j++)
                for (int64_t part = 0; part < reals; part++)
                    row[j * step * reals + part] *= by;
    }
}

#undef REAL
#undef NAME
