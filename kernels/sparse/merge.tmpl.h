/* Rows of two matrices of one dtype T merged. */
/* An entry that is missing is 0, so that signs of zeros are those of dense matrices. */
static inline __attribute__((always_inline)) void FN(either_rows)(const Merge *p, int64_t from,
                                                                  int64_t to, bool minus)
{
    const int64_t *ac = p->a.column, *bc = p->b.column;
    const T *av = (const T *)p->a.value, *bv = (const T *)p->b.value;
    T *v = (T *)p->value;
    for (int64_t i = from; i < to; i++) {
        int64_t x = p->a.start[i], y = p->b.start[i], k = p->start[i];
        const int64_t xs = p->a.start[i + 1], ys = p->b.start[i + 1];
        while (x < xs && y < ys) {
            const int64_t cx = ac[x], cy = bc[y];
            const T one = cx <= cy ? av[x] : 0, other = cy <= cx ? bv[y] : 0;
            p->column[k] = cx <= cy ? cx : cy;
            v[k++] = minus ? one - other : one + other;
            x += cx <= cy;
            y += cy <= cx;
        }
        for (; x < xs; x++, k++) {
            p->column[k] = ac[x];
            v[k] = minus ? av[x] - 0 : av[x] + 0;
        }
        for (; y < ys; y++, k++) {
            p->column[k] = bc[y];
            v[k] = minus ? 0 - bv[y] : 0 + bv[y];
        }
    }
}

static void FN(add)(const Merge *p, int64_t from, int64_t to)
{
    FN(either_rows)(p, from, to, false);
}

static void FN(subtract)(const Merge *p, int64_t from, int64_t to)
{
    FN(either_rows)(p, from, to, true);
}

static void FN(multiply)(const Merge *p, int64_t from, int64_t to)
{
    const int64_t *ac = p->a.column, *bc = p->b.column;
    const T *av = (const T *)p->a.value, *bv = (const T *)p->b.value;
    T *v = (T *)p->value;
    for (int64_t i = from; i < to; i++) {
        int64_t x = p->a.start[i], y = p->b.start[i], k = p->start[i];
        const int64_t xs = p->a.start[i + 1], ys = p->b.start[i + 1];
        while (x < xs && y < ys) {
            const int64_t cx = ac[x], cy = bc[y];
            if (cx == cy) {
                p->column[k] = cx;
                v[k++] = TIMES(av[x], bv[y]);
            }
            x += cx <= cy;
            y += cy <= cx;
        }
    }
}

static const MergeFn FN(merges)[] = { [MERGE_ADD] = FN(add), [MERGE_SUBTRACT] = FN(subtract),
                                      [MERGE_MULTIPLY] = FN(multiply) };
