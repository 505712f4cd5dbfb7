/* Products: `@` with its covector rules, broadcasting, integers and 16-bit floats; the
 * conjugate transpose, inner, outer, cross and Kronecker products, trace, matrix powers.
 * Reads arguments and chooses layouts; the arithmetic is kernels/gemm or other rows. */
#include "builtins/eight/eight_pair.h"
#include "builtins/linalg/linalg.h"
#include "builtins/linalg/matmul.h"
#include "builtins/exact/rational.h"
#include "core/memory/pool.h"
#include "kernels/eight/eight.h"

#include <stdio.h>
#include <string.h>

/* One operand of `@` as a stack of matrices. A vector is a row on the left and a column on
 * the right, and its axis of length 1 is dropped from the result. */
typedef struct Side {
    Tensor *t;
    int64_t rows, cols, rs, cs;
    int batch_rank;
    bool drop;               /* a vector that became a row or a column */
    bool covector;
} Side;

static Tensor *operand(OpCall *c, int i)
{
    Tensor *t = c->args[i].tag == V_TENSOR ? c->args[i].tensor : arg_tensor(c, i);
    if (t->rank == 0)
        arg_error_help(c, i, ERR_SHAPE, c->op->run == op_run_matmul
                       ? "multiples are written with *" : NULL,
                       "%s must be a vector or a matrix, not a scalar", arg_text(c, i));
    return t;
}

static void side_layout(Side *s, bool as_row)
{
    const int64_t *shape = tensor_shape(s->t), *strides = tensor_strides(s->t);
    int rank = s->t->rank;
    if (rank >= 2) {
        s->batch_rank = rank - 2;
        s->rows = shape[rank - 2], s->rs = strides[rank - 2];
        s->cols = shape[rank - 1], s->cs = strides[rank - 1];
    } else if (as_row) {
        s->rows = 1, s->rs = shape[0], s->cols = shape[0], s->cs = strides[0];
    } else {
        s->rows = shape[0], s->rs = strides[0], s->cols = 1, s->cs = 1;
    }
}

static bool fits(Tensor *a, Tensor *b)
{
    int64_t inner = tensor_shape(a)[a->rank - 1];
    return inner == (b->rank == 1 ? tensor_shape(b)[0] : tensor_shape(b)[b->rank - 2]);
}

/* The transposition that would make the product possible, as the user would type it. */
static const char *transposition_help(OpCall *c, Tensor *a, Tensor *b, Buf *out)
{
    const char *ta = arg_text(c, 0), *tb = arg_text(c, 1);
    int64_t ar = a->rank >= 2 ? tensor_shape(a)[a->rank - 2] : -1;
    int64_t bc = b->rank >= 2 ? tensor_shape(b)[b->rank - 1] : -1;
    int64_t ac = tensor_shape(a)[a->rank - 1];
    int64_t br = b->rank >= 2 ? tensor_shape(b)[b->rank - 2] : tensor_shape(b)[0];
    if (a->rank == 1 && b->rank == 1)
        buf_printf(out, "the outer product is %s @ %s' or %s ⊗ %s", ta, tb, ta, tb);
    else if (b->rank >= 2 && ac == bc)
        buf_printf(out, "transpose the right operand: %s @ %s'", ta, tb);
    else if (a->rank >= 2 && ar == br)
        buf_printf(out, "transpose the left operand: %s' @ %s", ta, tb);
    else if (a->rank >= 2 && b->rank >= 2 && ar == bc)
        buf_printf(out, "transpose both: %s' @ %s', or exchange them: %s @ %s", ta, tb, tb, ta);
    return out->len ? buf_cstr(out) : NULL;
}

_Noreturn void matmul_mismatch(OpCall *c, Tensor *a, Tensor *b)
{
    Ctx *ctx = &c->in->ctx;
    char sa[96], sb[96], help[256] = "";
    int64_t inner_a = tensor_shape(a)[a->rank - 1];
    int64_t inner_b = b->rank == 1 ? tensor_shape(b)[0] : tensor_shape(b)[b->rank - 2];
    Buf out;
    buf_init(&out, ctx);
    const char *text = transposition_help(c, a, b, &out);
    if (text)
        snprintf(help, sizeof help, "%s", text);
    buf_free(&out);
    Error *e = err_new(ctx, ERR_SHAPE,
                       "%s is %s and %s is %s: the inner lengths %lld and %lld differ",
                       arg_text(c, 0), linalg_extent(sa, sizeof sa, a), arg_text(c, 1),
                       linalg_extent(sb, sizeof sb, b), (long long)inner_a, (long long)inner_b);
    if (*help)
        err_help(e, "%s", help);
    err_underline(e, 0);
    err_underline(e, 1);
    err_throw(e);
}

