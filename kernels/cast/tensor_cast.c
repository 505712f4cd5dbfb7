/* Casts and assignments of whole tensors, between any two dtypes: see tensor_cast.h. */
#include "kernels/cast/tensor_cast.h"

#include "core/base/error.h"
#include "core/memory/pool.h"
#include "kernels/number/number.h"
#include "kernels/tensor/iter.h"

#include <inttypes.h>
#include <string.h>

/* ---- what does not fit ---- */

static _Noreturn void raise_misfit(Ctx *ctx, DType to, DType from, const void *value) {
    const char *name = dtype_name(to);
    if (dtype_info(from)->kind != 'c' && (dtype_cells(from) || from == DT_INTERVAL)) {
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
    if (s.arith != ARITH_OK && s.arith != ARITH_COMPLEX)
        arith_raise(ctx, s.arith, to, dtype_name(to));
}

static const char *cast_into(Ctx *ctx, Tensor *dst, const Tensor *src, CastStatus *status);

/* The parts of a complex tensor in a last axis of two, or its real or imaginary ones. */
static Tensor *parts_view(Ctx *ctx, Tensor *t, bool both, int which) {
    int64_t shape[TENSOR_RANK_MAX + 1], strides[TENSOR_RANK_MAX + 1];
    DType dt = dtype_part((DType)t->dtype);
    for (int i = 0; i < t->rank; i++) {
        shape[i] = tensor_shape(t)[i];
        strides[i] = 2 * tensor_strides(t)[i];
    }
    shape[t->rank] = 2;
    strides[t->rank] = 1;
    return tensor_view_as(ctx, t, dt, t->rank + both, shape, strides,
                          t->data + which * dtype_info(dt)->bytes);
}

static bool is_complex(const Tensor *t) { return dtype_info((DType)t->dtype)->kind == 'c'; }

/* An imaginary part that is not 0, in a tensor that becomes a real one; NULL: there is none. */
static const char *imaginary_part(const Tensor *src) {
    Iter it;
    const Tensor *operands[] = { src };
    DType dt = (DType)src->dtype;
    iter_init(&it, 1, operands);
    int inner = it.rank - 1;
    int64_t n = it.shape[inner], bytes = dtype_info(dt)->bytes, offset[ITER_OPERANDS];
    for (int64_t row = 0; row * n < it.size; row++) {
        iter_seek(&it, inner, row, offset);
        for (int64_t i = 0; i < n; i++) {
            const char *at = src->data + (offset[0] + i * it.stride[0][inner]) * bytes;
            if (dtype_wide_pair(dt) ? !number_is_zero(dtype_real(dt), at + bytes / 2)
                                    : cimag(element_c128(dt, at)) != 0)
                return at;
        }
    }
    return NULL;
}

/* Where one of both is complex and both need a context: part by part. */
static const char *cast_parts(Ctx *ctx, Tensor *dst, const Tensor *src, CastStatus *status) {
    Tensor *from = (Tensor *)(uintptr_t)src, *views[3] = { NULL };
    const char *bad = NULL;
    bool to_pairs = is_complex(dst), from_pairs = is_complex(src), both = to_pairs && from_pairs;
    if (!to_pairs && (bad = imaginary_part(src)) != NULL) return bad;
    views[0] = to_pairs ? parts_view(ctx, dst, both, 0) : tensor_retain(dst);
    views[1] = from_pairs ? parts_view(ctx, from, both, 0) : tensor_retain(from);
    bad = cast_into(ctx, views[0], views[1], status);
    if (to_pairs && !from_pairs && !bad) {
        double zero = 0;
        Tensor *none = tensor_scalar(ctx, DT_F64, &zero);
        views[2] = parts_view(ctx, dst, false, 1);
        Tensor *all = tensor_broadcast(ctx, none, dst->rank, tensor_shape(dst));
        cast_into(ctx, views[2], all, status);
        tensor_release(ctx, all);
        tensor_release(ctx, none);
    }
    for (int i = 0; i < 3; i++)
        if (views[i]) tensor_release(ctx, views[i]);
    return bad ? src->data : NULL;           /* *status says why; a part is no element */
}

/* Returns a value of src that does not fit dst's dtype, or NULL. *status says why a number
 * is none of the numbers that need a context. */
static const char *cast_into(Ctx *ctx, Tensor *dst, const Tensor *src, CastStatus *status) {
    const Tensor *operands[] = { dst, src };
    DType to = dtype_base((DType)dst->dtype), from = dtype_base((DType)src->dtype);
    bool number = from == DT_DECIMAL || from == DT_MP || from == DT_INTERVAL;
    Iter it;
    if (dst->size == 0) return NULL;
    bool wide = to == DT_DECIMAL || to == DT_MP || to == DT_INTERVAL || to == DT_RATIONAL;
    bool pairs = dtype_wide_pair(to) || (wide && is_complex(src));
    if (pairs && dst->dtype != src->dtype) return cast_parts(ctx, dst, src, status);
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
    char value[ELEMENT_BYTES_MAX];
    if (same_layout(dst, src)) return;
    check_fits(ctx, dst, src);
    tensor_home(ctx, src);
    tensor_about_to_write(ctx, dst);
    Tensor *from = overlap(dst, src) ? tensor_copy(ctx, src) : tensor_retain(src);
    const char *bad = NULL;
    CastStatus status = { RATIONAL_OK, ARITH_OK };
    DType dt = (DType)src->dtype;
    if (dst->dtype == dt) tensor_copy_into(ctx, dst, from);
    else bad = cast_into(ctx, dst, from, &status);
    if (bad) memcpy(value, bad, dtype_info(dt)->bytes);
    tensor_release(ctx, from);
    raise_status(ctx, status, (DType)dst->dtype);
    if (bad) raise_misfit(ctx, (DType)dst->dtype, dt, value);
}
