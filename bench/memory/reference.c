/* What memory gives: threads that read some streams and write at most one past the cache, in loops
 * that do next to nothing else: reference THREADS [LARGEST [REPEATS]]. Prints `reads writes bytes
 * seconds` per case, bytes of one stream, the least of so many passes. Shares no code with what it
 * is compared with. */
#define _GNU_SOURCE
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { STREAMS = 4, THREADS_MAX = 256, BLOCK = 1 << 16 };

typedef long long Vector __attribute__((vector_size(64)));
enum { LANES = 8 };

static char *stream[STREAMS];
static int threads, reads, writes;
static size_t bytes;
static _Atomic size_t next;
static _Atomic int job, left;
static volatile long long kept;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void put(char *to, Vector v)
{
    for (int i = 0; i < 4; i++)
        _mm_stream_si128((__m128i *)(to + 16 * i), ((__m128i *)&v)[i]);
}

/* n bytes from `at` on: read r streams (summed up), write one where w. */
static inline __attribute__((always_inline)) Vector pass(size_t at, size_t n, int r, int w)
{
    Vector lane[LANES] = { 0 }, sum = { 0 };
    for (size_t i = at; i < at + n; i += LANES * sizeof(Vector))
        for (int l = 0; l < LANES; l++) {
            size_t k = i + (size_t)l * sizeof(Vector);
            Vector v = { 1, 2, 3, 4, 5, 6, 7, 8 };          /* zeros are written faster */
            for (int s = 0; s < r; s++)
                v += *(Vector *)(stream[s] + k);
            if (w)
                put(stream[STREAMS - 1] + k, v);
            else
                lane[l] += v;
        }
    for (int l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

static Vector block(size_t at, size_t n)
{
    switch (10 * reads + writes) {
    case 1: return pass(at, n, 0, 1);
    case 10: return pass(at, n, 1, 0);
    case 11: return pass(at, n, 1, 1);
    case 20: return pass(at, n, 2, 0);
    case 21: return pass(at, n, 2, 1);
    default: return pass(at, n, 3, 1);
    }
}

/* A thread has whole parts of the streams, an eighth of its share at a time. */
static void work(void)
{
    size_t part = bytes / 8 / (size_t)threads / BLOCK * BLOCK + BLOCK, at;
    Vector sum = { 0 };
    while ((at = atomic_fetch_add(&next, part)) < bytes)
        sum += block(at, at + part < bytes ? part : bytes - at);
    _mm_sfence();
    kept = sum[0];
}

static void *worker(void *arg)
{
    for (int seen = 0; ; ) {
        int j;
        while ((j = atomic_load(&job)) == seen)
            _mm_pause();
        seen = j;
        if (j < 0)
            return arg;
        work();
        atomic_fetch_sub(&left, 1);
    }
}

static double once(void)
{
    double start = now();
    atomic_store(&next, 0);
    atomic_store(&left, threads - 1);
    atomic_fetch_add(&job, 1);
    work();
    while (atomic_load(&left) > 0)
        _mm_pause();
    return now() - start;
}

static char *mapped(size_t n)
{
    size_t huge = (size_t)2 << 20;
    char *p = mmap(NULL, n + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        exit(1);
    p += -(uintptr_t)p & (huge - 1);
    madvise(p, n, MADV_HUGEPAGE);
    for (size_t i = 0; i < n; i += sizeof(long long))
        *(long long *)(p + i) = (long long)i;
    return p;
}

int main(int argc, char **argv)
{
    threads = argc > 1 ? atoi(argv[1]) : 1;
    size_t largest = argc > 2 ? (size_t)atoll(argv[2]) : (size_t)800000000;
    int repeats = argc > 3 ? atoi(argv[3]) : 5;
    pthread_t thread[THREADS_MAX];
    for (int s = 0; s < STREAMS; s++)
        stream[s] = mapped(largest + BLOCK);
    for (int t = 1; t < threads; t++)
        pthread_create(&thread[t], NULL, worker, NULL);
    static const int cases[][2] = { { 1, 0 }, { 2, 0 }, { 0, 1 }, { 1, 1 }, { 2, 1 }, { 3, 1 } };
    size_t sizes[] = { 64000000, 400000000, 800000000 };
    for (int z = 0; z < 3 && sizes[z] <= largest; z++)
        for (int c = 0; c < 6; c++) {
            double best = 1e9;
            reads = cases[c][0], writes = cases[c][1];
            bytes = sizes[z];
            for (int k = 0; k < repeats; k++) {
                double t = once();
                best = t < best ? t : best;
            }
            printf("%d %d %zu %.9f\n", reads, writes, bytes, best);
        }
    atomic_store(&job, -1);
    return 0;
}
