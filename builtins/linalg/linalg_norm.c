/* Norms and condition numbers: vector norms of any order over all elements or one axis,
 * matrix norms over two axes, cond. The sums are kernels/lapack/norms.c and gemm_sums.c. */
#include "builtins/linalg/linalg.h"
#include "core/memory/pool.h"
#include "kernels/lapack/norms.h"

#include <math.h>
#include <stdlib.h>
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
/* PIECE: elements between looks at the interrupt flag, and of what a thread takes at a time.
 * Results are made of pieces that are cut by shape alone, so threads do not change a bit. */
enum { PIECE = 1 << 18, COLUMNS = 512, LINES = 16, CELLS = 1 << 17 };

/* Norms of the columns of a matrix, taken apart into strips of columns and parts of rows; a span
 * of parts at a time, so that what is kept does not grow with the rows. */
typedef struct Fold {
    const Stack *s;
    NormFold fold;
    int64_t rows, cols, wide, tall, parts;   /* of a strip and of a part; parts of a column */
    int64_t from, here, span;                /* the parts at work, and how many at most */
    Mat a;
    double *part;                  /* span × cols: folds; of squares of one column the norms */
    double *joined;                /* cols: those of all parts, in their order */
} Fold;

static void fold_items(void *arg, int64_t begin, int64_t end, int worker)
{
    const Fold *f = arg;
    (void)worker;
    for (int64_t item = begin; item < end; item++) {
        int64_t k = item % f->here, i = (f->from + k) * f->tall, j = item / f->here * f->wide;
        int64_t rows = f->rows - i < f->tall ? f->rows - i : f->tall;
        char *from = f->a.data + (i * f->a.rs + j * f->a.cs) * (int64_t)f->s->bytes;
        double *out = f->part + k * f->cols + j;
        if (f->fold == FOLD_SQUARES && f->cols == 1)
            *out = gemm_norm2(f->s->dt, rows, from, f->a.rs);
        else
            norms_fold_columns(f->s->type, f->fold, rows,
                               f->cols - j < f->wide ? f->cols - j : f->wide,
                               (Mat){ from, f->a.rs, f->a.cs }, out);
    }
}

/* For columns as far from each other as those of a. One column has all its parts in one span. */
static Fold fold_new(const Stack *s, NormFold fold, int64_t rows, int64_t cols, Mat a)
{
    Fold f = { .s = s, .fold = fold, .rows = rows, .cols = cols };
    f.wide = cols == 1 ? 1 : a.cs == 1 ? COLUMNS : LINES + PIECE / 4 / (rows + 1);
    f.tall = PIECE / f.wide;
    f.parts = rows > 0 ? (rows + f.tall - 1) / f.tall : 1;
    f.span = cols == 1 || f.parts <= CELLS / (cols + 1) ? f.parts : CELLS / (cols + 1) + 1;
    f.part = linalg_work(s->call, (size_t)((f.span + (f.parts > 1)) * cols), sizeof(double));
    f.joined = f.part + (f.parts > 1 ? f.span * cols : 0);
    return f;
}

static void fold_join(const Fold *f)
{
    if (f->parts == 1 || (f->fold == FOLD_SQUARES && f->cols == 1))
        return;
    for (int64_t i = 0; i < f->here; i++)
        for (int64_t j = 0; j < f->cols; j++) {
            double r = f->part[i * f->cols + j];
            f->joined[j] = f->from + i == 0 ? r : norms_fold_two(f->fold, f->joined[j], r);
        }
}

static void fold_columns(Fold *f, Mat a)
{
    int64_t each = (f->rows < f->tall ? f->rows : f->tall)
                 * (f->cols < f->wide ? f->cols : f->wide);
    f->a = a;
    for (f->from = 0; f->from < f->parts; f->from += f->span) {
        f->here = f->parts - f->from < f->span ? f->parts - f->from : f->span;
        pool_for(&f->s->call->in->ctx, f->here * ((f->cols + f->wide - 1) / f->wide),
                 PIECE / 4 / (each + 1) + 1, fold_items, f);
        poll_interrupt(f->s->call->in);
        fold_join(f);
    }
}