/* Rules for v', the row that remembers what it is: v' @ w is a scalar, v @ w' an outer
 * product, v' @ A a covector; any other partner sees a 1 x n matrix. */
static void sides_read(OpCall *c, Side *a, Side *b)
{
    a->t = operand(c, 0);
    b->t = operand(c, 1);
    bool acov = a->t->flags & TENSOR_COVECTOR, bcov = b->t->flags & TENSOR_COVECTOR;
    bool outer = a->t->rank == 1 && bcov;
    a->drop = a->t->rank == 1 && !outer;
    b->drop = b->t->rank == 1;
    a->covector = acov && b->t->rank <= 2 && !bcov;
    if (a->covector && b->drop)
        a->drop = true;
    if (!outer && !fits(a->t, b->t))
        matmul_mismatch(c, a->t, b->t);
}

static DType product_dtype(DType a, DType b)
{
    DType dt = a == b ? a : dtype_promote(a, b);
    return dtype_info(dt)->kind == 'b' || dtype_info(dt)->kind == 'i' ? DT_I64 : dt;
}

/* Shape of the result and the batch; raises if leading axes do not broadcast. */
static int result_shape(OpCall *c, const Side *a, const Side *b, int64_t *shape, GemmBatch *batch)
{
    int bad, rank = shape_broadcast(a->batch_rank, tensor_shape(a->t), b->batch_rank,
                                    tensor_shape(b->t), shape, &bad);
    char sa[96], sb[96];
    if (rank < 0)
        err_raise(&c->in->ctx, ERR_SHAPE,
                  "the leading axes of %s (%s) and %s (%s) do not broadcast",
                  arg_text(c, 0), shape_text(sa, sizeof sa, a->t->rank, tensor_shape(a->t)),
                  arg_text(c, 1), shape_text(sb, sizeof sb, b->t->rank, tensor_shape(b->t)));
    batch->rank = rank;
    for (int d = 0; d < rank; d++)
        batch->extent[d] = shape[d];
    if (!a->drop)
        shape[rank++] = a->rows;
    if (!b->drop)
        shape[rank++] = b->cols;
    shape_checked(&c->in->ctx, rank, shape);       /* and so m * n and the batch can be counted */
    batch->count = shape_size(batch->rank, shape);
    return rank;
}

static void batch_steps(int rank, const Side *s, int64_t *steps)
{
    const int64_t *shape = tensor_shape(s->t), *strides = tensor_strides(s->t);
    for (int d = 0; d < rank; d++) {
        int own = d - (rank - s->batch_rank);
        steps[d] = own < 0 || shape[own] == 1 ? 0 : strides[own];
    }
}

/* (b, m, k) @ (k, n) is one product of b*m rows where A's leading axes lie evenly. */
static void merge_rows(Side *a, const Side *b, GemmBatch *batch)
{
    const int64_t *shape = tensor_shape(a->t), *strides = tensor_strides(a->t);
    if (b->batch_rank || batch->rank != a->batch_rank || a->drop || !batch->count)
        return;
    int64_t rows = a->rows, step = a->rs;
    for (int d = a->batch_rank - 1; d >= 0; d--) {
        if (strides[d] != rows * step)
            return;
        rows *= shape[d];
    }
    a->rows = rows;
    batch->rank = 0;
    batch->count = 1;
}

static void side_prepare(OpCall *c, Side *s, DType dt, bool as_row)
{
    s->t = linalg_raise(c, s->t, dt);
    side_layout(s, as_row);
}

typedef struct Job {
    OpCall *c;
    Side a, b;
    GemmBatch batch;
    int64_t m, n, k;
    int rank;
    int64_t shape[TENSOR_RANK_MAX];
} Job;

static void job_layout(Job *j, bool merge)
{
    j->rank = result_shape(j->c, &j->a, &j->b, j->shape, &j->batch);
    if (merge)
        merge_rows(&j->a, &j->b, &j->batch);
    j->m = j->a.rows, j->n = j->b.cols, j->k = j->a.cols;
    if (!j->batch.rank)
        return;
    batch_steps(j->batch.rank, &j->a, j->batch.a);
    batch_steps(j->batch.rank, &j->b, j->batch.b);
    int64_t step = j->m * j->n;
    for (int d = j->batch.rank - 1; d >= 0; d--) {
        j->batch.c[d] = step;
        step *= j->batch.extent[d];
    }
}

/* Steps forwards along whatever has a length: the planner would walk others backwards. */
static bool side_forward(const Side *s)
{
    return (s->rows == 1 || s->rs > 0) && (s->cols == 1 || s->cs > 0);
}

