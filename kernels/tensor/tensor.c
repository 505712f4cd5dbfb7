/* Tensors: making, viewing, sharing and copying. The only file that allocates or frees Tensor and
 * Buffer (cells.c: the Buffers of cells). Small tensors keep their elements in the same block as
 * their Buffer, so making one takes two small allocations. Copies go through permute.c; nothing
 * here does arithmetic, nor knows more of a dtype than its bytes. */
#include "kernels/tensor/tensor.h"
#include "core/base/error.h"
#include "core/memory/mapping.h"
#include "kernels/tensor/cells.h"
#include "kernels/tensor/iter.h"
#include "kernels/tensor/mapped.h"
#include "kernels/tensor/permute.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- making and releasing ---- */

enum { BUFFER_INLINE = 1u << 31 };   /* Buffer.flags: the data follow in the same block */
enum { BUFFER_HEAD = 64 };           /* where they follow: keeps them 64-byte aligned */
_Static_assert(sizeof(Buffer) <= BUFFER_HEAD, "data follow the buffer's header");

#ifdef RICCI_PLAIN_MALLOC
enum { INLINE_MAX = -1 };            /* sanitizers see each data block by itself */
#else
enum { INLINE_MAX = 512 - BUFFER_HEAD };
#endif

static inline size_t head_bytes(int rank) {
    return sizeof(Tensor) + 2 * (size_t)rank * sizeof(int64_t);
}

/* NULL if there is no memory. The shape is a checked one, of `size` elements. */
static Tensor *new_head(Ctx *ctx, DType dt, int rank, const int64_t *shape, int64_t size) {
    Tensor *t = mem_try_alloc(ctx, head_bytes(rank));
    if (!t) return NULL;
    *t = (Tensor){ .refs = 1, .dtype = dt, .rank = (uint8_t)rank, .size = size };
    ctx->foreign |= dtype_foreign(dt);
    for (int i = 0; i < rank; i++) t->dims[i] = shape[i];
    return t;
}

static void row_major(Tensor *t) {
    int64_t step = 1, *strides = tensor_strides(t);
    for (int i = t->rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= t->dims[i];
    }
}

int64_t shape_size(int rank, const int64_t *shape) {
    int64_t full = 1;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        empty |= shape[i] == 0;
        if (__builtin_mul_overflow(full, shape[i] + (shape[i] == 0), &full)) return -1;
    }
    return full > TENSOR_SIZE_MAX ? -1 : empty ? 0 : full;
}

static _Noreturn void raise_uncountable(Ctx *ctx, int rank, const int64_t *shape) {
    char text[160];
    err_raise(ctx, ERR_MEMORY, "a tensor of shape %s has more elements than can be counted",
              shape_text(text, sizeof text, rank, shape));
}

int64_t shape_checked(Ctx *ctx, int rank, const int64_t *shape) {
    if (rank > TENSOR_RANK_MAX)
        err_raise(ctx, ERR_VALUE, "%d axes are more than the %d that a tensor may have", rank,
                  TENSOR_RANK_MAX);
    for (int i = 0; i < rank; i++)
        if (shape[i] < 0)
            err_raise(ctx, ERR_VALUE, "axis %d of a shape is negative: %" PRId64, i, shape[i]);
    int64_t size = shape_size(rank, shape);
    if (size < 0) raise_uncountable(ctx, rank, shape);
    return size;
}

/* Bytes of the elements of a checked shape. Raises when they cannot be addressed. An empty
 * tensor has none, however long its other axes are. */
static size_t checked_bytes(Ctx *ctx, DType dt, int rank, const int64_t *shape, int64_t size) {
    int64_t bytes;
    if (__builtin_mul_overflow(size, (int64_t)dtype_info(dt)->bytes, &bytes))
        raise_uncountable(ctx, rank, shape);
    return (size_t)bytes;
}

static Buffer *new_buffer(Ctx *ctx, size_t bytes, bool zeroed) {
    if (INLINE_MAX >= 0 && (int64_t)bytes <= INLINE_MAX) {
        Buffer *b = mem_alloc_data(ctx, BUFFER_HEAD + bytes, false);
        *b = (Buffer){ .refs = 1, .flags = BUFFER_INLINE, .bytes = bytes };
        b->data = (char *)b + BUFFER_HEAD;
        if (zeroed) memset(b->data, 0, bytes);
        return b;
    }
    char *data = mem_alloc_data(ctx, bytes, zeroed);
    Buffer *b = mem_try_alloc(ctx, sizeof *b);
    if (!b) {
        mem_free_data(ctx, data, bytes);
        mem_raise(ctx, sizeof *b);
    }
    *b = (Buffer){ .refs = 1, .bytes = bytes, .data = data };
    return b;
}

