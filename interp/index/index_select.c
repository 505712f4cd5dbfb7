/* Subscripts of a tensor to a Selection: slices, ints, new axes, `...`, boolean masks and
 * index tensors, with NumPy's rules for their broadcasting and for where their axes go
 * (NumPy reference, "Advanced indexing"). Used by reading and by assignment. Nothing here
 * touches an element of the base. */
#include "interp/index/index_sparse.h"
#include "interp/output/fix_text.h"
#include "interp/op/peers.h"

#include "kernels/device/device.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* GAP: a `...` that stands for no axis still parts index tensors, as in NumPy. */
typedef enum ItemKind { ITEM_INT, ITEM_SLICE, ITEM_NEW, ITEM_LIST, ITEM_GAP } ItemKind;

/* One subscript after masks and `...` are resolved. */
typedef struct Item {
    ItemKind kind;
    int axis, operand;
    int64_t at;              /* INT */
    Slice slice;             /* SLICE */
    Tensor *list;            /* LIST: int indices, or offsets where they come from a mask */
    bool offsets;
} Item;

enum { ITEMS_MAX = 2 * TENSOR_RANK_MAX };

typedef struct Selector {
    Interp *in;
    Tensor *base;
    int n, axis;             /* items, and the next axis of the base */
    bool any_list;
    Item items[ITEMS_MAX];
} Selector;

/* ---- errors ---- */

const char *subscript_text(Interp *in, int operand)
{
    Where where = { 0 };
    if (in->ctx.locate)
        in->ctx.locate(&in->ctx, &where);
    if (!where.source || operand >= where.operands)
        return NULL;
    Span s = where.operand[operand];
    if (s.to <= s.from || s.to - s.from >= 40 || s.to > where.source->len ||
        memchr(where.source->text + s.from, '\n', s.to - s.from))
        return NULL;
    return err_operand_text(&in->ctx, operand);
}

static _Noreturn void raise_too_many(Interp *in, const Tensor *base, int given)
{
    const char *name = err_operand_text(&in->ctx, 0);
    if (base->rank == 0)
        err_raise(&in->ctx, ERR_INDEX, "%s is a scalar and has no axis to index", name);
    Error *e = err_new(&in->ctx, ERR_INDEX,
                       "%d subscripts are too many for %s, which has %d %s", given,
                       name, base->rank, base->rank == 1 ? "axis" : "axes");
    /* a store: its mark is the = */
    for (int i = 1; e->where.operands == given + 2 && i <= given; i++)
        err_underline(e, i);
    err_throw(e);
}

static _Noreturn void raise_float(Interp *in, Value v, int operand, const char *text)
{
    Error *e;
    if (v.tag == V_FLOAT)
        e = err_new(&in->ctx, ERR_TYPE, "an index is an int; %s is the float %.15g%s",
                    text ? text : "this", v.f, v.f == floor(v.f) && fabs(v.f) < 1e15 ? ".0" : "");
    else
        e = err_new(&in->ctx, ERR_TYPE, "indices are ints; %s has dtype %s", text ? text : "this",
                    dtype_name(v.tensor->dtype));
    bool scalar = v.tag == V_FLOAT || v.tensor->rank == 0;
    if (text && v.tag == V_FLOAT && strchr("0123456789", text[0]) && v.f == (double)(int)v.f)
        err_help(e, "%d", (int)v.f);
    else if (text)
        err_help(e, scalar ? "int(%s)" : "i64(%s)", text);
    err_underline(e, operand);
    err_throw(e);
}

static _Noreturn void raise_subscript(Interp *in, Value v, int operand)
{
    const char *text = subscript_text(in, operand);
    DType dt = v_dtype(v);
    if (dt != DT_NONE && dtype_info(dt)->kind == 'f')
        raise_float(in, v, operand, text);
    char what[80];
    Error *e = err_new(&in->ctx, ERR_TYPE, "%s cannot be indexed with %s",
                       err_operand_text(&in->ctx, 0), v_describe_a(v, what, sizeof what));
    if (operand < e->where.operands)
        peer_translate(in, e, FOREIGN_CALL, e->where.operand[operand].from);
    err_underline(e, operand);
    err_throw(e);
}

