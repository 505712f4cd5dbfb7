/* What kernel unit tests share: counting, a Ctx of their own, random numbers, ulps. */
#ifndef RICCI_TESTS_UNIT_CHECK_H
#define RICCI_TESTS_UNIT_CHECK_H

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/memory/pool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Atomic, since checks of several threads count together. */
static _Atomic int check_passed, check_failed;

#define CHECK(what) check_that((what), #what, __FILE__, __LINE__)
static inline bool check_that(bool ok, const char *text, const char *file, int line) {
    if (ok) check_passed++;
    else {
        check_failed++;
        if (check_failed <= 40) fprintf(stderr, "%s:%d: failed: %s\n", file, line, text);
    }
    return ok;
}

/* Runs a statement that must raise an error of this kind. */
#define CHECK_RAISES(ctx, wanted, statement) do { \
    ErrFrame frame_; \
    if (ERR_TRY(ctx, &frame_)) { \
        statement; \
        ERR_END(ctx, &frame_); \
        check_that(false, "raises: " #statement, __FILE__, __LINE__); \
    } else { \
        check_that((ctx)->error->kind == (wanted), "kind of: " #statement, __FILE__, __LINE__); \
    } \
} while (0)

static inline int check_result(void) {
    printf("%d passed, %d failed\n", check_passed, check_failed);
    return check_failed != 0;
}

static inline uint64_t check_random(void) {
    static uint64_t state = 0x9e3779b97f4a7c15u;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* In [-1, 1). */
static inline double check_uniform(void) { return (double)(check_random() >> 11) * 0x1p-52 - 1; }

#endif
