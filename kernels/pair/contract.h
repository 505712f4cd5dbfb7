/* Contractions: out[…] = reduce over the labels that out lacks of the product of operands,
 * every tensor with one stride per label. The planner brings them into canonical form by
 * views, chooses the order for three operands and more by a time model, and maps pairs onto
 * dot, GEMV, GEMM, batched GEMM, packed blocks of GEMM, or our own kernels. A plan holds no
 * pointers to data: it is made once and run on any data of that layout.
 *
 * `@`, einsum and index notation all come here with their operands as they lie, so a product has
 * the same bits whichever way it is written.
 *
 * Files: contract.c (plans of any number of operands, intermediates), contract_convert.c (operands
 * stored in narrower floats), contract_path.c (the order), contract_fused*.c (all at once, without
 * intermediates), contract_pair*.c (one and two operands). */
#ifndef RICCI_KERNELS_CONTRACT_H
#define RICCI_KERNELS_CONTRACT_H

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
    uint8_t stored;                         /* 0: as the contraction computes; else a float's DType, a
                                             * storage one, that the planner converts from: strides and
                                             * data are the stored operand's */
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

typedef struct ContractOptions {
    size_t memory;                          /* bytes that intermediates may take; 0: no limit */
    const int (*path)[2];                   /* pairs in einsum_path's numbering, -1 in both: the rest
                                             * at once; NULL: the planner chooses */
    int path_length;
    bool left_to_right;                     /* pairs in order of writing */
} ContractOptions;

typedef struct ContractPlan ContractPlan;

/* Raises `memory`; options may be NULL. The Contraction is copied. */
ContractPlan *contract_plan(Ctx *, const Contraction *, const ContractOptions *);
void contract_plan_free(Ctx *, ContractPlan *);
/* Data of the result and of each operand: the element at position 0 of every label. Makes and
 * frees the intermediates; raises `memory`. A set interrupt flag ends it early: the caller polls. */
void contract_run(Ctx *, const ContractPlan *, void *out, const void *const *data);
/* Adds the plan's steps. `result` names the final result in them. */
void contract_report(const ContractPlan *, const char *result, Report *);
/* Estimated seconds of one run. */
double contract_seconds(const ContractPlan *);

/* Bytes of intermediates: of all alive at once, at most, and of the largest one. */
typedef struct ContractMemory { size_t peak, largest; } ContractMemory;
ContractMemory contract_memory(const ContractPlan *);

/* ---- between contract.c and contract_pair*.c: one or two operands ---- */
typedef struct PairPlan PairPlan;
PairPlan *pair_plan(Ctx *, const Contraction *);        /* operands is 1 or 2 */
/* Both operands are stored in bf16, and f32 computes: a plan that takes them so, or NULL where the
 * processor has no instruction for it or the product is too small. */
PairPlan *pair_plan_bf16(Ctx *, const Contraction *);
void pair_plan_free(Ctx *, PairPlan *);
void pair_run(Ctx *, const PairPlan *, void *out, const void *a, const void *b);
void pair_report(const PairPlan *, ReportStep *);       /* all but `what` and `temporary` */
double pair_seconds(const PairPlan *);

/* ---- contract_path.c: the order ---- */
typedef struct ContractStep { int a, b; } ContractStep; /* numbers as einsum_path counts: operands
                                                         * leave the list, the result goes to its end;
                                                         * b = -1: the single operand a alone */
/* The plan's steps, at most one per operand; -1 in both: all that are left in one fused loop.
 * Returns how many. */
int contract_steps(const ContractPlan *, ContractStep *steps);
/* Pairs in order into steps (operands - 1 of them; one for a single operand). Deterministic but for
 * the time budget of long lists. *seconds is the estimate of the whole. False: no order keeps
 * within the memory limit (steps is then the least hungry one). */
bool contract_order(Ctx *, const Contraction *, const ContractOptions *, ContractStep *steps,
                    double *seconds);

#endif
