/* einsum: reads its specification (einsum_spec.c), makes or finds a plan and runs it. Plans
 * of the last calls are kept in the registry under the text, dtypes, shapes and strides, so
 * that a loop of small products plans once. Rearrangements are views. Rows are in shape.def. */
#include "builtins/einsum/einsum.h"
#include "core/base/error.h"
#include "interp/op/heard.h"

#include <stdio.h>
#include <string.h>

Value op_run_einsum(OpCall *);

/* ---- plans that are kept ---- */

enum { CACHE_PLANS = 16, KEY_WORDS = 160, KEY_TEXT = 120 };

typedef struct EinsumPlan {
    uint64_t used;                          /* the cache's clock when it was last used */
    int words;                              /* 0: not to be found */
    int64_t key[KEY_WORDS];
    char text[KEY_TEXT];
    ContractPlan *plan;
    DType compute, dtype;
    int rank;
    int64_t shape[TENSOR_RANK_MAX];
    HeardPlan heard;
} EinsumPlan;

typedef struct EinsumCache {
    uint64_t clock;
    EinsumPlan plan[CACHE_PLANS];
} EinsumCache;

static void cache_clear(Ctx *ctx, void *data)
{
    EinsumCache *cache = data;
    for (int i = 0; i < CACHE_PLANS; i++)
        contract_plan_free(ctx, cache->plan[i].plan);
}
static const OpState cache_kind = { sizeof(EinsumCache), cache_clear };

/* What a plan depends on beside the text, in words; 0: more than is kept. */
static int make_key(OpCall *c, int64_t *key)
{
    int n = 0;
    Value optimize = c->args[1];
    if (c->fixed != 2 || (optimize.tag != V_UNDEF && optimize.tag != V_BOOL) || explain_on(c->in) ||
        arg_str(c, 0)->len >= KEY_TEXT)
        return 0;
    key[n++] = c->count | (int64_t)(optimize.tag == V_BOOL && !optimize.i) << 32;
    for (int k = c->fixed; k < c->count; k++) {
        Value v = c->args[k];
        if (v.tag != V_TENSOR || n + 1 + 2 * v.tensor->rank > KEY_WORDS)
            return 0;
        bool weak = k < 32 && (c->weak >> k & 1);
        key[n++] = v.tensor->dtype | v.tensor->rank << 8 | weak << 16;
        memcpy(key + n, v.tensor->dims, (size_t)(2 * v.tensor->rank) * sizeof *key);
        n += 2 * v.tensor->rank;
    }
    return n;
}

static EinsumPlan *find_plan(OpCall *c, const int64_t *key, int words)
{
    EinsumCache *cache = op_state(c->in, &cache_kind);
    const Str *text = arg_str(c, 0);
    for (int i = 0; words && i < CACHE_PLANS; i++) {
        EinsumPlan *p = &cache->plan[i];
        if (p->words == words && memcmp(p->key, key, (size_t)words * sizeof *key) == 0 &&
            memcmp(p->text, text->text, text->len + 1) == 0) {
            p->used = ++cache->clock;
            return p;
        }
    }
    return NULL;
}

/* The place of the plan that was not used for longest, emptied. */
static EinsumPlan *new_plan(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    EinsumCache *cache = op_state(c->in, &cache_kind);
    EinsumPlan *p = &cache->plan[0];
    for (int i = 1; i < CACHE_PLANS; i++)
        if (cache->plan[i].used < p->used)
            p = &cache->plan[i];
    contract_plan_free(ctx, p->plan);
    p->plan = NULL;
    p->words = 0;
    p->used = ++cache->clock;
    return p;
}

/* ---- special cases ---- */

/* One operand whose labels all stay: a view of it. */
static Tensor *as_view(EinsumSpec *s)
{
    const EinsumOperand *x = &s->operand[0];
    int64_t shape[TENSOR_RANK_MAX], stride[TENSOR_RANK_MAX];
    bool kept[EINSUM_LABELS] = { false };
    if (s->operands != 1 || x->tensor->dtype == DT_RATIONAL)
        return NULL;
    for (int a = 0; a < s->rank; a++) {
        kept[s->result[a]] = true;
        shape[a] = s->length[s->result[a]];
        stride[a] = 0;
        for (int b = 0; b < x->tensor->rank; b++)
            stride[a] += x->index[b] == s->result[a] ? tensor_strides(x->tensor)[b] : 0;
    }
    for (int b = 0; b < x->tensor->rank; b++)
        if (!kept[x->index[b]] && tensor_shape(x->tensor)[b] != 1)
            return NULL;
    if (heard_on(s->call->in))
        explain_routine(s->call->in, "a view: nothing is computed");
    return op_keep(s->call, tensor_view(&s->call->in->ctx, x->tensor, s->rank, shape, stride,
                                        x->tensor->data));
}

/* ---- explain ---- */

static void explain_plan(OpCall *c, const ContractPlan *plan)
{
    Report report = { 0 };
    contract_report(plan, "result", &report);
    explain_steps(c->in, &report);
}

static void tell_plan(OpCall *c, EinsumPlan *p)
{
    if (!heard_on(c->in) || heard_plan(c->in, &p->heard))
        return;
    explain_plan(c, p->plan);
    heard_plan_keep(c->in, &p->heard);
}

