/* What meets a traced value and is recorded: operations, literals, stores. */
#include "interp/gradient/transform.h"
#include "interp/index/index.h"
#include "interp/index/literal.h"
#include "interp/precision/autocast.h"
#include "interp/sparse/sparse_door.h"

#include "core/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- errors ---- */
void grad_raise(Interp *in, const Exec *at, const char *help, const char *fmt, ...)
{
    Buf *text = &in->scratch;
    va_list args;
    buf_clear(text);
    va_start(args, fmt);
    buf_vprintf(text, fmt, args);
    va_end(args);
    if (at)
        in->at = at;
    err_raise_help(&in->ctx, ERR_GRAD, help, "%s", buf_cstr(text));
}

void grad_raise_step(Interp *in, const Op *op, const Exec *at)
{
    char label[64], help[240];
    if (at)
        in->at = at;
    const char *operand = at ? err_operand_name(&in->ctx, 0) : NULL, *f = op->name;
    op_label(op, label, sizeof label);
    if (operand && !op->infix && !(op->devices & DEV_CASTS))
        snprintf(help, sizeof help, "as a constant: detach(%s(%s)); straight through: "
                 "%s + detach(%s(%s) - %s)", f, operand, operand, f, operand, operand);
    else
        snprintf(help, sizeof help, "detach(…) around it makes it a constant");
    grad_raise(in, NULL, help, "%s is a step function, which has no useful derivative", label);
}

void grad_raise_argument(Interp *in, const Op *op, const Name *parameter)
{
    char label[64];
    grad_raise(in, NULL, "detach(…) around the argument makes it a constant",
               "%s has no derivative by its argument %s", op_label(op, label, sizeof label),
               parameter->text);
}

static _Noreturn void raise_no_rule(OpCall *c)
{
    char label[64];
    op_label(c->op, label, sizeof label);
    grad_raise(c->in, NULL, "detach(…) of its operand makes it a constant, custom_rule(f, …) "
               "gives a function a rule",
               "%s has no derivative%s%s", label, c->op->no_gradient ? ": " : "",
               c->op->no_gradient ? c->op->no_gradient : "");
}

static _Noreturn void raise_eight(OpCall *c)
{
    char label[64];
    int i = c->fixed < c->count ? c->fixed : 0;         /* the tensors of einsum */
    op_label(c->op, label, sizeof label);
    grad_raise(c->in, NULL, GRAD_EIGHT_HELP, "%s of %s and %s has no derivative in autocast i8, "
               "which rounds both to 8 bits", label, arg_text(c, i), arg_text(c, i + 1));
}

/* ---- the operands ---- */
typedef struct Found {
    bool nodes;                     /* one of them has a derivative */
    const Traced *cut;              /* one depends through bools and ints only */
    const Traced *step;             /* one went through a step function */
} Found;

static bool depends(const Traced *x) { return x->node || x->tangent.tag != V_UNDEF; }

static void look(Found *f, Value v, const Tape *t)
{
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        look(f, v.tuple->items[i], t);
    if (v.tag != V_TRACED || traced_of(v)->tape != t)
        return;
    const Traced *x = traced_of(v);
    f->nodes |= depends(x) && !x->step;
    if (x->step && !f->step)
        f->step = x;
    if (!depends(x) && !x->step && x->cut && !f->cut)
        f->cut = x;
}

static uint32_t node_on(Value v, const Tape *t)
{
    return v.tag == V_TRACED && traced_of(v)->tape == t ? traced_of(v)->node : 0;
}

/* Operands in order, those in tuples one by one; their tangents go onto the value stack. */
void list_operands(Interp *in, Tape *t, const Value *args, int count)
{
    for (int i = 0; i < count; i++) {
        if (args[i].tag != V_TUPLE) {
            tape_operand(t, node_on(args[i], t), i, -1);
            v_push(in, v_retain(tangent_on(args[i], t)));
            continue;
        }
        const Tuple *tuple = args[i].tuple;
        stack_room(in, tuple->count);
        for (uint32_t k = 0; k < tuple->count; k++) {
            Value v = tuple->items[k];
            if (v.tag == V_TUPLE && tape_of(v, NULL))
                grad_raise(in, NULL, NULL,
                           "a derivative of tuples inside tuples is not taken here");
            tape_operand(t, node_on(v, t), i, (int)k);
            v_push(in, v_retain(tangent_on(v, t)));
        }
    }
}

