/* `assert condition, message`. A comparison of two values, by its sign or by name, is evaluated
 * operand by operand, each once, and a false one tells both: `a == b is false (a is 3, b is 4)`. It
 * must not evaluate anything twice. */
#include "interp/eval/eval_assert.h"
#include "interp/eval/eval_name.h"
#include "interp/op/op.h"
#include "interp/state/frames.h"

#include "interp/eval/eval_flow.h"
#include "interp/op/scalar.h"
#include "interp/eval/call.h"
#include "interp/lower/lower.h"
#include "interp/show/show.h"

#include "core/base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_ELEMENTS = 12, SHOWN_CHARACTERS = 60 };

/* ---- what the values were ---- */
/* A short value as print writes it, a long one by its kind and shape. */
static void put_value(Interp *in, Buf *out, Value v)
{
    char what[96];
    size_t from = out->len;
    bool small = v.tag != V_TENSOR || (v.tensor->rank <= 1 && v.tensor->size <= SHOWN_ELEMENTS);
    if (small && v.tag != V_UNDEF)
        show_repr(in, out, v);
    if (out->len > from && out->len - from <= SHOWN_CHARACTERS &&
        !memchr(out->data + from, '\n', out->len - from))
        return;
    out->len = from;
    buf_puts(out, v_describe_a(v, what, sizeof what));
}

static bool is_literal(const Node *n)
{
    switch (n->kind) {
    case ND_NONE: case ND_BOOL: case ND_INT: case ND_FLOAT: case ND_IMAG: case ND_STRING:
        return true;
    case ND_UNARY: case ND_NAMED:
        return is_literal(n->a);
    case ND_VECTOR: case ND_TUPLE: case ND_MATRIX: case ND_ROW:
        for (uint32_t i = 0; i < n->count; i++)
            if (!is_literal(n->list[i]))
                return false;
        return true;
    default:
        return false;
    }
}

/* The user's text of a node if it is short, else NULL. */
static const char *node_text(Interp *in, const Node *n, char *out, size_t cap)
{
    const Source *s = frame_source(in, in->calls);
    size_t len = n->span.to - n->span.from;
    if (!s || len >= cap || n->span.to > s->len || memchr(s->text + n->span.from, '\n', len))
        return NULL;
    memcpy(out, s->text + n->span.from, len);
    out[len] = '\0';
    return out;
}

/* `before`, then `a is 3, b is 4`, of what is no literal; how many that were. */
static int put_sides(Interp *in, Buf *out, const Node *n, const Value *values, const char *before)
{
    char text[64];
    int said = 0;
    for (int i = 0; i < 2; i++) {
        if (is_literal(n->list[i]))
            continue;
        const char *name = node_text(in, n->list[i], text, sizeof text);
        buf_puts(out, said++ ? ", " : before);
        buf_puts(out, name ? name : i == 0 ? "the left side" : "the right side");
        buf_puts(out, " is ");
        put_value(in, out, values[i]);
    }
    return said;
}

/* The largest absolute difference in `out`; false where there is none, as for two shapes. */
static bool largest_difference(Interp *in, Value a, Value b, Value *out)
{
    Guard g;
    guard_enter(in, &g);
    if (!ERR_TRY(&in->ctx, &g.frame)) {
        guard_restore(in, &g);
        return false;
    }
    Value *mark = in->sp;
    v_push(in, op_binary(in, op_operator(in, TK_SUB), a, b, 0));
    v_push(in, op_apply(in, op_named(in, "abs"), mark, 1, 0, NULL, NULL, 0));
    v_push(in, op_apply(in, op_named(in, "max"), mark + 1, 1, 0, NULL, NULL, 0));
    *out = v_retain(mark[2]);
    ERR_END(&in->ctx, &g.frame);
    stack_drop(in, mark);
    return true;
}

