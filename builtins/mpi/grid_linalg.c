/* Linear algebra by ScaLAPACK: one matrix at a time, f32 f64 c64 c128, ints in f64. A singular or
 * nearly singular matrix, one that is not symmetric or definite, and one with NaN is judged by the
 * host's row, which has the errors and notices. */
#include "builtins/mpi/grid.h"

#include "builtins/linalg/linalg.h"

#include <math.h>

typedef struct Matrix {
    OpCall *c;
    Device *d;
    DType dt;                           /* that it is computed in */
    int64_t m, n;
    MpiTensor *g;
} Matrix;

/* A command in the making. */
typedef struct Ask {
    Ctx *ctx;
    Device *d;
    Buf *b;
    GridOp op;
} Ask;

MpiTensor *grid_made(OpCall *c, Device *d, Tensor *t)
{
    return mpi_tensor(place_operand(c->in, d, t).mem);
}

static bool as_it_is(const MpiTensor *g, const Tensor *t, size_t at)
{
    if (at || g->rank != t->rank || !tensor_contiguous(t))
        return false;
    for (int a = 0; a < t->rank; a++)
        if (g->shape[a] != tensor_shape(t)[a])
            return false;
    return true;
}

MpiTensor *grid_operand(OpCall *c, Device *d, Tensor *t, DType dt)
{
    DevArg a = place_operand(c->in, d, t);
    if (t->dtype == dt && as_it_is(mpi_tensor(a.mem), t, a.at))
        return mpi_tensor(a.mem);
    return grid_made(c, d, form_copy(c, d, t, dt));
}

/* ---- reading ---- */
/* False: *r is what the form gives: a refusal, or what the host's row makes of it. */
static bool matrix_read(Matrix *a, OpCall *c, Device *d, bool square, Value *r)
{
    Tensor *t = arg_tensor(c, 0);
    *a = (Matrix){ .c = c, .d = d, .dt = linalg_compute_dtype((DType)t->dtype) };
    if (t->rank < 2 || t->size == 0 || (t->flags & TENSOR_COVECTOR))
        *r = form_host(c, d);
    else if (t->rank > 2)
        *r = place_refuse(c->in, (Lack){ LACK_STACKS });
    else if (!device_holds(d, a->dt) || a->dt < DT_F32)
        *r = place_refuse(c->in, (Lack){ LACK_ROW_DTYPE, .row = c->op->name, .dtype = t->dtype });
    else if (square && tensor_shape(t)[0] != tensor_shape(t)[1])
        *r = form_host(c, d);
    else {
        a->m = tensor_shape(t)[0];
        a->n = tensor_shape(t)[1];
        a->g = grid_operand(c, d, t, a->dt);
        return true;
    }
    return false;
}

static Tensor *made(const Matrix *a, DType dt, int rank, int64_t m, int64_t n)
{
    return place_new(a->c->in, a->d, dt, rank, (int64_t[]){ m, n });
}

/* ---- asking ---- */
static Ask ask(const Matrix *a, GridOp op)
{
    Ctx *ctx = &a->c->in->ctx;
    return (Ask){ ctx, a->d, mpi_begin(ctx, a->d, op), op };
}

static void ask_out(const Ask *q, const Matrix *a, Tensor *t)
{
    if (t)
        mpi_put_new(q->ctx, q->d, q->b, grid_made(a->c, a->d, t));
    else
        wire_u64(q->b, 0);
}

static void ask_in(const Ask *q, const MpiTensor *g) { mpi_put_id(q->ctx, q->d, q->b, g); }

/* For `explain`: the grid, and what a process receives by the model of its cost; k as there. */
static void told_cost(const Matrix *a, GridOp op, int64_t k)
{
    const MpiState *s = mpi_state(a->d);
    const GridShape grid = { s->p, s->q, s->block };
    GridCost cost;
    char bytes[32];
    if (!explain_on(a->c->in))
        return;
    explain_note(a->c->in, "grid", "%d x %d processes, blocks of %d", s->p, s->q, s->block);
    if (grid_cost(op, a->dt, a->m, a->n, k, &grid, &grid_network_here, &cost))
        explain_note(a->c->in, "between", "about %s to each process, by the model",
                     mem_bytes_text(bytes, cost.bytes));
}

static void told(const Matrix *a, GridOp op, const char *routine)
{
    heard_kernel(a->c->in, routine, "ScaLAPACK");
    if (explain_on(a->c->in))
        explain_note(a->c->in, "routine", "%s of ScaLAPACK", routine);
    told_cost(a, op, 1);
}

