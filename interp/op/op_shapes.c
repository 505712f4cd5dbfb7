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
    case GIVES_LIKE: *r = *a; return true;
    case GIVES_REDUCED: return reduced(c, a, r);
    case GIVES_ONE: *r = *a; r->rank -= 2; return a->rank >= 2;
    case GIVES_PRODUCT: return product(a, b, r);
    case GIVES_SOLUTION: return a->rank >= 2 && solution(a, b, r);
    default: return false;
    }
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
