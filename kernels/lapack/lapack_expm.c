/* The matrix exponential by scaling and squaring: Al-Mohy and Higham, "A new scaling and squaring
 * algorithm for the matrix exponential", SIAM J. Matrix Anal. Appl. 31 (2009), algorithms 5.1 and
 * 6.1 (which chooses the scaling by the norms of powers, so that a far from normal matrix is not
 * scaled more than it needs) and code fragment 2.1 (exact diagonals for triangles); also the
 * estimator of norms that it uses. Must not raise or allocate. A set interrupt flag makes products
 * end early: the caller polls. */
#include "kernels/lapack/lapack_functions.h"

#include <math.h>
#include <string.h>

/* |B|_1 by Higham's block-free estimator (LAPACK's xLACN2, by reverse communication). */
double lapack_norm1_estimate(NormEstimate *e)
{
    int n = (int)e->n, kase = 0, isave[3] = { 0 };
    union { float s; double d; } est = { .d = 0 };
    bool narrow = e->type == BLAS_S || e->type == BLAS_C;
    for (;;) {
        if (blas_is_complex(e->type))
            lapack_lacn2c(e->l, e->type, n, e->v, e->x, &est, &kase, isave);
        else
            lapack_lacn2(e->l, e->type, n, e->v, e->x, e->sign, &est, &kase, isave);
        if (!kase)
            return narrow ? (double)est.s : est.d;
        e->apply(e->how, e->x, kase == 2);
    }
}

/* The type's largest Padé degree, and up to which norm of 2^-s A each degree's backward
 * error stays below the unit roundoff. */
typedef struct Degrees {
    int count;
    int degree[5];
    double limit[5], unit, huge;
} Degrees;

static const Degrees degrees_single = {
    3, { 3, 5, 7 },
    { 4.258730016922831e-01, 1.880152677804762e+00, 3.925724783138660e+00 }, 0x1p-24, 1e3
};
static const Degrees degrees_double = {
    5, { 3, 5, 7, 9, 13 },
    { 1.495585217958292e-02, 2.539398330063230e-01, 9.504178996162932e-01,
      2.097847961257068e+00, 4.25 }, 0x1p-53, 1e25
};

typedef struct Expm {
    Ctx *ctx;
    const Blas *l;
    DType dt;
    BlasType t;
    int64_t n;
    size_t bytes;
    const Degrees *degrees;
    char *a, *power[4];      /* A, A^2, A^4, A^6, A^8 */
    int powers;              /* of them that are there */
    char *u, *v, *w;         /* odd and even part, work */
    double *sizes, *x, *y;   /* |a[i, j]|, two vectors */
    char *estimate;          /* two vectors */
    int *pivots, *sign;
    int exponent;            /* a is 2^-exponent times the user's matrix */
} Expm;

static Mat mat_columns_of(const char *data, int64_t n)
{
    return (Mat){ (char *)data, 1, n };
}

static void product(const Expm *e, const char *a, const char *b, char *c)
{
    int64_t n = e->n;
    gemm(e->ctx, e->l, e->dt, n, n, n, mat_columns_of(a, n), mat_columns_of(b, n),
         mat_columns_of(c, n));
}

/* x[i] *= 2^k: exact but for subnormals. */
static void scale_power(BlasType t, int64_t count, char *x, int k)
{
    int64_t parts = blas_is_complex(t) ? 2 * count : count;
    bool narrow = t == BLAS_S || t == BLAS_C;
    for (int64_t i = 0; k && i < parts; i++) {
        if (narrow)
            ((float *)x)[i] = scalbnf(((float *)x)[i], k);
        else
            ((double *)x)[i] = scalbn(((double *)x)[i], k);
    }
}

/* out = sum of c[i] * m[i], by strips that stay in the cache. */
static void combine(const Expm *e, char *out, int terms, const double *c, char *const *m)
{
    enum { STRIP = 1024 };
    int64_t parts = e->n * e->n * (blas_is_complex(e->t) ? 2 : 1);
    bool narrow = e->t == BLAS_S || e->t == BLAS_C;
    for (int64_t from = 0; from < parts; from += STRIP) {
        int64_t len = parts - from < STRIP ? parts - from : STRIP;
        for (int k = 0; k < terms; k++) {
            if (narrow) {
                float *to = (float *)out + from, f = (float)c[k];
                const float *x = (const float *)m[k] + from;
                for (int64_t i = 0; i < len; i++)
                    to[i] = k ? to[i] + f * x[i] : f * x[i];
            } else {
                double *to = (double *)out + from, f = c[k];
                const double *x = (const double *)m[k] + from;
                for (int64_t i = 0; i < len; i++)
                    to[i] = k ? to[i] + f * x[i] : f * x[i];
            }
        }
    }
}

