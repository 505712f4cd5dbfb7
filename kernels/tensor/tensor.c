/* Tensors: making, viewing, sharing, copying and casting. The only file that allocates or
 * frees Tensor and Buffer. Small tensors keep their elements in the same block as their
 * Buffer, so making one takes two small allocations. Copies go through permute.c, casts
 * through cast.c; nothing here does arithmetic. */
#include "kernels/tensor/tensor.h"
#include "core/base/error.h"
#include "core/memory/mapping.h"
#include "core/memory/pool.h"
#include "kernels/tensor/cells.h"
#include "kernels/tensor/iter.h"
#include "kernels/tensor/mapped.h"
#include "kernels/tensor/permute.h"
#include "kernels/number/number.h"

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
static Tensor *head_for(Ctx *ctx, Buffer *b, DType dt, int rank, const int64_t *shape, int64_t size) {
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

Tensor *tensor_view(Ctx *ctx, Tensor *t, int rank, const int64_t *shape, const int64_t *strides,
                    char *data) {
    int64_t size = shape_checked(ctx, rank, shape);
    Tensor *v = new_head(ctx, (DType)t->dtype, rank, shape, size);
    if (!v) mem_raise(ctx, head_bytes(rank));
    if (rank)
        memcpy(tensor_strides(v), strides, (size_t)rank * sizeof *strides);
    v->buffer = t->buffer;
    v->buffer->refs++;
    v->data = data;
    return v;
}

Tensor *tensor_adopt(Ctx *ctx, DType dt, int rank, const int64_t *shape, void *data, size_t bytes,
                     void (*release)(Ctx *, Buffer *)) {
    int64_t size = shape_checked(ctx, rank, shape);
    Buffer *b = mem_alloc(ctx, sizeof *b);
    *b = (Buffer){ .refs = 1, .bytes = bytes, .data = data, .release = release };
    return head_for(ctx, b, dt, rank, shape, size);
}

/* ---- on devices ---- */

/* The host's bytes are valid, and are about to be written: copies on devices go. */
static void write_home(Ctx *ctx, Tensor *t) {
    if (__builtin_expect(t->buffer->device == NULL, 1)) return;
    tensor_home(ctx, t);
    buffer_residence(t->buffer)->stale(ctx, t->buffer);
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

static void copy_same_dtype(Ctx *ctx, Tensor *dst, const Tensor *src) {
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
    copy_same_dtype(ctx, copy, t);
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
    if (tensor_sole(t)) {
        write_home(ctx, t);
        return;
    }
    Tensor *copy = t->buffer->device ? buffer_residence(t->buffer)->copy(ctx, t) : tensor_copy(ctx, t);
    if (ctx->interrupt && *ctx->interrupt) raise_half_copied(ctx, copy);
    *slot = copy;
    tensor_release(ctx, t);
}

bool tensor_push(Ctx *ctx, Tensor **slot, const void *element) {
    enum { LONG = 64 };      /* shorter ones are as large as they are */
    Tensor *t = *slot;
    Buffer *b = t->buffer;
    size_t each = dtype_info(t->dtype)->bytes, bytes = (size_t)t->size * each;
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

/* ---- casting and assigning ---- */

static _Noreturn void raise_misfit(Ctx *ctx, DType to, DType from, const void *value) {
    const char *name = dtype_name(to);
    if (dtype_cells(from) || from == DT_INTERVAL) {
        Buf text;
        buf_init(&text, ctx);
        number_text(&text, from, value);
        Error *e = err_new(ctx, ERR_VALUE, "%.60s%s does not fit %s", buf_cstr(&text),
                           text.len > 60 ? "…" : "", name);
        buf_free(&text);
        err_throw(e);
    }
    if (dtype_info(from)->kind == 'c' && cimag(element_c128(from, value)) != 0)
        err_raise_help(ctx, ERR_DTYPE, "take a part: real(…), imag(…) or abs(…)",
                       "a complex value with imaginary part %g does not fit %s",
                       cimag(element_c128(from, value)), name);
    if (dtype_info(from)->kind == 'i' || dtype_info(from)->kind == 'b')
        err_raise(ctx, ERR_VALUE, "%" PRId64 " does not fit %s", element_i64(from, value), name);
    err_raise(ctx, ERR_VALUE, "%.17g does not fit %s", creal(element_c128(from, value)), name);
}

typedef struct CastJob {
    const Iter *it;
    DType to, from;
    char *dst;
    const char *src;
    const char *_Atomic bad;      /* a value that does not fit */
} CastJob;

static void cast_rows(void *arg, int64_t begin, int64_t end, int worker) {
    CastJob *job = arg;
    const Iter *it = job->it;
    int inner = it->rank - 1;
    int64_t n = it->shape[inner], so = it->stride[0][inner], si = it->stride[1][inner];
    size_t to_bytes = dtype_info(job->to)->bytes, from_bytes = dtype_info(job->from)->bytes;
    (void)worker;
    while (begin < end) {         /* element range: the first and last rows may be parts */
        int64_t row = begin / n, at = begin % n, offset[ITER_OPERANDS];
        int64_t count = end - begin < n - at ? end - begin : n - at;
        iter_seek(it, inner, row, offset);
        char *dst = job->dst + (offset[0] + at * so) * (int64_t)to_bytes;
        const char *src = job->src + (offset[1] + at * si) * (int64_t)from_bytes;
        int64_t bad = cast_run(job->to, dst, so, job->from, src, si, count);
        if (bad >= 0) {
            job->bad = src + bad * si * (int64_t)from_bytes;
            return;
        }
        begin += count;
    }
}

/* To rationals: one thread, since big numbers come from the context's heap. */
static const char *cast_rational(Ctx *ctx, const Iter *it, Tensor *dst, const Tensor *src,
                                 RationalStatus *status) {
    int inner = it->rank - 1;
    int64_t n = it->shape[inner], bytes = dtype_info(src->dtype)->bytes, offset[ITER_OPERANDS];
    for (int64_t row = 0; row * n < it->size; row++) {
        iter_seek(it, inner, row, offset);
        for (int64_t i = 0; i < n; i++) {
            Rational *to = (Rational *)(void *)dst->data + offset[0] + i * it->stride[0][inner];
            const char *from = src->data + (offset[1] + i * it->stride[1][inner]) * bytes;
            *status = rational_from(ctx, to, (DType)src->dtype, from);
            if (*status == RATIONAL_OK && *ctx->interrupt) *status = RATIONAL_INTERRUPT;
            if (*status != RATIONAL_OK) return from;
        }
    }
    return NULL;
}

/* One element into a number of *a; a complex one by its real part, where that is all of it. */
static ArithStatus take_number(Arith *a, char *to, DType from, const char *at) {
    if (dtype_info(from)->kind != 'c') return a->ops->load(a, to, 1, from, at, 1, 1);
    double _Complex z = element_c128(from, at);
    double real = creal(z);
    return cimag(z) != 0 ? ARITH_COMPLEX : a->ops->load(a, to, 1, DT_F64, &real, 1, 1);
}

/* To decimal, mp and interval, and from those to rational: one thread too. Row by row; where a
 * row has a number that does not become one, it is looked for. */
static const char *cast_number(Ctx *ctx, const Iter *it, Tensor *dst, const Tensor *src,
                               ArithStatus *status) {
    int inner = it->rank - 1;
    int64_t n = it->shape[inner], bytes = dtype_info(src->dtype)->bytes, offset[ITER_OPERANDS];
    int64_t so = it->stride[0][inner], si = it->stride[1][inner];
    DType from = (DType)src->dtype;
    Arith a;
    *status = arith_open(ctx, &a, (DType)dst->dtype, ROUND_NEAREST, false, false);
    if (*status != ARITH_OK) return src->data;
    for (int64_t row = 0; row * n < it->size; row++) {
        iter_seek(it, inner, row, offset);
        char *to = dst->data + offset[0] * a.size;
        const char *at = src->data + offset[1] * bytes;
        if (dtype_info(from)->kind != 'c') {
            *status = a.ops->load(&a, to, so, from, at, si, n);
            if (*status == ARITH_OK) continue;
            if (*status == ARITH_INTERRUPT || *status == ARITH_MEMORY) return at;
        }
        for (int64_t i = 0; i < n; i++, to += so * a.size, at += si * bytes) {
            *status = take_number(&a, to, from, at);
            if (*status == ARITH_OK && *ctx->interrupt) *status = ARITH_INTERRUPT;
            if (*status != ARITH_OK) return at;
        }
    }
    return NULL;
}

/* Why a number does not become another: at most one of both is not OK. */
typedef struct CastStatus { RationalStatus rational; ArithStatus arith; } CastStatus;

static void raise_status(Ctx *ctx, CastStatus s, DType to) {
    if (s.rational != RATIONAL_OK) rational_raise(ctx, s.rational, "rational");
    if (s.arith != ARITH_OK && s.arith != ARITH_COMPLEX) arith_raise(ctx, s.arith, to, dtype_name(to));
}

/* Returns a value of src that does not fit dst's dtype, or NULL. *status says why a number
 * is none of the numbers that need a context. */
static const char *cast_into(Ctx *ctx, Tensor *dst, const Tensor *src, CastStatus *status) {
    const Tensor *operands[] = { dst, src };
    DType to = dtype_base((DType)dst->dtype), from = dtype_base((DType)src->dtype);
    bool number = from == DT_DECIMAL || from == DT_MP || from == DT_INTERVAL;
    Iter it;
    if (dst->size == 0) return NULL;
    iter_init(&it, 2, operands);
    if (to == DT_DECIMAL || to == DT_MP || to == DT_INTERVAL || (to == DT_RATIONAL && number))
        return cast_number(ctx, &it, dst, src, &status->arith);
    if (dst->dtype == DT_RATIONAL) return cast_rational(ctx, &it, dst, src, &status->rational);
    CastJob job = { .it = &it, .to = (DType)dst->dtype, .from = (DType)src->dtype,
                    .dst = dst->data, .src = src->data };
    if (dst->size < 1 << 16) cast_rows(&job, 0, dst->size, 0);
    else pool_for(ctx, dst->size, 1 << 15, cast_rows, &job);
    return job.bad;
}

Tensor *tensor_cast(Ctx *ctx, Tensor *t, DType to) {
    if (t->dtype == to) return tensor_retain(t);
    tensor_home(ctx, t);
    Tensor *fresh = tensor_new(ctx, to, t->rank, tensor_shape(t));
    fresh->flags = t->flags;
    CastStatus status = { RATIONAL_OK, ARITH_OK };
    const char *bad = cast_into(ctx, fresh, t, &status);
    if (bad) {
        tensor_release(ctx, fresh);
        raise_status(ctx, status, to);
        raise_misfit(ctx, to, (DType)t->dtype, bad);
    }
    return fresh;
}

/* First and one-past-last byte that the elements of t touch. */
static void byte_range(const Tensor *t, const char **low, const char **high) {
    int64_t below = 0, above = 0;
    for (int i = 0; i < t->rank; i++) {
        int64_t reach = (t->dims[i] - 1) * tensor_strides(t)[i];
        if (reach < 0) below += reach;
        else above += reach;
    }
    *low = t->data + below * dtype_info(t->dtype)->bytes;
    *high = t->data + (above + 1) * dtype_info(t->dtype)->bytes;
}

static bool overlap(const Tensor *a, const Tensor *b) {
    const char *a0, *a1, *b0, *b1;
    if (a->buffer != b->buffer || a->size == 0 || b->size == 0) return false;
    byte_range(a, &a0, &a1);
    byte_range(b, &b0, &b1);
    return a0 < b1 && b0 < a1;
}

static bool same_layout(const Tensor *a, const Tensor *b) {
    return a->data == b->data && a->dtype == b->dtype && a->rank == b->rank
        && memcmp(a->dims, b->dims, 2 * (size_t)a->rank * sizeof(int64_t)) == 0;
}

/* Axes of length 1 in front of src are ignored, as NumPy does. */
static void check_fits(Ctx *ctx, const Tensor *dst, const Tensor *src) {
    char from[160], to[160];
    bool fits = true;
    for (int i = 1; fits && i <= src->rank; i++) {
        int64_t extent = src->dims[src->rank - i];
        fits = extent == 1 || (i <= dst->rank && extent == dst->dims[dst->rank - i]);
    }
    if (fits) return;
    err_raise(ctx, ERR_SHAPE, "shape %s does not fit into %s",
              shape_text(from, sizeof from, src->rank, tensor_shape(src)),
              shape_text(to, sizeof to, dst->rank, tensor_shape(dst)));
}

void tensor_assign(Ctx *ctx, Tensor *dst, Tensor *src) {
    char value[16];
    if (same_layout(dst, src)) return;
    check_fits(ctx, dst, src);
    tensor_home(ctx, src);
    write_home(ctx, dst);
    Tensor *from = overlap(dst, src) ? tensor_copy(ctx, src) : tensor_retain(src);
    const char *bad = NULL;
    CastStatus status = { RATIONAL_OK, ARITH_OK };
    DType dt = (DType)src->dtype;
    if (dst->dtype == dt) copy_same_dtype(ctx, dst, from);
    else bad = cast_into(ctx, dst, from, &status);
    if (bad) memcpy(value, bad, dtype_info(dt)->bytes);
    tensor_release(ctx, from);
    raise_status(ctx, status, (DType)dst->dtype);
    if (bad) raise_misfit(ctx, (DType)dst->dtype, dt, value);
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
        snprintf(out, cap, "%s %s", rank == 1 ? "has length" : "is", shape_text(text, sizeof text, rank, shape));
    return out;
}
