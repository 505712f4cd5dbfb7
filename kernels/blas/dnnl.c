/* oneDNN behind dnnl.h: one table of entry points, one engine and the primitives of the last
 * shapes, for the process, as the library's own threads and compiled kernels are the process's.
 * The lock is held while a product runs. Built without the library's header (version 2), nothing
 * is found here. */
#include "kernels/blas/dnnl.h"
#include "core/system/held_signals.h"
#include "core/system/library.h"

#include "core/memory/pool.h"

#if defined(__has_include)
#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#endif
#endif

#if defined(DNNL_VERSION_MAJOR) && DNNL_VERSION_MAJOR == 2
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Multiply-adds of one call, between two looks at the interrupt flag: some 50 ms on a core. */
static const double STRIP_WORK = 1e10;
enum { SHAPES = 32, STRIP_ROWS = 64 };

typedef struct Shape {
    int64_t m, n, k, step[6];
    DType operands;
} Shape;

typedef struct Compiled {
    Shape shape;
    uint64_t used;
    dnnl_primitive_t primitive;             /* NULL: an empty place */
    dnnl_memory_t memory[3];                /* A, B, C */
} Compiled;

typedef struct Library {
#define ROUTINE(name) __typeof__(&name) name;
#include "kernels/blas/dnnl.def"
#undef ROUTINE
    void (*threads)(int);                   /* of OpenMP; NULL: it has threads of another kind */
    int most;                               /* threads that it began with */
    bool ready;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    uint64_t clock;
    Compiled compiled[SHAPES];
} Library;

static Library library;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

static void library_load(void)
{
    Library *l = &library;
#define ROUTINE(name) { #name, &l->name },
    const LibraryEntry entries[] = {
#include "kernels/blas/dnnl.def"
    };
#undef ROUTINE
    const char *lacks;
    void *handle = library_open("libdnnl.so.2", entries, sizeof entries / sizeof *entries, &lacks);
    if (!handle)
        return;
    int (*most)(void) = NULL;
    library_symbol(handle, "omp_set_num_threads", &l->threads);
    library_symbol(handle, "omp_get_max_threads", &most);
    l->most = most ? most() : 1;
    dnnl_stream_flags_t plain = dnnl_stream_default_flags;
    l->ready = l->dnnl_engine_create(&l->engine, dnnl_cpu, 0) == dnnl_success &&
               l->dnnl_stream_create(&l->stream, l->engine, plain) == dnnl_success;
}

static void forget(Library *l, Compiled *x)
{
    for (int i = 0; i < 3; i++)
        if (x->memory[i])
            l->dnnl_memory_destroy(x->memory[i]);
    if (x->primitive)
        l->dnnl_primitive_destroy(x->primitive);
    *x = (Compiled){ .used = 0 };
}

/* Steps along axes of length 1 are arbitrary here, and not there. */
static bool describe(Library *l, dnnl_memory_desc_t *d, DType dt, int64_t rows, int64_t cols,
                     const int64_t *step)
{
    int64_t row = rows > 1 ? step[0] : step[1] == 1 ? cols : 1;
    int64_t col = cols > 1 ? step[1] : step[0] == 1 ? rows : 1;
    dnnl_data_type_t type = dt == DT_BF16 ? dnnl_bf16 : dnnl_f32;
    return l->dnnl_memory_desc_init_by_strides(d, 2, (dnnl_dims_t){ rows, cols }, type,
                                               (dnnl_dims_t){ row, col }) == dnnl_success;
}

/* Some 100 microseconds, and 7 ms for the first of all. */
static bool compile(Library *l, Compiled *x)
{
    const Shape *s = &x->shape;
    dnnl_memory_desc_t d[3];
    dnnl_matmul_desc_t product;
    dnnl_primitive_desc_t made = NULL;
    bool ok = describe(l, &d[0], s->operands, s->m, s->k, s->step) &&
              describe(l, &d[1], s->operands, s->k, s->n, s->step + 2) &&
              describe(l, &d[2], DT_F32, s->m, s->n, s->step + 4) &&
              !l->dnnl_matmul_desc_init(&product, &d[0], &d[1], NULL, &d[2]) &&
              !l->dnnl_primitive_desc_create(&made, &product, NULL, l->engine, NULL) &&
              !l->dnnl_primitive_create(&x->primitive, made);
    if (made)
        l->dnnl_primitive_desc_destroy(made);
    for (int i = 0; ok && i < 3; i++)
        ok = !l->dnnl_memory_create(&x->memory[i], &d[i], l->engine, DNNL_MEMORY_NONE);
    if (!ok)
        forget(l, x);
    return ok;
}

