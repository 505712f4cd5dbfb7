/* Products and square systems by PBLAS and ScaLAPACK. */
#include "kernels/cast/tensor_cast.h"
#include "kernels/grid/grid_product.h"
#include "kernels/grid/grid_rank.h"
#include "kernels/grid/scalapack.h"
#include "kernels/lapack/lapack.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static const int one_int = 1;

/* ---- what ScaLAPACK wants to know of a matrix ---- */
int grid_type(DType dt) { return (int)blas_type(dt); }

void grid_check_matrix(GridRank *g, const GridTensor *t)
{
    if (blas_type(t->dtype) == BLAS_TYPES || t->axes > 2)
        err_raise(g->ctx, ERR_DEVICE, "no matrix for ScaLAPACK");
    for (int a = 0; a < t->axes; a++)
        if (t->shape[a] > INT_MAX / 2)
            err_raise(g->ctx, ERR_DEVICE, "ScaLAPACK counts in 32 bits, an axis has %lld",
                      (long long)t->shape[a]);
    if (t->slab.size > INT_MAX)
        err_raise(g->ctx, ERR_DEVICE, "ScaLAPACK counts in 32 bits, a rank has %lld elements",
                  (long long)t->slab.size);
}

GridDesc grid_desc(const GridRank *g, const GridTensor *t)
{
    int rows = t->slab.rows < 1 ? 1 : (int)t->slab.rows;
    return (GridDesc){ { 1, g->context, (int)t->shape[0], t->axes > 1 ? (int)t->shape[1] : 1,
                         g->grid.nb, g->grid.nb, 0, 0, rows } };
}

/* A length that LAPACK answered as a number of its type. */
int grid_answer(int type, const void *work)
{
    double n = mat_real((BlasType)type, work, 0);
    return (int)(n * (1 + 0x1p-20)) + 2;
}

GridTensor *grid_leading(GridRank *g, const GridTensor *t, int64_t rows, int64_t cols)
{
    GridTensor *to = grid_tensor(g, t->dtype, 2, (int64_t[]){ rows, cols }, true);
    if (!to)
        return NULL;
    int64_t r = to->slab.rows < t->slab.rows ? to->slab.rows : t->slab.rows;
    int64_t c = to->slab.cols < t->slab.cols ? to->slab.cols : t->slab.cols;
    size_t bytes = grid_bytes(t);
    for (int64_t j = 0; j < c && r; j++)
        memcpy(grid_data(to) + (size_t)(j * to->slab.rows) * bytes,
               grid_data(t) + (size_t)(j * t->slab.rows) * bytes, (size_t)r * bytes);
    return to;
}

/* ---- what a matrix is ---- */
static bool is_zero(const char *x, size_t bytes, DType real)
{
    size_t part = dtype_info(real)->bytes;
    for (; bytes; bytes -= part, x += part)
        if ((real == DT_F32 ? (double)*(const float *)x : *(const double *)x) != 0)
            return false;
    return true;
}

/* By exponents of ones alone, which compilers look for in many numbers at once. */
static bool all_finite(const GridTensor *t)
{
    int64_t n = t->slab.size * (blas_is_complex(blas_type(t->dtype)) ? 2 : 1);
    const uint32_t *narrow = (const void *)grid_data(t);
    const uint64_t *wide = (const void *)grid_data(t);
    bool none = true;
    if (dtype_real(t->dtype) == DT_F32)
        for (int64_t i = 0; i < n; i++)
            none &= (~narrow[i] & UINT32_C(0x7f800000)) != 0;
    else
        for (int64_t i = 0; i < n; i++)
            none &= (~wide[i] & UINT64_C(0x7ff) << 52) != 0;
    return none;
}

/* Elements on either side of the diagonal, until there are some on both. */
static void look_triangles(GridRank *g, const GridTensor *t, GridFacts *f)
{
    size_t bytes = grid_bytes(t);
    DType real = dtype_real(t->dtype);
    for (int64_t j = 0; j < t->slab.cols && (f->lower || f->upper); j++) {
        int64_t col = grid_col(g, j);
        const char *x = grid_data(t) + (size_t)(j * t->slab.rows) * bytes;
        for (int64_t i = 0; i < t->slab.rows; i++, x += bytes) {
            int64_t row = grid_row(g, i);
            if (row != col && !is_zero(x, bytes, real))
                *(row < col ? &f->lower : &f->upper) = false;
        }
    }
}

