/* LANES vectors turned over as a matrix, for the real type whose vectors are V. Included by
 * small_move.tmpl.h and contract_pair_isa.tmpl.h with LANES, V and FN. */
#define STAGE(half, LOW, HIGH)                                      \
    for (int i = 0; i < LANES; i++)                                 \
        if (!(i & (half))) {                                        \
            V a = x[i], b = x[i + (half)];                          \
            x[i] = __builtin_shufflevector(a, b, LOW);              \
            x[i + (half)] = __builtin_shufflevector(a, b, HIGH);    \
        }
#define LIST(...) __VA_ARGS__

/* A LANES x LANES block turned over in place, by exchanging ever smaller quarters. */
static inline __attribute__((always_inline)) void FN(turn)(V *x)
{
#if LANES == 2
    STAGE(1, LIST(0, 2), LIST(1, 3))
#elif LANES == 4
    STAGE(2, LIST(0, 1, 4, 5), LIST(2, 3, 6, 7))
    STAGE(1, LIST(0, 4, 2, 6), LIST(1, 5, 3, 7))
#elif LANES == 8
    STAGE(4, LIST(0, 1, 2, 3, 8, 9, 10, 11), LIST(4, 5, 6, 7, 12, 13, 14, 15))
    STAGE(2, LIST(0, 1, 8, 9, 4, 5, 12, 13), LIST(2, 3, 10, 11, 6, 7, 14, 15))
    STAGE(1, LIST(0, 8, 2, 10, 4, 12, 6, 14), LIST(1, 9, 3, 11, 5, 13, 7, 15))
#else
    STAGE(8, LIST(0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
          LIST(8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31))
    STAGE(4, LIST(0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27),
          LIST(4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31))
    STAGE(2, LIST(0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29),
          LIST(2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31))
    STAGE(1, LIST(0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30),
          LIST(1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31))
#endif
}
#undef STAGE
#undef LIST
