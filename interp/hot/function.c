/* Calls of functions as part of the loop that they stand in: arguments become variables of the
 * code, the body is walked like any other, what it ends with is the value of the call. */
#include "interp/hot/emit.h"

#include "interp/eval/eval_flow.h"
#include "interp/eval/eval_make.h"
#include "interp/lower/lower.h"

#include <string.h>

enum { RESULT = 1 << 30 };                   /* the slot of a function's value */

static uint32_t result_of(Emit *e, uint32_t k) { return variable_of(e, NULL, RESULT + k); }

/* Of the same call in the same place, however often it is walked over. 0: there are too many, or it
 * calls itself, but for the one function that is compiled by itself. */
static uint32_t frame_of(Emit *e, const Exec *site, const Function *fn)
{
    uint32_t i = 1, levels = fn->code->node->depth;
    for (uint32_t up = e->frame; up; up = e->frames[up].up) {
        if (e->frames[up].fn->code == fn->code && fn != e->self.fn)
            return 0;
        levels += e->frames[up].fn->code->node->depth;
    }
    if (levels > e->levels)
        return 0;
    while (i <= e->frame_count && (e->frames[i].site != site || e->frames[i].up != e->frame ||
                                   e->frames[i].fn != fn))
        i++;
    if (i == FRAMES_MOST)
        return 0;
    if (i > e->frame_count) {
        e->frames[i] = (Frame){ .site = site, .up = e->frame, .fn = fn };
        e->frame_count = i;
    }
    return i;
}

/* ---- the value at the end ---- */
static void value_emit(Emit *, const Exec *);

static void block_value(Emit *e, const Exec *x)
{
    for (uint32_t i = 0; i + 1 < x->count && e->state.reached; i++)
        statement(e, x->list[i]);
    if (e->state.reached)
        value_emit(e, x->list[x->count - 1]);
}

void fields_emit(Emit *e, const Exec *x, const Name *const *names, uint32_t count, Val *v)
{
    bool constant = exec_is_const(x) && x->k.tag == V_TUPLE && !names;
    const Name *const *own = x->eval == eval_tuple ? x->data : NULL;
    if (constant ? x->k.tuple->count != count
                 : x->eval != eval_tuple || x->count != count || !own != !names ||
                   (names && memcmp(own, names, count * sizeof *names) != 0))
        unknown(e);
    for (uint32_t k = 0; k < count && !e->failed; k++)
        v[k] = constant ? constant_emit(e, x->k.tuple->items[k]) : expression(e, x->list[k]);
}

static void expression_value(Emit *e, const Exec *x)
{
    const Frame *f = &e->frames[e->frame];
    const uint32_t fields = f->fields;
    Val v[HOT_FIELDS];
    if (fields)
        fields_emit(e, x, f->names, fields, v);
    else
        v[0] = expression(e, x);
    for (uint32_t k = 0; k < (fields ? fields : 1) && !e->failed; k++)
        variable_write(e, result_of(e, k), v[k]);
}

/* Of statements: the result variable holds it afterwards, or the code left. */
static void value_emit(Emit *e, const Exec *x)
{
    if (x->node->kind == ND_BLOCK && (x->eval == eval_block || x->eval == eval_block2))
        block_value(e, x);
    else if (x->node->kind == ND_IF && x->c)
        branches_emit(e, x, value_emit);
    else if (x->node->kind == ND_RETURN)
        statement(e, x);
    else if (can(e, expression_value, x))
        expression_value(e, x);
    else
        leave_now(e);
}

void return_emit(Emit *e, const Exec *x)
{
    Frame *f = &e->frames[e->frame];
    expression_value(e, x->a);
    if (e->failed)
        return;
    f->at_end = state_join(&f->at_end, &e->state);
    jump(e, f->end);
    e->state.reached = false;
}

