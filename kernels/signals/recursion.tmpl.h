/* The recursion over T. Included by recursion.c with T, TIMES(a, b) and NAME. */
static void NAME(int order, const void *vb, const void *va, const void *vx, void *vy, int64_t n,
                 void *vz)
{
    const T *b = vb, *a = va, *x = vx;
    T *y = vy, *z = vz;
    for (int64_t k = 0; k < n; k++) {
        T now = TIMES(b[0], x[k]) + z[0];
        for (int i = 0; i + 1 < order; i++)
            z[i] = z[i + 1] + TIMES(b[i + 1], x[k]) - TIMES(a[i + 1], now);
        z[order - 1] = TIMES((T)0, x[k]) + TIMES(b[order], x[k]) - TIMES(a[order], now);
        y[k] = now;
    }
}
#undef T
#undef TIMES
#undef NAME
