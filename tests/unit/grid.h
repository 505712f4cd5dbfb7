/* What tests of a rank's commands share: grids of processes, started by mpirun; every rank sends
 * itself the same commands, as the session would, and compares whole tensors with plain loops. */
#ifndef RICCI_TESTS_UNIT_GRID_H
#define RICCI_TESTS_UNIT_GRID_H

#include "check.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/grid/grid_rank.h"

#include <stdlib.h>
#include <unistd.h>

static Ctx *ctx;
static GridRank *g;
static int few;                          /* many ranks share two cores: of all, every 1 + few */
static uint64_t newest;                  /* the last number that was given */

/* ---- commands ---- */
typedef struct Call { Buf in, out; Wire answer, asked; const Tensor *piece; bool raised; } Call;

static void begin(Call *c)
{
    memset(c, 0, sizeof *c);
    buf_init(&c->in, ctx);
    buf_init(&c->out, ctx);
}

/* The slab of c->piece. */
static void more(Wire *w, void *to, size_t n)
{
    const Call *c = w->with;
    grid_slab_fill(&g->grid, g->rank, c->piece, 0, to, n);
}

static void end(Call *c)
{
    buf_free(&c->in);
    buf_free(&c->out);
}

static void run(Call *c, GridOp op)
{
    ErrFrame f;
    c->asked = wire_from(ctx, &c->in);
    c->asked.more = more;
    c->asked.with = c;
    if (c->piece)
        c->asked.piece = grid_slab_bytes(&g->grid, g->rank, (DType)c->piece->dtype,
                                         c->piece->rank, tensor_shape(c->piece));
    if (ERR_TRY(ctx, &f)) {
        grid_command(g, op, &c->asked, &c->out);
        ERR_END(ctx, &f);
    } else {
        c->raised = true;
        if (ctx->error->kind != ERR_MEMORY && ctx->error->kind != ERR_DEVICE)
            fprintf(stderr, "%s: %s\n", grid_op_name(op), ctx->error->message);
    }
    c->answer = wire_from(ctx, &c->out);
}

static inline void put_ints(Call *c, const int64_t *x, int n)
{
    wire_u64(&c->in, (uint64_t)n);
    wire_i64s(&c->in, x, n);
}

static inline void put_scalar(Call *c, DType dt, double v)
{
    _Alignas(16) char x[16] = { 0 };
    cast_run(dt, x, 1, DT_F64, &v, 1, 1);
    grid_write_scalar(&c->in, dt, x);
}

/* A number of its own for a host tensor. */
static inline uint64_t put(const Tensor *t)
{
    Call c;
    begin(&c);
    c.piece = t;
    wire_u64(&c.in, ++newest);
    wire_u64(&c.in, t->dtype);
    put_ints(&c, tensor_shape(t), t->rank);
    run(&c, GRID_PUT);
    CHECK(!c.raised);
    end(&c);
    return newest;
}

/* The whole of a number, on every rank. */
static inline Tensor *fetch(uint64_t id)
{
    const GridTensor *t = grid_find(g, id);
    Tensor *whole = tensor_zeros(ctx, t->dtype, t->axes, t->shape);
    for (int r = 0; r < g->ranks; r++) {
        size_t n = grid_slab_bytes(&g->grid, r, t->dtype, t->axes, t->shape);
        char *slab = mem_alloc(ctx, n + 1);
        Call c;
        begin(&c);
        wire_u64(&c.in, id);
        run(&c, GRID_GET);
        if (r == g->rank && CHECK(c.asked.give_bytes == n))
            memcpy(slab, c.asked.give, n);
        grid_share(g, SCOPE_ALL, r, slab, n);
        size_t half = n / 2 / dtype_info(t->dtype)->bytes * dtype_info(t->dtype)->bytes;
        grid_slab_take(&g->grid, r, whole, 0, slab, half);
        grid_slab_take(&g->grid, r, whole, half, slab + half, n - half);
        mem_free(ctx, slab, n + 1);
        end(&c);
    }
    return whole;
}

static inline void drop(uint64_t id)
{
    Call c;
    begin(&c);
    put_ints(&c, (int64_t[]){ (int64_t)id }, 1);
    run(&c, GRID_FREE);
    end(&c);
}

/* ---- host tensors ---- */
static inline double at(const Tensor *t, int64_t i)
{
    return element_f64((DType)t->dtype, t->data + (size_t)i * dtype_info((DType)t->dtype)->bytes);
}

static inline double _Complex at_z(const Tensor *t, int64_t i)
{
    return element_c128((DType)t->dtype, t->data + (size_t)i * dtype_info((DType)t->dtype)->bytes);
}