/* Near zero no relative tolerance helps: the absolute one that would have held is offered. */
static void help_near_zero(Interp *in, Error *e, const Node *n, double difference)
{
    char left[64], right[64];
    const char *a = node_text(in, n->list[0], left, sizeof left);
    const char *b = node_text(in, n->list[1], right, sizeof right);
    if (a && b && difference > 0 && difference <= 1e-8)
        err_help(e, "near zero, with an absolute tolerance: assert allclose(%s, %s, atol=1e%d)",
                 a, b, (int)ceil(log10(difference)));
}

static bool is_near(const Op *row, const Value *values)
{
    return row->near && v_is_numeric(values[0]) && v_is_numeric(values[1]);
}

/* A false comparison of two values, whose message stands in in->scratch. own: that message is
 * the program's; the values then stand on a line below it. */
static _Noreturn void raise_comparison(Interp *in, const Exec *x, const Value *values, bool own)
{
    const Node *n = x->c->node;
    Value difference = v_none();
    Buf *out = &in->scratch;
    bool approx = is_near(x->data, values) &&
                  largest_difference(in, values[0], values[1], &difference);
    v_push(in, difference);
    Error *e = own ? err_new(&in->ctx, ERR_ASSERT, "%s", buf_cstr(out)) : NULL;
    if (own)
        buf_clear(out);
    int said = put_sides(in, out, n, values, own ? "where " : " (");
    buf_puts(out, said && !own ? ")" : "");
    if (approx && (values[0].tag == V_TENSOR || values[1].tag == V_TENSOR)) {
        buf_puts(out, said || !own ? "; the largest difference is " : "the largest difference is ");
        if (difference.tag == V_FLOAT)
            buf_printf(out, "%.3g", difference.f);
        else
            put_value(in, out, difference);
    }
    if (!own)
        e = err_new(&in->ctx, ERR_ASSERT, "%s", buf_cstr(out));
    else if (out->len)
        err_append_line(e, buf_cstr(out));
    err_underline(e, 0);
    err_underline(e, 1);
    if (approx && difference.tag == V_FLOAT && n->count == 2)
        help_near_zero(in, e, n, difference.f);
    err_throw(e);
}

static _Noreturn void raise_false(Interp *in, const Exec *x, const Value *values)
{
    char text[72];
    const char *name = node_text(in, x->node->a, text, sizeof text);
    in->at = values ? x->c : x;
    buf_clear(&in->scratch);
    buf_printf(&in->scratch, "assertion failed: %s is false", name ? name : "the condition");
    if (values)
        raise_comparison(in, x, values, false);
    Error *e = err_new(&in->ctx, ERR_ASSERT, "%s", buf_cstr(&in->scratch));
    err_underline(e, 0);
    err_throw(e);
}

/* The message is evaluated only when it is needed. values: the sides of a comparison, or NULL. */
static _Noreturn void raise_message(Interp *in, const Exec *x, const Value *values)
{
    v_push(in, exec_run(in, x->b));
    in->at = values ? x->c : x;
    buf_clear(&in->scratch);
    show_value(in, &in->scratch, in->sp[-1]);
    if (values)
        raise_comparison(in, x, values, true);
    Error *e = err_new(&in->ctx, ERR_ASSERT, "%s", buf_cstr(&in->scratch));
    err_underline(e, 0);
    err_throw(e);
}

/* ---- evaluation ---- */
/* assert(c, "…") as a call is one tuple. */
static void refuse_pair(Interp *in, const Exec *x)
{
    const Node *n = x->a->node;
    const Source *s = frame_source(in, in->calls);
    char help[200];
    int len = (int)(n->span.to - n->span.from) - 2;
    if (n->kind != ND_TUPLE || n->count != 2 || !s || n->span.to > s->len || len > 150)
        return;
    snprintf(help, sizeof help, "without parentheses: assert %.*s", len,
             s->text + n->span.from + 1);
    in->at = x->a;
    err_raise_help(&in->ctx, ERR_TYPE, help, "a condition must be a bool, but this is a tuple");
}

