/* Generated kernels: the door (gpu.h), the kernels of a device, their arguments and launches. How
 * a nest becomes kernels is gpu_plan.c's, their text gpu_source.c's. */
#include "kernels/gpu/gpu_source.h"

#include "core/base/error.h"

#include <stdio.h>
#include <string.h>

enum { BUCKETS = 256 };

struct GpuKernel {
    GpuKernel *next;
    uint64_t hash;
    char *key;
    size_t bytes;
    DevKernel *built;
    int params;
    GpuParam *param;
};

struct GpuCache {
    GpuKernel *bucket[BUCKETS];
    DevMem flag;                /* where kernels tell of trouble */
    bool raised;                /* the flag may not be 0 */
};

/* ---- what a device takes ---- */
static bool takes_dtype(const Device *d, DType dt, Lack *why)
{
    if (dtype_info(dt)->kind == 'c')
        *why = (Lack){ LACK_COMPLEX_NODE };
    else if (dtype_foreign(dt) || dt == DT_RATIONAL)
        *why = (Lack){ LACK_CELLS };
    else if (!device_holds(d, dt))
        *why = (Lack){ dt == DT_F64 ? LACK_DTYPE : LACK_THIS_DTYPE, .dtype = dt };
    else
        return true;
    return false;
}

static bool takes_cast(DType to, DType from, Lack *why)
{
    bool whole = dtype_info(to)->kind == 'i';
    if (!whole || to == from || (dtype_info(from)->kind != 'f' && dtype_promote(to, from) == to))
        return true;
    *why = (Lack){ LACK_CAST_NODE };
    return false;
}

/* Parameters of a kernel have 1024 bytes on every device of OpenCL. */
static bool takes_size(const Nest *n, const bool *used, Lack *why)
{
    int64_t bytes = 64 + 24 * n->out_rank;
    for (int i = 0; i < n->nodes; i++) {
        const NestNode *node = &n->node[i];
        if (!used[i])
            continue;
        bytes += node->kind == NEST_CONST || node->kind == NEST_REDUCE ? 8
               : node->kind == NEST_INDEX || node->kind == NEST_LOAD ? 16 : 0;
        for (int k = 0; node->kind == NEST_LOAD && k < n->indices; k++) {
            const NestLoad *load = &n->load[node->slot];
            bytes += load->stride[k] && load->stride[k] != 1 && n->index[k].extent != 1 ? 8 : 0;
            for (int g = 0; g < load->gathers; g++)
                bytes += (load->gather[g].stride[k] ? 8 : 0) + (k == 0 ? 24 : 0);
        }
        bytes += node->kind == NEST_REDUCE ? 8 * __builtin_popcountll(node->bound) : 0;
    }
    *why = (Lack){ LACK_OPERANDS };
    return bytes <= 1000;
}

/* A kernel cannot be stopped, and its grid is counted in 64 bits. */
static bool ends(const Nest *n)
{
    double points = 1;
    for (int i = 0; i < n->indices; i++)
        points *= n->index[i].extent > 1 ? (double)n->index[i].extent : 1;
    return points <= (double)TENSOR_READ_MAX;
}

bool gpu_takes(const Device *d, const Nest *n, Lack *why)
{
    bool used[GPU_NODES];
    if (d->ops->takes)
        return d->ops->takes(d, n, why);
    if (!(d->caps & DEVCAP_SOURCE)) {
        *why = (Lack){ LACK_SOURCE };
        return false;
    }
    if (n->nodes > GPU_NODES || n->loads > 60) {
        *why = (Lack){ LACK_LENGTH };
        return false;
    }
    if (!ends(n)) {
        *why = (Lack){ LACK_POINTS };
        return false;
    }
    gpu_nest_used(n, n->root, used);
    for (int i = 0; i < n->nodes; i++) {
        const NestNode *node = &n->node[i];
        if (!used[i])
            continue;
        bool computes = node->kind == NEST_EW || node->kind == NEST_REDUCE;
        if (!takes_dtype(d, (DType)node->dtype, why) ||
            (computes && !takes_dtype(d, (DType)node->compute, why)) ||
            (node->kind == NEST_CAST &&
             !takes_cast((DType)node->dtype, (DType)n->node[node->arg[0]].dtype, why)))
            return false;
    }
    return takes_size(n, used, why);
}

