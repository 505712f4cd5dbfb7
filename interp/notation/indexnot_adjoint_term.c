/* What one occurrence of an operand receives, by its subscripts. Distinct indices alone name the
 * axes of the gradient, and the others are summed. An affine subscript is solved for one of its
 * indices, x[i+k] as dx[n] with i = n - k; what is then read outside of an axis counts as 0. All
 * else is added up where the subscripts say: dE[tok[n],d] += … */
#include "interp/notation/indexnot_adjoint.h"

#include <string.h>

/* ---- affine subscripts ---- */
/* The coefficient of an index, if it is a plain number. */
static bool coefficient(const AdEx *x, int id, int64_t *c)
{
    int64_t l, r;
    *c = 0;
    if (!(x->free >> id & 1))
        return true;
    if (x->kind == AD_INDEX) {
        *c = 1;
        return true;
    }
    if (x->kind == AD_MINUS && coefficient(x->arg[0], id, &l) && l != INT64_MIN) {
        *c = -l;
        return true;
    }
    if (x->kind != AD_INFIX || !coefficient(x->arg[0], id, &l) || !coefficient(x->arg[1], id, &r))
        return false;
    switch (x->text[0]) {
    case '+': return !__builtin_add_overflow(l, r, c);
    case '-': return !__builtin_sub_overflow(l, r, c);
    case '*':
        if (x->arg[0]->whole)
            return !__builtin_mul_overflow(x->arg[0]->value, r, c);
        return x->arg[1]->whole && !__builtin_mul_overflow(x->arg[1]->value, l, c);
    default: return false;
    }
}

/* ---- a term with an axis of the gradient for every subscript ---- */
typedef struct AdSolved {
    AdWeight w;
    int left[IX_AXES];
    uint64_t claimed, given;    /* given: axes that have their index */
} AdSolved;

static int64_t axis_length(const Ad *a, int leaf, int axis)
{
    Value v = a->b->base[leaf];
    return v.tag == V_TENSOR && axis < v.tensor->rank ? tensor_shape(v.tensor)[axis] : 0;
}

static const char *axis_text(Ad *a, int leaf, int axis)
{
    return ad_format(a, "shape(%s)[%d]", a->leaf[leaf].name, axis);
}

static bool plain_index(const Ad *a, const AdEx *at, int axis)
{
    const AdEx *s = at->arg[axis];
    return s->kind == AD_INDEX && !at->wrap[axis] && !a->index[s->id].forced;
}

static void claim_lone(const Ad *a, const AdEx *at, AdSolved *s)
{
    for (int i = 0; i < at->args; i++) {
        if (!plain_index(a, at, i) || (s->claimed >> at->arg[i]->id & 1))
            continue;
        s->left[i] = at->arg[i]->id;
        s->claimed |= UINT64_C(1) << s->left[i];
        s->given |= UINT64_C(1) << i;
    }
}

/* The index to solve an axis for: the longest one with the coefficient 1 or -1 that no other
 * subscript has. -1: none, or the sum over the others would be much longer than it was. */
static int solvable(const Ad *a, const AdEx *at, int axis, const AdSolved *s, int64_t *c)
{
    int best = -1;
    int64_t length = axis_length(a, at->leaf, axis), k;
    uint64_t others = s->claimed;
    for (int i = 0; i < at->args; i++)
        others |= i == axis ? 0 : at->arg[i]->free;
    if (at->wrap[axis] && at->wrap[axis] != WRAP_PAD)
        return -1;
    for (uint64_t m = at->arg[axis]->free & ~others; m; m &= m - 1) {
        int g = __builtin_ctzll(m);
        if (!coefficient(at->arg[axis], g, &k) || (k != 1 && k != -1))
            continue;
        if (best < 0 || a->index[g].extent > a->index[best].extent)
            best = g, *c = k;
    }
    return best >= 0 && length <= 4 * a->index[best].extent + 16 ? best : -1;
}

/* Is an element of a factor 0 wherever the index leaves its range? Of these no other than elements
 * may hold the index. */
static bool padded(const Ad *a, const AdWeight *w, int id)
{
    bool found = false;
    for (int i = 0; i < w->count; i++) {
        const AdEx *x = w->factor[i];
        if (!(x->free >> id & 1))
            continue;
        if (x->kind != AD_LOAD)
            return false;
        for (int k = 0; k < x->args; k++)
            found |= x->arg[k]->kind == AD_INDEX && x->arg[k]->id == id && !x->wrap[k] &&
                     (x->own || !a->index[id].forced);
    }
    return found;
}

