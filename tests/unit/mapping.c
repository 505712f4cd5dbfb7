/* Mapped files: what is counted and what is not, copy on write, pages that live as long as
 * the last tensor, and a file that is cut short while it is mapped: an error, on every use,
 * in the thread that asks, and never the end of the process. */
#include "core/memory/mapping.h"
#include "kernels/tensor/mapped.h"
#include "tests/unit/check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { ELEMENTS = 1 << 18, BYTES = ELEMENTS * 8 };

static Ctx ctx_storage, *ctx = &ctx_storage;
static InterruptFlag interrupt;

/* A new file of the doubles 0, 1, …, mapped as a vector of them; path is for truncate. */
static Tensor *map_numbers(char *path) {
    double *data = malloc(BYTES);
    strcpy(path, "/tmp/ricci-mapping-XXXXXX");
    int fd = mkstemp(path);
    for (int i = 0; i < ELEMENTS; i++) data[i] = i;
    CHECK(fd >= 0 && write(fd, data, BYTES) == BYTES);
    Tensor *bytes = tensor_map(ctx, fd, BYTES, path);
    close(fd);
    free(data);
    CHECK(bytes != NULL);
    int64_t n = ELEMENTS, step = 1;
    Tensor *t = tensor_view_as(ctx, bytes, DT_F64, 1, &n, &step, bytes->data);
    tensor_release(ctx, bytes);
    return t;
}

static void test_account(void) {
    char path[64];
    size_t live = ctx->mem.live;
    Tensor *t = map_numbers(path);
    CHECK(mapping_bytes(ctx) == BYTES && ctx->mem.live - live < 1024);
    CHECK(((double *)t->data)[777] == 777);
    Tensor *part = tensor_view_as(ctx, t, DT_F64, 1, &(int64_t){ 3 }, &(int64_t){ 2 },
                                  t->data + 80);
    unlink(path);
    tensor_release(ctx, t);
    CHECK(mapping_bytes(ctx) == BYTES && ((double *)part->data)[4] == 14);
    tensor_release(ctx, part);
    CHECK(mapping_bytes(ctx) == 0 && ctx->mem.live == live);
}

static void test_copy_on_write(void) {
    char path[64];
    Tensor *t = map_numbers(path), *before = t;
    tensor_unshare(ctx, &t);                       /* nobody else holds it, and yet … */
    CHECK(t != before && mapping_bytes(ctx) == 0);
    ((double *)t->data)[5] = -1;
    CHECK(((double *)t->data)[6] == 6);
    tensor_release(ctx, t);
    unlink(path);
}

static double sum(const Tensor *t) {
    double s = 0;
    for (int64_t i = 0; i < t->size; i++) s += ((double *)t->data)[i];
    return s;
}

static void test_truncated(void) {
    char path[64];
    Tensor *t = map_numbers(path);
    CHECK(truncate(path, 4096) == 0);
    for (int round = 0; round < 3; round++) {      /* every use of the hole is an error again */
        CHECK(sum(t) == 511 * 512 / 2 && interrupt == 1);
        interrupt = 0;
        CHECK_RAISES(ctx, ERR_IO, mapping_check(ctx));
        CHECK(strstr(ctx->error->message, path) && strstr(ctx->error->message, "4096"));
        mapping_check(ctx);                        /* once each */
    }
    CHECK(((double *)t->data)[511] == 511);
    Tensor *before = t;
    CHECK_RAISES(ctx, ERR_IO, tensor_unshare(ctx, &t));
    CHECK(t == before && interrupt == 0);
    CHECK(sum(t) == 511 * 512 / 2);
    tensor_release(ctx, t);                        /* closed before anybody asked */
    CHECK(mapping_bytes(ctx) == 0);
    CHECK_RAISES(ctx, ERR_IO, mapping_check(ctx));
    interrupt = 0;
    unlink(path);
}

static void sum_part(void *arg, int64_t begin, int64_t end, int worker) {
    const Tensor *t = arg;
    volatile double s = 0;
    (void)worker;
    for (int64_t i = begin; i < end; i++) s += ((double *)t->data)[i];
}

static void test_workers(void) {
    char path[64];
    Tensor *t = map_numbers(path);
    CHECK(truncate(path, 0) == 0);
    pool_for(ctx, t->size, 1 << 10, sum_part, t);
    CHECK_RAISES(ctx, ERR_IO, mapping_check(ctx));
    tensor_release(ctx, t);
    unlink(path);
}

/* More mappings than the table has room for: the rest is to be read by its caller. */
static void test_many(void) {
    enum { MANY = 300 };
    char *data[MANY];
    int got = 0, fd = open("/proc/self/exe", O_RDONLY);
    for (int i = 0; i < MANY; i++) got += (data[i] = mapping_open(ctx, fd, 5000, "exe")) != NULL;
    CHECK(got == 256 && mapping_bytes(ctx) == 256 * 5000 && memcmp(data[255], "\177ELF", 4) == 0);
    for (int i = 0; i < MANY; i++)
        if (data[i]) mapping_close(ctx, data[i]);
    CHECK(mapping_bytes(ctx) == 0 && mapping_open(ctx, -1, 5000, "none") == NULL);
    close(fd);
}

int main(void) {
    mem_init(ctx);
    ctx->interrupt = &interrupt;
    test_account();
    test_copy_on_write();
    test_truncated();
    test_workers();
    test_many();
    err_free(ctx->error);
    ctx->error = NULL;
    pool_shutdown(ctx);
    CHECK(ctx->mem.live == 0);
    mem_shutdown(ctx);
    return check_result();
}
