/* Functions of matrices: expm, sqrtm, logm. Reads the operand, chooses between the triangular,
 * the Hermitian and the Schur way, and decides whether a result is real; the numerical work
 * is kernels/lapack/lapack_expm.c and lapack_root.c. sqrtm and logm compute in f64 also for f32:
 * their cost is the QR iteration, which gains little from narrower numbers. */
#include "builtins/linalg/linalg.h"
#include "kernels/lapack/lapack_functions.h"
#include "interp/output/output.h"

#include <math.h>
#include <string.h>

/* ---- exponential ---- */
static void notice_overflow(const Stack *a, const Out *x)
{
    int64_t row, col;
    for (int64_t i = 0; i < a->count; i++)
        if (!mat_finite(a->type, a->n, a->n, (Mat){ linalg_block(x, i), a->n, 1 }, &row, &col)) {
            notice(a->call->in, "expm(%s) leaves the range of %s: some of its elements are inf or "
                   "nan", arg_text(a->call, a->arg), dtype_name(a->dt));
            return;
        }
}

/* Degrees 3, 5, 7, 9 take 2 … 5 products, 13 takes 6 (Higham 2005, table 2.2); the quotient
 * costs a factorization and n right sides. */
static void explain_exponential(const Stack *a, int64_t index, ExpmWay way)
{
    Interp *in = a->call->in;
    double n = (double)a->n, cplx = blas_is_complex(a->type) ? 4 : 1;
    int products = way.degree == 13 ? 6 : (way.degree + 1) / 2;
    if (way.degree == 0) {
        explain_note(in, "saw", "a diagonal matrix: exp of its diagonal");
        explain_flops(in, n, NULL);
        return;
    }
    if (index == 0) {
        explain_note(in, "method", "Padé of degree %d, %d squaring%s%s", way.degree, way.squarings,
                     way.squarings == 1 ? "" : "s", a->count > 1 ? " (the first matrix)" : "");
        linalg_explain_routines(a->call, a->type, "gemm getrf getrs", "gemm getrf getrs");
    }
    explain_flops(in, (2 * (products + way.squarings) + 8.0 / 3) * n * n * n * cplx,
                  "2n^3 per product and squaring, 8/3 n^3 for the quotient");
}

Value op_run_expm(OpCall *c)
{
    Stack a = linalg_square(c, 0);
    Ctx *ctx = &c->in->ctx;
    int64_t n = a.n, kl, ku;
    linalg_require_finite(&a);
    Out out = linalg_out(&a, a.dt, n, n, false);
    if (n == 0 || a.count == 0)
        return linalg_value(&a, &out);
    const Blas *l = linalg_blas(c);
    Scratch work = { 0 };
    ExpmWay way;
    void *x = linalg_matrix(c, n, n, a.bytes);
    lapack_expm(ctx, l, a.dt, n, x, &work, &way);
    scratch_allocate(c, &work);
    for (int64_t i = 0; i < a.count; i++) {
        Mat from = linalg_item(&a, i);
        poll_interrupt(c->in);
        mat_bandwidth(a.type, n, n, from, &kl, &ku);
        /* exp(A') is exp(A)', so rows may pass for columns; a triangle becomes the upper one. */
        Mat layout = kl == 0 ? mat_columns(x, n) : (Mat){ x, n, 1 };
        mat_copy(a.bytes, n, n, from, layout);
        work.used = 0;
        if (lapack_expm(ctx, l, a.dt, n, x, &work, &way))
            arg_error(c, 0, ERR_NUMERIC, "the exponential of %s could not be computed: the "
                      "denominator of its approximation is singular", arg_text(c, 0));
        poll_interrupt(c->in);
        mat_copy(a.bytes, n, n, layout, (Mat){ linalg_block(&out, i), n, 1 });
        if (explain_on(c->in))
            explain_exponential(&a, i, way);
    }
    notice_overflow(&a, &out);
    return linalg_value(&a, &out);
}

