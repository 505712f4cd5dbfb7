/* Variables and what they hold, instructions that a dry walk leaves out, and leaving the code. */
#include "interp/hot/emit.h"

#include "core/base/mem.h"
#include "interp/op/scalar.h"

#include <float.h>
#include <stddef.h>
#include <string.h>

/* ---- variables ---- */
static bool item_known(HotKind k) { return k == HK_INT || k == HK_FLOAT || k == HK_BOOL; }

/* What the first item is the others are taken for. */
static void look_at_tuple(HotVariable *v, const Tuple *t, DType single)
{
    const Tuple *first = t->count && t->items[0].tag == V_TUPLE ? t->items[0].tuple : NULL;
    bool known = t->count && (!first || (first->count && first->count <= HOT_FIELDS));
    uint32_t count = first ? first->count : 1;
    for (uint32_t i = 0; i < count && known; i++) {
        v->item[i] = (uint8_t)hot_kind(first ? first->items[i] : t->items[0], single);
        known = item_known((HotKind)v->item[i]);
    }
    if (!known)
        return;
    v->kind = HK_TENSOR;
    v->tuple = true;
    v->fields = first ? (uint8_t)count : 0;
    v->dtype = !first && v->item[0] == HK_FLOAT ? DT_F64 : DT_I64;
    v->rank = 1;
}

static void look_at_value(HotVariable *v, Value now, DType single)
{
    v->kind = hot_kind(now, single);
    v->has_im = v->kind == HK_COMPLEX;
    if (now.tag == V_FUNCTION) {
        v->kind = HK_FUNCTION;
        v->fn = now.fn;
        v->serial = now.fn->serial;
    }
    if (now.tag == V_TUPLE && now.tuple->named)
        v->kind = HK_RECORD;
    else if (now.tag == V_TUPLE)
        look_at_tuple(v, now.tuple, single);
    const Tensor *t = now.tag == V_TENSOR ? now.tensor : NULL;
    if (t && t->rank >= 1 && t->rank <= HOT_RANK &&
        (t->dtype == DT_F64 || t->dtype == DT_I64 || t->dtype == DT_BOOL || t->dtype == DT_C128 ||
         (t->dtype == DT_F32 && single == DT_F32) ||
         hot_narrow_kind((DType)t->dtype) != HK_NOTHING)) {
        v->kind = HK_TENSOR;
        v->dtype = (DType)t->dtype;
        v->rank = t->rank;
        v->unit = t->dims[2 * t->rank - 1] == 1;
    }
}

static uint32_t variable_new(Emit *e, const HotVariable *like)
{
    uint32_t i = e->count;
    if (i == HOT_VARIABLES) {
        e->work = WORK_MOST + 1;             /* too many: given up */
        return 0;
    }
    HotVariable *v = &e->variables[e->count++];
    *v = *like;
    if (v->frame)
        v->assigned = true;
    else if (v->over || hot_place(e->in, v))
        look_at_value(v, v->over ? e->vector : *hot_place(e->in, v), hot_single(e->format));
    e->state.kind[i] = v->frame ? HK_NOTHING : (uint8_t)v->kind | KIND_BEFORE;
    e->grew = true;
    return i;
}

/* What a function captured is asked for behind the variable that holds the function. */
static uint32_t asked_for(Emit *e, uint32_t i)
{
    if (!(e->used >> i & 1))
        e->order[e->used_count++] = (uint8_t)i;
    e->used |= (uint64_t)1 << i;
    return i;
}

uint32_t variable_over(Emit *e)
{
    for (uint32_t i = 0; i < e->count; i++)
        if (e->variables[i].over)
            return asked_for(e, i);
    HotVariable like = { .slot = UINT32_MAX, .over = true };
    return asked_for(e, variable_new(e, &like));
}

static uint32_t variable_like(Emit *e, const HotVariable *like)
{
    for (uint32_t i = 0; i < e->count; i++) {
        const HotVariable *v = &e->variables[i];
        if (v->at == like->at && v->slot == like->slot && v->frame == like->frame &&
            v->field == like->field)
            return asked_for(e, i);
    }
    return asked_for(e, variable_new(e, like));
}

