/* Products in a format: `@`, dot and einsum with every product and partial sum rounded to the
 * accumulator, in order. Shapes that do not fit are told by the rows' own functions. Called
 * through the precision aspect, where no fast kernel runs. */
#include "builtins/einsum/einsum.h"
#include "builtins/formats/formats.h"
#include "builtins/rows/rows.h"

#include "core/base/error.h"
#include "interp/op/exact.h"

#include <string.h>

/* One operand as a stack of matrices: contiguous carriers of the accumulator. */
typedef struct Side {
    Tensor *t;
    int64_t rows, cols;
    int batch;                  /* leading axes */
    bool drop;                  /* a vector: its axis of length 1 is none of the result's */
} Side;

typedef struct Product {
    Side a, b;
    int64_t shape[TENSOR_RANK_MAX + 2], step[2][TENSOR_RANK_MAX], count;
    int rank, batch;
    bool covector;
} Product;

static bool is_covector(const Tensor *t) { return t->flags & TENSOR_COVECTOR; }

static void side_layout(Side *s, bool as_row)
{
    const int64_t *shape = tensor_shape(s->t);
    int rank = s->t->rank;
    s->batch = rank >= 2 ? rank - 2 : 0;
    s->rows = rank >= 2 ? shape[rank - 2] : as_row ? 1 : shape[0];
    s->cols = rank >= 2 ? shape[rank - 1] : as_row ? shape[0] : 1;
}

/* How far one position along each axis of the batch is, in matrices; 0 where it is repeated. */
static void batch_steps(const Product *p, const Side *s, int64_t *step)
{
    int64_t at = 1;
    for (int d = p->batch - 1; d >= 0; d--) {
        int own = d - (p->batch - s->batch);
        int64_t n = own < 0 ? 1 : tensor_shape(s->t)[own];
        step[d] = n == 1 ? 0 : at;
        at *= n;
    }
}

/* False: the shapes do not fit. */
static bool product_layout(Ctx *ctx, Product *p)
{
    Tensor *a = p->a.t, *b = p->b.t;
    int bad;
    if (a->rank == 0 || b->rank == 0)
        return false;
    bool outer = a->rank == 1 && is_covector(b);
    p->covector = is_covector(a) && b->rank <= 2 && !is_covector(b);
    p->b.drop = b->rank == 1;
    p->a.drop = (a->rank == 1 && !outer) || (p->covector && p->b.drop);
    side_layout(&p->a, !outer);
    side_layout(&p->b, false);
    if (p->a.cols != p->b.rows)
        return false;
    p->rank = p->batch =
        shape_broadcast(p->a.batch, tensor_shape(a), p->b.batch, tensor_shape(b), p->shape, &bad);
    if (p->rank < 0)
        return false;
    p->count = shape_checked(ctx, p->batch, p->shape);
    batch_steps(p, &p->a, p->step[0]);
    batch_steps(p, &p->b, p->step[1]);
    if (!p->a.drop)
        p->shape[p->rank++] = p->a.rows;
    if (!p->b.drop)
        p->shape[p->rank++] = p->b.cols;
    p->covector &= !p->b.drop;
    return true;
}

/* Sums of complex products, one number after the other: the textbook formulas. */
static ArithStatus complex_matmul(Arith *a, char *out, const char *x, const char *y, int64_t m,
                                  int64_t n, int64_t inner)
{
    ArithStatus s = ARITH_OK;
    const int64_t one[] = { 1, 1 };
    const int64_t size = a->size, each = 2 * size;
    for (int64_t i = 0; i < m * n && s == ARITH_OK; i++) {
        const char *u = x + (i / n) * inner * each, *v = y + (i % n) * each;
        NumberCell sum[2] = { { { 0 } }, { { 0 } } }, product[2];
        char *im = (char *)product + size;
        for (int64_t k = 0; k < inner && s == ARITH_OK; k++, u += each, v += n * each) {
            s = arith_complex(a, EW_MULTIPLY, product, im, arith_pair(a, u, 1),
                              arith_pair(a, v, 1), 1);
            if (k == 0)
                memcpy(sum, product, sizeof sum);
            else if (s == ARITH_OK)
                s = a->ops->ew(a, EW_ADD, sum, 1, (const void *const[]){ sum, product }, one, 2);
        }
        memcpy(out + i * each, sum, (size_t)each);
        if (*a->ctx->interrupt)
            s = ARITH_INTERRUPT;
    }
    return s;
}

