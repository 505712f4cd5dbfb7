/* FFTW behind fft.h: the table of its entry points, a cache of its plans, and transforms
 * of all lanes of a tensor. dlopen gives a process one copy of a library, and FFTW's planner
 * is one per copy and not thread-safe, so table, cache and the lock around the planner
 * belong to the process; running a plan on new arrays is thread-safe. Plans are made with
 * FFTW_ESTIMATE: a measured plan may differ from run to run, and with it the last bits. */
#include "kernels/signals/fft.h"
#include "core/system/library.h"
#include "core/memory/pool.h"
#include "kernels/tensor/iter.h"
#include "kernels/tensor/permute.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct FftPlan FftPlan;
typedef struct FftDim { ptrdiff_t n, is, os; } FftDim;       /* fftw_iodim64 */

enum {                                                       /* from fftw3.h */
    FFTW_UNALIGNED = 1 << 1, FFTW_PRESERVE_INPUT = 1 << 4, FFTW_ESTIMATE = 1 << 6
};
enum { ALIGNMENT = 16 };                                     /* that FFTW's vectors ask for */
/* What it may allocate beside its buffers: it ends the process where it gets none. */
#define ROOM ((size_t)16 << 20)

/* ---- the library, in two precisions ---- */
typedef struct Library {
#define ROUTINE(id, result, name, proto) result (*id) proto;
#include "kernels/signals/fft.def"
#undef ROUTINE
    const char *why;             /* NULL: ready */
    char text[192];
} Library;

static Library libraries[2];     /* f64, f32 */
static pthread_once_t libraries_once[2] = { PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT };

static bool is_single(DType dt) { return dt == DT_F32 || dt == DT_C64; }

const char *fft_package(DType dt)
{
    return is_single(dt) ? "libfftw3-single3" : "libfftw3-double3";
}

enum { ROUTINES = 0
#define ROUTINE(id, result, name, proto) + 1
#include "kernels/signals/fft.def"
#undef ROUTINE
};

static void library_load(Library *lib, const char *file, const char *prefix, const char *package)
{
#define ROUTINE(id, result, name, proto) { name, &lib->id },
    LibraryEntry entries[] = {
#include "kernels/signals/fft.def"
    };
#undef ROUTINE
    char symbols[ROUTINES][64];
    const char *lacks;
    for (int i = 0; i < ROUTINES; i++) {
        snprintf(symbols[i], sizeof symbols[i], "%s%s", prefix, entries[i].symbol);
        entries[i].symbol = symbols[i];
    }
    if (library_open(file, entries, ROUTINES, &lacks))
        return;
    lib->why = lib->text;
    if (lacks)
        snprintf(lib->text, sizeof lib->text, "%s has no function %s; install the package %s", file,
                 lacks, package);
    else
        snprintf(lib->text, sizeof lib->text,
                 "the Fourier transform library FFTW was not found (%s); on Debian "
                 "and Ubuntu it is in the package %s", file, package);
}

static void load_double(void)
{
    library_load(&libraries[0], "libfftw3.so.3", "fftw_", "libfftw3-double3");
}

static void load_single(void)
{
    library_load(&libraries[1], "libfftw3f.so.3", "fftwf_", "libfftw3-single3");
}

static const Library *library_of(DType dt)
{
    bool single = is_single(dt);
    pthread_once(&libraries_once[single], single ? load_single : load_double);
    return &libraries[single];
}

const char *fft_missing(DType dt) { return library_of(dt)->why; }

/* ---- plans ---- */

/* What a plan depends on. Compared as bytes: made from zeroed memory. */
typedef struct Key {
    int64_t n, is, os;               /* length and strides along the axis */
    int64_t lanes, id, od;           /* lanes of one execution and their distances */
    int32_t kind;
    uint8_t single, aligned, in_place, _pad;
} Key;

typedef struct Slot {
    Key key;
    FftPlan *plan;                   /* NULL: free */
    int users;
    uint64_t used;                   /* when, for choosing whom to drop */
} Slot;

/* Twiddle factors take about 16 bytes a point: the cache holds 64 MiB of them at most. */
enum { SLOTS = 64, CACHE_POINTS = 1 << 22 };

static struct Cache {
    pthread_mutex_t lock;            /* of the cache and of FFTW's planner */
    Slot slots[SLOTS];
    int64_t points;
    uint64_t clock;
} cache = { .lock = PTHREAD_MUTEX_INITIALIZER };

