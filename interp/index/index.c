/* Reading by subscripts: the entry points of interp.h. Tensors go through a Selection
 * (index_select.c); strings, tuples and ranges take an int or a slice, and pick by lists
 * and masks as a tensor of their positions would. Assignment is index_store.c. */
#include "interp/index/index.h"
#include "interp/sparse/sparse_door.h"
#include "interp/op/deferred.h"

#include "interp/state/kind.h"
#include "interp/op/traced.h"
#include "interp/door/pipeline.h"

#include <string.h>

/* ---- tensors ---- */

/* A view keeps the whole base alive and makes the next assignment to it copy all of it, so
 * a selection that is cheap to copy is copied: a few cache lines, or little of the base. */
static bool worth_copying(const Tensor *base, const Selection *sel)
{
    int64_t bytes = count_times(sel->size, dtype_info(base->dtype)->bytes);
    if (base->buffer->pinned)
        return true;                 /* C may write to them at any time */
    if (base->buffer->device)
        return false;                /* its elements may be elsewhere */
    return bytes <= 2048 || (bytes <= 65536 && bytes <= (int64_t)(base->buffer->bytes / 64));
}

/* A short vector is copied here; anything else by tensor_copy, which knows layouts. */
static Tensor *copy_selection(Interp *in, Tensor *base, const Selection *sel, char *data)
{
    Ctx *ctx = &in->ctx;
    size_t bytes = dtype_info(base->dtype)->bytes;
    if (sel->rank == 1) {
        Tensor *copy = tensor_new(ctx, (DType)base->dtype, 1, sel->shape);
        strided_copy(copy->data, 1, data, sel->strides[0], sel->size, bytes);
        return copy;
    }
    Tensor *view = tensor_view(ctx, base, sel->rank, sel->shape, sel->strides, data);
    v_push(in, v_tensor_raw(view));
    Tensor *copy = tensor_copy(ctx, view);
    stack_cut(in, in->sp - 1);
    return copy;
}

/* One element, without moving the others. */
static Value element_at(Interp *in, const Tensor *base, int64_t offset)
{
    _Alignas(16) char cell[ELEMENT_BYTES_MAX];
    const char *data = base->data + offset * dtype_info(base->dtype)->bytes;
    if (__builtin_expect(!tensor_away(base), 1))
        return v_element(&in->ctx, (DType)base->dtype, data);
    device_get_element(&in->ctx, base, data, cell);
    return v_element(&in->ctx, (DType)base->dtype, cell);
}

Value selection_view(Interp *in, Tensor *base, const Selection *sel)
{
    char *data = base->data + sel->offset * dtype_info(base->dtype)->bytes;
    if (sel->rank == 0)
        return element_at(in, base, sel->offset);
    if (worth_copying(base, sel))
        return v_tensor_raw(copy_selection(in, base, sel, data));
    return v_tensor_raw(tensor_view(&in->ctx, base, sel->rank, sel->shape, sel->strides, data));
}

static Value get_gathered(Interp *in, const Tensor *base, const Selection *sel)
{
    Tensor *out = tensor_new(&in->ctx, (DType)base->dtype, sel->rank, sel->shape);
    v_push(in, v_tensor_raw(out));
    tensor_home(&in->ctx, base);
    selection_gather(in, sel, base, out->data);
    in->sp--;
    return v_tensor(&in->ctx, out);
}

/* All subscripts are ints: one element, no selection is made. */
static bool get_element(Interp *in, const Tensor *base, const Sub *subs, int n, Value *out)
{
    int64_t at[TENSOR_RANK_MAX], offset;
    if (n != base->rank || n == 0)
        return false;
    for (int i = 0; i < n; i++) {
        if (subs[i].kind != SUB_VALUE || subs[i].v.tag != V_INT)
            return false;
        at[i] = subs[i].v.i;
    }
    if (!index_offset(base, at, n, &offset))
        return false;
    *out = element_at(in, base, offset);
    return true;
}

Value index_pick(Interp *in, Tensor *base, const Sub *subs, int n)
{
    Selection sel;
    Value *mark = in->sp, out;
    selection_make(in, &sel, base, subs, n);
    out = sel.fancy ? get_gathered(in, base, &sel) : selection_view(in, base, &sel);
    stack_cut(in, mark);
    return out;
}