static bool conjugates(double _Complex a, double _Complex b)
{
    return creal(a) == creal(b) && cimag(a) == -cimag(b);
}

/* Some pairs of elements that mirror each other, before all of them are brought together. */
static bool seems_hermitian(GridRank *g, const GridTensor *t)
{
    enum { PAIRS = 32 };
    double _Complex seen[2 * PAIRS] = { 0 };
    int64_t n = t->shape[0], at;
    bool same = true;
    for (int64_t k = 0; k < PAIRS; k++) {
        int64_t i = k * n / PAIRS, j = (7 * i + 3 * k + 1) % n;
        for (int turn = 0; turn < 2; turn++) {
            int64_t index = turn ? j * n + i : i * n + j;
            if (grid_home(&g->grid, 2, t->shape, index, &at) == g->rank)
                seen[2 * k + turn] =
                    element_c128(t->dtype, grid_data(t) + (size_t)at * grid_bytes(t));
        }
    }
    grid_sum_to(g, SCOPE_ALL, ALL_MEMBERS, DT_C128, 2 * PAIRS, seen);
    for (int k = 0; k < PAIRS; k++)
        same = same && conjugates(seen[2 * k], seen[2 * k + 1]);
    return same;
}

static bool is_hermitian(GridRank *g, const GridTensor *t)
{
    GridView v = grid_view_turned(t);
    size_t bytes = grid_bytes(t);
    bool same = true;
    if (!seems_hermitian(g, t))
        return false;
    GridTensor *turned = grid_tensor(g, t->dtype, 2, v.shape, false);
    grid_pack(g, turned, t, &v);
    for (int64_t at = 0; same && at < t->slab.size; at++)
        same = conjugates(element_c128(t->dtype, grid_data(t) + (size_t)at * bytes),
                          element_c128(t->dtype, grid_data(turned) + (size_t)at * bytes));
    return grid_all(g, same);
}

GridFacts grid_facts(GridRank *g, const GridTensor *t)
{
    GridFacts f = { .lower = true, .upper = true, .finite = all_finite(t) };
    look_triangles(g, t, &f);
    int no[3] = { !f.lower, !f.upper, !f.finite };
    grid_sum_ints(g, SCOPE_ALL, 3, no);
    f = (GridFacts){ false, no[0] == 0, no[1] == 0, no[2] == 0 };
    if (t->axes == 2 && t->shape[0] == t->shape[1] && f.lower == f.upper)
        f.hermitian = !t->shape[0] || is_hermitian(g, t);
    return f;
}

void grid_do_facts(GridRank *g, Wire *in, Buf *out)
{
    const GridTensor *t = grid_find(g, wire_get_u64(in));
    grid_check_matrix(g, t);
    GridFacts f = grid_facts(g, t);
    wire_u64(out, f.hermitian);
    wire_u64(out, f.lower);
    wire_u64(out, f.upper);
    wire_u64(out, f.finite);
}

typedef struct Positive { DType dtype; bool all; } Positive;

static void look_positive(void *with, int64_t i, void *x)
{
    Positive *p = with;
    (void)i;
    p->all = p->all && mat_real(blas_type(p->dtype), x, 0) > 0;
}

bool grid_positive_diagonal(GridRank *g, GridTensor *t)
{
    Positive p = { t->dtype, true };
    grid_each_diagonal(g, t, look_positive, &p);
    return grid_all(g, p.all);
}

/* ---- products ---- */
static char flag_of(uint64_t how, bool vector)
{
    return vector ? 'N' : "NTC"[how < 3 ? how : 0];
}

/* Rows of C, columns, and what is summed over; a vector on the left is one row: C' = B' a. */
static void plan_product(GridRank *g, GridFactors *f)
{
    const GridTensor *a = f->a, *b = f->b;
    int64_t bm = b->shape[0], bn = b->axes > 1 ? b->shape[1] : 1, bk;
    if (a->axes == 1 && b->axes == 2) {
        if (f->tb == 'C' && blas_is_complex(blas_type(b->dtype)))
            err_raise(g->ctx, ERR_DEVICE, "a vector times a conjugated matrix");
        *f = (GridFactors){ b, a, f->tb == 'N' ? 'T' : 'N', 'N', 0, 0, 0 };
        a = f->a, b = f->b;
        bm = b->shape[0], bn = 1;
    }
    int64_t am = a->shape[0], an = a->axes > 1 ? a->shape[1] : 1;
    f->m = f->ta == 'N' ? am : an;
    f->k = f->ta == 'N' ? an : am;
    f->n = f->tb == 'N' ? bn : bm;
    bk = f->tb == 'N' ? bm : bn;
    if (f->k != bk || a->dtype != b->dtype || (a->axes == 1 && b->axes == 1))
        err_raise(g->ctx, ERR_DEVICE, "matrices that do not fit");
}

