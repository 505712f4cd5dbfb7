/* From a loop to its code: dry walks until what is known of variables does not grow, then one that
 * makes instructions. */
#include "interp/hot/emit.h"

#include "core/base/mem.h"
#include "interp/eval/eval_flow.h"
#include "interp/state/scope.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void walk_begin(Emit *e)
{
    state_start(e);
    e->around = NULL;
    e->depth = 0;
    e->frame = 0;
    e->failed = e->loops = false;
    e->out = NULL;
}

/* x NULL: a function by itself. */
static void walk(Emit *e, const Exec *x, bool counts)
{
    walk_begin(e);
    path_push(e, x, HOT_RUN, 0);
    if (!x)
        function_emit(e);
    else if (counts)
        for_emit(e, x, true);
    else
        while_emit(e, x);
}

/* ---- the function around the loop ---- */
static void types_make(Emit *e)
{
    const Llvm *ll = e->d.ll;
    LlContext c = e->d.context;
    e->flag = ll->IntTypeInContext(c, 1);
    e->small = ll->IntTypeInContext(c, 32);
    e->word = ll->IntTypeInContext(c, 64);
    e->real = ll->DoubleTypeInContext(c);
    e->single = ll->FloatTypeInContext(c);
    LlMetadata weights[] = {
        ll->MDStringInContext2(c, "branch_weights", strlen("branch_weights")),
        ll->ValueAsMetadata(ll->ConstInt(e->small, 1, false)),
        ll->ValueAsMetadata(ll->ConstInt(e->small, 4000, false)),
    };
    e->rare = ll->MetadataAsValue(c, ll->MDNodeInContext2(c, weights, 3));
    e->rare_kind = ll->GetMDKindIDInContext(c, "prof", 4);
}

static LlValue room(Emit *e, LlType type) { return e->d.ll->BuildAlloca(e->d.builder, type, ""); }

static uint32_t cell_offset(uint32_t i)
{
    return (uint32_t)(offsetof(HotRecord, cells) + i * sizeof(HotCell));
}

static void variable_enter(Emit *e, uint32_t i)
{
    const HotVariable *v = &e->variables[i];
    Slots *s = &e->slots[i];
    *s = (Slots){ room(e, e->word), room(e, e->real), room(e, e->word),
                  v->has_im ? room(e, e->real) : NULL };
    bool used = e->used >> i & 1, known = used && (v->needed || !v->assigned) && !v->frame;
    HotKind kind = known ? v->kind : HK_NOTHING;
    uint32_t tag = hot_tag(kind);
    uint32_t at = cell_offset(i) + (uint32_t)offsetof(HotCell, i);
    LlValue bits = tag ? load(e, e->word, word_at(e, at, e->word)) : word(e, 0);
    store(e, word(e, tag), s->tag);
    store(e, bits, s->bits);
    store(e, tag == V_INT ? cast(e, LL_SI_TO_FP, bits, e->real)
           : tag == V_FLOAT || tag == V_TENSOR || tag == HOT_COMPLEX
                 ? load(e, e->real, word_at(e, at, e->real)) : real(e, 0), s->real);
    if (v->has_im) {
        uint32_t im = cell_offset(i) + (uint32_t)offsetof(HotCell, im);
        LlValue part = tag == HOT_COMPLEX ? load(e, e->real, word_at(e, im, e->real)) : real(e, 0);
        store(e, part, s->im);
    }
    if (kind != HK_TENSOR)
        return;
    at = (uint32_t)(offsetof(HotRecord, tensors) + i * sizeof(HotTensor));
    LlType pointer = e->d.ll->PointerType(element_type(e, v->dtype), 0);
    e->tensors[i].data = load(e, pointer, word_at(e, at, pointer));
    for (uint32_t k = 0; k < v->rank; k++) {
        uint32_t dim = at + (uint32_t)offsetof(HotTensor, dims) + 8 * k;
        uint32_t stride = at + (uint32_t)offsetof(HotTensor, strides) + 8 * k;
        e->tensors[i].dims[k] = load(e, e->word, word_at(e, dim, e->word));
        e->tensors[i].strides[k] = load(e, e->word, word_at(e, stride, e->word));
    }
}

