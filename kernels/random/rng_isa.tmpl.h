/* The loops of rng.h for one instruction set: plain C over lanes that every compiler turns
 * into vectors, no operation whose last bit could depend on the machine (no fma, no libm).
 * Included by rng_base.c, rng_avx2.c and rng_avx512.c, which set RNG_TABLE. */
#include "kernels/random/rng.h"
#include <math.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u

/* Words live in 64-bit lanes whose upper halves are never looked at: the products take the
 * lower halves, and what the shifts and exclusive ors leave above does no harm. */
#if defined(__AVX512F__)
#define WIDTH 8
typedef uint64_t Wide __attribute__((vector_size(64)));
typedef uint32_t Narrow __attribute__((vector_size(32)));
#define PRODUCT(a, b) (Wide)_mm512_mul_epu32((__m512i)(a), (__m512i)(b))
#elif defined(__AVX2__)
#define WIDTH 4
typedef uint64_t Wide __attribute__((vector_size(32)));
typedef uint32_t Narrow __attribute__((vector_size(16)));
#define PRODUCT(a, b) (Wide)_mm256_mul_epu32((__m256i)(a), (__m256i)(b))
#else
#define WIDTH 4
typedef uint64_t Wide __attribute__((vector_size(32)));
typedef uint32_t Narrow __attribute__((vector_size(16)));
#define PRODUCT(a, b) (((a) & 0xffffffffu) * (b))
#endif
enum { VECTORS = RNG_LANES / WIDTH };

static void store_words(uint32_t *out, const Wide *x)
{
    for (int v = 0; v < VECTORS; v++) {
        Narrow n = __builtin_convertvector(x[v], Narrow);
        memcpy(out + v * WIDTH, &n, sizeof n);
    }
}

