/* lu and chol: the triangular factors themselves, as matrices. Any shape for lu; chol
 * checks symmetry, since potrf looks at one half only. */
#include "builtins/linalg/linalg.h"
#include "builtins/linalg/linalg_pencil.h"
#include "builtins/written/written.h"
#include "kernels/dense/dense.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Takes L and U (k x n, by columns) out of the factors, which lie packed where the larger of
 * the two is to be: m x n in L's place if m >= n, else in U's. */
static void split_lu(const Stack *a, char *l, char *u)
{
    int64_t m = a->m, n = a->n, k = m < n ? m : n, bytes = (int64_t)a->bytes;
    const char *lu = m < n ? u : l;
    for (int64_t j = 0; j < k; j++) {       /* columns that hold some of both */
        const char *from = lu + j * m * bytes;
        char *uj = u + j * k * bytes, *lj = l + j * m * bytes;
        if (m < n)
            memcpy(lj + j * bytes, from + j * bytes, (size_t)((m - j) * bytes));
        else
            memcpy(uj, from, (size_t)((j + 1) * bytes));
        memset(uj + (j + 1) * bytes, 0, (size_t)((k - 1 - j) * bytes));
        memset(lj, 0, (size_t)(j * bytes));
        mat_store(a->type, lj, j, 1, 0);
    }
}

/* The interchanges as a permutation matrix P with A = P L U. */
static void permutation(const Stack *a, const int *pivots, int64_t *order, Mat p)
{
    int64_t m = a->m, k = m < a->n ? m : a->n;
    for (int64_t i = 0; i < m; i++)
        order[i] = i;
    for (int64_t i = 0; i < k; i++) {
        int64_t other = pivots[i] - 1, t = order[i];
        order[i] = order[other];
        order[other] = t;
    }
    memset(p.data, 0, (size_t)(m * m) * a->bytes);
    for (int64_t i = 0; i < m; i++)
        mat_store(a->type, p.data, order[i] * p.rs + i * p.cs, 1, 0);
}

static double lu_flops(const Stack *a)
{
    double m = (double)(a->m > a->n ? a->m : a->n), k = (double)(a->m > a->n ? a->n : a->m);
    return (m * k * k - k * k * k / 3) * (double)a->count * (blas_is_complex(a->type) ? 4 : 1);
}

Value op_run_lu(OpCall *c)
{
    Stack a = linalg_stack(c, 0);
    linalg_check_lengths(&a);
    int64_t m = a.m, n = a.n, k = m < n ? m : n;
    Out p = linalg_out(&a, a.dt, m, m, false);
    Out l = linalg_out(&a, a.dt, m, k, true), u = linalg_out(&a, a.dt, k, n, true);
    int *pivots = linalg_work(c, (size_t)k, sizeof(int));
    int64_t *order = linalg_work(c, (size_t)m, sizeof *order);
    const Blas *blas = k ? linalg_blas(c) : NULL;
    if (blas)
        dense_threads(&c->in->ctx, blas, a.type, LAPACK_LU, k);
    for (int64_t i = 0; i < a.count; i++) {
        poll_interrupt(c->in);
        char *li = linalg_block(&l, i), *ui = linalg_block(&u, i), *packed = m < n ? ui : li;
        mat_copy(a.bytes, m, n, linalg_item(&a, i), mat_columns(packed, m));
        if (k)
            dense_lu(&c->in->ctx, blas, a.type, m, n, packed, pivots);
        split_lu(&a, li, ui);
        permutation(&a, pivots, order, (Mat){ linalg_block(&p, i), m, 1 });
    }
    linalg_explain_dense(c, a.type, k, 0, "getrf", "getrf");
    explain_flops(c->in, lu_flops(&a), "mk^2 - 1/3 k^3, k the smaller of m and n");
    Value vp = op_root(c, linalg_value(&a, &p)), vl = op_root(c, linalg_value(&a, &l));
    Value vu = op_root(c, linalg_value(&a, &u));
    return tuple_make(c->in, "P", v_retain(vp), "L", v_retain(vl), "U", v_retain(vu), NULL);
}

