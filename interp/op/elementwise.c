/* The elementwise half of the door. Scalars live in operand slots on the C stack and look like
 * rank-0 tensors to the kernels, so no scalar allocates. */
#include "interp/op/elementwise.h"

#include "core/base/error.h"
#include "core/memory/pool.h"
#include "interp/op/arith.h"
#include "interp/op/exact.h"
#include "interp/output/output.h"
#include "kernels/cast/ew_run.h"
#include "kernels/sparse/sparse.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { DIRECT_MAX = 2048 };        /* elements up to which the inner loop is called directly */
enum { CHECK_GRAIN = 1 << 16 };

typedef struct Operand {
    Tensor *tensor;                /* the user's tensor, or `head` */
    DType dtype;
    bool scalar, weak;
    _Alignas(16) char value[ELEMENT_BYTES_MAX];   /* of a scalar, in `dtype` */
    _Alignas(16) char head[sizeof(Tensor)];
} Operand;

typedef struct Plan {
    Interp *in;
    const Op *op;
    const Value *args;
    Operand *x;
    int n;
    unsigned reuse;
    DType promoted, compute, result;
} Plan;

/* ---- which dtype ---- */
static int kind_rank(DType dt)
{
    switch (dtype_info(dt)->kind) {
    case 'b': return 0;
    case 'i': return 1;
    case 'q': return 2;
    case 'f': return 3;
    default: return 4;
    }
}

/* DT_NONE beside a dtype is nothing yet; a pair that no dtype holds sets *none. */
static DType join(DType a, DType b, bool *none)
{
    if (a == DT_NONE || a == b)
        return b;
    DType dt = dtype_promote(a, b);
    *none |= dt == DT_NONE;
    return dt == DT_NONE ? a : dt;
}

/* A literal of dtype w beside a result so far: it adapts unless its kind is higher. */
static DType join_weak(DType dt, DType w)
{
    if (dt == DT_NONE)
        return w;
    if (kind_rank(w) <= kind_rank(dt))
        return dt;
    if (kind_rank(w) != 4 || kind_rank(dt) != 3)
        return w;
    return dtype_complex(dt);
}

EwFn ew_scalar_kernel(const Op *op, DType dt, int arity)
{
    if (op->cls != OPC_EW || ew_info[op->ew].arity != arity ||
        ew_compute_dtype(op->ew, dt) != dt || ew_result_dtype(op->ew, dt) != dt)
        return NULL;
    return ew_kernel(op->ew, dt);
}

DType dtype_vote(const DTypeVote *v, int n)
{
    DType tensors = DT_NONE, dt;
    bool none = false;
    for (int i = 0; i < n; i++)
        if (!v[i].scalar)
            tensors = join(tensors, v[i].dtype, &none);
    dt = tensors;
    /* a scalar of a kind that the tensors have adds nothing */
    for (int i = 0; i < n; i++)
        if (v[i].scalar && !v[i].weak &&
            (tensors == DT_NONE || kind_rank(v[i].dtype) > kind_rank(tensors)))
            dt = join(dt, v[i].dtype, &none);
    DType literals = DT_NONE;
    for (int i = 0; i < n; i++)
        if (v[i].scalar && v[i].weak)
            literals = join(literals, v[i].dtype, &none);
    dt = literals == DT_NONE ? dt : join_weak(dt, literals);
    return none ? DT_NONE : dt;
}

static DType vote(const DTypeVote *v, int n)
{
    return n == 2 && !v[0].scalar && !v[1].scalar ? dtype_promote(v[0].dtype, v[1].dtype)
                                                  : dtype_vote(v, n);
}

static bool is_int(DType dt) { return dtype_info(dt)->kind == 'i'; }

DType ew_dtype(const OpTable *table, EwOp ew, const EwVotes *v, int n)
{
    int64_t x;
    int first = ew_info[ew].result == RES_WHERE ? 1 : 0;
    DType dt = vote(v->vote + first, n - first);
    if (table->operator_of[ew] == TK_POW && kind_rank(dt) < 2 &&
        (v->float_powers || (v->int_value(v, 1, &x) && x < 0)))
        return v->real;
    if (is_int(dt) && dt != DT_I64 && ew_info[ew].result == RES_BOOL)
        for (int i = 0; i < n; i++)             /* u8 < 300 is decided in i64 */
            if (v->int_value(v, i, &x) && !dtype_fits(dt, x))
                return DT_I64;
    return dt;
}