static FftPlan *make_plan(const Library *lib, const Key *k, void *in, void *out)
{
    FftDim dim = { k->n, k->is, k->os }, lanes = { k->lanes, k->id, k->od };
    unsigned flags = FFTW_ESTIMATE | FFTW_PRESERVE_INPUT | (k->aligned ? 0 : FFTW_UNALIGNED);
    int rank = k->lanes > 1 ? 1 : 0;
    switch (k->kind) {
    case FFT_FORWARD: return lib->plan_complex(1, &dim, rank, &lanes, in, out, -1, flags);
    case FFT_BACKWARD: return lib->plan_complex(1, &dim, rank, &lanes, in, out, 1, flags);
    case FFT_TO_REAL: return lib->plan_to_real(1, &dim, rank, &lanes, in, out, flags);
    default: return lib->plan_from_real(1, &dim, rank, &lanes, in, out, flags);
    }
}

static void drop_slot(Slot *s)
{
    libraries[s->key.single].destroy(s->plan);
    cache.points -= s->key.n;
    s->plan = NULL;
}

static Slot *oldest_slot(void)
{
    Slot *oldest = NULL;
    for (int i = 0; i < SLOTS; i++) {
        Slot *s = &cache.slots[i];
        if (s->plan && s->users == 0 && (!oldest || s->used < oldest->used))
            oldest = s;
    }
    return oldest;
}

static Slot *free_slot(void)
{
    for (int i = 0; i < SLOTS; i++)
        if (!cache.slots[i].plan)
            return &cache.slots[i];
    Slot *s = oldest_slot();
    if (s)
        drop_slot(s);
    return s;
}

static Slot *find_slot(const Key *k)
{
    for (int i = 0; i < SLOTS; i++)
        if (cache.slots[i].plan && memcmp(&cache.slots[i].key, k, sizeof *k) == 0)
            return &cache.slots[i];
    return NULL;
}

/* The plan's slot in the cache, or `own` filled with one that the cache has no room for.
 * Its plan is NULL if FFTW has none. */
static Slot *plan_take(const Library *lib, const Key *k, void *in, void *out, Slot *own)
{
    pthread_mutex_lock(&cache.lock);
    Slot *s = find_slot(k);
    if (!s) {
        *own = (Slot){ .key = *k, .plan = make_plan(lib, k, in, out) };
        while (cache.points + k->n > CACHE_POINTS && oldest_slot())
            drop_slot(oldest_slot());
        bool room = own->plan && cache.points + k->n <= CACHE_POINTS;
        s = room ? free_slot() : NULL;
        if (s) {
            *s = *own;
            cache.points += k->n;
        }
    }
    s = s ? s : own;
    s->users++;
    s->used = ++cache.clock;
    pthread_mutex_unlock(&cache.lock);
    return s;
}

static void plan_give(const Library *lib, Slot *s, const Slot *own)
{
    pthread_mutex_lock(&cache.lock);
    s->users--;
    if (s == own && s->plan)
        lib->destroy(s->plan);
    pthread_mutex_unlock(&cache.lock);
}

/* ---- all lanes ---- */

typedef struct Job {
    const Library *lib;
    Key key;                     /* of a full chunk */
    FftKind kind;
    FftPlan *whole, *rest;       /* of key.lanes lanes, and of those left over */
    Iter lanes;                  /* operand 0: out, operand 1: x */
    int64_t chunks;              /* per innermost axis of `lanes` */
    char *in, *out;
    size_t in_bytes, out_bytes;  /* of an element */
    int64_t out_n;               /* elements written per lane */
    double scale;
    InterruptFlag *interrupt;
    /* Columns of a matrix: copied into lanes of their own, transformed there, copied back. */
    bool gathered;
    int64_t in_n, from_step, to_step;      /* elements read; distances of points in x and out */
    char *scratch;               /* per worker: lanes of x, then lanes of out */
    size_t scratch_in, scratch_bytes;
} Job;

#define REAL double
#define NAME(f) f##_f64
#include "kernels/signals/fft_lane.tmpl.h"
#define REAL float
#define NAME(f) f##_f32
#include "kernels/signals/fft_lane.tmpl.h"

static void run_plan(const Job *job, const FftPlan *plan, void *in, void *out)
{
    switch (job->kind) {
    case FFT_FORWARD: case FFT_BACKWARD: job->lib->run_complex(plan, in, out); break;
    case FFT_TO_REAL: job->lib->run_to_real(plan, in, out); break;
    default: job->lib->run_from_real(plan, in, out);
    }
}

