/* The allocator and the worker pool: sizes at every class border, alignment, contents kept
 * by realloc, accounting, reuse of large blocks, limits; chunks, nesting, interrupts. */
#include "tests/unit/check.h"

#include <stdatomic.h>
#include <stdlib.h>

static Ctx ctx_storage, *ctx = &ctx_storage;

static void test_small(void) {
    enum { COUNT = 2000 };
    static char *block[COUNT];
    static size_t size[COUNT];
    bool kept = true;
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < COUNT; i++) {
            if (block[i]) {
                for (size_t k = 0; k < size[i]; k++) kept &= block[i][k] == (char)i;
                mem_free(ctx, block[i], size[i]);
                block[i] = NULL;
            }
            if (check_random() % 3 == 0) continue;
            size[i] = check_random() % 700;
            block[i] = mem_alloc(ctx, size[i]);
            memset(block[i], i, size[i]);
        }
    for (int i = 0; i < COUNT; i++) mem_free(ctx, block[i], size[i]);
    CHECK(kept);
    CHECK(ctx->mem.live == 0);
    char *zero = mem_zalloc(ctx, 300);
    bool clear = true;
    for (int i = 0; i < 300; i++) clear &= zero[i] == 0;
    CHECK(clear);
    mem_free(ctx, zero, 300);
    char *copy = mem_strdup(ctx, "ricci");
    CHECK(strcmp(copy, "ricci") == 0 && ctx->mem.live == 6);
    mem_free(ctx, copy, 6);
}

static void test_realloc(void) {
    char *block = NULL;
    size_t size = 0;
    bool kept = true;
    for (size_t next = 1; next < 3000000; next = next * 3 / 2 + 1) {
        block = mem_realloc(ctx, block, size, next);
        for (size_t k = 0; k < size; k++) kept &= block[k] == (char)(k * 7);
        for (size_t k = size; k < next; k++) block[k] = (char)(k * 7);
        size = next;
        kept &= ctx->mem.live == size;
    }
    block = mem_realloc(ctx, block, size, 100);
    for (size_t k = 0; k < 100; k++) kept &= block[k] == (char)(k * 7);
    CHECK(kept);
    mem_free(ctx, block, 100);
    CHECK(ctx->mem.live == 0 && ctx->mem.peak > 1000000);
}

static void test_data(void) {
    bool aligned = true, clear = true;
    for (size_t bytes = 0; bytes < 9000000; bytes = bytes * 5 / 4 + 1)
        for (int zeroed = 0; zeroed < 2; zeroed++) {
            char *data = mem_alloc_data(ctx, bytes, zeroed);
            aligned &= (uintptr_t)data % 64 == 0;
            for (size_t k = 0; zeroed && k < bytes; k += 61) clear &= data[k] == 0;
            memset(data, 0x77, bytes);
            mem_free_data(ctx, data, bytes);
        }
    CHECK(aligned);
    CHECK(clear);
    CHECK(ctx->mem.live == 0);
#ifndef RICCI_PLAIN_MALLOC
    char *first = mem_alloc_data(ctx, 10000000, false);
    mem_free_data(ctx, first, 10000000);
    CHECK(ctx->mem.cached >= 10000000);
    char *second = mem_alloc_data(ctx, 9900000, false);
    CHECK(first == second);                     /* a warm block of nearly that size */
    mem_free_data(ctx, second, 9900000);
    for (int i = 0; i < 40; i++) mem_free_data(ctx, mem_alloc_data(ctx, (size_t)i << 24, false),
                                               (size_t)i << 24);
    CHECK(ctx->mem.cached <= ctx->mem.limit / 8 && ctx->mem.cached <= 1u << 30);
#endif
}

