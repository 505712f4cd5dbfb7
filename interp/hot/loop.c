/* Loops as machine code. What variables hold when an iteration begins is found by dry walks until
 * nothing changes. An innermost `for` over a range is made twice: once for ranges in which all
 * subscripts that go with its variable are known to be in range, without checks, so that LLVM may
 * make vectors of it; once with them. Ctrl-C is looked for after each iteration, in
 * innermost loops after so many. */
#include "interp/hot/emit.h"

#include "interp/eval/eval_assign.h"
#include "interp/eval/eval_flow.h"
#include "interp/lower/lower.h"

#include <stddef.h>
#include <string.h>

enum { STRIP = 1 << 15 };

/* ---- what holds when an iteration begins ---- */
/* The variables of a loop: one, or of `for a, b in` several. */
static uint32_t slots_of(const Exec *x)
{
    return !x->list && x->c->op == TG_TUPLE ? x->c->count : 1;
}

static uint32_t slot_of(const Exec *x, uint32_t k)
{
    return x->list ? x->sa : x->c->op == TG_TUPLE ? x->c->list[k]->sa : x->c->sa;
}

bool loop_target(const Exec *x)
{
    bool slots = x->c->op == TG_SLOT || (x->c->op == TG_TUPLE && x->c->count <= HOT_FIELDS);
    for (uint32_t k = 0; x->c->op == TG_TUPLE && k < x->c->count && slots; k++)
        slots = x->c->list[k]->op == TG_SLOT;
    return slots;
}

/* Where the evaluator does the iteration that is to begin: as behind one that is over. */
static LlBlock before_iteration(Emit *e, const Around *a)
{
    if (e->dry || e->frame)
        return e->dry ? NULL : out_of_statement(e);
    HotPlace before = place_set(e, &(HotPlace){ a->x, HOT_BODY, (uint32_t)a->level });
    LlBlock out = leave_block(e, &(HotPlace){ a->x, HOT_OVER, 0 }, false, true);
    place_set(e, &before);
    return out;
}

/* What an iteration begins with. */
static void variables_of_iteration(Emit *e, const Around *a)
{
    const Exec *x = a->x;
    Val items[HOT_FIELDS];
    LlValue at = load(e, e->word, e->at[a->level]);
    if (!a->over)
        items[0] = (Val){ HK_INT, at };
    else if (e->variables[a->over - 1].tuple)
        items_emit(e, a->over - 1, at, before_iteration(e, a), items);
    else
        items[0] = element_item(e, a->over - 1, at);
    for (uint32_t k = 0; k < slots_of(x); k++)
        variable_write(e, variable_of(e, NULL, slot_of(x, k)), items[k]);
}

static void body_emit(Emit *e, Around *a)
{
    const Exec *x = a->x;
    LlBlock out = e->out;
    uint64_t written = e->written;
    if (a->counts)
        variables_of_iteration(e, a);
    if (!a->over)                            /* an index is known; elements are anything */
        e->written = written;
    HotPlace before = place_set(e, &(HotPlace){ x, HOT_BODY, (uint32_t)a->level });
    statement(e, x->b);
    place_set(e, &before);
    e->out = out;
}

static bool same_state(const State *a, const State *b)
{
    return a->reached == b->reached && memcmp(a->kind, b->kind, sizeof a->kind) == 0;
}

/* The walk is dry: variables at the head of the loop, and whether there is no loop in it. */
static State head_state(Emit *e, Around *a, bool *innermost)
{
    State head = e->state, before = e->state;
    bool dry = e->dry, loops = e->loops;
    e->dry = true;
    for (;;) {
        e->state = head;
        e->loops = false;
        a->at_next = a->at_out = (State){ .reached = false };
        if (!a->counts)
            condition_dry(e, a->x->a);
        e->failed = false;
        body_emit(e, a);
        State back = state_join(&e->state, &a->at_next);
        State joined = state_join(&head, &back);
        if (same_state(&joined, &head) || e->work > WORK_MOST)
            break;
        head = joined;
    }
    *innermost = !e->loops;
    a->goes_on = e->loops || e->state.reached || a->at_next.reached || a->at_out.reached;
    e->loops = loops;
    e->dry = dry;
    e->state = before;
    return head;
}

static void around_enter(Emit *e, Around *a, const Exec *x)
{
    *a = (Around){ .up = e->around, .x = x, .level = e->around ? e->around->level + 1 : 0,
                   .frame = e->frame };
    e->around = a;
}

