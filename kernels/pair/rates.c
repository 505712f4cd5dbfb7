/* Rates (rates.h). Each is measured on one thread, as the least of some turns: other work on the
 * machine only ever adds to a time. The file has a line that says for what they hold, and one line
 * each. */
#include "kernels/direct/direct.h"
#include "kernels/pair/contract_pair_ways.h"
#include "kernels/pair/rates.h"

#include "core/base/error.h"
#include "core/system/c_locale.h"
#include "core/system/cache.h"
#include "core/system/fd.h"
#include "kernels/tensor/cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef RICCI_VERSION
#define RICCI_VERSION "0.1.0"
#endif

#define OF(which, field) offsetof(Calibration, real[which].field)
const CalibrationRow calibration_rows[] = {
    { "f32.block", "f32 product, own kernels, GFLOP/s", 1e9, OF(0, block), 1e8, 1e14 },
    { "f32.blas", "f32 product, the library's, GFLOP/s", 1e9, OF(0, blas), 0, 1e14 },
    { "f32.unit", "f32 packed from rows, ns each", 1e-9, OF(0, unit), 1e-13, 1e-6 },
    { "f32.turned", "f32 packed turned over, ns each", 1e-9, OF(0, turned), 1e-13, 1e-6 },
    { "f32.gather", "f32 packed one by one, ns each", 1e-9, OF(0, gather), 1e-13, 1e-6 },
    { "f32.windows", "f32 windows, of the estimate", 1, OF(0, windows), 1e-3, 1e3 },
    { "f64.block", "f64 product, own kernels, GFLOP/s", 1e9, OF(1, block), 1e8, 1e14 },
    { "f64.blas", "f64 product, the library's, GFLOP/s", 1e9, OF(1, blas), 0, 1e14 },
    { "f64.unit", "f64 packed from rows, ns each", 1e-9, OF(1, unit), 1e-13, 1e-6 },
    { "f64.turned", "f64 packed turned over, ns each", 1e-9, OF(1, turned), 1e-13, 1e-6 },
    { "f64.gather", "f64 packed one by one, ns each", 1e-9, OF(1, gather), 1e-13, 1e-6 },
    { "f64.windows", "f64 windows, of the estimate", 1, OF(1, windows), 1e-3, 1e3 },
    { "memory", "memory, read and written, GB/s", 1e9, offsetof(Calibration, memory), 1e7, 1e14 },
};
#undef OF
const int calibration_row_count = sizeof calibration_rows / sizeof *calibration_rows;

enum { FILE_MOST = 4096 };

/* ---- for what they hold ---- */

/* The value of the first `name : value` in the text, up to the line's end. */
static void put_field(char *out, size_t n, const char *text, const char *name)
{
    const char *at = strstr(text, name), *value = at ? strchr(at, ':') : NULL;
    size_t used = strlen(out), length = value ? strcspn(++value, "\n") : 0;
    if (value)
        c_snprintf(out + used, n - used, "%.*s", (int)length, value);
}

/* The program's version, the instruction set, and the processor as the system names it. */
static void machine_name(char *out, size_t n)
{
    char text[FILE_MOST] = "";
    int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = 0;
    c_snprintf(out, n, "%s %s", RICCI_VERSION, cpu_isa_name(cpu_isa()));
    static const char *const fields[] =
        { "model name", "cpu family", "model\t", "stepping", "CPU implementer", "CPU part" };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        put_field(out, n, text, fields[i]);
}

static double *cell(Calibration *c, int row)
{
    return (double *)(void *)((char *)c + calibration_rows[row].offset);
}

/* ---- reading ---- */

static bool skip(const char **text, const char *word)
{
    size_t n = strlen(word);
    bool is = strncmp(*text, word, n) == 0;
    *text += is ? n : 0;
    return is;
}

static bool parse(Calibration *c, const char *text)
{
    char machine[1024];
    machine_name(machine, sizeof machine);
    if (!skip(&text, "ricci rates\n") || !skip(&text, machine) || !skip(&text, "\n"))
        return false;
    for (int i = 0; i < calibration_row_count; i++) {
        const CalibrationRow *row = &calibration_rows[i];
        char *end;
        if (!skip(&text, row->key) || !skip(&text, " "))
            return false;
        double x = c_strtod(text, &end);
        if (end == text || !(x >= row->least && x <= row->most))
            return false;
        *cell(c, i) = x;
        text = end;
        if (!skip(&text, "\n"))
            return false;
    }
    return strcmp(text, "end\n") == 0;
}

