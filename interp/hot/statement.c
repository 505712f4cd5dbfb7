/* Statements as machine code. One that machine code cannot do leaves: the evaluator does it, and
 * comes back with the loop's next iteration. */
#include "interp/hot/emit.h"

#include "interp/eval/eval_assign.h"
#include "interp/eval/eval_flow.h"
#include "interp/eval/eval_make.h"
#include "interp/lower/sites.h"

#include <string.h>

/* ---- assignment ---- */
enum { TOGETHER = 8 };               /* a, b = b, a of so many */

/* Tells forms apart by what lowering left: lower_statement.c. */
static bool to_variable(const Exec *x)
{
    return !x->b && !x->list && x->a && x->a->eval && !x->c;     /* list: a = b = value */
}

static bool updates_variable(const Exec *x) { return x->b && x->b->eval && x->a && x->a->eval; }
static bool to_target(const Exec *x) { return x->b && !x->b->eval && x->a && x->a->eval; }
static bool together(const Exec *x) { return x->b && !x->b->eval && x->a && !x->a->eval; }

/* Made of names and numbers: no element, which another target may change. */
static bool is_plain(const Exec *x)
{
    if (x->operand == OPD_I || x->node->kind == ND_NAME)
        return true;
    return x->node->kind == ND_BINARY && is_plain(x->a) && is_plain(x->b);
}

static bool plain_element(const Exec *target)
{
    bool plain = target->op == TG_INDEX && target->a->op == TG_SLOT;
    for (uint32_t i = 0; i < target->count && plain; i++)
        plain = target->list[i]->eval && is_plain(target->list[i]);
    return plain;
}

/* a[i], a[j] = a[j], a[i]: all that may leave comes before the first is stored. */
static void assign_elements(Emit *e, const Exec *x, const Val *values)
{
    LlValue places[TOGETHER];
    Val elements[TOGETHER];
    uint32_t bases[TOGETHER];
    for (uint32_t i = 0; i < x->count && !e->failed; i++) {
        const Exec *target = x->b->list[i];
        if (!plain_element(target)) {
            unknown(e);
            return;
        }
        bases[i] = variable_of(e, NULL, target->a->sa);
        if (!element_place_emit(e, bases[i], target, values[i], &places[i], &elements[i]))
            unknown(e);
    }
    for (uint32_t i = 0; i < x->count && !e->failed; i++)
        element_put(e, bases[i], places[i], elements[i]);
}

static void assign_together(Emit *e, const Exec *x)
{
    Val values[TOGETHER];
    if (x->count > TOGETHER || x->b->op != TG_TUPLE) {
        unknown(e);
        return;
    }
    if (x->b->list[0]->op == TG_INDEX) {
        for (uint32_t i = 0; i < x->count && !e->failed; i++)
            values[i] = expression(e, x->a->list[i]);
        if (!e->failed)
            assign_elements(e, x, values);
        return;
    }
    for (uint32_t i = 0; i < x->count && !e->failed; i++) {
        values[i] = expression(e, x->a->list[i]);
        if (x->b->list[i]->op != TG_SLOT || stands_for_another(e, x->b->list[i]->sa))
            unknown(e);
    }
    for (uint32_t i = 0; i < x->count && !e->failed; i++)
        variable_write(e, variable_of(e, NULL, x->b->list[i]->sa), values[i]);
}

/* a, b = f(x) */
static void assign_unpacked(Emit *e, const Exec *x)
{
    Val values[HOT_FIELDS];
    const Exec *target = x->b;
    for (uint32_t i = 0; i < target->count && !e->failed; i++)
        if (target->list[i]->op != TG_SLOT || stands_for_another(e, target->list[i]->sa))
            unknown(e);
    if (!e->failed)
        call_unpacked(e, x->a, NULL, target->count, values);
    for (uint32_t i = 0; i < target->count && !e->failed; i++)
        variable_write(e, variable_of(e, NULL, target->list[i]->sa), values[i]);
}