static void replace_product(Ad *a, AdWeight *w, AdEx *condition)
{
    bool minus = w->minus;
    w->minus = false;
    AdEx *all = ad_product(a, w);
    w->minus = minus;
    w->count = 1;
    w->factor[0] = ad_where(a, condition, all, ad_whole(a, 0));
}

static AdEx *within(Ad *a, AdEx *x, const char *length)
{
    return ad_infix(a, "&", ad_infix(a, ">=", x, ad_whole(a, 0)),
                    ad_infix(a, "<", x, ad_text(a, length)));
}

static bool solve_axis(Ad *a, const AdEx *at, int axis, AdSolved *s)
{
    int64_t c = 0;
    int g = solvable(a, at, axis, s, &c);
    if (g < 0)
        return false;
    int n = ad_index_new(a, "n", axis_text(a, at->leaf, axis), axis_length(a, at->leaf, axis));
    AdEx *rest = ad_put_in(a, at->arg[axis], g, ad_whole(a, 0), NULL, 0);
    AdEx *value = c == 1 ? ad_infix(a, "-", ad_index(a, n), rest)
                         : ad_infix(a, "-", rest, ad_index(a, n));
    value = ad_tidy(a, value);
    bool zeros = padded(a, &s->w, g);
    for (int i = 0; i < s->w.count; i++)
        s->w.factor[i] = ad_put_in(a, s->w.factor[i], g, value, at, axis);
    if (!zeros)
        replace_product(a, &s->w, within(a, value, a->index[g].length));
    s->w.over = (s->w.over & ~(UINT64_C(1) << g)) | UINT64_C(1) << n;
    s->left[axis] = n;
    s->claimed |= UINT64_C(1) << n;
    s->given |= UINT64_C(1) << axis;
    return true;
}

static bool solve(Ad *a, const AdTerm *t, AdSolved *s)
{
    *s = (AdSolved){ .w = t->w };
    if (t->at->kind != AD_LOAD)
        return true;
    claim_lone(a, t->at, s);
    for (int i = 0; i < t->at->args; i++)
        if (!(s->given >> i & 1) && !solve_axis(a, t->at, i, s))
            return false;
    return true;
}

static bool take_real(const AdLeaf *leaf, const AdWeight *w)
{
    return !leaf->is_complex && ad_weight_complex(w);
}

/* The gradient of a sparse matrix is one of its entries: x is looked at there only. */
static AdEx *at_entries(Ad *a, AdLeaf *leaf, const int *left, int rank, AdEx *x)
{
    const Value v = a->b->base[leaf - a->leaf];
    if (rank != 2 || v.tag != V_TENSOR || !tensor_sparse(v.tensor))
        return x;
    if (!leaf->entries) {
        const char *all = ad_name(a, "e");
        leaf->entries = ad_name(a, "p");
        buf_printf(&a->out->text, "    %s = entries(detach(%s))\n"
                   "    %s = sparse(%s.rows, %s.columns, 1, shape(%s))\n", all, leaf->name,
                   leaf->entries, all, all, leaf->name);
    }
    return ad_infix(a, "*", ad_own(a, leaf->entries, left, rank), x);
}

static void write_solved(Ad *a, AdLeaf *leaf, const AdTerm *t, const AdSolved *s)
{
    uint64_t einstein;
    int rank = t->at->kind == AD_LOAD ? t->at->args : 0;
    AdEx *x = ad_summed(a, &s->w, s->w.over & ~s->claimed, take_real(leaf, &s->w), &einstein);
    x = at_entries(a, leaf, s->left, rank, x);
    ad_define(a, leaf->grad, s->left, rank, x, einstein, leaf->written);
    leaf->written = true;
}

/* ---- a term that is added up in place ---- */
static void zeros(Ad *a, AdLeaf *leaf)
{
    if (!leaf->written)
        buf_printf(&a->out->text, "    %s = like(%s, 0)\n", leaf->grad, leaf->name);
    leaf->written = true;
}

/* E[tok[n], d]: tok[n] stands in the statement as it is. */
static bool plain_gather(const Ad *a, const AdEx *at, int axis)
{
    const AdEx *s = at->arg[axis];
    uint64_t seen = 0;
    if (s->kind != AD_LOAD || at->wrap[axis])
        return false;
    for (int i = 0; i < s->args; i++) {
        if (!plain_index(a, s, i) || (seen >> s->arg[i]->id & 1))
            return false;
        seen |= UINT64_C(1) << s->arg[i]->id;
    }
    return true;
}