void grid_do_gemm(GridRank *g, Wire *in, Buf *out)
{
    uint64_t id = wire_get_u64(in);
    GridFactors f = { .a = grid_find(g, wire_get_u64(in)) };
    f.b = grid_find(g, wire_get_u64(in));
    f.ta = flag_of(wire_get_u64(in), f.a->axes == 1);
    f.tb = flag_of(wire_get_u64(in), f.b->axes == 1);
    (void)out;
    grid_check_matrix(g, f.a);
    grid_check_matrix(g, f.b);
    plan_product(g, &f);
    GridTensor *c = grid_tensor(g, f.a->dtype, f.b->axes == 1 ? 1 : 2,
                                (int64_t[]){ f.m, f.n }, true);
    grid_agree(g);
    grid_check_matrix(g, c);
    GridDesc da = grid_desc(g, f.a), db = grid_desc(g, f.b), dc = grid_desc(g, c);
    int m = (int)f.m, n = (int)f.n, k = (int)f.k, type = grid_type(c->dtype);
    _Alignas(16) char one[16], zero[16];
    mat_store((BlasType)type, one, 0, 1, 0);
    mat_store((BlasType)type, zero, 0, 0, 0);
    if (grid_product_pays(g, &f))
        grid_product(g, c, &f);
    else if (m && n && k)
        scalapack.gemm[type](&f.ta, &f.tb, &m, &n, &k, one, grid_data(f.a), &one_int, &one_int,
                             &da, grid_data(f.b), &one_int, &one_int, &db, zero, grid_data(c),
                             &one_int, &one_int, &dc, 1, 1);
    grid_keep(g, id, c);
}

/* ---- square systems ---- */
typedef struct System {
    GridTensor *a, *x;           /* overwritten */
    GridDesc da, dx;
    int n, nrhs, type, info;
    int *pivots;
    double norm, rcond;
    GridSolved how;
} System;

int *grid_pivots(GridRank *g, const GridTensor *a)
{
    return grid_work(g, (size_t)(a->slab.rows + g->grid.nb), sizeof(int));
}

/* 1 / condition number, estimated: what is factored in `a` says how. */
static void estimate(GridRank *g, System *s)
{
    _Alignas(16) char norm[16], rcond[16] = { 0 }, work[16] = { 0 };
    char uplo = s->how == SOLVED_UPPER ? 'U' : 'L';
    BlasType real = blas_type(dtype_real(s->a->dtype));
    double rwork[2] = { 0 };
    void *w = work, *r = rwork;
    int lw = -1, lr = -1, info = 0;
    mat_store(real, norm, 0, s->norm, 0);
    for (int turn = 0; turn < 2; turn++) {
        if (s->how == SOLVED_LU)
            scalapack.gecon[s->type]("1", &s->n, grid_data(s->a), &one_int, &one_int, &s->da, norm,
                                     rcond, w, &lw, r, &lr, &info, 1);
        else if (s->how == SOLVED_CHOLESKY)
            scalapack.pocon[s->type]("L", &s->n, grid_data(s->a), &one_int, &one_int, &s->da, norm,
                                     rcond, w, &lw, r, &lr, &info, 1);
        else
            scalapack.trcon[s->type]("1", &uplo, "N", &s->n, grid_data(s->a), &one_int, &one_int,
                                     &s->da, rcond, w, &lw, r, &lr, &info, 1, 1, 1);
        if (turn)
            break;
        lw = grid_answer(s->type, work);
        lr = blas_is_complex((BlasType)s->type) ? grid_answer(real, rwork) : *(int *)r + 2;
        w = grid_work(g, (size_t)lw, 16);
        r = grid_work(g, (size_t)lr, 8);
        grid_agree(g);
    }
    s->rcond = mat_real(real, rcond, 0);
}

