/* S[subs] = v of sparse matrices. A place that has an entry keeps it, whatever is stored there, a 0
 * too; elsewhere a 0 makes none. Arrays are made anew, in time that goes with the entries, but
 * where an entry that is there changes in a matrix that nobody else holds. */
#include "interp/index/index_sparse.h"

#include "core/base/error.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/sparse/merge.h"

#include <string.h>

static bool zero_element(DType dt, const char *x)
{
    const char kind = dtype_info(dt)->kind;
    return kind == 'c' ? element_c128(dt, x) == 0
         : kind == 'b' || kind == 'i' ? element_i64(dt, x) == 0 : element_f64(dt, x) == 0;
}

static void slot_take(Ctx *ctx, Value *slot, Tensor *t)
{
    Value before = *slot;
    *slot = v_tensor_raw(t);
    v_release(ctx, before);
}

/* ---- one element ---- */
static void change_entry(Interp *in, Value *slot, int64_t k, const char *cell)
{
    Ctx *ctx = &in->ctx;
    Sparse *s = v_sparse(*slot);
    const size_t each = dtype_info((DType)s->value->dtype)->bytes;
    if (!tensor_sole(slot->tensor)) {
        Tensor *value = tensor_copy(ctx, s->value);
        v_push(in, v_tensor_raw(value));
        slot_take(ctx, slot, sparse_like(ctx, s, value));
        stack_cut(in, in->sp - 1);
        s = v_sparse(*slot);
    }
    tensor_unshare(ctx, &s->value);
    memcpy(s->value->data + (size_t)k * each, cell, each);
}

static void insert_entry(Interp *in, Value *slot, const int64_t at[2], const char *cell)
{
    Ctx *ctx = &in->ctx;
    const Csr a = sparse_csr(v_sparse(*slot));
    const size_t each = dtype_info(a.dtype)->bytes;
    Made made = { 0 };
    Tensor *pattern = made_pattern(ctx, &made, a.m, a.entries + 1);
    Tensor *value = made_vector(ctx, &made, a.dtype, a.entries + 1);
    int64_t *start = made_ints(pattern), *column = start + a.m + 1, k = a.start[at[0]];
    while (k < a.start[at[0] + 1] && a.column[k] < at[1])
        k++;
    const size_t before = (size_t)k, after = (size_t)(a.entries - k);
    for (int64_t i = 0; i <= a.m; i++)
        start[i] = a.start[i] + (i > at[0]);
    memcpy(column, a.column, before * sizeof *column);
    memcpy(column + k + 1, a.column + k, after * sizeof *column);
    column[k] = at[1];
    memcpy(value->data, a.value, before * each);
    memcpy(value->data + before * each, cell, each);
    memcpy(value->data + (before + 1) * each, (const char *)a.value + before * each, after * each);
    slot_take(ctx, slot, sparse_made(ctx, &made, a.m, a.n, pattern, value));
}

static void store_element(Interp *in, Value *slot, const int64_t at[2], const char *cell)
{
    const Csr a = sparse_csr(v_sparse(*slot));
    const int64_t k = csr_entry(&a, at[0], at[1]);
    if (k >= 0)
        change_entry(in, slot, k, cell);
    else if (!zero_element(a.dtype, cell))
        insert_entry(in, slot, at, cell);
}

/* ---- what there was, and what is stored ---- */
/* *slot with the entries of another matrix in place of its own; what is new there and 0 makes none.
 * from: a's values, in part changed. All of `made` ends. */
static Tensor *put(Ctx *ctx, Made *made, const Csr *a, const Tensor *from, const Csr *b,
                   const Tensor *stored)
{
    const size_t each = dtype_info((DType)from->dtype)->bytes;
    SparseMerge both = csr_merge(ctx, made, a, b, MERGE_UNION);
    const int64_t count = both.from_a->size, *x = made_ints(both.from_a),
                  *y = made_ints(both.from_b);
    Tensor *value = made_vector(ctx, made, (DType)from->dtype, count);
    Tensor *keeps = made_vector(ctx, made, DT_BOOL, count);
    uint8_t *keep = (uint8_t *)keeps->data;
    int64_t kept = 0;
    sparse_gather(ctx, value->data, from->data, x, count, each);
    sparse_gather_over(ctx, value->data, stored->data, y, count, each);
    made_poll(ctx, made);
    for (int64_t k = 0; k < count; k++)
        kept += keep[k] = x[k] >= 0 ||
                          !zero_element((DType)from->dtype, value->data + (size_t)k * each);
    if (kept == count)
        return sparse_made(ctx, made, a->m, a->n, both.pattern, value);
    const int64_t *start = made_ints(both.pattern);
    Csr all = { a->m, a->n, count, start, start + a->m + 1, value->data, (DType)from->dtype };
    return sparse_taken(ctx, made, a->m, a->n, csr_kept(ctx, made, &all, keep), value);
}