static bool place(char *path, size_t n, bool make)
{
    if (!cache_folder(path, n - 16, NULL, make))
        return false;
    strcat(path, "/rates");
    return true;
}

static struct { bool is; Calibration rates; } kept;
static pthread_once_t kept_once = PTHREAD_ONCE_INIT;

static void read_kept(void)
{
    const char *asked = getenv("RICCI_CALIBRATION");
    char path[3200], text[FILE_MOST];
    if ((asked && strcmp(asked, "0") == 0) || !place(path, sizeof path, false))
        return;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    if (got <= 0)
        return;
    text[got] = 0;
    kept.is = parse(&kept.rates, text);
}

const Calibration *calibration_kept(void)
{
    pthread_once(&kept_once, read_kept);
    return kept.is ? &kept.rates : NULL;
}

/* ---- writing ---- */

bool calibration_keep(const Calibration *given, char *path, size_t n)
{
    char machine[1024], text[FILE_MOST], part[3400];
    Calibration c = *given;
    path[0] = 0;
    if (!place(path, n, true))
        return false;
    machine_name(machine, sizeof machine);
    int used = c_snprintf(text, sizeof text, "ricci rates\n%s\n", machine);
    for (int i = 0; i < calibration_row_count; i++)
        used += c_snprintf(text + used, sizeof text - (size_t)used, "%s %.6g\n",
                           calibration_rows[i].key, *cell(&c, i));
    used += c_snprintf(text + used, sizeof text - (size_t)used, "end\n");
    snprintf(part, sizeof part, "%s.XXXXXX", path);
    int fd = mkostemp(part, O_CLOEXEC);
    if (fd < 0)
        return false;
    bool ok = fd_write_all(fd, text, (size_t)used);
    ok &= close(fd) == 0;
    if (ok && rename(part, path) == 0)
        return true;
    int error = errno;
    unlink(part);
    errno = error;
    return false;
}

/* ---- measuring ---- */

enum { EDGE = 384, SIDE = 1024, TAPS = 49, WINDOW = 7, ROWS = 24, BLOCK_ROWS = 96, DEPTH = 256 };
enum { WORK_BYTES = 64 << 20 };
static const double TURNS_SECONDS = 0.08;

/* Something to be timed: its data lies in `work`, WORK_BYTES, zeros at first. */
typedef struct Trial {
    Ctx *ctx;
    char *work;
    DType dt;
    const PairPlan *plan;
    const PairKernel *kernel;
    int64_t row_step, column_step;
    bool is_b;
    const Direct *direct;
} Trial;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double least_seconds(const Trial *t, void (*once)(const Trial *))
{
    double begin = now(), least = INFINITY;
    for (int i = 0; i < 3 || now() - begin < TURNS_SECONDS; i++) {
        double start = now();
        once(t);
        least = fmin(least, now() - start);
        if (*t->ctx->interrupt)
            break;
    }
    return fmax(least, 1e-9);
}

/* ---- products ---- */

static void product_by_plan(const Trial *t)
{
    int64_t step = (int64_t)EDGE * EDGE * 8;
    pair_run(t->ctx, t->plan, t->work, t->work + step, t->work + 2 * step);
}

static void product_by_library(const Trial *t)
{
    const Blas *blas = blas_open(NULL);
    BlasType type = blas_type(t->dt);
    int n = EDGE;
    char *c = t->work, *a = c + (int64_t)EDGE * EDGE * 8, *b = a + (int64_t)EDGE * EDGE * 8;
    blas->gemm[type]("N", "N", &n, &n, &n, blas_one(type), a, &n, b, &n, blas_zero(type), c, &n,
                     1, 1);
}

static PairPlan *square(Ctx *ctx, DType dt)
{
    ContractOperand x[2] = { { .labels = 5, .stride = { [0] = EDGE, [2] = 1 } },
                             { .labels = 6, .stride = { [1] = 1, [2] = EDGE } } };
    Contraction c = { .dtype = dt, .semiring = SR_PLUS_TIMES, .labels = 3, .operands = 2,
                      .extent = { EDGE, EDGE, EDGE }, .operand = x, .out = 3,
                      .out_stride = { EDGE, 1 } };
    PairPlan *p = pair_plan_wanted(ctx, &c, &pair_way_block);
    p->u.product.workers = 1;           /* its workspace suffices for more */
    return p;
}

