/* Factorisations and what follows from them by ScaLAPACK. Work space is asked for, agreed on, used.
 * */
#include "kernels/grid/grid_rank.h"
#include "kernels/grid/scalapack.h"
#include "kernels/lapack/lapack.h"

#include <string.h>

static const int one_int = 1;

static int extent(const GridTensor *t, int axis)
{
    return axis < t->axes ? (int)t->shape[axis] : 1;
}

static int least(int x, int y) { return x < y ? x : y; }

static const GridTensor *read_matrix(GridRank *g, Wire *in)
{
    const GridTensor *a = grid_find(g, wire_get_u64(in));
    grid_check_matrix(g, a);
    if (a->axes != 2)
        err_raise(g->ctx, ERR_SHAPE, "a matrix is wanted");
    return a;
}

/* PBLAS takes a vector of one element in a matrix of one row for a number, which it tells to one
 * process and not to all that have the vector. So one row of reflectors gets a second, unused. */
static int64_t in_rows(int64_t m) { return m == 1 ? 2 : m; }

static GridTensor *reflectors(GridRank *g, const GridTensor *t)
{
    return t->shape[0] == 1 ? grid_leading(g, t, in_rows(1), t->shape[1]) : grid_twin(g, t);
}

static void store_one(void *with, int64_t i, void *x)
{
    (void)i;
    mat_store(blas_type(*(DType *)with), x, 0, 1, 0);
}

/* ---- LU ---- */
/* What row exchange after row exchange makes of 0, 1, 2 …: known to all. */
static void permutation(GridRank *g, const GridTensor *a, const int *pivots, int *all,
                        int64_t *order)
{
    int m = extent(a, 0), k = least(m, extent(a, 1));
    for (int64_t i = 0; i < a->slab.rows; i++)
        if (grid_row(g, i) < k)
            all[grid_row(g, i)] = pivots[i];
    grid_sum_ints(g, SCOPE_COLUMN, k, all);
    for (int64_t i = 0; i < m; i++)
        order[i] = i;
    for (int i = 0; i < k; i++) {
        int64_t t = order[i];
        order[i] = order[all[i] - 1];
        order[all[i] - 1] = t;
    }
}

/* The columns of a grid other than the first have pivots too, the same. */
void grid_do_lu(GridRank *g, Wire *in, Buf *out)
{
    uint64_t id[3] = { wire_get_u64(in), wire_get_u64(in), wire_get_u64(in) };
    const GridTensor *given = read_matrix(g, in);
    int m = extent(given, 0), n = extent(given, 1), k = least(m, n), info = 0;
    int64_t length = m;
    GridTensor *a = grid_twin(g, given), *p = grid_tensor(g, DT_I64, 1, &length, false);
    int *pivots = grid_pivots(g, given), *all = grid_work(g, (size_t)k + 1, sizeof *all);
    int64_t *order = grid_work(g, (size_t)m + 1, sizeof *order);
    grid_agree(g);
    GridDesc d = grid_desc(g, a);
    if (k)
        scalapack.getrf[grid_type(a->dtype)](&m, &n, grid_data(a), &one_int, &one_int, &d, pivots,
                                             &info);
    permutation(g, a, pivots, all, order);
    for (int64_t i = 0; i < p->slab.size; i++)
        ((int64_t *)grid_data(p))[i] = order[grid_row(g, i)];
    GridTensor *l = grid_leading(g, a, m, k), *u = grid_leading(g, a, k, n);
    grid_agree(g);
    grid_triangle(g, l, false, 0);
    grid_each_diagonal(g, l, store_one, &l->dtype);
    grid_triangle(g, u, true, 0);
    wire_u64(out, (uint64_t)info);
    if (id[0])
        grid_keep(g, id[0], p);
    grid_keep(g, id[1], l);
    grid_keep(g, id[2], u);
}

/* ---- Cholesky ---- */
void grid_do_chol(GridRank *g, Wire *in, Buf *out)
{
    uint64_t id = wire_get_u64(in);
    const GridTensor *given = read_matrix(g, in);
    int n = extent(given, 0), info = 0;
    GridTensor *a = grid_twin(g, given);
    grid_agree(g);
    GridFacts f = grid_facts(g, given);
    bool hermitian = f.hermitian;
    GridDesc d = grid_desc(g, a);
    if (n && n == extent(given, 1))
        scalapack.potrf[grid_type(a->dtype)]("L", &n, grid_data(a), &one_int, &one_int, &d, &info,
                                             1);
    grid_triangle(g, a, false, 0);
    wire_u64(out, (uint64_t)info);
    wire_u64(out, hermitian);
    grid_keep(g, id, a);
}

