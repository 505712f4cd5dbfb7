/* Random number loops, avx2 build: see rng_isa.tmpl.h. Only rng.c reads the table. */
#define RNG_TABLE rng_avx2
#include "kernels/random/rng_isa.tmpl.h"