static void measure_products(Trial *t, RealRates *r)
{
    double flops = 2.0 * EDGE * EDGE * EDGE;
    PairPlan *plan = square(t->ctx, t->dt);
    t->plan = plan;
    ErrFrame frame;
    if (ERR_TRY(t->ctx, &frame)) {
        r->block = flops / least_seconds(t, product_by_plan);
        ERR_END(t->ctx, &frame);
    } else {
        pair_plan_free(t->ctx, plan);
        err_rethrow(t->ctx);
    }
    pair_plan_free(t->ctx, plan);
    const Blas *blas = blas_open(NULL);
    r->blas = 0;
    if (!blas)
        return;
    blas_enter(t->ctx, blas, 1, 1);
    r->blas = flops / least_seconds(t, product_by_library);
}

/* ---- packing ---- */

static void pack(const Trial *t)
{
    int64_t bytes = dtype_info(t->dt)->bytes, row[BLOCK_ROWS], column[DEPTH];
    PairPack p = { .dst = t->work, .row = row, .column = column, .rows = BLOCK_ROWS,
                   .depth = DEPTH };
    for (int64_t i = 0; i < BLOCK_ROWS; i++)
        row[i] = i * t->row_step;
    for (int64_t q = 0; q < DEPTH; q++)
        column[q] = q * t->column_step;
    int64_t along = BLOCK_ROWS * t->row_step, down = DEPTH * t->column_step;
    for (int64_t i = 0; i < 8; i++)
        for (int64_t q = 0; q < 4; q++) {
            p.src = t->work + (1 << 20) + (i * along + q * down) * bytes;
            (t->is_b ? t->kernel->pack_b : t->kernel->pack_a)(&p);
        }
}

static double pack_seconds(Trial *t, bool is_b, int64_t row_step, int64_t column_step)
{
    t->is_b = is_b, t->row_step = row_step, t->column_step = column_step;
    t->kernel = pair_kernel(blas_type(t->dt));
    return least_seconds(t, pack) / (8.0 * 4 * BLOCK_ROWS * DEPTH);
}

/* ---- windows and memory ---- */

static void windows(const Trial *t)
{
    direct_run(t->ctx, SR_PLUS_TIMES, t->dt, t->direct, t->work, t->work + (8 << 20),
               t->work + (16 << 20), false);
}

static double windows_of_estimate(Trial *t)
{
    int64_t at[TAPS], factor[TAPS];
    for (int64_t q = 0; q < TAPS; q++) {
        at[q] = q / WINDOW * SIDE + q % WINDOW;
        factor[q] = q;
    }
    /* so few rows that one thread takes them all */
    Direct d = { .rank = 1, .extent = { ROWS }, .n = 512, .vector = { 1, 0 }, .taps = TAPS,
                 .step = { { SIDE }, { SIDE }, { 0 } }, .offset = { at, factor } };
    t->direct = &d;
    while (d.extent[0] > 1 && direct_seconds(SR_PLUS_TIMES, t->dt, &d) > 5e-5)
        d.extent[0]--;
    return least_seconds(t, windows) / direct_seconds(SR_PLUS_TIMES, t->dt, &d);
}

static void copy(const Trial *t)
{
    memcpy(t->work, t->work + WORK_BYTES / 2, WORK_BYTES / 2);
}

bool calibration_measure(Ctx *ctx, Calibration *c)
{
    Trial t = { .ctx = ctx, .work = mem_alloc_data(ctx, WORK_BYTES, false) };
    ErrFrame frame;
    memset(t.work, 0, WORK_BYTES);
    if (ERR_TRY(ctx, &frame)) {
        for (int i = 0; i < 2 && !*ctx->interrupt; i++) {
            RealRates *r = &c->real[i];
            t.dt = i ? DT_F64 : DT_F32;
            measure_products(&t, r);
            r->unit = pack_seconds(&t, true, 1, SIDE);
            r->turned = pack_seconds(&t, false, SIDE + 8, 1);
            r->gather = pack_seconds(&t, false, SIDE + 8, 3);
            r->windows = windows_of_estimate(&t);
        }
        c->memory = WORK_BYTES / least_seconds(&t, copy);
        ERR_END(ctx, &frame);
    } else {
        mem_free_data(ctx, t.work, WORK_BYTES);
        err_rethrow(ctx);
    }
    mem_free_data(ctx, t.work, WORK_BYTES);
    return !*ctx->interrupt;
}
