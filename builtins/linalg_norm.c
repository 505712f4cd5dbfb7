/* Norms and condition numbers: vector norms of any order over all elements or one axis,
 * matrix norms over two axes, cond. The sums are kernels/gemm_sums.c and lapack_facts.c. */
#include "builtins/linalg.h"

#include <math.h>
#include <string.h>

typedef enum NormKind { NORM_DEFAULT, NORM_P, NORM_FRO, NORM_NUC } NormKind;
typedef struct NormOrder {
    NormKind kind;
    double p;
} NormOrder;

static NormOrder read_order(OpCall *c, int i)
{
    NormOrder o = { NORM_DEFAULT, 2 };
    if (!arg_given(c, i) || c->args[i].tag == V_NONE)
        return o;
    if (c->args[i].tag != V_STRING) {
        o.kind = NORM_P;
        o.p = arg_float(c, i);
        if (isnan(o.p))
            arg_error(c, i, ERR_VALUE, "the order of a norm cannot be nan");
        return o;
    }
    const char *text = arg_str(c, i)->text;
    if (!strcmp(text, "fro"))
        o.kind = NORM_FRO;
    else if (!strcmp(text, "nuc"))
        o.kind = NORM_NUC;
    else
        arg_error(c, i, ERR_VALUE,
                  "no norm is called \"%s\"; there are \"fro\", \"nuc\", inf, -inf and numbers",
                  text);
    return o;
}

/* ---- vectors ---- */
static double vector_extreme(BlasType t, int64_t n, const char *x, int64_t step, bool smallest)
{
    double best = smallest && n ? INFINITY : 0;
    for (int64_t i = 0; i < n; i++) {
        double v = mat_abs(t, x, i * step);
        if (isnan(v))
            return v;
        if (smallest ? v < best : v > best)
            best = v;
    }
    return best;
}

static double vector_power(BlasType t, int64_t n, const char *x, int64_t step, double p)
{
    double top = vector_extreme(t, n, x, step, p < 0), sum = 0;
    if (top == 0 || !isfinite(top))
        return top;
    for (int64_t i = 0; i < n; i++)
        sum += pow(mat_abs(t, x, i * step) / top, p);
    return top * pow(sum, 1 / p);
}

static double vector_norm(const Stack *s, NormOrder o, int64_t n, const char *x, int64_t step)
{
    if (o.kind != NORM_P || o.p == 2)
        return gemm_norm2(s->dt, n, x, step);
    if (o.p == 1)
        return mat_norm1(s->type, n, 1, (Mat){ (char *)x, step, 1 });
    if (isinf(o.p))
        return vector_extreme(s->type, n, x, step, o.p < 0);
    if (o.p == 0) {
        double count = 0;
        for (int64_t i = 0; i < n; i++)
            count += mat_abs(s->type, x, i * step) != 0;
        return count;
    }
    return vector_power(s->type, n, x, step, o.p);
}

/* ---- matrices ---- */
static double frobenius(const Stack *s, Mat a)
{
    double total = 0;
    for (int64_t i = 0; i < s->m; i++)
        total = hypot(total, gemm_norm2(s->dt, s->n, a.data + i * a.rs * (int64_t)s->bytes, a.cs));
    return total;
}

static double from_singular_values(NormOrder o, BlasType real, const void *sigma, int64_t k)
{
    double sum = 0;
    if (k == 0)
        return 0;
    if (o.kind == NORM_P)
        return mat_real(real, sigma, o.p > 0 ? 0 : k - 1);
    for (int64_t i = 0; i < k; i++)
        sum += mat_real(real, sigma, i);
    return sum;
}

static double matrix_norm(const Stack *s, NormOrder o, Mat a)
{
    if (o.kind == NORM_P && o.p == 1)
        return mat_norm1(s->type, s->m, s->n, a);
    if (o.kind == NORM_P)
        return mat_norm1(s->type, s->n, s->m, (Mat){ a.data, a.cs, a.rs });
    return frobenius(s, a);
}