/* ---- square root and logarithm ---- */
typedef struct Fun {
    Stack a;                 /* in f64 or c128 */
    DType given;             /* what it was: results return to its precision */
    const Blas *l;
    bool log;
    int64_t n;
    BlasType type;           /* of what is in t and z now: the stack's, or BLAS_Z */
    char *t, *z, *x;         /* T, Schur vectors, a product */
    char *wide_t, *wide_z;   /* c128, made (with a wider x) when a real matrix turns complex */
    double *values;          /* of a Hermitian matrix */
    Scratch work, log_work;
    double tiny;             /* what counts as rounding in T; 0 for a given triangle */
    Out out;
    bool out_complex;
} Fun;

static double _Complex fun_entry(const Fun *f, const char *m, int64_t i)
{
    return blas_is_complex(f->type) ? ((const double _Complex *)(const void *)m)[i]
                                    : ((const double *)(const void *)m)[i];
}

/* From here on results are complex: those so far move over. */
static void widen_results(Fun *f, int64_t done)
{
    Out wide = linalg_out(&f->a, DT_C128, f->n, f->n, false);
    int64_t count = done * f->n * f->n;
    for (int64_t i = 0; i < count; i++)
        mat_store(BLAS_Z, wide.data, i, ((double *)(void *)f->out.data)[i], 0);
    f->out = wide;
    f->out_complex = true;
}

/* The finished function of matrix `index`: x, of type f->type. */
static void store_result(Fun *f, int64_t index, Mat x)
{
    bool real = !blas_is_complex(f->type);
    if (!real && !f->out_complex)
        widen_results(f, index);
    char *to = linalg_block(&f->out, index);
    for (int64_t i = 0; i < f->n; i++)
        for (int64_t j = 0; j < f->n; j++) {
            double _Complex v = fun_entry(f, x.data, i * x.rs + j * x.cs);
            mat_store(f->out_complex ? BLAS_Z : BLAS_D, to, i * f->n + j, creal(v),
                      real ? 0 : cimag(v));
        }
}

static _Noreturn void no_root(const Fun *f)
{
    OpCall *c = f->a.call;
    arg_error(c, 0, ERR_NUMERIC,
              "%s has no square root: it is singular, and its eigenvalue 0 is defective",
              arg_text(c, 0));
}

static _Noreturn void no_logarithm(const Fun *f, double least, double most)
{
    OpCall *c = f->a.call;
    if (least == 0)
        arg_error(c, 0, ERR_NUMERIC, "%s has no logarithm: it is singular (an eigenvalue is 0)",
                  arg_text(c, 0));
    arg_error(c, 0, ERR_NUMERIC,
              "%s has no logarithm: it is singular to working precision (eigenvalues from %.1e to "
              "%.1e in magnitude)", arg_text(c, 0), least, most);
}

static double _Complex apply_scalar(const Fun *f, double x)
{
    double size = f->log ? log(fabs(x)) : sqrt(fabs(x));
    if (x >= 0)
        return size;
    return f->log ? complex_of(size, M_PI) : complex_of(0.0, size);
}

/* C = A B for matrices by columns; b may be read as its transpose. */
static void multiply(Fun *f, const char *a, const char *b, bool transposed, char *to)
{
    OpCall *c = f->a.call;
    int64_t n = f->n;
    gemm(&c->in->ctx, f->l, blas_is_complex(f->type) ? DT_C128 : DT_F64, n, n, n,
         mat_columns((char *)a, n),
         transposed ? (Mat){ (char *)b, n, 1 } : mat_columns((char *)b, n), mat_columns(to, n));
}

static void widen(const double *from, int64_t count, void *to)
{
    double _Complex *x = to;
    for (int64_t i = 0; i < count; i++)
        x[i] = from[i];
}

/* From here on this matrix is complex: t moves to wide_t, a Schur form made triangular. */
static void widen_triangle(Fun *f, bool pairs)
{
    OpCall *c = f->a.call;
    int64_t n = f->n;
    if (!f->wide_t) {
        f->wide_t = linalg_matrix(c, n, n, 16);
        f->wide_z = linalg_matrix(c, n, n, 16);
        f->x = linalg_matrix(c, n, n, 16);
    }
    if (pairs)
        schur_make_complex(n, (double *)(void *)f->t, (void *)f->wide_t);
    else
        widen((double *)(void *)f->t, n * n, f->wide_t);
    f->type = BLAS_Z;
}

