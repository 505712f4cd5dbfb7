/* Random number loops, base build, and the logarithm for single calls: see rng_isa.tmpl.h. */
#define RNG_TABLE rng_base
#include "kernels/random/rng_isa.tmpl.h"

double rng_log(double x)
{
    return plain_log(x);
}
