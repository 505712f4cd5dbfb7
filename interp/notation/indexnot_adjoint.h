/* Index notation differentiated into index notation: from the tree of a notation, the text of a
 * function of its operands that computes their gradients from that of its result:
 *
 *   C[i,k] := A[i,j] * B[j,k]     (A, B, C, dC) -> {
 *                                     dA[i,j] := dC[i,k] * B[j,k]
 *                                     dB[j,k] := dC[i,k] * A[i,j]
 *                                     (dA, dB)
 *                                 }
 *
 *   indexnot_adjoint_make.c   expressions over indices
 *   indexnot_adjoint_write.c  statements written of them
 *   indexnot_adjoint_step.c   one operation: its slope, by a formula
 *   indexnot_adjoint_term.c   what an element receives, by its subscripts
 *   indexnot_adjoint.c        the tree as such an expression, and the way from the result down */
#ifndef RICCI_INTERP_INDEXNOT_ADJOINT_H
#define RICCI_INTERP_INDEXNOT_ADJOINT_H

#include "interp/notation/indexnot.h"
#include "core/base/buf.h"

typedef struct IxAdjoint {
    Buf text;               /* of the function; whoever asked frees it */
    int leaves;             /* its first parameters: base[0 … leaves) */
    bool sized;             /* it holds for operands of these lengths only */
    uint64_t gives;         /* bits of the leaves with a gradient, as `wanted` */
    char lack[160];         /* why there is none, or "" */
    const Exec *at;         /* the operation that lacks it, if it is one */
    const Op *op;
    bool flat;              /* the result has no wanted leaf on a way that has slopes … */
    const Op *cut;          /* … and this is the first there that gives no floats, or NULL */
    const Exec *cut_at;
} IxAdjoint;

/* The parameters are the leaves of the notation, then those of the functions that it inlines, as
 * they follow each other from `base` on (a user's names where they are one name and do not clash,
 * else v0, v1 …), then the notation's value and its cotangent. The value is a tuple with an entry
 * per leaf, `none` where it has no gradient or its bit in `wanted` (the last one: leaf 63 and all
 * behind it) is not set; its dtype may be wider than the leaf's, or real where that is complex. The
 * text depends on the leaves' dtypes and ranks and on what is called, and on lengths if `sized`.
 *
 * `base` is as ix_run leaves it: the notation's own leaves on the value stack, and above them those
 * of the calls, which are evaluated here if they are not there. `again`: the notation is itself a
 * statement of such a function, differentiated once more: operations without a slope (floor, sign)
 * count as constants, which are a lack else, and where(w != 0, w * s, 0) is a product. The text is
 * to be run in a module without variables of its own, so that no index is one. False: see `lack`.
 */
bool ix_adjoint_text(Interp *, const Exec *, IxSite *, Value *base, uint64_t wanted, bool again,
                     IxAdjoint *);

/* The text of a function of the same leaves that is the notation itself, the functions that it
 * inlines taken in. */
bool ix_forward_text(Interp *, const Exec *, IxSite *, Value *base, IxAdjoint *);

/* ---- expressions ---- */
enum { AD_IDS = 64, AD_FACTORS = 40, AD_NODES = 100000 };

typedef enum AdKind { AD_TEXT, AD_INDEX, AD_LOAD, AD_INFIX, AD_MINUS, AD_CALL, AD_REDUCE } AdKind;

typedef struct AdEx AdEx;
struct AdEx {
    uint8_t kind, reduce;   /* AdKind; AD_REDUCE: IxReduce */
    bool literal;           /* AD_TEXT: a number, `value` where it is a whole one … */
    bool whole;
    int height;             /* reductions in each other */
    bool is_complex, risky; /* may be complex; may be infinite where operands are finite */
    bool reduces, needs;    /* a reduction in it; a wanted leaf on a way that has slopes */
    bool guard;             /* where(arg[0], arg[1], 0), which keeps a cotangent of 0 */
    bool own;               /* AD_LOAD: of a tensor whose axes are the indices' lengths */
    int leaf;               /* AD_TEXT, AD_LOAD: -1 if it is none */
    int id;                 /* AD_INDEX */
    int args;
    int64_t value;
    const char *text;       /* also of a tensor, an operator, a function, a reduction */
    const Op *op;           /* of the notation's parts, and of calls: one without it is a cast */
    const Exec *at;         /* its place in the notation, or NULL */
    AdEx **arg;
    OpWrap *wrap;           /* AD_LOAD */
    uint64_t over, free;    /* AD_REDUCE: bits of ids; all: its free ones */
};

typedef struct AdIndex {
    const char *name, *length;
    const char *slice;      /* its range as a slice of an axis; NULL: it is none */
    bool forced;            /* its range is no axis's: always to be written */
    int64_t extent;
} AdIndex;

/* A product of factors, to be summed over all indices that its user has not. */
typedef struct AdWeight {
    AdEx *factor[AD_FACTORS];
    int count;
    bool minus;
    uint64_t over;
} AdWeight;

typedef struct AdTerm {
    const AdEx *at;         /* the occurrence of the leaf */
    AdWeight w;
    bool written;
    struct AdTerm *next;
} AdTerm;