static bool needs_singular_values(NormOrder o)
{
    return o.kind == NORM_NUC || (o.kind == NORM_P && fabs(o.p) == 2);
}

static void require_matrix_order(OpCall *c, int i, NormOrder o)
{
    if (o.kind == NORM_P && o.p != 1 && fabs(o.p) != 2 && !(isinf(o.p) && o.p > 0))
        arg_error(c, i, ERR_VALUE, "matrix norms are 1, 2, inf, \"fro\" and \"nuc\", not %g", o.p);
}

/* Norms of every matrix of the stack into `out` (real). */
static void matrix_norms(Stack *s, NormOrder o, void *out)
{
    BlasType real = blas_type(dtype_real(s->dt));
    Out sigma = { NULL, NULL, 0 };
    if (needs_singular_values(o))
        sigma = linalg_singular_values(s);
    for (int64_t i = 0; i < s->count; i++)
        mat_store(real, out, i,
                  sigma.t ? from_singular_values(o, real, linalg_block(&sigma, i), s->m < s->n
                                                 ? s->m : s->n)
                          : matrix_norm(s, o, linalg_item(s, i)), 0);
}

/* ---- axes ---- */
static Tensor *axes_last(OpCall *c, Tensor *t, uint64_t mask)
{
    return op_keep(c, tensor_axes_last(&c->in->ctx, t, mask));
}

/* The result: the shape without the axes in mask, or with length 1 there. */
static Out norm_out(Stack *s, Tensor *t, uint64_t mask, bool keep)
{
    int64_t shape[TENSOR_RANK_MAX];
    int rank = 0;
    for (int d = 0; d < t->rank; d++)
        if (!(mask >> d & 1))
            shape[rank++] = tensor_shape(t)[d];
        else if (keep)
            shape[rank++] = 1;
    Tensor *r = op_keep(s->call, tensor_new(&s->call->in->ctx, dtype_real(s->dt), rank, shape));
    return (Out){ r, r->data, 0 };
}

static Stack vector_stack(OpCall *c, Tensor *t, DType given)
{
    Stack s = { .call = c, .t = t, .given = given, .dt = t->dtype, .type = blas_type(t->dtype) };
    s.bytes = blas_bytes(s.type);
    return s;
}

/* Vector norms along the last axis of v, the other axes counted off by hand. */
static void axis_norms(Stack *s, Tensor *v, NormOrder o, void *out)
{
    BlasType real = blas_type(dtype_real(s->dt));
    const int64_t *shape = tensor_shape(v), *strides = tensor_strides(v);
    int last = v->rank - 1;
    int64_t count = 1;
    for (int d = 0; d < last; d++)
        count *= shape[d];
    for (int64_t i = 0; i < count; i++) {
        int64_t at = 0, index = i;
        for (int d = last - 1; d >= 0; d--) {
            at += index % shape[d] * strides[d];
            index /= shape[d];
        }
        mat_store(real, out, i, vector_norm(s, o, shape[last], v->data + at * (int64_t)s->bytes,
                                            strides[last]), 0);
    }
}

static int bit_count(uint64_t mask)
{
    return __builtin_popcountll(mask);
}

