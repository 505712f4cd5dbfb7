/* Tensors: dtype promotion, making, views, copy on write, permuted copies of every element
 * size, casts (rounded once, misfits reported), assignment with overlap, 16-bit floats. */
#include "kernels/cast/tensor_cast.h"
#include "kernels/tensor/tensor.h"
#include "tests/unit/check.h"

#include <stdlib.h>

static Ctx ctx_storage, *ctx = &ctx_storage;

#define SHAPE(...) (int)(sizeof (int64_t[]){ __VA_ARGS__ } / 8), (int64_t[]){ __VA_ARGS__ }

/* A dtype of each base; those that have parameters with some. */
static DType sample(int base) {
    switch (base) {
    case DT_MINI: return dtype_mini(8, 11, MINI_IEEE);
    case DT_CMINI: return dtype_complex_of(DT_BF16);
    case DT_DECIMAL: return dtype_decimal(5);
    case DT_MP: return dtype_mp(100);
    case DT_CDECIMAL: return dtype_complex_of(dtype_decimal(5));
    case DT_CMP: return dtype_complex_of(dtype_mp(100));
    default: return (DType)base;
    }
}

/* Decimal with binary floats, real or complex. */
static bool no_common(DType a, DType b) {
    for (int turn = 0; turn < 2; turn++, a ^= b, b ^= a, a ^= b) {
        DType x = dtype_base(dtype_real(a)), y = dtype_base(dtype_real(b));
        if (x == DT_DECIMAL && y != DT_DECIMAL && dtype_info(y)->kind == 'f') return true;
    }
    return false;
}

static void test_promotion(void) {
    CHECK(dtype_promote(DT_U8, DT_I8) == DT_I32 && dtype_promote(DT_I8, DT_U8) == DT_I32);
    CHECK(dtype_promote(DT_F16, DT_BF16) == DT_F32 && dtype_promote(DT_I64, DT_F16) == DT_F16);
    CHECK(dtype_promote(DT_F64, DT_C64) == DT_C128 && dtype_promote(DT_F32, DT_C64) == DT_C64);
    CHECK(dtype_promote(DT_BOOL, DT_I8) == DT_I8 && dtype_promote(DT_BOOL, DT_BOOL) == DT_BOOL);
    CHECK(dtype_promote(DT_I32, DT_I64) == DT_I64 && dtype_promote(DT_I64, DT_C64) == DT_C64);
    for (int i = 0; i < DT_COUNT; i++)
        for (int j = 0; j < DT_COUNT; j++) {
            DType a = sample(i), b = sample(j), ab = dtype_promote(a, b);
            CHECK(ab == dtype_promote(b, a));
            CHECK((ab == DT_NONE) == no_common(a, b));
            CHECK(ab == DT_NONE || (dtype_promote(ab, a) == ab && dtype_promote(ab, b) == ab));
        }
    CHECK(dtype_promote(dtype_mp(100), dtype_mp(60)) == dtype_mp(100));
    CHECK(dtype_promote(dtype_decimal(3), dtype_decimal(7)) == dtype_decimal(7));
    CHECK(dtype_promote(dtype_mp(60), DT_C128) == dtype_complex_of(dtype_mp(60)) &&
          dtype_promote(DT_RATIONAL, DT_C64) == DT_C64 &&
          dtype_promote(DT_CRATIONAL, DT_I64) == DT_CRATIONAL &&
          dtype_promote(DT_INTERVAL, DT_CRATIONAL) == DT_CINTERVAL);
    CHECK(dtype_promote(DT_E4M3, DT_E5M2) == DT_F16 && dtype_promote(DT_E4M3, DT_BF16) == DT_BF16);
    CHECK(dtype_find("bf16", 4) == DT_BF16 && dtype_find("f1", 2) == DT_NONE);
    CHECK(dtype_real(DT_C64) == DT_F32 && dtype_complex(DT_F16) == DT_C64 &&
          dtype_complex(DT_I8) == DT_C128);
}