static void factor_lu(System *s)
{
    s->how = SOLVED_LU;
    scalapack.getrf[s->type](&s->n, &s->n, grid_data(s->a), &one_int, &one_int, &s->da, s->pivots,
                             &s->info);
}

/* False: it is not positive definite, and a is to be made anew. */
static bool factor_definite(System *s)
{
    s->how = SOLVED_CHOLESKY;
    scalapack.potrf[s->type]("L", &s->n, grid_data(s->a), &one_int, &one_int, &s->da, &s->info, 1);
    return s->info == 0;
}

static void copy_data(GridTensor *to, const GridTensor *from)
{
    if (to->slab.size)
        memcpy(grid_data(to), grid_data(from), (size_t)to->slab.size * grid_bytes(to));
}

static void factor(GridRank *g, System *s, const GridTensor *a)
{
    GridFacts f = grid_facts(g, s->a);
    if (f.lower || f.upper) {
        s->how = f.lower && f.upper ? SOLVED_DIAGONAL : f.lower ? SOLVED_LOWER : SOLVED_UPPER;
        return;
    }
    if (f.hermitian && f.finite && grid_positive_diagonal(g, s->a)) {
        if (factor_definite(s))
            return;
        copy_data(s->a, a);
        s->info = 0;
    }
    factor_lu(s);
}

static void back(System *s)
{
    char uplo = s->how == SOLVED_UPPER ? 'U' : 'L';
    if (s->how == SOLVED_LU)
        scalapack.getrs[s->type]("N", &s->n, &s->nrhs, grid_data(s->a), &one_int, &one_int, &s->da,
                                 s->pivots, grid_data(s->x), &one_int, &one_int, &s->dx, &s->info,
                                 1);
    else if (s->how == SOLVED_CHOLESKY)
        scalapack.potrs[s->type]("L", &s->n, &s->nrhs, grid_data(s->a), &one_int, &one_int, &s->da,
                                 grid_data(s->x), &one_int, &one_int, &s->dx, &s->info, 1);
    else
        scalapack.trtrs[s->type](&uplo, "N", "N", &s->n, &s->nrhs, grid_data(s->a), &one_int,
                                 &one_int, &s->da, grid_data(s->x), &one_int, &one_int, &s->dx,
                                 &s->info, 1, 1, 1);
}

static void check_square(GridRank *g, const GridTensor *a)
{
    grid_check_matrix(g, a);
    if (a->axes != 2 || a->shape[0] != a->shape[1])
        err_raise(g->ctx, ERR_SHAPE, "a square matrix is wanted");
}

/* The system's own copy of a. Agreed on by all ranks when grid_agree was called after it. */
static void begin(GridRank *g, System *s, const GridTensor *a)
{
    check_square(g, a);
    *s = (System){ .n = (int)a->shape[0], .type = grid_type(a->dtype) };
    s->a = grid_twin(g, a);
    s->da = grid_desc(g, a);
    s->pivots = grid_pivots(g, a);
}

void grid_do_solve(GridRank *g, Wire *in, Buf *out)
{
    System s;
    uint64_t id = wire_get_u64(in);
    const GridTensor *a = grid_find(g, wire_get_u64(in)), *b = grid_find(g, wire_get_u64(in));
    begin(g, &s, a);
    grid_check_matrix(g, b);
    if (a->dtype != b->dtype || a->shape[0] != b->shape[0])
        err_raise(g->ctx, ERR_DEVICE, "a right side that does not fit");
    s.x = grid_twin(g, b);
    grid_agree(g);
    s.nrhs = b->axes > 1 ? (int)b->shape[1] : 1;
    s.dx = grid_desc(g, b);
    if (s.n && s.nrhs) {
        s.norm = grid_norm_one(g, a);
        factor(g, &s, a);
        if (!s.info)
            back(&s);
        if (!s.info)
            estimate(g, &s);
    }
    wire_u64(out, s.how);
    wire_u64(out, (uint64_t)s.info);
    wire_f64(out, s.n ? s.rcond : 1);
    grid_keep(g, id, s.x);
}

