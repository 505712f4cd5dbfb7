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

/* ---- equal strings ---- */
static int64_t *numbers(OpCall *c, int64_t n, Tensor **t)
{
    *t = op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &n));
    return (int64_t *)(void *)(*t)->data;
}

/* Strings by number, in the order in which they were first met. A slot is empty, 0, or has bits of
 * the hash above the number + 1. */
typedef struct Met {
    const Texts *x;
    uint64_t *slots, mask, salt;
    int64_t *first, count;             /* where each was met */
} Met;
enum { MET_BITS = 40 };
static const uint64_t met_mask = ((uint64_t)1 << MET_BITS) - 1;

static void met_begin(OpCall *c, Met *m, const Texts *x)
{
    Tensor *t;
    int64_t cap = 16;
    while (cap < 2 * x->count)
        cap *= 2;
    *m = (Met){ .x = x, .mask = (uint64_t)cap - 1, .salt = (uint64_t)(uintptr_t)c };
    m->slots = (uint64_t *)(void *)numbers(c, cap, &t);
    memset(m->slots, 0, (size_t)cap * sizeof *m->slots);
    m->first = numbers(c, x->count, &t);
}

static uint64_t text_hash(const Str *s, uint64_t salt)
{
    static const uint64_t odd = 0x9E3779B97F4A7C15u;
    uint64_t h = (salt ^ s->len) * odd;
    size_t i = 0, left = s->len;
    for (uint64_t word; left >= 8; left -= 8, i += 8) {
        memcpy(&word, s->text + i, 8);
        h = (h ^ word) * odd;
        h ^= h >> 32;
    }
    uint64_t tail = 0;
    memcpy(&tail, s->text + i, left);
    h = (h ^ tail) * odd;
    h ^= h >> 29;
    h *= odd;
    return h ^ h >> 32;
}

static bool text_same(const Str *a, const Str *b)
{
    return a == b || (a->len == b->len && memcmp(a->text, b->text, a->len) == 0);
}

/* The number of s, or -1; with `at` >= 0 it is met there, and has one. */
static int64_t met_find(Met *m, const Str *s, int64_t at)
{
    uint64_t h = text_hash(s, m->salt), tag = h & ~met_mask;
    for (uint64_t k = h & m->mask;; k = (k + 1) & m->mask) {
        uint64_t slot = m->slots[k];
        if (slot == 0) {
            if (at < 0)
                return -1;
            m->first[m->count] = at;
            m->slots[k] = tag | (uint64_t)(m->count + 1);
            return m->count++;
        }
        int64_t number = (int64_t)(slot & met_mask) - 1;
        if ((slot & ~met_mask) == tag && text_same(text_at(m->x, m->first[number]), s))
            return number;
    }
}

/* ---- sorting ---- */
/* A string by its first bytes, which decide most comparisons. */
typedef struct Key {
    uint64_t head;
    int64_t number;
} Key;

static uint64_t text_head(const Str *s)
{
    uint64_t head = 0;
    for (size_t i = 0; i < 8; i++)
        head = head << 8 | (i < s->len ? (unsigned char)s->text[i] : 0);
    return head;
}

static bool comes_before(const Met *m, Key a, Key b)
{
    if (a.head != b.head)
        return a.head < b.head;
    return text_order(text_at(m->x, m->first[a.number]), text_at(m->x, m->first[b.number])) < 0;
}

/* Merges from the bottom up; of the keys' two halves that which has them in order. */
static const Key *keys_sorted(OpCall *c, const Met *m)
{
    Tensor *t;
    int64_t n = m->count;
    Key *key = (Key *)(void *)numbers(c, 4 * n, &t), *to = key + n;
    for (int64_t i = 0; i < n; i++)
        key[i] = (Key){ text_head(text_at(m->x, m->first[i])), i };
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t from = 0; from < n; from += 2 * width) {
            int64_t mid = from + width < n ? from + width : n;
            int64_t end = mid + width < n ? mid + width : n, i = from, j = mid;
            for (int64_t k = from; k < end; k++) {
                look(c, k);
                bool second = i == mid || (j < end && comes_before(m, key[j], key[i]));
                to[k] = second ? key[j++] : key[i++];
            }
        }
        Key *turn = key;
        key = to, to = turn;
    }
    return key;
}

/* A column by its distinct strings, in increasing order. */
typedef struct Groups {
    int64_t distinct;
    int64_t *of;                       /* each row: the number of its string */
    int64_t *first;                    /* each string: its first row */
    int64_t *counts;
    Tensor *of_tensor, *counts_tensor;
} Groups;