static Tensor *counting(DType dt, int rank, const int64_t *shape) {
    Tensor *t = tensor_new(ctx, dt, rank, shape), *n = tensor_new(ctx, DT_I64, rank, shape);
    for (int64_t i = 0; i < n->size; i++) ((int64_t *)n->data)[i] = i % 120;
    tensor_assign(ctx, t, n);
    tensor_release(ctx, n);
    return t;
}

/* Element at a position counted in row-major order of t's shape. */
static const char *at(const Tensor *t, int64_t index) {
    int64_t offset = 0;
    for (int axis = t->rank - 1; axis >= 0; axis--) {
        offset += index % tensor_shape(t)[axis] * tensor_strides(t)[axis];
        index /= tensor_shape(t)[axis];
    }
    return t->data + offset * dtype_info(t->dtype)->bytes;
}

static bool same_elements(const Tensor *a, const Tensor *b) {
    if (a->size != b->size || a->dtype != b->dtype) return false;
    for (int64_t i = 0; i < a->size; i++)
        if (memcmp(at(a, i), at(b, i), dtype_info(a->dtype)->bytes) != 0) return false;
    return true;
}

static void test_making(void) {
    Tensor *t = tensor_zeros(ctx, DT_F32, SHAPE(3, 4));
    CHECK(t->size == 12 && tensor_strides(t)[0] == 4 && tensor_strides(t)[1] == 1 &&
          tensor_contiguous(t));
    CHECK((uintptr_t)t->data % 64 == 0);
    tensor_release(ctx, t);
    for (int64_t n = 0; n < 3000; n += 7) {
        t = tensor_zeros(ctx, DT_U8, 1, &n);
        bool zero = (uintptr_t)t->data % 64 == 0;
        for (int64_t i = 0; i < n; i++) zero &= t->data[i] == 0;
        memset(t->data, 1, (size_t)n);
        tensor_release(ctx, t);
        if (!CHECK(zero)) break;
    }
    double pi = 3.25;
    t = tensor_scalar(ctx, DT_F64, &pi);
    CHECK(t->rank == 0 && t->size == 1 && element_f64(DT_F64, t->data) == 3.25);
    tensor_release(ctx, t);
    CHECK_RAISES(ctx, ERR_MEMORY, tensor_zeros(ctx, DT_F64, SHAPE(1000000000000)));
    CHECK_RAISES(ctx, ERR_MEMORY, tensor_zeros(ctx, DT_F64, SHAPE(1ll << 40, 1ll << 40)));
    CHECK_RAISES(ctx, ERR_MEMORY, tensor_zeros(ctx, DT_F64, SHAPE(0, 1ll << 40, 1ll << 40)));
    CHECK_RAISES(ctx, ERR_VALUE, tensor_zeros(ctx, DT_F64, SHAPE(2, -1)));
    char text[64];
    CHECK(strcmp(shape_text(text, sizeof text, SHAPE(2, 3)), "2×3") == 0);
    CHECK(strcmp(shape_text(text, sizeof text, 0, NULL), "()") == 0);
    CHECK(strlen(shape_text(text, 10, SHAPE(1000000, 1000000, 1000000))) < 10);
}

static void test_sharing(void) {
    Tensor *a = counting(DT_F64, SHAPE(3, 4)), *b = tensor_retain(a);
    tensor_unshare(ctx, &b);
    CHECK(a != b && a->buffer != b->buffer && same_elements(a, b));
    Tensor *view = tensor_transpose_last(ctx, a);
    CHECK(view->buffer == a->buffer && view->dims[0] == 4 && view->dims[1] == 3);
    CHECK(element_f64(DT_F64, at(view, 1)) == element_f64(DT_F64, at(a, 4)));
    tensor_unshare(ctx, &a);
    CHECK(view->buffer != a->buffer);
    tensor_release(ctx, a);
    Tensor *alone = view;
    tensor_unshare(ctx, &alone);
#ifndef RICCI_HOSTILE
    CHECK(alone == view);            /* the only owner of its buffer: stays in place */
#endif
    Tensor *wide = tensor_broadcast(ctx, b, SHAPE(5, 3, 4));
    tensor_release(ctx, b);
    tensor_unshare(ctx, &wide);      /* strides of 0 must go */
    CHECK(tensor_contiguous(wide) && wide->size == 60);
    Tensor *same = tensor_compact(ctx, wide);
    CHECK(same == wide);
    tensor_release(ctx, same);
    tensor_release(ctx, wide);
    tensor_release(ctx, alone);
}