void grid_do_inv(GridRank *g, Wire *in, Buf *out)
{
    System s;
    uint64_t id = wire_get_u64(in);
    const GridTensor *a = grid_find(g, wire_get_u64(in));
    _Alignas(16) char query[16] = { 0 };
    int iquery = 0, lw = -1, li = -1;
    begin(g, &s, a);
    grid_agree(g);
    s.rcond = 1;
    if (s.n) {
        s.norm = grid_norm_one(g, a);
        factor_lu(&s);
        scalapack.getri[s.type](&s.n, grid_data(s.a), &one_int, &one_int, &s.da, s.pivots, query,
                                &lw, &iquery, &li, &(int){ 0 });
        lw = grid_answer(s.type, query);
        li = iquery + 2;
        void *work = grid_work(g, (size_t)lw, 16);
        int *iwork = grid_work(g, (size_t)li, sizeof *iwork);
        grid_agree(g);
        if (!s.info)
            scalapack.getri[s.type](&s.n, grid_data(s.a), &one_int, &one_int, &s.da, s.pivots,
                                    work, &lw, iwork, &li, &s.info);
        if (!s.info)
            s.rcond = 1 / (s.norm * grid_norm_one(g, s.a));
    }
    wire_u64(out, (uint64_t)s.info);
    wire_f64(out, s.rcond);
    grid_keep(g, id, s.a);
}

/* ---- determinants ---- */
/* A product as mantissa and exponent, so that only the result can overflow. */
typedef struct Product { double re, im; int64_t exponent; DType dtype; } Product;

static void normalise(Product *p)
{
    double size = fmax(fabs(p->re), fabs(p->im));
    int e = size > 0 && isfinite(size) ? ilogb(size) : 0;
    p->re = scalbn(p->re, -e);
    p->im = scalbn(p->im, -e);
    p->exponent += e;
}

static void times(Product *p, Product by)
{
    double re = p->re * by.re - p->im * by.im;
    normalise(&by);
    re = p->re * by.re - p->im * by.im;
    p->im = p->im == 0 && by.im == 0 ? 0 : p->re * by.im + p->im * by.re;
    p->re = re;
    p->exponent += by.exponent;
    normalise(p);
}

static void times_pivot(void *with, int64_t i, void *x)
{
    Product *p = with;
    double _Complex z = element_c128(p->dtype, x);
    (void)i;
    times(p, (Product){ creal(z), cimag(z), 0, p->dtype });
}

static void write_det(Buf *out, const Product *p)
{
    double size = hypot(p->re, p->im), e = (double)p->exponent;
    _Alignas(16) char sign[16] = { 0 }, det[16] = { 0 };
    int by = e > 1e6 ? 1000000 : e < -1e6 ? -1000000 : (int)e;
    double _Complex s = size > 0 ? CMPLX(p->re / size, p->im / size) : CMPLX(p->re, p->im);
    double _Complex d = CMPLX(scalbn(p->re, by), p->im == 0 ? 0 : scalbn(p->im, by));
    double parts[4] = { creal(s), cimag(s), creal(d), cimag(d) };
    bool pair = dtype_info(p->dtype)->kind == 'c';
    cast_run(p->dtype, sign, 1, pair ? DT_C128 : DT_F64, parts, 1, 1);
    cast_run(p->dtype, det, 1, pair ? DT_C128 : DT_F64, parts + 2, 1, 1);
    uint64_t word[4];
    memcpy(word, sign, 16);
    memcpy(word + 2, det, 16);
    wire_u64(out, p->dtype);
    wire_u64(out, word[0]);
    wire_u64(out, word[1]);
    wire_f64(out, log(size) + e * 0x1.62e42fefa39efp-1);
    wire_u64(out, word[2]);
    wire_u64(out, word[3]);
}

void grid_do_det(GridRank *g, Wire *in, Buf *out)
{
    System s;
    begin(g, &s, grid_find(g, wire_get_u64(in)));
    Product own = { 1, 0, 0, s.a ? s.a->dtype : DT_F64 };
    Product *all = grid_work(g, (size_t)g->ranks, sizeof *all);
    grid_agree(g);
    if (s.n)
        factor_lu(&s);
    grid_each_diagonal(g, s.a, times_pivot, &own);
    for (int64_t i = 0; g->col == 0 && i < s.a->slab.rows; i++)
        if (s.pivots[i] != grid_row(g, i) + 1)
            own.re = -own.re, own.im = -own.im;
    grid_collect(g, SCOPE_ALL, g->ranks, &own, sizeof own, all);
    Product p = { 1, 0, 0, own.dtype };
    for (int k = 0; k < g->ranks; k++)
        times(&p, all[k]);
    write_det(out, &p);
}