/* What is not one of two is left as it was: its tag says so. */
static void variables_leave(Emit *e)
{
    block_enter(e, e->leave);
    for (uint32_t i = 0; i < e->count; i++) {
        if (!e->variables[i].assigned || e->variables[i].frame)
            continue;
        LlValue tag = load(e, e->word, e->slots[i].tag);
        LlValue real_bits = cast(e, LL_BITCAST, load(e, e->real, e->slots[i].real), e->word);
        LlValue is_real = op2(e, LL_OR, compare_ints(e, LL_EQ, tag, word(e, V_FLOAT)),
                              compare_ints(e, LL_EQ, tag, word(e, V_TENSOR)));
        if (e->variables[i].has_im) {
            uint32_t im = cell_offset(i) + (uint32_t)offsetof(HotCell, im);
            is_real = op2(e, LL_OR, is_real, compare_ints(e, LL_EQ, tag, word(e, HOT_COMPLEX)));
            store(e, load(e, e->real, e->slots[i].im), word_at(e, im, e->real));
        }
        LlValue bits = choose(e, is_real, real_bits, load(e, e->word, e->slots[i].bits));
        store(e, tag, word_at(e, cell_offset(i), e->word));
        store(e, bits, word_at(e, cell_offset(i) + (uint32_t)offsetof(HotCell, i), e->word));
    }
    if (e->scoped)
        store(e, load(e, e->word, e->counted),
              word_at(e, offsetof(HotRecord, inexact), e->word));
    e->d.ll->BuildRet(e->d.builder, load(e, e->word, e->exit_id));
}

static void rooms_make(Emit *e)
{
    block_enter(e, block_new(e, "entry"));
    e->leave = block_new(e, "leave");
    e->exit_id = room(e, e->word);
    e->counted = room(e, e->word);
    e->mark = room(e, e->word);
    store(e, word(e, 0), e->counted);
    store(e, word(e, 0), e->mark);
    for (int i = 0; i < HOT_DEPTH; i++) {
        e->at[i] = room(e, e->word);
        e->left[i] = room(e, e->word);
    }
    LlType pointer = e->d.ll->PointerType(e->small, 0);
    e->interrupt = load(e, pointer, word_at(e, offsetof(HotRecord, interrupt), pointer));
    LlType word_pointer = e->d.ll->PointerType(e->word, 0);
    e->drawn_mark = room(e, e->word);
    if (e->draws)
        e->drawn = load(e, word_pointer, word_at(e, offsetof(HotRecord, drawn), word_pointer));
    e->nudge = load(e, pointer, word_at(e, offsetof(HotRecord, nudge), pointer));
    for (uint32_t i = 0; i < e->count; i++)
        variable_enter(e, i);
}

/* false: given up. */
static bool make(Emit *e, const Exec *x, bool counts)
{
    if (!machine_begin(&e->d, e->kind))
        return false;
    const Llvm *ll = e->d.ll;
    types_make(e);
    LlType record = ll->PointerType(e->word, 0);
    e->function = machine_function(&e->d, "loop", ll->FunctionType(e->word, &record, 1, false),
                                   false);
    e->record = ll->GetParam(e->function, 0);
    e->dry = false;
    rooms_make(e);
    walk(e, x, counts);
    store(e, word(e, 0), e->exit_id);
    jump(e, e->leave);
    variables_leave(e);
    if (e->work <= WORK_MOST && !e->grew)
        return true;
    machine_drop(&e->d);
    return false;
}

/* ---- a function by itself ---- */
/* value and true, or any value and false */
static void return_pair(Emit *e, LlValue value, bool done)
{
    const Llvm *ll = e->d.ll;
    LlValue both = ll->BuildInsertValue(e->d.builder, ll->GetUndef(e->self.pair), value, 0, "");
    both = ll->BuildInsertValue(e->d.builder, both, ll->ConstInt(e->flag, done, false), 1, "");
    ll->BuildRet(e->d.builder, both);
}

/* Ctrl-C, and calls that are as deep in each other as the evaluator's may become. */
static void function_enters(Emit *e)
{
    const Llvm *ll = e->d.ll;
    LlType small = ll->PointerType(e->small, 0);
    e->self.depth = ll->GetParam(e->self.function, 1);
    guard(e, compare_ints(e, LL_SLE, e->self.depth, word(e, 0)));
    LlValue flag = load(e, e->small,
                        load(e, small, word_at(e, offsetof(HotRecord, interrupt), small)));
    ll->SetVolatile(flag, true);
    guard(e, compare_ints(e, LL_NE, flag, ll->ConstInt(e->small, 0, false)));
}

static LlValue cell(Emit *e, uint32_t i)
{
    return word_at(e, cell_offset(i) + (uint32_t)offsetof(HotCell, i), e->word);
}