/* ---- results ---- */
Value cut_value(Interp *in, Tape *t, Value r, const Op *op, const Exec *at)
{
    if (in->rules)
        return v_retain(r);
    Traced *x = traced_new(in, t, v_retain(r), 0);
    x->cut = op;
    x->cut_at = at;
    return v_traced(x);
}

/* The traced value of an entry that was just made; on a forward tape the entry goes again.
 * tangents: one for each operand. */
static Value forward_value(Interp *in, Tape *t, Value r, Value tangent)
{
    v_push(in, tangent);
    Traced *x = traced_new(in, t, v_retain(r), 0);
    in->sp--;
    x->tangent = tangent;
    return v_traced(x);
}

Value entry_value(Interp *in, Tape *t, uint32_t node, Value r, const Value *tangents)
{
    if (t->mode == TAPE_REVERSE)
        return v_traced(traced_new(in, t, v_retain(r), node));
    in->rules++;
    Value tangent = entry_forward(in, t, node, r, tangents);
    in->rules--;
    v_push(in, tangent);
    tape_drop(in, t, node - 1);
    in->sp--;
    return forward_value(in, t, r, tangent);
}

bool has_derivative(Value v)
{
    v = v_plain(v);
    return v_is_numeric(v) && differentiable(v_dtype(v));
}

static Value field_value(Interp *in, Tape *t, uint32_t node, uint32_t i, Value v, Value tangent)
{
    if (t->mode == TAPE_FORWARD) {
        Traced *x = traced_new(in, t, v_retain(v), 0);
        if (tangent.tag == V_TUPLE && tangent.tuple->items[i].tag != V_NONE)
            x->tangent = v_retain(tangent.tuple->items[i]);
        return v_traced(x);
    }
    uint32_t field = tape_entry(in, t, ENTRY_FIELD, v);
    tape_at(t, field)->field = i;
    tape_operand(t, node, (int)i, -1);
    return v_traced(traced_new(in, t, v_retain(v), field));
}

/* Keeps what a tuple of cotangents of r's parts starts from: its names, and none for each. */
void keep_fields(Interp *in, Tape *t, Value r)
{
    Tuple *fields = tuple_new(&in->ctx, parts_of(r).count);
    v_push(in, v_tuple(fields));
    for (uint32_t i = 0; i < fields->count; i++) {
        fields->items[i] = v_none();
        if (r.tag == V_TUPLE && r.tuple->names && r.tuple->names[i])
            tuple_name(&in->ctx, fields, i, r.tuple->names[i]);
    }
    tape_keep(t, in->sp[-1]);
    stack_cut(in, in->sp - 1);
}

/* A tuple of results: floats among its items are traced one by one, bools and ints depend on the
 * operands without a derivative. tangent: of the floats, on a forward tape; op is the row. */
static Value tuple_value(Interp *in, Tape *t, uint32_t node, Value r, Value tangent, const Op *op)
{
    const Exec *at = in->at;
    Value *mark = in->sp;
    const Tuple *from = r.tuple;
    Tuple *to = tuple_new(&in->ctx, from->count);
    v_push(in, v_tuple(to));
    for (uint32_t i = 0; i < from->count; i++) {
        Value v = from->items[i];
        to->items[i] = has_derivative(v) ? field_value(in, t, node, i, v, tangent)
                     : v_is_numeric(v_plain(v)) ? cut_value(in, t, v, op, at) : v_retain(v);
        if (from->names && from->names[i])
            tuple_name(&in->ctx, to, i, from->names[i]);
    }
    v_retain(v_tuple(to));
    stack_cut(in, mark);
    return v_tuple(to);
}

Value step_value(Interp *in, Tape *t, Value r, const Op *op, const Exec *at)
{
    if (in->rules)
        return v_retain(r);
    uint32_t node = t->mode == TAPE_REVERSE ? tape_entry(in, t, ENTRY_STEP, r) : 0;
    if (node) {
        tape_at(t, node)->op = op;
        tape_at(t, node)->at = at;
    }
    Traced *x = traced_new(in, t, v_retain(r), node);
    x->step = true;
    x->cut = op;
    x->cut_at = at;
    return v_traced(x);
}

static bool any_derivative(Value r)
{
    if (r.tag != V_TUPLE)
        return has_derivative(r);
    for (uint32_t i = 0; i < r.tuple->count; i++)
        if (has_derivative(r.tuple->items[i]))
            return true;
    return false;
}

/* What a result depends on through f->cut, if it is a number that may. */
static Value cut_or_plain(Interp *in, Tape *t, Value r, const Found *f)
{
    bool cut = f->cut && v_plain(r).tag != V_TUPLE;
    return cut ? cut_value(in, t, r, f->cut->cut, f->cut->cut_at) : v_retain(r);
}

