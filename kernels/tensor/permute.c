/* Copying between layouts: see permute.h. Three shapes of work remain after axes were collapsed:
 * rows contiguous on both sides (memcpy), two axes contiguous on one side each (a transposition,
 * done in blocks of whole cache lines), and anything else (a strided loop). */
#include "kernels/tensor/permute.h"

#include "core/memory/pool.h"
#include "kernels/tensor/cpu.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* ---- writing past the cache ---- */

#ifdef __SSE2__
static inline __attribute__((always_inline))
void copy_past(char *d, const char *s, size_t bytes, const char *const *ahead, int count) {
    size_t head = -(uintptr_t)d & 15, i = 0;
    if (bytes < 256) {
        memcpy(d, s, bytes);
        return;
    }
    memcpy(d, s, head);
    d += head, s += head, bytes -= head;
    for (; i + 64 <= bytes; i += 64) {
        __m128i a = _mm_loadu_si128((const __m128i *)(s + i));
        __m128i b = _mm_loadu_si128((const __m128i *)(s + i) + 1);
        __m128i c = _mm_loadu_si128((const __m128i *)(s + i) + 2);
        __m128i e = _mm_loadu_si128((const __m128i *)(s + i) + 3);
        for (int k = 0; k < count; k++) __builtin_prefetch(ahead[k] + i);
        _mm_stream_si128((__m128i *)(d + i), a);
        _mm_stream_si128((__m128i *)(d + i) + 1, b);
        _mm_stream_si128((__m128i *)(d + i) + 2, c);
        _mm_stream_si128((__m128i *)(d + i) + 3, e);
    }
    memcpy(d + i, s + i, bytes - i);
}
#else
static void copy_past(char *d, const char *s, size_t bytes, const char *const *ahead, int count) {
    (void)ahead, (void)count;
    memcpy(d, s, bytes);
}
#endif

void stream_copy(void *dst, const void *src, size_t bytes) {
    copy_past(dst, src, bytes, NULL, 0);
}

void stream_copy_ahead(void *dst, const void *src, size_t bytes, const char *const *ahead,
                       int count) {
    const char *const to[] = { count > 0 ? ahead[0] : NULL, count > 1 ? ahead[1] : NULL,
                               count > 2 ? ahead[2] : NULL };
    switch (count) {
    case 0: copy_past(dst, src, bytes, to, 0); break;
    case 1: copy_past(dst, src, bytes, to, 1); break;
    case 2: copy_past(dst, src, bytes, to, 2); break;
    default: copy_past(dst, src, bytes, to, 3); break;
    }
}

/* bytes of 16 that repeat, past the cache; dst stands at a multiple of 16. */
static void fill_past(char *dst, const char *pattern, size_t bytes) {
    size_t i = 0;
#ifdef __SSE2__
    __m128i v = _mm_loadu_si128((const __m128i *)pattern);
    for (; i + 64 <= bytes; i += 64)
        for (int k = 0; k < 4; k++) _mm_stream_si128((__m128i *)(dst + i) + k, v);
#endif
    for (; i < bytes; i += 16) memcpy(dst + i, pattern, bytes - i < 16 ? bytes - i : 16);
}

void stream_fence(void) {
#ifdef __SSE2__
    _mm_sfence();
#endif
}

/* ---- one row, strided; one block, transposed ---- */

typedef uint16_t Bytes2 __attribute__((aligned(1), may_alias));
typedef uint32_t Bytes4 __attribute__((aligned(1), may_alias));
typedef uint64_t Bytes8 __attribute__((aligned(1), may_alias));
typedef struct Bytes16 { Bytes8 lo, hi; } Bytes16;
typedef struct Bytes32 { Bytes16 lo, hi; } Bytes32;

#define UNIT uint8_t
#define NAME(f) f##_1
#include "kernels/tensor/permute.tmpl.h"
#define UNIT Bytes2
#define NAME(f) f##_2
#include "kernels/tensor/permute.tmpl.h"
#define UNIT Bytes4
#define NAME(f) f##_4
#include "kernels/tensor/permute.tmpl.h"
#define UNIT Bytes8
#define NAME(f) f##_8
#include "kernels/tensor/permute.tmpl.h"
#define UNIT Bytes16
#define NAME(f) f##_16
#include "kernels/tensor/permute.tmpl.h"
#define UNIT Bytes32
#define NAME(f) f##_32
#include "kernels/tensor/permute.tmpl.h"

typedef void (*RowFn)(void *dst, int64_t sd, const void *src, int64_t ss, int64_t n);
static const RowFn row_copy[PERMUTE_SIZES] = { row_1, row_2, row_4, row_8, row_16, row_32 };
const TransposeFn transpose_base[PERMUTE_SIZES] = { block_1, block_2,  block_4,
                                                    block_8, block_16, block_32 };

static TransposeFn transpose_fn(int log2_bytes) {
#ifdef __x86_64__
    if (cpu_isa() >= ISA_AVX2 && transpose_avx2[log2_bytes])
        return transpose_avx2[log2_bytes];
#endif
    return transpose_base[log2_bytes];
}

void permute_block(int element_bytes, void *dst, int64_t ds, const void *src, int64_t ss,
                   int64_t rows, int64_t columns) {
    transpose_fn(__builtin_ctz((unsigned)element_bytes))(dst, ds, src, ss, rows, columns, false);
}