static void add_to_diagonal(const Expm *e, char *m, double c)
{
    int64_t step = (e->n + 1) * (blas_is_complex(e->t) ? 2 : 1);
    for (int64_t i = 0; i < e->n; i++) {
        if (e->t == BLAS_S || e->t == BLAS_C)
            ((float *)m)[i * step] += (float)c;
        else
            ((double *)m)[i * step] += c;
    }
}

static double norm1(const Expm *e, const char *m)
{
    return mat_norm1(e->t, e->n, e->n, mat_columns_of(m, e->n));
}

/* A^(2k), k up to 4, made when first asked for. */
static char *even_power(Expm *e, int k)
{
    for (; e->powers < k; e->powers++)
        product(e, e->powers ? e->power[e->powers - 1] : e->a, e->powers ? e->power[0] : e->a,
                e->power[e->powers]);
    return e->power[k - 1];
}

/* ---- norms ---- */
typedef struct Pair { const Expm *e; const char *first, *second; } Pair;

static void multiply_vector(const Expm *e, const char *m, bool transposed, const char *x, char *y)
{
    int n = (int)e->n, one = 1;
    const char *trans = !transposed ? "N" : blas_is_complex(e->t) ? "C" : "T";
    e->l->gemv[e->t](trans, &n, &n, blas_one(e->t), m, &n, x, &one, blas_zero(e->t), y, &one, 1);
}

static void apply_pair(void *how, void *x, bool transposed)
{
    Pair *p = how;
    multiply_vector(p->e, transposed ? p->first : p->second, transposed, x, p->e->w);
    multiply_vector(p->e, transposed ? p->second : p->first, transposed, p->e->w, x);
}

/* |B C|_1: of small matrices by the product, which is cheaper there, otherwise estimated. */
static double norm_of_product(Expm *e, const char *b, const char *c)
{
    if (e->n <= 48) {
        product(e, b, c, e->u);
        return norm1(e, e->u);
    }
    Pair p = { e, b, c };
    NormEstimate estimate = { e->l, e->t, e->n, e->estimate, e->estimate + (size_t)e->n * e->bytes,
                              e->sign, apply_pair, &p };
    return lapack_norm1_estimate(&estimate);
}

/* log2 of | |A|^p |_1, with a step of scaling so that nothing overflows. */
static double log2_norm_of_magnitudes(Expm *e, int p)
{
    double *x = e->x, *y = e->y, scale = 0;
    int n = (int)e->n, one = 1;
    for (int64_t i = 0; i < e->n; i++)
        x[i] = 1;
    for (int k = 0; k < p; k++) {
        double top = 0;
        e->l->gemv[BLAS_D]("T", &n, &n, blas_one(BLAS_D), e->sizes, &n, x, &one,
                           blas_zero(BLAS_D), y, &one, 1);
        for (int64_t j = 0; j < e->n; j++)
            top = y[j] > top ? y[j] : top;
        if (top == 0)
            return -INFINITY;
        for (int64_t j = 0; j < e->n; j++)
            x[j] = y[j] / top;
        scale += log2(top);
    }
    return scale;
}

/* How many more halvings keep rounding in the Padé numerator harmless: the paper's
 * function ell(2^shift A, m), (5.1). c = (m!)^2 / ((2m)! (2m+1)!). */
static int extra_halvings(Expm *e, int m, int shift)
{
    double log2_c = 0;
    for (int k = 1; k <= m; k++)
        log2_c += 2 * log2(k);
    for (int k = 1; k <= 2 * m; k++)
        log2_c -= 2 * log2(k);
    log2_c -= log2(2 * m + 1);
    double norm = norm1(e, e->a);
    if (norm == 0 || log2_c + 2 * m * (log2(norm) + shift) <= log2(e->degrees->unit))
        return 0;                       /* | |A|^p | is at most |A|^p */
    double log2_alpha = log2_c + log2_norm_of_magnitudes(e, 2 * m + 1) - log2(norm)
                        + 2.0 * m * shift;
    double needed = ceil((log2_alpha - log2(e->degrees->unit)) / (2 * m));
    return needed > 0 ? (int)needed : 0;
}

static double root(double x, int p)
{
    return x == 0 ? 0 : pow(x, 1.0 / p);
}

