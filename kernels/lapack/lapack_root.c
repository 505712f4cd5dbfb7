/* Square root and logarithm of upper triangular matrices, in f64 and c128: all that the Schur
 * method needs. The recursion turns nearly all work into gemm. Must not raise or allocate. */
#include "kernels/lapack/lapack_functions.h"

#include <math.h>
#include <string.h>

typedef double _Complex Cx;

enum { SMALL = 48 };         /* below this order plain loops; three such blocks fit the L2 cache */

/* C -= A B on blocks of matrices with one leading dimension. */
static void subtract_product(const Blas *l, BlasType t, int64_t m, int64_t n, int64_t k,
                             const void *a, const void *b, void *c, int64_t ld)
{
    int mi = (int)m, ni = (int)n, ki = (int)k, ldi = (int)ld;
    l->gemm[t]("N", "N", &mi, &ni, &ki, blas_minus_one(t), a, &ldi, b, &ldi, blas_one(t), c, &ldi,
               1, 1);
}

/* The root with argument in (-pi/2, pi/2]: a negative real number counts as one on the
 * upper side of the cut, whatever the sign of its zero. */
static Cx principal_root(Cx x)
{
    double re = creal(x);
    if (cimag(x) != 0)
        return csqrt(x);
    return re < 0 ? complex_of(0.0, sqrt(-re)) : sqrt(re);
}

static Cx principal_log(Cx x)
{
    double re = creal(x);
    if (cimag(x) != 0)
        return clog(x);
    return re < 0 ? complex_of(log(-re), M_PI) : log(re);
}

#define NAME(x) real_##x
#define T double
#define TYPE BLAS_D
#define ROOT(x) sqrt(x)
#define SIZE(x) fabs(x)
#define IS_COMPLEX 0
#include "kernels/lapack/lapack_root.tmpl.h"
#undef NAME
#undef T
#undef TYPE
#undef ROOT
#undef SIZE
#undef IS_COMPLEX

#define NAME(x) complex_##x
#define T Cx
#define TYPE BLAS_Z
#define ROOT(x) principal_root(x)
#define SIZE(x) cabs(x)
#define IS_COMPLEX 1
#include "kernels/lapack/lapack_root.tmpl.h"

bool triangle_sqrt(const Blas *l, BlasType type, int64_t n, void *t, double tiny)
{
    return blas_is_complex(type) ? complex_root(l, n, t, n, tiny) : real_root(l, n, t, n, tiny);
}

/* ---- logarithm ----
 * Al-Mohy and Higham, "Improved inverse scaling and squaring algorithms for the matrix
 * logarithm", SIAM J. Sci. Comput. 34 (2012), algorithm 4.1: square roots until the matrix
 * is near I, then the diagonal Padé approximant as a sum of partial fractions. */
typedef struct Log {
    const Blas *l;
    BlasType type;
    int64_t n;
    char *t;                 /* T, then its roots, then their difference to I */
    Cx *diagonal, *above;    /* of the first T */
    char *sum, *term, *shifted, *vectors;
    int *sign;
    int roots;               /* how many were taken */
    InterruptFlag *interrupt;
} Log;

static Cx entry(BlasType t, const void *m, int64_t i)
{
    return blas_is_complex(t) ? ((const Cx *)m)[i] : ((const double *)m)[i];
}

static void add_to_diagonal(const Log *g, char *m, double c)
{
    for (int64_t i = 0; i < g->n; i++) {
        Cx x = entry(g->type, m, i * (g->n + 1)) + c;
        mat_store(g->type, m, i * (g->n + 1), creal(x), cimag(x));
    }
}

typedef struct Power { const Log *g; int p; } Power;

static void apply_power(void *how, void *x, bool transposed)
{
    const Power *power = how;
    const Log *g = power->g;
    int n = (int)g->n, one = 1;
    const char *trans = !transposed ? "N" : blas_is_complex(g->type) ? "C" : "T";
    for (int k = 0; k < power->p; k++)
        g->l->trmv[g->type]("U", trans, "N", &n, g->t, &n, x, &one, 1, 1, 1);
}

/* |(T - I)^p|^(1/p), with T - I in place. */
static double power_norm(Log *g, int p)
{
    Power power = { g, p };
    NormEstimate e = { g->l, g->type, g->n, g->vectors,
                       g->vectors + (size_t)g->n * blas_bytes(g->type), g->sign, apply_power,
                       &power };
    return pow(lapack_norm1_estimate(&e), 1.0 / p);
}