static Value tensor_get(Interp *in, Tensor *base, const Sub *subs, int n)
{
    Value out;
    if (__builtin_expect(tensor_sparse(base) != NULL, 0))
        return index_get_sparse(in, tensor_sparse(base), subs, n);
    if (get_element(in, base, subs, n, &out))
        return out;
    return aspects_on(in) && index_picks(subs, n) ? index_get_asked(in, base, subs, n)
                                                  : index_pick(in, base, subs, n);
}

/* Numbers and ranges, as the tensors they stand for. */
static Value get_as_tensor(Interp *in, Value base, const Sub *subs, int n)
{
    Tensor *t = v_to_tensor(in, base, 0);
    v_push(in, v_tensor_raw(t));
    Value out = tensor_get(in, t, subs, n);
    stack_cut(in, in->sp - 1);
    return out;
}

/* ---- positions: strings and tuples under lists and masks ---- */

static void positions_home(Interp *in, Value v)
{
    if (!v_sparse(v))                   /* which is no list: index_pick refuses it */
        value_home(in, v);
}

/* The positions that a list or mask picks out of 0 … len-1; kept on the value stack. */
static const Tensor *positions(Interp *in, int64_t len, const Sub *sub)
{
    Tensor *all = tensor_new(&in->ctx, DT_I64, 1, &len);
    v_push(in, v_tensor_raw(all));
    for (int64_t i = 0; i < len; i++)
        ((int64_t *)all->data)[i] = i;
    if (sub->kind == SUB_VALUE)
        positions_home(in, sub->v);
    Value picked = index_pick(in, all, sub, 1);
    v_push(in, picked);
    if (picked.tag != V_TENSOR || picked.tensor->rank != 1)
        err_raise(&in->ctx, ERR_INDEX, "%s takes one int, a slice or a vector of ints",
                  err_operand_text(&in->ctx, 0));
    Tensor *dense = tensor_compact(&in->ctx, picked.tensor);
    v_push(in, v_tensor_raw(dense));
    return dense;
}

static const Sub *only_subscript(Interp *in, Value base, const Sub *subs, int n)
{
    if (n == 1)
        return subs;
    const char *name = err_operand_text(&in->ctx, 0), *first = subscript_text(in, 1),
               *second = subscript_text(in, 2);
    Error *e = err_new(&in->ctx, ERR_INDEX, "%d subscripts are too %s for %s, which is a %s", n,
                       n ? "many" : "few", name, v_type_name(base));
    if (base.tag == V_TUPLE && n == 2 && first && second)
        err_help(e, "%s[%s][%s]", name, first, second);
    err_throw(e);
}

/* Slices and picks alike: how many, and the k-th position. */
typedef struct Picks {
    int64_t count, start, step;
    const int64_t *at;
} Picks;

static Picks picks_make(Interp *in, const Sub *sub, int64_t len)
{
    if (sub->kind == SUB_SLICE) {
        Slice s = slice_resolve(in, sub, 1, len);
        return (Picks){ .count = s.count, .start = s.start, .step = s.step };
    }
    if (sub->kind == SUB_ELLIPSIS)
        return (Picks){ .count = len, .step = 1 };
    const Tensor *t = positions(in, len, sub);
    return (Picks){ .count = t->size, .at = (const int64_t *)t->data };
}

static inline int64_t pick(const Picks *p, int64_t k)
{
    return p->at ? p->at[k] : p->start + k * p->step;
}

/* ---- strings ---- */

/* Byte offsets of every character and of the end, on the value stack. */
static const int64_t *string_offsets(Interp *in, Str *s)
{
    int64_t n = (int64_t)str_chars(s) + 1;
    Tensor *t = tensor_new(&in->ctx, DT_I64, 1, &n);
    v_push(in, v_tensor_raw(t));
    int64_t *out = (int64_t *)t->data, k = 0;
    for (size_t i = 0; i < s->len; i++) {
        poll_interrupt(in);
        if ((s->text[i] & 0xc0) != 0x80)
            out[k++] = (int64_t)i;
    }
    out[k] = (int64_t)s->len;
    return out;
}

static Value string_char(Interp *in, Str *s, int64_t i)
{
    size_t at = str_offset(&in->ctx, s, (size_t)i), end = at + 1;
    while (end < s->len && (s->text[end] & 0xc0) == 0x80)
        end++;
    return v_str(str_new(&in->ctx, s->text + at, end - at));
}

