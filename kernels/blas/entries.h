/* Entries of our own for routines of BLAS and LAPACK that look at something first. Whoever has a
 * list of them, ENTRIES(X), and a LOOK() writes
 *
 *     enum { ENTRIES(ENTRY_AT) ENTRY_COUNT };
 *     static Routine routine[ENTRY_COUNT];
 *     ENTRIES(ENTRY)
 *
 * and has enter_NAME, which calls routine[AT_NAME]. All arguments are addresses, and lengths of
 * characters as wide; none has more than these, and words that a caller did not pass are passed on
 * unread. */
#ifndef RICCI_KERNELS_BLAS_ENTRIES_H
#define RICCI_KERNELS_BLAS_ENTRIES_H

typedef const void *W;
#define WORDS W a, W b, W c, W d, W e, W f, W g, W h, W i, W j, W k, W l, W m, W n, W o, W p
typedef void (*Routine)(WORDS);

#define ENTRY_AT(name) AT_##name,
#define ENTRY(name)                                                                              \
    static void enter_##name(WORDS)                                                              \
    {                                                                                            \
        LOOK();                                                                                  \
        routine[AT_##name](a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);                      \
    }

#endif
