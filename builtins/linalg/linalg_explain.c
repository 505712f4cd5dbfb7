/* What `explain A \ b` tells: the shape that was seen and the element that rules each other
 * one out, the routines, FLOPs, condition number and residual. Called only while somebody
 * listens, so it may look at everything again. */
#include "builtins/linalg/linalg_factor.h"

#include "core/system/c_locale.h"
#include "kernels/dense/dense.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- shared with the other rows ---- */
typedef struct Steps { char own[64], library[64]; } Steps;

static void put_step(char to[64], const char *letter, const char *name)
{
    size_t n = strlen(to);
    snprintf(to + n, 64 - n, "%s%s%s", n ? ", " : "", letter, name);
}

/* `own LU; dgetrs (OpenBLAS)`. */
static void explain_steps_of(OpCall *c, const Steps *s)
{
    char text[sizeof *s + 4];
    bool library = s->library[0];
    snprintf(text, sizeof text, "%s%s%s", s->own, s->own[0] && library ? "; " : "", s->library);
    explain_routine(c->in, text, library ? linalg_blas(c)->name : NULL, NULL);
}

static void put_steps(Steps *s, BlasType t, int64_t order, int64_t nrhs, const char *routines)
{
    const char letter[] = { "sdcz"[t], '\0' };
    for (const char *at = routines; *at;) {
        char routine[16];
        size_t length = strcspn(at, " ");
        snprintf(routine, sizeof routine, "%.*s", (int)length, at);
        const char *own = dense_own_name(routine, t, order, nrhs);
        put_step(own ? s->own : s->library, own ? "" : letter, own ? own : routine);
        at += length + (at[length] == ' ');
    }
}

void linalg_explain_dense(OpCall *c, BlasType t, int64_t order, int64_t nrhs, const char *real,
                          const char *cplx)
{
    Steps s = { "", "" };
    if (!heard_on(c->in))
        return;
    put_steps(&s, t, order, nrhs, blas_is_complex(t) ? cplx : real);
    explain_steps_of(c, &s);
}

void linalg_explain_routines(OpCall *c, BlasType t, const char *real, const char *cplx)
{
    linalg_explain_dense(c, t, 0, 0, real, cplx);
}

void linalg_explain_own(OpCall *c, BlasType t, const char *own, const char *real, const char *cplx)
{
    Steps s = { "", "" };
    if (!heard_on(c->in))
        return;
    put_step(s.own, "", own);
    put_steps(&s, t, 0, 0, blas_is_complex(t) ? cplx : real);
    explain_steps_of(c, &s);
}

void linalg_explain_flops(const Stack *a, double each, const char *how)
{
    explain_flops(a->call->in, each * (double)a->count * (blas_is_complex(a->type) ? 4 : 1), how);
}

/* `rcond  0.064 (condition number 16): about 14 digits can be trusted`. */
static void linalg_explain_rcond(const Stack *s, double rcond, double trust)
{
    int digits = linalg_digits(s->type, trust);
    if (isnan(rcond))
        explain_note(s->call->in, "rcond", "not known: the matrix is not finite");
    else
        explain_note(s->call->in, "rcond",
                     "%.2g (condition number %.2g, 1-norm): about %d digit%s to trust", rcond,
                     rcond > 0 ? 1 / rcond : INFINITY, digits, digits == 1 ? "" : "s");
}

void linalg_explain_inverse(const Stack *s, double norm, const char *inverse, double backward,
                            bool definite)
{
    const char *routines = definite ? "potrf potri" : "getrf getri";
    double n = (double)s->n, count = (double)s->count * (blas_is_complex(s->type) ? 4 : 1);
    if (!heard_on(s->call->in))
        return;
    explain_copied(s->call->in, n * n * (double)s->bytes * (double)s->count);
    explain_pause(s->call->in);
    linalg_explain_dense(s->call, s->type, s->n, 0, routines, routines);
    explain_flops(s->call->in, (definite ? 1 : 2) * n * n * n * count, definite ? "n^3" : "2n^3");
    if (explain_on(s->call->in)) {
        double rcond = 1 / (norm * mat_norm1(s->type, s->n, s->n,
                                             mat_columns((char *)inverse, s->n)));
        double noise = n * mat_eps(s->type);
        linalg_explain_rcond(s, rcond, backward > noise ? rcond * noise / backward : rcond);
    }
    explain_resume(s->call->in);
}

/* ---- what was seen ---- */
typedef struct Story { const char *saw, *real, *cplx, *how; double flops; } Story;

