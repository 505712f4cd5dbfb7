/* Random number loops, base build; the logarithm and exponential of single numbers: see
 * rng_isa.tmpl.h. */
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
