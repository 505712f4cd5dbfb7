/* Products of 8-bit integers against a plain loop in 64 bits: every dtype, layouts of all kinds,
 * sizes around those of tiles and panels, the corners where an instruction of 16 bits would
 * saturate, depths beyond what 32 bits hold, one thread and two. */
#include "kernels/eight/eight.h"
#include "kernels/eight/eight_kernels.h"
#include "core/memory/pool.h"
#include "core/base/mem.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <string.h>

static Ctx ctx_storage[2];
static InterruptFlag never;

static int pick(int n) { return (int)(check_random() % (uint64_t)n); }

static int64_t value(EightMat x, int64_t i, int64_t j)
{
    const char *at = (const char *)x.data + i * x.rs + j * x.cs;
    return x.is_signed ? *(const int8_t *)at : *(const uint8_t *)at;
}

/* fill: 0 random, 1 the ends of the range, 2 the lower end, 3 the upper end. */
static EightMat matrix(int64_t rows, int64_t cols, bool is_signed, int fill, char **memory)
{
    int64_t lie = pick(4), gap = pick(3), size = (rows + gap) * (cols + gap) * 2 + 1;
    uint8_t *x = malloc((size_t)size), low = is_signed ? 0x80 : 0, high = is_signed ? 0x7f : 0xff;
    for (int64_t i = 0; i < size; i++)
        x[i] = fill == 0 ? (uint8_t)pick(256) : fill == 1 ? (pick(2) ? low : high)
             : fill == 2 ? low : high;
    *memory = (char *)x;
    EightMat r = { x, cols + gap, 1, is_signed };
    if (lie == 1)
        r = (EightMat){ x, 1, rows + gap, is_signed };
    if (lie == 2)
        r = (EightMat){ x + (rows - 1) * (cols + gap), -(cols + gap), 1, is_signed };
    if (lie == 3)
        r = (EightMat){ x, 2 * (cols + gap), 2, is_signed };
    return r;
}

static void test_product(int64_t m, int64_t n, int64_t k, int fill)
{
    char *ma, *mb;
    EightMat a = matrix(m, k, pick(2), fill, &ma), b = matrix(k, n, pick(2), fill, &mb);
    int64_t *c = malloc((size_t)(m * n + 1) * sizeof *c);
    char *memory = malloc(eight_bytes(m, n, k));
    for (int t = 0; t < 2; t++) {
        bool same = true;
        memset(c, 0x55, (size_t)(m * n) * sizeof *c);
        eight_product(&ctx_storage[t], m, n, k, a, b, c, memory);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                int64_t sum = 0;
                for (int64_t q = 0; q < k; q++)
                    sum += value(a, i, q) * value(b, q, j);
                same &= c[i * n + j] == sum;
            }
        if (!CHECK(same) && check_failed < 6)
            fprintf(stderr, "%lld by %lld by %lld, fill %d, %s, %s\n", (long long)m, (long long)n,
                    (long long)k, fill, a.is_signed ? "i8" : "u8", b.is_signed ? "i8" : "u8");
    }
    free(memory);
    free(c);
    free(mb);
    free(ma);
}

int main(void)
{
    static const int64_t sizes[] = { 1, 2, 3, 5, 6, 7, 12, 15, 16, 17, 31, 33, 48, 63, 64, 65, 70,
                                     100, 127, 130, 200 };
    setenv("RICCI_THREADS", "1", 1);
    mem_init(&ctx_storage[0]);
    pool_threads(&ctx_storage[0]);
    setenv("RICCI_THREADS", "2", 1);
    mem_init(&ctx_storage[1]);
    ctx_storage[0].interrupt = ctx_storage[1].interrupt = &never;
    printf("# %s\n", eight_routine());
    for (int i = 0; i < 400; i++)
        test_product(sizes[pick(21)], sizes[pick(21)], pick(10) ? sizes[pick(21)] : 0, pick(4));
    for (int fill = 0; fill < 4; fill++) {
        test_product(3, 70, 4095 + pick(4), fill);
        test_product(2, 5, 140000, fill);
        test_product(7, 65, 9000, fill);
        test_product(300, 260, 300, fill);
    }
    for (int t = 0; t < 2; t++) {
        pool_shutdown(&ctx_storage[t]);
        mem_shutdown(&ctx_storage[t]);
    }
    return check_result();
}
