/* base[positions] op= v where a position stands there several times: each applies, in order. The
 * elements that change are gathered once; round r combines, with one call of the operation, the
 * r-th value of every element that has so many; then they are stored together. So an error or
 * Ctrl-C leaves the variable as it was, and any operation, dtype and scope works. Sums outside
 * scopes are one loop, in place where the elements are whole rows. */
#include "interp/index/index_sparse.h"

#include "core/base/error.h"
#include "interp/device/place.h"
#include "interp/op/heard.h"
#include "interp/op/op.h"
#include "interp/op/optable.h"
#include "interp/state/pinned.h"
#include "kernels/cast/tensor_cast.h"

#include <stdlib.h>
#include <string.h>

/* The selection's elements in order, and the distinct ones among them. */
typedef struct Repeats {
    int64_t n, distinct, most;   /* values; distinct elements; values of the one that has most */
    int64_t *offsets;            /* of each value's element; then of each distinct element */
    int64_t *which;              /* the distinct element of each value, most values first */
    int64_t *counts;             /* values of each distinct element, descending */
} Repeats;

static int64_t *numbers_new(Interp *in, int64_t n)
{
    Tensor *t = tensor_new(&in->ctx, DT_I64, 1, &n);
    v_push(in, v_tensor_raw(t));
    return (int64_t *)t->data;
}

/* ---- is there a repeat? ---- */
/* Slices, ranges, masks and single ints name no element twice. */
static bool may_repeat(const Sub *subs, int n)
{
    for (int i = 0; i < n; i++) {
        Value v = subs[i].v;
        if (subs[i].kind == SUB_VALUE &&
            (v.tag == V_TUPLE ||
             (v.tag == V_TENSOR && v.tensor->rank > 0 && v.tensor->dtype != DT_BOOL)))
            return true;
    }
    return false;
}

typedef struct Target {
    int64_t offset, value;
} Target;

static int target_order(const void *a, const void *b)
{
    const Target *p = a, *q = b;
    int by = (p->offset > q->offset) - (p->offset < q->offset);
    return by ? by : (p->value > q->value) - (p->value < q->value);
}

/* Numbers the distinct ones among n offsets from 0 on: which[k] for each; how many there are. */
static int64_t distinct_number(Interp *in, const int64_t *offsets, int64_t n, int64_t *which)
{
    int64_t least = offsets[0], most = offsets[0], found = 0;
    for (int64_t k = 1; k < n; k++) {
        least = offsets[k] < least ? offsets[k] : least;
        most = offsets[k] > most ? offsets[k] : most;
    }
    if (most - least <= 8 * n + 65536) {
        int64_t *table = numbers_new(in, most - least + 1);
        memset(table, 0, (size_t)(most - least + 1) * sizeof *table);
        for (int64_t k = 0; k < n; k++) {
            int64_t *number = &table[offsets[k] - least];
            which[k] = (*number ? *number : (*number = ++found)) - 1;
        }
        return found;
    }
    Target *targets = (Target *)numbers_new(in, count_times(n, 2));
    for (int64_t k = 0; k < n; k++)
        targets[k] = (Target){ offsets[k], k };
    qsort(targets, (size_t)n, sizeof *targets, target_order);
    for (int64_t k = 0; k < n; k++) {
        found += k == 0 || targets[k].offset != targets[k - 1].offset;
        which[targets[k].value] = found - 1;
    }
    return found;
}

static bool repeats(Interp *in, const Selection *sel)
{
    if (!sel->fancy || sel->points < 2 || sel->size == 0)
        return false;
    Value *mark = in->sp;
    int64_t *which = numbers_new(in, sel->points);
    bool found = distinct_number(in, sel->offsets, sel->points, which) < sel->points;
    stack_drop(in, mark);
    return found;
}

bool index_repeats(Interp *in, Tensor *base, const Sub *subs, int n)
{
    Value *mark = in->sp;
    Selection sel;
    if (!may_repeat(subs, n))
        return false;
    selection_make(in, &sel, base, subs, n);
    bool found = repeats(in, &sel);
    stack_drop(in, mark);
    return found;
}