/* ---- rows and columns ---- */
/* For each of n numbers the last place where the choice has it, or -1. */
static int64_t *last_places(Ctx *ctx, Made *made, const Choice *c, int64_t n)
{
    int64_t *last = made_ints(made_vector(ctx, made, DT_I64, n));
    for (int64_t i = 0; i < n; i++)
        last[i] = -1;
    for (int64_t k = 0; k < c->count; k++)
        last[c->list ? c->list[k] : c->first + k * c->step] = k;
    return last;
}

/* The values with 0 wherever something is stored. */
static Tensor *cleared(Ctx *ctx, Made *made, const Csr *a, const Tensor *value, const int64_t *row,
                       const int64_t *column)
{
    const size_t each = dtype_info((DType)value->dtype)->bytes;
    Tensor *t = made_vector(ctx, made, (DType)value->dtype, a->entries);
    memcpy(t->data, value->data, (size_t)a->entries * each);
    for (int64_t i = 0; i < a->m; i++)
        for (int64_t k = a->start[i]; row[i] >= 0 && k < a->start[i + 1]; k++)
            if (column[a->column[k]] >= 0)
                memset(t->data + (size_t)k * each, 0, each);
    return t;
}

/* Number k of the stored matrix for each of n, its only one where it has one, and one past its
 * last where nothing is stored. */
static Choice spread(int64_t *last, int64_t n, int64_t count)
{
    for (int64_t i = 0; i < n; i++)
        last[i] = last[i] < 0 ? count : count == 1 ? 0 : last[i];
    return (Choice){ .list = last, .step = 1, .count = n };
}

/* stored: a matrix of the choices' numbers of rows and columns, or of 1. */
static void store_lines(Interp *in, Value *slot, const Choice *rows, const Choice *columns,
                        const Sparse *stored)
{
    Ctx *ctx = &in->ctx;
    const Sparse *s = v_sparse(*slot);
    const Csr a = sparse_csr(s);
    Csr v = sparse_csr(stored);
    Made made = { 0 };
    int64_t *row = last_places(ctx, &made, rows, a.m),
            *column = last_places(ctx, &made, columns, a.n);
    Tensor *from = cleared(ctx, &made, &a, s->value, row, column);
    if (v.entries == 0) {
        made_take(&made, from);
        made_end(ctx, &made);
        v_push(in, v_tensor_raw(from));
        slot_take(ctx, slot, sparse_like(ctx, s, from));
        stack_cut(in, in->sp - 1);
        return;
    }
    const Choice down = spread(row, a.m, v.m), right = spread(column, a.n, v.n);
    int64_t *start = made_ints(made_vector(ctx, &made, DT_I64, v.m + 2));
    memcpy(start, v.start, (size_t)(v.m + 1) * sizeof *start);
    start[v.m + 1] = v.entries;
    v.start = start;
    v.m++;
    v.n++;
    SparseOrder o = csr_select(ctx, &made, &v, &down, &right);
    Tensor *value = made_vector(ctx, &made, v.dtype, o.order->size);
    sparse_gather(ctx, value->data, v.value, made_ints(o.order), o.order->size,
                  dtype_info(v.dtype)->bytes);
    start = made_ints(o.pattern);
    const Csr b = { a.m, a.n, o.order->size, start, start + a.m + 1, value->data, v.dtype };
    slot_take(ctx, slot, put(ctx, &made, &a, from, &b, value));
}

/* A dense matrix with every element an entry: of numbers without kernels. */
static Tensor *sparse_of_all(Interp *in, Tensor *t)
{
    Ctx *ctx = &in->ctx;
    const int64_t m = t->dims[0], n = t->dims[1];
    Made made = { 0 };
    t = tensor_compact(ctx, t);
    v_push(in, v_tensor_raw(t));
    t = tensor_view(ctx, t, 1, &t->size, &(int64_t){ 1 }, t->data);
    v_push(in, v_tensor_raw(t));
    Tensor *pattern = made_pattern(ctx, &made, m, t->size);
    int64_t *start = made_ints(pattern), *column = start + m + 1;
    for (int64_t i = 0; i <= m; i++)
        start[i] = i * n;
    for (int64_t k = 0; k < t->size; k++)
        column[k] = k % n;
    made_take(&made, pattern);
    return sparse_new(ctx, m, n, pattern, tensor_retain(t));
}

/* The matrix that is stored, as a sparse one of dtype dt on the value stack. */
static const Sparse *stored_matrix(Interp *in, const Stored *v, DType dt)
{
    Ctx *ctx = &in->ctx;
    const int64_t one[2] = { 1, 1 };
    Tensor *t = v->tensor;
    if (!t) {
        t = tensor_new(ctx, dt, 2, one);
        memcpy(t->data, v->cell, dtype_info(dt)->bytes);
    } else {
        int64_t shape[2] = { 1, 1 }, steps[2] = { 0, 0 };
        tensor_home(ctx, t);
        for (int k = 0; k < 2 && k < t->rank; k++) {
            shape[1 - k] = tensor_shape(t)[t->rank - 1 - k];
            steps[1 - k] = tensor_strides(t)[t->rank - 1 - k];
        }
        t = tensor_view(ctx, t, 2, shape, steps, t->data);
    }
    v_push(in, v_tensor_raw(t));
    const bool machine = dt == DT_F64 || dt == DT_F32 || dt == DT_C128 || dt == DT_C64 ||
                         dt == DT_BOOL;
    v_push(in, v_tensor_raw(machine ? sparse_of_dense(ctx, t) : sparse_of_all(in, t)));
    return v_sparse(in->sp[-1]);
}