/* ---- operands ---- */
static void scalar_head(Operand *x)
{
    x->scalar = true;
    x->tensor = (Tensor *)x->head;
    *x->tensor = (Tensor){ .refs = 1, .dtype = x->dtype, .size = 1, .data = x->value };
}

static bool operand_read(Interp *in, Operand *x, Value v, int i, bool weak)
{
    x->weak = weak;
    x->scalar = false;
    switch (v.tag) {
    case V_TENSOR:
        x->tensor = v.tensor;
        x->dtype = (DType)v.tensor->dtype;
        if (v.tensor->rank > 0)
            return true;
        memcpy(x->value, v.tensor->data, dtype_info(x->dtype)->bytes);
        break;
    case V_FLOAT:
        x->dtype = DT_F64;
        memcpy(x->value, &v.f, sizeof v.f);
        break;
    case V_INT:
        x->dtype = DT_I64;
        memcpy(x->value, &v.i, sizeof v.i);
        break;
    case V_BOOL:
        x->dtype = DT_BOOL;
        x->value[0] = v.i != 0;
        break;
    case V_RANGE:
        x->tensor = v_to_tensor(in, v, i);
        x->dtype = (DType)x->tensor->dtype;
        v_push(in, v_tensor_raw(x->tensor));
        return true;
    default:
        return false;
    }
    scalar_head(x);
    return true;
}

void ew_literal_error(Interp *in, const Op *op, int i, int64_t value, DType dt)
{
    char range[48];
    Error *e = err_new(&in->ctx, ERR_VALUE,
                       "%lld does not fit %s, the dtype of the other operand (%s)",
                       (long long)value, dtype_name(dt), dtype_range(dt, range));
    err_underline(e, i);
    int other = i == 0 ? 1 : 0;
    const char *wide = err_operand_text(&in->ctx, other);
    if (op->infix && i == 1)
        err_help(e, "compute wider: i64(%s) %s %s", wide, op->infix, err_operand_text(&in->ctx, i));
    else
        err_help(e, "compute wider: i64(%s)", wide);
    err_throw(e);
}

/* The scalar in the dtype that the kernel computes in. */
static void operand_convert(Plan *p, int i, DType to)
{
    Operand *x = &p->x[i];
    if (!x->scalar || x->dtype == to)
        return;
    _Alignas(16) char cell[ELEMENT_BYTES_MAX];
    if (is_int(to) && is_int(x->dtype)) {
        int64_t v = element_i64(x->dtype, x->value);
        if (!dtype_fits(to, v))
            ew_literal_error(p->in, p->op, i, v, to);
    }
    cast_run(to, cell, 1, x->dtype, x->value, 1, 1);
    memcpy(x->value, cell, sizeof cell);
    x->dtype = to;
    scalar_head(x);
}

/* ---- the plan ---- */
void ew_mask_error(Interp *in, const Op *op, Value condition)
{
    char a[96];
    Error *e = err_new(&in->ctx, ERR_DTYPE, "%s takes bools as its condition: %s is %s", op->name,
                       err_operand_text(&in->ctx, 0), v_article(condition, a, sizeof a));
    err_underline(e, 0);
    err_help(e, "compare it: %s != 0", err_operand_text(&in->ctx, 0));
    err_throw(e);
}

static bool int_value(const EwVotes *v, int i, int64_t *value)
{
    const Operand *x = &((const Plan *)v->from)->x[i];
    if (!x->scalar || !is_int(x->dtype))
        return false;
    *value = element_i64(x->dtype, x->value);
    return true;
}

