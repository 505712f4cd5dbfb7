/* einsum of operands of which some are sparse: over their entries (interp/entries). */
#include "builtins/einsum/einsum.h"
#include "interp/entries/network.h"
#include "interp/op/heard.h"
#include "interp/precision/precise.h"
#include "kernels/sparse/select.h"

#include <string.h>


/* The elements S[i,i], as a vector on the value stack. */
static Value diagonal(OpCall *c, const Sparse *s)
{
    Ctx *ctx = &c->in->ctx;
    Made made = { 0 };
    const Csr a = sparse_csr(s);
    const Tensor *at = csr_diagonal(ctx, &made, &a, 0);
    Tensor *v = made_vector(ctx, &made, a.dtype, at->size);
    sparse_gather(ctx, v->data, a.value, (const int64_t *)(const void *)at->data, at->size,
                  dtype_info(a.dtype)->bytes);
    made_poll(ctx, &made);
    made_take(&made, v);
    made_end(ctx, &made);
    return v_tensor_raw(op_keep(c, v));
}

/* False: one of its axes has length 1 where the label has another. */
static bool add_sparse(EinsumSpec *s, Network *n, const EinsumOperand *x, const uint8_t *number,
                       const char *name)
{
    const uint8_t label[2] = { number[x->index[0]], number[x->index[1]] };
    for (int a = 0; a < 2; a++)
        if (x->tensor->dims[a] != s->length[x->index[a]])
            return false;
    if (label[0] == label[1])
        network_factor(n, diagonal(s->call, tensor_sparse(x->tensor)), 1, label, false);
    else
        network_factor(n, v_tensor_raw(x->tensor), 2, label, false)->name = name;
    return true;
}

/* Axes of length 1 are left out, a label that is there twice is a diagonal. */
static void add_dense(EinsumSpec *s, Network *n, const EinsumOperand *x, const uint8_t *number,
                      bool weak)
{
    uint8_t label[TENSOR_RANK_MAX];
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    int rank = 0;
    tensor_home(&s->call->in->ctx, x->tensor);
    for (int a = 0; a < x->tensor->rank; a++) {
        int k = 0;
        if (x->tensor->dims[a] == 1)
            continue;
        while (k < rank && label[k] != number[x->index[a]])
            k++;
        if (k == rank) {
            label[rank] = number[x->index[a]];
            shape[rank] = x->tensor->dims[a];
            strides[rank++] = 0;
        }
        strides[k] += tensor_strides(x->tensor)[a];
    }
    Tensor *t = tensor_view(&s->call->in->ctx, x->tensor, rank, shape, strides, x->tensor->data);
    network_factor(n, v_tensor_raw(op_keep(s->call, t)), rank, label, weak);
}

/* An operand as the scope has it. */
static Tensor *rounded(OpCall *c, Tensor *t)
{
    if (!precise_scope(c->in) || !strchr("fcq", dtype_info((DType)t->dtype)->kind))
        return t;
    Value v = op_root(c, op_unary(c->in, op_named(c->in, "positive"), v_tensor_raw(t), 0));
    return v.tag == V_TENSOR ? v.tensor : op_keep(c, v_to_tensor(c->in, v, 0));
}

Value op_sparse_einsum(OpCall *c)
{
    EinsumSpec s;
    ContractOptions options = { 0 };
    Network n = { .in = c->in };
    uint8_t number[EINSUM_LABELS] = { 0 };
    char letter[NET_LABELS][2] = { { 0 } };
    int labels = 0;
    einsum_read(&s, c);
    einsum_options(c, s.operands, &options);        /* an error where it is none */
    for (int l = 0; l < EINSUM_LABELS; l++) {
        if (s.length[l] < 0)
            continue;
        if (labels == NET_LABELS)
            return v_undef();
        n.extent[labels] = s.length[l];
        letter[labels][0] = (char)(l < 26 ? 'A' + l : l < EINSUM_LETTERS ? 'a' + l - 26 : '.');
        n.name[labels] = letter[labels];
        number[l] = (uint8_t)labels++;
    }
    if (s.operands > NET_FACTORS)
        return v_undef();
    for (int k = 0; k < s.operands; k++) {
        const int arg = c->fixed + k;
        s.operand[k].tensor = rounded(c, s.operand[k].tensor);
        if (!tensor_sparse(s.operand[k].tensor))
            add_dense(&s, &n, &s.operand[k], number, arg < 32 && (c->weak >> arg & 1));
        else if (!add_sparse(&s, &n, &s.operand[k], number,
                             explain_on(c->in) ? arg_written(c, arg) : NULL))
            return v_undef();
    }
    for (int a = 0; a < s.rank; a++)
        n.out[n.rank++] = number[s.result[a]];
    return network_sum(&n);
}
