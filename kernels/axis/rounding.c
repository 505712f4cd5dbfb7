/* Rounding to digits: see rounding.h. The product with a power of ten is rounded, as NumPy
 * does; where it is too large to have a fraction, x has none at that digit either. */
#include "kernels/axis/rounding.h"
#include "core/memory/pool.h"
#include "kernels/cast/tensor_cast.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

static double power_of_ten(int digits)
{
    return pow(10, abs(digits));
}

static inline double round_by(double x, double power, bool behind)
{
    double scaled = behind ? x * power : x / power;
    if (!(fabs(scaled) < 0x1p52))
        return x;
    return behind ? rint(scaled) / power : isinf(power) ? copysign(0, x) : rint(scaled) * power;
}

double rounding_f64(double x, int digits)
{
    return round_by(x, power_of_ten(digits), digits >= 0);
}

/* The nearest multiple of 10^digits. */
static __int128 round_whole(int64_t x, int digits)
{
    if (digits > 19)
        return 0;
    __int128 power = 1, half, rest;
    for (int i = 0; i < digits; i++)
        power *= 10;
    half = power / 2;
    __int128 down = x / power;
    rest = x - down * power;
    if (rest < 0) {
        rest += power;
        down--;
    }
    bool up = rest > half || (rest == half && (down & 1));
    return (down + up) * power;
}

typedef struct Job {
    DType dt;
    const char *x;
    char *out;
    int digits;
    double power;
    atomic_bool bad;
} Job;

static bool store_whole(DType dt, void *out, int64_t i, __int128 v)
{
    char *to = (char *)out + i * dtype_info(dt)->bytes;
    return dtype_store_int(dt, to, (int64_t)v) && v == (int64_t)v;
}

static void round_part(void *arg, int64_t begin, int64_t end, int worker)
{
    Job *job = arg;
    bool behind = job->digits >= 0;
    (void)worker;
    if (job->dt == DT_F64) {
        for (int64_t i = begin; i < end; i++)
            ((double *)job->out)[i] = round_by(((const double *)job->x)[i], job->power, behind);
    } else if (job->dt == DT_F32) {
        for (int64_t i = begin; i < end; i++)
            ((float *)job->out)[i] = (float)round_by((double)((const float *)job->x)[i], job->power,
                                                     behind);
    } else {
        size_t bytes = dtype_info(job->dt)->bytes;
        for (int64_t i = begin; i < end; i++)
            if (!store_whole(
                    job->dt, job->out, i,
                    round_whole(element_i64(job->dt, job->x + (size_t)i * bytes), -job->digits)))
                atomic_store(&job->bad, true);
    }
}

bool rounding_run(Ctx *ctx, DType dt, const void *x, int64_t n, int digits, void *out)
{
    Job job = { .dt = dt, .x = x, .out = out, .digits = digits, .power = power_of_ten(digits) };
    pool_for(ctx, n, 1 << 14, round_part, &job);
    return !atomic_load(&job.bad);
}