static void around_leave(Emit *e, Around *a, State *head)
{
    e->around = a->up;
    e->state = state_join(head, &a->at_out);
    e->loops = true;
    block_enter(e, a->out);
}

static bool too_deep(const Emit *e, const Exec *x)
{
    return x->b->eval == eval_catch_flow || (e->around && e->around->level + 1 == HOT_DEPTH);
}

static LlValue flag_load(Emit *e, LlValue known, size_t offset)
{
    LlType pointer = e->d.ll->PointerType(e->small, 0);
    LlValue at = known ? known : load(e, pointer, word_at(e, (uint32_t)offset, pointer));
    LlValue flag = load(e, e->small, at);
    e->d.ll->SetVolatile(flag, true);
    return flag;
}

/* An iteration is over: does anybody want to stop? */
static void poll(Emit *e, Around *a, bool counted)
{
    if (e->dry)
        return;
    const Llvm *ll = e->d.ll;
    HotPlace before = place_set(e, &(HotPlace){ a->x, HOT_BODY, (uint32_t)a->level });
    LlBlock on = block_new(e, "on"), out = e->frame ? out_of_statement(e)
            : leave_block(e, &(HotPlace){ a->x, HOT_OVER, 0 }, false, counted);
    place_set(e, &before);
    LlValue flag = flag_load(e, e->interrupt, offsetof(HotRecord, interrupt));
    if (e->kind == MACHINE_QUICK && !e->frame)
        flag = op2(e, LL_OR, flag, flag_load(e, e->nudge, offsetof(HotRecord, nudge)));
    LlValue set = compare_ints(e, LL_NE, flag, ll->ConstInt(e->small, 0, false));
    LlValue br = ll->BuildCondBr(e->d.builder, set, out, on);
    ll->SetMetadata(br, e->rare_kind, e->rare);
    block_enter(e, on);
}

/* ---- while ---- */
/* Its condition: who leaves there asks again. */
static void ask_emit(Emit *e, Around *a, LlBlock body)
{
    LlBlock out = e->out;
    HotPlace before = place_set(e, &(HotPlace){ a->x, HOT_BODY, (uint32_t)a->level });
    if (!e->frame) {
        path_push(e, a->x, HOT_OVER, 0);
        e->out = NULL;
        count_begin(e);
        stream_begin(e);
    }
    condition_emit(e, a->x->a, body, a->out);
    if (!e->frame)
        e->depth--;
    place_set(e, &before);
    e->out = out;
}

void while_emit(Emit *e, const Exec *x)
{
    Around a;
    bool innermost, outermost = !e->around && !e->frame;
    if (too_deep(e, x)) {
        e->hopeless |= outermost;
        leave_now(e);
        return;
    }
    around_enter(e, &a, x);
    State head = head_state(e, &a, &innermost);
    e->hopeless |= outermost && !a.goes_on;
    State before = e->state;
    e->state = head;
    bool asks = can(e, condition_dry, x->a);
    e->state = before;
    if (!asks) {                             /* a condition of another kind */
        e->around = a.up;
        e->loops = true;
        e->hopeless |= outermost;
        leave_now(e);
        return;
    }
    LlBlock ask = block_new(e, "while"), body = block_new(e, "body");
    a.next = block_new(e, "next");
    a.out = block_new(e, "done");
    a.at_next = a.at_out = (State){ .reached = false };
    jump(e, ask);
    block_enter(e, ask);
    e->state = head;
    ask_emit(e, &a, body);
    block_enter(e, body);
    body_emit(e, &a);
    if (e->state.reached)
        jump(e, a.next);
    block_enter(e, a.next);
    poll(e, &a, false);
    jump(e, ask);
    around_leave(e, &a, &head);
}

/* ---- for over a range ---- */
/* How many values start, start + step, … come before stop. */
static LlValue range_left(Emit *e, LlValue start, LlValue stop, LlValue step)
{
    LlValue zero = word(e, 0), one = word(e, 1);
    LlValue up = compare_ints(e, LL_SGT, step, zero);
    LlValue from = choose(e, up, start, stop), to = choose(e, up, stop, start);
    LlValue by = choose(e, up, step, op2(e, LL_SUB, zero, step));
    LlValue n = op2(e, LL_ADD, op2(e, LL_UDIV, op2(e, LL_SUB, op2(e, LL_SUB, to, from), one), by),
                    one);
    return choose(e, compare_ints(e, LL_SLT, from, to), n, zero);
}