/* Positions of an axis over the indices of its subscript, made before. */
static AdEx *positions(Ad *a, const AdEx *at, int axis, AdWeight *w)
{
    AdEx *x = at->arg[axis], *length = ad_text(a, axis_text(a, at->leaf, axis));
    AdEx *zero = ad_whole(a, 0), *last = ad_infix(a, "-", length, ad_whole(a, 1));
    int ids[AD_IDS], rank;
    switch (at->wrap[axis]) {
    case WRAP_MOD: x = ad_infix(a, "%", x, length); break;
    case WRAP_PAD:
        replace_product(a, w, within(a, x, length->text));
        x = ad_call(a, "clamp", (AdEx *[]){ x, zero, last }, 3);
        break;
    case WRAP_CLAMP: x = ad_call(a, "clamp", (AdEx *[]){ x, zero, last }, 3); break;
    default: break;
    }
    rank = ad_order(x, x->free, ids);
    const char *name = ad_name(a, ad_format(a, "p%d", ++a->places));
    ad_define(a, name, ids, rank, x, 0, false);
    return ad_own(a, name, ids, rank);
}

/* The index whose values, one after the other, a subscript has; -1: it is not so simple. */
static int sliced(const Ad *a, const AdEx *at, int axis)
{
    const AdEx *s = at->arg[axis];
    if (plain_index(a, at, axis))
        return s->id;
    for (uint64_t m = s->free; m; m &= m - 1) {
        int id = __builtin_ctzll(m);
        if (s == a->shown[id] && a->index[id].slice && !at->wrap[axis])
            return id;
    }
    return -1;
}

/* dA[:,0:n] += …: distinct such indices, and numbers. */
static bool slices(const Ad *a, const AdEx *at)
{
    uint64_t seen = 0;
    for (int i = 0; at->kind == AD_LOAD && i < at->args; i++) {
        if (!at->arg[i]->free && !at->wrap[i])
            continue;
        int id = sliced(a, at, i);
        if (id < 0 || (seen >> id & 1))
            return false;
        seen |= UINT64_C(1) << id;
    }
    return at->kind == AD_LOAD;
}

/* A value that can stand right of += as it is: an element with indices alone. */
static bool plain_value(const AdWeight *w, uint64_t over)
{
    const AdEx *x = w->factor[0];
    if (w->count != 1 || w->minus || x->kind != AD_LOAD || x->free != over || w->over != over)
        return false;
    for (int i = 0; i < x->args; i++)
        if (x->arg[i]->kind != AD_INDEX || x->wrap[i] || !x->own)
            return false;
    return true;
}

/* The weight over the indices of the subscripts, in their order, as an element. */
static AdEx *gathered_value(Ad *a, const AdLeaf *leaf, const AdWeight *w, const int *ids, int rank,
                            uint64_t over)
{
    uint64_t einstein;
    bool real = take_real(leaf, w);
    if (!real && rank && plain_value(w, over))
        return w->factor[0];
    const char *name = ad_name(a, ad_format(a, "g%d", ++a->gathered));
    AdEx *x = ad_summed(a, w, w->over & ~over, real, &einstein);
    ad_define(a, name, ids, rank, x, einstein, false);
    return ad_own(a, name, ids, rank);
}

static void write_slices(Ad *a, AdLeaf *leaf, const AdTerm *t)
{
    int ids[AD_IDS], rank = 0;
    uint64_t over = 0;
    Buf *out = &a->out->text;
    for (int i = 0; i < t->at->args; i++)
        if (t->at->arg[i]->free) {
            ids[rank++] = sliced(a, t->at, i);
            over |= t->at->arg[i]->free;
        }
    AdEx *value = gathered_value(a, leaf, &t->w, ids, rank, over);
    if (value == t->w.factor[0]) {                      /* its axes may stand in another order */
        bool same = true;
        for (int i = 0; i < rank; i++)
            same &= value->arg[i]->id == ids[i];
        if (!same) {
            const char *name = ad_name(a, ad_format(a, "g%d", ++a->gathered));
            ad_define(a, name, ids, rank, value, 0, false);
            value = ad_text(a, name);
        }
    }
    zeros(a, leaf);
    buf_printf(out, "    %s[", leaf->grad);
    for (int i = 0; i < t->at->args; i++) {
        buf_puts(out, i ? "," : "");
        if (t->at->arg[i]->free)
            buf_puts(out, plain_index(a, t->at, i) ? ":" : a->index[sliced(a, t->at, i)].slice);
        else
            ad_put(a, out, t->at->arg[i]);
    }
    buf_printf(out, "] += %s\n", value->text);
}

