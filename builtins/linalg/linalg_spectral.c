/* Eigenvalues and singular values: eig, eigvals, eigh, eigvalsh, svd, svdvals, and what
 * singular values decide: pinv, rank, null, orth. Matrices with NaN or infinities are
 * turned away first: some of LAPACK's iterations would not end on them. */
#include "builtins/linalg/linalg.h"
#include "builtins/linalg/linalg_pencil.h"
#include "builtins/written/written.h"
#include "kernels/condensed/bidiagonal.h"
#include "kernels/condensed/symmetric.h"
#include "kernels/spectral/general.h"
#include "kernels/spectral/tridiagonal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- singular values ---- */
/* A lies by rows, so what LAPACK factors is A' = V S U', and its two factors, read by
 * rows, are Vt and U without moving an element. */
typedef struct SvdJob {
    Stack *a;
    const Blas *blas;
    char job;
    bool own;                   /* by a bidiagonal form of our own */
    Mat copy;                   /* as the routine wants it */
    void *turned;               /* where that is A itself, room for U by columns */
    Scratch work;
} SvdJob;

static bool svd_own(const Stack *a, char job)
{
    int64_t less = a->m < a->n ? a->m : a->n;
    return (job != 'A' || a->m == a->n) && bidiagonal_own(a->type, a->m + a->n - less, less);
}

static void svd_explain(const Stack *a, char job)
{
    if (svd_own(a, job))
        linalg_explain_own(a->call, a->type, "own bidiagonal form",
                           job == 'N' ? "bdsqr" : "bdsdc ormbr", "");
    else
        linalg_explain_routines(a->call, a->type, "gesdd", "gesdd");
}

static int svd_call(SvdJob *j, void *s, void *u, void *vt)
{
    Stack *a = j->a;
    int64_t less = a->m < a->n ? a->m : a->n, more = a->m + a->n - less;
    int64_t held = bidiagonal_held(a->type, more, less);
    Ctx *ctx = &a->call->in->ctx;
    if (!j->own)
        return lapack_svd(j->blas, a->type, j->job, a->n, a->m, j->copy.data, s, vt, u, &j->work);
    if (j->job == 'N')
        return bidiagonal_values(ctx, j->blas, a->type, more, less, held, j->copy.data, s,
                                 &j->work);
    if (!j->turned)
        return bidiagonal_vectors(ctx, j->blas, a->type, more, less, held, j->copy.data, s, vt, u,
                                  &j->work);
    int info = bidiagonal_vectors(ctx, j->blas, a->type, more, less, held, j->copy.data, s,
                                  j->turned, vt, &j->work);
    if (s) {
        mat_copy(a->bytes, more, less, mat_columns(j->turned, more), (Mat){ u, less, 1 });
        mat_turn(a->bytes, less, vt);
    }
    return info;
}

static void svd_init(SvdJob *j, Stack *a, char job)
{
    OpCall *c = a->call;
    *j = (SvdJob){ .a = a, .job = job };
    linalg_check_lengths(a);
    if (!a->m || !a->n)
        return;
    j->blas = linalg_blas(c);
    j->own = svd_own(a, job);
    j->copy = (Mat){ linalg_matrix(c, a->m, a->n, a->bytes), a->n, 1 };
    if (j->own && a->m > a->n) {            /* no wider than high */
        j->copy = mat_columns(j->copy.data, a->m);
        j->turned = job == 'N' ? NULL : linalg_matrix(c, a->m, a->n, a->bytes);
    }
    svd_call(j, NULL, NULL, NULL);
    scratch_allocate(c, &j->work);
    lapack_threads(&c->in->ctx, j->blas, LAPACK_SVD, j->own ? 0 : a->m < a->n ? a->m : a->n);
}

static void svd_one(SvdJob *j, int64_t index, void *s, void *u, void *vt)
{
    Stack *a = j->a;
    poll_interrupt(a->call->in);
    mat_copy(a->bytes, a->m, a->n, linalg_item(a, index), j->copy);
    j->work.used = 0;
    int info = svd_call(j, s, u, vt);
    if (info)
        linalg_no_convergence(a, info);
}