/* The norm of a vector from those of its parts. */
static double norm_joined(const double *part, int64_t parts)
{
    double top = 0, sum = 0;
    for (int64_t i = 0; i < parts; i++)
        top = part[i] > top || isnan(part[i]) ? part[i] : top;
    if (parts == 1 || top == 0 || !isfinite(top))
        return top;
    for (int64_t i = 0; i < parts; i++)
        sum += part[i] / top * (part[i] / top);
    return top * sqrt(sum);
}

static double fold_vector(const Stack *s, NormFold fold, int64_t n, const char *x, int64_t step)
{
    Mat a = { (char *)x, step, 1 };
    double r;
    if (n > PIECE) {
        Fold f = fold_new(s, fold, n, 1, a);
        fold_columns(&f, a);
        return *f.joined;
    }
    norms_fold_columns(s->type, fold, n, 1, a, &r);
    return r;
}

/* Never out of the range of f64 on the way. */
static double norm2(const Stack *s, int64_t n, const char *x, int64_t step)
{
    if (n <= PIECE)
        return gemm_norm2(s->dt, n, x, step);
    Mat a = { (char *)x, step, 1 };
    Fold f = fold_new(s, FOLD_SQUARES, n, 1, a);
    fold_columns(&f, a);
    return norm_joined(f.part, f.parts);
}

static double vector_power(const Stack *s, int64_t n, const char *x, int64_t step, double p)
{
    double top = fold_vector(s, p < 0 ? FOLD_MIN : FOLD_MAX, n, x, step), sum = 0;
    if (top == 0 || !isfinite(top))
        return top;
    for (int64_t i = 0; i < n; i++) {
        if (i % PIECE == 0)
            poll_interrupt(s->call->in);
        sum += pow(mat_abs(s->type, x, i * step) / top, p);
    }
    return top * pow(sum, 1 / p);
}

/* The fold that an order's norms are made of; false for the orders that take a power. */
static bool order_fold(NormOrder o, NormFold *fold)
{
    if (o.kind != NORM_P || o.p == 2)
        *fold = FOLD_SQUARES;
    else if (o.p == 1)
        *fold = FOLD_SUM;
    else if (isinf(o.p))
        *fold = o.p < 0 ? FOLD_MIN : FOLD_MAX;
    else if (o.p == 0)
        *fold = FOLD_COUNT;
    else
        return false;
    return true;
}

static double vector_norm(const Stack *s, NormOrder o, int64_t n, const char *x, int64_t step)
{
    NormFold fold;
    if (!order_fold(o, &fold))
        return vector_power(s, n, x, step, o.p);
    return fold == FOLD_SQUARES ? norm2(s, n, x, step) : fold_vector(s, fold, n, x, step);
}

/* Norms of the columns of a; f: their fold, or NULL. A sum of squares that left the range of f64,
 * or came near its end, is made again with scaling. */
static void column_norms(const Stack *s, NormOrder o, int64_t rows, int64_t cols, Mat a, Fold *f,
                         BlasType real, void *out, int64_t at)
{
    if (f)
        fold_columns(f, a);
    for (int64_t j = 0; j < cols; j++) {
        const char *x = a.data + j * a.cs * (int64_t)s->bytes;
        double r;
        if (j % COLUMNS == 0)
            poll_interrupt(s->call->in);
        if (!f)
            r = vector_power(s, rows, x, a.rs, o.p);
        else if (f->fold == FOLD_SQUARES && cols == 1)
            r = norm_joined(f->part, f->parts);
        else if ((r = f->joined[j]), f->fold == FOLD_SQUARES)
            r = r > 0x1p-900 && r < 0x1p1000 ? sqrt(r) : norm2(s, rows, x, a.rs);
        mat_store(real, out, at + j, r, 0);
    }
}