/* Chooses the degree; returns how many halvings it wants of the user's matrix. */
static int choose_degree(Expm *e, int *degree)
{
    const Degrees *d = e->degrees;
    char *a2 = even_power(e, 1), *a4 = even_power(e, 2);
    double d4 = root(norm1(e, a4), 4), d6 = root(norm_of_product(e, a2, a4), 6);
    double d8 = root(norm_of_product(e, a4, a4), 8);
    double near = fmax(d4, d6), far = fmin(near, fmax(d6, d8));
    for (int i = 0; i < d->count && d->degree[i] < 13; i++) {
        *degree = d->degree[i];
        if (e->exponent == 0 && (i < 2 ? near : far) <= d->limit[i] &&
            extra_halvings(e, *degree, 0) == 0)
            return 0;
    }
    *degree = d->degree[d->count - 1];
    double size = far;
    if (*degree == 13) {
        double d10 = root(norm_of_product(e, a4, even_power(e, 3)), 10);
        size = fmin(size, fmax(d8, d10));
    }
    int halvings = size == 0 ? -e->exponent : (int)ceil(log2(size / d->limit[d->count - 1]));
    if (halvings < -e->exponent)
        halvings = -e->exponent;
    halvings += extra_halvings(e, *degree, -halvings);
    return halvings + e->exponent;
}

/* ---- the approximant ---- */
/* Coefficients of the numerator p(x) = sum b[k] x^k with b[0] = 1, so that a huge nilpotent
 * matrix does not overflow. */
static void pade_coefficients(int m, double *b)
{
    b[0] = 1;
    for (int k = 1; k <= m; k++)
        b[k] = b[k - 1] * (m - k + 1) / (k * (2 * m - k + 1));
}

/* u = A * (odd part), v = even part. Up to degree 9 by the powers, 13 by Horner in A^6. */
static void pade_parts(Expm *e, int m)
{
    double b[14], odd[4], even[4];
    char *p[4];
    pade_coefficients(m, b);
    if (m < 13) {
        int terms = (m - 1) / 2;
        for (int k = 0; k < terms; k++) {
            p[k] = even_power(e, k + 1);
            odd[k] = b[2 * k + 3];
            even[k] = b[2 * k + 2];
        }
        combine(e, e->w, terms, odd, p);
        combine(e, e->v, terms, even, p);
    } else {
        for (int k = 0; k < 3; k++)
            p[k] = even_power(e, k + 1);
        combine(e, e->u, 3, (double[]){ b[9], b[11], b[13] }, p);
        product(e, p[2], e->u, e->w);
        combine(e, e->w, 4, (double[]){ 1, b[3], b[5], b[7] },
                (char *[]){ e->w, p[0], p[1], p[2] });
        combine(e, e->u, 3, (double[]){ b[8], b[10], b[12] }, p);
        product(e, p[2], e->u, e->v);
        combine(e, e->v, 4, (double[]){ 1, b[2], b[4], b[6] },
                (char *[]){ e->v, p[0], p[1], p[2] });
    }
    add_to_diagonal(e, e->w, b[1]);
    add_to_diagonal(e, e->v, b[0]);
    product(e, e->a, e->w, e->u);
}

/* w = (v - u) \ (v + u) */
static int pade_quotient(Expm *e)
{
    char *parts[2] = { e->v, e->u };
    combine(e, e->w, 2, (double[]){ 1, 1 }, parts);
    combine(e, e->v, 2, (double[]){ 1, -1 }, parts);
    lapack_threads(e->ctx, e->l, LAPACK_LU, e->n);      /* gemm has set its own */
    if (lapack_lu(e->l, e->t, e->n, e->n, e->v, e->pivots) > 0)
        return 1;
    lapack_lu_solve(e->l, e->t, 'N', e->n, e->n, e->v, e->pivots, e->w);
    return 0;
}

/* ---- triangles ---- */
static double _Complex element(const Expm *e, const char *m, int64_t i)
{
    if (!blas_is_complex(e->t))
        return mat_real(e->t, m, i);
    BlasType part = e->t == BLAS_C ? BLAS_S : BLAS_D;
    return complex_of(mat_real(part, m, 2 * i), mat_real(part, m, 2 * i + 1));
}

/* (exp(x) - exp(y)) / (x - y) without cancellation. */
static double _Complex exp_difference(double _Complex x, double _Complex y)
{
    double _Complex half = (x - y) / 2;
    if (cabs(half) > 1)
        return (cexp(x) - cexp(y)) / (x - y);
    double _Complex ratio = half == 0 ? 1 : csinh(half) / half;
    return cexp((x + y) / 2) * ratio;
}