static void identity_block(const Stack *a, int64_t n, void *block)
{
    memset(block, 0, (size_t)(n * n) * a->bytes);
    for (int64_t i = 0; i < n; i++)
        mat_store(a->type, block, i * (n + 1), 1, 0);
}

typedef struct Svd { Out u, s, vt; } Svd;

static Svd svd_run(Stack *a, bool full)
{
    int64_t m = a->m, n = a->n, k = m < n ? m : n;
    Svd r = { linalg_out(a, a->dt, m, full ? m : k, false),
             linalg_out(a, dtype_real(a->dt), k, -1, false),
              linalg_out(a, a->dt, full ? n : k, n, false) };
    SvdJob j;
    linalg_require_finite(a);
    svd_explain(a, full ? 'A' : 'S');
    svd_init(&j, a, full ? 'A' : 'S');
    for (int64_t i = 0; i < a->count && (k || full); i++) {
        if (k) {
            svd_one(&j, i, linalg_block(&r.s, i), linalg_block(&r.u, i), linalg_block(&r.vt, i));
        } else if (full) {
            identity_block(a, m, linalg_block(&r.u, i));
            identity_block(a, n, linalg_block(&r.vt, i));
        }
    }
    return r;
}

Value op_run_svd(OpCall *c)
{
    Stack a = linalg_stack(c, 0);
    Svd r = svd_run(&a, arg_bool(c, 1, false));
    Value u = op_root(c, linalg_value(&a, &r.u)), s = op_root(c, linalg_value(&a, &r.s));
    Value vt = op_root(c, linalg_value(&a, &r.vt));
    return tuple_make(c->in, "U", v_retain(u), "S", v_retain(s), "Vt", v_retain(vt), NULL);
}

Out linalg_singular_values(Stack *a)
{
    int64_t k = a->m < a->n ? a->m : a->n, row, col;
    BlasType real = blas_type(dtype_real(a->dt));
    Out s = linalg_out(a, dtype_real(a->dt), k, -1, false);
    SvdJob j;
    double more = (double)(a->m > a->n ? a->m : a->n), less = (double)k;
    svd_explain(a, 'N');
    linalg_explain_flops(a, 8 * more * less * less / 3, "8/3 mn^2");
    svd_init(&j, a, 'N');
    for (int64_t i = 0; i < a->count && k; i++) {
        char *block = linalg_block(&s, i);
        if (mat_finite(a->type, a->m, a->n, linalg_item(a, i), &row, &col))
            svd_one(&j, i, block, NULL, NULL);
        else
            for (int64_t p = 0; p < k; p++)
                mat_store(real, block, p, NAN, 0);
    }
    return s;
}

Value op_run_svdvals(OpCall *c)
{
    Stack a = linalg_stack(c, 0);
    linalg_require_finite(&a);
    Out s = linalg_singular_values(&a);
    return linalg_value(&a, &s);
}

/* ---- eigenvalues ---- */
/* Copies A as LAPACK wants a Hermitian matrix. The lower half of A by rows is the upper one by
 * columns: read from there whatever the layout of A, since the other half gives vectors of
 * other signs. */
static void copy_hermitian(const Stack *a, int64_t index, void *to)
{
    mat_copy(a->bytes, a->n, a->n, linalg_item(a, index), (Mat){ to, a->n, 1 });
    mat_conjugate(a->type, to, a->n * a->n);
}

/* The help is put together only where it is needed: it costs as much as a small eigh. */
static void require_hermitian(const Stack *a)
{
    int64_t i = 0;
    while (i < a->count && a->n && mat_is_hermitian(a->type, a->n, linalg_item(a, i)))
        i++;
    if (i == a->count || !a->n)
        return;
    char help[256];
    const char *name = arg_text(a->call, a->arg);
    snprintf(help, sizeof help, "eig(%s) takes any matrix, eigh((%s + %s')/2) its symmetric part",
             name, name, name);
    linalg_require_symmetric(a, help);
}