/* One small product: the planner's choice too (pair_way_small), without asking it. */
static bool job_tiny(const Job *j)
{
    return MATMUL_SMALL && !j->batch.rank && j->m && j->n && j->k > 1 &&
           gemm_tiny(j->m, j->n, j->k) && side_forward(&j->a) && side_forward(&j->b);
}

static void run_tiny(const Job *j, DType dt, const Tensor *out)
{
    if (heard_on(j->c->in))
        explain_routine(j->c->in, "our own loop", NULL,
                        "our own loop: too small for a call to pay");
    gemm_small(dt, j->m, j->n, j->k, (Mat){ j->a.t->data, j->a.rs, j->a.cs },
               (Mat){ j->b.t->data, j->b.rs, j->b.cs }, (Mat){ out->data, j->n, 1 });
}

/* Floats and complex numbers, computed in dt: a contraction like any other, so that `@`, einsum
 * and index notation agree bit for bit. Returns an unrooted tensor. */
static Tensor *job_float(Job *j, DType dt, bool a_row)
{
    Ctx *ctx = &j->c->in->ctx;
    if (job_tiny(j)) {
        side_prepare(j->c, &j->a, dt, a_row);
        side_prepare(j->c, &j->b, dt, false);
        Tensor *out = op_keep(j->c, tensor_new(ctx, dt, j->rank, j->shape));
        run_tiny(j, dt, out);           /* may raise where somebody listens */
        return tensor_retain(out);
    }
    Tensor *out = op_keep(j->c, tensor_new(ctx, dt, j->rank, j->shape));
    MatmulSide a = { j->a.t, j->a.rs, j->a.cs }, b = { j->b.t, j->b.rs, j->b.cs };
    matmul_run(j->c, dt, j->m, j->n, j->k, &a, &b, &j->batch, out, NULL);
    return tensor_retain(out);
}

/* Where product i of a stack lies in both operands and the result, in elements. */
static void item_steps(const Job *j, int64_t i, int64_t at[3])
{
    at[0] = at[1] = at[2] = 0;
    for (int d = j->batch.rank - 1; d >= 0; d--) {
        int64_t p = i % j->batch.extent[d];
        i /= j->batch.extent[d];
        at[0] += p * j->batch.a[d], at[1] += p * j->batch.b[d], at[2] += p * j->batch.c[d];
    }
}

static void int_batch(Job *j, Tensor *out)
{
    Ctx *ctx = &j->c->in->ctx;
    for (int64_t i = 0; i < j->batch.count && !*ctx->interrupt; i++) {
        int64_t at[3];
        item_steps(j, i, at);
        gemm_i64(ctx, j->m, j->n, j->k, (Mat){ j->a.t->data + at[0] * 8, j->a.rs, j->a.cs },
                 (Mat){ j->b.t->data + at[1] * 8, j->b.rs, j->b.cs },
                 (Mat){ out->data + at[2] * 8, j->n, 1 });
    }
}

/* If no partial sum can pass 2^53 the product is exact in f64 and runs at its speed. */
static bool exact_in_f64(Job *j)
{
    double work = (double)j->m * (double)j->n * (double)j->k * (double)j->batch.count;
    if (work < 32768 || !tensor_contiguous(j->a.t) || !tensor_contiguous(j->b.t))
        return false;
    double a = (double)gemm_i64_magnitude((const int64_t *)j->a.t->data, j->a.t->size);
    double b = (double)gemm_i64_magnitude((const int64_t *)j->b.t->data, j->b.t->size);
    return a * b * (double)j->k <= 0x1p53;
}

/* Operands of 8 bits, large enough that packing them pays: exact at the speed of bytes. NULL: they
 * are none. */
static Tensor *job_eight(Job *j, bool a_row)
{
    Ctx *ctx = &j->c->in->ctx;
    DType a = (DType)j->a.t->dtype, b = (DType)j->b.t->dtype;
    if ((a != DT_I8 && a != DT_U8) || (b != DT_I8 && b != DT_U8))
        return NULL;
    side_layout(&j->a, a_row);
    side_layout(&j->b, false);
    job_layout(j, true);
    if (!eight_pays(j->m, j->n, j->k))
        return NULL;
    int64_t bytes = (int64_t)eight_bytes(j->m, j->n, j->k);
    Tensor *out = op_keep(j->c, tensor_new(ctx, DT_I64, j->rank, j->shape));
    Tensor *memory = op_keep(j->c, tensor_new(ctx, DT_U8, 1, &bytes));
    if (heard_on(j->c->in))
        explain_routine(j->c->in, eight_routine(), NULL, "%s, exact in 32 and 64 bits",
                        eight_routine());
    for (int64_t i = 0; i < j->batch.count && !*ctx->interrupt; i++) {
        int64_t at[3];
        item_steps(j, i, at);
        eight_product(ctx, j->m, j->n, j->k,
                      (EightMat){ j->a.t->data + at[0], j->a.rs, j->a.cs, a == DT_I8 },
                      (EightMat){ j->b.t->data + at[1], j->b.rs, j->b.cs, b == DT_I8 },
                      (int64_t *)(void *)out->data + at[2], memory->data);
    }
    return tensor_retain(out);
}