int64_t subscript_int(Interp *in, Value v, int operand)
{
    int64_t i;
    if (!v_as_int(v, &i))
        raise_subscript(in, v, operand);
    return i;
}

/* One past the end is what a habit of counting from 1 gives. */
static void help_last(Error *e, int64_t last, int operand)
{
    char number[24], fixed[120];
    snprintf(number, sizeof number, "%" PRId64, last);
    if (fix_number(e, operand) && fix_replace(e, operand, number, fixed, sizeof fixed))
        err_help(e, "indices count from 0, the last one is %s: %s", number, fixed);
    else
        err_help(e, "indices count from 0, the last one is %s", number);
}

int64_t subscript_check(Interp *in, int64_t i, int64_t len, int axis, int operand)
{
    int64_t at = i < 0 ? i + len : i;
    if (at >= 0 && at < len)
        return at;
    const char *name = err_operand_text(&in->ctx, 0);
    Error *e = axis < 0
        ? err_new(&in->ctx, ERR_INDEX,
                  "index %" PRId64 " is out of range for %s, which has length %"
                  PRId64, i, name, len)
        : err_new(&in->ctx, ERR_INDEX,
                  "index %" PRId64 " is out of range for axis %d of %s, which has "
                  "length %" PRId64, i, axis, name, len);
    err_underline(e, operand);
    if (i == len && len > 0)
        help_last(e, len - 1, operand);
    err_throw(e);
}

/* ---- slices ---- */

static bool slice_part(Interp *in, Value v, int operand, int64_t *out)
{
    if (v.tag == V_UNDEF || v.tag == V_NONE)
        return false;
    *out = subscript_int(in, v, operand);
    return true;
}

/* Where a bound lands on an axis: CPython's PySlice_AdjustIndices. */
static int64_t slice_clamp(int64_t i, int64_t len, bool down)
{
    if (i < 0) {
        i += len;
        return i < 0 ? (down ? -1 : 0) : i;
    }
    return i >= len ? (down ? len - 1 : len) : i;
}

Slice slice_resolve(Interp *in, const Sub *sub, int operand, int64_t len)
{
    int64_t step = 1, start, stop;
    if (slice_part(in, sub->step, operand, &step) && step == 0) {
        Error *e = err_new(&in->ctx, ERR_VALUE, "the step of a slice is 0");
        err_underline(e, operand);
        err_throw(e);
    }
    if (step < -INT64_MAX)
        step = -INT64_MAX;
    bool down = step < 0;
    start = slice_part(in, sub->start, operand, &start) ? slice_clamp(start, len, down)
                                                        : (down ? len - 1 : 0);
    stop = slice_part(in, sub->stop, operand, &stop) ? slice_clamp(stop, len, down)
                                                     : (down ? -1 : len);
    int64_t gap = down ? start - stop : stop - start, stride = down ? -step : step;
    return (Slice){ .start = start, .step = step, .count = gap > 0 ? (gap - 1) / stride + 1 : 0 };
}

/* ---- items ---- */

static Item *item_add(Selector *s, ItemKind kind, int operand)
{
    if (s->n == ITEMS_MAX)
        err_raise(&s->in->ctx, ERR_INDEX, "there are more subscripts than %s may have axes",
                  err_operand_text(&s->in->ctx, 0));
    Item *item = &s->items[s->n++];
    *item = (Item){ .kind = kind, .axis = s->axis, .operand = operand };
    return item;
}

