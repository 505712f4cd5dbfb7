/* Parts of sparse matrices. What has two axes is sparse, all else is dense: a row, a column, the
 * elements that a mask chooses. */
#include "interp/index/index_sparse.h"

#include "core/base/error.h"

#include <string.h>

/* ---- one element ---- */
bool sparse_element(const Sparse *s, const Sub *subs, int n, int64_t at[2])
{
    const int64_t *shape = tensor_shape(s->head);
    for (int k = 0; k < 2; k++) {
        if (n != 2 || subs[k].kind != SUB_VALUE || subs[k].v.tag != V_INT)
            return false;
        at[k] = subs[k].v.i + (subs[k].v.i < 0 ? shape[k] : 0);
        if (at[k] < 0 || at[k] >= shape[k])
            return false;
    }
    return true;
}

static Value get_element(Interp *in, const Sparse *s, const int64_t at[2])
{
    _Alignas(16) char cell[ELEMENT_BYTES_MAX] = { 0 };
    const Csr a = sparse_csr(s);
    const int64_t k = csr_entry(&a, at[0], at[1]);
    const size_t each = dtype_info(a.dtype)->bytes;
    return v_element(&in->ctx, a.dtype, k < 0 ? cell : (const char *)a.value + (size_t)k * each);
}

/* ---- rows and columns of a selection ---- */
static int64_t *numbers_new(Interp *in, int64_t n)
{
    Tensor *t = tensor_new(&in->ctx, DT_I64, 1, &n);
    v_push(in, v_tensor_raw(t));
    return (int64_t *)t->data;
}

/* How many rows, or columns, an axis of the selection goes from one to the next. */
typedef struct Walk { int64_t rows, columns; } Walk;

static Walk walk_of(const Selection *sel, int axis, int64_t n)
{
    const int64_t step = sel->strides[axis];
    if (sel->shape[axis] < 2)
        return (Walk){ 0 };
    return step >= n || step <= -n ? (Walk){ .rows = step / n } : (Walk){ .columns = step };
}

static Choice stepped(int64_t first, int64_t step, int64_t count)
{
    return (Choice){ .first = first, .step = step ? step : 1, .count = count };
}

/* One list and a slice, side by side. */
static bool list_lines(Interp *in, const Selection *sel, int64_t n, Choice *rows, Choice *across)
{
    const bool by_rows = sel->before == 0;
    const int other = by_rows;
    const Walk walk = walk_of(sel, other, n);
    const int64_t first = sel->offset + sel->offsets[0];
    int64_t *list = numbers_new(in, sel->points);
    for (int64_t k = 0; k < sel->points; k++) {
        const int64_t at = sel->offset + sel->offsets[k];
        if (by_rows ? at % n != first % n : at / n != first / n)
            return false;
        list[k] = by_rows ? at / n : at % n;
    }
    const Choice listed = { .list = list, .step = 1, .count = sel->points };
    *rows = by_rows ? listed : stepped(first / n, walk.rows, sel->shape[other]);
    *across = by_rows ? stepped(first % n, walk.columns, sel->shape[other]) : listed;
    return by_rows ? !walk.rows : !walk.columns;
}

bool sparse_lines(Interp *in, const Selection *sel, int64_t n, Choice *rows, Choice *across)
{
    if (sel->rank != 2 || sel->size == 0 || (sel->fancy && sel->broad != 1))
        return false;
    if (sel->fancy)
        return list_lines(in, sel, n, rows, across);
    const Walk down = walk_of(sel, 0, n), right = walk_of(sel, 1, n);
    *rows = stepped(sel->offset / n, down.rows, sel->shape[0]);
    *across = stepped(sel->offset % n, right.columns, sel->shape[1]);
    return !down.columns && !right.rows;
}

Places sparse_chosen(Interp *in, const Selection *sel, int64_t n)
{
    int64_t extent[TENSOR_RANK_MAX + 1], step[TENSOR_RANK_MAX + 1];
    int dims = 0, list = -1;
    Places p = { .count = sel->size };
    int64_t *row = numbers_new(in, p.count), *column = numbers_new(in, p.count);
    for (int a = 0; a <= sel->rank; a++) {
        if (sel->fancy && a == sel->before) {
            list = dims;
            extent[dims++] = sel->points;
            a += sel->broad;
        }
        if (a < sel->rank) {
            extent[dims] = sel->shape[a];
            step[dims++] = sel->strides[a];
        }
    }
    for (int64_t k = 0; k < p.count; k++) {
        int64_t offset = sel->offset, rest = k;
        for (int d = dims - 1; d >= 0; rest /= extent[d--])
            offset += d == list ? sel->offsets[rest % extent[d]] : rest % extent[d] * step[d];
        row[k] = offset / n;
        column[k] = offset % n;
    }
    p.row = row;
    p.column = column;
    return p;
}

