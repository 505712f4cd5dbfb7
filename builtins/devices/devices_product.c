/* Products on devices of generated source. All of them are nests; one that is a product of
 * matrices is seen as such by gpu.h and goes to the device's library or to the tiled kernel, with
 * its operands as they lie. */
#include "builtins/devices/devices_form.h"

#include "builtins/einsum/einsum.h"
#include "interp/op/heard.h"

#include <string.h>

static DType product_dtype(DType a, DType b)
{
    DType dt = a == b ? a : dtype_promote(a, b);
    return dt != DT_NONE && form_whole(dt) ? DT_I64 : dt;
}

static bool real_dtype(OpCall *c, Device *d, DType dt)
{
    bool cplx = dt != DT_NONE && dtype_info(dt)->kind == 'c' && !(d->caps & DEVCAP_GRID);
    if (dt == DT_NONE || dt >= DT_RATIONAL || cplx)
        place_refuse(c->in, (Lack){ LACK_NO_REALS });
    else if (!device_holds(d, dt))
        place_refuse(c->in, (Lack){ LACK_DTYPE, .dtype = dt });
    else
        return true;
    return false;
}

/* Operands of a nest that is a product: of one dtype, and not too crooked for a library. */
static Tensor *factor(OpCall *c, Device *d, Tensor *t, DType dt)
{
    int64_t least = INT64_MAX;
    for (int a = 0; a < t->rank; a++)
        if (tensor_shape(t)[a] > 1) {
            int64_t s = tensor_strides(t)[a];
            least = (s < 0 ? 2 : s) < least && s ? (s < 0 ? 2 : s) : least;
        }
    bool crooked = t->size >= 1 << 14 && least > 1 && least != INT64_MAX;
    return t->dtype == dt && !crooked ? t : form_copy(c, d, t, dt);
}

/* ---- A @ B ---- */
typedef struct Side {
    Tensor *t;
    int batch;                          /* leading axes */
    bool row, column;                   /* it has rows, columns in the result */
    int64_t rows, cols, rs, cs;
} Side;

static void side_read(Side *s, Tensor *t, bool left)
{
    int r = t->rank;
    const int64_t *n = tensor_shape(t), *step = tensor_strides(t);
    *s = (Side){ .t = t, .batch = r > 2 ? r - 2 : 0, .row = r > 1, .column = r > 1 };
    if (r == 1) {
        s->rows = left ? 1 : n[0];
        s->cols = left ? n[0] : 1;
        s->rs = left ? 0 : step[0];
        s->cs = left ? step[0] : 0;
        return;
    }
    s->rows = n[r - 2];
    s->cols = n[r - 1];
    s->rs = step[r - 2];
    s->cs = step[r - 1];
}

/* Strides for the leading axes of a result with `batch` of them. */
static void leading(const Side *s, int batch, int64_t *stride)
{
    for (int i = 0; i < s->batch; i++)
        stride[batch - s->batch + i] = tensor_shape(s->t)[i] == 1 ? 0 : tensor_strides(s->t)[i];
}

/* Products are rounded once, after their sum: f16 and bf16 multiply in f32. */
static DType product_wide(DType dt) { return dtype_computed(dt); }

/* The sum over index k of the product of two loads. */
static int product_node(PlaceNest *n, int a, int b, DType dt, int k)
{
    Ctx *ctx = &n->in->ctx;
    int product = place_nest_ew(n, EW_MULTIPLY, product_wide(dt), a, b);
    return nest_cast(ctx, n->nest,
                     nest_reduce(ctx, n->nest, NEST_SUM, product, UINT64_C(1) << k), dt);
}

/* What a report calls the product of matrices; the narrow sides of others make them sums. */
static void name_kernel(OpCall *c, Device *d, const Side *a, const Side *b, DType dt,
                        const int64_t *shape, int batch)
{
    DevGemm g = { .dtype = dt, .m = a->rows, .n = b->cols, .k = a->cols };
    g.count = shape_checked(&c->in->ctx, batch, shape);
    const char *library = gpu_gemm_library(d, &g);
    if (g.m >= 8 && g.n >= 8 && g.k >= 8)
        heard_kernel(c->in, library ? "gemm" : "tiled", library);
}