static char *fun_t(const Fun *f)
{
    return f->type == f->a.type ? f->t : f->wide_t;
}

static char *fun_z(const Fun *f)
{
    return f->type == f->a.type ? f->z : f->wide_z;
}

/* ---- Hermitian: f(A) = V f(values) V' ---- */
static bool hermitian_values(Fun *f, double _Complex *of)
{
    int64_t n = f->n;
    bool real = true;
    double most = fmax(fabs(f->values[0]), fabs(f->values[n - 1])), least = INFINITY;
    double noise = (double)n * mat_eps(BLAS_D) * most;
    for (int64_t i = 0; i < n; i++) {
        double x = f->values[i];
        least = fmin(least, fabs(x));
        if (!f->log && x < 0 && -x <= noise)
            x = 0;                      /* semidefinite but for rounding */
        real = real && x >= 0;
        of[i] = apply_scalar(f, x);
    }
    if (f->log && least <= noise)
        no_logarithm(f, least, most);
    return real;
}

static void hermitian_item(Fun *f, int64_t index, Mat from)
{
    OpCall *c = f->a.call;
    int64_t n = f->n;
    mat_copy(f->a.bytes, n, n, from, mat_columns(f->z, n));
    f->work.used = 0;
    int info = lapack_eigh(f->l, f->a.type, true, 'L', n, f->z, f->values, &f->work);
    if (info)
        linalg_no_convergence(&f->a, info);
    double _Complex *of = linalg_work(c, (size_t)n, sizeof *of);
    if (!hermitian_values(f, of) && f->type == BLAS_D) {
        widen_triangle(f, false);
        widen((double *)(void *)f->z, n * n, f->wide_z);
    }
    char *z = fun_z(f), *t = fun_t(f);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            double _Complex v = fun_entry(f, z, j * n + i) * of[j];
            mat_store(f->type, t, j * n + i, creal(v), cimag(v));
        }
    mat_conjugate(f->type, z, n * n);
    multiply(f, t, z, true, f->x);
    store_result(f, index, mat_columns(f->x, n));
}

/* ---- the Schur way ---- */
typedef struct Spectrum {
    bool negative;           /* a real eigenvalue below zero */
    bool pairs;              /* 2x2 blocks in a real form */
    double least, most;
} Spectrum;

static Spectrum read_spectrum(const Fun *f)
{
    Spectrum s = { .least = INFINITY };
    int64_t n = f->n;
    for (int64_t i = 0; i < n; i++) {
        double _Complex v = fun_entry(f, f->t, i * (n + 1));
        bool pair = (i + 1 < n && fun_entry(f, f->t, i * n + i + 1) != 0) ||
                    (i > 0 && fun_entry(f, f->t, (i - 1) * n + i) != 0);
        double size = cabs(v);
        if (pair) {
            int64_t k = i + 1 < n && fun_entry(f, f->t, i * n + i + 1) != 0 ? i : i - 1;
            size = hypot(size, sqrt(cabs(fun_entry(f, f->t, k * n + k + 1))) *
                                   sqrt(cabs(fun_entry(f, f->t, (k + 1) * n + k))));
        }
        s.pairs = s.pairs || pair;
        s.negative = s.negative || (!pair && cimag(v) == 0 && creal(v) < 0);
        s.least = fmin(s.least, size);
        s.most = fmax(s.most, size);
    }
    return s;
}

/* A real eigenvalue that is negative by rounding alone would make the root complex. */
static void clear_negative_noise(Fun *f)
{
    for (int64_t i = 0; i < f->n && f->type == BLAS_D; i++) {
        double *v = (double *)(void *)f->t + i * (f->n + 1);
        if (*v < 0 && -*v <= f->tiny)
            *v = 0;
    }
}

static double frobenius_columns(const Fun *f, const char *m)
{
    return gemm_norm2(blas_is_complex(f->type) ? DT_C128 : DT_F64, f->n * f->n, m, 1);
}

/* Rounding may be magnified |X|^2 / |A| times (Higham, Functions of Matrices, 6.2): where
 * that is much, the residual says whether it was. x lies by columns and is the root of the
 * matrix or, if `transposed`, of its transpose. */