/* A result that carries no derivative: bools, ints, what a step function gave. V_UNDEF: it does. */
static Value row_without(OpCall *c, Tape *t, const Rule *rule, Value r, const Found *f)
{
    Interp *in = c->in;
    Value plain = v_plain(r);
    bool floats = any_derivative(r);
    bool truth = v_is_numeric(plain) && v_dtype(plain) == DT_BOOL;          /* x in y */
    bool reads = truth || (!(c->op->devices & DEV_ANYWHERE) && v_is_numeric(plain));
    if (f->nodes && !floats && c->op->no_gradient)
        raise_no_rule(c);
    if (f->nodes && reads &&
        (rule->kind == RULE_STEP || (!floats && (c->op->devices & DEV_CASTS))))
        return step_value(in, t, r, c->op, in->at);
    if (f->step && !floats && reads && dtype_info(v_dtype(plain))->kind == 'i')
        return step_value(in, t, r, f->step->cut, f->step->cut_at);
    if (f->step && floats && t->mode == TAPE_FORWARD && plain.tag != V_TUPLE)
        return step_value(in, t, r, f->step->cut, f->step->cut_at);
    if (!floats && f->nodes && reads)
        return cut_value(in, t, r, c->op, in->at);
    if (!floats && (f->nodes || f->cut) && r.tag == V_TUPLE && !(c->op->devices & DEV_ANYWHERE))
        return tuple_value(in, t, 0, r, v_undef(), f->nodes ? c->op : f->cut->cut);
    if (!floats || rule->kind == RULE_CONSTANT)
        return reads ? cut_or_plain(in, t, r, f) : v_retain(r);
    return f->nodes || f->step ? v_undef() : cut_or_plain(in, t, r, f);
}

/* Forward, by a rule of its own; V_UNDEF: it has none. */
static Value row_forward(OpCall *c, Tape *t, const Value *below, Value r)
{
    Interp *in = c->in;
    in->rules++;
    Value tangent = forward_row(in, t, c->op, c->args, below, c->count, r);
    in->rules--;
    if (tangent.tag == V_UNDEF || r.tag != V_TUPLE)
        return tangent.tag == V_UNDEF ? tangent : forward_value(in, t, r, tangent);
    v_push(in, tangent);
    Value out = tuple_value(in, t, 0, r, tangent, c->op);
    stack_cut(in, in->sp - 1);
    return out;
}

/* The tuple of an entry that was just made. tangents: of the operands. */
static Value entry_tuple(Interp *in, Tape *t, uint32_t node, Value r, const Value *tangents,
                         const Op *op)
{
    if (t->mode == TAPE_REVERSE)
        return tuple_value(in, t, node, r, v_undef(), op);
    in->rules++;
    v_push(in, entry_forward(in, t, node, r, tangents));
    in->rules--;
    tape_drop(in, t, node - 1);
    Value out = tuple_value(in, t, 0, r, in->sp[-1], op);
    stack_cut(in, in->sp - 1);
    return out;
}

/* below: the arguments as the level below sees them. r is borrowed. */
static Value row_value(OpCall *c, Tape *t, const Value *below, Value r, const Found *f)
{
    Interp *in = c->in;
    const Rule *rule = rule_of(in, c->op);
    Value *mark = in->sp, out = row_without(c, t, rule, r, f);
    if (out.tag != V_UNDEF)
        return out;
    if (rule->kind == RULE_NONE || rule->kind == RULE_STEP)
        raise_no_rule(c);
    if (t->mode == TAPE_FORWARD && rule->kind == RULE_FUNCTION)
        out = row_forward(c, t, below, r);
    if (out.tag != V_UNDEF)
        return out;
    uint32_t node = tape_entry(in, t, ENTRY_ROW, r);
    tape_at(t, node)->op = c->op;
    list_operands(in, t, c->args, c->count);
    rule_keep(in, t, c->op, below, c->count, r);
    if (r.tag == V_TUPLE)
        keep_fields(in, t, r);
    out = r.tag == V_TUPLE ? entry_tuple(in, t, node, r, mark, c->op)
                           : entry_value(in, t, node, r, mark);
    stack_cut(in, mark);
    return out;
}

/* ---- operations ---- */
/* A tuple where a row takes one tensor, as that tensor, its items traced; owned. */
static Value joined(Interp *in, Value tuple)
{
    Value *mark = in->sp;
    stack_check(in);
    stack_room(in, (size_t)tuple.tuple->count + 16);
    for (uint32_t i = 0; i < tuple.tuple->count; i++) {
        Value v = tuple.tuple->items[i];
        v_push(in, v.tag == V_TUPLE ? joined(in, v) : v_retain(v));
    }
    Value r = in->vector(in, mark, (int)tuple.tuple->count);
    stack_cut(in, mark);
    return r;
}