Value op_grid_matmul(OpCall *c, Device *d)
{
    Value r = op_device_matmul(c, d);
    const Value *x = c->args;
    if (r.tag != V_TENSOR || r.tensor->rank != 2 || x[0].tag != V_TENSOR || x[1].tag != V_TENSOR)
        return r;
    const Matrix shape = { .c = c, .d = d, .m = r.tensor->dims[0], .n = r.tensor->dims[1],
                           .dt = (DType)r.tensor->dtype };
    v_push(c->in, r);
    told_cost(&shape, GRID_GEMM, x[0].tensor->dims[x[0].tensor->rank - 1]);
    c->in->sp--;
    return r;
}

static Wire answer(const Ask *q, const Matrix *a, const char *routine)
{
    told(a, q->op, routine);
    Wire w = mpi_send(q->ctx, q->d);
    poll_interrupt(a->c->in);
    return w;
}

typedef struct Facts { bool hermitian, lower, upper, finite; } Facts;

static Facts facts(const Matrix *a)
{
    Ask q = ask(a, GRID_FACTS);
    ask_in(&q, a->g);
    Wire w = mpi_send(q.ctx, q.d);
    Facts f;
    f.hermitian = wire_get_u64(&w);
    f.lower = wire_get_u64(&w);
    f.upper = wire_get_u64(&w);
    f.finite = wire_get_u64(&w);
    return f;
}

/* Is it so near to singular, or not finite, that the host is to judge? */
static bool doubtful(const Matrix *a, uint64_t info, double rcond)
{
    return info || !(rcond >= 10 * linalg_rcond_limit(blas_type(a->dt)));
}

/* Has it neither NaN nor infinity? */
static bool all_finite(const Matrix *a, const MpiTensor *g)
{
    Ask q = ask(a, GRID_NORM);
    ask_in(&q, g);
    wire_u64(q.b, GRID_NORM_MAX);
    Wire w = mpi_send(q.ctx, q.d);
    return isfinite(wire_get_f64(&w));
}

/* ---- singular values ---- */
/* Rooted, and vectors where they are wanted; NULL: *r is what the form gives. */
static Tensor *singular(OpCall *c, Device *d, Tensor **u, Tensor **vt, Value *r)
{
    Matrix a;
    if (!matrix_read(&a, c, d, false, r))
        return NULL;
    int64_t k = a.m < a.n ? a.m : a.n;
    if (!facts(&a).finite) {
        *r = form_host(c, d);
        return NULL;
    }
    Tensor *s = made(&a, dtype_real(a.dt), 1, k, 0);
    if (u) {
        *u = made(&a, a.dt, 2, a.m, k);
        *vt = made(&a, a.dt, 2, k, a.n);
    }
    Ask q = ask(&a, GRID_SVD);
    ask_out(&q, &a, s);
    ask_out(&q, &a, u ? *u : NULL);
    ask_out(&q, &a, u ? *vt : NULL);
    ask_in(&q, a.g);
    Wire w = answer(&q, &a, "p?gesvd");
    if (!wire_get_u64(&w))
        return s;
    *r = form_host(c, d);
    return NULL;
}

/* The condition number in the 2-norm; false: near to a matrix of lower rank, or refused: *r is what
 * the form gives. */
static bool condition(OpCall *c, Device *d, double *cond, DType *dt, Value *r)
{
    Tensor *s = singular(c, d, NULL, NULL, r);
    if (!s)
        return false;
    *dt = (DType)s->dtype;
    double most = form_read(c, form_view(c, s, 0, NULL, NULL, 0)),
           least = form_read(c, form_view(c, s, 0, NULL, NULL, s->size - 1));
    *cond = most / least;
    if (least > most * 10 * linalg_rcond_limit(blas_type(*dt)))
        return true;
    *r = form_host(c, d);
    return false;
}

/* ---- systems ---- */
/* What b is: rooted in a's dtype with the matrix's, which may move with it. */
static bool right_side(Matrix *a, Tensor *b, MpiTensor **g, Value *r)
{
    OpCall *c = a->c;
    DType both = dtype_promote((DType)arg_tensor(c, 0)->dtype, (DType)b->dtype);
    DType dt = both == DT_NONE ? DT_NONE : linalg_compute_dtype(both);
    if (b->rank == 0 || b->size == 0 || tensor_shape(b)[b->rank == 1 ? 0 : b->rank - 2] != a->m ||
        (b->flags & TENSOR_COVECTOR))
        *r = form_host(c, a->d);
    else if (b->rank > 2)
        *r = place_refuse(c->in, (Lack){ LACK_STACKS });
    else if (dt == DT_NONE || !device_holds(a->d, dt))
        *r = place_refuse(c->in, (Lack){ LACK_ROW_DTYPE, .row = c->op->name, .dtype = b->dtype });
    else {
        a->dt = dt;
        a->g = grid_operand(c, a->d, arg_tensor(c, 0), dt);
        *g = grid_operand(c, a->d, b, dt);
        return true;
    }
    return false;
}

