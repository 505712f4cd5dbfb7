/* Expressions that build something: literals of vectors, matrices, tuples, ranges and
 * strings, comprehensions, unary operators; and iteration over values. */
#include "interp/state/frames.h"
#include "interp/eval/eval_make.h"

#include "core/memory/progress.h"
#include "interp/op/scalar.h"

#include "core/base/error.h"
#include "interp/state/kind.h"
#include "interp/op/arith.h"
#include "interp/fuse/fuse.h"
#include "interp/eval/eval_assign.h"
#include "interp/eval/eval_flow.h"
#include "interp/eval/eval_name.h"
#include "interp/index/index.h"
#include "interp/index/literal.h"
#include "interp/show/show.h"
#include <math.h>
#include <stdio.h>

#include <string.h>

/* ---- unary ---- */
Value unary_door(Interp *in, const Exec *x, Value v)
{
    if (!x->data) {
        v_push(in, v);
        in->at = x;
        err_raise(&in->ctx, ERR_TYPE, "the operator %s is not built yet",
                  operator_symbol((Operator)x->op));
    }
    in->at = x;
    if (fuse_wants(x, &v, 1))
        return fuse_take(in, x, x->data, &v, 1, exec_weak(x->a), 1);
    return op_unary_take(in, x->data, v, exec_weak(x->a), 1);
}

Value eval_unary(Interp *in, const Exec *x)
{
    Value v = exec_run(in, x->a);
    if (x->op == TK_NEG && v.tag == V_FLOAT)
        return v_float(-v.f);
    if (x->op == TK_NEG && v.tag == V_INT && v.i != INT64_MIN)
        return v_int(-v.i);
    if (x->op == TK_SQRT && v.tag == V_FLOAT && v.f >= 0)
        return v_float(sqrt(v.f));
    if (x->op == TK_LNOT && v.tag == V_BOOL)
        return v_bool(!v.i);
    return unary_door(in, x, v);
}

/* A postfix ': the operation behind it is x->data. */
Value eval_transpose(Interp *in, const Exec *x)
{
    Value v = exec_peek(in, x->a);
    if (v.tag == V_INT || v.tag == V_FLOAT)
        return v;
    in->at = x;
    return op_unary_take(in, x->data, v, 0, 1);
}

/* ---- literals ---- */
Value *list_push(Interp *in, const Exec *x)
{
    if (__builtin_expect(x->count > 256, 0))
        stack_room(in, x->count);
    Value *base = in->sp;
    for (uint32_t i = 0; i < x->count; i++)
        v_push(in, exec_run(in, x->list[i]));
    return base;
}

/* data: which elements are numeric literals, or NULL. */
Value eval_vector(Interp *in, const Exec *x)
{
    Value *base = list_push(in, x);
    in->at = x;
    Value r = literal_vector(in, base, x->data, (int)x->count);
    stack_drop(in, base);
    return r;
}

/* a->data: row lengths, sa: rows, list: all elements, data: which are literals. */
Value eval_matrix(Interp *in, const Exec *x)
{
    Value *base = list_push(in, x);
    in->at = x;
    Value r = literal_matrix(in, base, x->data, x->a->data, (int)x->sa);
    stack_drop(in, base);
    return r;
}

/* data: NULL, or a Name per element (NULL for unnamed ones). */
Value eval_tuple(Interp *in, const Exec *x)
{
    Value *base = list_push(in, x);
    in->at = x;
    Tuple *t = tuple_new(&in->ctx, x->count);
    v_push(in, v_tuple(t));
    const Name **names = x->data;
    for (uint32_t i = 0; names && i < x->count; i++)
        if (names[i])
            tuple_name(&in->ctx, t, i, names[i]);
    if (x->count)
        memcpy(t->items, base, x->count * sizeof *base);
    in->sp = base;
    return v_tuple(t);
}

Value eval_range(Interp *in, const Exec *x)
{
    int64_t start = range_part(in, x->list[0]), stop = range_part(in, x->list[1]);
    int64_t step = x->count > 2 ? range_part(in, x->list[2]) : 1;
    in->at = x;
    return v_range(range_new(&in->ctx, start, stop, step));
}

/* The pieces of a text from the one of that number on, joined. They grow on the stack, where an
 * error finds them. A piece that is a constant string has no node kind FORMATTED. */
Value text_pieces(Interp *in, const Exec *x, uint32_t first)
{
    Value *base = in->sp;
    v_push(in, v_str(str_new(&in->ctx, "", 0)));
    for (uint32_t i = first; i < x->count; i++) {
        const Exec *piece = x->list[i];
        v_push(in, exec_run(in, piece));
        Value v = base[1];
        const Node *n = piece->node->kind == ND_FORMATTED ? piece->node : x->node->list[i];
        bool spec = n->kind == ND_FORMATTED && n->text;
        if (v.tag == V_STRING && !spec) {
            str_append(&in->ctx, &base[0].str, v.str->text, v.str->len);
        } else {
            in->at = piece;
            buf_clear(&in->scratch);
            if (spec)
                format_value(in, &in->scratch, v, n->text, n->text_len);
            else
                show_value(in, &in->scratch, v);
            str_append(&in->ctx, &base[0].str, buf_cstr(&in->scratch), in->scratch.len);
        }
        stack_drop(in, base + 1);
    }
    in->sp = base;
    return base[0];
}

