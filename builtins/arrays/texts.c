/* Tuples of strings as data: what a column of names is in a table. Rows name a function here as
 * their `.texts`, which takes run's place where an operand is such a tuple. Strings are ordered by
 * code point, which is the order of their bytes in UTF-8. */
#include "builtins/rows/texts.h"
#include "builtins/rows/rows.h"

#include "core/base/error.h"
#include "interp/op/arith.h"
#include "interp/op/optable.h"
#include "interp/op/texts.h"

#include <string.h>

enum { LOOK = 1 << 14 };            /* elements between two looks at the interrupt flag */

/* An operand: strings, or one for all. */
typedef struct Texts {
    const Value *item;
    int64_t count, step;
} Texts;

static bool texts_of(const Value *v, Texts *t)
{
    *t = v->tag == V_STRING ? (Texts){ v, 1, 0 }
         : texts_is(*v)     ? (Texts){ v->tuple->items, v->tuple->count, 1 }
                            : (Texts){ NULL, 0, 0 };
    return t->item;
}

static const Str *text_at(const Texts *t, int64_t i) { return t->item[i * t->step].str; }

static void look(OpCall *c, int64_t i)
{
    if (i % LOOK == 0)
        poll_interrupt(c->in);
}

static _Noreturn void refuse(OpCall *c, int i, const char *wanted)
{
    char text[96];
    arg_error(c, i, ERR_TYPE, "%s is %s; %s is needed", arg_text(c, i),
              v_describe_a(c->args[i], text, sizeof text), wanted);
}

/* ---- comparisons ---- */
static _Noreturn void lengths_differ(OpCall *c, int64_t m, int64_t n)
{
    char label[48];
    Error *e = err_new(&c->in->ctx, ERR_SHAPE, "%s: %s has %lld strings but %s has %lld",
                       op_label(c->op, label, sizeof label), arg_text(c, 0), (long long)m,
                       arg_text(c, 1), (long long)n);
    err_underline(e, c->operand ? c->operand[0] : 0);
    err_underline(e, c->operand ? c->operand[1] : 1);
    err_throw(e);
}

/* Elementwise, a bool vector; of a tuple of strings and what is none, that they are not equal. */
Value op_texts_compare(OpCall *c)
{
    Texts a, b;
    for (int i = 0; i < 2; i++)
        if (texts_none(c->args[i]) && c->args[1 - i].tag == V_STRING)
            return op_result(c, op_keep(c, tensor_new(&c->in->ctx, DT_BOOL, 1, (int64_t[]){ 0 })));
    bool both = texts_of(&c->args[0], &a) && texts_of(&c->args[1], &b);
    bool equality = c->op->ew == EW_EQUAL || c->op->ew == EW_NOT_EQUAL;
    if (!both && (!equality || c->args[0].tag == V_TENSOR || c->args[1].tag == V_TENSOR))
        arith_type_error(c->in, c->op, c->args, 2);
    if (!both)
        return v_bool(c->op->ew == EW_NOT_EQUAL);
    if (a.step && b.step && a.count != b.count)
        lengths_differ(c, a.count, b.count);
    int64_t n = a.step ? a.count : b.count;
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, DT_BOOL, 1, &n));
    for (int64_t i = 0; i < n; i++) {
        look(c, i);
        ((uint8_t *)out->data)[i] =
            text_compares(c->in->ops->operator_of[c->op->ew], text_at(&a, i), text_at(&b, i));
    }
    return op_result(c, out);
}

/* ---- sorting ---- */
static int64_t *numbers(OpCall *c, int64_t n, Tensor **t)
{
    *t = op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &n));
    return (int64_t *)(void *)(*t)->data;
}

/* Positions in order, equal strings in theirs: merges from the bottom up. */
static int64_t *sorted(OpCall *c, const Texts *x, bool descending, Tensor **out)
{
    Tensor *spare;
    int64_t n = x->count, *at = numbers(c, n, out), *to = numbers(c, n, &spare);
    for (int64_t i = 0; i < n; i++)
        at[i] = i;
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t from = 0; from < n; from += 2 * width) {
            int64_t mid = from + width < n ? from + width : n;
            int64_t end = mid + width < n ? mid + width : n, i = from, j = mid;
            for (int64_t k = from; k < end; k++) {
                look(c, k);
                int order = i == mid || j == end
                            ? 0 : text_order(text_at(x, at[j]), text_at(x, at[i]));
                bool second = i == mid || (j < end && (descending ? order > 0 : order < 0));
                to[k] = second ? at[j++] : at[i++];
            }
        }
        int64_t *turn = at;
        Tensor *other = *out;
        at = to, to = turn;
        *out = spare, spare = other;
    }
    return at;
}

/* The strings at `count` positions, as a tuple. */
static Value taken(OpCall *c, const Texts *x, const int64_t *at, int64_t count)
{
    Tuple *t = tuple_new(&c->in->ctx, (uint64_t)count);
    Value v = op_root(c, v_tuple(t));
    for (int64_t i = 0; i < count; i++)
        t->items[i] = v_retain(x->item[at[i] * x->step]);
    return v_retain(v);
}

static void only_texts(OpCall *c, int i, Texts *t)
{
    if (!texts_of(&c->args[i], t) || !t->step)
        refuse(c, i, "a tuple of strings");
}

static void check_axis(OpCall *c, int i)
{
    if (arg_given(c, i) && c->args[i].tag != V_NONE)
        arg_axis(c, i, 1, 0);
}

Value op_texts_sort(OpCall *c)
{
    Texts x;
    Tensor *order;
    only_texts(c, 0, &x);
    check_axis(c, 1);
    const int64_t *at = sorted(c, &x, arg_bool(c, 2, false), &order);
    return taken(c, &x, at, x.count);
}

