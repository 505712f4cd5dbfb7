/* Subscripts of sparse matrices. */
#include "interp/index/index.h"

#include "interp/sparse/sparse_door.h"

#include <string.h>

/* ---- one element ---- */
/* The place of the entry at row i, column j, or -1. */
static int64_t entry_at(const Csr *a, int64_t i, int64_t j)
{
    int64_t low = a->start[i], high = a->start[i + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (a->column[middle] < j)
            low = middle + 1;
        else
            high = middle;
    }
    return low < a->start[i + 1] && a->column[low] == j ? low : -1;
}

/* An element by two ints within the matrix; false: it is something else. */
static bool get_element(Interp *in, const Sparse *s, const Sub *subs, int n, Value *out)
{
    _Alignas(16) char cell[ELEMENT_BYTES_MAX] = { 0 };
    const Csr a = sparse_csr(s);
    int64_t at[2];
    for (int k = 0; k < 2; k++) {
        const int64_t extent = k ? a.n : a.m;
        if (n != 2 || subs[k].kind != SUB_VALUE || subs[k].v.tag != V_INT)
            return false;
        at[k] = subs[k].v.i + (subs[k].v.i < 0 ? extent : 0);
        if (at[k] < 0 || at[k] >= extent)
            return false;
    }
    const int64_t k = entry_at(&a, at[0], at[1]);
    const size_t each = dtype_info(a.dtype)->bytes;
    *out = v_element(&in->ctx, a.dtype, k < 0 ? cell : (const char *)a.value + (size_t)k * each);
    return true;
}

Value index_get_sparse(Interp *in, const Sparse *s, const Sub *subs, int n)
{
    Value out;
    if (get_element(in, s, subs, n, &out))
        return out;
    Value *mark = in->sp;
    v_push(in, sparse_dense_for(in, v_tensor_raw(s->head), "indexing"));
    out = index_get(in, mark[0], subs, n);
    stack_cut(in, mark);
    return out;
}
