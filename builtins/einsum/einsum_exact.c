/* einsum of rationals: the pairs of the chosen order, each by an exact nest. Intermediates are
 * rational tensors on the value stack. */
#include "builtins/einsum/einsum.h"
#include "builtins/exact/rational.h"
#include "interp/op/heard.h"

#include <string.h>

typedef struct Factor {
    ContractOperand *shape;
    const Rational *data;
} Factor;

/* out += the product of one or two factors, summed over the labels that out lacks. */
static void run_pair(OpCall *c, const Contraction *x, const Factor *a, const Factor *b,
                     uint64_t labels, const int64_t *stride, Rational *out)
{
    RationalNest nest = { .operands = b ? 2 : 1 };
    uint64_t used = a->shape->labels | (b ? b->shape->labels : 0);
    const Rational *data[2] = { a->data, b ? b->data : NULL };
    for (int l = 0; l < x->labels; l++) {
        if (!(used >> l & 1))
            continue;
        if (x->extent[l] == 0)
            return;
        nest.kept[nest.indices] = labels >> l & 1;
        nest.out[nest.indices] = labels >> l & 1 ? stride[l] : 0;
        nest.in[0][nest.indices] = a->shape->labels >> l & 1 ? a->shape->stride[l] : 0;
        nest.in[1][nest.indices] = b && b->shape->labels >> l & 1 ? b->shape->stride[l] : 0;
        nest.n[nest.indices++] = x->extent[l];
    }
    exact_check(c, rational_einsum(&c->in->ctx, &nest, out, data));
    poll_interrupt(c->in);
}

/* Room for the result of a step: its labels with row-major strides. */
static Rational *make_intermediate(OpCall *c, const Contraction *x, ContractOperand *shape,
                                   uint64_t labels)
{
    int64_t size = 1;
    memset(shape, 0, sizeof *shape);
    shape->labels = labels;
    for (int l = x->labels - 1; l >= 0; l--)
        if (labels >> l & 1) {
            shape->stride[l] = size;
            size = (int64_t)mem_mul(&c->in->ctx, (size_t)size, (size_t)x->extent[l]);
        }
    return exact_data(op_keep(c, tensor_zeros(&c->in->ctx, DT_RATIONAL, 1, &size)));
}

static void run_pairs(OpCall *c, const Contraction *x, Factor *list, const ContractStep *steps,
                      Tensor *out)
{
    ContractOperand *made = (ContractOperand *)x->operand + x->operands;
    int left = x->operands;
    for (int t = 0; left > 1; t++) {
        bool all = steps[t].a < 0;          /* everything at once is the same in pairs, exactly */
        int a = all ? 0 : steps[t].a, b = all ? 1 : steps[t].b, kept = 0;
        Factor na = list[a], nb = list[b];
        uint64_t others = x->out;
        for (int i = 0; i < left; i++)
            if (i != a && i != b) {
                others |= list[i].shape->labels;
                list[kept++] = list[i];
            }
        uint64_t labels = (na.shape->labels | nb.shape->labels) & others;
        if (left == 2) {
            run_pair(c, x, &na, &nb, x->out, x->out_stride, exact_data(out));
            return;
        }
        Rational *to = make_intermediate(c, x, made, labels);
        run_pair(c, x, &na, &nb, labels, made->stride, to);
        list[kept++] = (Factor){ made++, to };
        left = kept;
        t -= all;
    }
    run_pair(c, x, &list[0], NULL, x->out, x->out_stride, exact_data(out));
}

Value einsum_exact(EinsumSpec *s, const ContractOptions *options)
{
    OpCall *c = s->call;
    Ctx *ctx = &c->in->ctx;
    Contraction x;
    int n = s->operands;
    int64_t shape[TENSOR_RANK_MAX];
    double seconds;
    size_t each = 2 * sizeof(ContractOperand) + sizeof(Factor) + sizeof(ContractStep);
    char *room = op_keep(c, tensor_new(ctx, DT_U8, 1, (int64_t[]){ n * (int64_t)each }))->data;
    ContractOperand *operand = (void *)room;
    Factor *list = (void *)(operand + 2 * n);
    ContractStep *steps = (void *)(list + n);
    for (int k = 0; k < n; k++) {
        s->operand[k].tensor = op_keep(c, tensor_cast(ctx, s->operand[k].tensor, DT_RATIONAL));
        list[k] = (Factor){ &operand[k], exact_data(s->operand[k].tensor) };
    }
    for (int a = 0; a < s->rank; a++)
        shape[a] = s->length[s->result[a]];
    Tensor *out = op_keep(c, tensor_zeros(ctx, DT_RATIONAL, s->rank, shape));
    einsum_contraction(s, DT_RATIONAL, tensor_strides(out), &x, operand, NULL, NULL);
    for (int l = 0; l < x.labels; l++)
        if (x.extent[l] == 0)
            return op_result(c, out);
    if (options && options->path)
        for (int t = 0; t < options->path_length; t++)
            steps[t] = (ContractStep){ options->path[t][0], options->path[t][1] };
    else
        contract_order(ctx, &x, options, steps, &seconds);
    explain_routine(c->in, "exact nests over pairs", NULL, NULL);
    run_pairs(c, &x, list, steps, out);
    return op_result(c, out);
}
