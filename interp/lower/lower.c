/* From resolved syntax to executable nodes: the driver, leaves, literals and expressions.
 * Statements are in lower_statement.c, calls and functions in lower_call.c. Errors here are about
 * literals that no value can hold. */
#include "core/system/c_locale.h"
#include "interp/eval/eval_flow.h"
#include "interp/eval/eval_index.h"
#include "interp/eval/eval_make.h"
#include "interp/eval/eval_scope.h"
#include "interp/measure/explain.h"
#include "interp/notation/indexnot.h"
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

/* ---- making nodes ---- */
void *lower_alloc(Lower *lo, size_t bytes)
{
    return arena_alloc(&lo->chunk->arena, bytes);
}

Exec *exec_new(Lower *lo, EvalFn eval, const Node *n)
{
    Exec *x = lower_alloc(lo, sizeof *x);
    x->eval = eval;
    x->node = n;
    x->op = n->op;
    return x;
}

static void release_constant(Ctx *ctx, void *what)
{
    v_release(ctx, *(Value *)what);
}

/* Takes v: an object lives as long as the chunk. */
const Exec *exec_const(Lower *lo, const Node *n, Value v)
{
    Value *kept = NULL;
    v_push(lo->in, v);
    Exec *x = exec_new(lo, eval_const, n);
    if (v_is_object(v)) {
        kept = lower_alloc(lo, sizeof *kept);
        *kept = v_none();
        chunk_own(lo->chunk, release_constant, kept);
        *kept = v;
    }
    lo->in->sp--;
    x->k = v;
    x->operand = v.tag == V_INT ? OPD_I : v.tag == V_FLOAT ? OPD_F : OPD_X;
    return x;
}

const Exec *exec_raise(Lower *lo, const Node *n, ErrKind kind, const char *help, const char *fmt, ...)
{
    char message[400];
    va_list args;
    va_start(args, fmt);
    c_vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    RaiseSite *site = lower_alloc(lo, sizeof *site);
    site->kind = kind;
    site->message = arena_copy(&lo->chunk->arena, message, strlen(message));
    site->help = help ? arena_copy(&lo->chunk->arena, help, strlen(help)) : NULL;
    Exec *x = exec_new(lo, eval_raise, n);
    x->operand = OPD_X;
    x->data = site;
    return x;
}

Node *node_copy(Lower *lo, const Node *n)
{
    Node *copy = lower_alloc(lo, sizeof *copy);
    *copy = *n;
    return copy;
}

const Exec *lower_operand(Lower *lo, const Node *n)
{
    Lower saved = *lo;
    lo->tail = false;
    lo->deep_loop = lo->deep_fn = true;
    const Exec *x = lower(lo, n);
    lo->tail = saved.tail;
    lo->deep_loop = saved.deep_loop;
    lo->deep_fn = saved.deep_fn;
    return x;
}

const Exec **lower_list(Lower *lo, Node *const *list, uint32_t count)
{
    const Exec **out = lower_alloc(lo, (count + 1) * sizeof *out);
    for (uint32_t i = 0; i < count; i++)
        out[i] = lower_operand(lo, list[i]);
    return out;
}

static Exec *exec_list(Lower *lo, EvalFn eval, const Node *n)
{
    Exec *x = exec_new(lo, eval, n);
    x->list = lower_list(lo, n->list, n->count);
    x->count = n->count;
    return x;
}

bool lower_is_statement(const Node *n)
{
    switch (n->kind) {
    case ND_BLOCK: case ND_IF: case ND_WHILE: case ND_FOR: case ND_TRY:
    case ND_PRECISION: case ND_AUTOCAST:
    case ND_BREAK: case ND_CONTINUE: case ND_RETURN:
        return true;
    default:
        return false;
    }
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
                      negative ? "the smallest is -9223372036854775808" : "the largest is 9223372036854775807");
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
        if (__builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, (uint64_t)digit_value(*s), &v))
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

static const Exec *const_text(Lower *lo, const Node *n, const char *text, size_t len)
{
    return exec_const(lo, n, v_str(str_new(&lo->in->ctx, text, len)));
}

/* -5 and -0.5 are literals too; so is the smallest int, whose digits alone are none. */
static const Exec *lower_negative(Lower *lo, const Node *n)
{
    uint64_t i;
    const Exec *x;
    if (n->a->kind == ND_INT && literal_int(n->a, &i) && i == (uint64_t)INT64_MAX + 1)
        x = exec_const(lo, n, v_int(INT64_MIN));
    else if (n->a->kind == ND_INT && (!literal_int(n->a, &i) || i > INT64_MAX))
        return large_int(lo, n->a, true);
    else if (n->a->kind == ND_INT)
        x = exec_const(lo, n, v_int(-(int64_t)i));
    else if (lo->scoped)
        return lower_scoped_number(lo, n->a, true);
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
static const Exec *chain_link_node(Lower *lo, const Node *n, uint32_t i, const Exec *const *operands)
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
    if (n->op == TK_NEG && (n->a->kind == ND_INT || n->a->kind == ND_FLOAT) && !(n->a->flags & NF_PARENS))
        return lower_negative(lo, n);
    if (n->op == TK_POS && (n->a->kind == ND_INT || n->a->kind == ND_FLOAT))
        return lower_operand(lo, n->a);
    Exec *x = exec_new(lo, eval_unary, n);
    x->a = lower_operand(lo, n->a);
    x->data = n->op == TK_POS ? (void *)operation(lo, "positive") : (void *)op_operator(lo->in, (Operator)n->op);
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

static const Exec *lower_tuple(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_tuple, n);
    const Exec **list = lower_alloc(lo, (n->count + 1) * sizeof *list);
    const Name **names = lower_alloc(lo, (n->count + 1) * sizeof *names);
    for (uint32_t i = 0; i < n->count; i++) {
        const Node *item = n->list[i];
        if (item->kind == ND_NAMED) {
            names[i] = item->name;
            x->data = names;
            item = item->a;
        }
        list[i] = lower_operand(lo, item);
    }
    x->list = list;
    x->count = n->count;
    return x;
}

