/* einsum in 8 bits: pairs of factors, each rounded as it comes (builtins/eight). The order is one
 * that no machine and no number of threads changes: of all pairs that with the fewest products, and
 * of such the one that leaves the fewest elements. Factors of one number multiply the result. */
#include "builtins/eight/eight_pair.h"
#include "builtins/einsum/einsum.h"
#include "kernels/cast/tensor_cast.h"

#include <string.h>

typedef struct Chain {
    const Contraction *x;
    EightFactor *list;
    int left, last;             /* label of the result that lies last, or -1 */
    double factor;
} Chain;

static double elements(const Contraction *x, uint64_t labels)
{
    double n = 1;
    for (int l = 0; l < x->labels; l++)
        n *= labels >> l & 1 ? (double)x->extent[l] : 1;
    return n;
}

/* What a pair leaves: labels of it that the result or another factor has. */
static uint64_t kept_labels(const Chain *h, int a, int b)
{
    uint64_t others = h->x->out;
    for (int i = 0; i < h->left; i++)
        others |= i == a || i == b ? 0 : h->list[i].labels;
    return (h->list[a].labels | h->list[b].labels) & others;
}

static void next_pair(const Chain *h, int *a, int *b)
{
    double least = 0, fewest = 0;
    *b = 0;
    for (int i = 0; i < h->left; i++)
        for (int k = i + 1; k < h->left; k++) {
            double work = elements(h->x, h->list[i].labels | h->list[k].labels);
            double left = elements(h->x, kept_labels(h, i, k));
            if (*b == 0 || work < least || (work == least && left < fewest)) {
                least = work;
                fewest = left;
                *a = i;
                *b = k;
            }
        }
}

static void run_pairs(OpCall *c, Chain *h)
{
    EightFactor made;
    while (h->left > 1) {
        int a = 0, b = 1;
        next_pair(h, &a, &b);
        eight_pair(c, h->x->labels, h->x->extent, &h->list[a], &h->list[b], kept_labels(h, a, b),
                   h->left == 2 ? h->last : -1, &made);
        memmove(&h->list[b], &h->list[b + 1], (size_t)(h->left - b - 1) * sizeof made);
        memmove(&h->list[a], &h->list[a + 1], (size_t)(h->left - a - 2) * sizeof made);
        h->left -= 2;
        h->list[h->left++] = made;
    }
}

/* Factors of the list, and the numbers among them multiplied. */
static void read_factors(EinsumSpec *s, const ContractOperand *operand, Chain *h)
{
    OpCall *c = s->call;
    for (int k = 0; k < s->operands; k++) {
        Tensor *t = s->operand[k].tensor;
        if (t->rank == 0) {
            double v = 0;
            Tensor *wide = op_keep(c, tensor_cast(&c->in->ctx, t, DT_F64));
            memcpy(&v, wide->data, sizeof v);
            h->factor *= v;
            continue;
        }
        EightFactor *f = &h->list[h->left++];
        *f = (EightFactor){ .t = t, .labels = operand[k].labels, .arg = c->fixed + k };
        memcpy(f->stride, operand[k].stride, sizeof operand[k].stride);
    }
}

Value op_eight_einsum(OpCall *c)
{
    EinsumSpec s;
    Contraction x;
    ContractOptions options = { 0 };
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    int label[TENSOR_RANK_MAX];
    einsum_read(&s, c);
    einsum_options(c, s.operands, &options);        /* an error where it is none */
    for (int k = 0; k < s.operands; k++)
        s.operand[k].tensor = eight_float(c, s.operand[k].tensor);
    for (int a = 0; a < s.rank; a++) {
        shape[a] = s.length[s.result[a]];
        strides[a] = a + 1;             /* told apart, to find the labels again */
    }
    int64_t bytes = s.operands * (int64_t)(sizeof(ContractOperand) + sizeof(EightFactor));
    EightFactor *list =
        (void *)op_keep(c, tensor_new(&c->in->ctx, DT_U8, 1, &bytes))->data;
    ContractOperand *operand = (void *)(list + s.operands);
    einsum_contraction(&s, DT_F32, strides, &x, operand, NULL, NULL);
    Chain h = { .x = &x, .list = list, .last = -1, .factor = 1 };
    read_factors(&s, operand, &h);
    for (int a = 0; a < s.rank; a++) {
        label[a] = -1;
        for (int l = 0; l < x.labels; l++)
            if (x.out >> l & 1 && x.out_stride[l] == a + 1)
                label[a] = h.last = l;
    }
    eight_told(c);
    run_pairs(c, &h);
    Tensor *out = eight_laid(c, &list[0], s.rank, shape, label);
    float *to = (float *)(void *)out->data;
    for (int64_t i = 0; h.factor != 1 && i < out->size; i++)
        to[i] = (float)((double)to[i] * h.factor);
    return op_result(c, out);
}