/* ---- fields of records ---- */
/* One that may be assigned: a number or a bool. */
static bool field_of(Emit *e, uint32_t slot, const Name *name, uint32_t *i)
{
    uint32_t base = variable_of(e, NULL, slot);
    if (stands_for_another(e, slot) || variable_kind(e, base) != HK_RECORD ||
        !variable_field(e, base, name, i))
        return false;
    HotKind kind = e->variables[*i].kind;
    return kind != HK_NOTHING && kind != HK_TENSOR && kind != HK_FUNCTION && kind != HK_RECORD;
}

/* The record that the variable holds has the names that it has now, always. */
static bool keeps_names(Emit *e, uint32_t slot)
{
    uint32_t i = variable_of(e, NULL, slot);
    HotVariable *v = &e->variables[i];
    const Value *now = hot_place(e->in, v);
    if (variable_kind(e, i) != HK_RECORD || v->assigned || !now || now->tag != V_TUPLE ||
        !now->tuple->named || now->tuple->count > HOT_FIELDS)
        return false;
    if (!v->name_count) {
        v->name_count = (uint8_t)now->tuple->count;
        memcpy(v->names, now->tuple->names, v->name_count * sizeof *v->names);
        e->grew = true;
    }
    return true;
}

static bool makes_record(const Exec *x)
{
    return (x->eval == eval_tuple && x->data) || x->node->kind == ND_CALL;
}

/* p = (x=p.x + 1, y=0), p = f(p): the fields are assigned, if the names are the same. */
static void assign_record(Emit *e, const Exec *x)
{
    Val values[HOT_FIELDS];
    uint32_t field[HOT_FIELDS];
    if (!makes_record(x->a) || !keeps_names(e, x->sa)) {
        unknown(e);
        return;
    }
    const HotVariable *v = &e->variables[variable_of(e, NULL, x->sa)];
    for (uint32_t k = 0; k < v->name_count && !e->failed; k++)
        if (!v->names[k] || !field_of(e, x->sa, v->names[k], &field[k]))
            unknown(e);
    if (!e->failed && x->a->eval == eval_tuple)
        fields_emit(e, x->a, v->names, v->name_count, values);
    else if (!e->failed)
        call_unpacked(e, x->a, v->names, v->name_count, values);
    for (uint32_t k = 0; k < v->name_count && !e->failed; k++)
        variable_write(e, field[k], values[k]);
}

/* p.x = v, p.x += v */
static void assign_field(Emit *e, const Exec *x)
{
    uint32_t i;
    if (!field_of(e, x->b->a->sa, x->b->node->name, &i)) {
        unknown(e);
        return;
    }
    Val v = expression(e, x->a);
    if (!e->failed && x->node->kind == ND_OPASSIGN)
        v = binary_emit(e, x->node->op, variable_read(e, i), v);
    if (!e->failed)
        variable_write(e, i, v);
}

/* s[r[i]] += x[i] is index notation only while i is no variable. */
static bool indices_have_values(Emit *e, const GatherSite *site)
{
    bool all = true;
    for (uint32_t i = 0; i < site->count && all; i++) {
        uint32_t v;
        all = name_variable(e, site->indices[i], &v) && variable_kind(e, v) == HK_INT;
    }
    return all;
}

static void assign(Emit *e, const Exec *x)
{
    if (together(x)) {
        assign_together(e, x);
        return;
    }
    /* a sum that may be text: the plain form is beside it */
    if (x->c && (to_variable(x->c) || to_target(x->c)))
        x = x->c;
    if (x->c) {
        unknown(e);
        return;
    }
    if ((to_variable(x) || updates_variable(x)) && stands_for_another(e, x->sa)) {
        unknown(e);
        return;
    }
    if (to_variable(x) && can(e, assign_record, x)) {
        assign_record(e, x);
    } else if (to_variable(x)) {
        Val v = expression(e, x->a);
        if (!e->failed)
            variable_write(e, variable_of(e, NULL, x->sa), v);
    } else if (updates_variable(x)) {
        uint32_t i = variable_of(e, NULL, x->sa);
        Val v = expression(e, x->a);
        Val old = e->failed ? v : variable_read(e, i);
        Val sum = e->failed ? old : binary_emit(e, x->op, old, v);
        if (!e->failed)
            variable_write(e, i, sum);
    } else if (to_target(x) && x->b->op == TG_FIELD && x->b->a->op == TG_SLOT) {
        assign_field(e, x);
    } else if (to_target(x) && x->b->op == TG_TUPLE) {
        assign_unpacked(e, x);
    } else if (to_target(x) && x->b->op == TG_INDEX && x->b->a->op == TG_SLOT) {
        uint32_t base = variable_of(e, NULL, x->b->a->sa);
        Val v = expression(e, x->a);
        int op = x->node->kind == ND_OPASSIGN ? x->node->op : -1;
        if (!e->failed && !element_store_emit(e, base, x->b, v, op))
            unknown(e);
    } else {
        unknown(e);
    }
}

