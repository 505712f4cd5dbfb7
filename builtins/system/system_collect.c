/* Collections: tuples, strings, ranges and tensors walked item by item, and the functions
 * that take functions. */
#include "builtins/arrays/intervals.h"
#include "builtins/rows/texts.h"
#include "builtins/strings/text.h"
#include "interp/index/index.h"

#include "core/base/error.h"
#include "interp/op/arith.h"
#include "interp/state/kind.h"
#include "interp/eval/call.h"
#include "interp/eval/eval_flow.h"
#include "interp/index/literal.h"
#include "kernels/cast/tensor_cast.h"
#include <stdio.h>
#include <string.h>

/* ---- walking ---- */
/* Argument i as something with numbered items (a string becomes its characters), rooted;
 * `count` gets how many. */
static Value sequence(OpCall *c, int i, int64_t *count)
{
    Value whole = c->args[i], v = v_measured(whole, 0);
    char given[96];
    if (v.tag == V_STRING)
        v = op_root(c, text_characters(c->in, v.str));
    if (v.tag == V_TUPLE)
        *count = v.tuple->count;
    else if (v.tag == V_RANGE)
        *count = v.range->count;
    else if (v.tag == V_TENSOR && v.tensor->rank > 0)
        *count = v.tensor->dims[0];
    else
        arg_error(c, i, ERR_TYPE, "%s must be a tensor, tuple, range or string, not %s",
                  arg_name(c, i), v_article(v, given, sizeof given));
    return whole.tag == V_TRACED ? whole : v;
}

/* Item k of a sequence; the caller owns it. */
static Value item_at(Interp *in, Value v, int64_t k)
{
    if (v.tag == V_TUPLE)
        return v_retain(v.tuple->items[k]);
    if (v.tag == V_RANGE)
        return v_int(v.range->start + k * v.range->step);
    Sub sub = { .kind = SUB_VALUE, .v = v_int(k) };
    return index_get(in, v, &sub, 1);
}

/* A rooted tuple of n empty items, to be filled. */
static Tuple *new_items(OpCall *c, int64_t n)
{
    if (n > INT32_MAX)
        err_raise(&c->in->ctx, ERR_MEMORY, "%s: %lld items are too many for a tuple", c->op->name,
                  (long long)n);
    Tuple *t = tuple_new(&c->in->ctx, (uint32_t)n);
    op_root(c, v_tuple(t));
    return t;
}

/* What a literal of these items is: a tensor of numbers, otherwise a tuple. */
static Value literal_of(OpCall *c, Tuple *items)
{
    for (uint32_t i = 0; i < items->count; i++)
        if (!v_is_numeric(v_plain(items->items[i])))
            return v_retain(v_tuple(items));
    int n = (int)items->count;
    return literal_vector(c->in, items->items, NULL, n);
}

static void copy_names(OpCall *c, Tuple *to, const Tuple *from)
{
    for (uint32_t i = 0; from->names && i < to->count; i++)
        tuple_name(&c->in->ctx, to, i, from->names[i]);
}

/* ---- lengths and members ---- */
Value op_run_len(OpCall *c)
{
    Value v = v_plain(c->args[0]);
    int64_t n;
    if (v.tag == V_STRING)
        return v_int((int64_t)str_chars(v.str));
    if (v_is_numeric(v) && !(v.tag == V_TENSOR && v.tensor->rank > 0))
        arg_error(c, 0, ERR_TYPE, "a scalar has no length");
    if (v_kind(v) && v_kind(v)->length)
        return v_kind(v)->length(c->in, v);
    sequence(c, 0, &n);
    return v_int(n);
}

Value op_run_keys(OpCall *c)
{
    const Kind *kind = v_kind(c->args[0]);
    if (kind && kind->keys)
        return kind->keys(c->in, c->args[0]);
    if (c->args[0].tag != V_TUPLE)
        arg_error(c, 0, ERR_TYPE, "%s must be a named tuple, not a %s", arg_name(c, 0),
                  v_type_name(c->args[0]));
    Tuple *t = c->args[0].tuple;
    new_items(c, 0);
    Tuple **slot = &c->in->sp[-1].tuple;
    for (uint32_t i = 0; t->names && i < t->count; i++)
        if (t->names[i])
            tuple_push(&c->in->ctx, slot, NULL,
                       v_str(str_new(&c->in->ctx, t->names[i]->text, t->names[i]->len)));
    return v_retain(v_tuple(*slot));
}

/* A vector with more elements at its end: what concat gives for v as a vector, where a literal
 * takes the floats of t. */
static Value vector_append(OpCall *c, Value t, Value v)
{
    Value n = v_plain(v);
    char kind = t.tag == V_TENSOR ? dtype_info(v_dtype(t))->kind : 'i';
    bool literal = c->weak & 2 && (v.tag == V_INT || v.tag == V_FLOAT) &&
                   (kind == 'f' || kind == 'c') && !dtype_cells(v_dtype(t));
    if (v_is_numeric(n) && !(n.tag == V_TENSOR && n.tensor->rank > 0)) {
        v = op_root(c, build_vector(c->in, &v, 1));
        if (literal)
            v = op_root(c, v_tensor(&c->in->ctx, tensor_cast(&c->in->ctx, v.tensor, v_dtype(t))));
    }
    Value parts[2] = { t, v };
    return op_apply(c->in, op_named(c->in, "concat"), parts, 2, 0, NULL, NULL, 0);
}