static Value string_pick(Interp *in, Str *s, const Picks *p)
{
    Ctx *ctx = &in->ctx;
    bool ascii = str_chars(s) == s->len;
    if (p->count == 0)
        return v_str(str_new(ctx, "", 0));
    if (!p->at && p->step == 1) {
        size_t from = str_offset(ctx, s, (size_t)p->start),
               to = str_offset(ctx, s, (size_t)(p->start + p->count));
        return v_str(str_new(ctx, s->text + from, to - from));
    }
    const int64_t *offsets = ascii ? NULL : string_offsets(in, s);
    Str *out = str_new(ctx, "", 0);
    Value *kept = in->sp;
    v_push(in, v_str(out));
    for (int64_t k = 0; k < p->count; k++) {
        poll_interrupt(in);
        int64_t i = pick(p, k), from = ascii ? i : offsets[i], to = ascii ? i + 1 : offsets[i + 1];
        str_append(ctx, &kept->str, s->text + from, (size_t)(to - from));
    }
    in->sp--;
    return *kept;
}

Value index_letter(Interp *in, Str *s, int64_t i)
{
    return string_char(in, s, subscript_check(in, i, (int64_t)str_chars(s), -1, 1));
}

static Value string_get(Interp *in, Str *s, const Sub *sub)
{
    int64_t i, len = (int64_t)str_chars(s);
    if (sub->kind == SUB_VALUE && v_as_int(sub->v, &i))
        return index_letter(in, s, i);
    if (sub->kind == SUB_VALUE && (sub->v.tag == V_STRING || sub->v.tag == V_FLOAT))
        subscript_int(in, sub->v, 1);
    Value *mark = in->sp;
    Picks p = picks_make(in, sub, len);
    Value out = string_pick(in, s, &p);
    stack_cut(in, mark);
    return out;
}

/* ---- tuples ---- */

static Value tuple_pick(Interp *in, const Tuple *t, const Picks *p)
{
    if (p->count > INT32_MAX)
        err_raise(&in->ctx, ERR_MEMORY, "a tuple cannot hold that many items");
    Tuple *out = tuple_new(&in->ctx, (uint64_t)p->count);
    v_push(in, v_tuple(out));
    for (uint32_t k = 0; k < out->count; k++) {
        int64_t i = pick(p, k);
        out->items[k] = v_retain(t->items[i]);
        if (t->names)
            tuple_name(&in->ctx, out, k, t->names[i]);
    }
    in->sp--;
    return v_tuple(out);
}

/* Rows of a table, t[t.x > 3], are asked of its columns. */
static void check_rows_asked(Interp *in, const Tuple *t, const Tensor *mask)
{
    if (!t->names || mask->dtype != DT_BOOL || mask->rank != 1 || mask->dims[0] == t->count)
        return;
    for (uint32_t k = 0; k < t->count; k++) {
        Value c = t->items[k];
        int64_t rows = c.tag == V_TENSOR && c.tensor->rank ? c.tensor->dims[0]
                       : c.tag == V_TUPLE                  ? (int64_t)c.tuple->count
                                                           : -1;
        if (rows != mask->dims[0])
            return;
    }
    const char *name = err_operand_text(&in->ctx, 0), *text = subscript_text(in, 1);
    Error *e = err_new(&in->ctx, ERR_SHAPE, "the mask has length %lld, as the columns of %s have, "
                       "but %s has %u columns", (long long)mask->dims[0], name, name, t->count);
    err_underline(e, 1);
    if (text)
        err_help(e, "these rows of each column: map(c -> c[%s], %s)", text, name);
    err_throw(e);
}

static Value tuple_get(Interp *in, const Tuple *t, const Sub *sub)
{
    int64_t i;
    if (sub->kind == SUB_VALUE && sub->v.tag == V_TENSOR)
        check_rows_asked(in, t, sub->v.tensor);
    if (sub->kind == SUB_VALUE && sub->v.tag == V_STRING)
        return v_retain(t->items[tuple_field(in, t, sub->v.str->text, sub->v.str->len)]);
    if (sub->kind == SUB_VALUE && v_as_int(sub->v, &i))
        return v_retain(t->items[subscript_check(in, i, t->count, -1, 1)]);
    if (sub->kind == SUB_VALUE && sub->v.tag == V_FLOAT)
        subscript_int(in, sub->v, 1);
    Value *mark = in->sp;
    Picks p = picks_make(in, sub, t->count);
    Value out = tuple_pick(in, t, &p);
    stack_cut(in, mark);
    return out;
}

/* ---- ranges ---- */

static int64_t range_at(const Range *r, int64_t i)
{
    return (int64_t)((uint64_t)r->start + (uint64_t)i * (uint64_t)r->step);
}