/* ---- kernels ---- */
static struct GpuCache *cache_of(Ctx *ctx, Device *d)
{
    if (!d->kernels)
        d->kernels = mem_zalloc(ctx, sizeof *d->kernels);
    return d->kernels;
}

/* FNV-1a over eight bytes at a time. */
static uint64_t hash_key(const char *text, size_t bytes)
{
    uint64_t h = 0xcbf29ce484222325u, word;
    for (; bytes >= 8; bytes -= 8, text += 8) {
        memcpy(&word, text, 8);
        h = (h ^ word) * 0x100000001b3u;
        h ^= h >> 29;
    }
    for (; bytes; bytes--)
        h = (h ^ (unsigned char)*text++) * 0x100000001b3u;
    return h ^ h >> 32;
}

static void free_kernel(Ctx *ctx, GpuKernel *k)
{
    if (k->param)
        mem_free(ctx, k->param, (size_t)k->params * sizeof *k->param);
    if (k->key)
        mem_free(ctx, k->key, k->bytes);
    mem_free(ctx, k, sizeof *k);
}

const GpuKernel *gpu_find(Device *d, const void *key, size_t bytes)
{
    uint64_t hash = hash_key(key, bytes);
    for (GpuKernel *k = d->kernels ? d->kernels->bucket[hash % BUCKETS] : NULL; k; k = k->next)
        if (k->hash == hash && k->bytes == bytes && memcmp(k->key, key, bytes) == 0)
            return k;
    return NULL;
}

const GpuKernel *gpu_build(Ctx *ctx, Device *d, const void *key, size_t bytes, const char *text,
                           const char *entry, const GpuParam *param, int params)
{
    struct GpuCache *cache = cache_of(ctx, d);
    uint64_t hash = hash_key(key, bytes);
    device_open(ctx, d);
    DevKernel *built = NULL;
    device_check(ctx, d, d->ops->build(d, text, entry, &built), "building a kernel");
    GpuKernel *volatile k = NULL;
    ErrFrame frame;
    if (ERR_TRY(ctx, &frame)) {
        k = mem_zalloc(ctx, sizeof *k);
        k->key = mem_alloc(ctx, bytes);
        k->bytes = bytes;
        k->param = params ? mem_alloc(ctx, (size_t)params * sizeof *param) : NULL;
        ERR_END(ctx, &frame);
    } else {
        if (k)
            free_kernel(ctx, k);
        d->ops->drop(d, built);
        err_rethrow(ctx);
    }
    memcpy(k->key, key, bytes);
    if (params)
        memcpy(k->param, param, (size_t)params * sizeof *param);
    k->params = params;
    k->hash = hash;
    k->built = built;
    k->next = cache->bucket[hash % BUCKETS];
    return cache->bucket[hash % BUCKETS] = k;
}

const GpuParam *gpu_params(const GpuKernel *k, int *count)
{
    *count = k->params;
    return k->param;
}

void gpu_forget(Ctx *ctx, Device *d)
{
    struct GpuCache *cache = d->kernels;
    if (!cache)
        return;
    for (int i = 0; i < BUCKETS; i++)
        for (GpuKernel *k = cache->bucket[i], *next; k; k = next) {
            next = k->next;
            if (d->opened && d->ops->drop)
                d->ops->drop(d, k->built);
            free_kernel(ctx, k);
        }
    if (d->opened && cache->flag.handle)
        d->ops->release(d, &cache->flag);
    mem_free(ctx, cache, sizeof *cache);
    d->kernels = NULL;
}