/* ---- the whole copy ---- */

typedef struct CopyJob {
    const Iter *it;
    char *dst;
    const char *src;
    int64_t bytes;           /* of an element */
    int log2_bytes;
    bool stream;
    int across;              /* axis along which src is contiguous, in a transposition */
    int64_t block;           /* its extent per unit of work */
    Iter outer;              /* the axes that are neither inner nor across */
    TransposeFn transpose;
} CopyJob;

/* One element of up to 16 bytes, n times. */
static void spread(char *dst, const char *src, int64_t bytes, int64_t n) {
    char pattern[16];
    size_t head = -(uintptr_t)dst & 15;
    for (int k = 0; k < 16; k++) pattern[k] = src[(k + (int64_t)head) % bytes];
    for (size_t k = 0; k < head; k++) dst[k] = src[(int64_t)k % bytes];
    fill_past(dst + head, pattern, (size_t)(n * bytes) - head);
}

/* Elements [begin, end) in dst's order; the first and last rows may be parts. */
static void copy_rows(void *arg, int64_t begin, int64_t end, int worker) {
    const CopyJob *job = arg;
    const Iter *it = job->it;
    int inner = it->rank - 1;
    int64_t n = it->shape[inner], sd = it->stride[0][inner], ss = it->stride[1][inner];
    (void)worker;
    while (begin < end) {
        int64_t at = begin % n, offset[ITER_OPERANDS];
        int64_t count = end - begin < n - at ? end - begin : n - at;
        iter_seek(it, inner, begin / n, offset);
        char *dst = job->dst + (offset[0] + at * sd) * job->bytes;
        const char *src = job->src + (offset[1] + at * ss) * job->bytes;
        if (job->stream && sd == 1 && ss == 0 && job->bytes <= 16 && count >= 64)
            spread(dst, src, job->bytes, count);
        else if (sd != 1 || ss != 1) row_copy[job->log2_bytes](dst, sd, src, ss, count);
        else if (job->stream) stream_copy(dst, src, (size_t)(count * job->bytes));
        else memcpy(dst, src, (size_t)(count * job->bytes));
        begin += count;
    }
    if (job->stream) stream_fence();
}

/* Units of work: for each position of the outer axes, blocks along the across axis. */
static void copy_blocks(void *arg, int64_t begin, int64_t end, int worker) {
    const CopyJob *job = arg;
    const Iter *it = job->it;
    int inner = it->rank - 1, across = job->across;
    int64_t columns = it->shape[across], blocks = (columns + job->block - 1) / job->block;
    (void)worker;
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t offset[ITER_OPERANDS], from = unit % blocks * job->block;
        int64_t count = columns - from < job->block ? columns - from : job->block;
        iter_seek(&job->outer, job->outer.rank, unit / blocks, offset);
        offset[0] += from * it->stride[0][across];
        offset[1] += from;
        job->transpose(job->dst + offset[0] * job->bytes, it->stride[0][across],
                       job->src + offset[1] * job->bytes, it->stride[1][inner],
                       it->shape[inner], count, job->stream);
    }
    if (job->stream) stream_fence();
}

/* The axis along which src is contiguous, if going through blocks pays; else -1. */
static int across_axis(const Iter *it) {
    int inner = it->rank - 1;
    if (it->stride[0][inner] != 1 || it->stride[1][inner] == 1 || it->shape[inner] < 4) return -1;
    for (int axis = 0; axis < inner; axis++)
        if (it->stride[1][axis] == 1 && it->shape[axis] >= 4) return axis;
    return -1;
}

static void drop_axis(Iter *it, int axis) {
    for (int i = axis; i + 1 < it->rank; i++) {
        it->shape[i] = it->shape[i + 1];
        for (int k = 0; k < it->operands; k++) it->stride[k][i] = it->stride[k][i + 1];
    }
    it->rank--;
}

static void run_blocks(Ctx *ctx, CopyJob *job) {
    const Iter *it = job->it;
    int64_t units = 1, line = 64 / job->bytes;
    job->outer = *it;
    drop_axis(&job->outer, it->rank - 1);
    drop_axis(&job->outer, job->across);
    for (int axis = 0; axis < job->outer.rank; axis++) units *= job->outer.shape[axis];
    job->block = 4 * line;
    job->transpose = transpose_fn(job->log2_bytes);
    units *= (it->shape[job->across] + job->block - 1) / job->block;
    int64_t each = it->size / units > 0 ? it->size / units : 1;
    int64_t grain = (1 << 15) / each;
    if (it->size < 1 << 16) copy_blocks(job, 0, units, 0);
    else pool_for(ctx, units, grain > 0 ? grain : 1, copy_blocks, job);
}

void permute_copy(Ctx *ctx, const Iter *it, int element_bytes, void *dst, const void *src) {
    CopyJob job = { .it = it, .dst = dst, .src = src, .bytes = element_bytes,
                    .log2_bytes = __builtin_ctz((unsigned)element_bytes),
                    .stream = it->size * element_bytes >= STREAM_BYTES };
    if (it->size == 0) return;
    job.across = across_axis(it);
    if (job.across >= 0) run_blocks(ctx, &job);
    else if (it->size < 1 << 16) copy_rows(&job, 0, it->size, 0);
    else pool_for(ctx, it->size, 1 << 15, copy_rows, &job);
}
