/* Running sums, products and extremes: see scan.h. Lanes are independent and shared among
 * threads. */
#include "kernels/axis/scan.h"
#include "core/memory/pool.h"
#include "kernels/reduce/reduce_complex.h"

#include <stdatomic.h>

static inline int64_t add_whole(int64_t a, int64_t b, bool *bad)
{
    int64_t r;
    *bad |= __builtin_add_overflow(a, b, &r);
    return r;
}

static inline int64_t mul_whole(int64_t a, int64_t b, bool *bad)
{
    int64_t r;
    *bad |= __builtin_mul_overflow(a, b, &r);
    return r;
}

#define T uint8_t
#define R int64_t
#define C int64_t
#define LOAD(v) (v)
#define STORE(v) (v)
#define NAME(f) u8_##f
#define ADD(a, b, bad) add_whole(a, b, &bad)
#define MUL(a, b, bad) mul_whole(a, b, &bad)
#include "kernels/axis/scan_order.tmpl.h"
#include "kernels/axis/scan_lane.tmpl.h"

#define T int8_t
#define R int64_t
#define C int64_t
#define LOAD(v) (v)
#define STORE(v) (v)
#define NAME(f) i8_##f
#define ADD(a, b, bad) add_whole(a, b, &bad)
#define MUL(a, b, bad) mul_whole(a, b, &bad)
#include "kernels/axis/scan_order.tmpl.h"
#include "kernels/axis/scan_lane.tmpl.h"

#define T int32_t
#define R int64_t
#define C int64_t
#define LOAD(v) (v)
#define STORE(v) (v)
#define NAME(f) i32_##f
#define ADD(a, b, bad) add_whole(a, b, &bad)
#define MUL(a, b, bad) mul_whole(a, b, &bad)
#include "kernels/axis/scan_order.tmpl.h"
#include "kernels/axis/scan_lane.tmpl.h"

#define T int64_t
#define R int64_t
#define C int64_t
#define LOAD(v) (v)
#define STORE(v) (v)
#define NAME(f) i64_##f
#define ADD(a, b, bad) add_whole(a, b, &bad)
#define MUL(a, b, bad) mul_whole(a, b, &bad)
#include "kernels/axis/scan_order.tmpl.h"
#include "kernels/axis/scan_lane.tmpl.h"

#define EACH_HALF "kernels/axis/scan_half.tmpl.h"
#include "kernels/tensor/each_half.h"

#define T float
#define R float
#define C float
#define LOAD(v) (v)
#define STORE(v) (v)
#define NAME(f) f32_##f
#define ADD(a, b, bad) ((a) + (b))
#define MUL(a, b, bad) ((a) * (b))
#include "kernels/axis/scan_order.tmpl.h"
#include "kernels/axis/scan_lane.tmpl.h"

#define T double
#define R double
#define C double
#define LOAD(v) (v)
#define STORE(v) (v)
#define NAME(f) f64_##f
#define ADD(a, b, bad) ((a) + (b))
#define MUL(a, b, bad) ((a) * (b))
#include "kernels/axis/scan_order.tmpl.h"
#include "kernels/axis/scan_lane.tmpl.h"

#define T float _Complex
#define R float _Complex
#define C float _Complex
#define LOAD(v) (v)
#define STORE(v) (v)
#define NAME(f) c64_##f
#define ADD(a, b, bad) ((a) + (b))
#define MUL(a, b, bad) times_c64(a, b)
#include "kernels/axis/scan_lane.tmpl.h"

#define T double _Complex
#define R double _Complex
#define C double _Complex
#define LOAD(v) (v)
#define STORE(v) (v)
#define NAME(f) c128_##f
#define ADD(a, b, bad) ((a) + (b))
#define MUL(a, b, bad) times_c128(a, b)
#include "kernels/axis/scan_lane.tmpl.h"

ScanFn scan_kernel(ScanOp op, DType from)
{
#define HALF_ROW(id, half, f) [DT_##id] = half##_##f,
#define REAL(f)                                                                                \
    [DT_BOOL] = u8_##f, [DT_I8] = i8_##f, [DT_U8] = u8_##f, [DT_I32] = i32_##f,                \
    [DT_I64] = i64_##f, [DT_F32] = f32_##f, [DT_F64] = f64_##f, HALVES(HALF_ROW, f)
#define COMPLEX(f) [DT_C64] = c64_##f, [DT_C128] = c128_##f,
    static const ScanFn table[SCAN_OPS][DT_COUNT] = {
        [SCAN_SUM] = { REAL(sum) COMPLEX(sum) },
        [SCAN_PRODUCT] = { REAL(product) COMPLEX(product) },
        [SCAN_MAX] = { REAL(max) },
        [SCAN_MIN] = { REAL(min) },
    };
#undef COMPLEX
#undef REAL
#undef HALF_ROW
    return table[op][from];
}

typedef struct ScanJob {
    ScanFn fn;
    const Tensor *x, *out;
    int axis;
    atomic_bool bad;
} ScanJob;

static void scan_lanes(void *arg, int64_t begin, int64_t end, int worker)
{
    ScanJob *job = arg;
    const Tensor *x = job->x, *out = job->out;
    const int64_t *shape = tensor_shape(x), *xs = tensor_strides(x), *os = tensor_strides(out);
    (void)worker;
    for (int64_t lane = begin; lane < end; lane++) {
        int64_t rest = lane, in = 0, to = 0;
        for (int a = x->rank - 1; a >= 0; a--) {
            if (a == job->axis)
                continue;
            in += rest % shape[a] * xs[a];
            to += rest % shape[a] * os[a];
            rest /= shape[a];
        }
        if (!job->fn(out->data + to * dtype_info(out->dtype)->bytes, os[job->axis],
                     x->data + in * dtype_info(x->dtype)->bytes, xs[job->axis], shape[job->axis]))
            atomic_store(&job->bad, true);
    }
}

bool scan_run(Ctx *ctx, ScanOp op, Tensor *x, int axis, Tensor *out)
{
    ScanJob job = { .fn = scan_kernel(op, (DType)x->dtype), .x = x, .out = out, .axis = axis };
    int64_t n = tensor_shape(x)[axis];
    if (x->size == 0)
        return true;
    if (x->size < 1 << 15)
        scan_lanes(&job, 0, x->size / n, 0);
    else
        pool_for(ctx, x->size / n, (1 << 15) / n + 1, scan_lanes, &job);
    return !atomic_load(&job.bad);
}