/* ---- QR ---- */
typedef struct Orthogonal { int m, n, k, type; void *tau; } Orthogonal;

/* a becomes its QR; room for tau and what the routines work in. */
static void factor_qr(GridRank *g, GridTensor *a, Orthogonal *q)
{
    _Alignas(16) char query[16] = { 0 };
    int lw = -1, info;
    GridDesc d = grid_desc(g, a);
    q->tau = grid_work(g, (size_t)(a->slab.cols + a->slab.rows + g->grid.nb), 16);
    scalapack.geqrf[q->type](&q->m, &q->n, grid_data(a), &one_int, &one_int, &d, q->tau, query,
                             &lw, &info);
    lw = grid_answer(q->type, query);
    void *work = grid_work(g, (size_t)lw, 16);
    grid_agree(g);
    scalapack.geqrf[q->type](&q->m, &q->n, grid_data(a), &one_int, &one_int, &d, q->tau, work,
                             &lw, &info);
}

/* The first columns of Q, in place of the reflectors. */
static void form_q(GridRank *g, GridTensor *a, const Orthogonal *q)
{
    _Alignas(16) char query[16] = { 0 };
    int lw = -1, info, cols = extent(a, 1);
    GridDesc d = grid_desc(g, a);
    if (!cols || !q->m)
        return;
    scalapack.orgqr[q->type](&q->m, &cols, &q->k, grid_data(a), &one_int, &one_int, &d, q->tau,
                             query, &lw, &info);
    lw = grid_answer(q->type, query);
    void *work = grid_work(g, (size_t)lw, 16);
    grid_agree(g);
    scalapack.orgqr[q->type](&q->m, &cols, &q->k, grid_data(a), &one_int, &one_int, &d, q->tau,
                             work, &lw, &info);
}

void grid_do_qr(GridRank *g, Wire *in, Buf *out)
{
    uint64_t id[2] = { wire_get_u64(in), wire_get_u64(in) };
    const GridTensor *given = read_matrix(g, in);
    bool full = wire_get_u64(in) != 0;
    Orthogonal o = { extent(given, 0), extent(given, 1), 0, grid_type(given->dtype), NULL };
    (void)out;
    o.k = least(o.m, o.n);
    GridTensor *a = grid_twin(g, given);
    grid_agree(g);
    if (o.k)
        factor_qr(g, a, &o);
    GridTensor *q = grid_leading(g, a, o.m, full ? o.m : o.k);
    GridTensor *r = grid_leading(g, a, full ? o.m : o.k, o.n);
    grid_agree(g);
    if (o.k)
        form_q(g, q, &o);
    else
        grid_each_diagonal(g, q, store_one, &q->dtype);
    grid_triangle(g, r, true, 0);
    grid_keep(g, id[0], q);
    grid_keep(g, id[1], r);
}

/* ---- least squares ---- */
typedef struct Ends { DType dtype; int count; double least, most; } Ends;

static void look_ends(void *with, int64_t i, void *x)
{
    Ends *e = with;
    double v = mat_abs(blas_type(e->dtype), x, 0);
    if (i >= e->count)
        return;
    e->least = v < e->least ? v : e->least;
    e->most = v > e->most ? v : e->most;
}

/* Does the triangle that the system was brought to have a diagonal without zeros, to rounding? */
static bool full_rank(GridRank *g, GridTensor *a, int count)
{
    Ends e = { a->dtype, count, 0x1p1000, 0 };
    grid_each_diagonal(g, a, look_ends, &e);
    double low = -grid_largest(g, SCOPE_ALL, -e.least), high = grid_largest(g, SCOPE_ALL, e.most);
    int most = extent(a, 0) > extent(a, 1) ? extent(a, 0) : extent(a, 1);
    return low > high * most * mat_eps(blas_type(a->dtype));
}

