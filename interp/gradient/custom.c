/* Functions with a rule of their own: checkpoint(f), which runs f again to go back over it, and
 * custom_rule(f, vjp, jvp). Either leaves one entry on the tape. */
#include "interp/gradient/transform.h"
#include "interp/eval/call.h"

#include "core/base/error.h"

#include <string.h>

/* Parts of the arguments that are traced on t, as operands of the entry begun last. */
static void arguments_operands(Tape *t, Value v)
{
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        arguments_operands(t, v.tuple->items[i]);
    if (v.tag == V_TRACED && traced_of(v)->tape == t)
        tape_operand(t, traced_of(v)->node, 0, -1);
}

static Value arguments_tuple(Interp *in, const Args *a)
{
    Tuple *all = tuple_new(&in->ctx, (uint64_t)(a->count + a->named_count));
    for (uint32_t i = 0; i < all->count; i++) {
        all->items[i] = v_retain(argument(a, (int)i));
    }
    v_push(in, v_tuple(all));
    for (int i = 0; i < a->named_count; i++)
        tuple_name(&in->ctx, all, (uint32_t)(a->count + i), a->names[i]);
    in->sp--;
    return v_tuple(all);
}

static Value call_with_tuple(Interp *in, Value f, const Tuple *all)
{
    int count = 0;
    while (count < (int)all->count && !(all->names && all->names[count]))
        count++;
    return call_named(in, f, all->items, count, all->names ? all->names + count : NULL,
                      all->items + count, (int)all->count - count);
}

/* Leaves of the arguments, traced where the entry's operands are, in their order. */
static Value trace_operands(Interp *in, Tape *t, Value v, Value where)
{
    if (where.tag == V_TUPLE) {
        Tuple *to = tuple_new(&in->ctx, v.tuple->count);
        v_push(in, v_tuple(to));
        for (uint32_t i = 0; i < v.tuple->count; i++) {
            to->items[i] = trace_operands(in, t, v.tuple->items[i], where.tuple->items[i]);
            if (v.tuple->names && v.tuple->names[i])
                tuple_name(&in->ctx, to, i, v.tuple->names[i]);
        }
        in->sp--;
        return v_tuple(to);
    }
    if (where.tag != V_BOOL || !where.i)
        return v_retain(v);
    uint32_t node = tape_entry(in, t, ENTRY_LEAF, v);
    return v_traced(traced_new(in, t, v_retain(v), node));
}

static Value traced_where(Interp *in, Value v, const Tape *t)
{
    if (v.tag != V_TUPLE)
        return v_bool(v.tag == V_TRACED && traced_of(v)->tape == t);
    Tuple *to = tuple_new(&in->ctx, v.tuple->count);
    v_push(in, v_tuple(to));
    for (uint32_t i = 0; i < v.tuple->count; i++)
        to->items[i] = traced_where(in, v.tuple->items[i], t);
    in->sp--;
    return v_tuple(to);
}

/* Runs f again, now traced, and goes back over it. Kept: f, the arguments, which of them are
 * traced, the state of the random numbers. */
static void checkpoint_back(Interp *in, const Tape *t, const Entry *e, Value *w, Value *out)
{
    Value *mark = in->sp, nodes;
    const Value *kept = t->keep + e->keep;
    Tape *again = tape_new(in, TAPE_REVERSE);
    uint64_t counter = in->rng.counter, key0 = in->rng.key[0], key1 = in->rng.key[1];
    v_push(in, v_tape(again));
    v_push(in, trace_operands(in, again, kept[1], kept[2]));
    Value *args = in->sp - 1;
    in->rng.key[0] = (uint64_t)kept[3].i;
    in->rng.key[1] = (uint64_t)kept[4].i;
    in->rng.counter = (uint64_t)kept[5].i;
    int rules = in->rules;
    const Exec *at = in->at;
    in->rules = 0;                             /* this is the program again */
    tape_begin(in, again);
    v_push(in, call_with_tuple(in, kept[0], args->tuple));
    tape_end(in, again);
    in->rules = rules;
    in->at = at;
    in->rng.key[0] = key0;
    in->rng.key[1] = key1;
    in->rng.counter = counter;
    nodes = trace_map(in, in->sp[-1], false, leaf_node, again);
    v_push(in, nodes);
    Tuple *cotangents = cotangents_new(in, again);
    seed(in, again, cotangents, nodes, *w);
    tape_back(in, again, cotangents, false);
    for (int i = 0; i < (int)e->operands && (uint32_t)i < again->entries; i++)
        if (cotangents->items[1 + i].tag != V_UNDEF)
            out[i] = v_retain(cotangents->items[1 + i]);
    stack_cut(in, mark);
}