/* ---- what is where ---- */
/* The offset of every selected element, in the order of the values. */
static void offsets_fill(const Selection *sel, int64_t *out)
{
    int64_t before = 1, after = 1, at;
    int last = sel->before + sel->broad;
    for (int a = 0; a < sel->before; a++)
        before *= sel->shape[a];
    for (int a = last; a < sel->rank; a++)
        after *= sel->shape[a];
    for (int64_t b = 0; b < before; b++)
        for (int64_t p = 0; p < sel->points; p++)
            for (int64_t e = 0; e < after; e++) {
                int64_t offset = sel->offset + sel->offsets[p];
                at = e;
                for (int a = sel->rank - 1; a >= last; at /= sel->shape[a--])
                    offset += at % sel->shape[a] * sel->strides[a];
                at = b;
                for (int a = sel->before - 1; a >= 0; at /= sel->shape[a--])
                    offset += at % sel->shape[a] * sel->strides[a];
                *out++ = offset;
            }
}

/* Distinct elements by how many values they have, most first, so that those of a round stand in
 * front. */
static void by_count(Interp *in, Repeats *r)
{
    int64_t *count = numbers_new(in, r->distinct), *number = numbers_new(in, r->distinct);
    memset(count, 0, (size_t)r->distinct * sizeof *count);
    for (int64_t k = 0; k < r->n; k++)
        count[r->which[k]]++;
    for (int64_t u = 0; u < r->distinct; u++)
        r->most = count[u] > r->most ? count[u] : r->most;
    int64_t *start = numbers_new(in, r->most + 2);
    memset(start, 0, (size_t)(r->most + 2) * sizeof *start);
    for (int64_t u = 0; u < r->distinct; u++)
        start[r->most - count[u] + 1]++;
    for (int64_t c = 0; c <= r->most; c++)
        start[c + 1] += start[c];
    r->counts = numbers_new(in, r->distinct);
    for (int64_t u = 0; u < r->distinct; u++) {
        number[u] = start[r->most - count[u]]++;
        r->counts[number[u]] = count[u];
    }
    for (int64_t k = 0; k < r->n; k++)
        r->which[k] = number[r->which[k]];
}

static void repeats_make(Interp *in, Repeats *r, const Selection *sel)
{
    *r = (Repeats){ .n = sel->size };
    int64_t *all = numbers_new(in, r->n);
    r->which = numbers_new(in, r->n);
    offsets_fill(sel, all);
    r->distinct = distinct_number(in, all, r->n, r->which);
    by_count(in, r);
    r->offsets = numbers_new(in, r->distinct);
    for (int64_t k = 0; k < r->n; k++)
        r->offsets[r->which[k]] = all[k];
}

/* The distinct elements as a selection of one axis. */
static Selection distinct_selection(const Repeats *r)
{
    return (Selection){ .rank = 1, .shape = { r->distinct }, .size = r->distinct, .fancy = true,
                        .broad = 1, .points = r->distinct, .offsets = r->offsets };
}

/* ---- sums in one loop ---- */
/* Elements and values of one dtype, in machine arithmetic that rounds to nearest (ints wrap):
 * SUM(T) for the dtype's type, from a function that says whether it has one. */
#define SUM_OF(dtype) \
    switch (dtype) { \
    case DT_F64: SUM(double); return true; \
    case DT_F32: SUM(float); return true; \
    case DT_C128: SUM(double _Complex); return true; \
    case DT_C64: SUM(float _Complex); return true; \
    case DT_I64: SUM(uint64_t); return true; \
    case DT_I32: SUM(uint32_t); return true; \
    default: return false; \
    }

#define SUM(T) do { \
        T *to = (T *)changed->data; \
        const T *from = (const T *)values; \
        for (int64_t k = 0; k < r->n; k++) \
            to[r->which[k]] += from[k * step]; \
    } while (0)

static bool sum_loop(const Repeats *r, Tensor *changed, const char *values, int64_t step)
{
    SUM_OF(changed->dtype)
}
#undef SUM

static bool sums_plainly(Interp *in, const Op *op)
{
    return !in->scope && !in->solved && !heard_on(in) && !place_wants(in) && op->cls == OPC_EW &&
           in->ops->operator_of[op->ew] == TK_ADD;
}

static bool sum_at_once(Interp *in, const Repeats *r, const Op *op, Tensor *changed, Value v)
{
    _Alignas(16) char cell[ELEMENT_BYTES_MAX];
    if (!sums_plainly(in, op))
        return false;
    if (v.tag == V_TENSOR)
        return v.tensor->dtype == changed->dtype && sum_loop(r, changed, v.tensor->data,
                                                             v.tensor->size > 1);
    char kind = dtype_info(changed->dtype)->kind;
    bool fits = v.tag == V_INT || (v.tag == V_FLOAT && (kind == 'f' || kind == 'c'));
    return fits && v_store(&in->ctx, (DType)changed->dtype, cell, v) &&
           sum_loop(r, changed, cell, 0);
}