/* Up to which size of T - I the approximant of degree m = 1, 2, … is good to f64. */
static const double log_limit[] = {
    1.59e-5, 2.31e-3, 1.94e-2, 6.21e-2, 1.28e-1, 2.06e-1, 2.88e-1
};

/* The least degree from `low` on that is good for `size`; 8 if none is. */
static int log_degree(double size, int low)
{
    int m = low;
    while (m < 8 && !(size <= log_limit[m - 1]))
        m++;
    return m;
}

static bool take_root(Log *g)
{
    g->roots++;
    return triangle_sqrt(g->l, g->type, g->n, g->t, 0);
}

/* Roots of the diagonal alone say how many the matrix needs at least. */
static int first_roots(const Log *g)
{
    int needed = 0;
    for (int64_t i = 0; i < g->n; i++) {
        Cx x = g->diagonal[i];
        int count = 0;
        while (cabs(x - 1) > log_limit[6] && count < 100) {
            x = principal_root(x);
            count++;
        }
        needed = count > needed ? count : needed;
    }
    return needed;
}

/* The degree for T - I (in place) or 0: take another root. */
static int degree_here(Log *g, int least_roots, int *tries)
{
    double d3 = power_norm(g, 3), d4, d2 = power_norm(g, 2);
    if (g->roots == least_roots && log_degree(fmax(d2, d3), 1) <= 2)
        return log_degree(fmax(d2, d3), 1);
    d4 = power_norm(g, 4);
    double near = fmax(d3, d4);
    if (near <= log_limit[6]) {
        int m = log_degree(near, 3);
        if (m <= 6)
            return m;
        if (near / 2 <= log_limit[4] && *tries < 2) {
            (*tries)++;
            return 0;
        }
    }
    double size = fmin(near, fmax(d4, power_norm(g, 5)));
    return size <= log_limit[6] ? log_degree(size, 6) : 0;
}

/* ---- exact diagonals ---- */
/* x^(1/2^k) - 1 without cancellation (Al-Mohy, Numer. Algorithms 59 (2012), algorithm 2). */
static Cx root_minus_one(Cx x, int k)
{
    if (k == 0)
        return x - 1;
    if (fabs(carg(x)) >= M_PI / 2) {
        x = principal_root(x);
        k--;
    }
    Cx rest = x - 1, divisor = 1;
    for (int j = 0; j < k; j++) {
        x = principal_root(x);
        divisor *= 1 + x;
    }
    return rest / divisor;
}

/* How often the logarithm's imaginary part has wrapped around. */
static double unwinding(Cx z)
{
    return ceil((cimag(z) - M_PI) / (2 * M_PI));
}

/* The element above the diagonal of [a, x; 0, b]^p (Higham and Lin, SIAM J. Matrix Anal.
 * Appl. 32 (2011), (5.6)), and of its logarithm (p = 0; Higham, Functions of Matrices,
 * (11.28)). Halves and early quotients keep the whole range of f64 usable. */
static Cx above_diagonal(Cx a, Cx b, Cx x, double p)
{
    Cx la = principal_log(a), lb = principal_log(b), half = b / 2 - a / 2, mean = a / 2 + b / 2;
    if (x == 0)
        return 0;
    if (a == b)
        return p == 0 ? x / a : p * cexp(p * la) * (x / a);
    if (2 * cabs(half) > cabs(mean))
        return (x / (2 * half)) * (p == 0 ? lb - la : cexp(p * lb) - cexp(p * la));
    Cx w = catanh(half / mean) + complex_of(0, M_PI * unwinding(lb - la));
    return (x / half) * (p == 0 ? w : cexp(p / 2 * (la + lb)) * csinh(p * w));
}

/* Repeated roots lose digits of the diagonal and of the one above; both have formulas. */
static void exact_roots(Log *g)
{
    double p = ldexp(1, -g->roots);
    for (int64_t i = 0; i < g->n; i++) {
        Cx x = root_minus_one(g->diagonal[i], g->roots);
        mat_store(g->type, g->t, i * (g->n + 1), creal(x), cimag(x));
        if (i + 1 < g->n) {
            x = above_diagonal(g->diagonal[i], g->diagonal[i + 1], g->above[i], p);
            mat_store(g->type, g->t, (i + 1) * g->n + i, creal(x), cimag(x));
        }
    }
}

static void exact_logs(Log *g, char *x)
{
    for (int64_t i = 0; i < g->n; i++) {
        Cx v = principal_log(g->diagonal[i]);
        mat_store(g->type, x, i * (g->n + 1), creal(v), cimag(v));
        if (i + 1 < g->n) {
            v = above_diagonal(g->diagonal[i], g->diagonal[i + 1], g->above[i], 0);
            mat_store(g->type, x, (i + 1) * g->n + i, creal(v), cimag(v));
        }
    }
}