/* The axes of the base that a subscript takes. */
static int axes_taken(const Sub *sub)
{
    if (sub->kind == SUB_SLICE)
        return 1;
    if (sub->kind == SUB_ELLIPSIS || sub->v.tag == V_NONE || sub->v.tag == V_BOOL)
        return 0;
    bool mask = sub->v.tag == V_TENSOR && sub->v.tensor->dtype == DT_BOOL;
    return mask ? sub->v.tensor->rank : 1;
}

static void item_slice(Selector *s, const Sub *sub, int operand)
{
    int64_t len = tensor_shape(s->base)[s->axis];
    item_add(s, ITEM_SLICE, operand)->slice = slice_resolve(s->in, sub, operand, len);
    s->axis++;
}

static void item_rest(Selector *s, int count)
{
    for (int i = 0; i < count; i++) {
        int64_t len = tensor_shape(s->base)[s->axis];
        item_add(s, ITEM_SLICE, 0)->slice = (Slice){ .step = 1, .count = len };
        s->axis++;
    }
}

static Tensor *scratch(Interp *in, int64_t n)
{
    Tensor *t = tensor_new(&in->ctx, DT_I64, 1, &n);
    v_push(in, v_tensor_raw(t));
    return t;
}

/* Counted as they are written: memory that C has may hold other bytes than 0 and 1 by now. */
static int64_t count_true(const Tensor *mask)
{
    const uint8_t *m = (const uint8_t *)mask->data;
    int64_t count = 0;
    for (int64_t i = 0; i < mask->size; i++)
        count += m[i] != 0;
    return count;
}

/* Writes the offsets of the mask's true elements: row by row, the last axis inside. */
static void mask_offsets(Interp *in, const Tensor *mask, const int64_t *strides, int64_t *out)
{
    int last = mask->rank - 1;
    int64_t n = mask->dims[last], step = strides[last], at[TENSOR_RANK_MAX] = { 0 }, row = 0;
    const uint8_t *m = (const uint8_t *)mask->data, *end = m + mask->size;
    while (m < end) {
        poll_interrupt(in);
        for (int64_t j = 0; j < n; j++) {
            *out = row + j * step;
            out += m[j] != 0;
        }
        m += n;
        for (int k = last - 1; k >= 0; k--) {
            row += strides[k];
            if (++at[k] < mask->dims[k])
                break;
            row -= at[k] * strides[k];
            at[k] = 0;
        }
    }
}

static void mask_check(Selector *s, const Tensor *mask, int operand)
{
    Interp *in = s->in;
    const int64_t *shape = tensor_shape(s->base) + s->axis;
    if (memcmp(shape, tensor_shape(mask), mask->rank * sizeof *shape) == 0)
        return;
    const char *name = err_operand_text(&in->ctx, 0);
    char have[128], want[128];
    shape_text(have, sizeof have, mask->rank, tensor_shape(mask));
    shape_text(want, sizeof want, mask->rank, shape);
    Error *e;
    if (mask->rank == 1)
        e = err_new(&in->ctx, ERR_SHAPE, "the mask has length %s but axis %d of %s has length %s",
                    have, s->axis, name, want);
    else
        e = err_new(&in->ctx, ERR_SHAPE, mask->rank == s->base->rank ? "the mask is %s but %s is %s"
                                                                     : "the mask is %s but %s is "
                                                                       "%s there",
                    have, name, want);
    err_underline(e, operand);
    err_throw(e);
}

static Tensor *dense_mask_offsets(Interp *in, Tensor *mask, const int64_t *strides)
{
    mask = tensor_compact(&in->ctx, mask);
    v_push(in, v_tensor_raw(mask));
    tensor_home(&in->ctx, mask);
    int64_t count = count_true(mask);
    Tensor *list = scratch(in, count + 1);           /* the loop writes one past the last */
    list->dims[0] = list->size = count;
    mask_offsets(in, mask, strides, (int64_t *)list->data);
    return list;
}

