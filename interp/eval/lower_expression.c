/* Lowering of expressions: leaves, literals, operators, and their rows. Statements are in
 * lower_statement.c, calls and functions in lower_call.c. Errors here are about literals that no
 * value can hold. */
#include "core/system/c_locale.h"
#include "interp/eval/eval_flow.h"
#include "interp/eval/eval_index.h"
#include "interp/eval/eval_make.h"
#include "interp/eval/eval_scope.h"
#include "interp/op/heard.h"
#include "interp/fuse/fuse.h"
#include "interp/device/place.h"
#include "interp/eval/eval_binary.h"
#include "interp/eval/eval_name.h"
#include "interp/lower/lower.h"
#include "interp/state/predefined.h"
#include "core/base/error.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "interp/state/wing.h"

static Exec *exec_list(Lower *lo, EvalFn eval, const Node *n)
{
    Exec *x = exec_new(lo, eval, n);
    x->list = lower_list(lo, n->list, n->count);
    x->count = n->count;
    return x;
}

/* ---- literals ---- */
static const Exec *literal_too_large(Lower *lo, const Node *n, bool negative)
{
    int len = (int)(n->text_len < 60 ? n->text_len : 60);
    const char *sign = negative ? "-" : "";
    bool decimal = n->text_len < 60 && !(n->text_len > 1 && n->text[0] == '0');
    char help[80];
    snprintf(help, sizeof help, "as a float: %s%.*s.0", sign, len, n->text);
    return exec_raise(lo, n, ERR_VALUE, decimal ? help : NULL,
                      "%s%.*s does not fit a 64-bit int (%s)", sign, len, n->text,
                      negative ? "the smallest is -9223372036854775808"
                               : "the largest is 9223372036854775807");
}

/* More than 64 bits: an error, but a number in scopes whose format has such integers. */
static const Exec *large_int(Lower *lo, const Node *n, bool negative)
{
    const Exec *raise = literal_too_large(lo, n, negative);
    bool decimal = !(n->text_len > 1 && n->text[0] == '0');
    return lo->scoped && decimal ? lower_scoped_large(lo, n, negative, raise) : raise;
}

static int digit_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 :
           c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* 42, 1_000, 0xff, 0b1010. False: more than 64 bits; the value is unsigned. */
static bool literal_int(const Node *n, uint64_t *out)
{
    const char *s = n->text, *end = s + n->text_len;
    unsigned base = 10;
    if (end - s > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
        base = 16, s += 2;
    else if (end - s > 2 && s[0] == '0' && (s[1] == 'b' || s[1] == 'B'))
        base = 2, s += 2;
    uint64_t v = 0;
    for (; s < end; s++) {
        if (*s == '_')
            continue;
        if (__builtin_mul_overflow(v, base, &v) ||
            __builtin_add_overflow(v, (uint64_t)digit_value(*s), &v))
            return false;
    }
    *out = v;
    return true;
}

static double literal_float(Lower *lo, const Node *n)
{
    char *text = lower_alloc(lo, n->text_len + 1), *to = text;
    for (uint32_t i = 0; i < n->text_len; i++)
        if (n->text[i] != '_')
            *to++ = n->text[i];
    *to = '\0';
    return c_strtod(text, NULL);
}

static const Exec *lower_number(Lower *lo, const Node *n)
{
    Value v;
    uint64_t i;
    if (lo->scoped && n->kind != ND_INT)
        return lower_scoped_number(lo, n, false);
    if (n->kind == ND_INT) {
        if (!literal_int(n, &i) || i > INT64_MAX)
            return large_int(lo, n, false);
        v = v_int((int64_t)i);
    } else if (n->kind == ND_FLOAT) {
        v = v_float(literal_float(lo, n));
    } else {
        double _Complex z = __builtin_complex(0.0, literal_float(lo, n));
        v = v_tensor_raw(tensor_scalar(&lo->in->ctx, DT_C128, &z));
    }
    const Exec *x = exec_const(lo, n, v);
    ((Exec *)x)->flags |= XF_WEAK;
    return x;
}

/* A number in scopes stands with its sign, as others do who read the node; an error without it. */
static const Exec *with_sign(const Exec *x, const Node *n)
{
    if (x->flags & XF_WEAK)
        ((Exec *)x)->node = n;
    return x;
}

/* -5 and -0.5 are literals too; so is the smallest int, whose digits alone are none. */
static const Exec *lower_negative(Lower *lo, const Node *n)
{
    uint64_t i;
    const Exec *x;
    if (n->a->kind == ND_INT && literal_int(n->a, &i) && i == (uint64_t)INT64_MAX + 1)
        x = exec_const(lo, n, v_int(INT64_MIN));
    else if (n->a->kind == ND_INT && (!literal_int(n->a, &i) || i > INT64_MAX))
        return with_sign(large_int(lo, n->a, true), n);
    else if (n->a->kind == ND_INT)
        x = exec_const(lo, n, v_int(-(int64_t)i));
    else if (lo->scoped)
        return with_sign(lower_scoped_number(lo, n->a, true), n);
    else
        x = exec_const(lo, n, v_float(-lower_number(lo, n->a)->k.f));
    ((Exec *)x)->flags |= XF_WEAK;
    return x;
}

/* ---- names ---- */
static bool names_builtin(Lower *lo, const Name *name)
{
    return predefined_find(lo->in, name->text).tag != V_UNDEF || op_find(lo->in, name);
}

static const Exec *lower_global(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_global, n);
    GlobalRef *ref = lower_alloc(lo, sizeof *ref);
    *ref = (GlobalRef){ .slot = &lo->module->slots[n->slot], .name = n->name };
    x->data = ref;
    x->sa = (uint32_t)n->slot;
    if (predefined_is_constant(n->name->text)) {
        x->flags |= XF_WEAK_NAME;
        if (lo->scoped)
            scoped_constant(lo, x, n->name);
    }
    bool variable = lo->module->assigned[n->slot] || !names_builtin(lo, n->name);
    if (!lo->fn && variable)
        x->operand = OPD_L;
    return x;
}

