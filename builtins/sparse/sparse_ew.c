/* Elementwise rows on entries. Whether a row keeps what is not stored at 0 it says itself: it is
 * asked for its value there, with 0 in place of every sparse operand. So no list of rows is kept
 * here, and `S + 1`, `S / v` and `maximum(S, -1)` are told from `S * 2`, `S / 2` and
 * `maximum(S, T)` by what they are. */
#include "builtins/sparse/sparse.h"

#include "core/base/error.h"
#include "interp/op/elementwise.h"
#include "interp/op/arith.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/sparse/merge.h"

#include <string.h>

/* ---- what is not stored ---- */
static bool zero_element(DType dt, const char *x)
{
    const char kind = dtype_info(dt)->kind;
    return kind == 'c' ? element_c128(dt, x) == 0
         : kind == 'f' || kind == 'q' ? element_f64(dt, x) == 0 : element_i64(dt, x) == 0;
}

static bool all_zero(Interp *in, Value v)
{
    if (v.tag == V_FLOAT)
        return v.f == 0;
    if (v.tag == V_INT || v.tag == V_BOOL)
        return v.i == 0;
    if (v.tag != V_TENSOR)
        return false;
    Tensor *t = tensor_compact(&in->ctx, v.tensor);
    v_push(in, v_tensor_raw(t));
    tensor_home(&in->ctx, t);
    const size_t each = dtype_info((DType)t->dtype)->bytes;
    int64_t i = 0;
    while (i < t->size && zero_element((DType)t->dtype, t->data + (size_t)i * each))
        i++;
    bool all = i == t->size;
    stack_cut(in, in->sp - 1);
    return all;
}

static Value zero_like(Interp *in, const Sparse *s)
{
    _Alignas(16) char cell[ELEMENT_BYTES_MAX] = { 0 };
    return v_element(&in->ctx, (DType)s->value->dtype, cell);
}

/* Is the row 0 where none of the sparse operands has an entry? */
static bool stays_zero(OpCall *c)
{
    Interp *in = c->in;
    Value *mark = in->sp;
    for (int i = 0; i < c->count; i++) {
        const Sparse *s = v_sparse(c->args[i]);
        v_push(in, s ? zero_like(in, s) : v_retain(c->args[i]));
    }
    v_push(in, op_call(in, c->op, mark, c->count, c->weak));
    bool zero = all_zero(in, in->sp[-1]);
    stack_cut(in, mark);
    return zero;
}

/* ---- operands ---- */
/* All sparse operands have one shape, to which all others broadcast. */
static bool shapes_agree(const OpCall *c, const Tensor **shaped)
{
    int64_t out[TENSOR_RANK_MAX];
    int bad;
    *shaped = NULL;
    for (int i = 0; i < c->count; i++)
        if (v_sparse(c->args[i])) {
            const Tensor *t = c->args[i].tensor;
            if (*shaped && memcmp((*shaped)->dims, t->dims, 2 * sizeof *t->dims))
                return false;
            *shaped = t;
        }
    for (int i = 0; i < c->count; i++) {
        const Tensor *t = c->args[i].tag == V_TENSOR ? c->args[i].tensor : NULL;
        if (c->args[i].tag != V_TENSOR && !v_immediate(c->args[i]))
            return false;
        if (t && (shape_broadcast(2, (*shaped)->dims, t->rank, t->dims, out, &bad) != 2 ||
                  memcmp(out, (*shaped)->dims, 2 * sizeof *out)))
            return false;
    }
    return true;
}

/* Is an operand nothing that has elements, a string or none? */
static bool with_others(const OpCall *c)
{
    for (int i = 0; i < c->count; i++)
        if (c->args[i].tag != V_TENSOR && !v_is_numeric(c->args[i]))
            return true;
    return false;
}