static _Noreturn void not_definite(const Stack *a, int minor)
{
    OpCall *c = a->call;
    char help[128];
    linalg_require_finite(a);
    snprintf(help, sizeof help, "eigvalsh(%s) shows the signs of the eigenvalues", arg_text(c, 0));
    arg_error_help(c, 0, ERR_NUMERIC, help,
                   "%s is not positive definite: its leading %d×%d minor is not positive",
                   arg_text(c, 0), minor, minor);
}

static void require_symmetric(const Stack *a) { linalg_require_symmetric(a, NULL); }

static void clear_above(const Stack *a, char *block)
{
    for (int64_t j = 1; j < a->n; j++)
        memset(block + (size_t)(j * a->n) * a->bytes, 0, (size_t)j * a->bytes);
}

Value op_run_chol(OpCall *c)
{
    linalg_refuse_ordering(c);
    Stack a = linalg_square(c, 0);
    Out l = linalg_out(&a, a.dt, a.n, a.n, true);
    const Blas *blas = a.n ? linalg_blas(c) : NULL;
    linalg_copy_symmetric(&a, &l, require_symmetric);
    if (blas)
        dense_threads(&c->in->ctx, blas, a.type, LAPACK_LU, a.n);
    for (int64_t i = 0; i < a.count && a.n; i++) {
        poll_interrupt(c->in);
        char *block = linalg_block(&l, i);
        int info = dense_cholesky(&c->in->ctx, blas, a.type, a.n, block);
        if (info > 0)
            not_definite(&a, info);
        clear_above(&a, block);
    }
    linalg_explain_dense(c, a.type, a.n, 0, "potrf", "potrf");
    return linalg_value(&a, &l);
}

/* ---- condest ---- */
/* The estimate for one matrix; a copy of it is destroyed. */
static double condition(const Stack *a, int64_t index, const Blas *blas, void *lu, int *pivots,
                        Scratch *work)
{
    mat_copy(a->bytes, a->n, a->n, linalg_item(a, index), mat_columns(lu, a->n));
    double norm = mat_norm1(a->type, a->n, a->n, mat_columns(lu, a->n));
    if (!isfinite(norm))
        return NAN;
    if (dense_lu(&a->call->in->ctx, blas, a->type, a->n, a->n, lu, pivots) > 0)
        return INFINITY;
    work->used = 0;
    return 1 / lapack_lu_rcond(blas, a->type, '1', a->n, lu, norm, work);
}

/* By getrf and gecon where nobody listens to single operations, no scope, no device and no
 * derivative. */
Value condest_run(OpCall *c)
{
    Interp *in = c->in;
    Tensor *t = c->args[0].tag == V_TENSOR ? c->args[0].tensor : NULL;
    if (in->scope || in->place || in->boxes || !t || t->rank < 2 || t->size == 0 ||
        !dtype_plain((DType)t->dtype) ||
        tensor_shape(t)[t->rank - 1] != tensor_shape(t)[t->rank - 2])
        return written_run(c, "condest");
    Stack a = linalg_stack(c, 0);
    linalg_check_lengths(&a);
    DType real = dtype_real(a.dt);
    const Blas *blas = linalg_blas(c);
    void *lu = linalg_matrix(c, a.n, a.n, a.bytes);
    int *pivots = linalg_work(c, (size_t)a.n, sizeof(int));
    Scratch work = { 0 };
    lapack_lu_rcond(blas, a.type, '1', a.n, lu, 1, &work);
    scratch_allocate(c, &work);
    dense_threads(&in->ctx, blas, a.type, LAPACK_LU, a.n);
    Out out = linalg_out(&a, real, -1, -1, false);
    for (int64_t i = 0; i < a.count; i++) {
        poll_interrupt(in);
        mat_store(blas_type(real), out.data, i, condition(&a, i, blas, lu, pivots, &work), 0);
    }
    linalg_explain_dense(c, a.type, a.n, 0, "getrf gecon", "getrf gecon");
    return linalg_value(&a, &out);
}