/* Rows of a tensor are: vectors of several lengths are a list (of diagonals). */
static bool of_one_shape(const Tuple *t)
{
    for (uint32_t i = 1; i < t->count; i++)
        if (v_is_numeric(v_plain(t->items[0])) && v_is_numeric(v_plain(t->items[i])) &&
            !same_shape(t->items[0], t->items[i]))
            return false;
    return true;
}

/* Is argument i of the row a tuple in which something is traced, and no list of tensors? One with
 * names is what a row gave. */
static bool joins(const OpCall *c, int i)
{
    const OpSig *sig = op_sig(c->in, c->op);
    return c->args[i].tag == V_TUPLE && tape_of(c->args[i], NULL) && c->args[i].tuple->count &&
           !c->args[i].tuple->names && !(c->op->devices & DEV_ANYWHERE) &&
           !(sig->variadic && i >= sig->fixed) && of_one_shape(c->args[i].tuple);
}

/* args: as the level below t sees them, on the value stack. While a row that draws runs, levels
 * below are asked for it as well. */
static Value recorder_row(OpCall *c, Tape *t, Value *args, const Aspect *rest)
{
    Interp *in = c->in;
    OpCall below = *c;
    Tape *innermost = in->tape;
    const Exec *at = in->at;
    below.args = args;
    below.reuse = 0;
    t->recorder->before(c, t, args);
    uint8_t failing = t->failing;
    t->failing = FAILING_OPERATION;
    if (t->recorder->hears(c))
        in->tape = t->up;
    v_push(in, call_rest(&below, rest - 1));
    in->tape = innermost;
    t->failing = failing;
    in->at = at;
    Value out = t->recorder->row(c, t, args, in->sp[-1]);
    stack_cut(in, args);
    return out;
}

Value record_row(OpCall *call, const Aspect *rest)
{
    OpCall with = *call, *c = &with;
    Interp *in = c->in;
    Tape *heard = tape_hearing(in, c), *t = heard;
    Value *mark = in->sp, *args = mark;
    stack_check(in);
    stack_room(in, (size_t)c->count * 4 + 16);
    for (int i = 0; i < c->count; i++)
        t = tape_of(c->args[i], t);
    bool joined_up = !c->op->draws && !(t && t->recorder);
    for (int i = 0; joined_up && i < c->count; i++)
        if (joins(call, i)) {
            if (c->args == call->args)
                for (int k = 0; k < c->count; k++)
                    v_push(in, v_retain(call->args[k]));
            c->args = args;
            Value r = joined(in, args[i]), old = args[i];
            args[i] = r;
            v_release(&in->ctx, old);
        }
    mark = in->sp;
    for (int i = 0; i < c->count; i++)
        t = tape_of(c->args[i], t);
    for (int i = 0; i < c->count; i++)
        v_push(in, value_below(in, c->args[i], t));
    Found f = { 0 };
    for (int i = 0; t && i < c->count; i++)
        look(&f, c->args[i], t);
    if (t && t->recorder)
        return recorder_row(c, t, mark, rest);
    bool first = f.nodes && c->op->recorded_as;
    if (first)
        c->op = op_named(in, c->op->recorded_as);
    OpCall below = *c;
    below.args = mark;
    below.reuse = 0;
    const Exec *at = in->at;
    if (f.nodes && autocast_eight(in, c->op, mark, c->count))
        raise_eight(c);
    Value r = call_rest(&below, rest - 1);
    v_push(in, r);
    in->at = at;
    Value out = t ? row_value(c, t, mark, r, &f) : v_retain(r);
    if (first) {
        v_push(in, out);
        out = v_retain(out.tuple->items[0]);
    }
    stack_cut(in, args);
    return out;
}

/* Constant to derivatives; a graph keeps that it is. */
static Value detached(OpCall *c, Value v)
{
    Interp *in = c->in;
    v_push(in, value_underived(in, v));
    Value whole = in->sp[-1], r;
    Tape *t = whole.tag == V_TRACED ? traced_of(whole)->tape : NULL;
    if (t) {
        OpCall one = *c;
        one.args = &whole;
        v_push(in, value_below(in, whole, t));
        v_push(in, detached(c, in->sp[-1]));
        r = t->recorder->row(&one, t, in->sp - 2, in->sp[-1]);
        stack_cut(in, in->sp - 2);
    } else {
        r = v_retain(whole);
    }
    stack_cut(in, in->sp - 1);
    return r;
}

