/* Random number loops, avx512 build: see rng_isa.tmpl.h. Only rng.c reads the table. */
#define RNG_TABLE rng_avx512
#include "kernels/random/rng_isa.tmpl.h"