static void test_broadcast(void) {
    int64_t out[TENSOR_RANK_MAX];
    int bad = -1;
    CHECK(shape_broadcast(SHAPE(3, 1, 4), SHAPE(5, 1), out, &bad) == 3 && out[0] == 3 &&
          out[1] == 5 && out[2] == 4);
    CHECK(shape_broadcast(SHAPE(2, 3), SHAPE(2), out, &bad) == -1 && bad == 0);
    CHECK(shape_broadcast(SHAPE(0), SHAPE(1), out, &bad) == 1 && out[0] == 0);
    Tensor *t = counting(DT_I8, SHAPE(3));
    CHECK_RAISES(ctx, ERR_SHAPE, tensor_broadcast(ctx, t, SHAPE(2)));
    tensor_release(ctx, t);
}

/* Copies every permutation of axes of a tensor and compares element by element. */
static void permutations(DType dt, int rank, const int64_t *shape) {
    static const int orders[][4] = { { 0, 1, 2, 3 }, { 1, 0, 2, 3 }, { 2, 1, 0, 3 }, { 0, 2, 1, 3 },
                                     { 1, 2, 0, 3 }, { 2, 0, 1, 3 }, { 3, 2, 1, 0 },
                                     { 1, 0, 3, 2 } };
    Tensor *t = counting(dt, rank, shape);
    for (int o = 0; o < 8; o++) {
        int64_t s[4], st[4];
        bool fits = true;
        for (int i = 0; i < rank; i++) fits &= orders[o][i] < rank;
        if (!fits) continue;
        for (int i = 0; i < rank; i++) {
            s[i] = shape[orders[o][i]];
            st[i] = tensor_strides(t)[orders[o][i]];
        }
        Tensor *view = tensor_view(ctx, t, rank, s, st, t->data), *copy = tensor_copy(ctx, view);
        CHECK(tensor_contiguous(copy) && same_elements(view, copy));
        tensor_release(ctx, copy);
        tensor_release(ctx, view);
    }
    tensor_release(ctx, t);
}

static void test_permute(void) {
    static const DType sizes[] = { DT_U8, DT_F16, DT_F32, DT_F64, DT_C128 };
    for (int i = 0; i < 5; i++) {
        permutations(sizes[i], SHAPE(37, 53));
        permutations(sizes[i], SHAPE(64, 128));
        permutations(sizes[i], SHAPE(5, 7, 33));
        permutations(sizes[i], SHAPE(3, 16, 2, 40));
        permutations(sizes[i], SHAPE(300, 301));
        permutations(sizes[i], SHAPE(4, 1));
    }
    permutations(DT_F64, SHAPE(1600, 1504));     /* large enough to be streamed */
    permutations(DT_F32, SHAPE(2051, 2049));
    permutations(DT_C128, SHAPE(1040, 1024));

    Tensor *t = counting(DT_F64, SHAPE(10, 10));
    int64_t shape[] = { 5, 10 }, strides[] = { -20, -1 };
    Tensor *back = tensor_view(ctx, t, 2, shape, strides, t->data + 99 * 8),
           *copy = tensor_copy(ctx, back);
    CHECK(same_elements(back, copy) && element_f64(DT_F64, copy->data) == 99);
    tensor_release(ctx, back);
    tensor_release(ctx, copy);
    tensor_release(ctx, t);
}