Value detach_run(OpCall *c)
{
    Interp *in = c->in;
    Value v = c->args[0];
    if (v.tag != V_TUPLE || !tape_recording(in, 0))
        return v.tag == V_TUPLE ? value_underived(in, v) : detached(c, v);
    stack_check(in);
    Value *to = push_like(in, v);
    for (uint32_t i = 0; i < v.tuple->count; i++) {
        OpCall part = *c;
        part.args = &v.tuple->items[i];
        to[i] = detach_run(&part);
    }
    return *--in->sp;
}

/* ---- literals ---- */
static Value build(Interp *in, const Value *items, const bool *weak, const int *lengths, int n)
{
    return lengths ? build_matrix_weak(in, items, weak, lengths, n)
                   : build_vector_weak(in, items, weak, n);
}

static int64_t value_size(Value v)
{
    v = v_measured(v, LENGTH_ALL);
    return v.tag == V_TENSOR ? v.tensor->size : v.tag == V_RANGE ? v.range->count : 1;
}

/* Where the elements of each item went: the literal of their numbers, sorted. */
static Value places(Interp *in, const Value *items, const int *lengths, int rows, int n)
{
    Value *mark = in->sp;
    int64_t from = 0;
    stack_room(in, (size_t)n + 8);
    for (int i = 0; i < n; i++) {
        Value v = v_plain(items[i]);
        int64_t size = value_size(v);
        int rank = v.tag == V_TENSOR ? v.tensor->rank : v.tag == V_RANGE ? 1 : 0;
        Tensor *numbers = tensor_new(&in->ctx, DT_I64, rank,
                                     v.tag == V_TENSOR ? tensor_shape(v.tensor) : &size);
        for (int64_t k = 0; k < size; k++)
            ((int64_t *)numbers->data)[k] = from + k;
        from += size;
        v_push(in, v_tensor(&in->ctx, numbers));
    }
    v_push(in, build(in, mark, NULL, lengths, rows));
    Value flat = call_row_of(in, "flatten", in->sp - 1, 1);
    v_push(in, flat);
    Value r = call_row_of(in, "argsort", in->sp - 1, 1);
    stack_cut(in, mark);
    return r;
}

/* Blocks of which some are sparse: concat has their entries. */
static bool sparse_blocks(const Value *items, const int *lengths, int rows)
{
    bool sparse = false;
    int n = 0;
    for (int i = 0; lengths && i < rows; i++)
        n += lengths[i];
    for (int i = 0; i < n; i++) {
        if (v_plain(items[i]).tag != V_TENSOR || v_plain(items[i]).tensor->rank != 2)
            return false;
        sparse |= v_sparse(v_plain(items[i])) != NULL;
    }
    return sparse;
}

static Value joined_blocks(Interp *in, const Value *items, const int *lengths, int rows)
{
    Value *mark = in->sp;
    stack_room(in, (size_t)rows + 8);
    v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
    for (int i = 0; i < rows; items += lengths[i++]) {
        v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
        for (int k = 0; k < lengths[i]; k++)
            tuple_push(&in->ctx, &mark[1].tuple, NULL, v_retain(items[k]));
        Value row = call_row_of(in, "concat", (Value[]){ v_int(1), mark[1] }, 2);
        tuple_push(&in->ctx, &mark->tuple, NULL, row);
        stack_cut(in, mark + 1);
    }
    Value all = call_row_of(in, "concat", (Value[]){ v_int(0), mark[0] }, 2);
    stack_cut(in, mark);
    return all;
}

