/* Position of the extreme: the value by parts of a block, then the first place where it stands
 * in the first part that has it (or the first NaN). Included by reduce_ops.tmpl.h with T, C, LOAD,
 * VALUE (the member of RedArg.v), BETTER(b, a) (b strictly beats a), NOT_NUMBER, NEITHER_NUMBER (of
 * two, one or both are none) and NAME. */

#ifndef ARG_STEPS
#define ARG_STEPS 64
#define ARG_LANES(C) (int)(256 / sizeof(C))
#define ARG_HALVE(W) \
    for (int l = 0; l < W && LANES > W; l++) { \
        flag[l] |= flag[l + W]; \
        lane[l] = BETTER(lane[l + W], lane[l]) ? lane[l + W] : lane[l]; \
    }
/* An int of the width of C, so that lanes of both fit together. */
#define ARG_FLAG(C) __typeof__(__builtin_choose_expr(sizeof(C) == 8, (int64_t)0, (int32_t)0))
#endif

/* The extreme of steps times LANES elements, steps > 0. *nan is set where one is no number; the
 * extreme means nothing then. */
static __attribute__((noinline)) C NAME(part)(const T *p, int64_t steps, bool *nan)
{
    enum { LANES = ARG_LANES(C) };
    C lane[LANES];
    ARG_FLAG(C) flag[LANES] = { 0 };
    for (int l = 0; l < LANES; l++)
        lane[l] = LOAD(p[l]);
    if (steps % 2) {
        for (int l = 0; l < LANES; l++)
            flag[l] = NOT_NUMBER(lane[l]);
        p += LANES;
    }
    for (int64_t i = steps / 2; i > 0; i--, p += 2 * LANES)
        for (int l = 0; l < LANES; l++) {
            C v = LOAD(p[l]), w = LOAD(p[LANES + l]);
            flag[l] |= NEITHER_NUMBER(v, w);
            lane[l] = BETTER(v, lane[l]) ? v : lane[l];
            lane[l] = BETTER(w, lane[l]) ? w : lane[l];
        }
    ARG_HALVE(128) ARG_HALVE(64) ARG_HALVE(32) ARG_HALVE(16)
    ARG_HALVE(8) ARG_HALVE(4) ARG_HALVE(2) ARG_HALVE(1)
    *nan = flag[0];
    return lane[0];
}

/* The first place of a value in n > 0 elements that have it. */
static int64_t NAME(place)(const T *p, int64_t stride, int64_t n, C value)
{
    enum { GROUP = ARG_LANES(C) };
    int64_t i = 0;
    for (; stride == 1 && i + GROUP <= n; i += GROUP) {
        ARG_FLAG(C) found = 0;
        for (int k = 0; k < GROUP; k++)
            found |= LOAD(p[i + k]) == value;
        if (found)
            break;
    }
    while (i < n - 1 && !(LOAD(p[i * stride]) == value))
        i++;
    return i;
}

static void NAME(run)(void *acc, const void *x, int64_t stride, int64_t n, const void *param)
{
    enum { LANES = ARG_LANES(C), PART = ARG_STEPS * LANES };
    RedArg *a = acc;
    const T *p = x;
    C best = LOAD(p[0]);
    int64_t i = 0, at = 0, size = n < PART ? n : PART;
    bool nan = NOT_NUMBER(best);
    (void)param;
    while (stride == 1 && i + LANES <= n && !nan) {
        int64_t steps = (n - i) / LANES < ARG_STEPS ? (n - i) / LANES : ARG_STEPS;
        C value = NAME(part)(p + i, steps, &nan);
        if (BETTER(value, best) || nan) {
            best = value;
            at = i;
            size = steps * LANES;
        }
        i += steps * LANES;
    }
    for (; i < n && !nan; i++) {
        C v = LOAD(p[i * stride]);
        nan = NOT_NUMBER(v);
        if (nan || BETTER(v, best)) {
            best = v;
            at = i;
            size = 1;
        }
    }
    if (nan)
        for (; at < n - 1 && !NOT_NUMBER(LOAD(p[at * stride])); at++) continue;
    else
        at += NAME(place)(p + at * stride, stride, size, best);
    a->at = at;
    a->v.VALUE = LOAD(p[at * stride]);
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
#undef BETTER
