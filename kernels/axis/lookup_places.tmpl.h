/* Where elements of one dtype enter a sorted table. Included by lookup.c with T, NAME, IS_NAN. */

typedef struct NAME(Places) {
    const T *a, *v;
    int64_t m;                   /* of a, without its nans */
    int64_t all;                 /* with them */
    bool right;
    int64_t *out;
} NAME(Places);

/* Does e stand before v? */
static inline bool NAME(before)(T e, T v, bool right) { return right ? e <= v : e < v; }

/* Looks near the last answer first, as neighbours often ask for neighbours. */
static inline int64_t NAME(place)(const NAME(Places) *job, T v, int64_t near, bool right)
{
    const T *a = job->a, *p = a;
    int64_t n = job->m;
    if (near == 0 || NAME(before)(a[near - 1], v, right)) {
        if (near == n || !NAME(before)(a[near], v, right))
            return near;
        if (near + 1 == n || !NAME(before)(a[near + 1], v, right))
            return near + 1;
    }
    while (n > 1) {
        int64_t half = n / 2;
        p += NAME(before)(p[half - 1], v, right) ? half : 0;
        n -= half;
    }
    return p - a + (n == 1 && NAME(before)(*p, v, right));
}

static void NAME(places_part)(void *arg, int64_t begin, int64_t end, int worker)
{
    const NAME(Places) *job = arg;
    int64_t near = 0;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        T v = job->v[i];
        if (IS_NAN(v)) {                            /* nan stands after everything */
            job->out[i] = job->right ? job->all : job->m;
            continue;
        }
        near = job->right ? NAME(place)(job, v, near, true) : NAME(place)(job, v, near, false);
        job->out[i] = near;
    }
}

void NAME(lookup_places)(Ctx *ctx, const T *a, int64_t m, bool right, const T *v, int64_t n,
                         int64_t *out)
{
    NAME(Places) job = { .a = a, .v = v, .m = m, .all = m, .right = right, .out = out };
    while (job.m > 0 && IS_NAN(a[job.m - 1]))
        job.m--;
    pool_for(ctx, n, PLACES, NAME(places_part), &job);
}

#undef T
#undef NAME
#undef IS_NAN