/* "a {x} b {y:.2f}": list of pieces. */
Value eval_text(Interp *in, const Exec *x)
{
    return text_pieces(in, x, 0);
}

/* ---- iteration ---- */
int64_t each_count(Value v)
{
    v = v_measured(v, 0);
    switch (v.tag) {
    case V_RANGE: return v.range->count;
    case V_TUPLE: return v.tuple->count;
    case V_TENSOR: return v.tensor->rank ? tensor_shape(v.tensor)[0] : -1;
    case V_STRING: return (int64_t)v.str->len;
    default: return -1;
    }
}

void each_start(Interp *in, const Exec *x, Each *it, Value over)
{
    if (__builtin_expect(over.tag == V_TRACED, 0))
        in->at = x;
    *it = (Each){ .over = over, .count = each_count(over) };
    if (over.tag == V_TENSOR && over.tensor->rank == 1)
        tensor_home(&in->ctx, over.tensor);      /* once, not element by element */
    if (it->count >= 0)
        return;
    in->at = x;
    char what[96];
    v_article(over, what, sizeof what);
    const Source *s = frame_source(in, in->calls);
    Span at = x->node->span;
    bool quoted = s && at.to <= s->len && at.to - at.from < 80;
    char help[120];
    snprintf(help, sizeof help, quoted ? "from 0 on: 0:%.*s" : "0:n counts from 0 to n - 1",
             (int)(at.to - at.from), quoted ? s->text + at.from : "");
    if (over.tag == V_INT)
        err_raise_help(&in->ctx, ERR_TYPE, help, "cannot iterate over %s", what);
    err_raise(&in->ctx, ERR_TYPE, "cannot iterate over %s", what);
}

static Value tensor_item(Interp *in, Value over, int64_t i)
{
    const Tensor *t = over.tensor;
    if (over.tag == V_TENSOR && t->rank == 1) {
        int64_t at = i * tensor_strides(t)[0];
        switch (t->dtype) {
        case DT_F64: return v_float(((const double *)t->data)[at]);
        case DT_I64: return v_int(((const int64_t *)t->data)[at]);
        case DT_BOOL: return v_bool(((const uint8_t *)t->data)[at]);
        default: break;
        }
    }
    return index_get(in, over, &(Sub){ .kind = SUB_VALUE, .v = v_int(i) }, 1);
}

bool each_next(Interp *in, Each *it, Value *out)
{
    Value over = it->over;
    if (over.tag == V_STRING) {
        size_t from = it->byte;
        if (from >= over.str->len)
            return false;
        utf8_next(over.str->text, over.str->len, &it->byte);
        *out = v_str(str_new(&in->ctx, over.str->text + from, it->byte - from));
        return true;
    }
    if (it->at >= it->count)
        return false;
    int64_t i = it->at++;
    if (over.tag == V_RANGE)
        *out = v_int(over.range->start + i * over.range->step);
    else if (over.tag == V_TUPLE)
        *out = v_retain(over.tuple->items[i]);
    else
        *out = tensor_item(in, over, i);
    return true;
}

/* ---- comprehensions ---- */
/* list: one node per variable (a = iterable, b = target), a: element, b: condition.
 * The elements of a level gather in a tuple on the stack, then stack like a literal. */
static Value comprehension_level(Interp *in, const Exec *x, uint32_t level)
{
    Value *base = in->sp;
    const Exec *bind = x->list[level];
    v_push(in, exec_run(in, bind->a));
    v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
    Each it;
    each_start(in, bind->a, &it, base[0]);
    Value v;
    bool heard = progress_enter(&in->ctx, NULL, 0, it.count);
    for (int64_t done = 0; each_next(in, &it, &v); done++) {
        if (__builtin_expect(heard, 0))
            progress_at(&in->ctx, done);
        target_assign_item(in, bind->a, base[0], bind->b, v);
        if (level == 0 && x->b && !condition(in, x->b))
            continue;
        v = level + 1 < x->count ? comprehension_level(in, x, level + 1) : exec_run(in, x->a);
        tuple_push(&in->ctx, &base[1].tuple, NULL, v);
        in->at = x;
        poll_interrupt(in);
    }
    if (__builtin_expect(heard, 0))
        progress_leave(&in->ctx);
    in->at = x;
    const Tuple *items = base[1].tuple;
    Value r = literal_vector(in, items->items, NULL, (int)items->count);
    stack_drop(in, base);
    return r;
}

Value eval_comprehension(Interp *in, const Exec *x)
{
    return comprehension_level(in, x, 0);
}
