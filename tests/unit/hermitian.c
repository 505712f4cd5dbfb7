/* The look for symmetry that copies on the way: every element counts, at every size, in every
 * type and layout; and both sets of kernels see the same. */
#include "check.h"

#include "kernels/tensor/cpu.h"
#include "kernels/lapack/hermitian.h"

#include <math.h>
#include <stdlib.h>

enum { MOST = 75, PAD = 3 };
static const int sizes[] = { 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 40, 47, 64, 71, 75 };

/* A matrix with room for odd strides, in which every layout has its own elements. */
typedef struct Sample {
    BlasType t;
    int64_t n;
    Mat a;
    char *room;
} Sample;

static BlasType real_of(BlasType t) { return t == BLAS_S || t == BLAS_C ? BLAS_S : BLAS_D; }
static int parts(BlasType t) { return blas_is_complex(t) ? 2 : 1; }
static int64_t at(const Sample *s, int64_t i, int64_t j) { return i * s->a.rs + j * s->a.cs; }

static double part_of(const Sample *s, int64_t i, int64_t j, int p)
{
    return mat_real(real_of(s->t), s->a.data, at(s, i, j) * parts(s->t) + p);
}

static void set_part(const Sample *s, int64_t i, int64_t j, int p, double v)
{
    mat_store(real_of(s->t), s->a.data, at(s, i, j) * parts(s->t) + p, v, 0);
}

static Sample sample(BlasType t, int64_t n, int layout)
{
    int64_t ld = layout % 2 ? n + PAD : n;
    Sample s = { t, n, { NULL, ld, 1 }, calloc((size_t)(3 * (n + PAD) * (n + PAD)), 16) };
    s.a.data = s.room + 2 * ld * n * (layout == 4) * (int64_t)blas_bytes(t);
    if (layout >= 2)
        s.a = (Mat){ s.a.data, 1, ld };
    if (layout == 4 && n > 1)
        s.a = (Mat){ s.a.data, -ld, 1 };              /* rows from the last to the first */
    if (layout == 5)
        s.a = (Mat){ s.a.data, 2, 2 * ld };
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++)
            for (int p = 0; p < parts(t); p++) {
                double v = i == j && p ? 0 : check_uniform();
                set_part(&s, i, j, p, v);
                set_part(&s, j, i, p, p ? -v : v);
            }
    return s;
}

static bool taken_as_copied(const Sample *s)
{
    size_t bytes = (size_t)(s->n * s->n) * blas_bytes(s->t);
    char *x = calloc(bytes + 1, 1), *y = calloc(bytes + 1, 1);
    bool finite = false;
    mat_copy_lower(s->t, s->n, s->a, x, false);
    bool same = mat_take_hermitian(s->t, s->n, s->a, y, &finite) && finite;
    for (int64_t j = 0; j < s->n && same; j++)      /* above the diagonal it may be anything */
        same = !memcmp(x + (size_t)(j * (s->n + 1)) * blas_bytes(s->t),
                       y + (size_t)(j * (s->n + 1)) * blas_bytes(s->t),
                       (size_t)(s->n - j) * blas_bytes(s->t));
    free(x), free(y);
    return same;
}

/* One part of one element with another value: is it still seen as Hermitian, and finite? */
static HermitianSeen seen_with(const Sample *s, int64_t i, int64_t j, int p, double v)
{
    double kept = part_of(s, i, j, p);
    HermitianSeen seen = { false, false };
    set_part(s, i, j, p, v);
    seen.equal = mat_take_hermitian(s->t, s->n, s->a, NULL, &seen.finite);
    set_part(s, i, j, p, kept);
    return seen;
}

static void every_position(const Sample *s)
{
    int wrong = 0;
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t j = 0; j < s->n; j++)
            for (int p = 0; p < parts(s->t); p++) {
                bool free_one = i == j && p == 0;        /* the real diagonal may be anything */
                double v = part_of(s, i, j, p);
                wrong += seen_with(s, i, j, p, v + 0.25).equal != free_one;
                wrong += seen_with(s, i, j, p, (double)NAN).equal;
                HermitianSeen infinite = seen_with(s, i, j, p, (double)INFINITY);
                wrong += infinite.equal != free_one || (free_one && infinite.finite);
            }
    check_that(wrong == 0, "one element differs", __FILE__, (int)s->n);
}

