/* A sparse matrix with its factors as a value, and what is told of factors. The value is of the
 * same tag as that of a dense matrix (builtins/linalg/linalg_kept.c), and begins like it: what has
 * no form for sparse matrices finds the matrix, and no factors that it knows. */
#include "builtins/sparse/sparse_factor.h"

#include "builtins/linalg/linalg_factor.h"
#include "builtins/sparse/sparse_format.h"
#include "core/base/mem.h"
#include "interp/output/output.h"
#include "interp/show/show.h"
#include "interp/state/kind.h"
#include "interp/state/scope.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/elimination/own.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct SparseFactors {
    FactorsValue base;           /* first */
    Elimination *kept[BLAS_TYPES];
} SparseFactors;

/* ---- the value ---- */
static void factors_release(Ctx *ctx, Native *n)
{
    SparseFactors *f = (SparseFactors *)n;
    for (int i = 0; i < BLAS_TYPES; i++)
        elimination_free(ctx, f->kept[i]);
    v_release(ctx, f->base.a);
    mem_free(ctx, f, sizeof *f);
}

static void factors_show(Interp *in, Buf *out, Value v, bool repr)
{
    const SparseFactors *f = v.ptr;
    char what[96];
    (void)in, (void)repr;
    buf_puts(out, factors_describe(v, what, sizeof what));
    for (int i = 0; i < BLAS_TYPES; i++)
        if (f->kept[i]) {
            buf_printf(out, ": %s", elimination_method_name(f->kept[i]->method));
            return;
        }
}

static const Kind factors_kind = {
    .release = factors_release, .describe = factors_describe, .equal = factors_equal,
    .show = factors_show, .stands = factors_stand, .instead = factors_instead,
};

static SparseFactors *factors_new(OpCall *c)
{
    SparseFactors *f = mem_zalloc(&c->in->ctx, sizeof *f);
    f->base = (FactorsValue){ { .refs = 1, .kind = &factors_kind }, v_retain(c->args[0]) };
    op_root(c, (Value){ .tag = V_FACTORS, .ptr = f });
    return f;
}

/* Those that operand 0 came with; NULL: it came without. */
static SparseFactors *factors_given(OpCall *c)
{
    SparseFactors *f = (SparseFactors *)c->factors;
    return f && f->base.native.kind == &factors_kind ? f : NULL;
}

/* ---- making ---- */
/* Such numbers are rounded to the scope's format. */
static bool has_fraction(DType dt)
{
    return dtype_info(dt)->kind == 'f' || dtype_info(dt)->kind == 'c' || dt == DT_RATIONAL;
}

DType sparse_factor_dtype(OpCall *c, const Tensor *other)
{
    if (!v_sparse(c->args[0]))                  /* it is another operand that is sparse */
        return DT_NONE;
    const Scope *scope = precise_scope(c->in);
    DType dt = (DType)v_sparse(c->args[0])->value->dtype;
    if (other && (DType)other->dtype != dt)
        dt = dtype_promote(dt, (DType)other->dtype);
    if (!scope && other)
        dt = dtype_computed(dt);
    if (scope ? !scope_ordinary(scope) || !has_fraction(dt) : !sparse_dtype(dt))
        return DT_NONE;
    if (scope) {
        const bool pairs = dtype_info(dt)->kind == 'c';
        precise_scope(c->in)->partly = true;
        dt = scope->format == DT_F32 ? pairs ? DT_C64 : DT_F32 : pairs ? DT_C128 : DT_F64;
    }
    return dt;
}

EliminationOrdering arg_ordering(OpCall *c)
{
    const int at = c->op->orders ? 1 : -1;
    if (at < 0 || !arg_given(c, at))
        return ORDERING_ANY;
    const Str *text = arg_str(c, at);
    for (EliminationOrdering o = ORDERING_ANY + 1; o < ORDERINGS; o++)
        if (strcmp(text->text, elimination_ordering_name(o)) == 0)
            return o;
    arg_error_help(c, at, ERR_VALUE, "ordering=\"degree\"",
                   "there is no ordering \"%.40s\": natural, degree, rcm or dissection",
                   text->text);
}

