/* Functions with a rule of their own: checkpoint(f), which runs f again to go back over it, and
 * custom_rule(f, vjp, jvp). Either leaves one entry on the tape. */
#include "interp/gradient/transform.h"
#include "interp/eval/call.h"

#include "core/base/error.h"

#include <string.h>

/* ---- calls as structures ---- */
/* A call is a tuple of the function and of the tuple of its arguments; what functions captured are
 * parts of it as the items of tuples are (parts_of). */
/* Parts of the call that are traced on t, as operands of the entry begun last. */
static void call_operands(Tape *t, Value v)
{
    Parts p = parts_of(v);
    for (uint32_t i = 0; i < p.count; i++)
        call_operands(t, p.item[i]);
    if (v.tag == V_TRACED && traced_of(v)->tape == t)
        tape_operand(t, traced_of(v)->node, 0, -1);
}

static Value call_tuple(Interp *in, Value f, const Args *a)
{
    Tuple *call = tuple_new(&in->ctx, 2);
    v_push(in, v_tuple(call));
    Tuple *all = tuple_new(&in->ctx, (uint64_t)(a->count + a->named_count));
    call->items[0] = v_retain(f);
    call->items[1] = v_tuple(all);
    for (uint32_t i = 0; i < all->count; i++)
        all->items[i] = v_retain(argument(a, (int)i));
    for (int i = 0; i < a->named_count; i++)
        tuple_name(&in->ctx, all, (uint32_t)(a->count + i), a->names[i]);
    return *--in->sp;
}

static Value call_again(Interp *in, Value f, const Tuple *all)
{
    int count = 0;
    while (count < (int)all->count && !(all->names && all->names[count]))
        count++;
    return call_named(in, f, all->items, count, all->names ? all->names + count : NULL,
                      all->items + count, (int)all->count - count);
}

/* true where the call has something traced on t, in tuples for whatever has parts; none where
 * nothing inside is. */
static Value traced_where(Interp *in, Value v, const Tape *t)
{
    Parts p = parts_of(v);
    bool some = false;
    if (!p.count)
        return v.tag == V_TRACED && traced_of(v)->tape == t ? v_bool(true) : v_none();
    stack_check(in);
    Tuple *to = tuple_new(&in->ctx, p.count);
    v_push(in, v_tuple(to));
    for (uint32_t i = 0; i < p.count; i++) {
        to->items[i] = traced_where(in, p.item[i], t);
        some |= to->items[i].tag != V_NONE;
    }
    if (!some)
        stack_cut(in, in->sp - 1);
    return some ? *--in->sp : v_none();
}

/* The call, traced where the entry's operands are, in their order; owned. */
static Value trace_operands(Interp *in, Tape *t, Value v, Value where)
{
    if (where.tag == V_NONE)
        return v_retain(v);
    if (where.tag == V_BOOL) {
        uint32_t node = tape_entry(in, t, ENTRY_LEAF, v);
        return v_traced(traced_new(in, t, v_retain(v), node));
    }
    Parts p = parts_of(v);
    stack_check(in);
    Value *to = push_like(in, v);
    for (uint32_t i = 0; i < p.count; i++)
        to[i] = trace_operands(in, t, p.item[i], where.tuple->items[i]);
    return *--in->sp;
}

/* ---- checkpoint ---- */
/* The state of the random numbers, and of the scope's stochastic rounding. */
typedef struct Chance { uint64_t word[6]; } Chance;

static Chance chance_now(const Interp *in)
{
    const Scope *s = in->scope;
    return (Chance){ { in->rng.key[0], in->rng.key[1], in->rng.counter, s ? s->seed[0] : 0,
                       s ? s->seed[1] : 0, s ? s->draw : 0 } };
}

static void chance_set(Interp *in, const Chance *c)
{
    in->rng.key[0] = c->word[0];
    in->rng.key[1] = c->word[1];
    in->rng.counter = c->word[2];
    if (!in->scope)
        return;
    in->scope->seed[0] = c->word[3];
    in->scope->seed[1] = c->word[4];
    in->scope->draw = c->word[5];
}

/* The nodes of floats in v, in tuples for whatever has parts; owned. */
static Value nodes_in(Interp *in, Value v, Tape *t)
{
    Parts p = parts_of(v);
    if (!p.count)
        return has_derivative(v) ? leaf_node(in, v, t) : v_none();
    stack_check(in);
    Tuple *to = tuple_new(&in->ctx, p.count);
    v_push(in, v_tuple(to));
    for (uint32_t i = 0; i < p.count; i++)
        to->items[i] = nodes_in(in, p.item[i], t);
    return *--in->sp;
}