Value op_run_norm(OpCall *c)
{
    Tensor *given = arg_tensor(c, 0);
    NormOrder o = read_order(c, 1);
    bool by_axis = arg_given(c, 2) && c->args[2].tag != V_NONE, keep = arg_bool(c, 3, false);
    Tensor *t = linalg_raise(c, given, linalg_compute_dtype(given->dtype));
    uint64_t all = t->rank ? ~0ull >> (64 - t->rank) : 0;
    uint64_t mask = by_axis ? arg_axes(c, 2, t->rank) : all;
    Stack s = vector_stack(c, t, given->dtype);
    bool covector = given->flags & TENSOR_COVECTOR;
    if (!by_axis && t->rank > 2 && o.kind != NORM_DEFAULT)
        mask = 3ull << (t->rank - 2);
    Out r = norm_out(&s, t, mask, keep);
    int axes = bit_count(mask);
    if (axes <= 1 || (!by_axis && (o.kind == NORM_DEFAULT || covector))) {
        Tensor *flat = t;
        if (axes != 1)                      /* all elements as one vector */
            flat = op_keep(c, tensor_compact(&c->in->ctx, t));
        if (o.kind >= NORM_FRO && !(o.kind == NORM_FRO && axes > 1))
            arg_error(c, 1, ERR_VALUE, "this norm is for matrices, but %s is a vector",
                      arg_text(c, 0));
        if (axes != 1)
            mat_store(blas_type(r.t->dtype), r.data, 0, vector_norm(&s, o, t->size, flat->data, 1),
                      0);
        else
            axis_norms(&s, axes_last(c, flat, mask), o, r.data);
        return linalg_value(&s, &r);
    }
    if (axes != 2)
        arg_error(c, 2, ERR_VALUE, "norm takes one axis (vectors) or two (matrices), not %d", axes);
    require_matrix_order(c, 1, o);
    Stack matrices = linalg_stack_of(c, 0, axes_last(c, t, mask));
    matrix_norms(&matrices, o, r.data);
    return linalg_value(&s, &r);
}

/* ---- condition numbers ---- */
/* |A| |inv(A)|; infinite for a singular matrix, NaN where A has one. */
static double cond_by_inverse(Stack *a, NormOrder o, Mat item, const Blas *blas, char *work,
                              int *pivots,
                              Scratch *w)
{
    int64_t n = a->n, row, col;
    if (!mat_finite(a->type, n, n, item, &row, &col))
        return NAN;
    double norm = matrix_norm(a, o, item);
    mat_copy(a->bytes, n, n, item, mat_columns(work, n));
    if (lapack_lu(blas, a->type, n, n, work, pivots) > 0)
        return INFINITY;
    w->used = 0;
    lapack_lu_inverse(blas, a->type, n, work, pivots, w);
    return norm * matrix_norm(a, o, mat_columns(work, n));
}

static void cond_inverses(Stack *a, NormOrder o, void *out)
{
    OpCall *c = a->call;
    const Blas *blas = linalg_blas(c);
    char *work = linalg_matrix(c, a->n, a->n, a->bytes);
    int *pivots = linalg_work(c, (size_t)a->n, sizeof(int));
    Scratch w = { 0 };
    lapack_lu_inverse(blas, a->type, a->n, work, pivots, &w);
    scratch_allocate(c, &w);
    for (int64_t i = 0; i < a->count; i++) {
        poll_interrupt(c->in);
        mat_store(blas_type(dtype_real(a->dt)), out, i,
                  cond_by_inverse(a, o, linalg_item(a, i), blas, work, pivots, &w), 0);
    }
}

Value op_run_cond(OpCall *c)
{
    NormOrder o = read_order(c, 1);
    bool by_values = o.kind == NORM_DEFAULT || (o.kind == NORM_P && o.p == 2);
    require_matrix_order(c, 1, o);
    Stack a = by_values ? linalg_stack(c, 0) : linalg_square(c, 0);
    BlasType real = blas_type(dtype_real(a.dt));
    int64_t k = a.m < a.n ? a.m : a.n;
    Out r = linalg_out(&a, dtype_real(a.dt), -1, -1, false);
    if (k == 0)
        arg_error(c, 0, ERR_SHAPE, "%s is empty and has no condition number", arg_text(c, 0));
    if (!by_values) {
        cond_inverses(&a, o, r.data);
        return linalg_value(&a, &r);
    }
    Out s = linalg_singular_values(&a);
    for (int64_t i = 0; i < a.count; i++) {
        double top = mat_real(real, linalg_block(&s, i), 0), low = mat_real(real,
                                                                            linalg_block(&s,
                                                                                         i), k - 1);
        mat_store(real, r.data, i, low == 0 ? INFINITY : top / low, 0);
    }
    return linalg_value(&a, &r);
}
