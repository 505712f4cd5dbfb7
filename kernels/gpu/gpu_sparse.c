/* The text of products over entries, and its launches: see gpu_sparse.h. */
#include "kernels/gpu/gpu_sparse.h"
#include "kernels/gpu/gpu_source.h"

#include "core/base/error.h"

/* ---- text ----
 * LANES neighbouring work items have an element of the result, so that entries of a long row are
 * read side by side; elements of a row of the result are neighbours, so that theirs of x are. What
 * is summed goes MANY entries of a lane at a time, which keeps errors of long sums small. */
enum { MANY = 128 };

static const char kernel_text[] =
    "typedef struct { i64 first, last, rows, cols, batch, row, col; } Job;\n"
    "KERNEL void csr(GLOBAL char *pattern_, u64 pattern_at, GLOBAL char *value_, u64 value_at,\n"
    "                GLOBAL char *x_, u64 x_at, GLOBAL char *y_, u64 y_at, Job j)\n"
    "{\n"
    "#if LANES > 1\n"
    "    LOCAL A room[THREADS];\n"
    "#endif\n"
    "    const int own = (int)ID(0), lane = own % LANES;\n"
    "    const i64 at = j.first + (i64)GROUP(0)*(THREADS / LANES) + own / LANES;\n"
    "    A sum = 0;\n"
    "    if (at < j.last) {\n"
    "        GLOBAL const i64 *start = (GLOBAL const i64 *)(pattern_ + pattern_at);\n"
    "        GLOBAL const i64 *column = start + j.rows + 1;\n"
    "        GLOBAL const A *value = (GLOBAL const A *)(value_ + value_at);\n"
    "        GLOBAL const A *x = (GLOBAL const A *)(x_ + x_at) + at / j.cols / j.rows*j.batch +\n"
    "                            at % j.cols*j.col;\n"
    "        const i64 i = at / j.cols % j.rows, end = start[i + 1];\n"
    "        for (i64 k = start[i] + lane; k < end;) {\n"
    "            const i64 stop = end - k < MANY*LANES ? end : k + MANY*LANES;\n"
    "            A part = 0;\n"
    "            for (; k < stop; k += LANES) part += value[k]*x[column[k]*j.row];\n"
    "            sum += part;\n"
    "        }\n"
    "    }\n"
    "#if LANES > 1\n"
    "    room[own] = sum;\n"
    "    BARRIER;\n"
    "    for (int half_ = LANES / 2; half_; half_ /= 2) {\n"
    "        if (lane < half_) room[own] += room[own + half_];\n"
    "        BARRIER;\n"
    "    }\n"
    "    sum = room[own];\n"
    "#endif\n"
    "    if (at < j.last && lane == 0) ((GLOBAL A *)(y_ + y_at))[at] = sum;\n"
    "}\n";

/* What a text follows from: powers of two, but for the dtype. */
typedef struct Shape { DType dt; int threads, lanes; } Shape;

static Shape shape_of(const Device *d, const GpuCsr *a)
{
    const bool processor = d->caps & DEVCAP_CPU;
    const int64_t mean = a->entries / a->rows;
    Shape s = { a->dtype, processor ? 64 : GPU_GROUP, 1 };
    if (!processor && a->cols < 8)
        s.lanes = mean >= 64 ? 32 : mean >= 8 ? 8 : 1;
    while (s.threads > 1 && d->group && d->group < (size_t)s.threads)
        s.threads /= 2;
    s.lanes = s.lanes < s.threads ? s.lanes : s.threads;
    return s;
}

static void write_text(Ctx *ctx, Buf *b, unsigned caps, const Shape *s)
{
    GpuForm form = { .n = NULL };
    GpuSource source = { .ctx = ctx, .form = &form, .caps = caps, .seen = 1u << s->dt };
    gpu_prelude(&source, b);
    buf_printf(b, "#define A %s\n#define THREADS %d\n#define LANES %d\n#define MANY %d\n",
               gpu_type(s->dt), s->threads, s->lanes, MANY);
    buf_puts(b, kernel_text);
}

static const GpuKernel *kernel_of(Ctx *ctx, Device *d, const Shape *s)
{
    const char key[] = { 'c', 's', 'r', (char)s->dt, (char)(s->threads - 1), (char)s->lanes };
    const GpuKernel *kernel = gpu_find(d, key, sizeof key);
    if (kernel)
        return kernel;
    Buf text;
    ErrFrame frame;
    buf_init(&text, ctx);
    if (ERR_TRY(ctx, &frame)) {
        write_text(ctx, &text, d->caps, s);
        gpu_build(ctx, d, key, sizeof key, buf_cstr(&text), "csr", NULL, 0);
        ERR_END(ctx, &frame);
    } else {
        buf_free(&text);
        err_rethrow(ctx);
    }
    buf_free(&text);
    return gpu_find(d, key, sizeof key);
}

/* ---- launches ---- */
/* As the kernel has it. */
typedef struct Job { int64_t first, last, rows, cols, batch, row, col; } Job;

/* Elements of one launch, which cannot be stopped: of a processor it takes tenths of a second. */
static int64_t at_once(const Device *d, const GpuCsr *a, int64_t group)
{
    const double most = d->caps & DEVCAP_CPU ? 1e8 : 1e10;
    const int64_t groups = (int64_t)(most / ((double)a->entries / (double)a->rows + 1)) / group;
    return group * (groups < 1 ? 1 : groups > 65535 ? 65535 : groups);
}

void gpu_csr(Ctx *ctx, Device *d, const GpuCsr *a)
{
    const int64_t elements = a->count * a->rows * a->cols;
    if (elements == 0)
        return;
    device_open(ctx, d);
    const Shape shape = shape_of(d, a);
    const GpuKernel *kernel = kernel_of(ctx, d, &shape);
    const int64_t group = shape.threads / shape.lanes, step = at_once(d, a, group);
    Job j = { .rows = a->rows, .cols = a->cols, .batch = a->batch, .row = a->row, .col = a->col };
    const DevArg arg[] = { a->pattern, a->value, a->x, a->y, { .value = &j, .bytes = sizeof j } };
    for (; j.first < elements; j.first += step) {
        j.last = elements - j.first < step ? elements : j.first + step;
        const DevGrid grid = { .groups = { (size_t)((j.last - j.first + group - 1) / group), 1, 1 },
                               .local = { (size_t)shape.threads, 1, 1 } };
        gpu_launch(ctx, d, kernel, &grid, arg, (int)(sizeof arg / sizeof *arg));
    }
}