/* Diagonal and first superdiagonal of exp(2^-k T) exactly, into x. Squaring would lose them
 * where the diagonal varies widely; and an infinity above would make NaN of the zeros below. */
static void exact_band(Expm *e, const char *t, int k, char *x)
{
    int64_t n = e->n;
    double f = ldexp(1, -k);
    for (int64_t i = 0; i < n; i++) {
        memset(x + (size_t)(i * (n + 1) + 1) * e->bytes, 0, (size_t)(n - i - 1) * e->bytes);
        double _Complex here = f * element(e, t, i * (n + 1)), value = cexp(here);
        mat_store(e->t, x, i * (n + 1), creal(value), cimag(value));
        if (i + 1 == n)
            break;
        int64_t above = (i + 1) * n + i;
        value = f * element(e, t, above) *
                exp_difference(here, f * element(e, t, (i + 1) * (n + 1)));
        mat_store(e->t, x, above, creal(value), cimag(value));
    }
}

/* ---- all together ---- */
static void expm_scratch(Expm *e, Scratch *s)
{
    size_t n = (size_t)e->n, matrix = n * n + n;
    for (int i = 0; i < 4; i++)
        e->power[i] = scratch_take(s, matrix, e->bytes);
    e->u = scratch_take(s, matrix, e->bytes);
    e->v = scratch_take(s, matrix, e->bytes);
    e->w = scratch_take(s, matrix, e->bytes);
    e->sizes = scratch_take(s, n * n, sizeof(double));
    e->x = scratch_take(s, n, sizeof(double));
    e->y = scratch_take(s, n, sizeof(double));
    e->estimate = scratch_take(s, 2 * n, e->bytes);
    e->pivots = scratch_take(s, n, sizeof(int));
    e->sign = scratch_take(s, n, sizeof(int));
}

/* Scales A once so that its tenth power is finite. */
static void expm_prescale(Expm *e)
{
    double norm = norm1(e, e->a);
    if (isinf(norm) || norm > e->degrees->huge) {
        e->exponent = isinf(norm) ? 1100 : ilogb(norm) - ilogb(e->degrees->huge) + 1;
        if (isinf(norm) && (e->t == BLAS_S || e->t == BLAS_C))
            e->exponent = 150;
        scale_power(e->t, e->n * e->n, e->a, -e->exponent);
    }
    for (int64_t i = 0; i < e->n * e->n; i++)
        e->sizes[i] = mat_abs(e->t, e->a, i);
}

static int expm_general(Expm *e, bool triangular, ExpmWay *way)
{
    int degree, squarings;
    int64_t count = e->n * e->n;
    size_t size = (size_t)count * e->bytes;
    expm_prescale(e);
    squarings = choose_degree(e, &degree);
    *way = (ExpmWay){ degree, squarings };
    int more = squarings - e->exponent;
    scale_power(e->t, count, e->a, -more);
    for (int k = 0; k < e->powers; k++)
        scale_power(e->t, count, e->power[k], -2 * (k + 1) * more);
    pade_parts(e, degree);
    if (pade_quotient(e))
        return 1;
    char *x = e->w, *y = e->u;
    if (triangular)
        exact_band(e, e->a, 0, x);
    for (int k = 1; k <= squarings && !*e->ctx->interrupt; k++) {
        product(e, x, x, y);
        if (triangular)
            exact_band(e, e->a, -k, y);
        char *keep = x;
        x = y;
        y = keep;
    }
    memcpy(e->a, x, size);
    return 0;
}

static void expm_diagonal(Expm *e)
{
    for (int64_t i = 0; i < e->n; i++) {
        double _Complex value = cexp(element(e, e->a, i * (e->n + 1)));
        mat_store(e->t, e->a, i * (e->n + 1), creal(value), cimag(value));
    }
}

int lapack_expm(Ctx *ctx, const Blas *l, DType dt, int64_t n, void *a, Scratch *s, ExpmWay *way)
{
    BlasType t = blas_type(dt);
    bool narrow = t == BLAS_S || t == BLAS_C;
    Expm e = { .ctx = ctx, .l = l, .dt = dt, .t = t, .n = n, .a = a, .bytes = blas_bytes(t),
               .degrees = narrow ? &degrees_single : &degrees_double };
    int64_t kl, ku;
    *way = (ExpmWay){ 0, 0 };
    expm_scratch(&e, s);
    if (!s->base || n == 0)
        return 0;
    mat_bandwidth(t, n, n, mat_columns_of(a, n), &kl, &ku);
    if (kl == 0 && ku == 0) {
        expm_diagonal(&e);
        return 0;
    }
    return expm_general(&e, kl == 0, way);
}