/* FLOPs of the factorisation and of one right side, leading terms. */
static Story story_of(const Factor *f, double nrhs)
{
    double n = (double)f->s->n, kl = (double)f->kl, ku = (double)f->ku, r = nrhs;
    switch (f->kind) {
    case FACTOR_DIAGONAL:
        return (Story){ "a diagonal matrix", "", "", "n per right side", n * r };
    case FACTOR_TRIANGLE:
        return (Story){ f->upper ? "an upper triangular matrix" : "a lower triangular matrix",
                        "trtrs", "trtrs", "n^2 per right side", n * n * r };
    case FACTOR_PERMUTED:
        return (Story){ f->permuted_rows
                        ? f->upper ? "an upper triangular matrix with its rows in another order"
                                   : "a lower triangular matrix with its rows in another order"
                        : f->upper ? "an upper triangular matrix with its columns in another order"
                                   : "a lower triangular matrix with its columns in another order",
                        "trtrs", "trtrs", "n^2 per right side", n * n * r };
    case FACTOR_TRIDIAGONAL_PD:
        return (Story){ "a positive definite tridiagonal matrix", "pttrf pttrs", "pttrf pttrs",
                        "3n and 5n per right side", 3 * n + 5 * n * r };
    case FACTOR_TRIDIAGONAL:
        return (Story){ "a tridiagonal matrix", "gttrf gttrs", "gttrf gttrs",
                        "up to 5n and 7n per right side", 5 * n + 7 * n * r };
    case FACTOR_BAND_PD:
        return (Story){ "a positive definite band matrix", "pbtrf pbtrs", "pbtrf pbtrs",
                        "nk^2 and 4nk per right side", n * kl * kl + 4 * n * kl * r };
    case FACTOR_BAND:
        return (Story){ "a band matrix", "gbtrf gbtrs", "gbtrf gbtrs",
                        "2n kl (kl + ku) and 2n (2kl + ku) per right side, at most",
                        2 * n * kl * (kl + ku) + 2 * n * (2 * kl + ku) * r };
    case FACTOR_CHOLESKY:
        return (Story){ "a positive definite matrix: Cholesky succeeded", "potrf potrs",
                        "potrf potrs", "1/3 n^3 and 2n^2 per right side",
                        n * n * n / 3 + 2 * n * n * r };
    case FACTOR_HERMITIAN:
        return (Story){ blas_is_complex(f->s->type) ? "a Hermitian indefinite matrix"
                                                    : "a symmetric indefinite matrix",
                        "sytrf sytrs2", "hetrf hetrs2", "1/3 n^3 and 2n^2 per right side",
                        n * n * n / 3 + 2 * n * n * r };
    case FACTOR_SYMMETRIC:
        return (Story){ "a complex symmetric matrix", "", "sytrf sytrs2",
                        "1/3 n^3 and 2n^2 per right side", n * n * n / 3 + 2 * n * n * r };
    default:
        return (Story){ "a general matrix", "getrf getrs", "getrf getrs",
                        "2/3 n^3 and 2n^2 per right side", 2 * n * n * n / 3 + 2 * n * n * r };
    }
}

/* An element as the user would write it. */
static void put_element(const Factor *f, char *out, size_t cap, int64_t i, int64_t j)
{
    int64_t at = i * f->a.rs + j * f->a.cs;
    BlasType t = f->s->type, real = t == BLAS_C ? BLAS_S : BLAS_D;
    if (blas_is_complex(t))
        c_snprintf(out, cap, "[%lld, %lld] = %.3g%+.3gi", (long long)i, (long long)j,
                 mat_real(real, f->a.data, 2 * at), mat_real(real, f->a.data, 2 * at + 1));
    else
        c_snprintf(out, cap, "[%lld, %lld] = %.3g", (long long)i, (long long)j,
                 mat_real(t, f->a.data, at));
}

/* An element that lies `below` the diagonal (above: negative). */
static bool on_diagonal(const Factor *f, int64_t below, int64_t *row, int64_t *col)
{
    for (int64_t j = 0; j < f->s->n; j++) {
        int64_t i = j + below;
        if (i < 0 || i >= f->s->n || mat_abs(f->s->type, f->a.data, i * f->a.rs + j * f->a.cs) == 0)
            continue;
        *row = i, *col = j;
        return true;
    }
    return false;
}