/* x = x + y has the node of its sum; a sum in which something is assigned has operands to count. */
static bool is_update(const Exec *x)
{
    return (x->flags & XF_WRITES) && !x->count && updates_variable(x);
}

static void assignment(Emit *e, const Exec *x)
{
    const GatherSite *gather = x->eval == eval_update_gathered ? x->data : NULL;
    if (gather && !indices_have_values(e, gather))
        unknown(e);
    else
        assign(e, gather ? x->a : x);
}

/* ---- trying it dry first ---- */
bool can(Emit *e, EmitFn emit, const Exec *x)
{
    State before = e->state;
    bool dry = e->dry, failed;
    e->dry = true;
    emit(e, x);
    failed = e->failed;
    e->dry = dry;
    e->failed = false;
    e->state = before;
    return !failed;
}

/* ---- if ---- */
static void merge(Emit *e, LlBlock end, State *all)
{
    if (e->state.reached)
        jump(e, end);
    *all = state_join(all, &e->state);
}

static void part(Emit *e, const Exec *whole, HotStep step, uint32_t index, EmitFn emit,
                 const Exec *x)
{
    LlBlock out = e->out;
    HotPlace before = place_set(e, &(HotPlace){ whole, step, index });
    emit(e, x);
    place_set(e, &before);
    e->out = out;
}

/* One condition with what it guards; the builder stands where it fails afterwards. */
static void guarded(Emit *e, const Exec *x, uint32_t index, const Exec *c, const Exec *body,
                    EmitFn emit, LlBlock end, State *all)
{
    LlBlock yes = block_new(e, "yes"), no = block_new(e, "no");
    condition_emit(e, c, yes, no);
    State asked = e->state;
    block_enter(e, yes);
    part(e, x, HOT_BRANCH, index, emit, body);
    merge(e, end, all);
    e->state = asked;
    block_enter(e, no);
}

static void end_of_branches(Emit *e, LlBlock end, const State *all)
{
    e->state = *all;
    block_enter(e, end);
    if (!e->state.reached && !e->dry)
        e->d.ll->BuildUnreachable(e->d.builder);
}

static bool conditions_can(Emit *e, const Exec *x)
{
    bool all = !x->a || can(e, condition_dry, x->a);
    for (uint32_t i = 0; !x->a && i < x->count && all; i += 2)
        all = can(e, condition_dry, x->list[i]);
    return all;
}

void branches_emit(Emit *e, const Exec *x, EmitFn emit)
{
    State all = { .reached = false };
    LlBlock end;
    if (!conditions_can(e, x)) {
        leave_now(e);
        return;
    }
    end = block_new(e, "end");
    if (x->a)
        guarded(e, x, 0, x->a, x->b, emit, end, &all);
    for (uint32_t i = 0; !x->a && i < x->count; i += 2)
        guarded(e, x, 2 + i / 2, x->list[i], x->list[i + 1], emit, end, &all);
    if (x->c)
        part(e, x, HOT_BRANCH, 1, emit, x->c);
    merge(e, end, &all);
    end_of_branches(e, end, &all);
}

static bool is_not(const Exec *c) { return c && c->node->kind == ND_NOT; }

