/* Entries out of files as sparse matrices. */
#include "builtins/files/files_sparse.h"

#include <string.h>

/* A small file may not claim many empty rows: none that a program wrote does. */
enum { ROWS_TRUSTED = 1 << 28, ROWS_A_BYTE = 64 };

static size_t quarter(OpCall *c) { return c->in->ctx.mem.limit / 4; }

void rows_checked(OpCall *c, const char *path, int64_t m, int64_t file)
{
    char need[32], have[32];
    double bytes = (double)m * sizeof(int64_t);
    if (bytes > (double)quarter(c))
        err_raise(&c->in->ctx, ERR_MEMORY,
                  "%s: the starts of %lld rows need %s, more than a quarter of the memory (%s)",
                  path, (long long)m, mem_bytes_text(need, bytes),
                  mem_bytes_text(have, (double)quarter(c)));
    if (bytes > ROWS_TRUSTED && bytes / ROWS_A_BYTE > (double)file)
        file_error(c, path, "it claims %lld rows, whose starts need %s, and has %s", (long long)m,
                   mem_bytes_text(need, bytes), mem_bytes_text(have, (double)file));
}

void dense_checked(OpCall *c, const char *path, int64_t m, int64_t n, double bytes)
{
    char need[32], most[32];
    if (bytes <= (double)quarter(c))
        return;
    err_raise_help(&c->in->ctx, ERR_MEMORY, "sparse=true keeps its entries only",
                   "%s: a dense %lld×%lld matrix needs %s, more than a quarter of the memory (%s)",
                   path, (long long)m, (long long)n, mem_bytes_text(need, bytes),
                   mem_bytes_text(most, (double)quarter(c)));
}

/* ---- entries in any order ---- */
DType entry_dtype(DType dt)
{
    return dt == DT_F32 || dt == DT_C64 || dt == DT_C128 ? dt : DT_F64;
}

/* sum[e]: of the values that group e of the order lists. */
#define ADD_GROUPS(name, type)                                                                 \
    static void name(const SparseOrder *o, const Tensor *from, Tensor *to)                     \
    {                                                                                          \
        const int64_t *order = made_ints(o->order), *group = made_ints(o->group);              \
        const type *value = (const type *)from->data;                                          \
        type *sum = (type *)to->data;                                                          \
        for (int64_t e = 0; e < to->size; e++) {                                               \
            sum[e] = value[order[group[e]]];                                                   \
            for (int64_t k = group[e] + 1; k < group[e + 1]; k++)                              \
                sum[e] += value[order[k]];                                                     \
        }                                                                                      \
    }
ADD_GROUPS(add_f64, double)
ADD_GROUPS(add_f32, float)
ADD_GROUPS(add_c128, double _Complex)
ADD_GROUPS(add_c64, float _Complex)

Tensor *entries_matrix(OpCall *c, int64_t m, int64_t n, const Tensor *row, const Tensor *column,
                       const Tensor *value, int64_t count)
{
    Ctx *ctx = &c->in->ctx;
    Made made = { 0 };
    DType dt = (DType)value->dtype;
    SparseOrder o = sparse_sort(ctx, &made, m, n, (const int64_t *)row->data,
                                (const int64_t *)column->data, count);
    Tensor *sums = made_vector(ctx, &made, dt, o.group->size - 1);
    (dt == DT_F64   ? add_f64
     : dt == DT_F32 ? add_f32
     : dt == DT_C64 ? add_c64
                    : add_c128)(&o, value, sums);
    return op_keep(c, sparse_made(ctx, &made, m, n, o.pattern, sums));
}