Value op_texts_argsort(OpCall *c)
{
    Texts x;
    Tensor *order;
    only_texts(c, 0, &x);
    check_axis(c, 1);
    sorted(c, &x, arg_bool(c, 2, false), &order);
    return op_result(c, order);
}

Value op_texts_unique(OpCall *c)
{
    Texts x;
    Tensor *order, *counted, *inverted, *firsts;
    only_texts(c, 0, &x);
    int64_t n = x.count, distinct = 0;
    const int64_t *at = sorted(c, &x, false, &order);
    int64_t *first = numbers(c, n, &firsts), *counts = numbers(c, n, &counted);
    int64_t *inverse = numbers(c, n, &inverted);
    for (int64_t i = 0; i < n; i++) {
        look(c, i);
        if (i == 0 || text_order(text_at(&x, at[i]), text_at(&x, at[i - 1])) != 0) {
            first[distinct] = at[i];
            counts[distinct++] = 0;
        }
        counts[distinct - 1]++;
        inverse[at[i]] = distinct - 1;
    }
    Value values = taken(c, &x, first, distinct);
    bool want_counts = arg_bool(c, 1, false), want_inverse = arg_bool(c, 2, false);
    if (!want_counts && !want_inverse)
        return values;
    op_root(c, values);
    int64_t step = 1;
    Value all = op_root(c, op_result(c, op_keep(c, tensor_view(&c->in->ctx, counted, 1, &distinct,
                                                               &step, counted->data))));
    Value back = op_root(c, op_result(c, inverted));
    if (!want_inverse)
        return tuple_make(c->in, "values", v_retain(values), "counts", v_retain(all), NULL);
    if (!want_counts)
        return tuple_make(c->in, "values", v_retain(values), "inverse", v_retain(back), NULL);
    return tuple_make(c->in, "values", v_retain(values), "counts", v_retain(all), "inverse",
                      v_retain(back), NULL);
}

/* ---- looking up, choosing ---- */
/* How many of x, which ascends, lie before v; with `right` those equal to it, too. */
static int64_t position(const Texts *x, const Str *v, bool right)
{
    int64_t low = 0, high = x->count;
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        int order = text_order(text_at(x, mid), v);
        if (order < 0 || (right && order == 0))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

Value op_texts_searchsorted(OpCall *c)
{
    Texts x, v;
    only_texts(c, 0, &x);
    if (!texts_of(&c->args[1], &v))
        refuse(c, 1, "a string or a tuple of strings");
    bool right = arg_given(c, 2) && strcmp(arg_str(c, 2)->text, "right") == 0;
    if (arg_given(c, 2) && !right && strcmp(arg_str(c, 2)->text, "left") != 0)
        arg_error(c, 2, ERR_VALUE, "side is \"left\" or \"right\", not \"%.40s\"",
                  arg_str(c, 2)->text);
    if (!v.step)
        return v_int(position(&x, text_at(&v, 0), right));
    Tensor *out;
    int64_t *at = numbers(c, v.count, &out);
    for (int64_t i = 0; i < v.count; i++) {
        look(c, i);
        at[i] = position(&x, text_at(&v, i), right);
    }
    return op_result(c, out);
}

/* Strings among strings, one by one: a bool vector. */
bool texts_in_texts(const OpCall *c)
{
    bool of = texts_is(c->args[0]), among = texts_is(c->args[1]);
    return (of && (among || texts_none(c->args[1]))) || (among && texts_none(c->args[0]));
}

Value texts_members(OpCall *c, bool among)
{
    Texts x, all = { NULL, 0, 1 };
    Tensor *order, *out;
    int64_t none = 0;
    texts_of(&c->args[0], &x);
    texts_of(&c->args[1], &all);
    const int64_t *at = all.count ? sorted(c, &all, false, &order) : &none;
    out = op_keep(c, tensor_new(&c->in->ctx, DT_BOOL, 1, &x.count));
    for (int64_t i = 0; i < x.count; i++) {
        int64_t low = 0, high = all.count;
        look(c, i);
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (text_order(text_at(&all, at[middle]), text_at(&x, i)) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        bool found = low < all.count && text_order(text_at(&all, at[low]), text_at(&x, i)) == 0;
        ((uint8_t *)out->data)[i] = found == among;
    }
    return op_result(c, out);
}

Value op_texts_where(OpCall *c)
{
    Texts x, y;
    Value mask = c->args[0];
    if (mask.tag != V_TENSOR || mask.tensor->dtype != DT_BOOL || mask.tensor->rank != 1)
        refuse(c, 0, "a bool vector");
    for (int i = 1; i < 3; i++)
        if (!texts_of(&c->args[i], i == 1 ? &x : &y))
            refuse(c, i, "a string or a tuple of strings");
    Tensor *m = op_keep(c, tensor_compact(&c->in->ctx, mask.tensor));
    for (int i = 1; i < 3; i++) {
        const Texts *t = i == 1 ? &x : &y;
        if (t->step && t->count != m->size)
            arg_error(c, i, ERR_SHAPE, "%s has %lld strings but %s has length %lld",
                      arg_text(c, i), (long long)t->count, arg_text(c, 0), (long long)m->size);
    }
    Tuple *t = tuple_new(&c->in->ctx, (uint64_t)m->size);
    Value r = op_root(c, v_tuple(t));
    for (int64_t i = 0; i < m->size; i++) {
        const Texts *from = ((const uint8_t *)m->data)[i] ? &x : &y;
        t->items[i] = v_retain(from->item[i * from->step]);
    }
    return v_retain(r);
}