static Compiled *compiled(Library *l, const DnnlProduct *p, int64_t rows)
{
    Shape s;
    memset(&s, 0, sizeof s);
    s.m = rows, s.n = p->n, s.k = p->k, s.operands = p->operands;
    const int64_t step[6] = { p->a.rs, p->a.cs, p->b.rs, p->b.cs, p->c.rs, p->c.cs };
    memcpy(s.step, step, sizeof step);
    Compiled *oldest = &l->compiled[0];
    for (int i = 0; i < SHAPES; i++) {
        Compiled *x = &l->compiled[i];
        if (x->primitive && memcmp(&x->shape, &s, sizeof s) == 0) {
            x->used = ++l->clock;
            return x;
        }
        oldest = x->used < oldest->used ? x : oldest;
    }
    forget(l, oldest);
    oldest->shape = s;
    oldest->used = ++l->clock;
    return compile(l, oldest) ? oldest : NULL;
}

static int64_t strip_rows(const DnnlProduct *p)
{
    double rows = fmin(STRIP_WORK / ((double)p->n * (double)p->k), (double)p->m);
    int64_t strip = rows < STRIP_ROWS ? STRIP_ROWS : (int64_t)rows / STRIP_ROWS * STRIP_ROWS;
    return strip < p->m ? strip : p->m;
}

/* A primitive is made for as many threads as run it. Those of OpenMP wait for each other by
 * spinning: where others have the cores, a product of microseconds would take milliseconds. */
static void set_threads(const Library *l, const DnnlProduct *p, int threads)
{
    static const double ALONE = 1 << 21;
    if (l->threads)
        l->threads((double)p->m * (double)p->n * (double)p->k <= ALONE ? 1 : threads);
}

bool dnnl_can(const DnnlProduct *p)
{
    pthread_once(&library_once, library_load);
    if (!library.ready || p->c.cs != 1)
        return false;
    pthread_mutex_lock(&library_lock);
    set_threads(&library, p, library.most);
    bool can = compiled(&library, p, strip_rows(p)) != NULL;
    pthread_mutex_unlock(&library_lock);
    return can;
}

static bool run_strip(Library *l, const DnnlProduct *p, int64_t first, int64_t rows)
{
    Compiled *x = compiled(l, p, rows);
    int64_t bytes = dtype_info(p->operands)->bytes;
    void *data[3] = { p->a.data + first * p->a.rs * bytes, p->b.data,
                      p->c.data + first * p->c.rs * (int64_t)sizeof(float) };
    if (!x)
        return false;
    for (int i = 0; i < 3; i++)
        if (l->dnnl_memory_set_data_handle(x->memory[i], data[i]) != dnnl_success)
            return false;
    const dnnl_exec_arg_t args[3] = { { DNNL_ARG_SRC, x->memory[0] },
                                      { DNNL_ARG_WEIGHTS, x->memory[1] },
                                      { DNNL_ARG_DST, x->memory[2] } };
    sigset_t before;
    signals_hold(&before);                  /* OpenMP starts its threads when they are wanted */
    bool ok = l->dnnl_primitive_execute(x->primitive, l->stream, 3, args) == dnnl_success &&
              l->dnnl_stream_wait(l->stream) == dnnl_success;
    signals_let(&before);
    return ok;
}

bool dnnl_product(Ctx *ctx, const DnnlProduct *p)
{
    Library *l = &library;
    int64_t strip = strip_rows(p);
    bool ok = true;
    pthread_mutex_lock(&library_lock);
    set_threads(l, p, pool_threads(ctx));
    for (int64_t i = 0; ok && i < p->m && !*ctx->interrupt; i += strip)
        ok = run_strip(l, p, i, p->m - i < strip ? p->m - i : strip);
    pthread_mutex_unlock(&library_lock);
    return ok;
}

#else

bool dnnl_can(const DnnlProduct *p)
{
    (void)p;
    return false;
}

bool dnnl_product(Ctx *ctx, const DnnlProduct *p)
{
    (void)ctx, (void)p;
    return false;
}

#endif
