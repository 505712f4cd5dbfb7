/* Primes below 2^63: a test that is certain, factors, all of them up to a bound. */
#ifndef RICCI_KERNELS_PRIMES_H
#define RICCI_KERNELS_PRIMES_H

#include "core/base/ctx.h"

#include <stdbool.h>
#include <stdint.h>

/* By Miller and Rabin to the bases up to 37, which is certain below 3.3 10^24 (J. Sorenson,
 * J. Webster, Math. Comp. 86, 2017). */
bool prime_is(int64_t n);
/* The prime factors of n >= 1 in rising order, as often as each divides it; how many. Small ones by
 * division, the rest by Pollard's rho as R. Brent has it (BIT 20, 1980). */
enum { PRIME_FACTORS = 64 };
int prime_factors(int64_t n, int64_t out[PRIME_FACTORS]);
int64_t greatest_divisor(int64_t a, int64_t b);          /* >= 0; INT64_MIN is its own negative */
/* Eratosthenes' sieve of the odd numbers up to n: bit i stands for 2 i + 1, set where it is
 * composite. `bits` has n / 128 + 1 words of zeros. Stops where the interrupt is set; how many
 * primes there are up to n. */
int64_t prime_sieve(Ctx *, int64_t n, uint64_t *bits);

#endif