static const Exec *lower_range(Lower *lo, const Node *n)
{
    if (!n->a || !n->b) {
        Error *e = err_new(&lo->in->ctx, ERR_SYNTAX, "a range without a start or an end stands only in brackets");
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

const Exec *lower_comprehension(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_comprehension, n);
    const Exec **binds = lower_alloc(lo, n->count * sizeof *binds);
    for (uint32_t i = 0; i < n->count; i++)
        if (!n->list[i]->b)
            return lower_indexnot(lo, n);
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

static const Exec *lower_profile(Lower *lo, const Node *n)
{
    Exec *x = (Exec *)lower_one(lo, eval_profile, n, NULL);
    x->b = n->b ? lower_operand(lo, n->b) : NULL;
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

const Exec *lower_expression(Lower *lo, const Node *n)
{
    switch (n->kind) {
    case ND_NONE: return exec_const(lo, n, v_none());
    case ND_BOOL: return exec_const(lo, n, v_bool(n->op));
    case ND_INT: case ND_FLOAT: case ND_IMAG: return lower_number(lo, n);
    case ND_STRING: return const_text(lo, n, n->text ? n->text : "", n->text_len);
    case ND_INTERP: return lower_text(lo, n);
    case ND_NAME: return lower_name(lo, n);
    case ND_DEVICE_INDEX: return lower_device_index(lo, n);
    case ND_VECTOR: return lower_vector(lo, n);
    case ND_MATRIX: return lower_matrix(lo, n);
    case ND_TUPLE: return lower_tuple(lo, n);
    case ND_RANGE: return lower_range(lo, n);
    case ND_COMPREHENSION: return lower_comprehension(lo, n);
    case ND_REDUCE: return lower_indexnot(lo, n);
    case ND_LONG: return lower_long(lo, n);
    case ND_SOFAR: return lower_sofar(lo, n);
    case ND_UNARY: return lower_unary(lo, n);
    case ND_BINARY: return lower_binary(lo, n, n->a, n->b, n->op);
    case ND_COMPARE: return lower_compare(lo, n);
    case ND_AND: case ND_OR: case ND_NOT: return lower_logic(lo, n);
    case ND_TRANSPOSE: return lower_one(lo, eval_transpose, n, (void *)operation(lo, "ctranspose"));
    case ND_FIELD: return lower_one(lo, eval_field, n, field_cache_new(lo));
    case ND_INDEX: return lower_index(lo, n);
    case ND_CALL: case ND_PIPE: return lower_call(lo, n);
    case ND_LAMBDA: return lower_function(lo, n);
    case ND_TIMEIT: return lower_timeit(lo, n);
    case ND_PROFILE: return lower_profile(lo, n);
    case ND_EXPLAIN: return n->name ? lower_latex(lo, n) : lower_one(lo, eval_explain, n, NULL);
    default: return NULL;
    }
}

/* ---- what is not built yet ---- */
const Exec *lower_unbuilt(Lower *lo, const Node *n)
{
    static const char *const what[ND_KINDS] = {
        [ND_LAZY] = "lazy blocks",
    };
    const char *name = what[n->kind] ? what[n->kind] : node_kind_name((NodeKind)n->kind);
    char text[96];
    int len = snprintf(text, sizeof text, "%s %s not built yet", name,
                       strchr(name, ' ') && name[strlen(name) - 1] == 's' ? "are" : "is");
    Exec *x = exec_new(lo, eval_unbuilt, n);
    x->data = arena_copy(&lo->chunk->arena, text, (size_t)len);
    return x;
}

/* ---- the driver ---- */
const Exec *lower(Lower *lo, const Node *n)
{
    bool outer = lo->writes, lent = lo->lends;
    lo->writes = lo->lends = false;
    const Exec *x = lower_expression(lo, n);
    if (!x)
        x = lower_statement(lo, n);
    if (!x)
        x = lower_unbuilt(lo, n);
    if (lo->writes)
        ((Exec *)x)->flags |= XF_WRITES;
    ((Exec *)x)->lends = lo->lends;
    lo->writes |= outer;
    lo->lends |= lent;
    return x;
}

const Exec *lower_chunk(Interp *in, Module *m, Chunk *chunk)
{
    Lower lo = { .in = in, .module = m, .chunk = chunk };
    const Exec *x = lower(&lo, chunk->root);
    if (!lo.fn_unwinds)
        return x;
    Exec *guard = exec_new(&lo, eval_catch_flow, chunk->root);
    guard->a = x;
    return guard;
}