/* Runs f again, now traced, and goes back over it. Kept: the call, what of it is traced, the state
 * of chance. */
static void checkpoint_back(Interp *in, const Tape *t, const Entry *e, Value *w, Value *out)
{
    Value *mark = in->sp, nodes;
    const Value *kept = t->keep + e->keep;
    Tape *again = tape_new(in, TAPE_REVERSE);
    Chance now = chance_now(in), then;
    v_push(in, v_tape(again));
    v_push(in, trace_operands(in, again, kept[0], kept[1]));
    Value *call = in->sp - 1;
    for (int i = 0; i < 6; i++)
        then.word[i] = (uint64_t)kept[2 + i].i;
    chance_set(in, &then);
    int rules = in->rules;
    const Exec *at = in->at;
    in->rules = 0;                             /* this is the program again */
    tape_begin(in, again);
    v_push(in, call_again(in, call->tuple->items[0], call->tuple->items[1].tuple));
    tape_end(in, again);
    in->rules = rules;
    in->at = at;
    chance_set(in, &now);
    nodes = nodes_in(in, in->sp[-1], again);
    v_push(in, nodes);
    Tuple *cotangents = cotangents_new(in, again);
    seed(in, again, cotangents, nodes, *w);
    tape_back(in, again, cotangents, false);
    for (int i = 0; i < (int)e->operands && (uint32_t)i < again->entries; i++)
        if (cotangents->items[1 + i].tag != V_UNDEF)
            out[i] = v_retain(cotangents->items[1 + i]);
    stack_cut(in, mark);
}

/* ---- custom rules ---- */
/* How many operands stand in this part of the call. */
static int operands_in(Value where)
{
    int n = where.tag == V_BOOL;
    for (uint32_t i = 0; where.tag == V_TUPLE && i < where.tuple->count; i++)
        n += operands_in(where.tuple->items[i]);
    return n;
}

/* What a rule gave for a part of the arguments, x, to the operands in it; where they end. */
static Value *custom_out(Interp *in, Value part, Value x, Value where, Value *out)
{
    char a[96], b[96];
    if (part.tag == V_NONE)
        return out + operands_in(where);
    if (where.tag == V_BOOL) {
        if (!same_shape(part, x))
            err_raise(&in->ctx, ERR_SHAPE, "the vjp gave %s for an argument that is %s",
                      v_describe_a(v_plain(part), a, sizeof a),
                      v_describe_a(v_plain(x), b, sizeof b));
        *out = v_retain(part);
        return out + 1;
    }
    if (where.tag != V_TUPLE || !operands_in(where))
        return out;
    check_fields(in, "custom_rule", "what its vjp gave", part, x);
    for (uint32_t i = 0; i < where.tuple->count; i++)
        out = custom_out(in, part.tuple->items[i], x.tuple->items[i], where.tuple->items[i], out);
    return out;
}

/* w with zeros where nothing arrived at a field of the result r; owned. */
static Value filled(Interp *in, Value w, Value r)
{
    if (w.tag == V_NONE && r.tag != V_TUPLE && trace_leaves(r, false))
        return call_row_of(in, "like", (Value[]){ v_measured(r, LENGTH_ALL), v_int(0) }, 2);
    if (r.tag != V_TUPLE || (w.tag == V_NONE && !trace_leaves(r, false)))
        return v_retain(w);
    Tuple *to = tuple_new(&in->ctx, r.tuple->count);
    v_push(in, v_tuple(to));
    for (uint32_t i = 0; i < to->count; i++) {
        to->items[i] = filled(in, w.tag == V_TUPLE ? w.tuple->items[i] : w, r.tuple->items[i]);
        if (r.tuple->names && r.tuple->names[i])
            tuple_name(&in->ctx, to, i, r.tuple->names[i]);
    }
    in->sp--;
    return v_tuple(to);
}

/* The vjp of a custom rule: f's arguments, its result, the cotangent. Kept: the call, what of it is
 * traced, the rule, the result. */
