/* What the pair engine's parts cost on one thread, for choosing among them: FLOPs and bytes a
 * second, and seconds per element, as PairRates names them. With AVX-512 as measured on one such
 * machine (Zen 5), else estimates; only their ratios matter. What `ricci --calibrate` measured on
 * this machine takes their place. */
#include "kernels/pair/contract_pair_ways.h"
#include "kernels/pair/rates.h"
#include "kernels/tensor/cpu.h"

#include <math.h>
#include <pthread.h>

static const PairRates rates[BLAS_TYPES] = {
    [BLAS_S] = { 92e9, 100e9, 0.10e-9, 0.20e-9, 0.6e-9, 0.15e-9, 0.9e-9 },
    [BLAS_D] = { 46e9, 50e9, 0.20e-9, 0.35e-9, 0.7e-9, 0.25e-9, 1.0e-9 },
    [BLAS_C] = { 92e9, 96e9, 0.8e-9, 0.8e-9, 0.9e-9, 0.3e-9, 1.2e-9 },
    [BLAS_Z] = { 46e9, 48e9, 1.0e-9, 1.0e-9, 1.1e-9, 0.5e-9, 1.4e-9 }
};
static const PairRates wide_rates[BLAS_TYPES] = {
    [BLAS_S] = { 210e9, 225e9, 0.08e-9, 0.15e-9, 0.5e-9, 0.10e-9, 0.7e-9 },
    [BLAS_D] = { 105e9, 110e9, 0.15e-9, 0.25e-9, 0.6e-9, 0.15e-9, 0.8e-9 },
    [BLAS_C] = { 200e9, 210e9, 0.5e-9, 0.5e-9, 0.7e-9, 0.2e-9, 1.0e-9 },
    [BLAS_Z] = { 100e9, 105e9, 0.7e-9, 0.7e-9, 0.9e-9, 0.3e-9, 1.1e-9 }
};
static const double MEMORY = 11e9;          /* bytes per second, one thread */
static const double CACHE = 60e9;
static const double CACHE_BYTES = 8 << 20;

/* What holds here, settled once: estimates, or what was measured. */
typedef struct Here {
    PairRates rate[BLAS_TYPES];
    double windows[BLAS_TYPES], memory;
} Here;
static Here here;
static pthread_once_t here_once = PTHREAD_ONCE_INIT;

/* Complex products run on the real kernels and a library's do alike, so that they are as much
 * faster; so are stores, as memory is. */
static void take(const Calibration *c, BlasType type)
{
    bool narrow = type == BLAS_S || type == BLAS_C;
    const RealRates *r = &c->real[narrow ? 0 : 1];
    PairRates *x = &here.rate[type], real = here.rate[narrow ? BLAS_S : BLAS_D];
    double slower = MEMORY / c->memory;
    x->flops *= r->block / real.flops;
    x->blas *= (r->blas > 0 ? r->blas : real.blas * r->block / real.flops) / real.blas;
    x->unit *= r->unit / real.unit;
    x->turned *= r->turned / real.turned;
    x->gather *= r->gather / real.gather;
    x->store *= slower;
    x->scatter *= slower;
    here.windows[type] = r->windows;
}

static void settle(void)
{
    static const BlasType order[] = { BLAS_C, BLAS_Z, BLAS_S, BLAS_D };     /* reals last */
    const Calibration *c = calibration_kept();
    for (int i = 0; i < BLAS_TYPES; i++) {
        here.rate[i] = (cpu_isa() == ISA_AVX512 ? wide_rates : rates)[i];
        here.windows[i] = 1;
    }
    for (size_t i = 0; c && i < sizeof order / sizeof *order; i++)
        take(c, order[i]);
    here.memory = c ? c->memory : MEMORY;
}

const PairRates *pair_rates(DType dt)
{
    pthread_once(&here_once, settle);
    return &here.rate[blas_type(dt)];
}

double pair_windows_rate(DType dt)
{
    BlasType type = blas_type(dt);
    pthread_once(&here_once, settle);
    return type == BLAS_TYPES ? 1 : here.windows[type];
}

/* Elements of a tensor that are read at all: windows that overlap have many positions in few. */
static double touched(const PairForm *f, int tensor)
{
    double span = 1;
    for (int d = 0; d < f->axes; d++)
        span += (double)(f->axis[d].extent - 1) * fabs((double)f->axis[d].step[tensor]);
    return fmin(span, pair_form_size(f, tensor));
}

double pair_memory_seconds(const PairForm *f)
{
    double bytes = 0;
    pthread_once(&here_once, settle);
    for (int t = 0; t < PAIR_TENSORS; t++)
        bytes += touched(f, t) * dtype_info(f->dtype)->bytes;
    return bytes / (bytes > CACHE_BYTES ? here.memory : CACHE);
}