static void check_root(Fun *f, Mat from, char *x, bool transposed)
{
    int64_t n = f->n;
    double norm = 0, rest = 0, size = frobenius_columns(f, x);
    for (int64_t j = 0; j < n; j++)
        norm = hypot(norm, gemm_norm2(f->a.dt, n, from.data + j * from.cs * (int64_t)f->a.bytes,
                                      from.rs));
    if (f->log || !(norm > 0) || (double)n * mat_eps(BLAS_D) * size * (size / norm) < 1e-8)
        return;
    char *square = linalg_matrix(f->a.call, n, n, blas_bytes(f->type));
    multiply(f, x, x, false, square);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            int64_t k = i * from.rs + j * from.cs;
            double _Complex a = blas_is_complex(f->a.type)
                                    ? ((const double _Complex *)(const void *)from.data)[k]
                                    : ((const double *)(const void *)from.data)[k];
            rest = hypot(rest, cabs(a - fun_entry(f, square, transposed ? i * n + j : j * n + i)));
        }
    if (!isfinite(rest))
        notice(f->a.call->in, "sqrtm(%s) or its square overflows f64", arg_text(f->a.call, 0));
    else if (rest > 1e-8 * norm)
        notice(f->a.call->in,
               "the square root X of %s is ill-conditioned: X @ X differs from it by %.1e of its "
               "norm", arg_text(f->a.call, 0), rest / norm);
}

/* f(T) in place of T, where fun_t says. A real T whose function is real has it in t. */
static void apply_triangle(Fun *f)
{
    f->tiny *= frobenius_columns(f, f->t);
    if (!f->log)
        clear_negative_noise(f);
    Spectrum s = read_spectrum(f);
    if (f->log && s.least <= f->tiny)
        no_logarithm(f, s.least, s.most);
    if (f->type == BLAS_D && (s.negative || s.pairs))
        widen_triangle(f, s.pairs);
    f->log_work.used = 0;
    bool found = f->log ? triangle_log(f->l, f->type, f->n, fun_t(f), &f->log_work,
                                      f->a.call->in->ctx.interrupt)
                        : triangle_sqrt(f->l, f->type, f->n, fun_t(f), f->tiny);
    poll_interrupt(f->a.call->in);
    if (!found && !f->log)
        no_root(f);
    if (!found)
        linalg_no_convergence(&f->a, 1);
    if (f->type == f->a.type)
        return;
    if (s.pairs)
        schur_undo_complex(f->n, (double *)(void *)f->t, (void *)f->wide_t);
    if (!s.negative) {
        f->type = BLAS_D;
        for (int64_t i = 0; i < f->n * f->n; i++)
            mat_store(BLAS_D, f->t, i, mat_real(BLAS_Z, f->wide_t, i), 0);
    }
}

static void schur_item(Fun *f, int64_t index, Mat from)
{
    int64_t n = f->n;
    mat_copy(f->a.bytes, n, n, from, mat_columns(f->t, n));
    f->work.used = 0;
    int info = lapack_schur(f->l, f->type, n, f->t, f->z, &f->work);
    if (info)
        linalg_no_convergence(&f->a, info);
    poll_interrupt(f->a.call->in);
    f->tiny = (double)n * mat_eps(BLAS_D);
    apply_triangle(f);
    if (f->type != f->a.type)
        widen((double *)(void *)f->z, n * n, f->wide_z);
    char *t = fun_t(f), *z = fun_z(f);
    multiply(f, z, t, false, f->x);
    mat_conjugate(f->type, z, n * n);
    multiply(f, f->x, z, true, t);
    poll_interrupt(f->a.call->in);
    check_root(f, from, t, false);
    store_result(f, index, mat_columns(t, n));
}

static void triangle_item(Fun *f, int64_t index, Mat from, bool lower)
{
    int64_t n = f->n;
    mat_copy(f->a.bytes, n, n, from, lower ? (Mat){ f->t, n, 1 } : mat_columns(f->t, n));
    f->tiny = 0;
    apply_triangle(f);
    poll_interrupt(f->a.call->in);
    Mat x = mat_columns(fun_t(f), n);
    check_root(f, from, x.data, lower);
    store_result(f, index, lower ? (Mat){ x.data, n, 1 } : x);
}