/* ---- the call ---- */
/* Arguments are values, or stand for a tensor or function of the caller's. */
static bool arguments_emit(Emit *e, const Exec *x, Frame *f, Val *values)
{
    for (uint32_t i = 0; i < x->count; i++) {
        uint32_t v;
        bool named = name_variable(e, x->list[i], &v);
        uint8_t kind = named ? variable_kind(e, v) : HK_NOTHING;
        f->same[i].is = kind == HK_TENSOR || kind == HK_FUNCTION || kind == HK_RECORD;
        f->same[i].variable = v;
        if (!f->same[i].is)
            values[i] = expression(e, x->list[i]);
        if (e->failed)
            return false;
    }
    return true;
}

static void frame_begin(Emit *e, uint32_t frame, const Exec *x, const Val *values)
{
    const Frame *f = &e->frames[frame];
    e->frame = frame;
    for (uint32_t i = 0; i < e->count; i++)
        if (e->variables[i].frame == frame) {
            e->state.kind[i] = HK_NOTHING;
            store(e, word(e, V_UNDEF), e->slots[i].tag);
        }
    for (uint32_t i = 0; i < x->count; i++)
        if (!f->same[i].is)
            variable_write(e, variable_of(e, NULL, i), values[i]);
}

/* ---- a function that calls itself ---- */
LlType type_of_kind(const Emit *e, uint8_t kind)
{
    return kind == HK_FLOAT ? e->real : kind == HK_BOOL ? e->flag : e->word;
}

static Val call_self(Emit *e, const Exec *x)
{
    LlValue args[HOT_PARAMETERS + 2] = { e->record };
    for (uint32_t i = 0; i < x->count; i++) {
        Val v = expression(e, x->list[i]);
        if (e->failed || v.kind != e->self.kinds[i])
            return unknown(e);
        args[i + 2] = v.v;
    }
    if (e->self.result == HK_NOTHING)            /* not known yet */
        return unknown(e);
    if (e->dry)
        return (Val){ (HotKind)e->self.result };
    const Llvm *ll = e->d.ll;
    args[1] = op2(e, LL_SUB, e->self.depth, word(e, e->frame > 1 ? 2 : 1));
    LlValue both = ll->BuildCall2(e->d.builder, e->self.type, e->self.function, args, x->count + 2,
                                  "");
    LlValue done = ll->BuildExtractValue(e->d.builder, both, 1, "");
    guard(e, op2(e, LL_XOR, done, ll->ConstInt(e->flag, 1, false)));
    return (Val){ (HotKind)e->self.result, ll->BuildExtractValue(e->d.builder, both, 0, "") };
}

static uint32_t nodes_of(const Node *n, uint32_t most)
{
    uint32_t count = 1;
    for (int k = 0; k < 3 && count < most; k++) {
        const Node *part = k == 0 ? n->a : k == 1 ? n->b : n->c;
        count += part ? nodes_of(part, most - count) : 0;
    }
    for (uint32_t i = 0; i < n->count && count < most; i++)
        count += n->list[i] ? nodes_of(n->list[i], most - count) : 0;
    return count;
}

/* Its calls of itself become part of it, once: half of them are left, or fewer. Of small functions
 * that have few of them, when it is known what they give. */
static bool part_of_itself(Emit *e, const Exec *x)
{
    enum { SLOTS_MOST = 8, NODES_MOST = 80 };
    const FnCode *code = e->self.fn->code;
    uint32_t k = 0;
    if (e->frame != 1 || e->around || code->slots > SLOTS_MOST ||
        nodes_of(code->node, NODES_MOST + 1) > NODES_MOST)
        return false;
    while (k < e->self.call_count && e->self.calls[k] != x)
        k++;
    if (k == e->self.call_count && k <= SELF_CALLS) {
        e->self.calls[e->self.call_count++] = x;
        e->grew = true;
    }
    return e->self.call_count <= SELF_CALLS && e->self.result != HK_NOTHING;
}