/* The row's own error, of stand-ins that take no memory. */
static void check_shapes(OpCall *c)
{
    Interp *in = c->in;
    Tensor *operand[3];
    int64_t shape[TENSOR_RANK_MAX] = { 0 }, out[TENSOR_RANK_MAX];
    int n = 0, rank = 0, bad;
    bool fit = true;
    for (int i = 0; i < c->count; i++) {
        if (c->args[i].tag != V_TENSOR)
            return;                     /* the row has an error of its own, or none */
        operand[n++] = c->args[i].tensor;
    }
    for (int i = 0; i < n && fit; i++) {
        rank = shape_broadcast(rank, shape, operand[i]->rank, operand[i]->dims, out, &bad);
        fit = rank >= 0;
        if (fit)
            memcpy(shape, out, (size_t)rank * sizeof *out);
    }
    if (!fit)
        ew_shape_error(in, c->op, operand, n);
}

Value sparse_at_entries(Interp *in, const Sparse *s, Tensor *dense)
{
    const Csr a = sparse_csr(s);
    Tensor *all = tensor_broadcast(&in->ctx, dense, 2, tensor_shape(s->head));
    v_push(in, v_tensor_raw(all));
    tensor_home(&in->ctx, all);
    Tensor *t = tensor_new(&in->ctx, (DType)dense->dtype, 1, &a.entries);
    const int64_t *step = tensor_strides(all);
    const int64_t each = dtype_info((DType)dense->dtype)->bytes;
    for (int64_t i = 0; i < a.m; i++)
        for (int64_t k = a.start[i]; k < a.start[i + 1]; k++)
            memcpy(t->data + k * each, all->data + (i * step[0] + a.column[k] * step[1]) * each,
                   (size_t)each);
    stack_cut(in, in->sp - 1);
    v_push(in, v_tensor_raw(t));
    return v_tensor_raw(t);
}

/* Of another pattern gathered, 0 where it has no entry. */
void sparse_at_places(Interp *in, const Sparse *pattern, const Sparse *s)
{
    if (s->pattern == pattern->pattern) {
        v_push(in, v_retain(sparse_values(s)));
        return;
    }
    Ctx *ctx = &in->ctx;
    Made made = { 0 };
    const Csr to = sparse_csr(pattern), from = sparse_csr(s);
    const int64_t *at = made_ints(sparse_places(ctx, &made, &to, &from));
    Tensor *t = made_vector(ctx, &made, from.dtype, to.entries);
    sparse_gather(ctx, t->data, from.value, at, to.entries, dtype_info(from.dtype)->bytes);
    made_poll(ctx, &made);
    made_take(&made, t);
    made_end(ctx, &made);
    v_push(in, v_tensor_raw(t));
}

/* A matrix with the pattern of the result, whose values mean nothing, onto the value stack: of
 * factors the places that all have, else those that any has. */
static const Sparse *result_pattern(OpCall *c)
{
    Interp *in = c->in;
    Ctx *ctx = &in->ctx;
    const Sparse *all = NULL;
    for (int i = 0; i < c->count; i++) {
        const Sparse *s = v_sparse(c->args[i]);
        if (!s || (all && all->pattern == s->pattern))
            continue;
        if (!all) {
            v_push(in, v_retain(c->args[i]));
            all = s;
            continue;
        }
        Made made = { 0 };
        const Csr a = sparse_csr(all), b = sparse_csr(s);
        Tensor *pattern = csr_merge(ctx, &made, &a, &b, c->op->traits & TRAIT_FACTORS
                                    ? MERGE_INTERSECTION : MERGE_UNION).pattern;
        Tensor *none = made_vector(ctx, &made, DT_BOOL, pattern->size - a.m - 1);
        Tensor *t = sparse_made(ctx, &made, a.m, a.n, pattern, none);
        stack_cut(in, in->sp - 1);
        v_push(in, v_tensor_raw(t));
        all = tensor_sparse(t);
    }
    return all;
}