Elimination *sparse_factor(OpCall *c, DType dt, EliminationMethod method, bool *kept)
{
    Ctx *ctx = &c->in->ctx;
    SparseFactors *f = method == ELIMINATION_ANY ? factors_given(c) : NULL;
    const EliminationWish wish = { .method = method, .ordering = arg_ordering(c) };
    const BlasType t = blas_type(dt);
    if (f && f->kept[t] && f->kept[t]->broken) {
        elimination_free(ctx, f->kept[t]);
        f->kept[t] = NULL;
    }
    *kept = f && f->kept[t];
    if (*kept)
        return f->kept[t];
    f = f ? f : factors_new(c);
    const Sparse *s = v_sparse(c->args[0]);
    Csr a = sparse_csr(s);
    if (a.dtype != dt) {
        Tensor *value = op_keep(c, tensor_cast(ctx, s->value, dt));
        a.value = value->data;
        a.dtype = dt;
    }
    return f->kept[t] = elimination_new(ctx, &a, &wish);
}

Value op_sparse_factorize(OpCall *c)
{
    bool kept;
    const Value *mark = c->in->sp;
    Scope implied;
    if (sparse_format_scope(c, NULL, &implied)) {
        factors_new(c);                         /* nothing is kept but the matrix */
        return v_retain(*mark);
    }
    const DType dt = sparse_factor_dtype(c, NULL);
    if (dt == DT_NONE)
        return v_undef();
    Elimination *e = sparse_factor(c, dt, ELIMINATION_ANY, &kept);
    if (e->failed >= 0)
        sparse_singular(c, e);
    if (heard_on(c->in))
        sparse_factor_explain(c, e, false, 0, NULL, NULL);
    return v_retain(*mark);
}

/* ---- errors and notices ---- */
void sparse_singular(OpCall *c, const Elimination *e)
{
    char help[256];
    const Csr a = sparse_csr(v_sparse(c->args[0]));
    int64_t entries = 0;
    for (int64_t k = 0; k < a.entries; k++)
        entries += a.column[k] == e->failed;
    if (c->op->solves)
        snprintf(help, sizeof help, "lstsq(%s, %s) gives a least-squares solution", arg_text(c, 0),
                 arg_text(c, 1));
    else
        snprintf(help, sizeof help, "det(%s) is 0", arg_text(c, 0));
    if (!entries)
        arg_error_help(c, 0, ERR_NUMERIC, help, "%s is singular: its column %lld has no entries",
                       arg_text(c, 0), (long long)e->failed);
    arg_error_help(c, 0, ERR_NUMERIC, help,
                   "%s is singular: no pivot is left for column %lld (it depends on those "
                   "eliminated before it)", arg_text(c, 0), (long long)e->failed);
}

/* In the 1-norm the condition number overstates what is lost by up to sqrt(n). */
static double limit(const Elimination *e)
{
    const double allowance = sqrt((double)e->n) / 10;
    return linalg_rcond_limit(blas_type(e->dtype)) / (allowance > 1 ? allowance : 1);
}

/* The estimate takes some ten solutions: of large factors only where their pivots differ enough for
 * there to be something to tell. */
static bool worth_asking(const Elimination *e)
{
    static const double CHEAP = 2e5;
    const bool wide = e->dtype == DT_F64 || e->dtype == DT_C128;
    return e->m == e->n && (e->fill < CHEAP || e->pivots < (wide ? 1e-8 : 1e-3));
}

static void notice_missing(OpCall *c, const Elimination *e)
{
    static const double LONG = 1e10;     /* operations: some seconds */
    const char *package = elimination_missing(e);
    if (package && e->flops > LONG)
        notice(c->in, "%s: factored by our own code, %.1e operations; SuiteSparse is faster: "
               "apt-get install %s", arg_text(c, 0), e->flops, package);
}

void sparse_factor_notice(OpCall *c, Elimination *e, const char *what)
{
    const BlasType t = blas_type(e->dtype);
    notice_missing(c, e);
    if (e->method == ELIMINATION_DIAGONAL || !worth_asking(e))
        return;
    const double rcond = elimination_rcond(&c->in->ctx, e);
    if (!(rcond < limit(e)))
        return;
    const int digits = linalg_digits(t, rcond);
    char trust[32];
    snprintf(trust, sizeof trust, digits ? "about %d digit%s" : "no digit", digits,
             digits == 1 ? "" : "s");
    notice(c->in, "%s is nearly singular: condition number %.1e, %s of %s can be trusted",
           arg_text(c, 0), rcond > 0 ? 1 / rcond : INFINITY, trust, what);
}