static void rule_out_shapes(const Factor *f)
{
    Interp *in = f->s->call->in;
    int64_t i, j;
    char low[80] = "", high[80] = "";
    if (f->kl && on_diagonal(f, f->kl, &i, &j))
        put_element(f, low, sizeof low, i, j);
    if (f->ku && on_diagonal(f, -f->ku, &i, &j))
        put_element(f, high, sizeof high, i, j);
    const char *both = low[0] && high[0] ? ", " : "";
    if (f->kind == FACTOR_TRIANGLE)
        explain_note(in, "not", "diagonal: %s%s", low, high);
    else if (f->kind == FACTOR_TRIDIAGONAL || f->kind == FACTOR_TRIDIAGONAL_PD)
        explain_note(in, "not", "triangular: %s%s%s", low, both, high);
    else if (f->kind == FACTOR_BAND || f->kind == FACTOR_BAND_PD)
        explain_note(in, "band", "%lld below and %lld above the diagonal: %s%s%s",
                     (long long)f->kl, (long long)f->ku, low, both, high);
    else
        explain_note(in, "not", "%s: %s%s%s", f->kind == FACTOR_PERMUTED
                     ? "triangular as it stands"
                     : "triangular (rows or columns in any order) nor banded",
                     low, both, high);
}

static bool find_asymmetric(const Factor *f, int64_t *row, int64_t *col)
{
    for (int64_t i = 0; i < f->s->n; i++)
        for (int64_t j = 0; j <= i; j++) {
            if (mat_gap(f->s->type, f->a.data, i * f->a.rs + j * f->a.cs,
                        j * f->a.rs + i * f->a.cs) == 0)
                continue;
            *row = i, *col = j;
            return true;
        }
    return false;
}

static void rule_out_symmetric(const Factor *f)
{
    Interp *in = f->s->call->in;
    int64_t i, j;
    char one[80], other[80];
    if (find_asymmetric(f, &i, &j)) {
        put_element(f, one, sizeof one, j, i);
        put_element(f, other, sizeof other, i, j);
        explain_note(in, "not", "%s: %s%s%s",
                     blas_is_complex(f->s->type) ? "Hermitian" : "symmetric", one,
                     i == j ? "" : ", ", i == j ? "" : other);
        return;
    }
    if (f->not_definite) {
        explain_note(in, "not", "positive definite: its leading %d×%d minor is not positive",
                     f->not_definite, f->not_definite);
        return;
    }
    for (i = 0; i < f->s->n; i++)
        if (!(mat_real(f->s->type, f->a.data, i * (f->a.rs + f->a.cs)) > 0)) {
            put_element(f, one, sizeof one, i, i);
            explain_note(in, "not", "positive definite: %s", one);
            return;
        }
}

static void explain_story(const Factor *f, const Story *story, int64_t nrhs)
{
    const Stack *s = f->s;
    if (blas_is_complex(s->type) ? story->cplx[0] : story->real[0])
        linalg_explain_dense(s->call, s->type, s->n, nrhs, story->real, story->cplx);
}

static void explain_shape(const Factor *f, const Story *story, int64_t nrhs)
{
    bool definite = f->kind == FACTOR_CHOLESKY || f->kind == FACTOR_TRIDIAGONAL_PD ||
                    f->kind == FACTOR_BAND_PD;
    explain_note(f->s->call->in, "saw", "%s", story->saw);
    if (f->kind == FACTOR_DIAGONAL)
        return;
    rule_out_shapes(f);
    if (!definite && f->kind != FACTOR_TRIANGLE && f->kind != FACTOR_PERMUTED)
        rule_out_symmetric(f);
    explain_story(f, story, nrhs);
}

/* ---- how good the answer is ---- */
static long double part(BlasType t, const void *data, int64_t i, bool imag)
{
    if (!blas_is_complex(t))
        return imag ? 0 : mat_real(t, data, i);
    return mat_real(t == BLAS_C ? BLAS_S : BLAS_D, data, 2 * i + imag);
}

/* |b - A x| / (|A| |x|) of the first right side, in the infinity norm. */
static double scaled_residual(const Factor *f, Mat b, const char *x)
{
    const Stack *s = f->s;
    BlasType t = s->type;
    double top = 0, norm = 0, size = 0;
    for (int64_t i = 0; i < s->n; i++) {
        long double re = part(t, b.data, i * b.rs, false), im = part(t, b.data, i * b.rs, true);
        double sum = 0;
        for (int64_t j = 0; j < s->n; j++) {
            int64_t at = i * f->a.rs + j * f->a.cs;
            long double ar = part(t, f->a.data, at, false), ai = part(t, f->a.data, at, true);
            long double xr = part(t, x, j, false), xi = part(t, x, j, true);
            re -= ar * xr - ai * xi;
            im -= ar * xi + ai * xr;
            sum += mat_abs(t, f->a.data, at);
        }
        double r = hypot((double)re, (double)im), v = mat_abs(t, x, i);
        top = r > top || isnan(r) ? r : top;
        norm = sum > norm ? sum : norm;
        size = v > size ? v : size;
    }
    return top == 0 ? 0 : top / (norm * size);
}