static void item_mask(Selector *s, Tensor *mask, int operand)
{
    const int64_t *strides = tensor_strides(s->base) + s->axis;
    mask_check(s, mask, operand);
    Tensor *list = tensor_sparse(mask) ? sparse_mask_offsets(s->in, tensor_sparse(mask), strides)
                                       : dense_mask_offsets(s->in, mask, strides);
    Item *item = item_add(s, ITEM_LIST, operand);
    item->list = list;
    item->offsets = true;
    s->axis += mask->rank;
}

/* true and false as masks of no axes: a new axis of length 1 or 0. */
static void item_bool(Selector *s, bool b, int operand)
{
    Tensor *list = scratch(s->in, b);
    if (b)
        *(int64_t *)list->data = 0;
    Item *item = item_add(s, ITEM_LIST, operand);
    item->list = list;
    item->offsets = true;
}

static void item_list(Selector *s, Tensor *t, int operand)
{
    Interp *in = s->in;
    /* in a block it may be the device's float */
    bool literal = t->dtype == DT_F64 || t->dtype == DT_F32;
    bool empty = t->size == 0 && literal;              /* [] selects nothing */
    if (dtype_info(t->dtype)->kind != 'i' && !empty)
        raise_subscript(in, v_tensor_raw(t), operand);
    t = tensor_cast(&in->ctx, t, DT_I64);
    v_push(in, v_tensor_raw(t));
    tensor_home(&in->ctx, t);
    item_add(s, ITEM_LIST, operand)->list = t;
    s->axis++;
}

static void item_value(Selector *s, Value v, int operand)
{
    int64_t i;
    if (v.tag == V_NONE) {
        item_add(s, ITEM_NEW, operand);
    } else if (v.tag == V_BOOL) {
        item_bool(s, v.i != 0, operand);
    } else if (v_as_int(v, &i)) {
        int64_t len = tensor_shape(s->base)[s->axis];
        item_add(s, ITEM_INT, operand)->at = subscript_check(s->in, i, len, s->axis, operand);
        s->axis++;
    } else if (v.tag == V_TENSOR && v.tensor->dtype == DT_BOOL && v.tensor->rank > 0) {
        item_mask(s, v.tensor, operand);
    } else if (v.tag == V_TENSOR && v.tensor->rank > 0) {
        item_list(s, v.tensor, operand);
    } else {
        raise_subscript(s->in, v, operand);
    }
}

static void items_make(Selector *s, const Sub *subs, int n, bool one_operand)
{
    int taken = 0, dots = 0;
    for (int i = 0; i < n; i++) {
        taken += axes_taken(&subs[i]);
        dots += subs[i].kind == SUB_ELLIPSIS;
    }
    if (taken > s->base->rank)
        raise_too_many(s->in, s->base, taken);
    if (dots > 1)
        err_raise(&s->in->ctx, ERR_INDEX, "only one ... may stand between the brackets");
    for (int i = 0; i < n; i++) {
        int operand = one_operand ? 1 : i + 1;
        s->any_list |= subs[i].kind == SUB_VALUE &&
                       (subs[i].v.tag == V_BOOL ||
                        (subs[i].v.tag == V_TENSOR && subs[i].v.tensor->rank > 0));
        if (subs[i].kind == SUB_SLICE)
            item_slice(s, &subs[i], operand);
        else if (subs[i].kind == SUB_VALUE)
            item_value(s, subs[i].v, operand);
        else if (taken < s->base->rank)
            item_rest(s, s->base->rank - taken);
        else
            item_add(s, ITEM_GAP, operand);
    }
    item_rest(s, s->base->rank - s->axis);
}

/* ---- the result's axes ---- */

static void add_axis(Interp *in, Selection *sel, int64_t extent, int64_t stride)
{
    if (sel->rank == TENSOR_RANK_MAX)
        err_raise(&in->ctx, ERR_VALUE, "a tensor has at most %d axes", TENSOR_RANK_MAX);
    sel->shape[sel->rank] = extent;
    sel->strides[sel->rank++] = stride;
}

