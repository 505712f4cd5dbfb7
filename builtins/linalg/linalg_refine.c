/* Solutions of square systems after they were found: whose componentwise backward error is above
 * n eps is refined once in the precision that it was computed in (Skeel 1980; Higham, Accuracy and
 * Stability of Numerical Algorithms, section 12.2), and where that is not enough a notice says so:
 * elements have grown in the factorisation, which no condition number shows. */
#include "builtins/linalg/linalg_factor.h"
#include "interp/output/output.h"
#include "kernels/lapack/backward.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FEW = 4 };                /* columns that are looked at one by one */

/* Substitution in a triangle, and a division, are backward stable in every component. */
static bool is_stable(const Factor *f)
{
    return f->kind == FACTOR_DIAGONAL || f->kind == FACTOR_TRIANGLE ||
           f->kind == FACTOR_PERMUTED;
}

static double limit(const Factor *f)
{
    return (double)f->s->n * mat_eps(f->s->type);
}

static double error_of(const Factor *f, Mat b, const char *x)
{
    return backward_error(f->s->type, f->s->n, f->kl, f->ku, f->a, x, b, 1,
                          f->residual);
}

/* x + d, where that is better; returns the error that is left. */
static double refine(Factor *f, Mat b, char *x, double before)
{
    Stack *s = f->s;
    BlasType real = blas_type(dtype_real(s->dt));
    int64_t parts = s->n * (blas_is_complex(s->type) ? 2 : 1);
    size_t bytes = (size_t)s->n * s->bytes;
    char *better = f->better;
    factor_solve(f, mat_columns(f->residual, s->n), 1, better);
    for (int64_t i = 0; i < parts; i++)
        mat_store(real, better, i, mat_real(real, x, i) + mat_real(real, better, i), 0);
    double after = error_of(f, b, better);
    f->refined++;
    if (!(after < before))
        return before;
    memcpy(x, better, bytes);
    return after;
}

/* Are all columns plainly well? A sum of them that hides the error of one by a factor of 8 has
 * hidden nothing that is far from the limit. */
static bool plainly_well(const Factor *f, Mat b, int64_t cols, const char *x)
{
    return cols > FEW && 8 * backward_error(f->s->type, f->s->n, f->kl, f->ku, f->a, x, b, cols,
                                            f->residual) <= limit(f);
}

void factor_refine(Factor *f, Mat b, int64_t nrhs, char *x)
{
    Stack *s = f->s;
    double worst = 0;
    if (is_stable(f))
        return;
    if (!f->residual) {
        size_t room = backward_room(s->type, s->n, nrhs), last = (size_t)s->n * s->bytes;
        f->residual = room + last <= sizeof f->few ? f->few
                                                   : linalg_work(s->call, room + last, 1);
        f->better = f->residual + room;
    }
    if (plainly_well(f, b, nrhs, x))
        return;
    for (int64_t j = 0; j < nrhs; j++) {
        Mat column = { b.data + j * b.cs * (int64_t)s->bytes, b.rs, b.cs };
        char *xj = x + (size_t)(j * s->n) * s->bytes;
        double error = error_of(f, column, xj);
        if (error > limit(f))
            error = refine(f, column, xj, error);
        worst = error > worst ? error : worst;
    }
    f->backward = worst > f->backward ? worst : f->backward;
    f->grown += worst > limit(f);
}

/* 3.1e-5 is 11 digits of f64's 16 more than eps. */
static int digits_lost(const Factor *f)
{
    return (int)ceil(log10(f->backward / mat_eps(f->s->type)) - 0.5);
}

void factor_grown_notice(const Factor *f, bool inverse)
{
    const Stack *s = f->s;
    OpCall *c = s->call;
    char who[160] = "";
    if (f->grown == 0)
        return;
    if (s->batch_rank)
        snprintf(who, sizeof who, "%lld of the %lld systems: ", (long long)f->grown,
                 (long long)f->ill.total);
    int digits = digits_lost(f);
    const char *a = arg_text(c, s->arg), *plural = digits == 1 ? "" : "s";
    if (inverse)
        notice(c->in, "%srounding errors that grew in the factorisation of %s cost about %d digit"
               "%s of its inverse: |I - A X| is %.1e of |A| |X| + I in a row; pinv(%s) goes by the "
               "SVD, without growth", who, a, digits, plural, f->backward, a);
    else
        notice(c->in, "%srounding errors that grew in the factorisation of %s cost about %d digit"
               "%s of the solution: |b - A x| is %.1e of |A| |x| + |b| in a row; lstsq(%s, %s) "
               "solves by QR, without growth", who, a, digits, plural, f->backward, a,
               arg_text(c, 1));
}