Value op_run_append(OpCall *c)
{
    Value t = c->args[0], plain = v_plain(t);
    if (plain.tag == V_TENSOR || plain.tag == V_RANGE)
        return vector_append(c, t, c->args[1]);
    if (t.tag != V_TUPLE)
        arg_error(c, 0, ERR_TYPE, "%s must be a tuple or a vector, not a %s", arg_name(c, 0),
                  v_type_name(t));
    op_root(c, v_retain(t));
    Tuple **slot = &c->in->sp[-1].tuple;
    tuple_push(&c->in->ctx, slot, NULL, v_retain(c->args[1]));
    return v_retain(v_tuple(*slot));
}

/* ---- in ---- */
static bool tuple_contains(OpCall *c, Value item, Tuple *t)
{
    Interp *in = c->in;
    if (t->named && item.tag == V_STRING) {
        const Name *name = names_find(&in->names, item.str->text, item.str->len);
        return name && tuple_find(t, name) >= 0;
    }
    for (uint32_t i = 0; i < t->count; i++)
        if (v_equal(in, item, t->items[i]))
            return true;
    return false;
}

static bool range_contains(Value item, const Range *r)
{
    if (item.tag == V_FLOAT && item.f == (double)(int64_t)item.f)
        item = v_int((int64_t)item.f);
    if (item.tag != V_INT || r->count == 0)
        return false;
    int64_t last = r->start + (r->count - 1) * r->step;
    bool inside = r->step > 0 ? item.i >= r->start && item.i <= last
                              : item.i <= r->start && item.i >= last;
    return inside && (item.i - r->start) % r->step == 0;
}

static bool tensor_contains(OpCall *c, Value item, Value container)
{
    Interp *in = c->in;
    Value hits = op_root(c, op_binary(in, op_operator(in, TK_EQ), item, container, 0));
    Value any = op_apply(in, op_named(in, "any"), &hits, 1, 0, NULL, NULL, 0);
    return any.tag == V_BOOL && any.i;
}

/* What `in` asks; member(x, y) is the same by name. */
static bool is_member(OpCall *c)
{
    Value item = c->args[0], in = c->args[1];
    char given[96], what[96];
    if (in.tag == V_STRING && item.tag == V_STRING)
        return text_contains(c->in, in.str, item.str);
    if (in.tag == V_TUPLE)
        return tuple_contains(c, item, in.tuple);
    if (in.tag == V_RANGE && (v_immediate(item) || !v_is_numeric(item)))
        return range_contains(item, in.range);
    if (in.tag == V_TENSOR && in.tensor->dtype == DT_INTERVAL && v_is_numeric(item))
        return intervals_hold(c);
    if ((in.tag == V_TENSOR || in.tag == V_RANGE) && v_is_numeric(item))
        return tensor_contains(c, item, in);
    bool holds = in.tag == V_STRING;
    Error *e = err_new(&c->in->ctx, ERR_TYPE, holds ? "`in`: a string holds strings, not %s"
                                                    : "`in`: %s cannot be looked for in %s",
                       v_article(item, given, sizeof given), v_article(in, what, sizeof what));
    err_underline(e, holds ? 0 : 1);
    err_throw(e);
}

Value op_run_member(OpCall *c)
{
    return texts_in_texts(c) ? texts_members(c, true) : v_bool(is_member(c));
}

Value op_run_not_contains(OpCall *c)
{
    return texts_in_texts(c) ? texts_members(c, false) : v_bool(!is_member(c));
}

/* ---- several sequences at once ---- */
enum { SEQUENCES_MAX = 64 };

/* Sequences of arguments from `first` on into `over`; returns the shortest length. */
static int64_t sequences(OpCall *c, int first, Value *over)
{
    int64_t shortest = 0, n;
    if (c->count - first > SEQUENCES_MAX)
        err_raise(&c->in->ctx, ERR_TYPE, "%s takes at most %d sequences", c->op->name,
                  SEQUENCES_MAX);
    for (int i = first; i < c->count; i++) {
        over[i - first] = sequence(c, i, &n);
        shortest = i == first || n < shortest ? n : shortest;
    }
    return shortest;
}

Value op_run_zip(OpCall *c)
{
    Value over[SEQUENCES_MAX];
    int64_t n = sequences(c, c->fixed, over);
    int count = c->count - c->fixed;
    Tuple *out = new_items(c, n);
    for (int64_t k = 0; k < n; k++) {
        poll_interrupt(c->in);
        Tuple *row = tuple_new(&c->in->ctx, (uint32_t)count);
        out->items[k] = v_tuple(row);
        for (int i = 0; i < count; i++)
            row->items[i] = item_at(c->in, over[i], k);
    }
    return v_retain(v_tuple(out));
}