static DType plan_promoted(const Plan *p)
{
    DTypeVote votes[3];
    const Operand *x = p->x;
    if (p->n == 1 || (p->n == 2 && !x[0].scalar && !x[1].scalar && x[0].dtype == x[1].dtype))
        return x[0].dtype;                      /* as the rule says, sooner */
    for (int i = 0; i < p->n; i++)
        votes[i] = (DTypeVote){ p->x[i].dtype, p->x[i].scalar, p->x[i].weak };
    EwVotes v = { .vote = votes, .real = DT_F64, .int_value = int_value, .from = p };
    return ew_dtype(p->in->ops, p->op->ew, &v, p->n);
}

static void plan_dtype(Plan *p)
{
    OpTable *table = p->in->ops;
    EwOp ew = p->op->ew;
    bool where = ew_info[ew].result == RES_WHERE;
    if (where && p->x[0].dtype != DT_BOOL)
        ew_mask_error(p->in, p->op, p->args[0]);
    p->promoted = plan_promoted(p);
    if ((p->op->traits & TRAIT_BITS) &&
        (p->x[0].dtype == DT_BOOL) != (p->x[1].dtype == DT_BOOL) && kind_rank(p->promoted) < 2)
        arith_bits_error(p->in, p->op, p->args);
    p->compute = p->promoted;
    if (p->promoted == DT_RATIONAL)
        return;
    const Kernel *k = op_kernel(table, ew, p->promoted);
    if (!k->fn)
        arith_type_error(p->in, p->op, p->args, p->n);
    p->compute = (DType)k->compute;
    p->result = (DType)k->result;
    for (int i = where ? 1 : 0; i < p->n; i++)
        operand_convert(p, i, p->compute);
}

/* ---- trouble that kernels report ---- */
void ew_shift_error(Interp *in, const Op *op)
{
    Error *e = err_new(&in->ctx, ERR_VALUE,
                       "%s by %s: a count of bits cannot be negative", op->name,
                       err_operand_text(&in->ctx, 1));
    err_underline(e, 1);
    err_throw(e);
}

/* False: do it again in f64. */
static bool plan_run(Plan *p, Tensor *out)
{
    Tensor *in[3] = { p->x[0].tensor, p->n > 1 ? p->x[1].tensor : NULL,
                      p->n > 2 ? p->x[2].tensor : NULL };
    switch (ew_run(&p->in->ctx, p->op->ew, p->compute, out, in)) {
    case EWT_DIVZERO: arith_division_error(p->in, p->op, p->args[0]);
    case EWT_SHIFT: ew_shift_error(p->in, p->op);
    case EWT_INT_POWER: return false;
    default: break;
    }
    poll_interrupt(p->in);
    return true;
}

/* ---- the notice about nan ---- */
typedef struct NanScan { const Tensor *t; _Atomic bool found; } NanScan;

static void scan_chunk(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    NanScan *s = arg;
    if (atomic_load_explicit(&s->found, memory_order_relaxed))
        return;
    DType dt = (DType)s->t->dtype;
    int bytes = dtype_info(dt)->bytes;
    bool nan = dtype_plain(dt) && cast_any_nan(dt, s->t->data + begin * bytes, end - begin);
    if (!dtype_plain(dt))
        for (int64_t i = begin; i < end; i++)
            nan |= isnan(element_f64(dt, s->t->data + i * bytes)) != 0;
    if (nan)
        atomic_store_explicit(&s->found, true, memory_order_relaxed);
}

static bool tensor_has_nan(Ctx *ctx, const Tensor *t)
{
    NanScan s = { .t = t };
    if (t->size <= CHECK_GRAIN)
        scan_chunk(&s, 0, t->size, 0);
    else
        pool_for(ctx, t->size, CHECK_GRAIN, scan_chunk, &s);
    return s.found;
}

static bool operands_have_nan(const Plan *p)
{
    for (int i = 0; i < p->n; i++) {
        Tensor *t = p->x[i].tensor;
        if (kind_rank((DType)t->dtype) < 3)
            continue;
        Tensor *dense = tensor_compact(&p->in->ctx, t);
        bool nan = tensor_has_nan(&p->in->ctx, dense);
        tensor_release(&p->in->ctx, dense);
        if (nan)
            return true;
    }
    return false;
}

