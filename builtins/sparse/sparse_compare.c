/* Comparisons of whole matrices by their entries. */
#include "builtins/sparse/sparse.h"

#include "interp/op/arith.h"
#include "interp/op/elementwise.h"
#include "kernels/sparse/merge.h"

#include <string.h>

/* `item in container`. */
static bool holds(OpCall *c, Value item, const Sparse *s)
{
    Interp *in = c->in;
    const Csr a = sparse_csr(s);
    const Op *equal = op_named(in, "equal");
    Value zero = op_root(c, op_binary(in, equal, v_int(0), item, 1));
    if (a.entries < a.m * a.n && zero.tag == V_BOOL && zero.i)
        return true;
    Value hits = op_root(c, op_binary(in, equal, sparse_values(s), item, 0));
    Value any = op_root(c, op_unary(in, op_named(in, "any"), hits, 0));
    return any.tag == V_BOOL && any.i;
}

Value op_sparse_member(OpCall *c)
{
    const Sparse *s = v_sparse(c->args[1]);
    const bool number = v_immediate(c->args[0]) ||
                        (c->args[0].tag == V_TENSOR && c->args[0].tensor->rank == 0);
    if (s && number)
        return v_bool(holds(c, c->args[0], s));
    return c->args[1].tag == V_TUPLE ? c->op->run(c) : v_undef();
}

Value op_sparse_not_member(OpCall *c)
{
    Value r = op_sparse_member(c);
    const bool plain = c->args[1].tag == V_TENSOR && r.tag == V_BOOL;
    return plain ? v_bool(!r.i) : r;
}

/* Of two matrices of one shape: what is not stored in either is no distance. A dense one has as
 * many elements as the sparse one would. */
Value op_sparse_allclose(OpCall *c)
{
    Interp *in = c->in;
    Value args[16];
    const Sparse *a = v_sparse(c->args[0]), *b = v_sparse(c->args[1]);
    const Tensor *x = c->args[0].tag == V_TENSOR ? c->args[0].tensor : NULL,
                 *y = c->args[1].tag == V_TENSOR ? c->args[1].tensor : NULL;
    Tensor *both[2];
    if ((!a && !b) || !x || !y || x->rank != 2 || y->rank != 2 || c->count > 16 ||
        memcmp(x->dims, y->dims, 2 * sizeof *x->dims))
        return v_undef();
    memcpy(args, c->args, (size_t)c->count * sizeof *args);
    if (a && b)
        sparse_aligned(&in->ctx, a, b, both);
    for (int i = 0; i < 2; i++) {
        const Sparse *s = i ? b : a;
        if (a && b)
            args[i] = op_root(c, v_tensor_raw(both[i]));
        else if (s)
            args[i] = op_root(c, v_tensor_raw(sparse_to_dense(&in->ctx, s)));
    }
    return op_call(in, c->op, args, c->count, c->weak);
}

/* Is it its own transpose, named `turned`, to the last bit or within tolerances? */
static Value is_mirrored(OpCall *c, const char *turned)
{
    Interp *in = c->in;
    const Sparse *s = v_sparse(c->args[0]);
    Tensor *both[2];
    for (int i = 1; i < 3; i++)
        if (!s || (arg_given(c, i) && arg_float(c, i) < 0))
            return v_undef();
    if (s->head->dims[0] != s->head->dims[1])
        return v_bool(false);
    const Csr csr = sparse_csr(s);
    if (sparse_mirrored(&in->ctx, &csr, turned[0] == 'c'))
        return v_bool(true);
    Value other = op_root(c, op_unary(in, op_named(in, turned), c->args[0], 0));
    sparse_aligned(&in->ctx, s, v_sparse(other), both);
    Value a = op_root(c, v_tensor_raw(both[0])), b = op_root(c, v_tensor_raw(both[1]));
    if (!arg_given(c, 1) && !arg_given(c, 2))
        return v_bool(v_equal(in, a, b));
    Value args[6] = { a, b, arg_given(c, 2) ? c->args[2] : v_int(0),
                      arg_given(c, 1) ? c->args[1] : v_int(0), v_undef() };
    Value close = op_root(c, op_call(in, op_named(in, "isclose"), args, 5, 0));
    return op_unary(in, op_named(in, "all"), close, 0);
}

Value op_sparse_issymmetric(OpCall *c) { return is_mirrored(c, "transpose"); }
Value op_sparse_ishermitian(OpCall *c) { return is_mirrored(c, "ctranspose"); }