/* The x of least |b - A x|, rooted; NULL: *r is what the form gives. */
static Tensor *least_squares(Matrix *a, Value *r)
{
    Tensor *b = arg_tensor(a->c, 1);
    MpiTensor *g;
    if (!right_side(a, b, &g, r))
        return NULL;
    if (!all_finite(a, g)) {
        *r = form_host(a->c, a->d);
        return NULL;
    }
    Tensor *x = made(a, a->dt, b->rank, a->n, b->rank > 1 ? tensor_shape(b)[1] : 0);
    Ask q = ask(a, GRID_LSTSQ);
    ask_out(&q, a, x);
    ask_in(&q, a->g);
    ask_in(&q, g);
    Wire w = answer(&q, a, "p?gels");
    if (!wire_get_u64(&w))
        return x;
    *r = form_host(a->c, a->d);
    return NULL;
}

static Value called(OpCall *c, const char *row, Value x, Value y, int count)
{
    Value args[] = { x, y, v_int(0) };
    return op_root(c, op_call(c->in, op_named(c->in, row), args, count, 0));
}

/* |b - A x|: a number, or one for each column. */
static Value residual(OpCall *c, Tensor *x)
{
    Value ax = called(c, "matmul", c->args[0], v_tensor_raw(x), 2);
    Value off = called(c, "subtract", c->args[1], ax, 2);
    return called(c, "norm", off, v_undef(), x->rank > 1 ? 3 : 1);
}

Value op_grid_lstsq(OpCall *c, Device *d)
{
    Matrix a;
    Value r;
    double cond;
    DType dt;
    _Alignas(16) char cell[ELEMENT_BYTES_MAX];
    if (arg_given(c, 2))
        return place_refuse(c->in, (Lack){ LACK_ARGUMENT });
    if (!condition(c, d, &cond, &dt, &r) || !matrix_read(&a, c, d, false, &r))
        return r;
    Tensor *x = least_squares(&a, &r);
    if (!x)
        return r;
    r = residual(c, x);
    cast_run(dt, cell, 1, DT_F64, &cond, 1, 1);
    return tuple_make(c->in, "x", place_value(c->in, x), "residual", v_retain(r), "rank",
                      v_int(a.m < a.n ? a.m : a.n), "cond", v_element(&c->in->ctx, dt, cell), NULL);
}

Value op_grid_solve(OpCall *c, Device *d)
{
    Matrix a;
    MpiTensor *g;
    Value r;
    if (!matrix_read(&a, c, d, false, &r))
        return r;
    Tensor *b = arg_tensor(c, 1), *x;
    double cond;
    DType dt;
    if (a.m != a.n)
        return condition(c, d, &cond, &dt, &r) && (x = least_squares(&a, &r))
               ? place_value(c->in, x) : r;
    if (!right_side(&a, b, &g, &r))
        return r;
    x = made(&a, a.dt, b->rank, a.n, b->rank > 1 ? tensor_shape(b)[1] : 0);
    Ask q = ask(&a, GRID_SOLVE);
    ask_out(&q, &a, x);
    ask_in(&q, a.g);
    ask_in(&q, g);
    Wire w = mpi_send(q.ctx, q.d);
    GridSolved by = (GridSolved)wire_get_u64(&w);
    uint64_t info = wire_get_u64(&w);
    double rcond = wire_get_f64(&w);
    told(&a, q.op, grid_solved_text(by));
    poll_interrupt(c->in);
    return doubtful(&a, info, rcond) ? form_host(c, d) : place_value(c->in, x);
}

Value op_grid_inv(OpCall *c, Device *d)
{
    Matrix a;
    Value r;
    if (!matrix_read(&a, c, d, true, &r))
        return r;
    Tensor *x = made(&a, a.dt, 2, a.n, a.n);
    Ask q = ask(&a, GRID_INV);
    ask_out(&q, &a, x);
    ask_in(&q, a.g);
    Wire w = answer(&q, &a, "p?getrf, p?getri");
    uint64_t info = wire_get_u64(&w);
    double rcond = wire_get_f64(&w);
    return doubtful(&a, info, rcond) ? form_host(c, d) : place_value(c->in, x);
}