/* LAPACK's whole driver, or ours over its parts: who is called, and what `explain` says. */
typedef struct EighWay {
    bool divided, formed;
    const char *own, *real, *cplx;
    LapackWeight weight;
} EighWay;

static const EighWay *eigh_way(const Stack *a, bool vectors)
{
    static const EighWay driver = { false, false, NULL, "syevd", "heevd", LAPACK_EIGH },
        divided = { true, false, "own divide and conquer", "sytrd ormtr", "hetrd unmtr",
                    LAPACK_SYTRD },
        own = { true, false, "own tridiagonal form, own divide and conquer", "ormtr", "",
                LAPACK_SYTRD },
        values = { false, true, "own tridiagonal form, own divide and conquer", "", "",
                   LAPACK_SYTRD },
        few = { false, true, "own tridiagonal form", "sterf", "", LAPACK_SYTRD };
    bool formed = symmetric_own(a->type, a->n);
    if (!vectors)
        return !formed ? &driver : a->n < VALUES_DIVIDED_LEAST ? &few : &values;
    return a->n < EIGH_DIVIDED_LEAST ? &driver : formed ? &own : &divided;
}

static void eigh_explain(const Stack *a, const EighWay *way)
{
    if (way->own)
        linalg_explain_own(a->call, a->type, way->own, way->real, way->cplx);
    else
        linalg_explain_routines(a->call, a->type, way->real, way->cplx);
}

/* As lapack_eigh. */
static int eigh_one(Stack *a, const Blas *blas, const EighWay *way, bool vectors, void *block,
                    void *values, Scratch *work)
{
    if (way->divided)
        return lapack_eigh_divided(&a->call->in->ctx, blas, a->type, a->n, block, values, work);
    if (way->formed)
        return lapack_eigvalsh_divided(&a->call->in->ctx, blas, a->type, a->n, block, values,
                                       work);
    return lapack_eigh(blas, a->type, vectors, 'U', a->n, block, values, work);
}

static void eigh_run(Stack *a, bool vectors, Out *values, Out *v)
{
    OpCall *c = a->call;
    Scratch work = { 0 };
    void *block = NULL;
    linalg_require_finite(a);
    require_hermitian(a);
    const EighWay *way = eigh_way(a, vectors);
    eigh_explain(a, way);
    *values = linalg_out(a, dtype_real(a->dt), a->n, -1, false);
    *v = (Out){ NULL, NULL, 0 };
    if (vectors)
        *v = linalg_out(a, a->dt, a->n, a->n, true);
    if (!a->n)
        return;
    const Blas *blas = linalg_blas(c);
    eigh_one(a, blas, way, vectors, NULL, NULL, &work);
    scratch_allocate(c, &work);
    if (!vectors)
        block = linalg_matrix(c, a->n, a->n, a->bytes);
    for (int64_t i = 0; i < a->count; i++) {
        poll_interrupt(c->in);
        void *at = vectors ? linalg_block(v, i) : block;
        copy_hermitian(a, i, at);
        work.used = 0;
        lapack_threads(&c->in->ctx, blas, way->weight, a->n);
        int info = eigh_one(a, blas, way, vectors, at, linalg_block(values, i), &work);
        if (info)
            linalg_no_convergence(a, info);
    }
}

static Value values_and_vectors(const Stack *a, Out *values, Out *vectors)
{
    OpCall *c = a->call;
    Value w = op_root(c, linalg_value(a, values)), v = op_root(c, linalg_value(a, vectors));
    return tuple_make(c->in, "values", v_retain(w), "vectors", v_retain(v), NULL);
}

Value op_run_eigh(OpCall *c)
{
    if (written_asked(c, 1))
        return written_call(c, "_eigh_more");
    Stack a = linalg_square(c, 0);
    Out values, vectors;
    eigh_run(&a, true, &values, &vectors);
    return values_and_vectors(&a, &values, &vectors);
}