Value record_literal(Interp *in, const Value *items, const bool *weak, const int *lengths,
                            int rows)
{
    if (sparse_blocks(items, lengths, rows))
        return joined_blocks(in, items, lengths, rows);
    int n = lengths ? 0 : rows;
    for (int i = 0; lengths && i < rows; i++)
        n += lengths[i];
    Value *mark = in->sp;
    Tape *t = NULL;
    stack_check(in);
    stack_room(in, (size_t)n * 3 + 16);
    for (int i = 0; i < n; i++)
        t = tape_of(items[i], t);
    for (int i = 0; i < n; i++)
        v_push(in, value_below(in, items[i], t));
    uint8_t failing = t ? t->failing : 0;
    if (t)
        t->failing = FAILING_OPERATION;
    int deaf = tape_below_begin(in, t);
    Value r = build(in, mark, weak, lengths, rows);
    tape_below_end(in, deaf);
    v_push(in, r);
    if (t)
        t->failing = failing;
    if (t && t->recorder) {
        Value kept = t->recorder->literal(in, t, items, weak, lengths, rows, r);
        stack_cut(in, mark);
        return kept;
    }
    Found f = { 0 };
    for (int i = 0; t && i < n; i++)
        look(&f, items[i], t);
    Value out = v_retain(r);
    bool passes = f.nodes || (f.step && t->mode == TAPE_REVERSE);
    if (f.step && (!has_derivative(r) || t->mode == TAPE_FORWARD)) {
        v_release(&in->ctx, out);
        out = step_value(in, t, r, f.step->cut, f.step->cut_at);
    } else if (passes && has_derivative(r)) {
        v_push(in, out);
        v_push(in, places(in, mark, lengths, rows, n));
        Value *tangents = in->sp;
        uint32_t node = tape_entry(in, t, ENTRY_LITERAL, r);
        list_operands(in, t, items, n);
        tape_keep(t, tangents[-1]);
        for (int i = 0; i < n; i++)
            tape_keep(t, v_int(value_size(items[i])));
        out = entry_value(in, t, node, r, tangents);
    } else if (f.cut && v_is_numeric(v_plain(r))) {
        v_release(&in->ctx, out);
        out = cut_value(in, t, r, f.cut->cut, f.cut->cut_at);
    }
    stack_cut(in, mark);
    return out;
}

/* ---- elements that are chosen ---- */
/* The highest tape of what is among the subscripts, and what has no derivative there, or NULL. */
static const Traced *chosen_by(const Value *subs, int n, Tape **t)
{
    *t = NULL;
    for (int i = 0; i < n; i++)
        *t = tape_of(subs[i], *t);
    for (int i = 0; i < n && *t; i++)
        if (subs[i].tag == V_TRACED && traced_of(subs[i])->tape == *t && traced_of(subs[i])->cut)
            return traced_of(subs[i]);
    return NULL;
}

/* What has no derivative of its own depends on how it was chosen. */
Value record_chosen(Interp *in, Value r, const Value *subs, int n)
{
    Tape *t;
    const Traced *by = chosen_by(subs, n, &t);
    if (!by || !v_is_numeric(v_plain(r)) || tape_of(r, t) != t)
        return r;
    const Traced *own = r.tag == V_TRACED && traced_of(r)->tape == t ? traced_of(r) : NULL;
    if (own && (depends(own) || own->cut))
        return r;
    v_push(in, r);
    v_push(in, value_below(in, r, t));
    Value out = cut_value(in, t, in->sp[-1], by->cut, by->cut_at);
    stack_cut(in, in->sp - 2);
    return out;
}

/* ---- stores ---- */
/* *slot as a traced value of t that nobody else holds; a plain one becomes a constant there. */
static Traced *own_slot(Interp *in, Value *slot, Tape *t)
{
    Traced *x = slot->tag == V_TRACED && traced_of(*slot)->tape == t ? traced_of(*slot) : NULL;
    if (x && x->native.refs == 1)
        return x;
    Value old = *slot;
    Traced *own = traced_new(in, t, v_retain(x ? x->value : old), x ? x->node : 0);
    if (x) {
        own->tangent = v_retain(x->tangent);
        own->step = x->step;
        own->cut = x->cut;
        own->cut_at = x->cut_at;
    }
    *slot = v_traced(own);
    v_release(&in->ctx, old);
    return own;
}

static Value zeros_like(Interp *in, Value v)
{
    return call_row_of(in, "like", (Value[]){ v_measured(v, LENGTH_ALL), v_int(0) }, 2);
}

static void store_forward(Interp *in, Traced *x, const Sub *subs, int n, Value v, Tape *t,
                          const Op *op)
{
    Value tangent = tangent_on(v, t);
    if (x->tangent.tag == V_UNDEF && tangent.tag == V_UNDEF)
        return;
    if (x->tangent.tag == V_UNDEF)
        x->tangent = zeros_like(in, x->value);
    if (!op)
        index_set(in, &x->tangent, subs, n, tangent.tag == V_UNDEF ? v_float(0) : tangent);
    else if (tangent.tag != V_UNDEF)
        index_update(in, &x->tangent, subs, n, op, tangent, false);
}

/* x depends on what `by` does, which was stored in it and has no derivative. */
static void mark_cut(Traced *x, const Traced *by)
{
    x->cut = by->cut;
    x->cut_at = by->cut_at;
    x->step |= by->step;
}

