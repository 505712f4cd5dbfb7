/* Attention's blocks shared among threads (attention.h). A thread takes the next block of a list;
 * what a block gives does not depend on who takes it. */
#include "kernels/attention/attention_kernels.h"
#include "kernels/tensor/cpu.h"
#include "core/base/mem.h"
#include "core/memory/pool.h"

#include <stdio.h>

/* Backward, the bytes of turned operands of so many heads at once. */
enum { HEADS_BYTES = 24 << 20 };

typedef struct Job {
    Ctx *ctx;
    const Attention *a;
    const AttentionKernel *kernel;
    char *memory;                   /* `scratch` bytes for each thread */
    int64_t scratch;
    AttentionHead *heads;           /* backward: from `first` on */
    int64_t first;
    int64_t blocks, count;          /* of a head; of all */
    _Atomic int64_t next;
    void (*run)(struct Job *, int64_t head, int64_t block, char *scratch);
} Job;

static const AttentionKernel *kernel_of(DType dt)
{
#if defined(__x86_64__) || defined(__i386__)
    static const AttentionKernels *const sets[] = { &attention_base, &attention_avx2,
                                                    &attention_avx512 };
    const AttentionKernels *set = sets[cpu_isa()];
#else
    const AttentionKernels *set = &attention_base;
#endif
    return dt == DT_F64 ? &set->f64 : &set->f32;
}

AttentionDotRun *attention_dot(const Attention *a)
{
#if defined(__x86_64__) && !defined(RICCI_HOSTILE)
    if (a->dt == DT_BF16 && cpu_has_bf16())
        return attention_dot_bf16;
#else
    (void)a;
#endif
    return NULL;
}

static void take_blocks(void *arg, int64_t begin, int64_t end, int worker)
{
    Job *job = arg;
    (void)begin, (void)end;
    for (;;) {
        int64_t i = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
        if (i >= job->count || *job->ctx->interrupt)
            return;
        job->run(job, i / job->blocks, i % job->blocks, job->memory + worker * job->scratch);
    }
}

static void run_blocks(Job *job, int threads, int64_t heads, int64_t blocks,
                       void (*run)(Job *, int64_t, int64_t, char *))
{
    job->blocks = blocks;
    job->count = heads * blocks;
    job->run = run;
    atomic_store(&job->next, 0);
    if (job->count == 1)
        threads = 1;
    pool_for(job->ctx, threads, 1, take_blocks, job);
}

double attention_pairs(const Attention *a)
{
    double pairs = 0;
    for (int64_t i = 0, from, to; i < a->n; i++) {
        attention_seen(a, i, i + 1, &from, &to);
        pairs += (double)(to - from);
    }
    return pairs * (double)a->heads;
}

void attention_text(char *out, size_t cap, int queries, int keys, int64_t bytes)
{
    char text[32];
    snprintf(out, cap, "tiled, %d×%d blocks, %s", queries, keys,
             mem_bytes_text(text, (double)bytes));
}

/* ---- forward ---- */
/* The last queries first: with a causal mask they see the most. */
static void forward_block(Job *job, int64_t head, int64_t block, char *scratch)
{
    job->kernel->block(job->a, head, job->blocks - 1 - block, scratch);
}

int64_t attention_bytes(const Attention *a, int threads)
{
    return threads * kernel_of(a->dt)->scratch(a);
}

void attention_run(Ctx *ctx, const Attention *a, int threads, char *memory)
{
    const AttentionKernel *kernel = kernel_of(a->dt);
    Job job = { .ctx = ctx, .a = a, .kernel = kernel, .memory = memory,
                .scratch = kernel->scratch(a) };
    run_blocks(&job, threads, a->heads, attention_blocks(a->n, ATTENTION_QUERIES), forward_block);
}

/* ---- backward ---- */
static void begin_block(Job *job, int64_t head, int64_t block, char *scratch)
{
    job->kernel->back_begin(job->a, &job->heads[head], job->first + head, block, scratch);
}
static void keys_block(Job *job, int64_t head, int64_t block, char *scratch)
{
    job->kernel->back_keys(job->ctx, job->a, &job->heads[head], job->first + head, block, scratch);
}
static void end_block(Job *job, int64_t head, int64_t block, char *scratch)
{
    (void)scratch;
    job->kernel->back_end(job->a, &job->heads[head], job->first + head, block);
}

static int64_t heads_together(const Attention *a)
{
    int64_t bytes = kernel_of(a->dt)->head_bytes(a) + 1, many = HEADS_BYTES / bytes;
    return a->in_turn || many < 1 ? 1 : many < a->heads ? many : a->heads;
}

int64_t attention_back_bytes(const Attention *a, int threads)
{
    const AttentionKernel *kernel = kernel_of(a->dt);
    int64_t head = kernel->head_bytes(a) + (int64_t)sizeof(AttentionHead);
    return threads * kernel->back_scratch(a) + heads_together(a) * head;
}

void attention_back(Ctx *ctx, const Attention *a, int threads, char *memory)
{
    const AttentionKernel *kernel = kernel_of(a->dt);
    int64_t together = heads_together(a), bytes = kernel->head_bytes(a);
    int64_t queries = attention_blocks(a->n, ATTENTION_QUERIES);
    Job job = { .ctx = ctx, .a = a, .kernel = kernel, .memory = memory,
                .scratch = kernel->back_scratch(a) };
    char *parts = memory + threads * job.scratch;
    job.heads = (AttentionHead *)(parts + together * bytes);
    for (int64_t i = 0; i < together; i++)
        kernel->head_parts(a, &job.heads[i], parts + i * bytes);
    for (int64_t many; job.first < a->heads && !*ctx->interrupt; job.first += many) {
        many = a->heads - job.first < together ? a->heads - job.first : together;
        run_blocks(&job, threads, many, queries, begin_block);
        run_blocks(&job, threads, many, attention_blocks(a->m, ATTENTION_KEYS), keys_block);
        run_blocks(&job, threads, many, queries, end_block);
    }
}