static const Exec *lower_name(Lower *lo, const Node *n)
{
    if (n->scope == SCOPE_SELF)
        return exec_new(lo, eval_self, n);
    if (n->scope == SCOPE_GLOBAL)
        return lower_global(lo, n);
    Exec *x = exec_new(lo, eval_local, n);
    x->sa = (uint32_t)n->slot;
    x->operand = OPD_L;
    return x;
}

/* ---- operators ---- */
static const Op *operation(Lower *lo, const char *name)
{
    return op_find(lo->in, names_intern(&lo->in->names, name, strlen(name)));
}

static const Exec *lower_binary(Lower *lo, const Node *n, const Node *a, const Node *b, int op)
{
    Exec *x = exec_new(lo, NULL, n);
    x->op = (uint8_t)op;
    x->a = lower_operand(lo, a);
    x->b = lower_operand(lo, b);
    x->data = (void *)op_operator(lo->in, (Operator)op);
    x->weak = (uint8_t)((x->a->flags & XF_WEAK ? 1 : 0) | (x->b->flags & XF_WEAK ? 2 : 0));
    lower_binary_choose(x);
    if (lo->scoped)
        lower_binary_scoped(x);
    else
        fuse_mark_operator(lo, x, b);
    return x;
}

/* One link of a chain as a comparison of its own, so that errors point at it. */
static const Exec *chain_link_node(Lower *lo, const Node *n, uint32_t i,
                                   const Exec *const *operands)
{
    Node *link = node_copy(lo, n);
    link->list = n->list + i;
    link->ops = n->ops + i;
    link->count = 2;
    link->span = (Span){ n->list[i]->span.from, n->list[i + 1]->span.to };
    link->mark = (Span){ n->list[i]->span.to, n->list[i + 1]->span.from };
    Exec *x = exec_new(lo, NULL, link);
    x->op = n->ops[i];
    x->a = operands[i];
    x->b = operands[i + 1];
    x->data = (void *)op_operator(lo->in, (Operator)n->ops[i]);
    x->weak = (uint8_t)((x->a->flags & XF_WEAK ? 1 : 0) | (x->b->flags & XF_WEAK ? 2 : 0));
    x->flags = lo->scoped ? XF_SCOPED : 0;
    return x;
}

static const Exec *lower_compare(Lower *lo, const Node *n)
{
    if (n->count == 2)
        return lower_binary(lo, n, n->list[0], n->list[1], n->ops[0]);
    Exec *x = exec_list(lo, eval_chain, n);
    Exec *links = exec_new(lo, NULL, n);
    const Exec **list = lower_alloc(lo, n->count * sizeof *list);
    for (uint32_t i = 0; i + 1 < n->count; i++)
        list[i] = chain_link_node(lo, n, i, x->list);
    links->list = list;
    x->c = links;
    x->data = (void *)op_operator(lo->in, TK_BITAND);
    return x;
}