static void test_limits(void) {
    size_t before = ctx->mem.live;
    CHECK_RAISES(ctx, ERR_MEMORY, mem_alloc_data(ctx, (size_t)8 << 40, true));
    CHECK(strstr(ctx->error->message, "8.8 TB asked for") != NULL);
    CHECK_RAISES(ctx, ERR_MEMORY, mem_check(ctx, SIZE_MAX / 2));
    CHECK_RAISES(ctx, ERR_MEMORY, mem_mul(ctx, SIZE_MAX / 4, 8));
    CHECK(mem_mul(ctx, 1000, 8) == 8000);
    err_free(ctx->error);
    ctx->error = NULL;
    CHECK(ctx->mem.live == before);
    ctx->mem.fail_at = ctx->mem.allocations + 3;
    mem_free(ctx, mem_alloc(ctx, 10), 10);
    mem_free(ctx, mem_alloc(ctx, 10), 10);
    CHECK_RAISES(ctx, ERR_MEMORY, mem_alloc(ctx, 10));
    ctx->mem.fail_at = ctx->mem.allocations + 1;
    CHECK(mem_try_alloc(ctx, 10) == NULL);
    ctx->mem.fail_at = 0;
    err_free(ctx->error);
    ctx->error = NULL;
    CHECK(ctx->mem.live == before);
}

/* ---- the pool ---- */

enum { INDICES = 100000 };
static atomic_uchar seen[INDICES];
static _Atomic int64_t total;

static void mark(void *arg, int64_t begin, int64_t end, int worker) {
    (void)arg, (void)worker;
    for (int64_t i = begin; i < end; i++) atomic_fetch_add(&seen[i], 1);
}

static void add(void *arg, int64_t begin, int64_t end, int worker) {
    (void)arg, (void)worker;
    atomic_fetch_add(&total, end - begin);
}

static void nested(void *arg, int64_t begin, int64_t end, int worker) {
    if (worker == 0) pool_for(arg, end - begin, 1, add, NULL);
    else atomic_fetch_add(&total, end - begin);
}

static void stop_soon(void *arg, int64_t begin, int64_t end, int worker) {
    (void)begin, (void)end, (void)worker;
    atomic_fetch_add(&total, 1);
    *(InterruptFlag *)arg = 1;
}

static void test_pool(void) {
    CHECK(pool_threads(ctx) >= 1);
    for (int round = 1; round <= 20; round++) {
        pool_for(ctx, INDICES, round * round, mark, NULL);
        bool once = true;
        for (int i = 0; i < INDICES; i++) once &= atomic_load(&seen[i]) == round;
        if (!CHECK(once)) break;
    }
    for (int i = 0; i < 4000; i++) pool_for(ctx, 4, 1, add, NULL);
    CHECK(total == 16000);
    total = 0;
    pool_for(ctx, 1000, 10, nested, ctx);
    CHECK(total == 1000);
    total = 0;
    pool_for(ctx, 0, 1, add, NULL);
    CHECK(total == 0);
    InterruptFlag flag = 0;
    ctx->interrupt = &flag;
    pool_for(ctx, 1000000, 1, stop_soon, (void *)&flag);
    CHECK(total <= pool_threads(ctx));
    ctx->interrupt = NULL;
}

/* An error in pieces whose second piece fails: the first is freed where the second is caught, and
 * those of frames around it and those that somebody keeps are not. */
static void test_errors(void) {
    Error *outer = err_new(ctx, ERR_VALUE, "outer");
    Error *volatile kept = NULL;
    ErrFrame frame;
    if (ERR_TRY(ctx, &frame)) {
        kept = err_keep(err_new(ctx, ERR_VALUE, "kept"));
        err_help(err_new(ctx, ERR_VALUE, "first"), "in pieces");
        CHECK(ctx->making != outer);
        err_raise(ctx, ERR_MEMORY, "second");
    }
    CHECK(ctx->making == outer && strcmp(kept->message, "kept") == 0);
    CHECK(strcmp(ctx->error->message, "second") == 0);
    if (ERR_TRY(ctx, &frame)) {
        err_throw(outer);
    }
    CHECK(ctx->making == NULL && ctx->error == outer);
    err_free(kept);
    err_free(ctx->error);
    ctx->error = NULL;
}

int main(void) {
    setenv("RICCI_THREADS", "3", 1);
    mem_init(ctx);
    test_small();
    test_realloc();
    test_data();
    test_limits();
    test_pool();
    test_errors();
    pool_shutdown(ctx);
    CHECK(ctx->mem.live == 0);
    mem_shutdown(ctx);
    CHECK(ctx->mem.cached == 0);
    return check_result();
}