static bool as_itself(const Emit *e, const Exec *x, const Frame *f, const Val *values)
{
    bool same = true;
    for (uint32_t i = 0; i < x->count; i++)
        same &= !f->same[i].is && values[i].kind == e->self.kinds[i];
    return same;
}

void function_emit(Emit *e)
{
    Frame *f = &e->frames[1];
    *f = (Frame){ .fn = e->self.fn, .end = block_new(e, "returned") };
    if (e->frame_count < 1)
        e->frame_count = 1;
    e->frame = 1;
    for (uint32_t i = 0; i < e->self.fn->code->params; i++)
        variable_write(e, variable_of(e, NULL, i),
                       (Val){ (HotKind)e->self.kinds[i],
                              e->dry ? NULL : e->d.ll->GetParam(e->self.function, i + 2) });
    value_emit(e, e->self.fn->code->body);
    if (e->state.reached)
        jump(e, f->end);
    e->state = state_join(&e->state, &f->at_end);
    block_enter(e, f->end);
    e->result = result_of(e, 0);
    uint8_t kind = e->state.reached ? variable_kind(e, e->result) : HK_NOTHING;
    if (kind != e->self.result && e->self.result == HK_NOTHING && e->dry) {
        e->self.result = kind;
        e->grew = true;
    }
    e->hopeless |= kind != e->self.result ||
                   (kind != HK_INT && kind != HK_FLOAT && kind != HK_BOOL);
}

/* ---- the call ---- */
/* What is asked of a call: a tuple of so many fields, with names or without; none: one value. */
typedef struct Shape {
    const Name *const *names;
    uint32_t fields;
} Shape;

/* What the body gives; false: machine code cannot, or it always leaves. */
static bool body_of_call(Emit *e, const Exec *body, uint32_t frame, const Shape *s, Val *out)
{
    Frame *f = &e->frames[frame];
    f->end = block_new(e, "returned");
    f->at_end = (State){ .reached = false };
    f->fields = s->fields;
    f->names = s->names;
    value_emit(e, body);
    if (e->state.reached)
        jump(e, f->end);
    e->state = state_join(&e->state, &f->at_end);
    block_enter(e, f->end);
    if (!e->state.reached) {
        if (!e->dry)
            e->d.ll->BuildUnreachable(e->d.builder);
        e->state.reached = true;
        return false;
    }
    for (uint32_t k = 0; k < (s->fields ? s->fields : 1); k++)
        out[k] = variable_read(e, result_of(e, k));
    return true;
}

static bool called(Emit *e, const Exec *x, const Function *fn, const Shape *s, Val *out)
{
    const FnCode *code = e->scoped ? fn->code->scoped : fn->code;
    Val values[HOT_PARAMETERS];
    uint32_t frame, caller = e->frame;
    bool itself = fn == e->self.fn;
    if (!code || x->count != code->exact || x->count > HOT_PARAMETERS ||
        code->node->kind == ND_TEST || code->body->eval == eval_catch_flow || (itself && s->fields))
        return false;
    if (itself && !part_of_itself(e, x)) {
        *out = call_self(e, x);
        return true;
    }
    if (!(frame = frame_of(e, x, fn)))
        return false;
    Frame *f = &e->frames[frame];
    if (!arguments_emit(e, x, f, values) || (itself && !as_itself(e, x, f, values)))
        return false;
    frame_begin(e, frame, x, values);
    bool given = body_of_call(e, code->body, frame, s, out);
    e->frame = caller;
    return given && !(itself && !e->failed && out->kind != e->self.result);
}

Val call_function(Emit *e, const Exec *x, const Function *fn)
{
    Val v;
    return called(e, x, fn, &(Shape){ .fields = 0 }, &v) && !e->failed ? v : unknown(e);
}

void call_unpacked(Emit *e, const Exec *x, const Name *const *names, uint32_t fields, Val *out)
{
    const Function *fn = function_called(e, x);
    if (!fn || fields > HOT_FIELDS || !called(e, x, fn, &(Shape){ names, fields }, out))
        unknown(e);
}