Value op_run_enumerate(OpCall *c)
{
    int64_t n, start = c->args[1].tag == V_UNDEF ? 0 : arg_int(c, 1);
    Value over = sequence(c, 0, &n);
    if (start > INT64_MAX - n)
        arg_error(c, 1, ERR_VALUE, "counting %lld elements from %lld leaves the range of an int",
                  (long long)n, (long long)start);
    Tuple *out = new_items(c, n);
    for (int64_t k = 0; k < n; k++) {
        poll_interrupt(c->in);
        Tuple *pair = tuple_new(&c->in->ctx, 2);
        out->items[k] = v_tuple(pair);
        pair->items[0] = v_int(start + k);
        pair->items[1] = item_at(c->in, over, k);
    }
    return v_retain(v_tuple(out));
}

/* ---- functions of functions ---- */
static Value callee(OpCall *c)
{
    Value f = c->args[0];
    if (!v_callable(c->in, f)) {
        char given[96], help[160];
        Value other = c->count > 1 ? c->args[1] : v_undef();
        bool swapped = other.tag == V_FUNCTION || other.tag == V_OP || other.tag == V_FORMAT;
        snprintf(help, sizeof help, "the function comes first: %s(%s, %s)", c->op->name,
                 arg_text(c, 1), arg_text(c, 0));
        arg_error_help(c, 0, ERR_TYPE, swapped ? help : NULL, "%s must be a function, not %s",
                       arg_name(c, 0), v_article(f, given, sizeof given));
    }
    return f;
}

/* Parameters of map: f, x and more...: its sequences are argument 1 and those after `fixed`. */
Value op_run_map(OpCall *c)
{
    Interp *in = c->in;
    Value f = callee(c), over[SEQUENCES_MAX], args[SEQUENCES_MAX];
    int64_t n = sequences(c, 1, over);
    int count = c->count - 1;
    Tuple *out = new_items(c, n);
    for (int64_t k = 0; k < n; k++) {
        poll_interrupt(in);
        Value *mark = in->sp;
        for (int i = 0; i < count; i++)
            args[i] = op_root(c, item_at(in, over[i], k));
        out->items[k] = call_value(in, f, args, count);
        stack_cut(in, mark);
    }
    if (c->args[1].tag != V_TUPLE)
        return literal_of(c, out);
    copy_names(c, out, c->args[1].tuple);
    return v_retain(v_tuple(out));
}

/* No item was chosen from a tensor: as many axes, the first of length 0. */
static Value empty_like(OpCall *c, const Tensor *t)
{
    int64_t shape[TENSOR_RANK_MAX];
    memcpy(shape, t->dims, (size_t)t->rank * sizeof *shape);
    shape[0] = 0;
    return v_tensor(&c->in->ctx, tensor_new(&c->in->ctx, (DType)t->dtype, t->rank, shape));
}

Value op_run_filter(OpCall *c)
{
    Interp *in = c->in;
    int64_t n;
    Value f = callee(c), over = sequence(c, 1, &n);
    op_root(c, v_tuple(tuple_new(&in->ctx, 0)));
    Tuple **out = &in->sp[-1].tuple;
    for (int64_t k = 0; k < n; k++) {
        poll_interrupt(in);
        Value *mark = in->sp, item = op_root(c, item_at(in, over, k));
        Value keep = op_root(c, call_value(in, f, &item, 1));
        if (truth(in, keep))
            tuple_push(&in->ctx, out, over.tag == V_TUPLE && over.tuple->names
                       ? over.tuple->names[k] : NULL, v_retain(item));
        stack_cut(in, mark);
    }
    Value whole = v_plain(c->args[1]);
    if (whole.tag == V_TENSOR && (*out)->count == 0)
        return empty_like(c, whole.tensor);
    if (whole.tag == V_TENSOR || whole.tag == V_RANGE)
        return literal_of(c, *out);
    return v_retain(v_tuple(*out));
}

Value op_run_reduce(OpCall *c)
{
    Interp *in = c->in;
    int64_t n, k = 0;
    Value f = callee(c), over = sequence(c, 1, &n);
    if (c->args[2].tag == V_UNDEF && n == 0) {
        char help[200];
        snprintf(help, sizeof help, "give a start value: reduce(%s, %s, 0)", arg_text(c, 0),
                 arg_text(c, 1));
        arg_error_help(c, 1, ERR_VALUE, help, "%s is empty", arg_text(c, 1));
    }
    op_root(c, c->args[2].tag == V_UNDEF ? item_at(in, over, k++) : v_retain(c->args[2]));
    Value *so_far = in->sp - 1;
    for (; k < n; k++) {
        poll_interrupt(in);
        Value item = op_root(c, item_at(in, over, k));
        Value next = call_value(in, f, (Value[]){ *so_far, item }, 2);
        stack_cut(in, so_far);
        v_push(in, next);
    }
    return v_retain(*so_far);
}
