/* Contractions: out[…] = reduce over the labels that out lacks of the product of operands,
 * every tensor with one stride per label; and the plans of those with one or two operands, mapped
 * onto dot, GEMV, GEMM, batched GEMM, packed blocks of GEMM, or our own kernels (contract_pair*.c).
 * Whoever has a product asks contract.h, which plans any number of operands. */
#ifndef RICCI_KERNELS_PAIR_H
#define RICCI_KERNELS_PAIR_H

#include "kernels/gemm/gemm.h"
#include "kernels/tensor/report.h"
#include "kernels/semiring/semiring.h"

enum { CONTRACT_LABELS = 64 };

typedef struct ContractOperand {
    uint64_t labels;                        /* bit l: it depends on label l */
    int64_t stride[CONTRACT_LABELS];        /* in elements; any value, overlapping windows too;
                                             * 0 where the bit is not set. A repeated label of a
                                             * diagonal is one label with summed strides. */
    bool conj;                              /* complex: its conjugate takes part */
    /* 0: as the contraction computes; else a float's DType, a storage one, that the planner
     * converts from: strides and data are the stored operand's */
    uint8_t stored;
} ContractOperand;

/* Can an operand of dtype `from` be stored so in a contraction that computes in `to`? */
static inline bool contract_stores(DType from, DType to)
{
    char kind = dtype_info(from)->kind, wide = dtype_info(to)->kind;
    return from != to && from < DT_RATIONAL && to < DT_RATIONAL && (kind == 'f' || kind == 'c') &&
           (wide == 'c' || (wide == 'f' && kind == 'f'));
}

typedef struct Contraction {
    DType dtype;                            /* of all operands and of the result: bool, ints,
                                             * f32, f64, c64, c128 (others are cast before) */
    Semiring semiring;
    int labels, operands;                   /* labels 0 … labels-1 */
    int64_t extent[CONTRACT_LABELS];        /* any may be 0: an empty sum is the identity */
    const char *const *names;               /* per label, for reports; NULL: a b c … */
    const char *const *operand_names;       /* for reports; NULL: A B C … */
    const ContractOperand *operand;
    uint64_t out;                           /* labels of the result */
    int64_t out_stride[CONTRACT_LABELS];    /* no two elements share an address; the memory does
                                             * not overlap the operands' */
} Contraction;

/* ---- plans of one or two operands ---- */
typedef struct PairPlan PairPlan;
PairPlan *pair_plan(Ctx *, const Contraction *);        /* operands is 1 or 2 */
/* Both operands are stored in bf16, and f32 computes: a plan that takes them so, or NULL where the
 * processor has no instruction for it or the product is too small. */
PairPlan *pair_plan_bf16(Ctx *, const Contraction *);
void pair_plan_free(Ctx *, PairPlan *);
void pair_run(Ctx *, const PairPlan *, void *out, const void *a, const void *b);
/* pair_run, where the result lies dense and its rows are made some at a time: tells of them. False:
 * it is no such plan, and nothing was done. Raises `memory`. */
bool pair_run_panels(Ctx *, const PairPlan *, void *out, const void *a, const void *b,
                     int64_t rows, int64_t elements, const GemmPanels *);
void pair_report(const PairPlan *, ReportStep *);       /* all but `what` and `temporary` */
double pair_seconds(const PairPlan *);

#endif