/* ---- parts ---- */
/* A row, or a piece of one: its entries between zeros. */
static bool row_into(const Csr *a, const Selection *sel, char *out)
{
    if (sel->fancy || sel->rank != 1 || walk_of(sel, 0, a->n).rows)
        return false;
    const Choice c = stepped(sel->offset % a->n, sel->strides[0], sel->shape[0]);
    const int64_t i = sel->offset / a->n;
    const size_t each = dtype_info(a->dtype)->bytes;
    memset(out, 0, (size_t)sel->size * each);
    for (int64_t k = a->start[i]; k < a->start[i + 1]; k++) {
        const int64_t over = a->column[k] - c.first, at = over / c.step;
        if (over % c.step == 0 && at >= 0 && at < c.count)
            memcpy(out + (size_t)at * each, (const char *)a->value + (size_t)k * each, each);
    }
    return true;
}

void sparse_pick_into(Interp *in, const Sparse *s, const Selection *sel, char *out)
{
    const Csr a = sparse_csr(s);
    Value *mark = in->sp;
    Made made = { 0 };
    if (sel->size == 0 || row_into(&a, sel, out))
        return;
    const Places p = sparse_chosen(in, sel, a.n);
    const Tensor *at = csr_find(&in->ctx, &made, &a, p.row, p.column, p.count);
    sparse_gather(&in->ctx, out, a.value, (const int64_t *)at->data, p.count,
                  dtype_info(a.dtype)->bytes);
    made_poll(&in->ctx, &made);
    made_end(&in->ctx, &made);
    stack_cut(in, mark);
}

static Value pick_dense(Interp *in, const Sparse *s, const Selection *sel)
{
    Tensor *out = tensor_new(&in->ctx, (DType)s->value->dtype, sel->rank, sel->shape);
    v_push(in, v_tensor_raw(out));
    sparse_pick_into(in, s, sel, out->data);
    in->sp--;
    return v_tensor(&in->ctx, out);
}

/* A matrix of single places, row by row. */
static Tensor *pick_places(Interp *in, const Sparse *s, const Selection *sel)
{
    Ctx *ctx = &in->ctx;
    const Csr a = sparse_csr(s);
    const int64_t m = sel->shape[0], n = sel->shape[1];
    Made made = { 0 };
    int64_t count = 0;
    const Places p = sparse_chosen(in, sel, a.n ? a.n : 1);
    const int64_t *at = made_ints(csr_find(ctx, &made, &a, p.row, p.column, p.count));
    for (int64_t k = 0; k < p.count; k++)
        count += at[k] >= 0;
    Tensor *pattern = made_pattern(ctx, &made, m, count);
    Tensor *order = made_vector(ctx, &made, DT_I64, count);
    int64_t *start = made_ints(pattern), *column = start + m + 1, *from = made_ints(order), e = 0;
    for (int64_t k = 0; k < p.count; k++) {
        if (at[k] >= 0) {
            column[e] = k % n;
            from[e++] = at[k];
        }
        start[k / n + 1] = e;
    }
    if (p.count == 0)
        memset(start, 0, (size_t)(m + 1) * sizeof *start);
    return sparse_taken(ctx, &made, m, n, (SparseOrder){ pattern, order, NULL }, s->value);
}

static Tensor *pick_matrix(Interp *in, const Sparse *s, const Selection *sel)
{
    const Csr a = sparse_csr(s);
    Made made = { 0 };
    Choice rows, columns;
    if (!sparse_lines(in, sel, a.n, &rows, &columns))
        return pick_places(in, s, sel);
    const bool whole = !columns.list && columns.step == 1 && columns.count == a.n;
    SparseOrder o = csr_select(&in->ctx, &made, &a, &rows, whole ? NULL : &columns);
    return sparse_taken(&in->ctx, &made, sel->shape[0], sel->shape[1], o, s->value);
}

/* Is the selection, of more than two axes, of about as many elements as there are entries? */
static bool is_small(const Sparse *s, const Selection *sel)
{
    return sel->size <= s->pattern->size + s->head->dims[1];
}

Value index_get_sparse(Interp *in, const Sparse *s, const Sub *subs, int n)
{
    int64_t at[2];
    Selection sel;
    if (sparse_element(s, subs, n, at))
        return get_element(in, s, at);
    Value *mark = in->sp, out;
    selection_make(in, &sel, s->head, subs, n);
    if (sel.rank == 2) {
        out = v_tensor_raw(pick_matrix(in, s, &sel));
    } else if (sel.rank < 2 || is_small(s, &sel)) {
        out = pick_dense(in, s, &sel);
    } else {
        v_push(in, sparse_dense_for(in, v_tensor_raw(s->head), "indexing"));
        out = index_get(in, in->sp[-1], subs, n);
    }
    stack_cut(in, mark);
    return out;
}

/* ---- masks ---- */
Tensor *sparse_mask_offsets(Interp *in, const Sparse *mask, const int64_t *strides)
{
    const Csr a = sparse_csr(mask);
    const uint8_t *value = a.value;
    int64_t count = 0, k = 0;
    for (int64_t e = 0; e < a.entries; e++)
        count += value[e] != 0;
    int64_t *at = numbers_new(in, count);
    for (int64_t i = 0; i < a.m; i++)
        for (int64_t e = a.start[i]; e < a.start[i + 1]; e++)
            if (value[e])
                at[k++] = i * strides[0] + a.column[e] * strides[1];
    return in->sp[-1].tensor;
}
