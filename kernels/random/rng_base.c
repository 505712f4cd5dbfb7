/* Random number loops, base build, and the logarithm and exponential for single calls: see rng_isa.tmpl.h. */
#define RNG_TABLE rng_base
#include "kernels/random/rng_isa.tmpl.h"

double rng_log(double x)
{
    return plain_log(x);
}

double rng_exp(double x)
{
    return plain_exp(x);
}