static void write_gathered(Ad *a, AdLeaf *leaf, const AdTerm *t)
{
    const AdEx *at = t->at;
    AdWeight w = t->w;
    AdEx *to = ad_load(a, leaf->grad, at->args);
    int ids[AD_IDS];
    uint64_t over = 0;
    bool gathers = false;
    for (int i = 0; i < at->args; i++)
        gathers |= plain_gather(a, at, i) && at->arg[i]->free;
    for (int i = 0; i < at->args; i++) {
        over |= at->arg[i]->free;
        to->arg[i] = (plain_index(a, at, i) && gathers) || plain_gather(a, at, i) ||
                             (!at->arg[i]->free && !at->wrap[i])
                         ? at->arg[i]
                         : positions(a, at, i, &w);
        gathers |= to->arg[i]->kind == AD_LOAD;
    }
    ad_done(to);
    int rank = ad_order(to, over, ids);
    AdEx *value = gathered_value(a, leaf, &w, ids, rank, over);
    zeros(a, leaf);
    ad_names_start(a, ids, rank);
    buf_puts(&a->out->text, "    ");
    ad_put(a, &a->out->text, to);
    buf_puts(&a->out->text, " += ");
    ad_put(a, &a->out->text, value);
    buf_putc(&a->out->text, '\n');
}

/* ---- all terms of a leaf ---- */
typedef enum AdWay { AD_DEFINES, AD_SLICES, AD_GATHERS } AdWay;

static bool distinct(const Ad *a, const AdEx *at)
{
    uint64_t seen = 0;
    for (int i = 0; i < at->args; i++) {
        if (!plain_index(a, at, i) || (seen >> at->arg[i]->id & 1))
            return false;
        seen |= at->arg[i]->free;
    }
    return true;
}

static AdWay way_of(Ad *a, const AdTerm *t, AdSolved *s)
{
    bool whole = t->at->kind != AD_LOAD || distinct(a, t->at);
    if (!whole && slices(a, t->at))
        return AD_SLICES;
    return solve(a, t, s) ? AD_DEFINES : AD_GATHERS;
}

static bool no_sums(const AdTerm *t, const AdSolved *s)
{
    return !(s->w.over & ~(t->at->kind == AD_LOAD ? t->at->free : 0));
}

/* Terms over the indices of the gradient alone are one statement. Those with sums are one each. */
static bool joins(const Ad *a, const AdTerm *first, const AdTerm *t, const AdSolved *other)
{
    if (first->at->kind != t->at->kind || !no_sums(t, other))
        return false;
    return t->at->kind != AD_LOAD || (distinct(a, first->at) && distinct(a, t->at));
}

static void write_joined(Ad *a, AdLeaf *leaf, AdTerm *first, AdSolved *s)
{
    AdSolved other;
    bool real = take_real(leaf, &s->w);
    int rank = first->at->kind == AD_LOAD ? first->at->args : 0;
    AdEx *sum = at_entries(a, leaf, s->left, rank, ad_product(a, &s->w));
    for (AdTerm *t = first->next; t; t = t->next) {
        int ids = a->ids;
        if (!t->written && way_of(a, t, &other) == AD_DEFINES && joins(a, first, t, &other)) {
            ad_rename(a, &other.w, rank, other.left, s->left);
            bool minus = other.w.minus;
            other.w.minus = false;
            sum = ad_infix(a, minus ? "-" : "+", sum,
                           at_entries(a, leaf, s->left, rank, ad_product(a, &other.w)));
            real |= take_real(leaf, &other.w);
            t->written = true;
        }
        a->ids = ids;
    }
    ad_define(a, leaf->grad, s->left, rank, real ? ad_call(a, "real", &sum, 1) : sum, 0,
              leaf->written);
    leaf->written = true;
}

/* Those that define the gradient first. */
void ad_write_leaf(Ad *a, int i)
{
    AdLeaf *leaf = &a->leaf[i];
    AdSolved s;
    for (int pass = 0; pass < 2; pass++)
        for (AdTerm *t = leaf->terms; t; t = t->next) {
            int ids = a->ids;
            AdWay way = t->written ? AD_DEFINES : way_of(a, t, &s);
            if (t->written || (way == AD_DEFINES) != (pass == 0))
                continue;
            t->written = true;
            if (way == AD_SLICES)
                write_slices(a, leaf, t);
            else if (way == AD_GATHERS)
                write_gathered(a, leaf, t);
            else if (!no_sums(t, &s))
                write_solved(a, leaf, t, &s);
            else
                write_joined(a, leaf, t, &s);
            a->ids = ids;                   /* new ones were this statement's own */
        }
}