/* How many operands stand in this part of the arguments. */
static int operands_in(Value where)
{
    int n = where.tag == V_BOOL && where.i;
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
    if (where.tag == V_BOOL && where.i) {
        if (!same_shape(part, x))
            err_raise(&in->ctx, ERR_SHAPE, "the vjp gave %s for an argument that is %s",
                      v_describe_a(v_plain(part), a, sizeof a),
                      v_describe_a(v_plain(x), b, sizeof b));
        *out = v_retain(part);
        return out + 1;
    }
    if (where.tag != V_TUPLE || !operands_in(where))
        return out;
    if (part.tag != V_TUPLE || part.tuple->count != where.tuple->count)
        check_like(in, "custom_rule", "what its vjp gave", part, x, false);
    for (uint32_t i = 0; i < where.tuple->count; i++)
        out = custom_out(in, part.tuple->items[i], x.tuple->items[i], where.tuple->items[i], out);
    return out;
}

/* w with zeros where nothing arrived at a field of the result r; owned. */
static Value filled(Interp *in, Value w, Value r)
{
    if (w.tag == V_NONE && r.tag != V_TUPLE && trace_leaves(r, false))
        return call_row_of(in, "like", (Value[]){ v_plain(r), v_int(0) }, 2);
    if (w.tag != V_TUPLE || r.tag != V_TUPLE || w.tuple->count != r.tuple->count)
        return v_retain(w);
    Tuple *to = tuple_new(&in->ctx, w.tuple->count);
    v_push(in, v_tuple(to));
    for (uint32_t i = 0; i < to->count; i++) {
        to->items[i] = filled(in, w.tuple->items[i], r.tuple->items[i]);
        if (r.tuple->names && r.tuple->names[i])
            tuple_name(&in->ctx, to, i, r.tuple->names[i]);
    }
    in->sp--;
    return v_tuple(to);
}

/* The vjp of a custom rule: f's arguments, its result, the cotangent. Kept: the rule, the
 * arguments, which are traced, the result. */
static void custom_back(Interp *in, const Tape *t, const Entry *e, Value *w, Value *out)
{
    const Value *kept = t->keep + e->keep;
    const Tuple *args = kept[1].tuple;
    Value *mark = in->sp;
    stack_room(in, args->count + 16);
    for (uint32_t i = 0; i < args->count; i++)
        v_push(in, v_retain(args->items[i]));
    v_push(in, v_retain(kept[3]));
    v_push(in, filled(in, *w, kept[3]));
    int n = (int)(in->sp - mark);
    Value g = call_rule(in, kept[0], mark, n);
    v_push(in, g);
    if (args->count > 1 && (g.tag != V_TUPLE || g.tuple->count != args->count))
        err_raise(&in->ctx, ERR_SHAPE, "the vjp of a function of %u arguments gives a tuple of %u "
                  "cotangents", args->count, args->count);
    for (uint32_t i = 0; i < args->count; i++)
        out = custom_out(in, args->count > 1 ? g.tuple->items[i] : g, args->items[i],
                         kept[2].tuple->items[i], out);
    stack_cut(in, mark);
}

static Value call_entry(Interp *in, const Transform *tr, Tape *t, Value args, Value below,
                        Value where, Value r)
{
    uint32_t node = tape_entry(in, t, ENTRY_CALL, r);
    arguments_operands(t, args);
    tape_at(t, node)->op = op_named(in, tr->name);
    tape_at(t, node)->back = tr->kind == TRANSFORM_CUSTOM ? custom_back : checkpoint_back;
    tape_keep(t, tr->kind == TRANSFORM_CUSTOM ? tr->vjp : tr->f);
    tape_keep(t, below);
    tape_keep(t, where);
    return v_int(node);
}