uint32_t variable_in(Emit *e, uint32_t frame, const Value *at, uint32_t slot)
{
    HotVariable like = { .at = at, .slot = at ? 0 : slot, .frame = (uint8_t)(at ? 0 : frame) };
    return variable_like(e, &like);
}

bool variable_field(Emit *e, uint32_t base, const Name *field, uint32_t *variable)
{
    const HotVariable *b = &e->variables[base];
    HotVariable like = { .at = b->at, .slot = b->slot, .field = field };
    if (b->assigned || b->frame || b->over || b->field)
        return false;
    *variable = variable_like(e, &like);
    return true;
}

uint32_t variable_of(Emit *e, const Value *at, uint32_t slot)
{
    return variable_in(e, e->frame, at, slot);
}

/* A variable that holds a tensor or a function and is assigned holds nothing known; nor does one
 * whose value nobody wants before it is assigned. */
void state_start(Emit *e)
{
    e->state = (State){ .reached = true };
    e->used = 0;
    e->used_count = 0;
    for (uint32_t i = 0; i < e->count; i++) {
        HotVariable *v = &e->variables[i];
        if (v->assigned &&
            (v->kind == HK_TENSOR || v->kind == HK_FUNCTION || v->kind == HK_RECORD))
            v->kind = HK_NOTHING;
        bool known = v->needed || !v->assigned;
        e->state.kind[i] = v->frame ? HK_NOTHING
                                    : (known ? (uint8_t)v->kind : HK_NOTHING) | KIND_BEFORE;
    }
}

/* What an int is with another kind of number. */
static bool of_ints_and(uint8_t a, HotKind kind, HotKind both)
{
    return a == HK_INT || a == kind || a == both;
}

static uint8_t kind_join(uint8_t a, uint8_t b)
{
    uint8_t maybe = (a | b) & KIND_BITS, before = (a | b) & KIND_BEFORE;
    a &= (uint8_t)~KIND_BITS;
    b &= (uint8_t)~KIND_BITS;
    bool numbers = of_ints_and(a, HK_FLOAT, HK_NUMBER) && of_ints_and(b, HK_FLOAT, HK_NUMBER);
    bool either = of_ints_and(a, HK_SINGLE, HK_EITHER) && of_ints_and(b, HK_SINGLE, HK_EITHER);
    if (a == b)
        return a | maybe;
    if (a == HK_NOTHING || b == HK_NOTHING)
        return (a | b) | KIND_MAYBE | before;
    return numbers ? HK_NUMBER | maybe : either ? HK_EITHER | maybe : KIND_MIXED | before;
}

State state_join(const State *a, const State *b)
{
    if (!a->reached || !b->reached)
        return a->reached ? *a : *b;
    State s = { .reached = true };
    for (int i = 0; i < HOT_VARIABLES; i++)
        s.kind[i] = kind_join(a->kind[i], b->kind[i]);
    return s;
}

Val unknown(Emit *e)
{
    e->failed = true;
    return (Val){ HK_NOTHING };
}

/* Somebody wants to know; a kind of HotKind, MAYBE with it or not, or MIXED. */
uint8_t variable_kind(Emit *e, uint32_t i)
{
    HotVariable *v = &e->variables[i];
    uint8_t kind = e->state.kind[i];
    if ((kind & KIND_BEFORE) && !v->needed) {
        v->needed = true;
        e->grew = true;
    }
    return kind & (uint8_t)~KIND_BEFORE;
}

Val variable_read(Emit *e, uint32_t i)
{
    uint8_t kind = variable_kind(e, i);
    const Slots *s = &e->slots[i];
    if (kind & KIND_MAYBE)
        guard(e, compare_ints(e, LL_EQ, load(e, e->word, s->tag), word(e, V_UNDEF)));
    switch (kind & ~KIND_MAYBE) {
    case HK_INT: case HK_I8: case HK_U8: case HK_I32:
        return (Val){ (HotKind)(kind & ~KIND_MAYBE), load(e, e->word, s->bits) };
    case HK_FLOAT: case HK_SINGLE:
        return (Val){ (HotKind)(kind & ~KIND_MAYBE), load(e, e->real, s->real) };
    case HK_COMPLEX:
        return (Val){ HK_COMPLEX, load(e, e->real, s->real), .im = load(e, e->real, s->im) };
    case HK_BOOL:
        return (Val){ HK_BOOL, compare_ints(e, LL_NE, load(e, e->word, s->bits), word(e, 0)) };
    case HK_NUMBER: case HK_EITHER:
        return (Val){ (HotKind)(kind & ~KIND_MAYBE), load(e, e->real, s->real),
                      load(e, e->word, s->bits), load(e, e->word, s->tag) };
    default: return unknown(e);
    }
}