static void groups_make(OpCall *c, const Texts *x, Groups *g)
{
    Met met;
    Tensor *t;
    int64_t n = x->count;
    met_begin(c, &met, x);
    g->of = numbers(c, n, &g->of_tensor);
    for (int64_t i = 0; i < n; i++) {
        look(c, i);
        g->of[i] = met_find(&met, text_at(x, i), i);
    }
    const Key *key = keys_sorted(c, &met);
    int64_t *rank = numbers(c, met.count, &t);
    g->distinct = met.count;
    g->first = numbers(c, met.count, &t);
    g->counts = numbers(c, n, &g->counts_tensor);
    memset(g->counts, 0, (size_t)n * sizeof *g->counts);
    for (int64_t i = 0; i < met.count; i++) {
        rank[key[i].number] = i;
        g->first[i] = met.first[key[i].number];
    }
    for (int64_t i = 0; i < n; i++)
        g->counts[g->of[i] = rank[g->of[i]]]++;
}

/* Positions in order, equal strings in theirs. */
static int64_t *sorted(OpCall *c, const Texts *x, bool descending, Tensor **out)
{
    Groups g;
    Tensor *t;
    groups_make(c, x, &g);
    int64_t *at = numbers(c, x->count, out), *next = numbers(c, g.distinct, &t), from = 0;
    for (int64_t k = 0; k < g.distinct; k++) {
        int64_t group = descending ? g.distinct - 1 - k : k;
        next[group] = from;
        from += g.counts[group];
    }
    for (int64_t i = 0; i < x->count; i++)
        at[next[g.of[i]]++] = i;
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
    Groups g;
    only_texts(c, 0, &x);
    groups_make(c, &x, &g);
    int64_t distinct = g.distinct;
    Value values = taken(c, &x, g.first, distinct);
    bool want_counts = arg_bool(c, 1, false), want_inverse = arg_bool(c, 2, false);
    if (!want_counts && !want_inverse)
        return values;
    op_root(c, values);
    int64_t step = 1;
    Tensor *counts = op_keep(c, tensor_view(&c->in->ctx, g.counts_tensor, 1, &distinct, &step,
                                            g.counts_tensor->data));
    Value all = op_root(c, op_result(c, counts));
    Value back = op_root(c, op_result(c, g.of_tensor));
    if (!want_inverse)
        return tuple_make(c->in, "values", v_retain(values), "counts", v_retain(all), NULL);
    if (!want_counts)
        return tuple_make(c->in, "values", v_retain(values), "inverse", v_retain(back), NULL);
    return tuple_make(c->in, "values", v_retain(values), "counts", v_retain(all), "inverse",
                      v_retain(back), NULL);
}

/* ---- the least and the greatest ---- */
/* Its first position. */
static int64_t extreme(OpCall *c, bool greatest)
{
    Texts x;
    int64_t best = 0;
    only_texts(c, 0, &x);
    check_axis(c, 1);
    for (int64_t i = 1; i < x.count; i++) {
        look(c, i);
        int order = text_order(text_at(&x, i), text_at(&x, best));
        best = (greatest ? order > 0 : order < 0) ? i : best;
    }
    return best;
}

static Value extreme_text(OpCall *c, bool greatest)
{
    Value v = v_retain(c->args[0].tuple->items[extreme(c, greatest)]);
    if (!arg_bool(c, 2, false))
        return v;
    op_root(c, v);
    Tuple *t = tuple_new(&c->in->ctx, 1);
    t->items[0] = v_retain(v);
    return v_tuple(t);
}

static Value extreme_place(OpCall *c, bool greatest)
{
    int64_t at = extreme(c, greatest), one = 1;
    if (!arg_bool(c, 2, false))
        return v_int(at);
    Tensor *t;
    *numbers(c, one, &t) = at;
    return op_result(c, t);
}

Value op_texts_min(OpCall *c) { return extreme_text(c, false); }
Value op_texts_max(OpCall *c) { return extreme_text(c, true); }
Value op_texts_argmin(OpCall *c) { return extreme_place(c, false); }
Value op_texts_argmax(OpCall *c) { return extreme_place(c, true); }

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
    Met met;
    texts_of(&c->args[0], &x);
    texts_of(&c->args[1], &all);
    met_begin(c, &met, &all);
    for (int64_t i = 0; i < all.count; i++) {
        look(c, i);
        met_find(&met, text_at(&all, i), i);
    }
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, DT_BOOL, 1, &x.count));
    for (int64_t i = 0; i < x.count; i++) {
        look(c, i);
        ((uint8_t *)out->data)[i] = (met_find(&met, text_at(&x, i), -1) >= 0) == among;
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
