/* Random operands of tests/unit/ulp*.c: a run of the usual length always has the same, RICCI_SOAK=n
 * takes n times as many, other ones each time unless RICCI_SEED says which. The seed is printed. */
#ifndef RICCI_TESTS_UNIT_ULP_RANDOM_H
#define RICCI_TESTS_UNIT_ULP_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t ulp_state;

/* Gives how many times as many operands are wanted. */
static int ulp_random_start(void)
{
    const char *soak = getenv("RICCI_SOAK"), *seed = getenv("RICCI_SEED");
    ulp_state = seed ? strtoull(seed, NULL, 10) : soak ? (uint64_t)time(NULL) : 17;
    printf("seed %llu\n", (unsigned long long)ulp_state);
    return soak && atoi(soak) > 0 ? atoi(soak) : 1;
}

/* splitmix64 */
static uint64_t ulp_random(void)
{
    uint64_t z = ulp_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int ulp_below(int n) { return (int)(ulp_random() % (uint64_t)n); }

/* In [-1, 1). */
static double ulp_uniform(void) { return (double)(ulp_random() >> 11) * 0x1p-52 - 1; }

#endif
