/* Sums of products with sparse factors, from wherever they come.
 *
 *   network.c      pairs of factors, one after the other: products of matrices of which one or
 *                  both are sparse, products of tensors by `einsum`, dots at entries
 *   by_terms.c     every product that has an entry in all sparse factors, and their sums in the
 *                  order of the language: any dtype, any scope, any indices
 */
#ifndef RICCI_INTERP_NETWORK_H
#define RICCI_INTERP_NETWORK_H

#include "interp/op/op.h"
#include "interp/sparse/sparse_door.h"

enum { NET_FACTORS = 32, NET_LABELS = 52 };

typedef struct NetFactor {
    Value v;                            /* a sparse matrix, a tensor or a number; rooted */
    int rank;
    uint8_t label[TENSOR_RANK_MAX];     /* of each axis; all distinct */
    uint64_t labels;                    /* the same as bits */
    bool weak;                          /* a literal that adapts */
    const char *name;                   /* for `explain`; NULL: none */
} NetFactor;

/* Indices that are in no factor are not summed: whoever makes it multiplies by their number. */
typedef struct Network {
    Interp *in;
    int factors, rank;
    NetFactor factor[NET_FACTORS];
    uint8_t out[TENSOR_RANK_MAX];       /* indices of the result's axes */
    int64_t extent[NET_LABELS];
    const char *name[NET_LABELS];       /* for `explain`; NULL: letters */
} Network;

/* Labels are 0 … NET_LABELS - 1. Raises ERR_INDEX where there are too many factors. */
NetFactor *network_factor(Network *, Value v, int rank, const uint8_t *label, bool weak);
/* The result, owned: sparse where its indices are those of one sparse factor, else dense. It is
 * computed in the scope that is in force. */
Value network_sum(Network *);

/* by_terms.c. pattern: of the result's indices, as the one sparse factor has them; NULL: dense. */
Value network_by_terms(const Network *, const NetFactor *pattern);
/* v in another dtype, onto the value stack. */
Value network_cast(Interp *, Value v, DType);
/* The transposed matrix, onto the value stack. */
const Sparse *network_turned(Interp *, const Sparse *);

#endif