/* ---- launches ---- */
void gpu_poll(Ctx *ctx, Device *d)
{
    if (ctx->interrupt && *ctx->interrupt) {
        err_interrupted(ctx);
    }
    if (d->fail_launch && --d->fail_launch == 0) {
        snprintf(d->fault, sizeof d->fault, "the launch was made to fail");
        device_check(ctx, d, DEV_FAILED, "running a kernel");
    }
}

void gpu_launch(Ctx *ctx, Device *d, const GpuKernel *k, const DevGrid *grid, const DevArg *arg,
                int n)
{
    gpu_poll(ctx, d);
    device_check(ctx, d, d->ops->launch(d, k->built, grid, arg, n), "running a kernel");
    d->counts.launches++;
}

/* ---- the word in which kernels tell of trouble ---- */
const DevMem *gpu_flag(Ctx *ctx, Device *d)
{
    struct GpuCache *cache = cache_of(ctx, d);
    static const int32_t none[2];
    bool fresh = !cache->flag.handle;
    device_open(ctx, d);
    if (fresh)
        device_check(ctx, d, d->ops->alloc(d, sizeof none, &cache->flag), "allocating");
    if (fresh || cache->raised)
        device_check(ctx, d, d->ops->put(d, &cache->flag, 0, none, sizeof none), "a copy to it");
    cache->raised = true;
    return &cache->flag;
}

EwTrouble gpu_trouble(Ctx *ctx, Device *d)
{
    int32_t kind = 0;
    struct GpuCache *cache = d->kernels;
    device_check(ctx, d, d->ops->get(d, &cache->flag, 0, &kind, sizeof kind), "a copy from it");
    cache->raised = kind != 0;
    return (EwTrouble)kind;
}

/* ---- a copy ---- */
/* Complex numbers are moved as integers of their width, or as two, where kernels have none. */
static DType moved_as(const Device *d, DType from, DType to, int *units)
{
    bool pairs = from == to && dtype_info(from)->kind == 'c' && !(d->caps & DEVCAP_GRID);
    *units = pairs ? dtype_info(from)->bytes / 8 : 1;
    return pairs ? DT_I64 : from;
}

static void copy_nest(Ctx *ctx, const Device *d, Nest *n, const Tensor *from, DType to,
                      const int64_t *out_stride, int64_t *stride)
{
    int units, rank = from->rank;
    DType dt = moved_as(d, (DType)from->dtype, to, &units);
    for (int i = 0; i < rank; i++)
        nest_index(n, "i", tensor_shape(from)[i], 0, 1);
    if (units > 1)
        nest_index(n, "part", units, 0, 1);
    n->out_rank = n->indices;
    NestLoad *load = nest_load_new(ctx, n, nest_slot(n), dt, "x");
    for (int i = 0; i < rank; i++) {
        load->stride[i] = tensor_strides(from)[i] * units;
        stride[i] = out_stride ? out_stride[i] * units : 0;
    }
    if (units > 1)
        load->stride[rank] = stride[rank] = 1;
    n->root = nest_cast(ctx, n, nest_load(ctx, n), dt == (DType)from->dtype ? to : dt);
}

void gpu_copy(Ctx *ctx, Device *d, Tensor *from, const DevArg *out, DType to,
              const int64_t *out_stride)
{
    Nest *n = nest_new(ctx);
    ErrFrame frame;
    if (ERR_TRY(ctx, &frame)) {
        int64_t stride[TENSOR_RANK_MAX + 1];
        DevArg data = { 0 };
        data.mem = device_ensure(ctx, d, from, &data.at);
        copy_nest(ctx, d, n, from, to, out_stride, stride);
        gpu_nest(ctx, d, n, out_stride ? stride : NULL, out, &data);
        ERR_END(ctx, &frame);
    } else {
        nest_free(ctx, n);
        err_rethrow(ctx);
    }
    nest_free(ctx, n);
}

void gpu_pack(Ctx *ctx, Device *d, Tensor *to, Tensor *t)
{
    size_t at;
    DevArg out = { .mem = device_ensure(ctx, d, to, &at) };
    gpu_copy(ctx, d, t, &out, (DType)t->dtype, NULL);
}
