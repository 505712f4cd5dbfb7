/* Plans of contractions (pair.h says what one is). The planner brings them into canonical form by
 * views, chooses the order for three operands and more by a time model, and maps pairs onto what
 * pair.h has. A plan holds no pointers to data: it is made once and run on any data of that layout.
 *
 * `@`, einsum and index notation all come here with their operands as they lie, so a product has
 * the same bits whichever way it is written.
 *
 * Files: contract.c (plans of any number of operands, intermediates), contract_convert.c (operands
 * stored in narrower floats), contract_path.c (the order), contract_fused*.c (all at once, without
 * intermediates). */
#ifndef RICCI_KERNELS_CONTRACT_H
#define RICCI_KERNELS_CONTRACT_H

#include "kernels/pair/pair.h"

typedef struct ContractOptions {
    size_t memory;                          /* bytes that intermediates may take; 0: no limit */
    /* pairs in einsum_path's numbering, -1 in both: the rest at once; NULL: the planner chooses */
    const int (*path)[2];
    int path_length;
    bool left_to_right;                     /* pairs in order of writing */
} ContractOptions;

typedef struct ContractPlan ContractPlan;

/* Raises `memory`; options may be NULL. The Contraction is copied. */
ContractPlan *contract_plan(Ctx *, const Contraction *, const ContractOptions *);
void contract_plan_free(Ctx *, ContractPlan *);
/* Data of the result and of each operand: the element at position 0 of every label. Makes and
 * frees the intermediates; raises `memory`. A set interrupt flag ends it early: the caller
 * polls. */
void contract_run(Ctx *, const ContractPlan *, void *out, const void *const *data);
/* contract_run, bit for bit, where the result lies dense as `rows` rows of `elements` elements:
 * tells of rows as soon as they are final (gemm.h), of all in the end where the plan makes them no
 * other way. */
void contract_run_panels(Ctx *, const ContractPlan *, void *out, const void *const *data,
                         int64_t rows, int64_t elements, const GemmPanels *);
/* Adds the plan's steps. `result` names the final result in them. */
void contract_report(const ContractPlan *, const char *result, Report *);
/* Estimated seconds of one run. */
double contract_seconds(const ContractPlan *);

/* Bytes of intermediates: of all alive at once, at most, and of the largest one. */
typedef struct ContractMemory { size_t peak, largest; } ContractMemory;
ContractMemory contract_memory(const ContractPlan *);

/* ---- contract_path.c: the order ---- */
typedef struct ContractStep { int a, b; } ContractStep; /* numbers as einsum_path counts: operands
                                                         * leave the list, the result goes to its
                                                         * end; b = -1: the single operand a
                                                         * alone */
/* The plan's steps, at most one per operand; -1 in both: all that are left in one fused loop.
 * Returns how many. */
int contract_steps(const ContractPlan *, ContractStep *steps);
/* Pairs in order into steps (operands - 1 of them; one for a single operand). Deterministic but for
 * the time budget of long lists. *seconds is the estimate of the whole. False: no order keeps
 * within the memory limit (steps is then the least hungry one). */
bool contract_order(Ctx *, const Contraction *, const ContractOptions *, ContractStep *steps,
                    double *seconds);

#endif