static void multiply_one(OpCall *c, Precise *p, const Product *q, int64_t i, Tensor *out)
{
    DType dt = (DType)out->dtype;
    int64_t m = q->a.rows, n = q->b.cols, k = q->a.cols, at[2] = { 0 }, index = i,
            bytes = dtype_info(dt)->bytes;
    for (int d = q->batch - 1; d >= 0; d--) {
        int64_t position = index % q->shape[d];
        index /= q->shape[d];
        at[0] += position * q->step[0][d];
        at[1] += position * q->step[1][d];
    }
    char *x = q->a.t->data + at[0] * m * k * bytes, *y = q->b.t->data + at[1] * k * n * bytes;
    char *to = out->data + i * m * n * bytes;
    ArithStatus s = ARITH_OK;
    if (dt == DT_INTERVAL && !p->scope->reproducible &&
        format_interval_product(c, m, n, k, (const Interval *)(void *)x,
                                (const Interval *)(void *)y, (Interval *)(void *)to))
        p->sums = "by midpoint and radius (Rump): three products of doubles enclose it";
    else if (dtype_info(dt)->kind == 'c')
        s = complex_matmul(&p->acc, to, x, y, m, n, k);
    else
        s = arith_matmul(&p->acc, (ArithMatrix){ to, n, 1 }, (ArithMatrix){ x, k, 1 },
                         (ArithMatrix){ y, n, 1 }, m, n, k);
    precise_check(c->in, c->op, s, p->acc.dtype);
}

static Tensor *argument(OpCall *c, int i)
{
    return c->args[i].tag == V_TENSOR ? c->args[i].tensor : arg_tensor(c, i);
}

/* Both operands in carriers of the accumulator; complex where one of them is. */
static void carry_sides(OpCall *c, Precise *p, Product *q)
{
    bool paired = dtype_info(q->a.t->dtype)->kind == 'c' || dtype_info(q->b.t->dtype)->kind == 'c';
    Side *const sides[] = { &q->a, &q->b };
    for (int i = 0; i < 2; i++) {
        Tensor *t = sides[i]->t;
        if (paired && dtype_info(t->dtype)->kind != 'c')
            t = op_keep(c, precise_carriers_as(p, c->op, t, true));
        sides[i]->t = format_summands(c, p, t);
    }
}

static Value matmul_in_order(OpCall *c, Precise *p)
{
    Product q = { .a.t = argument(c, 0), .b.t = argument(c, 1) };
    if (!product_layout(&c->in->ctx, &q))
        return precise_outside(c, p->scope, DT_F64, true);      /* for its error */
    carry_sides(c, p, &q);
    Tensor *out = op_keep(c, tensor_zeros(&c->in->ctx, (DType)q.a.t->dtype, q.rank, q.shape));
    for (int64_t i = 0; i < q.count; i++)
        multiply_one(c, p, &q, i, out);
    out = op_keep(c, precise_result(p, c->op, &p->acc, out));
    out->flags = q.covector ? TENSOR_COVECTOR : 0;
    return op_result(c, out);
}

Value op_format_matmul(OpCall *c, Scope *s)
{
    return format_accumulate(c, s, false, matmul_in_order);
}

/* conj(a) @ b, which is the same sum. */
static Value dot_in_order(OpCall *c, Precise *p)
{
    Value args[2];
    OpCall call = *c;
    Tensor *a = argument(c, 0), *b = argument(c, 1);
    if (a->rank != 1 || b->rank != 1 || tensor_shape(a)[0] != tensor_shape(b)[0])
        return precise_outside(c, p->scope, DT_F64, true);      /* for its error */
    args[0] = format_row(c, "conj", 1, v_tensor_raw(a));
    args[1] = v_tensor_raw(b);
    call.args = args;
    return matmul_in_order(&call, p);
}