static void test_cast(void) {
    static const DType all[] =
        { DT_BOOL, DT_I8, DT_U8, DT_I32, DT_I64, DT_F16, DT_BF16, DT_F32, DT_F64, DT_C64,
                                 DT_C128 };
    for (int i = 0; i < 11; i++)
        for (int j = 0; j < 11; j++) {
            Tensor *t = counting(DT_I8, SHAPE(40, 3)), *f = tensor_cast(ctx, t, all[i]);
            Tensor *v = tensor_transpose_last(ctx, f), *g = tensor_cast(ctx, v, all[j]);
            bool good = g->dtype == all[j];
            for (int64_t k = 0; k < g->size && good; k++) {
                double want = (double)(k % 40 * 3 + k / 40);
                if (all[i] == DT_BOOL || all[j] == DT_BOOL) want = want != 0;
                good = element_f64(all[j], at(g, k)) == want;
            }
            CHECK(good);
            tensor_release(ctx, t);
            tensor_release(ctx, f);
            tensor_release(ctx, v);
            tensor_release(ctx, g);
        }
}

static bool fits(DType to, DType from, const void *value) {
    char out[16];
    return cast_run(to, out, 1, from, value, 1, 1) < 0;
}

static void test_misfits(void) {
    double big = 300, nan = NAN, edge = 0x1p63, low = -0x1p63, half = -0.75;
    int64_t i300 = 300, minus = -1;
    double _Complex z = 1 + 2 * I, real = 3;
    CHECK(!fits(DT_U8, DT_F64, &big) && fits(DT_I32, DT_F64, &big) && !fits(DT_I64, DT_F64, &nan));
    CHECK(!fits(DT_I64, DT_F64, &edge) && fits(DT_I64, DT_F64, &low) && fits(DT_U8, DT_F64, &half));
    CHECK(!fits(DT_U8, DT_I64, &i300) && !fits(DT_U8, DT_I64, &minus) &&
          fits(DT_I8, DT_I64, &minus));
    CHECK(!fits(DT_F64, DT_C128, &z) && fits(DT_F64, DT_C128, &real) && fits(DT_BOOL, DT_C128, &z));
    Tensor *t = tensor_scalar(ctx, DT_F64, &big), *c = tensor_scalar(ctx, DT_C128, &z);
    CHECK_RAISES(ctx, ERR_VALUE, tensor_cast(ctx, t, DT_I8));
    CHECK(strstr(ctx->error->message, "300") != NULL);
    CHECK_RAISES(ctx, ERR_DTYPE, tensor_cast(ctx, c, DT_F32));
    tensor_release(ctx, t);
    tensor_release(ctx, c);
    double values[3000];
    for (int i = 0; i < 3000; i++) values[i] = i == 2500 ? 1e10 : i;
    int32_t out[3000];
    CHECK(cast_run(DT_I32, out, 1, DT_F64, values, 1, 3000) == 2500);
}

static void test_assign(void) {
    Tensor *t = counting(DT_I64, SHAPE(6));
    int64_t five = 5, one = 1;
    Tensor *left = tensor_view(ctx, t, 1, &five, &one, t->data);
    Tensor *right = tensor_view(ctx, t, 1, &five, &one, t->data + 8);
    tensor_assign(ctx, right, left);
    int64_t *v = (int64_t *)t->data;
    CHECK(v[0] == 0 && v[1] == 0 && v[2] == 1 && v[5] == 4);
    Tensor *scalar = tensor_scalar(ctx, DT_I64, &five), *wide = counting(DT_F32, SHAPE(1, 1, 5));
    tensor_assign(ctx, right, scalar);
    CHECK(v[0] == 0 && v[1] == 5 && v[5] == 5);
    tensor_assign(ctx, right, wide);
    CHECK(v[1] == 0 && v[5] == 4);
    CHECK_RAISES(ctx, ERR_SHAPE, tensor_assign(ctx, t, left));
    Tensor *gone[] = { left, right, scalar, wide, t };
    for (int i = 0; i < 5; i++) tensor_release(ctx, gone[i]);
}

/* ---- 16-bit floats ---- */

/* Nearest f16 to d by trying both neighbours of a guess. */
static double decode(DType dt,
                     uint16_t h) { return (double)(dt == DT_F16 ? f16_to_f32(h) : bf16_to_f32(h)); }