static void buffer_release(Ctx *ctx, Buffer *b) {
    assert(b->refs > 0);
    if (--b->refs > (b->flags & BUFFER_MAPPED ? 1 : 0)) return;
    if (b->device) buffer_residence(b)->forget(ctx, b);
    if (b->flags & BUFFER_INLINE) {
        mem_free_data(ctx, b, BUFFER_HEAD + b->bytes);
        return;
    }
    if (b->release) b->release(ctx, b);
    else mem_free_data(ctx, b->data, b->bytes);
    mem_free(ctx, b, sizeof *b);
}

void buffer_unref(Ctx *ctx, Buffer *b) { buffer_release(ctx, b); }

/* The head for a buffer that was just made; the buffer goes if the head cannot be had. */
static Tensor *head_for(Ctx *ctx, Buffer *b, DType dt, int rank, const int64_t *shape,
                        int64_t size) {
    Tensor *t = new_head(ctx, dt, rank, shape, size);
    if (!t) {
        buffer_release(ctx, b);
        mem_raise(ctx, head_bytes(rank));
    }
    t->buffer = b;
    t->data = b->data;
    row_major(t);
    return t;
}

void tensor_release(Ctx *ctx, Tensor *t) {
    assert(!t || t->refs > 0);
    if (!t || --t->refs) return;
    buffer_release(ctx, t->buffer);
    mem_free(ctx, t, head_bytes(t->rank));
}

static Tensor *make(Ctx *ctx, DType dt, int rank, const int64_t *shape, bool zeroed) {
    int64_t size = shape_checked(ctx, rank, shape);
    size_t bytes = checked_bytes(ctx, dt, rank, shape, size);
    Buffer *b = dtype_cells(dt) ? cells_buffer(ctx, bytes) : new_buffer(ctx, bytes, zeroed);
    return head_for(ctx, b, dt, rank, shape, size);
}

Tensor *tensor_new(Ctx *ctx, DType dt, int rank, const int64_t *shape) {
    return make(ctx, dt, rank, shape, false);
}

Tensor *tensor_zeros(Ctx *ctx, DType dt, int rank, const int64_t *shape) {
    return make(ctx, dt, rank, shape, true);
}

Tensor *tensor_scalar(Ctx *ctx, DType dt, const void *value) {
    Tensor *t = make(ctx, dt, 0, NULL, false);
    memcpy(t->data, value, dtype_info(dt)->bytes);
    return t;
}

/* Does every element of t lie in its buffer? */
static __attribute__((unused)) bool in_buffer(const Tensor *t) {
    int64_t low = 0, high = 1, at = t->data - t->buffer->data,
            each = dtype_info((DType)t->dtype)->bytes;
    for (int i = 0; i < t->rank && t->size; i++) {
        int64_t last = (t->dims[i] - 1) * tensor_strides(t)[i];
        *(last < 0 ? &low : &high) += last;
    }
    return t->size == 0 || (at + low * each >= 0 && at + high * each <= (int64_t)t->buffer->bytes);
}

Tensor *tensor_view_as(Ctx *ctx, Tensor *t, DType dt, int rank, const int64_t *shape,
                       const int64_t *strides, char *data) {
    int64_t size = shape_checked(ctx, rank, shape);
    int64_t at = data - t->data;
    tensor_settle(ctx, t);
    data = t->data + at;
    Tensor *v = new_head(ctx, dt, rank, shape, size);
    if (!v) mem_raise(ctx, head_bytes(rank));
    if (rank)
        memcpy(tensor_strides(v), strides, (size_t)rank * sizeof *strides);
    v->buffer = t->buffer;
    assert(v->buffer->refs > 0);
    v->buffer->refs++;
    v->data = data;
    assert(in_buffer(v));
    return v;
}

Tensor *tensor_view(Ctx *ctx, Tensor *t, int rank, const int64_t *shape, const int64_t *strides,
                    char *data) {
    return tensor_view_as(ctx, t, (DType)t->dtype, rank, shape, strides, data);
}

