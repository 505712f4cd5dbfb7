/* Condensed forms: schur, hess, ldl. Each copies the operand into LAPACK's order, runs one
 * routine of kernels/lapack/lapack_schur.c per matrix and hands the factors back as transposed
 * views of what LAPACK wrote. */
#include "builtins/linalg/linalg.h"
#include "kernels/lapack/lapack_functions.h"

#include <stdio.h>
#include <string.h>

typedef int Factor(const Blas *, BlasType, int64_t n, void *a, void *q, Scratch *);

/* Two n x n factors by columns: `routine` turns a copy of A into the first. */
static void two_factors(Stack *a, Factor *routine, Out *first, Out *second)
{
    OpCall *c = a->call;
    int64_t n = a->n;
    Scratch work = { 0 };
    linalg_require_finite(a);
    *first = linalg_out(a, a->dt, n, n, true);
    *second = linalg_out(a, a->dt, n, n, true);
    if (!n || !a->count)
        return;
    const Blas *l = linalg_blas(c);
    routine(l, a->type, n, first->data, second->data, &work);
    scratch_allocate(c, &work);
    lapack_threads(&c->in->ctx, l, LAPACK_EIG, n);
    for (int64_t i = 0; i < a->count; i++) {
        poll_interrupt(c->in);
        char *t = linalg_block(first, i), *q = linalg_block(second, i);
        mat_copy(a->bytes, n, n, linalg_item(a, i), mat_columns(t, n));
        work.used = 0;
        int info = routine(l, a->type, n, t, q, &work);
        if (info)
            linalg_no_convergence(a, info);
    }
}

static Value factor_tuple(const Stack *a, const char *name, Out *x, const char *other, Out *y)
{
    OpCall *c = a->call;
    Value first = op_root(c, linalg_value(a, x)), second = op_root(c, linalg_value(a, y));
    return tuple_make(c->in, name, v_retain(first), other, v_retain(second), NULL);
}

Value op_run_schur(OpCall *c)
{
    Stack a = linalg_square(c, 0);
    Out t, z;
    if (arg_bool(c, 1, false))
        linalg_stack_retype(&a, dtype_complex(a.dt));
    linalg_explain_routines(c, a.type, "gees", "gees");
    linalg_explain_flops(&a, 25 * (double)a.n * (double)a.n * (double)a.n, "25n^3");
    two_factors(&a, lapack_schur, &t, &z);
    return factor_tuple(&a, "T", &t, "Z", &z);
}

Value op_run_hess(OpCall *c)
{
    Stack a = linalg_square(c, 0);
    Out h, q;
    linalg_explain_routines(c, a.type, "gehrd orghr", "gehrd unghr");
    two_factors(&a, lapack_hess, &h, &q);
    return factor_tuple(&a, "H", &h, "Q", &q);
}

/* The permutation matrix with P[order[i], i] = 1, by columns. */
static void store_permutation(const Stack *a, const int64_t *order, char *p)
{
    memset(p, 0, (size_t)(a->n * a->n) * a->bytes);
    for (int64_t i = 0; i < a->n; i++)
        mat_store(a->type, p, i * a->n + order[i], 1, 0);
}

static void ldl_items(Stack *a, Out *l, Out *d, Out *p)
{
    OpCall *c = a->call;
    int64_t n = a->n;
    Scratch work = { 0 };
    const Blas *blas = linalg_blas(c);
    int *pivots = linalg_work(c, (size_t)n, sizeof *pivots);
    int64_t *order = linalg_work(c, (size_t)n, sizeof *order);
    lapack_ldl(blas, a->type, n, l->data, d->data, order, pivots, &work);
    scratch_allocate(c, &work);
    lapack_threads(&c->in->ctx, blas, LAPACK_LU, n);
    for (int64_t i = 0; i < a->count; i++) {
        poll_interrupt(c->in);
        work.used = 0;
        lapack_ldl(blas, a->type, n, linalg_block(l, i), linalg_block(d, i), order, pivots, &work);
        store_permutation(a, order, linalg_block(p, i));
    }
}

static void ldl_require(const Stack *a)
{
    char help[160];
    linalg_require_finite(a);
    snprintf(help, sizeof help, "lu(%s) factors any matrix", arg_text(a->call, a->arg));
    linalg_require_symmetric(a, help);
}

Value op_run_ldl(OpCall *c)
{
    Stack a = linalg_square(c, 0);
    int64_t n = a.n;
    linalg_explain_routines(c, a.type, "sytrf", "hetrf");
    Out l = linalg_out(&a, a.dt, n, n, true), d = linalg_out(&a, a.dt, n, n, true);
    Out p = linalg_out(&a, a.dt, n, n, true);
    linalg_copy_symmetric(&a, &l, ldl_require);
    if (n && a.count)
        ldl_items(&a, &l, &d, &p);
    Value vl = op_root(c, linalg_value(&a, &l)), vd = op_root(c, linalg_value(&a, &d));
    Value vp = op_root(c, linalg_value(&a, &p));
    return tuple_make(c->in, "L", v_retain(vl), "D", v_retain(vd), "P", v_retain(vp), NULL);
}