/* ---- the row ---- */

/* A tensor of bytes on the value stack: room until the operation ends. */
static void *room_for(OpCall *c, int64_t count, size_t each)
{
    int64_t bytes = (int64_t)mem_mul(&c->in->ctx, (size_t)count, each);
    return op_keep(c, tensor_new(&c->in->ctx, DT_U8, 1, &bytes))->data;
}

static _Noreturn void too_large(const EinsumSpec *s)
{
    int64_t shape[TENSOR_RANK_MAX];
    char text[256];
    for (int a = 0; a < s->rank; a++)
        shape[a] = s->length[s->result[a]];
    arg_error(s->call, 0, ERR_MEMORY, "the result is %s: more elements than can be counted",
              shape_text(text, sizeof text, s->rank, shape));
}

ContractPlan *einsum_plan(EinsumSpec *s, DType compute, const ContractOptions *options, bool named)
{
    Contraction x;
    char text[CONTRACT_LABELS][8];
    const char *names[CONTRACT_LABELS];
    int64_t stride[TENSOR_RANK_MAX], at = 1;
    size_t each = sizeof(ContractOperand) + sizeof(char *) + 24;
    ContractOperand *operand = room_for(s->call, s->operands, each);
    const char **operand_names = (void *)(operand + s->operands);
    for (int a = s->rank - 1; a >= 0; a--) {
        stride[a] = at;
        if (__builtin_mul_overflow(at, s->length[s->result[a]], &at))
            too_large(s);
    }
    einsum_contraction(s, compute, stride, &x, operand, text, names);
    x.names = names;
    if (named) {
        einsum_operand_names(s, (void *)(operand_names + s->operands), operand_names);
        x.operand_names = operand_names;
    }
    return contract_plan(&s->call->in->ctx, &x, options);
}

/* Operands as the plan wants them, and the run. */
static Value run_plan(OpCall *c, const EinsumPlan *p, Tensor *const *tensors, int n)
{
    Ctx *ctx = &c->in->ctx;
    const void *few[8], **data = few;
    if (n > 8)
        data = room_for(c, n, sizeof *data);
    for (int k = 0; k < n; k++) {
        Tensor *t = tensors[k];
        if (t->dtype != p->compute && !einsum_stored(t, p->compute))
            t = op_keep(c, tensor_cast(ctx, t, p->compute));
        data[k] = t->data;
    }
    Tensor *out = op_keep(c, tensor_new(ctx, p->compute, p->rank, p->shape));
    contract_run(ctx, p->plan, out->data, data);
    poll_interrupt(c->in);
    return op_result(c, p->dtype == p->compute ? out : op_keep(c, tensor_cast(ctx, out, p->dtype)));
}

static Value run_again(OpCall *c, const EinsumPlan *p)
{
    Tensor *tensors[KEY_WORDS];
    for (int k = c->fixed; k < c->count; k++)
        tensors[k - c->fixed] = c->args[k].tensor;
    return run_plan(c, p, tensors, c->count - c->fixed);
}

/* Tensors of the compute dtype, or such as the plan converts, in the order of the operands. */
static Tensor **cast_operands(EinsumSpec *s, DType compute)
{
    OpCall *c = s->call;
    Tensor **tensors = room_for(c, s->operands, sizeof *tensors);
    for (int k = 0; k < s->operands; k++) {
        EinsumOperand *x = &s->operand[k];
        if (x->tensor->dtype != compute && !einsum_stored(x->tensor, compute))
            x->tensor = op_keep(c, tensor_cast(&c->in->ctx, x->tensor, compute));
        tensors[k] = x->tensor;
    }
    return tensors;
}

Value op_run_einsum(OpCall *c)
{
    EinsumSpec s;
    ContractOptions options = { 0 };
    int64_t key[KEY_WORDS], shape[TENSOR_RANK_MAX];
    arg_str(c, 0);
    int words = make_key(c, key);
    EinsumPlan *p = find_plan(c, key, words);
    if (p) {
        tell_plan(c, p);
        return run_again(c, p);
    }
    einsum_read(&s, c);
    bool asks = einsum_options(c, s.operands, &options);
    Tensor *view = as_view(&s);
    if (view)
        return op_result(c, view);
    DType compute, dt = einsum_dtype(&s, &compute);
    if (compute == DT_RATIONAL)
        return einsum_exact(&s, asks ? &options : NULL);
    Tensor **tensors = cast_operands(&s, compute);
    for (int a = 0; a < s.rank; a++)
        shape[a] = s.length[s.result[a]];
    p = new_plan(c);
    p->compute = compute;
    p->dtype = dt;
    p->rank = s.rank;
    memcpy(p->shape, shape, sizeof shape);
    p->plan = einsum_plan(&s, compute, asks ? &options : NULL, explain_on(c->in));
    if (words) {
        memcpy(p->key, key, (size_t)words * sizeof *key);
        memcpy(p->text, s.text, strlen(s.text) + 1);
        p->words = words;
    }
    p->heard.known = false;
    tell_plan(c, p);
    return run_plan(c, p, tensors, s.operands);
}