static void custom_back(Interp *in, const Tape *t, const Entry *e, Value *w, Value *out)
{
    const Value *kept = t->keep + e->keep;
    const Tuple *args = kept[0].tuple->items[1].tuple;
    Value where = kept[1].tuple->items[1], *mark = in->sp;
    stack_room(in, args->count + 16);
    for (uint32_t i = 0; i < args->count; i++)
        v_push(in, v_retain(args->items[i]));
    v_push(in, v_retain(kept[3]));
    v_push(in, filled(in, *w, kept[3]));
    int n = (int)(in->sp - mark);
    Value g = call_rule(in, kept[2], mark, n);
    v_push(in, g);
    if (args->count > 1 && (g.tag != V_TUPLE || g.tuple->count != args->count))
        err_raise(&in->ctx, ERR_SHAPE, "the vjp of a function of %u arguments gives a tuple of %u "
                  "cotangents", args->count, args->count);
    for (uint32_t i = 0; i < args->count; i++)
        out = custom_out(in, args->count > 1 ? g.tuple->items[i] : g, args->items[i],
                         where.tuple->items[i], out);
    stack_cut(in, mark);
}

/* ---- either of them ---- */
static uint32_t call_entry(Interp *in, const Transform *tr, Tape *t, Value call, Value below,
                           Value where, Value r)
{
    uint32_t node = tape_entry(in, t, ENTRY_CALL, r);
    call_operands(t, call);
    tape_at(t, node)->op = op_named(in, tr->name);
    tape_at(t, node)->back = tr->kind == TRANSFORM_CUSTOM ? custom_back : checkpoint_back;
    tape_keep(t, below);
    tape_keep(t, where);
    return node;
}

static bool floats_in(Value v)
{
    Parts p = parts_of(v);
    bool some = !p.count && has_derivative(v);
    for (uint32_t i = 0; i < p.count && !some; i++)
        some = floats_in(p.item[i]);
    return some;
}

/* Are there functions among the results that hold floats? */
static bool functions_with_floats(Value r)
{
    if (r.tag != V_TUPLE)
        return parts_of(r).count && floats_in(r);
    for (uint32_t i = 0; i < r.tuple->count; i++)
        if (functions_with_floats(r.tuple->items[i]))
            return true;
    return false;
}

/* The result traced, floats in its parts one by one; tangent: of its structure, on a forward
 * tape. */
static Value call_result(Interp *in, const Transform *tr, Tape *t, uint32_t node, Value r,
                         Value tangent)
{
    Value plain = v_plain(r);
    Parts p = parts_of(r);
    if (!p.count) {
        if (!v_is_numeric(plain))
            return v_retain(r);
        if (!differentiable(v_dtype(plain)))
            return cut_value(in, t, r, op_named(in, tr->name), in->at);
        Traced *x = traced_new(in, t, v_retain(r), node);
        x->tangent = v_retain(tangent);
        return v_traced(x);
    }
    stack_check(in);
    Value *to = push_like(in, r);
    for (uint32_t i = 0; i < p.count; i++) {
        Value v = p.item[i];
        Value part = tangent.tag == V_TUPLE ? tangent.tuple->items[i] : tangent;
        bool deep = parts_of(v).count != 0;
        uint32_t field = 0;
        if (node && floats_in(v)) {
            field = tape_entry(in, t, ENTRY_FIELD, v);
            tape_at(t, field)->field = i;
            tape_operand(t, node, (int)i, -1);
            if (deep)
                keep_fields(in, t, v);
        }
        to[i] = deep && (node ? !field : v.tag != V_TUPLE)
              ? v_retain(v) : call_result(in, tr, t, field, v, part);
    }
    return *--in->sp;
}

/* A tangent of r's structure with r's dtypes; owned. */
static Value tangent_settled(Interp *in, Value tangent, Value r)
{
    Value plain = v_plain(r);
    if (r.tag != V_TUPLE) {
        bool same = !has_derivative(r) || v_dtype(v_plain(tangent)) == v_dtype(plain);
        Value args[2] = { tangent, v_format(v_dtype(plain)) };
        return same ? v_retain(tangent) : call_row_of(in, "cast", args, 2);
    }
    stack_check(in);
    Tuple *to = tuple_new(&in->ctx, r.tuple->count);
    v_push(in, v_tuple(to));
    for (uint32_t i = 0; i < to->count; i++)
        to->items[i] = tangent_settled(in, tangent.tuple->items[i], r.tuple->items[i]);
    return *--in->sp;
}

/* The jvp of a custom rule: the arguments, then their tangents; owned. */
static Value custom_tangent(Interp *in, const Transform *tr, Tape *t, Value args, Value below,
                            Value r)
{
    Value *mark = in->sp;
    TangentOf of = { t };
    if (tr->jvp.tag == V_NONE)
        grad_raise(in, NULL, "custom_rule(f, jvp=(x, v) -> …)",
                   "the custom rule has no jvp, which forward mode takes");
    stack_room(in, (size_t)args.tuple->count * 2 + 16);
    for (uint32_t i = 0; i < below.tuple->count; i++)
        v_push(in, v_retain(below.tuple->items[i]));
    for (uint32_t i = 0; i < args.tuple->count; i++)
        v_push(in, trace_map(in, args.tuple->items[i], false, leaf_tangent, &of));
    Value tangent = call_rule(in, tr->jvp, mark, (int)(in->sp - mark));
    v_push(in, tangent);
    check_like(in, "custom_rule", "what its jvp gave", tangent, r, false);
    in->rules++;
    tangent = tangent_settled(in, tangent, r);
    in->rules--;
    stack_cut(in, mark);
    return tangent;
}