/* All that somebody may ask for later is stored; LLVM takes away what nobody does. */
void variable_write(Emit *e, uint32_t i, Val v)
{
    const Slots *s = &e->slots[i];
    if (!e->variables[i].assigned) {
        e->variables[i].assigned = true;
        e->grew = true;
    }
    if (v.kind == HK_COMPLEX && !e->variables[i].has_im) {
        e->variables[i].has_im = true;
        e->grew = true;
    }
    e->state.kind[i] = (uint8_t)v.kind;
    e->written |= (uint64_t)1 << i;
    if (e->dry)
        return;
    switch (v.kind) {
    case HK_INT:
        store(e, v.v, s->bits);
        store(e, cast(e, LL_SI_TO_FP, v.v, e->real), s->real);
        store(e, word(e, V_INT), s->tag);
        return;
    case HK_FLOAT: case HK_SINGLE:
        store(e, v.v, s->real);
        store(e, word(e, hot_tag(v.kind)), s->tag);
        return;
    case HK_COMPLEX:
        store(e, v.v, s->real);
        store(e, v.im, s->im);
        store(e, word(e, HOT_COMPLEX), s->tag);
        return;
    case HK_I8: case HK_U8: case HK_I32:
        store(e, v.v, s->bits);
        store(e, word(e, hot_tag(v.kind)), s->tag);
        return;
    case HK_BOOL:
        store(e, cast(e, LL_ZEXT, v.v, e->word), s->bits);
        store(e, word(e, V_BOOL), s->tag);
        return;
    default:
        store(e, v.v, s->real);
        store(e, v.bits, s->bits);
        store(e, v.tag, s->tag);
    }
}

void ints_exact(Emit *e, Val v)
{
    LlValue limit = word(e, SCALAR_EXACT), far = NULL;
    LlValue bits = v.kind == HK_INT ? v.v : v.bits;
    if (v.kind != HK_INT && v.kind != HK_NUMBER && v.kind != HK_EITHER)
        return;
    if (!e->dry)
        far = compare_ints(e, LL_UGT, op2(e, LL_ADD, bits, limit), word(e, 2 * SCALAR_EXACT));
    if (v.kind != HK_INT)
        far = op2(e, LL_AND, far, compare_ints(e, LL_EQ, v.tag, word(e, V_INT)));
    guard(e, far);
}

LlValue as_float(Emit *e, Val v)
{
    return v.kind == HK_INT ? cast(e, LL_SI_TO_FP, v.v, e->real) : v.v;
}

/* To fewer bits: to the nearest that ends in zeros, the even one of two. */
static LlValue rounded_to(Emit *e, int significand, LlValue v)
{
    const int drop = DBL_MANT_DIG - significand;
    LlValue bits = cast(e, LL_BITCAST, v, e->word);
    LlValue odd = op2(e, LL_AND, op2(e, LL_ASHR, bits, word(e, drop)), word(e, 1));
    LlValue half = op2(e, LL_ADD, odd, word(e, ((int64_t)1 << (drop - 1)) - 1));
    bits = op2(e, LL_AND, op2(e, LL_ADD, bits, half), word(e, -((int64_t)1 << drop)));
    return cast(e, LL_BITCAST, bits, e->real);
}

LlValue rounded(Emit *e, LlValue v)
{
    if (e->dry)
        return NULL;
    if (dtype_half(e->format))
        return rounded_to(e, significand_of(e->format), v);
    return cast(e, LL_FP_EXT, cast(e, LL_FP_TRUNC, v, e->single), e->real);
}