static Value range_slice(Interp *in, const Range *r, const Sub *sub)
{
    Slice s = slice_resolve(in, sub, 1, r->count);
    int64_t start = range_at(r, s.start), step, stop;
    if (s.count == 0)
        return v_range(range_new(&in->ctx, start, start, 1));
    if (s.count == 1)
        s.step = 1;
    if (__builtin_mul_overflow(r->step, s.step, &step))
        step = s.step < 0 ? -r->step : r->step;      /* one element: any step will do */
    int64_t last = range_at(r, s.start + (s.count - 1) * s.step);
    if (__builtin_add_overflow(last, step, &stop))
        stop = step > 0 ? INT64_MAX : INT64_MIN;
    return v_range(range_new(&in->ctx, start, stop, step));
}

static Value range_get(Interp *in, Value base, const Sub *subs, int n)
{
    int64_t i;
    if (n == 1 && subs->kind == SUB_VALUE && v_as_int(subs->v, &i))
        return v_int(range_at(base.range, subscript_check(in, i, base.range->count, 0, 1)));
    if (n == 1 && subs->kind == SUB_SLICE)
        return range_slice(in, base.range, subs);
    return get_as_tensor(in, base, subs, n);
}

/* ---- the entry points ---- */

static _Noreturn void raise_unindexable(Interp *in, Value base, int n)
{
    const char *name = err_operand_text(&in->ctx, 0);
    char what[80];
    Error *e = err_new(&in->ctx, ERR_TYPE, "%s is %s and cannot be indexed", name,
                       v_describe_a(base, what, sizeof what));
    const char *argument = n == 1 ? subscript_text(in, 1) : NULL;
    if (base.tag == V_FUNCTION || base.tag == V_OP || base.tag == V_FORMAT || base.tag == V_CFUNC)
        err_help(e, "call it with round brackets: %s(%s)", name, argument ? argument : "…");
    err_underline(e, 0);
    err_throw(e);
}

/* What is indexed, by what, and what is stored, have elements. */
static void settle_all(Interp *in, Value base, const Sub *subs, int n, Value v)
{
    if (__builtin_expect(in->ctx.pending == 0, 1))
        return;
    deferred_settle(in, v_plain(base));
    deferred_settle(in, v_plain(v));
    for (int i = 0; i < n; i++)
        if (subs[i].kind == SUB_VALUE)
            deferred_settle(in, v_plain(subs[i].v));
}

Value index_get(Interp *in, Value base, const Sub *subs, int n)
{
    settle_all(in, base, subs, n, v_undef());
    if (__builtin_expect(in->boxes != 0, 0) && in->traces->subscripts(subs, n))
        return in->traces->index(in, base, subs, n);
    switch ((Tag)base.tag) {
    case V_TENSOR:
        return tensor_get(in, base.tensor, subs, n);
    case V_STRING:
        return string_get(in, base.str, only_subscript(in, base, subs, n));
    case V_TUPLE:
        return tuple_get(in, base.tuple, only_subscript(in, base, subs, n));
    case V_RANGE:
        return range_get(in, base, subs, n);
    case V_BOOL:
    case V_INT:
    case V_FLOAT:
        return get_as_tensor(in, base, subs, n);
    default:
        if (v_kind(base) && v_kind(base)->index)
            return v_kind(base)->index(in, base, subs, n);
        raise_unindexable(in, base, n);
    }
}

static _Noreturn void raise_fixed(Interp *in, Value base)
{
    const char *name = err_operand_text(&in->ctx, 0);
    Error *e = err_new(&in->ctx, ERR_TYPE, "%s is a %s, whose %s cannot be assigned", name,
                       v_type_name(base), base.tag == V_STRING ? "characters" : "elements");
    if (base.tag == V_STRING)
        err_help(e, "make a new one: %s = replace(%s, \"old\", \"new\")", name, name);
    else
        err_help(e, "make a vector of it first: %s = i64(%s)", name, name);
    err_underline(e, 0);
    err_throw(e);
}

/* A slice of a tuple takes as many items as it has. */
static void tuple_store_slice(Interp *in, Value *slot, const Sub *sub, Value v)
{
    Slice s = slice_resolve(in, sub, 1, slot->tuple->count);
    if (v.tag != V_TUPLE)
        err_raise(&in->ctx, ERR_TYPE, "a slice of a tuple takes a tuple, not %s",
                  v_describe_a(v, (char[80]){ 0 }, 80));
    if (v.tuple->count != s.count)
        err_raise(&in->ctx, ERR_VALUE, "%u items cannot take the place of %lld in %s",
                  v.tuple->count, (long long)s.count, err_operand_text(&in->ctx, 0));
    tuple_unshare(&in->ctx, &slot->tuple);
    for (int64_t k = 0; k < s.count; k++) {
        Value *item = &slot->tuple->items[s.start + k * s.step], old = *item;
        *item = v_retain(v.tuple->items[k]);
        v_release(&in->ctx, old);
    }
}

