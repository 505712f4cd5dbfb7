/* Packing of complex numbers of parts R, as semiring_pack.tmpl.h but parts apart. Included by
 * semiring_pack.c. */
static void NAME(pack)(void *to, int64_t width, const void *from, int64_t across, int64_t along,
                       int64_t used, int64_t k)
{
    R *t = to;
    const R *f = from;
    for (int64_t q = 0; q < k; q++, t += 2 * width, f += 2 * along)
        for (int64_t i = 0; i < width; i++) {
            t[i] = i < used ? f[2 * i * across] : 0;
            t[width + i] = i < used ? f[2 * i * across + 1] : 0;
        }
}
#undef NAME
#undef R