static void finish_lanes(const Job *job, void *out, int64_t lanes)
{
    bool backward = job->kind == FFT_REAL_BACKWARD, pairs = job->kind != FFT_TO_REAL;
    const Key *k = &job->key;
    if (job->kind == FFT_REAL || backward)
        (k->single ? mirror_f32 : mirror_f64)(out, k->n, k->os, lanes, k->od, backward);
    if (job->scale != 1)
        (k->single ? scale_f32 : scale_f64)(out, job->out_n, k->os, lanes, k->od, pairs,
                                            job->scale);
}

/* One execution on columns: neighbours in memory lie side by side in every row, so whole
 * cache lines move, and the strided passes of the transform itself stay in the cache. */
static void run_gathered(const Job *job, const FftPlan *plan, char *in, char *out, int64_t lanes,
                         int worker)
{
    char *from = job->scratch + (size_t)worker * job->scratch_bytes, *to = from + job->scratch_in;
    permute_block((int)job->in_bytes, from, job->key.id, in, job->from_step, job->in_n, lanes);
    run_plan(job, plan, from, to);
    finish_lanes(job, to, lanes);
    permute_block((int)job->out_bytes, out, job->to_step, to, job->key.od, lanes, job->out_n);
}

static void run_chunks(void *arg, int64_t begin, int64_t end, int worker)
{
    const Job *job = arg;
    int inner = job->lanes.rank - 1;
    int64_t row = inner < 0 ? 1 : job->lanes.shape[inner];
    int64_t in_step = inner < 0 ? 0 : job->lanes.stride[1][inner];
    int64_t out_step = inner < 0 ? 0 : job->lanes.stride[0][inner];
    for (int64_t unit = begin; unit < end && !*job->interrupt; unit++) {
        int64_t offset[ITER_OPERANDS] = { 0 }, first = unit % job->chunks * job->key.lanes;
        int64_t lanes = row - first < job->key.lanes ? row - first : job->key.lanes;
        if (inner > 0)
            iter_seek(&job->lanes, inner, unit / job->chunks, offset);
        char *out = job->out + (offset[0] + first * out_step) * (int64_t)job->out_bytes;
        char *in = job->in + (offset[1] + first * in_step) * (int64_t)job->in_bytes;
        const FftPlan *plan = lanes == job->key.lanes ? job->whole : job->rest;
        if (job->gathered) {
            run_gathered(job, plan, in, out, lanes, worker);
            continue;
        }
        run_plan(job, plan, in, out);
        finish_lanes(job, out, lanes);
    }
}

/* A tensor's head with one axis cut to length 1: what iterates over the lanes. */
typedef union LaneHead {
    Tensor t;
    char room[sizeof(Tensor) + 2 * TENSOR_RANK_MAX * sizeof(int64_t)];
} LaneHead;

static const Tensor *lane_head(LaneHead *h, const Tensor *t, int axis)
{
    memcpy(h, t, sizeof *t + 2 * (size_t)t->rank * sizeof(int64_t));
    tensor_shape(&h->t)[axis] = 1;
    return &h->t;
}

/* Lanes per execution. By shape alone, so that the plan, and with it every bit, does not
 * depend on the number of threads. Neighbouring lanes closer than the points of one share
 * cache lines: several go together. */
static int64_t lanes_per_chunk(const Key *k, int64_t lanes)
{
    int64_t m = (1 << 14) / k->n;
    if (m < 8 && k->lanes > 1 && (k->is > k->id || k->os > k->od) && k->is != 1 && k->os != 1)
        m = 8;
    return m < 1 ? 1 : m < lanes ? m : lanes;
}

static bool is_aligned(const Job *job)
{
    uintptr_t bits = (uintptr_t)job->in | (uintptr_t)job->out;
    for (int a = 0; a < job->lanes.rank; a++)
        bits |= (uintptr_t)(job->lanes.stride[0][a] * (int64_t)job->out_bytes) |
                (uintptr_t)(job->lanes.stride[1][a] * (int64_t)job->in_bytes);
    return bits % ALIGNMENT == 0;
}

enum { GATHER_MOST = 1 << 18 };          /* points of a column: bounds the scratch */

/* A lane in scratch: whole cache lines, and never a power of two of them apart. */
static int64_t scratch_lane(int64_t n, size_t bytes)
{
    int64_t line = 64 / (int64_t)bytes;
    return (n + line - 1) / line * line + line;
}