static void record_set(Interp *in, Tape *t, Value *slot, const Sub *subs, int n, Value v,
                       EntryKind kind, const Op *op)
{
    Value *mark = in->sp;
    v_push(in, value_below(in, v, t));
    Traced *x = own_slot(in, slot, t);
    const Traced *by = v.tag == V_TRACED && traced_of(v)->tape == t ? traced_of(v) : NULL;
    if (kind == ENTRY_ADD)
        index_update(in, &x->value, subs, n, op, *mark, false);
    else
        index_set(in, &x->value, subs, n, *mark);
    if (t->mode == TAPE_FORWARD) {
        store_forward(in, x, subs, n, v, t, op);
        if (by && (by->step || !x->cut))
            mark_cut(x, by);
    } else if (x->node || node_on(v, t)) {
        uint32_t node = tape_entry(in, t, kind, x->value);
        tape_at(t, node)->op = op;
        tape_operand(t, x->node, 0, -1);
        tape_operand(t, node_on(v, t), 1, -1);
        for (int i = 0; i < n; i++) {
            tape_keep(t, v_int(subs[i].kind));
            tape_keep(t, subs[i].kind == SUB_VALUE ? subs[i].v : subs[i].start);
            tape_keep(t, subs[i].stop);
            tape_keep(t, subs[i].step);
        }
        x->node = node;
        if (by && by->step && !has_derivative(x->value))
            mark_cut(x, by);
    } else if (by && !x->cut) {
        mark_cut(x, by);
    }
    stack_cut(in, mark);
}

/* It depends on where in it something was stored. */
void record_placed(Interp *in, Value *slot, const Value *subs, int n)
{
    Tape *t;
    const Traced *by = chosen_by(subs, n, &t);
    if (!by || in->rules || !v_is_numeric(v_plain(*slot)) || tape_of(*slot, t) != t)
        return;
    Traced *x = own_slot(in, slot, t);
    if (depends(x) || x->cut)
        return;
    x->cut = by->cut;
    x->cut_at = by->cut_at;
}

/* ---- updates at positions of which some are the same ---- */
/* Vector of what `count` numbers stand for, on the value stack. */
static Sub push_numbers(Interp *in, int64_t count, int64_t **to)
{
    Tensor *t = tensor_new(&in->ctx, DT_I64, 1, &count);
    v_push(in, v_tensor_raw(t));
    *to = (int64_t *)t->data;
    return (Sub){ .kind = SUB_VALUE, .v = v_tensor_raw(t) };
}

/* One value for each pick, as a vector; what is one number stays it. */
static void push_values(Interp *in, const Selection *to, Value v)
{
    Value plain = v_plain(v);
    int64_t count = plain.tag == V_RANGE ? plain.range->count
                  : plain.tag == V_TENSOR ? plain.tensor->size : 1;
    v_push(in, v_retain(v));
    if (count == 1)
        return;
    if (plain.tag == V_TENSOR && plain.tensor->rank > to->rank) {
        int more = plain.tensor->rank - to->rank;
        v_push(in, shape_tuple(in, to->rank, plain.tensor->dims + more));
        v_push(in, call_row_of(in, "reshape", in->sp - 2, 2));
    }
    v_push(in, shape_tuple(in, to->rank, to->shape));
    v_push(in, call_row_of(in, "broadcast_to", in->sp - 2, 2));
    v_push(in, call_row_of(in, "flatten", in->sp - 1, 1));
}

/* x[subs] op= v, one after the other: in rounds, each of positions that differ. */
static void record_rounds(Interp *in, Value *slot, const IndexRounds *r, const Op *op, Value v,
                          bool weak)
{
    Value *mark = in->sp;
    v_push(in, v_retain(v_plain(*slot)));
    v_push(in, call_row_of(in, "flatten", slot, 1));
    push_values(in, &r->selection, v);
    Value *flat = mark + 1, *values = in->sp - 1, *top = in->sp;
    int64_t *to, count = r->distinct;
    bool many = v_plain(*values).tag == V_TENSOR && v_plain(*values).tensor->size > 1;
    for (int64_t round = 0; round < r->most; round++) {
        poll_interrupt(in);
        while (r->counts[count - 1] <= round)
            count--;
        Sub pick = push_numbers(in, count, &to);
        for (int64_t u = 0; u < count; u++)
            to[u] = r->order[r->first[u] + round];
        Sub at = push_numbers(in, count, &to);
        memcpy(to, r->element, (size_t)count * sizeof *to);
        v_push(in, index_get(in, *flat, &at, 1));
        v_push(in, many ? index_get(in, *values, &pick, 1) : v_retain(*values));
        v_push(in, op_binary(in, op, top[2], top[3], weak ? 2 : 0));
        index_set(in, flat, &at, 1, top[4]);
        stack_cut(in, top);
    }
    v_push(in, shapes_of(in, *mark));
    Value whole = call_row_of(in, "reshape", (Value[]){ *flat, in->sp[-1] }, 2), old = *slot;
    *slot = whole;
    v_release(&in->ctx, old);
    stack_cut(in, mark);
}

