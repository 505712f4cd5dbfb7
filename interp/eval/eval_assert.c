/* `assert condition, message`. A comparison of two values is evaluated operand by operand, each
 * once, and a false one tells both: `a == b is false (a is 3, b is 4)`. It must not evaluate
 * anything twice. */
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

/* `a is 3 and b is 4`, of what is no literal. */
static void put_sides(Interp *in, Buf *out, const Node *n, const Value *values)
{
    char text[64];
    int said = 0;
    for (int i = 0; i < 2; i++) {
        if (is_literal(n->list[i]))
            continue;
        const char *name = node_text(in, n->list[i], text, sizeof text);
        buf_puts(out, said++ ? ", " : " (");
        buf_puts(out, name ? name : i == 0 ? "the left side" : "the right side");
        buf_puts(out, " is ");
        put_value(in, out, values[i]);
    }
    if (said)
        buf_putc(out, ')');
}

/* `the largest difference is 0.1`, of tensors that are not close. */
static void put_difference(Interp *in, Buf *out, Value a, Value b)
{
    Value *mark = in->sp;
    Guard g;
    guard_enter(in, &g);
    if (!ERR_TRY(&in->ctx, &g.frame)) {
        guard_restore(in, &g);
        return;
    }
    v_push(in, op_binary(in, op_operator(in, TK_SUB), a, b, 0));
    v_push(in, op_apply(in, op_named(in, "abs"), mark, 1, 0, NULL, NULL, 0));
    v_push(in, op_apply(in, op_named(in, "max"), mark + 1, 1, 0, NULL, NULL, 0));
    buf_puts(out, "; the largest difference is ");
    if (mark[2].tag == V_FLOAT)
        buf_printf(out, "%.3g", mark[2].f);
    else
        put_value(in, out, mark[2]);
    ERR_END(&in->ctx, &g.frame);
    stack_drop(in, mark);
}

static _Noreturn void raise_false(Interp *in, const Exec *x, const Value *values)
{
    char text[72];
    const Node *n = x->node->a;
    const char *name = node_text(in, n, text, sizeof text);
    in->at = values ? x->c : x;
    buf_clear(&in->scratch);
    buf_printf(&in->scratch, "assertion failed: %s is false", name ? name : "the condition");
    if (values)
        put_sides(in, &in->scratch, n, values);
    if (values && n->ops[0] == TK_APPROX &&
        (values[0].tag == V_TENSOR || values[1].tag == V_TENSOR))
        put_difference(in, &in->scratch, values[0], values[1]);
    Error *e = err_new(&in->ctx, ERR_ASSERT, "%s", buf_cstr(&in->scratch));
    err_underline(e, 0);
    if (values)
        err_underline(e, 1);
    err_throw(e);
}

/* The message is evaluated only when it is needed. */
static _Noreturn void raise_message(Interp *in, const Exec *x)
{
    v_push(in, exec_run(in, x->b));
    in->at = x;
    buf_clear(&in->scratch);
    show_value(in, &in->scratch, in->sp[-1]);
    Error *e = err_new(&in->ctx, ERR_ASSERT, "%s", buf_cstr(&in->scratch));
    err_underline(e, 0);
    err_throw(e);
}

/* ---- evaluation ---- */
static Value eval_assert(Interp *in, const Exec *x)
{
    if (condition(in, x->a))
        return v_none();
    if (x->b)
        raise_message(in, x);
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
        raise_message(in, x);
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

const Exec *lower_assert(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, compares_two(n->a) ? eval_assert_compare : eval_assert, n);
    x->b = n->b ? lower_operand(lo, n->b) : NULL;
    if (x->eval == eval_assert) {
        x->a = lower_operand(lo, n->a);
        return x;
    }
    Exec *link = exec_new(lo, NULL, n->a);
    link->a = lower_operand(lo, n->a->list[0]);
    link->b = lower_operand(lo, n->a->list[1]);
    link->op = n->a->ops[0];
    link->data = (void *)op_operator(lo->in, (Operator)link->op);
    link->flags = lo->scoped ? XF_SCOPED : 0;
    x->c = link;
    return x;
}
