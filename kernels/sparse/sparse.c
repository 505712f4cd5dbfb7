/* Sparse matrices as tensors: made, made dense, forgotten. */
#include "kernels/sparse/sparse.h"

#include "core/base/error.h"
#include "core/memory/pool.h"
#include "kernels/tensor/mat.h"

#include <stdio.h>
#include <string.h>

Csr sparse_csr(const Sparse *s)
{
    const int64_t m = s->head->dims[0], *p = (const int64_t *)s->pattern->data;
    return (Csr){ .m = m, .n = s->head->dims[1], .entries = s->value->size, .start = p,
                  .column = p + m + 1, .value = s->value->data,
                  .dtype = (DType)s->value->dtype };
}

int64_t csr_entry(const Csr *a, int64_t i, int64_t j)
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

/* ---- the end, and the last resort ---- */
static void forget(Ctx *ctx, Buffer *b)
{
    Sparse *s = b->device;
    b->device = NULL;
    tensor_release(ctx, s->pattern);
    tensor_release(ctx, s->value);
    mem_free(ctx, s, sizeof *s);
    ctx->sparse--;
    devices_remote(ctx);
}

/* Its tensor has a buffer of its own from now on. */
static void settle(Ctx *ctx, Buffer *b)
{
    Sparse *s = b->device;
    Tensor *head = s->head, *dense = sparse_densified(ctx, s, "what is done here");
    head->buffer = dense->buffer;
    head->buffer->refs++;
    head->data = dense->data;
    tensor_release(ctx, dense);
    buffer_unref(ctx, b);
}

/* tensor.c settles before it asks for this. */
static Tensor *copy(Ctx *ctx, Tensor *t)
{
    tensor_settle(ctx, t);
    return tensor_copy(ctx, t);
}

const ResidenceOps sparse_ops = { .bring_home = settle, .stale = settle, .forget = forget,
                                  .copy = copy, .settle = settle };

/* ---- making ---- */
void sparse_check_shape(Ctx *ctx, int64_t m, int64_t n)
{
    enum { EACH = 4 * sizeof(int64_t) };        /* of a row, whatever is counted of it */
    (void)shape_checked(ctx, 2, (int64_t[]){ m, n });
    if (m > INT64_MAX / EACH - 1)
        err_raise(ctx, ERR_MEMORY, "a sparse matrix of %lld rows does not fit any memory",
                  (long long)m);
}

static Sparse *head_of(Ctx *ctx, int64_t m, int64_t n, Tensor *pattern, Tensor *value)
{
    const int64_t shape[2] = { m, n };
    ErrFrame frame;
    Tensor *volatile head = NULL;
    if (ERR_TRY(ctx, &frame)) {
        head = tensor_without(ctx, (DType)value->dtype, 2, shape, shape_checked(ctx, 2, shape));
        Sparse *s = mem_alloc(ctx, sizeof *s);
        ERR_END(ctx, &frame);
        *s = (Sparse){ .base = { .ops = &sparse_ops, .buffer = head->buffer,
                                 .home = ctx->devices ? ctx->devices->cpu : NULL },
                       .head = head, .pattern = pattern, .value = value };
        return s;
    }
    if (head)
        tensor_release(ctx, head);
    tensor_release(ctx, pattern);
    tensor_release(ctx, value);
    err_rethrow(ctx);
}

Tensor *sparse_new(Ctx *ctx, int64_t m, int64_t n, Tensor *pattern, Tensor *value)
{
    assert(pattern->size == m + 1 + value->size);
    Sparse *s = head_of(ctx, m, n, pattern, value);
    s->head->buffer->device = s;
    ctx->sparse++;
    ctx->remote = true;
    return s->head;
}

Tensor *sparse_made(Ctx *ctx, Made *made, int64_t m, int64_t n, Tensor *pattern, Tensor *value)
{
    made_take(made, pattern);
    made_take(made, value);
    made_end(ctx, made);
    return sparse_new(ctx, m, n, pattern, value);
}