static Value eval_assert(Interp *in, const Exec *x)
{
    refuse_pair(in, x);
    if (condition(in, x->a))
        return v_none();
    if (x->b)
        raise_message(in, x, NULL);
    raise_false(in, x, NULL);
}

/* c: the comparison, whose operands are a and b of it. */
static Value eval_assert_compare(Interp *in, const Exec *x)
{
    const Exec *link = x->c;
    Value *side = in->sp, holds;
    v_push(in, exec_run(in, link->a));
    v_push(in, exec_run(in, link->b));
    in->at = link;
    unsigned weak = (unsigned)exec_weak(link->a) | (unsigned)exec_weak(link->b) << 1;
    if ((link->flags & XF_SCOPED) || !scalar_binary(link->op, side[0], side[1], &holds))
        holds = op_binary(in, link->data, side[0], side[1], weak);
    v_push(in, holds);
    if (truth(in, holds)) {
        stack_drop(in, side);
        return v_none();
    }
    if (x->b)
        raise_message(in, x, side);
    raise_false(in, x, side);
}

/* c: the call of such a row by its name, which may be a variable's by now. */
static Value eval_assert_called(Interp *in, const Exec *x)
{
    const Exec *call = x->c;
    const CallSite *site = call->data;
    if (((const GlobalRef *)call->a->data)->slot->tag != V_UNDEF)
        return eval_assert(in, x);
    Value *side = in->sp;
    for (uint32_t i = 0; i < call->count; i++)
        v_push(in, exec_run(in, call->list[i]));
    in->at = call;
    v_push(in, op_apply(in, x->data, side, (int)site->positional, site_weak(call), site->names,
                        side + site->positional, (int)site->named));
    in->at = x->a;
    if (truth(in, in->sp[-1])) {
        stack_drop(in, side);
        return v_none();
    }
    if (x->b)
        raise_message(in, x, side);
    raise_false(in, x, side);
}

/* ---- lowering ---- */
static bool compares_two(const Node *n)
{
    if (n->kind != ND_COMPARE || n->count != 2)
        return false;
    switch (n->ops[0]) {
    case TK_EQ: case TK_NE: case TK_LT: case TK_LE: case TK_GT: case TK_GE:
    case TK_APPROX: return true;
    default: return false;
    }
}

/* The row that a call compares two values with: one that a sign stands for, or that says how near
 * they are; NULL: it is no such call. */
static const Op *row_called(Lower *lo, const Exec *x)
{
    static const Operator signs[] = { TK_EQ, TK_NE, TK_LT, TK_LE, TK_GT, TK_GE, TK_APPROX };
    const CallSite *site = x->data;
    const Op *row;
    bool call = x->node->kind == ND_CALL && x->a && x->a->eval == eval_global && site;
    if (!call || site->spread || site->positional != 2 ||
        !(row = op_find(lo->in, x->a->node->name)))
        return NULL;
    bool compares = row->near;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        compares |= op_operator(lo->in, signs[i]) == row;
    return compares ? row : NULL;
}

const Exec *lower_assert(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, compares_two(n->a) ? eval_assert_compare : eval_assert, n);
    x->b = n->b ? lower_operand(lo, n->b) : NULL;
    if (x->eval == eval_assert) {
        x->a = lower_operand(lo, n->a);
        x->data = (void *)row_called(lo, x->a);
        if (x->data) {
            x->eval = eval_assert_called;
            x->c = x->a;
        }
        return x;
    }
    Exec *link = exec_new(lo, NULL, n->a);
    link->a = lower_operand(lo, n->a->list[0]);
    link->b = lower_operand(lo, n->a->list[1]);
    link->op = n->a->ops[0];
    link->data = x->data = (void *)op_operator(lo->in, (Operator)link->op);
    link->flags = lo->scoped ? XF_SCOPED : 0;
    x->c = link;
    return x;
}