static Tensor *job_int(Job *j, bool a_row)
{
    Ctx *ctx = &j->c->in->ctx;
    if (exact_in_f64(j)) {
        side_prepare(j->c, &j->a, DT_F64, a_row);
        side_prepare(j->c, &j->b, DT_F64, false);
        job_layout(j, false);
        Tensor *wide = op_keep(j->c, job_float(j, DT_F64, a_row));
        poll_interrupt(j->c->in);
        return tensor_cast(ctx, wide, DT_I64);
    }
    Tensor *out = tensor_new(ctx, DT_I64, j->rank, j->shape);
    int_batch(j, out);
    return out;
}

static RationalMat rational_side(const Side *s, const int64_t *steps, const int64_t *at, int rank)
{
    const Rational *data = (const Rational *)(const void *)s->t->data;
    for (int d = 0; d < rank; d++)
        data += at[d] * steps[d];
    return (RationalMat){ data, s->rs, s->cs };
}

static Tensor *job_rational(Job *j)
{
    Ctx *ctx = &j->c->in->ctx;
    Tensor *out = op_keep(j->c, tensor_new(ctx, DT_RATIONAL, j->rank, j->shape));
    int64_t at[TENSOR_RANK_MAX];
    for (int64_t i = 0; i < j->batch.count; i++) {
        int64_t index = i, to = 0;
        for (int d = j->batch.rank - 1; d >= 0; d--) {
            at[d] = index % j->batch.extent[d];
            index /= j->batch.extent[d];
            to += at[d] * j->batch.c[d];
        }
        exact_check(j->c, rational_gemm(ctx, j->m, j->n, j->k,
                                        rational_side(&j->a, j->batch.a, at, j->batch.rank),
                                        rational_side(&j->b, j->batch.b, at, j->batch.rank),
                                        exact_data(out) + to));
    }
    return tensor_retain(out);
}

/* Operands in what the product is computed in, or stored as it may take them. */
static Tensor *job_wide(Job *j, DType compute, bool a_row)
{
    DType a = (DType)j->a.t->dtype, b = (DType)j->b.t->dtype;
    side_prepare(j->c, &j->a, contract_stores(a, compute) ? a : compute, a_row);
    side_prepare(j->c, &j->b, contract_stores(b, compute) ? b : compute, false);
    job_layout(j, compute == DT_I64);
    return compute == DT_I64 ? job_int(j, a_row)
         : compute == DT_RATIONAL ? job_rational(j) : job_float(j, compute, a_row);
}

Value op_run_matmul(OpCall *c)
{
    Interp *in = c->in;
    Job j;
    j.c = c;
    memset(&j.a, 0, sizeof j.a);
    memset(&j.b, 0, sizeof j.b);
    sides_read(c, &j.a, &j.b);
    DType dt = product_dtype(j.a.t->dtype, j.b.t->dtype);
    DType compute = dt == DT_I64 ? DT_I64 : linalg_compute_dtype(dt);
    bool a_row = j.a.drop || j.a.t->rank > 1, covector = j.a.covector && !j.b.drop;
    Tensor *out = dt == DT_I64 ? job_eight(&j, a_row) : NULL;
    if (!out)
        out = job_wide(&j, compute, a_row);
    if (*in->ctx.interrupt || compute != dt) {
        op_keep(c, out);
        poll_interrupt(in);
        out = tensor_retain(linalg_raise(c, out, dt));
    }
    if (covector)
        out->flags |= TENSOR_COVECTOR;
    return v_tensor(&in->ctx, out);
}

/* ---- in 8 bits ---- */

/* The label of an axis of this length in both factors, -1 where it is 1. */
static int put_label(EightFactor *a, int64_t step_a, EightFactor *b, int64_t step_b, int64_t length,
                     int *labels, int64_t *extent)
{
    if (length == 1)
        return -1;
    extent[*labels] = length;
    a->stride[*labels] = step_a;
    b->stride[*labels] = step_b;
    a->labels |= step_a ? UINT64_C(1) << *labels : 0;
    b->labels |= step_b ? UINT64_C(1) << *labels : 0;
    return (*labels)++;
}