Value op_run_eigvalsh(OpCall *c)
{
    Stack a = linalg_square(c, 0);
    Out values, vectors;
    eigh_run(&a, false, &values, &vectors);
    return linalg_value(&a, &values);
}

void linalg_take_real(Stack *a, Out *o, int64_t cols)
{
    Out real = linalg_out(a, dtype_real(o->t->dtype), a->n, cols, cols >= 0);
    int64_t size = real.t->size;
    mat_copy(dtype_info(real.t->dtype)->bytes, size, 1, (Mat){ o->data, 2, 1 },
             (Mat){ real.data, 1, size });
    *o = real;
}

static int eig_one(Stack *a, const Blas *blas, void *copy, void *w, void *v, bool *real,
                   Scratch *work)
{
    if (general_own(a->type, a->n))
        return general_eig(&a->call->in->ctx, blas, a->type, a->n, copy, w, v, real, work);
    return lapack_eig(blas, a->type, a->n, copy, w, v, real, work);
}

static void eig_explain(const Stack *a, bool vectors)
{
    if (general_own(a->type, a->n))
        linalg_explain_own(a->call, a->type, "own Hessenberg form, own QR iteration",
                           vectors ? "laqr3 trevc3" : "laqr3", "");
    else
        linalg_explain_routines(a->call, a->type, "geev", "geev");
}

static void eig_run(Stack *a, bool vectors, Out *values, Out *v)
{
    OpCall *c = a->call;
    DType complex_dt = dtype_complex(a->dt);
    Scratch work = { 0 };
    bool all_real = true, real = true;
    linalg_require_finite(a);
    eig_explain(a, vectors);
    *values = linalg_out(a, complex_dt, a->n, -1, false);
    *v = (Out){ NULL, NULL, 0 };
    if (vectors)
        *v = linalg_out(a, complex_dt, a->n, a->n, true);
    if (a->n) {
        const Blas *blas = linalg_blas(c);
        void *copy = linalg_matrix(c, a->n, a->n, a->bytes);
        eig_one(a, blas, copy, NULL, v->data, &real, &work);
        scratch_allocate(c, &work);
        lapack_threads(&c->in->ctx, blas, LAPACK_EIG, general_own(a->type, a->n) ? 0 : a->n);
        for (int64_t i = 0; i < a->count; i++) {
            poll_interrupt(c->in);
            mat_copy(a->bytes, a->n, a->n, linalg_item(a, i), mat_columns(copy, a->n));
            work.used = 0;
            int info = eig_one(a, blas, copy, linalg_block(values, i),
                               vectors ? linalg_block(v, i) : NULL, &real, &work);
            if (info)
                linalg_no_convergence(a, info);
            all_real = all_real && real;
        }
    }
    if (!blas_is_complex(a->type) && all_real) {
        linalg_take_real(a, values, -1);
        if (vectors)
            linalg_take_real(a, v, a->n);
    }
}

Value op_run_eig(OpCall *c)
{
    Value pair;
    if (written_asked(c, 1) && pencil_run(c, arg_bool(c, 2, false), &pair))
        return pair;
    if (written_asked(c, 1) || arg_bool(c, 2, false))
        return written_call(c, "_eig_more");
    Stack a = linalg_square(c, 0);
    Out values, vectors;
    eig_run(&a, true, &values, &vectors);
    return values_and_vectors(&a, &values, &vectors);
}

Value op_run_eigvals(OpCall *c)
{
    Stack a = linalg_square(c, 0);
    Out values, vectors;
    eig_run(&a, false, &values, &vectors);
    return linalg_value(&a, &values);
}

/* ---- decided by singular values ---- */
static double tolerance(OpCall *c, int i, const Stack *a)
{
    int64_t big = a->m > a->n ? a->m : a->n;
    if (!arg_given(c, i) || c->args[i].tag == V_NONE)
        return (double)big * mat_eps(a->type);
    double rtol = arg_float(c, i);
    if (!(rtol >= 0))
        arg_error(c, i, ERR_VALUE, "rtol must be 0 or more, but it is %g", rtol);
    return rtol;
}

