/* einsum: reads its specification (einsum_spec.c), makes or finds a plan and runs it. Plans
 * of the last calls are kept (plan_cache.h) under the text, dtypes, shapes and strides, so
 * that a loop of small products plans once. Rearrangements are views. Rows are in shape.def. */
#include "builtins/einsum/einsum.h"
#include "builtins/linalg/plan_cache.h"
#include "core/base/error.h"
#include "interp/op/heard.h"

#include <stdio.h>
#include <string.h>

Value op_run_einsum(OpCall *);

/* ---- plans that are kept ---- */

enum { KEY_TEXT = 120, KEY_OPERANDS = KEPT_WORDS - KEY_TEXT / 8 };

static const OpState cache_kind = { sizeof(PlanCache), plan_cache_clear };

/* What a plan depends on, in words, the text last; 0: more than is kept. */
static int make_key(OpCall *c, int64_t *key)
{
    int n = 0;
    const Str *text = arg_str(c, 0);
    Value optimize = c->args[1];
    if (c->fixed != 2 || (optimize.tag != V_UNDEF && optimize.tag != V_BOOL) || explain_on(c->in) ||
        text->len >= KEY_TEXT)
        return 0;
    key[n++] = c->count | (int64_t)(optimize.tag == V_BOOL && !optimize.i) << 32;
    for (int k = c->fixed; k < c->count; k++) {
        Value v = c->args[k];
        if (v.tag != V_TENSOR || n + 1 + 2 * v.tensor->rank > KEY_OPERANDS)
            return 0;
        bool weak = k < 32 && (c->weak >> k & 1);
        key[n++] = v.tensor->dtype | v.tensor->rank << 8 | weak << 16;
        memcpy(key + n, v.tensor->dims, (size_t)(2 * v.tensor->rank) * sizeof *key);
        n += 2 * v.tensor->rank;
    }
    int words = (int)(text->len / 8 + 1);
    key[n + words - 1] = 0;
    memcpy(key + n, text->text, text->len + 1);
    return n + words;
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
        explain_routine(s->call->in, "a view", NULL, "a view: nothing is computed");
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

static void tell_plan(OpCall *c, KeptPlan *p)
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
static Value run_plan(OpCall *c, const KeptPlan *p, Tensor *const *tensors, int n)
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

static Value run_again(OpCall *c, const KeptPlan *p)
{
    Tensor *tensors[KEY_OPERANDS];
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
    int64_t key[KEPT_WORDS], shape[TENSOR_RANK_MAX];
    int words = make_key(c, key);
    PlanCache *cache = op_state(c->in, &cache_kind);
    KeptPlan *p = plan_cache_find(cache, key, words);
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
    p = plan_cache_place(&c->in->ctx, cache);
    p->compute = compute;
    p->dtype = dt;
    p->rank = s.rank;
    memcpy(p->shape, shape, sizeof shape);
    ContractPlan *plan = einsum_plan(&s, compute, asks ? &options : NULL, explain_on(c->in));
    plan_cache_keep(p, plan, key, words);
    tell_plan(c, p);
    return run_plan(c, p, tensors, s.operands);
}