void ew_nan_notice(Interp *in, const Op *op, int n)
{
    if (in->rules)                      /* of a rule: the gradient's own notice says it */
        return;
    const char *text = err_operand_name(&in->ctx, 0);
    if (!text || op_lent(in, op))
        text = "x";
    if (n == 1)
        notice(in, "%s of a %s is nan; for the complex value write %s(%s+0i)", op->name,
               op->traits & TRAIT_NEGATIVE ? "negative number" : "number outside its real domain",
               op->name, text);
    else
        notice(in, "a negative real number to a fractional power is nan; for the complex value "
                   "write (%s+0i)%s…",
               text, op->infix ? op->infix : "^");
}

void ew_inverse_notice(Interp *in, const Value *args)
{
    const Tensor *a = args[0].tag == V_TENSOR ? args[0].tensor : NULL;
    if (!a || a->rank != 2 || a->dims[0] != a->dims[1] || a->dims[0] < 2 ||
        args[1].tag != V_INT || args[1].i != -1)
        return;
    const char *text = err_operand_name(&in->ctx, 0);
    text = text ? text : "A";
    bool closed = text[0] == '(' && text[strlen(text) - 1] == ')';
    notice(in, "%s^-1 is elementwise, 1 / %s; inv%s%s%s is the inverse", text, text,
           closed ? "" : "(", text, closed ? "" : ")");
}

/* A whole exponent makes no nan. */
static bool raises_whole(const Plan *p)
{
    if (p->n != 2 || !p->x[1].scalar)
        return false;
    double by = element_f64(p->x[1].dtype, p->x[1].value);
    return by == rint(by);
}

static bool wants_nan_check(const Plan *p)
{
    return (p->op->traits & TRAIT_NAN_NOTICE) && dtype_info(p->compute)->kind == 'f' &&
           !raises_whole(p);
}

/* `spoiled`: the operands are gone, and had nan or not as it says. */
static void check_nan(Plan *p, const Tensor *out, bool in_place, bool spoiled)
{
    if (wants_nan_check(p) && tensor_has_nan(&p->in->ctx, out) &&
        !(in_place ? spoiled : operands_have_nan(p)))
        ew_nan_notice(p->in, p->op, p->n);
}

/* ---- scalars: rank 0 throughout ---- */
static Value scalar_value(Ctx *ctx, DType dt, const void *cell)
{
    switch (dt) {
    case DT_BOOL: return v_bool(*(const uint8_t *)cell != 0);
    case DT_I64: return v_int(*(const int64_t *)cell);
    case DT_F64: return v_float(*(const double *)cell);
    default: return v_tensor_raw(tensor_scalar(ctx, dt, cell));
    }
}

/* Integer scalars raise where tensors wrap: computed in 64 bits, then checked. */
static bool scalar_int(Plan *p, Value *out)
{
    OpTable *table = p->in->ops;
    if (!is_int(p->compute) || !(p->op->traits & TRAIT_RANGE))
        return false;
    Value wide[3];
    int64_t values[3] = { 0 };
    for (int i = 0; i < p->n; i++)
        wide[i] = v_int(values[i] = element_i64(p->x[i].dtype, p->x[i].value));
    Operator op = table->operator_of[p->op->ew];
    Value r = op == TK_OPERATORS ? arith_call(p->in, p->op, wide, p->n)
            : p->n == 1 ? arith_unary(p->in, op, wide[0])
                        : arith_binary(p->in, op, wide[0], wide[1]);
    if (r.tag != V_INT || p->result == DT_I64) {
        *out = r;
        return true;
    }
    if (!dtype_fits(p->result, r.i))
        arith_range_error(p->in, p->op, p->result, values, p->n);
    _Alignas(16) char cell[ELEMENT_BYTES_MAX];
    cast_run(p->result, cell, 1, DT_I64, &r.i, 1, 1);
    *out = scalar_value(&p->in->ctx, p->result, cell);
    return true;
}