static bool nearest(DType dt, uint16_t h, double d) {
    uint16_t sign = h & 0x8000, most = dt == DT_F16 ? 0x7c00 : 0x7f80;
    double top = dt == DT_F16 ? 65536 : 0x1p128, mine = decode(dt, h);
    if (isinf(mine)) mine = sign ? -top : top;
    for (int step = -1; step <= 1; step += 2) {
        int other = (h & 0x7fff) + step;
        if (other < 0 || other > most) continue;
        double theirs = decode(dt, (uint16_t)(sign | other));
        if (isinf(theirs)) theirs = sign ? -top : top;
        if (fabs(theirs - d) < fabs(mine - d)) return false;
        if (fabs(theirs - d) == fabs(mine - d) && h & 1) return false;
    }
    return true;
}

static void test_halves(void) {
    bool same = true;
    for (uint32_t h = 0; h < 65536; h++) {
        float f = f16_to_f32((uint16_t)h), b = bf16_to_f32((uint16_t)h);
        if (f == f) same &= f32_to_f16(f) == h && f64_to_f16((double)f) == h;
        else same &= (f32_to_f16(f) & 0x7fff) > 0x7c00;
        if (b == b) same &= f32_to_bf16(b) == h && f64_to_bf16((double)b) == h;
        else same &= (f32_to_bf16(b) & 0x7fff) > 0x7f80;
    }
    CHECK(same);
    bool right = true;
    static double d[8192];
    static uint16_t h[8192], g[8192];
    static float f[8192];
    for (int i = 0; i < 8192; i++) {
        uint16_t base = (uint16_t)(check_random() % 0x7c00);
        double x = decode(i & 1 ? DT_F16 : DT_BF16, base),
               y = decode(i & 1 ? DT_F16 : DT_BF16, base + 1);
        d[i] = isinf(y) ? x : (x + y) / 2;               /* a tie, … */
        if (i % 3 == 1) d[i] = nextafter(d[i], 0);       /* … just below, … */
        if (i % 3 == 2) d[i] = nextafter(d[i], INFINITY);
        if (i % 7 == 0) d[i] = -d[i];
        if (i % 1000 == 999) d[i] = NAN;
    }
    cast_run(DT_F16, h, 1, DT_F64, d, 1, 8192);
    cast_run(DT_BF16, g, 1, DT_F64, d, 1, 8192);
    for (int i = 0; i < 8192 && right; i++) {
        if (d[i] != d[i]) continue;
        right = h[i] == f64_to_f16(d[i]) && g[i] == f64_to_bf16(d[i]) &&
                nearest(DT_BF16, g[i], d[i]);
        if (fabs(d[i]) < 65520) right = right && nearest(DT_F16, h[i], d[i]);
        if (!right) fprintf(stderr, "%.17g: %04x %04x\n", d[i], h[i], g[i]);
    }
    CHECK(right);
    CHECK(f64_to_f16(1 + 0x1p-11 + 0x1p-40) == 0x3c01 &&
          f64_to_bf16(1 + 0x1p-8 + 0x1p-40) == 0x3f81);
    for (int i = 0; i < 8192; i++) f[i] = (float)d[i];
    cast_run(DT_F16, h, 1, DT_F32, f, 1, 8192);
    for (int i = 0; i < 8192; i++) right &= h[i] == f32_to_f16(f[i]);
    CHECK(right);
    int64_t tie = (1ll << 62) + (1ll << 54), above = tie + 1, below = tie - 1;
    uint16_t a, b, c;
    cast_run(DT_BF16, &a, 1, DT_I64, &tie, 1, 1);
    cast_run(DT_BF16, &b, 1, DT_I64, &above, 1, 1);
    cast_run(DT_BF16, &c, 1, DT_I64, &below, 1, 1);
    CHECK(a == c && b == a + 1);
}

static int released;
static void count_release(Ctx *c, Buffer *b) { (void)c; free(b->data); released++; }

static void test_adopt(void) {
    double *data = malloc(48);
    Tensor *t = tensor_adopt(ctx, DT_F64, SHAPE(2, 3), data, 48, count_release);
    Tensor *v = tensor_transpose_last(ctx, t);
    tensor_release(ctx, t);
    CHECK(released == 0);
    tensor_release(ctx, v);
    CHECK(released == 1);
}