/* x[subs] op= v by the operation, and its result stored. */
static void record_update(Interp *in, Tape *t, Value *slot, const Sub *subs, int n, const Op *op,
                          Value v, bool weak)
{
    Value *mark = in->sp, plain = v_plain(*slot);
    for (int i = 0; i < n; i++)
        if (subs[i].kind == SUB_VALUE)      /* do some repeat? */
            v_looked(subs[i].v);
    const Exec *site = in->at, *target = index_target(site);
    IndexRounds rounds;
    in->at = target;
    if (plain.tag == V_TENSOR &&
        index_rounds(in, plain.tensor, subs, n, op, v_plain(v), &rounds)) {
        in->at = site;
        record_rounds(in, slot, &rounds, op, v, weak);
    } else {
        v_push(in, index_get(in, *slot, subs, n));
        in->at = site;
        v_push(in, op_binary(in, op, *mark, v, weak ? 2 : 0));
        in->at = target;
        record_set(in, t, slot, subs, n, mark[1], ENTRY_STORE, NULL);
        in->at = site;
    }
    stack_cut(in, mark);
}

/* *slot becomes a value of t, or is one; what is stored, and where, is what the level below
 * sees. */
static void recorder_store(Interp *in, Tape *t, Value *slot, const Sub *subs, int n, const Op *op,
                           Value v, bool weak)
{
    Value *mark = in->sp;
    Sub below[TENSOR_RANK_MAX + 8];
    n = n < TENSOR_RANK_MAX + 8 ? n : TENSOR_RANK_MAX + 8;
    if (v.tag == V_TUPLE)
        v_push(in, v = joined(in, v));
    Value length = t->recorder->number(in, t, v);
    if (length.tag != V_UNDEF) {
        v_push(in, length);
        if (op)
            index_update(in, slot, subs, n, op, length, false);
        else
            index_set(in, slot, subs, n, length);
        stack_cut(in, mark);
        return;
    }
    v_push(in, value_below(in, v, t));
    Value *stored = in->sp - 1;
    subs_below(in, subs, n, t, below);
    bool constant = slot->tag != V_TRACED || traced_of(*slot)->tape != t;
    v_push(in, constant ? v_retain(*slot) : v_undef());
    Value *from = in->sp - 1;
    Traced *x = own_slot(in, slot, t);
    uint8_t failing = t->failing;
    t->failing = FAILING_OPERATION;
    int deaf = tape_below_begin(in, t);
    if (op)
        index_update(in, &x->value, below, n, op, *stored, weak);
    else
        index_set(in, &x->value, below, n, *stored);
    tape_below_end(in, deaf);
    t->failing = failing;
    t->recorder->store(in, t, x, *from, subs, n, op, v, weak);
    stack_cut(in, mark);
}

void record_store(Interp *in, Value *slot, const Sub *subs, int n, const Op *op, Value v,
                         bool weak)
{
    Tape *t = tape_of_subs(subs, n, tape_of(*slot, tape_of(v, NULL)));
    Value *mark = in->sp;
    if (t && t->recorder) {
        recorder_store(in, t, slot, subs, n, op, v, weak);
        return;
    }
    if (!t) {
        /* all that was traced has ended */
        Value plain = value_detached_all(in, *slot), old = *slot;
        *slot = plain;
        v_release(&in->ctx, old);
        v_push(in, value_detached_all(in, v));
        if (op)
            index_update(in, slot, subs, n, op, *mark, weak);
        else
            index_set(in, slot, subs, n, *mark);
        stack_cut(in, mark);
        return;
    }
    if (v.tag == V_TUPLE)
        v_push(in, v = joined(in, v));
    if (!op)
        record_set(in, t, slot, subs, n, v, ENTRY_STORE, NULL);
    else if (op == op_operator(in, TK_ADD) || op == op_operator(in, TK_SUB))
        record_set(in, t, slot, subs, n, v, ENTRY_ADD, op);
    else
        record_update(in, t, slot, subs, n, op, v, weak);
    stack_cut(in, mark);
}