Tensor *tensor_adopt(Ctx *ctx, DType dt, int rank, const int64_t *shape, void *data, size_t bytes,
                     void (*release)(Ctx *, Buffer *)) {
    int64_t size = shape_checked(ctx, rank, shape);
    Buffer *b = mem_alloc(ctx, sizeof *b);
    *b = (Buffer){ .refs = 1, .bytes = bytes, .data = data, .release = release };
    return head_for(ctx, b, dt, rank, shape, size);
}

/* An address that is none: whoever reads a layout without elements is stopped at once. */
static char *nowhere(void) { return (char *)(uintptr_t)0x0100000000000000; }

static void keep_nothing(Ctx *ctx, Buffer *b) {
    (void)ctx;
    (void)b;
}

Tensor *tensor_without(Ctx *ctx, DType dt, int rank, const int64_t *shape, int64_t size) {
    return tensor_adopt(ctx, dt, rank, shape, nowhere(),
                        (size_t)size * dtype_info(dt)->bytes, keep_nothing);
}

/* ---- layout ---- */

bool tensor_contiguous(const Tensor *t) {
    int64_t step = 1;
    const int64_t *strides = tensor_strides(t);
    if (t->size <= 1) return true;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (t->dims[i] != 1 && strides[i] != step) return false;
        step *= t->dims[i];
    }
    return true;
}

Tensor *tensor_compact(Ctx *ctx, Tensor *t) {
    return tensor_contiguous(t) ? tensor_retain(t) : tensor_copy(ctx, t);
}

void tensor_copy_into(Ctx *ctx, Tensor *dst, const Tensor *src) {
    const Tensor *operands[] = { dst, src };
    Iter it;
    if (dst->size == 0) return;
    if (dst->size == 1) {
        memcpy(dst->data, src->data, dtype_info(dst->dtype)->bytes);
        return;
    }
    iter_init(&it, 2, operands);
    permute_copy(ctx, &it, dtype_info(dst->dtype)->bytes, dst->data, src->data);
}

Tensor *tensor_copy(Ctx *ctx, Tensor *t) {
    tensor_home(ctx, t);
    Tensor *copy = tensor_new(ctx, (DType)t->dtype, t->rank, tensor_shape(t));
    copy->flags = t->flags;
    tensor_copy_into(ctx, copy, t);
    return copy;
}

/* True if no element is reached by two indices: going from the smallest stride up, each
 * axis must step over everything below it. (Sufficient, and exact for views by slicing.) */
static bool elements_distinct(const Tensor *t) {
    const int64_t *strides = tensor_strides(t);
    uint32_t used = 0;
    int64_t reach = 0;
    for (int k = 0; k < t->rank; k++) {
        int next = -1;
        int64_t least = INT64_MAX;
        for (int i = 0; i < t->rank; i++) {
            int64_t step = strides[i] < 0 ? -strides[i] : strides[i];
            if (t->dims[i] > 1 && !(used >> i & 1) && step < least) {
                least = step;
                next = i;
            }
        }
        if (next < 0) break;
        if (least <= reach) return false;
        reach += least * (t->dims[next] - 1);
        used |= 1u << next;
    }
    return true;
}

/* An interrupt ends copying early, and a mapped file that was cut short gives zeros: what
 * the slot holds stays as it is. */
static _Noreturn void raise_half_copied(Ctx *ctx, Tensor *copy) {
    tensor_release(ctx, copy);
    mapping_check(ctx);
    err_interrupted(ctx);
}

bool tensor_sole(const Tensor *t) {
#ifdef RICCI_HOSTILE
    return t->buffer->pinned == t;
#endif
    if ((t->refs != 1 || t->buffer->refs != 1) && t->buffer->pinned != t) return false;
    return tensor_contiguous(t) || elements_distinct(t);
}

void tensor_unshare(Ctx *ctx, Tensor **slot) {
    Tensor *t = *slot;
    tensor_settle(ctx, t);
    if (tensor_sole(t)) {
        tensor_about_to_write(ctx, t);
        return;
    }
    bool away = t->buffer->device != NULL;
    Tensor *copy = away ? buffer_residence(t->buffer)->copy(ctx, t) : tensor_copy(ctx, t);
    if (ctx->interrupt && *ctx->interrupt) raise_half_copied(ctx, copy);
    *slot = copy;
    tensor_release(ctx, t);
}