static const Exec *lower_unary(Lower *lo, const Node *n)
{
    if (n->op == TK_NEG && (n->a->kind == ND_INT || n->a->kind == ND_FLOAT) &&
        !(n->a->flags & NF_PARENS))
        return lower_negative(lo, n);
    if (n->op == TK_POS && (n->a->kind == ND_INT || n->a->kind == ND_FLOAT))
        return lower_operand(lo, n->a);
    Exec *x = exec_new(lo, eval_unary, n);
    x->a = lower_operand(lo, n->a);
    x->data = n->op == TK_POS ? (void *)operation(lo, "positive")
                              : (void *)op_operator(lo->in, (Operator)n->op);
    x->flags = (uint8_t)(n->op == TK_NEG ? x->a->flags & XF_WEAK : 0);
    if (lo->scoped)
        x->eval = eval_unary_scoped;
    else
        fuse_mark_operator(lo, x, NULL);
    return x;
}

static const Exec *lower_logic(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, n->kind == ND_AND ? eval_and : n->kind == ND_OR ? eval_or : eval_not, n);
    x->a = lower_operand(lo, n->a);
    x->b = n->b ? lower_operand(lo, n->b) : NULL;
    return x;
}

/* ---- literals of several values ---- */
/* Which elements are numeric literals (they adapt to the others), or NULL. */
static bool *weak_elements(Lower *lo, const Exec *x)
{
    bool *weak = NULL;
    for (uint32_t i = 0; i < x->count; i++) {
        const Exec *item = x->list[i];
        bool name = (item->flags & XF_WEAK_NAME) && !lo->module->assigned[item->sa];
        if (!(item->flags & XF_WEAK) && !name)
            continue;
        if (!weak)
            weak = lower_alloc(lo, x->count * sizeof *weak);
        weak[i] = true;
    }
    return weak;
}

static const Exec *lower_vector(Lower *lo, const Node *n)
{
    Exec *x = exec_list(lo, eval_vector, n);
    x->data = weak_elements(lo, x);
    return x;
}

static const Exec *lower_matrix(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_matrix, n);
    int *lengths = lower_alloc(lo, (n->count + 1) * sizeof *lengths);
    uint32_t total = 0;
    for (uint32_t r = 0; r < n->count; r++)
        total += n->list[r]->count;
    const Exec **all = lower_alloc(lo, (total + 1) * sizeof *all), **to = all;
    for (uint32_t r = 0; r < n->count; r++) {
        lengths[r] = (int)n->list[r]->count;
        for (uint32_t i = 0; i < n->list[r]->count; i++)
            *to++ = lower_operand(lo, n->list[r]->list[i]);
    }
    x->list = all;
    x->count = total;
    x->sa = n->count;
    x->data = weak_elements(lo, x);
    Exec *rows = exec_new(lo, NULL, n);
    rows->data = lengths;
    x->a = rows;
    return x;
}

/* Of constants, and so one itself: it is made once. */
static const Exec *constant_tuple(Lower *lo, const Node *n, const Exec *const *list)
{
    Tuple *t = tuple_new(&lo->in->ctx, n->count);
    for (uint32_t i = 0; i < n->count; i++)
        t->items[i] = v_retain(list[i]->k);
    return exec_const(lo, n, v_tuple(t));
}

static const Exec *lower_tuple(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_tuple, n);
    const Exec **list = lower_alloc(lo, (n->count + 1) * sizeof *list);
    const Name **names = lower_alloc(lo, (n->count + 1) * sizeof *names);
    bool constant = n->count > 0 && !lo->scoped;
    for (uint32_t i = 0; i < n->count; i++) {
        const Node *item = n->list[i];
        if (item->kind == ND_NAMED) {
            names[i] = item->name;
            x->data = names;
            item = item->a;
        }
        list[i] = lower_operand(lo, item);
        constant &= !x->data && exec_is_const(list[i]);
    }
    if (constant)
        return constant_tuple(lo, n, list);
    x->list = list;
    x->count = n->count;
    return x;
}