/* The product as 128 bits say it is. */
static int64_t long_product(int rank, const int64_t *shape) {
    unsigned __int128 full = 1, size = 1;
    for (int i = 0; i < rank; i++) {
        full *= shape[i] ? (uint64_t)shape[i] : 1;
        size *= (uint64_t)shape[i];
        if (full > (uint64_t)TENSOR_SIZE_MAX) return -1;
    }
    return (int64_t)size;
}

static void test_product(void) {
    static const int64_t edges[] =
        { 0, 1, 2, 3, 5, 274177, 67280421310721, 641, 6700417, 1ll << 31, (1ll << 31) - 1,
                                     1ll << 32, (1ll << 32) + 1, 1ll << 53, (1ll << 61) - 1,
                                     1ll << 61, (1ll << 62) - 1,
                                     1ll << 62, (1ll << 62) + 1, INT64_MAX };
    enum { EDGES = sizeof edges / sizeof edges[0] };
    bool right = true;
    for (int i = 0; i < EDGES; i++)
        for (int j = 0; j < EDGES; j++)
            for (int k = 0; k < EDGES; k++) {
                const int64_t shape[] = { edges[i], edges[j], edges[k] };
                right &= shape_size(3, shape) == long_product(3, shape) &&
                         shape_size(2, shape) == long_product(2, shape);
            }
    CHECK(right);
    CHECK(shape_size(0, NULL) == 1);
    int64_t twos[TENSOR_RANK_MAX + 1];
    for (int i = 0; i <= TENSOR_RANK_MAX; i++) twos[i] = 4;
    CHECK(shape_size(31, twos) == TENSOR_SIZE_MAX && shape_size(32, twos) == -1);
    CHECK(shape_checked(ctx, SHAPE(1ll << 31, 1ll << 31)) == TENSOR_SIZE_MAX);
    CHECK_RAISES(ctx, ERR_MEMORY, shape_checked(ctx, SHAPE(274177, 67280421310721)));
    CHECK_RAISES(ctx, ERR_VALUE, shape_checked(ctx, SHAPE(0, -1)));
    CHECK_RAISES(ctx, ERR_VALUE, shape_checked(ctx, TENSOR_RANK_MAX + 1, twos));
    CHECK(count_times(1ll << 31, 1ll << 31) == TENSOR_SIZE_MAX &&
          count_times(1ll << 32, 1ll << 32) == INT64_MAX);
}

static void test_long_views(void) {
    double one = 1;
    Tensor *t = tensor_scalar(ctx, DT_F64, &one);
    Tensor *v = tensor_broadcast(ctx, t, SHAPE(1ll << 31, 1ll << 31));
    CHECK(v->size == TENSOR_SIZE_MAX);
    CHECK_RAISES(ctx, ERR_MEMORY, tensor_broadcast(ctx, t, SHAPE(274177, 67280421310721)));
    CHECK_RAISES(ctx, ERR_MEMORY, tensor_broadcast(ctx, t, SHAPE(1ll << 31, 1ll << 31, 2)));
    CHECK_RAISES(ctx, ERR_MEMORY, tensor_broadcast(ctx, t, SHAPE(1ll << 31, 1ll << 31, 2, 0)));
    CHECK_RAISES(ctx, ERR_MEMORY, tensor_copy(ctx, v));
    CHECK_RAISES(ctx, ERR_MEMORY,
                 tensor_adopt(ctx, DT_F64, SHAPE(1ll << 40, 1ll << 40), &one, 8, count_release));
    Tensor *empty = tensor_broadcast(ctx, t, SHAPE(1ll << 31, 0, 1ll << 31));
    CHECK(empty->size == 0 && t->buffer->refs == 3);
    tensor_release(ctx, empty);
    tensor_release(ctx, v);
    tensor_release(ctx, t);
}

int main(void) {
    mem_init(ctx);
    test_product();
    test_long_views();
    test_promotion();
    test_making();
    test_sharing();
    test_broadcast();
    test_permute();
    test_cast();
    test_misfits();
    test_assign();
    test_halves();
    test_adopt();
    err_free(ctx->error);
    ctx->error = NULL;
    pool_shutdown(ctx);
    CHECK(ctx->mem.live == 0);
    mem_shutdown(ctx);
    return check_result();
}