/* ---- matrices ---- */
static double frobenius(const Stack *s, Mat a)
{
    double total = 0;
    for (int64_t i = 0; i < s->m; i++)
        total = hypot(total, norm2(s, s->n, a.data + i * a.rs * (int64_t)s->bytes, a.cs));
    return total;
}

static double sum_of(BlasType real, const void *sigma, int64_t k)
{
    double sum = 0;
    for (int64_t i = 0; i < k; i++)
        sum += mat_real(real, sigma, i);
    return sum;
}

static double from_singular_values(NormOrder o, BlasType real, const void *sigma, int64_t k)
{
    if (k == 0)
        return 0;
    return o.kind == NORM_P ? mat_real(real, sigma, o.p > 0 ? 0 : k - 1) : sum_of(real, sigma, k);
}

static double matrix_norm(const Stack *s, NormOrder o, Mat a)
{
    if (o.kind != NORM_P)
        return frobenius(s, a);
    bool by_rows = isinf(o.p);
    int64_t m = by_rows ? s->n : s->m, n = by_rows ? s->m : s->n;
    Mat lines = by_rows ? (Mat){ a.data, a.cs, a.rs } : a;
    const InterruptFlag *stop = s->call->in->ctx.interrupt;
    double norm = o.p > 0 ? norms_largest_column(s->type, m, n, lines, stop)
                          : norms_smallest_column(s->type, m, n, lines, stop);
    poll_interrupt(s->call->in);
    return norm;
}

static bool needs_singular_values(NormOrder o)
{
    return o.kind == NORM_NUC || (o.kind == NORM_P && fabs(o.p) == 2);
}

static void require_matrix_order(OpCall *c, int i, NormOrder o)
{
    if (o.kind == NORM_P && fabs(o.p) != 1 && fabs(o.p) != 2 && !isinf(o.p))
        arg_error(c, i, ERR_VALUE,
                  "matrix norms are 1, 2, inf, -1, -2, -inf, \"fro\" and \"nuc\", not %g", o.p);
}

/* A smallest value over nothing does not exist. */
static void require_lines(const Stack *s, NormOrder o)
{
    int64_t k = s->m < s->n ? s->m : s->n;
    int64_t lines = fabs(o.p) == 2 ? k : isinf(o.p) ? s->m : s->n;
    char shape[96];
    if (o.kind == NORM_P && o.p < 0 && lines == 0)
        arg_error(s->call, 0, ERR_VALUE, "%s is empty (%s) and has no smallest %s",
                  arg_text(s->call, 0), shape_text(shape, sizeof shape, s->t->rank,
                                                   tensor_shape(s->t)),
                  fabs(o.p) == 2 ? "singular value" : isinf(o.p) ? "row" : "column");
}