/* if c { n += 1 }: a sum without a branch, which the processor would have to guess. */
static bool counts_up(const Exec *x, int64_t *by)
{
    const Exec *c = is_not(x->a) ? x->a->a : x->a, *up = x->b;
    bool plain = c && !x->c && c->eval != eval_raise && c->eval != eval_catch_flow &&
                 (c->node->kind == ND_INDEX || c->node->kind == ND_NAME ||
                  (c->node->kind == ND_COMPARE && c->node->count == 2));
    return plain && (up->node->kind == ND_OPASSIGN || is_update(up)) && updates_variable(up) &&
           up->op == TK_ADD && is_int_constant(up->a, by);
}

static void count_emit(Emit *e, const Exec *x)
{
    int64_t by = 0;
    if (!counts_up(x, &by) || stands_for_another(e, x->b->sa)) {
        unknown(e);
        return;
    }
    uint32_t i = variable_of(e, NULL, x->b->sa);
    bool turned = is_not(x->a);
    Val c = expression(e, turned ? x->a->a : x->a), old = e->failed ? c : variable_read(e, i);
    if (e->failed || c.kind != HK_BOOL || old.kind != HK_INT) {
        unknown(e);
        return;
    }
    Val more = { HK_INT, choose(e, c.v, word(e, turned ? 0 : by), word(e, turned ? by : 0)) };
    Val sum = binary_emit(e, TK_ADD, old, more);
    if (!e->failed)
        variable_write(e, i, sum);
}

/* ---- statements ---- */
static void block_emit(Emit *e, const Exec *x)
{
    for (uint32_t i = 0; i < x->count && e->state.reached; i++)
        part(e, x, HOT_PART, i, statement, x->list[i]);
}

/* A `for` may run in parts, so whoever runs it has to know that it broke out. */
static void break_emit(Emit *e, const Exec *x)
{
    Around *a = e->around;
    if (x->node->kind == ND_BREAK && a->counts && !a->up && !e->frame) {
        store(e, word(e, HOT_BREAKS), e->exit_id);
        jump(e, e->leave);
        e->state.reached = false;
        return;
    }
    State *at = x->node->kind == ND_BREAK ? &a->at_out : &a->at_next;
    *at = state_join(at, &e->state);
    jump(e, x->node->kind == ND_BREAK ? a->out : a->next);
    e->state.reached = false;
}

static void statement_on_top(Emit *e, const Exec *x)
{
    if (++e->work > WORK_MOST) {
        e->state.reached = false;
        return;
    }
    if (x->eval == eval_raise) {             /* with a node of any kind, and nothing else */
        leave_now(e);
        return;
    }
    switch (x->node->kind) {
    case ND_BLOCK:
        if (x->eval == eval_block || x->eval == eval_block2)
            block_emit(e, x);
        else if (x->count || x->a || x->list)
            leave_now(e);
        return;
    case ND_IF:
        if (can(e, count_emit, x))
            count_emit(e, x);
        else
            branches_emit(e, x, statement);
        return;
    case ND_WHILE:
        while_emit(e, x);
        return;
    case ND_FOR:
        if (x->list ? x->count >= 2 : x->eval == eval_for && loop_target(x))
            for_emit(e, x, false);
        else
            leave_now(e);
        return;
    case ND_BREAK: case ND_CONTINUE:
        if (x->eval == eval_break)
            break_emit(e, x);
        else
            leave_now(e);
        return;
    case ND_RETURN:
        if (e->frame && x->eval == eval_return && x->a && can(e, return_emit, x))
            return_emit(e, x);
        else
            leave_now(e);
        return;
    case ND_BINARY: case ND_ASSIGN: case ND_OPASSIGN:
        if ((x->node->kind != ND_BINARY || is_update(x)) && can(e, assignment, x))
            assignment(e, x);
        else
            leave_now(e);
        return;
    default:
        leave_now(e);
    }
}

void statement(Emit *e, const Exec *x)
{
    if (e->frame) {                          /* it leaves where the call stands */
        statement_on_top(e, x);
        return;
    }
    e->out = NULL;
    count_begin(e);
    stream_begin(e);
    path_push(e, x, HOT_RUN, 0);
    statement_on_top(e, x);
    e->depth--;
}