Value sparse_refuse(OpCall *c)
{
    Interp *in = c->in;
    Value *args = in->sp;
    OpCall call = *c;
    for (int i = 0; i < c->count; i++)
        v_push(in, sparse_standing_in(in, c->args[i]));
    call.args = args;
    return c->op->cls == OPC_EW ? op_call(in, c->op, args, c->count, c->weak) : c->op->run(&call);
}

/* Are all sparse operands of kinds of numbers that the row takes? Of fractions the row says it. */
static bool kinds_fit(const OpCall *c)
{
    bool fit = true;
    for (int i = 0; i < c->count && c->op->dtypes; i++) {
        const Sparse *s = v_sparse(c->args[i]);
        const char kind = s ? dtype_info((DType)s->value->dtype)->kind : 0;
        fit &= !s || !strchr("bifc", kind) || strchr(c->op->dtypes, kind);
    }
    return fit;
}

/* Sums, differences and products of two matrices of one dtype and two patterns, in one pass; NULL:
 * the call is another one. */
static Tensor *combined(OpCall *c)
{
    static const struct { EwOp ew; MergeOp op; } ops[] = {
        { EW_ADD, MERGE_ADD }, { EW_SUBTRACT, MERGE_SUBTRACT }, { EW_MULTIPLY, MERGE_MULTIPLY } };
    const Sparse *s = v_sparse(c->args[0]), *t = c->count == 2 ? v_sparse(c->args[1]) : NULL;
    if (!s || !t || s->pattern == t->pattern || c->in->scope ||
        s->value->dtype != t->value->dtype || !sparse_dtype((DType)s->value->dtype))
        return NULL;
    const Csr a = sparse_csr(s), b = sparse_csr(t);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (c->op->ew == ops[i].ew) {
            Made made = { 0 };
            return csr_combine(&c->in->ctx, &made, &a, &b, ops[i].op);
        }
    return NULL;
}

/* Lists, and what is compared with none. */
static bool as_wholes(const OpCall *c)
{
    if (c->op->ew != EW_EQUAL && c->op->ew != EW_NOT_EQUAL)
        return false;
    return c->args[0].tag == V_TUPLE || c->args[0].tag == V_NONE || c->args[1].tag == V_NONE;
}

Value op_sparse_elementwise(OpCall *c)
{
    Interp *in = c->in;
    Value *mark = in->sp, *args;
    const Tensor *shaped;
    if (as_wholes(c))
        return v_bool((c->op->ew == EW_EQUAL) == v_equal(in, c->args[0], c->args[1]));
    if (with_others(c))
        return sparse_refuse(c);
    if (!shapes_agree(c, &shaped)) {
        check_shapes(c);
        return v_undef();
    }
    if (!kinds_fit(c))
        return sparse_refuse(c);
    Tensor *both = combined(c);
    if (both)
        return v_tensor_raw(both);
    if (!stays_zero(c))
        return v_undef();
    const Sparse *pattern = result_pattern(c);
    args = in->sp;
    for (int i = 0; i < c->count; i++) {
        const Sparse *s = v_sparse(c->args[i]);
        const Tensor *t = !s && c->args[i].tag == V_TENSOR ? c->args[i].tensor : NULL;
        if (s)
            sparse_at_places(in, pattern, s);
        else if (t && t->rank)
            sparse_at_entries(in, pattern, c->args[i].tensor);
        else
            v_push(in, v_retain(c->args[i]));
    }
    Value r = sparse_with(in, pattern, op_call(in, c->op, args, c->count, c->weak));
    stack_cut(in, mark);
    return r;
}

Value op_sparse_on_values(OpCall *c)
{
    Interp *in = c->in;
    const Sparse *s = v_sparse(c->args[0]);
    Value args[16];
    for (int i = 0; i < c->count; i++)
        if (i && sparse_inside(c->args[i]))
            return v_undef();
    if (!s || c->count > 16)
        return v_undef();
    memcpy(args, c->args, (size_t)c->count * sizeof *args);
    args[0] = sparse_values(s);
    return sparse_with(in, s, op_call(in, c->op, args, c->count, c->weak));
}