static void blocks(uint32_t *out, uint64_t key, uint64_t stream, uint64_t counter, int64_t count)
{
    static const uint64_t step[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    Wide steps;
    memcpy(&steps, step, sizeof steps);
    const Wide zero = { 0 }, m0 = zero + PHILOX_M0, m1 = zero + PHILOX_M1;
    for (int64_t b = 0; b < count; b += RNG_LANES) {
        Wide x0[VECTORS], x1[VECTORS], x2[VECTORS], x3[VECTORS];
        uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
        for (int v = 0; v < VECTORS; v++) {
            x0[v] = zero + (counter + (uint64_t)b + (uint64_t)(v * WIDTH)) + steps;
            x1[v] = x0[v] >> 32;
            x2[v] = zero + stream;
            x3[v] = zero + (stream >> 32);
        }
        for (int round = 0; round < 10; round++) {
            for (int v = 0; v < VECTORS; v++) {
                Wide p0 = PRODUCT(x0[v], m0), p1 = PRODUCT(x2[v], m1);
                x0[v] = (p1 >> 32) ^ x1[v] ^ (zero + k0);
                x2[v] = (p0 >> 32) ^ x3[v] ^ (zero + k1);
                x1[v] = p1;
                x3[v] = p0;
            }
            k0 += PHILOX_W0;
            k1 += PHILOX_W1;
        }
        store_words(out + b, x0);
        store_words(out + count + b, x1);
        store_words(out + 2 * count + b, x2);
        store_words(out + 3 * count + b, x3);
    }
}

/* 53 bits of two words in [0, 1): 27 and 26 bits, each exact as a signed 32-bit int. */
static inline double unit(uint32_t high, uint32_t low)
{
    return ((double)(int32_t)(high >> 5) * 0x1p26 + (double)(int32_t)(low >> 6)) * 0x1p-53;
}

static void uniform(double *out, const uint32_t *words, int64_t count)
{
    const uint32_t *a = words, *b = words + count, *c = b + count, *d = c + count;
    for (int64_t i = 0; i < count; i++) {
        out[2 * i] = unit(a[i], b[i]);
        out[2 * i + 1] = unit(c[i], d[i]);
    }
}

static void uniform_f32(float *out, const uint32_t *words, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        for (int w = 0; w < 4; w++)
            out[4 * i + w] = (float)(int32_t)(words[w * count + i] >> 8) * 0x1p-24f;
}

/* log after fdlibm's e_log.c (Sun 1993), without its branches: x = 2^k (1 + f) with
 * sqrt(2)/2 < 1 + f < sqrt(2). */
static inline double plain_log(double x)
{
    union { double f; uint64_t u; } v = { x };
    uint64_t top = v.u + ((uint64_t)(0x3ff00000 - 0x3fe6a09e) << 32);
    int32_t k = (int32_t)(top >> 52) - 0x3ff;
    v.u = (top & 0x000fffffffffffffull) + ((uint64_t)0x3fe6a09e << 32);
    double f = v.f - 1.0, s = f / (2.0 + f), z = s * s, w = z * z;
    double t1 = w * (3.999999999940941908e-01 + w *
                     (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    double t2 = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 +
                w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    double half = 0.5 * f * f, dk = (double)k;
    return dk * 6.93147180369123816490e-01 -
           ((half - (s * (half + (t1 + t2)) + dk * 1.90821492927058770002e-10)) - f);
}

/* sin and cos of 2 pi u, 0 <= u < 1: the quadrant exactly, then fdlibm's polynomials
 * (k_sin.c, k_cos.c) on [-pi/4, pi/4]. */
static inline void turn(double u, double *sine, double *cosine)
{
    int32_t q = (int32_t)(4.0 * u + 0.5);
    double r = (4.0 * u - (double)q) * 1.57079632679489661923, z = r * r;
    double s = r + r * z * (-1.66666666666666324348e-01 + z * (8.33333333332248946124e-03 +
        z * (-1.98412698298579493134e-04 + z * (2.75573137070700676789e-06 +
        z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))));
    double c = 1.0 -
               (0.5 * z - z * z * (4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 +
        z * (2.48015872894767294178e-05 + z * (-2.75573143513906633035e-07 +
        z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11))))));
    double a = q & 1 ? c : s, b = q & 1 ? s : c;
    *sine = q & 2 ? -a : a;
    *cosine = (q + 1) & 2 ? -b : b;
}

/* Square roots in place; n is a multiple of 8. The library's sqrt may set errno, which would
 * keep the loop scalar. */
static void roots(double *x, int64_t n)
{
#if defined(__AVX512F__)
    for (int64_t i = 0; i < n; i += 8)
        _mm512_storeu_pd(x + i, _mm512_sqrt_pd(_mm512_loadu_pd(x + i)));
#elif defined(__AVX2__)
    for (int64_t i = 0; i < n; i += 4)
        _mm256_storeu_pd(x + i, _mm256_sqrt_pd(_mm256_loadu_pd(x + i)));
#else
    for (int64_t i = 0; i < n; i++)
        x[i] = sqrt(x[i]);
#endif
}

/* Box and Muller: two uniform numbers, the first in (0, 1], give two normal ones. */
static void normal(double *out, const uint32_t *words, int64_t count)
{
    double radius[RNG_LANES * 4], sine[RNG_LANES * 4], cosine[RNG_LANES * 4];
    for (int64_t from = 0; from < count; from += RNG_LANES * 4) {
        int64_t n = count - from < RNG_LANES * 4 ? count - from : RNG_LANES * 4;
        const uint32_t *a = words + from, *b = a + count, *c = b + count, *d = c + count;
        for (int64_t i = 0; i < n; i++)
            radius[i] = -2.0 * plain_log(1.0 - unit(a[i], b[i]));
        roots(radius, n);
        for (int64_t i = 0; i < n; i++)
            turn(unit(c[i], d[i]), &sine[i], &cosine[i]);
        for (int64_t i = 0; i < n; i++) {
            out[2 * (from + i)] = radius[i] * cosine[i];
            out[2 * (from + i) + 1] = radius[i] * sine[i];
        }
    }
}

/* -log of a uniform number in (0, 1]. */
static void exponential(double *out, const uint32_t *words, int64_t count)
{
    const uint32_t *a = words, *b = words + count, *c = b + count, *d = c + count;
    for (int64_t i = 0; i < count; i++) {
        out[2 * i] = 0.0 - plain_log(1.0 - unit(a[i], b[i]));
        out[2 * i + 1] = 0.0 - plain_log(1.0 - unit(c[i], d[i]));
    }
}

static inline double two_to(int32_t k)
{
    union { uint64_t u; double f; } v = { (uint64_t)(int64_t)(k + 1023) << 52 };
    return v.f;
}

/* exp after fdlibm's e_exp.c: x = k log 2 + r with |r| <= log(2)/2. The power of two is multiplied
 * in by halves, so that what lies at the ends of the range is rounded once. */
static inline double plain_exp(double x)
{
    x = x < -800.0 ? -800.0 : x > 800.0 ? 800.0 : x;
    int32_t k = (int32_t)(x * 1.44269504088896338700 + (x < 0.0 ? -0.5 : 0.5));
    double dk = (double)k, high = x - dk * 6.93147180369123816490e-01,
           low = dk * 1.90821492927058770002e-10, r = high - low, t = r * r;
    double c = r - t * (1.66666666666666019037e-01 + t * (-2.77777777770155933842e-03 +
               t * (6.61375632143793436117e-05 + t * (-1.65339022054652515390e-06 +
               t * 4.13813679705723846039e-08))));
    double y = 1.0 - ((low - r * c / (2.0 - c)) - high);
    int32_t half = k / 2;
    return y * two_to(half) * two_to(k - half);
}

static void powers(double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = plain_exp(x[i]);
}

const RngKernels RNG_TABLE = { blocks, uniform, uniform_f32, normal, exponential, powers };