Value op_eight_matmul(OpCall *c)
{
    Job j = { .c = c };
    EightFactor a = { .arg = 0 }, b = { .arg = 1 }, product;
    int64_t extent[EIGHT_LABELS];
    int label[TENSOR_RANK_MAX], labels = 0, rank = 0;
    sides_read(c, &j.a, &j.b);
    bool a_row = j.a.drop || j.a.t->rank > 1, covector = j.a.covector && !j.b.drop;
    a.t = j.a.t = eight_float(c, j.a.t);
    b.t = j.b.t = eight_float(c, j.b.t);
    side_layout(&j.a, a_row);
    side_layout(&j.b, false);
    job_layout(&j, false);
    for (int d = 0; d < j.batch.rank; d++)
        label[rank++] = put_label(&a, j.batch.a[d], &b, j.batch.b[d], j.batch.extent[d], &labels,
                                  extent);
    if (!j.a.drop)
        label[rank++] = put_label(&a, j.a.rs, &b, 0, j.m, &labels, extent);
    if (!j.b.drop)
        label[rank++] = put_label(&a, 0, &b, j.b.cs, j.n, &labels, extent);
    uint64_t out = (UINT64_C(1) << labels) - 1;
    if (put_label(&a, j.a.cs, &b, j.b.rs, j.k, &labels, extent) >= 0) {
        a.labels |= UINT64_C(1) << (labels - 1);        /* summed, though nothing moves */
        b.labels |= UINT64_C(1) << (labels - 1);
    }
    eight_told(c);
    eight_pair(c, labels, extent, &a, &b, out, rank ? label[rank - 1] : -1, &product);
    Tensor *r = eight_laid(c, &product, j.rank, j.shape, label);
    Value v = op_result(c, r);
    if (covector)
        v.tensor->flags |= TENSOR_COVECTOR;
    return v;
}

/* ---- with an epilogue ---- */
/* A stack of matrices by one matrix, in f32 or f64: one product of matrices without any
 * conversion. */
static bool takes_epilogue(const OpCall *c)
{
    if (c->args[0].tag != V_TENSOR || c->args[1].tag != V_TENSOR)
        return false;
    Tensor *a = c->args[0].tensor, *b = c->args[1].tensor;
    return a->dtype == b->dtype && (a->dtype == DT_F32 || a->dtype == DT_F64) && a->rank >= 2 &&
           b->rank == 2 && !((a->flags | b->flags) & TENSOR_COVECTOR) && a->size > 0 &&
           b->size > 0 && a->size <= TENSOR_READ_MAX && b->size <= TENSOR_READ_MAX && fits(a, b);
}

Value op_epilogue_matmul(OpCall *c, const Epilogue *e)
{
    if (!takes_epilogue(c))
        return v_undef();
    if (!e)
        return v_none();
    Ctx *ctx = &c->in->ctx;
    DType dt = (DType)c->args[0].tensor->dtype;
    Job j = { .c = c };
    sides_read(c, &j.a, &j.b);
    side_prepare(c, &j.a, dt, true);
    side_prepare(c, &j.b, dt, false);
    job_layout(&j, false);
    Tensor *out = op_keep(c, tensor_new(ctx, dt, j.rank, j.shape));
    if (job_tiny(&j)) {
        e->begin(e->data, out);
        run_tiny(&j, dt, out);
        e->panel(e->data, 0, out->size / j.n, 0);
        return op_result(c, out);
    }
    MatmulSide a = { j.a.t, j.a.rs, j.a.cs }, b = { j.b.t, j.b.rs, j.b.cs };
    GemmPanels panels = { e->panel, e->data };
    e->begin(e->data, out);
    matmul_run(c, dt, j.m, j.n, j.k, &a, &b, &j.batch, out, &panels);
    return op_result(c, out);
}

/* ---- transposition ---- */
static Tensor *conjugated(OpCall *c, Tensor *t)
{
    if (dtype_info(t->dtype)->kind != 'c')
        return t;
    if (dtype_wide_pair(t->dtype)) {
        Value z = v_tensor_raw(t);
        return op_root(c, op_call(c->in, op_named(c->in, "conj"), &z, 1, 0)).tensor;
    }
    Tensor *copy = op_keep(c, tensor_copy(&c->in->ctx, t));
    bool doubles = dtype_base(t->dtype) == DT_CMINI;     /* the parts of a narrow format */
    mat_conjugate(blas_type(doubles ? DT_C128 : t->dtype), copy->data, copy->size);
    return copy;
}