/* An int that is no double exactly would be rounded twice. */
LlValue as_single(Emit *e, Val v)
{
    if (v.kind == HK_SINGLE)
        return v.v;
    if (v.weak)
        return real(e, v.single);
    ints_exact(e, v);
    return rounded(e, as_float(e, v));
}

/* ---- instructions ---- */
LlValue op2(Emit *e, int opcode, LlValue a, LlValue b)
{
    return e->dry ? NULL : e->d.ll->BuildBinOp(e->d.builder, opcode, a, b, "");
}

LlValue compare_ints(Emit *e, int predicate, LlValue a, LlValue b)
{
    return e->dry ? NULL : e->d.ll->BuildICmp(e->d.builder, predicate, a, b, "");
}

LlValue compare_floats(Emit *e, int predicate, LlValue a, LlValue b)
{
    return e->dry ? NULL : e->d.ll->BuildFCmp(e->d.builder, predicate, a, b, "");
}

LlValue choose(Emit *e, LlValue c, LlValue a, LlValue b)
{
    return e->dry ? NULL : e->d.ll->BuildSelect(e->d.builder, c, a, b, "");
}

LlValue negated(Emit *e, LlValue flag)
{
    return e->dry ? NULL : op2(e, LL_XOR, flag, e->d.ll->ConstInt(e->flag, 1, false));
}

LlValue minus(Emit *e, LlValue f)
{
    return e->dry ? NULL : e->d.ll->BuildFNeg(e->d.builder, f, "");
}

LlValue cast(Emit *e, int opcode, LlValue v, LlType type)
{
    return e->dry ? NULL : e->d.ll->BuildCast(e->d.builder, opcode, v, type, "");
}

LlValue word(Emit *e, int64_t i)
{
    return e->dry ? NULL : e->d.ll->ConstInt(e->word, (unsigned long long)i, true);
}

LlValue real(Emit *e, double f)
{
    return e->dry ? NULL : e->d.ll->ConstReal(e->real, f);
}

LlValue load(Emit *e, LlType type, LlValue from)
{
    return e->dry ? NULL : e->d.ll->BuildLoad2(e->d.builder, type, from, "");
}

void store(Emit *e, LlValue v, LlValue to)
{
    if (!e->dry)
        e->d.ll->BuildStore(e->d.builder, v, to);
}

LlValue word_at(Emit *e, uint32_t offset, LlType of)
{
    if (e->dry)
        return NULL;
    LlValue index = word(e, offset / 8);
    LlValue p = e->d.ll->BuildGEP2(e->d.builder, e->word, e->record, &index, 1, "");
    return cast(e, LL_BITCAST, p, e->d.ll->PointerType(of, 0));
}

LlBlock block_new(Emit *e, const char *name)
{
    return e->dry ? NULL : e->d.ll->AppendBasicBlockInContext(e->d.context, e->function, name);
}

void block_enter(Emit *e, LlBlock b)
{
    if (!e->dry)
        e->d.ll->PositionBuilderAtEnd(e->d.builder, b);
}

void jump(Emit *e, LlBlock to)
{
    if (!e->dry)
        e->d.ll->BuildBr(e->d.builder, to);
}

void branch(Emit *e, LlValue c, LlBlock yes, LlBlock no)
{
    if (!e->dry)
        e->d.ll->BuildCondBr(e->d.builder, c, yes, no);
}

LlValue with_overflow(Emit *e, const char *name, LlValue a, LlValue b, LlValue *over)
{
    *over = NULL;
    if (e->dry)
        return NULL;
    const Llvm *ll = e->d.ll;
    unsigned id = ll->LookupIntrinsicID(name, strlen(name));
    LlValue f = ll->GetIntrinsicDeclaration(e->d.module, id, &e->word, 1);
    LlType type = ll->IntrinsicGetType(e->d.context, id, &e->word, 1);
    LlValue both = ll->BuildCall2(e->d.builder, type, f, (LlValue[]){ a, b }, 2, "");
    *over = ll->BuildExtractValue(e->d.builder, both, 1, "");
    return ll->BuildExtractValue(e->d.builder, both, 0, "");
}