/* How far from symmetric, against pair by pair; the lower half is copied, whatever the layout. */
static void asymmetry_of(const Sample *s)
{
    size_t bytes = blas_bytes(s->t);
    char *to = calloc((size_t)(s->n * s->n) + 1, bytes);
    double top = 0, gap = 0;
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t j = 0; j < s->n; j++) {
            double v = mat_abs(s->t, s->a.data, at(s, i, j));
            double g = mat_gap(s->t, s->a.data, at(s, i, j), at(s, j, i));
            top = v > top ? v : top;
            gap = g > gap ? g : gap;
        }
    Asymmetry seen = mat_asymmetry(s->t, s->n, s->a, to);
    CHECK(seen.finite && seen.top == top && fabs(seen.gap - gap) <= mat_eps(s->t) * gap);
    bool same = true;
    for (int64_t j = 0; j < s->n; j++)
        for (int64_t i = j; i < s->n; i++)
            same &= !memcmp(to + (size_t)(j * s->n + i) * bytes,
                            s->a.data + at(s, i, j) * (int64_t)bytes, bytes);
    CHECK(same);
    free(to);
}

static void asymmetry(const Sample *s)
{
    asymmetry_of(s);
    for (int k = 0; k < 12; k++) {
        int64_t i = (int64_t)(check_random() % (uint64_t)s->n), j = k % 3 ? s->n - 1 : 0;
        double kept = part_of(s, i, j, 0);
        set_part(s, i, j, 0, kept * (k + 2));
        asymmetry_of(s);
        set_part(s, i, j, 0, k % 2 ? (double)NAN : -(double)INFINITY);
        Asymmetry seen = mat_asymmetry(s->t, s->n, s->a, NULL);
        CHECK(!seen.finite && (k % 2 || isinf(seen.top)) && !isnan(seen.top) && !isnan(seen.gap));
        set_part(s, i, j, 0, kept);
    }
}

/* Equal pairs that are not the same bits, or not finite. */
static void pairs(const Sample *s)
{
    for (int k = 0; k < 40 && s->n > 1; k++) {
        int64_t i = (int64_t)(check_random() % (uint64_t)s->n);
        int64_t j = (int64_t)(check_random() % (uint64_t)s->n);
        if (i == j)
            continue;
        double kept = part_of(s, i, j, 0);
        set_part(s, i, j, 0, 0);
        CHECK(seen_with(s, j, i, 0, -0.0).equal);
        set_part(s, i, j, 0, (double)INFINITY);
        HermitianSeen seen = seen_with(s, j, i, 0, (double)INFINITY);
        CHECK(seen.equal && !seen.finite);
        CHECK(!seen_with(s, j, i, 0, -(double)INFINITY).equal);
        set_part(s, i, j, 0, (double)NAN);
        CHECK(!seen_with(s, j, i, 0, (double)NAN).equal);
        set_part(s, i, j, 0, kept);
    }
}

static void rounding_on_the_diagonal(BlasType t)
{
    Sample s = sample(t, 20, 0);
    double eps = mat_eps(t);
    set_part(&s, 13, 13, 0, 3);
    CHECK(seen_with(&s, 13, 13, 1, 6 * eps).equal && !seen_with(&s, 13, 13, 1, 20 * eps).equal);
    free(s.room);
}

/* The kernels of this processor against the plain ones: strips with and without a difference. */
static void kernels_agree(BlasType t)
{
    for (int round = 0; round < 200; round++) {
        Sample s = sample(t, 48, 0);
        if (round % 2)
            set_part(&s, 8 + round % 40, round % 8, 0, round % 4 == 1 ? 2 : (double)NAN);
        char x[2][8 * 48 * 16] = { { 0 } };
        HermitianSeen seen[2];
        for (int k = 0; k < 2; k++) {
            HermitianStrip strip = { s.a.data + 8 * blas_bytes(t),
                                     s.a.data + 8 * 48 * blas_bytes(t), 48, 5, 48,
                                     round % 3 ? x[k] : NULL, blas_is_complex(t) && round % 5 };
            seen[k] = (k ? hermitian_avx2 : hermitian_base)[t](&strip);
        }
        CHECK(seen[0].equal == seen[1].equal && seen[0].equal == (round % 2 == 0));
        CHECK(seen[0].finite == seen[1].finite && !memcmp(x[0], x[1], sizeof x[0]));
        free(s.room);
    }
}

int main(void)
{
    for (BlasType t = BLAS_S; t < BLAS_TYPES; t++) {
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (int layout = 0; layout < 6; layout++) {
                Sample s = sample(t, sizes[k], layout);
                CHECK(taken_as_copied(&s));
                CHECK(mat_is_hermitian(t, s.n, s.a));
                pairs(&s);
                asymmetry(&s);
                if (sizes[k] <= 33 || layout == 1)
                    every_position(&s);
                free(s.room);
            }
        if (blas_is_complex(t))
            rounding_on_the_diagonal(t);
#ifdef __x86_64__
        if (cpu_isa() >= ISA_AVX2)
            kernels_agree(t);
#endif
    }
    CHECK(mat_is_hermitian(BLAS_D, 0, (Mat){ NULL, 1, 1 }));
    return check_result();
}
