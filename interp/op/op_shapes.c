/* The shape of a row's result by its rule (OpGives): what asserts hold every call to. Written anew,
 * from the operands' shapes alone. */
#include "interp/op/op.h"

#include "interp/op/arith.h"

#include <string.h>

typedef struct Shape {
    int rank;                       /* -1: v has none */
    bool covector;
    int64_t n[TENSOR_RANK_MAX];
} Shape;

static Shape shape_of(Value v)
{
    Shape s = { .rank = -1 };
    if (v_immediate(v) || v.tag == V_RANGE)
        s.rank = v.tag == V_RANGE;
    if (v.tag != V_TENSOR)
        return s;
    s.rank = v.tensor->rank;
    s.covector = v.tensor->flags & TENSOR_COVECTOR;
    memcpy(s.n, tensor_shape(v.tensor), (size_t)s.rank * sizeof *s.n);
    return s;
}

static bool same(const Shape *a, const Shape *b)
{
    return a->rank == b->rank && memcmp(a->n, b->n, (size_t)a->rank * sizeof *a->n) == 0;
}

static void put(Shape *s, int64_t n)
{
    s->n[s->rank++] = n;
}

/* The axes of both but the last `core`, broadcast; false: they do not go together. */
static bool leading(Shape *to, const Shape *a, const Shape *b, int core)
{
    int bad, na = a->rank > core ? a->rank - core : 0, nb = b->rank > core ? b->rank - core : 0;
    to->rank = shape_broadcast(na, a->n, nb, b->n, to->n, &bad);
    return to->rank >= 0;
}

static bool reduced(OpCall *c, const Shape *x, Shape *r)
{
    const OpSig *sig = op_sig(c->in, c->op);
    bool keep = sig->keepdims >= 0 && arg_bool(c, sig->keepdims, false);
    uint64_t axes = arg_axes(c, sig->axis, x->rank);
    for (int d = 0; d < x->rank; d++)
        if (!(axes >> d & 1) || keep)
            put(r, axes >> d & 1 ? 1 : x->n[d]);
    return true;
}

/* A vector is a row before @ and a column behind it; one before a covector is a column, too. */
static bool product(const Shape *a, const Shape *b, Shape *r)
{
    if (!leading(r, a, b, 2))
        return false;
    if (a->rank == 1 && b->covector)
        put(r, a->n[0]);
    if (a->rank > 1 && !(a->covector && b->rank == 1))
        put(r, a->n[a->rank - 2]);
    if (b->rank > 1)
        put(r, b->n[b->rank - 1]);
    return true;
}

/* b is a vector, or matrices. */
static bool solution(const Shape *a, const Shape *b, Shape *r)
{
    if (b->rank == 1) {
        *r = (Shape){ .rank = a->rank - 2 };
        memcpy(r->n, a->n, (size_t)r->rank * sizeof *r->n);
    } else if (!leading(r, a, b, 2)) {
        return false;
    }
    put(r, a->n[a->rank - 1]);
    if (b->rank > 1)
        put(r, b->n[b->rank - 1]);
    return true;
}

static bool expected(OpCall *c, const Shape *a, const Shape *b, Shape *r)
{
    switch ((OpGives)c->op->gives) {
    case GIVES_LIKE: case GIVES_SQUARE: *r = *a; return true;
    case GIVES_REDUCED: return reduced(c, a, r);
    case GIVES_ONE: *r = *a; r->rank -= 2; return a->rank >= 2;
    case GIVES_PRODUCT: return product(a, b, r);
    case GIVES_SOLUTION: return a->rank >= 2 && solution(a, b, r);
    default: return false;
    }
}

/* ---- before it runs ---- */
/* The dtype of floats in registers that all tensors among the operands go to; DT_NONE: one is none,
 * or there is none. */
static DType floats_of(const OpCall *c, const DType *as)
{
    DType dt = DT_NONE;
    for (int i = 0; i < c->count; i++) {
        if (c->args[i].tag != V_TENSOR)
            continue;
        DType x = as ? as[i] : (DType)c->args[i].tensor->dtype;
        if (!dtype_plain(x) || dtype_info(x)->kind != 'f' || c->args[i].tensor->size == 0)
            return DT_NONE;
        dt = dt == DT_NONE ? x : dtype_promote(dt, x);
    }
    return dt;
}

/* Only numbers that say how beside the operands; the axes are those that there are. */
static bool parameters_hold(OpCall *c, int operands, const Shape *x)
{
    const OpSig *sig = op_sig(c->in, c->op);
    if (sig->variadic)
        return false;
    for (int i = operands; i < c->count; i++) {
        Tag tag = (Tag)c->args[i].tag;
        bool axes = i == sig->axis && tag == V_TUPLE;
        if (tag == V_FORMAT && c->op->gives_dtype == GIVES_FORMAT)
            continue;
        if (tag != V_UNDEF && tag != V_NONE && tag != V_INT && tag != V_BOOL && !axes)
            return false;
    }
    if (sig->axis >= operands && c->args[sig->axis].tag == V_INT)
        arg_axis(c, sig->axis, x->rank, 0);
    return true;
}

static bool lengths_meet(const OpCall *c, const Shape *a, const Shape *b)
{
    if (c->op->gives == GIVES_SOLUTION)
        return a->rank >= 2 && a->n[a->rank - 1] == a->n[a->rank - 2] && b->rank >= 1 &&
               b->n[b->rank == 1 ? 0 : b->rank - 2] == a->n[a->rank - 1];
    return a->rank >= 1 && b->rank >= 1 && !a->covector && !b->covector &&
           a->n[a->rank - 1] == b->n[b->rank == 1 ? 0 : b->rank - 2];
}

