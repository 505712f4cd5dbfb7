/* Counting n elements of one dtype into bins. Included by lookup.c with T and NAME. */

/* Neighbours often fall into one bin, and an increment waits for the last one of the same
 * counter: four rows of counters, `step` apart, take turns (step 0: there is one). */
static void NAME(count)(const LookupBins *b, const T *x, int64_t n, int64_t *rows, int64_t step)
{
    double first = b->edges[0], last = b->edges[b->bins];
    for (int64_t i = 0; i < n; i++) {
        double v = (double)x[i];
        if (v >= first && v <= last)
            rows[(i & 3) * step + bin_of(b, v)]++;
    }
}

static void NAME(weigh)(const LookupBins *b, const T *x, const double *weights, int64_t n,
                        double *sums)
{
    double first = b->edges[0], last = b->edges[b->bins];
    for (int64_t i = 0; i < n; i++) {
        double v = (double)x[i];
        if (v >= first && v <= last)
            sums[bin_of(b, v)] += weights[i];
    }
}

#undef T
#undef NAME