void grid_do_lstsq(GridRank *g, Wire *in, Buf *out)
{
    uint64_t id = wire_get_u64(in);
    const GridTensor *given = read_matrix(g, in), *right = grid_find(g, wire_get_u64(in));
    int m = extent(given, 0), n = extent(given, 1), nrhs = extent(right, 1), info = 0, lw = -1;
    int type = grid_type(given->dtype), most = m > n ? m : n;
    _Alignas(16) char query[16] = { 0 };
    grid_check_matrix(g, right);
    if (right->dtype != given->dtype || right->shape[0] != m)
        err_raise(g->ctx, ERR_DEVICE, "a right side that does not fit");
    GridTensor *a = reflectors(g, given), *b = grid_leading(g, right, most, nrhs);
    grid_agree(g);
    bool full = true;
    if (m && n && nrhs) {
        GridDesc da = grid_desc(g, a), db = grid_desc(g, b);
        scalapack.gels[type]("N", &m, &n, &nrhs, grid_data(a), &one_int, &one_int, &da,
                             grid_data(b), &one_int, &one_int, &db, query, &lw, &info, 1);
        lw = grid_answer(type, query);
        void *work = grid_work(g, (size_t)lw, 16);
        grid_agree(g);
        scalapack.gels[type]("N", &m, &n, &nrhs, grid_data(a), &one_int, &one_int, &da,
                             grid_data(b), &one_int, &one_int, &db, work, &lw, &info, 1);
        full = full_rank(g, a, least(m, n));
    }
    GridTensor *x = grid_leading(g, b, n, nrhs);
    if (x && right->axes == 1)
        x = grid_alias(g, x, 1, x->shape);
    grid_agree(g);
    wire_u64(out, info ? (uint64_t)info : !full);
    wire_u64(out, (uint64_t)least(m, n));
    grid_keep(g, id, x);
}

/* ---- eigenvalues ---- */
typedef struct Eigen {
    GridTensor *a, *z;
    void *w;                     /* all values, on every rank */
    int n, info, lw, lr, li;
    void *work, *rwork;
    int *iwork;
} Eigen;

static void run_divide(GridRank *g, Eigen *e)
{
    GridDesc d = grid_desc(g, e->a);
    int type = grid_type(e->a->dtype);
    if (blas_is_complex((BlasType)type))
        scalapack.heevd[type - BLAS_C]("V", "L", &e->n, grid_data(e->a), &one_int, &one_int, &d,
                                       e->w, grid_data(e->z), &one_int, &one_int, &d, e->work,
                                       &e->lw, e->rwork, &e->lr, e->iwork, &e->li, &e->info, 1, 1);
    else
        scalapack.syevd[type]("V", "L", &e->n, grid_data(e->a), &one_int, &one_int, &d, e->w,
                              grid_data(e->z), &one_int, &one_int, &d, e->work, &e->lw, e->iwork,
                              &e->li, &e->info, 1, 1);
}

static void run_iterate(GridRank *g, Eigen *e)
{
    GridDesc d = grid_desc(g, e->a);
    int type = grid_type(e->a->dtype);
    if (blas_is_complex((BlasType)type))
        scalapack.heev[type - BLAS_C]("V", "L", &e->n, grid_data(e->a), &one_int, &one_int, &d,
                                      e->w, grid_data(e->z), &one_int, &one_int, &d, e->work,
                                      &e->lw, e->rwork, &e->lr, &e->info, 1, 1);
    else
        scalapack.syev[type]("V", "L", &e->n, grid_data(e->a), &one_int, &one_int, &d, e->w,
                             grid_data(e->z), &one_int, &one_int, &d, e->work, &e->lw, &e->info,
                             1, 1);
}

/* p?syevd leaves out of its own answer what p?ormtr needs for a matrix that is not much larger than
 * a block: that one refuses then, on some ranks, when p?syevd has looked at info for the last time.
 */
static void eigen(GridRank *g, Eigen *e)
{
    const int nb = g->grid.nb, local = (int)(e->a->slab.rows + e->a->slab.cols);
    _Alignas(16) char work[16] = { 0 };
    double rwork[2] = { 0 };
    int iwork[2] = { 0 }, type = grid_type(e->a->dtype);
    void (*run)(GridRank *, Eigen *) = grid_divides(&g->grid, e->n) ? run_divide : run_iterate;
    e->work = work, e->rwork = rwork, e->iwork = iwork;
    e->lw = e->lr = e->li = -1;
    run(g, e);
    e->lw = 2 * grid_answer(type, work) + 6 * e->n + nb * (4 * nb + local);
    e->lr = 2 * grid_answer(grid_type(dtype_real(e->a->dtype)), rwork) + 6 * e->n;
    e->li = 2 * iwork[0] + 16;
    e->work = grid_work(g, (size_t)e->lw, 16);
    e->rwork = grid_work(g, (size_t)e->lr, 8);
    e->iwork = grid_work(g, (size_t)e->li, sizeof(int));
    grid_agree(g);
    run(g, e);
}

/* A vector on the grid of what every rank has in full. */
static void spread(GridRank *g, GridTensor *t, const void *all)
{
    for (int64_t i = 0; i < t->slab.size; i++)
        memcpy(grid_data(t) + (size_t)i * grid_bytes(t),
               (const char *)all + (size_t)grid_row(g, i) * grid_bytes(t), grid_bytes(t));
}