/* A @ B by the rules of `@`, rooted; NULL: refused. The operands fit. */
static Tensor *form_product(OpCall *c, Device *d, Tensor *ta, Tensor *tb)
{
    DType dt = product_dtype((DType)ta->dtype, (DType)tb->dtype);
    int64_t shape[TENSOR_RANK_MAX], stride[NEST_INDICES];
    Side a, b;
    int bad;
    EwTrouble trouble;
    if (!real_dtype(c, d, dt))
        return NULL;
    side_read(&a, factor(c, d, ta, dt), true);
    side_read(&b, factor(c, d, tb, dt), false);
    int batch = shape_broadcast(a.batch, tensor_shape(a.t), b.batch, tensor_shape(b.t), shape,
                                &bad), rank = batch;
    int row = a.row ? rank++ : -1, column = b.column ? rank++ : -1;
    if (row >= 0)
        shape[row] = a.rows;
    if (column >= 0)
        shape[column] = b.cols;
    PlaceNest *n = place_nest_new(c->in, d);
    place_nest_axes(n, rank, shape);
    int k = nest_index(n->nest, "k", a.cols, 0, 1);
    memset(stride, 0, sizeof stride);
    leading(&a, batch, stride);
    if (row >= 0)
        stride[row] = a.rs;
    stride[k] = a.cs;
    int x = place_nest_load(n, a.t, stride, k + 1);
    memset(stride, 0, sizeof stride);
    leading(&b, batch, stride);
    if (column >= 0)
        stride[column] = b.cs;
    stride[k] = b.rs;
    int y = place_nest_load(n, b.t, stride, k + 1);
    n->nest->root = product_node(n, x, y, dt, k);
    name_kernel(c, d, &a, &b, dt, shape, batch);
    return place_nest_takes(n) ? place_nest_run(n, rank, shape, &trouble) : NULL;
}

static bool fits(const Tensor *a, const Tensor *b)
{
    int64_t shape[TENSOR_RANK_MAX];
    int bad;
    if (a->rank == 0 || b->rank == 0)
        return false;
    if (tensor_shape(a)[a->rank - 1] != tensor_shape(b)[b->rank == 1 ? 0 : b->rank - 2])
        return false;
    return shape_broadcast(a->rank > 2 ? a->rank - 2 : 0, tensor_shape(a),
                           b->rank > 2 ? b->rank - 2 : 0, tensor_shape(b), shape, &bad) >= 0;
}

static Tensor *as_vector(OpCall *c, Tensor *t)
{
    if (!(t->flags & TENSOR_COVECTOR))
        return t;
    return form_view(c, t, 1, tensor_shape(t) + 1, tensor_strides(t) + 1, 0);
}

/* v' @ w is a scalar, v @ w' the outer product, v' @ A a covector; any other partner sees a 1 x n
 * matrix. */
Value op_device_matmul(OpCall *c, Device *d)
{
    Tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1);
    bool acov = a->flags & TENSOR_COVECTOR, bcov = b->flags & TENSOR_COVECTOR,
         outer = a->rank == 1 && bcov;
    bool covector = acov && b->rank <= 2 && !bcov;
    if (outer) {
        int64_t shape[] = { a->size, 1 }, strides[] = { tensor_strides(a)[0], 1 };
        a = form_view(c, a, 2, shape, strides, 0);
    } else if (!fits(a, b)) {
        return form_host(c, d);
    }
    if (covector && b->rank == 1)
        a = as_vector(c, a);
    Tensor *out = form_product(c, d, a, b);
    if (out && covector && out->rank == 2)
        out->flags |= TENSOR_COVECTOR;
    return out ? place_value(c->in, out) : v_undef();
}

Value op_device_dot(OpCall *c, Device *d)
{
    Tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1);
    if (a->rank != 1 || b->rank != 1 || a->size != b->size || a->size == 0)
        return form_host(c, d);
    Tensor *out = form_product(c, d, a, b);
    return out ? place_value(c->in, out) : v_undef();
}

Value op_device_matpow(OpCall *c, Device *d)
{
    Tensor *t = arg_tensor(c, 0), *power = t, *result = NULL;
    int r = t->rank;
    int64_t n = arg_int(c, 1);
    DType dt = (DType)t->dtype;
    if (n <= 0)
        return place_refuse(c->in, (Lack){ LACK_POWER });
    if (r < 2 || tensor_shape(t)[r - 1] != tensor_shape(t)[r - 2])
        return form_host(c, d);
    if (form_whole(dt))
        power = form_dense(c, d, t, dt = DT_I64);
    while (n > 0) {
        if (n & 1)
            result = result ? form_product(c, d, result, power) : power;
        n >>= 1;
        if (n)
            power = form_product(c, d, power, power);
        if (!power)
            return v_undef();
    }
    if (!result)
        return v_undef();
    return form_settle(c, d, v_tensor_raw(tensor_retain(result)));
}