static inline Tensor *filled(DType dt, int rank, const int64_t *shape)
{
    Tensor *t = tensor_zeros(ctx, dt, rank, shape);
    for (int64_t i = 0; i < t->size; i++) {
        double x[2] = { check_uniform(), check_uniform() };
        char kind = dtype_info(dt)->kind;
        if (kind == 'b')
            x[0] = x[0] > 0;
        else if (kind == 'i')
            x[0] = (double)(int)((x[0] + (dt == DT_U8)) * 9);
        cast_run(dt, t->data + (size_t)i * dtype_info(dt)->bytes, 1,
                 kind == 'c' ? DT_C128 : DT_F64, x, 1, 1);
    }
    return t;
}

static inline bool same_bits(const Tensor *a, const Tensor *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(tensor_shape(a), tensor_shape(b), (size_t)a->rank * 8) == 0 &&
           memcmp(a->data, b->data, (size_t)a->size * dtype_info((DType)a->dtype)->bytes) == 0;
}

static double eps_of(DType dt) { return dtype_real(dt) == DT_F32 ? 0x1p-23 : 0x1p-52; }

/* To `bound` roundings of 1. */
static inline bool near(double _Complex x, double _Complex y, DType dt, double bound)
{
    return cabs(x - y) <= bound * eps_of(dt) * (1 + cabs(y));
}

static const DType dtypes[] __attribute__((unused)) = {
    DT_BOOL, DT_I8, DT_U8, DT_I32, DT_I64, DT_F32, DT_F64, DT_C64, DT_C128,
};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };
static const DType blas[] = { DT_F32, DT_F64, DT_C64, DT_C128 };

/* A command of ids and numbers alone. */
static inline void say(Call *c, GridOp op, int n, const uint64_t *words)
{
    begin(c);
    for (int i = 0; i < n; i++)
        wire_u64(&c->in, words[i]);
    run(c, op);
}

/* ---- grids ---- */
/* Ranks that take turns on few processors with other tests take minutes for all of it: without
 * `all` as argument there are one process and four, and these see a sample. */
static const struct { int p, q, nb; bool brief; } grids[] = {
    { 1, 1, 4, true }, { 1, 2, 3, false }, { 2, 2, 4, true }, { 3, 2, 2, false }, { 4, 4, 3, false },
};

static int rank_main(char **arg, void (*all)(void))
{
    GridShape shape = { atoi(arg[0]), atoi(arg[1]), atoi(arg[2]) };
    bool brief = atoi(arg[3]);
    static Ctx own;
    ctx = &own;
    mem_init(ctx);
    g = grid_open(ctx, shape);
    few = g->ranks > 8 || (brief && g->ranks > 1) ? 3 : g->ranks > 4;
    size_t before = ctx->mem.live;
    all();
    size_t table = (size_t)g->cap * sizeof *g->tensors;
    err_free(ctx->error);
    ctx->error = NULL;
    CHECK(ctx->mem.live == before + table);
    CHECK(g->count == 0);
    int counts[2] = { check_passed, check_failed };
    grid_sum_ints(g, SCOPE_ALL, 2, counts);
    if (g->rank == 0)
        printf("counts %d %d\n", counts[0], counts[1]);
    fflush(stdout);
    grid_close(g);
    return 0;
}

#define AS_ROOT "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "

/* Open MPI does not without /sys, for one. */
static bool starts_processes(void)
{
    return system(AS_ROOT "mpirun -n 1 true >/dev/null 2>&1 </dev/null") == 0;
}

static void run_grid(const char *self, int k, bool brief)
{
    char command[1024], line[256];
    int passed = 0, failed = 0, status;
    bool counted = false;
    snprintf(command, sizeof command,
             AS_ROOT "OPENBLAS_NUM_THREADS=1 "
             "OMPI_MCA_mpi_yield_when_idle=1 RICCI_THREADS=1 "
             /* an MPI leaks; the account of memory says whether a rank's commands do */
             "ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" timeout -k 5 %d mpirun "
             "--oversubscribe --bind-to none -n %d '%s' rank %d %d %d %d 2>&1 </dev/null",
             brief ? 100 : 280, grids[k].p * grids[k].q, self, grids[k].p, grids[k].q, grids[k].nb,
             brief);
    FILE *f = popen(command, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "counts %d %d", &passed, &failed) == 2)
            counted = true;
        else
            fputs(line, stdout);
    status = f ? pclose(f) : -1;
    check_passed += passed;
    check_failed += failed + !(counted && status == 0);
    if (!counted || status)
        printf("FAIL %d by %d: exit %d\n", grids[k].p, grids[k].q, status);
}

static inline int grid_main(int count, char **arg, void (*all)(void))
{
    bool brief = count < 2 || strcmp(arg[1], "all");
    if (count == 6 && strcmp(arg[1], "rank") == 0)
        return rank_main(arg + 2, all);
    if (!grid_library(NULL) || !starts_processes())
        printf("not run: grids of processes: there is no ScaLAPACK, or no mpirun that starts one\n");
    else
        for (int k = 0; k < (int)(sizeof grids / sizeof grids[0]); k++)
            if (grids[k].brief || !brief)
                run_grid(arg[0], k, brief);
    return check_result();
}

#endif