Value op_run_ctranspose(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Value x = c->args[0];
    if (x.tag == V_BOOL || x.tag == V_INT || x.tag == V_FLOAT)
        return x;
    Tensor *given = x.tag == V_TENSOR ? x.tensor : arg_tensor(c, 0);
    Tensor *t = conjugated(c, given), *r;
    int64_t n = t->rank ? tensor_shape(t)[t->rank - 1] : 1;
    int64_t step = t->rank ? tensor_strides(t)[t->rank - 1] : 1;
    if (t->rank == 0)
        r = tensor_retain(t);
    else if (t->rank == 1)
        r = tensor_view(ctx, t, 2, (int64_t[]){ 1, n }, (int64_t[]){ n * step, step }, t->data);
    else if (given->flags & TENSOR_COVECTOR)
        r = tensor_view(ctx, t, 1, &n, &step, t->data);
    else
        r = tensor_transpose_last(ctx, t);
    if (t->rank == 1)
        r->flags |= TENSOR_COVECTOR;
    return v_tensor(ctx, r);
}

/* ---- other products ---- */
/* A covector counts as the vector it came from. */
static Tensor *vector_of(OpCall *c, Tensor *t)
{
    if (!(t->flags & TENSOR_COVECTOR))
        return t;
    return op_keep(c, tensor_view(&c->in->ctx, t, 1, tensor_shape(t) + 1, tensor_strides(t) + 1,
                                  t->data));
}

/* ---- long inner products: pieces, whose sums are added in order on any number of threads ---- */

enum { DOT_PIECE = 1 << 16 };

typedef struct DotJob {
    const Tensor *a, *b;
    Tensor *sums;
    int64_t n;
} DotJob;

static void dot_pieces(void *arg, int64_t begin, int64_t end, int worker)
{
    const DotJob *job = arg;
    DType dt = (DType)job->a->dtype;
    int64_t sa = tensor_strides(job->a)[0], sb = tensor_strides(job->b)[0];
    int64_t bytes = dtype_info(dt)->bytes;
    (void)worker;
    for (int64_t k = begin, at = k * DOT_PIECE; k < end; k++, at += DOT_PIECE)
        gemm_dot(dt, job->n - at < DOT_PIECE ? job->n - at : DOT_PIECE,
                 job->a->data + at * sa * bytes, sa, job->b->data + at * sb * bytes, sb, true,
                 job->sums->data + k * bytes);
}

static void long_dot(OpCall *c, int64_t n, const Tensor *a, const Tensor *b, Tensor *out)
{
    Ctx *ctx = &c->in->ctx;
    DType dt = (DType)a->dtype;
    int64_t pieces = (n + DOT_PIECE - 1) / DOT_PIECE, bytes = dtype_info(dt)->bytes;
    DotJob job = { a, b, op_keep(c, tensor_new(ctx, dt, 1, &pieces)), n };
    pool_for(ctx, pieces, 1, dot_pieces, &job);
    poll_interrupt(c->in);
    memcpy(out->data, job.sums->data, (size_t)bytes);
    for (int64_t k = 1; k < pieces; k++)
        gemm_dot_add(dt, out->data, job.sums->data + k * bytes);
}


/* Two vectors of one length, or an error. */
static int64_t dot_length(OpCall *c, const Tensor *a, const Tensor *b)
{
    if (a->rank != 1 || b->rank != 1) {
        int i = a->rank != 1 ? 0 : 1;
        char shape[96];
        const Tensor *t = i ? b : a;
        char help[200];
        snprintf(help, sizeof help, "the matrix product: %s @ %s", arg_text(c, 0), arg_text(c, 1));
        arg_error_help(c, i, ERR_SHAPE, help,
                       "%s must be a vector, not %s", arg_text(c, i),
                       shape_text(shape, sizeof shape, t->rank, tensor_shape(t)));
    }
    int64_t n = tensor_shape(a)[0];
    if (n != tensor_shape(b)[0])
        arg_error(c, 1, ERR_SHAPE, "%s has %lld elements and %s has %lld", arg_text(c, 0),
                  (long long)n,
                  arg_text(c, 1), (long long)tensor_shape(b)[0]);
    return n;
}

Value op_eight_dot(OpCall *c)
{
    EightFactor a = { .t = operand(c, 0) }, b = { .t = operand(c, 1), .arg = 1 }, product;
    int64_t n = dot_length(c, a.t, b.t);
    a.t = eight_float(c, a.t);
    b.t = eight_float(c, b.t);
    a.labels = b.labels = 1;
    a.stride[0] = tensor_strides(a.t)[0];
    b.stride[0] = tensor_strides(b.t)[0];
    eight_told(c);
    eight_pair(c, 1, &n, &a, &b, 0, -1, &product);
    return op_result(c, eight_laid(c, &product, 0, NULL, NULL));
}