/* ---- single places ---- */
static void store_places(Interp *in, Value *slot, const Selection *sel, const char *values,
                         bool one)
{
    Ctx *ctx = &in->ctx;
    const Sparse *s = v_sparse(*slot);
    const Csr a = sparse_csr(s);
    const size_t each = dtype_info(a.dtype)->bytes;
    const Places p = sparse_chosen(in, sel, a.n);
    Made made = { 0 };
    SparseOrder o = sparse_sort(ctx, &made, a.m, a.n, p.row, p.column, p.count);
    const int64_t *last = made_ints(sparse_last(ctx, &made, &o)), count = o.group->size - 1;
    Tensor *stored = made_vector(ctx, &made, a.dtype, count);
    if (!one)
        sparse_gather(ctx, stored->data, values, last, count, each);
    for (int64_t k = 0; one && k < count; k++)
        memcpy(stored->data + (size_t)k * each, values, each);
    const int64_t *start = made_ints(o.pattern);
    const Csr b = { a.m, a.n, count, start, start + a.m + 1, stored->data, a.dtype };
    slot_take(ctx, slot, put(ctx, &made, &a, s->value, &b, stored));
}

void store_sparse_elements(Interp *in, Value *slot, const Selection *sel, Tensor *values)
{
    const Sparse *s = v_sparse(*slot);
    if (values->dtype != s->value->dtype) {
        v_push(in, v_tensor_raw(tensor_cast(&in->ctx, s->value, (DType)values->dtype)));
        slot_take(&in->ctx, slot, sparse_like(&in->ctx, s, in->sp[-1].tensor));
        stack_cut(in, in->sp - 1);
    }
    store_places(in, slot, sel, values->data, false);
}

/* ---- the store ---- */
/* v in dtype dt; a sparse matrix keeps its entries. On the value stack. */
static const Sparse *sparse_stored(Interp *in, const Sparse *v, DType dt)
{
    Tensor *value = tensor_cast(&in->ctx, v->value, dt);
    v_push(in, v_tensor_raw(value));
    v_push(in, v_tensor_raw(sparse_like(&in->ctx, v, value)));
    return v_sparse(in->sp[-1]);
}

/* Into *to, which is the variable's matrix or stands for it; v is a number or a tensor. */
static void store_selected(Interp *in, Value *to, const Sub *subs, int n, Value v)
{
    const Sparse *own = v_sparse(*to);
    const DType dt = (DType)own->value->dtype;
    const int64_t columns = own->head->dims[1];
    Selection sel;
    Stored s = { 0 };
    Choice rows, across;
    selection_make(in, &sel, own->head, subs, n);
    if (v.tag == V_TENSOR)
        store_check_shape(in, &sel, v.tensor, n);
    if (sel.size == 0)
        return;
    const bool lines = sparse_lines(in, &sel, columns, &rows, &across);
    const Sparse *matrix = v_sparse(v);
    if (matrix && lines) {
        store_lines(in, to, &rows, &across, sparse_stored(in, matrix, dt));
        return;
    }
    if (matrix) {
        v = v_tensor_raw(sparse_to_dense(&in->ctx, matrix));
        v_push(in, v);
    }
    stored_make(in, &s, dt, v, n + 1);
    if (lines)
        store_lines(in, to, &rows, &across, stored_matrix(in, &s, dt));
    else if (!s.tensor)
        store_places(in, to, &sel, s.cell, true);
    else
        store_places(in, to, &sel, store_spread(in, &sel, s.tensor)->data, false);
}

void store_to_sparse(Interp *in, Value *slot, const Sub *subs, int n, Value v)
{
    Value *mark = in->sp, to;
    const Sparse *s = v_sparse(*slot);
    const DType own = (DType)s->value->dtype;
    int64_t at[2];
    v = v_sparse(v) ? v : stored_value(in, *slot, v, n);
    const DType dt = store_dtype(own, v_dtype(v));
    if (dt != own) {
        sparse_stored(in, s, dt);
        Value *wider = in->sp - 1;
        store_selected(in, wider, subs, n, v);
        to = v_retain(*wider);
        slot_take(&in->ctx, slot, to.tensor);
    } else if (sparse_element(s, subs, n, at) && stored_is_number(v)) {
        Stored cell = { 0 };
        stored_make(in, &cell, dt, v, n + 1);
        store_element(in, slot, at, cell.cell);
    } else {
        store_selected(in, slot, subs, n, v);
    }
    stack_cut(in, mark);
}
