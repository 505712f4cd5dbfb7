/* One block of a convolution in one dtype. Included by conv_real.tmpl.h and
 * conv_complex.tmpl.h with T, NAME and WIDTH; `full` adds the j whose products reach a
 * whole block. j runs upwards for every number, whatever the width: the same bits everywhere. */
static void NAME(part)(T *acc, int64_t i, int64_t width, const T *a, int64_t n, const T *b,
                       int64_t from, int64_t to)
{
    for (int64_t j = from; j < to; j++) {
        int64_t low = j > i ? j - i : 0, high = j + n - i < width ? j + n - i : width;
        NAME(run)(acc + low, b[j], a + i + low - j, high - low);
    }
}

static void NAME(row)(void *accumulators, int64_t i, int64_t width, const void *left, int64_t n,
                      const void *right, int64_t m)
{
    T *acc = accumulators;
    const T *a = left, *b = right;
    int64_t first = i - n + 1 > 0 ? i - n + 1 : 0, last = i + width < m ? i + width : m;
    int64_t from = i + width - n > first ? i + width - n : first, to = i + 1 < last ? i + 1 : last;
    if (from >= to) {
        NAME(part)(acc, i, width, a, n, b, first, last);
        return;
    }
    NAME(part)(acc, i, width, a, n, b, first, from);
    if (width == WIDTH)
        NAME(full)(acc, i, a, b, from, to);
    else
        NAME(part)(acc, i, width, a, n, b, from, to);
    NAME(part)(acc, i, width, a, n, b, to, last);
}

#undef T
#undef NAME
#undef WIDTH