Value op_run_dot(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *a = operand(c, 0), *b = operand(c, 1);
    int64_t n = dot_length(c, a, b);
    DType dt = product_dtype(a->dtype, b->dtype);
    DType compute = dt == DT_I64 ? DT_I64 : linalg_compute_dtype(dt);
    a = linalg_raise(c, a, compute);
    b = linalg_raise(c, b, compute);
    Tensor *out = op_keep(c, tensor_new(ctx, compute, 0, NULL));
    if (compute == DT_RATIONAL) {
        exact_check(c, rational_dot(ctx, n, exact_data(a), tensor_strides(a)[0], exact_data(b),
                                    tensor_strides(b)[0], exact_data(out)));
        return op_result(c, out);
    }
    if (n > DOT_PIECE)
        long_dot(c, n, a, b, out);
    else
        gemm_dot(compute, n, a->data, tensor_strides(a)[0], b->data, tensor_strides(b)[0], true,
                 out->data);
    return op_result(c, linalg_raise(c, out, dt));
}

static Value multiply_views(OpCall *c, Tensor *a, Tensor *b)
{
    return op_binary(c->in, op_named(c->in, "multiply"), v_tensor_raw(a), v_tensor_raw(b), 0);
}

/* View with the axes of t spread to places from, from+every, … of a rank of `rank`. */
static Tensor *spread(OpCall *c, Tensor *t, int rank, int from, int every)
{
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    if (rank > TENSOR_RANK_MAX)
        err_raise(&c->in->ctx, ERR_SHAPE, "the result would have %d axes; the most is %d", rank,
                  TENSOR_RANK_MAX);
    for (int d = 0; d < rank; d++)
        shape[d] = 1, strides[d] = 0;
    for (int d = 0; d < t->rank; d++) {
        shape[from + d * every] = tensor_shape(t)[d];
        strides[from + d * every] = tensor_strides(t)[d];
    }
    return op_keep(c, tensor_view(&c->in->ctx, t, rank, shape, strides, t->data));
}

Value op_run_outer(OpCall *c)
{
    Tensor *a = vector_of(c, arg_tensor(c, 0)), *b = vector_of(c, arg_tensor(c, 1));
    int rank = a->rank + b->rank;
    return multiply_views(c, spread(c, a, rank, 0, 1), spread(c, b, rank, a->rank, 1));
}

/* (m, n) ⊗ (p, q): multiply as (m, 1, n, 1) with (1, p, 1, q), read as (m*p, n*q). */
Value op_run_kron(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1);
    int rank = a->rank > b->rank ? a->rank : b->rank;
    int64_t shape[TENSOR_RANK_MAX];
    if (rank == 0)
        return multiply_views(c, a, b);
    a = spread(c, a, 2 * rank, 2 * (rank - a->rank), 2);
    b = spread(c, b, 2 * rank, 2 * (rank - b->rank) + 1, 2);
    Value product = op_root(c, multiply_views(c, a, b));
    Tensor *t = op_keep(c, tensor_compact(ctx, product.tensor));
    for (int d = 0; d < rank; d++)
        shape[d] = tensor_shape(t)[2 * d] * tensor_shape(t)[2 * d + 1];
    int64_t strides[TENSOR_RANK_MAX], step = 1;
    for (int d = rank - 1; d >= 0; d--) {
        strides[d] = step;
        step *= shape[d];
    }
    return v_tensor(ctx, tensor_view(ctx, t, rank, shape, strides, t->data));
}

/* x[..., i] as a view. */
static Value component(OpCall *c, Tensor *t, int i)
{
    char *data = t->data + i * tensor_strides(t)[t->rank - 1] * dtype_info(t->dtype)->bytes;
    Tensor *view = tensor_view(&c->in->ctx, t, t->rank - 1, tensor_shape(t), tensor_strides(t),
                               data);
    return op_root(c, v_tensor_raw(view));
}

static Value apply(OpCall *c, const char *name, Value a, Value b)
{
    return op_root(c, op_binary(c->in, op_named(c->in, name), a, b, 0));
}

static void require_three(OpCall *c, int i, Tensor *t)
{
    char shape[96];
    if (t->rank == 0 || tensor_shape(t)[t->rank - 1] != 3)
        arg_error(c, i, ERR_SHAPE, "%s must be a vector of 3, not %s", arg_text(c, i),
                  t->rank ? linalg_extent(shape, sizeof shape, t) : "a scalar");
}