/* ---- explain ---- */
static const char *saw(const Elimination *e)
{
    switch (e->method) {
    case ELIMINATION_DIAGONAL: return "a diagonal matrix";
    case ELIMINATION_LOWER: return "a lower triangular matrix";
    case ELIMINATION_UPPER: return "an upper triangular matrix";
    case ELIMINATION_PERMUTED:
        return "a triangular matrix with its rows and columns in another order";
    case ELIMINATION_CHOLESKY: return "a positive definite matrix: Cholesky succeeded";
    case ELIMINATION_QR: return e->m < e->n ? "a wide matrix: the solution of least norm"
                                            : "a tall matrix: least squares";
    default: return e->not_definite ? "a Hermitian matrix that is not positive definite"
                    : e->hermitian  ? "a Hermitian matrix" : "a general matrix";
    }
}

/* |b - A x| / (|A| |x|) in the infinity norm. */
static double scaled_residual(OpCall *c, const Elimination *e, const void *b, const void *x)
{
    const OwnOps *o = own_ops(e->dtype), *own = own_ops((DType)v_sparse(c->args[0])->value->dtype);
    const Csr a = sparse_csr(v_sparse(c->args[0]));
    double top = 0, norm = 0, size = 0;
    for (int64_t i = 0; i < a.m; i++) {
        long double re = o->real(b, i), im = o->imag(b, i);
        double sum = 0;
        for (int64_t k = a.start[i]; k < a.start[i + 1]; k++) {
            const long double ar = own->real(a.value, k), ai = own->imag(a.value, k);
            const long double xr = o->real(x, a.column[k]), xi = o->imag(x, a.column[k]);
            re -= ar * xr - ai * xi;
            im -= ar * xi + ai * xr;
            sum += own->size(a.value, k);
        }
        const double r = hypot((double)re, (double)im);
        top = r > top || isnan(r) ? r : top;
        norm = fmax(norm, sum);
    }
    for (int64_t j = 0; j < a.n; j++)
        size = fmax(size, o->size(x, j));
    return top == 0 ? 0 : top / (norm * size);
}

static void explain_quality(OpCall *c, Elimination *e, const void *b, const void *x)
{
    Interp *in = c->in;
    const BlasType t = blas_type(e->dtype);
    const double r = scaled_residual(c, e, b, x), rcond = elimination_rcond(&in->ctx, e);
    const double noise = (double)e->n * mat_eps(t);
    const int digits = linalg_digits(t, r > noise ? rcond * noise / r : rcond);
    explain_note(in, "rcond",
                 "%.2g (condition number %.2g, 1-norm, estimated): about %d digit%s to trust",
                 rcond, rcond > 0 ? 1 / rcond : INFINITY, digits, digits == 1 ? "" : "s");
    if (r == 0)
        explain_note(in, "residual", "0 = |b - A x| / (|A| |x|)");
    else
        explain_note(in, "residual", "%.1e = |b - A x| / (|A| |x|), %.2g eps", r, r / mat_eps(t));
}

void sparse_factor_explain(OpCall *c, Elimination *e, bool kept, int64_t columns, const void *b,
                           const void *x)
{
    Interp *in = c->in;
    const double each = dtype_info(e->dtype)->kind == 'c' ? 8 : 2;
    const int64_t entries = sparse_csr(v_sparse(c->args[0])).entries;
    const bool at_once = e->method < ELIMINATION_CHOLESKY;
    char own[64];
    explain_pause(in);
    snprintf(own, sizeof own, "%s%s", e->library || at_once ? "" : "our own ",
             at_once ? "substitution" : elimination_method_name(e->method));
    explain_routine(in, own, e->library, NULL);
    explain_flops(in, (kept ? 0 : e->flops) + each * e->fill * (double)columns, NULL);
    if (explain_on(in)) {
        explain_note(in, "saw", "%s, %lld entries", saw(e), (long long)entries);
        if (!at_once)
            explain_note(in, "ordering", "%s", e->ordering);
        if (!at_once && e->fill > 0)
            explain_note(in, "fill", "%.0f entries in the factors, %.1f times those of the matrix",
                         e->fill, e->fill / (double)(entries ? entries : 1));
        if (kept)
            explain_note(in, "kept", "the factors were there: no factorisation");
        if (x && e->m == e->n && e->n > 0)
            explain_quality(c, e, b, x);
    }
    explain_resume(in);
}