static void add_item(const Selector *s, Selection *sel, const Item *item)
{
    const int64_t *strides = tensor_strides(s->base);
    if (item->kind == ITEM_INT) {
        sel->offset += item->at * strides[item->axis];
    } else if (item->kind == ITEM_NEW) {
        add_axis(s->in, sel, 1, 0);
    } else if (item->kind == ITEM_SLICE) {
        if (item->slice.count > 0)
            sel->offset += item->slice.start * strides[item->axis];
        int64_t step = item->slice.count > 1 ? item->slice.step : 1;
        add_axis(s->in, sel, item->slice.count, step * strides[item->axis]);
    }
}

/* ---- index tensors ---- */

static _Noreturn void raise_lists(Interp *in, const Item *a, const Item *b)
{
    char left[128], right[128];
    shape_text(left, sizeof left, a->list->rank, tensor_shape(a->list));
    shape_text(right, sizeof right, b->list->rank, tensor_shape(b->list));
    Error *e = err_new(&in->ctx, ERR_SHAPE, "index tensors of shapes %s and %s do not fit together",
                       left, right);
    err_underline(e, a->operand);
    err_underline(e, b->operand);
    err_throw(e);
}

/* The common shape of all index tensors; returns its rank. */
static int lists_shape(const Selector *s, int64_t *shape)
{
    int rank = 0;
    const Item *last = NULL;
    for (int i = 0; i < s->n; i++) {
        const Item *item = &s->items[i];
        if (item->kind != ITEM_LIST)
            continue;
        int64_t joint[TENSOR_RANK_MAX];
        int bad, r = shape_broadcast(rank, shape, item->list->rank, tensor_shape(item->list),
                                     joint, &bad);
        if (r < 0)
            raise_lists(s->in, last, item);
        if (r > rank || !last)
            last = item;
        rank = r;
        memcpy(shape, joint, (size_t)rank * sizeof *shape);
    }
    return rank;
}

static void add_offsets(const Selector *s, const Item *item, int rank, const int64_t *shape,
                        int64_t *out)
{
    Interp *in = s->in;
    Tensor *t = tensor_broadcast(&in->ctx, item->list, rank, shape);
    v_push(in, v_tensor_raw(t));
    t = tensor_compact(&in->ctx, t);
    v_push(in, v_tensor_raw(t));
    const int64_t *at = (const int64_t *)t->data;
    if (item->offsets) {
        for (int64_t i = 0; i < t->size; i++)
            out[i] += at[i];
        return;
    }
    int64_t len = tensor_shape(s->base)[item->axis], stride = tensor_strides(s->base)[item->axis];
    for (int64_t i = 0; i < t->size; i++) {
        int64_t k = at[i] < 0 ? at[i] + len : at[i];
        if ((uint64_t)k >= (uint64_t)len)
            subscript_check(in, at[i], len, item->axis, item->operand);
        out[i] += k * stride;
    }
}

/* A list whose indices are offsets already: the axis has stride 1 and nothing counts from
 * the end. False also when an index is out of range: the general way reports it. */
static bool list_is_offsets(const Selector *s, const Item *item)
{
    if (item->offsets)
        return true;
    int64_t len = tensor_shape(s->base)[item->axis];
    if (tensor_strides(s->base)[item->axis] != 1 || !tensor_contiguous(item->list))
        return false;
    const int64_t *at = (const int64_t *)item->list->data;
    bool good = true;
    for (int64_t i = 0; i < item->list->size; i++)
        good &= (uint64_t)at[i] < (uint64_t)len;
    return good;
}

