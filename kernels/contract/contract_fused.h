/* The fused loop: a contraction of any number of operands in one nest, without any intermediate
 * tensor. Candidate 0 of every plan of three operands and more, and the only one where the order
 * of operands matters (SR_MIN_TIMES). */
#ifndef RICCI_KERNELS_CONTRACT_FUSED_H
#define RICCI_KERNELS_CONTRACT_FUSED_H

#include "kernels/contract/contract.h"

typedef struct FusedPlan FusedPlan;

/* SR_PLUS_TIMES, SR_OR_AND and the two that do not distribute; others are taken in pairs. */
bool fused_has(Semiring, DType);
FusedPlan *fused_plan(Ctx *, const Contraction *);
void fused_plan_free(Ctx *, FusedPlan *);
void fused_run(Ctx *, const FusedPlan *, void *out, const void *const *data);
void fused_report(const FusedPlan *, ReportStep *);     /* all but `what` and `temporary` */
double fused_seconds(const FusedPlan *);

#endif