/* ---- determinants ---- */
typedef struct Determinant {
    DType dt;
    double log;
    _Alignas(16) char sign[ELEMENT_BYTES_MAX], det[ELEMENT_BYTES_MAX];
} Determinant;

/* False: *r is what the form gives. */
static bool determinant(Determinant *t, Matrix *a, OpCall *c, Device *d, Value *r)
{
    if (form_whole((DType)arg_tensor(c, 0)->dtype)) {
        *r = place_refuse(c->in, (Lack){ LACK_DETERMINANT });
        return false;
    }
    if (!matrix_read(a, c, d, true, r))
        return false;
    Ask q = ask(a, GRID_DET);
    ask_in(&q, a->g);
    Wire w = answer(&q, a, "p?getrf");
    mpi_get_cell(&w, &t->dt, t->sign);
    t->log = wire_get_f64(&w);
    ((uint64_t *)(void *)t->det)[0] = wire_get_u64(&w);
    ((uint64_t *)(void *)t->det)[1] = wire_get_u64(&w);
    if (isfinite(t->log))
        return true;
    *r = form_host(c, d);
    return false;
}

static Value number(const Matrix *a, DType dt, const void *cell)
{
    device_carry(&a->c->in->ctx, a->d, dtype_info(dt)->bytes);
    return v_element(&a->c->in->ctx, dt, cell);
}

Value op_grid_det(OpCall *c, Device *d)
{
    Matrix a;
    Determinant t;
    Value r;
    if (!determinant(&t, &a, c, d, &r))
        return r;
    /* out of a format's range: the host has the notice */
    double most = t.dt == DT_F32 || t.dt == DT_C64 ? 80 : 700;
    return fabs(t.log) < most ? number(&a, t.dt, t.det) : form_host(c, d);
}

Value op_grid_slogdet(OpCall *c, Device *d)
{
    Matrix a;
    Determinant t;
    Value r;
    _Alignas(16) char log[ELEMENT_BYTES_MAX];
    if (!determinant(&t, &a, c, d, &r))
        return r;
    cast_run(dtype_real(t.dt), log, 1, DT_F64, &t.log, 1, 1);
    Value sign = op_root(c, number(&a, t.dt, t.sign)),
          size = op_root(c, number(&a, dtype_real(t.dt), log));
    return tuple_make(c->in, "sign", v_retain(sign), "logdet", v_retain(size), NULL);
}

/* ---- factors ---- */
/* P[rows[j], j] = 1: the identity with its columns in another order. The rows come home. */
static void permutation(const Matrix *a, Tensor *p, Tensor *rows)
{
    OpCall *c = a->c;
    Ctx *ctx = &c->in->ctx;
    const int64_t m = a->m;
    Tensor *eye = made(a, a->dt, 2, m, m);
    MpiTensor *from = grid_made(c, a->d, eye);
    tensor_home(ctx, rows);
    Buf *b = mpi_begin(ctx, a->d, GRID_EYE);
    mpi_put_new(ctx, a->d, b, from);
    wire_u64(b, a->dt);
    mpi_put_ints(b, (int64_t[]){ m, m }, 2);
    wire_i64(b, 0);
    mpi_send(ctx, a->d);
    MpiView v = { .rank = 2, .shape = (int64_t[]){ m, m }, .strides = (int64_t[]){ 1, m } };
    v.list[1] = (const int64_t *)(const void *)rows->data;
    mpi_pack(ctx, a->d, grid_made(c, a->d, p), from, &v);
}

Value op_grid_lu(OpCall *c, Device *d)
{
    Matrix a;
    Value r;
    if (!matrix_read(&a, c, d, false, &r))
        return r;
    int64_t k = a.m < a.n ? a.m : a.n;
    Tensor *rows = made(&a, DT_I64, 1, a.m, 0), *p = made(&a, a.dt, 2, a.m, a.m);
    Tensor *l = made(&a, a.dt, 2, a.m, k), *u = made(&a, a.dt, 2, k, a.n);
    Ask q = ask(&a, GRID_LU);
    ask_out(&q, &a, rows);
    ask_out(&q, &a, l);
    ask_out(&q, &a, u);
    ask_in(&q, a.g);
    answer(&q, &a, "p?getrf");
    permutation(&a, p, rows);
    return tuple_make(c->in, "P", place_value(c->in, p), "L", place_value(c->in, l), "U",
                      place_value(c->in, u), NULL);
}