/* Which vector a loop goes over that has no range: 1 behind the variable, 0: machine code has none.
 * Nobody may store to it meanwhile, as the loop goes over what it was. */
static uint32_t vector_of(Emit *e, const Exec *x, bool outermost)
{
    uint32_t i = 0;
    if (outermost)
        i = variable_over(e);
    else if (exec_is_const(x->a))
        i = variable_of(e, &x->a->k, 0);
    else if (!name_variable(e, x->a, &i))
        return 0;
    const HotVariable *v = &e->variables[i];
    uint32_t fields = x->c->op == TG_TUPLE ? x->c->count : 0;
    return variable_kind(e, i) == HK_TENSOR && v->rank == 1 && !v->stored &&
           (v->tuple ? v->fields : 0) == fields ? i + 1 : 0;
}

/* The parts of the range; false: they are no ints. The outermost loop is in the record. */
static bool range_emit(Emit *e, const Exec *x, Around *a, bool outermost, bool unit)
{
    uint32_t base = offsetof(HotRecord, loops);
    Val parts[3] = { { HK_INT }, { HK_INT }, { HK_INT } };
    if (!x->list) {
        if (!(a->over = vector_of(e, x, outermost)))
            return false;
        parts[0].v = word(e, 0);
        parts[1].v = e->dry ? NULL : e->tensors[a->over - 1].dims[0];
    }
    for (uint32_t i = 0; x->list && i < x->count && !outermost; i++) {
        parts[i] = whole_of(expression(e, x->list[i]));
        if (e->failed || parts[i].kind != HK_INT)
            return false;
    }
    if (outermost) {
        parts[0].v = load(e, e->word, word_at(e, base, e->word));
        a->step = unit ? word(e, 1) : load(e, e->word, word_at(e, base + 16, e->word));
        LlValue left = load(e, e->word, word_at(e, base + 8, e->word));
        a->stop = unit ? op2(e, LL_ADD, parts[0].v, left) : NULL;
        store(e, left, e->left[a->level]);
    } else {
        a->step = x->count == 3 ? parts[2].v : word(e, 1);
        a->stop = unit ? parts[1].v : NULL;
        if (!unit) {
            guard(e, compare_ints(e, LL_EQ, a->step, word(e, 0)));
            store(e, range_left(e, parts[0].v, parts[1].v, a->step), e->left[a->level]);
        }
    }
    store(e, parts[0].v, e->at[a->level]);
    return true;
}

static LlValue at_of(Emit *e, const Around *a) { return load(e, e->word, e->at[a->level]); }

static LlValue left_of(Emit *e, const Around *a) { return load(e, e->word, e->left[a->level]); }

/* Is it not at its end yet: a value of its variable, or how many iterations are left then? */
static LlValue goes_on(Emit *e, const Around *a, LlValue end)
{
    return a->stop ? compare_ints(e, LL_SLT, at_of(e, a), end)
                   : compare_ints(e, LL_NE, left_of(e, a), end);
}

/* Iterations from where the loop is up to `end`; polls: after each. The builder stands behind
 * them. That the loop's variable is an int is stored before the first, so that none has to. */
static void iterations(Emit *e, Around *a, const State *head, LlValue end, bool polls)
{
    LlBlock ask = block_new(e, "for"), body = block_new(e, "body"), after = block_new(e, "after");
    LlBlock any = block_new(e, "any");
    a->next = block_new(e, "next");
    branch(e, goes_on(e, a, end), any, after);
    block_enter(e, any);
    if (!a->over)
        store(e, word(e, V_INT), e->slots[variable_of(e, NULL, a->x->sa)].tag);
    jump(e, ask);
    block_enter(e, ask);
    branch(e, goes_on(e, a, end), body, after);
    block_enter(e, body);
    e->state = *head;
    body_emit(e, a);
    if (e->state.reached)
        jump(e, a->next);
    block_enter(e, a->next);
    if (polls)
        poll(e, a, false);
    LlValue at = at_of(e, a);
    if (a->stop) {
        store(e, e->d.ll->BuildNSWAdd(e->d.builder, at, a->step, ""), e->at[a->level]);
    } else {
        store(e, op2(e, LL_ADD, at, a->step), e->at[a->level]);
        store(e, op2(e, LL_SUB, left_of(e, a), word(e, 1)), e->left[a->level]);
    }
    jump(e, ask);
    block_enter(e, after);
}