/* v is kept on the value stack meanwhile: t[0] = t must see t as shared. */
static void tuple_store(Interp *in, Value *slot, const Sub *sub, Value v)
{
    Tuple *t = slot->tuple;
    int64_t i;
    v_push(in, v_retain(v));
    if (sub->kind == SUB_SLICE) {
        tuple_store_slice(in, slot, sub, v);
    } else if (sub->kind == SUB_VALUE && sub->v.tag == V_STRING) {
        field_set(in, slot, names_intern(&in->names, sub->v.str->text, sub->v.str->len), v);
    } else {
        i = subscript_int(in, sub->kind == SUB_VALUE ? sub->v : v_none(), 1);
        i = subscript_check(in, i, t->count, -1, 1);
        tuple_unshare(&in->ctx, &slot->tuple);
        Value old = slot->tuple->items[i];
        slot->tuple->items[i] = v_retain(v);
        v_release(&in->ctx, old);
    }
    stack_cut(in, in->sp - 1);
}

void index_set(Interp *in, Value *slot, const Sub *subs, int n, Value v)
{
    settle_all(in, *slot, subs, n, v);
    if (__builtin_expect(in->boxes != 0, 0) && traced_store(in, slot, subs, n, NULL, v, false))
        return;
    switch ((Tag)slot->tag) {
    case V_TENSOR:
    case V_BOOL:
    case V_INT:
    case V_FLOAT:
        tensor_store(in, slot, subs, n, v);
        break;
    case V_TUPLE:
        tuple_store(in, slot, only_subscript(in, *slot, subs, n), v);
        break;
    case V_STRING:
    case V_RANGE:
        raise_fixed(in, *slot);
    default:
        if (!v_kind(*slot) || !v_kind(*slot)->index_set)
            raise_unindexable(in, *slot, n);
        v_kind(*slot)->index_set(in, *slot, subs, n, v);
    }
}

/* Errors of the subscripts point into the target, those of the operation at its operands. */
const Exec *index_target(const Exec *site)
{
    bool updates = site && site->node->kind == ND_OPASSIGN && site->b;
    return updates && site->b->node->kind == ND_INDEX ? site->b : site;
}

static void update(Interp *in, Value *slot, const Sub *subs, int n, const Op *op, Value v,
                   bool weak)
{
    if (__builtin_expect(in->boxes != 0, 0) && traced_store(in, slot, subs, n, op, v, weak))
        return;
    Value *mark = in->sp;
    const Exec *site = in->at, *target = index_target(site);
    in->at = target;
    if (index_update_repeated(in, slot, subs, n, op, v, weak)) {
        in->at = site;
        return;
    }
    v_push(in, index_get(in, *slot, subs, n));
    in->at = site;
    Value changed = op_binary(in, op, *mark, v, weak ? 2 : 0), old = *mark;
    *mark = changed;
    v_release(&in->ctx, old);       /* a view of the target: gone before it is written */
    in->at = target;
    index_set(in, slot, subs, n, changed);
    in->at = site;
    stack_cut(in, mark);
}

void index_update(Interp *in, Value *slot, const Sub *subs, int n, const Op *op, Value v, bool weak)
{
    int deferring = in->deferring;
    settle_all(in, *slot, subs, n, v);
    in->deferring = 0;                  /* what is computed here is looked into at once */
    update(in, slot, subs, n, op, v, weak);
    in->deferring = deferring;
}

Value *index_slot(Interp *in, Value *slot, const Sub *subs, int n)
{
    if (slot->tag != V_TUPLE || n != 1 || subs->kind != SUB_VALUE)
        return NULL;
    int64_t i;
    if (subs->v.tag == V_STRING) {
        const Name *name = names_find(&in->names, subs->v.str->text, subs->v.str->len);
        return name ? field_slot(in, slot, name) : NULL;
    }
    if (!v_as_int(subs->v, &i))
        return NULL;
    i += i < 0 ? slot->tuple->count : 0;
    if (i < 0 || i >= slot->tuple->count)
        return NULL;
    tuple_unshare(&in->ctx, &slot->tuple);
    return &slot->tuple->items[i];
}
