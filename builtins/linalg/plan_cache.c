/* Plans that are kept: see plan_cache.h. */
#include "builtins/linalg/plan_cache.h"

#include <assert.h>
#include <string.h>

void plan_cache_clear(Ctx *ctx, void *data)
{
    PlanCache *cache = data;
    for (int i = 0; i < KEPT_PLANS; i++)
        contract_plan_free(ctx, cache->plan[i].plan);
}

KeptPlan *plan_cache_find(PlanCache *cache, const int64_t *key, int words)
{
    for (int i = 0; words && i < KEPT_PLANS; i++) {
        KeptPlan *p = &cache->plan[i];
        if (p->words == words && memcmp(p->key, key, (size_t)words * sizeof *key) == 0) {
            p->used = ++cache->clock;
            return p;
        }
    }
    return NULL;
}

KeptPlan *plan_cache_place(Ctx *ctx, PlanCache *cache)
{
    KeptPlan *p = &cache->plan[0];
    for (int i = 1; i < KEPT_PLANS; i++)
        if (cache->plan[i].used < p->used)
            p = &cache->plan[i];
    contract_plan_free(ctx, p->plan);
    p->plan = NULL;
    p->words = 0;
    p->used = ++cache->clock;
    return p;
}

void plan_cache_keep(KeptPlan *p, ContractPlan *plan, const int64_t *key, int words)
{
    assert(!p->plan && words <= KEPT_WORDS);
    p->plan = plan;
    p->heard.known = false;
    memcpy(p->key, key, (size_t)words * sizeof *key);
    p->words = words;
}