LlValue call_pointer(Emit *e, void *address, LlType result, LlType *types, LlValue *args,
                     unsigned count)
{
    if (e->dry)
        return NULL;
    const Llvm *ll = e->d.ll;
    LlType type = ll->FunctionType(result, types, count, false);
    LlValue f = cast(e, LL_INT_TO_PTR, word(e, (int64_t)(intptr_t)address),
                     ll->PointerType(type, 0));
    return ll->BuildCall2(e->d.builder, type, f, args, count, "");
}

/* ---- leaving ---- */
void path_push(Emit *e, const Exec *x, HotStep step, uint32_t index)
{
    if (e->depth < PATH_MOST)
        e->path[e->depth] = (HotPlace){ x, step, index };
    else
        e->work = WORK_MOST + 1;             /* too deep: given up */
    e->depth++;
}

HotPlace place_set(Emit *e, const HotPlace *p)
{
    HotPlace *top = &e->path[(e->depth < PATH_MOST ? e->depth : PATH_MOST) - 1], before = *top;
    if (!e->frame)
        *top = *p;
    return before;
}

/* Which exit that is; 0: there are too many. */
static uint32_t exit_new(Emit *e, const HotPlace *last)
{
    if (e->exit_count == EXITS_MOST || e->depth > PATH_MOST) {
        e->work = WORK_MOST + 1;
        return 0;
    }
    HotPlace *places = mem_try_alloc(&e->in->ctx, (e->depth + 1) * sizeof *places);
    if (!places) {
        e->work = WORK_MOST + 1;
        return 0;
    }
    memcpy(places, e->path, e->depth * sizeof *places);
    places[e->depth] = *last;
    e->exits[e->exit_count] = (HotPath){ places, e->depth + 1 };
    return ++e->exit_count;
}

static void tell_loop(Emit *e, const Around *a, bool done)
{
    const LlValue one = word(e, 1);
    uint32_t base = (uint32_t)(offsetof(HotRecord, loops) +
                               (size_t)a->level * sizeof(((HotRecord *)0)->loops[0]));
    LlValue at = load(e, e->word, e->at[a->level]);
    if (done)
        at = op2(e, LL_SUB, at, a->step);
    LlValue left = a->stop ? op2(e, LL_SUB, a->stop, at) : load(e, e->word, e->left[a->level]);
    if (done && !a->stop)
        left = op2(e, LL_ADD, left, one);
    store(e, at, word_at(e, base, e->word));
    store(e, left, word_at(e, base + 8, e->word));
    store(e, a->step, word_at(e, base + 16, e->word));
}

/* Where the iteration of the innermost loop is done, its counter is one ahead. */
LlBlock leave_block(Emit *e, const HotPlace *last, bool begun, bool iteration_done)
{
    if (e->dry)
        return NULL;
    const Llvm *ll = e->d.ll;
    LlBlock here = ll->GetInsertBlock(e->d.builder), out = block_new(e, "leave");
    block_enter(e, out);
    for (const Around *a = e->around; a; a = a->up)
        if (a->counts && !a->frame)
            tell_loop(e, a, iteration_done && a == e->around);
    if (begun && e->scoped)
        store(e, load(e, e->word, e->mark), e->counted);
    if (begun)
        stream_undo(e);
    store(e, word(e, exit_new(e, last)), e->exit_id);
    jump(e, e->leave);
    block_enter(e, here);
    return out;
}

LlBlock out_of_statement(Emit *e)
{
    if (e->self.fn)                          /* what it was called in leaves, too */
        return e->leave;
    if (!e->out && !e->dry) {
        HotPlace last = e->path[--e->depth];     /* the statement itself is on top */
        e->out = leave_block(e, &last, true, false);
        e->depth++;
    }
    return e->out;
}

void unless(Emit *e, LlValue bad, LlBlock to)
{
    LlBlock on = block_new(e, "on");
    LlValue br = e->d.ll->BuildCondBr(e->d.builder, bad, to, on);
    e->d.ll->SetMetadata(br, e->rare_kind, e->rare);
    block_enter(e, on);
}

void guard(Emit *e, LlValue bad)
{
    if (!e->dry)
        unless(e, bad, out_of_statement(e));
}

void leave_now(Emit *e)
{
    if (!e->dry)
        jump(e, out_of_statement(e));
    e->state.reached = false;
}