/* ---- the approximant ---- */
/* Node and weight i of the m-point Gauss-Legendre rule on [0, 1], by Newton's iteration. */
static void gauss_legendre(int m, int i, double *node, double *weight)
{
    double x = cos(M_PI * (i + 0.75) / (m + 0.5)), slope = 1;
    for (int step = 0; step < 50; step++) {
        double p = 1, q = 0;
        for (int k = 1; k <= m; k++) {
            double r = ((2 * k - 1) * x * p - (k - 1) * q) / k;
            q = p;
            p = r;
        }
        slope = m * (x * p - q) / (x * x - 1);
        double move = p / slope;
        x -= move;
        if (fabs(move) < 1e-16)
            break;
    }
    *node = (1 + x) / 2;
    *weight = 1 / ((1 - x * x) * slope * slope);
}

static void scale_add(const Log *g, double c, const char *x, char *y, bool add)
{
    int64_t parts = g->n * g->n * (blas_is_complex(g->type) ? 2 : 1);
    const double *from = (const double *)(const void *)x;
    double *to = (double *)(void *)y;
    for (int64_t i = 0; i < parts; i++)
        to[i] = add ? to[i] + c * from[i] : c * from[i];
}

/* term := shifted \ term, both upper triangular: a strip of columns needs only the rows
 * down to its own end. */
static void triangle_divide(const Log *g)
{
    enum { STRIP = 96 };
    int n = (int)g->n;
    for (int j = 0; j < n; j += STRIP) {
        int cols = n - j < STRIP ? n - j : STRIP, rows = j + cols;
        g->l->trsm[g->type]("L", "U", "N", "N", &rows, &cols, blas_one(g->type), g->shifted, &n,
                            g->term + (size_t)j * (size_t)n * blas_bytes(g->type), &n, 1, 1, 1, 1);
    }
}

/* sum := sum over the nodes x of w (I + x R) \ R, R = T - I. */
static void partial_fractions(Log *g, int m)
{
    size_t size = (size_t)(g->n * g->n) * blas_bytes(g->type);
    for (int i = 0; i < m && !*g->interrupt; i++) {
        double node, weight;
        gauss_legendre(m, i, &node, &weight);
        scale_add(g, node, g->t, g->shifted, false);
        add_to_diagonal(g, g->shifted, 1);
        memcpy(g->term, g->t, size);
        triangle_divide(g);
        scale_add(g, ldexp(weight, g->roots), g->term, g->sum, i > 0);
    }
}

static void log_scratch(Log *g, Scratch *s)
{
    size_t n = (size_t)g->n, bytes = blas_bytes(g->type);
    g->diagonal = scratch_take(s, n, sizeof(Cx));
    g->above = scratch_take(s, n, sizeof(Cx));
    g->sum = scratch_take(s, n * n + n, bytes);
    g->term = scratch_take(s, n * n + n, bytes);
    g->shifted = scratch_take(s, n * n + n, bytes);
    g->vectors = scratch_take(s, 2 * n, bytes);
    g->sign = scratch_take(s, n, sizeof(int));
}

/* False if a root fails. Leaves T - I in place of T. */
static bool log_roots(Log *g, int *degree)
{
    int least_roots = first_roots(g), tries = 0;
    while (g->roots < least_roots && !*g->interrupt)
        if (!take_root(g))
            return false;
    for (;;) {
        add_to_diagonal(g, g->t, -1);
        *degree = degree_here(g, least_roots, &tries);
        if (*degree > 0 || g->roots >= 200 || *g->interrupt)
            break;
        add_to_diagonal(g, g->t, 1);
        if (!take_root(g))
            return false;
    }
    *degree = *degree ? *degree : 7;
    return true;
}

bool triangle_log(const Blas *l, BlasType type, int64_t n, void *t, Scratch *s,
                  InterruptFlag *interrupt)
{
    Log g = { .l = l, .type = type, .n = n, .t = t, .interrupt = interrupt };
    int degree;
    log_scratch(&g, s);
    if (!s->base || n == 0)
        return true;
    for (int64_t i = 0; i < n; i++) {
        g.diagonal[i] = entry(type, t, i * (n + 1));
        if (i + 1 < n)
            g.above[i] = entry(type, t, (i + 1) * n + i);
    }
    if (!log_roots(&g, &degree))
        return false;
    exact_roots(&g);
    partial_fractions(&g, degree);
    exact_logs(&g, g.sum);
    memcpy(t, g.sum, (size_t)(n * n) * blas_bytes(type));
    return true;
}
