/* Kullback-Leibler divergence of codes from a histogram: see ranges.h. With p the counts, outliers
 * in the outermost bins of a part, s and c the sum and the number of bins that have any under each
 * code, m what p has there, N the sum of all and S that of the part,
 *
 *     KL = 1/N (sum p log p - sum m log(s / c)) - log N + log S
 *
 * so a part costs one step for each code, by running sums, and not one for each bin. */
#include "kernels/ranges/ranges.h"

#include <math.h>

typedef struct Sums {
    const int64_t *counts;
    double *sum, *filled, *terms;   /* running: of counts, of bins that have any, of p log p */
    double all;
} Sums;

static double log_times(double p) { return p > 0 ? p * log(p) : 0; }

static double divergence(const Sums *s, int64_t bins, int64_t from, int64_t to, int levels)
{
    double below = s->sum[from], above = s->all - s->sum[to], inside = s->sum[to] - s->sum[from];
    double first = (double)s->counts[from], last = (double)s->counts[to - 1];
    if ((below > 0 && first == 0) || (above > 0 && last == 0))
        return INFINITY;
    double t = s->terms[to] - s->terms[from];
    if (to - from == 1)
        return bins == 1 ? 0 : INFINITY;
    t += log_times(first + below) - log_times(first) + log_times(last + above) - log_times(last);
    int64_t a = from, width = to - from;
    for (int k = 1; k <= levels; k++) {
        int64_t b = from + width * k / levels;
        double sum = s->sum[b] - s->sum[a];
        double mass = sum + (a == from && b > a ? below : 0) + (b == to && b > a ? above : 0);
        if (sum > 0)
            t -= mass * log(sum / (s->filled[b] - s->filled[a]));
        a = b;
    }
    return t / s->all - log(s->all) + log(inside);
}

void entropy_part(const int64_t *counts, int64_t bins, int64_t zero, int levels, double *memory,
                  int64_t *from, int64_t *to)
{
    Sums s = { .counts = counts, .sum = memory, .filled = memory + bins + 1,
               .terms = memory + 2 * (bins + 1) };
    s.sum[0] = s.filled[0] = s.terms[0] = 0;
    for (int64_t i = 0; i < bins; i++) {
        s.sum[i + 1] = s.sum[i] + (double)counts[i];
        s.filled[i + 1] = s.filled[i] + (counts[i] > 0);
        s.terms[i + 1] = s.terms[i] + log_times((double)counts[i]);
    }
    s.all = s.sum[bins];
    double least = INFINITY;
    *from = 0, *to = bins;
    for (int64_t size = bins; size >= levels; size--) {
        int64_t a = zero - (int64_t)((double)zero * (double)size / (double)bins);
        int64_t b = zero + (int64_t)((double)(bins - zero) * (double)size / (double)bins);
        double now = b > a ? divergence(&s, bins, a, b, levels) : INFINITY;
        if (now < least)
            least = now, *from = a, *to = b;
    }
}