/* ---- products without a sum ---- */
/* View with the axes of t at places from, from + every, … of `rank` axes. */
static Tensor *spread(OpCall *c, Tensor *t, int rank, int from, int every)
{
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    for (int i = 0; i < rank; i++)
        shape[i] = 1, strides[i] = 0;
    for (int i = 0; i < t->rank; i++) {
        shape[from + i * every] = tensor_shape(t)[i];
        strides[from + i * every] = tensor_strides(t)[i];
    }
    return form_view(c, t, rank, shape, strides, 0);
}

static Value multiplied(OpCall *c, Device *d, Tensor *a, Tensor *b)
{
    Value args[] = { v_tensor_raw(a), v_tensor_raw(b) };
    return place_elementwise(c->in, d, op_named(c->in, "multiply"), args, 2, 0);
}

Value op_device_outer(OpCall *c, Device *d)
{
    Tensor *a = as_vector(c, arg_tensor(c, 0)), *b = as_vector(c, arg_tensor(c, 1));
    int rank = a->rank + b->rank;
    if (rank > TENSOR_RANK_MAX || a->rank == 0 || b->rank == 0)
        return form_host(c, d);
    return multiplied(c, d, spread(c, a, rank, 0, 1), spread(c, b, rank, a->rank, 1));
}

Value op_device_kron(OpCall *c, Device *d)
{
    Tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1);
    int rank = a->rank > b->rank ? a->rank : b->rank;
    int64_t shape[TENSOR_RANK_MAX];
    if (2 * rank > TENSOR_RANK_MAX || a->rank == 0 || b->rank == 0)
        return form_host(c, d);
    Value r = multiplied(c, d, spread(c, a, 2 * rank, 2 * (rank - a->rank), 2),
                         spread(c, b, 2 * rank, 2 * (rank - b->rank) + 1, 2));
    if (r.tag != V_TENSOR)
        return r;
    op_keep(c, r.tensor);
    for (int i = 0; i < rank; i++)
        shape[i] = tensor_shape(r.tensor)[2 * i] * tensor_shape(r.tensor)[2 * i + 1];
    return place_value(c->in, form_reshape(c, r.tensor, rank, shape));
}

/* The sum of the diagonal of the last two axes. */
Value op_device_trace(OpCall *c, Device *d)
{
    Tensor *t = arg_tensor(c, 0);
    int rank = t->rank - 2;
    DType dt = (DType)t->dtype;
    int64_t stride[NEST_INDICES] = { 0 };
    EwTrouble trouble;
    if (rank < 0 || t->size == 0)
        return form_host(c, d);
    if (!real_dtype(c, d, dt))
        return v_undef();
    if (dt == DT_I64)
        return place_refuse(c->in, (Lack){ LACK_SUM });
    int64_t m = tensor_shape(t)[rank], n = tensor_shape(t)[rank + 1];
    PlaceNest *p = place_nest_new(c->in, d);
    place_nest_axes(p, rank, tensor_shape(t));
    int k = nest_index(p->nest, "k", m < n ? m : n, 0, 1);
    memcpy(stride, tensor_strides(t), (size_t)rank * sizeof *stride);
    stride[k] = tensor_strides(t)[rank] + tensor_strides(t)[rank + 1];
    int x = place_nest_load(p, t, stride, k + 1);
    p->nest->root = nest_reduce(&c->in->ctx, p->nest, NEST_SUM, x, UINT64_C(1) << k);
    return place_nest_takes(p)
           ? place_value(c->in, place_nest_run(p, rank, tensor_shape(t), &trouble)) : v_undef();
}

/* ---- einsum ---- */
/* Which indices a step of operands leaves: those of the result or of operands after it. */
typedef struct Term {
    Tensor *t;
    int rank;
    uint8_t label[TENSOR_RANK_MAX];     /* of each axis */
} Term;

static bool has_label(const Term *x, int label)
{
    for (int i = 0; i < x->rank; i++)
        if (x->label[i] == label)
            return true;
    return false;
}

