/* The secular equation on the pool (secular.h), by the kernels of this processor. */
#define SECULAR_TABLE secular_base
#include "kernels/spectral/secular_isa.tmpl.h"

#include "core/memory/pool.h"
#include "kernels/tensor/cpu.h"

typedef struct Job {
    const Secular *s;
    const SecularKernels *kernels;
    _Atomic bool lost;
} Job;

static const SecularKernels *kernels_of(BlasType t)
{
#if defined(__x86_64__) || defined(__i386__)
    if (cpu_isa() >= ISA_AVX512)
        return &secular_avx512[t];
    if (cpu_isa() >= ISA_AVX2)
        return &secular_avx2[t];
#endif
    return &secular_base[t];
}

static void pad(const Secular *s)
{
    int64_t k = s->k;
    for (int64_t i = 0; i < s->ld; i++)
        if (s->type == BLAS_S) {
            float *d = s->d, *z = s->z, *z2 = s->z2;
            d[i] = i < k ? d[i] : fabsf(d[k - 1]) * 4 + 4;
            z[i] = i < k ? z[i] : 0;
            z2[i] = z[i] * z[i];
        } else {
            double *d = s->d, *z = s->z, *z2 = s->z2;
            d[i] = i < k ? d[i] : fabs(d[k - 1]) * 4 + 4;
            z[i] = i < k ? z[i] : 0;
            z2[i] = z[i] * z[i];
        }
}

static void find(void *arg, int64_t from, int64_t to, int worker)
{
    (void)worker;
    Job *j = arg;
    if (!j->kernels->roots(j->s, from, to))
        j->lost = true;
}

static void weigh(void *arg, int64_t from, int64_t to, int worker)
{
    (void)worker;
    Job *j = arg;
    int64_t last = to * SECULAR_LANES;
    j->kernels->weights(j->s, from * SECULAR_LANES, last < j->s->k ? last : j->s->k);
}

static void make(void *arg, int64_t from, int64_t to, int worker)
{
    Job *j = arg;
    char *room = j->s->room;
    j->kernels->vectors(j->s, from, to,
                        room + (size_t)worker * (size_t)j->s->ld * blas_bytes(j->s->type));
}

bool secular_solve(Ctx *ctx, Secular *s)
{
    enum { WORTH = 1 << 14 };       /* elements of q for which a second worker pays */
    Job job = { s, kernels_of(s->type), false };
    int64_t grain = WORTH / s->ld + 1;
    pad(s);
    pool_for(ctx, s->k, grain, find, &job);
    if (!s->q)
        return !job.lost;
    pool_for(ctx, s->ld / SECULAR_LANES, grain / SECULAR_LANES + 1, weigh, &job);
    pool_for(ctx, s->k, grain, make, &job);
    return !job.lost;
}