/* Arguments and value go through cells, as words. */
static void make_outside(Emit *e, LlType record)
{
    const Llvm *ll = e->d.ll;
    LlValue args[HOT_PARAMETERS + 2];
    uint32_t params = e->self.fn->code->params;
    e->function = machine_function(&e->d, "loop", ll->FunctionType(e->word, &record, 1, false),
                                   false);
    e->record = args[0] = ll->GetParam(e->function, 0);
    block_enter(e, block_new(e, "entry"));
    args[1] = load(e, e->word, word_at(e, offsetof(HotRecord, depth), e->word));
    for (uint32_t i = 0; i < params; i++) {
        LlValue bits = load(e, e->word, cell(e, i));
        args[i + 2] = e->self.kinds[i] == HK_FLOAT ? cast(e, LL_BITCAST, bits, e->real)
                    : e->self.kinds[i] == HK_BOOL ? compare_ints(e, LL_NE, bits, word(e, 0)) : bits;
    }
    LlValue both = ll->BuildCall2(e->d.builder, e->self.type, e->self.function, args, params + 2,
                                  "");
    LlValue value = ll->BuildExtractValue(e->d.builder, both, 0, "");
    LlValue done = ll->BuildExtractValue(e->d.builder, both, 1, "");
    store(e, e->self.result == HK_FLOAT ? cast(e, LL_BITCAST, value, e->word)
           : e->self.result == HK_BOOL ? cast(e, LL_ZEXT, value, e->word) : value,
          cell(e, HOT_RESULT));
    ll->BuildRet(e->d.builder, choose(e, done, word(e, 0), word(e, 1)));
}

static bool make_function(Emit *e)
{
    LlType types[HOT_PARAMETERS + 2];
    uint32_t params = e->self.fn->code->params;
    if (!machine_begin(&e->d, e->kind))
        return false;
    const Llvm *ll = e->d.ll;
    types_make(e);
    types[0] = ll->PointerType(e->word, 0);
    types[1] = e->word;
    for (uint32_t i = 0; i < params; i++)
        types[i + 2] = type_of_kind(e, e->self.kinds[i]);
    e->self.pair = ll->StructTypeInContext(
        e->d.context, (LlType[]){ type_of_kind(e, e->self.result), e->flag }, 2, false);
    e->self.type = ll->FunctionType(e->self.pair, types, params + 2, false);
    e->function = e->self.function = machine_function(&e->d, "function", e->self.type, true);
    e->record = ll->GetParam(e->function, 0);
    e->dry = false;
    rooms_make(e);
    function_enters(e);
    walk(e, NULL, false);
    LlValue bits = load(e, e->self.result == HK_FLOAT ? e->real : e->word,
                        e->self.result == HK_FLOAT ? e->slots[e->result].real
                                                   : e->slots[e->result].bits);
    if (e->self.result == HK_BOOL)
        bits = compare_ints(e, LL_NE, bits, word(e, 0));
    return_pair(e, bits, true);
    block_enter(e, e->leave);
    return_pair(e, e->self.result == HK_FLOAT ? real(e, 0) : e->self.result == HK_INT ? word(e, 0)
                   : ll->ConstInt(e->flag, 0, false), false);
    make_outside(e, types[0]);
    if (e->work <= WORK_MOST && !e->grew && !e->hopeless)
        return true;
    machine_drop(&e->d);
    return false;
}

/* ---- the whole ---- */
static bool learn(Emit *e, const Exec *x, bool counts)
{
    enum { PASSES = 2 * HOT_VARIABLES, ALL_WORK_MOST = 5 * WORK_MOST };
    uint64_t all = 0;
    e->dry = true;
    for (int pass = 0; pass < PASSES; pass++) {
        e->grew = e->hopeless = false;
        e->work = 0;
        walk(e, x, counts);
        all += e->work;
        if (e->work > WORK_MOST || all > ALL_WORK_MOST || (e->hopeless && !e->grew))
            return false;
        if (!e->grew)
            return true;
    }
    return false;
}

static void exits_free(Ctx *c, HotPath *exits, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        mem_free(c, (void *)exits[i].places, exits[i].count * sizeof *exits[i].places);
}