/* What was seen in the first matrix, and the routine that follows from it. */
static void explain_way(const Fun *f, int64_t index, Mat from, bool triangle)
{
    OpCall *c = f->a.call;
    BlasType t = f->a.type;
    double n3 = pow((double)f->n, 3) * (blas_is_complex(t) ? 4 : 1);
    bool hermitian = !triangle && mat_is_hermitian(t, f->n, from);
    if (hermitian)
        explain_flops(c->in, 11 * n3, "11n^3");
    else if (triangle && !f->log)
        explain_flops(c->in, n3 / 3, "1/3 n^3");
    else
        explain_flops(c->in, (f->log ? triangle ? 10 : 35 : 28) * n3,
                      f->log ? triangle ? "10n^3" : "35n^3" : "28n^3");
    if (index > 0)
        return;
    explain_note(c->in, "saw", "%s", triangle ? "a triangular matrix: no Schur form is needed"
                 : !hermitian ? "a general matrix: the way is its Schur form"
                 : blas_is_complex(t) ? "a Hermitian matrix: the way is its eigenvectors"
                 : "a symmetric matrix: the way is its eigenvectors");
    if (hermitian)
        linalg_explain_routines(c, t, "syevd gemm", "heevd gemm");
    else if (!triangle)
        linalg_explain_routines(c, t, "gees gemm", "gees gemm");
}

static void fun_item(Fun *f, int64_t index)
{
    Mat from = linalg_item(&f->a, index);
    int64_t kl, ku;
    poll_interrupt(f->a.call->in);
    f->type = f->a.type;
    lapack_threads(&f->a.call->in->ctx, f->l, LAPACK_EIG, f->n);
    mat_bandwidth(f->type, f->n, f->n, from, &kl, &ku);
    if (kl == 0 || ku == 0)
        triangle_item(f, index, from, kl != 0);
    else if (mat_is_hermitian(f->type, f->n, from))
        hermitian_item(f, index, from);
    else
        schur_item(f, index, from);
    if (explain_on(f->a.call->in))
        explain_way(f, index, from, kl == 0 || ku == 0);
}

static void fun_init(Fun *f, OpCall *c, bool log)
{
    *f = (Fun){ .a = linalg_square(c, 0), .log = log };
    linalg_require_finite(&f->a);
    f->given = f->a.dt;
    linalg_stack_retype(&f->a, blas_is_complex(f->a.type) ? DT_C128 : DT_F64);
    f->n = f->a.n;
    f->out = linalg_out(&f->a, f->a.dt, f->n, f->n, false);
    f->out_complex = blas_is_complex(f->a.type);
    if (!f->n || !f->a.count)
        return;
    int64_t n = f->n;
    f->l = linalg_blas(c);
    f->t = linalg_matrix(c, n, n, f->a.bytes);
    f->z = linalg_matrix(c, n, n, f->a.bytes);
    f->x = linalg_matrix(c, n, n, f->a.bytes);
    f->values = linalg_work(c, (size_t)n, sizeof(double));
    lapack_schur(f->l, f->a.type, n, f->t, f->z, &f->work);
    lapack_eigh(f->l, f->a.type, true, 'L', n, f->z, f->values, &f->work);
    scratch_allocate(c, &f->work);
    triangle_log(f->l, BLAS_Z, n, NULL, &f->log_work, NULL);
    if (log)
        scratch_allocate(c, &f->log_work);
}

static Value function_of(OpCall *c, bool log)
{
    Fun f;
    fun_init(&f, c, log);
    for (int64_t i = 0; i < f.a.count && f.n; i++)
        fun_item(&f, i);
    DType dt = f.out_complex ? dtype_complex(f.given) : f.given;
    f.out.t = linalg_raise(c, f.out.t, dt);
    return linalg_value(&f.a, &f.out);
}

Value op_run_sqrtm(OpCall *c)
{
    return function_of(c, false);
}

Value op_run_logm(OpCall *c)
{
    return function_of(c, true);
}