/* A reduction and one of the weights that reach it. */
typedef struct AdPending {
    AdEx *x;
    AdWeight w;
    const char *key;        /* what it is, whatever its indices are called */
    bool done;
    struct AdPending *next;
} AdPending;

typedef struct AdTemp {
    const char *key, *name;
    struct AdTemp *next;
} AdTemp;

typedef struct AdLeaf {
    const char *name, *grad, *text;     /* parameter; its gradient; as a part of expressions */
    const char *source;                 /* as it was written */
    const char *entries;                /* of a sparse one: a matrix of ones at its entries */
    AdTerm *terms, *last;
    bool wanted, is_complex, literal, written;
} AdLeaf;

typedef struct Ad {
    IxBind *b;
    Arena *arena;
    IxAdjoint *out;
    AdLeaf leaf[IX_LEAVES];
    AdIndex index[AD_IDS];
    AdEx *shown[AD_IDS];    /* by span: an index as a number */
    int nodes, ids, names, temps, weights, places, gathered;
    const char *name[IX_LEAVES + 256], *result, *cotangent;
    const char *active[AD_IDS];         /* names of indices where the statement is written … */
    const char *bind[2 * AD_IDS];       /* … and all that are bound around */
    int binds, inside;                  /* brackets around, where signs stand without spaces */
    bool again;
    bool forward;           /* the notation itself is written, no gradient of it */
    bool canonical;                     /* …, which is one to compare */
    AdTemp *temp;
    AdPending *pending;
    AdEx *root, *root_value;            /* the notation's value, if it has the same indices */
    uint64_t left;
} Ad;

/* indexnot_adjoint_make.c */
void ad_lack(Ad *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *ad_format(Ad *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *ad_name(Ad *, const char *like);        /* a new one */
bool ad_taken(const Ad *, const char *name);
int ad_index_new(Ad *, const char *name, const char *length, int64_t extent);
AdEx *ad_text(Ad *, const char *);
AdEx *ad_whole(Ad *, int64_t);
AdEx *ad_index(Ad *, int id);
AdEx *ad_load(Ad *, const char *tensor, int rank);  /* arg and wrap to be filled, then … */
AdEx *ad_done(AdEx *);                              /* … what follows from parts */
AdEx *ad_own(Ad *, const char *tensor, const int *ids, int rank);
AdEx *ad_infix(Ad *, const char *sign, AdEx *, AdEx *);     /* made simple … */
AdEx *ad_minus(Ad *, AdEx *);
AdEx *ad_binary(Ad *, const char *sign, AdEx *, AdEx *);    /* … and as it is */
AdEx *ad_negative(Ad *, AdEx *);
AdEx *ad_call(Ad *, const char *name, AdEx *const *arg, int args);
AdEx *ad_where(Ad *, AdEx *condition, AdEx *yes, AdEx *no);
bool ad_calls(const AdEx *, EwOp);
AdEx *ad_reduce(Ad *, IxReduce, uint64_t over, AdEx *body);
bool ad_is(const AdEx *, int64_t);                  /* that whole number */
AdEx *ad_like(Ad *, const AdEx *);                  /* with room for other operands */
/* An index by an expression. Where that leaves an axis elements count as 0, if `solved` is given:
 * the element that the expression was found from, by its subscript `axis`. */
AdEx *ad_put_in(Ad *, const AdEx *, int id, AdEx *for_it, const AdEx *solved, int axis);
AdEx *ad_tidy(Ad *, AdEx *);                        /* sums of ints with like terms together */
int ad_places(const AdEx *, int id);                /* how often it stands in it */
int ad_order(const AdEx *, uint64_t which, int *ids);   /* as they first appear */
/* Factors with indices `to` for `from`. */
void ad_rename(Ad *, AdWeight *, int rank, const int *from, const int *to);

/* indexnot_adjoint_write.c */
AdEx *ad_product(Ad *, const AdWeight *);
bool ad_weight_complex(const AdWeight *);
/* The sum over `over`, as Einstein's if that says the same: then *einstein has the indices. */
AdEx *ad_summed(Ad *, const AdWeight *, uint64_t over, bool real, uint64_t *einstein);
void ad_define(Ad *, const char *name, const int *left, int rank, const AdEx *, uint64_t einstein,
               bool more);
void ad_names_start(Ad *, const int *ids, int count);
void ad_put(Ad *, Buf *, const AdEx *);
/* x without reductions: their values are statements before. */
AdEx *ad_hoist(Ad *, AdEx *x);
/* A function of the rules, of whole tensors: before, of x as one. */
AdEx *ad_call_whole(Ad *, const char *function, AdEx *x);
AdEx *ad_value(Ad *, AdEx *x);                      /* the same, the result by its name */
AdEx *ad_copy_to(Ad *, const AdWeight *, uint64_t free);    /* a weight as a statement */
/* The text of an expression and the lengths of its free indices, alike for what is alike. */
const char *ad_key(Ad *, const AdEx *, const int *ids, int rank);

/* indexnot_adjoint_step.c: the weight of operand k of an operation. False: it has none. */
bool ad_step(Ad *, AdEx *x, int k, AdWeight *);

/* indexnot_adjoint_term.c */
void ad_write_leaf(Ad *, int leaf);

#endif