/* One term, or two multiplied, summed over what `keep` has not. NULL: refused. */
static Tensor *combine(OpCall *c, Device *d, const EinsumSpec *s, const Term *a, const Term *b,
                       const uint8_t *keep, int kept, DType dt)
{
    int64_t shape[TENSOR_RANK_MAX], stride[NEST_INDICES];
    int place[EINSUM_LABELS], factors[2], count = 0;
    const Term *term[] = { a, b };
    uint64_t bound = 0;
    EwTrouble trouble;
    memset(place, -1, sizeof place);
    PlaceNest *n = place_nest_new(c->in, d);
    for (int i = 0; i < kept; i++) {
        shape[i] = s->length[keep[i]];
        place[keep[i]] = i;
    }
    place_nest_axes(n, kept, shape);
    for (int k = 0; k < 2 && term[k]; k++) {
        memset(stride, 0, sizeof stride);
        for (int i = 0; i < term[k]->rank; i++) {
            int label = term[k]->label[i];
            if (place[label] < 0 && n->nest->indices < NEST_INDICES) {
                place[label] = nest_index(n->nest, "k", s->length[label], 0, 1);
                bound |= UINT64_C(1) << place[label];
            }
            if (place[label] >= 0 && tensor_shape(term[k]->t)[i] != 1)
                stride[place[label]] += tensor_strides(term[k]->t)[i];
        }
        factors[count++] = place_nest_load(n, term[k]->t, stride, n->nest->indices);
    }
    Ctx *ctx = &c->in->ctx;
    int x = count == 2 ? place_nest_ew(n, EW_MULTIPLY, product_wide(dt), factors[0], factors[1])
                       : factors[0];
    n->nest->root = nest_cast(ctx, n->nest,
                              bound ? nest_reduce(ctx, n->nest, NEST_SUM, x, bound) : x, dt);
    return place_nest_takes(n) ? place_nest_run(n, kept, shape, &trouble) : NULL;
}

/* The labels that must survive once operands `from` … have yet to come, in the order of the result,
 * then as they stand. */
static int survivors(const EinsumSpec *s, const Term *a, const Term *b, int from, uint8_t *keep)
{
    int kept = 0;
    bool wanted[EINSUM_LABELS] = { false };
    for (int k = from; k < s->operands; k++)
        for (int i = 0; i < s->operand[k].tensor->rank; i++)
            wanted[s->operand[k].index[i]] = true;
    for (int i = 0; i < s->rank; i++)
        wanted[s->result[i]] = true;
    for (int l = 0; l < EINSUM_LABELS && kept < TENSOR_RANK_MAX; l++)
        if (wanted[l] && (has_label(a, l) || has_label(b, l)))
            keep[kept++] = (uint8_t)l;
    return kept;
}

/* Pairs from the left; the last one gives the result. */
Value op_device_einsum(OpCall *c, Device *d)
{
    EinsumSpec s;
    DType compute, dt;
    arg_str(c, 0);
    einsum_read(&s, c);
    dt = einsum_dtype(&s, &compute);
    /* narrow ints wrap in their dtype */
    if (dt != compute || (form_whole(dt) && dt != DT_I64))
        return place_refuse(c->in, (Lack){ LACK_KERNEL_DTYPE, .dtype = dt });
    if (!real_dtype(c, d, dt))
        return v_undef();
    uint8_t result[TENSOR_RANK_MAX];
    for (int i = 0; i < s.rank; i++) {
        result[i] = (uint8_t)s.result[i];
        if (s.length[s.result[i]] < 0)
            return place_refuse(c->in, (Lack){ LACK_NEW_AXIS });
    }
    Term acc = { 0 };
    for (int k = 0; k < s.operands; k++) {
        Term x = { .t = factor(c, d, s.operand[k].tensor, dt), .rank = s.operand[k].tensor->rank };
        memcpy(x.label, s.operand[k].index, sizeof x.label);
        bool last = k == s.operands - 1;
        uint8_t keep[TENSOR_RANK_MAX];
        if (k == 0 && !last) {
            acc = x;
            continue;
        }
        int kept = last ? s.rank : survivors(&s, &acc, &x, k + 1, keep);
        memcpy(keep, last ? result : keep, (size_t)kept);
        Tensor *out = combine(c, d, &s, k ? &acc : &x, k ? &x : NULL, keep, kept, dt);
        if (!out)
            return v_undef();
        acc = (Term){ .t = out, .rank = kept };
        memcpy(acc.label, keep, (size_t)kept);
    }
    return place_value(c->in, acc.t);
}