static void row_major(OpForm *f)
{
    f->size = shape_size(f->rank, f->shape);
    for (int64_t i = f->rank - 1, step = 1; i >= 0; step *= f->shape[i--])
        f->strides[i] = step;
}

#define ROOM ((size_t)1 << 45)

/* The row itself, on a layout without elements. */
static bool laid_out(OpCall *c, OpForm *f)
{
    Interp *in = c->in;
    Value *mark = in->sp, args[8];
    const Tensor *x = c->args[0].tag == V_TENSOR ? c->args[0].tensor : NULL;
    if (c->count > 8 || !x || x->size == 1 ||   /* may become a number */
        x->size > (int64_t)1 << 48)             /* what only strides hold */
        return false;
    Tensor *base = tensor_without(&in->ctx, (DType)x->dtype, x->rank, tensor_shape(x), x->size);
    base->flags = x->flags;
    base->buffer->bytes = (size_t)2 * ROOM;     /* wherever strides lead */
    base->data += ROOM;
    if (c->op->gives == GIVES_LAYOUT)
        memcpy(tensor_strides(base), tensor_strides(x), (size_t)x->rank * sizeof *x->dims);
    v_push(in, v_tensor_raw(base));
    memcpy(args, c->args, (size_t)c->count * sizeof *args);
    args[0] = v_tensor_raw(base);
    OpCall on = *c;
    on.args = args;
    Value r = c->op->run(&on);
    v_push(in, r);
    bool view = r.tag == V_TENSOR && r.tensor->buffer == base->buffer;
    if (view) {
        *f = (OpForm){ .dtype = (DType)x->dtype, .rank = r.tensor->rank, .size = r.tensor->size,
                       .flags = r.tensor->flags,
                       .view = c->op->gives == GIVES_LAYOUT || tensor_contiguous(x) };
        memcpy(f->shape, tensor_shape(r.tensor), (size_t)f->rank * sizeof *f->shape);
        memcpy(f->strides, tensor_strides(r.tensor), (size_t)f->rank * sizeof *f->strides);
    }
    stack_cut(in, mark);
    return view;
}

static DType given_dtype(const OpCall *c, DType widest)
{
    switch ((OpGivesDType)c->op->gives_dtype) {
    case GIVES_INTS: return DT_I64;
    case GIVES_BOOLS: return DT_BOOL;
    case GIVES_FLOATS: return widest;
    case GIVES_FORMAT:
        if (c->count > 1 && c->args[1].tag == V_FORMAT) {
            DType dt = v_format_dtype(c->args[1]);
            return dtype_plain(dt) && dtype_info(dt)->kind == 'f' ? dt : DT_NONE;
        }
        break;
    case GIVES_WHEN_RUN: break;
    }
    return DT_NONE;
}

bool op_form(OpCall *c, const DType *as, OpForm *f)
{
    const Op *op = c->op;
    DType dt = op->gives == GIVES_ANY ? DT_NONE : floats_of(c, as);
    dt = dt == DT_NONE ? DT_NONE : given_dtype(c, dt);
    if (dt == DT_NONE)
        return false;
    if (op->gives == GIVES_LAYOUT || op->gives == GIVES_RESHAPED)
        return laid_out(c, f);
    bool two = op->gives == GIVES_PRODUCT || op->gives == GIVES_SOLUTION;
    Shape a = shape_of(c->args[0]), b = two ? shape_of(c->args[1]) : a, r = { 0 };
    if (c->args[0].tag != V_TENSOR || (two && c->args[1].tag != V_TENSOR) ||
        !parameters_hold(c, two ? 2 : 1, &a) || (two && !lengths_meet(c, &a, &b)) ||
        (!two && a.covector))
        return false;
    if ((op->gives == GIVES_SQUARE || op->gives == GIVES_ONE) &&
        (a.rank < 2 || a.n[a.rank - 1] != a.n[a.rank - 2]))
        return false;
    if (!expected(c, &a, &b, &r) || r.rank == 0)
        return false;
    *f = (OpForm){ .dtype = dt, .rank = r.rank };
    memcpy(f->shape, r.n, (size_t)r.rank * sizeof *f->shape);
    row_major(f);
    return f->size > 0;
}

bool op_shape_broadcasts(const Value *args, int n, Value result)
{
    Shape want = { 0 }, r = shape_of(result), both;
    for (int i = 0; i < n; i++) {
        Shape x = shape_of(args[i]);
        if (x.rank < 0 || args[i].tag == V_RANGE || !leading(&both, &want, &x, 0))
            return true;
        want = both;
    }
    return r.rank < 0 || same(&want, &r);
}

bool op_shape_holds(OpCall *c, Value result)
{
    Shape a = { .rank = -1 }, b = a, want = { 0 }, r = shape_of(result);
    if (c->op->gives == GIVES_ANY || c->count < 1)
        return true;
    bool two = c->op->gives == GIVES_PRODUCT || c->op->gives == GIVES_SOLUTION;
    a = shape_of(c->args[0]);
    b = two && c->count > 1 ? shape_of(c->args[1]) : b;
    bool known = a.rank >= 0 && c->args[0].tag != V_RANGE && r.rank >= 0 &&
                 (!two || (b.rank >= 0 && c->args[1].tag != V_RANGE));
    return !known || !expected(c, &a, &b, &want) || same(&want, &r);
}