bool tensor_push(Ctx *ctx, Tensor **slot, const void *element) {
    enum { LONG = 64 };      /* shorter ones are as large as they are */
    Tensor *t = *slot;
    Buffer *b = t->buffer;
    size_t each = dtype_info(t->dtype)->bytes, bytes = (size_t)t->size * each;
    if (b->device && buffer_residence(b)->settle) return false;
    if (t->rank != 1 || t->flags || t->size < LONG || b->pinned || b->device || b->release ||
        dtype_cells(t->dtype) || !tensor_contiguous(t) || !tensor_sole(t)) return false;
    if ((size_t)(t->data - b->data) + bytes + each > b->bytes) {
        int64_t room = t->size + t->size / 2;
        Tensor *grown = tensor_new(ctx, t->dtype, 1, &room);
        memcpy(grown->data, t->data, bytes);
        grown->size = t->size;
        tensor_release(ctx, t);
        *slot = t = grown;
    }
    memcpy(t->data + bytes, element, each);
    t->dims[0] = ++t->size;
    return true;
}

Tensor *tensor_transpose_last(Ctx *ctx, Tensor *t) {
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    int n = t->rank;
    if (n < 2) return tensor_retain(t);
    tensor_settle(ctx, t);
    memcpy(shape, tensor_shape(t), (size_t)n * sizeof *shape);
    memcpy(strides, tensor_strides(t), (size_t)n * sizeof *strides);
    shape[n - 1] = t->dims[n - 2];
    shape[n - 2] = t->dims[n - 1];
    strides[n - 1] = tensor_strides(t)[n - 2];
    strides[n - 2] = tensor_strides(t)[n - 1];
    return tensor_view(ctx, t, n, shape, strides, t->data);
}

Tensor *tensor_axes_last(Ctx *ctx, Tensor *t, uint64_t axes) {
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    int to = 0;
    tensor_settle(ctx, t);
    for (int pass = 0; pass < 2; pass++)
        for (int a = 0; a < t->rank; a++)
            if ((int)(axes >> a & 1) == pass) {
                shape[to] = tensor_shape(t)[a];
                strides[to++] = tensor_strides(t)[a];
            }
    return tensor_view(ctx, t, t->rank, shape, strides, t->data);
}

/* ---- broadcasting ---- */

int shape_broadcast(int ra, const int64_t *a, int rb, const int64_t *b, int64_t *out, int *bad) {
    int rank = ra > rb ? ra : rb;
    for (int i = 1; i <= rank; i++) {
        int64_t x = i <= ra ? a[ra - i] : 1, y = i <= rb ? b[rb - i] : 1;
        if (x != y && x != 1 && y != 1) {
            if (bad) *bad = i - 1;
            return -1;
        }
        out[rank - i] = x == 1 ? y : x;
    }
    return rank;
}

Tensor *tensor_broadcast(Ctx *ctx, Tensor *t, int rank, const int64_t *shape) {
    int64_t strides[TENSOR_RANK_MAX];
    int missing = rank - t->rank;
    char from[160], to[160];
    bool fits = missing >= 0;
    tensor_settle(ctx, t);
    for (int i = 0; fits && i < t->rank; i++)
        fits = t->dims[i] == 1 || t->dims[i] == shape[i + missing];
    if (!fits)
        err_raise(ctx, ERR_SHAPE, "shape %s does not broadcast to %s",
                  shape_text(from, sizeof from, t->rank, tensor_shape(t)),
                  shape_text(to, sizeof to, rank, shape));
    for (int i = 0; i < rank; i++) {
        int own = i - missing;
        strides[i] = own < 0 || t->dims[own] == 1 ? 0 : tensor_strides(t)[own];
    }
    return tensor_view(ctx, t, rank, shape, strides, t->data);
}

/* ---- text ---- */

const char *shape_text(char *out, size_t cap, int rank, const int64_t *shape) {
    size_t at = 0;
    if (rank == 0) snprintf(out, cap, "()");
    for (int i = 0; i < rank && at < cap; i++)
        at += (size_t)snprintf(out + at, cap - at, "%s%" PRId64, i ? "×" : "", shape[i]);
    return out;
}

const char *shape_fact(char *out, size_t cap, int rank, const int64_t *shape) {
    char text[128];
    if (rank == 0)
        snprintf(out, cap, "is a scalar");
    else
        snprintf(out, cap, "%s %s", rank == 1 ? "has length" : "is",
                 shape_text(text, sizeof text, rank, shape));
    return out;
}
