/* Sparse matrices: a header that says how full they are, and what is not stored as ·. */
#include "interp/show/show_layout.h"

bool sparse_is_small(const Tensor *t) { return t->size > 0 && t->size <= SHOW_WHOLE; }

const char *sparse_at(const Csr *a, int64_t i, int64_t j)
{
    const int64_t k = csr_entry(a, i, j);
    return k < 0 ? NULL : (const char *)a->value + k * dtype_info(a->dtype)->bytes;
}

void show_sparse_header(Buf *out, const Tensor *t)
{
    const Csr a = sparse_csr(tensor_sparse(t));
    double share = t->size ? 100.0 * (double)a.entries / (double)t->size : 0;
    buf_printf(out, "%lld×%lld %s, sparse, %lld entr%s", (long long)a.m, (long long)a.n,
               dtype_name(a.dtype), (long long)a.entries, a.entries == 1 ? "y" : "ies");
    if (a.entries)
        buf_printf(out, share < 99.5 ? " (%.2g %%)" : " (%.0f %%)", share);
}

/* ---- text that reads back ---- */
static void put_places(Interp *in, Buf *out, const Csr *a, bool rows)
{
    if (a->entries == 0)
        buf_puts(out, "zeros((0,), dtype=i64)");
    else
        buf_putc(out, '[');
    for (int64_t i = 0; i < a->m; i++)
        for (int64_t k = a->start[i]; k < a->start[i + 1]; k++, poll_interrupt(in))
            buf_printf(out, "%s%lld", k ? ", " : "", (long long)(rows ? i : a->column[k]));
    if (a->entries)
        buf_putc(out, ']');
}

void show_sparse_repr(Interp *in, Buf *out, const Tensor *t)
{
    const Sparse *s = tensor_sparse(t);
    const Csr a = sparse_csr(s);
    buf_puts(out, "sparse(");
    put_places(in, out, &a, true);
    buf_puts(out, ", ");
    put_places(in, out, &a, false);
    buf_puts(out, ", ");
    show_tensor_repr(in, out, s->value);
    buf_printf(out, ", (%lld, %lld))", (long long)a.m, (long long)a.n);
}