Value op_format_dot(OpCall *c, Scope *s) { return format_accumulate(c, s, false, dot_in_order); }

/* ---- einsum: the factors of every term multiplied from left to right ---- */
enum { LABELS = 64, STRIP = 255 };

typedef struct Loops {
    int labels;                             /* of the result in order, then those summed over … */
    uint8_t label[LABELS];                  /* … in order of first appearance */
    int64_t extent[LABELS], at[LABELS];
    int64_t *stride;                        /* operand k's along loop l: stride[k * LABELS + l] */
    int64_t inner;                          /* positions of the summed loops but the last … */
    int64_t row;                            /* … and of that one: 1 where nothing is summed */
} Loops;

static void add_loop(EinsumSpec *s, Loops *l, int index)
{
    for (int i = 0; i < l->labels; i++)
        if (l->label[i] == index)
            return;
    if (l->labels == LABELS)
        arg_error(s->call, 0, ERR_VALUE, "more than %d labels", LABELS);
    l->label[l->labels] = (uint8_t)index;
    l->extent[l->labels++] = s->length[index];
}

static void read_loops(EinsumSpec *s, Loops *l)
{
    OpCall *c = s->call;
    int64_t bytes = (int64_t)mem_mul(&c->in->ctx, (size_t)s->operands, LABELS * sizeof(int64_t));
    memset(l, 0, sizeof *l);
    l->stride = (void *)op_keep(c, tensor_zeros(&c->in->ctx, DT_U8, 1, &bytes))->data;
    for (int a = 0; a < s->rank; a++)
        add_loop(s, l, s->result[a]);
    for (int k = 0; k < s->operands; k++)
        for (int a = 0; a < s->operand[k].tensor->rank; a++)
            add_loop(s, l, s->operand[k].index[a]);
    l->inner = 1;
    for (int i = s->rank; i + 1 < l->labels; i++)
        l->inner = count_times(l->inner, l->extent[i]);
    l->row = l->labels > s->rank ? l->extent[l->labels - 1] : 1;
    if (l->row == 0)
        l->inner = 0;                       /* however many positions have no term */
    for (int k = 0; k < s->operands; k++)
        for (int a = 0; a < s->operand[k].tensor->rank; a++)
            for (int i = 0; i < l->labels; i++)
                if (l->label[i] == s->operand[k].index[a] &&
                    tensor_shape(s->operand[k].tensor)[a] != 1)
                    l->stride[k * LABELS + i] += tensor_strides(s->operand[k].tensor)[a];
}

/* The next position of the loops [from, to), the last one fastest. */
static void advance(Loops *l, int from, int to)
{
    for (int i = to - 1; i >= from && ++l->at[i] == l->extent[i]; i--)
        l->at[i] = 0;
}

/* Operand k where the loops stand, and its step along the last of them. */
static const char *factor(const EinsumSpec *s, const Loops *l, int k, int64_t each, int64_t *step)
{
    int64_t offset = 0;
    for (int i = 0; i < l->labels; i++)
        offset += l->at[i] * l->stride[k * LABELS + i];
    *step = l->labels > s->rank ? l->stride[k * LABELS + l->labels - 1] : 0;
    return s->operand[k].tensor->data + offset * each;
}

/* terms[i] *= x[i]; pairs where numbers are complex. */
static ArithStatus multiply_row(Arith *a, char *terms, const char *x, int64_t step, int64_t n,
                                int parts)
{
    if (parts == 1)
        return a->ops->ew(a, EW_MULTIPLY, terms, 1, (const void *const[]){ terms, x },
                          (const int64_t[]){ 1, step }, n);
    ArithStrip re, im;
    ArithStatus s = arith_complex(a, EW_MULTIPLY, &re, &im, arith_pair(a, terms, 1),
                                  arith_pair(a, x, step), n);
    arith_pairs_put(a, terms, 1, &re, &im, n);
    return s;
}

