/* Plans of contractions that are kept from call to call, so that a loop of products of one layout
 * plans once: found by what they depend on, in words; the one that was not used for longest makes
 * room. */
#ifndef RICCI_BUILTINS_PLAN_CACHE_H
#define RICCI_BUILTINS_PLAN_CACHE_H

#include "interp/op/heard.h"
#include "interp/op/op.h"
#include "kernels/contract/contract.h"

enum { KEPT_PLANS = 16, KEPT_WORDS = 176 };

typedef struct KeptPlan {
    uint64_t used;                          /* the cache's clock when it was last used */
    int words;                              /* 0: not to be found */
    /* of the result, where a caller keeps it (einsum): computed */
    DType compute, dtype;
    int rank;                               /* in, given as; its shape */
    ContractPlan *plan;
    int64_t key[KEPT_WORDS], shape[TENSOR_RANK_MAX];
    HeardPlan heard;
} KeptPlan;

typedef struct PlanCache {
    uint64_t clock;
    KeptPlan plan[KEPT_PLANS];
} PlanCache;

/* OpState.clear of a PlanCache. */
void plan_cache_clear(Ctx *, void *cache);
/* NULL: there is none, or no words. */
KeptPlan *plan_cache_find(PlanCache *, const int64_t *key, int words);
/* A place for a plan, emptied: making the plan may raise. */
KeptPlan *plan_cache_place(Ctx *, PlanCache *);
/* 0 words: it runs, and is not found again. */
void plan_cache_keep(KeptPlan *, ContractPlan *, const int64_t *key, int words);

#endif