static Value scalar_run(Plan *p)
{
    Value out;
    if (scalar_int(p, &out))
        return out;
    Operand result = { .dtype = p->result };
    scalar_head(&result);
    if (!plan_run(p, result.tensor)) {                 /* an int to a negative power */
        p->compute = p->result = result.dtype = DT_F64;
        for (int i = 0; i < p->n; i++)
            operand_convert(p, i, DT_F64);
        scalar_head(&result);
        plan_run(p, result.tensor);
    }
    check_nan(p, result.tensor, false, false);
    return scalar_value(&p->in->ctx, p->result, result.value);
}

/* ---- shapes ---- */
static bool same_shape(const Tensor *a, const Tensor *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

/* Shape of the result into `shape`; its rank. */
static int plan_shape(Plan *p, int64_t *shape)
{
    int rank = 0, bad;
    Tensor *tensors[3];
    for (int i = 0; i < p->n; i++) {
        int64_t so_far[TENSOR_RANK_MAX];
        Tensor *t = tensors[i] = p->x[i].tensor;
        memcpy(so_far, shape, (size_t)rank * sizeof *shape);
        rank = shape_broadcast(rank, so_far, t->rank, tensor_shape(t), shape, &bad);
        if (rank < 0)
            ew_shape_error(p->in, p->op, tensors, i + 1);
    }
    return rank;
}

/* Sums and multiples of covectors are covectors; anything else sees a 1 x n matrix. */
bool ew_covector(Interp *in, const Op *op, Tensor *const *t, const bool *scalar, int n)
{
    unsigned traits = op->traits;
    bool cov[3] = { 0 };
    for (int i = 0; i < n; i++)
        cov[i] = t[i]->flags & TENSOR_COVECTOR;
    if (n == 1)
        return cov[0] && (traits & TRAIT_MULTIPLE);
    if (n != 2)
        return false;
    if (traits & TRAIT_SUM)
        return cov[0] && cov[1] && same_shape(t[0], t[1]);
    bool divide = in->ops->operator_of[op->ew] == TK_DIV;
    return (traits & TRAIT_MULTIPLE) && ((cov[0] && scalar[1]) || (!divide && scalar[0] && cov[1]));
}

static bool covector_result(const Plan *p)
{
    Tensor *t[3];
    bool scalar[3];
    for (int i = 0; i < p->n; i++) {
        t[i] = p->x[i].tensor;
        scalar[i] = p->x[i].scalar;
    }
    return ew_covector(p->in, p->op, t, scalar, p->n);
}

/* ---- buffers ---- */
static bool own_buffer(const Tensor *t)
{
    const Buffer *b = t->buffer;
    return b->refs == 1 && !b->flags && !b->release && !b->device;
}

static bool unshared(const Tensor *t) { return t->refs == 1 && own_buffer(t); }

bool ew_fits(const Tensor *t, DType result, int rank, const int64_t *shape)
{
    return own_buffer(t) && t->dtype == result && t->rank == rank &&
           memcmp(t->dims, shape, (size_t)rank * sizeof *shape) == 0 && tensor_contiguous(t);
}

static bool reusable(const Plan *p, int i, int rank, const int64_t *shape)
{
    return (p->reuse >> i & 1) && !p->x[i].scalar && p->args[i].tag == V_TENSOR &&
           p->x[i].tensor->refs == 1 && ew_fits(p->x[i].tensor, p->result, rank, shape);
}

/* The result's tensor, rooted on the value stack. */
static Tensor *plan_output(Plan *p, int rank, const int64_t *shape)
{
    Tensor *out = NULL;
    if (p->reuse && !(p->op->traits & TRAIT_INT_TROUBLE))
        for (int i = 0; i < p->n && !out; i++)
            if (reusable(p, i, rank, shape))
                out = tensor_retain(p->x[i].tensor);
    if (!out)
        out = tensor_new(&p->in->ctx, p->result, rank, shape);
    v_push(p->in, v_tensor_raw(out));
    return out;
}

/* Small, dense, nothing to cast: the inner loop without ew_run's preparation. */
static bool direct_run(Plan *p, Tensor *out)
{
    const void *data[3];
    int64_t stride[3];
    if (out->size > DIRECT_MAX || (is_int(p->compute) && (p->op->traits & TRAIT_INT_TROUBLE)))
        return false;
    for (int i = 0; i < p->n; i++) {
        Tensor *t = p->x[i].tensor;
        if (t->dtype != p->compute)
            return false;
        if (p->x[i].scalar)
            stride[i] = 0;
        else if (same_shape(t, out) && tensor_contiguous(t))
            stride[i] = 1;
        else
            return false;
        data[i] = t->data;
    }
    op_kernel(p->in->ops, p->op->ew, p->compute)->fn(out->data, 1, data, stride, out->size);
    return true;
}

static Value tensor_run(Plan *p)
{
    int64_t shape[TENSOR_RANK_MAX];
    int rank = plan_shape(p, shape);
    Tensor *out = plan_output(p, rank, shape);
    bool in_place = out->refs > 1, spoiled = in_place && wants_nan_check(p) && operands_have_nan(p);
    bool covector = covector_result(p);
    if (!direct_run(p, out) && !plan_run(p, out)) {    /* ints with a negative power among them */
        p->compute = p->result = DT_F64;
        for (int i = 0; i < p->n; i++)
            operand_convert(p, i, DT_F64);
        p->reuse = 0;
        out = plan_output(p, rank, shape);
        plan_run(p, out);
        in_place = false;
    }
    check_nan(p, out, in_place, spoiled);
    out->flags = covector ? TENSOR_COVECTOR : 0;
    return v_tensor_raw(tensor_retain(out));
}

/* ---- the short way: small dense tensors of one dtype and shape, and scalars ---- */
typedef struct Small {
    const void *data[2];
    int64_t stride[2];
    double scalar[2];
} Small;

/* A real scalar beside a float tensor takes its dtype (rule 2), literal or not. */
static bool small_scalar(Small *s, int i, Value v, DType dt)
{
    if ((v.tag != V_FLOAT && v.tag != V_INT) || (dt != DT_F64 && dt != DT_F32))
        return false;
    double x = v_number(v);
    if (dt == DT_F32)
        *(float *)&s->scalar[i] = v.tag == V_INT ? (float)v.i : (float)x;
    else
        s->scalar[i] = x;
    s->data[i] = &s->scalar[i];
    s->stride[i] = 0;
    return true;
}

static bool small_operand(Small *s, int i, Value v, const Tensor *shape, DType dt)
{
    if (v.tag != V_TENSOR)
        return small_scalar(s, i, v, dt);
    const Tensor *t = v.tensor;
    if (t != shape && (t->dtype != dt || t->flags != shape->flags || !same_shape(t, shape) ||
                       !tensor_contiguous(t)))
        return false;
    s->data[i] = t->data;
    s->stride[i] = 1;
    return true;
}

/* Everything is as simple as it can be: computes into *out. False changes nothing. */
static bool small_call(Interp *in, const Op *op, const Value *args, int n,
                       unsigned reuse, Value *out)
{
    OpTable *table = in->ops;
    Value first = args[0].tag == V_TENSOR ? args[0] : args[n - 1];
    const Tensor *t = first.tag == V_TENSOR ? first.tensor : NULL;
    if (!t || n > 2 || t->rank == 0 || t->size > DIRECT_MAX || t->flags ||
        (op->traits & TRAIT_NAN_NOTICE) || !tensor_contiguous(t) || dtype_foreign(t->dtype))
        return false;
    DType dt = (DType)t->dtype;
    const Kernel *k = op_kernel(table, op->ew, dt);
    Small s;
    if (k->compute != dt || !k->fn || (is_int(dt) && (op->traits & TRAIT_INT_TROUBLE)))
        return false;
    for (int i = 0; i < n; i++)
        if (!small_operand(&s, i, args[i], t, dt))
            return false;
    Tensor *r = NULL;
    for (int i = 0; reuse && i < n && !r; i++)
        if ((reuse >> i & 1) && args[i].tag == V_TENSOR && unshared(args[i].tensor) &&
            dt == k->result)
            r = tensor_retain(args[i].tensor);
    if (!r)
        r = tensor_new(&in->ctx, (DType)k->result, t->rank, tensor_shape(t));
    k->fn(r->data, 1, s.data, s.stride, r->size);
    *out = v_tensor_raw(r);
    return true;
}

/* ---- rationals ---- */
/* Beside a rational, a float literal is the fraction that was written. */
static void adapt_literals(Interp *in, Operand *x, int n)
{
    bool rational = false;
    for (int i = 0; i < n; i++)
        rational |= x[i].dtype == DT_RATIONAL;
    for (int i = 0; rational && i < n; i++) {
        if (!x[i].scalar || !x[i].weak || x[i].dtype != DT_F64)
            continue;
        Rational *cell = (Rational *)(void *)x[i].value;
        if (exact_literal(in, i, *(const double *)(const void *)x[i].value, cell))
            x[i].dtype = DT_RATIONAL;
        scalar_head(&x[i]);
    }
}

static Value rational_run(Plan *p)
{
    Tensor *t[3];
    for (int i = 0; i < p->n; i++)
        t[i] = p->x[i].tensor;
    return exact_elementwise(p->in, p->op, t, p->n, covector_result(p));
}

void ew_count(Interp *in, const Op *op, DType compute, int64_t elements)
{
    OpRecord *record = &in->ops->records[op_index(in->ops, op)];
    record->calls++;
    record->elements += (uint64_t)elements;
    record->dtype = compute;
}

/* The row's rule: as many axes as the operand with the most, each as long as the longest there. */
static __attribute__((unused)) bool has_shape_of(const Operand *x, int n, Value r)
{
    int rank = 0;
    for (int i = 0; i < n; i++)
        rank = x[i].scalar || x[i].tensor->rank < rank ? rank : x[i].tensor->rank;
    if (r.tag != V_TENSOR)
        return rank == 0;
    for (int a = 0; r.tensor->rank == rank && a < rank; a++) {
        int64_t length = 1;
        for (int i = 0; i < n; i++) {
            int at = x[i].scalar ? -1 : a - (rank - x[i].tensor->rank);
            length = at >= 0 && tensor_shape(x[i].tensor)[at] != 1
                     ? tensor_shape(x[i].tensor)[at] : length;
        }
        if (tensor_shape(r.tensor)[a] != length)
            return false;
    }
    return r.tensor->rank == rank;
}

Value ew_call(Interp *in, const Op *op, const Value *args, int n, unsigned weak, unsigned reuse)
{
    Value r;
    if (small_call(in, op, args, n, reuse, &r)) {
        ew_count(in, op, (DType)r.tensor->dtype, r.tensor->size);
        return r;
    }
    Operand x[3];
    Value *mark = in->sp;
    bool scalar = true;
    if (in->ctx.cells)
        rational_collect(&in->ctx);
    for (int i = 0; i < n; i++) {
        if (!operand_read(in, &x[i], args[i], i, weak >> i & 1))
            arith_type_error(in, op, args, n);
        scalar &= x[i].scalar;
    }
    if (in->ctx.cells)
        adapt_literals(in, x, n);
    Plan p = { .in = in, .op = op, .args = args, .x = x, .n = n, .reuse = reuse };
    plan_dtype(&p);
    r = p.compute == DT_RATIONAL ? rational_run(&p) : scalar ? scalar_run(&p) : tensor_run(&p);
    assert(has_shape_of(x, n, r));
    ew_count(in, op, p.compute, r.tag == V_TENSOR ? r.tensor->size : 1);
    stack_cut(in, mark);
    return r;
}

/* ---- what an operation would do ---- */
static bool form_reads(const Value *args, int n)
{
    for (int i = 0; i < n; i++)
        if (!v_immediate(args[i]) &&
            (args[i].tag != V_TENSOR || args[i].tensor->dtype >= DT_RATIONAL ||
             (args[i].tensor->flags & TENSOR_COVECTOR) || tensor_sparse(args[i].tensor)))
            return false;
    return true;
}

bool ew_form_any(Interp *in, const Op *op, const Value *args, int n, unsigned weak, EwForm *f)
{
    Operand x[3];
    if (!form_reads(args, n))
        return false;
    for (int i = 0; i < n; i++)
        operand_read(in, &x[i], args[i], i, weak >> i & 1);
    Plan p = { .in = in, .op = op, .args = args, .x = x, .n = n };
    plan_dtype(&p);
    f->compute = p.compute;
    f->result = p.result;
    f->rank = plan_shape(&p, f->shape);
    f->size = shape_size(f->rank, f->shape);
    if (f->size < 0)
        return false;
    for (int i = 0; i < n; i++) {
        f->scalar[i] = x[i].scalar;
        memcpy(f->cell[i], x[i].value, sizeof f->cell[i]);
    }
    return true;
}

bool ew_form(Interp *in, const Op *op, const Value *args, int n, unsigned weak, EwForm *f)
{
    return !in->scope && ew_form_any(in, op, args, n, weak, f) &&
           !(is_int(f->compute) && (op->traits & TRAIT_INT_TROUBLE));
}

/* ---- shape errors ---- */
/* Text of operand i that can be pasted before a postfix: a name or a primary, else (…). */
static const char *paste(Interp *in, int i, char *out, size_t cap)
{
    const char *text = err_operand_name(&in->ctx, i);
    if (!text)
        return NULL;
    bool plain = true;
    for (const char *c = text; *c; c++)
        plain &= (unsigned char)*c >= 0x80 || strchr("_.", *c) || (*c >= '0' && *c <= '9') ||
                 ((*c | 32) >= 'a' && (*c | 32) <= 'z');
    snprintf(out, cap, plain ? "%s" : "(%s)", text);
    return out;
}

static bool broadcasts(int ra, const int64_t *a, int rb, const int64_t *b)
{
    int64_t out[TENSOR_RANK_MAX];
    int bad;
    return shape_broadcast(ra, a, rb, b, out, &bad) >= 0;
}

/* A fix that makes x broadcast with y: its transpose, or a new last axis. */
static bool shape_fix(Interp *in, Error *e, Tensor *x, int i, Tensor *y)
{
    char text[96];
    int64_t shape[TENSOR_RANK_MAX + 1];
    int r = x->rank;
    const char *name = paste(in, i, text, sizeof text);
    if (!name)
        return false;
    memcpy(shape, tensor_shape(x), (size_t)r * sizeof *shape);
    if (r >= 2 && r <= y->rank) {
        int64_t last = shape[r - 1];
        shape[r - 1] = shape[r - 2];
        shape[r - 2] = last;
        if (broadcasts(r, shape, y->rank, tensor_shape(y))) {
            err_help(e, "transpose it: %s'", name);
            return true;
        }
    }
    shape[0] = x->dims[0];
    shape[1] = 1;
    if (r == 1 && y->rank >= 2 && y->dims[y->rank - 2] == x->dims[0]) {
        err_help(e, "as a column, one value per row: %s[:, none]", name);
        return true;
    }
    return false;
}

void ew_shape_error(Interp *in, const Op *op, Tensor *const *t, int n)
{
    int a = 0, b = n - 1;
    for (int i = 0; i < n - 1; i++)
        if (!broadcasts(t[i]->rank, tensor_shape(t[i]), t[b]->rank, tensor_shape(t[b])))
            a = i;
    char sa[128], sb[128];
    const char *quote = op->infix ? "`" : "";
    Error *e = err_new(&in->ctx, ERR_SHAPE,
                       "%s%s%s: %s %s but %s %s, and these do not broadcast", quote,
                       op->infix ? op->infix : op->name, quote,
                       err_operand_text(&in->ctx, a),
                       shape_fact(sa, sizeof sa, t[a]->rank, tensor_shape(t[a])),
                       err_operand_text(&in->ctx, b),
                       shape_fact(sb, sizeof sb, t[b]->rank, tensor_shape(t[b])));
    err_underline(e, a);
    err_underline(e, b);
    if (!shape_fix(in, e, t[b], b, t[a]))
        shape_fix(in, e, t[a], a, t[b]);
    err_throw(e);
}
