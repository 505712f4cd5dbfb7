/* Errors of a notation about values: lengths, bounds, ranges, operands of the wrong kind. Each
 * names the index, the tensors, their axes and lengths, underlines both places and offers what
 * works. A place inside a function that is inlined is the call in the notation that led there. */
#include "interp/notation/indexnot.h"

#include "core/system/c_locale.h"
#include "core/base/error.h"
#include "interp/op/arith.h"

#include <stdio.h>
#include <string.h>

static Span place_span(IxPlace p)
{
    const Node *n = p.node;
    for (const IxInstance *of = p.of; of && of->up; of = of->up)
        n = of->call->at->node;
    return n->span;
}

const char *ix_node_text(const Node *n, const IxInstance *of, char *out, size_t cap)
{
    const char *text = of->tree->source->text + n->span.from;
    size_t len = n->span.to - n->span.from, line = strcspn(text, "\n");
    bool cut = len >= cap || line < len;
    if (cut)
        len = line < cap - 4 ? line : cap - 4;
    while (cut && len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
        len--;
    snprintf(out, cap, "%.*s%s", (int)len, text, cut ? "…" : "");
    return out;
}

static __attribute__((format(printf, 5, 6)))
Error *ix_error(IxBind *b, ErrKind kind, IxPlace one, IxPlace other, const char *fmt, ...)
{
    char message[500];
    va_list args;
    va_start(args, fmt);
    c_vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    b->in->at = b->x;
    b->in->calls = b->calls;
    Error *e = err_new(&b->in->ctx, kind, "%s", message);
    Span first = place_span(one);
    err_at(e, b->site->tree.source, first);
    e->where.operand[e->where.operands++] = first;
    if (other.node)
        e->where.operand[e->where.operands++] = place_span(other);
    for (int i = 0; i < e->where.operands; i++)
        err_underline(e, i);
    return e;
}

static const IxPlace nowhere;

static IxPlace place(const IxNode *n, const IxInstance *of) { return (IxPlace){ n->at->node, of }; }

static const char *base_text(const IxAccess *x, char *out, size_t cap)
{
    return ix_node_text(x->node->base->at->node, x->of, out, cap);
}

static const char *span_name(const IxSpan *s) { return s->index->name->text; }

static IxPlace sub_place(const IxAccess *x, int axis)
{
    return (IxPlace){ x->node->sub[axis].node, x->of };
}

/* ---- ranges ---- */
static bool mentioned(const IxBind *b, int g)
{
    for (const IxAccess *x = b->accesses; x; x = x->next)
        for (int k = 0; k < x->node->subs; k++)
            if (x->sub[k].kind == IXS_AFFINE && (x->sub[k].at.mask >> g & 1))
                return true;
    return false;
}

/* Text of the source between two places; false: long, or of several lines. */
static bool piece(const Source *source, uint32_t from, uint32_t to, char *out, size_t cap)
{
    size_t len = to - from;
    if (to < from || len >= cap || memchr(source->text + from, '\n', len))
        return false;
    memcpy(out, source->text + from, len);
    out[len] = '\0';
    return true;
}

static const Node *bind_of(const Node *n, const Name *name)
{
    for (uint32_t i = 0; i < n->count; i++)
        if (n->list[i]->kind == ND_BIND && n->list[i]->a->kind == ND_NAME &&
            n->list[i]->a->name == name)
            return n->list[i];
    return NULL;
}

enum { OFFER_SHOWN = 240 };      /* a longer notation is not offered as a whole */

/* A piece of the notation in place of another, or added at its end. */
typedef struct Edit {
    Span at;
    char text[80];
} Edit;

/* This range for the index; false: its place is not in the notation itself. */
static bool edit_range(const IxBind *b, const IxSpan *s, const char *range, bool first, Edit *out)
{
    const Node *whole = b->site->node, *holder = s->index->reduce ? s->index->reduce : whole;
    const Node *bind = bind_of(holder, s->index->name);
    if (s->of->up || (!bind && whole->kind != ND_DEFINE))
        return false;
    const char *join = bind ? "" : whole->count || !first ? ", " : " for ";
    out->at = bind ? bind->span : (Span){ whole->span.to, whole->span.to };
    return snprintf(out->text, sizeof out->text, "%s%s in %s", join, span_name(s), range) <
           (int)sizeof out->text;
}

/* The whole notation with all edits, which stand in order, to be pasted. */
static bool edited(const IxBind *b, const Edit *edits, int count, char *out, size_t cap)
{
    const Node *whole = b->site->node;
    uint32_t at = whole->span.from;
    size_t n = 0;
    for (int i = 0; i <= count; i++) {
        uint32_t to = i < count ? edits[i].at.from : whole->span.to;
        if (!piece(b->site->tree.source, at, to, out + n, cap - n))
            return false;
        n += strlen(out + n);
        if (i == count)
            break;
        if (n + strlen(edits[i].text) >= cap)
            return false;
        n += (size_t)snprintf(out + n, cap - n, "%s", edits[i].text);
        at = edits[i].at.to;
    }
    return n < OFFER_SHOWN;
}

static bool with_range(IxBind *b, const IxSpan *s, const char *range, char *out, size_t cap)
{
    Edit edit;
    return edit_range(b, s, range, true, &edit) && edited(b, &edit, 1, out, cap);
}

static void offer_range(IxBind *b, Error *e, const IxSpan *s, const char *what, const char *range)
{
    char all[320];
    if (with_range(b, s, range, all, sizeof all))
        err_help(e, "%s: %s", what, all);
    else if (s->index->reduce)
        err_help(e, "%s: %s[%s in %s] …", what, s->index->reduce->name->text, span_name(s), range);
    else
        err_help(e, "%s: … for %s in %s", what, span_name(s), range);
}

static void span_range(const IxSpan *s, char *out, size_t cap)
{
    int64_t stop = s->start + (s->extent - 1) * s->step + (s->step > 0 ? 1 : -1);
    if (s->step == 1)
        snprintf(out, cap, "%lld:%lld", (long long)s->start, (long long)stop);
    else
        snprintf(out, cap, "%lld:%lld:%lld", (long long)s->start, (long long)stop,
                 (long long)s->step);
}

static void edit_insert(Edit *edits, int count, const Edit *new)
{
    while (count > 0 && edits[count - 1].at.from > new->at.from) {
        edits[count] = edits[count - 1];
        count--;
    }
    edits[count] = *new;
}

/* The ranges that fit, of all indices at once: one paste mends it. False: there are none. */
static bool offer_fitting(IxBind *b, Error *e)
{
    enum { SHOWN = 8 };
    Edit edits[SHOWN], edit;
    const IxSpan *first = NULL;
    IxSpan *before = arena_alloc(&b->arena, (size_t)b->spans * sizeof *before);
    char range[70], all[320];
    int count = 0;
    bool appended = false, whole = true;
    memcpy(before, b->span, (size_t)b->spans * sizeof *before);
    bool fits = ix_narrow(b);
    for (int g = 0; fits && g < b->spans; g++) {
        const IxSpan *s = &b->span[g];
        if (s->start == before[g].start && s->extent == before[g].extent)
            continue;
        first = first ? first : s;
        span_range(s, range, sizeof range);
        whole &= count < SHOWN && edit_range(b, s, range, !appended, &edit);
        if (!whole)
            continue;
        appended |= edit.at.from == edit.at.to;
        edit_insert(edits, count++, &edit);
    }
    if (first && whole && edited(b, edits, count, all, sizeof all)) {
        err_help(e, "what fits: %s", all);
    } else if (first) {
        span_range(first, range, sizeof range);
        offer_range(b, e, first, "what fits", range);
    }
    return first != NULL;
}

/* A range worth offering for an index that has none: all of the axis that it goes along inside
 * clamp, mod or pad. */
static void likely_range(const IxBind *b, int g, char *out, size_t cap)
{
    for (const IxAccess *x = b->accesses; x; x = x->next)
        for (int k = 0; k < x->node->subs; k++)
            if (x->node->sub[k].wrap && x->sub[k].kind == IXS_AFFINE && x->sub[k].at.coef[g] == 1 &&
                (x->sub[k].at.mask >> g & 1)) {
                snprintf(out, cap, "0:%lld", (long long)x->tensor->dims[k]);
                return;
            }
    snprintf(out, cap, "0:…");
}

/* A definition with ranges for all axes of the result that have none; false: it is otherwise. */
static bool with_ranges(const IxBind *b, char *out, size_t cap)
{
    const Node *whole = b->site->node;
    const char *join = whole->count ? ", " : " for ";
    char range[40];
    if (whole->kind != ND_DEFINE ||
        !piece(b->site->tree.source, whole->span.from, whole->span.to, out, cap))
        return false;
    for (int g = 0; g < b->spans; g++) {
        const IxSpan *s = &b->span[g];
        size_t len = strlen(out);
        if (s->known)
            continue;
        if (s->of->up || !s->index->left || bind_of(whole, s->index->name) || len + 80 > cap)
            return false;
        likely_range(b, g, range, sizeof range);
        snprintf(out + len, cap - len, "%s%s in %s", join, span_name(s), range);
        join = ", ";
    }
    return true;
}

/* An operand of the notation itself that is a whole tensor, as in `y[i] := A @ x`. */
static const IxNode *whole_tensor(const IxBind *b, const IxNode *n)
{
    const IxNode *found = NULL;
    if (n->kind == IX_LEAF && b->base[n->leaf].tag == V_TENSOR && b->base[n->leaf].tensor->rank > 0)
        return n;
    for (int i = 0; i < n->args && !found; i++)
        found = whole_tensor(b, n->arg[i]);
    return found;
}

void ix_error_range(IxBind *b, int g)
{
    const IxSpan *s = &b->span[g];
    const IxNode *whole = s->of->up ? NULL : whole_tensor(b, s->of->tree->root);
    if (whole)
        ix_error_operand(b, whole, s->of, b->base[whole->leaf]);
    bool some = mentioned(b, g);
    char all[320], range[40];
    Error *e = ix_error(b, ERR_INDEX, (IxPlace){ s->index->node, s->of }, nowhere,
                        some ? "the range of %s cannot be inferred: its subscripts hold other "
                               "indices without a range, or wrap"
                             : "the range of %s cannot be inferred: no axis has it as its "
                               "subscript",
                        span_name(s));
    likely_range(b, g, range, sizeof range);
    if (with_ranges(b, all, sizeof all))
        err_help(e, "give it one: %s", all);
    else
        offer_range(b, e, s, "give it one", range);
    err_throw(e);
}

/* [v for k, v in t], where the names are no indices but take the items of t apart. */
static bool unpacked(const IxBind *b, const IxSpan *s, Value v, char *out, size_t cap)
{
    const Node *whole = b->site->node, *bind = bind_of(whole, s->index->name);
    const Source *source = b->site->tree.source;
    char before[120], names[80], over[80], after[80], pairs[190];
    if (v.tag != V_TUPLE || s->of->up || whole->kind == ND_DEFINE || !bind ||
        bind == whole->list[0] ||
        !piece(source, whole->span.from, whole->list[0]->span.from, before, sizeof before) ||
        !piece(source, whole->list[0]->span.from, bind->a->span.to, names, sizeof names) ||
        !piece(source, bind->b->span.from, bind->b->span.to, over, sizeof over) ||
        !piece(source, bind->span.to, whole->span.to, after, sizeof after))
        return false;
    snprintf(pairs, sizeof pairs, v.tuple->named ? "zip(keys(%s), %s)" : "%s", over, over);
    return snprintf(out, cap, "%s(%s) in %s%s", before, names, pairs, after) < (int)cap;
}

void ix_error_range_value(IxBind *b, const IxSpan *s, Value v)
{
    char what[96];
    Error *e = ix_error(b, ERR_TYPE, (IxPlace){ s->index->range_node, s->of }, nowhere,
                        "the index %s takes a range of ints, not %s", span_name(s),
                        v_article(v, what, sizeof what));
    char range[100], text[80];
    ix_node_text(s->index->range_node, s->of, text, sizeof text);
    snprintf(range, sizeof range, "0:%s", text);
    char all[320];
    if (v.tag == V_INT)
        offer_range(b, e, s, "as a range", range);
    else if (unpacked(b, s, v, all, sizeof all))
        err_help(e, "names that are unpacked stand in parentheses: %s", all);
    else if (v.tag == V_TENSOR && v.tensor->rank == 1)
        err_help(e, "take its elements by an index p: (%s)[p] in place of %s", text, span_name(s));
    err_throw(e);
}

/* from … to: what this axis takes; the help offers what all of them take. */
void ix_error_zero(IxBind *b, int g, const IxAccess *x, int axis, int64_t from, int64_t to)
{
    char text[60], values[80] = "has room for no value of it", range[60] = "0:0";
    const IxSpan *s = &b->span[g];
    const IxAccess *tight;
    int tight_axis;
    if (from == to)
        snprintf(values, sizeof values, "takes only %lld", (long long)from);
    else if (from < to)
        snprintf(values, sizeof values, "takes it from %lld to %lld", (long long)from,
                 (long long)to);
    Error *e = ix_error(b, ERR_INDEX, sub_place(x, axis), nowhere,
                        "the index %s cannot start at 0: axis %d of %s, of length %lld, %s",
                        span_name(s), axis, base_text(x, text, sizeof text),
                        (long long)x->tensor->dims[axis], values);
    from = INT64_MIN;
    to = INT64_MAX;
    bool some = ix_fit(b, g, &from, &to, &tight, &tight_axis) && from <= to;
    if (some)
        snprintf(range, sizeof range, "%lld:%lld", (long long)from, (long long)to + 1);
    if (some || !offer_fitting(b, e))
        offer_range(b, e, s, some ? "say which values it takes" : "for a result without elements",
                    range);
    err_throw(e);
}

/* ---- two lengths ---- */
/* Would the index at this subscript go on having one length if the axis had n? */
static bool may_have(const IxBind *b, const IxAccess *x, int axis, int64_t n)
{
    if (!x->sub[axis].lone)
        return false;
    for (const IxAccess *y = b->accesses; y; y = y->next)
        for (int k = 0; k < y->node->subs; k++)
            if (y != x && y->sub[k].lone && y->sub[k].at.mask == x->sub[axis].at.mask &&
                y->tensor->dims[k] != n)
                return false;
    return true;
}

/* A transposition of x after which the lone index at `axis` has n values, its base in `out`. */
static bool transposed(const IxBind *b, const IxAccess *x, int axis, int64_t n, char *out,
                       size_t cap)
{
    char text[80];
    const Tensor *t = x->tensor;
    int other = 1 - axis;
    if (t->rank != 2 || axis > 1 || t->dims[other] != n || !may_have(b, x, other, t->dims[axis]))
        return false;
    char first[60], second[60];
    snprintf(out, cap, "%s[%s,%s]", base_text(x, text, sizeof text),
             ix_node_text(x->node->sub[1].node, x->of, first, sizeof first),
             ix_node_text(x->node->sub[0].node, x->of, second, sizeof second));
    return true;
}

void ix_error_lengths(IxBind *b, const IxSpan *s, const IxAccess *x, int axis)
{
    char one[60], two[60], fix[200];
    int64_t n = x->tensor->dims[axis], m = s->extent, less = n < m ? n : m;
    Error *e = ix_error(b, ERR_SHAPE, sub_place(s->from, s->axis), sub_place(x, axis),
                        "the index %s has two lengths: axis %d of %s has %lld, axis %d of %s has "
                        "%lld",
                        span_name(s), s->axis, base_text(s->from, one, sizeof one), (long long)m,
                        axis, base_text(x, two, sizeof two), (long long)n);
    bool other = x != s->from && (transposed(b, x, axis, m, fix, sizeof fix) ||
                 transposed(b, s->from, s->axis, n, fix, sizeof fix));
    if (!other)
        snprintf(fix, sizeof fix, "0:%lld", (long long)less);
    if (other)
        err_help(e, "the other axis fits: %s", fix);
    else
        offer_range(b, e, s, "over the values that both have", fix);
    err_throw(e);
}

/* ---- bounds ---- */
/* The notation with the position of A[i,-1] counted from the start. */
static void offer_position(const IxBind *b, Error *e, const IxAccess *x, int axis, int64_t position)
{
    char before[160], after[160];
    Span sub = x->node->sub[axis].node->span;
    Span all = x->of->up ? x->node->at->node->span : b->site->node->span;
    const Source *source = x->of->tree->source;
    if (piece(source, all.from, sub.from, before, sizeof before) &&
        piece(source, sub.to, all.to, after, sizeof after))
        err_help(e, "counted from the start: %s%lld%s", before, (long long)position, after);
}

void ix_error_bounds(IxBind *b, const IxAccess *x, int axis, int64_t low, int64_t high)
{
    char text[60], sub[60];
    int64_t n = x->tensor->dims[axis];
    const IxAffine *at = &x->sub[axis].at;
    const char *name = base_text(x, text, sizeof text);
    if (!at->mask) {
        Error *e = ix_error(b, ERR_INDEX, sub_place(x, axis), nowhere,
                            "axis %d of %s has length %lld: %lld is out of range%s", axis, name,
                            (long long)n, (long long)low,
                            low < 0 ? " (nothing counts from the end in index notation)" : "");
        if (low < 0 && low >= -n)
            offer_position(b, e, x, axis, low + n);
        err_throw(e);
    }
    char values[60];
    snprintf(values, sizeof values, low == high ? "is %lld" : "runs from %lld to %lld",
             (long long)low, (long long)high);
    Error *e = ix_error(b, ERR_INDEX, sub_place(x, axis), nowhere,
                        "the subscript %s %s, and axis %d of %s has length %lld",
                        ix_node_text(x->node->sub[axis].node, x->of, sub, sizeof sub), values, axis,
                        name, (long long)n);
    if (!offer_fitting(b, e))
        err_help(e, "beyond the ends: clamp(…), mod(…) or pad(…) around the subscript");
    err_throw(e);
}

void ix_error_wrap(IxBind *b, const IxAccess *x, int axis)
{
    char text[60];
    err_throw(ix_error(b, ERR_INDEX, sub_place(x, axis), nowhere,
                       "axis %d of %s has length 0: there is nothing to %s to", axis,
                       base_text(x, text, sizeof text),
                       x->node->sub[axis].wrap == WRAP_MOD ? "wrap" : "clamp"));
}

void ix_error_gather(Interp *in, const Exec *x, const IxAux *aux, int64_t value)
{
    char sub[60], base[60];
    const IxSub *s = &aux->node->sub[aux->sub];
    in->at = x;
    Error *e = err_new(&in->ctx, ERR_INDEX,
                       "the subscript %s has the value %lld, and axis %d of %s has length "
                       "%lld%s",
                       ix_node_text(s->node, aux->of, sub, sizeof sub), (long long)value, aux->axis,
                       ix_node_text(aux->node->base->at->node, aux->of, base, sizeof base),
                       (long long)aux->length,
                       value < 0 ? " (nothing counts from the end in index notation)" : "");
    Span span = place_span((IxPlace){ s->node, aux->of });
    const IxInstance *top = aux->of;
    while (top->up)
        top = top->up;
    err_at(e, top->tree->source, span);
    if (!s->wrap)
        err_help(e, "beyond the ends: clamp(%s), mod(%s) or pad(%s)", sub, sub, sub);
    err_throw(e);
}

/* ---- operands of the wrong kind ---- */
static void offer_indices(Error *e, const char *base, int rank)
{
    static const char letters[] = "i,j,k,l,m,n";
    bool plain = strpbrk(base, " +-*/@\\^'") == NULL;
    if (rank <= 6)
        err_help(e, plain ? "an index per axis: %s[%.*s]" : "an index per axis: (%s)[%.*s]", base,
                 rank > 0 ? 2 * rank - 1 : 0, letters);
}

void ix_error_rank(IxBind *b, const IxNode *n, IxInstance *of, const Tensor *t)
{
    char base[60], shape[128];
    Error *e =
        ix_error(b, ERR_INDEX, place(n, of), nowhere, "%s %s, so it takes %d subscript%s, not %d",
                 ix_node_text(n->base->at->node, of, base, sizeof base),
                 shape_fact(shape, sizeof shape, t->rank, tensor_shape(t)), t->rank,
                 t->rank == 1 ? "" : "s", n->subs);
    if (n->subs < t->rank)
        offer_indices(e, base, t->rank);
    err_throw(e);
}

void ix_error_base(IxBind *b, const IxNode *n, IxInstance *of, Value v)
{
    char base[60], what[96];
    ix_node_text(n->base->at->node, of, base, sizeof base);
    bool computed = v.tag == V_UNDEF;
    bool scalar = !computed && v_is_numeric(v);
    Error *e = ix_error(b, scalar ? ERR_INDEX : ERR_TYPE, place(n, of), nowhere,
                        "%s is %s: index notation takes elements of tensors",
                        base, computed ? "an element" : v_article(v, what, sizeof what));
    if (scalar)
        err_help(e, "a scalar stands without subscripts: %s", base);
    else if (v.tag == V_FUNCTION || v.tag == V_OP)
        err_help(e, "call it: %s(…)", base);
    err_throw(e);
}

void ix_error_operand(IxBind *b, const IxNode *n, IxInstance *of, Value v)
{
    char text[60], what[96];
    ix_node_text(n->at->node, of, text, sizeof text);
    bool tensor = v.tag == V_TENSOR;
    Error *e = ix_error(b, tensor ? ERR_INDEX : ERR_TYPE, place(n, of), nowhere,
                        tensor ? "%s is %s: in index notation it needs its indices"
                               : "%s is %s: index notation takes numbers and elements of tensors",
                        text, v_article(v, what, sizeof what));
    if (tensor)
        offer_indices(e, text, v.tensor->rank);
    err_throw(e);
}

void ix_error_subscript(IxBind *b, const IxNode *n, IxInstance *of, Value v)
{
    char text[60], what[96];
    ix_node_text(n->at->node, of, text, sizeof text);
    Error *e = ix_error(b, v.tag == V_TENSOR && v.tensor->rank ? ERR_INDEX : ERR_TYPE, place(n, of),
                        nowhere, "the subscript %s is %s: subscripts are ints", text,
                        v_article(v, what, sizeof what));
    if (v.tag == V_TENSOR && v.tensor->rank == 1)
        err_help(e, "gather by its elements: %s[p] with an index p", text);
    else if (v.tag == V_FLOAT || (v.tag == V_TENSOR && dtype_info(v.tensor->dtype)->kind == 'f'))
        err_help(e, strchr(text, '/') ? "`//` divides ints"
                                      : "round it down before: an int variable, or //");
    err_throw(e);
}

/* One more `i in 0:n`, unless the index has its range already. */
static int add_bind(char *out, size_t cap, const char *name, const char *range, int count)
{
    char bind[60];
    snprintf(bind, sizeof bind, "%s in ", name);
    if (strstr(out, bind))
        return count;
    snprintf(out + strlen(out), cap - strlen(out), "%s%s%s", count ? ", " : "", bind, range);
    return count + 1;
}

/* `for i in 0:shape(x)[0]` for the lone indices in a call's arguments, or as `for` gives it: at
 * most two. */
static int comprehension_ranges(const IxNode *n, const IxInstance *of, char *out, size_t cap,
                                int count)
{
    char base[40], range[80];
    if (n->kind == IX_NUMBER && n->index >= 0 && of->tree->index[n->index].range) {
        const IxIndex *index = &of->tree->index[n->index];
        return add_bind(out, cap, index->name->text,
                        ix_node_text(index->range_node, of, range, sizeof range), count);
    }
    for (int k = 0; k < n->subs; k++) {
        const IxNode *at = n->sub[k].at;
        if (at->kind != IX_NUMBER || n->sub[k].wrap || at->index < 0) {
            count = comprehension_ranges(at, of, out, cap, count);
            continue;
        }
        if (of->tree->index[at->index].range) {
            count = comprehension_ranges(at, of, out, cap, count);
            continue;
        }
        snprintf(range, sizeof range, "0:shape(%s)[%d]",
                 ix_node_text(n->base->at->node, of, base, sizeof base), k);
        count = add_bind(out, cap, of->tree->index[at->index].name->text, range, count);
    }
    for (int i = 0; i < n->args; i++)
        count = comprehension_ranges(n->arg[i], of, out, cap, count);
    return count;
}

/* cumsum(x[i]) is seldom meant: the operation and the tensor whose elements it is given. */
static bool whole_call(const IxNode *n, const IxInstance *of, const char *name, char *out,
                       size_t cap)
{
    char base[60];
    const IxNode *x = n->args == 1 ? n->arg[0] : NULL;
    bool plain = x && x->kind == IX_ELEMENT;
    for (int k = 0; plain && k < x->subs; k++)
        plain = x->sub[k].at->kind == IX_NUMBER && !x->sub[k].wrap;
    if (plain)
        snprintf(out, cap, "%s(%s)", name, ix_node_text(x->base->at->node, of, base, sizeof base));
    return plain;
}

/* A call's text with `:` for indices that nothing binds: sort(A[i,:]). */
static void call_text(const IxNode *call, const IxInstance *of, char *out, size_t cap)
{
    const Source *source = of->tree->source;
    uint32_t at = call->at->node->span.from;
    char part[100], rest[100];
    size_t len = 0;
    for (int i = 0; i < call->args; i++)
        for (int k = 0; k < call->arg[i]->subs; k++) {
            const IxSub *s = &call->arg[i]->sub[k];
            if (s->at->kind != IX_NUMBER || s->at->index >= 0 || s->wrap ||
                !piece(source, at, s->node->span.from, part, sizeof part))
                continue;
            len += (size_t)snprintf(out + len, cap - len, "%s:", part);
            at = s->node->span.to;
            if (len + 2 > cap)
                break;
        }
    if (len == 0 || !piece(source, at, call->at->node->span.to, rest, sizeof rest) ||
        len + strlen(rest) >= cap)
        ix_node_text(call->at->node, of, out, cap);
    else
        strcpy(out + len, rest);
}

static void offer_comprehension(Error *e, const IxNode *n, const IxInstance *of, const char *op)
{
    char call[100], ranges[200] = "", all[140];
    bool whole = op && whole_call(n, of, op, all, sizeof all);
    for (; of->up; of = of->up)
        n = of->call;
    call_text(n, of, call, sizeof call);
    int count = comprehension_ranges(n, of, ranges, sizeof ranges, 0);
    bool fits = count >= 1 && count <= 2 && !strstr(call, "…");
    err_help(e, "%s%san ordinary comprehension calls anything: [%s for %s]",
             whole ? "of the whole tensor: " : "", whole ? strcat(all, "; ") : "", call,
             fits ? ranges : "i in 0:…");
}

/* Of the function `name`. */
static const char *const refused[] = {
    [IXC_COMPUTED] = "is computed from elements",
    [IXC_ORDER] = "takes its arguments in order here",
    [IXC_OTHERS] = "takes other arguments",
    [IXC_MORE] = "needs more arguments",
    [IXC_ITSELF] = "calls itself",
    [IXC_DEEP] = "is one call too many to take in",
    [IXC_OPERANDS] = "brings too many operands",
};

void ix_error_callee(IxBind *b, const IxNode *n, IxInstance *of, Value v, IxRefusal why)
{
    char name[60], what[96], call[100];
    ix_node_text(n->base->at->node, of, name, sizeof name);
    ix_node_text(n->at->node, of, call, sizeof call);
    bool function = v.tag == V_FUNCTION, op = v.tag == V_OP;
    Error *e;
    if (why == IXC_BODY)
        e = ix_error(b, ERR_TYPE, place(n, of), nowhere,
                     "%s cannot be taken into index notation: %s", name,
                     ix_body(b->in, v.fn)->fail->message);
    else if (why != IXC_FORM)
        e = ix_error(b, ERR_TYPE, place(n, of), nowhere,
                     "%s cannot be taken into index notation: %s %s", name, name, refused[why]);
    else if (v.tag == V_CFUNC || v.tag == V_CTYPE)
        e = ix_error(b, ERR_TYPE, place(n, of), nowhere,
                     "%s is a C %s, which index notation cannot take in", name,
                     v.tag == V_CFUNC ? "function" : "type");
    else if (function)
        e = ix_error(b, ERR_TYPE, place(n, of), nowhere,
                     "%s is no single expression, so index notation cannot "
                     "take it in",
                     name);
    else if (op)
        e = ix_error(b, ERR_TYPE, place(n, of), nowhere, "%s is no elementwise operation", name);
    else
        e = ix_error(b, ERR_TYPE, place(n, of), nowhere, "%s is %s and cannot be called", name,
                     v_article(v, what, sizeof what));
    const char *twin = op && strcmp(name, v.op->name) == 0 ? v.op->twin : NULL;
    if (ix_wrap_find(b->in, name) != WRAP_NONE && !function && !op)
        err_help(e, "rename the variable: inside brackets %s(…) keeps a subscript in its axis",
                 name);
    else if (twin && n->args == 2)
        err_help(e, "of two elements: %s%s; over an index: %s[k] …", twin,
                 call + strlen(name), name);
    else if (op && ix_reduce_find(name) >= 0)
        err_help(e, "over an index: %s[k] …", name);
    else if (function && why != IXC_FORM && why != IXC_ITSELF) {
        buf_clear(&b->in->scratch);
        print_signature(&b->in->scratch, v.fn->code->node);
        err_help(e, "it is called as %s", buf_cstr(&b->in->scratch));
    } else if (function || op || v.tag == V_CFUNC || v.tag == V_CTYPE)
        offer_comprehension(e, n, of, op && why == IXC_FORM ? name : NULL);
    err_throw(e);
}

void ix_error_logic(IxBind *b, const IxNode *n, IxInstance *of, int arg, DType dt)
{
    char text[60];
    ix_node_text(n->arg[arg]->at->node, of, text, sizeof text);
    Error *e = ix_error(b, ERR_TYPE, place(n->arg[arg], of), nowhere, "%s takes bools: %s is %s %s",
                        node_kind_name((NodeKind)n->at->node->kind), text,
                        strchr("fi", dtype_name(dt)[0]) ? "an" : "a", dtype_name(dt));
    err_help(e, "compare it: %s != 0", text);
    err_throw(e);
}

void ix_error_cast(IxBind *b, const IxNode *n, IxInstance *of, DType from, DType to)
{
    char text[60], rest[60];
    const IxNode *arg = n->arg[0];
    bool element = arg->kind == IX_ELEMENT;
    Error *e = ix_error(b, ERR_DTYPE, place(n, of), nowhere,
                        "%s of %s elements can fail, which index notation "
                        "cannot tell element by element",
                        dtype_name(to), dtype_name(from));
    if (element)
        err_help(e, "cast the tensor first: %s(%s)%s", dtype_name(to),
                 ix_node_text(arg->base->at->node, of, text, sizeof text),
                 ix_node_text(
                     &(Node){ .span = { arg->base->at->node->span.to, arg->at->node->span.to } },
                     of, rest, sizeof rest));
    err_throw(e);
}

void ix_error_order(IxBind *b, const IxNode *n, IxInstance *of, DType dt)
{
    char text[60];
    Error *e = ix_error(b, ERR_DTYPE, place(n, of), nowhere,
                        "%s of %s elements: complex numbers have no order", n->at->node->name->text,
                        dtype_name(dt));
    ix_node_text(n->arg[0]->at->node, of, text, sizeof text);
    err_help(e, "take a part of it: real(%s), imag(%s) or abs(%s)", text, text, text);
    err_throw(e);
}

/* Sparse bases of the part, each inside dense(…). False: they are not in the notation itself. */
static bool offer_dense(const IxBind *b, const IxNode *n, const IxInstance *of, Edit *edits,
                        int *count)
{
    enum { SHOWN = 8 };
    for (const IxAccess *x = b->accesses; x && n->kind == IX_ELEMENT; x = x->next) {
        const Node *base = n->base->at->node;
        char text[60];
        if (x->node != n || x->of != of || !tensor_sparse(x->tensor))
            continue;
        if (of->up || n->base->kind != IX_LEAF || *count == SHOWN ||
            base->span.to - base->span.from >= sizeof text)
            return false;
        Edit edit = { .at = base->span };
        snprintf(edit.text, sizeof edit.text, "dense(%s)", base_text(x, text, sizeof text));
        edit_insert(edits, (*count)++, &edit);
        return true;
    }
    for (int i = 0; i < n->args; i++)
        if (!offer_dense(b, n->arg[i], of, edits, count))
            return false;
    return true;
}

void ix_error_absent(IxBind *b, const IxNode *n, IxInstance *of)
{
    Edit edits[8];
    char all[320], text[60];
    int count = 0;
    const char *what = ix_node_text(n->at->node, of, text, sizeof text);
    Error *e = ix_error(b, ERR_TYPE, place(n, of), nowhere,
                        n->kind == IX_REDUCE
                            ? "%s counts elements that a sparse matrix does not store"
                            : "%s is not 0 where a sparse matrix has no entry, and index notation "
                              "goes over the entries", what);
    if (offer_dense(b, n, of, edits, &count) && count && edited(b, edits, count, all, sizeof all))
        err_help(e, "over all elements: %s", all);
    else
        err_help(e, "dense(…) of the sparse matrix has all elements");
    err_throw(e);
}

void ix_error_empty(IxBind *b, const IxNode *n, IxInstance *of, int g)
{
    const IxSpan *s = &b->span[g];
    const char *name = n->at->node->kind == ND_REDUCE ? n->at->node->name->text : "the reduction";
    char text[60];
    if (s->from)
        err_throw(ix_error(b, ERR_VALUE, (IxPlace){ n->at->node, of }, sub_place(s->from, s->axis),
                           "%s over the index %s, which has no values: axis %d of %s has length 0",
                           name, span_name(s), s->axis, base_text(s->from, text, sizeof text)));
    err_throw(ix_error(b, ERR_VALUE, (IxPlace){ n->at->node, of }, nowhere,
                       "%s over the index %s, which has no values", name, span_name(s)));
}