/* The terms of n positions along the last loop, added to the sum in front of them; `first`: there
 * is none yet. */
static ArithStatus add_terms(Arith *a, const EinsumSpec *s, const Loops *l, int64_t from, int64_t n,
                             char *room, bool first, int parts)
{
    int64_t each = (int64_t)parts * a->size, step;
    char *terms = room + each;
    const char *x = factor(s, l, 0, each, &step) +
                    from * each * (l->labels > s->rank ? l->stride[l->labels - 1] : 0);
    ArithStatus st = ARITH_OK;
    for (int64_t i = 0; i < n; i++)
        memcpy(terms + i * each, x + i * step * each, (size_t)each);
    for (int k = 1; k < s->operands && st == ARITH_OK; k++) {
        x = factor(s, l, k, each, &step);
        st = multiply_row(a, terms, x + from * step * each, step, n, parts);
    }
    for (int k = 0; k < parts && st == ARITH_OK; k++) {
        char *to = room + k * a->size;
        st = first ? a->ops->sum(a, to, to + each, parts, n) : a->ops->sum(a, to, to, parts, n + 1);
    }
    return st;
}

static ArithStatus element_sum(Arith *a, const EinsumSpec *s, Loops *l, char *to, char *room,
                               int parts)
{
    int64_t each = (int64_t)parts * a->size;
    int last = l->labels > s->rank ? l->labels - 1 : l->labels;
    ArithStatus st = ARITH_OK;
    bool first = true;
    for (int64_t i = 0; i < l->inner && st == ARITH_OK; i++, advance(l, s->rank, last))
        for (int64_t from = 0; from < l->row && st == ARITH_OK; from += STRIP, first = false) {
            int64_t n = l->row - from < STRIP ? l->row - from : STRIP;
            st = *a->ctx->interrupt ? ARITH_INTERRUPT
                                    : add_terms(a, s, l, from, n, room, first, parts);
        }
    if (!first)
        memcpy(to, room, (size_t)each);
    return st;
}

/* ---- two operands: a product of matrices ---- */
enum { IN_A = 1, IN_B = 2, IN_OUT = 4 };

/* Which loops each operand has; false: a product of matrices is not all there is to it. */
static bool matrix_loops(const EinsumSpec *s, const Loops *l, int *where)
{
    if (s->operands != 2)
        return false;
    for (int i = 0; i < l->labels; i++) {
        where[i] = i < s->rank ? IN_OUT : 0;
        for (int k = 0; k < 2; k++) {
            int times = 0;
            for (int a = 0; a < s->operand[k].tensor->rank; a++)
                if (s->operand[k].index[a] == l->label[i]) {
                    times++;
                    if (tensor_shape(s->operand[k].tensor)[a] != l->extent[i])
                        return false;
                }
            if (times > 1)
                return false;
            where[i] |= times ? 1 << k : 0;
        }
        if (where[i] == IN_A || where[i] == IN_B || where[i] == IN_OUT)
            return false;
    }
    return true;
}

/* Operand k with its loops in three groups, contiguous; the product of each group's lengths. */
static Tensor *grouped(OpCall *c, const EinsumSpec *s, const Loops *l, const int *where, int k,
                       const int group[3], int64_t length[3])
{
    int64_t shape[LABELS], strides[LABELS];
    Tensor *t = s->operand[k].tensor;
    int rank = 0;
    for (int g = 0; g < 3; g++) {
        length[g] = 1;
        for (int i = 0; i < l->labels; i++)
            if (where[i] == group[g]) {
                shape[rank] = l->extent[i];
                strides[rank++] = l->stride[k * LABELS + i];
                length[g] = count_times(length[g], l->extent[i]);
            }
    }
    return op_keep(c, tensor_copy(&c->in->ctx, op_keep(c, tensor_view(&c->in->ctx, t, rank, shape,
                                                                      strides, t->data))));
}