Tensor *sparse_like(Ctx *ctx, const Sparse *s, Tensor *value)
{
    return sparse_new(ctx, s->head->dims[0], s->head->dims[1], tensor_retain(s->pattern),
                      tensor_retain(value));
}

/* ---- dense ---- */
int64_t sparse_dense_bytes(const Tensor *t)
{
    return count_times(t->size, dtype_info((DType)t->dtype)->bytes);
}

Tensor *sparse_to_dense(Ctx *ctx, const Sparse *s)
{
    const Csr a = sparse_csr(s);
    const size_t each = dtype_info(a.dtype)->bytes;
    Tensor *t = tensor_zeros(ctx, a.dtype, 2, tensor_shape(s->head));
    for (int64_t i = 0; i < a.m; i++)
        for (int64_t k = a.start[i]; k < a.start[i + 1]; k++)
            memcpy(t->data + (size_t)(i * a.n + a.column[k]) * each,
                   (const char *)a.value + (size_t)k * each, each);
    return t;
}

Tensor *sparse_densified(Ctx *ctx, const Sparse *s, const char *what)
{
    const int64_t *shape = tensor_shape(s->head), bytes = sparse_dense_bytes(s->head);
    char much[32], all[32], text[200];
    mem_bytes_text(much, (double)bytes);
    mem_bytes_text(all, (double)ctx->mem.limit);
    if (bytes > (int64_t)(ctx->mem.limit / 4))
        err_raise(ctx, ERR_MEMORY, "%s needs all elements of a sparse matrix: %lld×%lld %s would "
                  "take %s, more than a quarter of the memory (%s)", what, (long long)shape[0],
                  (long long)shape[1], dtype_name((DType)s->value->dtype), much, all);
    if (ctx->notice && bytes) {
        snprintf(text, sizeof text, "%s makes a sparse matrix dense: %lld×%lld, %s; dense(…) says "
                 "that it is meant", what, (long long)shape[0], (long long)shape[1], much);
        ctx->notice(ctx, text);
    }
    return sparse_to_dense(ctx, s);
}

/* Which of the n elements from x on, `step` bytes apart, are not 0. */
typedef bool (*IsZero)(const void *x);
#define IS_ZERO(name, type)                                                                    \
    static bool name(const void *x)                                                            \
    {                                                                                          \
        return *(const type *)x == 0;                                                          \
    }
IS_ZERO(f64_zero, double)
IS_ZERO(f32_zero, float)
IS_ZERO(c128_zero, double _Complex)
IS_ZERO(c64_zero, float _Complex)
IS_ZERO(byte_zero, uint8_t)

static IsZero zero_of(DType dt)
{
    switch (dt) {
    case DT_F64: return f64_zero;
    case DT_F32: return f32_zero;
    case DT_C128: return c128_zero;
    case DT_C64: return c64_zero;
    case DT_BOOL: return byte_zero;
    default: return NULL;
    }
}

Tensor *sparse_of_dense(Ctx *ctx, Tensor *t)
{
    const DType dt = (DType)t->dtype;
    const IsZero zero = zero_of(dt);
    const int64_t m = t->dims[0], n = t->dims[1], *step = tensor_strides(t);
    const size_t each = dtype_info(dt)->bytes;
    Made made = { 0 };
    int64_t count = 0;
    assert(zero);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            count += !zero(t->data + (i * step[0] + j * step[1]) * (int64_t)each);
    Tensor *pattern = made_pattern(ctx, &made, m, count);
    Tensor *value = made_vector(ctx, &made, dt, count);
    int64_t *start = made_ints(pattern), *column = start + m + 1, k = 0;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            const char *x = t->data + (i * step[0] + j * step[1]) * (int64_t)each;
            if (zero(x))
                continue;
            memcpy(value->data + (size_t)k * each, x, each);
            column[k++] = j;
        }
        start[i + 1] = k;
    }
    return sparse_made(ctx, &made, m, n, pattern, value);
}