/* Has the level below the rule as well? Else f is gone over there. */
static bool ruled_below(const Transform *tr, const Tuple *below)
{
    const Tape *t = tape_inside(below->items[1], NULL, NULL);
    if (!t || t->recorder || tr->kind != TRANSFORM_CUSTOM)
        return t && !t->recorder;
    Value rule = t->mode == TAPE_FORWARD ? tr->jvp : tr->vjp;
    return rule.tag != V_NONE && !tape_inside(below->items[0], NULL, NULL);
}

/* Has a function in v captured what is traced? */
static bool captures(Value v, Value where)
{
    if (where.tag != V_TUPLE || v.tag != V_TUPLE)
        return where.tag == V_TUPLE;
    for (uint32_t i = 0; i < where.tuple->count; i++)
        if (captures(v.tuple->items[i], where.tuple->items[i]))
            return true;
    return false;
}

Value recorded_call(Interp *in, const Transform *tr, const Args *a)
{
    Tape *t = NULL;
    Value *mark = in->sp;
    bool custom = tr->kind == TRANSFORM_CUSTOM;
    for (int i = 0; in->boxes && i < a->count + a->named_count; i++)
        t = tape_inside(argument(a, i), NULL, t);
    if (in->boxes)
        t = tape_inside(tr->f, NULL, t);
    bool forward = t && t->mode == TAPE_FORWARD;
    /* a graph has the operations of f: nothing runs again that it would have to draw again */
    bool kept = t && (t->recorder || (!custom && tape_recording(in, 0)));
    if (!t || kept || (forward && !custom))
        return call_named(in, tr->f, a->args, a->count, a->names, a->named, a->named_count);
    if (!forward && custom && tr->vjp.tag == V_NONE)
        grad_raise(in, NULL, "custom_rule(f, vjp=(x, y, w) -> …)",
                   "the custom rule has no vjp, which reverse mode takes");
    const Exec *at = in->at;
    Chance then = chance_now(in);
    v_push(in, call_tuple(in, tr->f, a));
    v_push(in, parts_below(in, mark[0], t));
    v_push(in, traced_where(in, mark[0], t));
    Value where = mark[2];
    bool captured = custom && captures(mark[0], where);
    /* called with what the level below sees */
    const Tuple *below = mark[1].tuple;
    Value self = { .tag = V_TRANSFORM, .ptr = (void *)tr };
    Value f = ruled_below(tr, below) ? parts_below(in, self, t) : v_retain(below->items[0]);
    v_push(in, f);
    v_push(in, captured ? v_none() : call_again(in, f, below->items[1].tuple));
    in->at = at;
    if (captured || tape_inside(mark[4], NULL, NULL) == t)
        grad_raise(in, NULL, "pass it as an argument",
                   "the function uses a value whose derivative is taken, but not as an argument");
    Value r = mark[4];
    if (custom && where.tag != V_NONE && functions_with_floats(r))
        grad_raise(in, NULL, "give the numbers as results of their own",
                   "a function that is given holds numbers, of which the rules say nothing");
    if (where.tag == V_NONE) {
        v_push(in, v_retain(r));
    } else if (forward) {
        v_push(in, custom_tangent(in, tr, t, mark[0].tuple->items[1], below->items[1], r));
        v_push(in, call_result(in, tr, t, 0, r, in->sp[-1]));
    } else {
        uint32_t node = call_entry(in, tr, t, mark[0], mark[1], where, r);
        if (custom) {                       /* the rule too may have captured what is traced */
            v_push(in, parts_below(in, tr->vjp, t));
            tape_keep(t, in->sp[-1]);
            stack_cut(in, in->sp - 1);
            tape_keep(t, r);
        }
        for (int i = 0; !custom && i < 6; i++)
            tape_keep(t, v_int((int64_t)then.word[i]));
        if (parts_of(r).count)
            keep_fields(in, t, r);
        v_push(in, call_result(in, tr, t, node, r, v_undef()));
    }
    Value out = v_retain(in->sp[-1]);
    stack_cut(in, mark);
    return out;
}