/* Rows of m neighbours, a row of values for each point: nothing to number, nothing to gather. */
#define SUM(T) do { \
        T *to = (T *)(void *)target->data + sel->offset; \
        const T *from = (const T *)(const void *)values->data; \
        for (int64_t p = 0; p < sel->points; p++) \
            for (int64_t e = 0; e < m; e++) \
                to[sel->offsets[p] + e] += from[p * m + e]; \
    } while (0)

static bool sum_rows(Tensor *target, const Selection *sel, int64_t m, const Tensor *values)
{
    SUM_OF(target->dtype)
}
#undef SUM
#undef SUM_OF

/* The elements of each point, where these are neighbours; else 0. */
static int64_t row_length(const Selection *sel)
{
    int64_t m = 1;
    for (int a = sel->rank - 1; a >= sel->broad; a--) {
        if (sel->strides[a] != m)
            return 0;
        m *= sel->shape[a];
    }
    return sel->before == 0 ? m : 0;
}

/* False, and nothing has changed, where the values are no tensor of the selection's shape and the
 * target's dtype. */
static bool sum_in_place(Interp *in, Value *slot, const Sub *subs, int n, const Op *op, Value v)
{
    Tensor *t = slot->tensor;
    Selection sel;
    if (!sums_plainly(in, op) || v.tag != V_TENSOR || tensor_sparse(t) ||
        v.tensor->dtype != t->dtype || v.tensor->rank == 0 || value_is_pinned(*slot) ||
        !tensor_contiguous(t))
        return false;
    Value *mark = in->sp;
    selection_make(in, &sel, t, subs, n);
    size_t lengths = (size_t)sel.rank * sizeof *sel.shape;
    bool fits = sel.fancy && sel.rank == v.tensor->rank && row_length(&sel) > 0 &&
                memcmp(sel.shape, tensor_shape(v.tensor), lengths) == 0;
    if (fits) {
        tensor_unshare(&in->ctx, &slot->tensor);
        Tensor *values = tensor_compact(&in->ctx, v.tensor);
        v_push(in, v_tensor_raw(values));
        fits = tensor_contiguous(slot->tensor) &&
               sum_rows(slot->tensor, &sel, row_length(&sel), values);
    }
    stack_drop(in, mark);
    return fits;
}

/* ---- rounds ---- */
/* The values of each element in order: those of element u are order[first[u]] and on. */
static void order_make(Interp *in, const Repeats *r, int64_t **order, int64_t **first)
{
    int64_t *next = numbers_new(in, r->distinct), at = 0;
    *order = numbers_new(in, r->n);
    *first = numbers_new(in, r->distinct);
    for (int64_t u = 0; u < r->distinct; u++) {
        next[u] = (*first)[u] = at;
        at += r->counts[u];
    }
    for (int64_t k = 0; k < r->n; k++)
        (*order)[next[r->which[k]]++] = k;
}

/* The tensor of `count` values, number at[u] + round of the list `order` for each u. */
static Value round_values(Interp *in, const Tensor *values, const int64_t *order,
                          const int64_t *first, int64_t round, int64_t count)
{
    size_t bytes = dtype_info(values->dtype)->bytes;
    Tensor *t = tensor_new(&in->ctx, (DType)values->dtype, 1, &count);
    v_push(in, v_tensor_raw(t));
    for (int64_t u = 0; u < count; u++)
        memcpy(t->data + (size_t)u * bytes,
               values->data + (size_t)order[first[u] + round] * bytes, bytes);
    return v_tensor_raw(t);
}

/* The first `count` elements become what the operation gives, in a dtype that holds it. */
static void round_take(Interp *in, Value *changed, int64_t count, Value result)
{
    Ctx *ctx = &in->ctx;
    DType dt = store_dtype((DType)changed->tensor->dtype, v_dtype(result));
    if (dt != changed->tensor->dtype) {
        Tensor *wider = tensor_cast(ctx, changed->tensor, dt);
        tensor_release(ctx, changed->tensor);
        changed->tensor = wider;
    }
    Tensor *whole = tensor_cast(ctx, result.tensor, dt);
    v_push(in, v_tensor_raw(whole));
    Tensor *dense = tensor_compact(ctx, whole);
    memcpy(changed->tensor->data, dense->data, (size_t)count * dtype_info(dt)->bytes);
    tensor_release(ctx, dense);
}