/* NULL: there is no memory. */
static HotCode *code_keep(Emit *e)
{
    Ctx *c = &e->in->ctx;
    size_t variables = (e->count + 1) * sizeof *e->variables;
    size_t exits = (e->exit_count + 1) * sizeof *e->exits;
    HotCode *code = mem_try_alloc(c, sizeof *code);
    if (!code)
        return NULL;
    *code = (HotCode){ .draft = e->d, .vectors = e->vectors, .variable_count = e->count,
                       .exit_count = e->exit_count, .used_count = e->used_count,
                       .result = e->self.result, .fn = e->self.fn,
                       .format = e->format,
                       .variables = mem_try_alloc(c, variables),
                       .exits = mem_try_alloc(c, exits) };
    if (code->variables && code->exits) {
        memcpy(code->kinds, e->self.kinds, sizeof code->kinds);
        memcpy(code->order, e->order, sizeof code->order);
        memcpy(code->variables, e->variables, e->count * sizeof *e->variables);
        memcpy(code->exits, e->exits, e->exit_count * sizeof *e->exits);
        return code;
    }
    if (code->variables)
        mem_free(c, code->variables, variables);
    if (code->exits)
        mem_free(c, code->exits, exits);
    mem_free(c, code, sizeof *code);
    return NULL;
}

/* A loop, inside a scope or not, or a function called with arguments of these kinds. */
typedef struct Subject {
    const Exec *x;
    const HotCount *count;   /* NULL: of `while` */
    bool scoped;
    const Function *fn;
    const uint8_t *kinds;
} Subject;

uint32_t hot_levels(const Interp *in)
{
    enum { LEVEL_STACK = 2048 };             /* bytes of the C stack, at most, for one */
    ptrdiff_t bytes = (char *)__builtin_frame_address(0) - in->ctx.stack_limit;
    uint32_t room = bytes > 0 ? (uint32_t)(bytes / LEVEL_STACK) : 0;
    return room < HOT_LEVELS ? room : HOT_LEVELS;
}

static HotCode *compile(Interp *in, const Subject *s, MachineKind kind)
{
    Ctx *c = &in->ctx;
    uint32_t levels = hot_levels(in), own = s->fn ? s->fn->code->node->depth : s->x->node->depth;
    Emit *e = levels >= own ? mem_try_alloc(c, sizeof *e) : NULL;
    HotCode *code = NULL;
    if (!e)
        return NULL;
    memset(e, 0, sizeof *e);
    e->in = in;
    e->kind = kind;
    e->levels = levels - own;
    e->scoped = s->scoped;
    e->format = in->scope ? in->scope->format : DT_NONE;
    e->own = s->scoped && e->format != DT_F64 ? HK_SINGLE : HK_FLOAT;
    e->self.fn = s->fn;
    if (s->fn)
        memcpy(e->self.kinds, s->kinds, s->fn->code->params);
    e->vector = s->count ? s->count->over : v_undef();
    if (learn(e, s->x, s->count)) {
        e->grew = false;
        e->work = 0;
        bool made = s->fn ? make_function(e) : make(e, s->x, s->count);
        if (made && !(code = code_keep(e)))
            machine_drop(&e->d);
    }
    if (!code)
        exits_free(c, e->exits, e->exit_count);
    mem_free(c, e, sizeof *e);
    return code;
}

HotCode *hot_compile(Interp *in, const Exec *x, bool scoped, const HotCount *count,
                     MachineKind kind)
{
    return compile(in, &(Subject){ .x = x, .count = count, .scoped = scoped }, kind);
}

HotCode *hot_compile_function(Interp *in, const Function *fn, const uint8_t *kinds,
                              MachineKind kind)
{
    if (fn->code->body->eval == eval_catch_flow || fn->code->node->kind == ND_TEST)
        return NULL;
    return compile(in, &(Subject){ .fn = fn, .kinds = kinds }, kind);
}

void hot_finish(HotCode *code)
{
    code->run = (HotFn)machine_finish(&code->draft, "loop", code->vectors, &code->machine);
    atomic_store_explicit(&code->stage, code->run ? HOT_READY : HOT_FAILED, memory_order_release);
}

void hot_free(Ctx *c, void *place)
{
    HotCode *code = *(HotCode **)place;
    if (!code)
        return;
    if (code->worker && !worker_wait(code->worker, code))
        return;
    machine_free(&code->machine);
    exits_free(c, code->exits, code->exit_count);
    mem_free(c, code->exits, (code->exit_count + 1) * sizeof *code->exits);
    mem_free(c, code->variables, (code->variable_count + 1) * sizeof *code->variables);
    mem_free(c, code, sizeof *code);
}