/* The result's axes stand as batch, rows of A, columns of B: back in their order. */
static Tensor *ungrouped(OpCall *c, const EinsumSpec *s, const Loops *l, const int *where,
                         Tensor *out)
{
    static const int groups[] = { IN_A | IN_B | IN_OUT, IN_A | IN_OUT, IN_B | IN_OUT };
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX], step = 1;
    for (int g = 2; g >= 0; g--)
        for (int i = s->rank - 1; i >= 0; i--)
            if (where[i] == groups[g]) {
                shape[i] = l->extent[i];
                strides[i] = step;
                step *= l->extent[i];
            }
    Tensor *view = op_keep(c, tensor_view(&c->in->ctx, out, s->rank, shape, strides, out->data));
    return op_keep(c, tensor_compact(&c->in->ctx, view));
}

static Tensor *matrix_einsum(OpCall *c, Precise *p, const EinsumSpec *s, const Loops *l,
                             const int *where)
{
    static const int left[] = { IN_A | IN_B | IN_OUT, IN_A | IN_OUT, IN_A | IN_B };
    static const int right[] = { IN_A | IN_B | IN_OUT, IN_A | IN_B, IN_B | IN_OUT };
    int64_t a[3], b[3], size;
    Product q = { .a.t = grouped(c, s, l, where, 0, left, a),
                  .b.t = grouped(c, s, l, where, 1, right, b) };
    q.a.rows = a[1];
    q.a.cols = a[2];
    q.b.rows = b[1];
    q.b.cols = b[2];
    q.batch = 1;
    q.shape[0] = q.count = a[0];
    q.step[0][0] = q.step[1][0] = 1;
    size = (int64_t)mem_mul(&c->in->ctx, mem_mul(&c->in->ctx, (size_t)a[0], (size_t)a[1]),
                            (size_t)b[2]);
    Tensor *out = op_keep(c, tensor_zeros(&c->in->ctx, (DType)q.a.t->dtype, 1, &size));
    for (int64_t i = 0; i < q.count && size; i++)
        multiply_one(c, p, &q, i, out);
    return ungrouped(c, s, l, where, out);
}

static void carry_operands(OpCall *c, Precise *p, EinsumSpec *s, bool *paired)
{
    *paired = false;
    for (int k = 0; k < s->operands; k++)
        *paired |= dtype_info(s->operand[k].tensor->dtype)->kind == 'c';
    for (int k = 0; k < s->operands; k++) {
        Tensor *t = s->operand[k].tensor;
        if (*paired && dtype_info(t->dtype)->kind != 'c')
            t = op_keep(c, precise_carriers_as(p, c->op, t, true));
        s->operand[k].tensor = format_summands(c, p, t);
    }
}

static Value einsum_in_order(OpCall *c, Precise *p)
{
    EinsumSpec s;
    Loops l;
    int64_t shape[TENSOR_RANK_MAX], room = STRIP + 1;
    int where[LABELS];
    bool paired;
    einsum_read(&s, c);
    carry_operands(c, p, &s, &paired);
    read_loops(&s, &l);
    if (matrix_loops(&s, &l, where))
        return format_sums(c, p, matrix_einsum(c, p, &s, &l, where));
    for (int a = 0; a < s.rank; a++)
        shape[a] = s.length[s.result[a]];
    DType dt = precise_carrier(&p->acc, paired);
    Tensor *out = op_keep(c, tensor_zeros(&c->in->ctx, dt, s.rank, shape));
    char *strip = op_keep(c, tensor_zeros(&c->in->ctx, dt, 1, &room))->data;
    for (int64_t i = 0; i < out->size; i++, advance(&l, 0, s.rank)) {
        char *to = out->data + i * dtype_info(dt)->bytes;
        ArithStatus status = element_sum(&p->acc, &s, &l, to, strip, paired ? 2 : 1);
        precise_check(c->in, c->op, status, p->acc.dtype);
        format_collect(c);
    }
    return format_sums(c, p, out);
}

Value op_format_einsum(OpCall *c, Scope *s)
{
    return format_accumulate(c, s, false, einsum_in_order);
}