Value op_run_cross(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *a = vector_of(c, arg_tensor(c, 0)), *b = vector_of(c, arg_tensor(c, 1)), *out = NULL;
    require_three(c, 0, a);
    require_three(c, 1, b);
    for (int i = 0; i < 3; i++) {
        int p = (i + 1) % 3, q = (i + 2) % 3;
        Value left = apply(c, "multiply", component(c, a, p), component(c, b, q));
        Value right = apply(c, "multiply", component(c, a, q), component(c, b, p));
        Value part = apply(c, "subtract", left, right);
        Tensor *t = op_keep(c, v_to_tensor(c->in, part, 0));
        if (!out) {
            int64_t shape[TENSOR_RANK_MAX];
            memcpy(shape, tensor_shape(t), t->rank * sizeof *shape);
            shape[t->rank] = 3;
            out = op_keep(c, tensor_new(ctx, t->dtype, t->rank + 1, shape));
        }
        tensor_assign(ctx, component(c, out, i).tensor, t);
    }
    return op_result(c, out);
}

Value op_run_trace(OpCall *c)
{
    Tensor *t = arg_tensor(c, 0);
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    int rank = t->rank - 1;
    if (rank < 1)
        arg_error(c, 0, ERR_SHAPE, "%s must be a matrix, not a %s", arg_text(c, 0),
                  t->rank ? "vector" : "scalar");
    memcpy(shape, tensor_shape(t), (size_t)rank * sizeof *shape);
    memcpy(strides, tensor_strides(t), (size_t)rank * sizeof *strides);
    int64_t cols = tensor_shape(t)[rank];
    shape[rank - 1] = shape[rank - 1] < cols ? shape[rank - 1] : cols;
    strides[rank - 1] += tensor_strides(t)[rank];
    Tensor *diagonal = op_keep(c, tensor_view(&c->in->ctx, t, rank, shape, strides, t->data));
    Value args[2] = { v_tensor_raw(diagonal), v_int(-1) };
    return op_call(c->in, op_named(c->in, "sum"), args, 2, 0);
}

/* The identity in every matrix of the stack's shape, in its dtype. */
static Value identity_like(OpCall *c, Tensor *t)
{
    Ctx *ctx = &c->in->ctx;
    int64_t strides[TENSOR_RANK_MAX];
    Tensor *eye = op_keep(c, tensor_zeros(ctx, t->dtype, t->rank, tensor_shape(t)));
    int rank = t->rank - 1;
    memcpy(strides, tensor_strides(eye), (size_t)rank * sizeof *strides);
    strides[rank - 1] += 1;
    Tensor *diagonal = op_keep(c, tensor_view(ctx, eye, rank, tensor_shape(eye), strides,
                                              eye->data));
    Tensor *one = op_keep(c, v_to_tensor(c->in, v_int(1), 0));
    tensor_assign(ctx, diagonal, linalg_raise(c, one, t->dtype));
    return v_tensor_raw(tensor_retain(eye));
}

/* Squarings and, for each further bit of the power, one product. The inverse of n < 0 counts
 * itself. */
static void explain_powers(OpCall *c, const Tensor *t, int64_t power)
{
    uint64_t p = power < 0 ? -(uint64_t)power : (uint64_t)power;
    int64_t n = tensor_shape(t)[t->rank - 1];
    if (!heard_on(c->in) || p == 0)
        return;
    int products = 62 - __builtin_clzll(p) + __builtin_popcountll(p);
    double each = n ? 2.0 * (double)n * (double)t->size : 0;
    explain_note(c->in, "products", "%d%s", products, power < 0 ? ", after an inverse" : "");
    explain_flops(c->in, each * products * (dtype_info(t->dtype)->kind == 'c' ? 4 : 1),
                  "2n^3 each");
}

const char *needs_matpow(const Value *args, int count)
{
    return count > 1 && args[1].tag == V_INT && args[1].i < 0 ? "inv" : NULL;
}

Value op_run_matpow(OpCall *c)
{
    Tensor *t = arg_tensor(c, 0);
    int64_t power = arg_int(c, 1);
    char kind = dtype_info(t->dtype)->kind;
    linalg_square(c, 0);                    /* for its errors */
    if (kind == 'i' || kind == 'b')
        t = linalg_raise(c, t, DT_I64);     /* as products are, also for powers 0 and 1 */
    Value base = v_tensor_raw(t), result = v_undef();
    explain_powers(c, t, power);
    if (power == 0)
        return identity_like(c, t);
    if (power < 0)
        base = op_root(c, op_unary(c->in, op_named(c->in, "inv"), base, 0));
    for (uint64_t p = power < 0 ? -(uint64_t)power : (uint64_t)power;;) {
        if (p & 1)
            result = result.tag == V_UNDEF ? base : apply(c, "matmul", result, base);
        p >>= 1;
        if (!p)
            return v_retain(result);
        poll_interrupt(c->in);
        base = apply(c, "matmul", base, base);
    }
}