Value op_grid_chol(OpCall *c, Device *d)
{
    Matrix a;
    Value r;
    if (!matrix_read(&a, c, d, true, &r))
        return r;
    Facts f = facts(&a);
    if (!f.hermitian || !f.finite)
        return form_host(c, d);
    Tensor *l = made(&a, a.dt, 2, a.n, a.n);
    Ask q = ask(&a, GRID_CHOL);
    ask_out(&q, &a, l);
    ask_in(&q, a.g);
    Wire w = answer(&q, &a, "p?potrf");
    return wire_get_u64(&w) ? form_host(c, d) : place_value(c->in, l);
}

Value op_grid_qr(OpCall *c, Device *d)
{
    Matrix a;
    Value v;
    bool full = arg_bool(c, 1, false);
    if (arg_bool(c, 2, false))
        return place_refuse(c->in, (Lack){ LACK_ARGUMENT });
    if (!matrix_read(&a, c, d, false, &v))
        return v;
    int64_t k = full || a.m < a.n ? a.m : a.n;
    Tensor *o = made(&a, a.dt, 2, a.m, k), *r = made(&a, a.dt, 2, k, a.n);
    Ask q = ask(&a, GRID_QR);
    ask_out(&q, &a, o);
    ask_out(&q, &a, r);
    ask_in(&q, a.g);
    wire_u64(q.b, full);
    answer(&q, &a, "p?geqrf");
    return tuple_make(c->in, "Q", place_value(c->in, o), "R", place_value(c->in, r), NULL);
}

/* ---- eigenvalues, singular values ---- */
static Value symmetric(OpCall *c, Device *d, bool vectors)
{
    Matrix a;
    Value r;
    if (vectors && arg_given(c, 1))
        return place_refuse(c->in, (Lack){ LACK_ARGUMENT });
    if (!matrix_read(&a, c, d, true, &r))
        return r;
    Facts f = facts(&a);
    if (!f.hermitian || !f.finite)
        return form_host(c, d);
    Tensor *w = made(&a, dtype_real(a.dt), 1, a.n, 0),
           *v = vectors ? made(&a, a.dt, 2, a.n, a.n) : NULL;
    Ask q = ask(&a, GRID_EIGH);
    ask_out(&q, &a, w);
    ask_out(&q, &a, v);
    ask_in(&q, a.g);
    static const char *const routine[2][2] = { { "p?syev", "p?syevd" }, { "p?heev", "p?heevd" } };
    const MpiState *s = mpi_state(a.d);
    bool divides = grid_divides(&(GridShape){ s->p, s->q, s->block }, a.n);
    Wire wire = answer(&q, &a, routine[dtype_info(a.dt)->kind == 'c'][divides]);
    if (wire_get_u64(&wire))
        return form_host(c, d);
    if (!vectors)
        return place_value(c->in, w);
    return tuple_make(c->in, "values", place_value(c->in, w), "vectors", place_value(c->in, v),
                      NULL);
}

Value op_grid_eigh(OpCall *c, Device *d) { return symmetric(c, d, true); }
Value op_grid_eigvalsh(OpCall *c, Device *d) { return symmetric(c, d, false); }

Value op_grid_svd(OpCall *c, Device *d)
{
    Tensor *u, *vt;
    Value r;
    if (arg_bool(c, 1, false))
        return place_refuse(c->in, (Lack){ LACK_FULL });
    Tensor *s = singular(c, d, &u, &vt, &r);
    if (!s)
        return r;
    return tuple_make(c->in, "U", place_value(c->in, u), "S", place_value(c->in, s), "Vt",
                      place_value(c->in, vt), NULL);
}

Value op_grid_svdvals(OpCall *c, Device *d)
{
    Value r;
    Tensor *s = singular(c, d, NULL, NULL, &r);
    return s ? place_value(c->in, s) : r;
}

/* In the 2-norm, of a matrix that is not near to a singular one. */
Value op_grid_cond(OpCall *c, Device *d)
{
    Value r;
    if (arg_given(c, 1) && !(c->args[1].tag == V_INT && c->args[1].i == 2))
        return place_refuse(c->in, (Lack){ LACK_NORM });
    double x;
    DType dt;
    if (!condition(c, d, &x, &dt, &r))
        return r;
    _Alignas(16) char cell[ELEMENT_BYTES_MAX];
    cast_run(dt, cell, 1, DT_F64, &x, 1, 1);
    return v_element(&c->in->ctx, dt, cell);
}