static void rounds(Interp *in, const Repeats *r, const Op *op, Value *changed, Value v, bool weak)
{
    int64_t *order, *first, count = r->distinct;
    order_make(in, r, &order, &first);
    for (int64_t round = 0; round < r->most; round++) {
        Value *mark = in->sp;
        poll_interrupt(in);
        while (r->counts[count - 1] <= round)
            count--;
        Tensor *old = tensor_view(&in->ctx, changed->tensor, 1, &count, &(int64_t){ 1 },
                                  changed->tensor->data);
        v_push(in, v_tensor_raw(old));
        Value by = v.tag == V_TENSOR && v.tensor->size > 1
                 ? round_values(in, v.tensor, order, first, round, count) : v;
        v_push(in, op_binary(in, op, v_tensor_raw(old), by, weak ? 2 : 0));
        round_take(in, changed, count, in->sp[-1]);
        stack_drop(in, mark);
    }
}

/* ---- the statement ---- */
/* v as a scalar, or a dense tensor of the selection's shape. */
static Value values_make(Interp *in, const Selection *sel, Value target, Value v, int n)
{
    v = stored_value(in, target, v, n);
    if (v.tag != V_TENSOR || v.tensor->size == 1)
        return v;
    store_check_shape(in, sel, v.tensor, n);
    return v_tensor_raw(store_spread(in, sel, v.tensor));
}

/* In another dtype its elements would lie elsewhere. What is pinned keeps place and dtype. */
static void make_dense(Interp *in, Value *slot)
{
    if (v_sparse(*slot))
        return;
    tensor_unshare(&in->ctx, &slot->tensor);
    tensor_settle(&in->ctx, slot->tensor);
    if (value_is_pinned(*slot) || tensor_contiguous(slot->tensor))
        return;
    Tensor *dense = tensor_compact(&in->ctx, slot->tensor);
    tensor_release(&in->ctx, slot->tensor);
    slot->tensor = dense;
}

/* One value after the other; a product takes them together. */
static bool takes_each(const Op *op) { return op->cls == OPC_EW; }

bool index_update_repeated(Interp *in, Value *slot, const Sub *subs, int n, const Op *op, Value v,
                           bool weak)
{
    Value *mark = in->sp;
    Selection sel;
    Repeats r;
    if (!takes_each(op) || slot->tag != V_TENSOR || !may_repeat(subs, n))
        return false;
    if (sum_in_place(in, slot, subs, n, op, v))
        return true;
    if (!index_repeats(in, slot->tensor, subs, n))
        return false;
    DeviceBlock *place = index_update_home(in, slot, subs, n, v);
    make_dense(in, slot);
    selection_make(in, &sel, slot->tensor, subs, n);       /* strides may be others now */
    v = values_make(in, &sel, *slot, v, n);
    repeats_make(in, &r, &sel);
    Selection elements = distinct_selection(&r);
    v_push(in, v_tensor_raw(tensor_new(&in->ctx, (DType)slot->tensor->dtype, 1, &r.distinct)));
    Value *changed = in->sp - 1;
    if (v_sparse(*slot))
        sparse_pick_into(in, v_sparse(*slot), &elements, changed->tensor->data);
    else
        selection_gather(in, &elements, slot->tensor, changed->tensor->data);
    if (!sum_at_once(in, &r, op, changed->tensor, v))
        rounds(in, &r, op, changed, v, weak);
    store_elements(in, slot, &elements, changed->tensor);
    in->place = place;
    stack_drop(in, mark);
    return true;
}

/* ---- the same, for whoever combines them ---- */
bool index_rounds(Interp *in, Tensor *base, const Sub *subs, int n, const Op *op, Value v,
                  IndexRounds *out)
{
    Value *mark = in->sp;
    Selection *sel = &out->selection;
    Repeats r;
    int64_t strides[TENSOR_RANK_MAX], *order, *first, step = 1;
    if (!takes_each(op) || !may_repeat(subs, n))
        return false;
    for (int a = base->rank; a-- > 0; step *= base->dims[a])
        strides[a] = step;
    Tensor *dense = tensor_view(&in->ctx, base, base->rank, tensor_shape(base), strides,
                                base->data);
    v_push(in, v_tensor_raw(dense));
    selection_make(in, sel, dense, subs, n);
    if (!repeats(in, sel)) {
        stack_drop(in, mark);
        return false;
    }
    if (v.tag == V_TENSOR && v.tensor->size != 1)
        store_check_shape(in, sel, v.tensor, n);
    repeats_make(in, &r, sel);
    order_make(in, &r, &order, &first);
    out->most = r.most;
    out->distinct = r.distinct;
    out->element = r.offsets;
    out->counts = r.counts;
    out->order = order;
    out->first = first;
    return true;
}