/* Norms of every matrix of the stack into `out` (real). */
static void matrix_norms(Stack *s, NormOrder o, void *out)
{
    BlasType real = blas_type(dtype_real(s->dt));
    Out sigma = { NULL, NULL, 0 };
    require_lines(s, o);
    if (needs_singular_values(o))
        sigma = linalg_singular_values(s);
    for (int64_t i = 0; i < s->count; i++) {
        poll_interrupt(s->call->in);
        mat_store(real, out, i,
                  sigma.t ? from_singular_values(o, real, linalg_block(&sigma, i), s->m < s->n
                                                 ? s->m : s->n)
                          : matrix_norm(s, o, linalg_item(s, i)), 0);
    }
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

/* Vector norms along the last axis of v: the axis before it makes the columns of a matrix,
 * the others are counted off. */
static void axis_norms(Stack *s, Tensor *v, NormOrder o, void *out)
{
    BlasType real = blas_type(dtype_real(s->dt));
    const int64_t *shape = tensor_shape(v), *strides = tensor_strides(v);
    int last = v->rank - 1, across = last - 1;
    int64_t cols = across < 0 ? 1 : shape[across], count = 1;
    Mat a = { v->data, strides[last], across < 0 ? 1 : strides[across] };
    NormFold fold;
    Fold columns, *f = NULL;
    for (int d = 0; d < across; d++)
        count *= shape[d];
    if (order_fold(o, &fold)) {
        columns = fold_new(s, fold, shape[last], cols, a);
        f = &columns;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t at = 0, index = i;
        for (int d = across - 1; d >= 0; d--) {
            at += index % shape[d] * strides[d];
            index /= shape[d];
        }
        a.data = v->data + at * (int64_t)s->bytes;
        column_norms(s, o, shape[last], cols, a, f, real, out, i * cols);
    }
}

static int bit_count(uint64_t mask)
{
    return __builtin_popcountll(mask);
}

double linalg_order_for_axes(OpCall *c, double p, int rank)
{
    Value v = c->args[2];
    if (v.tag != V_TUPLE || v.tuple->count != 2)
        return p;
    int64_t first = v.tuple->items[0].i, second = v.tuple->items[1].i;
    bool swapped = (first < 0 ? first + rank : first) > (second < 0 ? second + rank : second);
    return swapped && (fabs(p) == 1 || isinf(p)) ? copysign(isinf(p) ? 1 : INFINITY, p) : p;
}

static void require_elements(OpCall *c, NormOrder o, int64_t n)
{
    if (n == 0 && o.kind == NORM_P && isinf(o.p) && o.p < 0)
        arg_error(c, 0, ERR_VALUE, "%s is empty and has no smallest element", arg_text(c, 0));
}

/* The 2-norm of a matrix is a singular value; so are the smallest one and the nuclear norm's
 * terms. */
const char *needs_norm(const Value *args, int count)
{
    if (count < 2 || args[0].tag != V_TENSOR || args[0].tensor->rank < 2)
        return NULL;
    Value ord = args[1];
    if (ord.tag == V_STRING)
        return strcmp(ord.str->text, "nuc") == 0 ? "svd" : NULL;
    if (v_dtype(ord) == DT_NONE || ord.tag == V_TENSOR)
        return NULL;
    return (ord.tag == V_FLOAT ? ord.f == 2 || ord.f == -2 : ord.i == 2 || ord.i == -2)
           ? "svd" : NULL;
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
    s.count = 1;
    if (!needs_singular_values(o))
        linalg_explain_flops(&s, 2 * (double)t->size, "2 per element");
    int axes = bit_count(mask);
    if (by_axis && axes == 0 && t->rank)
        arg_error(c, 2, ERR_VALUE, "axis must name one axis (vectors) or two (matrices), not none");
    if (axes <= 1 || (!by_axis && (o.kind == NORM_DEFAULT || covector))) {
        Tensor *flat = t;
        if (axes != 1)                      /* all elements as one vector */
            flat = op_keep(c, tensor_compact(&c->in->ctx, t));
        if (o.kind >= NORM_FRO && !(o.kind == NORM_FRO && axes > 1))
            arg_error(c, 1, ERR_VALUE, "this norm is for matrices, but %s is a vector",
                      arg_text(c, 0));
        require_elements(c, o, axes == 1 ? tensor_shape(t)[__builtin_ctzll(mask)] : t->size);
        if (axes != 1)
            mat_store(blas_type(r.t->dtype), r.data, 0, vector_norm(&s, o, t->size, flat->data, 1),
                      0);
        else
            axis_norms(&s, axes_last(c, flat, mask), o, r.data);
        return linalg_value(&s, &r);
    }
    if (axes != 2)
        arg_error(c, 2, ERR_VALUE, "axis must name one axis (vectors) or two (matrices), not %d",
                  axes);
    require_matrix_order(c, 1, o);
    if (by_axis)
        o.p = linalg_order_for_axes(c, o.p, t->rank);
    Stack matrices = linalg_stack_of(c, 0, axes_last(c, t, mask));
    matrix_norms(&matrices, o, r.data);
    return linalg_value(&s, &r);
}

/* ---- condition numbers ---- */
/* Brings a matrix whose inverse might overflow into the middle of the range: a power of two
 * changes no condition number. */
static void rescale(BlasType t, int64_t count, char *x, double norm)
{
    int e = norm > 0 ? ilogb(norm) : 0;
    int64_t parts = blas_is_complex(t) ? 2 * count : count;
    bool narrow = t == BLAS_S || t == BLAS_C;
    if (abs(e) < (narrow ? 100 : 900))
        return;
    for (int64_t i = 0; i < parts; i++)
        mat_store(narrow ? BLAS_S : BLAS_D, x, i,
                  scalbn(mat_real(narrow ? BLAS_S : BLAS_D, x, i), -e), 0);
}

/* |A| |inv(A)|; infinite for a singular matrix, NaN where A has one. */
static double cond_by_inverse(Stack *a, NormOrder o, Mat item, const Blas *blas, char *work,
                              int *pivots, Scratch *w)
{
    int64_t n = a->n, row, col;
    if (!mat_finite(a->type, n, n, item, &row, &col))
        return NAN;
    Mat copy = mat_columns(work, n);
    mat_copy(a->bytes, n, n, item, copy);
    rescale(a->type, n * n, work, mat_norm1(a->type, n, n, copy));
    double norm = matrix_norm(a, o, copy), one = mat_norm1(a->type, n, n, copy);
    if (lapack_lu(blas, a->type, n, n, work, pivots) > 0)
        return INFINITY;
    w->used = 0;
    lapack_lu_inverse(blas, a->type, n, work, pivots, w);
    if (linalg_deficient(a, one * mat_norm1(a->type, n, n, copy)))
        return INFINITY;
    return norm * matrix_norm(a, o, copy);
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
    lapack_threads(&c->in->ctx, blas, LAPACK_LU, a->n);
    linalg_explain_routines(c, a->type, "getrf getri", "getrf getri");
    linalg_explain_flops(a, 2 * (double)a->n * (double)a->n * (double)a->n, "2n^3");
    for (int64_t i = 0; i < a->count; i++) {
        poll_interrupt(c->in);
        mat_store(blas_type(dtype_real(a->dt)), out, i,
                  cond_by_inverse(a, o, linalg_item(a, i), blas, work, pivots, &w), 0);
    }
}

/* From the k singular values, descending: their extremes, or their sum times that of their
 * inverses. */
static double cond_from_values(const Stack *a, NormOrder o, BlasType real, const void *s, int64_t k)
{
    double top = mat_real(real, s, 0), low = mat_real(real, s, k - 1), inverses = 0;
    bool deficient = low == 0 || linalg_deficient(a, top / low);
    if (o.kind == NORM_P && o.p == -2)
        return top == 0 ? INFINITY : deficient ? 0 : low / top;
    if (deficient)
        return INFINITY;
    if (o.kind != NORM_NUC)
        return top / low;
    for (int64_t i = 0; i < k; i++)
        inverses += low / mat_real(real, s, i);
    return sum_of(real, s, k) / low * inverses;
}

Value op_run_cond(OpCall *c)
{
    NormOrder o = read_order(c, 1);
    bool by_values = o.kind == NORM_DEFAULT || needs_singular_values(o);
    require_matrix_order(c, 1, o);
    Stack a = by_values && o.kind != NORM_NUC ? linalg_stack(c, 0) : linalg_square(c, 0);
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
    for (int64_t i = 0; i < a.count; i++)
        mat_store(real, r.data, i, cond_from_values(&a, o, real, linalg_block(&s, i), k), 0);
    return linalg_value(&a, &r);
}