/* Plans for columns copied together; as many as the second cache holds. */
static void gather(Job *job, int64_t row)
{
    Key *k = &job->key;
    int64_t wide = (int64_t)(job->in_bytes > job->out_bytes ? job->in_bytes : job->out_bytes);
    int64_t line = 64 / wide, m = (1 << 18) / (k->n * wide) / line * line;
    m = m < line ? line : m > 4 * line ? 4 * line : m;
    k->lanes = m < row ? m : row;
    job->gathered = true;
    job->from_step = k->is;
    job->to_step = k->os;
    k->is = k->os = 1;
    k->id = scratch_lane(job->in_n, job->in_bytes);
    k->od = scratch_lane(job->out_n, job->out_bytes);
    k->aligned = 1;
    k->in_place = 0;
    job->scratch_in = (size_t)(k->id * k->lanes) * job->in_bytes;
    job->scratch_bytes = job->scratch_in + (size_t)(k->od * k->lanes) * job->out_bytes;
}

static int64_t job_init(Job *job, const Tensor *x, const Tensor *out, int axis)
{
    LaneHead head[2];
    const Tensor *pair[2] = { lane_head(&head[0], out, axis), lane_head(&head[1], x, axis) };
    iter_init(&job->lanes, 2, pair);
    int inner = job->lanes.rank - 1;
    int64_t row = inner < 0 ? 1 : job->lanes.shape[inner];
    Key *k = &job->key;
    k->is = tensor_strides(x)[axis];
    k->os = tensor_strides(out)[axis];
    k->id = inner < 0 ? 0 : job->lanes.stride[1][inner];
    k->od = inner < 0 ? 0 : job->lanes.stride[0][inner];
    k->lanes = row;
    k->lanes = lanes_per_chunk(k, row);
    k->aligned = is_aligned(job);
    job->in_n = job->kind == FFT_TO_REAL ? k->n / 2 + 1 : k->n;
    bool columns = k->id == 1 && k->od == 1 && k->is != 1 && k->os != 1;
    if (columns && row >= 4 && k->n >= 32 && k->n <= GATHER_MOST)
        gather(job, row);
    job->chunks = (row + k->lanes - 1) / k->lanes;
    return row;
}

bool fft_run(Ctx *ctx, FftKind kind, int64_t n, const Tensor *x, const Tensor *out, int axis,
             double scale)
{
    if (out->size == 0)
        return true;
    mem_room(ctx, ROOM + 4 * (size_t)n * dtype_info(out->dtype)->bytes);
    Job job = { .lib = library_of((DType)x->dtype), .kind = kind, .in = x->data, .out = out->data,
                .in_bytes = dtype_info(x->dtype)->bytes, .out_bytes = dtype_info(out->dtype)->bytes,
                .out_n = tensor_shape(out)[axis], .scale = scale, .interrupt = ctx->interrupt };
    memset(&job.key, 0, sizeof job.key);
    job.key.n = n;
    job.key.kind = (int32_t)kind;
    job.key.single = is_single((DType)x->dtype);
    job.key.in_place = x->data == out->data;
    int64_t row = job_init(&job, x, out, axis);
    size_t scratch = job.gathered ? (size_t)pool_threads(ctx) * job.scratch_bytes : 0;
    char *in = x->data, *to = out->data;
    if (job.gathered) {
        job.scratch = in = mem_alloc_data(ctx, scratch, false);
        to = in + job.scratch_in;
    }
    Slot own[2] = { 0 };
    Key rest = job.key;
    rest.lanes = row % job.key.lanes;
    Slot *whole = plan_take(job.lib, &job.key, in, to, &own[0]);
    Slot *left = rest.lanes ? plan_take(job.lib, &rest, in, to, &own[1]) : NULL;
    job.whole = whole->plan;
    job.rest = left ? left->plan : NULL;
    bool planned = job.whole && (!left || job.rest);
    int64_t units = out->size / job.out_n / row * job.chunks, each = n * job.key.lanes;
    if (planned && units * each < 1 << 15)
        run_chunks(&job, 0, units, 0);
    else if (planned)
        pool_for(ctx, units, (1 << 14) / each + 1, run_chunks, &job);
    plan_give(job.lib, whole, &own[0]);
    if (left)
        plan_give(job.lib, left, &own[1]);
    if (job.gathered)
        mem_free_data(ctx, job.scratch, scratch);
    return planned;
}

int64_t fft_good_length(int64_t n)
{
    for (int64_t m = n < 1 ? 1 : n;; m++) {
        int64_t rest = m;
        for (int p = 2; p <= 7; p += p == 2 ? 1 : 2)
            while (rest % p == 0)
                rest /= p;
        if (rest == 1)
            return m;
    }
}