static int64_t rank_of(BlasType real, const void *s, int64_t k, double rtol)
{
    int64_t r = 0;
    while (r < k && mat_real(real, s, r) > rtol * mat_real(real, s, 0))
        r++;
    return r;
}

Value op_run_rank(OpCall *c)
{
    Stack a = linalg_stack(c, 0);
    linalg_require_finite(&a);
    BlasType real = blas_type(dtype_real(a.dt));
    Out s = linalg_singular_values(&a), r = linalg_out(&a, DT_I64, -1, -1, false);
    for (int64_t i = 0; i < a.count; i++)
        ((int64_t *)r.data)[i] = rank_of(real, linalg_block(&s, i), a.m < a.n ? a.m : a.n,
                                         tolerance(c, 1, &a));
    return linalg_value(&a, &r);
}

/* pinv(A) = V diag(1/s) U', with the singular values below the tolerance left out. */
Value op_run_pinv(OpCall *c)
{
    Stack a = linalg_stack(c, 0);
    int64_t m = a.m, n = a.n, k = m < n ? m : n;
    double rtol = tolerance(c, 1, &a);
    BlasType real = blas_type(dtype_real(a.dt));
    Svd r = svd_run(&a, false);
    Out x = linalg_out(&a, a.dt, n, m, false);
    for (int64_t i = 0; i < a.count && k; i++) {
        char *u = linalg_block(&r.u, i), *vt = linalg_block(&r.vt, i), *s = linalg_block(&r.s, i);
        int64_t rank = rank_of(real, s, k, rtol);
        mat_conjugate(a.type, u, m * k);
        mat_conjugate(a.type, vt, k * n);
        for (int64_t p = 0; p < rank; p++)
            for (int64_t q = 0; q < n; q++) {
                int64_t at = p * n + q;
                double scale = 1 / mat_real(real, s, p);
                double im = blas_is_complex(a.type) ? mat_real(real, vt, 2 * at + 1) : 0;
                mat_store(a.type, vt, at, mat_real(a.type, vt, at) * scale, im * scale);
            }
        if (n && m)
            gemm(&c->in->ctx, linalg_blas(c), a.dt, n, m, rank, (Mat){ vt, 1, n }, (Mat){ u, 1, k },
                 (Mat){ linalg_block(&x, i), m, 1 });
        poll_interrupt(c->in);
    }
    return linalg_value(&a, &x);
}

static Stack single_matrix(OpCall *c)
{
    Stack a = linalg_stack(c, 0);
    if (a.batch_rank)
        arg_error(c, 0, ERR_SHAPE,
                  "%s must be one matrix: the width of the result depends on its rank",
                  arg_text(c, 0));
    return a;
}

/* Columns of V for singular values that count as zero. */
Value op_run_null(OpCall *c)
{
    Stack a = single_matrix(c);
    int64_t n = a.n, k = a.m < n ? a.m : n;
    Svd r = svd_run(&a, true);
    int64_t rank = rank_of(blas_type(dtype_real(a.dt)), r.s.data, k, tolerance(c, 1, &a));
    Out x = linalg_out(&a, a.dt, n, n - rank, true);
    memcpy(x.data, r.vt.data + (size_t)(rank * n) * a.bytes, (size_t)((n - rank) * n) * a.bytes);
    mat_conjugate(a.type, x.data, (n - rank) * n);
    return linalg_value(&a, &x);
}

/* Columns of U for those that do not. */
Value op_run_orth(OpCall *c)
{
    Stack a = single_matrix(c);
    int64_t m = a.m, k = m < a.n ? m : a.n;
    Svd r = svd_run(&a, false);
    int64_t rank = rank_of(blas_type(dtype_real(a.dt)), r.s.data, k, tolerance(c, 1, &a));
    Out x = linalg_out(&a, a.dt, m, rank, false);
    mat_copy(a.bytes, m, rank, (Mat){ r.u.data, k, 1 }, (Mat){ x.data, rank < 1 ? 1 : rank, 1 });
    return linalg_value(&a, &x);
}