void grid_do_eigh(GridRank *g, Wire *in, Buf *out)
{
    uint64_t id[2] = { wire_get_u64(in), wire_get_u64(in) };
    const GridTensor *given = read_matrix(g, in);
    if (given->shape[0] != given->shape[1])
        err_raise(g->ctx, ERR_SHAPE, "a square matrix is wanted");
    Eigen e = { .a = grid_twin(g, given), .n = extent(given, 0) };
    e.z = grid_tensor(g, given->dtype, 2, given->shape, true);
    e.w = grid_work(g, (size_t)e.n + 1, 8);
    GridTensor *w = grid_tensor(g, dtype_real(given->dtype), 1, given->shape, false);
    grid_agree(g);
    if (e.n)
        eigen(g, &e);
    spread(g, w, e.w);
    wire_u64(out, (uint64_t)e.info);
    grid_keep(g, id[0], w);
    if (id[1])
        grid_keep(g, id[1], e.z);
}

/* ---- singular values ---- */
typedef struct Singular {
    GridTensor *a, *u, *vt;      /* u, vt: a itself where they are not wanted */
    bool vectors;
    void *s, *work, *rwork;
    int m, n, info, lw;
} Singular;

static void run_svd(GridRank *g, Singular *s)
{
    GridDesc da = grid_desc(g, s->a), du = grid_desc(g, s->u), dv = grid_desc(g, s->vt);
    int type = grid_type(s->a->dtype);
    const char *job = s->vectors ? "V" : "N";
    if (blas_is_complex((BlasType)type))
        scalapack.ungesvd[type - BLAS_C](job, job, &s->m, &s->n, grid_data(s->a), &one_int,
                                         &one_int, &da, s->s, grid_data(s->u), &one_int, &one_int,
                                         &du, grid_data(s->vt), &one_int, &one_int, &dv, s->work,
                                         &s->lw, s->rwork, &s->info, 1, 1);
    else
        scalapack.gesvd[type](job, job, &s->m, &s->n, grid_data(s->a), &one_int, &one_int, &da,
                              s->s, grid_data(s->u), &one_int, &one_int, &du, grid_data(s->vt),
                              &one_int, &one_int, &dv, s->work, &s->lw, &s->info, 1, 1);
}

static void svd(GridRank *g, Singular *s)
{
    _Alignas(16) char work[16] = { 0 };
    double rwork[2] = { 0 };
    int type = grid_type(s->a->dtype), real = grid_type(dtype_real(s->a->dtype));
    s->work = work, s->rwork = rwork, s->lw = -1;
    run_svd(g, s);
    int most = s->m > s->n ? s->m : s->n;
    int lr = 2 * grid_answer(real, rwork) + 4 * most + 2;
    s->lw = 2 * grid_answer(type, work);
    s->work = grid_work(g, (size_t)s->lw, 16);
    s->rwork = grid_work(g, (size_t)lr, 8);
    grid_agree(g);
    run_svd(g, s);
    /* a rank without any part of the vectors takes another way to the values, which differ by their
     * last digits: ScaLAPACK tells so, and rank 0, which has a part, has those that go with them */
    if (s->info == (s->m < s->n ? s->m : s->n) + 1)
        s->info = 0;
    grid_share(g, SCOPE_ALL, 0, s->s, (size_t)least(s->m, s->n) *
               dtype_info(dtype_real(s->a->dtype))->bytes);
}

void grid_do_svd(GridRank *g, Wire *in, Buf *out)
{
    uint64_t id[3] = { wire_get_u64(in), wire_get_u64(in), wire_get_u64(in) };
    const GridTensor *given = read_matrix(g, in);
    Singular s = { .a = reflectors(g, given), .m = extent(given, 0), .n = extent(given, 1),
                   .vectors = id[1] != 0 };
    int64_t k = least(s.m, s.n);
    s.u = s.vt = s.a;
    if (s.vectors) {
        s.u = grid_tensor(g, given->dtype, 2, (int64_t[]){ in_rows(s.m), k }, true);
        s.vt = grid_tensor(g, given->dtype, 2, (int64_t[]){ in_rows(k), s.n }, true);
    }
    s.s = grid_work(g, (size_t)k + 1, 8);
    GridTensor *values = grid_tensor(g, dtype_real(given->dtype), 1, &k, false);
    grid_agree(g);
    if (k)
        svd(g, &s);
    spread(g, values, s.s);
    if (s.vectors && k == 1) {
        s.u = grid_leading(g, s.u, s.m, k);
        s.vt = grid_leading(g, s.vt, k, s.n);
        grid_agree(g);
    }
    wire_u64(out, (uint64_t)s.info);
    grid_keep(g, id[0], values);
    if (s.vectors) {
        grid_keep(g, id[1], s.u);
        grid_keep(g, id[2], s.vt);
    }
}