/* Which accesses go with the loop's variable alone. */
static void look_for_proven(Emit *e, Around *a, const State *head)
{
    State before = e->state;
    e->dry = true;
    e->proven_count = 0;
    e->written = 0;
    e->loop_variable = variable_of(e, NULL, slot_of(a->x, 0));
    for (int pass = 0; pass < 2; pass++) {
        e->collecting = pass == 1 && !(e->written >> e->loop_variable & 1);
        e->state = *head;
        body_emit(e, a);
        e->failed = false;
    }
    e->dry = e->collecting = false;
    e->state = before;
}

/* A strip that begins here: where it ends, which is what `iterations` asks for, and its values. */
static LlValue strip_begin(Emit *e, const Around *a, Way *way)
{
    LlValue at = at_of(e, a), most = word(e, STRIP), one = word(e, 1);
    LlValue left = a->stop ? op2(e, LL_SUB, a->stop, at) : left_of(e, a);
    LlValue far = compare_ints(e, LL_UGT, left, most);
    way->first = at;
    way->up = a->stop;
    if (a->stop) {
        LlValue end = choose(e, far, op2(e, LL_ADD, at, most), a->stop);
        way->last = op2(e, LL_SUB, end, one);
        return end;
    }
    LlValue count = choose(e, far, most, left);
    way->last = op2(e, LL_ADD, at, op2(e, LL_MUL, op2(e, LL_SUB, count, one), a->step));
    return op2(e, LL_SUB, left, count);
}

/* In strips, between which Ctrl-C is looked for. */
static void strips(Emit *e, Around *a, const State *head)
{
    Way way;
    look_for_proven(e, a, head);
    uint32_t proven = e->proven_count;
    LlBlock strip = block_new(e, "strip"), careful = block_new(e, "careful");
    LlBlock over = block_new(e, "over"), more = block_new(e, "more");
    LlValue end = a->stop ? a->stop : word(e, 0);
    branch(e, goes_on(e, a, end), strip, a->out);
    block_enter(e, strip);
    LlValue strip_end = strip_begin(e, a, &way);
    e->state = *head;
    proven_hold(e, &way, careful);
    iterations(e, a, head, strip_end, false);
    jump(e, over);
    e->proven_count = 0;
    block_enter(e, careful);
    if (proven) {
        iterations(e, a, head, strip_end, false);
        jump(e, over);
    } else {
        e->d.ll->BuildUnreachable(e->d.builder);
    }
    block_enter(e, over);
    branch(e, goes_on(e, a, end), more, a->out);
    block_enter(e, more);
    poll(e, a, true);
    jump(e, strip);
    e->vectors = true;
}

void for_emit(Emit *e, const Exec *x, bool outermost)
{
    Around a;
    int64_t one;
    bool innermost, unit = !x->list || x->count == 2 ||
                           (is_int_constant(x->list[2], &one) && one == 1);
    bool able = !too_deep(e, x) && (x->list || loop_target(x));
    for (uint32_t k = 0; able && k < slots_of(x); k++)
        able = !stands_for_another(e, slot_of(x, k));
    if (!able) {
        e->hopeless |= outermost;
        leave_now(e);
        return;
    }
    bool dry = e->dry;
    a.level = e->around ? e->around->level + 1 : 0;
    a.over = 0;
    e->dry = true;
    bool ints = range_emit(e, x, &a, outermost, unit);
    e->dry = dry;
    e->failed = false;
    if (!ints) {
        e->hopeless |= outermost;
        leave_now(e);
        return;
    }
    Around *up = e->around;
    uint32_t over = a.over;
    around_enter(e, &a, x);
    a.counts = true;
    a.over = over;
    e->around = up;                          /* the parts are asked before it begins */
    range_emit(e, x, &a, outermost, unit);
    e->around = &a;
    State head = head_state(e, &a, &innermost);
    e->hopeless |= outermost && !a.goes_on;
    a.at_next = a.at_out = (State){ .reached = false };
    a.out = block_new(e, "done");
    if (!e->dry && innermost) {
        strips(e, &a, &head);
    } else if (!e->dry) {
        iterations(e, &a, &head, a.stop ? a.stop : word(e, 0), true);
        jump(e, a.out);
    } else {
        e->state = head;
        body_emit(e, &a);
    }
    around_leave(e, &a, &head);
}