static const Exec *lower_range(Lower *lo, const Node *n)
{
    if (!n->a || !n->b) {
        Error *e = err_new(&lo->in->ctx, ERR_SYNTAX,
                           "a range without a start or an end stands only in brackets");
        err_at(e, lo->chunk->source, n->span);
        err_throw(e);
    }
    Exec *x = exec_new(lo, eval_range, n);
    Node *parts[] = { n->a, n->b, n->c };
    x->count = n->c ? 3 : 2;
    x->list = lower_list(lo, parts, x->count);
    return x;
}

static const Exec *lower_text(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_text, n);
    const Exec **list = lower_alloc(lo, (n->count + 1) * sizeof *list);
    for (uint32_t i = 0; i < n->count; i++)
        list[i] = lower_operand(lo, n->list[i]->kind == ND_FORMATTED ? n->list[i]->a : n->list[i]);
    x->list = list;
    x->count = n->count;
    return x;
}

static const Exec *lower_comprehension(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_comprehension, n);
    const Exec **binds = lower_alloc(lo, n->count * sizeof *binds);
    for (uint32_t i = 0; i < n->count; i++)
        if (!n->list[i]->b)
            return lower_notation(lo, n);
    for (uint32_t i = 0; i < n->count; i++) {
        const Node *bind = n->list[i];
        Exec *b = exec_new(lo, NULL, bind);
        b->a = lower_operand(lo, bind->b);
        b->b = lower_target(lo, bind->a);
        binds[i] = b;
    }
    x->list = binds;
    x->count = n->count;
    x->b = n->b ? lower_operand(lo, n->b) : NULL;
    x->a = lower_operand(lo, n->a);
    return x;
}

static const Exec *lower_one(Lower *lo, EvalFn eval, const Node *n, void *data)
{
    Exec *x = exec_new(lo, eval, n);
    x->a = lower_operand(lo, n->a);
    x->data = data;
    return x;
}

static const Exec *lower_long(Lower *lo, const Node *n)
{
    Exec *x = exec_list(lo, eval_long, n);
    x->sa = (uint32_t)n->slot;
    return x;
}

static const Exec *lower_sofar(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_sofar, n);
    x->sa = (uint32_t)n->slot;
    return x;
}

static const Exec *lower_none(Lower *lo, const Node *n)
{
    return exec_const(lo, n, v_none());
}

static const Exec *lower_bool(Lower *lo, const Node *n)
{
    return exec_const(lo, n, v_bool(n->op));
}

static const Exec *lower_string(Lower *lo, const Node *n)
{
    return exec_const(lo, n, v_str(str_new(&lo->in->ctx, n->text ? n->text : "", n->text_len)));
}

static const Exec *lower_operator(Lower *lo, const Node *n)
{
    return lower_binary(lo, n, n->a, n->b, n->op);
}

static const Exec *lower_transpose(Lower *lo, const Node *n)
{
    return lower_one(lo, eval_transpose, n, (void *)operation(lo, "ctranspose"));
}

static const Exec *lower_field(Lower *lo, const Node *n)
{
    return lower_one(lo, eval_field, n, field_cache_new(lo));
}

static const LowerRow rows[] = {
    { ND_NONE, lower_none }, { ND_BOOL, lower_bool }, { ND_INT, lower_number },
    { ND_FLOAT, lower_number },
    { ND_IMAG, lower_number }, { ND_STRING, lower_string }, { ND_INTERP, lower_text },
    { ND_NAME, lower_name },
    { ND_DEVICE_INDEX, lower_device_index }, { ND_VECTOR, lower_vector },
    { ND_MATRIX, lower_matrix },
    { ND_TUPLE, lower_tuple }, { ND_RANGE, lower_range }, { ND_COMPREHENSION, lower_comprehension },
    { ND_LONG, lower_long }, { ND_SOFAR, lower_sofar }, { ND_UNARY, lower_unary },
    { ND_BINARY, lower_operator },
    { ND_COMPARE, lower_compare }, { ND_AND, lower_logic }, { ND_OR, lower_logic },
    { ND_NOT, lower_logic },
    { ND_TRANSPOSE, lower_transpose }, { ND_FIELD, lower_field }, { ND_INDEX, lower_index },
    { ND_CALL, lower_call },
    { ND_PIPE, lower_call }, { ND_LAMBDA, lower_function },
};
const Wing wing_expressions = { .rows = rows, .count = sizeof rows / sizeof *rows };