static void explain_quality(Factor *f, Mat b, const char *x)
{
    const Stack *s = f->s;
    Interp *in = s->call->in;
    double rcond = factor_rcond(f), r = scaled_residual(f, b, x);
    double trust = f->kind == FACTOR_DIAGONAL ? 1 : factor_trust(f, rcond);
    double noise = (double)s->n * mat_eps(s->type);
    linalg_explain_rcond(s, rcond, r > noise ? trust * noise / r : trust);
    if (r == 0)
        explain_note(in, "residual", "0 = |b - A x| / (|A| |x|)");
    else
        explain_note(in, "residual", "%.1e = |b - A x| / (|A| |x|), %.2g eps", r,
                     r / mat_eps(s->type));
    if (f->refined)
        explain_note(in, "refined", "once: its backward error was above %lld eps", (long long)s->n);
}

void factor_explain_small(Factor *f, const Rhs *r, const uint8_t *done, const Out *x)
{
    Stack *s = f->s;
    Interp *in = s->call->in;
    double n = (double)s->n, each = 2 * n * n * n / 3 + 2 * n * n * (double)r->cols;
    Ill kept = f->ill;
    explain_pause(in);
    explain_note(in, "saw", "%lld small systems (what follows is about the first)",
                 (long long)r->count);
    explain_routine(in, LINALG_SMALL_TEXT, NULL, NULL);
    explain_flops(in, each * (double)r->count * (blas_is_complex(s->type) ? 4 : 1),
                  "2/3 n^3 and 2n^2 per right side");
    if (explain_on(in) && !f->told && done[0]) {
        s->at = 0;
        factor_make(f, linalg_rhs_matrix(r, s, 0));
        explain_quality(f, linalg_rhs_item(r, s, 0), x->data);
    }
    f->ill = kept;
    explain_resume(in);
}

/* What is left of a story where the factors are kept: the routine that substitutes, and its
 * FLOPs. */
static Story story_kept(const Factor *f, double nrhs)
{
    Story story = story_of(f, nrhs);
    const char *real = strchr(story.real, ' '), *cplx = strchr(story.cplx, ' ');
    const char *how = strstr(story.how, " and ");
    story.flops -= story_of(f, 0).flops;
    story.real = real ? real + 1 : story.real;
    story.cplx = cplx ? cplx + 1 : story.cplx;
    story.how = how ? how + 5 : story.how;
    return story;
}

static const char *before(const char *text, const char *end, char *out, size_t cap)
{
    const char *at = strstr(text, end);
    snprintf(out, cap, "%.*s", (int)(at ? (size_t)(at - text) : strlen(text)), text);
    return out;
}

void factor_explain_made(const Factor *f)
{
    const Stack *s = f->s;
    Interp *in = s->call->in;
    Story story = story_of(f, 0);
    char real[16], cplx[16], how[64];
    story.real = story.flops > 0 ? before(story.real, " ", real, sizeof real) : "";
    story.cplx = story.flops > 0 ? before(story.cplx, " ", cplx, sizeof cplx) : "";
    story.how = before(story.how, " and ", how, sizeof how);
    explain_pause(in);
    explain_flops(in, story.flops * (double)s->count * (blas_is_complex(s->type) ? 4 : 1),
                  story.how);
    if (s->count > 1)
        explain_note(in, "batch", "%lld matrices; this is the first", (long long)s->count);
    explain_shape(f, &story, 0);
    explain_resume(in);
}

void factor_explain(Factor *f, Mat b, int64_t nrhs, const char *x)
{
    const Stack *s = f->s;
    Interp *in = s->call->in;
    Story story = f->kept ? story_kept(f, (double)nrhs) : story_of(f, (double)nrhs);
    explain_pause(in);
    explain_flops(in, story.flops * (blas_is_complex(s->type) ? 4 : 1), story.how);
    if (!explain_on(in)) {
        explain_story(f, &story, nrhs);
    } else if (!f->told) {
        f->told = true;
        if (s->count > 1)
            explain_note(in, "batch", "%lld matrices; this is the first", (long long)s->count);
        explain_shape(f, &story, nrhs);
        if (f->kept)
            explain_note(in, "kept", "the factors were there: no factorisation");
        explain_quality(f, b, x);
    }
    explain_resume(in);
}