/* The result traced: a number, or a tuple whose floats are. */
static Value call_result(Interp *in, const Transform *tr, Tape *t, uint32_t node, Value r)
{
    Value plain = v_plain(r);
    if (r.tag == V_TUPLE) {
        Tuple *to = tuple_new(&in->ctx, r.tuple->count);
        v_push(in, v_tuple(to));
        for (uint32_t i = 0; i < r.tuple->count; i++) {
            Value v = r.tuple->items[i], p = v_plain(v);
            if (v.tag == V_TUPLE)
                grad_raise(in, NULL, NULL, "the result of a checkpoint is a number, a tensor or a "
                           "tuple of such");
            if (v_is_numeric(p) && differentiable(v_dtype(p))) {
                uint32_t field = tape_entry(in, t, ENTRY_FIELD, v);
                tape_at(t, field)->field = i;
                tape_operand(t, node, (int)i, -1);
                to->items[i] = v_traced(traced_new(in, t, v_retain(v), field));
            } else {
                to->items[i] = v_retain(v);
            }
            if (r.tuple->names && r.tuple->names[i])
                tuple_name(&in->ctx, to, i, r.tuple->names[i]);
        }
        in->sp--;
        return v_tuple(to);
    }
    if (v_is_numeric(plain) && !differentiable(v_dtype(plain)))
        return cut_value(in, t, r, op_named(in, tr->name), in->at);
    if (!v_is_numeric(plain))
        return v_retain(r);
    return v_traced(traced_new(in, t, v_retain(r), node));
}

/* Forward: the jvp of a custom rule, of the arguments and their tangents. */
static Value custom_forward(Interp *in, const Transform *tr, Tape *t, Value args, Value below,
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
    Traced *x = traced_new(in, t, v_retain(r), 0);
    x->tangent = v_retain(tangent);
    stack_cut(in, mark);
    return v_traced(x);
}

Value recorded_call(Interp *in, const Transform *tr, const Args *a)
{
    Tape *t = NULL;
    Value *mark = in->sp;
    if (in->boxes)
        for (int i = 0; i < a->count + a->named_count; i++)
            t = tape_of(argument(a, i), t);
    bool forward = t && t->mode == TAPE_FORWARD;
    if (!t || (forward && tr->kind == TRANSFORM_CHECKPOINT))
        return call_named(in, tr->f, a->args, a->count, a->names, a->named, a->named_count);
    if (!forward && tr->kind == TRANSFORM_CUSTOM && tr->vjp.tag == V_NONE)
        grad_raise(in, NULL, "custom_rule(f, vjp=(x, y, w) -> …)",
                   "the custom rule has no vjp, which reverse mode takes");
    const Exec *at = in->at;
    uint64_t rng[3] = { in->rng.key[0], in->rng.key[1], in->rng.counter };
    v_push(in, arguments_tuple(in, a));
    v_push(in, value_below(in, mark[0], t));
    v_push(in, traced_where(in, mark[0], t));
    /* the same function, called with what the level below sees */
    v_push(in, call_with_tuple(in, tr->f, mark[1].tuple));
    in->at = at;
    Value r;
    if (tape_of(mark[3], NULL) == t)
        grad_raise(in, NULL, "pass it as an argument",
                   "the function uses a value whose derivative is taken, but not as an argument");
    if (forward) {
        r = custom_forward(in, tr, t, mark[0], mark[1], mark[3]);
    } else {
        uint32_t node = (uint32_t)call_entry(in, tr, t, mark[0], mark[1], mark[2], mark[3]).i;
        if (tr->kind == TRANSFORM_CUSTOM)
            tape_keep(t, mark[3]);
        for (int i = 0; tr->kind == TRANSFORM_CHECKPOINT && i < 3; i++)
            tape_keep(t, v_int((int64_t)rng[i]));
        if (mark[3].tag == V_TUPLE)
            keep_fields(in, t, mark[3]);
        r = call_result(in, tr, t, node, mark[3]);
    }
    stack_cut(in, mark);
    return r;
}