/* The lists are summed into a new one, unless a single one will do as it is. */
static void lists_resolve(const Selector *s, Selection *sel, int rank, const int64_t *shape)
{
    const Item *only = NULL;
    int lists = 0;
    for (int i = 0; i < s->n; i++)
        if (s->items[i].kind == ITEM_LIST) {
            only = &s->items[i];
            lists++;
        }
    sel->points = shape_checked(&s->in->ctx, rank, shape);
    if (lists == 1 && list_is_offsets(s, only)) {
        sel->offsets = (const int64_t *)only->list->data;
        return;
    }
    Tensor *sum = scratch(s->in, sel->points);
    memset(sum->data, 0, (size_t)sel->points * sizeof(int64_t));
    Value *mark = s->in->sp;
    for (int i = 0; i < s->n; i++)
        if (s->items[i].kind == ITEM_LIST) {
            add_offsets(s, &s->items[i], rank, shape, (int64_t *)sum->data);
            stack_cut(s->in, mark);
        }
    sel->offsets = (const int64_t *)sum->data;
}

/* Where the axes of the index tensors go: in place of the first one if they (and the ints
 * among them) stand side by side, in front otherwise. Returns that item's number or 0. */
static int lists_place(const Selector *s)
{
    int first = -1, last = -1, count = 0;
    for (int i = 0; i < s->n; i++)
        if (s->items[i].kind == ITEM_LIST || s->items[i].kind == ITEM_INT) {
            first = first < 0 ? i : first;
            last = i;
            count++;
        }
    return last - first + 1 == count ? first : 0;
}

static void layout_lists(const Selector *s, Selection *sel)
{
    int64_t shape[TENSOR_RANK_MAX];
    int rank = lists_shape(s, shape), place = lists_place(s);
    for (int i = 0; i <= s->n; i++) {
        if (i == place) {
            sel->before = sel->rank;
            sel->broad = rank;
            for (int k = 0; k < rank; k++)
                add_axis(s->in, sel, shape[k], 0);
        }
        if (i < s->n)
            add_item(s, sel, &s->items[i]);
    }
    lists_resolve(s, sel, rank, shape);
    sel->fancy = true;
}

static void selection_items(Selector *s, Selection *sel)
{
    sel->rank = sel->before = sel->broad = 0;
    sel->offset = sel->points = 0;
    sel->fancy = false;
    sel->offsets = NULL;
    if (s->any_list) {
        layout_lists(s, sel);
    } else {
        for (int i = 0; i < s->n; i++)
            add_item(s, sel, &s->items[i]);
    }
    sel->size = shape_size(sel->rank, sel->shape);
    if (sel->size < 0)
        err_raise(&s->in->ctx, ERR_MEMORY, "the selection has more elements than can be counted");
}

/* Ranges and tuples become index tensors, kept on the value stack. */
static Value sub_value(Interp *in, Value v, int operand)
{
    if (v.tag != V_RANGE && v.tag != V_TUPLE)
        return v;
    Tensor *t = v_to_tensor(in, v, operand);
    v_push(in, v_tensor_raw(t));
    return v_tensor_raw(t);
}

void selection_make(Interp *in, Selection *sel, Tensor *base, const Sub *subs, int n)
{
    Sub own[ITEMS_MAX];
    bool spread = n == 1 && subs[0].kind == SUB_VALUE && subs[0].v.tag == V_TUPLE;
    const Tuple *t = spread ? subs[0].v.tuple : NULL;
    if (spread)
        n = t->count > ITEMS_MAX ? ITEMS_MAX + 1 : (int)t->count;
    if (n > ITEMS_MAX)
        raise_too_many(in, base, n);
    for (int i = 0; i < n; i++) {
        own[i] = spread ? (Sub){ .kind = SUB_VALUE, .v = t->items[i] } : subs[i];
        if (own[i].kind == SUB_VALUE)
            own[i].v = sub_value(in, own[i].v, spread ? 1 : i + 1);
    }
    Selector s;                      /* items are filled as they come: there are many */
    s.in = in;
    s.base = base;
    s.n = s.axis = 0;
    s.any_list = false;
    items_make(&s, own, n, spread);
    selection_items(&s, sel);
}
