/* Position of the extreme: the value by the vectorised fold, then the first place where it
 * stands (or the first NaN). Included by reduce_ops.tmpl.h with T, C, LOAD, VALUE (the
 * member of RedArg.v), EXTREME(f) (the functions of the value's fold), BETTER(b, a) (b
 * strictly beats a), NOT_NUMBER and NAME. */

#ifndef ARG_BLOCK
#define ARG_BLOCK 64          /* looked at without a branch */
#endif

static void NAME(run)(void *acc, const void *x, int64_t stride, int64_t n, const void *param)
{
    RedArg *a = acc;
    const T *p = x;
    C best;
    EXTREME(run)(&best, x, stride, n, param);
    int64_t i = 0;
    int found = NOT_NUMBER(best);
    for (; stride == 1 && !found && i + ARG_BLOCK <= n; i += found ? 0 : ARG_BLOCK)
        for (int k = 0; k < ARG_BLOCK; k++)
            found |= LOAD(p[i + k]) == best;
    if (!NOT_NUMBER(best))
        while (i < n - 1 && !(LOAD(p[i * stride]) == best))
            i++;
    else
        while (i < n - 1 && !NOT_NUMBER(LOAD(p[i * stride])))
            i++;
    a->at = i;
    a->v.VALUE = best;
}

static void NAME(rows)(void *acc, const void *x, int64_t rs, int64_t n, int64_t cs, int64_t m,
                       const void *param)
{
    RedArg *a = acc;
    const T *p = x;
    (void)param;
    for (int64_t j = 0; j < m; j++)
        a[j] = (RedArg){ .at = 0, .v.VALUE = LOAD(p[j * cs]) };
    for (int64_t i = 1; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            C v = LOAD(p[i * rs + j * cs]), old = (C)a[j].v.VALUE;
            if (BETTER(v, old) || (NOT_NUMBER(v) && !NOT_NUMBER(old))) {
                a[j].at = i;
                a[j].v.VALUE = v;
            }
        }
}

static void NAME(join)(void *acc, const void *more, int64_t m, int64_t offset)
{
    RedArg *a = acc;
    const RedArg *b = more;
    for (int64_t j = 0; j < m; j++) {
        C v = (C)b[j].v.VALUE, old = (C)a[j].v.VALUE;
        if (BETTER(v, old) || (NOT_NUMBER(v) && !NOT_NUMBER(old))) {
            a[j] = b[j];
            a[j].at += offset;
        }
    }
}
#undef NAME
#undef EXTREME
#undef BETTER
