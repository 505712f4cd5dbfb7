/* Random numbers of named distributions (draw.c): element i depends on the stream's counter, i and
 * its own parameters alone. What is rejected is drawn again from further streams of the element's
 * own block, so neither threads nor the machine matter, and the arithmetic is rng.h's. */
#ifndef RICCI_KERNELS_RANDOM_DRAW_H
#define RICCI_KERNELS_RANDOM_DRAW_H

#include "kernels/random/rng.h"

typedef enum Distribution {
    DRAW_UNIFORM, DRAW_NORMAL, DRAW_EXPONENTIAL, DRAW_GAMMA, DRAW_BETA, DRAW_LOGNORMAL,
    DRAW_STUDENT, DRAW_POISSON, DRAW_BINOMIAL, DRAW_GEOMETRIC
} Distribution;

enum { DRAW_PARAMETERS = 2 };
typedef struct DrawParameter {
    const double *data;
    bool each;                  /* one for each element; false: one for all */
} DrawParameter;

/* n elements, f64, or i64 from DRAW_POISSON on. The parameters are in their domains. The stream's
 * counter moves past what was used. */
void rng_draw(Ctx *, RngStream *, Distribution, const DrawParameter *, void *out, int64_t n);

enum { RNG_VARIABLES = 4096 };
/* n rows of d <= RNG_VARIABLES numbers, normal with the covariance L L': mean + L z. L is d x d,
 * its columns behind `rank` are none. */
void rng_normal_rows(Ctx *, RngStream *, const double *mean, const double *L, int64_t d,
                     int64_t rank, double *out, int64_t n);
/* L of a positive semidefinite matrix, by Cholesky's method with the largest pivot first: its rank,
 * or -1: it is none. `a` is used up, L gets all d x d. */
int64_t rng_covariance(double *a, double *L, int64_t d);

/* count keys that go their own way: no draw of the stream has the words that they are made of. */
void rng_split(RngStream *, uint64_t *keys, int64_t count);

#endif
