/* The canonical form of a contraction of one or two operands, reached by views alone: axes
 * that nothing moves along are gone, negative steps are turned over, neighbours are fused,
 * and every axis stands with those that the same tensors have. Only contract_pair*.c use it. */
#ifndef RICCI_KERNELS_CONTRACT_PAIR_FORM_H
#define RICCI_KERNELS_CONTRACT_PAIR_FORM_H

#include "kernels/pair/contract_pair.h"

/* Which tensors have an axis, as bits; each combination is a class of axes. */
enum {
    IN_C = 1 << PAIR_C, IN_A = 1 << PAIR_A, IN_B = 1 << PAIR_B,
    FORM_SPREAD = IN_C,                 /* the result repeats itself along it */
    FORM_OWN_A = IN_A, FORM_OWN_B = IN_B,       /* summed within one operand */
    FORM_M = IN_C | IN_A, FORM_N = IN_C | IN_B, FORM_K = IN_A | IN_B,
    FORM_BATCH = IN_C | IN_A | IN_B,
    FORM_CLASSES
};

typedef struct PairForm {
    DType dtype;
    Semiring semiring;
    bool single;                        /* A alone; B is what changes nothing (pair_form_one) */
    bool conj[PAIR_TENSORS];
    bool empty_result, empty_sum;
    /* of every term: axes that are summed and in no operand; modulo 2^64, as sums of integers
     * are */
    int64_t repeats;
    double times;                       /* the same for sums of floats */
    bool endless;                       /* a tensor is visited more often than can be counted */
    int64_t base[PAIR_TENSORS];         /* elements from position 0 to where the form starts */
    int axes;
    PairAxis axis[CONTRACT_LABELS];
    uint8_t class[CONTRACT_LABELS];
} PairForm;

void pair_form(PairForm *, const Contraction *);
/* Fuses axes that all tensors walk as one, as pair_form does. */
void pair_form_fuse(PairForm *);
/* Axes of a class, in the order of `axis`; returns how many. */
int pair_form_axes(const PairForm *, int class, PairAxis *to);
double pair_form_extent(const PairForm *, int class);
/* Number of elements of a tensor that take part. */
double pair_form_size(const PairForm *, int tensor);
/* y with combine(x, y) = x for every x, in 16 bytes. */
void pair_form_one(Semiring, DType, void *cell);

#endif
